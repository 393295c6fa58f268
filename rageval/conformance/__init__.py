"""Golden vectors, and how rageval and the tools beside it compare on them.

`runs.jsonl` and `answers.jsonl` are public: small inputs, and the right value of each measure for each query,
from exact formulas that share no code with this package. Anybody's tool can be tried on them. `rageval
conformance` tries rageval, and every peer that is installed: in a process of its own, since some crash.
"""

from rageval.conformance._vectors import AnswerVector, RunVector, answer_vectors, run_vectors, text_of

__all__ = ["AnswerVector", "RunVector", "answer_vectors", "run_vectors", "text_of"]
