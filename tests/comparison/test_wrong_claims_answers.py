"""Attempts to make rageval say something wrong about judged answers; each ends in a right claim or a refusal.

A row is an attempt: the files, the command, its exit code, what must be said and what must not.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import rageval
from commands import run_command
from reasons import why
from test_wrong_claims import in_format

Line = dict[str, Any]
Lines = list[Line]
LABELS = ("perfect", "incorrect", "missing", "acceptable")
QUERIES = [f"q{number}" for number in range(12)]
MANY = [f"q{number}" for number in range(25)]


def line(query: str, run: str, label: str | None = None, **keys: Any) -> Line:
    whole = {"query_id": query, "run_id": run, "status": "ok", "judge": "A", "rubric": "crag", **keys}
    return {key: value for key, value in (whole | {"label": label}).items() if value is not None}


def labels_of(run: str, label: str | None, queries: Iterable[str] = QUERIES, **keys: Any) -> Lines:
    return [line(query, run, label, **keys) for query in queries]


def mixed(run: str, turn: int = 0, queries: Sequence[str] = QUERIES, **keys: Any) -> Lines:
    """One label after the other."""
    return [line(query, run, LABELS[(index + turn) % 4], **keys) for index, query in enumerate(queries)]


def failed(run: str, queries: Iterable[str] = QUERIES, **keys: Any) -> Lines:
    return labels_of(run, None, queries, status="refused", **keys)


def nugget(
    run: str, names: Sequence[str], label: str | None, queries: Iterable[str] = QUERIES, **keys: Any
) -> Lines:
    keys = {"importance": "vital", "rubric": "nugget-assignment", **keys}
    return [line(query, run, label, aspect=name, **keys) for query in queries for name in names]


def battle(one: str, other: str, won: Sequence[str], queries: Sequence[str] = MANY, **keys: Any) -> Lines:
    """Comparisons; `won` says in turn what the first got."""
    opposite = {"win": "loss", "loss": "win", "tie": "tie"}
    rows = []
    for index, query in enumerate(queries):
        got = won[index % len(won)]
        for run, label in ((one, got), (other, opposite[got])):
            rows.append(line(query, run, label, aspect=f"{one}-{other}", rubric="pairwise", **keys))
    return rows


def place(run: str, places: Sequence[float], queries: Sequence[str] = MANY) -> Lines:
    pairs = zip(queries, list(places) * len(queries), strict=False)
    return [line(query, run, grade=grade, aspect="p", rubric="listwise") for query, grade in pairs]


def people(lines: Lines) -> Lines:
    return [row | {"judge": "person:a"} for row in lines]


def answer(run: str, texts: Sequence[tuple[str, list[int]]], queries: Iterable[str] = QUERIES) -> Lines:
    sentences = [{"text": text, "citations": cited} for text, cited in texts]
    return [
        {
            "metadata": {
                **{"team_id": "t", "run_id": run, "narrative_id": query, "narrative": "x"},
                "type": "automatic",
            },
            "references": ["d1"],
            "answer": sentences,
        }
        for query in queries
    ]


class Attempt(NamedTuple):
    """`files` by name, of lines or of text; in `words` a name of a file stands for it."""

    name: str
    files: dict[str, Lines | str]
    words: str
    code: int
    printed: Sequence[str] = ()
    not_printed: Sequence[str] = ()


HALF = [*failed("ours", QUERIES[:6]), *labels_of("ours", "perfect", QUERIES[6:])]
ONE_JUDGE_EACH = [*labels_of("ours", "perfect"), *labels_of("theirs", "incorrect", judge="B")]
SAME_BY_FILLING = [*failed("ours"), *labels_of("theirs", "perfect")]
OTHER_NUGGETS = [*nugget("ours", ["a", "b"], "support"), *nugget("theirs", ["c", "d"], "not_support")]
SAYS_NOTHING = [
    *labels_of("ours", "perfect", MANY[:12]),
    *labels_of("ours", "missing", MANY[12:]),
    *labels_of("theirs", "missing", MANY),
]
GROUPS = "".join(f"{query} {'a' if index < 6 else 'b'}\n" for index, query in enumerate(QUERIES))
UNEVEN = [
    line(query, "ours", "perfect", domain="one" if index < 1 else "rest")
    for index, query in enumerate(QUERIES)
]
ISLANDS = [*battle("a", "b", ("win", "win", "loss")), *battle("c", "d", ("loss", "loss", "win"))]
GOLD = people(mixed("ours", queries=MANY))
SCORED = "j -m crag_score"
COMPARED = "compare j -m crag_score"

JUDGES = [
    Attempt(
        "two judges who disagree are told apart",
        {"j": [*labels_of("ours", "perfect"), *labels_of("ours", "incorrect", judge="B")]},
        SCORED,
        0,
        ["all\t0.0000", "by judge: A 1.0000, B -1.0000"],
    ),
    Attempt(
        "no common judge", {"j": ONE_JUDGE_EACH}, COMPARED, 3, ["12 absent", "--on-missing"], ["verdict"]
    ),
    *(
        Attempt(
            f"no common judge, {way}",
            {"j": ONE_JUDGE_EACH},
            f"{COMPARED} --on-missing {way}",
            0,
            ["refused", "24 judgements are missing, which could reverse it"],
            [",lower", ",higher", "produced nothing"],
        )
        for way in ("skip", "worst", "best")
    ),
    Attempt(
        "one judge more for one system",
        {"j": [*mixed("ours"), *labels_of("ours", "perfect", judge="B"), *mixed("theirs")]},
        COMPARED,
        3,
        ["theirs: 12 judgements", "12 absent"],
    ),
    Attempt(
        "a judge without a name is another judge",
        {"j": [*labels_of("ours", "perfect"), *labels_of("theirs", "incorrect", judge=None)]},
        COMPARED,
        3,
        ["12 absent"],
    ),
    Attempt(
        "the same judgement twice", {"j": labels_of("ours", "perfect") * 2}, SCORED, 2, ["was judged before"]
    ),
    Attempt(
        "contradicting judgements of one judge",
        {"j": [line("q", "ours", "perfect"), line("q", "ours", "incorrect")]},
        SCORED,
        2,
        ["j:2: query q", "expected one judgement by each judge"],
    ),
    Attempt(
        "votes of one judge",
        {"j": [line("q", "ours", "perfect", vote=vote) for vote in range(3)]},
        SCORED,
        2,
        ["expected one judgement by each judge"],
    ),
    *(
        Attempt(
            f"half the lines {what}",
            {
                "j": [
                    *labels_of("ours", "perfect", QUERIES[:6]),
                    *labels_of("ours", "incorrect", QUERIES[6:], rubric=rubric),
                ]
            },
            f"{SCORED} --on-missing skip",
            0,
            [f"6 judgements have {message}", "expected one of crag, crag-auto", "rests on 6 of 12 queries"],
        )
        for what, rubric, message in (
            ("have no rubric", None, "no rubric and are left out"),
            (
                "have a rubric of another name",
                "cragg",
                "the rubric 'cragg', which is unknown, and are left out",
            ),
        )
    ),
    Attempt(
        "another rubric for one system",
        {"j": [*labels_of("ours", "perfect"), *labels_of("theirs", "incorrect", rubric="cragg")]},
        COMPARED,
        3,
        ["theirs: 12 judgements"],
        ["lower"],
    ),
]

MISSING = [
    Attempt("half failed", {"j": HALF}, SCORED, 3, ["6 refused", "between 0.0000 and 1.0000"], ["all\t"]),
    Attempt(
        "half failed, left out",
        {"j": HALF},
        f"{SCORED} --on-missing skip",
        0,
        ["rests on 6 of 12 queries", "6 refused", "from 0.0000 to 1.0000"],
    ),
    Attempt(
        "shares do not add up where some are missing",
        {"j": HALF},
        "j -m accuracy,hallucination,missing --on-missing worst",
        0,
        ["crag_share: 6 judgements are missing (6 refused); from 0.5000 to 1.0000"],
    ),
    Attempt(
        "all failed",
        {"j": failed("ours")},
        SCORED,
        3,
        ["12 refused", "between -1.0000 and 1.0000"],
        ["all\t"],
    ),
    Attempt(
        "all failed, left out",
        {"j": failed("ours")},
        f"{SCORED} --on-missing skip",
        0,
        ["   nan", "undefined on each of 12 queries"],
    ),
    Attempt(
        "a gate on nothing",
        {"j": failed("ours")},
        "j --on-missing skip --require hallucination<=0.1",
        1,
        ["no defined value"],
    ),
    Attempt(
        "identical only by what stands for the missing",
        {"j": SAME_BY_FILLING},
        f"{COMPARED} --on-missing best",
        0,
        ["refused", "12 judgements are missing, which could make a difference"],
        ["identical"],
    ),
    Attempt(
        "worse only by what stands for the missing",
        {"j": SAME_BY_FILLING},
        f"{COMPARED} --on-missing worst",
        0,
        ["refused", "which could reverse it"],
        [",lower"],
    ),
    Attempt(
        "all failed of one of two",
        {"j": SAME_BY_FILLING},
        f"{COMPARED} --on-missing skip",
        0,
        ["ours has no value for any query: it failed", "refused"],
    ),
    Attempt(
        "a query judged for one system only",
        {"j": [*labels_of("ours", "perfect"), *labels_of("theirs", "perfect", QUERIES[:11])]},
        COMPARED,
        3,
        ["theirs: 1 judgement ", "1 absent"],
    ),
    Attempt(
        "the same on those queries that both have",
        {"j": [*labels_of("ours", "perfect"), *labels_of("theirs", "perfect", QUERIES[:11])]},
        f"{COMPARED} --on-missing skip",
        0,
        ["1 judgement is missing, which could make a difference"],
        ["identical", "on every query"],
    ),
    Attempt(
        "groups that have no value",
        {"j": HALF, "g": GROUPS},
        f"{SCORED} --group-by g --on-missing skip",
        0,
        ["1 of 2 groups have no value (a), so the mean is over the others"],
    ),
    Attempt(
        "a weighted mean with a group that has none",
        {"j": HALF, "g": GROUPS, "w": "a 0.5\nb 0.5\n"},
        f"{SCORED} --group-by g --weights w --on-missing skip",
        0,
        ["   nan", "1 of 2 groups have no value (a), so there is no weighted mean"],
    ),
]

ZEROS = [
    Attempt(
        "who says 'I don't know' did not produce nothing",
        {"j": SAYS_NOTHING},
        COMPARED,
        0,
        [",lower by A,,,ours"],
        ["produced nothing", "refused"],
    ),
    Attempt(
        "no answer is better than a wrong one",
        {"j": [*labels_of("ours", "incorrect"), *labels_of("theirs", "missing")]},
        f"{COMPARED},hallucination",
        0,
        [
            "ours,theirs,crag_score",
            ",lower by A,,,theirs",
            ",worse by A,,,theirs",
        ],
        ["produced nothing", "refused"],
    ),
    Attempt(
        "abstaining is grade 0, not the least",
        {
            "j": [
                *labels_of("ours", None, grade=-1, aspect="correctness"),
                *labels_of("theirs", None, grade=0, aspect="correctness"),
            ]
        },
        "compare j -m correctness",
        0,
        [",higher by A,,,theirs"],
        ["produced nothing"],
    ),
    Attempt(
        "no hallucination in 25 is no certainty",
        {"j": [*labels_of("ours", "perfect", MANY), *labels_of("theirs", "missing", MANY)]},
        "compare j -m hallucination --format table",
        0,
        ["0.0000 [0.0000, 0.1332]", "low is good"],
        ["[0.0000, 0.0000]"],
    ),
]

NUGGETS = [
    Attempt(
        "other nuggets for each system",
        {"j": OTHER_NUGGETS},
        "compare j -m a_strict --on-missing skip",
        0,
        ["refused", "judged by different nuggets in 12 queries, and on the others", "not comparable there"],
        [",lower", ",higher"],
    ),
    Attempt(
        "other nuggets in one query only",
        {
            "j": [
                *nugget("ours", ["a"], "support"),
                *nugget("ours", ["x"], "support", ["q0"]),
                *nugget("theirs", ["a"], "not_support"),
                *nugget("theirs", ["y"], "not_support", ["q0"]),
            ]
        },
        "compare j -m a_strict --on-missing skip",
        0,
        [",lower by A,,,ours", "different nuggets in 1 query"],
    ),
    Attempt(
        "equal by other nuggets is not identical",
        {"j": [*nugget("ours", ["a"], "support"), *nugget("theirs", ["b"], "support")]},
        "compare j -m a_strict --on-missing skip",
        0,
        ["refused", "judged by different nuggets in 12 queries"],
        ["identical"],
    ),
    Attempt(
        "a third system's nuggets are of the query, so that two lack them",
        {
            "j": [
                *nugget("ours", ["a"], "support"),
                *nugget("theirs", ["a"], "not_support"),
                *nugget("third", ["b"], "support"),
            ]
        },
        "compare j -m a_strict --baseline ours --on-missing skip",
        0,
        ["theirs,ours,nugget_recall", "refused"],
        [",lower", ",higher"],
    ),
    Attempt(
        "vital for one, okay for the other",
        {
            "j": [
                *nugget("ours", ["a", "b"], "support"),
                *nugget("theirs", ["a"], "support"),
                *nugget("theirs", ["b"], "support", importance="okay"),
            ]
        },
        "compare j -m v_strict",
        0,
        ["12 nuggets are vital for some systems", "refused"],
        ["identical"],
    ),
    Attempt(
        "another weight for one system",
        {
            "j": [
                *nugget("ours", ["a", "b"], "support", weight=5),
                *nugget("theirs", ["a", "b"], "support", weight=2),
            ]
        },
        "compare j -m rubric_score",
        0,
        ["24 criteria have different weights, or none", "refused"],
        ["identical"],
    ),
    Attempt(
        "importance 'failed'",
        {"j": nugget("ours", ["a"], "support", importance="failed")},
        "j -m v_strict",
        2,
        ["'failed'"],
    ),
    Attempt(
        "importance nowhere",
        {"j": nugget("ours", ["a"], "support", importance=None)},
        "j -m v_strict",
        2,
        ["--nuggets"],
    ),
    Attempt(
        "nuggets of other queries",
        {
            "j": nugget("ours", ["a"], "support"),
            "n": [{"qid": "z", "query": "x", "nuggets": [{"text": "t", "importance": "vital"}]}],
        },
        "j -m v_strict --nuggets n",
        2,
        ["none of its nuggets was judged"],
    ),
    Attempt(
        "a criterion without a weight",
        {"j": nugget("ours", ["a"], "support")},
        "j -m rubric_score",
        2,
        ["--nuggets"],
    ),
    Attempt(
        "faults only",
        {"j": nugget("ours", ["a"], "support", weight=-3)},
        "j -m rubric_score",
        0,
        ["   nan", "undefined on each of 12 queries"],
    ),
    Attempt(
        "a fault that could not be judged, at its worst",
        {
            "j": [
                *nugget("ours", ["a"], "support", weight=5),
                *nugget("ours", ["b"], None, weight=-3, status="refused"),
            ]
        },
        "j -m rubric_score --on-missing worst",
        0,
        ["all\t0.4000", "12 judgements are missing", "from 0.4000 to 1.0000"],
    ),
]

GRADES = [
    *(
        Attempt(
            f"{measure} of {grade!r}",
            {"j": labels_of("ours", None, grade=grade, aspect=aspect)},
            f"j -m {measure}",
            2,
            ["expected"],
        )
        for measure, aspect, grade in (
            ("crag_score", "0", 2),
            ("crag_score", "0", 0.25),
            ("correctness", "correctness", 3),
            ("correctness", "correctness", -2),
            ("faithfulness", "faithfulness", 2),
            ("correctness", "correctness", "2"),
            ("correctness", "correctness", True),
        )
    ),
    Attempt("a label nobody knows", {"j": labels_of("ours", "good")}, SCORED, 2, ["found label 'good'"]),
    Attempt(
        "a label against its grade",
        {"j": labels_of("ours", "perfect", grade=-1)},
        SCORED,
        2,
        ["grade -1, which is worth 1"],
    ),
    Attempt(
        "a label where grades are",
        {"j": labels_of("ours", "2", aspect="correctness")},
        "j -m correctness",
        2,
        ["found label"],
    ),
    Attempt(
        "a grade between levels counts for neither",
        {
            "j": [
                *labels_of("ours", None, QUERIES[:6], grade=1.999, aspect="correctness"),
                *labels_of("ours", None, QUERIES[6:], grade=2, aspect="correctness"),
            ]
        },
        "j -m correctness_share",
        0,
        ["all\t0.5000"],
    ),
]

ARENA = [
    Attempt(
        "one system", {"j": labels_of("a", "win", rubric="pairwise")}, "arena j", 2, ["expected two systems"]
    ),
    Attempt(
        "one battle",
        {"j": battle("a", "b", ["win"], ["q"])},
        "arena j",
        0,
        ["a never lost: no strength", "-3.66"],
    ),
    Attempt("nothing but ties", {"j": battle("a", "b", ["tie"], ["q"])}, "arena j", 0, ["no intervals:"]),
    Attempt("islands", {"j": ISLANDS}, "arena j", 2, ["no comparison joins", "a, b | c, d"]),
    Attempt(
        "who always wins has a bound",
        {"j": [*battle("a", "b", ["win"]), *battle("b", "c", ("win", "loss")), *battle("a", "c", ["win"])]},
        "arena j --format json",
        0,
        ["a never lost: no strength", '"strength": null'],
        ["Infinity", "NaN"],
    ),
    Attempt(
        "two winners",
        {"j": [line("q", run, "win", aspect="x", rubric="pairwise") for run in "ab"]},
        "arena j",
        2,
        ["sides of a comparison disagree"],
    ),
    Attempt("against itself", {"j": battle("a", "a", ["tie"], ["q"])}, "arena j", 2, ["was judged before"]),
    Attempt(
        "all comparisons failed",
        {"j": [*failed("a", rubric="pairwise"), *failed("b", rubric="pairwise")]},
        "arena j",
        2,
        ["all 24 judgements failed"],
        ["finite"],
    ),
    Attempt(
        "half the comparisons failed",
        {
            "j": [
                *battle("a", "b", ("win", "win", "loss"), MANY[:12]),
                *failed("a", MANY[12:], rubric="pairwise"),
                *failed("b", MANY[12:], rubric="pairwise"),
            ]
        },
        "arena j",
        0,
        ["26 judgements failed; their comparisons are left out"],
    ),
    Attempt(
        "judges who contradict each other",
        {"j": [*battle("a", "b", ["win"]), *battle("a", "b", ["loss"], judge="B")]},
        "arena j",
        0,
        ["a,0.0000,nan,nan,0.5000", "no interval"],
    ),
    Attempt(
        "names that differ by a blank",
        {"j": battle("a", "a ", ["win"])},
        "arena j",
        2,
        ["an id without blanks around it, found 'a '"],
    ),
    Attempt(
        "shares of wins against others",
        {"j": ISLANDS},
        "compare j -m win_rate --baseline a",
        0,
        ["d,a,win_rate", "judged against different systems in 25 queries"],
        ["identical"],
    ),
    Attempt(
        "shares of wins where all met all",
        {"j": [*battle("a", "b", ["win"]), *battle("b", "c", ["win"]), *battle("a", "c", ["win"])]},
        "compare j -m win_rate",
        0,
        ["c,a,win_rate", ",lower by A,,,a"],
        ["refused"],
    ),
    Attempt(
        "two in the first place",
        {"j": [*place("a", [1]), *place("b", [1])]},
        "j -m rank_score",
        3,
        ["25 invalid"],
    ),
    Attempt(
        "a place left empty",
        {"j": [*place("a", [1]), *place("b", [3])]},
        "j -m rank_score",
        3,
        ["25 invalid"],
    ),
    Attempt(
        "half a place",
        {"j": [*place("a", [1]), *place("b", [2.5])]},
        "j -m rank_score",
        2,
        ["a whole number"],
    ),
]

CITATIONS = [
    Attempt(
        "nothing is cited",
        {
            "j": labels_of("long", "full_support", item_id="d1", rubric="citation-support"),
            "a": [*answer("long", [("Word.", [0])]), *answer("short", [("Word.", [])])],
        },
        "j -m official:support --answers a",
        0,
        [
            "short\tcitation_precision    \tall\t   nan",
            "short\tcitation_recall       \tall\t0.0000",
            "undefined on each of 12",
        ],
    ),
    Attempt(
        "no precision to compare",
        {
            "j": labels_of("long", "full_support", item_id="d1", rubric="citation-support"),
            "a": [*answer("long", [("Word.", [0])]), *answer("short", [("Word.", [])])],
        },
        "compare j -m official:support --answers a",
        0,
        ["citation_precision", "there is no query on which both are defined"],
        ["produced nothing"],
    ),
    Attempt(
        "nobody knows how many sentences",
        {"j": labels_of("ours", "full_support", item_id="d1", rubric="citation-support")},
        "j -m citation_recall",
        2,
        ["--answers"],
    ),
    Attempt(
        "the longer is not the better",
        {"a": [*answer("long", [("Word " * 40, [])]), *answer("short", [("Word " * 5, [])])]},
        "compare a -m length --format table",
        0,
        ["neither high nor low is good", "no run is the best"],
        ["] >"],
    ),
    Attempt(
        "one system without answers",
        {"j": [*mixed("ours"), *mixed("theirs", 1)], "a": answer("ours", [("Word.", [])])},
        "compare j -m crag_score,length --answers a",
        0,
        ["theirs: length: undefined on each of 12", "no query on which both are defined"],
    ),
    Attempt(
        "wording is no support",
        {"j": labels_of("ours", None, grade=0.5, rubric="lexical")},
        "j -m a_strict",
        2,
        ["no judgements of nugget"],
    ),
]

SLICES = [
    Attempt(
        "a slice of one has no interval",
        {"j": UNEVEN},
        f"{SCORED} --by domain",
        0,
        ["domain=one\t1.0000\t[nan, nan]\tn=1*"],
    ),
    Attempt(
        "a field some lack",
        {"j": [*UNEVEN[:10], *labels_of("ours", "perfect", QUERIES[10:])]},
        f"{SCORED} --by domain",
        2,
        ["for 2 of 12 queries"],
    ),
    Attempt("a field nobody has", {"j": UNEVEN}, f"{SCORED} --by colour", 2, ["there is no field 'colour'"]),
    Attempt(
        "a slice where all failed",
        {
            "j": [
                line | ({"label": None, "status": "refused"} if line["domain"] == "one" else {})
                for line in UNEVEN
            ]
        },
        f"{SCORED} --by domain --on-missing skip",
        0,
        ["domain=one\tnan", "n=0*, undefined=1"],
    ),
    *(
        Attempt(
            f"weights {weights!r}",
            {"j": mixed("ours"), "g": GROUPS, "w": weights},
            f"{SCORED} --group-by g --weights w",
            2,
            [message],
        )
        for weights, message in (
            ("a 0.5\nb 0.4\n", "found a sum of 0.9"),
            ("a 5\nb 5\n", "expected a weight from 0 to 1"),
            ("a 0.5\nb -0.5\n", "expected a weight from 0 to 1"),
            ("a nan\nb 1\n", "expected a weight from 0 to 1"),
            ("a 1\n", "'b' has no weight"),
            ("a 0.5\nb 0.4\nc 0.1\n", "'c' has a weight but no query"),
        )
    ),
]

NAMES = [
    Attempt(
        "no run_id", {"j": labels_of("", "perfect")}, SCORED, 2, ["expected as run_id an id, found nothing"]
    ),
    Attempt(
        "a run_id with a line break",
        {"j": [*labels_of("a\nb", "perfect"), *labels_of("a\tb\x1b[31m", "incorrect")]},
        SCORED,
        0,
        ["a\\x0ab\t", "a\\x09b\\x1b[31m\t"],
        ["\x1b"],
    ),
    Attempt(
        "one run_id in two files of the same queries",
        {"j": labels_of("ours", "perfect"), "k": labels_of("ours", "incorrect")},
        "j k -m crag_score",
        2,
        ["was judged before"],
    ),
    Attempt("one system to compare", {"j": mixed("ours")}, COMPARED, 2, ["expected two or more runs"]),
]

AGREE = [
    Attempt(
        "judges who know one label have no kappa",
        {"j": labels_of("ours", "perfect"), "g": people(labels_of("ours", "perfect"))},
        "label agree j g",
        0,
        ["| agreement | 1.000 | 0.720 | 1.000 |", "| kappa | nan | nan | nan |"],
    ),
    Attempt(
        "nothing in common",
        {"j": mixed("ours"), "g": people(mixed("theirs"))},
        "label agree j g",
        2,
        ["no judgement is in both"],
    ),
    Attempt(
        "nothing in common since all failed",
        {"j": failed("ours"), "g": people(mixed("ours"))},
        "label agree j g",
        2,
        ["of which 12 and 0 failed"],
    ),
    Attempt(
        "one thing",
        {"j": mixed("ours"), "g": people(mixed("ours")[:1])},
        "label agree j g",
        0,
        ["agreement | 1.000 | nan | nan"],
    ),
    *(
        Attempt(
            f"{number} things are no certainty",
            {"j": labels_of("ours", "perfect"), "g": people(mixed("ours")[:number])},
            "label agree j g",
            0,
            [f"{number} judgements compared"],
            ["kappa | 0.000 | 0.000 | 0.000"],
        )
        for number in (2, 3, 4, 5)
    ),
    Attempt(
        "half failed of what both have",
        {"j": HALF, "g": people(mixed("ours"))},
        "label agree j g",
        0,
        ["6 judgements compared", "6 of the judge's judgements failed (50.0%)"],
    ),
    Attempt(
        "two judges in a file",
        {"j": [*mixed("ours"), *mixed("ours", judge="B")], "g": people(mixed("ours"))},
        "label agree j g",
        2,
        ["expected one judge a file"],
    ),
]

CORRECT = [
    Attempt(
        "one label of people's",
        {"j": mixed("ours", queries=MANY), "g": GOLD[:1]},
        "label correct j --gold g -m crag_score",
        0,
        ["crag_score,kind,0.1600,1.0000,,,,,,25,1,1,25,,", "labels for 1 of 25 (20 are needed)"],
    ),
    Attempt(
        "gold of other systems",
        {"j": mixed("ours"), "g": people(mixed("theirs"))},
        "label correct j --gold g -m crag_score",
        2,
        ["has no labels for"],
    ),
    Attempt(
        "a judge who failed, taken for the worst",
        {"j": failed("ours", MANY), "g": GOLD},
        "label correct j --gold g -m crag_score --on-missing worst",
        0,
        ["25 of the judge's judgements are missing"],
    ),
    Attempt(
        "a judge who failed where people looked",
        {"j": [*failed("ours", MANY[:12]), *labels_of("ours", "perfect", MANY[12:])], "g": GOLD[:12]},
        "label correct j --gold g -m crag_score --on-missing skip",
        2,
        ["12 judgements of j failed"],
    ),
    Attempt(
        "a judge who failed",
        {"j": failed("ours", MANY), "g": GOLD},
        "label correct j --gold g -m crag_score",
        3,
        ["25 refused"],
    ),
    Attempt(
        "a measure that falls",
        {"j": labels_of("ours", "perfect", MANY), "g": people(labels_of("ours", "incorrect", MANY[:12]))},
        "label correct j --gold g -m hallucination",
        0,
        [",kind,0.0000,1.0000,0.7575,1.0000,,,,25,12,", "labels for 12 of 25 (20 are needed)"],
    ),
    Attempt(
        "a length",
        {"j": mixed("ours"), "g": people(mixed("ours"))},
        "label correct j --gold g -m length",
        2,
        ["--answers FILE"],
    ),
]

ATTEMPTS = [
    *(JUDGES + MISSING + ZEROS + NUGGETS + GRADES + ARENA),
    *(CITATIONS + SLICES + NAMES + AGREE + CORRECT),
]


@pytest.mark.slow
@pytest.mark.parametrize("attempt", ATTEMPTS, ids=[attempt.name for attempt in ATTEMPTS])
def test_no_attempt_prints_a_wrong_claim(
    attempt: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in attempt.files.items():
        text = (
            content
            if isinstance(content, str)
            else "".join(json.dumps(element) + "\n" for element in content)
        )
        Path(name).write_text(text, encoding="utf-8")
    result = run_command(*in_format(attempt.words))
    assert result.exit_code == attempt.code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    for text in attempt.printed:
        assert text in result.output
    for text in attempt.not_printed:
        assert text not in result.output


def test_names_of_attempts_differ() -> None:
    assert len({attempt.name for attempt in ATTEMPTS}) == len(ATTEMPTS) >= 100


def test_python_leaves_a_failed_judgement_undefined() -> None:
    scores = rageval.evaluate_answers("crag_score", failed("ours"), on_missing="skip")["ours"]["crag_score"]
    assert math.isnan(scores.value)
    assert (scores.queries, scores.missing, scores.bounds) == (0, 12, (-1.0, 1.0))
    with pytest.raises(rageval.RagevalError, match="12 refused"):
        rageval.evaluate_answers("crag_score", failed("ours"))


def test_python_compares_no_answers_that_were_judged_by_other_nuggets() -> None:
    from rageval.comparison import compare

    comparison = compare(
        list(rageval.evaluate_answers("a_strict", OTHER_NUGGETS, on_missing="skip").values())
    )
    assert [(pair.verdict, pair.better_run) for pair in comparison.pairs] == [("refused", None)]
    assert re.search("different nuggets in 12 queries", why(comparison.pairs[0]))


@pytest.mark.slow
@pytest.mark.some(3)
@pytest.mark.parametrize("label", ["incorrect", "perfect"])
@pytest.mark.parametrize("measure", ["accuracy", "hallucination", "crag_score"])
def test_a_judge_who_always_says_the_same_changes_nothing(label: str, measure: str, tmp_path: Path) -> None:
    """What people said is all there is, and their own interval is the narrowest that may be claimed."""
    queries = [f"q{number}" for number in range(400)]
    for number in (20, 40):
        for name, lines in (
            ("j", labels_of("ours", "perfect", queries)),
            ("g", people(labels_of("ours", label, queries[:number]))),
        ):
            (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        words = [
            "label",
            "correct",
            str(tmp_path / "j"),
            "--gold",
            str(tmp_path / "g"),
            "-m",
            measure,
            "--format",
            "json",
        ]
        (estimate,) = json.loads(run_command(*words).stdout)["results"]
        assert (estimate["value"], estimate["slope"]) == (estimate["people"], 0)
        assert estimate["low"] <= estimate["people_low"] + 0.03
        assert estimate["high"] >= estimate["people_high"] - 0.03
        assert estimate["gain"] == number
