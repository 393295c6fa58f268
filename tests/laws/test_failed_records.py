"""What failed in a log is missing to the end: from `import` through `judge` to `score`, for every reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rageval
from our_measures import OF_ANSWERS
from rageval.cli import main
from rageval.errors import InputError, MissingJudgements, UsageError
from rageval.files.answers import write_answers
from rageval.judges.material import SPLITS, Material, VerdictRow, tasks
from rageval.judges.panel import Settings, claims_by, judged_by
from rageval.judges.rubric import Rubric, rubric_named, rubric_names
from rageval.logs.readers import GENERIC
from rageval.measures.parsing import parse_measures
from rageval.records import Answer, Nugget, Question, Sentence
from rageval.testing import ScriptedModel
from test_empty_answers import LOGS, MAP, READERS, lines_of, loaded

# Units of rubrics that judge no answers: what a run retrieved, questions, nuggets.
OF_NO_ANSWER = ("bank", "documents", "passage", "passage-nuggets", "question", "passages")
MEASURED = 39  # measures at least that this speaks of
# Measures of texts alone need no judgement: an answer that failed is undefined there, which is said.
OF_TEXTS = ("length", "citations", "sentence_count")


def promptfoo() -> bytes:
    value = loaded("promptfoo/results.json")
    value["results"]["results"][0] |= {"failureReason": 2, "error": "timeout", "response": None}
    return lines_of(value)


def inspect() -> bytes:
    value = loaded("inspect/log.json")
    value["samples"][0] |= {"error": {"message": "timeout"}, "scores": None}
    return lines_of(value)


def otel() -> bytes:
    spans = loaded("otel/spans.jsonl")
    spans[2]["attributes"]["error.type"] = "timeout"
    return lines_of(spans)


def mlflow() -> bytes:
    traces = loaded("mlflow/traces.jsonl")
    traces[0]["info"]["state"] = "ERROR"
    return lines_of(traces)


def langfuse() -> bytes:
    traces = loaded("langfuse/traces.jsonl")
    traces[0]["observations"][1] |= {"level": "ERROR", "statusMessage": "timeout"}
    return lines_of(traces)


def langsmith() -> bytes:
    runs = loaded("langsmith/runs.jsonl")
    root = next(run for run in runs if not run.get("parent_run_id"))
    root |= {"outputs": None, "error": "timeout"}
    return lines_of(runs)


def open_rag_eval() -> bytes:
    text = (LOGS / "open-rag-eval/results.csv").read_text(encoding="utf-8")
    return text.replace("Seven [2]", "API_ERROR").encode()


def messages() -> bytes:
    rows = loaded("messages/trajectories.jsonl")
    del rows[0]["messages"][-1]
    return lines_of(rows)


def tau_bench() -> bytes:
    value = loaded("tau-bench/tau2.json")
    value["simulations"][0] |= {"termination_reason": "infrastructure_error", "reward_info": None}
    return lines_of(value)


def browsecomp_plus() -> bytes:
    rows = loaded("browsecomp-plus/runs.jsonl")
    rows[0]["status"] = "incomplete"
    return lines_of(rows)


def every_eval_ever() -> bytes:
    rows = loaded("every-eval-ever/samples.jsonl")
    rows[0]["error"] = "timeout"
    return lines_of(rows)


# A log of each reader in which one record failed: it has no answer, or its tool says so in a way of its own.
FAILED: dict[str, Callable[[], bytes]] = {
    **{tool: partial(reader, None) for tool, reader in READERS.items()},
    **{"promptfoo": promptfoo, "inspect": inspect, "otel": otel, "mlflow": mlflow, "langfuse": langfuse},
    **{"langsmith": langsmith, "open-rag-eval": open_rag_eval, "messages": messages, "tau-bench": tau_bench},
    **{"browsecomp-plus": browsecomp_plus, "every-eval-ever": every_eval_ever},
}


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def imported(tool: str, folder: Path) -> tuple[list[dict[str, Any]], str]:
    """Return the answers that `import` wrote, and what it said."""
    folder.mkdir(exist_ok=True)
    (folder / "log").write_bytes(FAILED[tool]())
    mapping = ("--map", MAP) if tool == GENERIC else ()
    code, _, stderr = run("import", folder / "log", *mapping, "-o", folder / "out")
    assert code == 0, stderr
    answers = (folder / "out" / "answers.jsonl").read_text(encoding="utf-8")
    return list(map(json.loads, answers.splitlines())), stderr


def judged(folder: Path, answers: list[dict[str, Any]], how: str = "crag") -> list[dict[str, Any]]:
    """Return what the judge `contains` says; every answer that did not fail is right."""
    asked = dict.fromkeys(answer["query_id"] for answer in answers)
    texts = {
        answer["query_id"]: " ".join(texts_of(answer)) for answer in answers if answer["answer"] is not None
    }
    (folder / "questions.jsonl").write_bytes(
        lines_of([{"query_id": query, "question": "?", "answer": texts.get(query, "x")} for query in asked])
    )
    place = folder / "judged.jsonl"
    questions = ("--questions", folder / "questions.jsonl")
    code, _, stderr = run(
        "judge", how, folder / "out/answers.jsonl", *questions, "--judge", "contains", "-o", place
    )
    assert code == 3, stderr
    return list(map(json.loads, place.read_text(encoding="utf-8").splitlines()))


def texts_of(answer: dict[str, Any]) -> list[str]:
    text = answer["answer"]
    return [text] if isinstance(text, str) else [part["text"] for part in text]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* have fewer than 2 answers")  # some logs repeat some questions
@pytest.mark.parametrize("tool", FAILED)
def test_a_failed_record_is_missing_to_the_end(tool: str, tmp_path: Path) -> None:
    answers, stderr = imported(tool, tmp_path)
    (failed,) = (answer for answer in answers if answer.get("status") == "error")
    assert failed["answer"] is None
    assert failed["reason"]
    assert "1 failed answer" in stderr
    rows = judged(tmp_path, answers)
    assert len(rows) == len(answers)
    (lost,) = (row for row in rows if row["status"] == "error")
    assert (lost["query_id"], lost["detail"]) == (failed["query_id"], failed["reason"])
    assert not lost.keys() & {"label", "grade"}
    code, _, stderr = run(tmp_path / "judged.jsonl", "-m", "crag_score")
    assert code == 3
    assert "1 error" in stderr
    assert "between" in stderr
    # In Python as on the command line.
    with pytest.raises(MissingJudgements):
        rageval.evaluate_answers("crag_score", rows)
    ends = [value_of("crag_score", rows, end) for end in ("worst", "best")]
    assert ends[0] < ends[1] <= 1.0


def value_of(measure: object, rows: list[dict[str, Any]], end: str, system: str = "", **inputs: Any) -> float:
    by_system = rageval.evaluate_answers(measure, rows, on_missing=end, **inputs)
    (scores,) = [by_system[system]] if system else by_system.values()
    return float(scores.scores[0].value)


ANSWERED = [
    Answer(
        query, run, (Sentence("Oslo.", ("d1",)), Sentence("Yes.")), ("d1",), (("d1", "In Oslo."),), "Where?"
    )
    for query in ("q1", "q2", "q3")
    for run in ("A", "B")
]
FAILING = [
    Answer("q1", "B", (), error="timeout") if (answer.query_id, answer.run_id) == ("q1", "B") else answer
    for answer in ANSWERED
]
NUGGETS = [
    Nugget("", str(number), f"Fact {number}.", word, 1.0) for number, word in enumerate(("vital", "okay"))
]
RUBRICS = [name for name in rubric_names() if rubric_named(name).file.unit not in OF_NO_ANSWER]


def material_of(answers: list[Answer]) -> Material:
    """Return these answers with all that any rubric needs."""
    queries = ("q1", "q2", "q3")
    claims = {(query, run): ("Claim 1.", "Claim 2.") for query in queries for run in ("A", "B", "gold")}
    for answer in answers:
        if answer.error:
            del claims[answer.query_id, answer.run_id]
    questions = {
        query: Question(query, "Where?", ("Oslo",), (("query_time", "now"),), (("g1", "Oslo."),))
        for query in queries
    }
    banks = {query: [nugget._replace(query_id=query) for nugget in NUGGETS] for query in queries}
    return Material(answers, questions, banks, {"d1": "In Oslo."}, permutations=2, claims=claims)


@pytest.mark.slow
@pytest.mark.some(4)
@pytest.mark.parametrize("name", RUBRICS)
def test_nobody_is_asked_about_an_answer_that_failed(name: str, tmp_path: Path) -> None:
    rubric = rubric_named(name)
    asked: list[str] = []

    def reply(request: Any) -> str:
        asked.append(request.user)
        return "unreadable"

    settings = Settings(str(tmp_path / "store"), canaries=0)
    model = ScriptedModel(reply)
    if rubric.file.unit == SPLITS:
        _, lost = claims_by(model, rubric, material_of(FAILING), settings)
        assert ("q1", "B", "error: timeout") in lost
        return
    rows = list(judged_by([model], rubric, material_of(FAILING), settings))
    failed = [row for row in rows if row["status"] == "error"]
    assert failed
    assert {row["query_id"] for row in failed} == {"q1"}
    assert all("timeout" in row["detail"] for row in failed if "detail" in row)
    assert any(row["run_id"] == "B" for row in failed)
    fewer = len(asked)
    rest = [answer for answer in FAILING if not answer.error]
    asked.clear()
    list(judged_by([model], rubric, material_of(rest), replace(settings, store=str(tmp_path / "other"))))
    # A list with an answer that failed is not shown at all.
    assert len(asked) == fewer or (rubric.file.unit == "list" and len(asked) > fewer)


def lines_in(answers: list[Answer]) -> list[dict[str, Any]]:
    return list(map(json.loads, write_answers(answers, "plain")))


def rows_of(rubric: Rubric, answers: list[Answer], end: str) -> list[dict[str, Any]]:
    """Return judgements of all that is asked, each the best (or the worst) label or grade there is."""
    records = []
    for task in tasks(rubric, material_of(answers)):
        for number, rows in enumerate(task.rows.values()):
            for row in rows:
                place = {"query_id": row.query, "run_id": row.run, "item_id": row.item, "aspect": row.aspect}
                whole = place | dict(row.also) | {"rubric": rubric.judged_as, "judge": "fair"}
                whole |= {"shown": list(row.shown)} if row.shown else {}
                fields = {"status": "error"} if task.failed else verdict(rubric, row, number, end)
                records.append(whole | fields)
    return records


def verdict(rubric: Rubric, row: VerdictRow, number: int, end: str) -> dict[str, Any]:
    pick = max if end == "best" else min
    if rubric.file.unit == "list":
        return {"grade": float(number + 1)}
    if rubric.file.ranges:
        return {"grade": float(pick(rubric.file.ranges[row.aspect]))}
    if rubric.file.unit in ("pair", "against-gold"):
        return {"label": "tie"}
    return {"label": pick(rubric.file.labels, key=rubric.file.labels.__getitem__)}


@pytest.mark.slow
@pytest.mark.some(4)
@pytest.mark.parametrize("has_answers", [False, True])
@pytest.mark.parametrize("end", ["best", "worst"])
def test_a_failed_judgement_never_helps_by_any_measure(end: str, has_answers: bool) -> None:
    """Of every rubric, by every measure that its judgements suffice for: an error, and bounds."""
    tried = set()
    measures = [item for item in parse_measures(list(OF_ANSWERS)) if str(item) not in OF_TEXTS]
    for name in RUBRICS:
        rubric = rubric_named(name)
        if rubric.file.unit == SPLITS:
            continue
        rows, fewer = (rows_of(rubric, answers, end) for answers in (ANSWERED, FAILING))
        complete, failing = (
            {"answers": lines_in(item)} if has_answers else {} for item in (ANSWERED, FAILING)
        )
        for measure in measures:
            try:
                whole = value_of(measure, rows, "skip", "B", **complete)
            except (UsageError, InputError):
                continue  # of judgements of another kind
            if whole != whole:
                continue
            tried.add(str(measure))
            with pytest.raises(MissingJudgements):
                rageval.evaluate_answers(measure, fewer, **failing)
            worst, best = (value_of(measure, fewer, item, "B", **failing) for item in ("worst", "best"))
            assert min(worst, best) - 1e-12 <= whole <= max(worst, best) + 1e-12, (name, str(measure))
            assert worst >= best if measure.better == "lower" else worst <= best, (name, str(measure))
    assert len(tried) >= MEASURED, sorted(tried)


JUDGES = ("contains", "exact", "number", "token_f1")


@pytest.mark.parametrize("judge", JUDGES)
def test_a_question_without_an_answer_is_a_failed_judgement(judge: str) -> None:
    """It never helps to answer fewer questions: a wrong answer there is no worse."""
    questions = [{"query_id": f"q{number}", "question": "?", "answer": "Oslo"} for number in range(4)]
    right = [
        {"query_id": f"q{number}", "run_id": run, "answer": "Oslo"} for number in range(4) for run in "AB"
    ]
    fewer, wrong = right[:-1], [*right[:-1], right[-1] | {"answer": "Rome"}]
    measure = "token_f1" if judge == "token_f1" else "crag_score"
    with pytest.warns(UserWarning, match="B answered 3 of 4 questions"):
        judged = rageval.judge("crag", fewer, judge, questions=questions)
    (lost,) = judged.failed
    assert (lost["query_id"], lost["run_id"], lost["status"]) == ("q3", "B", "error")
    assert lost["detail"] == "no answer"
    with pytest.raises(MissingJudgements):
        judged.score(measure)
    whole = rageval.judge("crag", wrong, judge, questions=questions)
    worst = judged.score(measure, on_missing="worst")["B"].scores[0].value
    assert worst <= whole.score(measure)["B"].scores[0].value


def test_questions_without_an_answer_on_the_command_line(tmp_path: Path) -> None:
    questions = [{"query_id": f"q{number}", "question": "?", "answer": "Oslo"} for number in range(4)]
    answers = [
        {"query_id": "q0", "run_id": "A", "answer": "Oslo", "repeat": 1},
        {"query_id": "q0", "run_id": "A", "answer": "Oslo", "repeat": 2},
        {"query_id": "q1", "run_id": "A", "answer": "Rome"},
        {"query_id": "q0", "run_id": "B", "answer": "Oslo"},
        {"query_id": "q1", "run_id": "B", "answer": None},
    ]
    for name, rows in (("questions", questions), ("answers", answers), ("two", questions[:2])):
        (tmp_path / f"{name}.jsonl").write_bytes(lines_of(rows))
    files = (tmp_path / "answers.jsonl", "--judge", "contains", "--questions")
    code, out, stderr = run("judge", "crag", *files, tmp_path / "questions.jsonl")
    assert code == 3
    assert "A answered 2 of 4 questions (2 not in the file)" in stderr
    assert "B answered 1 of 4 questions (1 failed, 2 not in the file)" in stderr
    rows = list(map(json.loads, out.splitlines()))
    for system in "AB":
        assert {row["query_id"] for row in rows if row["run_id"] == system} == {
            f"q{number}" for number in range(4)
        }
    # Who restricts the questions to those that were asked is told nothing of the others.
    code, _, stderr = run("judge", "crag", *files, tmp_path / "two.jsonl")
    assert code == 3
    assert "A answered" not in stderr
    assert "B answered 1 of 2 questions (1 failed)" in stderr


def test_judgements_are_replayed_with_what_failed(tmp_path: Path) -> None:
    rubric = rubric_named("crag")
    first = list(judged_by(["contains"], rubric, material_of(FAILING)))
    (tmp_path / "frozen.jsonl").write_bytes(lines_of(first))
    replayed = list(judged_by([f"frozen:{tmp_path / 'frozen.jsonl'}"], rubric, material_of(FAILING)))
    key = ("query_id", "run_id", "status", "judge")
    assert [[row[name] for name in key] for row in replayed] == [[row[name] for name in key] for row in first]
    # An answer that failed was judged by nobody, whatever the file says.
    less = [row | {"status": "ok", "label": "perfect"} for row in first]
    (tmp_path / "frozen.jsonl").write_bytes(lines_of(less))
    replayed = list(judged_by([f"frozen:{tmp_path / 'frozen.jsonl'}"], rubric, material_of(FAILING)))
    assert [row["status"] for row in replayed].count("error") == 1


def test_a_share_of_a_job_has_what_failed_once(tmp_path: Path) -> None:
    rubric, rows = rubric_named("crag-auto"), []
    for part in ("1/3", "2/3", "3/3"):
        settings = Settings(str(tmp_path / part[0]), canaries=0, shard=part)
        rows += judged_by([ScriptedModel(lambda _: "x")], rubric, material_of(FAILING), settings)
    assert len(rows) == len(FAILING)
    assert [row["status"] for row in rows].count("error") == 1


STATUSES = ("refused", "truncated", "filtered", "invalid", "error")
# Words behind a file of judged answers; each command that prints means or verdicts of them.
COMMANDS = {
    "score": ("-m", "crag_score"),
    "compare": ("-m", "crag_score"),
    "report": ("-m", "crag_score", "-o", "page.html"),
    "gate": ("-m", "crag_score", "--baseline", "baseline.json", "--margin", "0.03"),
}


def rows_judged(failing: int) -> list[dict[str, Any]]:
    """Return judgements of two systems, of which the wrong answers of the one fail by and by."""
    rows, failed = [], 0
    for number in range(45):
        for system in "AB":
            label = "accurate" if (number + (system == "A")) % 3 else "incorrect"
            row = {"query_id": f"q{number}", "run_id": system, "rubric": "crag", "judge": "j"}
            if label == "incorrect" and system == "A" and failed < failing:
                rows.append(row | {"status": STATUSES[failed % len(STATUSES)]})
                failed += 1
            else:
                rows.append(row | {"label": label})
    return rows


@pytest.mark.some(3)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_status_that_turns_to_failed_improves_nothing(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = [row for row in rows_judged(0) if row["run_id"] == "B"]
    Path("before.jsonl").write_bytes(lines_of(before))
    code, _, stderr = run("gate", "before.jsonl", "-m", "crag_score", "--save-baseline", "baseline.json")
    assert code == 0, stderr
    codes = []
    for failing in (0, 1, 8):
        rows = rows_judged(failing)
        if command == "gate":
            rows = [row for row in rows if row["run_id"] == "A"]
        Path("judged.jsonl").write_bytes(lines_of(rows))
        code, _, stderr = run(*([] if command == "score" else [command]), "judged.jsonl", *COMMANDS[command])
        assert code in (0, 1, 3, 5), stderr
        assert bool(failing) == ("missing" in stderr), stderr
        codes.append(code)
    # Fine (0) may become anything else, and nothing else becomes fine.
    assert all(code != 0 for code in codes[1:])
