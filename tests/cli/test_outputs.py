"""Every option that names an output: whole or not there, through what is not a file, never over an input."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from building_samples import by_rule, write_samples
from fair_judge import fair
from llm_server import Asked, LlmServer, Saying, openai_reply
from rageval import subjects
from rageval.cli import COMMANDS, main
from rageval.cli._options import OutputOption
from rageval.judges.base import Reply, Request
from rageval.judges.store import Store
from rageval.track.bundle import Board
from rageval.track.leaderboard import bundled
from rageval.track.values import ScoringInputs, System
from test_bad_input import RAGEVAL, command
from test_validate import record

MEASURE = ("-m", "recall@5")
RUNS = ("runs/one", "runs/two", "qrels")
CUT = ("--chunks", "chunks.jsonl", "--sources", "sources.jsonl")
JUDGED = ("judge", "crag", "answers", "--questions", "gold", "--quiet")
MODEL = ("--judge", "openai:m", "--quiet")
KNOWN = ("--questions", "questions.jsonl", "--nuggets", "nuggets")
PLAN = (
    *("label", "plan", "other", "-m", "crag_score", "-n", "1", "--answers", "answers", "--questions"),
    "gold",
)
# Every output option: the command, with OUT for the file, and what its name ends in.
JOBS: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {
    ("score", "--output"): ((*RUNS, *MEASURE, "-o", "OUT"), ""),
    ("score", "--values"): ((*RUNS, *MEASURE, "--values", "OUT"), ".parquet"),
    ("compare", "--output"): (("compare", *RUNS, *MEASURE, "-o", "OUT"), ""),
    ("arena", "--output"): (("arena", "pairs", "-o", "OUT"), ""),
    ("diagnose", "--output"): (
        ("diagnose", "supported", "--run", "runs/one", "--qrels", "qrels", "--system", "ours", "-o", "OUT"),
        "",
    ),
    ("reproduce", "--output"): (("reproduce", "crag-leaderboard", "--data", "c", "-o", "OUT"), ""),
    ("label agree", "--output"): (("label", "agree", "many", "people", "-o", "OUT"), ""),
    ("label correct", "--output"): (
        ("label", "correct", "many", "--gold", "people", "-m", "crag_score", "-o", "OUT"),
        "",
    ),
    ("score", "--plot"): ((*RUNS, *MEASURE, "--plot", "OUT"), ".png"),
    ("compare", "--plot"): (("compare", *RUNS, *MEASURE, "--plot", "OUT"), ".pdf"),
    **{
        ("gate", option): (("gate", "runs/one", "qrels", *MEASURE, *words, option, "OUT"), "")
        for option, words in {
            "--save-baseline": (),
            "--md": ("--baseline", "held.jsonl", "--margin", "0.1"),
            "--junit": ("--baseline", "held.jsonl", "--margin", "0.1"),
            "--json": ("--baseline", "held.jsonl", "--margin", "0.1"),
        }.items()
    },
    ("report", "--output"): (("report", *RUNS, *MEASURE, "-o", "OUT"), ".html"),
    ("spans anchor", "--output"): (
        ("spans", "anchor", "qrels", *CUT, "--nuggets", "nuggets", "-o", "OUT"),
        "",
    ),
    ("spans project", "--output"): (
        ("spans", "project", "spans.jsonl", *CUT, "--overlap", "any", "-o", "OUT"),
        "",
    ),
    ("judge", "--output"): ((*JUDGED, "--judge", "exact", "-o", "OUT"), ""),
    ("judge", "--disagreements"): (
        (*JUDGED, "--judge", "exact", "--judge", "frozen:other", "--disagreements", "OUT", "-o", "beside"),
        "",
    ),
    ("judge", "--requests-out"): ((*JUDGED, *MODEL, "--requests-out", "OUT"), ".jsonl"),
    ("rubrics import", "--output"): (("rubrics", "import", "prompt", "--as", "umbrela", "-o", "OUT"), ""),
    ("store export", "--output"): (("store", "export", "-o", "OUT"), ""),
    ("label plan", "--output"): ((*PLAN, "--overwrite", "-o", "OUT"), ""),
    ("label page", "--output"): (("label", "page", "ask.jsonl", "--annotator", "kim", "-o", "OUT"), ".html"),
    ("collection check", "--output"): (
        ("collection", "check", "runs/one", "--against", "qrels", "-o", "OUT"),
        "",
    ),
    ("validate", "--fix"): (("validate", "track", "--track", "rag24", "--fix", "OUT"), ""),
    ("board bundle", "--output"): (("board", "bundle", *RUNS, *MEASURE, "-o", "OUT"), ".tgz"),
    ("collection fuse", "--output"): (("collection", "fuse", "runs/one", "runs/two", "-o", "OUT"), ""),
    ("collection nuggetize", "--output"): (
        ("collection", "nuggetize", "questions.jsonl", *MODEL, "-o", "OUT"),
        "",
    ),
    ("collection pool", "--output"): (("collection", "pool", "runs/one", "answer=runs/two", "-o", "OUT"), ""),
    ("collection support", "--output"): (
        ("collection", "support", "pooled", *KNOWN, "--corpus", "corpus.jsonl", *MODEL, "-o", "OUT"),
        "",
    ),
    ("collection qrels", "--output"): (("collection", "qrels", "graded", "-o", "OUT"), ""),
    ("collection audit", "--output"): (
        ("collection", "audit", "c", "--corpus", "corpus.jsonl", "-o", "OUT"),
        "",
    ),
}
READ_AGAIN = {("validate", "--fix")}  # the copy is validated, so it must be a file that can be read again
# What holds many files, or is added to: refused otherwise, see the tests at the end.
FOLDERS = {
    ("collection build", "--output"),
    ("collection variants", "--output"),
    ("collection filter", "--output"),
}
FOLDERS |= {("import", "--output"), ("track", "--output"), ("board publish", "--output"), ("score", "--eee")}
STORES = {("store merge", "--output")}
# A label at a time, as long as it is served.
ADDED_TO = {("label page", "--serve")}
# Every other option or argument that takes a text: read, or no file.
READ = {
    *(
        *("words", "runs", "files", "file", "folder", "gold", "judged", "judgements", "labels", "pooled"),
        "questions",
    ),
    *(
        *("labels", "paths", "logs", "stores", "plan", "bundle", "--inputs", "--against", "--answers"),
        *("--at", "--corpus", "--data", "--evidence", "--gold", "--judged", "--judgements", "--citation"),
        *("--teams", "--claims", "--replies-in", "--leaderboards", "--nuggets"),
    ),
    *("--passages", "--questions", "--read", "--rubric", "--run", "--topics", "--weights", "--store"),
    *("--chunks", "--sources", "--quotes", "spans", "qrels"),
    *("--qrels", "--examples", "--tokenizer", "--gold-chosen", "--pilot"),
    *("--policy", "--judge", "--support-judge", "--tiebreak", "--then", "--fit", "--cluster", "--group-by"),
}
NO_FILES = {
    *("--made-by", "--engine", "--engine-class"),
    *(
        *("--baseline", "--anchor", "--caption", "--label", "--sha256", "--size", "--overlap", "--by"),
        *("--compat", "--system", "--dask", "--fail-under", "--limit", "--peer", "--provider", "--require"),
        *("--price", "--retry", "--shard"),
    ),
    *(
        *("--map", "--records", "--split", "--tool", "--search-tool"),
        "--title",
        "--measure",
        "-m",
        "--sort",
        "--names",
        "--decide",
        "--annotator",
        "--prompt",
        "key",
        "name",
        "dataset",
    ),
}
EVERY = pytest.mark.parametrize("which", JOBS, ids=" ".join)


@cache
def bundle() -> bytes:
    """A bundle of the runs that stand in the working directory."""
    systems = [System(name, name, f"runs/{name}") for name in ("one", "two")]
    inputs = ScoringInputs("recall@5", subjects.RUNS, systems, qrels="qrels")
    bundled(Path("board"), inputs, Board("Board", "run", {"qrels": "qrels"}), "digests", print)
    return Path("board").read_bytes()


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: LlmServer) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "0" * 30)
    monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")  # a report says when it was made
    write_samples(tmp_path)
    for name in ("runs", "c", "out"):
        Path(name).mkdir()
    Path("prompt").write_text("{query} {passage}")
    for name, first in (("one", 9), ("two", 5)):
        rows = (
            f"q{query} Q0 docs/d{number}.md {number} {first - number} {name}\n"
            for query in (0, 1)
            for number in range(3)
        )
        Path("runs", name).write_text("".join(rows))
    for name in ("qrels", "c/qrels.nugget"):
        Path(name).write_text("q0 n1 docs/d1.md 1\nq1 n1 docs/d0.md 1\n")
    Path("c/questions.jsonl").write_bytes(Path("questions.jsonl").read_bytes())
    Path("c/crag.judged.jsonl").write_text('{"query_id": "q0", "run_id": "ours", "label": "missing"}\n')
    Path("board.tar.gz").write_bytes(bundle())
    nuggets = '{{"qid": "q{}", "query": "", "nuggets": [{{"text": "records", "importance": "vital"}}]}}\n'
    for name in ("nuggets", "c/nuggets.jsonl"):
        Path(name).write_text("".join(map(nuggets.format, range(2))))
    Path("gold").write_text('{"query_id": "q0", "question": "Where?", "answer": "Paris"}\n')
    answer = {"query_id": "q0", "run_id": "ours", "answer": "Paris"}
    Path("answers").write_text(json.dumps(answer) + "\n")
    verdict = {"query_id": "q0", "run_id": "ours", "label": "incorrect", "rubric": "crag", "judge": "other"}
    Path("other").write_text(json.dumps(verdict) + "\n")
    for name, judge in (("many", "other"), ("people", "person:kim")):
        labels = (("perfect", "incorrect")[number % 3 == 0] for number in range(30))
        verdicts = [
            verdict | {"query_id": f"q{number}", "label": label} for number, label in enumerate(labels)
        ]
        Path(name).write_text("".join(json.dumps(row | {"judge": judge}) + "\n" for row in verdicts))
    won = [
        {"query_id": f"q{number}", "run_id": run, "aspect": "ab", "label": label}
        for number in range(4)
        for run, label in zip("ab", ("win", "loss") if number else ("loss", "win"), strict=True)
    ]
    Path("pairs").write_text("".join(json.dumps(row) + "\n" for row in won))
    support = {"query_id": "q0", "run_id": "ours", "aspect": "n1", "label": "support", "rubric": "rubric"}
    Path("supported").write_text(json.dumps(support))
    graded = {"query_id": "q0", "run_id": "documents", "item_id": "docs/d1.md", "aspect": "n1", "grade": 4}
    Path("graded").write_text(json.dumps(graded | {"rubric": "answerability"}) + "\n")
    texts, cut = [], []
    for number in range(3):
        texts.append({"id": f"s{number}", "text": "There are records."})
        cut.append({"id": f"docs/d{number}.md", "doc_id": f"s{number}", "start": 0, "end": 18})
    Path("sources.jsonl").write_text("\n".join(map(json.dumps, texts)))
    Path("chunks.jsonl").write_text("\n".join(map(json.dumps, cut)))
    span = {"query_id": "q0", "nugget_id": "n1", "doc_id": "s1", "start": 10, "end": 17, "quote": "records"}
    Path("spans.jsonl").write_text(json.dumps(span))
    Path("quotes.jsonl").write_text(
        '{"query_id": "q0", "item_id": "docs/d1.md", "aspect": "n1", "evidence": "records"}'
    )
    Path("track").write_text(json.dumps(record("rag24", response_length=9)) + "\n")
    assert command("gate", *RUNS[1:], *MEASURE, "--save-baseline", "held.jsonl").code == 0
    Path("pooled").write_text('{"query_id": "q0", "doc_id": "docs/d0.md", "from": {"r": 1}}\n')
    assert command(*PLAN, "-o", "ask.jsonl").code == 0
    with Store(tmp_path / "store.sqlite") as store:
        asked = Request("Judge.", "this", {"type": "object"})
        store.put(asked.key("m", "here"), asked, Reply("ok", "{}"), "m", "here")


@pytest.fixture(scope="module", name="server")
def _server() -> Iterator[LlmServer]:
    with LlmServer(by_rule) as server:
        yield server


def words(which: tuple[str, str], out: Path | str) -> tuple[str, ...]:
    return tuple(str(out) if word == "OUT" else word for word in JOBS[which][0])


def place(which: tuple[str, str], name: str = "out/new") -> Path:
    return Path(name + JOBS[which][1])


def inputs(which: tuple[str, str]) -> list[Path]:
    """The files that a command reads."""
    given = [word for word in JOBS[which][0] if word not in which[0].split()]
    typed = [Path(word.partition("=")[2] or word.removeprefix("frozen:")) for word in given]
    read = [Path("c", name) for name in ("qrels.nugget", "questions.jsonl", "nuggets.jsonl")]
    return [path for path in typed if path.is_file()] + (read if Path("c") in typed else [])


def done(which: tuple[str, str], out: Path) -> bytes:
    """What the command writes to a new file."""
    outcome = command(*words(which, out))
    assert outcome.code in (0, 1), outcome  # 1: what is validated is found wanting
    return content(out.read_bytes())


def content(written: bytes) -> bytes:
    """What was written, but for the name of the output, which a report says, and the fences of requests."""
    written = re.sub(rb"(?<=n)[0-9a-f]{32}(?=\W)", b"FENCE", written)
    return re.sub(rb"out/(new|again|old|link|pipe)", b"OUT", written)


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            assert member is not None
            yield from commands(member, (*path, name))


def test_every_option_is_known_as_what_is_read_or_written() -> None:
    """A new option that takes a text has to be put into one of the tables, and an output into the jobs."""
    assert set(COMMANDS) <= {path for path, _ in commands(main)}
    outputs = set()
    for path, member in commands(main):
        for param in member.params:
            name = max(param.opts, key=len)
            if isinstance(param, OutputOption):
                outputs.add((path, name))
            elif isinstance(param.type, click.types.StringParamType | click.Path | click.File):
                assert name in READ | NO_FILES or (path, name) in FOLDERS | STORES, f"{path}: what is {name}?"
    assert outputs == set(JOBS) | ADDED_TO


@pytest.mark.slow
@EVERY
def test_a_new_file_is_whole_and_nothing_else_is_left(which: tuple[str, str]) -> None:
    out = place(which)
    stale = out.with_name(f".{out.name}.{os.getpid()}.part")
    stale.write_bytes(b"of a run that was killed, in a container where every run has the same process id")
    before = os.umask(0o027)
    try:
        written = done(which, out)
    finally:
        os.umask(before)
    assert written
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    assert sorted(Path("out").iterdir()) == [stale, out]
    assert done(which, place(which, "out/again")) == written


@pytest.mark.slow
@EVERY
def test_links_other_names_and_modes_are_kept(which: tuple[str, str]) -> None:
    expected = done(which, place(which))
    old, link, twin = (place(which, f"out/{name}") for name in ("old", "link", "twin"))
    link.symlink_to(old.absolute())
    assert done(which, link) == expected, "a link to what is not there yet"
    assert link.is_symlink()
    old.write_bytes(b"x" * 200_000)  # longer than what takes its place
    old.chmod(0o604)
    assert done(which, link) == expected
    assert link.is_symlink()
    assert (content(old.read_bytes()), stat.S_IMODE(old.stat().st_mode)) == (expected, 0o604)
    for before in (b"", b"x" * 200_000):
        old.write_bytes(before)
        twin.unlink(missing_ok=True)
        os.link(old, twin)
        assert done(which, old) == expected
        assert content(twin.read_bytes()) == expected
        assert twin.samefile(old)
    assert {path.stem for path in Path("out").iterdir()} == {"new", "link", "old", "twin"}


@pytest.mark.slow
@EVERY
def test_pipes_and_devices_are_written_to(which: tuple[str, str]) -> None:
    expected = done(which, place(which))
    pipe, null, full = (place(which, f"out/{name}") for name in ("pipe", "null", "full"))
    os.mkfifo(pipe)
    null.symlink_to("/dev/null")
    full.symlink_to("/dev/full")
    if which in READ_AGAIN:
        for path in (pipe, null, full):
            assert_refused_whole(which, path, "must be an ordinary file, because it is read again")
        return
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    assert command(*words(which, pipe)).code == 0
    reader.join(20)
    assert list(map(content, read)) == [expected]
    assert pipe.is_fifo()
    assert command(*words(which, null)).code == 0
    assert null.is_char_device()
    outcome = command(*words(which, full))
    assert outcome.code == 2
    assert f"{full}: cannot be written: No space left on device" in outcome.err
    assert full.is_char_device()


def assert_refused_whole(which: tuple[str, str], out: Path | str, *expected: str) -> None:
    """Refused with one line, and nothing printed or written."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    outcome = command(*words(which, out))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    for text in expected:
        assert text in outcome.err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


