"""Options that fields declare: as read off an annotation, on a command line, and in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_type_hints

import click
import pytest
from click.testing import CliRunner

from rageval.cli._options import Command, takes_options
from rageval.comparison.gate import GateSettings
from rageval.comparison.results import Settings
from rageval.errors import UsageError
from rageval.options import (
    REQUIRED,
    Option,
    Options,
    fields_of_class,
    measured,
    refuse_other_words,
    settings_from,
)
from rageval.scoring.rules import Rules
from rageval.typing import AnswerOptions, ComparisonOptions, GateOptions, RunOptions

Color = Annotated[Literal["red", "green"], measured("Of what color.", ("-c", "--color"))]


class _Paint(Options):
    color: Color | None = None
    coats: Annotated[int, Option("How many.", least=1, most=3)] = 1
    walls: Annotated[tuple[str, ...], Option("Which.", ("--wall",), metavar="WALL")] = ()
    corners: Annotated[tuple[str, str] | None, Option("From where to where.")] = None
    is_wet: Annotated[bool, Option("Let it be wet.", ("--wet",))] = False
    brush: Annotated[str, Option("With what.")]
    reason: str = "no option"


def test_a_field_says_its_type_its_default_and_its_choices() -> None:
    fields = {field.name: field for field in fields_of_class(_Paint)}
    assert list(fields) == ["color", "coats", "walls", "corners", "is_wet", "brush"]
    assert fields["color"].choices == ("red", "green")
    assert fields["color"].option.section == "Measures"
    assert (fields["walls"].type, fields["walls"].is_several) == (str, True)
    assert not fields["corners"].is_several
    assert fields["brush"].default is REQUIRED
    assert [fields[name].default for name in ("color", "coats", "walls")] == [None, 1, ()]


def test_a_text_beside_it_says_in_other_words_what_a_command_does_with_it() -> None:
    @dataclass
    class Other:
        color: Annotated[Color, "The color of the wall."] = "red"

    hints = get_type_hints(Other, localns={"Color": Color}, include_extras=True)
    assert hints["color"].__metadata__[-1] == "The color of the wall."


@click.command(cls=Command)
@click.argument("fence")
@takes_options
def _paint(fence: str, options: _Paint, ladder: Annotated[int, Option("How high.")] = 2) -> None:
    click.echo(f"{fence} {ladder} {vars(options)}")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["h", "--brush", "b"],
            "h 2 {'color': None, 'coats': 1, 'walls': (), 'corners': None, 'is_wet': False, 'brush': 'b'}",
        ),
        (
            ["h", "--brush", "b", "-c", "red", "--wall", "n", "--wall", "s", "--wet"],
            "'color': 'red', 'coats': 1, 'walls': ('n', 's')",
        ),
        (
            ["h", "--brush", "b", "--corners", "a", "z", "--ladder", "9"],
            "h 9 {'color': None, 'coats': 1, 'walls': (), 'corners': ('a', 'z')",
        ),
        (["h"], "Missing option '--brush'"),
        (["h", "--brush", "b", "--coats", "4"], "4 is not in the range 1<=x<=3"),
        (["h", "--brush", "b", "-c", "blue"], "'blue' is not one of 'red', 'green'"),
    ],
)
def test_the_command_line_is_made_of_the_fields(words: list[str], expected: str) -> None:
    result = CliRunner().invoke(_paint, words)
    assert expected in result.output, result.output
    assert result.exit_code == (0 if expected.startswith(("h ", "'color'")) else 2)


def test_settings_take_the_options_of_the_same_names_and_what_is_said_beside() -> None:
    @dataclass
    class Wanted:
        coats: int
        brush: str
        price: float = 1.5

    assert settings_from(Wanted, _Paint(brush="b", coats=2), brush="c") == Wanted(2, "c", 1.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Rules(ties="tree"),
            "ties='tree': expected one of trec, rank, docid_asc, input, expected, error",
        ),  # type: ignore[arg-type]
        (lambda: Rules(zero_rel="no"), "zero_rel='no': expected one of zero, skip, nan"),  # type: ignore[arg-type]
        (lambda: Rules(on_missing=None), "on_missing=None: expected one of error, skip, worst, best"),  # type: ignore[arg-type]
        (lambda: Settings(test="z"), "test='z': expected one of auto, randomization, t"),  # type: ignore[arg-type]
        (lambda: Settings(population="some"), "population='some': expected one of kind, set"),  # type: ignore[arg-type]
        (lambda: GateSettings(0.1, block="b"), "block='b': expected one of worse, beyond-margin"),  # type: ignore[arg-type]
        (lambda: GateSettings(0.1, judge_changed="x"), "judge_changed='x': expected one of error, allow"),  # type: ignore[arg-type]
    ],
)
def test_python_refuses_other_words_than_the_field_lists(make: object, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value) == message


def test_a_word_that_may_be_none_is_not_refused() -> None:
    refuse_other_words(_Paint(brush="b"))
    with pytest.raises(UsageError, match="expected one of red, green"):
        refuse_other_words(_Paint(brush="b", color="blue"))  # type: ignore[arg-type]


def test_options_have_their_defaults_and_are_changed_in_a_copy() -> None:
    paint = _Paint(brush="b")
    wet = paint.replaced(is_wet=True)
    assert (paint.coats, paint.is_wet, wet.is_wet, wet.brush, type(wet)) == (1, False, True, "b", _Paint)


@pytest.mark.parametrize(
    ("typed", "holder", "declared_words"),
    [
        (RunOptions, Rules, {"on_missing", "weights"}),
        (
            AnswerOptions,
            Rules,
            set(Rules.__dataclass_fields__) - {"on_missing", "groups", "weights", "compat", "intersection"},
        ),
        (ComparisonOptions, Settings, set()),
    ],
)
def test_what_type_checkers_are_told_are_the_fields(
    typed: type, holder: type, declared_words: set[str]
) -> None:
    assert set(typed.__annotations__) == set(holder.__dataclass_fields__) - declared_words  # type: ignore[attr-defined]


def test_options_of_a_gate_are_those_of_scoring_and_its_own() -> None:
    own_options = {*RunOptions.__annotations__, *GateSettings.__dataclass_fields__}
    assert set(GateOptions.__annotations__) <= own_options
