"""Fewer lines never help: what is taken out of a file makes no value, verdict or exit code better.

Every command that reads runs, answers or judgements is in the table below, or named as one that scores
nothing; a new command that is in neither fails. Removals are drawn by a seed. Outcomes are looked at as
JSON and exit codes.
"""

from __future__ import annotations

import json
import math
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import rageval
from commands import run_command, write_jsonl
from every_command import leaves
from rageval.comparison import diagnose
from rageval.errors import InputError, MissingJudgements
from rageval.scoring.scores import Scores
from reasons import why

Row = dict[str, Any]
SCORING = {
    *("score", "compare", "gate", "report", "arena", "track", "diagnose", "label agree", "label correct")
}
# These write, list, convert, check or ask; no value or verdict comes of what they read.
OTHERS = {
    *("measures", "judge", "label plan", "label page", "reproduce", "spans anchor", "spans project"),
    *("doctor", "validate", "import", "demo", "init", "skill"),
}
GROUPS = {"rubrics", "store", "collection", "datasets", "board"}
QUERIES = [f"q{number:03}" for number in range(100)]
DRAWS = 4
QUICK: Any = {"resamples": 100}


def test_every_command_is_told() -> None:
    commands = {path for path in leaves() if path.split()[0] not in GROUPS}
    assert commands == SCORING | OTHERS
    named = {word for name in globals() if name.startswith("test_of_") for word in name.split("_")}
    assert named >= {path.split()[-1] for path in SCORING}


# --- judged answers on several scales


def crag(query: str, run: str, good: bool) -> list[Row]:
    return [{"query_id": query, "run_id": run, "rubric": "crag", "label": "perfect" if good else "incorrect"}]


def liverag(query: str, run: str, good: bool) -> list[Row]:
    place = {"query_id": query, "run_id": run, "rubric": "liverag"}
    return [
        {**place, "aspect": "correctness", "grade": 2 if good else -1},
        {**place, "aspect": "faithfulness", "grade": 1 if good else -1},
    ]


def nuggets(query: str, run: str, good: bool) -> list[Row]:
    place = {"query_id": query, "run_id": run, "rubric": "nugget-assignment", "weight": 1.0}
    labels = ("support", "partial_support") if good else ("not_support", "not_support")
    return [
        {**place, "aspect": str(index), "importance": "vital" if not index else "okay", "label": label}
        for index, label in enumerate(labels)
    ]


def citations(query: str, run: str, good: bool) -> list[Row]:
    place = {"query_id": query, "run_id": run, "rubric": "citation-support", "sentences": 2}
    label = "full_support" if good else "no_support"
    return [{**place, "aspect": "0", "item_id": "d1", "label": label}]


SCALES: dict[str, tuple[Callable[[str, str, bool], list[Row]], list[str]]] = {
    "crag": (
        crag,
        ["crag_score", "accuracy", "hallucination", "answer_rate", "crag_share(over=pool)"],
    ),
    "liverag": (liverag, ["correctness", "faithfulness", "correctness_share(level=-1)"]),
    "nuggets": (nuggets, ["v_strict", "a", "w", "rubric_score", "nugget_recall(over=pool)"]),
    "citations": (citations, ["citation_precision", "citation_recall", "citation_recall(over=pool)"]),
}
scales = pytest.mark.parametrize("scale", SCALES)


def judged(scale: str, runs: Sequence[str] = ("a",), share: float = 0.7, seed: int = 1) -> list[Row]:
    rng, (rows, _) = random.Random(seed), SCALES[scale]
    judgements = [rows(query, run, rng.random() < share) for run in runs for query in QUERIES]
    return [{**row, "judge": "model"} for some in judgements for row in some]


def is_bad(row: Row) -> bool:
    return row.get("label") in ("incorrect", "not_support", "no_support") or row.get("grade", 0) < 0


