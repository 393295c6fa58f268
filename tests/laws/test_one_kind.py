"""What a file is, is told alike by every command and in Python; what is no answer is never scored as one.

Every sample of a format is here by its folder, with the kind that it must be told as.
"""

from __future__ import annotations

import gzip
import io
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main
from rageval.errors import InputError
from rageval.files._records import RECORDS
from rageval.files.kinds import LINES, kind_of
from rageval.files.opening import File
from rageval.files.start import ANSWERS, EITHER, JUDGED_ANSWERS, JUDGED_DOCUMENTS, RUNS, STEPS

ROOT = Path(__file__).parents[2]
EXAMPLES, CORPUS, GOLDEN = ROOT / "examples/data", ROOT / "tests/corpus", ROOT / "tests/golden"

# By what their names end with; the first that fits.
KINDS = {
    "answers/assignments.jsonl": "assignments",
    "rag24.nuggets.jsonl": "assignments",
    "rag24.support.jsonl": "judged",
    "freshstack-5.nuggets.jsonl": "judgements",
    "pairs.jsonl": "judgements",
    "nuggets/assignments": "assignments",
    "candidates.jsonl": "candidates",
    "umbrela/candidates": "candidates",
    "umbrela/plain": "umbrela",
    "chunks/texts": "corpus",
    "answers/claims.jsonl": "claims",
    "crag.answers.jsonl": "answers",
    "judged.jsonl": "judgements",
    "answered.jsonl": "judgements",
    "answers.jsonl": "answers",
    "rag24.jsonl": "answers",
    "rag25.jsonl": "answers",
    "rag26.jsonl": "answers",
    "rubrics.jsonl": "nuggets",
    "nuggets.jsonl": "nuggets",
    "nuggets.v3.jsonl": "nuggets",
    "segments.jsonl": "corpus",
    "sources.jsonl": "corpus",
    "traffic.tsv": "topics",
    "questions/traffic": "topics",
    "crag.jsonl": "questions",
    "crag_records.jsonl": "questions",
    "narratives.jsonl": "questions",
    "questions.jsonl": "questions",
    "sentences.jsonl": "questions",
    "baseline.jsonl": "baseline",
    "spans.jsonl": "spans",
    "steps.jsonl": "steps",
    "traces.jsonl": "log",
    "messages.jsonl": "log",
    "old.jsonl": "chunks",
    "new.jsonl": "chunks",
    ".trec": "run",
    ".run": "run",
    "liverag/run": "run",
    "liverag/qrels": "qrels",
    ".nugget": "qrels",
    ".csv": "answer rows",
}
FOLDERS = {
    "answers": "answers",
    "reports": "answers",
    "chunks": "chunks",
    "nuggets": "nuggets",
    "passages": "corpus",
    "qrels": "qrels",
    "questions": "questions",
    "runs": "run",
    "spans": "spans",
    "steps": "steps",
}
JUDGED = {"annotations", "argue", "dragun", "medaesqa", "questions"}
JUDGED |= {"ragdoll", "ragdoll-battles", "ragdoll-rubrics"}


def samples() -> Iterator[tuple[Path, str]]:
    for path in sorted(EXAMPLES.rglob("*")):
        # A leaderboard is one only where a command asks for one.
        is_sample = path.suffix not in (".py", ".md", ".pyc") and path.parent.name != "leaderboards"
        if path.is_file() and is_sample:
            name = path.as_posix()
            yield path, next(kind for end, kind in KINDS.items() if name.endswith(end))
    for folder, kind in FOLDERS.items():
        for path in sorted((CORPUS / folder).iterdir()):
            ends = (kind for end, kind in KINDS.items() if "/" in end and path.as_posix().endswith(end))
            yield path, next(ends, kind)
    for path in sorted((CORPUS / "judgements").iterdir()):
        yield path, "judged" if path.name in JUDGED else "judgements"
    yield CORPUS / "umbrela/candidates", "candidates"
    yield CORPUS / "umbrela/plain", "umbrela"
    for path in sorted((GOLDEN / "logs").rglob("*")):
        if path.is_file() and path.suffix not in (".md", ".parquet"):  # those need a package of an extra
            yield path, "log"


SAMPLES = dict(samples())
NAMED = {kind.name: kind for kind in (*RECORDS, *LINES)}
DOCUMENTS = {kind.name for kind in NAMED.values() if kind.holds in (JUDGED_DOCUMENTS, EITHER)}
USED = (RUNS, STEPS, JUDGED_ANSWERS, ANSWERS)
SCORED = DOCUMENTS | {kind.name for kind in NAMED.values() if kind.holds in USED}


def one_of_each(kinds: Callable[[str], bool]) -> list[Path]:
    return [path for kind in dict.fromkeys(SAMPLES.values()) if kinds(kind) for path in [first_of(kind)]]


def first_of(kind: str) -> Path:
    return next(path for path, sample_kind in SAMPLES.items() if sample_kind == kind)


def test_every_sample_is_told_as_what_it_is() -> None:
    kinds = {path: str(kind_of(str(path))) for path in SAMPLES}
    assert {path: kind for path, kind in kinds.items() if kind != SAMPLES[path]} == {}
    assert len(kinds) > 100


@pytest.mark.slow
def test_a_packed_file_a_stream_and_a_file_are_told_alike(tmp_path: Path) -> None:
    for path, kind in SAMPLES.items():
        if kind != "log":  # which is looked for in files alone, as a zip is read from its end
            (tmp_path / "file.gz").write_bytes(gzip.compress(path.read_bytes()))
            sources = (tmp_path / "file.gz", io.BytesIO(path.read_bytes()), File(path))
            assert {str(kind_of(source)) for source in sources} == {kind}, path


