"""ALCE's measures of citations: whether a sentence's citations together suffice, and which are superfluous.

Judgements are of a sentence (the aspect) and of what it cites: together (item `*`), one alone (its id), or
all but one (its id with `-` before it). The answers must be known (`--answers FILE`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from rageval.errors import InputError, Place
from rageval.measures._abstention import decision_share, were_answered
from rageval.measures._claims import _share, _Verdict, answer_recall
from rageval.measures._grades import crag_share
from rageval.measures._nuggets import nugget_recall
from rageval.measures.assessment import Assessment, share
from rageval.measures.base import POOL, measure
from rageval.measures.ranking import Blend, Share
from rageval.measures.scales import TOGETHER
from rageval.text import visible

_Verdicts = Mapping[tuple[str, str], _Verdict]  # (sentence, item) -> does it suffice
_EVERY, _ALL_BUT = "*", "-"
_NOTHING: Any = math.nan  # which is a float, where a share is expected
_CORRECT = {"nuggets": nugget_recall, "crag": crag_share, "claims": answer_recall}


@measure(typeset="ALCE recall", papers=("gao2023enabling",))
def alce_recall(answer: Assessment) -> Share:
    """Share of the sentences that their citations together support (ALCE's citation_rec; Gao et al., 2023).

    Formula:
        alce_recall = |sentences whose citations together entail them| / |sentences|

    A sentence without citations is not supported, nor is one with a citation that has no reference.

    Range: 0 to 1; undefined for an answer without sentences, or one that is not known. A sentence without a
    judgement of all citations together (item `*`) is missing, not 0: judgements of single citations do not
    replace it.

    >>> import rageval
    >>> answer = [{"text": "Yes.", "citations": ["a", "b"]}, {"text": "So it is.", "citations": []}]
    >>> answers = [{"query_id": "q", "run_id": "r", "answer": answer, "references": ["a", "b"]}]
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "citations-together", "aspect": "0",
    ...            "item_id": "*", "label": "yes"}]
    >>> rageval.evaluate_answers("alce_recall", judged, answers=answers)["r"]["alce_recall"].value
    0.5
    """
    return _recall(answer)


@measure(typeset="ALCE precision", papers=("gao2023enabling",))
def alce_precision(answer: Assessment) -> Share:
    """Share of the citations that are not superfluous (ALCE's citation_prec; Gao et al., 2023).

    Formula:
        alce_precision = |precise citations| / |citations of sentences none of which has no reference|

        precise: its sentence is supported (`alce_recall`), and it alone supports it, or the others without
           it do not

    Range: 0 to 1; 0 for an answer without such citations. A document that a sentence cites twice is one.

    A failed judgement is missing only where it matters: for a citation that supports its sentence alone, the
    others do not.

    >>> import rageval
    >>> answer = [{"text": "Yes.", "citations": ["a", "b"]}]
    >>> answers = [{"query_id": "q", "run_id": "r", "answer": answer, "references": ["a", "b"]}]
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "citations-together", "aspect": "0",
    ...            "item_id": item, "label": label}
    ...           for item, label in [("*", "yes"), ("a", "yes"), ("b", "no"), ("-b", "yes")]]
    >>> rageval.evaluate_answers("alce_precision", judged, answers=answers)["r"]["alce_precision"].value
    0.5
    """
    return _precision(answer)


@measure(typeset="ALCE $F_1$", papers=("gao2023enabling", "song2025measuring"))
def alce_f1(answer: Assessment) -> Blend:
    """F1 of ALCE's citation recall and precision (Trust-Eval).

    Formula:
        alce_f1 = 2 · alce_recall · alce_precision / (alce_recall + alce_precision); 0 if both are 0

    Range: 0 to 1; undefined where one of them is.

    >>> import rageval
    >>> answers = [{"query_id": "q", "run_id": "r", "answer": [{"text": "Yes.", "citations": ["a"]}],
    ...             "references": ["a"]}]
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "citations-together", "aspect": "0",
    ...            "item_id": "*", "label": "yes"}]
    >>> rageval.evaluate_answers("alce_f1", judged, answers=answers)["r"]["alce_f1"].value
    1.0
    """
    return Blend("f1", _recall(answer), _precision(answer))


@measure(over=POOL, typeset="Trust-Score", papers=("song2025measuring",))
def trust_score(answer: Assessment, *, correct: Literal["nuggets", "crag", "claims"] = "nuggets") -> Blend:
    """Trust-Score: right refusals, right answers, right citations (Trust-Align; Song et al., 2025).

    Formula:
        trust_score = (grounded_refusal + correctness + citations) / 3
        correctness = 2 · Σ c ÷ (|answered| + |answerable|)
        citations = 2·P·R / (P + R)

        c: the correctness of an answer, over what is answered and answerable
        P, R: means of `alce_precision` and `alce_recall` over what is answered

    Range: 0 to 1; of the whole set (`over=pool`); undefined where one of the three is.

    Parameters:
        correct: what c is, from 0 to 1: `nuggets`, the nugget_recall of the answer; `crag`, 1 if it is
            accurate; `claims`, its answer_recall
        over: `pool` only: a single question has no F1

    Judgements of all three kinds must be there, by one judge, and the answers. Peers: Trust-Eval's c is the
    share of short gold answers that occur in the text, and what is undefined is 0.

    >>> import rageval
    >>> answers = [{"query_id": "q", "run_id": "r", "answer": [{"text": "Yes.", "citations": ["a"]}],
    ...             "references": ["a"]}]
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "crag", "label": "perfect", "answerable": True},
    ...           {"query_id": "q", "run_id": "r", "rubric": "citations-together", "aspect": "0",
    ...            "item_id": "*", "label": "yes"},
    ...           {"query_id": "p", "run_id": "r", "rubric": "crag", "label": "missing", "answerable": False}]
    >>> rageval.evaluate_answers("trust_score(correct=crag)", judged, answers=answers)["r"].scores[0].value
    1.0
    """
    answered, can = were_answered(answer, "answerable"), answer.answerable()
    refused = decision_share([not is_answered for is_answered in answered], not can, "f1")
    shares = [refused, decision_share(answered, can, "f1")]
    right = _CORRECT[correct].value(answer) if any(answered) and can else 0.0
    taken = sum(answered) + len(answered) * can
    shares.append(Share(2 * right * sum(answered), taken) if taken and right == right else _NOTHING)
    for value in (_recall(answer), _precision(answer)):
        shares.append(Share(value, 1) if any(answered) and value == value else _NOTHING)
    return Blend("trust", *shares)


def _sentence_verdicts(answer: Assessment) -> dict[tuple[str, str], _Verdict]:
    """Return what is said of each sentence and what it cites; refuse what the answer does not cite."""
    answer.require_answers()
    verdicts: dict[tuple[str, str], _Verdict] = {}
    for judgement in answer.judged(TOGETHER, needs="open", failed=True):
        cited = answer.cited if answer.cited is not None else ()
        aspect, item = judgement.aspect, judgement.item
        docs = cited[int(aspect)] if aspect.isdecimal() and int(aspect) < len(cited) else ()
        if item != _EVERY and item not in docs and item.removeprefix(_ALL_BUT) not in docs:
            raise InputError(
                at=Place(f"run {visible(answer.run_id)}, query {visible(answer.query_id)}"),
                problem=f"the judgements hold sentence {visible(aspect)!r} and {visible(item)!r},"
                " which the answer does not cite there",
                expected="* for all that it cites, an id, or -id for all but that one",
            )
        verdicts[aspect, item] = None if math.isnan(judgement.grade) else judgement.grade == 1
    return verdicts


def _live(answer: Assessment, sentence: int) -> list[str]:
    """Return what a sentence cites, each once; nothing, if any of it leads nowhere."""
    docs = (answer.cited or ())[sentence]
    return [] if None in docs else [doc for doc in dict.fromkeys(docs) if doc is not None]


def _recall(answer: Assessment) -> Share:
    verdicts = _sentence_verdicts(answer)
    if answer.cited is None and verdicts:
        return _share(answer, [None])  # of an answer that failed: nobody knows its sentences
    return _share(
        answer, [_together(answer, verdicts, sentence) for sentence in range(len(answer.cited or ()))]
    )


def _precision(answer: Assessment) -> Share:
    verdicts = _sentence_verdicts(answer)
    if answer.cited is None:
        return _share(answer, [None]) if verdicts else share(0, 0)
    precise: list[_Verdict] = []
    for sentence in range(len(answer.cited)):
        docs = _live(answer, sentence)
        together = _together(answer, verdicts, sentence) if docs else False
        precise += [_precise(answer, verdicts, sentence, doc, together) for doc in docs]
    return _share(answer, precise) if precise else Share(0, 0)


def _together(answer: Assessment, verdicts: _Verdicts, sentence: int) -> _Verdict:
    """Return whether all that a sentence cites supports it; what is not judged is missing."""
    docs = _live(answer, sentence)
    if not docs:
        return False
    # Of one citation, all together is that one alone.
    names = [_EVERY, *docs] if len(docs) == 1 else [_EVERY]
    return _count_missing(answer, sentence, _first_verdict(verdicts, sentence, names), [names])


def _precise(
    answer: Assessment, verdicts: _Verdicts, sentence: int, doc: str, together: _Verdict
) -> _Verdict:
    """Return whether a citation is precise: its sentence is supported, and not by the others alone."""
    docs = _live(answer, sentence)
    if len(docs) == 1 or together is False:
        return together
    # Of two, all but the one is the other one alone, and may have been judged under either name.
    others = [other for other in docs if other != doc] if len(docs) == 2 else []
    names = [doc, *(_ALL_BUT + other for other in others)], [_ALL_BUT + doc, *others]
    alone, rest = (_first_verdict(verdicts, sentence, aliases) for aliases in names)
    # Superfluous: it does not support the sentence alone, and the others do without it.
    superfluous = rest if alone is False else False if alone or rest is False else None
    if superfluous is None:
        return _count_missing(answer, sentence, None, names)
    return False if superfluous else together


def _first_verdict(by_item: _Verdicts, sentence: int, names: Iterable[str]) -> _Verdict:
    """Return what was said of the first of these items, which mean the same, that anything is known of."""
    verdicts = (by_item.get((str(sentence), name)) for name in names)
    return next((verdict for verdict in verdicts if verdict is not None), None)


def _count_missing(
    answer: Assessment, sentence: int, verdict: _Verdict, needed: Iterable[Sequence[str]]
) -> _Verdict:
    """Return the verdict; where there is none, count the judgements that nobody made."""
    if verdict is not None:
        return verdict
    judged = {
        (judgement.aspect, judgement.item) for judgement in answer.judged(TOGETHER, needs="open", failed=True)
    }
    for names in needed:
        if not any((str(sentence), name) in judged for name in names):
            answer.absent(TOGETHER, str(sentence), names[0])
    return None
