"""What ships, what blocks, and what is not known: the verdict of a gate on values that are there."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main
from rageval.comparison.gate import GateReport, GateSettings, baseline_of
from rageval.errors import InputError, MeasureError, MissingJudgements, UsageError
from rageval.scoring.scores import Score, Scores
from reasons import why
from sides import gate_values, side

HALF = [0.0, 1.0] * 30  # 60 questions


def changed(number: int, by: float, of: list[float] = HALF) -> list[float]:
    """The first values changed, back and forth a little so that they are not all alike."""
    return [v + by + 0.001 * (-1) ** index if index < number else v for index, v in enumerate(of)]


def low(report: GateReport) -> tuple[float, float, float]:
    (decision,) = report.overall
    return decision.difference, decision.low, decision.high


def test_the_three_verdicts_by_their_bounds() -> None:
    values = np.random.default_rng(1).normal(0.5, 0.05, 60).clip(0, 1).tolist()
    for shift, verdict in ((0.02, "ship"), (-0.01, "ship"), (-0.2, "block"), (-0.029, "inconclusive")):
        noise = np.random.default_rng(2).normal(shift, 0.02, 60)
        report = gate_values((np.array(values) + noise).tolist(), values)
        difference, least, most = low(report)
        assert report.verdict == verdict
        assert (least > -0.03) == (verdict == "ship")
        assert (most < 0 and difference < -0.03) == (verdict == "block")


def test_worse_by_less_than_the_margin_ships_and_is_said() -> None:
    report = gate_values([v - 0.01 + 0.001 * (index % 3) for index, v in enumerate(HALF)], HALF)
    assert report.verdict == "ship"
    assert why(report.overall[0]) == "significantly worse, but by less than the margin"
    assert any("but by less than the margin" in remark for remark in map(str, report.remarks))


def test_what_is_seen_beyond_the_margin_blocks_and_beyond_margin_asks_for_more() -> None:
    noise = np.random.default_rng(3).normal(0, 0.09, 100)
    noise += -0.045 - noise.mean()
    base = [0.5] * 100
    now = (0.5 + noise).tolist()
    difference, _, most = low(gate_values(now, base))
    assert difference == pytest.approx(-0.045)
    assert -0.03 < most < -0.02
    assert gate_values(now, base).verdict == "block"
    assert gate_values(now, base, block="beyond-margin").verdict == "inconclusive"
    assert gate_values((0.4 + noise).tolist(), base, block="beyond-margin").verdict == "block"


def test_numbers_are_those_of_compare() -> None:
    random = np.random.default_rng(4)
    base, now = random.random(40).tolist(), random.random(40).tolist()
    clusters = {f"q{index:03}": str(index // 3) for index in range(40)}
    for how in ({}, {"clusters": clusters}, {"resamples": 500}):
        ids = [f"q{index:03}" for index in range(40)]
        scores = [
            Scores(name, (Score(rageval.coverage, ids, values, 0, "coverage"),))
            for name, values in (("now", now), ("base", base))
        ]
        pair = rageval.compare(scores, baseline="base", test="t", level=0.9, **how).pairs[0]
        assert low(gate_values(now, base, **how)) == (pair.difference, pair.low, pair.high)


def test_answers_that_are_the_same_ship_with_no_difference_however_few() -> None:
    same = {f"q{index:03}": "x" for index in range(5)}
    one = side([0.0, 1.0, 0.5, 0.25, 1.0], same=same)
    assert low(gate_values(one, one)) == (0, 0, 0)
    assert gate_values(one, one).verdict == gate_values(one, one, margin=0).verdict == "ship"
    # Equal values of other answers are a sample, of which others might differ.
    other = side([0.0, 1.0, 0.5, 0.25, 1.0], same={**same, "q000": "y"})
    assert gate_values(other, one).verdict == "inconclusive"
    assert gate_values(HALF * 4, HALF * 4).verdict == "ship"


def test_where_low_is_good_more_is_worse() -> None:
    base = {"hallucination": [0.0] * 70 + [1.0] * 30}
    worse = {"hallucination": [1.0] * 20 + base["hallucination"][20:]}
    assert gate_values(worse, base).verdict == "block"
    assert gate_values(worse, base).overall[0].difference == pytest.approx(0.2)
    assert gate_values(base, worse).verdict == "ship"
    assert [decision.query_id for decision in gate_values(worse, base).fell] == [
        f"q{index:03}" for index in range(5)
    ]


def test_several_measures_ship_all_or_not_and_any_blocks() -> None:
    noise = np.random.default_rng(5).normal(0, 0.01, 60)
    good = (np.array(HALF) + noise).tolist()
    bad = (np.array(HALF) - 0.3 + noise).tolist()
    loose = (np.array(HALF) + 0.4 * np.array([1.0, -1.0] * 30)).tolist()
    base = {"coverage": HALF, "alpha_ndcg": HALF}
    for first, second, verdict in (
        (good, good, "ship"),
        (good, bad, "block"),
        (bad, good, "block"),
        (good, loose, "inconclusive"),
    ):
        assert gate_values({"coverage": first, "alpha_ndcg": second}, base).verdict == verdict


@pytest.mark.slow
def test_slices_only_block_small_ones_only_inform_and_holm_counts_them() -> None:
    groups = {
        f"q{index:03}": "small" if index < 19 else "large" if index < 60 else "rest" for index in range(240)
    }
    base = [0.5] * 240
    noise = np.random.default_rng(7).normal(0, 0.01, 240)
    in_small = (0.5 + noise - 0.3 * (np.arange(240) < 19)).tolist()
    in_large = (0.5 + noise - 0.3 * ((np.arange(240) >= 19) & (np.arange(240) < 60))).tolist()
    report = gate_values(in_small, base, slices={"domain": groups})
    verdicts = {decision.name: decision.verdict for decision in report.decisions}
    assert verdicts == {"": "inconclusive", "large": "ship", "rest": "ship", "small": "informs"}
    large = gate_values(in_large, base, margin=0.1, slices={"domain": groups}, slice_margin=0.2)
    assert {
        decision.name: decision.verdict for decision in large.decisions if decision.verdict == "block"
    } == {"large": "block"}
    assert large.verdict == "block"
    # A slice that is not sure to be good enough keeps nothing from shipping.
    loose = (0.5 + noise + np.random.default_rng(8).normal(0.05, 0.5, 240) * (np.arange(240) < 60)).tolist()
    report = gate_values(loose, base, margin=0.1, slices={"domain": groups}, slice_margin=0.01)
    assert report.verdict == "ship"
    assert {decision.name: decision.verdict for decision in report.decisions}["large"] == "inconclusive"


@pytest.mark.slow
def test_one_slice_of_many_that_blocks_by_itself_may_not_among_all() -> None:
    random = np.random.default_rng(11)
    base = [0.5] * 480
    now, spread = 0.5 + random.normal(0.03, 0.1, 480), random.normal(0, 0.1, 40)
    now[:40] = 0.5 + spread - spread.mean() - 0.035
    one = {f"q{index:03}": "s0" if index < 40 else "rest" for index in range(480)}
    many = {f"q{index:03}": f"s{index // 40}" for index in range(480)}
    alone = gate_values(now.tolist(), base, slices={"s": one}, slice_margin=0.01)
    among = gate_values(now.tolist(), base, slices={"s": many}, slice_margin=0.01)
    picked = [
        next(decision for decision in report.decisions if decision.name == "s0") for report in (alone, among)
    ]
    assert picked[0].p == picked[1].p
    assert 0.05 / 13 < picked[0].p < 0.05 / 3
    assert [decision.verdict for decision in picked] == ["block", "inconclusive"]
    assert "not among all measures and slices" in why(picked[1])


def test_the_questions_needed_decide_it() -> None:
    noise = np.random.default_rng(9).normal(0, 0.2, 100)
    now = (0.5 + noise - noise.mean()).tolist()
    (decision,) = gate_values(now, [0.5] * 100).overall
    assert decision.verdict == "inconclusive"
    times = math.ceil((decision.needed or 0) / 100)
    assert times >= 2
    assert gate_values(now * times, [0.5] * 100 * times).verdict == "ship"


@pytest.mark.slow
def test_a_verdict_holds_for_every_completion_of_missing_judgements_or_is_none() -> None:
    """Against brute force: each missing value at either end, on both sides."""
    random = np.random.default_rng(10)
    verdicts = set()
    for _ in range(12):
        base = random.random(150)
        now = base + random.normal(random.choice([-0.06, 0.0, 0.02]), 0.08, 150)
        ends = {int(index): (0.0, 1.0) for index in random.choice(150, 2, replace=False)}
        theirs = {int(random.integers(150)): (0.0, 1.0)}
        report = gate_values(side(now.tolist(), between=ends), side(base.tolist(), between=theirs))
        places = [*((0, index) for index in ends), *((1, index) for index in theirs)]
        completions = []
        for chosen in product((0.0, 1.0), repeat=len(places)):
            values = [now.copy(), base.copy()]
            for (which, index), value in zip(places, chosen, strict=True):
                values[which][index] = value
            completions.append(gate_values(values[0].tolist(), values[1].tolist()).verdict)
        if report.verdict != "inconclusive":
            assert set(completions) == {report.verdict}
        verdicts.add(report.verdict)
    assert verdicts == {"ship", "block", "inconclusive"}


def test_too_many_missing_judgements_are_an_error_of_their_own() -> None:
    ends = dict.fromkeys(range(2), (0.0, 1.0))
    assert gate_values(side(HALF * 2, between=ends), HALF * 2).counts["judgements missing"] == 2
    with pytest.raises(MissingJudgements, match="missing in 2 of 60 questions, more than 2%"):
        gate_values(side(HALF, between=ends), HALF)


def test_less_than_nine_tenths_of_the_baseline_is_nothing_gated() -> None:
    base = HALF[:40]
    with pytest.raises(InputError, match=r"35 of the baseline's 40 questions .*nothing was gated"):
        gate_values([*base[:35], *[None] * 5], base)
    absent = frozenset(f"q{index:03}" for index in range(5))
    with pytest.raises(InputError, match="35 of the baseline's 40 questions are in both"):
        gate_values(side(base, absent=absent), base)


LACKING: dict[str, Any] = {
    "undefined": lambda: ([None] * 5 + HALF[5:40], {}),
    "failed": lambda: (HALF[:40], {"between": dict.fromkeys(range(5), (0.0, 1.0))}),
    "not there": lambda: (HALF[:35], {}),
    "no answer": lambda: (HALF[:40], {"absent": frozenset(f"q{index:03}" for index in range(5))}),
    "fewer answers": lambda: (
        HALF[:40],
        {"repeats": {f"q{index:03}": 1 + (index > 4) for index in range(40)}},
    ),
    "other nuggets": lambda: (HALF[:40], {"nuggets": {f"q{index:03}": "other" for index in range(5)}}),
}


@pytest.mark.parametrize("lack", LACKING)
def test_whichever_side_lacks_values_nothing_is_gated(lack: str) -> None:
    values, other = LACKING[lack]()
    whole = (
        side(HALF[:40], repeats={f"q{index:03}": 2 for index in range(40)})
        if "repeats" in other
        else HALF[:40]
    )
    refusals = []
    for candidate_lacks in (True, False):
        sides = (side(values, **other), whole) if candidate_lacks else (whole, side(values, **other))
        with pytest.raises((InputError, MissingJudgements)) as caught:
            gate_values(*sides, margin=1.0)
        refusals.append(type(caught.value))
    assert refusals[0] is refusals[1]


@pytest.mark.slow
def test_questions_that_are_gone_new_or_relisted_are_missing() -> None:
    """Beyond 2 % of the questions nothing is gated; below, the verdict has to hold at both ends."""
    flat = [0.5] * 200
    for number in (1, 4):
        report = gate_values(flat[:-number], flat, margin=0.1)
        assert (report.verdict, report.counts["gone"], report.counts["compared"]) == (
            "ship",
            number,
            200 - number,
        )
        sentence = (
            "1 question of the baseline is gone" if number == 1 else "4 questions of the baseline are gone"
        )
        assert any(sentence in str(remark) for remark in report.remarks)
        assert gate_values(flat[:-number], flat, margin=0.001).verdict == "inconclusive"
    with pytest.raises(MissingJudgements, match=r"missing in 5 of 200 questions, more than 2%: 5 are gone"):
        gate_values(flat[:-5], flat, margin=0.1)
    new = gate_values(flat, flat[:-4], margin=0.001)
    assert (new.verdict, new.counts["new"]) == ("inconclusive", 4)
    assert gate_values(flat, flat[:-4], margin=0.1).verdict == "ship"
    relisted = {f"q{index:03}": "other" for index in range(5)}
    with pytest.raises(MissingJudgements, match="5 are judged by other nuggets"):
        gate_values(side(flat, nuggets=relisted), flat)
    few = gate_values(side(flat, nuggets={"q000": "other"}), flat, margin=0.001)
    assert (few.verdict, few.counts["other nuggets"]) == ("inconclusive", 1)


def test_a_floor_holds_whatever_is_missing() -> None:
    flat = [0.5] * 100
    assert gate_values(flat, flat, fail_under={"coverage": 0.5}).verdict == "ship"
    report = gate_values(flat[:-1], flat, margin=0.1, fail_under={"coverage": 0.5})
    assert (report.verdict, "0.4950 if the missing judgements" in str(report.floors[0])) == ("block", True)


def test_a_loss_on_questions_without_an_answer_is_no_claim() -> None:
    base = [0.5 + 0.001 * (index % 7) for index in range(100)]
    now = [0.0] * 9 + base[9:]
    absent = frozenset(f"q{index:03}" for index in range(9))
    assert gate_values(now, base).verdict == "block"
    report = gate_values(side(now, absent=absent), base)
    assert report.verdict == "inconclusive"
    assert "in one of the two only" in why(report.overall[0])


def test_a_slice_of_which_nothing_is_left_only_informs() -> None:
    groups = {f"q{index:03}": "lost" if index < 3 else "kept" for index in range(60)}
    absent = frozenset(f"q{index:03}" for index in range(3))
    report = gate_values(side([0.0] * 3 + HALF[3:], absent=absent), HALF, slices={"domain": groups})
    assert {decision.name: decision.verdict for decision in report.decisions}["lost"] == "informs"
    nothing = {"coverage": [None] * 3 + HALF[3:]}
    report = gate_values(nothing, nothing, slices={"domain": groups})
    assert {decision.name: (decision.verdict, decision.questions) for decision in report.decisions}[
        "lost"
    ] == ("informs", 0)


def test_what_failed_altogether_is_an_error_and_no_loss() -> None:
    with pytest.raises(InputError, match=r"candidate scores 0 on every query.*nothing was compared"):
        gate_values([0.0] * 60, HALF)
    with pytest.raises(InputError, match="baseline scores 0 on every query"):
        gate_values(HALF, [0.0] * 60)


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        ({"judges": ["openai:b"]}, {"judges": ["openai:a"]}, "judged by openai:a, the candidate by openai:b"),
        ({"rubrics": ["crag"]}, {"rubrics": ["mine"]}, "--judge-changed allow"),
        ({"judgements": "aa"}, {"judgements": "bb"}, "with other judgements"),
        ({"gold": "aa"}, {}, "has no human labels"),
        ({"gold": "aa", "judgements": "x"}, {"gold": "bb", "judgements": "x"}, "has other human labels"),
        (
            {"gold": "aa"},
            {"gold": "bb"},
            "are both called system, so human labels may be for the answers",
        ),
        (
            {"measures": {"coverage": "coverage|rel:2"}},
            {},
            "scored by other rules: coverage|v:1; the candidate by",
        ),
        ({}, {"measures": {}}, "the baseline has no values of coverage"),
    ],
)
def test_what_was_made_otherwise_is_refused(ours: dict, theirs: dict, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError) as error:
        gate_values(side(HALF, **ours), side(HALF, **theirs))
    assert message in str(error.value)


def test_another_judge_that_is_allowed_is_never_a_claim() -> None:
    now, base = side(HALF, judges=["openai:b"]), side(HALF, judges=["openai:a"])
    same = {f"q{index:03}": "x" for index in range(60)}
    report = gate_values(now._replace(same=same), base._replace(same=same), judge_changed="allow")
    assert (report.verdict, why(report.overall[0])) == (
        "inconclusive",
        "judged by openai:b, the baseline by openai:a",
    )


def test_unseen_questions_and_holes_that_differ_forbid_a_claim() -> None:
    base, now = HALF * 4, [*HALF * 4]
    assert gate_values(side(now, unseen=0.1), base).verdict == "ship"
    assert "no document is judged in 11%" in why(gate_values(side(now, unseen=0.11), base).overall[0])
    for share, verdict in ((0.24, "ship"), (0.26, "inconclusive")):
        assert gate_values(side(now, unjudged=share), side(base, unjudged=0.2)).verdict == verdict
    other = side({"coverage": base, "recall": base}, unjudged=0.2)  # perhaps of a deeper top
    report = gate_values(side(now, unjudged=0.6), other)
    assert report.verdict == "ship"
    assert any("share of unjudged documents does not apply" in remark for remark in map(str, report.remarks))
    ends = {"bounds": {"coverage": (0.49, 0.51)}}
    assert gate_values(side(now, unjudged=0.4, **ends), side(base, unjudged=0.2, **ends)).verdict == "ship"


def test_a_floor_blocks_whatever_the_baseline_has() -> None:
    report = gate_values(HALF * 4, HALF * 4, fail_under={"coverage": 0.6})
    assert (report.verdict, list(map(str, report.floors))) == (
        "block",
        ["coverage is 0.5000, below 0.6 (--fail-under)"],
    )
    with pytest.raises(UsageError, match=r"^fail_under= recall: is not gated"):
        gate_values(HALF, HALF, fail_under={"recall": 0.6})


def test_a_margin_of_nothing_is_warned_of() -> None:
    assert any(
        "with --margin 0 only a significantly better system ships" in remark
        for remark in map(str, gate_values(HALF, HALF, margin=0).remarks)
    )


@pytest.mark.parametrize("wrong", [{"margin": -0.1}, {"margin": math.nan}, {"level": 0.4}, {"block": "no"}])
def test_settings_that_mean_nothing_are_refused(wrong: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(UsageError, match=f"{next(iter(wrong))}="):
        GateSettings(**{"margin": 0.1, **wrong})


def test_what_has_no_good_side_and_what_is_no_mean_is_not_gated() -> None:
    with pytest.raises(UsageError, match="length: neither high nor low is good"):
        gate_values({"length": HALF}, {"length": HALF})
    with pytest.raises(MeasureError, match="pooled"):
        gate_values({"citation_recall(over=pool)": HALF}, {"citation_recall(over=pool)": HALF})


@pytest.mark.parametrize("text", ['"recall@1":7.0', '"recall@1":0.25'])
def test_a_baseline_of_values_that_cannot_be_is_refused(text: str, tmp_path: Path) -> None:
    run, qrels, path = tmp_path / "a.run", tmp_path / "qrels", tmp_path / "base.jsonl"
    run.write_text("".join(f"q{index} Q0 d 1 2 a\nq{index} Q0 e 2 1 a\n" for index in range(10)))
    qrels.write_text("".join(f"q{index} 0 d 1\nq{index} 0 e 0\n" for index in range(10)))
    words = ["gate", str(run), str(qrels), "-m", "recall@1"]
    assert CliRunner().invoke(main, [*words, "--save-baseline", str(path)]).exit_code == 0
    path.write_text(path.read_text().replace('"recall@1":1.0', text))
    result = CliRunner().invoke(main, [*words, "--baseline", str(path), "--margin", "0.1"])
    assert (result.exit_code, "as recall@1 of question q0" in result.stderr) == (2, True)


def test_a_side_stays_as_it_is_when_it_is_saved() -> None:
    ours = side(HALF, date="2026-01-01")
    baseline = baseline_of(ours, "2026-02-03")
    assert (baseline.header.date, baseline.header.questions) == ("2026-02-03", 60)
    assert (ours.header.date, ours.header.questions) == ("2026-01-01", 0)
