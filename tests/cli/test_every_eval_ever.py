"""Records of Every Eval Ever: valid by the format's own schemas, and read again without loss."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from test_bad_input import command

jsonschema = pytest.importorskip("jsonschema")

DATA = Path("examples/data")
SCHEMAS = Path(__file__).parent / "every_eval_ever"
ANSWERS = DATA / "answers"
CRAG = (ANSWERS / "crag.judged.jsonl", "-m", "crag_score,accuracy")
AGENTS = [DATA / "agents" / name for name in ("steps.jsonl", "qrels.nugget")]
AGENT_TEXTS = ["--answers", DATA / "agents/answers.jsonl", "--questions", DATA / "agents/questions.jsonl"]


def written(folder: Path, *words: Any) -> dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return the record and the samples of each system, checked against the schemas."""
    result = command(*map(str, words), "--eee", str(folder))
    assert result.code == 0, result.err
    of_record, of_sample = (
        jsonschema.Draft7Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_text()))
        for name in ("eval", "instance_level_eval")
    )
    systems = {}
    for path in folder.rglob("*.json"):
        record = json.loads(path.read_text())
        of_record.validate(record)
        details = record["detailed_evaluation_results"]
        content = (folder / details["file_path"]).read_bytes()
        assert details["checksum"] == hashlib.sha256(content).hexdigest()
        samples = [json.loads(line) for line in content.splitlines()]
        assert len(samples) == details["total_rows"]
        for sample in samples:
            of_sample.validate(sample)
            assert sample["evaluation_id"] == record["evaluation_id"]
        systems[record["model_info"]["name"]] = record, samples
    return systems


def test_runs_have_values_with_intervals(tmp_path: Path) -> None:
    measures = ("-m", "alpha_ndcg@10,recall@5")
    systems = written(tmp_path, DATA / "run.trec", DATA / "qrels.nugget", *measures)
    record, samples = systems["run"] if "run" in systems else next(iter(systems.values()))
    printed = json.loads(
        command(str(DATA / "run.trec"), str(DATA / "qrels.nugget"), *measures, "-q", "--format", "json").out
    )["results"]
    for result, expected in zip(record["evaluation_results"], printed, strict=True):
        details = result["score_details"]
        assert details["score"] == expected["value"]
        interval = details["uncertainty"]["confidence_interval"]
        assert interval["lower"] <= details["score"] <= interval["upper"]
        values = {
            s["sample_id"]: s["evaluation"]["score"]
            for s in samples
            if s["evaluation_result_id"] == expected["measure"]
        }
        assert values == expected["by_query"]
    # Nobody knows what was asked: nothing is made up.
    assert all(sample["output"] == {"raw": []} and sample["answer_attribution"] == [] for sample in samples)


def test_answers_have_their_texts(tmp_path: Path) -> None:
    texts = ("--questions", ANSWERS / "crag.jsonl", "--answers", ANSWERS / "crag.answers.jsonl")
    systems = written(tmp_path, *CRAG, *texts)
    record, samples = systems["ours"]
    assert all("llm_scoring" not in result["metric_config"] for result in record["evaluation_results"])
    first = samples[0]
    assert first["input"]["raw"] == "why do leaves change colour in autumn?"
    assert first["input"]["reference"][0] == "chlorophyll breaks down"
    assert first["output"]["raw"] == ["Chlorophyll breaks down when the days grow short."]
    path = next(path for path in tmp_path.rglob("*_samples.jsonl") if "ours" in str(path))
    imported = command("import", str(path), "--only", "answers")
    assert first["output"]["raw"][0] in imported.out, imported.err


def test_a_model_that_judged_is_named_with_its_prompt(tmp_path: Path) -> None:
    from rageval.judges.rubric import rubric_named

    rubric = rubric_named("crag")
    judged = tmp_path / "judged.jsonl"
    line = {"query_id": "q", "run_id": "lab/model", "label": "perfect", "rubric": "crag"}
    judged.write_text(json.dumps(line | {"judge": f"openai:gpt-4o@{rubric.digest}"}) + "\n")
    record, samples = written(tmp_path / "out", judged, "-m", "crag_score")["lab/model"]
    (result,) = record["evaluation_results"]
    scoring = result["metric_config"]["llm_scoring"]
    assert [judge["model_info"]["id"] for judge in scoring["judges"]] == ["openai/gpt-4o"]
    assert rubric.file.prompt.system in scoring["input_prompt"]
    assert result["metric_config"]["min_score"] == -1
    assert record["detailed_evaluation_results"]["file_path"].startswith("data/judged/lab/model/")
    assert samples[0]["model_id"] == "lab/model"


