"""What the page about scale shows runs, and its engines give the same bits."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rageval
from rageval.parallel import Divided
from test_parallel import MEASURES, QRELS, lines, numbers
from test_readme import ROOT, blocks

PAGE = (ROOT / "docs/scale.md").read_text(encoding="utf-8")


class Rows(list[Any]):
    """A distributed collection of Spark, as far as the page uses one."""

    def map(self, function: Callable[[Any], Any]) -> Rows:
        return Rows(map(function, self))

    def collect(self) -> list[Any]:
        return list(self)


def context() -> Any:
    def parallelize(units: Iterable[Any], slices: int) -> Rows:
        return Rows(units)

    return SimpleNamespace(broadcast=lambda value: SimpleNamespace(value=value), parallelize=parallelize)


def ray() -> Any:
    def remote(task: Callable[..., Any]) -> Any:
        return SimpleNamespace(remote=lambda sent, unit: task(sent[0], unit))

    return SimpleNamespace(put=lambda thing: [thing], get=lambda thing: thing, remote=remote)


@pytest.mark.slow
def test_the_code_on_the_page_and_its_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setitem(sys.modules, "ray", ray())
    shown: dict[str, Any] = {}
    for block in blocks("python", PAGE):
        exec(block, shown)
    assert shown["scores"]["alpha_ndcg@10"].value > 0
    path = tmp_path / "run"
    path.write_text("".join(lines(60)))
    evaluator = rageval.Evaluator(MEASURES, QRELS)
    expected = numbers(evaluator.evaluate(path))
    for engine in (shown["OnRay"](), shown["OnSpark"](context())):
        assert [numbers(scores) for scores in shown["scored"](evaluator, [path] * 64, engine)] == [
            expected
        ] * 64


@pytest.mark.parametrize("name", ["ray", "pyspark"])
@pytest.mark.filterwarnings("default")  # of engines' own
def test_the_engines_on_the_page_if_they_are_installed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = pytest.importorskip(name)
    monkeypatch.chdir(ROOT)
    shown: dict[str, Any] = {}
    for block in blocks("python", PAGE):
        exec(block, shown)
    path = tmp_path / "run"
    path.write_text("".join(lines(60)))
    evaluator = rageval.Evaluator(MEASURES, QRELS)
    if name == "ray":
        installed.init(num_cpus=2, include_dashboard=False)
        engine, end = shown["OnRay"](), installed.shutdown
    else:
        context = installed.SparkContext("local[2]")
        engine, end = shown["OnSpark"](context), context.stop
    try:
        results = list(shown["scored"](evaluator, [path] * 64, engine))
        parts = evaluator.evaluate(Divided("run", None, path, workers=engine, smallest=1))
    finally:
        end()
    assert [numbers(scores) for scores in [*results, parts]] == [numbers(evaluator.evaluate(path))] * 65
