"""Attempts to make rageval say something wrong about runs: each ends in a right claim or in a refusal.

A row is an attempt: what is typed, the exit code, what must be said and what must not be said anywhere.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import rageval
from rageval import plugins
from rageval.comparison import Comparison, Settings, compare, compare_runs
from rageval.pages.page import read_report
from reasons import why
from test_bad_input import Outcome, command

Docs = dict[str, dict[str, float]]
Values = Mapping[str, Mapping[str, float]]
QUERIES = [f"q{index:02}" for index in range(12)]
NDCG = "-m ndcg@10"
P1 = "-m P@1"


# --- measures of somebody else's ---


@rageval.measure
def constant(ranking: Any, *, k: int | None = None) -> float:
    """The same for every run."""
    return 0.25


@rageval.measure
def nowhere(ranking: Any, *, k: int | None = None) -> float:
    """Is not defined for any query."""
    return float("nan")


@rageval.measure
def somewhere(ranking: Any, *, k: int | None = None) -> float:
    """1 where the first document is relevant, else not defined."""
    return 1.0 if ranking.hits(1, 1) else float("nan")


@rageval.measure
def endless(ranking: Any, *, k: int | None = None) -> float:
    """Infinite where the first document is relevant."""
    return float("inf") if ranking.hits(1, 1) else 0.0


@rageval.measure
def huge(ranking: Any, *, k: int | None = None) -> float:
    """A number whose sums are none."""
    return 1e308 * len(ranking.hits(5, 1))


@rageval.measure(better="lower")
def misses(ranking: Any, *, k: int | None = None) -> float:
    """How many of the first ten are not relevant."""
    return 10.0 - len(ranking.hits(10, 1))


@rageval.measure
def nought(ranking: Any, *, k: int | None = None) -> float:
    """Minus zero."""
    return -0.0


@rageval.measure
def broken(ranking: Any, *, k: int | None = None) -> float:
    """Divides by zero."""
    return 1 / (k or 0)


@rageval.measure
def wordy(ranking: Any, *, k: int | None = None) -> Any:
    """Returns no number."""
    return "a lot"


PLUGINS = (constant, nowhere, somewhere, endless, huge, misses, nought, broken, wordy)


class Entry(NamedTuple):
    """What an installed package would offer."""

    name: str
    measure: Any

    def load(self) -> Any:
        return self.measure


# --- the files ---


def ranked(queries: Iterable[str], skill: float, seed: int) -> Docs:
    """Ten of twenty documents a query, of which the first five are relevant."""
    generator = random.Random(seed)
    runs = {}
    for query in queries:
        keys = {f"{query}d{index}": generator.random() - (skill if index < 5 else 0) for index in range(20)}
        runs[query] = {
            doc: 10.0 - index for index, doc in enumerate(sorted(keys, key=lambda doc: keys[doc])[:10])
        }
    return runs


def judged(queries: Iterable[str], relevant: Iterable[str] | None = None, sign: int = 1) -> dict[str, Any]:
    good = None if relevant is None else set(relevant)
    return {
        query: {
            f"{query}d{index}": sign * int(index < 5 and (good is None or query in good))
            for index in range(20)
        }
        for query in queries
    }


def write_run(name: str, run: Values) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{query} Q0 {doc} {rank} {score} tag\n"
        for query, docs in run.items()
        for rank, (doc, score) in enumerate(docs.items(), 1)
    ]
    Path(name).write_text("".join(lines), encoding="utf-8")


def write_qrels(name: str, qrels: Mapping[str, Mapping[str, int]]) -> None:
    lines = [f"{query} 0 {doc} {grade}\n" for query, docs in qrels.items() for doc, grade in docs.items()]
    Path(name).write_text("".join(lines), encoding="utf-8")


GOOD, FAIR, POOR = (ranked(QUERIES, skill, seed) for skill, seed in ((0.8, 1), (0.3, 2), (0.1, 3)))
MANY = [f"h{index:02}" for index in range(50)]
WEIGHTS = {
    "above": "x 2\ny 6\n",
    "sum": "x 0.9\ny 0.9\n",
    "minus": "x -1\ny 2\n",
    "none": "x 0\ny 0\n",
    "nan": "x nan\ny 1\n",
    "lacking": "x 1\n",
}


@pytest.fixture(scope="module", name="folder")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        runs = {
            "good": GOOD,
            "fair": FAIR,
            "poor": POOR,
            "best": POOR,
            "x/run": GOOD,
            "y/run": POOR,
            "half": {query: GOOD[query] for query in QUERIES[:6]},
            "tied": {query: dict.fromkeys(docs, 1.0) for query, docs in GOOD.items()},
            "tied2": {query: dict.fromkeys(docs, 2.0) for query, docs in GOOD.items()},
            "one": ranked(MANY[:1], 0.9, 4) | ranked(["other"], 0.9, 4),
            "all": ranked(MANY, 0.5, 5),
            "weak": ranked(MANY, 0.2, 6),
            "fifth": {query: {f"{query}d0": 1.0} for query in MANY},
            "second": {query: {f"{query}d0": 2.0, f"{query}d1": 1.0} for query in MANY},
            "useless": {query: {f"{query}d9": 1.0} for query in QUERIES},
            "strange": {query: {f"{query}z": 1.0} for query in QUERIES},
            "open": {query: {f"{query}d0": 2.0, f"{query}z": 1.0} for query in QUERIES},
        }
        for name, run in runs.items():
            write_run(name, run)
        write_qrels("qrels", judged(QUERIES))
        write_qrels("q1", judged(QUERIES[:1]))
        write_qrels("q2", judged(QUERIES[:2]))
        write_qrels("q50", judged(MANY))
        write_qrels("two_of_50", judged(MANY, MANY[:2]))
        write_qrels("hopeless", judged(MANY, sign=-1))
        Path("whole").write_text("".join(f"{query} g\n" for query in QUERIES))
        Path("alone").write_text("".join(f"{query} {query}\n" for query in QUERIES))
        Path("thirds").write_text("".join(f"{query} c{index % 3}\n" for index, query in enumerate(QUERIES)))
        Path("lacking").write_text("".join(f"{query} g\n" for query in QUERIES[:6]))
        facts = [
            {"query_id": query, "kind": "xy"[index % 2], "solo": query} for index, query in enumerate(QUERIES)
        ]
        Path("facts").write_text("".join(json.dumps(fact) + "\n" for fact in facts))
        labels = [("perfect", "x")] * 10 + [("incorrect", "y")] * 2
        answers = [
            {"query_id": str(index), "run_id": "r", "label": label, "question_type": kind}
            for index, (label, kind) in enumerate(labels)
        ]
        Path("answers").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
        for name, text in WEIGHTS.items():
            Path(f"weights.{name}").write_text(text)
    return folder


@pytest.fixture(autouse=True)
def in_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    entries = [Entry(measure.name, measure) for measure in PLUGINS]
    monkeypatch.setattr(plugins, "_entries", lambda group: entries if group == "measures" else [])


# --- from the command line ---

Words = tuple[str, ...]
NO, SAME = (), "the values are the same on every query"
FAILED = "it failed"
AS_TABLE = "--format table"
BETTER = (" > a", " > b", "  lower", "  higher")
COMMANDS: dict[str, tuple[str, int, Words, Words]] = {
    # names
    "one name in two folders": (f"compare x/run y/run qrels {NDCG}", 0, ("y/run,x/run", ",x/run,0,0"), NO),
    "a baseline that may be either": (
        f"compare x/run y/run qrels --baseline run {NDCG}", 2, ("one of x/run, y/run",), NO),
    "the same file twice": (f"compare good good qrels {NDCG}", 2, ("two runs have this name",), NO),
    "the same file by two ways": (
        f"compare x/run x/../x/run qrels {NDCG} {AS_TABLE}", 0, ("identical", "the same order"), BETTER),
    "a run called best": (
        f"compare best good fair qrels --baseline best {NDCG}", 0,
        ("not with the run called 'best'", "best,good,"), NO),
    # few queries
    "one query": (
        f"compare good fair q1 {NDCG} {AS_TABLE}", 0,
        ("undecided", "no test can decide", "only one of the queries differs"),
        (*BETTER, "rough", "coarse")),
    "one query, t": (f"compare good fair q1 --test t {NDCG} {AS_TABLE}", 0, ("undecided",), BETTER),
    "two queries": (
        f"compare good fair q2 {NDCG} {AS_TABLE}", 0,
        ("undecided", "p cannot be below 0.5", "rough"), BETTER),
    "one query of a hundred in common": (
        f"compare one all weak q50 --intersection {NDCG} {AS_TABLE}", 0,
        ("49 of 50 judged queries are not in the run", "(n=1)", "(n=50)"), ("against one",)),
    "that one is never bold": (
        f"compare one all weak q50 --intersection {NDCG} --format latex", 0, ("one & 1.0000 (n=1)",),
        (r"\textbf{1.0000}",)),
    "a gate on one query of many": (
        f"score one q50 --intersection {NDCG} --require ndcg@10>=0.1", 0, ("over 1 of 50 queries",), NO),
    # ties and constants
    "all scores tied": (f"compare tied tied2 qrels {NDCG}", 0, ("identical",), ("lower", "higher")),
    "ties expected": (
        f"compare tied good qrels --ties expected {NDCG} {AS_TABLE}", 0,
        ("over all orders of equal scores", "'> a' means"), NO),
    "a constant measure": (
        "compare good fair poor qrels -m constant --format table", 0, (SAME, "coarse"), BETTER),
    "a constant measure in LaTeX": ("compare good fair qrels -m constant --format latex", 0, NO, ("textbf",)),
    "all values 1": (f"compare good fair qrels {P1} {AS_TABLE}", 0, (SAME, "0.7575, 1.0000"), BETTER),
    "all values 0": (
        f"compare useless good qrels {NDCG} {AS_TABLE}", 0, ("refused", "found nothing that counts"),
        (*BETTER, "produced nothing")),
    "minus zero": ("compare good fair qrels -m nought --format table", 0, ("refused",), ("-0.0000 [",)),
    "several names of one measure": (
        "compare good fair qrels -m recall@10,R@10,Recall@10 --format csv", 0, NO, ("R@10", "Recall")),
    "a constant difference": (
        f"compare fifth second q50 -m recall@10 {AS_TABLE}", 0, ("lower", "second", "1.8e-15"), NO),
    # plug-ins
    "nothing defined": (
        "compare good fair qrels -m nowhere --format table", 0, ("refused", "defined nowhere"), BETTER),
    "nothing defined, JSON": ("score good qrels -m nowhere --format json", 0, ('"value": null',), ("NaN",)),
    "nothing defined, gate": (
        "score good qrels -m nowhere --require nowhere>=0.1", 1, ("has no defined value",),
        ("which passes",)),
    "defined for some": (
        "compare good poor qrels -m somewhere --format table", 0,
        ("undecided", "where both have one", "(n="), (*BETTER, "identical", SAME, "small enough")),
    "infinite": ("score good qrels -m endless", 2, ("endless: returned inf for the query 'q00'",), NO),
    "infinite, compared": ("compare good fair qrels -m endless", 2, ("expected a number",), NO),
    "too large to add": ("score good qrels -m huge --require huge>=1", 2, ("huge: returned",), NO),
    "falling": (
        "compare good poor qrels -m misses --format table", 0, ("worse", "low is good: misses", "> b"),
        ("> a,", "  lower", "  higher")),
    "falling, wrong gate": (
        "score good qrels -m misses --require misses>=0.1", 2, ("use 'misses<=0.1'",), NO),
    "dividing by zero": (
        "score good qrels -m broken", 2, ("broken: failed on the query 'q00' (ZeroDivisionError",), NO),
    "no number": ("score good qrels -m wordy", 2, ("returned 'a lot'",), NO),
    # what is lacking
    "half of the queries": (
        f"compare half good qrels {NDCG} {AS_TABLE}", 0,
        ("refused", "6 queries are in one run only"), BETTER),
    "half of the queries, intersection": (
        f"compare half good qrels --intersection {NDCG} {AS_TABLE}", 0,
        ("undecided", "same on the 6 queries where both have one; on 6 only one", "(n=6)", "(n=12)"),
        (*BETTER, "identical", SAME)),
    "a baseline that lacks half": (
        f"compare half good poor qrels --baseline half {NDCG} {AS_TABLE}", 0, ("undecided",), BETTER),
    "skip leaves two of fifty": (
        f"compare all weak two_of_50 --zero-rel skip {NDCG} {AS_TABLE}", 0,
        ("48 of 50 judged queries have no relevant", "2 independent", "undecided"), BETTER),
    "nothing is relevant": (
        "score all hopeless -m ndcg@10,P@5", 0, ("no judged query has a relevant document",), NO),
    "nothing is relevant, compared": (
        f"compare all weak hopeless {NDCG} {AS_TABLE}", 0,
        ("refused", "no judged query has a relevant document"), (*BETTER, "produced", FAILED)),
    "nothing is relevant, skipped": (
        f"compare all weak hopeless --zero-rel skip {NDCG} {AS_TABLE}", 0, ("refused",),
        (*BETTER, FAILED, "Warning")),
    "nothing is relevant, gate": (
        f"score all hopeless --zero-rel skip {NDCG} --require ndcg@10>=0.1", 1, ("no defined value",), NO),
    "nothing judged, as zero": (
        f"compare good strange qrels --nothing-judged zero {P1} {AS_TABLE}", 0,
        ("refused", "none of its 12 documents is judged"), BETTER),
    "nothing judged": (
        f"compare good fair strange qrels {P1}", 2, ("no document of strange is judged",), ("strange,",)),
    "open to judgement": (
        "compare open useless qrels --bounds -m P@2 --format table", 0,
        ("refused", "from 0.5000 to 1.0000"), BETTER),
    # depths
    "deeper than the run": ("score good qrels -m P@1000", 0, ("0.0050",), NO),
    "only the first": ("score good qrels --depth 1 -m P@5,recall@10", 0, ("0.2000",), ("1.0000",)),
    # groups and slices
    "a group for all": (f"score good qrels {NDCG} --group-by whole", 0, NO, ("nan",)),
    "a group for each": (f"score good qrels {NDCG} --group-by alone", 0, NO, ("nan",)),
    "queries of no group": (f"score good qrels {NDCG} --group-by lacking", 2, ("6 judged queries",), NO),
    "slices of one query": (
        f"score good qrels {NDCG} --by solo --questions facts", 0, ("[nan, nan]\tn=1*",), NO),
    "slices of nothing defined": (
        "score good qrels -m nowhere --by kind --questions facts", 0, ("nan", "undefined=6"), ("0.0000",)),
    "no such slice": (f"score good qrels {NDCG} --by age --questions facts", 2, ("one of kind, solo",), NO),
    # weights
    "weights above 1": ("score answers -m crag_score --weights weights.above", 2, ("from 0 to 1",), NO),
    "weights that make no whole": (
        "score answers -m crag_score --weights weights.sum", 2, ("expected", "sum"), NO),
    "negative weights": ("score answers -m crag_score --weights weights.minus", 2, ("expected",), NO),
    "no weight at all": ("score answers -m crag_score --weights weights.none", 2, ("expected",), NO),
    "weights that are no numbers": (
        "score answers -m crag_score --weights weights.nan", 2, ("expected",), NO),
    "a group without weight": ("score answers -m crag_score --weights weights.lacking", 2, ("'y'",), NO),
    # clusters and settings
    "one cluster": (
        f"compare good poor qrels --cluster whole {NDCG} {AS_TABLE}", 0,
        ("undecided", "only one of the clusters differs"), (*BETTER, "rough", "coarse")),
    "three clusters": (
        f"compare good poor qrels --cluster thirds {NDCG} {AS_TABLE}", 0,
        ("undecided", "no more than 3 clusters differ", "more clusters can help"),
        (*BETTER, "12 queries differ")),
    **{
        f"level {level}": (f"compare good fair qrels --level {level} {NDCG}", 2, ("between 0 and 1",), NO)
        for level in ("0", "1", "1.5", "nan")
    },
    "one resample": (f"compare good fair qrels --resamples 1 {NDCG}", 2, ("from 100",), NO),
    "one draw": (f"compare good fair qrels --draws 1 {NDCG}", 2, ("from 100",), NO),
    "a negative seed": (f"compare good fair qrels --seed -1 {NDCG}", 2, ("from 0",), NO),
    # gates
    "a gate at nan": (f"score good qrels {NDCG} --require ndcg@10>=nan", 2, ("expected a number",), NO),
    "a gate at what is printed": (
        f"score poor qrels {P1} --require P@1>=0.4167", 1,
        ("0.4167\n", "0.4166666666666667, below 0.4167"), NO),
    "a gate exactly met": (
        "score fair qrels -m recall@5 --require recall@5>=0.5", 0, ("0.5000",), ("below",)),
    "a gate just missed": (
        "score fair qrels -m recall@5 --require recall@5>=0.50001", 1, ("is 0.5000, below 0.50001",), NO),
    # other tools' rules
    "by trec_eval's rules": (
        f"compare half good qrels --compat trec_eval {NDCG} {AS_TABLE}", 0, ("undecided",), (*BETTER, SAME)),
    # pages of one run
    "a report of one run": (f"report good qrels -o one.html {NDCG}", 0, ("wrote one.html",), ("better",)),
    "a report of one query": (
        f"report good fair q1 -o few.html {NDCG}", 0, ("no interval or test is possible",), ("rough",)),
    "a plot of one query": (f"compare good fair q1 --plot few.svg {NDCG}", 0, ("undecided",), ("Traceback",)),
}  # fmt: skip


def printed(outcome: Outcome) -> str:
    return outcome.out + outcome.err


def in_format(typed: str) -> list[str]:
    """The words, with the format whose lines are looked at where none is typed."""
    formats = {"compare": "csv", "arena": "csv", "label correct": "csv", "label agree": "md"}
    style = next((lines for name, lines in formats.items() if typed.startswith(f"{name} ")), None)
    return typed.split() + (["--format", style] if style and "--format" not in typed else [])


@pytest.mark.slow
@pytest.mark.parametrize("attempt", COMMANDS)
def test_on_the_command_line(attempt: str) -> None:
    typed, code, must, must_not = COMMANDS[attempt]
    outcome = command(*in_format(typed))
    assert outcome.code == code, outcome
    assert outcome.out == "" or code != 2 or "strange" in typed, outcome
    text = printed(outcome)
    missing = [words for words in must if words not in text]
    # what "> a" means is explained below each table
    body = "\n".join(line for line in text.splitlines() if not line.startswith("'> a' means"))
    wrong = [words for words in must_not if words in body]
    assert (missing, wrong) == ([], []), text


def test_a_page_calls_no_run_the_best_that_is_so_on_one_query() -> None:
    assert command(*f"report one all weak q50 --intersection -o page.html {NDCG}".split()).code == 0
    page = read_report("page.html")
    assert [cell["run"] for cell in page["cells"] if cell["best"]] == []


# --- from Python ---


def scored(name: str, run: Values, measure: Any = "ndcg@10", **rules: Any) -> rageval.Scores:
    return rageval.evaluate(measure, rageval.Run.from_dict(run, name), judged(QUERIES), **rules)


def verdicts(comparison: Comparison) -> set[str]:
    return {pair.verdict for pair in comparison.pairs}


@pytest.mark.parametrize(
    "rules",
    [{"depth": 1}, {"compat": "trec_eval"}, {"judged_only": True}, {"zero_rel": "skip"}, {"ties": "input"}],
    ids=str,
)
def test_runs_that_were_not_scored_alike_are_not_compared(rules: dict[str, Any]) -> None:
    comparison = compare([scored("good", GOOD), scored("poor", POOR, **rules)])
    assert verdicts(comparison) == {"refused"}
    assert "signatures differ" in why(comparison.pairs[0])
    assert comparison.pairs[0].better_run is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("judged_only", "no"), ("intersection", "false"), ("complete", 0), ("bounds", "no")),
        *(("rel", "1"), ("rel", 1.5), ("rel", True), ("depth", 0), ("depth", 2.5)),
    ],
)
def test_an_option_of_the_wrong_kind_is_refused(name: str, value: Any) -> None:
    with pytest.raises(rageval.RagevalError, match=name):
        scored("good", GOOD, "recall@10", **{name: value})


@pytest.mark.parametrize(
    "make",
    [
        lambda: compare([scored("a", GOOD)]),
        lambda: compare([scored("a", GOOD), scored("a", POOR)]),
        lambda: compare([scored("a", GOOD), scored("b", POOR, "recall@10")]),
        lambda: compare([scored("a", GOOD), scored("b", POOR)], Settings(baseline="c")),
        lambda: rageval.evaluate("rr", {"q": {"a": float("nan")}}, {"q": {"a": 1}}),
        lambda: rageval.evaluate("rr", {"q": {"a": float("inf")}}, {"q": {"a": 1}}),
        lambda: rageval.evaluate("rr", {}, {"q": {"a": 1}}),
        lambda: rageval.evaluate("rr", {"q": {"a": 1.0}}, {}),
        lambda: rageval.evaluate("rr", {"other": {"a": 1.0}}, {"q": {"a": 1}}),
    ],
)  # fmt: skip
def test_what_cannot_be_said_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(rageval.RagevalError):
        make()


def test_near_copies_are_neither_better_nor_the_same() -> None:
    copies: dict[str, Docs] = {"base": FAIR}
    for index, query in enumerate(QUERIES):
        docs = {doc: 10.0 - rank for rank, doc in enumerate(sorted(FAIR[query]))}
        copies[f"copy {index}"] = FAIR | {query: docs}
    comparison = compare_runs("ndcg@10", copies, judged(QUERIES))
    assert verdicts(comparison) <= {"undecided", "identical"}
    for pair in comparison.pairs:
        assert (pair.verdict == "identical") == (pair.wins + pair.losses == 0)
        assert why(pair) or pair.wins + pair.losses > 1


@pytest.mark.nightly
@pytest.mark.parametrize("adjust", ["holm", "max_t"])
def test_two_hundred_runs_hide_no_plain_difference_and_make_none(adjust: str) -> None:
    queries = [f"q{index}" for index in range(25)]
    alike = {f"r{index}": ranked(queries, 0.3, index) for index in range(199)}
    runs = {"poor": {query: {f"{query}d9": 2.0, f"{query}d0": 1.0} for query in queries}, **alike}
    comparison = compare_runs("ndcg@10", runs, judged(queries), Settings(adjust=adjust))
    plain = {pair.run: pair.verdict for pair in comparison.pairs}
    assert plain.pop("poor") == "lower"
    assert list(plain.values()).count("lower") <= 2
    assert all(pair.p > 0 for pair in comparison.pairs)


def test_where_the_test_decides_and_the_interval_includes_0_nothing_is_claimed() -> None:
    first = {query: {f"{query}d0": 1.0} for query in QUERIES}
    second = {query: {f"{query}d0": 2.0, f"{query}d1": 1.0} for query in QUERIES}
    comparison = compare_runs("recall@10", {"first": first, "second": second}, judged(QUERIES))
    pair = comparison.pairs[0]
    assert pair.verdict == "undecided"
    assert pair.adjusted <= 0.05
    assert pair.low <= 0 <= pair.high
    assert "the interval includes 0" in why(pair)
    # Here p is small enough.
    assert "no_small_p" not in {remark.code for remark in comparison.remarks}
