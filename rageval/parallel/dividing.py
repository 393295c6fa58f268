"""A run whose file is read in parts, by whatever engine there is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from rageval.errors import InputError
from rageval.files.opening import FileChanged, can_read_again
from rageval.files.parts import FilePart, Grain, cut
from rageval.files.remote import is_remote
from rageval.files.trec import Reading
from rageval.parallel.engines import Engine, paired
from rageval.scoring.joining import Joined, Joining, Piece
from rageval.scoring.ordering import Scattered, whole_queries
from rageval.sources import RunSource, compiled_piece, portable, rows_of

BY_WORKERS = "by the workers"
LARGEST = 2**25  # bytes of a part; small enough that a lost one is soon done again
SMALLEST = 2**22  # below this a process of its own costs more than it saves


@dataclass(frozen=True, slots=True)
class Part:
    """The unit of work: a stretch of a file, and how to read it."""

    stretch: FilePart
    reading: Reading
    dedup: str | None

    def __str__(self) -> str:
        return str(self.stretch)


def piece_of(joining: Joining, part: Part) -> Piece:
    """What a part holds; the same whenever, wherever and however often it is asked for."""
    with part.stretch.opened(part.reading) as (source, reading):
        piece = compiled_piece(joining, source, reading)
    if piece is not None:
        return piece
    with part.stretch.opened(part.reading) as (source, reading):
        return joining.piece(whole_queries(rows_of(source, reading), part.dedup))


def why_not(by: str, error: InputError) -> str:
    """Why what this process perhaps can read could not be read otherwise; a file that changed nobody can."""
    if isinstance(error, FileChanged):
        raise error
    first, *_ = str(error).split("\n")
    return f"{by} ({first})"


def findable(path: Any) -> Any:
    """The path as it is found from another folder."""
    return path if is_remote(path) else os.path.abspath(path)


@dataclass
class Divided(RunSource):
    """A run that is read in parts where that is possible, and as ever where it is not."""

    engine: Engine | None = None
    smallest: int = SMALLEST

    @classmethod
    def of(cls, source: RunSource, engine: Engine) -> Divided:
        """The same run, for an engine."""
        return cls(source.name, source.table, source.path, source.reading, source.dedup, engine=engine)

    def join(self, joining: Joining) -> Joined:
        """In parts, if parts can be put together. Where one fails, the run is read in one piece, as without
        an engine: that tells which line is wrong, or gathers queries that lie scattered over parts."""
        if self.engine is None:
            return super().join(joining)
        by, reason = "in parts", ""
        try:
            parts = self.parts(self.engine)
            if len(parts) > 1:
                by = BY_WORKERS
                return self._together(joining, self.engine, parts)
        except Scattered:
            pass
        except InputError as error:
            reason = why_not(by, error)
        joined = super().join(joining)
        joined.notes.read_here = reason
        return joined

    def parts(self, engine: Engine) -> list[Part]:
        """The parts of the file; none if it is no file, or one that cannot be cut."""
        path: Any = self.path
        if self.table is not None or not isinstance(path, str | os.PathLike):
            return []
        if not can_read_again(path):
            return []
        if not engine.inherits:
            path = findable(path)
        stretches = cut(path, self.reading, Grain(engine.width, self.smallest, LARGEST))
        return [Part(stretch, self.reading, self.dedup) for stretch in stretches]

    def _together(self, joining: Joining, engine: Engine, parts: list[Part]) -> Joined:
        sent = joining if engine.inherits else joining._replace(qrels=portable(joining.qrels))
        pieces = [piece for _, piece in paired(parts, engine.results(piece_of, sent, parts))]
        return self._noted(joining.together(pieces))
