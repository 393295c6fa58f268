"""Rubrics out of the prompts of others: their words from their files, their rules from here.

Nobody's prompt comes with rageval. Whoever has a source's file makes a rubric of it that asks as the source
does: the same messages, the same parameters, replies read as its program reads them. What a source turns into
a grade where nothing can be read stays missing unless a job asks for its rule (`compat`).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rageval.errors import InputError, Place, UsageError
from rageval.files.whole import text_of_whole
from rageval.judges.base import PARTS, Slot, names_in, template_of
from rageval.judges.rubric import (
    Prompt,
    RubricFile,
    Trim,
    Turn,
    as_toml,
    examples_in,
    require_sane,
    rubric_named,
    sha256_of,
)
from rageval.text import visible

# --- Prompts out of the files of their sources, without running anything or keeping their words.
#
# A template of YAML with a key for each part, constants of a Python file, a text with its headings as a
# figure prints them, or a plain text. Only what such files hold is read: of YAML, texts under keys and
# nothing else.

_KEY = re.compile(r"([A-Za-z_][\w-]*):(?: +(.*))?$")
_BLOCK = re.compile(r"\|([-+]?)(?:\s*#.*)?$")


def read_prompt_file(path: str) -> str:
    """Return the text of a prompt file; `InputError` if there is none."""
    return text_of_whole(path, "a prompt")


def yaml_texts(path: str) -> dict[str, str]:
    """Read the texts of a YAML file of keys and texts; `InputError` with the line for anything else.

    A text is a block (`|`, `|-`, `|+`), a quoted string, or plain words on the line of its key. What lies
    below a key that has none, as a list of patterns does, is not read.
    """
    lines = read_prompt_file(path).split("\n")
    texts: dict[str, str] = {}
    position = 0
    while position < len(lines):
        line, number = lines[position], position + 1
        position += 1
        if not line.strip() or line.lstrip().startswith("#") or line.strip() in ("---", "..."):
            continue
        match = _KEY.match(line.rstrip())
        if match is None:
            raise InputError(at=Place(path, number), expected="a key and its text", found=f"{line[:80]!r}")
        value = match[2] or ""
        block = _BLOCK.match(value)
        if block is not None:
            texts[match[1]], position = _block(lines, position, block[1], Place(path, number))
        elif not value:
            while position < len(lines) and re.match(r"[ -]|$", lines[position]):
                position += 1
        else:
            where = Place(path, number)
            if value.startswith('"'):
                try:
                    text = json.loads(value)
                except ValueError:
                    raise InputError(
                        at=where, expected="one quoted text on this line", found=f"{value[:80]!r}"
                    ) from None
                texts[match[1]] = str(text)
            elif value.startswith("'") and value.endswith("'") and len(value) > 1:
                texts[match[1]] = value[1:-1].replace("''", "'")
            elif value[:1] in ("[", "{", "&", "*", "!", ">", "|", "'", "%", "@", "`"):
                raise InputError(at=where, expected="a text", found=f"{value[:80]!r}")
            else:
                texts[match[1]] = value.partition(" #")[0].rstrip()
    return texts


def _block(lines: list[str], position: int, chomping: str, where: Place) -> tuple[str, int]:
    """Return the text of a block that begins there, and where what follows it begins."""
    first = next((line for line in lines[position:] if line.strip()), "")
    indent = len(first) - len(first.lstrip(" "))
    if not indent:
        raise InputError(at=where, expected="a text below it, indented")
    taken: list[str] = []
    while position < len(lines) and (
        not lines[position].strip(" ") or lines[position].startswith(" " * indent)
    ):
        taken.append(lines[position][indent:])
        position += 1
    text = "\n".join(taken)
    if chomping == "+":
        return text if position == len(lines) else text + "\n", position
    text = text.rstrip("\n")
    return text + "\n" if text and not chomping else text, position


def python_texts(path: str) -> dict[str, str]:
    """Read the constants of a Python file that are texts, wherever in it they are given their names."""
    texts: dict[str, str] = {}
    for node in ast.walk(_parse_python(path)):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and isinstance(node.value.value, str):
                    texts[target.id] = node.value.value
    return texts


def python_template(path: str, names: set[str]) -> str | None:
    """Read a text of a Python file into which all of these names are put (`f"…{name}…"`), as a template."""
    for node in ast.walk(_parse_python(path)):
        if isinstance(node, ast.JoinedStr):
            pieces = [_as_template(part) for part in node.values]
            used = {name for name, _ in pieces if name}
            if used == names and all(piece for _, piece in pieces):
                return "".join(piece for _, piece in pieces)
    return None


def _as_template(part: ast.expr) -> tuple[str, str]:
    """Return the name that is put in, if any, and what a template has there; nothing for what has no name."""
    if isinstance(part, ast.Constant):
        return "", str(part.value).replace("{", "{{").replace("}", "}}")
    is_plain = isinstance(part, ast.FormattedValue) and part.conversion == -1 and part.format_spec is None
    if is_plain and isinstance(part.value, ast.Name):  # type: ignore[attr-defined]
        name: str = part.value.id  # type: ignore[attr-defined]
        return name, f"{{{name}}}"
    return "", ""


def _parse_python(path: str) -> ast.Module:
    try:
        return ast.parse(read_prompt_file(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = error.lineno if isinstance(error, SyntaxError) and error.lineno else None
        raise InputError(at=Place(path, line), expected="Python", cause=str(error)) from None


def json_prompts(path: str, needed: str) -> dict[str, dict[str, str]]:
    """Read the objects, of lines of JSON, that have a text under the key that is needed, by their names."""
    prompts: dict[str, dict[str, str]] = {}
    for number, line in enumerate(read_prompt_file(path).splitlines(), 1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get(needed), str):
            texts = {name: text for name, text in record.items() if isinstance(text, str)}
            prompts.setdefault(texts.get("name", str(number)), texts)
    if not prompts:
        raise InputError(at=Place(path), expected=f"a line of JSON with a text under {needed!r}")
    return prompts


@dataclass(frozen=True, slots=True)
class Given:
    """What the user gives: files of the source, and what is to be found in files beside them."""

    paths: Sequence[str]
    examples: str | None = None
    tokenizer: str | None = None
    system: str | None = None
    prompt: str | None = None  # the name of the one that is meant

    @property
    def path(self) -> str:
        """The only file."""
        if len(self.paths) != 1:
            raise UsageError(f"expected one file, found {len(self.paths)}")
        return self.paths[0]


def choose_prompt(prompts: Mapping[str, str], fields: Collection[str], given: Given, usual: str = "") -> str:
    """Return the name of the prompt that is meant: the one that is given, the usual one, or the only one.

    Only what shows one of these fields, and no other, is a prompt.
    """
    fitting = []
    for name, text in prompts.items():
        with suppress(ValueError):  # a text that is no template is no prompt
            names = names_in(template_of(text))
            if names and set(names) <= set(fields):
                fitting.append(name)
    requested = given.prompt or (usual if usual in prompts else "")
    if requested in prompts:
        return requested
    listed = ", ".join(map(visible, fitting or prompts)) or "none"
    if given.prompt is not None:
        raise InputError(
            at=Place(given.path),
            problem=f"has no prompt {visible(given.prompt)!r}",
            expected=f"one of {listed}",
        )
    if len(fitting) > 1:
        raise UsageError(f"{given.path}: has several prompts; choose one with --prompt: {listed}")
    if not fitting:
        shown = f"a prompt with {', '.join(f'{{{name}}}' for name in fields)}"
        expected = f"the text {usual!r}, or " if usual else ""
        raise InputError(at=Place(given.path), expected=f"{expected}{shown}", found=listed[:200])
    return fitting[0]


def headed_texts(path: str, headings: tuple[str, ...]) -> dict[str, str]:
    """Read the texts below these headings, each a line by itself; a heading that lacks is an error."""
    text = read_prompt_file(path)
    places = []
    for heading in headings:
        match = re.search(rf"(?im)^\W*{re.escape(heading)}\W*$\n?", text)
        if match is None:
            raise InputError(at=Place(path), expected=f"a line {heading!r}, and the text below it")
        places.append((match.start(), match.end(), heading))
    places.sort()
    ends = [start for start, _, _ in places[1:]] + [len(text)]
    return {
        heading: text[begin:end].strip("\n") for (_, begin, heading), end in zip(places, ends, strict=True)
    }


# --- The sources, and what each does with a prompt and a reply.

_BOUNDED = "a limit of tokens is sent, which its source does not"
_ASKED_AGAIN = "a reply that cannot be read is asked for 3 times in place of 500"
_N_NOT_SENT = "that one reply is asked for (n = 1) is not sent"


def imported(source: str, given: Given) -> str:
    """Return the rubric file that the source's prompt makes, as text."""
    if given.prompt is not None and not given.path.endswith((".py", ".json", ".jsonl")):
        raise UsageError(f"{given.path}: has one prompt; leave out --prompt")
    file = SOURCES[source](given)
    _take_fields(file, given.paths[0])
    if given.examples is not None:
        file.examples = examples_in("prompt", given.examples, read_prompt_file(given.examples).encode())
        # The text is in the rubric now, and the file it came from is on one machine only.
        file.examples.file = None
    elif "examples" in file.fields:
        raise UsageError(
            f"{given.paths[0]}: its prompt shows examples ({{examples}}); give them with --examples FILE"
        )
    require_sane(file, given.paths[0], "")
    if file.trim is not None and file.trim.tokenizer is not None:
        # A rubric names files in its own folder alone.
        file.trim.tokenizer = Path(file.trim.tokenizer).name
    names = ", ".join(visible(Path(path).name) for path in given.paths)
    return as_toml(
        file,
        [
            f"Imported from {names} as {source}: the words are its authors'.",
            "Unfenced: what is judged stands in the prompt as it is, and can speak to the judge.",
        ],
    )


