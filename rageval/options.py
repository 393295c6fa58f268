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
    reads: str = ""  # what a file, or a dataset of that id, holds
    completes: str = ""  # what a shell offers: a function of `rageval.cli._completion`
    shows: str | bool | None = None  # its default in the help, where this is another than the value itself
    section: str = ""  # of the help of a command with many options
    kind: str = (
        ""  # "output": a file that is written; "file": one that must be there; "path": either; "limit"
    )
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
        kind, said = _taken_apart(hint)
        option = next((each for each in said if isinstance(each, Option)), None)
        if option is None:
            continue
        # A text beside it says in other words what one command does with the option.
        texts = [each for each in said if isinstance(each, str)]
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
        bare = _taken_apart(hint)[0]
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


def _taken_apart(hint: Any) -> tuple[Any, list[Any]]:
    """Return a type without `None` and `Annotated`, and what was annotated, the inner first."""
    if typing.get_origin(hint) is Annotated:
        kind, said = _taken_apart(hint.__origin__)
        return kind, [*said, *hint.__metadata__]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        kinds = [each for each in typing.get_args(hint) if each is not type(None)]
        if len(kinds) == 1:
            return _taken_apart(kinds[0])
    return hint, []


# An option in a section of the help of a command that has many.
measured = partial(Option, section="What is measured")
read = partial(Option, section="What is read")
claimed = partial(Option, section="What may be claimed")
gated = partial(Option, section="Gates")
asked = partial(Option, section="Who is asked")
costs = partial(Option, section="What it may cost")
printed = partial(Option, section="What is printed or written")
done = partial(Option, section="How it is done")
SECTIONS = tuple(
    each.keywords["section"] for each in (measured, read, claimed, gated, asked, costs, printed, done)
)

MaxBias: TypeAlias = Annotated[
    float,
    Option(
        "Exit 1 if the order shown moves an answer by more than this many places (a pair is a list of two:"
        " with 0.1 the first may win 60 %).",
        metavar="PLACES",
        least=0,
    ),
]

# What is measured
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
    int, measured("The lowest grade that counts as relevant (default 1).", ("-l", "--rel"))
]
Ties: TypeAlias = Annotated[
    Literal["trec", "rank", "docid_asc", "input", "expected", "error"],
    measured(
        "Order of equal scores: docid descending (trec), ascending, rank column, file; the"
        " mean over all orders (expected); or refuse.",
        shows="trec",
    ),
]
ZeroRel: TypeAlias = Annotated[
    Literal["zero", "skip", "nan"],
    measured("How a query without relevant documents counts: as 0, left out, or undefined."),
]
Intersection: TypeAlias = Annotated[
    bool,
    measured(
        "Average over queries that are judged and that the run, or the system, has (default:"
        " all; one that a run lacks scores 0, one that judged answers lack is missing)."
    ),
]
Complete: TypeAlias = Annotated[
    bool,
    measured(
        "Average over all judged queries: the default, except by some tools' rules (--compat).",
        ("-c", "--complete"),
    ),
]
NothingJudged: TypeAlias = Annotated[
    Literal["error", "zero"],
    measured(
        "A run without any judged document: an error (the default; other runs are still printed), or"
        " scored anyway."
    ),
]
Overlap: TypeAlias = Annotated[
    str,
    measured(
        "How much of a span a chunk must contain: a share, whole or any.",
        metavar="RULE",
        shows="share>=0.5",
    ),
]
Stale: TypeAlias = Annotated[
    Literal["error", "drop"],
    measured("Spans whose text is no longer in their source: reject, or leave out.", shows="error"),
]
Missing: TypeAlias = Literal["error", "skip", "worst", "best"]
OnMissing: TypeAlias = Annotated[
    Missing,
    measured("Failed or missing judgements: reject (exit 3), leave out, or count as the worst or best."),
]
Bounds: TypeAlias = Annotated[
    bool,
    measured(
        "Also print the lowest and highest possible value, for any unjudged documents or missing judgements."
    ),
]
Provider: TypeAlias = Annotated[str, measured("Compute with this provider of ir_measures.", metavar="NAME")]
CompatOfRuns: TypeAlias = Literal["pyndeval", "ndeval", "ndeval-traditional", "trec_eval", "freshstack"]
CompatOfAnswers: TypeAlias = Literal["nuggetizer", "crag", "ragdoll", "auto-argue", "medaesqa", "ragchecker"]
Compat: TypeAlias = Annotated[
    Literal[CompatOfRuns, CompatOfAnswers], measured("Use another tool's rules, to match its numbers.")
]

