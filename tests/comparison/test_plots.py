"""Figures: that they are drawn, alike each time, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rageval
import rageval.comparison
from commands import run_checked

DATA = Path(__file__).parents[2] / "examples/data"
FILES = [str(DATA / name) for name in ("run.trec", "baseline.trec", "qrels.nugget")]
STARTS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", STARTS)
def test_each_kind_of_file_is_drawn_and_the_same_twice(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    written = []
    for name in "ab":
        path = tmp_path / f"{name}{suffix}"
        run_checked("compare", *FILES, "-m", "recall@10,hole@5", "--format", "csv", "--plot", str(path))
        written.append(path.read_bytes())
    assert written[0].startswith(STARTS[suffix])
    assert written[0] == written[1]


@pytest.mark.slow
def test_the_drawing_names_runs_measures_and_queries(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "curves.svg"
    run_checked(*FILES, "-m", "recall@5,10,20", "-m", "rr", "--plot", str(path))
    text = path.read_text()
    for name in ("Recall@$k$", "RR", "run.trec", "baseline.trec", "20", "$k$"):
        assert f"<!-- {name} -->" in text
    run_checked("compare", *FILES, "-m", "rr", "--plot", str(path))
    assert "<!-- baseline.trec − run.trec -->" in path.read_text()


def many(number: int = 20) -> rageval.comparison.Comparison:
    names = ["a-name-that-goes-on-" * 5, *(f"run_{index:02d}" for index in range(1, number))]
    qrels = {str(query): {"a": 1, "b": 1} for query in range(6)}
    runs = {
        name: {query: {"a": 1.0, "b": float((index + int(query)) % 3)} for query in qrels}
        for index, name in enumerate(names)
    }
    return rageval.compare("rr, alpha_ndcg@10, hole@5", runs, qrels, draws=100, resamples=100)


@pytest.mark.slow
def test_mistakes_are_explained(tmp_path: Path) -> None:
    words = ("compare", *FILES, "-m", "rr", "--plot")
    assert "ends in .png, .svg, .pdf" in run_checked(*words, str(tmp_path / "a.gif"), code=2).stderr
    assert "ends in .png, .svg, .pdf" in run_checked(*FILES, "-m", "rr", "--plot", "a", code=2).stderr
    pytest.importorskip("matplotlib")
    with pytest.warns(
        UserWarning, match=r"7x1.5: this many runs and panels need 3.8 inches .* 3.0 points high"
    ):
        many().plot((7, 1.5))
    with pytest.raises(rageval.RagevalError, match="expected a higher figure, or only a width"):
        rageval.evaluate("rr@5,10,20, ndcg@5,10,20", {"q": {"a": 1.0}}, {"q": {"a": 1}}).plot((1.0, 1.0))
    assert "no such folder" in run_checked(*words, str(tmp_path / "no" / "a.png"), code=2).stderr


def test_without_matplotlib_the_way_out_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run_checked("compare", *FILES, "-m", "rr", "--plot", str(tmp_path / "a.png"), code=2)
    assert "pip install 'rageval[plots]'" in result.stderr
