"""The whole way: nuggets, query variants, runs, fusions, a pool, support, and the questions that stay.

Nothing is remembered between two goes but what judges replied, which is in the store: whoever runs a plan
again asks only for what is not there yet, and gets the same files. Each step can be taken alone, too, between
files, as `rageval collection STEP` does.
"""

from __future__ import annotations

import json
import math
import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rageval import hooks
from rageval.building.pools import (
    DEPTH,
    FUSE_DEPTH,
    FUSE_K,
    MINMAX,
    Pool,
    contributions,
    fused,
    hole_lines,
    judged_in,
    pool_lines,
    pooled,
    read_pool,
    run_lines,
    size,
    unjudged,
)
from rageval.errors import InputError, Place, UsageError
from rageval.files.jsonl import as_line, read_records
from rageval.files.judgements import EXPECTED, GRADED, JudgementLine, JudgementTable, judgement_line
from rageval.files.nuggets import read_nuggets, write_nuggets
from rageval.files.opening import Source, name_of
from rageval.files.trec import qrel_lines
from rageval.files.whole import NamedInFile, digest_of, read_whole, resolve_sibling_path
from rageval.files.writing import file_names, refuse_place, write_lines
from rageval.judges.base import Model, Usage
from rageval.judges.budget import Budget, cost, estimate
from rageval.judges.material import Material, passages_in, tasks
from rageval.judges.panel import Settings, ask_all_judges, judged_by, nuggets_by, vote_of
from rageval.judges.rubric import Rubric, rubric_named
from rageval.measures.scales import SUPPORT
from rageval.names import near_misses
from rageval.records import Nugget, Qrel, Question
from rageval.scoring.runs import Run
from rageval.scoring.sources import read_run
from rageval.table import PRINTERS, Column, Table
from rageval.text import problem_of_id, visible, written_out
from rageval.version import __version__

# What to search with (FreshStack, section 3.4), and a small BM25 that searches.
#
# The variants of the inference setting know the question only, those of the oracle setting its answer. They
# go into the pool for judging; systems are then scored on the question alone.
#
#     score(d, q) = Σ_t  ln(1 + (N − n_t + ½) / (n_t + ½)) · tf / (tf + k1·(1 − b + b·|d| / mean|d|))
#
# over the words t of the query, each as often as it stands there: Lucene's form, without stemming, with
# Pyserini's k1 = 0.9 and b = 0.4. Stronger retrievers hand over their runs.

QUESTION, SUB_QUESTIONS, CLOSED_BOOK = "question", "sub-questions", "closed-book"
ANSWER, NUGGETS = "answer", "nuggets"
INFERENCE, ORACLE = (QUESTION, SUB_QUESTIONS, CLOSED_BOOK), (ANSWER, NUGGETS)
SETTINGS = (*INFERENCE, *ORACLE)
WRITTEN = (SUB_QUESTIONS, CLOSED_BOOK)  # by a model, by the rubrics of these names
Topics = dict[str, dict[str, str]]  # setting -> query -> text


def topics_of(
    questions: Iterable[Question],
    nuggets: Mapping[str, Sequence[Nugget]],
    written: Mapping[str, Mapping[str, Sequence[str]]],
) -> Topics:
    """Return the text of every setting for every question that has one; join several texts."""
    topics: Topics = {setting: {} for setting in SETTINGS}
    for question in questions:
        query = question.query_id
        texts: dict[str, Sequence[str]] = {
            QUESTION: [question.text],
            ANSWER: question.gold[:1],
            NUGGETS: [nugget.text for nugget in nuggets.get(query, ())],
            **{setting: written.get(setting, {}).get(query, ()) for setting in WRITTEN},
        }
        for setting, parts in texts.items():
            if parts:
                topics[setting][query] = " ".join(parts)
    return topics


