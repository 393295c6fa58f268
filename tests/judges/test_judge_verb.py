"""`rageval.judge(…)` and `rageval judge … -m`: judgements and scores in one call."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval.datasets import dataset
from rageval.datasets.dataset import Dataset
from rageval.errors import MissingJudgements, UsageError
from rageval.judges.base import Request
from rageval.records import Answer, Question, Sentence
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

    def test_files_and_several_of_them(self, tmp_path: Path) -> None:
        first, second = lines(ANSWERS[:2], tmp_path / "a"), lines(ANSWERS[2:], tmp_path / "b")
        gold = lines(GOLD, tmp_path / "gold")
        for given in ([first, second], [Path(first), Path(second)]):
            assert (
                score_of(rageval.judge("crag", given, "contains", "crag_score", questions=gold)) == EXPECTED
            )
        assert score_of(rageval.judge("crag", first, "contains", "crag_score", questions=gold)) == {
            "ours": 0.5
        }

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

    def test_ids_of_data_sets(self, monkeypatch: pytest.MonkeyPatch) -> None:
        questions = [Question("q1", "Where?", ("Oslo",)), Question("q2", "When?", ("1905",))]
        fake = Dataset("my/bench", ("questions", "answers"), lambda what: iter(questions))
        monkeypatch.setattr(dataset, "load", {"my/bench": fake}.__getitem__)
        judged = rageval.judge("crag", ANSWERS, "contains", "crag_score", questions="my/bench")
        assert score_of(judged) == EXPECTED
        judged = rageval.judge("crag", "my/bench", "contains", "crag_score", questions="my/bench")
        assert score_of(judged) == {"my/bench": 1.0}
        assert (
            "my/bench"
            in command("judge", "crag", "my/bench", "--judge", "exact", "--questions", "my/bench").out
        )

    def test_other_measures_later_of_texts_too(self) -> None:
        judged = rageval.judge("crag", ANSWERS, "contains", questions=GOLD)
        assert judged.scores == {}
        scores = judged.score("length, accuracy")
        assert scores["ours"]["length"].value == 2.5
        assert scores["theirs"]["accuracy"].value == 0.5

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

    def test_nobody_is_asked_for_a_measure_that_cannot_be(self) -> None:
        asked: list[Request] = []

        def reply(request: Request) -> str:
            asked.append(request)
            return "{}"

        with pytest.raises(rageval.MeasureError):
            rageval.judge("crag-auto", ANSWERS, ScriptedModel(reply), "nDCG@10", questions=GOLD)
        assert not asked

    def test_lists_in_a_balanced_design(self, tmp_path: Path) -> None:
        model = ScriptedModel(lambda request: '{"ranking": ["a1", "a2"]}')
        store = str(tmp_path / "store")
        judged = rageval.judge("listwise", ANSWERS, model, "rank_score", balanced=True, store=store)
        assert {judgement["aspect"] for judgement in judged} == {"0", "1"}
        assert judged.scores["ours"]["rank_score"].value == 0.75

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
    def test_scores_are_printed_too(self, tmp_path: Path) -> None:
        answers, gold = lines(ANSWERS, tmp_path / "a"), lines(GOLD, tmp_path / "gold")
        output = str(tmp_path / "judged")
        words = ["judge", "crag", answers, "--questions", gold, "--judge", "contains", "-o", output]
        outcome = command(*words, "-m", "crag_score,length")
        assert (outcome.code, outcome.err) == (0, "")
        scored = command("score", output, "-m", "crag_score,length", "--answers", answers)
        assert outcome.out == scored.out
        assert "0.5000" in outcome.out

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

    def test_nuggets_are_no_judgements(self, tmp_path: Path) -> None:
        gold = lines(GOLD, tmp_path / "gold")
        output = str(tmp_path / "nuggets")
        words = ["judge", "nuggetize", "--questions", gold, "--judge", "openai:m", "-o", output]
        outcome = command(*words, "-m", "v_strict")
        assert outcome.code == 2
        assert "nuggetize writes a list" in outcome.err


@pytest.mark.parametrize("price", [0, 0.5, "0", ["0"], "scripted=1,2"])
def test_a_price_is_a_number_or_what_the_command_takes(price: Any, tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: '{"evidence": "", "reason": "", "label": "missing"}')
    options: Any = {"questions": GOLD, "store": str(tmp_path / "store"), "price": price}
    assert len(rageval.judge("crag-auto", ANSWERS, model, **options)) == len(ANSWERS)
    with pytest.raises(UsageError, match=r"the price '-1'"):
        rageval.judge("crag-auto", ANSWERS, model, **{**options, "price": -1})


def test_four_threads_and_a_running_loop_judge_and_score_alike(tmp_path: Path) -> None:
    def judged() -> dict[str, float]:
        model = ScriptedModel(lambda request: '{"evidence": "", "reason": "", "label": "incorrect"}')
        options: Any = {"questions": GOLD, "store": str(tmp_path / "store")}
        judging = rageval.judge("crag-auto", ANSWERS, model, "crag_score", **options)
        return {run: scores["crag_score"].value for run, scores in judging.scores.items()}

    async def within() -> dict[str, float]:
        return judged()

    alone = asyncio.run(within())
    with ThreadPoolExecutor(4) as pool:
        assert [future.result() for future in [pool.submit(judged) for _ in range(4)]] == [alone] * 4


def test_a_gap_in_a_frame_is_told_from_an_empty_answer() -> None:
    import pandas

    frame = pandas.DataFrame(ANSWERS)
    frame.loc[1, "answer"] = float("nan")
    with pytest.warns(UserWarning, match=r"answered 1 of 2 questions \(1 failed\)"):
        judged = rageval.judge("crag", frame, "contains", questions=GOLD)
    assert [judgement["status"] for judgement in judged] == ["ok", "error", "ok", "ok"]
    judged = rageval.judge("crag", frame.fillna({"answer": ""}), "contains", questions=GOLD)
    assert judged[1]["label"] == "missing"


def test_records_of_answers_and_questions_are_taken_as_their_files() -> None:
    answers = [
        Answer("q1", "ours", (Sentence("In Oslo."),), repeat="1"),
        Answer("q1", "ours", (Sentence("In Rome."),), repeat="2"),
    ]
    questions = [Question("q1", "Where?", ("Oslo",), (("domain", "geo"),))]
    judged = rageval.judge("crag", answers, "contains", questions=iter(questions))
    assert [(judgement["repeat"], judgement["label"]) for judgement in judged] == [
        ("1", "perfect"),
        ("2", "incorrect"),
    ]
