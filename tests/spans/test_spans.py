"""Gold at spans of sources gives the same judgements whatever the chunks, or says that it cannot."""

from __future__ import annotations

import json
import random
import re
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import rageval
from commands import run_command
from rageval.errors import InputError, MissingJudgements, UsageError
from rageval.files.spans import read_spans
from rageval.records import Span
from rageval.scoring.qrels import Qrels
from rageval.spans import anchor, project
from rageval.spans.projection import SpanQrels
from rageval.spans.quotes import SourceText
from rageval.spans.sources import digest
from speech import CUTS, DOC, GOLDEN, SPANS, TEXT, bm25, brute, cut, write

Judged = dict[str, dict[str, set[str]]]


def chunks_by_nugget(qrels: Qrels) -> Judged:
    """The chunks that hold each nugget; nothing for those that none does."""
    nuggets: Judged = {query: {nugget: set() for nugget in qrels.nuggets(query)} for query in qrels.query_ids}
    for row in qrels:
        if row.relevance > 0:
            nuggets[row.query_id][row.iteration].add(row.doc_id)
    return nuggets


@pytest.mark.some(3)
@pytest.mark.parametrize(("size", "overlap"), CUTS)
def test_derived_judgements_are_those_of_brute_force_and_give_the_known_numbers(
    size: int, overlap: int, tmp_path: Path
) -> None:
    chunks = cut(size, overlap)
    qrels = project(*write(tmp_path, chunks))
    assert chunks_by_nugget(qrels) == brute(chunks)
    value = rageval.evaluate("alpha_ndcg@10", bm25(size, overlap), qrels)["alpha_ndcg@10"].value
    assert round(value, 4) == CUTS[size, overlap]
    assert chunks_by_nugget(project(*write(tmp_path, chunks, as_texts=True))) == brute(chunks)


def test_shuffled_ids_and_lines_of_chunks_change_nothing(tmp_path: Path) -> None:
    chunks = cut(512, 128)
    names = random.Random(1).sample(list(chunks), len(chunks))
    renamed = dict(zip(names, chunks.values(), strict=True))
    mixed = dict(sorted(renamed.items()))
    back = dict(zip(names, chunks, strict=True))
    for as_texts in (False, True):
        documents = chunks_by_nugget(project(*write(tmp_path, mixed, as_texts=as_texts)))
        undone = {q: {n: {back[c] for c in some} for n, some in ns.items()} for q, ns in documents.items()}
        assert undone == brute(chunks)


@pytest.mark.slow
@pytest.mark.some(3)
@pytest.mark.parametrize(("rule", "share"), [("whole", 1.0), ("share>=0.9", 0.9), ("any", 1e-9)])
def test_the_overlap_rule_is_applied_and_nuggets_that_no_chunk_holds_stay(
    rule: str, share: float, tmp_path: Path
) -> None:
    chunks = cut(64)
    qrels = project(*write(tmp_path, chunks), overlap=rule)
    assert chunks_by_nugget(qrels) == brute(chunks, share)
    assert sum(map(len, chunks_by_nugget(qrels).values())) == 95  # listed, also those that are cut
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        score = rageval.evaluate("coverage", bm25(64), qrels)["coverage"]
    assert f"|overlap:{rule}|chunks:" in score.signature
    lost = [(q, n) for q, ns in brute(chunks, share).items() for n, some in ns.items() if not some]
    assert isinstance(qrels, SpanQrels)
    assert qrels.projected.unheld == lost
    assert bool(lost) == (share > 0.5) == bool(caught)
    if rule == "whole":  # the rows of 0 make the difference: without them small chunks look better
        present = {
            q: {n: dict.fromkeys(s, 1) for n, s in ns.items() if s}
            for q, ns in chunks_by_nugget(qrels).items()
        }
        without = rageval.evaluate("coverage", bm25(64), {q: ns for q, ns in present.items() if ns})
        assert without["coverage"].value > score.value + 0.05


def test_the_command_scores_spans_as_it_scores_what_project_writes(tmp_path: Path) -> None:
    spans, chunks, docs = write(tmp_path, cut(64))
    lines = [f"{q} Q0 {c} 1 {s!r} r" for q, ranking in bm25(64).items() for c, s in ranking.items()]
    (tmp_path / "run").write_text("\n".join(lines))
    given = ("--chunks", chunks, "--sources", docs, "--overlap", "whole")
    result = run_command("spans", "project", spans, *given, "-o", str(tmp_path / "qrels"))
    assert result.exit_code == 0
    assert re.search(r"no chunk holds \d+ of 95 nuggets by whole; they count as not found", result.output)
    asked = ("-m", "official:freshstack", "-m", "ndcg@5", "-q")
    one = run_command(str(tmp_path / "run"), spans, *given, *asked)
    other = run_command(str(tmp_path / "run"), str(tmp_path / "qrels"), *asked)
    assert (one.exit_code, one.stdout) == (0, other.stdout)
    both = run_command(
        "compare", str(tmp_path / "run"), str(tmp_path / "run"), spans, *given, "-m", "ap", "--names", "x=y"
    )
    assert both.exit_code == 2  # a name of no file
    both = run_command("compare", str(tmp_path / "run"), str(tmp_path / "qrels"), spans, *given, "-m", "ap")
    assert both.exit_code == 2


