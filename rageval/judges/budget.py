"""How much may be spent: asked before a call with the most it can cost, told afterwards what it did cost."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass

from rageval.errors import BudgetReached, UsageError
from rageval.judges.base import Request, Usage
from rageval.judges.prices import cost, upper_cost


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """A call that may be made, at a share of the full price: counted with its estimate until settled."""

    request: Request
    share: float
    estimate: float  # 0 without a limit in money


class Budget:
    """Limits for one job, which may ask several models in several goes; without limits it only adds up.

    `job` names the job in the store, so that what it has asked anew is not asked anew once more.
    """

    def __init__(self, max_cost: float | None = None, max_calls: int | None = None) -> None:
        self.max_cost = _limit(max_cost, "max_cost")
        self.max_calls = _limit(max_calls, "max_calls")
        self.job = secrets.token_hex(8)
        self.calls = 0
        self.spent = 0.0
        self.unpriced = 0  # calls to a model without a price
        self.answering = set[str]()  # models that have answered: silence after that is an outage
        self._reserved: set[Reservation] = set()
        self._held = 0.0  # what all of these may cost

    def check_prices(self, model: str) -> None:
        """A limit in money needs a price."""
        if self.max_cost is not None and cost(Usage(), model) is None:
            raise UsageError(
                f"there is no price for {model!r}, so a limit in money cannot be kept: name a file with its"
                " price in RAGEVAL_PRICES, or limit the calls instead"
            )

    def reserve(self, request: Request, model: str, share: float = 1.0) -> Reservation | None:
        """Leave for one call; None if it may fit once others are settled, `BudgetReached` if it cannot."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            raise BudgetReached(f"the limit of {self.max_calls:,} calls is reached")
        estimate = 0.0
        if self.max_cost is not None:
            estimate = _estimate(request, model, share)
            if self.spent + self._held + estimate > self.max_cost:
                self._raise_unless_others_end(estimate)
                return None
        reservation = Reservation(request, share, estimate)
        self._reserved.add(reservation)
        self._held += estimate
        self.calls += 1
        return reservation

    def commit(self, request: Request, model: str, share: float = 1.0) -> Reservation:
        """What was promised before this job began, and has to be paid whatever its limits are."""
        reservation = Reservation(request, share, _estimate(request, model, share))
        self._reserved.add(reservation)
        self._held += reservation.estimate
        return reservation

    def settle(self, reservation: Reservation, usage: Usage | None, model: str) -> float | None:
        """The call is over: what it cost, None without a price; what nobody knows is taken to be the most."""
        self._reserved.remove(reservation)
        self._held = self._held - reservation.estimate if self._reserved else 0.0
        if usage is not None:
            return self.pay(usage, model, reservation.share)
        most = _estimate(reservation.request, model, reservation.share)
        self.spent += most
        return most

    def pay(self, usage: Usage, model: str, share: float = 1.0) -> float | None:
        """Count what a call has cost, None without a price."""
        paid = cost(usage, model)
        self.unpriced += paid is None and usage != Usage()
        self.spent += share * (paid or 0.0)
        return None if paid is None else share * paid

    def _raise_unless_others_end(self, estimate: float) -> None:
        """Those under way may cost less than was reserved for them; else the limit is reached."""
        if not self._reserved:
            raise BudgetReached(
                f"the limit of ${self.max_cost:,.4g} is reached: ${self.spent:,.4f} are spent and the next"
                f" call may cost ${estimate:,.4f}"
            )


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


def _estimate(request: Request, model: str, share: float) -> float:
    return share * (upper_cost(request, model) or 0.0)


def _limit(value: float | None, name: str) -> float | None:
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise UsageError(f"{name}={value!r}: expected a number that is not negative")
    return value
