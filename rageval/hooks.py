"""What a package leaves to one that stands above it, or asks for by need.

Imports go one way. Where a lower package needs a higher one after all (the words of a remark, the dataset of
an id), or one that few need (judging a table of answers), it calls a hook. The types of a hook are those of
what it stands for; a test compares them. Hooks of a kind of subject stand with it, in `rageval.subjects`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Generic, Literal, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Hook(Generic[P, R]):
    """A function, or a class, that is imported when it is first called.

    >>> Hook[[float], float]("math:sqrt")(9.0)
    3.0
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self._module: ModuleType | None = None

    def load(self) -> Callable[P, R]:
        """Import what this stands for, and return it."""
        module, _, name = self.target.partition(":")
        if self._module is None:
            self._module = import_module(module)
        # Looked up each time: whoever replaces it in its module, as tests do, replaces it here.
        function: Callable[P, R] = getattr(self._module, name)
        return function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call it."""
        return self.load()(*args, **kwargs)


# Words, tables and figures, which are made of values.
remark_text = Hook[[Any], str]("rageval.views.remarks:remark_text")
claim_text = Hook[[Any, Any], str]("rageval.views.bases:claim_text")
family_of = Hook[[Any, int, int], str]("rageval.views.comparisons:family_of")
finding_message = Hook[[Any], str]("rageval.views.findings:message_text")
finding_effect = Hook[[Any], str]("rageval.views.findings:effect_text")
summarize_findings = Hook[[int, int, str], str]("rageval.views.findings:summarize")
stale_spans = Hook[[int, int, Sequence[Any]], str]("rageval.views.remarks:stale_spans")
lost_quotes = Hook[[int, Sequence[Any]], str]("rageval.views.remarks:lost_quotes")
display_of_scores = Hook[[Any], Any]("rageval.views.scores:ScoresDisplay")
display_of_scores_table = Hook[[Any], Any]("rageval.views.scores:ScoresTableDisplay")
display_of_comparison = Hook[[Any], Any]("rageval.views.comparisons:ComparisonDisplay")
display_of_gate = Hook[[Any], Any]("rageval.views.gates:GateDisplay")
display_of_passport = Hook[[Any], Any]("rageval.views.passports:PassportDisplay")
display_of_diagnosis = Hook[[Any], Any]("rageval.views.diagnoses:DiagnosisDisplay")
display_of_leaderboards = Hook[[Any], Any]("rageval.views.leaderboards:AgreementDisplay")
display_of_judges = Hook[[Any], Any]("rageval.views.leaderboards:JudgesDisplay")
display_of_findings = Hook[[Any], Any]("rageval.views.findings:FindingsDisplay")
display_of_judgements = Hook[[Any], Any]("rageval.views.judgements:JudgedDisplay")
display_of_verification = Hook[[Any], Any]("rageval.views.verifications:VerificationDisplay")
figure_of_scores = Hook[[Sequence[Any], Any], Any]("rageval.views.plots:figure_of_scores")
figure_of_comparison = Hook[[Any, Sequence[Any], Any], Any]("rageval.views.plots:figure_of_comparison")
figure_of_passport = Hook[[Any], Any]("rageval.views.plots:figure_of_passport")
figure_of_findings = Hook[[Any], Any]("rageval.views.plots:figure_of_findings")
checked_plot = Hook[[Any, Any], Any]("rageval.views.plots:checked_plot")
save_figure = Hook[[Any, Any], None]("rageval.views.plots:save")
citation_of = Hook[[Any, Any], Any]("rageval.views.citations:citation_of")
citation_text = Hook[[Any], str]("rageval.views.citations:citation_text")
write_evaluation = Hook[[Sequence[Any], Any, Any, Any, Sequence[str]], None](
    "rageval.pages.every_eval_ever:write_evaluation"
)
ir_measures_class = Hook[[], type[Any]]("rageval.interop:ir_measures_class")
ratio_of_sums = Hook[..., Any]("rageval.statistics.outcomes:ratio")
calibration_error_of = Hook[..., Any]("rageval.statistics.outcomes:calibration_error")
error_without_last_bin = Hook[..., Any]("rageval.statistics.outcomes:without_last_bin")
selective_accuracy = Hook[..., Any]("rageval.statistics.outcomes:selective_accuracy")
advice_on_repeats = Hook[[Sequence[Sequence[float]]], Any]("rageval.statistics.agreement:advice_on_repeats")

# Datasets: a word may be the id of one.
dataset_or_file = Hook[[Any, str], Any]("rageval.datasets.ids:dataset_for_id")
labels_of_dataset = Hook[[str], Any]("rageval.datasets.ids:labels_of")
dataset_of = Hook[[str, str], Any]("rageval.datasets.ids:dataset_of")
papers_of = Hook[[str], tuple[str, ...]]("rageval.datasets.dataset:papers_of")

# Logs, spans, and runs that workers read.
lines_of_table = Hook[[Any], Any]("rageval.files.line_tables:lines_of_table")
tool_of_log = Hook[[Any], str | None]("rageval.logs.readers:tool_of")
read_log = Hook[..., Any]("rageval.logs.readers:read")
project_spans = Hook[..., Any]("rageval.spans.projection:project")
require_judged_chunks = Hook[[Any, Any], None]("rageval.spans.projection:require_judged_chunks")
run_in_parts = Hook[[Any, Any], Any]("rageval.parallel._divided:in_parts")
score_on_workers = Hook[..., Iterable[Any]]("rageval.parallel._divided:score_on_workers")

# Kinds of files, and what argument or file stands in the place of another: looked at where a file is JSON, or
# a call failed.
kinds_of_records = Hook[[], Sequence[Any]]("rageval.files._records:kinds_of_records")
first_record = Hook[[bytes], Any]("rageval.files.jsonl:first_record")
table_columns = Hook[..., Any]("rageval.files.jsonl:table_columns")
record_line = Hook[..., str]("rageval.files.jsonl:as_line")
records_in_memory = Hook[..., Any]("rageval.files.jsonl:in_memory")
is_judged_table = Hook[[bytes], bool]("rageval.files.foreign_judgements:is_judged_table")
read_judged = Hook[[Any, bytes], Iterable[tuple[Sequence[int], Any]]](
    "rageval.files.foreign_judgements:read_judged"
)
misplaced_argument = Hook[[Any], str]("rageval.scoring._roles:misplaced")
misplaced_file = Hook[..., Any]("rageval.files.places:misplaced_file")
write_answers = Hook[[Any, str], Iterable[str]]("rageval.files.answers:write_answers")
write_questions = Hook[[Any], Iterable[str]]("rageval.files.questions:write_questions")
judged_tables = Hook[..., Any]("rageval.judges.tables:judged_tables")
table_sources = Hook[[Any], Any]("rageval.judges.tables:table_sources")
questions_in = Hook[[Any, list[Any]], dict[str, Any]]("rageval.judges.material:questions_in")

# Groups of queries, from files or fields of questions.
clusters_of = Hook[
    [str | None, Sequence[str], Any, Sequence[Any]], tuple[dict[str, str] | Literal["none"] | None, str]
]("rageval.scoring.query_groups:clusters_of")
groups_of = Hook[[str, Sequence[str], Any, Sequence[Any]], dict[str, str]](
    "rageval.scoring.query_groups:groups_of"
)
slices_of = Hook[[str | None, Sequence[str], Any, Sequence[Any]], dict[str, dict[str, str]]](
    "rageval.scoring.query_groups:slices_of"
)

# A measure by its name, for measures that are made of others.
parse_measure = Hook[[str], Any]("rageval.measures.parsing:parse_measure")

# Human labels beside a judge, and weights of nuggets: few scores have them.
drawn = Hook[[Any], Any]("rageval.scoring.gold:drawn")
gold_of_documents = Hook[[Sequence[Any], Any], Any]("rageval.scoring.gold:gold_of_documents")
gold_of_answers = Hook[[Any, Sequence[Any], Any], Any]("rageval.scoring.gold:gold_of")
run_labels = Hook[[Any, Any, Any], Any]("rageval.scoring.run_labels:RunLabels")
answer_labels = Hook[[Any, Any], Any]("rageval.scoring.answer_labels:AnswerLabels")
with_people = Hook[[Any, Any], Any]("rageval.scoring.human_values:with_people")
with_intent_weights = Hook[..., Any]("rageval.scoring.intent_weights:with_intent_weights")

# What the command line asks for by need.
best_runs = Hook[[Sequence[Any]], dict[str, frozenset[str]]]("rageval.comparison.comparisons:best_runs")
comparison_settings = Hook[..., Any]("rageval.comparison.results:Settings")
judge_tables = Hook[..., Any]("rageval.cli._tables:judged")
system_named = Hook[[str, Any], str]("rageval.cli._tables:system_named")
complete_word = Hook[[str, str], Iterable[Any]]("rageval.cli._completion:complete")
asks_nobody = Hook[[str], bool]("rageval.judges.panel:asks_nobody")
default_store = Hook[[], Any]("rageval.judges.store:default_path")
files_of_collection = Hook[[], Collection[str]]("rageval.building.collection:all_files")

# What the plug-in for pytest does once a test asks.
questions_of_mark = Hook[[str], list[Any]]("rageval.pytest_gates:questions_of_mark")
gate_in_test = Hook[[Any, Any, Any, Any, dict[str, Any]], Any]("rageval.pytest_gates:gate")
gate_recorded = Hook[[Any, int], bool]("rageval.pytest_gates:gate_recorded")
