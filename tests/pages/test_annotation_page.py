"""People label in a real browser: by keyboard, over days, on a telephone, by ear, and under attack."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from labeling import ANSWERS, NAMES, plan_of, written
from rageval.cli import main
from rageval.text import visible
from report_pages import ATTACK, BROWSERS, HOSTILE, Open, browser_, opened_, texts, until  # noqa: F401
from test_report_safety import CONTRAST, LACKING

pytestmark = pytest.mark.slow

LABELS = ("perfect", "acceptable", "missing", "incorrect")


def page_of(folder: Path, questions: int, rubric: str = "crag", annotator: str = "kim") -> Path:
    plan_of(folder, questions, rubric)
    return written(folder, "label", "page", "ask.jsonl", "--annotator", annotator, "-o", "label.html")


def rageval(*words: object) -> str:
    result = CliRunner().invoke(main, list(map(str, words)), prog_name="rageval")
    assert result.exit_code == 0, result.output
    return result.stdout


def exported(tab: Any, place: Path) -> list[dict[str, Any]]:
    with tab.expect_download() as download:
        tab.click("#export")
    assert download.value.suggested_filename.startswith("labels-")
    download.value.save_as(place)
    return [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]


def wanted(tab: Any) -> str:
    """The key for the answer that is shown, so that every answer has its label, wherever it stands."""
    text = tab.text_content(".text.main div")
    return str(int(text.split(" of ")[1].split(",")[0]) % 4 + 1) if "in one words" in text else "4"


@pytest.fixture
def started(tmp_path: Path, browser: Any) -> Iterator[Callable[[], Any]]:
    """Starts a browser that keeps what it has saved when it is closed, and starts it again."""
    path = next(filter(None, map(shutil.which, BROWSERS)))
    contexts: list[Any] = []

    def start() -> Any:
        while contexts:
            contexts.pop().close()
        profile = str(tmp_path / "profile")
        contexts.append(browser.browser_type.launch_persistent_context(profile, executable_path=path))
        return contexts[0].new_page()

    yield start
    while contexts:
        contexts.pop().close()


def test_fifty_labels_by_keyboard_with_the_browser_closed_in_between(
    tmp_path: Path, started: Callable[[], Any]
) -> None:
    page = page_of(tmp_path, 25)
    tab = started()
    tab.goto(page.as_uri())
    for number in range(23):
        assert tab.text_content("#title").startswith(f"{number + 1} of 50 · question {number // 2 + 1} of 25")
        tab.keyboard.press(wanted(tab))
    tab.keyboard.press("n")
    tab.keyboard.type("Not sure. 14")
    tab.keyboard.press("Escape")
    tab = started()
    tab.goto(page.as_uri())
    assert tab.text_content("#count") == "23 of 50 labeled"
    assert tab.text_content("#title").startswith("24 of 50")
    assert tab.input_value("#note") == "Not sure. 14"
    for _ in range(27):
        tab.keyboard.press(wanted(tab))
    assert tab.text_content("#count") == "50 of 50 labeled"
    assert tab.text_content("#said") == "Everything is labeled. Export your labels."
    labels = exported(tab, tmp_path / "labels.jsonl")
    expected = {
        place: LABELS[int(place[0][1:]) % 4] if place[1] == NAMES[0] else "incorrect"
        for place in ANSWERS
        if int(place[0][1:]) < 25
    }
    assert {(one["query_id"], one["run_id"]): one["label"] for one in labels} == expected
    assert [one["order"] for one in labels] == list(range(1, 51))
    assert [one.get("note") for one in labels if "note" in one] == ["Not sure. 14"]
    assert {(one["annotator"], one["judge"], one["status"]) for one in labels} == {
        ("kim", "person:kim", "ok")
    }
    assert all(one["seconds"] >= 0 and one["plan"] and one["version"] for one in labels)
    shares = [LABELS[number % 4] for number in range(25)]
    values = {"perfect": 1.0, "acceptable": 0.5, "missing": 0.0, "incorrect": -1.0}
    scored = json.loads(rageval(tmp_path / "labels.jsonl", "-m", "crag_score", "--format", "json"))
    means = {one["run"]: one["value"] for one in scored["results"]}
    assert means[NAMES[0]] == pytest.approx(sum(map(values.__getitem__, shares)) / 25)
    assert means[NAMES[1]] == -1
    both = tmp_path / "judged.jsonl", tmp_path / "labels.jsonl"
    plan = "--gold-chosen", tmp_path / "ask.jsonl"
    agreement = json.loads(rageval("label", "agree", *both, *plan, "--format", "json"))
    assert agreement["compared"] == 50
    gold = ["--gold", tmp_path / "labels.jsonl", "--gold-chosen", tmp_path / "ask.jsonl"]
    assert "labels" in rageval(
        "label", "correct", tmp_path / "judged.jsonl", *gold, "-m", "crag_score", "--format", "md"
    )
    words = (
        "compare",
        tmp_path / "judged.jsonl",
        *gold,
        "-m",
        "crag_score",
        "--all-pairs",
        "--format",
        "json",
    )
    (pair,) = json.loads(rageval(*words))["pairs"]
    assert (pair["labels"], pair["difference"]) == (25, pytest.approx(means[NAMES[0]] - means[NAMES[1]]))


def test_undo_brings_back_what_was_and_goes_there(tmp_path: Path, opened: Open) -> None:
    tab = opened(page_of(tmp_path, 3))
    assert tab.is_disabled("#undo")
    for key in "123":
        tab.keyboard.press(key)
    tab.keyboard.press("u")
    assert tab.text_content("#title").startswith("3 of 6")
    assert tab.text_content("#count") == "2 of 6 labeled"
    tab.keyboard.press("ArrowLeft")
    assert tab.get_attribute("#choices button >> nth=1", "aria-pressed") == "true"
    tab.keyboard.press("4")  # labeled otherwise, and undone
    tab.keyboard.press("Control+z")
    assert tab.text_content("#title").startswith("2 of 6")
    assert tab.get_attribute("#choices button >> nth=1", "aria-pressed") == "true"
    assert [one["label"] for one in exported(tab, tmp_path / "l.jsonl")] == ["perfect", "acceptable"]
    tab.keyboard.press("u")
    tab.keyboard.press("u")
    tab.keyboard.press("u")  # there is nothing any more
    assert tab.text_content("#count") == "0 of 6 labeled"
    assert exported(tab, tmp_path / "l.jsonl") == []


def test_what_cannot_be_told_is_missing_and_no_grade(tmp_path: Path, opened: Open) -> None:
    tab = opened(page_of(tmp_path, 2))
    for key in "0111":
        tab.keyboard.press(key)
    first, *rest = exported(tab, tmp_path / "labels.jsonl")
    assert (first["status"], first["detail"]) == ("refused", "can't tell")
    assert "label" not in first
    assert "grade" not in first
    assert {one["status"] for one in rest} == {"ok"}
    words = ["score", str(tmp_path / "labels.jsonl"), "-m", "crag_score"]
    assert CliRunner().invoke(main, words).exit_code == 3
    output = json.loads(rageval(*words, "--on-missing", "skip", "--format", "json"))
    assert sorted(one["queries"] for one in output["results"]) == [1, 2]


def test_the_next_open_one_is_found_and_notes_are_no_labels(tmp_path: Path, opened: Open) -> None:
    tab = opened(page_of(tmp_path, 3))
    tab.keyboard.press("1")
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    tab.keyboard.press("n")
    tab.keyboard.type("1 2 3 u 0")  # keys of a note label nothing
    tab.keyboard.press("Escape")
    assert tab.text_content("#count") == "1 of 6 labeled"
    tab.keyboard.press("2")
    assert tab.text_content("#title").startswith("6 of 6")
    tab.keyboard.press("3")
    assert tab.text_content("#title").startswith("2 of 6")  # the first that is open
    tab.keyboard.press("o")
    assert tab.text_content("#title").startswith("3 of 6")
    labels = exported(tab, tmp_path / "labels.jsonl")
    assert [(one["order"], one.get("note")) for one in labels] == [(1, None), (5, "1 2 3 u 0"), (6, None)]
    tab.uncheck("#keys")
    tab.keyboard.press("1")
    assert tab.text_content("#count") == "3 of 6 labeled"


def test_labels_are_taken_in_where_nothing_is_labeled_and_all_or_none(tmp_path: Path, opened: Open) -> None:
    page = page_of(tmp_path, 3)
    tab = opened(page)
    for key in "1230":
        tab.keyboard.press(key)
    exported(tab, tmp_path / "labels.jsonl")
    other = opened(page)  # in another browser
    other.keyboard.press("4")
    other.set_input_files("#file", str(tmp_path / "labels.jsonl"))
    until(other, "document.getElementById('count').textContent === '4 of 6 labeled'")
    assert (
        other.text_content("#said") == "3 labels imported; 1 already have another label here, which is kept"
    )
    labels = exported(other, tmp_path / "again.jsonl")
    assert [one.get("label") for one in labels] == ["incorrect", "acceptable", "missing", None]
    before = (tmp_path / "labels.jsonl").read_text(encoding="utf-8")
    last = opened(page)
    for text, message in (
        (before.replace('"kim"', '"lee"'), "line 1: is a label of lee, but this page is for kim"),
        (before.replace('"plan":"', '"plan":"0'), "line 1: is a label of another plan"),
        (before.replace('"missing"', '"splendid"'), "line 3: expected one of perfect, acceptable"),
        (before.replace("q000", "p000"), "line 1: this page does not ask for that"),
        (before + "[1\n", "line 5: expected a label as this page exports it, found no JSON"),
        (before + "null\n", "line 5: is a label of another plan"),
    ):
        (tmp_path / "bad.jsonl").write_text(text, encoding="utf-8")
        last.set_input_files("#file", str(tmp_path / "bad.jsonl"))
        until(last, f"document.getElementById('trouble').textContent.includes({json.dumps(message)})")
        assert last.text_content("#count") == "0 of 6 labeled"
    last.set_input_files("#file", str(tmp_path / "labels.jsonl"))
    until(last, "document.getElementById('count').textContent === '4 of 6 labeled'")
    assert last.is_hidden("#trouble")


def test_of_a_pair_one_wins_and_the_order_is_kept(tmp_path: Path, opened: Open) -> None:
    tab = opened(page_of(tmp_path, 4, "pairwise"))
    assert texts(tab, "#choices button") == [
        "1 A is better",
        "2 B is better",
        "3 equally good",
        "0 can't tell",
    ]
    shown = []
    for key in "1230":
        shown.append([text.strip() for text in texts(tab, ".pair .text div")])
        tab.keyboard.press(key)
    labels = exported(tab, tmp_path / "labels.jsonl")
    assert [one.get("label") for one in labels] == ["win", "loss", "loss", "win", "tie", "tie", None, None]
    for (one, other), answers in zip(zip(labels[::2], labels[1::2], strict=True), shown, strict=True):
        assert one["shown"] == other["shown"] == [one["run_id"], other["run_id"]]
        assert answers == [ANSWERS[side["query_id"], side["run_id"]] for side in (one, other)]
    reopened = opened(tmp_path / "label.html")
    reopened.set_input_files("#file", str(tmp_path / "labels.jsonl"))
    until(reopened, "document.getElementById('count').textContent === '4 of 4 labeled'")
    assert exported(reopened, tmp_path / "again.jsonl") == labels
    scored = json.loads(
        rageval(tmp_path / "labels.jsonl", "-m", "win_rate", "--on-missing", "skip", "--format", "json")
    )
    points = {
        name: [one["grade"] for one in labels if one["run_id"] == name and "grade" in one] for name in NAMES
    }
    for one in scored["results"]:
        assert one["value"] == pytest.approx(sum(points[one["run"]]) / 3)


def test_nuggets_are_judged_one_after_the_other_beside_the_same_answer(tmp_path: Path, opened: Open) -> None:
    tab = opened(page_of(tmp_path, 2, "nugget-assignment"))
    asked = []
    for number in range(12):
        asked.append((tab.text_content(".text.main div"), tab.text_content("#asked")))
        tab.keyboard.press(str(number % 3 + 1))
    assert len({answer for answer, _ in asked}) == 4
    assert [text for _, text in asked[:3]] == [
        f"To be judged:{n}" for n in ("It rains.", "It snows.", "It blows.")
    ]
    labels = exported(tab, tmp_path / "labels.jsonl")
    assert [one["label"] for one in labels] == ["support", "partial_support", "not_support"] * 4
    assert [one["importance"] for one in labels] == ["vital", "okay", "okay"] * 4
    scored = json.loads(rageval(tmp_path / "labels.jsonl", "-m", "v_strict", "--format", "json"))
    assert [one["value"] for one in scored["results"]] == [1, 1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("rubric", ["crag", "pairwise", "nugget-assignment"])
def test_it_fits_a_telephone_and_has_contrast(tmp_path: Path, opened: Open, rubric: str, scheme: str) -> None:
    page = page_of(tmp_path, 2, rubric)
    for width in (400, 1200):
        tab = opened(page, viewport={"width": width, "height": 800}, color_scheme=scheme)
        # Instructions stand beside the answer, or are folded.
        assert tab.evaluate("document.getElementById('task').open") == (width == 1200)
        tab.keyboard.press("1")
        tab.keyboard.press("ArrowLeft")
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        panel = tab.query_selector(".panel").bounding_box()
        assert panel["y"] + panel["height"] <= 801
        assert panel["height"] < 300  # there is room for what is to be judged
        ratios = tab.evaluate(CONTRAST)
        assert len(ratios) > 15
        assert [text for ratio, text in ratios if ratio < 4.5] == []


@pytest.mark.parametrize("size", [(1280, 900), (768, 1024), (400, 800)])
def test_no_answer_is_labeled_whose_end_was_not_on_screen(
    tmp_path: Path, browser: Any, size: tuple[int, int]
) -> None:
    page = page_of(tmp_path, 2)
    answers = json.loads(page.read_text("utf-8").partition('id="data">')[2].partition("</script>")[0])
    long = "A sentence of an answer. " * 600
    for context in answers["contexts"]:
        context["answer"] = long
    head, _, tail = page.read_text("utf-8").partition('id="data">')
    page.write_text(f'{head}id="data">{json.dumps(answers)}{tail[tail.index("</script>") :]}', "utf-8")
    tab = browser.new_page(viewport={"width": size[0], "height": size[1]})
    tab.goto(page.as_uri())
    assert tab.text_content("#unread") == "Scroll to the end of the answer, then label it."
    pressed = 0
    while tab.text_content("#count").startswith("0 "):
        is_read = tab.is_hidden("#unread")
        tab.keyboard.press("1")
        pressed += 1
        assert is_read == tab.text_content("#count").startswith("1 ")
    assert pressed > 2
    tab.keyboard.press("ArrowLeft")
    tab.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    until(tab, "document.getElementById('unread').hidden")
    tab.close()


def test_a_screen_reader_finds_its_way(tmp_path: Path, opened: Open) -> None:
    tab = opened(page_of(tmp_path, 2, "nugget-assignment"))
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "title"
    assert [one for one in tab.evaluate(LACKING) if "aria-lab" not in one] == []
    ids = tab.eval_on_selector_all("[id]", "all => all.map(one => one.id)")
    assert len(ids) == len(set(ids))
    tab.keyboard.press("1")
    assert tab.text_content("[role=status]") == "support. 2 of 12"
    assert tab.evaluate("document.activeElement.id") == "title"
    reached = []
    while "Undo" not in "".join(reached):
        tab.keyboard.press("Tab")
        reached.append(tab.evaluate("document.activeElement.textContent.trim()"))
    assert reached[-8:-4] == ["1 support", "2 partial support", "3 not support", "0 can't tell"]
    assert "It snows." in reached[-9]
    snapshot = tab.locator("body").aria_snapshot()
    for line in (
        'button "support"',
        'progressbar "1 of 12 labeled"',
        'textbox "Note n"',
        'heading "2 of 12',
    ):
        assert line in snapshot, snapshot


def test_hostile_texts_are_shown_and_never_run(tmp_path: Path, opened: Open) -> None:
    huge = "long " * 100_000
    queries = ["__proto__", "constructor", HOSTILE]
    runs = ("__proto__", "javascript:hacked=3")
    rows = [
        {"query_id": q, "run_id": r, "rubric": "nugget-assignment", "aspect": "0", "label": "support"}
        for q in queries
        for r in runs
    ]
    (tmp_path / "j.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    answers = [
        {"query_id": q, "run_id": r, "answer": f"{HOSTILE}{r}\ta\r\nb {huge}"} for q in queries for r in runs
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    bank = [
        {"qid": q, "query": HOSTILE, "nuggets": [{"text": HOSTILE, "importance": "vital"}]} for q in queries
    ]
    (tmp_path / "n.jsonl").write_text("".join(json.dumps(row) + "\n" for row in bank))
    asked = [{"query_id": q, "question": f"{HOSTILE}\U000e0041"} for q in queries]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    words = [
        *("--answers", "a.jsonl", "--nuggets", "n.jsonl", "--questions", "q.jsonl", "-n", "3", "-o"),
        "p.jsonl",
    ]
    written(tmp_path, "label", "plan", "j.jsonl", *words)
    page = written(tmp_path, "label", "page", "p.jsonl", "--annotator", ATTACK[:50], "-o", "label.html")
    tab = opened(page, viewport={"width": 400, "height": 800})
    for _ in range(6):
        assert (
            tab.evaluate("document.querySelectorAll('img, iframe, object, [onerror], a:not(.skip)').length")
            == 0
        )
        assert tab.evaluate("document.scripts.length") == 2
        text = tab.evaluate("document.body.innerText")
        assert ATTACK in text
        assert "abc\\u202edcba" in text
        assert "\\U000e0041" in text
        assert "\u202e" not in text
        assert tab.evaluate("document.documentElement.scrollWidth") == 400
        tab.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        until(tab, "document.getElementById('unread').hidden")
        tab.keyboard.press("1")
    assert tab.evaluate("typeof hacked") == "undefined"
    labels = exported(tab, tmp_path / "labels.jsonl")
    assert sorted((one["query_id"], one["run_id"]) for one in labels) == sorted(
        (q, r) for q in queries for r in runs
    )
    reopened = opened(page)
    reopened.set_input_files("#file", str(tmp_path / "labels.jsonl"))
    until(reopened, "document.getElementById('count').textContent === '6 of 6 labeled'")


def test_a_browser_that_cannot_save_says_so_and_asks_before_it_closes(tmp_path: Path, browser: Any) -> None:
    page = page_of(tmp_path, 2)
    context = browser.new_context()
    context.add_init_script(
        "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }"
    )
    tab = context.new_page()
    tab.goto(page.as_uri())
    assert "Nothing can be saved in this browser (QuotaExceededError): export" in tab.text_content(
        "[role=alert]"
    )
    assert tab.text_content("#saved") == "not saved"
    tab.keyboard.press("1")
    assert len(exported(tab, tmp_path / "labels.jsonl")) == 1
    asked = []
    tab.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    # Who closes everything while the question is still answered may crash the browser.
    with tab.expect_event("close"):
        tab.close(run_before_unload=True)
    context.close()
    assert asked == ["beforeunload"]


def test_two_annotators_have_their_own_labels_in_one_browser(
    tmp_path: Path, started: Callable[[], Any]
) -> None:
    plan_of(tmp_path, 10)
    tab, files = started(), []
    for name in ("kim", "lee"):
        page = written(tmp_path, "label", "page", "ask.jsonl", "--annotator", name, "-o", f"{name}.html")
        tab.goto(page.as_uri())
        assert tab.text_content("#count") == "0 of 20 labeled"
        for _ in range(20):
            tab.keyboard.press(wanted(tab) if name == "kim" else "1")
        files.append(tmp_path / f"{name}.jsonl")
        exported(tab, files[-1])
    output = json.loads(
        rageval("label", "agree", *files, "--gold-chosen", tmp_path / "ask.jsonl", "--format", "json")
    )
    assert (output["compared"], output["queries"], output["systems"]) == (20, 10, 2)
    assert tab.evaluate("Object.keys(localStorage).length") == 2


def test_without_javascript_it_says_what_it_needs(tmp_path: Path, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(page_of(tmp_path, 1).as_uri())
    assert "needs JavaScript" in tab.text_content("noscript")
    context.close()


def test_grades_are_numbers_by_aspect(tmp_path: Path, opened: Open) -> None:
    answers = [
        {"query_id": "q1", "run_id": run, "answer": "So.", "passages": [{"id": "d", "text": "P."}]}
        for run in "xy"
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    gold = {"query_id": "q1", "question": "Why?", "answer": "So."}
    (tmp_path / "q.jsonl").write_text(json.dumps(gold) + "\n")
    places = [
        {"query_id": "q1", "run_id": run, "aspect": name}
        for run in "xy"
        for name in ("correctness", "faithfulness")
    ]
    (tmp_path / "j.jsonl").write_text(
        "".join(json.dumps({**row, "grade": 1, "rubric": "liverag"}) + "\n" for row in places)
    )
    written(
        tmp_path,
        "label",
        "plan",
        "j.jsonl",
        "--answers",
        "a.jsonl",
        "--questions",
        "q.jsonl",
        "-n",
        "1",
        "-o",
        "p.jsonl",
    )
    tab = opened(written(tmp_path, "label", "page", "p.jsonl", "-o", "label.html"))
    assert tab.text_content("#asked") == "Grade: correctness"
    assert texts(tab, "#choices button") == ["1 2", "2 1", "3 0", "4 -1", "0 can't tell"]
    for key in "1342":
        tab.keyboard.press(key)
    labels = exported(tab, tmp_path / "labels.jsonl")
    assert [(one["aspect"], one["grade"], "label" in one) for one in labels] == [
        ("correctness", 2, False),
        ("faithfulness", -1, False),
        ("correctness", -1, False),
        ("faithfulness", 0, False),
    ]
    scored = json.loads(rageval(tmp_path / "labels.jsonl", "-m", "correctness", "--format", "json"))
    assert sorted(one["value"] for one in scored["results"]) == [-1, 2]
    reopened = opened(tmp_path / "label.html")
    reopened.set_input_files("#file", str(tmp_path / "labels.jsonl"))
    until(reopened, "document.getElementById('count').textContent === '4 of 4 labeled'")


def test_documents_of_runs_are_labeled_in_an_order_that_tells_nothing(tmp_path: Path, opened: Open) -> None:
    docs = [f"d{number}" for number in range(8)]
    (tmp_path / "qrels").write_text("".join(f"q 0 {doc} {number % 4}\n" for number, doc in enumerate(docs)))
    for name, first in (("zanzibar-run", 0), ("quagmire-run", 2)):
        rows = [f"q Q0 d{first + number} {number + 1} {9 - number} r\n" for number in range(6)]
        (tmp_path / name).write_text("".join(rows))
    (tmp_path / "c.jsonl").write_text(
        "".join(json.dumps({"id": d, "text": f"Passage {d}."}) + "\n" for d in docs)
    )
    (tmp_path / "q.jsonl").write_text('{"query_id": "q", "question": "Which?"}\n')
    runs = [str(tmp_path / name) for name in ("qrels", "zanzibar-run", "quagmire-run")]
    words = ["--passages", "c.jsonl", "--questions", "q.jsonl", "--depth", "5", "-n", "1", "-o", "p.jsonl"]
    written(tmp_path, "label", "plan", *runs, *words)
    page = written(tmp_path, "label", "page", "p.jsonl", "-o", "label.html")
    tab = opened(page)
    for _ in range(7):
        number = int(tab.text_content(".text.main div").removeprefix("Passage d").removesuffix("."))
        tab.keyboard.press(str(4 - number % 4))
    labels = exported(tab, tmp_path / "labels.jsonl")
    assert sorted(one["item_id"] for one in labels) == docs[:7]  # the top five of either
    assert [one["item_id"] for one in labels] != docs[:7]
    assert {one["run_id"] for one in labels} == {"documents"}
    both, plan = (runs[0], tmp_path / "labels.jsonl"), ("--gold-chosen", tmp_path / "p.jsonl")
    agreement = json.loads(rageval("label", "agree", *both, *plan, "--format", "json"))
    assert (agreement["compared"], agreement["bias"]) == (7, 0)
    for name in ("zanzibar", "quagmire"):
        assert name not in page.read_text(encoding="utf-8")


def test_labels_of_a_pilot_go_into_the_page_of_the_plan_that_extends_it(tmp_path: Path, opened: Open) -> None:
    tab = opened(page_of(tmp_path, 40))
    for key in "1234" * 20:
        tab.keyboard.press(key)
    exported(tab, tmp_path / "labels.jsonl")
    plan_of(tmp_path, 400)  # other questions, and another order
    words = [
        *("judged.jsonl", "--compare", *NAMES, "--answers", "answers.jsonl", "--questions"),
        "questions.jsonl",
    ]
    written(tmp_path, "label", "plan", *words, "-n", "40", "--overwrite", "-o", "ask.jsonl")
    reopened = opened(
        written(tmp_path, "label", "page", "ask.jsonl", "--annotator", "kim", "-o", "label.html")
    )
    for key in "1434" * 20:
        reopened.keyboard.press(key)
    exported(reopened, tmp_path / "pilot.jsonl")
    words += ["-m", "crag_score", "--pilot", str(tmp_path / "pilot.jsonl"), "--width", "0.35"]
    written(tmp_path, "label", "plan", *words, "--overwrite", "-o", "ask.jsonl")
    page = written(tmp_path, "label", "page", "ask.jsonl", "--annotator", "kim", "-o", "label.html")
    last = opened(page)
    last.set_input_files("#file", str(tmp_path / "labels.jsonl"))
    until(last, "!document.getElementById('trouble').hidden")
    assert "is a label of another plan" in last.text_content("#trouble")
    last.set_input_files("#file", str(tmp_path / "pilot.jsonl"))
    until(last, "document.getElementById('count').textContent.startsWith('80 of ')")
    assert int(last.text_content("#count").split()[2]) > 80
    assert len({one["plan"] for one in exported(last, tmp_path / "all.jsonl")}) == 1


def test_what_is_damaged_in_the_browser_is_left_out(tmp_path: Path, opened: Open) -> None:
    tab = opened(page_of(tmp_path, 2))
    tab.keyboard.press("1")
    for kept in (
        '{"at": 99, "said": {"0": {"value": "perfect", "seconds": 1}, "1": null, "7": {"seconds": 1}}}',
        '{"at": "no", "said": {"0": {"value": "perfect", "seconds": 1}}}',
    ):
        tab.evaluate("kept => localStorage.setItem(KEY, kept)", kept)
        tab.reload()
        assert tab.text_content("#count") == "1 of 4 labeled"
        assert [one["label"] for one in exported(tab, tmp_path / "labels.jsonl")] == ["perfect"]


def test_the_page_writes_out_what_the_command_line_does(tmp_path: Path, opened: Open) -> None:
    tab = opened(page_of(tmp_path, 1))
    script = """() => {
      const found = [];
      for (let code = 0; code < 0x110000; code += 1) {
        const text = String.fromCodePoint(code);
        if (visible(text) !== text) found.push(code + " " + visible(text));
      }
      return found.join("\\n");
    }"""
    every = ((code, visible(chr(code))) for code in range(0x110000))
    assert tab.evaluate(script).split("\n") == [f"{code} {text}" for code, text in every if text != chr(code)]
