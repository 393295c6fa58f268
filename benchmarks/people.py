"""How well judges that need no model agree with people, on answers that people judged.

    python benchmarks/people.py TQ.json [NQ.json ...] [--replays 400] [--write]

The files are EVOUNA's, as `rageval datasets fetch evouna/tq` and `evouna/nq` leave them. Judges are tried on
the half of a file's questions on which nothing was fitted; of a file on which the `short` of the package was
not fitted, that one is tried on the whole, too. `bias` is the mean over systems of how far the judge's mean
is from people's, `wrong` the number of pairs of systems of which the judge's mean difference is significant
(|z| > 1.96) and points the other way than people's. `--write` fits `short` on the whole first file, measures
it on every file, and writes rageval/judges/short.toml and the picture of docs/short.md. It needs a second
file, on which nothing is fitted. Takes a minute a file.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.datasets._evouna import SYSTEMS, judged_answers
from rageval.files.opening import File
from rageval.judges import short
from rageval.judges._exact import contains, exact, first_stage, number, token_f1
from rageval.statistics.correction import corrected
from rageval.statistics.samples import in_proportion
from rageval.statistics.selective import keep
from timing import Row, markdown

Float = NDArray[np.float64]
PENALTY = 1.0
LABELS = 100
LABELLED = 300  # for a bound on the errors of what is kept
BOUND = 0.05
NEXT = (0.05, 0.1, 0.2)  # shares of the answers that another judge decides
SETS = {"TQ": "TriviaQA", "NQ": "search questions"}
PACKED = Path(short.__file__).with_name("short.toml")
ATTACK = " Or maybe {}."


class People(NamedTuple):
    """Answers [query, system] that people judged: what is asked and said, and whether it is right."""

    name: str
    sha: str
    questions: list[str]
    gold: list[tuple[str, ...]]
    texts: list[list[str]]
    right: Float
    features: Float  # [query, system, feature]

    def half(self, second: bool, seed: int = 0) -> People:
        """Half of the questions."""
        order = np.random.default_rng(seed).permutation(len(self.questions))
        return self.only(sorted(order[len(order) // 2 :] if second else order[: len(order) // 2]))

    def only(self, places: Sequence[int]) -> People:
        chosen = ([column[index] for index in places] for column in (self.questions, self.gold, self.texts))
        questions, gold, texts = chosen
        return People(self.name, self.sha, questions, gold, texts, self.right[places], self.features[places])  # type: ignore[arg-type]


def people(path: Path) -> People:
    """Read a file; queries of which any answer was not judged are left out."""
    rows: dict[str, list] = {}
    for judgement in judged_answers([File(str(path))]):
        rows.setdefault(judgement.question.query_id, []).append(judgement)
    whole = [of for of in rows.values() if [judgement.answer.run_id for judgement in of] == list(SYSTEMS)]
    features = [[short.features(e.answer.text, e.question.text, e.question.gold) for e in of] for of in whole]
    return People(
        path.stem,
        hashlib.sha256(path.read_bytes()).hexdigest(),
        [of[0].question.text for of in whole],
        [of[0].question.gold for of in whole],
        [[judgement.answer.text for judgement in of] for of in whole],
        np.array([[float(judgement.is_right) for judgement in of] for of in whole]),
        np.array(features),
    )


def fitted(data: People, number_of: int | None = None, seed: int = 0) -> short.Curve:
    """The curve that is fitted on answers, or on so many of them."""
    rows = data.features.reshape(data.right.size, -1)
    right = data.right.ravel() > 0
    chosen = np.arange(len(rows))
    if number_of is not None:
        chosen = np.random.default_rng(seed).permutation(chosen)[:number_of]
    return short.fit(rows[chosen].tolist(), right[chosen].tolist(), PENALTY)


def chances(curve: short.Curve, data: People) -> Float:
    rows = data.features.reshape(data.right.size, -1).tolist()
    return np.array([curve.of(row) for row in rows]).reshape(data.right.shape)


def verdicts(chance: Float, data: People) -> Float:
    """What `short` says: right from ½ on, unless the answer is an abstention."""
    silent = [[first_stage(text, ()) == "missing" for text in of] for of in data.texts]
    return (chance >= 0.5) & ~np.array(silent)


def by(judge: Callable[[str, Sequence[str]], float], data: People) -> Float:
    pairs = zip(data.texts, data.gold, strict=True)
    return np.array([[float(judge(text, gold)) for text in texts] for texts, gold in pairs])


def kappa(one: Float, other: Float) -> float:
    agreed = (one == other).mean()
    chance = one.mean() * other.mean() + (1 - one.mean()) * (1 - other.mean())
    return float((agreed - chance) / (1 - chance))


def wrong_pairs(values: Float, right: Float) -> tuple[int, int]:
    """Pairs of systems of which the judge is sure and wrong, and whose truth is outside its interval."""
    wrong = outside = 0
    for one, other in combinations(range(right.shape[1]), 2):
        differences, truth = values[:, one] - values[:, other], (right[:, one] - right[:, other]).mean()
        half = 1.96 * differences.std(ddof=1) / len(differences) ** 0.5
        wrong += abs(differences.mean()) > half > 0 and np.sign(differences.mean()) != np.sign(truth)
        outside += abs(differences.mean() - truth) > half
    return int(wrong), int(outside)


class Agreed(NamedTuple):
    """How a judge agrees with people."""

    error: float
    kappa: float
    bias: float
    wrong: int
    outside: int
    by_system: Float  # errors


def agreed(values: Float, data: People) -> Agreed:
    judged_right, right = (values >= 0.5).astype(float), data.right
    bias = float(np.abs(values.mean(axis=0) - right.mean(axis=0)).mean())
    errors = (judged_right != right).mean(axis=0)
    kappa_of_all = kappa(judged_right, right)
    return Agreed(float(errors.mean()), kappa_of_all, bias, *wrong_pairs(values, right), errors)


def judges(train: People, test: People) -> Iterator[Row]:
    """A row a judge, on the half on which nothing was fitted."""
    named = {"exact": exact, "contains": contains, "number": number, "token_f1": token_f1}
    tried = {name: by(judge, test) for name, judge in named.items()}
    for size in (100, 300, 1000, None):
        what = "all" if size is None else f"{size:,}"
        chance = chances(fitted(train, size), test)
        tried[f"short, fitted on {what} of the other half"] = verdicts(chance, test).astype(float)
    return (_row(name, agreed(values, test)) for name, values in tried.items())


def _row(name: str, row_of: Agreed) -> Row:
    return (
        name,
        f"{1 - row_of.error:.3f}",
        f"{row_of.kappa:.2f}",
        f"{row_of.bias:.3f}",
        f"{row_of.wrong} of 10",
    )


def calibration(chance: Float, right: Float) -> tuple[list[Row], float]:
    """Rows of ten bins, and the expected calibration error."""
    bins = np.minimum((chance * 10).astype(int), 9)
    rows, error = [], 0.0
    for decile in range(10):
        inside = bins == decile
        if inside.any():
            mean, share = float(chance[inside].mean()), float(right[inside].mean())
            error += abs(mean - share) * float(inside.mean())
            rows.append(
                (
                    f"{decile / 10:.1f} … {(decile + 1) / 10:.1f}",
                    f"{inside.sum():,}",
                    f"{mean:.3f}",
                    f"{share:.3f}",
                )
            )
    return rows, error


class Worth(NamedTuple):
    """What labels of one system's answers are worth, in plain labels, and how often intervals hold."""

    worth: float
    coverage: float
    width: float


