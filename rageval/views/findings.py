"""The words for findings in files: one template or function for each code, and one for the effect of some.

The parameters of a function, and the fields of a template, are the facts of the finding. Besides the forms of
`templates`, `{topic:quoted}` is a text of a file in quotes, `{query:id}` an id, both short, `{field:field}` a
field of a record, `{expected:type}` what is expected, `{value:json {is_text}}` a value of a file,
`{number:less one}` how many more there are; `{reason}` is the whole text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rageval.core.remark import Remark
from rageval.table import Column, Display, Table
from rageval.text import count_noun, visible
from rageval.views import remarks
from rageval.views.remarks import Words, names_in
from rageval.views.templates import Choice, Each, WordFormatter, fill

PLACE = frozenset({"line"})
_SHOWN = 80  # characters of a text of a file


def message_text(finding: Remark) -> str:
    """Return what was found, in words."""
    return _filled(WORDS[finding.code], finding)


def effect_text(finding: Remark) -> str:
    """Return the effect of it, in words; empty if none is known."""
    return _filled(EFFECTS.get(finding.code, ""), finding)


def summarize(errors: int, warnings: int, looked_at: str) -> str:
    """Return in words how many errors and warnings there are in how much.

    >>> summarize(0, 0, "3 rows"), summarize(2, 0, "1 file")
    ('3 rows, fine', '2 errors and 0 warnings in 1 file')
    """
    if not errors and not warnings:
        return f"{looked_at}, fine"
    return f"{count_noun(errors, 'error')} and {count_noun(warnings, 'warning')} in {looked_at}"


class FindingsDisplay(Display[Any]):
    """Findings as they show themselves: a row a finding."""

    def table(self) -> Table:
        """Return the findings with their places, beneath their number."""
        columns = [Column(name) for name in ("where", "level", "finding", "effect")]
        rows = [
            [f"{finding.source}:{finding.line}", finding.level, finding.message, finding.effect]
            for finding in self.shown
        ]
        return Table(columns, rows, 4, self.shown.summary)


class FindingFormatter(WordFormatter):
    """The forms of facts in the words for findings, besides those of all templates.

    >>> words = FindingFormatter()
    >>> print(words.format("{0:quoted} {0:id} {1:field} {1:json False} {2:type}", "it's", "answer", "ids"))
    "it's" 'it's' `answer` answer a list of ids
    """

    def format_field(self, value: Any, form: str) -> str:
        """Return a fact in words: also a number less one, or the JSON of a value, None if it is too long."""
        if form == "less one":
            return f"{value - 1:,}"
        if value is None and form.startswith("json"):
            return "something too large to show"
        return super().format_field(value, form)

    def format_text(self, text: str, form: str) -> str:
        """Return a text as a form says, which may also be one of these."""
        match form:
            case "quoted" | "json True":
                return repr(text[:_SHOWN] + "…" if len(text) > _SHOWN else text[:])
            case "json False":  # as its author wrote it
                return self.format_text(text, "quoted")[1:-1]
            case "id":
                return f"'{visible(text)[:_SHOWN]}'"
            case "field":
                return text if "[" in text else f"`{text}`"
            case "type":
                return _EXPECTED[text]
        return super().format_text(text, form)

    def format_list(self, texts: tuple[str, ...], form: str) -> str:
        """Return a list as a form says; names of files may be long."""
        if form.startswith("…"):
            names = ", ".join(visible(text)[:60] for text in texts)
            return names + ", …" * (int(form[1:]) > len(texts))
        return super().format_list(texts, form)


_FORMATTER = FindingFormatter()


def _filled(words: Words, finding: Remark) -> str:
    facts = {**finding.facts, "line": finding.about.line}
    if callable(words):
        # A message and its effect may need different facts.
        return words(**{name: facts[name] for name in names_in(words)})
    return fill(words, facts, _FORMATTER)


# What is expected of a value, or of an id.
_EXPECTED = {
    "text": "a text",
    "number": "a whole number",
    "id": "an id (text or number)",
    "list": "a list",
    "object": "an object",
    "document": "the id of a document",
    "sentence": "{text, citations}",
    "citations": "a list of ids, or {id: number}",
    "passage": "{passage, doc_IDs}",
    "ids": "a list of ids",
    "texts": "ids in texts",
    "urn": "<urn:uuid:…>",
    "msmarco_segments": "ids of MS MARCO V2.1 segments (msmarco_v2.1_doc_00_1#2_3)",
    "msmarco_document": "the id of a document (msmarco_v2.1_doc_00_1)",
    "climbmix_documents": "ids of ClimbMix documents (shard_00000_1)",
    "ragtime_documents": "ids of RAGTIME1 documents (five parts with `-`, then `_` and more)",
    "pmids": "PMIDs",
}


# --- answers and reports of tracks


def _citation_of_no_position(*, field: str, references: int, value: str | None, is_text: bool) -> str:
    problem = (
        f"expected a position from 0 to {references - 1}" if references else "and there are no references"
    )
    position = _FORMATTER.format_field(value, f"json {is_text}")
    return f"{field} cites {position}, {problem}"


def _unanswered_topics(*, number: int, total: int, examples: Sequence[str]) -> str:
    listed = fill(Each("examples", "{0:quoted}"), {"examples": examples}, _FORMATTER)
    listed += ", …" * (number > len(examples))
    return f"no answer to {number:,} of {total:,} topics: {listed}"


# --- entries of a track


def _crashed_reader(*, code: int) -> str:
    return f"crashed the process that read it ({f'signal {-code}' if code < 0 else f'code {code}'})"


# --- what doctor finds


def _queries_not_in_file(*, number: int, query: str, total: int, other: str, hint: str) -> str:
    return _ids_not_in_file("queries", query, number, total, other, hint)


def _documents_not_in_file(*, number: int, document: str, total: int, other: str, hint: str) -> str:
    return _ids_not_in_file("documents", document, number, total, other, hint)


def _ids_not_in_file(what: str, first: str, number: int, total: int, other: str, hint: str) -> str:
    words = "none of its {what} is in {other:id}, first {first:id}"
    if number != total:
        words = "{what} that are not in {other:id}: {number:,}, first {first:id}"
    return _FORMATTER.format(words, what=what, first=first, number=number, other=other) + (
        f"; {hint}" if hint else ""
    )


_AND_MORE = Choice("number", {1: ""}, " and {number:less one} more")
_OTHER_NAME = "{is_given:expected another|write another as the run's name}"

WORDS: dict[str, Words] = {
    # lines of any file
    "unreadable_line": "{reason}",
    "repeated_key": "the key {key:quoted} appears twice in one object; remove the wrong one",
    "other_kind": (
        "holds {kind}, expected ",
        # What looks like judgements may be a run that lost its last columns.
        Choice("track", {None: "a run (qid Q0 docid rank score tag)"}, "{expected} of {track}"),
    ),
    # answers and reports of tracks
    "missing_field": "{field:field} is missing, expected {expected:type}",
    "unexpected_value": "expected {expected:type} as {field:field}, found {value:json {is_text}}",
    "empty_field": "{field:field} is empty",
    "unknown_value": "expected {choices:or} as {field:field}, found {value:json {is_text}}",
    "unknown_field": (
        "unknown field {field:quoted}",
        Choice("parent", {"": ""}, " in `{parent}`"),
        "; known are ",
        Each("fields", "{0}", " "),
    ),
    "blanks_in_id": "white space in `{field}`: {value:quoted}; files in columns are split there",
    "too_many_references": "expected at most {limit} references, found {number:,}",
    "foreign_references": ("expected {expected:type} as references, found {example:quoted}", _AND_MORE),
    "repeated_reference": (
        "references[{position}] is references[{first}] again: {document:quoted}; --fix removes it and"
        " re-indexes the"
        " citations"
    ),
    "empty_answer": "the answer is empty",
    "too_long": (
        "expected at most {limit:,} ",
        Choice("unit", {"characters": "characters (NFKC)"}, "words ({unit})"),
        ", found {number:,}",
    ),
    "wrong_length": "`response_length` says {stated}, counted {number} words ({unit})",
    "control_character": "{field} holds the control character {character}",
    "citation_of_no_position": _citation_of_no_position,
    "citation_of_wrong_type": (
        "{field} cites {value:json {is_text}}, expected a position in the references,"
        " {takes_ids:or an id out of them|a number}"
    ),
    "citation_of_no_reference": "{field} cites {document:quoted}, which is not among the references",
    "repeated_citation": "{field} cites {document:quoted} more than once",
    "too_many_citations": "{field} has {number:,} citations, expected at most {limit}",
    "uncited_references": "{number:,} of {total:,} references are cited by no sentence",
    "unknown_topic": "unknown topic {topic:quoted}",
    "second_answer_to_topic": "a second answer to topic {topic:quoted}, the first is in line {first_line}",
    "other_text_of_topic": "`{field}` is not the text of the topic: {text:quoted}",
    "number_of_answers": "answers to {number:,} {number:topic|topics}, expected {expected}",
    "unanswered_topics": _unanswered_topics,
    "changed_value": (
        "{field:field} is {value:json {is_text}}, expected {expected:json {is_expected_text}} as in line"
        " {first_line}"
    ),
    "ids_and_positions": (
        "cites by {is_by_id:ids|positions}, line {first_line} by {is_by_id:positions|ids}; use one of them"
        " in a"
        " file"
    ),
    "several_topics": ("expected one topic in `metadata`, found ", Each("topics", "{0} {1:quoted}", " and ")),
    "two_lists_of_sentences": "expected the sentences in `responses` or in `answer`, not in both",
    "sentences_in_answer": "the sentences are in `answer`, expected `responses`",
    "citation_not_text": "{field} cites {value:json {is_text}}, expected an id in a text",
    "confidence_not_number": (
        "{field} cites {document:quoted} with {value:json {is_text}}, expected a number"
    ),
    "confidence_outside_range": (
        "{field} cites {document:quoted} with {value:json {is_text}}, expected {low:g} to {high:g}",
        Choice("number", {1: ""}, "; {number:less one} more are outside"),
    ),
    "unlisted_citations": (
        "{field} cites {document:quoted}, which is not among the references",
        Choice("number", {1: ""}, "; nor are {number:less one} more"),
    ),
    "references_not_cited": (
        "{number:,} references are cited by no sentence, the first {example:quoted}; expected the same in"
        " both"
    ),
    "citations_not_in_references": (
        "{number:,} cited documents are not in the references, the first {example:quoted}; expected the"
        " same in both"
    ),
    "sentences_without_citation": "{number:,} of {total:,} sentences cite nothing",
    "foreign_citations": ("expected {expected:type} as citations, found {example:quoted}", _AND_MORE),
    "too_many_ids": "{field} has {number:,} ids, expected at most {limit}",
    "repeated_id": "{field} has {value:json {is_text}} twice",
    "mixed_confidences": (
        "{field} cites by {has_confidences:id and confidence|id}, line {first_line} by"
        " {has_confidences:id|id and confidence}; use one of them in a file"
    ),
    "unknown_rank": "expected a rank from 1 to {ranks}, found {rank:quoted}",
    "repeated_rank": "rank {rank} of topic {topic:quoted} is in line {first_line}, too",
    "missing_ranks": "topic {topic:quoted} has {number} of {ranks} questions, no rank {rank}",
    "number_of_topics": "{number:,} topics, expected {expected}",
    "topics_without_rows": "no rows for {number:,} of {total:,} topics, such as {example:quoted}",
    "long_question": "expected at most {limit} characters a question, found {number:,}",
    "empty_passages": "`passages` is empty: faithfulness cannot be judged",
    "not_an_object": "expected {track}, one JSON object a line, found {value:json {is_text}}",
    "answers_of_another_form": (
        "expected {track}, found {form}; validate them with {has_track:a --track of their own|--track"
        " answers}"
    ),
    "number_of_columns": (
        "expected {columns:length} columns with tabs between (",
        Each("columns", "{0}", " "),
        "), found {number}",
    ),
    # runs that are handed in
    "repeated_document": (
        "document {document:quoted} is ranked twice for topic {topic:quoted}, first in line {first_line}"
    ),
    "too_many_documents": "{number:,} documents for topic {topic:quoted}, TREC allows {limit:,}",
    "other_run_tag": "run tag {tag:quoted}, expected {expected:quoted} as in the rows before",
    "scattered_topic": "topic {topic:quoted} continues, begun in line {first_line}; put its rows together",
    "tied_topics": (
        "equal scores in {number:,} {number:topic|topics}, first in {topic:quoted}; the order of tied"
        " documents"
        " depends on the evaluator"
    ),
    "contradicted_topics": (
        "the rank column contradicts the scores in {number:,} {number:topic|topics}, first in {topic:quoted};"
        " the scores are used"
    ),
    "no_known_topic": (
        "none of {number:,} {number:topic|topics}, such as {topic:quoted}, is among those asked; expected"
        " topics such as {expected:quoted}"
    ),
    "topics_without_documents": ("no documents for {number:,} {number:topic|topics}, such as {topic:quoted}"),
    "unchecked_duplicates": (
        "rows of a topic are not together in a stream: duplicate documents were not checked"
    ),
    # tables of answers that are handed in
    "several_systems": ("expected the answers of one system, found {number}: {examples:… {number}}"),
    "answers_to_unknown_questions": (
        "answers {number:,} {number:question|questions} that the topics do not have: {examples:… {number}}"
    ),
    "no_answers": "holds no answers",
    "repeated_answers": (
        "answers {number:,} {number:question|questions} more than once: {examples:… {number}}"
    ),
    "unanswered_questions": (
        "no answer to {number:,} of {total:,} questions, which count as failed: {examples:… {number}}"
    ),
    # repairs
    "dropped_lost_citation": "{field}: dropped the citation {value:json {is_text}}, which has no reference",
    "dropped_repeated_citation": "{field}: dropped the citation {value:json {is_text}}, which appears twice",
    "dropped_surplus_citation": (
        "{field}: dropped the citation {value:json {is_text}}, beyond the limit of {limit}"
    ),
    "dropped_sentence": "dropped {field}, leaving {words:,} words: {text:quoted}",
    "dropped_repeated_references": "dropped {number:,} references that appear twice",
    "dropped_uncited_references": (
        "dropped {number:,} references that no sentence cites, as {limit} are allowed"
    ),
    "turned_citations": "turned {number:,} citations to the new positions of their documents",
    "set_length": "set `response_length` to {number}",
    "wrote_topic_as_text": "wrote the topic {topic} as a text",
    "kept_citations": (
        "{field}: kept {number:,} of {total:,} citations",
        Choice("positions", {0: ""}, ", {positions} positions as ids"),
    ),
    "made_references": "made the {number:,} cited documents `references`",
    # entries of a track
    "unreadable_folder": "a folder that cannot be read: {reason}",
    "empty_folder": "a folder without files, expected a file",
    "hostile_file_name": "its name has control characters, or is not UTF-8; rename it",
    "no_ordinary_file": (
        "is a ",
        Choice("kind", {"fifo": "FIFO"}, "{kind}"),
        ", expected ",
        Choice("kind", {"link": "the file itself"}, "a file"),
    ),
    "too_many_bytes": "has {number:,} bytes, more than {limit:,} (--limit size=…)",
    "unopened_file": "cannot be opened: {reason}",
    "unreadable_file": "cannot be read: {reason}",
    "refused_entry": "{reason}",
    "failed_reader": "reading it failed ({fault}); please report this as a bug in rageval",
    "late_reader": "took more than {seconds:,} s to read (--limit seconds=…)",
    "crashed_reader": _crashed_reader,
    "too_much_memory": "needs more than {limit:,} bytes of memory to read (--limit memory=…)",
    "long_name": ("a name of {number:,} characters ({name}…), at most {limit} are shown; " + _OTHER_NAME),
    "hostile_name": "the name {name} has control characters; " + _OTHER_NAME,
    "reserved_name": "the name {name!r} is what judgements of no run are called; " + _OTHER_NAME,
    "claimed_name": "another file claims the name {run}, too: listed as {name} (see --teams)",
    # what doctor finds
    "rejected_line": "{reason}",
    "more_rejected_lines": "… and {number:,} more such lines",
    "refused_file": "{reason}",
    "unknown_file": "{reason}",
    "ids_with_space": "ids with a space: {number:,}, first {id:id}",
    "changed_file": "{name} has changed since the collection was built",
    "unlocated_spans": "wide spans: {number:,}, first {nugget:id} of query {query:id}",
    "unstated_quantity": (
        "trajectories with a model step that lacks {quantity}: {number:,}, first of query {query:id}"
    ),
    "queries_not_in_file": _queries_not_in_file,
    "documents_not_in_file": _documents_not_in_file,
    "queries_not_in_run": "judged queries that {other:id} lacks: {number:,}, first {query:id}",
    "no_judged_document": "{reason}",
    "unjudged_documents_in_top": (
        "queries with unjudged documents in the top {depth} ({share:.0%} of it): {number:,}, first {query:id}"
    ),
    "nuggets_not_in_file": (
        "nuggets that {other:id} does not have: {number:,}, first {nugget:id} of {query:id}"
    ),
    "nuggets_without_judgement": (
        "nuggets without a judged document in {other:id}: {number:,}, first {nugget:id} of {query:id}"
    ),
    "documents_ranked_twice": "documents ranked twice: {number:,}, first {document:id} of query {query:id}",
    "scattered_queries": "queries whose rows are not together: {number:,}, first {query:id}",
    "additional_tags": "additional run tags: {number:,}, first {tag:id}",
    "contradicted_ranks": "queries whose rank column contradicts the scores: {number:,}, first {query:id}",
    "shallow_run": "at most {depth:,} documents a query (the first: {query:id})",
    "all_scores_equal": "all scores of each query are equal",
    "ties_across_cutoff": "queries with equal scores across rank {cutoff}: {number:,}, first {query:id}",
    "tied_queries": "queries with equal scores: {number:,}, first {query:id}",
    "second_answers": "second answers of a run: {number:,}, first to query {query:id}",
    "lost_citations": (
        "sentences that cite a missing reference: {number:,}, first 'sentence {sentence}' of query {query:id}"
    ),
    "empty_answers": "empty answers: {number:,}, first to query {query:id}",
    "error_messages": "answers that are error messages: {number:,}, first to query {query:id}",
    "failed_answers": "answers that failed: {number:,}, first to query {query:id}",
    "repeated_references": "lists of references with a duplicate: {number:,}, first of query {query:id}",
    "no_citations": "no sentence cites anything",
    "questions_without_gold_in_table": "questions without a right answer: {number:,}, first {query:id}",
    "repeated_questions": "questions with several rows of a system: {number:,}, first {query:id}",
    "doubled_rows": "questions with several rows of the same answer: {number:,}, first {query:id}",
    "doubled_answers": ("questions with several rows of different answers: {number:,}, first {query:id}"),
    "answers_judged_twice": "answers judged twice by a judge: {number:,}, first {run:id} of query {query:id}",
    "failed_judgements": (
        "failed judgements (",
        Each("by_status", "{1:,} {0}"),
        "): {number:,}, first of query {query:id}",
    ),
    "nuggets_without_importance": (
        "nuggets without an importance: {number:,}, first {nugget:id} of query {query:id}"
    ),
    "fewer_answers_of_run": (
        "queries with fewer than {answers:,} answers (repeat), as others have: {number:,}, first {run:id} of"
        " query {query:id}"
    ),
    "additional_versions": "additional versions of the rubric {rubric:id}: {number:,}, first {version:id}",
    "other_version_of_rubric": (
        "judged by version {version} of the rubric {rubric:id}, but {installed:or} is installed"
    ),
    "systems_of_other_judges": "systems with other judges than {first:id}: {number:,}, first {run:id}",
    "different_banks": "queries whose nugget banks differ: {number:,}, first {query:id}",
    "fewer_queries_of_run": "systems judged on fewer queries: {number:,}, first {run:id}",
    "answers_without_reference": remarks.WORDS["answers_without_reference"],
    "unknown_aggregators": "nuggets that say NOT or SUM: {number:,}, first {nugget:id} of query {query:id}",
    "repeated_nuggets": "duplicate nuggets of a query: {number:,}, first {nugget:id} of query {query:id}",
    "nuggets_that_ask": "nuggets that are questions: {number:,}, first {nugget:id} of query {query:id}",
    "empty_nuggets": (
        "empty nuggets or lists: {number:,}, first ",
        Choice("nugget", {None: "'line {line}'"}, "{nugget:id} of query {query:id}"),
    ),
    "queries_without_vital": "queries without a vital nugget: {number:,}, first {query:id}",
    "answers_with_other_bank": (
        "answers with another nugget bank: {number:,}, first to query {query:id} (runs {first_run:id} and"
        " {run:id})"
    ),
    "failed_assignments": "queries with failed assignments: {number:,}, first {query:id}",
    "other_nuggets_in_file": "queries with other nuggets than {other:id}: {number:,}, first {query:id}",
    "repeated_rows": "duplicate rows: {number:,}, first '{query} {nugget} {document}'",
    "contradicting_grade": (
        "grade {grade} for document {document:id}, nugget {nugget:id} of query {query:id}, which has"
        " {first_grade} in line {first_line}"
    ),
    "one_nugget_everywhere": "one nugget per query everywhere: these are probably plain qrels",
    "negative_grades": "documents with a negative grade: {number:,}, first {document:id}",
    "queries_without_relevant_document": "queries without a relevant document: {number:,}, first {query:id}",
    "unsupported_nuggets": (
        "nuggets that no document supports: {number:,}, first {nugget:id} of query {query:id}"
    ),
}

_NOT_ASKED = "they count in every mean although no system was asked them"
_REFUSED = "nothing is scored: the file is refused"
_TIED = "the order of equal scores depends on the evaluator"
_BANKS = "nugget_recall uses different nuggets: these systems cannot be compared"
_FAILED = "they are missing: scoring needs --on-missing, and reports the possible range"

# The effect on measures, of the codes of which it is known.
EFFECTS: dict[str, Words] = {
    "other_kind": "nothing else was looked at",
    "rejected_line": ("nothing is scored: rageval rejects the file, and other tools read other columns"),
    "more_rejected_lines": "nothing is scored",
    "refused_file": _REFUSED,
    "unknown_file": "it is left out and not checked",
    "ids_with_space": (
        "rageval splits columns at tabs here; trec_eval and ir_measures split them at the space and so score"
        " other documents"
    ),
    "changed_file": "scores are not of the collection that the manifest describes",
    "unlocated_spans": (
        "a chunk with a part of one may or may not hold its nugget: measures are ranges, not numbers"
    ),
    "unstated_quantity": "the measure is undefined there, and budgets of it are errors",
    "queries_not_in_file": Choice(
        "other_kind",
        {"qrels": "these queries are left out of every mean"},
        Choice(
            "kind",
            {
                "run": "every measure ignores these queries",
                "qrels": _NOT_ASKED,
                "spans": _NOT_ASKED,
                "answers": "they have nothing to be judged against",
                "judgements": _NOT_ASKED,
                "assignments": _NOT_ASKED,
                "nuggets": "their nuggets are never looked for",
                "questions": "they are not compared with a rubric",
                "pool": "their judgements are not used",
            },
        ),
    ),
    "documents_not_in_file": "judges cannot see their text; ids must match exactly",
    "queries_not_in_run": "each measure is 0 there and counts in the mean (--intersection leaves them out)",
    "no_judged_document": "score rejects it (--nothing-judged zero scores it)",
    "unjudged_documents_in_top": (
        "unjudged documents count as not relevant; use --bounds to see the possible range"
    ),
    "nuggets_not_in_file": "coverage counts them in its denominator",
    "nuggets_without_judgement": "coverage ignores them and is too high",
    "documents_ranked_twice": (
        "rejected (--dedup first keeps the first); ir_measures and pyndeval count it twice: alpha_ndcg,"
        " recall and p are too high"
    ),
    "scattered_queries": "no effect here; ir_measures' alpha_ndcg reads only the last block of each",
    "additional_tags": "no effect; two runs may be in one file",
    "contradicted_ranks": (
        "the scores are used; if the ranks are right, every measure scores another ranking"
    ),
    "shallow_run": "recall and coverage @{cutoff} and beyond equal those @{depth}",
    "all_scores_equal": f"{_TIED}: every measure depends on it",
    "ties_across_cutoff": (
        "every measure @{cutoff} depends on tie-breaking; --ties expected gives the mean and range"
    ),
    "tied_queries": f"{_TIED}: alpha_ndcg, ndcg, ap and rr depend on it (--ties expected)",
    "second_answers": "refused",
    "lost_citations": "each such citation counts as no support in citation_precision and citation_recall",
    "empty_answers": "nugget_recall is 0 and crag_score `missing` there, and the queries count",
    "error_messages": "they are no answers of the system: of tables they count as missing",
    "failed_answers": "`rageval judge` writes failed judgements for them, and scores have bounds",
    "repeated_references": (
        "TREC's validators reject that; citations by position keep their meaning here (rageval validate"
        " --fix)"
    ),
    "no_citations": "citation_precision is undefined and citation_recall 0",
    "questions_without_gold_in_table": (
        "compare, gate and report leave them out, and judges reject them; give them with --questions FILE"
    ),
    "repeated_questions": "they count as repeats, and scores use their mean",
    "doubled_rows": "the answer counts once",
    "doubled_answers": "they count as missing; keep one row of each question",
    "answers_judged_twice": "refused",
    "failed_judgements": _FAILED,
    "nuggets_without_importance": (
        "for v_strict and w they are missing: scoring needs --on-missing, or nuggets with importance"
    ),
    "fewer_answers_of_run": "the answers that they lack are missing: scoring needs --on-missing",
    "additional_versions": "different prompts give different grades: do not average over both",
    "other_version_of_rubric": "new judgements are not comparable with these; frozen: does not find them",
    "systems_of_other_judges": "a difference between two systems may be one between their judges",
    "different_banks": _BANKS,
    "fewer_queries_of_run": (
        "queries that only other systems have are missing judgements: scoring needs --on-missing"
    ),
    "answers_without_reference": "scoring leaves them out, but judges see them",
    "unknown_aggregators": "scoring rejects these nuggets",
    "repeated_nuggets": "nugget_recall and coverage count its content twice",
    "nuggets_that_ask": "no answer can contain a question: nugget_recall is too low",
    "empty_nuggets": (
        "nugget_recall is undefined where there is no nugget, and meaningless where one says nothing"
    ),
    "queries_without_vital": "v_strict and v are undefined there, and their means are over fewer queries",
    "answers_with_other_bank": _BANKS,
    "failed_assignments": _FAILED,
    "other_nuggets_in_file": _BANKS,
    "repeated_rows": "no effect: equal rows count once",
    "contradicting_grade": (
        "rejected; in other tools the last row wins, so measures depend on the order of lines"
    ),
    "one_nugget_everywhere": (
        "coverage@k is success@k, and alpha_ndcg counts a document after the first as redundant"
    ),
    "negative_grades": "they count as judged and not relevant; ndeval rejects grades below -1",
    "queries_without_relevant_document": (
        "every measure is 0 there, and the query counts (--zero-rel skip leaves it out)"
    ),
    "unsupported_nuggets": (
        "coverage cannot reach 1 there (coverage(denominator=attainable) can); alpha_ndcg does not change"
    ),
}
