"""The tools beside rageval: what each has, says, and does otherwise, and which are installed here."""

from __future__ import annotations

import csv
import os
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from shutil import which
from typing import Any, ClassVar

from rageval.measures.base import Measure
from vectors import AnswerVector, QrelsRow, RunRow, RunVector

ByMeasure = dict[str, dict[str, float]]
_Grades = dict[str, dict[str, int]]


class NotAsked(Exception):
    """A question that cannot be put to this tool as a whole."""


class Lacks(Exception):
    """A measure that this tool would have if more of it were installed."""


class ProgramFailed(Exception):
    """It ended with another code than 0; what it said last."""


@dataclass(frozen=True)
class Peer:
    """A tool: which measures it has, what it says of a vector, and by which rules.

    `package` is what it is installed as, a `program` is looked for on the PATH in its place, and says its
    version itself. `rules` are options with which rageval goes by its rules, `reproduced` the topics (see
    `reasons_of`) that these are about, `tolerance` is what it rounds away; `options` are those of a vector
    that it knows, too.
    """

    package: str
    rules: Mapping[str, Any]
    reproduced: Collection[str]
    tolerance: float = 1e-12
    options: Collection[str] = ()
    program: str = ""

    def has(self, measure: Measure) -> bool:
        """Tell whether it has the measure."""
        raise NotImplementedError

    def values(self, measures: Sequence[Measure], vector: Any) -> ByMeasure:
        """Return what it says of a vector, asked for all measures in one call."""
        raise NotImplementedError

    def version(self) -> str:
        """Return its version; "?" where nobody knows."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return "?"


def _run_rows(vector: RunVector) -> list[tuple[str, str, float]]:
    """Return (query, document, score) of each row."""
    return [(query, doc, float(score)) for query, doc, score in vector.run]


def _run_of(vector: RunVector) -> dict[str, dict[str, float]]:
    """Return the run as a mapping, which holds a document once."""
    run: dict[str, dict[str, float]] = {}
    for query, doc, score in _run_rows(vector):
        run.setdefault(query, {})[doc] = score
    return run


def _document_grades(vector: RunVector) -> _Grades:
    """Return the highest grade of each document over the nuggets; what is below 0 is worth 0."""
    best: _Grades = {}
    for query, _, doc, grade in vector.qrels:
        grades = best.setdefault(query, {})
        grades[doc] = max(grade, grades.get(doc, 0))
    return best


def _queries_of(vector: RunVector) -> list[str]:
    """Return the judged queries."""
    return list(dict.fromkeys(query for query, *_ in vector.qrels))


def _only(values: Iterable[tuple[str, float]], vector: RunVector) -> dict[str, float]:
    """Return the values of judged queries."""
    judged = set(_queries_of(vector))
    return {query: float(value) for query, value in values if query in judged}


def _with_cutoff(names: Mapping[str, str], measure: Measure, pattern: str) -> str | None:
    """Return the tool's name for a measure of ours at its cut-off, if it has one."""
    name = names.get(measure.name)
    return None if name is None or measure.k is None else pattern.format(name, measure.k)


