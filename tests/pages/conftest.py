"""A small plan of labels, drawn once a file of tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from labeling import plan_of
from rageval.files.plans import LabelPlan, read_plan


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plan_of(tmp_path_factory.mktemp("plan"), 3)


@pytest.fixture(scope="module")
def plan(asked: Path) -> LabelPlan:
    return read_plan(str(asked))
