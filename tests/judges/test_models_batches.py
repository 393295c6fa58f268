"""Batches through the real SDKs and a local server: what is handed over, and what comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from llm_server import Asked, LlmServer, Saying, anthropic_error, anthropic_reply, openai_error, openai_reply
from model_checks import ANTHROPIC_KEY, OPENAI_KEY, REQUEST, environment, in_a_loop
from rageval.errors import UsageError
from rageval.judges.base import (
    ENDED,
    ERROR,
    FENCE,
    FILTERED,
    OK,
    REFUSED,
    TRUNCATED,
    WORKING,
    Fatal,
    Mark,
    Reply,
    Request,
    Transient,
)
from rageval.judges.models import _anthropic
from rageval.judges.models._anthropic import AnthropicMessages
from rageval.judges.models._openai import OpenAIChat
from rageval.judges.models._remote import RemoteBatches

pytestmark = pytest.mark.slow

pytest.importorskip("openai")
pytest.importorskip("anthropic")
Make = Callable[..., RemoteBatches]
KINDS: list[Any] = [OpenAIChat, AnthropicMessages]
both = pytest.mark.parametrize("kind", KINDS, ids=["openai", "anthropic"])


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment(monkeypatch, tmp_path)


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer() as running:
        yield running


def made(kind: Make, server: LlmServer, timeout: float = 5.0) -> RemoteBatches:
    address = server.openai if kind is OpenAIChat else server.anthropic
    return kind("m", address, timeout=timeout)


def keyed(request: Request) -> tuple[str, Request]:
    return request.key("m", "here"), request


def questions(count: int) -> dict[str, Request]:
    """Questions that can be told apart, by their keys."""
    asked = (
        Request.of(("Judge ", Mark(), "."), (Mark(), f"\nnumber {n};\n", Mark()), REQUEST.schema)
        for n in range(count)
    )
    return dict(map(keyed, asked))


def number_in(body: Any) -> int:
    return int(json.dumps(body).partition("number ")[2].partition(";")[0])


def reply_with(path: str, text: str, **more: Any) -> Saying:
    if path.endswith("/messages"):
        return Saying(body=anthropic_reply({"type": "text", "text": text}, **more))
    return Saying(body=openai_reply(text, **more), headers={"x-request-id": "req_1"})


def error_with(path: str, status: int, message: str, **more: str) -> Saying:
    if path.endswith("/messages"):
        kind = {400: "invalid_request_error", 401: "authentication_error", 529: "overloaded_error"}[status]
        return Saying(status, anthropic_error(message, kind))
    return Saying(status, openai_error(message, **more))


def echo(asked: Asked) -> Saying:
    """The number in the question."""
    return reply_with(asked.path, str(number_in(asked.body)))


async def collected(model: RemoteBatches, batch: str) -> dict[str, Reply]:
    pairs = [pair async for pair in model.results(batch)]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def submitted(model: RemoteBatches, requests: dict[str, Request]) -> Any:
    return in_a_loop(model, model.submit([*requests.items()]))


def replies(model: RemoteBatches, batch: str) -> Any:
    return in_a_loop(model, collected(model, batch))


@both
def test_every_reply_comes_back_under_its_key(kind: Make, server: LlmServer) -> None:
    server.default = echo
    requests = questions(30)
    batch = submitted(made(kind, server), requests)
    results = replies(made(kind, server), batch)  # as another process would
    assert results.keys() == requests.keys()
    assert [*results] != [*requests], "the server does not keep the order"
    for number, key in enumerate(requests):
        assert (results[key].status, results[key].text) == (OK, str(number))
        assert results[key].usage.input == 100
        assert results[key].served == "served-model-1"
        assert results[key].request_id == ("req_1" if kind is OpenAIChat else "msg_1")
        assert results[key].sent == {"batch": batch.partition("?")[0], "mode": "json_schema"}


@both
def test_every_request_has_a_fence_of_its_own(kind: Make, server: LlmServer) -> None:
    submitted(made(kind, server), questions(5))
    fences = set()
    for asked in server.batched:
        shown = json.dumps(asked.body)
        assert FENCE not in shown
        fence = shown.partition("Judge ")[2][:32]
        assert shown.count(fence) == 3
        fences.add(fence)
    assert len(fences) == 5


def test_what_openai_is_handed(server: LlmServer) -> None:
    (key, request), *_ = questions(1).items()
    submitted(made(OpenAIChat, server), {key: request})
    upload, batch = server.requests
    assert (upload.path, upload.body["purpose"]) == ("/v1/files", "batch")
    line = json.loads(upload.body["file"])
    body = line.pop("body")
    assert line == {"custom_id": key, "method": "POST", "url": "/v1/chat/completions"}
    assert len(key) == 64
    assert body["response_format"]["json_schema"]["schema"] == REQUEST.schema
    tag = batch.body.pop("metadata")["rageval"]
    assert re.fullmatch(r"rageval-[0-9a-f]{32}", tag)
    assert upload.body["file/name"] == f"{tag}.jsonl"
    assert (batch.path, batch.body) == (
        "/v1/batches",
        {"input_file_id": "file-1", "endpoint": "/v1/chat/completions", "completion_window": "24h"},
    )


def test_what_anthropic_is_handed(server: LlmServer) -> None:
    (key, request), *_ = questions(1).items()
    submitted(made(AnthropicMessages, server), {key: request})
    (asked,) = server.requests
    (entry,) = asked.body["requests"]
    assert (asked.path, entry["custom_id"]) == ("/v1/messages/batches", key)
    assert entry["params"]["output_config"]["format"]["type"] == "json_schema"
    assert entry["params"]["max_tokens"] == 1024


@both
def test_a_batch_is_worked_on_for_a_while(kind: Make, server: LlmServer) -> None:
    server.batches.polls = 2
    model = made(kind, server)
    batch = submitted(model, questions(2))
    assert [in_a_loop(model, model.state(batch)) for _ in range(4)] == [WORKING, WORKING, ENDED, ENDED]


# However it ended.


@both
def test_what_fails_in_a_batch_fails_alone(kind: Make, server: LlmServer) -> None:
    openai = kind is OpenAIChat

    def some(asked: Asked) -> Saying:
        path = asked.path
        return [
            echo(asked),
            error_with(path, 529, "Overloaded"),
            error_with(path, 400, "prompt is too long"),
            error_with(path, 401, "bad key"),
            reply_with(path, "{", **{"finish" if openai else "stop": "length" if openai else "max_tokens"}),
            Saying(body=openai_reply(None, refusal="No.") if openai else anthropic_reply(stop="refusal")),
            Saying(body={}),
            Saying(body="<html>"),
            error_with(path, 400, "blocked by the content management policy"),
        ][number_in(asked.body)]

    server.default = some
    requests = questions(9)
    model = made(kind, server)
    results = replies(model, submitted(model, requests))
    assert [results[key].status for key in requests] == [
        *(OK, ERROR, ERROR, ERROR, TRUNCATED, REFUSED, ERROR, ERROR, FILTERED)
    ]
    details = [results[key].detail for key in requests]
    assert "Overloaded" in details[1]
    assert "too long" in details[2]
    assert "the key was refused" in details[3]


@both
def test_what_came_too_late(kind: Make, server: LlmServer) -> None:
    server.default = echo
    server.batches.expire_after = 3
    requests = questions(5)
    model = made(kind, server)
    batch = submitted(model, requests)
    assert in_a_loop(model, model.state(batch)) == ENDED
    results = replies(model, batch)
    assert [results[key].status for key in requests] == [OK, OK, OK, ERROR, ERROR]
    late = results[[*requests][-1]].detail
    assert "expired" in late or "completion window" in late


@pytest.mark.parametrize("errors", [{"data": [{"message": "the enqueued token limit is reached"}]}, None])
def test_a_batch_that_was_never_begun(server: LlmServer, errors: Any) -> None:
    requests = questions(3)
    model = made(OpenAIChat, server)
    batch = submitted(model, requests)

    def failed(asked: Asked) -> Saying:
        body = server.otherwise(asked).body
        return Saying(
            body={**body, "status": "failed", "output_file_id": None, "error_file_id": None, "errors": errors}
        )

    server.say(failed, failed)
    assert in_a_loop(model, model.state(batch)) == ENDED
    results = replies(model, batch)
    assert results.keys() == requests.keys()
    for reply in results.values():
        assert (reply.status, "the batch failed: " in reply.detail) == (ERROR, True)
        assert ("token limit" if errors else "no reason") in reply.detail


@pytest.mark.parametrize(
    "fields",
    [
        {"response": {"status_code": 200, "body": openai_reply()}, "error": {"code": "server_error"}},
        {"response": None, "error": {"message": "server_error"}},
        {"response": {"status_code": 200, "body": None}, "error": None},
        {"response": {"status_code": "200", "body": openai_reply()}},
        {"response": 7},
        {},
    ],
)
def test_lines_without_a_reply(server: LlmServer, fields: Any) -> None:
    model = made(OpenAIChat, server)
    line = {"id": "batch_req_1", "custom_id": "key", **fields}
    server.say(
        Saying(body={"id": "batch_1", "status": "completed", "output_file_id": "file-1"}), Saying(body=line)
    )
    (reply,) = replies(model, "batch_1").values()
    assert reply.status == ERROR
    assert reply.detail.startswith("openai:m: ")


def test_what_was_cancelled_has_no_reply(server: LlmServer) -> None:
    requests = questions(1)
    model = made(AnthropicMessages, server)
    batch = submitted(model, requests)
    (key,) = requests
    lines = [
        {"custom_id": key, "result": {"type": "canceled"}},
        {"custom_id": "other", "result": {"type": "of the future"}},
        {"custom_id": "third"},
    ]
    server.say(server.otherwise, Saying(body="\n".join(map(json.dumps, lines))))
    results = replies(model, batch)
    assert {reply.status for reply in results.values()} == {ERROR}
    assert "canceled" in results[key].detail


@both
def test_lines_that_are_none_are_left_out(kind: Make, server: LlmServer) -> None:
    server.default = echo
    model = made(kind, server)
    batch = submitted(model, questions(1))

    def torn(asked: Asked) -> Saying:
        whole = server.otherwise(asked)
        extra = '{"custom_id": "torn", "resp\nnull\n[]\n{}\n{"custom_id": {}}\n' + "[" * 100_000
        return replace(whole, body=whole.body + extra)

    server.say(server.otherwise, torn)
    assert [reply.text for reply in replies(model, batch).values()] == ["0"]


@both
def test_no_such_batch(kind: Make, server: LlmServer) -> None:
    model = made(kind, server)
    for work in (model.state("batch_7"), collected(model, "batch_7")):
        error = in_a_loop(model, work)
        assert isinstance(error, Fatal)
        assert "batch_7" in str(error)
        assert "If the provider has deleted it" in str(error)
        assert "--refresh" in str(error)


@both
@pytest.mark.parametrize("batch", ["", "../files", "..", "a/b", "a b", "?mode=text"])
def test_ids_that_are_none(kind: Make, server: LlmServer, batch: str) -> None:
    model = made(kind, server)
    for work in (model.state, partial(collected, model)):
        with pytest.raises(UsageError, match="is not the id of a batch"):
            in_a_loop(model, work(batch))
    assert server.requests == []


# What a model refuses is learnt from a batch, too.


@both
def test_a_parameter_that_is_refused(kind: Make, server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_anthropic, "_taken_by_sdk", lambda: frozenset({"temperature"}))

    def untempered(asked: Asked) -> Saying:
        if "temperature" in asked.body:
            return error_with(asked.path, 400, "temperature is not supported")
        return echo(asked)

    server.default = untempered
    requests = questions(3)
    first = submitted(made(kind, server), requests)
    later = made(kind, server)
    assert {reply.status for reply in replies(later, first).values()} == {ERROR}
    second = submitted(later, requests)
    assert second.endswith("?mode=json_schema&without=temperature")
    results = replies(made(kind, server), second)
    assert {(reply.status, reply.dropped) for reply in results.values()} == {(OK, ("temperature",))}


@both
def test_a_way_to_send_the_schema_that_is_refused(kind: Make, server: LlmServer) -> None:
    weaker = "json_object" if kind is OpenAIChat else "tool"

    def plain(asked: Asked) -> Saying:
        if "json_schema" in json.dumps(asked.body):
            return error_with(asked.path, 400, "json_schema is not supported as response_format")
        return echo(asked)

    server.default = plain
    requests = questions(4)
    model = made(kind, server)
    assert {reply.status for reply in replies(model, submitted(model, requests)).values()} == {ERROR}
    results = replies(model, submitted(model, requests))
    assert {(reply.status, reply.sent["mode"]) for reply in results.values()} == {(OK, weaker)}


def test_what_was_learnt_meanwhile_is_kept(server: LlmServer) -> None:
    def plain(asked: Asked) -> Saying:
        if "response_format" in asked.body:
            return error_with(asked.path, 400, "response_format is not supported")
        return echo(asked)

    server.default = plain
    requests = questions(2)
    model = made(OpenAIChat, server)
    batch = submitted(model, requests)
    assert in_a_loop(model, model.ask(requests[min(requests)])).sent["mode"] == "text"
    replies(model, batch)
    assert submitted(model, requests).endswith("?mode=text")


# Limits.


@both
def test_how_much_fits(kind: Make, server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(kind, server)
    requests = [*questions(6).items()]
    assert model.fitting(requests) == 6
    monkeypatch.setattr(model, "batch_limit", 4)
    assert model.fitting(requests) == 4
    monkeypatch.setattr(model, "batch_bytes", 1500)
    assert 1 <= model.fitting(requests) < 4
    with pytest.raises(UsageError, match="too many for one batch"):
        in_a_loop(model, model.submit(requests))
    monkeypatch.setattr(model, "batch_bytes", 10)
    assert model.fitting(requests) == 0
    assert server.requests == []


@both
def test_one_request_a_key(kind: Make, server: LlmServer) -> None:
    model = made(kind, server)
    for requests in ([], [keyed(REQUEST), keyed(REQUEST)]):
        with pytest.raises(UsageError, match="expected a key each"):
            in_a_loop(model, model.submit(requests))
    assert server.requests == []


# Faults.

FAULTS = [
    (Saying(429, openai_error("slow down"), headers={"retry-after": "1"}), Transient),
    (Saying(500, openai_error("oops")), Transient),
    (Saying(502, "<html>bad gateway</html>"), Transient),
    (Saying(cut=0), Transient),
    (Saying(body={"id": "batch_1", "status": "completed"}, cut=5), Transient),
    (Saying(delay=30), Transient),
    (Saying(body="{"), Transient),
    (Saying(401, openai_error("no key")), Fatal),
    (Saying(400, openai_error("not like this")), Fatal),
    (Saying(429, openai_error("no quota", code="insufficient_quota")), Fatal),
    (Saying(body={"id": "../admin"}), Fatal),
    (Saying(body={"id": ["x"]}), Fatal),
]


@both
@pytest.mark.parametrize(("saying", "error"), FAULTS)
def test_faults_when_handing_over(kind: Make, server: LlmServer, saying: Saying, error: type) -> None:
    model = made(kind, server, timeout=0.06 if saying.delay else 5)
    server.say(saying)
    failure = submitted(model, questions(2))
    assert isinstance(failure, error)
    if saying.status == 429 and error is Transient:
        assert (failure.retry_after, failure.throttled) == (1.0, True)
    assert server.batched == []


@both
@pytest.mark.parametrize(("saying", "error"), FAULTS)
def test_faults_when_looking(kind: Make, server: LlmServer, saying: Saying, error: type) -> None:
    model = made(kind, server, timeout=0.06 if saying.delay else 5)
    server.say(saying)
    assert isinstance(in_a_loop(model, model.state("batch_1")), error)


@both
def test_faults_when_fetching(kind: Make, server: LlmServer) -> None:
    server.default = echo
    model = made(kind, server)
    batch = submitted(model, questions(2))
    for saying in (Saying(503, "", headers={"retry-after": "130"}), Saying(body="{}", cut=1)):
        server.say(server.otherwise, saying)
        assert isinstance(replies(model, batch), Transient)
    server.say(server.otherwise, Saying(401, openai_error("no key")))
    assert isinstance(replies(model, batch), Fatal)
    assert len(replies(model, batch)) == 2


@both
def test_results_that_are_kept_no_longer_are_asked_for_again(kind: Make, server: LlmServer) -> None:
    model = made(kind, server)
    batch = submitted(model, questions(2))
    server.say(server.otherwise, Saying(404, openai_error("the file is gone")))
    assert replies(model, batch) == {}


def test_the_requests_that_were_handed_over_can_be_deleted(server: LlmServer) -> None:
    model = made(OpenAIChat, server)
    batch = submitted(model, questions(2))
    _, replied = server.batches.files
    in_a_loop(model, model.forget(batch))
    assert server.batches.files == [replied]
    assert server.requests[-1].method == "DELETE"
    assert len(replies(model, batch)) == 2
    server.say(Saying(body={"id": "batch_1", "status": "completed", "input_file_id": "../../admin"}))
    before = len(server.requests)
    assert isinstance(in_a_loop(model, model.forget(batch)), Fatal)
    assert len(server.requests) == before + 1


def test_a_file_with_a_strange_name_is_not_asked_for(server: LlmServer) -> None:
    model = made(OpenAIChat, server)
    server.say(Saying(body={"id": "batch_1", "status": "completed", "output_file_id": "../../admin"}))
    assert isinstance(replies(model, "batch_1"), Fatal)
    assert len(server.requests) == 1


# Keys.


def test_results_elsewhere_are_not_fetched_with_this_key(server: LlmServer) -> None:
    model = made(AnthropicMessages, server)
    server.default = echo
    batch = submitted(model, questions(1))
    with LlmServer() as other:
        address = other.anthropic + "/v1/messages/batches/msgbatch_1/results"
        ended = Saying(body={"id": "msgbatch_1", "processing_status": "ended", "results_url": address})
        server.say(ended, ended)
        assert in_a_loop(model, model.state(batch)) == ENDED
        assert len(replies(model, batch)) == 1
        assert other.requests == []


@both
def test_the_key_goes_only_where_it_may(
    kind: Make, server: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    model = made(kind, server)
    batch = submitted(model, questions(1))
    in_a_loop(model, model.state(batch))
    replies(model, batch)
    shown = repr([asked.headers for asked in server.requests])
    assert not any(word in shown for word in (OPENAI_KEY, ANTHROPIC_KEY, "org-secret"))
    assert "Bearer none" in shown or "'x-api-key': 'none'" in shown


@both
def test_a_key_in_a_result_is_hidden(kind: Make, server: LlmServer) -> None:
    keys = f"{OPENAI_KEY} {ANTHROPIC_KEY}"

    def leaking(asked: Asked) -> Saying:
        if number_in(asked.body):
            return error_with(asked.path, 400, keys)
        return reply_with(asked.path, keys)

    server.default = leaking
    model = made(kind, server)
    results = replies(model, submitted(model, questions(2)))  # looks for keys itself
    assert sorted(reply.text for reply in results.values()) == ["", "*** ***"]


@both
@pytest.mark.parametrize("state", [None, [], {}, 5.5, True, ""])
def test_a_batch_without_a_state_is_a_broken_reply(server: LlmServer, kind: Make, state: Any) -> None:
    model = made(kind, server)
    batch = submitted(model, questions(1))
    server.default = echo
    server.otherwise = lambda asked: Saying(  # type: ignore[method-assign]
        body={"id": batch.partition("?")[0], model.state_key: state}
    )
    outcome = in_a_loop(model, model.state(batch))
    assert isinstance(outcome, Transient)
    assert "a batch without a state" in str(outcome)