def _take_fields(file: RubricFile, path: str) -> None:
    """Keep the fields that the prompt has; refuse one that nobody knows, and a prompt that shows nothing."""
    texts = [file.prompt.template]
    texts += [text for turn in file.prompt.turns if not turn.each for text in (turn.user, turn.assistant)]
    try:
        names = list(dict.fromkeys(name for text in texts for name in names_in(template_of(text))))
    except ValueError as error:
        raise InputError(at=Place(path), problem=str(error)) from None
    names += [turn.each for turn in file.prompt.turns if turn.each]
    # A field that is not known here would be shown empty, without anybody noticing.
    strange = [name for name in names if name not in (*file.fields, *PARTS)]
    if strange or not names:
        unexpected = f"{{{strange[0]}}}" if strange else "none"
        expected_fields = ", ".join(f"{{{name}}}" for name in file.fields)
        raise InputError(
            at=Place(path), expected=f"fields as the source has them ({expected_fields})", found=unexpected
        )
    file.fields = {name: spec for name, spec in file.fields.items() if name in names}
    shown = {spec.partition(":")[0] for spec in file.fields.values()} | {*names}
    # What the prompt does not show need not be given.
    file.sees = [name for name in file.sees if name in shown]


def _of_umbrela(given: Given, scale: str = "relevance") -> RubricFile:
    """UMBRELA's prompts: YAML with `prefix_user`, or the text of its older versions."""
    if given.path.endswith((".yaml", ".yml")):
        template = _text_named(yaml_texts(given.path), "prefix_user", given.path)
    else:
        # Its older versions read a file so, and strip it.
        template = read_prompt_file(given.path).strip()
    # Its judges send this sentence whatever the file says of a system message.
    system = "You are a helpful assistant." if given.system is None else given.system
    return _of_passages(
        Prompt(system, template=template),
        scale,
        follows="UMBRELA (Upadhyay et al., 2024), the prompt of its repository",
        departs=["its judges read a model's reasoning, too, where a server shows it"],
        reads="score-line",
        max_tokens=100,
        sampling={"max_tokens": 100, "top_p": 1, "frequency_penalty": 0.5, "presence_penalty": 0},
        tries=1,
        compat="umbrela",
        unreadable="unrelated",
    )


