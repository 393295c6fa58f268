"""Signals that ask a command to end: SIGTERM and SIGHUP mean what Ctrl-C means, a second one ends at once.

The first is a `KeyboardInterrupt`: what is half written is taken away, calls under way may land, claims are
given back. After the second nothing is tidied up; stores and results are whole all the same.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # not all systems have all


@contextmanager
def ending_in_good_order() -> Iterator[None]:
    """Within, the first signal is a `KeyboardInterrupt` and the second ends the process.

    A signal that whoever started the process had ignored (nohup, a job in the background) stays ignored, and
    processes forked from this one end at their first.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    owner, was_told = os.getpid(), False

    def told(number: int, frame: FrameType | None) -> None:
        nonlocal was_told
        if was_told or os.getpid() != owner:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        was_told = True
        raise KeyboardInterrupt

    before = {}
    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
            before[number] = signal.signal(number, told)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
