"""Makes the pictures of the page about labels: `python docs/pictures.py`, with Chromium and Playwright.

They are taken of the pages that the commands on docs/labelling.md make.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from click.testing import CliRunner
from playwright.sync_api import sync_playwright

from rageval.cli import main

ROOT = Path(__file__).parents[1]
DATA = ROOT / "examples/data/labelling"
IMAGES = ROOT / "docs/images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SHOWN = {"width": 1000, "height": 700}
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
        "label-plan",
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
        run("annotate", plan, "--annotator", "kim", "-o", found[-1])
    return found[0], found[1]


def take() -> None:
    """Label a little by keyboard, and take the pictures."""
    path = next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        label, pair = pages(Path(folder))
        browser = started.chromium.launch(executable_path=path)
        for page, name, keys, size, scheme in (
            (label, "label.png", "14114", SHOWN, "light"),
            (pair, "label-narrow.png", "1213", NARROW, "dark"),
        ):
            tab = browser.new_context(viewport=size, color_scheme=scheme).new_page()
            tab.goto(page.as_uri())
            for key in keys:
                tab.keyboard.press(key)
            tab.screenshot(path=IMAGES / name)
        browser.close()


if __name__ == "__main__":
    take()
