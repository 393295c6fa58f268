"""What batches have in common at all providers: many requests handed over, their replies fetched hours later.

The id of a batch also says how its requests were asked, as in `batch_1?mode=json_schema&without=temperature`,
so that a later process can record it, and learn from what was refused.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import secrets
from abc import abstractmethod
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import accumulate
from typing import Any
from urllib.parse import parse_qs, urlencode

from rageval.errors import UsageError
from rageval.judges.base import (
    ENDED,
    ERROR,
    WORKING,
    Fatal,
    Lost,
    Reply,
    Request,
    Transient,
    Unclear,
    Unreachable,
)
from rageval.judges.models._remote import (
    Call,
    RemoteModel,
    RequestForm,
    Response,
    broken,
    failure,
    mapping,
    retry_after,
    words,
)

_FILES = 5  # results may be so many times as long as the requests
_PATIENCE = 5  # files are big: so many times as long as for one question
_ID = re.compile(r"\w[\w.-]{0,199}", re.ASCII)
_ANY = Request("", "", {})
_MARGIN = 24 * 3600.0  # seconds by which clocks may differ
_Send = Callable[[Any], Awaitable[Any]]
_Listed = AsyncIterator[dict[str, Any]]


@dataclass(frozen=True)
class Result:
    """What has become of one request of a batch: a response, or the reason why there is none."""

    key: str
    response: Response | None = None
    detail: str = ""


class RemoteBatches(RemoteModel):
    """A model that also takes batches: a `BatchModel`."""

    batch_limit: int
    batch_bytes: int  # what one batch may hold as text

    def fitting(self, requests: Sequence[tuple[str, Request]]) -> int:
        """Count how many of these, from the first on, one batch may hold."""
        return self._fitting(self._entries(requests[: self.batch_limit], self._form))

    def intent(self) -> str:
        """Name a batch that is about to be handed over; the name also says how its requests are asked."""
        return _with_form(f"rageval-{secrets.token_hex(16)}", self._form)

    async def submit(self, requests: Sequence[tuple[str, Request]], intent: str = "") -> str:
        """Hand over a batch, each request under its key; the batch's id."""
        keys = {key for key, _ in requests}
        if not requests or len(keys) < len(requests):
            raise UsageError(
                f"a batch of {len(requests)} requests under {len(keys)} keys: expected a key each"
            )
        tag, form = _parted(intent or self.intent())
        entries = [*self._entries(requests, form)]
        fits = min(self._fitting(entries), self.batch_limit)
        if fits < len(requests):
            raise UsageError(f"{len(requests)} requests are too many for one batch, expected {fits} at most")
        try:
            async with asyncio.timeout(_PATIENCE * self.timeout):
                return _with_form(await self._handed_over(entries, tag), form)
        except TimeoutError:
            pass  # told below, so that no traceback leads into the SDK and the headers it holds
        raise Lost(f"{self.name}: no answer within {_PATIENCE * self.timeout:g} seconds")

    async def find(self, intent: str, keys: Sequence[str], since: str, known: Collection[str]) -> str | None:
        """Find the id of a batch that never came back; None if there is none, `Unclear` if nobody can say."""
        tag, form = _parted(intent)
        names = {batch.partition("?")[0] for batch in known}
        earliest = datetime.fromisoformat(since).timestamp() - _MARGIN
        found = await self._patiently(self._found(tag, keys, earliest, names))
        return None if found is None else _with_form(found, form)

    async def abandon(self, intent: str) -> None:
        """Leave nothing behind of a batch that was not accepted."""

    async def state(self, batch: str) -> str:
        """Tell whether the batch is still being worked on."""
        body = await self._patiently(self._looked_up(_parted(batch)[0]))
        return ENDED if self._has_ended(body) else WORKING

    async def results(self, batch: str) -> AsyncIterator[tuple[str, Reply]]:
        """Yield the replies with their keys, in any order; what failed or expired has status `ERROR`."""
        name, form = _parted(batch)
        found = await self._patiently(self._fetched(name, await self._patiently(self._looked_up(name))))
        call = self._call(_ANY, form)
        said = {"batch": name, "mode": form.mode}
        for result in found:
            yield result.key, replace(self._outcome(result, form, call), sent=said, dropped=call.dropped)

    def _entries(
        self, requests: Iterable[tuple[str, Request]], form: RequestForm
    ) -> Iterator[dict[str, Any]]:
        """Yield the requests as a batch holds them, each fenced as it would be if it were asked alone."""
        for key, request in requests:
            yield self._entry(key, self._call(request.fenced(), form).arguments)

    def _fitting(self, entries: Iterable[dict[str, Any]]) -> int:
        sizes = accumulate(len(as_line(entry)) for entry in entries)
        return sum(1 for size in sizes if size <= self.batch_bytes)

    def _outcome(self, result: Result, form: RequestForm, call: Call) -> Reply:
        """Return the reply to one request; nothing that became of it stops the others."""
        response = result.response
        if response is None:
            return Reply(ERROR, detail=self.home.shown(f"{self.name}: {result.detail}"))
        if response.status in (400, 422) and self._form == form:
            self._form = self._other_form(form, response, call) or form
        try:
            return self._reply(response)
        except (Transient, Fatal) as error:
            return Reply(ERROR, detail=str(error))

    async def _patiently(self, work: Awaitable[Any]) -> Any:
        """Return what comes of the work, within a time that suits files."""
        longest = _PATIENCE * self.timeout
        try:
            async with asyncio.timeout(longest):
                return await work
        except TimeoutError:
            pass  # told below, so that no traceback leads into the SDK and the headers it holds
        raise Transient(f"{self.name}: no answer within {longest:g} seconds")

    async def _body(self, send: _Send, batch: str = "") -> dict[str, Any]:
        """Return the object that the server answers with, which has an id."""
        response = await self._sent(send)
        if response.status == 404 and batch:
            raise Fatal(
                f"{self.name}: no batch {batch} at {self.endpoint}; is it another account's? If the provider"
                " has deleted it, ask for what is missing without --batch, or for everything with --refresh"
            )
        body = self._success(response).json()
        if not body.get("id"):
            raise Fatal(broken(response, self.home, self.name).detail)
        self._checked_id(body["id"])
        return body

    async def _created(self, send: _Send) -> str:
        """Return the id of what is created; raise `Lost` if nobody knows whether it was."""
        response, said = None, ""
        try:
            response = await self._sent(send)
        except Unreachable:
            raise
        except Transient as error:
            said = str(error)
        if response is None:  # told here, so that no traceback leads into the SDK
            raise Lost(said)
        if 300 <= response.status < 500 and response.status != 408:
            self._success(response)
        said = f"{self.name}: {response.status}: {self.home.shown(response.text, 100) or 'nothing'}"
        if response.status in (503, 529) and retry_after(response.headers) is not None:
            raise Transient(said, retry_after(response.headers), throttled=True)
        name = response.json().get("id") if 200 <= response.status < 300 else None
        if not name:
            raise Lost(said)
        return self._checked_id(name)

    async def _listed(self, ask: Callable[..., Awaitable[Any]], earliest: float) -> _Listed:
        """Yield the batches at the provider, latest first, back to the earliest that may be wanted."""
        last, seen = "", set[str]()
        while True:
            response = await self._sent(partial(ask, after=last))
            if response.status in (404, 405, 501):
                raise Unclear(f"{self.endpoint} does not list its batches", later=False)
            body = self._success(response).json()
            page = body.get("data")
            for batch in map(mapping, page if isinstance(page, list) else []):
                if _when(batch.get("created_at")) < earliest:
                    return
                last = words(batch.get("id"))
                yield batch
            if not body.get("has_more") or last in seen:
                return
            seen.add(last)

    async def _records(self, send: _Send) -> list[dict[str, Any]]:
        """Return the lines of a file; none if the provider no longer keeps it: they are asked again."""
        response = await self._sent(send, _FILES * self.batch_bytes)
        if response.cut and 200 <= response.status < 300:
            raise Transient(f"{self.name}: a file of results that does not end")
        return [] if response.status in (404, 410) else _records_in(self._success(response).body)

    def _success(self, response: Response) -> Response:
        if not 200 <= response.status < 300:
            raise Fatal(failure(response, self.home, self.name).detail)
        return response

    def _checked_id(self, name: object) -> str:
        """Return the id, which is to stand in an address."""
        if not isinstance(name, str) or not _ID.fullmatch(name):
            raise Fatal(f"{self.name}: {self.home.shown(repr(name), 80)} is no id that rageval can ask for")
        return name

    @abstractmethod
    def _entry(self, key: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """One request in a batch."""

    @abstractmethod
    async def _handed_over(self, requests: list[dict[str, Any]], tag: str) -> str:
        """Return the id of a new batch, which bears the tag where the provider has a place for it."""

    @abstractmethod
    async def _found(
        self, tag: str, keys: Sequence[str], earliest: float, known: Collection[str]
    ) -> str | None:
        """Return the provider's id of the batch with this tag, or with these keys where there is no tag."""

    @abstractmethod
    async def _looked_up(self, batch: str) -> dict[str, Any]:
        """Return what the provider says of a batch."""

    @abstractmethod
    def _has_ended(self, body: Mapping[str, Any]) -> bool:
        """Whether nothing more will come of it."""

    @abstractmethod
    async def _fetched(self, batch: str, body: Mapping[str, Any]) -> list[Result]:
        """Return what has become of its requests."""


def as_line(record: Mapping[str, Any]) -> str:
    """Write the record as a line of JSON."""
    return json.dumps(record, ensure_ascii=True, separators=(",", ":")) + "\n"


def _records_in(text: bytes) -> list[dict[str, Any]]:
    """Return the objects in lines of JSON; what is none is left out, and so asked again."""
    found = []
    for line in text.splitlines():
        try:
            found.append(mapping(json.loads(line)))
        except (ValueError, RecursionError):
            continue
    return [record for record in found if isinstance(record.get("custom_id"), str)]


def _when(created: object) -> float:
    """Seconds since 1970, as one provider or the other writes them; infinite if it is neither."""
    try:
        return datetime.fromisoformat(created).timestamp() if isinstance(created, str) else float(created)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.inf


def _with_form(batch: str, form: RequestForm) -> str:
    said = {"mode": form.mode, **({"without": ",".join(sorted(form.refused))} if form.refused else {})}
    return f"{batch}?{urlencode(said, safe=',')}"


def _parted(batch: str) -> tuple[str, RequestForm]:
    """Return the provider's own id, and how the requests were asked.

    >>> _parted(_with_form("batch_1", RequestForm("text", frozenset({"temperature"}))))
    ('batch_1', RequestForm(mode='text', refused=frozenset({'temperature'})))
    """
    name, _, said = batch.partition("?")
    if not _ID.fullmatch(name):
        raise UsageError(f"{batch!r} is no id of a batch; expected something like batch_1?mode=json_schema")
    known = parse_qs(said)
    refused = known.get("without", [""])[0]
    return name, RequestForm(
        known.get("mode", ["json_schema"])[0], frozenset(filter(None, refused.split(",")))
    )
