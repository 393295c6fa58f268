"""What may be said of an answer and what it is worth: labels and grades, a scale a kind of judgement."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rageval.errors import UsageError
from rageval.names import suggestion


@dataclass(frozen=True, slots=True, eq=False)  # a scale equals itself alone
class Scale:
    """Labels and grades of one kind of judgement, and how its rows are told from others.

    Rows belong to a scale by their aspect, where `aspects` are named, else by their rubric. Without labels
    a grade is any number (any whole number, if `whole`) from `low` to `high`, and a high one is good unless
    `counts_faults`. `by_all` where a system that was not judged lacks what others were judged on; `nothing`
    is the label of what an answer lacks that is not there. With `of_citations` the rows are of what sentences
    cite, so that an answer that cites nothing has none. With `own_grades` a row may give any grade beside its
    label, which alone counts. `measure` is what usually scores such rows.
    """

    name: str
    rubrics: tuple[str, ...]
    labels: Mapping[str, float] = field(default_factory=dict)
    aspects: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0
    whole: bool = False
    counts_faults: bool = False
    worst: str | None = None
    best: str | None = None
    by_all: bool = True
    own_grades: bool = False
    of_citations: bool = False
    of_whole: bool = False
    nothing: str | None = None
    measure: str = ""

    def taken_for(self, end: str | float) -> tuple[str | None, float]:
        """Label and grade of a judgement taken for the `worst`, the `best`, or any other label or grade.

        Taken for `nothing` it is what holds of an answer that there is not.
        """
        named = {"worst": self.worst, "best": self.best, "nothing": self.nothing or self.worst}
        # Any other word is a label itself.
        label = named.get(str(end), end)
        if isinstance(label, str):
            return label, self.labels[label]
        if label is not None:
            return None, label
        # Where faults are counted, many are the worst.
        return None, self.high if (end != "best") == self.counts_faults else self.low

    @property
    def expected(self) -> str:
        """What a row may hold, for error messages."""
        if self.labels:
            return "one of " + ", ".join(self.labels)
        number = "a whole number" if self.whole else "a number"
        return f"{number} from {self.low:g}" + ("" if math.isinf(self.high) else f" to {self.high:g}")


SUPPORT = Scale(
    "nugget support",
    ("nugget-assignment", "nugget-support", "rubric"),
    {"support": 1.0, "partial_support": 0.5, "not_support": 0.0},
    worst="not_support",
    best="support",
    nothing="not_support",
    measure="nugget_recall",
)
CITATION = Scale(
    "citation support",
    ("citation-support",),
    {"full_support": 1.0, "partial_support": 0.5, "no_support": 0.0},
    worst="no_support",
    best="full_support",
    of_citations=True,
    measure="citation_precision",
)
CRAG = Scale(
    "CRAG",
    ("crag", "crag-auto"),
    {"perfect": 1.0, "acceptable": 0.5, "missing": 0.0, "incorrect": -1.0, "accurate": 1.0},
    worst="incorrect",
    best="perfect",
    nothing="missing",
    of_whole=True,
    measure="crag_score",
)
REFUSED = "missing"
ABSTENTION = replace(CRAG, name="abstention", worst=REFUSED)  # the same labels: was it refused at all?
CORRECTNESS = Scale(
    "correctness",
    ("liverag",),
    aspects=("correctness",),
    low=-1.0,
    high=2.0,
    of_whole=True,
    measure="correctness",
)
FAITHFULNESS = Scale(
    "faithfulness",
    ("liverag",),
    aspects=("faithfulness",),
    low=-1.0,
    high=1.0,
    of_whole=True,
    measure="faithfulness",
)
POSITION = Scale("positions", ("listwise",), low=1.0, high=math.inf, whole=True)
OUTCOME = Scale(
    "preferences",
    ("pairwise", "simple-comparison"),
    {"win": 1.0, "tie": 0.5, "loss": 0.0},
    worst="loss",
    best="win",
    by_all=False,  # nobody meets everybody
)
_QUALITY = Scale("nugget quality", ("nugget-quality",), whole=True, counts_faults=True)
HALLUCINATED = replace(_QUALITY, aspects=("hallucinated",))
REDUNDANT = replace(_QUALITY, aspects=("redundant",))
LACKING = replace(_QUALITY, aspects=("lacking",), high=math.inf)
AUDIT = Scale(
    "audit",
    ("audit",),
    {"relevant": 1.0, "partially_relevant": 0.5, "non_relevant": 0.0},
    worst="non_relevant",
    best="relevant",
)
STANCE = Scale(
    "stance",
    ("stance",),
    {"supports": 1.0, "partial": 0.5, "none": 0.0, "contradicts": -1.0},
    worst="contradicts",
    best="supports",
    nothing="none",
)
CITED_STANCE = replace(
    STANCE,
    name="stance of citations",
    rubrics=("citation-stance",),
    labels={"supports": 1.0, "partial": 0.5, "neutral": 0.0, "none": 0.0, "contradicts": -1.0},
    of_citations=True,
)
SIMILARITY = Scale(
    "question similarity",
    ("question-similarity",),
    {"very_similar": 1.0, "similar": 0.5, "different": 0.0, "very_different": 0.0},
    worst="very_different",
    best="very_similar",
    nothing="very_different",
)
COMPOUND = Scale(
    "compound questions",
    ("compound-question",),
    {"single": 1.0, "compound": 0.0},
    worst="compound",
    best="single",
    by_all=False,
)
ACCURACY = Scale(
    "answer accuracy",
    ("answer-accuracy",),
    {"accurate": 1.0, "inaccurate": 0.0},
    worst="inaccurate",
    best="accurate",
    nothing="inaccurate",
)
SENTENCE = Scale(
    "sentence relevance",
    ("sentence-relevance",),
    {"required": 1.0, "borderline": 0.5, "unnecessary": 0.0, "unlabelled": 0.0, "inappropriate": -1.0},
    worst="inappropriate",
    best="required",
    by_all=False,
    nothing="unlabelled",
)
# As nugget support, by those sentences alone that the document they cite attests.
ATTESTED = replace(SUPPORT, name="attested nugget support", rubrics=("attested-nugget",))
CITED_RELEVANCE = Scale(
    "relevance of citations",
    ("citation-relevance",),
    {"relevant": 1.0, "not_relevant": 0.0},
    worst="not_relevant",
    best="relevant",
    of_citations=True,
)
NEED = Scale(
    "need of a citation",
    ("citation-need",),
    {"required": 0.0, "repeated": 1.0, "negative": 1.0, "not_required": 1.0},
    worst="required",
    best="not_required",
    nothing="required",
    by_all=False,
)
_OTHER = Scale("judgements that no measure knows", ("argue-other",), {"yes": 1.0, "no": 0.0}, by_all=False)
LEXICAL = Scale("lexical support", ("lexical",))
TOKEN_F1 = Scale("words shared with gold answers", ("token-f1",))
ANSWERABILITY = Scale(
    "answerability",
    ("answerability",),
    {"unrelated": 0.0, "related": 1.0, "hardly": 2.0, "partly": 3.0, "mostly": 4.0, "fully": 5.0},
    worst="unrelated",
    best="fully",
)
TOGETHER = Scale(
    "citations together",
    ("citations-together",),
    {"yes": 1.0, "no": 0.0},
    worst="no",
    best="yes",
    of_citations=True,
)
ENTAILMENT = Scale(
    "entailment",
    ("entailment",),
    {"entailment": 1.0, "neutral": 0.0, "contradiction": -1.0},
    worst="contradiction",
    best="entailment",
    nothing="neutral",
)
TEXT_SUPPORT = Scale(
    "claim support",
    ("ragas-support",),
    {"supported": 1.0, "not_supported": 0.0},
    worst="not_supported",
    best="supported",
    measure="ragas_faithfulness",
)
MATCH = Scale(
    "shared claims",
    ("ragas-match",),
    {"matched": 1.0, "unmatched": 0.0},
    worst="unmatched",
    best="matched",
    measure="ragas_answer_correctness",
)
CONTEXT = Scale(
    "context relevance",
    ("ragas-context",),
    {"useful": 1.0, "not_useful": 0.0},
    worst="not_useful",
    best="useful",
    measure="ragas_context_precision",
)
# What tools say of one of their own metrics beside a number of its own scale.
PASSES = {"pass": 1.0, "fail": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0} | {
    **{"c": 1.0, "i": 0.0, "p": 0.0, "n": 0.0},
}
PROXIES = (LEXICAL, TOKEN_F1)  # of measures that are what a count of words says, and claim no more
_JUDGED = (SUPPORT, CITATION, CRAG, CORRECTNESS, FAITHFULNESS, AUDIT)
_OF_TRACKS = (STANCE, CITED_STANCE, SIMILARITY, COMPOUND, ACCURACY, SENTENCE)
_OF_REPORTS = (ATTESTED, CITED_RELEVANCE, NEED, _OTHER)
_OF_BENCHMARKS = (ANSWERABILITY, TOGETHER, ENTAILMENT)
_OF_RAGAS = (TEXT_SUPPORT, MATCH, CONTEXT)
ALL = (
    *(*_JUDGED, *_OF_TRACKS, *_OF_REPORTS, *_OF_BENCHMARKS, *_OF_RAGAS, POSITION, OUTCOME),
    *(HALLUCINATED, REDUNDANT, LACKING, LEXICAL, TOKEN_F1),
)
FAULTS = frozenset(aspect for scale in ALL if scale.counts_faults for aspect in scale.aspects)
ASPECTS = frozenset(aspect for scale in ALL for aspect in scale.aspects)
# What usually scores a run, by whether documents are judged by nuggets.
OF_RUNS = {False: "ndcg@10", True: "alpha_ndcg@10"}
RUBRICS = frozenset(rubric for scale in ALL for rubric in scale.rubrics)


def is_of_tool(rubric: str) -> bool:
    """Return whether a rubric is a metric of another tool, which has a scale of its own.

    >>> is_of_tool("ragas/faithfulness"), is_of_tool("liverag")
    (True, False)
    """
    return "/" in rubric


def usual_measure(rubric: str) -> str:
    """Return the measure that usually scores judgements by a rubric; "" where none does.

    >>> usual_measure("crag"), usual_measure("crag@9f2c41aa"), usual_measure("ragas/faithfulness")
    ('crag_score', 'crag_score', '')
    """
    name = rubric.partition("@")[0]
    return next((scale.measure for scale in ALL if name in scale.rubrics), "")


def _scale_named(name: str) -> Scale:
    """Return the scale of this name, or the only one of this rubric or aspect.

    >>> _scale_named("nugget-assignment").name, _scale_named("faithfulness").high
    ('nugget support', 1.0)
    """
    scales = [scale for scale in ALL if name in (scale.name, *scale.rubrics, *scale.aspects)]
    if len(scales) != 1:
        names = [name for scale in ALL for name in (scale.aspects or (scale.name,))]
        raise UsageError(
            f"judged({name!r}): expected a Scale, or the name of one: {', '.join(names)}"
            + suggestion(name, names)
        )
    return scales[0]