# What is read
Questions: TypeAlias = Annotated[Any, read("The questions.", reads="questions")]
Topics: TypeAlias = Annotated[Any, read("The queries, with their texts and fields.", reads="questions")]
AllTopics: TypeAlias = Annotated[
    tuple[Any, ...], read("The queries, with their texts and fields.", reads="questions")
]
Nuggets: TypeAlias = Annotated[
    Any, read("The judged nuggets, with their importance or weight.", reads="nuggets")
]
IntentWeights: TypeAlias = Annotated[
    Any,
    read(
        "The weight of each nugget in judgements of documents: lines 'topic nugget weight', or nuggets"
        " (vital 1, okay 0.5).",
        reads="nuggets",
    ),
]
Answers: TypeAlias = Annotated[
    tuple[Any, ...],
    read("The judged answers, for their lengths, sentences and citations.", reads="answers"),
]
Passages: TypeAlias = Annotated[Any, read("Texts of documents by id.", reads="documents")]
Corpus: TypeAlias = Annotated[Any, read("The texts of documents.", reads="documents")]
RunFiles: TypeAlias = Annotated[
    tuple[str, ...], read("Judge the documents retrieved by this run.", ("--run",), metavar="FILE")
]
Gold: TypeAlias = Annotated[
    tuple[Any, ...],
    read("Human labels of some of the queries: used to correct every claim.", reads="labels"),
]
Chunks: TypeAlias = Annotated[
    str,
    read(
        "The retrieved chunks: lines {id, doc_id, start, end} or {id, doc_id, text}. "
        "Judgements may then be spans of sources.",
        metavar="FILE",
    ),
]
Sources: TypeAlias = Annotated[
    str, read("The source texts of spans and chunks: files, or lines {id, text}.", metavar="DIR|FILE")
]
GoldChosen: TypeAlias = Annotated[
    str,
    read(
        "How the queries with human labels were chosen: at random, by a plan (label plan), or with"
        " probabilities: lines 'query_id chance'.",
        metavar="uniform|PLAN|FILE",
    ),
]
Qrels: TypeAlias = Annotated[Any, read("Existing judgements of documents.", reads="qrels")]
Depth: TypeAlias = Annotated[
    int, read("Use only the first N documents of each ranking.", ("-M", "--depth"), least=1)
]
JudgedOnly: TypeAlias = Annotated[bool, read("Remove unjudged documents first.", ("-J", "--judged-only"))]
Dedup: TypeAlias = Annotated[Literal["first"], read("Accept duplicate documents, and keep the first.")]
NuggetsInQrels: TypeAlias = Annotated[
    Literal["yes", "no"],
    read(
        "Whether the second column of the judgements names nuggets (default: yes, with a"
        " warning where it looks otherwise)."
    ),
]
Comments: TypeAlias = Annotated[
    Literal["error", "skip", "data"], read("How to treat lines that begin with '#'.")
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

# What may be claimed
AllPairs: TypeAlias = Annotated[bool, claimed("Compare every run with every other.")]
Test: TypeAlias = Annotated[
    Literal["randomisation", "t"],
    claimed("Sign-flip randomization (exact up to 30 queries), or Student's t."),
]
Adjust: TypeAlias = Annotated[
    Literal["holm", "max_t", "none"],
    claimed(
        "For several comparisons: Holm, or step-down max-T, which flips signs for all pairs together and"
        " so accounts for correlated runs."
    ),
]
Family: TypeAlias = Annotated[
    Literal["pairs", "measures"],
    claimed("Which tests Holm adjusts together: the pairs of each measure, or those of all measures."),
]
Primary: TypeAlias = Annotated[
    str, claimed("Test this measure only; report the others without a test.", metavar="MEASURE")
]
Interval: TypeAlias = Annotated[
    Literal["bca", "percentile"], claimed("Which bootstrap interval; measures of two values have Wilson's.")
]
Level: TypeAlias = Annotated[float, claimed("The confidence level of intervals and tests.")]
Power: TypeAlias = Annotated[float, claimed("The power for the detectable difference.")]
Cluster: TypeAlias = Annotated[
    str,
    claimed(
        "Queries of one cluster are not independent: a field of the questions, or lines 'query_id cluster'.",
        metavar="FIELD|FILE",
    ),
]
Draws: TypeAlias = Annotated[int, claimed("The least number of sign flips; many comparisons take more.")]
Resamples: TypeAlias = Annotated[int, claimed("The number of bootstrap samples.")]
Population: TypeAlias = Annotated[
    Literal["kind", "set"],
    claimed("Whether claims from human labels are about queries of this kind, or about this set of queries."),
]
Until: TypeAlias = Annotated[
    str,
    claimed(
        "Judge only until this is decided by -m MEASURE: 'A>B' (or the reverse), 'A"
        " within 0.02 of B' (or apart), or 'best', with names of systems.",
        metavar="CLAIM",
    ),
]
Claimed: TypeAlias = Annotated[
    Literal["kind", "set"],
    claimed("Whether the claim is about questions of this kind, or about this set of questions."),
]
Looks: TypeAlias = Annotated[
    str,
    claimed(
        "How often to look at the result: a number of looks (default: after every ten questions), or after"
        " every question with an e-value ('anytime'; always for 'best' and for --claim set).",
        metavar="N|anytime",
    ),
]
Alpha: TypeAlias = Annotated[float, claimed("The largest accepted probability of a false claim.")]

Ledger: TypeAlias = Annotated[
    File,
    claimed(
        "Add each comparison to this ledger, and print p adjusted for all comparisons made on these"
        " questions.",
        metavar="FILE",
        kind="output",
    ),
]

# Gates
FailUnder: TypeAlias = Annotated[
    tuple[str, ...],
    gated(
        "Exit 1 if the mean of any run is lower; not for measures where low is good.", metavar="MEASURE=VALUE"
    ),
]

Block: TypeAlias = Annotated[
    Literal["worse", "beyond-margin"],
    gated(
        "What blocks: a significant loss whose estimate exceeds the margin, or only a loss that"
        " significantly exceeds it."
    ),
]
JudgeChanged: TypeAlias = Annotated[
    Literal["error", "allow"],
    gated("A different judge or rubric than the baseline's: reject (exit 2), or compare without a claim."),
]

# Who is asked
Judges: TypeAlias = Annotated[
    tuple[str, ...], asked("The judge: openai:MODEL, lexical, …", ("--judge",), metavar="JUDGE")
]
Judge: TypeAlias = Annotated[str, asked("The model that writes.", metavar="JUDGE")]
Vote: TypeAlias = Annotated[Literal["mean", "median", "majority"], asked("How to combine several judges.")]
Refresh: TypeAlias = Annotated[bool, asked("Ask again even if the reply is in the store.")]
Retry: TypeAlias = Annotated[
    str,
    asked(
        "Ask again only for replies that failed in this way: invalid, truncated, refused,"
        " filtered. Errors are always asked again.",
        metavar="STATUS,...",
        shows=False,
    ),
]
Store: TypeAlias = Annotated[
    str, asked("Where to store replies (default: the user's cache).", metavar="FILE")
]

# What is there already
Overwrite: TypeAlias = Annotated[bool, Option("Replace existing files.")]

# What it may cost
DryRun: TypeAlias = Annotated[bool, costs("Print the cost without calling a model.")]
MaxCost: TypeAlias = Annotated[
    float, costs("Stop before spending more than this (exit 4).", metavar="USD", least=0)
]
MaxCalls: TypeAlias = Annotated[
    int, costs("Stop before making more calls than this (exit 4).", metavar="N", least=0)
]
Price: TypeAlias = Annotated[
    tuple[str, ...],
    costs(
        "The price of a judge, in USD per million tokens; without MODEL, of each judge whose price is"
        " unknown (0: your own server).",
        metavar="[MODEL=]IN[,OUT]",
    ),
]
Batch: TypeAlias = Annotated[
    bool, costs("Send requests in batches: half the price, but a reply may take a day.")
]
Rebuy: TypeAlias = Annotated[
    bool, costs("Send requests again that may be in a batch that cannot be found (you may pay twice).")
]

# What is printed or written
ByQuery: TypeAlias = Annotated[bool, printed("Also print the value of every query.", ("-q", "--by-query"))]
Sort: TypeAlias = Annotated[
    str,
    printed(
        "Sort by this measure, best run first; 'run' sorts by name.",
        metavar="MEASURE",
        completes="measures",
    ),
]
Names: TypeAlias = Annotated[
    tuple[str, ...],
    printed(
        "Call the run in FILE by this name; 'tag': call runs by their tags (default: by their files).",
        metavar="NAME=FILE",
    ),
]
By: TypeAlias = Annotated[
    str,
    printed(
        "Add a row with an interval for each value of a field, such as domain,question_type.",
        metavar="FIELDS",
    ),
]
Caption: TypeAlias = Annotated[
    str,
    printed(
        "With --format latex: the caption, with formulas as in $\\alpha$ (default: number of queries,"
        " tests and judges; '': the tabular only).",
        metavar="TEXT",
    ),
]
LatexLabel: TypeAlias = Annotated[
    str, printed("With --format latex: the \\label, as in tab:runs.", metavar="NAME")
]
Places: TypeAlias = Annotated[
    int,
    printed(
        "Decimal places to print (default 4; 6 in ndeval's format).", ("-p", "--places"), least=0, most=17
    ),
]
Output: TypeAlias = Annotated[
    File, printed("Write to this file (default: print).", ("-o", "--output"), metavar="FILE", kind="output")
]
Page: TypeAlias = Annotated[
    File, printed("The page.", ("-o", "--output"), metavar="FILE.html", kind="output")
]
Folder: TypeAlias = Annotated[File, printed("", ("-o", "--output"), metavar="FOLDER", kind="path")]
Plot: TypeAlias = Annotated[
    File, printed("Also draw means, or curves over k: .png, .svg, .pdf.", metavar="FILE", kind="output")
]
Size: TypeAlias = Annotated[
    str,
    printed(
        "With --plot: column (3.3 inches wide), page (7), or width and height in inches, as in"
        " 5x3 (default: as wide as its panels need, at most a page).",
        metavar="WxH",
    ),
]
Quiet: TypeAlias = Annotated[bool, printed("Do not show progress.")]

# How it is done
Concurrency: TypeAlias = Annotated[int, done("The number of calls at a time.", least=1)]
Timeout: TypeAlias = Annotated[
    float,
    done(
        "The timeout of one call in seconds (default: 120, and five times that for files of batches).",
        metavar="SECONDS",
        above=0,
    ),
]
Patience: TypeAlias = Annotated[
    float,
    done(
        "How many seconds to retry when a judge stops answering (default: 240). A judge that never"
        " answered ends the job at once.",
        metavar="SECONDS",
        least=0,
    ),
]
PollEvery: TypeAlias = Annotated[float, done("Seconds between checks of a batch.", least=0.01, shows=False)]
Seed: TypeAlias = Annotated[int, done("The random seed.")]
