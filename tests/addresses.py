"""Asks every address of the data sets whether the file is there, and fetches none of it.

    python tests/addresses.py

Without a network nothing is asked, which is said; an address that does not answer is listed, and ends it
with 1.
"""

from __future__ import annotations

import sys
import urllib.request

from rageval.datasets.catalogue import benchmarks

_SECONDS = 20


def answers(url: str) -> str:
    """Return what is wrong with an address; nothing if the file is there."""
    # Some servers do not know HEAD, so that the first byte is asked for.
    request = urllib.request.Request(url, headers={"Range": "bytes=0-0", "User-Agent": "rageval"})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS):
            return ""
    except (OSError, ValueError) as error:
        return str(error)


def main() -> int:
    """Ask all, each once; print those that are gone."""
    places = {
        url: spec.id
        for benchmark in benchmarks()
        for spec in benchmark.datasets
        for source in spec.files
        for url in filter(None, (source.url, *source.mirrors))
    }
    wrong = {url: why for url in places if (why := answers(url))}
    if len(wrong) == len(places):
        print(f"{len(places)} addresses: none answers, so there is no network; nothing is known")
        return 0
    for url, why in wrong.items():
        print(f"{places[url]}: {url}: {why}")
    print(f"{len(places) - len(wrong)} of {len(places)} addresses answer")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
