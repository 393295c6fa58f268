"""Whole requests of imported prompts beside what their sources send, for records that are odd in every way.

The prompts are stand-ins of the same shape in words of our own. How a source makes a request of its prompt is
written here after its program: small functions, each with the file it follows. What an import sends is the
same, byte for byte, or differs by a departure that docs/rubrics.md lists.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fair_judge import saying, write_lines
from llm_server import Asked, LlmServer
from rageval.judges.foreign import SOURCES as FOREIGN
from rageval.judges.rubric import RubricFile, rubric_named
from snippets import ROOT
from test_bad_input import command

TITLE = "### Differences between imports and sources"
PAGE = (ROOT / "docs/rubrics.md").read_text(encoding="utf-8")
GOLDEN = json.loads((ROOT / "tests/golden/originals.json").read_text(encoding="utf-8"))
Body = dict[str, Any]
Departing = Collection[str]  # the departures of an import, in the words of the page


@dataclass(frozen=True)
class Record:
    """A query, passages (title, text), and what is said of it."""

    query: str
    passages: list[tuple[str, str]]
    answers: list[str]
    nuggets: list[str]


TEXTS = ["It rains a lot.", "The sun shines.", "Snow in May."]
NUGGETS = ["rains a lot", "it's the 'coast'", 'said "so"']


def titled(*titles: str) -> list[tuple[str, str]]:
    return list(zip(titles, TEXTS, strict=True))


RECORDS = {
    "plain": Record("Does it rain?", titled("", "", ""), TEXTS, NUGGETS),
    "titles": Record("Does it rain?", titled("Weather", "Sun: a star", "A\nB"), TEXTS, NUGGETS),
    "line ends": Record("Does\nit rain?\n", [("", f"{text}\n\nMore.\n") for text in TEXTS], TEXTS, NUGGETS),
    "braces": Record(
        "Is {query} {{passage}} {0}?",
        [("{title}", "{context} {{nuggets}} {"), ("", "%s \\n }"), ("", "{{fence}}")],
        ["{answer_a} {", "}} {rank}", "{fence}"],
        ["{nuggets}", "{{x}}", "}"],
    ),
    "brackets": Record(
        "What is [3] and [10]?",
        [("[1] A", "as [2] says"), ("", "[[A]]"), ("", "[x]")],
        ["[1] a", "[[B]]", "[03]"],
        NUGGETS,
    ),
    "blanks": Record(
        "  Is it  so? ",
        [(" T ", "  two  blanks "), ("", "a\u00a0b\tc\r\nd"), ("", "x ")],
        ["  a  b ", "c\n\nd", " e"],
        NUGGETS,
    ),
    "mended": Record(
        "Is it “so”?", [("“T”", "it’s a ﬁle"), ("", "Ã©tÃ©"), ("", "ok")], ["it’s", "a ﬁle", "Ã©tÃ©"], NUGGETS
    ),
    "none": Record("Does it rain?", [], [], []),
    "blank answer": Record("Does it rain?", titled("", "", ""), ["", "It does."], NUGGETS),
    "forty": Record(
        "Does it rain?",
        [(f"Title {number}", f"Text {number}.") for number in range(40)],
        [f"Answer {number}." for number in range(40)],
        [f"fact {number}" for number in range(40)],
    ),
}

EMPTY = "an empty answer is asked about, too"
BOUNDED = "a limit of tokens is sent, which its source does not"
UNSAID = "that one reply is asked for (n = 1) is not sent"
ALL_CITED = "a sentence's citations are all judged"
AS_IT_IS = "what ftfy mends in a text (fix_text) is shown as it is"
AT_ONCE = "more than 20 answers are ranked at once, not in windows of 20"
A_FEW = "passages are shown a few at a time"
BOTH_ORDERS = "both orders are asked, of which it draws one"
# What is said of an import that no request shows: how replies are read, and what nobody knows.
UNSEEN = {
    "umbrela": ["its judges read a model's reasoning, too, where a server shows it"],
    "umbrela-2025": [
        "its judges read a model's reasoning, too, where a server shows it",
        "that its parameters and its reading are those of 2024 is taken for granted",
        "sub-narratives are shown as a list in JSON",
    ],
    "nuggetizer": ["a reply that cannot be read is asked for 3 times in place of 500"],
    "crag-script": [
        "each gold answer is asked about by itself, not each of its letters, as the script has it",
        "answers are cut at 75 words, not at 75 tokens of Llama 2's tokenizer (--tokenizer tokenizer.json)",
    ],
    "ragtifier": [
        "how it writes several passages, and what it does with a reply that is no JSON, is not known"
    ],
    "support": ["a passage without a title is shown with an empty one"],
    "listwise": ["texts are cut to a window's words alone, whatever room a model has"],
    "ragdoll": [
        "its agent sends a system message and parameters of its own, where a job has some",
        "a list with words around it is not read",
        "a tie of two bad answers is a tie",
    ],
}

SYSTEM = 'You judge, "fairly" and well.'
UMBRELA = (
    'From 0 to 3, as in {{{{"x": 0}}}}?  \n{shots}Wish: {{query}}\nText: {{passage}}\n\n##final score: n'
)
CREATE = "Up to date, {creator_max_nuggets}:\n{query}\n{context}\n{query}\n{nuggets} ({nuggets_length})\nNow:"
SCORE = "{num_nuggets} vital or okay.\nWish: {query}\nFacts: {nuggets}\nLabels:"
ASSIGN = "{num_nuggets} support, partial_support, not_support.\n{query}\n{context}\n{nuggets}\nLabels:"
ASSIGN_2 = "{num_nuggets} support or not_support.\n{query}\n{context}\n{nuggets}\nLabels:"
SUPPORT = '\n"Full Support", "Partial Support" or "No Support"? \n\n{statement}\n\n{citation}\n\nSo:\n'
ARENA = 'Which one? "[[A]]", "[[B]]", "[[Tie]]", "[[Tie (Both Bad)]]".\n{query}\n{answer_a}\n{answer_b}\n'
PAIR = "Which one?\n{question}\n[A]\n{answer_a}\n[B]\n{answer_b}\n[[A]], [[B]] or [[C]].\n"
PREFIX, BODY, SUFFIX = "{num} texts for {query}:\n", "[{rank}] {candidate}\n", "Order {num} for {query}."
BODY_TURN, SAID, OKAY = "[{rank}] {candidate}", "Got [{rank}].", "Go on."
SHOTS = "###\nWish: {x}\n##final score: 3\n"
INSTRUCTIONS, EXAMPLES = 'Is it right? {"score": 1} or {"score": 0}.', "For example:\n{}\n"
FIGURE = "{question}\n{gold_answer}\n{generated_answer}\n\n{retrieved_passages}\n{{}}"
UMBRELA_2025 = "From 0 to 4.\nNeed: {narrative}\nIn it: {sub_narratives}\nText: {passage}\n##final score: n"
SO_FAR = ["a", "it's b"]  # what the server says when a list is asked for


# --- How the sources make their requests.


def asked(system: str, user: str, **more: Any) -> Body:
    messages = [{"role": "system", "content": system}] * bool(system) + [{"role": "user", "content": user}]
    return {"messages": messages, **more}


def bounded(departing: Departing, most: int = 1024) -> Body:
    return {"max_completion_tokens": most} if BOUNDED in departing else {}


def umbrela(template: str, examples: str = "") -> Callable[..., Iterator[Body]]:
    """`umbrela/gpt_judge.py`, `utils/common_utils.py`: the segment of each candidate, nothing else."""

    def send(record: Record, departing: Departing) -> Iterator[Body]:
        for _, segment in record.passages:
            parts = {"narrative": record.query, "sub_narratives": json.dumps(record.nuggets)}
            user = template.format(examples=examples, query=record.query, passage=segment, **parts)
            yield asked(
                "You are a helpful assistant.",
                user,
                temperature=0.0,
                max_tokens=100,
                top_p=1,
                frequency_penalty=0.5,
                presence_penalty=0,
            )

    return send


def windows(items: list[Any], size: int = 10) -> list[list[Any]]:
    return [items[number : number + size] for number in range(0, len(items), size)]


NUGGETIZER = {"temperature": 0.0, "max_completion_tokens": 4096}


def creates(record: Record, departing: Departing) -> Iterator[Body]:
    """`nuggetizer/prompts/creator_prompts.py`."""
    yield from creates_in_windows(record.query, windows(record.passages))


def ragdoll_creates(record: Record, departing: Departing) -> Iterator[Body]:
    """All passages at once."""
    size = 10 if A_FEW in departing else 1000
    yield from creates_in_windows(record.query, windows(record.passages, size))


def creates_in_windows(query: str, parts: list[list[Any]]) -> Iterator[Body]:
    so_far: list[str] = []
    for docs in parts:
        context = "\n".join(f"[{index}] {segment}" for index, (_, segment) in enumerate(docs, 1))
        user = CREATE.format(
            query=query,
            context=context,
            nuggets=so_far,
            nuggets_length=len(so_far),
            creator_max_nuggets=30,
        )
        yield asked(SYSTEM, user, **NUGGETIZER)
        so_far = SO_FAR


def scores(record: Record, departing: Departing) -> Iterator[Body]:
    """`nuggetizer/prompts/scorer_prompts.py`."""
    for texts in windows(record.nuggets):
        user = SCORE.format(query=record.query, nuggets=texts, num_nuggets=len(texts))
        yield asked(SYSTEM, user, **NUGGETIZER)


def assigns(template: str, skips: bool = True) -> Callable[..., Iterator[Body]]:
    """`nuggetizer/prompts/assigner_prompts.py`; `models/nuggetizer.py` asks nothing of a blank answer."""

    def send(record: Record, departing: Departing) -> Iterator[Body]:
        for answer in record.answers[:3]:
            for texts in windows(record.nuggets):
                if answer.strip() or EMPTY in departing or not skips:
                    values = {"query": record.query, "context": answer, "nuggets": texts}
                    user = template.format(**values, num_nuggets=len(texts))
                    yield asked(SYSTEM, user, **NUGGETIZER)

    return send


def supports(record: Record, departing: Departing) -> Iterator[Body]:
    """`support_evaluation_gpt4o.py` of TREC RAG 2024: `seg['title'] + ': ' + seg['segment']`."""
    more = bounded(departing) | ({} if UNSAID in departing else {"n": 1})
    for title, segment in record.passages if ALL_CITED in departing else record.passages[:3]:
        user = SUPPORT.format(statement=record.query, citation=f"{title}: {segment}")
        yield asked("", user, temperature=0.1, **more)


def crag(record: Record, departing: Departing) -> Iterator[Body]:
    """CRAG's `local_evaluation.py`; answers are cut at 75 tokens, which none of these has."""
    for answer in record.answers[:3]:
        shown = " ".join(answer.split(" ")).strip()
        user = f"Asked: {record.query}\n Right: It does.\n Said: {shown}\n"
        if shown.lower() != "it does.":  # decided without a model
            form = {"type": "json_object"}
            more = {"temperature": 0.0, "response_format": form, **bounded(departing)}
            yield asked(f"{INSTRUCTIONS}\n{EXAMPLES}", user, **more)


