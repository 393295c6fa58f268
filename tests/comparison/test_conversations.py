"""Turns of a conversation depend on each other: wherever intervals or tests are, they are one unit."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import rageval
from commands import run_command, write_jsonl
from rageval.comparison import Settings
from rageval.comparison.estimates import estimate_mean, slices
from rageval.errors import InputError, UsageError
from rageval.scoring.trajectories import read_trajectories
from rageval.statistics.power import labels_needed
from rageval.track.bundle import opened_bundle
from rageval.track.leaderboard import read_standings
from rageval.track.values import STANDINGS
from rageval.track.verification import verify

MEASURE = "grade(aspect=quality)"
UNITS = "units:conversation_id"
Row = dict[str, Any]


def turns(conversations: int, length: int = 4, gap: float = 0.0) -> list[Row]:
    """Two systems; how good one is differs by conversation, and hardly by turn."""
    rng = random.Random(5)
    rows = []
    for conversation in range(conversations):
        shift = rng.uniform(-0.2, 0.2) + gap
        for turn in range(length):
            place = {"query_id": f"c{conversation}-{turn}", "conversation_id": f"c{conversation}"}
            base = rng.uniform(0.4, 0.5)
            grades = {"one": base, "two": base + shift + rng.uniform(-0.02, 0.02)}
            rows += [
                place | {"run_id": run, "aspect": "quality", "grade": grade, "turn": turn}
                for run, grade in grades.items()
            ]
    return rows


def without(rows: list[Row], *names: str) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def pair_of(*words: Any) -> Row:
    printed = json.loads(run_command("compare", *words, "-m", MEASURE, "--format", "json").stdout)
    (pair,) = printed["pairs"]
    return pair | {"signature": printed["signature"]}


@pytest.mark.parametrize("is_of_questions", [False, True])
def test_conversations_are_clusters_unless_somebody_says_otherwise(
    is_of_questions: bool, tmp_path: Path
) -> None:
    rows = turns(20)
    given: list[Any] = [write_jsonl(tmp_path / "judged.jsonl", rows)]
    alone = pair_of(*given, "--cluster", "none")
    if is_of_questions:
        questions = [{"query_id": row["query_id"], "conversation_id": row["conversation_id"]} for row in rows]
        given = [write_jsonl(tmp_path / "bare.jsonl", without(rows, "conversation_id", "turn"))]
        assert pair_of(*given)["p"] == alone["p"]
        unique = {row["query_id"]: row | {"question": "?"} for row in questions}
        given += ["--questions", write_jsonl(tmp_path / "questions.jsonl", unique.values())]
    together = pair_of(*given)
    assert UNITS in together["signature"]
    assert "units" not in alone["signature"]
    assert pair_of(*given, "--cluster", "conversation_id") == together
    assert together["high"] - together["low"] > 1.5 * (alone["high"] - alone["low"])
    assert together["p"] > alone["p"]


@pytest.mark.parametrize(("conversations", "verdict"), [(9, "undecided"), (10, "higher")])
def test_fewer_than_ten_conversations_decide_nothing(
    conversations: int, verdict: str, tmp_path: Path
) -> None:
    judged = write_jsonl(tmp_path / "judged.jsonl", turns(conversations, gap=0.25))
    pair = pair_of(judged, "--baseline", "one")
    assert pair["verdict"].startswith(verdict), pair
    baseline = str(tmp_path / "baseline.jsonl")
    run_command("gate", judged, "-m", MEASURE, "--system", "one", "--save-baseline", baseline)
    words = ("gate", judged, "-m", MEASURE, "--system", "two", "--baseline", baseline, "--margin", "0.1")
    gated = run_command(*words)
    assert UNITS in gated.stdout
    assert gated.exit_code == (5 if verdict == "undecided" else 0), gated.stdout


def test_a_query_of_no_conversation_is_one_of_its_own(tmp_path: Path) -> None:
    rows = turns(12)
    rows += without([row | {"query_id": f"alone-{row['query_id']}"} for row in rows], "conversation_id")
    compared = run_command("compare", write_jsonl(tmp_path / "judged.jsonl", rows), "-m", MEASURE)
    assert "96 queries in 60 clusters (conversation_id)" in compared.stdout + compared.stderr
    # Where each conversation has one turn, there is nothing to say.
    single = run_command("compare", write_jsonl(tmp_path / "one.jsonl", turns(12, 1)), "-m", MEASURE)
    assert "units" not in single.stdout


def test_a_report_has_the_wider_intervals(tmp_path: Path) -> None:
    judged, page = write_jsonl(tmp_path / "judged.jsonl", turns(12)), tmp_path / "page.html"
    assert run_command("report", judged, "-m", MEASURE, "-o", str(page)).exit_code == 0
    assert UNITS in page.read_text(encoding="utf-8")


def test_python_decides_as_the_command_line_does(tmp_path: Path) -> None:
    rows = turns(20, gap=0.05)
    scores = rageval.evaluate_answers(MEASURE, rows)
    compared = rageval.compare(scores, baseline="one")
    printed = pair_of(write_jsonl(tmp_path / "judged.jsonl", rows), "--baseline", "one")
    assert compared.pairs[0].p == printed["p"]
    assert UNITS in compared.signature
    unclustered = rageval.compare(scores, baseline="one", clusters="none")
    assert "units" not in unclustered.signature
    assert unclustered.pairs[0].p < compared.pairs[0].p
    with pytest.raises(UsageError, match=r"expected \{query: cluster\}, or none"):
        rageval.compare(scores, clusters="some")


def test_pythons_gate_counts_conversations(tmp_path: Path) -> None:
    rows, baseline = turns(20), str(tmp_path / "baseline.jsonl")
    judged = write_jsonl(tmp_path / "judged.jsonl", rows)
    run_command("gate", judged, "-m", MEASURE, "--system", "one", "--save-baseline", baseline)
    how: Any = {"measures": MEASURE, "baseline": baseline, "margin": 0.1, "system": "two"}
    report = rageval.gate(rows, **how)
    assert UNITS in report.signature
    assert "units" not in rageval.gate(rows, clusters="none", **how).signature


def test_python_knows_the_conversations_of_questions_answers_and_steps(tmp_path: Path) -> None:
    rows = without(turns(12), "turn")
    bare, names = without(rows, "conversation_id"), {row["query_id"]: row["conversation_id"] for row in rows}
    questions = [{"query_id": name, "question": "?", "conversation_id": of} for name, of in names.items()]
    answers = [
        {"query_id": name, "run_id": run, "answer": "a", "conversation_id": of, "turn": 1}
        for name, of in names.items()
        for run in ("one", "two")
    ]
    for given in ({"questions": questions}, {"answers": answers}):
        assert UNITS in rageval.compare(rageval.evaluate_answers(MEASURE, bare, **given)).signature
    steps = [
        {"query_id": name, "run_id": run, "kind": "search", "docs": docs, "conversation_id": of}
        for name, of in names.items()
        for run, docs in (("one", ["d"]), ("two", ["e", "d"]))
    ]
    agents = read_trajectories(steps)
    qrels = {name: {"d": 1} for name in names}
    assert UNITS in rageval.compare("rr", agents, qrels).signature


@pytest.mark.parametrize("key", ["conversation_id", "turn"])
def test_a_query_of_two_conversations_is_refused(key: str) -> None:
    rows = turns(12)
    rows[1][key] = "other"
    with pytest.raises(InputError, match="expected one conversation_id and one turn for each query"):
        rageval.evaluate_answers(MEASURE, rows)


# Everything else that prints an interval.

Words = tuple[Any, ...]


def labeled(folder: Path, conversations: int = 16) -> Words:
    """Answers that a judge and people graded; how far the judge is off differs by conversation."""
    rng = random.Random(7)
    judged, people = [], []
    for conversation in range(conversations):
        shift = rng.choice([0.0, 1.0])
        for turn in range(6):
            name = f"c{conversation:02}-{turn}"
            place = {"query_id": name, "run_id": "one", "conversation_id": f"c{conversation}"}
            judged.append(place | {"label": "perfect" if rng.random() < 0.5 else "incorrect", "judge": "m"})
            right = rng.random() < 0.15 + 0.7 * shift
            human = place | {"label": "perfect" if right else "incorrect", "judge": "human"}
            people += [human] * (turn % 2)
    return write_jsonl(folder / "judged.jsonl", judged), write_jsonl(folder / "people.jsonl", people)


def of_pairs(folder: Path) -> str:
    """Two systems that play each other in every turn; who wins differs by conversation."""
    rng, rows = random.Random(3), []
    for conversation in range(20):
        share = rng.choice([0.1, 0.9])
        for turn in range(5):
            won = rng.random() < share
            place = {"query_id": f"c{conversation}-{turn}", "conversation_id": conversation, "aspect": "p"}
            for run, has_won in (("one", won), ("two", not won)):
                rows.append(place | {"run_id": run, "label": "win" if has_won else "loss"})
    return write_jsonl(folder / "pairs.jsonl", rows)


def widths(printed: str, value: str) -> list[float]:
    results = json.loads(printed)
    rows = results if isinstance(results, list) else next(iter(results.values()))
    return [row["high"] - row["low"] for row in rows if row.get(value) is not None]


def test_corrected_means_count_conversations(tmp_path: Path) -> None:
    judged, people = labeled(tmp_path)
    words = ("label", "correct", judged, "--gold", people, "--gold-chosen", "uniform", "-m", "crag_score")
    together = run_command(*words, "--format", "json")
    alone = run_command(*words, "--format", "json", "--cluster", "none")
    assert "96 queries in 16 clusters (conversation_id)" in together.stderr
    assert "clusters" not in alone.stderr
    assert widths(together.stdout, "value")[0] > 1.3 * widths(alone.stdout, "value")[0]
    few = labeled(tmp_path, 9)
    printed = run_command("label", "correct", few[0], "--gold", few[1], "-m", "crag_score")
    assert "labels in 9 clusters (10 are needed)" in printed.stderr


def test_agreement_counts_conversations(tmp_path: Path) -> None:
    words = ("label", "agree", *labeled(tmp_path), "--format", "json")
    together, alone = run_command(*words), run_command(*words, "--cluster", "none")
    assert "96 queries in 16 clusters (conversation_id)" in together.stderr
    one, other = (json.loads(printed.stdout)["coefficients"] for printed in (together, alone))
    assert one != other
    assert one["agreement"]["value"] == other["agreement"]["value"]


def test_strengths_count_conversations(tmp_path: Path) -> None:
    words = ("arena", of_pairs(tmp_path), "--format", "json")
    together, alone = run_command(*words), run_command(*words, "--cluster", "none")
    assert "100 queries in 20 clusters (conversation_id)" in together.stderr
    assert "clusters" not in alone.stderr
    pairs = zip(widths(together.stdout, "strength"), widths(alone.stdout, "strength"), strict=True)
    assert all(one > 1.3 * other for one, other in pairs)


def test_possible_gains_count_conversations(tmp_path: Path) -> None:
    rng, rows, documents = random.Random(11), [], []
    for conversation in range(16):
        share = rng.choice([0.1, 0.9])
        for turn in range(5):
            name = f"c{conversation}-{turn}"
            for nugget in ("n1", "n2"):
                label = "support" if rng.random() < share else "not_support"
                place = {"query_id": name, "run_id": "one", "conversation_id": f"c{conversation}"}
                rows.append(place | {"aspect": nugget, "label": label, "rubric": "nugget-assignment"})
                documents.append(f"{name} {nugget} {'a' if nugget == 'n1' else 'b'} 1\n")
    judged, qrels, run = write_jsonl(tmp_path / "j.jsonl", rows), tmp_path / "q.nugget", tmp_path / "r.trec"
    qrels.write_text("".join(documents))
    run.write_text("".join(f"{name} Q0 a 1 1.0 one\n" for name in dict.fromkeys(r["query_id"] for r in rows)))
    words = ("diagnose", judged, "--run", str(run), "--qrels", str(qrels), "--format", "json")
    words = (*words, "--on-missing", "skip")
    together, alone = run_command(*words), run_command(*words, "--cluster", "none")
    one, other = json.loads(together.stdout), json.loads(alone.stdout)
    assert UNITS in one["signature"]
    assert "units" not in other["signature"]
    gains = one["what_if"]["generator"], other["what_if"]["generator"]
    assert gains[0]["value"] == gains[1]["value"]
    assert gains[0]["high"] - gains[0]["low"] > 1.3 * (gains[1]["high"] - gains[1]["low"])


def test_leaderboards_count_conversations(tmp_path: Path) -> None:
    rows = turns(16, gap=0.05)
    judged = write_jsonl(tmp_path / "judged.jsonl", without(rows, "conversation_id", "turn"))
    names = {row["query_id"]: row["conversation_id"] for row in rows}
    questions = [{"query_id": name, "question": "?", "conversation_id": of} for name, of in names.items()]
    bundle, topics = tmp_path / "board.tar.gz", write_jsonl(tmp_path / "topics.jsonl", questions)
    words = ("board", "bundle", judged, "-m", MEASURE, "--title", "Turns", "-o", str(bundle))
    standings = {}
    for given in ((), ("--topics", topics)):
        bundle.unlink(missing_ok=True)
        assert run_command(*words, *given).exit_code == 0
        with opened_bundle(bundle) as opened:
            standings[bool(given)] = read_standings(opened.paths[STANDINGS])
            assert opened.manifest.intervals.split()[5] == ("conversations," if given else "topics,")
        assert verify(bundle).steps[-1].state == "same"
    for together, alone in zip(standings[True], standings[False], strict=True):
        assert UNITS in together.signature
        assert together.value == alone.value
    one, other = (
        sum(row.high - row.low for row in standings[of] if row.run == "two") for of in (True, False)
    )
    assert one > 1.3 * other


def test_plans_count_conversations() -> None:
    rng = random.Random(2)
    shifts = [rng.choice([-0.5, 0.5]) for _ in range(200)]
    judged = [rng.random() for _ in range(2000)]
    people = {index: judged[index] + shifts[index // 10] + rng.uniform(-0.1, 0.1) for index in range(150)}
    how: Any = {"width": 0.1, "paired": True}
    alone = labels_needed(judged, people, **how)
    together = labels_needed(judged, people, clusters=[index // 10 for index in range(2000)], **how)
    assert alone is not None
    assert together is not None
    assert together > 3 * alone


def test_slices_count_conversations() -> None:
    score = rageval.evaluate_answers(MEASURE, turns(20))["two"][MEASURE]
    groups = dict.fromkeys(score.query_ids, "all")
    (together,) = slices(score, "kind", groups)
    (alone,) = slices(score, "kind", groups, Settings(clusters="none"))
    assert together.high - together.low > 1.3 * (alone.high - alone.low)


def test_an_id_may_hold_its_conversation(tmp_path: Path) -> None:
    rows = without(turns(12), "conversation_id")
    for row in rows:
        row["query_id"] = str(row["query_id"]).replace("-", "<::>")
    judged = write_jsonl(tmp_path / "judged.jsonl", rows)
    words = ("compare", judged, "-m", MEASURE, "--details")
    assert UNITS in run_command(*words).stdout
    assert UNITS not in run_command(*words, "--cluster", "none").stdout


def with_confidence(rows: list[Row]) -> rageval.ScoresTable:
    """Score answers that are right where the grade is good, and as sure as it is."""
    places = without(rows, "aspect", "grade")
    right = ["accurate" if row["grade"] > 0.45 else "incorrect" for row in rows]
    judged = [
        place | {"rubric": "crag-auto", "label": label} for place, label in zip(places, right, strict=True)
    ]
    answers = [
        {"query_id": row["query_id"], "run_id": row["run_id"], "answer": "x", "confidence": row["grade"]}
        for row in rows
    ]
    return rageval.evaluate_answers("selective(coverage=1)", judged, answers=answers)


def test_what_all_turns_have_together_is_resampled_by_conversation() -> None:
    rows = turns(12)
    score = with_confidence(rows)["two"].scores[0]
    by_turn, usual = estimate_mean(score, Settings(clusters="none")), estimate_mean(score)
    named = {row["query_id"]: row["conversation_id"] for row in rows}
    assert estimate_mean(score, Settings(clusters=named)) == usual
    assert (by_turn.low, by_turn.high) != (usual.low, usual.high)


@pytest.mark.parametrize(
    ("clusters", "reason"), [(None, "few_clusters"), ("none", "few_independent_questions")]
)
def test_few_units_are_called_what_they_are(clusters: Any, reason: str) -> None:
    (pair,) = rageval.compare(with_confidence(turns(2)), clusters=clusters).pairs
    assert [remark.code for remark in pair.reasons] == [reason]