@pytest.mark.slow
@pytest.mark.some(9)
@EVERY
def test_no_input_is_written_over(which: tuple[str, str]) -> None:
    paths = inputs(which)
    assert paths or which[0] == "store export"
    for index, path in enumerate([*paths, Path("store.sqlite")]):
        if "store" in path.name and which[0] not in ("judge", "store export", "collection nuggetize"):
            continue
        link, twin = place(which, f"out/link{index}"), place(which, f"out/twin{index}")
        link.symlink_to(path.absolute())
        os.link(path, twin)
        for out in (path, f"./{path}", path.absolute(), link, twin):
            assert_refused_whole(which, out, "is also an input; write to another file")


@pytest.mark.slow
@pytest.mark.some(9)
@EVERY
def test_folders_are_refused(which: tuple[str, str]) -> None:
    folder = place(which, "out/folder")
    folder.mkdir()
    for out in (".", "..", "/", "out", folder, f"{folder}/"):
        assert_refused_whole(which, out, "is a folder, expected a file to write to")


@pytest.mark.some(7)
@EVERY
def test_a_place_that_cannot_be(which: tuple[str, str]) -> None:
    Path("file").write_text("")
    for out in (place(which, "file/x"), place(which, "out/" + "x" * 300)):
        outcome = command(*words(which, out))
        assert outcome.code == 2, outcome
        assert "cannot be" in outcome.err


