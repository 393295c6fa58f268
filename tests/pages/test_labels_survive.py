"""Labels survive: the program is killed while somebody labels, again and again."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from labeling import plan_of
from report_pages import browser_, until  # noqa: F401

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("LABEL_KILLS", "4"))  # fifty in `make nightly`
# The port follows from plan and annotator: tests at the same time need one each.
WHO = f"kim-{os.getpid()}"
LONGEST = 0.4  # seconds of labeling before a kill
SAVED = "saved on this computer"
IS_SAVED = f"document.getElementById('saved').textContent === '{SAVED}'"
# What was said of each position since it was last shown as saved: the file has one of these. From outside: by
# what the page shows, and by its own list of what was said.
WATCH = """() => {
  window.history_ = {};
  const value = (at) => (isLabeled(at) ? state.said[at].value : "none");
  const values = () => Object.fromEntries([...data.asks.keys()].map((at) => [at, value(at)]));
  const note = () => {
    const isSaved = document.getElementById("saved").textContent === "saved on this computer";
    for (const [at, value] of Object.entries(values())) {
      const known = history_[at] ?? ["none"];
      history_[at] = isSaved ? [value] : [...new Set([...known, value])];
    }
  };
  for (const id of ["saved", "count", "title"]) {
    new MutationObserver(note).observe(document.getElementById(id), { childList: true });
  }
  note();
}"""
SAID = "Object.fromEntries(Object.entries(state.said).map(([at, one]) => [at, one.value ?? null]))"


class Program:
    """`rageval label page --serve`, started, killed and started again."""

    def __init__(self, plan: Path, labels: Path) -> None:
        words = ["label", "page", str(plan), "--annotator", WHO, "--serve", str(labels)]
        self.command = [sys.executable, "-u", "-m", "rageval", *words]
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> str:
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
        )
        assert self.process.stdout is not None
        line = ""
        while not line.startswith("http"):  # the file may have something to be said of it first
            line = self.process.stdout.readline()
            assert line, self.process.wait()
        return line.strip()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            with suppress(AttributeError):
                self.process.stdout.close()  # type: ignore[union-attr]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(plan_of(tmp_path, 60), tmp_path / "labels.jsonl")
    yield program
    program.kill()


def labels_in(labels: Path) -> dict[tuple[str, str], str | None]:
    """What the file says of each thing; nothing twice, and every line whole."""
    if not labels.exists():
        return {}
    rows = [json.loads(line) for line in labels.read_text(encoding="utf-8").splitlines()]
    saved = {(row["query_id"], row["run_id"]): row.get("label") for row in rows}
    assert len(saved) == len(rows)
    return saved


def test_no_label_that_was_shown_as_saved_is_lost_by_a_kill(
    tmp_path: Path, program: Program, browser: Any
) -> None:
    rng = random.Random(KILLS)
    labels = tmp_path / "labels.jsonl"
    address = program.start()
    tab = browser.new_page()
    faults: list[str] = []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("dialog", lambda dialog: dialog.accept())  # leaves though labels wait
    tab.goto(address)
    tab.evaluate(WATCH)
    places = tab.evaluate("[...data.asks.keys()].map((at) => opened(data.asks[at]))")
    keys = [(place["query_id"], place["run_id"]) for place in places]
    before: dict[tuple[str, str], str | None] = {}  # what the file said when the page was opened again
    for kill in range(KILLS):
        timer = Timer(rng.uniform(0.01, LONGEST), program.kill)
        timer.start()
        while timer.is_alive():
            # New labels, others in place of old ones, and labels that are taken back.
            for key in rng.choice(["1", "2", "3", "0", "4", "u", "ArrowLeft", "12", "13"]).split():
                for one in [key] if len(key) > 2 else key:
                    tab.keyboard.press(one)
        timer.join()
        if rng.random() < 0.5:  # more, while nobody answers
            tab.keyboard.press(rng.choice("1234"))
        history = tab.evaluate("history_")
        saved = labels_in(labels)
        for position, values in history.items():
            label = saved.get(keys[int(position)], "none")
            # What waited when the page was opened is newer than the file, and may wait still.
            possible = [*values, before.get(keys[int(position)], "none")]
            assert label in possible, (kill, position, label, possible)
        assert program.start() == address
        if rng.random() < 0.3:  # the page is opened again: what waited is in the browser
            before = labels_in(labels)
            tab.reload()
            tab.evaluate(WATCH)
        if rng.random() < 0.7 or kill == KILLS - 1:  # else the next kill may come before it has connected
            until(tab, IS_SAVED)
            shown = tab.evaluate(SAID)
            assert {keys[int(place)]: value for place, value in shown.items()} == labels_in(labels)
    assert tab.is_hidden("#trouble")
    assert faults == []
    assert len(labels_in(labels)) > KILLS / 2
    assert [path.name for path in tmp_path.glob(".*.part")] == []
    tab.close()


def test_a_page_says_in_plain_words_that_its_program_is_gone_and_finds_it_again(
    tmp_path: Path, program: Program, browser: Any
) -> None:
    address = program.start()
    tab = browser.new_page()
    tab.goto(address)
    tab.keyboard.press("1")
    until(tab, IS_SAVED)
    program.kill()
    assert tab.text_content("#saved") == SAVED  # it is
    tab.keyboard.press("2")
    tab.keyboard.press("3")
    until(tab, "!document.getElementById('trouble').hidden")
    until(tab, "document.getElementById('saved').textContent === '2 labels not saved yet'")
    message = tab.text_content("#trouble")
    assert "does not answer. 2 labels are not saved yet. They are saved in this browser" in message
    assert "Start the program again with the same command; this page then reconnects." in message
    tab.keyboard.press("u")  # taking back is labeling, too
    assert program.start() == address
    until(tab, IS_SAVED)
    assert tab.is_hidden("#trouble")
    assert list(labels_in(tmp_path / "labels.jsonl").values()) == ["perfect", "acceptable"]
    tab.close()


def test_what_was_said_while_the_program_was_gone_outlives_the_page(
    tmp_path: Path, program: Program, browser: Any
) -> None:
    """Also a label in place of another, and one taken back: what waits is newer than the file."""
    address = program.start()
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(address)
    for key in "123":
        tab.keyboard.press(key)
    until(tab, IS_SAVED)
    program.kill()
    tab.keyboard.press("u")
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("4")
    tab.keyboard.press("n")
    tab.keyboard.type("a note")
    tab.close()
    assert list(labels_in(tmp_path / "labels.jsonl").values()) == ["perfect", "acceptable", "missing"]
    assert program.start() == address
    tab = context.new_page()
    tab.goto(address)
    until(tab, IS_SAVED)
    assert list(labels_in(tmp_path / "labels.jsonl").values()) == ["perfect", "incorrect"]
    other = browser.new_context().new_page()  # another browser says otherwise, later
    other.goto(address)
    until(other, "document.getElementById('count').textContent === '2 of 120 labeled'")
    other.keyboard.press("ArrowLeft")
    other.keyboard.press("1")
    until(other, IS_SAVED)
    tab.reload()
    until(tab, IS_SAVED)
    shown = tab.evaluate("Object.values(state.said).map((one) => one.value).filter(Boolean)")
    assert shown == list(labels_in(tmp_path / "labels.jsonl").values())
    context.close()


def test_one_label_that_is_not_accepted_blocks_no_other(
    tmp_path: Path, program: Program, browser: Any
) -> None:
    tab = browser.new_page()
    tab.goto(program.start())
    until(tab, IS_SAVED)
    tab.evaluate(
        "() => { data.labels[0][0] = 'splendid'; show(state.at); }"
    )  # a page that knows another scale
    for key in "1234":
        tab.keyboard.press(key)
    until(tab, "document.getElementById('saved').textContent === '1 not accepted, the others saved'")
    message = tab.text_content("#rejected")
    assert "1 label was not accepted and is not saved. Label again" in message
    assert "expected one of acceptable, incorrect, missing, perfect, found 'splendid'" in message
    assert tab.is_hidden("#trouble")
    labels = tmp_path / "labels.jsonl"
    assert list(labels_in(labels).values()) == ["acceptable", "missing", "incorrect"]
    tab.click("#rejected button")
    assert tab.text_content("#title").startswith("1 of 120")
    tab.keyboard.press("2")  # corrected
    until(tab, IS_SAVED)
    assert tab.is_hidden("#rejected")
    assert list(labels_in(labels).values()) == ["acceptable", "acceptable", "missing", "incorrect"]
    tab.close()


def test_the_words_of_the_program_are_shown_and_it_is_tried_again(
    tmp_path: Path, program: Program, browser: Any
) -> None:
    tab = browser.new_page()
    address = program.start()
    tab.goto(address)
    tab.keyboard.press("1")
    until(tab, IS_SAVED)
    labels = tmp_path / "labels.jsonl"
    labels.write_bytes(labels.read_bytes() + b"\n")  # an editor
    tab.keyboard.press("2")
    until(tab, "!document.getElementById('trouble').hidden")
    message = tab.text_content("#trouble")
    assert "cannot be saved: labels.jsonl was changed by another program; stop rageval label page" in message
    assert "This page keeps trying." in message
    program.kill()
    assert program.start() == address
    until(tab, IS_SAVED)
    assert list(labels_in(labels).values()) == ["perfect", "acceptable"]
    tab.close()


def test_two_tabs_of_one_browser_lose_nothing_between_them(
    tmp_path: Path, program: Program, browser: Any
) -> None:
    address = program.start()
    context = browser.new_context()
    tabs = [context.new_page() for _ in range(2)]
    for tab in tabs:
        tab.goto(address)
        until(tab, IS_SAVED)
    program.kill()
    for tab, key in zip(tabs * 2, "1234", strict=True):
        tab.bring_to_front()
        tab.keyboard.press("o")
        tab.keyboard.press(key)
        for other in tabs:  # each knows what the other has
            until(other, f"labeled() === {key}")
    assert program.start() == address
    for tab in tabs:
        tab.bring_to_front()
        until(tab, IS_SAVED)
    assert sorted(map(str, labels_in(tmp_path / "labels.jsonl").values())) == [
        "acceptable",
        "incorrect",
        "missing",
        "perfect",
    ]
    context.close()


def test_labels_that_tools_wrote_are_shown_too(tmp_path: Path, program: Program, browser: Any) -> None:
    """The file may hold a grade without its label, which `score` reads."""
    address = program.start()
    tab = browser.new_page()
    tab.goto(address)
    tab.keyboard.press("2")
    until(tab, IS_SAVED)
    program.kill()
    labels = tmp_path / "labels.jsonl"
    row = json.loads(labels.read_text())
    del row["label"]
    labels.write_text(json.dumps(row) + "\n")
    assert program.start() == address
    tab.reload()
    until(tab, IS_SAVED)
    assert tab.text_content("#count") == "1 of 120 labeled"
    tab.keyboard.press("ArrowLeft")
    assert tab.get_attribute("#choices button >> nth=1", "aria-pressed") == "true"
    assert tab.is_hidden("#remark")
    tab.close()
