"""`check_measure`, and the laws that hold of measures of runs and of answers alike.

A law is a function of a measure, a case and a random generator: True if it holds there. Those of one kind of
measures only stand beside its cases, in `_run_cases.py` and `_answer_cases.py`.
"""

from __future__ import annotations

import math
import random
from itertools import product
from typing import NamedTuple

from rageval.errors import MeasureError, RagevalError
from rageval.measures import builtin
from rageval.measures.base import POOL, Measure
from rageval.measures.parsing import parse_measure
from rageval.plugins import plugin_names
from rageval.subjects import ANSWERS, RUNS, kind_of_measure
from rageval.testing import _answer_cases, _run_cases
from rageval.testing._answer_cases import AnswerCase
from rageval.testing._cases import SLACK, Case, Law, comparable, cut, listed_in
from rageval.testing._run_cases import RunCase

_OF_BOTH: dict[str, Law] = {}
law = listed_in(_OF_BOTH)


def check_measure(measure: Measure, *, cases: int = 30, seed: int = 0) -> None:
    """Raise `AssertionError` with a small example if a measure breaks a law on a random topic or table.

    The laws of both kinds: the value is a number or NaN, within the declared `limits`; it is the same to the
    last bit for any order of rows and any names (add up with `math.fsum`); each query is scored alone, and
    the same next to other measures; good is better than bad, in the declared direction (`better`).

    For a measure of runs: with a cut-off k, nothing below rank k matters; what it does not declare to see
    (`sees`) has no effect; its mean over `ties` is that over all orders; and for any grades of unjudged
    documents it lies within its `bounds`. For a measure of answers: a failed judgement is missing, not a
    grade; without judgements the value is undefined; missing judgements may count as the best or the worst;
    what weighs nothing (`weighs`) has no effect; and it is the share of the declared `labels`.

    Parameters
    ----------
    measure
        A measure of runs, or of judged answers.
    cases
        The number of random topics, or tables of judgements, for each law.
    seed
        The random seed of these.

    Raises
    ------
    AssertionError
        A law is broken; the message holds the law and a small run, or a small table, that breaks it.
    MeasureError
        The measure's own function failed.

    Examples
    --------
    >>> import rageval
    >>> check_measure(rageval.recall @ 3, cases=2)
    >>> @rageval.measure(limits=(0, 1))
    ... def found(ranking, *, k: int | None = None):
    ...     "How many relevant documents there are in the top k, which can be more than 1."
    ...     return len(ranking.hits(k))
    >>> try:
    ...     check_measure(found)
    ... except AssertionError as broken:
    ...     print(str(broken).splitlines()[0])
    found@3 breaks a law: is between its limits
    """
    if not isinstance(measure, Measure):
        raise MeasureError(f"{measure!s:.80}: expected a measure, made with @rageval.measure")
    if (scored := kind_of_measure(measure)) not in (RUNS, ANSWERS):
        raise MeasureError(f"{measure} scores {scored.noun}; check_measure draws runs and judged answers")
    kind: type[Case] = AnswerCase if kind_of_measure(measure) is ANSWERS else RunCase
    # Sorted, and with a seed a case: the same measure gives the same message on every machine.
    for (name, law), number in product(sorted(LAWS[kind].items()), range(cases)):
        trial = _Trial(measure, name, law, f"{seed}/{number}/{name}")
        case = kind.draw(measure, random.Random(f"{seed}/{number}"))
        fault = trial.fault(case)
        if fault is not None:
            raise fault(trial.message(trial.smallest(case, fault)))


