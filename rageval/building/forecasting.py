"""What a pool would cost to judge, by its depth and its breadth, before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rageval.building import support
from rageval.building.collection import Judge
from rageval.building.pools import Pool, contributions, pooled, size
from rageval.judges.base import Request
from rageval.judges.material import tasks
from rageval.judges.rubric import Rubric, rubric_named
from rageval.judges.spending import estimate
from rageval.records import Nugget, Question
from rageval.scoring.runs import Run
from rageval.text import visible

DEPTHS = (5, 10, 20, 50, 100)
_EXPECTED_NUGGETS = 4  # of a question, while they are not written yet, each about so long
_LIKE_A_NUGGET = "A nugget says one thing that a good answer to the question has to hold, in a few words."
_LETTERS_A_TOKEN = 4


def forecast(
    runs: Mapping[str, Run],
    questions: Mapping[str, Question],
    banks: Mapping[str, Sequence[Nugget]],
    texts: Mapping[str, str] | None,
    judges: Sequence[Judge],
    depth: int,
) -> Iterator[str]:
    """The pool at several depths, with the calls, tokens and dollars its judging takes; and who fills it."""
    rubric = rubric_named(support.RUBRIC)
    banks = banks or dict.fromkeys(questions, _placeholders())
    priced = [judge for judge in judges if isinstance(judge, str)] if texts is not None else []
    yield "\t".join(
        [
            "depth",
            "documents",
            "a query",
            "calls",
            *(["tokens in"] if texts is not None else []),
            *map(visible, priced),
        ]
    )
    for each in sorted({*DEPTHS, depth}):
        pool = {query: docs for query, docs in pooled(runs, each).items() if query in questions}
        yield "\t".join(
            [f"{each}{'*' if each == depth else ''}", *_row(pool, rubric, questions, banks, texts, priced)]
        )
    yield ""
    yield "\t".join(["source", "documents", "only here", "new here"])
    pool = {query: docs for query, docs in pooled(runs, depth).items() if query in questions}
    for source, numbers in contributions(pool).items():
        yield "\t".join([visible(source), *(f"{number:,}" for number in numbers)])


def _row(
    pool: Pool,
    rubric: Rubric,
    questions: Mapping[str, Question],
    banks: Mapping[str, Sequence[Nugget]],
    texts: Mapping[str, str] | None,
    priced: Sequence[str],
) -> list[str]:
    found = size(pool, rubric.file.window)
    row = [f"{found.documents:,}", f"{found.breadth:.1f}", f"{found.calls:,}"]
    if texts is None:
        return row
    requests = _requests_of(pool, rubric, questions, banks, texts)
    letters = sum(len(request.system) + len(request.user) for request in requests)
    return [*row, f"{letters // _LETTERS_A_TOKEN:,}", *(_price(requests, spec) for spec in priced)]


def _requests_of(
    pool: Pool,
    rubric: Rubric,
    questions: Mapping[str, Question],
    banks: Mapping[str, Sequence[Nugget]],
    texts: Mapping[str, str],
) -> list[Request]:
    """Return the calls that judge a pool."""
    material = support.material_of(pool, questions, banks, texts)
    return [rubric.request(task.data, task.ids) for task in tasks(rubric, material)]


def _placeholders() -> list[Nugget]:
    return [Nugget("", str(at), _LIKE_A_NUGGET) for at in range(_EXPECTED_NUGGETS)]


def _price(requests: Sequence[Request], spec: str) -> str:
    cost = estimate(requests, spec)
    return "unknown" if cost is None else f"at most {cost:,.2f} USD"
