"""A limit is held against what may be claimed of a mean, by every command that takes one.

Without labels that is the judge's mean. Where human labels correct the judge it is the corrected mean, and no
command shows the judge's but as that of the judge. The judge is wrong in most of what it calls right, so that
its mean and the corrected one lie on two sides of the limit.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result

import rageval
from commands import run_command, write_jsonl
from rageval.cli import main
from rageval.comparison import cite
from rageval.comparison.estimates import estimate_mean, estimate_value
from rageval.comparison.leaderboards import standings
from rageval.views.plots import figure_of_comparison
from rageval.views.scores import SLICE_FORMATS
from reasons import why

QUERIES, LABELED, LIMIT = 120, 60, 0.7
MEASURE, POOLED = "accuracy", "crag_share(over=pool)"
# Options of the section of gates that let pass or stop by a mean or a difference, and those that do not.
LIMITS = {"--require", "--fail-under", "--margin", "--slice-margin", "--anchor-margin"}
OTHERS = {
    *("--save-baseline", "--anchor", "--block", "--judge-changed", "--inconclusive", "--first-run"),
    *("--system", "--aa", "--policy", "--show-policy"),
}


def labels_of(run: str, whose: str) -> Iterator[dict[str, Any]]:
    """Yield a judge's or a person's labels of a system; the judge is wrong in most of what it praises in new.

    The judge gives both the same mean, of other answers.
    """
    for number in range(QUERIES if whose == "judge" else LABELED):
        is_right = number % 5 != (4 if run == "new" else 3)
        if whose == "person":
            is_right = is_right and (number % 3 == 0 if run == "new" else number % 7 != 0)
        label = "perfect" if is_right else "missing"
        judge = "openai:m" if whose == "judge" else "person:ann"
        place = {"query_id": f"q{number:03}", "run_id": run, "domain": "ab"[number % 2]}
        yield {**place, "rubric": "crag", "label": label, "judge": judge}


def gold_of(name: str) -> list[str]:
    return ["--gold", name, "--gold-chosen", "uniform"] if name else []


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make judgements, labels of all or of few queries, and baselines with and without labels."""
    monkeypatch.chdir(tmp_path)
    for system in ("old", "new"):
        write_jsonl(system, labels_of(system, "judge"))
    write_jsonl("gold", [*labels_of("old", "person"), *labels_of("new", "person")])
    write_jsonl("gold-of-new", labels_of("new", "person"))
    write_jsonl("few-of-new", list(labels_of("new", "person"))[:12])
    write_jsonl("few", [*list(labels_of("old", "person"))[:12], *list(labels_of("new", "person"))[:12]])
    for system in ("old", "new"):
        for gold in ("", "gold", "few"):
            words = ["gate", system, "-m", MEASURE, *gold_of(gold), "--save-baseline", f"{system}{gold}.base"]
            assert run_command(*words).exit_code == 0


def scored(*limit: str, by: bool = True) -> Callable[[str], Result]:
    slices = ["--by", "domain"] * by
    return lambda gold: run_command("score", "new", "-m", MEASURE, *slices, *gold_of(gold), *limit)


def gated(before: str, *limit: str, by: bool = False) -> Callable[[str], Result]:
    slices = ["--by", "domain"] * by
    return lambda gold: run_command(
        *("gate", "new", "-m", MEASURE, *gold_of(gold), "--baseline", f"{before}{gold}.base", *slices, *limit)
    )


def anchored(gold: str) -> Result:
    return gated("new", "--margin", "0.3", "--anchor", f"old{gold}.base", "--anchor-margin", "0.3")(gold)


COMMANDS: dict[str, Callable[[str], Result]] = {
    "score --require": scored("--require", f"{MEASURE}>={LIMIT}"),
    "score --fail-under": scored("--fail-under", f"{MEASURE}={LIMIT}"),
    "score --require without --by": scored("--require", f"{MEASURE}>={LIMIT}", by=False),
    "score --fail-under without --by": scored("--fail-under", f"{MEASURE}={LIMIT}", by=False),
    "gate --fail-under": gated("new", "--margin", "0.3", "--fail-under", f"{MEASURE}={LIMIT}"),
    "gate --margin": gated("old", "--margin", "0.3"),
    "gate --slice-margin": gated("old", "--margin", "0.5", "--slice-margin", "0.2", by=True),
    "gate --anchor-margin": anchored,
}


