"""The pages of the measures: complete, and their examples true."""

from __future__ import annotations

import doctest

import pytest

from rageval.measures import Measure, builtin

MEASURES = list(builtin().values())


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_the_examples_on_a_page_are_true(measure: Measure) -> None:
    test = doctest.DocTestParser().get_doctest(measure.page, {}, measure.name, None, None)
    assert test.examples, "a page needs an executed example"
    results = doctest.DocTestRunner().run(test)
    assert results.failed == 0


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_a_page_has_formula_and_range_and_names_its_parameters(measure: Measure) -> None:
    assert measure.summary.endswith(".")
    assert "Formula:" in measure.page
    assert "Range:" in measure.page
    assert measure.__doc__ == measure.page
    for name in set(measure.declared) - {"rel", "alpha", "beta"}:
        assert name in measure.page
