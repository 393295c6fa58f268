"""Claims by people's labels: what is read, what is computed, what is refused, by every command."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import rageval
from commands import run_checked, write_jsonl
from rageval.errors import InputError
from rageval.views import comparisons as tables
from reasons import why

Row = dict[str, Any]
N = 120
QUERIES = [f"q{number:03d}" for number in range(N)]
LABELS = {1.0: "perfect", 0.5: "acceptable", 0.0: "missing", -1.0: "incorrect"}


def row(query: str, run: str, value: float, judge: str, **more: Any) -> Row:
    return {
        "query_id": query,
        "run_id": run,
        "label": LABELS[value],
        "judge": judge,
        "rubric": "crag",
        **more,
    }


def judged(
    seed: int = 1, lenient: float = 0.3, systems: Sequence[str] = ("ours", "theirs")
) -> tuple[list[Row], list[Row]]:
    """What a judge who is lenient to the first system says of all, and what people say of all."""
    rng = random.Random(seed)
    judgements, people = [], []
    for index, query in enumerate(QUERIES):
        for run in systems:
            truth = rng.choice((1.0, 0.5, 0.0, -1.0))
            seen = truth if rng.random() < 0.8 else rng.choice((1.0, 0.0, -1.0))
            if run == systems[0] and rng.random() < lenient:
                seen = 1.0
            field = {"domain": "ab"[index % 2]}
            judgements.append(row(query, run, seen, "openai:model", **field))
            people.append(row(query, run, truth, "person:ann", **field))
    return judgements, people


def first(rows: Iterable[Row], queries: Iterable[str]) -> list[Row]:
    kept = set(queries)
    return [row for row in rows if row["query_id"] in kept]


def drawn(number: int, seed: int = 5) -> list[str]:
    return random.Random(seed).sample(QUERIES, number)


WORTH = {label: value for value, label in LABELS.items()}


def by_hand(judgements: list[Row], people: list[Row], labeled: Sequence[str]) -> tuple[float, float]:
    """The estimate and half its interval's width, by the formulas alone, for labels of which many differ."""
    from scipy.stats import t

    def values(rows: list[Row]) -> dict[str, float]:
        grades: dict[str, float] = {}
        for row in rows:
            sign = 1 if row["run_id"] == "ours" else -1
            grades[row["query_id"]] = grades.get(row["query_id"], 0.0) + sign * WORTH[row["label"]]
        return grades

    e, d = values(judgements), values(people)
    n, total = len(labeled), len(e)
    mean_e, mean_here = sum(e.values()) / total, sum(e[q] for q in labeled) / n
    mean_d = sum(d[q] for q in labeled) / n
    square = sum((e[q] - mean_here) ** 2 for q in labeled)
    slope = sum((e[q] - mean_here) * (d[q] - mean_d) for q in labeled) / square
    variance = 0.0
    for q in labeled:
        rest = d[q] - mean_d - slope * (e[q] - mean_here)
        lever = 1 / n + (e[q] - mean_here) ** 2 / square
        weight = 1 / n + (mean_e - mean_here) * (e[q] - mean_here) / square
        variance += weight**2 * (rest / max(1 - lever, 0.05)) ** 2
    spread = sum((d[q] - mean_d) ** 2 for q in labeled) / (n - 1)
    variance = variance * (1 - n / total) + spread / total
    return mean_d + slope * (mean_e - mean_here), float(t.ppf(0.975, n - 2)) * math.sqrt(variance)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    judgements, people = judged()
    labeled = write_jsonl(tmp_path / "people.jsonl", first(people, drawn(60)))
    return [write_jsonl(tmp_path / "judged.jsonl", judgements), "--gold", labeled]


def compared(*words: object, measure: str = "crag_score") -> dict[str, Any]:
    comparison: dict[str, Any] = json.loads(
        run_checked("compare", *words, "-m", measure, "--format", "json").stdout
    )
    return comparison


# --- the numbers


def test_the_corrected_difference_is_the_formula(files: list[str]) -> None:
    judgements, people = judged()
    comparison = compared(*files, "--baseline", "theirs")
    (pair,) = comparison["pairs"]
    value, half = by_hand(judgements, first(people, drawn(60)), drawn(60))
    assert pair["difference"] == pytest.approx(value, abs=1e-12)
    assert (pair["high"] - pair["low"]) / 2 == pytest.approx(half, abs=1e-12)
    truth = {
        run: sum(WORTH[row["label"]] for row in people if row["run_id"] == run) / N
        for run in ("ours", "theirs")
    }
    assert pair["low"] < truth["ours"] - truth["theirs"] < pair["high"]
    alone = compared(files[0], "--baseline", "theirs")["pairs"][0]
    assert pair["judged"] == pytest.approx(alone["difference"], abs=1e-12)
    assert alone["verdict"] == "higher by openai:model"
    ruling = "higher" if pair["adjusted"] <= 0.05 and pair["difference"] > 0 else "undecided"
    assert (pair["ruling"], pair["basis"], pair["drawn"]) == (ruling, "people", "unstated")
    assert (pair["labels"], pair["queries"]) == (60, N)
    assert pair["gain"] > 60
    sha = hashlib.sha256(Path(files[2]).read_bytes()).hexdigest()[:8]
    assert f"|gold:{sha}|labels:60|chosen:unsaid|estimator:reg|" in comparison["signature"]
    assert comparison["signature"].startswith("compare|test:t|draws:10000|adjust:max_t|")


@pytest.mark.slow
def test_python_and_the_command_say_the_same(files: list[str]) -> None:
    judgements, people = judged()
    scores = rageval.evaluate_answers("crag_score", judgements, gold=files[2])
    pair = rageval.compare(scores, baseline="theirs").pairs[0]
    (printed,) = compared(*files, "--baseline", "theirs")["pairs"]
    assert pair.record() | {"reasons": []} == printed | {"reasons": []}
    in_memory = rageval.evaluate_answers(
        "crag_score", judgements, gold=first(people, drawn(60)), gold_chosen="uniform"
    )
    comparison = rageval.compare(in_memory, baseline="theirs")
    assert comparison.pairs[0].difference == pair.difference
    assert "|chosen:uniform|" in comparison.signature
    assert "by openai:model" not in repr(comparison)


def test_labels_of_everything_are_a_paired_t_test(tmp_path: Path) -> None:
    from scipy.stats import ttest_rel

    judgements, people = judged()
    scores = rageval.evaluate_answers("crag_score", judgements, gold=people)
    pair = rageval.compare(scores, baseline="theirs").pairs[0]
    ours, theirs = (
        [WORTH[row["label"]] for row in people if row["run_id"] == run] for run in ("ours", "theirs")
    )
    assert pair.difference == pytest.approx((sum(ours) - sum(theirs)) / N, abs=1e-12)
    assert pair.p == pytest.approx(ttest_rel(ours, theirs).pvalue, rel=1e-9)


