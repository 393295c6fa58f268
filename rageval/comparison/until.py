"""Judging that ends when the answer is known: systems, a claim, and judgements until it is decided.

What would be claimed, by what rule, and in which order questions are judged is fixed, and in the store,
before anybody is asked: the order is that of the questions' hashes with the seed. Questions go in blocks, all
systems of one together; replies come from the store where they are there, so that whoever goes on with a job
that was killed, or takes a share of it, comes to the same questions and the same end. A question for which
some system has no value (judging failed, or the measure is undefined) counts at its worst for either way.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from rageval.comparison.next_documents import Grades, Pools, open_documents, run_values
from rageval.errors import InputError, UsageError
from rageval.judges.base import Model
from rageval.judges.material import Material, tasks
from rageval.judges.panel import Settings, said_by_all, vote_of
from rageval.judges.rubric import Rubric
from rageval.judges.store import Store
from rageval.judges.votes import GRADED
from rageval.measures.base import LOWER, MEAN, MOST, NEITHER, Measure
from rageval.names import suggestion
from rageval.records import Answer
from rageval.scoring.answers import as_records, scored
from rageval.scoring.evaluation import bounds_of
from rageval.scoring.qrels import Qrels
from rageval.statistics.samples import Float
from rageval.statistics.stopping import Claimed, Rule, Stop, best_of, look_sizes, nearest, stopped
from rageval.table import Column, Table
from rageval.text import visible

# Runs whose documents a judge grades, question by question, until it is known by how much they differ.
#
# Of a question those documents come first whose grade moves the difference of two runs whatever the others
# are; then, one at a time, the one that may move it most. Where the bounds of all differences meet
# (`measures.bounds`) the question is done: the differences are what judging all of them would give, so that
# no rule for stopping sees which documents were left out. What stands in both tops of a precision is never
# judged, nor what is below the first relevant document of both rankings, for a reciprocal rank.

Rows = Sequence[Mapping[str, Any]]
Wanted = dict[str, list[str]]  # by query the documents to judge next
End = Literal["worst", "best"]  # what a judgement that failed is taken for


def _pooled(pools: Pools, block: Sequence[str], systems: Sequence[str]) -> Wanted:
    """Return all documents of these systems."""
    return {
        query: list(dict.fromkeys(doc for system in systems for doc in pools[system][query]))
        for query in block
    }


class JudgedRuns:
    """Runs, the measure that compares them, and the rubric by which documents are graded."""

    def __init__(self, measure: Measure, rubric: Rubric, pools: Pools) -> None:
        """Take what is known before anybody judges."""
        self.measure, self.rubric, self.pools = measure, rubric, pools
        labels = rubric.file.labels.values()
        # Where a call is a document, and it is known how good one can be, a call can be left out.
        self.is_one_by_one = rubric.file.unit == "passage" and measure.bounds is not None and bool(labels)
        self._highest = max(1, int(max(labels, default=1)))

    def pooled(self, block: Sequence[str], systems: Sequence[str]) -> Wanted:
        """Return all documents of these systems."""
        return _pooled(self.pools, block, systems)

    def wanted(self, rows: Rows | None, block: Sequence[str], systems: Sequence[str]) -> Wanted:
        """Return the documents to judge after these judgements (None: nobody was asked), if any."""
        if not self.is_one_by_one:
            return self.pooled(block, systems) if rows is None else {}
        pools = {system: {query: self.pools[system][query] for query in block} for system in systems}
        tried = {(str(row["query_id"]), str(row["item_id"])) for row in rows or ()}
        return open_documents(self.measure, pools, self._grades(rows or (), block), self._highest, tried)

    def values(
        self, rows: Rows, block: Sequence[str], systems: Sequence[str], end: End
    ) -> dict[str, dict[str, float]]:
        """Return the values of each run; a question with a judgement that failed has none at one end.

        They are those of a completion: where bounds meet differences are right, and values need not be.
        """
        failed = {str(row["query_id"]) for row in rows if row["status"] not in GRADED}
        grades = self._grades(rows, block)
        return {
            system: {
                query: value
                for query, value in run_values(self.measure, self.pools[system], grades).items()
                if end == "worst" or query not in failed
            }
            for system in systems
        }

    def _grades(self, rows: Rows, block: Sequence[str]) -> Grades:
        found: Grades = {query: {} for query in block}
        for row in rows:
            by_doc = found[str(row["query_id"])].setdefault(str(row["aspect"]), {})
            if row["status"] not in GRADED:
                continue
            grade = row.get("grade", self.rubric.file.labels.get(row.get("label", "")))
            if grade is None or grade != int(grade):
                raise UsageError(
                    f"until: {self.rubric.name} gives grades such as {grade}; expected whole ones"
                )
            by_doc[str(row["item_id"])] = int(grade)
        return {query: by_aspect or {"0": {}} for query, by_aspect in found.items()}


_BLOCK = 10  # questions that are judged before it is looked whether to go on
_EVERY_BLOCK = 0  # as looks: after each block of questions
_MOST_LOOKS = 20  # that are asked for by number
_SHOWN = 16  # digits of a claim's key
_WITHIN = re.compile(r"(?s)(.+?)\s+within\s+([0-9.]+)\s+of\s+(.+)")
_EXPECTED = "expected 'A>B', 'A within 0.02 of B' or 'best', with the names of systems"
BEST = "best"
_RULES: dict[str, tuple[Claimed, int | None]] = {
    "all": ("kind", 1),
    "5 looks": ("kind", 5),
    "looks": ("kind", _EVERY_BLOCK),
    "anytime": ("kind", None),
    "this set": ("set", None),
}
_EFFECTS = (0.05, 0.1, 0.2)
_OWN = 0.55  # of the questions of which each system has its own luck: two of five then tell two apart
_REPLAYS = 100
Pilot = Mapping[str, Sequence[float]]  # a system's values, by the same questions
_Draw = Callable[[np.random.Generator, int], Float]
_ENDS: tuple[End, End] = ("worst", "best")
_Part = TypeVar("_Part")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Until:
    """The claim to decide, about exactly these questions or their kind, and how often to look.

    Parameters
    ----------
    words
        `A>B` (or the other way round), `A within 0.02 of B` (or apart), or `best`.
    measure
        By which; a plain mean over questions.
    claim
        Of this `set` of questions, or of questions of this `kind`.
    looks
        How many looks at equal steps; 0: after every ten questions; None: after every question.
    alpha
        How often a claim may be false.
    seed
        Of the order of questions.
    """

    words: str
    measure: Measure
    claim: Claimed = "kind"
    looks: int | None = None
    alpha: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse a measure of which nothing could be claimed."""
        name = str(self.measure)
        if self.measure.aggregate != MEAN:
            raise UsageError(f"{name} is no plain mean over questions, so no stopping rule is known for it")
        if self.measure.better == NEITHER and ">" in self.words:
            raise UsageError(
                f"{name}: neither high nor low is good, so none is better; use 'A within 0.02 of B'"
            )
        if not math.isfinite(self.span):
            raise UsageError(f"{name} has no greatest value, so no stopping rule is known for it")

    @property
    def of_several(self) -> bool:
        """Whether the best of several is looked for."""
        return self.words.strip() == BEST

    @property
    def span(self) -> float:
        """The largest difference of two values that is possible."""
        low, high = self.measure.limits or (0.0, MOST if self.measure.about.above_1 else 1.0)
        return high - low

    def of(self, systems: Sequence[str]) -> tuple[tuple[str, ...], float | None]:
        """Return the named systems, and the margin if there is one."""
        if self.of_several:
            if len(systems) < 2:
                raise UsageError(f"until=best: expected two or more systems, found {len(systems)}")
            return tuple(systems), None
        if match := _WITHIN.fullmatch(self.words.strip()):
            try:
                margin = float(match[2])
            except ValueError:
                raise UsageError(f"until={self.words!r}: {_EXPECTED}") from None
            return self._named(match[1], match[3], systems), margin
        cuts = [at for at, letter in enumerate(self.words) if letter == ">"]
        sides = [(self.words[:at].strip(), self.words[at + 1 :].strip()) for at in cuts]
        if not sides:
            raise UsageError(f"until={self.words!r}: {_EXPECTED}")
        # a name may hold the sign, too
        one, other = next((pair for pair in sides if set(pair) <= set(systems)), sides[0])
        return self._named(one, other, systems), None

    def _named(self, one: str, other: str, systems: Sequence[str]) -> tuple[str, ...]:
        for name in (one.strip(), other.strip()):
            if name not in systems:
                known = ", ".join(map(visible, systems[:10]))
                hint = suggestion(name, systems) or f"; expected one of {known}"
                raise UsageError(f"until: no system {visible(name)!r}{hint}")
        if one.strip() == other.strip():
            raise UsageError(f"until={self.words!r}: expected two systems")
        return tuple(sorted((one.strip(), other.strip())))  # either may be better, whoever is named first


