"""A word that an option takes is one that something knows: a change that is half done is told here."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, get_args

import pytest

from every_command import leaves
from rageval import errors, options
from rageval.checking.tracks import TRACKS
from rageval.comparison.pairs import TESTS
from rageval.files._records import RECORDS
from rageval.files.kinds import LINES
from rageval.judges.rubric import rubric_named, rubric_names
from rageval.logs.readers import _all
from rageval.measures.scales import ALL
from rageval.scoring.rules import Rules
from rageval.scoring.runs import TIE_ORDERS
from rageval.statistics.bootstrap import INTERVAL_ENDS
from rageval.subjects import KINDS
from rageval.table import PRINTERS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def words_of(option: Any) -> set[str]:
    """The words that an option takes."""
    return set(get_args(get_args(option)[0]))


@pytest.mark.parametrize(
    ("option", "known"),
    [
        # `expected` is the mean over all orders, and `error` refuses them.
        (options.Ties, [*TIE_ORDERS, "expected", "error"]),
        (options.Interval, INTERVAL_ENDS),
        (options.Test, TESTS),
    ],
    ids=["ties", "intervals", "tests"],
)
def test_each_word_of_an_option_has_what_does_it(option: Any, known: Collection[str]) -> None:
    assert words_of(option) == set(known)


def test_the_docstring_of_rules_has_each_rule_for_ties() -> None:
    (text,) = re.findall(r"^    ties\n(.*?)^    depth$", Rules.__doc__ or "", flags=re.MULTILINE | re.DOTALL)
    assert words_of(options.Ties) == set(re.findall(r"`(\w+)`", text))


@pytest.mark.parametrize("name", PRINTERS)
def test_a_format_of_tables_is_offered_and_documented(name: str) -> None:
    formats = {
        choice
        for command in leaves().values()
        for param in command.params
        if "--format" in param.opts
        for choice in param.type.choices
    }
    assert name in formats
    assert any(f"`{name}`" in path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")), name


def test_an_exit_code_has_its_meaning_and_a_class_that_ends_with_it() -> None:
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    raised = {kind.exit_code for kind in classes if issubclass(kind, errors.RagevalError)}
    # Commands end with these themselves: fine, a failed gate, one without a verdict, and a signal.
    own = {0, errors.FAULTS, errors.INCONCLUSIVE, errors.INTERRUPTED}
    assert raised | own == errors.EXIT_CODES.keys()
    assert not raised & own


@pytest.mark.parametrize("track", TRACKS)
def test_a_track_has_a_sample_and_a_place_in_the_docs(track: str) -> None:
    assert re.search(rf"`{track}`", (DOCS / "files.md").read_text(encoding="utf-8")), track
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "checking").glob("test_*.py")]
    assert any(re.search(rf'"{track}"', text) for text in tests), f"no test of checking has {track}"


# Grades of passages are judgements of documents, and those of a bank the importance of its nuggets.
OF_NO_ANSWER = ("passage", "bank")


@pytest.mark.parametrize("name", list(rubric_names()))
def test_what_a_rubric_grades_in_answers_can_be_scored(name: str) -> None:
    rubric = rubric_named(name)
    scored = {of_scale for scale in ALL for of_scale in scale.rubrics}
    if rubric.file.labels and rubric.file.unit not in OF_NO_ANSWER:
        assert rubric.judged_as in scored, f"{name}: add its scale to measures/scales.py"


@pytest.mark.parametrize("reader", list(_all()), ids=lambda reader: reader.tool)
def test_a_reader_of_logs_has_a_log(reader: Any) -> None:
    logs = ROOT / "tests" / "golden" / "logs"
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "logs").glob("*.py")]
    assert any(f'"{reader.tool}"' in text or f"/{reader.tool}" in text for text in tests) or list(
        logs.glob(f"*{reader.tool}*")
    ), reader.tool


def test_a_kind_of_subject_takes_kinds_of_files_that_are_there() -> None:
    held = {kind.holds for kind in (*LINES, *RECORDS)}
    for kind in KINDS:
        assert kind.takes.keys() <= held, kind.noun
        assert set(kind.takes.values()) == set(kind.roles), kind.noun
