"""Every option for every measure: applied, as a slow oracle has it, or refused by name with the way out.

The measures are all of ours, all that ir_measures knows and some provider here computes, and two plug-ins.
The data has all that options are about: a query that the run lacks, one with nothing relevant, one with
nothing relevant at grade 2, one of whose documents none is judged, equal scores, scores that differ in the
25th bit, ranks that contradict the scores, a grade below 0, nuggets.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, get_args

import ir_measures
import numpy as np
import pytest
from click.testing import CliRunner

import oracle
import rageval
from declared import require_same
from foreign_oracle import FOREIGN, JUDGED_ONLY
from our_measures import OF_RUNS
from rageval.cli import main
from rageval.errors import RagevalError
from rageval.options import Ties
from rageval.scoring.rules import COMPAT

# Document, score, rank, in the order of the file.
ROWS: dict[str, list[tuple[str, float, int]]] = {
    "rich": [
        ("u1", 2.0, 1),
        ("b", 3.0, 4),
        ("a", 3.0, 3),
        ("c", 2.0, 2),
        ("e", 2.0 + 1e-9, 5),
        ("d", 1.0, 7),
        ("u2", 1.0, 6),
    ],
    "none": [("x", 2.0, 1), ("y", 1.0, 2)],
    "low": [("m", 1.0, 2), ("n", 1.0, 1), ("u3", 3.0, 3)],
    "unjudged": [("u4", 2.0, 1), ("u5", 1.0, 2)],
    "only in the run".replace(" ", "-"): [("a", 1.0, 1)],
}
QRELS: oracle.Qrels = {
    "rich": {"1": {"a": 2, "c": 1, "d": 0}, "2": {"c": 2, "e": 1, "b": 0, "f": 2}, "3": {"g": -1, "d": -1}},
    "none": {"1": {"x": 0, "z": 0}},
    "low": {"1": {"m": 1}, "2": {"n": 1, "o": 1, "m": 0, "u6": -1}},
    "unjudged": {"1": {"p": 1, "r": 3}},
    "missing": {"1": {"a": 1, "b": 2}, "2": {"b": 1}},
}
QRELS["rich"]["3"]["b"] = -1  # judged 0 for one nugget and -1 for another: 0


class Case(NamedTuple):
    """A measure, what the oracle makes of a query, its cut-off, whether a lowest grade says anything, ….

    `pool` is the name of the share whose queries are pooled.
    """

    name: str
    value: Callable[..., float]
    k: int | None = None
    has_rel: bool = True
    judged_only: bool = False
    tolerance: float = 1e-9
    total: bool = False
    plugin: rageval.Measure | None = None
    pool: str = ""


def of_the_first(q: oracle.Query, k: int | None) -> float:
    return float(bool(q.ranking) and q.ranking[0] in q.relevant)


@rageval.measure
def first_find(ranking: rageval.Ranking, *, k: int | None = None, rel: int = 1) -> float:
    """1 if the very first document is relevant."""
    return len(ranking.hits(1, rel))


@rageval.measure
def any_judged(ranking: rageval.Ranking) -> float:
    """How many judged documents were retrieved."""
    return len(ranking.hits(rel=None))


def all_cases() -> Iterator[Case]:
    for name, measure in OF_RUNS.items():
        for k in (None, 1, 3):
            yield Case(
                str(measure if k is None else measure @ k), oracle.MEASURES[name], k, measure.rel is not None
            )
    for name in oracle.PARTS:
        label = f"{name}(over=pool)@3"
        yield Case(label, oracle.MEASURES[name], 3, OF_RUNS[name].rel is not None, pool=name)
    for name, value in FOREIGN.items():
        tolerance = 6e-6 if name == "ERR" else 1e-9
        total, has_rel = name.startswith("Num"), name not in ("Compat", "ERR", "NumQ", "NumRet")
        if name in ("Accuracy", "ERR"):
            for k in (1, 3, 20):
                yield Case(f"{name}@{k}", value, k, has_rel, False, tolerance, total)
        else:
            yield Case(name, value, None, has_rel, False, tolerance, total)
    for name, value in JUDGED_ONLY.items():
        head, sign, level = name.partition("@")
        k = 3 if head in ("P", "R", "nDCG", "Success", "alpha_nDCG", "ERR_IA") else None
        yield Case(
            f"{head}(judged_only=True){sign}{level}" + (f"@{k}" if k else ""), value, k, head != "nDCG", True
        )
    yield Case("first_find", of_the_first, None, plugin=first_find)
    yield Case(
        "any_judged",
        lambda q, k: float(sum(doc in q.grade for doc in q.ranking)),
        has_rel=False,
        plugin=any_judged,
    )


# What pyndeval computes, and nobody else, is tried where it is: the CI circle has it.
OF_PYNDEVAL = ("alpha_nDCG", "ERR_IA")
CASES = {
    case.name: case for case in all_cases() if find_spec("pyndeval") or not case.name.startswith(OF_PYNDEVAL)
}
OPTIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "rel 2": {"rel": 2},
    "rel 3": {"rel": 3},
    "rel 0": {"rel": 0},
    "depth": {"depth": 2},
    "judged only": {"judged_only": True},
    "intersection": {"intersection": True},
    "complete": {"complete": True},
    "zero rel skip": {"zero_rel": "skip"},
    "zero rel nan": {"zero_rel": "nan"},
    "zero rel skip, rel 2": {"zero_rel": "skip", "rel": 2},
    "zero rel nan, rel 2": {"zero_rel": "nan", "rel": 2},
    **{f"ties {ties}": {"ties": ties} for ties in get_args(get_args(Ties)[0])},
    "ties expected, depth": {"ties": "expected", "depth": 2},
    "ties expected, judged only": {"ties": "expected", "judged_only": True},
    **{f"compat {tool}": {"compat": tool} for tool in COMPAT},
    **{f"compat {tool}, complete": {"compat": tool, "complete": True} for tool in COMPAT},
    "compat ndeval, depth, rel 2": {"compat": "ndeval", "depth": 3, "rel": 2},
    "compat trec_eval, judged only": {"compat": "trec_eval", "judged_only": True},
    "compat freshstack, depth": {"compat": "freshstack", "depth": 3},
    "bounds": {"bounds": True},
    "everything": {"rel": 2, "depth": 2, "judged_only": True, "intersection": True, "zero_rel": "nan"},
}
OF_THE_RUN = {"pyndeval", "ndeval", "ndeval-traditional", "trec_eval"}
BOUNDED = {
    *("alpha_ndcg", "alpha_dcg", "coverage", "strec", "recall", "all_gold", "p", "success", "rr", "ap"),
    *("ndcg", "err_ia", "nerr_ia", "nrbp", "nnrbp", "p_ia"),
}


def run_file() -> io.BytesIO:
    lines = (
        f"{query} Q0 {doc} {rank} {score!r} t\n" for query, rows in ROWS.items() for doc, score, rank in rows
    )
    file = io.BytesIO("".join(lines).encode())
    file.name = "run"
    return file


def why_refused(case: Case, options: dict[str, Any]) -> tuple[str, ...] | None:
    """Words of the refusal, if there is to be one."""
    if options.get("ties") == "error":
        return "--ties error", "choose a rule"
    own = case.name.replace("(over=pool)", "") in {
        f"{m}{cutoff}" for m in OF_RUNS for cutoff in ("", "@1", "@3")
    }
    if options.get("ties") == "expected" and not (own or case.plugin):
        return case.name, "choose another rule for ties"
    pooled = case.name.startswith("p_ia(over=pool)")  # of which least shares have not the least sum
    if options.get("bounds") and (not own or pooled or plain_name(case) not in BOUNDED):
        return case.name, "leave out bounds"
    return None


def plain_name(case: Case) -> str:
    return case.name.partition("@")[0].partition("(over=")[0]


def is_foreign(case: Case) -> bool:
    return case.judged_only or plain_name(case).partition("(")[0] in {
        name.partition("(")[0].partition("@")[0] for name in FOREIGN
    }


# The rule of each provider for equal scores; pytrec_eval compares them as 32-bit floats.
OF_PROVIDERS = {
    "Accuracy": "input",
    "ERR": "trec",
    **dict.fromkeys(("Compat", "alpha_nDCG", "ERR_IA"), "docid_asc"),
}

# Each order of equal scores, as a key of (score, document, rank).
TIE_KEYS: dict[str, Callable[[Any], Any]] = {
    "trec": lambda row: (-row[0], oracle.bytes_descending(row[1])),
    "docid_asc": lambda row: (-row[0], row[1].encode()),
    "input": lambda row: -row[0],
    "rank": lambda row: (-row[0], row[2]),
}


def orders(
    case: Case, rows: list[tuple[str, float, int]], options: dict[str, Any], first: int | None
) -> Iterator[list[str]]:
    """The documents, best first: in one order, or in all orders of equal scores."""
    tool, ties = options.get("compat"), options.get("ties", "trec")
    name = plain_name(case)
    provider = OF_PROVIDERS.get(name.partition("(")[0], "single") if is_foreign(case) else ""
    if tool is None and ties == "trec" and provider not in ("", "single"):
        ties = provider
    single = tool == "trec_eval" or (
        tool is None and options.get("ties", "trec") == "trec" and provider == "single"
    )
    if tool == "ndeval":
        yield [doc for doc, _, _ in sorted(rows, key=lambda row: row[2])]
        return
    keyed = [(float(np.float32(score)) if single else score, doc, rank) for doc, score, rank in rows]
    if tool == "pyndeval":
        ties = "docid_asc"
    elif tool == "freshstack" and name in ("coverage", "hole"):
        ties = "input"
    elif tool == "freshstack" and name == "alpha_ndcg":
        pool = sorted(keyed, key=lambda row: -row[0])
        pool, rest = (pool[:first], pool[first:]) if first else (pool, [])
        halves = (sorted(half, key=lambda row: (-row[0], row[1])) for half in (pool, rest))
        yield [doc for half in halves for _, doc, _ in half]
        return
    elif tool == "freshstack":
        keyed = [(float(np.float32(score)), doc, rank) for score, doc, rank in keyed]
    if ties == "expected":
        levels = [
            [doc for s, doc, _ in keyed if s == level]
            for level in sorted({s for s, *_ in keyed}, reverse=True)
        ]
        for groups in itertools.product(*(itertools.permutations(level) for level in levels)):
            yield [doc for group in groups for doc in group]
        return
    require_same(TIE_KEYS, {*TIE_KEYS, ties}, "TIE_KEYS of tests/measures/test_options.py, with its order")
    yield [doc for _, doc, _ in sorted(keyed, key=TIE_KEYS[ties])]


def expected(case: Case, options: dict[str, Any], pool: int | None = None) -> dict[str, float]:
    """What the oracle says of every query that counts; nan is undefined."""
    tool = options.get("compat")
    rel = options.get("rel", 1) if case.has_rel else 1
    measured = case.value
    if tool and tool.endswith(("ndeval", "traditional")):
        name = case.name.partition("@")[0]
        measured = {"alpha_dcg": oracle.independent_alpha_dcg, "err_ia": oracle.err_ia}.get(name, measured)
        if case.k == 1:
            measured = {"alpha_dcg": oracle.alpha_dcg, "err_ia": oracle.plain_err_ia}.get(name, measured)
    expected_values = {}
    for query, judged in QRELS.items():
        left_out = options.get("intersection") or (tool in OF_THE_RUN and not options.get("complete"))
        if left_out and query not in ROWS:
            continue
        if tool == "trec_eval" and case.name != "infAP":  # which has a meaning for -1
            judged = {
                n: {doc: g for doc, g in docs.items() if highest_grade(query, doc) >= 0}
                for n, docs in judged.items()
            }
        grades = oracle.Query({}, judged, options.get("rel", 1), oracle.RIGHT)
        if options.get("zero_rel") == "skip" and not grades.relevant:
            continue
        values = []
        for order in orders(case, ROWS.get(query, []), options, pool or case.k):
            if options.get("judged_only") or case.judged_only:
                order = [doc for doc in order if grades.grade.get(doc, -1) >= 0]
            order = order[: options.get("depth")]
            q = oracle.Query(
                {doc: float(-index) for index, doc in enumerate(order)}, judged, rel, oracle.RIGHT
            )
            values.append(float(measured(q, case.k)))
        hopeless = options.get("zero_rel") == "nan" and not grades.relevant
        expected_values[query] = math.nan if hopeless else sum(values) / len(values)
    return expected_values


def highest_grade(query: str, doc: str) -> int:
    return max(docs[doc] for docs in QRELS[query].values() if doc in docs)


def same(one: float, other: float, tolerance: float) -> bool:
    return abs(one - other) <= tolerance or (math.isnan(one) and math.isnan(other))


DEEPEST = 3  # of the cut-offs asked for together, which is how deep FreshStack's pool is


@lru_cache(None)
def right(name: str, options: str) -> dict[str, float]:
    """What the oracle says of a measure that is asked for together with all the others."""
    return expected(CASES[name], OPTIONS[options], DEEPEST)


@pytest.mark.slow
@pytest.mark.some(2)
@pytest.mark.parametrize("options", OPTIONS)
def test_applied_as_the_oracle_has_it(options: str) -> None:
    given = OPTIONS[options]
    cases = [case for case in CASES.values() if why_refused(case, given) is None]
    if not cases:
        return
    scores = rageval.evaluate([case.plugin or case.name for case in cases], run_file(), QRELS, **given).scores
    wrong = {case.name: wrong_in(score, case, options) for case, score in zip(cases, scores, strict=True)}
    assert {name: value for name, value in wrong.items() if value} == {}


def wrong_in(score: rageval.Score, case: Case, options: str) -> list[object]:
    """What differs from the oracle: queries, values, the mean, how many are defined, bounds."""
    values, given = right(case.name, options), OPTIONS[options]
    if list(score.by_query) != list(values):
        return [list(score.by_query), list(values)]
    wrong: list[object] = [
        (query, score.by_query[query], value)
        for query, value in values.items()
        if not same(score.by_query[query], value, case.tolerance)
    ]
    defined = [value for value in values.values() if not math.isnan(value)]
    mean = sum(defined) if case.total else sum(defined) / len(defined) if defined else math.nan
    if case.pool and defined:
        parts, wholes = (
            expected(case._replace(value=count), given, DEEPEST) for count in oracle.PARTS[case.pool]
        )
        mean = sum(parts[query] for query, value in values.items() if value == value)
        mean /= sum(wholes[query] for query, value in values.items() if value == value)
    if not same(score.value, mean, case.tolerance):
        wrong.append((score.value, mean))
    if (score.queries, score.undefined) != (len(defined), len(values) - len(defined)):
        wrong.append((score.queries, score.undefined))
    if given.get("bounds"):
        assert score.bounds is not None
        if not score.bounds[0] - 1e-12 <= score.value <= score.bounds[1] + 1e-12:
            wrong.append(score.bounds)
    return wrong


@pytest.mark.parametrize("options", OPTIONS)
def test_refused_by_name_with_the_way_out(options: str) -> None:
    run = rageval.read_run(run_file())
    for case in CASES.values():
        words = why_refused(case, OPTIONS[options])
        if words is not None:
            with pytest.raises(RagevalError) as caught:
                rageval.evaluate(case.plugin or case.name, run, QRELS, **OPTIONS[options])
            assert all(word in str(caught.value) for word in words), case.name


@pytest.mark.slow
def test_nothing_that_can_be_computed_here_is_left_out() -> None:
    """What ir_measures has a provider for, ours by another name or in the table."""
    ours = {measure.called_by("ir_measures") for measure in OF_RUNS.values()} - {None}
    required = {"cutoff": 3, "recall": 0.5, "max_rel": 1}
    providers = [one for one in ir_measures.providers.registry.values() if one.is_available()]
    computed = set()
    for measure in ir_measures.measures.registry.values():
        if not type(measure).__module__.startswith("ir_measures."):
            continue  # another test's
        needed = {name: required[name] for name, info in measure.SUPPORTED_PARAMS.items() if info.required}
        cut = {"cutoff": 3} if "cutoff" in measure.SUPPORTED_PARAMS else {}
        asked = measure(**needed, **{k: v for k, v in cut.items() if k not in needed})
        if any(provider.supports(asked) for provider in providers):
            computed.add(measure.NAME)
    named = {name.partition("@")[0].partition("(")[0] for name in FOREIGN}
    assert computed - set(OF_RUNS) == ours | named


@pytest.mark.parametrize(
    ("name", "signature"), [("Rprec", "Rprec(rel=2)|"), ("Bpref", "Bpref(rel=2)|"), ("SetP", "SetP(rel=2)|")]
)
def test_the_lowest_grade_is_in_the_signature(name: str, signature: str) -> None:
    (score,) = rageval.evaluate(name, run_file(), QRELS, rel=2).scores
    assert score.signature.startswith(signature)


@pytest.mark.parametrize("name", ["Rprec", "SetP", "ap", "alpha_ndcg", "p@3"])
def test_what_a_measure_says_itself_goes_first(name: str) -> None:
    """Also if it says what it would be anyway."""
    head, sign, k = name.partition("@")
    for rel in (1, 3):
        own, usual = (
            rageval.evaluate(f"{head}(rel={rel}){sign}{k}", run_file(), QRELS, **given).scores[0]
            for given in ({"rel": 2}, {})
        )
        assert str(own.measure) == str(usual.measure)
        assert own.by_query == usual.by_query
        assert own.signature == usual.signature


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder: Path = tmp_path_factory.mktemp("options")
    (folder / "run").write_bytes(run_file().getvalue())
    rows = (
        f"{q} {n} {doc} {g}\n" for q, by in QRELS.items() for n, docs in by.items() for doc, g in docs.items()
    )
    (folder / "qrels").write_text("".join(rows))
    return [str(folder / "run"), str(folder / "qrels")]


FLAGS = {"rel": "-l", "depth": "-M", "judged_only": "-J", "complete": "-c", "zero_rel": "--zero-rel"}


@pytest.mark.slow
@pytest.mark.some(3)
@pytest.mark.parametrize("options", OPTIONS)
def test_the_same_on_the_command_line(files: list[str], options: str) -> None:
    given = OPTIONS[options]
    words = []
    for name, value in given.items():
        flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
        words += [flag] if value is True else [flag, str(value)]
    chosen = [case for case in CASES.values() if not case.plugin and why_refused(case, given) is None]
    refused = [case for case in CASES.values() if not case.plugin and case not in chosen]
    for case in refused[:3]:
        result = CliRunner().invoke(main, [*files, "-m", case.name, *words])
        assert (result.exit_code, result.stdout) == (2, "")
    if not chosen:
        return
    asked = [part for case in chosen for part in ("-m", case.name)]
    result = CliRunner().invoke(main, [*files, "-q", "-p", "12", *words, *asked])
    assert result.exit_code == 0, result.output
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    by_measure: dict[
        str, list[float]
    ] = {}  # trec_eval's own lines go query by query, ours measure by measure
    for name, query, value in rows:
        if query != "all":
            by_measure.setdefault(name, []).append(float(value))
    lines = iter([value for values in by_measure.values() for value in values])
    for case in chosen:
        if case.name == "NumQ" and options.startswith("compat trec_eval"):
            continue  # trec_eval does not print it for each query
        for value in right(case.name, options).values():
            assert same(next(lines), value, max(case.tolerance, 1e-11)), case.name
    assert next(lines, None) is None


def test_what_a_lowest_grade_says_nothing_to_is_said(files: list[str]) -> None:
    result = CliRunner().invoke(main, [*files, "-l", "2", "-m", "ndcg@3,Compat,Rprec,hole"])
    assert "--rel 2 has no effect on ndcg@3, Compat, hole, which have no lowest grade" in result.stderr
    assert "lowest grade" not in CliRunner().invoke(main, [*files, "-l", "2", "-m", "Rprec,rr"]).stderr


@pytest.mark.slow
class TestProviders:
    @pytest.mark.parametrize(
        ("measure", "provider"),
        [
            ("nnrbp", "pyndeval"),
            ("alpha_ndcg@5", "pyndeval"),
            ("judged@3", "judged"),
            ("judged", "judged"),
            ("rr@3", "msmarco"),
            ("ap", "pytrec_eval"),
            ("ndcg(dcg=exp_log2)@3", "gdeval"),
        ],
    )
    @pytest.mark.parametrize("options", ["nothing", "rel 2", "depth", "judged only", "zero rel nan", "rel 0"])
    def test_a_provider_says_what_we_do(self, measure: str, provider: str, options: str) -> None:
        """With every option, for empty rankings and queries with nothing relevant, too."""
        given = OPTIONS[options]
        # A provider has its own order of equal scores, and some have 32-bit scores, where none is asked for.
        given = {"ties": "docid_asc", **given}
        (ours,) = rageval.evaluate(measure, run_file(), QRELS, **given).scores
        (theirs,) = rageval.evaluate(measure, run_file(), QRELS, provider=provider, **given).scores
        assert theirs.values == pytest.approx(ours.values, abs=6e-6, nan_ok=True)
        assert provider in theirs.signature

    @pytest.mark.parametrize(
        ("measure", "provider", "words"),
        [
            ("ap", "gdeval", "gdeval does not compute it; of those installed, pytrec_eval can"),
            ("coverage@3", "pyndeval", "ir_measures has no such measure"),
            ("alpha_ndcg(ideal=exact)@3", "pyndeval", "has no parameter 'ideal'"),
            ("Compat", "runtime", "of those installed, compat can"),
        ],
    )
    def test_one_that_does_not_compute_it(self, measure: str, provider: str, words: str) -> None:
        with pytest.raises(RagevalError, match="leave") as caught:
            rageval.evaluate(measure, run_file(), QRELS, provider=provider)
        assert words in str(caught.value)

    def test_grades_that_gdeval_cannot_take(self) -> None:
        with pytest.raises(RagevalError, match="takes grades up to 4, the judgements hold 5; map them"):
            rageval.evaluate("ERR@3", {"q": {"a": 1.0}}, {"q": {"a": 5}})
