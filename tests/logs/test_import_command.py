"""`rageval import`: files, a pipe, a policy, several logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rageval.cli import main
from rageval.files.answers import read_answers
from rageval.files.questions import read_questions

LOGS = Path(__file__).parents[1] / "golden" / "logs"
PROMPTFOO = LOGS / "promptfoo" / "results.json"
MAP = "contexts=response.metadata.retrieved[].text,context_ids=response.metadata.retrieved[].id"


def run(*words: object, **options: str) -> Result:
    return CliRunner().invoke(main, list(map(str, words)), prog_name="rageval", **options)  # type: ignore[arg-type]


def done(*words: object) -> Result:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_files_are_what_rageval_reads() -> None:
    result = done("import", PROMPTFOO, "--map", MAP, "-o", "prod")
    assert result.stdout == ""
    assert (
        "promptfoo 0.121.20: 7 answers, 5 questions, 1 run, 6 retrieved, 4 passages, 14 judgements"
        in result.stderr
    )
    names = {path.name for path in Path("prod").iterdir()}
    texts = ("answers.jsonl", "questions.jsonl", "passages.jsonl", "judged.jsonl")
    assert names == {*texts, "run.trec", "manifest.json"}
    assert len(list(read_answers("prod/answers.jsonl"))) == 7
    questions = list(read_questions("prod/questions.jsonl"))
    assert dict(questions[0].facts) == {"domain": "shop"}
    Path("qrels").write_text("a1 0 returns.md#0 1\na2 0 shipping.md#0 1\n", encoding="utf-8")
    assert done("prod/run.trec", "qrels", "-m", "rr").stdout.split() == ["rr", "all", "0.7500"]
    # Some questions were asked twice: the others lack an answer.
    measure = ("-m", "grade(aspect=has-key-fact)", "--on-missing", "skip")
    sliced = done("prod/judged.jsonl", *measure, "--by", "domain", "--questions", "prod/questions.jsonl")
    assert "shop" in sliced.stdout


def test_a_run_goes_through_a_pipe() -> None:
    printed = done("import", LOGS / "otel/otlp.json", "--only", "run", "-o", "-").stdout
    assert printed.splitlines()[:2] == [
        *("a1 Q0 returns.md#0 1 0.91 toy-rag-a", "a1 Q0 returns.md#1 2 0.62 toy-rag-a")
    ]
    assert done("import", LOGS / "otel/otlp.json", "--only", "run").stdout == printed
    done("import", LOGS / "otel/otlp.json", "--only", "run", "-o", "one.trec")
    assert Path("one.trec").read_text(encoding="utf-8") == printed
    result = run("import", LOGS / "otel/otlp.json", "--only", "judged")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--only judged: not in this log" in result.stderr


def test_a_dry_run_writes_nothing_and_says_all() -> None:
    result = done("import", LOGS / "ragas/result.csv", "--dry-run")
    assert result.stdout.startswith(
        "ragas: 5 answers, 5 questions, 1 run, 6 retrieved, 4 passages, 10 judgements"
    )
    assert "6 passages had no id; using a hash of their text" in result.stderr
    assert list(Path().iterdir()) == []
    assert run("import", LOGS / "ragas/result.csv").exit_code == 2


def test_a_log_on_standard_input() -> None:
    text = (LOGS / "ragas/result.jsonl").read_text(encoding="utf-8")
    result = run("import", "-", "--only", "questions", input=text)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 5


def test_several_logs_are_several_runs() -> None:
    ragas = [LOGS / "ragas/result.jsonl", LOGS / "ragas/result.csv"]
    result = run("import", *ragas, "-o", "out")
    assert result.exit_code == 2
    assert "run ragas has an answer to query" in result.stderr
    assert "import each with its own --run" in result.stderr
    done("import", *ragas, "--run", "old", "--run", "new", "-o", "out")
    assert {answer.run_id for answer in read_answers("out/answers.jsonl")} == {"old", "new"}
    assert {path.name for path in Path("out").glob("*.trec")} == {"run.old.trec", "run.new.trec"}
    result = run("import", *ragas, "--run", "old", "--run", "new", "--only", "run")
    assert "--only run: the log has several runs (old, new)" in result.stderr
    assert run("import", *ragas, "--run", "a", "--run", "b", "--run", "c", "-o", "out").exit_code == 2
    done("import", ragas[0], ragas[0], "--run", "old", "--run", "new", "-o", "same")
    assert {answer.run_id for answer in read_answers("same/answers.jsonl")} == {"old", "new"}
    assert run("import", ragas[0], ragas[0], "-o", "same").exit_code == 2


def test_a_policy_holds_mappings_and_what_is_typed_counts_more() -> None:
    rows = [{"i": {"q": "Who?"}, "o": "Me.", "p": "You."}]
    Path("log.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    Path("rageval.toml").write_text(
        '[logs.prod]\nquestion = "i.q"\nanswer = "o"\nrun = "prod"\n', encoding="utf-8"
    )
    answer = json.loads(done("import", "log.jsonl", "--map", "prod", "--only", "answers").stdout)
    assert (answer["answer"], answer["run_id"]) == ("Me.", "prod")
    typed = ("--map", "answer=p", "--run", "mine")
    answer = json.loads(done("import", "log.jsonl", "--map", "prod", *typed, "--only", "answers").stdout)
    assert (answer["answer"], answer["run_id"]) == ("You.", "mine")
    result = run("import", "log.jsonl", "--map", "staging", "--dry-run")
    assert "rageval.toml has no [logs.staging]" in result.stderr
    Path("rageval.toml").write_text('[logs.prod]\nqestion = "i.q"\n', encoding="utf-8")
    result = run("import", "log.jsonl", "--map", "prod", "--dry-run")
    assert (result.exit_code, "unknown key 'qestion'; did you mean question" in result.stderr) == (2, True)
    Path("rageval.toml").write_text("[logs.prod]\nquestion = 3\n", encoding="utf-8")
    assert (
        "expected a text for question, found 3"
        in run("import", "log.jsonl", "--map", "prod", "--dry-run").stderr
    )


def test_a_separator_that_is_wrong_is_refused_where_it_stands() -> None:
    Path("log.jsonl").write_text('{"q": "Who?", "c": "a|b"}\n', encoding="utf-8")
    Path("rageval.toml").write_text(
        '[logs.prod]\nquestion = "q"\ncontexts = "c"\nsplit = "|"\n', encoding="utf-8"
    )
    wrong = run("import", "log.jsonl", "--map", "prod", "--dry-run")
    assert (wrong.exit_code, "--split" in wrong.stderr) == (2, False)
    assert "rageval.toml: [logs.prod]: split: expected contexts=TEXT or context_ids=TEXT" in wrong.stderr
    typed = run("import", "log.jsonl", "--map", "question=q", "--split", "|", "--dry-run")
    assert "--split '|': expected contexts=TEXT or context_ids=TEXT" in typed.stderr
    overridden = run("import", "log.jsonl", "--map", "prod", "--split", "contexts=|", "--dry-run")
    assert overridden.exit_code == 2  # a policy is right as a whole


def test_a_separator_that_is_given_twice_is_refused() -> None:
    Path("log.jsonl").write_text('{"q": "Who?", "c": "a|b"}\n', encoding="utf-8")
    mapped = ("import", "log.jsonl", "--map", "question=q,contexts=c", "--only", "run")
    result = run(*mapped, "--split", "contexts=|", "--split", "contexts=;")
    assert result.exit_code == 2
    assert "--split contexts: is given twice; expected one separator" in result.stderr


def test_a_log_is_not_written_over() -> None:
    Path("prod").mkdir()
    log = Path("prod/answers.jsonl")
    log.write_bytes((LOGS / "ragas/result.jsonl").read_bytes())
    result = run("import", log, "-o", "prod")
    assert result.exit_code == 2
    assert "is also an input" in result.stderr
    assert [path.name for path in Path("prod").iterdir()] == ["answers.jsonl"]
    assert run("import", log, "--only", "answers", "-o", log).exit_code == 2
    assert run("import", LOGS / "ragas/result.csv", "-o", log).exit_code == 2


def test_an_error_in_the_last_record_leaves_everything_as_it_was() -> None:
    row = {
        "user_input": "Who?",
        "response": "Ada.",
        "retrieved_context_ids": ["d"],
        "retrieved_contexts": ["t"],
    }
    rows = [row | {"user_input": f"Who is {number}?"} for number in range(2000)]
    Path("good.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    rows[-1] |= {"retrieved_context_ids": ["d" * 5000]}
    Path("bad.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    refused = run("import", "bad.jsonl", "-o", "made")
    assert refused.exit_code == 2
    assert "bad.jsonl:2000: expected ids of at most" in refused.stderr
    assert not Path("made").exists()
    assert run("import", "bad.jsonl", "--only", "run").stdout == ""
    done("import", "good.jsonl", "-o", "made")
    before = {path.name: path.read_bytes() for path in Path("made").iterdir()}
    assert run("import", "bad.jsonl", "-o", "made").exit_code == 2
    assert {path.name: path.read_bytes() for path in Path("made").iterdir()} == before


def test_the_whole_way_from_a_log_to_a_judged_score() -> None:
    done("import", LOGS / "deepeval/latest_test_run.json", "-o", "prod")
    judge = ("judge", "crag", "prod/answers.jsonl", "--questions", "prod/questions.jsonl", "--judge", "exact")
    result = run(*judge, "-o", "crag.jsonl", "--quiet")
    assert "has no gold answer" in result.output  # a5 has none
    done("prod/judged.jsonl", "-m", "grade(aspect=Key_fact),pass_rate(aspect=Key_fact)")
