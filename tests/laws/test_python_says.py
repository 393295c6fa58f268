"""What a command says on standard error, Python says: as a warning, or where the object is shown."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main

QUERIES = [f"q{at}" for at in range(20)]


def trec(path: Path, rows: list[str]) -> str:
    path.write_text("".join(f"{row}\n" for row in rows))
    return str(path)


def jsonl(path: Path, rows: list[dict[str, Any]]) -> str:
    return trec(path, [json.dumps(row) for row in rows])


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Runs and judged answers with everything that is remarked on."""
    found = {}
    for name, lost in (("a", 3), ("b", 0)):
        rows = [f"{q} Q0 d{at} {at} {9 - at // 2} {name}" for q in QUERIES[lost:] for at in range(1, 9)]
        found[name] = trec(tmp_path / f"{name}.run", [*rows, f"other Q0 d1 1 1 {name}"])
    rows = [f"{q} 0 d{at} 1" for q in QUERIES[:-2] for at in (1, 7)] + [
        "q18 0 d5 0",
        "q19 0 x 1",
        "q18 0 y 0",
    ]
    found["qrels"] = trec(tmp_path / "qrels", rows)
    judged: list[dict[str, Any]] = []
    for judge in ("openai:m", "openai:n"):
        for at, query in enumerate(QUERIES):
            for run in ("ours", "theirs"):
                what = {"label": "perfect" if (at + len(run)) % 3 else "incorrect"}
                if at == 4 and run == "ours":
                    what = {"status": "error"}
                judged.append({"query_id": query, "run_id": run, "rubric": "crag", "judge": judge} | what)
    found["judged"] = jsonl(tmp_path / "judged", judged[:-1])
    found["whole"] = jsonl(tmp_path / "whole", judged)
    gold = [
        row | {"judge": "anthropic:big"} for row in judged if "label" in row and row["judge"] == "openai:m"
    ]
    for name, words in (
        ("base", ("{a} {qrels} -m ndcg@5,rr")),
        ("answered", "{whole} -m crag_score --system theirs"),
    ):
        found[name] = str(tmp_path / name)
        saved = CliRunner().invoke(
            main, ["gate", *words.format(**found).split(), "--save-baseline", found[name]]
        )
        assert saved.exit_code == 0, saved.output
    found["gold"] = jsonl(tmp_path / "gold", gold)
    return found


Asked = tuple[str, Callable[[dict[str, str]], Any]]
VERBS: dict[str, Asked] = {
    "evaluate": (
        "score {a} {qrels} -m ndcg@5,rr",
        lambda files: rageval.evaluate("ndcg@5,rr", files["a"], files["qrels"]),
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
    done = CliRunner().invoke(main, [*words.format(**files).split(), *form])
    assert done.exit_code in ((0, 5) if verb.startswith("gate") else (0,)), done.stderr
    remarks = [line.removeprefix("rageval: ") for line in done.stderr.splitlines() if line.strip()]
    assert remarks
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = asked(files)
    objects = list(found.values()) if isinstance(found, dict) else [found]
    shown = "\n".join([*map(str, objects), *(str(each.message) for each in caught)])
    shown = " ".join(shown.split())  # whatever the width of the terminal
    html = "\n".join(each._repr_html_() for each in objects)
    for remark in remarks:
        # A run says of itself what a command says with its name.
        is_of_run = remark.startswith(("a.run: ", "b.run: ", "ours: ", "theirs: "))
        own = remark.partition(": ")[2] if is_of_run else remark
        assert own in shown, remark
        warned = own in "\n".join(str(each.message) for each in caught)
        assert warned or own.partition("'")[0] in html