def test_of_this_set_alone_the_interval_is_narrower(files: list[str]) -> None:
    kind, of_set = (compared(*files, "--population", target) for target in ("kind", "set"))
    width = [pair["pairs"][0]["high"] - pair["pairs"][0]["low"] for pair in (kind, of_set)]
    assert width[1] < width[0]
    assert "|population:set|" in of_set["signature"]


@pytest.mark.slow
def test_a_clear_difference_is_claimed_without_a_word_of_the_judge(tmp_path: Path) -> None:
    rows = [
        row(query, run, 1.0 if run == "good" and index % 7 else 0.0, judge)
        for index, query in enumerate(QUERIES)
        for run in ("good", "bad")
        for judge in ["openai:model", *(["person:ann"] if index % 2 else [])]
    ]
    judgements, people = (
        [row for row in rows if row["judge"].startswith(who)] for who in ("openai", "person")
    )
    words = [write_jsonl(tmp_path / "j", judgements), "--gold", write_jsonl(tmp_path / "g", people)]
    words += ["--gold-chosen", "uniform"]
    (pair,) = compared(*words)["pairs"]
    assert (pair["run"], pair["verdict"], pair["better_run"]) == ("bad", "lower", "good")
    (worse,) = compared(*words, measure="crag_share(label=missing)")["pairs"]
    assert (worse["verdict"], worse["better_run"]) == ("worse", "good")
    for style in ("table", "md", "latex", "csv", "json"):
        assert (
            "by openai:model"
            not in run_checked("compare", *words, "-m", "crag_score", "--format", style).stdout
        )


def test_a_judge_that_turns_the_order_round_is_corrected(tmp_path: Path) -> None:
    """The judge's favourite is bold, the baseline and better of nobody: what people say decides."""
    judgements = [
        row(query, run, 1.0 if run == "liked" else 0.5, "m") for query in QUERIES for run in ("liked", "good")
    ]
    people = [
        row(query, run, 0.0 if run == "liked" else 1.0, "person:a")
        for query in QUERIES[:60]
        for run in ("liked", "good")
    ]
    people[0]["label"] = "perfect"
    comparison = compared(
        write_jsonl(tmp_path / "j", judgements), "--gold", write_jsonl(tmp_path / "g", people)
    )
    assert {cell["run"]: cell["is_best"] for cell in comparison["values"]} == {"liked": False, "good": True}
    (pair,) = comparison["pairs"]
    assert (pair["run"], pair["other"], pair["ruling"], pair["better_run"]) == (
        "good",
        "liked",
        "higher",
        "good",
    )
    assert pair["judged"] == -0.5
    latex = run_checked(
        "compare", tmp_path / "j", "--gold", tmp_path / "g", "-m", "crag_score", "--format", "latex"
    ).stdout
    assert "liked & \\textbf" not in latex


def test_p_is_adjusted_for_all_pairs(tmp_path: Path) -> None:
    judgements, people = judged(systems=("a", "b", "c"))
    scores = rageval.evaluate_answers("crag_score", judgements, gold=first(people, drawn(50)))
    comparison = rageval.compare(scores, all_pairs=True, adjust="holm")
    p = sorted(pair.p for pair in comparison.pairs)
    assert sorted(pair.adjusted for pair in comparison.pairs)[0] == pytest.approx(min(1.0, 3 * p[0]))
    together = rageval.compare(scores, all_pairs=True, adjust="max_t")
    assert all(pair.p <= pair.adjusted <= 1 for pair in together.pairs)
    assert "|draws:10000|adjust:max_t|" in together.signature


def test_clusters_widen_the_interval_of_corrected_differences() -> None:
    judgements, people = judged()
    scores = rageval.evaluate_answers("crag_score", judgements, gold=first(people, drawn(60)))
    clusters = {query: query[:3] for query in QUERIES}
    comparison = rageval.compare(scores, clusters=clusters)
    assert comparison.pairs[0].p != rageval.compare(scores).pairs[0].p
    few = rageval.compare(scores, clusters={query: (query[-1] < "5" and "x") or "y" for query in QUERIES})
    assert few.pairs[0].verdict == "refused"
    assert "clusters" in why(few.pairs[0])


@pytest.mark.slow
def test_stated_chances_are_weights(tmp_path: Path) -> None:
    judgements, people = judged()
    labeled = first(people, drawn(60))
    chances = {query: 0.25 if query < "q060" else 0.75 for query in QUERIES}
    even = rageval.compare(
        rageval.evaluate_answers("crag_score", judgements, gold=labeled, gold_chosen="uniform")
    )
    uneven = rageval.compare(
        rageval.evaluate_answers("crag_score", judgements, gold=labeled, gold_chosen=chances)
    )
    assert uneven.pairs[0].difference != even.pairs[0].difference
    alike = dict.fromkeys(QUERIES, 0.5)
    same = rageval.compare(
        rageval.evaluate_answers("crag_score", judgements, gold=labeled, gold_chosen=alike)
    )
    assert same.pairs[0].difference == pytest.approx(even.pairs[0].difference, abs=1e-12)
    (tmp_path / "chances").write_text("".join(f"{query} {chance}\n" for query, chance in chances.items()))
    words = [
        write_jsonl(tmp_path / "j", judgements),
        "--gold",
        write_jsonl(tmp_path / "g", labeled),
        "--gold-chosen",
        tmp_path / "chances",
    ]
    comparison = compared(*words)
    assert comparison["pairs"][0]["difference"] == pytest.approx(uneven.pairs[0].difference, abs=1e-12)
    assert "|chosen:stated@" in comparison["signature"]
    (tmp_path / "chances").write_text("q000 0.5\n")
    assert (
        "have no probability of being chosen"
        in run_checked("compare", *words, "-m", "crag_score", code=2).stderr
    )


