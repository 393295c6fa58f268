"""docs/conformance.md: what it shows is what the command prints here."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from rageval.cli import main
from rageval.conformance import answer_vectors, run_vectors
from rageval.conformance.peers import installed
from rageval.conformance.verdicts import AGREES, COMPATIBLE, DIFFERS, FAILS, of_peer
from rageval.measures.parsing import parse_measure
from snippets import blocks

pytestmark = pytest.mark.slow

TEXT = (Path(__file__).parents[2] / "docs/conformance.md").read_text(encoding="utf-8")
ROWS = {
    cells[1]: cells[2:-1]
    for cells in ([c.strip() for c in line.split("|")] for line in TEXT.splitlines())
    if len(cells) == 9
}


def test_what_is_printed() -> None:
    (block,) = blocks("text", TEXT)
    command, _, expected = block.partition("\n")
    if f"pytrec_eval {installed()['pytrec_eval']}\n" not in expected:
        pytest.skip("another version of pytrec_eval is installed")
    assert CliRunner().invoke(main, command.split()[2:]).stdout == expected


@pytest.mark.parametrize("name", installed())
def test_the_table(name: str) -> None:
    version, *numbers = ROWS[name]
    if version != installed()[name]:
        pytest.skip("another version is installed")
    found = list(of_peer(name, [*run_vectors(), *answer_vectors()]))
    counts = Counter(one.verdict for one in found)
    measures = {parse_measure(one.measure).name for one in found}
    assert [int(number) for number in numbers] == [
        len(measures),
        *(counts[verdict] for verdict in (AGREES, COMPATIBLE, DIFFERS, FAILS)),
    ]


def test_no_tool_is_left_out() -> None:
    assert set(ROWS) >= set(installed())
