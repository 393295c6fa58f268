"""`rageval reproduce`: published tables come back from answers of which they are true."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rageval
from rageval.building import fused
from rageval.cli import main
from rageval.errors import InputError, UsageError
from rageval.published import PublishedTable, declared, names, reproduce

MADE_UP = Path(__file__).parents[2] / "examples" / "data" / "published"
CRAG = ("perfect", "acceptable", "incorrect", "missing")


def asked(*words: str) -> Result:
    return CliRunner().invoke(main, ["reproduce", *words])


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def labels_of(shares: dict[str, float], system: str) -> Iterator[dict[str, Any]]:
    """A thousand answers that have these shares of labels, in percent; the last label fills up."""
    labels = [label for label, share in shares.items() for _ in range(round(10 * share))]
    for index, label in enumerate(labels[:1000] + [labels[-1]] * (1000 - len(labels))):
        yield {"query_id": str(index), "run_id": system, "label": label}


@pytest.mark.some(3)
@pytest.mark.parametrize("name", names())
def test_every_table_comes_out_of_the_made_up_files(name: str) -> None:
    result = asked(name, "--data", str(MADE_UP), "--format", "csv")
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    table = declared(name)
    assert {row["measure"] for row in rows} == set(table.measures)
    numbers = [row for row in rows if row["measure"] != "duels" and row["value"]]
    assert len(numbers) >= len(rows) / 2
    for row in numbers:
        if row["published"]:
            difference = float(row["value"]) - float(row["published"])
            assert float(row["difference"]) == pytest.approx(difference, abs=2e-6)
    if table.published and name not in ("sentences-2", "sentences-4"):
        assert any(row["published"] for row in rows)
    read = asked(name, "--data", str(MADE_UP))
    assert read.exit_code == 0
    assert table.title in read.stdout
    assert ("In brackets" in read.stdout) == bool(table.published)


@pytest.mark.parametrize("name", names())
def test_a_declaration_is_whole(name: str) -> None:
    table = declared(name)
    assert table.get
    assert table.title
    for row in table.published:
        values = row[len(table.labels) :]
        assert all(isinstance(label, str) for label in row[: len(table.labels)])
        # A strategy that is the best, or of which only the name is published, has no values.
        assert len(values) in (0, max(1, len(table.columns)) * len(table.measures)) or name.startswith(
            "sentences"
        )
    assert [key for key, cells in table.values.items() if not cells] == [] or name.startswith("sentences")


@pytest.mark.slow
def test_answers_with_the_published_shares_give_crags_tables(tmp_path: Path) -> None:
    """Every published score is what its shares come to, but for the paper's rounding."""
    auto, people = declared("crag-auto"), declared("crag-leaderboard")
    judged: dict[str, list[dict[str, Any]]] = {"crag-auto": [], "crag": []}
    for system, accurate, wrong, missing, score in auto.published:
        shares = {"accurate": accurate, "incorrect": wrong, "missing": missing}
        assert accurate + wrong + missing == pytest.approx(100)
        assert accurate - wrong == pytest.approx(score, abs=0.1 + 1e-9)
        judged["crag-auto"] += labels_of(shares, str(system))
    for system, *people_shares, score in people.published:
        judged["crag"] += labels_of(dict(zip(CRAG, people_shares, strict=True)), str(system))
        assert people_shares[0] + people_shares[1] / 2 - people_shares[2] == pytest.approx(score, abs=0.1)
    for name, rows in judged.items():
        write(tmp_path / f"{name}.judged.jsonl", rows)
    for name in ("crag-auto", "crag-leaderboard"):
        came_back(name, tmp_path, 0.21)


@pytest.mark.slow
def test_answers_with_the_published_shares_give_ragtifiers_table(tmp_path: Path) -> None:
    table, judged = declared("ragtifier-1"), []
    for system, *shares in table.published:
        for hops, values in (("single", shares[:4]), ("multi", shares[4:])):
            for aspect, low, middle, high in (
                ("correctness", 1, *values[:2]),
                ("faithfulness", 0, *values[2:]),
            ):
                grades = [low] * round(10 * middle) + [low + 1] * round(10 * high)
                for number, grade in enumerate(grades + [-1] * (1000 - len(grades))):
                    of = {"query_id": f"{hops}{number}", "run_id": system, "aspect": aspect}
                    judged.append(of | {"grade": grade})
    questions = [
        {"query_id": f"{hops}{number}", "hops": hops}
        for hops in ("single", "multi")
        for number in range(1000)
    ]
    write(tmp_path / "ragtifier-1.judged.jsonl", judged)
    write(tmp_path / "ragtifier-1.questions.jsonl", questions)
    came_back("ragtifier-1", tmp_path, 1e-9)


def came_back(name: str, folder: Path, within: float) -> None:
    reproduction = reproduce(name, folder)
    published = declared(name).values
    assert list(reproduction.found) == list(published)
    assert reproduction.absent == reproduction.missing == []
    for row, cells in reproduction.found.items():
        assert cells == pytest.approx(published[row], abs=within)


