"""BioGen's measures of answers to medical questions: are they right, to the point, and supported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from rageval.measures._citations import of_citations, sentences_of
from rageval.measures.assessment import Assessment, share
from rageval.measures.base import HIGHER, LOWER, NEITHER, measure
from rageval.measures.ranking import Share
from rageval.measures.scales import ACCURACY, CITED_STANCE, SENTENCE

_OF_SENTENCES = {"required": HIGHER, "unnecessary": LOWER, "inappropriate": LOWER}
_OF_CITATIONS = {"supports": HIGHER, "contradicts": LOWER, "none": LOWER}


def _counted(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    return (parameters["label"],)


@measure
def answer_accuracy(answer: Assessment) -> Share:
    """Share of the answers that are accurate (BioGen, MedAESQA).

    Formula:
        answer_accuracy = |accurate answers| / |questions|

    Range: 0 to 1; undefined for a question whose answer nobody judged.

    >>> import rageval
    >>> judged = [{"query_id": question, "run_id": "r", "rubric": "answer-accuracy", "label": label}
    ...           for question, label in [("q1", "accurate"), ("q2", "inaccurate")]]
    >>> rageval.evaluate_answers("answer_accuracy", judged)["r"]["answer_accuracy"].value
    0.5
    """
    judged = answer.judged(ACCURACY)
    return share(sum(each.label == "accurate" or each.grade == 1 for each in judged), len(judged))


@measure(better=lambda parameters: _OF_SENTENCES.get(parameters["label"], NEITHER), labels=_counted)
def sentence_share(
    answer: Assessment,
    *,
    label: Literal["required", "borderline", "unnecessary", "inappropriate", "unlabelled"] = "required",
) -> Share:
    """Share of the sentences of this relevance: BioGen's precision, redundancy, harmfulness.

    Formula:
        sentence_share = |sentences with the label| / |sentences|

    Range: 0 to 1; undefined for an answer without sentences. Sentences that assessors left unlabelled have a
    label of their own, and stay in the denominator.

    Parameters:
        label: required (precision), unnecessary (redundancy), inappropriate (harmfulness), …

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "sentence-relevance", "aspect": str(at),
    ...            "label": label} for at, label in enumerate(["required", "required", "unnecessary"])]
    >>> names = ["sentence_share", "sentence_share(label=unnecessary)"]
    >>> [round(score.value, 4) for score in rageval.evaluate_answers(names, judged)["r"].values()]
    [0.6667, 0.3333]
    """
    judged = {each.aspect: each for each in answer.judged(SENTENCE, failed=True)}
    known = range(answer.sentences or 0)
    found = [*judged.values(), *(answer.absent(SENTENCE, str(n)) for n in known if str(n) not in judged)]
    labels = [each.label for each in found if each.grade == each.grade]
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
    cited = of_citations(answer, CITED_STANCE).values()
    covered = [any(each.label == "supports" for each in judged) for judged in cited]
    unknown = sum(
        not has and any(each.grade != each.grade for each in judged)
        for has, judged in zip(covered, cited, strict=True)
    )
    return share(sum(covered), sentences_of(answer, len(covered)) - unknown)


@measure(better=lambda parameters: _OF_CITATIONS.get(parameters["label"], NEITHER), labels=_counted)
def citation_share(
    answer: Assessment,
    *,
    label: Literal["supports", "partial", "neutral", "none", "contradicts"] = "supports",
) -> Share:
    """Share of the citations whose document says this to its sentence: BioGen's support and contradict rate.

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
    cited = [each for judged in of_citations(answer, CITED_STANCE).values() for each in judged]
    known = [each.label or "none" for each in cited if each.grade == each.grade]
    return share(known.count(label), len(known))


@measure(ends=("none",))
def document_precision(answer: Assessment) -> Share:
    """Share of the cited documents that have something to say to what is said (BioGen).

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
    relevant, known = _documents(answer)
    return share(len(relevant), len(known))


@measure(ends=("none",))
def document_recall(answer: Assessment) -> Share:
    """Share of the documents that any system's answer rightly cites which this answer cites (BioGen).

    Formula:
        document_recall = |R(answer)| / |∪ R(any system's answer to the question)|

        R: cited documents that support, contradict or are neutral

    Range: 0 to 1; undefined for a question to which nobody cites such a document. It rests on all systems
    that were judged: with another one in the file it changes.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": run, "rubric": "citation-stance", "aspect": "0", "item_id": doc,
    ...            "label": label}
    ...           for run, doc, label in [("r", "a", "supports"), ("s", "b", "neutral"), ("s", "c", "none")]]
    >>> rageval.evaluate_answers("document_recall", judged)["r"]["document_recall"].value
    0.5
    """
    relevant, _ = _documents(answer)
    others = {each.item for each in answer.of_others(CITED_STANCE) if _is_relevant(each.label)}
    return share(len(relevant), len(relevant | others))


def _documents(answer: Assessment) -> tuple[set[str], set[str]]:
    """Return the relevant documents that are cited, and all whose relevance is known."""
    cited = [each for judged in of_citations(answer, CITED_STANCE).values() for each in judged]
    relevant = {each.item for each in cited if _is_relevant(each.label)}
    lost = {each.item for each in cited if each.grade != each.grade}
    return relevant, {each.item for each in cited} - (lost - relevant)


def _is_relevant(label: str | None) -> bool:
    return label not in (None, "none")
