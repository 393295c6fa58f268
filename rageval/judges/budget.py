"""What calls cost, and how much may be spent.

A table with a date has the prices; a model that is not in it has no price, which is not zero. A budget is
asked before a call with the most it can cost, and told afterwards what it did cost. Jobs that ask at the same
time on one store keep a ledger there: a limit holds for what all of them spend together.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rageval.errors import BudgetReached, InputError, Place, UsageError
from rageval.files.whole import text_of_whole
from rageval.judges.base import ERROR, Reply, Request, Usage
from rageval.text import visible

if TYPE_CHECKING:
    import sqlite3

    from rageval.judges.store import Store


_BUILT_IN = Path(__file__).with_name("prices.toml")
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$")
_ADDRESS = re.compile(r"@https?://.*", re.DOTALL)
_PRICED_AS = {"openai-decisions": "openai"}  # another way to ask the same models
_MILLION = 1_000_000
_BYTES_A_TOKEN = 3  # English has four; what has fewer (digits, other scripts in UTF-8) stays near
_FRAME = 64  # tokens that a provider adds around the messages
_CACHE_WRITING = 1.25  # what input costs at most when it is put into the provider's cache


@dataclass(frozen=True, slots=True)
class _Price:
    """US dollars per million tokens; `cached` is for input that was read from the provider's cache."""

    input: float
    cached: float
    output: float


