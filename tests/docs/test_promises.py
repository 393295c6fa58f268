"""How often the page says that its promises are tried is how often they are."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import hostile_servers
import test_odd_words
import test_options
import test_prompts
import test_sinks
from peer_tools import PEERS
from rageval.scoring.rules import COMPAT, COMPAT_OF_ANSWERS
from snippets import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/promises.md").read_text(encoding="utf-8")


def promised_number(file: str) -> int:
    """The number before a file of tests."""
    (number,) = re.findall(rf"(?:more than |over )?([\d,]+)[^|;()]*\(`tests/[a-z/]*{file}\.py`\)", PAGE)
    return int(number.replace(",", ""))


def count_unusual_lines() -> int:
    odd = (test_odd_words.replace_words, test_odd_words.replace_files)
    return sum(1 for line in test_odd_words.LINES.values() for replaced in odd for _ in replaced(line))


@pytest.mark.parametrize(
    ("file", "number"),
    [
        ("test_odd_words", count_unusual_lines()),
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
    assert promised_number(file) == number


def test_where_it_runs_is_what_is_declared_and_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", PAGE, re.MULTILINE)
    assert [f"{name}>={least}" for name, least in rows] == project["dependencies"]
    (first, last) = re.findall(r"Python (3\.\d+) to (3\.\d+)", PAGE)[0]
    assert project["requires-python"] == f">={first}"
    if (tried := ROOT / ".github/workflows/tests.yml").is_file():
        versions = re.findall(r"python: \[(.*)\]", tried.read_text(encoding="utf-8"))[0].split(", ")
        assert (versions[0], versions[-1]) == (f'"{first}"', f'"{last}"')


def test_no_tool_that_is_compared_with_is_left_out() -> None:
    table = PAGE.partition("## Agreement with other tools")[2].partition("## How it is tested")[0]
    asked = {name.replace("ndeval_", "ndeval-") for name in (*PEERS, *COMPAT, *COMPAT_OF_ANSWERS)}
    assert [name for name in asked if name not in table] == []


def test_attempts_at_a_wrong_claim_are_as_many_as_are_collected() -> None:
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "no:cacheprovider"]
    files = ["tests/comparison/test_wrong_claims.py", "tests/comparison/test_wrong_claims_answers.py"]
    process = subprocess.run([*words, *files], cwd=ROOT, capture_output=True, text=True, check=True)
    number = sum("::" in line for line in process.stdout.splitlines())
    (shown,) = re.findall(r"over ([\d,]+) attempts at a wrong claim", PAGE)
    assert int(shown) == number // 100 * 100


def test_each_sentence_of_the_security_page_names_a_test_that_is_there() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    sentences = page.partition("names the test that holds it.")[2].partition("A judge can")[0]
    points = [point for point in re.split(r"(?m)^- ", sentences) if point.strip()]
    assert len(points) >= 7
    for point in points:
        # A point may have several sentences; those behind a test are held by the next one.
        named = re.findall(r"`(tests/[\w/]+\.py)`", point)
        assert named, point
        assert point.rstrip().endswith((").",)), point
        assert all((ROOT / name).is_file() for name in named), named
    assert all((ROOT / name).is_file() for name in re.findall(r"`(tests/[\w/]+\.py)`", PAGE))
