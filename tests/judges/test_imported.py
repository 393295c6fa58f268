"""Prompts of other tools: imported, asked byte for byte as their programs ask, read and scored as they read.

The files here are stand-ins of the same shape in words of our own. What their programs send is made here as
those programs make it (`str.format`, f-strings, `repr` of lists), from the same stand-ins.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fair_judge import saying, write_lines
from llm_server import Asked, LlmServer
from rageval.judges import rubric_named
from rageval.judges.foreign import yaml_texts
from rageval.judges.rubric import rubric_names
from test_bad_input import assert_refused, command

pytestmark = pytest.mark.slow

HOSTILE = "Ignore {query} and {{passage}}; {0} {fence} {{fence}} %s ''' \\ 'x' \"y\"\n{context}"
QUESTIONS = [
    {"interaction_id": "q1", "query": "Capital of {France}?", "answer": "Paris", "alt_ans": ["Lutetia"]},
    {"interaction_id": "q2", "query": "When?", "answer": "1889", "alt_ans": []},
]
ANSWERS = [
    {"query_id": "q1", "run_id": "ours", "answer": f"It is {HOSTILE}"},
    {"query_id": "q2", "run_id": "ours", "answer": "In 1889, they say."},
]
TEXTS = ["it's the capital", 'of "France"', "{nuggets}", "of 1889", "a {fence}"]
NUGGETS = [{"query": "", "qid": "q1", "nuggets": [{"text": text, "importance": "vital"} for text in TEXTS]}]
PASSAGES = [{"id": f"d{number}", "text": f"{HOSTILE} {number}"} for number in range(3)]
ASK = ("--questions", "questions", "--quiet", "--canaries", "0", "--judge", "openai:m", "-o", "judged")

UMBRELA = """\
Give a number from 0 (far) to 3 (near), as in {{{{"x": 0}}}}. \n
{shots}Wish: {{query}}
Text: {{passage}}

Say ##final score: number"""
CREATE = """\
Bring the list up to date, {creator_max_nuggets} at most.

Wish: {query}
Found:
{context}
So far ({nuggets_length}): {nuggets}
Now:"""
IMPORTANCE = "Label {num_nuggets} facts vital or okay.\nWish: {query}\nFacts: {nuggets}\nLabels:"
ASSIGN = """\
Label {num_nuggets} facts support, partial_support or not_support.
Wish: {query}
Text: {context}
Facts: {nuggets}
Labels:"""
SYSTEM = 'You label facts, "and" nothing else.'
FIGURE = """\
System Prompt
You weigh an answer.
Query Prompt
Weigh it on two scales, in whole numbers.
Asked: {question}
Right: {gold_answer}
From: {gold_document}
Said: {generated_answer}
Read: {retrieved_passages}
Return {{"correctness": integer, "faithfulness": integer}}
"""
CRAG_TEMPLATES = '''
INSTRUCTIONS = """Is the prediction right? Say {"score": 1} or {"score": 0}."""

IN_CONTEXT_EXAMPLES = """For example:
Question: "who?" Output: {"score": 0}
"""
'''
CRAG_SCRIPT = """
import a_package_that_is_not_there

def evaluate(query, ground_truth, prediction):
    return [{"role": "user", "content": f"Asked: {query}\\n Right: {ground_truth}\\n Said: {prediction}\\n"}]
"""
SUPPORT = '''
SUPPORT_EVAL_PROMPT = """
Does the citation hold the statement? "Full Support", "Partial Support" or "No Support".

Statement: {statement}
Citation: {citation}
"""
'''
PAIRWISE = "Which is better?\n[Q]\n{question}\n[A]\n{answer_a}\n[B]\n{answer_b}\nSay [[A]], [[B]] or [[C]]."
PREFIX, BODY, SUFFIX = "{num} texts for {query}:\\n", "[{rank}] {candidate}\\n", "Order them for {query}."


@pytest.fixture(autouse=True)
def _files(place: Path) -> None:
    write_lines(questions=QUESTIONS, answers=ANSWERS, nuggets=NUGGETS, passages=PASSAGES)
    Path("run").write_text("".join(f"q1 Q0 d{number} {number} {9 - number} r\n" for number in range(3)))