@pytest.mark.slow
@pytest.mark.some(3)
@pytest.mark.parametrize("head", ["compare", "label correct", "report -o page.html"])
def test_chances_that_the_labels_contradict_are_refused_or_doubted(
    head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    judgements, people = judged()
    path, labeled = tmp_path / "chances", drawn(60)
    judged_in, labels = (
        write_jsonl(tmp_path / "j", judgements),
        write_jsonl(tmp_path / "g", first(people, labeled)),
    )
    words = (judged_in, "--gold", labels, "--gold-chosen", path, "-m", "crag_score")

    def stated(queries: Iterable[str], chance: float) -> None:
        path.write_text("".join(f"{query} {chance}\n" for query in queries))

    stated(QUERIES, 1.0)
    assert (
        "60 queries with a probability of 1 have no label"
        in run_checked(*head.split(), *words, code=2).stderr
    )
    stated(QUERIES, 0.01)
    assert "the probabilities may be wrong" in run_checked(*head.split(), *words).stderr
    # The right ones, and those of labeled queries alone, which need not add up.
    for queries, chance in ((QUERIES, 0.5), (labeled, 0.2), (labeled, 1.0)):
        stated(queries, chance)
        assert "doubtful" not in run_checked(*head.split(), *words).stderr


# --- what is refused, and what is said


def test_a_pair_that_people_did_not_label_is_never_decided_by_the_judge(tmp_path: Path) -> None:
    judgements, people = judged(lenient=0.9)
    for number in (0, 1, 19):
        labeled = first(people, drawn(number)) or [row("q000", "ours", 1.0, "person:a")]
        scores = rageval.evaluate_answers("crag_score", judgements, gold=labeled)
        pair = rageval.compare(scores).pairs[0]
        assert pair.verdict == "refused"
        assert why(pair) == f"labels for {number:,} of both (≥ 20 needed)"
        assert math.isnan(pair.difference)
        assert math.isnan(pair.p)
        assert pair.better_run is None
    one_only = [row for row in first(people, drawn(60)) if row["run_id"] == "ours"]
    comparison = rageval.compare(rageval.evaluate_answers("crag_score", judgements, gold=one_only))
    assert why(comparison.pairs[0]) == "labels for 0 of both (≥ 20 needed)"
    assert math.isnan(comparison.cell("theirs", "crag_score").value)
    assert "no corrected mean: labels for 0 of it" in " ".join(map(str, comparison.remarks))


def test_the_judge_itself_is_no_gold(tmp_path: Path) -> None:
    judgements, _ = judged()
    renamed = [{**row, "judge": "openai:model@3f2a"} for row in judgements]
    path = write_jsonl(tmp_path / "j", judgements)
    result = run_checked(
        "compare", path, "--gold", write_jsonl(tmp_path / "g", renamed), "-m", "crag_score", code=2
    )
    assert "judgements by the judge itself (openai:model@3f2a)" in result.stderr
    nameless = [{key: value for key, value in row.items() if key != "judge"} for row in judgements]
    path = write_jsonl(tmp_path / "k", nameless)
    assert (
        "has judgements by the judge"
        in run_checked("compare", path, "--gold", path, "-m", "crag_score", code=2).stderr
    )


def test_another_model_is_taken_for_people_only_with_a_word(tmp_path: Path) -> None:
    judgements, people = judged()
    other = [{**row, "judge": "anthropic:model"} for row in people]
    result = run_checked(
        "compare",
        write_jsonl(tmp_path / "j", judgements),
        "--gold",
        write_jsonl(tmp_path / "g", other),
        "-m",
        "crag_score",
    )
    assert "no human labels: claims are by anthropic:model, and include its errors" in result.stderr
    mixed = write_jsonl(tmp_path / "m", [*other[:40], *people[40:]])
    result = run_checked("compare", tmp_path / "j", "--gold", mixed, "-m", "crag_score")
    assert "no human labels" not in result.stderr
    assert "not human labels alone: claims are by" in result.stderr


def test_contradictions_are_refused_with_both_lines(tmp_path: Path) -> None:
    judgements, people = judged()
    twice = [*people, {**people[0], "label": "missing"}]
    result = run_checked(
        "compare",
        write_jsonl(tmp_path / "j", judgements),
        "--gold",
        write_jsonl(tmp_path / "g", twice),
        "-m",
        "crag_score",
        code=2,
    )
    assert f"{tmp_path / 'g'}:241" in result.stderr
    assert f"was judged before, in {tmp_path / 'g'}:1" in result.stderr


def test_labels_of_strange_queries_and_systems_are_reported(tmp_path: Path) -> None:
    judgements, people = judged()
    strange = [*people, row("nowhere", "ours", 1.0, "person:ann"), row("q000", "nobody", 1.0, "person:ann")]
    words = [
        "compare",
        write_jsonl(tmp_path / "j", judgements),
        "--gold",
        write_jsonl(tmp_path / "g", strange),
        "-m",
        "crag_score",
    ]
    assert "ours: 1 judgement that crag_score needs is missing" in run_checked(*words, code=3).stderr
    result = run_checked(*words, "--on-missing", "skip", "--details")
    assert "1 systems are not among the judged ones: nobody" in result.stderr
    assert "1 queries are not among the judged ones: nowhere" in result.stderr
    with pytest.raises(InputError, match="has no labels for the"):
        rageval.evaluate_answers("crag_score", judgements, gold=[row("nowhere", "ours", 1.0, "person:a")])


def test_a_label_that_failed_is_none(tmp_path: Path) -> None:
    judgements, people = judged()
    labeled = first(people, drawn(60))
    lost = {key: value for key, value in labeled[0].items() if key != "label"} | {"status": "refused"}
    with pytest.warns(UserWarning, match="1 of 60 labels failed"):
        scores = rageval.evaluate_answers("crag_score", judgements, gold=[lost, *labeled[1:]])
    assert rageval.compare(scores).pairs[0].labels == 59


def test_labels_that_are_no_random_draw_are_warned_of(tmp_path: Path) -> None:
    judgements, people = judged(lenient=0.0)
    liked = [row["query_id"] for row in judgements if row["run_id"] == "ours" and row["label"] == "perfect"]
    words = [
        write_jsonl(tmp_path / "j", judgements),
        "--gold",
        write_jsonl(tmp_path / "g", first(people, liked)),
        "-m",
        "crag_score",
    ]
    assert "so the labels are not a random draw" in run_checked("compare", *words).stderr
    (pair,) = json.loads(run_checked("compare", *words, "--format", "json").stdout)["pairs"]
    assert pair["ruling"] == "refused"
    # Who says that the draw was uniform may know it; it stays a doubt.
    result = run_checked("compare", *words, "--gold-chosen", "uniform", "--format", "json")
    assert "which is unlikely for a uniform draw" in result.stderr
    assert json.loads(result.stdout)["pairs"][0]["ruling"] != "refused"


def test_options_about_labels_need_labels(files: list[str]) -> None:
    for words in (["--gold-chosen", "uniform"], ["--population", "set"]):
        assert (
            "add --gold FILE" in run_checked("compare", files[0], "-m", "crag_score", *words, code=2).stderr
        )
    result = run_checked("compare", *files, "-m", "crag_score", "--gold-chosen", "nosuch", code=2)
    assert "nosuch: no such file; expected uniform, a plan" in result.stderr


def test_what_rests_on_no_judgement_is_not_corrected(tmp_path: Path) -> None:
    judgements, people = judged()
    answers = [
        {
            "query_id": row["query_id"],
            "run_id": row["run_id"],
            "question": "?",
            "answer": "a b" * len(row["run_id"]),
        }
        for row in judgements
    ]
    with pytest.warns(UserWarning, match="cannot correct length"):
        scores = rageval.evaluate_answers(
            "crag_score length", judgements, answers=answers, gold=first(people, drawn(60))
        )
    pairs = {pair.measure: pair for pair in rageval.compare(scores).pairs}
    assert str(pairs["crag_score"].basis) == "people"
    assert (str(pairs["length"].basis), pairs["length"].labels) == ("words", None)


# --- nuggets: all of the same list, or no label


def nuggets(query: str, run: str, labels: Sequence[str], judge: str, names: str = "abcd") -> list[Row]:
    return [
        {
            "query_id": query,
            "run_id": run,
            "aspect": name,
            "label": label,
            "judge": judge,
            "rubric": "nugget-assignment",
        }
        for name, label in zip(names, labels, strict=False)
    ]


def of_nuggets(rng: random.Random, judge: str, number: int = 4, names: str = "abcd") -> list[Row]:
    labels = ("support", "partial_support", "not_support")
    return [
        row
        for query in QUERIES[:40]
        for run in ("ours", "theirs")
        for row in nuggets(query, run, [rng.choice(labels) for _ in range(number)], judge, names)
    ]


def test_a_query_that_people_judged_in_part_is_no_label_and_counted() -> None:
    rng = random.Random(3)
    judgements, people = of_nuggets(rng, "m"), of_nuggets(rng, "person:a")
    part = [row for row in people if row["query_id"] > "q009" or row["aspect"] in "ab"]
    with pytest.warns(UserWarning, match="10 queries were labeled only in part, or by another list"):
        scores = rageval.evaluate_answers("nugget_recall", judgements, gold=part)
    assert rageval.compare(scores).pairs[0].labels == 30
    score = scores["ours"]["nugget_recall"]
    assert score.people is not None
    assert sorted(score.people.partly) == QUERIES[:10]
    whole = rageval.evaluate_answers("nugget_recall", people)["ours"]["nugget_recall"].by_query
    assert score.people.values == {query: whole[query] for query in QUERIES[10:40]}


def test_another_list_of_nuggets_is_no_label() -> None:
    rng = random.Random(3)
    judgements, people = of_nuggets(rng, "m"), of_nuggets(rng, "person:a", names="abcx")
    with pytest.warns(UserWarning, match="40 queries were labeled only in part, or by another list"):
        scores = rageval.evaluate_answers("nugget_recall", judgements, gold=people)
    assert why(rageval.compare(scores).pairs[0]) == "labels for 0 of both (≥ 20 needed)"


# --- several people


def test_of_several_people_the_mean_counts() -> None:
    """Two who differ say something between; who labeled an answer alone counts alone."""
    judgements, people = judged()
    labeled = first(people, drawn(60))
    second = [{**row, "judge": "person:bob", "label": "missing"} for row in labeled[:20]]
    scores = rageval.evaluate_answers("crag_score", judgements, gold=[*labeled, *second])
    estimate = scores["ours"]["crag_score"].people
    assert estimate is not None
    by_ann = {row["query_id"]: WORTH[row["label"]] for row in labeled if row["run_id"] == "ours"}
    by_bob = {row["query_id"] for row in second if row["run_id"] == "ours"}
    assert estimate.values == {q: value / 2 if q in by_bob else value for q, value in by_ann.items()}


def test_who_judged_in_part_does_not_spoil_who_judged_all() -> None:
    rng = random.Random(3)
    judgements, people = of_nuggets(rng, "m"), of_nuggets(rng, "person:a")
    part = [row for row in of_nuggets(rng, "person:b") if row["aspect"] == "a"]
    scores = rageval.evaluate_answers("nugget_recall", judgements, gold=[*people, *part])
    estimate = scores["ours"]["nugget_recall"].people
    assert estimate is not None
    assert (len(estimate.values), estimate.partly) == (40, frozenset())


# --- documents


def of_runs(tmp_path: Path, number: int = N) -> tuple[list[str], Path, Path]:
    """Two runs, a model's judgements that favour the first, and people's of some queries."""
    rng = random.Random(7)
    lines: dict[str, list[str]] = {"good.run": [], "bad.run": []}
    model, people = [], []
    for query in QUERIES[:number]:
        docs = [f"d{index}" for index in range(6)]
        for name, column in lines.items():
            order = rng.sample(docs, 6)
            column += [f"{query} Q0 {doc} {index + 1} {9 - index} {name}" for index, doc in enumerate(order)]
        for doc in docs:
            truth = rng.random() < 0.4
            model.append(f"{query} 0 {doc} {int(truth if rng.random() < 0.8 else not truth)}")
            people.append(f"{query} 0 {doc} {int(truth)}")
    for name, column in lines.items():
        (tmp_path / name).write_text("\n".join(column) + "\n")
    (tmp_path / "model.qrels").write_text("\n".join(model) + "\n")
    kept = set(drawn(50))
    (tmp_path / "people.qrels").write_text("".join(f"{line}\n" for line in people if line.split()[0] in kept))
    runs = [str(tmp_path / name) for name in lines]
    return runs, tmp_path / "model.qrels", tmp_path / "people.qrels"


@pytest.mark.slow
def test_peoples_qrels_over_a_models_a_query_at_a_time(tmp_path: Path) -> None:
    runs, model, people = of_runs(tmp_path)
    (pair,) = compared(*runs, model, "--gold", people, measure="nDCG@5")["pairs"]
    assert (pair["labels"], pair["queries"], pair["basis"]) == (50, N, "people")
    values = [rageval.evaluate("nDCG@5", run, people)["nDCG@5"].by_query for run in runs]
    order = {"good.run": 0, "bad.run": 1}
    one, other = (values[order[pair[name]]] for name in ("run", "other"))
    assert pair["people"] == pytest.approx(sum(one[q] - other[q] for q in one) / 50, abs=1e-12)
    in_python = rageval.compare("nDCG@5", runs, model, gold=people).pairs[0]
    assert in_python.difference == pair["difference"]
    scored = [rageval.evaluate("nDCG@5", run, model, gold=people) for run in runs]
    assert rageval.compare(scored).pairs[0].difference == pair["difference"]


def test_a_ranking_that_people_judged_in_part_is_no_label(tmp_path: Path) -> None:
    runs, model, people = of_runs(tmp_path)
    lines = people.read_text().splitlines()
    query = lines[0].split()[0]
    people.write_text("\n".join(line for line in lines if not line.startswith(f"{query} 0 d0")) + "\n")
    result = run_checked("compare", *runs, model, "--gold", people, "-m", "recall@6", "--format", "json")
    assert "1 query was labeled only in part" in result.stderr
    assert json.loads(result.stdout)["pairs"][0]["labels"] == 49


def test_gold_of_documents_as_lines_of_judgements_by_several_people(tmp_path: Path) -> None:
    runs, model, people = of_runs(tmp_path)
    rows = []
    for who in ("person:ann", "person:bob"):
        for line in people.read_text().splitlines():
            query, _, doc, grade = line.split()
            place = {"query_id": query, "run_id": "documents", "item_id": doc, "grade": int(grade)}
            rows.append({**place, "judge": who, "rubric": "relevance"})
    (pair,) = compared(*runs, model, "--gold", write_jsonl(tmp_path / "g.jsonl", rows), measure="nDCG@5")[
        "pairs"
    ]
    (plain,) = compared(*runs, model, "--gold", people, measure="nDCG@5")["pairs"]
    assert pair["difference"] == pytest.approx(plain["difference"], abs=1e-12)
    bad = write_jsonl(tmp_path / "bad.jsonl", [{**rows[0], "run_id": "ours"}])
    result = run_checked("compare", *runs, model, "--gold", bad, "-m", "nDCG@5", code=2)
    assert "bad.jsonl:1: expected a judgement of a document (run_id documents)" in result.stderr


def test_gold_of_other_queries_is_refused(tmp_path: Path) -> None:
    runs, model, _ = of_runs(tmp_path)
    (tmp_path / "other").write_text("nowhere 0 d0 1\n")
    result = run_checked("compare", *runs, model, "--gold", tmp_path / "other", "-m", "nDCG@5", code=2)
    assert "has no query of" in result.stderr


def test_the_same_ranking_needs_no_labels(tmp_path: Path) -> None:
    runs, model, people = of_runs(tmp_path)
    (tmp_path / "copy.run").write_text(Path(runs[0]).read_text())
    (pair,) = compared(runs[0], tmp_path / "copy.run", model, "--gold", people, measure="nDCG@5")["pairs"]
    assert pair["verdict"] == "identical"


# --- answers side by side


def battles(
    judge: str, queries: Sequence[str], chances: dict[tuple[str, str], float], seed: int
) -> list[Row]:
    """Comparisons of each pair, of which the first wins by chance."""
    rng, rows = random.Random(seed), []
    for query in queries:
        for (one, other), chance in chances.items():
            won = rng.random() < chance
            for run, label in ((one, "win" if won else "loss"), (other, "loss" if won else "win")):
                place = {"query_id": query, "run_id": run, "aspect": f"{one}-{other}", "label": label}
                rows.append({**place, "judge": judge, "rubric": "pairwise"})
    return rows


LIKED = {("a", "b"): 0.8, ("a", "c"): 0.8, ("b", "c"): 0.5}
TRUE = {("a", "b"): 0.35, ("a", "c"): 0.35, ("b", "c"): 0.5}


@pytest.mark.slow
def test_the_arena_ranks_by_what_people_say(tmp_path: Path) -> None:
    judgements = write_jsonl(tmp_path / "judged.jsonl", battles("openai:model", QUERIES, LIKED, 1))
    people = write_jsonl(tmp_path / "people.jsonl", battles("person:ann", QUERIES[:60], TRUE, 2))
    alone = json.loads(run_checked("arena", judgements, "--format", "json").stdout)
    assert (alone[0]["system"], alone[0]["basis"]) == ("a", "judge:openai:model")
    arena = json.loads(run_checked("arena", judgements, "--gold", people, "--format", "json").stdout)
    assert arena[-1]["system"] == "a"
    assert {row["basis"] for row in arena} == {"people"}
    assert [row["labels"] for row in arena] == [60, 60, 60]
    judged = {row["system"]: row["strength"] for row in alone}
    assert {row["system"]: row["judge"] for row in arena} == pytest.approx(judged, abs=1e-4)
    assert all(row["low"] < row["strength"] < row["high"] for row in arena)
    for style in ("table", "md", "latex", "csv"):
        text = run_checked("arena", judgements, "--gold", people, "--format", style).stdout
        assert "by openai:model" not in text
        assert "people" in text or "human labels, corrected from openai:model" in text.replace("\n", " ")


def test_the_share_of_wins_of_a_pair_is_the_corrected_mean(tmp_path: Path) -> None:
    """Two systems: the difference of strengths is the log odds of the corrected share of wins."""
    from rageval.statistics.correction import corrected

    pair = {("a", "b"): 0.8}
    judgements, people = (
        battles("m", QUERIES, pair, 1),
        battles("person:a", QUERIES[:60], {("a", "b"): 0.4}, 2),
    )
    worth = {"win": 0.5, "loss": -0.5}
    judged = [worth[row["label"]] for row in judgements if row["run_id"] == "a"]
    labels = {
        index: worth[row["label"]] for index, row in enumerate(row for row in people if row["run_id"] == "a")
    }
    share = 0.5 + corrected(judged, labels, paired=True, clusters=QUERIES).value
    words = [
        write_jsonl(tmp_path / "j", judgements),
        "--gold",
        write_jsonl(tmp_path / "g", people),
        "--format",
        "json",
    ]
    strength = {row["system"]: row["strength"] for row in json.loads(run_checked("arena", *words).stdout)}
    assert strength["a"] - strength["b"] == pytest.approx(math.log(share / (1 - share)), abs=2e-4)


@pytest.mark.slow
def test_pairs_that_people_did_not_compare_are_left_out_or_refused(tmp_path: Path) -> None:
    judgements = write_jsonl(tmp_path / "j", battles("m", QUERIES, LIKED, 1))
    some = {pair: chance for pair, chance in TRUE.items() if "c" not in pair}
    few = battles("person:a", QUERIES[:10], TRUE, 2)
    result = run_checked("arena", judgements, "--gold", write_jsonl(tmp_path / "few", few), code=2)
    assert "labels for 10 of 120 (20 are needed)" in result.stderr
    island = write_jsonl(tmp_path / "island", battles("person:a", QUERIES[:60], some, 2))
    assert "connect 2 of 3 systems" in run_checked("arena", judgements, "--gold", island, code=2).stderr
    path = {pair: chance for pair, chance in TRUE.items() if pair != ("b", "c")}
    result = run_checked(
        "arena",
        judgements,
        "--gold",
        write_jsonl(tmp_path / "path", battles("person:a", QUERIES[:60], path, 2)),
    )
    assert "b and c: left out: labels for 0 of 120" in result.stderr
    assert (
        "leave out --matrix" in run_checked("arena", judgements, "--gold", island, "--matrix", code=2).stderr
    )


# --- slices


def sliced(*words: object) -> list[dict[str, Any]]:
    result = run_checked("score", *words, "-m", "crag_score", "--by", "domain", "--format", "json")
    return [
        {"run": row["run"], **part} for row in json.loads(result.stdout)["results"] for part in row["slices"]
    ]


def test_slices_are_corrected_by_their_own_labels(files: list[str]) -> None:
    judgements, people = judged()
    slices_by_run = {(row["run"], row["name"]): row for row in sliced(*files)}
    kept = {row["query_id"] for row in judgements if row["domain"] == "a"}
    labeled = [row for row in first(people, drawn(60)) if row["query_id"] in kept]
    alone = rageval.evaluate_answers(
        "crag_score", [row for row in judgements if row["domain"] == "a"], gold=labeled, gold_chosen="uniform"
    )
    cell = rageval.compare(alone).cell("ours", "crag_score")
    part = slices_by_run["ours", "a"]
    assert (part["value"], part["low"], part["high"]) == pytest.approx((cell.value, cell.low, cell.high))
    assert (part["labels"], part["basis"]) == (cell.labels, "people")
    assert part["judged"] == pytest.approx(cell.judged)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "has_interval"), [(9, False), (10, True), (14, True), (15, True)])
