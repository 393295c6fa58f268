"""A rubric, a model and material: judgements out, in the order of the tasks, with whatever failed said so.

The words of a text that a verdict depends on must be in it: a model that was talked into a verdict, or made
one up, seldom has a quote to show for it. Some rubrics give no judgements but texts, which other rubrics then
judge by: nuggets, written from gold answers or gathered passage by passage, queries, or an answer. Judgements
of several judges become those of one by a vote, which also says what they could not agree on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from rageval.errors import InputError, JudgeFailed
from rageval.judges._exact import first_stage, script_stage
from rageval.judges.asking import OnReply
from rageval.judges.base import (
    ERROR,
    FILTERED,
    INVALID,
    OK,
    REFUSED,
    REPAIRED,
    TRUNCATED,
    Mark,
    Reply,
    Request,
    Usage,
    as_data,
    as_note,
)
from rageval.judges.material import Material, Task, VerdictRow, tasks
from rageval.judges.rubric import SCRIPT, Rubric, trim_data
from rageval.judges.verdicts import FIRST_STAGE, Invalid, Verdict, side_of
from rageval.judges.votes import GRADED
from rageval.records import ClaimList, Nugget
from rageval.text import compatible, visible

# --- A judge whose replies cannot be read is not asked to the end of the job.
#
# What counts is how many items in a row got a first reply that cannot be read. Before the job ends, the
# further tries of these items are made: some judges reply as they should once they are told what was wrong.

# So many items in a row stop a job. If a third of the replies of a judge cannot be read, here and there, this
# stops a job of 10,000 items with a chance of less than 1 in 100,000. A judge whose replies are never any use
# has been asked about 60 times by then: three tries an item.
IN_A_ROW = 20
UNREADABLE = (INVALID, TRUNCATED)  # refusals and errors say nothing of the form of the next reply
_QUOTED = 300  # characters of the reply that is shown
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
        for collection in (self.suspects, self._keys, self._troubles):
            collection.clear()

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
        why, raw = next(trouble for trouble in self._troubles if _OF_ONE_REPLY.sub("…", trouble[0]) == common)
        shown = visible(raw[:_QUOTED]) + "…" * (len(raw) > _QUOTED)
        return JudgeFailed(
            f"{visible(judge)}: no reply about {about} could be read; most often:"
            f" {visible(why) or 'cut off'}; one of these replies: {shown or '(empty)'}; the replies are"
            " stored and judging stopped; change the rubric or the model, or ask again with --retry"
            " invalid,truncated"
        )


# --- A judge, and what becomes of each task.

_SHOWN = 16  # digits of the key of a stored reply, by which it can be looked up
Asked = Iterable[tuple[int, Request]]
# What is asked, who is told of each reply as it comes, and whether to ask again what is stored.
_Ask = Callable[[Asked, OnReply, bool], Iterator[tuple[int, Reply]]]
_Read = tuple["_Outcome", Request | None]
_REPETITION_STEP = 1_000  # between the sample numbers of two repetitions
_MOST_PIECES = 50  # each is looked for in the whole text
_LEFT_OUT = re.compile(r"\[?(?:\.\.\.|…)\]?")
_COUNTED = (INVALID, REFUSED, FILTERED, TRUNCATED)  # what a source makes a grade of; errors are asked again


@dataclass(frozen=True, slots=True)
class JudgeClient:
    """Who judges: a name for the judgements, and a way to ask many requests at once.

    `repetition` tells askings of the same things apart; `retry` are the statuses of stored replies that are
    asked for again. Where `asks_at_once`, requests cannot be held back once the first is asked. Where nobody
    is asked, `lot` is the number of things judged at a time, so that memory does not grow with all of them;
    `sample` is the share of the tasks that are judged, the same ones each time.
    """

    name: str
    ask: _Ask
    endpoint: str = ""
    share: tuple[int, int] | None = None  # judge only this share, counted from 0, of so many
    repetition: int = 0
    retry: Collection[str] = ()
    asks_at_once: bool = False
    runs: dict[str, UnreadableRun] = field(default_factory=dict)  # by rubric
    lot: int | None = None
    sample: float = 1.0

    def has(self, rubric: Rubric, task: Task) -> bool:
        """Tell whether a task is in this judge's share; what failed is in the first, as nobody is asked."""
        if task.failed:
            return self.sample == 1 and (self.share is None or self.share[0] == 0)
        if self.share is None and self.sample == 1:  # what is everybody's is not looked at twice
            return True
        return self.is_mine(rubric.request(task.data, task.ids))

    def is_mine(self, request: Request) -> bool:
        """Tell whether the request is in this judge's share: keys are random, so shares are about equal."""
        if self.share is None and self.sample == 1:
            return True
        part, whole = self.share or (0, 1)
        # By the key and not by its place, so that a share stays the same when questions are added. The sample
        # is drawn by other digits, so that each share has its part of it.
        key = request.key(self.name, self.endpoint)
        return int(key[:16], 16) % whole == part and int(key[16:32], 16) < self.sample * 16**16


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a task came to: verdicts, or the status that says why there are none."""

    status: str
    verdicts: tuple[Verdict, ...] = ()
    detail: str = ""
    reply: Reply = field(default_factory=lambda: Reply(OK))
    key: str = ""
    attempts: int = 0

    @property
    def is_read(self) -> bool:
        """Whether the reply could be read, be it that it says nothing."""
        return bool(self.verdicts) or self.status in GRADED

    @property
    def why(self) -> str:
        """The status, and what is known of it."""
        return f"{self.status}: {visible(self.detail)}" if self.detail else self.status


def judge(rubric: Rubric, material: Material, judge: JudgeClient) -> Iterator[dict[str, Any]]:
    """Judge everything the rubric has to judge, by task.

    What the form of an answer decides is not asked. What fails has its status and no grade.
    """
    # Of the whole task, before anything is left out of it: shares must not depend on what is decided.
    every = (task for task in tasks(rubric, material) if judge.has(rubric, task))
    mine = [*islice(every, judge.lot)]
    # Once where there is nothing to judge, too: see `_Round`.
    while True:
        yield from _judge_lot(rubric, mine, judge)
        mine = [*islice(every, judge.lot)]
        if not mine:
            return


def _judge_lot(rubric: Rubric, mine: Sequence[Task], judge: JudgeClient) -> Iterator[dict[str, Any]]:
    labels = [decided(rubric, task) for task in mine]
    todo = []
    for task in mine:
        if rubric.file.first_stage == SCRIPT and not task.failed:
            # Gold answers beside which the form of the answer says enough are not asked about.
            answer = trim_data(rubric.file.trim, task.data)["answer"]
            gold = [gold for gold in task.data["gold"] if script_stage(answer, gold) is None]
            task = replace(task, data={**task.data, "gold": gold})
        todo.append(task)
    outcomes = _ask_tasks(
        rubric, {place: task for place, task in enumerate(todo) if labels[place] is None}, judge
    )
    named = {
        "judge": str(rubric.judge_called(judge.name)),
        "rubric": f"{rubric.judged_as}@{rubric.version}",
    }
    for number, task in enumerate(todo):
        label = labels[number]
        if label is not None:
            decision = {"label": label, "grade": rubric.file.labels[label], "decided_by": FIRST_STAGE}
            common = {**named, "status": OK, **decision}
            judgements = [_judgement(row, common) for rows in task.rows.values() for row in rows]
        else:
            judgements = _judgement_rows(task, outcomes[number], named)
        # Of the whole task: what is left out of it was judged, too.
        judgements[0] |= {} if task.failed else {"judged_sha": mine[number].judged_sha}
        yield from judgements


def _ask_tasks(rubric: Rubric, todo: Mapping[int, Task], judge: JudgeClient) -> dict[int, _Outcome]:
    """Return the outcome of each task.

    Nothing is asked about an answer that is not there. What failed before, with a status that is to be tried
    again, is asked again from the beginning.
    """
    unasked = {number: _Outcome(ERROR, detail=task.failed) for number, task in todo.items() if task.failed}
    todo = {number: task for number, task in todo.items() if not task.failed}
    first = _Round(rubric, todo, judge, refresh=False)
    outcomes = unasked | first.outcomes()
    repeats = {
        number: todo[number]
        for number, outcome in outcomes.items()
        if number not in unasked
        # What has just been bought is not bought again. What a source makes a grade of has failed, too.
        and number not in first.bought
        and not {outcome.status, first.lost(number)}.isdisjoint(judge.retry)
    }
    if not repeats:
        return outcomes
    return outcomes | _Round(rubric, repeats, judge, refresh=True).outcomes()


class _Round:
    """Asks about tasks until each has a verdict, or failed.

    Replies that cannot be read are asked for again, with the reason; a cut-off one once, with more room. An
    unfenced rubric asks as its source does: the same again, or not at all. Where a rubric asks several times
    of one thing, what comes next follows each reply.
    """

    def __init__(self, rubric: Rubric, todo: Mapping[int, Task], judge: JudgeClient, refresh: bool) -> None:
        self.bought: set[int] = set()  # tasks of which some reply was not in the store
        self._rubric, self._todo, self._judge, self._refresh = rubric, todo, judge, refresh
        self._now = dict(todo)
        self._outcomes: dict[int, list[_Outcome]] = {number: [] for number in todo}
        self._tries = dict.fromkeys(todo, 1)  # how often each was asked for its present step
        self._waiting = {number: self._request(task) for number, task in todo.items()}
        self._read: dict[int, _Read] = {}
        self._run = judge.runs.setdefault(rubric.digest, UnreadableRun())

    def outcomes(self) -> dict[int, _Outcome]:
        """Ask, and return the outcome of each task; `JudgeFailed` if too many in a row cannot be read."""
        # Once where there is nothing to ask, too: a share without a task has its store like the others.
        while True:
            self._is_probing = self._run.is_long and self._judge.lot is None
            # All that waits goes out together, unless nothing may come of it.
            if self._is_probing:
                some = [number for number in self._run.first_suspects() if number in self._waiting]
            elif self._judge.asks_at_once and not self._run.is_proven:
                some = [*self._waiting][:IN_A_ROW]
            else:
                some = [*self._waiting]
            requests = {number: self._waiting[number] for number in some}
            for number, reply in self._judge.ask(requests.items(), self._on_reply, self._refresh):
                if number not in self._read:
                    self._on_reply(number, reply, was_stored=False)
                self._keep_outcome(number, reply, *self._read.pop(number))
            # With nothing left to ask, an error would save nothing.
            if not self._waiting:
                break
            if self._is_probing and not self._run.is_long:
                self._run.acquit()
            elif self._is_probing and self._waiting.keys().isdisjoint(self._run.first_suspects()):
                raise self._run.failure(self._judge.name, "{} items in a row")
        # Where nobody is waited for, further tries come later; the job ends once these were made, too.
        suspects = self._run.first_suspects() if self._judge.lot is not None and self._run.is_long else []
        if suspects and all(self._outcomes[number][-1].status in UNREADABLE for number in suspects):
            raise self._run.failure(self._judge.name, "{} items in a row")
        settled = {number: outcomes for number, outcomes in self._outcomes.items() if outcomes}
        self._run.end_of_requests(number for number in settled if self.lost(number) in UNREADABLE)
        return {
            number: _combine_outcomes(self._rubric, self._todo[number], outcomes)
            for number, outcomes in settled.items()
        }

    def lost(self, number: int) -> str:
        """Return the status of the last reply about a task, if it was no verdict; else nothing."""
        status = self._outcomes[number][-1].status
        return "" if status in GRADED else status

    def _request(self, task: Task) -> Request:
        request = self._rubric.checked_request(task.data, task.ids)
        # Far enough from one another for the further tries of each.
        return replace(request, sample=request.sample + _REPETITION_STEP * self._judge.repetition)

    def _on_reply(self, number: int, reply: Reply, was_stored: bool) -> bool:
        """Read a reply as it comes, in whatever thread; tell whether nothing more should be asked for now."""
        task = self._now[number]
        self._read[number] = outcome, _ = _read_reply(self._rubric, task, self._waiting[number], reply)
        if not was_stored:
            self.bought.add(number)
        is_said = was_stored and outcome.status in self._judge.retry and not self._refresh
        # A step on the way is free text, and shows nothing.
        if not is_said and not self._rubric.is_step(task.data):
            if outcome.status in GRADED:
                self._run.read()
            elif outcome.status not in UNREADABLE:
                self._run.refused()
            else:
                key = self._waiting[number].key(self._judge.name, self._judge.endpoint)
                is_first = self._tries[number] == 1
                self._run.unreadable(number, key, outcome.detail, reply.text, is_first)
        return self._run.is_long and not self._is_probing

    def _keep_outcome(self, number: int, reply: Reply, outcome: _Outcome, retry: Request | None) -> None:
        """Keep what a reply came to, or what is to be asked after it."""
        task, request = self._now[number], self._waiting.pop(number)
        # A bad reply is stored as well: the next go asks with the same words and finds the same replies.
        if retry is not None and self._tries[number] < self._rubric.file.tries:
            self._waiting[number] = retry
            self._tries[number] += 1
            return
        key = request.key(self._judge.name, self._judge.endpoint)
        self._outcomes[number].append(replace(outcome, reply=reply, key=key, attempts=self._tries[number]))
        # Nothing is asked after a step that failed.
        data = None
        if outcome.status in GRADED or self._rubric.file.each is not None:
            data = self._rubric.then(task.data, reply.text, outcome.verdicts)
        if data is not None:
            self._now[number] = replace(task, data=data)
            self._tries[number] = 1
            self._waiting[number] = self._request(self._now[number])


def _combine_outcomes(rubric: Rubric, task: Task, outcomes: Sequence[_Outcome]) -> _Outcome:
    """Return what several replies of one thing come to, with all that they took."""
    last = outcomes[-1]
    # Asked once beside each gold answer: one that was not read may have been the right one, and is missing.
    if rubric.file.each is not None and not any(map(rubric.is_best, last.verdicts)):
        last = next((outcome for outcome in outcomes if outcome.status not in GRADED), last)
    if last.status in _COUNTED and rubric.file.lenient and rubric.file.unreadable:
        # As a job has asked for, a reply that cannot be read is taken for what the source takes it for.
        label = str(rubric.file.unreadable)
        verdicts = tuple(Verdict(name, label, rubric.file.labels[label]) for name in task.ids or ("",))
        detail = f"{last.status}, taken for {label} as {rubric.file.compat} does: {last.detail}"
        last = replace(last, status=OK, verdicts=verdicts, detail=detail)
    if len(outcomes) == 1:
        return last
    spent = [outcome.reply.usage for outcome in outcomes]
    # What all of them took; the last alone would hide the price of asking again.
    usage = Usage(sum(used.input for used in spent), sum(used.output for used in spent))
    attempts = sum(outcome.attempts for outcome in outcomes)
    return replace(last, reply=replace(last.reply, usage=usage), attempts=attempts)


def _read_reply(
    rubric: Rubric, task: Task, request: Request, reply: Reply
) -> tuple[_Outcome, Request | None]:
    """Return what a reply comes to, and the request that may get a better one."""
    is_read = reply.status == OK or (reply.status == TRUNCATED and rubric.file.unfenced)  # sources don't look
    if reply.status == TRUNCATED and not is_read:
        # Once, with twice the room: a judge that rambles would otherwise take all there is.
        more = replace(request, max_tokens=2 * request.max_tokens)
        is_first = request.max_tokens == rubric.file.max_tokens
        return _Outcome(TRUNCATED, detail=reply.detail), more if is_first else None
    if not is_read:
        return _Outcome(reply.status, detail=reply.detail), None
    if rubric.is_step(task.data):
        return _Outcome(OK), None
    try:
        verdicts, repaired = rubric.read(reply.text, task.ids)
        # A quote that nobody was shown is no evidence.
        source = rubric.file.evidence_from
        if source is not None:
            data = task.data[source]
            shown = data if isinstance(data, str) else "\n\n".join(data)
            kept = []
            for verdict in verdicts:
                is_fine = verdict.label not in rubric.file.evidence_for or _is_quoted(
                    verdict.evidence or "", shown
                )
                may_lack = {"kept": True, "empty": not verdict.evidence}.get(rubric.file.unquoted, False)
                if not is_fine and not may_lack:
                    of = f" of {verdict.id}" if verdict.id else ""
                    raise Invalid(
                        f"evidence{of}: {verdict.label} needs words of the {source}, copied exactly;"
                        f" found {verdict.evidence!r:.80}"
                    )
                kept.append(verdict if is_fine else replace(verdict, unquoted=True))
            verdicts = kept
    except Invalid as error:
        if rubric.file.unfenced:
            return _Outcome(INVALID, detail=str(error)), rubric.again(request)
        # Another sample is another key, as the same question would find its stored, bad reply.
        resampled = replace(rubric.request(task.data, task.ids), sample=request.sample + 1)
        trouble = str(error)
        opening, end = "\n\nYour last reply could not be used", ". Reply with the JSON object alone."
        why = ("; why stands, as data, between the two lines ", Mark(1), " below")
        # The reply may have been written by whoever wants to be judged well: it is quoted as data, behind a
        # fence.
        quote = ("\n\n", Mark(1), "\n", as_data({"trouble": trouble}), "\n", Mark(1))
        retry = resampled.with_more(as_note((opening, *why, end, *quote), f"{opening}: {trouble}{end}"))
        return _Outcome(INVALID, detail=str(error)), retry
    return _Outcome(REPAIRED if repaired else OK, tuple(verdicts)), None


def _judgement_rows(task: Task, outcome: _Outcome, named: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the judgements of a task; `named` are the names of judge and rubric."""
    common = {**named, "status": outcome.status}
    reply = outcome.reply
    call = {
        "attempts": outcome.attempts,
        "detail": outcome.detail,
        "key": outcome.key[:_SHOWN],
        "raw": reply.text,
        "usage": {"input": reply.usage.input, "output": reply.usage.output},
    }
    if outcome.verdicts:
        rows = []
        for verdict in outcome.verdicts:
            for row in task.rows[verdict.id]:
                # In a comparison the label is that of the side of this row's system.
                label, grade = side_of(verdict, row.run, row.shown)
                fields = {"label": label, "grade": grade}
                fields |= {"reason": verdict.reason, "evidence": verdict.evidence}
                fields |= {"unquoted": True} if verdict.unquoted else {}
                filled = {key: value for key, value in fields.items() if value not in (None, "")}
                rows.append(_judgement(row, {**common, **filled}))
    else:
        rows = [_judgement(row, common) for rows in task.rows.values() for row in rows]
    # Who adds up tokens over rows would otherwise count a call as often as it has nuggets.
    rows[0] |= {key: value for key, value in call.items() if value}  # once a call, not once a nugget
    return rows


