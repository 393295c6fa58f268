"""The language of what people read: `python tests/prose.py`, in `make check`.

Docs, help, messages and the docstrings of public names use one word for one thing, American spelling, no
phrase that is hard to read, and short sentences. `--figures` prints the counts; `--docs FILE …` and
`--code FILE …` look at these alone.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
MEDIAN, P90 = 16, 30  # words a sentence
USERS, README = 35_000, 650  # words of the pages for users, and of README without code and tables

# Pages that list what there is, pages for those who work on rageval; the others are for users.
REFERENCE = {"measures.md", "remarks.md", "findings.md", "json.md", "files.md", "api.md", "skill/SKILL.md"}
MADE = ("measures", "commands", "api")  # folders that the site's build makes
DEVELOPMENT = {"architecture.md", "decisions.md", "releasing.md", "estimator.md", "conformance.md"}

# What is not to be written (a regular expression, of whole words), and what to write.
INSTEAD = {
    r"data sets?": "dataset",
    r"judgments?": "judgement",  # as in the API
    r"people'?s (labels?|verdicts?|judgements?|grades?)": "human labels",
    r"labels? by people|people label(?:ed|led)?": "human labels",
    r"(?:is|are) lit": "is highlighted",
    r"stands? where a file would": "works wherever a file does",
    r"stands? nowhere": "was not found",
    r"puts all that can be said": "writes a report",
    r"ever so few|be (?:it|they|there) ever": "even with few",
    r"at hand": "you have",
    r"come[s]? to": "is, gives",
    r"by what a text refers": "the label",
    r"lets? be said": "shows",
    r"whose word": "who decides",
    r"part[s]? (?:another|a) \w+'s log|parted?(?= (?:into|by))": "split",
    r"hold[s]? (?:it|them|each|\w+) against": "compare with",
    r"told apart": "distinguished, detected",
    r"tell[s]? (?:\w+ )?apart": "distinguish",
    r"says? (?:what|which|how|where|why|who|whether|when) it (?:holds|rests)": "describe it",
    r"rests? on": "depends on, is based on",
    r"whatever (?:may|has|is|was)": "everything that",
    r"of (?:one's|your|its|their) own accord": "automatically",
    r"ought": "should",
    r"nought|naught": "zero",
    r"whence|whither|hence|thus|thereof|therein|whereof|wherein|hither": "from where, so",
    r"lest": "so that … not",
    r"amid|amidst|amongst|whilst": "among, while",
    r"anew": "again",
    r"be(?:ing)? that as it may|in vain|at (?:one's|your) leisure": "(delete)",
    r"nobody'?s|no man'?s": "not anyone's",
    r"for want of|in want of": "because … is missing",
    r"wants? (?:a|an|the) (?:\w+)(?= to be)": "needs",
    r"so many (?=quer|answ|quest|topics)": "this many",
    r"the like|suchlike": "similar",
    r"(?:it|he|they|she) (?:has|have) it that": "says",
    r"organis(?:e|es|ed|er|ers|ing|ation|ations)": "organiz-",
    r"randomis(?:e|es|ed|ing|ation)": "randomiz-",
    r"normalis(?:e|es|ed|ing|ation)": "normaliz-",
    r"recognis(?:e|es|ed|ing)": "recogniz-",
    r"summaris(?:e|es|ed|ing|ation)": "summariz-",
    r"tokenis(?:e|es|ed|ing|er|ation)": "tokeniz-",
    r"generalis(?:e|es|ed|ing|ation)": "generaliz-",
    r"optimis(?:e|es|ed|ing|ation)": "optimiz-",
    r"penalis(?:e|es|ed|ing)": "penaliz-",
    r"minimis(?:e|es|ed|ing)|maximis(?:e|es|ed|ing)": "-iz-",
    r"colours?|coloured|colouring": "color",
    r"behaviours?": "behavior",
    r"favours?|favoured|favourite": "favor",
    r"neighbours?|neighbouring": "neighbor",
    r"honours?|honoured": "honor",
    r"centre[sd]?": "center",
    r"licence[sd]?": "license",
    r"catalogues?": "catalog",
    r"(?:cancel|label|model)l(?:ed|ing|ers?)": "one l: canceled, labeled",
    r"programmes?": "program",
    r"spelt|learnt|burnt|spoilt": "-ed",
    r"defence|offence": "-se",
    r"greys?": "gray",
    r"artefacts?": "artifact",
    r"towards|afterwards|backwards|forwards": "toward, afterward",
    r"houses?|doors?|rooms?|strangers?": "file, command, package, reader",
    r"a tour of": "architecture",
    r"(?:what|all that) (?:can|may) be said": "what is known",
    r"outgrow(?:s|n|ing)?": "scaling",
    r"outliv(?:e|es|ed|ing)": "last longer than, independent of",
}
_BANNED = [
    (re.compile(rf"(?<![\w-])(?:{phrase})(?![\w-])", re.IGNORECASE), to) for phrase, to in INSTEAD.items()
]
_CODE = re.compile(r"(`+)(?:(?!\1).)+\1", re.DOTALL)
_END = re.compile(r"(?<=[.!?:])[\"')*]*\s+(?=[A-Z\"'(*`—–])|;\s+")
_SAYING = {"say", "warn", "echo", "note", "secho"}


class Text(NamedTuple):
    """What is read in one piece, and where it is."""

    kind: str
    path: Path
    line: int
    text: str


def pages() -> list[Path]:
    """Return the pages that people wrote."""
    docs = sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name not in MADE)
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *docs]


def paragraphs(path: Path, text: str) -> Iterator[Text]:
    """Yield what is prose on a page: neither code nor tables nor pictures nor settings."""
    begin, lines, fence = 0, [], ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        bare = line.strip()
        mark = re.match(r"[`:~]{3,}", bare)
        is_kept = (
            bool(bare) and not fence and not mark and not re.match(r"[|<#:]|!\[|\(\S+\)=$|\[\S+\]:", bare)
        )
        if (
            mark
            and not fence
            and not re.match(r"[`:~]{3,}\{(?:note|admonition|tip|warning|container|grid|dropdown)", bare)
        ):
            fence = mark[0]
        elif mark and fence and bare == fence:
            fence = ""
        is_item = bool(re.match(r"(?:[*-]|\d+\.) ", bare))
        if lines and (not is_kept or is_item):
            yield Text("docs", path, begin, " ".join(lines))
            lines = []
        if not fence and re.match(r"#+ ", bare):
            yield Text("titles", path, number, bare)
        if is_kept:
            begin = begin if lines else number
            lines.append(re.sub(r"^(?:[*-]|\d+\.) ", "", bare))


def _prose(node: ast.expr) -> str | None:
    """Return the text of a literal, with a word for what is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "X"
            for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        left, right = _prose(node.left), _prose(node.right) if isinstance(node.op, ast.Add) else ""
        return left + right if left is not None and right is not None else None
    return None


