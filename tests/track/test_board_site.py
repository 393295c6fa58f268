"""The site of a bundle: its pages, downloads and records."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from boards import FORGERIES, forged
from rageval.track.publication import publish
from report_pages import browser_  # noqa: F401
from test_bad_input import command

pytest.importorskip("jinja2")


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_cut_off(browser: Any, boards: Mapping[str, Path], width: int, tmp_path: Path) -> None:
    publish(boards["answers"], tmp_path / "site")
    tab = browser.new_context(viewport={"width": width, "height": 800}).new_page()
    for page in sorted((tmp_path / "site").glob("*.html")):
        tab.goto(page.as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, page.name
    tab.context.close()


def test_a_published_bundle_is_verified_by_its_digest(boards: Mapping[str, Path], tmp_path: Path) -> None:
    site = tmp_path / "site"
    result = command("board", "publish", str(boards["answers"]), "-o", str(site))
    assert result.code == 0, result.err
    index = (site / "index.html").read_text()
    assert "<script" not in index
    digest = re.search(r"--sha256 ([0-9a-f]{64})", index)
    assert digest is not None
    assert command("board", "verify", str(site / "board.tar.gz"), "--sha256", digest[1]).code == 0
    assert {path.name for path in site.glob("run-*.html")} == {"run-ours.html", "run-theirs.html"}
    for link in re.findall(r'href="([^"#]+)"', index):
        assert (site / link).is_file(), link
    # A second bundle takes the place of the first.
    assert command("board", "publish", str(boards["runs"]), "-o", str(site)).code == 0
    assert not (site / "run-ours.html").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    refused = command("board", "publish", str(boards["runs"]), "-o", str(tmp_path / "other"))
    assert (refused.code, "holds other files" in refused.err) == (2, True)


@pytest.mark.slow
def test_records_of_every_eval_ever(boards: Mapping[str, Path], tmp_path: Path) -> None:
    publish(boards["labeled"], tmp_path / "site")
    home = tmp_path / "site" / "every_eval_ever"
    records = [json.loads(path.read_text()) for path in sorted(home.rglob("*.json"))]
    assert {record["model_info"]["name"] for record in records} == {"ours", "theirs"}
    for record in records:
        assert record["schema_version"] == "0.3.0"
        path = record["detailed_evaluation_results"]["file_path"]
        assert (home / path).is_file()
        assert re.fullmatch(r"data/[^/]+/[^/]+/[^/]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]+_samples.jsonl", path)
        (result,) = record["evaluation_results"]
        assert result["metric_config"]["min_score"] == -1


@pytest.mark.slow
@pytest.mark.some(5)
@pytest.mark.parametrize("name", FORGERIES)
def test_nothing_is_published_that_differs(boards: Mapping[str, Path], name: str, tmp_path: Path) -> None:
    board, _, forge = FORGERIES[name]
    path = forged(boards[board], forge, tmp_path / "forged.tar.gz")
    result = command("board", "publish", str(path), "-o", str(tmp_path / "site"))
    assert (result.code, result.out) == (1, "")
    assert result.err.endswith("nothing was published\n")
    assert result.err.count("\n") > 1
    assert not (tmp_path / "site").exists()


def test_without_a_dataset_nothing_is_published(boards: Mapping[str, Path], tmp_path: Path) -> None:
    def forge(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
        manifest |= {"qrels": "", "datasets": {"qrels": "/no/such/set"}}

    path = forged(boards["runs"], forge, tmp_path / "b.tar.gz")
    result = command("board", "publish", str(path), "-o", str(tmp_path / "site"))
    assert (result.code, "datasets that are not on this computer" in result.err) == (3, True)


def test_what_a_manifest_states_is_not_on_the_pages(boards: Mapping[str, Path], tmp_path: Path) -> None:
    def forge(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
        manifest |= {"judges": ["the best judge"], "rageval": "99.0", "intervals": "", "title": "A <b>title"}

    path = forged(boards["answers"], forge, tmp_path / "b.tar.gz")
    result = command("board", "publish", str(path), "-o", str(tmp_path / "site"))
    assert result.code == 0, result.err
    index = (tmp_path / "site" / "index.html").read_text()
    assert "the best judge" not in index
    assert "99.0" not in index
    assert "<dt>judge</dt><dd>openai:m@" in index
    assert "Not verified: the title &#39;A &lt;b&gt;title&#39;" in index
    assert "95% from 4,000 resamples" in index
