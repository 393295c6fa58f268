"""A page a measure, from its docstring and what the measure says of itself; and the page of them all."""

from __future__ import annotations

import inspect
import re
import sys
from contextlib import chdir
from textwrap import dedent

from click.testing import CliRunner

from generate import FAMILIES, SPELLING, headline
from making import papers, peers
from making.marks import fenced, plain, table, toctree
from rageval.cli import main
from rageval.measures import Measure, builtin
from rageval.measures.base import Parameter
from rageval.measures.official import OFFICIAL
from rageval.measures.parsing import ALIASES, SHORT, parse_measure
from rageval.subjects import ANSWERS, kind_of_measure
from snippets import ROOT

SECTIONS = ("Formula", "Range", "Parameters", "Caveats", "Peers", "Example")
# Parameters that mean the same everywhere, so that not every docstring says it.
USUAL = {
    "rel": "the lowest grade that counts as relevant",
    "alpha": "how little a nugget is worth when seen again: 0 the same, 1 nothing",
    "beta": "the patience of the reader, who goes on to the next document with this probability",
}
RUNS = "run.trec qrels.nugget"
STEPS = "steps.jsonl qrels.nugget --answers answers.jsonl --questions questions.jsonl"
SPANS = "run.trec spans.jsonl --chunks new.jsonl --sources sources.jsonl"
JUDGED = {  # by family, or by name
    "nuggets": "assignments.jsonl",
    "citations": "support.judged.jsonl --answers rag24.jsonl",
    "win_rate": "pairwise.judged.jsonl",
    "words": "rag24.jsonl",
}
WITHOUT_SAMPLES = (  # unlike the rest of their families
    *("bank_precision", "bank_recall", "bank_groundedness", "audit_share", "healthbench_score"),
    "rubric_score",
    "lexical_recall",
    "token_f1",
)


def pages() -> dict[str, str]:
    """Every page's name and text."""
    return {"index": index(), **{measure.name: page(measure) for measure in builtin().values()}}


def index() -> str:
    """The measures by family."""
    parts = [
        "# Measures",
        f"{SPELLING} `rageval measures NAME` prints a page in the terminal. Every example is executed when"
        " these pages are made.",
    ]
    for module in FAMILIES:
        found = [measure for measure in builtin().values() if measure.function.__module__ == module.__name__]
        name, more = family(module)
        rows = [(f"[`{measure.name}`]({measure.name}.md)", plain(measure.summary)) for measure in found]
        parts += [f"## {name}", sentence(more), table(("measure", "what it says"), rows)]
    short = [(f"`{name}`", f"`{meant}`") for name, meant in SHORT.items()]
    sets = [(f"`official:{name}`", " ".join(f"`{one}`" for one in found)) for name, found in OFFICIAL.items()]
    parts += ["## Short names", table(("name", "stands for"), short)]
    parts += ["## Named sets", table(("name", "stands for"), sets), toctree(builtin(), ":hidden:")]
    return "\n\n".join(filter(None, parts)) + "\n"


def family(module: object) -> tuple[str, str]:
    """The name of a family, and what else the first line of its file says."""
    name, _, more = (inspect.getdoc(module) or "").splitlines()[0].partition(":")
    return plain(name.rstrip(".")), more.strip()


