"""The site of the documentation: whole, without warnings and network, and refused if an example lies."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import click
import pytest

import rageval
from rageval.cli import COMMANDS, main
from rageval.measures import builtin
from report_pages import browser_  # noqa: F401
from snippets import ROOT

pytestmark = pytest.mark.slow

for package in ("sphinx", "furo", "myst_parser"):
    pytest.importorskip(package)

DOCS = ROOT / "docs"
BESIDE = ("README.md", "CITATION.cff", "examples", "rageval", "tests")  # what the pages are made of
PUBLIC = ("", ".building", ".comparison", ".datasets", ".judges", ".parallel", ".spans", ".testing")
SHOWN = ("script", "img", "iframe", "source", "link")  # what a browser fetches by itself


class Page(HTMLParser):
    """The anchors of a page, its links, and what it needs to be shown."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.needs: list[str] = []
        self.heads: list[int] = []
        self.mute: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        attributes_by_name = {name: value or "" for name, value in attributes}
        self.anchors.update(attributes_by_name[name] for name in ("id", "name") if name in attributes_by_name)
        address = attributes_by_name.get("src") or attributes_by_name.get("href") or ""
        if re.fullmatch(r"h[1-6]", tag):
            self.heads.append(int(tag[1]))
        if tag == "img" and not attributes_by_name.get("alt"):
            self.mute.append(address)
        self.needs += re.findall(r"[^\s,]+//[^\s,]+", attributes_by_name.get("srcset", ""))
        if tag == "a":
            self.links.append(address)
        elif tag in SHOWN and address:
            self.needs.append(address)

    def can_be_heard(self) -> bool:
        """Whether there is one title, no level is left out, and every picture is told."""
        steps = all(low <= high + 1 for high, low in pairwise(self.heads))
        return self.heads.count(1) == 1 and self.heads[0] == 1 and steps and not self.mute


def sources(folder: Path) -> Path:
    """A copy of the pages that people wrote, beside all that the build looks at."""
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("measures", "commands", "api"))
    for name in BESIDE:
        if (ROOT / name).is_file():  # pages include some, and links in them lead from where they lie
            shutil.copy(ROOT / name, folder)
        else:
            (folder / name).symlink_to(ROOT / name)
    return folder / "docs"


def build(docs: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-NqWn", *options, str(docs), str(docs.parent / "site")]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture(name="site", scope="module")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    result = build(sources(folder), "-Drun_examples=0")  # they have tests of their own
    assert (result.returncode, result.stderr) == (0, "")
    return folder / "site"


def test_the_site_is_whole(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    names = {str(path.relative_to(site)) for path in pages}
    assert {f"measures/{name}.html" for name in builtin()} <= names
    assert {f"commands/{name}.html" for name in COMMANDS} <= names
    anchors = {anchor for page in pages.values() for anchor in page.anchors}
    assert [name for name in (*subcommands(), *public_names()) if name not in anchors] == []
    assert [link for page in pages.values() for link in dangling(page, pages)] == []
    assert list(fetched(pages)) == []
    assert [path.name for path, page in pages.items() if not page.can_be_heard()] == ["search.html"]  # theirs
    assert [name for name in builtin() if "<math " not in (site / f"measures/{name}.html").read_text()] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_a_phone_or_asks_for_anything(site: Path, browser: Any, scheme: str) -> None:
    asked: list[str] = []
    names = ("index", "researcher", "road", "track", "author", "promises", "measures/noise_irrelevant")
    with closing(browser.new_context(viewport={"width": 400, "height": 800}, color_scheme=scheme)) as context:
        tab = context.new_page()
        tab.on("request", lambda request: asked.append(request.url))
        for name in names:
            tab.goto((site / f"{name}.html").as_uri())
            assert tab.eval_on_selector("html", "page => page.scrollWidth") <= 400, name
        drawn = tab.eval_on_selector("math mfrac", "found => found.getBoundingClientRect().height")
        written = tab.eval_on_selector("body", "found => parseFloat(getComputedStyle(found).fontSize)")
        assert drawn > 1.5 * written  # a fraction, and not its parts in a row
    assert [address for address in asked if not address.startswith("file:")] == []


def subcommands() -> Iterator[str]:
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        if isinstance(command, click.Group):
            yield from (f"rageval-{name}-{below}" for below in command.list_commands(click.Context(command)))


def public_names() -> Iterator[str]:
    """What can be called; measures have pages of their own."""
    for module in (import_module(f"rageval{name}") for name in PUBLIC):
        public = {name: getattr(module, name) for name in module.__all__}
        yield from (
            f"{module.__name__}.{name}"
            for name, pages_of_name in public.items()
            if callable(pages_of_name) and not isinstance(pages_of_name, rageval.Measure)
        )


def dangling(page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    """Links that lead nowhere on this site; those that leave it are not followed."""
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme:
            continue
        target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
        anchors = pages[target].anchors if target in pages else set()
        if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in anchors):
            yield f"{page.path.name}: {link}"


def fetched(pages: dict[Path, Page]) -> Iterator[str]:
    """What would be fetched from elsewhere to show a page."""
    for page in pages.values():
        yield from (address for address in page.needs if urlsplit(address).netloc)
    (root,) = {path.parent for path in pages if path.name == "genindex.html"}
    for style in root.rglob("*.css"):
        yield from re.findall(
            r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^)]*)", style.read_text(encoding="utf-8")
        )


def test_a_snippet_that_lies_fails_the_build(tmp_path: Path) -> None:
    docs = sources(tmp_path)
    for page in docs.glob("*.md"):
        page.unlink()
    (tmp_path / "examples").unlink()
    (docs / "index.md").write_text("# Lies\n\n```console\n$ rageval --version\nrageval 0\n```\n")
    result = build(docs)
    assert result.returncode
    assert "An example is not true!" in result.stderr
    assert "index.md: $ rageval --version\n" in result.stderr
    assert f" rageval {rageval.__version__} (" in result.stderr
    assert not (tmp_path / "site/index.html").exists()


def test_a_measure_whose_example_lies_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    from making.checks import of_measure

    @rageval.measure
    def liar(ranking, *, k=None):  # type: ignore[no-untyped-def]
        """Wrong.

        >>> 1 + 1
        3
        """

    (mistake,) = of_measure(liar)
    assert "Expected:\n    3\nGot:\n    2" in mistake
    assert of_measure(builtin()["recall"]) == []


@pytest.mark.parametrize("measure", builtin().values(), ids=str)
def test_a_page_loses_no_word_of_the_docstring(
    measure: rageval.Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(DOCS)
    from making.measures import SECTIONS, page

    heads = re.compile(rf"^({'|'.join(SECTIONS)}):", re.MULTILINE)
    words = re.findall(r"\w+", heads.sub("", measure.page).lower())
    shown = Counter(re.findall(r"\w+", page(measure).replace("\\", "").lower()))
    assert Counter(words) - shown == Counter()
