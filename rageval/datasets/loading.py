"""Data sets by id: ours, those of other packages, and everything that ir_datasets has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rageval.datasets import fetching, home
from rageval.datasets.catalogue import Benchmark, Spec, UnknownDataset, find
from rageval.datasets.readers import Reader, reader_of
from rageval.datasets.store import DocumentStore
from rageval.datasets.transport import Transport
from rageval.errors import InputError
from rageval.files.limits import DEFAULT, Limits
from rageval.plugins import plugin
from rageval.records import Nugget, Qrel, Question

CONTENT = ("questions", "documents", "qrels", "nuggets")


@dataclass(frozen=True)
class Dataset:
    """What a data set holds, read anew each time it is asked for.

    `holds` names the methods that yield something, and `answers` if the questions come with the right ones.
    `reader` knows the types for ir_datasets, `documents_from` is the id there of documents that are not ours.
    """

    id: str
    holds: tuple[str, ...]
    content: Callable[[str], Iterator[Any]]
    reader: Reader | None = None
    documents_from: str = ""
    store: Callable[[], Any] | None = None

    @property
    def name(self) -> str:
        """What messages call it where it stands for a file."""
        return self.id

    def questions(self) -> Iterator[Question]:
        """The questions, with the answers that are right and what else is known of them."""
        return self._content("questions")

    def documents(self) -> Iterator[Any]:
        """The documents, one at a time, with `doc_id` and `text`."""
        return self._content("documents")

    def qrels(self) -> Iterator[Qrel]:
        """The judgements of documents; a nugget is the `iteration`."""
        return self._content("qrels")

    def nuggets(self) -> Iterator[Nugget]:
        """What good answers hold."""
        return self._content("nuggets")

    def qrels_iter(self) -> Iterator[Qrel]:
        """The judgements, as `rageval.evaluate` and ir_datasets call them."""
        return self.qrels()

    def document_store(self) -> Any:
        """Documents by id: `get`, `get_many`. Of a large collection it is made on disk when first used."""
        if self.store is None:
            raise self.lacks("documents")
        return self.store()

    def _content(self, what: str) -> Iterator[Any]:
        if what not in self.holds and not (what == "documents" and self.documents_from):
            raise self.lacks(what)
        return self.content(what)

    def lacks(self, what: str) -> InputError:
        """The error that there is nothing of this kind."""
        return InputError(f"{self.id}: this data set has no {what}; it has {', '.join(self.holds)}")


def load(
    dataset: str,
    *,
    accept_license: bool = False,
    limits: Sequence[str] = (),
    transport: Transport | None = None,
) -> Dataset:
    """The data set of this id; its files are fetched when something of them is asked for.

    `limits` are words such as `"record=128M"`. An id that is not ours is looked for in packages with an entry
    point `rageval.datasets`, then in ir_datasets.
    """
    pair = find(dataset)
    if pair is not None:
        fetched = partial(fetching.files_of, *pair, accept_license=accept_license, transport=transport)
        return own(*pair, fetched, limits)
    return _of_a_plugin(dataset) or _of_ir_datasets(dataset)


def own(
    benchmark: Benchmark, spec: Spec, files: Callable[[str], Sequence[Any]], limits: Sequence[str] = ()
) -> Dataset:
    """One of our data sets, read from the files that `files` has for a role."""
    reader = reader_of(benchmark.name)
    raised = DEFAULT._replace(**spec.limits).changed(tuple(limits))

    def read(what: str) -> Iterator[Any]:
        if what == "documents" and spec.documents_from:
            return iter(referred(spec).docs_iter())
        paths = files(reader.role.get(what, what))
        found = reader.read[what](paths, raised)
        if what == "qrels" and not benchmark.nuggets_in_qrels:
            found = (qrel._replace(iteration="0") for qrel in found)
        return _of_split(found, what, spec, reader, paths, raised)

    def store() -> Any:
        if spec.documents_from:
            return referred(spec).docs_store()
        role = reader.role.get("documents", "documents")
        paths = files(role)
        everything = partial(reader.read["documents"], paths, raised)
        return DocumentStore(home.folder_of(spec.folder), role, everything, reader.document)

    has_documents = "documents" in spec.holds or spec.documents_from
    return Dataset(spec.id, spec.holds, read, reader, spec.documents_from, store if has_documents else None)


def _of_split(
    found: Iterator[Any], what: str, spec: Spec, reader: Reader, paths: Sequence[Any], limits: Limits
) -> Iterator[Any]:
    """What belongs to the questions of the split, if the data set is one."""
    if spec.split is None:
        return found
    if what == "questions":
        return (question for question in found if dict(question.facts).get("split") == spec.split)
    everything = reader.read["questions"](paths, limits)
    asked = {q.query_id for q in everything if dict(q.facts).get("split") == spec.split}
    question_of = reader.question_of or (lambda item: str(item.query_id))
    return (item for item in found if question_of(item) in asked)


def referred(spec: Spec) -> Any:
    """The collection at ir_datasets that the judgements refer to."""
    from rageval.datasets.foreign import ir_datasets_or_error

    ir_datasets = ir_datasets_or_error(f"the documents of {spec.id}")
    try:
        return ir_datasets.load(spec.documents_from)
    except KeyError:
        raise InputError(
            f"{spec.id}: its documents are {spec.documents_from!r}, which ir_datasets"
            f" {ir_datasets.__version__} does not have; install a version that has them, or register yours by"
            f" ir_datasets.registry.register({spec.documents_from!r}, …). Scoring needs no documents"
        ) from None


def _of_a_plugin(dataset: str) -> Dataset | None:
    """The data set of another package. Its entry point is called as its ids begin, and takes an id."""
    make = plugin("datasets", dataset.partition("/")[0].lower().replace("-", "_"))
    if make is None:
        return None
    try:
        made = make(dataset)
    except KeyError:
        raise UnknownDataset(dataset) from None
    holds = tuple(what for what in CONTENT if hasattr(made, what))
    return Dataset(dataset, holds, lambda what: iter(getattr(made, what)()))


def _of_ir_datasets(dataset: str) -> Dataset:
    from rageval.datasets import foreign

    found = foreign.loaded(dataset)
    if found is None:
        raise UnknownDataset(dataset)
    return Dataset(dataset, foreign.holds(found), partial(foreign.read, found), store=foreign.store(found))
