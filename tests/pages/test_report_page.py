"""The page of a report in a real browser: its numbers, sorting, filters, and the view of a query."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval.measures.parsing import parse_measure
from rageval.pages.page import read_report
from rageval.scoring.scores import Score, Scores
from report_pages import DATA, RUNS, Open, browser_, opened_, pages_, shown, texts, until  # noqa: F401


@pytest.mark.slow
@pytest.mark.parametrize("name", ["runs", "answers", "hostile", "agents"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_without_an_error_or_a_request_and_shows_every_section(
    pages: dict[str, Path], opened: Open, name: str, scheme: str
) -> None:
    tab = opened(pages[name], color_scheme=scheme)
    sections = set(texts(tab, "main > section > h2"))
    always = {"Runs", "Comparisons", "Queries", "Cost and failures", "Provenance"}
    assert always <= sections
    assert {"Slices", "Judges"} <= sections or name in ("runs", "agents")
    assert ("Recall and losses" in sections) == (name == "agents")
    for canvas in tab.query_selector_all(".chart svg"):
        box = canvas.bounding_box()
        assert box["width"] > 300
        assert box["height"] > 40


OUTSIDE = """selector => [...document.querySelectorAll(selector)].filter(one => {
    const box = one.getBoundingClientRect(), parent = one.parentElement.getBoundingClientRect();
    const sticksOut = box.left < parent.left - 1 || box.right > parent.right + 1;
    return sticksOut || one.scrollWidth > one.clientWidth + 1;
}).map(one => one.textContent)"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["runs", "answers", "hostile", "agents"])
@pytest.mark.parametrize("size", [(1280, 800), (768, 1024), (400, 800)])
def test_the_verdict_is_on_the_first_screen_and_inside_its_box(
    pages: dict[str, Path], opened: Open, name: str, size: tuple[int, int]
) -> None:
    tab = opened(pages[name], viewport={"width": size[0], "height": size[1]})
    verdict = tab.query_selector("header .first").bounding_box()
    assert verdict["x"] >= 0
    assert verdict["x"] + verdict["width"] <= size[0]
    assert 0 <= verdict["y"] < verdict["y"] + verdict["height"] <= size[1]
    assert tab.evaluate(OUTSIDE, "header .first") == []
    assert tab.evaluate(OUTSIDE, "#pairs .verdict") == []
    box = tab.query_selector("#pairs .verdict").bounding_box()
    assert 0 <= box["x"] < box["x"] + box["width"] <= size[0]  # no column of the table hides it
    if size[0] == 400:  # the page scrolls down, and no box in it
        inner = "each => each.scrollHeight > each.clientHeight + 1"
        assert tab.evaluate(f"[...document.querySelectorAll('.scroll.tall')].filter({inner}).length") == 0


@pytest.mark.parametrize("name", ["runs", "answers", "hostile", "agents"])
def test_the_numbers_in_the_page_are_those_of_the_structure(
    pages: dict[str, Path], opened: Open, name: str
) -> None:
    tab, report = opened(pages[name]), read_report(pages[name])
    cells = {(cell["run"], cell["measure"]): cell for cell in report["cells"]}
    ordered = [cells[run, measure] for run in report["runs"] for measure in report["measures"]]
    assert texts(tab, "#overview td.number .value") == [shown(cell["value"]) for cell in ordered]
    exact = tab.eval_on_selector_all("#overview td.number", "all => all.map(one => Number(one.dataset.sort))")
    assert exact == [cell["value"] or 0 for cell in ordered]  # nothing, where people labeled too few
    ends = [f"[{shown(cell['low'])}, {shown(cell['high'])}]" for cell in ordered if cell["low"] is not None]
    assert texts(tab, "#overview .interval") == ends
    pairs = report["comparison"]["pairs"]
    gaps = [pair["difference"] for pair in pairs]
    assert texts(tab, "#pairs .value") == ["–" if gap is None else f"{gap:+.4f}" for gap in gaps]
    assert texts(tab, "#pairs .verdict") == [pair["verdict"] for pair in pairs]
    slices = [part for part in report.get("slices", ()) if part["measure"] == report["measures"][0]]
    in_table = texts(tab, "[data-slice='0'] td.number .value")
    assert sorted(in_table) == sorted(shown(part["value"]) for part in slices)
    for pair in report.get("judging", ()):
        counts = [f"{count:,}" for row in pair["confusion"] for count in row]
        assert texts(tab, ".confusion td.number") == counts


