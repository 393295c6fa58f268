"""What is printed is read as text and as nothing else: every string up to five signs that mean something.

Each sink is read back by a parser of its own kind; what comes out of it is what went in, and nothing lives.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from markdown_it import MarkdownIt

from rageval.measures.parsing import parse_measure
from rageval.pages.page import read_report
from rageval.scoring.scores import Score, Scores
from rageval.table import NUMBER, PRINTERS, Column, Table, latex_text, md_code, md_line
from rageval.text import visible
from test_bad_input import command

LONGEST = 5
COLUMNS = 50
SHARE = 8  # of the strings of a quick run: every eighth, the first one by alphabet
FULL = pytest.param(1, marks=pytest.mark.nightly, id="all")
QUICK = pytest.param(SHARE, id="some")

ALPHABETS = {
    "csv": ("=", "+", "-", "@", "'", '"', ",", " "),
    "csv, odd": ("=", "\u00a0", "＝", "－", "\t", "\r", "\n", "a"),
    "csv, other": ("＠", "\u3000", "−", "﹢", "'", ";", "1", "\ufeff"),
    "md, links": ("![", "[", "](", "]", ")", "http://x", "a", ":"),
    "md, marks": ("\\", "|", "`", "*", "_", "~", "a", "$"),
    "md, html": ("<", ">", "&", "lt;", "#60;", "img src=x", "/", '"'),
    "md, blocks": ("#", "- ", "1. ", "> ", "    ", "\n", "```", "="),
    "latex": ("\\", "{", "}", "$", "%", "&", "a", "~"),
    "latex, more": ("^", "_", "#", "[", "*", " ", "input", "-"),
    "latex, pairs": ("-", "'", "`", "!", "?", ",", "<", ">"),
    "html": ("<", ">", "&", '"', "'", "script", "=", "/"),
    "html, more": ("<!--", "-->", "</", "]]>", "lt;", "#x3c", "img", " "),
    "terminal": ("\x1b[2J", "\x9b", "\x07", "\u202e", "\u2066", "\b", "\r", "a"),
    "terminal, hidden": ("\u200b", "\ufeff", "\U000e0041", "\u2028", "\x85", "\x00", "\n", "a"),
    "json": ('"', "\\", "\n", "\u2028", "\ud800", "\x00", "</script>", "u0022"),
}


def strings(alphabet: str, share: int) -> list[str]:
    """Every string of up to five signs, or some of them: all short ones, and a share of the others."""
    signs = ALPHABETS[alphabet]
    every = [
        "".join(signs_of_text)
        for size in range(1, LONGEST + 1)
        for signs_of_text in itertools.product(signs, repeat=size)
    ]
    short = sum(len(signs) ** size for size in range(1, 4))
    return every[:short] + every[short + hash_of(alphabet) % share :: share]


def hash_of(text: str) -> int:
    """The same number in every process."""
    return sum(text.encode())


def alphabets(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("alphabet", [name for name in ALPHABETS if name.startswith(kind)])


every_share = pytest.mark.parametrize("share", [QUICK, FULL])


def lines_of_texts(style: str, grid: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table of text alone, under its first row."""
    return PRINTERS[style].table(Table([*map(Column, grid[0])], grid[1:], len(grid[0])))


def grid(cells: Sequence[str]) -> list[list[str]]:
    """The cells in rows of fifty."""
    padded = [*cells, *["."] * (-len(cells) % COLUMNS)]
    return [padded[index : index + COLUMNS] for index in range(0, len(padded), COLUMNS)]