def test_the_ending_of_a_name_says_the_format_unless_one_is_typed() -> None:
    endings = {"csv": ".csv", "json": ".json", "jsonl": ".jsonl", "latex": ".tex", "md": ".md"}
    tried = set()
    for path, member in commands(main):
        choices = {param.name: getattr(param.type, "choices", ()) for param in member.params}.get("style", ())
        for style in choices if (path, "--output") in JOBS and path != "report" else ():
            if style in endings:
                tried.add(path)
                job = words((path, "--output"), f"out/{style}{endings[style]}")
                assert command(*job).code == 0
                named = Path(job[-1]).read_bytes()
                assert command(*job[:-1], "out/typed.csv", "--format", style).code == 0
                assert content(Path("out/typed.csv").read_bytes()) == content(named)
    assert {"score", "compare", "diagnose", "arena"} <= tried


def test_two_outputs_are_two_files() -> None:
    words = (*JUDGED, "--judge", "exact", "--judge", "frozen:other", "-o", "out/x", "--disagreements")
    for other in ("out/x", "./out/x", Path("out/x").absolute()):
        outcome = command(*words, other)
        assert (outcome.code, outcome.err.count("\n")) == (2, 1)
        assert "two options name this file" in outcome.err


def test_a_title_is_no_file() -> None:
    words = ("report", *RUNS, *MEASURE, "-o", "out/report.html", "--title", "out/report.html")
    assert [command(*words).code for _ in range(2)] == [0, 0]


