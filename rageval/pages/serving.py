"""The page of labels, served on this computer by a program that saves each label in a file as it is given.

Only who knows the token in the address is answered, only under the name of this computer, and only the page
itself may send labels. The file is always whole: judgements as the page exports them.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import sys
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

from rageval.errors import InputError, OutputError
from rageval.files.jsonl import read_records
from rageval.files.judgements import judgement_line
from rageval.files.plans import LabelPlan
from rageval.files.writing import whole_file
from rageval.pages.annotation import page_to_label, places_of
from rageval.text import visible

_HOST = "127.0.0.1"
_LONGEST = 2**20  # bytes of a request
# As many as nobody guesses: other users of this computer can reach the port, too.
_TOKEN_BYTES = 24
_KEYS = ("query_id", "run_id", "item_id", "aspect")
_STATUSES = ("ok", "refused")
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_Place = tuple[str, ...]


class LabelFile:
    """The labels of one annotator, by what they are about; `save` and `clear` write all of them anew."""

    def __init__(self, path: Path, plan: LabelPlan, annotator: str) -> None:
        """Go on with what the file holds; `InputError` if these are labels of something else."""
        self.path, self.plan, self.annotator = path, plan, annotator
        self._places = set(places_of(plan))
        self._labels: dict[_Place, Mapping[str, Any]] = {}
        self._lock = Lock()
        # Before it is read: a change while we read is then seen when the first label is saved.
        self._stamp = _stamp(path)
        if self._stamp is not None and self._stamp[1]:
            for line, record in read_records(str(path), dict[str, Any], "a label"):
                self._labels[self._checked(record, f"{visible(str(path))}:{line}")] = record

    def __len__(self) -> int:
        with self._lock:  # what is being written is written to its end
            return len(self._labels)

    def _checked(self, record: Any, where: str) -> _Place:
        """Return what a label is about; it is one of this plan, by this annotator, on its scale."""
        if not isinstance(record, dict):
            raise InputError(f"{where}: expected a label, found {type(record).__name__}")
        place = tuple(str(record.get(key)) for key in _KEYS)
        # `known` are also the plans that this one extends, whose labels go on counting.
        if place not in self._places or record.get("plan") not in self.plan.known:
            raise InputError(f"{where}: expected a label of this plan")
        if record.get("annotator") != self.annotator or record.get("status") not in _STATUSES:
            raise InputError(f"{where}: expected a label of {visible(self.annotator)}, ok or refused")
        label, known = record.get("label"), {*self.plan.labels, *self._outcomes}
        if label is not None and label not in known:
            raise InputError(f"{where}: expected one of {', '.join(sorted(known))}, found {label!r:.80}")
        return place

    @property
    def _outcomes(self) -> tuple[str, ...]:
        return ("win", "loss", "tie") if self.plan.kind == "pair" else ()

    def change(self, labels: Iterable[Any], cleared: Iterable[Any]) -> None:
        """Save these labels, take those away, and write the file; it is whole, or as it was before."""
        given = {self._checked(label, "label"): label for label in labels}
        gone = [tuple(str(place.get(key)) for key in _KEYS) for place in cleared if isinstance(place, dict)]
        with self._lock:
            # Two windows, or an editor: the later would write over the labels of the other.
            if _stamp(self.path) != self._stamp:
                raise InputError(
                    f"{visible(str(self.path))}: was changed by another program since it was read"
                )
            found = {place: label for place, label in self._labels.items() if place not in gone} | given
            ordered = sorted(found.values(), key=lambda label: (label.get("order", 0), str(label["run_id"])))
            with whole_file(self.path) as stream:
                for label in ordered:
                    stream.write(judgement_line(label).encode() + b"\n")
            self._labels, self._stamp = found, _stamp(self.path)

    def text(self) -> str:
        """Return what the page takes in when it is opened."""
        with self._lock:
            return "".join(judgement_line(label) + "\n" for label in self._labels.values())


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size


class LabelServer(ThreadingHTTPServer):
    """Serves the page of a plan on this computer, under an address that nobody can guess."""

    daemon_threads = True
    # Elsewhere two may listen at one port, and the other one would get the labels.
    allow_reuse_address = sys.platform != "win32"

    def __init__(self, labels: LabelFile, port: int = 0) -> None:
        """Listen at once; whoever connects is answered when `serve_forever` runs."""
        self.labels = labels
        self.page = page_to_label(labels.plan, labels.annotator, served=True).encode()
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        try:
            # This computer only, never a network: labels have an author, and no password.
            super().__init__((_HOST, port), _LabelHandler)
        except OSError as error:
            raise OutputError(f"port {port}: cannot be listened at: {error.strerror or error}") from None

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
                self._reply(HTTPStatus.OK, self.server.labels.text().encode())
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
            found = json.loads(body)
            labels, cleared = (found.get(key, []) for key in ("labels", "cleared"))
            if not isinstance(labels, list) or not isinstance(cleared, list):
                raise InputError("expected lists of labels")
            self.server.labels.change(labels, cleared)
        except InputError as error:
            self._refuse(HTTPStatus.CONFLICT, str(error))
        except (ValueError, AttributeError, RecursionError):
            self._refuse(HTTPStatus.BAD_REQUEST, "expected JSON {labels: […], cleared: […]}")
        except OSError as error:  # a full disk: the page keeps the label, and sends it again
            self._refuse(HTTPStatus.INSUFFICIENT_STORAGE, str(error))
        else:
            self._reply(HTTPStatus.OK, b"saved")

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
        self._reply(status, why.encode())

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
