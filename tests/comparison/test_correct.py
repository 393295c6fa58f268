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

from rageval.cli import main
from rageval.comparison.correcting import correct
from rageval.scoring.answers import AnswerRules, measures_of_answers, read_judgements
from rageval.statistics.parts import (
    Estimate,
    corrected_from_parts,
    corrected_mean,
    corrected_share,
)

LABELS = ("perfect", "acceptable", "missing", "incorrect")
WORTH = dict(zip(LABELS, (1, 0.5, 0, -1), strict=True))


def named(values: Iterable[float]) -> dict[str, float]:
    return {f"q{at:05d}": float(value) for at, value in enumerate(values)}


def first(values: dict[str, Any], number: int) -> dict[str, Any]:
    return dict(list(values.items())[:number])


def test_the_mean_is_the_formula() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random(40)
    judge = truth * 0.8 + 0.3 * rng.random(40)
    n, f, y = 12, judge, truth[:12]
    found = corrected_mean(named(judge), first(named(truth), n))
    spread = np.var(f, ddof=1)
    weight = np.cov(y, f[:n])[0, 1] / ((1 + n / 28) * spread)
    assert found.weight == pytest.approx(weight)
    assert found.value == pytest.approx(weight * f[n:].mean() + (y - weight * f[:n]).mean())
    variance = weight**2 * spread / 28 + np.var(y - weight * f[:n], ddof=1) / n
    assert (found.high - found.low) / 2 == pytest.approx(2.2009851600829 * math.sqrt(variance))  # t of 11
    assert (found.queries, found.checked) == (40, 12)


def test_a_useless_judge_changes_nothing_and_a_constant_bias_is_taken_out() -> None:
    truth = named(np.random.default_rng(2).random(300))
    people = first(truth, 60)
    always = corrected_mean(dict.fromkeys(truth, 0.7), people)
    assert (always.value, always.weight) == (pytest.approx(always.people), 0)
    assert always.low == pytest.approx(always.people_low)
    contrary = corrected_mean({query: 1 - value for query, value in truth.items()}, people)
    assert contrary.weight == 0
    biased = corrected_mean({query: value + 0.3 for query, value in truth.items()}, people)
    assert biased.judge == pytest.approx(np.mean(list(truth.values())) + 0.3)
    assert biased.value == pytest.approx(np.mean(list(truth.values())), abs=0.02)
    assert biased.high - biased.low < 0.6 * (biased.people_high - biased.people_low)


def test_where_people_judged_everything_the_judge_has_no_say() -> None:
    truth = named([0.0, 1.0, 0.5])
    found = corrected_mean(named([1.0, 1.0, 1.0]), truth)
    assert (found.value, found.weight) == (0.5, 0)
    labels = dict(zip(truth, ("perfect", "missing", "perfect"), strict=True))
    assert corrected_share(dict.fromkeys(truth, "missing"), labels, ["perfect"]).value == pytest.approx(2 / 3)


def test_shares_are_weighted_by_the_confusion() -> None:
    """The judge calls 60 of 100 perfect; people confirm 3 of 4 of these, and find 1 of 5 among the others."""
    judge = {f"{at:03d}": "perfect" if at < 60 else "incorrect" for at in range(100)}
    people = {f"{at:03d}": "perfect" if at < 3 else "incorrect" for at in range(4)}
    people |= {f"{at:03d}": "perfect" if at < 61 else "incorrect" for at in range(60, 65)}
    found = corrected_share(judge, people, ["perfect"])
    assert found.value == pytest.approx(0.6 * 3 / 4 + 0.4 * 1 / 5)
    assert (found.judge, found.checked) == (0.6, 9)


def test_a_label_that_nobody_checked_widens_the_interval() -> None:
    judge = {f"{at:03d}": LABELS[at % 4] for at in range(400)}
    people = {query: label for query, label in first(judge, 200).items() if label != "missing"}
    found = corrected_share(judge, people, ["missing"])
    assert found.unseen == 0.25
    assert found.high >= 0.25


def simulated(n: int, times: int, noise: float) -> list[tuple[Estimate, float]]:
    rng = np.random.default_rng(7)
    found = []
    for _ in range(times):
        truth = rng.beta(2, 3, 300)
        judge = np.clip(truth + 0.1 + noise * rng.normal(0, 1, 300), 0, 1)
        found.append((corrected_mean(named(judge), first(named(truth), n)), 0.4))
    return found


