"""A rubric of rageval as a judge of TREC's Auto-Judge kit (package `autojudge-base`).

In the kit's `workflow.yml`:

    judge_class: "rageval.autojudge.RubricJudge"
    settings: {rubric: nugget-assignment, measures: "v_strict,a_strict"}

What else stands there goes to `rageval.judge`: `judges` (else the kit's model, asked as `openai:MODEL`),
`max_cost`, `store` and so on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rageval.errors import MissingPackage, UsageError
from rageval.judges import rubric_named
from rageval.measures.scales import usual_measure
from rageval.verbs import judge as judge_answers

__all__ = ["RubricJudge"]

_ALL = "all"  # what the kit calls the mean over topics
_OF_RUNNER = ("filebase", "outdir")  # what the kit tells every judge: where it writes


class RubricJudge:
    """Judges the kit's reports by a rubric, and returns the kit's leaderboard."""

    @property
    def nugget_banks_type(self) -> Any:
        """What the kit reads banks of nuggets as."""
        return _kit().NuggetBanks

    def judge(
        self,
        rag_responses: Iterable[Any],
        rag_topics: Sequence[Any],
        llm_config: Any,
        nugget_banks: Any = None,
        qrels: object = None,
        corpus: object = None,
        *,
        rubric: str,
        measures: str = "",
        **settings: Any,
    ) -> Any:
        """Judge reports, and score them.

        Parameters
        ----------
        rag_responses, rag_topics, llm_config, nugget_banks
            The kit's reports, requests, configuration and banks of nuggets. Reports to other topics are left
            out.
        qrels, corpus
            Not used: what a report cites is judged by the passages that come with it (`documents`).
        rubric, measures
            A rubric's name or file, and the measures of the leaderboard: the rubric's own without any.
        **settings
            Options of `rageval.judge`, such as `judges` or `on_missing`.

        Returns
        -------
        autojudge_base.Leaderboard
            The value of every run and topic, and the mean as rageval computes it. An undefined value has no
            row.
        """
        kit = _kit()
        options = {name: value for name, value in settings.items() if name not in _OF_RUNNER}
        chosen = measures or usual_measure(rubric_named(rubric).judged_as)
        if not chosen:
            raise UsageError(f"no measure scores the rubric {rubric!r} by itself; set measures")
        topics = {str(topic.request_id) for topic in rag_topics}
        reports = [record for record in map(_report, rag_responses) if _topic_of(record) in topics]
        judgements = judge_answers(
            rubric,
            reports,
            options.pop("judges", None) or _model_of(llm_config),
            chosen,
            questions=[_request(topic) for topic in rag_topics],
            nuggets=None if nugget_banks is None else list(_banks(nugget_banks)),
            **options,
        )
        values: dict[tuple[str, str], dict[str, float]] = {}
        names: dict[str, None] = {}
        for run, scores in judgements.scores.items():
            for score in scores.values():
                names[str(score.measure)] = None
                for topic, value in (*score.by_query.items(), (_ALL, score.value)):
                    if not math.isnan(value):
                        values.setdefault((run, topic), {})[str(score.measure)] = value
        spec = kit.LeaderboardSpec(tuple(map(kit.MeasureSpec, names)), _ALL)
        entries = [kit.LeaderboardEntry(run, topic, of_topic) for (run, topic), of_topic in values.items()]
        return kit.Leaderboard(tuple(names), spec, tuple(entries), _ALL)


def _kit() -> Any:
    try:
        import autojudge_base
    except ImportError:
        raise MissingPackage("autojudge-base", "rageval.autojudge.RubricJudge") from None
    return autojudge_base


def _record(kept: Any) -> dict[str, Any]:
    """Return one of the kit's objects as the record that it is written as."""
    record: dict[str, Any] = kept.model_dump(mode="json", exclude_none=True)
    return record


def _report(kept: Any) -> dict[str, Any]:
    """Return a report as its record; the kit has its sentences under two names."""
    record = _record(kept)
    return {key: value for key, value in record.items() if key != "answer" or "responses" not in record}


def _topic_of(report: dict[str, Any]) -> str:
    metadata = report["metadata"]
    return str(metadata.get("topic_id", metadata.get("narrative_id", metadata.get("request_id"))))


def _request(topic: Any) -> dict[str, Any]:
    """Return a request under one of its names: the kit repeats the id under several."""
    record = _record(topic)
    return {key: value for key, value in record.items() if key not in ("topic_id", "narrative_id")}


def _banks(banks: Any) -> Iterator[dict[str, Any]]:
    yield from map(_record, banks.banks.values())


def _model_of(llm_config: Any) -> str:
    """Return the model that the kit is set to, at its address if it has one: it speaks OpenAI's protocol."""
    address = getattr(llm_config, "base_url", None)
    return f"openai:{llm_config.model}" + (f"@{address}" if address else "")