def test_the_messages_of_agents_are_read_as_the_same_steps(tmp_path: Path) -> None:
    systems = written(tmp_path, *AGENTS, *AGENT_TEXTS, "-m", "seen_recall,cost")
    record, samples = systems["planner"]
    assert samples[0]["interaction_type"] == "agentic"
    assert samples[0]["evaluation"]["tool_calls_count"] == 3
    cost = next(result for result in record["evaluation_results"] if result["evaluation_name"] == "cost")
    assert cost["metric_config"]["lower_is_better"]
    assert cost["metric_config"]["max_score"] == "Infinity"
    path = next(path for path in tmp_path.rglob("*_samples.jsonl") if "planner" in str(path))
    copy = tmp_path / "steps.jsonl"
    imported = command("import", str(path), "--only", "steps", "--search-tool", "bm25", "-o", str(copy))
    assert imported.code == 0, imported.err
    scores = [
        json.loads(command(str(steps), str(AGENTS[1]), "-m", "seen_recall", "-q", "--format", "json").out)
        for steps in (AGENTS[0], copy)
    ]
    one, other = (values["results"][0]["by_query"] for values in scores)
    assert one == other


def test_turns_have_what_was_said_before(tmp_path: Path) -> None:
    turns = [("t2", 2, "And then?", "Two."), ("t1", 1, "What first?", "One.")]
    rows = {
        "judged": [{"query_id": q, "run_id": "a", "label": "perfect", "rubric": "crag"} for q, *_ in turns],
        "answers": [{"query_id": q, "run_id": "a", "answer": answer} for q, _, _, answer in turns],
        "questions": [
            {"query_id": q, "question": text, "conversation_id": "c", "turn": turn}
            for q, turn, text, _ in turns
        ],
    }
    for name, records in rows.items():
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in records))
    named = ("--questions", tmp_path / "questions", "--answers", tmp_path / "answers")
    _, samples = written(tmp_path / "out", tmp_path / "judged", "-m", "crag_score", *named)["a"]
    by_query = {sample["sample_id"]: sample for sample in samples}
    texts = [message["content"] for message in by_query["t2"]["messages"]]
    assert texts == ["What first?", "One.", "And then?", "Two."]
    assert by_query["t2"]["evaluation"]["num_turns"] == 2
    assert by_query["t1"]["interaction_type"] == "single_turn"


def test_an_answer_has_the_tokens_that_it_states(tmp_path: Path) -> None:
    rows = {
        "judged": {"query_id": "q", "run_id": "a", "label": "perfect", "rubric": "crag"},
        "answers": {"query_id": "q", "run_id": "a", "answer": "x", "input_tokens": 7, "output_tokens": 2},
    }
    for name, row in rows.items():
        (tmp_path / name).write_text(json.dumps(row | {"seconds": 1.5}) + "\n")
    texts = ("--answers", tmp_path / "answers")
    _, (sample,) = written(tmp_path / "out", tmp_path / "judged", "-m", "crag_score", *texts)["a"]
    assert sample["token_usage"] == {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    assert sample["performance"] == {"latency_ms": 1500}


def test_the_same_evaluation_has_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1750000000")
    for name in "ab":
        written(tmp_path / name, *CRAG)
    one, other = (
        {
            str(path.relative_to(tmp_path / name)): path.read_bytes()
            for path in (tmp_path / name).rglob("*.json*")
        }
        for name in "ab"
    )
    assert one == other


def test_a_file_is_no_folder() -> None:
    result = command(*map(str, CRAG), "--eee", "README.md")
    assert (result.code, result.out) == (2, "")
    assert "'README.md' is a file" in result.err