def worth(
    values: Float, right: Float, sizes: Float | None, replays: int, rng: np.random.Generator
) -> list[Worth]:
    """Of each system: 100 labels and a correction, beside the mean of 100 labels; the last of all"
    " together."""
    squares = np.zeros((2, right.shape[1]))
    covered, width = np.zeros(right.shape[1]), np.zeros(right.shape[1])
    number_of = len(right)
    for system in range(right.shape[1]):
        truth = float(right[:, system].mean())
        size = None if sizes is None else sizes[:, system]
        chance = None if size is None else in_proportion(size.tolist(), LABELS)
        for _ in range(replays):
            plain = rng.choice(number_of, LABELS, replace=False)
            drawn = plain if size is None else np.argsort(rng.random(number_of) / size)[:LABELS]
            labels = {int(index): float(right[index, system]) for index in drawn}
            how = {"paired": False, "population": "set", "within": (0.0, 1.0)}
            correction = corrected(values[:, system], labels, chosen=chance, **how)  # type: ignore[arg-type]
            alone = corrected(
                np.zeros(number_of), {int(index): float(right[index, system]) for index in plain}, **how
            )  # type: ignore[arg-type]
            squares[:, system] += (alone.value - truth) ** 2, (correction.value - truth) ** 2
            covered[system] += correction.low <= truth <= correction.high
            width[system] += (correction.high - correction.low) / (alone.high - alone.low) / replays
    by_system = [
        Worth(100 * plain / other, in_it / replays, wide)
        for plain, other, in_it, wide in zip(*squares, covered, width, strict=True)
    ]
    together = 100 * squares[0].sum() / squares[1].sum()
    return [
        *by_system,
        Worth(float(together), float(covered.sum() / replays / len(covered)), float(width.mean())),
    ]


