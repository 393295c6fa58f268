"""A judge's mean corrected by people's labels: closed forms, a slow oracle, laws, and when it is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from rageval.errors import TooFewLabels, UsageError
from rageval.statistics import correction
from rageval.statistics.correction import Corrected, Part, corrected, max_t, selection_p

PEOPLE = (1, 0, 0, -1, 1, 0, 0.5, 0, 1, 0, -1, 0)
JUDGE = (1, 0, 0.5, -1, 0.5, 0, 1, 0, 1, -0.5, -1, 0)


def half(correction: Corrected) -> float:
    return (correction.high - correction.low) / 2


def judged_by(seed: int, number: int = 200) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A judge who follows people somewhat, and is lenient."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], number)
    return 0.6 * truth + 0.2 + rng.normal(0, 0.4, number), truth


def test_twelve_labels_of_120_worked_by_hand() -> None:
    judged = [*JUDGE, *[(0.05 * 120 - sum(JUDGE)) / 108] * 108]
    people = dict(enumerate(PEOPLE))
    plain = corrected(judged, people, paired=True, fewest=12, span=0)
    assert plain.value == pytest.approx(0.06011236, abs=1e-8)
    assert half(plain) == pytest.approx(0.23730134, abs=1e-8)
    floored = corrected(judged, people, paired=True, fewest=12)
    assert floored.value == plain.value
    assert half(floored) == pytest.approx(0.35905326, abs=1e-8)
    assert (floored.coarse, floored.labels, floored.queries) == (4, 12, 120)
    assert (floored.judge, floored.people) == (pytest.approx(0.05), pytest.approx(1.5 / 12))


def oracle(judged: Sequence[float], people: dict[int, float], population: str) -> tuple[float, float]:
    """The formulas, a number at a time: θ and √V."""
    n, every = len(people), len(judged)
    e, d = [judged[query] for query in people], list(people.values())
    mean, mean_of_judge, over = sum(d) / n, sum(e) / n, sum(judged) / every
    square = sum((x - mean_of_judge) ** 2 for x in e)
    slope = sum((x - mean_of_judge) * (y - mean) for x, y in zip(e, d, strict=True)) / square
    total = 0.0
    for x, y in zip(e, d, strict=True):
        residual = y - mean - slope * (x - mean_of_judge)
        leverage = 1 / n + (x - mean_of_judge) ** 2 / square
        weight = 1 / n + (over - mean_of_judge) * (x - mean_of_judge) / square
        total += (weight * residual / max(1 - leverage, 0.05)) ** 2
    spread = sum((y - mean) ** 2 for y in d) / (n - 1)
    variance = total * (1 - n / every) + (spread / every if population == "kind" else 0)
    return mean + slope * (over - mean_of_judge), math.sqrt(variance)


@pytest.mark.parametrize("population", ["kind", "set"])
@pytest.mark.parametrize("seed", range(5))
def test_the_formulas_a_number_at_a_time(seed: int, population: correction.Population) -> None:
    judged, truth = judged_by(seed)
    people = {index: float(truth[index]) for index in range(0, 200, 5)}
    correction = corrected(judged, people, paired=True, population=population)
    assert (correction.value, correction.error) == pytest.approx(oracle(judged.tolist(), people, population))
    assert half(correction) == pytest.approx(2.0243941639 * correction.error)  # t of 38
    assert correction.coarse is None


def test_where_people_judged_all_it_is_students_t() -> None:
    from scipy.stats import ttest_1samp

    judged, truth = judged_by(1, 40)
    correction = corrected(judged, dict(enumerate(truth.tolist())), paired=True)
    reference = ttest_1samp(truth, 0)
    assert (correction.value, correction.p) == pytest.approx((truth.mean(), reference.pvalue))
    assert (correction.low, correction.high) == pytest.approx(tuple(reference.confidence_interval()))
    whole = corrected(judged, dict(enumerate(truth.tolist())), paired=True, population="set")
    assert whole.low == whole.high == pytest.approx(truth.mean())  # nothing of the set is unknown


def test_a_bias_and_the_judges_scale_are_of_no_matter() -> None:
    """Adding to a judge's values, stretching or turning them round changes neither θ nor its interval."""
    judged, truth = judged_by(2)
    people = {index: float(truth[index]) for index in range(50)}
    plain = corrected(judged, people, paired=True)
    for other in (judged + 0.3, 5 * judged, -judged):
        correction = corrected(other, people, paired=True)
        assert (correction.value, correction.error, correction.gain) == pytest.approx(
            (plain.value, plain.error, plain.gain)
        )
    turned = corrected(-judged, {index: -value for index, value in people.items()}, paired=True)
    assert (turned.value, turned.p) == pytest.approx((-plain.value, plain.p))