def _output(words: Sequence[str], files: Iterable[Iterable[str]]) -> str:
    """Return what the program prints, asked with these words and then the paths of files with these lines."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, lines in enumerate(files):
            paths.append(os.path.join(folder, str(number)))
            with open(paths[-1], "w", encoding="utf-8", newline="\n") as file:
                file.writelines(line + "\n" for line in lines)
        process = subprocess.run([*words, *paths], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if process.returncode:
        stderr = process.stderr.decode(errors="replace").strip().splitlines()
        # Without the folder, whose name is another one each time: failures that are one are to read alike.
        last = stderr[-1].replace(folder, "") if stderr else "nothing said"
        raise ProgramFailed(f"exit code {process.returncode}: {last}")
    return process.stdout.decode(errors="replace")


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


def _trec_eval_name(measure: Measure) -> str | None:
    if measure.k is None:
        return TREC_EVAL_WITHOUT_CUTOFF.get(measure.name)
    return _with_cutoff(TREC_EVAL_WITH_CUTOFF, measure, "{}_{}")


def _trec_eval_asked(measure: Measure) -> str:
    """Return the measure as one asks for it: `ndcg_cut.10`."""
    return (
        TREC_EVAL_WITHOUT_CUTOFF[measure.name]
        if measure.k is None
        else f"{TREC_EVAL_WITH_CUTOFF[measure.name]}.{measure.k}"
    )


class _PytrecEval(Peer):
    def has(self, measure: Measure) -> bool:
        """Tell whether it has the measure: it knows a lowest grade, but not for nDCG."""
        # nDCG takes all grades above 0, whatever the lowest one is.
        allowed = set() if measure.name == "ndcg" else {"rel"}
        return _trec_eval_name(measure) is not None and set(measure.changed) <= allowed

    def values(self, measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
        """Return the values, all asked for in one call."""
        import pytrec_eval

        names = {str(measure): _trec_eval_name(measure) or "" for measure in measures}
        options: dict[str, Any] = {"judged_docs_only_flag": 1} if vector.options.get("judged_only") else {}
        evaluator = pytrec_eval.RelevanceEvaluator(
            _document_grades(vector), set(names.values()), relevance_level=measures[0].rel or 1, **options
        )
        values_by_query = evaluator.evaluate(_run_of(vector))
        return {
            ours: _only(((query, by_name[theirs]) for query, by_name in values_by_query.items()), vector)
            for ours, theirs in names.items()
        }


class _TrecEval(_PytrecEval):
    def values(self, measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
        """Return the values, all asked for in one call, at the lowest grade of the first."""
        asked = [part for measure in measures for part in ("-m", _trec_eval_asked(measure))]
        words = [_PROGRAM, "-q", "-l", str(measures[0].rel or 1), *asked]
        words += ["-J"] if vector.options.get("judged_only") else []
        grades = _document_grades(vector)
        qrels = (f"{query} 0 {doc} {grade}" for query, docs in grades.items() for doc, grade in docs.items())
        rows = zip(vector.run, vector.ranks(), strict=True)
        run = (f"{query} Q0 {doc} {rank} {score} t" for (query, doc, score), rank in rows)
        lines = [line.split() for line in _output(words, [qrels, run]).splitlines()]
        by_measure: ByMeasure = {}
        for measure in measures:
            printed = _trec_eval_asked(measure).replace(".", "_")
            values = ((query, float(value)) for name, query, value in lines if name == printed)
            by_measure[str(measure)] = _only(values, vector)
        return by_measure

    def version(self) -> str:
        """Return the version that it says itself."""
        asked = [_PROGRAM, "--version"]
        process = subprocess.run(
            asked, capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=60
        )
        words = (process.stdout + process.stderr).decode(errors="replace").split()
        return next((word.strip(".,") for word in words if word[:1].isdigit()), "?")


PYTREC_EVAL = _PytrecEval(
    "pytrec-eval-terrier", {"compat": "trec_eval"}, {"single", "missing"}, options={"judged_only"}
)
TREC_EVAL = _TrecEval(
    _PROGRAM,
    PYTREC_EVAL.rules,
    PYTREC_EVAL.reproduced,
    tolerance=6e-5,  # it prints four digits
    options=PYTREC_EVAL.options,
    program=_PROGRAM,
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
_P_PARAMETERS = {"alpha", "beta", "rel", "normalize"}


def _normalized(measure: Measure) -> bool:
    """Tell whether ndeval divides as this measure says; at rank 1 it does not divide."""
    rule = measure.parameters.get("normalize", "ndeval")
    return rule == "ndeval" or (rule == "independent" and (measure.k != 1 or measure.name == "err_ia"))


def _with_one_alpha(measures: Sequence[Measure]) -> Mapping[str, Any]:
    """Return the parameters of the first; `NotAsked` where the measures are of several alphas."""
    given = measures[0].parameters
    # Two calls would give the right values of both, which is not what was asked.
    if any(measure.parameters.get("alpha") != given.get("alpha") for measure in measures):
        raise NotAsked("it takes one alpha a call")
    return given


def _pyndeval_name(measure: Measure) -> str | None:
    if measure.name in NDEVAL_WITHOUT_CUTOFF:
        return NDEVAL_WITHOUT_CUTOFF[measure.name] if measure.k is None else None
    return _with_cutoff(NDEVAL_WITH_CUTOFF, measure, "{}@{}")


class _Pyndeval(Peer):
    def has(self, measure: Measure) -> bool:
        """Tell whether it has the measure, normalized as we are asked to, with a greedy ideal."""
        return (
            _pyndeval_name(measure) is not None
            and set(measure.changed) <= _P_PARAMETERS
            and _normalized(measure)
        )

    def values(self, measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
        """Return the values, all asked for in one call, with the parameters of the first."""
        import pyndeval

        rows = [(query, nugget, doc, grade) for query, nugget, doc, grade in vector.qrels]
        names = {str(measure): _pyndeval_name(measure) or "" for measure in measures}
        given = _with_one_alpha(measures)
        options = {name: float(given[name]) for name in ("alpha", "beta") if name in given}
        evaluator = pyndeval.RelevanceEvaluator(
            rows, list(names.values()), relevance_level=measures[0].rel or 1, **options
        )
        values_by_query = evaluator.evaluate(_run_rows(vector))
        return {
            ours: _only(((query, by_name[theirs]) for query, by_name in values_by_query.items()), vector)
            for ours, theirs in names.items()
        }


_PRINTED = (5, 10, 20)  # the cut-offs that the program knows
_NDEVAL_PARAMETERS = {"alpha", "beta", "normalize"}
_LARGEST = 99_999  # the largest number of a topic or subtopic that it can hold


def _numbers(ids: Iterable[str]) -> dict[str, str]:
    """Return ids as the whole numbers that it reads: those that are stay as they are, if all are."""
    names = list(dict.fromkeys(ids))
    if all(
        name.isascii() and name.isdigit() and str(int(name)) == name and int(name) <= _LARGEST
        for name in names
    ):
        return dict(zip(names, names, strict=True))
    return {name: str(number) for number, name in enumerate(names, 1)}


def _printed_name(measure: Measure) -> str | None:
    """Return what it calls the measure, if it prints it."""
    if measure.k is None:
        return NDEVAL_WITHOUT_CUTOFF.get(measure.name)
    name = NDEVAL_WITH_CUTOFF.get(measure.name)
    return f"{name}@{measure.k}" if name and measure.k in _PRINTED else None


class _Ndeval(Peer):
    words: ClassVar[Sequence[str]] = ("ndeval",)  # by the rank column

    def has(self, measure: Measure) -> bool:
        """Tell whether it prints the measure; it knows three cut-offs."""
        return (
            _printed_name(measure) is not None
            and set(measure.changed) <= _NDEVAL_PARAMETERS
            and _normalized(measure)
        )

    def values(self, measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
        """Return the values; grades below 0, which it refuses, are handed over as 0."""
        names = {str(measure): _printed_name(measure) or "" for measure in measures}
        given = _with_one_alpha(measures)
        options = [
            part for name in ("alpha", "beta") if name in given for part in (f"-{name}", str(given[name]))
        ]
        topic = _numbers([*(row[0] for row in vector.qrels), *(row[0] for row in vector.run)])
        nugget = _numbers(nugget for _, nugget, *_ in vector.qrels)
        qrels = (f"{topic[query]} {nugget[n]} {doc} {max(0, grade)}" for query, n, doc, grade in vector.qrels)
        rows = zip(vector.run, vector.ranks(), strict=True)
        run = (f"{topic[query]} Q0 {doc} {rank} {score} t" for (query, doc, score), rank in rows)
        printed = csv.DictReader(_output([*self.words, *options], [qrels, run]).splitlines())
        query_of = {number: query for query, number in topic.items()}
        by_query = {query_of[row["topic"]]: row for row in printed if row["topic"] in query_of}
        return {
            ours: _only(((query, float(row[theirs])) for query, row in by_query.items()), vector)
            for ours, theirs in names.items()
        }

    def version(self) -> str:
        """Return no number: it tells nobody, and all that are about are 4.5."""
        return "(C)"


class _NdevalTraditional(_Ndeval):
    words = ("ndeval", "-traditional")  # by score, and by document id descending where scores are equal


PYNDEVAL = _Pyndeval(
    "pyndeval", {"compat": "pyndeval"}, {"ties", "first/alpha_dcg", "first/err_ia", "missing"}
)
NDEVAL = _Ndeval(
    "ndeval",
    {"compat": "ndeval"},
    {"ties", "missing"},
    tolerance=6e-7,  # it prints six digits
    program="ndeval",
)
NDEVAL_TRADITIONAL = _NdevalTraditional(
    NDEVAL.package,
    {"compat": "ndeval-traditional"},
    {"missing"},
    tolerance=NDEVAL.tolerance,
    program=NDEVAL.program,
)


# ir_measures, with the providers it chooses itself.
_OF_DOCUMENTS = ("recall", "ndcg", "ap", "rr", "p", "success", "judged")
_ONLY_WITH_CUTOFF = {
    "alpha_ndcg", "alpha_dcg", "err_ia", "nerr_ia", "p_ia", "strec", "p", "recall", "success", "judged"
}  # fmt: skip
_ONLY_WITHOUT = {"nrbp", "nnrbp", "map_ia"}
_IR_MEASURES_PARAMETERS = {
    "alpha_ndcg": {"alpha", "rel", "normalize"},
    "alpha_dcg": {"alpha", "rel", "normalize"},
    "nrbp": {"alpha", "beta", "rel"},
    "nnrbp": {"alpha", "beta", "rel"},
    "ndcg": set[str](),
    "judged": set[str](),
}
_OTHERS = {"rel", "normalize"}


def _qrels(vector: RunVector, of_documents: bool) -> Any:
    from ir_measures import Qrel

    rows = [Qrel(query, doc, grade, nugget) for query, nugget, doc, grade in vector.qrels]
    # A column of another name is there in a table only.
    if vector.column != "iteration":
        import pandas

        return pandas.DataFrame(rows).rename(columns={"iteration": vector.column})
    if of_documents and "documents" not in vector.topics and "conflict" not in vector.topics:
        return [
            Qrel(query, doc, grade)
            for query, docs in _document_grades(vector).items()
            for doc, grade in docs.items()
        ]
    return rows


class _IrMeasures(Peer):
    def has(self, measure: Measure) -> bool:
        """Tell whether its providers compute the measure; one of novelty, as ndeval normalizes it."""
        if measure.called_by("ir_measures") is None:
            return False
        if set(measure.changed) - _IR_MEASURES_PARAMETERS.get(measure.name, _OTHERS):
            return False
        if not _normalized(measure):
            return False
        return measure.name not in (_ONLY_WITH_CUTOFF if measure.k is None else _ONLY_WITHOUT)

    def values(self, measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
        """Return the values; documents are judged once, unless the vector is about that."""
        import ir_measures

        names = {}
        for measure in measures:
            changed = {name: value for name, value in measure.changed.items() if name != "normalize"}
            if vector.options.get("judged_only"):
                changed["judged_only"] = True
            inner = ",".join(f"{name}={value}" for name, value in changed.items())
            called = f"{measure.called_by('ir_measures')}" + (f"({inner})" if inner else "")
            cutoff = "" if measure.k is None else f"@{measure.k}"
            names[str(measure)] = ir_measures.parse_measure(called + cutoff)
        # Asked beforehand: a measure whose provider is not installed here is no failure.
        providers = [one for one in ir_measures.providers.registry.values() if one.is_available()]
        for theirs in names.values():
            if not any(provider.supports(theirs) for provider in providers):
                raise Lacks(f"no provider of {theirs} is installed")
        run = [ir_measures.ScoredDoc(query, doc, float(score)) for query, doc, score in vector.run]
        of_documents = all(measure.name in _OF_DOCUMENTS for measure in measures)
        results = ir_measures.calc(list(names.values()), _qrels(vector, of_documents), run)
        by_measure: ByMeasure = {}
        for ours, theirs in names.items():
            metrics = [metric for metric in results.per_query if metric.measure == theirs]
            by_measure[ours] = _only(((metric.query_id, metric.value) for metric in metrics), vector)
        return by_measure


IR_MEASURES = _IrMeasures(
    "ir-measures",
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


class _Ranx(Peer):
    def has(self, measure: Measure) -> bool:
        """Tell whether it has the measure, at the usual grade, with a cut-off or without one."""
        exponential = measure.name == "ndcg" and measure.changed == {"dcg": "exp_log2"}
        return measure.name in _RANX_NAMES and (exponential or not measure.changed)

    def values(self, measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
        """Return the values; queries that the run lacks are filled in by itself."""
        from ranx import Qrels, Run, evaluate

        run = Run(_run_of(vector))
        names = {}
        for measure in measures:
            # Its name of nDCG with gains of 2**grade - 1, the one change that `has` allows.
            name = "ndcg_burges" if measure.changed else _RANX_NAMES[measure.name]
            names[str(measure)] = name if measure.k is None else f"{name}@{measure.k}"
        evaluate(Qrels(_document_grades(vector)), run, list(names.values()), make_comparable=True)
        return {ours: _only(run.scores[theirs].items(), vector) for ours, theirs in names.items()}


RANX = _Ranx("ranx", {"ties": "input"}, {"ties"})


# FreshStack's evaluator, query by query: it prints means only, rounded to four digits.
_FRESHSTACK_NAMES = {
    "alpha_ndcg": "alpha-nDCG",
    "coverage": "Coverage",
    "recall": "Recall",
    "ndcg": "NDCG",
    "hole": "Hole",
}


class _Freshstack(Peer):
    def has(self, measure: Measure) -> bool:
        """Tell whether it has the measure, of which nothing can be set but the cut-off."""
        return measure.name in _FRESHSTACK_NAMES and measure.k is not None and not measure.changed

    def values(self, measures: Sequence[Measure], vector: RunVector) -> ByMeasure:
        """Return the values, one cut-off at a time."""
        from freshstack.retrieval import metrics

        by_nugget: _Grades = {}
        for query, nugget, doc, grade in vector.qrels:
            by_nugget.setdefault(f"{query}_{nugget}", {})[doc] = grade
        nuggets: dict[str, list[str]] = {}
        grades: _Grades = {}
        for query in _queries_of(vector):
            # Which nugget belongs to which query is found as it finds it.
            nuggets[query] = [nugget for nugget in by_nugget if nugget.startswith(query)]
            # Its grade of a document is the sum over nuggets.
            grades[query] = {}
            for nugget in nuggets[query]:
                for doc, grade in by_nugget[nugget].items():
                    grades[query][doc] = grades[query].get(doc, 0) + grade
        run = {query: docs for query, docs in _run_of(vector).items() if query in nuggets}

        def value(measure: Measure, query: str) -> float:
            k = measure.k or 0
            if measure.name == "hole":
                return float(metrics.hole(grades, run, [k])[query][f"Hole@{k}"])
            one = {query: run[query]} if query in run else {}
            of_documents = measure.name in ("recall", "ndcg")
            judged = ({query: grades[query]},) if of_documents else (by_nugget, {query: nuggets[query]})
            value_by_query = getattr(metrics, measure.name)(*judged, one, [k])
            return float(value_by_query[f"{_FRESHSTACK_NAMES[measure.name]}@{k}"])

        return {str(measure): {query: value(measure, query) for query in nuggets} for measure in measures}


FRESHSTACK = _Freshstack("freshstack", {"compat": "freshstack"}, {"ties", "single"}, tolerance=6e-5)


# nuggetizer: nugget scores of TREC RAG's answers.
_NUGGETIZER_NAMES = {
    "nugget_recall(importance=vital)": "strict_vital_score",
    "nugget_recall": "strict_all_score",
    "nugget_recall(importance=vital,credit=partial)": "vital_score",
    "nugget_recall(credit=partial)": "all_score",
}


class _Nuggetizer(Peer):
    def has(self, measure: Measure) -> bool:
        """Tell whether it is one of its four scores."""
        return str(measure) in _NUGGETIZER_NAMES

    def values(self, measures: Sequence[Measure], vector: AnswerVector) -> ByMeasure:
        """Return the scores of every answer; a judgement that failed has no label, or the word failed."""
        from nuggetizer.core.metrics import calculate_nugget_scores

        answers: dict[str, list[dict[str, Any]]] = {}
        for row in vector.judgements:
            nugget = {"importance": row.get("importance"), "assignment": row.get("label", "failed")}
            answers.setdefault(f"{row['run_id']}/{row['query_id']}", []).append(nugget)
        scores = {answer: calculate_nugget_scores(answer, nuggets) for answer, nuggets in answers.items()}
        return {
            str(measure): {
                answer: getattr(values_of_answer, _NUGGETIZER_NAMES[str(measure)])
                for answer, values_of_answer in scores.items()
            }
            for measure in measures
        }


NUGGETIZER = _Nuggetizer(
    "nuggetizer",
    {"compat": "nuggetizer"},
    {"failed", "vitalless"},
    options={"on_missing"},  # it takes whatever is missing for the worst
)

# By the names of modules, and of programs; the order is that of tables.
_PEERS = {
    "pyndeval": PYNDEVAL,
    "pytrec_eval": PYTREC_EVAL,
    "ir_measures": IR_MEASURES,
    "ranx": RANX,
    "freshstack": FRESHSTACK,
    "nuggetizer": NUGGETIZER,
    "ndeval": NDEVAL,
    "ndeval_traditional": NDEVAL_TRADITIONAL,
    "trec_eval": TREC_EVAL,
}
PEERS = tuple(_PEERS)
OF_ANSWERS = ("nuggetizer",)


def peer_named(name: str) -> Peer:
    """Return the tool, which is imported only when it is asked for values."""
    return _PEERS[name]


def installed() -> dict[str, str]:
    """Return the tools that are there, and their versions.

    Packages are looked for and not imported: some take seconds, or crash.
    """
    return {
        name: peer.version()
        for name, peer in _PEERS.items()
        if (which(peer.program) if peer.program else find_spec(name) is not None)
    }


# What can be special about an input, what the tools do otherwise there, and why.

_BY_PROVIDER = "equal scores go by whatever its provider does, which depends on the cut-off"
_FIRST = "it is not normalized at rank 1, so that it can exceed 1"
_SINGLE_BY_PROVIDER = "its provider compares 32-bit floats"
_LAST_NUGGET = "the last nugget's grade counts for the document"

# What a tool does, by tool and topic, or topic/measure. Where it has done so for so long that people count on
# it, rageval has a mode for it: `--compat`.
REASONS: dict[str, dict[str, str]] = {
    "pyndeval": {
        "ties": "equal scores go by document id ascending",
        "first/alpha_dcg": _FIRST,
        "first/err_ia": _FIRST,
        "twice": "both rows count, and the copy takes a rank",
        "scattered": "a later block of a query replaces the earlier",
        "no_number": "a score that is nan is ranked where it stood",
        "missing": "queries that the run lacks are left out of the mean, as with --intersection",
        "nothing": "there are no values, and no word",
        "irrelevant/nnrbp": "0 is divided by 0: nan, and so is the mean",
        "conflict": "one of the two counts, without a word",
        "deep": "cut-offs beyond 20 are refused",
    },
    "pytrec_eval": {
        "single": "scores are compared as 32-bit floats",
        "twice": "a mapping holds a document once: the last score",
        "no_number": "a score that is nan is ranked last",
        "missing": "queries that the run lacks are left out of the mean, as with --intersection",
        "nothing": "there are no values, and no word",
        "conflict": "the caller decides; here the higher grade counts",
    },
    "ir_measures": {
        "ties": "equal scores go by document id ascending, as in pyndeval",
        **{f"ties/{name}": _BY_PROVIDER for name in _OF_DOCUMENTS},
        **{f"single/{name}": _SINGLE_BY_PROVIDER for name in _OF_DOCUMENTS},
        "first/alpha_dcg": _FIRST,
        "first/err_ia": _FIRST,
        "twice": "the provider keeps both rows, or the last, without a word",
        "scattered": "a later block of a query replaces the earlier",
        "no_number": "a score that is nan is ranked where it stood, or last",
        "nothing": "0.0, and no word",
        "irrelevant/nnrbp": "0 is divided by 0 where ndeval does: nan, and so is the mean",
        "conflict": "the last row counts, without a word",
        **{f"documents/{name}": _LAST_NUGGET for name in ("recall", "ndcg", "ap")},
        "deep": "no provider takes cut-offs beyond 20",
        "together/alpha_ndcg": "values of one alpha replace those of the other, which are 0",
        "judged_only": "refused with a TypeError",
        "column": "the column is not seen: all nuggets are taken for one",
    },
    "ranx": {
        "ties": "equal scores stay in the order of the input",
        "twice": "a mapping holds a document once: the last score",
        "no_number": "a score that is nan is ranked somewhere",
        "nothing": "0.0, and no word",
        "conflict": "the caller decides; here the higher grade counts",
    },
    "freshstack": {
        "ties": "three orders in one report: by id ascending, of the input, by id descending",
        "single": "recall is computed by trec_eval, from 32-bit floats",
        "twice": "a mapping holds a document once: the last score",
        "no_number": "a score that is nan is ranked somewhere",
        "scattered": "rows are a mapping by query",
        "prefix": "nuggets are found by the beginning of their id: query 7 takes those of 70",
        "nothing": "0.0, and no word",
        "conflict": "the last row counts, without a word",
        "deep": "alpha-nDCG beyond 20 is left out, without a word",
        "holes": "a document counts as judged if any query judged it",
        "graded/ndcg": "a document's grade is the sum over its nuggets",
        "negative/ndcg": "a document's grade is the sum over its nuggets, a negative one included",
        "negative/recall": "a document's grade is the sum over its nuggets, a negative one included",
    },
    "ndeval": {
        "ties": "documents are ordered by the rank column, whatever their scores are",
        "missing": "queries that the run lacks are left out of the mean, as with --intersection",
        "nothing": "there are no values, and no word",
        "irrelevant/nnrbp": "0 is divided by 0: nan, and so is the mean",
        "conflict": "one of the two counts, without a word",
    },
    "ndeval_traditional": {
        "missing": "queries that the run lacks are left out of the mean, as with --intersection",
        "nothing": "there are no values, and no word",
        "irrelevant/nnrbp": "0 is divided by 0: nan, and so is the mean",
        "conflict": "one of the two counts, without a word",
    },
    "trec_eval": {
        "single": "version 9 compares scores as 32-bit floats",
        "no_number": "a score that is nan is ranked somewhere",
        "missing": "queries that the run lacks are left out of the mean, as with --intersection",
        "nothing": "there are no values, and no word",
        "conflict": "the caller decides; here the higher grade counts",
    },
    "nuggetizer": {
        "vitalless": "0, though there is nothing that could be missing; rageval says undefined",
        "failed": "a judgement that failed counts as not supported",
        "spelled": "a label in another spelling counts as not supported",
        "judges": "judgements of several judges are one heap",
    },
}


def reasons_of(peer: str, measure: str, topics: Sequence[str]) -> Mapping[str, str]:
    """Return why this tool may differ on an input with these topics, the measure's own reasons first."""
    reasons = REASONS[peer]
    keys = [next((key for key in (f"{topic}/{measure}", topic) if key in reasons), "") for topic in topics]
    return {key: reasons[key] for key in keys if key}


