"""Makes the pictures of reports, labels and a leaderboard: `python docs/pictures.py`, with Playwright.

They are taken of what the commands on docs/report.md and docs/labeling.md make (two pages to label on, and
reports), and of the forty runs on docs/track.md.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from PIL import Image
from playwright.sync_api import sync_playwright

from rageval.cli import main

ROOT = Path(__file__).parents[1]
DATA = ROOT / "examples/data/labeling"
TRACE = ROOT / "examples/data/trace"
IMAGES = ROOT / "docs/images"
COLOURS = 96
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SHOWN = {"width": 1000, "height": 700}
REPORTED = {"width": 1000, "height": 1000}
LISTED = {"width": 780, "height": 520}
NARROW = {"width": 400, "height": 830}


def run(*words: object) -> None:
    """Run a command of rageval's."""
    done = CliRunner().invoke(main, list(map(str, words)))
    if done.exit_code:
        raise SystemExit(done.output)


def pages(folder: Path) -> tuple[Path, Path]:
    """Make a page of labels, and one of pairs."""
    read = ("--questions", DATA / "questions.jsonl")
    judged, plan = folder / "judged.jsonl", folder / "ask.jsonl"
    run("judge", "crag", DATA / "answers.jsonl", *read, "--judge", "contains", "-o", judged)
    words = (
        "label",
        "plan",
        judged,
        "--compare",
        "plain",
        "hedging",
        "--answers",
        DATA / "answers.jsonl",
        *read,
    )
    found = []
    for name, more in (("label", ()), ("pair", ("--rubric", "pairwise"))):
        run(*words, *more, "-n", 60, "--overwrite", "-o", plan)
        found.append(folder / f"{name}.html")
        run("label", "page", plan, "--annotator", "kim", "-o", found[-1])
    return found[0], found[1]


def report_of(folder: Path) -> Path:
    """Let the script that plays a person label, and make the report."""
    judged, plan, labels = (folder / name for name in ("judged.jsonl", "ask.jsonl", "kim.jsonl"))
    words = ("--answers", DATA / "answers.jsonl", "--questions", DATA / "questions.jsonl")
    run("label", "plan", judged, "--compare", "plain", "hedging", *words, "-n", 60, "--overwrite", "-o", plan)
    person = [sys.executable, str(DATA / "person.py"), str(plan), "kim"]
    labels.write_text(subprocess.run(person, capture_output=True, text=True, check=True).stdout)
    gold = ("--gold", labels, "--gold-chosen", plan, *words)
    run("report", judged, "-m", "crag_score", *gold, "-o", folder / "report.html")
    return folder / "report.html"


def leaderboard(folder: Path) -> Path:
    """Make the forty runs of docs/track.md, and their pages."""
    page = (ROOT / "docs/track.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    (folder / "examples").symlink_to(ROOT / "examples")
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)
    judged = ("--qrels", ROOT / "examples/data/qrels.nugget", "-m", "alpha_ndcg@10")
    run("track", folder / "forty", "--track", "run", *judged, "-o", folder / "board")
    return folder / "board/pages/index.html"


def trace_of(folder: Path) -> Path:
    """Make the report with traces, with the prompts that the judge by rule was asked."""
    store = folder / "replies.sqlite"
    words = [sys.executable, str(TRACE / "generate.py"), "--store", str(store)]
    subprocess.run(words, check=True)
    files = ("answers", "questions", "nuggets")
    options = [word for name in files for word in (f"--{name}", TRACE / f"{name}.jsonl")]
    page = folder / "trace.html"
    run("report", TRACE / "judged.jsonl", "-m", "nugget_recall", *options, "--store", store, "-o", page)
    return page


def smaller(name: str) -> None:
    """Keep as many colours of a picture as are seen."""
    path = IMAGES / name
    Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)


def take_reports(browser: Any, page: Path) -> None:
    """Take the verdict and a trace in both schemes, the queries, and a trace on a phone."""
    address = f"{page.as_uri()}#q=why-05"
    for name, scheme in (("report.png", "light"), ("report-dark.png", "dark")):
        tab = browser.new_context(viewport=REPORTED, color_scheme=scheme).new_page()
        tab.goto(address)
        # What comes first and what is special about it: the sections between them are left out.
        for left_out in ("nav", ".note", ".controls", "#runs .scroll", ".save", "#comparisons", "#queries"):
            for element in tab.locator(left_out).all():
                element.evaluate("element => element.style.display = 'none'")
        tab.evaluate("document.activeElement.blur()")
        tab.evaluate("window.scrollTo(0, 0)")
        end = tab.locator(".trace").nth(1).bounding_box()
        clip = {"x": 0, "y": 0, "width": REPORTED["width"], "height": end["y"] + end["height"]}
        tab.screenshot(path=IMAGES / name, clip=clip, full_page=True)
    tab = browser.new_context(viewport=REPORTED).new_page()
    tab.goto(page.as_uri())
    place = tab.locator("#queries").bounding_box()
    tab.screenshot(path=IMAGES / "report-queries.png", clip={**place, "height": 900}, full_page=True)
    tab = browser.new_context(viewport=NARROW).new_page()
    tab.goto(address)
    tab.evaluate("document.activeElement.blur()")
    tab.screenshot(path=IMAGES / "report-narrow.png")
    for name in ("report.png", "report-dark.png", "report-queries.png", "report-narrow.png"):
        smaller(name)


def take() -> None:
    """Label a little by keyboard, and take the pictures."""
    path = next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        label, pair = pages(Path(folder))
        report, board = report_of(Path(folder)), leaderboard(Path(folder))
        browser = started.chromium.launch(executable_path=path)
        take_reports(browser, trace_of(Path(folder)))
        for page, name, keys, size, scheme in (
            (label, "label.png", "14114", SHOWN, "light"),
            (pair, "label-narrow-dark.png", "1213", NARROW, "dark"),
        ):
            tab = browser.new_context(viewport=size, color_scheme=scheme).new_page()
            tab.goto(page.as_uri())
            for key in keys:
                tab.keyboard.press(key)
            tab.screenshot(path=IMAGES / name)
        tab = browser.new_context(viewport=REPORTED).new_page()
        tab.goto(report.as_uri())
        tab.locator("#comparisons").screenshot(path=IMAGES / "label-claim.png")
        tab.evaluate("window.scrollTo(0, 0)")
        place = tab.locator("#judges").bounding_box()
        clip = {**place, "height": min(place["height"], 900)}
        tab.screenshot(path=IMAGES / "label-report.png", clip=clip, full_page=True)
        tab = browser.new_context(viewport=LISTED).new_page()
        tab.goto(board.as_uri())
        tab.screenshot(path=IMAGES / "track.png")
        browser.close()


if __name__ == "__main__":
    take()