def ragtifier(record: Record, departing: Departing) -> Iterator[Body]:
    """Figure 2; how it joins passages nobody knows."""
    for answer in record.answers[:3]:
        user = FIGURE.format(
            question=record.query,
            gold_answer="It does.",
            generated_answer=answer,
            retrieved_passages="\n\n".join(segment for _, segment in record.passages),
        )
        form = {"type": "json_object"}
        yield asked(SYSTEM, user, temperature=0.1, response_format=form, **bounded(departing))


def pairs(template: str, question: str, **more: Any) -> Callable[..., Iterator[Body]]:
    """MT-bench's `gen_judgment.py`; RAGDoll's `arena/prompts.py`, which draws one order."""

    def send(record: Record, departing: Departing) -> Iterator[Body]:
        answers = record.answers[:3]
        for index, one in enumerate(answers):
            for other in answers[index + 1 :]:
                both = BOTH_ORDERS in departing or "[[C]]" in template
                for a, b in [(one, other), (other, one)] if both else [(one, other)]:
                    user = template.format(**{question: record.query}, answer_a=a, answer_b=b)
                    yield asked("", user, **more, **bounded(departing))

    return send


def fixed(text: str) -> str:
    """What `ftfy.fix_text` makes of these records, which RankLLM's own prompts below are held to."""
    for odd, plain in (("“", '"'), ("”", '"'), ("’", "'"), ("ﬁ", "fi"), ("Ã©", "é"), ("\r\n", "\n")):
        text = text.replace(odd, plain)
    return text