def worths(curve: short.Curve, data: People, replays: int) -> dict[str, list[Worth]]:
    """What labels are worth beside two judges, drawn at random or by doubt."""
    rng = np.random.default_rng(1)
    chance = chances(curve, data)
    judged_right = verdicts(chance, data).astype(float)
    doubt = np.maximum(np.sqrt(chance * (1 - chance)), 0.1)
    rows = {
        "contains, labels drawn alike": (by(contains, data), None),
        "short, labels drawn alike": (judged_right, None),
        "short, labels drawn by doubt": (judged_right, doubt),
    }
    return {name: worth(values, data.right, sizes, replays, rng) for name, (values, sizes) in rows.items()}


def worth_rows(curve: short.Curve, data: People, replays: int) -> Iterator[Row]:
    for name, (*by_system, together) in worths(curve, data, replays).items():
        coverages = [of_system.coverage for of_system in by_system]
        yield (
            name,
            " ".join(f"{of_system.worth:.0f}" for of_system in by_system),
            f"{together.worth:.0f}",
            f"{min(coverages):.3f} … {max(coverages):.3f}",
            f"{together.width:.2f}",
        )


def next_judges(curve: short.Curve, data: People) -> dict[float, float]:
    """Agreement by the share that a judge without errors decides: the least sure."""
    chance = chances(curve, data)
    wrong = (verdicts(chance, data) != data.right).ravel()
    order = np.argsort(-np.minimum(chance, 1 - chance).ravel(), kind="stable")
    left = {share: wrong[order[round(share * len(order)) :]].sum() for share in (0.0, *NEXT)}
    return {share: 1 - float(number) / len(wrong) for share, number in left.items()}


def kept(curve: short.Curve, data: People, replays: int) -> Row:
    """How much is kept with errors bounded by labels, and how often the bound is broken."""
    rng = np.random.default_rng(2)
    chance = chances(curve, data)
    wrong = (verdicts(chance, data) != data.right).ravel()
    doubt = np.minimum(chance, 1 - chance).ravel()
    shares, broken = [], 0
    for _ in range(replays):
        labels = rng.choice(len(wrong), LABELLED, replace=False)
        kept_part = keep(doubt.tolist(), {int(index): bool(wrong[index]) for index in labels}, BOUND)
        shares.append(0.0 if kept_part is None else kept_part.share)
        broken += kept_part is not None and wrong[doubt <= kept_part.doubt].mean() > BOUND
    return f"{np.median(shares):.2f}", f"{min(shares):.2f}", f"{broken:,} of {replays:,}"


def attacked(curve: short.Curve, data: People) -> Row:
    """How many wrong answers are called right, as they are and with the right one named behind."""
    plain, named, number_of = 0, 0, 0
    rows = zip(data.questions, data.gold, data.texts, data.right, strict=True)
    for question, gold, texts, right in rows:
        for text, is_right in zip(texts, right, strict=True):
            if not is_right:
                number_of += 1
                plain += curve.chance(text, question, gold) >= 0.5
                named += curve.chance(text + ATTACK.format(gold[0]), question, gold) >= 0.5
    return f"{number_of:,}", f"{plain / number_of:.3f}", f"{named / number_of:.3f}"


