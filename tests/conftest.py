"""Hypothesis profiles: `dev` is quick, `ci` looks harder, always at the same examples; what scores runs."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from rageval.testing import LlmServer

settings.register_profile("dev", max_examples=40, deadline=None)
settings.register_profile(
    "ci", max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))

if "mix_stderr" in inspect.signature(CliRunner.__init__).parameters:  # click before 8.2 puts both into one
    CliRunner.__init__.__defaults__ = tuple(  # type: ignore[misc]
        False if default is True else default for default in CliRunner.__init__.__defaults__ or ()
    )

# What scores runs, and is therefore tried with the compiled part and without it (RAGEVAL_KERNEL=0).
SCORING = {
    *(
        "test_cli_score",
        "test_compat",
        "test_compat_option",
        "test_conformance",
        "test_counterexamples",
        "test_evaluation",
    ),
    *("test_kernel", "test_laws", "test_laws_together", "test_oracle", "test_uncertainty_ideal"),
    *("novelty", "ranking", "exact_ideal", "evaluation"),  # examples in docstrings
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem in SCORING:
            item.add_marker("scoring")


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
    from fair_judge import fair
    from rageval.testing import LlmServer

    with LlmServer(fair) as found:
        monkeypatch.setenv("OPENAI_BASE_URL", found.openai)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", found.anthropic)
        yield found
