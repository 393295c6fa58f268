"""Files on other machines: ranges and no more, again after a break, never two versions mixed."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval.errors import InputError, MissingPackage
from rageval.files import _remote
from rageval.files._remote import RemoteFile
from rageval.files.opening import FileChanged, is_remote
from rageval.files.parts import Grain, _span_opened, cut
from rageval.files.trec import PLAIN
from rageval.parallel import Divided, Forked
from rageval.scoring.sources import rows_of
from test_parts import seekable

pytest.importorskip("fsspec", reason="files on other machines need the extra 'remote'")
pytest.importorskip("aiohttp", reason="https:// needs aiohttp, of the extra 'remote'")

RUN = b"".join(
    b"q%04d Q0 document-%05d %d %d t\n" % (query, query * 7 + index, index, 100 - index // 2)
    for query in range(1500)
    for index in range(20)
)
QRELS = {
    f"q{index:04}": {f"document-{index * 7 + 3:05}": 1, f"document-{index * 7 + 8:05}": 1}
    for index in range(1500)
}


class Handler(BaseHTTPRequestHandler):
    """Serves bytes in ranges, counts them, and misbehaves when told to."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(self.server.refusal)
            return
        requested = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        ranged = requested is not None and self.server.ranges
        part = content[int(requested[1]) : int(requested[2]) + 1] if requested and ranged else content
        self.send_response(206 if ranged else 200)
        if ranged and requested:
            self.send_header("Content-Range", f"bytes {requested[1]}-{requested[2]}/{len(content)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Accept-Ranges", "bytes" if self.server.ranges else "none")
        self.send_header("ETag", f'"{self.server.version}"')
        self.end_headers()
        if not body:
            return
        self.server.asked.append((int(requested[1]) if requested else 0, len(part)))
        if self.server.breaks:
            self.server.breaks -= 1
            self.wfile.write(part[: len(part) // 2])
            self.close_connection = True
            return
        self.wfile.write(part)
        self.server.version += self.server.changes

    def log_message(self, *_: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {"/run": RUN, "/run.gz": gzip.compress(RUN), "/empty": b""}
        self.asked: list[tuple[int, int]] = []
        self.breaks = self.changes = self.version = 0
        self.ranges = True
        self.refusal = 404

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(_remote, "_PAUSE", 0.001)
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


EVALUATOR = rageval.Evaluator("rr, ap, recall@5", QRELS)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[list[float]]:
    path = tmp_path_factory.mktemp("run") / "run"
    path.write_bytes(RUN)
    return values(EVALUATOR.evaluate(path))


def values(scores: rageval.Scores) -> list[list[float]]:
    return [score.values.tolist() for score in scores.scores]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run", "run.gz"])
def test_a_file_is_scored_where_it_lies(server: Server, expected: list[list[float]], name: str) -> None:
    scores = EVALUATOR.evaluate(server.url(name))
    assert (scores.run, values(scores)) == (name, expected)
    size = len(server.files[f"/{name}"])
    assert sum(length for _, length in server.asked) == size


def test_a_span_fetches_its_range_and_no_more(server: Server) -> None:
    spans = cut(server.url("run"), PLAIN, Grain(4, 1, 10**9))
    looked = sum(length for _, length in server.asked)
    assert looked <= 4 * _remote.LEAST * 4
    assert len(spans) == 4
    server.asked.clear()
    with _span_opened(spans[2]) as stream:
        assert stream.read() == RUN[spans[2].begin : spans[2].end]
    assert server.asked == [(spans[2].begin, spans[2].end - spans[2].begin)]


def test_parts_in_processes(server: Server, expected: list[list[float]]) -> None:
    source = Divided("run", None, server.url("run"), workers=Forked(2), smallest=2**16)
    assert values(EVALUATOR.evaluate(source)) == expected
    assert sum(length for _, length in server.asked) < 1.5 * len(RUN)


def test_a_broken_transfer_goes_on_where_it_broke(server: Server, expected: list[list[float]]) -> None:
    server.breaks = 3
    assert values(EVALUATOR.evaluate(server.url("run"))) == expected
    whole = [length for start, length in server.asked]
    assert len(whole) == len({start for start, _ in server.asked}) + 3
    assert sum(whole) < 1.5 * len(RUN)


def test_a_server_that_is_gone_is_given_up(server: Server) -> None:
    server.breaks = 10**6
    with pytest.raises(InputError, match="cannot be read"):
        EVALUATOR.evaluate(server.url("run"))
    assert len(server.asked) == _remote._TRIES


@pytest.mark.parametrize("parts", [False, True])
def test_a_file_that_changes_meanwhile_is_refused(server: Server, parts: bool) -> None:
    server.changes = 1
    source: Any = server.url("run")
    if parts:
        source = Divided("run", None, source, workers=Forked(2), smallest=2**16)
    with pytest.raises(FileChanged, match="changed while it was scored"):
        EVALUATOR.evaluate(source)


def test_what_servers_refuse(server: Server) -> None:
    with pytest.raises(InputError, match="no-such: no such file"):
        EVALUATOR.evaluate(server.url("no-such"))
    server.refusal = 403
    with pytest.raises(InputError, match="no-such: cannot be read: 403"):
        EVALUATOR.evaluate(server.url("no-such"))
    with pytest.raises(InputError, match="empty: is empty"):
        EVALUATOR.evaluate(server.url("empty"))


def test_a_server_without_ranges_is_refused(server: Server) -> None:
    server.ranges = False
    with pytest.raises(InputError, match="download it first"):
        EVALUATOR.evaluate(server.url("run"))


def test_a_remote_file_can_be_read_at_any_position(server: Server) -> None:
    file = RemoteFile(server.url("run"))
    file.seek(-10, 2)
    assert file.read() == RUN[-10:]
    file.seek(100)
    assert (file.read(5), file.tell(), file.read(0)) == (RUN[100:105], 105, b"")
    file.seek(3, 1)
    assert file.read(7) == RUN[108:115]


def test_parquet_is_read_in_ranges(server: Server, tmp_path: Path) -> None:
    from rageval.files import columnar

    server.files["/run.parquet"] = parquet_of(RUN, tmp_path / "run", row_group_size=5000)
    blocks = list(columnar.run_rows(server.url("run.parquet")))
    assert sum(len(rows.docs) for rows in blocks) == RUN.count(b"\n")
    assert sum(length for _, length in server.asked) < 0.7 * len(server.files["/run.parquet"])


def parquet_of(rows: bytes, path: Path, **options: Any) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    fields = [row.split() for row in rows.decode().splitlines()]
    columns = {"query_id": [f[0] for f in fields], "doc_id": [f[2] for f in fields]}
    columns |= {"score": [float(f[4]) for f in fields], "text": ["x" * 99] * len(fields)}
    parquet.write_table(pyarrow.table(columns), path, compression="none", use_dictionary=False, **options)
    return path.read_bytes()


@pytest.mark.slow
def test_parts_of_parquet_fetch_their_groups_of_rows_and_no_more(
    server: Server, expected: list[list[float]], tmp_path: Path
) -> None:
    content = server.files["/run.parquet"] = parquet_of(RUN, tmp_path / "run", row_group_size=3000)
    source = Divided("run", None, server.url("run.parquet"), workers=Forked(3), smallest=1)
    assert values(EVALUATOR.evaluate(source)) == expected
    stretches: Any = cut(server.url("run.parquet"), PLAIN, Grain(5, 1, 10**9))
    assert [stretch.end for stretch in stretches] == [6000, 12000, 18000, 24000, 30000]
    fetched = []
    for stretch in stretches:
        server.asked.clear()
        with stretch.opened(PLAIN) as opened:
            assert sum(len(rows.docs) for rows in rows_of(*opened)) == 6000
        fetched.append([asked for asked in server.asked if asked[0] + asked[1] < len(content) - 2**16])
        assert len(server.asked) <= 2 * 3 + 3  # three columns of two groups, and what lies at the end
    places = [start for asked in fetched for start, _ in asked]
    assert len(places) == len(set(places))
    assert sum(length for asked in fetched for _, length in asked) < 0.4 * len(content)


@pytest.mark.slow
def test_parts_of_zstandard_fetch_their_frames_and_no_more(
    server: Server, expected: list[list[float]]
) -> None:
    size = 2**16
    content = server.files["/run.zst"] = seekable(RUN, range(size, len(RUN), size))
    source = Divided("run", None, server.url("run.zst"), workers=Forked(3), smallest=1)
    assert values(EVALUATOR.evaluate(source)) == expected
    stretches: Any = cut(server.url("run.zst"), PLAIN, Grain(4, 1, 10**9))
    assert len(stretches) == 4
    for stretch in stretches:
        server.asked.clear()
        with stretch.opened(PLAIN) as opened:
            assert sum(len(rows.docs) for rows in rows_of(*opened)) > 0
        first, last = stretch.frames[0], stretch.frames[-1]
        assert server.asked == [(first.offset, last.offset + last.packed - first.offset)]
        assert last.offset + last.packed - first.offset < 0.4 * len(content)


@pytest.mark.slow
def test_the_command_reads_what_has_a_scheme_and_nothing_else(server: Server, tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(RUN)
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} 1\n" for q, docs in QRELS.items() for d in docs))
    line = [sys.executable, "-m", "rageval"]
    remote, alone = (
        subprocess.run(
            [*line, run, "qrels", "-m", "rr"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        for run in (
            server.url("run"),
            "run",
        )
    )
    assert remote.stdout == alone.stdout
    assert all(map(is_remote, ("s3://b/k", "gs://b/k", "hf://datasets/x/y", "https://x/y")))
    assert not any(map(is_remote, ("data/run", "s3/run", "file://x", "ftp://x", Path("s3://b/k"), None)))


def test_without_the_extra_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingPackage, match=r"rageval\[remote\]"):
        RemoteFile("https://127.0.0.1/run")


@pytest.mark.parametrize("name", ["s3://bucket/run"])
def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(MissingPackage, match="pip install 's3fs'"):
        RemoteFile(name)


def test_s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: list[list[float]]) -> None:
    pytest.importorskip("s3fs", reason="s3:// needs s3fs")
    moto = pytest.importorskip("moto.server", reason="a server that speaks S3")
    boto3 = pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    service = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    service.start()
    try:
        host, port = service.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        store = boto3.client("s3", endpoint_url=f"http://{host}:{port}")
        store.create_bucket(Bucket="runs")
        store.put_object(Bucket="runs", Key="run", Body=RUN)
        assert values(EVALUATOR.evaluate("s3://runs/run")) == expected
        (span, *_) = cut("s3://runs/run", PLAIN, Grain(3, 1, 10**9))
        store.put_object(Bucket="runs", Key="run", Body=RUN.replace(b"document", b"anything"))
        with pytest.raises(FileChanged), _span_opened(span):
            pass
    finally:
        service.stop()
