"""Which questions stay: those whose nuggets are all supported by some document (FreshStack, section 4).

First fall questions without a single relevant document, then those with a nugget that no document supports.
What nobody knows, because judging failed, is not taken for unsupported: such a question is undecided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from rageval.building.support import Banks, Pair
from rageval.records import Qrel

KEPT, NO_NUGGETS, UNDECIDED = "kept", "no nuggets", "undecided"
NO_DOCUMENT, UNSUPPORTED = "no relevant document", "an unsupported nugget"
STRICT, DOCUMENTS, NONE = "strict", "documents", "none"
RULES = {
    STRICT: (NO_NUGGETS, UNDECIDED, NO_DOCUMENT, UNSUPPORTED),
    DOCUMENTS: (NO_NUGGETS, UNDECIDED, NO_DOCUMENT),
    NONE: (NO_NUGGETS,),
}


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a question, and the nuggets that are to blame."""

    query_id: str
    verdict: str
    nuggets: tuple[str, ...] = ()


def fates(queries: Iterable[str], banks: Banks, qrels: Iterable[Qrel], failed: Set[Pair]) -> list[Fate]:
    """What becomes of every question.

    >>> from rageval.records import Nugget
    >>> banks = {"q": [Nugget("q", "n1", "…"), Nugget("q", "n2", "…")]}
    >>> fates(["q"], banks, [Qrel("q", "d", 1, "n1"), Qrel("q", "d", 0, "n2")], set())
    [Fate(query_id='q', verdict='an unsupported nugget', nuggets=('n2',))]
    """
    supported = {(row.query_id, row.iteration) for row in qrels if row.relevance > 0}
    unknown = {(query, nugget) for query, nugget, _ in failed}
    return [
        _fate(query, [n.nugget_id for n in banks.get(query, ())], supported, unknown) for query in queries
    ]


def _fate(
    query: str, bank: Sequence[str], supported: Set[tuple[str, str]], unknown: Set[tuple[str, str]]
) -> Fate:
    lacking = [name for name in bank if (query, name) not in supported]
    open_ = [name for name in lacking if (query, name) in unknown]
    if not bank:
        return Fate(query, NO_NUGGETS)
    if not lacking:
        return Fate(query, KEPT)
    if len(lacking) == len(bank) and not open_:
        return Fate(query, NO_DOCUMENT, tuple(lacking))
    surely = [name for name in lacking if name not in open_]
    if surely and len(lacking) < len(bank):
        return Fate(query, UNSUPPORTED, tuple(surely))
    return Fate(query, UNDECIDED, tuple(open_))


def kept(found: Iterable[Fate], rule: str = STRICT) -> list[str]:
    """The questions that stay by this rule."""
    return [fate.query_id for fate in found if fate.verdict not in RULES[rule]]


def counts(found: Sequence[Fate], rule: str = STRICT) -> dict[str, int]:
    """How many questions there are, how many fell for which reason, and how many stay."""
    number = Counter(fate.verdict for fate in found)
    fell = {reason: number[reason] for reason in RULES[rule] if number[reason]}
    return {"questions": len(found), **fell, KEPT: len(kept(found, rule))}


def report(numbers: Mapping[str, int]) -> Iterator[str]:
    """The counts in words, each with its share of all questions.

    >>> print(*report({"questions": 17, "no relevant document": 2, "kept": 15}), sep="\\n")
    17 questions
     -2 no relevant document (11.8 %)
     15 kept (88.2 %)
    """
    total = numbers["questions"]
    yield f"{total:,} question{'' if total == 1 else 's'}"
    for reason, number in numbers.items():
        if reason != "questions":
            sign = "" if reason == KEPT else "-"
            yield f"{f'{sign}{number:,}':>3} {reason} ({number / total if total else 0:.1%})".replace(
                "%", " %"
            )
