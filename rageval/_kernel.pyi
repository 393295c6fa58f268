"""What the compiled part offers; `rageval/_kernel.c` says it in full."""

from typing_extensions import Buffer

INTERFACE: int

def ideal_orders(
    topics: Buffer,
    begin: Buffer,
    nugget: Buffer,
    grade: Buffer,
    ids: Buffer,
    id_start: Buffer,
    id_length: Buffer,
    worth: Buffer,
    n_nuggets: int,
    rel: int,
    k: int,
    /,
) -> tuple[bytes, bytes]: ...
