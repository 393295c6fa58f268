"""Downloads on bad days: the real code against a server that breaks off, lies, refuses and dawdles."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasets_server import File, Server, serving
from rageval.datasets.download import Transport, _at_hub, _retry_after, download
from rageval.datasets.home import _DownloadProgress
from rageval.errors import InputError, OutputError

pytestmark = pytest.mark.slow

CONTENT = random.Random(5).randbytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
OLD = b"what was there before"


@pytest.fixture(name="server")
def _server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("HF_ENDPOINT", "HF_TOKEN", "http_proxy", "HTTP_PROXY", "RAGEVAL_ALLOW_HTTP"):
        monkeypatch.delenv(name, raising=False)
    with serving() as server:
        yield server


@pytest.fixture(name="waits")
def _waits() -> list[float]:
    return []


@pytest.fixture(name="transport")
def _transport(waits: list[float]) -> Transport:
    return Transport(allow_http=True, timeout=5, attempts=3, pause=waits.append)


@pytest.fixture(name="target")
def _target(tmp_path: Path) -> Path:
    path = tmp_path / "file.bin"
    path.write_bytes(OLD)
    return path


def left(target: Path) -> set[str]:
    """What stands beside the target."""
    return {path.name for path in target.parent.iterdir()} - {target.name}


def test_a_file_arrives_whole(server: Server, transport: Transport, target: Path) -> None:
    server.files["/f"] = File(CONTENT)
    seen: list[tuple[int, int | None]] = []
    kept = download(
        [f"{server.url}/f"],
        target,
        transport,
        sha256=SHA256,
        watch=lambda received, of: seen.append((received, of)),
    )
    assert target.read_bytes() == CONTENT
    assert (kept.name, kept.size, kept.sha256) == ("file.bin", len(CONTENT), SHA256)
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert left(target) == set()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("etag", ['"v1"', None])
def test_cut_at_random_bytes_and_continued(
    server: Server, transport: Transport, target: Path, seed: int, etag: str | None
) -> None:
    """With a hash or a strong tag the download continues; the bytes are those of the file, each sent once."""
    rng = random.Random(seed)
    file = File(CONTENT, etag=etag, cuts=[rng.randrange(1, 60_000) for _ in range(5)], block=1024)
    server.files["/f"] = file
    cuts = sum(file.cuts)
    kept = download([f"{server.url}/f"], target, transport, sha256=None if etag else SHA256)
    assert (kept.sha256, target.read_bytes()) == (SHA256, CONTENT)
    ranges = [int(asked.headers["Range"][6:-1]) for asked in server.asked[1:]]
    assert len(ranges) == 5
    assert ranges == sorted(ranges)
    assert ranges[-1] == cuts


def test_a_killed_download_looks_unfinished_and_is_continued(server: Server, tmp_path: Path) -> None:
    """A process killed in the middle leaves a part, which the next process continues."""
    server.files["/f"] = File(CONTENT, block=4096, pause=0.01)
    target = tmp_path / "file.bin"
    code = (
        "import sys; from pathlib import Path\n"
        "from rageval.datasets.download import download\n"
        "from rageval.datasets.download import Transport\n"
        f"download([{server.url + '/f'!r}], Path({str(target)!r}), Transport(allow_http=True),"
        f" sha256={SHA256!r}, watch=lambda done, total: print(done, flush=True))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) < 50_000:
            pass
        process.kill()
    assert not target.exists()
    assert left(target) == {".file.bin.part", ".file.bin.etag"}
    server.files["/f"].pause = 0
    download([f"{server.url}/f"], target, Transport(allow_http=True), sha256=SHA256)
    assert target.read_bytes() == CONTENT
    assert int(server.asked[-1].headers["Range"][6:-1]) >= 50_000
    assert left(target) == set()


def test_another_version_is_not_glued_to_the_first(
    server: Server, transport: Transport, target: Path
) -> None:
    """Without a hash the tag tells: the server sends all of the new version, not the rest of it."""
    server.files["/f"] = File(CONTENT, etag='"v1"', cuts=[100_000])
    with pytest.raises(InputError, match="broke off after 100,000 of 300,000 bytes"):
        download([f"{server.url}/f"], target, Transport(allow_http=True, attempts=1))
    other = CONTENT[::-1]
    server.files["/f"] = File(other, etag='"v2"')
    download([f"{server.url}/f"], target, transport)
    assert target.read_bytes() == other
    assert server.asked[-1].headers["If-Range"] == '"v1"'


def test_without_hash_and_tag_it_starts_again(server: Server, transport: Transport, target: Path) -> None:
    server.files["/f"] = File(CONTENT, etag='W/"weak"', cuts=[100_000])
    download([f"{server.url}/f"], target, transport)
    assert target.read_bytes() == CONTENT
    assert "Range" not in server.asked[-1].headers


def test_a_part_of_something_else_is_found_out(server: Server, transport: Transport, target: Path) -> None:
    """A part that does not belong to the file costs one more download, and no wrong file."""
    target.with_name(".file.bin.part").write_bytes(b"x" * 1000)
    server.files["/f"] = File(CONTENT)
    download([f"{server.url}/f"], target, transport, sha256=SHA256)
    assert target.read_bytes() == CONTENT
    assert [("Range" in asked.headers) for asked in server.asked] == [True, False]


def test_a_part_that_is_whole_needs_no_byte_more(server: Server, transport: Transport, target: Path) -> None:
    target.with_name(".file.bin.part").write_bytes(CONTENT)
    server.files["/f"] = File(CONTENT)
    download([f"{server.url}/f"], target, transport, sha256=SHA256)
    assert target.read_bytes() == CONTENT
    assert len(server.asked) == 1


def test_a_server_without_ranges(server: Server, transport: Transport, target: Path) -> None:
    server.files["/f"] = File(CONTENT, ranges=False, cuts=[100_000, 200_000])
    download([f"{server.url}/f"], target, transport, sha256=SHA256)
    assert target.read_bytes() == CONTENT


def test_a_wrong_hash_keeps_the_old_file_and_says_both(
    server: Server, transport: Transport, target: Path
) -> None:
    wrong = bytes([CONTENT[0] ^ 1]) + CONTENT[1:]
    server.files["/f"] = File(wrong)
    with pytest.raises(InputError) as raised:
        download([f"{server.url}/f"], target, transport, sha256=SHA256)
    assert SHA256 in str(raised.value)
    assert hashlib.sha256(wrong).hexdigest() in str(raised.value)
    assert target.read_bytes() == OLD
    assert left(target) == set()


def test_a_git_lfs_pointer_is_called_by_its_name(server: Server, transport: Transport, target: Path) -> None:
    server.files["/f"] = File(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    with pytest.raises(InputError, match="a Git LFS pointer instead of the file"):
        download([f"{server.url}/f"], target, transport, sha256=SHA256)


def test_the_next_mirror_helps(server: Server, transport: Transport, target: Path) -> None:
    server.files |= {"/bad": File(b"bad"), "/good": File(CONTENT)}
    urls = [f"{server.url}/{name}" for name in ("gone", "bad", "good")]
    download(urls, target, transport, sha256=SHA256)
    assert target.read_bytes() == CONTENT
    with pytest.raises(InputError) as raised:
        download(urls[:2], target, transport, sha256=SHA256)
    assert "/gone: the server answers 404, there is no such file" in str(raised.value)
    assert "/bad: sha256 " in str(raised.value)


@pytest.mark.parametrize(
    ("status", "expected"),
    [(404, "no such file"), (410, "gone"), (401, "no permission"), (403, "no permission"), (418, "418")],
)
def test_refusals_are_not_repeated(
    server: Server, transport: Transport, target: Path, status: int, expected: str
) -> None:
    server.files["/f"] = File(CONTENT, refusals=[(status, {})])
    with pytest.raises(InputError, match=expected):
        download([f"{server.url}/f"], target, transport)
    assert len(server.asked) == 1
    assert target.read_bytes() == OLD


@pytest.mark.parametrize("status", [429, 500, 503])
def test_too_many_requests_are_waited_for(
    server: Server, transport: Transport, target: Path, waits: list[float], status: int
) -> None:
    server.files["/f"] = File(CONTENT, refusals=[(status, {"Retry-After": "7"}), (status, {})])
    download([f"{server.url}/f"], target, transport, sha256=SHA256)
    assert target.read_bytes() == CONTENT
    assert waits == [7.0, 2.0]


def test_it_gives_up_in_the_end(server: Server, transport: Transport, target: Path) -> None:
    server.files["/f"] = File(CONTENT, refusals=[(429, {})] * 9)
    with pytest.raises(InputError, match="answers 429 \\(3 times, after 0 bytes"):
        download([f"{server.url}/f"], target, transport)
    assert len(server.asked) == 3


WAITS = [("3", 3), ("1000000000", 120), ("-5", None), ("soon", None), ("", None), ("٣", None)]
WAITS += [("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("Fri, 01 Jan 9999 00:00:00 GMT", 120)]


@pytest.mark.parametrize(("text", "seconds"), WAITS)
def test_how_long_a_server_may_make_us_wait(text: str, seconds: float | None) -> None:
    assert _retry_after(text) == seconds


def test_a_dawdling_server_is_borne(server: Server, transport: Transport, target: Path) -> None:
    server.files["/f"] = File(CONTENT[:2000], pause=0.02, block=100)
    download([f"{server.url}/f"], target, transport)
    assert target.read_bytes() == CONTENT[:2000]


def test_a_silent_server_is_left(server: Server, target: Path) -> None:
    server.files["/f"] = File(CONTENT, pause=0.6, etag='"v1"')
    impatient = Transport(allow_http=True, timeout=0.1, attempts=2, pause=lambda seconds: None)
    with pytest.raises(InputError, match="no byte arrived in time"):
        download([f"{server.url}/f"], target, impatient)
    assert len(server.asked) == 2
    assert target.read_bytes() == OLD


def test_nobody_there(transport: Transport, target: Path) -> None:
    with serving() as server:
        address = server.url
    with pytest.raises(InputError, match="cannot be reached: Connection refused"):
        download([f"{address}/f"], target, transport)


@pytest.mark.parametrize("size", [len(CONTENT) + 1, len(CONTENT) - 1, 0])
def test_another_size_than_was_published(
    server: Server, transport: Transport, target: Path, size: int
) -> None:
    server.files["/f"] = File(CONTENT)
    with pytest.raises(InputError, match=f"has 300,000 bytes; expected {size:,}"):
        download([f"{server.url}/f"], target, transport, size=size)
    assert target.read_bytes() == OLD


def test_a_stream_without_end(server: Server, target: Path) -> None:
    """Nobody says how long it is, and it is longer than any file may be."""
    server.files["/f"] = File(CONTENT, says_length=False)
    with pytest.raises(InputError, match="sends more than the 1,000 bytes"):
        download([f"{server.url}/f"], target, Transport(allow_http=True, limit=1000))
    server.files["/f"] = File(CONTENT)
    with pytest.raises(InputError, match="has 300,000 bytes; expected at most 1,000"):
        download([f"{server.url}/f"], target, Transport(allow_http=True, limit=1000))
    assert left(target) == set()


def test_a_compressed_answer_is_refused(server: Server, transport: Transport, target: Path) -> None:
    server.files["/f"] = File(CONTENT, headers={"Content-Encoding": "gzip"})
    with pytest.raises(InputError, match="arrives as gzip; expected the file as it is"):
        download([f"{server.url}/f"], target, transport)


def test_redirects_are_followed_but_not_for_ever(server: Server, transport: Transport, target: Path) -> None:
    server.files |= {"/a": File(redirect="/b"), "/b": File(CONTENT), "/loop": File(redirect="/loop")}
    download([f"{server.url}/a"], target, transport)
    assert target.read_bytes() == CONTENT
    with pytest.raises(InputError, match="redirects more than 10 times"):
        download([f"{server.url}/loop"], target, transport)


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://example.org/x", "gopher://x/"])
def test_a_redirect_out_of_http_is_refused(
    server: Server, transport: Transport, target: Path, place: str
) -> None:
    server.files["/a"] = File(redirect=place)
    with pytest.raises(InputError, match="expected https"):
        download([f"{server.url}/a"], target, transport)
    assert target.read_bytes() == OLD


def test_http_only_when_the_user_says_so(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["/f"] = File(CONTENT)
    with pytest.raises(InputError, match="expected https; --allow-http"):
        download([f"{server.url}/f"], target, Transport())
    assert server.asked == []
    monkeypatch.setenv("RAGEVAL_ALLOW_HTTP", "1")
    download([f"{server.url}/f"], target, Transport())
    assert target.read_bytes() == CONTENT


class TestToken:
    TOKEN = "hf_verysecret"

    @pytest.fixture(autouse=True)
    def _hub(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_TOKEN", self.TOKEN)

    def test_the_hub_sees_it_and_nobody_it_redirects_to(
        self, server: Server, transport: Transport, target: Path
    ) -> None:
        server.on_hub("a/b", "f.bin", CONTENT)
        url = "https://huggingface.co/datasets/a/b/resolve/main/f.bin"
        kept = download([url], target, transport)
        assert kept.sha256 == SHA256
        first, second = server.asked
        assert first.headers["Authorization"] == f"Bearer {self.TOKEN}"
        assert second.host.startswith("localhost")
        assert "Authorization" not in second.headers

    def test_the_hub_tells_the_hash(self, server: Server, transport: Transport, target: Path) -> None:
        file = server.on_hub("a/b", "f.bin", CONTENT)
        file.content = CONTENT[::-1]
        with pytest.raises(InputError, match=f"expected {SHA256}"):
            download(["https://huggingface.co/datasets/a/b/resolve/main/f.bin"], target, transport)
        assert target.read_bytes() == OLD

    def test_another_host_does_not_see_it(self, server: Server, transport: Transport, target: Path) -> None:
        server.files["/f"] = File(CONTENT)
        download([f"{server.other_url}/f"], target, transport)
        assert "Authorization" not in server.asked[0].headers

    def test_it_is_in_no_message(self, server: Server, transport: Transport, target: Path) -> None:
        server.files["/f"] = File(refusals=[(403, {})])
        with pytest.raises(InputError, match="set HF_TOKEN") as raised:
            download([f"{server.url}/f?token={self.TOKEN}"], target, transport)
        assert self.TOKEN not in str(raised.value)
        with pytest.raises(InputError) as raised:
            download([f"http://me:{self.TOKEN}@127.0.0.1:9/f"], target, transport)
        assert self.TOKEN not in str(raised.value)

    def test_the_endpoint_replaces_the_hub_and_nothing_else(self, server: Server) -> None:
        assert _at_hub("https://huggingface.co/x/y") == f"{server.url}/x/y"
        assert _at_hub("https://huggingface.co.evil.org/x") == "https://huggingface.co.evil.org/x"
        assert _at_hub("https://example.org/x") == "https://example.org/x"


def test_a_proxy_is_honoured(
    server: Server, transport: Transport, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.setenv("no_proxy", "")
    server.files["http://example.org/f"] = File(CONTENT)
    download(["http://example.org/f"], target, transport)
    assert target.read_bytes() == CONTENT
    assert server.asked[0].host == "example.org"


class TestProgress:
    @pytest.fixture(name="clock")
    def _clock(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        now = [100.0]
        monkeypatch.setattr("time.monotonic", lambda: now[0])
        return now

    def test_a_line_every_half_minute(self, clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
        watch = _DownloadProgress("f.bin")
        for _ in range(70):
            clock[0] += 1
            watch(1_500_000, 3_000_000)
        watch.close()
        assert capsys.readouterr().err == "rageval: f.bin: 1.5 MB of 3.0 MB\n" * 2

    def test_on_a_terminal_one_line_that_goes_away(
        self, clock: list[float], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        watch = _DownloadProgress("f.bin")
        for received in (10, 2000):
            clock[0] += 1
            watch(received, None)
        watch.close()
        shown = capsys.readouterr().err
        assert shown.startswith("\rrageval: f.bin: 10 B\rrageval: f.bin: 2.0 kB\r")
        assert shown.endswith(" \r")
        assert "\n" not in shown


FULL = """
import resource, signal, sys
from pathlib import Path
from rageval.datasets.download import download
from rageval.datasets.download import Transport
from rageval.errors import OutputError
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    download([sys.argv[1]], Path(sys.argv[2]), Transport(allow_http=True), sha256=sys.argv[3])
except OutputError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of processes")
def test_a_full_disk(server: Server, transport: Transport, target: Path) -> None:
    """What has arrived stays and is continued when there is room; the old file stays until then."""
    server.files["/f"] = File(CONTENT, block=1000)
    words = [sys.executable, "-c", FULL, f"{server.url}/f", str(target), SHA256]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "cannot be written: File too large; free some space" in result.stdout, result
    assert (result.returncode, result.stderr) == (0, "")
    assert target.read_bytes() == OLD
    kept = target.with_name(".file.bin.part").read_bytes()
    assert CONTENT.startswith(kept)
    assert len(kept) == 100_000
    download([f"{server.url}/f"], target, transport, sha256=SHA256)
    assert target.read_bytes() == CONTENT


def test_no_room_is_said_before_the_first_byte(
    server: Server, transport: Transport, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["/f"] = File(CONTENT)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 10})())
    with pytest.raises(OutputError, match="300,000 more bytes are needed and 10 are free"):
        download([f"{server.url}/f"], target, transport)
    assert left(target) == set()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_one_may_not_write_to(server: Server, transport: Transport, tmp_path: Path) -> None:
    server.files["/f"] = File(CONTENT)
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="cannot be written: Permission denied"):
        download([f"{server.url}/f"], tmp_path / "x", transport)