def test_a_run_over_other_chunks_is_refused_and_so_are_spans_without_chunks(tmp_path: Path) -> None:
    spans, chunks, docs = write(tmp_path, cut(256))
    old = {
        q: {f"old{c}" if int(c[1:]) > 3 else c: s for c, s in ranking.items()}
        for q, ranking in bm25(256).items()
    }
    with pytest.raises(InputError, match=r"30 of the 34 chunks it retrieved are not in .*another chunking"):
        rageval.evaluate("ap", old, project(spans, chunks, docs))
    with pytest.raises(InputError, match=r"holds spans of sources.*rageval\.spans\.project"):
        rageval.evaluate("ap", old, spans)
    with pytest.raises(rageval.MeasureError, match="gold spans"):
        rageval.evaluate("span_recall@5", {"q": {"a": 1.0}}, {"q": {"a": 1}})
    (tmp_path / "run").write_text("0 Q0 c1 1 1.0 r")
    (tmp_path / "qrels").write_text("0 0 c1 1\n0 0 gone 1")
    result = run_command(tmp_path / "run", spans, "-m", "ap")
    assert (result.exit_code, "--chunks FILE and --sources DIR" in result.stderr) == (2, True)
    result = run_command(tmp_path / "run", tmp_path / "qrels", "-m", "ap", "--chunks", chunks)
    assert (result.exit_code, "1 of 2 judged ids are in no chunk, such as 'gone'" in result.stderr) == (
        2,
        True,
    )


@pytest.mark.slow
def test_a_gate_holds_a_new_chunking_against_a_baseline_on_the_old_one(tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.jsonl"
    for size, more in (
        (256, ("--save-baseline", baseline)),
        (512, ("--baseline", baseline, "--margin", "0.05")),
    ):
        spans, chunks, docs = write(tmp_path, cut(size))
        lines = [f"{q} Q0 {c} 1 {s!r} r" for q, ranking in bm25(size).items() for c, s in ranking.items()]
        (tmp_path / "run").write_text("\n".join(lines))
        given = (tmp_path / "run", spans, "--chunks", chunks, "--sources", docs, "-m", "alpha_ndcg@10", *more)
        result = run_command("gate", *given)
        assert result.exit_code == 0, result.output
    assert run_command("gate", *given, "--overlap", "whole").exit_code == 2  # another gold
    other = [span._replace(nugget_id=f"n{span.nugget_id}") for span in SPANS]
    write(tmp_path, cut(512), other)
    assert "scored by other rules" in run_command("gate", *given).stderr


def without_some_words(text: str, share: float, rng: random.Random) -> str:
    return " ".join(word for word in text.split() if rng.random() >= share)


def judged(folder: Path, quoted: Callable[[str], str], size: int = 512) -> tuple[str, ...]:
    """Write judgements of chunks, with the words that decided them, as a judge leaves them."""
    old = cut(size)
    write(folder, old)
    (folder / "chunks.jsonl").rename(folder / "old.jsonl")
    rows, judged_rows = [], []
    for span in SPANS:
        for name in brute(old)[span.query_id][span.nugget_id]:
            rows.append(f"{span.query_id} {span.nugget_id} {name} 1")
            place = {
                "query_id": span.query_id,
                "aspect": span.nugget_id,
                "item_id": name,
                "run_id": "documents",
            }
            judged_rows.append({**place, "grade": 1.0, "evidence": quoted(span.quote)})
    rows.append("0 nowhere c0 0")  # judged, and held by nothing
    (folder / "qrels").write_text("\n".join(rows))
    (folder / "judged.jsonl").write_text("\n".join(map(json.dumps, judged_rows)))
    return tuple(str(folder / name) for name in ("qrels", "old.jsonl", "docs"))


@pytest.mark.slow
def test_quotes_as_they_are_anchor_the_spans_themselves(tmp_path: Path) -> None:
    anchored = anchor(*judged(tmp_path, str), quotes=tmp_path / "judged.jsonl")
    assert {(s.query_id, s.nugget_id): (s.start, s.end) for s in anchored.spans if s.doc_id} == {
        (s.query_id, s.nugget_id): (s.start, s.end) for s in SPANS
    }
    assert Span("0", "nowhere", grade=0) in anchored.spans
    reread = read_spans(anchored.save(tmp_path / "again.jsonl"))
    assert (reread.spans, reread.sources) == (anchored.spans, {DOC: digest(TEXT)})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*no chunk holds")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_quotes_with_a_tenth_of_their_words_lost_change_little(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    anchored = anchor(
        *judged(tmp_path, lambda text: without_some_words(text, 0.1, rng)),
        quotes=tmp_path / "judged.jsonl",
        unanchored="drop",
    )
    spans = anchored.save(tmp_path / "anchored.jsonl")
    assert len(anchored.lost) <= 2
    for size, overlap in CUTS:
        _, chunks, docs = write(tmp_path, cut(size, overlap))
        scores = rageval.evaluate(
            "alpha_ndcg@10, recall@50", bm25(size, overlap), project(spans, chunks, docs)
        )
        truth = rageval.evaluate(
            "alpha_ndcg@10, recall@50",
            bm25(size, overlap),
            project(tmp_path / "spans.jsonl", chunks, docs),
        )
        for one, other in zip(scores.values(), truth.values(), strict=True):
            assert abs(one.value - other.value) <= 0.01


