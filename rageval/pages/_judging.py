"""Judges beside people or beside one another: agreement, confusion, what they disagree on, what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sized
from itertools import combinations, islice
from typing import Any

from rageval.comparison.passport import Judged, parting, passport
from rageval.files.judgements import FAILED, GRADED, JudgementTable
from rageval.judges.base import Usage
from rageval.judges.budget import cost
from rageval.judges.material import DOCUMENTS
from rageval.judges.votes import Place, is_unfenced
from rageval.pages._matrices import JudgesNotes, said_in
from rageval.pages._parts import plain
from rageval.scoring.qrels import Qrels

Record = dict[str, Any]
_GOLD = "gold"
_MOST, _LEAST = 200, 20  # disagreements that are listed, of one pair and of each of many
MOST_PAIRS = 66  # those of twelve judges


def by_judge(grades: JudgementTable) -> dict[str, Judged]:
    """Return the judgements of each judge, by what they are about."""
    found: dict[str, dict[Place, Record]] = {}
    for _, line in grades.each():
        place = str(line.query_id), str(line.run_id), str(line.item_id), str(line.aspect)
        found.setdefault(line.judge, {})[place] = {
            "query_id": place[0],
            "run_id": place[1],
            "status": line.status,
            "judge": line.judge,
            "label": line.label,
            "grade": line.grade,
        }
    return dict(found)


def beside(
    judged: Mapping[str, Judged], people: Mapping[str, Judged] | None
) -> list[tuple[str, Judged, str, Judged]]:
    """Who is compared with whom: judges with people, and these with one another; else judges."""
    if people is None:
        return _shared(combinations(judged.items(), 2))
    # People's files often say no name.
    named = {who or _GOLD: said for who, said in people.items()}
    with_people = _shared((one, other) for one in judged.items() for other in named.items())
    return [*with_people, *_shared(combinations(named.items(), 2))]


def _shared(
    pairs: Iterable[tuple[tuple[str, Judged], tuple[str, Judged]]],
) -> list[tuple[str, Judged, str, Judged]]:
    shared = ((*one, *other) for one, other in pairs if _have_common(one[1], other[1]))
    # Thirty judges make 435 pairs; a page of all would be read by nobody.
    return list(islice(shared, MOST_PAIRS))


def of_qrels(qrels: Qrels, places: Collection[Place] | None = None) -> Judged:
    """Return judgements of documents by what they are about: at these places, if any are named."""
    found: dict[Place, Record] = {}
    for row in qrels:
        place = row.query_id, DOCUMENTS, row.doc_id, row.iteration
        if places is None or place in places:
            found[place] = {"query_id": row.query_id, "run_id": DOCUMENTS, "status": "ok", "judge": ""}
            found[place]["grade"] = float(row.relevance)
    return found


def judging(
    pairs: list[tuple[str, Judged, str, Judged]],
    notes: JudgesNotes,
    texts: Mapping[tuple[str, str], str] | None = None,
) -> list[Record]:
    """Return a record a pair of judges; `texts` are the answers, by query and system."""
    return [_compared(*pair, notes, texts or {}, _listed_of(pairs)) for pair in pairs]


def listed(pairs: list[tuple[str, Judged, str, Judged]]) -> set[Place]:
    """Return the places whose notes are needed."""
    most = _listed_of(pairs)
    return {each.place for _, one, _, other in pairs for each in parting(one, other)[:most]}


def _listed_of(pairs: Sized) -> int:
    """Return how many disagreements of a pair are listed, where so many pairs are."""
    return max(_LEAST, _MOST // max(1, len(pairs)))


def _compared(
    name: str,
    one: Judged,
    other_name: str,
    other: Judged,
    notes: JudgesNotes,
    texts: Mapping[tuple[str, str], str],
    most: int,
) -> Record:
    found = passport(one, other).as_dict()
    differing = parting(one, other)
    return {
        "judge": name,
        "other": other_name,
        **{key: found[key] for key in ("compared", "queries", "systems", "bias", "coefficients", "labels")},
        **{key: found[key] for key in ("confusion", "by_label", "tau_b", "ranked_by", "failed", "kin")},
        # All are counted, though only some are listed.
        "disagreements": len(differing),
        "listed": [
            {
                **dict(zip(("query", "run", "item", "aspect"), each.place, strict=True)),
                "gap": each.gap,
                **({"answer": texts[each.place[:2]]} if each.place[:2] in texts else {}),
                "judge": _said(one[each.place], notes, each.place),
                "other": _said(other[each.place], notes, each.place),
            }
            for each in differing[:most]
        ],
    }


def _said(judgement: Mapping[str, Any], notes: JudgesNotes, place: Place) -> Record:
    """Return a verdict with its reason: the file's own, or what the notes know."""
    said: Record = {key: judgement[key] for key in ("label", "grade") if judgement.get(key) is not None}
    own = said_in(judgement.get("evidence"), judgement.get("reason"))
    return said | (own or notes.said_of(place, str(judgement.get("judge", ""))))


def spending(grades: JudgementTable, notes: JudgesNotes) -> Iterator[Record]:
    """Yield what each judge did, what failed, and what it took."""
    said = grades.said.words
    counts: dict[int, Counter[str]] = {judge: Counter() for judge in range(len(grades.judges.words))}
    for answer, number in enumerate(grades.judge):
        counts[number].update([said[grades.row_said[row]].status for row in grades.rows(answer)])
    for number, judge in enumerate(grades.judges.words):
        statuses = {status: counts[number][status] for status in (*GRADED, *FAILED) if counts[number][status]}
        calls, read, written = notes.spent.get(judge, [0, 0, 0])
        # Without known calls nothing is said, rather than that it was free.
        price = cost(Usage(read, written), judge.partition("@")[0]) if calls else None
        yield {
            "judge": judge,
            "judgements": sum(statuses.values()),
            "failed": sum(statuses.get(status, 0) for status in FAILED),
            "statuses": statuses,
            "calls": calls,
            "input": read,
            "output": written,
            "cost": plain(price),
        }


def without_fence(grades: JudgementTable, notes: JudgesNotes) -> Iterator[str]:
    """Say of each judge that was asked by a prompt without a fence how many attacks on it succeeded."""
    for judge in filter(is_unfenced, grades.judges.words):
        best, shown = notes.attacks.get(judge, [0, 0])
        said = (
            f"{best:,} of {shown:,} verdicts on attacks were the best there is" if shown else "none was tried"
        )
        yield f"{judge} was asked without a fence, as its source asks; of attacks on it, {said}"


def _have_common(one: Judged, other: Judged) -> bool:
    return any(place in other and _is_graded(one[place]) and _is_graded(other[place]) for place in one)


def _is_graded(judgement: Mapping[str, Any]) -> bool:
    return judgement.get("status", "ok") in GRADED
