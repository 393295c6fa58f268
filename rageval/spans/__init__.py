"""Gold independent of a chunking: quotes are found in sources, and spans are matched with any chunks.

from rageval.spans import anchor, project

anchor("qrels.nugget", "old.jsonl", "docs", quotes="judged.jsonl").save("spans.jsonl")  # once
rageval.evaluate("alpha_ndcg@10", "run.trec", project("spans.jsonl", "new.jsonl", "docs"))  # every time
"""

from rageval.spans.anchors import Anchored, anchor
from rageval.spans.projection import Projected, project

__all__ = ["Anchored", "Projected", "anchor", "project"]