def letters_before(text: str, index: int) -> int:
    return sum(not letter.isspace() for letter in text[:index])


def reflowed() -> str:
    """The speech at 80 columns, with straight quotes."""
    straight = TEXT.translate(str.maketrans("“”‘’", "\"\"''"))
    wrapped = (textwrap.fill(part, 80, break_on_hyphens=False) for part in re.split(r"\n\s*\n", straight))
    return "\r\n\r\n".join(part.replace("\n", "\r\n") for part in wrapped)


@pytest.mark.slow
def test_spans_are_found_again_in_a_source_that_was_re_flowed(tmp_path: Path) -> None:
    new = reflowed()
    spans, _, docs = write(tmp_path, cut(256), text=new)
    (tmp_path / "one.jsonl").write_text(json.dumps({"id": "all", "doc_id": DOC, "start": 0, "end": len(new)}))
    qrels = project(spans, tmp_path / "one.jsonl", docs)
    assert isinstance(qrels, SpanQrels)
    assert (qrels.projected.moved, list(qrels.projected.stale)) == (95, [])
    for old, span in zip(SPANS, qrels.projected.spans, strict=True):
        assert letters_before(new, span.start) == letters_before(TEXT, old.start)
        assert letters_before(new, span.end) == letters_before(TEXT, old.end)
        assert (span.sha256, new[span.start : span.end]) == (digest(span.quote), span.quote)
    with pytest.warns(UserWarning, match="95 spans were found again by their quotes"):
        assert "|gold:spans@" in rageval.evaluate("rr", {"0": {"all": 1.0}}, qrels)["rr"].signature


@pytest.mark.slow
def test_only_spans_at_another_place_count_as_moved(tmp_path: Path) -> None:
    """A source that grew at its end holds all spans where they were, with and without their quotes."""
    without_quotes = [span._replace(quote="", sha256=digest(span.quote)) for span in SPANS]
    for before, moved in (("", 0), ("A new line.\n", 95)):
        text = f"{before}{TEXT}\nThe end."
        projected = project(*write(tmp_path, cut(256), text=text))
        assert isinstance(projected, SpanQrels)
        assert projected.projected.moved == moved
    spans, chunks, docs = write(tmp_path, cut(256), without_quotes, f"{TEXT}\nThe end.")
    qrels = project(spans, chunks, docs)
    assert isinstance(qrels, SpanQrels)
    assert (qrels.projected.moved, list(qrels.projected.stale)) == (0, [])
    assert "moved_spans" not in {remark.code for remark in qrels.projected.remarks()}


def test_copies_of_a_span_without_its_quote_are_looked_for_in_the_changed_source(tmp_path: Path) -> None:
    span = SPANS[0]
    quote = TEXT[span.start : span.end]
    marked = span._replace(quote="", sha256=digest(quote), also=((len(TEXT) - 5, len(TEXT)),))
    text = f"{TEXT[:-10]}\n{quote}"
    qrels = project(*write(tmp_path, cut(256), [marked], text))
    assert isinstance(qrels, SpanQrels)
    (current,) = qrels.projected.spans
    assert (current.start, current.quote) == (span.start, "")
    assert current.also == ((len(text) - len(quote), len(text)),)


