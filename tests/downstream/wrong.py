"""What nobody should get past a type checker: each line that is marked is refused, and no other."""

from __future__ import annotations

import rageval
from rageval import alpha_ndcg

RUN, QRELS = {"q": {"a": 1.0}}, {"q": {"a": 1}}

rageval.evaluate("rr", RUN, QRELS, tie="trec")  # wrong: an option that is not there
rageval.evaluate("rr", RUN, QRELS, ties="tres")  # wrong: a rule that is not there
rageval.evaluate("rr", RUN, QRELS, depth="10")  # wrong: text for a number
rageval.evaluate("rr", RUN)  # wrong: no judgements
rageval.evaluate("rr", 7, QRELS)  # wrong: no run
rageval.evaluate(alpha_ndcg @ 10, RUN, {"q": ["a"]})  # wrong: no judgements
rageval.evaluate(10, RUN, QRELS)  # wrong: no measure
alpha_ndcg @ "ten"  # wrong: no cut-off
rageval.Evaluator("rr", QRELS, zero_rel="none")  # wrong: a rule that is not there
rageval.evaluate_answers("crag_score", "judged.jsonl", on_missing="worse")  # wrong: a rule that is not there
rageval.evaluate_answers("crag_score", "judged.jsonl", nugget="n.jsonl")  # wrong: an option that is not there
rageval.compare("rr", {"a": RUN, "b": RUN}, QRELS, tests="t")  # wrong: an option that is not there
rageval.compare("rr", {"a": RUN, "b": RUN}, QRELS, adjust="bonferoni")  # wrong: a way that is not there
rageval.judge("crag", "answers.jsonl", "exact", question="q.jsonl")  # wrong: an option that is not there
rageval.report(3, "report.html")  # wrong: a number is no scores
rageval.evalute("rr", RUN, QRELS)  # wrong: a name that is not there
print(rageval.evaluate("rr", RUN, QRELS)["rr"] + "1")  # wrong: text beside a number
print(rageval.evaluate("rr", RUN, QRELS)["rr"].valu)  # wrong: a name that is not there
