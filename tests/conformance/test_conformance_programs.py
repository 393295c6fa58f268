"""The peers that are C programs on the PATH: stand-ins print what the real ones have printed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from peer_tools import installed, topics_in
from peer_verdicts import AGREES, COMPATIBLE, FAILS, WRONG, of_peer
from vectors import RunVector

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parents[1] / "golden"
SHUFFLED = ("3", "9")  # topics whose rank column contradicts the scores, which no vector can say
OF_NDEVAL = [
    "alpha_ndcg@5",
    "alpha_ndcg@20",
    "err_ia@10",
    "nerr_ia@5",
    "nrbp",
    "map_ia",
    "p_ia@5",
    "strec@10",
]
OF_TREC_EVAL = ["ndcg@10", "ndcg", "ap", "ap@100", "rr", "recall@10", "p@5", "success@10", "recall", "p"]
BODY = """#!{python}
import json, sys
files = [open(path).read() for path in sys.argv[-2:] if path != "--version"]
with open({log!r}, "a") as log:
    print(json.dumps([sys.argv[1:-2], *files]), file=log)
if "--version" in sys.argv:
    print("trec_eval version 9.0.8")
    sys.exit()
print(open({output!r}).read(), end="")
{then}
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a program of this name, which prints this file, before all others on the PATH."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def put(name: str, output: Path, then: str = "") -> Path:
        log = tmp_path / "asked.jsonl"
        program = tmp_path / name
        program.write_text(BODY.format(python=sys.executable, log=str(log), output=str(output), then=then))
        program.chmod(0o755)
        return log

    return put


def vector_of(
    folder: str, run: str, qrels: str, measures: list[str], without: tuple[str, ...] = ()
) -> RunVector:
    """Files as a vector, with what rageval finds for them."""
    rows = [line.split() for line in (GOLDEN / folder / run).read_text().splitlines()]
    judged = [line.split() for line in (GOLDEN / folder / qrels).read_text().splitlines()]
    ranked = [(row[0], row[2], float(row[4])) for row in rows if row[0] not in without]
    graded = [(q, nugget, doc, int(grade)) for q, nugget, doc, grade in judged if q not in without]
    vector = RunVector(folder, "as recorded", ranked, graded, {}, topics_in(ranked, graded))
    expected = {name: dict(values) for name, values in vector.compute(measures).items()}  # type: ignore[arg-type]
    return msgspec.structs.replace(vector, expected=expected)


NDEVAL = vector_of("ndeval", "run", "qrels", OF_NDEVAL, SHUFFLED)
TREC_EVAL = vector_of("trec_eval", "results.test", "qrels.test", OF_TREC_EVAL)


@pytest.mark.parametrize(("name", "options"), [("ndeval", []), ("ndeval_traditional", ["-traditional"])])
def test_ndeval(stand_in: Any, name: str, options: list[str]) -> None:
    log = stand_in("ndeval", GOLDEN / f"ndeval/{name.replace('_', '-')}.csv")
    assert set(installed()) >= {"ndeval", "ndeval_traditional"}
    outcomes = list(of_peer(name, [NDEVAL]))
    assert {one.measure for one in outcomes} == set(OF_NDEVAL)
    # The run lacks a topic, so that none agrees plainly; all do as rageval by the tool's rules.
    assert {one.verdict for one in outcomes} == {COMPATIBLE}
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    assert [words[: len(options)] for words, *_ in asked] == [options] * len(OF_NDEVAL)
    words, qrels, run = asked[0]
    assert words == [*options, "-alpha", "0.5"]
    judged = (GOLDEN / "ndeval/qrels").read_text().splitlines()
    assert qrels.splitlines() == [line for line in judged if line.split()[0] not in SHUFFLED]
    ranks: dict[str, list[int]] = {}
    for line in run.splitlines():
        ranks.setdefault(line.split()[0], []).append(int(line.split()[3]))
    assert all(sorted(places) == list(range(1, len(places) + 1)) for places in ranks.values())


def test_topics_that_are_no_numbers_go_under_numbers(stand_in: Any) -> None:
    log = stand_in("ndeval", GOLDEN / "ndeval/ndeval.csv")
    renamed = {row[0]: f"topic-{row[0]}" for row in NDEVAL.qrels}
    vector = msgspec.structs.replace(
        NDEVAL,
        run=[(renamed[q], doc, score) for q, doc, score in NDEVAL.run],
        qrels=[(renamed[q], f"n{nugget}", doc, -grade) for q, nugget, doc, grade in NDEVAL.qrels],
        expected={"strec@10": {}},
    )
    list(of_peer("ndeval", [vector]))
    _, qrels, run = json.loads(log.read_text().splitlines()[0])
    fields = [line.split() for line in [*qrels.splitlines(), *run.splitlines()]]
    assert all(row[0].isdigit() for row in fields)
    assert all(row[1].isdigit() and row[3] == "0" for row in fields if len(row) == 4)


def test_trec_eval(stand_in: Any) -> None:
    log = stand_in("trec_eval", GOLDEN / "trec_eval/out.test.aq")
    assert installed()["trec_eval"] == "9.0.8"
    outcomes = list(of_peer("trec_eval", [TREC_EVAL]))
    assert {one.measure: one.verdict for one in outcomes} == dict.fromkeys(OF_TREC_EVAL, AGREES)
    asked = [json.loads(line)[0] for line in log.read_text().splitlines() if "--version" not in line]
    assert asked[0] == ["-q", "-l", "1", "-m", "ndcg_cut.10"]
    assert asked[1][-1] == "ndcg"


def test_a_number_that_nobody_can_explain_is_a_fault(stand_in: Any, tmp_path: Path) -> None:
    lying = tmp_path / "lying"
    lying.write_text((GOLDEN / "trec_eval/out.test.aq").read_text().replace("0.1518", "0.1618"))
    stand_in("trec_eval", lying)
    outcomes = list(of_peer("trec_eval", [TREC_EVAL]))
    assert [one.measure for one in outcomes if one.verdict == WRONG] == ["ndcg@10"]


def test_a_program_that_ends_with_an_error(stand_in: Any) -> None:
    then = "print('a query is missing', file=sys.stderr); sys.exit(4)"
    stand_in("trec_eval", GOLDEN / "trec_eval/out.test.aq", then)
    outcomes = list(of_peer("trec_eval", [TREC_EVAL]))
    assert {one.verdict for one in outcomes} == {FAILS}
    assert {one.why for one in outcomes} == {"ProgramFailed: exit code 4: a query is missing"}


@pytest.mark.parametrize("name", ["ndeval", "ndeval_traditional", "trec_eval"])
def test_a_program_that_is_not_there(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert name not in installed()
