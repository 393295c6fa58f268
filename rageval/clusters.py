"""Connecting to a Dask cluster: what is wrong with an address or a worker, in the words of who typed it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from rageval.errors import MissingPackage, UsageError
from rageval.version import __version__


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


def asking_for_rageval() -> Callable[[], Any]:
    """Return what to ask a worker first: a task that it cannot import would cost its life."""

    def version() -> Any:  # within a function, so that it travels as code and not as a name
        return import_module("rageval.version").__version__

    return version


def require_rageval(found: object) -> None:
    """Refuse a worker that has another rageval or none; raise what came in between if it went away."""
    if isinstance(found, OSError):
        raise found
    if found != __version__:
        raise UsageError(f"expected rageval {__version__} there as well, found {found!s:.100}")