@pytest.mark.slow
def test_a_span_that_was_cut_out_is_stale_and_no_other(tmp_path: Path) -> None:
    separate = [span for span in SPANS if not any(overlap(span, other) for other in SPANS if other != span)]
    for removed in separate[::5]:
        left = TEXT[: removed.start] + TEXT[removed.end :]
        spans, chunks, docs = write(tmp_path, {"c": (0, len(left))}, text=left)
        result = run_command(
            "spans", "project", spans, "--chunks", chunks, "--sources", docs, "-o", tmp_path / "q"
        )
        assert (result.exit_code, (tmp_path / "q").exists()) == (2, False)
        assert f"1 of 95 spans are stale (not found in their sources): {removed.query_id}/" in result.stderr
        qrels = project(spans, chunks, docs, stale="drop")
        assert isinstance(qrels, SpanQrels)
        assert [(s.query_id, s.nugget_id) for s in qrels.projected.stale] == [
            (removed.query_id, removed.nugget_id)
        ]
        assert qrels.projected.signature["stale"] == "1-dropped"
        assert removed.nugget_id not in qrels.nuggets(removed.query_id)
    (tmp_path / "docs" / f"{DOC}.md").rename(tmp_path / "docs" / "other.md")
    result = run_command(
        "spans", "project", spans, "--chunks", chunks, "--sources", docs, "-o", tmp_path / "q"
    )
    assert (result.exit_code, "95 of 95 spans are stale" in result.stderr) == (2, True)


def overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


@pytest.mark.slow
def test_a_quote_that_stands_nowhere_ends_with_3_and_writes_nothing(tmp_path: Path) -> None:
    odd = SPANS[5].quote
    assert [span.quote for span in SPANS].count(odd) == 1
    lost = (SPANS[5].query_id, SPANS[5].nugget_id)

    def quoted(text: str) -> str:
        return "words that nobody said on that evening" if text == odd else text

    qrels, old, docs = judged(tmp_path, quoted)
    given = ("--chunks", old, "--sources", docs, "--quotes", tmp_path / "judged.jsonl", "-o", tmp_path / "s")
    result = run_command("spans", "anchor", qrels, *given)
    assert (result.exit_code, (tmp_path / "s").exists()) == (3, False)
    assert f"1 quotes were not found in their chunks: {'/'.join(lost)} in c" in result.stderr
    result = run_command("spans", "anchor", qrels, *given, "--unanchored", "drop")
    assert (result.exit_code, "left out" in result.stderr) == (0, True)
    assert {(s.query_id, s.nugget_id) for s in read_spans(tmp_path / "s").spans} == {
        *((s.query_id, s.nugget_id) for s in SPANS if (s.query_id, s.nugget_id) != lost),
        ("0", "nowhere"),
    }
    with pytest.raises(MissingJudgements):
        anchor(qrels, old, docs, quotes=tmp_path / "judged.jsonl")
    (tmp_path / "qrels").write_text("0 0 c0 1\n0 0 C1 1\n1 0 gone 1")
    result = run_command("spans", "anchor", qrels, *given)
    assert (result.exit_code, "2 of 3 judged ids are in no chunk" in result.stderr) == (2, True)


