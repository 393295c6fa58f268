"""What is said of a comparison is what was tested: in every format, of the pairs that it names."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import click
import hypothesis
import pytest

from declared import require_same
from rageval.cli import main
from rageval.comparison import Comparison, Settings, compare
from rageval.comparison.citations import cite
from rageval.measures.parsing import parse_measure
from rageval.pages.page import page
from rageval.pages.report import measured, provenance
from rageval.scoring.scores import Score, Scores
from rageval.views.comparisons import latex_of, letters_of, lines_of

TABLES = 500 if hypothesis.settings().max_examples >= 40 else 120  # fewer in README's circle
DENIAL = re.compile(r"no difference is significant", re.I)
SCOPES = ("all pairs of runs are compared", "only pairs with")
QUICK: dict[str, Any] = {"resamples": 100, "draws": 100, "interval": "percentile"}

Printer = Callable[[Comparison], str]
PRINTERS: dict[str, Printer] = {
    "table": lambda found: "\n".join(lines_of(found, "table")),
    "md": lambda found: "\n".join(lines_of(found, "md")),
    "csv": lambda found: "\n".join(lines_of(found, "csv")),
    "tsv": lambda found: "\n".join(lines_of(found, "tsv")),
    "html": lambda found: "\n".join(lines_of(found, "html")),
    "json": lambda found: "\n".join(lines_of(found, "json")),
    "jsonl": lambda found: "\n".join(lines_of(found, "jsonl")),
    "latex": lambda found: "\n".join(latex_of(found)),
    "cite": lambda found: str(cite(found)),
    "text": str,
    "notebook": lambda found: found._repr_html_(),
}


SCORED: dict[int, list[Scores]] = {}  # what a comparison was made of, for the page


def drawn(seed: int) -> Comparison:
    """Return a comparison of made-up values: a few runs, of which some may be far apart."""
    rng = random.Random(seed)
    runs = [f"run{letter}" for letter in "abcde"[: rng.randint(2, 5)]]
    names = rng.sample(["rr", "ndcg@10", "hole@5"], rng.randint(1, 3))
    queries = [f"q{at}" for at in range(rng.choice((6, 15, 30)))]
    results = []
    for run in runs:
        scores = []
        for name in names:
            level, noise = rng.choice((0.2, 0.5, 0.8)), rng.choice((0.01, 0.1, 0.4))
            values = [min(1.0, max(0.0, rng.gauss(level, noise))) for _ in queries]
            scores.append(Score(parse_measure(name), queries, values, 0, f"{name}|v:0"))
        results.append(Scores(run, tuple(scores)))
    how = rng.choice(({}, {"all_pairs": True}, {"baseline": rng.choice(runs)}))
    settings = Settings(test="randomization" if seed % 10 == 0 else "t", **how, **QUICK)
    found = compare(results, settings)
    SCORED[id(found)] = results
    return found


@pytest.fixture(scope="module")
def tables() -> list[Comparison]:
    return [drawn(seed) for seed in range(TABLES)]


def claims(found: Comparison) -> set[tuple[str, str, str]]:
    """Return (measure, better run, worse run) of each tested pair that may be called so."""
    pairs = [pair for pair in found.pairs if pair.better_run]
    return {
        (pair.measure, pair.better_run, pair.other if pair.better_run == pair.run else pair.run)
        for pair in pairs
        if pair.better_run
    }


def test_every_format_is_tried() -> None:
    command = main.get_command(click.Context(main), "compare")
    assert command is not None
    (style,) = (param for param in command.params if param.name == "style")
    assert isinstance(style.type, click.Choice)
    choices = set(style.type.choices)
    require_same(choices & PRINTERS.keys(), choices, "PRINTERS of this file, with what prints it")


@pytest.mark.some(5)
@pytest.mark.parametrize("printer", PRINTERS)
def test_no_sentence_denies_a_tested_pair(printer: str, tables: list[Comparison]) -> None:
    denied = 0
    for found in tables:
        text = " ".join(PRINTERS[printer](found).replace("\n% ", "\n").split())
        for at in [match.start() for match in DENIAL.finditer(text)]:
            denied += 1
            # The sentence begins behind the last full stop, bar or bracket; it names what it is about.
            sentence = re.split(r"[.;\"]\s", text[:at])[-1] + text[at : at + 40]
            assert len(found.runs) == 2 or any(scope in sentence.lower() for scope in SCOPES), sentence
            assert not claims(found), sentence
    assert denied or printer in ("csv", "tsv", "jsonl", "cite", "table", "md", "html")


def test_each_pair_says_how_it_was_tested(tables: list[Comparison]) -> None:
    for found in tables:
        measures = {pair.measure for pair in found.pairs}
        for pair in found.pairs:
            assert pair.test == found.settings.test
            assert ("each measure by itself" in pair.family) == (len(measures) > 1)
            named = found.settings.baseline != "best" and len(found.runs) > 2
            assert (found.settings.baseline in pair.family) == named
            includes_0 = pair.low <= 0 <= pair.high
            if pair.is_significant:
                assert pair.adjusted <= 0.05
                assert not includes_0
            if pair.ruling == "undecided":
                assert pair.adjusted > 0.05 or includes_0


@pytest.mark.some(3)
@pytest.mark.parametrize("printer", PRINTERS)
def test_the_name_of_the_judge_stands_apart(printer: str) -> None:
    """No format writes "worse than aby JUDGE"."""
    queries = [f"q{at}" for at in range(20)]
    results = [
        Scores(
            run, (Score(parse_measure("crag_score"), queries, [value] * 20, 0, "s|v:0", said_by=("zeta",)),)
        )
        for run, value in (("A", 1.0), ("B", 0.0), ("C", 0.5))
    ]
    for settings in (Settings(**QUICK), Settings(all_pairs=True, **QUICK)):
        text = " ".join(PRINTERS[printer](compare(results, settings)).split())
        assert not re.findall(r"\w+by (?:the judge )?zeta", text)


@pytest.mark.parametrize("printer", PRINTERS)
def test_several_measures_are_tested_each_by_itself(printer: str, tables: list[Comparison]) -> None:
    for found in tables[::5]:
        text = " ".join(PRINTERS[printer](found).split())
        if len(found.measures) > 1:
            assert "each measure by itself" in text
        else:
            assert "each measure" not in text.replace("run by each measure", "")


def of_latex(found: Comparison) -> Iterator[tuple[str, str, str]]:
    runs = {letter: run for run, letter in letters_of(found).items()}
    rows = [line for line in latex_of(found) if re.match(r"[a-z]+ & run", line)]
    for row in rows:
        _, run, *cells = row.removesuffix(r" \\").split(" & ")
        for measure, cell in zip(found.measures, cells, strict=True):
            marks = re.search(r"\$\^\{\\mathrm\{([a-z,]+)\}\}\$", cell)
            yield from ((measure, run, runs[letter]) for letter in (marks[1].split(",") if marks else ()))


def of_markdown(found: Comparison) -> Iterator[tuple[str, str, str]]:
    runs = {letter: run for run, letter in letters_of(found).items()}
    lines = itertools.takewhile(str.strip, lines_of(found, "md"))
    for row in [line.replace("\\", "").strip("| ").split(" | ") for line in list(lines)[2:]]:
        for measure, cell in zip(found.measures, row[2:], strict=True):
            letters = cell.partition(" > ")[2]
            yield from ((measure, row[1], runs[letter]) for letter in filter(None, letters.split(",")))


def of_page(found: Comparison) -> Iterator[tuple[str, str, str]]:
    html = page(record_of(found))
    for run, cells in re.findall(r'<th scope="row">(run\w)</th>(.*?)</tr>', html, re.S):
        columns = re.findall(r'<td class="number[^>]*>(.*?)</td>', cells, re.S)
        for measure, cell in zip(found.measures, columns, strict=False):
            title = re.search(r'title="significantly better than ([\w, ]+?) *"', cell)
            yield from ((measure, run, worse) for worse in (title[1].split(", ") if title else ()))


def record_of(found: Comparison) -> dict[str, Any]:
    made = {"title": "t", "provenance": provenance([], [])}
    return made | measured(SCORED[id(found)], found.settings)


@pytest.mark.some(3)
@pytest.mark.parametrize(("marks", "step"), [(of_latex, 1), (of_markdown, 1), (of_page, 50)])
def test_each_mark_is_a_tested_pair_and_each_claim_has_its_mark(
    marks: Callable[[Comparison], Iterator[tuple[str, str, str]]], step: int, tables: list[Comparison]
) -> None:
    marked = 0
    for found in tables[::step]:
        listed = list(marks(found))
        marked += len(listed)
        assert set(listed) == claims(found)
    assert marked


def test_the_headline_claims_nothing_else(tables: list[Comparison]) -> None:
    for found in tables[::50]:
        html = page(record_of(found))
        text = " ".join(re.sub(r"<[^>]+>", " ", html[html.index("<body") : html.index("<script")]).split())
        for at in [match.start() for match in DENIAL.finditer(text)]:
            assert not claims(found), text[max(0, at - 80) : at + 40]
        if len(found.measures) > 1:
            assert "each measure by itself" in text


def test_json_holds_the_list(tables: list[Comparison]) -> None:
    for found in tables[::10]:
        for pair in json.loads(PRINTERS["json"](found))["pairs"]:
            assert {
                "run",
                "other",
                "measure",
                "test",
                "family",
                "p",
                "adjusted",
                "ruling",
                "reasons",
            } <= pair.keys()