def speed(data: People) -> float:
    """Answers a second of processor time."""
    short.gold_features.cache_clear()
    curve = short.packed()
    began = time.process_time()
    for question, gold, texts in zip(data.questions, data.gold, data.texts, strict=True):
        for text in texts:
            curve.chance(text, question, gold)
    return data.right.size / (time.process_time() - began)


SIDE, MARGIN = 300, 44
INK, FAINT, DOT = "#59636e", "#afb8c1", "#1f6feb"
PICTURE = Path(__file__).parents[1] / "docs/images/short.svg"
FONT = "sans-serif"


def diagram(chance: Float, right: Float) -> str:
    """A reliability diagram: of answers with some chance, how many people called right; dots as large as"
    " many."""
    whole = SIDE + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {whole}" width="{whole}"'
        f' height="{whole}"'
        f' role="img" aria-label="Chance and share of right answers" font-size="12" fill="{INK}"'
        f' font-family="{FONT}">',
        f'<rect x="{MARGIN}" y="{MARGIN}" width="{SIDE}" height="{SIDE}" fill="none" stroke="{FAINT}"/>',
        f'<line x1="{MARGIN}" y1="{MARGIN + SIDE}" x2="{MARGIN + SIDE}" y2="{MARGIN}" stroke="{FAINT}"/>',
    ]
    for tick in (0, 0.5, 1):
        along, up = MARGIN + tick * SIDE, MARGIN + (1 - tick) * SIDE
        parts.append(f'<text x="{along}" y="{MARGIN + SIDE + 16}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text x="{MARGIN - 6}" y="{up + 4}" text-anchor="end">{tick:g}</text>')
    middle = MARGIN + SIDE / 2
    parts.append(
        f'<text x="{middle}" y="{whole - 8}" text-anchor="middle">chance that the answer is right</text>'
    )
    parts.append(f'<text x="{MARGIN}" y="{MARGIN - 10}">share that people call right</text>')
    bins = np.minimum((chance * 10).astype(int), 9)
    for tick in range(10):
        inside = bins == tick
        if inside.any():
            along = MARGIN + float(chance[inside].mean()) * SIDE
            up = MARGIN + (1 - float(right[inside].mean())) * SIDE
            radius = 3 + 12 * float(inside.mean()) ** 0.5
            parts.append(
                f'<circle cx="{along:.1f}" cy="{up:.1f}" r="{radius:.1f}" fill="{DOT}" fill-opacity="0.75"/>'
            )
    return "\n".join([*parts, "</svg>", ""])


def measured(name: str, tried: Sequence[tuple[short.Curve, People]], replays: int) -> list[str]:
    """What is written of a set: means of all that was tried, and of the first what labels make of it."""
    scored = [(chances(curve, test), test) for curve, test in tried]
    rows = [agreed(verdicts(chance, test).astype(float), test) for chance, test in scored]
    off = [calibration(chance.ravel(), test.right.ravel())[1] for chance, test in scored]
    by_system = np.mean([row.by_system for row in rows], axis=0)
    second = list(next_judges(*tried[0]).values())[1:]
    worth_of = [round(by_draw[-1].worth) for by_draw in list(worths(*tried[0], replays).values())[1:]]
    share = kept(*tried[0], max(replays, 1000))[0]
    return [
        f'set = "{SETS.get(name, name)}"',
        f"error = {np.mean([row.error for row in rows]):.4f}",
        f"systems = [{by_system.min():.3f}, {by_system.max():.3f}]  # least and most error of a system",
        f"calibration = {np.mean(off):.4f}  # expected calibration error",
        f"wrong_winners = {max(row.wrong for row in rows)}  # of 10 pairs; most in any split",
        f"outside = {max(row.outside for row in rows)}  # differences of people outside the interval of the"
        " judge, of 10; most in any split",
        f"second = [{', '.join(f'{agreement:.3f}' for agreement in second)}]  # agreement, if a judge without"
        " errors decides 5, 10 and 20 %",
        f"worth = {worth_of}  # of 100 labels of each system, drawn at random and by doubt",
        f"kept = [{share}, {share}]  # share of verdicts that 300 labels show to be at most 5 % wrong",
        f"kappa = {np.mean([row.kappa for row in rows]):.3f}",
        f"bias = {np.mean([row.bias for row in rows]):.4f}",
    ]