@pytest.mark.slow
def test_whole_chunks_as_spans_project_upwards_only_and_else_are_ranges(tmp_path: Path) -> None:
    qrels, old, docs = judged(tmp_path, str)
    spans = anchor(qrels, old, docs).save(tmp_path / "wide.jsonl")
    assert all(span.wide for span in read_spans(spans).spans if span.doc_id)
    _, large, _ = write(tmp_path, cut(1024))
    truth = project(tmp_path / "spans.jsonl", large, docs)
    up = project(spans, large, docs)
    del (up_documents := chunks_by_nugget(up))["0"]["nowhere"]
    assert up_documents == chunks_by_nugget(truth)
    _, small, _ = write(tmp_path, cut(256))
    down = project(spans, small, docs)
    assert isinstance(down, SpanQrels)
    assert down.projected.open_pairs > 95
    measures = "alpha_ndcg@10, coverage@5, recall@3, rr, ap, p@2"
    with pytest.raises(InputError, match=r"pairs of a nugget and a chunk are undecided .* use --bounds"):
        rageval.evaluate(measures, bm25(256), down)
    result = run_command(
        "spans", "project", spans, "--chunks", small, "--sources", docs, "-o", tmp_path / "q"
    )
    assert (result.exit_code, "undecided" in result.stderr) == (2, True)
    exact = project(tmp_path / "spans.jsonl", small, docs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranges = rageval.evaluate(measures, bm25(256), down, bounds=True)
    scores = rageval.evaluate(measures, bm25(256), exact)
    for score in ranges.values():
        assert score.value != score.value  # a range, and no point
        assert score.bounds is not None
        low, high = score.bounds
        if "coverage" not in str(score.measure):  # `nowhere` is one nugget more there
            assert low <= scores[str(score.measure)].value <= high
        assert low < high
    lines = [
        f"{q} Q0 {c} 1 {s!r} r" for q, up_documents in bm25(256).items() for c, s in up_documents.items()
    ]
    (tmp_path / "run").write_text("\n".join(lines))
    result = run_command(
        tmp_path / "run", spans, "--chunks", small, "--sources", docs, "-m", "coverage@5", "--bounds"
    )
    low, high = ranges["coverage@5"].bounds or (0.0, 0.0)
    assert (result.exit_code, result.stdout.split()) == (0, ["coverage@5", "all", "nan"])
    assert (
        f"coverage@5: from {low:.4f} to {high:.4f} for any content of the undecided chunks" in result.stderr
    )


def test_measures_of_characters_count_each_once(tmp_path: Path) -> None:
    chunks = cut(512, 128)
    qrels = project(*write(tmp_path, chunks))
    everything = {span.query_id: dict.fromkeys(chunks, 1.0) for span in SPANS}
    scores = rageval.evaluate("span_recall, span_precision, span_iou", everything, qrels)
    gold = {q: union(s for s in SPANS if s.query_id == q) for q in qrels.query_ids}
    retrieved = chunks["c0"][0], max(end for _, end in chunks.values())
    for query, characters in gold.items():
        share = characters / (retrieved[1] - retrieved[0])
        assert scores["span_recall"].by_query[query] == 1.0
        assert scores["span_precision"].by_query[query] == pytest.approx(share, abs=1e-12)
        assert scores["span_iou"].by_query[query] == pytest.approx(share, abs=1e-12)
    top = rageval.evaluate("span_recall@1, span_iou@1, span_precision@1", bm25(512, 128), qrels)
    for query, ranking in bm25(512, 128).items():
        (start, end) = chunks[max(sorted(ranking, reverse=True), key=ranking.__getitem__)]
        both = union(
            s._replace(start=max(start, s.start), end=min(end, s.end))
            for s in SPANS
            if s.query_id == query and s.start < end and start < s.end
        )
        assert top["span_recall@1"].by_query[query] == pytest.approx(both / gold[query], abs=1e-12)
        assert top["span_precision@1"].by_query[query] == pytest.approx(both / (end - start), abs=1e-12)
        either = end - start + gold[query] - both
        assert top["span_iou@1"].by_query[query] == pytest.approx(both / either, abs=1e-12)


def union(spans: object) -> int:
    return len({letter for span in spans for letter in range(span.start, span.end)})  # type: ignore[attr-defined]


def test_a_span_counts_wherever_its_text_stands_and_a_chunk_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    text = "One fact of ours. And more. Then again one fact of ours. And more.\n"
    (tmp_path / "docs" / "a.txt").write_text(text)
    where = text.index("One"), text.index(" And")
    gold = {"query_id": "q", "nugget_id": "n", "doc_id": "a", "start": where[0], "end": where[1]}
    (tmp_path / "old.jsonl").write_text(json.dumps({"id": "o", "doc_id": "a", "start": 0, "end": 27}))
    judgement = {"query_id": "q", "aspect": "n", "item_id": "o", "evidence": "One fact of ours.", "grade": 1}
    (tmp_path / "judged").write_text(json.dumps(judgement))
    anchored = anchor(
        {"q": {"n": {"o": 1}}}, tmp_path / "old.jsonl", tmp_path / "docs", quotes=tmp_path / "judged"
    )
    start = text.index("one fact")
    assert anchored.spans == [
        Span(**gold, quote="One fact of ours.", sha256=digest(text[:17]), also=((start, start + 17),))
    ]
    pieces = ["One fact of ours.", " And more.", "Then again one fact of ours.", " And more."]
    lines = [json.dumps({"id": f"c{n}", "doc_id": "a", "text": piece}) for n, piece in enumerate(pieces)]
    (tmp_path / "new.jsonl").write_text("\n".join(lines))
    qrels = project(anchored.save(tmp_path / "s"), tmp_path / "new.jsonl", tmp_path / "docs")
    assert chunks_by_nugget(qrels) == {"q": {"n": {"c0", "c2"}}}
    assert isinstance(qrels, SpanQrels)
    places = {name: qrels.projected.chunks.located(name).places for name in ("c1", "c3")}
    assert places == {"c1": ((18, 27),), "c3": ((57, 66),)}  # not both at the first
    scores = rageval.evaluate("span_recall, span_precision", {"q": {"c2": 1.0}}, qrels)
    assert [score.value for score in scores.values()] == [1.0, 17 / 28]


def test_spans_come_from_offsets_then_quotes_then_the_texts_of_nuggets(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    text = "Tea costs two euros. Coffee, which is roasted here, costs three euros.\n"
    (tmp_path / "docs" / "menu.txt").write_text(text)
    (tmp_path / "old").write_text(json.dumps({"id": "c", "doc_id": "menu", "start": 0, "end": len(text)}))
    judgements = [
        {"aspect": "offsets", "start": 4, "end": 19, "evidence": "Coffee"},
        {"aspect": "left out", "evidence": "Coffee ... costs three euros"},
        {"aspect": "failed", "evidence": "Tea costs", "status": "error"},
        {"aspect": "text"},
    ]
    lines = [json.dumps({"query_id": "q", "item_id": "c", **row}) for row in judgements]
    (tmp_path / "judged").write_text("\n".join(lines))
    bank = [
        {"text": "Tea costs two Euros", "nugget_id": "text"},
        {"text": "Milk is free", "nugget_id": "failed"},
    ]
    (tmp_path / "bank").write_text(json.dumps({"qid": "q", "query": "", "nuggets": bank}))
    qrels = {"q": {str(row["aspect"]): {"c": 1} for row in judgements}}
    anchored = anchor(
        qrels, tmp_path / "old", tmp_path / "docs", quotes=tmp_path / "judged", nuggets=tmp_path / "bank"
    )
    quoted = {span.nugget_id: (span.quote, span.wide) for span in anchored.spans}
    assert quoted == {
        "offsets": ("costs two euros", False),
        "left out": ("Coffee, which is roasted here, costs three euros", False),
        "failed": (text, True),
        "text": ("Tea costs two euros", False),
    }
    graded = anchor(
        {"q": {"offsets": {"c": 3}, "text": {"c": 2}}},
        *(tmp_path / name for name in ("old", "docs")),
        quotes=tmp_path / "judged",
        rel=3,
    )
    assert [(span.nugget_id, span.grade, bool(span.doc_id)) for span in graded.spans] == [
        ("offsets", 3, True),
        ("text", 0, False),  # listed, and nowhere
    ]
    assert (anchored.by_offsets, anchored.by_quote, anchored.by_nugget, anchored.wide) == (1, 1, 1, 1)
    result = run_command("doctor", anchored.save(tmp_path / "spans"), tmp_path / "old")
    assert "wide spans: 1, first 'failed' of query 'q'" in result.stdout
    (tmp_path / "judged").write_text(
        json.dumps({"query_id": "q", "item_id": "c", "aspect": "text", "start": 9})
    )
    with pytest.raises(InputError, match="judged:1: expected both start and end"):
        anchor(qrels, tmp_path / "old", tmp_path / "docs", quotes=tmp_path / "judged")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"spans":2,"sources":{}}', "expected a header {spans: 1, sources"),
        ('{"query_id":"q","nugget_id":"n","doc_id":"d","start":3,"end":3,"quote":"x"}', "found 3 to 3"),
        ('{"query_id":"q","nugget_id":"n","doc_id":"d","start":-1,"end":3,"quote":"x"}', ">= 0"),
        ('{"query_id":"q","nugget_id":"n","doc_id":"d","start":1,"end":3}', "expected the quote"),
        ('{"query_id":"q","nugget_id":"n","doc_id":"d","quote":"x"}', "all of doc_id, start and end"),
        ('{"query_id":" q","nugget_id":"n"}', "without blanks around it"),
        (
            '{"query_id":"q","nugget_id":"n"}\n{"query_id":"q","nugget_id":"n"}',
            ":2: a second span of nugget n",
        ),
        ('{"query_id":"q","nugget_id":"n","query_id":"r"}', "appears twice"),
        ("[" * 100_000, "expected a span"),
        ('{"tests":' + "[" * 100_000, "nested too deeply"),
        (
            '{"tests":[{"query":"a","snippets":[{"file_path":"x","span":[4,2],"answer":"b"}]}]}',
            "found 4 to 2",
        ),
    ],
)
def test_bad_spans_are_refused_with_their_line(lines: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "spans").write_text(lines)
    with pytest.raises(InputError, match=re.escape(message)) as refused:
        read_spans(tmp_path / "spans")
    assert str(refused.value).startswith(str(tmp_path / "spans"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"id": "c"}, "expected a chunk {id, doc_id, start, end}"),
        ({"id": "c", "doc_id": DOC, "start": 1}, "both start and end"),
        ({"id": "c", "doc_id": DOC, "text": " "}, "expected start and end, or a text"),
        ({"id": "c", "doc_id": DOC, "start": 0, "end": 10**6}, "1 of 1 chunks .*ends at 1,000,000"),
        ({"id": "c", "doc_id": DOC, "start": 0, "end": len(TEXT.encode())}, "are its offsets bytes?"),
        ({"id": "c", "doc_id": DOC, "start": 5, "end": 9, "text": "Good"}, "stands 'eve'|at 5 stands"),
        ({"id": "c", "doc_id": DOC, "text": "What nobody said at all there"}, "1 of 1 chunks"),
        ({"id": "c", "doc_id": "other", "start": 0, "end": 10}, "none of its 1 chunks is of a source"),
    ],
)
def test_chunks_that_do_not_fit_their_sources_are_refused(
    line: dict[str, object], message: str, tmp_path: Path
) -> None:
    spans, chunks, docs = write(tmp_path, cut(256))
    Path(chunks).write_text(json.dumps(line))
    with pytest.raises(InputError, match=message.replace("{", r"\{").replace("}", r"\}")):
        project(spans, chunks, docs)


