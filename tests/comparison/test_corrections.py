"""A judge corrected by people: the formulas, what intervals hold in simulation, the command."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.special import stdtrit

from rageval.cli import main
from rageval.comparison.corrections import correct
from rageval.errors import UsageError
from rageval.scoring.answers import measures_of_answers, read_judgements
from rageval.scoring.gold import Draw
from rageval.scoring.rules import Rules
from rageval.statistics.correction import Part, corrected

LABELS = ("perfect", "acceptable", "missing", "incorrect")
WORTH = dict(zip(LABELS, (1, 0.5, 0, -1), strict=True))


def test_the_mean_is_the_estimators(tmp_path: Path) -> None:
    judged, gold = example(tmp_path)
    estimate = json.loads(command(judged, "--gold", gold, "-m", "crag_score", "--format", "json").stdout)
    (score,) = estimate["results"]
    judgements, people = ([WORTH[row["label"]] for row in map(json.loads, Path(path).read_text().splitlines())
                     if row["run_id"] == "a"] for path in (judged, gold))  # fmt: skip
    mean = corrected(judgements, dict(enumerate(people)), paired=False, span=2, within=(-1, 1))
    assert score["value"] == pytest.approx(mean.value)
    assert (score["low"], score["high"]) == pytest.approx((mean.low, mean.high))
    assert (score["slope"], score["gain"]) == pytest.approx((mean.slope, mean.gain))
    assert (score["judge"], score["people"]) == pytest.approx((np.mean(judgements), np.mean(people)))
    assert (score["population"], score["refused"]) == ("kind", None)


def test_of_the_set_less_is_unknown(tmp_path: Path) -> None:
    judged, gold = example(tmp_path)
    ends = {}
    for population in ("kind", "set"):
        words = (judged, "--gold", gold, "-m", "crag_score", "--population", population, "--format", "json")
        (estimate,) = json.loads(command(*words).stdout)["results"]
        ends[population] = estimate["high"] - estimate["low"]
        assert estimate["population"] == population
    assert ends["set"] < 0.8 * ends["kind"]


def test_labels_that_were_picked_are_remarked(tmp_path: Path) -> None:
    """Drawn at random, those the judge likes best, and those of which it is said how they were chosen."""
    rng = np.random.default_rng(8)
    kind = rng.choice(LABELS, 120).tolist()
    every = rows("a", kind)
    best = [row for row in every if row["label"] in ("perfect", "acceptable")][:40]
    for gold, more, is_said in (
        (every[:40], (), False),
        (best, (), True),
        (best, ("--gold-chosen", "uniform"), False),
    ):
        paths = files(tmp_path, every, gold)
        result = command(paths[0], "--gold", paths[1], "-m", "crag_score", "--format", "json", *more)
        assert ("are not a random draw" in result.stderr) is is_said


def test_an_anti_correlated_judge_helps_as_much_as_one_who_agrees(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    truth = rng.random(400) < 0.5
    seen = np.where(rng.random(400) < 0.8, truth, ~truth)

    def labels(values: Iterable[bool]) -> list[str]:
        return ["perfect" if value else "missing" for value in values]

    estimates = []
    for judge in (seen, ~seen):
        paths = files(tmp_path, rows("a", labels(judge)), rows("a", labels(truth[:60])))
        estimates += json.loads(
            command(paths[0], "--gold", paths[1], "-m", "crag_score", "--format", "json").stdout
        )["results"]
    assert estimates[0]["value"] == pytest.approx(estimates[1]["value"])
    assert estimates[0]["low"] == pytest.approx(estimates[1]["low"])
    assert estimates[0]["slope"] == pytest.approx(-estimates[1]["slope"])
    assert estimates[0]["gain"] > 75


def rows(run: str, labels: Iterable[str], **more: str) -> list[dict[str, Any]]:
    return [{"query_id": f"q{index}", "run_id": run, "label": label, "rubric": "crag", **more}
            for index, label in enumerate(labels)]  # fmt: skip


def files(folder: Path, judged: list[dict[str, Any]], gold: list[dict[str, Any]]) -> tuple[str, str]:
    for name, rows in (("judged", judged), ("gold", gold)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder / "judged.jsonl"), str(folder / "gold.jsonl")


def command(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["label", "correct", *words], prog_name="rageval")
    assert result.exit_code == code, result.output
    return result


def example(folder: Path) -> tuple[str, str]:
    rng = np.random.default_rng(3)
    truth = rng.choice(LABELS, 80)
    kind = np.where((truth == "incorrect") & (rng.random(80) < 0.5), "acceptable", truth)
    return files(folder, rows("a", kind.tolist()) + rows("b", kind.tolist()), rows("a", truth[:40].tolist()))


def test_the_command_prints_what_the_functions_find(tmp_path: Path) -> None:
    judged, gold = example(tmp_path)
    words = (judged, "--gold", gold, "-m", "crag_score,hallucination")
    result = command(*words, "--format", "json")
    rows = json.loads(result.stdout)["results"]
    assert [(row["run"], row["population"]) for row in rows] == [("a", "kind"), ("a", "kind")]
    assert "no human labels for b: left out" in result.stderr
    measures = measures_of_answers("crag_score,hallucination")
    ours = correct(measures, read_judgements(judged), read_judgements(gold), Rules())
    assert [row.value for row in ours] == [row["value"] for row in rows]
    score, share = rows
    assert score["value"] < score["judge"]  # the judge overlooks faults
    assert share["value"] > share["judge"]
    assert (score["queries"], score["checked"]) == (80, 40)
    table = list(csv.DictReader(io.StringIO(command(*words, "--format", "csv", "-p", "17").stdout)))
    assert [float(row["corrected"]) for row in table] == [row["value"] for row in rows]
    for style in ("table", "md"):
        assert f"{score['value']:.4f}" in command(*words, "--format", style).stdout


def test_nugget_measures_are_corrected_query_by_query(tmp_path: Path) -> None:
    def nuggets(queries: int, supported: str) -> list[dict[str, Any]]:
        return [{"query_id": f"q{index}", "run_id": "a", "aspect": f"n{n}", "importance": "vital",
                 "label": "support" if str(n) in supported and index % 3 else "not_support"}
                for index in range(queries) for n in range(3)]  # fmt: skip

    judged, gold = files(tmp_path, nuggets(60, "012"), nuggets(30, "01"))
    (estimate,) = json.loads(command(judged, "--gold", gold, "-m", "v_strict", "--format", "json").stdout)[
        "results"
    ]
    assert estimate["judge"] == pytest.approx(2 / 3)
    assert estimate["value"] == pytest.approx(4 / 9, abs=0.01)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "ndcg@10"], "not judged answers"),
        (["-m", "crag_score", "--level", "95"], "between 0 and 1"),
        (["-m", ""], "no measure named"),
    ],
)
def test_mistakes_are_explained(tmp_path: Path, words: list[str], message: str) -> None:
    judged, gold = example(tmp_path)
    assert message in command(judged, "--gold", gold, *words, code=2).stderr


def test_files_that_have_nothing_in_common_are_refused_and_few_labels_correct_nothing(tmp_path: Path) -> None:
    judged, gold = files(tmp_path, rows("a", LABELS), rows("z", LABELS))
    assert (
        "has no labels for the answers" in command(judged, "--gold", gold, "-m", "crag_score", code=2).stderr
    )
    two = rows("a", LABELS, judge="x") + rows("a", LABELS, judge="y")
    judged, gold = files(tmp_path, two, rows("a", LABELS))
    result = command(judged, "--gold", gold, "-m", "crag_score", "--format", "csv")
    assert "a: crag_score: not corrected: labels for 4 of 4 (20 are needed)" in result.stderr
    (row,) = csv.DictReader(io.StringIO(result.stdout))
    assert (row["people"], row["corrected"], row["low"], row["gain"]) == ("0.1250", "", "", "")


def test_failed_judgements_are_an_error_unless_said_otherwise(tmp_path: Path) -> None:
    failed = [{"query_id": "q9", "run_id": "a", "status": "error", "rubric": "crag"}]
    judged, gold = files(tmp_path, rows("a", LABELS) + failed, rows("a", LABELS))
    assert "is missing" in command(judged, "--gold", gold, "-m", "crag_score", code=3).stderr
    result = command(judged, "--gold", gold, "-m", "crag_score", "--on-missing", "skip", "--format", "json")
    assert json.loads(result.stdout)["results"][0]["queries"] == 4


class TestPartlyJudged:
    """People judged some of the nuggets of an answer, and not others."""

    @staticmethod
    def line(query: int, nugget: int, supported: bool, vital: bool) -> dict[str, Any]:
        label, importance = "support" if supported else "not_support", "vital" if vital else "okay"
        where = {"query_id": f"q{query}", "run_id": "ours", "aspect": f"n{nugget}"}
        return {**where, "rubric": "nugget-assignment", "importance": importance, "label": label}

    def drawn(
        self, rng: np.random.Generator, answers: int, share: float, right: float, wrong: float, whole: bool
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Answers with 4 to 24 nuggets, half of which are supported, but more of them in long lists."""
        judged, gold = [], []
        for query in range(answers):
            ease = rng.normal()
            number = int(np.clip(round(14 + 5 * ease), 4, 24))
            truth = rng.random(number) < 1 / (1 + np.exp(-ease))
            by_judge = rng.random(number) < np.where(truth, right, wrong)
            looked = np.full(number, rng.random() < share) if whole else rng.random(number) < share
            for nugget in range(number):
                judged.append(self.line(query, nugget, bool(by_judge[nugget]), nugget % 2 == 0))
                if looked[nugget]:
                    gold.append(self.line(query, nugget, bool(truth[nugget]), nugget % 2 == 0))
        return judged, gold

    @pytest.mark.nightly
    @pytest.mark.parametrize(("right", "wrong"), [(0.97, 0.35), (0.65, 0.4)])
    @pytest.mark.parametrize(
        ("answers", "share", "whole"), [(30, 0.2, False), (200, 0.05, False), (80, 0.4, True)]
    )
    def test_intervals_hold_the_truth(
        self, right: float, wrong: float, answers: int, share: float, whole: bool
    ) -> None:
        """The mean over all answers there could be is a half, by both measures."""
        times, covered = 100, np.zeros(2)
        rng = np.random.default_rng(answers)
        measures = measures_of_answers("a_strict,v_strict")
        for _ in range(times):
            judged, gold = self.drawn(rng, answers, share, right, wrong, whole)
            estimates = correct(measures, read_judgements(judged), read_judgements(gold), Rules())
            covered += [estimate.low <= 0.5 <= estimate.high for estimate in estimates]
        assert covered.min() >= 86  # of 100: 93 are expected at least
        assert covered.sum() >= 180

    @pytest.mark.parametrize("are_alike", [True, False])
    def test_parts_of_answers_follow_the_formula(self, are_alike: bool) -> None:
        """40 answers, of 30 of which a part was judged, drawn alike or not; ψ by answer, and by cluster."""
        rng = np.random.default_rng(6)
        full, share = rng.random(40), np.append(rng.choice([0.25, 0.5, 1.0], 30), np.zeros(10))
        f, y = np.clip(full + rng.normal(0, 0.2, 40), 0, 1), rng.random(40)
        chance = np.ones(40) if are_alike else rng.uniform(0.3, 1, 40)
        people = dict(enumerate(y[:30].tolist()))
        parts = {
            index: Part(*parts) for index, parts in enumerate(zip(f[:30].tolist(), share[:30], strict=True))
        }
        how: dict[str, Any] = {"paired": False, "parts": parts, "chosen": None if are_alike else chance}
        correction = corrected(full, people, **how)
        g = share / chance
        g /= g.sum()
        mean, mean_of_judge = g @ y, g @ f
        square = g @ (f - mean_of_judge) ** 2
        slope = (g * (f - mean_of_judge)) @ (y - mean) / square
        assert (correction.slope, correction.value) == pytest.approx(
            (slope, mean + slope * (full.mean() - mean_of_judge))
        )
        ahead = full.mean() - mean_of_judge
        residual = (y - mean - slope * (f - mean_of_judge)) / (
            1 - g * (1 + (f - mean_of_judge) ** 2 / square)
        )
        part = g * (1 + ahead * (f - mean_of_judge) / square) * residual
        psi = part + slope * (full - full.mean()) / 40
        number = 1 / (g**2).sum()
        half = stdtrit(number - 2, 0.975) * math.sqrt(40 / 39 * (psi**2).sum())
        assert (correction.high - correction.low) / 2 == pytest.approx(half)
        units = np.arange(40) // 2
        sums = np.bincount(units, psi)
        half = stdtrit(min(number, 15) - 2, 0.975) * math.sqrt(20 / 19 * (sums**2).sum())
        correction = corrected(full, people, clusters=units.tolist(), **how)
        assert (correction.high - correction.low) / 2 == pytest.approx(half)

    def test_parts_that_are_whole_answers_are_whole_answers(self) -> None:
        rng = np.random.default_rng(8)
        full = rng.random(60)
        people = dict(enumerate(rng.random(30).tolist()))
        parts = {index: Part(full[index], 1.0) for index in people}
        whole = corrected(full, people, paired=False, clusters=range(60))
        correction = corrected(full, people, paired=False, parts=parts)
        assert (correction.value, correction.low, correction.high) == (whole.value, whole.low, whole.high)
        assert corrected(full, people, paired=False).value == pytest.approx(correction.value)

    def test_where_something_of_every_answer_was_judged_all_count_alike(self) -> None:
        rng = np.random.default_rng(9)
        people = dict(enumerate(rng.random(40).tolist()))
        for share in ([1 / 9] * 40, rng.uniform(0.1, 0.9, 40).tolist()):
            correction = corrected([0.5] * 40, people, paired=False,
                              parts={index: Part(0.5, part) for index, part in enumerate(share)})  # fmt: skip
            assert correction.value == pytest.approx(sum(people.values()) / 40)

    @pytest.mark.slow
    def test_chances_weigh_parts_as_well(self) -> None:
        """Half of the answers, the odd ones, were drawn four times as seldom."""
        judged, gold = self.drawn(np.random.default_rng(4), 200, 0.4, 0.9, 0.2, False)
        queries = sorted({row["query_id"] for row in judged})
        rare = set(queries[1::2])
        gold = [row for row in gold if row["query_id"] not in rare or int(row["query_id"][1:]) % 8 == 1]
        chances = {query: 0.25 if query in rare else 0.99 for query in queries}
        tables = read_judgements(judged), read_judgements(gold)
        measures, rules = measures_of_answers("a_strict"), Rules()
        (plain,) = correct(measures, *tables, rules, draw=Draw(how="uniform"))
        (estimate,) = correct(measures, *tables, rules, draw=Draw(how="stated", chances=chances))
        people: dict[str, list[bool]] = {row["query_id"]: [] for row in gold}
        for row in gold:
            people[row["query_id"]].append(row["label"] == "support")
        weights = {query: len(value) / sum(row["query_id"] == query for row in judged) / chances[query]
                   for query, value in people.items()}  # fmt: skip
        mean = sum(weights[query] * np.mean(value) for query, value in people.items()) / sum(weights.values())
        assert estimate.people == pytest.approx(mean)
        assert estimate.people != pytest.approx(plain.people, abs=1e-4)
        assert estimate.low < estimate.value < estimate.high

    def test_parts_are_no_labels_of_exactly_this_set(self) -> None:
        with pytest.raises(UsageError, match="parts of answers"):
            corrected([0.5] * 40, dict.fromkeys(range(40), 1.0), paired=False, population="set",
                      parts=dict.fromkeys(range(40), Part(0.5, 0.5)))  # fmt: skip

    def test_whole_answers_are_corrected_as_ever(self) -> None:
        judged, gold = self.drawn(np.random.default_rng(3), 60, 0.5, 0.9, 0.2, True)
        (estimate,) = correct(
            measures_of_answers("a_strict"), read_judgements(judged), read_judgements(gold), Rules()
        )
        values = [
            {query: float(np.mean([row["label"] == "support" for row in rows if row["query_id"] == query]))
             for query in {row["query_id"] for row in rows}}
            for rows in (judged, gold)
        ]  # fmt: skip
        places = {query: index for index, query in enumerate(values[0])}
        people = {places[query]: value for query, value in values[1].items()}
        mean = corrected(list(values[0].values()), people, paired=False)
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx(
            (mean.value, mean.low, mean.high)
        )
        assert (estimate.partly, estimate.labels, estimate.of) == (0, len(gold), len(judged))

    def test_what_people_judged_is_counted(self, tmp_path: Path) -> None:
        judged, gold = self.drawn(np.random.default_rng(4), 22, 0.2, 0.9, 0.2, False)
        vital = [sum(row["importance"] == "vital" for row in rows) for rows in (gold, judged)]
        paths = files(tmp_path, judged, gold)
        result = command(paths[0], "--gold", paths[1], "-m", "a_strict,v_strict", "--format", "csv")
        every, strict = csv.DictReader(io.StringIO(result.stdout))
        assert (int(every["labels"]), int(every["of"])) == (len(gold), len(judged))
        assert (int(strict["labels"]), int(strict["of"])) == (vital[0], vital[1])
        assert int(every["checked"]) == len({row["query_id"] for row in gold})
        assert (
            f"answers have labels for a part only, {len(gold):,} of {len(judged):,} judgements in all"
            in result.stderr
        )
        (record, _) = json.loads(
            command(paths[0], "--gold", paths[1], "-m", "a v", "--format", "json").stdout
        )["results"]
        assert (record["labels"], record["of"]) == (len(gold), len(judged))

    def test_judge_and_people_are_compared_on_the_same_nuggets(self) -> None:
        """The judge is right wherever people looked, so nothing is to be corrected; people's own nuggets and
        their failures are no evidence."""
        judged = [
            self.line(query, nugget, nugget < query % 9, True) for query in range(24) for nugget in range(8)
        ]
        gold = [row for row in judged if int(row["aspect"][1:]) % 2 == int(row["query_id"][1:]) % 2]
        gold += [self.line(query, 99, True, True) for query in range(24)]
        gold.append({**self.line(0, 1, True, True), "label": None, "status": "error"})
        (estimate,) = correct(
            measures_of_answers("a_strict"), read_judgements(judged), read_judgements(gold), Rules()
        )
        assert (estimate.checked, estimate.labels, estimate.of) == (24, 96, 192)
        assert estimate.value == pytest.approx(
            estimate.judge + (1 - estimate.slope) * (estimate.people - estimate.judge)
        )

    def test_too_few_answers_are_refused(self) -> None:
        judged, gold = self.drawn(np.random.default_rng(4), 19, 0.5, 0.9, 0.2, False)
        (estimate,) = correct(
            measures_of_answers("a_strict"), read_judgements(judged), read_judgements(gold), Rules()
        )
        assert math.isnan(estimate.value)
        assert str(estimate.refused) == "labels for 19 of 19 (20 are needed)"

    def test_a_measure_that_needs_the_whole_answer_leaves_parts_out(self, tmp_path: Path) -> None:
        judged = [
            self.line(query, nugget, query % 2 == 0, True) for query in range(30) for nugget in range(4)
        ]
        gold = [
            row for index, row in enumerate(judged) if index < 60 or index % 4
        ]  # 15 answers wholly, 15 in part
        paths = files(tmp_path, judged, gold)
        answers = [
            {"query_id": f"q{query}", "run_id": "ours", "answer": "ten words " * 5} for query in range(30)
        ]
        (tmp_path / "answers.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
        words = ["-m", "nugget_density", "--answers", str(tmp_path / "answers.jsonl"), "--format", "json"]
        result = command(paths[0], "--gold", paths[1], *words)
        (estimate,) = json.loads(result.stdout)["results"]
        assert (estimate["checked"], estimate["labels"], estimate["of"]) == (15, 105, 120)
        assert "15 answers have labels for a part only, and are left out" in result.stderr
