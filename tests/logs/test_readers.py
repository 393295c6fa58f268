"""Each tool's log against one truth: five questions, what was answered, retrieved and said of the answers."""

from __future__ import annotations

import hashlib
import json
import shutil
import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from declared import require_same
from rageval import logs
from rageval.errors import InputError, UsageError
from rageval.logs import Log, parting
from rageval.logs.outputs import LogFiles
from rageval.logs.readers import TOOLS, read_into
from spoilt_logs import files_of

LOGS = Path(__file__).parents[1] / "golden" / "logs"
QUESTIONS = {
    "a1": "How long can a parcel be returned?",
    "a2": "What does a return cost?",
    "a3": "From which amount is shipping free?",
    "a4": "Who repairs a broken kettle?",
    "a5": "Who is the king of the moon?",
}
ANSWERS = {
    "a1": "Within 30 days of delivery.",
    "a2": "4 euros, and nothing for members.",
    "a3": "From 60 euros.",
    "a4": "I don't know.",
    "a5": "I don't know.",
}
GOLD = {
    "a1": "30 days after delivery",
    "a2": "4 euros; free for members",
    "a3": "50 euros",
    "a4": "The workshop in Ghent",
}
RETRIEVED = {
    "a1": ["returns.md#0", "returns.md#1"],
    "a2": ["returns.md#1", "shipping.md#0"],
    "a3": ["shipping.md#0"],
    "a4": ["shipping.md#1"],
    "a5": [],
}
SCORES = {"a1": [0.91, 0.62], "a2": [0.88, 0.41], "a3": [0.9], "a4": [0.2]}
TEXTS = {
    "returns.md#0": "A parcel can be returned within 30 days of delivery.",
    "returns.md#1": "The fee for a return is 4 euros; members pay nothing.",
    "shipping.md#0": "Shipping is free from 50 euros.",
    "shipping.md#1": "We ship to 14 countries.",
}
RIGHT = {"a1": 1.0, "a2": 1.0, "a3": 0.0, "a4": 0.0, "a5": 1.0}
FILES = sorted(str(path.relative_to(LOGS)) for path in LOGS.glob("*/*.*"))
_PROMPTFOO = {
    "contexts": "response.metadata.retrieved[].text",
    "context_ids": "response.metadata.retrieved[].id",
}
_INSPECT = {
    "contexts": "metadata.retrieved[].text",
    "context_ids": "metadata.retrieved[].id",
    "context_scores": "metadata.retrieved[].score",
}
MAPS = {
    "promptfoo": _PROMPTFOO,
    "inspect": _INSPECT,
    "deepeval/latest_test_run.json": {"context_ids": "metadata.ids[]"},
    "deepeval/dataset.json": {"context_ids": "additional_metadata.ids[]"},
    "deepeval/dataset.jsonl": {"context_ids": "additional_metadata.ids[]"},
    "lm-eval": {"contexts": "doc.contexts[]"},
}
OWN_IDS = {"ragas", "lm-eval"}  # which have no ids of passages
AGENTS = {"messages": ["search"], "tau-bench": [], "every-eval-ever": ["search"]}  # and what searches
NO_QUERY_IDS = {"ragas/", "deepeval/dataset", "langfuse/observations"}


def read(name: str, path: Path | None = None) -> Log:
    """The log of this name, or a copy of it."""
    mapping = MAPS.get(name) or MAPS.get(name.partition("/")[0])
    split = {"contexts": "|"} if name == "deepeval/dataset.jsonl" else None
    tools = ["search_*"] if name == "tau-bench/results.json" else AGENTS.get(name.partition("/")[0], [])
    return logs.read(str(path or LOGS / name), mapping, split=split, search_tools=tools)


def by_question(log: Log, name: str) -> dict[str, str]:
    """The ids of the five questions, whatever the log calls them."""
    ids = {question.text: question.query_id for question in log.questions}
    require_same(ids, QUESTIONS.values(), f"tests/golden/logs/{name}, a log of the five questions")
    query_ids = {query: ids[text] for query, text in QUESTIONS.items()}
    hashed = {query: hashlib.sha256(text.encode()).hexdigest()[:12] for query, text in QUESTIONS.items()}
    is_listed = any(name.startswith(prefix) for prefix in NO_QUERY_IDS)
    where = f"{'remove from' if is_listed else 'add to'} NO_QUERY_IDS of tests/logs/test_readers.py"
    assert (query_ids == hashed) == is_listed, f"{name}: {where}"
    assert is_listed or query_ids == {query: query for query in QUESTIONS}
    return query_ids


