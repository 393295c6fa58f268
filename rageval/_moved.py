"""Old names that the documentation of 0.1 told people to import: found for one version, with a warning.

Python asks the finders in `sys.meta_path` for a module. This one stands last, so that it is asked only for
what has no file, and makes such a module out of a table.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# Old module -> its names that the documentation showed -> where they are now. A package has no names here.
MOVED: dict[str, dict[str, str]] = {
    "rageval.answers": {"Rules": "rageval.scoring.rules:Rules"},
    "rageval.arena": {
        "games": "rageval.comparison.arena:games",
        "outcome_matrix": "rageval.comparison.arena:outcome_matrix",
        "strengths": "rageval.comparison.arena:strengths",
    },
    "rageval.building.fusion": {"fused": "rageval.building._pools:fused"},
    "rageval.conformance.vectors": {"text_of": "rageval.conformance:text_of"},
    "rageval.evaluation": {"Rules": "rageval.scoring.rules:Rules"},
    "rageval.files.facts": {
        "read_facts": "rageval.files.questions:read_facts",
        "read_weights": "rageval.files.questions:read_weights",
    },
    "rageval.files.metrics": {"read_metrics": "rageval.files.nuggets:read_metrics"},
    "rageval.files.umbrela": {"read_umbrela": "rageval.files.retrieved:read_umbrela"},
    "rageval.judges.exact": {
        "first_stage": "rageval.judges._exact:first_stage",
        "judge_exactly": "rageval.judges._exact:judge_exactly",
    },
    "rageval.scores": {"Score": "rageval.scoring.scores:Score"},
    "rageval.slices": {"slices": "rageval.comparison.intervals:slices"},
    "rageval.uncertainty": {},
    "rageval.uncertainty.soft": {"soft_scores": "rageval.scoring.soft:soft_scores"},
    "rageval.validation": {},
    "rageval.validation.tracks": {"track_named": "rageval.checking.tracks:track_named"},
    "rageval.validation.validating": {"validate": "rageval.checking:validate"},
}


class _Moved:
    """Finds the modules of the table, and makes them. The base classes for this would cost start-up time."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to make a module of the table; None leaves any other to whoever finds it."""
        if fullname not in MOVED:
            return None
        loader: Any = self  # typed as one, it would have to inherit
        return ModuleSpec(fullname, loader, is_package=not MOVED[fullname])

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python: an ordinary, empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its old names."""
        old, names = module.__name__, MOVED[module.__name__]

        def moved(name: str) -> Any:
            if name not in names:
                raise AttributeError(f"module {old!r} has no attribute {name!r}")
            home, _, new = names[name].partition(":")
            # At the import of the name, not of the module: the caller is then the frame above, and is shown.
            warnings.warn(
                f"{old}.{name} is {home}.{new} now; the old name goes with the next version",
                DeprecationWarning,
                stacklevel=2,
            )
            return getattr(import_module(home), new)

        setattr(module, "__getattr__", moved)  # noqa: B010


def install() -> None:
    """Let Python find the old names, after everything else."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.append(_Moved())
