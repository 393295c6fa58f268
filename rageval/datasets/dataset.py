"""Datasets by id: ours, those of other packages, and everything that ir_datasets has.

Files that somebody has already can be taken over, where they count as those of a dataset of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from importlib.resources import files
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import msgspec

from rageval.datasets import catalogue, home
from rageval.datasets._plugin_records import checked_records
from rageval.datasets._reader import Reader
from rageval.datasets._records import NuggetQrel
from rageval.datasets.catalogue import Benchmark, KeptFile, Source, Spec, UnknownDataset, find, plain
from rageval.errors import InputError, MissingPackage, OutputError, Place, UsageError, missing_file
from rageval.files.objects import ITERATIONS, NUGGET_COLUMNS
from rageval.files.opening import DEFAULT, File
from rageval.files.writing import others_cannot_write, put
from rageval.plugins import plugin
from rageval.records import Answer, Nugget, Qrel, Question

_CONTENT = ("questions", "documents", "qrels", "nuggets", "judgements", "responses")


@dataclass(frozen=True)
class Dataset:
    """What a dataset holds, read again each time it is asked for.

    `holds` names the methods that yield something, and `answers` if the questions come with the right ones.
    `reader` knows the types for ir_datasets, `documents_from` is the id there of documents that are not ours.
    `judges` are the models that judged documents, where it was not people.
    """

    id: str
    holds: tuple[str, ...]
    content: Callable[[str], Iterator[Any]]
    reader: Reader | None = None
    documents_from: str = ""
    store: Callable[[], Any] | None = None
    judges: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What messages call it where it stands for a file."""
        return self.id

    def questions(self) -> Iterator[Question]:
        """Yield the questions, with the answers that are right and what else is known of them."""
        return self._content("questions")

    def documents(self) -> Iterator[Any]:
        """Yield the documents, one at a time, with `doc_id` and `text`."""
        return self._content("documents")

    def qrels(self) -> Iterator[Qrel]:
        """Yield the judgements of documents; a nugget is the `iteration`."""
        return self._content("qrels")

    def nuggets(self) -> Iterator[Nugget]:
        """Yield what good answers hold."""
        return self._content("nuggets")

    def judgements(self) -> Iterator[dict[str, Any]]:
        """Yield what was judged of answers, as the file of its publishers has it."""
        return self._content("judgements")

    def responses(self) -> Iterator[Answer]:
        """Yield the answers of systems that were judged, where they are published with the judgements."""
        return self._content("responses")

    def qrels_iter(self) -> Iterator[Qrel]:
        """Yield the judgements, as `rageval.evaluate` and ir_datasets call them."""
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
        """Return the error that there is nothing of this kind."""
        return InputError(
            at=Place(self.id), problem=f"this dataset has no {what}", remedy=f"it has {', '.join(self.holds)}"
        )


def load(
    dataset: str,
    *,
    accept_license: bool = False,
    limits: Sequence[str] = (),
) -> Dataset:
    """Return the dataset of this id; its files are fetched when they are needed.

    Parameters
    ----------
    dataset
        The id. Ids that rageval does not have are looked up in packages with an entry point
        `rageval.datasets`, then in ir_datasets.
    accept_license
        Accept the terms of the dataset.
    limits
        Words such as `"record=128M"`.

    Returns
    -------
    Dataset
        The queries, documents, judgements and nuggets of the dataset.
    """
    # Ours first: no package may take the place of one of our ids.
    pair = find(dataset)
    if pair is not None:
        fetched = partial(home.files_of, *pair, accept_license=accept_license)
        return own(*pair, fetched, limits)
    return _load_plugin_dataset(dataset) or of_ir_datasets(dataset)


