"""How far a download is: a line that renews itself on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time

_OFTEN, _SELDOM = 0.2, 30.0


class Progress:
    """Told of every block that arrives; says something on standard error when it is time to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._on_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._last = time.monotonic()
        self._width = 0

    def __call__(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        if sys.stderr is None or now - self._last < (_OFTEN if self._on_terminal else _SELDOM):
            return
        self._last = now
        text = f"rageval: {self.name}: {amount(done)}" + (f" of {amount(total)}" if total else "")
        if self._on_terminal:
            print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._width and sys.stderr is not None:
            print("\r" + " " * self._width, end="\r", file=sys.stderr, flush=True)


def amount(size: int) -> str:
    """Bytes for people.

    >>> amount(739_384_484)
    '739.4 MB'
    """
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"
