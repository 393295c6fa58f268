"""Judges that need no network: judgements of a file, the words of short answers, and a lexical proxy.

The proxy says how much of a nugget's wording stands in one place of a text. It gives a number and never says
support or partial: of the TREC RAG nuggets that are absent from an answer on the same topic, most still share
half their words with it. It may rank systems; it replaces no judge, and its name stays in the name of what is
computed from it: `nugget_recall[lexical]`.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

from rageval.core.basis import Basis
from rageval.core.remark import Remark, Scope
from rageval.errors import InputError, MissingJudgements, Place, UsageError
from rageval.files.jsonl import read_records
from rageval.files.opening import Complaints, quoted
from rageval.judges import short
from rageval.judges._exact import contains, exact, first_stage, folded, number, numbers_in, token_f1
from rageval.judges.base import ERROR, OK, Fatal, Reply, Request
from rageval.judges.cascade import PeoplesLabels, require_random_labels
from rageval.judges.material import Material, repeat_of, tasks, weight_of
from rageval.judges.rubric import Rubric
from rageval.names import near_misses
from rageval.records import Answer, Question
from rageval.text import compatible, problem_of_id, visible

# --- Judgements replayed from a file: what makes a judged number reproducible, and the judge of tests.

_EXPECTED = "a judgement {query_id, run_id, item_id, aspect, …}"
_Key = tuple[str, ...]
_DEFAULTS = {"query_id": None, "run_id": None, "item_id": "answer", "aspect": "0", "repeat": ""}
_VERDICT = ("label", "grade", "status", "importance", "weight")


class FrozenJudgements:
    """The judgements of a file, found by what was judged and the rubric. It asks nobody.

    `judge` picks one judge's, which a file of several needs. A judgement without a rubric answers for any,
    one whose rubric has no version (as people write it) for any version of it.
    """

    def __init__(self, path: str | os.PathLike[str], judge: str | None = None) -> None:
        self.path = str(path)
        self.name = f"frozen:{Path(path).name}"
        self.endpoint = ""
        self._records: dict[_Key, dict[str, Any]] = {}
        self._rubrics: dict[_Key, list[str]] = defaultdict(list)
        findings = Complaints()
        for line, record in read_records(self.path, dict, _EXPECTED):
            place = Place(self.path, line)
            key = _key_of_record(record)
            if key is None:
                findings.add(
                    InputError(
                        at=place,
                        expected=f"{_EXPECTED}, ids as text",
                        found=quoted(repr(record).encode()),
                    )
                )
            elif (problem := next(filter(None, map(problem_of_id, key[:3])), None)) is not None:
                findings.add(problem.located(place))
            elif judge is None or record.get("judge") == judge:
                first = self._records.setdefault(key, record)
                if first is record:
                    self._rubrics[key[:-1]].append(key[-1])
                elif first.get("judge") != record.get("judge"):
                    judges = f"{first.get('judge')!r} and {record.get('judge')!r}"
                    remedy = "name the one to replay: judge=…"
                    findings.add(InputError(f"judged by {judges}", at=place, remedy=remedy))
                elif any(first.get(field) != record.get(field) for field in _VERDICT):
                    conflict = f"judged before, with another verdict: {_describe_key(key)}"
                    findings.add(InputError(conflict, at=place, expected="one judgement"))
        findings.raise_if_any()
        if not self._records:
            raise InputError(
                at=Place(self.path), problem=f"no judgement by the judge {judge!r}", expected="at least one"
            )

    @property
    def judge(self) -> str:
        """Whose judgements these are; the file, where they are of several or of nobody who is named."""
        names = {str(record.get("judge") or "") for record in self._records.values()} - {""}
        return names.pop() if len(names) == 1 else self.name

    @property
    def remarks(self) -> list[Remark]:
        """What should be said of the file before it is replayed."""
        if any(record.get("judged_sha") for record in self._records.values()):
            return []
        return [Remark("no_digests", Scope(file=self.name))]

    def __len__(self) -> int:
        return len(self._records)

    @property
    def answers(self) -> set[tuple[str, str, str]]:
        """The answers that something is said of, by query, system and repeat."""
        return {(query, run, repeat) for query, run, _, _, repeat, _ in self._records}

    def find(
        self, query_id: str, run_id: str, item_id: str, aspect: str, rubric: str, repeat: str = ""
    ) -> dict[str, Any]:
        """Find the judgement as it stands in the file, also if it says that judging failed."""
        key = (query_id, run_id, item_id, aspect, repeat)
        for name in (rubric, rubric.partition("@")[0], ""):
            if (*key, name) in self._records:
                unsaid = dict(zip(_DEFAULTS, key, strict=True)) | {"status": OK}
                record = self._records[*key, name]
                return record | {
                    field: value for field, value in unsaid.items() if field not in record and value
                }
        # Said with the first part of the key that the file does not have.
        raise MissingJudgements(
            f"{self.path}: no judgement of {_describe_key((*key, rubric))}: {self._reason(key)};"
            " judge it with a model, or replay a file that holds it"
        )

    async def ask(self, request: Request) -> Reply:
        """Raise `Fatal`: judgements are found by what was judged, not by how a model was asked."""
        raise Fatal(f"{self.name} has judgements, not replies of a model: look them up with find()")

    def _reason(self, key: _Key) -> str:
        if key in self._rubrics:
            return f"the file has it for the rubric {' and '.join(map(repr, self._rubrics[key]))} only"
        candidates: Iterable[_Key] = self._rubrics
        for place, field in enumerate(_DEFAULTS):
            ids = {other[place] for other in candidates}
            if key[place] not in ids:
                hint = near_misses([key[place]], ids)
                return f"the {field} {visible(key[place])!r} is not there" + (f"; {hint}" if hint else "")
            candidates = [other for other in candidates if other[place] == key[place]]
        raise AssertionError("the key is there")  # a bug: it was looked up before


def _key_of_record(record: dict[str, Any]) -> _Key | None:
    """Return what a record is found by, None if an id is missing or is no text."""
    given = ((record.get(field), default) for field, default in _DEFAULTS.items())
    ids = [default if value is None else value for value, default in given]
    ids.append(record.get("rubric") or "")
    if not all(isinstance(value, str | int) and not isinstance(value, bool) for value in ids):
        return None
    return tuple(map(str, ids))


def _describe_key(key: _Key) -> str:
    named = zip((*_DEFAULTS, "rubric"), key, strict=True)
    return ", ".join(f"{field} {visible(value)[:80]!r}" for field, value in named if value)


# --- Short answers by their words and their form, and the lexical proxy.

# Scales of their own: a proxy ranks systems, and never says that anything is supported or right.
_LEXICAL_RUBRIC, _F1_RUBRIC = "lexical", "token-f1"
_MATCHERS = {"exact": exact, "contains": contains, "number": number}
NAMES = (short.NAME, *_MATCHERS, "token_f1", "lexical")
_SHORT_ANSWERS = ("crag", "crag-auto")
_Row = dict[str, Any]
_WINDOW = 2  # sentences; a fact is seldom spread over more

# A letter of a script without blanks is a word of its own.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\d_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")
_COMMON_WORDS = """
a about after also an and any are as at be been but by can could did do does for from had has have he her
his how if in into is it its may more most no not of on or other our over she should so some such than
that the their them then there these they this those to under up was we were what when where which who
will with would you your s t
"""
_INVALID = "invalid question"  # CRAG's gold answer to a false premise
_TAG = re.compile(r"(?is)<(script|style)\b.*?</\1\s*>|<[^>]*>")
_COMMON = frozenset(_COMMON_WORDS.split())
_ENDINGS = ("ations", "ation", "ingly", "edly", "ings", "ies", "ing", "ied", "ed", "es", "ly", "s")
_SHORTEST_STEM = 3


def judge_offline(
    spec: str, rubric: Rubric, material: Material, curve: short.Curve | None = None
) -> Iterator[_Row]:
    """Judge offline: by one of `NAMES`, or `frozen:FILE`; `short` by the curve of the package, or another."""
    if spec in NAMES and not material.answers:
        raise InputError(problem=f"nothing to judge: the judge {spec!r} expects files of answers")
    if spec.startswith("frozen:"):
        yield from _replay_file(FrozenJudgements(spec.removeprefix("frozen:")), rubric, material)
    elif spec == _LEXICAL_RUBRIC:
        if rubric.file.unit != "nuggets":
            raise UsageError(
                f"the judge 'lexical' looks for nuggets in answers; it cannot judge {rubric.name}"
            )
        for answer in material.answers:
            for nugget in material.bank(answer.query_id):
                expected_texts = [gold.text for gold in nugget.answers] or [nugget.text]
                supports = [_lexical_evidence(expected, answer.text) for expected in expected_texts]
                grade, evidence = max(supports, key=lambda pair: pair[0])
                if nugget.aggregator == "AND":
                    grade = math.fsum(share for share, _ in supports) / len(supports)
                verdict: _Row = {"grade": grade, "rubric": _LEXICAL_RUBRIC, **weight_of(nugget)}
                verdict |= {"evidence": evidence} if evidence else {}
                yield _row(answer, nugget.nugget_id, "lexical", verdict)
    else:
        if rubric.name not in _SHORT_ANSWERS:
            raise UsageError(
                f"the judge {spec!r} compares short answers with gold answers: it supports the rubrics"
                f" {' and '.join(_SHORT_ANSWERS)}, not {rubric.name}, which words alone cannot decide"
            )
        if spec == short.NAME:
            yield from _by_chance(curve or short.packed(), rubric, material)
        else:
            yield from _by_form(spec, rubric, material)


def knows(rubric: Rubric) -> bool:
    """Tell whether a rubric is about short answers beside gold ones, which need no model."""
    return rubric.name in _SHORT_ANSWERS


class GoldInTop(NamedTuple):
    """Of so many questions, those whose gold answer stands in one of the first k results, and their share."""

    k: int
    found: int
    questions: int
    share: float


def gold_in_top(
    questions: Iterable[Question], results: Mapping[str, Sequence[str]], ks: Iterable[int]
) -> list[GoldInTop]:
    """Return for how many questions a gold answer is in the first k search results, as whole words.

    Like CRAG's own figure it is a heuristic: the same words may mean something else, and paraphrases are not
    found.

    Parameters
    ----------
    questions
        The questions with their gold answers. One whose gold answer is that it is invalid is left out: no
        page says so.
    results
        Texts (or pages of HTML) by question, best first; a question without any counts as not found.
    ks
        How many results to look at.

    Returns
    -------
    list of GoldInTop
        The counts and the share for each k.

    Examples
    --------
    >>> asked = [Question("q", "Where?", ("Oslo",))]
    >>> [found.share for found in gold_in_top(asked, {"q": ["<p>Bergen</p>", "In <b>Oslo</b>."]}, (1, 2))]
    [0.0, 1.0]
    """
    first: list[float] = []
    for question in questions:
        if any(folded(gold) == _INVALID for gold in question.gold):
            continue
        texts = map(_without_tags, results.get(question.query_id, ()))
        places = (rank for rank, text in enumerate(texts, 1) if contains(text, question.gold))
        first.append(next(places, math.inf))
    counts = [(k, sum(place <= k for place in first)) for k in ks]
    return [GoldInTop(k, hits, len(first), hits / len(first) if first else math.nan) for k, hits in counts]


def holding_gold(question: Question, texts: Mapping[str, str]) -> set[str]:
    """Return which texts hold a gold answer, as whole words.

    >>> sorted(holding_gold(Question("q", "Where?", ("Oslo",)), {"a": "In Oslo.", "b": "Oslofjord"}))
    ['a']
    """
    return {name for name, text in texts.items() if contains(_without_tags(text), question.gold)}


def _without_tags(text: str) -> str:
    return unescape(_TAG.sub(" ", text)) if "<" in text else text


def _replay_file(frozen: FrozenJudgements, rubric: Rubric, material: Material) -> Iterator[_Row]:
    name = f"{rubric.judged_as}@{rubric.version}"
    for task in tasks(rubric, material):
        sha = task.judged_sha
        for rows in task.rows.values():
            for row in rows:
                repeat = str(row.also.get("repeat", ""))
                if task.failed:
                    place = {"query_id": row.query, "run_id": row.run, "item_id": row.item}
                    row_head = {"aspect": row.aspect, "judge": frozen.judge, "rubric": name}
                    shown = {"shown": list(row.shown)} if row.shown else {}
                    yield place | row_head | dict(row.also) | shown | {"status": ERROR, "detail": task.failed}
                    continue
                judgement = frozen.find(row.query, row.run, row.item, row.aspect, name, repeat)
                if judgement.get("judged_sha", sha) != sha:
                    raise InputError(
                        at=Place(frozen.path),
                        problem=f"the judgement of query {visible(row.query)}, run {visible(row.run)} is for"
                        " different texts: the answer, or what it was compared with, has changed",
                        remedy="judge it again, or replay the judgements with the files that were judged",
                    )
                yield judgement


def _by_form(spec: str, rubric: Rubric, material: Material) -> Iterator[_Row]:
    """Short answers beside gold ones: what is no match is incorrect, an abstention is missing."""
    right = next(iter(rubric.file.labels))  # perfect, or accurate
    for answer, task in zip(material.answers, tasks(rubric, material), strict=True):
        gold = [] if answer.error else material.gold(answer.query_id)
        if spec == "token_f1":
            verdict: Mapping[str, Any] = {"grade": token_f1(answer.text, gold), "rubric": _F1_RUBRIC}
        else:
            is_silent = first_stage(answer.text, gold, rubric.file.abstentions) == "missing"
            label = "missing" if is_silent else right if _MATCHERS[spec](answer.text, gold) else "incorrect"
            verdict = {"label": label, "rubric": rubric.judged_as}
        sha = {} if answer.error else {"judged_sha": task.judged_sha}
        yield _row(answer, "0", spec, {**verdict, **sha})


def _by_chance(curve: short.Curve, rubric: Rubric, material: Material) -> Iterator[_Row]:
    """Short answers by the chance that people would call them right; an abstention is missing."""
    right = next(iter(rubric.file.labels))  # perfect, or accurate
    for answer, task in zip(material.answers, tasks(rubric, material), strict=True):
        fields: dict[str, Any] = {"rubric": rubric.judged_as}
        if not answer.error:
            question = material.question(answer.query_id)
            gold, text = material.gold(question.query_id), answer.text
            chance = curve.chance(text, question.text, gold)
            is_silent = first_stage(text, gold, rubric.file.abstentions) == "missing"
            fields["label"] = "missing" if is_silent else right if chance >= _EVEN else "incorrect"
            fields |= {"p": round(chance, 4), "judged_sha": task.judged_sha}
        yield _row(answer, "0", curve.name, fields)


_EVEN = 0.5
_MOST_STRANGE = 0.1  # of the questions: with more, they are taken for another language


def short_fitted(labels: PeoplesLabels, material: Material) -> short.Fitted:
    """Fit the curve of `short` again on what people said of some of the answers."""
    rows, right, queries = [], [], []
    curve = short.packed()
    doubts: list[float] = []
    labeled: set[int] = set()
    for answer in material.answers:
        if answer.error:
            continue
        place = answer.query_id, answer.run_id, answer.repeat
        question = material.question(answer.query_id)
        numbers = short.features(answer.text, question.text, material.gold(question.query_id))
        if place in labels.right:
            labeled.add(len(doubts))
            rows.append(numbers)
            right.append(labels.right[place])
            queries.append(answer.query_id)
        chance = curve.of(numbers)
        doubts.append(min(chance, 1 - chance))
    if not rows:
        raise InputError(
            at=Place(visible(labels.name)),
            problem="has no labels for the judged answers",
            expected="the same query_id and run_id",
        )
    require_random_labels(labels.name, doubts, labeled, "it cannot be fitted on them")
    return short.cross_fit(rows, right, queries)


def labels_basis(labels: PeoplesLabels, material: Material) -> Basis:
    """Return the basis of what labels of some of the answers tell of all."""
    answers = ((answer.query_id, answer.run_id, answer.repeat) for answer in material.answers)
    return labels.basis(sum(place not in labels.right for place in answers))


def short_remarks(material: Material, is_packed: bool) -> Iterator[Remark]:
    """Yield what is to be said wherever `short` judges: how often it errs, and where it does not belong."""
    asked = dict.fromkeys(answer.query_id for answer in material.answers)
    texts = [material.questions[query].text for query in asked if query in material.questions]
    strange = sum(not short.looks_english(text) for text in texts)
    if strange > _MOST_STRANGE * len(texts):
        yield Remark("not_english", facts={"number": strange, "total": len(texts)})
    elif is_packed:
        yield short.error_remark()
    most = short.record().fitted["longest"]
    longer = sum(len(answer.text.split()) > most for answer in material.answers)
    if longer:
        facts = {"number": longer, "total": len(material.answers), "words": most}
        yield Remark("long_answers", facts=facts)


def _row(answer: Answer, aspect: str, judge: str, fields: Mapping[str, Any]) -> _Row:
    place = {"query_id": answer.query_id, "run_id": answer.run_id, "item_id": "answer", "aspect": aspect}
    whole = {**place, **repeat_of(answer), **fields, "status": "ok", "judge": judge}
    if answer.error:
        whole = {key: value for key, value in whole.items() if key not in _OF_TEXT}
        whole |= {"status": ERROR, "detail": answer.error}
    return whole


_OF_TEXT = ("label", "grade", "evidence")  # what cannot be said of an answer that failed


@dataclass(frozen=True)
class _Window:
    """A sentence, or what stands in several."""

    text: str
    stems: frozenset[str]
    numbers: frozenset[Decimal]


def _lexical_evidence(nugget: str, text: str) -> tuple[float, str]:
    """Return how much of the nugget stands in the best two neighbouring sentences, and these sentences.

    It is the share (0 to 1) of its words, by weight: rare words weigh more, by the sentences of the text. A
    place that lacks a number of the nugget counts for nothing.

    >>> text = "The Eiffel Tower stands in Paris. It was built in 1889. Millions visit the tower."
    >>> _lexical_evidence("The tower was built in 1889", text)
    (1.0, 'The Eiffel Tower stands in Paris. It was built in 1889.')
    >>> _lexical_evidence("The tower was built in 1890", text)
    (0.0, '')
    >>> round(_lexical_evidence("The tower is visited by tourists", text)[0], 3)
    0.537
    """
    stems = sorted(set(_stems(nugget)))  # in the order that makes sums the same everywhere
    numbers = frozenset(numbers_in(nugget))
    weights = _stem_weights(text)

    def weigh(stem: str) -> float:
        return weights.get(stem, weights.get("", 1.0))

    total = math.fsum(weigh(stem) for stem in stems)
    best = (0.0, "")
    for place in _windows(text):
        if not numbers <= place.numbers:
            continue
        weight = math.fsum(weigh(stem) for stem in stems if stem in place.stems)
        share = weight / total if total else float(bool(numbers))
        best = max(best, (share, place.text), key=lambda pair: pair[0])
    return best


@lru_cache(maxsize=64)
def _stem_weights(text: str) -> Mapping[str, float]:
    """Weigh each stem by log(1 + N / (1 + df)), its rarity in N sentences; what never occurs stands under "".

    >>> weights = _stem_weights("Red apples. Green apples.")
    >>> weights["appl"] < weights["red"] < weights[""]
    True
    """
    sentences = _sentences(text)
    frequency: Counter[str] = Counter()
    for sentence in sentences:
        frequency.update(sentence.stems)
    total = len(sentences)
    weights = {stem: math.log(1 + total / (1 + count)) for stem, count in frequency.items()}
    return {**weights, "": math.log(1 + total)}


def _stem(word: str) -> str:
    """Cut the ending that English inflects a word by: crude, and alike for all forms of most words.

    >>> [_stem(word) for word in ("towers", "visited", "visiting", "planned", "planning", "studies", "study")]
    ['tower', 'visit', 'visit', 'plan', 'plan', 'stud', 'stud']
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    if len(word) > _SHORTEST_STEM and word[-1] == word[-2] and word[-1] not in "aeiousl":
        word = word[:-1]
    return word[:-1] if len(word) > _SHORTEST_STEM and word[-1] in "eyi" else word


def _stems(text: str) -> Iterator[str]:
    text = compatible(text).casefold().replace("’", "'").replace("'s", "")
    return (_stem(word) for word in _WORD.findall(text) if word not in _COMMON)


@lru_cache(maxsize=64)
def _sentences(text: str) -> tuple[_Window, ...]:
    parts = (part.strip() for part in _SENTENCE_END.split(text))
    return tuple(
        _Window(part, frozenset(_stems(part)), frozenset(numbers_in(part))) for part in parts if part
    )


def _windows(text: str) -> Iterator[_Window]:
    """Each stretch of neighbouring sentences, as one place."""
    sentences = _sentences(text)
    for start in range(max(len(sentences) - _WINDOW, 0) + 1):
        near = sentences[start : start + _WINDOW]
        yield _Window(
            " ".join(place.text for place in near),
            frozenset().union(*(place.stems for place in near)),
            frozenset().union(*(place.numbers for place in near)),
        )
