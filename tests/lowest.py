"""Prints the lowest versions that pyproject.toml allows, as constraints for pip: `python tests/lowest.py`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

BUILT_WITH = {"dev", "docs", "fuzz", "lint", "test", "all"}  # no part of what people install to use it


def constraints() -> list[str]:
    """`name==version` of the core and of every extra that people use; an error where a bound is missing."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    requirements = [
        *project["dependencies"],
        *(r for name in extras.keys() - BUILT_WITH for r in extras[name]),
    ]
    pinned = set()
    for requirement in requirements:
        match = re.match(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)", requirement)
        if match is None:
            raise ValueError(f"{requirement}: expected a lower bound")
        pinned.add(f"{match[1]}=={match[2]}")
    return sorted(pinned)


if __name__ == "__main__":
    print("\n".join(constraints()))