def test_every_query_has_its_values_and_they_sort(pages: dict[str, Path], opened: Open) -> None:
    tab, report = opened(pages["answers"]), read_report(pages["answers"])
    ids, values = report["queries"]["ids"], report["queries"]["values"]["nugget_recall"]
    tab.select_option("#diff-measure", label="nugget_recall")
    tab.select_option("#diff-run", label="theirs")
    tab.select_option("#diff-base", label="older")
    tab.click("#diff-more")
    rows = _table(tab)
    assert len(rows) == 45
    expected = {q: (a, b) for q, a, b in zip(ids, values["theirs"], values["older"], strict=True)}
    for query, _, _, mine, theirs, difference, _ in rows:
        one, other = expected[query.split()[-1]]  # behind the question
        assert (mine, theirs) == (shown(one), shown(other))
        assert float(difference) == pytest.approx(one - other, abs=5e-5)
    means = [float(row[6]) for row in rows]
    assert means == sorted(means), "the worst first"
    for ends in ({"reverse": True}, {}):
        tab.click("#diff-table th[data-key=difference] button")
        tab.click("#diff-more")
        differences = [float(row[5]) for row in _table(tab)]
        assert differences == sorted(differences, **ends)
    tab.click("#diff-table th[data-key=query] button")
    assert [row[0].split()[-1] for row in _table(tab)] == sorted(ids)[:25]
    assert tab.get_attribute("#diff-table th[data-key=query]", "aria-sort") == "ascending"


