"""Measures of grades: correctness, hallucinations, passes, and places among other answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Literal

from rageval.errors import MeasureError
from rageval.measures.assessment import Assessment, RankingPlace, grades, mean, share
from rageval.measures.base import HIGHER, LOWER, NEITHER, Between, measure
from rageval.measures.ranking import Share
from rageval.measures.scales import CORRECTNESS, CRAG, FAITHFULNESS, OUTCOME, PASSES, Scale

# Whether the answer is right: LiveRAG's correctness and faithfulness, CRAG's shares of right and made up.

# A level between the best and those that earn nothing may grow at the cost of either.
_OF_CORRECTNESS = {2: HIGHER, 1: NEITHER, 0: LOWER, -1: LOWER}
_OF_FAITHFULNESS = {1: HIGHER, 0: NEITHER, -1: LOWER}


@measure(limits=(-1.0, 2.0), papers=("carmel2025sigir", "cofala2025ragtifier"))
def correctness(answer: Assessment) -> float:
    """Mean correctness: covers the gold answer, without irrelevant parts (LiveRAG; RAGtifier, Fig. 2).

    Formula:
        correctness = mean of v over the questions

        v: 2 correct and relevant, 1 correct with irrelevant parts, 0 abstained, −1 wrong

    Range: −1 to 2; grades between the levels are allowed, grades outside are rejected, never clipped.

    Whether the judge saw the gold answer matters: one system got 1.91 without it, 1.13 with it (RAGtifier).

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "aspect": "correctness", "grade": grade}
    ...           for at, grade in enumerate([2, 1, 0.5, -1])]
    >>> rageval.evaluate_answers("correctness", judged)["r"]["correctness"].value
    0.625
    """
    return mean(grades(answer.judged(CORRECTNESS)))


@measure(limits=(-1.0, 1.0), papers=("carmel2025sigir", "cofala2025ragtifier"))
def faithfulness(answer: Assessment) -> float:
    """Mean faithfulness: is the answer grounded in the retrieved passages (LiveRAG; RAGtifier, Fig. 2).

    Formula:
        faithfulness = mean of v over the questions

        v: 1 all parts grounded, 0 some, −1 none

    Range: −1 to 1; grades between the levels are allowed, grades outside are rejected, never clipped.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "aspect": "faithfulness", "grade": grade}
    ...           for at, grade in enumerate([1, 0])]
    >>> rageval.evaluate_answers("faithfulness", judged)["r"]["faithfulness"].value
    0.5
    """
    return mean(grades(answer.judged(FAITHFULNESS)))


@measure(better=lambda parameters: _OF_CORRECTNESS[parameters["level"]], papers=("cofala2025ragtifier",))
def correctness_share(answer: Assessment, *, level: Annotated[int, Between(-1, 2)] = 2) -> Share:
    """Share of the answers at one level of correctness (RAGtifier's Table 1).

    Formula:
        correctness_share = |answers graded exactly level| / |answers|

    Range: 0 to 1. A grade between two levels counts for neither. Low is good for the levels 0 (abstained) and
    −1 (wrong); for 1, between right and abstained, neither is.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "aspect": "correctness", "grade": grade}
    ...           for at, grade in enumerate([2, 2, 0, -1])]
    >>> rageval.evaluate_answers("correctness_share(level=2)", judged)["r"]["correctness_share"].value
    0.5
    """
    given = grades(answer.judged(CORRECTNESS))
    return share(given.count(level), len(given))


@measure(better=lambda parameters: _OF_FAITHFULNESS[parameters["level"]], papers=("cofala2025ragtifier",))
def faithfulness_share(answer: Assessment, *, level: Annotated[int, Between(-1, 1)] = 1) -> Share:
    """Share of the answers at one level of faithfulness (RAGtifier's Table 1).

    Formula:
        faithfulness_share = |answers graded exactly level| / |answers|

    Range: 0 to 1. A grade between two levels counts for neither. Low is good for level −1; for 0 neither is.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "aspect": "faithfulness", "grade": grade}
    ...           for at, grade in enumerate([1, 0, 0, -1])]
    >>> scores = rageval.evaluate_answers("faithfulness_share(level=0)", judged)["r"]
    >>> scores["faithfulness_share(level=0)"].value
    0.5
    """
    given = grades(answer.judged(FAITHFULNESS))
    return share(given.count(level), len(given))


_ACCURATE = ("perfect", "acceptable", "accurate")
# More acceptable answers may come of better ones or of worse ones.
_CRAG_BETTER = {
    "accurate": HIGHER,
    "perfect": HIGHER,
    "acceptable": NEITHER,
    "missing": LOWER,
    "incorrect": LOWER,
}


@measure(limits=(-1.0, 1.0), typeset="CRAG score", papers=("yang2024crag",))
def crag_score(answer: Assessment) -> float:
    """CRAG's score, called truthfulness: a made-up answer costs as much as a perfect one earns.

    Formula:
        crag_score = mean of v over the questions

        v: perfect 1, acceptable ½, missing 0, incorrect −1

    In the three-way automatic form (accurate 1, missing 0, incorrect −1) it is accuracy − hallucination.

    Range: −1 to 1.

    Peers: CRAG's public script does not run; repaired, it reads each character of the gold answer as a
    separate answer, and counts an unreadable judgement as a hallucination.

    >>> import rageval
    >>> labels = ["perfect", "acceptable", "missing", "incorrect", "perfect"]
    >>> judged = [{"query_id": str(at), "run_id": "r", "label": label} for at, label in enumerate(labels)]
    >>> rageval.evaluate_answers("crag_score", judged)["r"]["crag_score"].value
    0.3
    """
    return mean(grades(answer.judged(CRAG)))


def _counted_labels(label: str) -> tuple[str, ...]:
    return _ACCURATE if label == "accurate" else (label,)


@measure(
    better=lambda parameters: _CRAG_BETTER[parameters["label"]],
    labels=lambda parameters: _counted_labels(parameters["label"]),
    typeset="CRAG share",
    papers=("yang2024crag",),
)
def crag_share(
    answer: Assessment,
    *,
    label: Literal["accurate", "perfect", "acceptable", "missing", "incorrect"] = "accurate",
) -> Share:
    """Share of the answers that CRAG's judge gave this label.

    Formula:
        crag_share = |answers with the label| / |answers|

    Range: 0 to 1. `accurate` counts perfect and acceptable answers, and those that the three-way form calls
    accurate. Low is good for `missing` and `incorrect`; for `acceptable` neither is.

    Short names: `accuracy`, `hallucination` (incorrect), `missing`.

    >>> import rageval
    >>> labels = ["perfect", "acceptable", "missing", "incorrect"]
    >>> judged = [{"query_id": str(at), "run_id": "r", "label": label} for at, label in enumerate(labels)]
    >>> scores = rageval.evaluate_answers("accuracy, hallucination, missing", judged)["r"]
    >>> [score.value for score in scores.values()]
    [0.5, 0.25, 0.25]
    """
    counted, judged = _counted_labels(label), answer.judged(CRAG)
    return share(sum(judgement.label in counted for judgement in judged), len(judged))


# What a tool, or a judge of one's own, said of any aspect: the mean grade, and the share that passed.

_ASPECTS = 1_000  # whose scales are remembered


@lru_cache(_ASPECTS)
def _graded(aspect: str, low: float, high: float) -> Scale:
    """Return the scale of one aspect's grades: the same each time, for a scale equals itself alone."""
    if not low < high:
        raise MeasureError(f"grade: low={low:g}, high={high:g}; expected low below high")
    return Scale(f"grades of {aspect}", ("grade",), aspects=(aspect,), low=low, high=high, of_whole=True)


