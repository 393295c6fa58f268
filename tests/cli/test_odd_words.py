"""Odd words at every command and every option: an exit code that is documented, and never a traceback."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from rageval.cli import COMMANDS, main
from test_bad_input import command
from test_outputs import CUT, JOBS, KNOWN, MODEL, NO_FILES, RUNS, _files, _server, commands  # noqa: F401

CODES = {0, 1, 2, 3, 4, 5}
# A line of every command that works; each of its words is replaced by odd ones.
LINES: dict[str, tuple[str, ...]] = {
    **{
        " ".join(path): tuple("out/x" + JOBS[path][1] if w == "OUT" else w for w in JOBS[path][0])
        for path in JOBS
    },
    "score answers": (
        "other",
        "-m",
        "crag_score",
        "--answers",
        "answers",
        "--by",
        "domain",
        "--questions",
        "gold",
    ),
    "score groups": (*RUNS, "-m", "recall@5", "--group-by", "groups", "--weights", "groups"),
    "score spans": ("runs/one", "spans.jsonl", *CUT, "-m", "span_recall", "--overlap", "share>=0.5"),
    "diagnose": (
        *("diagnose", "supported", "--run", "runs/one", "--qrels", "qrels", "--system", "ours"),
        *("--nuggets", "nuggets", "--questions", "questions.jsonl", "--by", "question"),
    ),
    "spans anchor quotes": ("spans", "anchor", "qrels", *CUT, "--quotes", "quotes.jsonl", "-o", "out/x"),
    "score names": (*RUNS, "-m", "recall@5", "--names", "mine=runs/one", "--sort", "recall@5"),
    "score records": (*RUNS, "-m", "recall@5", "--eee", "out/records"),
    "compare": ("compare", *RUNS, "-m", "recall@5", "--cluster", "groups", "--baseline", "one"),
    "compare tables": ("compare", "tabled", "--judge", "exact", "--rubric", "mine.toml"),
    "report tables": ("report", "tabled", "--judge", "exact", "--rubric", "mine.toml", "-o", "out/t.html"),
    "compare latex": (
        *(
            "compare",
            *RUNS,
            "-m",
            "recall@5",
            "--format",
            "latex",
            "--caption",
            "$k$ of 5",
            "--label",
            "tab:a",
        ),
        *("--plot", "out/p.svg", "--size", "5x3"),
    ),
    "gate": (
        *("gate", *RUNS[1:], "-m", "recall@5", "--baseline", "held.jsonl", "--margin", "0.1"),
        *("--by", "question", "--questions", "questions.jsonl"),
        *("--anchor", "held.jsonl", "--anchor-margin", "0.2"),
    ),
    "gate answers": ("gate", "other", "-m", "crag_score", "--baseline", "held.jsonl", "--system", "ours"),
    "gate policy": ("gate", *RUNS[1:], "--policy", "rules.toml"),
    "report show": ("report", "show", "page.html"),
    "report answers": (
        "report",
        "other",
        "-m",
        "crag_score",
        "--gold",
        "other",
        "--nuggets",
        "nuggets",
        "-o",
        "out/p",
    ),
    "report evidence": ("report", *RUNS, "-m", "recall@5", "--evidence", "other", "-o", "out/p.html"),
    "label correct": ("label", "correct", "other", "--gold", "other", "-m", "crag_score"),
    "label plan width": (
        *("label", "plan", "other", "-m", "crag_score", "--width", "0.1", "--pilot", "other"),
        *("--answers", "answers", "--questions", "gold", "-o", "out/ask.jsonl"),
    ),
    "label page serve": (
        "label",
        "page",
        "ask.jsonl",
        "--serve",
        "out/labels.jsonl",
        "-o",
        "out/page.html",
    ),  # one
    "compare gold": (
        *("compare", "other", "-m", "crag_score", "--gold", "other", "--gold-chosen", "groups"),
        *("--answers", "answers"),
    ),
    "label agree": ("label", "agree", "other", "other"),
    "label agree leaderboards": ("label", "agree", "--leaderboards", "board", "board", "--at", "4"),
    "track": (
        *("track", "runs", "--track", "run", "--topics", "topics", "--qrels", "qrels", "-m", "recall@5"),
        *("--passages", "corpus.jsonl", "--title", "T", "--citation", "topics", "-o", "out/t"),
        *("--teams", "teams", "--limit", "size=1M"),
    ),
    "track answers": (
        *(
            "track",
            "answered",
            "--track",
            "rag25",
            "--topics",
            "topics",
            "--nuggets",
            "nuggets",
            "--rubric",
            "nugget-assignment",
        ),
        *("--judge", "lexical", "--judgements", "other", "-m", "lexical_recall", "-o", "out/ta"),
    ),
    "board bundle answers": (
        *("board", "bundle", "other", "-m", "crag_score", "--answers", "answers", "--title", "T"),
        *("--topics", "questions.jsonl", "--rubric", "mine.toml", "--nuggets", "nuggets"),
        *("--passages", "corpus.jsonl", "--gold", "labels", "--gold-chosen", "uniform", "-o", "out/b"),
    ),
    "board verify": ("board", "verify", "board.tar.gz", "--inputs", "c", "--sha256", "0" * 64),
    "board publish": ("board", "publish", "board.tar.gz", "-o", "out/site"),
    "track tables": (
        *("track", "tabled", "--track", "answers", "--topics", "asked.csv", "--judge", "short"),
        *("--gold", "labels", "--gold-chosen", "uniform", "-o", "out/tt"),
    ),
    "arena": ("arena", "other"),
    "judge": (
        "judge",
        "--rubric",
        "mine.toml",
        "answers",
        "--questions",
        "gold",
        "--judge",
        "exact",
        "--quiet",
    ),
    "judge python": ("judge", "mine.py", "answers", "--questions", "gold", "--judge", "exact"),
    "judge run": (
        *("judge", "relevance", "--run", "runs/one", "--passages", "corpus.jsonl", "--questions"),
        *(
            "questions.jsonl",
            "--judge",
            "frozen:other",
            "--tiebreak",
            "exact",
            "--shard",
            "1/2",
            "--price",
            "1,2",
            "--retry",
            "invalid",
        ),
    ),
    "judge short": (
        *("judge", "crag", "answers", "--questions", "questions.jsonl", "--judge", "short", "--fit", "other"),
        *("--keep-error", "0.2", "--gold", "other", "--then", "frozen:other"),
    ),
    "judge nuggets": ("judge", "nugget-assignment", "answers", "--nuggets", "nuggets", "--judge", "lexical"),
    "judge options": (
        *("judge", "nuggetize-iterative", "--run", "runs/one", "--passages", "corpus.jsonl", "--questions"),
        *("questions.jsonl", "--qrels", "qrels", "--rel", "1", "--examples", "qrels", "--compat", "umbrela"),
        *("--judge", "lexical"),
    ),
    "judge files": (
        *("judge", "crag", "answers", "--questions", "gold", "--judge", "openai:m", "--replies-in", "other"),
        *("--made-by", "vllm", "--again", "0.5", "--requests-out", "out/requests", "-o", "out/judged"),
    ),
    "judge ray": (
        *(
            "judge",
            "crag",
            "answers",
            "--questions",
            "gold",
            "--judge",
            "openai:m",
            "--engine",
            "ray://odd:1",
        ),
        *("--engine-class", "none:None", "-o", "out/judged"),
    ),
    "rubrics": ("rubrics", "crag"),
    "rubrics show": ("rubrics", "show", "crag"),
    "rubrics import": (
        *("rubrics", "import", "prompt.txt", "--as", "umbrela", "--examples", "qrels"),
        *("--tokenizer", "qrels", "--prompt", "X", "--system", "Hello.", "-o", "out/r"),
    ),
    "measures": ("measures", "recall"),
    "store import": ("store", "import", "replies", "--store", "other.sqlite"),
    "store export": ("store", "export", "--store", "store.sqlite"),
    "store merge": ("store", "merge", "store.sqlite", "-o", "out/all.sqlite"),
    "store stats": ("store", "stats", "--store", "store.sqlite"),
    "store show": ("store", "show", "ab", "--store", "store.sqlite"),
    "collection build": (
        *(
            "collection",
            "build",
            "questions.jsonl",
            "--corpus",
            "corpus.jsonl",
            "--nuggets",
            "nuggets",
            "--run",
            "runs/one",
        ),
        *("--support-judge", "frozen:other", *MODEL, "-o", "out/c", "--dry-run"),
    ),
    "collection variants": (
        "collection",
        "variants",
        "questions.jsonl",
        "--nuggets",
        "nuggets",
        *MODEL,
        "-o",
        "out/v",
    ),
    "collection qrels": ("collection", "qrels", "other", "-o", "out/q"),
    "judge claims": ("judge", "entailment", "answers", "--claims", "claims", "--judge", "frozen:other"),
    "score weights": (*RUNS, "-m", "d_sharp@5", "--intent-weights", "groups"),
    "collection filter": ("collection", "filter", "other", *KNOWN, "-o", "out/f"),
    "collection audit": ("collection", "audit", "--read", "other"),
    "collection pool": ("collection", "pool", "runs/one", *KNOWN, "--corpus", "corpus.jsonl", "--dry-run"),
    "doctor": ("doctor", *RUNS, "--topics", "topics", "--corpus", "corpus.jsonl", "--at", "5"),
    "validate": ("validate", "runs/one", "--track", "run", "--topics", "topics"),
    "datasets": ("datasets",),
    "datasets show": ("datasets", "show", "freshstack/langchain/oct-2024"),
    "datasets import": ("datasets", "import", "crag/task-1-and-2", "gold"),
    "datasets fetch": ("datasets", "fetch", "no-such-set"),  # one that there is would be fetched
    "datasets export": ("datasets", "export", "no-such-set", "qrels"),
    "datasets check": ("datasets", "check", "no-such-set"),
    "datasets leaderboard": ("datasets", "leaderboard", "answers"),
    "import": (
        *("import", "answers", "--map", "question=query_id,answer=answer", "--tool", "records", "--run", "r"),
        *("--records", "[]", "--split", "contexts=|", "-o", "out/imported"),
    ),
    "reproduce": ("reproduce", "crag-leaderboard", "--data", "answers"),
    "demo": ("demo", "out/demo"),
    "init": ("init",),
    "skill": ("skill",),
}
OUTPUTS = (
    "-o",
    "--values",
    "--eee",
    "--plot",
    "--fix",
    "--disagreements",
    "--requests-out",
    "--save-baseline",
    "--md",
    "--junit",
    "--json",
)
LIST_OF_MEASURES = ",".join(["alpha_ndcg@10"] * 40)
ODD_WORDS = (
    "",
    " ",
    "x" * 300,
    LIST_OF_MEASURES,
    ("a" * 200 + "/") * 30,  # longer than a path may be, and not so deep that nobody can take it away again
    "\udcff",
    "\x1b[31m",
    "-",
    "no/such",
    "💥",
    "%s{0}",
)
RUBRIC = """
unit = "answer"
kind = "label"
sees = ["question", "answer"]
[labels]
polite = 1.0
rude = 0.0
[prompt]
system = "Judge."
ask = "Is it polite?"
"""


def unexpected_files() -> dict[str, bytes]:
    """Files that hold anything but what was expected."""
    deep = b"[" * 100_000 + b"]" * 100_000
    return {
        "empty": b"",
        "zeros": bytes(4096),
        "noise": bytes(range(256)) * 8,
        "blank": b"\n\n \n",
        "deep.json": b'{"query_id": ' + deep + b"}\n",
        "deep.toml": b"a = " + deep,
        "many.toml": b".".join([b"a"] * 3000) + b" = 1\n",
        "html": b"<!doctype html><html><script type='application/json'>{</script></html>",
        "array": b"[1, 2, 3]\n",
        "scalar": b'"text"\n1\nnull\n',
        "objects": b"{}\n{}\n",
        "wrong": b'{"query_id": [1], "run_id": {}, "answer": 5, "question": null, "id": 1e400, "text": []}\n',
        "half": b'{"query_id": "q0", "answer": "Par',
        "short": b"q0 Q0 d1\n",
        "long": b"q0 " * 500_000,
        "utf16": "q0 Q0 d1 1 1 r\n".encode("utf-16"),
        "latin": b"q\xe9 Q0 d\xe9 1 1 r\n",
        "half.gz": gzip.compress(b"q0 Q0 d1 1 1 r\n" * 1000)[:60],
        "sqlite": b"SQLite format 3\x00" + bytes(100),
        "parquet.parquet": b"PAR1" + bytes(40) + b"PAR1",
        "raises.py": b"raise ValueError('x')\n",
        "leaves.py": b"import sys\nsys.exit(0)\n",
        "syntax.py": b"def (\n",
        "nothing.py": b"RUBRIC = None\n",
    }


NO_FILES_AT_ALL = ("folder.toml", "loop", "dangling", "secret")
ODD_PATHS = [*(f"odd/{name}" for name in sorted([*unexpected_files(), *NO_FILES_AT_ALL])), ".", "runs"]


@pytest.fixture(autouse=True)
def _odd(_files: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "datasets"))
    for name, content in unexpected_files().items():
        Path("odd", name).parent.mkdir(exist_ok=True)
        Path("odd", name).write_bytes(content)
    Path("odd/folder.toml").mkdir()
    Path("odd/loop").symlink_to("loop")
    Path("odd/dangling").symlink_to("nothing")
    Path("odd/secret").write_text("x")
    Path("odd/secret").chmod(0)
    Path("mine.toml").write_text(RUBRIC)
    Path("prompt.txt").write_text("{query} {passage} {examples}")
    Path("mine.py").write_text(
        "from rageval.judges import rubric_named\nRUBRIC = rubric_named('mine.toml')\n"
    )
    Path("groups").write_text("q0 g\nq1 g\n")
    Path("rules.toml").write_text('[gate]\nmeasure = "recall@5"\nbaseline = "held.jsonl"\nmargin = 0.1\n')
    Path("board").write_text("a all m 3\nb all m 2\nc all m 1\n")
    Path("topics").write_text("q0\tone\nq1\ttwo\n")
    Path("teams").write_text("one\tone\n")
    Path("asked.csv").write_text("id,question,gold\nq0,Who?,Ann\nq1,Where?,Oslo\n")
    Path("tabled").mkdir()
    Path("tabled/one.csv").write_text("question,answer\nWho?,Ann\nWhere?,Rome\n")
    label = '{{"query_id": "q{}", "run_id": "one", "label": "perfect", "judge": "person:ann"}}\n'
    Path("labels").write_text("".join(map(label.format, range(20))))
    Path("replies").write_text("")
    page = command("report", *RUNS, "-m", "recall@5", "-o", "page.html")
    assert page.code == 0


def replaced(line: tuple[str, ...]) -> Iterator[int]:
    """The places of a line that may hold another word: all but commands and options."""
    command_words = {word for name in COMMANDS for word in (name, *sub_commands(name))}
    yield from (
        index for index, word in enumerate(line) if not word.startswith("-") and word not in command_words
    )


def sub_commands(name: str) -> list[str]:
    group = main.get_command(click.Context(main), name)
    return group.list_commands(click.Context(group)) if isinstance(group, click.Group) else []


def assert_civil(words: list[str]) -> None:
    """An exit code that is documented, no traceback (that would be raised), and lines that are ours."""
    outcome = command(*words)
    assert outcome.code in CODES, words
    assert "Traceback" not in outcome.err
    if outcome.code == 2:
        assert outcome.err.count("\n") < 20, words
        if "error" not in outcome.out:  # the doctor's findings go where its other findings go
            assert re.match(r"(rageval: |Usage: |Try |\nError: |Error: |\n)", outcome.err), words
    is_bundle = outcome.out.startswith("\x1f")  # `-o -` writes the packed file itself
    for text in ("" if is_bundle else outcome.out, outcome.err):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text), words


def test_every_command_has_a_line() -> None:
    paths = {path for path, command in commands(main) if path and not isinstance(command, click.Group)}
    assert {path for path in paths if not any(covers(line, path) for line in LINES.values())} == set()


def covers(line: tuple[str, ...], path: str) -> bool:
    words = path.split()
    return list(line[: len(words)]) == words or (path == "score" and line[0] not in COMMANDS)


def test_every_option_has_a_word_in_a_line() -> None:
    """What takes a text is tried with odd ones; a new option needs a place in one of the lines."""
    tried = {word for line in LINES.values() for word in line if word.startswith("-")}
    for path, member in commands(main):
        for param in member.params:
            if isinstance(param, click.Option) and isinstance(
                param.type, click.types.StringParamType | click.Path
            ):
                assert tried.intersection(param.opts) or set(param.opts) & NO_FILES, f"{path}: {param.opts}"


def share(odd: Sequence[str], start: int, every: int) -> Sequence[str]:
    """Some of the odd things, for each place others."""
    return odd[start % every :: every]


def replace_words(line: tuple[str, ...], every: int = 1) -> Iterator[list[str]]:
    """The line with an odd word at each of its places."""
    for index in replaced(line):
        for odd in share(ODD_WORDS, index, every):
            yield [*line[:index], odd, *line[index + 1 :]]


def replace_files(line: tuple[str, ...], every: int = 1) -> Iterator[list[str]]:
    """The line with an odd file at each of its places."""
    for index in replaced(line):
        for path in share(ODD_PATHS, index, every):
            if line[index - 1] in OUTPUTS:
                continue  # may be written over; see the tests of outputs
            yield [*line[:index], path, *line[index + 1 :]]
            if line[index].endswith((".toml", ".py")):
                yield [*line[:index], f"frozen:{path}", *line[index + 1 :]]


some_of_all = pytest.mark.parametrize("name", LINES)
quick_or_all = pytest.mark.parametrize(
    "every", [pytest.param(10, id="some"), pytest.param(1, marks=pytest.mark.nightly, id="all")]
)


@pytest.mark.slow
@quick_or_all
@some_of_all
def test_odd_words_are_told_what_is_wrong(name: str, every: int) -> None:
    for words in replace_words(LINES[name], every):
        assert_civil(words)


@pytest.mark.slow
@quick_or_all
@some_of_all
def test_odd_files_are_told_what_is_wrong(name: str, every: int) -> None:
    assert sorted(ODD_PATHS) == sorted([*(str(path) for path in Path("odd").iterdir()), ".", "runs"])
    before = {path: Path("odd", path).read_bytes() for path in unexpected_files()}
    for words in replace_files(LINES[name], every):
        assert_civil(words)
    if "store" not in name:  # an empty file may become a store
        assert {path: Path("odd", path).read_bytes() for path in unexpected_files()} == before


@pytest.mark.slow
def test_a_long_list_of_measures_is_a_list() -> None:
    outcome = command(*RUNS, ",".join(f"recall@{number}" for number in range(1, 100)))
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) == 2 * 99


def test_a_parquet_file_with_a_column_twice_is_refused(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    column = pyarrow.array(["q0"])
    for twice in ("query_id", "doc_id", "score"):
        names = ["query_id", "doc_id", "score", twice]
        columns = [column, column, pyarrow.array([1.0]), pyarrow.array([1.0]) if twice == "score" else column]
        parquet.write_table(pyarrow.table(columns, names=names), "twice.parquet")
        outcome = command("twice.parquet", "qrels", "-m", "recall@5")
        assert (outcome.code, outcome.out) == (2, "")
        assert f"twice.parquet: has 2 columns {twice}; expected one" in outcome.err


def test_a_rubric_without_a_schema_is_refused_when_it_is_made() -> None:
    from rageval.errors import UsageError
    from rageval.judges.base import Request

    with pytest.raises(UsageError, match="schema=None: expected the JSON schema of a reply"):
        Request("Judge.", "Is it so?", None)  # type: ignore[arg-type]


def test_what_is_printed_of_a_rubric_is_a_rubric(tmp_path: Path) -> None:
    from rageval.judges.rubric import as_toml, rubric_named, rubric_names

    for name in rubric_names():
        Path("copy.toml").write_text(as_toml(rubric_named(name).file), encoding="utf-8")
        assert rubric_named("copy.toml").file == rubric_named(name).file
    printed = command("rubrics", "mine.toml")
    assert printed.out.strip() == RUBRIC.strip()
