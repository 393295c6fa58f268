"""Parquet and Zstandard in parts: any cut gives the same bits, and no table of a file is believed unseen."""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rageval
from rageval.errors import InputError
from rageval.files import parts, trec
from rageval.files.opening import File, Limits, chunks
from rageval.files.parts import FilePart, Grain, cut
from rageval.files.trec import PLAIN, Reading
from rageval.parallel import Divided, Forked
from rageval.scoring.sources import rows_of
from test_parallel import MEASURES, QRELS, Here, lines, numbers

EVALUATOR = rageval.Evaluator(MEASURES, QRELS)
ROWS = lines(60)
FINE = Grain(50, 1, 10**9)
anywhere = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)


def zstd() -> Any:
    return pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def seekable(
    content: bytes, cuts: Sequence[int], sizes: dict[int, int] | None = None, more: bytes = b""
) -> bytes:
    """Frames and a table of them, which lies about the content of some if told so."""
    parts = [content[begin:end] for begin, end in pairwise([0, *sorted(cuts), len(content)])]
    packed = [zstd().compress(part) for part in parts]
    counts = [(sizes or {}).get(index, len(part)) for index, part in enumerate(parts)]
    entries = b"".join(struct.pack("<II", len(p), size) for p, size in zip(packed, counts, strict=True))
    table = entries + struct.pack("<IBI", len(parts), 0, 0x8F92EAB1)
    return b"".join(packed) + more + struct.pack("<II", 0x184D2A5E, len(table)) + table


def parquet(path: Path, rows: Sequence[str], group: int) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    fields = [row.split() for row in rows]
    columns = {"query_id": [f[0] for f in fields], "doc_id": [f[2] for f in fields]}
    table = pyarrow.table(columns | {"score": [float(f[4]) for f in fields]})
    parquet.write_table(table, path, row_group_size=group)
    return path


def queries_of(stretches: Sequence[FilePart], reading: Reading = PLAIN) -> list[set[bytes]]:
    queries = []
    for stretch in stretches:
        with stretch.opened(reading) as opened:
            queries.append({query for rows in rows_of(*opened) for query in rows.queries})
    return queries


def divided(path: Path | File, engine: Any, **options: Any) -> Divided:
    return Divided(Path(path).name, None, path, workers=engine, smallest=1, **options)


def scored_in_parts(path: Path, width: int) -> tuple[list[Any], int]:
    """The numbers, and how many parts they are of; all parts of which were good."""

    class Wide(Here):
        def results(self, task: Any, shared: Any, units: Sequence[Any]) -> Iterator[Any]:
            for part in super().results(task, shared, units):
                self.done += 1
                yield part

    engine = Wide()
    engine.width, engine.done = width, 0
    scores = numbers(EVALUATOR.evaluate(divided(path, engine)))
    assert engine.done == len(engine.units)
    return scores, engine.done


@pytest.mark.nightly
@anywhere
@given(st.integers(1, 120), st.integers(2, 60))
def test_parquet_cut_anywhere(tmp_path: Path, group: int, width: int) -> None:
    path = parquet(tmp_path / "run", ROWS, group)
    expected = numbers(EVALUATOR.evaluate(path))
    scores, parts = scored_in_parts(path, width)
    assert scores == expected
    assert parts > 1
    queries = queries_of(cut(path, PLAIN, Grain(width, 1, 10**9)))
    assert sum(map(len, queries)) == len(set().union(*queries)) == 60


@pytest.mark.slow
@anywhere
@given(st.sets(st.integers(0, len("".join(ROWS))), min_size=9), st.integers(2, 60))
def test_frames_cut_anywhere(tmp_path: Path, cuts: set[int], width: int) -> None:
    path = tmp_path / "run"
    path.write_bytes(seekable("".join(ROWS).encode(), sorted(cuts)))
    (tmp_path / "plain").mkdir(exist_ok=True)
    (tmp_path / "plain/run").write_text("".join(ROWS))
    scores, _ = scored_in_parts(path, width)
    assert scores == numbers(EVALUATOR.evaluate(tmp_path / "plain/run"))
    queries = queries_of(cut(path, PLAIN, Grain(width, 1, 10**9)) or cut(tmp_path / "plain/run", PLAIN, FINE))
    assert sum(map(len, queries)) == len(set().union(*queries)) == 60


def frames_every(size: int) -> range:
    return range(size, len("".join(ROWS)), size)


