"""The policy of a project: `rageval.toml`, or `[tool.rageval]` of `pyproject.toml`.

Only `gate`, pytest and `import` read it; a score must not depend on the folder that one stands in. Each key
is the long name of a flag, and what is not known is an error.

A policy comes with a repository that somebody else may have written. So it settles rules, and names files
that are read, in its own folder or below. What writes, runs code or costs money is typed by a person.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from rageval.errors import InputError, Place
from rageval.files.whole import NamedInFile, read_whole, resolve_sibling_path
from rageval.names import did_you_mean
from rageval.text import visible

_NAMES = ("rageval.toml", "pyproject.toml")
_SECTIONS = ("gate", "logs")
_LARGEST = 2**20  # bytes; a policy is read by people
# Keys of [gate] by what they do; all others are rules.
READS = frozenset({"anchor", "baseline", "chunks", "sources"})
# A word (the id of a dataset, a field, a built-in rubric), or a file where one is there.
READS_OR_WORDS = frozenset(
    {"answers", "by", "cluster", "gold", "gold-chosen", "intent-weights", "nuggets", "questions", "rubric"}
)
EFFECTS = {
    "aa": "asks the judge again, which costs",
    "json": "writes a file",
    "junit": "writes a file",
    "limit": "lets files take more memory and time",
    "md": "writes a file",
    "policy": "is where a policy is read",
    "save-baseline": "writes a file",
    "show-policy": "is for a person who looks",
    "store": "is where replies are written",
}
_FROZEN = "frozen:"  # a judge that reads a file


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

    def section(self, *names: str, allowed: Collection[str] | None = None) -> dict[str, Any]:
        """Return a section, such as `gate`, or `logs` and `prod`; {} where there is none.

        InputError if a key is none of the `allowed`, with the nearest that is.
        """
        table: Any = self.tables
        for depth, name in enumerate(names, 1):
            table = table.get(name, {})
            if not isinstance(table, Mapping):
                raise InputError(
                    at=self.place(*names[:depth]),
                    expected="a table",
                    found=f"{table!r:.80}",
                )
        for key in table:
            if allowed is not None and key not in allowed:
                hint = did_you_mean(key, allowed)
                raise InputError(
                    at=self.place(*names),
                    problem=f"unknown key {visible(key)!r}",
                    expected="" if hint else f"some of {', '.join(sorted(allowed))}",
                    remedy=hint,
                )
        return dict(table)

    def title(self, *names: str) -> str:
        """Return a section as its file writes it."""
        before = ["tool", "rageval"] if os.path.basename(self.path) == _NAMES[1] else []
        return f"[{'.'.join([*before, *map(visible, names)])}]" if before or names else "at its top"

    def place(self, *names: str) -> Place:
        """Return a section as a place in its file."""
        return Place(visible(self.path), inside=self.title(*names))

    def gate_settings(self, allowed: Collection[str] | None = None) -> dict[str, Any]:
        """Return [gate] with paths for the files that it names; `InputError` for what only a person may ask.

        `allowed` are the keys that there are.
        """
        settings = self.section("gate")
        for key in settings.keys() & EFFECTS.keys():
            raise InputError(
                at=self.place("gate"),
                problem=f"{key} {EFFECTS[key]}, which a policy cannot do",
                remedy=f"remove it, and use --{key} on the command line",
            )
        settings = self.section("gate", allowed=allowed)
        return {key: self._resolved(key, value) for key, value in settings.items()}

    def _resolved(self, key: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._resolved(key, item) for item in value]
        if not isinstance(value, str):
            return value
        named = NamedInFile(value, self.path, self.place("gate").below(key))
        if key in READS:
            return from_here(os.fspath(resolve_sibling_path(named)))
        if key in READS_OR_WORDS:
            path = from_here(os.fspath(resolve_sibling_path(named)))
            if os.path.lexists(path):
                return path
            # The word would be taken for a file that the policy does not name.
            if os.path.lexists(value):
                raise InputError(
                    at=named.place,
                    problem="is in the current folder, not in that of the policy",
                    remedy="give its name relative to the policy",
                )
        if key == "judge":
            # By its name, at its provider's own address.
            if "@" in value or "://" in value:
                raise InputError(
                    at=named.place,
                    problem="a policy cannot set an address that gets a key and the answers",
                    remedy="remove it, and use --judge",
                )
            if value.startswith(_FROZEN):
                inner = NamedInFile(value.removeprefix(_FROZEN), named.file, named.where)
                return _FROZEN + from_here(os.fspath(resolve_sibling_path(inner)))
        return value


def find_policy(folder: str | os.PathLike[str] | None = None) -> Policy:
    """Return the policy of this folder, or of the nearest one above it within the same repository."""
    start = os.path.abspath(folder or os.curdir)
    for folder_above in _parent_folders(start):
        policies = [
            policy for name in _NAMES if (policy := read_policy(os.path.join(folder_above, name))) is not None
        ]
        if len(policies) > 1:
            raise InputError(
                at=Place(visible(policies[0].path)),
                problem=f"{visible(policies[1].path)} has {policies[1].title()}, too",
                expected="one of them",
            )
        if policies:
            if folder_above != start:
                _require_own(policies[0].path)
            return policies[0]
    return Policy()


def _parent_folders(folder: str) -> Iterator[str]:
    """Yield a folder, and those above it up to the root of its repository; it alone where there is none."""
    folders = [folder]
    while (parent := os.path.dirname(folders[-1])) != folders[-1]:
        folders.append(parent)
    for marks in ((".git", ".hg"), (_NAMES[1],)):
        for number, candidate in enumerate(folders, 1):
            if any(os.path.exists(os.path.join(candidate, mark)) for mark in marks):
                yield from folders[:number]
                return
    yield folder


def _require_own(path: str) -> None:
    """Refuse a policy above the working folder that another user wrote, as git refuses a repository."""
    # In a container files often belong to a user of the machine outside.
    if not hasattr(os, "getuid") or any(map(os.path.exists, _CONTAINERS)):
        return
    owners = {os.stat(owned).st_uid for owned in (path, os.path.dirname(path))}
    if owners - {os.getuid(), 0}:
        raise InputError(
            at=Place(visible(path)),
            problem="belongs to another user and is in another folder",
            remedy=f"if you trust it, use --policy {visible(path)}",
        )


_CONTAINERS = ("/.dockerenv", "/run/.containerenv")


def policy_in(path: str | os.PathLike[str]) -> Policy:
    """Return the policy in a file that a person named."""
    policy = read_policy(os.path.abspath(path))
    if policy is None:
        raise InputError(
            at=Place(visible(os.fspath(path))),
            problem="holds no policy",
            expected=f"a file such as {_NAMES[0]}",
        )
    return policy


def read_policy(path: str) -> Policy | None:
    """Return the policy in a file; None if it is not there, or is a `pyproject.toml` that has none."""
    if not os.path.isfile(path):
        return None
    content = read_whole(path, "a policy", _LARGEST)
    try:
        tables: Any = tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # of TOML, and of UTF-8
        raise InputError(
            at=Place(visible(path)), problem=f"is not valid TOML: {visible(str(error))[:200]}"
        ) from error
    if os.path.basename(path) == _NAMES[1]:
        tool = tables.get("tool", {})
        tables = tool.get("rageval") if isinstance(tool, dict) else None
        if tables is None:
            return None
    policy = Policy(path, tables if isinstance(tables, dict) else {"": tables})
    policy.section(allowed=_SECTIONS)
    return policy