_FREE = _Price(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Prices:
    """A table of prices and the day it was made."""

    as_of: str
    models: Mapping[str, _Price]
    free: frozenset[str]

    def of(self, model: str) -> _Price | None:
        """Return the price of `provider:model`, with or without a date at its end; None if not known."""
        provider, _, name = model.partition(":")
        if provider in self.free:
            return _FREE
        # Providers date their models (`-2024-07-18`) and keep the price.
        price = self.models.get(model) or self.models.get(_DATED.sub("", model))
        if price is None and provider in _PRICED_AS:
            return self.of(f"{_PRICED_AS[provider]}:{name}")
        return price


_Stated = Mapping[str, _Price]  # what somebody says that models cost; under "" those whose price is not known


def _parse_prices(texts: Iterable[str] | float) -> _Stated:
    """Read prices as people state them: dollars per million tokens, of input and output where they differ.

    >>> _parse_prices(["0"])
    {'': _Price(input=0.0, cached=0.0, output=0.0)}
    >>> _parse_prices(["openai:mine=1,4"])
    {'openai:mine': _Price(input=1.0, cached=1.0, output=4.0)}
    """
    prices = {}
    for text in [str(texts)] if isinstance(texts, str | int | float) else map(str, texts):
        model, _, price = text.strip().rpartition("=")
        try:
            numbers = [float(number) for number in price.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) not in (1, 2) or not all(math.isfinite(one) and one >= 0 for one in numbers):
            raise UsageError(
                f"the price {visible(text)!r}: expected [MODEL=]INPUT[,OUTPUT] in dollars per million tokens,"
                " such as 0 for your own server, or openai:MODEL=0.5,2"
            )
        prices[_ADDRESS.sub("", model)] = _Price(numbers[0], numbers[0], numbers[-1])
    return prices


def _price_of(model: str, stated: _Stated = MappingProxyType({})) -> _Price | None:
    """Find what a model costs: as stated for it, else by the table, else as stated for those in no table."""
    return stated.get(model) or _prices().of(model) or stated.get("")


def cost(usage: Usage, model: str, stated: _Stated = MappingProxyType({})) -> float | None:
    """Return the US dollars for a call, None if the price is not known.

    >>> cost(Usage(input=1_000_000, output=100_000, cached=500_000), "openai:gpt-4o-mini")
    0.1725
    >>> cost(Usage(input=1), "openai:gpt-unheard-of") is None
    True
    """
    price = _price_of(model, stated)
    if price is None:
        return None
    # A server may count the cached tokens beside the input instead of within it; never charge less than
    # nothing.
    cached = min(usage.cached, usage.input)
    return math.fsum(
        (
            (usage.input - cached) * price.input / _MILLION,
            cached * price.cached / _MILLION,
            usage.output * price.output / _MILLION,
        )
    )


def _upper_usage(request: Request) -> Usage:
    """Return about the most tokens that a call can take.

    >>> _upper_usage(Request("Judge.", "Is it so?", {"type": "object"}, max_tokens=100))
    Usage(input=77, output=100, cached=0, reasoning=0)
    """
    texts = (request.system, request.user, request.name, json.dumps(request.schema, separators=(",", ":")))
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    # -(-a // b) rounds up; tokens are hardly ever shorter than so many bytes.
    return Usage(input=_FRAME + -(-size // _BYTES_A_TOKEN), output=request.max_tokens)


def _upper_cost(request: Request, model: str, stated: _Stated = MappingProxyType({})) -> float | None:
    """Return about the most US dollars that a call can cost; None without a price."""
    if _price_of(model, stated) is None:
        return None
    usage = _upper_usage(request)
    # Writing to a provider's cache costs more than plain input: count with that.
    return cost(Usage(input=math.ceil(usage.input * _CACHE_WRITING), output=usage.output), model, stated)


def _at_most(usage: Usage, request: Request, said_anything: bool = True) -> Usage:
    """Return the usage that a server reports; what it does not report is the most it can be.

    >>> _at_most(Usage(), Request("Judge.", "Is it so?", {"type": "object"}, max_tokens=100))
    Usage(input=97, output=100, cached=0, reasoning=0)
    >>> _at_most(Usage(input=70, output=5), Request("Judge.", "Is it so?", {"type": "object"}))
    Usage(input=70, output=5, cached=0, reasoning=0)
    """
    # Some servers report zeros for everything: that is no report.
    lacks_output = not usage.output and (said_anything or not usage.input)
    if usage.input and not lacks_output:
        return usage
    most = _upper_usage(request)
    return replace(
        usage,
        input=usage.input or math.ceil(most.input * _CACHE_WRITING),
        output=most.output if lacks_output else usage.output,
    )


def estimate(requests: Iterable[Request], spec: str, prices: Iterable[str] | float = ()) -> float | None:
    """Return about the most US dollars that asking all of this once can cost; None without a price.

    `prices` are what somebody says that models cost, before our table.

    >>> estimate([Request("Judge.", "Is it so?", {}, max_tokens=100)] * 1000, "openai:gpt-4o-mini")
    0.0735
    """
    stated = _parse_prices(prices)
    costs = [_upper_cost(request, _ADDRESS.sub("", spec.strip()), stated) for request in requests]
    known_costs = [cost for cost in costs if cost is not None]
    # One call without a price makes the sum unknown.
    return math.fsum(known_costs) if len(known_costs) == len(costs) else None


def _prices() -> _Prices:
    """Return the table, with the user's own prices (the file named by `RAGEVAL_PRICES`) before ours."""
    return _load_prices(os.environ.get("RAGEVAL_PRICES", ""))


@cache
def _load_prices(own: str) -> _Prices:
    ours = _read_prices(_BUILT_IN)
    if not own:
        return ours
    theirs = _read_prices(Path(own).expanduser())
    as_of = theirs.as_of or ours.as_of
    return _Prices(as_of, {**ours.models, **theirs.models}, ours.free | theirs.free)


def _read_prices(path: Path) -> _Prices:
    try:
        record = tomllib.loads(text_of_whole(path, "a file of prices"))
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(at=Place(str(path)), expected="prices as TOML", cause=str(error)) from error
    models = {name: _price(path, name, fields) for name, fields in record.get("models", {}).items()}
    return _Prices(str(record.get("as_of", "")), models, frozenset(record.get("free", ())))


def _price(path: Path, name: str, entry: Any) -> _Price:
    parts: dict[str, Any] = entry if isinstance(entry, dict) else {}
    try:
        cached = parts.get("cached", parts["input"])
        price = _Price(float(parts["input"]), float(cached), float(parts["output"]))
    except (KeyError, TypeError, ValueError):
        price = _Price(math.nan, 0.0, 0.0)
    if not all(math.isfinite(value) and value >= 0 for value in (price.input, price.cached, price.output)):
        raise InputError(
            at=Place(str(path)),
            expected=f"a price like {{ input = 1.0, cached = 0.1, output = 4.0 }} for {name!r}, in"
            " dollars per million tokens",
            found=f"{entry!r}",
        )
    return price


@dataclass(frozen=True, slots=True)
class _Others:
    """What other jobs on the store have come to: calls made, dollars spent or promised.

    `may_be_over`: all of it may be of jobs on other machines that ended before this one began.
    """

    calls: int = 0
    money: float = 0.0
    may_be_over: bool = False


class _Ledger:
    """The account of one job on one store, which the job may open several times."""

    def __init__(self, job: str) -> None:
        self._job = job
        self._before: set[str] = set()  # jobs in the account that this one found
        self._has_company = False  # whether somebody was at work when this one began
        self._unsure: dict[str, int] = {}  # owners on other machines, with the beat that was found
        self._is_open = False

    def open(self, store: Store) -> None:
        """Begin to work, for the first time or again."""
        self._store = store
        store.beat()
        if not self._is_open:
            with store.writing() as connection:
                query = "SELECT job, owner, active FROM spending WHERE job != ?"
                rows = connection.execute(query, (self._job,)).fetchall()
                # A killed job cannot say that it is no longer at work; its heartbeat has stopped.
                owners = {
                    owner for _, owner, is_at_work in rows if is_at_work and not self._store.is_dead(owner)
                }
                self._before = {job for job, *_ in rows}
                self._has_company = bool(owners)
                near = {owner for owner in owners if self._store.is_near(owner)}
                if not near:
                    # On another machine nobody can be looked up by process number; whether the beat moves
                    # will tell.
                    self._unsure = {owner: self._store.beat_of(owner) for owner in owners}
                if not owners:
                    connection.execute("DELETE FROM spending WHERE job != ?", (self._job,))
            self._is_open = True

    def turn(self) -> AbstractContextManager[sqlite3.Connection]:
        """Let no other job spend within this."""
        return self._store.writing()

    def others(self) -> _Others:
        """Return what other jobs have spent."""
        with self.turn() as connection:
            if self._unsure:
                # A beat that has moved since then shows that the other machine was at work; one that has not,
                # that its job had ended without a word.
                if any(self._store.beat_of(owner) != beat for owner, beat in self._unsure.items()):
                    self._unsure = {}
                else:
                    self._unsure = {
                        owner: beat for owner, beat in self._unsure.items() if not self._store.is_dead(owner)
                    }
                    self._has_company = bool(self._unsure)
            rows = connection.execute("SELECT job, calls, spent + held FROM spending").fetchall()
        # Alone at the beginning, this job owes nothing to those that ended before.
        left_out = {self._job} if self._has_company else {self._job, *self._before}
        counted = [row for row in rows if row[0] not in left_out]
        return _Others(sum(row[1] for row in counted), sum(row[2] for row in counted), bool(self._unsure))

    def keep(self, calls: int, spent: float, reserved: float, is_at_work: bool = True) -> None:
        """Record what this job has spent."""
        row = (self._job, self._store.owner, calls, spent, reserved, is_at_work)
        with self._store.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO spending VALUES (?, ?, ?, ?, ?, ?)", row)


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """A call that may be made, at a share of the full price: counted with its estimate until settled."""

    request: Request
    share: float
    estimate: float  # 0 without a price


class Budget:
    """Limits for one job, which may ask several models in several goes; without limits it only adds up.

    Jobs that ask at the same time on one store count what all of them spend, each up to its own limits,
    unless a job is `alone`: one of several that have parted the limits among them. `prices` are what somebody
    says that models cost. `job` names the job in the store, so that nothing is asked again twice.
    """

    def __init__(
        self,
        max_cost: float | None = None,
        max_calls: int | None = None,
        prices: Iterable[str] | float = (),
        alone: bool = False,
    ) -> None:
        self.max_cost = _limit(max_cost, "max_cost")
        self.max_calls = _limit(max_calls, "max_calls")
        self.job = secrets.token_hex(8)
        self.calls = 0
        self.spent = 0.0
        self.unpriced = 0  # calls to a model without a price
        self.answering = set[str]()  # models that have answered: silence after that is an outage
        self.unreadable: dict[str, dict[str, Any]] = {}  # by model, by rubric: runs of replies
        self.guessed = 0  # calls whose usage nobody knows
        self._prices = _parse_prices(prices)
        self._reserved: set[Reservation] = set()
        self._ledgers: dict[str, _Ledger] = {}  # by store
        self._ledger: _Ledger | None = None  # of the store that is in use
        self._is_alone = alone
        self._reserved_cost = 0.0  # what all of these may cost
        self._tell_later: Callable[[], None] | None = None  # sees to it that a turn follows
        self._is_in_turn, self._is_recorded = False, True
        self._others: _Others | None = None  # known for the rest of a turn

    def check_prices(self, model: str) -> None:
        """Refuse a limit in money without a price."""
        if self.max_cost is not None and cost(Usage(), model, self._prices) is None:
            raise UsageError(
                f"no price is known for {model!r}, so a cost limit cannot be enforced: give one (--price"
                f" {model}=INPUT,OUTPUT in dollars per million tokens, --price 0 for your own server), set"
                " RAGEVAL_PRICES to a file of prices, or limit the calls instead"
            )

    def open(self, store: Store, tell_later: Callable[[], None] | None = None) -> None:
        """Count from now on what other jobs on this store spend, too.

        What calls have cost is recorded at once, or, if `tell_later` sees to it that a `turn` follows, then.
        """
        self._tell_later = None  # of a job that was left before it could close
        if not (self._is_alone or store.read_only):
            self._ledger = self._ledgers.setdefault(store.path, _Ledger(self.job))
            self._ledger.open(store)
            self._tell()
            self._tell_later = tell_later

    def close(self) -> None:
        """Say that nothing of this job is under way on the store."""
        if self._ledger is not None:
            ledger, self._ledger, self._tell_later = self._ledger, None, None
            ledger.keep(self.calls, self.spent, self._reserved_cost, is_at_work=False)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Let no other job on the store spend within this; record at its end, once, what this one did."""
        if self._ledger is None or self._is_in_turn:
            yield
            return
        with self._ledger.turn():
            self._is_in_turn = True
            try:
                yield
            finally:
                self._is_in_turn, self._others = False, None
            if not self._is_recorded:
                self._ledger.keep(self.calls, self.spent, self._reserved_cost)
                self._is_recorded = True

    def _tell(self) -> None:
        self._is_recorded = False
        if self._tell_later is None:
            with self.turn():
                pass
        elif not self._is_in_turn:
            self._tell_later()

    def reserve(self, request: Request, model: str, share: float = 1.0) -> Reservation | None:
        """Give leave for a call; None if it may fit once others are settled, `BudgetReached` if it cannot."""
        with self.turn():
            # One look at what others have spent serves a whole turn: they cannot spend meanwhile.
            if self._ledger is not None and self._others is None:
                self._others = self._ledger.others()
            estimate = share * (_upper_cost(request, model, self._prices) or 0.0)
            if not self._has_room(estimate, self._others or _Others()):
                return None
            self.calls += 1
            return self._add_reservation(Reservation(request, share, estimate))

    def withdraw(self, reservation: Reservation, model: str) -> None:
        """End a call that was never made."""
        self.calls -= 1
        self.settle(reservation, Usage(), model)

    def _has_room(self, estimate: float, others: _Others) -> bool:
        """Whether one more call may be made; `BudgetReached` if that is not going to change."""
        if self.max_calls is not None and self.calls + others.calls >= self.max_calls:
            if others.may_be_over and self.calls < self.max_calls:
                return False
            elsewhere = f" ({others.calls:,} of them by other jobs on the same store)" if others.calls else ""
            raise BudgetReached(f"the limit of {self.max_calls:,} calls is reached{elsewhere}")
        if (
            self.max_cost is None
            or self.spent + self._reserved_cost + others.money + estimate <= self.max_cost
        ):
            return True
        if not self._reserved and not others.may_be_over:
            elsewhere = f" and ${others.money:,.4f} by other jobs on the same store" if others.money else ""
            raise BudgetReached(
                f"the limit of ${self.max_cost:,.4g} is reached: ${self.spent:,.4f} is spent{elsewhere}, and"
                f" the next call may cost ${estimate:,.4f}"
            )
        return False

    def _add_reservation(self, reservation: Reservation) -> Reservation:
        self._reserved.add(reservation)
        self._reserved_cost += reservation.estimate
        self._tell()
        return reservation

    def commit(self, request: Request, model: str, share: float = 1.0) -> Reservation:
        """Count what was promised before this job began, and has to be paid whatever its limits are."""
        return self._add_reservation(
            Reservation(request, share, share * (_upper_cost(request, model, self._prices) or 0.0))
        )

    def settle(self, reservation: Reservation, usage: Usage | None, model: str) -> float | None:
        """End a call: what it cost, None without a price; what nobody knows is taken to be the most."""
        self._reserved.remove(reservation)
        self._reserved_cost = self._reserved_cost - reservation.estimate if self._reserved else 0.0
        if usage is not None:
            return self.pay(usage, model, reservation.share)
        self.spent += reservation.estimate
        self.guessed += bool(reservation.estimate)
        self._tell()
        return reservation.estimate

    def settle_reply(self, reservation: Reservation, reply: Reply, model: str) -> float | None:
        """End a call that brought a reply: what it cost, what was not reported being the most it can be.

        A request that was refused as such, which has the status `error`, costs what is reported, if anything.
        """
        if reply.status == ERROR:
            return self.settle(reservation, reply.usage, model)
        usage = _at_most(reply.usage, reservation.request, bool(reply.text))
        is_guessed = (usage.input, usage.output) != (reply.usage.input, reply.usage.output)
        self.guessed += is_guessed and bool(cost(usage, model, self._prices))
        return self.settle(reservation, usage, model)

    def pay(self, usage: Usage, model: str, share: float = 1.0) -> float | None:
        """Count what a call has cost, None without a price."""
        paid = cost(usage, model, self._prices)
        self.unpriced += paid is None and usage != Usage()
        self.spent += share * (paid or 0.0)
        self._tell()
        return None if paid is None else share * paid


def _limit(value: float | None, name: str) -> float | None:
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise UsageError(f"{name}={value!r}: expected a number that is not negative")
    return value