def commands(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name, command
        return
    with click.Context(command) as context:
        for other in command.list_commands(context):
            member = command.get_command(context, other)
            assert member is not None
            yield from commands(member, f"{name} {other}".strip())


def test_every_limit_of_a_command_has_a_line_here() -> None:
    limits = set()
    for name, command in commands(main):
        for option in command.params:
            names = set(option.opts) & LIMITS
            is_gate = getattr(option, "section", "") == "Gates"
            assert names or not is_gate or set(option.opts) & OTHERS, f"{name}: {option.opts}: a limit?"
            limits |= {f"{name} {name_there}" for name_there in names}
    assert limits == {command.removesuffix(" without --by") for command in COMMANDS}


def test_every_function_that_takes_a_limit_is_known() -> None:
    names = {option[2:].replace("-", "_") for option in LIMITS}
    functions = {name: getattr(rageval, name) for name in rageval.__all__}
    taking = {
        name
        for name, function in functions.items()
        if inspect.isfunction(function) and names & inspect.signature(function).parameters.keys()
    }
    assert taking == {"gate"}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_limit_is_held_against_the_corrected_mean(command: str) -> None:
    """The judge alone passes; labels stop it, and what is printed is the number that was held."""
    assert COMMANDS[command]("").exit_code == 0
    result = COMMANDS[command]("gold")
    assert result.exit_code == 1, result.output
    # The judge's mean stands in a column or field of its own alone.
    assert not re.search(r"(?<!judge=)0\.80", result.output), result.output
    assert not re.search("(with |labels, )--gold", result.output), result.output


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_too_few_labels_meet_no_limit(command: str) -> None:
    result = COMMANDS[command]("few")
    assert result.exit_code in (1, 5), result.output
    # A slice of few labels only informs.
    assert re.search(r"labels for \d+ of (it|both) \(≥ 20 needed\)", result.output)
    assert not re.search(r"(?<!judge=)0\.80", result.output), result.output


def corrected() -> float:
    """The mean that `label correct` prints of the system new."""
    result = run_command("label", "correct", "new", *gold_of("gold"), "-m", MEASURE, "--format", "json")
    (row,) = (row for row in json.loads(result.stdout)["results"] if row["run"] == "new")
    assert row["judge"] == pytest.approx(0.8)
    assert row["value"] < 0.4
    return float(row["value"])


@pytest.mark.slow
@pytest.mark.parametrize("style", ["json", "jsonl", "csv"])
def test_score_prints_the_mean_that_meets_the_limit(style: str) -> None:
    words = ["score", "new", "-m", MEASURE, *gold_of("gold"), "--require", f"{MEASURE}>=0.1"]
    result = run_command(*words, "--places", "17", "--format", style)
    assert result.exit_code == 0, result.output
    assert str(corrected())[:12] in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--by", "domain"], [*gold_of("gold"), "--require", f"{MEASURE}>=0.1"]])
def test_a_format_without_slices_is_refused(words: list[str]) -> None:
    (option,) = (option for option in dict(commands(main))["score"].params if option.name == "style")
    assert isinstance(option.type, click.Choice)
    for style in option.type.choices:
        result = run_command("score", "new", "-m", MEASURE, *words, "--format", style)
        is_refused = style not in SLICE_FORMATS and (style != "cite" or "--by" in words)
        assert result.exit_code == (2 if is_refused else 0), (style, result.output)
        assert not is_refused or f"--format {style}" in result.stderr or style == "cite"


@pytest.mark.slow
def test_every_command_has_the_corrected_mean() -> None:
    """Commands, Python, leaderboards, figures and pages: one number."""
    expected = pytest.approx(corrected(), abs=1e-12)
    gold = {"gold": "gold-of-new", "gold_chosen": "uniform"}
    results = rageval.evaluate_answers(MEASURE, "new", **gold)["new"]
    assert estimate_mean(results[MEASURE]).value == expected
    assert estimate_value(results[MEASURE]).value == expected
    assert [row.value for row in standings([results])] == [expected]
    (axis,) = results.plot().axes
    assert [line.get_xdata()[0] for line in axis.lines[:1]] == [expected]
    assert "by human labels" in axis.get_title()
    result = run_command(
        "score", "new", "-m", MEASURE, "--by", "domain", *gold_of("gold-of-new"), "--format", "json"
    )
    (record,) = json.loads(result.stdout)["results"]
    assert (record["value"], record["judged"], record["basis"]) == (expected, pytest.approx(0.8), "people")
    baseline = ("--save-baseline", "base")
    run_command("gate", "new", "-m", MEASURE, *gold_of("gold-of-new"), *baseline)
    words = ("--baseline", "base", "--margin", "0.3", "--json", "gate.json")
    run_command("gate", "new", "-m", MEASURE, *gold_of("gold-of-new"), *words)
    (decision,) = json.loads(Path("gate.json").read_text())["decisions"]
    assert (decision["baseline"], decision["candidate"]) == (expected, expected)
    report = rageval.gate("new", None, MEASURE, baseline="base", margin=0.3,
                          fail_under={MEASURE: LIMIT}, **gold)  # fmt: skip
    assert report.verdict == "block"
    assert f"is {corrected():.4f} by human labels" in str(report.floors[0])


def test_a_text_for_a_paper_names_who_decides() -> None:
    results = rageval.evaluate_answers(MEASURE, "new", gold="gold-of-new", gold_chosen="uniform")["new"]
    citation = cite(results)
    assert "corrected by human labels of 60 queries" in citation.text
    assert "All values are by" not in citation.text
    assert "|labels:60|chosen:uniform|" in citation.signatures[0]
    assert any("angelopoulos2023ppi" in entry for entry in citation.bibtex)
    few = cite(rageval.evaluate_answers(MEASURE, "new", gold="few-of-new", gold_chosen="uniform")["new"])
    assert "no mean of 1 run is reported" in few.text


@pytest.mark.slow
def test_a_report_of_one_system_says_so_too() -> None:
    result = run_command("report", "new", "-m", MEASURE, *gold_of("gold-of-new"), "-o", "report.html")
    assert result.exit_code == 0, result.output
    page = Path("report.html").read_text()
    assert "corrected by human labels of 60 queries" in page
    assert "are by openai:m, an automatic judge" not in page


def test_labels_say_nothing_of_a_mean_over_groups() -> None:
    score = rageval.evaluate_answers(MEASURE, "new", gold="gold-of-new", gold_chosen="uniform")["new"][
        MEASURE
    ]
    grouped = replace(score, groups={query: "ab"[int(query[1:]) % 2] for query in score.query_ids})
    estimate = estimate_value(grouped)
    assert not estimate.is_defined
    assert "over groups" in why(estimate)


@pytest.mark.slow
@pytest.mark.parametrize("labels", ["person", "openai:large"])
def test_limits_of_runs_are_held_against_the_corrected_mean(labels: str) -> None:
    """Plain judgements of documents name no judge; labels correct them all the same."""
    names = [f"q{number:03}" for number in range(QUERIES)]
    Path("run").write_text("".join(f"{query} Q0 d 1 1 run\n" for query in names))
    judged = (f"{query} 0 d {int(number % 5 != 4)}\n{query} 0 e 1\n" for number, query in enumerate(names))
    Path("qrels").write_text("".join(judged))
    Path("groups").write_text("".join(f"{query} {'ab'[number % 2]}\n" for number, query in enumerate(names)))
    write_jsonl(
        "documents",
        (
            {"query_id": query, "run_id": "documents", "item_id": doc, "judge": labels, "grade": grade}
            for number, query in enumerate(names[:LABELED])
            for doc, grade in (("d", int(number % 5 != 4 and number % 3 == 0)), ("e", 1))
        ),
    )
    words = ["run", "qrels", "-m", "success@1"]
    plain = run_command("score", *words, "--by", "groups", "--require", "success@1>=0.7")
    assert plain.exit_code == 0
    labeled = [*words, *gold_of("documents")]
    run_command("gate", *labeled, "--save-baseline", "base")
    for result in (
        run_command("score", *labeled, "--by", "groups", "--require", "success@1>=0.7"),
        run_command(
            "gate", *labeled, "--baseline", "base", "--margin", "0.3", "--fail-under", "success@1=0.7"
        ),
    ):
        assert result.exit_code == 1, result.output
        assert "success@1 is 0.2667 by" in result.output
        assert "corrected from an unnamed judge" in result.output
        assert not re.search(r"(?<!judge=)0\.80", result.output), result.output
        assert not re.search("(with |labels, )--gold", result.output), result.output


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["score", "new", "--by", "domain", "--require", f"{POOLED}>=0"],
        ["report", "new", "-o", "report.html"],
        ["compare", "both"],
    ],
)
def test_who_passed_labels_is_not_told_to_pass_labels(words: list[str]) -> None:
    """Also of a measure that no labels correct."""
    write_jsonl("both", [*labels_of("old", "judge"), *labels_of("new", "judge")])
    measures = MEASURE if words[0] == "compare" else f"{MEASURE},{POOLED}"
    result = run_command(*words, "-m", measures, *gold_of("gold"))
    page = Path("report.html").read_text() if words[0] == "report" else ""
    assert result.exit_code == 0, result.output
    assert "with --gold" not in result.output + page


