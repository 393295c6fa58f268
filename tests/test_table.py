"""One table and what is said of it, in every format; and that every command offers formats from one list."""

from __future__ import annotations

import math

import pytest

from rageval.table import (
    COUNT,
    NUMBER,
    PRINTERS,
    TALLY,
    Code,
    Column,
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


@pytest.mark.parametrize("style", EXPECTED)
def test_a_table_in_every_format(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    parts = [TABLE, "", Prose("said"), Code("s|v")]
    shown = "\n".join(lines(style, lambda: parts, lambda: TABLE))
    assert shown == EXPECTED[style]


def test_latex_stands_as_it_is() -> None:
    table = Table([Column("x", NUMBER, none=Latex("--"))], [[None]], 0)
    assert r"-- \\" in PRINTERS["latex"].table(table)
    assert list(PRINTERS["latex"].text(Latex(r"\x"))) == [r"\x"]
