"""Which queries count where answers are judged, and how many of them each system answered.

These are the queries of the judgements and of the answers, of the questions that were given, of the human
labels of a judged system, and of the plan of these labels. A query that counts and of which a system has
neither an answer nor a judgement is a missing judgement: it has no value, but bounds (`Score.between`). A
system whose other answers are known scores 0 there, where no value is worse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rageval.errors import InputError
from rageval.files.judgements import JudgementTable
from rageval.files.opening import name_of
from rageval.files.questions import read_facts
from rageval.scoring.assessing import JudgeOfRun
from rageval.scoring.rules import Rules
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.scoring.gold import Draw
    from rageval.scoring.scores import Scores

MOST_MISSING = 0.02  # of the queries: with more, no verdict is given


def with_questions(table: JudgementTable, questions: Any) -> JudgementTable:
    """Return the table in which all these questions count."""
    asked = read_facts(questions, ())
    known = table.queries.words
    if not any(query in asked for query in known):
        raise InputError(
            f"{visible(name_of(questions))}: says nothing of {len(known):,} of {len(known):,} queries, such"
            f" as {visible(str(known[0]))!r}; expected the questions that were asked (queries there:"
            f" {', '.join(map(visible, list(asked)[:3]))}{', …' if len(asked) > 3 else ''})"
        )
    found = table.expecting(asked)
    found.questions = questions
    if hasattr(questions, "seek"):
        questions.seek(0)  # others read it, too
    # It was looked up without these questions.
    found.kept.pop("answerable", None)
    return found


def with_labelled(table: JudgementTable, people: JudgementTable, draw: Draw | None = None) -> JudgementTable:
    """Return the table in which the labelled queries of its systems count, and those of the plan."""
    labelled = [(run, query) for run, query in answers_in(people) if run in table.runs]
    if not set(labelled) & set(answers_in(table)):
        return table  # labels of something else, which are refused as such
    queries = [query for _, query in labelled]
    if draw is not None and draw.plan is not None:
        queries += [*draw.plan.order, *draw.plan.same]
    # Of a query of which anybody was judged it is known by what, and so what the others lack.
    judged = set(table.query)
    new = dict.fromkeys(query for query in queries if table.queries.find(query) not in judged)
    return table.expecting(new) if new else table


def answers_in(table: JudgementTable) -> Iterator[tuple[str, str]]:
    """Yield system and query of what was judged."""
    for run, query in zip(table.run, table.query, strict=True):
        yield table.runs.words[run], table.queries.words[query]


def unanswered(table: JudgementTable, run: int) -> list[str]:
    """Return the queries that count and of which a system has neither an answer nor a judgement."""
    sight = JudgeOfRun(table, run, 0)
    words = table.queries.words
    return [query for number, query in enumerate(words) if sight.is_gone(number)]


def answered(results: Sequence[Scores], table: JudgementTable, rules: Rules) -> Iterator[str]:
    """Say how many of the queries that count each system answered, and what becomes of the others."""
    total = len(table.queries.words)
    for scores in results:
        gone = unanswered(table, table.runs.find(scores.run))
        if gone and (what := _of_others(scores, gone, rules)):
            yield f"{visible(scores.run)}: answered {total - len(gone):,} of {total:,} queries; {what}"


def _of_others(scores: Scores, gone: Sequence[str], rules: Rules) -> str:
    """Return what becomes of queries that a system did not answer; nothing, where they change no value."""
    if rules.intersection:
        return "the others are left out"
    lost, counted = [], []
    for score in scores.scores:
        if any(query in score.between for query in gone):
            lost.append(str(score.measure))
        # A value where there is no answer: nothing was found, and no value is worse.
        elif score.said_by and any(score.by_query[query] == score.by_query[query] for query in gone):
            counted.append(str(score.measure))
    ways = [f"are missing in {', '.join(lost)}"] * bool(lost)
    ways += [f"score 0 in {', '.join(counted)}"] * bool(counted)
    return f"the others {' and '.join(ways)} (--intersection leaves them out)" if ways else ""
