"""Claims, citations together and answerability, from answers to the numbers, by a judge of rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rageval
from fair_judge import data_in, saying
from llm_server import Asked, LlmServer, Saying
from test_bad_input import command

QUESTION = {"query_id": "q", "question": "Where is it?", "answer": "It is in Oslo. It is in Norway."}
ANSWER = {
    "query_id": "q",
    "run_id": "ours",
    "references": ["d1", "d2"],
    "answer": [
        {"text": "It is in Oslo.", "citations": ["d1", "d2"]},
        {"text": "It is on Mars.", "citations": ["d2"]},
        {"text": "It is.", "citations": []},
    ],
}
PASSAGES = {"d1": "Oslo is its place: it is in Oslo.", "d2": "Nothing is said here. It is in Norway."}


def rules(asked: Asked) -> Saying:
    """Sentences are claims; a text that holds the last word of a claim or a question entails it."""
    data = data_in(asked)
    if "claims" in data:
        return saying(asked, json.dumps({"verdicts": [verdict(c, data["text"]) for c in data["claims"]]}))
    if "nuggets" in data:
        return saying(asked, json.dumps({"verdicts": [grade(n, data["passage"]) for n in data["nuggets"]]}))
    if "passages" in data:
        word = data["sentence"].split()[-1]
        quote = next((text for text in data["passages"] if word in text), "")
        return saying(asked, json.dumps({"evidence": quote, "reason": "", "label": "yes" if quote else "no"}))
    claims = [f"{sentence.strip(' .')}." for sentence in data["text"].split(". ")]
    return saying(asked, json.dumps({"claims": claims}))


def verdict(claim: dict[str, str], text: str) -> dict[str, str]:
    word = claim["text"].split()[-1]
    label = "entailment" if word in text else "contradiction" if word == "Mars." else "neutral"
    return {"id": claim["id"], "evidence": word if word in text else "", "label": label}


def grade(question: dict[str, str], passage: str) -> dict[str, str]:
    is_there = question["text"].split()[-1] in passage
    return {
        "id": question["id"],
        "evidence": passage if is_there else "",
        "label": "fully" if is_there else "related",
    }


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "0" * 30)
    texts = [{"id": doc, "text": text} for doc, text in PASSAGES.items()]
    banks = [{"qid": "q", "nuggets": [{"text": "Oslo"}, {"text": "Norway"}, {"text": "Mars"}]}]
    for name, records in (
        ("questions", [QUESTION]),
        ("answers", [ANSWER]),
        ("passages", texts),
        ("nuggets", banks),
    ):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (tmp_path / "run").write_text("q Q0 d1 1 2 t\nq Q0 d2 2 1 t\n")
    return tmp_path


def judged(rubric: str, *words: str, judge: Any = rules, code: int = 0) -> Any:
    given = ["--questions", "questions.jsonl", "--passages", "passages.jsonl", "--store", "store", "--quiet"]
    with LlmServer(judge) as server:
        result = command("judge", rubric, *words, *given, "--judge", f"openai:m@{server.openai}")
        assert result.code == code, result.err
        return result, len(server.requests)


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_from_answers_to_ragcheckers_numbers(folder: Path) -> None:
    judged("claims", "answers.jsonl", "-o", "claims.jsonl")
    claims = {line["run_id"]: line["claims"] for line in lines("claims.jsonl")}
    assert claims == {
        "ours": ["It is in Oslo.", "It is on Mars.", "It is."],
        "gold": ["It is in Oslo.", "It is in Norway."],
    }
    _, asked = judged("entailment", "answers.jsonl", "--claims", "claims.jsonl", "-o", "judged.jsonl")
    assert asked == 6  # the answer's claims beside gold and two passages, gold's beside the answer and these
    scores = rageval.evaluate_answers("official:ragchecker", "judged.jsonl")["ours"]
    assert scores["answer_recall"].value == 0.5  # Oslo, not Norway
    assert scores["claim_recall"].value == scores["context_precision"].value == 1.0
    assert scores["answer_precision"].value == pytest.approx(1 / 3)
    assert {row["label"] for row in lines("judged.jsonl")} == {"entailment", "neutral", "contradiction"}
    # A file of judgements stands for the judge.
    words = ["answers.jsonl", "--claims", "claims.jsonl", "--questions", "questions.jsonl"]
    words += ["--passages", "passages.jsonl", "--judge", "frozen:judged.jsonl"]
    assert sorted(command("judge", "entailment", *words).out.splitlines()) == sorted(
        Path("judged.jsonl").read_text().splitlines()
    )


def test_from_answers_to_alces_numbers(folder: Path) -> None:
    judged("citations-together", "answers.jsonl", "-o", "judged.jsonl")
    rows = {(row["aspect"], row["item_id"]): row["label"] for row in lines("judged.jsonl")}
    assert rows == {
        **{("0", "*"): "yes", ("0", "d1"): "yes", ("0", "d2"): "no", ("0", "-d1"): "no", ("0", "-d2"): "yes"},
        ("1", "*"): "no",
    }
    scores = rageval.evaluate_answers("official:alce", "judged.jsonl", answers="answers.jsonl")["ours"]
    assert [score.value for score in scores.values()] == pytest.approx([1 / 3, 1 / 3])


def test_from_passages_to_exam(folder: Path) -> None:
    judged("answerability", "--run", "run", "--nuggets", "nuggets.jsonl", "-o", "judged.jsonl")
    grades = {(row["item_id"], row["aspect"]): row["grade"] for row in lines("judged.jsonl")}
    assert grades == {
        ("d1", "0"): 5,
        ("d1", "1"): 1,
        ("d1", "2"): 1,
        ("d2", "0"): 1,
        ("d2", "1"): 5,
        ("d2", "2"): 1,
    }
    for form, expected in {
        "nuggets": {"q 0 d1 5", "q 1 d1 1", "q 2 d1 1", "q 0 d2 1", "q 1 d2 5", "q 2 d2 1"},
        "best": {"q 0 d1 5", "q 0 d2 5"},
        "count": {"q 0 d1 1", "q 0 d2 1"},
    }.items():
        result = command("collection", "qrels", "judged.jsonl", "--grade", form, "--rel", "4")
        assert set(result.out.splitlines()) == expected
    command("collection", "qrels", "judged.jsonl", "-o", "qrels")
    result = command("run", "qrels", "-m", "exam(rel=4)@20 n_exam(rel=4)@20 exam(rel=4)@1")
    assert [line.split()[-1] for line in result.out.splitlines()] == ["0.6667", "1.0000", "0.3333"]
    assert [str(rageval.parse_measure(name)) for name in ("exam", "n-EXAM")] == ["coverage@20", "strec@20"]


def garbage(asked: Asked) -> Saying:
    return saying(asked, '{"claims": "none"}')


def test_what_cannot_be_read_is_a_failure_and_no_list(folder: Path) -> None:
    outcome, _ = judged("claims", "answers.jsonl", "-o", "claims.jsonl", judge=garbage, code=3)
    assert "no claims of run ours, query q: invalid" in outcome.err
    assert lines("claims.jsonl") == []
    result = command(
        *(
            *("judge", "entailment", "answers.jsonl", "--claims", "claims.jsonl", "--questions"),
            "questions.jsonl",
        ),
        *("--passages", "passages.jsonl", "--judge", "frozen:claims.jsonl"),
    )
    assert result.code == 2


def test_a_verdict_that_cannot_be_read_has_a_status(folder: Path) -> None:
    judged("claims", "answers.jsonl", "-o", "claims.jsonl")
    judged(
        "entailment", "answers.jsonl", "--claims", "claims.jsonl", "-o", "judged.jsonl", judge=garbage, code=3
    )
    assert {row["status"] for row in lines("judged.jsonl")} == {"invalid"}
    assert not any("label" in row or "grade" in row for row in lines("judged.jsonl"))


REFUSED = {
    "no claims": (
        ["entailment", "answers.jsonl"],
        "run ours, query q: its claims are not known; expected them in --claims FILE",
    ),
    "no list": (["entailment", "answers.jsonl", "--claims", "questions.jsonl"], "expected"),
    "a list that is none": (
        ["claims", "answers.jsonl", "-o", "x", "-m", "answer_f1"],
        "claims writes a list",
    ),
    "nothing cited": (["citations-together"], "expects files of answers that cite passages"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_lacks_is_said_before_anybody_is_asked(folder: Path, case: str) -> None:
    words, message = REFUSED[case]
    outcome, asked = judged(*words, code=2)
    assert message in outcome.err
    assert asked == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"item_id": "answer", "aspect": "n", "grade": 1}], "expected judgements of documents"),
        ([{"aspect": "n", "label": "fully"}], "expected a grade, a whole number"),
        ([{"aspect": "n", "grade": 0.5}], "expected a grade, a whole number"),
        (
            [{"aspect": "n", "grade": 1, "judge": "A"}, {"aspect": "n", "grade": 1, "judge": "B"}],
            "judged by 2 judges (A, B); expected one",
        ),
        ([{"aspect": "n", "status": "error"}], "none of its 1 judgements has a grade"),
    ],
)
def test_what_makes_no_qrels_is_refused(folder: Path, rows: list[dict[str, Any]], message: str) -> None:
    place = {"query_id": "q", "run_id": "documents", "item_id": "d", "rubric": "answerability"}
    (folder / "judged.jsonl").write_text("".join(json.dumps(place | row) + "\n" for row in rows))
    result = command("collection", "qrels", "judged.jsonl")
    assert (result.code, result.out) == (2, "")
    assert message in result.err


def test_what_failed_is_in_no_qrels_and_is_counted(folder: Path) -> None:
    place = {"query_id": "q", "run_id": "documents", "rubric": "answerability", "aspect": "n"}
    rows = [place | {"item_id": "d1", "grade": 3}, place | {"item_id": "d2", "status": "error"}]
    (folder / "judged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = command("collection", "qrels", "judged.jsonl")
    assert result.out == "q n d1 3\n"
    assert "1 judgements failed and are in no qrels" in result.err