def test_a_judge_who_never_differs_leaves_what_people_said() -> None:
    judged, truth = np.full(200, 0.1), judged_by(3)[1]
    people = {index: float(truth[index]) for index in range(50)}
    correction = corrected(judged, people, paired=True)
    assert (correction.value, correction.slope) == (pytest.approx(truth[:50].mean()), 0)
    assert correction.gain == pytest.approx(50)


def test_the_gain_is_how_many_labels_alone_would_do() -> None:
    rng = np.random.default_rng(4)
    truth = rng.normal(size=4000)
    people = {index: float(truth[index]) for index in range(200)}
    good = corrected(truth + rng.normal(0, 0.5, 4000), people, paired=True)
    # a residual variance of .2 of the whole: as good as 1 / (.2/200 + .8/4000) labels
    assert good.gain == pytest.approx(1 / (0.2 / 200 + 0.8 / 4000), rel=0.2)
    useless = corrected(rng.normal(size=4000), people, paired=True)
    assert 185 < useless.gain < 202


class TestFloor:
    """Few labels that differ are no proof that there are few."""

    def test_where_nothing_differs_three_labels_count_as_errors(self) -> None:
        correction = corrected([0.0] * 1000, dict.fromkeys(range(50), 0.0), paired=True)
        assert (correction.value, correction.p, correction.coarse) == (0, 1, 0)
        expected = math.sqrt((2.34 / 2500) * 0.95 + 1 / 50 / 1000)
        assert half(correction) == pytest.approx(2.0106347546 * expected)  # t of 48; about 3 of 50
        wide = corrected([0.0] * 1000, dict.fromkeys(range(50), 0.0), paired=True, span=2)
        assert half(wide) == pytest.approx(2 * half(correction))

    def test_no_interval_from_a_sample_has_no_width(self) -> None:
        always = corrected([0.5] * 100, dict.fromkeys(range(50), 1.0), paired=True)
        assert always.coarse == 0  # all differ from 0 and from the judge, but none from another
        assert half(always) > 0.04
        perfect = judged_by(5)[1]
        correction = corrected(perfect, {index: float(perfect[index]) for index in range(40)}, paired=True)
        assert correction.coarse == 0
        assert half(correction) > 3 / 40 * 0.9

    @pytest.mark.parametrize(("number", "coarse"), [(5, 5), (6, None)])
    def test_six_that_differ_are_enough(self, number: int, coarse: int | None) -> None:
        people = {index: float(index < number) for index in range(50)}
        judged = [float(index % 2) for index in range(500)]
        correction = corrected(judged, people, paired=True)
        assert correction.coarse == coarse
        assert (half(correction) == half(corrected(judged, people, paired=True, span=0))) == (coarse is None)

    def test_a_mean_counts_what_is_not_the_commonest(self) -> None:
        people = {index: float(index > 2) for index in range(50)}
        judged = [float(index % 2) for index in range(500)]
        correction = corrected(judged, people, paired=False, within=(0, 1))
        assert correction.coarse == 3
        assert correction.high == 1
        assert corrected(judged, people, paired=False).high > 1


