"""A first judge, and who decides where it is unsure: a second one, or people.

What the first judge is least sure of goes on, once. Either a share of all is asked about, or as much as it
takes for what is kept to be wrong no more often than a bound says, as human labels show. Whoever decided
stands in each row; all of them bear one name, which says both judges, so that nobody takes them for one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval.core.basis import PEOPLE, Basis
from rageval.core.judge import AnyJudge, Cascade, Judge, Panel, parse_judge
from rageval.errors import InputError, Place, UsageError
from rageval.judges.base import ERROR
from rageval.judges.votes import GRADED, repeated_place
from rageval.measures.scales import CRAG
from rageval.scoring.answers import read_judgements
from rageval.scoring.assessments import on
from rageval.scoring.gold import DOUBT, drawn, gold_of, refuse_same
from rageval.statistics.correction import selection_p
from rageval.statistics.selective import keep
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.scoring.gold import Draw
    from rageval.statistics.selective import Kept

_Row = dict[str, Any]
_Place = tuple[str, ...]


class PeoplesLabels(NamedTuple):
    """What labelers said of answers: whether each is right, by query, system and repeat."""

    name: str
    right: Mapping[_Place, bool]
    labelers: tuple[str, ...]
    draw: Draw

    def basis(self, unlabeled: int) -> Basis:
        """Return who labeled, and how the labels were drawn that so many answers do not have."""
        return Basis.of_labels(self.labelers, drawn=self.draw.kind(unlabeled))


def labels_of(sources: Any, chosen: Any, what: str) -> PeoplesLabels:
    """Read what labelers said of answers; the mean of several counts, and a tie is not right.

    Labels that were not drawn alike, by what is `chosen` to be said of their draw, are refused for `what`.
    """
    table = read_judgements(sources)
    view = on(table, CRAG)
    votes_by_place: dict[_Place, list[bool]] = {}
    by: dict[str, None] = {}
    for answer, row in view.rows() if view else ():
        worth = view.worth(row)
        if table.statement_of(row).is_graded and worth == worth:
            line = table.line(answer, row)
            by[line.judge] = None
            place = str(line.query_id), str(line.run_id), str(line.repeat or "")
            votes_by_place.setdefault(place, []).append(worth > 0)
    if not votes_by_place:
        raise InputError(
            at=Place(visible(table.name)),
            problem=f"has no label of CRAG's rubric ({CRAG.expected})",
            expected="human labels of the answers",
        )
    refuse_same(["short"], list(by), table.name)
    draw = gold_of(table, [sources], drawn(chosen)).draw
    draw.require_equal_chances(what)
    right = {place: 2 * sum(votes) > len(votes) for place, votes in votes_by_place.items()}
    return PeoplesLabels(table.name, right, tuple(by), draw)


def number_in(share: float, total: int) -> int:
    """Return how many of a total a share is, rounded up: of the share as it is written, not of its float.

    >>> number_in(0.07, 400), number_in(0.07, 401)
    (28, 29)
    """
    return math.ceil(Fraction(str(share)) * total)


def answer_of(row: Mapping[str, Any]) -> _Place:
    """Return which answer a judgement is of."""
    return str(row["query_id"]), str(row["run_id"]), str(row.get("repeat") or "")


def hand_on_unsure(
    first_rows: Sequence[_Row],
    ask_next: Callable[[set[_Place]], Iterable[_Row]],
    *,
    then: str | None,
    share: float | None,
    error: float | None,
    gold: PeoplesLabels | None,
) -> list[_Row]:
    """Return the first judge's rows where it is sure, and the next one's for the rest.

    `ask_next` judges some answers; without a next judge, `then`, the rest is left to people, and missing. The
    first row says what became of all, once a job.
    """
    sure = [row for row in first_rows if row["status"] in GRADED]
    if not all("p" in row for row in sure):
        raise UsageError(
            "handing on uncertain verdicts needs the judge's probabilities (p), which only `short` gives"
        )
    doubts = [min(row["p"], 1 - row["p"]) for row in sure]
    summary: _Row = {"of": len(sure)}
    labelers: AnyJudge | None = None
    if share is not None:
        # Of equal doubts those that stand first.
        order = sorted(range(len(sure)), key=lambda index: -doubts[index])
        unsure = {answer_of(sure[index]) for index in order[: number_in(share, len(sure))]}
    else:
        kept = _bound_error(sure, doubts, error or 0.0, gold)
        most = -1.0 if kept is None else kept.doubt
        unsure = {answer_of(row) for row, doubt in zip(sure, doubts, strict=True) if doubt > most}
        labels, wrong = (0, 0) if kept is None else (kept.labels, kept.wrong)
        summary |= {"keep_error": error, "labels": labels, "wrong": wrong}
        assert gold is not None, "a bound is shown by labels"
        basis = gold.basis(sum(answer_of(row) not in gold.right for row in sure))
        # Many people may label one file: that it was people is what counts.
        whose = basis.judges if basis.is_judge else (Judge(PEOPLE),)
        labelers = whose[0] if len(whose) == 1 else Panel("mixed", whose)
        summary |= {name: text for name, text in basis.texts.items() if name != "corrected_from"}
    summary["to_next"] = len(unsure)
    if then is None:
        why = "left to people: not sure enough (--keep-error)"
        final_rows = [_without_verdict(row, why) if answer_of(row) in unsure else row for row in first_rows]
    else:
        decided = {repeated_place(row): row for row in ask_next(unsure)} if unsure else {}
        deciders = sorted({str(row["judge"]) for row in decided.values()} or {then})
        several = tuple(map(parse_judge, deciders))
        last_judge = several[0] if len(several) == 1 else Panel("mixed", several)
        percent = None if share is None else f"{100 * share:.3g}"
        final_rows = []
        for row in first_rows:
            last = row
            if answer_of(row) in unsure:
                # The unsure verdict is no stand-in for one that the next judge owes.
                last = decided.get(repeated_place(row)) or _without_verdict(row, f"{then} says nothing of it")
            judge = Cascade(parse_judge(str(row["judge"])), last_judge, percent, labelers)
            final_rows.append({**last, "judge": str(judge), "decided_by": last["judge"]})
    return [row if index else {**row, "handed_on": summary} for index, row in enumerate(final_rows)]


def _without_verdict(row: _Row, why: str) -> _Row:
    kept = {key: value for key, value in row.items() if key not in ("label", "grade", "evidence")}
    return kept | {"status": ERROR, "detail": why}


def _bound_error(
    rows: Sequence[_Row], doubts: Sequence[float], error: float, gold: PeoplesLabels | None
) -> Kept | None:
    """Return how far verdicts are kept, None if none is."""

    assert gold is not None, "a bound is shown by labels"
    places = {answer_of(row): index for index, row in enumerate(rows)}
    labeled = {place: right for place, right in gold.right.items() if place in places}
    if not labeled:
        raise InputError(
            at=Place(visible(gold.name)),
            problem="has no labels for the judged answers",
            expected="the same query_id and run_id",
        )
    require_random_labels(gold.name, doubts, {places[place] for place in labeled}, "cannot bound its error")
    wrong = {}
    seen: set[str] = set()
    # Errors on answers to one question go together: of each question one label counts, drawn by its
    # digest, so
    # that it is the same one each time and no system is preferred.
    for place in sorted(labeled, key=lambda place: sha256("\0".join(place).encode()).digest()):
        if place[0] not in seen:
            seen.add(place[0])
            row = rows[places[place]]
            wrong[places[place]] = is_right(row) != labeled[place]
    return keep(doubts, wrong, error)


def require_random_labels(
    name: str, doubts: Sequence[float], labeled: Collection[int], consequence: str
) -> None:
    """Refuse labels of answers of which the judge is more or less certain than of the others.

    `doubts` are of all answers, and `labeled` says which of them have a label.
    """
    if selection_p(doubts, labeled) < DOUBT:
        raise UsageError(
            f"{visible(name)}: the judge is more or less certain of the labeled answers than of the"
            f" rest, so the labels are not a random sample and {consequence}; draw them with"
            " rageval label plan"
        )


def is_right(row: Mapping[str, Any]) -> bool:
    """Tell whether a verdict calls an answer right: neither missing nor incorrect."""
    return row.get("label") in ("perfect", "acceptable", "accurate")
