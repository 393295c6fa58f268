"""Records of Every Eval Ever, the exchange format of evaluations: one a system, with a line an interaction.

What is not known is not written: an interaction without its texts has an id and a value.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval.comparison import Settings
from rageval.comparison.estimates import estimate_means
from rageval.core.estimate import Estimate
from rageval.core.judge import parse_judge
from rageval.core.turn import CONVERSATION, TURN
from rageval.files.answers import read_answers
from rageval.files.jsonl import as_line
from rageval.files.opening import name_of
from rageval.files.writing import file_names, make_folder, whole_file
from rageval.judges.material import questions_in
from rageval.judges.rubric import Rubric, rubric_named, rubric_names
from rageval.measures.base import LOWER, Measure
from rageval.records import Answer, Question, Step
from rageval.scoring.query_groups import clusters_of
from rageval.table import or_none
from rageval.version import __version__

if TYPE_CHECKING:
    from rageval.files.steps import StepsOfAnswer
    from rageval.scoring.scores import Scores
    from rageval.scoring.subject import Subject
    from rageval.subjects import CommandFiles

SCHEMA = "0.3.0"
_LIBRARY = "rageval"
_UNKNOWN = "unknown"
_MODEL = {"deployment_type": _UNKNOWN, "model_availability": _UNKNOWN}  # which the format asks for


class MeasureResult(NamedTuple):
    """The mean of a system by a measure, the values behind it by query, and how it was computed."""

    measure: Any
    estimate: Estimate
    signature: str
    by_query: Mapping[str, float]


class Interaction(NamedTuple):
    """What a system was asked, and what it did: what is known of it.

    `turns` are what was asked and answered before, in the same conversation, and `amounts` what the answer
    states of tokens and seconds.
    """

    question: str = ""
    references: Sequence[str] = ()
    answer: str | None = None
    error: str = ""
    steps: Sequence[Step] = ()
    turns: Sequence[tuple[str, str | None]] = ()
    amounts: Mapping[str, float] = MappingProxyType({})


class Evaluation(NamedTuple):
    """What records say of an evaluation besides its numbers.

    `kind` is what was scored, `prompts` are what models were asked that judged, and `details` what else there
    is to say of the data. `interaction` looks up what one system did for one query.
    """

    title: str
    kind: str
    prompts: Sequence[str] = ()
    details: Mapping[str, str] = {}
    interaction: Callable[[str, str], Interaction] = lambda run, query: Interaction()


class Interactions:
    """Looks up what systems did, in questions, answers and trajectories, as far as these are there.

    >>> from rageval.records import Sentence
    >>> facts = ("conversation_id", "c"),
    >>> asked = {turn: Question(turn, f"What {turn}?", facts=(*facts, ("turn", turn))) for turn in "12"}
    >>> Interactions(asked, [Answer("1", "a", (Sentence("This."),))])("a", "2").turns
    (('What 1?', 'This.'),)
    """

    def __init__(
        self,
        questions: Mapping[str, Question],
        answers: Iterable[Answer] = (),
        agents: Mapping[str, Mapping[str, Sequence[StepsOfAnswer]]] = {},
    ) -> None:
        """Read the answers; of several to one question the first is shown."""
        self._questions, self._agents = questions, agents
        self._answers: dict[tuple[str, str], Answer] = {}
        for answer in answers:
            self._answers.setdefault((answer.run_id, answer.query_id), answer)
        self._conversations: dict[str, list[str]] = {}
        for query, question in questions.items():
            if (conversation := dict(question.facts).get(CONVERSATION)) is not None:
                self._conversations.setdefault(conversation, []).append(query)
        for queries in self._conversations.values():
            queries.sort(key=self._turn)  # in the order of the file where nobody numbered them

    def __call__(self, run: str, query: str) -> Interaction:
        """Return what a system did for a query."""
        question, answer = self._questions.get(query), self._answers.get((run, query))
        trajectories = self._agents.get(run, {}).get(query, ())
        asked = question.text if question is not None else answer.question if answer is not None else ""
        return Interaction(
            asked,
            () if question is None else question.gold,
            self._text(run, query),
            "" if answer is None else answer.error,
            trajectories[0].steps if trajectories else (),
            tuple((self._questions[turn].text, self._text(run, turn)) for turn in self._earlier(query)),
            {} if answer is None else answer.amounts,
        )

    def _text(self, run: str, query: str) -> str | None:
        answer = self._answers.get((run, query))
        return None if answer is None or answer.error else answer.text

    def _earlier(self, query: str) -> list[str]:
        """Return the queries that were asked before, in the same conversation."""
        facts = dict(self._questions[query].facts) if query in self._questions else {}
        queries = self._conversations.get(facts.get(CONVERSATION, ""), [query])
        return queries[: queries.index(query)]

    def _turn(self, query: str) -> float:
        turn = dict(self._questions[query].facts).get(TURN, "")
        return float(turn) if turn.isdecimal() else math.inf


def write_evaluation(
    scores: Sequence[Scores], subject: Subject, inputs: CommandFiles, options: Any, datasets: Sequence[str]
) -> None:
    """Write what a command line scored to its folder, with the texts that its options name."""
    # Without a dataset, an evaluation is called as its judgements are.
    judged = inputs.files[subject.kind.roles[-1]] or inputs.files[subject.kind.roles[0]]
    title = ", ".join(datasets) or PurePath(name_of(judged[0])).name.partition(".")[0]
    queries = list(subject.queries)
    clusters, by = clusters_of(None, queries, options.questions, inputs.question_sources)
    settings = Settings(population=options.population, clusters=clusters, clustered_by=by)
    judged_by = [subject.judged_by(of_run.run) for of_run in scores]
    judges = {judge for judges, _ in judged_by for judge in judges}
    rubrics = {rubric for _, rubrics in judged_by for rubric in rubrics}
    asked = {} if options.questions is None else questions_in(options.questions, [])
    answers = (answer for source in options.answers for answer in read_answers(source))
    agents = getattr(subject, "agents", {})
    trajectories = {name: agent.trajectories for name, agent in agents.items()}
    evaluation = Evaluation(
        title,
        subject.kind.noun,
        prompts_of(judges, rubrics),
        interaction=Interactions(asked, answers, trajectories),
    )
    write_records(options.eee, record_files(evaluation, results_of(scores, settings)))


def results_of(scores: Sequence[Scores], settings: Settings | None) -> dict[str, list[MeasureResult]]:
    """Return the results of systems that were scored by the same measures, with intervals."""
    columns = [
        estimate_means([of_run.scores[number] for of_run in scores], settings)
        for number in range(len(scores[0].scores))
    ]
    return {
        of_run.run: [
            MeasureResult(score.measure, estimate, score.signature, score.by_query)
            for score, estimate in zip(of_run.scores, estimates, strict=True)
        ]
        for of_run, estimates in zip(scores, zip(*columns, strict=True), strict=True)
    }


def record_files(evaluation: Evaluation, results: Mapping[str, Sequence[MeasureResult]]) -> dict[str, bytes]:
    """Return a record and the lines of interactions for each system, by their names in the format."""
    # Records say when they were made; a build that shall be repeated sets the time.
    now = str(os.environ.get("SOURCE_DATE_EPOCH") or int(time.time()))
    (board,) = file_names([evaluation.title]).values()
    names = file_names(results)
    files = {}
    for run, of_run in results.items():
        place = "/".join(file_names([part])[part] for part in _model_id(run).split("/", 1))
        about = f"{board}/{names[run]}/{now}"
        samples = "".join(f"{line}\n" for line in _sample_lines(evaluation, about, run, of_run)).encode()
        record = _record(evaluation, about, run, of_run, now)
        # The format asks for a random one; this one is the same for the same evaluation.
        lasting = (json.dumps(record).encode() + samples).replace(now.encode(), b"")
        digest = hashlib.sha256(lasting).digest()
        name = f"data/{board}/{place}/{uuid.UUID(bytes=digest[:16], version=4)}"
        if samples:
            files[f"{name}_samples.jsonl"] = samples
            record["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": f"{name}_samples.jsonl",
                "hash_algorithm": "sha256",
                "checksum": hashlib.sha256(samples).hexdigest(),
                "total_rows": samples.count(b"\n"),
            }
        files[f"{name}.json"] = json.dumps(record, indent=1, ensure_ascii=False).encode() + b"\n"
    return files


def write_records(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of records below a folder, beside the records of others."""
    for name, content in files.items():
        make_folder((folder / name).parent)
        with whole_file(folder / name) as stream:
            stream.write(content)


