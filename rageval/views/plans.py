"""What is said of a plan of labels that was drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison.plans import Population
    from rageval.files.plans import LabelPlan


def plan_messages(drawn_plan: LabelPlan, population: Population) -> Iterator[str]:
    """Say how much there is to label, and what was left out."""
    labels = sum(len(query.asks) for query in drawn_plan.asked)
    number, rest = len(drawn_plan.asked), drawn_plan.rest
    if drawn_plan.battles:
        pairs = sum(map(len, population.asks.values()))
        yield f"{labels:,} of {pairs:,} pairs of answers to compare (seed {drawn_plan.seed})"
    else:
        yield f"{number:,} of {rest:,} queries to label, {labels:,} labels (seed {drawn_plan.seed})"
    if drawn_plan.clusters:
        clusters = {drawn_plan.clusters.get(query, query) for query in drawn_plan.order}
        units, by = len(population.queries_by_cluster), visible(drawn_plan.clustered_by)
        yield f"these are {len(clusters):,} whole clusters of {units:,}, by {by}"
    if population.same:
        yield f"{len(population.same):,} queries have the same answers by both, and need no label"
    if population.left_out:
        yield f"{population.left_out:,} queries lack a system or a verdict, and are left out"
    if drawn_plan.width is not None:
        yield f"this many are needed for ± {drawn_plan.width:g} by {drawn_plan.measure}"
        yield (
            "the pilot's labels are included: import them into the new page"
            if drawn_plan.extends
            else "the pilot's labels are not the beginning of this order (another seed or no plan): they do"
            " not count"
        )
    if drawn_plan.decide is not None:
        yield "you may check whenever you like: rageval compare --gold says whether to go on"
    if not any(query.contexts for query in drawn_plan.asked):
        yield "the plan has no texts: for rageval label page, make it with the judged files (--answers …)"
