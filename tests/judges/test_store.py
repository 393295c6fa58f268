"""The store of replies: what comes back, what never gets in, and files that are damaged, full or locked."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval.errors import InputError, OutputError, UsageError
from rageval.judges.asking import ask_all
from rageval.judges.base import FENCE, Reply, Request, Usage
from rageval.judges.store import BEAT, MIGRATIONS, PATIENCE, Store, _checksum, _from_line, on_network
from rageval.testing import ScriptedModel

NOBODY = 65534
REQUEST = Request("Judge.", "Is it so?", {"type": "object"})
REPLY = Reply("ok", "yes", "", Usage(1, 2, 3, 4), "served", "id", 0.25, {"mode": "text"}, ("temperature",))
TEXTS = st.text(st.characters(), max_size=30)  # with surrogates, NUL and line ends
REPLIES = st.builds(
    Reply,
    st.sampled_from(["ok", "refused", "truncated", "filtered"]),
    text=TEXTS,
    detail=TEXTS,
    usage=st.builds(Usage, *[st.integers(0, 2**62)] * 4),
    latency=st.floats(0, 1e6),
    sent=st.dictionaries(TEXTS, st.none() | st.booleans() | st.integers() | TEXTS, max_size=3),
    dropped=st.lists(TEXTS, max_size=2).map(tuple),
)
REQUESTS = st.builds(
    Request,
    TEXTS,
    TEXTS,
    st.dictionaries(TEXTS, TEXTS, max_size=2),
    temperature=st.none() | st.floats(0, 2),
    sample=st.integers(0, 9),
)


def key_of(request: Request) -> str:
    return request.key("m", "http://e")


def keep(store: Store, request: Request = REQUEST, reply: Reply = REPLY) -> str:
    store.put(key_of(request), request, reply, "m", "http://e")
    return key_of(request)


def many(count: int) -> list[Request]:
    return [replace(REQUEST, user=f"Text {number}.") for number in range(count)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "store.sqlite"


@pytest.mark.slow
@given(REQUESTS, REPLIES)
def test_what_is_kept_comes_back_and_goes_from_store_to_store(request: Request, reply: Reply) -> None:
    with Store(":memory:") as store, Store(":memory:") as other:
        kept = store.put(key_of(request), request, reply, "m", "http://e")
        assert kept == reply == store.get(key_of(request))
        imported = other.import_(store.export())
        assert (imported.added, imported.same, imported.conflicts, imported.damaged) == (1, 0, [], [])
        assert [*other.rows()] == [*store.rows()]
        assert next(other.rows()).request == request
        assert other.import_(store.export()).same == 1


CHANGES: dict[str, Any] = {
    "system": "Judge!",
    "user": "Is it so? ",
    "schema": {"type": "object", "required": []},
    "name": "grade",
    "max_tokens": 1025,
    "temperature": None,
    "sample": 1,
}


@pytest.mark.slow
def test_a_key_tells_apart_whatever_can_change_the_answer() -> None:
    requests = [REQUEST, *(replace(REQUEST, **{name: value}) for name, value in CHANGES.items())]
    keys = {request.key(who, where) for request in requests for who in ("m", "n") for where in ("e", "f")}
    assert len(keys) == 4 * (len(CHANGES) + 1)
    program = f"from rageval.judges.base import Request; print({REQUEST!r}.key('m', 'e'))"
    for seed in "12":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        result = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        assert result.stdout.strip() == REQUEST.key("m", "e")


def test_an_error_is_not_kept_and_a_newer_reply_takes_the_place_of_an_older(path: Path) -> None:
    with Store(path) as store:
        for status in ("error", "invalid", "repaired", ""):
            with pytest.raises(ValueError, match="asked for again"):
                keep(store, reply=replace(REPLY, status=status))
        key = keep(store)
        assert store.get(key, job="mine") is None
        store.put(key, REQUEST, replace(REPLY, text="no"), "m", "http://e", job="mine")
        assert store.get(key, job="mine") == store.get(key) == replace(REPLY, text="no")


def test_a_flipped_bit_costs_one_reply(path: Path) -> None:
    requests = many(60)
    model = ScriptedModel(lambda request: request.user, "m", "http://e")
    with Store(path) as store:
        list(ask_all(enumerate(requests), model, store))
        store.reading().__enter__().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    position = content.index(b'"text":"Text 30."')
    content[position + 14] ^= 1
    path.write_bytes(content)
    with Store(path) as store:
        assert store.stats() | {"path": ""} == {
            "path": "",
            "replies": 59,
            "damaged": 1,
            "claims": 0,
            "models": {"m": 59},
            "statuses": {"ok": 59},
            "engines": {},
        }
        replies = list(ask_all(enumerate(requests), model, store))
        assert [reply.text for _, reply in replies] == [request.user for request in requests]
        assert model.calls == 61, "that row alone is asked again"
    with Store(path) as store:
        assert store.stats()["damaged"] == 0


@pytest.mark.slow
def test_whatever_bytes_are_overwritten_no_wrong_reply_comes_out(path: Path) -> None:
    dice = random.Random(11)
    requests = many(200)
    with Store(path) as store:
        for request in requests:
            keep(store, request, replace(REPLY, text=request.user))
        store.reading().__enter__().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = path.read_bytes()
    lost = 0
    for _ in range(40):
        content = bytearray(whole)
        for _ in range(20):
            content[dice.randrange(4096, len(content))] = dice.randrange(256)
        path.write_bytes(content)
        with suppress(InputError), Store(path, read_only=True) as store:
            replies = {request.user: store.get(key_of(request)) for request in requests}
            intact = [(text, reply.text) for text, reply in replies.items() if reply]
            assert all(text == reply_text for text, reply_text in intact)
            lost += len(replies) - len(intact)
    assert lost


def test_an_import_lists_what_it_does_not_take(path: Path, tmp_path: Path) -> None:
    one, two, three, four = many(4)
    with Store(path) as mine, Store(tmp_path / "other.sqlite") as theirs:
        for request in (one, two):
            keep(mine, request)
        for request in (two, three, four):
            keep(theirs, request, replace(REPLY, text="other" if request == two else "yes", latency=9.0))
        lines = [*theirs.export()]
        edited = lines[0].replace("Is it", "Was it").replace("Text", "Test")
        error = json.dumps(json.loads(lines[0]) | {"reply": {"status": "error"}})
        imported = mine.import_([edited, "{}", "[]", "", error, *lines, lines[0][:50]])
        assert (imported.added, imported.same, imported.conflicts) == (2, 0, [key_of(two)])
        assert [problem.split(":")[0] for problem in imported.damaged] == [
            "line 1",
            "line 2",
            "line 3",
            "line 5",
        ]
        assert imported.torn
        assert mine.get(key_of(two)) == REPLY
        assert mine.merge(tmp_path / "other.sqlite").conflicts == [key_of(two)]
        assert len([*mine.rows()]) == 4


def test_a_reply_is_shown_by_the_beginning_of_its_key(path: Path) -> None:
    with Store(path) as store:
        keys = [keep(store, request) for request in many(40)]
        for key in keys:
            shown = store.show(key[:12])
            assert shown is not None
            assert (shown.key, shown.model, shown.endpoint, shown.reply) == (key, "m", "http://e", REPLY)
        assert store.show("") is None
        assert store.show("x") is None


def test_no_secret_gets_in(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {
        "OPENAI_API_KEY": "sk-sentinel-0123456789",
        "RAGEVAL_API_KEY_LOCALHOST_8000": 'local-"sentinel"-0123456789',
        "HF_TOKEN": "hf-sentinel-é0123456789",
    }
    for name, secret in secrets.items():
        monkeypatch.setenv(name, secret)
    with Store(path) as store:
        for index, secret in enumerate(secrets.values()):
            reply = replace(
                REPLY,
                text=f"Bearer {secret}.",
                detail=secret,
                sent={"header": secret, secret: [secret]},
                request_id=secret,
                served=secret,
            )
            kept = store.put(f"{index}", REQUEST, reply, "m", "http://e")
            assert kept.text == "Bearer ***."
            with pytest.raises(UsageError, match="user name or password"):
                store.put("9", REQUEST, REPLY, "m", f"https://me:{secret}@host/v1")
    content = b"".join(file.read_bytes() for file in path.parent.iterdir())
    for secret in secrets.values():
        assert secret.encode() not in content
        assert json.dumps(secret)[1:-1].encode() not in content
    assert b"***" in content
    assert FENCE.encode() not in content


def test_many_may_write_at_once(path: Path) -> None:
    def write(part: int) -> None:
        with Store(path) as store:
            for request in many(400)[part::4]:
                keep(store, request)

    threads = [threading.Thread(target=write, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Store(path) as store:
        assert store.stats()["replies"] == 400


def test_a_claim_is_kept_while_its_owner_shows_that_it_lives(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def clock() -> float:
        return now[0]

    with Store(path, clock=clock) as mine:
        monkeypatch.setattr("rageval.judges.store.place", lambda: "another machine")
        with Store(path, clock=clock) as other:
            assert other.claim("a")
            assert other.claim("b")
            assert not mine.claim("a")
            for _ in range(20):  # much longer than anybody is patient
                now[0] += BEAT
                other.beat()
                assert mine.claim_all(["a", "c"]) in (["c"], [])
            now[0] += PATIENCE - 1
            assert not mine.claim("a")
            now[0] += 2
            assert mine.claim("a"), "no beat for so long: the owner is dead"
            other.release("a")
            assert not other.claim("a")
            assert other.claim("b")
        mine.release("a", "c")
        assert mine.stats()["claims"] == 0


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, other than those of pytest."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, which may write anywhere."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")
def test_a_store_that_may_not_be_written_is_refused_before_anybody_is_asked(open_folder: Path) -> None:
    folder = open_folder / "shared"
    path = folder / "store.sqlite"
    model = ScriptedModel(lambda request: "yes", "m", "http://e")
    with Store(path) as store:
        list(ask_all(enumerate(many(3)), model, store))
    path.chmod(0o444)
    folder.chmod(0o555)
    try:
        with as_nobody():
            with pytest.raises(OutputError, match=r"store\.sqlite: cannot be written; name a store"):
                Store(path)
            with pytest.raises(OutputError, match="cannot be"):
                Store(folder / "deeper" / "new.sqlite")
            with Store(path, read_only=True) as store:
                assert len(list(ask_all(enumerate(many(3)), model, store))) == 3
    finally:
        folder.chmod(0o755)
    assert model.calls == 3


FULL = """
import resource, signal, sys
from rageval.errors import OutputError
from rageval.judges.base import Request
from rageval.testing import ScriptedModel
from rageval.judges.asking import ask_all
from rageval.judges.store import Store

