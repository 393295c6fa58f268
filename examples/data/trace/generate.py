"""Writes made-up answers of two systems to real questions, and what a judge by rule said of them with quotes.

`thorough` says most of what there is to say, `brief` one thing, and both sometimes cite the wrong passage.
`python examples/data/trace/generate.py` makes the same files again; with `--store FILE` the prompts and the
replies are kept, too, as a model's would be.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rageval.judges import Request, Settings, gathered, judged_by, rubric_named
from rageval.testing import ScriptedModel

HERE = Path(__file__).parent
SEED = 4
# A question, the gold answer, and nuggets = the sentences that say them; the first is vital.
TOPICS = """
Why is the sky blue? | Air scatters blue light more than red.
air scatters blue most = Air scatters short waves of light, such as blue, far more than long ones.
violet is seen less = Violet is scattered even more, but eyes see less of it and the Sun sends less.
sunsets are red = At sunset the light crosses more air, so that mostly red is left.

Why do cats purr? | Their throat muscles move the vocal folds as they breathe.
muscles of the throat = Muscles of the throat open and close the vocal folds as a cat breathes.
not only content = Cats purr when they are content, but also when they are hurt or afraid.
big cats roar = Most cats that roar do not purr.

How do vaccines work? | They show the immune system something harmless of a germ, which it remembers.
shows a harmless part = A vaccine shows the immune system a harmless part or form of a germ.
memory cells = Memory cells stay, and answer faster when the real germ comes.
some need boosters = For some germs the memory fades, and a booster renews it.

Why does bread rise? | Yeast makes gas, which the dough holds.
yeast makes gas = Yeast eats sugar and gives off carbon dioxide.
gluten holds it = Gluten makes the dough elastic, so that it holds the bubbles.
heat sets it = In the oven the bubbles grow until the crumb is set.

Why is the sea salty? | Rivers bring salts from rock, and water leaves by evaporation.
salts from rock = Rain dissolves salts from rock, and rivers carry them to the sea.
water evaporates = Water evaporates and leaves the salts behind.
vents add some = Hot vents on the sea floor add salts of their own.

How do noise-cancelling headphones work? | They play the opposite of the noise.
opposite wave = A microphone hears the noise, and the headphones play the opposite wave.
low sounds best = Steady, low sounds are cancelled best.
needs power = They need a battery, as a circuit has to compute the wave.

Why do leaves change colour in autumn? | Chlorophyll breaks down, and other pigments are seen.
chlorophyll breaks down = When days grow short, chlorophyll breaks down and the green fades.
carotenoids appear = Yellow carotenoids were there all summer, and become visible.
red is made anew = Red anthocyanins are made anew in autumn.

How does a heat pump heat a house? | It moves heat from outside into the house.
moves heat = A heat pump moves heat instead of making it.
boils when cold = Its refrigerant boils below the outdoor temperature, so that even cold air gives heat.
less when colder = The colder it is outside, the more power it needs.

Why do we have leap years? | A year is about a quarter of a day longer than 365 days.
quarter of a day = The Earth needs about 365 and a quarter days to go round the Sun.
centuries are skipped = Of the full centuries only every fourth is a leap year.
seasons would drift = Without leap days the seasons would drift through the calendar.

What makes popcorn pop? | Steam bursts the hull.
steam bursts the hull = Water in the kernel turns to steam, until the hull bursts.
starch foams = The hot starch foams up and sets as it cools.
dry kernels stay = Kernels that have dried out do not pop.

Why do stars twinkle? | Moving air bends their light.
air bends light = Layers of moving air bend the light of a star this way and that.
planets hardly = Planets hardly twinkle, as they are small discs rather than points.
worse near the horizon = Near the horizon the light crosses more air, and twinkles more.

How do bees make honey? | They thicken nectar with enzymes and by drying.
enzymes split sugar = Enzymes of the bees split the sugar of the nectar.
dried by fanning = Bees fan with their wings, until most of the water is gone.
sealed with wax = Cells that are full are sealed with wax.

Why does ice float? | Ice is less dense than water.
less dense = Water expands when it freezes, so that ice is less dense.
open lattice = In ice the molecules stand in an open lattice.
lakes freeze from above = Therefore lakes freeze from above, and fish live below.

