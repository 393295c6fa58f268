"""Every error rageval raises for something a user can cause.

RagevalError
├── InputError        a file or a table holds something that cannot be scored (also a ValueError)
│   └── NothingJudged no document of a run is judged: an error, or in Python a warning, as is asked for
├── MeasureError      a measure, a parameter or a cut-off that does not exist (also a ValueError)
│   └── UnknownParameter
├── OutputError       the result cannot be written
│   └── StoreLost     the store of replies was deleted or replaced while it was in use
├── MissingJudgements judgements failed or are not there (also a ValueError)
│   └── JudgeFailed   the model cannot be asked any further: no key, an outage
├── BudgetReached     asking on would cost more than was allowed
├── UsageError        options that do not go together (also a ValueError)
│   ├── OptionError   the same, with options as Python or as the command line spells them
│   └── TooFewLabels  people's labels do not carry a claim
└── MissingPackage    an optional package is needed for what was asked (also an ImportError)

The message always says what was found, what was expected and the way out; an `InputError` has these as
attributes. Anything else that is raised is a bug of rageval's and stays a traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from string import Formatter
from types import MappingProxyType
from typing import Any, Self

__all__ = [
    "BudgetReached",
    "InputError",
    "JudgeFailed",
    "MeasureError",
    "MissingJudgements",
    "MissingPackage",
    "NothingJudged",
    "OptionError",
    "OutputError",
    "Place",
    "RagevalError",
    "StoreLost",
    "TooFewLabels",
    "UnknownParameter",
    "UsageError",
]

# What every command ends with, and what that says; `--help` and the manual print it from here.
_FINE, FAULTS, WRONG, _MISSING, _BUDGET, INCONCLUSIVE, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
EXIT_CODES = {
    _FINE: "fine",
    FAULTS: "a gate failed (gate, --require, --fail-under, --max-bias), a file is not valid, a leaderboard"
    " does not match its bundle, or tools differ for an unknown reason",
    WRONG: "usage or input error",
    _MISSING: "judgements, withheld bundle contents or quotes are missing, or a judge failed",
    _BUDGET: "the budget is reached",
    INCONCLUSIVE: "the gate can neither pass nor block (inconclusive)",
    INTERRUPTED: "interrupted (SIGINT, SIGTERM, SIGHUP)",
}


class RagevalError(Exception):
    """Base of all errors a user can cause; `exit_code` is what the command line returns for it."""

    exit_code = WRONG

    def command_text(self) -> str:
        """Return the message with options as the command line spells them."""
        return str(self)


@dataclass(frozen=True)
class Place:
    """Where something is wrong: a file or an object by its name, a line, and a place inside the record.

    >>> print(Place("run.trec", 7)), print(Place("log.jsonl", 2, "output.score")), print(Place("nuggets"))
    run.trec:7
    log.jsonl:2: output.score
    nuggets
    (None, None, None)
    """

    name: str
    line: int | None = None
    inside: str = ""

    def __str__(self) -> str:
        numbered = self.name if self.line is None else f"{self.name}:{self.line}"
        return f"{numbered}: {self.inside}" if self.inside else numbered

    def below(self, inside: str) -> Place:
        """Return a place inside this one."""
        return replace(self, inside=f"{self.inside}: {inside}" if self.inside else inside)


class InputError(RagevalError, ValueError):
    """A file, or data passed in Python, that cannot be scored.

    `at` is where (None if there is no place), `found` what is wrong there, `expected` what belongs there,
    `remedy` what to do; a part that an error does not have is empty. `reason` is the text without file and
    line.

    What was found is passed in one of three ways, by where it stands in the text: `problem`, a clause, comes
    first; `found`, a noun, follows what was expected; `cause`, the words of a parser, comes behind that.

    >>> error = InputError(at=Place("run.trec", 7), expected="6 columns", found="5", remedy="add the tag")
    >>> print(error)
    run.trec:7: expected 6 columns, found 5; add the tag
    >>> error.at.line, error.expected, error.found, error.remedy
    (7, '6 columns', '5', 'add the tag')
    >>> print(InputError("is empty", at=Place("run.trec"), expected="6 columns"))
    run.trec: is empty; expected 6 columns
    """

    def __init__(
        self,
        problem: str = "",
        *,
        at: Place | None = None,
        expected: str = "",
        found: str = "",
        cause: str = "",
        remedy: str = "",
    ) -> None:
        self.at, self.expected, self.remedy = at, expected, remedy
        self.found = problem or found or cause
        self._sentence = _sentence(problem, expected, found, cause, remedy)
        self._problems: tuple[InputError, ...] = ()
        super().__init__(_with_place(at, self._sentence))

    @classmethod
    def joined(cls, problems: Sequence[InputError]) -> Self:
        """Return one error for several problems, which has the parts of the first."""
        if len(problems) == 1 and isinstance(problems[0], cls):
            return problems[0]
        error = cls.__new__(cls)
        error.__dict__ |= problems[0].__dict__
        error._problems = tuple(single for problem in problems for single in problem.problems)
        error.args = ("\n".join(map(str, problems)),)
        return error

    @property
    def problems(self) -> tuple[InputError, ...]:
        """The problems of which this error tells; one that tells of a single problem is that itself."""
        return self._problems or (self,)

    @property
    def reason(self) -> str:
        """The text without file and line, for a tool that shows these by itself."""
        return _with_place(self.at.inside if self.at else "", self._sentence)

    def located(self, place: Place) -> Self:
        """Return the same error at this place; a place that it has already is inside of that.

        >>> print(InputError("is empty").located(Place("a.zip", inside="log.json")))
        a.zip: log.json: is empty
        """
        if self._problems:
            return self.joined([problem.located(place) for problem in self._problems])
        return self.shifted(place if self.at is None else place.below(str(self.at)))

    def shifted(self, place: Place | None) -> Self:
        """Return the same error at this place, wherever it was, or without a place."""
        if self._problems:
            return self.joined([problem.shifted(place) for problem in self._problems])
        error = copy(self)
        error.at = place
        error.args = (_with_place(place, self._sentence),)
        return error

    def as_records(self) -> list[dict[str, Any]]:
        """Return each problem as JSON has it: its text and its parts, without those that it does not have."""
        records = []
        for problem in self.problems:
            place = {} if problem.at is None else vars(problem.at)
            parts = {"file": place.get("name"), "line": place.get("line"), "inside": place.get("inside")}
            parts |= {"found": problem.found, "expected": problem.expected, "remedy": problem.remedy}
            records.append({"text": str(problem)} | {name: part for name, part in parts.items() if part})
        return records

    def __reduce__(self) -> tuple[object, ...]:  # workers send errors with all their parts
        return _restored, (type(self), self.args, self.__dict__)


def missing_file(name: str) -> InputError:
    """Return the error for a file that is not there."""
    return InputError("no such file", at=Place(name), remedy="check the path")


def _sentence(problem: str, expected: str, found: str, cause: str, remedy: str) -> str:
    """Return the text of an error of input without its place; all of them are made here."""
    expectation = f"expected {expected}" if expected else ""
    if found:
        expectation = f"{expectation}, found {found}" if expectation else f"found {found}"
    text = ""
    for part in filter(None, (problem, expectation, cause, remedy)):
        # What ends as a sentence or a question is one by itself.
        mark = "" if not text else " " if text[-1] in ".?!" else "; "
        text += mark + part
    return text


def _with_place(place: object, sentence: str) -> str:
    return f"{place}: {sentence}" if place else sentence


def _restored(kind: type[InputError], args: tuple[object, ...], parts: dict[str, object]) -> InputError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__ |= parts
    return error


class NothingJudged(InputError, UserWarning):
    """No retrieved document of a run is judged, so its numbers mean nothing."""


class MeasureError(RagevalError, ValueError):
    """A measure name, parameter or cut-off that rageval does not know."""


class UnknownParameter(MeasureError):
    """A parameter that the measure does not have."""


class UsageError(RagevalError, ValueError):
    """Options or arguments that do not make sense together."""


class OptionError(UsageError):
    """Options that do not go together, each named as whoever gave it spells it.

    A field in the braces of the template is an option, unless it is one of the facts.

    >>> error = OptionError("{engine_class} needs {engine}, found {found!r}", {"found": "a:B"})
    >>> str(error), error.command_text()
    ("engine_class= needs engine=, found 'a:B'", "--engine-class needs --engine, found 'a:B'")
    """

    def __init__(self, template: str, facts: Mapping[str, Any] = MappingProxyType({})) -> None:
        super().__init__(template, dict(facts))

    def __str__(self) -> str:
        return self._filled("{}=".format)

    def command_text(self) -> str:
        """Return the message with options as the command line spells them."""
        return self._filled(lambda option: f"--{option.replace('_', '-')}")

    def _filled(self, spelled: Callable[[str], str]) -> str:
        template, facts = self.args
        names = {name for _, name, _, _ in Formatter().parse(template) if name}
        return str(template).format_map({name: spelled(name) for name in names} | facts)


class TooFewLabels(UsageError):
    """Too few queries, or too few independent ones, have human labels to support a claim.

    `reason` says what is lacking: a remark, where a comparison takes it for its reason, or a text.
    """

    def __init__(self, reason: Any) -> None:
        super().__init__(reason)
        self.reason = reason


class OutputError(RagevalError, OSError):
    """The result cannot be written: the disk is full, or there is no output."""


class StoreLost(OutputError):
    """The store's file is gone or was replaced, so new replies would be paid for and lost."""

    exit_code = _MISSING


class MissingJudgements(RagevalError, ValueError):
    """Judgements failed, or are missing where other systems have them."""

    exit_code = _MISSING


class JudgeFailed(MissingJudgements):
    """The model cannot be asked any further; the replies so far are stored."""


class BudgetReached(RagevalError):
    """The next call would exceed the allowed cost or number of calls; the replies so far are stored."""

    exit_code = _BUDGET


class MissingPackage(RagevalError, ImportError):
    """A feature needs an optional package that is not installed."""

    def __init__(self, package: str, purpose: str, extra: str | None = None) -> None:
        install = f"rageval[{extra}]" if extra else package
        super().__init__(f"{purpose} needs the package {package!r}: pip install '{install}'")
        self._asked = package, purpose, extra

    def __reduce__(self) -> tuple[object, ...]:  # the message alone could not be unpacked again
        return type(self), self._asked
