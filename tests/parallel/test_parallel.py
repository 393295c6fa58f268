"""Scoring in parts: any split, any engine, the same numbers to the last bit, and nothing done twice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rageval
from rageval.errors import InputError, UsageError
from rageval.files.opening import FileChanged
from rageval.files.parts import Grain, _Span, _span_opened, cut
from rageval.files.trec import PLAIN, Reading
from rageval.parallel import Divided, Forked, OnExecutor, scored
from rageval.parallel._divided import SMALLEST, RunPart
from rageval.parallel._engines import _unpacked
from rageval.scoring.sources import RunSource

MEASURES = "alpha_ndcg@3, alpha_ndcg, coverage@2, strec, recall@2, ndcg, ap, rr, map_ia, nrbp"


class Here:
    """An engine that does its work in this process, and remembers what it was given."""

    width, inherits = 3, True

    def __init__(self) -> None:
        self.units: list[Any] = []

    def results(self, task: Callable[..., Any], shared: Any, units: Sequence[Any]) -> Iterator[Any]:
        for unit in units:
            self.units.append(unit)
            yield task(shared, unit)


def numbers(scores: rageval.Scores) -> list[Any]:
    """Everything of a result, doubles as hex."""
    notes = scores.notes
    numbers_there: list[Any] = [scores.run, repr(notes)]
    for score in scores.scores:
        numbers_there += [score.signature, score.value.hex(), score.missing, list(score.query_ids)]
        numbers_there.append([value.hex() for value in score.values.tolist()])
    return numbers_there


def lines(queries: int, depth: int = 7) -> list[str]:
    """A run with ties, queries of different lengths, and some that nobody judged."""
    return [
        f"q{query} Q0 d{(query * 5 + number * 3) % 11} {number} {(depth - number) // 2} t\n"
        for query in range(queries)
        for number in range(1 + (query * 3) % depth)
    ]


QRELS = {
    f"q{number}": {f"n{n}": {f"d{(number + n * 4) % 11}": 1 + n % 2} for n in range(3)}
    for number in range(0, 60, 2)
}


def divided(path: Path, engine: Any, smallest: int = 1, **options: Any) -> Divided:
    return Divided(path.name, None, path, workers=engine, smallest=smallest, **options)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sets(st.integers(0, 40)), st.sampled_from([{}, {"intersection": True}, {"judged_only": True}]))
def test_any_split_gives_the_same_bits(tmp_path: Path, cuts: set[int], rules: dict[str, Any]) -> None:
    rows = lines(40)
    path = tmp_path / "run"
    path.write_text("".join(rows))
    evaluator = rageval.Evaluator(MEASURES, QRELS, **rules)
    starts = [
        0,
        *(
            position
            for position in range(1, len(rows))
            if rows[position].split()[0] != rows[position - 1].split()[0]
        ),
    ]
    position = [sum(map(len, rows[: starts[cut]])) for cut in sorted(cuts & set(range(1, len(starts))))]
    whole = cut(path, PLAIN, Grain(1, 1, 10**9))[0]

    class Cut(Divided):
        def parts(self, engine: Any) -> list[RunPart]:
            ends = sorted({0, *position, whole.end})
            spans = [_Span(path, *two, whole.stamp) for two in pairwise(ends)]
            return [RunPart(span, PLAIN, None) for span in spans]

    split = evaluator.evaluate(Cut("run", None, path, workers=Here()))
    assert numbers(split) == numbers(evaluator.evaluate(path))


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("most", [2, 3, 7, 50, 1000])
def test_spans_cover_the_file_and_part_no_query(tmp_path: Path, most: int, ends: str) -> None:
    path = tmp_path / "run"
    path.write_text("".join(lines(40)).replace("\n", ends), newline="")
    spans = cut(path, PLAIN, Grain(most, 1, 10**9))
    assert len(spans) > 1
    parts = []
    for span in spans:
        with _span_opened(span) as stream:
            parts.append(stream.read())
    assert b"".join(parts) == path.read_bytes()
    queries = [{line.split()[0] for line in part.splitlines()} for part in parts]
    assert sum(map(len, queries)) == len(set().union(*queries))


def test_no_span_begins_with_what_means_something_at_the_start_of_a_file(tmp_path: Path) -> None:
    names = ["a", "BZh91AY&SY", "c"]
    path = tmp_path / "run"
    path.write_text("".join(f"{name} Q0 d{number} 1 1 t\n" for name in names for number in range(20)))
    spans = cut(path, PLAIN, Grain(100, 1, 10**9))
    begins = [path.read_bytes()[span.begin :][:4] for span in spans]
    assert begins == [b"a Q0", b"c Q0"]
    qrels = {name: {"d3": 1} for name in names}
    engine = Here()
    scores = rageval.Evaluator("rr", qrels).evaluate(divided(path, engine))
    assert numbers(scores) == numbers(rageval.evaluate("rr", path, qrels))
    assert len(engine.units) == 2


def test_a_mark_in_mid_file_is_refused_in_parts_as_in_one_piece(tmp_path: Path) -> None:
    """No part begins with it, where it would be taken for that of the file."""
    names = ["a", "\ufeffb", "c"]
    path = tmp_path / "run"
    path.write_text("".join(f"{name} Q0 d{number} 1 1 t\n" for name in names for number in range(20)))
    spans = cut(path, PLAIN, Grain(100, 1, 10**9))
    assert [path.read_bytes()[span.begin :][:4] for span in spans] == [b"a Q0", b"c Q0"]
    for run in (path, divided(path, Here())):
        with pytest.raises(rageval.InputError, match="begins with a byte-order mark"):
            rageval.evaluate("rr", run, {"a": {"d3": 1}})


@pytest.mark.parametrize("content", ["gzip", "one query", "empty"])
def test_what_cannot_be_cut_is_left_whole(tmp_path: Path, content: str) -> None:
    import gzip

    rows = "".join(lines(40)).encode()
    path = tmp_path / "run"
    one = b"".join(b"q Q0 d%d 1 1 t\n" % number for number in range(99))
    path.write_bytes({"gzip": gzip.compress(rows), "one query": one, "empty": b""}[content])
    assert len(cut(path, PLAIN, Grain(4, 1, 10**9))) < 2


def test_comments_between_rows_of_a_query_cut_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text(
        "".join(f"q{number // 9} Q0 d{number} 1 1 t\n# note {number}\n\n" for number in range(90))
    )
    reading = Reading("skip")
    engine = Here()
    evaluator = rageval.Evaluator("rr", {f"q{number}": {f"d{9 * number + 4}": 1} for number in range(10)})
    scores = evaluator.evaluate(divided(path, engine, reading=reading))
    assert numbers(scores) == numbers(evaluator.evaluate(RunSource("run", None, path, reading)))
    assert len(engine.units) == 3  # as wide as the engine, and read once


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["fork", "processes", "spawned", "threads"])
def test_every_engine_gives_the_same_bits(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "run"
    path.write_text("".join(lines(60)))
    evaluator = rageval.Evaluator(MEASURES, QRELS)
    expected = numbers(evaluator.evaluate(path))
    if engine == "fork":
        assert numbers(evaluator.evaluate(divided(path, Forked(2)))) == expected
        return
    pools: dict[str, Callable[[], Any]] = {
        "processes": lambda: ProcessPoolExecutor(2, mp_context=get_context("fork")),
        "spawned": lambda: ProcessPoolExecutor(1, mp_context=get_context("spawn")),
        "threads": lambda: ThreadPoolExecutor(2),
    }
    with pools[engine]() as pool:
        assert numbers(evaluator.evaluate(divided(path, OnExecutor(pool)))) == expected
        several = list(scored(evaluator, [path, path, path], OnExecutor(pool)))
    assert [numbers(scores) for scores in several] == [expected] * 3


def test_an_executor_from_python(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("".join(lines(60)))
    with ThreadPoolExecutor(2) as pool:
        scores = rageval.evaluate(MEASURES, path, QRELS, executor=pool)
        rows = rageval.evaluate(MEASURES, rageval.read_run(path), QRELS, executor=pool)
    assert numbers(scores) == numbers(rows) == numbers(rageval.evaluate(MEASURES, path, QRELS))
    with pytest.raises(UsageError, match="something with submit"):
        rageval.evaluate("rr", path, QRELS, executor=2)


@pytest.mark.parametrize(
    "rules", [{}, {"intent_weights": {"q": {"n": 0.9, "m": 0.1}}}, {"nuggets_in_qrels": False, "rel": 1}]
)
def test_a_run_a_worker_is_known_as_well_as_here(tmp_path: Path, rules: dict[str, Any]) -> None:
    """Also what is judged not relevant, and what nuggets weigh, which the compiled reader keeps apart."""
    for name in ("one", "two"):
        (tmp_path / name).write_text("q Q0 a 1 3 t\nq Q0 b 2 2 t\nq Q0 c 3 1 t\n")
    (tmp_path / "qrels").write_text("q n a 0\nq n b 1\nq m c 1\n")
    asked = "ndcg@3" if "rel" in rules else "alpha_ndcg@3"
    evaluator = rageval.Evaluator(asked, str(tmp_path / "qrels"), **rules)
    runs = [str(tmp_path / name) for name in ("one", "two")]
    here = [evaluator.evaluate(run) for run in runs]
    with ThreadPoolExecutor(2) as pool:
        there = list(scored(evaluator, runs, OnExecutor(pool)))
        parts = evaluator.evaluate(divided(Path(runs[0]), OnExecutor(pool)))
    assert list(map(numbers, there)) == list(map(numbers, here))
    assert numbers(parts) == numbers(here[0])
    assert [scores.judged for scores in there] == [scores.judged for scores in here] == [3, 3]


def test_judgements_are_prepared_once_a_worker_and_rows_stay_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("".join(lines(200)))
    sent: list[int] = []

    class Counting(ThreadPoolExecutor):
        def submit(self, task: Any, parcel: Any, unit: Any) -> Any:  # type: ignore[override]
            import pickle

            sent.append(len(pickle.dumps(unit)))
            return super().submit(task, parcel, unit)

    _unpacked.clear()
    with Counting(8) as pool:
        rageval.Evaluator("rr", QRELS).evaluate(divided(path, OnExecutor(pool)))
    assert len(sent) == 8
    assert max(sent) < 1000
    assert len(_unpacked) == 1


def test_a_measure_that_workers_do_not_know_is_computed_here(tmp_path: Path) -> None:
    @rageval.measure
    def recalled(ranking: rageval.Ranking, *, k: int | None = None) -> float:
        """How many; no worker has heard of it."""
        return len(ranking.hits(k))

    path = tmp_path / "run"
    path.write_text("".join(lines(60)))
    evaluator = rageval.Evaluator(recalled, QRELS)
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        results = [evaluator.evaluate(divided(path, OnExecutor(pool)))]
        results += scored(evaluator, [path, path], OnExecutor(pool))
    assert results[0].scores[0].value > 1
    assert [numbers(scores) for scores in results] == [numbers(evaluator.evaluate(path))] * 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["q1 Q0 d 1 nan t\n"], r"run:\d+: expected a finite decimal number"),
        (["q1 Q0 d 1 1\n"], r"run:\d+: expected 6 columns"),
        (["q900 Q0 d 1 2 t\n", "q900 Q0 d 2 1 t\n"], r"run:\d+: document d is ranked twice"),
        (["q1 Q0 e 1 2 t\n", "q900 Q0 d 2 1 t\n", "q1 Q0 e 1 2 t\n"], r"run:\d+: document e is ranked twice"),
    ],
)
@pytest.mark.parametrize("place", [0.1, 0.9])
def test_what_is_wrong_is_said_as_ever(tmp_path: Path, rows: list[str], message: str, place: float) -> None:
    path = tmp_path / "run"
    good = lines(100)
    position = int(len(good) * place)
    path.write_text("".join([*good[:position], *rows, *good[position:]]))
    evaluator = rageval.Evaluator("rr", QRELS)
    with pytest.raises(InputError, match=message) as alone:
        evaluator.evaluate(path)
    with pytest.raises(InputError) as together:
        evaluator.evaluate(divided(path, Forked(2)))
    assert str(together.value) == str(alone.value)


def test_queries_scattered_over_parts_are_gathered(tmp_path: Path) -> None:
    path = tmp_path / "run"
    rows = lines(40)
    path.write_text("".join(rows[::2] + rows[1::2]))
    engine = Here()
    evaluator = rageval.Evaluator(MEASURES, QRELS)
    assert numbers(evaluator.evaluate(divided(path, engine))) == numbers(evaluator.evaluate(path))
    assert len(engine.units) > 1


def test_a_file_that_changes_meanwhile_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("".join(lines(40)))

    class Appending(Here):
        def results(self, task: Any, shared: Any, units: Sequence[Any]) -> Iterator[Any]:
            for result in super().results(task, shared, units):
                with path.open("a") as file:
                    file.write("q900 Q0 d 1 1 t\n")
                yield result

    with pytest.raises(FileChanged, match="run: changed while it was scored"):
        rageval.Evaluator("rr", QRELS).evaluate(divided(path, Appending()))


def test_a_part_may_be_done_twice(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("".join(lines(40)))
    engine = Here()
    evaluator = rageval.Evaluator("rr", QRELS)
    expected = numbers(evaluator.evaluate(divided(path, engine)))

    class Twice(Here):
        def results(self, task: Any, shared: Any, units: Sequence[Any]) -> Iterator[Any]:
            for unit in units:
                task(shared, unit)
                yield task(shared, unit)

    assert numbers(evaluator.evaluate(divided(path, Twice()))) == expected
    assert str(engine.units[0]).endswith(f"run, bytes 0 to {engine.units[0].stretch.end:,}")


@pytest.mark.slow
def test_more_jobs_print_the_same(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("".join(lines(20_000)).replace("t\n", "t" * 99 + "\n"))
    assert path.stat().st_size > 2 * SMALLEST
    qrels = tmp_path / "qrels"
    qrels.write_text("".join(f"q{number} n{number % 3} d{number % 11} 1\n" for number in range(0, 20_000, 3)))
    words = [sys.executable, "-m", "rageval", "run", "qrels", "-m", MEASURES, "-q", "-p", "17"]
    results = [
        subprocess.run([*words, "-j", jobs], cwd=tmp_path, capture_output=True, text=True, check=True)
        for jobs in ("1", "2")
    ]
    assert (results[0].stdout, results[0].stderr) == (results[1].stdout, results[1].stderr)
