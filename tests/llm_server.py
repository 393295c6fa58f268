"""What the APIs of OpenAI and Anthropic send, as their documentation shows it, and a server that sends it.

It is on this machine, and misbehaves as told. So do its batches: handed over together, worked on for a while,
answered in another order.
"""

from __future__ import annotations

import email
import json
import random
import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

VERDICT = '{"label": "support"}'


def openai_reply(content: object = VERDICT, finish: str | None = "stop", **message: object) -> dict[str, Any]:
    """Return a chat completion."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model-1",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 60},
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
    }


def openai_decision(questions: Iterable[Mapping[str, Any]], choice: int = 0) -> dict[str, Any]:
    """Return answers of the Decisions API."""
    answers = []
    for question in questions:
        values = [option["value"] for option in question["choices"]]
        # All choices have a probability, as they do there.
        shares = [0.9 if place == choice else 0.1 / (len(values) - 1) for place in range(len(values))]
        answers.append(
            {
                "type": "choice",
                "name": question.get("name"),
                "choice": values[choice],
                "confidence": 0.9,
                "probabilities": [
                    {"value": value, "probability": share}
                    for value, share in zip(values, shares, strict=True)
                ],
            }
        )
    usage = {
        "input_tokens": 100,
        "output_tokens": 20,
        "total_tokens": 120,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 5},
    }
    return {"model": "served-model-1", "answers": answers, "usage": usage}


def anthropic_reply(*blocks: dict[str, Any], stop: str = "end_turn", **more: object) -> dict[str, Any]:
    """Return a message."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "served-model-1",
        "content": list(blocks) or [{"type": "text", "text": VERDICT}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 30,
            "output_tokens": 20,
            "cache_creation_input_tokens": 10,
            "cache_read_input_tokens": 60,
        },
        **more,
    }


def openai_error(message: str, **more: object) -> dict[str, Any]:
    """Return an error as OpenAI words it."""
    return {"error": {"message": message, "type": None, "param": None, "code": None, **more}}


