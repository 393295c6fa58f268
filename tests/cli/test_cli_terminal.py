"""What a terminal sees: tables that fit, names, order, completed words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rageval.cli import main
from rageval.table import PRINTERS, Column, Table, wrapped
from snippets import ROOT

RUN, BASELINE, QRELS = (f"examples/data/{name}" for name in ("run.trec", "baseline.trec", "qrels.nugget"))


def run(*words: str, columns: int | None = None) -> Result:
    env = {"COLUMNS": str(columns) if columns else None}
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        return CliRunner().invoke(main, list(words), env=env)
    finally:
        os.chdir(before)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 80, 100, 250])
@pytest.mark.parametrize("more", [(), ("--all-pairs", "--bounds"), ("--names", f"{'long-' * 20}name={RUN}")])
def test_a_comparison_fits_the_terminal(columns: int, more: tuple[str, ...]) -> None:
    words = ("compare", RUN, BASELINE, QRELS, "-m", "recall@10,alpha_ndcg@10", "--format", "table", *more)
    fitted = run(*words, columns=columns)
    assert fitted.exit_code == 0
    assert max(map(len, fitted.stdout.splitlines())) <= columns
    whole = run(*words).stdout
    for number in ("0.4281", "0.1641", "0.2504", "0.0039", "-3-", "undecided"):
        assert number in fitted.stdout
        assert number in whole
    assert len(whole.splitlines()) <= len(fitted.stdout.splitlines())


@pytest.mark.parametrize("columns", [50, 80])
def test_scores_and_agreement_fit_the_terminal(columns: int) -> None:
    named = ("--names", f"{'x' * 70}={RUN}")
    result = run(RUN, QRELS, "-m", "official:ndeval", "--format", "table", *named, columns=columns)
    assert max(map(len, result.stdout.splitlines())) <= columns


def test_a_table_is_cut_between_columns_and_repeats_what_is_in_front(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [Column("run"), *(Column(f"measure{number}") for number in range(9))]
    table = Table(columns, [["one", *(str(number) for number in range(9))]])
    monkeypatch.setenv("COLUMNS", "40")
    lines = list(PRINTERS["table"].table(table))
    assert [line.split() for line in lines if line.startswith("one")] == [
        ["one", "0", "1", "2"], ["one", "3", "4", "5"], ["one", "6", "7", "8"]
    ]  # fmt: skip
    monkeypatch.delenv("COLUMNS")
    assert len(list(PRINTERS["table"].table(table))) == 3  # nobody looks: one table


def test_lines_are_wrapped_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = " ".join(f"word{number}" for number in range(30))
    assert " ".join(wrapped(text)) == text
    assert max(map(len, wrapped(text))) <= 40
    assert "".join(wrapped(text.replace(" ", "|"), "|")) == text.replace(" ", "|")


def first(result: Result) -> list[str]:
    """The first words of the lines."""
    assert result.exit_code == 0, result.stderr
    return [line.split("\t")[0] for line in result.stdout.splitlines()]


def test_sort_puts_the_best_run_first() -> None:
    files = (BASELINE, RUN, QRELS, "-m", "recall@10,judged@10")
    unsorted = first(run(*files, "-m", "ap"))
    assert unsorted[0] == "baseline.trec"
    assert first(run(*files, "--sort", "recall@10"))[0] == "run.trec"
    assert first(run(*files, "--sort", "run"))[0] == "baseline.trec"


def test_sort_knows_which_values_are_good(tmp_path: Path) -> None:
    rows = [("good", "accurate"), ("poor", "incorrect"), ("fair", "missing")]
    judged = tmp_path / "judged.jsonl"
    judged.write_text(
        "".join(
            f'{{"query_id": "q", "run_id": "{name}", "aspect": "a", "label": "{label}", "rubric": "crag"}}\n'
            for name, label in rows
        )
    )
    assert first(run(str(judged), "-m", "hallucination", "--sort", "hallucination"))[-1] == "poor"
    assert first(run(str(judged), "-m", "crag_score", "--sort", "crag_score")) == ["good", "fair", "poor"]


def test_sort_changes_no_number_of_a_comparison() -> None:
    words = ("compare", BASELINE, RUN, QRELS, "-m", "recall@10", "--all-pairs", "--format", "csv")
    plain, by_value = run(*words).stdout, run(*words, "--sort", "recall@10").stdout
    assert sorted(plain.splitlines()) == sorted(by_value.splitlines())
    table = run(*words[:-1], "md", "--sort", "recall@10").stdout
    assert table.index("| a | run.trec |") < table.index("| b | baseline.trec |")


def test_what_is_not_measured_sorts_nothing() -> None:
    result = run(RUN, QRELS, "-m", "recall@10", "--sort", "ap")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith("--sort ap: is not measured; use run or one of recall@10\n")


def test_a_run_is_called_as_one_says() -> None:
    words = (RUN, BASELINE, QRELS, "-m", "recall@10")
    assert first(run(*words)) == ["run.trec", "baseline.trec"]
    assert first(run(*words, "--names", "tag")) == ["run", "baseline"]
    assert first(run(*words, "--names", f"mine={RUN}")) == ["mine", "baseline.trec"]
    assert first(run(*words, "--names", "tag", "--names", f"mine={RUN}")) == ["mine", "baseline"]
    compared = run("compare", *words, "--names", f"mine={RUN}", "--baseline", "mine", "--format", "csv")
    assert "baseline.trec,mine,recall@10" in compared.stdout


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("x=nothing",), "--names x=nothing: expected tag, or NAME=FILE, of the runs"),
        (("nonsense",), "--names nonsense: expected tag, or NAME=FILE, of the runs"),
        ((f"={RUN}",), "expected tag, or NAME=FILE"),
        (
            (f"same={RUN}", f"same={BASELINE}"),
            "two runs would be called 'same'; give each a name with NAME=FILE",
        ),
    ],
)
def test_names_that_name_nothing_are_refused(names: tuple[str, ...], why: str) -> None:
    result = run(RUN, BASELINE, QRELS, "-m", "ap", *(word for name in names for word in ("--names", name)))
    assert (result.exit_code, result.stdout) == (2, "")
    assert why in result.stderr


def test_judged_answers_have_names_of_their_own(tmp_path: Path) -> None:
    judged = tmp_path / "judged.jsonl"
    judged.write_text('{"query_id": "q", "run_id": "r", "aspect": "answer", "label": "accurate"}\n')
    result = run(str(judged), "-m", "crag_score", "--names", "tag")
    assert result.exit_code == 2
    assert "--names applies to runs" in result.stderr


def test_runs_with_one_tag_are_told_to_be_named(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.run").write_text("q Q0 d 1 2.0 same\n")
    (tmp_path / "qrels").write_text("q 0 d 1\n")
    files = [str(tmp_path / name) for name in ("a.run", "b.run", "qrels")]
    result = run(*files, "-m", "ap", "--names", "tag")
    assert result.exit_code == 2
    assert "two runs would be called 'same'" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["comp"], {"compare"}),
        (["score", "run", "-m", "alpha_n"], {"alpha_ndcg"}),
        (["run", "-m", "recall@5,cover"], {"recall@5,coverage"}),
        (["compare", "run", "qrels", "-m", "official:fr"], {"official:freshstack"}),
        (["judge", "crag-a"], {"crag-auto"}),
        (["judge", "crag", "--judge", "ope"], {"openai:"}),
        (["judge", "crag", "--judge", "exa"], {"exact"}),
        (["rubrics", "nuggetize-"], {"nuggetize-iterative"}),
        (["datasets", "fetch", "freshstack/langc"], {"freshstack/langchain/oct-2024"}),
        (["judge", "crag", "--questions", "freshstack/langc"], {"freshstack/langchain/oct-2024"}),
        (["run", "freshstack/langc"], {"freshstack/langchain/oct-2024"}),
        (["run", "--zero-rel", "s"], {"skip"}),
        (["collection", "fu"], {"fuse"}),
        (["label", "p"], {"plan", "page"}),
        (["spans", ""], {"anchor", "project"}),
        (["store", "ex"], {"export"}),
        (["label", "agree", "j", "g", "-m", "crag_sc"], {"crag_score"}),
        (["measures", "jud"], {"judged"}),
    ],
)
def test_words_are_completed(words: list[str], expected: set[str]) -> None:
    env = {**os.environ, "_RAGEVAL_COMPLETE": "bash_complete", "COMP_CWORD": str(len(words))}
    env["COMP_WORDS"] = " ".join(["rageval", *words])
    code = "import sys; sys.argv[0] = 'rageval'; from rageval.__main__ import main; main()"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, env=env, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert result.stderr == ""
    assert {
        line.removeprefix("plain,") for line in result.stdout.splitlines() if line[:6] == "plain,"
    } == expected
