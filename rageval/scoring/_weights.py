"""What nuggets weigh, and how important they are, joined to judgements of documents or of answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rageval.core.remark import Remark, Scope
from rageval.errors import InputError, Place
from rageval.files.judgements import AskedNugget, JudgementLine, JudgementTable, Statement, distinct
from rageval.files.nuggets import (
    SCORED,
    nuggets_without_reference,
    read_nuggets,
    supported,
)
from rageval.files.opening import limits_of, name_of
from rageval.measures.scales import ATTESTED, CITED_RELEVANCE, LEXICAL, SIMILARITY, STANCE, SUPPORT
from rageval.records import Nugget
from rageval.scoring.assessments import ScaleJudgements
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.files.foreign_judgements import Match

NuggetKey = tuple[int, int]  # query and aspect, by number
_OF_NUGGETS = (SUPPORT, ATTESTED, LEXICAL, STANCE, SIMILARITY)
_STATED, _ATTESTED = SUPPORT.rubrics[1], ATTESTED.rubrics[0]
_LETTERS = {"A": 4.0, "B": 2.0, "C": 1.0}  # what a question of DRAGUN's rubrics weighs by its importance


def weigh(table: JudgementTable, source: Any) -> None:
    """Let judgements of nuggets have the importance and the weight that `source` says.

    Nuggets are known by query and id; those of assignments, which have no ids, by their text. A judgement
    that says something else is an error; what only one side knows is in `table.remarks`.
    """
    nuggets, name = _nuggets_and_name(source)
    if table.matched:
        nuggets = _supported(nuggets)
    _refuse_unscored(nuggets, name)
    nuggets = _rubric_of(nuggets, table, name)
    by_id = {(nugget.query_id, nugget.nugget_id): nugget for nugget in nuggets}
    by_text = _by_text(nuggets)
    first: dict[NuggetKey, int] = {}
    for row, place in _nugget_rows(table):
        first.setdefault(place, row)
    judged = {
        place: (by_text if table.is_by_text(row) else by_id).get(_words_of_nugget(table, place))
        for place, row in sorted(first.items())
    }
    if not any(judged.values()):
        raise _nothing_shared(table, list(first), nuggets, name)
    _join(table, judged, name)
    unknown = [place for place, nugget in judged.items() if nugget is None]
    _add_remarks(table, nuggets, [nugget for nugget in judged.values() if nugget is not None], unknown, name)


def add_matches(table: JudgementTable, source: Any) -> None:
    """Make judgements of what reports were matched with: a row for every question of the bank.

    A question is supported by any of its answers (OR), or by all of them (AND), and then in part by some;
    answers that no document states do not count. One that a judgement which failed may have matched is
    missing. Before the table is finished.
    """
    if not table.matched:
        return
    nuggets, name = _nuggets_and_name(source)
    if (remark := nuggets_without_reference(nuggets, name)) is not None:
        table.remarks.append(remark)
    nuggets = _supported(nuggets)
    _refuse_unscored(nuggets, name)
    banks: dict[str, list[Nugget]] = {}
    for nugget in nuggets:
        if nugget.answers:
            banks.setdefault(nugget.query_id, []).append(nugget)
    unknown_questions = 0
    for (run, query), (line, matches) in table.matched.items():
        bank = banks.get(query, [])
        answers_by_question = {nugget.text: {answer.text for answer in nugget.answers} for nugget in bank}
        unknown_questions += sum(
            given_match.question is not None and not answers_by_question.get(given_match.question)
            for given_match in matches
        )
        records = [
            JudgementLine(
                query,
                run,
                "answer",
                nugget.nugget_id,
                **_nugget_verdict(nugget, matches, rubric),
                rubric=rubric,
            )
            for nugget in bank
            for rubric in (_STATED, _ATTESTED)
        ]
        table.add(table.name, [line] * len(records), records, limits_of(source))
    for query, bank in banks.items():
        number = table.queries[query]
        table.asked[number] = [AskedNugget(n.nugget_id, n.importance, n.weight) for n in bank]
    if unknown_questions:
        table.remarks.append(
            Remark("matched_questions_not_in_file", Scope(file=name), {"number": unknown_questions})
        )


def relate_citations(table: JudgementTable, source: Any) -> None:
    """Say of each citation whether its document states an answer of the bank, where judgements do not say it.

    Nobody needs to judge that: a bank of questions names the documents of its answers. Before the table is
    finished.
    """
    rubric = CITED_RELEVANCE.rubrics[0]
    if rubric in {statement.rubric for statement in table.said.words}:
        return
    nuggets, _ = _nuggets_and_name(source)
    stating: dict[str, set[str]] = {}
    for nugget in nuggets:
        if any(answer.references for answer in nugget.answers):
            docs = stating.setdefault(nugget.query_id, set())
            docs |= {reference.doc_id for answer in nugget.answers for reference in answer.references}
    rows = [
        JudgementLine(
            query, table.runs.words[run], doc, str(position), repeat=table.repeats.words[repeat], judge=judge,
            rubric=rubric, label="relevant" if doc in stating[query] else "not_relevant",
        )
        for (run, number, repeat), facts in table.facts.items()
        for query in [table.queries.words[number]]
        for position, cited in enumerate(facts.cited or ())
        for doc in dict.fromkeys(cited)
        for judge in table.judges.words or [""]
        if query in stating and doc is not None
    ]  # fmt: skip
    if rows:
        table.add(table.name, [0] * len(rows), rows, limits_of(source))


def _nugget_verdict(nugget: Nugget, matches: Iterable[Match], rubric: str) -> dict[str, Any]:
    """Return label and status of a nugget by the answers that a report gives."""
    answers = {answer.text for answer in nugget.answers}
    given: set[str] = set()
    perhaps: set[str] = set()
    for given_match in matches:
        if given_match.question is None:  # which may have matched anything
            perhaps |= answers
        elif given_match.question == nugget.text:
            counts = True if rubric == _STATED else given_match.attested
            (given if counts else perhaps if counts is None else set()).update(
                answers.intersection(given_match.answers)
            )
    label = _label(nugget, answers, given)
    if label != _label(nugget, answers, given | perhaps):
        return {"label": None, "status": "error"}
    return {"label": label}


def _label(nugget: Nugget, answers: set[str], given: set[str]) -> str:
    if given == answers or (given and nugget.aggregator == "OR"):
        return "support"
    return "partial_support" if given else "not_support"


def _nugget_rows(table: JudgementTable) -> Iterator[tuple[int, NuggetKey]]:
    """Yield rows, and their place, of what is judged by nuggets; of everything where nothing is."""
    scales = [ScaleJudgements(table, scale, check=False) for scale in _OF_NUGGETS]
    everything = not any(scales)
    for answer in range(len(table.run)):
        for row in table.rows(answer):
            if everything or any(scale.holds(row) for scale in scales):
                yield row, (table.query[answer], table.row_aspect[row])


def _refuse_unscored(nuggets: Iterable[Nugget], name: str) -> None:
    """Refuse nuggets whose answers count by a rule that no measure knows."""
    unscored = next((nugget for nugget in nuggets if nugget.aggregator not in SCORED), None)
    if unscored is not None:
        raise InputError(
            at=Place(visible(name)),
            problem=f"nugget {visible(unscored.nugget_id)!r} of query {visible(unscored.query_id)!r} combines"
            f" its answers with {unscored.aggregator}, which cannot be scored",
            expected=" or ".join(SCORED),
            remedy="leave the nugget out",
        )


def _supported(nuggets: Iterable[Nugget]) -> list[Nugget]:
    return [kept for kept in map(supported, nuggets) if kept is not None]


def _nuggets_and_name(source: Any) -> tuple[list[Nugget], str]:
    if isinstance(source, Iterable) and not isinstance(source, str) and not hasattr(source, "read"):
        nuggets = list(source)
        if not all(isinstance(nugget, Nugget) for nugget in nuggets):
            raise InputError(
                at=Place("nuggets"),
                expected="a file, a dataset or records of Nugget",
                found=f"{nuggets!r:.80}",
            )
        return nuggets, "nuggets"
    return list(read_nuggets(source)), name_of(source)


def _rubric_of(nuggets: list[Nugget], table: JudgementTable, name: str) -> list[Nugget]:
    """Return what reports are judged by of a rubric of DRAGUN's: its answers, or its questions, with weights.

    The answers of a question share its weight. Other nuggets are returned as they are.
    """
    if not any(answer.answer_id for nugget in nuggets for answer in nugget.answers):
        return nuggets
    asked, answered = (bool(ScaleJudgements(table, scale, check=False)) for scale in (SIMILARITY, STANCE))
    criteria: list[Nugget] = []
    for nugget in nuggets:
        weight = _LETTERS.get(nugget.importance or "")
        if weight is None:
            raise InputError(
                at=Place(visible(name)),
                problem=f"question {visible(nugget.nugget_id)!r} of query {visible(nugget.query_id)!r} has"
                f" the importance {visible(str(nugget.importance))!r}",
                expected=f"one that begins with {', '.join(_LETTERS)}",
            )
        plain = nugget._replace(importance=None, weight=weight)
        if asked:  # runs' questions are compared with the rubric's by number, which ends its id
            number = nugget.nugget_id.rpartition("-")[2]
            whole = nugget.nugget_id in table.aspects
            criteria.append(plain if whole else plain._replace(nugget_id=number))
        for answer in nugget.answers if answered or not asked else ():
            share = weight / len(nugget.answers)
            criteria.append(plain._replace(nugget_id=answer.answer_id, text=answer.text, weight=share))
    return criteria


def _by_text(nuggets: Iterable[Nugget]) -> dict[tuple[str, str], Nugget]:
    """Return nuggets by query and text, a repeated text numbered as assignments number it."""
    banks: dict[str, list[Nugget]] = {}
    for nugget in nuggets:
        banks.setdefault(nugget.query_id, []).append(nugget)
    return {
        (query, name): nugget
        for query, bank in banks.items()
        for name, nugget in zip(distinct([nugget.text for nugget in bank]), bank, strict=True)
    }


def _words_of_nugget(table: JudgementTable, place: NuggetKey) -> tuple[str, str]:
    query, aspect = place
    return table.queries.words[query], table.aspects.words[aspect]


def _join(table: JudgementTable, judged: Mapping[NuggetKey, Nugget | None], name: str) -> None:
    conflicts: list[tuple[int, NuggetKey]] = []
    codes = table.row_statement[:]
    for row, place in _nugget_rows(table):
        own, nugget = table.statement_of(row), judged[place]
        importance, weight = (nugget.importance, nugget.weight) if nugget else (None, None)
        if (None not in (own.importance, importance) and own.importance != importance) or (
            None not in (own.weight, weight) and own.weight != weight
        ):
            conflicts.append((row, place))
        whole = own._replace(
            importance=importance or own.importance, weight=own.weight if weight is None else weight
        )
        codes[row] = table.said[whole]
    if conflicts:
        row, place = conflicts[0]
        raise _conflict(table, row, place, judged[place], name, len(conflicts))
    table.row_statement = codes
    table.kept.clear()  # for what others made of the rows rests on what they said


def _conflict(
    table: JudgementTable, row: int, place: NuggetKey, nugget: Nugget | None, name: str, number: int
) -> InputError:
    query, aspect = map(visible, _words_of_nugget(table, place))
    own: Statement = table.statement_of(row)
    here = [own.importance] if own.importance else []
    here += [f"of weight {own.weight:g}"] if own.weight is not None else []
    there = [nugget.importance] if nugget and nugget.importance else []
    there += [f"of weight {nugget.weight:g}"] if nugget and nugget.weight is not None else []
    more = f" ({number:,} such judgements)" if number > 1 else ""
    return InputError(
        f"nugget {aspect[:80]!r} of query {query!r} is {' and '.join(here)} here, and"
        f" {' and '.join(there)} in {visible(name)}",
        at=table.where(row),
        expected=f"the same in both{more}",
        remedy="judge by those nuggets, or leave the nuggets out",
    )


def _nothing_shared(
    table: JudgementTable, places: list[NuggetKey], nuggets: list[Nugget], name: str
) -> InputError:
    if not nuggets:
        return InputError(
            "holds no nuggets", at=Place(visible(name)), expected="nuggets of the judged queries"
        )
    judged = "none"
    if places:
        query, aspect = map(visible, _words_of_nugget(table, places[0]))
        judged = f"{aspect[:80]!r} of query {query!r}"
    first = nuggets[0]
    return InputError(
        f"none of its nuggets was judged in {visible(table.name)}",
        at=Place(visible(name)),
        expected="judgements whose query_id and aspect are those of nuggets, such as"
        f" {visible(first.nugget_id)!r} of query {visible(first.query_id)!r}",
        found=f"judgements of {judged}",
    )


def _add_remarks(
    table: JudgementTable, nuggets: list[Nugget], judged: list[Nugget], unknown: list[NuggetKey], name: str
) -> None:
    """Add what only one side knows, of the queries that both know."""
    about = Scope(file=name)
    if unknown:
        query, aspect = _words_of_nugget(table, unknown[0])
        facts = {"number": len(unknown), "query": query, "nugget": aspect}
        table.remarks.append(Remark("judged_nuggets_not_in_file", about, facts))
    there = set(judged)
    unjudged = [n for n in nuggets if n not in there and n.query_id in table.queries]
    if unjudged:
        first = unjudged[0]
        facts = {"number": len(unjudged), "query": first.query_id, "nugget": first.nugget_id}
        table.remarks.append(Remark("unjudged_nuggets", about, facts))
    unrated = sum(nugget.importance is None and nugget.weight is None for nugget in judged)
    if unrated:
        table.remarks.append(Remark("unrated_nuggets", about, {"number": unrated}))
