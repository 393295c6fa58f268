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
│   └── TooFewLabels  people's labels do not carry a claim
└── MissingPackage    an optional package is needed for what was asked (also an ImportError)

The message always says what was found, what was expected and the way out. Anything else that is
raised is a bug of rageval's and stays a traceback.
"""

from __future__ import annotations

__all__ = [
    "BudgetReached",
    "InputError",
    "JudgeFailed",
    "MeasureError",
    "MissingJudgements",
    "MissingPackage",
    "NothingJudged",
    "OutputError",
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
    " does not follow from its bundle, or tools differ and nobody knows why",
    WRONG: "usage or input error",
    _MISSING: "judgements are missing, or what a bundle withholds, quotes stand nowhere, or a judge failed",
    _BUDGET: "the budget is reached",
    INCONCLUSIVE: "the gate can neither pass nor block (inconclusive)",
    INTERRUPTED: "interrupted (SIGINT, SIGTERM, SIGHUP)",
}


class RagevalError(Exception):
    """Base of all errors a user can cause; `exit_code` is what the command line returns for it."""

    exit_code = WRONG


class InputError(RagevalError, ValueError):
    """A file, or data handed over in Python, that cannot be scored as it is."""


class NothingJudged(InputError, UserWarning):
    """No document that a run retrieved is judged, so that its numbers say nothing of it."""


class MeasureError(RagevalError, ValueError):
    """A measure name, parameter or cut-off that rageval does not know."""


class UnknownParameter(MeasureError):
    """A parameter that the measure does not have."""


class UsageError(RagevalError, ValueError):
    """Options or arguments that do not make sense together."""


class TooFewLabels(UsageError):
    """People judged too few queries, or too few independent ones, for a claim to rest on."""


class OutputError(RagevalError, OSError):
    """The result cannot be written: the disk is full, or there is no output."""


class StoreLost(OutputError):
    """The file of the store is gone, or another one: what is asked now would be paid for and lost."""

    exit_code = _MISSING


class MissingJudgements(RagevalError, ValueError):
    """Judgements failed, or are not there where other systems have them."""

    exit_code = _MISSING


class JudgeFailed(MissingJudgements):
    """The model cannot be asked any further; what it has answered is stored."""


class BudgetReached(RagevalError):
    """The next call would cost more, or be one more, than was allowed; the replies so far are stored."""

    exit_code = _BUDGET


class MissingPackage(RagevalError, ImportError):
    """A feature needs an optional package that is not installed."""

    def __init__(self, package: str, purpose: str, extra: str | None = None) -> None:
        install = f"rageval[{extra}]" if extra else package
        super().__init__(f"{purpose} needs the package {package!r}: pip install '{install}'")
        self._asked = package, purpose, extra

    def __reduce__(self) -> tuple[object, ...]:  # the message alone could not be unpacked again
        return type(self), self._asked