def literals(path: Path) -> Iterator[Text]:
    """Yield help, messages, and docstrings of public names of a module."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(
            node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef
        ) and not node.name.startswith("_"):
            if docstring := ast.get_docstring(node):
                kind = "help" if "/cli/" in path.as_posix() else "docstrings"
                yield Text(kind, path, node.lineno, _described(docstring))
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            is_message = (
                name.endswith(("Error", "Warning", "BadParameter", "Exception", "Refused")) or name in _SAYING
            )
            for argument in node.args if is_message else []:
                if (docstring := _prose(argument)) and " " in docstring:
                    yield Text("messages", path, argument.lineno, docstring)
            for keyword in node.keywords:
                if keyword.arg in ("help", "epilog", "short_help") and (docstring := _prose(keyword.value)):
                    yield Text("help", path, keyword.value.lineno, docstring)


def _described(docstring: str) -> str:
    """Return the sentences of a docstring: no formulas, examples, lists of parameters."""
    kept = []
    for block in re.split(r"\n\s*\n", docstring):
        if re.match(r"\s*(?:>>>|\.\. |\|)|.+\n\s*-{3,}", block) or block.startswith("    "):
            continue
        kept.append(" ".join(block.split()))
    return "\n".join(kept)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, code as one word each."""
    text = _CODE.sub("X", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text))
    return [part for part in _END.split(text) if len(part.split()) > 2]