Why do onions make us cry? | Cutting sets free a gas that irritates the eyes.
a gas irritates = Cutting sets an enzyme free that makes a gas, which irritates the eyes.
tears wash it out = Tears come to wash the gas out.
cold helps = A cold onion gives off less of it.

How does GPS find a place? | A receiver compares the times of signals from satellites.
times of signals = A receiver compares when signals of several satellites arrive.
four satellites = Four satellites are needed, as the receiver's clock is not exact.
relativity is corrected = The clocks of the satellites are corrected for relativity.

Why do we yawn? | Nobody knows for sure.
not known = Why we yawn is not known for sure.
may cool the brain = Yawning may cool the brain.
it is catching = Seeing others yawn makes us yawn, too.
"""
Record = dict[str, Any]


def topics() -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return the questions, each with the gold answer, nuggets and sentences."""
    items = []
    for block in TOPICS.strip().split("\n\n"):
        head, *facts = block.split("\n")
        question, gold = head.split(" | ")
        items.append((question, gold, [tuple(fact.split(" = ")) for fact in facts]))
    return items


def records() -> dict[str, list[Record]]:
    """Return what stands in each file."""
    rng = random.Random(SEED)
    files: dict[str, list[Record]] = {"questions": [], "nuggets": [], "answers": []}
    for index, (question, gold, facts) in enumerate(topics()):
        query, docs = f"why-{index:02d}", [f"doc-{index:02d}-a", f"doc-{index:02d}-b"]
        sentences = [sentence for _, sentence in facts]
        texts = [" ".join(sentences[:2]), sentences[2]]
        files["questions"].append({"query_id": query, "question": question, "answer": gold})
        nuggets = [
            {"text": fact, "importance": "okay" if n else "vital"} for n, (fact, _) in enumerate(facts)
        ]
        files["nuggets"].append({"qid": query, "query": question, "nuggets": nuggets})
        for run, enough in (("thorough", 0.85), ("brief", 0.45)):
            supported = [n for n in range(3) if rng.random() < enough] or [rng.randrange(3)]
            cited = [docs[n // 2 if rng.random() < 0.9 else 1 - n // 2] for n in supported]
            answer = [
                {"text": sentences[n], "citations": [doc]} for n, doc in zip(supported, cited, strict=True)
            ]
            passages = [{"id": doc, "text": text} for doc, text in zip(docs, texts, strict=True)]
            files["answers"].append(
                {"query_id": query, "run_id": run, "answer": answer, "passages": passages}
            )
    return files


def verdict(request: Request) -> str:
    """Return what the judge by rule replies: a nugget is there if its sentence is."""
    _, shown, _ = re.split(r"(?m)^[0-9a-f]{32}\n?", request.user, maxsplit=2)
    data = json.loads(shown)
    of_nugget = {fact: sentence for _, _, facts in topics() for fact, sentence in facts}
    verdicts = []
    for nugget in data["nuggets"]:
        quote = of_nugget[nugget["text"]].rstrip(".")
        is_quoted = quote in data["answer"]
        reason = "The answer says so." if is_quoted else "The answer does not mention it."
        label = {"label": "support" if is_quoted else "not_support", "evidence": quote if is_quoted else ""}
        verdicts.append({"id": nugget["id"], "reason": reason, **label})
    return json.dumps({"verdicts": verdicts})


def write(path: Path, lines: Iterable[Record]) -> None:
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", help="where the replies are kept")
    store = parser.parse_args().store
    for name, lines in records().items():
        write(HERE / f"{name}.jsonl", lines)
    material = gathered(
        [HERE / "answers.jsonl"], questions=HERE / "questions.jsonl", nuggets=HERE / "nuggets.jsonl"
    )
    with TemporaryDirectory() as folder:
        settings = Settings(store=store or f"{folder}/store.sqlite")
        rubric = rubric_named("nugget-assignment")
        judged = judged_by([ScriptedModel(verdict, "rule")], rubric, material, settings)
        write(HERE / "judged.jsonl", judged)


if __name__ == "__main__":
    main()
