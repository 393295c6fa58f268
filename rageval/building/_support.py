"""Which pooled documents support which nuggets, and which questions stay (FreshStack, section 4).

First fall questions without a single relevant document, then those with a nugget that no document supports.
What nobody knows, because judging failed, is not taken for unsupported: such a question is undecided.
What judging a pool would cost, by its depth and breadth, is forecast before anything is spent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from rageval.building._pools import Pool, contributions, pooled, size
from rageval.errors import InputError
from rageval.files.jsonl import read_records
from rageval.files.judgements import EXPECTED, JudgementLine
from rageval.files.opening import Source, name_of
from rageval.judges.base import Request
from rageval.judges.material import Material, passages_in, tasks
from rageval.judges.rubric import Rubric, rubric_named
from rageval.judges.spending import estimate
from rageval.measures.scales import SUPPORT
from rageval.records import Nugget, Qrel, Question
from rageval.scoring.runs import Run
from rageval.table import tab_line
from rageval.text import problem_of_id, visible

RUBRIC = "nugget-support"
THRESHOLD = 1.0
_GRADED = ("ok", "repaired")
_Banks = Mapping[str, Sequence[Nugget]]
_Pair = tuple[str, str, str]  # query, nugget, document


def texts_of(corpus: Source, wanted: Set[str]) -> dict[str, str]:
    """Return the texts of these documents; `InputError` if the corpus lacks one."""
    texts = {doc: text for doc, text in passages_in(corpus) if doc in wanted}
    lost = sorted(wanted - set(texts))
    if lost:
        raise InputError(
            f"{corpus}: {len(lost):,} of {len(wanted):,} pooled documents are not there, such as"
            f" {visible(lost[0])!r}; expected the corpus that the runs are over"
        )
    return texts


def documents_of(pool: Pool) -> set[str]:
    """Return every document of a pool."""
    return {doc for docs in pool.values() for doc in docs}


def material_of(
    pool: Pool, questions: Mapping[str, Question], banks: _Banks, texts: Mapping[str, str]
) -> Material:
    """Return what there is to judge: the pooled documents of every question that has nuggets."""
    candidates = {query: list(pool[query]) for query in questions if banks.get(query) and pool.get(query)}
    return Material(questions=questions, nuggets=dict(banks), passages=texts, candidates=candidates)


def vote_of(judges: Sequence[object], vote: str) -> str:
    """Return how several judges are put together: support is a yes or a no, of which there is no mean."""
    return "majority" if len(judges) > 1 and vote == "mean" else vote


def read_support(source: Source) -> list[dict[str, Any]]:
    """Return the judgements of a file, as judges make them; give a label that people wrote its grade."""
    found = []
    for line, said in read_records(source, JudgementLine, EXPECTED):
        grade = said.grade
        if grade is None and said.label is not None:
            grade = SUPPORT.labels.get(said.label)
        if said.status in _GRADED and grade is None:
            labels = ", ".join(SUPPORT.labels)
            raise InputError(
                f"{name_of(source)}:{line}: expected a grade, or one of the labels {labels};"
                f" found {visible(str(said.label))!r:.80}"
            )
        place = {"query_id": str(said.query_id), "item_id": str(said.item_id), "aspect": str(said.aspect)}
        for problem in filter(None, map(problem_of_id, place.values())):
            raise InputError(f"{name_of(source)}:{line}: expected {problem}")
        found.append({**place, "grade": grade, "status": said.status})
    return found


def supported(judgements: Iterable[Mapping[str, Any]], threshold: float = THRESHOLD) -> Iterator[Qrel]:
    """Yield a judgement of 1 where the grade reaches the threshold, else of 0; none where judging failed."""
    for said in judgements:
        if said.get("status", "ok") in _GRADED:
            grade = int(float(said["grade"]) >= threshold)
            yield Qrel(str(said["query_id"]), str(said["item_id"]), grade, str(said["aspect"]))


def failed_pairs(judgements: Iterable[Mapping[str, Any]]) -> set[_Pair]:
    """Return what nobody knows because judging failed."""
    return {
        (str(said["query_id"]), str(said["aspect"]), str(said["item_id"]))
        for said in judgements
        if said.get("status", "ok") not in _GRADED
    }


KEPT, NO_NUGGETS, UNDECIDED = "kept", "no nuggets", "undecided"
NO_DOCUMENT, UNSUPPORTED = "no relevant document", "an unsupported nugget"
STRICT, DOCUMENTS, NONE = "strict", "documents", "none"
_RULES = {
    STRICT: (NO_NUGGETS, UNDECIDED, NO_DOCUMENT, UNSUPPORTED),
    DOCUMENTS: (NO_NUGGETS, UNDECIDED, NO_DOCUMENT),
    NONE: (NO_NUGGETS,),
}


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a question, and the nuggets that are to blame."""

    query_id: str
    verdict: str
    nuggets: tuple[str, ...] = ()


