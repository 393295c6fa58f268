"""How labels were drawn is known wherever labels are read: numbers are weighted, refused, or conditional."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from commands import write_jsonl
from every_command import leaves
from rageval.cli import main
from rageval.files.plans import read_plan
from rageval.views.bases import IF_DRAWN

NUMBER, LABELED = 300, 150
SYSTEMS = ("one", "other")
CHECKED = "not checked against people"
_WAYS = ("{}", "It is {}.", "It may be {}x.", "It is something else.", "Never {0} but other", "I don't know.")


def readers() -> set[str]:
    """The commands that read labels: those with an option for them, or a place."""
    names = set()
    for name, command in leaves().items():
        options = {option for param in command.params for option in param.opts}
        takes = [param for param in command.params if getattr(param.type, "what", "") == "labels"]
        if {"--gold", "--fit", "--gold-chosen"} & options or takes:
            names.add(name)
    return names


def output(*words: object, codes: Sequence[int] = (0,)) -> str:
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exit_code in codes, result.output
    assert "No such option" not in result.output, result.output
    return result.output


def right(text: str, query: str) -> bool:
    return f"name{query[1:]} " in f"{text} ".replace(".", " ")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answers of two systems, judged by `short`, a plan by its doubt, and labels drawn in several ways."""
    folder, draw = tmp_path_factory.mktemp("drawn"), random.Random(7)
    queries = [f"q{number}" for number in range(NUMBER)]
    texts = {}
    for query in queries:
        gold = f"name{query[1:]} word{int(query[1:]) % 9}"
        for run in SYSTEMS:
            ways = _WAYS[: 3 if run == "one" else 6]
            texts[query, run] = draw.choice(ways).format(draw.choice([gold, gold.split()[0]]))
    asked = [{"query_id": q, "question": "What is it?", "answer": [f"name{q[1:]} word{int(q[1:]) % 9}"]}
             for q in queries]  # fmt: skip
    answers = [{"query_id": query, "run_id": run, "answer": text} for (query, run), text in texts.items()]
    write_jsonl(folder / "questions.jsonl", asked)
    write_jsonl(folder / "answers.jsonl", answers)
    (folder / "topics").write_text("".join(f"{query}\tWhat is {query}?\n" for query in queries))
    (folder / "tables").mkdir()
    for run in SYSTEMS:
        write_jsonl(folder / "tables" / f"{run}.jsonl", [row for row in answers if row["run_id"] == run])
    judged = folder / "judged.jsonl"
    words = (folder / "answers.jsonl", "--questions", folder / "questions.jsonl", "--judge", "short")
    output("judge", "crag", *words, "--quiet", "-o", judged)
    rows = [json.loads(line) for line in judged.read_text().splitlines()]
    write_jsonl(judged, [{**row, "kind": "ab"[int(row["query_id"][1:]) % 2]} for row in rows])
    for run in SYSTEMS:
        write_jsonl(folder / f"judged-{run}.jsonl", [row for row in rows if row["run_id"] == run])
    plan = folder / "plan.jsonl"
    output("label", "plan", judged, "--by", "doubt", "-n", LABELED, "-o", plan)

    drawn = read_plan(str(plan))
    labels = {(query, run): "perfect" if right(text, query) else "incorrect"
              for (query, run), text in texts.items()}  # fmt: skip
    some = sorted(draw.sample(queries, LABELED))
    ways: dict[str, tuple[Sequence[str], dict[str, str]]] = {
        "some": (some, {"judge": "person:kim"}),
        "rule": (some, {"judge": "contains"}),
        "model": (some, {"judge": "openai:m"}),
        "drawn": (drawn.order, {"judge": "person:kim", "plan": drawn.sha}),
    }
    pairs = {query: tuple(labels[query, run] == "perfect" for run in SYSTEMS) for query in queries}
    for name, (of, more) in ways.items():
        judgements = [{"query_id": q, "run_id": r, "label": labels[q, r], "rubric": "crag", **more}
                for q in of for r in SYSTEMS]  # fmt: skip
        write_jsonl(folder / f"{name}.jsonl", judgements)
        write_jsonl(folder / f"{name}-pairs.jsonl", _games({query: pairs[query] for query in of}, more))
    write_jsonl(folder / "judged-pairs.jsonl", _games(pairs, {"judge": "openai:judge"}, draw))
    (folder / "chances").write_text(
        "".join(f"{query} {0.25 if number < 75 else 0.75}\n" for number, query in enumerate(some))
    )
    return folder


def _games(
    pairs: dict[str, tuple[bool, ...]], more: dict[str, str], draw: random.Random | None = None
) -> list[dict[str, Any]]:
    rows = []
    for query, (one, other) in pairs.items():
        result = "tie" if one == other else "win" if one else "loss"
        if draw is not None and draw.random() < 0.2:
            result = draw.choice(("win", "tie", "loss"))
        turned = {"tie": "tie", "win": "loss", "loss": "win"}[result]
        for run, label in zip(SYSTEMS, (result, turned), strict=True):
            rows.append({"query_id": query, "run_id": run, "aspect": "one|other", "label": label, **more})
    return rows


