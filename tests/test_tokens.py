"""The fast reader against the plain one: the same fields for everything both accept."""

from __future__ import annotations

import gzip
import random
import struct
from pathlib import Path

import numpy as np
import pytest

from rageval.errors import InputError
from rageval.files import opening
from rageval.files.limits import Limits
from rageval.files.lines import QRELS, RUN, read_lines
from rageval.files.tokens import tokenise
from rageval.tables import numbers
from rageval.tables.ids import PADDING, Ids, ids_of

ALPHABET = [b"a", b"b7", b"#", b"-1", b"0.5", b" ", b" ", b"  ", b"\t", b"\t", b"\n", b"\n", b"\r", b"\x00"]
ALPHABET += [b"\x7f", "é".encode(), b"\xff", b"1e3", b"doc-with-a-long-name"]


def plain(text: bytes, width: int) -> tuple[list[list[bytes]], list[int]] | None:
    """What the plain reader makes of the text, with any value in the number column."""
    kind = RUN if width == 6 else QRELS
    try:
        fields = read_lines(text, kind, "f", 1)
    except InputError:
        return None
    spans = zip(fields.start.tolist(), fields.end.tolist(), strict=True)
    rows = [[text[left:right] for left, right in zip(*row, strict=True)] for row in spans]
    return rows, fields.line.tolist()


def random_line(rng: random.Random, width: int) -> bytes:
    separator = rng.choice([b" ", b" ", b" ", b"\t", b"  ", b" \t"])
    fields = [rng.choice([b"q1", b"Q0", b"d#1", "dé".encode(), b"a b", b"long" * 9]) for _ in range(width)]
    fields[4 if width == 6 else 3] = rng.choice([b"1", b"0.25", b"-2"] if width == 6 else [b"1", b"0"])
    return rng.choice([b"", b"", b"", b" "]) + separator.join(fields) + rng.choice([b"", b"", b" "])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("width", [4, 6])
def test_tokenise_agrees_with_the_plain_reader_or_steps_aside(seed: int, width: int) -> None:
    rng = random.Random(seed)
    accepted = 0
    for _ in range(1500):
        if rng.random() < 0.2:
            text = b"".join(rng.choices(ALPHABET, k=rng.randrange(40))) + b"\n"
        else:
            lines = [random_line(rng, width) for _ in range(rng.randrange(1, 4))]
            text = b"\n".join([*lines, *rng.choice([[], [], [b""]])]) + b"\n"
        fields = tokenise(text, width)
        expected = plain(text, width)
        if fields is None:
            continue
        rows = [
            [text[left:right] for left, right in zip(*row, strict=True)]
            for row in zip(fields.start.tolist(), fields.end.tolist(), strict=True)
        ]
        if expected is None:  # the fast reader may leave numbers to others, but nothing else
            values = [numbers.score(row[4]) if width == 6 else numbers.grade(row[3], 10**6) for row in rows]
            assert None in values, text
            continue
        accepted += 1
        assert (rows, fields.line.tolist()) == expected, text
        assert fields.lines == text.count(b"\n")
    assert accepted > 150  # the comparison must not be empty


@pytest.mark.parametrize(
    "text",
    [
        b"q Q0 d 1 2.0 t\n",
        b"q\tQ0\td\t1\t2.0\tt\n",
        b"q  Q0   d 1 2.0 t\n\nq Q0 e 2 1.0 t\n",
        b"q\tQ0\ta doc\t1\t2.0\tmy tag\n",
    ],
)
def test_usual_files_take_the_fast_road(text: bytes) -> None:
    assert tokenise(text, 6) is not None


@pytest.mark.parametrize(
    "text", [b"q\tQ0\td\t1\t2.0\t\n", b"# comment\n", b"q Q0 d 1 2.0\n", b"q Q0 d\x01 1 2.0 t\n", b"\n"]
)
def test_odd_files_do_not(text: bytes) -> None:
    fields = tokenise(text, 6)
    assert fields is None or len(fields.start) == 0


def as_column(tokens: list[bytes]) -> Ids:
    text = b" ".join(tokens)
    length = np.array([len(token) for token in tokens])
    start = np.concatenate(([0], np.cumsum(length + 1)[:-1]))
    return Ids(np.frombuffer(text + PADDING, np.uint8), start, length)


def decimal_of(rng: random.Random) -> bytes:
    shape = rng.randrange(6)
    if shape == 0:
        return repr(struct.unpack("<d", rng.randbytes(8))[0]).encode()
    if shape == 1:
        return f"{rng.uniform(-1e6, 1e6):.{rng.randrange(0, 12)}f}".encode()
    if shape == 2:
        return repr(rng.random()).encode()
    if shape == 3:
        return b"".join(rng.choices([b"0", b"9", b"5", b".", b"-", b"+", b"e"], k=rng.randrange(1, 25)))
    return rng.choice(
        [b"0", b"-0", b"+1", b".5", b"5.", b"1e-7", b"9007199254740993", b"0.1", b"nan", b"1_0"]
    )


