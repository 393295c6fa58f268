"""What somebody downstream writes: type checkers have nothing to say against it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import rageval
from rageval import Ranking, Scores, alpha_ndcg, coverage, measures, recall
from rageval.comparison import Comparison
from rageval.scoring.scores import ScoresTable

if TYPE_CHECKING:
    from rageval.typing import MeasuresLike, QrelsLike, RunLike


class Retrieved(NamedTuple):
    query_id: str
    doc_id: str
    score: float


@rageval.measure(better="lower", limits=(0.0, 1000.0))
def documents(ranking: Ranking, *, k: int | None = None) -> float:
    """Return how many documents were retrieved."""
    return ranking.retrieved


def table(measures: MeasuresLike, run: RunLike, qrels: QrelsLike) -> dict[str, float]:
    scores: Scores = rageval.evaluate(measures, run, qrels, ties="docid_asc", depth=100, judged_only=True)
    return {name: score.value for name, score in scores.items()}


def every_form(folder: Path) -> Iterator[dict[str, float]]:
    qrels = {"q": {"n1": {"a": 1}, "n2": {"b": 1}}}
    plain = {"q": {"a": 1, "b": 0}}
    ranked = {"q": {"a": 2.0, "b": 1.0}}
    yield table([alpha_ndcg @ 10, coverage(rel=2) @ 20, "recall@50"], folder / "run.trec", "qrels.nugget")
    yield table(recall @ 10, ranked, qrels)
    yield table("ndcg@10", [Retrieved("q", "a", 1.0)], plain)
    yield table(measures.rr, [{"query_id": "q", "doc_id": "a", "score": 1}], rageval.Qrels.from_dict(plain))
    yield table((documents, measures.p @ 5), rageval.read_run("run.trec"), rageval.read_qrels("qrels"))


def many(runs: list[Path]) -> list[float]:
    table: ScoresTable = rageval.evaluate("rr", runs, "qrels.nugget", depth=10)
    by_name: dict[str, Scores] = table
    by_name |= rageval.evaluate("rr", {"bm25": "bm25.run", "dense": {"q": {"a": 1.0}}}, "qrels.nugget")
    print(table.to_latex(), table.to_pandas())
    evaluator = rageval.Evaluator("alpha_ndcg@10", "qrels.nugget", rel=2, nothing_judged="error")
    return [evaluator.evaluate(run)["alpha_ndcg@10"].value for run in runs]


def gained(runs: dict[str, RunLike], qrels: QrelsLike) -> float:
    table = rageval.evaluate("rr", runs, qrels)
    old, new = (table[name]["rr"] for name in ("old", "new"))
    print(f"{old:.3f} -> {new:.3f}", old.value, new > 0.5, max(table, key=lambda run: table[run]["rr"].value))
    return (new - old) / old


def which_is_better(runs: dict[str, Path]) -> Comparison:
    answers = rageval.evaluate_answers(
        "v_strict", "judged.jsonl", nuggets="nuggets.jsonl", on_missing="worst"
    )
    rageval.compare(answers, test="t")
    rageval.compare(list(answers.values()), level=0.99)
    rageval.report(answers, "report.html", title="Answers", level=0.9, judgements="judged.jsonl", texts="all")
    comparison = rageval.compare("recall@10", runs, "qrels.nugget", rel=1, test="t", baseline="bm25")
    rageval.report(comparison, "comparison.html", runs=runs, qrels="qrels.nugget")
    return comparison


def judged() -> float:
    judgements = rageval.judge(
        "crag", "answers.jsonl", ["openai:MODEL"], questions="crag.jsonl", max_cost=1.5, batch=True
    )
    return rageval.evaluate_answers("crag_score", judgements)["ours"]["crag_score"].value