def values_with_bounds(record: Any) -> Iterator[tuple[float, tuple[float, float]]]:
    """Yield each value of a record that has bounds beside it, whatever the record is in."""
    if isinstance(record, Mapping):
        bounds = record.get("bounds")
        value = record.get("value")
        if bounds and value is not None:
            yield value, tuple(bounds)
        record = list(record.values())
    for part in record if isinstance(record, list) else ():
        yield from values_with_bounds(part)


def remarks_in(record: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(record, Mapping):
        if {"code", "facts"} <= record.keys():
            yield record
        record = list(record.values())
    for part in record if isinstance(record, list) else ():
        yield from remarks_in(part)


SHOWN_AS_JSON: dict[str, Callable[[list[str]], Result]] = {
    "score": lambda how: run_command(
        *how, "--on-missing", "skip", "--bounds", "--by", "domain", "--format", "json"
    ),
    "compare": lambda how: run_command(*how, "--on-missing", "skip", "--format", "json"),
    "report": lambda how: run_command(*how, "--on-missing", "skip", "-o", "report.html"),
    "label correct": lambda how: run_command(*how, "--on-missing", "skip", "--format", "json"),
    "gate": lambda how: run_command(
        *how, "--baseline", "lost.base", "--margin", "0.3", "--json", "lost.json"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", SHOWN_AS_JSON)
def test_no_value_lies_outside_of_its_own_bounds(verb: str) -> None:
    """Where the judge failed at some answers, its bounds are its mean's alone, and are said to be."""
    lost = {f"q{number:03}" for number in range(3, QUERIES, 60)}
    for system in ("old", "new"):
        rows = (
            {**row, "label": None, "status": "error"} if row["query_id"] in lost else row
            for row in labels_of(system, "judge")
        )
        write_jsonl(f"lost-{system}", rows)
    Path("lost").write_text("".join(Path(f"lost-{system}").read_text() for system in ("old", "new")))
    measured = ["-m", MEASURE, *gold_of("gold")]
    saved = run_command("gate", "lost-old", *measured, "--save-baseline", "lost.base")
    assert saved.exit_code == 0, saved.output
    name = "lost-new" if verb == "gate" else "lost"
    result = SHOWN_AS_JSON[verb]([*verb.split(), name, *measured])
    assert result.exit_code in (0, 1, 5), result.output
    if verb == "report":
        shown = run_command("report", "show", "report.html", "--format", "json").stdout
    else:
        shown = Path("lost.json").read_text() if verb == "gate" else result.stdout
    record = json.loads(shown)
    for value, (low, high) in values_with_bounds(record):
        assert low <= value <= high
    assert "missing_judgements" not in {remark["code"] for remark in remarks_in(record)}
    text = " ".join(result.output.split())
    assert "judgements are missing (" not in text
    assert re.search("of the judge's judgements are missing; with them its mean lies between", text)


def single_values_of_gate() -> str:
    words = ["gate", "new", "-m", MEASURE, *gold_of("gold"), "--baseline", "oldgold.base", "--margin", "0.3"]
    run_command(*words, "--md", "gate.md", "--json", "gate.json")
    fell = json.loads(Path("gate.json").read_text())["fell"]
    assert fell
    assert {decision["basis"] for decision in fell} == {"judge:openai:m"}
    return Path("gate.md").read_text().partition("Largest losses")[2]


def single_values_of_figure() -> str:
    write_jsonl("both", [*labels_of("old", "judge"), *labels_of("new", "judge")])
    result = run_command("compare", "both", "-m", MEASURE, *gold_of("gold"), "--plot", "figure.svg")
    assert result.exit_code == 0, result.output
    results = rageval.evaluate_answers(MEASURE, "both", gold="gold", gold_chosen="uniform")
    *_, below = figure_of_comparison(rageval.compare(results), list(results.values())).axes
    return below.get_title().replace("\n", " ")


def single_values_of_report() -> str:
    assert run_command("report", "new", "-m", MEASURE, *gold_of("gold"), "-o", "report.html").exit_code == 0
    shown = json.loads(run_command("report", "show", "report.html", "--format", "json").stdout)
    assert {basis for of in shown["queries"]["basis"].values() for basis in of.values()} == {"judge:openai:m"}
    return Path("report.html").read_text().partition('id="whose-values"')[2].partition("</p>")[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "view",
    [single_values_of_gate, single_values_of_figure, single_values_of_report],
)
def test_values_of_single_queries_say_whose_they_are(view: Callable[[], str]) -> None:
    """Labels correct means alone: the values of single queries beside them are the judge's."""
    assert "alues of single queries are by openai:m, uncorrected" in view()


def test_files_of_single_values_say_whose_they_are() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    words = ["score", "new", "-m", MEASURE, "--by", "domain", *gold_of("gold")]
    assert run_command(*words, "--values", "v.parquet").exit_code == 0
    assert set(parquet.read_table("v.parquet")["basis"].to_pylist()) == {"judge:openai:m"}
    refused = run_command(*words, "-q")
    assert refused.exit_code == 2
    assert "the judge's values of each query" in refused.output


@pytest.mark.slow
@pytest.mark.parametrize("gold", ["gold-of-new", "gold", ""])
def test_a_rank_is_among_runs_with_values(gold: str) -> None:
    """With labels of one system alone, the other has no value, and nothing is first or last."""
    write_jsonl("both", [*labels_of("old", "judge"), *labels_of("new", "judge")])
    labels = {"gold": gold, "gold_chosen": "uniform"} if gold else {}
    rows = standings(list(rageval.evaluate_answers(MEASURE, "both", **labels).values()))
    valued = [row for row in rows if row.value == row.value]
    assert len(valued) == (1 if gold == "gold-of-new" else 2)
    for row in valued:
        assert (row.rank is None) == (len(valued) == 1)
        assert ("no rank" in row.why) == (len(valued) == 1)


SHOWN_TO_READERS: dict[str, list[str]] = {
    **{f"score {style}": ["score", "both", "--by", "domain", "--format", style]
       for style in ("trec", "table", "md", "html", "latex")},
    **{f"compare {style}": ["compare", "both", "--format", style]
       for style in ("table", "md", "html", "latex", "cite")},
    "gate": ["gate", "new", "--baseline", "oldfew.base", "--margin", "0.3"],
    "gate md": ["gate", "new", "--baseline", "oldfew.base", "--margin", "0.3", "--md", "said"],
    "gate junit": ["gate", "new", "--baseline", "oldfew.base", "--margin", "0.3", "--junit", "said"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("view", SHOWN_TO_READERS)
def test_what_labels_do_not_allow_is_a_dash_with_its_reason(view: str) -> None:
    write_jsonl("both", [*labels_of("old", "judge"), *labels_of("new", "judge")])
    verb, *words = SHOWN_TO_READERS[view]
    result = run_command(verb, *words, "-m", MEASURE, *gold_of("few"))
    assert result.exit_code in (0, 5), result.output
    text = Path("said").read_text() if "said" in words else result.output
    assert not re.search(r"\bnan\b", text)
    assert "corrected by human labels, the difference" not in text
    # Of a gate the difference is refused, elsewhere each run.
    shown = result.stdout if verb != "gate" else text
    reasons = re.findall(r"labels for \d+ of (?:it|both) \((?:≥|&ge;) \d+ needed\)", shown)
    assert len(reasons) >= (1 if verb == "gate" else 2), shown


def shown_in_python(view: str) -> str:
    """What Python shows of scores with labels, in one of its forms."""
    table = rageval.evaluate_answers(MEASURE, "new", gold="gold-of-new", gold_chosen="uniform")
    shown = table if view.startswith("table") else table["new"]
    return str(shown) if view.endswith("text") else str(list(shown.tables()[0].rows))


@pytest.mark.slow
@pytest.mark.parametrize("view", ["table text", "table rows", "scores text", "scores rows"])
def test_python_shows_the_corrected_mean_and_the_judges_as_the_judges(view: str) -> None:
    table = rageval.evaluate_answers(MEASURE, "new", gold="gold-of-new", gold_chosen="uniform")
    score = table["new"].scores[0]
    corrected = estimate_value(score).value
    assert abs(corrected - score.value) > 0.1
    shown = [float(number) for number in re.findall(r"-?\d+\.\d+", shown_in_python(view))]
    assert shown[0] == pytest.approx(corrected, abs=1e-4)
    assert shown[1] == pytest.approx(score.value, abs=1e-4)