class TestChosen:
    """Labels that were not drawn alike."""

    def test_equal_chances_are_a_uniform_draw(self) -> None:
        judged, truth = judged_by(6)
        people = {index: float(truth[index]) for index in range(50)}
        plain = corrected(judged, people, paired=True)
        correction = corrected(judged, people, paired=True, chosen=[0.25] * 200)
        assert (correction.value, correction.low, correction.p, correction.gain) == pytest.approx(
            (plain.value, plain.low, plain.p, plain.gain)
        )

    @pytest.mark.slow
    def test_weights_take_out_what_the_draw_put_in(self) -> None:
        """People looked four times as often where the judge sees a gain: alone, their mean is off."""
        rng, off = np.random.default_rng(7), []
        for _ in range(200):
            judged, truth = judged_by(int(rng.integers(2**31)), 400)
            chance = np.where(judged > 0.5, 0.4, 0.1)
            people = {
                query: float(truth[query]) for query in np.flatnonzero(rng.random(400) < chance).tolist()
            }
            off.append(corrected(judged, people, paired=True, chosen=chance).value - truth.mean())
        assert abs(np.mean(off)) < 4 * np.std(off) / math.sqrt(200)

    def test_freedom_falls_with_unequal_weights(self) -> None:
        judged, truth = judged_by(8)
        people = {index: float(truth[index]) for index in range(50)}
        chosen = [0.05 if index < 5 else 0.5 for index in range(200)]
        correction = corrected(judged, people, paired=True, chosen=chosen)
        weights = [20] * 5 + [2] * 45
        assert correction.freedom == pytest.approx(sum(weights) ** 2 / sum(w * w for w in weights) - 2)


