"""Requests out, replies in: judging by whatever engine answers files of requests.

What the store lacks is written to a file, once, under the key that its reply is stored by. Replies come back
in files, in any order, several times, in part, from several engines: the keys decide what they answer. Both
files are read and written as a stream, and what has to be looked up lies on disk: memory does not grow with
the number of requests.

Requests are JSON lines as the provider's batches hold them (OpenAI's are what `vllm run-batch` and SGLang
read), or a table (Parquet). Replies are the result lines of such batches, or rows with `key` and `text`.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from rageval.errors import InputError, Place, UsageError
from rageval.files.columnar import plain_rows, table_written
from rageval.files.jsonl import as_line
from rageval.files.line_tables import PARQUET
from rageval.files.opening import chunks, is_columnar, name_of
from rageval.files.writing import whole_file
from rageval.judges.asking import OnReply, never_stop, with_keys
from rageval.judges.base import ENGINE_FACTS, ERROR, OK, Model, Reply, Request
from rageval.judges.budget import Budget
from rageval.judges.store import STORABLE, Store, Unstorable
from rageval.text import visible

_KEY = re.compile(r"[0-9a-f]{64}")
_AT_ONCE = 500  # replies a transaction
_EXAMPLES = 3  # of what is left out, by name
_ROWS = 1_000  # of a table, written at once
LOT = 1_000  # things judged at a time, where nobody is waited for
NOT_ASKED = "no reply yet"
REQUEST_COLUMNS = {
    "key": "text",
    "model": "text",
    "endpoint": "text",
    "messages": "messages",
    "parameters": "text",
}


class ExchangeModel(Model, Protocol):
    """A model whose requests and replies can be lines of files."""

    def entry(self, key: str, request: Request) -> dict[str, Any]:
        """Return a request as a line of a batch."""
        ...

    def body(self, request: Request) -> dict[str, Any]:
        """Return what the model is sent: `model`, `messages` and parameters."""
        ...

    def reply_in(self, record: Mapping[str, Any]) -> Reply:
        """Return the reply in a line of the results of a batch."""
        ...


def exchange_model(model: Model) -> ExchangeModel:
    """Return the model, if its requests can be written to files; `UsageError` if not."""
    if not hasattr(model, "reply_in"):
        raise UsageError(
            f"the model {visible(model.name)} has no form for files of requests; expected one that takes"
            " batches, such as openai:MODEL, anthropic:MODEL or vllm:MODEL"
        )
    return model  # type: ignore[return-value]


@dataclass
class Taken:
    """What became of the replies in files.

    Parameters
    ----------
    lines
        Lines or rows that were read.
    stored
        Replies that are new in the store.
    present
        Replies to requests whose reply the store had.
    repeated
        Further replies to a request; the first that says something is taken.
    foreign
        Replies to no request of this job.
    broken
        Lines that hold no reply, such as one that is cut off.
    statuses
        How many of the replies taken are `ok`, `truncated`, …; errors are not stored.
    examples
        By kind, where the first of these are.
    """

    lines: int = 0
    stored: int = 0
    present: int = 0
    repeated: int = 0
    foreign: int = 0
    broken: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def example(self, kind: str, place: str) -> None:
        """Keep the place of one of the first."""
        places = self.examples.setdefault(kind, [])
        if len(places) < _EXAMPLES:
            places.append(place)


_Write = Callable[[str, ExchangeModel, Request], None]


class Exchange:
    """The files of one job: where requests go, and what came back."""

    def __init__(
        self, replies: ReplyFiles | None, write: Callable[[str, ExchangeModel, Request], None] | None
    ):
        self.replies = replies
        self.written = 0
        self.unanswered = 0  # requests, each time that one was met
        self.unchecked = 0  # canaries among these
        self._write = write
        self._keys = _temporary("CREATE TABLE keys (key TEXT PRIMARY KEY) WITHOUT ROWID")

    @property
    def writes(self) -> bool:
        """Whether requests are written."""
        return self._write is not None

    def hand_out(self, key: str, partner: ExchangeModel, request: Request) -> None:
        """Write a request, unless it was written before."""
        if self._write is None:
            return
        if self._keys.execute("INSERT OR IGNORE INTO keys VALUES (?)", (key,)).rowcount:
            self._write(key, partner, request)
            self.written += 1

    def close(self) -> None:
        """Forget what was looked up."""
        self._keys.close()
        if self.replies is not None:
            self.replies.close()


@contextmanager
def open_exchange(
    requests_out: str | Path | None, replies_in: Sequence[str | Path], made_by: str | None
) -> Iterator[Exchange]:
    """Read the replies, and write requests as long as this is open; the file is there when all is well."""
    with ExitStack() as stack:
        replies = None
        if replies_in:
            replies = ReplyFiles(replies_in, engine_of(made_by))
        write = None if requests_out is None else stack.enter_context(_writer(Path(requests_out)))
        yield stack.enter_context(closing(Exchange(replies, write)))


def engine_of(text: str | None) -> dict[str, str]:
    """Read what computed replies, as people state it.

    >>> engine_of("vllm,version=0.11.0,dtype=bfloat16,parallelism=tp2")
    {'engine': 'vllm', 'version': '0.11.0', 'dtype': 'bfloat16', 'parallelism': 'tp2'}
    """
    facts = {}
    for part in filter(None, map(str.strip, (text or "").split(","))):
        name, _, value = part.rpartition("=")
        name = name or "engine"
        if name not in ENGINE_FACTS or not value or name in facts:
            raise UsageError(
                f"--made-by {visible(str(text))!r}: expected ENGINE,version=…,dtype=…,parallelism=…, such as"
                " vllm,version=0.11.0,dtype=bfloat16,parallelism=tp2"
            )
        facts[name] = value
    return facts


def ask_files(
    requests: Iterable[tuple[int, Request]],
    model: Model,
    store: Store,
    exchange: Exchange,
    *,
    budget: Budget,
    refresh: bool = False,
    on_reply: OnReply = never_stop,
    **_: Any,
) -> Iterator[tuple[int, Reply]]:
    """Yield the reply to each numbered request, of the store or of the files; what has none is handed out.

    What has no reply has the status `error`. Asks nobody.
    """
    partner = exchange_model(model)
    job = budget.job if refresh else None
    keyed = with_keys(requests, model)
    while lot := [*islice(keyed, _AT_ONCE)]:
        replies = []
        with store.together():
            for number, key, request in lot:
                stored = store.get(key, job)
                taken = stored
                if exchange.replies is not None:
                    record = exchange.replies.take(key, is_stored=stored is not None)
                    if stored is None and record is not None:
                        taken = _store_reply(
                            key, request, partner, store, exchange.replies, record, budget.job
                        )
                # An error is no reply: the request is to go out again.
                if taken is None or taken.status not in STORABLE:
                    exchange.unanswered += 1
                    exchange.hand_out(key, partner, request)
                replies.append((number, taken or Reply(ERROR, detail=NOT_ASKED), stored is not None))
        for number, reply, was_stored in replies:
            on_reply(number, reply, was_stored)
            yield number, reply


def _store_reply(
    key: str,
    request: Request,
    partner: ExchangeModel,
    store: Store,
    files: ReplyFiles,
    record: Mapping[str, Any],
    job: str,
) -> Reply:
    """Return the reply in a record, which is stored and counted."""
    reply = replace(partner.reply_in(record), engine=files.engine_of(record))
    if reply.status in STORABLE:
        try:
            reply = store.put(key, request, reply, partner.name, partner.endpoint, job)
            files.taken.stored += 1
        except Unstorable as error:
            reply = Reply(ERROR, detail=str(error))
    files.taken.statuses[reply.status] += 1
    if reply.status != OK:
        files.taken.example(reply.status, f"{key[:16]}: {reply.detail}" if reply.detail else key[:16])
    return reply


# --- Files of replies.


class ReplyFiles:
    """Replies by key, on disk until their requests are met."""

    def __init__(self, paths: Sequence[str | Path], facts: Mapping[str, Any]) -> None:
        self.taken = Taken()
        self._facts = facts
        self._strangers = 0  # whose key is none of ours
        self._rows = _temporary(
            "CREATE TABLE replies (key TEXT PRIMARY KEY, record TEXT, is_error INTEGER, used INTEGER)"
        )
        for path in paths:
            self._read(path)

    def take(self, key: str, is_stored: bool) -> dict[str, Any] | None:
        """Return the record of a reply, None if there is none; counts that it was met."""
        row = self._rows.execute("SELECT record, used FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if not row[1]:
            self._rows.execute("UPDATE replies SET used = 1 WHERE key = ?", (key,))
            self.taken.present += is_stored
        record: dict[str, Any] = json.loads(row[0])
        return record

    def engine_of(self, record: Mapping[str, Any]) -> dict[str, str]:
        """Return what computed a reply, by its own line or as was said of all."""
        own = record.get("engine")
        if not isinstance(own, Mapping):
            return dict(self._facts)
        return {name: str(own[name]) for name in ENGINE_FACTS if own.get(name)}

    def count_foreign(self) -> Taken:
        """Return the counts, once every request has been looked up."""
        (unused,) = self._rows.execute("SELECT count(*) FROM replies WHERE NOT used").fetchone()
        self.taken.foreign = unused + self._strangers
        query = f"SELECT key FROM replies WHERE NOT used ORDER BY key LIMIT {_EXAMPLES}"
        for (key,) in self._rows.execute(query):
            self.taken.example("foreign", key)
        return self.taken

    def close(self) -> None:
        """Delete them."""
        self._rows.close()

    def _read(self, path: str | Path) -> None:
        records = _table_records(path) if is_columnar(str(path)) else _line_records(path)
        for place, record in records:
            self.taken.lines += 1
            key = record if isinstance(record, str) else record.get("custom_id")
            if isinstance(record, str) or not isinstance(key, str) or not key:
                why = record if isinstance(record, str) else "no custom_id or key"
                self.taken.broken += 1
                self.taken.example("broken", f"{place}: {why}")
                continue
            if _KEY.fullmatch(key) is None:
                self._strangers += 1
                self.taken.example("foreign", visible(key)[:80])
            elif not self._keep(key, record):
                self.taken.broken += 1
                self.taken.example("broken", f"{place}: nested too deeply")

    def _keep(self, key: str, record: Mapping[str, Any]) -> bool:
        """Keep a record; False if it cannot be."""
        response = record.get("response")
        status = response.get("status_code", 200) if isinstance(response, Mapping) else None
        is_error = bool(record.get("error")) or (status is not None and status != 200)
        try:
            text = json.dumps(record, default=str)  # a table may have any type of cell
        except RecursionError:
            return False
        row = (key, text, is_error)
        if self._rows.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, 0)", row).rowcount:
            return True
        self.taken.repeated += 1
        # Of several replies the first that is no error; an engine that failed is asked again elsewhere.
        query = "UPDATE replies SET record = ?, is_error = 0 WHERE key = ? AND is_error"
        if not is_error:
            self._rows.execute(query, (text, key))
        return True


def _line_records(path: str | Path) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """Yield the place and the record of each line; in place of one that cannot be read, why."""
    number = 0
    name = visible(name_of(str(path)))
    for chunk in chunks(str(path)):
        for line in chunk.splitlines():
            number += 1
            if not line.strip():
                continue
            record: dict[str, Any] | str
            try:
                parsed = json.loads(line)
                record = _as_result(parsed) if isinstance(parsed, dict) else "not a JSON object"
            except (ValueError, RecursionError):
                record = "not JSON, or cut off"
            yield f"{name}, line {number}", record


def _table_records(path: str | Path) -> Iterator[tuple[str, dict[str, Any] | str]]:
    name = visible(name_of(str(path)))
    for number, row in plain_rows(str(path)):
        row = {column: value for column, value in row.items() if value is not None}
        if number == 1 and not {"key", "custom_id"} & row.keys():
            raise InputError(
                at=Place(name),
                expected="replies, with the columns key and text (or custom_id and response)",
                found=", ".join(map(visible, row)) or "none",
            )
        for column in ("response", "error", "engine"):
            if isinstance(row.get(column), str) and row[column][:1] == "{":
                try:
                    row[column] = json.loads(row[column])
                except (ValueError, RecursionError):
                    yield f"{name}, row {number}", f"{column} is not JSON"
                    break
        else:
            yield f"{name}, row {number}", _as_result(row)


_OF_RESULTS = ("custom_id", "response", "result", "error")


def _as_result(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of plain columns as a line of the results of a batch; such a line as it is.

    >>> _as_result({"key": "k", "text": "{}", "finish_reason": "length"})["response"]["body"]["choices"]
    [{'finish_reason': 'length', 'message': {'content': '{}'}}]
    """
    record: dict[str, Any] = {name: row[name] for name in _OF_RESULTS if name in row}
    record.setdefault("custom_id", row.get("key"))
    own = row.get("engine")
    facts = own if isinstance(own, dict) else {name: row[name] for name in ENGINE_FACTS if row.get(name)}
    if facts:
        record["engine"] = {name: str(facts[name]) for name in ENGINE_FACTS if facts.get(name)}
    if isinstance(record.get("error"), str):
        record["error"] = {"message": record["error"]}
    if "text" in row and "response" not in record and not record.get("error"):
        usage = {
            f"{name}_tokens": row[column]
            for name, column in (("prompt", "input_tokens"), ("completion", "output_tokens"))
            if column in row
        }
        record["response"] = {"status_code": 200, "body": chat_body(row["text"], row, usage)}
    return record


