"""Formulas are typeset from the text that the terminal shows, and say the same."""

from __future__ import annotations

import re
from textwrap import dedent
from unicodedata import normalize
from xml.etree.ElementTree import Element, fromstring

import pytest

from rageval.measures import builtin
from snippets import ROOT, blocks

pytest.importorskip("sphinx")

DOCS = ROOT / "docs"


@pytest.fixture(autouse=True)
def _making(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)


def formulas() -> dict[str, str]:
    """The formula of every measure, and those on the pages of people."""
    by_page = {}
    for name, measure in builtin().items():
        text = measure.page.partition("Formula:\n")[2].partition("\nRange:")[0]
        block = re.match(r"(?:    .*\n|\n(?=    ))+", text)
        by_page[name] = dedent(block[0]) if block else ""
    pages = [path for path in sorted(DOCS.glob("*.md")) if path.name != "measures.md"]
    for path in pages:
        for index, block in enumerate(blocks("{formula}", path.read_text(encoding="utf-8"))):
            by_page[f"{path.stem}-{index}"] = block
    return by_page


FORMULAS = formulas()
SIGNS = {"∑": "Σ", "⋃": "∪", "∏": "Π"}
GONE = re.compile(r"[\s()/÷_^{}]")  # what a fraction, a level or a bracket stands for


def read_aloud(element: Element) -> str:
    """What MathML says, from left to right and from top to bottom."""
    own = "√" if element.tag == "msqrt" else SIGNS.get(element.text or "", element.text or "")
    return own + "".join(map(read_aloud, element))


def tree(element: Element) -> str:
    """MathML as brackets: `f` a fraction, `b` below, `a` above."""
    inside = [tree(child) for child in element if child.tag != "mspace"]
    if element.tag in ("mfrac", "msub", "munder", "msup"):
        return {"mfrac": "f", "msub": "b", "munder": "b", "msup": "a"}[element.tag] + f"[{'|'.join(inside)}]"
    return SIGNS.get(element.text or "", element.text or "") + "".join(inside)


def test_every_measure_and_the_page_of_the_estimator_have_one() -> None:
    assert len(FORMULAS) >= len(builtin()) + 1
    assert [name for name, text in FORMULAS.items() if not text.strip()] == []


def test_formulas_of_measures_on_other_pages_are_theirs() -> None:
    author = (DOCS / "author.md").read_text(encoding="utf-8")
    assert all(author.count(line) >= 2 for line in FORMULAS["author-0"].splitlines())


@pytest.mark.slow
@pytest.mark.some(5)
@pytest.mark.parametrize("name", FORMULAS)
def test_what_is_typeset_says_what_is_written(name: str) -> None:
    from making.formulas import html, lines

    typeset = fromstring(html(FORMULAS[name]))
    shown = [element.attrib["alttext"] for element in typeset.iter("math")]
    written = lines(FORMULAS[name])
    assert all(line.startswith(one) for line, one in zip(written, shown, strict=True))
    for math in typeset.iter("math"):
        plain = normalize("NFD", math.attrib["alttext"]).translate(str.maketrans("²³\u0304", "23¯"))
        assert GONE.sub("", read_aloud(math)) == GONE.sub("", plain)
    notes = ["".join(note.itertext()) for note in typeset.iter("dd")]
    for line, note in zip(written[len(written) - len(notes) :], notes, strict=True):
        assert line.replace("`", "").endswith(f": {note}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a · b / c · d", "f[a·b|c]·d"),
        ("1/S · Σ_n 1/R_n · Σ_{i≤k} (x + y) / i", "f[1|S]·b[Σ|n]f[1|b[R|n]]·b[Σ|i≤k]f[x+y|i]"),
        ("Σ_i g_i / i  ÷  Σ w, over all", "f[b[Σ|i]f[b[g|i]|i]|Σw],over all"),
        ("2·P·R / (P + R)", "f[2·P·R|P+R]"),
        ("(1 + β²) · x", "(1+a[β|2])·x"),
        ("(1−α)^c_n(i) + b^(i−1)", "a[(1−α)|b[c|n](i)]+a[b|i−1]"),
        ("|documents in the top k| / min(k, |d|)", "f[|documents in the topk||min(k,|d|)]"),
        ("mean of (N − p) / N over the queries", "mean off[N−p|N]over the queries"),
        ("alpha_dcg@k(run) / log2(1 + i)", "f[alpha_dcg@k(run)|b[log|2](1+i)]"),
        ("p_ia@k = d_x", "p_ia@k=b[d|x]"),
        ("Σ (ē − d̄_L)²", "Σa[(e¯−b[d¯|L])|2]"),
        ("the share / a question", "f[the share|a question]"),
    ],
)
def test_what_stands_where(text: str, expected: str) -> None:
    from making.formulas import typeset

    assert tree(typeset(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("Σ w·s / Σ w", "(a + b", "|a + b", "a +", "a / ", "x_{i", "= 1", "<script>", "a : b"),
        "n: number\na = b",
    ],
)
def test_what_cannot_be_read_is_refused(text: str) -> None:
    from making.formulas import html

    with pytest.raises(ValueError, match=re.escape(repr(text.splitlines()[-1].strip()))):
        html(text)


def test_what_is_shown_is_text() -> None:
    from making.formulas import html

    shown = fromstring(html("a < b = x\n\nb: <b> & `c`"))
    assert next(shown.iter("math")).attrib["alttext"] == "a < b = x"
    assert ["".join(note.itertext()) for note in shown.iter("dd")] == ["<b> & c"]


def test_the_terminal_shows_the_same_text() -> None:
    from click.testing import CliRunner

    from rageval.cli import main

    shown = CliRunner().invoke(main, ["measures", "alpha_dcg"]).stdout
    for line in FORMULAS["alpha_dcg"].splitlines():
        assert line.strip() in shown