def test_a_slice_with_few_labels_is_told_by_all_of_them_or_not_at_all(
    tmp_path: Path, number: int, has_interval: bool
) -> None:
    judgements, people = judged()
    a = [query for query in QUERIES if int(query[1:]) % 2 == 0]
    b = [query for query in QUERIES if int(query[1:]) % 2]
    labeled = first(people, [*a[:number], *b[:30]])
    words = [
        write_jsonl(tmp_path / "j", judgements),
        "--gold",
        write_jsonl(tmp_path / "g", labeled),
        "--gold-chosen",
        "uniform",
    ]
    part = next(row for row in sliced(*words) if (row["run"], row["name"]) == ("ours", "a"))
    assert (part["value"] is not None, part["low"] is not None) == (has_interval, has_interval)
    assert part["labels"] == number


def test_gold_without_slices_is_sent_to_the_right_option(files: list[str]) -> None:
    assert (
        "rageval label correct, or compare" in run_checked("score", *files, "-m", "crag_score", code=2).stderr
    )


# --- plans


def planned(tmp_path: Path, *words: object) -> tuple[Path, Path, list[Row]]:
    """A plan to compare two systems, and what a person says who follows it."""
    judgements, people = judged()
    for row, truth in zip(judgements, people, strict=True):
        if row["query_id"] < "q040":  # the same answer by both
            row["label"] = truth["label"] = "perfect"
    answers = write_jsonl(
        tmp_path / "answers.jsonl",
        [
            {
                **{"query_id": row["query_id"], "run_id": row["run_id"], "question": "Which?"},
                "answer": "the same" if row["query_id"] < "q040" else f"as {row['run_id']} says",
            }
            for row in judgements
        ],
    )
    path, plan = Path(write_jsonl(tmp_path / "judged.jsonl", judgements)), tmp_path / "ask.jsonl"
    asked = write_jsonl(
        tmp_path / "q", [{"query_id": q, "question": "Which?", "answer": "That."} for q in QUERIES]
    )
    run_checked(
        "label", "plan", path, "-n", 40, "--answers", answers, "--questions", asked, "-o", plan, *words
    )
    head, *order = map(json.loads, plan.read_text().splitlines())
    labels = [{**row, "plan": head["sha"]} for query in order for row in first(people, [query["query_id"]])]
    return path, plan, labels


