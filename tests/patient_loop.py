"""An event loop that passes its pauses by: seconds are long for whoever works, and short for whoever waits.

While there is something to do, time passes as it does; when nothing happens for a moment, it leaps to what is
due next. So a test may give a call five seconds where it needs a millisecond, and be quick on any machine.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from typing import Any

import pytest

QUIET = 0.05  # seconds without anything to do before time leaps


class _Leaping(selectors.DefaultSelector):
    """Waits for a moment, and calls the rest of it passed."""

    ahead = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or timeout <= QUIET:
            return super().select(timeout)
        events = super().select(QUIET)
        if not events:
            self.ahead += timeout - QUIET
        return events


class PatientLoop(asyncio.SelectorEventLoop):
    """A loop whose clock leaps over pauses."""

    def __init__(self) -> None:
        self.leaping = _Leaping()
        super().__init__(self.leaping)

    def time(self) -> float:
        """Seconds that passed, and those that were leapt over."""
        return time.monotonic() + self.leaping.ahead


@pytest.fixture(name="unhurried")
def unhurried_(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of this test run on such a loop."""
    monkeypatch.setattr(asyncio.events, "new_event_loop", PatientLoop)


def now() -> float:
    """The time of the loop that runs."""
    return asyncio.get_running_loop().time()