def _judgement(row: VerdictRow, fields: Mapping[str, Any]) -> dict[str, Any]:
    place = {"query_id": row.query, "run_id": row.run, "item_id": row.item, "aspect": row.aspect}
    shown = {"shown": list(row.shown)} if row.shown else {}
    return {**place, **row.also, **shown, **fields}


def decided(rubric: Rubric, task: Task) -> str | None:
    """Return the label that the form of the answer decides, without a model; None if it does not."""
    if rubric.file.first_stage is None or task.failed:
        return None
    data = trim_data(rubric.file.trim, task.data)
    if rubric.file.first_stage == SCRIPT:
        labels = [script_stage(data["answer"], gold) for gold in data["gold"]]
        label_of_script = next((label for label in labels if label in ("accurate", "missing")), None)
        return label_of_script or (None if None in labels else "incorrect")
    label = first_stage(data["answer"], data["gold"], rubric.file.abstentions)
    # Rubrics of three labels call accurate what those of four call perfect.
    return "accurate" if label == "perfect" and label not in rubric.file.labels else label


def _is_quoted(evidence: str, text: str) -> bool:
    """Tell whether the quote, or every piece of it where some is left out, stands in the text.

    >>> _is_quoted("It’s safe … at 100 °C", "It's  SAFE, they say, at 100 °C.")
    True
    >>> _is_quoted("perfectly safe", "It's safe."), _is_quoted(" … ", "It is."), _is_quoted("✓", "✓ (yes)")
    (False, False, True)
    """
    # Judges leave words out of a quote with dots; what stands between must be there.
    pieces = [piece.strip() for piece in _LEFT_OUT.split(evidence) if piece.strip()]
    shown = _as_quoted(text)
    return 0 < len(pieces) <= _MOST_PIECES and all(
        # A line end is in no folded text: a piece that folds to nothing is found only as it stands.
        piece in text or (_as_quoted(piece) or "\n") in shown
        for piece in pieces
    )