def fates(queries: Iterable[str], banks: _Banks, qrels: Iterable[Qrel], failed: Set[_Pair]) -> list[Fate]:
    """Return what becomes of every question.

    >>> from rageval.records import Nugget
    >>> banks = {"q": [Nugget("q", "n1", "…"), Nugget("q", "n2", "…")]}
    >>> fates(["q"], banks, [Qrel("q", "d", 1, "n1"), Qrel("q", "d", 0, "n2")], set())
    [Fate(query_id='q', verdict='an unsupported nugget', nuggets=('n2',))]
    """
    supported = {(row.query_id, row.iteration) for row in qrels if row.relevance > 0}
    unknown = {(query, nugget) for query, nugget, _ in failed}
    return [
        _fate(query, [n.nugget_id for n in banks.get(query, ())], supported, unknown) for query in queries
    ]


def _fate(
    query: str, bank: Sequence[str], supported: Set[tuple[str, str]], unknown: Set[tuple[str, str]]
) -> Fate:
    lacking = [name for name in bank if (query, name) not in supported]
    open_ = [name for name in lacking if (query, name) in unknown]
    if not bank:
        return Fate(query, NO_NUGGETS)
    if not lacking:
        return Fate(query, KEPT)
    if len(lacking) == len(bank) and not open_:
        return Fate(query, NO_DOCUMENT, tuple(lacking))
    surely = [name for name in lacking if name not in open_]
    if surely and len(lacking) < len(bank):
        return Fate(query, UNSUPPORTED, tuple(surely))
    return Fate(query, UNDECIDED, tuple(open_))


def kept(found: Iterable[Fate], rule: str = STRICT) -> list[str]:
    """Return the questions that stay by this rule."""
    return [fate.query_id for fate in found if fate.verdict not in _RULES[rule]]


def counts(found: Sequence[Fate], rule: str = STRICT) -> dict[str, int]:
    """Return how many questions there are, how many fell for which reason, and how many stay."""
    number = Counter(fate.verdict for fate in found)
    fell = {reason: number[reason] for reason in _RULES[rule] if number[reason]}
    return {"questions": len(found), **fell, KEPT: len(kept(found, rule))}


def report(numbers: Mapping[str, int]) -> Iterator[str]:
    """Yield the counts in words, each with its share of all questions.

    >>> print(*report({"questions": 17, "no relevant document": 2, "kept": 15}), sep="\\n")
    17 questions
     -2 no relevant document (11.8 %)
     15 kept (88.2 %)
    """
    total = numbers["questions"]
    yield f"{total:,} question{'' if total == 1 else 's'}"
    for reason, number in numbers.items():
        if reason != "questions":
            sign = "" if reason == KEPT else "-"
            yield f"{f'{sign}{number:,}':>3} {reason} ({number / total if total else 0:.1%})".replace(
                "%", " %"
            )


DEPTHS = (5, 10, 20, 50, 100)
_EXPECTED_NUGGETS = 4  # of a question, while they are not written yet, each about so long
_LIKE_A_NUGGET = "A nugget says one thing that a good answer to the question has to hold, in a few words."
_LETTERS_A_TOKEN = 4


def forecast_lines(
    runs: Mapping[str, Run],
    questions: Mapping[str, Question],
    banks: Mapping[str, Sequence[Nugget]],
    texts: Mapping[str, str] | None,
    judges: Sequence[object],
    depth: int,
) -> Iterator[str]:
    """Yield the pool at several depths: calls, tokens and dollars its judging takes, and who fills it."""
    rubric = rubric_named(RUBRIC)
    banks = banks or dict.fromkeys(questions, _placeholders())
    priced = [judge for judge in judges if isinstance(judge, str)] if texts is not None else []
    yield tab_line(
        [
            "depth",
            "documents",
            "a query",
            "calls",
            *(["tokens in"] if texts is not None else []),
            *priced,
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
        yield tab_line([source], [f"{number:,}" for number in numbers])


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
    material = material_of(pool, questions, banks, texts)
    return [rubric.request(task.data, task.ids) for task in tasks(rubric, material)]


def _placeholders() -> list[Nugget]:
    return [Nugget("", str(at), _LIKE_A_NUGGET) for at in range(_EXPECTED_NUGGETS)]


def _price(requests: Sequence[Request], spec: str) -> str:
    cost = estimate(requests, spec)
    return "unknown" if cost is None else f"at most {cost:,.2f} USD"
