"""Figures: that they are drawn, alike each time, and what is refused."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest

import rageval
import rageval.comparison
from commands import run_checked
from rageval.views.plots import _colour_of, _titled

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


def test_the_drawing_names_runs_measures_and_queries(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "curves.svg"
    run_checked(*FILES, "-m", "recall@5,10,20", "-m", "rr", "--plot", str(path))
    text = path.read_text()
    for name in ("Recall@$k$", "RR", "run.trec", "baseline.trec", "20", "$k$"):
        assert f"<!-- {name} -->" in text
    run_checked("compare", *FILES, "-m", "rr", "--plot", str(path))
    assert "<!-- baseline.trec − run.trec -->" in path.read_text()


def test_hostile_names_are_drawn_as_text(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = []
    for index, name in enumerate((r"$\frac{", "\x1b[31m$x_2$")):
        names.append(str(tmp_path / name))
        Path(names[-1]).write_text(Path(FILES[index]).read_text())
    run_checked("compare", *names, FILES[2], "-m", "rr", "--plot", str(tmp_path / "a.png"))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def many(number: int = 20) -> rageval.comparison.Comparison:
    names = ["a-name-that-goes-on-" * 5, *(f"run_{index:02d}" for index in range(1, number))]
    qrels = {str(query): {"a": 1, "b": 1} for query in range(6)}
    runs = {
        name: {query: {"a": 1.0, "b": float((index + int(query)) % 3)} for query in qrels}
        for index, name in enumerate(names)
    }
    return rageval.compare("rr, alpha_ndcg@10, hole@5", runs, qrels, draws=100, resamples=100)


@pytest.mark.parametrize("size", ["column", "page", "7x3.2"])
def test_twenty_runs_stand_in_one_order_beside_each_measure_and_no_label_on_another(size: str) -> None:
    pytest.importorskip("matplotlib")
    figure = many().plot(size)
    width, height = figure.get_size_inches()
    assert width == {"column": 3.3}.get(size, 7.0)
    assert size != "7x3.2" or height == 3.2
    figure.draw_without_rendering()
    assert [axis.get_title().split("\n")[0] for axis in figure.axes] == ["RR", r"$\alpha$-nDCG@10", "Hole@5"]
    assert len({axis.get_position().y0 for axis in figure.axes}) == 1  # side by side
    assert [axis.yaxis.get_tick_params()["labelleft"] for axis in figure.axes] == [True, False, False]
    boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert len(boxes) == 20
    tops = sorted((box.y0, box.y1) for box in boxes)
    assert all(below[1] <= higher[0] + 0.5 for below, higher in pairwise(tops))
    assert min(box.x0 for box in boxes) >= 0
    for axis in figure.axes:  # neither the numbers beneath a panel
        spans = sorted(
            (label.get_window_extent().x0, label.get_window_extent().x1)
            for label in axis.get_xticklabels()
            if label.get_text()
        )
        assert all(left[1] <= right[0] for left, right in pairwise(spans))


def test_fonts_are_embedded_and_nobodys_settings_count(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    figure = many(3)
    with matplotlib.rc_context({"text.usetex": True, "pdf.fonttype": 3, "svg.fonttype": "none"}):
        figure.plot("column").savefig(tmp_path / "a.pdf")
        figure.plot().savefig(tmp_path / "a.svg")
    pdf = (tmp_path / "a.pdf").read_bytes()
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert "<text" not in (tmp_path / "a.svg").read_text()


def test_colours_can_be_told_apart_in_grey() -> None:
    def grey(colour: str) -> float:
        red, green, blue = (int(colour[channel : channel + 2], 16) for channel in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    good, bad, neither = (_colour_of(*case) for case in ((1.0, "higher"), (-1.0, "higher"), (1.0, "neither")))
    greys = sorted(map(grey, (good, bad)))
    assert greys[1] - greys[0] > 60
    assert neither not in (good, bad)


@pytest.mark.parametrize("size", ["5", "5x", "5x3x2", "0x3", "99x3", "nanx3", "5x1e9", "-5x3", "⁵x3", "col"])
def test_sizes_are_checked(size: str, tmp_path: Path) -> None:
    words = ("compare", *FILES, "-m", "rr", "--plot", str(tmp_path / "a.pdf"))
    assert "expected column, page, or width and height" in run_checked(*words, "--size", size, code=2).stderr
    assert not (tmp_path / "a.pdf").exists()


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


def test_a_panel_says_that_low_is_good_and_whose_word_it_is() -> None:
    assert _titled("mine", "higher", "") == ["mine"]
    assert _titled("mine", "lower", "by m") == ["mine", "(low is good, by m)"]
