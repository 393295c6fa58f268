"""Pages of a track in a real browser: no value is cut off where a screen is narrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rageval.track import TrackPlan, organize
from report_pages import browser_  # noqa: F401

TOPICS, RUNS = 30, 12
CUT_OFF = """() => [document.documentElement, ...document.querySelectorAll('.scroll')]
    .filter(each => each.scrollWidth > each.clientWidth).length"""


@pytest.mark.slow
def test_a_narrow_screen_cuts_no_value_off(tmp_path: Path, browser: Any) -> None:
    rows = [f"q{topic},What is {topic}?,{topic}\n" for topic in range(TOPICS)]
    (tmp_path / "questions.csv").write_text("id,question,gold\n" + "".join(rows))
    (tmp_path / "tables").mkdir()
    labels = []
    for run in range(RUNS):
        answers = [f"What is {topic}?,{topic if (topic + run) % 3 else 'none'}\n" for topic in range(TOPICS)]
        name = f"a-team-with-a-long-name-{run}"
        (tmp_path / "tables" / f"{name}.csv").write_text("question,answer\n" + "".join(answers))
        labels += [
            f'{{"query_id": "q{topic}", "run_id": "{name}", "label": "perfect", "judge": "person:ann"}}\n'
            for topic in range(TOPICS - 5)
        ]
    (tmp_path / "labels").write_text("".join(labels))
    plan = TrackPlan(
        tmp_path / "tables",
        tmp_path / "out",
        "answers",
        topics=tmp_path / "questions.csv",
        judges=("short",),
        measures="crag_score,hallucination,accuracy,missing,length",
        gold=(str(tmp_path / "labels"),),
        gold_chosen="uniform",
    )
    organize(plan)
    tab = browser.new_page(viewport={"width": 400, "height": 800})
    for kind in ("index", "topic-q0", "run-a-team-with-a-long-name-0"):
        tab.goto((plan.out / "pages" / f"{kind}.html").as_uri())
        assert tab.evaluate(CUT_OFF) == 0, kind
    labeled = tab.locator("td[data-label]").first
    assert labeled.evaluate("each => getComputedStyle(each, '::before').content") == '"crag_score"'
    tab.close()
