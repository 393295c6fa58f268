"""Twelve questions, a corpus of 300 documents made for them, and a model that answers by rule."""

from __future__ import annotations

import json
from pathlib import Path

from fair_judge import data_in, saying, schema_in
from llm_server import Asked, Saying
from rageval.judges.judge import _as_quoted

TOOLS = (  # a question each
    *("anvil", "beacon", "cobalt", "dynamo", "ember", "falcon"),
    *("garnet", "harbor", "indigo", "jasper", "kettle", "lantern"),
)
FACTS = ("stores {0} records in a tree", "reads {0} settings from one file", "ends {0} jobs with a signal")
WITHOUT_DOCUMENT = ("kettle", "lantern")
WITHOUT_A_NUGGET = ("harbor", "indigo", "jasper")
KEPT = [f"q{index}" for index, tool in enumerate(TOOLS) if tool not in (*WITHOUT_DOCUMENT, *WITHOUT_A_NUGGET)]
DOCUMENTS = 300
_HIDDEN = {**dict.fromkeys(WITHOUT_DOCUMENT, (0, 1, 2)), **dict.fromkeys(WITHOUT_A_NUGGET, (2,))}


def facts(tool: str) -> list[str]:
    """What a good answer about a tool holds."""
    return [f"{tool} {fact.format(tool)}" for fact in FACTS]


def questions() -> list[dict[str, str]]:
    """A question a tool, whose answer has three sentences."""
    return [
        {
            "query_id": f"q{index}",
            "question": f"How does {tool} keep records, settings and jobs?",
            "answer": ". ".join(facts(tool)) + ".",
        }
        for index, tool in enumerate(TOOLS)
    ]


def corpus() -> list[dict[str, str]]:
    """Two documents a fact that is to be found, and talk about the tools that says none."""
    documents = []
    for tool in TOOLS:
        for index, fact in enumerate(facts(tool)):
            if index not in _HIDDEN.get(tool, ()):
                documents += [f"The manual says: {fact}.", f"Since version 2 {fact}, as was asked for."]
    while len(documents) < DOCUMENTS:
        tool = TOOLS[len(documents) % len(TOOLS)]
        documents.append(f"Notes on {tool}, number {len(documents)}: records, settings and jobs of {tool}.")
    return [{"_id": f"docs/d{index}.md", "text": text} for index, text in enumerate(documents)]


def write_samples(folder: Path) -> None:
    """The questions and the corpus as files."""
    for name, records in (("questions.jsonl", questions()), ("corpus.jsonl", corpus())):
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))


def by_rule(asked: Asked) -> Saying:
    """What a model would reply that looks for words; a client that was killed has sent nothing."""
    if not asked.body:
        return Saying(400)
    return saying(asked, json.dumps(reply(data_in(asked), schema_in(asked))))


def _tool(data: dict[str, object]) -> str:
    """The tool that a question is about; none of a question that a test has changed."""
    return " ".join(str(data["question"]).split()[2:3])


def reply(data: dict[str, object], task: dict[str, object]) -> dict[str, object]:
    if "nuggets" in task:
        gold, *_ = data["gold"]  # type: ignore[misc]
        return {"nuggets": [part.strip(". ") for part in gold.split(". ")]}
    if "queries" in task:
        tool = _tool(data)
        return {"queries": [f"Where does {tool} store records?", f"How does {tool} end jobs?"]}
    if "text" in task:
        return {"text": f"I think that {_tool(data)} uses a tree."}
    return {
        "documents": [
            {
                "id": document["id"],
                "supports": [
                    nugget["id"]
                    for nugget in data["nuggets"]  # type: ignore[attr-defined]
                    if _as_quoted(nugget["text"]) in _as_quoted(document["text"])
                ],
            }
            for document in data["documents"]  # type: ignore[attr-defined]
        ]
    }
