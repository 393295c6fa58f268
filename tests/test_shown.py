"""Objects that people look at: on a terminal, in a notebook, in LaTeX, as a DataFrame, as a figure."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rageval
from first_commands import NOTEBOOK, values_of_cells
from rageval.checking import Findings, diagnose, validate
from rageval.checking.findings import error
from rageval.cli import main
from rageval.comparison import Comparison
from rageval.comparison.passport import Passport, passport
from rageval.table import NUMBER, Column, Displayed, Marked, Table, _Notebook

HOSTILE = 'run<script>&"$x_1\x1b[31m'
QRELS = {str(query): {"a": 1} for query in range(8)}


def scored(name: str, score: float) -> rageval.Scores:
    run = {str(query): {"a": 1.0, "b": score} for query in range(8)}
    return rageval.evaluate("rr,ndcg@5", rageval.Run.from_dict(run, name), QRELS)


def compared(long: str = "") -> Comparison:
    return rageval.compare([scored(HOSTILE + long, 0.0), scored("other" + long, 2.0)])


def trusted() -> Passport:
    rows = [("q1", 1.0), ("q2", 0.0), ("q3", 1.0), ("q4", 0.0)]
    judged = {
        (query, "r", "answer", "0"): {"query_id": query, "run_id": "r", "grade": grade, "status": "ok"}
        for query, grade in rows
    }
    return passport(judged, judged)


def checked(count: int = 3) -> Findings:
    facts = {"number": 2, "query": HOSTILE}
    errors = (error("second_answers", line, **facts).in_file(HOSTILE) for line in range(count))
    return Findings(errors, "9 rows")


@pytest.mark.parametrize("make", [lambda: scored(HOSTILE, 0.0), compared, trusted, checked])
def test_every_form_of_what_is_shown(make: Any) -> None:
    displayed: Displayed = make()
    assert repr(displayed) == str(displayed)
    assert "\x1b" not in str(displayed)
    html = displayed._repr_html_()
    assert "<script>" not in html
    assert "\x1b" not in html
    assert html.count("<tr>") == html.count("</tr>") > 1
    latex = displayed.to_latex()
    assert latex.endswith("\\bottomrule\n\\end{tabular}\n\\end{table}")
    alone = displayed.to_latex(caption="")
    assert alone.endswith("\\end{tabular}")
    assert "\\caption" not in alone
    mine = displayed.to_latex(caption=r"By $\alpha$, 5 % of a_b", label="tab:mine")
    assert r"\caption{By $\alpha$, 5 \% of a\_b}" in mine
    assert r"\label{tab:mine}" in mine
    assert len(displayed.to_pandas()) >= 1


@pytest.mark.parametrize("columns", [80, 120])
def test_a_comparison_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = str(compared("-with-a-name-that-goes-on-and-on-and-on-and-on-and-on")).splitlines()
    assert max(map(len, lines)) <= columns
    assert any("…" in line for line in lines)
    assert "…" not in str(rageval.compare([scored("a", 0.0), scored("b", 2.0)]))


@pytest.mark.parametrize("columns", [80, 120])
def test_findings_fit_the_terminal_and_are_whole_elsewhere(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    long = Findings([error("refused_file", 7, reason="more " * 99).in_file("a" * 99)] * 25, "25 rows")
    lines = str(long).splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[0] == "25 errors and 0 warnings in 25 rows"
    assert lines[-1] == "… and 5 more"
    assert len(lines) == 1 + 2 + 20 + 1
    assert "more" not in str(checked(20)).splitlines()[-1]
    assert long._repr_html_().count("<tr>") == long.to_latex().count(r"\\") == 26
    rows = long.to_pandas()
    assert rows["message"].tolist() == [text.message for text in long]
    assert rows["code"].tolist() == ["refused_file"] * 25
    columns_of_none = list(Findings([], "0 rows").to_pandas())
    assert columns_of_none == ["line", "level", "message", "effect", "source", "code"]


def test_python_finds_what_the_commands_find(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text("q Q0 a 1 2 r\nq Q0 a 2 1 r\np Q0 a 1 2 r\n")
    topics = tmp_path / "topics.tsv"
    topics.write_text("q\tWhy?\n")
    for words, findings in (
        (
            ["validate", str(run), "--track", "run", "--topics", str(topics)],
            validate(run, "run", topics=topics),
        ),
        (["doctor", str(run), "--topics", str(topics)], diagnose(run, topics=[topics])),
    ):
        result = CliRunner().invoke(main, words)
        *lines, last = result.output.splitlines()
        assert lines == [finding.text for finding in findings]
        assert last.endswith(findings.summary)
        assert result.exit_code == (findings.errors > 0)
    with pytest.raises(rageval.RagevalError, match="track 'rag52': expected one of rag24, rag25, rag26"):
        validate(run, "rag52")


def test_values_in_frames_are_whole() -> None:
    frame = compared()
    rows = frame.to_pandas()
    assert rows["difference"].tolist() == [pair.difference for pair in frame.pairs]
    scores = scored("a", 2.0)
    values = scores.to_pandas().groupby("measure")["value"].mean().to_dict()
    assert values == pytest.approx({name: score.value for name, score in scores.items()}, abs=1e-15)


@pytest.mark.slow
def test_figures_have_a_title_an_axis() -> None:
    pytest.importorskip("matplotlib")
    titles = [axis.get_title() for axis in compared().plot().axes]
    assert titles == ["RR", "nDCG@5"]
    assert [axis.get_title() for axis in scored("a", 2.0).plot("column").axes] == ["RR", "nDCG@5"]
    coefficients, confusion = trusted().plot().axes
    assert [label.get_text() for label in coefficients.get_yticklabels()] == [
        coefficient.name for coefficient in trusted().coefficients
    ]
    assert [text.get_text() for text in confusion.texts] == ["2", "0", "0", "2"]
    (axis,) = checked().plot().axes
    assert axis.get_title() == "3 errors and 0 warnings in 9 rows"
    assert [line.get_xdata().tolist() for line in axis.lines] == [[0, 1, 2]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # what the judge says of itself
def test_a_notebook_gets_from_data_to_a_verdict_in_six_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    shown = values_of_cells(NOTEBOOK)
    assert len(shown) == 6
    frame, scores, values, comparison, figure, answers = shown
    assert len(frame) == len(values) == 3
    assert re.findall(r"<th>(\w+)</th>", scores._repr_html_())[:2] == ["measure", "value"]
    bars = r'<svg [^>]*aria-hidden="true".*?<circle cx="([\d.]+)"'
    drawn = [len(re.findall(bars, table._repr_html_())) for table in (scores, comparison, answers)]
    assert drawn == [0, 2, 1]
    png, size = figure._repr_png_()
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == 2 * size["width"]  # sharp on sharp screens
    assert answers.pairs[0].better_run == "v2"


@pytest.mark.parametrize(
    ("cells", "places"),
    [
        ([Marked(0.5, (0.0, 1.0)), Marked(0.0, (0.0, 0.5))], ["40.0", "4.0"]),
        ([Marked(0.5, (math.nan, 1.0)), Marked(0.25, (0.0, 0.5)), "none"], ["40.0"]),
        ([Marked(0.5, (0.5, 0.5)), Marked(0.5)], []),
    ],
)
def test_an_interval_is_a_bar_on_the_scale_of_its_column(cells: list[Any], places: list[str]) -> None:
    table = Table([Column("value", NUMBER)], [[cell] for cell in cells])
    assert re.findall(r'<circle cx="([\d.]+)"', "".join(_Notebook().table(table))) == places


def test_a_report_of_scores_is_a_page(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    groups = {"half": {query: str(int(query) % 2) for query in QRELS}}
    path = rageval.report([scored("one", 0.0), scored("two", 2.0)], tmp_path / "page.html", groups=groups)
    from rageval.pages.page import read_report

    report = read_report(str(path))
    assert report["runs"] == ["one", "two"]
    assert len(report["slices"]) == 8
    assert report["comparison"]["pairs"][0]["verdict"] == "lower"
    with pytest.raises(rageval.RagevalError, match="unknown option 'levels'; did you mean level"):
        rageval.report(scored("one", 0.0), tmp_path / "no.html", levels=0.9)  # type: ignore[call-arg]
    with pytest.raises(rageval.RagevalError, match="expected Scores"):
        rageval.report(["a.json"], tmp_path / "no.html")  # type: ignore[list-item]
    assert not (tmp_path / "no.html").exists()


def test_several_runs_at_once(tmp_path: Path) -> None:
    for name, score in (("one", 0.0), ("two", 2.0)):
        lines = [f"{query} Q0 a 1 1 r\n{query} Q0 b 2 {score} r\n" for query in QRELS]
        (tmp_path / name).write_text("".join(lines))
    paths = [tmp_path / "one", str(tmp_path / "two")]
    by_run = rageval.evaluate("rr", paths, QRELS)
    assert {name: scores["rr"].value for name, scores in by_run.items()} == {"one": 1.0, "two": 0.5}
    assert [scores.run for scores in by_run.values()] == ["one", "two"]
    named = rageval.evaluate("rr", {"x": paths[0], "y": rageval.read_run(paths[1])}, QRELS)
    assert {name: scores["rr"].value for name, scores in named.items()} == {"x": 1.0, "y": 0.5}
    assert rageval.compare(by_run).pairs[0].verdict == "lower"
    with pytest.raises(rageval.RagevalError, match="two runs are called 'one'; name them"):
        rageval.evaluate("rr", [paths[0], paths[0]], QRELS)
    with pytest.raises(rageval.RagevalError):
        rageval.evaluate("rr", [], QRELS)
