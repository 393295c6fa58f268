"""Sizes that a file states are checked before they are used, by every reader of archives and packed files.

Negative, huge, overlapping and lying ones: a message and a documented exit code, within 10 s and 200 MB. A
new module that unpacks anything has to be put into the table.
"""

from __future__ import annotations

import ast
import asyncio
import bz2
import gzip
import io
import lzma
import os
import random
import struct
import tarfile
import zipfile
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import pytest

import rageval
from apart import ended, of_line
from boards import members as bundle_members
from rageval.datasets._crag import _sources
from rageval.datasets._reader import _parquet_rows
from rageval.errors import RagevalError
from rageval.files.opening import File, chunks
from rageval.judges.models._remote import read_body
from sources import nodes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="each case needs a process of its own, fast"),
]
SOURCE = Path(rageval.__file__).parent
GOLDEN = Path(__file__).parents[1] / "golden"
PACKS = {"tarfile", "zipfile", "gzip", "bz2", "lzma", "zlib", "zstd", "pyarrow", "struct", "compression"}
SIZES = (-1, -(2**62), 1, 2**31 - 1, 2**31, 2**32 - 1, 2**33, 2**62, 2**63 - 1)
LINES = b"".join(b"q%d Q0 d%d 1 1 r\n" % (at, at) for at in range(2000))
Case = tuple[str, bytes]


# Archives of tar: the size is at byte 124 of a header, and its sum at byte 148.


def with_size(archive: bytes, start: int, size: bytes) -> bytes:
    """A tar in which a header states another size."""
    changed = bytearray(archive)
    changed[start + 124 : start + 136] = size
    return with_sum(changed, start)


def with_sum(changed: bytearray, start: int) -> bytes:
    changed[start + 148 : start + 156] = b" " * 8
    changed[start + 148 : start + 156] = b"%06o\0 " % sum(changed[start : start + 512])
    return bytes(changed)


def with_name(name: str, header: bytes = tarfile.TarInfo().tobuf()[:512]) -> bytes:
    """The header of an empty file, which tarfile would take ten times as long to make."""
    return with_sum(bytearray(name.encode().ljust(100, b"\0") + header[100:]), 0)


def stated(size: int) -> bytes:
    """A size in a header: in octal digits, or where it has none in base 256."""
    if 0 <= size < 8**11:
        return b"%011o\0" % size
    return (b"\xff" if size < 0 else b"\x80") + (size % 2**88).to_bytes(11, "big")


