"""Steps of agents from a file to scores: how they are read, and that what was seen is scored as a run."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import rageval
from commands import run_command, write_jsonl
from rageval import checking
from rageval.core.ruling import Ruling
from rageval.errors import InputError, MeasureError, UsageError
from rageval.files.steps import read_steps
from rageval.trajectories import read_trajectories

AGENTS = Path(__file__).parents[2] / "examples/data/agents"
STEPS, ANSWERS, QRELS = (str(AGENTS / name) for name in ("steps.jsonl", "answers.jsonl", "qrels.nugget"))
MIXED = "seen_recall@2,kept,cost,nuggets_seen,alpha_ndcg@5,ndcg,recall@3"
Row = dict[str, Any]


def rows(path: str = STEPS) -> list[Row]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def values(run: Any, measures: str = MIXED, qrels: Any = QRELS, **rules: Any) -> dict[str, list[float]]:
    return numbers(rageval.evaluate(measures, run, qrels, **rules))


def numbers(scores: rageval.Scores) -> dict[str, list[float]]:
    """The value of each query by each measure; -1 where it is not defined."""
    return {
        str(measure): [-1.0 if value != value else float(value) for value in score.values]
        for measure, score in scores.items()
    }


def of(steps: list[Row], **agent: Any) -> Any:
    (run,) = read_trajectories(steps, **agent).values()
    return run


def search(*docs: str, **more: Any) -> Row:
    return {"query_id": "q", "run_id": "a", "kind": "search", "docs": list(docs), **more}


def test_files_dicts_frames_and_the_command_say_the_same() -> None:
    pandas = pytest.importorskip("pandas")
    expected = {name: values(run) for name, run in read_trajectories(STEPS, ANSWERS).items()}
    assert list(expected) == ["planner", "reader"]
    frame = pandas.DataFrame(rows()).astype({"docs": object})
    for steps in (rows(), frame.where(frame.notna(), None)):
        assert {
            name: values(run) for name, run in read_trajectories(steps, rows(ANSWERS)).items()
        } == expected
    printed = run_command(STEPS, QRELS, "--answers", ANSWERS, "-m", MIXED, "-q", "--format", "json").stdout
    for row in json.loads(printed)["results"]:
        printed_values = [-1.0 if value is None else value for value in row["by_query"].values()]
        assert sorted(printed_values) == sorted(expected[row["run"]][row["measure"]])


def test_what_was_seen_is_scored_as_the_run_in_that_order(tmp_path: Path) -> None:
    for name, agent in read_trajectories(STEPS, ANSWERS).items():
        lines = [
            f"{query} Q0 {doc} {rank} {-rank} {name}\n"
            for query, docs in agent.run().ranked()
            for rank, doc in enumerate(docs, 1)
        ]
        (tmp_path / name).write_text("".join(lines))
        measures = "alpha_ndcg@5,ndcg,recall@3,ap,coverage@2"
        for rules in ({}, {"bounds": True}, {"depth": 3}, {"judged_only": True}, {"ties": "expected"}):
            run = tmp_path / name
            assert values(agent, measures, **rules) == values(run, measures, **rules), rules
    signature = rageval.evaluate("recall@3", agent, QRELS)["recall@3"].signature
    assert "|seen:first|" in signature


@pytest.mark.parametrize("way", ["jobs", "executor"])
def test_workers_change_nothing(way: str) -> None:
    agents = read_trajectories(STEPS, ANSWERS)
    if way == "executor":
        with ThreadPoolExecutor(2) as executor:
            scores = rageval.evaluate(MIXED, agents, QRELS, executor=executor)
        assert numbers(scores["reader"]) == values(agents["reader"])
    else:
        words = [STEPS, QRELS, "--answers", ANSWERS, "-m", MIXED]
        assert run_command(*words, "--jobs", "2").stdout == run_command(*words).stdout


def test_lines_in_any_order_are_the_same_trajectories() -> None:
    expected = [(*trajectory[:3], trajectory.steps) for trajectory in read_steps(STEPS)]
    by_number = sorted(rows(), key=lambda row: row["step"])  # so that each trajectory lies scattered
    agents = read_trajectories(by_number)
    scattered = [(*t[:3], t.steps) for run in agents.values() for ts in run.trajectories.values() for t in ts]
    assert sorted(scattered) == sorted(expected)


def test_steps_of_one_number_keep_the_order_of_the_file() -> None:
    steps = [search("c", step=2), search("b", step=1), search("a", step=1), search("a", "d", step=3)]
    assert [docs for _, docs in of(steps).run().ranked()] == [["b", "a", "c", "d"]]
    unnumbered = [{key: value for key, value in step.items() if key != "step"} for step in steps]
    assert [docs for _, docs in of(unnumbered).run().ranked()] == [["c", "b", "a", "d"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"kind": "serch"}, "invalid enum value 'serch'"),
        (
            {"docs": [{"text": "x"}]},
            r"expected ids, or objects with id or docid, in `docs`, found \{'text': 'x'\}",
        ),
        ({"docs": [" "]}, "expected an id of 1 to 1,024 bytes in `docs`"),
        ({"query_id": "q "}, "expected an id without blanks around it"),
        ({"run_id": "a\n"}, "expected an id without"),
        ({"cost": -1}, "cost"),
        ({"docs": "d1"}, "expected a list in `docs`, found 'd1'"),
        ({"status": "failed"}, "invalid enum value 'failed'"),
    ],
)
def test_a_wrong_step_is_named_with_its_line(line: Row, message: str, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "steps.jsonl", [search("d1", step=1), search("d1", step=2) | line])
    with pytest.raises(InputError, match=message) as caught:
        read_steps(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    (finding,) = checking.validate(path, "steps")
    assert (finding.code, finding.line) == ("rejected_line", 2)


@pytest.mark.parametrize(
    ("steps", "answers", "message"),
    [
        ([search(step=1), search()], None, "some steps of a trajectory have a number"),
        ([], None, "holds no steps"),
        (
            rows(),
            [{"query_id": "q1", "run_id": "other", "answer": "x"}],
            "expected answers of the same systems",
        ),
    ],
)
def test_files_that_do_not_fit_are_refused(steps: Any, answers: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_trajectories(steps, answers)


def test_the_mean_over_repeats_counts_and_a_lacking_one_does_not() -> None:
    qrels = {"q": {"a": 1, "b": 1}, "r": {"c": 1}}
    steps = [search("a", repeat=1), search("a", "b", repeat=2), search("c", query_id="r", repeat=1)]
    agent = of(steps)
    assert values(agent, "seen_recall,searches", qrels) == {
        "seen_recall": [0.75, 1.0],
        "searches": [1.0, 1.0],
    }
    with pytest.raises(UsageError, match=r"ndcg scores one ranking for each query, but a has several"):
        values(agent, "ndcg", qrels)


def test_a_query_without_steps_is_absent_and_one_that_saw_nothing_is_not() -> None:
    qrels = {"q": {"a": 1}, "r": {"c": 1}, "s": {"d": 1}}
    agent = of([search("a"), search(query_id="r", status="error")])
    scores = rageval.evaluate("seen_recall,searches,completed", agent, qrels)
    assert list(scores["seen_recall"].values) == [1.0, 0.0, 0.0]
    assert list(scores["searches"].values)[:2] == [1.0, 1.0]
    assert list(scores["completed"].values) == [1.0, 0.0, 0.0]
    assert scores["searches"].undefined == 1
    assert scores.absent == {"s"}


def test_systems_that_saw_the_same_on_other_ways_are_not_the_same() -> None:
    queries = [f"q{number}" for number in range(8)]
    qrels = {query: {"a": 1} for query in queries}
    steps = [
        {**row, "query_id": query, "run_id": run}
        for run, trajectory in (
            ("once", [search("x", "a")]),
            ("again", [search("x", "a")]),
            ("twice", [search("x"), search("a")]),
        )
        for query in queries
        for row in trajectory
    ]
    comparison = rageval.compare("recall_area@2", read_trajectories(steps), qrels, baseline="once")
    assert [(pair.run, pair.ruling) for pair in comparison.pairs] == [
        ("again", Ruling.IDENTICAL),
        ("twice", Ruling.LOWER),
    ]


@pytest.mark.parametrize(
    "rule",
    [{"depth": 5}, {"judged_only": True}, {"ties": "input"}, {"ties": "expected"}, {"compat": "trec_eval"}],
)
def test_rules_of_rankings_are_refused_beside_measures_of_steps(rule: Row) -> None:
    with pytest.raises(UsageError, match="applies to rankings, and seen_recall scores none"):
        values(of(rows()[:6]), "ndcg,seen_recall", **rule)


def test_a_run_has_no_steps() -> None:
    with pytest.raises(MeasureError, match="seen_recall scores trajectories"):
        values({"q1": {"q1-a": 1.0}}, "seen_recall")
    with pytest.raises(InputError, match="holds agents' steps, which rageval score"):
        values(STEPS, "recall")


def test_doctor_and_validate_name_model_steps_without_their_cost(tmp_path: Path) -> None:
    lines = rows()
    del lines[0]["cost"]
    path = write_jsonl(tmp_path / "steps.jsonl", lines)
    for findings in (checking.diagnose(path, QRELS), checking.validate(path, "steps")):
        (finding,) = findings
        assert (finding.code, finding.facts["quantity"], finding.facts["query"]) == (
            "unstated_quantity",
            "cost",
            "q1",
        )
    (finding,) = checking.validate(STEPS, "steps", {f"q{number}": "?" for number in range(2, 11)})
    assert finding.code == "unknown_topic"


def test_a_trace_is_scored_as_the_steps_that_are_imported_from_it(tmp_path: Path) -> None:
    traces, steps = str(AGENTS / "traces.jsonl"), str(tmp_path / "steps.jsonl")
    assert run_command("import", traces, "--only", "steps", "-o", steps).exit_code == 0
    for words in (("-m", "seen_recall@1,cost,recall@5"), ("compare", "-m", "seen_recall"), ("-m", "kept")):
        command, rest = ([words[0]], words[1:]) if words[0] == "compare" else ([], words)
        of_traces, of_steps = (run_command(*command, path, QRELS, *rest) for path in (traces, steps))
        assert of_traces.stdout == of_steps.stdout
        assert of_traces.stderr == of_steps.stderr
        assert of_traces.exit_code == of_steps.exit_code
    both = [values(read_trajectories(path)["reader"], "cost, ndcg") for path in (traces, steps)]
    assert both[0] == both[1]
    graded = Path(__file__).parents[1] / "golden/logs/promptfoo/results.json"
    refused = run_command(graded, QRELS, "-m", "seen_recall")
    assert "results.json: the log of promptfoo holds no steps of agents" in refused.stderr
    assert refused.exit_code == 2


def test_what_needs_no_judgements_is_scored_without_any(tmp_path: Path) -> None:
    steps = [*(search("x", cost=0.5) | {"query_id": query} for query in "qr"), search("y", cost=0.25)]
    calls = [{"query_id": "s", "question": "?", "expected_calls": [{"tool": "t"}]}]
    path, questions = write_jsonl(tmp_path / "steps.jsonl", steps), write_jsonl(tmp_path / "q.jsonl", calls)
    command = run_command(path, "-m", "cost calls", "-q")
    assert (command.exit_code, command.stderr) == (0, "")
    assert "\tq\t0.7500" in command.stdout
    assert "\tr\t0.5000" in command.stdout
    python = rageval.evaluate("cost, calls", of(steps), {"q": {}, "r": {}})
    values = {str(name): dict(score.by_query) for name, score in python.items()}
    assert values == {"cost": {"q": 0.75, "r": 0.5}, "calls": {"q": 2, "r": 1}}
    # Questions count that the agent never began; what it would have called is not known.
    recall = run_command(path, "--questions", questions, "-m", "calls_recall", "-q").stdout
    assert "\ts\t   nan" in recall
    for measure in ("seen_recall", "ndcg", "kept"):
        refused = run_command(path, "-m", measure)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "needs judgements of documents" in refused.stderr or "needs what the answer" in refused.stderr
    compared = run_command("compare", str(STEPS), "-m", "cost")
    assert (compared.exit_code, "judged" in compared.stderr) == (0, False)


@pytest.mark.parametrize(("k", "expected"), [(1, "0.4200"), (2, "0.2733"), (3, "0.2200"), (4, "0.2000")])
def test_tau_benchs_published_figures(k: int, expected: str) -> None:
    """Pass^k of gpt-4o in the airline domain, as tau-bench's README has them."""
    printed = run_command(str(AGENTS / "tau-bench.judged.jsonl"), "-m", f"pass(aspect=task)^{k}").stdout
    assert printed.split() == [f"pass_all(aspect=task)@{k}", "all", expected]
