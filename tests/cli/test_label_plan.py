"""`rageval label plan`: what is drawn, from what, and that nobody can change it afterwards."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from labeling import lines
from rageval.cli import main
from rageval.files.plans import LabelPlan, read_plan
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


def test_the_same_seed_gives_the_same_bytes_and_another_another_order(tmp_path: Path, judged: Path) -> None:
    contents = []
    for seed in (3, 3, 4):
        planned(tmp_path, judged, "-n", 10, "--seed", seed)
        contents.append((tmp_path / "ask.jsonl").read_bytes())
    assert contents[0] == contents[1] != contents[2]


def test_a_larger_plan_begins_with_the_smaller_one(tmp_path: Path, judged: Path) -> None:
    orders = [planned(tmp_path, judged, "-n", number).order for number in (3, 10, 38)]
    assert orders[0] == orders[1][:3] == orders[2][:3]
    assert orders[1] == orders[2][:10]


def test_the_order_of_the_file_does_not_matter(tmp_path: Path, judged: Path) -> None:
    before = planned(tmp_path, judged, "-n", 10).order
    judged.write_text("".join(sorted(judged.read_text().splitlines(keepends=True), key=hash)))
    assert planned(tmp_path, judged, "-n", 10).order == before


def test_only_what_was_judged_of_all_systems_is_asked(tmp_path: Path, judged: Path) -> None:
    plan = planned(tmp_path, judged, "-n", 38)
    assert (plan.queries, plan.systems, plan.rubric.partition("@")[0]) == (38, SYSTEMS, "crag")
    assert sorted(plan.order) == sorted({f"q{number:02d}" for number in range(40)} - {"q02", "q04"})
    assert {tuple(ask.run_id for ask in query.asks) for query in plan.asked} == {SYSTEMS}
    result = run(judged, "-n", 38, "--overwrite", "-o", tmp_path / "ask.jsonl")
    assert "2 queries lack a system or a verdict" in result.stderr


@pytest.mark.slow
def test_every_query_is_as_likely_as_any_other(tmp_path: Path, judged: Path) -> None:
    first: Counter[str] = Counter()
    for seed in range(60):
        first.update(planned(tmp_path, judged, "-n", 19, "--seed", seed).order)
    assert len(first) == 38
    assert max(first.values()) < 45  # 30 expected, 3.9 the standard deviation
    assert min(first.values()) > 15


def test_a_comparison_asks_only_where_answers_differ(
    tmp_path: Path, judged: Path, answers: Path, questions: Path
) -> None:
    words = (judged, "-n", 29, "--answers", answers, "--questions", questions)
    plan = planned(tmp_path, *words, "--compare", "ours", "theirs")
    assert plan.compare == SYSTEMS
    assert set(plan.same) == {f"q{number:02d}" for number in range(0, 40, 4)} - {"q04"}
    assert (plan.queries, plan.rest, plan.share, plan.inclusion) == (38, 29, 29 / 38, 1.0)
    assert planned(tmp_path, judged, "-n", 19).inclusion == 0.5
    assert set(plan.order).isdisjoint(plan.same)
    assert not planned(tmp_path, *words).same
    result = run(
        *words[:2], 30, *words[3:], "--compare", "ours", "theirs", "-o", tmp_path / "b.jsonl", code=2
    )
    assert (
        "expected at most 29, the queries that can be labeled (9 more have the same answers)" in result.stderr
    )
    result = run(judged, "-n", 9, "--compare", "ours", "theirs", "-o", tmp_path / "b.jsonl")
    assert "without --answers it is unknown where both systems gave the same answer" in result.stderr


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


CASES: dict[str, tuple[list[str], str, dict[str, float], int, set[str]]] = {
    "support of nuggets": (
        ["assignments.jsonl", "--answers", "both.jsonl", "--nuggets", "nuggets.jsonl"],
        "label",
        {"support": 1.0, "partial_support": 0.5, "not_support": 0.0},
        4,
        {"question", "answer"},
    ),
    "citations": (
        ["support.judged.jsonl", "--answers", "rag24.jsonl", "--passages", "segments.jsonl"],
        "label",
        {"full_support": 1.0, "partial_support": 0.5, "no_support": 0.0},
        2,
        {"sentence", "passage"},
    ),
    "pairs": (
        [
            "crag.judged.jsonl",
            "--rubric",
            "pairwise",
            "--answers",
            "crag.answers.jsonl",
            "--questions",
            "crag.jsonl",
        ],
        "pair",
        {"a": 1.0, "b": 0.0, "tie": 0.5},
        1,
        {"question", "answer_a", "answer_b"},
    ),
    "criteria": (
        ["rubrics.judged.jsonl"],
        "label",
        {"support": 1.0, "partial_support": 0.5, "not_support": 0.0},
        4,
        set(),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_all_that_people_can_label(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words, kind, labels, asks, shown = CASES[name]
    for path in SAMPLES.glob("*.jsonl"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    text = (SAMPLES / "rag24.jsonl").read_text()
    (tmp_path / "both.jsonl").write_text(text + text.replace('"sample-24"', '"baseline-24"'))
    monkeypatch.chdir(tmp_path)
    plan = planned(tmp_path, *words, "-n", 1)
    (query,) = plan.asked
    assert (plan.kind, plan.labels, len(query.asks)) == (kind, labels, asks)
    assert {key for context in query.contexts for key in context} == shown
    if name == "support of nuggets":  # the judge names nuggets by their texts
        assert {ask.text for ask in query.asks} == {ask.aspect for ask in query.asks}
        assert {ask.importance for ask in query.asks} <= {"vital", "okay"}
    if name == "citations":
        assert {ask.sentences for ask in query.asks} == {2}
        assert query.contexts[0]["passage"].startswith("Yeast\n")


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


def test_criteria_are_met_or_not(tmp_path: Path) -> None:
    plan = planned(tmp_path, SAMPLES / "rubrics.judged.jsonl", "-n", 2)
    assert plan.rubric.partition("@")[0] == "rubric"
    assert plan.names == {"support": "met", "partial_support": "partly", "not_support": "not"}
    assert "Some describe a fault" in plan.instructions


def test_documents_that_a_judge_judged_in_lines(tmp_path: Path) -> None:
    place = {"query_id": "q", "run_id": "documents", "rubric": "relevance", "label": "related"}
    judged = lines(tmp_path / "judged.jsonl", [{**place, "item_id": doc} for doc in ("d1", "d2")])
    corpus = lines(
        tmp_path / "corpus.jsonl", [{"id": doc, "text": f"Text {doc}"} for doc in ("d1", "d2", "d3")]
    )
    asked = lines(tmp_path / "questions.jsonl", [{"query_id": "q", "question": "Why?"}])
    plan = planned(tmp_path, judged, "--passages", corpus, "--questions", asked, "-n", 1)
    (query,) = plan.asked
    assert [context["passage"] for context in query.contexts] == ["Text d1", "Text d2"]
    assert [ask.item_id for ask in query.asks] == ["d1", "d2"]


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


def test_the_same_answer_from_other_passages_is_labeled_where_these_are_judged(tmp_path: Path) -> None:
    answers = [
        {
            "query_id": f"q{number}",
            "run_id": run,
            "answer": "So.",
            "passages": [{"id": "d", "text": run if number else "P"}],
        }
        for number in range(2)
        for run in "ab"
    ]
    lines(tmp_path / "answers.jsonl", answers)
    lines(
        tmp_path / "questions.jsonl",
        [{"query_id": f"q{number}", "question": "?", "answer": "So."} for number in range(2)],
    )
    rows = [{"query_id": f"q{number}", "run_id": run, "grade": 1} for number in range(2) for run in "ab"]
    words = (
        "--compare",
        "a",
        "b",
        "--answers",
        tmp_path / "answers.jsonl",
        "--questions",
        tmp_path / "questions.jsonl",
    )
    judged = lines(
        tmp_path / "faith.jsonl", [{**row, "rubric": "liverag", "aspect": "faithfulness"} for row in rows]
    )
    plan = planned(tmp_path, judged, *words, "-n", 1)
    assert (plan.order, plan.same) == (("q1",), ("q0",))
    rows = [{key: value for key, value in row.items() if key != "grade"} for row in rows]
    judged = lines(tmp_path / "crag.jsonl", [{**row, "rubric": "crag", "label": "perfect"} for row in rows])
    result = run(judged, *words, "-n", 1, "-o", tmp_path / "new.jsonl", code=2)
    assert (
        "expected at most 0, the queries that can be labeled (2 more have the same answers)" in result.stderr
    )
