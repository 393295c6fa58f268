"""Dicts that the compiled part reads give what the plain reader makes of them, odd as they may be."""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable
from math import log2
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval import kernel as compiled
from rageval.scoring import qrels as judgements
from rageval.scoring import sources
from rageval.scoring.qrels import Qrels
from rageval.scoring.runs import Run

needed = pytest.mark.skipif(compiled.kernel is None, reason="the compiled part is not in use")
IDS: list[Any] = [
    *("a", "b", "c", "1", "d e", "é", "日本", "#h", "\xa0z", "x\x7f", "\ud800x", "a\0", "z" * 50),
    *("", " x", "y ", "\tq", "q\n", 1, 2, 10**20, True, None, 3.5),
]
SCORES: list[Any] = [1.0, 2.0, 0.5, 3, 10**30, 10**400, float("nan"), float("inf"), -1, -0.0, "5", True, None]
GRADES: list[Any] = [0, 1, 2, 3, -1, 1.0, 0.5, 10**6, 10**9, 10**30, "1", True, None]
MEASURES = "alpha_ndcg@3,recall@2,ndcg@2,ndcg,p@1,nrbp,coverage,judged@3,map_ia"
Dicts = dict[Any, Any]


def drawn(rng: random.Random) -> tuple[Dicts, Dicts]:
    """Draw a run and judgements of documents or nuggets; in some of them there is something odd."""
    usual = rng.choice((1.0, 0.97, 0.9))

    def one_of(values: list[Any]) -> Any:
        return rng.choice(values[:4] if rng.random() < usual else values)

    def documents(values: list[Any]) -> Dicts:
        return {one_of(IDS): one_of(values) for _ in range(rng.randrange(6))}

    queries = [one_of(["q1", "q2", "q3", "q4", *IDS]) for _ in range(rng.randrange(1, 4))]
    if rng.random() < 0.5:
        return {query: documents(SCORES) for query in queries}, {
            query: documents(GRADES) for query in queries
        }
    nuggets = ["n1", "n2", "n3", 7, *IDS]
    judged = {query: {one_of(nuggets): documents(GRADES) for _ in range(3)} for query in queries}
    return {query: documents(SCORES) for query in queries}, judged


def values_of(run: Dicts, qrels: Dicts) -> object:
    scores = rageval.evaluate(MEASURES, run, qrels, nothing_judged="zero")
    numbers = [(score.signature, score.query_ids, list(map(repr, score.numbers))) for score in scores.scores]
    return numbers, repr(scores.notes), scores.judged_by_query, scores.remarks


def content_of(_: Dicts, qrels: Dicts) -> object:
    read = qrels if isinstance(qrels, Qrels) else Qrels.from_dict(qrels)
    numbers = [read.numbers(index, [b"a", b"d e", b"none"]) for index in range(len(read.query_ids))]
    return list(read), [read.nuggets(query) for query in read.query_ids], read.declared, numbers


def rows_of(mapping: Dicts, *names: str) -> list[Dicts]:
    """The same as records; often in an order that no dict has, and at times with a row twice."""
    levels = [(query, inner) for query, inner in mapping.items()]
    rows = [
        {"query_id": query, names[0]: key, "relevance": value}
        for query, inner in levels
        for key, value in inner.items()
        if not isinstance(value, dict)
    ]
    for query, inner in levels:
        for nugget, docs in inner.items():
            if isinstance(docs, dict):
                rows += [
                    {"query_id": query, names[0]: doc, "nugget_id": nugget, "relevance": grade}
                    for doc, grade in docs.items()
                ]
    rng = random.Random(len(rows))
    if rng.random() < 0.5:
        rng.shuffle(rows)
    return rows + rows[: rng.random() < 0.1]


def values_of_rows(run: Dicts, qrels: Dicts) -> object:
    records = [
        {"query_id": row["query_id"], "doc_id": row["doc_id"], "score": row["relevance"]}
        for row in rows_of(run, "doc_id")
    ]
    judged = rows_of(qrels, "doc_id")
    return *values_of(records, judged), content_of({}, Qrels.from_records(judged))  # type: ignore[arg-type,misc]


@pytest.mark.slow
@needed
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("look", "draws"), [(values_of, 70), (content_of, 400), (values_of_rows, 200)])
def test_both_readers_find_the_same_or_refuse_it_alike(
    look: Callable[[Dicts, Dicts], object], draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, refused = random.Random(8), 0
    for _ in range(draws):
        run, qrels = drawn(rng)
        outcomes: list[object] = []
        for kernel in (compiled.kernel, None):
            monkeypatch.setattr(sources, "kernel", kernel)
            monkeypatch.setattr(judgements, "kernel", kernel)
            try:
                outcomes.append(look(run, qrels))
            except rageval.RagevalError as error:
                outcomes.append((type(error), str(error)))
                refused += 1
        assert outcomes[0] == outcomes[1], (run, qrels)
    assert draws / 10 < refused < draws  # each of them twice


@needed
def test_usual_dicts_are_read_by_the_compiled_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Qrels, "_from_unusual_dict", None)
    monkeypatch.setattr(Run, "queries", None)
    scores = rageval.evaluate("recall@2", {1: {"a": 2, "é x": 1.5}}, {"1": {"n": {"a": 1}, 7: {"é x": 2}}})
    assert scores["recall@2"].value == 1.0


def test_judgements_that_only_the_plain_reader_takes_are_there_for_a_run_in_a_file(tmp_path: Path) -> None:
    """Half a surrogate pair has no bytes, and grades of a half are no whole numbers."""
    (tmp_path / "run").write_text("q Q0 a 1 1.0 t\n", encoding="utf-8")
    scores = rageval.evaluate("ndcg", tmp_path / "run", {"q": {"\ud800": 1.0, "a": 0.5}})
    assert scores["ndcg"].value == pytest.approx(0.5 / (1 + 0.5 / log2(3)))


@needed
def test_what_is_no_dict_or_comes_after_the_end_is_refused() -> None:
    assert compiled.kernel is not None
    handle = compiled.kernel.qrels_new(1, bytes(16), 99, 99, 9, True)
    with pytest.raises(TypeError):
        compiled.kernel.qrels_add(handle, "q", "n", [("a", 1)])
    assert compiled.kernel.qrels_add(handle, "q", "n", {"a": 1, "b": 0}) == 0
    compiled.kernel.qrels_end(handle)
    with pytest.raises(RuntimeError, match="at its end"):
        compiled.kernel.qrels_add(handle, "q", "n", {"a": 1})
    join = compiled.kernel.join_new(handle, -1, array("i"), 99, 99, True)
    with pytest.raises(TypeError):
        compiled.kernel.join_add(join, "q", None)
    assert compiled.kernel.join_add(join, "q", {"a" * 100: 1.0}) == 1  # an id above the limit
    with pytest.raises(RuntimeError, match="a code other than 0"):
        compiled.kernel.join_add(join, "q", {"a": 1.0})
