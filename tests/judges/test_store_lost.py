"""A store that is deleted, replaced, read by others, cut short by a loss of power, or on a full disk."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fair_judge import fair
from llm_server import Asked, LlmServer, Saying
from rageval.errors import OutputError, StoreLost
from rageval.judges import asking as asking
from rageval.judges.base import Reply
from rageval.judges.store import Store
from test_bad_input import command
from test_budget_shared import many_answers
from test_scheduler import asked

COUNT = 12
CRAG = ("judge", "crag-auto", "answers", "--questions", "questions", "--judge", "openai:m", "--quiet")


@pytest.fixture(autouse=True)
def _files(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("folder").mkdir()
    monkeypatch.setenv("RAGEVAL_STORE", str(place / "folder" / "store.sqlite"))
    many_answers(COUNT)


def delete() -> None:
    for path in Path("folder").glob("store.sqlite*"):
        path.unlink()


def replace() -> None:
    Store("other.sqlite").close()
    os.replace("other.sqlite", "folder/store.sqlite")


def move_away() -> None:
    Path("folder").rename("elsewhere")


def on_call(number: int, what: Callable[[], None]) -> Callable[[Asked], Saying]:
    calls = iter(range(1, 1000))

    def say(asked: Asked) -> Saying:
        if next(calls) == number:
            what()
        return fair(asked)

    return say


@pytest.mark.slow
@pytest.mark.parametrize("how", [delete, replace])
@pytest.mark.parametrize("when", [1, 5, COUNT])
def test_a_store_that_is_gone_ends_the_job_and_what_was_in_it_is_kept(
    server: LlmServer, how: Callable[[], None], when: int
) -> None:
    server.default = on_call(when, how)
    words = (*CRAG, "--canaries", "0", "--concurrency", "1", "-o", "judged")
    outcome = command(*words)
    assert (outcome.code, outcome.err.count("\n")) == (3, 1)
    assert "store.sqlite: the store was deleted or replaced while it was in use" in outcome.err
    assert not Path("judged").exists()
    assert len(server.requests) == when, "nothing more is asked"
    (kept,) = Path("folder").glob("store.sqlite.rescued-*")
    assert f"continue with --store {kept.absolute()}" in outcome.err
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with Store(kept, read_only=True) as store:
        assert store.stats()["replies"] == when - 1
    assert command(*words, "--store", str(kept)).code == 0
    assert len(server.requests) == COUNT + 1, "only the reply that had nowhere to go is asked for again"


def test_a_folder_that_is_gone_is_said_to_be(server: LlmServer) -> None:
    server.default = on_call(3, move_away)
    outcome = command(*CRAG, "--canaries", "0", "--concurrency", "1")
    assert (outcome.code, len(server.requests)) == (3, 3)
    assert "its folder is gone: if you moved it, continue with --store and its new path" in outcome.err
    with Store("elsewhere/store.sqlite", read_only=True) as store:
        assert store.stats()["replies"] == 2


@pytest.mark.parametrize("how", [("--batch", "--poll-every", "3600"), ("--concurrency", "1")])
def test_a_beat_finds_out_while_nothing_else_happens(
    server: LlmServer, how: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "BEAT", 0.02)
    server.batches.polls = 10**9

    def say(asked: Asked) -> Saying:
        delete()
        return (
            Saying(delay=3600) if asked.path == "/v1/chat/completions" and not server.batched else fair(asked)
        )

    server.default = say
    outcome = command(*CRAG, "--canaries", "0", *how)
    assert outcome.code == 3
    assert "deleted or replaced while it was in use" in outcome.err


def test_a_store_is_lost_to_all_who_write_and_only_once() -> None:
    with Store() as store:
        store.put("0" * 64, asked(1)[0][1], Reply("ok", "kept"))
        delete()
        for _ in range(3):
            with pytest.raises(StoreLost):
                store.claim("1" * 64)
    (kept,) = Path("folder").glob("store.sqlite.rescued-*")
    with Store(kept) as reopened:
        assert reopened.get("0" * 64) == Reply("ok", "kept")


def modes(name: str) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in Path(name).parent.glob(f"{Path(name).name}*")}


@pytest.fixture
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_usual_umask")
def test_nobody_else_reads_a_store() -> None:
    with Store("new/folder/s.sqlite") as store:
        store.put("0" * 64, asked(1)[0][1], Reply("ok", "private"))
        assert modes("new/folder/s.sqlite") == {0o600}
        assert len(list(Path("new/folder").iterdir())) == 3, "the log and its index, too"
    assert stat.S_IMODE(Path("new/folder").stat().st_mode) == 0o700
    for mode, expected in ((0o644, 0o600), (0o640, 0o600), (0o600, 0o600), (0o660, 0o660), (0o664, 0o664)):
        Path("new/folder/s.sqlite").chmod(mode)
        with Store("new/folder/s.sqlite"):
            assert modes("new/folder/s.sqlite") == {expected}


def test_a_batch_is_synced_before_a_provider_is_told_of_it_and_the_rest_at_the_next_beat() -> None:
    with Store() as store:
        statements: list[str] = []
        store._connection.set_trace_callback(statements.append)
        store.batches.add("intent", "openai:m", ["0" * 64], "intended")
        assert [words.split()[0] for words in statements] == ["PRAGMA", "BEGIN", "INSERT", "COMMIT", "PRAGMA"]
        assert statements[0] == "PRAGMA synchronous=FULL"
        (level,) = store._connection.execute("PRAGMA synchronous").fetchone()
        assert level == 1
        del statements[:]
        store.beat()
        assert statements[-1] == "PRAGMA wal_checkpoint(PASSIVE)"
        store._connection.set_trace_callback(None)


def test_a_full_disk_under_the_store_names_the_store(
    server: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Store, *arguments: object, **also: object) -> None:
        raise OutputError(f"{self.path}: the disk is full; free some space and run the same command again")

    monkeypatch.setattr(Store, "put", full)
    outcome = command(*CRAG, "-o", "judged")
    assert outcome.code == 2
    assert "store.sqlite: the disk is full" in outcome.err
    assert "None" not in outcome.err
    assert not Path("judged").exists()