def topic_lines(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield lines `id<TAB>text`, which every retriever reads; line ends and tabs in a text become spaces."""
    for query, text in texts.items():
        yield f"{query}\t{' '.join(text.split())}"


def require_answers(questions: Iterable[Question]) -> None:
    """Raise `InputError` if nothing is known to be a right answer."""
    if not any(question.gold for question in questions):
        raise InputError(
            problem="the questions have no answers, which nuggets are written from", expected="`answer`"
        )


_K1, _B = 0.9, 0.4
_WORD = re.compile(r"[^\W_]+")


class Index:
    """Where each word stands, and how often; made from (id, text) pairs that pass once.

    >>> index = Index([("d1", "the tower in Paris"), ("d2", "the tower, the tower"), ("d3", "a river")])
    >>> list(index.search("tower Paris"))
    ['d1', 'd2']
    """

    def __init__(self, documents: Iterable[tuple[str, str]]) -> None:
        self.docs: list[str] = []
        self._places: dict[str, array[int]] = {}
        self._counts: dict[str, array[int]] = {}
        lengths = array("q")
        for position, (doc, text) in enumerate(documents):
            self.docs.append(doc)
            words = _words_of(text)
            lengths.append(len(words))
            for word, count in Counter(words).items():
                self._places.setdefault(word, array("q")).append(position)
                self._counts.setdefault(word, array("q")).append(count)
        if len(set(self.docs)) < len(self.docs):
            twice = next(doc for doc, number in Counter(self.docs).items() if number > 1)
            raise InputError(problem=f"the corpus holds document {twice!r} twice", expected="each once")
        length = np.array(lengths, np.float64)
        self._norm = _K1 * (1 - _B + _B * length / (length.mean() or 1.0)) if len(length) else length

    def search(self, text: str, depth: int = 100) -> dict[str, float]:
        """Return the best documents with their scores, without those that share no word with the query."""
        scores: NDArray[np.float64] = np.zeros(len(self.docs))
        for word, times in sorted(Counter(_words_of(text)).items()):
            if word not in self._places:
                continue
            positions = np.array(self._places[word], np.int64)
            count = np.array(self._counts[word], np.float64)
            rarity = math.log1p((len(self.docs) - len(positions) + 0.5) / (len(positions) + 0.5))
            scores[positions] += times * rarity * count / (count + self._norm[positions])
        order = np.argsort(-scores, kind="stable")[:depth].tolist()
        return {self.docs[index]: float(scores[index]) for index in order if scores[index] > 0}

    def run(self, texts: Mapping[str, str], name: str, depth: int = 100) -> Run:
        """Return what is found for each query."""
        rankings = {query: self.search(text, depth) for query, text in texts.items()}
        return Run.from_dict({query: docs for query, docs in rankings.items() if docs}, name)


def _words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case: letters and digits.

    >>> _words_of("Don't use read_csv(2)")
    ['don', 't', 'use', 'read', 'csv', '2']
    """
    return _WORD.findall(text.casefold())


# The manifest: what a collection was made from, by whom, how and at what cost, so that it can be checked.

MANIFEST = "manifest.json"


class _ManifestFile(msgspec.Struct):
    """What is read of a manifest."""

    rageval: str
    files: dict[str, str]
    inputs: dict[str, str] = {}
    steps: dict[str, Any] = {}
    thresholds: dict[str, Any] = {}
    questions: dict[str, int] = {}


@dataclass(slots=True)
class BuildingStep:
    """What a step that asks a model was: who was asked what, and what the replies cost it depends on."""

    rubric: Rubric
    models: list[str]
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    failed: int = 0

    def as_record(self) -> dict[str, Any]:
        """Return what the manifest holds: prompts in full; dollars where every price is known."""
        prompt = {"system": self.rubric.file.prompt.system, "ask": self.rubric.file.prompt.ask}
        price = cost(self.usage, self.models[0]) if len(self.models) == 1 else None
        spent = {"input": self.usage.input, "output": self.usage.output}
        return {
            "rubric": {"name": self.rubric.name, "digest": self.rubric.digest, "prompt": prompt},
            "models": self.models,
            "calls": self.calls,
            "tokens": spent,
            "usd": None if price is None else round(price, 6),
            "failed": self.failed,
        }


def spent(steps: Iterable[BuildingStep]) -> str:
    """Return what the replies took that the steps depend on, in words; whenever they were paid for.

    >>> from rageval.judges.rubric import rubric_named
    >>> spent([BuildingStep(rubric_named("nuggetize"), ["openai:gpt-4o-mini"], 12, Usage(1_000_000, 1_000))])
    'it took 12 calls, 1,000,000 tokens in, 1,000 out, 0.15 USD'
    """
    records = [step.as_record() for step in steps]
    calls, dollars = (
        sum(step["calls"] for step in records),
        [step["usd"] for step in records if step["calls"]],
    )
    tokens = [sum(step["tokens"][way] for step in records) for way in ("input", "output")]
    price = "price unknown" if None in dollars else f"{sum(dollars):,.2f} USD"
    return f"it took {calls:,} calls, {tokens[0]:,} tokens in, {tokens[1]:,} out, {price}"


def step_of_judgements(rubric: Rubric, judgements: Iterable[Mapping[str, Any]]) -> BuildingStep:
    """Return the step that made these judgements; a call's cost stands at its first one."""
    step = BuildingStep(rubric, [])
    used = [0, 0]
    for judgement in judgements:
        who = str(judgement.get("judge", "")).rpartition("@")[0] or str(judgement.get("judge", ""))
        if who and who not in step.models:
            step.models.append(who)
        step.calls += int(judgement.get("attempts", 0))
        usage = judgement.get("usage", {})
        used = [used[0] + int(usage.get("input", 0)), used[1] + int(usage.get("output", 0))]
        step.failed += judgement.get("status", "ok") not in ("ok", "repaired")
    step.usage = Usage(*used)
    return step


_PART = "a part of a collection"


def manifest_text(
    folder: Path,
    files: Iterable[str],
    inputs: Iterable[Path | str],
    steps: Mapping[str, BuildingStep],
    thresholds: Mapping[str, Any],
    questions: Mapping[str, int],
) -> str:
    """Return the manifest of a folder; the same files and replies give the same text."""
    record = {
        "rageval": __version__,
        "files": {name: digest_of(folder / name, _PART) for name in sorted(files)},
        "inputs": {str(path): digest_of(path, _PART) for path in inputs},
        "steps": {name: step.as_record() for name, step in steps.items()},
        "thresholds": dict(thresholds),
        "questions": dict(questions),
    }
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def _read_manifest(path: Path) -> _ManifestFile:
    """Return a manifest; `InputError` if it is none."""
    try:
        return msgspec.json.decode(read_whole(path, "a manifest"), type=_ManifestFile)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(
            at=Place(str(path)), expected="the manifest of a collection", cause=str(error)
        ) from None


def changed(path: Path) -> list[str]:
    """Find the files of a collection that are not as they were when its manifest was written, or are gone.

    Parameters
    ----------
    path
        The manifest: `manifest.json` in the folder of the collection.

    Returns
    -------
    list
        The names of the files; none if the collection is as it was built.
    """
    manifest = _read_manifest(path)
    places = {name: resolve_sibling_path(NamedInFile(name, os.fspath(path))) for name in manifest.files}
    return [
        name
        for name, sha256 in manifest.files.items()
        if not places[name].is_file() or digest_of(places[name], _PART) != sha256
    ]


# Which pooled documents support which nuggets, and which questions stay (FreshStack, section 4).
#
# First fall questions without a single relevant document, then those with a nugget that no document supports.
# What nobody knows, because judging failed, is not taken for unsupported: such a question is undecided.
# What judging a pool would cost, by its depth and breadth, is forecast before anything is spent.

SUPPORT_RUBRIC = "nugget-support"
THRESHOLD = 1.0
_Banks = Mapping[str, Sequence[Nugget]]
_Pair = tuple[str, str, str]  # query, nugget, document


def texts_of(corpus: Source, docs: Set[str]) -> dict[str, str]:
    """Return the texts of these documents; `InputError` if the corpus lacks one."""
    texts = {doc: text for doc, text in passages_in(corpus) if doc in docs}
    missing = sorted(docs - set(texts))
    if missing:
        raise InputError(
            at=Place(name_of(corpus)),
            problem=f"{len(missing):,} of {len(docs):,} pooled documents were not found, such as"
            f" {visible(missing[0])!r}",
            expected="the corpus of the runs",
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


def support_vote(judges: Sequence[object], vote: str) -> str:
    """Return how several judges are put together: support is a yes or a no, of which there is no mean."""
    return "majority" if len(judges) > 1 and vote == "mean" else vote


def read_support(source: Source) -> list[dict[str, Any]]:
    """Return the judgements of support in a file; a label without a grade gets the grade of its scale."""
    judgements = []
    for line, judgement in read_records(source, JudgementLine, EXPECTED):
        place = Place(name_of(source), line)
        grade = judgement.grade
        # People write labels; a model's line has both.
        if grade is None and judgement.label is not None:
            grade = SUPPORT.labels.get(judgement.label)
        if judgement.status in GRADED and grade is None:
            allowed_labels = ", ".join(SUPPORT.labels)
            label = judgement.label
            raise InputError(
                at=place,
                expected=f"a grade, or one of the labels {allowed_labels}",
                found="neither" if label is None else f"{visible(label)!r:.80}",
            )
        ids = {
            "query_id": str(judgement.query_id),
            "item_id": str(judgement.item_id),
            "aspect": str(judgement.aspect),
        }
        problem = next(filter(None, map(problem_of_id, ids.values())), None)
        if problem is not None:
            raise problem.located(place)
        judgements.append({**ids, "grade": grade, "status": judgement.status})
    return judgements


def supported(judgements: Iterable[Mapping[str, Any]], threshold: float = THRESHOLD) -> Iterator[Qrel]:
    """Yield a judgement of 1 where the grade reaches the threshold, else of 0; none where judging failed."""
    for judgement in judgements:
        if judgement.get("status", "ok") in GRADED:
            grade = int(float(judgement["grade"]) >= threshold)
            yield Qrel(str(judgement["query_id"]), str(judgement["item_id"]), grade, str(judgement["aspect"]))


def failed_pairs(judgements: Iterable[Mapping[str, Any]]) -> set[_Pair]:
    """Return what nobody knows because judging failed."""
    return {
        (str(judgement["query_id"]), str(judgement["aspect"]), str(judgement["item_id"]))
        for judgement in judgements
        if judgement.get("status", "ok") not in GRADED
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


def fates_of(queries: Iterable[str], banks: _Banks, qrels: Iterable[Qrel], failed: Set[_Pair]) -> list[Fate]:
    """Return what becomes of every question.

    >>> from rageval.records import Nugget
    >>> banks = {"q": [Nugget("q", "n1", "…"), Nugget("q", "n2", "…")]}
    >>> fates_of(["q"], banks, [Qrel("q", "d", 1, "n1"), Qrel("q", "d", 0, "n2")], set())
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
    # A question falls only for what is sure: where judging failed, a document may support the nugget.
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


def kept(fates: Iterable[Fate], rule: str = STRICT) -> list[str]:
    """Return the questions that stay by this rule."""
    return [fate.query_id for fate in fates if fate.verdict not in _RULES[rule]]


def counts(fates: Sequence[Fate], rule: str = STRICT) -> dict[str, int]:
    """Return how many questions there are, how many fell for which reason, and how many stay."""
    number = Counter(fate.verdict for fate in fates)
    fell = {reason: number[reason] for reason in _RULES[rule] if number[reason]}
    return {"questions": len(fates), **fell, KEPT: len(kept(fates, rule))}


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
    rubric = rubric_named(SUPPORT_RUBRIC)
    placeholders = [Nugget("", str(number), _LIKE_A_NUGGET) for number in range(_EXPECTED_NUGGETS)]
    banks = banks or dict.fromkeys(questions, placeholders)
    priced = [judge for judge in judges if isinstance(judge, str)] if texts is not None else []
    tokens = ["tokens in"] if texts is not None else []
    head = ["depth", "documents", "a query", "calls", *tokens, *priced]
    rows = []
    for cutoff in sorted({*DEPTHS, depth}):
        pool = {query: docs for query, docs in pooled(runs, cutoff).items() if query in questions}
        pool_size = size(pool, rubric.file.window)
        row = [f"{cutoff}{'*' if cutoff == depth else ''}", f"{pool_size.documents:,}"]
        row += [f"{pool_size.breadth:.1f}", f"{pool_size.calls:,}"]
        if texts is not None:
            material = material_of(pool, questions, banks, texts)
            requests = [rubric.request(task.data, task.ids) for task in tasks(rubric, material)]
            letters = sum(len(request.system) + len(request.user) for request in requests)
            row.append(f"{letters // _LETTERS_A_TOKEN:,}")
            prices = [estimate(requests, spec) for spec in priced]
            row += ["unknown" if price is None else f"at most {price:,.2f} USD" for price in prices]
        rows.append(row)
    yield from PRINTERS["tsv"].table(Table(list(map(Column, head)), rows))
    yield ""
    pool = {query: docs for query, docs in pooled(runs, depth).items() if query in questions}
    shares = [
        (source, *(f"{number:,}" for number in numbers)) for source, numbers in contributions(pool).items()
    ]
    columns = list(map(Column, ("source", "documents", "only here", "new here")))
    yield from PRINTERS["tsv"].table(Table(columns, shares))


_Judge = str | Model


@dataclass(frozen=True)
class Plan:
    """Everything that determines the collection.

    Parameters
    ----------
    questions, corpus
        Files, or ids of datasets.
    folder
        The folder of the collection.
    judge
        The judge that writes nuggets and judges support.
    support_judges
        Other judges of support; `settings.vote` combines several.
    runs
        (setting, path) pairs. Without any, BM25 looks for the texts of every setting in the corpus.
    nuggets
        A file of nuggets, used in place of nuggets from a judge.
    method, fuse_depth, k
        How runs are fused: see `fused`.
    depth
        How many documents of each run go into the pool.
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
    method: str = MINMAX
    fuse_depth: int = FUSE_DEPTH
    k: int = FUSE_K
    depth: int = DEPTH
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
            "support": self.threshold,
            "filter": self.rule,
        }


_Runs = dict[str, dict[str, Run]]  # setting -> name -> run


def _fused_runs(plan: Plan, topics: Topics) -> dict[str, Run]:
    """Return a run for each setting: the runs given, or else what BM25 finds in the corpus, fused."""
    if plan.runs:
        runs = _read_runs(plan.runs)
    else:
        index = Index(passages_in(plan.corpus))
        runs = {
            setting: {"bm25": index.run(texts, "bm25", plan.fuse_depth)}
            for setting, texts in topics.items()
            if texts
        }
    return {
        setting: fused(named.values(), plan.method, plan.fuse_depth, plan.k, setting)
        for setting, named in runs.items()
    }


def _read_runs(runs: tuple[tuple[str, str], ...]) -> _Runs:
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


_FILES = ("queries.tsv", "questions.jsonl", "nuggets.jsonl", "qrels.nugget", "pool.jsonl", "dropped.jsonl")
_Say = Callable[[str], None]
_Judgements = list[dict[str, Any]]


def all_files() -> tuple[str, ...]:
    """Return the names of all files that a collection may consist of."""
    return (*_FILES, MANIFEST)


@dataclass
class Built:
    """What came of a plan: the questions with their fates, and what failed by step."""

    fates: list[Fate] = field(default_factory=list)
    steps: dict[str, BuildingStep] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """How many judgements and texts are missing."""
        return sum(step.failed for step in self.steps.values())

    def lines(self, plan: Plan) -> Iterator[str]:
        """Yield how many questions stay, why others fell, and what it took."""
        yield from report(counts(self.fates, plan.rule))
        yield f"written to {visible(str(plan.folder))}; {spent(self.steps.values())}"


def build(plan: Plan, say: _Say = lambda message: None) -> Built:
    """Build the collection into the plan's folder.

    Parameters
    ----------
    plan
        Everything that determines the collection.
    say
        Called with progress messages.

    Returns
    -------
    Built
        The collection and its cost.
    """
    sources = [*plan.inputs, *plan.frozen]
    _refuse_inputs(plan.folder, sources)
    for source in sources:
        # Steps are overwritten as they are made; an input among them would be gone when it is read again.
        if os.path.isfile(source) and Path(os.path.realpath(source)).is_relative_to(plan.steps.resolve()):
            raise UsageError(f"{source}: is also an input; write to another folder")
    questions = hooks.questions_in(plan.questions, [])
    # Asked before anything is read that costs time, or paid.
    if plan.nuggets is None:
        require_answers(questions.values())
    # One budget for all steps: a limit a step would add up to several times what was allowed.
    budget, built = plan.settings.budget(), Built()
    if plan.nuggets is not None:
        nuggets: Iterable[Nugget] = read_nuggets(plan.nuggets)
    else:
        # Without an answer a model would make the nuggets up.
        answered = {query: question for query, question in questions.items() if question.gold}
        nuggets = _write_texts(plan, "nuggetize", answered, budget, built, say)
    banks = _by_query(nuggets)
    write_lines(plan.steps / "nuggets.jsonl", _nugget_lines(banks, questions))
    written: dict[str, dict[str, list[str]]] = {}
    # Where runs are given, somebody has searched already: variants would be paid for and not used.
    for setting in () if plan.runs else WRITTEN:
        for variant in _write_texts(plan, setting, questions, budget, built, say):
            written.setdefault(setting, {}).setdefault(variant.query_id, []).append(variant.text)
    topics = topics_of(questions.values(), banks, written)
    for setting, texts in topics.items():
        write_lines(plan.steps / "topics" / f"{setting}.tsv", topic_lines(texts))
    by_setting = _fused_runs(plan, topics)
    names = file_names(by_setting)
    for setting, run in by_setting.items():
        write_lines(plan.steps / "fused" / f"{names[setting]}.trec", run_lines(run))
    pool = pooled(by_setting, plan.depth)
    write_lines(plan.folder / "pool.jsonl", pool_lines(pool))
    judgements = _judge_pool(plan, questions, banks, pool, budget, built)
    built.fates = _write_collection(plan.folder, questions, banks, judgements, plan.threshold, plan.rule)
    text = manifest_text(
        plan.folder,
        _FILES,
        plan.inputs,
        built.steps,
        plan.thresholds,
        counts(built.fates, plan.rule),
    )
    write_lines(plan.folder / MANIFEST, text.splitlines())
    return built


def _write_texts(
    plan: Plan, rubric: str, questions: Mapping[str, Question], budget: Budget, built: Built, say: _Say
) -> list[Nugget]:
    """Return the texts that the judge writes for every question."""
    if plan.judge is None:
        raise UsageError(f"{rubric}: no judge given to write it; use --judge, such as openai:MODEL")
    texts, built.steps[rubric] = _ask_for_texts(plan.judge, rubric, questions, plan.settings, say, budget)
    return texts


def _ask_for_texts(
    judge: _Judge,
    rubric_name: str,
    questions: Mapping[str, Question],
    settings: Settings,
    say: _Say,
    budget: Budget | None = None,
) -> tuple[list[Nugget], BuildingStep]:
    """Let a judge write by a rubric, and say for which questions there is nothing."""
    rubric = rubric_named(rubric_name)
    texts = nuggets_by(judge, rubric, Material(questions=questions), settings, budget)
    for query, why in texts.failed.items():
        say(f"{rubric_name}: nothing for query {visible(query)}: {why}")
    name = judge if isinstance(judge, str) else judge.name
    return texts.nuggets, BuildingStep(rubric, [name], texts.calls, texts.usage, len(texts.failed))


def _judge_pool(
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
        raise UsageError("support: no judge given; use --judge openai:MODEL or frozen:FILE")
    # Runs may hold other queries; a question without nuggets has nothing to be judged by.
    asked = {query: pool[query] for query in pool if query in questions and banks.get(query)}
    if not asked:
        raise InputError(
            at=Place("support"),
            problem="no documents are pooled for questions with nuggets",
            remedy="nothing to judge",
        )
    texts = texts_of(plan.corpus, documents_of(asked))
    material = material_of(asked, questions, banks, texts)
    rubric = rubric_named(SUPPORT_RUBRIC)
    judgements = ask_all_judges(judges, rubric, material, plan.settings, budget)
    built.steps["support"] = step_of_judgements(rubric, judgements)
    write_lines(plan.steps / "support.jsonl", map(judgement_line, judgements))
    # What each judge said is written before the vote, so that it can be looked at.
    how = replace(plan.settings, vote=support_vote(judges, plan.settings.vote))
    return list(vote_of(judgements, rubric, how))


def _write_collection(
    folder: Path,
    questions: Mapping[str, Question],
    banks: Mapping[str, list[Nugget]],
    judgements: _Judgements,
    threshold: float,
    rule: str,
) -> list[Fate]:
    """Write what stays of the questions, with nuggets and judgements, and what became of the others."""
    qrels = list(supported(judgements, threshold))
    fates = fates_of(questions, banks, qrels, failed_pairs(judgements))
    # A dict keeps the order of the questions, which a set would lose.
    stay = dict.fromkeys(kept(fates, rule))
    of_stay = {query: questions[query] for query in stay}
    texts = {query: question.text for query, question in of_stay.items()}
    write_lines(folder / "queries.tsv", topic_lines(texts))
    plain = (
        dict(question.facts)
        | {"query_id": question.query_id, "question": question.text, "answer": list(question.gold)}
        for question in of_stay.values()
    )
    write_lines(folder / "questions.jsonl", map(as_line, plain))
    write_lines(folder / "nuggets.jsonl", _nugget_lines({query: banks[query] for query in stay}, questions))
    write_lines(folder / "qrels.nugget", qrel_lines(row for row in qrels if row.query_id in stay))
    dropped = (
        {"query_id": fate.query_id, "verdict": fate.verdict, "nuggets": list(fate.nuggets)}
        for fate in fates
        if fate.query_id not in stay
    )
    write_lines(folder / "dropped.jsonl", map(as_line, dropped))
    return fates


def _refuse_inputs(
    folder: Path, inputs: Iterable[Source], names: Iterable[str] = (*_FILES, MANIFEST)
) -> None:
    """Raise `UsageError` if a file of the folder would take the place of one it is made from."""
    sources = [source for source in inputs if isinstance(source, str)]  # files, and no datasets
    for name in names:
        refuse_place(folder / name, *sources)


def _nugget_lines(banks: Mapping[str, list[Nugget]], questions: Mapping[str, Question]) -> Iterable[str]:
    """Yield the nuggets as AutoNuggetizer writes them, in the order of the questions."""
    texts = {query: question.text for query, question in questions.items()}
    return write_nuggets((nugget for query in questions for nugget in banks.get(query, ())), texts)


def _by_query(nuggets: Iterable[Nugget]) -> dict[str, list[Nugget]]:
    banks: dict[str, list[Nugget]] = {}
    for nugget in nuggets:
        banks.setdefault(nugget.query_id, []).append(nugget)
    return banks


def forecast(plan: Plan) -> Iterator[str]:
    """Yield what is known before a model is asked: variants that it would write can only add to the pool."""
    questions = hooks.questions_in(plan.questions, [])
    banks = _banks_in(plan.nuggets)
    topics = topics_of(questions.values(), banks, {})
    every = _fused_runs(plan, topics)
    # Texts are read once, for the deepest pool that is shown.
    deepest = pooled(every, max(*DEPTHS, plan.depth))
    texts = texts_of(plan.corpus, documents_of(deepest))
    judges = plan.support_judges or tuple(filter(None, [plan.judge]))
    yield from forecast_lines(every, questions, banks, texts, judges, plan.depth)
    unknown = [setting for setting, topic_texts in topics.items() if not topic_texts and not plan.runs]
    if unknown:
        calls = (len(WRITTEN) + (plan.nuggets is None)) * len(questions)
        yield ""
        yield f"to be written first, in {calls:,} calls: {', '.join(unknown)}; each of them adds at most"
        yield f"{plan.depth} documents to the pool of a question"


# One step alone, between files: what `rageval collection STEP` does.


def setting_of(word: str) -> tuple[str, str]:
    """Split a word into (setting, path): `answer=bm25.trec`, or the path of a run for the questions.

    >>> setting_of("answer=runs/bm25.trec"), setting_of("runs/a=b.trec")
    (('answer', 'runs/bm25.trec'), ('question', 'runs/a=b.trec'))
    """
    setting, _, path = word.partition("=")
    # A folder's name may hold the sign, too; on Windows it begins with a drive, C:\\.
    return (setting, path) if path and not set(setting) & set("/\\:") else (QUESTION, word)


def fuse(paths: Iterable[str], method: str, depth: int, k: int) -> Iterator[str]:
    """Return the lines of the fusion of these runs."""
    return run_lines(fused(map(read_run, paths), method, depth, k))


def nuggetize(source: Source, judge: _Judge, settings: Settings, say: _Say) -> tuple[Iterable[str], int]:
    """Return lists of nuggets, one line a question, and how many could not be written."""
    asked = [question for question in hooks.questions_in(source, []).values() if question.gold]
    require_answers(asked)
    questions = {question.query_id: question for question in asked}
    nuggets, step = _ask_for_texts(judge, "nuggetize", questions, settings, say)
    texts = {query: question.text for query, question in questions.items()}
    return write_nuggets(nuggets, texts), step.failed


def write_variants(
    source: Source, nuggets: Source, judge: _Judge, folder: Path, settings: Settings, say: _Say
) -> int:
    """Write the texts to search with, a file a setting; return how many could not be written."""
    _refuse_inputs(folder, [source, nuggets], [f"{setting}.tsv" for setting in SETTINGS])
    questions = hooks.questions_in(source, [])
    written: dict[str, dict[str, list[str]]] = {}
    lost = 0
    for setting in WRITTEN:
        texts, step = _ask_for_texts(judge, setting, questions, settings, say)
        lost += step.failed
        for text in texts:
            written.setdefault(setting, {}).setdefault(text.query_id, []).append(text.text)
    topics = topics_of(questions.values(), _banks_in(nuggets), written)
    for setting, by_query in topics.items():
        write_lines(folder / f"{setting}.tsv", topic_lines(by_query))
    return lost


def pool_files(words: Iterable[str], depth: int) -> Iterator[str]:
    """Return the lines of the pool of these runs, `[SETTING=]FILE` each."""
    return pool_lines(pooled(_runs_by_name(words), depth))


def forecast_pool(
    words: Iterable[str],
    depth: int,
    questions: Source | None = None,
    nuggets: Source | None = None,
    corpus: Source | None = None,
    judges: Sequence[_Judge] = (),
) -> Iterator[str]:
    """Yield the pool of these runs at several depths, and what its judging would take, as far as is known."""
    runs = _runs_by_name(words)
    deepest = pooled(runs, max(*DEPTHS, depth))
    # Without --questions nothing but their number is known, which is enough for calls.
    asked = {query: Question(query, "") for query in deepest}
    if questions:
        asked = hooks.questions_in(questions, [])
    texts = texts_of(corpus, documents_of(deepest)) if corpus else None
    yield from forecast_lines(runs, asked, _banks_in(nuggets), texts, judges, depth)


def judge_support(
    pool: Source, questions: Source, nuggets: Source, corpus: Source, judges: Sequence[_Judge], how: Settings
) -> tuple[Iterable[str], int]:
    """Return judgements of which pooled document supports which nugget, a line each, and how many failed."""
    known_questions = hooks.questions_in(questions, [])
    asked_pool = {query: docs for query, docs in read_pool(pool).items() if query in known_questions}
    texts = texts_of(corpus, documents_of(asked_pool))
    material = material_of(asked_pool, known_questions, _banks_in(nuggets), texts)
    how = replace(how, vote=support_vote(judges, how.vote))
    judgements = list(judged_by(judges, rubric_named(SUPPORT_RUBRIC), material, how))
    return map(judgement_line, judgements), len(failed_pairs(judgements))


def filter_questions(
    judgements: Source, questions: Source, nuggets: Source, folder: Path, threshold: float, rule: str
) -> Iterator[str]:
    """Write the questions whose nuggets are supported; return lines of how many fell and why."""
    _refuse_inputs(folder, [judgements, questions, nuggets])
    support = read_support(judgements)
    known_questions = hooks.questions_in(questions, [])
    fates = _write_collection(folder, known_questions, _banks_in(nuggets), support, threshold, rule)
    return report(counts(fates, rule))


def check_runs(paths: Sequence[str], against: Path, depth: int, output: Path | None = None) -> Iterator[str]:
    """Yield what runs would leave unjudged at several depths; write that of `depth` as a pool, if wished."""
    judged = judged_in(against)
    more: Pool = {}
    for path in paths:
        run = read_run(path)
        if not judged.keys() & set(run.query_ids):
            raise InputError(
                at=Place(path),
                problem=f"no query in common with {against}",
                expected="a run for the same queries",
                remedy=near_misses(run.query_ids, judged),
            )
        yield from hole_lines(run, judged, sorted({*DEPTHS, depth}), depth, with_name=len(paths) > 1)
        for query, docs in unjudged(run, judged, depth).items():
            for doc, sources in docs.items():
                more.setdefault(query, {}).setdefault(doc, {}).update(sources)
    if output is not None:
        write_lines(output, pool_lines(more), makes_folder=False)


def _banks_in(source: Source | None) -> dict[str, list[Nugget]]:
    """Return the nuggets of a file, by query."""
    return _by_query(read_nuggets(source) if source else ())


def _runs_by_name(words: Iterable[str]) -> dict[str, Run]:
    """Return the runs by their names in a pool: the setting where one is named, else the file."""
    runs: dict[str, Run] = {}
    for setting, named in _read_runs(tuple(map(setting_of, words))).items():
        for name, run in named.items():
            called = name if setting == QUESTION else f"{setting}/{name}"
            runs[written_out(called)] = run
    return runs


class GradedDocuments(NamedTuple):
    """Judgements as qrels, how many failed and so are in none, and whether earlier ones asked for them."""

    qrels: list[Qrel]
    failed: int
    is_adaptive: bool


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
            at=Place(visible(table.name)),
            problem=f"judged by {len(table.judges.words)} judges ({named})",
            expected="one, or their vote",
        )
    nugget_qrels, failed = [], 0
    for row, line in table.each():
        if line.status not in GRADED:
            failed += 1
            continue
        if line.item_id == "answer":
            raise InputError(
                at=table.where(row),
                expected="judgements of documents, with the document as item_id",
                found=f"a judgement of an answer (run {visible(str(line.run_id))})",
            )
        if line.grade is None or not line.grade.is_integer():
            raise InputError(
                at=table.where(row),
                expected="a grade, a whole number",
                found=f"{visible(str(line.grade if line.grade is not None else line.label))!r:.80}",
            )
        nugget_qrels.append(Qrel(str(line.query_id), str(line.item_id), int(line.grade), str(line.aspect)))
    if not nugget_qrels:
        raise InputError(
            at=Place(visible(table.name)), problem=f"none of its {failed:,} judgements has a grade"
        )
    qrels = nugget_qrels
    if form != "nuggets":
        grades: dict[tuple[str, str], list[int | float]] = {}
        for qrel in nugget_qrels:
            grades.setdefault((qrel.query_id, qrel.doc_id), []).append(qrel.relevance)
        qrels = [
            Qrel(query, doc, max(given) if form == "best" else sum(grade >= rel for grade in given))
            for (query, doc), given in grades.items()
        ]
    return GradedDocuments(qrels, failed, table.is_adaptive)
