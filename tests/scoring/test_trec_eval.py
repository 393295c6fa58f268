"""trec_eval 10's own test data: its names, its sets, and every number that it prints and we have."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main
from rageval.errors import MeasureError
from rageval.measures.base import Measure
from rageval.measures.official import NOT_OFFERED, why_not
from rageval.measures.parsing import parse_measure, parse_measures

GOLDEN = Path(__file__).parents[1] / "golden/trec_eval"
# What is printed: the run, the judgements, and the options besides -q.
FILES: dict[str, tuple[str, str, list[str]]] = {
    "out.test": ("results.test", "qrels.test", []),
    "out.test.a": ("results.test", "qrels.test", []),
    "out.test.aq": ("results.test", "qrels.test", []),
    "out.test.aqc": ("results.trunc", "qrels.test", ["-c"]),
    "out.test.aqcM": ("results.trunc", "qrels.test", ["-c", "-M", "100"]),
    "out.test.aql": ("results.test", "qrels.rel_level", ["-l", "2"]),
    "out.test.meas_params": ("results.test", "qrels.test", []),
}
# trec_eval 10 finds the rank of a recall level otherwise than 9.0.8, which pytrec_eval-terrier has: these
# are the values of 9.0.8 where they differ, by level and topic.
IPREC_OF_9 = {
    "out.test": {("0.10", "all"): "0.3884", ("0.60", "all"): "0.0822"},
    "out.test.a": {("0.10", "all"): "0.3884", ("0.60", "all"): "0.0822"},
    "out.test.aq": {
        ("0.10", "301"): "0.2096",
        ("0.10", "all"): "0.3884",
        ("0.60", "302"): "0.1420",
        ("0.60", "all"): "0.0822",
    },
    "out.test.aqc": {("0.10", "301"): "0.2096"},
    "out.test.aqcM": {},
    "out.test.aql": {
        ("0.10", "301"): "0.0000",
        ("0.10", "all"): "0.3186",
        ("0.60", "302"): "0.1420",
        ("0.60", "all"): "0.0852",
        ("0.90", "303"): "0.0748",
        ("0.90", "all"): "0.0249",
    },
    "out.test.meas_params": {
        ("0.10", "301"): "0.2096",
        ("0.10", "all"): "0.3884",
        ("0.25", "302"): "0.7500",
        ("0.25", "all"): "0.2879",
    },
}
# Here a document graded -1 is judged and not relevant; there it is not judged.
UNJUDGED_BELOW_ZERO = {"out.test.aql": "unj"}
IPREC = "iprec_at_recall_"


def printed(name: str) -> Iterator[tuple[str, str, str]]:
    """Measure, topic, value, as trec_eval prints them."""
    for line in (GOLDEN / name).read_text().splitlines():
        measure, topic, value = line.split("\t")
        yield measure.strip(), topic, value.strip()


def offered(name: str) -> bool:
    try:
        parse_measure(name)
    except MeasureError as error:
        if "not offered" not in str(error):
            raise
        return False
    return True


def shown(name: str, file: str) -> str:
    """The measure as it is printed here."""
    measure = parse_measure(name)
    if "-l" not in FILES[file][2] or measure.rel is None:
        return str(measure)
    return str(measure(rel=2) if isinstance(measure, Measure) else measure.at(2))


ALL_NAMES = list(dict.fromkeys(measure for name in FILES for measure, *_ in printed(name)))


@pytest.mark.parametrize("folder", ["trec_eval", "ndeval", "freshstack"])
def test_the_files_are_the_ones_described(folder: str) -> None:
    path = GOLDEN.parent / folder
    table = [line.split() for line in (path / "README.md").read_text().splitlines()]
    digests = {words[1]: words[0] for words in table if len(words) == 2 and len(words[0]) == 64}
    there = {file.name: file.read_bytes() for file in path.iterdir() if file.name != "README.md"}
    assert {name: hashlib.sha256(queries).hexdigest() for name, queries in there.items()} == digests


def scored(name: str, measures: list[str], *more: str) -> dict[tuple[str, str], float]:
    """The same question put to the command line."""
    run, qrels, options = FILES[name]
    asked = [part for measure in measures for part in ("-m", measure)]
    words = [str(GOLDEN / run), str(GOLDEN / qrels), "-q", "-p", "12", *options, *more, *asked]
    values = CliRunner().invoke(main, words)
    assert values.exit_code == 0, values.output
    rows = (line.split("\t") for line in values.stdout.splitlines())
    return {(measure.strip(), topic): float(value) for measure, topic, value in rows}


def as_printed(value: float, like: str) -> str:
    """With as many decimals."""
    return f"{value:.{len(like.partition('.')[2])}f}"


@pytest.mark.slow
@pytest.mark.some(5)
@pytest.mark.parametrize("name", FILES)
def test_every_line_of_a_measure_that_is_offered(name: str) -> None:
    lines = [line for line in printed(name) if offered(line[0])]
    unlike = UNJUDGED_BELOW_ZERO.get(name, "nothing")
    lines = [line for line in lines if not line[0].startswith(unlike)]
    values = scored(name, list(dict.fromkeys(measure for measure, *_ in lines)))
    different = {}
    for measure, topic, value in lines:
        printed_value = as_printed(values[shown(measure, name), topic], value)
        if printed_value != value:
            different[measure, topic] = printed_value
    assert different == {(IPREC + level, topic): v for (level, topic), v in IPREC_OF_9[name].items()}
    assert len(lines) >= {"out.test": 28, "out.test.a": 68, "out.test.meas_params": 64}.get(name, 250)


def test_grades_below_0_are_unjudged_with_compat() -> None:
    lines = [line for line in printed("out.test.aql") if line[0].startswith("unj")]
    values = scored("out.test.aql", ["unj"], "--compat", "trec_eval")
    assert [as_printed(values[measure, topic], v) for measure, topic, v in lines] == [v for *_, v in lines]
    assert len(lines) == 12


class TestOwnWords:
    """What is printed under --compat trec_eval, as text."""

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["out.test", "out.test.aq", "out.test.aql", "out.test.aqc"])
    def test_lines_are_its_own(self, name: str) -> None:
        run, qrels, options = FILES[name]
        words = [str(GOLDEN / run), str(GOLDEN / qrels), "--compat", "trec_eval", *options]
        more = ["-m", "official"] if name == "out.test" else ["-m", "all_trec", "-q"]
        result = CliRunner().invoke(main, [*words, *more])
        assert result.exit_code == 0, result.output
        expected = (GOLDEN / name).read_text().splitlines()
        lost = [
            line for line in expected if offered(line.split("\t")[0].strip()) and line not in result.stdout
        ]
        # Version 10 finds the rank of a recall level otherwise.
        parts = [line.split("\t") for line in lost]
        levels = [(measure.strip().removeprefix(IPREC), topic) for measure, topic, _ in parts]
        assert set(levels) == set(IPREC_OF_9[name])

    def test_queries_stand_together(self) -> None:
        words = [str(GOLDEN / name) for name in ("results.test", "qrels.test")]
        result = CliRunner().invoke(main, [*words, "-m", "map,num_q,P.5", "-q", "--compat", "trec_eval"])
        names = [line.split("\t")[:2] for line in result.stdout.splitlines()]
        every = [(name.strip(), topic) for name, topic in names]
        topics = ("301", "302", "303")
        assert every[:-3] == [(name, topic) for topic in topics for name in ("map", "P_5")]
        assert every[-3:] == [("map", "all"), ("num_q", "all"), ("P_5", "all")]
        assert "num_q                 \tall\t3\n" in result.stdout

    def test_what_it_does_not_have_keeps_our_name(self) -> None:
        words = [str(GOLDEN / name) for name in ("results.test", "qrels.test")]
        asked = ["-m", "ap(rel=2) rr@5", "--compat", "trec_eval"]
        result = CliRunner().invoke(main, [*words, *asked])
        assert [line.split()[0] for line in result.stdout.splitlines()] == ["ap(rel=2)", "rr@5"]

    def test_comments_are_skipped_as_version_10_does(self, tmp_path: Path) -> None:
        run, qrels = tmp_path / "run", tmp_path / "qrels"
        run.write_text("# made by hand\nq Q0 d 1 1.0 tag\n")
        qrels.write_text("# judged by hand\nq 0 d 1\n")
        words = [str(run), str(qrels), "-m", "map"]
        assert CliRunner().invoke(main, words).exit_code == 2
        result = CliRunner().invoke(main, [*words, "--compat", "trec_eval"])
        assert result.stdout == "map                   \tall\t1.0000\n"
        typed = CliRunner().invoke(main, [*words, "--compat", "trec_eval", "--comments", "error"])
        assert typed.exit_code == 2


class TestNames:
    def test_every_name_is_a_measure_or_in_the_table(self) -> None:
        assert [name for name in ALL_NAMES if offered(name) != (why_not(name) is None)] == []

    def test_the_table_is_exactly_the_rest(self) -> None:
        rest = {name for name in ALL_NAMES if not offered(name)}
        used = {key for key in NOT_OFFERED for name in rest if why_not(name) is NOT_OFFERED[key]}
        assert used == set(NOT_OFFERED)

    @pytest.mark.parametrize(
        ("typed", "meant"),
        [
            ("P.5,10", "p@5,p@10"),
            ("P_5,10", "p@5,p@10"),
            ("ndcg_cut.10,20 map", "ndcg@10,ndcg@20,ap"),
            ("map_cut_10", "ap@10"),
            ("success.1,5", "success@1,success@5"),
            ("recall_100", "recall@100"),
            ("iprec_at_recall_0.10", "IPrec@0.1"),
            ("iprec_at_recall..10,.20,.25", "IPrec@0.1,IPrec@0.2,IPrec@0.25"),
            ("iprec_at_recall.0.1,0.5", "IPrec@0.1,IPrec@0.5"),
            ("IPrec@0.1,0.2", "IPrec@0.1,IPrec@0.2"),
            ("num_q,num_ret,num_rel", "NumQ,NumRet,NumRel"),
            ("num_rel_ret", "NumRet(rel=1)"),
            ("set_P,set_recall", "p,recall"),
            ("set_F,set_F.0.5,set_F_2", "SetF,SetF(beta=0.5),SetF(beta=2.0)"),
            ("recip_rank,Rprec,bpref,infAP", "rr,Rprec,Bpref,infAP"),
            ("unj", "hole@5,hole@10,hole@20"),
        ],
    )
    def test_every_spelling_of_trec_eval_is_a_measure(self, typed: str, meant: str) -> None:
        assert ",".join(map(str, parse_measures(typed))) == meant

    @pytest.mark.parametrize("name", ["ndcg_cut", "map_cut", "iprec_at_recall", "unj"])
    def test_a_family_without_a_cutoff_is_what_trec_eval_prints(self, name: str) -> None:
        names = [
            printed_name for printed_name, *_ in printed("out.test.a") if printed_name.startswith(f"{name}_")
        ]
        assert parse_measures(name) == [parse_measure(one) for one in names]

    @pytest.mark.parametrize(
        ("typed", "words"),
        [
            ("gm_map", "map"),
            ("11pt_avg", "iprec_at_recall"),
            ("11pt_avg_.25,.5,.75", "iprec_at_recall"),
            ("rbp", "RBP(p=0.9,rel=1)"),
            ("ndcg_1=3,2=9,4=4.5", "nDCG(gains="),
            ("Rprec_mult_0.20", "Rprec"),
            ("utility_2,-1,0,0", "num_rel_ret"),
        ],
    )
    def test_what_is_not_offered_has_a_way_out(self, typed: str, words: str) -> None:
        with pytest.raises(MeasureError, match="not offered") as caught:
            parse_measures(typed)
        assert words in str(caught.value)

    def test_a_cutoff_that_is_none(self) -> None:
        with pytest.raises(MeasureError, match="expected a whole number"):
            parse_measures("coverage@5,0.5")
        with pytest.raises(MeasureError, match="unknown measure"):
            parse_measures("0.5")


class TestSets:
    @pytest.mark.parametrize(("typed", "file"), [("official", "out.test"), ("all_trec", "out.test.a")])
    def test_what_is_printed_unasked_and_what_is_known(self, typed: str, file: str) -> None:
        names = [name for name, *_ in printed(file) if offered(name)]
        measures = parse_measures(typed)
        assert {str(measure) for measure in measures} == {str(parse_measure(name)) for name in names}
        assert len(measures) == len(names)

    def test_in_the_order_of_trec_eval(self) -> None:
        names = [name for name, *_ in printed("out.test") if offered(name)]
        assert parse_measures("official") == [parse_measure(name) for name in names]
        assert parse_measures("official:trec_eval") == parse_measures("official")
        assert parse_measures("official:all_trec") == parse_measures("all_trec")

    def test_what_is_left_out_is_said(self) -> None:
        result = CliRunner().invoke(
            main, [str(GOLDEN / "results.test"), str(GOLDEN / "qrels.test"), "-m", "official"]
        )
        assert "official: without runid and gm_map, which are not offered" in result.stderr


class TestInferred:
    QRELS = (("a", 1), ("b", 0), ("c", 1), ("d", 0), ("e", 2))

    def test_a_grade_below_0_is_of_the_pool_and_not_judged(self) -> None:
        run = {"q": {"b": 2.0, "a": 1.0}}
        by_grade = {
            grade: rageval.evaluate("infAP", run, {"q": {"a": 1, "b": grade}})["infAP"].value
            for grade in (0, -1, -2)
        }
        assert by_grade[0] == pytest.approx(0.5, abs=1e-4)
        assert by_grade[-1] == by_grade[-2] > 0.6