@pytest.mark.slow
def test_labels_of_a_plan_count_as_a_draw_from_where_answers_differ(tmp_path: Path) -> None:
    path, plan, labels = planned(tmp_path, "--compare", "ours", "theirs")
    gold = write_jsonl(tmp_path / "people.jsonl", labels)
    comparison = compared(path, "--gold", gold, "--gold-chosen", plan, "--baseline", "theirs")
    sha = json.loads(plan.read_text().splitlines()[0])["sha"]
    assert f"|labels:40|chosen:plan@{sha[:8]}|" in comparison["signature"]
    (pair,) = comparison["pairs"]
    assert (pair["labels"], pair["queries"]) == (40, N)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rest = [row for row in rows if row["query_id"] >= "q040"]
    alone = rageval.evaluate_answers("crag_score", rest, gold=labels, gold_chosen="uniform")
    differing = rageval.compare(alone, baseline="theirs").pairs[0]
    assert pair["difference"] == pytest.approx(differing.difference * 80 / 120, abs=1e-12)
    assert [cell["value"] for cell in comparison["values"]] == [None, None]
    result = run_checked("label", "correct", path, "--gold", gold, "--gold-chosen", plan, "-m", "crag_score")
    assert "the labels were drawn to compare ours and theirs, so they cannot correct a mean" in result.stderr


