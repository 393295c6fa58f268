"""Reports judged by the rubrics of ARGUE's tree and of DRAGUN, by scripts in place of models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval.judges.base import Request
from rageval.records import Nugget, NuggetAnswer, Reference, Sentence
from rageval.testing import ScriptedModel

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # nothing weighs the nuggets
SENTENCES = (
    Sentence("It was built in 1450.", ("d1",)),
    Sentence("It was never moved.", ()),
    Sentence("It was moved twice.", ("d1", "d2")),
)
ANSWERS = [
    {
        "query_id": "7",
        "run_id": "r",
        "references": ["d1", "d2"],
        "answer": [{"text": sentence.text, "citations": list(sentence.citations)} for sentence in SENTENCES],
    }
]
QUESTIONS = [{"query_id": "7", "question": "Tell of the bridge."}]
PASSAGES = [{"id": "d1", "text": "Built in 1450."}, {"id": "d2", "text": "Moved twice."}]
BANK = [
    Nugget("7", "when", "When was it built?", answers=(NuggetAnswer("in 1450", (Reference("d1"),)),)),
    Nugget("7", "moved", "Was it moved?", answers=(NuggetAnswer("once", (Reference("d3"),)),)),
]


def judged(folder: Path, rubric: str, model: ScriptedModel, **more: Any) -> list[dict[str, Any]]:
    options = {"questions": QUESTIONS, "canaries": 0, "store": str(folder / "store")}
    return list(rageval.judge(rubric, ANSWERS, model, **options, **more))


def test_the_tree_is_asked_only_as_far_as_needed_and_scored_as_one_judge(tmp_path: Path) -> None:
    bank = tmp_path / "bank.jsonl"
    asked = {
        nugget.text: {
            "question": nugget.text, "query_id": "7", "question_id": nugget.nugget_id,
            "answers": {
                answer.text: {"answer": answer.text, "references": [{"doc_id": answer.references[0].doc_id}]}
                for answer in nugget.answers
            },
        }
        for nugget in BANK
    }  # fmt: skip
    bank.write_text(json.dumps({"query_id": "7", "title_query": "x", "nugget_bank": asked}) + "\n")

    def attests(request: Request) -> str:
        is_so = "Built in 1450" in str(request)
        yes = {"evidence": "Built in 1450.", "reason": "so", "label": "yes"}
        return json.dumps(
            yes if is_so and "It was built" in str(request) else yes | {"evidence": "", "label": "no"}
        )

    supports = [("n1", "built in 1450", "yes"), ("n2", "", "no")]
    verdicts = [{"id": name, "evidence": quote, "label": label} for name, quote, label in supports]
    cited, answers = ScriptedModel(attests), ScriptedModel([json.dumps({"verdicts": verdicts})])
    need = ScriptedModel(['{"reason": "r", "label": "required"}'])
    judgements = judged(tmp_path, "argue-attested", cited, passages=PASSAGES)
    judgements += judged(tmp_path, "argue-need", need, nuggets=bank)
    judgements += judged(tmp_path, "argue-answers", answers, nuggets=bank)
    assert (cited.calls, need.calls, answers.calls) == (3, 1, 1)  # one a citation, one a sentence without
    assert {row["status"] for row in judgements} == {"ok"}
    assert len({row["judge"] for row in judgements}) == 1
    scores = rageval.evaluate_answers("official:ragtime", judgements, answers=ANSWERS, nuggets=bank)["r"]
    values = [score.value for score in scores.values()]
    # Citations: d1 states an answer of the bank twice, d2 none; one of three attests; one of three sentences.
    assert values[:5] == [2 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2]


def test_what_cannot_be_read_is_missing(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: '{"label": "perhaps"}')
    judgements = judged(tmp_path, "argue-need", model)
    assert [row["status"] for row in judgements] == ["invalid"]
    assert all("label" not in row for row in judgements)


def test_stances_are_judged_by_short_answers(tmp_path: Path) -> None:
    answers = [{"answer_id": "a1", "answer": "in 1450"}, {"answer_id": "a2", "answer": "by monks"}]
    question = {
        "question_id": "7-1",
        "question": "When was it built, and by whom?",
        "importance": "A: Have to Know",
    }
    rubric = tmp_path / "rubric.json"
    rubric.write_text(json.dumps({"topic_id": "7", "rubrics": [question | {"short_answers": answers}]}))
    reply = {"verdicts": [{"id": "n1", "evidence": "built in 1450", "label": "supports"},
                          {"id": "n2", "evidence": "", "label": "none"}]}  # fmt: skip
    model = ScriptedModel([json.dumps(reply)])
    judgements = judged(tmp_path, "stance", model, nuggets=rubric)
    assert [(row["aspect"], row["label"]) for row in judgements] == [("a1", "supports"), ("a2", "none")]
    assert '"When was it built, and by whom? in 1450"' in str(model.requests[0])
    scores = rageval.evaluate_answers("official:dragun", judgements, nuggets=rubric)["r"]
    assert [score.value for score in scores.values()] == [0.5, 0.0]
