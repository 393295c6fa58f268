"""Measures of reports in TREC's tracks: relevance and support of citations, questions answered and asked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import chain
from typing import Any, Literal

from rageval.measures._citations import _citations, _sentence_value, judgements_by_sentence, sentences_of
from rageval.measures.assessment import Assessment, Judgement, share
from rageval.measures.base import HIGHER, LOWER, NEITHER, measure
from rageval.measures.ranking import Blend, Share
from rageval.measures.scales import (
    ACCURACY,
    ATTESTED,
    CITATION,
    CITED_RELEVANCE,
    CITED_STANCE,
    COMPOUND,
    NEED,
    SENTENCE,
    SIMILARITY,
    STANCE,
    SUPPORT,
    Scale,
)

# ARGUE's measures of reports, as RAGTIME has them: are citations relevant and right, what is answered.

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
    judgements = _citation_judgements(answer, CITED_RELEVANCE)
    defined = [judgement.grade for judgement in judgements if not judgement.is_missing]
    return share(math.fsum(defined), len(defined))


@measure(papers=("mayfield2024evaluation",))
def sentence_support(answer: Assessment) -> Share:
    """Share of the sentences that all of their citations attest, of those that cite or should (ARGUE).

    Formula:
        sentence_support = |sentences whose citations all attest them| / (c + n)

        c: sentences that cite
        n: sentences that cite nothing, need a citation, and are the first to say so

    Range: 0 to 1; undefined for a report without such sentences. A citation attests its sentence in full or
    not; of a sentence without citations a judgement (rubric `citation-need`) says whether one is `required`,
    and an unjudged one is missing.

    Peers: Auto-ARGUE has 0 where there is no such sentence, and gives a failed judgement the default of its
    question (`--compat auto-argue` does both).

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
    values = [_sentence_value(grades, "every") for grades in _citations(answer, CITATION, "full")]
    defined = [value for value in values if value == value]
    return share(math.fsum(defined), len(defined) + _lacking(answer, len(values)))