def own(
    benchmark: Benchmark, spec: Spec, files: Callable[[str], Sequence[Any]], limits: Sequence[str] = ()
) -> Dataset:
    """Return one of our datasets, read from the files that `files` has for a role."""
    reader = reader_of(benchmark)
    raised = DEFAULT._replace(**spec.limits).changed(tuple(limits))

    def limited(role: str) -> list[File]:
        return [File(path, raised) for path in files(role)]

    def read(what: str) -> Iterator[Any]:
        # Judgements of ours over a collection that ir_datasets has: fetched there, once for both.
        if what == "documents" and spec.documents_from:
            return iter(_load_referred(spec).docs_iter())
        paths = limited(reader.role.get(what, what))
        items = reader.read[what](paths)
        if what == "qrels" and not benchmark.nuggets_in_qrels:
            # The column holds what the publishers put there, which is no nugget.
            items = (qrel._replace(iteration="0") for qrel in items)
        if spec.split is None:
            return items
        if what == "questions":
            return (question for question in items if dict(question.facts).get("split") == spec.split)
        # The questions say which split they are of; everything else says only its question.
        everything = reader.read["questions"](paths)
        asked = {q.query_id for q in everything if dict(q.facts).get("split") == spec.split}
        question_of = reader.question_of or (lambda item: str(item.query_id))
        return (item for item in items if question_of(item) in asked)

    def store() -> Any:
        if spec.documents_from:
            return _load_referred(spec).docs_store()
        role = reader.role.get("documents", "documents")
        paths = limited(role)
        everything = partial(reader.read["documents"], paths)
        return _DocumentStore(home.folder_of(spec.folder), role, everything, reader.document)

    has_documents = "documents" in spec.holds or spec.documents_from
    make_store = store if has_documents else None
    judges = spec.judges or benchmark.judges
    return Dataset(spec.id, spec.holds, read, reader, spec.documents_from, make_store, judges)


def reader_of(benchmark: Benchmark) -> Reader:
    """Return the reader of one of our benchmarks."""
    from importlib import import_module

    # One file of this folder reads one benchmark, or several that look alike.
    module, _, name = (benchmark.reader or benchmark.name).replace("-", "_").partition(":")
    reader: Reader = getattr(import_module(f"rageval.datasets._{module}"), name or "READER")
    return reader


def _load_referred(spec: Spec) -> Any:
    """Return the collection at ir_datasets that the judgements refer to."""

    ir_datasets = ir_datasets_or_error(f"the documents of {spec.id}")
    try:
        return ir_datasets.load(spec.documents_from)
    except KeyError:
        raise InputError(
            at=Place(spec.id),
            problem=f"its documents are {spec.documents_from!r}, which ir_datasets"
            f" {ir_datasets.__version__} does not have",
            remedy="install a version that has them, or register yours by"
            f" ir_datasets.registry.register({spec.documents_from!r}, …). Scoring needs no"
            " documents",
        ) from None


def _load_plugin_dataset(dataset: str) -> Dataset | None:
    """Return the dataset of another package. Its entry point is called as its ids begin, and takes an id."""
    # Names of entry points have an underscore where ids have a hyphen.
    make = plugin("datasets", dataset.partition("/")[0].lower().replace("-", "_"))
    if make is None:
        return None
    try:
        plugin_dataset = make(dataset)
    except KeyError:
        raise UnknownDataset(dataset) from None
    holds = tuple(what for what in _CONTENT if hasattr(plugin_dataset, what))
    return Dataset(dataset, holds, lambda what: checked_records(dataset, what, getattr(plugin_dataset, what)))


def of_ir_datasets(dataset: str) -> Dataset:
    """Return the dataset that ir_datasets has under this id."""
    foreign = _load_ir_dataset(dataset)
    store = foreign.docs_store if foreign.has_docs() else None
    available = {
        "questions": foreign.has_queries(),
        "documents": foreign.has_docs(),
        "qrels": foreign.has_qrels(),
    }
    if foreign.has_queries() and "subtopics" in foreign.queries_cls()._fields:
        available["nuggets"] = True
    return Dataset(
        dataset,
        tuple(what for what, is_there in available.items() if is_there),
        partial(_read_foreign, foreign),
        store=store,
    )


def papers_of(dataset: str) -> tuple[str, ...]:
    """Return what to cite for a dataset, as BibTeX: its publishers' words, or those of ir_datasets."""
    pair = find(dataset)
    if pair is not None:
        return (pair[0].cited_for(pair[1]),)
    if _load_plugin_dataset(dataset) is not None:
        return ()  # nobody says it
    foreign = _load_ir_dataset(dataset)
    keys = (foreign.documentation() or {}).get("bibtex_ids") or ()
    text = (files("ir_datasets") / "docs" / "bibliography.bib").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=@)", text)
    return tuple(
        entry.strip() for key in keys for entry in entries if f"{{{key}," in entry.partition("\n")[0]
    )