# The first has questions of its own, the second has none; the others are in test_conversation_logs.py.
NOT_THE_TOY = ("open-rag-eval", "browsecomp-plus", "ikat", "crag-mm")
OF_THE_TOY = [name for name in FILES if not name.startswith(NOT_THE_TOY)]


def test_every_tool_has_a_sample_and_every_sample_a_reader() -> None:
    sampled = {name.partition("/")[0] for name in FILES}
    require_same(sampled, TOOLS, "tests/golden/logs/, a folder with a log of the five questions")


@pytest.mark.parametrize("name", OF_THE_TOY)
def test_ids_answers_and_gold(name: str) -> None:
    log = read(name)
    tool = name.partition("/")[0]
    assert log.tool == tool
    ids = by_question(log, name)
    answers: dict[str, set[str]] = {}
    for answer in log.answers:
        answers.setdefault(answer.query_id, set()).add(answer.text)
    expected = (
        {query: {"lol"} for query in QUESTIONS} if tool == "lm-eval" else {q: {a} for q, a in ANSWERS.items()}
    )
    assert answers == {ids[query]: texts for query, texts in expected.items()}
    gold = {question.query_id: question.gold for question in log.questions if question.gold}
    if tool in ("inspect", "ragas", "deepeval", "lm-eval", "mlflow", "autorag", "every-eval-ever", "mt-rag"):
        assert {query: gold[ids[query]] for query in GOLD} == {query: (text,) for query, text in GOLD.items()}
    else:
        assert not gold


@pytest.mark.parametrize("name", OF_THE_TOY)
def test_what_was_retrieved(name: str) -> None:
    log = read(name)
    tool, ids = name.partition("/")[0], by_question(log, name)
    notes = [remark for remark in map(str, log.remarks) if "using a hash" in remark]
    where = f"{'remove from' if tool in OWN_IDS else 'add to'} OWN_IDS of tests/logs/test_readers.py"
    assert bool(notes) == (tool in OWN_IDS), f"{tool}: {where}"
    ids_of = {doc: hashlib.sha256(text.encode()).hexdigest()[:16] for doc, text in TEXTS.items()}
    called = ids_of if tool in OWN_IDS else {doc: doc for doc in TEXTS}
    expected = {ids[query]: [called[doc] for doc in docs] for query, docs in RETRIEVED.items() if docs}
    if tool in AGENTS:  # which see documents, but rank none
        seen = {step["query_id"]: step["docs"] for step in log.steps if "docs" in step}
        assert (seen, log.run) == (expected, {})
        return
    (ranking,) = log.run.values()
    documents: dict[str, list[str]] = {}
    scores: dict[str, list[float]] = {}
    for doc in ranking:
        documents.setdefault(doc.query_id, []).append(doc.doc_id)
        scores.setdefault(doc.query_id, []).append(doc.score)
    assert documents == expected
    has_scores = tool in ("inspect", "otel", "mlflow", "langfuse", "langsmith", "autorag", "mt-rag")
    ranks = {
        query: [1 / rank for rank in range(1, len(docs) + 1)] for query, docs in RETRIEVED.items() if docs
    }
    assert scores == {ids[query]: item for query, item in (SCORES if has_scores else ranks).items()}
    assert log.passages == {called[doc]: text for doc, text in TEXTS.items()}