@pytest.mark.parametrize(("n", "noise"), [(15, 0.05), (30, 0.1), (30, 1.0)])
def test_intervals_of_means_hold_the_truth(n: int, noise: float) -> None:
    times = 800
    found = simulated(n, times, noise)
    held = np.mean([each.low <= truth <= each.high for each, truth in found])
    assert held == pytest.approx(0.95, abs=3 * math.sqrt(0.95 * 0.05 / times))
    if noise < 1:  # a good judge is worth more than twice as many people
        assert np.mean([(e.high - e.low) / (e.people_high - e.people_low) for e, _ in found]) < 0.7
        assert np.mean([e.low <= e.judge <= e.high for e, _ in found]) < 0.7  # the judge alone is wrong


def test_intervals_of_shares_hold_the_truth_and_are_narrower_than_peoples() -> None:
    times, rng, held, ratio = 500, np.random.default_rng(9), 0, []
    for _ in range(times):
        truth = rng.choice(4, 300, p=[0.4, 0.2, 0.2, 0.2])
        judge = np.where(rng.random(300) < 0.85, truth, rng.choice(4, 300))
        said = {str(at): LABELS[label] for at, label in enumerate(judge)}
        people = {str(at): LABELS[label] for at, label in enumerate(truth[:60])}
        found = corrected_share(said, people, ["incorrect"])
        held += found.low <= 0.2 <= found.high
        ratio.append((found.high - found.low) / (found.people_high - found.people_low))
    assert 0.95 - 3 * math.sqrt(0.95 * 0.05 / times) <= held / times <= 0.99
    assert np.mean(ratio) < 0.85


def rows(run: str, labels: Iterable[str], **more: str) -> list[dict[str, Any]]:
    return [{"query_id": f"q{at}", "run_id": run, "label": label, "rubric": "crag", **more}
            for at, label in enumerate(labels)]  # fmt: skip


def files(folder: Path, judged: list[dict[str, Any]], gold: list[dict[str, Any]]) -> tuple[str, str]:
    for name, found in (("judged", judged), ("gold", gold)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))
    return str(folder / "judged.jsonl"), str(folder / "gold.jsonl")


def command(*words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, ["correct", *words], prog_name="rageval")
    assert done.exit_code == code, done.output
    return done


def example(folder: Path) -> tuple[str, str]:
    rng = np.random.default_rng(3)
    truth = rng.choice(LABELS, 80)
    kind = np.where((truth == "incorrect") & (rng.random(80) < 0.5), "acceptable", truth)
    return files(folder, rows("a", kind.tolist()) + rows("b", kind.tolist()), rows("a", truth[:40].tolist()))


def test_the_command_prints_what_the_functions_find(tmp_path: Path) -> None:
    judged, gold = example(tmp_path)
    words = (judged, "--gold", gold, "-m", "crag_score,hallucination")
    done = command(*words, "--format", "json")
    found = json.loads(done.stdout)["results"]
    assert [(each["run"], each["method"]) for each in found] == [("a", "ppi"), ("a", "confusion")]
    assert "people judged nothing of b, which is left out" in done.stderr
    measures = measures_of_answers("crag_score,hallucination")
    ours = correct(measures, read_judgements(judged), read_judgements(gold), AnswerRules())
    assert [each.estimate.value for each in ours] == [each["value"] for each in found]
    score, share = found
    assert score["value"] < score["judge"]  # the judge overlooks faults
    assert share["value"] > share["judge"]
    assert (score["queries"], score["checked"]) == (80, 40)
    table = list(csv.DictReader(io.StringIO(command(*words, "--format", "csv", "-p", "17").stdout)))
    assert [float(row["corrected"]) for row in table] == [each["value"] for each in found]
    for style in ("table", "md"):
        assert f"{score['value']:.4f}" in command(*words, "--format", style).stdout


