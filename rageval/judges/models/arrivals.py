"""Reading what a server sends, up to a limit: bytes are counted as they are decoded, not as they come.

The SDKs read bodies to their end, whatever that takes. So a hook of the client reads them instead, and the
call ends there: nothing of an SDK looks at what came.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from rageval.judges.models.responses import LONGEST, Response

ACCEPTED = "gzip, deflate"  # what is read here
_MOST_LAYERS = 2  # of one encoding over another
_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class Arrived(Exception):
    """The response is read: there is nothing left to do for an SDK."""


@dataclass
class Arrival:
    """Where the response to one call is put, and how long it may be."""

    longest: int
    response: Response | None = None


_ARRIVAL: ContextVar[Arrival] = ContextVar("arrival")


@contextmanager
def arriving(longest: int = LONGEST) -> Iterator[Arrival]:
    """Within this, what a client of ours receives is put into the `Arrival`."""
    arrival = Arrival(longest)
    token = _ARRIVAL.set(arrival)
    try:
        yield arrival
    except Arrived:
        pass
    finally:
        _ARRIVAL.reset(token)


async def receive(response: Any) -> None:
    """A hook for the client: read the response and end the call."""
    arrival = _ARRIVAL.get()
    headers = response.headers
    body, cut = await _read(response.aiter_raw(), headers.get("content-encoding", ""), arrival.longest)
    arrival.response = Response(response.status_code, headers, body, cut)
    raise Arrived


async def _read(raw: AsyncIterable[bytes], encoding: str, longest: int) -> tuple[bytes, bool]:
    """The decoded body, and whether it was cut: what is too long or damaged ends where it can be read."""
    layers = [name for part in encoding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if len(layers) > _MOST_LAYERS or any(name not in _WINDOWS for name in layers):
        return b"", True
    decoders = [_Decoder(_WINDOWS[name]) for name in reversed(layers)]
    body, received = bytearray(), 0
    async for chunk in raw:
        received += len(chunk)
        room = longest + 1 - len(body)
        try:
            for decoder in decoders:
                chunk = decoder.decode(chunk, room)
        except zlib.error:
            return bytes(body), True
        body += chunk
        if len(body) > longest or received > longest:
            return bytes(body[:longest]), True
    return bytes(body), any(not decoder.done for decoder in decoders)


class _Decoder:
    """One layer of compression; it never makes more bytes than there is room for."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._inner = zlib.decompressobj(window)
        self._begun = False

    @property
    def done(self) -> bool:
        """Whether the stream has come to its end."""
        return self._inner.eof

    def decode(self, chunk: bytes, room: int) -> bytes:
        """What the bytes mean, cut where the room ends."""
        if self._window == 15 and not self._begun and chunk and not _has_header(chunk):
            self._inner = zlib.decompressobj(-15)  # some servers send deflate without its header
        self._begun = self._begun or bool(chunk)
        return b"" if self.done else self._inner.decompress(chunk, room)


def _has_header(chunk: bytes) -> bool:
    return chunk[0] & 0x0F == 8 and (len(chunk) < 2 or int.from_bytes(chunk[:2], "big") % 31 == 0)
