"""The compiled reader against what is right: the same columns, the same codes, whatever the file."""

from __future__ import annotations

import gc
import os
import random
import struct
import subprocess
import sys
import threading
from array import array
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernel_files as files
from kernel_files import APART, CONTRADICTED, ODD, TWICE, Asked
from rageval.kernel import kernel as compiled

ROOT = Path(__file__).parents[1]
SEED = bytes(range(16))
pytestmark = pytest.mark.skipif(compiled is None, reason="the compiled part is not in use")
kernel: Any = compiled


def qrels_in(text: bytes, tabbed: bool = False, **settings: Any) -> Any:
    return files.read_qrels(kernel, random.Random(1), text, tabbed, Asked(**settings))


def join_in(qrels: bytes, run: bytes, tabbed: bool = False, **settings: Any) -> Any:
    """Return what is found in a run that is fed as it is, or the code."""
    return files.read_run(kernel, random.Random(1), qrels_in(qrels)[0], run, tabbed, Asked(**settings))


@pytest.mark.slow
@given(st.randoms(use_true_random=False))
def test_files_of_all_shapes_are_read_as_is_right(rng: random.Random) -> None:
    drawn, tabbed = files.drawn_files(rng)
    files.compare(kernel, rng, drawn, tabbed, files.drawn_asked(rng))


@pytest.mark.slow
def test_changed_bytes_give_what_is_right_or_a_code() -> None:
    codes = files.fuzz_files(kernel, 1, 1500)
    assert codes[0] > 300
    assert codes[ODD] > 300
    assert min(codes) > 0


def test_what_is_found_in_a_small_file() -> None:
    judged = b"q n1 a 1\nq n2 b 2\nq n1 c 0\nq n2 a 3\nr n1 a 1\ns n1 a 0\n"
    reader, columns = qrels_in(judged)
    assert columns[:5] == (6, False, [b"q", b"r", b"s"], [2, 1, 1], [1, 0, 1])
    assert columns[5:9] == ([0, 2, 3, 3], [0, 2, 3, 4], [0, 1, 1, 0], [1, 3, 2, 1])
    assert (bytes(columns[9]), columns[10]) == (b"aba", [0, 1, 2, 3])
    assert (bytes(columns[11]), columns[12]) == (b"n1n2n1n1", [0, 2, 4, 6, 8])
    run = b"z 0 a 1 2 t\ns 0 a 1 9 t\nq 0 x 1 1 t\nq 0 c 2 1.0 t\nq 0 b 3 5 t\nq 0 a 4 1e0 t\n"
    columns = files.read_run(kernel, random.Random(1), reader, run, False, Asked(cutoffs=(2, 3)))
    assert columns[:4] == ([b"z", b"s", b"q"], [2, 0], [1, 4], [1, 3])
    assert columns[4:7] == ([0, 0, 2], [1, 4], [1, 0])
    assert columns[7:] == (6, 1, 4, 3, [1, 1])