@pytest.mark.parametrize("seed", range(4))
def test_scores_equal_float_bit_for_bit(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(300):
        tokens = [decimal_of(rng) for _ in range(rng.randrange(1, 60))]
        expected = [numbers.score(token) for token in tokens]
        found = numbers.scores(as_column(tokens))
        if None in expected:
            assert found is None
            tokens = [token for token, value in zip(tokens, expected, strict=True) if value is not None]
            found = numbers.scores(as_column(tokens)) if tokens else np.zeros(0)
        assert found is not None
        assert found.tobytes() == np.array([float(token) for token in tokens]).tobytes()


@pytest.mark.parametrize("places", [1, 3, 5, 14])
def test_scores_of_one_shape_equal_float_bit_for_bit(places: int) -> None:
    rng = random.Random(places)
    tokens = [f"{rng.uniform(0, 10 ** rng.randrange(1, 4)):.{places}f}".encode() for _ in range(5000)]
    found = numbers.scores(as_column(tokens))
    assert found is not None
    assert found.tobytes() == np.array([float(token) for token in tokens]).tobytes()


@pytest.mark.parametrize(
    ("text", "value"),
    [(b"1", 1), (b"-2", -2), (b"+3", 3), (b"0000001", 1), (b"1000000", 10**6), (b"00000001", None)]
    + [
        (bad, None)
        for bad in (b"1000001", b"1.0", b"1.", b"x", b"", b"-", b"1e3", "٧".encode(), b"2147483648")
    ],
)
def test_grades_are_whole_numbers_within_the_limit(text: bytes, value: int | None) -> None:
    assert numbers.grade(text, 10**6) == value
    if text:
        column = numbers.grades(as_column([b"1", text]), 10**6)
        assert (None if column is None else column.tolist()) == (None if value is None else [1, value])
        alone = numbers.grades(as_column([text]), 10**6)
        assert (None if alone is None else alone.tolist()) == (None if value is None else [value])


def test_scores_of_nothing() -> None:
    empty = numbers.scores(ids_of([]))
    assert empty is not None
    assert len(empty) == 0


@pytest.mark.parametrize(
    ("line", "width"),
    [
        (b"q1 n1 doc 1", 4),
        (b"q1\tn1\tdoc\t1", 4),
        (b"q1  n1   doc 1 ", 4),
        (b" q1 n1 doc 1", 4),
        (b"q 1\tn 1\td o c\t1", 4),
        (b"q1 Q0 doc 1 0.5 tag", 6),
        (b"q1\tQ0\tdoc\t1\t0.5\ttag", 6),
        (b"q1 Q0 doc   1 0.5 tag", 6),
        (b"q1\tQ0\td o c\t1\t0.5\tt a g", 6),
    ],
)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_what_real_files_look_like_takes_the_fast_road(line: bytes, width: int, number: int) -> None:
    fields = tokenise((line + b"\n") * number, width)
    assert fields is not None
    assert (fields.lines, len(fields.start)) == (number, number)
    blank_between = tokenise((line + b"\n\n") * number, width)
    assert (blank_between is not None) == (b" " not in line or b"\t" not in line)


def test_a_line_after_an_odd_one_in_an_earlier_chunk_keeps_its_number() -> None:
    """The plain reader counts the lines of its chunk exactly, whatever they end with."""
    for text in (b"q n d 1\n# c\n", b"q n d 1\n", b"\n\n", b"q n d 1"):
        assert read_lines(text, QRELS, "f", 1, "skip").lines == len(text.splitlines())


def test_units_of_limits() -> None:
    changed = Limits().changed(("line=2k", "id=3M", "unpacked=1GiB", "grade=7"))
    assert (changed.line, changed.id, changed.unpacked, changed.grade) == (2048, 3 * 2**20, 2**30, 7)


@pytest.mark.parametrize(("copies", "lenient", "refused"), [(3000, 2**26, False), (3000, 1000, True)])
def test_a_small_file_may_unpack_at_any_ratio(
    copies: int, lenient: int, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_LENIENT", lenient)
    (tmp_path / "f.gz").write_bytes(gzip.compress(b"q1 n1 doc 1\n" * copies))
    if refused:
        with pytest.raises(InputError, match="more than 200 times its size"):
            list(opening.chunks(tmp_path / "f.gz"))
    else:
        assert len(b"".join(opening.chunks(tmp_path / "f.gz"))) == 12 * copies


def test_a_large_file_may_unpack_at_a_usual_ratio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_LENIENT", 1000)
    rng = random.Random(1)
    text = b"".join(b"q1 n1 doc%d 1\n" % rng.randrange(10**9) for _ in range(3000))
    (tmp_path / "f.gz").write_bytes(gzip.compress(text))
    assert b"".join(opening.chunks(tmp_path / "f.gz")) == text


def test_small_files_are_those_below_64_mb() -> None:
    assert opening._LENIENT == 64 * 2**20