def _lacking(answer: Assessment, citing: int) -> int:
    """Return how many sentences lack a citation that they need."""
    if sentences_of(answer, citing) == citing:
        return 0
    judged = (
        {judgement.aspect: judgement for judgement in answer.judged(NEED, failed=True)}
        if answer.knows(NEED)
        else {}
    )
    if answer.cited is None:
        # Only how many sentences there are is known: those that nobody judged get names of their own.
        without = list(judged)
        unjudged = (answer.sentences or citing) - citing - len(judged)
        without += [f"unjudged {sentence}" for sentence in range(unjudged)]
    else:
        without = [str(sentence) for sentence, docs in enumerate(answer.cited) if not docs]
    needs = [judged.get(sentence) or answer.absent(NEED, sentence) for sentence in without]
    return sum(judgement.label == "required" for judgement in needs)


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
    weights = [1.0] * len(judged)
    if importance == "weighted":
        # The bank's own weight, where it has one.
        weights = [
            max(judgement.weight, 0.0)
            if judgement.weight == judgement.weight
            else _WEIGHTS.get(judgement.importance or "", 1.0)
            for judgement in judged
        ]
    won = math.fsum(
        [weight for weight, judgement in zip(weights, judged, strict=True) if judgement.grade == 1]
    )
    return share(won, math.fsum(weights))


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

    Range: 0 upwards; undefined for an unknown answer. Many are neither good nor bad.

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

        judged: also if the judgement failed

    Range: 0 upwards; undefined for an answer judged by none. Many are neither good nor bad.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "aspect": nugget, "label": "support"} for nugget in "abc"]
    >>> rageval.evaluate_answers("nugget_count", judged)["r"]["nugget_count"].value
    3.0
    """
    return float(len(answer.judged(SUPPORT, failed=True))) or math.nan


# BioGen's measures of answers to medical questions: are they right, to the point, and supported.

_DIRECTION_BY_RELEVANCE = {"required": HIGHER, "unnecessary": LOWER, "inappropriate": LOWER}
_DIRECTION_BY_STANCE = {"supports": HIGHER, "contradicts": LOWER, "none": LOWER}


def _counted_label(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    return (parameters["label"],)


@measure
def answer_accuracy(answer: Assessment) -> Share:
    """Share of the answers that are accurate (BioGen, MedAESQA).

    Formula:
        answer_accuracy = |accurate answers| / |questions|

    Range: 0 to 1; undefined for a question whose answer is unjudged.

    >>> import rageval
    >>> judged = [{"query_id": question, "run_id": "r", "rubric": "answer-accuracy", "label": label}
    ...           for question, label in [("q1", "accurate"), ("q2", "inaccurate")]]
    >>> rageval.evaluate_answers("answer_accuracy", judged)["r"]["answer_accuracy"].value
    0.5
    """
    judged = answer.judged(ACCURACY)
    return share(
        sum(judgement.label == "accurate" or judgement.grade == 1 for judgement in judged), len(judged)
    )


@measure(
    better=lambda parameters: _DIRECTION_BY_RELEVANCE.get(parameters["label"], NEITHER), labels=_counted_label
)
def sentence_share(
    answer: Assessment,
    *,
    label: Literal["required", "borderline", "unnecessary", "inappropriate", "unlabelled"] = "required",
) -> Share:
    """Share of the sentences of this relevance: BioGen's precision, redundancy, harmfulness.

    Formula:
        sentence_share = |sentences with the label| / |sentences|

    Range: 0 to 1; undefined for an answer without sentences. Sentences that assessors left unlabeled have
    their own label, and stay in the denominator.

    Parameters:
        label: required (precision), unnecessary (redundancy), inappropriate (harmfulness), …

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "sentence-relevance", "aspect": str(at),
    ...            "label": label} for at, label in enumerate(["required", "required", "unnecessary"])]
    >>> names = ["sentence_share", "sentence_share(label=unnecessary)"]
    >>> [round(score.value, 4) for score in rageval.evaluate_answers(names, judged)["r"].values()]
    [0.6667, 0.3333]
    """
    judged = {judgement.aspect: judgement for judgement in answer.judged(SENTENCE, failed=True)}
    sentences = range(answer.sentences or 0)
    absent = [answer.absent(SENTENCE, str(n)) for n in sentences if str(n) not in judged]
    labels = [judgement.label for judgement in (*judged.values(), *absent) if not judgement.is_missing]
    return share(labels.count(label), len(labels))


@measure
def citation_coverage(answer: Assessment) -> Share:
    """Share of the sentences that some document they cite supports (BioGen).

    Formula:
        citation_coverage = |sentences with at least one supporting citation| / |sentences|

    Range: 0 to 1; undefined for an answer without sentences.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "citation-stance", "aspect": "0", "item_id": doc,
    ...            "label": label, "sentences": 2} for doc, label in [("a", "supports"), ("b", "neutral")]]
    >>> rageval.evaluate_answers("citation_coverage", judged)["r"]["citation_coverage"].value
    0.5
    """
    cited = judgements_by_sentence(answer, CITED_STANCE).values()
    covered = [any(judgement.label == "supports" for judgement in judged) for judged in cited]
    # Where no citation is known to support the sentence, one that failed might: nobody knows.
    unknown = sum(
        not has and any(judgement.is_missing for judgement in judged)
        for has, judged in zip(covered, cited, strict=True)
    )
    return share(sum(covered), sentences_of(answer, len(covered)) - unknown)


@measure(
    better=lambda parameters: _DIRECTION_BY_STANCE.get(parameters["label"], NEITHER), labels=_counted_label
)
def citation_share(
    answer: Assessment,
    *,
    label: Literal["supports", "partial", "neutral", "none", "contradicts"] = "supports",
) -> Share:
    """Share of the citations with this relation to their sentence: BioGen's support and contradict rate.

    Formula:
        citation_share = |citations with the label| / |citations|, each document once a sentence

    Range: 0 to 1; undefined for an answer that cites nothing.

    Parameters:
        label: what the document does: `supports`, `contradicts`, …; `none` is BioGen's "not relevant"

    Peers: MedAESQA's script has 0 for an answer that cites nothing (`--compat medaesqa`).

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "citation-stance", "aspect": "0", "item_id": doc,
    ...            "label": label} for doc, label in [("a", "supports"), ("b", "contradicts")]]
    >>> names = ["citation_share", "citation_share(label=neutral)"]
    >>> [score.value for score in rageval.evaluate_answers(names, judged)["r"].values()]
    [0.5, 0.0]
    """
    cited = _citation_judgements(answer, CITED_STANCE)
    labels = [judgement.label or "none" for judgement in cited if not judgement.is_missing]
    return share(labels.count(label), len(labels))


@measure(ends=("none",))
def document_precision(answer: Assessment) -> Share:
    """Share of the cited documents that relate to the sentence that cites them (BioGen).

    Formula:
        document_precision = |R(answer)| / |cited documents|

        R: cited documents that support, contradict or are neutral

    Range: 0 to 1; undefined for an answer that cites nothing. A document counts once, and is relevant if
    it is to any sentence that cites it.

    Peers: MedAESQA's script has 0 for an answer that cites nothing (`--compat medaesqa`).

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "citation-stance", "aspect": "0", "item_id": doc,
    ...            "label": label} for doc, label in [("a", "neutral"), ("b", "none")]]
    >>> rageval.evaluate_answers("document_precision", judged)["r"]["document_precision"].value
    0.5
    """
    relevant, judged = _cited_documents(answer)
    return share(len(relevant), len(judged))


@measure(ends=("none",))
def document_recall(answer: Assessment) -> Share:
    """Share of the documents that any system's answer rightly cites which this answer cites (BioGen).

    Formula:
        document_recall = |R(answer)| / |∪ R(any system's answer to the question)|

        R: cited documents that support, contradict or are neutral

    Range: 0 to 1; undefined for a question without such documents. It depends on all judged
    systems: it changes when you add one to the file.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": run, "rubric": "citation-stance", "aspect": "0", "item_id": doc,
    ...            "label": label}
    ...           for run, doc, label in [("r", "a", "supports"), ("s", "b", "neutral"), ("s", "c", "none")]]
    >>> rageval.evaluate_answers("document_recall", judged)["r"]["document_recall"].value
    0.5
    """
    relevant, _ = _cited_documents(answer)
    # What all systems together cite is what is known to be there.
    others = {
        judgement.item
        for judgement in answer.of_others(CITED_STANCE)
        if judgement.label not in (None, "none")
    }
    return share(len(relevant), len(relevant | others))


def _citation_judgements(answer: Assessment, scale: Scale) -> list[Judgement]:
    return [*chain.from_iterable(judgements_by_sentence(answer, scale).values())]


def _cited_documents(answer: Assessment) -> tuple[set[str], set[str]]:
    """Return the relevant documents that are cited, and all whose relevance is known."""
    cited = _citation_judgements(answer, CITED_STANCE)
    relevant = {judgement.item for judgement in cited if judgement.label not in (None, "none")}
    # A document that several sentences cite is judged with each; once is enough for it to be relevant.
    lost = {judgement.item for judgement in cited if judgement.is_missing}
    return relevant, {judgement.item for judgement in cited} - (lost - relevant)


# DRAGUN's measures: what reports say to the answers that readers need, and what questions are asked.


@measure(typeset="DRAGUN support")
def dragun_support(answer: Assessment) -> Share:
    """Weight of the expected answers that a report supports, over their total weight (DRAGUN 2025).

    Formula:
        dragun_support = Σ_q w_q · (Σ_a s_a ÷ n_q)  ÷  Σ_q w_q, over the rubric's questions q

        s: 1 for an answer that is supported, ½ in part, 0 for one that is not there or contradicted
        n: how many short answers the question has
        w: 4, 2, 1 by its importance A, B, C

    Range: 0 to 1; undefined for a topic without a rubric. The rubric is given with `--nuggets`, or each
    judgement has the `weight` w_q / n_q of its answer.

    Peers: DRAGUN's `utils/score.py` reads an unknown label as a missing one.

    >>> import rageval
    >>> labels = [("a1", 2, "supports"), ("a2", 2, "partial"), ("b1", 1, "contradicts")]
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "stance", "aspect": answer, "weight": weight,
    ...            "label": label} for answer, weight, label in labels]
    >>> scores = rageval.evaluate_answers("dragun_support, dragun_contradiction", judged)["r"]
    >>> [score.value for score in scores.values()]
    [0.6, 0.2]
    """
    return _stance(answer, 1)


@measure(better=LOWER, typeset="DRAGUN contradiction")
def dragun_contradiction(answer: Assessment) -> Share:
    """Weight of the expected answers that a report contradicts, over their total weight (DRAGUN 2025).

    Formula:
        dragun_contradiction = Σ_q w_q · (Σ_a s_a ÷ n_q)  ÷  Σ_q w_q, over the rubric's questions q

        s: 1 for an answer that is contradicted, else 0
        n, w: as in `dragun_support`

    Range: 0 to 1; undefined for a topic without a rubric. It is never offset by support.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "stance", "aspect": answer, "weight": 1,
    ...            "label": label} for answer, label in [("a1", "none"), ("a2", "contradicts")]]
    >>> rageval.evaluate_answers("dragun_contradiction", judged)["r"]["dragun_contradiction"].value
    0.5
    """
    return _stance(answer, -1)


def _stance(answer: Assessment, sign: int) -> Share:
    judged = [
        (max(judgement.weight, 0.0), judgement.grade) for judgement in answer.judged(STANCE, needs="weight")
    ]
    won = math.fsum([weight * max(sign * grade, 0.0) for weight, grade in judged])
    return share(won, math.fsum([weight for weight, _ in judged]))


@measure(typeset="DRAGUN questions")
def dragun_questions(answer: Assessment, *, compound: Literal["zero", "counted"] = "zero") -> Share:
    """Weight of the rubric's questions that a run asks, over their total weight (DRAGUN 2025, task 1).

    Formula:
        dragun_questions = Σ_q w_q · max_r s(q, r)  ÷  Σ_q w_q, over the rubric's q and the run's questions r

        s: 1 for questions that are very similar, ½ similar, 0 different or very different
        w: 4, 2, 1 by importance

    Range: 0 to 1; undefined for a topic without a rubric, which is given with `--nuggets`.

    Parameters:
        compound: a question that asks several things at once is worth `zero`, as in the track, or is
            `counted` as if it were one

    >>> import rageval
    >>> place = {"query_id": "q", "run_id": "r"}
    >>> pairs = [("1", "1", "similar"), ("2", "1", "very-similar"), ("1", "2", "different"),
    ...          ("2", "2", "very-different")]
    >>> judged = [place | {"rubric": "question-similarity", "item_id": own, "aspect": asked, "weight": 1,
    ...                    "label": label} for own, asked, label in pairs]
    >>> judged += [place | {"rubric": "compound-question", "item_id": own, "label": label}
    ...            for own, label in [("1", "single"), ("2", "compound")]]
    >>> names = ["dragun_questions", "dragun_questions(compound=counted)"]
    >>> [score.value for score in rageval.evaluate_answers(names, judged)["r"].values()]
    [0.25, 0.5]
    """
    judged = answer.judged(SIMILARITY, needs="weight", failed=True)
    worth: dict[str, float] = {}
    if compound == "zero":
        for judgement in answer.judged(COMPOUND, failed=True):
            both = (judgement.grade, worth.get(judgement.item, 1.0))
            worth[judgement.item] = 0.0 if 0.0 in both else both[0] + both[1] - 1  # NaN where one is missing
        for item in {judgement.item for judgement in judged} - worth.keys():
            worth[item] = answer.absent(COMPOUND, "0", item).grade
    # A question of the rubric counts by the best of the run's, with which nobody has to match it one to one.
    best: dict[str, tuple[float, float]] = {}
    for judgement in judged:
        value = judgement.grade * worth.get(judgement.item, 1.0) if judgement.grade else 0.0
        if value == value:
            weight, most = best.get(judgement.aspect, (max(judgement.weight, 0.0), 0.0))
            best[judgement.aspect] = weight, max(most, value)
    asked = math.fsum([weight * most for weight, most in best.values()])
    return share(asked, math.fsum([weight for weight, _ in best.values()]))
