"""Recall@50 and nDCG@10 of a run in expressions of polars: QRELS RUN; POLARS_MAX_THREADS says on how many."""

import sys

import polars as pl

RUN = {
    "query": pl.String,
    "q0": pl.String,
    "doc": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "tag": pl.String,
}
QRELS = {"query": pl.String, "q0": pl.String, "doc": pl.String, "grade": pl.Int64}


def table(path: str, schema: dict) -> pl.LazyFrame:
    return pl.scan_csv(path, separator=" ", has_header=False, schema=schema, quote_char=None)


def place(column: str) -> pl.Expr:
    return pl.col(column).rank("ordinal", descending=True).over("query").alias("place")


def dcg(name: str) -> pl.Expr:
    gain = pl.col("grade") / (pl.col("place") + 1).log(2)
    return gain.filter(pl.col("place") <= 10).sum().alias(name)


qrels_path, run_path = sys.argv[1:]
qrels = table(qrels_path, QRELS).filter(pl.col("grade") > 0).select("query", "doc", "grade")
ideal = qrels.with_columns(place("grade")).group_by("query").agg(dcg("ideal"), pl.len().alias("relevant"))
ranked = table(run_path, RUN).select("query", "doc", place("score")).filter(pl.col("place") <= 50)
scores = ranked.join(qrels, on=["query", "doc"]).group_by("query").agg(dcg("dcg"), pl.len().alias("hits"))
values = ideal.join(scores, on="query", how="left").select(
    (pl.col("hits").fill_null(0) / pl.col("relevant")).mean().alias("recall@50"),
    (pl.col("dcg").fill_null(0) / pl.col("ideal")).mean().alias("ndcg@10"),
)
for name, value in values.collect(engine="streaming").row(0, named=True).items():
    print(f"{name}\t{value:.17f}")
