"""What people said of the documents that runs retrieved, beside a judge of documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from rageval.core.remark import Remark
from rageval.errors import InputError, Place, UsageError
from rageval.scoring.evaluation import Evaluator
from rageval.scoring.gold import Gold, refuse_same
from rageval.scoring.qrels import Qrels
from rageval.scoring.scores import Labels, Scores
from rageval.scoring.sources import RunSource, whole_qrels
from rageval.text import visible


class RunLabels:
    """Human labels of documents, and the runs whose judge they are compared with: `HumanLabels`."""

    def __init__(self, evaluator: Evaluator, sources: Mapping[str, RunSource], gold: Gold) -> None:
        self.evaluator, self.sources, self.gold = evaluator, sources, gold
        self._judged = _judged_documents(evaluator.qrels)

    @cached_property
    def _labelers(self) -> list[tuple[str, dict[str, frozenset[str]], Evaluator]]:
        """Each person's documents by query, and measures by that person's judgements alone."""
        return [
            (name, _judged_documents(qrels), self.evaluator.by(qrels))
            for name, qrels in self.gold.documents.items()
        ]

    def refuse(self) -> None:
        """Refuse labels that cannot tell the judge's errors."""
        qrels, gold = self.evaluator.qrels, self.gold
        if qrels.is_adaptive:
            raise UsageError(
                f"{visible(qrels.name)}: {Remark('adaptive_judgements')}; leave out the human labels"
            )
        refuse_same(qrels.judges, gold.by, gold.draw.name)
        if qrels.origin is not None and any(
            labels.origin == qrels.origin for labels in gold.documents.values()
        ):
            raise UsageError(f"{visible(gold.draw.name)}: has judgements by the judge; expected human labels")
        if not self._judged.keys() & gold.queries:
            raise InputError(
                at=Place(visible(gold.draw.name)), problem=f"has no query of {visible(qrels.name)}"
            )

    def unmatched(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the human labels without a verdict of the judge."""
        unjudged = sorted(self.gold.queries - self._judged.keys())
        if unjudged:
            yield "queries", unjudged

    def labels(self, scores: Scores) -> Iterator[Labels]:
        """Yield what people said of a system, for each of its scores."""
        source, ours = self.sources[scores.run], self._judged
        ranked = self.evaluator.rankings(source)
        theirs = [(name, judged, by.score(source)) for name, judged, by in self._labelers]
        for index, score in enumerate(scores.scores):

            def seen(query: str, k: int | None = score.measure.k) -> frozenset[str]:
                """Return which documents the measure sees of those that the judge judged."""
                return ours[query].intersection(ranked.get(query, ())[:k])

            by_labeler = []
            for name, judged, person_scores in theirs:
                values: dict[str, float | None] = {}
                for query, value in person_scores.scores[index].by_query.items():
                    if query in ours and query in judged and value == value:
                        # A value is people's where they judged all that the measure sees.
                        values[query] = value if seen(query) <= judged[query] else None
                by_labeler.append((name, values))
            # What failed counts where the measure sees it.
            failed = [q for q, docs in self.gold.failed.items() if q in ours and not seen(q).isdisjoint(docs)]
            yield Labels(by_labeler, failed)


def _judged_documents(qrels: Qrels) -> dict[str, frozenset[str]]:
    return {query: frozenset(docs) for query, docs, _ in whole_qrels(qrels).documents()}