ROW = b"q 0 d 1 1 t\n"
CONTROLS = (*range(9), 11, 12, 13, *range(14, 32), 0x7F)
NOT_UTF8 = (
    b"\x80 \xc3 \xff \xbf \xe2\x82 \xc0\x80 \xc1\xbf \xe0\x80\x80 \xed\xa0\x80 \xf0\x8f\xbf\xbf"
).split()
NOT_UTF8 += b"\xf4\x90\x80\x80 \xf5\x80\x80\x80 \xf8\x88\x80\x80\x80 \xe2\x82\x41 \xc3\xc3".split()
UTF8 = b"\xc2\x80 \xed\x9f\xbf \xee\x80\x80 \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf \xef\xbb\xbf \xc2\xa0".split()
NO_SCORES = b"nan inf -inf 1e309 -1e999 . - + 1e 1e+ e1 .e1 1_0 0x1 1.2.3 --1 +-1 1f 1e1.0 \xd9\xa3".split()
NO_SCORES.append(b"9" * 400)
SCORES = b"1. .5 +1 -0 1E5 1e-400 0e999999999 1e308 1.7976931348623157e308 4.9e-324".split()
ODD_ROWS = [
    *(b"#q 0 d 1 1 t", b"# q 0 d 1 1 t", b"\xef\xbb\xbfq 0 d 1 1 t", b"q 0 d 1 1", b"q 0 d 1 1 t t", b"q"),
    *(b"r" * 1025 + b" 0 d 1 1 t", b"r 0 " + b"d" * 1025 + b" 1 1 t", b"r\r 0 d 1 1 t", b"r 0 d 1 1 t\r\r"),
    *(b"r 0 d 1 1 " + b"t" * 2**20, b"r" + b" " * 2**20 + b"0 d 1 1 t", b"r\t\td\t1\t1\tt", b"\r \r"),
]
FINE_ROWS = [
    *(b"r" * 1024 + b" 0 d 1 1 t", b"r 0 " + b"d" * 1024 + b" 1 1 t", b"r 0 d 1 1 " + b"t" * (2**20 - 10)),
    *(
        *(b"r\xc2\xa00\t0 d #1 1 t", b" #r 0 d 1 1 t\r", b"r\t0\td d\t1\t1\tt", b"\tr 0  d 1\t1 t\t", b""),
        b" \t",
    ),
    *(b" \xef\xbb\xbfr 0 d 1 1 t", b"r #0 d 1 1 #t", b"r 0 d 1 1 t" + b" " * 2**19),
    *(b"\xef\xbb\xber 0 d 1 1 t", b"r 0 d 1 1 " + b"t" * (2**20 - 10) + b"\r"),
]
CODES = [
    *((ODD, b"r 0 d%cd 1 1 t" % byte) for byte in CONTROLS),
    *((ODD, b"r 0 %b 1 1 t" % text) for text in NOT_UTF8),
    *((ODD, b"r 0 d 1 %b t" % text) for text in NO_SCORES),
    *((ODD, row) for row in ODD_ROWS),
    *((0, b"r 0 %b 1 1 t" % text) for text in UTF8),
    *((0, b"r 0 d 1 %b t" % text) for text in SCORES),
    *((0, row) for row in FINE_ROWS),
    *((TWICE, row) for row in (b"q 1 d 2 2 u", b"q 0 e 1 1 t\nq 0 d 1 1 t")),
    *((APART, row) for row in (b"r 0 d 1 1 t\nq 0 e 1 1 t", b"z 0 d 1 1 t\nr 0 d 1 1 t\nz 0 e 1 1 t")),
    (APART, b"judged 0 d 1 1 t\nq 0 e 1 1 t"),
]


def test_every_code_of_a_run() -> None:
    for code, row in CODES:
        for end in (b"\n", b"", b"\nz 0 d 1 1 t\n"):
            if row[-1:] != b"\r" or end:
                joined = join_in(b"judged n d 1\n", ROW + row + end)
                assert (joined if isinstance(joined, int) else 0) == code, row


NO_GRADES = b"12345678 1000001 -1000001 1.0 + - 1e1 x --1 +-1 1_0 \xd9\xa3".split()
ODD_JUDGEMENTS = [
    *(b"r n d", b"r n d 1 1", b"#r n d 1", b"r" * 1025 + b" n d 1"),
    *(b"r " + b"n" * 1025 + b" d 1", b"r n " + b"d" * 1025 + b" 1"),
]
CONTRADICTIONS = [
    *(b"q n d 0", b"q n d 2", b"q n d -1", b"q m d 1\nq n d 2", b"q m d 1\nq m e 1\nq n e 1\nq m e 0"),
    *(
        b"q m d 1\nq l d 1\nq n d 1\nq m d 0",
        b"q m e 1\nq n e 1\nq n e 0",
        b"q m e 1\nq n e 1\nq o e 1\nq o e 0",
    ),
]
QRELS_CODES = [
    *((ODD, b"r n d " + grade) for grade in NO_GRADES),
    *((ODD, row) for row in ODD_JUDGEMENTS),
    *((0, b"r n d " + grade) for grade in b"1000000 -1000000 +0 -0 0000001".split()),
    *((0, row) for row in (b"q m d 1\nq n d 1", b"q n d 01", b"q m d 1\nq n e 0\nq m e 1\nq n e 0\nq m d 1")),
    *((CONTRADICTED, row) for row in CONTRADICTIONS),
    *((APART, row) for row in (b"r n d 1\nq n d 1", b"r n d 0\ns n d 1\nr n e 1")),
]


