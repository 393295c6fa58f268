"""The measures: each a function of one query, a file a family; a family is imported when it is used."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rageval.measures.base import Measure, measure

    # A family is called after its module: `_Novelty` is in `_novelty.py`.
    _Novelty = Measure
    _Sets = Measure
    _Ranks = Measure
    _Intents = Measure
    Spans = Measure
    _Nuggets = Measure
    _Grades = Measure
    _Citations = Measure
    _Reports = Measure
    _Words = Measure
    _Abstention = Measure
    _Claims = Measure
    _Confidence = Measure
    _Alce = Measure
    _Ragas = Measure
    _Trajectories = Measure
    _Conversations = Measure

# This is the one list of the measures, in the order in which they are shown.
# Of runs:
alpha_ndcg: _Novelty
alpha_dcg: _Novelty
coverage: _Sets
strec: _Sets
err_ia: _Novelty
nerr_ia: _Novelty
nrbp: _Novelty
nnrbp: _Novelty
map_ia: _Ranks
p_ia: _Sets
recall: _Sets
ndcg: _Ranks
ap: _Ranks
rr: _Ranks
p: _Sets
success: _Sets
all_gold: _Sets
judged: _Sets
hole: _Sets
d_ndcg: _Intents
i_rec: _Intents
d_sharp: _Intents

# Of runs, by the characters of sources:
span_recall: Spans
span_precision: Spans
span_iou: Spans

# Of judged answers:
nugget_recall: _Nuggets
nugget_density: _Nuggets
nugget_f: _Nuggets
rubric_score: _Nuggets
crag_score: _Grades
crag_share: _Grades
correctness: _Grades
correctness_share: _Grades
faithfulness: _Grades
faithfulness_share: _Grades
citation_precision: _Citations
citation_recall: _Citations
citation_relevance: _Reports
sentence_support: _Reports
nugget_coverage: _Reports
argue_f1: _Reports
sentence_count: _Reports
nugget_count: _Reports
dragun_support: _Reports
dragun_contradiction: _Reports
dragun_questions: _Reports
answer_accuracy: _Reports
sentence_share: _Reports
citation_coverage: _Reports
citation_share: _Reports
document_precision: _Reports
document_recall: _Reports
rank_score: _Grades
win_rate: _Grades
length: _Words
citations: _Citations
bank_precision: _Nuggets
bank_recall: _Nuggets
bank_groundedness: _Nuggets
audit_share: _Nuggets
lexical_recall: _Words
token_f1: _Words
grade: _Grades
pass_rate: _Grades
pass_any: _Grades
pass_all: _Grades
agreement: _Grades
brier: _Confidence
calibration_error: _Confidence
selective: _Confidence
cost_per_correct: _Confidence
answer_rate: _Abstention
over_refusal: _Abstention
false_answer_rate: _Abstention
answer_precision: _Claims
answer_recall: _Claims
answer_f1: _Claims
claim_recall: _Claims
context_precision: _Claims
context_utilization: _Claims
noise_relevant: _Claims
noise_irrelevant: _Claims
claim_hallucination: _Claims
self_knowledge: _Claims
claim_faithfulness: _Claims
all_supported: _Claims
ragas_faithfulness: _Ragas
ragas_answer_correctness: _Ragas
ragas_factual_correctness: _Ragas
ragas_context_precision: _Ragas
ragas_context_recall: _Ragas
alce_recall: _Alce
alce_precision: _Alce
alce_f1: _Alce
trust_score: _Alce
healthbench_score: _Nuggets
refusal_f1: _Abstention
answerable_f1: _Abstention
grounded_refusal: _Abstention
conditioned: _Conversations
turn_truthfulness: _Conversations
conversation_score: _Conversations
all_turns: _Conversations

# Of trajectories of agents:
seen_recall: _Trajectories
recall_area: _Trajectories
first_useful: _Trajectories
searches_to: _Trajectories
nuggets_seen: _Trajectories
nugget_gain: _Trajectories
session_dcg: _Trajectories
redundancy: _Trajectories
idle_searches: _Trajectories
repeated_calls: _Trajectories
cited_recall: _Trajectories
cited_precision: _Trajectories
cited_seen: _Trajectories
used_recall: _Trajectories
unseen: _Trajectories
uncited: _Trajectories
kept: _Trajectories
completed: _Trajectories
seen_agreement: _Trajectories
calls: _Trajectories
searches: _Trajectories
input_tokens: _Trajectories
output_tokens: _Trajectories
cost: _Trajectories
seconds: _Trajectories
calls_precision: _Trajectories
calls_recall: _Trajectories
calls_f1: _Trajectories
calls_order: _Trajectories

# Each name above is annotated with its family: this is what a type checker, `import *` and these read.
_FAMILY = {name: family.lower() for name, family in __annotations__.items()}
_BASE = ("Measure", "measure")

__all__ = ["Measure", "builtin", "measure", *_FAMILY]  # names all


def _member(name: str) -> Any:
    module = "base" if name in _BASE else _FAMILY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Kept as a name of this module: the next time Python finds it without asking here.
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return value


if not TYPE_CHECKING:  # a type checker is not to believe that every name is there
    __getattr__ = _member


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def known(name: str) -> Measure | None:
    """Return the measure that rageval brings under this name, if there is one."""
    return _member(name) if name in _FAMILY else None


@cache
def builtin() -> dict[str, Measure]:
    """Every measure rageval brings, by name, in the order in which they are listed."""
    return {name: _member(name) for name in _FAMILY}


def measures_taking(*arguments: str) -> dict[str, Measure]:
    """Return the measures whose first parameter is of one of these classes.

    >>> list(measures_taking("Covering"))
    ['span_recall', 'span_precision', 'span_iou']
    """
    return {name: measure for name, measure in builtin().items() if {*measure.takes} & {*arguments}}


def family(name: str) -> list[str]:
    """Return the names of the measures of a family.

    >>> family("ranks")
    ['map_ia', 'ndcg', 'ap', 'rr']
    """
    return [measure for measure, family in _FAMILY.items() if family == f"_{name}"]
