"""Evaluation from Python: every form of input, every rule, what comes out."""

from __future__ import annotations

import math
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import rageval
from rageval import Qrels, Run, alpha_ndcg, coverage, recall
from rageval.records import Qrel, ScoredDoc

RUN = {"q1": {"a": 3.0, "b": 2.0, "x": 1.0}, "q2": {"c": 1.0}}
QRELS = {"q1": {"n1": {"a": 1, "b": 0}, "n2": {"b": 2}}, "q2": {"n1": {"c": 0}}, "q3": {"n1": {"d": 1}}}
RECORDS = [ScoredDoc(query, doc, score) for query, docs in RUN.items() for doc, score in docs.items()]
JUDGED = [
    Qrel(q, doc, g, n)
    for q, nuggets in QRELS.items()
    for n, docs in nuggets.items()
    for doc, g in docs.items()
]
MEASURES = [alpha_ndcg @ 2, coverage @ 1, "recall@5"]


def values(*data: object, **rules: object) -> list[dict[str, float]]:
    return [score.by_query for score in rageval.evaluate(MEASURES, *data, **rules).values()]


EXPECTED = values(RUN, QRELS)


def files(folder: Path) -> tuple[Path, Path]:
    run, qrels = folder / "run.trec", folder / "qrels.nugget"
    run.write_text("".join(f"{r.query_id} Q0 {r.doc_id} 1 {r.score} t\n" for r in RECORDS))
    qrels.write_text("".join(f"{j.query_id} {j.iteration} {j.doc_id} {j.relevance}\n" for j in JUDGED))
    return run, qrels


