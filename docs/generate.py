"""Writes the pages that are made from the code: `python docs/generate.py`."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path
from string import Formatter

from rageval.measures import (
    Measure,
    _abstention,
    _alce,
    _citations,
    _claims,
    _confidence,
    _conversations,
    _grades,
    _intents,
    _novelty,
    _nuggets,
    _ragas,
    _ranks,
    _reports,
    _sets,
    _trajectories,
    _words,
    builtin,
    official,
    spans,
)
from rageval.measures.parsing import SHORT
from rageval.views import findings
from rageval.views.remarks import SCOPE, WORDS, Words, names_in
from rageval.views.templates import Choice, Each, Template

HERE = Path(__file__).parent
FAMILIES = (
    *(
        _novelty,
        _intents,
        _sets,
        _ranks,
        spans,
        _nuggets,
        _grades,
        _citations,
        _reports,
        _claims,
        _ragas,
        _alce,
        _abstention,
        _conversations,
        _confidence,
        _trajectories,
        _words,
    ),
)
SPELLING = """\
A measure is written `name(parameter=value,…)@k`: the cut-off follows `@` and may be left out,
parameters at their defaults are not printed. Case, `-` for `_` and `α` for `alpha` do not matter,
and the names of ir_measures, ndeval and trec_eval are understood, as are trec_eval's sets `official` and
`all_trec`."""


def measures_page() -> str:
    """Every measure's page, by family."""
    parts = [
        "# Measures\n\nMade from the docstrings by `docs/generate.py`; `rageval measures NAME` shows one.\n"
        f"\n{SPELLING}\n"
    ]
    parts += ["Short names: " + "; ".join(f"`{name}` is `{meant}`" for name, meant in SHORT.items()) + ".\n"]
    parts += ["Named sets: " + "; ".join(f"`official:{name}`" for name in official.OFFICIAL) + ".\n"]
    for module in FAMILIES:
        parts.append(f"## {(inspect.getdoc(module) or '').splitlines()[0]}\n")
        parts += [
            section(found) for found in builtin().values() if found.function.__module__ == module.__name__
        ]
    return "\n".join([*parts, trec_eval_names()])


def trec_eval_names() -> str:
    """What trec_eval's names are here, and what is not offered."""
    known = [f"| `{name}` | `{meant}` |" for name, meant in official.NAMES.items()]
    known += [f"| `{name}_K` | `{meant.format('K')}` |" for name, (meant, _) in official.FAMILIES.items()]
    missing = [f"| `{name}` | {why} |" for name, why in official.NOT_OFFERED.items()]
    return "\n".join(
        [
            "## Names of trec_eval's\n",
            "| there | here |\n|---|---|",
            *known,
            "\nNot offered:\n\n| there | why, and what is |\n|---|---|",
            *missing,
            "",
        ]
    )


def headline(measure: Measure) -> str:
    """A measure as one writes it, with the defaults of its parameters."""
    parameters = ", ".join(f"{parameter.name}={parameter.default}" for parameter in measure.declared.values())
    return measure.name + (f"({parameters})" if parameters else "") + "@k" * measure.takes_k


def section(measure: Measure) -> str:
    """One measure: signature, page, which way is better, and what ir_measures calls it."""
    text, _, example = measure.page.partition(">>> ")
    body = re.sub(
        r"^(Formula|Range|Over|Parameters|Caveats|Peers|Example):", r"**\1:**", text, flags=re.MULTILINE
    )
    body = re.sub(r"((?:^    .*\n?)+)", lambda block: "\n" + block.group(1), body, flags=re.MULTILINE)
    known = measure.called_by("ir_measures")
    better = f"**Better:** {measure.directions}\n"
    also = f"\nIn ir_measures: `{known}`.\n" if known else ""
    code = f"```python\n>>> {example.rstrip()}\n```\n"
    return f"### {measure.name}\n\n`{headline(measure)}`\n\n{body.rstrip()}\n\n{better}{also}\n{code}"


# What stands for a fact in the texts on the pages of remarks and findings, by its type or its name.
SAMPLES: dict[str, object] = {
    "int": 2,
    "int | None": 2,
    "float": 0.25,
    "float | None": 0.25,
    "bool": False,
    "str": "…",
    "str | None": None,
    "tuple[float, float, float]": (0.25, 0.25, 0.25),
    "_Lead": (0.25, 0.25, 0.25),
    "better": "neither",
    "by": "workers",
    "Sequence[int]": (2,),
    "Sequence[tuple[str, str]]": (("…", "…"),),
    "Sequence[str]": ("…",),
    "Sequence[tuple[str, int]]": (("…", 2),),
    "Sequence[tuple[int, int]]": ((10, 2),),
    "Sequence[tuple[str, float]]": (("…", 0.25),),
    "Sequence[tuple[str, str, str]]": (("…", "…", "…"),),
    "Sequence[tuple[str, str, float]]": (("…", "…", 0.25),),
    "Sequence[tuple[str, str, str, str]]": (("…", "…", "…", "…"),),
    "over": "orders",
    "on_missing": "skip",
    "expected": "text",
    "is_text": True,
    "is_expected_text": True,
    "value": "…",
    "unit": "nfkc",
    "other_kind": "qrels",
    "corrected": (),
    "change": "judge",
}


def sample_text(words: Words) -> str:
    """The text of a remark: its template, or what its function makes of samples."""
    if not callable(words):
        return template_text(words)
    types = {name: kind for name, kind in words.__annotations__.items() if name != "return"}
    return words(**{name: SAMPLES.get(name, SAMPLES[str(kind)]) for name, kind in types.items()})