def anthropic_error(message: str, type: str = "invalid_request_error") -> dict[str, Any]:
    """Return an error as Anthropic words it."""
    return {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_2"}


@dataclass(frozen=True)
class Saying:
    """One answer: `body` as text, bytes, or an object to send as JSON.

    `delay` seconds pass before it; with `drip` they pass after each byte; `cut` bytes are sent before the
    connection is cut, 0 for none at all. With `raw`, its pieces are sent in place of everything, headers too,
    until the client goes away or they end, and then the connection does.
    """

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    cut: int | None = None
    raw: Callable[[], Iterable[bytes]] | None = None

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    method: str = "POST"


def usual(asked: Asked) -> Saying:
    """Return a verdict in the format of the address that was asked."""
    if asked.path == "/v1/chat/completions":
        return Saying(body=openai_reply(), headers={"x-request-id": "req_1"})
    if asked.path == "/v1/decisions":
        return Saying(body=openai_decision(asked.body["questions"]), headers={"x-request-id": "req_1"})
    if asked.path == "/v1/messages":
        return Saying(body=anthropic_reply(), headers={"request-id": "req_1"})
    return Saying(404, openai_error(f"no such path: {asked.path}"))


Answer = Callable[[Asked], Saying]
Line = dict[str, Any]


@dataclass
class _Batch:
    body: dict[str, Any]
    polls: int
    results: list[Line]


class Batches:
    """The batches and files of a server; `asked` are the requests in them.

    `lost` are answers in place of those to the next batches that are created: created they are all the same.
    """

    def __init__(self, address: str, polls: int = 0, expire_after: int | None = None) -> None:
        self.polls = polls
        self.expire_after = expire_after
        self.asked: list[Asked] = []
        self._address = address
        self.lost: deque[Saying | Callable[[Asked], Saying]] = deque()
        self._files: dict[str, str] = {}
        self._names: dict[str, str] = {}  # of files
        self._purposes: dict[str, str] = {}
        self._files_made = 0
        self._batches: dict[str, _Batch] = {}
        self._lock = threading.Lock()
        self.page = 2  # batches that are listed at a time
        self.keeps_metadata = self.lists = True
        self.clock = time.time
        self._creating = (self._openai_batch, self._anthropic_batch)
        self._routes = (
            ("POST", r"/v1/files", self._upload),
            ("GET", r"/v1/files", self._list_files),
            ("GET", r"/v1/batches", self._list),
            ("GET", r"/v1/messages/batches", self._list),
            ("GET", r"/v1/files/([^/]+)/content", self._download),
            ("DELETE", r"/v1/files/([^/]+)", self._delete),
            ("POST", r"/v1/batches", self._openai_batch),
            ("POST", r"/v1/messages/batches", self._anthropic_batch),
            ("GET", r"/v1/(?:messages/)?batches/([^/]+)", self._state),
            ("GET", r"/v1/messages/batches/([^/]+)/results", self._results),
        )

    @property
    def files(self) -> list[str]:
        """The names of the files that were not deleted."""
        return [*self._files]

    def end(self) -> None:
        """All batches have been worked on."""
        with self._lock:
            for batch in self._batches.values():
                batch.polls = -1

    def answer(self, asked: Asked, of_model: Answer) -> Saying | None:
        """Return the answer to what concerns batches, else None; `of_model` answers what is in them."""
        for method, path, handle in self._routes:
            match = re.fullmatch(path, urlsplit(asked.path).path)
            if match and method == asked.method:
                with self._lock:
                    reply = handle(asked, of_model, *match.groups())
                    # The batch is there all the same; only who created it does not hear of it.
                    lost = self.lost.popleft() if handle in self._creating and self.lost else None
                return reply if lost is None else lost(asked) if callable(lost) else lost
        return None

    def is_of_requests(self, name: str) -> bool:
        """Whether a file is one that was handed over."""
        return self._purposes[name] == "batch"

    @property
    def ids(self) -> list[str]:
        """The ids of all batches."""
        return [*self._batches]

    def _upload(self, asked: Asked, of_model: Answer) -> Saying:
        named = str(asked.body.get("file/name", ""))
        return Saying(body=self._file(asked.body["file"], asked.body["purpose"], named))

    def _list_files(self, asked: Asked, of_model: Answer) -> Saying:
        files = [{"id": name, "object": "file", "filename": self._names[name]} for name in self._files]
        return Saying(body={"object": "list", "data": files, "has_more": False})

    def _list(self, asked: Asked, of_model: Answer) -> Saying:
        """Return the latest first, some at a time, as both APIs do it."""
        if not self.lists:
            return Saying(404, openai_error("no such path"))
        how = parse_qs(urlsplit(asked.path).query)
        after = (how.get("after") or how.get("after_id") or [""])[0]
        kind = "msgbatch" if "/messages/" in asked.path else "batch"
        names = [name for name in reversed(self._batches) if name.rpartition("_")[0] == kind]
        # Pages as the providers have them: a client that looks at the first only is to fail here.
        rest = names[names.index(after) + 1 :] if after else names
        page = rest[: self.page]
        for name in page:
            self._batches[name].polls -= 1
        body = {
            "data": [self._shown(self._batches[name]) for name in page],
            "has_more": len(rest) > len(page),
        }
        return Saying(body={**body, "last_id": page[-1] if page else None})

    def _shown(self, batch: _Batch) -> dict[str, Any]:
        """Return a batch as it is told of: its results only when it has ended."""
        if batch.polls < 0:
            return batch.body
        if "processing_status" not in batch.body:
            return {**batch.body, "status": "in_progress"}
        counts = dict.fromkeys(batch.body["request_counts"], 0)
        counts["processing"] = sum(batch.body["request_counts"].values())
        shown = {"processing_status": "in_progress", "results_url": None, "request_counts": counts}
        return {**batch.body, **shown}

    def _download(self, asked: Asked, of_model: Answer, name: str) -> Saying:
        if name not in self._files:
            return Saying(404, openai_error(f"No such File object: {name}"))
        return Saying(body=self._files[name], headers={"content-type": "application/octet-stream"})

    def _delete(self, asked: Asked, of_model: Answer, name: str) -> Saying:
        if self._files.pop(name, None) is None:
            return Saying(404, openai_error(f"No such File object: {name}"))
        return Saying(body={"id": name, "object": "file", "deleted": True})

    def _state(self, asked: Asked, of_model: Answer, name: str) -> Saying:
        batch = self._batches.get(name)
        if batch is None:
            return Saying(404, openai_error(f"No batch found with id '{name}'."))
        # Each look brings its end nearer, so no test waits for a clock.
        batch.polls -= 1
        return Saying(body=self._shown(batch))

    def _results(self, asked: Asked, of_model: Answer, name: str) -> Saying:
        if name not in self._batches:
            return Saying(404, anthropic_error(f"no batch {name}", "not_found_error"))
        lines = _as_lines(self._batches[name].results)
        return Saying(body=lines, headers={"content-type": "application/x-jsonl"})

    def _openai_batch(self, asked: Asked, of_model: Answer) -> Saying:
        lines = [json.loads(line) for line in self._files[asked.body["input_file_id"]].splitlines()]
        # What comes too late expires, as with both providers after a day.
        answered, late = self._parted(lines)
        results = [
            _openai_result(line, self._answer_line(line["url"], line["body"], of_model)) for line in answered
        ]
        finished = [line for line in results if line["response"]["status_code"] == 200]
        failed = [line for line in results if line not in finished] + [_openai_expired(line) for line in late]
        body = {
            "object": "batch",
            "endpoint": asked.body["endpoint"],
            "input_file_id": asked.body["input_file_id"],
            "completion_window": asked.body["completion_window"],
            "status": "expired" if late else "completed",
            "metadata": asked.body.get("metadata") if self.keeps_metadata else None,
            "created_at": int(self.clock()),
            "output_file_id": self._file(_as_lines(finished), "batch_output")["id"] if finished else None,
            "error_file_id": self._file(_as_lines(failed), "batch_output")["id"] if failed else None,
            "errors": None,
        }
        return Saying(body=self._keep("batch", body, []))

    def _anthropic_batch(self, asked: Asked, of_model: Answer) -> Saying:
        answered, late = self._parted(asked.body["requests"])
        results = [
            _anthropic_result(line, self._answer_line("/v1/messages", line["params"], of_model))
            for line in answered
        ]
        results += [{"custom_id": line["custom_id"], "result": {"type": "expired"}} for line in late]
        kinds = [line["result"]["type"] for line in results]
        count = {kind: kinds.count(kind) for kind in ("succeeded", "errored", "canceled", "expired")}
        body = {
            "type": "message_batch",
            "processing_status": "ended",
            "request_counts": {"processing": 0, **count},
            "created_at": datetime.fromtimestamp(self.clock(), UTC).isoformat(),
            "expires_at": "2026-01-02T00:00:00Z",
            "results_url": f"{self._address}/v1/messages/batches/msgbatch_{len(self._batches) + 1}/results",
        }
        return Saying(body=self._keep("msgbatch", body, results))

    def _parted(self, lines: list[Line]) -> tuple[list[Line], list[Line]]:
        """Return what is answered, and what comes too late."""
        most = len(lines) if self.expire_after is None else self.expire_after
        return lines[:most], lines[most:]

    def _answer_line(self, path: str, body: dict[str, Any], of_model: Answer) -> Saying:
        asked = Asked(path, {}, body)
        self.asked.append(asked)
        return of_model(asked)

    def _keep(self, kind: str, body: dict[str, Any], results: list[Line]) -> dict[str, Any]:
        """Return the batch as it was accepted: nothing of it is done yet."""
        name = f"{kind}_{len(self._batches) + 1}"
        batch = _Batch({"id": name, **body}, self.polls, results)
        self._batches[name] = batch
        if kind == "batch":
            return {**batch.body, "status": "validating", "output_file_id": None, "error_file_id": None}
        return {**batch.body, "processing_status": "in_progress", "results_url": None}

    def _file(self, text: str, purpose: str, named: str = "") -> dict[str, Any]:
        self._files_made += 1
        name = f"file-{self._files_made}"
        self._files[name] = text
        self._purposes[name] = purpose
        self._names[name] = named or f"{name}.jsonl"
        return {
            "id": name,
            "object": "file",
            "bytes": len(text),
            "created_at": 1,
            "filename": self._names[name],
            "purpose": purpose,
            "status": "processed",
        }


def _openai_result(line: Line, saying: Saying) -> Line:
    response = {
        "status_code": saying.status,
        "request_id": saying.headers.get("x-request-id", "req_1"),
        "body": saying.body,
    }
    return {"id": "batch_req_1", "custom_id": line["custom_id"], "response": response, "error": None}


def _openai_expired(line: Line) -> Line:
    message = "This request could not be executed before the completion window expired."
    error = {"code": "batch_expired", "message": message}
    return {"id": "batch_req_1", "custom_id": line["custom_id"], "response": None, "error": error}


def _anthropic_result(line: Line, saying: Saying) -> Line:
    if saying.status == 200:
        result = {"type": "succeeded", "message": saying.body}
    else:
        result = {"type": "errored", "error": saying.body}
    return {"custom_id": line["custom_id"], "result": result}


def _as_lines(records: Iterable[Line]) -> str:
    """JSON lines, in no order that anybody could rely on."""
    shuffled = list(records)
    # Providers promise no order; a fixed shuffle finds who relies on one, in every run.
    random.Random(7).shuffle(shuffled)
    return "".join(json.dumps(record) + "\n" for record in shuffled)


class LlmServer:
    """The server; `openai` and `anthropic` are its addresses for the SDKs.

    Scripted answers are sent in order, for any request; after them, `default` answers requests to a model,
    alone or as a line of a batch. A batch reports `polls` times that it is in progress; only the first
    `expire_after` of its requests are answered in time, and its results come in another order. `requests` are
    the requests received, `batched` those received as lines of batches.
    """

    def __init__(
        self, default: Callable[[Asked], Saying] = usual, *, polls: int = 0, expire_after: int | None = None
    ) -> None:
        self.default = default
        self.requests: list[Asked] = []
        self._sayings: deque[Saying | Callable[[Asked], Saying]] = deque()
        self._mistakes: list[Exception] = []
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self.host = f"127.0.0.1:{self._http.server_address[1]}"
        self.openai = f"http://{self.host}/v1"
        self.anthropic = f"http://{self.host}"
        self.batches = Batches(self.anthropic, polls, expire_after)

    def __enter__(self) -> LlmServer:
        # To end a server waits for its next look, half a second if nothing is said.
        poll = {"poll_interval": 0.01}
        threading.Thread(target=self._http.serve_forever, kwargs=poll, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        if self._mistakes:
            raise self._mistakes[0]

    def say(self, *sayings: Saying | Callable[[Asked], Saying]) -> None:
        """Answer the next requests with these."""
        self._sayings.extend(sayings)

    def answer(self, asked: Asked) -> Saying:
        """Return the answer to a request that came in."""
        with self._lock:
            self.requests.append(asked)
            # Under the lock only what is taken: a function that answers may wait for other requests.
            content = self._sayings.popleft() if self._sayings else self.otherwise
        try:
            return content(asked) if callable(content) else content
        # Raised in this thread it would only look like a server that hangs.
        except Exception as error:  # a mistake in a test: told when the server is left
            self._mistakes.append(error)
            return Saying(400, openai_error(f"the test's own function failed: {error!r}"))

    def otherwise(self, asked: Asked) -> Saying:
        """Return the answer to a request without a scripted one."""
        return self.batches.answer(asked, self.default) or self.default(asked)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of all requests so far."""
        return [asked.body for asked in self.requests]

    @property
    def batched(self) -> list[Asked]:
        """The requests in all batches so far."""
        return self.batches.asked


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    owner: LlmServer
    # Of as many clients at once as tests start, none is turned away.
    request_queue_size = 256

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.stopping = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that goes away: the tests are about such clients."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def setup(self) -> None:
        super().setup()
        # Otherwise small answers wait up to 40 ms for more to be sent with them.
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def _answer(self) -> None:
        length = int(self.headers.get("content-length", 0))
        sent = self.rfile.read(length)
        if len(sent) < length:  # whoever asked was ended half way
            return self._cut()
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.path, headers, _body(headers, sent), self.command)
        saying = self.server.owner.answer(asked)
        # Not sleep: a test that ends does not wait for slow answers.
        self.server.stopping.wait(saying.delay)
        if saying.cut == 0:
            return self._cut()
        if saying.raw is not None:
            return self._send_raw(saying.raw())
        content = saying.content
        self.send_response(saying.status)
        for name, value in {"content-type": "application/json", **saying.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self._send(content, saying)

    def _send(self, content: bytes, saying: Saying) -> None:
        if saying.cut is not None:
            self.wfile.write(content[: saying.cut])
            self._cut()
        elif saying.drip:
            for index in range(len(content)):
                self.wfile.write(content[index : index + 1])
                if self.server.stopping.wait(saying.drip):
                    return
        else:
            self.wfile.write(content)

    def _send_raw(self, pieces: Iterable[bytes]) -> None:
        self.close_connection = True
        for piece in pieces:
            if self.server.stopping.is_set():
                return
            self.wfile.write(piece)

    def _cut(self) -> None:
        """Drop the connection, as a crash or a firewall does."""
        time.sleep(0.01)  # what was written before shall arrive
        # Lingering for 0 seconds makes closing a reset, which clients see as a broken connection.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


def _body(headers: Mapping[str, str], sent: bytes) -> dict[str, Any]:
    """Return what was sent: an object of JSON, or the fields and files of a form."""
    kind = headers.get("content-type", "")
    if not kind.startswith("multipart/"):
        parsed: dict[str, Any] = json.loads(sent) if sent else {}
        return parsed
    form = email.message_from_bytes(f"content-type: {kind}\r\n\r\n".encode() + sent, policy=default)
    fields = {}
    for part in form.iter_parts():
        content = part.get_payload(decode=True)
        name = part.get_param("name", header="content-disposition")
        fields[str(name)] = content.decode() if isinstance(content, bytes) else ""
        if part.get_filename():
            fields[f"{name}/name"] = str(part.get_filename())
    return fields