@pytest.mark.parametrize(
    ("name", "aspect", "judge"),
    [
        ("promptfoo/results.json", "has-key-fact", "promptfoo"),
        ("promptfoo/results.jsonl", "has-key-fact", "promptfoo"),
        ("deepeval/latest_test_run.json", "Key_fact", "deepeval:rule"),
        ("mlflow/traces.jsonl", "key_fact", "mlflow"),
        ("mlflow/result_df.jsonl", "key_fact", "mlflow"),
        ("inspect/log.eval", "complete", "inspect"),
    ],
)
def test_what_was_said_of_the_answers(name: str, aspect: str, judge: str) -> None:
    log = read(name)
    judgements = [judgement for judgement in log.judgements if judgement["aspect"] == aspect]
    assert {judgement["query_id"]: judgement["grade"] for judgement in judgements} == RIGHT
    assert {judgement["judge"] for judgement in judgements} == {judge}
    if name.partition("/")[0] != "inspect":  # whose grade is a number and no verdict
        assert {judgement["label"] == "pass" for judgement in judgements if judgement["grade"]} == {True}
        assert {judgement["label"] for judgement in judgements if not judgement["grade"]} == {"fail"}


def test_labels_of_inspect_are_kept_beside_their_worth() -> None:
    judgements = [
        judgement for judgement in read("inspect/log.json").judgements if judgement["aspect"] == "judged"
    ]
    assert [(judgement["label"], judgement["grade"]) for judgement in judgements] == [
        *(("C", 1.0), ("P", 0.5), ("I", 0.0), ("N", 0.0), ("N", 0.0))
    ]


@pytest.mark.parametrize(
    "names",
    [
        ("inspect/log.json", "inspect/log.eval"),
        ("ragas/result.jsonl", "ragas/result.csv", "ragas/result.parquet"),
        ("otel/otlp.json", "otel/spans.jsonl"),
        ("promptfoo/results.json", "promptfoo/results.jsonl"),
        ("mlflow/traces.jsonl", "mlflow/result_df.jsonl"),
        ("deepeval/dataset.json", "deepeval/dataset.jsonl"),
    ],
)
def test_the_forms_of_one_log_are_equal_byte_for_byte(names: tuple[str, ...]) -> None:
    read_logs = [read(name) for name in names]
    for step in (step for log in read_logs for step in log.steps):
        step.pop("seconds", None)  # the SDK prints microseconds
    first, *others = map(files_of, read_logs)
    assert first["answers.jsonl"]
    for other in others:
        assert other == first


@pytest.mark.some(3)
@pytest.mark.parametrize("name", FILES)
def test_a_log_is_told_by_its_content(name: str, tmp_path: Path) -> None:
    other = tmp_path / "renamed.txt"
    shutil.copy(LOGS / name, other)
    assert files_of(read(name, other)) == files_of(read(name))


def test_rows_of_open_rag_eval_are_passages() -> None:
    log = read("open-rag-eval/results.csv")
    assert len(log.questions) == 6
    by_id = {(answer.query_id, answer.repeat): answer for answer in log.answers}
    assert len(by_id) == 7  # query_6 was run twice
    first = by_id["query_1", "1"]
    docs = first.references
    assert [sentence.citations for sentence in first.sentences] == [(docs[0],), (docs[1], docs[2]), (None,)]
    third = by_id["query_3", "1"]  # whose passages are [2] and [3]
    assert third.sentences[0] == ("Seven", (third.references[0],))
    assert by_id["query_4", "1"].sentences[0].text.endswith("financial instruments.")


def test_the_repeats_of_a_list_variable_are_of_one_question() -> None:
    log = read("promptfoo/results.json")
    assert len(log.answers) == 7
    assert [(answer.query_id, answer.repeat) for answer in log.answers][:4] == [
        *(("a1", "1"), ("a1", "2"), ("a2", "1"), ("a2", "2"))
    ]


def test_what_should_be_retrieved_is_gold() -> None:
    log = read("autorag/nodes.parquet")
    assert [tuple(qrel)[:3] for qrel in log.gold] == [
        *(
            ("a1", "returns.md#0", 1),
            ("a2", "returns.md#1", 1),
            ("a3", "shipping.md#0", 1),
            ("a4", "shipping.md#1", 1),
        )
    ]


def test_people_are_a_judge_of_their_own() -> None:
    log = read("langfuse/traces.jsonl")
    judges = {
        (judgement["judge"], judgement["grade"])
        for judgement in log.judgements
        if judgement["query_id"] == "a1"
    }
    assert judges == {("langfuse:EVAL", 1.0), ("person:langfuse", 0.0)}
    files = files_of(log)
    assert len(files["judged.jsonl"]) == len(files["people.jsonl"]) == 5


