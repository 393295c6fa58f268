"""Commands print what `tests/golden/outputs/` has, to the byte; `make regenerate` writes these files anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from outputs import output_files, printed_anew


@pytest.mark.parametrize("path", output_files(), ids=lambda path: path.stem)
def test_commands_print_what_the_golden_file_has(path: Path) -> None:
    expected = path.read_text(encoding="utf-8")
    assert printed_anew(expected) == expected
