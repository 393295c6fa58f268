"""Files that a user can name: a module a kind, which reads them, checks them on the way, and writes some.

Runs and judgements of documents: `trec` (text), `columnar` (Parquet), `retrieved` (JSON), `umbrela`. Answers
and what is said of them: `answers`, `judgements`, `nuggets`, `questions`. What these share: `opening` and
`remote` (bytes out of anything), `limits`, `jsonl` (JSON lines in several formats), `objects` (tables in
memory), `parts` (a run's file cut for several workers) and `writing`.
"""