def test_labels_outside_a_plan_are_refused(tmp_path: Path) -> None:
    path, plan, labels = planned(tmp_path)
    words = ["compare", path, "-m", "crag_score", "--gold-chosen", plan, "--gold"]
    run_checked(*words, write_jsonl(tmp_path / "some", labels[:60]))
    result = run_checked(*words, write_jsonl(tmp_path / "passed", labels[10:]), code=2)
    assert "were skipped" in result.stderr
    stranger = {**labels[0], "query_id": "q999"}
    assert (
        "are not in the plan"
        in run_checked(*words, write_jsonl(tmp_path / "other", [*labels, stranger]), code=2).stderr
    )
    other = [{**row, "plan": "f" * 64} for row in labels]
    assert (
        "is a label of the plan ffffffff, not of"
        in run_checked(*words, write_jsonl(tmp_path / "of", other), code=2).stderr
    )


@pytest.mark.slow
def test_labels_of_a_plan_need_the_plan_by_every_command(tmp_path: Path) -> None:
    path, _, labels = planned(tmp_path)
    gold = write_jsonl(tmp_path / "people.jsonl", labels)
    for words in (
        ["compare", path, "-m", "crag_score"],
        ["label", "correct", path, "-m", "crag_score"],
        ["score", path, "-m", "crag_score", "--by", "domain"],
        ["report", path, "-m", "crag_score", "-o", tmp_path / "page.html"],
    ):
        assert "give that plan, too" in run_checked(*words, "--gold", gold, code=2).stderr
        run_checked(*words, "--gold", gold, "--gold-chosen", "uniform")


# --- the page


