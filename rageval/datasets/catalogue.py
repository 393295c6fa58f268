"""Which datasets there are and where their files come from: read from the TOML files in `sources/`."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

import msgspec

from rageval.errors import InputError, Place
from rageval.files.jsonl import problem_of_record
from rageval.text import visible

HUB = "https://huggingface.co"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


# Ids and names come from manifests and command lines: none may climb out of the folder.
def plain(part: str, whole: str) -> str:
    """Return a part of a path that can be nothing but a name."""
    if not _PLAIN.fullmatch(part):
        raise InputError(
            at=Place(f"{whole!r}"),
            expected="names of letters, digits, '.', '_' and '-' that begin with a letter or a digit",
            found=f"{part[:80]!r}",
        )
    return part


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of a dataset, or those of a folder on the Hugging Face hub that `match`.

    `role` is what it holds: questions, documents, qrels, nuggets or judgements of answers. Without size and
    sha256 nobody has published them; the hub tells them for its files. Without any address nobody knows where
    the file is: people import it.
    """

    role: str
    url: str = ""
    mirrors: tuple[str, ...] = ()
    size: int | None = None
    sha256: str | None = None
    repo: str = ""
    folder: str = ""
    match: str = ""

    @property
    def name(self) -> str:
        """What the file is called on disk."""
        return self.url.rpartition("/")[2]

    @property
    def is_published(self) -> bool:
        """Whether it is known where the file is."""
        return bool(self.url or self.repo)

    @property
    def urls(self) -> tuple[str, ...]:
        """Where the file is, mirrors last."""
        return (self.url, *self.mirrors)

    def of(self, parts: dict[str, str]) -> Source:
        """Return the source with `{topic}` and similar fields filled in."""
        filled = {name: getattr(self, name).format(**parts) for name in ("url", "repo", "folder", "match")}
        return msgspec.structs.replace(self, **filled)


class KeptFile(msgspec.Struct, frozen=True):
    """A file that is there: what it is called, and what it was when it arrived."""

    name: str
    size: int
    sha256: str


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A dataset: its id, its files, and what its publishers say it holds.

    `split` keeps the questions of that split; `store` is another dataset whose files these are;
    `documents_from` is the ir_datasets id of the collection that the judgements refer to; `judges` are the
    models that judged documents: none where people did. `also` are ids of ir_datasets that are the same set,
    in the versions that have them; `note` is what is not known of it. `citation` is what to cite where that
    is something else than for the benchmark.
    """

    id: str
    summary: str
    holds: tuple[str, ...]
    files: tuple[Source, ...] = ()
    split: str | None = None
    store: str = ""
    documents_from: str = ""
    limits: dict[str, int] = {}
    expected: dict[str, float] = {}
    judges: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    note: str = ""
    citation: str = ""

    @property
    def folder(self) -> str:
        """Where its files stand, under rageval's part of the home of ir_datasets."""
        return self.store or self.id

    @property
    def roles(self) -> tuple[str, ...]:
        """What the files are: queries, documents, judgements, …; each once."""
        return tuple(dict.fromkeys(source.role for source in self.files))

    @property
    def size(self) -> int | None:
        """Bytes to download; None if any file's is not known."""
        sizes = [source.size for source in self.files]
        return sum(size for size in sizes if size is not None) if None not in sizes else None


class _Pattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ids that need no entry of their own: their parts by regular expression, and the files they mean."""

    id: str
    parts: dict[str, str]
    summary: str
    holds: tuple[str, ...]
    files: tuple[Source, ...]

    @property
    def regex(self) -> str:
        """A pattern that the ids match, with a group for each part."""
        named = {name: f"(?P<{name}>{part})" for name, part in self.parts.items()}
        return self.id.format(**named)

    def spec(self, dataset: str) -> Spec | None:
        """Return the dataset of this id, if the id is of this pattern."""
        match = re.fullmatch(self.regex, dataset)
        if match is None:
            return None
        parts = match.groupdict()
        sources = tuple(source.of(parts) for source in self.files)
        return Spec(dataset, self.summary.format(**parts), self.holds, sources)


class Benchmark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is the same for all datasets of a benchmark. `terms` must be accepted before the first fetch.

    `nuggets_in_qrels` says whether the second column of its judgements names a nugget; `judges` are the
    models that judged the documents of all its datasets; `reader` is the module that reads its files, if not
    that of its name, and behind a colon which of its readers does, if not `READER`.
    """

    name: str
    title: str
    homepage: str
    licence: str
    citation: str
    terms: str = ""
    nuggets_in_qrels: bool = True
    judges: tuple[str, ...] = ()
    reader: str = ""
    datasets: tuple[Spec, ...] = ()
    pattern: _Pattern | None = None

    def cited_for(self, spec: Spec) -> str:
        """Return what to cite for a dataset, as BibTeX."""
        return (spec.citation or self.citation).strip()

    def spec(self, dataset: str) -> Spec | None:
        """Return the dataset of this id; one listed without files has those of its store or pattern."""
        listed = next((spec for spec in self.datasets if spec.id == dataset), None)
        generated = self.pattern.spec(dataset) if self.pattern else None
        if listed is None or listed.files:
            return listed or generated
        origin = self.spec(listed.store) if listed.store else generated
        return msgspec.structs.replace(listed, files=origin.files if origin else ())

    @property
    def specs(self) -> list[Spec]:
        """Every dataset that is listed, with its files."""
        return [spec for listed in self.datasets if (spec := self.spec(listed.id))]


@cache
def benchmarks() -> tuple[Benchmark, ...]:
    """Return the benchmarks that rageval knows."""
    folder = files("rageval.datasets") / "sources"
    paths = sorted((path for path in folder.iterdir() if path.name.endswith(".toml")), key=lambda p: p.name)
    return tuple(read_benchmark(path.read_bytes(), path.name) for path in paths)


def read_benchmark(content: bytes, name: str) -> Benchmark:
    """Read the file of a benchmark; `InputError` says which key is wrong."""
    try:
        return msgspec.toml.decode(content, type=Benchmark)
    except msgspec.ValidationError as error:
        problem = problem_of_record(error, msgspec.toml.decode(content), "the file of a benchmark")
        raise problem.located(Place(f"datasets/sources/{name}")) from None


def all_datasets() -> list[tuple[Benchmark, Spec]]:
    """Return every dataset that is listed."""
    return [(benchmark, spec) for benchmark in benchmarks() for spec in benchmark.specs]


def find(dataset: str) -> tuple[Benchmark, Spec] | None:
    """Return the dataset of this id, listed or by pattern; None if it is none of ours."""
    for benchmark in benchmarks():
        spec = benchmark.spec(dataset)
        if spec is not None:
            return benchmark, spec
    return None


def find_listed(dataset: str) -> tuple[Benchmark, Spec]:
    """Return the dataset of this id, which must be one of ours."""
    pair = find(dataset)
    if pair is None:
        raise UnknownDataset(dataset, "rageval has no such dataset")
    return pair


class UnknownDataset(InputError):
    """Nobody knows a dataset of this id; `asked` says who was asked."""

    def __init__(self, dataset: str, asked: str = "ir_datasets knows no such id") -> None:
        close = get_close_matches(dataset, [spec.id for _, spec in all_datasets()], 3, 0.7)
        hint = f"did you mean {' or '.join(close)}?" if close else "see: rageval datasets"
        super().__init__(asked, at=Place(visible(dataset)), remedy=hint)
