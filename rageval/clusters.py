"""Connecting to a Dask cluster: what is wrong with an address, in the words of who typed it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rageval.errors import MissingPackage, UsageError


@contextmanager
def connecting(address: str) -> Iterator[None]:
    """Errors of connecting to the cluster at this address, with the way out."""
    try:
        from distributed.comm.addressing import parse_address
        from distributed.comm.registry import get_backend
    except ImportError:
        raise MissingPackage("distributed", "--dask", extra="dask") from None
    try:
        get_backend(parse_address(address)[0])
        yield
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            f"--dask {address}: no cluster answers there ({error!s:.100}); expected the address that"
            " 'dask scheduler' prints, such as tcp://10.0.0.1:8786"
        ) from error