def unbracketed(text: str) -> str:
    return re.sub(r"\[(\d+)\]", r"(\1)", text)


def ranked(answers: list[str], in_turns: bool, mends: bool) -> list[str]:
    """`rerank/inference_handler.py`: `_convert_doc_to_prompt_content`, and the words of `max_length`."""
    most = 300 * (20 // len(answers)) if in_turns and len(answers) <= 20 else int(300 * 20 / len(answers))
    texts = [fixed(text.strip()) if mends else text.strip() for text in answers]
    return [unbracketed(" ".join(text.split()[:most])) for text in texts]


def ranks_in_one(record: Record, departing: Departing) -> Iterator[Body]:
    """`rerank/listwise/singleturn_listwise_inference_handler.py`, windows of 20 from the end."""
    answers = record.answers if AT_ONCE in departing else record.answers[-20:]
    if answers:
        values = {"num": len(answers), "query": unbracketed(record.query)}
        texts = enumerate(ranked(answers, False, AS_IT_IS not in departing), 1)
        body = "".join(BODY.format(rank=rank, candidate=text) for rank, text in texts)
        user = PREFIX.format(**values) + body + SUFFIX.format(**values)
        yield asked(SYSTEM, user, temperature=0.0, **bounded(departing))


def ranks_in_turns(record: Record, departing: Departing) -> Iterator[Body]:
    """`rerank/listwise/multiturn_listwise_inference_handler.py`."""
    answers = record.answers if AT_ONCE in departing else record.answers[-20:]
    if answers:
        values = {"num": len(answers), "query": unbracketed(record.query)}
        body = asked(SYSTEM, PREFIX.format(**values), temperature=0.0, **bounded(departing))
        body["messages"].append({"role": "assistant", "content": OKAY})
        for index, text in enumerate(ranked(answers, True, AS_IT_IS not in departing), 1):
            body["messages"].append({"role": "user", "content": BODY_TURN.format(rank=index, candidate=text)})
            body["messages"].append({"role": "assistant", "content": SAID.format(rank=index)})
        body["messages"].append({"role": "user", "content": SUFFIX.format(**values)})
        yield body


def by_ragdoll(send: Callable[..., Iterator[Body]], most: int = 1024) -> Callable[..., Iterator[Body]]:
    """What RAGDoll materializes (`instruction`, `system_prompt`), and no parameters."""

    def sent(record: Record, departing: Departing) -> Iterator[Body]:
        for body in send(record, departing):
            yield {"messages": body["messages"], **bounded(departing, most)}

    return sent


def ragdoll_scores(record: Record, departing: Departing) -> Iterator[Body]:
    for _, segment in record.passages:
        yield asked("", UMBRELA.format(shots="").format(query=record.query, passage=segment))


def ragdoll_supports(record: Record, departing: Departing) -> Iterator[Body]:
    for _, segment in record.passages:
        yield asked("", SUPPORT.format(statement=record.query, citation=segment))


# --- The sources: their file, what is asked of what, and how often the bytes are the same.


def block(**texts: str) -> str:
    """Write a template as YAML, each text as a block that keeps its end."""
    written = []
    for name, text in texts.items():
        lines = "\n".join(f"  {line}" if line else "" for line in text.rstrip("\n").split("\n"))
        written.append(f"{name}: |{'' if text.endswith(chr(10)) else '-'}\n{lines}\n")
    return "".join(written)


def step(method: str, template: str) -> str:
    return f'method: "{method}"\nsystem_message: {json.dumps(SYSTEM)}\n{block(prefix_user=template)}'


def constants(**texts: str) -> str:
    return "from x import y\n\n" + "".join(f"{name} = {text!r}\n" for name, text in texts.items())


RAGDOLL = constants(
    UMBRELA_ZERO_BASIC="Other words: {query} {passage}",
    UMBRELA_ZERO_BING=UMBRELA.format(shots=""),
    NUGGET_CREATOR_SYSTEM=SYSTEM,
    NUGGET_CREATOR_USER=CREATE,
    NUGGET_SCORER_SYSTEM=SYSTEM,
    NUGGET_SCORER_USER=SCORE,
    NUGGET_ASSIGNER_SYSTEM=SYSTEM,
    NUGGET_ASSIGNER_USER=ASSIGN,
    NUGGET_ASSIGNER_2GRADE_USER=ASSIGN_2,
    SUPPORT_EVAL_PROMPT=SUPPORT,
    PAIRWISE_ANSWER_COMPARISON_NAIVE=ARENA,
    PAIRWISE_ANSWER_COMPARISON_W_RUBRICS=ARENA + "{rubric}",
)
CRAG_SCRIPT = """
def evaluate(query, ground_truth, prediction):
    return f"Asked: {query}\\n Right: {ground_truth}\\n Said: {prediction}\\n"
"""
PASSAGES = ("--run", "run", "--depth", "40", "--passages", "passages")
NUGGETS_OF = ("--nuggets", "nuggets")
ANSWERS = ("answers",)
RANKGPT = (
    f'method: "multiturn_listwise"\nsystem_message: {json.dumps(SYSTEM)}\nprefix_user: {json.dumps(PREFIX)}\n'
    f'prefix_assistant: "{OKAY}"\nbody_user: "{BODY_TURN}"\nbody_assistant: "{SAID}"\n'
    f'suffix_user: |- \n  {SUFFIX}\noutput_patterns:\n  - "x"\n  - "y"\n'
    'output_extraction_regex: r"\\[(\\d+)\\]"\n'
)
RANKVICUNA = (
    f'method: "singleturn_listwise"\nsystem_message: {json.dumps(SYSTEM)}\nprefix: {json.dumps(PREFIX)}\n'
    f"body: {json.dumps(BODY)}\nsuffix: {json.dumps(SUFFIX)}\n"
)


@dataclass(frozen=True)
class Source:
    """A file of a source, the words that import it and judge by it, and how its program asks."""

    name: str
    files: dict[str, str]
    words: tuple[str, ...]
    sends: Callable[[Record, Departing], Iterator[Body]]
    reply: str
    departs: tuple[str, ...] = ()  # as requests show it
    same: int = 0  # records of which the bytes are the same
    messages: int | None = None  # those of which the messages are; all of them
    options: tuple[str, ...] = ()


RANKS = (AS_IT_IS, AT_ONCE, BOUNDED)
LIST = repr(SO_FAR)
SOURCES = {
    "umbrela": Source(
        "umbrela",
        {"zero.yaml": block(prefix_user=UMBRELA.format(shots=""))},
        PASSAGES,
        umbrela(UMBRELA.format(shots="")),
        "##final score: 2",
        same=10,
    ),
    "umbrela, a block that ends a line": Source(
        "umbrela",
        {"zero.yaml": block(prefix_user=UMBRELA.format(shots="") + "\n")},
        PASSAGES,
        umbrela(UMBRELA.format(shots="") + "\n"),
        "##final score: 2",
        same=10,
    ),
    "umbrela, few-shot": Source(
        "umbrela",
        {"few.txt": "\n" + UMBRELA.format(shots="{examples}\n") + "\n"},
        PASSAGES,
        umbrela(UMBRELA.format(shots="{examples}\n"), SHOTS),
        "3",
        same=10,
        options=("--examples", "shots"),
    ),
    "umbrela-2025": Source(
        "umbrela-2025",
        {"five.txt": f"\n{UMBRELA_2025}\n"},
        PASSAGES,
        umbrela(UMBRELA_2025),
        "##final score: 4",
        same=10,
    ),
    "nuggetizer, creation": Source(
        "nuggetizer", {"a.yaml": step("nugget_creation", CREATE)}, PASSAGES, creates, LIST, same=10
    ),
    "nuggetizer, importance": Source(
        "nuggetizer", {"a.yaml": step("nugget_scoring", SCORE)}, NUGGETS_OF, scores, "LABELS", same=10
    ),
    "nuggetizer, assignment": Source(
        "nuggetizer",
        {"a.yaml": step("nugget_assignment", ASSIGN)},
        (*ANSWERS, *NUGGETS_OF),
        assigns(ASSIGN),
        "LABELS",
        (EMPTY,),
        same=9,
        messages=9,
    ),
    "nuggetizer, two grades": Source(
        "nuggetizer",
        {"a.yaml": step("nugget_assignment_2grade", ASSIGN_2)},
        (*ANSWERS, *NUGGETS_OF),
        assigns(ASSIGN_2),
        "LABELS",
        (EMPTY,),
        same=9,
        messages=9,
    ),
    "support": Source(
        "support",
        {"support.py": constants(SUPPORT_EVAL_PROMPT=SUPPORT, OTHER="x")},
        ("cited", "--passages", "passages"),
        supports,
        "No Support",
        (ALL_CITED, BOUNDED, UNSAID),
        same=1,
        messages=9,
    ),
    "crag": Source(
        "crag-script",
        {"t.py": constants(INSTRUCTIONS=INSTRUCTIONS, IN_CONTEXT_EXAMPLES=EXAMPLES), "e.py": CRAG_SCRIPT},
        ANSWERS,
        crag,
        '{"score": 0}',
        (BOUNDED,),
        same=1,
    ),
    "ragtifier": Source(
        "ragtifier",
        {"figure.txt": f"System Prompt\n{SYSTEM}\nQuery Prompt\n{FIGURE}\n"},
        ANSWERS,
        ragtifier,
        '{"correctness": 1, "faithfulness": 0}',
        (BOUNDED,),
        same=1,
    ),
    "pairwise": Source(
        "pairwise",
        {
            "judge_prompts.jsonl": json.dumps({"name": "pair-v2", "prompt_template": PAIR})
            + "\n"
            + json.dumps({"name": "math", "prompt_template": PAIR + "{ref_answer_1}"})
            + "\n"
        },
        ANSWERS,
        pairs(PAIR, "question", temperature=0.0),
        "[[C]]",
        (BOUNDED,),
        same=1,
    ),
    "RankVicuna": Source(
        "listwise",
        {"rank.yaml": RANKVICUNA},
        (*ANSWERS, "--permutations", "1"),
        ranks_in_one,
        "no",
        RANKS,
        same=1,
        messages=8,
    ),
    "RankGPT": Source(
        "listwise",
        {"rank.yaml": RANKGPT},
        (*ANSWERS, "--permutations", "1"),
        ranks_in_turns,
        "no",
        RANKS,
        same=1,
        messages=8,
    ),
    "RAGDoll, UMBRELA": Source(
        "ragdoll",
        {"prompts.py": RAGDOLL},
        PASSAGES,
        by_ragdoll(ragdoll_scores),
        "##final score: 2",
        (BOUNDED,),
        same=1,
        options=("--prompt", "UMBRELA_ZERO_BING"),
    ),
    "RAGDoll, creation": Source(
        "ragdoll",
        {"prompts.py": RAGDOLL},
        PASSAGES,
        by_ragdoll(ragdoll_creates, 4096),
        LIST,
        (A_FEW, BOUNDED),
        same=1,
        messages=9,
        options=("--prompt", "NUGGET_CREATOR_USER"),
    ),
    "RAGDoll, importance": Source(
        "ragdoll",
        {"prompts.py": RAGDOLL},
        NUGGETS_OF,
        by_ragdoll(scores, 4096),
        "LABELS",
        (BOUNDED,),
        same=1,
        options=("--prompt", "NUGGET_SCORER_USER"),
    ),
    "RAGDoll, assignment": Source(
        "ragdoll",
        {"prompts.py": RAGDOLL},
        (*ANSWERS, *NUGGETS_OF),
        by_ragdoll(assigns(ASSIGN, skips=False), 4096),
        "LABELS",
        (BOUNDED,),
        same=1,
        options=("--prompt", "NUGGET_ASSIGNER_USER"),
    ),
    "RAGDoll, two grades": Source(
        "ragdoll",
        {"prompts.py": RAGDOLL},
        (*ANSWERS, *NUGGETS_OF),
        by_ragdoll(assigns(ASSIGN_2, skips=False), 4096),
        "LABELS",
        (BOUNDED,),
        same=1,
        options=("--prompt", "NUGGET_ASSIGNER_2GRADE_USER"),
    ),
    "RAGDoll, support": Source(
        "ragdoll",
        {"prompts.py": RAGDOLL},
        ("cited", "--passages", "passages"),
        by_ragdoll(ragdoll_supports),
        "no support",
        (BOUNDED,),
        same=1,
        options=("--prompt", "SUPPORT_EVAL_PROMPT"),
    ),
    "RAGDoll, arena": Source(
        "ragdoll",
        {"prompts.py": RAGDOLL},
        ANSWERS,
        by_ragdoll(pairs(ARENA, "query")),
        "[[Tie]]",
        (BOUNDED, BOTH_ORDERS),
        same=1,
        messages=1,
        options=("--prompt", "PAIRWISE_ANSWER_COMPARISON_NAIVE"),
    ),
}


def written(record: Record, few: bool) -> None:
    """Write the record as files."""
    answers = record.answers[:3] if few else record.answers
    names = [f"d{index}" for index in range(len(record.passages))]
    rows = zip(names, record.passages, strict=True)
    passages = [
        {"docid": doc, "segment": text} | ({"title": title} if title else {}) for doc, (title, text) in rows
    ]
    contexts = [{"id": row["docid"], "text": row["segment"]} for row in passages]
    cited = {"text": record.query, "citations": names}
    bank = [{"text": text, "importance": "vital"} for text in record.nuggets]
    write_lines(
        questions=[
            {
                "query_id": "q",
                "question": record.query,
                "answer": "It does.",
                "sub_narratives": record.nuggets,
            }
        ],
        passages=passages,
        answers=[
            {"query_id": "q", "run_id": f"r{index}", "answer": text, "passages": contexts}
            for index, text in enumerate(answers)
        ],
        cited=[{"query_id": "q", "run_id": "r", "answer": [cited], "references": names}] if names else [],
        nuggets=[{"query": record.query, "qid": "q", "nuggets": bank}] if bank else [],
    )
    Path("run").write_text("".join(f"q Q0 {doc} {index} {99 - index} r\n" for index, doc in enumerate(names)))


def sent_for(source: Source, record: Record, server: LlmServer) -> list[Body]:
    """Import the source's file, judge the record by it, and return what was sent, without the model."""
    written(record, source.name != "listwise")
    server.requests.clear()
    server.default = lambda request: saying(request, source.reply.replace("LABELS", labels(request)))
    words = (
        *("--questions", "questions", "--quiet", "--canaries", "0", "--judge", "openai:m", "-o", "judged"),
        "--refresh",
    )
    command("judge", "theirs.toml", *source.words, *words)
    return [{key: value for key, value in body.items() if key != "model"} for body in server.bodies]


def labels(request: Asked) -> str:
    """A label for each of the nuggets that are asked about."""
    match = re.search(
        r"(\d+) (?:nuggets either )?(?:as |a )?(vital|support)", request.body["messages"][-1]["content"]
    )
    return repr([match[2]] * int(match[1])) if match else ""


def in_order(record: Record) -> Record:
    """The record with its answers in the order in which they were shown."""
    rows = [json.loads(line) for line in Path("judged").read_text().splitlines()]
    places = [int(run[1:]) for run in rows[0]["shown"]]
    return Record(record.query, record.passages, [record.answers[index] for index in places], record.nuggets)


def sorted_bodies(bodies: list[Body]) -> list[str]:
    """Each asked once: the same request is never sent twice."""
    return sorted({json.dumps(body, sort_keys=True, ensure_ascii=False) for body in bodies})


def imported(source: Source) -> RubricFile:
    """Import the source's file, as `theirs.toml`."""
    for file, text in source.files.items():
        Path(file).write_text(text, encoding="utf-8", newline="")
    Path("shots").write_text(SHOTS)
    outcome = command(
        "rubrics", "import", *source.files, "--as", source.name, *source.options, "-o", "theirs.toml"
    )
    assert (outcome.code, outcome.err) == (0, "")
    return rubric_named("theirs.toml").file


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_a_request_is_its_sources_or_departs_as_the_page_says(
    name: str, server: LlmServer, place: Path
) -> None:
    source = SOURCES[name]
    assert set(source.departs) <= set(imported(source).departures)
    counts: Counter[str] = Counter()
    lost = set(source.departs)  # departures that no record shows
    for what, record in RECORDS.items():
        ours = sorted_bodies(sent_for(source, record, server))
        shown = in_order(record) if source.name == "listwise" and record.answers else record

        def sent_with(departs: Departing, record: Record = shown) -> list[str]:
            return sorted_bodies(list(source.sends(record, departs)))

        assert ours == sent_with(source.departs), what
        theirs = sent_with(())
        lost -= {departure for departure in lost if ours != sent_with({*source.departs} - {departure})}
        said_alike = texts_of(ours) == texts_of(theirs)
        counts["bytes" if ours == theirs else "messages" if said_alike else "departs"] += 1
    assert lost == set()
    messages = (len(RECORDS) if source.messages is None else source.messages) - source.same
    assert +counts == +Counter(
        bytes=source.same, messages=messages, departs=len(RECORDS) - source.same - messages
    )


@pytest.mark.parametrize("kind", FOREIGN)
def test_the_page_lists_what_imports_say_of_themselves(kind: str, place: Path) -> None:
    """Each departure of an imported rubric stands in its row, no other does, and requests show the rest."""
    rows = [row.split(" | ") for row in PAGE.partition(TITLE)[2].partition("\n## ")[0].split("\n| ")]
    listed = [row[1].replace("`", "").split("; ") for row in rows if f"`{kind}`" in row[0]]
    sources = [source for source in SOURCES.values() if source.name == kind]
    said_of_it = {words for source in sources for words in imported(source).departures}
    assert {words for row in listed for words in row} == said_of_it
    assert said_of_it == {*UNSEEN.get(kind, ()), *(words for source in sources for words in source.departs)}


def texts_of(bodies: list[str]) -> set[str]:
    """What a model reads, without parameters."""
    return {json.dumps(json.loads(body)["messages"]) for body in bodies}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "prompts.py: has several prompts; choose one with --prompt: UMBRELA_ZERO_BASIC, "),
        (("--prompt", "X"), "prompts.py: has no prompt 'X'; expected one of UMBRELA_ZERO_BASIC, "),
        (("--prompt", "PAIRWISE_ANSWER_COMPARISON_W_RUBRICS"), "{answer_b}), found {rubric}"),
    ],
)
def test_a_prompt_of_several_is_named(words: tuple[str, ...], message: str, place: Path) -> None:
    Path("prompts.py").write_text(RAGDOLL)
    outcome = command("rubrics", "import", "prompts.py", "--as", "ragdoll", *words)
    assert (outcome.code, message in outcome.err) == (2, True)
    names = re.findall("[A-Z_2]{12,}", outcome.err.partition("one of ")[2])
    kinds = ("SCORER", "CREATOR", "ASSIGNER", "ASSIGNER_2GRADE")
    assert not names or {f"NUGGET_{kind}_USER" for kind in kinds} < set(names)
    assert "PAIRWISE_ANSWER_COMPARISON_W_RUBRICS" not in names  # no request of ours can show a rubric
    Path("one.yaml").write_text(block(prefix_user=UMBRELA.format(shots="")))
    outcome = command("rubrics", "import", "one.yaml", "--as", "umbrela", "--prompt", "X")
    assert (outcome.code, "one.yaml: has one prompt" in outcome.err) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("file", GOLDEN["files"])
