"""The policy of a project: `rageval.toml`, or `[tool.rageval]` of `pyproject.toml`.

Only `gate`, pytest and `import` read it; a score must not depend on the folder that one stands in. Each key
is the long name of a flag, and what is not known is an error.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from rageval.errors import InputError
from rageval.names import suggestion
from rageval.text import visible

_NAMES = ("rageval.toml", "pyproject.toml")
_SECTIONS = ("gate", "logs")
_LARGEST = 2**20  # bytes; a policy is read by people


def from_here(path: str) -> str:
    """Return the path from the folder one stands in; as it is where none leads to it, on another drive."""
    try:
        return os.path.relpath(path)
    except ValueError:
        return path


class Policy(NamedTuple):
    """What a project has settled, and the file that says it; nothing, where there is none."""

    path: str = ""
    tables: Mapping[str, Any] = {}

    def section(self, *names: str, known: Collection[str] | None = None) -> dict[str, Any]:
        """Return a section, such as `gate`, or `logs` and `prod`; {} where there is none.

        InputError if a key is not `known`, with the nearest that is.
        """
        found: Any = self.tables
        for at, name in enumerate(names, 1):
            found = found.get(name, {})
            if not isinstance(found, Mapping):
                raise InputError(
                    f"{visible(self.path)}: {self.title(*names[:at])}: expected a table, found {found!r:.80}"
                )
        if known is not None:
            self._refuse_unknown(found, known, self.title(*names))
        return dict(found)

    def title(self, *names: str) -> str:
        """Return a section as its file writes it."""
        before = ["tool", "rageval"] if os.path.basename(self.path) == _NAMES[1] else []
        return f"[{'.'.join([*before, *map(visible, names)])}]" if before or names else "at its top"

    def place(self, path: str) -> str:
        """Return a path that the policy names, which goes by its folder and not by where one stands."""
        folder = os.path.dirname(self.path)
        return from_here(os.path.join(folder, path)) if folder else path

    def _refuse_unknown(self, found: Mapping[str, Any], known: Collection[str], title: str) -> None:
        for key in found:
            if key not in known:
                hint = suggestion(key, known) or f"; expected some of {', '.join(sorted(known))}"
                raise InputError(f"{visible(self.path)}: {title}: unknown key {visible(key)!r}{hint}")


def find_policy(folder: str | os.PathLike[str] | None = None) -> Policy:
    """Return the policy of this folder, or of the nearest one above it within the same repository."""
    for above in _upwards(os.path.abspath(folder or os.curdir)):
        found = [policy for name in _NAMES if (policy := read_policy(os.path.join(above, name))) is not None]
        if len(found) > 1:
            raise InputError(
                f"{visible(found[0].path)}: {visible(found[1].path)} has {found[1].title()}, too; expected"
                " one of them"
            )
        if found:
            return found[0]
    return Policy()


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return
        folder = above


def read_policy(path: str) -> Policy | None:
    """Return the policy in a file; None if it is not there, or is a `pyproject.toml` that has none."""
    if not os.path.isfile(path):
        return None
    tables = _read(path)
    if os.path.basename(path) == _NAMES[1]:
        tool = tables.get("tool", {})
        tables = tool.get("rageval") if isinstance(tool, dict) else None
        if tables is None:
            return None
    policy = Policy(path, tables if isinstance(tables, dict) else {"": tables})
    policy.section(known=_SECTIONS)
    return policy


def _read(path: str) -> Any:
    import tomllib

    try:
        with open(path, "rb") as stream:
            content = stream.read(_LARGEST + 1)
    except OSError as error:
        raise InputError(f"{visible(path)}: cannot be read: {error.strerror}") from error
    if len(content) > _LARGEST:
        raise InputError(f"{visible(path)}: expected a policy of at most 1 MiB")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # of TOML, and of UTF-8
        raise InputError(f"{visible(path)}: is no TOML: {visible(str(error))[:200]}") from error