def banned(text: str) -> Iterator[tuple[str, str]]:
    """Yield each phrase that is not to be written, and what to write."""
    bare = _CODE.sub("X", re.sub(r"\]\([^)]*\)", "]", text))
    for pattern, instead in _BANNED:
        for match in pattern.finditer(bare):
            if bare[match.end() : match.end() + 1] not in (":", "="):  # the name of a parameter
                yield match[0], instead


def lengths(texts: list[Text]) -> tuple[int, float, float]:
    """Return the number of sentences, the median of their words, and what nine of ten do not exceed."""
    counts = sorted(len(one.split()) for text in texts for one in sentences(text.text))
    if len(counts) < 2:
        return len(counts), 0.0, 0.0
    return len(counts), statistics.median(counts), statistics.quantiles(counts, n=10)[-1]


def words_of_users() -> dict[str, int]:
    """Return the words of each page for users; the lines of tables are none."""
    docs = ROOT / "docs"
    named = {page.relative_to(docs).as_posix(): page for page in pages() if page.is_relative_to(docs)}
    return {
        name: sum(bool(re.search(r"\w", word)) for word in page.read_text("utf-8").split())
        for name, page in named.items()
        if name not in REFERENCE | DEVELOPMENT
    }


def main() -> int:
    """Print what is to be changed, and return how a process ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figures", action="store_true", help="print the counts")
    parser.add_argument("--docs", nargs="+", type=Path, help="look at these pages alone")
    parser.add_argument("--code", nargs="+", type=Path, help="look at these modules alone")
    chosen = parser.parse_args()
    some = bool(chosen.docs or chosen.code)
    docs = [page.resolve() for page in chosen.docs or []] if some else pages()
    code = (
        [module.resolve() for module in chosen.code or []]
        if some
        else sorted((ROOT / "rageval").rglob("*.py"))
    )
    texts = [text for page in docs for text in paragraphs(page, page.read_text("utf-8"))]
    texts += [text for module in code for text in literals(module)]

    wrong = []
    for text in texts:
        for phrase, instead in banned(text.text):
            wrong.append(f"{text.path.relative_to(ROOT)}:{text.line}: {phrase!r}; write: {instead}")
    groups: dict[str, list[Text]] = {}
    for text in texts:
        group = str(text.path.relative_to(ROOT)) if text.kind == "docs" else text.kind
        if text.kind != "titles":
            groups.setdefault(group, []).append(text)
    for group, members in sorted(groups.items()):
        number, median, p90 = lengths(members)
        if chosen.figures:
            print(f"{group}: {number} sentences, median {median:g}, p90 {p90:.3g} words")
        if number >= 10 and (median > MEDIAN or p90 > P90):
            summary = f"sentences of {median:g} words (median), {p90:.3g} (p90)"
            wrong.append(f"{group}: {summary}; at most {MEDIAN} and {P90}")
    if not some:
        counted = words_of_users()
        prose = [text for text in texts if text.path == ROOT / "README.md" and text.kind == "docs"]
        front = sum(len(text.text.split()) for text in prose)
        if chosen.figures:
            print(f"pages for users: {sum(counted.values())} words; README: {front} words")
        if sum(counted.values()) > USERS:
            wrong.append(f"docs: {sum(counted.values())} words for users; at most {USERS}")
        if front > README:
            wrong.append(f"README.md: {front} words without code and tables; at most {README}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
