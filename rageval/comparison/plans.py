"""Draw what people shall label from what a judge judged, before anybody labels.

A query is labeled as a whole: everything that was judged of the answers of all systems at stake, or of the
documents that all runs have in their top ranks. Where two systems are to be compared, the queries on which
they gave the same answer need no label: they do not differ there, whatever people would say. Where queries
depend on each other, as turns of a conversation do, whole clusters of them are drawn.

Of pairs of answers, single ones are drawn (`of_pairs`): few of each query, balanced (`statistics.battles`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from msgspec import structs

from rageval.comparison.arena import battles_in, games, next_battles
from rageval.comparison.clusters import clusters_among
from rageval.comparison.intervals import corrected_pair, corrected_score
from rageval.comparison.results import Clusters, Settings
from rageval.errors import InputError, UsageError
from rageval.files.jsonl import as_line
from rageval.files.judgements import JudgementTable
from rageval.files.plans import FORMAT, Ask, AskedQuery, LabelPlan, sealed
from rageval.judges.material import DOCUMENTS, Material, tasks
from rageval.judges.rubric import Rubric, rubric_named, rubric_names
from rageval.measures.scales import OUTCOME
from rageval.records import Answer
from rageval.scoring.assessments import on
from rageval.scoring.qrels import Qrels
from rageval.scoring.runs import Run
from rageval.scoring.scores import Score
from rageval.statistics.battles import Pairing, pairs_among
from rageval.statistics.correction import FEWEST
from rageval.statistics.power import labels_needed
from rageval.text import visible

_UNITS = ("answer", "nuggets", "documents", "passage", "citation", "pair")
_NO_SYSTEM = ("nuggets", "gold")  # run ids of judgements that are of no answer
Asks = Mapping[str, Sequence[Ask]]  # by query


@dataclass(frozen=True, slots=True)
class Population:
    """Everything that can be asked: of which systems, by query.

    On the `same` queries the systems gave the same answer; `left_out` queries lack a system or a verdict.
    `clusters` are of queries that depend on each other, `clustered_by` says what they are.
    `doubts` is how unsure the judge is of a query's answers, the mean of p(1 − p), if it gives probabilities.
    """

    systems: tuple[str, ...]
    asks: Asks
    same: tuple[str, ...] = ()
    left_out: int = 0
    doubts: Mapping[str, float] = field(default_factory=dict)
    clusters: Mapping[str, str] = field(default_factory=dict)
    clustered_by: str = ""

    @property
    def queries_by_cluster(self) -> dict[str, list[str]]:
        """What is drawn: the queries to draw from, by cluster; without clusters, each is one of its own."""
        units: dict[str, list[str]] = {}
        for query in self.differing:
            units.setdefault(self.clusters.get(query, query), []).append(query)
        return units

    @property
    def differing(self) -> list[str]:
        """The queries to draw from."""
        return sorted(self.asks.keys() - set(self.same))


@dataclass(frozen=True, slots=True)
class Aim:
    """What the labels are for; with `decide` they end when that claim is decided."""

    number: int
    seed: int = 0
    measure: str | None = None
    compare: tuple[str, str] | None = None
    decide: tuple[str, str] | None = None
    level: float = 0.95
    width: float | None = None
    depth: int | None = None
    by_doubt: bool = False

    def __post_init__(self) -> None:
        if self.number < 1:
            raise UsageError(f"-n {self.number}: expected 1 or more")
        if self.by_doubt and (self.decide is not None or self.width is not None):
            raise UsageError("--by doubt: looks and widths are not supported for labels drawn by doubt")
        if self.decide is not None and self.number < FEWEST:
            raise UsageError(f"-n {self.number}: expected {FEWEST} or more; fewer labels decide nothing")


def rubric_to_ask(judged: JudgementTable, named: str | None = None) -> Rubric:
    """Return the rubric for annotators: the judge's, unless another is named."""
    if named is not None:
        return _require_askable(rubric_named(named))
    names = sorted(judged.rubrics())
    # Several of our rubrics may write judgements under one name; people are asked by the first of them.
    choices = []
    for name in names:
        ours = [rubric for rubric in rubric_names() if rubric_named(rubric).judged_as == name]
        choices.append(name if name in ours or not ours else ours[0])
    if len(set(choices)) != 1 or choices[0] not in rubric_names():
        shown = ", ".join(visible(name) or "none" for name in names)
        raise UsageError(
            f"{visible(judged.name)}: is judged by {shown}; add --rubric NAME, the rubric for annotators"
        )
    return _require_askable(rubric_named(choices[0]))


