"""From what people type to measures: `alpha-nDCG@10`, `R@50`, `coverage@20,recall@50`, `official:ndeval`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rageval.errors import MeasureError, UnknownParameter
from rageval.measures import builtin, known
from rageval.measures.base import Measure, _checked_cutoff
from rageval.measures.foreign import ForeignMeasure, _foreign_measure, is_of_ir_measures
from rageval.measures.official import OFFICIAL, every_cutoff, of_trec_eval, why_not
from rageval.names import suggestion
from rageval.plugins import plugin, plugin_names
from rageval.records import is_frame
from rageval.version import __version__

AnyMeasure = Measure | ForeignMeasure

# What other tools call our measures. Names are compared in lower case, with _ for -.
ALIASES = {
    "pass": "pass_any",
    "r": "recall",
    "map": "ap",
    "mrr": "rr",
    "recip_rank": "rr",
    "precision": "p",
    "ap_ia": "map_ia",
    "strecall": "strec",
    "s_recall": "strec",
    "d_msndcg": "d_ndcg",
    "d#_ndcg": "d_sharp",
    "d♯_ndcg": "d_sharp",
    "ndcg_cut": "ndcg",
    "map_cut": "ap",
    "unj": "hole",
    "hit": "success",
    "exam": "coverage",
    "n_exam": "strec",
    "citation_rec": "alce_recall",
    "citation_prec": "alce_precision",
    "factscore": "claim_faithfulness",
    "noise_sensitivity_in_relevant": "noise_relevant",
    "noise_sensitivity_in_irrelevant": "noise_irrelevant",
    "hit_rate": "success",
}
# Names of ranx that mean something else than the nearest of ours.
OF_RANX = {
    "hits": "ranx counts the relevant documents by it; success@10 (hit_rate@10) says whether there is one,"
    " and 10 times precision@10 is that count",
    "f1": "of documents it is not offered; precision and recall are",
    "ndcg_burges": "ask for nDCG(dcg=exp-log2)@10",
    "dcg_burges": "it is not offered; nDCG(dcg=exp-log2)@10 is",
    "dcg": "it is not offered; nDCG@10 is",
}
SETS = {"official": "trec_eval", "all_trec": "all_trec"}  # trec_eval's, without 'official:' before them
# Short names for measures with parameters.
SHORT = {
    "citation_support": "citation_precision(citations=micro)",
    "nugget_coverage_weighted": "nugget_coverage(importance=weighted)",
    "v_strict": "nugget_recall(importance=vital)",
    "a_strict": "nugget_recall",
    "v": "nugget_recall(importance=vital,credit=partial)",
    "a": "nugget_recall(credit=partial)",
    "w": "nugget_recall(importance=weighted,credit=partial)",
    "accuracy": "crag_share",
    "hallucination": "crag_share(label=incorrect)",
    "missing": "crag_share(label=missing)",
    "truthfulness": "crag_score",
    "exam": "coverage@20",
    "n_exam": "strec@20",
}
_PART = re.compile(r"(?P<name>[^()@]+)(?:\((?P<parameters>.*)\))?(?:@(?P<k>.*))?", re.DOTALL)
_CUTOFF = re.compile(r"\d+|\d*\.\d+")
_CUT = r"(?is)(?P<head>.*?[a-z][_.]|.*@)(?P<k>\d+|\d*\.\d+)"  # compiled where a number follows a measure


def parse_measure(text: str) -> AnyMeasure:
    """Read one measure, in any spelling.

    Parameters
    ----------
    text
        Such as `alpha_ndcg(alpha=0.7)@10`, or a name of ir_measures, ndeval or trec_eval.

    Returns
    -------
    Measure
        The measure; one of ir_measures' where rageval has none of that name.

    Raises
    ------
    MeasureError
        No measure has this name, or it does not take these parameters.

    Examples
    --------
    >>> parse_measure("α-nDCG(alpha=0.7)@5"), parse_measure("R@50"), parse_measure("ndcg_cut_10")
    (alpha_ndcg(alpha=0.7)@5, recall@50, ndcg@10)
    """
    measures = parse_measures(text)
    if len(measures) != 1:
        raise MeasureError(f"expected one measure, found {len(measures)}: {text!r}")
    return measures[0]


def parse_measures(measures: object) -> list[AnyMeasure]:
    """Measures from one, from text with commas or blanks between, or from any collection of these."""
    if isinstance(measures, Measure):
        return [_refuse_taken_name(measures)]
    if isinstance(measures, ForeignMeasure):
        return [measures]
    if isinstance(measures, str):
        return [measure for _, measure in spelled(measures)]
    # A run or judgements in the place of measures could be gone through as well, and are none.
    if isinstance(measures, Iterable) and not (isinstance(measures, Mapping) or is_frame(measures)):
        return list(dict.fromkeys(measure for item in measures for measure in parse_measures(item)))
    foreign = _foreign_measure(measures)
    if foreign is None:
        raise MeasureError(f"expected a measure or its name, found {measures!r:.80}")
    return [_own(str(measures)) or foreign]


def spelled(text: str) -> list[tuple[str, AnyMeasure]]:
    """(spelling, measure) of all measures in the text; a bare number is one more cut-off of the last."""
    # Whoever pastes a signature wants that number again; no name of a measure has a bar.
    if "|" in text:
        raise _of_signature(text.strip())
    measures: list[tuple[str, AnyMeasure]] = []
    for part in _split_measures(text):
        # `P.5,10` is `P.5` and `P.10`: a bare number stands behind what the last measure begins with.
        cut = re.fullmatch(_CUT, measures[-1][0]) if measures and _CUTOFF.fullmatch(part) else None
        if part.lower() in SETS or part.lower().startswith("official:"):
            name = SETS.get(part.lower()) or part.partition(":")[2].lower()
            if name not in OFFICIAL:
                expected = f"expected one of {', '.join(OFFICIAL)}" + suggestion(name, OFFICIAL)
                raise MeasureError(f"{part}: {expected}")
            official = map(_parsed, OFFICIAL[name])
            measures.extend((str(measure), measure) for measure in official)
        elif cut:
            spelling = cut["head"] + part
            measures.append((spelling, _parsed(spelling)))
        else:
            # A family of trec_eval's stands for several names, any other name for itself.
            names = [part] if _is_of_ours(part) else every_cutoff(part) or [part]
            measures.extend((name, _parsed(name)) for name in names)
    if not measures:
        raise MeasureError("no measure named; expected something like alpha_ndcg@10 (see: rageval measures)")
    return measures


def _split_measures(text: str, blanks: bool = True) -> list[str]:
    """Return the text cut at commas, and at blanks, outside parentheses, brackets and braces."""
    parts, depth = [""], 0
    for character in text:
        # Within parentheses a comma parts parameters, not measures.
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and (character == "," or (blanks and character.isspace())):
            parts.append("")
        else:
            parts[-1] += character
    if depth:
        raise MeasureError(
            f"{text!r}: a parenthesis is not closed, expected something like alpha_ndcg(alpha=0.7)@10"
        )
    return [part.strip() for part in parts if part.strip()]


def _is_of_ours(text: str) -> bool:
    """Return whether a measure of ours has this name, so that trec_eval's need not be known."""
    return known(_folded(text.partition("@")[0].partition("(")[0])) is not None


