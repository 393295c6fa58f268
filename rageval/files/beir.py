"""Judgements as BEIR's data sets have them: a table with the header `query-id corpus-id score`."""

from __future__ import annotations

from collections.abc import Iterator

from rageval.errors import InputError
from rageval.files.opening import BOM, Source, limits_of, name_of
from rageval.files.trec import grade_of
from rageval.records import Qrel
from rageval.text import visible

_HEADER = ["query-id", "corpus-id", "score"]


def is_beir(start: bytes) -> bool:
    r"""Return whether a file begins with that header.

    >>> is_beir(b"query-id\tcorpus-id\tscore\n1\td\t1\n"), is_beir(b"1\t0\td\t1\n")
    (True, False)
    """
    line = start.removeprefix(BOM).lstrip().partition(b"\n")[0]
    return line.decode("ascii", "replace").split() == _HEADER


def read_beir(source: Source) -> Iterator[Qrel]:
    """Read the judgements; `InputError` names the line that holds none."""
    from rageval.files.questions import read_table

    name = name_of(source)
    limits = limits_of(source)
    for line, words in read_table(source, " ".join(_HEADER)):
        if words == _HEADER:
            continue
        query, doc, grade = words
        number = grade_of(grade.encode(), limits.grade)
        if number is None:
            raise InputError(
                f"{name}:{line}: expected a number from -{limits.grade:,} to {limits.grade:,} as score,"
                f" found {visible(grade)[:80]!r}"
            )
        yield Qrel(query, doc, number)