@pytest.mark.slow
def test_the_page_shows_people_beside_the_judge_worst_first(tmp_path: Path) -> None:
    judgements, people = judged()
    evil = "<script>alert(1)</script>"
    judgements[0] |= {"label": "perfect", "evidence": evil, "reason": "it is so"}
    people[0] |= {"label": "incorrect", "reason": evil, "judge": "person:ann"}
    second = [{**row, "judge": "person:bob"} for row in first(people, drawn(30, 9))]
    answers = [
        {
            "query_id": row["query_id"],
            "run_id": row["run_id"],
            "question": "?",
            "answer": f"{evil} of {row['run_id']}",
        }
        for row in judgements
    ]
    questions = [
        {"query_id": query, "question": f"What is {query}? {evil}", "domain": "ab"[index % 2]}
        for index, query in enumerate(QUERIES)
    ]
    labeled = first(people, ["q000", *drawn(60)])
    people_said = {row["query_id"] for row in [*labeled, *second]}
    page = tmp_path / "page.html"
    run_checked(
        *(
            "report",
            write_jsonl(tmp_path / "j", judgements),
            "-m",
            "crag_score",
            "--by",
            "domain",
            "-o",
            page,
        ),
        *("--gold", write_jsonl(tmp_path / "g", labeled), "--gold", write_jsonl(tmp_path / "b", second)),
        *(
            "--questions",
            write_jsonl(tmp_path / "q", questions),
            "--answers",
            write_jsonl(tmp_path / "a", answers),
        ),
    )
    html = page.read_text()
    body = (
        html[html.index("<body>") : html.index('<script type="application/json"')]
        if ('<script type="application/json"' in html)
        else html[html.index("<body>") :]
    )
    assert evil not in html
    # The values of single queries are the judge's, and say so.
    before = body[: body.index('<section id="provenance"')].replace("are by openai:model, uncorrected", "")
    assert "by openai:model" not in before
    assert "Corrected by human labels, if these labels are a random draw: crag_score." in body
    assert "Only the corrected values decide claims." in body
    page_data = json.loads(run_checked("report", "show", page, "--format", "json").stdout)
    heads = [(pair["judge"], pair["other"]) for pair in page_data["judging"]]
    assert heads == [
        ("openai:model", "person:ann"),
        ("openai:model", "person:bob"),
        ("person:ann", "person:bob"),
    ]
    assert "kappa" in page_data["judging"][2]["coefficients"]
    gaps = [row["gap"] for row in page_data["judging"][0]["listed"]]
    assert gaps == sorted(gaps, reverse=True)
    worst = next(
        row for row in page_data["judging"][0]["listed"] if row["query"] == "q000" and row["run"] == "ours"
    )
    assert worst["judge"] == {"label": "perfect", "evidence": evil, "reason": "it is so"}
    assert worst["other"] == {"label": "incorrect", "reason": evil}
    assert worst["answer"] == f"{evil} of ours"
    assert page_data["queries"]["texts"]["q000"].startswith("What is q000?")
    compared_there = page_data["comparison"]["pairs"][0]
    (pair,) = compared(tmp_path / "j", "--gold", tmp_path / "g", "--gold", tmp_path / "b")["pairs"]
    assert (compared_there["difference"], compared_there["verdict"]) == (pair["difference"], pair["verdict"])
    cells = {cell["run"]: cell for cell in page_data["cells"]}
    assert (cells["ours"]["labels"], cells["ours"]["basis"]) == (len(people_said), "people")
    assert {row["basis"] for row in page_data["slices"]} == {"people"}


@pytest.mark.slow
def test_the_page_of_runs_shows_people_beside_the_model(tmp_path: Path) -> None:
    runs, model, people = of_runs(tmp_path)
    run_checked("report", *runs, model, "-m", "nDCG@5", "--gold", people, "-o", tmp_path / "page.html")
    page_data = json.loads(run_checked("report", "show", tmp_path / "page.html", "--format", "json").stdout)
    (pair,) = page_data["judging"]
    assert pair["compared"] == 50 * 6
    assert page_data["comparison"]["pairs"][0]["labels"] == 50


def test_one_system_alone_is_corrected_on_its_page(tmp_path: Path) -> None:
    judgements, people = judged(systems=("ours",))
    words = [
        write_jsonl(tmp_path / "j", judgements),
        "--gold",
        write_jsonl(tmp_path / "g", first(people, drawn(60))),
    ]
    run_checked("report", *words, "-m", "crag_score", "-o", tmp_path / "page.html")
    page_data = json.loads(run_checked("report", "show", tmp_path / "page.html", "--format", "json").stdout)
    (cell,) = page_data["cells"]
    (row_,) = json.loads(
        run_checked("label", "correct", *words, "-m", "crag_score", "--format", "json").stdout
    )["results"]
    assert cell["value"] == pytest.approx(row_["value"], abs=1e-12)
    assert (cell["low"], cell["high"]) == pytest.approx((row_["low"], row_["high"]), abs=1e-12)


# --- the law


@pytest.mark.nightly
def test_a_lenient_judge_makes_no_winner_of_equal_systems() -> None:
    """Twenty contests of equally good systems, of which the judge likes one: people do not."""
    by_judge = by_people = 0
    for seed in range(20):
        judgements, people = judged(seed=seed, lenient=0.5)
        scores = rageval.evaluate_answers("crag_score", judgements, gold=first(people, drawn(60, seed)))
        alone = rageval.evaluate_answers("crag_score", judgements)
        by_judge += rageval.compare(alone).pairs[0].is_significant
        by_people += rageval.compare(scores).pairs[0].is_significant
    assert by_judge >= 18
    assert by_people <= 1


# --- how far people agree with one another


@pytest.mark.slow
def test_the_passport_holds_kappa_between_people(tmp_path: Path) -> None:
    """Of 40 answers both call 10 right and 10 wrong more than they would by chance: 30 alike, kappa 0.5."""
    labels = [("perfect", "perfect")] * 15 + [("incorrect", "incorrect")] * 15
    labels += [("perfect", "incorrect")] * 5 + [("incorrect", "perfect")] * 5
    people = [
        {"query_id": query, "run_id": "ours", "label": label, "judge": who, "rubric": "crag"}
        for query, both in zip(QUERIES, labels, strict=False)
        for who, label in zip(("person:ann", "person:bob"), both, strict=True)
    ]
    judgements = [row(query, "ours", 1.0, "m") for query in QUERIES[:40]]
    words = [
        "label",
        "agree",
        write_jsonl(tmp_path / "j", judgements),
        write_jsonl(tmp_path / "people", people),
    ]
    facts = json.loads(run_checked(*words, "--format", "json").stdout)
    (pair,) = facts["annotators"]
    assert (pair["one"], pair["other"], pair["compared"]) == ("person:ann", "person:bob", 40)
    assert pair["kappa"] == pytest.approx(0.5)
    assert pair["low"] < 0.5 < pair["high"]
    assert facts["compared"] == 30  # on the others there is no majority
    for style in ("table", "md"):
        text = run_checked(*words, "--format", style).stdout.replace("\\", "")
        assert "agree with kappa 0.500" in text
    assert facts["several_annotators"] is None
    third = [{**row, "judge": "person:eve"} for row in people[::2]]
    three = run_checked("label", "agree", tmp_path / "j", write_jsonl(tmp_path / "three", [*people, *third]))
    # Of 40 items ann and eve agree on all, and bob on 30: D_o = 20/120; 60 of 120 grades are perfect.
    alpha = 1 - (20 / 120) / (2 * 60 * 60 / (120 * 119))
    assert f"3 annotators agree with alpha {alpha:.3f} [" in three.stdout
    run_checked("label", "agree", tmp_path / "j", write_jsonl(tmp_path / "one", people[::2]))
    twice = write_jsonl(tmp_path / "twice", [*people, people[0]])
    assert (
        "twice:81: already judged by 'person:ann'"
        in run_checked("label", "agree", tmp_path / "j", twice, code=2).stderr
    )


# --- every command, every format