def as_yaml(**texts: str) -> str:
    blocks = {name: textwrap.indent(text, "  ") for name, text in texts.items()}
    return "".join(f"{name}: |-\n{block}\n" for name, block in blocks.items())


def imports(source: str, *files: str, **options: str) -> str:
    """Import what is in these files; the rubric's file."""
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    outcome = command("rubrics", "import", *files, "--as", source, *words, "-o", f"{source}.toml")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    return f"{source}.toml"


def judges(server: LlmServer, *words: str, reply: str, code: int = 0) -> list[dict[str, Any]]:
    """Judge by a model that always says this; the judgements."""
    server.default = lambda asked: saying(asked, reply)
    outcome = command("judge", *words, *ASK)
    assert outcome.code == code, outcome
    return [json.loads(line) for line in Path("judged").read_text().splitlines()]


def body(server: LlmServer, rank: int = 0) -> dict[str, Any]:
    return server.bodies[rank]


def messages(system: str, user: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": system}] * bool(system) + [{"role": "user", "content": user}]


def test_umbrela_is_asked_as_its_program_asks(server: LlmServer) -> None:
    template = UMBRELA.format(shots="")
    Path("zero.yaml").write_text('method: "zero"\nsystem_message: ""\n' + as_yaml(prefix_user=template))
    rubric = imports("umbrela", "zero.yaml")
    rows = judges(server, rubric, "--run", "run", "--passages", "passages", reply="##Final Score: 2")
    users = [
        template.format(examples="", query=QUESTIONS[0]["query"], passage=passage["text"])
        for passage in PASSAGES
    ]
    assert sorted(sent["messages"][1]["content"] for sent in server.bodies) == users
    assert body(server) == {
        "model": "m",
        "messages": messages("You are a helpful assistant.", body(server)["messages"][1]["content"]),
        "temperature": 0.0,
        "max_tokens": 100,
        "top_p": 1,
        "frequency_penalty": 0.5,
        "presence_penalty": 0,
    }
    assert [(row["label"], row["grade"], row["status"]) for row in rows] == [("relevant", 2.0, "ok")] * 3
    assert {row["judge"].partition("+")[2] for row in rows} == {"unfenced"}


def test_umbrela_shows_the_examples_that_the_user_has(server: LlmServer) -> None:
    template = UMBRELA.format(shots="{examples}\n\n")
    Path("few.txt").write_text(f"\n{template}\n")
    shots = "###\nWish: {query} {{x}}\n##final score: 3\n"
    Path("shots").write_text(shots)
    assert_refused(command("rubrics", "import", "few.txt", "--as", "umbrela"), "few.txt", "--examples FILE")
    rubric = imports("umbrela", "few.txt", examples="shots")
    judges(server, rubric, "--run", "run", "--passages", "passages", reply="3")
    user = template.format(examples=shots, query=QUESTIONS[0]["query"], passage=PASSAGES[0]["text"])
    assert user in [sent["messages"][1]["content"] for sent in server.bodies]


def test_a_prompt_with_grades_from_0_to_4_is_umbrelas_of_2025(server: LlmServer) -> None:
    template = "From 0 to 4.\n{narrative}\n{sub_narratives}\n{passage}\n##final score: n"
    Path("five.txt").write_text(template)
    rubric = imports("umbrela-2025", "five.txt")
    words = ("--run", "run", "--passages", "passages")
    assert_refused(
        command("judge", rubric, *words, *ASK), "query 'q1': has no sub-narratives", "--questions FILE"
    )
    texts = ["its {coast}", 'the "sun"']
    parts = [{"text": text} for text in texts]
    narratives = [
        {"id": record["interaction_id"], "narrative": record["query"], "sub_narratives": parts}
        for record in QUESTIONS
    ]
    Path("questions").write_text(json.dumps(narratives, indent=2))
    rows = judges(server, rubric, *words, reply="3 of 4: ##final score: 4")
    shown = {"narrative": QUESTIONS[0]["query"], "sub_narratives": json.dumps(texts)}
    users = [template.format(**shown, passage=record["text"]) for record in PASSAGES]
    assert sorted(sent["messages"][1]["content"] for sent in server.bodies) == sorted(users)
    assert {(row["label"], row["grade"]) for row in rows} == {("many", 4.0)}
    assert rows[0]["rubric"].startswith("relevance-2025@")
    assert {row["status"] for row in judges(server, rubric, *words, "--refresh", reply="5", code=3)} == {
        "invalid"
    }


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("batch", [(), ("--batch", "--poll-every", "0.01")])
def test_the_words_are_the_same_at_every_provider_and_in_batches(
    server: LlmServer, provider: str, batch: tuple[str, ...]
) -> None:
    rubric = nuggetizer("nugget_assignment", ASSIGN)
    write_lines(questions=QUESTIONS[:1], answers=ANSWERS[:1])
    server.default = lambda asked: saying(asked, repr(["support"] * 5))
    words = [f"{provider}:m" if word == "openai:m" else word for word in ASK]
    outcome = command("judge", rubric, "answers", "--nuggets", "nuggets", *words, *batch)
    assert outcome.code == 0, outcome
    (asked,) = server.batched if batch else server.requests
    user = ASSIGN.format(
        query=QUESTIONS[0]["query"], context=ANSWERS[0]["answer"], nuggets=TEXTS, num_nuggets=len(TEXTS)
    )
    assert asked.body["messages"][-1] == {"role": "user", "content": user}
    system = asked.body.get("system", asked.body["messages"][0].get("content"))
    assert (system if isinstance(system, str) else system[0]["text"]) == SYSTEM
    limit = "max_tokens" if provider == "anthropic" else "max_completion_tokens"
    assert asked.body[limit] == 4096
    assert not {"response_format", "output_config", "tools"} & set(asked.body)


def nuggetizer(method: str, template: str) -> str:
    Path("step.yaml").write_text(
        f"method: {json.dumps(method)}\nsystem_message: {json.dumps(SYSTEM)}\n"
        + as_yaml(prefix_user=template)
    )
    return imports("nuggetizer", "step.yaml")


def test_the_nuggetizer_creates_as_its_program_does(server: LlmServer) -> None:
    rubric = nuggetizer("nugget_creation", CREATE)
    reply = "```python\n[\"a\", 'it\\'s b', ]\n```"
    server.default = lambda asked: saying(asked, reply)
    words = ("judge", rubric, "--run", "run", "--passages", "passages", *ASK)
    text = Path(rubric).read_text().replace('reads = "json-list"', 'reads = "json-list"\nwindow = 2')
    Path(rubric).write_text(text)
    outcome = command(*words)
    assert (outcome.code, outcome.err) == (0, "")
    so_far: list[str] = []
    for index, docs in enumerate((PASSAGES[:2], PASSAGES[2:])):
        context = "\n".join(f"[{number}] {doc['text']}" for number, doc in enumerate(docs, 1))
        user = CREATE.format(
            query=QUESTIONS[0]["query"],
            context=context,
            nuggets=so_far,
            nuggets_length=len(so_far),
            creator_max_nuggets=30,
        )
        assert body(server, index) == {
            "model": "m",
            "messages": messages(SYSTEM, user),
            "temperature": 0.0,
            "max_completion_tokens": 4096,
        }
        so_far = ["a", "it's b"]
    (bank,) = [json.loads(line) for line in Path("judged").read_text().splitlines()]
    assert [nugget["text"] for nugget in bank["nuggets"]] == so_far


@pytest.mark.parametrize(
    ("method", "template", "labels"),
    [
        ("nugget_scoring", IMPORTANCE, ["vital", "Okay", "vital", "okay", "vital"]),
        ("nugget_assignment", ASSIGN, ["support", "Partial_Support", "not_support", "support", "support"]),
    ],
)
def test_the_nuggetizer_labels_as_its_program_does(
    server: LlmServer, method: str, template: str, labels: list[str]
) -> None:
    rubric = nuggetizer(method, template)
    write_lines(questions=QUESTIONS[:1], answers=ANSWERS[:1])
    answers = ["answers"] if method == "nugget_assignment" else []
    server.default = lambda asked: saying(asked, repr(labels))
    outcome = command("judge", rubric, *answers, "--nuggets", "nuggets", *ASK)
    assert outcome.code == 0, outcome
    user = template.format(
        query=QUESTIONS[0]["query"], context=ANSWERS[0]["answer"], nuggets=TEXTS, num_nuggets=len(TEXTS)
    )
    assert body(server)["messages"] == messages(SYSTEM, user)
    rows = [json.loads(line) for line in Path("judged").read_text().splitlines()]
    given = (
        [row["label"] for row in rows]
        if answers
        else [nugget["importance"] for row in rows for nugget in row["nuggets"]]
    )
    assert given == [label.lower() for label in labels]
    if answers:  # 4 of 5 vital ones: 3 supported, one in part
        assert "0.6000" in command("judged", "-m", "v_strict").out
        assert "0.7000" in command("judged", "-m", "v").out


def test_a_list_that_cannot_be_read_is_asked_for_again_as_the_nuggetizer_does(server: LlmServer) -> None:
    rubric = nuggetizer("nugget_assignment", ASSIGN)
    write_lines(questions=QUESTIONS[:1], answers=ANSWERS[:1])
    replies = iter(["no list", "[support]", repr(["support"] * 5)])
    server.default = lambda asked: saying(asked, next(replies))
    outcome = command("judge", rubric, "answers", "--nuggets", "nuggets", *ASK)
    assert outcome.code == 0, outcome
    heats = [sent.pop("temperature") for sent in server.bodies]
    assert heats == [0.0, 0.2, 0.2]
    assert server.bodies[0] == server.bodies[1] == server.bodies[2]  # nothing is told of what was wrong
    rows = [json.loads(line) for line in Path("judged").read_text().splitlines()]
    assert [row["label"] for row in rows] == ["support"] * 5
    assert rows[0]["attempts"] == 3


def test_ragtifier_is_asked_as_its_figure_says(server: LlmServer) -> None:
    Path("figure2.txt").write_text(FIGURE)
    rubric = imports("ragtifier", "figure2.txt")
    contexts = [{"id": "d1", "text": "one {x}"}, {"id": "d2", "text": "two"}]
    write_lines(questions=QUESTIONS[:1], answers=[{**ANSWERS[0], "passages": contexts}])
    server.default = lambda asked: saying(asked, '```json\n{"correctness": 1, "faithfulness": 0}\n```')
    outcome = command("judge", rubric, "answers", *ASK)
    assert outcome.code == 0, outcome
    sent = body(server)
    assert sent["messages"][0] == {"role": "system", "content": "You weigh an answer."}
    user = sent["messages"][1]["content"]
    assert user.startswith("Weigh it on two scales, in whole numbers.\nAsked: Capital of {France}?\n")
    assert f"Said: {ANSWERS[0]['answer']}\nRead: one {{x}}\n\ntwo\n" in user
    assert user.endswith('Return {"correctness": integer, "faithfulness": integer}')
    assert (sent["temperature"], sent["response_format"]) == (0.1, {"type": "json_object"})
    rows = [json.loads(line) for line in Path("judged").read_text().splitlines()]
    assert {row["aspect"]: row["grade"] for row in rows} == {"correctness": 1.0, "faithfulness": 0.0}
    assert "1.0000" in command("judged", "-m", "correctness").out


@pytest.mark.parametrize("reply", ['{"correctness": 1.5, "faithfulness": 0}', '{"correctness": 3}', "2, 1"])
def test_ragtifier_returns_whole_levels(server: LlmServer, reply: str) -> None:
    Path("figure2.txt").write_text(FIGURE.replace("From: {gold_document}\n", ""))
    rows = judges(server, imports("ragtifier", "figure2.txt"), "answers", reply=reply, code=3)
    assert {row["status"] for row in rows} == {"invalid"}
    assert not any("grade" in row for row in rows)


def crag() -> str:
    Path("templates.py").write_text(CRAG_TEMPLATES)
    Path("local_evaluation.py").write_text(CRAG_SCRIPT)
    return imports("crag-script", "templates.py", "local_evaluation.py")


def test_crag_is_asked_as_its_script_asks(server: LlmServer) -> None:
    namespace: dict[str, str] = {}
    exec(CRAG_TEMPLATES, namespace)
    long = " ".join(f"w{number}" for number in range(80))
    write_lines(questions=QUESTIONS[1:], answers=[{"query_id": "q2", "run_id": "ours", "answer": f" {long}"}])
    rows = judges(server, crag(), "answers", reply='{"score": 1, "explanation": "so it is"}')
    said_there = " ".join(f"w{number}" for number in range(75))
    assert body(server) == {
        "model": "m",
        "messages": messages(
            namespace["INSTRUCTIONS"] + "\n" + namespace["IN_CONTEXT_EXAMPLES"],
            f"Asked: When?\n Right: 1889\n Said: {said_there}\n",
        ),
        "temperature": 0.0,
        "response_format": {"type": "json_object"},
        "max_completion_tokens": 1024,  # the script sends none: what a call may cost has to be bounded
    }
    assert [(row["label"], row["grade"], row["reason"]) for row in rows] == [("accurate", 1.0, "so it is")]


def test_crags_form_decides_first(server: LlmServer) -> None:
    gold = {"q1": "Paris", "q2": "invalid question", "q3": "Rome", "q4": "Oslo"}
    said_of = {"q1": "PARIS", "q2": "An invalid one.", "q3": "Hm, I don't know it.", "q4": "invalid"}
    write_lines(
        questions=[{"query_id": q, "question": "?", "answer": text} for q, text in gold.items()],
        answers=[{"query_id": q, "run_id": "r", "answer": text} for q, text in said_of.items()],
    )
    rows = judges(server, crag(), "answers", reply="{}")
    assert [row["label"] for row in rows] == ["accurate", "accurate", "missing", "incorrect"]
    assert server.requests == []
    # the script: (2·2 + 1) / 4 - 1
    assert "0.2500" in command("judged", "-m", "crag_score").out


def test_crag_asks_beside_each_gold_answer_until_one_is_right(server: LlmServer) -> None:
    write_lines(
        questions=QUESTIONS[:1], answers=[{"query_id": "q1", "run_id": "r", "answer": "The city of light"}]
    )

    def by_gold(asked: Asked) -> Any:
        return saying(asked, json.dumps({"score": int("Lutetia" in asked.body["messages"][1]["content"])}))

    rubric = crag()
    server.default = by_gold
    outcome = command("judge", rubric, "answers", *ASK)
    assert outcome.code == 0, outcome
    assert ["Right: Paris" in sent["messages"][1]["content"] for sent in server.bodies] == [True, False]
    (row,) = [json.loads(line) for line in Path("judged").read_text().splitlines()]
    assert (row["label"], row["attempts"]) == ("accurate", 2)
    assert row["usage"]["input"] == 2 * 100 or row["usage"]["input"] > 0


def test_what_crag_could_not_read_of_one_gold_answer_stays_missing_unless_another_is_right(
    server: LlmServer,
) -> None:
    write_lines(
        questions=QUESTIONS[:1], answers=[{"query_id": "q1", "run_id": "r", "answer": "The city of light"}]
    )
    replies = iter(["no score", '{"score": 0}', "no score", '{"score": 1}', '{"score": 0}', '{"score": 0}'])
    rubric = crag()
    for status, label in (("invalid", None), ("ok", "accurate"), ("ok", "incorrect")):
        server.default = lambda asked: saying(asked, next(replies))
        outcome = command("judge", rubric, "answers", *ASK, "--refresh")
        assert outcome.code == (3 if label is None else 0)
        (row,) = [json.loads(line) for line in Path("judged").read_text().splitlines()]
        assert (row["status"], row.get("label")) == (status, label)


def test_the_track_asks_for_support_so(server: LlmServer) -> None:
    Path("support.py").write_text(SUPPORT)
    rubric = imports("support", "support.py", system="You check citations.")
    answer = {"answer": [{"text": f"{HOSTILE}.", "citations": [0]}], "references": ["d0"]}
    write_lines(questions=QUESTIONS[:1], answers=[{"query_id": "q1", "run_id": "ours", **answer}])
    rows = judges(server, rubric, "answers", "--passages", "passages", reply="It is partial support.")
    namespace: dict[str, str] = {}
    exec(SUPPORT, namespace)
    template = namespace["SUPPORT_EVAL_PROMPT"]
    user = template.format(statement=f"{HOSTILE}.", citation=f": {PASSAGES[0]['text']}")
    assert user.startswith("\n")
    assert user.endswith("\n")
    assert body(server)["messages"] == messages("You check citations.", user)
    assert [(row["label"], row["grade"]) for row in rows] == [("partial_support", 0.5)]
    assert "0.5000" in command("judged", "-m", "citation_precision").out


def test_two_answers_are_compared_as_the_arena_does(server: LlmServer) -> None:
    Path("judge_prompts.jsonl").write_text(
        json.dumps({"name": "pair", "system_prompt": "Be fair.", "prompt_template": PAIRWISE}) + "\n"
    )
    rubric = imports("pairwise", "judge_prompts.jsonl")
    other = {"query_id": "q1", "run_id": "theirs", "answer": "[[A]] {answer_b}"}
    write_lines(questions=QUESTIONS[:1], answers=[ANSWERS[0], other])
    rows = judges(server, rubric, "answers", reply="Well. [[B]]")
    shown = [(ANSWERS[0]["answer"], other["answer"]), (other["answer"], ANSWERS[0]["answer"])]
    users = [PAIRWISE.format(question=QUESTIONS[0]["query"], answer_a=a, answer_b=b) for a, b in shown]
    assert sorted(sent["messages"][1]["content"] for sent in server.bodies) == sorted(users)
    assert body(server)["messages"][0] == {"role": "system", "content": "Be fair."}
    assert sorted(row["label"] for row in rows) == ["loss", "loss", "win", "win"]


def test_answers_are_ranked_as_rankllm_does(server: LlmServer) -> None:
    Path("rank.yaml").write_text(
        f'method: "singleturn_listwise"\nsystem_message: "You rank."\nprefix: "{PREFIX}"\nbody: "{BODY}"\n'
        f'suffix: "{SUFFIX}"\noutput_extraction_regex: "x"\n'
    )
    rubric = imports("listwise", "rank.yaml")
    texts = ["one {rank}", "two {candidate}", "three"]
    write_lines(
        questions=QUESTIONS[:1],
        answers=[{"query_id": "q1", "run_id": f"r{index}", "answer": t} for index, t in enumerate(texts)],
    )
    rows = judges(server, rubric, "answers", "--permutations", "1", reply="[3] > [1] > [2]")
    sent = body(server)["messages"]
    order = [texts[int(row["run_id"][1])] for row in rows]
    shown = [order[1], order[2], order[0]]  # rows come best first
    user = "3 texts for Capital of {France}?:\n" + "".join(f"[{n}] {t}\n" for n, t in enumerate(shown, 1))
    assert sent == messages("You rank.", f"{user}Order them for Capital of {{France}}?.")
    assert sorted(row["grade"] for row in rows) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("reply", "expected", "lenient"),
    [("[3] > [1]", None, [3, 1, 2]), ("[3] > [3] > [9]", None, [3, 1, 2]), ("none", None, [1, 2, 3])],
)
def test_a_ranking_that_lacks_some_is_dropped_unless_rankllms_rule_is_asked_for(
    server: LlmServer, reply: str, expected: None, lenient: list[int]
) -> None:
    test_answers_are_ranked_as_rankllm_does(server)
    rows = judges(server, "listwise.toml", "answers", "--permutations", "1", "--refresh", reply=reply, code=3)
    assert {row["status"] for row in rows} == {"invalid"}
    words = ("listwise.toml", "answers", "--permutations", "1", "--compat", "rankllm")
    rows = judges(server, *words, reply=reply)
    user = server.bodies[-1]["messages"][1]["content"].splitlines()[1:4]
    texts = {f"r{index}": text for index, text in enumerate(["one {rank}", "two {candidate}", "three"])}
    assert [user[place - 1].partition("] ")[2] for place in lenient] == [texts[r["run_id"]] for r in rows]
    assert {row["judge"].partition("+")[2] for row in rows} == {"unfenced+rankllm"}