class _Trial(NamedTuple):
    """One law tried on one measure, with the same random choices on every case."""

    measure: Measure
    name: str
    law: Law
    seed: str

    def fault(self, case: Case) -> type[Exception] | None:
        """Return what to raise if the law does not hold there, or the measure fails; None if all is well."""
        try:
            # The same random choices for a smaller case, or the law might break for another reason.
            return None if self.law(self.measure, case, random.Random(self.seed)) else AssertionError
        except MeasureError:
            return MeasureError
        except RagevalError:  # a smaller case that is none
            return None

    def smallest(self, case: Case, fault: type[Exception]) -> Case:
        """Return the case without each part that is not needed."""
        # Greedily, part by part, until nothing can be left out: people read small examples.
        for smaller in case.without_one():
            if self.fault(smaller) is fault:
                return self.smallest(smaller, fault)
        return case

    def message(self, case: Case) -> str:
        """Return which law is broken, by what values, and where."""
        lines = [f"{cut(self.measure)} breaks a law: {self.name.replace('_', ' ')}"]
        lines += (self.law.__doc__ or "").splitlines()[:1]
        try:
            self.law(self.measure, case, random.Random(self.seed))
            lines += [f"values = {case.values(self.measure)}"]
        except MeasureError as error:
            lines = [str(error)]
        except RagevalError:  # nothing is left to be scored, and the law is broken all the same
            pass
        return "\n".join([*lines, *case.lines()])


@law
def is_between_its_limits(measure: Measure, case: Case, rng: random.Random) -> bool:
    """From the least to the greatest value that it declares as its `limits`."""
    low, high = measure.limits or (-math.inf, math.inf)
    values = [value for value in case.values(measure).values() if value != math.inf]
    return all(low - SLACK <= value <= high + SLACK for value in values)


@law
def row_order_changes_no_digit(measure: Measure, case: Case, rng: random.Random) -> bool:
    """In whatever order rows come: a sum is the exact one, rounded once (`math.fsum`)."""
    mixed = case.in_another_order(rng)
    # Each system's value over all queries, too.
    one, other = (
        comparable({system: score.value for system, score in variant.scores(measure).items()})
        for variant in (case, mixed)
    )
    return case.values(measure) == mixed.values(measure) and one == other


@law
def each_query_is_scored_alone(measure: Measure, case: Case, rng: random.Random) -> bool:
    together = case.values(measure)
    each_alone = (alone.values(measure) for alone in case.each_query())
    return all(alone and alone.items() <= together.items() for alone in each_alone)


@law
def is_the_same_beside_other_measures(measure: Measure, case: Case, rng: random.Random) -> bool:
    """Beside those that see every judgement; a measure of runs that does so declares `sees="judged"`."""
    return case.values(measure, *case.others()) == case.values(measure)


@law
def parses_back(measure: Measure, case: Case, rng: random.Random) -> bool:
    if measure.name not in (*builtin(), *plugin_names("measures")):
        return True  # it has no name on the command line
    ones = [measure(**{name: 1}) for name in ("rel", "alpha") if name in measure.declared]
    return all(parse_measure(str(variant)) == variant for variant in (measure, cut(measure), *ones))


@law
def a_pooled_share_is_between_the_shares(measure: Measure, case: Case, rng: random.Random) -> bool:
    """Σ parts / Σ wholes of shares that have a whole."""
    if not measure.gives_shares:
        return True
    for score in case.scores(measure(over=POOL)).values():
        shares = [share for share in score.numbers if getattr(share, "whole", 0)]
        if shares and not min(shares) - SLACK <= score.value <= max(shares) + SLACK:
            return False
    return True


# Two laws of both kinds have other names where answers are judged.
_OF_ANSWERS = {
    "row_order_changes_no_digit": "the_order_of_judgements_changes_no_digit",
    "is_the_same_beside_other_measures": "it_is_the_same_beside_other_measures",
}
# What `check_measure` tries.
LAWS: dict[type[Case], dict[str, Law]] = {
    RunCase: _OF_BOTH | _run_cases.LAWS,
    AnswerCase: {_OF_ANSWERS.get(name, name): law for name, law in _OF_BOTH.items()} | _answer_cases.LAWS,
}