@lru_cache(_ASPECTS)
def _passed(aspect: str) -> Scale:
    """Return the scale of the labels of one aspect, whatever grades stand beside them."""
    return Scale(
        f"passes of {aspect}",
        ("pass",),
        PASSES,
        aspects=(aspect,),
        worst="fail",
        best="pass",
        own_grades=True,
        of_whole=True,
    )


@measure(limits=lambda parameters: (parameters["low"], parameters["high"]))
def grade(answer: Assessment, *, aspect: str = "score", low: float = 0.0, high: float = 1.0) -> float:
    """Mean grade of an aspect, by any tool or judge: `grade(aspect=faithfulness)`.

    Formula:
        grade = mean of g over the questions

        g: the mean of a question's grades of the aspect

    Range: `low` to `high`, which are 0 and 1 unless you say so; a grade beyond them is an error. Judgements:
    any with this aspect and a grade, such as tools give; labels are ignored.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "aspect": "faithfulness", "grade": grade}
    ...           for at, grade in enumerate([1.0, 0.5, 0.0])]
    >>> rageval.evaluate_answers("grade(aspect=faithfulness)", judged)["r"].scores[0].value
    0.5
    """
    return mean(grades(answer.judged(_graded(aspect, low, high))))


@measure
def pass_rate(answer: Assessment, *, aspect: str = "score") -> Share:
    """Share of the judgements of an aspect that say `pass`: `pass_rate(aspect=answer_relevancy)`.

    Formula:
        pass_rate = |judgements labeled as a pass| / |judgements|

    Range: 0 to 1. Judgements: any with this aspect and a label: pass, yes, true, or inspect's C (correct) are
    passes; fail, no, false, I (incorrect), P (partial) and N (no answer) are not. Grades are ignored.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "aspect": "relevancy", "label": label}
    ...           for at, label in enumerate(["pass", "fail", "pass", "pass"])]
    >>> rageval.evaluate_answers("pass_rate(aspect=relevancy)", judged)["r"].scores[0].value
    0.75
    """
    passed = grades(answer.judged(_passed(aspect)))
    return share(sum(passed), len(passed))