def test_lines_that_end_otherwise_and_a_mark_before_them_change_nothing() -> None:
    for path, kind in SAMPLES.items():
        text = path.read_bytes()
        if kind != "log" and b"\r" not in text:
            assert str(kind_of(io.BytesIO(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n")))) == kind, path


@pytest.mark.slow
@pytest.mark.parametrize("path", one_of_each(lambda kind: kind not in SCORED), ids=lambda path: SAMPLES[path])
def test_what_is_neither_run_nor_judged_is_never_scored(path: Path, tmp_path: Path) -> None:
    kind = NAMED.get(SAMPLES[path])
    commands = (
        [str(path), "-m", "length"],
        ["compare", str(path), "-m", "length"],
        ["gate", str(path), "-m", "length", "--baseline", str(path), "--margin", "0.1"],
        ["report", str(path), "-m", "length", "-o", str(tmp_path / "report.html")],
    )
    for command in commands:
        result = CliRunner().invoke(main, command)
        assert (result.exit_code, result.stdout) == (2, ""), command
        if kind is not None and kind.is_json:
            assert f"holds {kind.description}" in result.stderr, command


@pytest.mark.parametrize(
    "path", one_of_each(lambda kind: kind not in ("run", "qrels", "spans")), ids=lambda path: SAMPLES[path]
)
def test_python_refuses_what_the_command_refuses(path: Path) -> None:
    kind = NAMED.get(SAMPLES[path])
    run, qrels = str(EXAMPLES / "run.trec"), str(EXAMPLES / "qrels.nugget")
    words = f"holds {kind.noun}" if kind is not None and kind.is_json else ""
    if SAMPLES[path] != "candidates":
        with pytest.raises(InputError, match=re.escape(words) or None):
            rageval.evaluate("ap", str(path), qrels)
    if SAMPLES[path] not in DOCUMENTS:
        with pytest.raises(InputError, match=re.escape(words) or None):
            rageval.evaluate("ap", run, str(path))


def test_doctor_knows_every_kind() -> None:
    # It is for files that are scored or judged; of others it says what they are, and what takes them.
    for path in one_of_each(lambda kind: kind != "table"):
        result = CliRunner().invoke(main, ["doctor", str(path)])
        assert result.exception is None or isinstance(result.exception, SystemExit), path
        assert "cannot tell" not in result.stdout + result.stderr, path
        if result.exit_code == 2:
            kind = NAMED.get(SAMPLES[path])
            assert (
                f"holds {kind.description if kind is not None else 'a log of '}"
                in result.stdout + result.stderr
            )


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    one_of_each(lambda kind: kind not in ("table", "answer rows", "log")),
    ids=lambda path: SAMPLES[path],
)
def test_import_says_what_a_file_is_that_is_no_log(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / f"copy{path.suffix}"
    shutil.copy(path, copy)
    result = CliRunner().invoke(main, ["import", str(copy), "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    kind = NAMED[SAMPLES[path]]
    assert kind.noun in result.stderr or "choose with: --tool" in result.stderr


def test_a_broken_record_beside_a_run_is_told_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "cut.jsonl").write_text('{"qid": "q1", "docid": "d1", "judgm')
    words = [str(EXAMPLES / "run.trec"), str(tmp_path / "cut.jsonl"), "-m", "ap"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "cut.jsonl:1: expected one JSON object a line, found no valid JSON" in result.stderr


def test_records_are_told_as_a_file_of_them_is() -> None:
    answers = [{"query_id": "q", "run_id": "r", "answer": "a b c"}]
    for given in ({"judgements": answers}, {"answers": answers}):
        assert rageval.evaluate_answers("length", **given)["r"].scores[0].value == 3


@pytest.mark.parametrize("name", ["run.trec", "qrels.nugget"])
def test_judge_says_once_what_a_file_is_that_holds_no_answers(name: str) -> None:
    words = ["judge", "crag", str(EXAMPLES / name), "--judge", "contains"]
    result = CliRunner().invoke(main, [*words, "--questions", str(EXAMPLES / "trace/questions.jsonl")])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert f"{name}:1: holds " in result.stderr
    assert "expected answers" in result.stderr


def test_two_files_are_opened_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    opened: list[str] = []
    watching = True

    def watch(event: str, words: tuple[object, ...]) -> None:
        if watching and event == "open" and str(words[0]).startswith(str(EXAMPLES)):
            opened.append(str(words[0]))

    sys.addaudithook(watch)
    try:
        for command in ([], ["compare", str(EXAMPLES / "baseline.trec")]):
            opened.clear()
            files = [str(EXAMPLES / "run.trec"), str(EXAMPLES / "qrels.nugget")]
            assert CliRunner().invoke(main, [*command, *files, "-m", "alpha_ndcg@10"]).exit_code == 0
            assert len(opened) == len(set(opened)) == len(command[1:]) + 2
    finally:
        watching = False


@pytest.mark.parametrize(("name", "track"), [("run.trec", "rag24"), ("answers/rag24.jsonl", "run")])
def test_validate_says_once_what_a_file_is_that_is_not_of_its_track(name: str, track: str) -> None:
    kind = kind_of(str(EXAMPLES / name))
    result = CliRunner().invoke(main, ["validate", str(EXAMPLES / name), "--track", track])
    assert result.exit_code == 1
    assert kind is not None
    assert f":1: error: holds {kind.description}, expected " in result.stdout
    assert result.stdout.count("error: ") == 1
