"""Tiny data sets of our own making, in the layouts in which the real ones are published."""

from __future__ import annotations

import bz2
import hashlib
import io
import json
import tarfile
from importlib.resources import files
from typing import Any

import msgspec
import pytest

from datasets_server import File, Server
from rageval.datasets.catalogue import Benchmark, Spec

TOPIC = "langchain"
FRESHSTACK_QUERIES = [
    {
        "query_id": f"7600000{index}",
        "query_title": f"How do I pin {word}?",
        "query_text": f"I tried `{word} --pin`\nand got\t{index} errors.",
        "answer_text": f"Use pin({index}).",
        "nuggets": [
            {
                "_id": f"7600000{index}_{nugget}",
                "text": f"{word} needs part {nugget}.",
                "relevant_corpus_ids": [
                    f"repo/{word}.py_{nugget}_368",
                    f"repo/docs with space/{index}.md_0_99",
                ],
                "non_relevant_corpus_ids": [f"repo/{word}.py_{nugget + 5}_368"],
            }
            for nugget in range(1 + index % 3)
        ],
    }
    for index, word in enumerate(("chains", "vectors", "agents", "tools", "größe"))
]
FRESHSTACK_DOCS = [
    {"_id": f"repo/{word}.py_{index}_368", "text": f"def {word}_{index}():\n\treturn {index}", "title": ""}
    for word in ("chains", "vectors", "agents", "tools", "größe")
    for index in range(8)
] + [
    {"_id": f"repo/docs with space/{index}.md_0_99", "text": f"# Part {index}", "title": ""}
    for index in range(5)
]

CRAG = [
    {
        "interaction_id": f"00000000-0000-4000-8000-00000000000{index}",
        "query_time": "03/10/2024, 23:19:21 PT",
        "domain": domain,
        "question_type": kind,
        "static_or_dynamic": "static",
        "query": f"who wrote song {index}?",
        "answer": f"writer {index}",
        "alt_ans": [f"w. {index}"] if index % 2 else [],
        "split": index % 2,
        "popularity": "head",
        "search_results": [
            {
                "page_name": f"Page {page}",
                "page_url": f"https://example.org/{index}/{page}",
                "page_snippet": "a snippet",
                "page_result": f"<html>{index} {page}</html>",
                "page_last_modified": None if page else "Sun, 10 Mar 2024 05:19:05 GMT",
            }
            for page in range(2)
        ],
    }
    for index, (domain, kind) in enumerate(
        [
            ("music", "simple"),
            ("music", "set"),
            ("movie", "simple"),
            ("open", "comparison"),
            ("finance", "set"),
        ]
    )
]
LIVERAG = [
    {
        "Index": index,
        "Question": f"What is fact {index}?",
        "Answer": f"It is {index}.",
        "Supporting_Documents": [
            {
                "content": f"Fact {one} is {one}.",
                "doc_id": f"<urn:uuid:00000000-1111-4222-8333-00000000000{one}>",
            }
            for one in range(index % 2 + 1)
        ],
        "Answer_Claims": {"direct": [f"Fact {index} exists."], "useful": ["It is known."], "useless": []},
        "Session": ("First", "Second", "Both")[index % 3],
        "DataMorgana_Config": {"answer-type-categorization": "factoid", "user": "expert"},
        "ACS [-2 : 1]": index / 10,
        "ACS_Std": 0.1,
        "IRT-diff [-6 : 6]": float(index),
    }
    for index in range(5)
]


def parquet(rows: list[dict[str, Any]], row_group: int = 2) -> bytes:
    """Rows as the hub keeps them."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    target = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), target, row_group_size=row_group)
    return target.getvalue()


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def crag_bz2(rows: list[dict[str, Any]] = CRAG) -> bytes:
    return bz2.compress(jsonl(rows))


def tar_bz2(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:bz2") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return target.getvalue()


def in_parts(content: bytes, count: int) -> list[bytes]:
    size = -(-len(content) // count)
    return [content[index : index + size] for index in range(0, len(content), size)]


def put_freshstack(server: Server, topic: str = TOPIC, snapshot: str = "oct-2024") -> None:
    """The questions in one shard, the corpus in two."""
    folder = f"{topic}/"
    server.on_hub(
        f"freshstack/queries-{snapshot}", f"{folder}test-00000-of-00001.parquet", parquet(FRESHSTACK_QUERIES)
    )
    half = len(FRESHSTACK_DOCS) // 2
    for index, docs in enumerate((FRESHSTACK_DOCS[:half], FRESHSTACK_DOCS[half:])):
        name = f"{folder}train-0000{index}-of-00002.parquet"
        server.on_hub(f"freshstack/corpus-{snapshot}", name, parquet(docs))


def at_loopback(server: Server, contents: dict[str, bytes]) -> tuple[Benchmark, ...]:
    """The real catalogue with its hosts on the server, and sizes and hashes of our own tiny files.

    `https://host/path` is served as `/host/path`; `contents` are the files by name.
    """
    requested = []
    for path in sorted((files("rageval.datasets") / "sources").iterdir(), key=lambda path: path.name):
        text = path.read_text(encoding="utf-8")
        for host in ("github.com", "media.githubusercontent.com", "raw.githubusercontent.com"):
            text = text.replace(f"https://{host}/", f"{server.url}/{host}/")
        for host in ("trec.nist.gov", "trec-rag.github.io", "trec-dragun.github.io"):
            text = text.replace(f"https://{host}/", f"{server.url}/{host}/")
        benchmark = msgspec.toml.decode(text, type=Benchmark)
        specs = tuple(_measured(spec, contents) for spec in benchmark.datasets)
        requested.append(msgspec.structs.replace(benchmark, datasets=specs))
    return tuple(requested)


def _measured(spec: Spec, contents: dict[str, bytes]) -> Spec:
    sources = []
    for source in spec.files:
        content = contents.get(source.name)
        if content is not None and source.sha256:
            sha256 = hashlib.sha256(content).hexdigest()
            source = msgspec.structs.replace(source, size=len(content), sha256=sha256)
        sources.append(source)
    return msgspec.structs.replace(spec, files=tuple(sources))


def put_on_github(server: Server, path: str, content: bytes) -> File:
    """A file in Git LFS: its address in the repository redirects to where the content is."""
    media = f"/media.githubusercontent.com/media/{path}"
    server.files[f"/github.com/{path.replace('/refs/', '/raw/refs/', 1)}"] = File(
        redirect=f"{server.other_url}{media}"
    )
    server.files[media] = File(content, etag=f'W/"{len(content)}"')
    return server.files[media]