def test_frames_are_cut_and_each_is_unpacked_once_or_twice(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(seekable("".join(ROWS).encode(), frames_every(200)))
    stretches: Any = cut(path, PLAIN, Grain(6, 1, 10**9))
    assert len(stretches) == 6
    assert str(stretches[1]) == f"{path}, unpacked bytes {stretches[1].begin:,} to {stretches[1].end:,}"
    offsets = [frame.offset for stretch in stretches for frame in stretch.frames]
    number = len(frames_every(200)) + 1
    assert len(set(offsets)) == number
    assert len(offsets) <= number + 5


def test_frames_of_whole_queries_are_unpacked_once(tmp_path: Path) -> None:
    path = tmp_path / "run"
    begins = [begin for begin in range(1, len(ROWS)) if ROWS[begin].split()[0] != ROWS[begin - 1].split()[0]]
    path.write_bytes(seekable("".join(ROWS).encode(), [len("".join(ROWS[:begin])) for begin in begins]))
    stretches: Any = cut(path, PLAIN, Grain(6, 1, 10**9))
    assert sum(len(stretch.frames) for stretch in stretches) == 60 + 5 - sum(
        stretch.begin == stretch.frames[0].begin for stretch in stretches[1:]
    )


WRONG = [
    *("a frame that holds more", "a frame that holds less", "a frame that holds nothing"),
    *("a last frame that holds nothing", "a first frame that holds more", "borders between frames"),
    *("one that does not fit the file", "more frames than there are", "reserved bits", "no table"),
]


def wrong_tables() -> dict[str, bytes]:
    content = "".join(ROWS).encode()
    cuts, good = frames_every(200), seekable(content, frames_every(200))
    end = content.index(b"q50 ")
    first, second = (len(zstd().compress(content[offset : offset + 200])) for offset in (0, 200))
    offset = good.index(struct.pack("<I", 0x184D2A5E)) + 8
    moved = good[:offset] + struct.pack("<IIII", first - 4, 200, second + 4, 200) + good[offset + 16 :]
    return {
        "a frame that holds more": seekable(content, cuts, {3: 100}),
        "a frame that holds less": seekable(content, cuts, {3: 300}),
        "a frame that holds nothing": seekable(content, cuts, {3: 0}),
        "a last frame that holds nothing": seekable(content, cuts, {len(cuts): 0}),
        "a first frame that holds more": seekable(content, cuts, {0: 199}),
        "borders between frames": moved,
        "one that does not fit the file": seekable(content[:end], cuts, more=zstd().compress(content[end:])),
        "more frames than there are": good[:-9] + struct.pack("<IBI", 10**6, 0, 0x8F92EAB1),
        "reserved bits": good[:-5] + b"\x04" + good[-4:],
        "no table": b"".join(zstd().compress(content[offset : offset + 200]) for offset in (0, *cuts)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("width", [2, 5, 30])
def test_a_wrong_table_never_gives_a_wrong_number(
    tmp_path: Path, wrong: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "_HEAD", 100)
    path = tmp_path / "run"
    path.write_bytes(wrong_tables()[wrong])
    expected = numbers(EVALUATOR.evaluate(path))
    engine = Here()
    engine.width = width
    scores = EVALUATOR.evaluate(divided(path, engine))
    assert scores.notes is not None
    assert ("seek table" in str(scores.notes.read_here)) == (wrong in WRONG[:6])
    scores.notes.read_here = None
    assert numbers(scores) == expected


def test_a_table_with_checksums(tmp_path: Path) -> None:
    content = "".join(ROWS).encode()
    packed = [zstd().compress(content[:900]), zstd().compress(content[900:])]
    entries = struct.pack("<IIIIII", len(packed[0]), 900, 7, len(packed[1]), len(content) - 900, 7)
    table = entries + struct.pack("<IBI", 2, 0x80, 0x8F92EAB1)
    path = tmp_path / "run"
    path.write_bytes(b"".join(packed) + struct.pack("<II", 0x184D2A5E, len(table)) + table)
    scores, parts = scored_in_parts(path, 4)
    assert (scores, parts) == (numbers(EVALUATOR.evaluate(path)), 2)


def test_what_swells_is_refused_as_ever(tmp_path: Path) -> None:
    path = File(tmp_path / "run", Limits(unpacked=1000))
    Path(path).write_bytes(seekable("".join(ROWS).encode(), frames_every(200)))
    assert cut(path, Reading(), FINE) == []
    with pytest.raises(InputError, match="unpacks to more than 1,000 bytes"):
        EVALUATOR.evaluate(divided(path, Here()))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "zstd"])
def test_in_processes_and_with_what_is_wrong_in_its_row(tmp_path: Path, form: str) -> None:
    def written(rows: Sequence[str]) -> Path:
        if form == "parquet":
            return parquet(tmp_path / "run", rows, 31)
        (tmp_path / "run").write_bytes(seekable("".join(rows).encode(), frames_every(200)))
        return tmp_path / "run"

    path = written(ROWS)
    assert numbers(EVALUATOR.evaluate(divided(path, Forked(2)))) == numbers(EVALUATOR.evaluate(path))
    path = written([*ROWS[:150], ROWS[149], *ROWS[150:]])
    with pytest.raises(InputError, match=rf"{path}:151: document \S+ is ranked twice"):
        EVALUATOR.evaluate(divided(path, Forked(2)))
    path = written(ROWS[::2] + ROWS[1::2])
    assert numbers(EVALUATOR.evaluate(divided(path, Forked(2)))) == numbers(EVALUATOR.evaluate(path))


def test_rows_of_a_part_are_numbered_as_in_the_file(tmp_path: Path) -> None:
    lines: list[int] = []
    for stretch in cut(parquet(tmp_path / "run", ROWS, 31), PLAIN, FINE):
        with stretch.opened(PLAIN) as opened:
            lines += [line for rows in rows_of(*opened) for line in rows.lines]
    assert lines == list(range(1, len(ROWS) + 1))


def test_one_group_of_rows_or_one_query_stays_whole(tmp_path: Path) -> None:
    assert len(cut(parquet(tmp_path / "run", ROWS, 10**6), PLAIN, FINE)) == 1
    one = [f"q Q0 d{index} 1 1 t\n" for index in range(99)]
    assert len(cut(parquet(tmp_path / "run", one, 7), PLAIN, FINE)) == 1
    (stretch, *others) = cut(parquet(tmp_path / "run", ROWS, 30), PLAIN, Grain(2, 1, 10**9))
    assert (len(others), str(stretch)) == (1, f"{tmp_path / 'run'}, rows 1 to {stretch.end:,}")  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["dictionary", "large", "numbers", "missing", "absent"])
