"""Several judges of one thing: what they disagree about, and what they say together by a vote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from types import MappingProxyType
from typing import Any

from rageval.core.judge import Panel, PanelKind, parse_judge
from rageval.errors import UsageError

VOTES = ("mean", "median", "majority")
_Judgement = Mapping[str, Any]
JudgementKey = tuple[str, str, str, str]
GRADED = ("ok", "repaired")


def place(judgement: _Judgement) -> JudgementKey:
    """Return what a judgement is about, whoever made it."""
    query, run = str(judgement["query_id"]), str(judgement["run_id"])
    return query, run, str(judgement["item_id"]), str(judgement["aspect"])


def repeated_place(judgement: _Judgement) -> tuple[str, ...]:
    """Return what a judgement is about, with repeats of an answer as different things."""
    return *place(judgement), str(judgement.get("repeat", ""))


def by_place(judgements: Iterable[_Judgement]) -> dict[tuple[str, ...], list[_Judgement]]:
    """Return the judgements of each thing judged, in the order of the judges."""
    groups: dict[tuple[str, ...], list[_Judgement]] = {}
    for judgement in judgements:
        groups.setdefault(repeated_place(judgement), []).append(judgement)
    return groups


def disagreements(judgements: Iterable[_Judgement]) -> list[list[_Judgement]]:
    """Find where judges who gave a verdict gave different ones."""
    differing = []
    for group in by_place(judgements).values():
        graded = [judgement for judgement in group if judgement["status"] in GRADED]
        if len({_verdict_key(judgement) for judgement in graded}) > 1:
            differing.append(graded)
    return differing


def voted(
    judgements: Iterable[_Judgement],
    how: str,
    labels: Mapping[str, float] = MappingProxyType({}),
    tiebreak: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Make one judgement for each thing judged.

    `median`: the middle grade (the lower one of two); `majority`: the label of more than half of those who
    gave one. `mean` keeps them all: scoring averages the judges' scores. A vote that decides nothing is
    `invalid`: a missing judgement, not a grade.

    `labels` are the grades of a rubric's labels, for judges that give labels alone. The vote has one name for
    all that was judged, whoever spoke there; `tiebreak` is the name of who was asked only where the others
    differ.

    >>> one = {"query_id": "q", "run_id": "r", "item_id": "answer", "aspect": "0", "status": "ok"}
    >>> three = [one | {"judge": judge, "label": label, "grade": grade}
    ...          for judge, label, grade in [("a", "perfect", 1), ("b", "missing", 0), ("c", "perfect", 1)]]
    >>> [(vote["label"], vote["judge"]) for vote in voted(three, "majority")]
    [('perfect', 'majority:a+b+c')]
    """
    if how not in VOTES:
        raise UsageError(f"vote {how!r}: expected one of {', '.join(VOTES)}")
    if how == "mean":
        yield from map(dict, judgements)
        return
    groups = by_place(judgements).values()
    voters = dict.fromkeys(parse_judge(str(judgement["judge"])) for group in groups for judgement in group)
    breaker = None if tiebreak is None else parse_judge(tiebreak)
    # A judge may break its own ties: it is then one of the voters, too.
    kind: PanelKind = "median" if how == "median" else "majority"
    name = str(Panel(kind, tuple(voter for voter in voters if voter != breaker), breaker))
    for group in groups:
        graded = [judgement for judgement in group if judgement["status"] in GRADED]
        winner = _median(graded, labels) if how == "median" else _majority(graded)
        base = {key: value for key, value in group[0].items() if key in _KEPT}
        base["judge"] = name
        if winner is None:
            yield base | {"status": "invalid", "detail": "the judges decided nothing"}
        else:
            yield (
                base
                | {"status": "ok"}
                | {k: winner[k] for k in ("label", "grade") if winner.get(k) is not None}
            )


_KEPT = (
    *("query_id", "run_id", "item_id", "aspect", "repeat", "rubric", "importance", "weight", "sentences"),
    *("shown", "judged_sha"),
)


def _verdict_key(judgement: _Judgement) -> Any:
    label = judgement.get("label")
    return label if label is not None else judgement.get("grade")


def _median(graded: Sequence[_Judgement], labels: Mapping[str, float]) -> _Judgement | None:
    by_grade: list[tuple[float, _Judgement]] = []
    for judgement in graded:
        grade = judgement.get("grade")
        grade = labels.get(str(judgement.get("label"))) if grade is None else grade
        if grade is not None:
            by_grade.append((float(grade), judgement))
    by_grade.sort(key=lambda pair: pair[0])
    if not by_grade:
        return None
    middle = median(grade for grade, _ in by_grade)
    return min(by_grade, key=lambda pair: (abs(pair[0] - middle), pair[0]))[1]


def _majority(graded: Sequence[_Judgement]) -> _Judgement | None:
    if not graded:
        return None
    verdict, count = Counter(map(_verdict_key, graded)).most_common(1)[0]
    if 2 * count <= len(graded):
        return None
    return next(judgement for judgement in graded if _verdict_key(judgement) == verdict)
