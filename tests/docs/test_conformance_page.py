"""docs/conformance.md: its example runs, and its table is what the tools say here."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from peer_tools import installed
from peer_verdicts import AGREES, COMPATIBLE, DIFFERS, FAILS, of_peer
from rageval.measures.parsing import parse_measure
from snippets import blocks, python_mistake
from vectors import answer_vectors, run_vectors, trajectory_vectors

pytestmark = pytest.mark.slow

TEXT = (Path(__file__).parents[2] / "docs/conformance.md").read_text(encoding="utf-8")
VECTORS = [*run_vectors(), *answer_vectors()]
ROWS = {
    cells[1]: cells[2:-1]
    for cells in ([c.strip() for c in line.split("|")] for line in TEXT.splitlines())
    if len(cells) == 9
}


def test_the_example_prints_what_it_shows() -> None:
    (block,) = blocks("python", TEXT)
    assert python_mistake(block) is None


def test_its_keys_are_those_of_the_vectors() -> None:
    keys = {
        key
        for row in re.findall(r"^\| (`.*?`) \|", TEXT, re.MULTILINE)
        for key in re.findall(r"`(\w+)`", row)
    }
    vectors = [*VECTORS, *trajectory_vectors()]
    assert keys == {key for vector in vectors for key in vector.__struct_fields__}


@pytest.mark.parametrize("name", installed())
def test_the_table_counts_what_the_tools_agree_on(name: str) -> None:
    version, *numbers = ROWS[name]
    if version != installed()[name]:
        pytest.skip("another version is installed")
    differences = list(of_peer(name, VECTORS))
    counts = Counter(one.verdict for one in differences)
    measures = {parse_measure(one.measure).name for one in differences}
    assert [int(number) for number in numbers] == [
        len(measures),
        *(counts[verdict] for verdict in (AGREES, COMPATIBLE, DIFFERS, FAILS)),
    ]


def test_no_tool_is_left_out() -> None:
    assert set(ROWS) >= set(installed())
