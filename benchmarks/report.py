"""What a report costs: the time and the memory to make it, the size of the page, how soon it is open.

    python benchmarks/report.py

20 runs of 1,000 and of 10,000 queries, three measures. Scoring alone and comparing alone stand beside it, so
that what the page itself costs can be seen. ranx and ir_measures write no pages. Opening needs Playwright and
Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import timing
from timing import (
    Command,
    Row,
    Sample,
    add_rageval_option,
    conditions,
    default_data_folder,
    exit_with,
    markdown,
    megabytes,
    note,
    seconds,
    warm_up,
)
from workloads import Files, Workload

HEADER = ("runs", "queries", "what", "time, s", "peak, MB", "page, MB", "opens in, s")
MEASURES = "alpha_ndcg@10,recall@20,coverage@20"
RUNS = 20
OPENED = 5  # times
MEGABYTE = 10**6
PAGE = "rageval report"


def draw_files(queries: int, folder: Path) -> None:
    """The runs and judgements; in a process of its own, because numpy would make this one large."""
    from workloads import draw

    workload = Workload(queries, depth=20, nuggets=8, judged=10, nugget_share=0.5, runs=RUNS)
    folder.mkdir(parents=True)
    draw(workload, Files(folder))


def in_a_process(function: object, *arguments: object) -> None:
    process = get_context("spawn").Process(target=function, args=arguments)  # type: ignore[arg-type]
    process.start()
    process.join()
    if process.exitcode:
        raise timing.ProcessError(f"{function} ended with {process.exitcode}")


def commands(options: argparse.Namespace, files: Files, page: Path) -> dict[str, Command]:
    runs = [str(files.run(index)) for index in range(RUNS)]
    inputs = [*runs, str(files.nugget_qrels), "-m", MEASURES]
    return {
        "rageval, only scores": [options.rageval, *inputs],
        "rageval compare": [options.rageval, "compare", *inputs, "--format", "csv"],
        PAGE: [options.rageval, "report", *inputs, "-o", str(page)],
    }


def opening(page: Path, result: Path) -> None:
    """Write down how many seconds Chromium takes until the page stands and its charts are drawn."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("google-chrome")
    took = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        for _ in range(OPENED):
            tab = browser.new_page()
            tab.goto(page.as_uri())
            entry = "performance.getEntriesByType('navigation')[0].loadEventEnd"
            took.append(tab.evaluate(entry) / 1000)
            tab.close()
        browser.close()
    result.write_text(str(statistics.median(took)))


def opened_in(page: Path) -> str:
    result = page.with_suffix(".seconds")
    result.unlink(missing_ok=True)
    try:
        in_a_process(opening, page, result)
    except timing.ProcessError as error:
        note(f"the page was not opened: {error}")
        return "-"
    return f"{float(result.read_text()):.2f}"


def table_rows(queries: int, samples: dict[str, list[Sample]], page: Path) -> Iterator[Row]:
    for name, sample in samples.items():
        size, opens = "", ""
        if name == PAGE:
            size, opens = f"{page.stat().st_size / MEGABYTE:.2f}", opened_in(page)
        time, peak = timing.median(sample, seconds), timing.median(sample, megabytes)
        yield str(RUNS), f"{queries:,}", name, f"{time:.2f}", f"{peak:.0f}", size, opens


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure reports.")
    add_rageval_option(parser)
    parser.add_argument("--data", type=Path, default=default_data_folder(), help="folder of the workloads")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--queries", type=int, nargs="+", default=[1_000, 10_000])
    return parser.parse_args()


def main() -> int:
    options = read_options()
    rows: list[Row] = []
    for queries in options.queries:
        folder = options.data / f"report-{queries}"
        if not folder.exists():
            in_a_process(draw_files, queries, folder)
        page = folder / "report.html"
        entrants = warm_up(commands(options, Files(folder), page))
        rows += table_rows(queries, timing.take_turns(entrants, options.rounds), page)
        note(f"{queries:,} queries are done")
    print(markdown(HEADER, rows))
    print(f"\n{conditions(options.rounds)} {MEASURES}.")
    return 0


if __name__ == "__main__":
    exit_with(main)
