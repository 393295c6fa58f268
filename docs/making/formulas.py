"""Formulas, typeset as MathML from the plain text that docstrings and the terminal have.

A line is an equation, or `symbol: what it is`; a line that is indented further goes on with the one before.

    alpha_dcg@k = Σ_{i≤k} g_i / log2(1 + i)
    g_i: the gain of the document at rank i

`/` is a fraction of what is multiplied before it and the one factor behind it; `÷` is one of all that stands
on either side. Σ, max and words that end in "of" reach up to the next `+`, `÷` or comma. `x_i` and `x_{i≤k}`
stand below, `x^2` and `x^(i−1)` above; words are words. What cannot be read like that is refused, so that the
page never shows another formula than the terminal.
"""

from __future__ import annotations

import re
from html import escape
from textwrap import dedent
from unicodedata import normalize
from xml.etree.ElementTree import Element, tostring

from docutils import nodes
from docutils.parsers.rst import Directive

MARK = "\u0300-\u036f"  # a bar or a hat above a letter
TOKEN = re.compile(
    rf"(?P<space>\s+)|(?P<number>\d+(?:[.,]\d+)*|[½¼⅓])"
    rf"|(?P<name>[^\W\d_][^\W_²³]*(?:[{MARK}]|'\w+|-[^\W\d_]+)*(?:_[^\W_²³]+[{MARK}]?)*)|(?P<sign>.)"
)
NOTE = re.compile(r"([^\s:=|]+(?:, [^\s:=|]+)*): (.*)", re.DOTALL)
LARGE = {"Σ": "∑", "∪": "⋃", "Π": "∏", "max": "max", "min": "min"}
RELATIONS = {"=", "≤", "≥", "<", ">", "≈"}
NARROW, WIDE = "0.17em", "0.35em"


