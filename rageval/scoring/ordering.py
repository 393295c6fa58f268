"""The one ranking that every measure shares: scores descending, equal scores by a stated rule."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import eq, ne
from typing import NamedTuple

from rageval.errors import InputError
from rageval.files.trec import RunRows
from rageval.text import visible

EVERYTHING = -(2**31)  # below any grade
_SHOWN = 10
_LONGEST_RANK = 8


class Order(NamedTuple):
    """How documents are ordered.

    `ties`: `trec` (by document id descending), `docid_asc`, `input` (as they stand in the file), `rank`
    (by the rank column), `error`. `single` compares scores as 32-bit floats, as trec_eval before 10 did.
    `pool` keeps only the first documents by score and input order before anything else, as FreshStack.
    `by_rank` goes by the rank column alone, whatever the scores are, as ndeval.
    """

    ties: str = "trec"
    single: bool = False
    pool: int | None = None
    by_rank: bool = False


class View(NamedTuple):
    """What of a run counts: the order, how deep, and whether unjudged documents are taken out first.

    A document graded below `floor` is one that nobody judged.
    """

    order: Order = Order()
    depth: int | None = None
    judged_only: bool = False
    floor: int = EVERYTHING


class Scattered(Exception):
    """A query's rows are not all adjacent."""


class Documents(NamedTuple):
    """What a run holds for one query, as it stands there: a list a column, and the number of each line."""

    source: str
    query: bytes
    lines: Sequence[int]
    docs: Sequence[bytes]
    scores: Sequence[float]
    ranks: Sequence[bytes] | None = None

    def where(self, row: int) -> str:
        """Return `file:line` of a row, for error messages."""
        return f"{self.source}:{self.lines[row]}"

    def ranked(self, order: Order) -> _Ranked:
        """Order the documents of a query."""
        keys = _keys(self, order)
        # Most runs are in order already: one comparison of lists then saves sorting by key.
        ordered = sorted(keys, reverse=True)
        if ordered == keys:
            rows = list(range(len(keys)))
        else:
            # sorted is stable, also with reverse: rows of equal score stay as they stand in the file.
            rows = sorted(range(len(keys)), key=keys.__getitem__, reverse=True)
        equal = [*map(eq, ordered[1:], ordered), False]  # to the next
        last = 0
        # From one group of equal scores to the next; without ties the loop is not entered.
        while True in equal[last:]:
            first = equal.index(True, last)
            last = equal.index(False, first)
            rows[first : last + 1] = _by_rule(self, rows[first : last + 1], first, order)
        return _Ranked(rows, ordered)


def whole_queries(stretches: Iterable[RunRows], dedup: str | None = None) -> Iterator[Documents]:
    """Part rows at their queries; `Scattered` where one comes again, `InputError` for a document twice."""
    finished: set[bytes] = set()
    waiting: Documents | None = None  # it may go on in the next stretch
    for rows in stretches:
        for found in _parted(rows):
            # The stretch ended within the query; its rest is put behind.
            if waiting is not None and waiting.query == found.query:
                waiting = _joined(waiting, found)
                continue
            if waiting is not None:
                yield _closed(waiting, dedup)
                finished.add(waiting.query)
            # The query came before: its rows lie apart, and the caller puts them together first.
            if found.query in finished:
                raise Scattered
            waiting = found
    if waiting is not None:
        yield _closed(waiting, dedup)


def _begins(names: Sequence[bytes]) -> list[int]:
    """Return where each stretch of equal names begins."""
    # map over two lists compares in C; a loop in Python would be slower, and this is done for every row.
    changes = list(map(ne, names[1:], names))
    found, at = [0], -1
    try:
        while True:
            at = changes.index(True, at + 1)
            found.append(at + 1)
    except ValueError:
        return found


def _parted(rows: RunRows) -> Iterator[Documents]:
    source, lines, queries, docs, scores, ranks = rows
    first, *others = _begins(queries)
    for last in (*others, len(queries)):
        part = slice(first, last)
        yield Documents(
            source,
            queries[first],
            lines[part],
            docs[part],
            scores[part],
            None if ranks is None else ranks[part],
        )
        first = last


def _joined(one: Documents, other: Documents) -> Documents:
    ranks = None if one.ranks is None or other.ranks is None else [*one.ranks, *other.ranks]
    columns = ([*mine, *theirs] for mine, theirs in zip(one[2:5], other[2:5], strict=True))
    return Documents._make((one.source, one.query, *columns, ranks))