def page(measure: Measure) -> str:
    """All there is to know of one measure."""
    said = sections(measure.page)
    parts = [f"# {measure.name}", plain(measure.summary), fenced(headline(measure), "text"), facts(measure)]
    parts += ["## Formula", formula(said["Formula"]), "## Range", plain(said["Range"])]
    if measure.declared:
        parts += ["## Parameters", parameters(measure, said.get("Parameters", ""))]
    if "Caveats" in said:
        parts += ["## Caveats", sentence(said["Caveats"])]
    if compared := peers.comparison(measure, plain(said.get("Peers", ""))):
        parts += ["## How it compares", compared]
    parts += [
        "## Example",
        sentence(said.get("Example", "")),
        fenced(said[">>>"], "python"),
        on_samples(measure),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def sections(docstring: str) -> dict[str, str]:
    """What a docstring says under each of its heads; the example's code under `>>>`."""
    text, _, code = docstring.partition(">>> ")
    pieces = re.split(rf"^({'|'.join(SECTIONS)}):", text, flags=re.MULTILINE)
    said = {name: stripped(body) for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}
    return {**said, ">>>": ">>> " + code.rstrip()}


def stripped(body: str) -> str:
    """A section begins behind its head, or on the next line, indented."""
    return body.strip() if body.startswith(" ") else body.strip("\n").rstrip()


def sentence(text: str) -> str:
    """What went on behind a colon begins a paragraph; names such as nDCG stay as they are."""
    begins_with_word = text.partition(" ")[0].strip(",").islower()
    return plain(text[:1].upper() + text[1:] if begins_with_word else text)


def formula(text: str) -> str:
    """Indented lines are the formula, others are text."""
    pieces = re.split(r"((?:^    .*\n(?:\n(?=    ))?)+)", text + "\n", flags=re.MULTILINE)
    parts = [(piece.strip("\n"), piece.startswith("    ")) for piece in pieces if piece.strip()]
    return "\n\n".join(
        fenced(dedent(part), "{formula}") if indented else plain(part) for part, indented in parts
    )


def parameters(measure: Measure, text: str) -> str:
    """A row a parameter: what it may be, what it is when nothing is said, what it means."""
    described = re.compile(r"^    (\w+): (.*(?:\n     .*)*)", re.MULTILINE)
    meant = USUAL | {name: re.sub(r"\s*\n\s*", " ", says) for name, says in described.findall(text)}
    rows = [
        (f"`{one.name}`", values(one), f"`{one.default}`", plain(meant.get(one.name, "see the formula")))
        for one in measure.declared.values()
    ]
    rows += [("`@k`", "a whole number from 1", "all", "the cut-off: only the top k count")] * measure.takes_k
    more = described.sub("", text).strip()
    return table(("parameter", "values", "default", "meaning"), rows) + f"\n\n{plain(more)}" * bool(more)


def values(parameter: Parameter) -> str:
    if parameter.choices:
        return ", ".join(f"`{choice}`" for choice in parameter.choices)
    kind = "a whole number" if parameter.kind is int else "a number"
    if parameter.limits is None or abs(parameter.limits.high) > 1000:
        return kind
    return f"{kind} from {parameter.limits.low:g} to {parameter.limits.high:g}"


def facts(measure: Measure) -> str:
    """What it scores, which way is better, what else it is called, where it is reported, what to cite."""
    also = [alias for alias, name in ALIASES.items() if name == measure.name]
    short = [name for name, meant in SHORT.items() if parse_measure(meant).name == measure.name]
    sets = [
        name
        for name, found in OFFICIAL.items()
        if any(parse_measure(one).name == measure.name for one in found)
    ]
    name, _ = family(sys.modules[measure.function.__module__])
    rows = [
        ("Family", f"[{name}](index.md)"),
        ("Scores", scored(measure)),
        ("Better", plain(measure.directions)),
        ("Also called", ", ".join(f"`{name}`" for name in also)),
        ("Short names", ", ".join(f"`{name}`" for name in short)),
        ("Reported by", ", ".join(f"`official:{name}`" for name in sets)),
        ("To cite", "<br>".join(f"{paper} [BibTeX](#{paper.key})" for paper in papers.of_measure(measure))),
    ]
    return table(("", ""), [row for row in rows if row[1]])


def scored(measure: Measure) -> str:
    """What it scores."""
    if measure.argument == "Covering":
        return "runs, by [spans of sources](../spans.md)"
    kind = kind_of_measure(measure)
    return "judged answers" if kind is ANSWERS else f"{kind.noun}, by judgements of documents"


def on_samples(measure: Measure) -> str:
    """The command on the sample data, and what it really prints."""
    module = measure.function.__module__.rpartition("._")[2]
    judged = JUDGED.get(measure.name, JUDGED.get(module, ""))
    is_of_answers, is_of_spans = kind_of_measure(measure) is ANSWERS, measure.argument == "Covering"
    is_of_steps = measure.argument == "Trajectory"
    files = judged if is_of_answers else SPANS if is_of_spans else STEPS if is_of_steps else RUNS
    if not files or measure.name in WITHOUT_SAMPLES:
        return ""
    folder = "examples/data/" + ("answers/" if is_of_answers else "spans/" * is_of_spans)
    folder += "agents/" * is_of_steps
    words = [folder + word if "." in word else word for word in files.split()]
    words += ["-m", str(measure @ 10 if measure.takes_k else measure)]
    with chdir(ROOT):
        done = CliRunner().invoke(main, words, catch_exceptions=False)
    if done.exit_code:
        raise RuntimeError(f"rageval {' '.join(words)}: {done.stderr}")
    return "On the sample data:\n\n" + fenced(
        f"$ rageval {' '.join(words)}\n{done.stdout.rstrip()}", "console"
    )
