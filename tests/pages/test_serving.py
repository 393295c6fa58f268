"""The page served on this computer: what is saved, and who is answered."""

from __future__ import annotations

import functools
import http.client
import json
import re
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from labeling import NAMES
from rageval.errors import InputError
from rageval.files.plans import LabelPlan
from rageval.pages.labels import LabelFile, LabelServer
from report_pages import browser_, until  # noqa: F401

pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path, plan: LabelPlan) -> Iterator[LabelServer]:
    with LabelFile(tmp_path / "labels.jsonl", plan, "kim") as labels, LabelServer(labels, 0) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()


def label(plan: LabelPlan, query: str = "q0001", run: str = NAMES[0], **more: Any) -> dict[str, Any]:
    place = {"query_id": query, "run_id": run, "item_id": "answer", "aspect": "0"}
    fields = {"annotator": "kim", "judge": "person:kim", "rubric": plan.rubric, "plan": plan.sha}
    fields |= {"label": "perfect", "status": "ok", "order": 1}
    return {key: value for key, value in {**place, **fields, **more}.items() if value is not None}


def ask(
    server: LabelServer, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, str, Any]:
    headers = {"Host": f"127.0.0.1:{server.server_port}", "Origin": server.origin} | headers
    content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)) as connection:
        connection.request(method, path, content, headers)
        with connection.getresponse() as reply:
            return reply.status, reply.read().decode(), reply.headers


def test_labels_are_saved_as_they_are_given_and_taken_away(
    server: LabelServer, plan: LabelPlan, tmp_path: Path
) -> None:
    path, place = f"/{server.token}/labels", tmp_path / "labels.jsonl"
    assert not place.exists()
    assert ask(server, "POST", path, {"labels": [label(plan)]})[:2] == (200, "saved")
    assert [json.loads(line) for line in place.read_text().splitlines()] == [label(plan)]
    other = label(plan, "q0002", NAMES[1], label=None, status="refused", order=0)
    assert ask(server, "POST", path, {"labels": [other]})[0] == 200
    saved = [json.loads(line) for line in place.read_text().splitlines()]
    assert [one["query_id"] for one in saved] == ["q0002", "q0001"]  # in the order of the page
    assert ask(server, "POST", path, {"labels": [label(plan, label="missing")]})[0] == 200
    assert '"missing"' in ask(server, "GET", path)[1]
    assert ask(server, "POST", path, {"cleared": [label(plan)]})[0] == 200
    assert [json.loads(line)["query_id"] for line in place.read_text().splitlines()] == ["q0002"]
    server.labels.close()
    with LabelFile(place, plan, "kim") as reopened:
        assert len(reopened) == 1


def test_who_does_not_know_the_token_learns_nothing(
    server: LabelServer, plan: LabelPlan, tmp_path: Path
) -> None:
    wrong = server.token[:-1] + ("a" if server.token[-1] != "a" else "b")
    for path in ("/", "/labels", f"/{wrong}/", f"/{wrong}/labels", f"/{server.token}", f"/{server.token}/x"):
        assert ask(server, "GET", path)[:2] == (404, "nothing here")
    assert len(server.token) >= 32
    assert ask(server, "POST", f"/{wrong}/labels", {"labels": [label(plan)]})[0] == 404
    assert not (tmp_path / "labels.jsonl").exists()


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "localhost.evil.example:80"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
def test_other_pages_cannot_send_labels(
    server: LabelServer, plan: LabelPlan, tmp_path: Path, headers: dict[str, str]
) -> None:
    body = {"labels": [label(plan)]}
    assert ask(server, "POST", f"/{server.token}/labels", body, **headers)[0] == 404
    assert not (tmp_path / "labels.jsonl").exists()
    if "Host" in headers:  # a name that was turned to this computer
        assert ask(server, "GET", f"/{server.token}/", **headers)[0] == 404