def test_every_form_of_input_gives_the_same(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    run_file, qrels_file = files(tmp_path)
    runs = [run_file, str(run_file), Run.from_dict(RUN), RECORDS, iter(RECORDS), rageval.read_run(run_file)]
    runs += [[record._asdict() for record in RECORDS], pandas.DataFrame(RECORDS)]
    qrels = [qrels_file, str(qrels_file), Qrels.from_dict(QRELS), JUDGED, rageval.read_qrels(qrels_file)]
    frame = pandas.DataFrame(JUDGED)
    qrels += [frame, *(frame.rename(columns={"iteration": name}) for name in ("subtopic_id", "nugget_id"))]
    for run in runs:
        assert values(run, QRELS) == EXPECTED
    for judged in qrels:
        assert values(RUN, judged) == EXPECTED
    with run_file.open("rb") as run, qrels_file.open("rb") as judged:
        assert values(run, judged) == EXPECTED


def test_objects_of_ir_datasets() -> None:
    class Dataset:
        def scoreddocs_iter(self):
            return iter(RECORDS)

        def qrels_iter(self):
            return iter(JUDGED)

    assert values(Dataset(), Dataset()) == EXPECTED


def test_tables_give_back_what_they_were_made_of(tmp_path: Path) -> None:
    run_file, qrels_file = files(tmp_path)
    assert list(rageval.read_run(run_file)) == list(Run.from_dict(RUN)) == RECORDS
    assert set(rageval.read_qrels(qrels_file)) == set(Qrels.from_dict(QRELS)) == set(JUDGED)
    assert repr(Run.from_dict(RUN)) == "<Run 'run': 4 documents of 2 queries>"
    assert repr(Qrels.from_dict(QRELS)) == "<Qrels 'qrels': 5 judgements of 3 queries and 4 nuggets>"


def test_what_a_score_says() -> None:
    scores = rageval.evaluate(MEASURES, RUN, QRELS)
    score = scores["Coverage@1"]
    assert scores[coverage @ 1] is score
    assert (score.value, float(score), score.queries, score.undefined, score.missing) == (
        0.5 / 3,
        0.5 / 3,
        3,
        0,
        1,
    )
    assert score.by_query == {"q1": 0.5, "q2": 0.0, "q3": 0.0}
    assert score.signature == f"coverage@1|denominator:listed|rel:1|ties:trec|v:{rageval.__version__}"
    assert list(scores) == ["alpha_ndcg@2", "coverage@1", "recall@5"]
    assert "recall@5" in scores
    assert "rr" not in scores
    pytest.importorskip("pandas")
    assert scores.to_pandas().groupby("measure")["value"].mean()["coverage@1"] == pytest.approx(0.5 / 3)
    assert "<td>0.1667</td>" in scores._repr_html_()
    assert str(scores).startswith("run: 3 queries\nalpha_ndcg@2  ")


def test_a_measure_is_found_in_every_spelling_as_a_mapping_finds_its_keys() -> None:
    theirs = pytest.importorskip("ir_measures")
    scores = rageval.evaluate("ndcg@10, ap@100, rr, alpha_ndcg@2", RUN, QRELS)
    spellings: dict[str, list[object]] = {
        "ndcg@10": ["ndcg@10", "nDCG@10", "ndcg_cut_10", theirs.nDCG @ 10, theirs.NDCG @ 10],
        "ap@100": ["ap@100", "AP@100", "map_cut_100", theirs.AP @ 100, theirs.MAP @ 100],
        "rr": ["rr", "RR", "recip_rank", theirs.RR, theirs.MRR],
        "alpha_ndcg@2": ["α-nDCG@2", alpha_ndcg @ 2, theirs.alpha_nDCG @ 2],
    }
    for name, keys in spellings.items():
        for key in keys:
            assert key in scores, key
            assert scores[key] is scores.get(key) is scores[name], key
    for key in ("recall@5", recall @ 5, theirs.R @ 5, "nope@3", "rr@", "", "rr, ap@100", None, 3, (), RUN):
        assert key not in scores
        assert scores.get(key) is None
        with pytest.raises(KeyError, match="; scored here: ndcg@10, ap@100, rr, alpha_ndcg@2"):
            scores[key]
    with pytest.raises(KeyError, match="did you mean"):
        scores["recal@5"]


@pytest.mark.parametrize("rules", [{"rel": 2}, {"provider": "pytrec_eval"}])
def test_a_score_is_found_by_what_was_asked_for(rules: dict[str, object]) -> None:
    scores = rageval.evaluate("recall@1, rr", RUN, {"q1": {"d1": 2, "d2": 1}}, **rules)
    assert [scores[name] for name in ("R@1", "recall@1", "rr")] == [*scores.values()][:1] * 2 + [
        *scores.values()
    ][1:]
    assert list(scores) != ["recall@1", "rr"]


def test_a_nugget_that_nothing_supports_counts() -> None:
    qrels = {"q": {"n1": {"a": 1}, "n2": {}, "n3": {"b": 0}}}
    run = {"q": {"a": 1.0}}
    measures = "coverage@5", "coverage(denominator=attainable)@5"
    assert [score.value for score in rageval.evaluate(measures, run, qrels).values()] == [1 / 3, 1.0]
    assert Qrels.from_dict(qrels).nuggets_listed == [3]


def test_a_name_cannot_smuggle_markup() -> None:
    scores = rageval.evaluate("rr", Run.from_dict(RUN, name="<script>alert(1)</script>"), QRELS)
    assert "<script>" not in scores._repr_html_()


def test_queries_without_anything_relevant() -> None:
    counted = {
        rule: rageval.evaluate("rr", RUN, QRELS, zero_rel=rule)["rr"] for rule in ("zero", "skip", "nan")
    }
    assert [score.value for score in counted.values()] == [1 / 3, 1 / 2, 1 / 2]
    assert [score.queries for score in counted.values()] == [3, 2, 2]
    assert [score.undefined for score in counted.values()] == [0, 0, 1]
    assert math.isnan(counted["nan"].by_query["q2"])


def test_depth_and_judged_only() -> None:
    run, qrels = {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}, {"q": {"a": 0, "b": 1}}
    assert rageval.evaluate("rr", run, qrels, depth=2)["rr"].value == 0
    assert rageval.evaluate("rr", run, qrels, judged_only=True)["rr"].value == 1 / 2
    assert rageval.evaluate("rr", run, qrels, judged_only=True, depth=1)["rr"].value == 0
    assert rageval.evaluate("Rprec", run, qrels, judged_only=True, depth=2)["Rprec"].value == 0
    assert rageval.evaluate("judged, p@2", run, qrels, judged_only=True)["judged"].value == 1


@pytest.mark.parametrize(
    ("ties", "first"), [("trec", "c"), ("docid_asc", "a"), ("input", "b"), ("rank", "a")]
)
def test_every_rule_for_ties(ties: str, first: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 b 30 1.0 t\nq Q0 a 4 1.0 t\nq Q0 c 10 1.0 t\n")
    for doc in "abc":
        score = rageval.evaluate("success@1", tmp_path / "run", {"q": {doc: 1}}, ties=ties)["success@1"]
        assert score.value == (doc == first)
        assert f"ties:{ties}" in score.signature


def test_ties_can_be_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 b 1 1.0 t\nq Q0 a 2 1.0 t\n")
    with pytest.raises(rageval.InputError, match=r"run:2: score 1 is tied with line 1"):
        rageval.evaluate("rr", tmp_path / "run", {"q": {"a": 1}}, ties="error")
    with pytest.raises(rageval.InputError, match="no rank column"):
        rageval.evaluate("rr", {"q": {"a": 1.0, "b": 1.0}}, {"q": {"a": 1}}, ties="rank")


def test_scores_travel_between_processes() -> None:
    scores = rageval.evaluate([*MEASURES, "alpha_ndcg(alpha=0.7)@3"], RUN, QRELS)
    copy = pickle.loads(pickle.dumps(scores))
    assert [score.by_query for score in copy.values()] == [score.by_query for score in scores.values()]
    assert list(copy) == list(scores)


def test_judgements_read_without_low_grades_refuse_measures_that_need_them(tmp_path: Path) -> None:
    _, path = files(tmp_path)
    qrels = rageval.read_qrels(path, floor=1)
    assert len(qrels) == 5
    assert values(RUN, qrels) == EXPECTED
    with pytest.raises(rageval.RagevalError, match="without grades below 1"):
        rageval.evaluate("judged@5", RUN, qrels)


def test_foreign_measures_get_documents_with_their_highest_grade() -> None:
    qrels = {"q": {"n1": {"a": 1, "b": 0}, "n2": {"a": 0, "b": 1}}}
    run = {"q": {"a": 2.0, "b": 1.0}, "r": {"z": 1.0}}
    scores = rageval.evaluate("Rprec, NumRel, SetP", run, qrels)
    assert [score.value for score in scores.values()] == [1.0, 2.0, 1.0]
    assert "by:ir_measures" in scores["Rprec"].signature
    counts = rageval.evaluate("NumRel", {"q": {"a": 1.0}}, {"q": {"a": 1}, "missing": {"b": 1, "c": 1}})
    assert counts["NumRel"].value == 3


@pytest.mark.parametrize("value", [None, "much", np.zeros(1), [1.0], 1j])
def test_a_measure_that_returns_no_number_is_told_so(value: object) -> None:
    @rageval.measure
    def wrong(ranking, *, k=None):
        return value

    with pytest.raises(rageval.MeasureError, match=r"for the query .q1., expected a number"):
        rageval.evaluate(wrong, RUN, QRELS)


@pytest.mark.parametrize("value", [True, 1, np.float32(1.0), np.int64(1), np.array(1.0)])
def test_a_measure_may_return_any_kind_of_number(value: object) -> None:
    @rageval.measure
    def right(ranking, *, k=None):
        return value

    assert rageval.evaluate(right, RUN, QRELS)["right"].value == 1.0


def test_a_measure_from_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint, EntryPoints

    from rageval import plugins

    entry = EntryPoint("Half-Recall", "test_evaluation:half_recall", "rageval.measures")
    monkeypatch.setattr(plugins, "_entries", lambda group: EntryPoints([entry]))
    assert rageval.evaluate("half_recall@5", RUN, QRELS)["half_recall@5"].by_query["q1"] == 0.5


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_module:x", r"'Broken' cannot be loaded from no_such_module:x \(ModuleNotFoundError: "),
        ("test_evaluation:half_recall", "is the measure half_recall, .* entry point called half_recall"),
        ("test_evaluation:nothing", "AttributeError: module 'test_evaluation' has no attribute 'nothing'"),
        (
            "test_evaluation:test_a_measure_from_an_entry_point",
            "is a function, expected a rageval Measure, as @",
        ),
    ],
)
def test_a_plug_in_that_cannot_be_had_says_why(
    value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib.metadata import EntryPoint, EntryPoints

    from rageval import plugins

    entries = EntryPoints([EntryPoint("Broken", value, "rageval.measures")])
    monkeypatch.setattr(plugins, "_entries", lambda group: entries)
    with pytest.raises(rageval.RagevalError, match=message):
        rageval.evaluate("broken@5", RUN, QRELS)


@rageval.measure
def half_recall(ranking, *, k=None):
    """Half of recall, as a plug-in would bring it."""
    return recall.function(ranking, k=k) / 2


@pytest.mark.parametrize(
    "rules",
    [
        {"ties": "luck"},
        {"ties": "expectd"},
        {"zero_rel": "one"},
        {"depth": 0},
        {"compat": "trec-eval"},
        {"dept": 3},
    ],
)
def test_rules_that_do_not_exist(rules: dict[str, object]) -> None:
    with pytest.raises(rageval.RagevalError, match=r"expected|did you mean"):
        rageval.evaluate("rr", RUN, QRELS, **rules)


@pytest.mark.parametrize(
    ("run", "qrels"),
    [
        ({"q": {"a": math.nan}}, {"q": {"a": 1}}),
        ({"q": {"a": math.inf}}, {"q": {"a": 1}}),
        ({"q": {"a": "1.0"}}, {"q": {"a": 1}}),
        ({"q": {"a": None}}, {"q": {"a": 1}}),
        ({1: {"a": 1.0}}, {"q": {"a": 1}}),
        ({"q": {"a": 1.0}}, {"q": {"a": math.nan}}),
        ({"q": {"a": 1.0}}, {"q": {"a": "1"}}),
        ({"q": {"a": 1.0}}, {"q": {"a": 2**31}}),
        ({"q": {"a": 1.0}}, {"other": {"a": 1}}),
        ({"q": {"a": 1.0}}, {}),
        ([{"query_id": "q", "doc_id": "a"}], {"q": {"a": 1}}),
        ([ScoredDoc("q", "a", 1.0), ScoredDoc("q", "a", 2.0)], {"q": {"a": 1}}),
        ({"q": {"a": 1.0}}, [Qrel("q", "a", 1), Qrel("q", "a", 0)]),
        (42, {"q": {"a": 1}}),
        ({"q": {"a": 1.0}}, 42),
    ],
)
def test_data_that_cannot_be_scored(run: object, qrels: object) -> None:
    with pytest.raises(rageval.InputError):
        rageval.evaluate("rr", run, qrels)


def test_a_frame_without_the_columns_of_a_run_is_refused() -> None:
    frame = pytest.importorskip("pandas").DataFrame({"qid": ["q"]})
    with pytest.raises(rageval.InputError):
        rageval.evaluate("rr", frame, {"q": {"a": 1}})


def test_measures_in_any_spelling() -> None:
    same = [
        "alpha_ndcg@10",
        "alpha-nDCG@10",
        "α-nDCG@10",
        "ALPHA_NDCG @10".replace(" ", ""),
        "αnDCG@10",
        "alpha_nDCG@10",
    ]
    assert {str(rageval.parse_measure(text)) for text in same} == {"alpha_ndcg@10"}
    pairs = {
        "R@50": "recall@50",
        "AP": "ap",
        "map": "ap",
        "P_10": "p@10",
        "recip_rank": "rr",
        "ERR-IA@5": "err_ia@5",
    }
    pairs |= {
        "StRecall@5": "strec@5",
        "AP_IA": "map_ia",
        "Success@1": "success@1",
        "alpha_ndcg(α=.7)": "alpha_ndcg(alpha=0.7)",
    }
    for typed, printed in pairs.items():
        assert str(rageval.parse_measure(typed)) == printed
    assert str(rageval.parse_measure("nDCG(judged_only=True)@5")) == "nDCG(judged_only=True)@5"
    assert str(rageval.parse_measure("Bpref(rel=2)")) == "Bpref(rel=2)"


def test_interop_with_ir_measures() -> None:
    import ir_measures

    from rageval import interop

    ours = interop.install()
    assert set(interop.install()) == set(ours)
    expected = [ours["coverage"] @ 1, ours["alpha_ndcg"](alpha=0.7) @ 2, ir_measures.RR]
    values = ir_measures.calc_aggregate(expected, JUDGED, RECORDS)
    assert values[expected[0]] == pytest.approx(0.5 / 3)
    assert (
        values[expected[1]]
        == rageval.evaluate("alpha_ndcg(alpha=0.7)@2", RUN, QRELS)["alpha_ndcg(alpha=0.7)@2"].value
    )
    assert values[expected[2]] == pytest.approx(1 / 3)


@pytest.mark.some(2)
@pytest.mark.parametrize("weigh", [False, True])
def test_an_evaluator_may_be_used_by_several_threads_at_once(weigh: bool) -> None:
    from concurrent.futures import ThreadPoolExecutor

    data = Path(__file__).parents[2] / "examples/data"
    runs = [data / "run.trec", data / "baseline.trec"]
    rows = [line.split() for line in (data / "qrels.nugget").read_text().splitlines()]
    weights: dict[str, dict[str, float]] = {}
    for index, (query, nugget, *_) in enumerate(rows):
        weights.setdefault(query, {}).setdefault(nugget, 1.0 + index % 3)
    # The greedy ideal goes deeper with each of them, and remembers how far it is.
    names = "alpha_ndcg@3, nnrbp, alpha_ndcg@20, nerr_ia@10"
    rules = {"intent_weights": weights} if weigh else {}
    alone = [rageval.evaluate(names, run, data / "qrels.nugget", **rules) for run in runs] * 4
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for _ in range(6):
                evaluator = rageval.Evaluator(names, data / "qrels.nugget", **rules)
                for one, other in zip(alone, pool.map(evaluator.evaluate, runs * 4), strict=True):
                    assert [score.by_query for score in one.values()] == [
                        score.by_query for score in other.values()
                    ]
    finally:
        sys.setswitchinterval(before)


def test_who_wants_an_ideal_while_another_thread_makes_it_deeper_begins_one_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from rageval.measures import ranking

    nuggets = {"n1": {"a": 1, "b": 1}, "n2": {"a": 1}, "n3": {"c": 1}}
    topic, within = ranking.Topic.of(nuggets), []
    take = ranking._Greedy._take_best

    def interrupted(greedy, *words):
        if not within:
            within.append([])
            within.append(topic.ideal(None, alpha=0.5))
        take(greedy, *words)

    monkeypatch.setattr(ranking._Greedy, "_take_best", interrupted)
    assert topic.ideal(None, alpha=0.5) == within[1] == [(1, 2.0), (2, 1.0), (3, 0.5)]
    assert topic.ideal(2, alpha=0.5) == [(1, 2.0), (2, 1.0)]


@pytest.mark.parametrize("tied", [2, 3])
def test_tied_scores_are_counted_where_they_are_refused(tied: int) -> None:
    run = {"q": dict.fromkeys("abc"[:tied], 1.0)}
    with pytest.raises(rageval.InputError, match=rf"is tied with .* \({tied - 1} tied rows of query q\)"):
        rageval.evaluate("p@1", run, {"q": {"a": 1}}, ties="error")
