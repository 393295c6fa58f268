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
from rageval.files.whole import NamedInFile, beside, read_whole
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

    def section(self, *names: str, known: Collection[str] | None = None) -> dict[str, Any]:
        """Return a section, such as `gate`, or `logs` and `prod`; {} where there is none.

        InputError if a key is not `known`, with the nearest that is.
        """
        found: Any = self.tables
        for at, name in enumerate(names, 1):
            found = found.get(name, {})
            if not isinstance(found, Mapping):
                raise InputError(
                    at=self.place(*names[:at]),
                    expected="a table",
                    found=f"{found!r:.80}",
                )
        for key in found:
            if known is not None and key not in known:
                hint = did_you_mean(key, known)
                raise InputError(
                    at=self.place(*names),
                    problem=f"unknown key {visible(key)!r}",
                    expected="" if hint else f"some of {', '.join(sorted(known))}",
                    remedy=hint,
                )
        return dict(found)

    def title(self, *names: str) -> str:
        """Return a section as its file writes it."""
        before = ["tool", "rageval"] if os.path.basename(self.path) == _NAMES[1] else []
        return f"[{'.'.join([*before, *map(visible, names)])}]" if before or names else "at its top"

    def place(self, *names: str) -> Place:
        """Return a section as a place in its file."""
        return Place(visible(self.path), inside=self.title(*names))

    def gate_settings(self, known: Collection[str] | None = None) -> dict[str, Any]:
        """Return [gate] with paths for the files that it names; `InputError` for what only a person may ask.

        `known` are the keys that there are.
        """
        found = self.section("gate")
        for key in found.keys() & EFFECTS.keys():
            raise InputError(
                at=self.place("gate"),
                problem=f"{key} {EFFECTS[key]}, which a policy cannot do",
                remedy=f"remove it, and use --{key} on the command line",
            )
        found = self.section("gate", known=known)
        return {key: self._settled(key, value) for key, value in found.items()}

    def _settled(self, key: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._settled(key, each) for each in value]
        if not isinstance(value, str):
            return value
        named = NamedInFile(value, self.path, self.place("gate").below(key))
        if key in READS:
            return from_here(os.fspath(beside(named)))
        if key in READS_OR_WORDS:
            path = from_here(os.fspath(beside(named)))
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
                return _FROZEN + from_here(os.fspath(beside(inner)))
        return value


def find_policy(folder: str | os.PathLike[str] | None = None) -> Policy:
    """Return the policy of this folder, or of the nearest one above it within the same repository."""
    here = os.path.abspath(folder or os.curdir)
    for above in _upwards(here):
        found = [policy for name in _NAMES if (policy := read_policy(os.path.join(above, name))) is not None]
        if len(found) > 1:
            raise InputError(
                at=Place(visible(found[0].path)),
                problem=f"{visible(found[1].path)} has {found[1].title()}, too",
                expected="one of them",
            )
        if found:
            if above != here:
                _require_own(found[0].path)
            return found[0]
    return Policy()


def _upwards(folder: str) -> Iterator[str]:
    """Yield a folder, and those above it up to the root of its repository; it alone where there is none."""
    above = [folder]
    while (parent := os.path.dirname(above[-1])) != above[-1]:
        above.append(parent)
    for marks in ((".git", ".hg"), (_NAMES[1],)):
        for number, each in enumerate(above, 1):
            if any(os.path.exists(os.path.join(each, mark)) for mark in marks):
                yield from above[:number]
                return
    yield folder


def _require_own(path: str) -> None:
    """Refuse a policy above the working folder that another user wrote, as git refuses a repository."""
    # In a container files often belong to a user of the machine outside.
    if not hasattr(os, "getuid") or any(map(os.path.exists, _CONTAINERS)):
        return
    owners = {os.stat(each).st_uid for each in (path, os.path.dirname(path))}
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
    policy.section(known=_SECTIONS)
    return policy
