"""How to cite numbers: the sentence, the signatures, the entries of BibTeX."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import rageval
from commands import run_checked
from rageval.comparison import cite
from rageval.core.basis import Basis
from rageval.core.remark import Remark
from rageval.measures.papers import key_of
from rageval.views.citations import software
from test_paper import is_balanced

ROOT = Path(__file__).parents[2]
FILES = [str(ROOT / "examples/data" / name) for name in ("run.trec", "baseline.trec", "qrels.nugget")]
QRELS = {str(query): {"a": 1} for query in range(8)}
GOOD, BAD = ({query: {"a": 1.0, "b": score} for query in QRELS} for score in (0.0, 2.0))


def test_every_key_that_is_cited_is_there_and_every_entry_is_cited() -> None:
    citations = cite(rageval.compare("alpha_ndcg@2, ndcg@5, rr", {"good": GOOD, "bad": BAD}, QRELS))
    cited = [key for keys in re.findall(r"\\cite{(.*?)}", citations.text) for key in keys.split(",")]
    assert sorted(set(cited)) == sorted(map(key_of, citations.bibtex))
    assert set(cited) == {"rageval", "clarke2008novelty", "jarvelin2002cumulated"}
    assert is_balanced(citations.text.replace(r"\%", ""))
    assert (
        str(citations).index(citations.text)
        < str(citations).index("% compare|")
        < str(citations).index("@software")
    )


def test_the_sentence_says_measures_with_parameters_queries_test_and_correction() -> None:
    runs = {"good": GOOD, "bad": BAD, "a_b%": BAD | {"0": {"b": 1.0}}}
    clusters = {query: query for query in QRELS}
    comparison = rageval.compare(
        "rr, alpha_ndcg(alpha=0.7)@2",
        runs,
        QRELS,
        baseline="a_b%",
        adjust="max_t",
        clusters=clusters,
        level=0.9,
    )
    text = cite(comparison).text
    for sentence in (
        r"RR (rel=1) and $\alpha$-nDCG@2 ($\alpha=0.7$, rel=1, ideal=greedy)~\cite{clarke2008novelty} over",
        "over 8 queries, computed",
        rf"computed with rageval~{rageval.__version__}~\cite{{rageval}}.",
        r"Differences from a\_b\% were tested by two-sided sign-flip randomization",
        r"(max-T) over pairs with a\_b\%, each measure by itself, at the level 0.1, with clusters of queries",
        r"The 90\% intervals are bootstrap intervals: BCa, of graded differences studentized",
    ):
        assert sentence in text
    assert comparison.signature in cite(comparison).signatures
    assert {cell.signature for cell in comparison.cells} < set(cite(comparison).signatures)
    settings = replace(comparison.settings, test="t", adjust="holm", baseline="best")
    pairs = tuple(replace(pair, test="t") for pair in comparison.pairs)
    other = cite(replace(comparison, settings=settings, pairs=pairs)).text
    assert (
        "from the best run by each measure were tested by two-sided paired $t$-tests, $p$ adjusted by Holm's"
        " method over all pairs, each measure by itself" in other
    )


def test_what_rests_on_a_judge_or_on_no_test_says_so() -> None:
    rows = [
        {"query_id": query, "run_id": run, "label": label, "judge": "openai:m"}
        for query in QRELS
        for run, label in (("good", "perfect"), ("bad", "incorrect"))
    ]
    text = cite(rageval.evaluate_answers("crag_score", rows)).text
    assert "an automatic judge; intervals do not include its error" in text
    best = rageval.compare("rr", {"a": GOOD, "b": BAD, "c": BAD | {"0": {"b": 1.0}}}, QRELS)
    assert "(max-T) over all pairs, at" in cite(best).text
    comparison = rageval.compare("rr, ndcg@5", {"good": GOOD, "bad": BAD}, QRELS)
    assert "no person" not in cite(comparison).text
    cells = [replace(cell, basis=Basis.of(["m"] * (cell.measure == "ndcg@5"))) for cell in comparison.cells]
    assert "Values by ndcg@5 are by m, an automatic judge" in cite(replace(comparison, cells=cells)).text
    nan = float("nan")
    untested = replace(
        comparison,
        pairs=[replace(pair, p=nan) for pair in comparison.pairs],
        remarks=[Remark("ignored_columns", facts={"columns": ["a & b"]})],
    )
    assert cite(untested).text.endswith(r"Nothing was tested. ignored columns: a \& b.")
    assert "intervals" not in cite(untested).text


def test_people_who_corrected_a_judge_are_named_with_their_estimator() -> None:
    rows = [
        {
            "query_id": str(query),
            "run_id": run,
            "label": "perfect" if query % 2 else "missing",
            "judge": judge,
        }
        for query in range(60)
        for run in ("one", "two")
        for judge in ("openai:m", *["person:ann"] * (query < 30))
    ]
    judged, people = (
        [row for row in rows if str(row["judge"]).startswith(who)] for who in ("openai", "person")
    )
    citations = cite(rageval.compare(rageval.evaluate_answers("crag_score", judged, gold=people)))
    assert r"corrected by human labels of 30 queries~\cite{angelopoulos2023ppi}" in citations.text
    assert "automatic judge" not in citations.text
    assert any("angelopoulos2023ppi" in entry for entry in citations.bibtex)


def test_data_sets_bring_their_papers_once() -> None:
    scores = rageval.evaluate("coverage@2", GOOD, {query: {"n": {"a": 1}} for query in QRELS})
    citations = cite(scores, ["freshstack/langchain/oct-2024", "trec-rag/2024", "trec-rag/2024"])
    keys = [key_of(entry) for entry in citations.bibtex]
    assert keys == [
        "rageval",
        "thakur2025freshstack",
        "upadhyay2024large",
    ]  # the measure's is that of the data
    assert (
        r"of \texttt{freshstack/langchain/oct-2024}~\cite{thakur2025freshstack} and \texttt{trec-rag"
        in citations.text
    )
    with pytest.raises(rageval.InputError, match="no such id"):
        cite(scores, ["nobody/knows"])


def test_the_commands_print_what_python_says() -> None:
    words = [*FILES, "-m", "alpha_ndcg@10,recall@10"]
    scores = rageval.evaluate("alpha_ndcg@10,recall@10", FILES[:2], FILES[2])
    assert run_checked(*words, "--format", "cite").stdout == f"{cite(scores)}\n"
    assert run_checked("compare", *words, "--format", "cite").stdout == f"{cite(rageval.compare(scores))}\n"
    for more in (["-q"], ["-n"], ["--by", "x"]):
        assert "leave out --by, -q and -n" in run_checked(*words, "--format", "cite", *more, code=2).stderr
    assert "@article{jarvelin2002cumulated" in run_checked("measures", "nDCG").stdout
    assert "macavaney2021streamlining" in run_checked("measures", "Rprec").stdout


def test_what_is_nothing_to_cite_is_refused() -> None:
    nothing: list[Any] = [[], {}, ["a.run"]]
    for subject in nothing:
        with pytest.raises(rageval.RagevalError, match="expected a Comparison or Scores"):
            cite(subject)


def test_the_entry_of_this_software_is_what_citation_cff_says() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    entry = software()
    assert key_of(entry) == "rageval"
    for text in (citation["title"], *(author["name"] for author in citation["authors"]), citation["license"]):
        assert text in entry
    assert f"{{{citation['version']}}}" in entry
    assert f"{{{citation['date-released'].year}}}" in entry
