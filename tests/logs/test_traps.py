"""What a log may look like besides its sample: epochs, filters, models that judge, other conventions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rageval import logs
from rageval.errors import InputError
from spoilt_logs import LOGS, loaded, log_of


class TestInspect:
    def test_epochs_are_repeats_and_come_in_the_order_of_the_data_set(self, tmp_path: Path) -> None:
        value = loaded("inspect/log.json")
        second = [json.loads(json.dumps(sample)) | {"epoch": 2} for sample in value["samples"]]
        value["samples"] = [*second[::-1], *value["samples"][::-1]]
        log = log_of(tmp_path, value)
        assert [(answer.query_id, answer.repeat) for answer in log.answers] == [
            (f"a{number}", str(epoch)) for epoch in (1, 2) for number in range(1, 6)
        ]

    def test_what_is_attached_is_put_back(self, tmp_path: Path) -> None:
        value = loaded("inspect/log.json")
        sample = value["samples"][0]
        sample["attachments"] = {"f00": "Within 30 days, " + "and so on " * 50}
        sample["output"]["completion"] = "attachment://f00"
        sample["metadata"]["retrieved"][0]["text"] = "attachment://f00"
        sample["input"] = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How long?"},
        ]
        mapping = "contexts=metadata.retrieved[].text,context_ids=metadata.retrieved[].id"
        log = log_of(tmp_path, value, map=mapping)
        assert log.answers[0].text == sample["attachments"]["f00"] == log.passages["returns.md#0"]
        assert log.questions[0].text == "How long?"

    def test_numbers_and_yes_and_no_and_the_model_that_was_asked(self, tmp_path: Path) -> None:
        value = loaded("inspect/log.json")
        value["eval"]["scorers"][0]["options"] = {"model": "openai/gpt"}
        for sample, score in zip(value["samples"], (0.75, True, False, "A", [1]), strict=True):
            sample["scores"]["judged"]["value"] = score
        judgements = [
            judgement for judgement in log_of(tmp_path, value).judgements if judgement["aspect"] == "judged"
        ]
        assert [judgement.get("grade") for judgement in judgements] == [0.75, 1.0, 0.0, None, None]
        assert [judgement.get("label") for judgement in judgements] == [None, "pass", "fail", "A", None]
        assert [judgement["status"] for judgement in judgements] == ["ok"] * 4 + ["error"]
        assert {judgement["judge"] for judgement in judgements} == {"inspect:openai/gpt"}

    def test_a_log_that_was_cancelled_says_so(self, tmp_path: Path) -> None:
        value = loaded("inspect/log.json") | {"status": "cancelled"}
        assert any("'cancelled'" in remark for remark in map(str, log_of(tmp_path, value).remarks))


class TestPromptfoo:
    def test_reasons_of_a_metric_and_the_model_that_gave_it(self, tmp_path: Path) -> None:
        value = loaded("promptfoo/results.json")
        for result in value["results"]["results"]:
            for component in result["gradingResult"]["componentResults"]:
                component["assertion"]["provider"] = "openai:gpt"
        judgements = log_of(tmp_path, value).judgements
        assert {judgement["judge"] for judgement in judgements} == {"promptfoo:openai:gpt"}
        wrong = next(judgement for judgement in judgements if judgement["label"] == "fail")
        assert wrong["reason"] == 'Expected output to contain "50 euros"'

    def test_without_named_scores_it_is_the_score(self, tmp_path: Path) -> None:
        value = loaded("promptfoo/results.json")
        for result in value["results"]["results"]:
            result["namedScores"] = {}
        judgements = log_of(tmp_path, value).judgements
        assert [(judgement["aspect"], judgement["grade"], judgement["label"]) for judgement in judgements][
            4:6
        ] == [*(("score", 0.5, "fail"), ("score", 0.5, "fail"))]

    def test_a_question_that_is_not_plain_has_to_be_named(self, tmp_path: Path) -> None:
        value = loaded("promptfoo/results.json")
        for result in value["results"]["results"]:
            result["vars"] = {"topic": result["vars"]["question"]}
            result["testCase"] = {}
        log = log_of(tmp_path, value, map="question=vars.topic")
        assert log.questions[0].text == "How long can a parcel be returned?"


class TestLmEval:
    def test_filters_are_runs_and_responses_repeats(self, tmp_path: Path) -> None:
        rows = []
        for row in loaded("lm-eval/samples_toy_rag.jsonl"):
            rows.append(row | {"filter": "strict", "filtered_resps": ["a"]})
            rows.append(row | {"filter": "all", "filtered_resps": [["a", "b"]]})
        log = log_of(tmp_path, rows)
        answers = [(answer.run_id, answer.repeat) for answer in log.answers if answer.query_id == "a1"]
        assert answers == [("lm-eval/strict", ""), ("lm-eval/all", "1"), ("lm-eval/all", "2")]

    def test_likelihoods_are_no_answers(self, tmp_path: Path) -> None:
        rows = loaded("lm-eval/samples_toy_rag.jsonl")
        rows[0]["filtered_resps"] = [[-1.5, True], [-2.5, False]]
        log = log_of(tmp_path, rows)
        assert len(log.answers) == 4
        assert log.left_out == {"log-likelihoods, which are not answers": 1}

    def test_what_is_no_number_is_no_score(self, tmp_path: Path) -> None:
        rows = loaded("lm-eval/samples_toy_rag.jsonl")
        rows = [row | {"metrics": ["exact_match", "f1"], "f1": [1, 0.5]} for row in rows]
        log = log_of(tmp_path, rows)
        assert {judgement["aspect"] for judgement in log.judgements} == {"exact_match"}
        assert log.left_out == {"metrics that are not numbers": 5}


class TestOtel:
    def test_the_attributes_of_openinference(self, tmp_path: Path) -> None:
        spans = loaded("otel/spans.jsonl")[:3]
        about = {
            "openinference.span.kind": "RETRIEVER",
            "retrieval.documents.1.document.content": "two",
            "retrieval.documents.1.document.id": "d2",
            "retrieval.documents.0.document.content": "one",
            "retrieval.documents.0.document.id": "d1",
        }
        spans[0]["attributes"] = about
        spans[1]["attributes"] = {}
        spans[2]["attributes"] = {"input.value": "Where?", "output.value": "Here."}
        log = log_of(tmp_path, spans)
        assert (log.questions[0].text, log.answers[0].text) == ("Where?", "Here.")
        assert log.answers[0].passages == (("d1", "one"), ("d2", "two"))

    def test_evaluations_are_events(self, tmp_path: Path) -> None:
        spans = loaded("otel/spans.jsonl")
        for index, evaluation in enumerate(({"score.value": 0.5}, {"score.label": "pass"}, {})):
            about = {"gen_ai.evaluation.name": "helpful"}
            about |= {f"gen_ai.evaluation.{name}": value for name, value in evaluation.items()}
            about |= {} if evaluation else {"error.type": "timeout"}
            event = {"name": "gen_ai.evaluation.result", "attributes": about}
            spans[3 * index + 1]["events"] = [event]
        evaluation = log_of(tmp_path, spans).judgements
        assert [
            (judgement.get("grade"), judgement.get("label"), judgement["status"]) for judgement in evaluation
        ] == [*((0.5, None, "ok"), (None, "pass", "ok"), (None, None, "error"))]

    def test_an_error_is_no_answer(self, tmp_path: Path) -> None:
        spans = loaded("otel/spans.jsonl")
        spans[2]["attributes"]["error.type"] = "timeout"
        log = log_of(tmp_path, spans)
        assert [answer.error for answer in log.answers] == ["timeout", "", "", "", ""]
        assert log.left_out == {}

    def test_ids_of_traces_in_base64_are_those_in_hexadecimal(self, tmp_path: Path) -> None:
        import base64

        value = loaded("otel/otlp.json")
        expected = logs.read(str(LOGS / "otel/otlp.json")).traces
        for span in value["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            span["traceId"] = base64.b64encode(bytes.fromhex(span["traceId"])).decode()
        assert log_of(tmp_path, value).traces == expected

    def test_messages_that_were_cut_are_no_answer(self, tmp_path: Path) -> None:
        spans = loaded("otel/spans.jsonl")
        spans[1]["attributes"]["gen_ai.output.messages"] = '[{"role": "assistant", "parts": [{"type"'
        with pytest.raises(InputError, match="log:2: expected JSON in a text"):
            log_of(tmp_path, spans)


class TestMlflow:
    @pytest.mark.parametrize(
        ("response", "answer"),
        [
            ("[1] says so.", "[1] says so."),
            ("{curly}", "{curly}"),
            ("[1, 2]", "[1, 2]"),
            ('{"answer": "x", "sources": []}', "x"),
            ({"choices": [{"message": {"role": "assistant", "content": "y"}}]}, "y"),
            ({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "z"}]}, "z"),
        ],
    )
    def test_a_response_in_whatever_form(self, response: Any, answer: str, tmp_path: Path) -> None:
        rows = loaded("mlflow/result_df.jsonl")
        rows[0]["response"] = response
        log = log_of(tmp_path, rows)
        assert {answer.query_id: answer.text for answer in log.answers}["a1"] == answer

    def test_a_frame_that_has_columns_alone(self, tmp_path: Path) -> None:
        rows = [
            {name: value for name, value in row.items() if name != "assessments"}
            for row in loaded("mlflow/result_df.jsonl")
        ]
        rows[4] |= {"key_fact/value": None, "key_fact/error_message": "scorer raised"}
        log = log_of(tmp_path, rows)
        judgements = {
            judgement["query_id"]: judgement
            for judgement in log.judgements
            if judgement["aspect"] == "key_fact"
        }
        assert judgements["a1"]["grade"] == 1.0
        assert judgements["a5"]["status"] == "error"
        gold = {question.query_id: question.gold for question in log.questions}
        assert gold["a3"] == ("50 euros",)

    def test_people_are_people(self, tmp_path: Path) -> None:
        value = loaded("mlflow/traces.jsonl")
        for trace in value:
            for assessment in trace["info"]["assessments"]:
                if assessment["assessment_name"] == "short":
                    assessment["source"] = {"source_type": "HUMAN", "source_id": "ann lee"}
        judges = {judgement["aspect"]: judgement["judge"] for judgement in log_of(tmp_path, value).judgements}
        assert judges == {"key_fact": "mlflow", "short": "person:ann%20lee"}


class TestRagas:
    def test_ids_of_passages_and_those_that_are_right(self, tmp_path: Path) -> None:
        rows = loaded("ragas/result.jsonl")
        rows[0] |= {"retrieved_context_ids": ["d1", "d2"], "reference_context_ids": ["d2", "d9"]}
        rows[1] |= {"reference_contexts": ["a text"]}
        log = log_of(tmp_path, rows)
        assert log.answers[0].references == ("d1", "d2")
        assert [qrel.doc_id for qrel in log.gold] == ["d2", "d9"]
        assert "1 reference_contexts have no ids and are left out" in map(str, log.remarks)
        rows[0]["retrieved_context_ids"] = ["d1"]
        with pytest.raises(InputError, match="expected as many retrieved_context_ids as texts"):
            log_of(tmp_path, rows)

    def test_numbers_of_rows_are_no_metric(self, tmp_path: Path) -> None:
        rows = [
            row | {"Unnamed: 0": index, "id": index + 7}
            for index, row in enumerate(loaded("ragas/result.jsonl"))
        ]
        log = log_of(tmp_path, rows)
        assert {judgement["aspect"] for judgement in log.judgements} == {"faithfulness", "context_recall"}
        assert [question.query_id for question in log.questions] == ["7", "8", "9", "10", "11"]


class TestLangfuse:
    def test_an_observation_that_failed(self, tmp_path: Path) -> None:
        value = loaded("langfuse/traces.jsonl")
        value[0]["observations"][1] |= {"level": "ERROR", "statusMessage": "overloaded"}
        log = log_of(tmp_path, value)
        assert [answer.error for answer in log.answers] == ["overloaded", "", "", "", ""]
        judgements = [judgement for judgement in log.judgements if judgement["query_id"] == "a1"]
        # A person is not asked again, and has not failed.
        assert [(judgement["judge"], judgement["status"]) for judgement in judgements] == [
            ("langfuse:EVAL", "error")
        ]

    def test_categories_are_labels_and_booleans_passes(self, tmp_path: Path) -> None:
        value = loaded("langfuse/traces.jsonl")
        value[0]["scores"] = [
            {"name": "tone", "value": 1, "stringValue": "kind", "dataType": "CATEGORICAL", "source": "API"},
            {"name": "safe", "value": 1, "dataType": "BOOLEAN", "source": "API"},
        ]
        judgements = log_of(tmp_path, value).judgements[:2]
        assert [
            (judgement["aspect"], judgement["label"], judgement.get("grade")) for judgement in judgements
        ] == [*(("tone", "kind", None), ("safe", "pass", 1.0))]


class TestLangSmith:
    def test_a_trace_without_its_root_is_not_whole(self, tmp_path: Path) -> None:
        rows = [row for row in loaded("langsmith/runs.jsonl") if row["run_type"] == "retriever"]
        with pytest.raises(InputError, match=r"log:1: the root of the trace .* is not here"):
            log_of(tmp_path, rows)

    def test_runs_of_one_example_are_repeats(self, tmp_path: Path) -> None:
        rows = loaded("langsmith/runs.jsonl")
        repeats = json.loads(json.dumps(rows).replace(rows[0]["trace_id"], "0" * 36))[:2]
        log = log_of(tmp_path, [*rows, *repeats])
        assert [answer.repeat for answer in log.answers if answer.query_id == "a1"] == ["1", "2"]


def test_any_of_several_documents_is_one_nugget(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = parquet.read_table(LOGS / "autorag/nodes.parquet").to_pylist()
    rows[0]["retrieval_gt"] = [["d1", "d2"], ["d3"]]
    rows[0]["generated_texts"] = None
    rows = [row | {"retrieval_recall": 0.5} for row in rows]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "log")
    log = logs.read(str(tmp_path / "log"))
    assert [(qrel.iteration, qrel.doc_id) for qrel in log.gold][:3] == [("0", "d1"), ("0", "d2"), ("1", "d3")]
    assert [answer.error for answer in log.answers].count("no answer") == 1
    assert log.left_out == {}
    assert {judgement["aspect"] for judgement in log.judgements} == {"retrieval_recall"}


def test_answers_that_open_rag_eval_says_are_none(tmp_path: Path) -> None:
    text = (LOGS / "open-rag-eval/results.csv").read_text(encoding="utf-8")
    path = tmp_path / "log"
    path.write_text(text.replace("Seven [2]", "API_ERROR"), encoding="utf-8")
    log = logs.read(str(path))
    assert len(log.answers) == 7
    assert [answer.error for answer in log.answers if answer.error] == ["API_ERROR"]