def until_of(
    words: str,
    measures: Sequence[object],
    claim: Claimed = "kind",
    looks: str | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> Until:
    """Return what is to be decided, by one measure; `looks` is a number, `anytime`, or None: as is usual."""
    if len(measures) != 1 or not isinstance(measures[0], Measure):
        raise UsageError(f"until: needs one rageval measure (-m MEASURE), found {len(measures)}")
    if looks not in (None, "anytime") and not (looks.isdecimal() and 1 <= int(looks) <= _MOST_LOOKS):
        raise UsageError(f"looks={looks}: expected a number from 1 to {_MOST_LOOKS}, or 'anytime'")
    every = words.strip() == BEST or claim == "set"
    if every and looks not in (None, "anytime"):
        what = "claim=set" if claim == "set" else f"until={BEST}"
        raise UsageError(f"looks={looks}: {what} looks after every question; leave it out")
    number = None if every or looks == "anytime" else int(looks or _EVERY_BLOCK)
    return Until(words, measures[0], claim, number, alpha, seed)


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """Everything that is fixed before the first question is judged; a claim with other parts is another.

    `order` is the digest of the questions' ids, whose hashes with the `seed` give the order of judging;
    `material` is the digest of what is judged of each system. Without `judges`, documents are judged
    elsewhere.
    """

    systems: tuple[str, ...]
    words: str
    measure: str
    claim: Claimed
    looks: int | None
    alpha: float
    span: float
    margin: float | None
    seed: int
    questions: int
    order: str
    rubric: str
    judges: tuple[str, ...]
    material: str = ""

    @property
    def key(self) -> str:
        """Its name: a digest of all."""
        return _digest(asdict(self))

    @property
    def topic(self) -> str:
        """The question, however it is decided: claims that share it are printed together."""
        return _digest([sorted(self.systems), self.measure, self.order, self.rubric, self.judges])

    def rule(self) -> Rule:
        """Return the rule of statistics; differences are so turned that more is better."""
        return Rule(self.questions, self.claim, self.looks, self.alpha, self.span, self.margin)

    @property
    def of_several(self) -> bool:
        """Whether the best is looked for."""
        return self.words == BEST


@dataclass(frozen=True, slots=True)
class Ledger:
    """A claim for which judging may stop early: what was fixed before, and the result.

    `judged` questions were judged; `valueless` of these gave some system no value. `stop` is what was
    decided, and `left` the systems that may still be the best, for `best`.
    """

    plan: ClaimPlan
    judged: int = 0
    valueless: int = 0
    calls: int = 0
    calls_at_most: int = 0
    stop: Stop | None = None
    left: tuple[str, ...] = ()

    @property
    def is_decided(self) -> bool:
        """Whether the claim was made."""
        return len(self.left) == 1 if self.plan.of_several else self.stop is not None

    def sentence(self) -> str:
        """Return the claim in words, or that there is none."""
        plan = self.plan
        where = f"these {plan.questions:,} questions" if plan.claim == "set" else "questions like these"
        who, what = ("by this judge", "calls") if plan.judges else ("by these judgements", "documents")
        when = f"after {self.judged:,} of {plan.questions:,} questions"
        calls = f"{self.calls:,} of {self.calls_at_most:,} {what}"
        lost = f", {self.valueless:,} without a value" if self.valueless else ""
        if plan.of_several:
            left = ", ".join(map(visible, self.left))
            is_best = f"{left} is the best of {len(plan.systems)}"
            said = is_best if self.is_decided else f"undecided between {left}"
        else:
            said = self._pair()
        proof = f"{self._proof()}α {plan.alpha:g}"
        return f"{plan.measure}, on {where}, {who}: {said} ({when}{lost}; {calls}; {proof})"

    def _pair(self) -> str:
        one, other = map(visible, self.plan.systems)
        margin = f"{self.plan.margin or 0:g}"
        return {
            "higher": f"{one} > {other}",
            "lower": f"{other} > {one}",
            "equal": f"{one} and {other} are equal",
            "within": f"{one} is within {margin} of {other}",
            "apart": f"{one} and {other} differ by more than {margin}",
        }.get(self.stop.word if self.stop else "", f"{one} and {other}: undecided")

    def _proof(self) -> str:
        if self.stop is None:
            return ""
        if self.stop.certain:
            return "certain; "
        looks, found = self.plan.looks, self.stop
        if looks is None:
            return f"e {found.evidence:.3g}, {found.bound:.3g} needed; "
        number = look_sizes(self.plan.questions, looks).index(found.questions) + 1
        return f"look {number} of {looks}: p {found.evidence:.2g}, {found.bound:.2g} needed; "

    def as_record(self) -> dict[str, Any]:
        """Return what is written beside judgements."""
        said = {"key": self.plan.key, "said": self.sentence(), "left": list(self.left)}
        stop = None if self.stop is None else asdict(self.stop)
        if stop is not None and self.stop is not None and math.isinf(self.stop.evidence):
            stop["evidence"] = None  # JSON has no infinity
        return {**said, **asdict(self.plan), "stop": stop}


def judged_until(
    until: Until,
    judges: Sequence[str | Model],
    rubric: Rubric,
    material: Material,
    settings: Settings | None = None,
    *,
    pools: Pools | None = None,
    say: Say = lambda line: None,
) -> tuple[list[dict[str, Any]], Ledger, list[str]]:
    """Judge block by block until the claim is decided, or every question is judged.

    Parameters
    ----------
    until
        What is to be decided, and how.
    judges, rubric, material, settings
        As for `judged_by`.
    pools
        Of each run the documents to judge, by query, where runs are compared and not answers.
    say
        What is told of the progress, a line at a time.

    Returns
    -------
    tuple
        The judgements; the claim with what came of it; and, in words, the claims on the same questions that
        were opened before.

    Raises
    ------
    UsageError
        A system that is not there, a measure of which nothing can be claimed, or too few questions.
    """
    settings = settings or Settings()
    if settings.is_cascade:
        raise UsageError(
            "until: ends early, but the least sure verdicts are known only after all; leave one of them out"
        )
    if pools is not None and len(judges) > 1 and settings.vote == "mean":
        raise UsageError(
            f"until: runs are compared by one grade per document, and {len(judges)} judges give as many; use"
            " vote=median or majority"
        )
    if settings.shard is not None:
        # What shares have to have in common.
        if settings.store is None and not os.environ.get("RAGEVAL_STORE"):
            raise UsageError(
                f"shard={settings.shard}: shares of a job that stops early read one another's replies; use"
                " one store for all (--store FILE, or RAGEVAL_STORE)"
            )
        store_name = visible(settings.store or os.environ["RAGEVAL_STORE"])
        say(
            f"share {settings.shard} asks its part of each block, and what no other share has asked for by"
            f" then; all need this store ({store_name}): shares with separate stores each pay for everything"
        )
    job = _Job(until, rubric, material, pools)
    plan = job.plan(judges)
    plan.rule()  # refuses what would be none, before anybody is asked
    with Store(settings.store) as store:
        before = store.ledgers(plan.topic, but=plan.key)
        store.keep_ledger(plan.key, plan.topic, Ledger(plan).as_record())
    budget = settings.budget()
    # Attacks are planted among what is judged, so that each part would pay for others: one time will do.
    how = iter([settings])
    later = replace(settings, canaries=0)

    def ask(part: Material) -> Iterable[dict[str, Any]]:
        asked = next(how, later)
        if asked.shard is not None:
            # Who has a share asks that first, and then waits for the others'.
            said_by_all(judges, rubric, part, asked, budget)
            asked = replace(asked, shard=None)
        return vote_of(said_by_all(judges, rubric, part, asked, budget), rubric, settings)

    ledger, rows = decide(job, plan, ask, say)
    with Store(settings.store) as store:
        store.keep_ledger(plan.key, plan.topic, ledger.as_record())
    for at, row in enumerate(rows):
        row["claim"] = plan.key
        if not at:
            row["ledger"] = ledger.as_record()
    return rows, ledger, list(dict.fromkeys(str(record.get("said")) for record in before))


def expected(
    until: Until, rubric: Rubric, material: Material, pools: Pools | None = None, pilot: Pilot | None = None
) -> Table:
    """Simulate what share of the calls each rule would make, and how often it would decide.

    Parameters
    ----------
    until, rubric, material, pools
        As for `judged_until`.
    pilot
        Values that two or more systems got before, by question, of which questions are drawn; without, two
        of five questions tell the systems apart, and the first is better by a twentieth, a tenth, a fifth.

    Returns
    -------
    Table
        A row a world that is drawn from, and a column a rule.
    """
    job = _Job(until, rubric, material, pools)
    total, number = len(job.order), len(job.systems)
    worlds = (
        _of_pilot(pilot, until.span) if pilot else {f"{d:g}": partial(_apart, d, number) for d in _EFFECTS}
    )
    columns = [Column("" if pilot else "difference"), *map(Column, _RULES)]
    return Table(columns, [[name, *_shares(job, draw, total)] for name, draw in worlds.items()])


def _shares(job: _Job, draw: _Draw, total: int) -> Iterator[str]:
    """Yield for each rule the share of calls and of replays in which it decides."""
    rng = np.random.default_rng(job.until.seed)
    drawn = [draw(rng, total) for _ in range(_REPLAYS)]  # in units of the span
    of_best = job.until.of_several
    for claim, looks in _RULES.values():
        if of_best and looks is not None:
            yield "-"
            continue
        margin = None if job.margin is None else job.margin / job.until.span
        rule = Rule(total, claim, _number_of(looks, total), job.until.alpha, within=margin)
        ends = [_end(values, rule, of_best) for values in drawn]
        calls = math.fsum(share for share, _ in ends) / _REPLAYS
        yield f"{calls:.0%} (decides {sum(done for _, done in ends) / _REPLAYS:.0%})"


def _end(values: Float, rule: Rule, of_best: bool) -> tuple[float, bool]:
    """Return what share of the calls was made, and whether it was decided."""
    if not of_best:
        stop = stopped(values[0] - values[1], rule)
        return (1.0, False) if stop is None else (stop.questions / rule.total, True)
    race = best_of(values, rule)
    gone = dict(race.dropped)
    last = max(gone.values()) if race.best is not None else rule.total
    judged = sum(gone.get(system, last) for system in range(len(values)))
    return judged / (len(values) * rule.total), race.best is not None


def _apart(difference: float, systems: int, rng: np.random.Generator, total: int) -> Float:
    """Draw right and wrong: the first is right more often; two of five questions tell systems apart."""
    common = rng.random(total) < 0.5
    own = rng.random((systems, total)) < (0.5 + difference * (np.arange(systems) == 0)[:, None] / _OWN)
    found: Float = np.where(rng.random((systems, total)) < _OWN, own, common).astype(np.float64)
    return found


def _of_pilot(pilot: Pilot, span: float) -> dict[str, _Draw]:
    """Draw questions of the pilot, with all that its systems got there."""
    table = np.array(list(pilot.values()), np.float64) / span

    def draw(rng: np.random.Generator, total: int) -> Float:
        found: Float = table[:, rng.integers(0, table.shape[1], total)]
        return found

    return {"as the pilot": draw}


class Questions(Protocol[_Part]):
    """Questions of which more and more is judged, and what is to be judged of them."""

    order: list[str]

    def whole(self, block: Sequence[str], systems: Sequence[str]) -> _Part:
        """Return all that there is to be judged of some questions."""

    def part(
        self, rows: Sequence[dict[str, Any]] | None, block: Sequence[str], systems: Sequence[str]
    ) -> _Part | None:
        """Return what is to be judged after these judgements, if anything; None of rows: at first."""

    def calls(self, part: _Part) -> int:
        """Return how many things there are to be asked."""

    def values(
        self, rows: Sequence[dict[str, Any]], block: Sequence[str], systems: Sequence[str]
    ) -> dict[str, list[float]]:
        """Return each system's value of each question, so turned that more is better; NaN for none."""


def decide(
    job: Questions[_Part],
    plan: ClaimPlan,
    ask: Callable[[_Part], Iterable[dict[str, Any]] | None],
    say: Say,
) -> tuple[Ledger, list[dict[str, Any]]]:
    """Ask block by block, and check what is decided; stop when it is, or when no judge answers (None)."""
    systems = list(plan.systems)
    values = {system: list[float]() for system in systems}
    rows: list[dict[str, Any]] = []
    ledger = Ledger(plan, calls_at_most=job.calls(job.whole(job.order, systems)), left=tuple(systems))
    for block in _blocks(job.order, plan):
        found, calls = list[dict[str, Any]](), 0
        while (part := job.part(found if calls else None, block, ledger.left)) is not None:
            if (said := ask(part)) is None:
                return ledger, [*rows, *found]
            found += said
            calls += job.calls(part)
        rows += found
        judged = job.values(found, block, ledger.left)
        for system in systems:
            values[system] += judged.get(system, [math.nan] * len(block))
        valueless = sum(any(map(math.isnan, each)) for each in zip(*judged.values(), strict=True))
        ledger = replace(
            ledger,
            judged=ledger.judged + len(block),
            valueless=ledger.valueless + valueless,
            calls=ledger.calls + calls,
        )
        # What these values decide.
        table = np.array([values[system] for system in plan.systems], np.float64)
        if plan.of_several:
            race = best_of(table, plan.rule())
            ledger = replace(ledger, left=tuple(plan.systems[at] for at in race.left))
        else:
            ledger = replace(ledger, stop=stopped(table[0] - table[1], plan.rule()))
        say(_progress(ledger, values))
        if ledger.is_decided:
            break
    return ledger, rows


def order_of(until: Until, known: Sequence[Iterable[str]]) -> list[str]:
    """Return the questions that all systems share, in the order that the seed draws."""
    shared = set.intersection(*map(set, known))
    if len(shared) < 2:
        raise UsageError(f"until: the systems share {len(shared)} questions; expected two or more")
    return sorted(shared, key=lambda query: (_digest([until.seed, query]), query))


def plan_of(
    until: Until,
    systems: tuple[str, ...],
    margin: float | None,
    order: Sequence[str],
    material: Sequence[Sequence[Sequence[str]]],
    rubric: str,
    judges: tuple[str, ...],
) -> ClaimPlan:
    """Return what is fixed before the first question is judged; `material` is what is judged of them."""
    return ClaimPlan(
        systems=systems,
        words=BEST if until.of_several else "within" if margin is not None else ">",
        measure=str(until.measure),
        claim=until.claim,
        looks=_number_of(until.looks, len(order)),
        alpha=until.alpha,
        span=until.span,
        margin=margin,
        seed=until.seed,
        questions=len(order),
        order=_digest(sorted(order)),
        rubric=rubric,
        judges=judges,
        material=_digest(material),
    )


def _number_of(looks: int | None, questions: int) -> int | None:
    """Return how often it is looked at."""
    return math.ceil(questions / _BLOCK) if looks == _EVERY_BLOCK else looks


def _blocks(order: Sequence[str], plan: ClaimPlan) -> Iterator[Sequence[str]]:
    """Yield the questions between two looks."""
    every = len(order), _BLOCK
    ends = [*range(_BLOCK, *every), len(order)] if plan.looks is None else look_sizes(len(order), plan.looks)
    begin = 0
    for end in ends:
        if end > begin:
            yield order[begin:end]
        begin = end


class _Job:
    """Systems that answer the same questions, or retrieve for them, and the order of judging these."""

    def __init__(self, until: Until, rubric: Rubric, material: Material, pools: Pools | None) -> None:
        self.until, self.rubric, self.material = until, rubric, material
        self.runs = None if pools is None else JudgedRuns(until.measure, rubric, pools)
        self.answers: dict[str, dict[str, list[Answer]]] = {}  # to a query there may be several
        for answer in material.answers:
            self.answers.setdefault(answer.run_id, {}).setdefault(answer.query_id, []).append(answer)
        known: Mapping[str, Any] = self.answers if pools is None else pools
        self.systems, self.margin = until.of(list(known))
        if until.of_several and rubric.file.unit in ("pair", "list"):
            raise UsageError(f"until=best: {rubric.name} compares answers; expected two systems, as 'A>B'")
        self.order = order_of(until, [known[system] for system in self.systems])

    def plan(self, judges: Sequence[str | Model]) -> ClaimPlan:
        """Return what is fixed before anybody is asked."""
        judged: list[list[Sequence[str]]]
        if self.runs is not None:
            judged = [[self.runs.pools[system][query] for query in self.order] for system in self.systems]
        else:
            judged = [
                [[answer.text for answer in self.answers[system][query]] for query in self.order]
                for system in self.systems
            ]
        return plan_of(
            self.until,
            self.systems,
            self.margin,
            self.order,
            judged,
            rubric=f"{self.rubric.judged_as}@{self.rubric.version}",
            judges=tuple(judge if isinstance(judge, str) else judge.name for judge in judges),
        )

    def whole(self, block: Sequence[str], systems: Sequence[str]) -> Material:
        """Return all that there is to be judged of some questions."""
        if self.runs is not None:
            return replace(self.material, candidates=self.runs.pooled(block, systems))
        answers = [each for query in block for system in systems for each in self.answers[system][query]]
        return replace(self.material, answers=answers)

    def part(
        self, rows: Sequence[dict[str, Any]] | None, block: Sequence[str], systems: Sequence[str]
    ) -> Material | None:
        """Return what is to be judged of some questions after these judgements; None of rows: at first."""
        if self.runs is None:
            return self.whole(block, systems) if rows is None else None
        wanted = self.runs.wanted(rows, block, systems)
        return replace(self.material, candidates=wanted) if wanted else None

    def calls(self, part: Material) -> int:
        """Return how many things there are to be asked."""
        return sum(not task.failed for task in tasks(self.rubric, part))

    def values(
        self, rows: Sequence[dict[str, Any]], block: Sequence[str], systems: Sequence[str]
    ) -> dict[str, list[float]]:
        """Return each system's value of each question, so turned that more is better; NaN for none.

        A value that would be another with what failed is none.
        """
        if self.runs is not None:
            ends = [self.runs.values(rows, block, systems, end) for end in _ENDS]
        else:
            ends = [self._of_answers(rows, systems, end) for end in _ENDS]
        sign = -1.0 if self.until.measure.better == LOWER else 1.0
        found = {}
        for system in systems:
            low, high = (end.get(system, {}) for end in ends)
            found[system] = [
                sign * low[query] if query in low and low[query] == high.get(query) else math.nan
                for query in block
            ]
        return found

    def _of_answers(
        self, rows: Sequence[dict[str, Any]], systems: Sequence[str], end: End
    ) -> dict[str, dict[str, float]]:
        here = dict.fromkeys(str(row["query_id"]) for row in rows)
        answers = [each for system in systems for query in here for each in self.answers[system][query]]
        found = scored([self.until.measure], rows, answers=as_records(answers), on_missing=end)
        return {system: scores.scores[0].by_query for system, scores in found.items()}


def _progress(ledger: Ledger, values: Mapping[str, Sequence[float]]) -> str:
    """Return how far it is, what may still be saved, and how near a decision is."""
    plan = ledger.plan
    saved = ledger.calls_at_most - ledger.calls
    said = f"{ledger.judged:,} of {plan.questions:,} questions judged, {ledger.calls:,} calls"
    if ledger.is_decided:
        return f"{said}: decided, {saved:,} calls saved"
    if ledger.judged == plan.questions:
        return f"{said}: undecided, and no questions are left"
    if plan.of_several:
        near = f"{len(ledger.left)} of {len(plan.systems)} may be the best"
    elif plan.looks is not None:
        number = look_sizes(plan.questions, plan.looks).index(ledger.judged) + 1
        near = f"look {number} of {plan.looks}"
    else:
        table = np.array([values[system] for system in plan.systems], np.float64)
        most = nearest(table[0] - table[1], plan.rule())
        near = f"e {most:.3g} of {2 / plan.alpha:.3g} needed"
    return f"{said}, at best {saved:,} saved; {near}"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:_SHOWN]