def _parsed(text: str) -> AnyMeasure:
    """Ours if we have it, else ir_measures', else an error that helps."""
    # The tables of trec_eval's names are loaded where a name is not ours.
    if not _is_of_ours(text):
        text = of_trec_eval(text.strip()) or text
    try:
        own = _own(text)
    except UnknownParameter:
        foreign = _foreign_measure(text)  # a parameter only ir_measures knows, such as judged_only
        if foreign is None:
            raise
        return foreign
    return own or _parse_foreign(text)


def _parse_foreign(text: str) -> ForeignMeasure:
    """Return a measure of ir_measures', or raise an error that helps."""
    why = why_not(text)
    if why is not None:
        raise MeasureError(f"{text}: this measure of trec_eval's is not offered; {why}")
    name = _folded(text.partition("@")[0].partition("(")[0])
    if name in OF_RANX:
        raise MeasureError(f"{text}: {OF_RANX[name]}")
    theirs = _foreign_measure(re.sub(r"(?i)^\s*r[-_]precision", "Rprec", text))
    if theirs is None:
        names = [*builtin(), *ALIASES, *SHORT, *plugin_names("measures")]
        hint = suggestion(name, names) or "; see: rageval measures"
        raise MeasureError(f"unknown measure {text!r}{hint}")
    return theirs


