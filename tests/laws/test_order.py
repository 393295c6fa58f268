"""The order of lines, files, options and keys changes no number and no claim: only the order of output."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from every_command import leaves
from rageval.cli import main

NUMBER = 24
VALUES = ("perfect", "acceptable", "missing", "incorrect")
SYSTEMS = ("one", "other", "third")


def data() -> dict[str, Any]:
    """Return files by name: records, or lines of text."""
    rng = random.Random(11)
    queries = [f"q{number:02d}" for number in range(NUMBER)]
    judged = [
        {"query_id": query, "run_id": run, "label": rng.choice(VALUES), "rubric": "crag", "judge": "gpt"}
        for query in queries
        for run in SYSTEMS
    ]
    people = [
        {**row, "judge": "ann", "label": row["label"] if rng.random() < 0.7 else rng.choice(VALUES)}
        for row in judged
    ]
    games = []
    for query in queries:
        for first, second in (("one", "other"), ("other", "third"), ("third", "one")):
            outcome = rng.choice(("win", "loss", "tie"))
            order_runs = {"win": "loss", "loss": "win", "tie": "tie"}[outcome]
            games += [
                {
                    "query_id": query,
                    "run_id": run,
                    "aspect": f"{first}|{second}",
                    "label": label,
                    "judge": "gpt",
                }
                for run, label in ((first, outcome), (second, order_runs))
            ]
    runs = {
        f"{run}.trec": [f"{query} Q0 d{doc} {rank + 1} {9 - rank} {run}"
                        for query in queries for rank, doc in enumerate(rng.sample(range(8), 5))]
        for run in SYSTEMS
    }  # fmt: skip
    boards = [
        {"run_id": run, "topic_id": query, "measure": "m", "value": round(rng.random(), 3)}
        for query in queries
        for run in SYSTEMS
    ]
    boards += [
        {"run_id": run, "topic_id": "all", "measure": "m",
         "value": sum(row["value"] for row in boards if row["run_id"] == run) / NUMBER}
        for run in SYSTEMS
    ]  # fmt: skip
    noisy = [{**row, "value": row["value"] / 2 + 0.1} for row in boards]
    assigned = [
        {"query_id": query, "run_id": "one", "aspect": f"n{nugget}", "rubric": "nugget-assignment",
         "label": rng.choice(("support", "not_support"))}
        for query in queries
        for nugget in range(3)
    ]  # fmt: skip
    return {
        "judged.jsonl": judged,
        "people.jsonl": people,
        "games.jsonl": games,
        "truth.jsonl": boards,
        "guess.jsonl": noisy,
        "assigned.jsonl": assigned,
        "questions.jsonl": [
            {"id": query, "text": "?", "kind": "ab"[number % 2]} for number, query in enumerate(queries)
        ],
        "qrels": [f"{query} 0 d{doc} {rng.randint(0, 2)}" for query in queries for doc in range(6)],
        "nuggets.qrels": [f"{query} n{doc} d{doc} 1" for query in queries for doc in range(3)],
        **runs,
    }


def write(folder: Path, files: dict[str, Any], shuffle: random.Random | None = None) -> None:
    """Write the files; with `shuffle`, in another order of lines, and of keys within a line."""
    folder.mkdir(exist_ok=True)
    for name, rows in files.items():
        rows = list(rows)
        if shuffle is not None:
            # A run's documents are tied by nothing here, so that their lines have no order of their own.
            shuffle.shuffle(rows)
            rows = [dict(shuffle.sample(list(row.items()), len(row))) if isinstance(row, dict) else row
                    for row in rows]  # fmt: skip
        lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        (folder / name).write_text("".join(f"{line}\n" for line in lines))


# A command: files in whatever order, options in whatever order.
RUNS = ["one.trec", "other.trec", "third.trec", "qrels"]
CALLS: dict[str, tuple[list[str], list[tuple[str, ...]]]] = {
    "score": (RUNS[:1] + RUNS[3:], [("-m", "ndcg@5,rr,ap"), ("--format", "json"), ("-q",)]),
    "score --by": (
        ["judged.jsonl"],
        [("-m", "crag_score"), ("--by", "kind"), ("--questions", "questions.jsonl"), ("--format", "json")],
    ),
    "compare": (RUNS, [("-m", "ndcg@5,p@5"), ("--all-pairs",), ("--adjust", "max_t"), ("--format", "json")]),
    "compare --gold": (
        ["judged.jsonl"],
        [
            ("-m", "crag_score"),
            ("--gold", "people.jsonl"),
            ("--gold-chosen", "uniform"),
            ("--format", "json"),
        ],
    ),
    "arena": (["games.jsonl"], [("--format", "json")]),
    "label agree": (["judged.jsonl", "people.jsonl"], [("--format", "json")]),
    "label agree --leaderboards": (
        [],
        [("--leaderboards", "truth.jsonl", "guess.jsonl"), ("--format", "json")],
    ),
    "label correct": (
        ["judged.jsonl"],
        [
            ("-m", "crag_score"),
            ("--gold", "people.jsonl"),
            ("--gold-chosen", "uniform"),
            ("--format", "json"),
        ],
    ),
    "diagnose": (
        ["assigned.jsonl"],
        [("--run", "one.trec"), ("--qrels", "nuggets.qrels"), ("--format", "json")],
    ),
    "report": (RUNS, [("-m", "ndcg@5,p@5"), ("-o", "page.html")]),
}
# The order of what is given says what is what: the first file is JUDGED, the second GOLD.
IN_ORDER = {"label agree", "score"}


def order_runs(pair: dict[str, Any]) -> dict[str, Any]:
    """Return a pair of runs as if the first by name came first."""
    if "difference" not in pair or pair["run"] < pair["other"]:
        return pair
    signs = {name: pair[name] and -pair[name] for name in ("difference", "effect", "judged", "people")}
    ends = {"low": pair["high"] and -pair["high"], "high": pair["low"] and -pair["low"]}
    verdict = {"higher": "lower", "lower": "higher"}.get(pair["verdict"], pair["verdict"])
    sides = {"run": pair["other"], "other": pair["run"], "wins": pair["losses"], "losses": pair["wins"]}
    return {**pair, **signs, **ends, **sides, "verdict": verdict}


def normalize(node: Any) -> Any:
    """Return a JSON text in which lists of records have one order, and no name of a file or time is left."""
    if isinstance(node, dict):
        node = order_runs(node)
        left = {"provenance", "spending", "citing", "format", "matrices"}
        return {name: normalize(value) for name, value in sorted(node.items()) if name not in left}
    if isinstance(node, list):
        return sorted((normalize(item) for item in node), key=lambda item: json.dumps(item, sort_keys=True))
    if isinstance(node, float):
        return float(f"{node:.9g}") + 0.0
    # A hash of a file changes with its lines.
    return re.sub(r"gold:[0-9a-f]{8}", "gold:", node) if isinstance(node, str) else node


def call(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, shuffle: random.Random | None = None
) -> Any:
    files, options = (list(words) for words in CALLS[name])
    if shuffle is not None:
        shuffle.shuffle(options)
        if name not in IN_ORDER:
            shuffle.shuffle(files)
    monkeypatch.chdir(folder)
    parts = [files, *options]
    words = [
        *(word for word in name.split() if not word.startswith("--")),
        *(w for part in parts for w in part),
    ]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, (words, result.output)
    if name == "report":
        result = CliRunner().invoke(main, ["report", "show", "page.html", "--format", "json"])
    return normalize(json.loads(result.stdout))


def prints_numbers() -> Iterator[str]:
    """The commands that print numbers as JSON."""
    for name, command in leaves().items():
        # The first two take what is scored as elsewhere; the others look at lines, and print no number.
        if name in ("reproduce", "board verify", "doctor", "validate"):
            continue
        for option in command.params:
            if "--format" in option.opts and "json" in getattr(option.type, "choices", ()):
                yield name


NAMES = [name for name in CALLS if name.partition(" --")[0] in set(prints_numbers())]


def test_every_command_that_prints_numbers_is_tried() -> None:
    assert set(prints_numbers()) <= {name.partition(" --")[0] for name in NAMES}


@pytest.mark.slow
@pytest.mark.some(6)
@pytest.mark.parametrize("name", NAMES)
def test_order_changes_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = data()
    write(tmp_path / "plain", files)
    plain = call(name, tmp_path / "plain", monkeypatch)
    for seed in range(2):
        shuffle = random.Random(seed)
        folder = tmp_path / f"other{seed}"
        write(folder, files, shuffle)
        assert call(name, folder, monkeypatch, shuffle) == plain