def test_sources_are_found_by_name_and_read_as_they_are(tmp_path: Path) -> None:
    place = tmp_path / "docs"
    (place / "deep").mkdir(parents=True)
    (place / "deep" / "a.txt").write_bytes(b"\xef\xbb\xbf" + "Zwölf\r\nBäume 😀 da".encode())
    (place / "b.md").write_bytes(b"x")
    (place / "b.txt").write_bytes(b"x")
    (place / "c.txt").write_bytes(b"\xff\xfe")
    gold = {"query_id": "q", "nugget_id": "n", "start": 7, "end": 12, "quote": "Bäume"}
    (tmp_path / "chunk").write_text('{"id":"c","doc_id":"deep/a","start":0,"end":17}')
    for doc, why in (("deep/a", ""), ("deep/a.txt", "none of its 1 chunks"), ("../b", "stale")):
        (tmp_path / "s").write_text(json.dumps({**gold, "doc_id": doc}))
        if why:
            with pytest.raises(InputError, match=why):
                project(tmp_path / "s", tmp_path / "chunk", place)
        else:
            assert chunks_by_nugget(project(tmp_path / "s", tmp_path / "chunk", place)) == {"q": {"n": {"c"}}}
    for doc, why in (("b", r"found b\.md and b\.txt"), ("c", "byte 1 is 0xff, which is not UTF-8")):
        (tmp_path / "s").write_text(json.dumps({**gold, "doc_id": doc}))
        with pytest.raises(InputError, match=why):
            project(tmp_path / "s", tmp_path / "chunk", place)
    (tmp_path / "corpus").write_text(json.dumps({"id": "deep/a", "text": "Zwölf\r\nBäume 😀 da"}))
    (tmp_path / "s").write_text(json.dumps({**gold, "doc_id": "deep/a"}))
    assert chunks_by_nugget(project(tmp_path / "s", tmp_path / "chunk", tmp_path / "corpus")) == {
        "q": {"n": {"c"}}
    }
    with pytest.raises(UsageError, match=r"share>=0\.5"):
        project(tmp_path / "s", tmp_path / "chunk", tmp_path / "corpus", overlap="share>=0")


