"""The page of labels, served on this computer by a program that saves each label in a file as it is given.

Only who knows the token in the address is answered, only under the name of this computer, and only the page
itself may send labels. Whatever is sent, the server goes on.
"""

from __future__ import annotations

import hmac
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

from rageval.errors import InputError, OutputError
from rageval.pages.annotation import page_to_label
from rageval.pages.label_files import LabelFile
from rageval.text import visible

_HOST = "127.0.0.1"
_LONGEST = 2**20  # bytes of a request
_SAVED = b"saved"  # what the page waits for: another program at this port may say OK to anything
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class LabelServer(ThreadingHTTPServer):
    """Serves the page of a plan on this computer, under an address that nobody can guess."""

    daemon_threads = True
    # Elsewhere two may listen at one port, and the other one would get the labels.
    allow_reuse_address = sys.platform != "win32"
    allow_reuse_port = False

    def __init__(self, labels: LabelFile, port: int | None = None) -> None:
        """Listen at once, at the port of these labels if none is said; answer when `serve_forever` runs."""
        self.labels = labels
        self.page = page_to_label(labels.plan, labels.annotator, served=True).encode()
        self.token = labels.token
        port = labels.port if port is None else port
        try:
            # This computer only, never a network: labels have an author, and no password.
            super().__init__((_HOST, port), _LabelHandler)
        except OSError as error:
            raise OutputError(
                f"port {port}: cannot be listened at ({error.strerror or error}). Perhaps another rageval"
                " annotate serves the same plan for the same annotator: end it. If it is another program, end"
                " that, or choose another port with --port. A page that is open at the old port does not find"
                " the new one: export its labels, and import them there"
            ) from None
        labels.keep_port(self.server_port)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Go on: a client that left is no fault, and anything else must not end the labelling."""
        error = sys.exception()
        if not isinstance(error, OSError):
            say = visible(f"{type(error).__name__}: {error}")
            print(f"rageval: a request failed, the labels are as before: {say}", file=sys.stderr)

    @property
    def origin(self) -> str:
        """What the browser calls where the page is from."""
        return f"http://{_HOST}:{self.server_port}"

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"{self.origin}/{self.token}/"


class _LabelHandler(BaseHTTPRequestHandler):
    """Answers one request: the page, the labels so far, or labels to be saved."""

    server: LabelServer
    server_version, sys_version = "rageval", ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        match self._asked():
            case "":
                self._reply(HTTPStatus.OK, self.server.page, "text/html; charset=utf-8")
            case "labels":
                self._reply(HTTPStatus.OK, self.server.labels.text())
            case _:
                self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here")

    def do_POST(self) -> None:
        size = self.headers.get("Content-Length", "")
        # A page of somebody else, open in the same browser, can send requests, but not under our origin.
        if self._asked() != "labels" or self.headers.get("Origin") != self.server.origin:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here")
        # `isdigit` also holds of digits of other scripts, and `int` of endless ones takes endless time.
        elif not size.isascii() or not size.isdigit() or len(size) > 9 or int(size) > _LONGEST:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected at most {_LONGEST:,} bytes")
        else:
            self._save(self.rfile.read(int(size)))

    def _save(self, body: bytes) -> None:
        try:
            found = msgspec.json.decode(body)
            if not isinstance(found, dict):
                raise InputError(f"expected JSON {{labels: […], cleared: […]}}, found {type(found).__name__}")
            labels, cleared = (found.get(key, []) for key in ("labels", "cleared"))
            if not isinstance(labels, list) or not isinstance(cleared, list):
                raise InputError("expected lists of labels and of cleared places")
            self.server.labels.change(labels, cleared)
        except InputError as error:  # sent again, it would be refused again
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        except OutputError as error:  # changed by others, a full disk: the page keeps the label
            self._refuse(HTTPStatus.CONFLICT, str(error))
        except (ValueError, RecursionError) as error:
            self._refuse(HTTPStatus.BAD_REQUEST, f"expected JSON {{labels: […], cleared: […]}}; {error}")
        except OSError as error:
            self._refuse(HTTPStatus.CONFLICT, f"{error.strerror or error}")
        else:
            self._reply(HTTPStatus.OK, _SAVED)

    def _asked(self) -> str | None:
        """Return what is asked for, None for whoever must not know that there is anything."""
        host = self.headers.get("Host", "")
        token, slash, rest = self.path.removeprefix("/").partition("/")
        # In the same time however much is right, so that the token cannot be guessed letter by letter.
        known = hmac.compare_digest(token.encode(), self.server.token.encode())
        # The host is checked against names that resolve to this computer (DNS rebinding).
        return rest if known and slash and f"http://{host}" == self.server.origin else None

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True  # what was sent may not have been read
        self._reply(status, visible(why).encode())

    def _reply(self, status: HTTPStatus, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        headers = {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}
        for name, value in headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: addresses hold the token."""