def import_ir_datasets() -> Any:
    """Import ir_datasets; others cannot write the folders that it makes, however lax the umask is."""
    with others_cannot_write():
        import ir_datasets
    return ir_datasets


def ids_at_ir_datasets(spec: Spec) -> list[str]:
    """Return the ids under which ir_datasets may have the same set, this very one included if it is there."""
    try:
        ir_datasets = import_ir_datasets()
    except ImportError:
        return list(spec.also)
    return [*spec.also, *([spec.id] if spec.id in ir_datasets.registry else [])]


# TREC's `iteration` names rounds or assessors, no nugget.
_NUGGET_FIELDS = tuple(name for name in NUGGET_COLUMNS if name not in ITERATIONS)


def ir_datasets_or_error(purpose: str) -> Any:
    """Return the package, imported."""
    try:
        return import_ir_datasets()
    except ImportError:
        raise MissingPackage("ir_datasets", purpose, extra="datasets") from None


def _load_ir_dataset(dataset: str) -> Any:
    """Return the dataset of this id; `UnknownDataset` if ir_datasets does not know it."""
    ir_datasets = ir_datasets_or_error(f"{dataset} (an id of ir_datasets?)")
    try:
        return ir_datasets.load(dataset)
    except KeyError:
        raise UnknownDataset(dataset) from None


def _read_foreign(dataset: Any, what: str) -> Iterator[Any]:
    """Yield the content as our records; documents stay as they are."""
    if what == "documents":
        yield from dataset.docs_iter()
    elif what == "questions":
        for query in dataset.queries_iter():
            text = query.default_text() if hasattr(query, "default_text") else query[1]
            yield Question(query.query_id, text)
    elif what == "nuggets":  # the subtopics of a diversity task
        for query in dataset.queries_iter():
            for subtopic in query.subtopics:
                yield Nugget(query.query_id, str(subtopic.number), subtopic.text)
    else:
        kind = dataset.qrels_cls()
        # Our own records, registered with ir_datasets, keep the nugget in `iteration`.
        fields = (*_NUGGET_FIELDS, *(("iteration",) if kind is NuggetQrel else ()))
        nugget = next((name for name in fields if name in kind._fields), None)
        for qrel in dataset.qrels_iter():
            name = str(getattr(qrel, nugget)) if nugget else "0"
            yield Qrel(qrel.query_id, qrel.doc_id, qrel.relevance, name)


_AT_ONCE = 500  # ids a question to the database may name


