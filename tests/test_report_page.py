"""The page of a report in a real browser: what it shows, what it runs, and what it never does."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rageval.cli import main
from rageval.report.reading import read_report

DATA = Path(__file__).parents[1] / "examples/data"
RUNS = [str(DATA / name) for name in ("run.trec", "baseline.trec", "qrels.nugget")]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ATTACK = "</script><script>hacked = 1</script><img src=x onerror='hacked = 2'>"
BIDI = "abc\u202edcba"
HOSTILE = f"{ATTACK}{BIDI}"
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window; where there is none the tests are skipped, but not in CI."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("there is no Chromium; .ci/run installs it where it may (apt-get install chromium)")
        pytest.skip("there is no Chromium to open the page with (apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=path)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Opens a page; afterwards there was no error, and no request for anything but the page itself."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def open_(path: Path, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(path.as_uri())
        return tab

    yield open_
    for context in contexts:
        context.close()
    assert said == []
    assert {address.partition("#")[0].rpartition("/")[2] for address in asked} <= {"report.html"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report on runs, one on answers, and one on texts that attack the page."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("runs", "answers", "hostile")}
    words = {
        "runs": [*RUNS, "-m", "alpha_ndcg@10,recall@10", "--baseline", "baseline.trec"],
        "answers": _answers(folders["answers"]),
        "hostile": _hostile(folders["hostile"]),
    }
    found = {}
    for name, folder in folders.items():
        found[name] = folder / "report.html"
        done = CliRunner().invoke(main, ["report", *words[name], "-o", str(found[name])])
        assert done.exit_code == 0, done.output
    return found


def _lines(path: Path, records: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def _judgements(queries: list[str], runs: list[str], nuggets: list[str]) -> list[dict[str, Any]]:
    """Support that differs by query, run and nugget, with a quote for whatever is supported."""
    found = []
    for q, query in enumerate(queries):
        for r, run in enumerate(runs):
            for n in range(len(nuggets)):
                label = ("not_support", "partial_support", "support")[(q + r * (n + 1)) % 3]
                more = {"evidence": f"quote {q} {r} {n}"} if label != "not_support" else {}
                found.append(
                    {"query_id": query, "run_id": run, "item_id": "answer", "aspect": str(n), "label": label}
                    | {"status": "ok", "judge": "openai:gpt-4o-mini@1", "rubric": "nugget-assignment"}
                    | {"reason": f"reason {q} {r} {n}", "importance": "okay" if n else "vital", **more}
                    | {"usage": {"input": 500, "output": 40}}
                )
    return found


def _answers(folder: Path) -> list[str]:
    queries, nuggets = [f"q{at:02d}" for at in range(45)], ["It rains.", "It snows."]
    judged = _judgements(queries, ["ours", "theirs", "older"], nuggets)
    gold = [{**record, "judge": "person", "reason": "people say so"} for record in judged]
    for record in gold[::7]:
        record["label"] = "support"
    listed = [{"text": text, "importance": "okay"} for text in nuggets]
    bank = [{"qid": query, "query": "?", "nuggets": listed} for query in queries]
    asked = [
        {"query_id": query, "question": f"Question {at}?", "kind": "rare" if at < 5 else "common"}
        for at, query in enumerate(queries)
    ]
    return [
        *(_lines(folder / "judged.jsonl", judged), "-m", "v_strict,nugget_recall", "--all-pairs"),
        *("--gold", _lines(folder / "gold.jsonl", gold), "--by", "kind"),
        *("--nuggets", _lines(folder / "nuggets.jsonl", bank)),
        *("--questions", _lines(folder / "questions.jsonl", asked)),
    ]


def _hostile(folder: Path) -> list[str]:
    queries = [HOSTILE, "javascript:alert(1)", "__proto__", "constructor", "toString"]
    runs = [f"run {HOSTILE}", "__proto__", "javascript:hacked=3"]
    judged = _judgements(queries, runs, [HOSTILE])
    for record in judged:
        record |= {"reason": HOSTILE, "judge": f"judge {ATTACK}"}
        record |= {"evidence": HOSTILE} if "evidence" in record else {}
    gold = [{**record, "judge": "p", "label": "support"} for record in judged]
    asked = [{"query_id": query, "question": HOSTILE, "kind": HOSTILE} for query in queries]
    bank = [
        {"qid": query, "query": "?", "nuggets": [{"text": HOSTILE, "importance": "vital"}]}
        for query in queries
    ]
    place = folder / "<img src=x onerror='hacked = 4'>.jsonl"
    return [
        *(_lines(place, judged), "-m", "nugget_recall", "--title", HOSTILE, "--by", "kind"),
        *("--gold", _lines(folder / "gold.jsonl", gold), "--nuggets", _lines(folder / "n.jsonl", bank)),
        *("--questions", _lines(folder / "q.jsonl", asked)),
    ]


def _texts(tab: Any, selector: str) -> list[str]:
    found: list[str] = tab.eval_on_selector_all(selector, "all => all.map(one => one.textContent.trim())")
    return found


def _shown(value: float | None, places: int = 4) -> str:
    return "–" if value is None else f"{value:.{places}f}"


@pytest.mark.parametrize("name", ["runs", "answers", "hostile"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_without_an_error_or_a_request_and_shows_every_section(
    pages: dict[str, Path], opened: Open, name: str, scheme: str
) -> None:
    tab = opened(pages[name], color_scheme=scheme)
    sections = set(_texts(tab, "main > section > h2"))
    always = {"Runs", "Comparisons", "Queries", "Cost and failures", "Provenance"}
    assert always <= sections
    assert {"Slices", "Judges"} <= sections or name == "runs"
    for canvas in tab.query_selector_all("canvas"):
        box = canvas.bounding_box()
        assert box["width"] > 300
        assert box["height"] > 50


@pytest.mark.parametrize("name", ["runs", "answers", "hostile"])
def test_the_numbers_in_the_page_are_those_of_the_structure(
    pages: dict[str, Path], opened: Open, name: str
) -> None:
    tab, report = opened(pages[name]), read_report(pages[name])
    cells = {(cell["run"], cell["measure"]): cell for cell in report["cells"]}
    ordered = [cells[run, measure] for run in report["runs"] for measure in report["measures"]]
    assert _texts(tab, "#overview td.number .value") == [_shown(cell["value"]) for cell in ordered]
    exact = tab.eval_on_selector_all("#overview td.number", "all => all.map(one => Number(one.dataset.sort))")
    assert exact == [cell["value"] for cell in ordered]
    ends = [f"[{_shown(cell['low'])}, {_shown(cell['high'])}]" for cell in ordered]
    assert _texts(tab, "#overview .interval") == ends
    pairs = report["comparison"]["pairs"]
    assert _texts(tab, "#pairs .value") == [f"{pair['difference']:+.4f}" for pair in pairs]
    assert _texts(tab, "#pairs .verdict") == [pair["verdict"] for pair in pairs]
    slices = [each for each in report.get("slices", ()) if each["measure"] == report["measures"][0]]
    shown = _texts(tab, "[data-slice='0'] td.number .value")
    assert sorted(shown) == sorted(_shown(each["value"]) for each in slices)
    for pair in report.get("judging", ()):
        counts = [f"{count:,}" for row in pair["confusion"] for count in row]
        assert _texts(tab, ".confusion td.number") == counts


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
    for query, mine, theirs, difference in rows:
        one, other = expected[query.split()[0]]
        assert (mine, theirs) == (_shown(one), _shown(other))
        assert float(difference) == pytest.approx(one - other, abs=5e-5)
    differences = [float(row[3]) for row in rows]
    assert differences == sorted(differences, reverse=True)
    tab.click("#diff-table th[data-key=difference] button")
    tab.click("#diff-more")
    assert [float(row[3]) for row in _table(tab)] == sorted(differences)
    tab.click("#diff-table th[data-key=query] button")
    assert [row[0].split()[0] for row in _table(tab)] == sorted(ids)[:25]
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
    assert [row[0] for row in _table(tab)] == ["q07 Question 7?"]
    tab.fill("input[data-filter=overview]", "THEIR")
    assert _texts(tab, "#overview tbody tr:not([hidden]) th") == ["theirs"]
    tab.fill("input[data-filter=pairs]", "older")
    shown = _texts(tab, "#pairs tbody tr:not([hidden]) td:nth-child(3)")
    assert len(shown) == sum(
        "older" in (pair["run"], pair["other"]) for pair in report["comparison"]["pairs"]
    )


def test_tables_sort_by_value_and_not_by_text(pages: dict[str, Path], opened: Open) -> None:
    tab, report = opened(pages["answers"]), read_report(pages["answers"])
    button = "#pairs thead th:nth-child(4) button"
    exact = sorted(pair["difference"] for pair in report["comparison"]["pairs"])
    for expected in (exact[::-1], exact):
        tab.click(button)
        assert _texts(tab, "#pairs .value") == [f"{value:+.4f}" for value in expected]
    tab.click("#overview thead th:nth-child(2) button")
    assert _texts(tab, "#overview tbody th") == ["older", "ours", "theirs"]


def test_a_query_shows_its_nuggets_what_is_vital_and_the_quotes(pages: dict[str, Path], opened: Open) -> None:
    tab, report = opened(pages["answers"]), read_report(pages["answers"])
    tab.click("#diff-table tbody tr:nth-child(3) a")
    query = tab.text_content("#query-title").removeprefix("Query ")
    assert tab.evaluate("document.activeElement.id") == "query-title"
    place = report["queries"]["ids"].index(query)
    values = report["queries"]["values"]
    expected = [_shown(values[m][run][place]) for run in report["runs"] for m in report["measures"]]
    assert _texts(tab, "#query-values td") == expected
    assert tab.text_content(".question") == f"Question {place}?"
    matrix = report["matrices"][query]
    assert _texts(tab, ".matrix tbody tr.vital th") == ["vitalIt rains. 0"]
    marks = {"support": "✓", "partial_support": "◐", "not_support": "–"}
    said = {(cell["row"], cell["column"]): cell for cell in matrix["cells"]}
    cells = [said[row, column] for row in range(2) for column in range(3)]
    assert _texts(tab, ".matrix tbody td") == [marks[cell["label"]] for cell in cells]
    tab.click(".matrix tbody td >> nth=0 >> button")
    for key in ("evidence", "reason"):
        assert cells[0].get(key, "") in tab.text_content(".evidence")
    tab.click("#query-after")
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
        assert _texts(tab, ".matrix thead .id") == [matrix["columns"][at] for at in ranking]
        supported = sum(cell["column"] in ranking for cell in matrix["cells"])
        assert len(_texts(tab, ".matrix td.full")) == supported


def test_disagreements_have_both_reasons_and_lead_to_their_query(
    pages: dict[str, Path], opened: Open
) -> None:
    tab, report = opened(pages["answers"]), read_report(pages["answers"])
    (pair,) = report["judging"]
    rows = _texts(tab, "#disagreements-0 tbody tr")
    assert len(rows) == len(pair["listed"]) == pair["disagreements"] > 0
    for row, found in zip(rows, pair["listed"], strict=True):
        assert found["judge"]["reason"] in row
        assert found["other"]["reason"] == "people say so"
        assert "people say so" in row
    tab.click("#disagreements-0 tbody tr:nth-child(1) a")
    assert tab.text_content("#query-title") == f"Query {pair['listed'][0]['query']}"


def test_small_slices_are_greyed_and_starred(pages: dict[str, Path], opened: Open) -> None:
    tab = opened(pages["answers"])
    rows = _texts(tab, "[data-slice='0'] tbody tr")
    assert "n=40" in rows[0]
    assert "*" not in rows[0]
    assert "n=5" in rows[1]
    assert "*" in rows[1]
    assert len(_texts(tab, "[data-slice='0'] td.small")) == 3
    assert tab.is_hidden("[data-slice='1']")
    tab.select_option("#slice-measure", index=1)
    assert tab.is_visible("[data-slice='1']")
    assert tab.is_hidden("[data-slice='0']")


def test_hostile_text_is_shown_and_never_run(pages: dict[str, Path], opened: Open) -> None:
    tab = opened(pages["hostile"])
    queries = len(read_report(pages["hostile"])["queries"]["ids"])
    for at in range(queries):
        tab.evaluate(f"location.hash = 'q{at}'")
        tab.wait_for_function(f"current === {at}")
        for button in tab.query_selector_all(".matrix td button"):
            button.click()
    assert tab.evaluate("typeof hacked") == "undefined"
    assert tab.evaluate("document.querySelectorAll('img, iframe, object, [onerror]').length") == 0
    assert tab.evaluate("document.scripts.length") == 3
    addresses = tab.eval_on_selector_all("a", "all => all.map(one => one.getAttribute('href'))")
    assert all(address.startswith("#") for address in addresses)
    text = tab.evaluate("document.body.innerText")
    assert ATTACK in text
    assert "abc\\u202edcba" in text
    assert "\u202e" not in text
    assert tab.title() == HOSTILE.replace("\u202e", "\\u202e")
    assert "javascript:alert(1)" in text
    assert "__proto__" in _texts(tab, "#overview tbody th")


def test_the_policy_stops_what_would_be_put_into_the_page(pages: dict[str, Path], browser: Any) -> None:
    tab = browser.new_page()
    refused: list[str] = []
    tab.on("console", lambda message: refused.append(message.text))
    tab.goto(pages["runs"].as_uri())
    later = "code => new Promise(done => setTimeout(() => { try { %s } catch { } done(typeof hacked); }))"
    for code in (
        "document.body.innerHTML = '<img src=x onerror=hacked=1>'",
        "document.head.append(Object.assign(document.createElement('script'), {text: 'hacked = 1'}))",
        "eval('hacked = 1')",
        "document.body.setAttribute('onclick', 'hacked = 1'); document.body.click()",
    ):
        assert tab.evaluate(later % code) == "undefined"
    tab.evaluate("fetch('https://example.org/').catch(() => 0)")
    assert any("Content Security Policy" in text or "TrustedScript" in text for text in refused)
    tab.close()


CONTRAST = """() => {
  const paint = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    paint.clearRect(0, 0, 1, 1); paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [x, y, z] = [r, g, b].map((v) => linear(v / 255));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (!text || !element.checkVisibility() || element.closest("script, .unseen, :disabled")) continue;
    const [ink, ground] = [rgba(getComputedStyle(element).color), behind(element)].map(light);
    const ratio = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
    found.push([ratio, `${element.tagName}.${element.className}: ${text.slice(0, 40)}`]);
  }
  return found;
}"""


@pytest.mark.parametrize("name", ["runs", "answers"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_both_themes(
    pages: dict[str, Path], opened: Open, name: str, scheme: str
) -> None:
    tab = opened(pages[name], color_scheme=scheme)
    if name == "answers":
        tab.click(".matrix td button >> nth=0")
    tab.click("#theme")  # and by the switch, whatever the system prefers
    for _ in range(2):
        found = tab.evaluate(CONTRAST)
        assert len(found) > 100
        assert [text for ratio, text in found if ratio < 4.5] == []
        tab.click("#theme")
    dark = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.click("#theme")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") != dark


LACKING = """() => [
  ["th", (cell) => !cell.scope],
  ["table", (table) => !table.caption],
  ["input, select", (field) => !field.labels.length],
  ["canvas", (one) => one.role !== "img" || !one.ariaLabel],
  ["button, a", (one) => !one.textContent.trim()],
  ["section", (one) => !document.getElementById(one.getAttribute("aria-labelledby"))],
].flatMap(([selector, lacks]) => [...document.querySelectorAll(selector)].filter(lacks))
  .map((element) => element.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("name", ["runs", "answers", "hostile"])
def test_keyboard_and_screen_reader_find_their_way(pages: dict[str, Path], opened: Open, name: str) -> None:
    tab = opened(pages[name])
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"
    assert tab.evaluate(LACKING) == []
    ids = tab.eval_on_selector_all("[id]", "all => all.map(one => one.id)")
    assert len(ids) == len(set(ids))
    tab.focus("#overview thead th:nth-child(2) button")
    tab.keyboard.press("Enter")
    assert tab.get_attribute("#overview thead th:nth-child(2)", "aria-sort") == "ascending"
    names = _texts(tab, "#overview tbody th")
    tab.keyboard.press("Enter")
    assert _texts(tab, "#overview tbody th") == names[::-1]


def test_it_prints_in_light_colours_without_what_only_a_screen_needs(
    pages: dict[str, Path], opened: Open
) -> None:
    tab = opened(pages["answers"], color_scheme="dark")
    assert len(tab.pdf()) > 20_000
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.is_hidden("nav")
    assert tab.is_hidden("#theme")
    assert tab.is_hidden("#diff-find")
    assert tab.evaluate("getComputedStyle(document.querySelector('.scroll.tall')).maxHeight") == "none"


def test_without_javascript_the_tables_are_there(pages: dict[str, Path], browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(pages["answers"].as_uri())
    assert "need JavaScript" in tab.text_content("noscript")
    assert tab.is_visible("#overview")
    assert tab.is_visible("#disagreements-0")
    assert tab.is_hidden("#queries")
    assert tab.is_hidden("#theme")
    context.close()


@pytest.mark.parametrize("command", ["agree", "compare"])
def test_what_one_earlier_command_said_makes_a_page_of_its_own(
    tmp_path: Path, opened: Open, command: str
) -> None:
    crag = str(DATA / "answers/crag.judged.jsonl")
    words = {"agree": [crag, crag], "compare": [*RUNS, "-m", "recall@10"]}[command]
    said = CliRunner().invoke(main, [command, *words, "--format", "json"], prog_name="rageval")
    (tmp_path / "said.json").write_text(said.stdout)
    place = tmp_path / "report.html"
    done = CliRunner().invoke(main, ["report", str(tmp_path / "said.json"), "-o", str(place)])
    assert done.exit_code == 0, done.output
    sections = {"agree": ["Judges"], "compare": ["Runs", "Comparisons"]}[command]
    assert _texts(opened(place), "main > section > h2") == [*sections, "Provenance"]


def test_values_that_are_not_defined_are_a_dash_and_count_nowhere(tmp_path: Path, opened: Open) -> None:
    records = [
        {"run": run, "measure": "rr", "value": 0.5, "queries": 2, "undefined": 1, "missing": 0}
        | {"signature": "rr|v:1", "by_query": {"a": 1.0, "b": None, "c": value}}
        for run, value in (("one", 0.0), ("two", 0.5))
    ]
    (tmp_path / "scores.json").write_text(json.dumps({"results": records}))
    place = tmp_path / "report.html"
    done = CliRunner().invoke(main, ["report", str(tmp_path / "scores.json"), "-o", str(place)])
    assert done.exit_code == 0, done.output
    tab = opened(place)
    rows = {row[0]: row[1:] for row in _table(tab)}
    assert rows["b"] == ["–", "–", "–"]
    assert list(rows)[-1] == "b"
    assert "0 won, 1 tied, 1 lost; 3 of 3 queries shown" in tab.text_content("#diff-summary")
    assert not math.isnan(float(rows["c"][2]))
