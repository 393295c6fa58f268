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
QUICK: dict[str, Any] = {"resamples": 100, "draws": 100}

Printer = Callable[[Comparison], str]
PRINTERS: dict[str, Printer] = {
    "table": lambda comparison: "\n".join(lines_of(comparison, "table")),
    "md": lambda comparison: "\n".join(lines_of(comparison, "md")),
    "csv": lambda comparison: "\n".join(lines_of(comparison, "csv")),
    "tsv": lambda comparison: "\n".join(lines_of(comparison, "tsv")),
    "html": lambda comparison: "\n".join(lines_of(comparison, "html")),
    "json": lambda comparison: "\n".join(lines_of(comparison, "json")),
    "jsonl": lambda comparison: "\n".join(lines_of(comparison, "jsonl")),
    "latex": lambda comparison: "\n".join(latex_of(comparison)),
    "cite": lambda comparison: str(cite(comparison)),
    "text": str,
    "notebook": lambda comparison: comparison._repr_html_(),
}
# A table shows by marks what is significant; these say it in a sentence.
IN_SENTENCES = ("json", "latex", "text", "notebook")


SCORED: dict[int, list[Scores]] = {}  # what a comparison was made of, for the page


def drawn(seed: int) -> Comparison:
    """Return a comparison of made-up values: a few runs, of which some may be far apart."""
    rng = random.Random(seed)
    runs = [f"run{letter}" for letter in "abcde"[: rng.randint(2, 5)]]
    names = rng.sample(["rr", "ndcg@10", "hole@5"], rng.randint(1, 3))
    queries = [f"q{number}" for number in range(rng.choice((6, 15, 30)))]
    results = []
    for run in runs:
        scores = []
        for name in names:
            level, noise = rng.choice((0.2, 0.5, 0.8)), rng.choice((0.01, 0.1, 0.4))
            values = [min(1.0, max(0.0, rng.gauss(level, noise))) for _ in queries]
            scores.append(Score(parse_measure(name), queries, values, 0, f"{name}|v:0"))
        results.append(Scores(run, tuple(scores)))
    how = rng.choice(({}, {"all_pairs": True}, {"baseline": rng.choice(runs)}))
    settings = Settings(test="auto" if seed % 10 == 0 else "t", **how, **QUICK)
    comparison = compare(results, settings)
    SCORED[id(comparison)] = results
    return comparison


@pytest.fixture(scope="module")
def tables() -> list[Comparison]:
    return [drawn(seed) for seed in range(TABLES)]


def claims(comparison: Comparison) -> set[tuple[str, str, str]]:
    """Return (measure, better run, worse run) of each tested pair that may be called so."""
    pairs = [pair for pair in comparison.pairs if pair.better_run]
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


@pytest.mark.slow
@pytest.mark.some(5)
@pytest.mark.parametrize("printer", PRINTERS)
def test_no_sentence_denies_a_tested_pair(printer: str, tables: list[Comparison]) -> None:
    denied = 0
    for comparison in tables:
        text = " ".join(PRINTERS[printer](comparison).replace("\n% ", "\n").split())
        for position in [match.start() for match in DENIAL.finditer(text)]:
            denied += 1
            # The sentence begins behind the last full stop, bar or bracket; it names what it is about.
            sentence = re.split(r"[.;\"]\s", text[:position])[-1] + text[position : position + 40]
            assert len(comparison.runs) == 2 or any(scope in sentence.lower() for scope in SCOPES), sentence
            assert not claims(comparison), sentence
    is_listed = printer in IN_SENTENCES
    where = f"{'remove from' if is_listed else 'add to'} IN_SENTENCES of tests/laws/test_said_is_tested.py"
    assert bool(denied) == is_listed, f"{printer}: {where}"


