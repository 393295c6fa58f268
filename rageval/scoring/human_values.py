"""People's values beside a judge's: from what each person said of a system, for each of its scores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from rageval.core.remark import Remark, Scope
from rageval.errors import UsageError
from rageval.measures.base import MEAN
from rageval.scoring.gold import Gold, People, label_remarks
from rageval.scoring.scores import EXAMPLES, Labels, Score, Scored, Scores


class HumanLabels(Protocol):
    """What people said of the systems of a subject."""

    gold: Gold

    def refuse(self) -> None:
        """Refuse labels that cannot tell the judge's errors."""

    def unmatched(self) -> Iterable[tuple[str, Sequence[str]]]:
        """Yield the human labels without a verdict of the judge: what these are, and which."""

    def labels(self, scores: Scores) -> Iterable[Labels]:
        """Yield what people said of a system, for each of its scores."""


def with_people(scored: Scored, human: HumanLabels) -> Scored:
    """Return the scores with people's values beside the judge's, and what should be known of these."""
    gold = human.gold
    human.refuse()
    results = []
    for scores in scored.results:
        # The bounds are the judge's: the value, now people's, may lie outside of them.
        with_people = (
            score if why_uncorrected(score) else replace(score, people=_people(gold, labels), bounds=None)
            for score, labels in zip(scores.scores, human.labels(scores), strict=True)
        )
        results.append(replace(scores, scores=tuple(with_people)))
    results, uncorrected = _corrected_at_all(results, gold)
    corrected = {
        Scope((scores.run,), str(score.measure))
        for scores in results
        for score in scores.scores
        if score.people is not None
    }
    results = [scores.with_remarks(_about_judge(scores.remarks, corrected)) for scores in results]
    # What people labeled that the judge knows nothing of.
    about = Scope(file=gold.draw.name)
    unmatched = [
        Remark(
            "labels_of_unjudged",
            about,
            {"number": len(names), "kind": kind, "examples": list(names[:EXAMPLES])},
        )
        for kind, names in human.unmatched()
    ]
    more = [*label_remarks(gold), *uncorrected, *unmatched, *_unlabeled_remarks(results)]
    return Scored(results, [*_about_judge(scored.remarks, corrected), *more], scored.refused)


def _about_judge(remarks: Iterable[Remark], corrected: Collection[Scope]) -> Iterator[Remark]:
    """Yield the remarks, those on the range of a corrected value as what they are: on that of the judge's."""
    for remark in remarks:
        if remark.about not in corrected:
            yield remark
        elif remark.code == "missing_judgements":
            facts = {name: remark.facts[name] for name in ("number", "low", "high")}
            yield Remark("missing_of_judge", remark.about, facts)
        elif remark.code == "range_of_value":
            yield Remark("range_of_judge", remark.about, remark.facts)
        else:
            yield remark


def _people(gold: Gold, labels: Labels) -> People:
    """Return people's values by a measure; of several annotators the mean: none of them is the truth."""
    values: dict[str, list[float]] = {}
    who: dict[str, set[str]] = {}
    partly = set()
    for name, values_by_query in labels.by_labeller:
        for query, value in values_by_query.items():
            if value is None:
                partly.add(query)
            else:
                values.setdefault(query, []).append(value)
                who.setdefault(query, set()).add(name)
    means = {query: float(sum(numbers)) / len(numbers) for query, numbers in values.items()}
    return People(
        means,
        gold.draw,
        frozenset(partly - means.keys()),
        gold.by,
        failed=frozenset(set(labels.failed) - means.keys()),
        who={query: frozenset(names) for query, names in who.items()},
    )


def why_uncorrected(score: Score) -> Remark | None:
    """Return why no labels can correct the values of a measure of answers; None if some can."""
    if score.basis.is_of_texts:
        return Remark("computed_from_texts")
    return None if score.measure.aggregate == MEAN else Remark("no_mean_over_queries")


def _corrected_at_all(results: Sequence[Scores], gold: Gold) -> tuple[list[Scores], list[Remark]]:
    """Return scores that know how many they are, and what labels cannot correct; refuse if that is all."""
    kinds = [score for score in results[0].scores if score.people is not None] if results else []
    lost: dict[Remark | None, dict[str, None]] = {}
    for score in (score for scores in results for score in scores.scores if score.people is None):
        lost.setdefault(why_uncorrected(score), {})[str(score.measure)] = None
    about = Scope(file=gold.draw.name)
    remarks = [
        Remark("not_correctable", about, {"measures": list(names), "reason": why})
        for why, names in lost.items()
    ]
    if not kinds and remarks:
        raise UsageError(
            f"{'; '.join(map(str, remarks))}; leave out the human labels, or use a measure of what was"
            " labeled"
        )
    # Every mean, and every difference of two, is a chance to find that labels were chosen.
    tests = len(kinds) * len(results) * (len(results) + 1) // 2
    counted = [
        replace(
            scores,
            scores=tuple(
                score if score.people is None else replace(score, people=replace(score.people, tests=tests))
                for score in scores.scores
            ),
        )
        for scores in results
    ]
    return counted, remarks


def _unlabeled_remarks(results: Sequence[Scores]) -> Iterator[Remark]:
    """Say what people judged in part, which is no label, and which labels failed."""
    for scores in results:
        for score in scores.scores:
            if score.people is None:
                continue
            about = Scope((scores.run,), str(score.measure))
            if score.people.partly:
                partly = sorted(score.people.partly)
                facts = {"number": len(partly), "examples": partly[:EXAMPLES]}
                yield Remark("partly_labeled", about, facts)
            if score.people.failed:
                failed = sorted(score.people.failed)
                total = len(failed) + len(score.people.values)
                facts = {"number": len(failed), "total": total, "examples": failed[:EXAMPLES]}
                yield Remark("failed_labels", about, facts)
