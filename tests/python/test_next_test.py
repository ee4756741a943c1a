"""Proposals of the next test, from points to a campaign that ``weir campaign`` accepts."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from synthetic import make_events, make_run, write_run_folder
from weir.bench.errors import BenchError
from weir.campaign.design import purposes_of
from weir.campaign.file import parse_campaign_file
from weir.campaign.setup import design_campaign
from weir.cli import application
from weir.follow_up.campaign_text import campaign_text
from weir.follow_up.levels import between, beyond
from weir.follow_up.points import Measured, Point, points_of_runs
from weir.follow_up.proposal import information_bits, undecided_bits
from weir.follow_up.propose import propose
from weir.follow_up.surface import Surface
from weir.model.verdict import verdict
from weir.results.campaign import CampaignFactor, Value
from weir.results.finalize import finalize
from weir.results.folder import load_run
from weir.results.purpose import Purpose
from weir.results.record import Quantity

MEBI = 2**20
HOUR = 3600.0


def point(
    rate: float,
    *,
    scatter: float = 0.03,
    verdicts: tuple[str, ...] = (),
    expected: Quantity | None = None,
    seconds: float = 10.0,
    **settings: Value,
) -> Point:
    values = tuple(rate * factor for factor in (1 - scatter, 1.0, 1 + scatter))
    return Point(
        settings=settings,
        line="write",
        direction="write",
        values=values,
        median=rate,
        low=values[0],
        high=values[-1],
        verdicts=verdicts,
        expected=expected,
        seconds=seconds,
        runs=tuple(f"run-{rate:.0f}-{number}" for number in range(3)),
    )


def measured(points: list[Point]) -> Measured:
    factors = tuple(
        CampaignFactor(
            names=[name],
            levels=[[v] for v in dict.fromkeys(one.settings[name] for one in points)],
        )
        for name in points[0].settings
    )
    return Measured("stream", factors, {"ranks": 2}, tuple(points), 0)


def over_transfer(*sizes: int) -> list[Point]:
    return [point(500 * MEBI / (1 + 20_000 / size), transfer=size) for size in sizes]


def test_a_bit_is_what_halves_the_uncertainty() -> None:
    assert information_bits(0.0, 0.1) == 0
    assert information_bits(math.sqrt(3), 1.0) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="above 0"):
        information_bits(1.0, 0.0)


def test_a_verdict_that_is_certain_teaches_nothing() -> None:
    at_the_edge = undecided_bits(0.0, 0.1, 0.05, 0.0, 9.0)
    assert at_the_edge == pytest.approx(0.8), "one bit, of which four fifths are resolved"
    assert undecided_bits(0.0, 0.01, 0.05, -1.0, 1.0) < 1e-6


def test_a_surface_is_sure_at_points_and_unsure_between_and_beyond() -> None:
    x = np.array([[0.0], [0.1], [0.2], [0.3], [1.0]])
    y = np.array([0.0, 0.5, 0.1, 0.6, 0.2])
    surface = Surface(x, y, np.full(5, 0.01**2))
    at, near, gap, out = (
        surface.at(np.array([where])).deviation for where in (0.1, 0.15, 0.65, 1.6)
    )
    assert at < near < gap < out
    assert surface.at(np.array([0.1])).mean == pytest.approx(0.5, abs=0.05)
    surer = surface.with_point(np.array([0.65]), 0.01**2)
    assert surer.at(np.array([0.65])).deviation < gap / 5
    assert surer.at(np.array([0.65])).mean == pytest.approx(surface.at(np.array([0.65])).mean)


def test_a_point_as_if_measured_tells_nothing_of_errors() -> None:
    three = Surface(np.array([[0.0], [0.5], [1.0]]), np.array([0.0, 0.5, 0.1]), np.full(3, 0.01))
    assert three.held_out_median is None
    assert three.with_point(np.array([0.3]), 0.01).held_out_median is None


def test_the_widest_gap_is_confirmed_first() -> None:
    found = propose(measured(over_transfer(2**14, 2**15, 2**16, 2**22, 2**23)), HOUR, runs=1)
    confirmed = next(one for one in found if one.goal != "new region")
    assert 2**16 < int(confirmed.settings["transfer"]) < 2**22
    assert "between transfer = 64.0 KiB and 4.00 MiB" in confirmed.motivation
    assert "MiB/s to" in confirmed.expects
    assert confirmed.expected[0].low_bytes_per_second < confirmed.expected[0].bytes_per_second
    assert confirmed.follows


def test_each_goal_gets_a_test_and_the_time_is_kept() -> None:
    points = [
        point(rate * MEBI, ranks=ranks)
        for ranks, rate in ((1, 100), (2, 200), (4, 400), (8, 410), (16, 400), (32, 405))
    ]
    found = propose(measured(points), 200.0, runs=2)
    assert {one.goal for one in found} == {"new region", "confirm", "refined method"}
    assert sum(one.seconds for one in found) <= 200.0
    assert all(one.bits > 0 for one in found)
    assert found == propose(measured(points), 200.0, runs=2), "nothing is drawn at random"
    refined = next(one for one in found if one.goal == "refined method")
    assert "two models of write that both fit disagree" in refined.motivation
    assert "speaks for the law 'saturating'" in refined.decides


def test_no_test_is_proposed_that_the_time_does_not_allow() -> None:
    assert propose(measured(over_transfer(2**14, 2**16, 2**18)), 5.0, runs=1) == []


def test_a_verdict_that_was_not_decided_is_repeated() -> None:
    expected = Quantity(value=500 * MEBI, low=400 * MEBI, high=600 * MEBI)
    points = [
        point(300 * MEBI, transfer=2**14, scatter=0.1),
        point(
            399 * MEBI,
            transfer=2**16,
            scatter=0.1,
            verdicts=("not decided",) * 3,
            expected=expected,
        ),
        point(500 * MEBI, transfer=2**18, scatter=0.1),
        point(520 * MEBI, transfer=2**20, scatter=0.1),
    ]
    found = propose(measured(points), HOUR, runs=3)
    first = next(one for one in found if one.goal == "confirm")
    assert first.settings == {"transfer": 2**16}
    assert "3 of 3 verdicts are not decided" in first.motivation
    assert "whether write is below" in first.decides


def test_tests_that_cannot_be_run_are_passed_over() -> None:
    points = over_transfer(2**14, 2**16, 2**18, 2**20)

    def refuses(place: object) -> str | None:
        size = int(place["transfer"])  # type: ignore[index]
        return "too small" if size < 2**18 else None

    found = propose(measured(points), HOUR, runs=1, refuses=refuses)
    assert found
    assert all(int(one.settings["transfer"]) >= 2**18 for one in found)


def test_combinations_that_were_left_out_are_candidates() -> None:
    points = [
        point(100.0 * MEBI * ranks, ranks=ranks, api=api)
        for ranks, api in ((1, "POSIX"), (2, "POSIX"), (4, "POSIX"), (1, "MPIIO"), (4, "MPIIO"))
    ]
    places = [one.settings for one in propose(measured(points), HOUR, runs=1)]
    assert {"ranks": 2, "api": "MPIIO"} in places
    assert all(one["api"] in ("POSIX", "MPIIO") for one in places)


@pytest.mark.parametrize(
    ("first", "second", "middle"),
    [
        ((1,), (4,), (2,)),
        ((4,), (5,), None),
        ((2**20,), (2**21,), (2**20 + 2**19,)),
        ((0,), (10,), (5,)),
        ((1.0,), (1.1,), (1.049,)),
        ((1, 1000), (4, 2000), (2, 1414)),
    ],
)
def test_levels_between_are_as_round_as_their_neighbours(
    first: tuple[Value, ...], second: tuple[Value, ...], middle: tuple[Value, ...] | None
) -> None:
    assert between(first, second) == middle


def test_levels_beyond_are_at_most_twice_as_far_and_above_zero() -> None:
    assert beyond((4,), (16,)) == (32,)
    assert beyond((2,), (1,)) is None
    assert beyond((2**15,), (2**14,)) == (2**13,)
    assert beyond((1,), (0,)) is None


def test_the_campaign_is_accepted_and_tells_each_run_its_purpose() -> None:
    found = propose(measured(over_transfer(2**14, 2**16, 2**20)), HOUR, runs=2, most=3)
    text = campaign_text(
        found,
        workload="stream",
        name="after",
        description="what follows",
        runs=2,
        fixed={"ranks": 2, "write": True},
        head="one line\nanother",
    )
    file = parse_campaign_file(text, "after.toml", "after")
    campaign, _ = design_campaign(file, scale=None, platform=None, given={}, seed=1)
    assert len(campaign.runs) == 2 * len(found)
    for place, one in enumerate(found):
        run = next(run for run in campaign.runs if run.combination == place)
        purpose = campaign.purpose_of(run)
        assert campaign.combinations[place] == one.settings
        assert purpose is not None
        assert (purpose.goal, purpose.motivation) == (one.goal, one.motivation)
        assert purpose.follows == list(one.follows)


def test_a_purpose_holds_for_the_combinations_that_it_names() -> None:
    file = parse_campaign_file(
        """
        workload = "stream"
        [[factor]]
        name = "ranks"
        levels = [1, 2, 4]
        [[purpose]]
        motivation = "many ranks"
        when = { ranks = ">= 4" }
        [[purpose]]
        motivation = "the others"
        """,
        "file.toml",
        "file",
    )
    campaign, _ = design_campaign(file, scale=None, platform=None, given={}, seed=1)
    said = [one.motivation if one else None for one in campaign.purposes]
    assert said == ["the others", "the others", "many ranks"]
    wrong = file.model_copy(
        update={"purpose": [file.purpose[0].model_copy(update={"when": {"block": 1}})]}
    )
    with pytest.raises(BenchError, match=r"\[\[purpose\]\] when names block"):
        purposes_of(wrong, campaign.factors, campaign.combinations)


def write_runs(root: Path) -> None:
    for number, size in enumerate((2**16, 2**18, 2**20, 2**22)):
        run = make_run(bytes_per_operation=size, bins=2, noise=0.02, seed=number)
        parameters = run.parameters | {
            "transfer": run.parameters["no_pix"].model_copy(
                update={"value": size, "origin": "command line"}
            )
        }
        run = run.model_copy(update={"parameters": parameters})
        folder = root / f"job{number}" / "posix-unique-sync"
        write_run_folder(folder, run, make_events())


def test_the_command_writes_a_campaign_from_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs(tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEIR_BENCH", str(tmp_path / "no-weir-bench"))
    words = ["next", "results", "--time", "2h", "--within", "transfer=64k:16m", "--most=4"]
    application(words)(words, standalone_mode=False)
    told = capsys.readouterr().out
    assert "motivation: " in told
    file = parse_campaign_file(Path("results-next.toml").read_text(), "it", "it")
    assert file.purpose
    assert all(2**16 <= int(row[0]) <= 2**24 for row in file.factor[0].rows())
    with pytest.raises(BenchError, match="exists: give another file"):
        application(words)(words, standalone_mode=False)
    for wrong, said in (
        (["next"], "give a campaign's folder"),
        (["next", "results", "--time", "soon"], "--time: 'soon' is not a time"),
        (["next", "results", "--within", "pixels=1:2"], "have no such factor"),
        (["next", "results", "--within", "transfer=1"], "write NAME=LOW:HIGH"),
    ):
        with pytest.raises(BenchError, match=said):
            application(wrong)(wrong, standalone_mode=False)


def test_a_run_keeps_its_purpose_and_shows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_run_folder(tmp_path / "run", make_run(), make_events())
    purpose = Purpose(
        goal="confirm",
        motivation="because",
        expected=[
            {
                "direction": "write",
                "bytes_per_second": 2.0,
                "low_bytes_per_second": 1.0,
                "high_bytes_per_second": 3.0,
            }
        ],
        follows=["an-earlier-run"],
    )
    finalize(folder, verdict, purpose=purpose)
    finalize(folder, verdict)
    assert load_run(folder).purpose == purpose
    words = ["results", "show", str(folder)]
    application(words)(words, standalone_mode=False)
    told = capsys.readouterr().out
    assert "goal: confirm\nmotivation: because\n" in told
    assert "is outside the interval that was proposed, " in told
    assert "follows: an-earlier-run" in told


def test_what_differs_between_runs_are_the_factors_by_the_names_of_options() -> None:
    runs = []
    for number, size in enumerate((2**20, 2**21)):
        run = make_run(seed=number)
        one = run.parameters["no_pix"].model_copy(update={"origin": "command line"})
        parameters = {
            "block_bytes": one.model_copy(update={"value": 2**24}),
            "transfer_bytes": one.model_copy(update={"value": size}),
            "repetitions": one.model_copy(update={"value": 2}),
            "seed": one.model_copy(update={"value": number}),
            "verify": one.model_copy(update={"value": True, "origin": "default"}),
            # Fewer messages where they are larger, which nobody asked for.
            "iterations": one.model_copy(update={"value": 2**24 // size, "origin": "default"}),
        }
        runs.append(run.model_copy(update={"parameters": parameters}))
    found = points_of_runs(runs)
    assert [one.names for one in found.factors] == [["transfer"]]
    assert found.fixed == {"block": 2**24, "ranks": runs[0].plan.ranks, "repetitions": 2}
    other = runs[0].model_copy(update={"workload": "stream"})
    with pytest.raises(ValueError, match="the runs are of madbench, stream"):
        points_of_runs([*runs, other])


def test_repetitions_within_a_run_do_not_count_as_repeated_runs() -> None:
    alone = replace(point(100.0, scatter=0.5, transfer=2**14), runs=("one",))
    again = point(100.0, scatter=0.05, transfer=2**16)
    assert measured([alone, again]).noise == pytest.approx(0.05, rel=0.05)
    assert measured([alone]).noise > 0.4


def test_the_reason_is_told_if_no_test_can_be_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs(tmp_path / "results")
    monkeypatch.setenv("WEIR_BENCH", str(tmp_path / "no-weir-bench"))
    words = ["next", str(tmp_path / "results"), "--time", "2h", "--within", "transfer=1:2"]
    application(words)(words, standalone_mode=False)
    told = capsys.readouterr().out
    assert "cannot be run; the first: transfer = " in told
    assert "is not within 1 to 2" in told
