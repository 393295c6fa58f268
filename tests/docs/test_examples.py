"""What the examples are made of: the papers' formulas by hand, and data that its script makes again."""

from __future__ import annotations

import bz2
import importlib.util
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from test_readme import ROOT, run

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Loads an example by name, as a script beside its data would be."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    before = set(sys.modules)

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
        assert spec is not None and spec.loader is not None  # noqa: PT018
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in set(sys.modules) - before:
        if name == "data" or name.startswith("data."):
            del sys.modules[name]


def test_the_files_for_published_tables_are_what_their_script_makes(tmp_path: Path) -> None:
    script = tmp_path / "generate.py"
    script.write_text((EXAMPLES / "data" / "generate_published.py").read_text(encoding="utf-8"))
    assert run([str(script)]).returncode == 0
    files = sorted((tmp_path / "published").iterdir())
    there = sorted((EXAMPLES / "data/published").iterdir())
    assert [path.name for path in files] == [path.name for path in there]
    assert [path.read_bytes() for path in files] == [path.read_bytes() for path in there]


def test_clusters_and_orders_by_hand(example) -> None:  # type: ignore[no-untyped-def]
    example("sentence_ordering")
    orders = sys.modules["data.orders"]
    vectors = orders.bags_of_words(["a b", "c d", "a b b", "c c d", "a a b"])
    clusters = orders.clusters(vectors)
    assert sorted(map(sorted, clusters)) == [[0, 2, 4], [1, 3]]
    nearness = np.array([0.1, 0.9, 0.1, 0.9, 0.1])
    orders_drawn = orders.orders(clusters, nearness, random.Random(0))
    assert sorted(orders_drawn["D nearest first"][0]) == [1, 3]
    assert orders_drawn["C nearest last"] == orders_drawn["D nearest first"][::-1]
    assert sorted(orders_drawn["B largest first"][0]) == [0, 2, 4]
    assert sorted(map(sorted, orders_drawn["A random"])) == [[0, 2, 4], [1, 3]]
    # Of the nearest sentence, not of the mean: 0.8 before 0.5, though the others are at 0.1.
    by_nearest = orders.orders([[0, 2, 4], [1, 3]], np.array([0.1, 0.5, 0.8, 0.5, 0.1]), random.Random(0))
    assert by_nearest["D nearest first"] == [[0, 2, 4], [1, 3]]
    assert orders.ping_pong([1, 2, 3, 4, 5]) == [1, 3, 5, 4, 2]
    inside = orders.within(np.array([1.0, 0.0, 3.0, 0.0, 2.0]), random.Random(0))
    assert inside["B best first"]([0, 2, 4]) == [2, 4, 0]
    assert inside["C visiting"]([4, 0, 2]) == [0, 2, 4]
    assert inside["D aggregation"]([4, 0, 2]) == [4, 0, 2]


def test_the_silhouette_by_hand(example) -> None:  # type: ignore[no-untyped-def]
    example("sentence_ordering")
    orders = sys.modules["data.orders"]
    points = np.array([0.0, 1.0, 5.0])
    distance = np.abs(points[:, None] - points)
    # Of 0: a = 1, b = 5; of 1: a = 1, b = 4; of 5, which is alone: 0.
    expected = ((5 - 1) / 5 + (4 - 1) / 4 + 0) / 3
    assert orders.silhouette(distance, np.array([1, 1, 2])) == pytest.approx(expected)


def test_crags_records_come_packed_as_crag_ships_them(example, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    module = example("crag_records")
    packed = tmp_path / "dev_data.jsonl.bz2"
    packed.write_bytes(bz2.compress((EXAMPLES / "data/crag_records.jsonl").read_bytes()))
    module.main(packed)
    assert capsys.readouterr().out == (EXAMPLES / "expected/crag_records.txt").read_text(encoding="utf-8")


def test_identities_of_trec_rags_records_hold_of_other_files(example, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    module = example("trec_rag_records")
    turned = tmp_path / "turned.jsonl"
    lines = (EXAMPLES / "data/answers/rag24.jsonl").read_text(encoding="utf-8").splitlines()
    turned.write_text("".join(line.replace("heat", "cold") + "\n" for line in lines[::-1]), encoding="utf-8")
    module.main([turned])
    printed = capsys.readouterr().out
    assert "all of an answer has 100% of its sentences; written and read again it is the same: yes" in printed
