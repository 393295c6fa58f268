"""Stores, claims and batches under everything that may happen to them, in any order.

The model is the ledger of what the server was paid for. After every step: each question that was asked has
been paid for exactly as often as it had to be (once for each store that did not hold it), whoever asked,
died, merged or lost a reply before; what was answered once is answered alike as long as the store is there.
`make machine` tries more, for longer.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rageval.judges import asking
from rageval.judges.asking import Patience, ask_all
from rageval.judges.base import ENDED, Lost, Reply, Request
from rageval.judges.batches import LOOKS, ask_in_batches
from rageval.judges.store import INTENDED, PATIENCE, Store
from rageval.testing import ScriptedModel

pytestmark = pytest.mark.slow

NAME, ENDPOINT = "paid:m", "http://provider"
FAST: dict[str, Any] = {"poll_every": 0.001, "patience": Patience(first_pause=0.001)}
QUESTIONS = [f"Text {number}." for number in range(8)]
SOME = st.sets(st.sampled_from(QUESTIONS), min_size=1, max_size=6).map(sorted)
STORES = ("a", "b")
A_STORE = st.sampled_from(STORES)
TROUBLE = st.sampled_from(["", "reply lost", "never came", "listed late"])
AN_OWNER = st.integers(0, 1)


def request(text: str) -> Request:
    return Request("Judge.", text, {"type": "object"}, max_tokens=10)


KEYS = {text: request(text).key(NAME, ENDPOINT) for text in QUESTIONS}


class Server:
    """Is paid for what it answers, and never answers twice in the same words."""

    def __init__(self) -> None:
        self.paid: Counter[str] = Counter()
        self._lock = threading.Lock()

    def answer(self, text: str) -> Reply:
        with self._lock:
            self.paid[text] += 1
            return Reply("ok", f"{text} {sum(self.paid.values())}")


class Provider:
    """Batches of the server, paid for when they are accepted; `trouble` is what befalls the next one."""

    name, endpoint, batch_limit = NAME, ENDPOINT, 3

    def __init__(self, server: Server) -> None:
        self.server = server
        self.accepted: dict[str, dict[str, Reply]] = {}  # by id: key -> reply
        self.tags: dict[str, str] = {}
        self.looks: Counter[str] = Counter()
        self.listed_after: Counter[str] = Counter()
        self.trouble = ""

    async def ask(self, request: Request) -> Reply:
        raise AssertionError("only batches are asked here")

    def intent(self) -> str:
        return f"intent-{len(self.tags)}-{os.urandom(4).hex()}"

    async def submit(self, requests: Sequence[tuple[str, Request]], intent: str) -> str:
        trouble, self.trouble = self.trouble, ""
        if trouble == "never came":
            raise Lost("the request was lost")
        batch = f"batch-{len(self.accepted):04}"
        self.tags[intent] = batch
        self.listed_after[intent] = LOOKS if trouble == "listed late" else 1
        self.accepted[batch] = {key: self.server.answer(asked.user) for key, asked in requests}
        if trouble:
            raise Lost("the reply was lost")
        return batch

    async def find(self, intent: str, keys: Sequence[str], since: str, names: Collection[str]) -> str | None:
        self.looks[intent] += 1
        return self.tags.get(intent) if self.looks[intent] >= self.listed_after[intent] else None

    async def abandon(self, intent: str) -> None:
        assert intent not in self.tags, "what was accepted is not to be given up"

    async def state(self, batch: str) -> str:
        return ENDED

    async def results(self, batch: str) -> AsyncIterator[tuple[str, Reply]]:
        for key, reply in self.accepted[batch].items():
            yield key, reply


class Judging(RuleBasedStateMachine):
    """Two stores, two owners each, one server."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.now = 0.0
        self.server = Server()
        self.provider = Provider(self.server)
        self.model = ScriptedModel(lambda asked: self.server.answer(asked.user), NAME, ENDPOINT)
        self.owners: dict[tuple[str, int], Store] = {}
        self.kept: dict[str, dict[str, str]] = {name: {} for name in STORES}
        self.batches: dict[str, list[dict[str, str]]] = {
            name: [] for name in STORES
        }  # handed over by the dead

    def clock(self) -> float:
        """Time passes with every look at it, so that nobody waits for it to pass."""
        self.now += 2.0
        return self.now

    def store(self, name: str, owner: int) -> Store:
        if (name, owner) not in self.owners:
            self.owners[name, owner] = Store(self.folder / f"{name}.sqlite", clock=self.clock)
        return self.owners[name, owner]

    def die(self, name: str, owner: int) -> None:
        """As a kill has it: nothing is given back."""
        self.owners.pop((name, owner))._connection.close()

    def asked(self, name: str, texts: Sequence[str], replies: Any, expected: int) -> None:
        """The replies are those that the store holds, and so many were paid for."""
        before = sum(self.server.paid.values())
        replies_by_text = {texts[number]: reply for number, reply in replies}
        assert set(replies_by_text) == set(texts)
        assert {reply.status for reply in replies_by_text.values()} == {"ok"}
        for text, reply in replies_by_text.items():
            assert self.kept[name].setdefault(text, reply.text) == reply.text
        assert sum(self.server.paid.values()) - before == expected

    def missing(self, name: str, texts: Sequence[str]) -> list[str]:
        return [text for text in texts if text not in self.kept[name]]

    @rule(name=A_STORE, owner=AN_OWNER, texts=SOME)
    def ask(self, name: str, owner: int, texts: list[str]) -> None:
        requests = [(index, request(text)) for index, text in enumerate(texts)]
        replies = ask_all(requests, self.model, self.store(name, owner), concurrency=3)
        self.asked(name, texts, replies, len(self.missing(name, texts)))

    @rule(name=A_STORE, texts=SOME)
    def ask_anew(self, name: str, texts: list[str]) -> None:
        for text in texts:
            self.kept[name].pop(text, None)
        requests = [(index, request(text)) for index, text in enumerate(texts)]
        replies = ask_all(requests, self.model, self.store(name, 0), refresh=True)
        self.asked(name, texts, replies, len(texts))

    @rule(name=A_STORE, texts=st.tuples(SOME, SOME))
    def ask_by_two_at_once(self, name: str, texts: tuple[list[str], list[str]]) -> None:
        before = sum(self.server.paid.values())
        union = {*texts[0], *texts[1]}
        expected = len(self.missing(name, sorted(union)))
        results: list[Any] = [None, None]

        async def in_a_moment(asked: Request) -> Reply:
            await asyncio.sleep(0.003)  # so that the other one comes upon it
            return self.server.answer(asked.user)

        slow = ScriptedModel(in_a_moment, NAME, ENDPOINT)

        def work(owner: int) -> None:
            requests = [(index, request(text)) for index, text in enumerate(texts[owner])]
            results[owner] = list(ask_all(requests, slow, self.store(name, owner), concurrency=2))

        for owner in range(2):
            self.store(name, owner)
        threads = [threading.Thread(target=work, args=(owner,)) for owner in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for owner in range(2):
            for number, reply in results[owner]:
                text = texts[owner][number]
                assert self.kept[name].setdefault(text, reply.text) == reply.text
        assert sum(self.server.paid.values()) - before == expected

    @rule(name=A_STORE, owner=AN_OWNER, texts=SOME)
    def be_killed_while_asking(self, name: str, owner: int, texts: list[str]) -> None:
        """Calls were under way, and are paid for: these are lost, and will be paid for again."""
        for key in self.store(name, owner).claim_all([KEYS[text] for text in self.missing(name, texts)]):
            self.server.answer(next(text for text in texts if KEYS[text] == key))
        self.die(name, owner)

    @rule()
    def let_claims_expire(self) -> None:
        self.now += PATIENCE + 1

    @rule(
        name=A_STORE,
        owner=AN_OWNER,
        texts=SOME,
        trouble=st.sampled_from(["", "", "reply lost", "never came"]),
    )
    def ask_for_some_in_batches(self, name: str, owner: int, texts: list[str], trouble: str) -> None:
        self.in_batches(name, owner, texts, trouble)

    @rule(name=A_STORE, trouble=TROUBLE, first=st.booleans())
    def ask_for_all_in_batches(self, name: str, trouble: str, first: bool) -> None:
        if first:
            self.delete(name)
        self.in_batches(name, 1, QUESTIONS, trouble)

    def in_batches(self, name: str, owner: int, texts: list[str], trouble: str) -> None:
        self.provider.trouble = trouble
        missing = self.missing(name, texts)
        there = {
            text: reply for batch in self.batches[name] for text, reply in batch.items() if text in missing
        }
        self.kept[name].update(there)
        self.batches[name] = [
            batch
            for batch in self.batches[name]
            if not set(batch) <= set(texts) or set(batch).isdisjoint(missing)
        ]
        requests = [(index, request(text)) for index, text in enumerate(texts)]
        replies = ask_in_batches(requests, self.provider, self.store(name, owner), **FAST)
        self.asked(name, texts, replies, len(missing) - len(there))
        self.provider.trouble = ""

    @rule(name=A_STORE, owner=AN_OWNER, texts=SOME, was_accepted=st.booleans())
    def be_killed_while_handing_over(
        self, name: str, owner: int, texts: list[str], was_accepted: bool
    ) -> None:
        store = self.store(name, owner)
        in_batches = {text for batch in self.batches[name] for text in batch}
        free = {KEYS[text]: text for text in self.missing(name, texts) if text not in in_batches}
        covered = {key for batch in store.batches.all() if batch.state == INTENDED for key in batch.keys}
        mine = store.claim_all([key for key in free if key not in covered])[: Provider.batch_limit]
        if mine:
            intent = self.provider.intent()
            store.batches.add(intent, f"{NAME} {ENDPOINT}", mine, INTENDED)
            if was_accepted:
                requests = [(key, request(free[key])) for key in mine]
                batch = asyncio.run(self.provider.submit(requests, intent))
                accepted = self.provider.accepted[batch]
                self.batches[name].append({free[key]: accepted[key].text for key in mine})
        self.die(name, owner)

    @rule(name=A_STORE, text=st.sampled_from(QUESTIONS), column=st.sampled_from(["reply", "created", "job"]))
    def spoil_a_row(self, name: str, text: str, column: str) -> None:
        """One letter of it; that row alone is as good as none."""
        changed = f"UPDATE replies SET {column} = {column} || 'x' WHERE key = ?"
        self.store(name, 0)._connection.execute(changed, (KEYS[text],))
        self.kept[name].pop(text, None)

    @rule(name=A_STORE, by_lines=st.booleans())
    def take_over_from_the_other(self, name: str, by_lines: bool) -> None:
        (other,) = {*STORES} - {name}
        source = self.store(other, 0)
        if by_lines:
            self.store(name, 0).import_([*source.export()])
        else:
            self.store(name, 0).merge(source.path)
        self.kept[name] = {**self.kept[other], **self.kept[name]}

    @rule(name=A_STORE)
    def delete(self, name: str) -> None:
        for owner in range(2):
            if (name, owner) in self.owners:
                self.die(name, owner)
        for path in self.folder.glob(f"{name}.sqlite*"):
            path.unlink()
        self.kept[name], self.batches[name] = {}, []

    @rule(name=A_STORE, owner=AN_OWNER)
    def close(self, name: str, owner: int) -> None:
        self.store(name, owner).close()
        del self.owners[name, owner]

    @precondition(lambda self: hasattr(self, "kept"))
    @invariant()
    def what_was_answered_is_there(self) -> None:
        for name in STORES:
            for text, reply in self.kept[name].items():
                stored = self.store(name, 0).get(KEYS[text])
                assert stored is not None
                assert stored.text == reply

    def teardown(self) -> None:
        if not hasattr(self, "owners"):
            return
        for store in self.owners.values():
            store.close()
        shutil.rmtree(self.folder)


asking_looks = (asking._FIRST_LOOK, asking._LAST_LOOK)


class Hasty(Judging):
    """Nobody waits long for another's reply."""

    def __init__(self) -> None:
        super().__init__()
        asking._FIRST_LOOK = asking._LAST_LOOK = 0.001

    def teardown(self) -> None:
        asking._FIRST_LOOK, asking._LAST_LOOK = asking_looks
        super().teardown()


TestStores = Hasty.TestCase
TestStores.settings = settings(
    max_examples=int(os.environ.get("MACHINE_EXAMPLES", "25")),
    stateful_step_count=int(os.environ.get("MACHINE_STEPS", "25")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
