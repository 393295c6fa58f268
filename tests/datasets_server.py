"""A server on the loopback with the layouts of the Hugging Face hub and of GitHub, and their bad days."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class File:
    """What an address answers with.

    `cuts` are after how many bytes the next connections break off, `refusals` statuses (with their headers)
    that come first, `pause` is waited for before each block of `block` bytes.
    """

    content: bytes = b""
    etag: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    redirect: str = ""
    ranges: bool = True
    cuts: list[int] = field(default_factory=list)
    refusals: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    pause: float = 0.0
    block: int = 2**16
    says_length: bool = True


@dataclass
class Asked:
    path: str
    headers: dict[str, str]
    host: str


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append(Asked(path, dict(self.headers), self.headers["Host"]))
        file = self.server.files.get(path)
        self.close_connection = True
        if file is None:
            self._answer(404, {}, b"")
        elif file.refusals:
            self._answer(*file.refusals.pop(0), b"")
        elif file.redirect:
            self._answer(302, {"Location": file.redirect, **file.headers}, b"")
        else:
            self._serve(file)

    def _serve(self, file: File) -> None:
        headers = dict(file.headers) | ({"ETag": file.etag} if file.etag else {})
        start, status, size = 0, 200, len(file.content)
        byte_range = self.headers.get("Range", "")
        same = self.headers.get("If-Range", file.etag) == file.etag
        if file.ranges and byte_range.startswith("bytes=") and same:
            start, status = int(byte_range[6:].partition("-")[0]), 206
            if start >= size:
                return self._answer(416, {"Content-Range": f"bytes */{size}"}, b"")
            headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        self._answer(status, headers, file.content[start:], file)

    def _answer(self, status: int, headers: dict[str, str], body: bytes, file: File | None = None) -> None:
        file = file or File()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if file.says_length:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        end = file.cuts.pop(0) if file.cuts else len(body)
        try:
            for index in range(0, min(end, len(body)), file.block):
                time.sleep(file.pause)
                self.wfile.write(body[index : min(index + file.block, end)])
        except OSError:
            return  # whoever asked has hung up

    def log_message(self, *_: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, File] = {}
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def other_url(self) -> str:
        """The same server under the name of another host."""
        return f"http://localhost:{self.server_port}"

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def on_hub(self, repo: str, path: str, content: bytes, listed: bool = True) -> File:
        """Put a file on the hub: its entry in the listing, a redirect, and the content on another host."""
        sha256 = hashlib.sha256(content).hexdigest()
        folder = path.rpartition("/")[0]
        listing = f"/api/datasets/{repo}/tree/main" + (f"/{folder}" if folder else "")
        entry = {"type": "file", "oid": "0" * 40, "size": len(content), "path": path}
        siblings = json.loads(self.files[listing].content) if listing in self.files else []
        if listed:
            siblings.append(entry | {"lfs": {"oid": sha256, "size": len(content), "pointerSize": 134}})
            self.files[listing] = File(
                json.dumps(siblings).encode(), headers={"Content-Type": "application/json"}
            )
        cdn = f"/cdn/{sha256}"
        headers = {
            "X-Linked-Etag": f'"{sha256}"',
            "X-Linked-Size": str(len(content)),
            "X-Repo-Commit": "1" * 40,
        }
        self.files[f"/datasets/{repo}/resolve/main/{path}"] = File(
            redirect=f"{self.other_url}{cdn}?X-Amz-Signature=secret", headers=headers
        )
        self.files[cdn] = File(content, etag=f'"{sha256[:32]}"')
        return self.files[cdn]


@contextmanager
def serving() -> Iterator[Server]:
    """A server that runs in a thread of its own."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
