"""`rageval.judge(…)` and `rageval judge … -m`: judgements and scores in one call."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval.errors import MissingJudgements, UsageError
from rageval.judges import Reply, Request
from rageval.testing import ScriptedModel
from test_bad_input import command

ANSWERS = [
    {"query_id": "q1", "run_id": "ours", "question": "Where?", "answer": "In Oslo."},
    {"query_id": "q2", "run_id": "ours", "question": "When?", "answer": "I don't know."},
    {"query_id": "q1", "run_id": "theirs", "question": "Where?", "answer": "Rome"},
    {"query_id": "q2", "run_id": "theirs", "question": "When?", "answer": "In 1905"},
]
GOLD = [
    {"query_id": "q1", "question": "Where?", "answer": "Oslo"},
    {"query_id": "q2", "question": "When?", "answer": "1905"},
]


def lines(records: list[dict[str, Any]], path: Path) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def score_of(judged: Any) -> dict[str, float]:
    return {run: scores["crag_score"].value for run, scores in judged.scores.items()}


EXPECTED = {"ours": 0.5, "theirs": 0.0}


class TestPython:
    def test_dicts(self) -> None:
        judged = rageval.judge("crag", ANSWERS, "contains", "crag_score", questions=GOLD)
        assert score_of(judged) == EXPECTED
        assert [judgement["label"] for judgement in judged] == ["perfect", "missing", "incorrect", "perfect"]
        assert isinstance(judged, list)
        assert judged.failed == []
        assert "4 judgements of 2 systems" in str(judged)
        assert "0.5000" in judged._repr_html_()

    def test_frames(self) -> None:
        pandas = pytest.importorskip("pandas")
        numbered = [{**record, "query_id": int(record["query_id"][1])} for record in ANSWERS]
        gold = [{**record, "query_id": int(record["query_id"][1])} for record in GOLD]
        judged = rageval.judge(
            "crag", pandas.DataFrame(numbered), "contains", "crag_score", questions=pandas.DataFrame(gold)
        )
        assert score_of(judged) == EXPECTED
        assert {judgement["query_id"] for judgement in judged} == {"1", "2"}
        pyterrier = pandas.DataFrame(numbered).rename(
            columns={"query_id": "qid", "question": "query", "answer": "qanswer"}
        )
        judged = rageval.judge("crag", pyterrier, "contains", "crag_score", questions=pandas.DataFrame(gold))
        assert score_of(judged) == EXPECTED
        assert len(judged.to_pandas()) == 4

    def test_a_cell_that_is_empty_is_no_answer(self) -> None:
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame([*ANSWERS, {"query_id": "q3", "run_id": "ours"}])
        with pytest.warns(UserWarning, match="ours answered 2 of 3 questions"):
            judged = rageval.judge("crag", frame, "contains", questions=GOLD)
        assert [judgement["status"] for judgement in judged if judgement["query_id"] == "q3"] == ["error"]

    def test_what_failed_is_kept_and_said(self, tmp_path: Path) -> None:
        model = ScriptedModel(lambda request: "nothing that can be read")
        options = {"questions": GOLD, "store": str(tmp_path / "store"), "canaries": 0}
        judged = rageval.judge("crag-auto", ANSWERS, model, "crag_score", **options)
        assert len(judged.failed) == 3  # one is an abstention, which no model is asked about
        with pytest.raises(MissingJudgements):
            judged.scores  # noqa: B018
        skipped = rageval.judge("crag-auto", ANSWERS, model, "crag_score", **options, on_missing="worst")
        assert score_of(skipped) == {"ours": -0.5, "theirs": -1.0}
        assert rageval.read_judgements(judged.save(tmp_path / "judged")).failed() == 3

    def test_lists_in_a_balanced_design(self, tmp_path: Path) -> None:
        model = ScriptedModel(lambda request: '{"ranking": ["a1", "a2"]}')
        store = str(tmp_path / "store")
        judged = rageval.judge("listwise", ANSWERS, model, "rank_score", balanced=True, store=store)
        assert {judgement["aspect"] for judgement in judged} == {"0", "1"}
        assert judged.scores["ours"]["rank_score"].value == 0.75

    def test_battles_are_drawn_and_the_same_again(self, tmp_path: Path) -> None:
        answers = [
            {"query_id": query, "run_id": run, "question": "Where?", "answer": f"{run} {query}"}
            for query in ("q1", "q2", "q3")
            for run in "abcd"
        ]
        model = ScriptedModel(lambda request: '{"evidence": "", "reason": "so", "label": "a"}')
        options = {"store": str(tmp_path / "store"), "canaries": 0}
        judged = rageval.judge("pairwise", answers, model, battles=0.5, seed=7, **options)
        assert len(judged) == 18
        assert {judgement["battles"] for judgement in judged} == {"9/18@7"}
        shown = Counter(judgement["shown"][0] for judgement in judged)
        assert max(shown.values()) - min(shown.values()) <= 2
        repeat = rageval.judge("pairwise", answers, model, battles=9, seed=7, **options)
        assert [judgement["shown"] for judgement in repeat] == [judgement["shown"] for judgement in judged]
        with pytest.raises(UsageError, match="crag judges answer; use a rubric that compares two answers"):
            rageval.judge("crag", answers, model, battles=9)

    def test_documents_of_a_run(self, tmp_path: Path) -> None:
        model = ScriptedModel(lambda request: '{"evidence": "it", "reason": "so", "label": "related"}')
        judged = rageval.judge(
            "relevance",
            None,
            model,
            run={"q1": {"d1": 2.0, "d2": 1.0, "d3": 0.5}},
            depth=2,
            questions=GOLD,
            passages=[{"id": f"d{number}", "text": "it is"} for number in (1, 2, 3)],
            store=str(tmp_path / "store"),
            canaries=0,
        )
        assert [judgement["item_id"] for judgement in judged] == ["d1", "d2"]


class TestCommand:
    @pytest.mark.parametrize(
        ("more", "why"),
        [
            ([], "add -o FILE"),
            (["-o", "/dev/null"], "add -o FILE"),
            (["-o", "judged", "-m", "nDCG@3"], "not judged answers"),
            (["-o", "judged", "-m", "no_such"], "no_such"),
        ],
    )
    def test_what_cannot_be_printed_is_refused_first(
        self, more: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        answers, gold = lines(ANSWERS, tmp_path / "a"), lines(GOLD, tmp_path / "gold")
        outcome = command(
            "judge", "crag", answers, "--questions", gold, "--judge", "exact", "-m", "crag_score", *more
        )
        assert outcome.code == 2
        assert why in outcome.err
        assert not Path("judged").exists()


class Bare:
    """A model of somebody's who read that it has one method, and gave it a name."""

    name = "mine:bare"

    async def ask(self, request: Request) -> Reply:
        return Reply("ok", '{"label": "missing", "evidence": ""}')


def test_a_model_needs_a_name_and_a_method_and_no_endpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [{"query_id": "q", "run_id": "a", "question": "Where?", "answer": "In Oslo."}]
    gold = [{"query_id": "q", "question": "Where?", "answer": "Oslo"}]
    store = str(tmp_path / "store.sqlite")

    def judged(judge: Any) -> list[dict[str, Any]]:
        return list(rageval.judge("crag", answers, judge, questions=gold, store=store, quiet=True, price=0))

    assert [row["judge"].partition("@")[0] for row in judged(Bare())] == ["mine:bare"]
    for maker, message in (
        (lambda name: 1 / 0, "the plug-in 'mine' cannot make the model 'x' .ZeroDivisionError"),
        (lambda name: "text", "the judge mine:x: expected a `name` and a method `ask.request.`, found str"),
    ):
        monkeypatch.setattr("rageval.judges.models.plugin", lambda group, name, maker=maker: maker)
        with pytest.raises(UsageError, match=message):
            judged("mine:x")
    monkeypatch.setattr("rageval.judges.models.plugin", lambda group, name: lambda name: Bare())
    assert len(judged("mine:x")) == 1