def test_dicts_and_frames_are_taken_as_files_are() -> None:
    pandas = pytest.importorskip("pandas")
    sources = {"menu": "Tea costs two euros. Coffee costs three."}
    chunks = [
        {"id": "c0", "doc_id": "menu", "start": 0, "end": 20},
        {"id": "c1", "doc_id": "menu", "text": "Coffee costs three."},
    ]
    quotes = [{"query_id": "q", "item_id": "c1", "aspect": "n", "evidence": "coffee costs"}]
    anchored = anchor({"q": {"n": {"c1": 1}}}, chunks, sources, quotes=quotes)
    spans = [span._asdict() for span in anchored.spans]
    for given in (spans, pandas.DataFrame(spans)):
        assert chunks_by_nugget(project(given, chunks, sources)) == {"q": {"n": {"c1"}}}
    with pytest.raises(InputError, match="spans:1: expected"):
        project([{"query_id": "q"}], chunks, sources)


def test_benchmarks_of_legalbench_rag_are_read() -> None:
    assert read_spans(GOLDEN / "legalbench-rag.json").spans == [
        Span(
            "0", "0", "contractnli/acme.txt", 1204, 1390, "The Receiving Party may retain one archival copy …"
        )
    ]


QUOTES = [span.quote for span in SPANS if len(span.quote.split()) > 6]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "most_lost"),
    [
        (lambda text, rng: re.sub(r" ", lambda _: rng.choice(["  ", "\n", "\r\n\t"]), text), 0),
        (lambda text, rng: text.upper().replace("’", "'"), 0),
        (lambda text, rng: "".join(rng.choice("xyz") if rng.random() < 0.02 else c for c in text), 3),
        (lambda text, rng: without_some_words(text, 0.1, rng), 2),
    ],
    ids=["blanks", "capitals", "letters", "words"],
)
def test_a_quote_is_found_where_it_stands_or_not_at_all(
    changed: Callable[[str, random.Random], str], most_lost: int
) -> None:
    text, rng = SourceText(TEXT), random.Random(7)
    lost = 0
    for span in (span for span in SPANS if span.quote in QUOTES):
        places = text.places(changed(span.quote, rng))
        lost += not places
        for place in places:  # nothing is found anywhere else
            assert max(place.start, span.start) < min(place.end, span.end)
            assert abs(place.start - span.start) + abs(place.end - span.end) < 0.5 * len(span.quote)
    assert lost <= most_lost


