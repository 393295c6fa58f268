"""Options: a name, a type, a default and a meaning, declared once.

A field, or a parameter of a command, whose type is `Annotated[…, Option(help)]` is an option. The command
line, what Python checks and the pages of documentation are made of it; what several share is an alias here.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Self,
    TypeAlias,
    TypeVar,
    dataclass_transform,
)

from rageval.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    File: TypeAlias = Path
else:
    File = object  # pathlib is imported where a file is named, and by none of these types


class Option(NamedTuple):
    """What is known of an option besides its name, its type and its default."""

    help: str
    names: tuple[str, ...] = ()  # on the command line, in place of the field's own
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    above: float | None = None
    reads: str = ""  # what a file, or a data set of that id, holds
    completes: str = ""  # what a shell offers: a function of `rageval.cli._completion`
    shows: str | bool | None = None  # its default in the help, where this is another than the value itself
    section: str = ""  # of the help of a command with many options
    kind: str = ""  # "output": to be written; "file": one that must be there; "folder"; "path": any; "limit"
    choices: tuple[str, ...] = ()  # the words among which one is chosen, where its type does not list them
    parses: Any = None  # what reads a word of the command line, where its type does not say it
    hidden: bool = False


class OptionField(NamedTuple):
    """An option with its name, its type and its default."""

    name: str
    type: Any  # bool, int, float, str, File, or a Literal
    is_several: bool
    default: Any  # REQUIRED where there is none
    option: Option

    @property
    def choices(self) -> tuple[str, ...]:
        """The words among which one is chosen, if there are such."""
        is_listed = typing.get_origin(self.type) is Literal
        return typing.get_args(self.type) if is_listed else self.option.choices


REQUIRED: Any = object()
_Settings = TypeVar("_Settings")


def fields_of(hints: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[OptionField]:
    """Yield the options among annotated names; others are no options."""
    for name, hint in hints.items():
        kind, annotations = _unwrapped(hint)
        option = next((annotation for annotation in annotations if isinstance(annotation, Option)), None)
        if option is None:
            continue
        # A text beside it says in other words what one command does with the option.
        texts = [annotation for annotation in annotations if isinstance(annotation, str)]
        option = option._replace(help=texts[-1]) if texts else option
        is_several = typing.get_origin(kind) is tuple and typing.get_args(kind)[-1] is ...
        yield OptionField(
            name,
            typing.get_args(kind)[0] if is_several else kind,
            is_several,
            defaults.get(name, REQUIRED),
            option,
        )


@cache
def _words(kind: Any) -> dict[str, tuple[Any, ...]]:
    """Return the fields of a dataclass among whose words one is chosen, with these; None where it may be."""
    words = {}
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        bare = _unwrapped(hint)[0]
        if typing.get_origin(bare) is Literal:
            may_be_none = type(None) in typing.get_args(hint)
            words[name] = (*typing.get_args(bare), *([None] if may_be_none else []))
    return words


def refuse_other_words(settings: Any) -> None:
    """Raise `UsageError` unless each field of a dataclass that is one of several words is one of them."""
    kind: Any = type(settings)
    for name, words in _words(kind).items():
        value = getattr(settings, name)
        if value not in words:
            expected = ", ".join(word for word in words if word is not None)
            raise UsageError(f"{name}={value!r}: expected one of {expected}")


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Options:
    """Options of a command, as attributes: each field of a subclass is one, and has its default if not given.

    A dataclass to type checkers. Making one takes a millisecond at run time, and a command has several.
    """

    def __init__(self, **given: Any) -> None:
        vars(self).update(given)

    def changed(self) -> list[str]:
        """Return the names of the options that differ from their defaults."""
        return [name for name, value in vars(self).items() if value != getattr(type(self), name, value)]

    def replaced(self, **changed: Any) -> Self:
        """Return the same options but for these."""
        return type(self)(**(vars(self) | changed))


def fields_of_class(holder: type[Options]) -> Iterator[OptionField]:
    """Yield the options among the fields of a class of options, those of its bases first."""
    hints = typing.get_type_hints(holder, include_extras=True)
    return fields_of(hints, {name: getattr(holder, name) for name in hints if hasattr(holder, name)})


def settings_from(kind: type[_Settings], options: Any, **more: Any) -> _Settings:
    """Return settings of this kind, a dataclass: what `more` says, else the options of the same names."""
    names = [name for name in kind.__dataclass_fields__ if hasattr(options, name)]  # type: ignore[attr-defined]
    return kind(**({name: getattr(options, name) for name in names} | more))


def _unwrapped(hint: Any) -> tuple[Any, list[Any]]:
    """Return a type without `None` and `Annotated`, and what was annotated, the inner first."""
    if typing.get_origin(hint) is Annotated:
        kind, annotations = _unwrapped(hint.__origin__)
        return kind, [*annotations, *hint.__metadata__]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        kinds = [part for part in typing.get_args(hint) if part is not type(None)]
        if len(kinds) == 1:
            return _unwrapped(kinds[0])
    return hint, []


# An option in a section of the help of a command that has many.
measured = partial(Option, section="Measures")
read = partial(Option, section="Inputs")
claimed = partial(Option, section="Statistics")
gated = partial(Option, section="Gates")
asked = partial(Option, section="Judges")
costs = partial(Option, section="Cost")
printed = partial(Option, section="Output")
done = partial(Option, section="Execution")
SECTIONS = tuple(
    section.keywords["section"] for section in (measured, read, claimed, gated, asked, costs, printed, done)
)

MaxBias: TypeAlias = Annotated[
    float,
    Option(
        "Fail (exit 1) if the position shown moves an answer by more than PLACES. A pair is a list of two:"
        " with 0.1 the answer shown first may win up to 60 %.",
        metavar="PLACES",
        least=0,
    ),
]

# Measures
Measures: TypeAlias = Annotated[
    tuple[str, ...],
    measured(
        "What to measure: alpha_ndcg@10, 'nDCG@10 AP', official:freshstack. See: rageval measures.",
        ("-m", "--measure"),
        metavar="MEASURES",
        completes="measures",
    ),
]
Measure: TypeAlias = Annotated[
    str,
    measured(
        "What to measure: alpha_ndcg@10, 'nDCG@10 AP', official:freshstack. See: rageval measures.",
        ("-m", "--measure"),
        metavar="MEASURE",
        completes="measures",
    ),
]
Rel: TypeAlias = Annotated[
    int, measured("Lowest grade that counts as relevant (default: 1).", ("-l", "--rel"))
]
Ties: TypeAlias = Annotated[
    Literal["trec", "rank", "docid_asc", "input", "expected", "error"],
    measured(
        "Order of equal scores: docid descending (trec) or ascending, rank column, file order, the mean"
        " over all orders (expected), or refuse.",
        shows="trec",
    ),
]
ZeroRel: TypeAlias = Annotated[
    Literal["zero", "skip", "nan"],
    measured("Queries without anything relevant: count as 0, leave out, or undefined."),
]
Intersection: TypeAlias = Annotated[
    bool,
    measured(
        "Average only over queries that are judged and that the run or system has. Default: all; queries"
        " missing from a run score 0, those missing from judged answers are missing."
    ),
]
Complete: TypeAlias = Annotated[
    bool,
    measured(
        "Average over all judged queries. This is the default, except where --compat says otherwise.",
        ("-c", "--complete"),
    ),
]
NothingJudged: TypeAlias = Annotated[
    Literal["error", "zero"],
    measured(
        "Runs without any judged document: error (the default; other runs are still printed), or score them"
        " anyway."
    ),
]
Overlap: TypeAlias = Annotated[
    str,
    measured(
        "How much of a span a chunk must contain to count as holding it: a share, whole or any.",
        metavar="RULE",
        shows="share>=0.5",
    ),
]
Stale: TypeAlias = Annotated[
    Literal["error", "drop"],
    measured("Spans whose text is no longer in their sources: refuse, or leave out.", shows="error"),
]
Missing: TypeAlias = Literal["error", "skip", "worst", "best"]
OnMissing: TypeAlias = Annotated[
    Missing,
    measured(
        "Failed or missing judgements: refuse (exit 3), leave out, or count as the worst or best value."
    ),
]
Bounds: TypeAlias = Annotated[
    bool,
    measured(
        "Also print the lowest and highest possible value, given unjudged documents or missing judgements."
    ),
]
Provider: TypeAlias = Annotated[str, measured("Compute with this ir_measures provider.", metavar="NAME")]
CompatOfRuns: TypeAlias = Literal["pyndeval", "ndeval", "ndeval-traditional", "trec_eval", "freshstack"]
CompatOfAnswers: TypeAlias = Literal[
    "nuggetizer", "crag", "ragdoll", "auto-argue", "medaesqa", "ragchecker", "browsecomp-plus"
]
Compat: TypeAlias = Annotated[
    Literal[CompatOfRuns, CompatOfAnswers], measured("Follow another tool's rules, to match its numbers.")
]

# Inputs
Questions: TypeAlias = Annotated[Any, read("The questions.", reads="questions")]
Topics: TypeAlias = Annotated[Any, read("The queries of the collection.", reads="questions")]
AllTopics: TypeAlias = Annotated[tuple[Any, ...], read("The queries of the collection.", reads="questions")]
Nuggets: TypeAlias = Annotated[
    Any, read("The judged nuggets, with their importance or weight.", reads="nuggets")
]
IntentWeights: TypeAlias = Annotated[
    Any,
    read(
        "Nugget weights for runs: lines 'topic nugget weight', or a nuggets file (vital 1, okay 0.5).",
        reads="nuggets",
    ),
]
Answers: TypeAlias = Annotated[
    tuple[Any, ...],
    read("The judged answers, for their lengths, sentences and citations.", reads="answers"),
]
Passages: TypeAlias = Annotated[Any, read("Document texts by id.", reads="documents")]
Corpus: TypeAlias = Annotated[Any, read("Document texts.", reads="documents")]
RunFiles: TypeAlias = Annotated[
    tuple[str, ...], read("Judge the documents retrieved by a run.", ("--run",), metavar="FILE")
]
Gold: TypeAlias = Annotated[
    tuple[Any, ...],
    read("Human labels for a sample; claims are corrected with them.", reads="labels"),
]
Chunks: TypeAlias = Annotated[
    str,
    read(
        "The retrieved chunks: lines {id, doc_id, start, end} or {id, doc_id, text}. Use it when judgements"
        " are spans of sources.",
        metavar="FILE",
    ),
]
Sources: TypeAlias = Annotated[
    str, read("The texts that spans and chunks refer to: files, or lines {id, text}.", metavar="DIR|FILE")
]
GoldChosen: TypeAlias = Annotated[
    str,
    read(
        "How the human-labeled sample was chosen: at random, by a plan (label plan), or with stated chances"
        " (lines 'query_id chance').",
        metavar="uniform|PLAN|FILE",
    ),
]
Qrels: TypeAlias = Annotated[Any, read("Existing judgements of documents.", reads="qrels")]
Depth: TypeAlias = Annotated[
    int, read("Use only the first N documents of each ranking.", ("-M", "--depth"), least=1)
]
JudgedOnly: TypeAlias = Annotated[bool, read("Remove unjudged documents first.", ("-J", "--judged-only"))]
Dedup: TypeAlias = Annotated[Literal["first"], read("Accept documents ranked twice; the first rank counts.")]
NuggetsInQrels: TypeAlias = Annotated[
    Literal["yes", "no"],
    read(
        "Whether the second column of the judgements names nuggets (default: yes, with a warning if it does"
        " not look so)."
    ),
]
Comments: TypeAlias = Annotated[
    Literal["error", "skip", "data"], read("What to do with lines that begin with '#'.")
]
Limits: TypeAlias = Annotated[
    tuple[str, ...],
    read(
        "Raise a safety limit: line, record, id, grade, ratio, unpacked, columns, entries (as in line=4M).",
        ("--limit",),
        metavar="NAME=NUMBER",
        kind="limit",
    ),
]

# Statistics
AllPairs: TypeAlias = Annotated[bool, claimed("Compare every pair of runs.")]
Test: TypeAlias = Annotated[
    Literal["auto", "randomization", "t"],
    claimed(
        "The test that fits the values: sign flips, and a studentized bootstrap of graded ones; or sign flips"
        " or Student's t alone."
    ),
]
Adjust: TypeAlias = Annotated[
    Literal["max_t", "holm"],
    claimed(
        "How to adjust p for the pairs of a measure: step-down max-T (accounts for similar runs), or Holm."
    ),
]
Level: TypeAlias = Annotated[float, claimed("Confidence level of intervals and tests.")]
Power: TypeAlias = Annotated[float, claimed("Power for the detectable difference.")]
Pilot: TypeAlias = Annotated[
    tuple[str, ...],
    claimed(
        "Labels drawn earlier in the same way: 30 or more for --width; new pairs are drawn where ranks"
        " overlap.",
        metavar="LABELS.jsonl",
    ),
]
Cluster: TypeAlias = Annotated[
    str,
    claimed(
        "Treat queries of one cluster as dependent: a field of the questions, a file of lines 'query_id"
        " cluster', or none. Default: their conversation_id, if they have any.",
        metavar="FIELD|FILE|none",
    ),
]
Draws: TypeAlias = Annotated[int, claimed("Minimum number of sign flips; many comparisons use more.")]
Resamples: TypeAlias = Annotated[int, claimed("Number of bootstrap resamples.")]
Population: TypeAlias = Annotated[
    Literal["kind", "set"],
    claimed("What claims from human labels are about: queries of this kind, or exactly this set."),
]

# Gates
FailUnder: TypeAlias = Annotated[
    tuple[str, ...],
    gated(
        "Exit 1 if the mean of any run is lower. Not for measures where low is good.", metavar="MEASURE=VALUE"
    ),
]

Block: TypeAlias = Annotated[
    Literal["worse", "beyond-margin"],
    gated(
        "What blocks: a significant loss that looks larger than the margin, or one that is significantly"
        " larger."
    ),
]
JudgeChanged: TypeAlias = Annotated[
    Literal["error", "allow"],
    gated("If the judge or rubric differs from the baseline's: refuse (exit 2), or compare without a claim."),
]

# Judges
Judges: TypeAlias = Annotated[
    tuple[str, ...], asked("The judge: openai:MODEL, lexical, …", ("--judge",), metavar="JUDGE")
]
Judge: TypeAlias = Annotated[str, asked("The model that writes the text.", metavar="JUDGE")]
Vote: TypeAlias = Annotated[Literal["mean", "median", "majority"], asked("How to combine several judges.")]
Refresh: TypeAlias = Annotated[bool, asked("Ask again, even if the reply is stored.")]
Retry: TypeAlias = Annotated[
    str,
    asked(
        "Ask again only what failed in these ways: invalid, truncated, refused, filtered. Errors are always"
        " asked again.",
        metavar="STATUS,...",
        shows=False,
    ),
]
Store: TypeAlias = Annotated[
    str, asked("Where replies are stored (default: the user's cache).", metavar="FILE")
]

# What is there already
Overwrite: TypeAlias = Annotated[bool, Option("Replace existing files.")]

# Cost
DryRun: TypeAlias = Annotated[bool, costs("Estimate the cost; ask no judge.")]
MaxCost: TypeAlias = Annotated[
    float, costs("Stop before spending more than this (exit 4).", metavar="USD", least=0)
]
MaxCalls: TypeAlias = Annotated[
    int, costs("Stop before making more calls than this (exit 4).", metavar="N", least=0)
]
Price: TypeAlias = Annotated[
    tuple[str, ...],
    costs(
        "Price of a judge in USD per million tokens. Without MODEL: of every judge with unknown price (0"
        " for your own server).",
        metavar="[MODEL=]IN[,OUT]",
    ),
]
Batch: TypeAlias = Annotated[bool, costs("Use batch requests: half the price, but a reply may take a day.")]
Rebuy: TypeAlias = Annotated[
    bool, costs("Ask again what may be in a batch that cannot be found; you may pay twice.")
]

# Output
ByQuery: TypeAlias = Annotated[bool, printed("Also print the value for each query.", ("-q", "--by-query"))]
Sort: TypeAlias = Annotated[
    str,
    printed(
        "Put the best run by this measure first; 'run' sorts by name.",
        metavar="MEASURE",
        completes="measures",
    ),
]
Names: TypeAlias = Annotated[
    tuple[str, ...],
    printed(
        "Name the run in FILE; 'tag' uses the run tags (default: file names).",
        metavar="NAME=FILE",
    ),
]
By: TypeAlias = Annotated[
    str,
    printed(
        "Print one row for each value of a field, such as domain,question_type, with an interval.",
        metavar="FIELDS",
    ),
]
Caption: TypeAlias = Annotated[
    str,
    printed(
        "With --format latex: the caption; formulas as in $\\alpha$ work. Default: the measures and"
        " settings; '': only the tabular.",
        metavar="TEXT",
    ),
]
LatexLabel: TypeAlias = Annotated[
    str, printed("With --format latex: the \\label, as in tab:runs.", metavar="NAME")
]
Places: TypeAlias = Annotated[
    int,
    printed("Decimal places (default 4; 6 for ndeval's format).", ("-p", "--places"), least=0, most=17),
]
Output: TypeAlias = Annotated[
    File,
    printed(
        "File to write (default: print); its ending may say the format.",
        ("-o", "--output"),
        metavar="FILE",
        kind="output",
    ),
]
Page: TypeAlias = Annotated[
    File, printed("HTML file to write.", ("-o", "--output"), metavar="FILE.html", kind="output")
]
Folder: TypeAlias = Annotated[File, printed("", ("-o", "--output"), metavar="FOLDER", kind="path")]
Plot: TypeAlias = Annotated[
    File, printed("Also draw means, or curves over k: .png, .svg, .pdf.", metavar="FILE", kind="output")
]
Size: TypeAlias = Annotated[
    str,
    printed(
        "With --plot: column (3.3 inches wide), page (7), or width and height in inches, as in 5x3"
        " (default: as wide as needed, at most a page).",
        metavar="WxH",
    ),
]
Quiet: TypeAlias = Annotated[bool, printed("Hide progress.")]

# Execution
Concurrency: TypeAlias = Annotated[int, done("Number of simultaneous calls.", least=1)]
Timeout: TypeAlias = Annotated[
    float,
    done(
        "Timeout of one call (default: 120; five times as long for batch files).",
        metavar="SECONDS",
        above=0,
    ),
]
Patience: TypeAlias = Annotated[
    float,
    done(
        "How long to retry a judge that stops answering (default: 240). A judge that never answered ends"
        " the job at once.",
        metavar="SECONDS",
        least=0,
    ),
]
PollEvery: TypeAlias = Annotated[float, done("Seconds between batch checks.", least=0.01, shows=False)]
Seed: TypeAlias = Annotated[int, done("Random seed; the same seed gives the same numbers.")]
