"""The files of a data set on the Hugging Face hub: their shards, sizes and hashes, as the hub lists them."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from urllib.parse import quote

import msgspec

from rageval.datasets.catalogue import HUB, Source
from rageval.datasets.home import plain
from rageval.datasets.transport import Again, Transport, shown
from rageval.errors import InputError

_LONGEST_LISTING = 16 * 2**20


class _Stored(msgspec.Struct):
    oid: str
    size: int


class _Listed(msgspec.Struct):
    type: str
    path: str
    size: int = 0
    lfs: _Stored | None = None


def shards(source: Source, transport: Transport) -> list[Source]:
    """The files that a source means, in order, each with its address, size and (if it is large) sha256."""
    folder = f"/{quote(source.folder)}" if source.folder else ""
    url = f"{HUB}/api/datasets/{source.repo}/tree/main{folder}"
    listed = _listing(url, transport)
    names = {file.path.rpartition("/")[2]: file for file in listed if file.type == "file"}
    matching = sorted(name for name in names if fnmatchcase(name, source.match))
    if not matching:
        found = ", ".join(sorted(names)[:5]) or "none"
        raise InputError(f"{shown(url)}: expected files {source.match}, found {found}")
    return [_source(source, plain(name, name), names[name]) for name in matching]


def _source(source: Source, name: str, file: _Listed) -> Source:
    folder = f"{quote(source.folder)}/" if source.folder else ""
    return Source(
        source.role,
        f"{HUB}/datasets/{source.repo}/resolve/main/{folder}{name}",
        size=file.lfs.size if file.lfs else file.size,
        sha256=file.lfs.oid if file.lfs else None,
    )


def _listing(url: str, transport: Transport) -> list[_Listed]:
    for failures in range(1, transport.attempts + 1):
        try:
            reply = transport.open(url)
            try:
                text = _whole(reply.read, url)
            finally:
                reply.close()
            return msgspec.json.decode(text, type=list[_Listed])
        except Again as again:
            if failures == transport.attempts:
                raise InputError(f"{shown(url)}: {again} ({failures} times)") from None
            transport.pause(again.wait if again.wait is not None else 2.0**failures / 2)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{shown(url)}: expected the hub's list of files: {error}") from None
    raise InputError(f"{shown(url)}: expected at least one attempt, found {transport.attempts}")


def _whole(read: Callable[[int], bytes], url: str) -> bytes:
    text = b""
    while block := read(2**16):
        text += block
        if len(text) > _LONGEST_LISTING:
            raise InputError(f"{shown(url)}: a list of files of more than {_LONGEST_LISTING:,} bytes")
    return text