def test_columns_of_other_types(tmp_path: Path, kind: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import compute
    from pyarrow import parquet as files

    path = parquet(tmp_path / "run", ROWS, 30)
    expected, table = numbers(EVALUATOR.evaluate(path)), files.read_table(path)
    query = table["query_id"]
    if kind == "absent":
        table = table.drop_columns(["query_id"])
    else:
        changed = {
            "dictionary": lambda: query.dictionary_encode(),
            "large": lambda: query.cast(pyarrow.large_string()),
            "numbers": lambda: compute.utf8_slice_codeunits(query, 1).cast(pyarrow.int32()),
            "missing": lambda: compute.if_else(compute.equal(query, "q30"), None, query),
        }[kind]()
        table = table.set_column(0, "query_id", changed)
    files.write_table(table, path, row_group_size=30)
    if kind in ("dictionary", "large"):
        assert scored_in_parts(path, 5)[0] == expected
        return
    with pytest.raises(InputError) as alone:
        EVALUATOR.evaluate(path)
    with pytest.raises(InputError) as together:
        EVALUATOR.evaluate(divided(path, Here()))
    assert str(together.value) == str(alone.value)


def random_text(rng: random.Random) -> str:
    """Rows parted by blanks, rows parted by tabs with blanks in ids, and rows that can be read both ways."""
    kinds = [
        "{q} Q0 d{at} 1 0.5 t",
        "{q}\tQ0\td {at}\t1\t0.5\tt",
        "{q}\tQ0\td 1\t\t{at}\tt",
        "{q} Q0\td{at}\t\t1\t1\tt",
    ]
    chosen = rng.choices(
        kinds, rng.choice([(9, 1, 0, 0), (1, 9, 0, 0), (1, 1, 1, 1), (5, 0, 2, 2), (0, 9, 1, 0)]), k=14
    )
    rows = [row.format(q=f"q{index // 3}", at=index) for index, row in enumerate(chosen)]
    return "".join(row + "\n" for row in [*rng.choice([[], [""], ["# note"]]), *rows])


def outcome(path: Path, reading: Reading, engine: Any = None) -> Any:
    """The rows of a file, or the first thing that is wrong with it."""
    try:
        return numbers(
            rageval.evaluate("ap", divided(path, engine, reading=reading), {"q1": {"d": 1, "d 4": 1}})
        )
    except InputError as error:
        return str(error).split("\n")[0]


@pytest.mark.slow
@pytest.mark.some(5)
@pytest.mark.parametrize("seed", range(150))
def test_no_chunk_and_no_part_decides_for_itself_what_tabs_are(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    rng = random.Random(seed)
    path.write_text(random_text(rng))
    reading = Reading("skip")
    expected = outcome(path, reading)
    assert outcome(path, reading, Here()) == expected
    for size in (1, 40, 100):
        monkeypatch.setattr(trec, "chunks", lambda source, size=size: chunks(source, size=size))
        assert outcome(path, reading) == expected
    path.write_bytes(seekable(path.read_bytes(), range(30, path.stat().st_size, 30)))
    assert outcome(path, reading, Here()) == expected