class _DocumentStore:
    """The documents of a dataset by id, made of the files that are there, and again when these change."""

    def __init__(
        self, folder: Path, role: str, documents: Callable[[], Iterator[Any]], kind: type[Any] | None
    ) -> None:
        kept = home.manifest_of(folder).get(role, [])
        # The name tells of which files it was made: with newer files there is another name, and it is made
        # anew.
        version = zlib.crc32("".join(file.sha256 for file in kept).encode())
        self._path = folder / f"documents-{version:08x}.sqlite"
        self._folder, self._documents, self._kind = folder, documents, kind

    def path(self) -> str:
        """Return where the database lies, or will lie."""
        return str(self._path)

    def built(self) -> bool:
        """Return whether the database exists."""
        return self._path.is_file()

    def build(self) -> None:
        """Make the database, unless it is there; of several processes one does."""
        if self.built():
            return
        import sqlite3

        # Of processes that wait here the next finds it made, and looks once more.
        with home.locked(self._folder):
            if self.built():
                return
            # Of files that have been replaced: nobody asks for it again.
            for old in self._folder.glob("*documents-*.sqlite*"):
                with suppress(OSError):
                    old.unlink()
            part_path = self._path.with_name(f".{self._path.name}.part")
            try:
                with closing(sqlite3.connect(part_path)) as database:
                    # It is made beside its place and moved there when whole: a crash leaves nothing that has
                    # to be undone.
                    database.execute("PRAGMA journal_mode = OFF")
                    database.execute("PRAGMA synchronous = OFF")
                    database.execute("CREATE TABLE document (id TEXT PRIMARY KEY, fields BLOB)")
                    # Packed, as web pages shrink to a fifth.
                    rows = (
                        (document.doc_id, zlib.compress(msgspec.json.encode(tuple(document)), 1))
                        for document in self._documents()
                    )
                    database.executemany("INSERT OR REPLACE INTO document VALUES (?, ?)", rows)
                    database.commit()
                put(part_path, self._path)
            except (sqlite3.Error, OSError) as error:
                raise OutputError(f"{self._path}: cannot be written: {error}") from error
            finally:
                with suppress(OSError):
                    part_path.unlink()

    def get(self, doc_id: str, field: str | None = None) -> Any:
        """Return the document, or one of its fields; a KeyError if there is none of this id."""
        documents = self.get_many([doc_id], field)
        if doc_id not in documents:
            raise KeyError(doc_id)
        return documents[doc_id]

    def get_many(self, doc_ids: Iterable[str], field: str | None = None) -> dict[str, Any]:
        """Return those that there are, by id."""
        documents = {document.doc_id: document for document in self.get_many_iter(doc_ids)}
        return (
            {name: getattr(document, field) for name, document in documents.items()} if field else documents
        )

    def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[Any]:
        """Yield those that there are."""
        self.build()
        names = list(doc_ids)
        with closing(self._connect()) as database:
            for start in range(0, len(names), _AT_ONCE):
                some = names[start : start + _AT_ONCE]
                # SQLite takes a limited number of places in one statement.
                marks = ",".join("?" * len(some))
                query = f"SELECT fields FROM document WHERE id IN ({marks})"
                for (packed,) in database.execute(query, some):
                    fields = msgspec.json.decode(zlib.decompress(packed))
                    yield self._kind(*fields) if self._kind else fields

    def count(self) -> int:
        """Return how many documents there are; build the database first if need be."""
        self.build()
        with closing(self._connect()) as database:
            number: int = database.execute("SELECT count(*) FROM document").fetchone()[0]
            return number

    def __iter__(self) -> Iterator[Any]:
        return self._documents()

    def _connect(self) -> sqlite3.Connection:
        import sqlite3

        # A path may hold a sign that means something in an address, and on Windows it begins with a drive.
        return sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True)


_READ_THROUGH = ("questions", "qrels", "nuggets", "judgements")


def import_files(
    dataset: str, paths: Sequence[str | Path], *, role: str | None = None, limits: Sequence[str] = ()
) -> dict[str, list[Path]]:
    """Copy files into the folder of datasets, as the files of this id.

    Each file is read first. If anything is wrong, the existing files stay.

    Parameters
    ----------
    dataset
        The id.
    paths
        Files, or folders with files of the dataset.
    role
        The role of the files, if their names are not those of the dataset.
    limits
        Words such as `"record=128M"`.

    Returns
    -------
    dict
        The copies by role.
    """
    benchmark, spec = catalogue.find_listed(dataset)
    by_role = _by_role(spec, [Path(path) for path in paths], role)
    folder = home.folder_of(spec.folder)
    # Read through where they are staged: only files that can be read take the place of what was there.
    with home.locked(folder), _staging_folder(folder) as staged:
        kept = {
            name: [_copy_file(path, source, staged) for path, source in files]
            for name, files in by_role.items()
        }
        _read_through(
            benchmark,
            spec,
            {name: [staged / file.name for file in files] for name, files in kept.items()},
            limits,
        )
        for name, files in kept.items():
            for file in files:
                put(staged / file.name, folder / file.name)
            home.keep(folder, name, files)
    return {name: [folder / file.name for file in files] for name, files in kept.items()}