def _as_quoted(text: str) -> str:
    """Fold text as quotes are compared: without case, marks and blanks that copying changes.

    >>> _as_quoted("It’s  SAFE.") == _as_quoted("it's safe")
    True
    """
    # Quotation marks, dashes and blanks change when text is copied; words do not.
    return re.sub(r"\W+", " ", compatible(text).casefold()).strip()


@dataclass(slots=True)
class Written:
    """The nuggets of every question, and the questions for which there are none because judging failed.

    `calls` and `usage` are what the replies that decided it took, whenever they were paid for.
    """

    nuggets: list[Nugget] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # query -> status
    texts: dict[str, list[str]] = field(default_factory=dict)
    calls: int = 0
    usage: Usage = field(default_factory=Usage)

    def keep(self, query: str, outcome: _Outcome) -> None:
        """Take in what came of a call."""
        self.calls += outcome.attempts
        spent = outcome.reply.usage
        self.usage = Usage(self.usage.input + spent.input, self.usage.output + spent.output)
        if outcome.is_read:
            self.texts[query] = [verdict.id for verdict in outcome.verdicts]
        else:
            self.failed[query] = outcome.why


def split(
    rubric: Rubric, material: Material, judge: JudgeClient
) -> tuple[list[ClaimList], list[tuple[str, str, str]]]:
    """Take answers apart into claims; return these, and (query, run, why) of what failed."""
    every = [task for task in tasks(rubric, material) if judge.has(rubric, task)]
    done: list[ClaimList] = []
    failed: list[tuple[str, str, str]] = []
    for number, outcome in sorted(_ask_tasks(rubric, dict(enumerate(every)), judge).items()):
        (row,) = every[number].rows[""]
        if outcome.is_read:
            done.append(ClaimList(row.query, row.run, tuple(verdict.id for verdict in outcome.verdicts)))
        else:
            failed.append((row.query, row.run, outcome.why))
    return done, failed