def _of_passages(prompt: Prompt, scale: str, **more: Any) -> RubricFile:
    """Return a rubric that grades passages by numbers, which are labels of a rubric of ours."""
    labels = _labels(scale)
    return RubricFile(
        "passage",
        "label",
        ["question", "passage.segment"],
        prompt,
        unfenced=True,
        labels=labels,
        values={f"{grade:g}": label for label, grade in labels.items()},
        fields={"query": "question", "passage": "passage.segment", "examples": "examples"},
        judged_as=scale,
        canaries=True,
        **more,
    )


def _of_umbrela_2025(given: Given) -> RubricFile:
    """Read a prompt whose grades go from 0 to 4 by the sub-narratives that a passage answers."""
    file = _of_umbrela(given, "relevance-2025")
    file.follows = "UMBRELA as TREC RAG 2025 used it, grades 0 to 4 by sub-narratives"
    file.departs = [
        *file.departures,
        "that its parameters and its reading are those of 2024 is taken for granted",
        "sub-narratives are shown as a list in JSON",
    ]
    file.sees.append("sub_narratives")
    file.fields |= {"narrative": "question", "topic": "question", "segment": "passage.segment"}
    file.fields["sub_narratives"] = "sub_narratives:json"
    return file


def _of_nuggetizer(given: Given) -> RubricFile:
    """Read the nuggetizer's prompts: YAML whose `method` says which of its three steps it is."""
    texts = yaml_texts(given.path)
    method = _text_named(texts, "method", given.path)
    if method not in _STEPS:
        raise InputError(
            at=Place(given.path, inside="method"),
            expected=f"one of {', '.join(_STEPS)}",
            found=f"{method!r}",
        )
    system = texts.get("system_message", "") if given.system is None else given.system
    return _step(method, Prompt(system, template=_text_named(texts, "prefix_user", given.path)))


