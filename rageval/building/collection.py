"""The whole way: nuggets, query variants, runs, fusions, a pool, support, and the questions that stay.

Nothing is remembered between two goes but what judges replied, which is in the store: whoever runs a plan
again asks only for what is not there yet, and gets the same files. What a pool would cost to judge, by its
depth and breadth, is forecast before anything is spent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rageval.building import fusion, manifest, pools, searching, support
from rageval.building.fusion import fused, run_lines
from rageval.building.pools import Pool, contributions, pool_lines, pooled, size
from rageval.building.searching import Index, Topics
from rageval.building.support import STRICT, THRESHOLD
from rageval.errors import InputError, OutputError, UsageError
from rageval.files.jsonl import as_line
from rageval.files.judgements import judgement_line
from rageval.files.nuggets import read_nuggets, write_nuggets
from rageval.files.questions import read_questions
from rageval.files.writing import refuse_place, whole_file
from rageval.judges.base import Model, Request
from rageval.judges.material import Material, passages_in, tasks
from rageval.judges.panel import Settings, budget_of, nuggets_by, said_by_all
from rageval.judges.rubric import Rubric, rubric_named
from rageval.judges.spending import Budget, estimate
from rageval.judges.voting import voted
from rageval.records import Nugget, Question
from rageval.scoring.runs import Run
from rageval.scoring.sources import read_run
from rageval.text import visible

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
    method: str = fusion.MINMAX
    fuse_depth: int = fusion.DEPTH
    k: int = fusion.K
    depth: int = pools.DEPTH
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


def runs_of(plan: Plan, topics: Topics) -> _Runs:
    """Return the runs that are given; else what BM25 finds in the corpus."""
    return given(plan.runs) if plan.runs else _found_by_bm25(plan, topics)


def given(runs: tuple[tuple[str, str], ...]) -> _Runs:
    """Return the runs in these files, by setting and the name of the file."""
    table: _Runs = {}
    for setting, path in runs:
        named = table.setdefault(setting, {})
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


def fusions(plan: Plan, runs: _Runs) -> dict[str, Run]:
    """Return a run a setting, in the order of the settings."""
    return {
        setting: fused(named.values(), plan.method, plan.fuse_depth, plan.k, setting)
        for setting, named in runs.items()
    }


def pooled_runs(plan: Plan, runs: _Runs, fusions: Mapping[str, Run]) -> dict[str, Run]:
    """Return what is pooled: the fusion of every setting, and if wished each run, too."""
    every = {f"{setting}/{name}": run for setting, named in runs.items() for name, run in named.items()}
    return {**fusions, **(every if plan.unfused else {})}


_FILES = ("queries.tsv", "questions.jsonl", "nuggets.jsonl", "qrels.nugget", "pool.jsonl", "dropped.jsonl")
ALL_FILES = (*_FILES, manifest.NAME)
_Say = Callable[[str], None]
_Judgements = list[dict[str, Any]]


@dataclass
class Built:
    """What came of a plan: the questions with their fates, and what failed by step."""

    fates: list[support.Fate] = field(default_factory=list)
    steps: dict[str, manifest.Step] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """How many judgements and texts are missing."""
        return sum(step.failed for step in self.steps.values())


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
    if plan.nuggets is None:
        searching.require_answers(questions.values())
    budget, built = budget_of(plan.settings), Built()
    banks = _banks(plan, questions, budget, built, say)
    topics = _topics(plan, questions, banks, budget, built, say)
    runs = runs_of(plan, topics)
    by_setting = fusions(plan, runs)
    for setting, run in by_setting.items():
        write(plan.steps / "fused" / f"{_slug(setting)}.trec", run_lines(run))
    pool = pooled(pooled_runs(plan, runs, by_setting), plan.depth)
    write(plan.folder / "pool.jsonl", pool_lines(pool))
    judgements = _support(plan, questions, banks, pool, budget, built)
    built.fates = write_collection(plan.folder, questions, banks, judgements, plan.threshold, plan.rule)
    text = manifest.manifest_text(
        plan.folder,
        _FILES,
        plan.inputs,
        built.steps,
        plan.thresholds,
        support.counts(built.fates, plan.rule),
    )
    write(plan.folder / manifest.NAME, text.splitlines())
    return built


def _banks(
    plan: Plan, questions: Mapping[str, Question], budget: Budget, built: Built, say: _Say
) -> dict[str, list[Nugget]]:
    """Return the nuggets of every question, read or written."""
    if plan.nuggets is not None:
        nuggets: Iterable[Nugget] = read_nuggets(plan.nuggets)
    else:
        answered = {query: question for query, question in questions.items() if question.gold}
        nuggets = _written(plan, "nuggetize", answered, budget, built, say)
    banks: dict[str, list[Nugget]] = {}
    for nugget in nuggets:
        banks.setdefault(nugget.query_id, []).append(nugget)
    write(plan.steps / "nuggets.jsonl", _nugget_lines(banks, questions))
    return banks


def _written(
    plan: Plan, rubric: str, questions: Mapping[str, Question], budget: Budget, built: Built, say: _Say
) -> list[Nugget]:
    """Texts that the judge writes for every question."""
    if plan.judge is None:
        raise UsageError(f"{rubric}: no judge named to write it; expected --judge openai:MODEL, say")
    found = rubric_named(rubric)
    texts = nuggets_by(plan.judge, found, Material(questions=questions), plan.settings, budget)
    name = plan.judge if isinstance(plan.judge, str) else plan.judge.name
    built.steps[rubric] = manifest.Step(found, [name], texts.calls, texts.usage, len(texts.failed))
    for query, why in texts.failed.items():
        say(f"{rubric}: nothing for query {visible(query)}: {why}")
    return texts.nuggets


def _topics(
    plan: Plan,
    questions: Mapping[str, Question],
    banks: Mapping[str, list[Nugget]],
    budget: Budget,
    built: Built,
    say: _Say,
) -> searching.Topics:
    """Return the texts to look for; a model writes variants only where we are the ones who look."""
    written: dict[str, dict[str, list[str]]] = {}
    for setting in () if plan.runs else searching.WRITTEN:
        for text in _written(plan, setting, questions, budget, built, say):
            written.setdefault(setting, {}).setdefault(text.query_id, []).append(text.text)
    topics = searching.topics(questions.values(), banks, written)
    for setting, texts in topics.items():
        write(plan.steps / "topics" / f"{setting}.tsv", searching.topic_lines(texts))
    return topics


def _support(
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
    asked = {query: pool[query] for query in pool if query in questions and banks.get(query)}
    if not asked:
        raise InputError("support: nothing is pooled for any question that has nuggets; nothing to judge")
    texts = support.texts_of(plan.corpus, support.documents_of(asked))
    material = support.material_of(asked, questions, banks, texts)
    rubric = rubric_named(support.RUBRIC)
    said = said_by_all(judges, rubric, material, plan.settings, budget)
    built.steps["support"] = manifest.of_judgements(rubric, said)
    write(plan.steps / "support.jsonl", map(judgement_line, said))
    return list(voted(said, support.vote_of(judges, plan.settings.vote)))


def write_collection(
    folder: Path,
    questions: Mapping[str, Question],
    banks: Mapping[str, list[Nugget]],
    judgements: _Judgements,
    threshold: float,
    rule: str,
) -> list[support.Fate]:
    """Write what stays of the questions, with nuggets and judgements, and what became of the others."""
    qrels = list(support.supported(judgements, threshold))
    fates = support.fates(questions, banks, qrels, support.failed_pairs(judgements))
    stay = dict.fromkeys(support.kept(fates, rule))
    of_stay = {query: questions[query] for query in stay}
    texts = {query: question.text for query, question in of_stay.items()}
    write(folder / "queries.tsv", searching.topic_lines(texts))
    write(folder / "questions.jsonl", map(_question_line, of_stay.values()))
    write(folder / "nuggets.jsonl", _nugget_lines({query: banks[query] for query in stay}, questions))
    write(folder / "qrels.nugget", support.qrel_lines(row for row in qrels if row.query_id in stay))
    dropped = (fate for fate in fates if fate.query_id not in stay)
    write(folder / "dropped.jsonl", map(_fate_line, dropped))
    return fates


def _refuse_own_inputs(plan: Plan) -> None:
    """`UsageError` if the collection would take the place of something it is made from."""
    sources = [*plan.inputs, *plan.frozen]
    refuse_inputs(plan.folder, sources)
    for source in sources:
        if os.path.isfile(source) and Path(os.path.realpath(source)).is_relative_to(plan.steps.resolve()):
            raise UsageError(f"{source}: is read from, expected another folder to write to")


def refuse_inputs(folder: Path, inputs: Iterable[str], names: Iterable[str] = ALL_FILES) -> None:
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


def _fate_line(fate: support.Fate) -> str:
    """Return what became of a question, as a line."""
    return as_line({"query_id": fate.query_id, "verdict": fate.verdict, "nuggets": list(fate.nuggets)})


def write(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path.parent}: cannot be made: {error.strerror}") from error
    with whole_file(path) as stream:
        for line in lines:
            stream.write(line.encode() + b"\n")


def _slug(name: str) -> str:
    """Return a name as a file may bear it.

    >>> _slug("sub-questions"), _slug("../etc")
    ('sub-questions', '___etc')
    """
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)


DEPTHS = (5, 10, 20, 50, 100)
_EXPECTED_NUGGETS = 4  # of a question, while they are not written yet, each about so long
_LIKE_A_NUGGET = "A nugget says one thing that a good answer to the question has to hold, in a few words."
_LETTERS_A_TOKEN = 4


def forecast(
    runs: Mapping[str, Run],
    questions: Mapping[str, Question],
    banks: Mapping[str, Sequence[Nugget]],
    texts: Mapping[str, str] | None,
    judges: Sequence[_Judge],
    depth: int,
) -> Iterator[str]:
    """Yield the pool at several depths: calls, tokens and dollars its judging takes, and who fills it."""
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
