"""The public names: what `from rageval import …` promises."""

from __future__ import annotations

import pytest

import rageval
from rageval.measures import builtin

PROMISED = [
    "Evaluator",
    "Hit",
    "InputError",
    "Measure",
    "MeasureError",
    "NothingJudged",
    "Qrels",
    "RagevalError",
    "Ranking",
    "Run",
    "Scores",
    "Topic",
    "__version__",
    "alpha_ndcg",
    "coverage",
    "evaluate",
    "evaluate_answers",
    "measure",
    "ndcg",
    "parse_measure",
    "read_judgements",
    "read_qrels",
    "read_run",
    "recall",
]


def test_the_public_names_are_these_and_they_exist() -> None:
    assert sorted(rageval.__all__) == PROMISED
    assert len(PROMISED) <= 25
    for name in PROMISED:
        assert getattr(rageval, name) is not None
    assert set(PROMISED) <= set(dir(rageval))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        rageval.evalute  # noqa: B018


def test_every_measure_bears_its_name() -> None:
    import rageval.measures

    for name, measure in builtin().items():
        assert getattr(rageval.measures, name) is measure
        assert str(measure) == name
        assert name in rageval.measures.__all__