@pytest.mark.parametrize(
    ("code", "row"), QRELS_CODES, ids=[f"{index}-{row[0]}" for index, row in enumerate(QRELS_CODES)]
)
def test_every_code_of_judgements(code: int, row: bytes) -> None:
    for end in (b"\n", b"", b"\r\nz n d 1\n"):
        outcome = qrels_in(b"q n d 1\n" + row + end)
        assert (outcome if isinstance(outcome, int) else 0) == code


@pytest.mark.parametrize(
    ("ranks", "conflicts"),
    [
        ("0 1", 1),
        ("1 0", 0),
        ("1 1", 0),
        ("9 10", 1),
        ("00000001 00000002", 1),
        ("1 123456789", 0),
        ("x 2", 0),
    ],
)
def test_ranks_that_contradict_the_scores(ranks: str, conflicts: int) -> None:
    first, second = ranks.split()
    assert join_in(b"", f"q 0 a {first} 1 t\nq 0 b {second} 2 t\n".encode())[8] == conflicts
    assert join_in(b"", f"q 0 a {second} 2 t\nq 0 b {first} 1 t\n".encode())[8] == conflicts
    assert join_in(b"", f"q 0 a {first} 1 t\nq 0 b {second} 1 t\n".encode())[8] == 0


@pytest.mark.slow
def test_long_files_are_read_across_all_borders() -> None:
    """Lines of all lengths around the borders of what is looked at together, chunks of all sizes."""
    rng = random.Random(5)
    for end in ("\n", "\r\n"):
        rows, judged = [], []
        for query in range(60):
            for number in range(60):
                tag = "t" * rng.choice((1, 5, 70, 700, 40_000 if number == query else 3))
                name = f"é{number}" if query % 7 == 3 else f"d{number}"
                rows.append(f"q{query} Q0 {name} {number} {drawn_float(rng)!r} {tag}{end}")
                judged += [
                    f"q{query} n{n} {name} {rng.randrange(3)}{end}" for n in range(3) if rng.random() < 0.4
                ]
        both = "".join(judged).encode(), "".join(rows).encode()
        for _ in range(2):
            assert files.compare(kernel, rng, both, (False, False), Asked(cutoffs=(1, 10))) == 0


def drawn_float(rng: random.Random) -> float:
    return rng.uniform(0, 40) if rng.random() < 0.9 else float(rng.randrange(9))


# ------------------------------------------------------------------------------------------------ numbers


def equal_to_python(texts: list[str]) -> list[str]:
    """Return the numbers that are not read as `float` reads them: not tied with all digits of what it gives.

    With so many digits that Python's own function reads these.
    """

    def number_tied(texts: list[str]) -> int:
        rows = []
        for number, text in enumerate(texts):
            exact = f"{Decimal(float(text)):f}"
            exact += ("" if "." in exact else ".") + "0" * 25
            rows += [f"{number} 0 a 1 {text} t\n", f"{number} 0 b 1 {exact} t\n"]
        return int(join_in(b"", "".join(rows).encode(), cutoffs=(1,))[-1][0])

    return [] if number_tied(texts) == len(texts) else [text for text in texts if not number_tied([text])]


@pytest.mark.slow
def test_numbers_as_python_prints_them() -> None:
    rng = random.Random(1)
    texts = [repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-30, 30)) for _ in range(4000)]
    texts += [f"{rng.uniform(-9, 99):.{places}f}" for places in range(22) for _ in range(60)]
    texts += [
        repr(struct.unpack("<d", rng.randbytes(7) + bytes([rng.randrange(0x7F)]))[0]) for _ in range(1000)
    ]
    texts += [
        repr(struct.unpack("<f", rng.randbytes(3) + bytes([rng.randrange(0x7F)]))[0]) for _ in range(1000)
    ]
    assert equal_to_python(texts) == []


