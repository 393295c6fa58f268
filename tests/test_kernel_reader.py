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
from kernel_files import ODD, Asked
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


NOT_UTF8 = (
    b"\x80 \xc3 \xff \xbf \xe2\x82 \xc0\x80 \xc1\xbf \xe0\x80\x80 \xed\xa0\x80 \xf0\x8f\xbf\xbf"
).split()
NOT_UTF8 += b"\xf4\x90\x80\x80 \xf5\x80\x80\x80 \xf8\x88\x80\x80\x80 \xe2\x82\x41 \xc3\xc3".split()
NO_SCORES = b"nan inf -inf 1e309 -1e999 . - + 1e 1e+ e1 .e1 1_0 0x1 1.2.3 --1 +-1 1f 1e1.0 \xd9\xa3".split()
NO_SCORES.append(b"9" * 400)


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
