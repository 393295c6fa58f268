"""Columns of ids: hashing, equality and order agree with Python's own, whatever the hash does."""

from __future__ import annotations

import random

import numpy as np
import pytest

import rageval
from rageval.tables import ids as ids_module
from rageval.tables.ids import (
    Ids,
    are_digits,
    byte_order,
    changes,
    distinct,
    grouped,
    hashes,
    ids_of,
    joined,
    keyed,
    numbered,
    numeric_keys,
    same,
)
from rageval.tables.index import KeyIndex
from rageval.tables.names import Names

PIECES = ["a", "b", "ä", "\x00", "0", "prefix-of-eight-", "z" * 8, "z" * 15, "Ω"]


def random_names(rng: random.Random, count: int) -> list[str]:
    return ["".join(rng.choices(PIECES, k=rng.randrange(1, 6))) for _ in range(count)]


@pytest.mark.parametrize("seed", range(20))
def test_columns_behave_as_lists_of_bytes(seed: int) -> None:
    rng = random.Random(seed)
    names = random_names(rng, rng.randrange(1, 60))
    raw = [name.encode() for name in names]
    column = ids_of(names)
    assert column.to_bytes() == raw
    assert [column[row] for row in range(len(column))] == raw
    rows = np.array([rng.randrange(len(raw)) for _ in range(10)])
    assert column.take(rows).to_bytes() == column.compact(rows).to_bytes() == [raw[row] for row in rows]
    assert joined([column.take(rows), column]).to_bytes() == [raw[row] for row in rows] + raw
    assert changes(column).tolist() == [at == 0 or raw[at] != raw[at - 1] for at in range(len(raw))]
    assert same(column.take(rows), column.take(rows[::-1])).tolist() == [
        raw[a] == raw[b] for a, b in zip(rows, rows[::-1], strict=True)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_byte_order_sorts_as_python_does(seed: int) -> None:
    rng = random.Random(seed)
    names = random_names(rng, 80)
    group = [rng.randrange(3) for _ in names]
    order = byte_order(ids_of(names), np.array(group)).tolist()
    assert order == sorted(range(len(names)), key=lambda row: (group[row], names[row].encode()))


def test_equal_ids_have_equal_hashes_and_others_practically_never() -> None:
    rng = random.Random(1)
    names = sorted(set(random_names(rng, 5000)))
    hashed = hashes(ids_of(names))
    assert len(set(hashed.tolist())) == len(names)
    shuffled = names[:]
    rng.shuffle(shuffled)
    again = dict(zip(shuffled, hashes(ids_of(shuffled)).tolist(), strict=True))
    assert [again[name] for name in names] == hashed.tolist()
    one, two = keyed(hashed, np.zeros(len(names), np.int64)), keyed(hashed, np.ones(len(names), np.int64))
    assert not set(one.tolist()) & set(two.tolist())


def test_the_index_finds_every_equal_key() -> None:
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**64, 1000, dtype=np.uint64)
    keys[500:510] = keys[3]
    index = KeyIndex(keys)
    wanted = np.concatenate((keys[:20], rng.integers(0, 2**64, 500, dtype=np.uint64)))
    rows, positions = index.find(wanted)
    found = set(zip(rows.tolist(), positions.tolist(), strict=True))
    assert found == {(r, p) for r in range(len(wanted)) for p in range(len(keys)) if wanted[r] == keys[p]}
    assert len(KeyIndex(keys[:0]).find(wanted)[0]) == 0


@pytest.mark.parametrize("seed", range(5))
def test_names_number_ids_in_order_of_appearance(seed: int) -> None:
    rng = random.Random(seed)
    names = Names()
    code: dict[str, int] = {}
    for _ in range(4):
        some = rng.choice([random_names(rng, 300), ["x"] * 50 + ["y"] * 50])
        assert names.codes(ids_of(some)).tolist() == [code.setdefault(name, len(code)) for name in some]
    assert names.to_str() == list(code)
    assert names.find(b"never seen") == -1


def test_numeric_keys_sort_as_numbers() -> None:
    numbers = [0, 7, 9, 10, 11, 99, 100, 12345678, 99999999]
    key = numeric_keys(ids_of(list(map(str, numbers))))
    assert key.tolist() == sorted(key.tolist())
    assert are_digits(key)
    assert not are_digits(numeric_keys(ids_of(["1.5"])))
    assert not are_digits(numeric_keys(ids_of(["123456789"])))


def test_distinct_and_numbered() -> None:
    values = np.array([5, 3, 5, 9])
    assert distinct(values).tolist() == [3, 5, 9]
    assert numbered(values).tolist() == [1, 0, 1, 2]
    assert distinct(values[:0]).tolist() == []


@pytest.mark.parametrize("differing", [2**63, 1])
def test_grouped_is_a_stable_sort(differing: int) -> None:
    hashed = np.array([5, 5 + differing, 5, 7, 5 + differing, 5], np.uint64)
    order = grouped(hashed).tolist()
    assert sorted(order) == list(range(6))
    values = hashed[order].tolist()
    assert order == sorted(order, key=lambda row: (values.index(hashed[row]), row))


def test_a_hash_that_always_collides_changes_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    docs = [f"document-number-{at}" for at in range(30)]
    qrels = {
        f"q{q}": {f"n{n}": {doc: rng.randrange(2) for doc in rng.sample(docs, 12)} for n in range(4)}
        for q in range(5)
    }
    run = {f"q{q}": {doc: rng.randrange(8) / 4 for doc in rng.sample(docs, 20)} for q in range(5)}
    measures = "alpha_ndcg@5, recall@10, ap, judged@10, coverage@3, ndcg"
    right = [score.by_query for score in rageval.evaluate(measures, run, qrels).values()]

    def constant(column: Ids) -> np.ndarray:
        return np.zeros(len(column), np.uint64)

    for module in ("rageval.tables.run", "rageval.tables.qrels", "rageval.tables.names"):
        monkeypatch.setattr(f"{module}.hashes", constant)
    for module in ("rageval.tables.qrels", "rageval.tables.checks", "rageval.scoring.joining"):
        monkeypatch.setattr(f"{module}.keyed", lambda hashed, group: np.zeros(len(group), np.uint64))
    assert [score.by_query for score in rageval.evaluate(measures, run, qrels).values()] == right
    with pytest.raises(rageval.InputError, match="ranked twice"):
        rageval.Run.from_records([{"query_id": "q", "doc_id": d, "score": 1.0} for d in ("a", "b", "a")])
    assert ids_module.WORD == 8
