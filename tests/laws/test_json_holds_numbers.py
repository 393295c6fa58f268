"""What commands print: JSON holds every digit of its numbers, and a result is the same wherever it goes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import rageval
from every_command import walked
from json_types import SCHEMA, faults
from rageval import table
from rageval.cli import main
from rageval.table import FORMATS

QUERIES = [f"q{number}" for number in range(30)]


def crag(judge: str, seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    labels = ("perfect", "acceptable", "missing", "incorrect")
    return [
        {"query_id": query, "run_id": run, "label": rng.choice(labels), "rubric": "crag", "judge": judge}
        | {"domain": "ab"[int(query[1:]) % 2]}
        for query in QUERIES
        for run in ("ours", "theirs")
    ]


def games(judge: str, seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    rows = []
    for query in QUERIES:
        labels = rng.choice([("win", "loss"), ("loss", "win"), ("tie", "tie")])
        for run, label in zip(("ours", "theirs"), labels, strict=True):
            row = {"query_id": query, "run_id": run, "aspect": "g", "label": label}
            rows.append({**row, "rubric": "pairwise", "judge": judge})
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = {"j": crag("openai:m", 1), "g": crag("person:a", 2)}
    rows |= {"games": games("openai:m", 3), "people": games("person:a", 4)}
    rows["support"] = [
        {"query_id": query, "run_id": "ours", "aspect": f"n{nugget}", "rubric": "nugget-assignment"}
        | {"label": "support" if (number + nugget) % 3 else "not_support", "judge": "openai:m"}
        for number, query in enumerate(QUERIES)
        for nugget in range(3)
    ]
    (tmp_path / "run.trec").write_text(
        "".join(f"{q} Q0 d{number} {number} {9 - number} ours\n" for q in QUERIES for number in (1, 2))
    )
    (tmp_path / "qrels").write_text(
        "".join(f"{q} n{number} d{number} 1\n" for q in QUERIES for number in range(3))
    )
    for name, records in rows.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records))
    CliRunner().invoke(
        main, ["report", f"{tmp_path}/j.jsonl", "-m", "crag_score", "-o", f"{tmp_path}/p.html"]
    )
    return tmp_path


# Words of each command that has --format json; {} is the folder.
WORDS = {
    "score": [
        "{}/j.jsonl -m crag_score -q",
        "{}/j.jsonl -m crag_score --by domain",
        "{}/j.jsonl -m crag_score --by domain --gold {}/g.jsonl",
        "examples/data/run.trec examples/data/qrels.nugget -m ndcg@10",
    ],
    "compare": ["{}/j.jsonl -m crag_score", "{}/j.jsonl -m crag_score --gold {}/g.jsonl"],
    "report show": ["{}/p.html"],
    "arena": [
        "{}/games.jsonl",
        "{}/games.jsonl --matrix",
        "{}/games.jsonl --compat ragnarok",
        "{}/games.jsonl --gold {}/people.jsonl",
    ],
    "diagnose": ["{}/support.jsonl --run {}/run.trec --qrels {}/qrels"],
    "label agree": ["{}/j.jsonl {}/g.jsonl"],
    "doctor": ["examples/data/suspicious/run.trec --at 2"],
    "validate": ["examples/data/answers/rag24.jsonl --track rag24"],
    "label correct": ["{}/j.jsonl --gold {}/g.jsonl -m crag_score"],
}
NAMES = {"id", "item", "aspect", "query", "query_id", "run", "run_id", "name", "signature", "sha256", "made"}


def with_json() -> set[str]:
    """The commands that print JSON if they are asked to."""
    choices = {path: [param.type for param in command.params] for path, command in walked()}
    return {
        path
        for path, kinds in choices.items()
        if any(isinstance(kind, click.Choice) and "json" in kind.choices for kind in kinds)
    }


def numbers(record: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(record, dict):
        for name, value in record.items():
            yield from numbers(value, name)
    elif isinstance(record, list):
        for value in record:
            yield from numbers(value, key)
    else:
        yield key, record


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_every_command_is_tried() -> None:
    tried = {name.removesuffix(" show") for name in WORDS}
    # What is compared with papers, or with what was published, is not ours to draw.
    assert with_json() - {"reproduce", "board verify"} == tried


@pytest.mark.slow
@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("command", "words"), [(name, words) for name, all_ in WORDS.items() for words in all_]
)
def test_no_number_is_text_or_rounded(command: str, words: str, folder: Path) -> None:
    typed = [*command.split(), *words.replace("{}", str(folder)).split(), "--format", "json"]
    result = CliRunner().invoke(main, typed)
    assert result.exit_code == 0, result.stderr[-500:]
    (kind,) = (output["json"] for output in SCHEMA["outputs"] if output["command"] == command)
    assert list(faults(json.loads(result.stdout), kind)) == []
    listed = list(numbers(json.loads(result.stdout)))
    texts = [(key, value) for key, value in listed if isinstance(value, str) and is_number(value)]
    assert not [line for line in texts if line[0] not in NAMES]
    floats = {value for _, value in listed if isinstance(value, float) and value % 1}
    long = [value for value in floats if round(value, 6) != value]
    # Means of thirty grades, p and ends of intervals hardly ever end after four places.
    assert len(long) >= len(floats) / 4, sorted(floats)


@pytest.mark.slow
def test_strengths_are_those_of_python(folder: Path) -> None:
    result = CliRunner().invoke(main, ["arena", str(folder / "games.jsonl"), "--format", "json"])
    from rageval.comparison.arena import games as played
    from rageval.comparison.arena import strengths

    strengths_by_system = {
        strength.system: strength
        for strength in strengths(played(rageval.read_judgements(folder / "games.jsonl")))
    }
    for row in json.loads(result.stdout):
        expected = strengths_by_system[row["system"]]
        assert (row["strength"], row["low"], row["games"]) == (
            expected.strength,
            expected.low,
            expected.games,
        )
        assert isinstance(row["games"], int)


FINDINGS = ("doctor", "validate")  # which print lines of text, and no tables
EVERY = [(name, words) for name, several in WORDS.items() for words in several if name not in FINDINGS]


def typed(command: str, words: str, folder: Path) -> list[str]:
    return [*command.split(), *words.replace("{}", str(folder)).split()]


@pytest.mark.slow
@pytest.mark.parametrize("style", FORMATS)
@pytest.mark.parametrize(("command", "words"), EVERY)
def test_a_file_gets_what_is_printed(command: str, words: str, style: str, folder: Path) -> None:
    """`-o FILE` means the same in each command: the result goes there, and nothing of it is printed."""
    line, out = [*typed(command, words, folder), "--format", style], folder / "out"
    printed = CliRunner().invoke(main, line)
    if printed.exit_code == 2:
        assert "-q" in line, printed.stderr  # values of queries have no form of their own in LaTeX, say
        return
    assert printed.exit_code == 0, printed.stderr[-500:]
    result = CliRunner().invoke(main, [*line, "-o", str(out)])
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", printed.stderr)
    assert out.read_text(encoding="utf-8") == printed.stdout
    assert printed.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize(("command", "words"), [words for words in EVERY if words[0] != "score"])
def test_off_a_terminal_stands_what_stands_on_it(
    command: str, words: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = typed(command, words, folder)
    printed = CliRunner().invoke(main, line).stdout
    # What is wider than a terminal is cut there; this one has room.
    monkeypatch.setattr(table, "terminal_width", lambda: 10_000)
    monkeypatch.setattr(table, "on_terminal", lambda: True)
    assert CliRunner().invoke(main, line).stdout == printed
    assert "─" in printed


def test_of_scores_lines_of_trec_eval_go_into_a_file_or_pipe(folder: Path) -> None:
    line = typed("score", WORDS["score"][0], folder)
    result = CliRunner().invoke(main, [*line, "-o", str(folder / "out")])
    assert (result.exit_code, result.stdout) == (0, "")
    lines = (folder / "out").read_text(encoding="utf-8")
    assert lines == CliRunner().invoke(main, line).stdout
    assert lines.count("\t") == 3 * lines.count("\n")
    refused = CliRunner().invoke(main, [*line, "-o", str(folder / "out.parquet")])
    assert (refused.exit_code, "--values" in refused.stderr) == (2, True)
