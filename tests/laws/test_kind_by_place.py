"""What a file is depends on its place; one of another kind is refused with what it is and what takes it."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import rageval
from rageval.cli import main
from rageval.errors import RagevalError
from rageval.files.answers import read_answers, read_claims
from rageval.files.judgements import JudgementTable
from rageval.files.kinds import kind_of, start_of_file
from rageval.files.nuggets import read_nuggets
from rageval.files.places import PLACES
from rageval.files.questions import read_questions
from rageval.files.spans import read_chunks, read_spans
from rageval.files.start import ANSWERS, JUDGED_ANSWERS
from test_bad_input import command
from test_odd_words import LINES, OUTPUTS, _odd, replaced  # noqa: F401
from test_one_kind import CORPUS, SAMPLES, first_of
from test_outputs import _files, _server  # noqa: F401

# --- the same judgements, written otherwise, in every place of every command

GRADES: dict[str, Callable[[int], str]] = {
    "whole": str,
    "signed": "{:+}".format,
    "decimal": "{}.0".format,
    "exponent": "{}e0".format,
}


def written(rows: Iterable[tuple[str, str, str, int]], grade: Callable[[int], str], parting: str) -> str:
    """Judgements as lines; `parting` has the blanks between columns."""
    first, second, third = parting.split("|")
    return "".join(f"{q}{first}{n}{second}{d}{third}{grade(value)}\n" for q, n, d, value in rows)


EXHAUSTIVE = "EXHAUSTIVE" in os.environ
PARTED = ("\t| | ", " |\t| ", " | |\t", "\t|\t| ", "\t|\t|\t", " | | ", "  |\t | ")


@pytest.mark.slow
@pytest.mark.some(3)
@pytest.mark.parametrize("name", [name for name, line in LINES.items() if "qrels" in line])
def test_judgements_written_otherwise_are_the_same_in_every_place(name: str) -> None:
    line = LINES[name]
    rows = [("q0", "n1", "docs/d1.md", 1), ("q1", "n1", "docs/d0.md", 1)]
    usual = command(*line)
    ways = list(product(GRADES.values(), PARTED))
    for grade, parting in ways if EXHAUSTIVE else zip(cycle(GRADES.values()), PARTED, strict=False):
        Path("qrels").write_text(written(rows, grade, parting))
        outcome = command(*line)
        assert (outcome.code, "holds" in outcome.err) == (usual.code, "holds" in usual.err), (
            parting,
            outcome,
        )
        # Weights of nuggets have columns of their own, and are lacking in either form.
        assert "columns" not in outcome.err.replace("of the columns", "") or "columns" in usual.err, outcome


NAMES = st.sampled_from(
    ["all", "P_10", "ndcg", "q1", "7", "0.5", "0", "Q0", "run", "value", "topic_id", "n,1"]
)
SHARE = st.sampled_from(["0", "1", "0.73", "-2", "1e0", "+3", ".5", "2.", "1E-1"])


@pytest.mark.slow
@given(
    st.lists(st.tuples(NAMES, NAMES, NAMES, SHARE), min_size=1, max_size=6, unique_by=lambda row: row[:3]),
    st.sampled_from(PARTED),
    st.booleans(),
)
def test_four_columns_with_a_number_last_are_judgements_where_judgements_are_wanted(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str, str]], parting: str, whole: bool
) -> None:
    folder = tmp_path_factory.mktemp("named")
    queries = list(dict.fromkeys(row[0] for row in rows))
    if whole:  # the same documents for every topic
        rows = [(query, *row[1:]) for query in queries for row in rows if row[0] == rows[0][0]]
    first, second, third = parting.split("|")
    text = "".join(f"{q}{first}{n}{second}{d}{third}{grade}\n" for q, n, d, grade in rows)
    qrels, run = folder / "judged", folder / "ranked"
    qrels.write_text(text)
    run.write_text("".join(f"{q}\tQ0 {d} 1 2.5 all\n" for q, d in dict.fromkeys((r[0], r[2]) for r in rows)))
    read = [
        (row.query_id, row.iteration, row.doc_id, row.relevance) for row in rageval.read_qrels(str(qrels))
    ]
    assert sorted(read) == sorted((*row[:3], float(row[3])) for row in rows)
    ranked = {
        (query.query.decode(), doc.decode())
        for query in rageval.read_run(str(run)).queries
        for doc in query.docs
    }
    assert ranked == {(row[0], row[2]) for row in rows}
    for words in ([run, qrels], [qrels, run], ["compare", run, qrels, run]):
        result = CliRunner().invoke(main, [*map(str, words), "-m", "coverage@1", "--nuggets-in-qrels", "yes"])
        assert "holds" not in result.stderr, (words, text)
        assert "expected a run (" not in result.stderr, (words, text)


# --- every kind of file in every place of every command


def samples() -> list[bytes]:
    """A sound file of each kind."""
    contents = {kind: first_of(kind).read_bytes() for kind in dict.fromkeys(SAMPLES.values())}
    contents["leaderboard"] = (CORPUS / "leaderboards/four").read_bytes()
    contents["pool"] = Path("pooled").read_bytes()
    contents["plan"] = Path("ask.jsonl").read_bytes()
    contents["results"] = b'{"results": [{"run": "one"}]}\n'
    return [*contents.values(), *NO_TEXT.values()]


def packed(name: str) -> bytes:
    """An archive with a file."""
    stream = io.BytesIO()
    if name == "zip":
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("a.run", "q1 Q0 d1 1 1.5 a")
    else:
        with tarfile.open(fileobj=stream, mode="w:gz" if name == "gz" else "w:") as tar:
            tar.addfile(tarfile.TarInfo("a.run"))
    return stream.getvalue()


# What holds no data, by its first bytes.
NO_TEXT = {
    "tar": packed(""),
    "tar.gz": packed("gz"),
    "zip": packed("zip"),
    "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    "pdf": b"%PDF-1.7\n%\xe2\xe3\n",
    "html": b"<!DOCTYPE html>\n<html><body></body></html>\n",
    "sqlite": b"SQLite format 3\0\x10\0",
    "section": b"[gate]\nmargin = 0.1\n",
    "keys": b'name = "mine"\n[gate]\n',
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NO_TEXT)
def test_what_is_no_text_is_named_wherever_a_file_is_looked_at(name: str, tmp_path: Path) -> None:
    sample = tmp_path / "sample"
    sample.write_bytes(NO_TEXT[name])
    kind = kind_of(str(sample))
    assert kind is not None
    assert kind.holds == "other"
    Path("a.run").write_text("q1 Q0 d1 1 1.5 a\n")
    for line in (
        ("score", "a.run", str(sample), "-m", "ndcg@10"),
        ("validate", str(sample), "--track", "run"),
        ("validate", str(sample), "--track", "rag24"),
        ("label", "agree", "--leaderboards", str(sample), str(sample)),
    ):
        result = command(*line)
        assert result.code in (1, 2), line
        assert f"{kind.noun}, which {kind.way or 'no command'} takes" in result.out + result.err, (
            line,
            result,
        )


def test_values_that_are_no_numbers_are_named() -> None:
    Path("qrels").write_text("q1 0 d1 1\n")
    for value in ("null", '"high"', "true"):
        Path("run.json").write_text(f'{{"q1": {{"d1": 1.5, "d2": {value}}}}}')
        result = command("score", "run.json", "qrels", "-m", "ndcg@10")
        assert result.code == 2
        assert all(part in result.err for part in ("'q1'", "'d2'", value, "expected a number")), result.err


def test_judged_answers_in_columns_are_read_as_lines_or_named(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = str(tmp_path / "judged.parquet")
    row = {"query_id": "q1", "run_id": "r", "rubric": "crag", "label": "accurate"}
    pandas.DataFrame([row]).to_parquet(path)
    result = command("score", path, "-m", "accuracy")
    assert (result.code, "1.0000" in result.out) == (0, True)
    result = command("score", "--answers", path, path, "-m", "accuracy")
    assert result.code == 2
    assert "holds judgements of answers in Parquet" in result.err
    assert "write them as JSON lines" in result.err


@pytest.mark.slow
@pytest.mark.parametrize("track", ["run", "rag24", "rag25", "ragtime25", "liverag"])
def test_validate_tells_a_file_of_another_kind(track: str) -> None:
    takes = {"run": "a run"}.get(track, "answers")
    for content in samples():
        Path("sample").write_bytes(content)
        kind = kind_of("sample")
        assert kind is not None
        if b"RELEVANCE" in content:  # a leaderboard, which has no kind of its own
            continue
        if kind.name not in ("plan", "judgements", "baseline", "qrels", "assignments", "nuggets"):
            continue
        result = command("validate", "sample", "--track", track)
        assert result.code == 1, (kind, result)
        assert f"holds {kind.description}, expected {takes}" in result.out, (kind, result.out)


def test_questions_beside_a_run_are_named() -> None:
    Path("a.run").write_text("q1 Q0 d1 1 1.5 a\n")
    Path("asked").write_text('{"query_id": "q1", "question": "Where?", "answer": "Oslo"}\n')
    result = command("score", "a.run", "asked", "-m", "ndcg@10")
    assert "holds questions, which --questions takes" in result.err


# What is no file of data: settings, prompts, replies, pages, bundles, stores, and another tool's records.
NO_DATA = {
    "--policy",
    "--rubric",
    "--citation",
    "--tokenizer",
    "--examples",
    "--prompt",
    "--track",
    "--names",
}
NO_PLACE = {"rubrics import", "store import", "datasets import", "datasets leaderboard", "import"}
# These read any kind of file, and say of each line what is wrong.
FINDING = {"doctor", "validate", "validate --fix"}


def places(line: tuple[str, ...]) -> Iterator[int]:
    for index in replaced(line):
        # A track tries its topics as two formats, and tells the errors of both.
        is_tried = line[0] == "track" and line[index - 1] == "--topics"
        is_data = line[index - 1] not in OUTPUTS and line[index - 1] not in NO_DATA and not is_tried
        if (
            is_data
            and Path(line[index]).is_file()
            and not line[index].endswith((".toml", ".py", ".html", ".gz"))
        ):
            yield index


@pytest.mark.slow
@pytest.mark.some(6)
@pytest.mark.parametrize("name", [name for name in LINES if name not in NO_PLACE | FINDING])
def test_a_file_of_another_kind_is_refused_with_what_it_is_and_what_takes_it(name: str) -> None:
    line = LINES[name]
    for content in samples():
        Path("sample").write_bytes(content)
        kind_there = kind_of("sample")
        assert kind_there is not None
        for index in places(line):
            usual = kind_of(line[index])
            alike = (
                {kind_there.holds, kind_there.name} & {usual.holds, usual.name}
                if usual is not None
                else set()
            )
            both = {JUDGED_ANSWERS, ANSWERS}  # answers have lengths, and are scored by these
            if alike or (usual is not None and {kind_there.holds, usual.holds} <= both):
                continue
            outcome = command(*line[:index], "sample", *line[index + 1 :])
            if "retrievals in one trace" in outcome.err:
                continue  # the place reads logs, and this one asks for a choice
            if outcome.code == 2 and "sample:1:" in outcome.err:
                assert f"holds {kind_there.noun}" in outcome.err, (line[index - 1], line[index], outcome.err)
                assert f"which {kind_there.way or 'no command'} takes" in outcome.err, outcome.err


# --- what a place takes is what its reader reads


def _of_judgements(path: str) -> Any:
    table = JudgementTable(path)
    table.add_file(path)
    return range(len(table))


READERS: dict[str, Callable[[str], Any]] = {
    "run": lambda path: rageval.read_run(path).queries,
    "qrels": rageval.read_qrels,
    "questions": read_questions,
    "nuggets": read_nuggets,
    "answers": read_answers,
    "claims": read_claims,
    "chunks": read_chunks,
    "spans": read_spans,
    "gold": _of_judgements,
    "judged": _of_judgements,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_place_takes_what_its_reader_reads(name: str) -> None:
    for path in SAMPLES:
        kind = kind_of(str(path), among=PLACES[name].holds)
        try:
            content = READERS[name](str(path))
            number = len(content.spans) if name == "spans" else len(list(content))
        except (RagevalError, OSError):
            continue
        assert kind is None or not number or PLACES[name].takes(kind, start_of_file(str(path)).record), path


# --- what only Python writes, in fields that nobody reads


_UNREAD = b'{"zz unread": [NaN, {"low": -Infinity}], "zz": Infinity, '


def _items(name: str, path: str) -> list[Any]:
    content = READERS[name](path)
    if name == "questions":  # whose other fields are facts
        return [question._replace(facts=()) for question in content]
    return list(content.spans if name == "spans" else content)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in READERS if name not in ("run", "judged")])
def test_numbers_that_only_python_writes_change_nothing_where_nobody_reads_them(
    name: str, tmp_path: Path
) -> None:
    read = 0
    for path in SAMPLES:
        lines = path.read_bytes().split(b"\n") if path.is_file() else []
        is_open = any(line.startswith(b"{") and not line.startswith(b'{"') for line in lines)
        if is_open or not all(line.startswith(b'{"') for line in lines if line.strip()):
            continue  # JSON over many lines, or none
        try:
            usual = _items(name, str(path))
        except (RagevalError, OSError):
            continue
        kind = kind_of(str(path))
        if kind is None or kind.name in ("numbers", "scores"):  # where every key is a query
            continue
        changed = tmp_path / path.name  # after which some runs are called
        changed.write_bytes(b"\n".join(line.replace(b"{", _UNREAD, 1) for line in lines))
        assert str(kind_of(str(changed))) == str(kind), path
        assert str(_items(name, str(changed))) == str(usual), path
        read += 1
    assert read
