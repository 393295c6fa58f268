"""Runs commands of rageval, each in a child of its own in which the n-th step fails.

Everything heavy is imported once; a child is a fork of this process, so that a run takes a moment only.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import warnings

import anthropic  # noqa: F401
import jinja2  # noqa: F401
import numpy  # noqa: F401
import openai  # noqa: F401
import pyarrow.parquet  # noqa: F401

import rageval.building.collection
import rageval.cli.judge
import rageval.cli.report
import rageval.cli.score
import rageval.cli.store
import rageval.judges.panel
import rageval.pages.page  # noqa: F401
from rageval.cli import main


def run(shim: ctypes.CDLL, job: dict[str, object], reply: int) -> None:
    """In the child: arm the shim, run, say how many steps there were."""
    folder = str(job["folder"])
    os.chdir(folder)
    os.environ.update(job["environment"])  # type: ignore[arg-type]
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{folder}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    shim.faults_arm(folder.encode(), ctypes.c_long(int(str(job["step"]))), int(str(job["mode"])))
    code = 70  # a traceback
    try:
        main(list(job["words"]), prog_name="rageval")  # type: ignore[call-overload]
    except SystemExit as left:
        code = int(left.code or 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    shim.faults_disarm()
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(reply, str(shim.faults_points()).encode())
    os._exit(code)


def serve() -> None:
    """A job a line, a result a line."""
    shim = ctypes.CDLL(None)  # the shim is loaded before everything else
    shim.faults_points.restype = ctypes.c_long
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        job = json.loads(line)
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            run(shim, job, write)
        os.close(write)
        points = os.read(read, 100)
        os.close(read)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"code": os.waitstatus_to_exitcode(status), "points": int(points or 0)}), flush=True)


if __name__ == "__main__":
    serve()