def _own(text: str) -> Measure | None:
    """Return the measure if the name is ours or a plug-in's; report errors in its parameters and cut-off."""
    # All of k, as papers write it: pass^3 is no power.
    text = re.sub(r"(?i)^pass(\(.*\))?\^(?=\d)", r"pass_all\1@", text.strip())
    part = _PART.fullmatch(text)
    if part is None:
        return None
    name = _folded(part["name"])
    if name in SHORT and part["parameters"] is None and part["k"] is None:
        # Written with the capitals of ir_measures, as `Accuracy` is, it is theirs.
        return None if is_of_ir_measures(part["name"]) else _own(SHORT[name])
    name = ALIASES.get(name, name)
    ours = known(name) or plugin("measures", name)
    if ours is None:
        return None
    if not isinstance(ours, Measure):
        raise MeasureError(
            f"the plug-in measure {name!r} is a {type(ours).__name__}, expected a rageval Measure, as"
            " @rageval.measure makes of a function"
        )
    if _folded(ours.name) != name:
        raise MeasureError(
            f"the plug-in {name!r} is the measure {ours.name}, and would print as that; expected an entry"
            f" point called {ours.name}"
        )
    if part["parameters"] is not None:
        ours = ours(**_parameters(part["parameters"], text))
    return ours if part["k"] is None else ours @ _checked_cutoff(part["k"], name)


def _refuse_taken_name(measure: Measure) -> Measure:
    """Return the measure, if its name does not stand for another one: a value says only what it is called."""
    ours = known(measure.name)
    if (ours and ours.function is not measure.function) or {measure.name} & {*ALIASES, *SHORT}:
        raise MeasureError(
            f"{measure.name}: rageval has a measure of this name (rageval measures {measure.name});"
            " give yours another one"
        )
    return measure


def _folded(name: str) -> str:
    return (
        name.strip()
        .lower()
        .replace("-", "_")
        .replace("α", "alpha")
        .replace("β", "beta")
        .replace("alphan", "alpha_n")
    )


def _parameters(text: str, whole: str) -> Mapping[str, Any]:
    parameters = {}
    for part in _split_measures(text, blanks=False):
        name, equals, value = part.partition("=")
        if not equals:
            raise MeasureError(f"{whole}: expected NAME=VALUE in the parentheses, found {part!r}")
        name = {"α": "alpha", "β": "beta", "γ": "gamma", "normalize": "normalize"}.get(
            name.strip(), name.strip().lower().replace("-", "_")
        )
        parameters[name] = value.strip().strip("'\"")
    return parameters


def _of_signature(text: str) -> MeasureError:
    """Return what to ask for instead of the signature of a number that somebody wants again."""
    name, *parts = text.split("|")
    rules = dict(part.partition(":")[::2] for part in parts)
    version = rules.pop("v", __version__)
    older = (
        "" if version == __version__ else f"; it was made by rageval {version:.40}, and this is {__version__}"
    )
    if name in ("compare", "gate"):
        how = f"its parts are options of rageval {name}"
    else:
        measure = _parsed(name)
        # A signature names every parameter, and the rules of scoring in one row with them: these are left.
        if isinstance(measure, Measure):
            measure = measure(**{rule: rules.pop(rule) for rule in measure.declared if rule in rules})
        if rules.get("ties") == "trec":
            del rules["ties"]
        how = f"ask for {measure}"
        how += f" under the rules that it names ({', '.join(rules)})" if rules else ""
    return MeasureError(
        f"{text:.200} is a signature, expected a measure; {how}, and compare the signatures (--format cite)"
        f"{older}"
    )
