"""Commands print what `tests/golden/outputs/` has, to the byte; `make regenerate` writes these files anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from declared import require_golden
from outputs import output_files, printed_anew


@pytest.mark.parametrize("path", output_files(), ids=lambda path: path.stem)
def test_commands_print_what_the_golden_file_has(path: Path) -> None:
    require_golden(printed_anew(path.read_text(encoding="utf-8")), path)


@pytest.mark.parametrize("path", output_files(), ids=lambda path: path.stem)
def test_no_command_of_a_golden_file_is_mistyped(path: Path) -> None:
    """An option that is gone would be kept as the error that it gives."""
    assert "\n! Usage:" not in path.read_text(encoding="utf-8")
