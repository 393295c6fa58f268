"""A run's file in parts that can be read one without the other, whatever its form."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from rageval.files.borders import Grain
from rageval.files.columnar import is_columnar
from rageval.files.frames import frame_spans_of
from rageval.files.opening import opened, stamp_of
from rageval.files.packing import LOOK, ZSTD, packing_of
from rageval.files.row_groups import row_spans_of
from rageval.files.spans import Path, spans_of
from rageval.files.trec import Reading


class Stretch(Protocol):
    """Some whole queries of a file; it prints as what to look at if it cannot be read."""

    def opened(self, reading: Reading) -> AbstractContextManager[tuple[Any, Reading]]:
        """What to read, and how; `FileChanged` if the file is another one before or after it was read."""


def cut(path: Path, reading: Reading, grain: Grain) -> Sequence[Stretch]:
    """All of the file in parts; fewer than two if it cannot be cut."""
    stamp = stamp_of(path)
    if is_columnar(path):
        return row_spans_of(path, stamp, grain)
    with opened(path) as raw:
        packing = packing_of(raw.read(LOOK))
        if packing == ZSTD:
            return frame_spans_of(raw, path, stamp, reading, grain)
        return [] if packing else spans_of(raw, path, stamp, reading, grain)
