"""The tools beside rageval: which measures each has, and what it says of a vector."""

from __future__ import annotations

import csv
import os
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rageval.conformance._vectors import AnswerVector, RunVector
from rageval.errors import RagevalError
from rageval.measures.base import Measure

ByMeasure = dict[str, dict[str, float]]
_Run = dict[str, dict[str, float]]
_Grades = dict[str, dict[str, int]]


def run_rows(vector: RunVector) -> list[tuple[str, str, float]]:
    """Query, document, score."""
    return [(query, doc, float(score)) for query, doc, score in vector.run]


def run_of(vector: RunVector) -> _Run:
    """Return the run as a mapping, which holds a document once."""
    found: _Run = {}
    for query, doc, score in run_rows(vector):
        found.setdefault(query, {})[doc] = score
    return found


def document_grades(vector: RunVector) -> _Grades:
    """Return the highest grade of each document over the nuggets; what is below 0 is worth 0."""
    found: _Grades = {}
    for query, _, doc, grade in vector.qrels:
        grades = found.setdefault(query, {})
        grades[doc] = max(grade, grades.get(doc, 0))
    return found


def queries_of(vector: RunVector) -> list[str]:
    """Return the judged queries."""
    return list(dict.fromkeys(query for query, *_ in vector.qrels))


def only(values: Iterable[tuple[str, float]], vector: RunVector) -> dict[str, float]:
    """Return the values of judged queries."""
    judged = set(queries_of(vector))
    return {query: float(value) for query, value in values if query in judged}


class NotAsked(RagevalError):
    """A question that cannot be put to this tool as a whole."""


class Lacks(RagevalError):
    """A measure that this tool would have if more of it were installed."""


@dataclass(frozen=True)
class Peer:
    """A tool: which measures it has, what it says of a vector, and by which rules.

    `package` is what it is installed as, a `program` is looked for on the PATH in its place, and says its
    version itself. `rules` are options with which rageval goes by its rules, `reproduced` the topics (see
    `reasons`) that these are about, `tolerance` is what it rounds away; `options` are those of a vector that
    it knows, too.
    """

    package: str
    has: Callable[[Measure], bool]
    values: Callable[[Sequence[Measure], Any], ByMeasure]
    rules: Mapping[str, Any]
    reproduced: Collection[str]
    tolerance: float = 1e-12
    options: Collection[str] = ()
    program: str = ""
    version: Callable[[], str] | None = None


def with_cutoff(names: Mapping[str, str], measure: Measure, pattern: str) -> str | None:
    """Return the tool's name for a measure of ours at its cut-off, if it has one."""
    name = names.get(measure.name)
    return None if name is None or measure.k is None else pattern.format(name, measure.k)


class ProgramFailed(Exception):
    """It ended with another code than 0; what it said last."""


