"""Measures of claims: which claims the answer, the gold answer and the passages entail of one another.

A judgement says whether a claim is entailed: a claim of the answer (aspect `response:3`) by the gold answer
(item `gold`) or by a passage (its id), a claim of the gold answer (aspect `gold:2`) by the answer (item
`answer`) or by a passage. What failed is neither entailed nor not: a claim is counted where the rest decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from rageval.errors import InputError, Place
from rageval.measures.assessment import Assessment, share
from rageval.measures.base import LOWER, NEITHER, measure
from rageval.measures.ranking import Blend, Share
from rageval.measures.scales import ENTAILMENT, Scale
from rageval.text import visible

_Verdict = bool | None  # None where that is not known
_By = dict[str, dict[str, _Verdict]]  # claim -> passage -> is it entailed
_OWN, _GOLD, _ANSWER = "response", "gold", "answer"


class _Entailed(NamedTuple):
    """What is entailed: claims of the answer by gold, gold claims by the answer, and both by each passage."""

    own: dict[str, _Verdict]
    gold: dict[str, _Verdict]
    own_by: _By
    gold_by: _By


@measure(papers=("ru2024ragchecker",))
def answer_precision(answer: Assessment) -> Share:
    """Share of the answer's claims that the gold answer entails (RAGChecker's precision; Ru et al., 2024).

    Formula:
        answer_precision = |claims of the answer that gold entails| / |claims of the answer|

    Range: 0 to 1; undefined for an answer without claims.

    Peers: RAGChecker has 0 for what is undefined, and takes any other label for not entailed (`--compat
    ragchecker`).

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": "gold", "aspect": f"response:{at}",
    ...            "label": label} for at, label in enumerate(["Entailment", "Neutral"])]
    >>> rageval.evaluate_answers("answer_precision", judged)["r"]["answer_precision"].value
    0.5
    """
    return _share(answer, _entailed(answer).own.values())


@measure(papers=("ru2024ragchecker",))
def answer_recall(answer: Assessment) -> Share:
    """Share of the gold answer's claims that the answer entails (RAGChecker's recall; Ru et al., 2024).

    Formula:
        answer_recall = |claims of gold that the answer entails| / |claims of gold|

    Range: 0 to 1; undefined where the gold answer has no claims.

    Peers: as for `answer_precision`.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": "answer", "aspect": f"gold:{at}",
    ...            "label": label} for at, label in enumerate(["Entailment", "Contradiction"])]
    >>> rageval.evaluate_answers("answer_recall", judged)["r"]["answer_recall"].value
    0.5
    """
    return _share(answer, _entailed(answer).gold.values())


@measure(typeset="Answer $F_1$", papers=("ru2024ragchecker",))
def answer_f1(answer: Assessment) -> Blend:
    """F1 of the claims that answer and gold answer share (RAGChecker's f1; Ru et al., 2024).

    Formula:
        answer_f1 = 2 · answer_precision · answer_recall / (answer_precision + answer_recall); 0 if both are 0

    Range: 0 to 1; undefined where one of them is.

    Peers: as for `answer_precision`.

    >>> import rageval
    >>> rows = [("response:0", "gold", "Entailment"), ("response:1", "gold", "Neutral"),
    ...         ("gold:0", "answer", "Entailment")]
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": item, "aspect": aspect, "label": label}
    ...           for aspect, item, label in rows]
    >>> round(rageval.evaluate_answers("answer_f1", judged)["r"]["answer_f1"].value, 4)
    0.6667
    """
    entailed = _entailed(answer)
    return Blend("f1", _share(answer, entailed.own.values()), _share(answer, entailed.gold.values()))


@measure(papers=("ru2024ragchecker",))
def claim_recall(answer: Assessment) -> Share:
    """Share of the gold answer's claims that some passage entails: what retrieval made possible (RAGChecker).

    Formula:
        claim_recall = |claims of gold that some passage entails| / |claims of gold|

    Range: 0 to 1; undefined without claims of gold, or passages.

    Peers: as for `answer_precision`.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": "d1", "aspect": f"gold:{at}",
    ...            "label": label} for at, label in enumerate(["Entailment", "Neutral"])]
    >>> rageval.evaluate_answers("claim_recall", judged)["r"]["claim_recall"].value
    0.5
    """
    return _share(answer, map(_any, _verdict_rows(_entailed(answer).gold_by)))


@measure(papers=("ru2024ragchecker",))
def context_precision(answer: Assessment) -> Share:
    """Share of the passages that entail some claim of the gold answer (RAGChecker).

    Formula:
        context_precision = |relevant passages| / |passages|

        relevant: it entails some claim of gold

    Range: 0 to 1; undefined without claims of gold, or passages.

    Peers: as for `answer_precision`. Ragas' measure of this name is `ragas_context_precision`, by rank.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": doc, "aspect": "gold:0", "label": label}
    ...           for doc, label in [("d1", "Entailment"), ("d2", "Neutral")]]
    >>> rageval.evaluate_answers("context_precision", judged)["r"]["context_precision"].value
    0.5
    """
    return _share(answer, _relevant(_entailed(answer)).values())


@measure(papers=("ru2024ragchecker",))
def context_utilization(answer: Assessment) -> Share:
    """Share of the gold claims in the passages that the answer also has (RAGChecker).

    Formula:
        context_utilization = |claims of gold that both a passage and the answer entail|
                              / |claims of gold that a passage entails|

    Range: 0 to 1; undefined where no passage entails any claim of gold.

    Peers: as for `answer_precision`.

    >>> import rageval
    >>> rows = [("gold:0", "d1", "Entailment"), ("gold:1", "d1", "Entailment"),
    ...         ("gold:0", "answer", "Entailment"), ("gold:1", "answer", "Neutral")]
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": item, "aspect": aspect, "label": label}
    ...           for aspect, item, label in rows]
    >>> rageval.evaluate_answers("context_utilization", judged)["r"]["context_utilization"].value
    0.5
    """
    entailed, end = _entailed(answer), answer.stand_in()
    used: list[float] = []
    for claim in entailed.gold_by if entailed.gold else ():
        there = _any(entailed.gold_by[claim].values())
        verdict = entailed.gold[claim] if claim in entailed.gold else _absent(answer, claim, _ANSWER)
        value = end if verdict is None else float(verdict)
        # Whether it was there to be used is decided, where it is open, as is best (or worst) for the whole.
        if there or (there is None and value == end):
            used.append(value)
    defined = [value for value in used if not math.isnan(value)]
    return share(math.fsum(defined), len(defined))


@measure(better=LOWER, papers=("ru2024ragchecker",))
def noise_relevant(answer: Assessment) -> Share:
    """Share of the answer's claims that are wrong and come from relevant passages (RAGChecker).

    Formula:
        noise_relevant = |claims that gold does not entail and a relevant passage does|
                         / |claims of the answer|

    RAGChecker calls it noise_sensitivity_in_relevant. A passage is relevant as in `context_precision`.

    Range: 0 to 1; undefined without claims, or passages.

    Peers: as for `answer_precision`.

    >>> import rageval
    >>> rows = [("response:0", "gold", "Neutral"), ("response:0", "d1", "Entailment"),
    ...         ("gold:0", "d1", "Entailment")]
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": item, "aspect": aspect, "label": label}
    ...           for aspect, item, label in rows]
    >>> rageval.evaluate_answers("noise_relevant", judged)["r"]["noise_relevant"].value
    1.0
    """
    return _share(answer, [relevant for relevant, _ in _noise(answer)], LOWER)


@measure(better=LOWER, papers=("ru2024ragchecker",))
def noise_irrelevant(answer: Assessment) -> Share:
    """Share of the answer's claims that are wrong and come from irrelevant passages only (RAGChecker).

    Formula:
        noise_irrelevant = |claims that gold does not entail, an irrelevant passage does and no relevant one|
                           / |claims of the answer|

    RAGChecker calls it noise_sensitivity_in_irrelevant. A passage is relevant as in `context_precision`.

    Range: 0 to 1; undefined without claims, or passages.

    Peers: as for `answer_precision`.

    >>> import rageval
    >>> rows = [("response:0", "gold", "Neutral"), ("response:0", "d1", "Entailment"),
    ...         ("gold:0", "d1", "Neutral")]
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": item, "aspect": aspect, "label": label}
    ...           for aspect, item, label in rows]
    >>> rageval.evaluate_answers("noise_irrelevant", judged)["r"]["noise_irrelevant"].value
    1.0
    """
    return _share(answer, [irrelevant for _, irrelevant in _noise(answer)], LOWER)


@measure(better=LOWER, papers=("ru2024ragchecker",))
def claim_hallucination(answer: Assessment) -> Share:
    """Share of the answer's claims that neither a passage nor the gold answer entails (RAGChecker).

    Formula:
        claim_hallucination = |claims that no passage entails, nor gold| / |claims of the answer|

    Range: 0 to 1; undefined without claims, or passages.

    Peers: as for `answer_precision`.

    >>> import rageval
    >>> rows = [("response:0", "gold", "Neutral"), ("response:0", "d1", "Neutral")]
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": item, "aspect": aspect, "label": label}
    ...           for aspect, item, label in rows]
    >>> rageval.evaluate_answers("claim_hallucination", judged)["r"]["claim_hallucination"].value
    1.0
    """
    return _share(
        answer, [_both(_not(entailed), _not(right)) for entailed, right in _entailments(answer)], LOWER
    )


@measure(better=NEITHER, papers=("ru2024ragchecker",))
def self_knowledge(answer: Assessment) -> Share:
    """Share of the answer's claims that are right and that no passage holds (RAGChecker).

    Formula:
        self_knowledge = |claims that gold entails and no passage| / |claims of the answer|

    Range: 0 to 1; undefined without claims, or passages. Neither many nor few are good by themselves.

    Peers: as for `answer_precision`.

    >>> import rageval
    >>> rows = [("response:0", "gold", "Entailment"), ("response:0", "d1", "Neutral")]
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": item, "aspect": aspect, "label": label}
    ...           for aspect, item, label in rows]
    >>> rageval.evaluate_answers("self_knowledge", judged)["r"]["self_knowledge"].value
    1.0
    """
    return _share(answer, [_both(_not(entailed), right) for entailed, right in _entailments(answer)])


@measure(
    papers=(
        "ru2024ragchecker",
        "min2023factscore",
    )
)
def claim_faithfulness(answer: Assessment) -> Share:
    """Share of the answer's claims that some passage entails (RAGChecker's faithfulness; FActScore).

    Formula:
        claim_faithfulness = |claims of the answer that some passage entails| / |claims of the answer|

    FActScore (Min et al., 2023) is this, without its penalty for short answers.

    Range: 0 to 1; undefined without claims, or passages.

    Peers: as for `answer_precision`.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": "d1", "aspect": f"response:{at}",
    ...            "label": label} for at, label in enumerate(["Entailment", "Neutral"])]
    >>> rageval.evaluate_answers("claim_faithfulness", judged)["r"]["claim_faithfulness"].value
    0.5
    """
    return _share(answer, map(_any, _verdict_rows(_entailed(answer).own_by)))


@measure
def all_supported(answer: Assessment) -> Share:
    """Share of the answers all of whose claims some passage entails.

    Formula:
        all_supported = |answers with claim_faithfulness = 1| / |answers|

    Range: 0 to 1; undefined without claims, or passages.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": "d1", "aspect": f"response:{at}",
    ...            "label": label} for at, label in enumerate(["Entailment", "Neutral"])]
    >>> rageval.evaluate_answers("all_supported", judged)["r"]["all_supported"].value
    0.0
    """
    supported = [_any(row) for row in _verdict_rows(_entailed(answer).own_by)]
    return _share(answer, [_not(_any(map(_not, supported)))] if supported else [])


def _entailed(answer: Assessment) -> _Entailed:
    """Return what the judgements say; `InputError` for one that is about nothing of that kind."""
    entailed = _Entailed({}, {}, {}, {})
    for judgement in answer.judged(ENTAILMENT, needs="open", failed=True):
        # A judgement that failed says neither yes nor no.
        verdict = None if math.isnan(judgement.grade) else judgement.grade == 1
        kind, place = judgement.aspect.partition(":")[0], judgement.item
        if (kind, place) == (_OWN, _GOLD):
            entailed.own[judgement.aspect] = verdict
        elif (kind, place) == (_GOLD, _ANSWER):
            entailed.gold[judgement.aspect] = verdict
        elif kind in (_OWN, _GOLD) and place not in (_GOLD, _ANSWER):
            by = entailed.own_by if kind == _OWN else entailed.gold_by
            by.setdefault(judgement.aspect, {})[place] = verdict
        else:
            raise InputError(
                at=Place(f"run {visible(answer.run_id)}, query {visible(answer.query_id)}"),
                problem=f"is about aspect {visible(judgement.aspect)[:80]!r} of item"
                f" {visible(judgement.item)[:80]!r}",
                expected="a claim of the answer (response:0, …) and what may entail it (gold, or a passage's"
                " id), or a claim of gold (gold:0, …) and answer, or a passage's id",
            )
    # A passage was there for every claim, or for none: what lacks beside others is missing.
    for by in (entailed.own_by, entailed.gold_by):
        _complete(answer, by)
    return entailed


def _complete(answer: Assessment, by: _By) -> None:
    """Put in the passages beside which a claim was not judged, though others were."""
    passages = dict.fromkeys(passage for row in by.values() for passage in row)
    for claim, row in by.items():
        for passage in passages:
            if passage not in row:
                row[passage] = _absent(answer, claim, passage)


def _absent(answer: Assessment, claim: str, item: str, scale: Scale = ENTAILMENT) -> _Verdict:
    """Count a judgement that is not there; return what it is taken for, None where that is left open."""
    label = answer.absent(scale, claim, item).label
    return None if label in (None, scale.worst, scale.best) else False


def _verdict_rows(by: _By) -> Iterable[Iterable[_Verdict]]:
    return [row.values() for row in by.values()]


def _relevant(entailed: _Entailed) -> dict[str, _Verdict]:
    """Return whether each passage entails some claim of gold."""
    passages = dict.fromkeys(passage for row in entailed.gold_by.values() for passage in row)
    return {passage: _any(row[passage] for row in entailed.gold_by.values()) for passage in passages}


def _entailments(answer: Assessment) -> list[tuple[_Verdict, _Verdict]]:
    """Return of each claim of the answer whether some passage entails it, and whether gold does."""
    entailed = _entailed(answer)
    if not entailed.own:
        return []
    return [(_any(row.values()), _right(answer, entailed, claim)) for claim, row in entailed.own_by.items()]


def _right(answer: Assessment, entailed: _Entailed, claim: str) -> _Verdict:
    return entailed.own[claim] if claim in entailed.own else _absent(answer, claim, _GOLD)


def _noise(answer: Assessment) -> list[tuple[_Verdict, _Verdict]]:
    """Return of each claim of the answer whether it is noise of relevant passages, and of irrelevant ones."""
    entailed = _entailed(answer)
    relevant = _relevant(entailed)
    if not entailed.own or not relevant:
        return []
    noise = []
    for claim, row in entailed.own_by.items():
        wrong = _not(_right(answer, entailed, claim))
        relevance = {passage: relevant.get(passage) for passage in row}
        of_relevant = _any(_both(row[passage], relevance[passage]) for passage in row)
        of_others = _any(_both(row[passage], _not(relevance[passage])) for passage in row)
        # What both kinds of passages entail is noise of the relevant ones, and counts once.
        noise.append((_both(wrong, of_relevant), _both(_both(wrong, of_others), _not(of_relevant))))
    return noise


def _share(answer: Assessment, verdicts: Iterable[_Verdict], better: str = "") -> Share:
    """Return the share of verdicts that are so; one that is not known is left out, or is one end."""
    # Of what is bad, the worst that can be missing is a claim of which it is so.
    end = 1 - answer.stand_in() if better == LOWER else answer.stand_in()
    values = [end if verdict is None else float(verdict) for verdict in verdicts]
    defined = [value for value in values if not math.isnan(value)]
    return share(math.fsum(defined), len(defined))


def _any(verdicts: Iterable[_Verdict]) -> _Verdict:
    """Return whether any is so; None where that hangs on one that is not known."""
    # Three values: one that is so decides, whatever is not known of the others.
    seen = set(verdicts)
    return True if True in seen else None if None in seen else False


def _both(one: _Verdict, other: _Verdict) -> _Verdict:
    return False if one is False or other is False else None if one is None or other is None else True


def _not(verdict: _Verdict) -> _Verdict:
    return None if verdict is None else not verdict