def _require_askable(rubric: Rubric) -> Rubric:
    if rubric.file.unit not in _UNITS or not (rubric.file.labels or rubric.file.ranges):
        raise UsageError(
            f"rubric {rubric.name}: judges {rubric.file.unit}, which people cannot label; use one for"
            f" {', '.join(_UNITS)}"
        )
    return rubric


def of_answers(
    judged: JudgementTable, rubric: Rubric, compare: Sequence[str] = (), answers: Sequence[Answer] = ()
) -> Population:
    """Return what a judge judged of these systems, or of all, on the queries where it judged them all."""
    judged.require_no_repeats("a plan of what to label")
    systems = _requested_systems(judged, compare)
    requested, chosen = frozenset(systems), _rubric_name(judged, rubric)
    by_query: dict[str, dict[str, dict[tuple[str, str], Ask]]] = {}
    failed: set[str] = set()
    doubts: dict[str, list[float]] = {}
    for row, line in judged.each():
        run, query = str(line.run_id), str(line.query_id)
        if run not in requested or (chosen is not None and line.rubric != chosen):
            continue
        # Who decided where the judge was unsure says no chance, and is taken to be sure.
        chance = judged.chance_in(row)
        is_known = chance == chance
        # Judges beside people must both have said something, so a query with a failure cannot be used. Where
        # a judge says a chance, and no verdict, it is left to people: these come before what is unsure.
        is_graded = line.status.startswith(("ok", "repaired"))
        if not is_graded and not is_known:
            failed.add(query)
        if judged.has_chances:
            doubt = chance * (1 - chance) if is_known else 0.0
            doubts.setdefault(query, []).append(doubt if is_graded else _LEFT_TO_PEOPLE)
        place = str(line.item_id), str(line.aspect)
        ask = Ask(run, *place, importance=line.importance, weight=line.weight)
        # Several judges may have judged the same: people are asked once.
        by_query.setdefault(query, {}).setdefault(run, {}).setdefault(place, ask)
    # Only queries of all systems: a difference of two means is of the same queries.
    whole = {q: runs for q, runs in by_query.items() if len(runs) == len(systems) and q not in failed}
    asks = {q: [ask for run in systems for ask in runs[run].values()] for q, runs in sorted(whole.items())}
    # Judgements of pairs stand with each of the two; the pair is asked as one.
    if rubric.file.unit == "pair":
        asks = {query: [Ask(pair[0], pair=pair) for pair in combinations(systems, 2)] for query in asks}
    mean_doubts = {q: math.fsum(doubts[q]) / len(doubts[q]) for q in asks if q in doubts}
    population = Population(systems, asks, left_out=len(by_query) - len(whole), doubts=mean_doubts)
    return replace(
        population, same=_same_answers(asks, systems, answers, rubric.file.sees) if compare else ()
    )


def of_pairs(judged: JudgementTable, rubric: Rubric) -> Population:
    """Return the pairs of answers that people may compare: those that a judge compared, or else all."""
    if rubric.file.unit != "pair":
        raise UsageError(
            f"--pairs: rubric {rubric.name} judges {rubric.file.unit}; use a rubric that compares two"
            " answers, such as pairwise"
        )
    systems = _requested_systems(judged, ())
    pairs: dict[str, set[Pairing]] = {}
    if on(judged, OUTCOME):
        # Labels of other pairs could correct nothing.
        for battle in battles_in(judged, games(judged)):
            pairs.setdefault(battle.query, set()).add(battle.pair)
    else:
        answered: dict[str, set[str]] = {}
        for _, line in judged.each():
            answered.setdefault(str(line.query_id), set()).update({str(line.run_id)} & set(systems))
        pairs = {query: set(pairs_among(some)) for query, some in answered.items() if len(some) > 1}
    asks = {query: [Ask(pair[0], pair=pair) for pair in sorted(pairs[query])] for query in sorted(pairs)}
    return Population(systems, asks)


