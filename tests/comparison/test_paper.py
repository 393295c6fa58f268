"""What goes into a paper: the table in LaTeX, its caption, its label, what stands beside the means."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

import rageval
from commands import run_checked
from rageval.core.remark import Remark
from rageval.errors import MeasureError
from rageval.measures import builtin
from rageval.measures.papers import entries
from rageval.table import latex_typeset

DATA = Path(__file__).parents[2] / "examples/data"
FILES = [str(DATA / name) for name in ("run.trec", "baseline.trec", "qrels.nugget")]
HOSTILE = r"\input{/etc/passwd}", "a_b% $x^2$ #&~", "[0.1]", r"\end{tabular}"
BODY = re.compile(r"\\midrule\n(.*)\\bottomrule", re.DOTALL)


def latex(*words: str) -> str:
    return run_checked(
        "compare", *FILES, "-m", "alpha_ndcg@10,recall@10,hole@5", "--format", "latex", *words
    ).stdout


def is_balanced(source: str) -> bool:
    """Whether every brace, formula and environment that begins ends, comments and escapes left out."""
    bare = re.sub(r"\\[\\{}$%&#_]", "", re.sub(r"(?m)^%.*$", "", source))
    depth = 0
    for character in bare:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    openings, ended = (re.findall(rf"\\{word}{{(\w+)}}", bare) for word in ("begin", "end"))
    return depth == 0 and bare.count("$") % 2 == 0 and openings == ended[::-1] and "%" not in bare


def test_measures_have_the_names_that_papers_use() -> None:
    names = {
        "alpha_ndcg@10": r"$\alpha$-nDCG@10",
        "alpha_ndcg(alpha=0.7)@10": r"$\alpha$-nDCG@10 ($\alpha=0.7$)",
        "ndcg(dcg=exp_log2)@10": "nDCG@10 (dcg=exp_log2)",
        "recall@50": "Recall@50",
        "err_ia@20": "ERR-IA@20",
        "token_f1": "Token $F_1$",
        "nugget_f(beta=3)": r"Nugget $F$ ($\beta=3$)",
        "citation_precision(citations=micro)": "Citation precision (citations=micro)",
        "Rprec": "Rprec",
        "grade(aspect=a$b)": r"Grade (aspect=a\$b)",
    }
    assert {name: rageval.parse_measure(name).typeset for name in names} == names
    assert latex_typeset(names["grade(aspect=a$b)"]) == r"Grade (aspect=a\$b)"
    for measure in builtin().values():
        assert is_balanced(latex_typeset(measure.typeset)), measure
        assert set(entries(measure.about.papers)) == set(measure.about.papers)


def test_a_measure_of_ones_own_says_its_name_and_its_paper() -> None:
    entry = "@misc{me2026, title = {Mine}}"

    @rageval.measure(typeset=r"$\rho$-hits", papers=(entry,))
    def rho_hits(ranking: rageval.Ranking, *, k: int | None = None) -> float:
        return float(len(ranking.hits(k, 1)))

    assert (rho_hits @ 3).typeset == r"$\rho$-hits@3"
    assert entries(rho_hits.about.papers) == {"me2026": entry}
    with pytest.raises(MeasureError, match="expected formulas between two dollar signs"):
        rageval.measure(typeset="$x")(rho_hits.function)
    with pytest.raises(MeasureError, match="'clark2008' is not a key"):
        entries(["clark2008"])


def test_no_test_is_named_where_nothing_was_tested() -> None:
    run = {"q1": {"a": 1.0}, "q2": {"a": 1.0}}
    comparison = rageval.compare("rr", {"a": run, "b": {"q1": {"b": 1.0}}}, {"q1": {"a": 1}, "q2": {"a": 1}})
    pairs = [replace(pair, p=math.nan, adjusted=math.nan) for pair in comparison.pairs]
    remarks = [Remark("ignored_columns", facts={"columns": ["$x & y"]})]
    text = replace(comparison, pairs=pairs, remarks=remarks).to_latex(show="p")
    assert r"Nothing was tested. ignored columns: \$x \& y." in text
    assert "randomization" not in text.partition("\\begin{table}")[2]


def test_whose_word_it_is_stands_beneath_in_the_names_of_the_table() -> None:
    rows = [
        {"query_id": str(query), "run_id": run, "label": label, "judge": judge}
        for query in range(60)
        for run, label in (("one", "perfect"), ("two", "missing" if query % 3 else "perfect"))
        for judge in ("openai:m", *["person:ann"] * (query < 30))
    ]
    judged, people = ([row for row in rows if str(row["judge"])[0] == first] for first in "op")
    alone = rageval.compare(rageval.evaluate_answers("hallucination, crag_score", judged)).to_latex()
    assert "uperscripts name the runs that are significantly worse by openai:" in alone
    names = "CRAG share (label=incorrect), CRAG score"
    assert rf"\par{{\footnotesize Values by openai:m: {names} (this ignores judge errors).}}" in alone
    comparison = rageval.compare(
        rageval.evaluate_answers("crag_score", judged, gold=people, gold_chosen="uniform")
    )
    both = comparison.to_latex()
    assert "significantly worse by" not in both
    assert "Corrected by human labels of 30 queries, for queries of this kind: CRAG score." in both
    assert (
        r"{\footnotesize Superscripts name the runs that are significantly worse (Student's $t$, one pair"
        in both
    )
    assert "randomization" not in both.partition("begin{table}")[2]
    assert is_balanced(alone)
    assert is_balanced(both)


def test_intervals_and_p_stand_beside_the_means_on_request() -> None:
    text = latex("--show", "interval")
    assert r"0.3804 {\footnotesize [0.2630, 0.5412]}" in text
    assert "In brackets: 95% intervals." in text.replace("\\", "")
    text = latex("--show", "p", "--baseline", "baseline.trec")
    first, second = BODY.findall(text)[0].strip().split("\n")
    assert r"{\footnotesize ($p=0.074$)}" in first
    assert "p=" not in second  # which the others are compared with
    assert "adjusted $p$ against baseline.trec." in text
    many = {str(query): {"a": 1} for query in range(40)}
    good, bad = ({query: {"a": 1.0, "b": score} for query in many} for score in (0.0, 2.0))
    comparison = rageval.compare("rr", {"good": good, "bad": bad}, many)
    assert "($p<0.001$)" in comparison.to_latex(show="p")


def test_names_are_text_and_never_commands(tmp_path: Path) -> None:
    names = [word for name in HOSTILE[:2] for word in ("--names", f"{name}=FILE")]
    named = [word.replace("=FILE", f"={file}") for word, file in zip(names[1::2], FILES, strict=False)]
    words = [word for name in named for word in ("--names", name)]
    for text in (latex(*words), run_checked(*FILES, "-m", "recall@10", "--format", "latex", *words).stdout):
        assert is_balanced(text)
        assert r"\textbackslash{}input\{/etc/passwd\}" in text
        assert r"a\_b\% \$x\textasciicircum{}2\$ \#\&\textasciitilde{}" in text
    run = {"q1": {"a": 1.0}, "q2": {"a": 1.0}}
    comparison = rageval.compare("rr", {HOSTILE[2]: run, HOSTILE[3]: run}, {"q1": {"a": 1}, "q2": {"b": 1}})
    assert is_balanced(comparison.to_latex(show="interval"))
    assert "\na & {}[0.1] & " in comparison.to_latex()
    assert "pdfLaTeX may lack" in rageval.compare("rr", {"模型": run, "b": run}, {"q1": {"a": 1}}).to_latex()


@pytest.mark.slow
@pytest.mark.parametrize(
    "caption", ["$50%$ & more", "$\\frac{$", "a $}$ b", "$x\x1b$", "$", "$$", "a\n$b\n$", "$a\\\\$", r"\$5 #"]
)
def test_captions_end_whatever_stands_in_them(caption: str) -> None:
    text = latex("--caption", caption)
    assert is_balanced(text)
    assert "\x1b" not in text
    assert not re.search(r"\$[^$]*\\x[^$]*\$", text)  # a command that nobody knows
    assert "$$" not in text  # which would begin a display
    assert text.count("\n") == latex("--caption", "x").count("\n")


def test_the_best_of_several_runs_is_bold_where_a_comparison_would_say_so(tmp_path: Path) -> None:
    text = run_checked(*FILES, "-m", "alpha_ndcg@10,hole@5,judged@1000", "--format", "latex").stdout
    assert r"run & $\alpha$-nDCG@10 & Hole@5 $\downarrow$ & Judged@1000 \\" in text
    assert r"run.trec & \textbf{0.5283} & \textbf{0.2667} & " in text
    assert "; the best in bold; $\\downarrow$: low values are good (rageval" in text
    silent = tmp_path / "silent"  # nothing retrieved is no hole; silence must not win
    silent.write_text("\n".join(Path(FILES[1]).read_text().splitlines()[:1]) + "\n")
    lacking = run_checked(str(silent), *FILES, "-m", "hole@5", "--format", "latex").stdout
    assert re.search(r"(?m)^silent & 0\.\d+ ", lacking)
    assert r"run.trec & \textbf{0.2667}" in lacking
    alone = run_checked(FILES[0], FILES[2], "-m", "rr", "--format", "latex").stdout
    assert "bold" not in alone + run_checked(FILES[0], FILES[2], "-m", "rr", "--format", "latex", "-q").stdout


def test_slices_and_queries_have_captions_too() -> None:
    text = run_checked(*FILES, "-m", "alpha_ndcg@10", "--format", "latex", "-q").stdout
    assert r"\caption{Values of each query over 12 queries; the best in bold (rageval" in text
    assert "% alpha_ndcg@10|alpha:0.5|" in text
    assert is_balanced(text)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "latex", "--label", "a}b"], "expected letters, digits and any of"),
        (["--format", "latex", "--label", ""], "expected letters, digits and any of"),
        (["--format", "latex", "--label", "a", "--caption", ""], "leave out one of the two"),
    ],
)
def test_mistakes_are_explained(words: list[str], message: str) -> None:
    for start in (["compare", *FILES], FILES):
        assert message in run_checked(*start, "-m", "rr", *words, code=2).stderr
    shown = ["--format", "latex", "--show", "p", "--all-pairs"]
    assert "leave out all_pairs" in run_checked("compare", *FILES, "-m", "rr", *shown, code=2).stderr
