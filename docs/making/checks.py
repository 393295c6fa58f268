"""Whether what is shown is true: the examples of the measures, the snippets of the pages, the programs."""

from __future__ import annotations

import doctest
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from making.programs import PROGRAMS
from rageval.measures import Measure, builtin
from snippets import blocks, console_mistake, lacks, program_mistake, python_mistake


def mistakes(folder: Path) -> list[str]:
    """What is wrong with all there is to run; the pages are those of this folder."""
    jobs = [(program_mistake, "", program) for program in PROGRAMS if lacks(program) is None]
    jobs += [
        job for page in sorted(folder.glob("*.md")) if page.name != "measures.md" for job in _of_page(page)
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for a process of its own
        found = list(pool.map(lambda job: (job[1], job[0](job[2])), jobs))
    wrong = [page + mistake for page, mistake in found if mistake is not None]
    return wrong + [mistake for measure in builtin().values() for mistake in of_measure(measure)]


def of_measure(measure: Measure) -> list[str]:
    """What is wrong with the example of a measure."""
    said: list[str] = []
    example = doctest.DocTestParser().get_doctest(measure.page, {}, measure.name, None, None)
    doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    return said if example.examples else [f"{measure}: the page has no example"]


def _of_page(page: Path) -> Iterator[tuple[object, str, object]]:
    text = page.read_text(encoding="utf-8")
    for language, mistake in (("console", console_mistake), ("python", python_mistake)):
        for block in blocks(language, text):
            yield mistake, f"{page.name}: ", block