@pytest.mark.slow
@pytest.mark.some(2)
@pytest.mark.parametrize("which", [("judge", "--output"), ("collection fuse", "--output")], ids=" ".join)
def test_standard_output_by_its_names(which: tuple[str, str]) -> None:
    expected = done(which, place(which))
    for out in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        shell = f"{' '.join([*RAGEVAL, *words(which, out)])}"
        piped = subprocess.run(f"{shell} | cat", shell=True, capture_output=True, check=True)
        assert piped.stdout == expected, out
        Path("log").write_bytes(b"before\n")
        subprocess.run(f"{shell} >> log", shell=True, check=True)
        assert Path("log").read_bytes() == b"before\n" + expected, "what stands there stays there"
        if out in ("/dev/fd/1", "/proc/self/fd/1"):
            continue  # as /dev/stdout is
        left = subprocess.run(f"{shell} | true", shell=True, capture_output=True, check=True)
        assert left.stderr == b"", "who reads no further has had enough"
        outcome = subprocess.run(f"{shell} > /dev/full", shell=True, capture_output=True)
        assert outcome.returncode == 2
        assert b"No space left on device" in outcome.stderr


@pytest.mark.slow
def test_a_disk_that_is_full_under_the_store_is_said_of_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The store is on a disk of its own: a database that may not grow any further."""
    script = (
        "import sqlite3, sys\n"
        "import rageval.judges.store as database\n"
        "connect = database.connect\n"
        "def small(*words, **options):\n"
        "    found = connect(*words, **options)\n"
        "    found.execute('PRAGMA max_page_count = 12')\n"
        "    return found\n"
        "database.connect = small\n"
        "from rageval.cli import main\n"
        "main(sys.argv[1:], prog_name='rageval')\n"
    )
    lines = [{"query_id": "q0", "run_id": f"r{number}", "answer": str(number) * 4000} for number in range(20)]
    Path("answers").write_text("".join(json.dumps(line) + "\n" for line in lines))
    job = ("judge", "crag-auto", "answers", "--questions", "gold", *MODEL, "--canaries", "0", "-o", "out/x")
    with LlmServer(fair) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
        outcome = subprocess.run([sys.executable, "-c", script, *job], capture_output=True, text=True)
    assert outcome.returncode == 2, outcome
    assert "store.sqlite: the disk is full" in outcome.stderr
    assert "out/x" not in outcome.stderr
    assert "None" not in outcome.stderr
    assert not list(Path("out").iterdir())


def as_in_a_terminal() -> None:
    """Let signals reach a command even if these tests were started in the background, which ignores them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", 1)])