# --- CSV


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet would compute it: also behind white space, and in full width."""
    return unicodedata.normalize("NFKC", cell.strip())[:1] in set("=+-@\u2212") or cell[:1] in set("\t\r")


@pytest.mark.some(3)
@every_share
@alphabets("csv")
def test_no_cell_of_csv_is_a_formula_and_every_cell_can_be_read_back(alphabet: str, share: int) -> None:
    cells = strings(alphabet, share)
    rows = grid(cells)
    columns = [*map(Column, rows[0]), Column("low", NUMBER, 1), Column("n", NUMBER, 0)]
    text = "\n".join(PRINTERS["csv"].table(Table(columns, [[*row, -1.5, 2] for row in rows]))).partition(
        "\n"
    )[2]
    parsed = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len(parsed) == len(rows)
    seen: dict[str, str] = {}
    for row, read in zip(rows, parsed, strict=True):
        assert read[COLUMNS:] == ["-1.5", "2"], "numbers stand as they are"
        for cell, back in zip(row, read[:COLUMNS], strict=True):
            assert not is_formula(back), (cell, back)
            assert back in (visible(cell), "'" + visible(cell))
            assert seen.setdefault(back, visible(cell)) == visible(cell), "two texts look alike"
    for line in text.split("\n"):
        assert ";" not in re.sub('"(?:[^"]|"")*"', "", line), "some spreadsheets part cells there"


# --- Markdown

LIVE = {
    *("link_open", "image", "html_inline", "html_block", "fence", "heading_open", "blockquote_open"),
    "em_open",
}
LIVE |= {"strong_open", "s_open", "code_inline", "bullet_list_open", "ordered_list_open", "hr", "code_block"}
ADDRESS = re.compile(r"(?i)https?://|www\.")


def markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def shown(token: object) -> str:
    """The text of an inline token, which holds nothing but text."""
    children = token.children or []  # type: ignore[attr-defined]
    kinds = {child.type for child in children}
    assert kinds <= {"text", "text_special"}, token
    return "".join(child.content for child in children)


@pytest.mark.slow
@every_share
@alphabets("md")
def test_markdown_shows_every_text_and_obeys_none(alphabet: str, share: int) -> None:
    cells = strings(alphabet, share)
    rows = grid(cells)
    source = "\n".join(lines_of_texts("md", [[f"c{index}" for index in range(COLUMNS)], *rows]))
    assert not ADDRESS.search(source), "an address is a link on many pages, even without brackets"
    tokens = markdown().parse(source)
    assert not {token.type for token in tokens} & LIVE
    back = [shown(token) for token in tokens if token.type == "inline"][COLUMNS:]
    expected = [visible(cell).strip() for row in rows for cell in row]
    assert back == expected


@pytest.mark.slow
@every_share
@alphabets("md")
def test_a_line_of_markdown_is_a_line_of_text(alphabet: str, share: int) -> None:
    texts = [text for text in strings(alphabet, share) if text.strip()]
    tokens = markdown().parse("\n\n".join(map(md_line, texts)))
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    assert [shown(token) for token in tokens if token.type == "inline"] == [
        visible(text).strip() for text in texts
    ]


@pytest.mark.slow
@alphabets("md, marks")
def test_code_of_markdown_can_be_copied(alphabet: str) -> None:
    for text in strings(alphabet, SHARE * 8):
        (inline,) = (token for token in markdown().parse("x " + md_code(text)) if token.type == "inline")
        assert "".join(child.content for child in inline.children or [])[2:].strip() == text.strip()


def test_usual_names_stay_as_they_are_in_markdown() -> None:
    for name in (
        "alpha_ndcg@10",
        "crag_share(label=missing)",
        "bm25.trec",
        "0.5 [0.4, 0.6]",
        "a-b",
        "nDCG@10",
    ):
        assert next(lines_of_texts("md", [[name]])) == f"| {name} |"


# --- LaTeX

TOKEN = re.compile(
    r"\\text(?P<word>backslash|asciitilde|asciicircum|less|greater|bar)\{\}|\\(?P<sign>[&%$#_{}])|(?P<nothing>\{\})"
    r"|(?P<plain>[^\\{}$&#_%~^<>|])"
)
WORDS = {
    **{"backslash": "\\", "asciitilde": "~", "asciicircum": "^", "less": "<", "greater": ">", "bar": "|"},
}
LIGATURES = ("--", "''", "``", "!`", "?`", ",,", "<<", ">>")


def latex_read(source: str) -> str:
    """What LaTeX prints; a sign that means something is an error, and so is a ligature."""
    position, texts, last = 0, [], ""
    while position < len(source):
        token = TOKEN.match(source, position)
        assert token, f"live at {position}: {source}"
        position = token.end()
        if token["nothing"]:
            last = ""
            continue
        sign = WORDS[token["word"]] if token["word"] else token["sign"] or token["plain"]
        plain = token["plain"] or ""
        assert last + plain not in LIGATURES, source
        last = plain
        texts.append(sign)
    return "".join(texts)


@pytest.mark.slow
@every_share
@alphabets("latex")
def test_latex_prints_every_text_and_obeys_none(alphabet: str, share: int) -> None:
    for text in strings(alphabet, share):
        source = latex_text(text)
        assert latex_read(source) == visible(text)
        assert not source.lstrip().startswith(("[", "*")), "the row before would take it for an option"


@alphabets("latex")
def test_a_table_of_latex_has_its_cells(alphabet: str) -> None:
    rows = grid(strings(alphabet, SHARE * 4))
    lines = list(lines_of_texts("latex", [["head"] * COLUMNS, *rows]))
    body = [line for line in lines if line.endswith(r"\\")][1:]
    assert len(body) == len(rows)
    for line, row in zip(body, rows, strict=True):
        cells = re.split(r"(?<!\\) & ", line.removesuffix(r" \\"))
        assert [latex_read(cell).strip() for cell in cells] == [visible(cell).strip() for cell in row]


# --- HTML


class Reader(HTMLParser):
    """The tags, the attributes, and the text of each `caption`, `title` and `td`."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.named: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.named += [name for name, _ in attrs]

    def handle_comment(self, data: str) -> None:
        self.tags.append("comment")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read_html(source: str) -> Reader:
    reader = Reader()
    reader.feed(source)
    reader.close()
    return reader