def output(words: Sequence[str], files: Iterable[Iterable[str]]) -> str:
    """Return what the program prints, asked with these words and then the paths of files with these lines."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for at, lines in enumerate(files):
            paths.append(os.path.join(folder, str(at)))
            with open(paths[-1], "w", encoding="utf-8", newline="\n") as file:
                file.writelines(line + "\n" for line in lines)
        done = subprocess.run([*words, *paths], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        last = said[-1].replace(folder, "") if said else "nothing said"
        raise ProgramFailed(f"exit code {done.returncode}: {last}")
    return done.stdout.decode(errors="replace")


# trec_eval 9, for documents judged once: as pytrec_eval, and as the C program.
_PROGRAM = "trec_eval"
TREC_EVAL_WITH_CUTOFF = {
    "ndcg": "ndcg_cut",
    "ap": "map_cut",
    "p": "P",
    "recall": "recall",
    "success": "success",
}
TREC_EVAL_WITHOUT_CUTOFF = {
    "ndcg": "ndcg",
    "ap": "map",
    "rr": "recip_rank",
    "recall": "set_recall",
    "p": "set_P",
}


def _trec_eval_has(measure: Measure) -> bool:
    """Tell whether it has the measure: it knows a lowest grade, but not for nDCG."""
    allowed = set() if measure.name == "ndcg" else {"rel"}
    return _trec_eval_name(measure) is not None and set(measure.changed) <= allowed


def _pytrec_eval_values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """Return the values, all asked for in one call."""
    import pytrec_eval

    names = {str(measure): _trec_eval_name(measure) or "" for measure in measures}
    options: dict[str, Any] = {"judged_docs_only_flag": 1} if vector.options.get("judged_only") else {}
    evaluator = pytrec_eval.RelevanceEvaluator(
        document_grades(vector), set(names.values()), relevance_level=measures[0].rel or 1, **options
    )
    found = evaluator.evaluate(run_of(vector))
    return {
        ours: only(((query, by_name[theirs]) for query, by_name in found.items()), vector)
        for ours, theirs in names.items()
    }


def _trec_eval_name(measure: Measure) -> str | None:
    if measure.k is None:
        return TREC_EVAL_WITHOUT_CUTOFF.get(measure.name)
    return with_cutoff(TREC_EVAL_WITH_CUTOFF, measure, "{}_{}")


def _trec_eval_version() -> str:
    """As it says itself."""
    asked = [_PROGRAM, "--version"]
    done = subprocess.run(asked, capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=60)
    words = (done.stdout + done.stderr).decode(errors="replace").split()
    return next((word.strip(".,") for word in words if word[:1].isdigit()), "?")


def _trec_eval_values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """Return the values, all asked for in one call, at the lowest grade of the first."""
    asked = [part for measure in measures for part in ("-m", _trec_eval_asked(measure))]
    words = [_PROGRAM, "-q", "-l", str(measures[0].rel or 1), *asked]
    words += ["-J"] if vector.options.get("judged_only") else []
    grades = document_grades(vector)
    qrels = (f"{query} 0 {doc} {grade}" for query, docs in grades.items() for doc, grade in docs.items())
    rows = zip(vector.run, vector.ranks(), strict=True)
    run = (f"{query} Q0 {doc} {rank} {score} t" for (query, doc, score), rank in rows)
    lines = [line.split() for line in output(words, [qrels, run]).splitlines()]
    return {
        str(measure): only(
            ((query, float(value)) for name, query, value in lines if name == _printed(measure)), vector
        )
        for measure in measures
    }


def _trec_eval_asked(measure: Measure) -> str:
    """Return the measure as one asks for it: `ndcg_cut.10`."""
    return (
        TREC_EVAL_WITHOUT_CUTOFF[measure.name]
        if measure.k is None
        else f"{TREC_EVAL_WITH_CUTOFF[measure.name]}.{measure.k}"
    )


def _printed(measure: Measure) -> str:
    """Return the measure as it prints it: `ndcg_cut_10`."""
    return _trec_eval_asked(measure).replace(".", "_")


PYTREC_EVAL = Peer(
    "pytrec-eval-terrier",
    _trec_eval_has,
    _pytrec_eval_values,
    {"compat": "trec_eval"},
    {"single", "missing"},
    options={"judged_only"},
)
TREC_EVAL = replace(
    PYTREC_EVAL,
    package=_PROGRAM,
    values=_trec_eval_values,
    tolerance=6e-5,  # it prints four digits
    program=_PROGRAM,
    version=_trec_eval_version,
)


# ndeval 4.5, whose α-nDCG is the one that everybody has published: as pyndeval, and as the C program.
NDEVAL_WITH_CUTOFF = {
    "alpha_ndcg": "alpha-nDCG",
    "alpha_dcg": "alpha-DCG",
    "err_ia": "ERR-IA",
    "nerr_ia": "nERR-IA",
    "p_ia": "P-IA",
    "strec": "strec",
}
NDEVAL_WITHOUT_CUTOFF = {"nrbp": "NRBP", "nnrbp": "nNRBP", "map_ia": "MAP-IA"}
_P_PARAMETERS = {"alpha", "beta", "rel", "normalise"}


def _pyndeval_has(measure: Measure) -> bool:
    """Tell whether it has the measure, normalised as we are asked to, with a greedy ideal."""
    return (
        _pyndeval_name(measure) is not None and set(measure.changed) <= _P_PARAMETERS and normalised(measure)
    )


def normalised(measure: Measure) -> bool:
    """Tell whether ndeval divides as this measure says; at rank 1 it does not divide."""
    rule = measure.parameters.get("normalise", "ndeval")
    return rule == "ndeval" or (rule == "independent" and (measure.k != 1 or measure.name == "err_ia"))


def _pyndeval_values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """Return the values, all asked for in one call, with the parameters of the first."""
    import pyndeval

    rows = [(query, nugget, doc, grade) for query, nugget, doc, grade in vector.qrels]
    names = {str(measure): _pyndeval_name(measure) or "" for measure in measures}
    given = measures[0].parameters
    if any(measure.parameters.get("alpha") != given.get("alpha") for measure in measures):
        raise NotAsked("it takes one alpha a call")
    options = {name: float(given[name]) for name in ("alpha", "beta") if name in given}
    evaluator = pyndeval.RelevanceEvaluator(
        rows, list(names.values()), relevance_level=measures[0].rel or 1, **options
    )
    found = evaluator.evaluate(run_rows(vector))
    return {
        ours: only(((query, by_name[theirs]) for query, by_name in found.items()), vector)
        for ours, theirs in names.items()
    }


def _pyndeval_name(measure: Measure) -> str | None:
    if measure.name in NDEVAL_WITHOUT_CUTOFF:
        return NDEVAL_WITHOUT_CUTOFF[measure.name] if measure.k is None else None
    return with_cutoff(NDEVAL_WITH_CUTOFF, measure, "{}@{}")


_PRINTED = (5, 10, 20)
_NDEVAL_PARAMETERS = {"alpha", "beta", "normalise"}
_LARGEST = 99_999  # the largest number of a topic or subtopic that it can hold


def _ndeval_has(measure: Measure) -> bool:
    """Tell whether it prints the measure; it knows three cut-offs."""
    return (
        _printed_name(measure) is not None
        and set(measure.changed) <= _NDEVAL_PARAMETERS
        and normalised(measure)
    )


def _ndeval_by_rank(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """Return the values, all asked for in one call, with the parameters of the first."""
    return _ndeval_asked(["ndeval"], measures, vector)


def _ndeval_by_score(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """All in one call, by score, and by document id descending where scores are equal."""
    return _ndeval_asked(["ndeval", "-traditional"], measures, vector)


def _ndeval_asked(words: Sequence[str], measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """Return what the program says to these words; hand over grades below 0, which it refuses, as 0."""
    names = {str(measure): _printed_name(measure) or "" for measure in measures}
    given = measures[0].parameters
    if any(measure.parameters.get("alpha") != given.get("alpha") for measure in measures):
        raise NotAsked("it takes one alpha a call")
    options = [part for name in ("alpha", "beta") if name in given for part in (f"-{name}", str(given[name]))]
    topic = _numbers([*(row[0] for row in vector.qrels), *(row[0] for row in vector.run)])
    nugget = _numbers(nugget for _, nugget, *_ in vector.qrels)
    qrels = (f"{topic[query]} {nugget[n]} {doc} {max(0, grade)}" for query, n, doc, grade in vector.qrels)
    rows = zip(vector.run, vector.ranks(), strict=True)
    run = (f"{topic[query]} Q0 {doc} {rank} {score} t" for (query, doc, score), rank in rows)
    rows_of = list(csv.DictReader(output([*words, *options], [qrels, run]).splitlines()))
    query_of = {number: query for query, number in topic.items()}
    by_query = {query_of[row["topic"]]: row for row in rows_of if row["topic"] in query_of}
    return {
        ours: only(((query, float(row[theirs])) for query, row in by_query.items()), vector)
        for ours, theirs in names.items()
    }


def _numbers(ids: Iterable[str]) -> dict[str, str]:
    """Return ids as the whole numbers that it reads: those that are stay as they are, if all are."""
    names = list(dict.fromkeys(ids))
    if all(
        name.isascii() and name.isdigit() and str(int(name)) == name and int(name) <= _LARGEST
        for name in names
    ):
        return dict(zip(names, names, strict=True))
    return {name: str(at) for at, name in enumerate(names, 1)}


def _printed_name(measure: Measure) -> str | None:
    """Return what it calls the measure, if it prints it."""
    if measure.k is None:
        return NDEVAL_WITHOUT_CUTOFF.get(measure.name)
    name = NDEVAL_WITH_CUTOFF.get(measure.name)
    return f"{name}@{measure.k}" if name and measure.k in _PRINTED else None


def _ndeval_version() -> str:
    """Return no number: it tells nobody, and all that are about are 4.5."""
    return "(C)"


PYNDEVAL = Peer(
    "pyndeval",
    _pyndeval_has,
    _pyndeval_values,
    {"compat": "pyndeval"},
    {"ties", "first/alpha_dcg", "first/err_ia", "missing"},
)
NDEVAL = Peer(
    "ndeval",
    _ndeval_has,
    _ndeval_by_rank,
    {"compat": "ndeval"},
    {"ties", "missing"},
    tolerance=6e-7,  # it prints six digits
    program="ndeval",
    version=_ndeval_version,
)
NDEVAL_TRADITIONAL = replace(
    NDEVAL, values=_ndeval_by_score, rules={"compat": "ndeval-traditional"}, reproduced={"missing"}
)


# ir_measures, with the providers it chooses itself.
_OF_DOCUMENTS = {"recall", "ndcg", "ap", "rr", "p", "success", "judged"}
_ONLY_WITH_CUTOFF = {
    "alpha_ndcg", "alpha_dcg", "err_ia", "nerr_ia", "p_ia", "strec", "p", "recall", "success", "judged"
}  # fmt: skip
_ONLY_WITHOUT = {"nrbp", "nnrbp", "map_ia"}
_IR_MEASURES_PARAMETERS = {
    "alpha_ndcg": {"alpha", "rel", "normalise"},
    "alpha_dcg": {"alpha", "rel", "normalise"},
    "nrbp": {"alpha", "beta", "rel"},
    "nnrbp": {"alpha", "beta", "rel"},
    "ndcg": set[str](),
    "judged": set[str](),
}
_OTHERS = {"rel", "normalise"}


def _ir_measures_has(measure: Measure) -> bool:
    """Tell whether its providers compute the measure; one of novelty, as ndeval normalises it."""
    if measure.called_by("ir_measures") is None:
        return False
    if set(measure.changed) - _IR_MEASURES_PARAMETERS.get(measure.name, _OTHERS):
        return False
    if not normalised(measure):
        return False
    return measure.name not in (_ONLY_WITH_CUTOFF if measure.k is None else _ONLY_WITHOUT)


def _ir_measures_values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """Return the values, all asked for in one call; documents are judged once, unless it is about that."""
    import ir_measures

    names = {
        str(measure): ir_measures.parse_measure(_ir_measures_name(measure, vector)) for measure in measures
    }
    providers = [one for one in ir_measures.providers.registry.values() if one.is_available()]
    for measure in names.values():
        if not any(provider.supports(measure) for provider in providers):
            raise Lacks(f"no provider of {measure} is installed")
    run = [ir_measures.ScoredDoc(query, doc, float(score)) for query, doc, score in vector.run]
    of_documents = all(measure.name in _OF_DOCUMENTS for measure in measures)
    found = ir_measures.calc(list(names.values()), _qrels(vector, of_documents), run)
    by_measure: ByMeasure = {}
    for ours, theirs in names.items():
        metrics = [metric for metric in found.per_query if metric.measure == theirs]
        by_measure[ours] = only(((metric.query_id, metric.value) for metric in metrics), vector)
    return by_measure


def _ir_measures_name(measure: Measure, vector: RunVector) -> str:
    changed = {name: value for name, value in measure.changed.items() if name != "normalise"}
    if vector.options.get("judged_only"):
        changed["judged_only"] = True
    inner = ",".join(f"{name}={value}" for name, value in changed.items())
    cutoff = "" if measure.k is None else f"@{measure.k}"
    return str(measure.called_by("ir_measures")) + (f"({inner})" if inner else "") + cutoff


def _qrels(vector: RunVector, of_documents: bool) -> Any:
    from ir_measures import Qrel

    rows = [Qrel(query, doc, grade, nugget) for query, nugget, doc, grade in vector.qrels]
    if vector.column != "iteration":
        import pandas

        return pandas.DataFrame(rows).rename(columns={"iteration": vector.column})
    if of_documents and "documents" not in vector.topics and "conflict" not in vector.topics:
        return [
            Qrel(query, doc, grade)
            for query, docs in document_grades(vector).items()
            for doc, grade in docs.items()
        ]
    return rows


IR_MEASURES = Peer(
    "ir-measures",
    _ir_measures_has,
    _ir_measures_values,
    {"compat": "pyndeval", "complete": True},
    {"ties", "first/alpha_dcg", "first/err_ia"},
    options={"judged_only"},
)


# ranx, for documents judged once.
_RANX_NAMES = {
    "ndcg": "ndcg",
    "ap": "map",
    "rr": "mrr",
    "p": "precision",
    "recall": "recall",
    "success": "hit_rate",
}


def _ranx_has(measure: Measure) -> bool:
    """With a cut-off or without one, at the usual grade."""
    exponential = measure.name == "ndcg" and measure.changed == {"dcg": "exp_log2"}
    return measure.name in _RANX_NAMES and (exponential or not measure.changed)


def _ranx_values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """Return the values, all asked for in one call; queries that the run lacks are filled in by itself."""
    from ranx import Qrels, Run, evaluate

    run = Run(run_of(vector))
    names = {str(measure): _ranx_name(measure) for measure in measures}
    evaluate(Qrels(document_grades(vector)), run, list(names.values()), make_comparable=True)
    return {ours: only(run.scores[theirs].items(), vector) for ours, theirs in names.items()}


def _ranx_name(measure: Measure) -> str:
    name = "ndcg_burges" if measure.changed else _RANX_NAMES[measure.name]
    return name if measure.k is None else f"{name}@{measure.k}"


RANX = Peer("ranx", _ranx_has, _ranx_values, {"ties": "input"}, {"ties"})


# FreshStack's evaluator, query by query: it prints means only, rounded to four digits.
_FRESHSTACK_NAMES = {
    "alpha_ndcg": "alpha-nDCG",
    "coverage": "Coverage",
    "recall": "Recall",
    "ndcg": "NDCG",
    "hole": "Hole",
}


def _freshstack_has(measure: Measure) -> bool:
    """Nothing can be set but the cut-off."""
    return measure.name in _FRESHSTACK_NAMES and measure.k is not None and not measure.changed


def _freshstack_values(measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
    """One cut-off at a time; which nugget belongs to which query is found as it finds it."""
    by_nugget: dict[str, dict[str, int]] = {}
    for query, nugget, doc, grade in vector.qrels:
        by_nugget.setdefault(f"{query}_{nugget}", {})[doc] = grade
    nuggets = {
        query: [nugget for nugget in by_nugget if nugget.startswith(query)] for query in queries_of(vector)
    }
    grades = {query: _summed(by_nugget, nuggets[query]) for query in nuggets}
    run = {query: docs for query, docs in run_of(vector).items() if query in nuggets}
    return {
        str(measure): {query: _value(measure, query, by_nugget, nuggets, grades, run) for query in nuggets}
        for measure in measures
    }


def _summed(by_nugget: dict[str, dict[str, int]], nuggets: list[str]) -> dict[str, int]:
    """Its grade of a document is the sum over nuggets."""
    found: dict[str, int] = {}
    for nugget in nuggets:
        for doc, grade in by_nugget[nugget].items():
            found[doc] = found.get(doc, 0) + grade
    return found


def _value(measure: Measure, query: str, by_nugget: Any, nuggets: Any, grades: Any, run: Any) -> float:
    from freshstack.retrieval import metrics

    k = measure.k or 0
    one = {query: run[query]} if query in run else {}
    if measure.name == "hole":
        return float(metrics.hole(grades, run, [k])[query][f"Hole@{k}"])
    of_documents = measure.name in ("recall", "ndcg")
    judged = ({query: grades[query]},) if of_documents else (by_nugget, {query: nuggets[query]})
    found = getattr(metrics, measure.name)(*judged, one, [k])
    return float(found[f"{_FRESHSTACK_NAMES[measure.name]}@{k}"])


FRESHSTACK = Peer(
    "freshstack",
    _freshstack_has,
    _freshstack_values,
    {"compat": "freshstack"},
    {"ties", "single"},
    tolerance=6e-5,
)


# nuggetizer: nugget scores of TREC RAG's answers.
_NUGGETIZER_NAMES = {
    "nugget_recall(importance=vital)": "strict_vital_score",
    "nugget_recall": "strict_all_score",
    "nugget_recall(importance=vital,credit=partial)": "vital_score",
    "nugget_recall(credit=partial)": "all_score",
}


def _nuggetizer_has(measure: Measure) -> bool:
    """Four of the scores."""
    return str(measure) in _NUGGETIZER_NAMES


def _nuggetizer_values(measures: Sequence[Measure], vector: AnswerVector) -> ByMeasure:
    """Of every answer; a judgement that failed has no label, or the word failed."""
    from nuggetizer.core.metrics import calculate_nugget_scores

    answers: dict[str, list[dict[str, Any]]] = {}
    for row in vector.judgements:
        nugget = {"importance": row.get("importance"), "assignment": row.get("label", "failed")}
        answers.setdefault(f"{row['run_id']}/{row['query_id']}", []).append(nugget)
    scores = {answer: calculate_nugget_scores(answer, nuggets) for answer, nuggets in answers.items()}
    return {
        str(measure): {
            answer: getattr(found, _NUGGETIZER_NAMES[str(measure)]) for answer, found in scores.items()
        }
        for measure in measures
    }


NUGGETIZER = Peer(
    "nuggetizer",
    _nuggetizer_has,
    _nuggetizer_values,
    {"compat": "nuggetizer"},
    {"failed", "vitalless"},
    options={"on_missing"},  # it takes whatever is missing for the worst
)