def test_each_pair_says_how_it_was_tested(tables: list[Comparison]) -> None:
    for comparison in tables:
        measures = {pair.measure for pair in comparison.pairs}
        for pair in comparison.pairs:
            # Two or three values are tested by flipped signs, and more by resamples with them.
            asked = comparison.settings.test
            assert pair.test in ({"t"} if asked == "t" else {"randomization", "studentized"})
            assert ("each measure by itself" in pair.family) == (len(measures) > 1)
            named = comparison.settings.baseline != "best" and len(comparison.runs) > 2
            assert (comparison.settings.baseline in pair.family) == named
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
    queries = [f"q{number}" for number in range(20)]
    results = [
        Scores(
            run, (Score(parse_measure("crag_score"), queries, [value] * 20, 0, "s|v:0", said_by=("zeta",)),)
        )
        for run, value in (("A", 1.0), ("B", 0.0), ("C", 0.5))
    ]
    for settings in (Settings(**QUICK), Settings(all_pairs=True, **QUICK)):
        text = " ".join(PRINTERS[printer](compare(results, settings)).split())
        assert not re.findall(r"\w+by (?:the judge )?zeta", text)


@pytest.mark.slow
@pytest.mark.parametrize("printer", PRINTERS)
def test_several_measures_are_tested_each_by_itself(printer: str, tables: list[Comparison]) -> None:
    for comparison in tables[::5]:
        text = " ".join(PRINTERS[printer](comparison).split())
        if len(comparison.measures) > 1:
            assert "each measure by itself" in text
        else:
            assert "each measure" not in text.replace("run by each measure", "")


def of_latex(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    runs = {letter: run for run, letter in letters_of(comparison).items()}
    rows = [line for line in latex_of(comparison) if re.match(r"[a-z]+ & run", line)]
    for row in rows:
        _, run, *cells = row.removesuffix(r" \\").split(" & ")
        for measure, cell in zip(comparison.measures, cells, strict=True):
            marks = re.search(r"\$\^\{\\mathrm\{([a-z,]+)\}\}\$", cell)
            yield from ((measure, run, runs[letter]) for letter in (marks[1].split(",") if marks else ()))


def of_markdown(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    runs = {letter: run for run, letter in letters_of(comparison).items()}
    table = itertools.dropwhile(lambda line: not line.startswith("|"), lines_of(comparison, "md"))
    lines = itertools.takewhile(str.strip, table)
    for row in [line.replace("\\", "").strip("| ").split(" | ") for line in list(lines)[2:]]:
        for measure, cell in zip(comparison.measures, row[2:], strict=True):
            letters = cell.partition(" > ")[2]
            yield from ((measure, row[1], runs[letter]) for letter in filter(None, letters.split(",")))


def of_page(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    html = page(record_of(comparison))
    for run, cells in re.findall(r'<th scope="row">(run\w)</th>(.*?)</tr>', html, re.S):
        columns = re.findall(r'<td class="number[^>]*>(.*?)</td>', cells, re.S)
        for measure, cell in zip(comparison.measures, columns, strict=False):
            title = re.search(r'title="significantly better than ([\w, ]+?) *"', cell)
            yield from ((measure, run, worse) for worse in (title[1].split(", ") if title else ()))


def record_of(comparison: Comparison) -> dict[str, Any]:
    header = {"title": "t", "provenance": provenance([], [])}
    return header | measured(SCORED[id(comparison)], comparison.settings)


@pytest.mark.some(3)
@pytest.mark.parametrize(("marks", "step"), [(of_latex, 1), (of_markdown, 1), (of_page, 50)])
def test_each_mark_is_a_tested_pair_and_each_claim_has_its_mark(
    marks: Callable[[Comparison], Iterator[tuple[str, str, str]]], step: int, tables: list[Comparison]
) -> None:
    marked = 0
    for comparison in tables[::step]:
        listed = list(marks(comparison))
        marked += len(listed)
        assert set(listed) == claims(comparison)
    assert marked


def test_the_headline_claims_nothing_else(tables: list[Comparison]) -> None:
    for comparison in tables[::50]:
        html = page(record_of(comparison))
        text = " ".join(re.sub(r"<[^>]+>", " ", html[html.index("<body") : html.index("<script")]).split())
        for position in [match.start() for match in DENIAL.finditer(text)]:
            assert not claims(comparison), text[max(0, position - 80) : position + 40]
        if len(comparison.measures) > 1:
            assert "each measure by itself" in text


def test_json_holds_the_list(tables: list[Comparison]) -> None:
    for comparison in tables[::10]:
        for pair in json.loads(PRINTERS["json"](comparison))["pairs"]:
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
