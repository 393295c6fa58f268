"""The whole way: nuggets, query variants, runs, fusions, a pool, support, and the questions that stay.

Nothing is remembered between two goes but what judges replied, which is in the store: whoever runs a plan
again asks only for what is not there yet, and gets the same files. Each step can be taken alone, too, between
files, as `rageval build STEP` does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from rageval.building import _manifest, _pools, _searching, _support
from rageval.building._pools import Pool, fused, pool_lines, pooled, read_pool, run_lines, unjudged
from rageval.building._searching import Index, Topics
from rageval.building._support import DEPTHS, STRICT, THRESHOLD, forecast_lines
from rageval.errors import InputError, UsageError
from rageval.files.jsonl import as_line
from rageval.files.judgements import GRADED, JudgementTable, judgement_line
from rageval.files.nuggets import read_nuggets, write_nuggets
from rageval.files.opening import Source, name_of
from rageval.files.questions import read_questions
from rageval.files.trec import qrel_lines
from rageval.files.writing import file_names, refuse_place, write_lines
from rageval.judges.base import Model
from rageval.judges.budget import Budget
from rageval.judges.material import Material, passages_in
from rageval.judges.panel import Settings, judged_by, nuggets_by, said_by_all, vote_of
from rageval.judges.rubric import rubric_named
from rageval.names import near_misses
from rageval.records import Nugget, Qrel, Question
from rageval.scoring.runs import Run
from rageval.scoring.sources import read_run
from rageval.text import visible, written_out

_Judge = str | Model


@dataclass(frozen=True)
class Plan:
    """Everything that makes a difference to the collection.

    Parameters
    ----------
    questions, corpus
        Files, or ids of data sets.
    folder
        Where the collection is to lie.
    judge
        Who writes nuggets, and judges support.
    support_judges
        Who judges support instead; `settings.vote` puts together what several say.
    runs
        (setting, path) pairs. Without any, BM25 looks for the texts of every setting in the corpus.
    nuggets
        A file of nuggets, in place of those that a judge would write.
    method, fuse_depth, k
        How runs are fused: see `fused`.
    depth
        How many documents of each run go into the pool.
    unfused
        Pool the runs themselves, besides their fusions.
    threshold, rule
        From which grade a document supports a nugget, and which questions stay.
    settings
        How judges are asked.
    """

    questions: str
    corpus: str
    folder: Path
    judge: _Judge | None = None
    support_judges: tuple[_Judge, ...] = ()
    runs: tuple[tuple[str, str], ...] = ()
    nuggets: str | None = None
    method: str = _pools.MINMAX
    fuse_depth: int = _pools.FUSE_DEPTH
    k: int = _pools.FUSE_K
    depth: int = _pools.DEPTH
    unfused: bool = False
    threshold: float = THRESHOLD
    rule: str = STRICT
    settings: Settings = field(default_factory=Settings)

    @property
    def steps(self) -> Path:
        """The folder of what stands between the inputs and the collection."""
        return self.folder / "steps"

    @property
    def inputs(self) -> list[str]:
        """The files it is made from."""
        return [self.questions, self.corpus, *filter(None, [self.nuggets]), *(path for _, path in self.runs)]

    @property
    def frozen(self) -> list[str]:
        """What may be files that judges are read from."""
        judges = (self.judge, *self.support_judges)
        return [judge.partition(":")[2] for judge in judges if isinstance(judge, str)]

    @property
    def thresholds(self) -> dict[str, object]:
        """The numbers of the plan, for the manifest."""
        return {
            "fusion": self.method,
            "fuse_depth": self.fuse_depth,
            "k": self.k,
            "pool_depth": self.depth,
            "unfused": self.unfused,
            "support": self.threshold,
            "filter": self.rule,
        }


_Runs = dict[str, dict[str, Run]]  # setting -> name -> run


def _runs_of(plan: Plan, topics: Topics) -> _Runs:
    """Return the runs that are given; else what BM25 finds in the corpus."""
    return _given(plan.runs) if plan.runs else _found_by_bm25(plan, topics)


def _given(runs: tuple[tuple[str, str], ...]) -> _Runs:
    """Return the runs in these files, by setting and the name of the file."""
    table: _Runs = {}
    for setting, path in runs:
        named = table.setdefault(setting, {})
        # Short names in the pool; the whole path where two files share one.
        name = Path(path).name if Path(path).name not in named else path
        if name in named:
            raise UsageError(f"{path}: is named twice for the setting {setting}; expected each run once")
        named[name] = read_run(path)
    return table


def _found_by_bm25(plan: Plan, topics: Topics) -> _Runs:
    """Return what BM25 finds for every setting."""
    index = Index(passages_in(plan.corpus))
    return {
        setting: {"bm25": index.run(texts, "bm25", plan.fuse_depth)}
        for setting, texts in topics.items()
        if texts
    }


def _fusions(plan: Plan, runs: _Runs) -> dict[str, Run]:
    """Return a run a setting, in the order of the settings."""
    return {
        setting: fused(named.values(), plan.method, plan.fuse_depth, plan.k, setting)
        for setting, named in runs.items()
    }


def _pooled_runs(plan: Plan, runs: _Runs, fusions: Mapping[str, Run]) -> dict[str, Run]:
    """Return what is pooled: the fusion of every setting, and if wished each run, too."""
    every = {f"{setting}/{name}": run for setting, named in runs.items() for name, run in named.items()}
    return {**fusions, **(every if plan.unfused else {})}


_FILES = ("queries.tsv", "questions.jsonl", "nuggets.jsonl", "qrels.nugget", "pool.jsonl", "dropped.jsonl")
ALL_FILES = (*_FILES, _manifest.NAME)
_Say = Callable[[str], None]
_Judgements = list[dict[str, Any]]


@dataclass
class Built:
    """What came of a plan: the questions with their fates, and what failed by step."""

    fates: list[_support.Fate] = field(default_factory=list)
    steps: dict[str, _manifest.Step] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """How many judgements and texts are missing."""
        return sum(step.failed for step in self.steps.values())

    def lines(self, plan: Plan) -> Iterator[str]:
        """Yield how many questions stay, why others fell, and what it took."""
        yield from _support.report(_support.counts(self.fates, plan.rule))
        yield f"written to {visible(str(plan.folder))}; {_manifest.spent(self.steps.values())}"


def build(plan: Plan, say: _Say = lambda message: None) -> Built:
    """Build the collection into the plan's folder.

    Parameters
    ----------
    plan
        Everything that makes a difference to the collection.
    say
        Called with what people should know meanwhile.

    Returns
    -------
    Built
        What was built, and what it cost.
    """
    _refuse_own_inputs(plan)
    questions = {question.query_id: question for question in read_questions(plan.questions)}
    # Asked before anything is read that costs time, or paid.
    if plan.nuggets is None:
        _searching.require_answers(questions.values())
    # One budget for all steps: a limit a step would add up to several times what was allowed.
    budget, built = plan.settings.budget(), Built()
    banks = _banks(plan, questions, budget, built, say)
    topics = _topics(plan, questions, banks, budget, built, say)
    runs = _runs_of(plan, topics)
    by_setting = _fusions(plan, runs)
    names = file_names(by_setting)
    for setting, run in by_setting.items():
        write_lines(plan.steps / "fused" / f"{names[setting]}.trec", run_lines(run))
    pool = pooled(_pooled_runs(plan, runs, by_setting), plan.depth)
    write_lines(plan.folder / "pool.jsonl", pool_lines(pool))
    judgements = _judged(plan, questions, banks, pool, budget, built)
    built.fates = _write_collection(plan.folder, questions, banks, judgements, plan.threshold, plan.rule)
    text = _manifest.manifest_text(
        plan.folder,
        _FILES,
        plan.inputs,
        built.steps,
        plan.thresholds,
        _support.counts(built.fates, plan.rule),
    )
    write_lines(plan.folder / _manifest.NAME, text.splitlines())
    return built


def _banks(
    plan: Plan, questions: Mapping[str, Question], budget: Budget, built: Built, say: _Say
) -> dict[str, list[Nugget]]:
    """Return the nuggets of every question, read or written."""
    if plan.nuggets is not None:
        nuggets: Iterable[Nugget] = read_nuggets(plan.nuggets)
    else:
        # Without an answer a model would make the nuggets up.
        answered = {query: question for query, question in questions.items() if question.gold}
        nuggets = _written(plan, "nuggetize", answered, budget, built, say)
    banks = _by_query(nuggets)
    write_lines(plan.steps / "nuggets.jsonl", _nugget_lines(banks, questions))
    return banks


def _written(
    plan: Plan, rubric: str, questions: Mapping[str, Question], budget: Budget, built: Built, say: _Say
) -> list[Nugget]:
    """Return the texts that the judge writes for every question."""
    if plan.judge is None:
        raise UsageError(f"{rubric}: no judge named to write it; expected --judge openai:MODEL, say")
    texts, built.steps[rubric] = _texts(plan.judge, rubric, questions, plan.settings, say, budget)
    return texts


def _texts(
    judge: _Judge,
    rubric: str,
    questions: Mapping[str, Question],
    settings: Settings,
    say: _Say,
    budget: Budget | None = None,
) -> tuple[list[Nugget], _manifest.Step]:
    """Let a judge write by a rubric, and say for which questions there is nothing."""
    found = rubric_named(rubric)
    texts = nuggets_by(judge, found, Material(questions=questions), settings, budget)
    for query, why in texts.failed.items():
        say(f"{rubric}: nothing for query {visible(query)}: {why}")
    name = judge if isinstance(judge, str) else judge.name
    return texts.nuggets, _manifest.Step(found, [name], texts.calls, texts.usage, len(texts.failed))


def _topics(
    plan: Plan,
    questions: Mapping[str, Question],
    banks: Mapping[str, list[Nugget]],
    budget: Budget,
    built: Built,
    say: _Say,
) -> _searching.Topics:
    """Return the texts to look for; a model writes variants only where we are the ones who look."""
    written: dict[str, dict[str, list[str]]] = {}
    # Where runs are given, somebody has searched already: variants would be paid for and not used.
    for setting in () if plan.runs else _searching.WRITTEN:
        for text in _written(plan, setting, questions, budget, built, say):
            written.setdefault(setting, {}).setdefault(text.query_id, []).append(text.text)
    topics = _searching.topics(questions.values(), banks, written)
    for setting, texts in topics.items():
        write_lines(plan.steps / "topics" / f"{setting}.tsv", _searching.topic_lines(texts))
    return topics


def _judged(
    plan: Plan,
    questions: Mapping[str, Question],
    banks: Mapping[str, list[Nugget]],
    pool: Pool,
    budget: Budget,
    built: Built,
) -> _Judgements:
    """Return which pooled document supports which nugget, by the judges."""
    judges = plan.support_judges or ((plan.judge,) if plan.judge is not None else ())
    if not judges:
        raise UsageError("support: no judge named; expected --judge openai:MODEL or frozen:FILE")
    # Runs may hold other queries; a question without nuggets has nothing to be judged by.
    asked = {query: pool[query] for query in pool if query in questions and banks.get(query)}
    if not asked:
        raise InputError("support: nothing is pooled for any question that has nuggets; nothing to judge")
    texts = _support.texts_of(plan.corpus, _support.documents_of(asked))
    material = _support.material_of(asked, questions, banks, texts)
    rubric = rubric_named(_support.RUBRIC)
    said = said_by_all(judges, rubric, material, plan.settings, budget)
    built.steps["support"] = _manifest.of_judgements(rubric, said)
    write_lines(plan.steps / "support.jsonl", map(judgement_line, said))
    # What each judge said is written before the vote, so that it can be looked at.
    how = replace(plan.settings, vote=_support.vote_of(judges, plan.settings.vote))
    return list(vote_of(said, rubric, how))


def _write_collection(
    folder: Path,
    questions: Mapping[str, Question],
    banks: Mapping[str, list[Nugget]],
    judgements: _Judgements,
    threshold: float,
    rule: str,
) -> list[_support.Fate]:
    """Write what stays of the questions, with nuggets and judgements, and what became of the others."""
    qrels = list(_support.supported(judgements, threshold))
    fates = _support.fates(questions, banks, qrels, _support.failed_pairs(judgements))
    # A dict keeps the order of the questions, which a set would lose.
    stay = dict.fromkeys(_support.kept(fates, rule))
    of_stay = {query: questions[query] for query in stay}
    texts = {query: question.text for query, question in of_stay.items()}
    write_lines(folder / "queries.tsv", _searching.topic_lines(texts))
    write_lines(folder / "questions.jsonl", map(_question_line, of_stay.values()))
    write_lines(folder / "nuggets.jsonl", _nugget_lines({query: banks[query] for query in stay}, questions))
    write_lines(folder / "qrels.nugget", qrel_lines(row for row in qrels if row.query_id in stay))
    dropped = (fate for fate in fates if fate.query_id not in stay)
    write_lines(folder / "dropped.jsonl", map(_fate_line, dropped))
    return fates


def _refuse_own_inputs(plan: Plan) -> None:
    """`UsageError` if the collection would take the place of something it is made from."""
    sources = [*plan.inputs, *plan.frozen]
    _refuse_inputs(plan.folder, sources)
    for source in sources:
        # Steps are overwritten as they are made; an input among them would be gone when it is read again.
        if os.path.isfile(source) and Path(os.path.realpath(source)).is_relative_to(plan.steps.resolve()):
            raise UsageError(f"{source}: is read from, expected another folder to write to")


def _refuse_inputs(folder: Path, inputs: Iterable[str], names: Iterable[str] = ALL_FILES) -> None:
    """`UsageError` if a file of the folder would take the place of one it is made from."""
    sources = list(inputs)
    for name in names:
        refuse_place(folder / name, *sources)


def _nugget_lines(banks: Mapping[str, list[Nugget]], questions: Mapping[str, Question]) -> Iterable[str]:
    """Yield the nuggets as AutoNuggetizer writes them, in the order of the questions."""
    texts = {query: question.text for query, question in questions.items()}
    return write_nuggets((nugget for query in questions for nugget in banks.get(query, ())), texts)


def _question_line(question: Question) -> str:
    """Return a question as a line of plain questions."""
    known = {"query_id": question.query_id, "question": question.text, "answer": list(question.gold)}
    return as_line(dict(question.facts) | known)


def _fate_line(fate: _support.Fate) -> str:
    """Return what became of a question, as a line."""
    return as_line({"query_id": fate.query_id, "verdict": fate.verdict, "nuggets": list(fate.nuggets)})


def _by_query(nuggets: Iterable[Nugget]) -> dict[str, list[Nugget]]:
    banks: dict[str, list[Nugget]] = {}
    for nugget in nuggets:
        banks.setdefault(nugget.query_id, []).append(nugget)
    return banks


def forecast(plan: Plan) -> Iterator[str]:
    """Yield what is known before a model is asked: variants that it would write can only add to the pool."""
    questions = {question.query_id: question for question in read_questions(plan.questions)}
    banks = _banks_in(plan.nuggets)
    topics = _searching.topics(questions.values(), banks, {})
    runs = _runs_of(plan, topics)
    every = _pooled_runs(plan, runs, _fusions(plan, runs))
    # Texts are read once, for the deepest pool that is shown.
    deepest = pooled(every, max(*DEPTHS, plan.depth))
    texts = _support.texts_of(plan.corpus, _support.documents_of(deepest))
    judges = plan.support_judges or tuple(filter(None, [plan.judge]))
    yield from forecast_lines(every, questions, banks, texts, judges, plan.depth)
    unknown = [setting for setting, found in topics.items() if not found and not plan.runs]
    if unknown:
        calls = (len(_searching.WRITTEN) + (plan.nuggets is None)) * len(questions)
        yield ""
        yield f"to be written first, in {calls:,} calls: {', '.join(unknown)}; each of them adds at most"
        yield f"{plan.depth} documents to the pool of a question"


# One step alone, between files: what `rageval build STEP` does.


def setting_of(word: str) -> tuple[str, str]:
    """Split a word into (setting, path): `answer=bm25.trec`, or the path of a run for the questions.

    >>> setting_of("answer=runs/bm25.trec"), setting_of("runs/a=b.trec")
    (('answer', 'runs/bm25.trec'), ('question', 'runs/a=b.trec'))
    """
    setting, _, path = word.partition("=")
    # A folder's name may hold the sign, too; on Windows it begins with a drive, C:\\.
    return (setting, path) if path and not set(setting) & set("/\\:") else (_searching.QUESTION, word)


def fuse(paths: Iterable[str], method: str, depth: int, k: int) -> Iterator[str]:
    """Return the lines of the fusion of these runs."""
    return run_lines(fused(map(read_run, paths), method, depth, k))


def nuggetize(source: Source, judge: _Judge, settings: Settings, say: _Say) -> tuple[Iterable[str], int]:
    """Return lists of nuggets, one line a question, and how many could not be written."""
    asked = [question for question in read_questions(source) if question.gold]
    _searching.require_answers(asked)
    questions = {question.query_id: question for question in asked}
    nuggets, step = _texts(judge, "nuggetize", questions, settings, say)
    texts = {query: question.text for query, question in questions.items()}
    return write_nuggets(nuggets, texts), step.failed


def write_variants(
    source: Source, nuggets: Source, judge: _Judge, folder: Path, settings: Settings, say: _Say
) -> int:
    """Write the texts to search with, a file a setting; return how many could not be written."""
    _refuse_inputs(folder, _paths(source, nuggets), [f"{setting}.tsv" for setting in _searching.SETTINGS])
    questions = {question.query_id: question for question in read_questions(source)}
    written: dict[str, dict[str, list[str]]] = {}
    lost = 0
    for setting in _searching.WRITTEN:
        texts, step = _texts(judge, setting, questions, settings, say)
        lost += step.failed
        for text in texts:
            written.setdefault(setting, {}).setdefault(text.query_id, []).append(text.text)
    topics = _searching.topics(questions.values(), _banks_in(nuggets), written)
    for setting, by_query in topics.items():
        write_lines(folder / f"{setting}.tsv", _searching.topic_lines(by_query))
    return lost


def pool_files(words: Iterable[str], depth: int) -> Iterator[str]:
    """Return the lines of the pool of these runs, `[SETTING=]FILE` each."""
    return pool_lines(pooled(_named(words), depth))


def forecast_pool(
    words: Iterable[str],
    depth: int,
    questions: Source | None = None,
    nuggets: Source | None = None,
    corpus: Source | None = None,
    judges: Sequence[_Judge] = (),
) -> Iterator[str]:
    """Yield the pool of these runs at several depths, and what its judging would take, as far as is known."""
    runs = _named(words)
    deepest = pooled(runs, max(*DEPTHS, depth))
    # Without --questions nothing but their number is known, which is enough for calls.
    asked = {query: Question(query, "") for query in deepest}
    if questions:
        asked = {question.query_id: question for question in read_questions(questions)}
    texts = _support.texts_of(corpus, _support.documents_of(deepest)) if corpus else None
    yield from forecast_lines(runs, asked, _banks_in(nuggets), texts, judges, depth)


def judge_support(
    pool: Source, questions: Source, nuggets: Source, corpus: Source, judges: Sequence[_Judge], how: Settings
) -> tuple[Iterable[str], int]:
    """Return judgements of which pooled document supports which nugget, a line each, and how many failed."""
    known = {question.query_id: question for question in read_questions(questions)}
    found = {query: docs for query, docs in read_pool(pool).items() if query in known}
    texts = _support.texts_of(corpus, _support.documents_of(found))
    material = _support.material_of(found, known, _banks_in(nuggets), texts)
    how = replace(how, vote=_support.vote_of(judges, how.vote))
    said = list(judged_by(judges, rubric_named(_support.RUBRIC), material, how))
    return map(judgement_line, said), len(_support.failed_pairs(said))


def filter_questions(
    judgements: Source, questions: Source, nuggets: Source, folder: Path, threshold: float, rule: str
) -> Iterator[str]:
    """Write the questions whose nuggets are supported; return lines of how many fell and why."""
    _refuse_inputs(folder, _paths(judgements, questions, nuggets))
    said = _support.read_support(judgements)
    known = {question.query_id: question for question in read_questions(questions)}
    fates = _write_collection(folder, known, _banks_in(nuggets), said, threshold, rule)
    return _support.report(_support.counts(fates, rule))


def check_runs(paths: Sequence[str], against: Path, depth: int, output: Path | None = None) -> Iterator[str]:
    """Yield what runs would leave unjudged at several depths; write that of `depth` as a pool, if wished."""
    judged = _pools.judged_in(against)
    more: Pool = {}
    for path in paths:
        run = read_run(path)
        if not judged.keys() & set(run.query_ids):
            raise InputError(
                f"{path}: no query in common with {against}; expected a run for the same queries"
                + near_misses(run.query_ids, judged)
            )
        yield from _pools.hole_lines(run, judged, sorted({*DEPTHS, depth}), depth, with_name=len(paths) > 1)
        for query, docs in unjudged(run, judged, depth).items():
            for doc, sources in docs.items():
                more.setdefault(query, {}).setdefault(doc, {}).update(sources)
    if output is not None:
        write_lines(output, pool_lines(more))


def _banks_in(source: Source | None) -> dict[str, list[Nugget]]:
    """Return the nuggets of a file, by query."""
    return _by_query(read_nuggets(source) if source else ())


def _paths(*sources: Source) -> list[str]:
    """Return those that are files, and no data sets."""
    return [source for source in sources if isinstance(source, str)]


def _named(words: Iterable[str]) -> dict[str, Run]:
    """Return the runs by their names in a pool: the setting where one is named, else the file."""
    runs: dict[str, Run] = {}
    for setting, named in _given(tuple(map(setting_of, words))).items():
        for name, run in named.items():
            called = name if setting == _searching.QUESTION else f"{setting}/{name}"
            runs[written_out(called)] = run
    return runs


class GradedDocuments(NamedTuple):
    """Judgements as qrels, how many failed and so are in none, and the claims for which judging stopped."""

    qrels: list[Qrel]
    failed: int
    stopped: tuple[str, ...]


def graded(judgements: Source, form: str = "nuggets", rel: int = 1) -> GradedDocuments:
    """Return judgements of documents as qrels.

    Grades stand by nugget (`nuggets`); or a document has its `best` grade over the nuggets (or questions), or
    a `count` of those for which it is graded `rel` or better.
    """
    table = JudgementTable(name_of(judgements))
    table.add_file(judgements)
    table.finish()
    if len(table.judges.words) > 1:
        named = ", ".join(map(visible, table.judges.words))
        raise InputError(
            f"{visible(table.name)}: judged by {len(table.judges.words)} judges ({named}); expected one, or"
            " their vote"
        )
    found, failed = [], 0
    for row, line in table.each():
        if line.status not in GRADED:
            failed += 1
            continue
        if line.item_id == "answer":
            raise InputError(
                f"{table.where(row)}: found a judgement of an answer (run {visible(str(line.run_id))});"
                " expected judgements of documents, with the document as item_id"
            )
        if line.grade is None or not line.grade.is_integer():
            raise InputError(
                f"{table.where(row)}: expected a grade, a whole number, found"
                f" {visible(str(line.grade if line.grade is not None else line.label))!r:.80}"
            )
        found.append(Qrel(str(line.query_id), str(line.item_id), int(line.grade), str(line.aspect)))
    if not found:
        raise InputError(f"{visible(table.name)}: none of its {failed:,} judgements has a grade")
    qrels = found if form == "nuggets" else _of_documents(found, form, rel)
    return GradedDocuments(qrels, failed, table.stopped)


def _of_documents(qrels: Iterable[Qrel], form: str, rel: int) -> list[Qrel]:
    grades: dict[tuple[str, str], list[int | float]] = {}
    for qrel in qrels:
        grades.setdefault((qrel.query_id, qrel.doc_id), []).append(qrel.relevance)
    return [
        Qrel(query, doc, max(of) if form == "best" else sum(grade >= rel for grade in of))
        for (query, doc), of in grades.items()
    ]
