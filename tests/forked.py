"""Runs programs of Python as forks of one process, which has imported once what each would import again.

What a program sees is what it would see in a process of its own: arguments, folder, environment, standard
streams, exit code. Only what Python itself reads when it starts, such as PYTHONHASHSEED, changes nothing.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import types
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

_ASKING = threading.Lock()
HEAVY = (
    *("numpy", "scipy.stats", "scipy.optimize", "jinja2", "pandas", "ir_measures", "xml.etree.ElementTree"),
    *("rageval.testing", "rageval.parallel", "rageval.spans", "rageval.building", "rageval.datasets"),
    *("rageval.judges.panel", "rageval.pages.page", "rageval.gate", "rageval.verbs"),
)


def run_python(
    words: Sequence[str], folder: Path | str, environment: Mapping[str, str], timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run Python with these words, `-c TEXT`, `-m MODULE …` or `FILE …`, as `subprocess.run` would."""
    if not hasattr(os, "fork"):
        command = [sys.executable, *words]
        return subprocess.run(
            command, cwd=folder, env=dict(environment), capture_output=True, text=True, timeout=timeout
        )
    # One job at a time: the server answers in turn, and says of no answer whose it is.
    with _ASKING, tempfile.TemporaryDirectory() as streams:
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        job = {"words": [*words], "folder": str(folder), "environment": {**environment}, "streams": streams}
        print(json.dumps(job | {"timeout": int(timeout)}), file=server.stdin, flush=True)
        code = int(server.stdout.readline())
        out, err = (Path(streams, name).read_text(encoding="utf-8") for name in ("out", "err"))
    return subprocess.CompletedProcess([*words], code, out, err)


def run_line(
    line: str, folder: Path | str, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a line of the shell, which is not started for rageval or python and their arguments alone."""
    kind, *words = shlex.split(line, comments=True)
    if kind not in ("python", "rageval") or {*"<>|&;$*?`"} & {*"".join(words)}:
        return subprocess.run(
            line, shell=True, cwd=folder, env=dict(environment), capture_output=True, text=True, timeout=120
        )
    return run_python(words if kind == "python" else ["-m", kind, *words], folder, environment)


@cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    atexit.register(_end, server)
    return server


def _end(server: subprocess.Popen[str]) -> None:
    assert server.stdin is not None
    server.stdin.close()
    server.wait()


def _serve() -> list[str]:
    """Fork for each job that is read; only a child returns, with the words that it shall run."""
    jobs, replies = os.fdopen(os.dup(0), encoding="utf-8"), os.dup(1)
    for line in jobs:
        job = json.loads(line)
        child = os.fork()
        if not child:
            jobs.close()
            os.close(replies)
            _become(job)
            return list(job["words"])
        _, status = os.waitpid(child, 0)
        os.write(replies, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become(job: dict[str, object]) -> None:
    """Take a job's folder, environment and streams, and an end after which nobody waits."""
    signal.alarm(int(str(job["timeout"])))
    os.chdir(str(job["folder"]))
    os.environ.clear()
    os.environ.update(job["environment"])  # type: ignore[arg-type]
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{job['streams']}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    warnings.resetwarnings()
    for action in os.environ.get("PYTHONWARNINGS", "").split(","):
        if action:
            warnings.simplefilter(action)  # type: ignore[arg-type]
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))


def _run(words: list[str]) -> None:
    kind, *rest = words
    if kind == "-m":
        sys.argv = rest
        sys.path.insert(0, os.getcwd())
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), main.__dict__)
    else:
        sys.argv = words
        sys.path.insert(0, str(Path(kind).parent))
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # of this checkout, and without the helpers of tests
    for name in HEAVY:
        with warnings.catch_warnings(), suppress(ImportError):
            warnings.simplefilter("ignore")
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    _run(_serve())
