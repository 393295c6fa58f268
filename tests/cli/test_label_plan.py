"""`rageval label plan`: what is drawn, from what, and that nobody can change it afterwards."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from labeling import lines
from rageval.cli import main
from rageval.comparison import Settings
from rageval.comparison.estimates import estimate_means
from rageval.files.plans import LabelPlan, read_plan
from rageval.pages.labels import _asks_in_order
from rageval.scoring.answers import evaluate_answers
from rageval.statistics.power import labels_needed
from snippets import ROOT

SAMPLES = ROOT / "examples/data/answers"
SYSTEMS = ("ours", "theirs")


def run(*words: object, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["label", "plan", *map(str, words)], prog_name="rageval")
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """CRAG's labels of 40 questions by a judge; one that failed, one that only one system answered."""
    rows = [
        {
            "query_id": f"q{number:02d}",
            "run_id": run,
            "label": "perfect",
            "rubric": "crag",
            "judge": "openai:secret",
        }
        for number in range(40)
        for run in SYSTEMS
    ]
    rows[5] |= {"status": "refused", "label": None}
    return lines(tmp_path / "judged.jsonl", [row for row in rows if row is not rows[8]])


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Answers that are the same for every fourth question."""
    rows = [
        {
            "query_id": f"q{number:02d}",
            "run_id": run,
            "answer": f"Text {number % 4 and run}.",
            "question": "Why?",
        }
        for number in range(40)
        for run in SYSTEMS
    ]
    return lines(tmp_path / "answers.jsonl", rows)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    rows = [{"query_id": f"q{number:02d}", "question": "Why?", "answer": "Because."} for number in range(40)]
    return lines(tmp_path / "questions.jsonl", rows)


def planned(tmp_path: Path, *words: object) -> LabelPlan:
    run(*words, "--overwrite", "-o", tmp_path / "ask.jsonl")
    return read_plan(str(tmp_path / "ask.jsonl"))


@pytest.mark.slow
def test_every_query_is_as_likely_as_any_other(tmp_path: Path, judged: Path) -> None:
    first: Counter[str] = Counter()
    for seed in range(60):
        first.update(planned(tmp_path, judged, "-n", 19, "--seed", seed).order)
    assert len(first) == 38
    assert max(first.values()) < 45  # 30 expected, 3.9 the standard deviation
    assert min(first.values()) > 15


def test_a_plan_that_ends_with_a_claim_names_it(tmp_path: Path) -> None:
    rows = [
        {"query_id": f"q{number}", "run_id": run, "label": "perfect", "rubric": "crag"}
        for number in range(90)
        for run in "ab"
    ]
    judged = lines(tmp_path / "judged.jsonl", rows)
    words = (judged, "-m", "crag_score", "--decide")
    plan = planned(tmp_path, *words, "b > a", "-n", 82)
    assert (plan.decide, plan.compare) == (("b", "a"), ("b", "a"))
    assert (plan.measure, plan.level) == ("crag_score", 0.95)
    for text, more, message in (
        ("b>a", ["-n", 19], "-n 19: expected 20 or more"),
        ("b", ["-n", 80], "expected 'A>B', two systems"),
        ("b>c", ["-n", 80], "expected two of the judged systems: a, b"),
        ("b>a", ["-n", 80, "--compare", "a", "c"], "expected 'a>c', as --compare says"),
    ):
        assert message in run(*words, text, *more, "-o", tmp_path / "new.jsonl", code=2).stderr
    result = run(judged, "--decide", "a>b", "-n", 80, "-o", tmp_path / "new.jsonl", code=2)
    assert "--decide needs -m MEASURE" in result.stderr


def test_a_plan_that_is_there_is_not_replaced_unless_asked(tmp_path: Path, judged: Path) -> None:
    place = tmp_path / "ask.jsonl"
    run(judged, "-n", 3, "-o", place)
    before = place.read_bytes()
    assert "must not change once labeling starts" in run(judged, "-n", 4, "-o", place, code=2).stderr
    assert place.read_bytes() == before
    run(judged, "-n", 4, "--overwrite", "-o", place)
    assert place.read_bytes() != before


def test_documents_of_runs(tmp_path: Path) -> None:
    data = ROOT / "examples/data"
    words = [data / name for name in ("run.trec", "baseline.trec", "qrels.nugget")]
    plan = planned(tmp_path, *words, "-n", 3, "--depth", 5)
    assert (plan.systems, plan.depth, plan.rubric.partition("@")[0]) == (
        ("run.trec", "baseline.trec"),
        5,
        "nugget-support",
    )
    for query in plan.asked:
        docs = list(dict.fromkeys(ask.item_id for ask in query.asks))
        assert 5 <= len(docs) <= 10
        assert docs == sorted(docs)
        assert {ask.run_id for ask in query.asks} == {"documents"}


def test_runs_are_compared_where_their_top_ranks_differ(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("".join(f"q{number} 0 a 1\n" for number in range(4)))
    for name, docs in (("one", "ab"), ("other", "ac")):
        ranks = [(q, doc, rank) for q in range(4) for rank, doc in enumerate(docs if q else "xy", 1)]
        rows = [f"q{q} Q0 {doc} {rank} {1 / rank:.3f} r\n" for q, doc, rank in ranks]
        (tmp_path / name).write_text("".join(rows))
    words = (tmp_path / "one", tmp_path / "other", tmp_path / "qrels", "--compare", "one", "other")
    plan = planned(tmp_path, *words, "-n", 3, "--depth", 2)
    assert (plan.same, plan.queries, plan.rest) == (("q0",), 4, 3)
    assert [ask.item_id for ask in plan.asked[0].asks] == ["a", "b", "c"]
    assert plan.rubric.partition("@")[0] == "relevance"
    result = run(*words, "-n", 1, "--depth", 1, "--overwrite", "-o", tmp_path / "ask.jsonl", code=2)
    assert "expected at most 0" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["crag.judged.jsonl", "-o", "ask.jsonl"], "expected -n N"),
        (["crag.judged.jsonl", "-n", "6", "-o", "ask.jsonl"], "-n 6: expected at most 5"),
        (["crag.judged.jsonl", "-n", "5"], "expected -o FILE.jsonl"),
        (["crag.judged.jsonl", "-n", "5", "-o", "crag.judged.jsonl"], "is also an input"),
        (
            ["crag.judged.jsonl", "-n", "5", "--compare", "ours", "none", "-o", "ask.jsonl"],
            "judged systems: ours, theirs",
        ),
        (
            ["crag.judged.jsonl", "liverag.judged.jsonl", "-n", "1", "-o", "ask.jsonl"],
            "by crag, liverag",
        ),
        (
            ["crag.judged.jsonl", "--rubric", "listwise", "-n", "1", "-o", "ask.jsonl"],
            "judges list, which people",
        ),
        (
            ["crag.judged.jsonl", "--rubric", "nuggetize", "-n", "1", "-o", "ask.jsonl"],
            "judges question, which",
        ),
        (["crag.judged.jsonl", "crag_score", "-n", "1", "-o", "ask.jsonl"], "name measures with -m"),
        (
            ["crag.judged.jsonl", "--answers", "rag24.jsonl", "-n", "1", "-o", "ask.jsonl"],
            "was judged, but its text is missing; pass the files",
        ),
        (
            ["crag.judged.jsonl", "--answers", "crag.answers.jsonl", "-n", "1", "-o", "ask.jsonl"],
            "no such question; expected it in --questions FILE",
        ),
    ],
)
def test_what_cannot_be_planned_says_why(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in SAMPLES.glob("*.jsonl"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    result = run(*words, code=2)
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "ask.jsonl").exists()


@pytest.fixture
def pilot(tmp_path: Path) -> tuple[Path, Path, LabelPlan]:
    """A judge's labels of 1,000 questions, and people's of 40 that a plan drew: these are stricter."""
    kinds = ("perfect", "acceptable", "missing", "incorrect")
    rows = [
        {"query_id": f"q{number:03d}", "run_id": run, "rubric": "crag", "judge": "openai:m"}
        | {"label": kinds[(number * (1 + (run == "b"))) % 4]}
        for number in range(1000)
        for run in "ab"
    ]
    judged = lines(tmp_path / "judged.jsonl", rows)
    plan = planned(tmp_path, judged, "-n", 40)
    labels = [
        row
        | {"judge": "person:kim", "plan": plan.sha, "label": "incorrect" if number % 7 < 3 else row["label"]}
        for number, row in enumerate(row for row in rows if row["query_id"] in plan.order)
    ]
    return judged, lines(tmp_path / "labels.jsonl", labels), plan


@pytest.mark.slow
def test_a_pilot_says_how_many_labels_a_width_needs(
    tmp_path: Path, pilot: tuple[Path, Path, LabelPlan]
) -> None:
    judged, labels, first = pilot
    words = (judged, "-m", "crag_score", "--pilot", labels, "--width")
    means = evaluate_answers("crag_score", [str(labels)])
    judges = evaluate_answers("crag_score", [str(judged)])
    numbers = []
    for name in "ab":
        queries = sorted(judges[name]["crag_score"].by_query)
        values = [judges[name]["crag_score"].by_query[query] for query in queries]
        people = {
            index: means[name]["crag_score"].by_query[q]
            for index, q in enumerate(queries)
            if q in first.order
        }
        numbers.append(labels_needed(values, people, 0.1, paired=False, span=2.0))
    plan = planned(tmp_path, *words, 0.1)
    assert len(plan.asked) == max(number for number in numbers if number)
    assert 40 < len(plan.asked) < 1000
    assert (plan.width, plan.extends, plan.order[:40]) == (0.1, first.sha, first.order)
    assert not planned(tmp_path, *words, 0.1, "--seed", 1).extends
    assert len(planned(tmp_path, *words, 0.1, "--compare", "a", "b").asked) != len(plan.asked)
    result = run(*words, 0.001, "-o", tmp_path / "none.jsonl", code=2)
    assert "impossible: N is too small: 1,000 queries can never give ± 0.001" in result.stderr
    assert not (tmp_path / "none.jsonl").exists()


@pytest.mark.slow
def test_labels_of_the_pilot_are_labels_of_the_plan_that_extends_it(
    tmp_path: Path, pilot: tuple[Path, Path, LabelPlan]
) -> None:
    judged, labels, _ = pilot
    words = ("compare", judged, "-m", "crag_score", "--gold", labels, "--format", "json", "--gold-chosen")
    planned(tmp_path, judged, "-m", "crag_score", "--pilot", labels, "--width", 0.1)
    result = CliRunner().invoke(main, [*map(str, words), str(tmp_path / "ask.jsonl")])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["pairs"][0]["labels"] == 40
    planned(tmp_path, judged, "-n", 300)
    result = CliRunner().invoke(main, [*map(str, words), str(tmp_path / "ask.jsonl")])
    assert result.exit_code == 2
    assert "is a label of the plan" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--width", "0.1"],
            "--width W also needs --pilot LABELS.jsonl, with 30 or more labels, and -m MEASURE",
        ),
        (["--width", "0.1", "--pilot", "labels.jsonl"], "--width W also needs --pilot LABELS.jsonl"),
        (["-n", "5", "--pilot", "labels.jsonl", "-m", "crag_score"], "--width W also needs --pilot"),
        (["-n", "5", "--width", "0.1"], "expected -n N, the number of queries to label, or --width W"),
        (["--width", "0", "--pilot", "labels.jsonl", "-m", "crag_score"], "0"),
        (
            ["--width", "0.1", "--pilot", "few.jsonl", "-m", "crag_score"],
            "--pilot: labels for 10 of it (≥ 20 needed)",
        ),
        (
            ["--width", "0.1", "--pilot", "some.jsonl", "-m", "crag_score"],
            "the pilot has 25 labels (30 are needed)",
        ),
    ],
)
@pytest.mark.slow
def test_a_width_needs_a_pilot_that_is_large_enough(
    words: list[str],
    message: str,
    tmp_path: Path,
    pilot: tuple[Path, Path, LabelPlan],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [json.loads(line) for line in pilot[1].read_text().splitlines()]
    lines(tmp_path / "few.jsonl", rows[:20])
    lines(tmp_path / "some.jsonl", rows[:50])
    monkeypatch.chdir(tmp_path)
    assert message in run("judged.jsonl", *words, "-o", "new.jsonl", code=2).stderr
    assert not (tmp_path / "new.jsonl").exists()


def test_a_pilot_of_documents(tmp_path: Path) -> None:
    judged, people = [], []
    for number in range(300):
        judged += [f"q{number} 0 d{rank} {int((number + rank) % 3 == 0)}\n" for rank in range(4)]
        if number % 7 == 0:
            people += [
                f"q{number} 0 d{rank} {int((number + rank) % 3 == 0 and number % 2)}\n" for rank in range(4)
            ]
    (tmp_path / "qrels").write_text("".join(judged))
    (tmp_path / "people.qrels").write_text("".join(people))
    (tmp_path / "run").write_text(
        "".join(f"q{number} Q0 d{r} {r + 1} {9 - r} r\n" for number in range(300) for r in range(4))
    )
    words = (tmp_path / "run", tmp_path / "qrels", "-m", "P@4", "--pilot", tmp_path / "people.qrels")
    plan = planned(tmp_path, *words, "--width", 0.03)
    assert 43 < len(plan.asked) < 300
    assert plan.measure == "p@4"


def test_as_many_documents_are_labeled_as_the_measure_looks_at(tmp_path: Path) -> None:
    data = ROOT / "examples/data"
    words = [data / name for name in ("run.trec", "baseline.trec", "qrels.nugget")]
    assert planned(tmp_path, *words, "-n", 1).depth == 10
    assert planned(tmp_path, *words, "-n", 1, "-m", "alpha_ndcg@5").depth == 5
    assert planned(tmp_path, *words, "-n", 1, "-m", "alpha_ndcg@5", "--depth", 7).depth == 7
    place = ("-n", 1, "-o", tmp_path / "new.jsonl")
    result = run(*words, *place, "-m", "recall@20", "--depth", 10, code=2)
    assert "-m recall@20: uses 20 documents of each run; expected --depth 20 or more" in result.stderr
    assert "-m map: uses whole rankings" in run(*words, *place, "-m", "map", code=2).stderr
    assert "rubric crag: judges answer; with runs" in run(*words, *place, "--rubric", "crag", code=2).stderr


class TestPairs:
    """Battles for people: few pairs of answers, balanced, and where ranks touch."""

    RUNS = "abcde"

    @pytest.fixture
    def graded(self, tmp_path: Path) -> Path:
        rows = [
            {"query_id": f"q{number:02d}", "run_id": run, "label": "perfect", "rubric": "crag", "judge": "m"}
            for number in range(40)
            for run in self.RUNS
        ]
        lines(
            tmp_path / "answers.jsonl",
            (
                {"query_id": f"q{number:02d}", "run_id": run, "answer": f"{run}.", "question": "Why?"}
                for number in range(40)
                for run in self.RUNS
            ),
        )
        return lines(tmp_path / "judged.jsonl", rows)

    def compared(self, plan: LabelPlan, path: Path, outcome: Callable[[str, str], str]) -> Path:
        """What people say of the pairs of a plan."""
        other = {"win": "loss", "loss": "win", "tie": "tie"}
        rows = []
        for query in plan.asked:
            for first, second in (ask.pair for ask in query.asks if ask.pair):
                label = outcome(first, second)
                for run, got in ((first, label), (second, other[label])):
                    rows.append(
                        {"query_id": query.query_id, "run_id": run, "label": got, "rubric": "pairwise",
                         "aspect": f"{first} | {second}", "shown": [first, second], "judge": "person:kim",
                         "battles": plan.battles}
                    )  # fmt: skip
        return lines(path, rows)

    def test_a_page_keeps_the_places_balanced(self, tmp_path: Path, graded: Path) -> None:
        plan = planned(tmp_path, graded, "--pairs", "-n", 30, "--answers", tmp_path / "answers.jsonl")
        drawn = {(query.query_id, *ask.pair) for query in plan.asked for ask in query.asks if ask.pair}
        turned = set()
        for annotator in "kimsascha":
            asks = list(_asks_in_order(plan, random.Random(annotator), {}))
            shown = {(ask["place"]["query_id"], *ask["place"]["shown"]) for ask in asks}
            assert {ask["place"]["battles"] for ask in asks} == {"30/400@0"}
            assert shown in (drawn, {(query, second, first) for query, first, second in drawn})
            turned.add(shown == drawn)
        assert turned == {True, False}

    def test_labels_make_an_arena_and_a_pilot(self, tmp_path: Path, graded: Path) -> None:
        """e always wins against all, and the others tie: they touch, and e is decided."""
        plan = planned(tmp_path, graded, "--pairs", "-n", 60)
        labels = self.compared(plan, tmp_path / "kim.jsonl", lambda *pair: winner("e", *pair))
        result = CliRunner().invoke(main, ["arena", str(labels), "--format", "json"])
        rows = json.loads(result.stdout)
        assert [row["system"] for row in rows] == ["e", "a", "b", "c", "d"]
        assert (rows[0]["strength"], rows[0]["rank_high"]) == (None, 1)
        assert "|battles:60/400@0|" in rows[0]["signature"]
        assert "e never lost" in result.stderr
        more = planned(tmp_path, graded, "--pairs", "-n", 30, "--pilot", labels)
        pairs = [ask.pair for query in more.asked for ask in query.asks if ask.pair]
        assert len(pairs) == 30
        assert not [pair for pair in pairs if "e" in pair]
        before = {(query.query_id, *sorted(ask.pair or ())) for query in plan.asked for ask in query.asks}
        assert not before & {
            (query.query_id, *sorted(ask.pair or ())) for query in more.asked for ask in query.asks
        }
        assert more.battles.startswith("30/400@0+")

    def test_of_a_judges_battles_the_same_pairs(self, tmp_path: Path, graded: Path) -> None:
        """Labels of others could correct nothing."""
        plan = planned(tmp_path, graded, "--pairs", "-n", 40)
        judged = self.compared(plan, tmp_path / "pairs.jsonl", lambda *pair: winner("e", *pair))
        judged.write_text(judged.read_text().replace("person:kim", "openai:m"))
        some = planned(tmp_path, judged, "--pairs", "-n", 20)
        assert some.battles == "20/40@0"
        places = [
            {(query.query_id, *sorted(ask.pair or ())) for query in of.asked for ask in query.asks}
            for of in (some, plan)
        ]
        assert places[0] <= places[1]

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (["-n", "30", "--by", "doubt"], "leave out --by"),
            (["-n", "30", "--compare", "a", "b"], "leave out --compare"),
            (
                ["-n", "30", "--rubric", "crag"],
                "rubric crag judges answer; use a rubric that compares",
            ),
            (["-n", "401"], "401 pairs of answers to draw: expected at most 400"),
        ],
    )
    def test_what_does_not_go_with_pairs(
        self, more: list[str], message: str, tmp_path: Path, graded: Path
    ) -> None:
        result = run(graded, "--pairs", *more, "-o", tmp_path / "x.jsonl", code=2)
        assert message in result.stderr


def winner(best: str, first: str, second: str) -> str:
    return "win" if first == best else "loss" if second == best else "tie"


class TestClusters:
    """Whole conversations are drawn, or clusters of a field, and estimates know it."""

    LABELS = ("perfect", "missing", "incorrect")

    def world(self, folder: Path, number: int = 24) -> tuple[Path, Path]:
        """Conversations of one to five turns; people's labels are alike within one."""
        rng = random.Random(3)
        names = [f"c{conversation:02d}.{turn}" for conversation in range(number)
                 for turn in range(1 + conversation % 5)]  # fmt: skip
        questions = [
            {
                "query_id": name,
                "question": "?",
                "conversation_id": name[:3],
                "page": f"p{int(name[1:3]) // 2}",
            }
            for name in names
        ]
        rows = [
            {
                "query_id": name,
                "run_id": run,
                "rubric": "crag",
                "label": rng.choice(self.LABELS),
                "judge": "m",
            }
            for name in names
            for run in SYSTEMS
        ]
        moods = {f"c{index:02d}": rng.choice(self.LABELS) for index in range(number)}
        people = [{**row, "label": moods[row["query_id"][:3]], "judge": "person:kim"} for row in rows]
        lines(folder / "people.jsonl", people)
        return lines(folder / "judged.jsonl", rows), lines(folder / "questions.jsonl", questions)

    @pytest.mark.parametrize(("more", "width"), [((), 3), (("--cluster", "page"), 3)])
    def test_whole_clusters_are_drawn(self, more: tuple[str, ...], width: int, tmp_path: Path) -> None:
        judged, questions = self.world(tmp_path)
        result = run(judged, "--questions", questions, "-n", 10, *more, "-o", tmp_path / "ask.jsonl")
        plan = read_plan(str(tmp_path / "ask.jsonl"))
        by = more[-1] if more else "conversation_id"
        clusters = list(dict.fromkeys(plan.clusters[query] for query in plan.order))
        assert (len(clusters), plan.clustered_by) == (10, by)
        assert f"these are 10 whole clusters of {12 if more else 24}, by {by}" in result.stderr
        expected = [query for name in clusters for query in sorted(plan.clusters)
                    if plan.clusters[query] == name]  # fmt: skip
        assert list(plan.order) == expected
        assert plan.inclusion == 10 / (12 if more else 24)

    def test_single_queries_on_request(self, tmp_path: Path) -> None:
        judged, questions = self.world(tmp_path)
        plan = planned(tmp_path, judged, "--questions", questions, "-n", 10, "--cluster", "none")
        assert (len(plan.asked), plan.clusters) == (10, {})

    def test_the_corrected_estimate_counts_clusters(self, tmp_path: Path) -> None:
        """Of a field that neither judgements nor answers name: the plan is enough."""
        judged, questions = self.world(tmp_path)
        plan = planned(tmp_path, judged, "--questions", questions, "-n", 11, "--cluster", "page")
        rows = [json.loads(line) for line in (tmp_path / "people.jsonl").read_text().splitlines()]
        people = lines(tmp_path / "some.jsonl", [row for row in rows if row["query_id"] in plan.order])
        given = {"gold": str(people), "gold_chosen": str(tmp_path / "ask.jsonl")}
        scores = evaluate_answers("crag_score", str(judged), **given)["ours"]
        (by_plan,) = estimate_means(scores.scores)
        (as_if,) = estimate_means(scores.scores, Settings(clusters=plan.clusters))
        assert (by_plan.low, by_plan.high) == (as_if.low, as_if.high)
        uniform = evaluate_answers("crag_score", str(judged), gold=str(people), gold_chosen="uniform")["ours"]
        (alone,) = estimate_means(uniform.scores)
        assert by_plan.high - by_plan.low > 1.2 * (alone.high - alone.low)
        words = ("compare", str(judged), "-m", "crag_score", "--gold", str(people), "--gold-chosen")
        result = CliRunner().invoke(main, [*words, str(tmp_path / "ask.jsonl"), "--format", "json"])
        assert "|units:page|" in json.loads(result.stdout)["signature"]
        labels = ("--gold-chosen", str(tmp_path / "ask.jsonl"), "--format", "json")
        words_of = ("label", "correct", str(judged), "-m", "crag_score", "--gold", str(people))
        rows = json.loads(CliRunner().invoke(main, [*words_of, *labels]).stdout)["results"]
        (corrected,) = (row for row in rows if row["run"] == "ours")
        assert (corrected["low"], corrected["high"]) == pytest.approx((by_plan.low, by_plan.high))
        agreement = CliRunner().invoke(main, ["label", "agree", str(judged), str(people), *labels])
        assert "12 clusters (page)" in agreement.stderr
        refused = CliRunner().invoke(main, [*words, str(tmp_path / "ask.jsonl"), "--cluster", "none"])
        assert refused.exit_code == 2
        assert "a plan that drew whole clusters" in refused.stderr

    def test_doubt_draws_single_queries(self, tmp_path: Path) -> None:
        judged, questions = self.world(tmp_path)
        result = run(
            judged, "--questions", questions, "-n", 10, "--by", "doubt", "-o", tmp_path / "x", code=2
        )
        assert "--by doubt draws single queries, but these are in clusters" in result.stderr
