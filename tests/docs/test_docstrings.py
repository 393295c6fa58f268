"""The pages of the measures: complete, and their examples true."""

from __future__ import annotations

import doctest
import importlib
import inspect
import math
import re
from types import FunctionType
from typing import get_overloads

import pytest

from rageval import interop
from rageval.measures import builtin

MEASURES = list(builtin().values())
ROOMS = ("comparison", "judges", "datasets", "building", "track", "testing", "parallel")


@pytest.mark.slow
def test_the_examples_on_a_page_are_true(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = []
    for measure in MEASURES:
        test = doctest.DocTestParser().get_doctest(measure.page, {}, measure.name, None, None)
        assert test.examples, f"the page of {measure.name} needs an executed example"
        wrong += [measure.name] * doctest.DocTestRunner().run(test).failed
    assert not wrong, capsys.readouterr().out


def test_a_page_has_formula_and_range_and_names_its_parameters() -> None:
    for measure in MEASURES:
        assert measure.summary.endswith("."), measure
        assert "Formula:" in measure.page, measure
        assert "Range:" in measure.page, measure
        assert measure.__doc__ == measure.page, measure
        for name in set(measure.declared) - {"rel", "alpha", "beta"}:
            assert name in measure.page, measure


_NUMBER = r"(−?\d+)"
_RANGES = {  # how a page's range begins, and what it declares then
    rf"{_NUMBER} to {_NUMBER}\b(?! of the set)": lambda ends: tuple(
        float(end.replace("−", "-")) for end in ends
    ),
    r"0 or 1\b|1/N to 1\b": lambda ends: (0.0, 1.0),
    r"0 upwards|0 to (Σ|what documents)": lambda ends: (0.0, math.inf),
    r"at most 1\b|0 to 1 of the set": lambda ends: (-math.inf, 1.0),
    "`low` to `high`": lambda ends: (0.0, 1.0),
}


def test_the_range_on_a_page_is_the_one_it_declares() -> None:
    for measure in MEASURES:
        (stated_range,) = re.findall("Range: (.*)", measure.page)
        (declared,) = (
            ends(match.groups())
            for start, ends in _RANGES.items()
            if (match := re.match(start, stated_range))
        )
        assert (measure.limits or (0.0, 1.0)) == declared, measure
        is_above = bool(re.search(r"^0 to 1(/|, and a little above)", stated_range))
        assert bool(measure.about.above_1) == is_above, measure


def public_functions() -> dict[str, FunctionType]:
    """Functions in `__all__` of the public rooms, and public methods of the classes there, by name."""
    functions = {"rageval.interop.install": interop.install}
    for room in ("rageval", *(f"rageval.{room}" for room in ROOMS)):
        module = importlib.import_module(room)
        for name in module.__all__:
            member = getattr(module, name)
            methods = vars(member).items() if inspect.isclass(member) else ()
            parts = {f"{name}.{key}": getattr(value, "__func__", value) for key, value in methods}
            for part, value in (parts or {name: member}).items():
                key = part.rpartition(".")[2]
                if isinstance(value, FunctionType) and (key == "__init__" or not key.startswith("_")):
                    functions[f"{room}.{part}"] = value
    return functions


PUBLIC = public_functions()
FUNCTIONS = [
    name
    for name, function in PUBLIC.items()
    if name.rpartition(".")[2] == function.__name__ == function.__qualname__
]
# What a model, a person or a file may say is JSON, for which no narrower type is true.
JSON = re.compile(r"\b(dict|Mapping)\[str, Any\]")
ANY = {
    "rageval.Qrels.__init__",  # what the compiled part made
    "rageval.Qrels.compiled",
    "rageval.Qrels.from_dict",  # ids: the key of a Mapping takes neither a union nor object
    "rageval.Run.from_dict",
}


def test_few_signatures_say_any() -> None:
    loose = set()
    for name, function in PUBLIC.items():
        for seen in get_overloads(function) or [function]:
            if any(re.search(r"\bAny\b", JSON.sub("", str(hint))) for hint in seen.__annotations__.values()):
                loose.add(name)
    assert loose == ANY
    assert len(PUBLIC) > 120


def sections(function: FunctionType) -> dict[str, str]:
    """The sections of a docstring, as numpydoc parts them."""
    parts = re.split(r"^(\w+)\n-+\n", inspect.getdoc(function) or "", flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_a_public_function_says_what_it_takes_and_returns() -> None:
    for name in FUNCTIONS:
        function = PUBLIC[name]
        parts = sections(function)
        listed = re.findall(r"^\S.*$", parts.get("Parameters", ""), flags=re.MULTILINE)
        named = {word.strip(" *") for line in listed for word in line.split(",")}
        assert named == set(inspect.signature(function).parameters), name
        returned = str(function.__annotations__["return"])
        if returned != "None":
            assert ("Yields" if returned.startswith("Iterator") else "Returns") in parts, name


def test_the_functions_of_the_package_are_among_them() -> None:
    assert {"rageval.evaluate", "rageval.compare", "rageval.comparison.compare", "rageval.judge"} <= set(
        FUNCTIONS
    )
    assert len(FUNCTIONS) > 30