@pytest.mark.slow
def test_freshstacks_table_by_hand() -> None:
    """Each topic by itself, the runs of a method fused, and the mean of the topics' means."""
    reproduction = reproduce("freshstack-4", MADE_UP)
    measures = declared("freshstack-4").measures
    for method in ("stack-overflow-nuggets", "gpt-4o-sub-questions"):
        paper = {"stack-overflow-nuggets": "Stack Overflow Nuggets"}.get(method, "GPT-4o Sub-Questions")
        by_topic = []
        for topic in ("langchain", "yolo", "laravel", "angular", "godot"):
            read = [
                rageval.read_run(MADE_UP / f"{topic}.{model}.{method}.trec") for model in ("bm25", "dense")
            ]
            runs = [rageval.Run.from_records(rows, str(index)) for index, rows in enumerate(read)]
            both = fused(runs, depth=100)
            for run, label in ((both, "Fusion (2 models)"), (runs[0], "BM25")):
                scores = rageval.evaluate(",".join(measures), run, MADE_UP / f"{topic}.nugget")
                values = [score.value for score in scores.values()]
                assert list(reproduction.found[paper, label, topic].values()) == values
            by_topic.append(list(reproduction.found[paper, "BM25", topic].values()))
        means = [sum(values) / 5 for values in zip(*by_topic, strict=True)]
        assert list(reproduction.found[paper, "BM25", "average"].values()) == pytest.approx(means, abs=1e-12)
    assert len({row[:2] for row in reproduction.found}) == 6


def test_lead_and_duels_by_hand(tmp_path: Path) -> None:
    places = {"q1": "AB", "q2": "BA", "q3": "BA"}
    judged = [
        {
            "query_id": query,
            "run_id": {"A": "a random", "B": "b best first"}[run],
            "aspect": "1",
            "grade": index,
        }
        for query, order in places.items()
        for index, run in enumerate(order, 1)
    ]
    write(tmp_path / "sentences-2.judged.jsonl", judged)
    tables = reproduce("sentences-2", tmp_path).found
    best, other = (1 + 1 + 0.5) / 3, (0.5 + 0.5 + 1) / 3
    assert tables["B best first", ""] == pytest.approx({"rank_score": best})
    assert tables["A random", ""] == {
        "rank_score": pytest.approx(other),
        "lead": pytest.approx(100 * (best - other) / other),
        "duels": "2-0-1",
    }


def test_what_rq5_prints_fits_together() -> None:
    """Of two answers the points of a question sum to 1.5; each of 115 questions is won, tied or lost."""
    one, other = (cells for cells in declared("sentences-5").values.values())
    assert one["rank_score"] + other["rank_score"] == pytest.approx(1 + 1 / 2)
    assert sum(map(int, one["duels"].split("-"))) == 115
    assert other.keys() == {"rank_score"}


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    (tmp_path / "rag24.nuggets.jsonl").write_bytes((MADE_UP / "rag24.nuggets.jsonl").read_bytes())
    write(tmp_path / "ragtifier-1.judged.jsonl", [])
    with pytest.raises(InputError, match=r"no crag-auto\.judged\.jsonl\. Judge the answers"):
        reproduce("crag-auto", tmp_path)
    with pytest.raises(InputError, match="no run of langchain"):
        reproduce("freshstack-4", tmp_path)
    with pytest.raises(InputError, match="expected a folder"):
        reproduce("crag-auto", tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"no such table; did you mean 'crag-auto'|crag-auto"):
        declared("crag-autos")
    for path in MADE_UP.glob("langchain.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    reproduction = reproduce("freshstack-4", tmp_path)
    assert reproduction.missing == [
        f"no run of {topic} ({topic}.{{model}}.{{method}}.trec)"
        for topic in ("yolo", "laravel", "angular", "godot")
    ]
    assert {row[2] for row in reproduction.found} == {"langchain"}  # and no average of one topic
    assert "GPT-4o Closed Book Answer, BM25" in reproduction.absent
    result = asked("freshstack-4", "--data", str(tmp_path))
    assert "rageval: no run of yolo" in result.stderr
    assert "Published, but not in this folder: " in result.stdout


def test_tables_are_listed() -> None:
    result = asked("--format", "jsonl")
    assert [json.loads(line)["table"] for line in result.stdout.splitlines()] == names()
    assert asked("no-such").exit_code == 2


def test_labels_are_told_by_letters_and_digits() -> None:
    table = PublishedTable("t", "w", ["system"], "get", [["BGE (Gemma-2)", 1.0], ["Task 1: A", 1.0]])
    for spelled in ("bge-gemma-2", "BGE Gemma 2", "bge_gemma2"):
        assert table.label((spelled,)) == ("BGE (Gemma-2)",)
    assert table.label(("task-1-a",)) == ("Task 1: A",)
    assert table.label(("other",)) == ("other",)