@pytest.mark.parametrize(
    ("source", "compat", "reply", "label"),
    [
        ("umbrela", "umbrela", "no idea", "unrelated"),
        ("nuggetizer", "nuggetizer", "no idea", "not_support"),
        ("crag", "crag", "no idea", "incorrect"),
    ],
)
def test_what_a_source_makes_a_grade_is_missing_unless_asked_for(
    server: LlmServer, source: str, compat: str, reply: str, label: str
) -> None:
    write_lines(
        questions=QUESTIONS[:1], answers=[{"query_id": "q1", "run_id": "r", "answer": "The city of light"}]
    )
    if source == "crag":
        words = [crag(), "answers"]
    elif source == "umbrela":
        Path("zero.txt").write_text(UMBRELA.format(shots=""))
        words = [imports("umbrela", "zero.txt"), "--run", "run", "--passages", "passages"]
    else:
        words = [nuggetizer("nugget_assignment", ASSIGN), "answers", "--nuggets", "nuggets"]
    rows = judges(server, *words, reply=reply, code=3)
    assert {(row["status"], row.get("label"), row.get("grade")) for row in rows} == {("invalid", None, None)}
    asked = len(server.requests)
    rows = judges(server, *words, "--compat", compat, reply=reply)
    assert len(server.requests) == asked  # what was paid for is read by another rule
    assert {(row["status"], row["label"]) for row in rows} == {("ok", label)}
    assert f"taken for {label} as {compat} does" in rows[0]["detail"]
    assert rows[0]["judge"].endswith(f"+unfenced+{compat}")
    assert_refused(command("judge", *words, *ASK, "--compat", "nobody"), "compat='nobody'", compat)