def shorter(rows: Sequence[Row], run: str = "a") -> Iterator[list[Row]]:
    """The rows without a query of a system, and without eight of those that were wrong."""
    rng = random.Random(7)
    bad = sorted({row["query_id"] for row in rows if row["run_id"] == run and is_bad(row)})
    for number in (1, 8) * (DRAWS // 2):
        removed = set(rng.sample(bad, number))
        yield [row for row in rows if row["run_id"] != run or row["query_id"] not in removed]


def values(scale: str, rows: Sequence[Row], **more: Any) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_run = rageval.evaluate_answers(SCALES[scale][1], rows, on_missing="skip", **more)
    return {run: dict(zip(SCALES[scale][1], scores.scores, strict=True)) for run, scores in by_run.items()}


@pytest.mark.slow
@pytest.mark.some(4)
@scales
def test_of_score_the_whole_value_lies_within_the_bounds(scale: str) -> None:
    """Where the questions, another system, or human labels say that the query was asked."""
    questions = [{"query_id": query, "question": "?"} for query in QUERIES]
    for runs, more in ((("a",), {"questions": questions}), (("a", "b"), {})):
        rows = judged(scale, runs)
        whole = values(scale, rows, **more)["a"]
        for few in shorter(rows):
            for name, score in values(scale, few, **more)["a"].items():
                low, high = score.bounds or (score.value, score.value)
                assert low - 1e-12 <= whole[name].value <= high + 1e-12, (name, score)
                assert score.lost, name
        with pytest.raises(MissingJudgements):
            rageval.evaluate_answers(SCALES[scale][1], few, **more)


@pytest.mark.slow
@scales
def test_of_score_the_command_says_how_many_are_missing(scale: str, tmp_path: Path) -> None:
    few = next(shorter(judged(scale)))
    names = ",".join(SCALES[scale][1])
    asked = write_jsonl(tmp_path / "q.jsonl", [{"query_id": query, "question": "?"} for query in QUERIES])
    words = ("score", write_jsonl(tmp_path / "j.jsonl", few), "-m", names, "--questions", asked)
    assert run_command(*words).exit_code == 3
    result = run_command(*words, "--on-missing", "skip", "--format", "json")
    assert result.exit_code == 0
    for entry in json.loads(result.stdout)["results"]:
        assert entry["missing"] >= 1
        assert len(entry["bounds"]) == 2
    assert "a: answered 99 of 100 queries" in result.stderr
    better = "--require", f"{SCALES[scale][1][0]}>=0.0001"
    assert run_command(*words, "--on-missing", "skip", *better).exit_code in (0, 1)
    assert run_command(*words, "--intersection").exit_code == 0


def test_of_score_a_limit_holds_at_both_ends(tmp_path: Path) -> None:
    rows = judged("crag")
    mean = values("crag", rows)["a"]["crag_score"].value
    asked = write_jsonl(tmp_path / "q.jsonl", [{"query_id": query, "question": "?"} for query in QUERIES])
    limit = f"crag_score>={mean + 0.01:.4f}"
    for index, few in enumerate([rows, *shorter(rows)]):
        path = write_jsonl(tmp_path / f"{index}.jsonl", few)
        words = ("score", path, "-m", "crag_score", "--questions", asked, "--on-missing", "skip")
        assert run_command(*words, "--require", limit).exit_code == 1


# --- verdicts


@pytest.mark.slow
@pytest.mark.some(4)
@scales
def test_of_compare_no_verdict_is_won(scale: str) -> None:
    rows = judged(scale, ("a", "b"), 0.75)
    tested = [name for name in SCALES[scale][1] if "pool" not in name]
    better = {str(score.measure): score.measure.better for score in values(scale, rows)["a"].values()}

    def won(some: Sequence[Row]) -> set[str]:
        by_run = [
            Scores(run, tuple(scores[name] for name in tested)) for run, scores in values(scale, some).items()
        ]
        pairs = rageval.compare(by_run, test="t", **QUICK).pairs
        decided = [pair for pair in pairs if pair.verdict in ("higher", "lower")]
        return {pair.measure for pair in decided if is_a_better(pair, better[pair.measure])}

    def is_a_better(pair: Any, way: str) -> bool:
        higher = pair.run if pair.verdict == "higher" else pair.other
        return way != "neither" and (higher == "a") == (way == "higher")

    before = won(rows)
    for few in shorter(rows):
        assert won(few) <= before


def saved(tmp_path: Path, scale: str, rows: Sequence[Row], name: str = "base") -> Path:
    path = tmp_path / f"{name}.jsonl"
    words = ("gate", write_jsonl(tmp_path / f"of_{name}.jsonl", rows), "-m", SCALES[scale][1][0])
    assert run_command(*words, "--save-baseline", path).exit_code == 0
    return path


def verdict(rows: Sequence[Row], measure: str, baseline: Path, margin: float) -> str:
    try:
        return rageval.gate(rows, measures=measure, baseline=baseline, margin=margin, **QUICK).verdict
    except MissingJudgements:
        return "missing"


@pytest.mark.slow
@pytest.mark.some(4)
@scales
def test_of_gate_no_candidate_ships_for_what_it_lacks(scale: str, tmp_path: Path) -> None:
    """A candidate that is worse, less what was worse, does not ship; nor one that lost what was right."""
    rows, measure = judged(scale), SCALES[scale][1][0]
    base = saved(tmp_path, scale, rows)
    worse = judged(scale, share=0.6)
    for margin in (0.01, 0.2):
        assert verdict(rows, measure, base, margin) == "ship"
        whole = verdict(worse, measure, base, margin)
        for few in shorter(worse):
            decision = verdict(few, measure, base, margin)
            assert decision != "ship" or whole == "ship"
            assert decision == "missing" or len({row["query_id"] for row in few}) >= 98
    few = list(shorter(rows))[1]
    words = (
        "gate",
        write_jsonl(tmp_path / "c.jsonl", few),
        "-m",
        measure,
        "--baseline",
        base,
        "--margin",
        "0.2",
    )
    result = run_command(*words)
    assert (result.exit_code, "judged alike" in result.stderr) == (3, False)


@pytest.mark.slow
@pytest.mark.some(3)
@scales
def test_of_gate_a_baseline_that_lacks_rows_lets_nothing_ship(scale: str, tmp_path: Path) -> None:
    rows, measure = judged(scale), SCALES[scale][1][0]
    worse = judged(scale, share=0.6)
    fell = {
        row["query_id"] for row, other in zip(rows, worse, strict=True) if is_bad(other) and not is_bad(row)
    }
    rng = random.Random(5)
    for number in range(3):
        removed = set(rng.sample(sorted(fell), min(8, len(fell))))
        base = saved(
            tmp_path, scale, [row for row in rows if row["query_id"] not in removed], f"base{number}"
        )
        assert verdict(worse, measure, base, 0.02) != "ship"
    text = (tmp_path / "base0.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_text("".join(text[:-3]))
    words = ("gate", write_jsonl(tmp_path / "c.jsonl", worse), "-m", measure, "--margin", "0.02")
    assert run_command(*words, "--baseline", tmp_path / "cut.jsonl").exit_code == 2


def test_of_gate_the_questions_that_were_asked_count(tmp_path: Path) -> None:
    few = [row for row in judged("crag") if row["query_id"] not in QUERIES[:8]]
    base = saved(tmp_path, "crag", few)
    asked = write_jsonl(tmp_path / "q.jsonl", [{"query_id": query, "question": "?"} for query in QUERIES])
    words = ("gate", write_jsonl(tmp_path / "c.jsonl", few), "-m", "crag_score", "--questions", asked)
    assert run_command(*words, "--save-baseline", tmp_path / "other.jsonl").exit_code == 3
    assert run_command(*words, "--baseline", base, "--margin", "0.1").exit_code == 3


# --- human labels


def labels(rows: Sequence[Row], seed: int = 3) -> list[Row]:
    rng = random.Random(seed)
    chosen = set(rng.sample(QUERIES, 50))
    people = [{**row, "judge": "person:ann"} for row in rows if row["query_id"] in chosen]
    return [
        {**row, "label": "perfect" if rng.random() < 0.1 else row["label"]} if "label" in row else row
        for row in people
    ]


def test_of_correct_labels_and_what_they_label(tmp_path: Path) -> None:
    rows = judged("crag")
    people = labels(rows)
    gold = write_jsonl(tmp_path / "g.jsonl", people)

    def corrected(some: Sequence[Row], by: str, *more: str) -> Any:
        result = run_command(
            "label", "correct", write_jsonl(tmp_path / "j.jsonl", some), "--gold", by, "-m", "crag_score",
            "--format", "json", *more,
        )  # fmt: skip
        return result, json.loads(result.stdout)["results"][0] if result.exit_code == 0 else {}

    _, whole = corrected(rows, gold)
    removed = {row["query_id"] for row in people[:19]}
    few = [row for row in rows if row["query_id"] not in removed]
    assert corrected(few, gold)[0].exit_code == 3
    lacking, output = corrected(few, gold, "--on-missing", "skip")
    assert (output["missing"], "19 of the judge's judgements are missing" in lacking.stderr) == (19, True)
    assert output["least"] <= whole["judge"] <= output["most"]
    assert output["low"] <= whole["low"]
    assert output["high"] >= whole["high"]
    widths = []
    for seed in range(4):
        half = random.Random(seed).sample(people, 25)
        # Half of the labels are no uniform draw; who says that they are gets the wider interval.
        _, output = corrected(rows, write_jsonl(tmp_path / "h.jsonl", half), "--gold-chosen", "uniform")
        widths.append(output["high"] - output["low"])
    assert sum(widths) / 4 > whole["high"] - whole["low"]
    assert corrected(rows, write_jsonl(tmp_path / "h.jsonl", people[:15]))[1]["value"] is None


@pytest.mark.parametrize("command", ["compare", "score", "report", "gate"])
def test_of_score_compare_report_and_gate_labeled_answers_that_are_gone(command: str, tmp_path: Path) -> None:
    rows = judged("crag", ("a", "b") if command != "gate" else ("a",))
    removed = {row["query_id"] for row in labels(rows)[:6]}
    gold = write_jsonl(tmp_path / "g.jsonl", labels(rows))
    few = write_jsonl(tmp_path / "j.jsonl", [row for row in rows if row["query_id"] not in removed])
    words = [command, few, "-m", "crag_score", "--gold", gold]
    if command == "score":
        words += ["--by", "kind", "--questions", write_jsonl(tmp_path / "q.jsonl", [
            {"query_id": query, "question": "?", "kind": "all"} for query in QUERIES if query not in removed
        ])]  # fmt: skip
    words += ["-o", str(tmp_path / "page.html")] if command == "report" else []
    if command == "gate":
        words += ["--baseline", str(saved(tmp_path, "crag", rows)), "--margin", "0.1"]
    # A baseline without labels is refused (2); else judgements are missing (3).
    assert run_command(*words).exit_code == (2 if command == "gate" else 3)


# --- other commands


@pytest.mark.slow
def test_of_agree_agreement_lies_between_what_is_missing_may_make_it(tmp_path: Path) -> None:
    rows = judged("crag")
    gold = write_jsonl(tmp_path / "g.jsonl", labels(rows))

    def agreed(some: Sequence[Row]) -> Any:
        result = run_command(
            "label", "agree", write_jsonl(tmp_path / "j.jsonl", some), gold, "--format", "json"
        )
        assert result.exit_code == 0
        return json.loads(result.stdout)

    def share(agreement: Any) -> float:
        return sum(row[index] for index, row in enumerate(agreement["confusion"])) / agreement["compared"]

    whole = share(agreed(rows))
    for few in list(shorter(rows))[:4]:
        fewer = agreed(few)
        assert fewer["agreement_least"] - 1e-12 <= whole <= fewer["agreement_most"] + 1e-12
        assert fewer["missing"] == fewer["only_gold"]


def games() -> list[Row]:
    rng = random.Random(2)
    return [
        {"query_id": query, "run_id": run, "aspect": "ab", "label": label, "rubric": "pairwise"}
        for query in QUERIES[:40]
        for run, label in zip("ab", ("win", "loss") if rng.random() < 0.6 else ("loss", "win"), strict=True)
    ]


@pytest.mark.slow
def test_of_arena_a_game_that_is_gone_is_told(tmp_path: Path) -> None:
    rows = games()
    assert run_command("arena", write_jsonl(tmp_path / "j.jsonl", rows[1:])).exit_code == 2
    more = [{**row, "run_id": {"a": "b", "b": "c"}[row["run_id"]], "aspect": "bc"} for row in rows]
    result = run_command("arena", write_jsonl(tmp_path / "j.jsonl", [*rows[6:], *more]))
    assert (result.exit_code, "a and b met in 37 of 40 queries" in result.stderr) == (0, True)
    gold = write_jsonl(tmp_path / "g.jsonl", [{**row, "judge": "person:ann"} for row in rows])
    result = run_command("arena", write_jsonl(tmp_path / "k.jsonl", rows[6:]), "--gold", gold)
    assert result.exit_code == 2
    assert "the judge's comparison is missing in 3 of 40 queries" in result.stderr


def test_of_diagnose_answers_and_rankings_that_are_gone(tmp_path: Path) -> None:
    rows = judged("nuggets", ("a", "b"))
    qrels = {query: {str(number): {f"d{number}": 1} for number in range(2)} for query in QUERIES}
    run = {query: {"d0": 2.0, "d1": 1.0} for query in QUERIES}
    whole = diagnose(rows, run, qrels, system="a", resamples=100)
    few = next(shorter(rows))
    with pytest.raises(MissingJudgements):
        diagnose(few, run, qrels, system="a", resamples=100)
    for number in (1, 8):
        part = {query: run[query] for query in QUERIES[number:]}
        assert diagnose(rows, part, qrels, system="a", resamples=100).in_passages < whole.in_passages


# --- runs


def ranking(is_good: Callable[[int], bool]) -> dict[str, dict[str, float]]:
    return {
        query: {"good" if is_good(index) else "bad": 2.0, "other": 1.0} for index, query in enumerate(QUERIES)
    }


QRELS = {query: {"good": 1, "bad": 0, "other": 0} for query in QUERIES}
MEASURES = "ndcg@5,recall@1,rr,p@1"


@pytest.mark.slow
def test_of_compare_score_and_gate_a_run_that_lacks_queries_counts_them(tmp_path: Path) -> None:
    rng = random.Random(4)
    luck = [rng.random() for _ in QUERIES]
    one, other = ranking(lambda index: luck[index] < 0.7), ranking(lambda index: luck[index] < 0.75)
    for name, run in (("one", one), ("other", other)):
        lines = [f"{q} Q0 {doc} 1 {score} {name}\n" for q, docs in run.items() for doc, score in docs.items()]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    (tmp_path / "qrels").write_text(
        "".join(f"{q} 0 {doc} {grade}\n" for q, docs in QRELS.items() for doc, grade in docs.items())
    )
    base = tmp_path / "base.jsonl"
    files = (tmp_path / "qrels", "-m", "recall@1")
    assert run_command("gate", tmp_path / "other.run", *files, "--save-baseline", base).exit_code == 0
    whole = rageval.evaluate(MEASURES, one, QRELS)
    pair = rageval.compare("recall@1", {"one": one, "other": other}, QRELS).pairs[0]
    gated = rageval.gate(one, QRELS, "recall@1", baseline=base, margin=0.04).verdict
    order = {"ship": 2, "inconclusive": 1, "block": 0}
    for _ in range(4):
        removed = set(rng.sample([q for q in QUERIES if "bad" in one[q]], 8))
        few = {query: docs for query, docs in one.items() if query not in removed}
        scores = rageval.evaluate(MEASURES, few, QRELS)
        assert all(scores[name].value <= whole[name].value for name in scores)
        assert (
            rageval.compare("recall@1", {"one": few, "other": other}, QRELS).pairs[0].verdict == pair.verdict
        )
        assert order[rageval.gate(few, QRELS, "recall@1", baseline=base, margin=0.04).verdict] <= order[gated]


@pytest.mark.slow
def test_of_track_a_run_that_lacks_queries_counts_them(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("".join(f"{q} 0 good 1\n{q} 0 bad 0\n" for q in QUERIES))
    rows = {}
    for name, first in (("whole", 0), ("few", 8)):
        folder = tmp_path / name
        folder.mkdir()
        run = ranking(lambda index: index >= 8)
        lines = [
            f"{q} Q0 {d} {rank} {3 - rank} me\n" for q in QUERIES[first:] for rank, d in enumerate(run[q], 1)
        ]
        (folder / "me.run").write_text("".join(lines))
        result = run_command(
            "track", folder, "--track", "run", "--qrels", tmp_path / "qrels", "-m", "recall@1",
            "-o", tmp_path / f"out_{name}", "--stage", "score",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        rows[name] = json.loads((tmp_path / f"out_{name}" / "leaderboard.jsonl").read_text().splitlines()[0])
    assert rows["few"]["value"] <= rows["whole"]["value"]
    assert not math.isnan(rows["few"]["value"])


# --- human labels, where judgements of the judge or labels are missing

_Right = Callable[[int, str], object]


def of_two(right: _Right, judge: str, number: int, failed: _Right = lambda number, run: False) -> list[Row]:
    """Judgements of systems A and B, of which some failed."""
    rows = []
    for index in range(number):
        for run in "AB":
            row: Row = {"query_id": f"q{index:03}", "run_id": run, "rubric": "crag", "judge": judge}
            fields = {"status": "error"} if failed(index, run) else {"label": LABEL[bool(right(index, run))]}
            rows.append({**row, **fields})
    return rows


LABEL = {True: "perfect", False: "incorrect"}


def with_gold(tmp_path: Path, rows: Sequence[Row], gold: Sequence[Row] | None, *more: str) -> dict[str, Any]:
    """What each command says of B, by name: its verdict against A, or the interval of its mean."""
    words = [write_jsonl(tmp_path / "j.jsonl", rows), "-m", "crag_score", "--on-missing", "skip"]
    words += ["--gold", write_jsonl(tmp_path / "g.jsonl", gold)] if gold is not None else []
    words += more
    page, outputs = str(tmp_path / "page.html"), {}
    result = run_command("compare", *words, "--format", "json")
    outputs["compare"] = json.loads(result.stdout)
    assert run_command("report", *words, "-o", page).exit_code == 0
    shown = json.loads(run_command("report", "show", page, "--format", "json").stdout)
    outputs["report"] = {"values": shown["cells"], "pairs": shown["comparison"]["pairs"]}
    return outputs


@pytest.mark.slow
@pytest.mark.some(3)
@pytest.mark.parametrize("more", [[], ["--intersection"], ["--all-pairs", "--adjust", "max_t"]])
def test_of_compare_and_report_labels_do_not_replace_judgements_that_are_missing(
    more: list[str], tmp_path: Path
) -> None:
    def right(index: int, run: str) -> int:
        return index % 3 if run == "A" else index % 2

    def failed(index: int, run: str) -> bool:
        return run == "B" and not index % 2

    rows, gold = of_two(right, "m", 60, failed), of_two(right, "person:x", 60)
    whole = with_gold(tmp_path, of_two(right, "m", 60), gold, *more)
    alone = with_gold(tmp_path, rows, None, *more)
    for name, output in with_gold(tmp_path, rows, gold, *more).items():
        (pair,), (all_known,) = output["pairs"], whole[name]["pairs"]
        assert alone[name]["pairs"][0]["verdict"] == pair["verdict"] == "refused"
        assert "judgements are missing in 30 queries" in why(pair)
        assert pair["low"] <= all_known["low"] <= all_known["high"] <= pair["high"]
        for cell, complete in zip(output["values"], whole[name]["values"], strict=True):
            assert cell["low"] <= complete["low"] + 1e-9
            assert cell["high"] >= complete["high"] - 1e-9


def test_of_score_a_slice_with_labels_is_as_wide_as_missing_judgements_make_it(tmp_path: Path) -> None:
    rows, gold = (
        [{**row, "kind": "all"} for row in of_two(lambda index, run: index % 2, who, 60, failed)]
        for who, failed in (
            ("m", lambda index, run: run == "B" and not index % 2),
            ("person:x", lambda index, run: 0),
        )
    )
    result = run_command(
        "score", write_jsonl(tmp_path / "j.jsonl", rows), "-m", "crag_score", "--on-missing", "skip",
        "--by", "kind", "--gold", write_jsonl(tmp_path / "g.jsonl", gold), "--format", "json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    output = json.loads(result.stdout)["results"]
    (low, high), (least, most) = ((entry["slices"][0]["low"], entry["slices"][0]["high"]) for entry in output)
    assert least <= low < 0 < high <= most


# --- within a query: repeats, and nuggets


def repeated(runs: Sequence[str] = ("a", "b")) -> list[Row]:
    """Systems that are right in one of two answers to each query."""
    return [
        {"query_id": query, "run_id": run, "label": label, "judge": "person:ann", "repeat": index}
        for run in runs
        for query in QUERIES
        for index, label in enumerate(
            ("perfect", "incorrect") if int(query[1:]) % 2 else ("incorrect", "perfect")
        )
    ]


def only_good_repeats(rows: Sequence[Row], run: str) -> list[Row]:
    return [row for row in rows if row["run_id"] != run or not row["repeat"] or row["label"] == "perfect"]


@pytest.mark.slow
def test_of_score_compare_and_gate_a_repeat_that_only_some_queries_have(tmp_path: Path) -> None:
    """Where only wrong answers were asked for again, or only good second answers kept."""
    rows = repeated()
    few = only_good_repeats(rows, "b")
    path, whole = (
        write_jsonl(tmp_path / f"{name}.jsonl", some) for name, some in (("few", few), ("whole", rows))
    )
    for command in ("score", "compare"):
        result = run_command(command, path, "-m", "crag_score")
        assert (result.exit_code, "b: 50 of 100 queries have fewer than 2 answers" in result.stderr) == (
            3,
            True,
        )
    for where, expected in ((path, "refused"), (whole, "identical")):
        result = run_command("compare", where, "-m", "crag_score", "--on-missing", "skip", "--format", "json")
        (pair,) = json.loads(result.stdout)["pairs"]
        assert pair["ruling"] == expected, pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = rageval.evaluate_answers("crag_score", few, on_missing="skip")
    assert rageval.compare(scores, **QUICK).pairs[0].verdict not in ("higher", "lower")
    base = saved(tmp_path, "crag", repeated(["a"]))
    assert verdict(repeated(["a"]), "crag_score", base, 0.1) == "ship"
    assert verdict(only_good_repeats(repeated(["a"]), "a"), "crag_score", base, 0.1) == "missing"
    # One answer to each query, of which the baseline has two.
    best = [row for row in repeated(["a"]) if row["label"] == "perfect"]
    assert verdict([{**row, "repeat": 0} for row in best], "crag_score", base, 0.1) == "missing"
    # Three answers to each in place of two are fine.
    more = [*repeated(["a"]), *({**row, "repeat": 2} for row in best)]
    assert verdict(more, "crag_score", base, 0.1) in ("ship", "inconclusive")


def test_of_score_compare_and_gate_nuggets_that_are_gone(tmp_path: Path) -> None:
    """Where another system, another answer or a bank has nuggets that an answer was not judged by."""
    rows = [{**row, "rubric": "nugget-support"} for row in judged("nuggets", ("a", "b"), 0.5)]
    rows = [row for row in rows if row["aspect"] != "0" or row["query_id"] != QUERIES[0]]
    few = [
        row for row in rows if row["run_id"] != "b" or row["label"] != "not_support" or row["aspect"] == "0"
    ]
    path = write_jsonl(tmp_path / "few.jsonl", few)
    measures = "nugget_recall,nugget_recall(importance=vital),nugget_recall(credit=partial)"
    assert run_command("score", path, "-m", "nugget_recall").exit_code == 3
    words = ("score", path, "-m", "nugget_recall", "--on-missing", "skip")
    assert run_command(*words, "--require", "nugget_recall>=0.35").exit_code == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        true = rageval.evaluate_answers(measures, rows)["b"].scores
        scores = rageval.evaluate_answers(measures, few, on_missing="skip")["b"].scores
    for score, whole in zip(scores, true, strict=True):
        low, high = score.bounds or (score.value, score.value)
        assert low - 1e-12 <= whole.value <= high + 1e-12, score


@pytest.mark.parametrize(("lacking", "expected"), [(50, "refused"), (8, "inconclusive")])
def test_of_gate_a_baseline_that_lacks_queries_of_a_run(lacking: int, expected: str, tmp_path: Path) -> None:
    luck = random.Random(4)
    good = [luck.random() < 0.7 for _ in QUERIES]
    whole = ranking(lambda index: good[index])
    few = {query: docs for index, (query, docs) in enumerate(whole.items()) if index >= lacking}
    # Where the baseline says nothing the candidate finds everything.
    candidate = ranking(lambda index: index < lacking or good[index])
    base = tmp_path / "base.jsonl"
    files = (tmp_path / "qrels", "-m", "recall@1")
    (tmp_path / "qrels").write_text(
        "".join(f"{q} 0 {doc} {grade}\n" for q, docs in QRELS.items() for doc, grade in docs.items())
    )
    for name, run in (("few", few), ("candidate", candidate)):
        lines = [f"{q} Q0 {doc} 1 {score} {name}\n" for q, docs in run.items() for doc, score in docs.items()]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    assert run_command("gate", tmp_path / "few.run", *files, "--save-baseline", base).exit_code == 0
    worse = {**candidate, **{QUERIES[index]: {"bad": 2.0, "other": 1.0} for index in (20, 21, 60, 61)}}
    try:
        report = rageval.gate(worse, QRELS, "recall@1", baseline=base, margin=0.05)
    except InputError:
        assert expected == "refused"
    else:
        assert (report.verdict, any("in the baseline" in remark for remark in map(str, report.remarks))) == (
            expected,
            True,
        )


def truth(index: int, run: str) -> int:
    return (index // (2 if run == "A" else 3)) % 2


def mistaken(index: int, run: str) -> int:
    return truth(index, run) ^ (index % 5 < 2)


@pytest.mark.slow
def test_of_correct_compare_score_and_report_human_labels_that_failed_are_told(tmp_path: Path) -> None:
    rows = [{**row, "kind": "all"} for row in of_two(mistaken, "m", 120)]
    gold = of_two(truth, "person:x", 60, lambda index, run: run == "B" and bool(truth(index, run)))
    for name, output in with_gold(tmp_path, rows, gold).items():
        (pair,) = output["pairs"]
        assert (name, pair["ruling"], pair["difference"]) == (name, "refused", None)
        assert "30 of 60 labels failed" in why(pair)
        assert [cell["value"] is None for cell in output["values"]] == [False, True]
    words = [str(tmp_path / "j.jsonl"), "--gold", str(tmp_path / "g.jsonl"), "-m", "crag_score"]
    for command in (["label", "correct"], ["score", "--by", "kind"], ["compare"]):
        result = run_command(*command, *words, "--format", "json")
        assert "B: crag_score: 30" in result.stderr
        assert "labels failed" in result.stderr
        results = json.loads(result.stdout).get("results", [])
        assert [(entry.get("slices") or [entry])[0]["low"] is None for entry in results[1:]] == [True] * (
            command != ["compare"]
        )
    # One in sixty is a remark.
    gold = of_two(truth, "person:x", 60, lambda index, run: run == "B" and index == 59)
    output = with_gold(tmp_path, rows, gold)["compare"]
    assert (output["pairs"][0]["ruling"], output["pairs"][0]["labels"]) == ("undecided", 59)
    assert "1 of 60 labels failed" in json.dumps(output["remarks"]) + run_command("compare", *words).stderr


def test_of_gate_human_labels_that_failed_decide_nothing(tmp_path: Path) -> None:
    all_rows = of_two(truth, "m", 120)
    base, rows = ([row for row in all_rows if row["run_id"] == run] for run in "AB")
    labels = [{**row, "judge": "person:x"} for row in rows]
    few = [
        {**{name: value for name, value in row.items() if name != "label"}, "status": "error"}
        if row["label"] == "incorrect" else row
        for row in labels
    ]  # fmt: skip
    people = write_jsonl(tmp_path / "gb.jsonl", [{**row, "judge": "person:x"} for row in base])
    words = ["gate", "-m", "crag_score"]
    failed = write_jsonl(tmp_path / "gc.jsonl", few)
    rows_of, saved_as = write_jsonl(tmp_path / "c.jsonl", rows), str(tmp_path / "base.json")
    base_of = write_jsonl(tmp_path / "b.jsonl", base)
    assert run_command(*words, base_of, "--gold", people, "--save-baseline", saved_as).exit_code == 0
    result = run_command(*words, rows_of, "--baseline", saved_as, "--margin", "0.05", "--gold", failed)
    assert result.exit_code == 5, result.output
    assert "60 of 120 labels failed" in result.output
    # Nor do they become what others are held against.
    result = run_command(*words, rows_of, "--gold", failed, "--save-baseline", str(tmp_path / "other.json"))
    assert result.exit_code == 3
    assert "labels failed" in result.stderr


@pytest.mark.slow
def test_of_compare_labels_by_more_people_for_one_system_are_refused(tmp_path: Path) -> None:
    more = [row for row in of_two(lambda index, run: 1, "person:y", 60)
            if row["run_id"] == "A" and not truth(int(row["query_id"][1:]), "A")]  # fmt: skip
    rows, gold = of_two(mistaken, "m", 120), of_two(truth, "person:x", 60)
    for output in with_gold(tmp_path, rows, [*gold, *more]).values():
        assert output["pairs"][0]["ruling"] == "refused"
        assert "different annotators labeled the two systems in 30 of 60" in why(output["pairs"][0])
    both = [*gold, *of_two(truth, "person:y", 60)]
    assert with_gold(tmp_path, rows, both)["compare"]["pairs"][0]["ruling"] == "undecided"


def battles(judge: str, failed: Callable[[int], bool] = lambda number: False) -> list[Row]:
    """Games of A and B, of which A wins all but each third."""
    rows = []
    for index in range(80):
        for run, label in zip("AB", ("win", "loss") if index % 3 else ("loss", "win"), strict=True):
            row = {"query_id": f"q{index:02}", "run_id": run, "aspect": "ab", "judge": judge}
            rows.append({**row, **({"status": "error"} if failed(index) else {"label": label})})
    return rows


def test_of_arena_games_that_failed_are_told_and_labels_that_are_used_counted(tmp_path: Path) -> None:
    def ranked(some: Sequence[Row], people: Sequence[Row]) -> Any:
        words = [write_jsonl(tmp_path / "j.jsonl", some), "--gold", write_jsonl(tmp_path / "g.jsonl", people)]
        return run_command("arena", *words, "--format", "json")

    def lost(index: int) -> bool:
        return not index % 3

    result = ranked(battles("m", lost), battles("person:x"))
    assert (result.exit_code, "missing in 27 of 80 queries" in result.stderr) == (2, True)
    removed = [row for row in battles("m") if int(row["query_id"][1:]) % 3]
    assert ranked(removed, battles("person:x")).exit_code == 2
    result = ranked(battles("m"), battles("person:x", lost))
    assert (result.exit_code, "27 of 80 labels failed" in result.stderr) == (2, True)
    result = ranked(battles("m", lambda index: index == 3), battles("person:x"))
    assert "missing in 1 of 80 queries" in result.stderr
    assert [row["labels"] for row in json.loads(result.stdout)] == [79, 79]