def test_nugget_measures_are_corrected_query_by_query(tmp_path: Path) -> None:
    def nuggets(queries: int, supported: str) -> list[dict[str, Any]]:
        return [{"query_id": f"q{at}", "run_id": "a", "aspect": f"n{n}", "importance": "vital",
                 "label": "support" if str(n) in supported and at % 3 else "not_support"}
                for at in range(queries) for n in range(3)]  # fmt: skip

    judged, gold = files(tmp_path, nuggets(60, "012"), nuggets(30, "01"))
    (found,) = json.loads(command(judged, "--gold", gold, "-m", "v_strict", "--format", "json").stdout)[
        "results"
    ]
    assert found["judge"] == pytest.approx(2 / 3)
    assert found["value"] == pytest.approx(4 / 9, abs=0.01)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "ndcg@10"], "scores runs"),
        (["-m", "crag_score", "--level", "95"], "between 0 and 1"),
        (["-m", ""], "no measure named"),
    ],
)
def test_mistakes_are_explained(tmp_path: Path, words: list[str], message: str) -> None:
    judged, gold = example(tmp_path)
    assert message in command(judged, "--gold", gold, *words, code=2).stderr


def test_files_that_have_nothing_in_common_and_several_judges_are_refused(tmp_path: Path) -> None:
    judged, gold = files(tmp_path, rows("a", LABELS), rows("z", LABELS))
    assert (
        "holds nothing on the answers" in command(judged, "--gold", gold, "-m", "crag_score", code=2).stderr
    )
    two = rows("a", LABELS, judge="x") + rows("a", LABELS, judge="y")
    judged, gold = files(tmp_path, two, rows("a", LABELS))
    assert "has 2 judges" in command(judged, "--gold", gold, "-m", "hallucination", code=2).stderr
    done = command(judged, "--gold", gold, "-m", "crag_score", "--format", "csv")
    assert "rests on 4 queries that people judged" in done.stderr


