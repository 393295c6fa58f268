"""The programs under measurement: where rageval is, and which peers can run."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

import timing
from contests import Contest, Peer
from sizes import Files
from timing import Command

RAGEVAL = "rageval"


def default_rageval() -> str:
    """The command installed beside this interpreter."""
    return str(Path(sys.executable).with_name(RAGEVAL))


def existing_command(text: str) -> str:
    found = shutil.which(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"no program {text}; install rageval or name its command")
    return found


def add_rageval_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rageval", type=existing_command, default=default_rageval(), help="the command to measure"
    )


def note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)


def can_import(python: str, modules: Iterable[str]) -> bool:
    command = [python, "-c", f"import {', '.join(modules)}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def importable(python: str, peers: Iterable[Peer]) -> set[Peer]:
    found = {peer for peer in peers if can_import(python, peer.modules)}
    for peer in sorted(set(peers) - found, key=lambda peer: peer.name):
        note(f"{peer.name} is skipped: {python} cannot import {' and '.join(peer.modules)}")
    return found


def commands(
    contest: Contest, files: Files, rageval: str, python: str, peers: Iterable[Peer]
) -> dict[str, Command]:
    qrels, runs = contest.qrels_and_runs(files)
    ours = [rageval, *map(str, runs), str(qrels), "-m", contest.measures, "-p", "6"]
    return {RAGEVAL: ours, **{peer.name: peer.command(python, qrels, runs) for peer in peers}}


def warm_up(entrants: dict[str, Command]) -> dict[str, Command]:
    """One unmeasured run each: fills the disk and numba caches and drops a peer that fails."""
    working = {}
    for name, command in entrants.items():
        try:
            timing.measure(command)
        except timing.ProcessError as failure:
            if name == RAGEVAL:
                raise
            note(f"{name} is skipped: {failure}")
        else:
            working[name] = command
    return working


def exit_with(main: Callable[[], int]) -> NoReturn:
    try:
        sys.exit(main())
    except timing.ProcessError as failure:
        sys.exit(str(failure))
