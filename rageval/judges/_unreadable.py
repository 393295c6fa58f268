"""A judge whose replies cannot be read is not asked to the end of the job.

What counts is how many items in a row got a first reply that cannot be read. Before the job ends, the further
tries of these items are made: some judges reply as they should once they are told what was wrong.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from rageval.errors import JudgeFailed
from rageval.judges.base import INVALID, TRUNCATED
from rageval.text import visible

# So many items in a row stop a job. If a third of the replies of a judge cannot be read, here and there, this
# stops a job of 10,000 items with a chance of less than 1 in 100,000. A judge whose replies are never any use
# has been asked about 60 times by then: three tries an item.
IN_A_ROW = 20
UNREADABLE = (INVALID, TRUNCATED)  # refusals and errors say nothing of the form of the next reply
_SHOWN = 300  # characters of the reply that is shown
_OF_ONE_REPLY = re.compile(r"found .*|[0-9][0-9,]*", re.DOTALL)  # differs between alike replies


class UnreadableRun:
    """The items in a row whose replies could not be read, of one judge by one rubric in one job."""

    def __init__(self) -> None:
        self.is_proven = False  # whether any reply could be read
        self.suspects: list[int] = []  # by number, as long as the same requests are asked
        self._keys: set[str] = set()  # of the replies of the run: things that are alike have one reply
        self._before = 0  # of requests that were asked before
        self._enough = IN_A_ROW
        self._others = 0  # replies that were refused, or failed
        self._troubles: list[tuple[str, str]] = []  # of the run: why a reply cannot be read, and the reply

    @property
    def is_long(self) -> bool:
        """Whether so many items in a row are a reason to ask nothing else."""
        return self._before + len(self.suspects) >= self._enough

    @property
    def is_all(self) -> bool:
        """Whether there were replies, and none of any kind but those that cannot be read."""
        return not self.is_proven and not self._others and self._before + len(self.suspects) > 0

    def read(self) -> None:
        """End the run: a reply could be read."""
        self.is_proven, self._before = True, 0
        for each in (self.suspects, self._keys, self._troubles):
            each.clear()

    def refused(self) -> None:
        """Count a reply that is no answer; it neither ends a run nor is in one."""
        self._others += 1

    def unreadable(self, number: int, key: str, why: str, raw: str, is_first: bool) -> None:
        """Count a reply that cannot be read; a further try of the same item begins no run."""
        if is_first and key not in self._keys:
            self._keys.add(key)
            self.suspects.append(number)
        if number in self.suspects:
            self._troubles.append((why, raw))

    def first_suspects(self) -> list[int]:
        """Return the items whose further tries show whether the judge can be read at all."""
        return self.suspects[: self._enough]

    def acquit(self) -> None:
        """Expect a longer run from now on: further tries had verdicts, so this judge needs to be told."""
        self._enough *= 2

    def end_of_requests(self, failed: Iterable[int]) -> None:
        """Keep how long the run is, but no numbers, as the next requests have numbers of their own."""
        self._before += len(set(failed) & {*self.suspects})
        self.suspects.clear()
        self._keys.clear()

    def failure(self, judge: str, what: str) -> JudgeFailed:
        """Return the error that ends the job; `what` has a place for the number of items."""
        # Calls under way when the run was long enough came back, too; their further tries were not made.
        about = what.format(min(self._before + len(self.suspects), self._enough))
        # Alike but for what they quote: the first of the commonest stands for all.
        kinds = Counter(_OF_ONE_REPLY.sub("…", why) for why, _ in self._troubles)
        common = kinds.most_common(1)[0][0]
        why, raw = next(each for each in self._troubles if _OF_ONE_REPLY.sub("…", each[0]) == common)
        shown = visible(raw[:_SHOWN]) + "…" * (len(raw) > _SHOWN)
        return JudgeFailed(
            f"{visible(judge)}: no reply about {about} could be read; most often:"
            f" {visible(why) or 'cut off'}; one of these replies: {shown or '(empty)'}; the replies are"
            " stored, and nothing else is asked: change the rubric or the model, or have these asked again"
            " (--retry invalid,truncated)"
        )