def nuggetize(rubric: Rubric, material: Material, judge: JudgeClient) -> Written:
    """Write nuggets of every question; at most as many as the rubric keeps, the most important first."""
    written = (_write_from_passages if rubric.file.unit == "passages" else _write_from_gold)(
        rubric, material, judge
    )
    written.nuggets = [
        Nugget(query, str(number), text)
        for query, texts in written.texts.items()
        # The prompt asks for the most important first.
        for number, text in enumerate(texts[: rubric.file.kept])
        if query not in written.failed
    ]
    return written


def _share(rubric: Rubric, material: Material, judge: JudgeClient) -> list[Task]:
    """Return the first task of each question that is this judge's; all others of the question go with it."""
    # Reversed, so that the first of each query is the one that stays.
    first = {task.rows[""][0].query: task for task in reversed(list(tasks(rubric, material)))}
    mine = [task for task in first.values() if judge.is_mine(rubric.request(task.data, task.ids))]
    return mine[::-1]


def _write_from_gold(rubric: Rubric, material: Material, judge: JudgeClient) -> Written:
    """One call a question: from its gold answer."""
    todo = dict(enumerate(_share(rubric, material, judge)))
    queries = [task.rows[""][0].query for task in todo.values()]
    written = Written()
    for number, outcome in sorted(_ask_tasks(rubric, todo, judge).items()):
        written.keep(queries[number], outcome)
    return written


def _write_from_passages(rubric: Rubric, material: Material, judge: JudgeClient) -> Written:
    """Show a few passages at a time, each call bringing the list so far up to date, until all are shown."""
    if not material.candidates:
        raise InputError(problem="no passages to write nuggets from", remedy="give a run (--run FILE)")
    of_query: dict[str, list[Task]] = {}
    for task in tasks(rubric, material):
        of_query.setdefault(task.rows[""][0].query, []).append(task)
    mine = {task.rows[""][0].query for task in _share(rubric, material, judge)}
    of_query = {query: tasks_of for query, tasks_of in of_query.items() if query in mine}
    written = Written()
    # Round by round over all questions: each call needs the list that the one before made.
    for step in range(max(map(len, of_query.values()), default=0)):
        queries = [query for query in of_query if step < len(of_query[query]) and query not in written.failed]
        todo = {
            number: replace(
                of_query[query][step],
                data={**of_query[query][step].data, "nuggets": written.texts.get(query, [])},
            )
            for number, query in enumerate(queries)
        }
        for number, outcome in sorted(_ask_tasks(rubric, todo, judge).items()):
            written.keep(queries[number], outcome)
    return written