def _step(method: str, prompt: Prompt) -> RubricFile:
    """Return the rubric of one of the nuggetizer's steps."""
    common = {
        "follows": "AutoNuggetizer (Pradeep et al., 2024), the prompt of the nuggetizer's repository",
        "departs": [_ASKED_AGAIN],
        "reads": "json-list",
        "max_tokens": 4096,
        "sampling": {"max_completion_tokens": 4096},
        "again": 0.2,
        "compat": "nuggetizer",
        **_STEPS[method],
    }
    if judged_as := common.get("judged_as"):
        common["labels"] = _labels(judged_as)
    if "assignment" in method and "partial_support" not in prompt.template:
        common["labels"] = _labels("nugget-assignment-binary")
    return RubricFile(prompt=prompt, unfenced=True, **common)


_STEPS: dict[str, dict[str, Any]] = {
    "nugget_creation": {
        "unit": "passages",
        "kind": "texts",
        "sees": ["question", "nuggets", "passages.segment"],
        "fields": {
            "query": "question",
            "context": "passages.segment:numbered",
            "nuggets": "nuggets:python",
            "nuggets_length": "nuggets:count",
            "creator_max_nuggets": "most",
        },
        "kept": 30,
        "compat": None,
    },
    "nugget_scoring": {
        "unit": "bank",
        "kind": "labels",
        "sees": ["question", "nuggets"],
        "fields": {"query": "question", "nuggets": "nuggets:python", "num_nuggets": "nuggets:count"},
        "judged_as": "nugget-importance",
        "unreadable": "okay",
    },
    "nugget_assignment": {
        "departs": ["an empty answer is asked about, too", _ASKED_AGAIN],
        "unit": "nuggets",
        "kind": "labels",
        "sees": ["question", "answer", "nuggets"],
        "fields": {
            "query": "question",
            "context": "answer",
            "nuggets": "nuggets:python",
            "num_nuggets": "nuggets:count",
        },
        "judged_as": "nugget-assignment",
        "canaries": True,
        "unreadable": "not_support",
    },
}
_STEPS["nugget_assignment_2grade"] = _STEPS["nugget_assignment"]