def _model_id(run: str) -> str:
    """Return who made a system, and its name: a name with a slash says both.

    >>> _model_id("meta-llama/Llama-3.1-8B"), _model_id("bm25")
    ('meta-llama/Llama-3.1-8B', 'unknown/bm25')
    """
    developer, slash, model = run.partition("/")
    return run if slash and developer and model else f"{_UNKNOWN}/{run}"


def _record(
    evaluation: Evaluation, about: str, run: str, results: Sequence[MeasureResult], now: str
) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA,
        "evaluation_id": about,
        "retrieved_timestamp": now,
        "source_metadata": {
            "source_name": evaluation.title,
            "source_type": "evaluation_run",
            "source_organization_name": _UNKNOWN,
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": _LIBRARY, "version": __version__},
        "model_info": {
            "name": run,
            "id": _model_id(run),
            "additional_details": {"kind": evaluation.kind, **_MODEL},
        },
        "evaluation_results": [
            _result(evaluation, result) for result in results if result.estimate.is_defined
        ],
    }


def _result(evaluation: Evaluation, result: MeasureResult) -> dict[str, Any]:
    measure, estimate = result.measure, result.estimate
    low, high = _ends(measure)
    details: dict[str, Any] = {"score": estimate.value}
    uncertainty: dict[str, Any] = {"num_samples": estimate.queries}
    if or_none(estimate.low) is not None and or_none(estimate.high) is not None:
        how = "corrected by human labels" if estimate.is_corrected else "bootstrap"
        interval = {"lower": estimate.low, "upper": estimate.high, "confidence_level": estimate.level}
        uncertainty["confidence_interval"] = interval | {"method": how}
    metric: dict[str, Any] = {
        "metric_id": str(measure),
        "metric_name": str(measure),
        "metric_parameters": {name: _plain(value) for name, value in _parameters(measure).items()},
        "lower_is_better": measure.better == LOWER,
        "score_type": "continuous",
        "min_score": _bounded(low),
        "max_score": _bounded(high),
        "additional_details": {"signature": result.signature, "better": str(measure.better)},
    }
    voices = [voice for judge in estimate.basis.judges for voice in judge.voices]
    if models := list(dict.fromkeys(voice.name for voice in voices if voice.name and not voice.is_person)):
        metric["llm_scoring"] = {
            "judges": [{"model_info": _model_info(model)} for model in models],
            "input_prompt": "\n\n".join(evaluation.prompts) or _UNKNOWN,
        }
    return {
        "evaluation_result_id": str(measure),
        "evaluation_name": str(measure),
        "source_data": {
            "dataset_name": evaluation.title,
            "source_type": "other",
            "additional_details": dict(evaluation.details),
        },
        "metric_config": metric,
        "score_details": details | {"uncertainty": uncertainty},
    }