def write(data: People, others: Sequence[People], replays: int) -> None:
    """Fit on everything, and write the file of the package; what was measured of it is of half splits."""
    curve = fitted(data)
    halves = [(data.half(False, seed), data.half(True, seed)) for seed in range(20)]
    splits = [(fitted(train), test) for train, test in halves]
    words = [len(text.split()) for of in data.texts for text in of]
    lines = [
        "# The judge `short`: written by benchmarks/people.py, which also prints what docs/short.md shows.",
        f"intercept = {curve.intercept:.6g}",
        "",
        "[fitted]",
        f'data = "evouna/{data.name.lower()}"',
        f'sha256 = "{data.sha}"',
        f"answers = {data.right.size}",
        f"penalty = {PENALTY}",
        f"longest = {max(words)}  # words of an answer",
        "",
        "[[measured]]  # means of 20 splits: fitted on half of the questions, measured on the other half",
        f"answers = {data.right.size}",
        *measured(data.name, splits, replays),
    ]
    for other in others:
        lines += ["", "[[measured]]  # kept back: nothing was fitted on it, or chosen by it"]
        lines += [f"answers = {other.right.size}", *measured(other.name, [(curve, other)], replays)]
    columns = zip(short.FEATURES, curve.weights, curve.means, curve.deviations, strict=True)
    lines += ["", "[features]"]
    lines += [
        f"{name} = {{ weight = {weight:.6g}, mean = {mean:.6g}, deviation = {deviation:.6g} }}"
        for name, weight, mean, deviation in columns
    ]
    PACKED.write_text("\n".join(lines) + "\n", encoding="utf-8")
    first, test = splits[0]
    PICTURE.write_text(diagram(chances(first, test).ravel(), test.right.ravel()), encoding="utf-8")


def tables(data: People, replays: int) -> Iterator[str]:
    """Everything that is printed of a file."""
    elsewhere = not PACKED.exists() or short.record().fitted["sha256"] != data.sha
    train, test = data.half(False), data.half(True)
    curve = short.packed() if elsewhere else fitted(train)
    shown = data if elsewhere else test
    yield f"## {data.name}: {data.right.size:,} answers, {data.right.mean():.3f} of them right\n"
    header = ("judge", "agreement", "κ", "bias", "wrong")
    if elsewhere:
        package = verdicts(chances(curve, data), data).astype(float)
        yield markdown(header, [_row("short, as the package has it", agreed(package, data))]) + "\n"
    yield markdown(header, list(judges(train, test)))
    rows, error = calibration(chances(curve, shown).ravel(), shown.right.ravel())
    yield f"\nexpected calibration error {error:.3f}\n"
    yield markdown(("chance", "answers", "mean chance", "right"), rows)
    yield f"\n{LABELS} labels of each system, {replays:,} draws\n"
    header = (
        "judge and labels",
        "worth in plain labels, by system",
        "together",
        "intervals hold",
        "width beside plain",
    )
    yield markdown(header, list(worth_rows(curve, shown, replays)))
    yield ""
    decided = next_judges(curve, shown).items()
    rows = [(f"{share:.0%}", f"{agreement:.3f}") for share, agreement in decided]
    yield markdown(("share decided by a judge without errors", "agreement"), rows)
    yield ""
    header = (f"kept (median), errors ≤ {BOUND:.0%} by {LABELLED} labels", "least", "broken")
    yield markdown(header, [kept(curve, shown, max(replays, 1000))])
    yield ""
    yield markdown(
        ("wrong answers", "called right", "with “Or maybe GOLD.” behind"), [attacked(curve, shown)]
    )
    yield f"\n{speed(shown):,.0f} answers a second of processor time\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--replays", type=int, default=400)
    parser.add_argument("--write", action="store_true", help="fit anew, and write the file of the package")
    given = parser.parse_args()
    if given.write and len(given.files) < 2:
        parser.error("--write needs a second file, on which nothing is fitted")
    if given.write:
        write(people(given.files[0]), [people(path) for path in given.files[1:]], given.replays)
    for path in given.files:
        for line in tables(people(path), given.replays):
            print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
