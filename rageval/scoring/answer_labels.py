"""What people said of answers, beside a judge of answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rageval.errors import InputError, Place
from rageval.files.judgements import JudgementTable
from rageval.scoring.assessments import answers_in
from rageval.scoring.gold import Gold, labels_of_answer, refuse_the_judge
from rageval.scoring.scores import Labels, Scores
from rageval.text import visible


class AnswerLabels:
    """Human labels of answers, and the judgements that they are compared with: `HumanLabels`."""

    def __init__(self, table: JudgementTable, gold: Gold) -> None:
        self.table, self.gold = table, gold

    def refuse(self) -> None:
        """Refuse labels that cannot tell the judge's errors."""
        judged, people = self.table, self.gold.answers
        refuse_the_judge(judged, people)
        for table in (judged, people):
            table.require_no_repeats("a correction with human labels")
        # Two files that have nothing in common were named by mistake; they are not labels of nothing.
        if not set(answers_in(judged)) & set(answers_in(people)):
            failed = people.failed()
            raise InputError(
                at=Place(visible(people.name)),
                problem=f"has no labels for the answers of {visible(judged.name)}",
                expected="the same query_id and run_id in both"
                f" files{f' ({failed:,} of its judgements failed)' if failed else ''}",
            )

    def unmatched(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the human labels without a verdict of the judge."""
        labeled = zip(*answers_in(self.gold.answers), strict=True)
        judged = [set(words) for words in zip(*answers_in(self.table), strict=True)]
        for what, theirs, ours in zip(
            ("systems", "queries"), map(dict.fromkeys, labeled), judged, strict=True
        ):
            if unjudged := [word for word in theirs if word not in ours]:
                yield what, unjudged

    def labels(self, scores: Scores) -> Iterator[Labels]:
        """Yield what people said of a system, for each of its scores."""
        for score in scores.scores:
            yield Labels(*labels_of_answer(score.measure, scores.run, self.table, self.gold.answers))
