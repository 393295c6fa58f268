"""Recall@50 and nDCG@10 of a run in SQL: QRELS RUN THREADS."""

import sys

import duckdb

qrels_path, run_path, threads = sys.argv[1:]
READ = "read_csv('{}', delim=' ', header=false, quote='', columns={})"
RUN = "{query: 'VARCHAR', q0: 'VARCHAR', doc: 'VARCHAR', rank: 'BIGINT', score: 'DOUBLE', tag: 'VARCHAR'}"
QRELS = "{query: 'VARCHAR', q0: 'VARCHAR', doc: 'VARCHAR', grade: 'BIGINT'}"
BEST_FIRST = "row_number() OVER (PARTITION BY query ORDER BY {} DESC, doc DESC)"
SQL = f"""
WITH qrels AS (SELECT query, doc, grade FROM {READ.format(qrels_path, QRELS)}),
ranked AS (
    SELECT query, doc, {BEST_FIRST.format("score")} AS place
    FROM {READ.format(run_path, RUN)} QUALIFY place <= 50
),
ideal AS (
    SELECT query, sum(grade / log2(place + 1)) FILTER (place <= 10) AS dcg, count(*) AS relevant
    FROM (SELECT query, grade, {BEST_FIRST.format("grade")} AS place FROM qrels WHERE grade > 0)
    GROUP BY query
),
found AS (
    SELECT query, count(*) AS hits, sum(grade / log2(place + 1)) FILTER (place <= 10) AS dcg
    FROM ranked JOIN qrels USING (query, doc) WHERE grade > 0 GROUP BY query
)
SELECT avg(coalesce(hits, 0) / relevant), avg(coalesce(found.dcg, 0) / ideal.dcg)
FROM ideal LEFT JOIN found USING (query)
"""

connection = duckdb.connect()
connection.execute(f"SET threads = {int(threads)}")
row = connection.execute(SQL).fetchone()
for name, value in zip(("recall@50", "ndcg@10"), row or (), strict=True):
    print(f"{name}\t{value:.17f}")
