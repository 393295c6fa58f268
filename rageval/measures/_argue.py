"""ARGUE's measures of reports, as RAGTIME has them: are citations relevant and right, what is answered."""

from __future__ import annotations

import math
from typing import Literal

from rageval.measures._citations import _citations, _value, of_citations, sentences_of
from rageval.measures.assessment import Assessment, Judgement, share
from rageval.measures.base import NEITHER, measure
from rageval.measures.ranking import Blend, Share
from rageval.measures.scales import ATTESTED, CITATION, CITED_RELEVANCE, NEED, SUPPORT

_WEIGHTS = {"vital": 2.0, "okay": 1.0}


@measure(papers=("mayfield2024evaluation",))
def citation_relevance(answer: Assessment) -> Share:
    """Share of the citations whose document states an answer to some question of the bank (ARGUE).

    Formula:
        citation_relevance = |relevant citations| / |citations|, each document once a sentence

    Range: 0 to 1; undefined for a report that cites nothing.

    Peers: Auto-ARGUE has 0 for a report that cites nothing (`--compat auto-argue`).

    >>> import rageval
    >>> labels = [("a", "relevant"), ("b", "not_relevant")]
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "citation-relevance", "aspect": "0",
    ...            "item_id": doc, "label": label} for doc, label in labels]
    >>> rageval.evaluate_answers("citation_relevance", judged)["r"]["citation_relevance"].value
    0.5
    """
    cited = [each.grade for judged in of_citations(answer, CITED_RELEVANCE).values() for each in judged]
    known = [grade for grade in cited if grade == grade]
    return share(math.fsum(known), len(known))


@measure(papers=("mayfield2024evaluation",))
def sentence_support(answer: Assessment) -> Share:
    """Share of the sentences that all of their citations attest, of those that cite or should (ARGUE).

    Formula:
        sentence_support = |sentences whose citations all attest them| / (c + n)

        c: sentences that cite
        n: sentences that cite nothing, need a citation, and are the first to say so

    Range: 0 to 1; undefined for a report without such sentences. A citation attests its sentence in full or
    not; of a sentence without citations a judgement (rubric `citation-need`) says whether one is `required`,
    and one that nobody judged is missing.

    Peers: Auto-ARGUE has 0 where there is no such sentence, and takes a judgement that failed for what its
    question defaults to (`--compat auto-argue`, which counts both as what is not there).

    >>> import rageval
    >>> place = {"query_id": "q", "run_id": "r", "sentences": 4}
    >>> judged = [place | {"rubric": "citation-support", "aspect": at, "item_id": doc, "label": label}
    ...           for at, doc, label in [("0", "a", "full_support"), ("1", "a", "full_support"),
    ...                                  ("1", "b", "no_support")]]
    >>> judged += [place | {"rubric": "citation-need", "aspect": at, "label": label}
    ...            for at, label in [("2", "required"), ("3", "repeated")]]
    >>> round(rageval.evaluate_answers("sentence_support", judged)["r"]["sentence_support"].value, 4)
    0.3333
    """
    return _support(answer)


def _support(answer: Assessment) -> Share:
    values = [_value(grades, "every") for grades in _citations(answer, CITATION, "full")]
    known = [value for value in values if value == value]
    return share(math.fsum(known), len(known) + _lacking(answer, len(values)))


def _lacking(answer: Assessment, citing: int) -> int:
    """Return how many sentences lack a citation that they need."""
    if sentences_of(answer, citing) == citing:
        return 0
    judged = {each.aspect: each for each in answer.judged(NEED, failed=True)} if answer.knows(NEED) else {}
    if answer.cited is None:
        without = list(judged)
        unjudged = (answer.sentences or citing) - citing - len(judged)
        without += [f"unjudged {at}" for at in range(unjudged)]
    else:
        without = [str(at) for at, docs in enumerate(answer.cited) if not docs]
    needs = [judged.get(at) or answer.absent(NEED, at) for at in without]
    return sum(each.label == "required" for each in needs)


