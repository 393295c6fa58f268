"""Which tests are run where: those that the compiled part concerns, and the packages that some need."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = ("anthropic", "distributed", "fsspec", "ir_datasets", "matplotlib", "openai", "pandas", "pyarrow")
LACKING = {name for name in EXTRAS if find_spec(name) is None}

# What reads or scores runs is tried with the compiled part and without it (RAGEVAL_KERNEL=0). That none is
# forgotten is held by `test_scoring_mark.py`.
SCORING = {
    *(
        *("test_bad_input", "test_scoring_cases", "test_beir", "test_columns", "test_float_grades"),
        *("test_foreign", "test_beside_ir_measures", "test_check_measure", "test_cli", "test_columnar"),
        "test_compare",
    ),
    *("test_compat", "test_compat_option", "test_conformance", "test_counterexamples", "test_direction"),
    *("test_doctor", "test_error_parts", "test_evaluation", "test_exhaustive", "test_field_formats"),
    "test_fuzz_readers",
    *("test_ir_measures", "test_kernel", "test_kernel_reader", "test_laws", "test_laws_together"),
    *("test_nothing_judged", "test_odd_but_right", "test_oracle", "test_packing", "test_parallel"),
    *("test_parallel_failures", "test_parts", "test_peer_errors", "test_pyndeval", "test_pytrec_eval"),
    *(
        *("test_readers_refuse", "test_remote", "test_second_column", "test_slices", "test_spans"),
        *("test_spilling", "test_steps"),
    ),
    *(
        *("test_new_measure", "test_trec_eval", "test_two_readers", "test_ties_and_bounds"),
        *("test_uncertainty_bounds", "test_uncertainty_ideal", "test_intent_weights"),
    ),
    *("test_uncertainty_ties", "test_validate_run", "test_wrong_claims"),
    *("test_gate_command", "test_gate_verb"),
    *("test_doctests", "test_every_form", "test_scores_table"),
}
