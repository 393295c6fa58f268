"""A peer in a process of its own: some crash, hang, or take all memory, which is an answer, too.

The process reads questions and writes replies, a line of JSON each.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

import msgspec

from peer_tools import Lacks, NotAsked, peer_named
from rageval.measures.parsing import parse_measure
from vectors import AnswerVector, RunVector

_LONGEST = 120.0  # seconds for one question; compiling on first use is part of it
_MEMORY = 2**33  # bytes of address space


class PeerQuestion(msgspec.Struct, frozen=True):
    """What a peer is asked."""

    measures: Sequence[str]
    run: RunVector | None = None
    answers: AnswerVector | None = None


class PeerReply(msgspec.Struct, frozen=True):
    """What it said, or what became of it."""

    values: dict[str, dict[str, float | None]] | None = None
    failure: str = ""
    lacks: bool = False


class PeerProcess:
    """The process of one peer; it is started again where it died."""

    def __init__(self, name: str, longest: float = _LONGEST) -> None:
        self._name, self._longest = name, longest
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def ask(self, measures: Sequence[str], vector: RunVector | AnswerVector) -> PeerReply:
        """Return one question, one reply."""
        place = "run" if isinstance(vector, RunVector) else "answers"
        question = PeerQuestion(measures, **{place: vector})  # type: ignore[arg-type]
        process = self._process = self._process or self._started()
        late = threading.Event()

        def give_up() -> None:
            late.set()  # before it dies of it, so that nobody takes that for a crash
            process.kill()

        timer = threading.Timer(self._longest, give_up)
        timer.start()
        try:
            line = self._exchange(process, msgspec.json.encode(question))
        finally:
            timer.cancel()
        # A line without its end was cut: the process died while it wrote.
        if line.endswith(b"\n"):
            return msgspec.json.decode(line, type=PeerReply)
        code = process.wait()
        self._end()
        how = f"took more than {self._longest:g} s" if late.is_set() else f"crashed (exit code {code})"
        return PeerReply(failure=how)

    @staticmethod
    def _exchange(process: subprocess.Popen[bytes], question: bytes) -> bytes:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the process was started without pipes")
        try:
            process.stdin.write(question + b"\n")
            process.stdin.flush()
            return process.stdout.readline()
        except OSError:  # it is there no more; the name of the error is the system's
            return b""

    def _started(self) -> subprocess.Popen[bytes]:
        # Sets have one order, so that a tool that goes through one answers a question alike each time.
        environment = os.environ | {"PYTHONWARNINGS": "ignore", "PYTHONHASHSEED": "0"}
        return subprocess.Popen(
            [sys.executable, __file__, self._name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )

    def _end(self) -> None:
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process.kill()
            self._process.wait()
            self._process = None


def reply_to(name: str, question: PeerQuestion) -> PeerReply:
    """Return what the peer says, in this process."""
    vector = question.run or question.answers
    measures: Any = [parse_measure(measure) for measure in question.measures]
    try:
        return PeerReply(peer_named(name).values(measures, vector))  # type: ignore[arg-type]
    except NotAsked as error:
        return PeerReply(failure=str(error))
    except Lacks as error:
        return PeerReply(failure=str(error), lacks=True)
    except Exception as error:  # whatever a tool may raise is what it says
        return PeerReply(failure=f"{type(error).__name__}: {error!s:.100}")


def main(name: str) -> None:
    """Reply to questions until there are no more. What a tool prints itself goes nowhere."""
    # The pipe under another number, and nothing under the one that tools print to.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _limit_memory()
    for line in sys.stdin.buffer:
        replies.write(
            msgspec.json.encode(reply_to(name, msgspec.json.decode(line, type=PeerQuestion))) + b"\n"
        )
        replies.flush()


def _limit_memory() -> None:
    if sys.platform == "win32":
        return
    import resource

    with suppress(OSError, ValueError):  # macOS has the limit, and refuses to set it
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


if __name__ == "__main__":
    main(sys.argv[1])
