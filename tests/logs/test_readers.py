"""Each tool's log against one truth: five questions, what was answered, retrieved and said of the answers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from rageval import logs
from rageval.errors import InputError, UsageError
from rageval.logs import Log
from rageval.logs.log import outputs

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


def read(name: str) -> Log:
    mapping = MAPS.get(name) or MAPS.get(name.partition("/")[0])
    split = {"contexts": "|"} if name == "deepeval/dataset.jsonl" else None
    return logs.read(str(LOGS / name), mapping, split=split)


def written(log: Log) -> dict[str, list[str]]:
    return {name: list(lines()) for name, lines in outputs(log).items()}


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
    first, *others = (written(read(name)) for name in names)
    assert first["answers.jsonl"]
    for other in others:
        assert other == first


@pytest.mark.some(3)
@pytest.mark.parametrize("name", FILES)
def test_a_log_is_told_by_its_content(name: str, tmp_path: Path) -> None:
    other = tmp_path / "renamed.txt"
    shutil.copy(LOGS / name, other)
    mapping = MAPS.get(name) or MAPS.get(name.partition("/")[0])
    split = {"contexts": "|"} if name == "deepeval/dataset.jsonl" else None
    assert written(logs.read(str(other), mapping, split=split)) == written(read(name))


def test_people_are_a_judge_of_their_own() -> None:
    log = read("langfuse/traces.jsonl")
    judges = {
        (judgement["judge"], judgement["grade"])
        for judgement in log.judgements
        if judgement["query_id"] == "a1"
    }
    assert judges == {("langfuse:EVAL", 1.0), ("person:langfuse", 0.0)}
    files = written(log)
    assert len(files["judged.jsonl"]) == len(files["people.jsonl"]) == 5


def test_means_over_feedback_are_no_judgements() -> None:
    log = read("langsmith/runs.jsonl")
    assert log.judgements == []
    assert any("feedback_stats (correctness) are means" in remark for remark in map(str, log.remarks))


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
