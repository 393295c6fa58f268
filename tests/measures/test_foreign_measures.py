"""What ir_measures' providers are refused, and who is named instead: of made-up providers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rageval.errors import MeasureError
from rageval.measures import foreign
from rageval.measures.foreign import ForeignMeasure, by_provider


class Theirs(SimpleNamespace):
    NAME = "ERR"
    SUPPORTED_PARAMS = ("cutoff",)
    params: dict[str, Any] = {}  # noqa: RUF012
    aggregator = list

    def __str__(self) -> str:
        return "ERR"


def provider(is_there: bool, can: bool) -> SimpleNamespace:
    return SimpleNamespace(is_available=lambda: is_there, supports=lambda _: can)


def test_only_those_that_are_installed_and_can_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    providers = {
        "asked": provider(True, False),
        "absent": provider(False, True),
        "able": provider(True, True),
        "unable": provider(True, False),
    }
    theirs = SimpleNamespace(providers=SimpleNamespace(registry=providers))
    monkeypatch.setattr(foreign, "_ir_measures", lambda: theirs)
    with pytest.raises(MeasureError) as caught:
        by_provider(ForeignMeasure(Theirs()), "asked")
    assert str(caught.value) == (
        "ERR: asked does not compute it; of those installed, able can; leave out --provider"
    )


def test_gdeval_takes_grades_up_to_4() -> None:
    measure = ForeignMeasure(Theirs(), "gdeval")
    measure.refuse(4, False)
    with pytest.raises(MeasureError, match="takes grades up to 4, the judgements hold 5;"):
        measure.refuse(5, False)
