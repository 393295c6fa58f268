"""What the compiled part offers; `rageval/_kernel.c` says it in full."""

from typing import Any

from typing_extensions import Buffer

INTERFACE: int

def ideal_orders(
    topics: Buffer,
    begin: Buffer,
    nugget: Buffer,
    grade: Buffer,
    ids: Buffer,
    id_ends: Buffer,
    worth: Buffer,
    n_nuggets: int,
    rel: int,
    k: int,
    /,
) -> tuple[bytes, bytes]: ...
def gain_sums(
    first: Buffer,
    borders: Buffer,
    rank: Buffer,
    document: Buffer,
    begin: Buffer,
    nugget: Buffer,
    grade: Buffer,
    worth: Buffer,
    discount: Buffer,
    n_nuggets: int,
    rel: int,
    k: int,
    /,
) -> bytes: ...
def qrels_new(
    floor: int, seed: bytes, id_limit: int, line_limit: int, grade_limit: int, tabbed: bool, /
) -> object: ...
def qrels_feed(qrels: object, chunk: Buffer, /) -> int: ...
def qrels_add(qrels: object, query: object, nugget: object, grades: dict[Any, Any], /) -> int: ...
def qrels_end(
    qrels: object, /
) -> tuple[
    int,  # rows
    bool,  # no document stands under two nuggets of its query
    list[bytes],  # the queries
    memoryview[int],  # listed
    memoryview[int],  # below
    memoryview[int],  # docs
    memoryview[int],  # pairs
    memoryview[int],  # nugget
    memoryview[int],  # grade
    memoryview[int],  # ids
    memoryview[int],  # id_ends
    memoryview[int],  # nugget_ids
    memoryview[int],  # nugget_ends
]: ...
def qrels_numbers(qrels: object, query: int, docs: list[bytes], /) -> bytes: ...
def join_new(
    qrels: object, deepest: int, cutoffs: Buffer, id_limit: int, line_limit: int, tabbed: bool, /
) -> object: ...
def join_feed(join: object, chunk: Buffer, /) -> int: ...
def join_add(join: object, query: object, scores: dict[Any, Any], /) -> int: ...
def join_end(
    join: object, /
) -> tuple[
    list[bytes],  # the queries of the run
    memoryview[int],  # asked
    memoryview[int],  # length
    memoryview[int],  # judged
    memoryview[int],  # hits
    memoryview[int],  # rank
    memoryview[int],  # doc
    int,  # rows
    int,  # rank_conflicts
    int,  # shown
    int,  # shown_judged
    memoryview[int],  # tied_at
]: ...
def apart_new(seed: bytes, width: int, tabbed: bool, /) -> object: ...
def apart_feed(apart: object, chunk: bytes, numbers: Buffer | int, /) -> None: ...
def apart_next(apart: object, size: int, /) -> tuple[bytes, bytes]: ...
def columns(
    chunk: Buffer, width: int, scores: int, id_limit: int, line_limit: int, tabbed: bool, /
) -> list[list[Any]] | None: ...
