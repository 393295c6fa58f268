"""Judgements in a table, and what became of them in a cascade in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rageval.core.basis import Basis
from rageval.table import Display, Table
from rageval.text import visible
from rageval.views.bases import conditions_of


class JudgedDisplay(Display[Any]):
    """The result of `rageval.judge` as it shows itself."""

    def table(self) -> Table:
        """Return the scores, with the number of judgements above them."""
        systems = len({row["run_id"] for row in self.shown})
        failed = f", {len(self.shown.failed):,} of them failed" if self.shown.failed else ""
        table: Table = self.shown.scores.tables()[0]
        return table._replace(title=f"{len(self.shown):,} judgements of {systems:,} systems{failed}")


_KINDS = {
    "broken": "lines hold no reply",
    "repeated": "are further replies to the same request",
    "foreign": "answer no request of this job",
    "present": "were stored before",
}


def exchange_lines(
    requests: int | None, place: str, counts: Mapping[str, Any], examples: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield what came of files of replies, by the fields of `Taken`, and how many requests were written.

    `unchecked` among the counts are canaries without a reply.

    >>> counts = {"lines": 9, "stored": 5, "broken": 1, "foreign": 2, "statuses": {"ok": 4, "truncated": 1}}
    >>> places = {"broken": ["a.jsonl, line 9: not JSON, or cut off"], "foreign": ["x", "y"]}
    >>> for line in exchange_lines(7, "out.jsonl", counts, places):
    ...     print(line)
    9 lines of replies: 5 are new in the store
    1 lines hold no reply: a.jsonl, line 9: not JSON, or cut off
    2 answer no request of this job: x, y
    1 replies are truncated
    7 requests without a reply are in out.jsonl
    """
    if "lines" in counts:
        yield f"{counts['lines']:,} lines of replies: {counts['stored']:,} are new in the store"
        for kind, text in _KINDS.items():
            if count := counts.get(kind, 0):
                yield f"{count:,} {text}{_examples(examples.get(kind, ()), count)}"
        for status, count in counts["statuses"].items():
            if status != "ok":
                yield f"{count:,} replies are {status}{_examples(examples.get(status, ()), count)}"
    if requests is not None:
        yield f"{requests:,} requests without a reply are in {visible(place)}"
    if unchecked := counts.get("unchecked", 0):
        yield f"{unchecked:,} canaries have no reply yet: it is not known whether the judge resists attacks"


def _examples(places: Sequence[str], count: int) -> str:
    shown = ", ".join(map(visible, places))
    return f": {shown}{', …' * (count > len(places))}" if places else ""


def asking_lines(
    spec: str, cost: float | None, calls: int, concurrency: int, is_provider: bool
) -> Iterator[str]:
    """Yield the ways to ask a judge: live, in batches where the provider takes them, and through Ray.

    >>> for line in asking_lines("openai:m", 12.3, 100_000, 16, is_provider=True):
    ...     print(line)
    openai:m: at most 12.30 USD; 1:44:10 if a call takes 1 s, with 16 at a time (--concurrency)
      --batch: at most 6.15 USD, within a day
      --engine ray: at most 12.30 USD, with 16 calls at a time on each worker
    >>> print(*asking_lines("vllm:m", 0.0, 160, 16, is_provider=False), sep="\\n")
    vllm:m: at most 0.00 USD; 0:00:10 if a call takes 1 s, with 16 at a time (--concurrency)
      --engine ray: the time of your GPUs, divided by their number
    """
    price = "price unknown (--price)" if cost is None else f"at most {cost:,.2f} USD"
    minutes, seconds = divmod(-(-calls // concurrency), 60)
    hours, minutes = divmod(minutes, 60)
    yield (
        f"{spec}: {price}; {hours:,}:{minutes:02}:{seconds:02} if a call takes 1 s, with {concurrency:,} at a"
        " time (--concurrency)"
    )
    if is_provider:
        yield f"  --batch: {'half of that' if cost is None else f'at most {cost / 2:,.2f} USD'}, within a day"
    if spec.startswith("vllm:") and "@" not in spec:
        yield "  --engine ray: the time of your GPUs, divided by their number"
    else:
        yield f"  --engine ray: {price}, with {concurrency:,} calls at a time on each worker"


def retest_text(agreements: Sequence[tuple[float, float, float]], both: int, asked: int) -> str:
    """Return how far the verdicts on a sample are the same when it is asked about again.

    `agreements` are value and interval of the share of equal grades, and of κ.

    >>> retest_text([(0.975, 0.96, 0.99), (0.9512, 0.92, 0.98)], 200, 201)
    'asked again: 200 of 201 judgements have two verdicts; 97.5 % the same (96.0 to 99.0), kappa 0.95 \
(0.92 to 0.98), at 95 %'
    """
    head = f"asked again: {both:,} of {asked:,} judgements have two verdicts"
    if not agreements:
        return head
    (value, low, high), (kappa, lower, upper) = agreements
    same = f"{100 * value:.1f} % the same ({100 * low:.1f} to {100 * high:.1f})"
    return f"{head}; {same}, kappa {kappa:.2f} ({lower:.2f} to {upper:.2f}), at 95 %"


def cascade_text(summary: Mapping[str, Any], then: str | None) -> str:
    """Return what became of all that was judged, by the summary in the first row.

    >>> cascade_text({"of": 200, "to_next": 20}, "openai:m")
    '180 of 200 verdicts are kept; openai:m decided 20'
    >>> print(cascade_text({"of": 200, "to_next": 20, "keep_error": 0.05, "labels": 280, "wrong": 4}, None))
    180 of 200 verdicts are kept (at most 5 % of them are wrong, at 95 %: 4 of 280 labels are); \
20 are left to people
    >>> whose = {"basis": "judge:contains", "drawn": "unstated"}
    >>> shown = {"of": 200, "to_next": 20, "keep_error": 0.05, "labels": 280, "wrong": 4}
    >>> print(cascade_text(shown | whose, None))
    180 of 200 verdicts are kept (at most 5 % of them are wrong, at 95 %: 4 of 280 labels are, \
if these labels are a random draw; by labels of contains, not checked against people); 20 are left to people
    """
    kept, rest = summary["of"] - summary["to_next"], summary["to_next"]
    shown = ""
    if "keep_error" in summary:
        bound = f"{100 * summary['keep_error']:.3g} %"
        shown = (
            f" (at most {bound} of them are wrong, at 95 %: {summary['wrong']:,} of"
            f" {summary['labels']:,} labels are{_conditions(summary)})"
            if kept
            else f" (the labels do not show that at most {bound} are wrong)"
        )
    last = f"{rest:,} are left to people" if then is None else f"{visible(then)} decided {rest:,}"
    return f"{kept:,} of {summary['of']:,} verdicts are kept{shown}; {last}"


def _conditions(summary: Mapping[str, Any]) -> str:
    return conditions_of(Basis.parse(summary.get("basis", ""), drawn=summary.get("drawn", "")))