def plan_of_pairs(
    population: Population,
    number: int,
    seed: int,
    rubric: Rubric,
    material: Material | None = None,
    judged: JudgementTable | None = None,
) -> LabelPlan:
    """Draw so many pairs of answers, and return the plan of what to compare; see `next_battles`."""
    candidates = {query: [ask.pair for ask in asks if ask.pair] for query, asks in population.asks.items()}
    drawn = next_battles(candidates, number, seed, judged)
    # A query comes where its first pair was drawn; each pair is named in the order in which it is shown.
    drawn_asks: dict[str, list[Ask]] = {}
    for query, first, second in drawn.order:
        drawn_asks.setdefault(query, []).append(Ask(first, pair=(first, second)))
    aim = Aim(number, seed)
    chance = len(drawn.order) / drawn.pairs
    label_plan = _plan_of(
        list(drawn_asks), replace(population, asks=drawn_asks), aim, rubric, material, chance
    )
    return sealed(structs.replace(label_plan, queries=len(population.asks), battles=str(drawn)))


def _requested_systems(judged: JudgementTable, compare: Sequence[str]) -> tuple[str, ...]:
    judged_systems = tuple(run for run in judged.runs.words if run not in _NO_SYSTEM)
    unknown = [run for run in compare if run not in judged_systems]
    if unknown or (compare and compare[0] == compare[-1]):
        raise UsageError(
            f"--compare {' '.join(map(visible, compare))}: expected two of the judged systems:"
            f" {', '.join(map(visible, judged_systems))}"
        )
    return tuple(compare) or judged_systems


def _rubric_name(judged: JudgementTable, rubric: Rubric) -> str | None:
    """Return the rubric whose judgements say what is to be labeled, None if that is all of them."""
    rubrics = judged.rubrics()
    names = {rubric.name, rubric.judged_as} & rubrics
    if len(rubrics) > 1 and len(names) != 1:
        shown = ", ".join(visible(name) or "none" for name in sorted(rubrics))
        raise UsageError(f"{visible(judged.name)}: has judgements by {shown}; choose one with --rubric")
    return names.pop() if len(rubrics) > 1 else None


def _same_answers(
    queries: Iterable[str], systems: Sequence[str], answers: Sequence[Answer], sees: Collection[str]
) -> tuple[str, ...]:
    """Return the queries with the same answer of both, from the same passages if these are judged, too."""
    contents = {
        (answer.query_id, answer.run_id): (answer.sentences, answer.passages if "passages" in sees else ())
        for answer in answers
    }
    one, other = systems
    # 1 and 2, so that answers which are not there are never the same.
    return tuple(
        query for query in queries if contents.get((query, one), 1) == contents.get((query, other), 2)
    )


def of_runs(
    qrels: Qrels, runs: Sequence[Run], rubric: Rubric, compare: Sequence[str] = (), depth: int = 10
) -> Population:
    """Return the documents in the top ranks of any run, or all judged ones if there is no run."""
    if rubric.file.unit not in ("documents", "passage"):
        raise UsageError(f"rubric {rubric.name}: judges {rubric.file.unit}; with runs, documents are labeled")
    names = [run.name for run in runs]
    if compare and (sorted({*compare} & {*names}) != sorted(compare) or compare[0] == compare[-1]):
        raise UsageError(
            f"--compare {' '.join(map(visible, compare))}: expected two of the runs:"
            f" {', '.join(map(visible, names))}"
        )
    runs = [run for run in runs if run.name in compare] if compare else runs
    tops = [{query: tuple(docs[:depth]) for query, docs in run.ranked()} for run in runs]
    tops = tops or [{query: tuple(docs) for query, docs, _ in qrels.documents()}]
    whole = [query for query in sorted(qrels.query_ids) if all(top.get(query) for top in tops)]
    asks = {}
    for query in whole:
        nuggets = qrels.nuggets(query) if rubric.file.unit == "documents" else ["0"]
        # By id: an order by rank or by run would tell the annotator what the systems thought.
        documents = sorted({doc for top in tops for doc in top[query]})
        asks[query] = [Ask(DOCUMENTS, doc, nugget) for doc in documents for nugget in nuggets]
    same = [query for query in whole if len({top[query] for top in tops}) == 1] if compare else []
    systems = tuple(compare) or tuple(run.name for run in runs) or (DOCUMENTS,)
    return Population(systems, asks, tuple(same), len(qrels.query_ids) - len(whole))


