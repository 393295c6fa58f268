"""When judging may stop: goldens, a slow oracle, exact error rates of small sets, what failures may do."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval.errors import UsageError
from rageval.statistics import LEVEL
from rageval.statistics.correction import floor_of
from rageval.statistics.stopping import Race, Rule, Stop, best_of, e_values, p_at_looks, replayed, stopped

X = [1, 0, 1, -1, 1, 1, 0, 1, 1, 1]
OF_20 = (1.335556, 1.364169, 1.957932, 1.088709, 1.482999, 2.195541, 2.447548, 4.153735, 8.24533, 20.310542)
BETS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8)
differences = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=1, max_size=30)


def slow(x, total):
    """The e-value after all of x, straight from the formula."""
    mean = 0.0
    for bet in BETS:
        product, before = 1.0, 0.0
        for at, value in enumerate(x):
            expected = 0.0 if total is None else max(-0.999, min(0.999, -before / (total - at)))
            product *= 1 + bet / (1 + expected) * (value - expected)
            before += value
        mean += product / len(BETS)
    return mean


def test_e_values_of_the_worked_example():
    assert e_values(X, 20).tolist() == pytest.approx(OF_20, abs=1e-6)
    assert e_values(X)[-1] == pytest.approx(5.582323, abs=1e-6)


@given(differences, st.integers(0, 40) | st.none())
def test_e_values_are_those_of_the_formula(x, more):
    total = None if more is None else len(x) + more
    found = e_values(x, total)
    for at, value in enumerate(found.tolist(), 1):
        if total is not None and sum(x[:at]) > total - at:
            assert math.isinf(value)
        else:
            assert value == pytest.approx(slow(x[:at], total), rel=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("half", [(1.0,) * 5, (1.0, 1.0, 0.5, 0.0), (1.0, 0.0, 0.0, 0.0)])
def test_of_all_orders_of_a_set_without_a_difference_few_end_in_a_claim(half, alpha):
    """Exact, not simulated: every order of the set is as likely."""
    values = sorted([*half, *(-value for value in half)])
    each = np.array(list(orders(values)))
    up, down = ((e_values(sign * each, len(values)) >= 2 / alpha).any(axis=1) for sign in (1, -1))
    assert (up | down).mean() <= alpha
    assert all(
        stopped(x, Rule(len(values), "set", None, alpha)).word == "equal" for x in each[~(up | down)][:9]
    )


def orders(values):
    """Every distinct order of the values: for each value, the places that it takes among those left."""
    if len(set(values)) == 1:
        yield list(values)
        return
    first = values[0]
    number = values.count(first)
    for places in combinations(range(len(values)), number):
        for rest in orders(values[number:]):
            others = iter(rest)
            yield [first if at in places else next(others) for at in range(len(values))]


def test_more_than_the_rest_can_undo_is_certain_and_as_much_is_not():
    assert stopped([1.0] * 3, Rule(6, "set", None)) is None
    assert stopped([-1.0] * 4, Rule(6, "set", None)) == Stop("lower", 4, math.inf, 40.0, certain=True)
    assert stopped([1.0, -1.0, 0.0, 0.0], Rule(4, "set", None)).word == "equal"
    assert stopped([1.0, -1.0, 0.0, math.nan], Rule(4, "set", None)) is None
    assert stopped([1.0, -1.0, 0.0, 0.0], Rule(4, "kind", None)) is None


@given(differences, st.data())
def test_a_failure_may_delay_a_claim_and_never_helps_one(x, data):
    """In either direction, by every rule; NaN at some questions, or the value there."""
    failed = data.draw(st.lists(st.booleans(), min_size=len(x), max_size=len(x)))
    less = [math.nan if gone else value for value, gone in zip(x, failed, strict=True)]
    total = len(x) + data.draw(st.integers(0, 5))
    assert (e_values(less, total) <= e_values(x, total) * (1 + 1e-9)).all()
    assert (e_values(less) <= e_values(x) * (1 + 1e-9)).all()
    for rule in (Rule(total, "kind", 3, 0.5), Rule(total, "kind", None, 0.5), Rule(total, "set", None, 0.5)):
        whole, part = stopped(x, rule), stopped(less, rule)
        if part is not None and whole is not None and part.word == whole.word:
            assert part.questions >= whole.questions


@given(
    differences,
    st.sampled_from([Rule(30), Rule(30, looks=None), Rule(30, "set", None), Rule(30, within=0.5)]),
)
def test_the_other_way_round_is_the_other_claim_at_the_same_question(x, rule):
    turned = {"higher": "lower", "lower": "higher"}
    one, other = stopped(x, rule), stopped([-value for value in x], rule)
    if one is None:
        assert other is None
    else:
        assert (turned.get(one.word, one.word), one.questions) == (other.word, other.questions)


@given(differences, st.integers(0, 29))
def test_what_comes_after_a_stop_changes_nothing(x, more):
    for rule in (Rule(60), Rule(60, looks=None), Rule(60, "set", None)):
        stop = stopped(x, rule)
        if stop is not None:
            assert stopped(x + [-1.0] * more, rule) == stop
            assert stopped(x[: stop.questions - 1], rule) is None


def test_looks_are_student_s_t_with_a_floor_and_few_differences_are_no_proof():
    from scipy.stats import t

    x = np.random.default_rng(3).choice([-1.0, 0.0, 0.5, 1.0], (4, 40))
    for row, found in zip(x, p_at_looks(x, [20, 40]), strict=True):
        parts = [row[:size] for size in (20, 40)]
        # The floor of the rule of three is added to the variance of the mean, few values or many.
        errors = [(part.var(ddof=1) / len(part) + 2.34 / len(part) ** 2) ** 0.5 for part in parts]
        plain = [t.sf(part.mean() / error, len(part) - 1) for part, error in zip(parts, errors, strict=True)]
        assert found.tolist() == pytest.approx(plain)
    assert p_at_looks(np.ones(2), [2])[0] > 0.1  # two of two, all alike
    assert p_at_looks(np.array([0.0] * 95 + [0.2] * 5), [100])[0] > 0.1
    assert p_at_looks(np.ones(100), [100])[0] < 1e-6


def test_a_margin_takes_both_of_its_ends():
    rng = np.random.default_rng(5)
    level = (rng.random(2000) < 0.5).astype(float)
    same = level - rng.permutation(level)
    for looks in (5, None):
        assert stopped(same, Rule(2000, looks=looks, within=0.15)).word == "within"
        assert stopped(same + 0.0, Rule(2000, looks=looks, within=0.001)) is None
        assert stopped(np.maximum(same, 0.0), Rule(2000, looks=looks, within=0.05)).word == "apart"


def test_the_best_of_several_is_what_is_left():
    rng = np.random.default_rng(7)
    values = (rng.random((4, 600)) < np.array([[0.8], [0.4], [0.4], [0.75]])).astype(float)
    race = best_of(values, Rule(600, "set", None))
    assert race.best in (0, None)
    assert {one for one, _ in race.dropped} >= {1, 2}
    # what a system would have been worth after it was dropped is never asked for
    for one, when in race.dropped:
        values[one, when:] = math.nan
    assert best_of(values, Rule(600, "set", None)) == race
    assert best_of([[0.5] * 50] * 3, Rule(50, "kind", None)) == Race((0, 1, 2), ())
    # of two it is the pair's one-sided claim
    two = values[[0, 1]]
    when = stopped(two[0] - two[1], Rule(600, "kind", None, 0.1)).questions
    assert best_of(two, Rule(600, "kind", None, 0.05)).dropped == ((1, when),)


@pytest.mark.parametrize(
    "given",
    [
        {"claim": "set", "looks": 5},
        {"alpha": 0.0},
        {"alpha": 1.0},
        {"within": 0.0},
        {"within": 1.0},
        {"looks": 0},
    ],
)
def test_what_would_be_no_rule_is_refused(given):
    with pytest.raises(UsageError, match=r"expected|leave out"):
        Rule(10, **given)


def test_what_is_beyond_the_span_is_refused():
    with pytest.raises(UsageError, match="beyond 1"):
        stopped([1.0, 1.5], Rule(10))
    with pytest.raises(UsageError, match="beyond 1"):
        best_of([[1.5, 1.0], [0.0, 0.0]], Rule(10, looks=None))
    with pytest.raises(UsageError, match="leave out"):
        best_of([[1.0], [0.0]], Rule(10))


@pytest.mark.parametrize(
    "rule", [Rule(40, looks=4, span=2.0), Rule(40, looks=None, span=2.0), Rule(40, "set", None, span=2.0)]
)
def test_a_replay_ends_where_stopping_does(rule: Rule) -> None:
    rng = np.random.default_rng(5)
    drift = np.linspace(-1, 1, 24)[:, None]
    rows = np.clip(np.round(2 * (rng.normal(drift, 0.7, (24, 40)))) / 2, -2, 2)
    sides, ends = replayed(rows, rule)
    for row, side, end in zip(rows, sides, ends, strict=True):
        stop = stopped(row, rule)
        word = {1: "higher", -1: "lower", 0: None}[int(side)]
        if stop is None or stop.word == "equal":
            assert (word, end) == (None, 40)
        elif not stop.certain:
            assert (word, end) == (stop.word, stop.questions)
        else:  # a replay goes by the evidence alone
            assert word == stop.word
    assert {*sides.tolist()} >= {-1, 1}
    assert len({*ends.tolist()}) > 2


@pytest.mark.parametrize("rule", [Rule(30), Rule(20, within=0.1)])
def test_what_is_no_replay_of_the_rule_is_refused(rule: Rule) -> None:
    with pytest.raises(UsageError, match="replays need a claim without a margin"):
        replayed(np.zeros((3, 20)), rule)


def test_of_two_questions_students_t_has_one_degree_of_freedom() -> None:
    """Mean .6, variance .32 / 2 + 2.34 / 4; with one degree Student's is Cauchy's distribution."""
    t = 0.6 / math.sqrt(0.32 / 2 + floor_of(LEVEL) / 4)
    assert p_at_looks(np.array([1.0, 0.2, 5.0]), [1, 2]) == pytest.approx([0.5, 0.5 - math.atan(t) / math.pi])