Reader = Callable[[Path, Path, Sequence[object]], str]


def _scored(*command: str, more: Sequence[object] = ()) -> Reader:
    def reader(world: Path, gold: Path, chosen: Sequence[object]) -> str:
        words = (world / "judged.jsonl", "-m", "crag_score", "--gold", gold, *chosen, *more)
        return output(*command, *words, codes=(0, 2))

    return reader


def _report(world: Path, gold: Path, chosen: Sequence[object]) -> str:
    page = world / "page.html"
    page.unlink(missing_ok=True)
    words = (world / "judged.jsonl", "-m", "crag_score", "--gold", gold, *chosen, "-o", page)
    text = output("report", *words, codes=(0, 2))
    if not page.is_file():
        return text
    judges = page.read_text().partition('id="judges"')[2]
    return text + output("report", "show", page, "--format", "json") + re.sub("<[^>]*>", "", judges)


def _gate(world: Path, gold: Path, chosen: Sequence[object]) -> str:
    base = world / "base.json"
    how = ("-m", "crag_score", "--gold", gold, *chosen)
    base.unlink(missing_ok=True)
    text = output("gate", world / "judged-other.jsonl", *how, "--save-baseline", base, codes=(0, 2))
    if not base.is_file():
        return text
    words = (world / "judged-one.jsonl", *how, "--baseline", base, "--margin", "0.05")
    return output("gate", *words, codes=(0, 1, 2, 5))


def _agree(world: Path, gold: Path, chosen: Sequence[object]) -> str:
    return output("label", "agree", world / "judged.jsonl", gold, *chosen, codes=(0, 2))


def _arena(world: Path, gold: Path, chosen: Sequence[object]) -> str:
    pairs = gold.with_name(f"{gold.stem}-pairs.jsonl")
    return output("arena", world / "judged-pairs.jsonl", "--gold", pairs, *chosen, codes=(0, 2))


def _judge(*how: str) -> Reader:
    def reader(world: Path, gold: Path, chosen: Sequence[object]) -> str:
        files = (world / "answers.jsonl", "--questions", world / "questions.jsonl", "--judge", "short")
        out = world / "again.jsonl"
        out.unlink(missing_ok=True)
        words = ("crag", *files, *how, gold, *chosen, "-o", out)
        text = output("judge", *words, codes=(0, 2, 3))
        if "--then" not in how or not out.is_file():
            return text
        return text + output("compare", out, "-m", "crag_score")

    return reader


def _track(world: Path, gold: Path, chosen: Sequence[object]) -> str:
    out = world / "track"
    words = ("track", world / "tables", "--track", "answers", "--judgements", world / "judged.jsonl")
    how = ("-m", "crag_score", "--topics", world / "topics", "--gold", gold, *chosen, "--stage", "score")
    return output(*words, *how, "-o", out, codes=(0, 2))


def _board(world: Path, gold: Path, chosen: Sequence[object]) -> str:
    bundle, site = world / "board.tar.gz", world / "site"
    bundle.unlink(missing_ok=True)
    how = ("-m", "crag_score", "--gold", gold, *chosen)
    text = output("board", "bundle", world / "judged.jsonl", *how, "-o", bundle, codes=(0, 2))
    if not bundle.is_file():
        return text
    output("board", "publish", bundle, "-o", site)
    return text + "".join(path.read_text() for path in sorted(site.glob("*.html")))


READERS: dict[str, Reader] = {
    "compare": _scored("compare"),
    "compare, LaTeX": _scored("compare", more=("--format", "latex")),
    "compare, JSON": _scored("compare", more=("--format", "json")),
    "score": _scored("score", more=("--by", "kind")),
    "label correct": _scored("label", "correct"),
    "report": _report,
    "gate": _gate,
    "arena": _arena,
    "label agree": _agree,
    "judge, a bound": _judge("--keep-error", "0.3", "--gold"),
    "judge, a cascade": _judge("--then", "contains", "--keep-error", "0.3", "--gold"),
    "judge, a fit": _judge("--fit"),
    "track": _track,
    "board bundle": _board,
}


def test_every_reader_of_labels_is_tried_and_can_be_told_of_the_draw() -> None:
    assert {name.partition(",")[0] for name in READERS} == readers()
    for name in readers():
        assert "--gold-chosen" in {option for param in leaves()[name].params for option in param.opts}


def plain(text: str) -> str:
    return " ".join(text.replace("\\n", " ").split())


@pytest.mark.slow
@pytest.mark.some(6)
@pytest.mark.parametrize("name", READERS)
def test_a_draw_that_nobody_states_is_a_condition(name: str, world: Path) -> None:
    assert IF_DRAWN in plain(READERS[name](world, world / "some.jsonl", ()))
    assert IF_DRAWN not in plain(READERS[name](world, world / "some.jsonl", ("--gold-chosen", "uniform")))


