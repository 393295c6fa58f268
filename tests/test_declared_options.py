"""Options that fields declare: as read off an annotation, on a command line, and in Python."""

from __future__ import annotations

from typing import Annotated, Literal

from rageval.options import (
    REQUIRED,
    Option,
    Options,
    fields_of_class,
    measured,
)

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