@pytest.mark.slow
def test_numbers_halfway_between_two_doubles() -> None:
    """Exactly half-way where 19 digits can say it, and right above and below it."""
    rng = random.Random(2)
    texts = []
    for _ in range(1500):
        odd, power = rng.randrange(2**53, 2**54) | 1, rng.randint(0, 3)
        texts += [str(odd * 2 ** rng.randint(0, 9)), f"{odd * 5**power}e-{power}"]
        texts += [f"{odd * 5**power + step}e-{power}" for step in (1, -1)]
    for _ in range(1500):
        low = rng.uniform(1, 10) * 10.0 ** rng.randint(-12, 12)
        half = (Decimal(low) + Decimal(float.fromhex(low.hex()) + low * 2.0**-52)) / 2
        texts += [f"{half:.{digits}e}" for digits in (16, 17, 18, 19)]
    for _ in range(500):
        m = rng.randrange(10**18, 10**19)
        texts += [f"{m}e{rng.randint(-30, 30)}", f"{m >> rng.randrange(60)}e{rng.randint(-30, 30)}"]
    texts += [
        f"{number}e{power}"
        for number in (2**53, 2**53 + 1, 2**64 - 1, 2**63, 1, 5**27)
        for power in range(-29, 30)
    ]
    assert equal_to_python(texts) == []


@given(st.from_regex(r"\A[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?\Z"))
def test_any_number_is_read_as_python_reads_it(text: str) -> None:
    if abs(float(text)) < float("inf"):
        assert equal_to_python([text]) == []
    else:
        assert join_in(b"", f"q 0 d 1 {text} t\n".encode()) == ODD


def test_numbers_of_very_many_places() -> None:
    small = ["0." + "0" * 999 + "1e1000", "0." + "0" * 1001 + "1e1002", "1" + "0" * 1001 + "e-1000"]
    assert equal_to_python([*small, "0." + "0" * 99_999 + "1e100000", "0." + "0" * 9999 + "7e9990"]) == []
    assert join_in(b"", ("q 0 d 1 0." + "0" * 99_999 + "1e1000009 t\n").encode()) == ODD


# ------------------------------------------------------------------------------------- sharing and misuse


