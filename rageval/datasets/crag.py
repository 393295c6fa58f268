"""CRAG as it is published: JSON lines in bz2, for task 3 in a tar.bz2 that was cut into parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from rageval.datasets.archives import joined, members
from rageval.datasets.readers import Reader
from rageval.datasets.records import CragQuery, WebPage
from rageval.files.jsonl import Id, read_records
from rageval.files.limits import Limits
from rageval.files.opening import Source
from rageval.files.questions import read_questions, words
from rageval.records import Question

_EXPECTED = "CRAG questions {interaction_id, search_results: [{page_name, page_url, page_result, …}]}"


class _Page(msgspec.Struct):
    page_name: str | None = None
    page_url: str | None = None
    page_snippet: str | None = None
    page_result: str | None = None
    page_last_modified: str | int | float | None = None


class _Pages(msgspec.Struct):
    interaction_id: Id
    search_results: list[_Page] = []


def _sources(paths: Sequence[Path], limits: Limits, stack: ExitStack) -> Iterator[Source]:
    """The JSON lines of these files: as they are, or out of an archive in one or more parts."""
    if ".tar" not in "".join(path.name for path in paths):
        yield from paths
        return
    archive = stack.enter_context(joined(paths))
    yield from members(archive, ".jsonl", limits)


def questions(paths: Sequence[Path], limits: Limits) -> Iterator[Question]:
    """The questions; the web pages, nearly all of the bytes, are skipped without being built."""
    with ExitStack() as stack:
        for source in _sources(paths, limits, stack):
            yield from read_questions(source, limits)


def documents(paths: Sequence[Path], limits: Limits) -> Iterator[WebPage]:
    """The web pages, each called after its question and its place among the results, from 0."""
    with ExitStack() as stack:
        for source in _sources(paths, limits, stack):
            for _, line in read_records(source, _Pages, _EXPECTED, limits):
                for at, page in enumerate(line.search_results):
                    yield _web_page(f"{line.interaction_id}/{at}", page)


def _web_page(name: str, page: _Page) -> WebPage:
    return WebPage(
        name,
        page.page_result or "",
        page.page_name or "",
        page.page_url or "",
        page.page_snippet or "",
        "".join(words(page.page_last_modified)),
    )


def query(question: Question) -> CragQuery:
    """The question as ir_datasets hands it out."""
    facts = dict(question.facts)
    known = [facts.get(name, "") for name in CragQuery._fields[4:]]
    return CragQuery(question.query_id, question.text, "".join(question.gold[:1]), question.gold[1:], *known)


READER = Reader(
    {"questions": questions, "documents": documents},
    {"documents": "questions"},
    WebPage,
    CragQuery,
    query,
    lambda page: str(page.doc_id.rpartition("/")[0]),
)