@pytest.mark.parametrize("number", [0, 60], ids=["refused", "corrected"])
@pytest.mark.parametrize("style", ["table", "md", "latex", "csv", "json"])
@pytest.mark.slow
def test_no_format_lets_the_judge_decide(tmp_path: Path, style: str, number: int) -> None:
    """With labels asked for, and be they too few, nothing is claimed by the judge who finds a winner."""
    judgements, people = judged(seed=2, lenient=0.9)
    labeled = first(people, drawn(number)) or [row("q000", "ours", 1.0, "person:ann")]
    words = [write_jsonl(tmp_path / "j", judgements), "--gold", write_jsonl(tmp_path / "g", labeled)]
    alone = compared(words[0])["pairs"][0]
    assert alone["verdict"] == "lower by openai:model"
    result = run_checked("compare", *words, "-m", "crag_score", "--format", style)
    assert "by openai:model" not in result.stdout
    assert "nan" not in result.stdout or style == "csv"
    said_of_table = result.stdout.replace("'> a' means", "").replace('"crag_score": "higher"', "")
    for claim in ("lower", "higher", "> a", "> b"):
        assert number or claim not in said_of_table
    slices = run_checked("score", *words, "-m", "crag_score", "--by", "domain", "--format", style).stdout
    assert "by openai:model" not in slices or style == "json"  # there the judge's own mean stands, too


@pytest.mark.slow
def test_what_was_refused_can_be_drawn_and_reported(tmp_path: Path) -> None:
    judgements, people = judged()
    words = [
        write_jsonl(tmp_path / "j", judgements),
        "--gold",
        write_jsonl(tmp_path / "g", first(people, drawn(5))),
    ]
    words += ["-m", "crag_score"]
    run_checked("report", *words, "--by", "domain", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "labels for 5 of both" in page
    assert "labels, judge only" in page
    pytest.importorskip("matplotlib")
    run_checked("compare", *words, "--plot", tmp_path / "figure.svg")


@pytest.mark.slow
def test_the_best_first_is_the_best_by_what_people_say(tmp_path: Path) -> None:
    judgements, people = judged(seed=2, lenient=0.9)
    turned = [{**row, "label": "incorrect"} if row["run_id"] == "ours" else row for row in people]
    words = [
        write_jsonl(tmp_path / "j", judgements),
        "--gold",
        write_jsonl(tmp_path / "g", first(turned, drawn(60))),
    ]
    assert compared(*words, "--sort", "crag_score")["runs"] == ["theirs", "ours"]
    assert compared(words[0], "--sort", "crag_score")["runs"] == ["ours", "theirs"]
    comparison = rageval.compare(
        rageval.evaluate_answers("crag_score", judgements, gold=first(turned, drawn(60)))
    )
    assert "by human labels, corrected from openai:model, if these labels are a random draw" in " ".join(
        repr(comparison).split()
    )
    (basis,) = tables.by_basis(comparison)
    legend = tables.gold_legend(comparison, basis, ["crag_score"])
    assert "(Student's t, one pair, 0.05)" in legend


def test_python_writes_the_same_page(tmp_path: Path) -> None:
    judgements, people = judged()
    scores = rageval.evaluate_answers(
        "crag_score", judgements, gold=first(people, drawn(60)), gold_chosen="uniform"
    )
    groups = {"domain": {query: "ab"[index % 2] for index, query in enumerate(QUERIES)}}
    page = rageval.report(scores, tmp_path / "page.html", groups=groups, baseline="theirs")
    page_data = json.loads(run_checked("report", "show", page, "--format", "json").stdout)
    pair = rageval.compare(scores, baseline="theirs").pairs[0]
    assert page_data["comparison"]["pairs"][0]["difference"] == pair.difference
    assert {row["basis"] for row in (*page_data["cells"], *page_data["slices"])} == {"people"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "who", ["person:\x1b[31m", "model:\x1b]0;x\x07", "<img src=x onerror=alert(1)>", "=1+1"]
)
def test_names_of_who_labeled_are_inert_everywhere(tmp_path: Path, who: str) -> None:
    judgements, people = judged()
    labeled = [{**row, "judge": who} for row in first(people, drawn(40))]
    second = [{**row, "judge": f"{who}2"} for row in labeled[::2]]
    words = [
        write_jsonl(tmp_path / "j", judgements),
        "--gold",
        write_jsonl(tmp_path / "g", [*labeled, *second]),
    ]
    outputs = [
        run_checked("compare", *words, "-m", "crag_score", "--format", row) for row in ("table", "csv")
    ]
    outputs.append(run_checked("label", "agree", tmp_path / "j", tmp_path / "g", "--format", "table"))
    outputs.append(run_checked("report", *words, "-m", "crag_score", "-o", tmp_path / "page.html"))
    for result in outputs:
        assert not {"\x1b", "\x07"} & {*result.stdout, *result.stderr}
    html = (tmp_path / "page.html").read_text()
    assert "<img src=x" not in html
    assert not {"\x1b", "\x07"} & {*html}


@pytest.mark.slow
def test_a_data_set_is_gold_and_the_model_that_judged_is_not(tmp_path: Path) -> None:
    runs, model, people = of_runs(tmp_path)
    rows = [line.split() for line in people.read_text().splitlines()]

    class Collection:
        name = "a data set"

        def qrels_iter(self) -> list[dict[str, Any]]:
            return [{"query_id": q, "doc_id": doc, "relevance": int(grade)} for q, _, doc, grade in rows]

    by_people = rageval.compare("nDCG@5", runs, model, gold=Collection())
    assert (
        by_people.pairs[0].difference
        == rageval.compare("nDCG@5", runs, model, gold=people).pairs[0].difference
    )
    lines = [{"qid": q, "docid": doc, "judgment": int(grade)} for q, _, doc, grade in rows]
    umbrela = write_jsonl(tmp_path / "umbrela.jsonl", lines)
    result = run_checked("compare", *runs, umbrela, "--gold", umbrela, "-m", "nDCG@5", code=2)
    assert "judgements by the judge itself (UMBRELA)" in result.stderr
    assert (
        "claims are by UMBRELA"
        in run_checked("compare", *runs, model, "--gold", umbrela, "-m", "nDCG@5").stderr
    )


def test_the_same_judgements_of_documents_are_no_gold(tmp_path: Path) -> None:
    runs, model, _ = of_runs(tmp_path)
    result = run_checked("compare", *runs, model, "--gold", model, "-m", "nDCG@5", code=2)
    assert "has judgements by the judge" in result.stderr


def test_what_is_no_mean_is_not_corrected_as_one(tmp_path: Path) -> None:
    """A share pooled over queries stays the judge's word; labels of queries are of means."""
    rng = random.Random(3)
    judgements = [{**row, "domain": "ab"[int(row["query_id"][1:]) % 2]} for row in of_nuggets(rng, "m")]
    words = [
        write_jsonl(tmp_path / "j", judgements),
        "--gold",
        write_jsonl(tmp_path / "g", of_nuggets(rng, "person:a")),
    ]
    for measure, basis in (
        ("nugget_recall", "people"),
        ("nugget_recall(over=pool)", None),
    ):
        if basis is None:
            assert (
                "cannot correct"
                in run_checked("score", *words, "-m", measure, "--by", "domain", code=2).stderr
            )
            continue
        result = run_checked("score", *words, "-m", measure, "--by", "domain", "--format", "json")
        parts = [part for row in json.loads(result.stdout)["results"] for part in row["slices"]]
        assert {part["basis"] for part in parts} == {basis}