# Of several answers to one question (`repeat`): does any of k pass, do all of k?

_RIGHT = "crag"  # the aspect that stands for CRAG's labels


def is_pass(answer: Assessment, aspect: str) -> float:
    """Return 1 for an answer that passes, 0 for another, NaN where nobody said."""
    if aspect == _RIGHT:
        judged = answer.judged(CRAG)
        return mean([float(judgement.label in _ACCURATE) for judgement in judged])
    return mean(grades(answer.judged(_passed(aspect))))


def _chance_of_all(values: Sequence[float], k: int) -> float:
    """Return how often k of these answers, drawn without replacement, would all pass: C(c, k)/C(n, k)."""
    defined = [value for value in values if value == value]
    if len(defined) < k:
        return math.nan
    # Half a pass, of an answer with several judgements, is none.
    return math.comb(sum(value >= 1 for value in defined), k) / math.comb(len(defined), k)


def _chance_of_any(values: Sequence[float], k: int) -> float:
    """Return how often any of them would: 1 − C(n − c, k)/C(n, k)."""
    return 1 - _chance_of_all([1 - float(value >= 1) if value == value else value for value in values], k)


@measure(repeats=_chance_of_any, typeset="pass@$k$", papers=("chen2021codex",))
def pass_any(answer: Assessment, *, k: int = 1, aspect: str = "crag") -> float:
    """Chance that any of k answers to a question passes: `pass@3` (Chen et al., 2021).

    Formula:
        pass_any@k = mean over the questions of 1 − C(n − c, k) / C(n, k)

    Range: 0 to 1. A question has n answers (by `repeat`), of which c pass. Unbiased for any n ≥ k; answers
    that a question lacks, where others have more, are missing. Intervals are over questions.

    Parameters:
        aspect: what passes: `crag`, an answer that CRAG's judge calls perfect, acceptable or accurate; any
            other aspect, one of which all judgements are passes, as in `pass_rate`

    Short names: `pass@3`.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "repeat": at, "label": label}
    ...           for at, label in enumerate(["accurate", "incorrect", "accurate", "missing"])]
    >>> round(rageval.evaluate_answers("pass@2", judged)["r"]["pass@2"].value, 4)
    0.8333
    """
    return is_pass(answer, aspect)


@measure(repeats=_chance_of_all, typeset="pass^$k$", papers=("yao2024taubench",))
def pass_all(answer: Assessment, *, k: int = 1, aspect: str = "crag") -> float:
    """Chance that all of k answers to a question pass: `pass^3` (τ-bench, 2024).

    Formula:
        pass_all@k = mean over the questions of C(c, k) / C(n, k)

    Range: 0 to 1. A question has n answers (by `repeat`), of which c pass. Unbiased for any n ≥ k; answers
    that a question lacks, where others have more, are missing.

    Parameters:
        aspect: what passes, as for `pass_any`

    Short names: `pass^3`.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "repeat": at, "label": label}
    ...           for at, label in enumerate(["accurate", "incorrect", "accurate", "missing"])]
    >>> round(rageval.evaluate_answers("pass^2", judged)["r"]["pass^2"].value, 4)
    0.1667
    """
    return is_pass(answer, aspect)