@pytest.mark.slow
@pytest.mark.some(6)
@pytest.mark.parametrize("name", READERS)
def test_labels_of_a_plan_count_by_their_chances_or_not_at_all(name: str, world: Path) -> None:
    gold = world / "drawn.jsonl"
    assert "is a label of the plan" in plain(READERS[name](world, gold, ()))
    by_plan = READERS[name](world, gold, ("--gold-chosen", world / "plan.jsonl"))
    assert by_plan != READERS[name](world, gold, ("--gold-chosen", "uniform"))
    assert IF_DRAWN not in plain(by_plan)


def test_the_headline_of_a_gate_has_the_condition(world: Path) -> None:
    text = READERS["gate"](world, world / "some.jsonl", ())
    (headline,) = (line for line in text.splitlines() if ": one against " in line)
    assert headline.endswith(f", {IF_DRAWN}")


@pytest.mark.slow
@pytest.mark.some(6)
@pytest.mark.parametrize("name", READERS)
def test_chances_that_are_stated_count(name: str, world: Path) -> None:
    chances = ("--gold-chosen", world / "chances")
    by_chances, alike = (
        READERS[name](world, world / "some.jsonl", how) for how in (chances, ("--gold-chosen", "uniform"))
    )
    assert by_chances != alike
    assert IF_DRAWN not in plain(by_chances)


@pytest.mark.slow
@pytest.mark.some(6)
@pytest.mark.parametrize("who", ["rule", "model"])
@pytest.mark.parametrize("name", READERS)
def test_labels_of_no_people_are_no_check_by_people(name: str, who: str, world: Path) -> None:
    text = plain(READERS[name](world, world / f"{who}.jsonl", ("--gold-chosen", "uniform")))
    assert {"rule": "contains", "model": "openai:m"}[who] in text
    if name.startswith("judge"):
        assert CHECKED in text


# A gate's baseline is labeled one day and read another: its labels keep how they were drawn.
WAYS: dict[str, tuple[str, str]] = {
    "none": ("", ""),
    "unstated": ("some", ""),
    "uniform": ("some", "uniform"),
    "plan": ("drawn", "plan.jsonl"),
    "chances": ("some", "chances"),
}


def labeled(world: Path, way: str) -> list[object]:
    gold, chosen = WAYS[way]
    words: list[object] = ["-m", "crag_score"]
    words += ["--gold", world / f"{gold}.jsonl"] if gold else []
    path = world / chosen
    return words + (["--gold-chosen", path if path.is_file() else chosen] if chosen else [])


@pytest.fixture(scope="module")
def baselines(world: Path) -> dict[str, Path]:
    saved = {way: world / f"{way}.baseline" for way in WAYS}
    for way, path in saved.items():
        output("gate", world / "judged-other.jsonl", *labeled(world, way), "--save-baseline", path)
    return saved


def mean_of_baseline(world: Path, way: str) -> float:
    """The mean of the baseline's system, as the scores say it."""
    words = (world / "judged-other.jsonl", *labeled(world, way), "--by", "rubric", "--format", "json")
    result = CliRunner().invoke(main, ["score", *map(str, words)])
    assert result.exit_code == 0, result.output
    (record,) = json.loads(result.stdout)["results"]
    return float(record["value"])


def say_the_same(one: str, other: str) -> bool:
    return one == other or {one, other} == {"unstated", "uniform"}


@pytest.mark.slow
@pytest.mark.some(8)
@pytest.mark.parametrize("option", ["--baseline", "--anchor"])
@pytest.mark.parametrize("after", WAYS)
@pytest.mark.parametrize("before", WAYS)
def test_a_baseline_keeps_how_its_labels_were_drawn(
    before: str, after: str, option: str, world: Path, baselines: dict[str, Path]
) -> None:
    """Its mean is what its own draw makes of it; a difference of labels that were drawn otherwise is none."""
    against: list[object] = [option, baselines[before]]
    against += ["--baseline", baselines[after]] if option == "--anchor" else []
    shown = world / "gate.json"
    words = (
        world / "judged-one.jsonl",
        *labeled(world, after),
        *against,
        "--margin",
        "0.05",
        "--json",
        shown,
    )
    if not say_the_same(before, after):
        text = plain(output("gate", *words, codes=(2,)))
        assert "labels" in text
        assert "--gold" in text
        return
    output("gate", *words, codes=(0, 1, 5))
    printed_json = json.loads(shown.read_text())
    assert printed_json["decisions"][-1]["baseline"] == pytest.approx(
        mean_of_baseline(world, before), abs=1e-12
    )
    is_conditional = IF_DRAWN in plain(output("gate", *words, codes=(0, 1, 5)))
    assert is_conditional == ("unstated" in (before, after))


def test_an_older_baseline_states_no_draw(world: Path, baselines: dict[str, Path]) -> None:
    old = world / "old.baseline"
    for way in ("uniform", "plan"):
        head, *rest = baselines[way].read_text().splitlines()
        fields = json.loads(head)
        assert fields.pop("draw")["how"] == way
        write_jsonl(old, [fields, *map(json.loads, rest)])
        words = (world / "judged-one.jsonl", *labeled(world, way), "--baseline", old, "--margin", "0.05")
        text = plain(output("gate", *words, codes=(0, 1, 2, 5)))
        expected = "drawn in a way that nobody stated" if way == "plan" else IF_DRAWN
        assert expected in text