def labels_for(
    width: float,
    scores: Sequence[Score],
    compare: tuple[str, str] | None,
    same: Collection[str] = (),
    level: float = 0.95,
    clusters: Clusters | None = None,
) -> int:
    """Return how many queries to label for an interval of ± `width`, from human labels of a pilot.

    The `scores` have human values beside the judge's, for two compared systems, or for all. `clusters` are of
    queries that depend on each other: by default, of turns their conversations.
    """
    if compare is not None:
        one, other = scores
        estimates = [corrected_pair(one, other, compare, None)]
    else:
        estimates = [corrected_score(score, None) for score in scores]
    needed, units = [], clusters_among(scores, Settings(clusters=clusters))
    for estimate in estimates:
        if estimate.estimate is None:
            raise UsageError(f"--pilot: {estimate.reason}")
        alike = {index for index, query in enumerate(estimate.queries) if query in same}
        labels = {index: value for index, value in estimate.people.items() if index not in alike}
        how = {"paired": compare is not None, "level": level, "span": estimate.how["span"]}
        # Queries with the same answers differ by 0 for certain, and need no label.
        if units is not None:
            how["clusters"] = [units[query] for query in estimate.queries]
        number = labels_needed(estimate.judged, labels, width, same=alike, **how)
        if number is None:
            raise UsageError(
                f"impossible: N is too small: {len(estimate.judged):,} queries can never give ± {width:g};"
                " use a larger --width, or more queries"
            )
        needed.append(number)
    # With several systems the one that needs most decides, as all are labeled on the same queries.
    return max(needed)


def plan(population: Population, aim: Aim, rubric: Rubric, material: Material | None = None) -> LabelPlan:
    """Draw queries, and return the plan of what to label; with `material` it includes the texts."""
    units = population.queries_by_cluster
    what = "clusters" if population.clusters else "queries"
    if aim.number > len(units):
        same = f" ({len(population.same):,} more queries have the same answers)" if population.same else ""
        raise UsageError(
            f"-n {aim.number}: expected at most {len(units):,}, the {what} that can be labeled{same}"
        )
    if aim.by_doubt and population.clusters:
        raise UsageError("--by doubt draws single queries, but these are in clusters; add --cluster none")
    # All are drawn, and the first taken: a longer plan with the same seed begins with the shorter one.
    rng = random.Random(f"{FORMAT}/{aim.seed}")
    sizes = _sizes(population) if aim.by_doubt else {}
    there = list(units)
    drawn = (_weighted_order(sizes, rng) if sizes else rng.sample(there, len(there)))[: aim.number]
    order = [query for unit in drawn for query in units[unit]]
    label_plan = _plan_of(order, population, aim, rubric, material, aim.number / len(units))
    return sealed(structs.replace(label_plan, sizes=sizes))


def _plan_of(
    order: Sequence[str],
    population: Population,
    aim: Aim,
    rubric: Rubric,
    material: Material | None,
    inclusion: float,
) -> LabelPlan:
    """Return the plan of these queries in this order, not sealed yet."""
    texts = _texts_by_place(rubric, material, order, population.systems) if material else None
    file = rubric.file
    return LabelPlan(
        plan=FORMAT,
        seed=aim.seed,
        rubric=f"{rubric.judged_as}@{rubric.digest}",
        kind="pair" if file.unit == "pair" else "grades" if file.ranges else "label",
        systems=population.systems,
        queries=len(population.asks),
        inclusion=inclusion,
        clusters=dict(population.clusters),
        clustered_by=population.clustered_by,
        asked=tuple(_ask_query(query, population.asks[query], texts) for query in order),
        instructions="\n\n".join(filter(None, (file.prompt.system.strip(), file.prompt.template.strip()))),
        labels=dict(file.labels),
        # Reversed, so that of several words for a label the first in the rubric's file is shown.
        names={label: word for word, label in reversed(file.values.items()) if word.isalpha()},
        ranges=dict(file.ranges),
        whole=file.whole,
        measure=aim.measure,
        compare=aim.compare,
        same=population.same,
        level=aim.level,
        decide=aim.decide,
        width=aim.width,
        depth=aim.depth,
    )


_LEFT_TO_PEOPLE = 1e6  # more than all that judges doubt together: these queries are drawn for certain
_LEAST_DOUBT = 0.01  # p(1 − p): a judge that is surer than that may be so without reason


def _sizes(population: Population) -> dict[str, float]:
    """Return what chances are in proportion to: the standard deviation of a verdict, as the judge sees it.

    That is Neyman's allocation: where a verdict may be off by more, a label tells more.
    """
    if not population.doubts:
        raise UsageError("--by doubt: the judgements have no probabilities (p); the judge `short` gives them")
    doubts = ((query, population.doubts[query]) for query in population.differing)
    return {query: round(math.sqrt(max(doubt, _LEAST_DOUBT)), 6) for query, doubt in doubts}


