"""Options that change a number or a claim, and would not, are refused: one table for all commands.

Whoever types `--gold-chosen` without labels, or `--canaries` for a judge that is not asked, would believe
what is not so. What only prints, or makes work faster, is ignored where there is nothing for it to do. Only
what is typed is refused: defaults, and what a policy settles for several commands, may go unused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import click

from rageval import hooks
from rageval.errors import UsageError
from rageval.files.kinds import is_table

_JUDGES_ASK = "asks"  # some judge is a model, which is asked
_TABLES = "tables"  # some word is a table of answers, which is judged
_Clauses = tuple[tuple[tuple[str, ...], str], ...]  # any of these, and how that is said; all must hold

_LABELS: _Clauses = ((("gold",), "applies to human labels; add --gold FILE"),)
_VERDICT: _Clauses = (
    (("!save_baseline",), "applies to a verdict, but --save-baseline does not gate; leave one out"),
)
_ASKED: _Clauses = (((_JUDGES_ASK,), "applies to models, and no --judge here is one"),)
_SEVERAL: _Clauses = ((("judges>1",), "applies to several judges; give --judge twice or more"),)

# By parameter, or by command and parameter.
_NEEDS: Mapping[str, _Clauses] = {
    **dict.fromkeys(("gold_chosen", "population"), _LABELS),
    "judge gold_chosen": ((("gold", "fit"), "applies to human labels; add --gold FILE or --fit FILE"),),
    "agree gold_chosen": ((("labels",), "applies to human labels; give JUDGED and GOLD"),),
    "draws": (
        (
            ("test=auto", "test=randomization", "adjust=max_t"),
            "applies to sign flips, which --test t does not use",
        ),
    ),
    "gate anchor_margin": ((("anchor",), "applies to the anchor; add --anchor FILE"), *_VERDICT),
    "gate slice_margin": ((("by",), "applies to slices; add --by"), *_VERDICT),
    **dict.fromkeys(
        (
            *("gate margin", "gate block", "gate judge_changed", "gate inconclusive", "gate first_run"),
            *("gate fail_under", "gate baseline", "gate aa", "gate anchor"),
        ),
        _VERDICT,
    ),
    "gate rubric": ((("aa", _TABLES), "applies to judging again; add --aa N"),),
    "judge depth": ((("runs",), "applies to the documents of runs; add --run FILE"),),
    "judge rel": ((("qrels",), "applies to judgements of documents; add --qrels FILE"),),
    "judge on_missing": ((("measures",), "applies to scores; add -m MEASURE"),),
    "judge disagreements": _SEVERAL,
    "judge tiebreak": _SEVERAL,
    "judge shard": _ASKED,
    # That none are planted is so of a judge that is not asked, too.
    "judge canaries": (((_JUDGES_ASK, "canaries=0"), _ASKED[0][1]),),
}


def refuse_idle(ctx: click.Context) -> None:
    """Refuse what was typed and needs another option that is not there."""
    for param in _typed_params(ctx):
        name = param.name or ""
        for any_of, why in _NEEDS.get(f"{ctx.info_name} {name}") or _NEEDS.get(name, ()):
            if not any(_holds(clause, ctx.params) for clause in any_of):
                raise UsageError(f"{max(param.opts, key=len)} {why}")


def is_typed(name: str) -> bool:
    """Tell whether a parameter of the command was typed."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and any(param.name == name for param in _typed_params(ctx))


def _typed_params(ctx: click.Context) -> Iterable[click.Parameter]:
    for param in ctx.command.params:
        source = ctx.get_parameter_source(param.name or "")
        if isinstance(param, click.Option) and source is not None and source.name == "COMMANDLINE":
            yield param


def _holds(clause: str, given: Mapping[str, Any]) -> bool:
    """Tell whether a clause holds: a parameter is given, is not, has a value, or several."""
    if clause == _JUDGES_ASK:
        asked = (*given["judges"], *filter(None, (given.get("tiebreak"), given.get("then"))))
        return not all(map(hooks.asks_nobody, asked))
    if clause == _TABLES:
        return any(os.path.isfile(word) and is_table(word) for word in given["words"])
    if clause.startswith("!"):
        return not given.get(clause[1:])
    for sign in (">", "="):
        name, sign_found, value = clause.partition(sign)
        if sign_found:
            typed = given.get(name)
            return len(typed or ()) > int(value) if sign == ">" else str(typed) == value
    return bool(given.get(clause))
