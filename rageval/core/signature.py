"""The signature of a number: all that it depends on, in one line of parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# A `|` in a value is written like this, and so is what would be read as one.
_WRITTEN = "%7C"
_LIKE_WRITTEN = re.compile("%(?=(?:25)*7C)")


def join_signature(name: object, parts: Mapping[str, object]) -> str:
    """Return the name and all parts; no value, such as the name of a judge, can look like another part.

    >>> join_signature("accuracy", {"judge": "a|v:0", "v": "1.0"})
    'accuracy|judge:a%7Cv:0|v:1.0'
    """
    named = (f"{key}:{_as_value(str(value))}" for key, value in parts.items())
    return "|".join([_as_value(str(name)), *named])


def split_version(signature: str) -> tuple[str, str]:
    """Return a signature without its version, and the part that names the version, empty if there is none.

    >>> split_version("accuracy|judge:a|v:1.0")
    ('accuracy|judge:a', '|v:1.0')
    """
    # The version stands last in the signature of every score.
    rules, separator, version = signature.rpartition("|v:")
    return (rules, separator + version) if separator else (signature, "")


def _as_value(text: str) -> str:
    if "|" not in text and "%" not in text:
        return text
    return _LIKE_WRITTEN.sub("%25", text).replace("|", _WRITTEN)


def digest(lines: Iterable[str]) -> str:
    """Return the SHA-256 of lines."""
    import hashlib

    sha = hashlib.sha256()
    for line in lines:
        sha.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return sha.hexdigest()


def short_digest(lines: Iterable[str]) -> str:
    """Return as much of a digest as tells rankings and answers apart."""
    return digest(lines)[:16]
