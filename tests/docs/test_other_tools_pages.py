"""The pages for people who come from other tools: every number in their tables is computed again."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import ir_measures
import pytest
from click.testing import CliRunner

from rageval.cli import main
from snippets import ROOT

GOLDEN = ROOT / "tests/golden"
TREC = GOLDEN / "trec_eval"
RANX = json.loads((GOLDEN / "ranx/printed.json").read_text(encoding="utf-8"))
IN_RANX = {
    "recip_rank": "mrr",
    "ndcg_cut_10": "ndcg@10",
    "P_10": "precision@10",
    "recall_100": "recall@100",
    "success_10": "hit_rate@10",
    "Rprec": "r-precision",
}
IN_IR_MEASURES = {"map": "AP", "recip_rank": "RR", "ndcg": "nDCG", "bpref": "Bpref"} | {
    "ndcg_cut_10": "nDCG@10",
    "P_10": "P@10",
    "recall_100": "R@100",
    "success_10": "Success@10",
    "Rprec": "Rprec",
    "iprec_at_recall_0.10": "IPrec@0.1",
}


def page(name: str) -> str:
    return (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")


def rows(text: str, heading: str, table: int = 0) -> list[list[str]]:
    """Cells of a table below a heading, without its head."""
    part = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"(?:^\|.*\n)+", part, re.MULTILINE)[table].splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in found]


def rageval(*words: object) -> str:
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


def value(*words: object) -> str:
    """The only number that is printed."""
    return rageval(*words).split("\t")[-1].strip()


def number(cell: str) -> str:
    return cell.partition(" ")[0]


def by_trec_eval(name: str) -> dict[tuple[str, str], str]:
    lines = (line.split("\t") for line in (TREC / name).read_text().splitlines())
    return {(measure.strip(), topic): said.strip() for measure, topic, said in lines}


def by_ir_measures(measure: str, run: Path) -> str:
    asked = ir_measures.parse_measure(measure)
    qrels, ranked = ir_measures.read_trec_qrels(str(TREC / "qrels.test")), ir_measures.read_trec_run(str(run))
    return f"{ir_measures.calc_aggregate([asked], qrels, ranked)[asked]:.4f}"


def test_the_numbers_of_four_tools() -> None:
    printed, table = by_trec_eval("out.test.a"), rows(page("from-trec-eval"), "The same numbers")
    assert len(table) == 10
    for cell, *said in table:
        name = cell.strip("`")
        of_ranx = RANX["results.test"].get(IN_RANX.get(name, name))
        assert said == [
            printed[name, "all"],
            by_ir_measures(IN_IR_MEASURES[name], TREC / "results.test"),
            "–" if of_ranx is None else f"{of_ranx:.4f}",
            value(TREC / "results.test", TREC / "qrels.test", "-m", name),
        ]


def test_where_a_topic_is_missing(tmp_path: Path) -> None:
    trunc, qrels = TREC / "results.trunc", TREC / "qrels.test"
    with pytest.raises(ValueError, match="too many values"):
        by_ir_measures("AP", trunc)
    six = tmp_path / "six.run"
    six.write_text("".join(" ".join(line.split()[:6]) + "\n" for line in trunc.read_text().splitlines()))
    printed = by_trec_eval("out.test.aqc")
    present = [float(printed["map", topic]) for topic in ("301", "303")]  # 302 is the one that is not there
    expected = [
        [printed["map", "all"], f"{sum(present) / 2:.4f}"],
        [by_ir_measures("AP", six), "–"],
        [f"{RANX['results.trunc, made comparable']['map']:.4f}", "–"],
        [value(trunc, qrels, "-m", "map"), value(trunc, qrels, "-m", "map", "--intersection")],
    ]
    table = rows(page("from-trec-eval"), "Where they part")
    assert [[number(cell) for cell in said] for _, *said in table] == expected


def test_equal_scores(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 b 1\n")
    (tmp_path / "run").write_text("q Q0 a 1 1.0 r\nq Q0 b 2 1.0 r\n")
    assert value(tmp_path / "run", tmp_path / "qrels", "-m", "mrr") == "1.0000"
    assert (RANX["equal scores, a first"]["mrr"], RANX["equal scores, b first"]["mrr"]) == (0.5, 1.0)
    assert "reciprocal rank of 0.5 if `a` stands first there, and 1.0 if `b` does" in page("from-trec-eval")


def test_the_spellings_and_options_side_by_side_are_read() -> None:
    files = [TREC / "results.test", TREC / "qrels.test"]
    table = {you: said for you, *_, said in rows(page("from-trec-eval"), "Commands side by side")}
    assert {value(*files, "-m", spelt) for spelt in ("map", "AP", "ap")} == {"0.1785"}
    assert {value(*files, "-m", spelt) for spelt in ("P.10", "P_10", "P@10", "precision@10")} == {"0.3000"}
    assert {value(*files, "-m", spelt) for spelt in ("hits@10", "mrr@10")} == {"0.6667", "0.3889"}
    assert value(*files, "-m", "P@10", "-l", "2") == value(*files, "-m", "P(rel=2)@10")
    for option in re.findall(r"`(-\w)\b", " ".join(table.values())):
        more = {"-l": ["2"], "-M": ["100"]}.get(option, [])
        rageval(*files, *(["-m", "map"] if option == "-m" else [option, *more, "-m", "map"]))
    assert rageval(*files, "-m", "official").count("\n") >= 25


def test_what_ranx_printed_is_the_file_described() -> None:
    digest = hashlib.sha256((GOLDEN / "ranx/printed.json").read_bytes()).hexdigest()
    assert f"{digest}  printed.json" in (GOLDEN / "ranx/README.md").read_text(encoding="utf-8")
