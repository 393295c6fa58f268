"""The one way cells of CSV and of tables with tabs are written, so that a spreadsheet computes nothing.

What other programs read back as data (runs, qrels, topics, lines of trec_eval) is no table for people, and is
written as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rageval.text import visible

# What begins a formula, whatever white space (or an apostrophe that is ours) stands before it.
_FORMULA = r"[\s']*([^\s'])"
_BEGINS = frozenset("=+-@\u2212")


def csv_line(cells: Sequence[str], numbers: Sequence[str] = ()) -> str:
    """Write a line of CSV: text that a spreadsheet would compute is quoted, numbers stand as they are.

    >>> csv_line(["=1+1", "a,b"], ["-0.5"])
    '"\\'=1+1","a,b",-0.5'
    """
    written = []
    for shown in map(_text, cells):
        # Also the semicolon: where a comma is the decimal point, spreadsheets part cells by it.
        if any(character in shown for character in ",;\"'\n") or shown != shown.strip():
            shown = '"' + shown.replace('"', '""') + '"'
        written.append(shown)
    return ",".join([*written, *numbers])


def tab_line(cells: Sequence[str], numbers: Sequence[str] = ()) -> str:
    """Write a line with tabs between cells: text that a spreadsheet would compute begins with an apostrophe.

    >>> tab_line(["=1+1", "a,b"], ["-0.5"])
    "'=1+1\\ta,b\\t-0.5"
    """
    written = []
    for shown in map(_text, cells):
        # A quotation mark at the start would begin a cell that takes in the cells and lines behind it.
        written.append('"' + shown.replace('"', '""') + '"' if shown.startswith('"') else shown)
    return "\t".join([*written, *numbers])


def _text(cell: str) -> str:
    """Return a cell no spreadsheet takes for a formula and no terminal for a command.

    An apostrophe stands before what would be one, as before an apostrophe that stands there itself.
    """
    from unicodedata import normalize

    shown = visible(cell)
    # Spreadsheets run formulas that they find in a file, which may start programs.
    first = re.match(_FORMULA, cell)
    # Full-width signs such as ＝ are taken for the plain ones by some of them.
    if (first and normalize("NFKC", first[1])[0] in _BEGINS) or cell[:1] in ("\t", "\r"):
        shown = "'" + shown
    return shown
