"""What the documentation of 0.1 told people to import is found under its old name, with a warning."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from importlib.machinery import PathFinder

import pytest

from rageval._moved import MOVED

# What 0.1's README, pages and examples import from modules, and what its api.md lists there.
TOLD = [
    "rageval.answers.Rules",
    "rageval.arena.games",
    "rageval.arena.outcome_matrix",
    "rageval.arena.strengths",
    "rageval.building.fusion.fused",
    "rageval.conformance.vectors.text_of",
    "rageval.evaluation.Rules",
    "rageval.files.answers.read_answers",
    "rageval.files.answers.write_answers",
    "rageval.files.facts.read_facts",
    "rageval.files.facts.read_weights",
    "rageval.files.metrics.read_metrics",
    "rageval.files.nuggets.read_nuggets",
    "rageval.files.questions.read_questions",
    "rageval.files.umbrela.read_umbrela",
    "rageval.interop.install",
    "rageval.judges.exact.judge_exactly",
    "rageval.records.Answer",
    "rageval.records.Question",
    "rageval.records.Sentence",
    "rageval.scores.Score",
    "rageval.slices.slices",
    "rageval.uncertainty.soft.soft_scores",
    "rageval.validation.tracks.track_named",
    "rageval.validation.validating.validate",
]


@pytest.mark.parametrize("name", TOLD)
def test_what_people_were_told_to_import_is_found(name: str) -> None:
    module, _, member = name.rpartition(".")
    old = importlib.import_module(module)
    if module not in MOVED:
        assert callable(getattr(old, member))
        return
    with pytest.warns(DeprecationWarning, match="goes with the next version") as caught:
        found = getattr(old, member)
    home, _, new = MOVED[module][member].partition(":")
    assert found is getattr(importlib.import_module(home), new)
    (warning,) = caught
    assert str(warning.message).startswith(f"{name} is {home}.{new} now")
    assert warning.filename == __file__


def test_every_old_name_leads_somewhere_and_was_told() -> None:
    listed = {f"{module}.{name}" for module, names in MOVED.items() for name in names}
    assert listed <= {*TOLD, "rageval.judges.exact.first_stage"}
    for names in MOVED.values():
        for place in names.values():
            home, _, new = place.partition(":")
            assert getattr(importlib.import_module(home), new) is not None


@pytest.mark.slow
def test_the_words_of_an_old_script_still_run() -> None:
    code = """
import rageval.uncertainty.soft
from rageval.evaluation import Rules
from rageval import arena
print(rageval.uncertainty.soft.soft_scores.__name__, Rules.__name__, arena.games.__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "soft_scores Rules games\n"
    shown = done.stderr.splitlines()
    assert len(shown) == 3
    assert shown[0].startswith("<string>:3: DeprecationWarning: rageval.evaluation.Rules is rageval.scoring")


@pytest.mark.parametrize("name", ["rageval.evaluation.Rulez", "rageval.nowhere", "rageval.uncertainty.hard"])
def test_what_never_was_is_an_error(name: str) -> None:
    module, _, member = name.rpartition(".")
    with pytest.raises((ImportError, AttributeError)), warnings.catch_warnings():
        importlib.import_module(name)
    if module in MOVED:
        with pytest.raises(AttributeError, match=f"no attribute '{member}'"):
            getattr(importlib.import_module(module), member)


@pytest.mark.parametrize("name", MOVED)
def test_no_file_stands_where_an_old_name_does(name: str) -> None:
    """It would be found first, and the table be asked for nothing."""
    package, _, _ = name.rpartition(".")
    if package in MOVED:
        return
    assert PathFinder.find_spec(name, importlib.import_module(package).__path__) is None
