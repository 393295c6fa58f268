"""Where tables lack cells or rows, each command says which, and names the option that leaves them out."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import rageval
from rageval.cli import main
from rageval.errors import InputError
from test_tables_joined import written
from test_tables_of_answers import rows

COMMANDS = {
    "score": ["score", "{v1}", "{v2}"],
    "compare": ["compare", "{v1}", "{v2}"],
    "report": ["report", "{v1}", "{v2}", "-o", "{out}"],
    "gate": ["gate", "{v2}", "--baseline", "{v1}", "--judge", "short", "--margin", "2"],
}


def tables(tmp_path: Path, lack: str) -> dict[str, str]:
    first, second = (
        [{"id": f"q{index:02}", **row} for index, row in enumerate(rows(count))] for count in (10, 20)
    )
    if lack == "gold":
        for table in (first, second):
            table[1]["gold"] = ""
    else:
        second = second[:1] + second[2:]
    named = {"v1": first, "v2": second}
    paths = {name: written(tmp_path / f"{name}.csv", count) for name, count in named.items()}
    return {**paths, "out": str(tmp_path / "report.html")}


def run(command: str, paths: dict[str, str], *more: str) -> Result:
    return CliRunner().invoke(main, [*(word.format(**paths) for word in COMMANDS[command]), *more])


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("lack", ["gold", "row"])
def test_what_is_lacking_is_named_and_can_be_left_out(command: str, lack: str, tmp_path: Path) -> None:
    paths = tables(tmp_path, lack)
    given = run(command, paths)
    # What is there has a result at once; a gate refuses where one side lacks what the other has.
    assert given.exit_code == (3 if (lack, command) == ("row", "gate") else 0), given.output
    assert "q01" in given.stderr
    assert ("left out" if lack == "gold" else "--intersection") in given.stderr
    result = run(command, paths, "--intersection")
    assert result.exit_code == 0, result.output
    assert "q01" in result.stderr
    assert "left out" in result.stderr


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_gate_in_python_leaves_out_the_same(tmp_path: Path) -> None:
    for lack in ("gold", "row"):
        paths = tables(tmp_path, lack)
        report = rageval.gate(paths["v2"], baseline=paths["v1"], judge="short", margin=2, intersection=True)
        assert any("left out" in text and "q01" in text for text in map(str, report.remarks))
        assert f"{report.overall[0].candidate:.3f}" in run("gate", paths, "--intersection").stdout


def test_a_gate_of_few_common_questions_is_still_refused(tmp_path: Path) -> None:
    paths = tables(tmp_path, "row")
    few = Path(paths["v2"]).read_text().splitlines(keepends=True)[:8]
    Path(paths["v2"]).write_text("".join(few))
    result = run("gate", paths, "--intersection")
    assert (result.exit_code, "expected 90%; nothing was gated" in result.stderr) == (2, True)
    with pytest.raises(InputError, match="expected 90%"):
        rageval.gate(paths["v2"], baseline=paths["v1"], judge="short", margin=2, intersection=True)
