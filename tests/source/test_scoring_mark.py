"""What reads or scores runs bears the mark by which it is tried without the compiled part, too."""

from __future__ import annotations

import re
from pathlib import Path

from circles import SCORING

TESTS = Path(__file__).parents[1]
_READS = re.compile(r"read_run|read_qrels|\.evaluate\(|Evaluator\(|run\.trec|\"run\", \"qrels\"")
OTHERS = {  # which read or score runs on the way to something else, and would take long
    *(
        "test_shown",
        "test_answer_bad_input",
        "test_answer_laws",
        "test_answer_measures",
        "test_answers_files",
        "test_build",
    ),
    *("test_build_fusion", "test_conformance_programs", "test_datasets_export", "test_datasets_ids"),
    *("test_examples", "test_faults", "test_layers", "test_measure_objects", "test_nugget_weights"),
    *("test_options", "test_parallel_dask", "test_parallel_restart", "test_plots", "test_plugins_installed"),
    "test_recall_curves",
    "test_frontier",
    *("test_trajectories", "test_amounts", "test_confidence"),
    *("test_public_names", "test_readme", "test_report", "test_report_page", "test_report_safety"),
    *("test_report_agents", "test_report_trace"),
    *(
        "test_scale_page",
        "test_sinks",
        "test_annotation_page",
        "test_label_plan",
        "test_gold",
        "test_rubrics_page",
    ),
    *("test_uncertainty_judges", "test_scoring_mark", "test_adaptive", "test_paper", "test_citations"),
    *("test_import_command", "test_claims_command", "test_action", "test_labels_survive"),
    *("test_other_systems", "test_json_holds_numbers", "test_python_says", "test_fewer_lines"),
    *("test_names_not_utf8", "test_same_claims", "test_one_kind", "test_reader_cases", "test_one_subject"),
    *("test_limits_travel", "test_demo", "test_messages", "test_folders", "test_track_pages"),
    *("test_reproduce", "test_compiled_dicts", "test_board_site", "test_frames", "test_remarks"),
    *("test_kind_by_place", "test_limits", "test_every_eval_ever"),
}


def test_no_test_of_readers_lacks_the_mark() -> None:
    reading = {path.stem for path in TESTS.rglob("test_*.py") if _READS.search(path.read_text())}
    assert reading - SCORING - OTHERS == set()
    assert not SCORING & OTHERS


def test_those_that_are_listed_are_there() -> None:
    there = {path.stem for folder in (TESTS, TESTS.parent / "rageval") for path in folder.rglob("*.py")}
    assert there >= SCORING | OTHERS