def _model_info(judge: str) -> dict[str, Any]:
    provider, _, model = judge.rpartition(":")
    return {"name": judge, "id": f"{provider or _UNKNOWN}/{model}", "additional_details": _MODEL}


def prompts_of(judges: Iterable[str], rubrics: Iterable[str]) -> list[str]:
    """Return what judges were asked by these rubrics: the prompt of one of ours, else its name.

    >>> prompts_of(["person:a", "openai:m@00000000"], ["my-rubric", "crag"])
    ['crag', 'my-rubric']
    """

    versions = {
        getattr(voice, "prompt_digest", "") for judge in judges for voice in parse_judge(judge).voices
    }
    prompts = []
    for name in sorted(filter(None, rubrics)):
        rubric = rubric_named(name) if name in rubric_names() else None
        # Of another version of the rubric, the prompt is not known.
        if rubric is None or rubric.digest not in versions:
            prompts.append(name)
        else:
            prompts.append(prompt_text(rubric))
    return prompts


def prompt_text(rubric: Rubric) -> str:
    """Return all that a rubric tells a model, in order."""
    prompt = rubric.file.prompt
    return "\n\n".join(filter(None, [prompt.system, *prompt.steps, prompt.template or prompt.ask]))


def _parameters(measure: Any) -> dict[str, Any]:
    given = {name: measure.parameters[name] for name in measure.given} if isinstance(measure, Measure) else {}
    return {**given, **({"k": measure.k} if getattr(measure, "k", None) else {})}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return _bounded(value)
    return value if isinstance(value, str | int | None) else str(value)


def _ends(measure: Any) -> tuple[float, float]:
    return measure.ends if isinstance(measure, Measure) else (-math.inf, math.inf)


def _bounded(number: float) -> float | str:
    """Return a number, or the words that the format has for none.

    >>> _bounded(1.0), _bounded(-math.inf)
    (1.0, '-Infinity')
    """
    return number if math.isfinite(number) else "Infinity" if number > 0 else "-Infinity"


def _sample_lines(
    evaluation: Evaluation, about: str, run: str, results: Sequence[MeasureResult]
) -> Iterator[str]:
    """Yield a line a query and measure."""
    for query in dict.fromkeys(query for result in results for query in result.by_query):
        sample = _sample(query, evaluation.interaction(run, query))
        for result in results:
            value = result.by_query.get(query, math.nan)
            if not math.isfinite(value):
                continue
            name = str(result.measure)
            yield as_line(
                {
                    "schema_version": SCHEMA,
                    "evaluation_id": about,
                    "model_id": _model_id(run),
                    "evaluation_name": name,
                    "evaluation_result_id": name,
                    "sample_id": query,
                    **sample,
                    "evaluation": {
                        "score": value,
                        "is_correct": _is_best(result.measure, value),
                        **sample["evaluation"],
                    },
                }
            )


