"""rageval: evaluation of retrieval and RAG with nuggets, as a library and a command.

    import rageval
    from rageval import alpha_ndcg, coverage, recall

    scores = rageval.evaluate([alpha_ndcg @ 10, coverage @ 20, "recall@50"], "run.trec", "qrels.nugget")
    print(scores)

Everything is imported when it is first used, so that `import rageval` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval.lazy_names import lazy_names
from rageval.version import __version__

if TYPE_CHECKING:
    from rageval import (
        autojudge,
        building,
        checking,
        comparison,
        datasets,
        errors,
        interop,
        judges,
        logs,
        measures,
        parallel,
        records,
        spans,
        testing,
        track,
        trajectories,
        typing,
    )
    from rageval.errors import InputError, MeasureError, RagevalError, UsageError
    from rageval.measures import alpha_ndcg, coverage, ndcg, recall
    from rageval.measures.assessment import Assessment
    from rageval.measures.base import Measure, measure
    from rageval.measures.parsing import parse_measure
    from rageval.measures.ranking import Ranking, Share
    from rageval.samples import demo
    from rageval.scoring.answers import evaluate_answers, read_judgements
    from rageval.scoring.evaluation import Evaluator, evaluate
    from rageval.scoring.qrels import Qrels
    from rageval.scoring.runs import Run
    from rageval.scoring.scores import Score, Scores
    from rageval.scoring.sources import read_qrels, read_run
    from rageval.verbs import compare, gate, judge, report

_HOMES = {
    "autojudge": "autojudge",
    "building": "building",
    "checking": "checking",
    "comparison": "comparison",
    "datasets": "datasets",
    "errors": "errors InputError MeasureError RagevalError UsageError",
    "interop": "interop",
    "judges": "judges",
    "logs": "logs",
    "measures": "measures alpha_ndcg coverage ndcg recall",
    "measures.assessment": "Assessment",
    "measures.base": "Measure measure",
    "measures.parsing": "parse_measure",
    "measures.ranking": "Ranking Share",
    "parallel": "parallel",
    "records": "records",
    "samples": "demo",
    "scoring.answers": "evaluate_answers read_judgements",
    "scoring.evaluation": "Evaluator evaluate",
    "scoring.qrels": "Qrels",
    "scoring.runs": "Run",
    "scoring.scores": "Score Scores",
    "scoring.sources": "read_qrels read_run",
    "spans": "spans",
    "testing": "testing",
    "track": "track",
    "trajectories": "trajectories",
    "typing": "typing",
    "verbs": "compare gate judge report",
}

__all__ = [  # written out, so that type checkers and editors know the names
    "Assessment",
    "Evaluator",
    "InputError",
    "Measure",
    "MeasureError",
    "Qrels",
    "RagevalError",
    "Ranking",
    "Run",
    "Score",
    "Scores",
    "Share",
    "UsageError",
    "__version__",
    "alpha_ndcg",
    "compare",
    "coverage",
    "demo",
    "evaluate",
    "evaluate_answers",
    "gate",
    "judge",
    "measure",
    "ndcg",
    "parse_measure",
    "read_judgements",
    "read_qrels",
    "read_run",
    "recall",
    "report",
]


if not TYPE_CHECKING:  # a type checker is not to believe that every name is there
    __getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*__all__, *" ".join(_HOMES.values()).split()})
