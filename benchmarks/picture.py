"""Draws the README's picture of measured speed, and says the rest in words: `python benchmarks/picture.py`.

Both come from the table that `run.py` and `dicts.py` printed, between the marks in this folder's README.
Writes `docs/images/speed.svg` and `speed-dark.svg`, and prints the paragraph. Bars are seconds of processor
time, of whole processes or, of dicts, of calls in one process; every group has a scale of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMAGES = {  # ink, faint ink, our bar, theirs
    "speed.svg": ("#1f2328", "#59636e", "#1f6feb", "#afb8c1"),
    "speed-dark.svg": ("#f0f6fc", "#9198a1", "#4493f8", "#656c76"),
}
ALPHA, PLAIN = "alpha_ndcg@10", "recall@50,ndcg@10"
GROUPS = (
    ("M", ALPHA, "α-nDCG@10 of a million lines, and as many judgements"),
    ("M", PLAIN, "Recall@50 and nDCG@10 of the same run"),
    ("S", ALPHA, "α-nDCG@10 of 67,200 lines"),
    ("dicts", PLAIN, "Recall@50 and nDCG@10 of 67,200 documents in dicts, a call in Python"),
)
WIDTH, LEFT, LONGEST, BAR, STEP = 640, 100, 420, 18, 23
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    ' role="img" aria-label="Processor time of rageval and of other tools" font-size="13"'
    " font-family=\"-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif\">"
)
TITLE = '<text y="{y}" fill="{ink}" font-weight="600">{title}</text>'
LINE = (
    '<g fill="{ink}" font-weight="{weight}"><text x="{left}" y="{middle}" text-anchor="end">{who}</text>'
    '<text x="{end:.1f}" y="{middle}">{said}</text></g>'
    '<rect x="{start}" y="{y}" width="{long:.1f}" height="{bar}" rx="2" fill="{colour}"/>'
)

Row = Sequence[str]


def measured() -> list[Row]:
    """Return the rows of the table in this folder's README, as cells."""
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    table = text.partition("<!-- last measured: begin -->")[2].partition("<!-- last measured: end -->")[0]
    lines = [line.strip("| ").split("|") for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in cells] for cells in lines[2:]]


def of(rows: Sequence[Row], data: str, what: str, peer: str | None = None) -> list[Row]:
    """Return the rows of one contest, a peer each."""
    return [row for row in rows if row[0] == data and row[1] == what and peer in (None, row[2])]


def both(cell: str) -> tuple[float, float]:
    """Return what a cell says of us and of a peer."""
    ours, theirs = cell.split(" / ")
    return float(ours), float(theirs)


def bars(rows: Sequence[Row]) -> Iterator[tuple[str, float, str]]:
    """Yield who, seconds, and what is said: us first, then the peers from fast to slow."""
    ours, _ = both(rows[0][4])
    yield "rageval", ours, shown(ours)
    for row in sorted(rows, key=lambda row: both(row[4])[1]):
        theirs = both(row[4])[1]
        yield row[2], theirs, f"{shown(theirs)}, {1 / float(row[5]):.1f} ×"


def shown(seconds: float) -> str:
    """Return a time as it is written beside its bar."""
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.0f} ms"


def picture(rows: Sequence[Row], ink: str, faint: str, ours: str, theirs: str) -> str:
    """Return the SVG."""
    parts, y = [], 0
    for data, what, title in GROUPS:
        y += 24
        parts.append(TITLE.format(y=y, ink=ink, title=title))
        y += 10
        group = list(bars(of(rows, data, what)))
        longest = max(seconds for _, seconds, _ in group)
        for who, seconds, label in group:
            long, mine = LONGEST * seconds / longest, who == "rageval"
            look = {
                "ink": ink if mine else faint,
                "weight": 600 if mine else 400,
                "colour": ours if mine else theirs,
            }
            positions = {"left": LEFT - 8, "start": LEFT, "end": LEFT + long + 8, "middle": y + 13, "y": y}
            parts.append(LINE.format(who=who, said=label, long=long, bar=BAR, **look, **positions))
            y += STEP
    return "\n".join([HEAD.format(width=WIDTH, height=y), *parts, "</svg>\n"])


def words(rows: Sequence[Row]) -> str:
    """Return the paragraph of the README."""

    def ratio(data: str, what: str, peer: str) -> str:
        (row,) = of(rows, data, what, peer)
        return f"{float(row[5]):.2f}"

    ((ours, theirs),) = (both(row[7]) for row in of(rows, "M", ALPHA, "ndeval"))
    uncompiled = ratio("M", f"{ALPHA}, nothing compiled", "ir_measures")
    return (
        "Processor time of whole processes, measured side by side ([benchmarks](benchmarks/README.md))."
        f" α-nDCG of a million lines takes {ours:.0f} MB of memory; ndeval, TREC's C program, takes"
        f" {theirs:.0f} MB."
        f" Without the compiled part, it takes {uncompiled} of the time of ir_measures. On 67,200 lines,"
        f" where starting Python takes most of the time, it takes {ratio('S', ALPHA, 'ndeval')} of the time"
        f" of ndeval. A call in Python, from dicts to scores, takes {ratio('dicts', PLAIN, 'pytrec_eval')} of"
        " the time of pytrec_eval."
    )


def main() -> None:
    """Write the pictures and print the paragraph."""
    rows = measured()
    for name, colours in IMAGES.items():
        (ROOT / "docs/images" / name).write_text(picture(rows, *colours), encoding="utf-8", newline="\n")
    print(words(rows))


if __name__ == "__main__":
    main()