def _table(tab: Any) -> list[list[str]]:
    rows: list[list[str]] = tab.eval_on_selector_all(
        "#diff-table tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    return rows


def test_filters_leave_the_right_rows(pages: dict[str, Path], opened: Open) -> None:
    tab, report = opened(pages["answers"]), read_report(pages["answers"])
    tab.select_option("#diff-measure", label="nugget_recall")
    tab.select_option("#diff-run", label="theirs")
    tab.select_option("#diff-base", label="ours")
    values = report["queries"]["values"]["nugget_recall"]
    gaps = [one - other for one, other in zip(values["theirs"], values["ours"], strict=True)]
    for outcome, sign in (("won", 1), ("tied", 0), ("lost", -1)):
        tab.select_option("#diff-outcome", label=outcome)
        number = sum((gap > 1e-12) - (gap < -1e-12) == sign for gap in gaps)
        assert f"{number} of 45 queries shown" in tab.text_content("#diff-summary")
        assert f"{number} {outcome}" in tab.text_content("#diff-summary")
        assert len(_table(tab)) == min(number, 25)
    tab.select_option("#diff-outcome", label="all queries")
    tab.fill("#diff-find", "QUESTION 7?")
    assert [row[0] for row in _table(tab)] == ["Question 7? q07"]
    assert tab.query_selector("input[data-filter=overview]") is None  # nobody searches three rows


def test_long_tables_can_be_searched(tmp_path: Path, opened: Open) -> None:
    qrels = {str(query): {"a": 1} for query in range(8)}
    runs = {f"run{n}": {query: {"a": 1.0, "b": n / 4} for query in qrels} for n in range(8)}
    path = rageval.report(rageval.evaluate("rr", runs, qrels), tmp_path / "report.html")
    tab, report = opened(Path(path)), read_report(path)
    tab.fill("input[data-filter=overview]", "RUN5")
    assert texts(tab, "#overview tbody tr:not([hidden]) th") == ["run5"]
    tab.fill("input[data-filter=pairs]", "run7")
    left = texts(tab, "#pairs tbody tr:not([hidden]) td:nth-child(3)")
    assert (
        len(left) == sum("run7" in (pair["run"], pair["other"]) for pair in report["comparison"]["pairs"]) > 0
    )


def test_tables_sort_by_value_and_not_by_text(pages: dict[str, Path], opened: Open) -> None:
    tab, report = opened(pages["answers"]), read_report(pages["answers"])
    button = "#pairs thead th:nth-child(5) button"
    exact = sorted(pair["difference"] for pair in report["comparison"]["pairs"])
    for expected in (exact[::-1], exact):
        tab.click(button)
        assert texts(tab, "#pairs .value") == [f"{value:+.4f}" for value in expected]
    tab.click("#overview thead th:nth-child(2) button")
    assert texts(tab, "#overview tbody th") == ["older", "ours", "theirs"]


def test_a_query_shows_its_nuggets_what_is_vital_and_the_quotes(pages: dict[str, Path], opened: Open) -> None:
    tab, report = opened(pages["answers"]), read_report(pages["answers"])
    tab.click("#diff-table tbody tr:nth-child(3) a")
    until(tab, "document.activeElement.id === 'query-title'")
    query = tab.text_content("#query-title").removeprefix("Query ")
    assert tab.evaluate("document.activeElement.id") == "query-title"
    place = report["queries"]["ids"].index(query)
    values = report["queries"]["values"]
    expected = [shown(values[m][run][place]) for run in report["runs"] for m in report["measures"]]
    assert texts(tab, "#query-values td") == expected
    assert texts(tab, "#query-values th[scope=row]") == report["runs"]
    assert tab.text_content(".question") == f"Question {place}?"
    matrix = report["matrices"][query]
    assert texts(tab, ".matrix tbody tr.vital th") == ["vitalIt rains. 0"]
    marks = {"support": "✓", "partial_support": "◐", "not_support": "–"}
    by_place = {(cell["row"], cell["column"]): cell for cell in matrix["cells"]}
    cells = [by_place[row, matrix["columns"].index(run)] for row in range(2) for run in report["runs"]]
    assert texts(tab, ".matrix tbody td") == [marks[cell["label"]] for cell in cells]
    tab.click(".matrix tbody td >> nth=0 >> button")
    for key in ("evidence", "reason"):
        assert cells[0].get(key, "") in tab.text_content(".evidence")
    tab.click("#query-after")
    until(tab, f"current !== {place}")
    assert tab.text_content("#query-title") != f"Query {query}"


def test_documents_stand_in_the_order_of_the_run_that_is_chosen(pages: dict[str, Path], opened: Open) -> None:
    tab, report = opened(pages["runs"]), read_report(pages["runs"])
    assert (
        tab.evaluate("document.getElementById('diff-base').selectedOptions[0].textContent") == "baseline.trec"
    )
    query = tab.text_content("#query-title").removeprefix("Query ")
    matrix = report["matrices"][query]
    for run, ranking in matrix["rankings"].items():
        tab.select_option("#matrix-run", label=run)
        assert texts(tab, ".matrix thead .id") == [matrix["columns"][index] for index in ranking]
        supported = sum(cell["column"] in ranking for cell in matrix["cells"])
        assert len(texts(tab, ".matrix td.full")) == supported


def test_disagreements_have_both_reasons_and_lead_to_their_query(
    pages: dict[str, Path], opened: Open
) -> None:
    tab, report = opened(pages["answers"]), read_report(pages["answers"])
    (pair,) = report["judging"]
    rows = texts(tab, "#disagreements-0 tbody tr")
    assert len(rows) == len(pair["listed"]) == pair["disagreements"] > 0
    for row, item in zip(rows, pair["listed"], strict=True):
        assert item["judge"]["reason"] in row
        assert item["other"]["reason"] == "people say so"
        assert "people say so" in row
    tab.click("#disagreements-0 tbody tr:nth-child(1) a")
    until(tab, "document.activeElement.id === 'query-title'")
    assert tab.text_content("#query-title") == f"Query {pair['listed'][0]['query']}"


def test_small_slices_are_greyed_and_starred(pages: dict[str, Path], opened: Open) -> None:
    tab = opened(pages["answers"])
    rows = texts(tab, "[data-slice='0'] tbody tr")
    assert "n=40" in rows[0]
    assert "*" not in rows[0]
    assert "n=5" in rows[1]
    assert "*" in rows[1]
    assert len(texts(tab, "[data-slice='0'] td.small")) == 3
    assert tab.is_hidden("[data-slice='1']")
    tab.select_option("#slice-measure", index=1)
    assert tab.is_visible("[data-slice='1']")
    assert tab.is_hidden("[data-slice='0']")


@pytest.mark.slow
def test_values_that_are_not_defined_are_a_dash_and_count_nowhere(tmp_path: Path, opened: Open) -> None:
    scores = [
        Scores(run, (Score(parse_measure("rr"), ["a", "b", "c"], [1.0, math.nan, value], 0, "rr|v:1"),))
        for run, value in (("one", 0.0), ("two", 0.5))
    ]
    tab = opened(rageval.report(scores, tmp_path / "report.html"))
    rows = {row[0]: row[1:] for row in _table(tab)}
    assert rows["b"] == ["–", "–", "–"]
    assert list(rows)[-1] == "b"
    assert "0 won, 1 tied, 1 lost; 3 of 3 queries shown" in tab.text_content("#diff-summary")
    assert not math.isnan(float(rows["c"][2]))