class TestClusters:
    def test_queries_that_are_clusters_of_their_own(self) -> None:
        judged, truth = judged_by(9, 4000)
        people = {index: float(truth[index]) for index in range(400)}
        plain = corrected(judged, people, paired=True)
        correction = corrected(judged, people, paired=True, clusters=range(4000))
        assert correction.value == plain.value
        assert correction.error == pytest.approx(plain.error, rel=0.03)

    def test_the_sum_of_a_cluster_is_one_observation(self) -> None:
        """Doubling every query within its cluster adds nothing."""
        judged, truth = judged_by(10)
        people = {index: float(truth[index]) for index in range(50)}
        one = corrected(judged, people, paired=True, clusters=range(200))
        twice = {index + 200 * copy: value for index, value in people.items() for copy in (0, 1)}
        correction = corrected([*judged, *judged], twice, paired=True, clusters=[*range(200)] * 2)
        assert correction.value == pytest.approx(one.value)
        assert correction.freedom == one.freedom == 48
        assert correction.error == pytest.approx(one.error, rel=0.05)
        assert correction.units == tuple(range(200))

    def test_what_is_alike_in_a_cluster_adds_up_and_what_is_opposite_is_less(self) -> None:
        """A label above the judge's line lies beside a query that the judge finds good, or a bad one."""
        upper, below = ([index for index in range(40) if index // 2 % 2 == side] for side in (1, 0))
        good, bad = ([index for index in range(40, 80) if index % 2 == side] for side in (1, 0))
        judged = [index % 2 for index in range(80)]
        people = {index: 0.25 + judged[index] / 2 + (0.2 if index in upper else -0.2) for index in range(40)}

        def error(*other_side: int) -> float:
            pairs = dict(zip(other_side, [*upper, *below], strict=True))
            clusters = [pairs.get(query, query) for query in range(80)]
            return corrected(judged, people, paired=False, clusters=clusters).error

        alone = corrected(judged, people, paired=False).error
        assert error(*bad, *good) < alone < error(*good, *bad)

    def test_few_clusters_are_refused(self) -> None:
        judged, truth = judged_by(11)
        people = {index: float(truth[index]) for index in range(90)}
        with pytest.raises(TooFewLabels, match=r"in 9 clusters \(10 are needed\)"):
            corrected(judged, people, paired=True, clusters=[index // 10 for index in range(200)])

    def test_what_differs_in_one_cluster_differs_once(self) -> None:
        judged, people = [0.0, 1.0] * 100, {index: float(index < 10) for index in range(150)}
        correction = corrected(judged, people, paired=True, clusters=[index // 10 for index in range(200)])
        assert correction.coarse == 1


class TestSame:
    """Queries on which two systems gave the same answer."""

    def test_the_share_of_the_others_times_their_mean(self) -> None:
        judged, truth = judged_by(12)
        rest = corrected(judged[:80], {index: float(truth[index]) for index in range(40)}, paired=True)
        people = {index: float(truth[index]) for index in range(40)}
        everything = [*judged[:80].tolist(), *[0.0] * 120]
        correction = corrected(everything, people, paired=True, same=range(80, 200))
        assert correction.value == pytest.approx(0.4 * rest.value)
        labels = correction.labels
        assert labels == 40
        certain = corrected(everything, people, paired=True, same=range(80, 200), population="set")
        alone = corrected(judged[:80], people, paired=True, population="set")
        assert certain.error == pytest.approx(0.4 * alone.error)
        # of its kind, how many differ is not known either
        assert correction.error > certain.error

    def test_all_others_judged_is_all_judged(self) -> None:
        judged, truth = judged_by(13)
        truth[80:] = judged[80:] = 0
        whole = corrected(judged, dict(enumerate(truth.tolist())), paired=True)
        correction = corrected(
            judged, {index: float(truth[index]) for index in range(80)}, paired=True, same=range(80, 200)
        )
        assert correction.value == pytest.approx(whole.value)
        assert correction.error == pytest.approx(whole.error, rel=0.02)

    def test_labels_of_the_same_answers_are_of_no_use(self) -> None:
        with pytest.raises(TooFewLabels, match=r"labels for 10 of 80 \(20 are needed\)"):
            corrected([0.0] * 200, dict.fromkeys(range(70, 120), 0.0), paired=True, same=range(80, 200))


class TestFamilies:
    @pytest.mark.slow
    def test_one_pair_keeps_its_p_and_copies_cost_nothing(self) -> None:
        judged, truth = judged_by(14, 400)
        people = {index: float(truth[index]) for index in range(60)}
        one = corrected(judged, people, paired=True)
        assert max_t([one])[0] == pytest.approx(one.p, abs=0.02)
        assert max_t([one] * 5) == [max_t([one])[0]] * 5

    def test_independent_pairs_cost_as_much_as_they_are(self) -> None:
        significant = []
        for seed in range(10):
            judged, truth = judged_by(seed + 100, 400)
            significant.append(
                corrected(judged, {index: float(truth[index]) for index in range(100)}, paired=True)
            )
        least = min(p.p for p in significant)
        assert min(max_t(significant)) == pytest.approx(1 - (1 - least) ** 10, abs=0.03)

    @pytest.mark.slow
    def test_queries_are_told_by_their_names(self) -> None:
        judged, truth = judged_by(15, 300)
        people = {index: float(truth[index]) for index in range(100)}
        one, other = (corrected(values, people, paired=True) for values in (judged, judged + truth))
        turned = corrected(judged[::-1], {299 - index: value for index, value in people.items()}, paired=True)
        names = [*range(300)]
        expected = max_t([other, one])
        assert max_t([other, turned], units=[names, names[::-1]]) == expected
        assert max_t([other, turned]) != expected


def test_whether_labels_were_drawn_at_random_shows() -> None:
    judged = judged_by(16, 400)[0]
    rng = np.random.default_rng(0)
    draws = [selection_p(judged, rng.choice(400, 50, replace=False).tolist()) for _ in range(400)]
    assert 0 <= np.mean(np.array(draws) < 0.01) < 0.03
    assert selection_p(judged, np.argsort(judged)[:50].tolist()) < 1e-6
    assert selection_p(np.ones(40), range(20)) == 1


@pytest.mark.parametrize(
    ("people", "options", "error", "message"),
    [
        (range(19), {}, TooFewLabels, r"labels for 19 of 100 \(20 are needed\)"),
        (range(30), {"population": "world"}, UsageError, "expected 'kind' or 'set'"),
        (range(30), {"level": 95}, UsageError, "between 0 and 1"),
        (range(30), {"span": math.nan}, UsageError, "0 or more"),
        (range(30), {"chosen": [0.0] * 100}, UsageError, "between 0 and 1"),
        (range(30), {"chosen": [0.1] * 99}, UsageError, "99 chances for 100 queries"),
        (range(30), {"clusters": [1]}, UsageError, "1 clusters for 100 queries"),
        (range(90, 120), {}, UsageError, "places from 0 to 99"),
        (range(30), {"chosen": [1e-9, *[1.0] * 99]}, TooFewLabels, "count as 1.0 drawn alike"),
    ],
)
def test_refusals_say_why(
    people: range, options: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        corrected([0.5, 0.0] * 50, dict.fromkeys(people, 1.0), paired=True, **options)  # type: ignore[arg-type]


def test_labels_that_count_as_ten_are_just_enough() -> None:
    """By Kish, 49 labels of weight 1 and one of 21 are 70² / 490 = 10; with one of 22, 71² / 533 = 9.5."""
    judged, people = [0.5, 0.0] * 25, {index: index % 3 / 2 for index in range(50)}
    assert corrected(judged, people, paired=True, chosen=[1 / 21, *[1.0] * 49]).labels == 50
    with pytest.raises(TooFewLabels, match=r"50 labels count as 9\.5 drawn alike"):
        corrected(judged, people, paired=True, chosen=[1 / 22, *[1.0] * 49])


def test_where_parts_of_answers_never_differ_the_rule_of_three_counts_answers() -> None:
    """−ln .05 / n of n answers, by Student's t and not the normal: parts of one may all say the same."""
    parts = dict.fromkeys(range(100), Part(0.0, 0.25))
    correction = corrected([0.0] * 400, dict.fromkeys(range(100), 0.0), paired=False, parts=parts)
    assert correction.coarse == 0
    assert correction.high >= math.log(20) / 100
    assert correction.high == pytest.approx(math.log(20) / 100 * 1.984467 / 1.959964, rel=0.15)


def test_a_query_that_is_labeled_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="labeled twice"):
        corrected([0.0] * 40, [*((index, 1.0) for index in range(30)), (3, 0.0)], paired=True)


def test_a_value_that_is_no_number_is_refused() -> None:
    with pytest.raises(UsageError, match="not a number"):
        corrected([math.nan] * 40, dict.fromkeys(range(30), 1.0), paired=True)
    with pytest.raises(UsageError, match="not a number"):
        corrected([0.0] * 40, dict.fromkeys(range(30), math.nan), paired=True)


@pytest.mark.parametrize("sign", [1, -1])
def test_no_corrected_mean_lies_outside_the_scale(sign: int) -> None:
    judged = [sign * (2.0 if index < 95 else 1.4) for index in range(100)]
    people = {index: sign * (2.0 if index < 95 else 0.0) for index in range(40, 100, 2)}
    free = corrected(judged, people, paired=True)
    correction = corrected(judged, people, paired=True, within=(-1.8, 1.8))
    assert abs(free.value) > 1.8
    assert correction.value == sign * 1.8
    assert -1.8 <= correction.low < correction.high <= 1.8
    assert correction.p == free.p


def test_of_many_different_labels_the_interval_is_students() -> None:
    labels = np.random.default_rng(0).normal(0.3, 1.0, 12)
    error = float(np.std(labels, ddof=1)) / math.sqrt(12)
    reach = 2.200985160082949  # of 11 degrees of freedom, as tables have it
    expected = [labels.mean() - reach * error, labels.mean() + reach * error]
    assert correction.peoples_interval(labels) == pytest.approx(expected)
