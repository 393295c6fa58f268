"""Hypothesis profiles: `dev` is quick, `ci` looks harder, always at the same examples; what scores runs."""

from __future__ import annotations

import inspect
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from rageval.testing import LlmServer

collect_ignore = [
    "downstream",  # a project of its own, which type checkers read and nobody runs
    "faults",  # what runs in processes of their own
]

settings.register_profile("dev", max_examples=40, deadline=None)
settings.register_profile(
    "ci", max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))

os.environ.pop("COLUMNS", None)  # of xdist's: tables are as wide as they are, unless a test says otherwise

if "mix_stderr" in inspect.signature(CliRunner.__init__).parameters:  # click before 8.2 puts both into one
    CliRunner.__init__.__defaults__ = tuple(  # type: ignore[misc]
        False if default is True else default for default in CliRunner.__init__.__defaults__ or ()
    )

_ended = subprocess.Popen.__exit__


def _ended_for_good(process: subprocess.Popen[bytes], kind: object, *more: object) -> None:
    """End a process where its test has failed: it would be waited for, perhaps for ever."""
    if kind is not None:
        process.kill()
    _ended(process, kind, *more)  # type: ignore[arg-type]


subprocess.Popen.__exit__ = _ended_for_good  # type: ignore[method-assign, assignment]

# What reads or scores runs is tried with the compiled part and without it (RAGEVAL_KERNEL=0). That none is
# forgotten is held by `test_scoring_mark.py`.
SCORING = {
    *(
        "test_bad_input",
        "test_beir",
        "test_columns",
        "test_float_grades",
        "test_foreign",
        "test_beside_ir_measures",
        "test_check_measure",
        "test_cli",
        "test_cli_score",
        "test_columnar",
        "test_compare",
    ),
    *("test_compat", "test_compat_option", "test_conformance", "test_counterexamples", "test_direction"),
    *("test_doctor", "test_evaluation", "test_exhaustive", "test_field_formats", "test_fuzz_readers"),
    *("test_ir_measures", "test_kernel", "test_kernel_reader", "test_laws", "test_laws_together"),
    *("test_nothing_judged", "test_odd_but_right", "test_oracle", "test_packing", "test_parallel"),
    *("test_parallel_failures", "test_parts", "test_peer_errors", "test_pyndeval", "test_pytrec_eval"),
    *(
        "test_readers_refuse",
        "test_remote",
        "test_second_column",
        "test_slices",
        "test_spans",
        "test_spilling",
    ),
    *(
        "test_new_measure",
        "test_power",
        "test_trec_eval",
        "test_two_readers",
        "test_uncertainty_bounds",
        "test_uncertainty_ideal",
        "test_intent_weights",
        "test_cli_terminal",
    ),
    *("test_uncertainty_ties", "test_validate_run", "test_wrong_claims"),
    *("test_gate_command", "test_gate_verb"),
    *("_novelty", "ranking", "exact_ideal", "evaluation"),  # examples in docstrings
}


SLOW_FILE = re.compile(r"(?m)^pytestmark = (?:\[)?pytest\.mark\.slow\b")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what would be read for nothing.

    That is a file of which all is slow, where nothing slow is asked for (they hold a third of the tests), and
    what several tests share, unless it has examples.
    """
    if collection_path.suffix != ".py":
        return None
    text = collection_path.read_text(encoding="utf-8")
    is_slow = "not slow" in config.option.markexpr and SLOW_FILE.search(text)
    is_shared = not collection_path.name.startswith("test_") and ">>>" not in text
    return True if is_slow or is_shared else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem in SCORING:
            item.add_marker("scoring")
        # Faults are left out when nothing is said, which any -m replaces; a browser takes seconds to start.
        if item.get_closest_marker("faults") or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")


# Packages of extras that are not here: with `dev` alone, what needs one of them is skipped. CI has all.
EXTRAS = ("distributed", "fsspec", "ir_datasets", "matplotlib", "pyarrow")
LACKING = {name for name in EXTRAS if find_spec(name) is None}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if sys.platform == "win32" and isinstance(error, AttributeError) and error.obj in (os, signal):
            pytest.skip(f"Windows has no {error.name}")
        is_absent = isinstance(error, ModuleNotFoundError) and error.name in LACKING
        if is_absent or (LACKING and "needs the package" in str(error)):
            pytest.skip(str(error)[:200])
        raise


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to judge in, with a store of its own, and keys that are none."""
    from fair_judge import SENTINEL

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("OPENAI_API_KEY", SENTINEL)
    monkeypatch.setenv("ANTHROPIC_API_KEY", SENTINEL)
    return tmp_path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    """A provider on this machine who judges fairly, and whom both SDKs are pointed at."""
    pytest.importorskip("openai")
    pytest.importorskip("anthropic")
    from fair_judge import fair
    from rageval.testing import LlmServer

    with LlmServer(fair) as found:
        monkeypatch.setenv("OPENAI_BASE_URL", found.openai)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", found.anthropic)
        yield found
