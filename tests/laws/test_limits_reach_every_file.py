"""Whatever file a command reads, `--limit` holds there: limits travel inside the source.

A line is lengthened by blanks, which change nothing of what it says. Limits of ids, of grades and of what a
file unpacks to are carried by the same object, so that where one of them arrives all do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rageval.cli import main
from rageval.cli._options import LimitOption
from test_bad_input import command
from test_odd_words import OUTPUTS, _odd, covers  # noqa: F401
from test_outputs import CUT, READ, RUNS, _files, _server, commands  # noqa: F401

pytestmark = pytest.mark.slow

LIMITED = {
    path: command
    for path, command in commands(main)
    if any(isinstance(param, LimitOption) for param in command.params)
    # What data sets hold is read within limits of their own.
    and not path.startswith("datasets")
}
LONGEST = 2**14  # bytes: more than any line of the files has
GIVEN = ("--limit", f"line={LONGEST}", "--limit", f"record={LONGEST}")
NO_FILES = {("doctor", "--at"), ("import", "--run")}
WHOLE = {"--policy", "--rubric", "--judge", "--store"}  # small files with a limit of their own, and a store

PAGE = ("-o", "out/page.html")
OF_RUNS = (*RUNS, "-m", "recall@5")
OF_ANSWERS = ("-m", "nugget_recall", "--answers", "said", "--nuggets", "bank")
LABELS = ("--questions", "asked", "--gold-chosen", "chances")
OF_SPANS = ("spans.jsonl", *CUT, "-m", "span_recall")
GATED = ("--margin", "0.5", "--baseline")
LINES: dict[str, tuple[str, ...]] = {
    "score runs": (*OF_RUNS, "--by", "type", "--cluster", "groups", *LABELS, "--gold", "people.qrels"),
    "score spans": ("runs/one", *OF_SPANS),
    "score intents": (*RUNS, "-m", "d_sharp@5", "--intent-weights", "intents"),
    "score groups": (*OF_RUNS, "--group-by", "groups"),
    "score answers": ("judged", *OF_ANSWERS, "--by", "type", *LABELS, "--gold", "people"),
    "score weights": ("judged", *OF_ANSWERS, "--group-by", "groups", "--weights", "weights"),
    "compare runs": ("compare", *OF_RUNS, "--cluster", "type", *LABELS, "--gold", "people.qrels"),
    "compare spans": ("compare", "runs/one", "runs/two", *OF_SPANS),
    "compare intents": ("compare", *RUNS, "-m", "d_sharp@5", "--intent-weights", "intents"),
    "compare groups": ("compare", *OF_RUNS, "--cluster", "groups"),
    "compare answers": ("compare", "judged", *OF_ANSWERS, *LABELS, "--gold", "people"),
    "report runs": ("report", *OF_RUNS, *LABELS, "--gold", "people.qrels", *PAGE),
    "report spans": ("report", "runs/one", *OF_SPANS, *PAGE),
    "report intents": ("report", *RUNS, "-m", "d_sharp@5", "--intent-weights", "intents", *PAGE),
    "report answers": ("report", "judged", *OF_ANSWERS, *LABELS, "--gold", "people", *PAGE),
    "report texts": (
        *("report", "judged", *OF_ANSWERS, "--passages", "corpus.jsonl", "--evidence", "judged"),
        *("--cluster", "groups", *PAGE),
    ),
    "gate runs": ("gate", *RUNS[1:], "-m", "recall@5", "--cluster", "groups", *GATED, "base"),
    "gate spans": ("gate", "runs/one", *OF_SPANS, *GATED, "spanned"),
    "gate intents": ("gate", *RUNS[1:], "-m", "d_sharp@5", "--intent-weights", "intents", *GATED, "wanted"),
    "gate answers": (
        "gate",
        "one",
        "--system",
        "one",
        *OF_ANSWERS,
        *LABELS,
        "--gold",
        "people",
        *GATED,
        "held",
    ),
    "diagnose": (
        *("diagnose", "one", "--run", "runs/one", "--qrels", "spans.jsonl", *CUT, "--nuggets", "bank"),
        *("--cluster", "groups"),
        *("--questions", "asked", "--by", "type"),
    ),
    "diagnose answers": (
        *("diagnose", "graded", "--run", "runs/one", "--questions", "gold", "--passages", "corpus.jsonl"),
    ),
    "spans anchor": (
        *("spans", "anchor", "qrels", *CUT, "--quotes", "quotes.jsonl", "--nuggets", "nuggets", "-o"),
        "out/x",
    ),
    "spans project": ("spans", "project", "spans.jsonl", *CUT, "-o", "out/x"),
    "doctor": ("doctor", *RUNS, "--topics", "topics", "--corpus", "corpus.jsonl"),
    "doctor folder": ("doctor", "c"),
    "validate": ("validate", "runs/one", "--track", "run", "--topics", "topics"),
    "import": ("import", "answers", "--map", "question=query_id,answer=answer", "-o", "out/imported"),
}


@pytest.fixture(autouse=True)
def _more(_odd: None) -> None:  # noqa: F811
    queries, systems = ("q0", "q1"), ("one", "two")

    def written(name: str, *rows: dict[str, Any]) -> None:
        Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    places = [{"query_id": query, "run_id": run} for query in queries for run in systems]
    support = [{**row, "aspect": "n1", "label": "support", "rubric": "nugget-assignment"} for row in places]
    written("judged", *({**row, "judge": "model"} for row in support))
    written("one", *({**row, "judge": "model"} for row in support if row["run_id"] == "one"))
    written("people", *({**row, "judge": "person:kim"} for row in support))
    written(
        "said", *({**row, "answer": "There are records.", "references": ["docs/d0.md"]} for row in places)
    )
    written("asked", *({"query_id": query, "question": "What?", "type": query} for query in queries))
    written("graded", {"query_id": "q0", "run_id": "ours", "label": "incorrect", "rubric": "crag"})
    Path("people.qrels").write_text(Path("qrels").read_text())
    nugget = {"id": "n1", "text": "records", "importance": "vital"}
    written("bank", *({"qid": query, "query": "", "nuggets": [nugget]} for query in queries))
    Path("c/queries.tsv").write_text("q0\twhat\nq1\twhere\n")
    Path("chances").write_text("q0 1\nq1 1\n")
    Path("weights").write_text("g 1\n")
    Path("intents").write_text("q0 n1 1\nq1 n1 1\n")
    Path("c/manifest.json").write_text('{\n"rageval": "1",\n"files": {}\n}\n')
    for gated in ("gate runs", "gate spans", "gate intents", "gate answers"):
        *line, name = LINES[gated]
        kept = [word for word in line if word not in (*GATED, "--cluster", "groups")]
        assert command(*kept, "--save-baseline", name).code == 0


def files_in(line: tuple[str, ...]) -> Iterator[Path]:
    """The files that a line reads within limits."""
    for index, word in enumerate(line):
        if Path(word).is_file() and line[index - 1] not in OUTPUTS:
            yield Path(word)
    if "c" in line:
        yield Path("c/nuggets.jsonl")


@pytest.mark.some(4)
@pytest.mark.parametrize("name", LINES)
def test_a_line_that_is_too_long_is_refused_in_every_file(name: str) -> None:
    line = LINES[name]
    usual = command(*line)
    assert usual.code in (0, 1, 5), usual
    within = command(*line, *GIVEN)
    assert (within.code, within.out) == (usual.code, usual.out)
    for path in files_in(line):
        content = path.read_bytes()
        first, end, rest = content.partition(b"\n")
        path.write_bytes(first + b" " * LONGEST + end + rest)
        outcome = command(*line, *GIVEN)
        path.write_bytes(content)
        findings = line[0] in ("validate", "doctor")  # which say what is wrong as a finding
        assert outcome.code == 2 or (findings and outcome.code == 1), (path, outcome)
        assert "--limit" in outcome.out + outcome.err, (path, outcome)


@pytest.mark.parametrize("path", LIMITED)
def test_every_option_that_reads_a_file_is_in_a_line(path: str) -> None:
    words = {word for line in LINES.values() if covers(line, path) for word in line}
    assert words
    for param in LIMITED[path].params:
        name = max(param.opts, key=len)
        is_read = name.startswith("-") and name in READ - WHOLE and (path, name) not in NO_FILES
        assert not is_read or words.intersection(param.opts), param.opts
