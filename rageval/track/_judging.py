"""What of a track is judged: pooled documents, answers and their citations, by judges or by people."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rageval.errors import InputError, MissingJudgements, UsageError
from rageval.files.jsonl import first_record
from rageval.files.judgements import judgement_line
from rageval.files.opening import BOM, DEFAULT, chunks
from rageval.files.writing import write_lines
from rageval.judges.material import Material, gathered, tasks
from rageval.judges.rubric import Rubric, rubric_named
from rageval.records import Answer
from rageval.text import visible
from rageval.track._ledger import source_of
from rageval.track._submissions import OF_NO_RUN, Submission, answers_of

if TYPE_CHECKING:
    from rageval.track.organising import TrackPlan

POOL, LABEL = "pool.jsonl", "label.jsonl"
FOLDER = "judgements"
_FINE = ("ok", "repaired")
_NAMED = 5  # runs in a remark
_Pool = dict[str, dict[str, dict[str, int]]]  # query -> document -> run -> rank
_Say = Callable[[str], None]


def pool(plan: TrackPlan, submissions: Sequence[Submission], say: _Say) -> list[str]:
    """Write the documents to judge, with the runs that found or cite them; and a plan of labels if asked."""
    from rageval.building import pool_lines

    found = _retrieved(plan, submissions) if plan.is_of_runs else _cited(plan, submissions)
    write_lines(plan.out / POOL, pool_lines(found))
    documents = sum(map(len, found.values()))
    what = f"the top {plan.depth} of" if plan.is_of_runs else "cited by"
    say(f"pool: {documents:,} documents of {len(found):,} topics, {what} {len(submissions):,} runs")
    place = plan.out / LABEL
    if plan.label is not None:
        lines = list(_labels(plan, submissions, found, say))
        # Byte for byte: labels name the plan by its digest, and those of another plan are refused.
        if place.is_file() and place.read_bytes() != "".join(f"{line}\n" for line in lines).encode():
            raise UsageError(
                f"{visible(str(place))}: is another plan, and a plan must not change once people label;"
                " move it away for a new one, or leave out --label"
            )
        write_lines(place, lines)
    return [POOL, *([LABEL] if place.is_file() else [])]


def _retrieved(plan: TrackPlan, submissions: Sequence[Submission]) -> _Pool:
    from rageval.building import pooled
    from rageval.scoring.sources import read_run

    return pooled({each.run: read_run(str(plan.folder / each.file)) for each in submissions}, plan.depth)


def _cited(plan: TrackPlan, submissions: Sequence[Submission]) -> _Pool:
    """Return the documents that answers cite, in the order in which they do."""
    found: _Pool = {}
    for answer in answers_of(plan.folder, submissions):
        # In the order of the text, which stands in for a rank where nothing was ranked.
        cited = dict.fromkeys(doc for part in answer.sentences for doc in part.citations if doc)
        docs = found.setdefault(answer.query_id, {})
        for rank, doc in enumerate(cited, 1):
            docs.setdefault(doc, {})[answer.run_id] = rank
    return found


def asked_of_people(plan: TrackPlan) -> Rubric:
    """Return the rubric of a plan of labels: the judges', or what suits what was handed in."""
    if len(plan.rubrics) > 1:
        raise UsageError("--label: expected one --rubric, what people are asked")
    usual = "relevance" if plan.is_of_runs else "nugget-assignment"
    return rubric_named(plan.rubrics[0] if plan.rubrics else usual)


def _labels(plan: TrackPlan, submissions: Sequence[Submission], pool: _Pool, say: _Say) -> Iterator[str]:
    """Yield a plan of what people shall label: whole topics, drawn at random."""
    from rageval.comparison.planning import Aim, Population
    from rageval.comparison.planning import plan as drawn
    from rageval.files.plans import Ask, plan_lines

    rubric = asked_of_people(plan)
    material = _material(plan, submissions, pool, say)
    asks: dict[str, list[Ask]] = {}
    for task in tasks(rubric, material):
        for rows in () if task.failed else task.rows.values():
            for row in rows:
                asks.setdefault(row.query, []).append(
                    Ask(
                        row.run,
                        row.item,
                        row.aspect,
                        importance=row.also.get("importance"),
                        weight=row.also.get("weight"),
                    )
                )
    systems = tuple(dict.fromkeys(ask.run_id for of in asks.values() for ask in of))
    # Fewer topics than were asked for: then all of them.
    number = min(plan.label or 0, len(asks))
    if not number:
        raise InputError(f"--label: there is nothing to label by {rubric.name}")
    found = drawn(Population(systems, asks), Aim(number, plan.seed), rubric, material)
    say(f"label: {number} of {len(asks)} topics, {sum(query.judgements for query in found.asked):,} labels")
    return plan_lines(found)