def test_failed_judgements_are_an_error_unless_said_otherwise(tmp_path: Path) -> None:
    failed = [{"query_id": "q9", "run_id": "a", "status": "error", "rubric": "crag"}]
    judged, gold = files(tmp_path, rows("a", LABELS) + failed, rows("a", LABELS))
    assert "are missing" in command(judged, "--gold", gold, "-m", "crag_score", code=3).stderr
    done = command(judged, "--gold", gold, "-m", "crag_score", "--on-missing", "skip", "--format", "json")
    assert json.loads(done.stdout)["results"][0]["queries"] == 4


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
            said = rng.random(number) < np.where(truth, right, wrong)
            looked = np.full(number, rng.random() < share) if whole else rng.random(number) < share
            for nugget in range(number):
                judged.append(self.line(query, nugget, bool(said[nugget]), nugget % 2 == 0))
                if looked[nugget]:
                    gold.append(self.line(query, nugget, bool(truth[nugget]), nugget % 2 == 0))
        return judged, gold

    @pytest.mark.parametrize(("right", "wrong"), [(0.97, 0.35), (0.65, 0.4)])
    @pytest.mark.parametrize(
        ("answers", "share", "whole"), [(22, 0.2, False), (200, 0.05, False), (60, 0.3, True)]
    )
    def test_intervals_hold_the_truth(
        self, right: float, wrong: float, answers: int, share: float, whole: bool
    ) -> None:
        """The mean over all answers there could be is a half, by both measures."""
        times, held = 100, np.zeros(2)
        rng = np.random.default_rng(answers)
        measures = measures_of_answers("a_strict,v_strict")
        for _ in range(times):
            judged, gold = self.drawn(rng, answers, share, right, wrong, whole)
            found = correct(measures, read_judgements(judged), read_judgements(gold), AnswerRules())
            held += [each.estimate.low <= 0.5 <= each.estimate.high for each in found]
        assert held.min() >= 89  # of 100: 93 are expected at least
        assert held.sum() >= 182

    def test_the_formula(self) -> None:
        """Three answers of four, judged to a half, a quarter and wholly."""
        whole = {"a": 0.5, "b": 0.75, "c": 0.25, "d": 1.0}
        share, people, judge = (
            {"a": 0.5, "b": 0.25, "c": 1.0},
            {"a": 1, "b": 0, "c": 0.5},
            {"a": 1, "b": 1, "c": 0},
        )
        found = corrected_from_parts(whole, judge, people, share, 9)
        a = np.array([0.5, 0.25, 1.0, 0.0]) / 0.4375
        y, f, full = np.array([1, 0, 0.5, 0]), np.array([1.0, 1, 0, 0]), np.array([0.5, 0.75, 0.25, 1])
        error, aid = a * (y - (a * y).mean()), full - full.mean() - a * (f - (a * f).mean())
        weight = -(error @ aid) / (aid @ aid)
        assert found.weight == pytest.approx(np.clip(weight, 0, 1))
        assert found.value == pytest.approx(found.weight * (full.mean() - (a * f).mean()) + (a * y).mean())
        assert found.people == pytest.approx((0.5 * 1 + 0.25 * 0 + 1 * 0.5) / 1.75)
        assert (found.judge, found.queries, found.checked, found.labels) == (0.625, 4, 3, 9)

    def test_whole_answers_are_corrected_as_ever(self) -> None:
        judged, gold = self.drawn(np.random.default_rng(3), 40, 0.4, 0.9, 0.2, True)
        (found,) = correct(
            measures_of_answers("a_strict"), read_judgements(judged), read_judgements(gold), AnswerRules()
        )
        values = [
            {query: float(np.mean([row["label"] == "support" for row in rows if row["query_id"] == query]))
             for query in {row["query_id"] for row in rows}}
            for rows in (judged, gold)
        ]  # fmt: skip
        assert found.estimate[:10] == pytest.approx(corrected_mean(*values)[:10])
        assert (found.partly, found.estimate.labels, found.estimate.of) == (0, len(gold), len(judged))

    def test_what_people_judged_is_counted(self, tmp_path: Path) -> None:
        judged, gold = self.drawn(np.random.default_rng(4), 22, 0.2, 0.9, 0.2, False)
        vital = [sum(row["importance"] == "vital" for row in rows) for rows in (gold, judged)]
        paths = files(tmp_path, judged, gold)
        done = command(paths[0], "--gold", paths[1], "-m", "a_strict,v_strict", "--format", "csv")
        every, strict = csv.DictReader(io.StringIO(done.stdout))
        assert (int(every["labels"]), int(every["of"])) == (len(gold), len(judged))
        assert (int(strict["labels"]), int(strict["of"])) == (vital[0], vital[1])
        assert int(every["checked"]) == len({row["query_id"] for row in gold})
        assert f"answers in part, {len(gold):,} of {len(judged):,} judgements in all" in done.stderr
        (record, _) = json.loads(
            command(paths[0], "--gold", paths[1], "-m", "a v", "--format", "json").stdout
        )["results"]
        assert (record["labels"], record["of"]) == (len(gold), len(judged))

    def test_judge_and_people_are_compared_on_the_same_nuggets(self) -> None:
        """The judge is right wherever people looked, so nothing is to be corrected; people's own nuggets and
        their failures are no evidence."""
        judged = [self.line(query, nugget, nugget < query, True) for query in range(8) for nugget in range(8)]
        gold = [row for row in judged if int(row["aspect"][1:]) % 2 == int(row["query_id"][1:]) % 2]
        gold += [self.line(query, 99, True, True) for query in range(8)]
        gold.append({**self.line(0, 1, True, True), "label": None, "status": "error"})
        (found,) = correct(
            measures_of_answers("a_strict"), read_judgements(judged), read_judgements(gold), AnswerRules()
        )
        estimate = found.estimate
        assert (estimate.checked, estimate.labels, estimate.of) == (8, 32, 64)
        assert estimate.value == pytest.approx(
            estimate.judge + (1 - estimate.weight) * (estimate.people - estimate.judge)
        )

    def test_a_measure_that_needs_the_whole_answer_leaves_parts_out(self, tmp_path: Path) -> None:
        judged = [
            self.line(query, nugget, query % 2 == 0, True) for query in range(30) for nugget in range(4)
        ]
        gold = [row for at, row in enumerate(judged) if at < 60 or at % 4]  # 15 answers wholly, 15 in part
        paths = files(tmp_path, judged, gold)
        answers = [
            {"query_id": f"q{query}", "run_id": "ours", "answer": "ten words " * 5} for query in range(30)
        ]
        (tmp_path / "answers.jsonl").write_text("".join(json.dumps(each) + "\n" for each in answers))
        words = ["-m", "nugget_density", "--answers", str(tmp_path / "answers.jsonl"), "--format", "json"]
        done = command(paths[0], "--gold", paths[1], *words)
        (found,) = json.loads(done.stdout)["results"]
        assert (found["checked"], found["labels"], found["of"]) == (15, 105, 120)
        assert "people judged 15 answers in part only, which are left out" in done.stderr
