"""Plans of what people shall label: drawn, ordered and sealed before anybody labels.

A plan is JSON lines. Its head says what is asked, of which systems, by which seed, how many queries there are
and how likely each was to be drawn; every other line is a query to be labeled, in the order in which that is
to happen. `sha` is the SHA-256 of all that, so a plan that was changed after it was drawn is refused.

Labels that people gave are a random draw only if they begin that order: `LabelPlan.drawn` says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec

from rageval.errors import InputError, Place
from rageval.files.jsonl import as_line, first_record, read_records
from rageval.files.opening import Source, name_of, start_of
from rageval.text import visible

FORMAT = "rageval-plan/1"
_EXPECTED = "a plan, as rageval label plan writes it"
_SHOWN = 5  # queries named in an error


class Ask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to be labeled: where the judgement goes, and what is shown.

    `context` is the number of the text it is about among those of its query, None where no texts are known;
    `text` is the nugget, or the aspect. A pair of answers has its systems in `pair`.
    """

    run_id: str
    item_id: str = "answer"
    aspect: str = "0"
    importance: str | None = None
    weight: float | None = None
    sentences: int | None = None
    context: int | None = None
    text: str = ""
    pair: tuple[str, str] | None = None


class AskedQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """A query to be labeled: all that is asked of it, and the texts to look at."""

    query_id: str
    asks: tuple[Ask, ...]
    contexts: tuple[dict[str, Any], ...] = ()

    @property
    def judgements(self) -> int:
        """How many judgements are asked for: of a pair one for each system."""
        return sum(1 if ask.pair is None else 2 for ask in self.asks)


class Look(NamedTuple):
    """A look at the labels of a plan: how many of its queries are labeled, of how many."""

    labeled: int
    of: int

    @property
    def is_last(self) -> bool:
        """Whether all labels are there."""
        return self.labeled >= self.of


