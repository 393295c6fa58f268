"""The plain reader by the line and by the chunk, and the two readers: nobody can tell them apart."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import kernel_files as files
import rageval
from rageval.cli import main
from rageval.errors import InputError
from rageval.files import trec
from rageval.files.opening import DEFAULT, File, Limits, _refuse_bom, with_limits
from rageval.files.trec import QRELS, RUN, LineForm, Reading, Text, _parse_score, _read_lines, grade_of
from rageval.kernel import kernel
from rageval.scoring import qrels, sources
from rageval.scoring.runs import EVERYTHING, View
from rageval.scoring.sources import Joining

pytestmark = pytest.mark.scoring
ALL = (sources, qrels, trec)
MANY = settings(max_examples=int(os.environ.get("TWO_READERS", settings().max_examples)))
needed = pytest.mark.skipif(kernel is None, reason="the compiled part is not in use")


def outcome(read: Any) -> Any:
    try:
        return read()
    except InputError as error:
        return str(error)


@contextmanager
def plain() -> Iterator[None]:
    """Meanwhile, nothing is compiled."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ALL:
            patch.setattr(module, "kernel", None)
        yield


def line_by_line(text: bytes, kind: LineForm, reading: Reading, limits: Limits) -> Any:
    _refuse_bom(text, "f", 7)
    lines = enumerate(text.split(b"\n"), 7)
    numbers, rows = _read_lines(lines, kind, "f", reading.comments, limits, bool(reading.tabbed))
    read = _parse_score if kind is RUN else lambda word: grade_of(word, limits.grade)
    columns = [list(column) for column in zip(*rows, strict=True)]
    if columns:
        columns[kind.number] = list(map(read, columns[kind.number]))  # type: ignore[arg-type]
    return numbers, columns


def as_a_whole(text: bytes, kind: LineForm, reading: Reading, limits: Limits = DEFAULT) -> Any:
    numbers, columns = kind.stretch(Text(text, 7), with_limits("f", limits), reading)
    return list(numbers), [list(column) for column in columns]


def same(kind: LineForm, text: bytes, reading: Reading, limits: Limits) -> None:
    expected = outcome(lambda: line_by_line(text, kind, reading, limits))
    assert outcome(lambda: as_a_whole(text, kind, reading, limits)) == expected
    with plain():
        assert outcome(lambda: as_a_whole(text, kind, reading, limits)) == expected


@pytest.mark.slow
@MANY
@given(st.randoms(use_true_random=False), st.sampled_from(["error", "skip", "data"]))
def test_a_stretch_is_read_as_its_lines_are(rng: random.Random, comments: str) -> None:
    (judged, run), tabbed = files.drawn_files(rng)
    limits = Limits(id=rng.choice((6, 1024)), line=rng.choice((20, 2**20)), grade=rng.choice((1, 10**6)))
    for kind, text, by_tabs in ((QRELS, judged, tabbed[0]), (RUN, run, tabbed[1])):
        for content in (text, files.mutated(rng, text), text.replace(b"q", b"#", 1)):
            same(kind, content, Reading(comments, by_tabs), limits)


