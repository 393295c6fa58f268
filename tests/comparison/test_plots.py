"""Figures: that they are drawn, alike each time, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rageval.cli import main

DATA = Path(__file__).parents[2] / "examples/data"
FILES = [str(DATA / name) for name in ("run.trec", "baseline.trec", "qrels.nugget")]
STARTS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def command(*words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, list(words), prog_name="rageval")
    assert done.exit_code == code, done.output
    return done


@pytest.mark.slow
@pytest.mark.parametrize("suffix", STARTS)
def test_each_kind_of_file_is_drawn_and_the_same_twice(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    written = []
    for name in "ab":
        path = tmp_path / f"{name}{suffix}"
        command("compare", *FILES, "-m", "recall@10,hole@5", "--format", "csv", "--plot", str(path))
        written.append(path.read_bytes())
    assert written[0].startswith(STARTS[suffix])
    assert written[0] == written[1]


def test_the_drawing_names_runs_measures_and_queries(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "curves.svg"
    command(*FILES, "-m", "recall@5,10,20", "-m", "rr", "--plot", str(path))
    text = path.read_text()
    for name in ("recall", "rr", "run.trec", "baseline.trec", "20", "k"):
        assert f"<!-- {name} -->" in text
    command("compare", *FILES, "-m", "rr", "--plot", str(path))
    assert "<!-- rr: baseline.trec − run.trec -->" in path.read_text()


def test_hostile_names_are_drawn_as_text(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = []
    for at, name in enumerate((r"$\frac{", "\x1b[31m$x_2$")):
        names.append(str(tmp_path / name))
        Path(names[-1]).write_text(Path(FILES[at]).read_text())
    command("compare", *names, FILES[2], "-m", "rr", "--plot", str(tmp_path / "a.png"))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_mistakes_are_explained(tmp_path: Path) -> None:
    words = ("compare", *FILES, "-m", "rr", "--plot")
    assert "ends in .png, .svg, .pdf" in command(*words, str(tmp_path / "a.gif"), code=2).stderr
    assert "ends in .png, .svg, .pdf" in command(*FILES, "-m", "rr", "--plot", "a", code=2).stderr
    pytest.importorskip("matplotlib")
    assert "cannot be written" in command(*words, str(tmp_path / "no" / "a.png"), code=2).stderr


def test_without_matplotlib_the_way_out_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = command("compare", *FILES, "-m", "rr", "--plot", str(tmp_path / "a.png"), code=2)
    assert "pip install 'rageval[plots]'" in done.stderr