def _by_role(
    spec: Spec, paths: Sequence[Path], role: str | None
) -> dict[str, list[tuple[Path, Source | None]]]:
    """Return which file is what, in the order in which a dataset's files belong together."""
    if role is not None and role not in spec.roles:
        raise UsageError(f"--as {role}: {spec.id} has {', '.join(spec.roles)}")
    by_role: dict[str, list[tuple[Path, Source | None]]] = {}
    for path in paths:
        if not os.path.exists(path):
            raise missing_file(str(path))
        if os.path.isdir(path):
            for name, files in _in_folder(spec, path, role).items():
                by_role.setdefault(name, []).extend(files)
            continue
        source = next((candidate for candidate in spec.files if _is_called(path, candidate)), None)
        if role is None and source is None and len(spec.roles) != 1:
            raise UsageError(
                f"{path}: which part of {spec.id} is it? use --as {' or --as '.join(spec.roles)}"
            )
        name = role or (source.role if source else spec.roles[0])
        by_role.setdefault(name, []).append((path, source if source and source.role == name else None))
    for files in by_role.values():
        # Parts of a file that was cut follow one another as their publishers list them.
        files.sort(key=lambda pair: (spec.files.index(pair[1]) if pair[1] else 0, pair[0].name))
    for name, files in by_role.items():
        # Parts of a file that was cut make sense together only.
        expected = [source for source in spec.files if source.role == name]
        given = [source for _, source in files if source]
        if len(expected) > 1 and given and len(given) < len(expected):
            lost = ", ".join(source.name for source in expected if source not in given)
            raise InputError(
                at=Place(spec.id),
                expected=f"{len(expected)} files",
                found=f"{len(given)}",
                remedy=f"missing: {lost}",
            )
    return by_role


def _in_folder(spec: Spec, folder: Path, role: str | None) -> dict[str, list[tuple[Path, Source | None]]]:
    by_role: dict[str, list[tuple[Path, Source | None]]] = {}
    for source in spec.files:
        if role in (None, source.role):
            places = [folder, folder / source.folder] if source.folder else [folder]
            files = [file for place in places if place.is_dir() for file in sorted(place.iterdir())]
            matching = [(file, source) for file in files if file.is_file() and _is_called(file, source)]
            if matching:
                by_role.setdefault(source.role, []).extend(matching)
    if not by_role:
        names = ", ".join(source.name or source.match for source in spec.files if source.is_published)
        if not names:
            roles = " or --as ".join(spec.roles)
            raise InputError(
                at=Place(str(folder)),
                problem=f"the file names of {spec.id} are not known",
                remedy=f"name the files with --as {roles}",
            )
        raise InputError(at=Place(str(folder)), expected=names, found="none of them")
    return by_role


def _is_called(path: Path, source: Source) -> bool:
    return path.name == source.name if source.name else fnmatchcase(path.name, source.match)


def _copy_file(path: Path, source: Source | None, staged: Path) -> KeptFile:
    name = plain(path.name, str(path))
    if (staged / name).exists():
        raise UsageError(f"{path}: a second file of this name; expected different names")
    try:
        os.close(os.open(staged / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, home.MODE))
        shutil.copyfile(path, staged / name)
    except OSError as error:
        raise OutputError(f"{path}: cannot be copied to {staged}: {error.strerror}") from error
    # Of the copy, which is what will be read.
    kept = home.size_and_digest_of(staged / name)
    if source and source.sha256 and kept.sha256 != source.sha256:
        raise InputError(
            at=Place(str(path)),
            problem=f"sha256 {kept.sha256}",
            expected=source.sha256,
            remedy="the file was rejected and the existing one is kept (a file of another form needs"
            " another name)",
        )
    return kept


def _read_through(
    benchmark: Benchmark, spec: Spec, files: dict[str, list[Path]], limits: Sequence[str]
) -> None:
    """Read all that the files hold, of documents the first: what cannot be read is not taken."""
    reader = reader_of(benchmark)
    dataset = own(benchmark, spec, lambda role: files[role], limits)
    for what in reader.read:
        if reader.role.get(what, what) not in files or what not in spec.holds:
            continue
        # Documents may be gigabytes: whether the first can be read has to do.
        read = getattr(dataset, what)()
        count = (
            sum(1 for _ in read)
            if what in _READ_THROUGH
            else sum(1 for _ in zip(read, range(1), strict=False))
        )
        if not count:
            raise InputError(
                at=Place(spec.id), expected=what, found=f"none in {files[reader.role.get(what, what)][0]}"
            )


@contextmanager
def _staging_folder(folder: Path) -> Iterator[Path]:
    """Make a folder on the same disk, and remove it afterwards."""
    try:
        staged = Path(mkdtemp(prefix=".importing-", dir=home.make_folder(folder)))
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written to: {error.strerror}") from error
    try:
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)