# The documents that somebody judges next, batch by batch, until a claim of runs is decided.
#
# As with a judge, the order of the questions is drawn and stored before, questions are judged to where their
# differences are known, and it is looked only where all questions before a look are.


@dataclass(frozen=True, slots=True)
class NextOfClaim:
    """What to judge next for a claim, how far it is, and what was claimed of the same before."""

    documents: dict[str, list[str]]
    ledger: Ledger
    before: list[str]

    def lines(self, listed: int) -> Iterator[str]:
        """Yield the progress in words, where this many of the documents are listed."""
        yield self.ledger.sentence()
        yield from (f"an earlier claim on the same data: {said}" for said in self.before)
        if self.documents:
            open_, more = len(self.documents), sum(map(len, self.documents.values()))
            yield (
                f"{more:,} documents of {open_:,} questions come before the next look; {listed:,} of them"
                " are listed"
            )
        else:
            yield "nothing more has to be judged"


class _Judged:
    """Runs, and what is judged of their documents by now."""

    def __init__(self, until: Until, pools: Pools, qrels: Qrels) -> None:
        self.until = until
        self.systems, self.margin = until.of(list(pools))
        self.pools = {system: pools[system] for system in self.systems}
        self.order = order_of(until, list(self.pools.values()))
        self.highest = max(1, qrels.highest)
        self.grades = _grades_of(qrels, self.order)
        self.wanted: Wanted = {}

    def plan(self) -> ClaimPlan:
        """Return what is fixed before anything is looked at."""
        docs = [[self.pools[system][query] for query in self.order] for system in self.systems]
        return plan_of(self.until, self.systems, self.margin, self.order, docs, "judgements", ())

    def whole(self, block: Sequence[str], systems: Sequence[str]) -> Wanted:
        """Return all documents of these systems."""
        return _pooled(self.pools, block, systems)

    def part(self, rows: object, block: Sequence[str], systems: Sequence[str]) -> Wanted | None:
        """Return what is to be judged of these questions; None where all their differences are known."""
        pools = {system: {query: self.pools[system][query] for query in block} for system in systems}
        grades = {query: self.grades[query] for query in block}
        self.wanted = open_documents(self.until.measure, pools, grades, self.highest)
        return self.wanted or None

    def calls(self, part: Wanted) -> int:
        """Return how many documents these are."""
        return sum(map(len, part.values()))

    def judged(self, block: Sequence[str]) -> int:
        """Return how many documents of these questions are judged."""
        pooled = self.whole(block, self.systems)
        known = {query: {doc for docs in self.grades[query].values() for doc in docs} for query in block}
        return sum(doc in known[query] for query, docs in pooled.items() for doc in docs)

    def values(self, rows: object, block: Sequence[str], systems: Sequence[str]) -> dict[str, list[float]]:
        """Return each system's value of each question, so turned that more is better."""
        grades = {query: self.grades[query] for query in block}
        sign = -1.0 if self.until.measure.better == LOWER else 1.0
        found = {}
        for system in systems:
            values = run_values(self.until.measure, self.pools[system], grades)
            found[system] = [sign * values[query] for query in block]
        return found


