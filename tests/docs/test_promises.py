"""How often the page says that its promises are tried is how often they are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import hostile_servers
import test_odd_words
import test_options
import test_prompts
import test_sinks
from snippets import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/promises.md").read_text(encoding="utf-8")


def said(file: str) -> int:
    """The number before a file of tests."""
    (found,) = re.findall(rf"(?:more than |over )?([\d,]+)[^|;()]*\(`tests/[a-z/]*{file}\.py`\)", PAGE)
    return int(found.replace(",", ""))


def odd_lines() -> int:
    lines = [line for name, line in test_odd_words.LINES.items() if name not in test_odd_words.SLOW]
    odd = (test_odd_words.with_odd_words, test_odd_words.with_odd_files)
    return sum(1 for line in lines for replaced in odd for _ in replaced(line))


@pytest.mark.parametrize(
    ("file", "number"),
    [
        ("test_odd_words", odd_lines()),
        ("test_hostile_servers", len(hostile_servers.KINDS)),
        (
            "test_fuzz_readers",
            len([path for path in Path(ROOT, "tests", "corpus").iterdir() if path.is_dir()]),
        ),
        ("test_options", len(test_options.CASES) * len(test_options.OPTIONS)),
        ("test_prompts", len(test_prompts.ALL)),
        ("test_sinks", sum(len(test_sinks.strings(alphabet, 1)) for alphabet in test_sinks.ALPHABETS)),
    ],
)
def test_numbers_that_can_be_counted(file: str, number: int) -> None:
    assert said(file) == number


def test_attempts_at_a_wrong_claim_are_as_many_as_are_collected() -> None:
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    files = ["tests/comparison/test_wrong_claims.py", "tests/comparison/test_wrong_claims_answers.py"]
    done = subprocess.run([*words, *files], cwd=ROOT, capture_output=True, text=True, check=True)
    number = sum("::" in line for line in done.stdout.splitlines())
    (shown,) = re.findall(r"over ([\d,]+) attempts at a wrong claim", PAGE)
    assert int(shown) == number // 100 * 100