class LabelPlan(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What people shall label, in which order, and what may be concluded from it.

    `queries` is how many there are; of them the systems in `compare` gave the `same` answers to some, which
    need no label, and `asked` were drawn from the rest without replacement, each order as likely as another:
    `inclusion` is each one's chance.
    Where there are `sizes`, by query, the judge's doubt decided: each query's chance is in proportion to
    its size, and the order is such that this holds of every beginning of it.
    Of `labels` with their grades, `names` says what some are called where people choose among them.
    Where there are `clusters`, by query, whole ones were drawn, and `inclusion` is the chance of each.
    `battles` says how pairs of answers were drawn; all are shown in the order of their systems, or turned.
    It may be looked at whenever one likes: `decide` is the claim that is to be decided. Labels of the plan
    whose sha is in `extends`, which drew the beginning of the same order, are labels of this one, too.
    """

    plan: str
    seed: int
    rubric: str
    kind: str
    systems: tuple[str, ...]
    queries: Annotated[int, msgspec.Meta(ge=1, le=2**53)]
    inclusion: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    sizes: dict[str, Annotated[float, msgspec.Meta(gt=0, le=1e300)]] = {}
    clusters: dict[str, str] = {}
    clustered_by: str = ""
    battles: str | None = None
    asked: tuple[AskedQuery, ...] = ()
    instructions: str = ""
    labels: dict[str, float] = {}
    names: dict[str, str] = {}
    ranges: dict[str, tuple[float, float]] = {}
    whole: bool = False
    measure: str | None = None
    compare: tuple[str, str] | None = None
    same: tuple[str, ...] = ()
    level: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.95
    decide: tuple[str, str] | None = msgspec.field(default=None, name="until")
    width: float | None = None
    depth: int | None = None
    extends: str = ""
    sha: str = ""

    @property
    def order(self) -> tuple[str, ...]:
        """The queries to be labeled, the first one first."""
        return tuple(query.query_id for query in self.asked)

    @property
    def known(self) -> tuple[str, ...]:
        """The plans whose labels are labels of this one: it, and the one that it extends."""
        return (self.sha, self.extends) if self.extends else (self.sha,)

    @property
    def rest(self) -> int:
        """How many queries the draw was made from: those that the systems answer differently."""
        return self.queries - len(self.same)

    @property
    def share(self) -> float:
        """What part of all queries that is: the difference of all is this share of that of the rest.

        >>> LabelPlan(plan=FORMAT, seed=0, rubric="crag", kind="label", systems=("a", "b"),
        ...      queries=10, same=("q1", "q2")).share
        0.8
        """
        return self.rest / self.queries

    def extending(self, pilot: str, labeled: Collection[str]) -> LabelPlan:
        """Return the plan as one that extends the plan of a `pilot`, if it begins with what was labeled."""
        if not pilot or sorted(labeled) != sorted(self.order[: len(labeled)]):
            return self
        return sealed(msgspec.structs.replace(self, extends=pilot))

    def drawn(self, labeled: Collection[str], name: str) -> tuple[str, ...]:
        """Return the queries that a file of labels covers: the beginning of the order, else `InputError`.

        `labeled` are the queries on which it says anything, and be it that nothing could be told. They are a
        uniform draw from the `rest`; a query outside the plan, or one that was passed over, makes them none.
        """
        order = self.order
        unplanned = sorted(set(labeled) - set(order))
        if unplanned:
            raise InputError(
                at=Place(visible(name)),
                problem=f"{len(unplanned):,} labeled queries are not in the plan"
                f" ({_quote_queries(unplanned)})",
                expected=f"labels of the {len(order):,} that were drawn. For labels chosen in another way,"
                " give their probabilities with --gold-chosen FILE",
            )
        # Only the beginning of the order is a draw: nothing before the last labeled query may be missing.
        last = max((position for position, query in enumerate(order, 1) if query in labeled), default=0)
        passed = [query for query in order[:last] if query not in labeled]
        if passed:
            raise InputError(
                at=Place(visible(name)),
                problem=f"{len(passed):,} of the first {last:,} queries of the plan were skipped"
                f" ({_quote_queries(passed)}), so the labels are not a random sample",
                remedy="label these, too, or mark them as undecidable",
            )
        return order[:last]


def _quote_queries(queries: Sequence[str]) -> str:
    shown = ", ".join(visible(query)[:80] for query in queries[:_SHOWN])
    return shown + (", …" if len(queries) > _SHOWN else "")


def plan_lines(plan: LabelPlan) -> Iterator[str]:
    """Yield the lines of a plan, with its `sha` in the head."""
    head, lines = _head_and_lines(plan)
    yield as_line({**head, "sha": _sha(head, lines)})
    yield from lines


def _head_and_lines(plan: LabelPlan) -> tuple[dict[str, Any], list[str]]:
    head = msgspec.to_builtins(plan)
    for name in ("asked", "sha"):
        head.pop(name, None)
    return head, [as_line(msgspec.to_builtins(query)) for query in plan.asked]


def _sha(head: Mapping[str, Any], lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join([as_line(dict(head)), *lines]).encode()).hexdigest()


def sealed(plan: LabelPlan) -> LabelPlan:
    """Return the plan with its `sha`."""
    return msgspec.structs.replace(plan, sha=_sha(*_head_and_lines(plan)))


def is_head(record: Mapping[str, Any]) -> bool:
    """Return whether a record is the head of a plan, of this form or a later one."""
    return str(record.get("plan", "")).startswith(FORMAT.partition("/")[0])


def is_plan(source: Source) -> bool:
    """Return whether this is a plan, by its first line."""
    return is_head(first_record(start_of(source)) or {})


def plans_of_labels(source: Source) -> Iterator[tuple[int, str]]:
    """Yield (line, sha) of every label in a file that says which plan it is of; qrels say nothing."""
    record = first_record(start_of(source))
    if record is None or "plan" not in record:
        return
    for line, label in read_records(source, dict[str, Any], "labels"):
        if label.get("plan"):
            yield line, str(label["plan"])


def read_plan(source: Source) -> LabelPlan:
    """Read a plan; `InputError` if it is none, or if it was changed after it was drawn."""
    name = name_of(source)
    records = read_records(source, dict[str, Any], _EXPECTED)
    line, head = next(records)
    if head.get("plan") != FORMAT:
        shown = head.get("plan", f"the keys {', '.join(head)[:80]}")
        raise InputError(at=Place(name, line), expected=f"{_EXPECTED} ({FORMAT})", found=visible(str(shown)))
    sha = str(head.pop("sha", ""))
    try:
        plan = msgspec.convert({**head, "sha": sha}, LabelPlan)
        asked = [(line, msgspec.convert(record, AskedQuery)) for line, record in records]
    except msgspec.ValidationError as error:
        raise InputError(at=Place(name, line), expected=_EXPECTED, cause=str(error)) from None
    first: dict[str, int] = {}
    for line, query in asked:
        before = first.setdefault(query.query_id, line)
        if before != line:
            raise InputError(
                at=Place(name, line),
                problem=f"query {visible(query.query_id)} is in line {before}, too",
                expected="it once",
            )
    if len(plan.same) + len(asked) > plan.queries:
        raise InputError(
            at=Place(name, line),
            problem=f"names {len(plan.same) + len(asked):,} queries, of {plan.queries:,}",
            expected=_EXPECTED,
        )
    plan = msgspec.structs.replace(plan, asked=tuple(query for _, query in asked))
    # What would be written is compared, so that a key that nobody knows is a change, too.
    if _sha(*_head_and_lines(plan)) != sha:
        raise InputError(
            at=Place(name),
            problem="was changed after it was written (its content does not match the sha"
            f" {visible(sha[:12])} in its first line)",
            remedy="use the file that rageval label plan wrote, or make a new plan",
        )
    return plan