def test_means_over_feedback_are_no_judgements() -> None:
    log = read("langsmith/runs.jsonl")
    assert log.judgements == []
    assert any("feedback_stats (correctness) are means" in remark for remark in map(str, log.remarks))


def test_the_trace_of_an_answer_is_kept() -> None:
    log = read("mlflow/traces.jsonl")
    assert len(log.traces) == 5
    assert all(judgement["trace_id"].startswith("tr-") for judgement in log.judgements)
    assert all('"trace_id":"tr-' in line for line in files_of(log)["answers.jsonl"])


def test_joined_passages_are_refused_unless_somebody_says_what_joins_them() -> None:
    path = str(LOGS / "deepeval" / "dataset.jsonl")
    with pytest.raises(InputError, match=r"dataset\.jsonl:1: retrieval_context is one text .* --split"):
        logs.read(path)


def test_a_reader_can_be_named_and_a_wrong_one_is_refused() -> None:
    path = str(LOGS / "ragas" / "result.jsonl")
    assert logs.read(path, tool="ragas").tool == "ragas"
    with pytest.raises(InputError, match="is not a log of promptfoo; 5 records: user_input text 5/5"):
        logs.read(path, tool="promptfoo")
    with pytest.raises(UsageError, match="did you mean ragas"):
        logs.read(path, tool="ragass")


def test_a_plug_in_reads_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from rageval.logs import readers

    def rows(content: Any, how: logs.LogReading) -> Any:
        for record in content.records():
            yield logs.Row(record.where, record.value()["frage"], record.value()["antwort"])

    mine = logs.LogReader("mine", lambda content: "frage" in content.first.keys(), rows)  # noqa: SIM118
    monkeypatch.setattr(readers, "plugin_names", lambda group: ["mine"] if group == "logs" else [])
    monkeypatch.setattr(readers, "plugin", lambda group, name: mine)
    path = tmp_path / "log.jsonl"
    path.write_text('{"frage": "Wo?", "antwort": "Hier."}\n', encoding="utf-8")
    log = logs.read(str(path))
    assert (log.tool, log.answers[0].text, log.answers[0].run_id) == ("mine", "Hier.", "mine")
    clash = '{"frage": "Wo?", "antwort": "x", "user_input": "Wo?", "response": "Hier."}\n'
    path.write_text(clash, encoding="utf-8")
    with pytest.raises(InputError, match="may be a log of ragas, mine; choose with: --tool ragas"):
        logs.read(str(path))


@pytest.mark.parametrize("name", FILES)
def test_what_is_assumed_of_a_log_before_it_is_read_does_not_matter(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = read(name)
    runs = frozenset(answer.run_id for answer in log.answers)
    wrong = partial(
        parting._Together,
        metrics=("no metric",),
        has_variants=True,
        odd=frozenset({("no aspect", "no judge")}),
        is_scored=True,
        silent=runs,
        id_name="no id",
        repeated=runs,
        unnumbered=frozenset(),
        by_rank=not any(log.run.values()),
        pairs=(("no_aspect", "no judge", "no metric"),),
        is_merged=True,
    )
    monkeypatch.setattr(parting, "_Together", wrong)
    assert read(name) == log


@pytest.mark.slow
def test_of_a_log_that_is_imported_only_digests_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"

    def peak(number: int) -> int:
        with path.open("w", encoding="utf-8") as lines:
            for row in range(number):
                texts = [f"{place} of {row}. {'Much text. ' * 100}" for place in range(3)]
                record = {"user_input": f"What is {row}?", "response": texts[0], "retrieved_contexts": texts}
                lines.write(json.dumps(record | {"faithfulness": row / number}) + "\n")
        with LogFiles(tmp_path) as files:
            tracemalloc.start()
            read_into(files, str(path))
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return most

    peak(2000)  # what is loaded and kept stays
    assert peak(6000) - peak(2000) < 4000 * 1500  # a record is 4,500 characters
