"""A server on this machine that speaks the wire formats of OpenAI and Anthropic, and misbehaves as told."""

from __future__ import annotations

import email
import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rageval.testing.batches import Batches
from rageval.testing.bodies import openai_error
from rageval.testing.sayings import Asked, Saying, usual


class LlmServer:
    """The server; `openai` and `anthropic` are its addresses for the SDKs.

    What was said first is sent first, to whatever comes in; when nothing is left, `default` answers what asks
    a model, alone or as a line of a batch. A batch says `polls` times that it is still being worked on; only
    the first `expire_after` of its requests are answered in time, and its results come in another order.

    `requests` is what came in, `batched` what came in as lines of batches.
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
        """The answer to a request that came in."""
        with self._lock:
            self.requests.append(asked)
            said = self._sayings.popleft() if self._sayings else self.otherwise
        try:
            return said(asked) if callable(said) else said
        except Exception as error:  # a mistake in a test: told when the server is left
            self._mistakes.append(error)
            return Saying(400, openai_error(f"the test's own function failed: {error!r}"))

    def otherwise(self, asked: Asked) -> Saying:
        """The answer to a request that nothing was said about."""
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
    request_queue_size = 256

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.stopping = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is what the tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def setup(self) -> None:
        super().setup()
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
            for at in range(len(content)):
                self.wfile.write(content[at : at + 1])
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
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


def _body(headers: Mapping[str, str], sent: bytes) -> dict[str, Any]:
    """What was sent: an object of JSON, or the fields and files of a form."""
    kind = headers.get("content-type", "")
    if not kind.startswith("multipart/"):
        found: dict[str, Any] = json.loads(sent) if sent else {}
        return found
    form = email.message_from_bytes(f"content-type: {kind}\r\n\r\n".encode() + sent, policy=default)
    fields = {}
    for part in form.iter_parts():
        content = part.get_payload(decode=True)
        name = part.get_param("name", header="content-disposition")
        fields[str(name)] = content.decode() if isinstance(content, bytes) else ""
        if part.get_filename():
            fields[f"{name}/name"] = str(part.get_filename())
    return fields