def _weighted_order(sizes: Mapping[str, float], rng: random.Random) -> list[str]:
    """Return an order whose first n, for any n, are a draw with chances in proportion to size.

    Sequential Poisson sampling: each has a random number, and those come first whose number is smallest for
    their size.
    """
    drawn = {query: rng.random() / size for query, size in sizes.items()}
    return sorted(sizes, key=lambda query: (drawn[query], query))


_Place = tuple[str, ...]  # query, run, item, aspect; of a pair query and systems


@dataclass(frozen=True, slots=True)
class _Text:
    """What is shown: what it is about, the nugget or aspect in question, and what is known besides."""

    context: Mapping[str, Any]
    text: str
    also: Mapping[str, Any]


def _ask_query(query: str, asks: Sequence[Ask], texts: Mapping[_Place, _Text] | None) -> AskedQuery:
    if texts is None:
        return AskedQuery(query, tuple(asks))
    contexts: dict[str, dict[str, Any]] = {}
    asked = []
    for ask in asks:
        shown = _text_of(query, ask, texts)
        key = as_line(dict(shown.context))
        # A text that many asks share, such as the answer, stands in the plan once.
        contexts.setdefault(key, dict(shown.context))
        fields = {"importance": ask.importance, "weight": ask.weight}
        also = {**shown.also, **{name: value for name, value in fields.items() if value is not None}}
        details = {name: also.get(name) for name in ("importance", "weight", "sentences")}
        index = list(contexts).index(key)
        asked.append(
            Ask(ask.run_id, ask.item_id, ask.aspect, **details, context=index, text=shown.text, pair=ask.pair)
        )
    return AskedQuery(query, tuple(asked), tuple(contexts.values()))


def _text_of(query: str, ask: Ask, texts: Mapping[_Place, _Text]) -> _Text:
    """Return what is shown; an aspect that is no id is the text of a nugget."""
    if ask.pair is not None:
        text = texts.get((query, *ask.pair))
    else:
        place = query, ask.run_id, ask.item_id
        # By the nugget's id, or else by its text, by which older judgements call it.
        text = texts.get((*place, ask.aspect)) or texts.get((*place, "", ask.aspect))
    if text is None:
        raise InputError(
            problem=f"query {visible(query)}, run {visible(ask.run_id)}, item"
            f" {visible(ask.item_id)[:80]}, aspect {visible(ask.aspect)[:80]} was judged, but"
            " its text is missing",
            remedy="pass the files it was judged from (--answers, --nuggets, --questions, --passages)",
        )
    return text


def _texts_by_place(
    rubric: Rubric, material: Material, queries: Collection[str], systems: Collection[str]
) -> dict[_Place, _Text]:
    """Return what is shown of each thing that may be asked, by its place; nuggets by their texts, too."""
    order = {system: index for index, system in enumerate(systems)}
    requested = set(queries)
    # One that failed has no text that a person could be shown.
    answers = [a for a in material.answers if a.query_id in requested and a.run_id in order and not a.error]
    answers.sort(key=lambda answer: order[answer.run_id])  # of a pair the first is the plan's first
    candidates = {query: docs for query, docs in material.candidates.items() if query in set(queries)}
    texts: dict[_Place, _Text] = {}
    for task in tasks(rubric, replace(material, answers=answers, candidates=candidates)):
        for name, rows in task.rows.items():
            row, shown = rows[0], _context_and_text(task.data, name)
            text = _Text(shown[0], shown[1], row.also)
            if row.shown:
                texts[row.query, *row.shown] = text
            else:
                texts[row.query, row.run, row.item, row.aspect] = text
                # The place between is empty so that no text can be taken for an id.
                texts.setdefault((row.query, row.run, row.item, "", text.text), text)
    return texts


def _context_and_text(data: Mapping[str, Any], name: str) -> tuple[dict[str, Any], str]:
    """Return what one verdict is about: what is shown with it, and the text of its nugget or aspect."""
    listed = {item["id"]: item["text"] for key in ("nuggets", "documents") for item in data.get(key, ())}
    context = {key: value for key, value in data.items() if key not in ("nuggets", "documents") and value}
    # A verdict of several documents is named by document and nugget, with a tab between.
    document, _, nugget = name.rpartition("\t")
    if document:
        context["passage"] = listed[document]
    return context, listed.get(nugget, nugget)
