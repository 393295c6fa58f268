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

from typing import Any

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


class InputError(RagevalError, ValueError):
    """A file, or data passed in Python, that cannot be scored."""


class NothingJudged(InputError, UserWarning):
    """No retrieved document of a run is judged, so its numbers mean nothing."""


class MeasureError(RagevalError, ValueError):
    """A measure name, parameter or cut-off that rageval does not know."""


class UnknownParameter(MeasureError):
    """A parameter that the measure does not have."""


class UsageError(RagevalError, ValueError):
    """Options or arguments that do not make sense together."""


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