def _closed(found: Documents, dedup: str | None) -> Documents:
    """Return a query's rows, with no document twice: refused, or dropped where that is asked for."""
    if len(set(found.docs)) == len(found.docs):
        return found
    first: dict[bytes, int] = {}
    # setdefault returns the first row of a document, and notes this one if it is the first.
    again = [(row, first[doc]) for row, doc in enumerate(found.docs) if first.setdefault(doc, row) != row]
    if dedup == "first":
        kept = list(first.values())
        columns = (None if column is None else [column[row] for row in kept] for column in found[2:])
        return Documents._make((found.source, found.query, *columns))
    raise InputError(
        _listed(
            f"{found.where(row)}: document {visible(found.docs[row])} is ranked twice for query"
            f" {visible(found.query)}, first in line {found.lines[earlier]};"
            " remove one, or keep the first with --dedup first (dedup='first')"
            for row, earlier in again
        )
    )


def _listed(messages: Iterable[str]) -> str:
    """Return the first messages, a line each, and how many there are more."""
    found = list(messages)
    more = len(found) - _SHOWN
    return "\n".join([*found[:_SHOWN], *([f"… and {more:,} more"] if more > 0 else [])])


class _Ranked(NamedTuple):
    """The rows of a query in their order, best first, and each one's score as far as it orders them."""

    rows: Sequence[int]
    keys: Sequence[float]

    def tied_at(self, cutoff: int) -> bool:
        """Return whether the documents right above and right below a cut-off have equal scores."""
        return len(self.keys) > cutoff and self.keys[cutoff - 1] == self.keys[cutoff]


def _keys(found: Documents, order: Order) -> list[float]:
    if order.by_rank:
        return [-float(rank) for rank in _rank_column(found)]
    if order.single:
        # A round trip through 32 bits makes those scores equal that trec_eval 9 could not tell apart.
        return array("f", found.scores).tolist()
    return list(found.scores)


def _by_rule(found: Documents, group: Sequence[int], before: int, order: Order) -> Sequence[int]:
    """Order rows of equal score, behind so many others; they come as they stand in the file."""
    if order.by_rank:
        raise _equal_ranks(found, *sorted(group)[:2])
    if order.ties == "error":
        raise _refused(found, group)
    # Those inside the pool stay before those outside it, whatever the rule says within each part.
    inside = len(group) if order.pool is None else max(0, order.pool - before)
    return [*_sorted(found, group[:inside], order.ties), *_sorted(found, group[inside:], order.ties)]


def _sorted(found: Documents, group: Sequence[int], ties: str) -> Sequence[int]:
    if ties == "input":
        return group
    if ties == "rank":
        ranks = _rank_column(found)
        return sorted(group, key=ranks.__getitem__)
    return sorted(group, key=found.docs.__getitem__, reverse=ties == "trec")


def _rank_column(found: Documents) -> list[int]:
    if found.ranks is None:
        raise InputError(
            f"{found.source}: has no rank column, which ties='rank' and compat='ndeval' go by; choose another"
            " rule"
        )
    ranks = _rank_numbers(found.ranks)
    if ranks is None:
        raise InputError(
            f"{found.source}: the rank column holds more than whole numbers of up to {_LONGEST_RANK} digits;"
            " choose another --ties or --compat"
        )
    return ranks


def _rank_numbers(ranks: Sequence[bytes]) -> list[int] | None:
    """Return a rank column as numbers, if it holds whole numbers and nothing else."""
    digits = b"".join(ranks)
    if not digits.isdigit() or len(max(ranks, key=len)) > _LONGEST_RANK:
        return None
    return list(map(int, ranks))


def _refused(found: Documents, group: Sequence[int]) -> InputError:
    first, second = group[:2]
    tied = sum(count - 1 for count in Counter(found.scores).values())
    return InputError(
        f"{found.where(second)}: score {found.scores[second]:g} is tied with line {found.lines[first]}"
        f" ({tied:,} tied rows of query {visible(found.query)}), refused by --ties error; choose a rule, such"
        " as --ties trec"
    )


def _equal_ranks(found: Documents, first: int, second: int) -> InputError:
    return InputError(
        f"{found.where(second)}: has the rank of line {found.lines[first]}, refused as ndeval does, which"
        " orders by rank alone; expected a rank of its own, or choose --compat ndeval-traditional, which goes"
        " by score"
    )


_COUNTED = [[b"%d" % rank for rank in range(start, 1002)] for start in (0, 1)]


def _contradicts(found: Documents, ranked: _Ranked) -> bool:
    """Return whether two neighbouring rows have ranks that say the opposite of their scores.

    Only ranks that are whole numbers say anything.
    """
    ranks, scores = found.ranks, found.scores
    if ranks is None or len(ranks) < 2:
        return False
    if ranked.keys == list(scores) and list(ranks) == _COUNTED[ranks[0] != b"0"][: len(ranks)]:
        return False  # the usual: sorted, and counted
    numbers = [int(rank) if rank.isdigit() and len(rank) <= _LONGEST_RANK else None for rank in ranks]
    for at in range(1, len(ranks)):
        before, here = numbers[at - 1], numbers[at]
        if before is None or here is None or before == here:
            continue
        low, high = (at - 1, at) if before < here else (at, at - 1)
        if scores[low] < scores[high]:
            return True
    return False
