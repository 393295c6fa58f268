"""Standard output: who reads it, and what to do when it breaks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import click

from rageval.errors import OutputError


def on_terminal() -> bool:
    """Whether somebody is looking."""
    return sys.stdout is not None and sys.stdout.isatty()


def print_lines(lines: Iterable[str]) -> None:
    """Print, and be done once the reader has seen enough (`| head`); a full disk is an error."""
    if sys.stdout is None:
        raise OutputError("standard output is closed; nowhere to print the result")
    try:
        for line in lines:
            _print(line)
        _print()
    except _ReaderLeft:
        return


class _ReaderLeft(Exception):
    """Nobody reads any further."""


def _print(line: str | None = None) -> None:
    """Print a line, or what is still buffered; only errors of printing are caught here."""
    try:
        if line is None:
            sys.stdout.flush()
        else:
            click.echo(line)
    except BrokenPipeError:
        _mute()
        raise _ReaderLeft from None
    except OSError as error:
        _mute()
        raise OutputError(f"standard output cannot be written: {error.strerror}") from error


def _mute() -> None:
    """Let what is still buffered go nowhere, so that leaving the process does not fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
