"""The second column of judgements: a nugget, or a number that means something else."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rageval
from rageval.cli import main
from rageval.datasets.catalogue import all_datasets, benchmarks
from rageval.datasets.dataset import _read_foreign, own
from rageval.errors import InputError
from rageval.measures import builtin
from rageval.records import Qrel
from rageval.trajectories import read_trajectories

# Of two assessors or rounds, 1 and 2; no document stands under both.
ROUNDS = [
    ("q1", "1", "a", 1),
    ("q1", "2", "b", 1),
    ("q1", "2", "c", 0),
    ("q2", "1", "d", 2),
    ("q2", "2", "e", 1),
]
# Documents that support several nuggets, or nuggets that are no numbers.
NUGGETS = {
    "two nuggets of one document": [("q1", "1", "a", 1), ("q1", "2", "a", 0), ("q1", "2", "b", 1)],
    "names": [("q1", "n1", "a", 1), ("q1", "n2", "b", 1)],
}
RUN = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"x": 2.0, "e": 1.0}}
OF_NUGGETS = sorted(name for name, names in builtin().items() if names.wants_nuggets)
WITHOUT_K = {"map_ia", "nrbp", "nnrbp", "nugget_gain"}
LOOKS = "--nuggets-in-qrels no"


def qrels_file(folder: Path, rows: list[tuple[Any, ...]]) -> str:
    path = folder / "qrels"
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
    return str(path)


def run_file(folder: Path) -> str:
    path = folder / "run"
    path.write_text(
        "".join(
            f"{q} Q0 {d} {rank} {s} t\n"
            for q, docs in RUN.items()
            for rank, (d, s) in enumerate(docs.items(), 1)
        )
    )
    return str(path)


def steps_file(folder: Path) -> str:
    path = folder / "steps.jsonl"
    steps = [{"query_id": q, "run_id": "t", "kind": "search", "docs": list(docs)} for q, docs in RUN.items()]
    path.write_text("".join(json.dumps(step) + "\n" for step in steps))
    return str(path)


def rageval_says(folder: Path, rows: list[tuple[Any, ...]], *words: str) -> Result:
    measure = builtin()[words[1].partition("@")[0].partition(",")[0]]
    systems = (steps_file if measure.argument == "Trajectory" else run_file)(folder)
    return CliRunner().invoke(main, [systems, qrels_file(folder, rows), *words], prog_name="rageval")


@pytest.mark.parametrize("measure", OF_NUGGETS)
def test_measures_of_nuggets_warn_where_the_column_looks_plain(measure: str, tmp_path: Path) -> None:
    asked = measure if measure in WITHOUT_K else f"{measure}@10"
    result = rageval_says(tmp_path, ROUNDS, "-m", asked)
    assert result.exit_code == 0, result.output
    assert result.stderr.count(LOOKS) == 1
    assert LOOKS not in rageval_says(tmp_path, ROUNDS, "-m", asked, "--nuggets-in-qrels", "yes").stderr


@pytest.mark.parametrize("rows", NUGGETS.values(), ids=NUGGETS)
def test_nuggets_are_not_suspected(rows: list[tuple[Any, ...]], tmp_path: Path) -> None:
    assert LOOKS not in rageval_says(tmp_path, rows, "-m", "alpha_ndcg@10").stderr


@pytest.mark.some(2)
@pytest.mark.parametrize("column", ["0", "Q0"])
def test_judgements_that_name_no_nugget_are_refused(column: str, tmp_path: Path) -> None:
    plain = [("q1", column, "a", 1), ("q1", column, "b", 1)]
    for measure in OF_NUGGETS:
        asked = measure if measure in WITHOUT_K else f"{measure}@10"
        result = rageval_says(tmp_path, plain, "-m", asked)
        assert result.exit_code == 2, result.output
        assert result.stderr.startswith(f"rageval: {asked}: needs nuggets")
        is_of_steps = builtin()[measure].argument == "Trajectory"
        run: Any = read_trajectories(steps_file(tmp_path))["t"] if is_of_steps else RUN
        with pytest.warns(UserWarning, match="names none"):
            rageval.evaluate(asked, run, {"q1": {"a": 1, "b": 1}})
        assert rageval_says(tmp_path, plain, "-m", asked, "--nuggets-in-qrels", "no").exit_code == 0


@pytest.mark.parametrize(
    "measure", ["alpha_ndcg@10", "coverage@2", "nerr_ia@10", "ndcg@10", "recall@1", "judged@3"]
)
def test_no_is_as_if_the_column_held_0(measure: str, tmp_path: Path) -> None:
    plain = [(query, "0", doc, grade) for query, _, doc, grade in ROUNDS]
    (tmp_path / "plain").mkdir()
    no = "--nuggets-in-qrels", "no"
    expected = rageval_says(tmp_path / "plain", plain, "-m", measure, "-q", *no).stdout
    assert rageval_says(tmp_path, ROUNDS, "-m", measure, "-q", "--nuggets-in-qrels", "no").stdout == expected
    frame = [Qrel(query, doc, grade, nugget) for query, nugget, doc, grade in ROUNDS]
    given = rageval.evaluate(measure, RUN, frame, nuggets_in_qrels=False)[measure]
    file = qrels_file(tmp_path, plain)
    other = rageval.evaluate(measure, RUN, file, nuggets_in_qrels=False)[measure]
    assert given.by_query == other.by_query
    assert "nuggets_in_qrels:no" in given.signature


def test_python_warns_once_and_obeys() -> None:
    frame = [Qrel(query, doc, grade, nugget) for query, nugget, doc, grade in ROUNDS]
    with pytest.warns(UserWarning, match="nuggets_in_qrels=False"):
        rageval.evaluate("alpha_ndcg@10", RUN, frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for quiet in (True, False):
            rageval.evaluate("alpha_ndcg@10", RUN, frame, nuggets_in_qrels=quiet)


def test_what_is_called_a_nugget_is_one() -> None:
    nested = {"q1": {"1": {"a": 1}, "2": {"b": 1}}}
    called = [{"query_id": "q1", "doc_id": doc, "relevance": 1, "nugget_id": n} for doc, n in ("a1", "b2")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for qrels in (nested, called):
            rageval.evaluate("alpha_ndcg@10", RUN, qrels)


def test_grades_that_differ_are_an_error_where_there_are_no_nuggets(tmp_path: Path) -> None:
    rows = NUGGETS["two nuggets of one document"]
    result = rageval_says(tmp_path, rows, "-m", "rr", "--nuggets-in-qrels", "no")
    assert result.exit_code == 2
    assert "document 'a' of query 'q1' has the grades 0 and 1" in result.stderr
    with pytest.raises(InputError, match="has the grades 0 and 1"):
        rageval.evaluate("rr", RUN, qrels_file(tmp_path, rows), nuggets_in_qrels=False)


def test_judgements_of_trec_rag_name_no_nuggets(tmp_path: Path) -> None:
    """NIST's qrels of 2024 hold 1 to 5 in column two."""
    path = Path(qrels_file(tmp_path, ROUNDS))
    judged = [(benchmark, spec) for benchmark, spec in all_datasets() if "qrels" in spec.holds]
    for benchmark, spec in judged:
        if benchmark.name == "trec-rag":
            rows = list(own(benchmark, spec, lambda _: [path]).qrels())
            assert [qrel.iteration for qrel in rows] == ["0"] * len(ROUNDS)
    assert [b.name for b in benchmarks() if not b.nuggets_in_qrels] == [
        "trec-dragun",
        "trec-rag",
        "trec-ragtime",
    ]


def test_an_iteration_of_ir_datasets_is_no_nugget() -> None:
    formats = pytest.importorskip("ir_datasets.formats")

    class Data:
        def __init__(self, kind: Any, qrels: list[Any]) -> None:
            self.qrels_cls, self.qrels_iter = (lambda: kind), (lambda: iter(qrels))

    rounds = Data(formats.TrecQrel, [formats.TrecQrel("q", "a", 1, "2.5")])
    assert [qrel.iteration for qrel in _read_foreign(rounds, "qrels")] == ["0"]
    subtopics = Data(formats.TrecSubQrel, [formats.TrecSubQrel("q", "a", 1, "3")])
    assert [qrel.iteration for qrel in _read_foreign(subtopics, "qrels")] == ["3"]