def _is_best(measure: Any, value: float) -> bool:
    """Return whether nothing could have a better value, which is what the format's `is_correct` can mean."""
    low, high = _ends(measure)
    return value <= low if measure.better == LOWER else value >= high


def _sample(query: str, done: Interaction) -> dict[str, Any]:
    """Return what a line says of an interaction, whatever the measure."""
    asked = done.question or query
    sample: dict[str, Any] = {"input": {"raw": asked, "reference": list(done.references)}, "evaluation": {}}
    if done.question:
        text = asked + "".join(done.references)
        sample["sample_hash"] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    messages = list(_messages(done))
    if done.steps or done.turns:
        sample["interaction_type"] = "agentic" if done.steps else "multi_turn"
        sample["messages"] = [{"turn_idx": index, **message} for index, message in enumerate(messages)]
        source, turn = f"messages[{len(messages) - 1}].content", len(messages) - 1
        calls = sum(len(message.get("tool_calls", ())) for message in messages)
        sample["evaluation"] = {"num_turns": len(done.turns) + 1, "tool_calls_count": calls}
    else:
        sample["interaction_type"] = "single_turn"
        sample["output"] = {"raw": [] if done.answer is None else [done.answer]}
        source, turn = "output.raw", 0
    taken = {
        "turn_idx": turn,
        "source": source,
        "extracted_value": done.answer,
        "extraction_method": "whole_answer",
        "is_terminal": True,
    }
    sample["answer_attribution"] = [] if done.answer is None else [taken]
    if done.error:
        sample["error"] = done.error
    spent = _spent(done)
    if "input_tokens" in spent and "output_tokens" in spent:
        tokens = {name: int(spent[name]) for name in ("input_tokens", "output_tokens")}
        sample["token_usage"] = {**tokens, "total_tokens": sum(tokens.values())}
    if "seconds" in spent:
        sample["performance"] = {"latency_ms": 1000 * spent["seconds"]}
    return sample


def _messages(done: Interaction) -> Iterator[dict[str, Any]]:
    """Yield the turns of a conversation, the calls of an agent with what they returned, and the answer."""
    for question, answer in done.turns:
        yield {"role": "user", "content": question}
        yield {"role": "assistant", "content": answer}
    yield {"role": "user", "content": done.question or None}
    for number, step in enumerate(done.steps, 1):
        if step.kind in ("model", "answer"):
            continue
        call = f"call_{number}"
        asked = {"id": call, "name": step.tool or step.kind, "arguments": _arguments(step)}
        yield {"role": "assistant", "content": None, "tool_calls": [asked]}
        returned = "error" if step.status == "error" else as_line([{"docid": doc} for doc in step.docs])
        yield {"role": "tool", "content": returned, "tool_call_id": [call]}
    if done.answer is not None:
        yield {"role": "assistant", "content": done.answer}


def _arguments(step: Step) -> dict[str, str]:
    """Return the arguments of a call as texts, as the format wants them.

    >>> _arguments(Step("search", request="a cause")), _arguments(Step("tool", request='{"n": 3}'))
    ({'query': 'a cause'}, {'n': '3'})
    """
    try:
        arguments = json.loads(step.request) if step.request.startswith("{") else None
    except ValueError:  # the query of a search, which may hold anything
        arguments = None
    if isinstance(arguments, dict):
        return {
            name: value if isinstance(value, str) else as_line(value) for name, value in arguments.items()
        }
    return {"query": step.request} if step.request else {}


def _spent(done: Interaction) -> dict[str, float]:
    """Return the tokens and seconds of an interaction: those of all steps, or else what the answer states."""
    models = [step for step in done.steps if step.kind == "model"]
    of_steps = {
        "input_tokens": _sum(step.input_tokens for step in models),
        "output_tokens": _sum(step.output_tokens for step in models),
        "seconds": _sum(step.seconds for step in done.steps),
    }
    stated = {name: done.amounts[name] for name in of_steps.keys() & done.amounts.keys()}
    return stated | {name: number for name, number in of_steps.items() if number is not None}


def _sum(numbers: Iterable[float | None]) -> float | None:
    """Return a sum; None of nothing, and where an amount is not known."""
    listed = list(numbers)
    stated = [number for number in listed if number is not None]
    return math.fsum(stated) if stated and len(stated) == len(listed) else None
