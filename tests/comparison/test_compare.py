"""`rageval compare`: what is claimed of runs and what is not, and how it is printed."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import rageval
from rageval.cli import main
from rageval.comparison import Comparison, Settings, compare, compare_runs
from rageval.errors import UsageError
from rageval.scoring.scores import Scores
from rageval.statistics.significance import holm
from reasons import why

DATA = Path(__file__).parents[2] / "examples/data"
FILES = [str(DATA / name) for name in ("run.trec", "baseline.trec", "qrels.nugget")]
CRAG = str(DATA / "answers/crag.judged.jsonl")
QUERIES = [f"q{index:02d}" for index in range(30)]
QRELS = {query: {"good": 1, "other": 1} for query in QUERIES}
Runs = Mapping[str, Mapping[str, Mapping[str, float]]]


def command(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["compare", *words], prog_name="rageval")
    assert result.exit_code == code, result.output
    return result


def ranked(*docs: str) -> dict[str, float]:
    return {doc: -float(index) for index, doc in enumerate(docs)}


def mixed(share: float, seed: int) -> dict[str, dict[str, float]]:
    """A run that puts the good document first in this share of the queries."""
    rng = random.Random(seed)
    return {
        query: ranked("good", "bad") if rng.random() < share else ranked("bad", "good") for query in QUERIES
    }


def scored(runs: Runs, measures: str = "rr") -> list[Scores]:
    return [rageval.evaluate(measures, rageval.Run.from_dict(run, name), QRELS) for name, run in runs.items()]


def verdict(comparison: Comparison) -> str:
    (pair,) = comparison.pairs
    return pair.verdict


def write(folder: Path, name: str, run: Mapping[str, Mapping[str, float]]) -> str:
    path = folder / name
    lines = [f"{q} Q0 {d} 1 {score:.9g} t\n" for q, docs in run.items() for d, score in docs.items()]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def write_qrels(folder: Path) -> str:
    path = folder / "qrels"
    path.write_text("".join(f"{q} 0 {d} {grade}\n" for q, docs in QRELS.items() for d, grade in docs.items()))
    return str(path)


def test_a_clear_difference_has_a_verdict_and_a_small_one_has_none() -> None:
    strong, weak, close = mixed(0.95, 1), mixed(0.2, 2), mixed(0.9, 3)
    assert verdict(compare(scored({"weak": weak, "strong": strong}), Settings(baseline="strong"))) == "lower"
    assert verdict(compare(scored({"weak": weak, "strong": strong}), Settings(baseline="weak"))) == "higher"
    assert verdict(compare(scored({"close": close, "strong": strong}))) == "undecided"


def test_the_best_run_is_by_measure_and_low_is_good_for_holes() -> None:
    qrels = {query: {"good": 1, "bad": 0} for query in QUERIES}
    runs = {
        "guesses": {q: ranked("new", "good") for q in QUERIES},
        "knows": {q: ranked("good", "bad") for q in QUERIES},
    }
    tables = [rageval.Run.from_dict(run, name) for name, run in runs.items()]
    comparison = compare([rageval.evaluate("hole@1, rr", table, qrels) for table in tables])
    assert [cell.run for cell in comparison.cells if cell.is_best] == ["knows", "knows"]
    assert [(p.run, p.other, p.verdict) for p in comparison.pairs] == [
        ("knows", "guesses", "better"),
        ("knows", "guesses", "higher"),
    ]
    assert [pair.better_run for pair in comparison.pairs] == ["knows", "knows"]
    assert [(pair.wins, pair.losses) for pair in comparison.pairs] == [(len(QUERIES), 0)] * 2
    assert comparison.lower_is_better("hole@1")


@pytest.mark.parametrize("test", ["randomization", "t"])
def test_every_test_says_the_same_of_the_obvious(test: str) -> None:
    comparison = compare(scored({"weak": mixed(0.1, 1), "strong": mixed(0.9, 2)}), Settings(test=test))
    assert (verdict(comparison), comparison.pairs[0].p > 0) == ("higher", True)


def test_a_run_that_found_nothing_is_not_called_worse() -> None:
    failed = {query: ranked("bad", "worse") for query in QUERIES}
    comparison = compare(scored({"failed": failed, "strong": mixed(0.9, 1)}))
    assert verdict(comparison) == "refused"
    assert (
        why(comparison.pairs[0]) == str(comparison.remarks[0]) == "failed: none of its 60 documents is judged"
    )


def test_a_run_that_lacks_queries_is_not_called_worse_for_that(tmp_path: Path) -> None:
    """On the queries it has, it is as good; the others count as 0 in its mean."""
    whole = {query: ranked("good") for query in QUERIES}
    half = {query: ranked("good") for query in QUERIES[::2]}
    words = [write(tmp_path, "whole.run", whole), write(tmp_path, "half.run", half), write_qrels(tmp_path)]
    result = command(*words, "-m", "rr", "--format", "json")
    (pair,) = json.loads(result.stdout)["pairs"]
    assert pair["adjusted"] < 0.001
    assert pair["verdict"] == "refused"
    assert "15 queries are in one run only" in why(pair)
    worse = {query: ranked("bad", "good") for query in QUERIES[:29]}
    words[1] = write(tmp_path, "worse.run", worse)
    (pair,) = json.loads(command(*words, "-m", "rr", "--format", "json").stdout)["pairs"]
    assert (pair["verdict"], why(pair)) == ("lower", "")


def test_an_empty_run_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.run").touch()
    result = command(FILES[0], str(tmp_path / "empty.run"), FILES[2], "-m", "rr", code=2)
    assert "is empty" in result.stderr


def judged(label: str, run: str, queries: list[str], **more: Any) -> list[dict[str, Any]]:
    return [{"query_id": q, "run_id": run, "label": label, "rubric": "crag", **more} for q in queries]


def test_missing_judgements_leave_a_verdict_only_if_they_cannot_turn_it(tmp_path: Path) -> None:
    def verdict_with(failed: int) -> dict[str, Any]:
        rows = judged("perfect", "good", QUERIES) + judged("incorrect", "bad", QUERIES[failed:])
        lost = judged("perfect", "bad", QUERIES[:failed])
        rows += [{name: row[name] for name in row if name != "label"} | {"status": "error"} for row in lost]
        path = tmp_path / "judged.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        words = (str(path), "-m", "crag_score", "--on-missing", "skip", "--format", "json")
        (pair,) = json.loads(command(*words).stdout)["pairs"]
        decided: dict[str, Any] = pair
        return decided

    assert verdict_with(3)["verdict"] == "lower by an unnamed judge"
    rows_failed = verdict_with(30)
    assert rows_failed["verdict"] == "refused"
    assert "it failed" in why(rows_failed)


def test_a_verdict_that_missing_judgements_could_turn_is_refused() -> None:
    rows = judged("acceptable", "dull", QUERIES) + judged("perfect", "bright", QUERIES[:12])
    rows += [{"query_id": q, "run_id": "bright", "status": "error", "rubric": "crag"} for q in QUERIES[12:]]
    results = list(rageval.evaluate_answers("crag_score", rows, on_missing="skip").values())
    (pair,) = compare(results).pairs
    assert (pair.verdict, pair.adjusted < 0.01) == ("refused", True)
    assert "18 judgements are missing" in why(pair)


def test_identical_runs_and_runs_that_differ_in_ties_are_named(tmp_path: Path) -> None:
    run = mixed(0.5, 1)
    tied = {query: dict.fromkeys(docs, 1.0) for query, docs in run.items()}
    paths = [write(tmp_path, name, docs) for name, docs in (("a", run), ("b", run), ("c", tied))]
    result = command(*paths, write_qrels(tmp_path), "-m", "rr", "--all-pairs", "--format", "json")
    verdicts = {pair["run"] + pair["other"]: pair["verdict"] for pair in json.loads(result.stdout)["pairs"]}
    assert verdicts == {"ab": "identical", "ac": "ties only", "bc": "ties only"}


def test_runs_of_the_same_documents_in_other_orders_are_different(tmp_path: Path) -> None:
    run = {query: ranked("good", "bad", "third") for query in QUERIES}
    other = run | {"q07": ranked("bad", "good", "third")}
    paths = [write(tmp_path, name, docs) for name, docs in (("a", run), ("b", other))]
    result = command(*paths, write_qrels(tmp_path), "-m", "rr", "--format", "json")
    (pair,) = json.loads(result.stdout)["pairs"]
    assert (pair["verdict"], pair["wins"], pair["ties"], pair["losses"]) == ("undecided", 0, 29, 1)


def test_the_order_of_rows_runs_and_queries_changes_no_digit(tmp_path: Path) -> None:
    runs = {"a": mixed(0.8, 1), "b": mixed(0.5, 2)}
    shuffled = {name: dict(reversed(run.items())) for name, run in reversed(runs.items())}

    def pair(folder: str, given: Runs) -> dict[str, Any]:
        (tmp_path / folder).mkdir()
        paths = [write(tmp_path / folder, name, run) for name, run in given.items()]
        words = [*paths, write_qrels(tmp_path), "-m", "rr", "--baseline", "b", "--format", "json"]
        (pair,) = json.loads(command(*words).stdout)["pairs"]
        return dict(pair)

    assert pair("one", runs) == pair("two", shuffled)


def test_the_seed_decides_and_is_in_the_signature() -> None:
    results = scored({"a": mixed(0.8, 1), "b": mixed(0.5, 2)}, "rr, ndcg@2")
    one, repeat, other = (compare(results, Settings(seed=seed)) for seed in (1, 1, 2))
    assert one == repeat
    assert "seed:1|" in one.signature
    assert [pair.low for pair in one.pairs] != [pair.low for pair in other.pairs]
    assert [pair.p for pair in one.pairs] == pytest.approx([pair.p for pair in other.pairs], abs=0.03)


def test_against_the_best_p_is_adjusted_for_all_pairs() -> None:
    """The best was picked after looking; a baseline named beforehand is cheaper."""
    results = scored({name: mixed(share, seed) for seed, (name, share) in enumerate(
        {"a": 0.9, "b": 0.6, "c": 0.55, "d": 0.5}.items())})  # fmt: skip
    best = compare(results, Settings(adjust="holm"))
    named = compare(results, Settings(adjust="holm", baseline="a"))
    assert [pair.p for pair in best.pairs] == [pair.p for pair in named.pairs]
    smallest = min(best.pairs, key=lambda pair: pair.p)
    assert smallest.adjusted == pytest.approx(6 * smallest.p)
    assert min(named.pairs, key=lambda pair: pair.p).adjusted == pytest.approx(3 * smallest.p)
    everything = compare(results, Settings(all_pairs=True, adjust="max_t"))
    assert len(everything.pairs) == 6
    assert all(pair.adjusted >= pair.p - 0.02 for pair in everything.pairs)


def test_p_is_adjusted_over_the_pairs_of_each_measure_by_itself() -> None:
    runs = {
        name: mixed(share, seed) for seed, (name, share) in enumerate({"a": 0.9, "b": 0.6, "c": 0.5}.items())
    }
    results = scored(runs, "rr, success@1, ndcg@2")
    comparison = compare(results, Settings(all_pairs=True, adjust="holm"))
    assert {pair.family for pair in comparison.pairs} == {"all pairs, each measure by itself"}
    for measure in comparison.measures:
        pairs = comparison.of(measure)
        expected = holm(np.array([pair.p for pair in pairs]))
        assert [pair.adjusted for pair in pairs] == pytest.approx(expected.tolist())
        alone = compare(
            [replace(scores_of_run, scores=(scores_of_run[measure],)) for scores_of_run in results],
            comparison.settings,
        )
        assert {pair.family for pair in alone.pairs} == {"all pairs"}
        assert [pair.adjusted for pair in alone.pairs] == [pair.adjusted for pair in pairs]


def test_undefined_values_count_where_both_runs_have_one() -> None:
    rows = judged("perfect", "a", QUERIES[:25]) + judged("incorrect", "b", QUERIES[5:])
    with pytest.warns(match="answered 25 of 30 queries; the others .* are missing in crag_score"):
        results = list(rageval.evaluate_answers("crag_score", rows, on_missing="skip").values())
    comparison = compare(results, Settings(adjust="max_t"))
    (pair,) = comparison.pairs
    assert (pair.queries, pair.losses, pair.difference) == (20, 20, -2.0)
    assert any("10 queries have no value for some run" in remark for remark in map(str, comparison.remarks))


def test_clusters_come_from_a_field_or_a_file(tmp_path: Path) -> None:
    lines = "".join(f"{query} {'even' if int(query[1:]) % 2 else 'odd'}\n" for query in QUERIES)
    (tmp_path / "clusters.txt").write_text(lines)
    paths = [write(tmp_path, name, mixed(share, 3)) for name, share in (("a", 0.9), ("b", 0.2))]
    words = [*paths, write_qrels(tmp_path), "-m", "rr", "--cluster", str(tmp_path / "clusters.txt")]
    result = command(*words, "--format", "json")
    comparison = json.loads(result.stdout)
    assert comparison["pairs"][0]["p"] == 0.5  # two clusters: 2 of 4 signs
    assert "units:clusters.txt" in comparison["signature"]
    assert "30 queries in 2 clusters" in result.stderr


def test_formats_hold_the_same_numbers() -> None:
    words = (*FILES, "-m", "alpha_ndcg@10,recall@10", "--all-pairs")
    comparison = json.loads(command(*words, "--format", "json").stdout)
    rows = list(csv.DictReader(io.StringIO(command(*words, "--format", "csv", "-p", "17").stdout)))
    assert [float(row["difference"]) for row in rows] == [pair["difference"] for pair in comparison["pairs"]]
    assert [row["verdict"] for row in rows] == [pair["verdict"] for pair in comparison["pairs"]]
    for style in ("md", "table", "latex"):
        text = command(*words, "--details", "--format", style).stdout
        assert all(f"{value['value']:.4f}" in text for value in comparison["values"])
        assert comparison["signature"] in text
    latex = command(*words, "--format", "latex").stdout
    assert r"\textbf{0.4281}$^{\mathrm{b}}$" in latex
    assert r"$\alpha$-nDCG@10" in latex


def test_hostile_names_are_shown_and_never_obeyed(tmp_path: Path) -> None:
    hostile = "=a\x1b[31m\n%"
    paths = [write(tmp_path, name, mixed(0.5, index)) for index, name in enumerate((hostile, "b|<i>&_$"))]
    words = [*paths, write_qrels(tmp_path), "-m", "rr", "--baseline", hostile]
    for style in ("table", "md", "latex", "csv", "json"):
        result = command(*words, "--format", style)
        assert "\x1b" not in result.output
        if style == "latex":
            assert all(line.startswith("%") for line in result.stdout.splitlines()[:2])
            assert r"b\textbar{}\textless{}i\textgreater{}\&\_\$" in result.stdout
        if style == "md":
            assert "<i>" not in result.stdout.split("\n\n")[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*FILES], "no measure named"),
        ([FILES[0], FILES[2], "-m", "rr"], "expected two or more runs to compare, found 1"),
        ([*FILES, "-m", "rr", "--baseline", "baselin.trec"], "did you mean baseline.trec"),
        ([*FILES, "-m", "rr", "--level", "95"], "expected a number between 0 and 1"),
        ([*FILES, "-m", "rr", "--draws", "3"], "expected a whole number from 100"),
        ([*FILES, "-m", "rr", "--seed", "-1"], "expected a whole number from 0"),
        ([*FILES, "-m", "rr", "--all-pairs", "--baseline", "run.trec"], "has no baseline"),
        ([*FILES, "-m", "NumRet"], "is a sum over queries"),
        ([*FILES, "-m", "rr", "--sensitivity", "--ties", "expected"], "by the default rules"),
        ([*FILES, "-m", "rr", "--cluster", "domain"], "the 'domain' of the queries is unknown"),
    ],
)
def test_mistakes_are_explained(words: list[str], message: str) -> None:
    assert message in command(*words, code=2).stderr


def test_scores_that_cannot_be_compared_are_refused() -> None:
    results = scored({"a": mixed(0.8, 1), "b": mixed(0.5, 2)})
    with pytest.raises(UsageError, match="two runs have this name"):
        compare([results[0], results[0]])
    with pytest.raises(UsageError, match="different measures"):
        compare([results[0], scored({"b": mixed(0.5, 2)}, "ap")[0]])
    run = rageval.Run.from_dict(mixed(0.5, 1), "c")
    grouped = rageval.evaluate("rr", run, QRELS, groups=dict.fromkeys(QUERIES, "one"))
    with pytest.raises(UsageError, match="mean of means"):
        compare([grouped, results[0]])


def test_judged_answers_are_compared_alike() -> None:
    result = command(CRAG, "-m", "crag_score,hallucination", "--format", "json")
    comparison = json.loads(result.stdout)
    assert [value["run"] for value in comparison["values"]] == ["ours", "theirs"] * 2
    assert [value["value"] for value in comparison["values"][:2]] == [0.3, 0.1]
    assert [value["is_best"] for value in comparison["values"]] == [True, False, True, False]
    assert "5 independent queries" in result.stderr


def test_in_python_runs_are_compared_as_on_the_command_line() -> None:
    result = command(*FILES, "-m", "recall@10,hole@5", "--baseline", "run.trec", "--format", "json")
    comparison = compare_runs("recall@10, hole@5", FILES[:2], FILES[2], Settings(baseline="run.trec"))
    assert comparison.as_dict() == json.loads(result.stdout)
    run = {query: ranked("good") for query in QUERIES}
    runs = {
        "whole": run,
        "half": dict(list(run.items())[::2]),
        "longer": {query: ranked("bad", "good") for query in QUERIES},
        "level": {query: dict.fromkeys(("good", "bad"), 1.0) for query in QUERIES},
    }
    pairs = compare_runs("recall", runs, QRELS, Settings(all_pairs=True)).pairs
    verdicts = {(pair.run, pair.other): pair.verdict for pair in pairs}
    assert verdicts["whole", "half"] == "refused"
    assert verdicts["whole", "longer"] == "identical"
    assert verdicts["longer", "level"] == "ties only"


@pytest.mark.parametrize("run", [FILES[0], Path(FILES[0])])
def test_one_path_is_one_run_and_not_its_characters(run: str | Path) -> None:
    with pytest.raises(UsageError, match="expected two or more runs to compare, found 1"):
        rageval.compare("rr", run, FILES[2])


class TestByQuery:
    """`-q` prints every query of each pair, what the run lost most first."""

    def given(self, folder: Path) -> list[str]:
        runs = {
            "old": {"q00": ranked("good"), "q01": ranked("bad", "good"), "q02": ranked("bad")},
            "new": {"q00": ranked("bad", "bad2", "good"), "q01": ranked("good"), "q02": ranked("bad")},
        }
        paths = [write(folder, name, run) for name, run in runs.items()]
        return [*paths, write_qrels(folder), "--intersection", "--baseline", "old"]

    def test_queries_in_csv_have_both_values_and_their_difference(self, tmp_path: Path) -> None:
        result = command(*self.given(tmp_path), "-q", "-m", "rr", "--format", "csv")
        assert [list(row.values()) for row in csv.DictReader(io.StringIO(result.stdout))] == [
            ["new", "old", "rr", "q00", "0.3333", "1.0000", "-0.6667"],
            ["new", "old", "rr", "q02", "0.0000", "0.0000", "0.0000"],
            ["new", "old", "rr", "q01", "1.0000", "0.5000", "0.5000"],
        ]

    def test_where_low_is_good(self, tmp_path: Path) -> None:
        result = command(*self.given(tmp_path), "-q", "-m", "hole@1", "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        assert [(row["query_id"], float(row["difference"])) for row in rows] == [
            ("q00", 1),
            ("q02", 0),
            ("q01", -1),
        ]

    def test_behind_tables_and_in_json(self, tmp_path: Path) -> None:
        words = [*self.given(tmp_path), "-m", "rr"]
        for style in ("table", "md"):
            whole = command(*words, "-q", "--format", style).stdout
            assert whole.startswith(command(*words, "--format", style).stdout)
            assert [line.strip("| ").split()[0] for line in whole.splitlines()[-3:]] == ["q00", "q02", "q01"]
        comparison = json.loads(command(*words, "-q", "--format", "json").stdout)
        assert [row["query_id"] for row in comparison.pop("by_query")] == ["q00", "q02", "q01"]
        assert comparison == json.loads(command(*words, "--format", "json").stdout)

    def test_where_it_has_no_place(self, tmp_path: Path) -> None:
        words = [*self.given(tmp_path), "-q", "-m", "rr"]
        for more in (["--format", "latex"], ["--format", "cite"], ["--gold", words[2]]):
            assert "--by-query" in command(*words, *more, code=2).stderr


def test_judged_answers_have_another_function_in_python() -> None:
    with pytest.raises(UsageError, match=r"compare\(evaluate_answers\(measures, judgements\)\)"):
        rageval.compare("crag_score", CRAG)  # type: ignore[call-overload]


@pytest.mark.parametrize(("style", "name"), [("table", "R@10"), ("md", "R@10"), ("json", "recall@10")])
def test_a_measure_is_called_as_it_was_typed_where_people_read_it(style: str, name: str) -> None:
    for words in (("-m", "R@10"), ("-m", "R@10", "-q")):
        result = command(*FILES, *words, "--format", style)
        assert name in result.stdout
        assert ({"R@10": "recall@10", "recall@10": "R@10"}[name]) not in result.output
