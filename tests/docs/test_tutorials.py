"""The tutorials, gone through as their readers would; that of engineers is in test_road_page.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from snippets import ROOT
from walking import Walk

pytestmark = pytest.mark.slow


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def test_the_tutorial_for_researchers_can_be_followed(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    Walk(tmp_path).along(page("researcher"))
    assert (tmp_path / "report.html").stat().st_size
    assert len((tmp_path / "more.jsonl").read_text().splitlines()) == 49


def test_the_tutorial_for_organizers_can_be_followed(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    Walk(tmp_path).along(page("track"))
    assert (tmp_path / "published" / "board.tar.gz").stat().st_size
    assert (tmp_path / "label.html").stat().st_size


def test_the_tutorial_for_publishers_can_be_followed(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    Walk(tmp_path, more={"SOURCE_DATE_EPOCH": "0"}).along(page("board"))
    assert (tmp_path / "site" / "index.html").is_file()


def test_the_tutorial_for_authors_can_be_followed(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    pytest.importorskip("pip")
    Walk(tmp_path, plugin=True).along(page("author"))
    assert (tmp_path / "installed" / "patience.py").is_file()


@pytest.mark.parametrize("shown", ["other\n", ""])
def test_a_page_that_shows_something_else_fails(shown: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        Walk(tmp_path).along(f"```sh\nrageval --version\n```\n\n```text\n{shown}```\n")