def next_until(until: Until, pools: Pools, qrels: Qrels, store: str | None = None) -> NextOfClaim:
    """Return the documents to judge next until a claim is decided; none where it is, or all is judged.

    Parameters
    ----------
    until
        What is to be decided, and how.
    pools
        Of each run the documents by query, best first, as deep as they are to be judged.
    qrels
        What is judged by now.
    store
        Where the claim is kept, from before anything is looked at; the user's own store if None.

    Raises
    ------
    UsageError, MeasureError
        A system that is not there, or a measure of which nothing can be claimed or bounded.
    InputError
        A question without its nuggets, where judgements name them.
    """
    bounds_of(until.measure)  # or there is no telling what is known
    job = _Judged(until, pools, qrels)
    plan = job.plan()
    plan.rule()
    with Store(store) as kept:
        before = kept.ledgers(plan.topic, but=plan.key)
        kept.keep_ledger(plan.key, plan.topic, Ledger(plan).as_record())
    # Nobody answers: whoever judges does it when this is over.
    ledger, _ = decide(job, plan, lambda part: None, lambda line: None)
    ledger = replace(ledger, calls=job.judged(job.order[: ledger.judged]))
    with Store(store) as kept:
        kept.keep_ledger(plan.key, plan.topic, ledger.as_record())
    is_over = ledger.is_decided or ledger.judged == plan.questions
    said = list(dict.fromkeys(str(record.get("said")) for record in before))
    return NextOfClaim({} if is_over else job.wanted, ledger, said)


def _grades_of(qrels: Qrels, queries: Sequence[str]) -> Grades:
    found: Grades = {query: {} for query in queries}
    for row in qrels:
        if row.query_id in found:
            found[row.query_id].setdefault(row.iteration, {})[row.doc_id] = row.relevance
    lacking = [query for query in queries if not found[query]]
    if lacking and qrels.has_nuggets:
        raise InputError(
            f"{visible(qrels.name)}: query {visible(lacking[0])} has no nuggets; expected some judgement of"
            " it"
        )
    return {query: by_nugget or {"0": {}} for query, by_nugget in found.items()}
