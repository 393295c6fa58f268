"""What to cite: the software, and the papers of the measures, which they declare."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from rageval.measures import Measure, builtin
from rageval.measures.papers import bibliography, key_of
from rageval.views import citations

# What else there is to cite.
OTHERS = {
    "macavaney2021streamlining": "Measures that ir_measures computes",
    "angelopoulos2023ppi": "Claims that rest on people's labels",
}


class Paper(NamedTuple):
    """An entry of papers.bib."""

    key: str
    bibtex: str
    fields: dict[str, str]
    measures: tuple[str, ...]

    def __str__(self) -> str:
        """As one writes it in a list of references."""
        get = self.fields.get
        names = [name.partition(",")[0] for name in self.fields["author"].split(" and ")]
        who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        doi = f"[doi:{get('doi')}](https://doi.org/{get('doi')})" if get("doi") else ""
        where = [get("booktitle") or get("journal"), get("pages"), doi]
        return f"{who} ({get('year')}). *{get('title')}.* {', '.join(filter(None, where))}."


@cache
def papers() -> tuple[Paper, ...]:
    """The entries of papers.bib, in its order."""
    return tuple(map(_paper, bibliography().values()))


def _paper(entry: str) -> Paper:
    fields = {
        name: _plain(value) for name, value in re.findall(r"^  (\w+) *= \{(.*)\},?$", entry, re.MULTILINE)
    }
    key = key_of(entry)
    measures = tuple(name for name, measure in builtin().items() if key in measure.about.papers)
    return Paper(key, entry, fields, measures)


def _plain(value: str) -> str:
    """A value without what only BibTeX understands."""
    marks = {'"': "\N{COMBINING DIAERESIS}", "~": "\N{COMBINING TILDE}"}
    plain = re.sub(r'\{\\(["~])(\w)\}', lambda found: found[2] + marks[found[1]], value)
    return re.sub(r"[{}]", "", plain).replace("--", "–")


def of_measure(measure: Measure) -> list[Paper]:
    """The papers to cite for a measure."""
    return [paper for paper in papers() if paper.key in measure.about.papers]


def software() -> str:
    """BibTeX of this software."""
    return f"```bibtex\n{citations.software()}\n```"


def everything() -> str:
    """The papers of all measures, each with its measures and its BibTeX."""
    parts = []
    for paper in papers():
        names = ", ".join(f"[`{name}`](measures/{name}.md)" for name in paper.measures) or OTHERS[paper.key]
        parts.append(f"({paper.key})=\n### {names}\n\n{paper}\n\n```bibtex\n{paper.bibtex}\n```\n")
    return "\n".join(parts)