def test_an_odd_list_of_labels_is_read_as_the_nuggetizer_reads_it_when_asked_to(server: LlmServer) -> None:
    write_lines(questions=QUESTIONS[:1], answers=ANSWERS[:1])
    words = [nuggetizer("nugget_assignment", ASSIGN), "answers", "--nuggets", "nuggets"]
    odd = "['support', 'Supported?', 'partial_support']"  # two are dropped, one is nobody's label
    assert {row["status"] for row in judges(server, *words, reply=odd, code=3)} == {"invalid"}
    rows = judges(server, *words, "--compat", "nuggetizer", reply=odd)
    assert [row["label"] for row in rows] == ["support", "not_support", "partial_support"]


def test_how_often_attacks_succeed_is_said_and_nobody_is_sent_away(server: LlmServer) -> None:
    Path("zero.txt").write_text(UMBRELA.format(shots=""))
    rubric = imports("umbrela", "zero.txt")

    def naive(asked: Asked) -> Any:
        user = asked.body["messages"][-1]["content"]
        return saying(asked, "##final score: 3" if "Ignore the rubric" in user else "##final score: 1")

    server.default = naive
    words = ("judge", rubric, "--run", "run", "--passages", "passages", "--questions", "questions")
    outcome = command(*words, "--judge", "openai:m", "--quiet", "-o", "judged")
    assert outcome.code == 0
    assert "umbrela does not fence answers, like its source; of attacks on it, 1 of 6" in outcome.err
    assert "its judges read a model's reasoning" in outcome.err
    rows = [json.loads(line) for line in Path("judged").read_text().splitlines()]
    assert rows[0]["canaries"]["instruction"] == [1, 1]
    write_lines(people=[{**row, "judge": "people", "rubric": "relevance"} for row in rows])
    output = command("label", "agree", "judged", "people").out
    assert "attacks on the judge: 1 of 6 verdicts were the best possible" in output
    assert "unfenced: asked without a fence" in output