def template_text(template: Template) -> str:
    """A template with the names of its facts in braces; of a choice, one of its texts."""
    if isinstance(template, Each):
        return f"{{{template.fact}}}"
    if isinstance(template, Choice):
        return template_text(template.otherwise or next(iter(template.by_value.values())))
    if isinstance(template, tuple):
        return "".join(map(template_text, template))
    text = ""
    for before, name, form, _ in Formatter().parse(template):
        form = form or ""
        field = f"'{{{name}}}'" if form in ("quoted", "id") or form.startswith("'") else f"{{{name}}}"
        text += before + (form.partition("|")[2] if "|" in form else field if name else "")
    return text


def facts_of(*words: Words) -> str:
    """The facts that the words of a code need, as a cell of a table."""
    names = set().union(*map(names_in, words)) - SCOPE - findings.PLACE
    return ", ".join(f"`{name}`" for name in sorted(names))


def skill_page() -> str:
    """The page for coding agents, which `rageval skill` prints."""
    return (HERE.parent / "rageval/views/SKILL.md").read_text(encoding="utf-8")


def findings_page() -> str:
    """Every code of a finding, its facts, its message, and its effect."""
    rows = []
    for code, words in sorted(findings.WORDS.items()):
        effect = findings.EFFECTS.get(code, "")
        cells = (f"`{code}`", facts_of(words, effect), *map(sample_text, (words, effect)))
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(
        [
            "# Findings\n",
            "Made from `rageval/views/findings.py` by `docs/generate.py`.\n",
            "A finding of [`validate`](files.md#validation) or [`doctor`](doctor.md) is a"
            " [remark](remarks.md) on a line of a file, with a `level`: `error`, `warning`, or `fixed` for a"
            " repair. `about` has `file` and `line`. `message` is the finding in words, `effect` its effect"
            " on measures, where that is known. Programs should read codes and facts; texts may change.\n",
            "`field` is the place in a record. `value` is a value of a file: a text, or, if `is_text` is"
            " false, the JSON of another value. Texts of a file are cut after 1,000 characters. `number` is"
            " how many there are; the other facts are of the first.\n",
            "A fact in braces, `…` or a sample number stands for what is found.\n",
            "| code | facts | message | effect |\n| --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )


def json_page() -> str:
    """What each command prints as JSON, from docs/json.toml."""
    schema = tomllib.loads((HERE / "json.toml").read_text(encoding="utf-8"))
    names = "|".join(schema["objects"])

    def linked(kind: str) -> str:
        return re.sub(rf"\b({names})\b", lambda name: f"[{name[0]}](#{name[0].lower()})", kind)

    parts = [
        "# JSON outputs\n",
        "Made from `docs/json.toml` by `docs/generate.py`.\n",
        "These are the JSON outputs of commands: `--format json` prints one value, `--format jsonl` a value a"
        " line. [Files](files.md) describes the files that other commands write. Numbers have every digit;"
        " what is undefined is `null`. A later version may add fields. Programs should read codes and facts;"
        " texts may change.\n",
        "| command | `json` | a line of `jsonl` | codes |\n| --- | --- | --- | --- |",
    ]
    for output in schema["outputs"]:
        option = f" {output['option']}" if "option" in output else ""
        codes = f"[{output['codes']}]({output['codes']}.md)" if "codes" in output else ""
        kinds = (linked(output.get(style, "")) for style in ("json", "jsonl"))
        parts.append(f"| `rageval {output['command']}{option}` | {' | '.join(kinds)} | {codes} |")
    parts.append(
        "\nA number may be an integer. A map is an object whose keys are names. In a list or a map, each"
        " value is of one of the types. A field with `?` may be absent; `*` stands for all other fields.\n"
    )
    for name, fields in schema["objects"].items():
        parts.append(f"## {name}\n\n| field | type | meaning |\n| --- | --- | --- |")
        for field, text in fields.items():
            kind, _, meaning = text.partition(": ")
            parts.append(f"| `{field}` | {linked(kind)} | {meaning} |")
        parts.append("")
    return "\n".join(parts)


def remarks_page() -> str:
    """Every code of a remark, its facts and its text."""
    rows = [
        f"| `{code}` | {facts_of(words)} | {sample_text(words).replace('|', chr(92) + '|')} |"
        for code, words in sorted(WORDS.items())
    ]
    return "\n".join(
        [
            "# Remarks\n",
            "Made from `rageval/views/remarks.py` by `docs/generate.py`.\n",
            "A remark says what should be known beside a result: `code`, `about` (what it is about), `facts`,"
            " and `text`. In JSON it has these four keys. In Python it is a `Remark`, and its `str` is its"
            " text. Programs should read codes and facts; texts may change.\n",
            "`about` has `systems` (one, or two that are compared), `measure` and `file`, as far as a remark"
            " is about them, and `anchor` for the comparison of a gate with its anchor. It is empty for a"
            " remark on everything. The text begins with what it names.\n",
            "A reason is a remark, too. Pairs, decisions, corrected values and slices have `reasons`: why"
            " there is no verdict or no value, or what else to know. CSV has their texts in the column"
            " `why`. A fact may be the reason for a remark.\n",
            "A fact in braces, `…` or a sample number stands for what is found.\n",
            "| code | facts | text |\n| --- | --- | --- |",
            *rows,
            "",
        ]
    )


def main() -> None:
    (HERE / "measures.md").write_text(measures_page(), encoding="utf-8")
    (HERE / "remarks.md").write_text(remarks_page(), encoding="utf-8")
    (HERE / "findings.md").write_text(findings_page(), encoding="utf-8")
    (HERE / "json.md").write_text(json_page(), encoding="utf-8")
    (HERE / "skill/SKILL.md").write_text(skill_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