def test_a_page_is_kept_by_nobody_and_says_where_it_may_send(server: LabelServer) -> None:
    status, text, headers = ask(server, "GET", f"/{server.token}/")
    assert status == 200
    assert "connect-src 'self'" in text
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in headers
    assert "Python" not in headers["Server"]
    for name in NAMES:
        assert name not in text


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b"\xff", 400),
        (b"[" * 100_000, 400),
        ({"labels": "all"}, 400),
        ({"labels": [1]}, 400),
        ({"labels": [{}]}, 400),
        ({"cleared": [1]}, 400),
        ({"cleared": {"a": 1}}, 400),
    ],
)
def test_what_is_no_label_is_refused_and_nothing_changes(
    server: LabelServer, body: Any, status: int, tmp_path: Path
) -> None:
    assert ask(server, "POST", f"/{server.token}/labels", body)[0] == status
    assert not (tmp_path / "labels.jsonl").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query_id": "q0009"}, "expected a label of this plan"),
        ({"plan": "0"}, "expected a label of this plan"),
        ({"annotator": "lee"}, "expected a label of kim"),
        ({"judge": "openai:gpt"}, "expected a label of kim"),
        ({"rubric": "pairwise"}, "expected the rubric crag@"),
        ({"status": "invalid"}, "expected a label as the page sends it; Invalid enum value 'invalid'"),
        ({"label": "splendid"}, "expected one of acceptable, incorrect, missing, perfect, found 'splendid'"),
    ],
)
def test_labels_of_something_else_are_refused(
    server: LabelServer, plan: LabelPlan, tmp_path: Path, change: dict[str, str], message: str
) -> None:
    body = {"labels": [label(plan, "q0002"), label(plan) | change]}
    status, text, _ = ask(server, "POST", f"/{server.token}/labels", body)
    assert (status, message in text) == (400, True), text
    assert not (tmp_path / "labels.jsonl").exists()  # neither of the two
    (tmp_path / "other.jsonl").write_text(json.dumps(label(plan) | change) + "\n")
    with pytest.raises(InputError, match=f"other.jsonl:1: {re.escape(message)}"):
        LabelFile(tmp_path / "other.jsonl", plan, "kim")


ODD = ["1", 1, -1, 7.5, 1e400, True, [], {}, "\x1b[31m", "\ud800", "a" * 10**5, [[1]], {"a": None}]