@pytest.mark.slow
def test_many_threads_may_join_with_the_same_judgements() -> None:
    rng = random.Random(9)
    queries = [f"q{number}" for number in range(40)]
    judged = files.rendered(rng, files.drawn_qrels(rng, queries, False), False)
    asked = Asked(cutoffs=(3,))
    reader, _ = files.read_qrels(kernel, rng, judged, False, asked)
    topics = files.qrels_of(judged, False, asked)[1]
    runs = [files.rendered(rng, files.drawn_run(rng, queries, False), False) for _ in range(8)]
    results: list[Any] = [None] * len(runs)

    def read(number: int) -> None:
        results[number] = [
            files.read_run(kernel, random.Random(number), reader, runs[number], False, asked)
            for _ in range(20)
        ]

    threads = [threading.Thread(target=read, args=(index,)) for index in range(len(runs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[files.join_of(run, False, asked, topics)] * 20 for run in runs]


def new_qrels(chunk: bytes = b"", **settings: Any) -> Any:
    given_ = {"floor": 1, "seed": SEED, "ids": 9, "lines": 99, "grade": 9, "tabbed": False, **settings}
    reader = kernel.qrels_new(*given_.values())
    assert kernel.qrels_feed(reader, chunk) == 0
    return reader


def new_join(**settings: Any) -> Any:
    qrels = new_qrels(b"q n d 1\n")
    kernel.qrels_end(qrels)
    given_ = {"qrels": qrels, "deepest": -1, "cutoffs": array("i"), "ids": 9, "lines": 99, "tabbed": False}
    return kernel.join_new(*{**given_, **settings}.values())


def test_after_a_code_or_the_end_nothing_can_be_read() -> None:
    for new, feed, end in (
        (new_qrels, kernel.qrels_feed, kernel.qrels_end),
        (new_join, kernel.join_feed, kernel.join_end),
    ):
        reader = new()
        assert feed(reader, b"odd\n") == ODD
        for call in (lambda: feed(reader, b""), lambda: end(reader)):  # noqa: B023
            with pytest.raises(RuntimeError, match="a code other than 0"):
                call()
        reader = new()
        end(reader)
        for call in (lambda: feed(reader, b""), lambda: end(reader)):  # noqa: B023
            with pytest.raises(RuntimeError, match="at its end"):
                call()


def test_lines_in_front_of_a_refused_chunk_are_counted() -> None:
    for reader, feed, row in (
        (new_qrels(), kernel.qrels_feed, b"q n %d 1\n"),
        (new_join(), kernel.join_feed, b"q 0 %d 1 1 t\n"),
    ):
        numbers, lines = iter(range(10**6)), 0
        for rows in (0, 3, 1, 5000):
            chunk = b"".join(row % next(numbers) + b"\n" * (index % 3) for index in range(rows))
            assert feed(reader, chunk) == 0
            assert kernel.lines_before(reader) == lines
            lines += chunk.count(b"\n")
        assert feed(reader, row % next(numbers) + b"odd\n") == ODD
        assert kernel.lines_before(reader) == lines


def test_misuse_is_an_error() -> None:
    qrels, join = new_qrels(), new_join()
    with pytest.raises(RuntimeError, match="not at their end"):
        new_join(qrels=qrels)
    for wrong in (None, b"", 3, join, kernel):
        with pytest.raises((ValueError, TypeError)):
            kernel.qrels_feed(wrong, b"")
        with pytest.raises((ValueError, TypeError)):
            kernel.qrels_end(wrong)
        if wrong is not join:
            with pytest.raises((ValueError, TypeError)):
                kernel.lines_before(wrong)
        with pytest.raises((ValueError, TypeError)):
            new_join(qrels=wrong)
    for wrong in (None, qrels):
        with pytest.raises((ValueError, TypeError)):
            kernel.join_end(wrong)
    for feed, reader in ((kernel.qrels_feed, qrels), (kernel.join_feed, join)):
        for chunk in ("text", None, 3, memoryview(b"abcd")[::2]):
            with pytest.raises((TypeError, BufferError, ValueError)):
                feed(reader, chunk)
    for settings in ({"seed": b"short"}, {"ids": -1}, {"lines": -1}, {"floor": "1"}, {"seed": None}):
        with pytest.raises((ValueError, TypeError)):
            new_qrels(**settings)
    for cutoffs in (
        array("i", [0]),
        array("i", [2, 2]),
        array("i", [3, 1]),
        array("i", [-1]),
        array("q", [1]),
        None,
    ):
        with pytest.raises((ValueError, TypeError)):
            new_join(cutoffs=cutoffs)
    for settings in ({"ids": -1}, {"lines": -1}, {"deepest": None}):
        with pytest.raises((ValueError, TypeError)):
            new_join(**settings)


def test_documents_are_looked_up_in_a_query_there_is_after_the_end() -> None:
    reader = new_qrels(b"q n d 1\nq n e 0\n")
    with pytest.raises(RuntimeError, match="not at their end"):
        kernel.qrels_numbers(reader, 0, [])
    kernel.qrels_end(reader)
    assert memoryview(kernel.qrels_numbers(reader, 0, [b"f", b"e", b"d"])).cast("i").tolist() == [-2, -1, 0]
    assert kernel.qrels_numbers(reader, 0, []) == b""
    for query in (-1, 1, 2**40):
        with pytest.raises(ValueError, match="number of a query"):
            kernel.qrels_numbers(reader, query, [b"d"])
    for docs in ((b"d",), None, ["d"], [b"d", None], [3]):
        with pytest.raises(TypeError):
            kernel.qrels_numbers(reader, 0, docs)
    with pytest.raises((TypeError, ValueError)):
        kernel.qrels_numbers(new_join(), 0, [b"d"])


def test_numbers_beyond_all_sense_are_taken_for_the_largest_there_is() -> None:
    reader = new_qrels(b"q n d -9999999\n", floor=-(2**60), grade=2**60)
    assert kernel.qrels_end(reader)[8].tolist() == [-9_999_999]
    reader = new_qrels(b"q n d 1\n", floor=2**60, ids=2**62, lines=2**62)
    assert kernel.qrels_end(reader)[4].tolist() == [1]
    assert kernel.join_end(new_join(deepest=2**62))[7] == 0


def test_any_buffer_of_bytes_may_be_fed() -> None:
    text = b"q n d 1\n"
    for chunk in (text, bytearray(text), memoryview(text), memoryview(b"xx" + text)[2:], array("B", text)):
        assert kernel.qrels_end(new_qrels(chunk))[0] == 1


@pytest.mark.slow
def test_columns_live_as_long_as_somebody_looks_at_them() -> None:
    kept = kernel.qrels_end(new_qrels(b"q n d 1\nq n e 2\n"))[3:]
    gc.collect()
    for _ in range(50):
        kernel.qrels_end(new_qrels(b"r m f 3\n" * 50))
    assert [column.tolist() for column in kept[:6]] == [[1], [0], [0, 2], [0, 1, 2], [0, 0], [1, 2]]
    assert all(column.readonly and column.contiguous for column in kept)
    assert bytes(kept[6]) == b"de"
    with pytest.raises(TypeError):
        kept[0][0] = 1
    assert bytes(memoryview(kept[0]).cast("B")) == struct.pack("i", 1)


def test_two_threads_at_one_reader_are_told_so() -> None:
    """One of them reads a large chunk without the GIL; the other one comes meanwhile, sooner or later."""
    text, refused = b"".join(b"q%d n d%d 1\n" % (number, number) for number in range(100_000)), 0
    for _ in range(100):
        reader, errors = new_qrels(), []
        thread = threading.Thread(target=lambda: errors.append(kernel.qrels_feed(reader, text)))  # noqa: B023
        thread.start()
        while thread.is_alive():
            try:
                kernel.qrels_feed(reader, b"")
            except RuntimeError as error:
                refused += "another thread" in str(error)
        thread.join()
        if refused and errors:
            assert kernel.qrels_end(reader)[0] == 100_000
            return
    pytest.fail("the other thread never came while the first one was reading")


@pytest.mark.slow
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="it keeps what is freed")
def test_a_run_of_any_length_takes_the_memory_of_one_query() -> None:
    code = """
import resource
from array import array
from rageval.kernel import kernel
limits = [2**10, 2**20]
qrels = kernel.qrels_new(1, bytes(16), *limits, 9, False)
kernel.qrels_feed(qrels, b"q n d1 1\\n")
kernel.qrels_end(qrels)
join = kernel.join_new(qrels, -1, array("i", [1]), *limits, False)
for query in range(400):
    text = "".join(f"q{query} 0 document-{n} {n} {1000 - n} some-system\\n" for n in range(1000)).encode()
    assert kernel.join_feed(join, text) == 0
    if query == 20:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert int(process.stdout) < 2000, process.stderr  # kB, of 16 MB read


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "RAGEVAL_KERNEL": ""}


def test_a_buffer_that_changes_meanwhile_does_no_harm() -> None:
    rng = random.Random(3)
    drawn = files.rendered(rng, files.drawn_run(rng, [f"q{number}" for number in range(200)], False), False)
    text, ended = bytearray(drawn), threading.Event()

    def scribble() -> None:
        other = random.Random(4)
        while not ended.is_set():
            text[other.randrange(len(text))] = other.choice(b"\n\n \t0")

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        for _ in range(60):
            kernel.join_feed(new_join(ids=50, lines=2**20), text)
    finally:
        ended.set()
        thread.join()


LONG = {
    "a large query, then many small ones: the largest table must not be cleared for each": (
        "[b'0 n d%d 1\\n' % n for n in range(1_100_000)] + [b'%d n d 1\\n' % n for n in range(1, 100_000)]",
        1_199_999,
    ),
    "many documents of one query": ("[b'q n d%d 1\\n' % n for n in range(200_000)]", 200_000),
    "many nuggets of one document, also backwards and again": (
        "(rows := [b'q %d d 1\\n' % n for n in range(150_000)]) + rows[::-1] + rows",
        150_000,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", LONG)
def test_no_file_takes_much_longer_than_others_of_its_length(what: str) -> None:
    """It takes a fraction of a second; where all were compared with all it would be stopped."""
    lines, rows = LONG[what]
    code = f"""
import resource
from rageval.kernel import kernel
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
reader = kernel.qrels_new(1, bytes(16), 9, 99, 9, False)
assert kernel.qrels_feed(reader, b"".join({lines})) == 0
found = kernel.qrels_end(reader)
print(found[0], list(found[7]) == sorted(found[7]))
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert process.stdout == f"{rows} True\n", process.stderr


COLLIDING = (
    b"d1077993 d1241984 d3902265 d8244170 d2846381 d8373534 d1448733 d4882855 d7506071 d8180823".split()
)


def test_ids_that_a_table_cannot_tell_apart_are_told_apart() -> None:
    """Pairs whose hashes agree, with this seed, in the 38 bits that a small table looks at."""
    assert bytes(range(16)) == SEED
    ids = kernel.qrels_end(new_qrels(b"".join(b"q n %b 1\n" % name for name in COLLIDING)))
    assert (ids[0], len(ids[6]) - 1) == (10, 10)
    join = new_join()
    assert kernel.join_feed(join, b"".join(b"q 0 %b 1 1 t\n" % name for name in COLLIDING)) == 0


def test_what_tabs_part_in_a_tabbed_file_may_be_parted_by_blanks_in_another() -> None:
    text = b"q n\td\t1\t\n"
    assert qrels_in(text, tabbed=True) == ODD
    assert qrels_in(text)[1][0] == 1


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="it takes all addresses for itself")
def test_a_line_that_is_much_too_long_is_not_copied() -> None:
    code = """
import resource
from rageval.kernel import kernel
reader, line = kernel.qrels_new(1, bytes(16), 9, 99, 9, False), b"q" * 2**27
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**25,) * 2)
print(kernel.qrels_feed(reader, line))
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert process.stdout == f"{ODD}\n", process.stderr


@pytest.mark.slow
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="it takes all addresses for itself")
@pytest.mark.parametrize("room", [1, 2, 4, 8, 16, 32])
def test_where_there_is_no_memory_it_says_so(room: int) -> None:
    code = f"""