def of_tar(archive: bytes) -> Iterator[Case]:
    """A tar with other sizes, other kinds of members, and members within others."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        heads = [(member.offset, member.size) for member in opened]
    for at, size in (heads[0], heads[len(heads) // 2], heads[-1]):
        others = {*SIZES, size + 1, size - 1, size + 512, size // 2, 0} - {size}
        for other in sorted(others):
            yield f"{other} in place of {size} at {at}", with_size(archive, at, stated(other))
        for odd in (b"\xff" * 12, b"9" * 12, b" " * 12, b"\0" * 12, b"-1\0".ljust(12, b"\0"), b"\x80" * 12):
            yield f"{odd!r} at {at}", with_size(archive, at, odd)
        for kind in b"LKxgSD5":
            for other in (size, -1, 2**31, 2**62):
                changed = bytearray(with_size(archive, at, stated(other)))
                changed[at + 156] = kind
                yield f"{chr(kind)} of {other} at {at}", with_sum(changed, at)
    for value in ("-1", "9" * 30, "x", str(2**62)):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as opened:
            member = tarfile.TarInfo("board/manifest.json")
            member.pax_headers = {"size": value}
            opened.addfile(member, io.BytesIO())
        yield f"a field of size {value}", stream.getvalue()


def bundles() -> Iterator[Case]:
    path = GOLDEN / "board-1/runs.tar.gz"
    for what, archive in of_tar(gzip.decompress(path.read_bytes())):
        yield what, gzip.compress(archive, 1)
    yield from gzips(path.read_bytes())
    yield "a bomb", gzip.compress(with_size(bytes(512), 0, stated(2**31)) + bytes(2**27), 1)
    assert bundle_members(path.read_bytes())
    for number, name in ((49_990, "board/x/{}"), (4_990, "board/{}/x")):
        headers = b"".join(with_name(name.format(at)) for at in range(number))
        yield f"many files: {name}", gzip.compress(headers + bytes(1024), 1)


def archives_of_crag() -> Iterator[Case]:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for at in range(3):
            content = b'{"interaction_id": "%d", "query": "Who?"}\n' % at
            member = tarfile.TarInfo(f"crag/{at}.jsonl")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    for what, content in of_tar(stream.getvalue()):
        yield what, bz2.compress(content)
    head = bytearray(stream.getvalue()[:512])
    for kind in b"LKxg":
        head[156] = kind
        long = with_size(bytes(head), 0, stated(2**29))
        yield f"a name of half a gigabyte ({chr(kind)})", bz2.compress(long + bytes(2**29)[: 2**28])


def read_crag(path: str) -> None:
    with ExitStack() as stack:
        for member in _sources([File(path)], stack):
            for _ in chunks(member, 2**20):
                pass


# Streams that are packed.


def numbers(content: bytes, places: range, form: str) -> Iterator[Case]:
    """Other numbers at some places."""
    width = struct.calcsize(form)
    for at in places:
        for number in (0, 1, 2 ** (8 * width - 1) - 1, 2 ** (8 * width - 1), 2 ** (8 * width) - 1):
            yield (
                f"{number} at {at}",
                content[:at] + struct.pack(form, number) + content[at + width :],
            )


def bytes_changed(content: bytes, places: range) -> Iterator[Case]:
    for at in places:
        for value in (0, 1, 0x7F, 0x80, 0xFF):
            changed = bytearray(content)
            changed[at] = value
            yield f"{value} at {at}", bytes(changed)


@cache
def gzip_of_zeros(size: int) -> bytes:
    """What `gzip.compress(bytes(size))` may be, without compressing the same over and over."""
    piece = bytes(2**24)
    packer = zlib.compressobj(1, wbits=-15)
    packed = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    check = 0
    for _ in range(size // len(piece)):
        check = zlib.crc32(piece, check)
    head = gzip.compress(b"")[:10]
    return head + packed * (size // len(piece)) + packer.flush() + struct.pack("<II", check, size % 2**32)


def gzips(whole: bytes = gzip.compress(LINES)) -> Iterator[Case]:
    yield from numbers(whole, range(len(whole) - 8, len(whole) - 7), "<I")
    for number in (0, 1, 2**31, 2**32 - 1):
        yield f"size {number}", whole[:-4] + struct.pack("<I", number)
    yield from bytes_changed(whole, range(4))
    yield (
        "an extra field that is longer than the file",
        whole[:3] + b"\x04" + whole[4:10] + b"\xff\xff" + whole[10:],
    )
    yield "a name without an end", whole[:3] + b"\x08" + whole[4:10] + b"x" * 2**20
    yield "many members", gzip.compress(b"") * 50_000
    yield "a bomb", gzip_of_zeros(2**30)


def bzips() -> Iterator[Case]:
    whole = bz2.compress(LINES)
    yield from bytes_changed(whole, range(24))
    yield "many streams", bz2.compress(b"") * 50_000
    yield "a bomb", bz2.compress(bytes(2**26)) * 8


def xzs() -> Iterator[Case]:
    whole = lzma.compress(LINES)
    yield from bytes_changed(whole, range(32))
    yield from bytes_changed(whole, range(len(whole) - 36, len(whole)))
    for bits in (26, 27, 30, 31):
        chain = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**20}]
        packed = bytearray(lzma.compress(LINES, filters=chain))
        # Of the filter's flags: the size of the dictionary, up to 4 GiB, and the sum of the header.
        at = packed.index(b"\x21\x01", 12) + 2
        packed[at] = 2 * (bits - 12)
        end = 12 + (packed[12] + 1) * 4
        packed[end - 4 : end] = struct.pack("<I", zlib.crc32(packed[12 : end - 4]))
        yield f"a dictionary of 2**{bits} bytes", bytes(packed)
    yield "many streams", lzma.compress(b"") * 20_000
    yield "a bomb", lzma.compress(bytes(2**28), preset=0)


def zstds() -> Iterator[Case]:
    zstd = pytest.importorskip("backports.zstd")
    whole = zstd.compress(LINES)
    yield from bytes_changed(whole, range(4, 16))
    for descriptor in (0x00, 0x20, 0x40, 0x80, 0xC0, 0xE0):
        for size in (0, 2**31, 2**63, 2**64 - 1):
            head = whole[:4] + bytes([descriptor]) + (b"" if descriptor & 0x20 else b"\x58")
            yield f"frame {descriptor} of {size}", head + struct.pack("<Q", size) + whole[6:]
    for window in range(0x58, 0x100, 8):
        yield f"a window of {window}", whole[:4] + b"\x00" + bytes([window]) + whole[6:]
    for size in (0, 2**31, 2**32 - 1):
        yield f"a frame to skip of {size}", b"\x50\x2a\x4d\x18" + struct.pack("<I", size) + whole
    yield "many frames", zstd.compress(b"") * 50_000
    yield "a bomb", zstd.compress(bytes(2**30))
    # A seek table behind the frames, which says where each begins.
    frame = zstd.compress(LINES)
    for count, packed, unpacked, length in (
        *((1, len(frame), size, 17) for size in (0, 1, len(LINES) + 1, 2**31, 2**32 - 1)),
        *((1, size, len(LINES), 17) for size in (0, 1, len(frame) - 1, len(frame) + 1, 2**31, 2**32 - 1)),
        *((count, len(frame), len(LINES), 17) for count in (0, 2, 2**24, 2**31, 2**32 - 1)),
        *((1, len(frame), len(LINES), size) for size in (0, 9, 2**31, 2**32 - 1)),
    ):
        table = struct.pack("<IIII", 0x184D2A5E, length, packed, unpacked)
        foot = struct.pack("<IBI", count, 0, 0x8F92EAB1)
        yield f"a seek table of {count}, {packed}, {unpacked}, {length}", frame + table + foot


# Zips, Parquet, and what servers send.


def zips() -> Iterator[Case]:
    whole = (GOLDEN / "logs/inspect/log.eval").read_bytes()
    with zipfile.ZipFile(io.BytesIO(whole)) as opened:
        infos = opened.infolist()
    at = whole.index(b"PK\x01\x02")
    for place in (20, 24, 42):  # packed, unpacked, where it begins
        yield from (
            (f"central, {place}: {what}", content)
            for what, content in numbers(whole, range(at + place, at + place + 1), "<I")
        )
    for place in (28, 30, 32):  # lengths of the name, of more fields, of a comment
        yield from (
            (f"central, {place}: {what}", content)
            for what, content in numbers(whole, range(at + place, at + place + 1), "<H")
        )
    for info in infos[:2]:
        for place in (18, 22):
            place += info.header_offset
            yield from (
                (f"local: {what}", content) for what, content in numbers(whole, range(place, place + 1), "<I")
            )
        for place in (26, 28):
            place += info.header_offset
            yield from (
                (f"local: {what}", content) for what, content in numbers(whole, range(place, place + 1), "<H")
            )
    end = whole.rindex(b"PK\x05\x06")
    for place in (8, 10):
        yield from (
            (f"end: {what}", content)
            for what, content in numbers(whole, range(end + place, end + place + 1), "<H")
        )
    for place in (12, 16):
        yield from (
            (f"end: {what}", content)
            for what, content in numbers(whole, range(end + place, end + place + 1), "<I")
        )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", bytes(2**28))
        archive.writestr("samples/a_epoch_1.json", bytes(2**28))
    yield "bombs", stream.getvalue()
    # Each name of the directory is of the same member.
    entry = whole[at : whole.index(b"PK", at + 4)]
    number = 60_000
    foot = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, number, number, len(entry) * number, at, 0)
    yield "one member under many entries", whole[:at] + entry * number + foot


def parquets() -> Iterator[Case]:
    whole = (GOLDEN / "logs/ragas/result.parquet").read_bytes()
    foot = len(whole) - 8
    yield from numbers(whole, range(foot, foot + 1), "<I")
    (length,) = struct.unpack("<I", whole[foot : foot + 4])
    draw = random.Random(1)
    # Numbers of pages and of the footer have lengths of their own: bytes that go on, and the most of them.
    for number in range(150):
        begin, end = (foot - length, foot) if number % 2 else (4, foot - length)
        changed = bytearray(whole)
        at = draw.randrange(begin, end)
        changed[at : at + 5] = draw.choice(
            [
                b"\xff\xff\xff\xff\x0f",
                b"\xfe\xff\xff\xff\x0f",
                b"\x80\x80\x80\x80\x08",
                b"\xff\xff\xff\xff\xff",
                b"\x01" * 5,
            ]
        )
        yield f"numbers at {at}", bytes(changed[: len(whole)])


def bodies() -> Iterator[Case]:
    yield from gzips(gzip.compress(b'{"a": 1}'))


def read_bodies(path: str) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        content = Path(path).read_bytes()
        for at in range(0, len(content), 2**16):
            yield content[at : at + 2**16]

    for encoding in ("gzip", "deflate", "gzip, gzip"):
        content, _ = asyncio.run(read_body(pieces(), encoding, 2**20))
        assert len(content) <= 2**20


def read_parquet(path: str) -> None:
    for _ in _parquet_rows(File(path), ["user_input"]):
        pass


class Unpacker(NamedTuple):
    """What is read, under which name, and how: by a command line, or by a function."""

    cases: Callable[[], Iterator[Case]]
    file: str
    lines: tuple[tuple[str, ...], ...] = ()
    read: Callable[[str], None] | None = None


SCORED = (("FILE", "qrels", "-m", "rr"), ("doctor", "FILE"), ("validate", "FILE", "--track", "run"))
IMPORTED = (("import", "FILE", "-o", "imported"), ("doctor", "FILE"))
# By the file of the package that unpacks.
UNPACKERS: dict[str, tuple[Unpacker, ...]] = {
    "track/bundle.py": (
        Unpacker(
            bundles, "b.tar.gz", (("board", "verify", "FILE"), ("board", "publish", "FILE", "-o", "site"))
        ),
    ),
    "files/opening.py": (
        Unpacker(gzips, "run.gz", SCORED),
        Unpacker(bzips, "run.bz2", SCORED),
        Unpacker(xzs, "run.xz", SCORED),
    ),
    "files/parts.py": (Unpacker(zstds, "run.zst", SCORED),),
    "files/columnar.py": (Unpacker(parquets, "log.parquet", IMPORTED),),
    "datasets/_reader.py": (Unpacker(parquets, "log.parquet", read=read_parquet),),
    "datasets/_crag.py": (Unpacker(archives_of_crag, "crag.tar.bz2", read=read_crag),),
    "logs/_content.py": (Unpacker(zips, "log.eval", IMPORTED),),
    "judges/models/_remote.py": (Unpacker(bodies, "body", read=read_bodies),),
}
OTHERS = {
    "files/trec.py": "crc32 alone",
    "datasets/dataset.py": "a cache that it wrote, in a folder of the user's",
}


def test_every_module_that_unpacks_is_in_the_table() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in nodes(path):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if PACKS & {name.partition(".")[0] for name in names}:
                found.add(path.relative_to(SOURCE).as_posix())
    assert found == {*UNPACKERS, *OTHERS}


def read_by(function: Callable[[str], None], file: str) -> int:
    try:
        function(file)
    except RagevalError as error:
        print(error)
        return 2
    return 0


@pytest.mark.some(5)
@pytest.mark.parametrize(
    ("module", "number"), [(name, at) for name, found in UNPACKERS.items() for at in range(len(found))]
)
def test_sizes_are_checked(module: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "parquet" in UNPACKERS[module][number].file:
        pytest.importorskip("pyarrow")
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    unpacker = UNPACKERS[module][number]
    Path("qrels").write_text("q0 0 d0 1\n")
    faults = []
    every = int(os.environ.get("STATED_SIZES", "25"))  # 1: all of them
    for at, (what, content) in enumerate(unpacker.cases()):
        is_plain = " at " in what
        if is_plain and at % every:
            continue
        Path(unpacker.file).write_bytes(content)
        runs: list[Callable[[], int]] = [
            partial(of_line, [unpacker.file if word == "FILE" else word for word in line])
            for line in unpacker.lines
        ]
        if unpacker.read is not None:
            runs.append(partial(read_by, unpacker.read, unpacker.file))
        for run in runs if every == 1 or not is_plain else [runs[at % len(runs)]]:
            done = ended(run, tmp_path / "log")
            if done.wrong:
                faults.append(f"{what}: {done.wrong}: {done.output[-600:]}")
                print(faults[-1], flush=True)
    assert not faults, "\n".join(faults)