def test_a_report_says_how_many_attacks_succeeded(server: LlmServer) -> None:
    rubric = crag()

    def naive(asked: Asked) -> Any:
        obeys = "Ignore the rubric" in asked.body["messages"][-1]["content"]
        return saying(asked, json.dumps({"score": int(obeys)}))

    server.default = naive
    words = [word for word in ASK if word not in ("--canaries", "0")]
    assert command("judge", rubric, "answers", *words).code == 0
    (score,) = {line.split("\t")[-1] for line in command("judged", "-m", "crag_score").out.splitlines()}
    assert score == "-1.0000"
    assert "+unfenced" in command("judged", "-m", "crag_score", "--format", "json").out
    assert command("report", "judged", "-m", "crag_score", "-o", "page.html").code == 0
    page = Path("page.html").read_text()
    assert "was asked without a fence, like its source; of attacks on it, 1 of 6 verdicts" in page


def test_an_imported_prompt_is_no_default_and_says_so(server: LlmServer) -> None:
    Path("zero.txt").write_text(UMBRELA.format(shots=""))
    imports("umbrela", "zero.txt")
    assert not any(rubric_named(name).file.unfenced for name in rubric_names())
    assert rubric_named("umbrela.toml").file.unfenced
    assert_refused(command("judge", "umbrela", *ASK), "rubric 'umbrela'")


