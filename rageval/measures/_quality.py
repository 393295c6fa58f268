"""How good nuggets and judgements are, by what people say of a sample (FreshStack, section 5.2)."""

from __future__ import annotations

import math
from typing import Literal

from rageval.measures.assessment import Assessment, grades, share
from rageval.measures.base import HIGHER, LOWER, NEITHER, measure
from rageval.measures.ranking import Share
from rageval.measures.scales import AUDIT, HALLUCINATED, LACKING, REDUNDANT

_BETTER = {"relevant": HIGHER, "partially_relevant": NEITHER, "non_relevant": LOWER}


@measure(peers={"freshstack": "precision"}, weighs=lambda *_: 1.0)
def bank_precision(answer: Assessment) -> Share:
    """Share of the nuggets that are neither minor nor redundant (FreshStack, eq. 2).

    Formula:
        bank_precision = (N − ΣB) / N      N nuggets, B = 1 for a minor or redundant one

    Range: 0 to 1. Judgements: one row a nugget (`item_id`), aspect `redundant`, grade 0 or 1.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "llm", "item_id": nugget, "aspect": "redundant", "grade": grade}
    ...           for nugget, grade in [("n1", 0), ("n2", 0), ("n3", 1), ("n4", 0)]]
    >>> rageval.evaluate_answers("bank_precision", judged)["llm"]["bank_precision"].value
    0.75
    """
    bad = grades(answer.judged(REDUNDANT))
    return share(len(bad) - sum(bad), len(bad))


@measure(peers={"freshstack": "recall"})
def bank_recall(answer: Assessment) -> float:
    """Share of the key ideas that the nuggets cover (FreshStack, eq. 3).

    Formula:
        bank_recall = (N − ΣB) / (N − ΣB + C)      C nuggets are lacking

    Range: 0 to 1; undefined where nothing is good and nothing lacking. Judgements: as for `bank_precision`,
    and one row a question, aspect `lacking`, its grade the number of nuggets one would have to add.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "llm", "item_id": nugget, "aspect": "redundant", "grade": grade}
    ...           for nugget, grade in [("n1", 0), ("n2", 0), ("n3", 1), ("n4", 0)]]
    >>> judged += [{"query_id": "q", "run_id": "llm", "aspect": "lacking", "grade": 1}]
    >>> rageval.evaluate_answers("bank_recall", judged)["llm"]["bank_recall"].value
    0.75
    """
    bad, lacking = grades(answer.judged(REDUNDANT)), grades(answer.judged(LACKING))
    good = len(bad) - sum(bad)
    wanted = good + sum(lacking)  # without end where a failed count is taken for the worst
    return good / wanted if lacking and wanted else math.nan


@measure(peers={"freshstack": "groundedness"}, weighs=lambda *_: 1.0)
def bank_groundedness(answer: Assessment) -> Share:
    """Share of the nuggets that hold nothing made up (FreshStack, eq. 4).

    Formula:
        bank_groundedness = (N − ΣA) / N      A = 1 for a nugget with hallucinated content

    Range: 0 to 1. Judgements: one row a nugget (`item_id`), aspect `hallucinated`, grade 0 or 1.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "llm", "item_id": nugget, "aspect": "hallucinated",
    ...            "grade": grade} for nugget, grade in [("n1", 0), ("n2", 1)]]
    >>> rageval.evaluate_answers("bank_groundedness", judged)["llm"]["bank_groundedness"].value
    0.5
    """
    made_up = grades(answer.judged(HALLUCINATED))
    return share(len(made_up) - sum(made_up), len(made_up))


@measure(better=lambda parameters: _BETTER[parameters["label"]], weighs=lambda *_: 1.0)
def audit_share(
    answer: Assessment, *, label: Literal["relevant", "partially_relevant", "non_relevant"] = "relevant"
) -> Share:
    """Share of judged pairs that an auditor gave this label (FreshStack, Table 5).

    Formula:
        audit_share = |pairs with the label| / |pairs audited|, a question

    Range: 0 to 1. The mean is over questions; over pairs it would weigh questions by their pairs.
    Low is good of `non_relevant`; of `partially_relevant` neither is.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "llm", "item_id": doc, "aspect": "n1", "label": label}
    ...           for doc, label in [("d1", "relevant"), ("d2", "partially relevant"), ("d3", "relevant")]]
    >>> round(rageval.evaluate_answers("audit_share", judged)["llm"]["audit_share"].value, 4)
    0.6667
    """
    audited = answer.judged(AUDIT)
    return share(sum(pair.label == label for pair in audited), len(audited))