def _of_crag(given: Given) -> RubricFile:
    """CRAG's script: instructions and examples in `templates.py`, the question in `local_evaluation.py`."""
    texts: dict[str, str] = {}
    template = None
    for path in given.paths:
        texts |= python_texts(path)
        # The script is read as text and never run.
        template = template or python_template(path, {"query", "ground_truth", "prediction"})
    if template is None:
        raise UsageError(
            f"{', '.join(given.paths)}: the text with {{query}}, {{ground_truth}} and {{prediction}} is not"
            " there; expected the script itself, too (local_evaluation.py beside prompts/templates.py)"
        )
    parts = (_text_named(texts, name, given.paths[0]) for name in ("INSTRUCTIONS", "IN_CONTEXT_EXAMPLES"))
    trim, departs = (
        Trim("answer", words=75),
        ["answers are cut at 75 words, not at 75 tokens of Llama 2's tokenizer (--tokenizer tokenizer.json)"],
    )
    if given.tokenizer is not None:
        digest = sha256_of(given.tokenizer)
        trim, departs = Trim("answer", tokens=75, tokenizer=given.tokenizer, sha256=digest), []
    return RubricFile(
        "answer",
        "label",
        ["question", "gold", "answer"],
        Prompt("\n".join(parts), template=template),
        unfenced=True,
        follows="CRAG (Yang et al., 2024), the script of its repository",
        departs=[
            "each gold answer is asked about by itself, not each of its letters, as the script has it",
            _BOUNDED,
            *departs,
        ],
        labels=_labels("crag-auto"),
        values={"1": "accurate", "0": "incorrect"},
        fields={"query": "question", "ground_truth": "gold:first", "prediction": "answer"},
        first_stage="crag-script",
        judged_as="crag-auto",
        reads="last-object",
        canaries=True,
        each="gold",
        trim=trim,
        tries=1,
        compat="crag",
        unreadable="incorrect",
    )


def _of_ragtifier(given: Given) -> RubricFile:
    """RAGtifier's Figure 2, as a text with its two headings."""
    texts = headed_texts(given.path, ("System Prompt", "Query Prompt"))
    return RubricFile(
        "answer",
        "grades",
        ["question", "gold", "gold_passages", "answer", "passages"],
        Prompt(texts["System Prompt"], template=texts["Query Prompt"]),
        unfenced=True,
        follows="RAGtifier (Cofala et al., 2025), Figure 2",
        departs=[
            "how it writes several passages, and what it does with a reply that is no JSON, is not known",
            _BOUNDED,
        ],
        ranges=rubric_named("liverag").file.ranges,
        fields={
            "question": "question",
            "gold_answer": "gold:first",
            "gold_document": "gold_passages",
            "generated_answer": "answer",
            "retrieved_passages": "passages",
        },
        judged_as="liverag",
        reads="json",
        whole=True,
        canaries=True,
        temperature=0.1,
        tries=1,
    )


def _of_support(given: Given) -> RubricFile:
    """TREC RAG's support prompt: the constant of a Python file, or a text with its fields."""
    prompt = _plain_or_constant(given, ("statement", "citation", "answer"), "SUPPORT_EVAL_PROMPT")
    with suppress(ValueError):  # which is refused when its fields are looked for
        pieces = []
        for part in template_of(prompt.template):
            if not isinstance(part, Slot):
                pieces.append(part.replace("{", "{{").replace("}", "}}"))
            elif part.name == "citation":
                # What the script puts there of a segment.
                pieces.append("{passage.title}: {passage.segment}")
            else:
                pieces.append(f"{{{part.name}}}")
        prompt.template = "".join(pieces)
    return _of_support_prompt(
        prompt,
        follows="TREC RAG, support evaluation (Thakur et al., 2025), the prompt of its script",
        departs=[
            "a passage without a title is shown with an empty one",
            "a sentence's citations are all judged",
            _BOUNDED,
            _N_NOT_SENT,
        ],
        temperature=0.1,
    )