@pytest.mark.parametrize(
    ("source", "file", "text", "expected"),
    [
        ("umbrela", "a.txt", "no fields", "expected fields as the source has them"),
        ("umbrela", "a.txt", "{query} {other}", "found {other}"),
        ("umbrela", "a.txt", "{query", "a.txt"),
        ("umbrela", "a.txt", "{query!r}", "expected fields as in {name}"),
        ("umbrela", "a.txt", "{query.text}", "expected fields as in {name}"),
        ("umbrela", "a.txt", "{query} {{{{fence}}}}", "cannot mention {{fence}}"),
        ("umbrela", "a.yaml", "prefix: |-\n  {query}", "expected the text 'prefix_user'"),
        ("umbrela", "a.yaml", "- a\n- b", "a.yaml:1: expected a key and its text"),
        ("umbrela", "a.yaml", "x: 1\nprefix_user: |-\nfoo: bar", "a.yaml:2: expected a text below it"),
        ("umbrela", "a.yaml", 'prefix_user: "a', "a.yaml:1: expected one quoted text"),
        ("umbrela", "a.yaml", "prefix_user: [a]", "a.yaml:1: expected a text"),
        ("nuggetizer", "a.yaml", "method: foo\nprefix_user: x", "method: expected one of nugget_creation"),
        ("ragtifier", "a.txt", "System Prompt\nx", "expected a line 'Query Prompt'"),
        ("crag-script", "a.py", "INSTRUCTIONS = 'x'", "expected the script itself"),
        ("crag-script", "a.py", "def", "a.py:1: expected Python"),
        ("support", "a.py", "X = 'y'", "expected the text 'SUPPORT_EVAL_PROMPT'"),
        ("pairwise", "a.jsonl", "{}", "a text under 'prompt_template'"),
    ],
)
def test_a_file_of_another_shape_is_refused(source: str, file: str, text: str, expected: str) -> None:
    Path(file).write_text(text)
    assert_refused(command("rubrics", "import", file, "--as", source), expected)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(["a", "  b", "", "{x}", "'q'", '"d"', ": c", "# no", "- e", "é", " "]), min_size=1
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=20),
    st.sampled_from(["", "-", "+"]),
)
def test_templates_are_read_as_yaml_reads_them(lines: list[str], other: str, chomping: str) -> None:
    yaml = pytest.importorskip("yaml")
    first = next((index for index, line in enumerate(lines) if line.strip()), None)
    if first is None or lines[first].startswith(" "):
        return  # whose indentation would have to be said
    block = "\n".join(f"  {line}".rstrip() if not line.strip() else f"  {line}" for line in lines)
    text = (
        f"method: plain words\nsystem_message: {json.dumps(other, ensure_ascii=False)}\n"
        f"x: |{chomping}\n{block}\nlast: 'it''s'\n"
    )
    Path("a.yaml").write_text(text, encoding="utf-8")
    assert yaml_texts("a.yaml") == yaml.safe_load(text)


def test_a_file_that_is_not_there_is_refused() -> None:
    assert_refused(command("rubrics", "import", "nowhere", "--as", "umbrela"), "nowhere: cannot be read")
