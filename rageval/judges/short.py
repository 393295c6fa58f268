"""The judge `short`: whether a short answer is right, by its words and characters beside gold answers.

Fourteen numbers say how an answer and the gold answers stand to each other; a logistic curve makes of them
the chance that people would call the answer right:

    p = 1 / (1 + exp(−(b + Σ wᵢ (xᵢ − mᵢ) / sᵢ)))

Where the answer has other numbers than every gold answer, p is no more than 0.35: so many of such answers
people called right. It is right if p ≥ ½. The coefficients were fitted on answers that people judged
(`benchmarks/people.py`) and stand in short.toml, with what was measured of them. No model is asked, and
nothing is loaded but a small file.

It knows short answers to factual questions in English, whose right answers are known. It does not know what
an answer means: who names the gold answer beside a wrong one is right to it.
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from operator import mul, truediv
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rageval.core.remark import Remark
from rageval.errors import TooFewLabels
from rageval.judges._exact import ARTICLES, folded, has_words, numbers_in

NAME = "short"
FEATURES = (
    "contains",  # a gold answer stands there as whole words
    "token_f1",
    "gold_words",  # share of the gold answer's words that stand there
    "gold_characters",  # share of the gold answer's runs of three characters
    "gold_numbers",  # share of the gold answer's numbers; ½ if it has none
    "has_numbers",
    "length",  # log(1 + words) of the answer
    "gold_length",
    "last_word",  # of a gold answer: of a name the surname
    "hedges",  # says that something is not known, or cannot be told
    "gold_in_question",  # share of the gold answer's words that the question has, too
    "several_golds",
    "contains_and_numbers",
    "characters_and_numbers",
)
OTHER_NUMBERS = 0.35  # the chance of an answer with other numbers, at most
FEWEST = 30  # labels from which coefficients are fitted
_RUN, _FEW_RUNS = 3, 1_000  # characters, and how many runs of these
_FAR = 500.0  # on the line, where the chance is 0 or 1 for long
_PENALTIES = (math.inf, 100.0, 30.0, 10.0, 3.0, 1.0)  # how firmly a fit is held at the curve of the package
_FOLDS = 5
_MOST_STEPS, _SMALL, _TINY = 100, 1e-9, 1e-9
_LEAST = 1e-6  # chance: nobody is surer than that
_WORDS = re.compile(r"\w+")
_DIGITS, _COMMA = re.compile(r"\d+"), re.compile(r"(?<=\d),(?=\d{3})")
_HEDGES = re.compile(
    r"\b(?:sorry|apologi[sz]e|unclear|unsure|not (?:sure|certain|clear|able to)|unable to|as of my"
    r"|no (?:information|record|answer)"
    r"|(?:do not|don't|does not|doesn't|cannot|can't|could not|couldn't)"
    r" (?:know|find|answer|determine|provide|confirm|verify|say|specify))\b"
)
_ENGLISH = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "how",
        "in",
        "is",
        "it",
        "its",
        "of",
        "on",
        "or",
        "than",
        "that",
        "the",
        "their",
        "this",
        "to",
        "was",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whom",
        "whose",
        "why",
        "with",
        "you",
        "your",
    ]
)
_FEWEST_WORDS = 4
_FEWEST_ENGLISH = 0.15  # of the words of a question; English ones have two in five


@dataclass(frozen=True, slots=True)
class _Gold:
    """A gold answer as far as answers are held beside it."""

    text: str
    words: Mapping[str, int]  # without articles: how often each
    total: int
    kinds: frozenset[str]
    runs: tuple[str, ...]
    digits: frozenset[str]
    values: frozenset[Decimal]
    last: str
    in_question: float
    length: int


@lru_cache(maxsize=4096)
def gold_features(question: str, golds: tuple[str, ...]) -> tuple[_Gold, ...]:
    """Return the gold answers of a question: looked at once, however many systems answered."""
    asked = set(_WORDS.findall(folded(question)))
    gold_answers = []
    for text in dict.fromkeys(filter(None, map(folded, golds))):
        words = _WORDS.findall(text)
        counts: dict[str, int] = {}
        for word in words:
            if word not in ARTICLES:
                counts[word] = counts.get(word, 0) + 1
        around = f" {text} "
        digits = frozenset(_DIGITS.findall(_COMMA.sub("", text)))
        gold_answers.append(
            _Gold(
                text,
                counts,
                sum(counts.values()),
                frozenset(counts),
                tuple({around[start : start + _RUN] for start in range(len(around) - _RUN + 1)}),
                digits,
                frozenset(numbers_in(text) if digits else ()),
                words[-1] if words else text,
                len(asked & counts.keys()) / max(1, len(counts)),
                len(words),
            )
        )
    return tuple(gold_answers)


def _has_other_numbers(given: str, digits: set[str], golds: Sequence[_Gold], question: str) -> bool:
    """Tell whether the answer lacks numbers of every gold answer, however written, and has others."""
    if not digits or any(gold.digits <= digits for gold in golds):
        return False
    values = set(numbers_in(given))
    if any(gold.values and gold.values <= values for gold in golds):
        return False
    return all(values - gold.values - set(numbers_in(question)) for gold in golds)


def features(answer: str, question: str, golds: Iterable[str]) -> tuple[float, ...]:
    """Return what `FEATURES` names, the best of several gold answers, and whether it has other numbers.

    >>> numbers = features("In Paris.", "Capital of France?", ("Paris", "Rome"))
    >>> found = dict(zip(FEATURES, numbers[:-1], strict=True))
    >>> found["contains"], found["gold_characters"], found["several_golds"], round(found["length"], 2)
    (1.0, 1.0, 1.0, 1.1)
    """
    gold_answers = gold_features(question, tuple(golds))
    given = folded(answer)
    words = _WORDS.findall(given)
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    total = len(words) - sum(counts.get(article, 0) for article in ARTICLES)
    digits = set(_DIGITS.findall(_COMMA.sub("", given)))
    around = f" {given} "
    # Looking for a few is quicker than listing all; of many, each would go through the whole answer.
    few = sum(len(gold.runs) for gold in gold_answers) <= _FEW_RUNS
    runs = around if few else {around[start : start + _RUN] for start in range(len(around) - _RUN + 1)}
    contains = f1 = of_words = of_runs = of_numbers = last = in_question = 0.0
    for gold in gold_answers:
        if has_words(given, gold.text):
            contains = of_runs = 1.0
        there = [(word, number) for word, number in gold.words.items() if word in counts]
        if there:
            shared = sum(min(counts[word], number) for word, number in there)
            f1 = max(f1, 2 * shared / (total + gold.total))
            of_words = max(of_words, len(there) / len(gold.words))
        if of_runs < 1:
            of_runs = max(of_runs, sum(run in runs for run in gold.runs) / len(gold.runs))
        share = len(digits & gold.digits) / len(gold.digits) if gold.digits else 0.5
        of_numbers = max(of_numbers, share)
        if gold.last in counts:
            last = 1.0
        in_question = max(in_question, gold.in_question)
    has_numbers = float(any(gold.digits for gold in gold_answers))
    mean_length = sum(gold.length for gold in gold_answers) / max(1, len(gold_answers))
    return (
        contains,
        f1,
        of_words,
        of_runs,
        of_numbers,
        has_numbers,
        math.log1p(len(words)),
        math.log1p(mean_length),
        last,
        float(_HEDGES.search(given) is not None),
        in_question,
        float(len(gold_answers) > 1),
        contains * has_numbers,
        of_runs * has_numbers,
        float(has_numbers > 0 and _has_other_numbers(given, digits, gold_answers, question)),
    )


@dataclass(frozen=True)
class Curve:
    """The logistic curve; each feature is taken in `deviations` from its mean, so that weights compare."""

    intercept: float
    weights: tuple[float, ...]
    means: tuple[float, ...]
    deviations: tuple[float, ...]

    @cached_property
    def name(self) -> str:
        """What the judge is called in its judgements: with a digest, as judges with prompts are.

        >>> packed().name.partition("@")[0]
        'short'
        """
        numbers = (self.intercept, *self.weights, *self.means, *self.deviations)
        text = ",".join(f"{number:.6g}" for number in numbers)
        return f"{NAME}@{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def chance(self, answer: str, question: str, golds: Iterable[str]) -> float:
        """Return the chance that people would call the answer right.

        >>> packed().chance("Paris, I think.", "Capital of France?", ("Paris",)) > 0.9
        True
        >>> packed().chance("It is Rome.", "Capital of France?", ("Paris",)) < 0.4
        True
        """
        return self.of(features(answer, question, golds))

    def of(self, numbers: Sequence[float]) -> float:
        """Return the chance by what `features` returns."""
        start, slopes = self._line
        logit = start + math.fsum(map(mul, slopes, numbers))
        chance = 1 / (1 + math.exp(-logit)) if logit > -_FAR else 0.0
        return min(chance, OTHER_NUMBERS) if numbers[-1] else chance

    @cached_property
    def _line(self) -> tuple[float, tuple[float, ...]]:
        slopes = tuple(map(truediv, self.weights, self.deviations))
        return self.intercept - math.fsum(map(mul, slopes, self.means)), slopes


class Packed(NamedTuple):
    """What short.toml holds: the curve, what it was fitted on, and what was measured on each set."""

    curve: Curve
    fitted: Mapping[str, Any]
    measured: Sequence[Mapping[str, Any]]  # on each set


@cache
def record() -> Packed:
    """Return what the package knows of the judge."""
    content = tomllib.loads(Path(__file__).with_name("short.toml").read_text(encoding="utf-8"))
    rows = [content["features"][name] for name in FEATURES]
    columns = (tuple(row[key] for row in rows) for key in ("weight", "mean", "deviation"))
    return Packed(Curve(content["intercept"], *columns), content["fitted"], content["measured"])


def packed() -> Curve:
    """Return the curve of the package."""
    return record().curve


def error_remark() -> Remark:
    """Return what is said wherever the judge is used."""
    measured = record().measured
    facts = {
        "percents": tuple(100 * figures["error"] for figures in measured),
        "datasets": tuple(figures["set"] for figures in measured),
    }
    return Remark("error_of_short", facts=facts)


# --- Fitting: on what people said of answers like one's own.


def fit(
    rows: Sequence[Sequence[float]], right: Sequence[bool], penalty: float, prior: Curve | None = None
) -> Curve:
    """Return the curve of the least −log likelihood + penalty/2 · Σ(w − w₀)², by Newton's steps.

    w₀ are the weights of the `prior`, and its intercept; without one they are 0, and the intercept is free.
    The rows are what `features` returns.

    >>> texts = ["Paris", "In Paris.", "Rome", "It is Rome."] * 10
    >>> rows = [features(text, "Capital of France?", ("Paris",)) for text in texts]
    >>> curve = fit(rows, ["Paris" in text for text in texts], 1.0)
    >>> [curve.of(row) > 0.5 for row in rows[:4]]
    [True, True, False, False]
    """
    import numpy as np

    table = np.array(rows, np.float64)[:, : len(FEATURES)]
    targets = np.array(right, np.float64)
    if prior is None:
        means, deviations = table.mean(axis=0), table.std(axis=0)
        deviations[deviations == 0] = 1.0
    else:
        means, deviations = np.array(prior.means), np.array(prior.deviations)
    columns = np.hstack((np.ones((len(table), 1)), (table - means) / deviations))
    size = columns.shape[1]
    start = np.zeros(size) if prior is None else np.array([prior.intercept, *prior.weights])
    pull = np.full(size, penalty)
    pull[0] = _TINY if prior is None else penalty
    weights = start.copy()
    for _ in range(_MOST_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(columns @ weights, -_FAR, _FAR)))
        slope = columns.T @ (targets - chance) - pull * (weights - start)
        bend = (columns.T * (chance * (1 - chance))) @ columns + np.diag(pull)
        step = np.linalg.solve(bend, slope)
        # A step of a flat curve may be far too long.
        weights += step / max(1.0, float(np.abs(step).max()))
        if float(np.abs(step).max()) < _SMALL:
            break
    intercept, *rest = map(float, weights)
    return Curve(intercept, tuple(rest), tuple(map(float, means)), tuple(map(float, deviations)))


class Fitted(NamedTuple):
    """A curve fitted on one's own labels, and what cross-validation says of it beside that of the package.

    `before` and `after` are shares of labels on which the curves erred, `loss_before` and `loss_after` their
    mean −log₂ likelihood.
    """

    curve: Curve
    labels: int
    before: float
    after: float
    loss_before: float
    loss_after: float

    def as_facts(self) -> dict[str, Any]:
        """Return what a remark says of it."""
        shares = {"before": self.before, "after": self.after}
        losses = {"loss_before": self.loss_before, "loss_after": self.loss_after}
        return {"labels": self.labels, **shares, **losses, "is_changed": self.curve != packed()}


def cross_fit(rows: Sequence[Sequence[float]], right: Sequence[bool], groups: Sequence[str]) -> Fitted:
    """Fit the curve of the package again on labels, as far from it as cross-validation says.

    Labels of one group (a question) are never on both sides. How far is chosen within each fold again, so
    that the errors are those of the whole procedure.
    """
    if len(rows) < FEWEST or len(set(right)) < 2:
        raise TooFewLabels(
            f"--fit: {len(rows):,} labels of answers, {sum(right):,} of them right; expected {FEWEST} or"
            " more, of"
            " both kinds"
        )
    folds = _folds(groups)
    chances = [0.0] * len(rows)
    for fold in folds:
        inside = sorted(set(range(len(rows))) - set(fold))
        curve = _fit_best_penalty(_select(rows, inside), _select(right, inside), _select(groups, inside))
        for index in fold:
            chances[index] = curve.of(rows[index])
    before = [packed().of(row) for row in rows]
    errors = [_error(probabilities, right) for probabilities in (before, chances)]
    losses = [_loss(probabilities, right) for probabilities in (before, chances)]
    curve = _fit_best_penalty(rows, right, groups) if losses[1] < losses[0] else packed()
    return Fitted(curve, len(rows), *errors, *losses)


_Item = TypeVar("_Item")


def _select(items: Sequence[_Item], places: Iterable[int]) -> list[_Item]:
    return [items[index] for index in places]


def _folds(groups: Sequence[str]) -> list[list[int]]:
    """Return places in as many parts as there are folds, those of a group in one, always the same."""
    order = sorted(dict.fromkeys(groups), key=lambda name: hashlib.sha256(name.encode()).digest())
    part = {name: index % _FOLDS for index, name in enumerate(order)}
    folds: list[list[int]] = [[] for _ in range(_FOLDS)]
    for place, name in enumerate(groups):
        folds[part[name]].append(place)
    return [fold for fold in folds if fold]


def _fit_best_penalty(rows: Sequence[Sequence[float]], right: Sequence[bool], groups: Sequence[str]) -> Curve:
    """Return the curve with the penalty of the least loss on labels kept back."""

    def curve_of(places: Iterable[int], penalty: float) -> Curve:
        if penalty == math.inf:
            return packed()
        chosen = list(places)
        return fit(_select(rows, chosen), _select(right, chosen), penalty, packed())

    everything = set(range(len(rows)))

    def loss_of(penalty: float) -> float:
        chances = [0.0] * len(rows)
        for fold in _folds(groups):
            curve = curve_of(sorted(everything - set(fold)), penalty)
            for index in fold:
                chances[index] = curve.of(rows[index])
        return _loss(chances, right)

    return curve_of(range(len(rows)), min(_PENALTIES, key=loss_of))


def _error(chances: Sequence[float], right: Sequence[bool]) -> float:
    pairs = zip(chances, right, strict=True)
    return sum((chance >= 0.5) != is_right for chance, is_right in pairs) / len(chances)


def _loss(chances: Sequence[float], right: Sequence[bool]) -> float:
    sure = ((chance if is_right else 1 - chance) for chance, is_right in zip(chances, right, strict=True))
    return math.fsum(-math.log2(max(probability, _LEAST)) for probability in sure) / len(chances)


# --- Where it does not belong.


def looks_english(question: str) -> bool:
    """Tell whether a question has the words that English ones have.

    >>> looks_english("Who wrote Hamlet in 1600?"), looks_english("Wer schrieb Hamlet um 1600?")
    (True, False)
    """
    words = _WORDS.findall(folded(question))
    if len(words) < _FEWEST_WORDS:  # too few to tell, but for another script
        return question.isascii()
    return sum(word in _ENGLISH for word in words) >= _FEWEST_ENGLISH * len(words)