def _of_support_prompt(prompt: Prompt, **more: Any) -> RubricFile:
    # Later versions of the prompt ask for tags.
    tags = ["<support>", "</support>"] if "<support>" in prompt.template else []
    return RubricFile(
        "citation",
        "label",
        ["sentence", "passage.title", "passage.segment"],
        prompt,
        unfenced=True,
        labels=_labels("citation-support"),
        values={
            "Full Support": "full_support",
            "Partial Support": "partial_support",
            "No Support": "no_support",
        },
        fields={"statement": "sentence", "citation": "passage.segment"},
        judged_as="citation-support",
        reads="tagged" if tags else "contained",
        tags=tags,
        canaries=True,
        tries=1,
        **more,
    )


def _of_pairwise(given: Given) -> RubricFile:
    """Read a prompt that compares two answers and wants `[[A]]`, `[[B]]` or `[[C]]`, as MT-bench's does."""
    return RubricFile(
        "pair",
        "label",
        ["question", "answer_a", "answer_b"],
        _plain_or_constant(given, ("question", "answer_a", "answer_b"), "PROMPT"),
        unfenced=True,
        follows="MT-bench (Zheng et al., 2023), pairwise comparison; Ragnarök's arena",
        departs=[_BOUNDED],
        labels=_labels("pairwise"),
        values={"A": "a", "B": "b", "C": "tie"},
        fields={name: name for name in ("question", "answer_a", "answer_b")},
        judged_as="pairwise",
        reads="tagged",
        tags=["[[", "]]"],
        tries=1,
    )


def _of_listwise(given: Given) -> RubricFile:
    """RankLLM's prompts, in one turn (RankVicuna) or in several (RankGPT)."""
    texts = yaml_texts(given.path)
    system = texts.get("system_message", "") if given.system is None else given.system
    return RubricFile(
        "list",
        "permutation",
        ["question", "answers"],
        _listwise_prompt(texts, system, given.path),
        unfenced=True,
        follows="RankVicuna and RankGPT (RankLLM's prompts), the judge of the sentence-ordering paper",
        departs=[
            "what ftfy mends in a text (fix_text) is shown as it is",
            "more than 20 answers are ranked at once, not in windows of 20",
            "texts are cut to a window's words alone, whatever room a model has",
            _BOUNDED,
        ],
        fields={"query": "question:unbracketed", "num": "answers:count", "passages": "answers:words"},
        judged_as="listwise",
        reads="ranking",
        tries=1,
        compat="rankllm",
    )


def _listwise_prompt(texts: Mapping[str, str], system: str, path: str) -> Prompt:
    """Return the prompt, in one turn or in several: in these each passage is shown as if a model took it."""
    if "body_user" not in texts:
        item = _text_named(texts, "body", path)
        return Prompt(system, "", f"{texts.get('prefix', '')}{{passages}}{texts.get('suffix', '')}", item)
    turns = []
    if "prefix_user" in texts:
        turns.append(Turn(texts["prefix_user"], _text_named(texts, "prefix_assistant", path)))
    suffix, body = texts.get("suffix_user", ""), texts["body_user"]
    if "body_assistant" not in texts:
        return Prompt(system, "", f"{{passages}}{suffix}", body, turns=turns)
    turns.append(Turn(body, texts["body_assistant"], "passages"))
    return Prompt(system, template=_text_named(texts, "suffix_user", path), turns=turns)


def _of_ragdoll(given: Given) -> RubricFile:
    """RAGDoll's prompts: constants of its `prompts.py`, each told by its name."""
    texts = python_texts(given.path)
    # By its name: what RAGDoll does with a prompt, and where the import departs from it.
    makers = {
        name: (make, departs)
        for name in texts
        for pattern, make, departs in _RAGDOLLS
        if re.fullmatch(pattern, name)
    }
    fields = [name for _, make, _ in _RAGDOLLS for name in make(Prompt()).fields]
    name = choose_prompt({name: texts[name] for name in makers}, fields, given)
    make, departs = makers[name]
    system = given.system
    if system is None and name.startswith("NUGGET_"):
        system = texts.get(re.sub("(_2GRADE)?_USER$", "_SYSTEM", name))
    file = make(Prompt(system or "", template=texts[name]))
    file.follows = f"RAGDoll (castorini), {name}"
    file.departs = [
        "its agent sends a system message and parameters of its own, where a job has some",
        _BOUNDED,
        *departs,
    ]
    file.temperature, file.again, file.sampling = "unset", None, {}
    file.compat = file.unreadable = None
    file.tries = 1
    return file