def test_nothing_is_left_behind_by_a_signal(monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    asked, released = threading.Event(), threading.Event()

    def slow(request: Asked) -> Saying:
        asked.set()
        released.wait(30)
        return openai_reply("{}")

    Path("out/x").write_bytes(b"of an earlier run")
    job = ("judge", "crag-auto", "answers", "--questions", "gold", *MODEL, "--canaries", "0", "-o", "out/x")
    Path("answers").write_text('{"query_id": "q0", "run_id": "r", "answer": "It is Paris, I think."}\n')
    with LlmServer(slow) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
        words: list[str] = [*RAGEVAL, *job]
        with subprocess.Popen(words, stderr=subprocess.PIPE, preexec_fn=as_in_a_terminal) as process:
            assert asked.wait(30)
            assert len(list(Path("out").iterdir())) == 2, "there is something to clean away"
            process.send_signal(number)
            error = process.communicate(timeout=30)[1]
        released.set()
    assert process.returncode == 130
    assert b"Traceback" not in error
    assert [path.name for path in Path("out").iterdir()] == ["x"]
    assert Path("out/x").read_bytes() == b"of an earlier run"


@pytest.mark.slow
@pytest.mark.parametrize("which", sorted(FOLDERS), ids=" ".join)
def test_no_input_is_written_over_by_a_collection(which: tuple[str, str]) -> None:
    jobs = {
        "collection build": (
            *("collection", "build", "QUESTIONS", "--corpus", "corpus.jsonl", "--nuggets", "NUGGETS"),
            *MODEL,
        ),
        "collection variants": ("collection", "variants", "QUESTIONS", "--nuggets", "NUGGETS", *MODEL),
        "collection filter": (
            "collection",
            "filter",
            "other",
            "--questions",
            "QUESTIONS",
            "--nuggets",
            "NUGGETS",
        ),
        "import": ("import", "LOG", "--map", "question=query_id,answer=answer"),
        "track": ("track", "runs", "--track", "run", "--qrels", "QRELS", *MEASURE),
        "board publish": ("board", "publish", "BOARD"),
    }
    usual = {"QUESTIONS": "questions.jsonl", "NUGGETS": "nuggets", "LOG": "answers", "QRELS": "qrels"}
    usual |= {"BOARD": "board.tar.gz"}
    places = {
        "collection build": [("QUESTIONS", "questions.jsonl"), ("NUGGETS", "steps/nuggets.jsonl")],
        "collection variants": [("QUESTIONS", "question.tsv"), ("NUGGETS", "answer.tsv")],
        "collection filter": [("QUESTIONS", "queries.tsv"), ("NUGGETS", "nuggets.jsonl")],
        "import": [("LOG", "answers.jsonl"), ("LOG", "manifest.json")],
        "track": [("QRELS", "scores.jsonl")],
        "board publish": [("BOARD", "board.tar.gz")],
    }
    for role, name in places[which[0]]:
        taken = Path("out", name)
        taken.parent.mkdir(exist_ok=True)
        taken.write_bytes(Path(usual[role]).read_bytes())
        before = taken.read_bytes()
        given = usual | {role: str(taken)}
        outcome = command(*(given.get(word, word) for word in jobs[which[0]]), "-o", "out")
        assert (outcome.code, outcome.err.count("\n")) == (2, 1), outcome
        assert "is also an input" in outcome.err or "is read from" in outcome.err
        assert taken.read_bytes() == before
        taken.unlink()
    outcome = command(*(usual.get(word, word) for word in jobs[which[0]]), "-o", "gold/x")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1), outcome


def test_a_store_that_takes_others_is_a_store_or_new() -> None:
    Path("empty").write_bytes(b"")
    os.mkfifo("pipe")
    before = Path("answers").read_bytes()
    for out in ("answers", "/dev/null", "out", ".", "pipe", "gold/x"):
        outcome = command("store", "merge", "store.sqlite", "-o", out)
        assert (outcome.code, outcome.err.count("\n")) == (2, 1), outcome
    assert Path("answers").read_bytes() == before
    assert Path("/dev/null").is_char_device()