def scores(runs: Sequence[str], queries: Sequence[str] = ("q",)) -> list[Scores]:
    measure = parse_measure("recall@5")
    values = np.full(len(queries), 0.5)
    return [Scores(run, (Score(measure, queries, values, 0, "recall@5|v:1"),)) for run in runs]


@every_share
@alphabets("html")
def test_html_of_a_notebook_shows_every_text(alphabet: str, share: int) -> None:
    texts = strings(alphabet, share)
    usual = read_html(scores(["x"])[0]._repr_html_())
    shown = read_html(scores(["§".join(texts)])[0]._repr_html_())
    assert (shown.tags, shown.named) == (usual.tags, usual.named)
    assert shown.text[0].split("§") == [visible(text) for text in texts]


@every_share
@alphabets("html")
def test_a_page_shows_every_text(alphabet: str, share: int, tmp_path: Path) -> None:
    texts = strings(alphabet, share)
    pages = []
    for name, title in (("usual", "x"), ("hostile", "§".join(texts))):
        run, qrels, out = (tmp_path / f"{name}.{end}" for end in ("run", "qrels", "html"))
        run.write_text("q Q0 d 1 1 t\n")
        qrels.write_text("q n d 1\n")
        assert command("report", run, qrels, "-m", "recall@5", "--title", title, "-o", out).code == 0
        pages.append(out.read_text(encoding="utf-8"))
    usual, shown = map(read_html, pages)
    assert (shown.tags, shown.named) == (usual.tags, usual.named)
    expected = [visible(text) for text in texts]
    heads = [text for text in shown.text if text.count("§") == len(texts) - 1]
    assert [head.split("§") for head in heads[:2]] == [expected, expected], "the title, and the heading"


