"""`rageval.gate`: the same from files, dicts and frames, and what it does not take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main
from rageval.errors import NothingJudged, UsageError
from snippets import ROOT

FOLDER = ROOT / "examples" / "data" / "gate"
QRELS, BASE = FOLDER / "qrels.nugget", FOLDER / "baseline.jsonl"
LABELS = ("perfect", "acceptable", "missing", "incorrect")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "verdict"), [("main", "ship"), ("same", "ship"), ("worse", "block")])
def test_the_example_runs_are_gated_as_by_the_command(name: str, verdict: str, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    run = FOLDER / f"{name}.run"
    report = rageval.gate(run, QRELS, "alpha_ndcg@5, recall@5", baseline=BASE, margin=0.03)
    words = ["gate", str(run), str(QRELS), "-m", "alpha_ndcg@5,recall@5", "--baseline", str(BASE)]
    CliRunner().invoke(main, [*words, "--margin", "0.03", "--json", str(tmp_path / "x")])
    report_of_command = json.loads((tmp_path / "x").read_text())
    assert report.as_dict() == report_of_command
    assert report.verdict == verdict
    assert len(report.to_pandas()) == 2
    assert str(report).startswith(f"{verdict}: ")
    import pandas

    rows = [line.split() for line in run.read_text().splitlines()]
    frame = pandas.DataFrame(
        [(row[0], row[2], float(row[4])) for row in rows], columns=["query_id", "doc_id", "score"]
    )
    assert rageval.gate(frame, QRELS, "recall@5", baseline=BASE, margin=0.03).verdict == verdict
    plain: dict[str, dict[str, float]] = {}
    for query, doc, score in frame.itertuples(index=False):
        plain.setdefault(query, {})[doc] = score
    in_memory = {qrel.query_id: {} for qrel in rageval.read_qrels(QRELS)}  # type: ignore[var-annotated]
    for qrel in rageval.read_qrels(QRELS):
        in_memory[qrel.query_id].setdefault(qrel.iteration, {})[qrel.doc_id] = qrel.relevance
    assert rageval.gate(plain, in_memory, "recall@5", baseline=BASE, margin=0.03).verdict == verdict


def test_judged_answers_as_dicts_and_frames(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    rows = [{"query_id": f"q{index}", "run_id": "r", "label": LABELS[index % 4]} for index in range(80)]
    (tmp_path / "judged").write_text("".join(json.dumps(row) + "\n" for row in rows))
    base = tmp_path / "base"
    words = ["gate", str(tmp_path / "judged"), "-m", "crag_score", "--save-baseline", str(base)]
    assert CliRunner().invoke(main, words).exit_code == 0
    worse = [{**row, "label": "incorrect"} for row in rows]
    for given, verdict in ((rows, "ship"), (worse, "block")):
        for form in (given, pandas.DataFrame(given)):
            report = rageval.gate(form, measures="crag_score", baseline=base, margin=0.1)
            assert report.verdict == verdict
    table = {f"q{index}": "all" for index in range(80)}
    report = rageval.gate(worse, measures="crag_score", baseline=base, margin=0.1, slices={"kind": table})
    assert [decision.verdict for decision in report.decisions] == ["block", "block"]


def test_people_are_taken_in_python_too(tmp_path: Path) -> None:
    rows = [
        {"query_id": f"q{index}", "run_id": "r", "label": LABELS[index % 4], "judge": "j"}
        for index in range(80)
    ]
    people = [{**row, "judge": "person:ann"} for row in rows[:50]]
    for name, given in (("judged", rows), ("people", people)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in given))
    words = ["gate", str(tmp_path / "judged"), "-m", "crag_score", "--save-baseline", str(tmp_path / "base")]
    labels = {"gold": str(tmp_path / "people"), "gold_chosen": "uniform"}
    assert (
        CliRunner().invoke(main, [*words, "--gold", labels["gold"], "--gold-chosen", "uniform"]).exit_code
        == 0
    )
    options = {"baseline": tmp_path / "base", "margin": 0.1}
    report = rageval.gate(rows, measures="crag_score", **options, **labels)  # type: ignore[arg-type]
    assert "|gold:" in report.signature
    assert (report.verdict, report.decisions[0].difference, report.decisions[0].low) == ("ship", 0, 0)
    assert not any("judge error not included" in remark for remark in map(str, report.remarks))


def test_what_is_unknown_and_what_retrieved_nothing_judged_is_refused() -> None:
    with pytest.raises(UsageError, match=r"unknown option 'margins'"):
        rageval.gate(FOLDER / "main.run", QRELS, "recall@5", baseline=BASE, margin=0.1, margins=1)  # type: ignore[call-arg]
    with pytest.raises(NothingJudged, match="no document of"):
        rageval.gate({"q000": {"z": 1.0}}, QRELS, "recall@5", baseline=BASE, margin=0.1)
