"""Something run in a process of its own, with limits: what it ends with, prints, and takes."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rageval.cli import main
from test_odd_words import CODES

SECONDS = 10  # of the processor: a case that takes more hangs, however busy the machine is
WAIT = 120  # a case that only waits is ended, too
SPACE = 4 * 2**30
MEMORY = 200 * 2**20  # beyond what the process has when it begins


class Ended(NamedTuple):
    """The exit code, what was printed, the bytes taken beyond those of its parent, and processor time."""

    code: int
    output: str
    memory: int
    seconds: float

    @property
    def wrong(self) -> str:
        """What is wrong with it; empty if nothing."""
        if self.code in (-signal.SIGALRM, -signal.SIGPROF):
            return f"takes more than {SECONDS} s"
        if self.code not in CODES:
            return f"ended with {self.code}"
        if "Traceback" in self.output:
            return "a traceback"
        if "\x1b" in self.output:
            return "a control character"
        return f"{self.memory:,} bytes" if self.memory > MEMORY else ""


def of_line(words: list[str]) -> int:
    """Run a command line; return its exit code."""
    sys.argv = ["rageval", *words]
    try:
        main(words, prog_name="rageval")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def ended(run: Callable[[], int], log: Path) -> Ended:
    """Run a function in a process of its own, which is ended where it hangs."""
    gc.collect()
    used_before = memory_in_use()
    child = os.fork()
    if child == 0:  # pragma: no cover
        code = 99
        try:
            import resource  # which not every system has

            resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
            for number in (signal.SIGALRM, signal.SIGPROF):
                signal.signal(number, signal.SIG_DFL)
            signal.alarm(WAIT)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            stream = open(log, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
            sys.stdout = sys.stderr = stream
            try:
                code = run()
            except BaseException:  # what a user would see as a traceback
                traceback.print_exc(file=stream)
            stream.flush()
        finally:
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    output = log.read_text(encoding="utf-8", errors="replace")
    memory = used.ru_maxrss * 1024 - used_before if used_before else 0
    return Ended(os.waitstatus_to_exitcode(status), output, memory, used.ru_utime + used.ru_stime)


def memory_in_use() -> int:
    """The bytes that this process has; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
