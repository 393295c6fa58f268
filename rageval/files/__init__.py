"""Files that a user can name: a module a kind, which reads them, checks them on the way, and writes some.

Runs and judgements of documents: `trec` (text), `columnar` (Parquet), `retrieved` (JSON). Answers and what
is said of them: `answers`, `judgements`, `foreign_judgements` (as tracks and other tools write them). What
is asked and should be found: `questions`, `nuggets`, `spans`. What is made of scores: `scores`; and `plans`
of what people shall label. What these share: `opening` and `_remote` (bytes out of anything), `start` and
`kinds` (what a file is), `jsonl` (JSON lines in several formats), `objects` (tables in memory), `whole`
(small files), `parts` (a run's file cut for several workers) and `writing`.
"""
