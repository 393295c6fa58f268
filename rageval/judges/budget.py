"""How much may be spent: asked before a call with the most it can cost, told afterwards what it did cost."""

from __future__ import annotations

import math
import secrets
from contextlib import nullcontext
from dataclasses import dataclass
from types import MappingProxyType

from rageval.errors import BudgetReached, UsageError
from rageval.judges.base import ERROR, Reply, Request, Usage
from rageval.judges.ledger import Ledger, Others
from rageval.judges.prices import Stated, at_most, cost, upper_cost
from rageval.judges.store import Store


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
    says that models cost. `job` names the job in the store, so that what it has asked anew is not asked anew
    once more.
    """

    def __init__(
        self,
        max_cost: float | None = None,
        max_calls: int | None = None,
        prices: Stated = MappingProxyType({}),
        alone: bool = False,
    ) -> None:
        self.max_cost = _limit(max_cost, "max_cost")
        self.max_calls = _limit(max_calls, "max_calls")
        self.job = secrets.token_hex(8)
        self.calls = 0
        self.spent = 0.0
        self.unpriced = 0  # calls to a model without a price
        self.answering = set[str]()  # models that have answered: silence after that is an outage
        self.guessed = 0  # calls whose usage nobody knows
        self._prices = prices
        self._reserved: set[Reservation] = set()
        self._ledgers: dict[str, Ledger] = {}  # by store
        self._ledger: Ledger | None = None  # of the store that is in use
        self._is_alone = alone
        self._held = 0.0  # what all of these may cost

    def check_prices(self, model: str) -> None:
        """A limit in money needs a price."""
        if self.max_cost is not None and cost(Usage(), model, self._prices) is None:
            raise UsageError(
                f"there is no price for {model!r}, so a limit in money cannot be kept: state it (--price"
                f" {model}=INPUT,OUTPUT in dollars per million tokens, --price 0 for a server of your own),"
                " name a file with it in RAGEVAL_PRICES, or limit the calls instead"
            )

    def open(self, store: Store) -> None:
        """Count from now on what other jobs on this store spend, too."""
        if not (self._is_alone or store.read_only):
            self._ledger = self._ledgers.setdefault(store.path, Ledger(self.job))
            self._ledger.open(store)
            self._tell()

    def close(self) -> None:
        """Nothing of this job is under way on the store."""
        if self._ledger is not None:
            self._tell(is_at_work=False)
            self._ledger = None

    def _tell(self, is_at_work: bool = True) -> None:
        if self._ledger is not None:
            self._ledger.keep(self.calls, self.spent, self._held, is_at_work)

    def reserve(self, request: Request, model: str, share: float = 1.0) -> Reservation | None:
        """Leave for one call; None if it may fit once others are settled, `BudgetReached` if it cannot."""
        with nullcontext(Others()) if self._ledger is None else self._ledger.turn() as others:
            estimate = self._estimate(request, model, share)
            if not self._fits(estimate, others):
                return None
            self.calls += 1
            return self._promised(Reservation(request, share, estimate))

    def _fits(self, estimate: float, others: Others) -> bool:
        """Whether one more call may be made; `BudgetReached` if that is not going to change."""
        if self.max_calls is not None and self.calls + others.calls >= self.max_calls:
            if others.may_be_over and self.calls < self.max_calls:
                return False
            elsewhere = f" ({others.calls:,} of them by other jobs on the same store)" if others.calls else ""
            raise BudgetReached(f"the limit of {self.max_calls:,} calls is reached{elsewhere}")
        if self.max_cost is None or self.spent + self._held + others.money + estimate <= self.max_cost:
            return True
        if not self._reserved and not others.may_be_over:
            elsewhere = f" and ${others.money:,.4f} by other jobs on the same store" if others.money else ""
            raise BudgetReached(
                f"the limit of ${self.max_cost:,.4g} is reached: ${self.spent:,.4f} are spent{elsewhere}, and"
                f" the next call may cost ${estimate:,.4f}"
            )
        return False

    def _promised(self, reservation: Reservation) -> Reservation:
        self._reserved.add(reservation)
        self._held += reservation.estimate
        self._tell()
        return reservation

    def commit(self, request: Request, model: str, share: float = 1.0) -> Reservation:
        """What was promised before this job began, and has to be paid whatever its limits are."""
        return self._promised(Reservation(request, share, self._estimate(request, model, share)))

    def settle(self, reservation: Reservation, usage: Usage | None, model: str) -> float | None:
        """The call is over: what it cost, None without a price; what nobody knows is taken to be the most."""
        self._reserved.remove(reservation)
        self._held = self._held - reservation.estimate if self._reserved else 0.0
        if usage is not None:
            return self.pay(usage, model, reservation.share)
        self.spent += reservation.estimate
        self.guessed += bool(reservation.estimate)
        self._tell()
        return reservation.estimate

    def settle_reply(self, reservation: Reservation, reply: Reply, model: str) -> float | None:
        """The call has brought a reply: what it cost, what was not reported being the most it can be.

        A request that was refused as such, which has the status `error`, costs what is reported, if anything.
        """
        if reply.status == ERROR:
            return self.settle(reservation, reply.usage, model)
        usage = at_most(reply.usage, reservation.request, bool(reply.text))
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

    def _estimate(self, request: Request, model: str, share: float) -> float:
        return share * (upper_cost(request, model, self._prices) or 0.0)


def limits_of_share(
    max_cost: float | None, max_calls: int | None, share: tuple[int, int] | None
) -> tuple[float | None, int | None]:
    """The limits of one share, counted from 0, of so many that do not know of one another.

    >>> [limits_of_share(1.0, 10, (at, 4)) for at in range(4)]
    [(0.25, 3), (0.25, 3), (0.25, 2), (0.25, 2)]
    """
    if share is None:
        return max_cost, max_calls
    part, whole = share
    calls = None if max_calls is None else max_calls // whole + (part < max_calls % whole)
    return None if max_cost is None else max_cost / whole, calls


def _limit(value: float | None, name: str) -> float | None:
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise UsageError(f"{name}={value!r}: expected a number that is not negative")
    return value
