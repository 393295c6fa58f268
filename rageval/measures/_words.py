"""Measures of words: how many, and how many are the nuggets' or the gold answer's. They replace no judge."""

from __future__ import annotations

import math
from typing import Literal

from rageval.measures._nuggets import by_importance, weighted
from rageval.measures.assessment import Assessment, grades, mean, share
from rageval.measures.base import NEITHER, measure
from rageval.measures.ranking import Share
from rageval.measures.scales import LEXICAL, TOKEN_F1


@measure(better=NEITHER, limits=(0.0, math.inf))
def length(answer: Assessment, *, rule: Literal["nfkc", "split", "nonspace", "characters"] = "nfkc") -> float:
    """Length of the answer, in words or characters, by one of the field's counting rules.

    Formula:
        length = |words or characters of the answer|

        nfkc: words after NFKC normalization, as TREC RAG 2024 and 2025 count them
        split: words between white space, as TREC RAG 2026 counts them
        nonspace: characters that are no white space, as TREC QA 2003 counts them
        characters: all characters

    Range: 0 upwards; undefined for an answer whose text is not known. Long is neither good nor bad.

    >>> import rageval
    >>> answers = [{"query_id": "q", "run_id": "r", "answer": "Yes: it is safe."}]
    >>> scores = rageval.evaluate_answers("length, length(rule=nonspace)", answers=answers)["r"]
    >>> [score.value for score in scores.values()]
    [4.0, 13.0]
    """
    answer.require_answers()
    return answer.length(rule)


@measure(weighs=by_importance)
def lexical_recall(
    answer: Assessment, *, importance: Literal["all", "vital", "okay", "weighted"] = "all"
) -> Share:
    """How much of the wording of the nuggets stands in the answer, by the judge `lexical`.

    Formula:
        lexical_recall = Σ w·g ÷ Σ w, over the nuggets of the query

        g: share of the nugget's words, by weight, in the best two neighboring sentences of the answer
        w: as in `nugget_recall`

    Range: 0 to 1; undefined for a query without such nuggets. On TREC RAG, 71 % of the nuggets that an answer
    on their topic does not hold still reach 0.5: this is no share of supported nuggets.

    Parameters:
        importance: which nuggets count, see `nugget_recall`

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "aspect": nugget, "grade": grade, "rubric": "lexical"}
    ...           for nugget, grade in [("n1", 1.0), ("n2", 0.5)]]
    >>> rageval.evaluate_answers("lexical_recall", judged)["r"]["lexical_recall"].value
    0.75
    """
    nuggets = weighted(answer, LEXICAL, importance)
    won = math.fsum([w * nugget.grade for w, nugget in nuggets])
    return share(won, sum([w for w, _ in nuggets]))


@measure(typeset="Token $F_1$", papers=("rajpurkar2016squad",))
def token_f1(answer: Assessment) -> float:
    """F1 of the answer's words and those of the nearest gold answer (SQuAD), by the judge `token_f1`.

    Formula:
        token_f1 = 2·s / (a + g)

        a, g: words in the answer, and in the gold answer
        s: words that they share

    Range: 0 to 1. For short gold answers only: a right answer in a long sentence scores low.

    >>> import rageval
    >>> judged = [{"query_id": str(at), "run_id": "r", "grade": grade, "rubric": "token-f1"}
    ...           for at, grade in enumerate((1.0, 0.0))]
    >>> rageval.evaluate_answers("token_f1", judged)["r"]["token_f1"].value
    0.5
    """
    return mean(grades(answer.judged(TOKEN_F1)))