@measure(papers=("mayfield2024evaluation",))
def nugget_coverage(
    answer: Assessment,
    *,
    importance: Literal["all", "weighted"] = "all",
    attested: Literal["any", "only"] = "any",
) -> Share:
    """Share of the bank's questions that a report answers (ARGUE).

    Formula:
        nugget_coverage = Σ_{answered} w ÷ Σ w, over the questions of the topic

        answered: by one of the answers that documents state (OR), or by all of them (AND)
        w: 1; weighted: the weight in the bank, else 2 for a vital question, 1 for an okay one or one
           without a label

    Range: 0 to 1; undefined for a topic without questions. It is `nugget_recall`, strict, with weights that
    need no labels.

    Parameters:
        importance: `weighted` by the bank's importance
        attested: `only` counts what is said in sentences that the cited document attests

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "aspect": aspect, "importance": importance, "label": label}
    ...           for aspect, importance, label in [("a", "vital", "support"), ("b", "okay", "not_support")]]
    >>> names = ["nugget_coverage", "nugget_coverage(importance=weighted)"]
    >>> [round(score.value, 4) for score in rageval.evaluate_answers(names, judged)["r"].values()]
    [0.5, 0.6667]
    """
    return _coverage(answer, importance, attested)


def _coverage(answer: Assessment, importance: str, attested: str) -> Share:
    judged = answer.judged(SUPPORT if attested == "any" else ATTESTED)
    weights = [_weight(each) if importance == "weighted" else 1.0 for each in judged]
    won = math.fsum([weight for weight, each in zip(weights, judged, strict=True) if each.grade == 1])
    return share(won, math.fsum(weights))


def _weight(nugget: Judgement) -> float:
    if nugget.weight == nugget.weight:
        return max(nugget.weight, 0.0)
    return _WEIGHTS.get(nugget.importance or "", 1.0)


@measure(typeset="ARGUE $F_1$", papers=("mayfield2024evaluation",))
def argue_f1(
    answer: Assessment,
    *,
    importance: Literal["all", "weighted"] = "all",
    attested: Literal["any", "only"] = "any",
) -> Blend:
    """F1 of `sentence_support` and `nugget_coverage` (ARGUE, RAGTIME).

    Formula:
        argue_f1 = 2·P·R / (P + R), and 0 if both are 0

        P: the answer's `sentence_support`
        R: its `nugget_coverage`

    Range: 0 to 1; undefined where P or R is. Pooled, it is the F1 of the pooled P and the pooled R.

    Parameters:
        importance, attested: see `nugget_coverage`

    >>> import rageval
    >>> place = {"query_id": "q", "run_id": "r"}
    >>> judged = [place | {"rubric": "citation-support", "aspect": "0", "item_id": "d", "sentences": 1,
    ...            "label": "full_support"}]
    >>> judged += [place | {"rubric": "nugget-support", "aspect": nugget, "label": label}
    ...            for nugget, label in [("a", "support"), ("b", "not_support")]]
    >>> round(rageval.evaluate_answers("argue_f1", judged)["r"]["argue_f1"].value, 4)
    0.6667
    """
    return Blend("f1", _support(answer), _coverage(answer, importance, attested))


@measure(better=NEITHER, limits=(0.0, math.inf))
def sentence_count(answer: Assessment) -> float:
    """How many sentences an answer has.

    Formula:
        sentence_count = |sentences of the answer|

    Range: 0 upwards; undefined for an answer that is not known. Many are neither good nor bad.

    >>> import rageval
    >>> said = [{"text": "Yes.", "citations": []}, {"text": "Indeed.", "citations": []}]
    >>> answers = [{"query_id": "q", "run_id": "r", "answer": said, "references": []}]
    >>> rageval.evaluate_answers("sentence_count", answers=answers)["r"]["sentence_count"].value
    2.0
    """
    answer.require_answers()
    return math.nan if answer.sentences is None else float(answer.sentences)


@measure(better=NEITHER, limits=(0.0, math.inf))
def nugget_count(answer: Assessment) -> float:
    """How many nuggets an answer is judged by.

    Formula:
        nugget_count = |nuggets that the answer was judged by|

        judged: be it that the judgement failed

    Range: 0 upwards; undefined for an answer that was judged by none. Many are neither good nor bad.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "aspect": nugget, "label": "support"} for nugget in "abc"]
    >>> rageval.evaluate_answers("nugget_count", judged)["r"]["nugget_count"].value
    3.0
    """
    return float(len(answer.judged(SUPPORT, failed=True))) or math.nan