_OfPrompt = Callable[[Prompt], RubricFile]


def _scored(prompt: Prompt) -> RubricFile:
    patterns = [
        r"(?i)##\s*+final score\s*+:\s*+([0-3])",
        r"(?i)final score\s*+:\s*+([0-3])",
        r"(?i)relevance category\s*+[:-=]?\s*+([0-3])",
        r"([0-3])\s*+\Z",
    ]
    return _of_passages(prompt, "relevance", reads="pattern", patterns=patterns)


def _preferred(prompt: Prompt) -> RubricFile:
    # How it calls a tie of two bad answers has changed.
    ties = dict.fromkeys(re.findall(r"\[\[(Tie[^\]\n]*+)\]\]", prompt.template))
    return RubricFile(
        "pair",
        "label",
        ["question", "answer_a", "answer_b"],
        prompt,
        unfenced=True,
        labels=_labels("pairwise"),
        values={"A": "a", "B": "b"} | dict.fromkeys(ties, "tie"),
        fields={"query": "question", "answer_a": "answer_a", "answer_b": "answer_b"},
        judged_as="pairwise",
        reads="alone",
        tags=["[[", "]]"],
    )


_IN_ONE_LIST = "a list with words around it is not read"
# By what a prompt is called: its rubric, and where that departs from RAGDoll.
_RAGDOLLS: tuple[tuple[str, _OfPrompt, tuple[str, ...]], ...] = (
    ("UMBRELA_ZERO_.*", _scored, ()),
    (
        "NUGGET_CREATOR_USER",
        partial(_step, "nugget_creation"),
        (_IN_ONE_LIST, "passages are shown a few at a time"),
    ),
    ("NUGGET_SCORER_USER", partial(_step, "nugget_scoring"), (_IN_ONE_LIST,)),
    ("NUGGET_ASSIGNER_(2GRADE_)?USER", partial(_step, "nugget_assignment"), (_IN_ONE_LIST,)),
    ("SUPPORT_EVAL_PROMPT", _of_support_prompt, ()),
    (
        "PAIRWISE_.*",
        _preferred,
        ("both orders are asked, of which it draws one", "a tie of two bad answers is a tie"),
    ),
)


SOURCES: dict[str, Callable[[Given], RubricFile]] = {
    "umbrela": _of_umbrela,
    "umbrela-2025": _of_umbrela_2025,
    "nuggetizer": _of_nuggetizer,
    "crag-script": _of_crag,
    "ragtifier": _of_ragtifier,
    "support": _of_support,
    "pairwise": _of_pairwise,
    "listwise": _of_listwise,
    "ragdoll": _of_ragdoll,
}


def _plain_or_constant(given: Given, fields: Sequence[str], usual: str) -> Prompt:
    """Return the prompt of a file: a constant of Python, what stands in a line of JSON, or all of it."""
    if given.path.endswith((".json", ".jsonl")):
        prompts = json_prompts(given.path, "prompt_template")
        name = choose_prompt(
            {name: texts["prompt_template"] for name, texts in prompts.items()}, fields, given
        )
        system = prompts[name].get("system_prompt", "") if given.system is None else given.system
        return Prompt(system, template=prompts[name]["prompt_template"])
    if given.path.endswith(".py"):
        constants = python_texts(given.path)
        return Prompt(given.system or "", template=constants[choose_prompt(constants, fields, given, usual)])
    return Prompt(given.system or "", template=read_prompt_file(given.path))


def _labels(name: str) -> dict[str, float]:
    """Return the labels of a rubric of ours, on whose scale verdicts by the prompt are."""
    return rubric_named(name).file.labels


def _text_named(texts: Mapping[str, str], name: str, path: str) -> str:
    if not texts.get(name):
        names = ", ".join(texts) or "nothing"
        raise InputError(at=Place(path), expected=f"the text {name!r}", found=names[:200])
    return texts[name]