TOPICS = {
    "ties": "equal scores",
    "single": "scores that 32 bits cannot tell apart",
    "twice": "a document ranked twice",
    "scattered": "rows of a query apart",
    "no_number": "a score that is no finite number",
    "prefix": "an id that begins with another query's",
    "missing": "a judged query that the run lacks",
    "nothing": "no query in common",
    "irrelevant": "a query without relevant documents",
    "negative": "a grade below 0",
    "conflict": "two judgements of one thing",
    "documents": "a document judged for several nuggets",
    "unsupported": "a nugget that no document supports",
    "deep": "a cut-off beyond 20",
    "first": "the first rank alone",
    "together": "two values of alpha in one call",
    "judged_only": "unjudged documents left out",
    "holes": "a document that only another query judged",
    "column": "nuggets under another name",
    "graded": "grades of several nuggets added up",
    "vitalless": "an answer without vital nuggets",
    "failed": "a judgement that failed",
    "spelled": "a label in another spelling, or a grade without one",
    "judges": "several judges",
}


def topics_in(run: Sequence[RunRow], qrels: Sequence[QrelsRow]) -> list[str]:
    """Return the topics that rows show by themselves."""
    scores: dict[str, list[float]] = defaultdict(list)
    by_nugget: dict[tuple[str, str], list[int]] = defaultdict(list)
    by_doc: dict[tuple[str, str], list[int]] = defaultdict(list)
    best: dict[str, int] = {}
    for query, _, score in run:
        scores[query].append(float(score))
    for query, nugget, doc, grade in qrels:
        by_nugget[query, nugget].append(grade)
        by_doc[query, doc].append(grade)
        best[query] = max(grade, best.get(query, grade))
    seen = {
        "ties": any(
            len(set(values_of_query)) < len(values_of_query)
            for query, values_of_query in scores.items()
            if query in best
        ),
        "missing": any(query not in scores for query in best),
        "irrelevant": min(best.values()) < 1,
        "negative": any(grade < 0 for *_, grade in qrels),
        "unsupported": any(max(grades) < 1 for grades in by_nugget.values()),
        "graded": any(sum(grades) != max(0, *grades) for grades in by_doc.values()),
    }
    return [topic for topic, is_so in seen.items() if is_so]