class Formula(Directive):
    """What stands between fences of `{formula}`, typeset."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        try:
            return [nodes.raw("", html("\n".join(self.content)), format="html")]
        except ValueError as problem:
            raise self.error(str(problem)) from None


def html(text: str) -> str:
    """Equations one below the other, and a list of what their symbols are."""
    equations, notes = [], []
    for line in lines(text):
        if note := NOTE.fullmatch(line):
            notes.append(f"<dt>{_shown(note[1], 'inline')}</dt><dd>{_words(note[2])}</dd>")
        elif notes:
            raise ValueError(f"{line!r}: an equation stands before what is said of its symbols")
        else:
            equations.append(_shown(line, "block"))
    below = f"<dl>{''.join(notes)}</dl>" if notes else ""
    return f'<div class="formula">{"".join(equations)}{below}</div>'


def lines(text: str) -> list[str]:
    """The lines of a formula, each with those that go on with it."""
    return re.sub(r"\n\s+", " ", re.sub(r"\n\s*\n", "\n", dedent(text).strip())).split("\n")


def typeset(line: str) -> Element:
    """A line as MathML."""
    reader = _Reader(line)
    found = reader.relation()
    if reader.next is not None:
        raise ValueError(f"{line!r}: cannot be typeset from {reader.next!r} on")
    return found


def _shown(line: str, display: str) -> str:
    """MathML, and for those who cannot see it the line as it was written."""
    inner = tostring(typeset(line), encoding="unicode")
    return f'<math display="{display}" alttext="{escape(line)}">{inner}</math>'


def _words(text: str) -> str:
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(text, quote=False))


class _Reader:
    """Reads a line from left to right; each method reads what its name says."""

    def __init__(self, line: str) -> None:
        self.line = line
        found = [(token.lastgroup or "", token[0]) for token in TOKEN.finditer(line)]
        self.tokens = [token for token in found if token[0] != "space"]
        self.spaced = [
            at == 0 or found[at - 1][0] == "space" for at, token in enumerate(found) if token[0] != "space"
        ]
        self.at = 0
        self.bars = False

    @property
    def next(self) -> str | None:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else None

    def take(self) -> str:
        if self.next is None:
            raise ValueError(f"{self.line!r}: ends too soon")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def expect(self, sign: str) -> None:
        if (found := self.take()) != sign:
            raise ValueError(f"{self.line!r}: expected {sign!r}, found {found!r}")

    def relation(self) -> Element:
        """Things parted by commas, each of which may be equal to another, or larger."""
        found = [self.ratio()]
        while self.next in RELATIONS or self.next in {",", ";"}:
            found += [_sign(self.take()), self.ratio()]
        return _row(*found)

    def ratio(self) -> Element:
        above = self.sum()
        if self.next != "÷":
            return above
        self.take()
        return _fraction(above, self.sum())

    def sum(self) -> Element:
        found = [_sign(self.take())] if self.next in {"−", "±"} else []
        found.append(self.product())
        while self.next in {"+", "−", "±"}:
            found += [_sign(self.take()), self.product()]
        return _row(*found)

    def product(self) -> Element:
        found = [self.factor()]
        while self.next is not None and self.next not in {*RELATIONS, *",;+−±÷)}"}:
            if self.next == "|" and self.bars:
                break
            if self.next == "/":
                self.take()
                if (self.next or "").partition("_")[0] in LARGE and not self.calls():
                    raise ValueError(f"{self.line!r}: '÷' is what parts sums")
                found = [_fraction(_row(*found), self.factor())]
            elif self.next == "·":
                found += [_sign(self.take()), self.factor()]
            else:
                spaced = self.spaced[self.at]
                behind = self.factor()
                wide = any(one.get("class") == "words" for one in (found[-1], behind, *behind[:1]))
                space = [_made("mspace", width=WIDE if wide else NARROW)] if spaced else []
                found += [*space, behind]
        return _row(*found)

    def factor(self) -> Element:
        """Something, with what stands below and above it."""
        kind = self.tokens[self.at][0] if self.next else ""
        base = (self.next or "").partition("_")[0]
        words = _length(base) > 1 and base not in LARGE and not self.calls()
        if kind == "name" and (words or (base == "a" and self.names())):
            return self.phrase()
        found = self.atom()
        if self.next == "_":
            self.take()
            found = _made("munder" if found.get("class") == "large" else "msub", found, self.braced("{", "}"))
        if self.next in {"²", "³"}:
            found = _made("msup", found, _made("mn", text=str("²³".index(self.take()) + 2)))
        if self.next == "^":
            self.take()
            found = _made("msup", found, self.braced("(", ")"))
        if found.get("class") == "large" or found.tag == "munder":
            return _row(found, _made("mspace", width=NARROW), self.product())
        return found

    def calls(self) -> bool:
        """Whether a name is that of a function, such as `log2(1 + i)`."""
        behind = self.at + 1
        return behind < len(self.tokens) and self.tokens[behind][1] == "(" and not self.spaced[behind]

    def names(self) -> bool:
        """Whether another name comes behind this one."""
        return [kind for kind, _ in self.tokens[self.at : self.at + 2]] == ["name", "name"]

    def braced(self, opened: str, closed: str) -> Element:
        """What stands above or below: one thing, or several in brackets."""
        if self.next != opened:
            return self.factor()
        self.take()
        found = self.inside()
        self.expect(closed)
        return found

    def inside(self, bars: bool = False) -> Element:
        before, self.bars = self.bars, bars
        found = self.relation()
        self.bars = before
        return found

    def atom(self) -> Element:
        kind, text = self.tokens[self.at] if self.next else ("", "")
        self.take()
        if kind == "number":
            return _made("mn", text=text)
        if kind == "name" or text in LARGE:
            return self.name(text)
        if text not in {"(", "|", "√"}:
            raise ValueError(f"{self.line!r}: cannot be typeset from {text!r} on")
        if text == "√":
            return _made("msqrt", self.factor())
        found = self.inside(bars=text == "|")
        closed = ")" if text == "(" else "|"
        self.expect(closed)
        tall = str(next(found.iter("mfrac"), None) is not None).lower()  # else browsers leave gaps
        opened, shut = (_made("mo", text=sign, stretchy=tall) for sign in (text, closed))
        opened.set("form", "prefix")
        shut.set("form", "postfix")
        return _row(opened, found, shut)

    def name(self, text: str) -> Element:
        """A letter, with what stands below it; or a longer name, such as that of a measure."""
        base, mark, below = text.partition("_")
        called = self.next == "(" and not self.spaced[self.at]
        if base in LARGE and not called:
            large = _made("mo", text=LARGE[base], **{"class": "large"})
            return _made("munder", large, _letter(below)) if mark else large
        if text == "log2":
            found = _made("msub", _letter("log"), _letter("2"))
        elif mark and _length(base) == len(below) == 1:
            found = _made("msub", _letter(base), _letter(below))
        else:
            found = _letter(text)
        if self.next == "@" and not self.spaced[self.at]:
            found = _row(found, _made("mo", text=self.take(), lspace="0", rspace="0"), _letter(self.take()))
            called = self.next == "(" and not self.spaced[self.at]
        return _row(found, self.atom()) if called else found

    def phrase(self) -> Element:
        """Words and the letters among them; words that end in "of" say what is done with the rest."""
        found: list[Element] = []
        words: list[str] = []
        while self.next is not None and self.tokens[self.at][0] == "name" and not (found and self.calls()):
            text = self.take()
            if text == "a" or (_length(text) > 1 and "_" not in text and self.next != "@"):
                words.append(text)
                if found and found[-1].get("class") == "words":
                    found[-1].text = f"{found[-1].text} {text}"
                    continue
                # Not `mtext`, which counts as space: operators beside it would lose theirs.
                element = _made("mi", text=text, **{"class": "words"})
            else:
                words.append("")
                element = self.name(text)
            found += [_made("mspace", width=WIDE), element] if found else [element]
        if words[-1] == "of":
            found += [_made("mspace", width=WIDE), self.product()]
        return _row(*found)


def _made(tag: str, *inside: Element, text: str | None = None, **attributes: str) -> Element:
    found = Element(tag, attributes)
    found.text = text
    found.extend(inside)
    return found


def _length(text: str) -> int:
    """How many letters, each with its mark."""
    return len(normalize("NFC", re.sub(f"[{MARK}]", "", text)))


def _row(*inside: Element) -> Element:
    return inside[0] if len(inside) == 1 else _made("mrow", *inside)


def _letter(text: str) -> Element:
    """A letter is slanted; a longer name, or a number below a letter, is not."""
    bare, *mark = normalize("NFD", text)
    if mark == ["\u0304"]:
        return _made("mover", _letter(bare), _made("mo", text="¯"), accent="true")
    return _made("mn" if text.isdigit() else "mi", text=text)


def _sign(text: str) -> Element:
    if text in ",;":
        return _made("mo", text=text, separator="true", lspace="0", rspace=WIDE)
    return _made("mo", text=text)


def _fraction(above: Element, below: Element) -> Element:
    """A fraction, whose parts need no brackets."""
    return _made("mfrac", *(_made("mrow", _bare(part), displaystyle="true") for part in (above, below)))


def _bare(part: Element) -> Element:
    bracketed = part.tag == "mrow" and len(part) == 3 and part[0].text == "(" and part[2].text == ")"
    return part[1] if bracketed else part