def _material(plan: TrackPlan, submissions: Sequence[Submission], pool: _Pool, say: _Say) -> Material:
    candidates = [(query, doc) for query, docs in pool.items() for doc in docs]
    topics, nuggets, passages = (source_of(plan, name) for name in ("topics", "nuggets", "passages"))
    # Without the answers: a question or a text that one of them holds would be taken for those of all.
    material = gathered([], topics, nuggets, passages, candidates, every_question=False)
    if plan.is_of_runs:
        return material
    answers = list(answers_of(plan.folder, submissions))
    corpus = None if passages is None else material.passages
    lost: dict[str, int] = {}
    # Where nobody has texts, a judge that needs some says so.
    if corpus is not None or any(answer.passages for answer in answers):
        for at, answer in enumerate(answers):
            answers[at], missing = _with_known_texts(answer, corpus)
            if missing:
                lost[answer.run_id] = lost.get(answer.run_id, 0) + missing
    if lost:
        shown = ", ".join(f"{visible(run)} ({number:,})" for run, number in list(lost.items())[:_NAMED])
        more = f" and {len(lost) - _NAMED:,} more runs" if len(lost) > _NAMED else ""
        say(f"judge: citations of documents without a text, which no judge can judge: {shown}{more}")
    return replace(material, answers=answers, candidates={})


def _with_known_texts(answer: Answer, corpus: Mapping[str, str] | None) -> tuple[Answer, int]:
    """Return an answer whose citations have a text, and how many have none.

    The organiser's texts, where there are some, go before those that the answer brings.
    """
    passages = answer.passages
    texts: Mapping[str, str] = dict(passages)
    if corpus is not None:
        passages, texts = tuple((doc, corpus[doc]) for doc in texts if doc in corpus), corpus
    missing = sum(doc is not None and doc not in texts for part in answer.sentences for doc in part.citations)
    sentences = tuple(
        part._replace(citations=tuple(doc if doc in texts else None for doc in part.citations))
        for part in answer.sentences
    )
    return answer._replace(passages=passages, sentences=sentences), missing


def judge(plan: TrackPlan, submissions: Sequence[Submission], say: _Say) -> list[str]:
    """Let the judges judge, a file a rubric; take over judgements that are there.

    A judgement that failed is written with its status, and the stage is not done: what failed is asked again
    when the command is given again.
    """
    from rageval.building import read_pool
    from rageval.judges.panel import judged_by

    files: list[str] = []
    material = Material()
    if plan.rubrics:
        material = _material(plan, submissions, read_pool(plan.out / POOL), say)
    lost = 0
    for name in dict.fromkeys(plan.rubrics):
        rubric = rubric_named(name)
        said = list(judged_by(plan.judges, rubric, material, plan.settings))
        files.append(f"{FOLDER}/{rubric.name}.jsonl")
        write_lines(plan.out / files[-1], map(judgement_line, said))
        failed = sum(row.get("status", "ok") not in _FINE for row in said)
        # Written all the same: what was paid for stays, and only what failed is asked again.
        lost += failed
        say(f"judge: {len(said):,} judgements by {rubric.name}" + (f", {failed:,} failed" if failed else ""))
    for number, path in enumerate(plan.judgements, 1):
        # Copied, so that the archive holds what the scores rest on; by number, as two files may have one
        # name.
        files.append(f"{FOLDER}/given-{number}.jsonl")
        write_lines(plan.out / files[-1], _copied(path, {each.run for each in submissions}, say))
    if not files and plan.qrels is None:
        there = "--qrels FILE" if plan.is_of_runs else "--judgements FILE"
        raise MissingJudgements(
            f"nothing is judged yet: expected --rubric NAME with --judge JUDGE, or {there}; what there is to"
            f" judge stands in {visible(str(plan.out / POOL))} (--label N draws topics for people)"
        )
    # After all rubrics: one command more asks again for everything that failed.
    if lost and plan.on_missing == "error":
        raise MissingJudgements(
            f"{lost:,} judgements failed: give the command again to ask for them again, or say --on-missing"
            " skip, worst or best"
        )
    return files


def _copied(path: str, runs: Collection[str], say: _Say) -> Iterator[str]:
    """Yield the lines of judgements that were made elsewhere, but for those of runs that are left out."""
    others, known = 0, {*runs, *OF_NO_RUN}
    for text in chunks(path, DEFAULT.record):
        for line in text.removeprefix(BOM).decode("utf-8", "replace").splitlines():
            record = first_record(line.encode()) if '"run_id"' in line else None
            if record is not None and str(record.get("run_id", "")) not in known:
                others += 1
            else:
                yield line
    if others:
        say(f"judge: {others:,} lines of {visible(path)} are of runs that are not scored, and left out")