def test_whatever_is_sent_for_a_field_the_server_goes_on(
    server: LabelServer, plan: LabelPlan, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each field, also one that no label has, in all odd forms; what was saved can be read."""
    path = f"/{server.token}/labels"
    for field in (
        *label(plan),
        "seconds",
        "note",
        "shown",
        "weight",
        "sentences",
        "repeat",
        "grade",
        "claim",
    ):
        for odd in ODD:
            status, text, _ = ask(server, "POST", path, {"labels": [label(plan) | {field: odd}]})
            assert status in (200, 400), (field, odd, status)
            assert text.isprintable(), (field, odd)
        assert (
            ask(
                server,
                "POST",
                path,
                {"cleared": [{"query_id": odd} for odd in ODD if odd not in (1e400, "\ud800")]},
            )[0]
            == 200
        )
    assert ask(server, "POST", path, {"labels": [label(plan)]})[0] == 200
    assert capfd.readouterr() == ("", "")
    server.labels.close()
    with LabelFile(tmp_path / "labels.jsonl", plan, "kim") as reopened:
        assert len(reopened) == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\r\n\r\n",
        b"GET",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\xff\xfe \x00 HTTP/1.1\r\n\r\n",
        b"POST TOKEN HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nContent-Length: 9\r\n\r\n{",
        b"POST TOKEN HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nContent-Length: 0\r\n\r\n",
        b"GET TOKEN HTTP/1.1\r\nHost: HOST\r\n" + b"A: b\r\n" * 200 + b"\r\n",
        b"GET TOKEN HTTP/1.1\r\nHost: HOST\r\nHost: \xe9\r\n\r\n",
        b"GET TOKEN HTTP/1.1\r\nHost: HOST\r\n" + b"A" * 70_000,
        b"OPTIONS TOKEN HTTP/1.1\r\nHost: HOST\r\n\r\n",
    ],
)
@pytest.mark.parametrize("is_reset", [True, False])
def test_odd_requests_and_clients_that_leave_end_nothing(
    server: LabelServer, plan: LabelPlan, sent: bytes, is_reset: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    host = f"127.0.0.1:{server.server_port}".encode()
    path = f"/{server.token}/labels".encode()
    with socket.create_connection(("127.0.0.1", server.server_port)) as client:
        client.sendall(sent.replace(b"TOKEN", path).replace(b"HOST", host))
        if is_reset:  # closed at once, with RST in place of FIN
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert ask(server, "POST", f"/{server.token}/labels", {"labels": [label(plan)]})[:2] == (200, "saved")
    assert capfd.readouterr() == ("", "")


def test_a_slow_client_holds_up_nobody(server: LabelServer, plan: LabelPlan) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port)) as client:
        client.sendall(b"POST / HTTP/1.1\r\nContent-Le")
        assert ask(server, "POST", f"/{server.token}/labels", {"labels": [label(plan)]})[0] == 200


def test_a_fault_of_ours_is_one_line_and_the_server_goes_on(
    server: LabelServer,
    plan: LabelPlan,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = f"/{server.token}/labels"
    with monkeypatch.context() as patched:
        patched.setattr(server.labels, "change", lambda *_: {}["so"])
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            ask(server, "POST", path, {"labels": [label(plan)]})
    assert ask(server, "POST", path, {"labels": [label(plan)]})[0] == 200
    stderr = capfd.readouterr().err
    assert stderr == "rageval: a request failed, the labels are unchanged: KeyError: 'so'\n"


@pytest.mark.parametrize("size", [str(2**20 + 1), "9" * 5000, "-1", "many"])
def test_more_than_anybody_labels_at_once_is_refused(server: LabelServer, size: str) -> None:
    """Unread: it is refused by its length alone."""
    assert ask(server, "POST", f"/{server.token}/labels", b"", **{"Content-Length": size})[0] == 413


def test_a_file_that_another_program_changed_is_left_alone(
    server: LabelServer, plan: LabelPlan, tmp_path: Path
) -> None:
    path = f"/{server.token}/labels"
    ask(server, "POST", path, {"labels": [label(plan)]})
    (tmp_path / "labels.jsonl").write_text("mine\n")
    status, text, _ = ask(server, "POST", path, {"labels": [label(plan, "q0002")]})
    assert (status, "was changed by another program" in text) == (409, True)
    assert (tmp_path / "labels.jsonl").read_text() == "mine\n"


@pytest.mark.slow
def test_the_page_saves_each_label_and_goes_on_where_it_was(
    server: LabelServer, tmp_path: Path, browser: Any
) -> None:
    place = tmp_path / "labels.jsonl"

    def labels() -> list[str]:
        return [json.loads(line).get("label", "") for line in place.read_text().splitlines()]

    tab = browser.new_page()
    wrong: list[str] = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.goto(server.address)
    saved = "document.getElementById('saved').textContent === 'saved on this computer'"
    for key in "1230":
        tab.keyboard.press(key)
        until(tab, saved)
    until(tab, saved)
    assert labels() == ["perfect", "acceptable", "missing", ""]
    tab.keyboard.press("u")
    until(tab, saved)
    assert labels() == ["perfect", "acceptable", "missing"]
    other = browser.new_context().new_page()  # a browser that knows nothing yet
    other.goto(server.address)
    until(other, "document.getElementById('count').textContent === '3 of 6 labeled'")
    other.keyboard.press("o")
    other.keyboard.press("4")
    until(other, saved)
    assert labels() == ["perfect", "acceptable", "missing", "incorrect"]
    server.token = "another"  # the program was started anew
    other.keyboard.press("4")
    until(other, "!document.getElementById('trouble').hidden")
    assert "does not know this page. Open the address" in other.text_content("#trouble")
    assert other.text_content("#saved") == "1 label not saved yet"
    assert wrong == []
    tab.close()


@pytest.mark.slow
def test_the_command_serves_until_it_is_interrupted(tmp_path: Path, asked: Path, plan: LabelPlan) -> None:
    words = [
        "label",
        "page",
        str(asked),
        "--annotator",
        "kim",
        "--serve",
        str(tmp_path / "l.jsonl"),
    ]
    command = [sys.executable, "-u", "-m", "rageval", *words]
    # who runs the tests in the background of a shell lets them ignore what a terminal's Ctrl-C sends
    heeding = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeding
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/[\w-]{32,}/)", address)
        assert match is not None, address
        origin = address.partition(match[2])[0]
        body = json.dumps({"labels": [label(plan)]})
        with closing(http.client.HTTPConnection("127.0.0.1", int(match[1]), timeout=10)) as connection:
            connection.request("POST", f"{match[2]}labels", body, {"Origin": origin})
            with connection.getresponse() as reply:
                assert reply.status == 200
        process.send_signal(signal.SIGINT)
        try:
            _, stderr = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 0, stderr
    assert "1 labels in" in stderr
    assert match[2].strip("/") not in stderr