@pytest.mark.some(2)
@every_share
@alphabets("html")
def test_a_trace_holds_every_text(
    alphabet: str, share: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions, gold, answers, quotes and raw replies: none becomes markup, and each is read back."""
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "none.sqlite"))
    joined = "§".join(strings(alphabet, share))
    place = {"query_id": "q", "run_id": "r"}
    pages = []
    for name, text in (("usual", "x"), ("hostile", joined)):
        verdict = {"status": "ok", "evidence": text, "reason": text, "raw": text, "key": "0" * 16}
        records = {
            "judged": {**place, "aspect": "0", "label": "perfect", "judge": "j", **verdict},
            "answers": {**place, "answer": text},
            "questions": {"query_id": "q", "question": text, "answer": text},
        }
        files = {}
        for file, record in records.items():
            files[file] = tmp_path / f"{file}.jsonl"
            files[file].write_text(json.dumps(record) + "\n")
        options = [word for file in ("answers", "questions") for word in (f"--{file}", files[file])]
        pages.append(tmp_path / f"{name}.html")
        assert command("report", files["judged"], "-m", "crag_score", *options, "-o", pages[-1]).code == 0
    usual, shown = (read_html(page.read_text(encoding="utf-8")) for page in pages)
    assert (shown.tags, shown.named) == (usual.tags, usual.named)
    report = read_report(pages[1])
    trace = report["traces"]["queries"]["q"]
    assert (trace["question"], trace["gold"], trace["calls"][0]["reply"]) == (joined, [joined], joined)
    assert trace["answers"][0]["sentences"] == [[joined, []]]
    cell = report["matrices"]["q"]["cells"][0]
    assert (cell["evidence"], cell["reason"]) == (joined, joined)


# --- the terminal


@pytest.mark.slow
def test_no_sign_of_unicode_is_obeyed_by_a_terminal() -> None:
    """Each of all 1,114,112: controls, what reorders, hides or parts lines is written out, all else stays."""
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    printed = "".join(lines_of_texts("table", [["x"], ["".join(every)]]))
    kinds = {sign: unicodedata.category(sign) for sign in set(printed)}
    visible_marks = set(
        "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    )
    hieroglyphs = {chr(code) for code in range(0x13430, 0x13440)}  # they join what stands around them
    live = {sign for sign, kind in kinds.items() if kind in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert live <= visible_marks | hieroglyphs
    untouched = [sign for sign in every if visible(sign) == sign]
    assert len(untouched) > 1_100_000
    assert all(re.fullmatch(r"\\(x..|u....|U.{8})", visible(sign)) for sign in set(every) - set(untouched))


@pytest.mark.slow
@pytest.mark.some(2)
@every_share
@alphabets("terminal")
def test_a_table_has_a_line_a_row_whatever_it_shows(alphabet: str, share: int) -> None:
    texts = strings(alphabet, share)
    lines = list(lines_of_texts("table", [["x"], *([text] for text in texts)]))
    assert [line.rstrip() for line in lines[2:]] == [visible(text).rstrip() for text in texts]
    assert not re.search("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", "".join(lines))


# --- JSON, and everything from outside


@every_share
@alphabets("json")
def test_json_holds_every_text(alphabet: str, share: int) -> None:
    from rageval.views.scores import Layout, lines_of

    texts = strings(alphabet, share)
    results = scores(["run"], texts)
    for style in ("json", "jsonl"):
        printed = "\n".join(lines_of(results, Layout(by_query=True), style))
        assert printed.isascii()
        parsed = json.loads(printed)
        record = parsed["results"][0] if style == "json" else parsed
        assert list(record["by_query"]) == list(dict.fromkeys(texts))


def of_csv(text: str) -> list[str]:
    return [row[1].removeprefix("'") for row in csv.reader(io.StringIO(text, newline=""))][1:-1]


def of_md(text: str) -> list[str]:
    cells = [shown(token) for token in markdown().parse(text) if token.type == "inline"]
    return cells[4:-3:3]


def of_latex(text: str) -> list[str]:
    rows = [line for line in text.split("\n") if line.endswith(r"\\")][1:-1]
    return [latex_read(re.split(r"(?<!\\) & ", row)[1]).strip() for row in rows]


def of_trec(text: str) -> list[str]:
    return [line.split("\t")[1] for line in text.splitlines()][:-1]


def of_jsonl(text: str) -> list[str]:
    return list(json.loads(text)["by_query"])


READERS: dict[str, Callable[[str], list[str]]] = {
    **{"csv": of_csv, "md": of_md, "latex": of_latex, "trec": of_trec, "jsonl": of_jsonl},
}


def signs() -> Iterator[str]:
    """Pairs of all signs that mean something anywhere."""
    every = sorted({sign for alphabet in ALPHABETS.values() for sign in alphabet})
    written = [sign for sign in every if not re.search("[\x00-\x1f\x85\u2028\ud800]", sign)]
    return (f"a{one}{other}z" for one, other in itertools.product(written, repeat=2))


@pytest.mark.slow
@pytest.mark.parametrize("style", READERS)
def test_what_a_command_prints_is_read_back(style: str, tmp_path: Path) -> None:
    queries = list(dict.fromkeys(signs()))
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    run.write_text("".join(f"{query}\tQ0\td\t1\t1\tr\n" for query in queries), encoding="utf-8")
    qrels.write_text("".join(f"{query}\t0\td\t1\n" for query in queries), encoding="utf-8")
    outcome = command(run, qrels, "-m", "recall@5", "-q", "--format", style)
    assert outcome.code == 0, outcome.err
    expected = queries if style == "jsonl" else [visible(query) for query in queries]
    assert sorted(READERS[style](outcome.out)) == sorted(expected)
