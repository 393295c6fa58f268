"""The examples in docstrings are true; those of measures are on their pages (`test_docstrings.py`)."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from circles import LACKING

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parents[2] / "rageval"
PATHS = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>>" in path.read_text(encoding="utf-8")]
FOLDERS = sorted({path.relative_to(PACKAGE).parts[0] for path in PATHS})


@pytest.mark.parametrize("folder", FOLDERS)
def test_examples(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    tried, wrong = 0, []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for path in PATHS:
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if path.relative_to(PACKAGE).parts[0] == folder:
            module = import_module(".".join(parts).removesuffix(".__init__"))
            for test in doctest.DocTestFinder(exclude_empty=True).find(module):
                if not any(f"import {package}" in (test.docstring or "") for package in LACKING):
                    result = runner.run(test)
                    tried += result.attempted
                    wrong += [test.name] * bool(result.failed)
    assert not wrong, capsys.readouterr().out
    assert tried