def test_a_quote_of_another_text_is_not_found() -> None:
    other = SourceText((GOLDEN / "README.md").read_text("utf-8"))
    assert [quote for quote in QUOTES if other.places(quote)] == []


@pytest.mark.slow
def test_long_texts_are_aligned_by_runs_of_words() -> None:
    start, end = list(cut(512).values())[3]
    header = "Title of it all\n\n" + TEXT[start:end].replace("the", "teh", 9)
    (place,) = SourceText(TEXT).places(header)
    assert abs(place.start - start) < 30
    assert abs(place.end - end) < 30
    assert place.score > 0.9


@pytest.mark.filterwarnings("ignore:.*undecided", "ignore:.*no chunk holds")
@pytest.mark.slow
def test_ranges_of_wide_spans_hold_whatever_the_undecided_chunks_hold(tmp_path: Path) -> None:
    rng, tried = random.Random(5), 0
    measures = "alpha_ndcg@2, alpha_dcg@3, coverage@2, strec@1, recall@2, ap, rr, p@2, success@1, all_gold@3"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("0123456789abcdef")
    cuts = [{"id": f"c{index}", "doc_id": "a", "start": index, "end": index + 4} for index in range(0, 16, 4)]
    (tmp_path / "chunks").write_text("\n".join(map(json.dumps, cuts)))
    while tried < 25:
        spans = []
        for nugget in range(rng.randint(1, 3)):
            start = rng.randrange(0, 14)
            end = rng.randint(start + 1, min(start + 9, 16))
            place = {"doc_id": "a", "start": start, "end": end, "quote": "0123456789abcdef"[start:end]}
            spans.append({"query_id": "q", "nugget_id": str(nugget), **place, "wide": rng.random() < 0.7})
        (tmp_path / "spans").write_text("\n".join(map(json.dumps, spans)))
        gold = project(tmp_path / "spans", tmp_path / "chunks", tmp_path / "docs")
        assert isinstance(gold, SpanQrels)
        open_ = [
            (n, c) for c, nuggets in gold.projected.undecided.get("q", {}).items() for n in sorted(nuggets)
        ]
        if not 0 < len(open_) <= 6:
            continue
        tried += 1
        run_ = {"q": {c: float(-index) for index, c in enumerate(rng.sample(["c0", "c4", "c8", "c12"], 3))}}
        ranges = rageval.evaluate(measures, run_, gold, bounds=True)
        for choice in range(2 ** len(open_)):
            held_now = {n: {c: g for c, g in ds.items() if g} for n, ds in gold.projected.grades["q"].items()}
            for bit, (nugget, chunk) in enumerate(open_):
                if choice >> bit & 1:
                    held_now[nugget][chunk] = 1
            values = rageval.evaluate(measures, run_, {"q": held_now}, nothing_judged="zero")
            for score in ranges.values():
                low, high = score.bounds or (1.0, 0.0)
                assert low - 1e-12 <= values[str(score.measure)].value <= high + 1e-12, (spans, run_, open_)


def test_long_texts_are_found_where_a_walk_finds_them() -> None:
    rng = random.Random(7)
    for letters in ("a", "ab ", "abcdefghij   "):
        text = "".join(rng.choices(letters, k=6000))
        text = text[:5000] + text[100:300] + text[150:1000]
        for _ in range(20):
            start, size = rng.randrange(5800), rng.randrange(40, 180)
            quote = text[start : start + size].strip()
            walked, begin = [], text.find(quote, 7, 5900)
            while begin >= 0:
                walked.append(begin)
                begin = text.find(quote, begin + len(quote), 5900)
            assert [place.start for place in SourceText(text).places(quote, 7, 5900)] == walked or not walked
