"""Runs, answers and trajectories are one subject: what the command says of one, Python says, to the digit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import rageval
from commands import run_command, write_jsonl
from rageval.scoring.answers import Answers, measures_of_answers, read_judgements
from rageval.scoring.evaluation import Evaluator, Runs
from rageval.scoring.gold import drawn
from rageval.scoring.rules import Rules, rules_of
from rageval.scoring.sources import run_source
from rageval.scoring.subject import Subject
from rageval.scoring.trajectories import Trajectories
from rageval.subjects import ANSWERS, RUNS
from rageval.trajectories import read_trajectories

QUERIES = [f"q{number:02}" for number in range(40)]
LABELLED = QUERIES[::2]
KINDS = ("runs", "answers", "trajectories")
Files = dict[str, Any]


def is_right(query: str, by: str, run: str) -> bool:
    """Whether a system is right, as a judge or a person says; they differ now and then."""
    index = QUERIES.index(query)
    return (index % 3 > 0) ^ (by == "person:ann" and index % 8 == 0) ^ (run == "b" and index % 5 == 0)


@pytest.fixture(params=KINDS)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    """Two systems, what a judge says of them, and what a person says of every second query."""
    if request.param == "answers":
        rows = {
            by: [
                {"query_id": query, "run_id": run, "judge": by, "rubric": "crag"}
                | {"label": "perfect" if is_right(query, by, run) else "incorrect"}
                for run in ("a", "b")
                for query in queries
            ]
            for by, queries in (("m", QUERIES), ("person:ann", LABELLED))
        }
        judged, gold = (write_jsonl(tmp_path / by.partition(":")[0], rows[by]) for by in rows)
        return {"kind": "answers", "words": [judged], "judged": judged, "gold": gold, "measure": "crag_score"}
    runs = []
    for run in ("a", "b"):
        lines = [f"{query} Q0 {run}{rank} {rank} {9 - rank} {run}\n" for query in QUERIES for rank in (1, 2)]
        (tmp_path / f"{run}.run").write_text("".join(lines))
        runs.append(str(tmp_path / f"{run}.run"))
    judged, gold = tmp_path / "m", tmp_path / "person"
    documents = [(query, run, rank) for run in ("a", "b") for query in QUERIES for rank in (1, 2)]
    judged.write_text(
        "".join(f"{q} 0 {run}{rank} {graded(q, 'm', run, rank)}\n" for q, run, rank in documents)
    )
    rows = [
        {"query_id": query, "run_id": "documents", "item_id": f"{run}{rank}", "judge": "person:ann"}
        | {"grade": graded(query, "person:ann", run, rank), "rubric": "relevance"}
        for query, run, rank in documents
        if query in LABELLED
    ]
    fields = {"kind": "runs", "words": [*runs, str(judged)], "runs": runs, "measure": "p@1"}
    if request.param == "trajectories":
        searches = [
            {"query_id": query, "run_id": run, "kind": "search", "docs": [f"{run}1", f"{run}2"]}
            for run in ("a", "b")
            for query in QUERIES
        ]
        steps = write_jsonl(tmp_path / "steps", searches)
        agents = read_trajectories(steps)
        fields = {
            "kind": request.param,
            "words": [steps, str(judged)],
            "runs": agents,
            "measure": "first_useful",
        }
    return fields | {"judged": str(judged), "gold": write_jsonl(gold, rows)}


def graded(query: str, by: str, run: str, rank: int) -> int:
    return int(rank == 1 and is_right(query, by, run))


def subject_of(files: Files, systems: int = 2) -> Subject:
    if files["kind"] == "answers":
        return Answers(measures_of_answers(files["measure"]), read_judgements(files["judged"]), Rules())
    if files["kind"] == "trajectories":
        evaluator = Evaluator(files["measure"], files["judged"], nothing_judged="zero")
        return Trajectories(evaluator, list(files["runs"].values())[:systems])
    sources = [run_source(run).in_memory() for run in files["runs"][:systems]]
    return Runs(Evaluator(files["measure"], files["judged"], nothing_judged="zero"), sources)


def called(files: Files, command: str, *words: str) -> Result:
    result = run_command(command, *files["words"], "-m", files["measure"], *words)
    assert result.exit_code in (0, 1, 5), result.stderr
    return result


def in_python(files: Files, gold: str | None = None) -> rageval.comparison.Comparison:
    labels: dict[str, Any] = {} if gold is None else {"gold": gold, "gold_chosen": "uniform"}
    if files["kind"] == "answers":
        scores = rageval.evaluate_answers(files["measure"], files["judged"], **labels)
        return rageval.compare(scores)
    return rageval.compare(files["measure"], files["runs"], files["judged"], **labels)


@pytest.mark.slow
@pytest.mark.parametrize("with_gold", [False, True], ids=["judge", "gold"])
def test_a_comparison_is_the_same_from_python(files: Files, with_gold: bool) -> None:
    words = ["--gold", files["gold"], "--gold-chosen", "uniform"] if with_gold else []
    printed = json.loads(called(files, "compare", "--format", "json", *words).stdout)
    comparison = in_python(files, files["gold"] if with_gold else None).as_dict()
    assert printed["pairs"] == comparison["pairs"]
    assert printed["runs"] == comparison["runs"]
    assert printed["signature"] == comparison["signature"]


def test_people_meet_scores_alike(files: Files) -> None:
    """Every value of people's is of a query that they labeled whole, and corrects the judge's."""
    subject = subject_of(files)
    labeled = subject.with_gold(subject.read_gold([files["gold"]], drawn("uniform")))
    for scores in labeled.score().results:
        (score,) = scores.scores
        assert score.people is not None
        values = {query: is_right(query, "person:ann", scores.run[0]) for query in LABELLED}
        worst = -1.0 if files["kind"] == "answers" else 0.0
        assert score.people.values == {query: 1.0 if right else worst for query, right in values.items()}
        assert score.people.by == ("person:ann",)
        assert not score.people.partly
        # The judge's own values are what they were.
        before = {result.run: result for result in subject.score().results}[scores.run]
        assert score.by_query == before.scores[0].by_query


def test_the_judge_is_no_gold(files: Files) -> None:
    subject = subject_of(files)
    with pytest.raises(
        rageval.errors.UsageError, match=r"judgements by the judge itself|has judgements by the judge"
    ):
        subject.with_gold(subject.read_gold([files["judged"]], drawn("uniform"))).score()


def test_labels_of_something_else_are_refused(files: Files, tmp_path: Path) -> None:
    rows = [json.loads(line) | {"query_id": "other"} for line in Path(files["gold"]).read_text().splitlines()]
    other = write_jsonl(tmp_path / "other", [rows[0]])
    subject = subject_of(files)
    with pytest.raises(rageval.errors.InputError, match=r"has no query of|has no labels for the"):
        subject.with_gold(subject.read_gold([other], drawn("uniform"))).score()


def test_a_gate_says_the_same_from_python(files: Files, tmp_path: Path) -> None:
    words = files["words"]
    files["words"] = words[-1:] if files["kind"] == "answers" else [words[0], words[-1]]
    system = [] if files["kind"] == "runs" else ["--system", "a"]
    base = str(tmp_path / "base.jsonl")
    assert called(files, "gate", "--save-baseline", base, *system).exit_code == 0
    if files["kind"] == "runs":
        files["words"] = [words[1], words[-1]]
    system = ["--system", "b"] if system else []
    place = str(tmp_path / "gate.json")
    called(files, "gate", "--baseline", base, "--margin", "0.1", "--json", place, *system)
    written = json.loads(Path(place).read_text())
    if files["kind"] == "answers":
        report = rageval.gate(files["judged"], None, files["measure"], baseline=base, margin=0.1, system="b")
    else:
        candidate = words[1] if files["kind"] == "runs" else files["runs"]["b"]
        report = rageval.gate(candidate, files["judged"], files["measure"], baseline=base, margin=0.1)
    assert report.as_dict() == written


def test_what_a_system_gave_is_known_again(files: Files) -> None:
    """Digests are the same for the same, and differ where one judgement does."""
    first, second = subject_of(files), subject_of(files)
    scores, other = first.score().results
    assert first.fingerprint(scores) == second.fingerprint(second.score().results[0])
    assert first.fingerprint(scores).same != first.fingerprint(other).same
    assert first.fingerprint(scores).absent == frozenset()
    assert set(first.fingerprint(scores).same) == set(QUERIES)


def test_bounds_hold_of_a_comparison_from_python_too(tmp_path: Path) -> None:
    qrels = {query: {"right": 1} for query in QUERIES}
    one, other = ({query: {doc: 1.0} for query in QUERIES} for doc in ("right", "unjudged"))
    runs = [rageval.Run.from_dict(one, "one"), rageval.Run.from_dict(other, "other")]
    (pair,) = rageval.compare("rr", runs, qrels, bounds=True).pairs
    assert pair.every_completion == "undecided"


def test_an_option_of_the_other_kind_is_none() -> None:
    for kind, other in ((RUNS, ANSWERS), (ANSWERS, RUNS)):
        for name in set(other.rules) - set(kind.rules):
            with pytest.raises(rageval.errors.UsageError, match=f"unknown option '{name}'"):
                rules_of(kind, {name: getattr(Rules(), name)})
    assert set(RUNS.rules) | set(ANSWERS.rules) == set(Rules.__dataclass_fields__)


def test_remarks_stand_once(files: Files) -> None:
    """What is said of one system stands in its scores, and what is said of all does not."""
    scored = subject_of(files).score()
    own = [remark for scores in scored.results for remark in scores.remarks]
    assert not set(scored.unsaid) & set(own)
    assert len(scored.remarks) == len(set(scored.remarks))


def test_two_runs_of_one_name_have_scores_each_and_are_not_compared(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 d 1 1.0 r\n")
    (tmp_path / "qrels").write_text("q 0 d 1\n")
    words = [str(tmp_path / "run")] * 2 + [str(tmp_path / "qrels"), "-m", "rr"]
    result = run_command(*words)
    assert (result.exit_code, result.stdout.count("1.0000")) == (0, 2)
    result = run_command("compare", *words)
    assert result.exit_code == 2
    assert "two runs have this name" in result.stderr


def test_a_remark_is_about_the_system_that_it_begins_with() -> None:
    rows = [{"query_id": "q", "run_id": run, "label": "perfect", "rubric": "crag"} for run in ("a", "a: b")]
    rows += [row | {"query_id": "r", "status": "error"} for row in rows]
    for row in rows[2:]:
        del row["label"]
    scores = Answers(
        measures_of_answers("crag_score"), read_judgements(rows), Rules(on_missing="skip")
    ).score()
    for result in scores.results:
        assert [remark for remark in map(str, result.remarks) if "missing" in remark] == [
            f"{result.run}: crag_score: 1 judgement is missing (1 error); from 0.0000 to 1.0000"
        ]
