"""Compressed files: known by what they begin with, read to their end; and what is not a file at all."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rageval
from rageval.errors import InputError, MissingPackage
from rageval.files.opening import BZIP2, GZIP, XZ, ZSTD
from rageval.scoring.sources import RunSource

ROWS = b"".join(b"q%d Q0 d%d 1 %d t\n" % (index // 9, index, 99 - index) for index in range(45))
QRELS = {f"q{index}": {f"d{9 * index + 2}": 1} for index in range(5)}


def zstd() -> Any:
    return pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    GZIP: gzip.compress,
    BZIP2: bz2.compress,
    XZ: lzma.compress,
    ZSTD: lambda text: zstd().compress(text),
}


@pytest.mark.parametrize("name", PACKERS)
def test_every_member_and_frame_is_read(tmp_path: Path, name: str) -> None:
    pack = PACKERS[name]
    path = tmp_path / "run"
    path.write_bytes(pack(ROWS[:100]) + pack(b"") + pack(ROWS[100:500]) + pack(ROWS[500:]))
    assert list(rageval.read_run(path)) == list(rageval.read_run(io.BytesIO(ROWS)))


def test_frames_that_are_to_be_skipped_are(tmp_path: Path) -> None:
    pack, skipped = PACKERS[ZSTD], b"\x50\x2a\x4d\x18\x04\x00\x00\x00size"
    path = tmp_path / "run"
    path.write_bytes(skipped + pack(ROWS[:100]) + skipped + pack(ROWS[100:]) + skipped)
    assert list(rageval.read_run(path)) == list(rageval.read_run(io.BytesIO(ROWS)))


@pytest.mark.parametrize("name", ["BZh", "BZh9", "BZh91AY&S", "BZh01AY&SY", "PK", "7z", "(µ/", "P*M"])
def test_ids_that_begin_like_what_is_packed_are_ids(tmp_path: Path, name: str) -> None:
    path = tmp_path / "run"
    path.write_bytes(ROWS.replace(b"q0 ", name.encode() + b" "))
    scores = rageval.evaluate("rr", path, {name: {"d2": 1}})
    assert scores["rr"].value == 1 / 3


class Reader:
    """Something with `read`, as far as it goes."""

    name = "thing"

    def __init__(self, *blocks: Any) -> None:
        self._blocks = list(blocks)

    def read(self, size: int = -1) -> Any:
        return self._blocks.pop(0) if self._blocks else b""


@pytest.mark.parametrize("whole", [bytes, bytearray, memoryview])
def test_whatever_gives_bytes_is_a_file(whole: Callable[[bytes], Any]) -> None:
    scores = rageval.evaluate("rr", Reader(whole(ROWS[:77]), whole(ROWS[77:])), QRELS)
    assert scores["rr"].value == 1 / 3


@pytest.mark.parametrize(
    "ways", [rageval.read_run, rageval.read_qrels, lambda file: RunSource("x", path=file).run()]
)
@pytest.mark.parametrize("blocks", [["text"], [3], [[b"lines"]], [ROWS, "text"]])
def test_whatever_gives_something_else_is_refused(ways: Callable[[Any], Any], blocks: list[Any]) -> None:
    with pytest.raises(
        InputError, match=r"thing: expected bytes from read\(\), found (str|int|list); open it"
    ):
        ways(Reader(*blocks))


def test_a_stream_that_gives_text_is_refused() -> None:
    source = RunSource("x", path=Reader("text"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"thing: expected bytes from read\(\), found str"):
        rageval.evaluate("rr", source, QRELS)


@pytest.mark.parametrize("thing", [SimpleNamespace(read=True), SimpleNamespace(read=None), 5])
def test_what_cannot_be_read_is_no_file(thing: Any) -> None:
    with pytest.raises(InputError, match="expected a run"):
        rageval.evaluate("rr", thing, QRELS)
    with pytest.raises(InputError, match="expected judgements"):
        rageval.evaluate("rr", {"q": {"d": 1}}, thing)
    with pytest.raises(InputError, match="expected a path or a file open in binary mode"):
        rageval.read_run(thing)


def test_a_missing_package_survives_the_way_from_a_worker() -> None:
    error = MissingPackage("pyarrow", "run.parquet", extra="parquet")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (MissingPackage, str(error))


def _checked_zstd(text: bytes) -> bytes:
    """With a checksum, as the zstd program writes it."""
    parameter = zstd().CompressionParameter
    packed: bytes = zstd().compress(text, options={parameter.checksum_flag: 1})
    return packed


CHECKED = PACKERS | {ZSTD: _checked_zstd}


def content_of(packed: bytes) -> list[Any] | None:
    """The rows, None where the file is refused; anything else that is raised is a fault."""
    try:
        return list(rageval.read_run(io.BytesIO(packed)))
    except InputError:
        return None


@pytest.mark.slow
@pytest.mark.some(3)
@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_damaged_byte_of_any_stream_is_never_another_run(name: str, stream: int) -> None:
    """Refused, or (in a byte that says nothing, such as the time in a gzip header) the same rows."""
    parts = [CHECKED[name](ROWS[:90]), CHECKED[name](ROWS[90:]), CHECKED[name](ROWS.replace(b"q", b"p"))]
    whole = content_of(b"".join(parts))
    assert whole is not None
    assert len(whole) == 90
    refused = 0
    begin = sum(map(len, parts[:stream]))
    for position in range(begin, begin + len(parts[stream])):
        for flip in (0x01, 0x80, 0xFF):
            packed = bytearray(b"".join(parts))
            packed[position] ^= flip
            content = content_of(bytes(packed))
            assert content in (None, whole), (position - begin, flip)
            refused += content is None
    assert refused > 2.5 * len(parts[stream])


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_a_stream_that_breaks_off_is_refused_wherever_it_does(name: str) -> None:
    first, second = CHECKED[name](ROWS[:90]), CHECKED[name](ROWS[90:])
    borders = {len(first): content_of(first), len(first + second): content_of(first + second)}
    for size in range(1, len(first + second) + 1):
        content = content_of((first + second)[:size])
        assert content == borders[size] if size in borders else content is None, size


@pytest.mark.parametrize("name", CHECKED)
def test_what_is_behind_the_last_stream_is_no_stream(name: str) -> None:
    for waste in (b"x", b"waste\n", ROWS[:90], b"\x1f", b"BZh", b"\xfd7zX", b"\x28\xb5"):
        assert content_of(CHECKED[name](ROWS) + waste) is None


def test_zeros_behind_a_stream_are_padding_where_the_format_says_so() -> None:
    pack = lzma.compress
    for zeros in (4, 8, 2**17 + 4):
        assert content_of(pack(ROWS[:90]) + bytes(zeros) + pack(ROWS[90:]) + bytes(zeros)) is not None
    for zeros in (1, 2, 3, 5):
        assert content_of(pack(ROWS) + bytes(zeros)) is None
    assert content_of(gzip.compress(ROWS) + bytes(512)) is not None  # a tape's blocks
    assert content_of(bz2.compress(ROWS) + bytes(4)) is None


@pytest.mark.parametrize("name", CHECKED)
def test_judgements_answers_and_archives_are_read_by_the_same_streams(name: str, tmp_path: Path) -> None:
    line = b'{"query_id": "q", "run_id": "r%d", "label": "perfect"}\n'
    damaged = bytearray(CHECKED[name](line % 1) + CHECKED[name](line % 2))
    damaged[len(CHECKED[name](line % 1)) + 3] ^= 0xFF
    path = tmp_path / "judged"
    path.write_bytes(damaged)
    with pytest.raises(InputError, match="is truncated or damaged"):
        rageval.evaluate_answers("crag_score", str(path))