def test_published_files_are_read(file: str, server: LlmServer, place: Path) -> None:
    """Those in the folder RAGEVAL_ORIGINALS: by them is sent what nuggetizer itself sent to a server."""
    path = Path(os.environ.get("RAGEVAL_ORIGINALS", "."), file)
    if not path.exists():
        pytest.skip(f"{file} is its authors', and not here")
    facts = GOLDEN["files"][file]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == facts["sha256"]
    kind = "nuggetizer" if facts["repository"].endswith("nuggetizer") else "listwise"
    assert command("rubrics", "import", str(path), "--as", kind, "-o", "theirs.toml").code == 0
    words, reply = (PASSAGES, LIST) if "creator" in file else ((*ANSWERS, *NUGGETS_OF), "LABELS")
    source = Source(kind, {}, words, ranks_in_one, reply)
    for what, digests in GOLDEN["nuggetizer 0.0.5"].get(file, {}).items():
        record = RECORDS[what]
        asked_of = [answer for answer in record.answers if answer.strip()]  # nothing is asked of others
        record = replace(record, answers=asked_of)
        sent = [json.loads(body)["messages"] for body in sorted_bodies(sent_for(source, record, server))]
        dumped = [json.dumps(messages, sort_keys=True).encode() for messages in sent]
        assert sorted(hashlib.sha256(text).hexdigest()[:16] for text in dumped) == digests, what
