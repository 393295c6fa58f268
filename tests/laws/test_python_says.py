"""What a command says on standard error, Python says where the object is shown."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main
from rageval.verbs import Judged

pytestmark = pytest.mark.slow

QUERIES = [f"q{number}" for number in range(20)]


def trec(path: Path, rows: list[str]) -> str:
    path.write_text("".join(f"{row}\n" for row in rows))
    return str(path)


def jsonl(path: Path, rows: list[dict[str, Any]]) -> str:
    return trec(path, [json.dumps(row) for row in rows])


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Runs and judged answers with everything that is remarked on."""
    paths = {}
    for name, lost in (("a", 3), ("b", 0)):
        rows = [
            f"{q} Q0 d{number} {number} {9 - number // 2} {name}"
            for q in QUERIES[lost:]
            for number in range(1, 9)
        ]
        paths[name] = trec(tmp_path / f"{name}.run", [*rows, f"other Q0 d1 1 1 {name}"])
    rows = [f"{q} 0 d{number} 1" for q in QUERIES[:-2] for number in (1, 7)] + [
        "q18 0 d5 0",
        "q19 0 x 1",
        "q18 0 y 0",
    ]
    paths["qrels"] = trec(tmp_path / "qrels", rows)
    paths["people"] = trec(tmp_path / "people", [*rows[:30:2], *rows[1:30:4], "q99 0 d1 1"])
    paths["nuggets"] = trec(
        tmp_path / "nuggets", [row.replace(" 0 ", f" {number % 3} ", 1) for number, row in enumerate(rows)]
    )
    judged: list[dict[str, Any]] = []
    for judge in ("openai:m", "openai:n"):
        for number, query in enumerate(QUERIES):
            for run in ("ours", "theirs"):
                what = {"label": "perfect" if (number + len(run)) % 3 else "incorrect"}
                if number == 4 and run == "ours":
                    what = {"status": "error"}
                judged.append({"query_id": query, "run_id": run, "rubric": "crag", "judge": judge} | what)
    paths["judged"] = jsonl(tmp_path / "judged", judged[:-1])
    paths["whole"] = jsonl(tmp_path / "whole", judged)
    gold = [
        row | {"judge": "anthropic:big"} for row in judged if "label" in row and row["judge"] == "openai:m"
    ]
    for name, words in (
        ("base", ("{a} {qrels} -m ndcg@5,rr")),
        ("answered", "{whole} -m crag_score --system theirs"),
    ):
        paths[name] = str(tmp_path / name)
        saved = CliRunner().invoke(
            main, ["gate", *words.format(**paths).split(), "--save-baseline", paths[name]]
        )
        assert saved.exit_code == 0, saved.output
    paths["gold"] = jsonl(tmp_path / "gold", gold)
    return paths


Asked = tuple[str, Callable[[dict[str, str]], Any]]
VERBS: dict[str, Asked] = {
    "evaluate": (
        "score {a} {qrels} -m ndcg@5,rr",
        lambda files: rageval.evaluate("ndcg@5,rr", files["a"], files["qrels"]),
    ),
    "Evaluator": (
        "score {a} {qrels} -m ndcg@5,rr",
        lambda files: rageval.Evaluator("ndcg@5,rr", files["qrels"]).evaluate(files["a"]),
    ),
    "evaluate, several": (
        "score {a} {b} {qrels} -m ndcg@5,rr",
        lambda files: rageval.evaluate("ndcg@5,rr", [files["a"], files["b"]], files["qrels"]),
    ),
    "evaluate, nuggets": (
        "score {a} {nuggets} -m alpha_ndcg@5 --compat ndeval",
        lambda files: rageval.evaluate("alpha_ndcg@5", files["a"], files["nuggets"], compat="ndeval"),
    ),
    "evaluate, several, nuggets": (
        "score {a} {b} {nuggets} -m alpha_ndcg@5 --compat ndeval",
        lambda files: rageval.evaluate(
            "alpha_ndcg@5", [files["a"], files["b"]], files["nuggets"], compat="ndeval"
        ),
    ),
    "evaluate with gold": (
        "compare {a} {b} {qrels} -m ndcg@5 --gold {people}",
        lambda files: rageval.compare(
            rageval.evaluate("ndcg@5", [files["a"], files["b"]], files["qrels"], gold=files["people"])
        ),
    ),
    "compare scores": (
        "compare {a} {b} {nuggets} -m alpha_ndcg@5,rr",
        lambda files: rageval.compare(
            rageval.evaluate("alpha_ndcg@5,rr", [files["a"], files["b"]], files["nuggets"])
        ),
    ),
    "Judged": (
        "score {judged} -m crag_score --on-missing skip",
        lambda files: Judged(
            map(json.loads, Path(files["judged"]).read_text().splitlines()), "crag_score", on_missing="skip"
        ),
    ),
    "evaluate, one rule": (
        "score {a} {qrels} -m ndcg@5 --rel 1 --judged-only",
        lambda files: rageval.evaluate("ndcg@5", files["a"], files["qrels"], rel=1, judged_only=True),
    ),
    "compare": (
        "compare {a} {b} {qrels} -m ndcg@5,rr",
        lambda files: rageval.compare("ndcg@5,rr", [files["a"], files["b"]], files["qrels"]),
    ),
    "evaluate_answers": (
        "score {judged} -m crag_score --on-missing skip",
        lambda files: rageval.evaluate_answers("crag_score", files["judged"], on_missing="skip"),
    ),
    "compare answers": (
        "compare {judged} -m crag_score --on-missing skip",
        lambda files: rageval.compare(
            rageval.evaluate_answers("crag_score", files["judged"], on_missing="skip")
        ),
    ),
    "gate": (
        "gate {a} {qrels} -m ndcg@5,rr --baseline {base} --margin 0.1",
        lambda files: rageval.gate(
            files["a"], files["qrels"], "ndcg@5,rr", baseline=files["base"], margin=0.1
        ),
    ),
    "gate answers": (
        "gate {whole} -m crag_score --baseline {answered} --margin 0.1 --system theirs",
        lambda files: rageval.gate(
            files["whole"], None, "crag_score", baseline=files["answered"], margin=0.1, system="theirs"
        ),
    ),
    "compare with gold": (
        "compare {judged} -m crag_score --on-missing skip --gold {gold}",
        lambda files: rageval.compare(
            rageval.evaluate_answers("crag_score", files["judged"], on_missing="skip", gold=files["gold"])
        ),
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_each_remark_of_a_command_is_said_in_python(verb: str, files: dict[str, str]) -> None:
    words, asked = VERBS[verb]
    form = () if verb.startswith("gate") else ("--format", "json")
    result = CliRunner().invoke(main, [*words.format(**files).split(), *form])
    assert result.exit_code in ((0, 5) if verb.startswith("gate") else (0,)), result.stderr
    remarks = [line.removeprefix("rageval: ") for line in result.stderr.splitlines() if line.strip()]
    assert remarks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is warned of is shown, too: warnings are easily overlooked
        value = asked(files)
    shown = " ".join(str(value).split())  # whatever the width of the terminal
    html = unescape(value._repr_html_())
    for remark in remarks:
        assert remark in shown, remark
        assert remark in html, remark