import resource
from array import array
from rageval.kernel import kernel
qrels = b"".join(b"q%d n%d d%d 1\\n" % (n // 50, n % 3, n) for n in range(400_000))
run = b"".join(b"q%d 0 d%d 1 1 t\\n" % (n // 50, n) for n in range(400_000))
limits = [2**40, 2**40]
small = kernel.qrels_new(1, bytes(16), *limits, 9, False)
kernel.qrels_feed(small, qrels)
kernel.qrels_end(small)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {room} * 2**18,) * 2)
def attempt(new, feed, end, text):
    try:
        reader = new()
        assert feed(reader, text) == 0
        end(reader)
    except MemoryError:
        print("none")
    else:
        print("enough")
def new_qrels(): return kernel.qrels_new(1, bytes(16), *limits, 9, False)
def new_join(): return kernel.join_new(small, -1, array("i", [1]), *limits, False)
attempt(new_qrels, kernel.qrels_feed, kernel.qrels_end, qrels)
attempt(new_join, kernel.join_feed, kernel.join_end, run)
def cut(_, text): return kernel.columns(text, 6, 4, *limits, False) is None
attempt(list, cut, list, run)
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert process.returncode == 0, process.stderr
    assert set(process.stdout.split()) <= {"none", "enough"}
    if room == 1:
        assert "none" in process.stdout
