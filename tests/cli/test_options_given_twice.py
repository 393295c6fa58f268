"""An option that has one value and is given two is refused: the last would count, and nothing be said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from every_command import leaves
from rageval.cli import main


def options() -> Iterator[tuple[str, click.Option]]:
    """Every option of every command that keeps one value."""
    for path, command in leaves().items():
        for param in command.params:
            if isinstance(param, click.Option) and not (param.multiple or param.count or param.is_eager):
                yield path, param


@pytest.mark.slow
def test_every_option_is_refused_when_its_values_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "12":  # a policy is read before the other options are
        Path(name).write_text("[gate]\nmargin = 0.1\n")
    tried = 0
    for path, option in options():
        name = option.opts[0]
        if option.is_flag:
            if not option.secondary_opts:
                continue
            words = [name, option.secondary_opts[0]]
        else:
            words = [name, *["1"] * option.nargs, name, *["2"] * option.nargs]
        result = CliRunner().invoke(main, [*path.split(), *words])
        assert (result.exit_code, f"{name}: given twice" in result.stderr) == (2, True), (
            path,
            name,
            result.output,
        )
        tried += 1
    assert tried > 300


@pytest.mark.parametrize("words", [["--margin", "0.1", "--margin", "0.1"], ["--margin", "0.1"]])
def test_the_same_value_twice_is_once(words: list[str]) -> None:
    result = CliRunner().invoke(main, ["gate", "no-such-file", *words])
    assert "given twice" not in result.output
