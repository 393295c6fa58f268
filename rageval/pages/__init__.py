"""A report: everything there is to say of some scores, as one page that needs nothing else.

A report is first a structure of plain lists and dicts (`report`), which is put into a page (`page`) as a
whole, and can be taken out of it again (`read_report`). What it holds, some of it only where it is known:

format, title     "rageval-report/1", and what the page is called
runs, measures    names: runs with the best first by the first measure, measures in the order of the command
level             of the intervals
better            which values are good by each measure: higher, lower or neither
cells             a record a run and measure: value, interval, queries, what it is better than, signature
comparison        signature, settings and pairs, as `rageval compare --format json` has them
queries           ids, texts, and values by measure and run (packed numbers, see `_parts`)
slices            a record a run, measure and slice: value, interval, queries
matrices          for some queries, what was found where: nuggets by documents or by answers, with evidence,
                  and the steps of agents
curves            of agents: a record a run: its recall at each number of searches, or cost, with intervals
losses            of agents: a record a run and share: not seen, not cited, used
reliability       a record a run: how often answers are correct, by bins of their confidence
judging           a record a pair of judges: agreement, confusion, disagreements
positions         a record a judge that compared answers: what the place is worth at which one was shown
spending          a record a judge: judgements, failures, tokens, cost
topics            a record a run: queries it lacks, ties at the cut-off
citing            what a paper should say of these numbers: words, signatures, BibTeX
provenance        versions, hashes of the inputs, the command
remarks           what else should be known: code, about, facts, text
"""
