"""Options that would change nothing are refused, with what they need: one table for all commands.

An option that is typed and silently without effect lets its user believe what is not so. Only what is typed
is refused: defaults, and what a policy settles for several commands, may go unused. Limits that hold anyway
(`--max-cost`, `--limit`) and what is said for the case that it is needed (`--dedup`, `--store`) act.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import click

from rageval.errors import UsageError

_JUDGES_ASK = "asks"  # some judge is a model, which is asked
_TABLES = "tables"  # some word is a table of answers, which is judged
_Clauses = tuple[tuple[tuple[str, ...], str], ...]  # any of these, and how that is said; all must hold

_LATEX: _Clauses = ((("style=latex",), "applies to LaTeX tables; add --format latex"),)
_LABELS: _Clauses = ((("gold",), "applies to human labels; add --gold FILE"),)
_IN_BATCHES: _Clauses = ((("batch",), "applies to batches; add --batch"),)
_NOT_JSON: _Clauses = tuple(
    ((f"style!={style}",), f"changes nothing with --format {style}, which prints every digit")
    for style in ("json", "jsonl")
)
_WHOLE: _Clauses = (
    (("!by",), "changes nothing with --by, which prints one row for each group; leave one out"),
)
_VERDICT: _Clauses = (
    (("!save_baseline",), "applies to a verdict, but --save-baseline does not gate; leave one out"),
)
_AGAIN: _Clauses = ((("aa", _TABLES), "applies to judging again; add --aa N"),)
_ASKED: _Clauses = (((_JUDGES_ASK,), "applies to models, and no --judge here is one"),)
_SEVERAL: _Clauses = ((("judges>1",), "applies to several judges; give --judge twice or more"),)

# By parameter, or by command and parameter.
_NEEDS: Mapping[str, _Clauses] = {
    **dict.fromkeys(("caption", "score label", "compare label", "compare show"), _LATEX),
    "size": ((("plot",), "applies to figures; add --plot FILE"),),
    **dict.fromkeys(("gold_chosen", "population"), _LABELS),
    **dict.fromkeys(("poll_every", "rebuy"), _IN_BATCHES),
    "places": _NOT_JSON,
    "score by_query": _WHOLE,
    "score no_summary": (*_WHOLE, *_NOT_JSON),
    "draws": (
        (("test=randomization", "adjust=max_t"), "applies to sign flips, which --test t does not use"),
    ),
    "gate anchor_margin": ((("anchor",), "applies to the anchor; add --anchor FILE"), *_VERDICT),
    "gate slice_margin": ((("by",), "applies to slices; add --by"), *_VERDICT),
    **dict.fromkeys(
        (
            *("gate margin", "gate block", "gate judge_changed", "gate inconclusive", "gate first_run"),
            *("gate level", "gate interval", "gate cluster", "gate resamples", "gate seed"),
            *("gate fail_under", "gate baseline", "gate aa", "gate ledger"),
            *("gate anchor", "gate history"),
        ),
        _VERDICT,
    ),
    **dict.fromkeys(("gate rubric", "gate store", "gate max_cost", "gate max_calls", "gate price"), _AGAIN),
    "judge depth": ((("runs",), "applies to the documents of runs; add --run FILE"),),
    "judge rel": ((("qrels",), "applies to judgements of documents; add --qrels FILE"),),
    "judge on_missing": ((("measures",), "applies to scores; add -m MEASURE"),),
    "judge disagreements": _SEVERAL,
    "judge tiebreak": _SEVERAL,
    **dict.fromkeys(("judge shard", "judge batch", "judge refresh", "judge retry"), _ASKED),
    # That none are planted is so of a judge that is not asked, too.
    "judge canaries": (((_JUDGES_ASK, "canaries=0"), _ASKED[0][1]),),
    "conformance seed": ((("fuzz",), "applies to random cases; add --fuzz N"),),
    "conformance output": (
        (("!fuzz",), "changes nothing with --fuzz, which prints results as it finds them"),
    ),
    "conformance style": (
        (("!fuzz",), "changes nothing with --fuzz, which prints inputs as JSON lines"),
        (("!vectors",), "changes nothing with --vectors, which are JSON lines"),
    ),
}
_OF_RUNS, _OF_ANSWERS = "runs", "judged answers"
# By parameter, or by command and parameter: of which of the two, unless another option is there.
_OF_ONE_KIND: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "jobs": (_OF_RUNS, ()),
    "dask": (_OF_RUNS, ()),
    "questions": (_OF_ANSWERS, ("by", "group_by", "weights", "cluster")),
}


def refuse_idle(ctx: click.Context) -> None:
    """Refuse what was typed and needs another option that is not there."""
    for param in _typed(ctx):
        for any_of, why in _rules(_NEEDS, ctx, param) or ():
            if not any(_holds(each, ctx.params) for each in any_of):
                raise UsageError(f"{_called(param)} {why}")


def refuse_idle_for(are_answers: bool) -> None:
    """Refuse what was typed and changes nothing for the kind of input that was found."""
    ctx = click.get_current_context(silent=True)
    if ctx is None:
        return
    kind = _OF_ANSWERS if are_answers else _OF_RUNS
    for param in _typed(ctx):
        only, others = _rules(_OF_ONE_KIND, ctx, param) or (kind, ())
        if only != kind and not any(_holds(each, ctx.params) for each in others):
            ways = "".join(f", or --{name.replace('_', '-')}" for name in others if name in ctx.params)
            raise UsageError(f"{_called(param)} changes nothing for {kind}; use it with {only}{ways}")


def is_typed(name: str) -> bool:
    """Tell whether a parameter of the command was typed."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and any(param.name == name for param in _typed(ctx))


def _rules(table: Mapping[str, Any], ctx: click.Context, param: click.Parameter) -> Any:
    return table.get(f"{ctx.info_name} {param.name}") or table.get(param.name or "")


def _typed(ctx: click.Context) -> Iterable[click.Parameter]:
    for param in ctx.command.params:
        source = ctx.get_parameter_source(param.name or "")
        if isinstance(param, click.Option) and source is not None and source.name == "COMMANDLINE":
            yield param


def _called(param: click.Parameter) -> str:
    return max(param.opts, key=len)


def _holds(clause: str, given: Mapping[str, Any]) -> bool:
    """Tell whether a clause holds: a parameter is given, is not, has (or has not) a value, or several."""
    if clause == _JUDGES_ASK:
        from rageval.judges.panel import asks_nobody

        asked = (*given["judges"], *filter(None, (given.get("tiebreak"), given.get("then"))))
        return not all(map(asks_nobody, asked))
    if clause == _TABLES:
        from rageval.files.kinds import is_table

        return any(os.path.isfile(word) and is_table(word) for word in given["words"])
    if clause.startswith("!"):
        return not given.get(clause[1:])
    for sign in ("!=", ">", "="):
        name, found, value = clause.partition(sign)
        if found:
            said = given.get(name)
            if sign == ">":
                return len(said or ()) > int(value)
            return (str(said) == value) == (sign == "=")
    return bool(given.get(clause))
