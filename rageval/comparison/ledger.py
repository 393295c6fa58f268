"""Claims counted over commands and days: how many comparisons these questions served, and what p is then.

The best of 30 equal variants, each compared alone with one baseline, is "higher" in a quarter of cases. No
command sees that; a ledger does. p is adjusted by Holm over all that was compared on the same questions, and
never below what the command itself adjusted it to. Of the same comparison made twice the larger p counts.

Questions are told by a digest of their ids, systems by one of their values by the measure: whatever a file is
called, and whoever judged, equal values make the same comparison.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rageval.comparison.results import Comparison
from rageval.files.ledger import Claim, ClaimLedger
from rageval.scoring.scores import Scores
from rageval.statistics.significance import holm
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison.gate import GateReport

CANDIDATE, BASELINE, ANCHOR = "candidate", "baseline", "anchor"
_SHOWN = 3  # comparisons whose p a sentence says
_LONGEST = 500  # characters of a name in the ledger


class Made(NamedTuple):
    """A comparison that was just made: what a ledger keeps of it, and what the command prints."""

    claim: Claim
    run: str
    other: str
    adjusted: float


class Counted(NamedTuple):
    """The comparisons that were just made, with those in the ledger.

    `comparisons` were made on the questions, `new` of them by this command; `adjusted` is the p of each.
    """

    comparisons: int
    new: Sequence[Claim]
    made: Sequence[Made]
    adjusted: Sequence[float]

    def sentence(self, ledger: str | os.PathLike[str]) -> str:
        """Return the sentence to print."""
        questions = f"on these {self.made[0].claim.number:,} questions"
        if not self.new:
            which = f"counted before, as one of {self.comparisons:,} comparisons {questions}"
        elif len(self.new) == 1:
            which = f"comparison {self.comparisons:,} {questions}"
        else:
            which = (
                f"comparisons {self.comparisons - len(self.new) + 1:,} to {self.comparisons:,} {questions}"
            )
        smallest = sorted(zip(self.adjusted, self.made, strict=True), key=lambda each: each[0])
        several = len(smallest) > 1
        said = [
            f"p = {p:.2g}" + (f" ({_pair(made)} by {made.claim.measure})" if several else "")
            for p, made in smallest[:_SHOWN]
        ]
        rest = f"; {len(smallest) - _SHOWN:,} more" if len(smallest) > _SHOWN else ""
        return f"{visible(os.fspath(ledger))}: {which}; adjusted over them {', '.join(said)}{rest}"

    def as_dict(self) -> dict[str, Any]:
        """Return the same for a program."""
        return {
            "comparisons": self.comparisons,
            "new": len(self.new),
            "questions": self.made[0].claim.number,
            "pairs": [
                {"run": made.run, "other": made.other, "measure": made.claim.measure, "p": p}
                for made, p in zip(self.made, self.adjusted, strict=True)
            ],
        }


def _pair(made: Made) -> str:
    return f"{visible(made.run)} against {visible(made.other)}"


def counted(ledger: ClaimLedger, made: Sequence[Made]) -> Counted | None:
    """Return the count of a command's comparisons in a ledger; None if nothing was tested."""
    if not made:
        return None
    questions = made[0].claim.questions
    p_of: dict[Any, float] = {}
    for claim in ledger.claims:
        if claim.questions == questions:
            p_of[claim.what] = max(claim.p, p_of.get(claim.what, 0.0))
    new = {each.claim.what: each.claim for each in made if each.claim.what not in p_of}
    for each in made:
        p_of[each.claim.what] = max(each.claim.p, p_of.get(each.claim.what, 0.0))
    over_all = dict(zip(p_of, holm(np.array(list(p_of.values()))).tolist(), strict=True))
    adjusted = [max(over_all[each.claim.what], each.adjusted) for each in made]
    return Counted(len(p_of), list(new.values()), made, adjusted)


def made_in(found: Comparison, date: str = "") -> list[Made]:
    """Return the comparisons that a command tested."""
    tested = []
    for pair in found.pairs:
        # With each look at more labels another test is made.
        test = f"{pair.test}|{found.gold}|labels:{pair.labels}" if pair.corrected_from else pair.test
        numbers = pair.p, pair.difference, pair.adjusted
        tested.append(_TestedPair(pair.run, pair.other, pair.measure, test, *numbers))
    return _made(found.scores, tested, date)


def made_in_gate(
    report: GateReport, candidate: Scores, baseline: Scores, anchor: Scores | None = None, date: str = ""
) -> list[Made]:
    """Return what a gate tested: each measure over all questions, and slices that can block."""
    sides = {CANDIDATE: candidate, BASELINE: baseline, **({ANCHOR: anchor} if anchor else {})}
    test = f"gate|{candidate.scores[0].people.draw.sha}" if candidate.scores[0].people else "gate"
    tested = []
    for each in report.decisions:
        numbers = each.p, each.difference, each.adjusted
        if not math.isnan(each.adjusted):  # what only informs
            other, place = (ANCHOR, "all") if each.against else (BASELINE, each.place)
            tested.append(_TestedPair(CANDIDATE, other, each.measure, f"{test}|{place}", *numbers))
    return _made(sides, tested, date)


class _TestedPair(NamedTuple):
    run: str
    other: str
    measure: str
    test: str
    p: float
    difference: float
    adjusted: float


def _made(systems: Mapping[str, Scores], tested: Iterable[_TestedPair], date: str) -> list[Made]:
    """Return what was tested, with digests of the questions and of the systems."""
    queries = {query for scores in systems.values() for score in scores.scores for query in score.query_ids}
    questions = _digest(sorted(queries))
    digests = {
        (run, str(score.measure)): _digest_of_values(score.by_query)
        for run, scores in systems.items()
        for score in scores.scores
    }
    made = []
    for each in tested:
        pair = digests[each.run, each.measure], digests[each.other, each.measure]
        if math.isnan(each.p) or pair[0] == pair[1]:
            continue  # nothing was tested
        claim = Claim(
            questions=questions,
            number=len(queries),
            systems=pair,
            measure=each.measure[:_LONGEST],
            test=each.test[:_LONGEST],
            p=each.p,
            difference=each.difference,
            date=date,
        )
        made.append(Made(claim, each.run, each.other, each.adjusted))
    return made


def _digest_of_values(values: Mapping[str, float]) -> str:
    """Return what tells a system by the values of its questions, as far as machines agree on them."""
    return _digest(f"{query}\t{value:.9g}" for query, value in sorted(values.items()))


def _digest(parts: Iterable[str]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode("utf-8", "surrogatepass") + b"\n")
    return found.hexdigest()[:16]
