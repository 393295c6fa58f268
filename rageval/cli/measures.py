"""`rageval measures`: what can be measured, and what exactly a measure is."""

from __future__ import annotations

import click

from rageval.cli._options import Command, completing
from rageval.cli._output import print_lines
from rageval.measures import builtin, known, measures_taking
from rageval.measures.base import Measure
from rageval.measures.official import OFFICIAL
from rageval.measures.papers import entries
from rageval.measures.parsing import ALIASES, SHORT, parse_measure
from rageval.plugins import plugin_names
from rageval.subjects import KINDS


@click.command(cls=Command)
@click.argument("name", required=False, shell_complete=completing("measures"))
def measures(name: str | None) -> None:
    """List the measures, or show the page of NAME: formula, range, caveats, what is better, paper."""
    print_lines([_measure_page(name) if name else _measure_listing()])


_LONGEST = 88  # of what a named set holds


def _measure_listing() -> str:
    width = max(map(len, builtin())) + 2
    lines: list[str] = []
    for name, argument in (pair for kind in KINDS for pair in kind.arguments.items()):
        lines += [*([""] if lines else []), f"{argument.head}:"]
        lines += [f"{measure.name:<{width}}{measure.summary}" for measure in measures_taking(name).values()]
    lines += [f"{name:<{width}}{meaning}" for name, meaning in SHORT.items()]
    for name in plugin_names("measures"):
        is_hidden = known(name) or name in {**ALIASES, **SHORT}
        note = "(plug-in; unavailable, because rageval has this name)" if is_hidden else "(plug-in)"
        lines.append(f"{name:<{width}}{note}")
    lines += ["", "Named sets:"]
    for name, members in OFFICIAL.items():
        names = " ".join(members)
        shown = names if len(names) <= _LONGEST else names[: _LONGEST - 1] + "…"
        lines.append(f"official:{name}  {shown}")
    lines += ["", "Every other measure of ir_measures works too, such as Rprec, Bpref or IPrec@0.1."]
    lines += ["High values are good, except for a few measures: see each measure's page."]
    lines += [
        "trec_eval's names work too: P.5,10, ndcg_cut_10, num_ret; -m official and -m all_trec are its sets."
    ]
    lines += ["Put a cut-off after @ and parameters in parentheses: alpha_ndcg(alpha=0.7,rel=2)@20."]
    return "\n".join(lines)


def _measure_page(name: str) -> str:
    measure = parse_measure(name)
    papers = "".join(f"\n\n{entry}" for entry in entries(measure.about.papers).values())
    if not isinstance(measure, Measure):
        return (
            f"{measure}: computed by ir_measures; see its documentation, or help(ir_measures.{measure.name})"
            f"\n\nBetter: {measure.better}{papers}"
        )
    parameters = [f"{parameter.name}={parameter.default}" for parameter in measure.declared.values()]
    head = measure.name + (f"({', '.join(parameters)})" if parameters else "") + "@k" * measure.takes_k
    return f"{head}\n\n{measure.page}\n\nBetter: {measure.directions}{papers}"
