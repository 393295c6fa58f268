"""Where answers were shown: recorded, read again, and what it was worth said and gated."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rageval import InputError, read_judgements
from rageval.comparison.arena import Games, games, positions_in, positions_of, strengths, why_biased
from rageval.files.judgements import judgement_line
from rageval.judges.base import Reply, Request, Usage
from rageval.judges.judge import Asked, JudgeClient, judge
from rageval.judges.material import Material, tasks
from rageval.judges.rubric import rubric_named
from rageval.records import Answer, Question, Sentence
from test_bad_input import command

Row = dict[str, Any]
SYSTEMS, QUERIES = 8, 12


def material(systems: int = SYSTEMS, queries: int = QUERIES, **more: Any) -> Material:
    """Answers that say how good they are: that of s0 is the best."""
    names = [f"q{index}" for index in range(queries)]
    answers = [Answer(q, f"s{index}", (Sentence(f"{index}"),)) for q in names for index in range(systems)]
    return Material(answers, {name: Question(name, "?") for name in names}, **more)


def saying(read: Callable[[Any], Any]) -> JudgeClient:
    """A judge that says this of the data it is shown."""

    def ask(requests: Asked, *_: object) -> Iterator[tuple[int, Reply]]:
        for number, request in requests:
            yield number, Reply("ok", json.dumps(read(shown_in(request))), usage=Usage())

    return JudgeClient("made:up", ask)


def shown_in(request: Request) -> Any:
    text = request.user
    return json.JSONDecoder().raw_decode(text[text.index("{", text.index("\n")) :])[0]


def with_steps(steps: int) -> JudgeClient:
    """Ranks by quality, but for the answer shown first, which it puts so many places higher."""

    def read(data: Any) -> Any:
        names = [item["id"] for item in sorted(data["answers"], key=lambda item: int(item["text"]))]
        first = data["answers"][0]["id"]
        place = names.index(first)
        names.insert(max(0, place - steps), names.pop(place))
        return {"ranking": names}

    return saying(read)


def ranked(steps: int, **more: Any) -> list[Row]:
    return list(judge(rubric_named("listwise"), material(**more), with_steps(steps)))


def written(rows: Iterable[Row], path: Path) -> str:
    path.write_text("".join(judgement_line(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def without_order(rows: Iterable[Row]) -> list[Row]:
    return [{key: value for key, value in row.items() if key != "shown"} for row in rows]


class TestRecord:
    def test_every_row_of_a_list_says_in_which_order_answers_were_shown(self) -> None:
        judged_rows = ranked(0, permutations=3)
        assert len(judged_rows) == SYSTEMS * QUERIES * 3
        shown = {(row["query_id"], row["aspect"]): row["shown"] for row in judged_rows}
        for task in tasks(rubric_named("listwise"), material(permutations=3)):
            row = next(iter(task.rows.values()))[0]
            order = [f"s{item['text']}" for item in task.data["answers"]]
            assert shown[row.query, row.aspect] == order
        assert all(row["shown"] == shown[row["query_id"], row["aspect"]] for row in judged_rows)

    def test_it_is_read_again_in_any_order_of_lines(self, tmp_path: Path) -> None:
        rows = ranked(2, permutations=2)
        rows.sort(key=lambda row: (row["aspect"], row["run_id"], row["query_id"]))  # answers lie apart
        table = read_judgements(written(rows, tmp_path / "judged"))
        expected = {
            (row["query_id"], row["run_id"], row["aspect"]): row["shown"].index(row["run_id"]) + 1
            for row in rows
        }
        for part in (table, table.only(lambda line: line.run_id != "s0")):
            orders = {
                (str(line.query_id), str(line.run_id), str(line.aspect)): part.shown_at(row)
                for row, line in part.each()
            }
            assert orders == {key: value for key, value in expected.items() if key in orders}
        assert len(orders) == len(expected) * (SYSTEMS - 1) // SYSTEMS

    def test_files_without_it_say_nothing(self) -> None:
        table = read_judgements(without_order(ranked(5)))
        assert {table.shown_at(row) for row, _ in table.each()} == {0}
        (positions,) = positions_of(table)
        assert (positions.lists, positions.rankings, positions.unknown) == (None, 120, 120)

    @pytest.mark.parametrize("shown", [[], ["s1"], ["s0", "s1", "s0"]])
    def test_an_order_that_cannot_be_is_refused(self, shown: list[str], tmp_path: Path) -> None:
        row = {"query_id": "q", "run_id": "s0", "aspect": "0", "grade": 1.0, "rubric": "listwise"}
        path = written([{**row, "run_id": "s1"}, {**row, "shown": shown}], tmp_path / "judged")
        message = "judged:2: expected as shown the systems .* each once, with 's0' among them"
        with pytest.raises(InputError, match=message):
            read_judgements(path)

    def test_who_stands_where_in_a_balanced_square_is_drawn_for_each_query(self) -> None:
        orders = [task.data["answers"] for task in tasks(rubric_named("listwise"), material(balanced=True))]
        assert len(orders) == QUERIES * SYSTEMS
        firsts = {json.dumps(orders[index * SYSTEMS]) for index in range(QUERIES)}
        assert len(firsts) > QUERIES / 2


class TestBias:
    def test_five_steps_are_seen_in_lists_of_eight(self) -> None:
        """From place 1, …, 8: 0, 1, 2, 3, 4, 5, 5, 5 places."""
        positions = positions_in(ranked(5, balanced=True))
        assert positions is not None
        assert positions.lists is not None
        first = positions.lists.places[0]
        assert first.lead == pytest.approx(25 / 8)
        assert first.low < 25 / 8 < first.high
        assert first.low > 2  # every query says the same, which may be chance
        table = positions_of(read_judgements(ranked(5, balanced=True)))
        assert table[0].lists is not None
        assert table[0].lists.places[0].lead == pytest.approx(25 / 8)

    def test_none_are_seen_where_there_are_none(self) -> None:
        positions = positions_in(ranked(0))
        assert positions is not None
        assert positions.lists is not None
        assert all(abs(place.lead) < 1e-9 for place in positions.lists.places)
        assert positions.corrected["s0"] == pytest.approx(1.0)
        assert positions.corrected["s7"] == pytest.approx(1 / 8)

    @pytest.mark.slow
    def test_corrected_points_sum_to_what_points_sum_to(self) -> None:
        positions = positions_in(ranked(3, permutations=4))
        assert positions is not None
        assert math.fsum(positions.corrected.values()) == pytest.approx((SYSTEMS + 1) / 2)
        raw = dict.fromkeys(positions.corrected, 0.0)
        for row in ranked(3, permutations=4):
            raw[row["run_id"]] += (SYSTEMS + 1 - row["grade"]) / SYSTEMS / 4 / QUERIES
        assert positions.corrected != pytest.approx(raw, abs=1e-4)  # orders that were drawn are uneven
        even = positions_in(ranked(3, balanced=True))
        assert even is not None
        raw = dict.fromkeys(even.corrected, 0.0)
        for row in ranked(3, balanced=True):
            raw[row["run_id"]] += (SYSTEMS + 1 - row["grade"]) / SYSTEMS**2 / QUERIES
        assert even.corrected == pytest.approx(raw)

    def test_one_order_a_query_is_enough_where_it_changes(self) -> None:
        positions = positions_in(ranked(5, permutations=1, queries=40))
        assert positions is not None
        assert positions.lists is not None
        assert positions.lists.places[0].low > 1
        same = [row for row in ranked(5, permutations=1) if row["query_id"] == "q0"]
        assert positions_in(same).lists is None  # type: ignore[union-attr]

    def test_rankings_that_are_none_are_left_out(self) -> None:
        rows = ranked(5)
        spoilt = [{**row, "grade": 1.0} if row["aspect"] == "0" else row for row in rows]
        positions = positions_in(spoilt)
        assert positions is not None
        assert positions.rankings == 9 * QUERIES

    @pytest.mark.slow
    def test_several_judges_are_told_apart(self) -> None:
        rows = [*ranked(5), *({**row, "judge": "fair"} for row in ranked(0))]
        biased, fair = (positions.as_dict() for positions in positions_of(read_judgements(rows)))
        assert str(why_biased(biased, 1.0)) == "position moves an answer by 3.28 places"
        assert why_biased(fair, 1.0) is None

    def test_a_pair_is_a_list_of_two(self) -> None:
        rows = judge(
            rubric_named("pairwise"),
            material(2),
            saying(lambda data: {"label": "a", "evidence": "", "reason": ""}),
        )
        positions = positions_in(rows)
        assert positions is not None
        assert positions.pairs is not None
        assert (positions.pairs.first_wins, positions.pairs.consistent) == (1.0, 0.0)
        assert str(why_biased(positions.as_dict(), 0.49)) == "position moves an answer by 0.50 places"
        assert why_biased(positions.as_dict(), 0.5) is None


class TestStrengths:
    def expected(self, theta: np.ndarray, delta: float, nu: float) -> Games:
        """Every pair shown in both orders as often as these strengths would have it, to a game."""
        rows = []
        for first in range(len(theta)):
            for second in range(len(theta)):
                if first == second:
                    continue
                one, other = math.exp(theta[first] + delta), math.exp(theta[second])
                tie = nu * math.sqrt(one * other)
                for outcome, share in ((1.0, one), (0.0, other), (0.5, tie)):
                    number = round(40_000 * share / (one + other + tie))
                    rows += [(first, second, outcome)] * number
        first, second, outcome = map(np.array, zip(*rows, strict=True))
        names = tuple(f"s{index}" for index in range(len(theta)))
        return Games(names, np.arange(len(rows)), first, second, outcome, in_order=True)

    @pytest.mark.slow
    @pytest.mark.parametrize(("delta", "nu"), [(0.0, 0.0), (1.5, 0.0), (1.5, 0.7), (-0.8, 0.7)])
    def test_strengths_come_back_whatever_being_first_is_worth(self, delta: float, nu: float) -> None:
        theta = np.array([0.8, 0.1, -0.9])
        games = self.expected(theta, delta, nu)
        fair = {row.system: row.strength for row in strengths(games, "davidson")}
        assert [fair[name] for name in games.systems] == pytest.approx(theta, abs=2e-3)

    def test_nobody_knows_what_the_place_is_worth_where_nobody_knows_who_was_first(self) -> None:
        rows = [
            {"query_id": query, "run_id": run, "aspect": "game", "label": label}
            for query, labels in (("q", ("win", "loss")), ("r", ("loss", "win")))
            for run, label in zip("ab", labels, strict=True)
        ]
        assert not games(read_judgements(rows)).in_order
        assert [strength.strength for strength in strengths(games(read_judgements(rows)))] == [0, 0]


class TestCommand:
    @pytest.mark.slow
    def test_a_judge_with_five_steps_is_told_so_and_fails(self, tmp_path: Path) -> None:
        path = written(ranked(5), tmp_path / "five")
        result = command("arena", path, "--max-bias", "1", "--format", "csv")
        assert result.code == 1
        assert "120 rankings an answer shown first is ranked 3.28 places ahead [" in result.err
        assert "moves an answer by 3.28 places, so --max-bias 1 is not met" in result.err
        table = list(csv.DictReader(io.StringIO(result.out)))
        assert list(table[0])[:4] == ["system", "rank_score", "queries", "order_corrected"]
        assert command("arena", path, "--max-bias", "4").code == 0
        assert command("arena", path).code == 0

    def test_one_without_passes(self, tmp_path: Path) -> None:
        assert command("arena", written(ranked(0), tmp_path / "zero"), "--max-bias", "0.01").code == 0

    def test_nobody_passes_whose_orders_are_not_known(self, tmp_path: Path) -> None:
        result = command("arena", written(without_order(ranked(0)), tmp_path / "old"), "--max-bias", "9")
        assert result.code == 1
        assert (
            "120 of 120 rankings and games do not record the order in which answers were shown" in result.err
        )
        assert (
            "the order in which answers were shown is not recorded, so --max-bias 9 is not met" in result.err
        )
        assert "corrected" not in result.out

    @pytest.mark.slow
    def test_the_passport_has_a_row_a_place(self, tmp_path: Path) -> None:
        paths = written(ranked(5), tmp_path / "five"), written(ranked(0), tmp_path / "zero")
        result = command("label", "agree", *paths, "--max-bias", "1")
        assert result.code == 1
        assert " 1 120 " in " ".join(result.out.split())
        assert "is ranked 3.28 places ahead" in result.out
        passport = json.loads(command("label", "agree", *paths, "--format", "json").out)
        assert len(passport["positions"]["lists"]) == SYSTEMS
        assert passport["positions"]["lists"][0]["lead"] > 3
        assert passport["order"] is None

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("option", "code", "queries", "message"),
        [
            ([], 0, "12", "; they are left out"),
            (["--invalid", "query"], 0, "11", "; these queries are left out"),
            (["--invalid", "refuse"], 2, "", "; judge them again, or leave them out: --invalid permutation"),
        ],
    )
    def test_invalid_rankings(
        self, option: list[str], code: int, queries: str, message: str, tmp_path: Path
    ) -> None:
        rows = [
            {**row, "grade": 1.0} if (row["query_id"], row["aspect"]) == ("q3", "2") else row
            for row in ranked(0)
        ]
        result = command("arena", written(rows, tmp_path / "judged"), "--format", "csv", *option)
        assert result.code == code
        assert (
            "1 of 120 rankings (of 1 queries) failed or have places that are not 1 to N" + message
            in result.err
        )
        assert [line.split(",")[2] for line in result.out.splitlines()[1:]] == [queries] * SYSTEMS * (
            not code
        )

    @pytest.mark.slow
    def test_a_report_shows_it(self, tmp_path: Path) -> None:
        pytest.importorskip("jinja2")
        page = str(tmp_path / "page.html")
        path = written(ranked(5), tmp_path / "five")
        assert command("report", path, "-m", "rank_score", "-o", page).code == 0
        assert "how much the position of an answer affects its rank" in Path(page).read_text(encoding="utf-8")
        page_data = json.loads(command("report", "show", page, "--format", "json").out)
        assert page_data["positions"][0]["lists"][0]["lead"] > 3
        assert any("places ahead" in remark["text"] for remark in page_data["remarks"])