path, limit = sys.argv[1:]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
model = ScriptedModel(lambda request: request.user * 100)
try:
    with Store(path) as store:
        if limit == "pages":
            store.reading().__enter__().execute("PRAGMA max_page_count = 100")
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000))
        requests = [(at, Request("Judge.", f"Text {at}.", {})) for at in range(2000)]
        for number, reply in ask_all(requests, model, store, concurrency=4):
            print(number, flush=True)
except OutputError as error:
    print(model.calls, error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="limits are those of POSIX")
@pytest.mark.parametrize("limit", ["pages", "file"])
def test_a_full_disk_ends_the_job_and_spoils_nothing(path: Path, limit: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", FULL, path, limit], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 2
    assert f"{path}: the disk " in result.stderr
    assert "Traceback" not in result.stderr
    seen = list(map(int, result.stdout.split()))
    assert 10 < len(seen) < 1000
    with Store(path) as store:
        assert store.stats()["replies"] >= len(seen)
        assert store.stats()["damaged"] == 0
        model = ScriptedModel(lambda request: "asked")
        requests = [(number, Request("Judge.", f"Text {number}.", {})) for number in seen]
        list(ask_all(requests, model, store))
        assert model.calls == 0, "all that was acknowledged is there"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_files_that_are_no_store_are_left_alone(tmp_path: Path) -> None:
    text, other, newer = tmp_path / "a.txt", tmp_path / "b.sqlite", tmp_path / "c.sqlite"
    text.write_text("not a database, but a text that is long enough to look at" * 20)
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    Store(newer).close()
    with closing(sqlite3.connect(newer)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    for path, message in ((text, "is not a store"), (other, "not a store"), (newer, "newer rageval")):
        before = path.read_bytes()
        for read_only in (True, False):
            with pytest.raises(InputError, match=message):
                Store(path, read_only=read_only)
        assert path.read_bytes() == before
    with pytest.raises(InputError, match="no such store"):
        Store(tmp_path / "missing.sqlite", read_only=True)
    assert not (tmp_path / "missing.sqlite").exists()


def test_a_network_disk_is_known_by_its_kind(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"a / ext4 rw 0 0\nb {tmp_path} nfs4 rw 0 0\nc {tmp_path}/near ext4 rw 0 0\n")
    assert on_network(f"{tmp_path}/store.sqlite", str(mounts))
    assert not on_network(f"{tmp_path}/near/store.sqlite", str(mounts))
    assert not on_network(f"{tmp_path}2/store.sqlite", str(mounts))


def test_lines_are_checked_against_their_keys(path: Path) -> None:
    with Store(path) as store:
        keep(store)
        (line,) = store.export()
    assert _from_line(line).request == REQUEST
    for piece, other in (
        ("Is it so?", "Is it?"),
        ('"model":"m"', '"model":"n"'),
        ('"sample":0', '"sample":true'),
    ):
        assert piece in line
        with pytest.raises(ValueError, match=r"does not match its key|another type"):
            _from_line(line.replace(piece, other))


def test_a_damaged_list_of_tables_is_told_though_sqlites_message_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    Store(str(path)).close()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE claims", b"CREATE \xed\xed\xed\xed\xed claims"))
    with pytest.raises(InputError, match="is damaged; export what can be read"):
        Store(str(path), read_only=True)


def test_a_store_whose_table_is_gone_is_told(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    Store(str(path)).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE replies")
    with Store(str(path), read_only=True) as store, pytest.raises(InputError, match="is damaged; export"):
        store.stats()


@pytest.mark.slow
@pytest.mark.parametrize("value", [5, 1.5, b"bytes", "", "[]", "null", "[" * 5000])
@pytest.mark.parametrize("column", ["key", "model", "endpoint", "request", "reply", "created", "job"])
def test_cells_of_other_types_cost_their_row(path: Path, column: str, value: Any) -> None:
    with Store(path) as store:
        keys = [keep(store, request) for request in many(3)]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE replies SET {column} = ? WHERE key = ?", (value, keys[1]))
        connection.create_function("sum_of", -1, _checksum_of)
        connection.execute("UPDATE replies SET checksum = sum_of(key, reply, created, job)")
    with Store(path, read_only=True) as store:
        assert {row.key for row in store.rows()} >= {keys[0], keys[2]}
        assert all(isinstance(row.created, str) for row in store.rows())
        store.stats(), store.show(keys[1]), store.show("x"), list(store.export())


def _checksum_of(*cells: Any) -> str:
    return _checksum(*(cell if isinstance(cell, str) else str(cell) for cell in cells))


@pytest.mark.parametrize("keys", [5, b"bytes", "", "[]x", "{}", "[1]", "[null]", "[" * 5000])
def test_a_batch_that_somebody_changed_is_told(path: Path, keys: Any) -> None:
    with Store(path) as store:
        store.batches.add("batch_1", "openai:m", ["a", "b"])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE batches SET keys = ?", (keys,))
    with Store(path) as store, pytest.raises(InputError, match=r"holds a damaged batch \('batch_1'\)"):
        store.batches.all()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW more AS SELECT * FROM replies",
        "CREATE TRIGGER more AFTER INSERT ON replies BEGIN DELETE FROM replies; END",
        "CREATE VIRTUAL TABLE more USING fts5(text)",
    ],
)
def test_what_is_no_table_is_refused(path: Path, statement: str) -> None:
    with Store(path) as store:
        keep(store)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    for read_only in (True, False):
        with pytest.raises(InputError, match="it holds more, which is no table"):
            Store(path, read_only=read_only)
