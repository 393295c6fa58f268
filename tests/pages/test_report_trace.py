"""Traces in a report: first the verdict, then the worst answers with quotes, prompts and replies."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import rageval
from rageval.errors import RagevalError
from rageval.pages.page import read_report
from rageval.views.verdicts import first_sentence
from report_pages import Open, answered, browser_, opened_, pages_, stored, texts, until  # noqa: F401
from test_report import CRAG, RUNS, judgement, lines, rageval_, reported


def pair(**more: Any) -> dict[str, Any]:
    fields = {"run": "a", "other": "b", "measure": "rr", "queries": 8, "difference": 0.25, "low": 0.1}
    fields |= {"high": 0.4, "adjusted": 0.01, "ruling": "higher", "better_run": "a", "basis": ""}
    fields |= {"reasons": []}
    fields |= {"verdict": more.get("ruling", "higher"), "every_completion_ruling": None}
    return {**fields, **more}


def sentence(*pairs: dict[str, Any], values: dict[str, float], **more: Any) -> str:
    cells = [
        {"run": run, "measure": "rr", "value": value, "low": value - 0.1, "high": value + 0.1, "queries": 8}
        for run, value in values.items()
    ]
    report = {"runs": list(values), "measures": ["rr"], "cells": cells, "comparison": {"pairs": pairs}}
    return first_sentence({**report, **more}, 2)


def test_the_first_sentence_says_who_is_better_or_that_nobody_can_tell() -> None:
    two, low = {"a": 0.75, "b": 0.5}, {"better": {"rr": "lower"}}
    gap = "rr 0.50 → 0.75, +0.25 [+0.10, +0.40] over 8 queries, p = 0.0100"
    assert sentence(pair(), values=two) == f"a is better than b: {gap}."
    other = sentence(pair(better_run="b", ruling="worse", basis="judge:m"), values=two, **low)
    assert other == f"a is worse than b, by m: {gap}."
    undecided = pair(better_run=None, ruling="undecided", adjusted=0.00001)
    assert sentence(undecided, values=two, level=0.9) == (
        "Undecided whether a or b is better: rr 0.50 → 0.75, +0.25 [+0.10, +0.40] (90 %) over 8 queries, p <"
        " 0.0001."
    )
    ties = pair(better_run=None, ruling="ties only", adjusted=0.00001)
    assert sentence(ties, values=two) == (
        "a and b differ by rr only in the order of documents that one of them ties; there is no claim."
    )
    refused = pair(better_run=None, ruling="refused", reasons=[{"text": "nothing is judged"}])
    assert sentence(refused, values=two) == "a and b cannot be compared by rr: nothing is judged."
    by_bounds = {"ruling": "refused", "reasons": [{"text": "documents were chosen"}], "better_run": None}
    assert sentence(pair(every_completion_ruling="lower", **by_bounds), values=two) == (
        "a is lower than b by rr, however the unjudged documents are judged."
    )
    open_still = sentence(pair(every_completion_ruling="undecided", **by_bounds), values=two)
    assert open_still == "a and b cannot be compared by rr: documents were chosen."
    neither = sentence(pair(better_run=None), values=two, better={"rr": "neither"})
    assert neither.startswith("a is higher than b: rr 0.50 → 0.75, ")
    assert neither.endswith("neither direction is better.")


def test_means_on_other_queries_than_the_difference_say_their_own_number() -> None:
    assert sentence(pair(queries=5), values={"a": 0.75, "b": 0.5}) == (
        "a is better than b: rr 0.50 (8 queries) → 0.75 (8 queries), +0.25 [+0.10, +0.40] over the 5 queries"
        " that both have, p = 0.0100."
    )


def test_a_difference_without_means_is_told_without_them() -> None:
    report = {
        "runs": ["a", "b"],
        "measures": ["rr"],
        "cells": [
            {"run": run, "measure": "rr", "value": None, "low": None, "high": None, "queries": 8}
            for run in "ab"
        ],
        "comparison": {"pairs": [pair(basis="people", corrected_from="judge:m")]},
    }
    assert first_sentence(report, 2) == (
        "a is better than b, by human labels, corrected from m: rr +0.25 [+0.10, +0.40] over 8 queries, p ="
        " 0.0100."
    )


def test_of_many_runs_the_first_sentence_counts() -> None:
    values = {name: 0.9 - index / 10 for index, name in enumerate("abcdef")}
    pairs = [pair(other=name) for name in "bcde"] + [pair(other="f", better_run=None, ruling="undecided")]
    assert sentence(*pairs, values=values) == (
        "a is the highest of 6 runs by rr, at 0.90 (95 % interval 0.80 to 1.00, 8 queries); it is better than"
        " 4 others and not distinguishable from f."
    )
    shared = sentence(*pairs, values=values | {"b": 0.9})
    assert shared.startswith("a is with 1 other the highest of 6 runs by rr, at 0.90 ")
    pairs = [pair(run=name, other="f") for name in "ab"]
    pairs += [pair(run="c", other="f", better_run="f", ruling="lower")]
    pairs += [pair(run="d", other="f", better_run=None, ruling="undecided")]
    pairs += [pair(run="e", other="f", better_run=None, ruling="refused")]
    comparison = {"comparison": {"pairs": pairs, "baseline": "f"}}
    assert sentence(values=values, **comparison).startswith(
        "Of 5 runs 2 are better than f by rr, 1 worse, and 1 not distinguishable from it; no claim about"
        " 1 pair. The highest is a, +0.25 "
    )


def test_where_runs_have_other_measures_the_first_sentence_is_of_those_that_have_the_first() -> None:
    cells = [
        {"run": run, "measure": measure, "value": value, "low": None, "high": None, "queries": 1}
        for run, measure, value in (("a", "rr", None), ("b", "ap", 0.5))
    ]
    report = {"runs": ["b", "a"], "measures": ["rr", "ap"], "cells": cells}
    assert first_sentence(report) == "a has no value by rr."


def trace(folder: Path, *words: str) -> dict[str, Any]:
    """A report on three queries by two runs, judged worse from query to query."""
    queries, runs = ["q0", "q1", "q2"], ["ours", "theirs"]
    judged = [
        judgement(query, run, label, evidence=f"quote {query} " + "long " * 200)
        for query, label in zip(queries, ("perfect", "missing", "incorrect"), strict=True)
        for run in runs
    ]
    folder.mkdir(exist_ok=True)
    store = stored(folder, judged, 2)
    asked = [
        {"query_id": query, "question": f"What is {query}?", "answer": f"It is {query}."} for query in queries
    ]
    texts_ = [{"id": "d2", "text": "The second."}]
    lines(folder, "passages.jsonl", texts_)
    lines(folder, "answers.jsonl", answered(queries, runs))
    lines(folder, "questions.jsonl", asked)
    file = lines(folder, "judged.jsonl", judged)
    names = ("answers", "questions", "passages")
    options = [word for name in names for word in (f"--{name}", str(folder / f"{name}.jsonl"))]
    return reported(folder, file, "-m", "crag_score", *options, "--store", store, *words)


def test_a_trace_has_question_gold_answer_passages_quotes_prompts_and_replies(tmp_path: Path) -> None:
    report = trace(tmp_path)
    traces, matrices = report["traces"], report["matrices"]
    assert list(traces["queries"]) == list(matrices) == ["q2", "q1", "q0"], "the worst first"
    one = traces["queries"]["q0"]
    assert (one["question"], one["gold"]) == ("What is q0?", ["It is q0."])
    assert one["passages"][0][0] == "d1"
    assert one["passages"][0][1].startswith("Rain falls in place 0.")
    assert one["passages"][1] == ["d2", "The second."]
    answer = one["answers"][0]
    assert answer["sentences"] == [["It rains in place 0.", [0]], ["More.", [1, 0]]]
    assert len(matrices["q0"]["cells"][0]["evidence"]) > 1000, "in full"
    (call,) = one["calls"]
    assert (call["user"], traces["systems"][call["system"]]) == ("prompt 0", "Judge well.")
    assert json.loads(call["reply"]) == {"said": "raw 0"}
    assert traces["replies"] == {"asked": 2, "found": 2}


def test_what_the_judge_is_least_sure_of_comes_first(tmp_path: Path) -> None:
    chances = {"q0": 0.99, "q1": 0.45, "q2": 0.02, "q3": 0.7}
    judged = [
        judgement(query, "ours", "perfect" if chance > 0.5 else "incorrect", p=chance)
        for query, chance in chances.items()
    ]
    file = lines(tmp_path, "judged.jsonl", judged)
    answers = lines(tmp_path, "answers.jsonl", answered(list(chances), ["ours"]))
    report = reported(tmp_path, file, "-m", "crag_score", "--answers", answers, "--texts", "2")
    assert list(report["traces"]["queries"]) == ["q1", "q3"]
    assert report["traces"]["first"] == "least sure"
    assert report["matrices"]["q1"]["cells"][0]["p"] == 0.45
    assert any("2 of 4 verdicts are uncertain" in remark["text"] for remark in report["remarks"])
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Texts are those of 2 of 4 queries, the least sure" in text


@pytest.mark.slow
def test_texts_are_those_of_the_worst_queries_and_the_terminal_says_what_was_left_out(tmp_path: Path) -> None:
    for words, kept in (((), 3), (("--texts", "1"), 1), (("--texts", "0"), 0), (("--texts", "all"), 3)):
        report = trace(tmp_path / "x", *words)
        assert len((report.get("traces") or {"queries": ()})["queries"]) == kept
    report = trace(tmp_path / "x", "--texts", "1", "--queries", "1")
    assert list(report["traces"]["queries"]) == ["q2"]
    assert len(report["matrices"]["q2"]["cells"][0]["evidence"]) > 1000
    text = (tmp_path / "x/report.html").read_text(encoding="utf-8")
    assert "Texts are those of 1 of 3 queries, the worst" in text
    size = re.search(r"this page takes (\d+) kB", text)
    assert size
    assert abs(int(size[1]) - len(text.encode()) / 1000) < 1
    file, answers = (str(tmp_path / "x" / name) for name in ("judged.jsonl", "answers.jsonl"))
    words = [file, "-m", "crag_score", "--answers", answers, "--texts", "2", "-o", str(tmp_path / "r.html")]
    assert "texts of 2 of 3 queries, the worst first; --texts all" in rageval_("report", *words).stderr


def test_a_reply_is_taken_from_the_store_only_if_it_is_the_one_that_was_read(tmp_path: Path) -> None:
    records = [judgement(f"q{number}", "r", "perfect") for number in range(4)]
    store = stored(tmp_path, records, 1)
    key = records[0]["key"]
    records[1] |= {"key": key, "raw": "another reply"}
    records[2] |= {"key": key[:3]}
    records[3] |= {"key": {"not": "a text"}, "raw": 7}
    file = lines(tmp_path, "judged.jsonl", records)
    report = reported(tmp_path, file, "-m", "crag_score", "--store", store)["traces"]
    calls = [call for one in report["queries"].values() for call in one.get("calls", ())]
    assert [call.get("user") for call in calls] == ["prompt 0", None, None]
    assert calls[1]["reply"] == "another reply"
    assert report["replies"] == {"asked": 3, "found": 1, "why": "the store does not have them"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*RUNS, "-m", "recall@10", "--passages", CRAG], "--passages applies to judged answers"),
        ([CRAG, "-m", "crag_score", "--texts", "-1"], "expected a whole number from 0, or all"),
        ([CRAG, "-m", "crag_score", "--texts", "٣"], "expected a whole number from 0, or all"),
        (["{}/judged.jsonl", "-m", "crag_score", "--store", "{}/none"], "there is no store of replies at"),
        (["{}/judged.jsonl", "-m", "crag_score", "--store", "{}/judged.jsonl"], "judged.jsonl"),
    ],
)
def test_what_can_be_got_wrong_about_texts_is_told(tmp_path: Path, words: list[str], message: str) -> None:
    lines(tmp_path, "judged.jsonl", [judgement("q", "r", "perfect", key="0123456789abcdef")])
    result = rageval_(
        "report", *(word.format(tmp_path) for word in words), "-o", str(tmp_path / "r.html"), code=2
    )
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "r.html").exists()


def test_assignments_bring_their_own_answers(tmp_path: Path) -> None:
    folder = Path(CRAG).parent
    report = reported(tmp_path, str(folder / "assignments.jsonl"), "-m", "v_strict")["traces"]["queries"]
    sentence = report["2024-901"]["answers"][0]["sentences"][0][0]
    assert sentence.startswith("Chlorophyll breaks down")


@pytest.mark.slow
def test_from_python_it_is_the_same_page(tmp_path: Path) -> None:
    by_command = trace(tmp_path)
    files = {name: str(tmp_path / f"{name}.jsonl") for name in ("judged", "answers", "questions", "passages")}
    judged = [json.loads(line) for line in Path(files["judged"]).read_text().splitlines()]
    scores = rageval.evaluate_answers("crag_score", judged)
    for given in (judged, files["judged"]):
        place = rageval.report(
            *(scores, tmp_path / "python.html"),
            judgements=given,
            answers=[json.loads(line) for line in Path(files["answers"]).read_text().splitlines()],
            questions=files["questions"],
            passages=files["passages"],
            store=tmp_path / "store.sqlite",
        )
        report = read_report(place)
        for name in ("runs", "traces", "matrices", "cells", "comparison", "spending"):
            assert report[name] == by_command[name], name
    rageval.report(scores, place, judgements=judged, answers=files["answers"], texts=1)
    assert len(read_report(place)["traces"]["queries"]) == 1
    for wrong in ({"answers": files["answers"]}, {"judgements": judged, "texts": -1}):
        with pytest.raises(RagevalError, match=r"report:"):
            rageval.report(scores, place, **wrong)
    with pytest.raises(RagevalError, match="have no run ours, theirs"):
        rageval.report(scores, place, judgements=[judgement("q", "other", "perfect")])


def test_from_python_runs_show_what_they_found(tmp_path: Path) -> None:
    by_command = reported(tmp_path, *RUNS, "-m", "recall@10,rr")
    scores = [rageval.evaluate("recall@10,rr", run, RUNS[2]) for run in RUNS[:2]]
    place = rageval.report(scores, tmp_path / "python.html", runs=RUNS[:2], qrels=RUNS[2])
    report = read_report(place)
    for name in ("runs", "cells", "comparison", "matrices", "topics"):
        assert report[name] == by_command[name], name
    others = [rageval.evaluate("recall@10,rr", run, RUNS[2], ties="docid_asc") for run in RUNS[:2]]
    for wrong, given in (
        (others, {"runs": RUNS[:2], "qrels": RUNS[2]}),
        (scores, {"runs": RUNS[:1], "qrels": RUNS[2]}),
        (scores, {"runs": RUNS[:1]}),
        (scores, {"runs": RUNS[:2], "qrels": RUNS[2], "judgements": CRAG}),
    ):
        with pytest.raises(RagevalError, match=r"report: (the scores of|expected runs and qrels)"):
            rageval.report(wrong, place, **given)


# --- in a browser


def test_quotes_are_lit_or_said_not_to_be_found_and_prompts_are_one_click_away(
    pages: dict[str, Path], opened: Open
) -> None:
    tab, report = opened(pages["answers"]), read_report(pages["answers"])
    query = next(q for q, one in report["traces"]["queries"].items() if one.get("calls", [{}])[0].get("user"))
    index = report["queries"]["ids"].index(query)
    tab.evaluate(f"location.hash = 'q={query}'")
    until(tab, f"current === {index}")
    assert texts(tab, ".gold li") == [f"Gold {index}"]
    shown_runs = [run for run in report["runs"] if run != "older"]  # whose answers are not in the file
    assert [text.split()[0] for text in texts(tab, ".trace h3")] == shown_runs
    matrix = report["matrices"][query]
    for number, run in enumerate(shown_runs):
        article = tab.locator(".trace").nth(number)
        cells = [cell for cell in matrix["cells"] if matrix["columns"][cell["column"]] == run]
        quoted = [cell["evidence"].startswith("RAINS") for cell in cells if "evidence" in cell]
        lit = [re.sub(r"[a-z]$", "", text) for text in article.locator(".row mark").all_text_contents()]
        assert lit == [f"rains in place {index}"] * any(quoted), "folded as the judge's quotes are"
        assert article.get_by_text("its quote was not found word for word").count() == quoted.count(False)
        assert article.locator(".cites").all_text_contents() == [" [1]", " [2][1]"]
        assert "its text is missing" in article.locator(".passages li").nth(1).text_content()
    call = next(call for call in report["traces"]["queries"][query]["calls"] if "user" in call)
    summary = tab.locator("details.call > summary", has_text="Prompt and raw reply").first
    summary.focus()
    tab.keyboard.press("Enter")
    until(tab, "document.querySelectorAll('details.call[open] pre').length === 3")
    assert texts(tab, "details.call[open] pre") == ["Judge well.", call["user"], call["reply"]]


def test_a_citation_is_lit_in_the_passage_it_was_judged_by(tmp_path: Path, opened: Open) -> None:
    place = {"query_id": "q", "run_id": "r", "item_id": "d1", "status": "ok", "judge": "j"}
    judged = [{**place, "aspect": "0", "label": "full_support", "evidence": "Rain falls"}]
    judged.append({**place, "item_id": "d2", "aspect": "1", "label": "no_support"})
    lines(tmp_path, "answers.jsonl", answered(["q"], ["r"]))
    words = (lines(tmp_path, "judged.jsonl", judged), "-m", "citation_precision")
    reported(tmp_path, *words, "--answers", str(tmp_path / "answers.jsonl"), "--on-missing", "skip")
    tab = opened(tmp_path / "report.html")
    assert texts(tab, ".passages mark") == ["Rain fallsa"]
    assert texts(tab, ".row > div:first-child mark") == []
    verdicts = " ".join(texts(tab, ".verdicts li"))
    assert "sentence 1 by passage 1" in verdicts
    assert "quoted from passage 1" in verdicts
    assert "sentence 2 by passage 2" in verdicts


ODD = ["100% a/b?c#d", "%41", "A", "é 漢", "q=1&x", "__proto__", "0", "12"]


def test_every_query_has_an_address_by_its_id(tmp_path: Path, opened: Open) -> None:
    records = [judgement(query, "r", "perfect") for query in ODD]
    reported(tmp_path, lines(tmp_path, "judged.jsonl", records), "-m", "crag_score")
    tab = opened(tmp_path / "report.html")
    links = dict(
        tab.eval_on_selector_all(
            "#diff-table tbody a", "all => all.map(one => [one.textContent, one.getAttribute('href')])"
        )
    )
    assert sorted(links) == sorted(ODD)
    for query, address in links.items():
        assert address.startswith("#q=")
        tab.goto((tmp_path / "report.html").as_uri() + address)
        until(tab, f"document.getElementById('query-title').textContent === {json.dumps('Query ' + query)}")
    tab.evaluate("location.hash = 'q=100% a/b?c'")  # a bare % is no encoding
    until(tab, "document.getElementById('query-title').textContent === 'No such query'")


@pytest.mark.parametrize("name", ["runs", "answers", "hostile", "many", "judges"])
def test_a_phone_shows_it_without_scrolling_sideways(
    pages: dict[str, Path], opened: Open, name: str, tmp_path: Path
) -> None:
    place = pages[name] if name in pages else tmp_path / "report.html"
    if name == "many":
        runs = [str(tmp_path / f"a_run_with_a_rather_long_name_{number}.trec") for number in range(12)]
        for run in runs:
            Path(run).write_bytes(Path(RUNS[len(run) % 2]).read_bytes())
        reported(tmp_path, *runs, RUNS[2], "-m", "alpha_ndcg@10,recall@10,coverage@20,rr", "--all-pairs")
    elif name == "judges":
        some = [
            judgement(f"q{number}", "r", "perfect", f"judge:{who}@1234")
            for number in range(6)
            for who in range(4)
        ]
        reported(tmp_path, lines(tmp_path, "judged.jsonl", some), "-m", "crag_score")
    tab = opened(place, viewport={"width": 400, "height": 800})
    for one in tab.query_selector_all("details > summary"):
        if one.is_visible():
            one.click()
    width = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    assert tab.evaluate(width) == [400, 400]
    tab.set_viewport_size({"width": 320, "height": 800})
    assert tab.evaluate(width) == [320, 320]


def test_of_many_pairs_those_that_are_asked_for_look_like_the_others(
    tmp_path: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [*RUNS[:2], str(tmp_path / "other.trec")]
    Path(runs[2]).write_bytes(Path(RUNS[1]).read_bytes().replace(b" 1 ", b" 9 "))
    words = [*runs, RUNS[2], "-m", "alpha_ndcg@10,coverage@20", "--all-pairs", "--bounds"]
    shown_ = []
    for most in (60, 1):
        monkeypatch.setattr("rageval.pages.page._MOST_PAIRS", most)
        pairs = reported(tmp_path, *words)["comparison"]["pairs"]
        tab = opened(tmp_path / "report.html")
        assert len(texts(tab, "#pairs tbody tr")) == min(most, len(pairs))
        if most == 1:
            assert texts(tab, "#pairs-more") == [f"Show all {len(pairs)} pairs"]
        tab.click("#pairs thead th:nth-child(5) button")  # sorted are all of them
        cell = "[cell.innerText.replace(/\\s+/g, ' '), cell.dataset.label]"
        rows = f"all => all.map(row => [...row.cells].map(cell => {cell}))"
        shown_.append(tab.eval_on_selector_all("#pairs tbody tr", rows))
    assert shown_[0] == shown_[1]
    assert len(shown_[0]) == len(pairs) == 6


@pytest.mark.slow
def test_many_judges_are_a_table(tmp_path: Path) -> None:
    label = {0: "perfect", 1: "missing"}
    some = [
        judgement(f"q{number}", "r", label[number % 2 if who else 0], f"judge {who}")
        for number in range(6)
        for who in range(4)
    ]
    report = reported(tmp_path, lines(tmp_path, "judged.jsonl", some), "-m", "crag_score")
    assert [(one["judge"], one["other"], one["disagreements"]) for one in report["judging"]] == [
        *(("judge 0", f"judge {who}", 3) for who in (1, 2, 3)),
        *((f"judge {one}", f"judge {other}", 0) for one, other in ((1, 2), (1, 3), (2, 3))),
    ]
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    table = text[text.index('<table id="judging"') :].partition("</table>")[0]
    assert table.count("<tr>") == 1 + 6
    alone = text[text.index('<table id="by-judge"') :].partition("</table>")[0]
    assert re.findall(r'class="value">|data-sort="([^"]*)"', alone) == ["1.0", "0.5", "0.5", "0.5"]


def test_a_chart_is_saved_as_a_file_of_its_own(pages: dict[str, Path], browser: Any) -> None:
    tab = browser.new_context(color_scheme="dark").new_page()
    tab.goto(pages["runs"].as_uri())
    for name, shapes in (("intervals", "circle"), ("differences", "rect")):
        with tab.expect_download() as saved:
            tab.click(f"button[data-chart={name}]")
        assert saved.value.suggested_filename == f"{name}.svg"
        text = Path(saved.value.path()).read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in text
        assert "class=" not in text
        drawn = [element for element in root.iter() if element.tag.endswith(shapes)]
        assert len(drawn) == {"intervals": 2, "differences": 12}[name]
        light = {"rgb(29, 78, 216)", "rgb(10, 107, 80)", "rgb(166, 58, 6)"}
        assert {element.get("fill") for element in drawn} <= light, "paper is white"
    tab.context.close()
