"""How far a job is: on a terminal one line that moves, elsewhere a line every half minute, or nothing."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

from rageval.text import visible

_ON_TERMINAL, _ELSEWHERE = 0.2, 30.0  # seconds between two lines


@dataclass(slots=True)
class Tally:
    """What a job has come to so far."""

    total: int | None = None
    stored: int = 0  # replies that were there already
    answered: int = 0  # requests that were asked, and are settled
    failed: Counter[str] = field(default_factory=Counter)  # of these, what holds no verdict, by status
    calls: int = 0
    spent: float = 0.0
    unpriced: int = 0
    troubles: Counter[str] = field(default_factory=Counter)  # tries that failed, by kind
    guessed: int = 0  # calls whose usage is not known, taken to be the most it can be

    @property
    def done(self) -> int:
        """Requests that are settled."""
        return self.stored + self.answered

    @property
    def share(self) -> str:
        """So many of so many."""
        return f"{self.done:,}/{self.total:,}" if self.total else f"{self.done:,}/?"


class Progress:
    """Shows a tally on stderr, unless `quiet`; `total` is for jobs that cannot say how much there is."""

    def __init__(
        self,
        total: int | None = None,
        quiet: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total = total
        self._quiet = quiet
        self._stream = stream or sys.stderr
        self._clock = clock
        self._moves = not quiet and self._stream.isatty()
        self._begun = self._shown = clock()
        self._wrote = False

    def update(self, tally: Tally) -> None:
        """Show how far it is, if it is time to."""
        now = self._clock()
        if not self._quiet and now - self._shown >= (_ON_TERMINAL if self._moves else _ELSEWHERE):
            self._shown = now
            self._write(line(tally, now - self._begun), moving=self._moves)

    def close(self, tally: Tally) -> None:
        """Show how far it came, if anything was asked or shown."""
        if not self._quiet and (tally.calls or self._wrote):
            self._write(line(tally, self._clock() - self._begun), moving=False)

    def say(self, message: str) -> None:
        """A line by itself."""
        if not self._quiet:
            self._write(message, moving=False)

    def _write(self, text: str, moving: bool) -> None:
        self._wrote = True
        width = shutil.get_terminal_size().columns - 1
        start = "\r\x1b[K" if self._moves else ""
        try:
            self._stream.write(f"{start}{text[:width] if moving else text}{'' if moving else chr(10)}")
            self._stream.flush()
        except (OSError, ValueError):  # nobody is reading any more; the job goes on
            self._quiet = True


def line(tally: Tally, seconds: float) -> str:
    """The tally as a line.

    >>> line(Tally(total=1000, stored=100, answered=300, calls=310, spent=0.5), 60.0)
    '400/1,000 judged, 100 from the store, 5.0/s, $0.50, 2:00 left'
    """
    rate = tally.answered / seconds if seconds > 0 else 0.0
    parts = [f"{tally.share} judged"]
    parts += [f"{tally.stored:,} from the store"] * bool(tally.stored)
    parts += [f"{rate:.1f}/s"] * bool(rate)
    parts += [_money(tally)] * bool(tally.calls)
    parts += [f"without a verdict: {_kinds(tally.failed)}"] * bool(tally.failed)
    parts += [f"tried again: {_kinds(tally.troubles)}"] * bool(tally.troubles)
    if rate and tally.total:
        parts.append(f"{_span(max(0, tally.total - tally.done) / rate)} left")
    return ", ".join(parts)


def _money(tally: Tally) -> str:
    unpriced = f" and {tally.unpriced:,} calls without a price" if tally.unpriced else ""
    guessed = f" (at most: the usage of {tally.guessed:,} calls is not known)" if tally.guessed else ""
    return f"${tally.spent:,.2f}{guessed}{unpriced}"


def _kinds(troubles: Counter[str]) -> str:
    return ", ".join(f"{count:,} {visible(kind)}" for kind, count in troubles.most_common(3))


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
