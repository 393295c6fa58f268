"""The one ranking every measure shares: scores descending, ties by a stated rule.

Only rows somebody asks about get an exact place among rows of equal score: ids are compared for tied
groups that hold a judged document, and for no others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.errors import InputError, UsageError
from rageval.tables.blocks import RunBlock, stretches
from rageval.tables.ids import Bool, Int, Word, are_digits, byte_order, numbered
from rageval.tables.qrels import EVERYTHING

TIES = ("trec", "docid_asc", "input", "rank", "error")


@dataclass(frozen=True, slots=True)
class Order:
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

    def __post_init__(self) -> None:
        if self.ties not in TIES:
            raise UsageError(f"ties={self.ties!r}: expected one of {', '.join(TIES)}")


@dataclass(frozen=True, slots=True)
class View:
    """What of a run counts: the order, how deep, and whether unjudged documents are taken out first.

    A document graded below `floor` is one that nobody judged.
    """

    order: Order = field(default_factory=Order)
    depth: int | None = None
    judged_only: bool = False
    floor: int = EVERYTHING


class Ranked(NamedTuple):
    """Ranks (from 1) of some rows of a block, and what the ranking showed on the way."""

    rank: Int
    depth: Int  # rows of each stretch of one query
    tied_at: dict[int, int]  # cut-off -> queries whose documents around it have equal scores
    rank_conflicts: int  # queries whose rank column contradicts their scores


def rank_rows(block: RunBlock, wanted: Int, order: Order, cutoffs: tuple[int, ...]) -> Ranked:
    """Rank the `wanted` rows among all rows of their query."""
    begin = stretches(block.query)
    depth = np.diff(begin, append=len(block))
    stretch = np.repeat(np.arange(len(begin)), depth)
    key = _sort_key(block, order)
    permutation, position = _sorted(key, stretch)
    key = key if permutation is None else key[permutation]
    ties = np.zeros(len(block), bool)
    ties[1:] = (key[1:] == key[:-1]) & (stretch[1:] == stretch[:-1])
    rows = np.arange(len(block)) if permutation is None else permutation
    place = wanted if position is None else position[wanted]
    if ties.any():
        if order.by_rank:
            _refuse_equal_ranks(block, rows, ties)
        if order.ties == "error":
            _refuse_ties(block, rows, ties)
        group = np.cumsum(~ties) - 1
        if order.pool is not None:  # members inside the pool come before the others of their group
            outside = np.arange(len(block)) - np.repeat(begin, depth) >= order.pool
            group = np.cumsum(~ties | np.diff(outside, prepend=outside[:1])) - 1
        place = _settled(block, order, rows, group, wanted, place)
    rank = place - begin[stretch[wanted]] + 1
    return Ranked(rank, depth, _tied_at(ties, begin, depth, cutoffs), _rank_conflicts(block, stretch))


def _sort_key(block: RunBlock, order: Order) -> NDArray[np.float64]:
    if order.by_rank:
        return -numbered(_rank_column(block)).astype(np.float64)
    return single(block.score) if order.single else block.score


def single(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores as 32-bit floats hold them; what is beyond their range is infinite."""
    with np.errstate(over="ignore"):
        return score.astype(np.float32).astype(np.float64)


def _sorted(key: NDArray[np.float64], stretch: Int) -> tuple[Int | None, Int | None]:
    """The permutation that sorts and its inverse; None where the rows are sorted as they stand."""
    if not ((key[1:] > key[:-1]) & (stretch[1:] == stretch[:-1])).any():
        return None, None
    permutation = np.lexsort((-key, stretch))
    position = np.empty_like(permutation)
    position[permutation] = np.arange(len(permutation))
    return permutation, position


def _settled(block: RunBlock, order: Order, rows: Int, group: Int, wanted: Int, place: Int) -> Int:
    """The places of the wanted rows, with groups of equal rows ordered by the rule."""
    if order.ties == "input":
        return place  # the sort was stable
    open_ = np.bincount(group) > 1
    asked = np.zeros_like(open_)
    asked[group[place]] = True
    places = np.flatnonzero((open_ & asked)[group])
    if not len(places):
        return place
    members = rows[places]
    inside = _by_rule(block, order, members, group[places])
    final = np.arange(len(block))
    final[members[inside]] = places
    final_place = place.copy()
    tied = open_[group[place]]
    final_place[tied] = final[wanted[tied]]
    return final_place


def _by_rule(block: RunBlock, order: Order, members: Int, group: Int) -> Int:
    """The members' order by group, and within a group by the rule for ties."""
    if order.ties == "rank":
        return np.lexsort((_rank_column(block)[members], group))
    if order.ties == "docid_asc":
        return byte_order(block.doc.take(members), group)
    return byte_order(block.doc.take(members), -group)[::-1]


def _rank_column(block: RunBlock) -> Word:
    """The rank column, as keys that sort as the numbers do."""
    if block.rank is None:
        raise InputError(
            f"{block.source}: has no rank column, which ties='rank' and compat='ndeval' go by; choose another"
            " rule"
        )
    if not are_digits(block.rank):
        raise InputError(
            f"{block.source}: the rank column holds more than whole numbers of up to 8 digits; choose"
            " another --ties or --compat"
        )
    return block.rank


def _refuse_ties(block: RunBlock, rows: Int, ties: Bool) -> None:
    at = int(np.flatnonzero(ties)[0])
    first, second = int(rows[at - 1]), int(rows[at])
    raise InputError(
        f"{block.where(second)}: score {block.score[second]:g} is tied with line {int(block.line[first])}"
        f" ({int(ties.sum()):,} tied rows here), refused by --ties error; choose a rule, such as --ties trec"
    )


def _refuse_equal_ranks(block: RunBlock, rows: Int, ties: Bool) -> None:
    at = int(np.flatnonzero(ties)[0])
    first, second = sorted((int(rows[at - 1]), int(rows[at])), key=lambda row: int(block.line[row]))
    raise InputError(
        f"{block.where(second)}: has the rank of line {int(block.line[first])}, refused as ndeval does, which"
        " orders by rank alone; expected a rank of its own, or choose --compat ndeval-traditional, which goes"
        " by score"
    )


def _tied_at(ties: Bool, begin: Int, depth: Int, cutoffs: tuple[int, ...]) -> dict[int, int]:
    """For each cut-off: how many queries have equal scores right above and right below it."""
    if not ties.any():
        return dict.fromkeys(cutoffs, 0)
    return {cutoff: int(ties[begin[depth > cutoff] + cutoff].sum()) for cutoff in cutoffs}


def _rank_conflicts(block: RunBlock, stretch: Int) -> int:
    """Queries with two neighbouring rows whose ranks say the opposite of their scores."""
    if block.rank is None or len(block) < 2:
        return 0
    rank, score = block.rank, block.score
    opposite = ((rank[1:] > rank[:-1]) & (score[1:] > score[:-1])) | (
        (rank[1:] < rank[:-1]) & (score[1:] < score[:-1])
    )
    return len(np.unique(stretch[1:][opposite & (stretch[1:] == stretch[:-1])])) if opposite.any() else 0