def _agreement(values: Sequence[float], k: int) -> float:
    """Return 1 − 4c(n − c)/(n(n − 1)) of n answers, of which c pass: the mean over pairs of ±1."""
    defined = [value >= 1 for value in values if value == value]
    n, c = len(defined), sum(defined)
    return 1 - 4 * c * (n - c) / (n * (n - 1)) if n > 1 else math.nan


@measure(repeats=_agreement, limits=(-1.0, 1.0))
def agreement(answer: Assessment, *, aspect: str = "crag") -> float:
    """How well several answers to a question agree on whether they pass.

    Formula:
        agreement = mean over the questions of 1 − 4 · c · (n − c) / (n · (n − 1))

    Range: −1 to 1. A question has n answers (by `repeat`), of which c pass. Each pair of answers counts 1 if
    both pass or both fail, and −1 otherwise; with random outcomes of chance p it is (2p − 1)² on average.
    Undefined for a question with one answer.

    Parameters:
        aspect: what passes, as for `pass_any`

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "repeat": at, "label": label}
    ...           for at, label in enumerate(["accurate", "incorrect", "accurate", "accurate"])]
    >>> rageval.evaluate_answers("agreement", judged)["r"]["agreement"].value
    0.0
    """
    return is_pass(answer, aspect)


# Measures of answers judged side by side: points for the place in a ranking, shares of comparisons won.


@measure(papers=("alessio2024improving",))
def rank_score(answer: Assessment, *, invalid: Literal["permutation", "query"] = "permutation") -> float:
    """Mean points for the answer's place among N answers ranked together (sentence-ordering paper).

    Formula:
        rank_score = mean of (N + 1 − place) / N over the permutations of the query

    Range: 1/N to 1. The scores of all answers to a query sum to (N + 1) / 2. A permutation is one ranking of
    the answers, presented in one order: judgements with the same query, aspect and judge, whose grades are
    the places.

    Parameters:
        invalid: a ranking whose places are not 1 to N (or are missing) is discarded, alone (`permutation`) or
            with all others of its query (`query`)

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": run, "aspect": order, "grade": int(place)}
    ...           for order, places in [("1", "123"), ("2", "213")] for run, place in zip("abc", places)]
    >>> scores = rageval.evaluate_answers("rank_score", judged)
    >>> [round(scores[run]["rank_score"].value, 4) for run in "abc"]
    [0.8333, 0.8333, 0.3333]
    """
    places = answer.places()
    points = [_points(answer, place) for place in places]
    if invalid == "query" and answer.skips and not all(place.all_valid for place in places):
        return math.nan
    return mean([value for value in points if not math.isnan(value)])


@measure(weighs=lambda *_: 1.0)
def win_rate(answer: Assessment) -> Share:
    """Share of the comparisons with other answers that the answer wins, a tie being half a win.

    Formula:
        win_rate = mean of v over the comparisons of the query

        v: win 1, tie ½, loss 0

    Range: 0 to 1. Ask in both orders: a judge who prefers the first answer then cancels out. Strengths with
    intervals, from the same judgements: `rageval arena`.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": run, "aspect": "a-b", "label": label}
    ...           for run, label in [("a", "win"), ("b", "loss")]]
    >>> scores = rageval.evaluate_answers("win_rate", judged)
    >>> scores["a"]["win_rate"].value, scores["b"]["win_rate"].value
    (1.0, 0.0)
    """
    won = grades(answer.judged(OUTCOME))
    return share(sum(won), len(won))


def _points(answer: Assessment, place: RankingPlace) -> float:
    """Return the points for a place; for an invalid ranking what stands in for them, from 1/N to 1."""
    if place.is_valid:
        return (place.among + 1 - place.place) / place.among
    last = 1 / place.among
    return last + answer.missing("invalid") * (1 - last)