ORDINARY = [
    b"q Q0 d 1 2.0 t\n",
    b"q\tQ0\td\t1\t2.0\tt\n",
    b"q  Q0   d 1 2.0 t\r\n q Q0 e 2 1.0 t\r\n",
    b"q\tQ0\ta doc\t1\t2.0\tmy tag\n",
    "q Q0 dé 1 1e-3 t".encode(),
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_lines_are_never_read_one_by_one(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(trec, "_read_lines")
    assert as_a_whole(text, RUN, Reading(tabbed=b"\t" in text))[0]


def drawn(rng: random.Random, folder: Path, mutate: bool) -> tuple[File, File, Reading]:
    texts, _ = files.drawn_files(rng)
    paths = folder / "qrels", folder / "run"
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(files.mutated(rng, text) if mutate and rng.random() < 0.7 else text)
    limits = Limits(id=rng.choice((6, 1024, 1024)), grade=rng.choice((1, 10**6, 10**6)))
    judged, run = (File(path, limits) for path in paths)
    return judged, run, Reading(rng.choice(("error", "error", "skip", "data")))


def columns_of(path: Path, reading: Reading, floor: int) -> Any:
    """What a reader makes of judgements, or what it says of them."""
    outcome_of_file = outcome(lambda: sources.read_qrels(path, reading=reading, floor=floor))
    if isinstance(outcome_of_file, str):
        return outcome_of_file
    columns = [list(column) if hasattr(column, "__len__") else column for column in outcome_of_file._columns]
    return (
        columns,
        list(outcome_of_file),
        outcome_of_file.looks_plain,
        [outcome_of_file.share_below(rel) for rel in (0, 1, 2)],
    )


def joined_of(judged: Path, run: Path, reading: Reading, rng: random.Random) -> Any:
    """What a run comes to beside judgements, or what is said of it."""
    floor, deepest = rng.choice((EVERYTHING, 1, 2)), rng.choice((None, 1, 3))
    view = View(depth=rng.choice((None, None, 2)), judged_only=deepest is None and rng.random() < 0.3)

    def join() -> Any:
        read = sources.read_qrels(judged, reading=reading, floor=floor)
        source = sources.source_of_run("run", run, reading, rng.choice((None, "first")))
        joined = source.join(Joining(read, view, (1, 3), deepest))
        rows = [(list(r.ranks), list(r.documents), r.retrieved) for r in joined.rankings]
        return joined.queries, joined.lengths, rows, joined.notes, joined.notes.judged

    return outcome(join)


@pytest.mark.slow
@needed
@pytest.mark.parametrize("mutate", [False, True])
@MANY
@given(seed=st.integers(0, 2**32))
def test_the_two_readers_find_the_same_and_say_the_same(
    tmp_path_factory: pytest.TempPathFactory, mutate: bool, seed: int
) -> None:
    rng, folder = random.Random(seed), tmp_path_factory.mktemp("files")
    judged, run, reading = drawn(rng, folder, mutate)
    floor = rng.choice((EVERYTHING, 0, 1, 2))
    compiled = columns_of(judged, reading, floor), joined_of(judged, run, reading, random.Random(seed))
    with plain():
        assert (
            columns_of(judged, reading, floor),
            joined_of(judged, run, reading, random.Random(seed)),
        ) == compiled


@pytest.mark.slow
@needed
@pytest.mark.parametrize("mutate", [False, True])
@MANY
@given(seed=st.integers(0, 2**32))
def test_the_command_prints_the_same_and_ends_the_same(
    tmp_path_factory: pytest.TempPathFactory, mutate: bool, seed: int
) -> None:
    rng, folder = random.Random(seed), tmp_path_factory.mktemp("files")
    judged, run, reading = drawn(rng, folder, mutate)
    options = ["--comments", reading.comments, *rng.choice(([], ["--nothing-judged", "zero", "-q"]))]
    words = [str(run), str(judged), "-m", MEASURES, *options]

    def ended() -> tuple[int, str, str]:
        result = CliRunner().invoke(main, words, catch_exceptions=False)
        return result.exit_code, result.stdout, result.stderr

    compiled = ended()
    with plain():
        assert ended() == compiled


MEASURES = "alpha_ndcg@3, coverage, recall@2, ndcg@5, ap, rr, judged@3"


@pytest.mark.slow
@needed
@given(st.randoms(use_true_random=False))
def test_dicts_and_files_give_the_same_bits_with_and_without_it(rng: random.Random) -> None:
    judged = {
        f"q{q}": {
            f"n {n}": {f"d {rng.randrange(9)}": rng.choice((-1, 0, 1, 2)) for _ in range(4)} for n in range(3)
        }
        for q in range(rng.randint(1, 4))
    }
    run = {f"q{q}": {f"d {d}": rng.choice((1.0, 2.0, rng.random())) for d in range(9)} for q in range(1, 5)}
    expected = values(run, judged)
    with plain():
        assert values(run, judged) == expected


def values(run: Any, judged: Any) -> Any:
    def score() -> list[list[float]]:
        scores = rageval.evaluate(MEASURES, run, judged, nothing_judged="zero").values()
        return [[x for x in score.by_query.values() if not math.isnan(x)] for score in scores]

    return outcome(score)


@pytest.mark.parametrize("limit", [1, 2, 5, 8, 33])
@pytest.mark.parametrize("part", [b" ", b"\t", b" \t "])
def test_the_plain_reader_sees_an_id_that_is_too_long_wherever_it_stands(limit: int, part: bytes) -> None:
    reading = Reading(tabbed=b"\t" in part)
    for before in range(2 * limit + 1):
        for length in {1, limit, limit + 1, 2 * limit, 3 * limit + 1}:
            doc = b"d" * length
            if b"\t" in part and length > 2:
                doc = b"d" + b" " * (length - 2) + b"d"  # between tabs blanks are part of an id
            rows = (
                (b"q", b"Q0", b"a", b"1", b"2.5", b"t" * (before + 1)),
                (b"q", b"Q0", doc, b"2", b"1.5", b"t"),
            )
            text = b"".join(part.join(row) + b"\n" for row in rows)
            columns = RUN.ordinary(text, reading, Limits(id=limit))
            assert (columns is None) == (length > limit), (before, length)


@needed
@pytest.mark.parametrize(
    "text",
    [
        *(
            *(b"\n", b"q 0 d 1 1 t\n\n", b"q 0 d 1 nan t\n", b"q 0 d 1 1\n", b"q 0 d 1 1 t x\n"),
            b"# 0 d 1 1 t\n",
        ),
        *(b"q 0 long 1 1 t\n", b"q 0 d 1 1 t\r", b"q 0 \xff 1 1 t\n"),
    ],
)
def test_of_what_is_odd_nothing_is_cut(text: bytes) -> None:
    assert kernel.columns(text, 6, 4, 3, 99, False) is None


@needed
def test_what_repeats_is_one_object_and_scores_are_numbers() -> None:
    number = "1" + "0" * 30  # so long that Python reads it
    columns = kernel.columns(f"q 0 d 1 2.5 t\nq 0 e 2 {number} t\n".encode(), 6, 4, 99, 99, False)
    assert columns == [[b"q"] * 2, [b"0"] * 2, [b"d", b"e"], [b"1", b"2"], [2.5, float(number)], [b"t"] * 2]
    assert columns[0][0] is columns[0][1]
    assert kernel.columns(b"q n d 1\n", 4, -1, 99, 99, False) == [[b"q"], [b"n"], [b"d"], [b"1"]]
    with pytest.raises(ValueError, match="1 to 6 fields"):
        kernel.columns(b"q", 7, 4, 99, 99, False)
