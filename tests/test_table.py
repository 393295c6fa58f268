"""One table and what is said of it, in every format; and that every command offers formats from one list."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pytest

from declared import require_same
from every_command import leaves
from rageval.table import (
    BRIEF,
    COUNT,
    FORMATS,
    INTERVAL,
    NUMBER,
    PRINTERS,
    TALLY,
    Bad,
    Code,
    Column,
    Good,
    Headline,
    Latex,
    Marked,
    P,
    Prose,
    Table,
    lines,
)

TABLE = Table(
    [
        Column("run"),
        Column("α_x", NUMBER, 2, latex_head=r"$\alpha$-x"),
        Column("n", COUNT),
        Column("p", P),
        Column("w-t-l", TALLY),
        Column("basis", is_for_programs=True),
    ],
    [
        [
            "=a,b",
            Marked(0.5, (0.25, 0.75), "($p<0.1$)", " (9)", ["b", "c"], True),
            1234,
            1e-5,
            (1, 0, 2),
            "w",
        ],
        ["<i>", math.nan, None, 0.25, None, "w"],
    ],
    title="T_1",
    notes=["a <note>"],
)

EXPECTED = {
    "table": """\
T_1
run                                     α_x      n        p  w-t-l
────  ─────────────────────────────────────  ─────  ───────  ─────
=a,b  0.50 [0.25, 0.75] ($p<0.1$) (9) > b,c  1,234  1.0e-05  1-0-2
<i>                                     nan          0.2500
a <note>

said
s|v""",
    "md": r"""T_1

| run | α_x | n | p | w-t-l |
| --- | ---: | ---: | ---: | ---: |
| =a,b | 0.50 [0.25, 0.75] (\$p&lt;0.1\$) (9) > b,c | 1,234 | 1.0e-05 | 1-0-2 |
| &lt;i> | nan |  | 0.2500 |  |

a &lt;note>

said
`s|v`""",
    "latex": r"""\par{\footnotesize T\_1}
\begin{tabular}{lrrrr}
\toprule
run & $\alpha$-x & n & p & w-t-l \\
\midrule
=a,b & \textbf{0.50}$^{\mathrm{b,c}}$ {\footnotesize [0.25, 0.75] ($p<0.1$)} (9) & 1,234 & 1.0e-05 & 1-0-2 \\
\textless{}i\textgreater{} & nan &  & 0.2500 &  \\
\bottomrule
\end{tabular}
\par{\footnotesize a \textless{}note\textgreater{}}
\par{\footnotesize said}
% s|v""",
    "html": """\
<table><caption>T_1</caption><tr><th>run</th><th>α_x</th><th>n</th><th>p</th><th>w-t-l</th></tr>
<tr><td>=a,b</td><td><b>0.50</b><sup>b,c</sup> [0.25, 0.75] ($p&lt;0.1$) (9)</td><td>1,234</td>\
<td>1.0e-05</td><td>1-0-2</td></tr>
<tr><td>&lt;i&gt;</td><td>nan</td><td></td><td>0.2500</td><td></td></tr>
</table>
<p>a &lt;note&gt;</p>
<p>said</p>
<p><code>s|v</code></p>""",
    "csv": """\
run,α_x,n,p,w-t-l,basis
"'=a,b",0.50,1234,1e-05,1-0-2,w
<i>,nan,,0.25,,w""",
    "tsv": """\
run\tα_x\tn\tp\tw-t-l\tbasis
'=a,b\t0.50\t1234\t1e-05\t1-0-2\tw
<i>\tnan\t\t0.25\t\tw""",
}


def test_every_format_is_expected() -> None:
    require_same(EXPECTED, PRINTERS.keys() - {"json", "jsonl"}, "EXPECTED of this file")


@pytest.mark.parametrize("style", EXPECTED)
def test_a_table_in_every_format(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    parts = [TABLE, "", Prose("said"), Code("s|v")]
    shown = "\n".join(lines(style, lambda: parts, lambda: TABLE))
    assert shown == EXPECTED[style]


def test_only_what_the_format_needs_is_made() -> None:
    def never() -> Table:
        raise AssertionError

    assert list(lines("md", lambda: ["x"], never))
    assert list(lines("csv", never, lambda: TABLE))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        (Column("x", NUMBER, 3, "+"), 0.5, "+0.500"),
        (Column("x", NUMBER, 1, "z"), -0.01, "0.0"),
        (Column("x", NUMBER, nan="-"), math.nan, "-"),
        (Column("x", NUMBER, none="-"), None, "-"),
        (Column("x", NUMBER), "not reachable", "not reachable"),
        (Column("x", NUMBER, 0), 12345, "12345"),
        (Column("x", INTERVAL, 2), (0.1, 1), "[0.10, 1.00]"),
        (Column("x", BRIEF), 1000.5, "1,000.5"),
        (Column("x", BRIEF), 10, "10"),
    ],
)
def test_a_value_is_written_as_its_column_says(column: Column, value: object, shown: str) -> None:
    assert column.read(value) == shown


def test_latex_stands_as_it_is() -> None:
    table = Table([Column("x", NUMBER, none=Latex("--"))], [[None]], 0)
    assert r"-- \\" in PRINTERS["latex"].table(table)
    assert list(PRINTERS["latex"].text(Latex(r"\x"))) == [r"\x"]


def offered() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The formats that each command has."""
    for name, command in leaves().items():
        for param in command.params:
            if "--format" in param.opts:
                yield name, tuple(param.type.choices)


def test_formats_are_from_one_list() -> None:
    names = dict(offered())
    assert {name for name, formats in names.items() if set(FORMATS) <= set(formats)} == {
        *(
            *("score", "compare", "arena", "board verify", "label agree", "label correct", "diagnose"),
            *("report", "reproduce"),
        )
    }
    # Qrels and questions, which other programs read, are no table; findings are lines.
    others = {name for name in names if not set(FORMATS) <= set(names[name])}
    assert others == {"datasets export", "doctor", "validate"}


def test_color_is_on_terminals_that_want_it_and_changes_no_character(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["a", Good("higher"), 1], ["b\x1b[31m", Bad("lower"), 20]]
    table = Table([Column("run"), Column("verdict"), Column("n", COUNT)], rows, 2)
    parts = [Headline("a is better."), table]
    plain = list(lines("table", lambda: parts))
    monkeypatch.setattr("rageval.table.on_terminal", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    colored = list(lines("table", lambda: parts))
    assert [re.sub(r"\x1b\[\d+m", "", line) for line in colored] == plain
    codes = [re.findall(r"\x1b\[(\d+)m", line) for line in colored]
    assert codes == [["1", "0"], [], [], ["32", "0"], ["31", "0"]]
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as without:
            without.setenv(name, value)
            assert list(lines("table", lambda: parts)) == plain
