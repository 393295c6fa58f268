"""Write two agents that answer ten questions: one searches three times, the other once and reads.

    python examples/data/agents/generate.py

All of it is invented. The first agent finds more and cites less of it; the second one is cheaper. The same
steps are also written as traces of OpenTelemetry (OTLP/JSON) after the GenAI conventions, one per answer, and
as messages of OpenAI's API. Two searches and the opening of a document are the right calls for each question.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
QUESTIONS, GOLD = 10, 4
START = 1_795_299_899_000  # milliseconds since 1970


def main() -> None:
    rng = random.Random(7)
    qrels, steps, answers, questions = [], [], [], []
    for number in range(1, QUESTIONS + 1):
        query = f"q{number}"
        gold = [f"{query}-{letter}" for letter in "abcd"[:GOLD]]
        other = [f"{query}-x{rank}" for rank in range(9)]
        qrels += [f"{query} {'cause' if place < 2 else 'effect'} {doc} 1" for place, doc in enumerate(gold)]
        qrels += [f"{query} cause {doc} 0" for doc in other]
        right: list[dict[str, str]] = [{"tool": "bm25", "query": "the cause"}]
        right += [{"tool": "bm25", "query": "what followed"}, {"tool": "open"}]
        questions.append({"query_id": query, "question": f"What about {query}?", "expected_calls": right})
        for run, searches, found, use in (("planner", 3, 0.45, 0.5), ("reader", 1, 0.45, 0.8)):
            seen: list[str] = []
            place = {"query_id": query, "run_id": run}
            number_of_step = 0
            for search in range(searches):
                tokens = rng.randint(300, 900)
                number_of_step += 1
                think = {"kind": "model", "input_tokens": tokens, "output_tokens": rng.randint(20, 60)}
                think |= {"cost": round(tokens * 3e-6, 6), "seconds": round(rng.uniform(0.5, 2.0), 2)}
                steps.append(place | {"step": number_of_step} | think)
                docs = [doc for doc in gold if rng.random() < found] + rng.sample(other, 2)
                rng.shuffle(docs)
                number_of_step += 1
                text = "the cause" if search % 2 == 0 else "what followed"
                call = {"kind": "search", "tool": "bm25", "query": text, "docs": docs, "seconds": 0.1}
                steps.append(place | {"step": number_of_step} | call)
                seen += docs
            if run == "reader" and seen:
                steps.append(
                    place | {"step": number_of_step + 1, "kind": "read", "tool": "open", "docs": seen[:1]}
                )
            used = [doc for doc in dict.fromkeys(seen) if doc in gold and rng.random() < use]
            answers.append(place | {"answer": [{"text": f"An answer to {query}.", "citations": used}]})
    exports, conversations = [], []
    for number, answer in enumerate(answers, 1):
        names = ("query_id", "run_id")
        made = [step for step in steps if all(step[name] == answer[name] for name in names)]
        exports.append(export(number, answer, made))
        conversations.append(conversation(answer, made))
    for name, lines in (
        ("qrels.nugget", qrels),
        ("traces.jsonl", map(json.dumps, exports)),
        ("messages.jsonl", map(json.dumps, conversations)),
        ("steps.jsonl", map(json.dumps, steps)),
        ("answers.jsonl", map(json.dumps, answers)),
        ("questions.jsonl", map(json.dumps, questions)),
    ):
        (HERE / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def conversation(answer: dict[str, Any], steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the messages of an answer: each call of a model asks for a search, the last one answers."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"What about {answer['query_id']}?"}]
    for number, step in enumerate(steps):
        if step["kind"] == "model":
            used = {"prompt_tokens": step["input_tokens"], "completion_tokens": step["output_tokens"]}
            messages.append({"role": "assistant", "content": None, "usage": used, "cost": step["cost"]})
        elif step["kind"] == "search":
            function = {"name": step["tool"], "arguments": json.dumps({"query": step["query"]})}
            call = {"id": f"call_{number}", "type": "function", "function": function}
            messages[-1]["tool_calls"] = [call]
            found = json.dumps([{"docid": doc} for doc in step["docs"]])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": found})
    used = {"prompt_tokens": 0, "completion_tokens": 0}
    text = answer["answer"][0]["text"]
    messages.append({"role": "assistant", "content": text, "usage": used, "cost": 0})
    return {"query_id": answer["query_id"], "run_id": answer["run_id"], "messages": messages}


def export(number: int, answer: dict[str, Any], steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the trace of an answer: a span for the agent, and one for each search and call of a model."""
    ids = [f"{number:08x}{place:08x}" for place in range(len(steps) + 1)]
    question, text = f"What about {answer['query_id']}?", answer["answer"][0]["text"]
    messages = [
        json.dumps([{"role": role, "parts": [{"type": "text", "content": content}]}])
        for role, content in (("user", question), ("assistant", text))
    ]
    spans, clock = [], 0
    for span, step in zip(ids[1:], steps, strict=True):
        begin, clock = clock, clock + round(step.get("seconds", 0) * 1000)
        if step["kind"] == "model":
            attributes = {
                "gen_ai.operation.name": "chat",
                "gen_ai.usage.input_tokens": step["input_tokens"],
                "gen_ai.usage.output_tokens": step["output_tokens"],
                "gen_ai.usage.cost": step["cost"],
            }
        elif step["kind"] == "search":
            attributes = {
                "gen_ai.operation.name": "retrieval",
                "gen_ai.data_source.id": step["tool"],
                "gen_ai.retrieval.query.text": step["query"],
                "gen_ai.retrieval.documents": json.dumps([{"id": doc} for doc in step["docs"]]),
            }
        else:
            continue
        spans.append(span_of(number, span, ids[0], step["kind"], (begin, clock), attributes))
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "app.question_id": answer["query_id"],
        "gen_ai.input.messages": messages[0],
        "gen_ai.output.messages": messages[1],
    }
    spans.append(span_of(number, ids[0], "", "agent", (0, clock), attributes))
    service = attributes_of({"service.name": answer["run_id"]})
    return {"resourceSpans": [{"resource": {"attributes": service}, "scopeSpans": [{"spans": spans}]}]}


def span_of(
    trace: int, span: str, parent: str, name: str, times: tuple[int, int], attributes: dict[str, Any]
) -> dict[str, Any]:
    begin, end = (str((START + time) * 10**6) for time in times)
    return {
        **{"traceId": f"{trace:032x}", "spanId": span, "parentSpanId": parent, "name": name},
        **{"startTimeUnixNano": begin, "endTimeUnixNano": end, "attributes": attributes_of(attributes)},
    }


def attributes_of(values: dict[str, Any]) -> list[dict[str, Any]]:
    types = {int: "intValue", float: "doubleValue", str: "stringValue"}
    return [{"key": name, "value": {types[type(value)]: value}} for name, value in values.items()]


if __name__ == "__main__":
    main()
