"""What the README says and shows of speed is what the last table of the benchmarks says."""

from __future__ import annotations

import re

import pytest

from benchmarks.picture import IMAGES, measured, picture, words
from snippets import ROOT


def test_the_readme_says_what_was_measured() -> None:
    readme = re.sub(r"\s+", " ", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert words(measured()) in readme


@pytest.mark.parametrize("name", IMAGES)
def test_the_pictures_show_what_was_measured(name: str) -> None:
    drawn = (ROOT / "docs/images" / name).read_text(encoding="utf-8")
    assert drawn == picture(measured(), *IMAGES[name]), "python benchmarks/picture.py"


def test_a_number_that_moves_is_noticed() -> None:
    rows = measured()
    moved = [["9.999 / 9.999" if column == 4 else cell for column, cell in enumerate(row)] for row in rows]
    assert picture(moved, *IMAGES["speed.svg"]) != picture(rows, *IMAGES["speed.svg"])
    assert words([[*row[:5], "0.99", *row[6:]] for row in rows]) != words(rows)