def chat_body(text: object, row: Mapping[str, Any], usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return a text as the body of a chat completion; `row` may have `finish_reason` and `model`."""
    choice = {"finish_reason": row.get("finish_reason", "stop"), "message": {"content": text}}
    return {"model": row.get("model", ""), "choices": [choice], "usage": dict(usage)}


def _temporary(*statements: str) -> sqlite3.Connection:
    """Return a database that lies in a temporary file once it is large, and is gone when it is closed."""
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    for statement in ("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", *statements, "BEGIN"):
        connection.execute(statement)
    return connection


# --- Files of requests.


@contextmanager
def _writer(path: Path) -> Iterator[_Write]:
    """Yield what writes one request to the file, whose name says its form."""
    if path.suffix == PARQUET:
        with table_written(path, REQUEST_COLUMNS) as write_rows:
            rows: list[dict[str, Any]] = []

            def add_row(key: str, partner: ExchangeModel, request: Request) -> None:
                rows.append(request_row(key, partner, request))
                if len(rows) >= _ROWS:
                    write_rows(rows)
                    rows.clear()

            yield add_row
            write_rows(rows)
        return
    with whole_file(path) as stream:

        def add_line(key: str, partner: ExchangeModel, request: Request) -> None:
            stream.write(as_line(partner.entry(key, request)).encode() + b"\n")

        yield add_line


def request_row(key: str, partner: ExchangeModel, request: Request) -> dict[str, Any]:
    """Return a request as a row of a table: messages as they are sent, all else as JSON."""
    body = partner.body(request)
    messages = body.pop("messages")
    name = body.pop("model")
    parameters = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    row = {"key": key, "model": name, "endpoint": partner.endpoint}
    return {**row, "messages": messages, "parameters": parameters}
