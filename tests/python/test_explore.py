"""``weir explore``: its first design, the loop on a simulated machine, and the command."""

from __future__ import annotations

import json
import math
import signal
import statistics
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cli_with_doubles import DEADLINE_SECONDS, Cli
from simulated_exploration import (
    FACTORS,
    HELD_OUT,
    Machine,
    begun,
    errors,
    explored,
    full_grid,
    true_rate,
)
from weir.campaign.exploring import with_test
from weir.campaign.file import parse_campaign_file
from weir.campaign.setup import design_campaign
from weir.follow_up.exploration import (
    all_places,
    expected_at,
    first_tests,
    known_of,
    middle_of,
    next_step,
    predictions,
)
from weir.follow_up.line import Place
from weir.results.campaign import CampaignFactor, load_campaign
from weir.results.exploration import load_steps
from weir.results.purpose import Purpose

SEEDS = (0, 1)


def test_the_loop_knows_more_with_a_quarter_of_the_grid_than_its_first_design() -> None:
    before = [statistics.median(errors(begun(seed).measured())) for seed in SEEDS]
    machines = [explored(seed, len(all_places(FACTORS)) // 4) for seed in SEEDS]
    after = [statistics.median(errors(one.measured())) for one in machines]
    assert all(one.runs == 16 for one in machines)
    assert statistics.median(after) < 0.6 * statistics.median(before)
    assert max(after) < 0.20
    grid = statistics.median(errors(full_grid(0).measured()))
    assert grid < statistics.median(after), "four times the runs are still better"


def test_most_true_rates_lie_in_the_intervals_of_an_exploration() -> None:
    measured = explored(0, 16).measured()
    inside = 0
    for place in HELD_OUT:
        made = predictions(measured, place)["write"]
        inside += made.low <= true_rate(place) <= made.high
    assert inside >= 0.8 * len(HELD_OUT)


def test_a_step_is_one_of_the_levels_and_says_what_it_expects() -> None:
    measured = begun(0).measured()
    step = next_step(measured, math.inf, runs=1, refuses=lambda _: None)
    assert step is not None
    assert {name: step.settings[name] for name in ("ranks", "transfer")} in all_places(FACTORS)
    assert step.goal == "confirm", "the first design reaches the ends of both factors"
    expected = expected_at(measured, step.settings, 1)["write"]
    assert expected.value == pytest.approx(step.expected[0].bytes_per_second)
    inner = replace(
        measured, points=tuple(one for one in measured.points if int(one.settings["ranks"]) > 1)
    )
    corner = next_step(
        inner, math.inf, runs=1, refuses=lambda one: "inner" if int(one["ranks"]) > 1 else None
    )
    assert corner is not None
    assert corner.goal == "new region"
    assert "outside of all tests, write is extrapolated" in corner.motivation.replace(
        " nothing was measured: ", " "
    )
    assert next_step(measured, math.inf, runs=1, refuses=lambda _: "no") is None
    assert next_step(measured, 5.0, runs=1, refuses=lambda _: None) is None, "10 s each"


def test_a_rate_with_few_points_gets_others_before_repetitions() -> None:
    machine = Machine(0)
    places = [place for place in all_places(FACTORS) if place["ranks"] == 1][:4]
    for place in (places[0], places[3], places[3]):
        machine.run(place)
    measured = machine.measured()
    only = [places[0], places[3]]

    def refuses(place: Place) -> str | None:
        return None if dict(place) in allowed else "not allowed"

    allowed = places
    step = next_step(measured, math.inf, runs=1, refuses=refuses)
    assert step is not None
    assert dict(step.settings) in places[1:3]
    allowed = only
    step = next_step(measured, math.inf, runs=1, refuses=refuses)
    assert step is not None, "nothing is left but to repeat"
    assert dict(step.settings) in only


def test_what_is_known_names_the_widest_interval_and_can_be_enough() -> None:
    places = all_places(FACTORS)
    (few,) = known_of(begun(0).measured(), places)
    (many,) = known_of(full_grid(0).measured(), places)
    assert many.widest < few.widest
    assert many.within(0.5)
    assert not few.within(few.widest * 0.99)
    assert few.at in places
    assert many.fastest[1].value > 10 * many.slowest[1].value


def test_the_first_design_is_small_and_has_a_middle() -> None:
    assert first_tests(2, 1, 64) == 5
    assert first_tests(3, 2, 1000) == 14
    assert first_tests(2, 1, 4) == 2
    words = CampaignFactor(names=["api"], levels=[["POSIX"], ["MPIIO"]])
    ranks = CampaignFactor(names=["ranks"], levels=[[1], [2], [4]])
    places = [{"api": "POSIX", "ranks": one} for one in (1, 2, 4)]
    assert middle_of([words, ranks], places) == 1
    with pytest.raises(ValueError, match="at most 2000 are explored"):
        all_places([CampaignFactor(names=["n"], levels=[[one] for one in range(2001)])])


def test_a_further_test_keeps_the_runs_before_it() -> None:
    text = "workload = 'w'\n[[factor]]\nname = 'ranks'\nlevels = [1, 2, 4]\n"
    file = parse_campaign_file(text, "it", "it")
    campaign, _ = design_campaign(file, scale=None, platform=None, given={}, seed=1)
    small = campaign.model_copy(update={"combinations": campaign.combinations[:2],
                                        "runs": campaign.runs[:2]})  # fmt: skip
    purpose = Purpose(motivation="because")
    grown = with_test(small, {"ranks": 4}, purpose, 2)
    assert grown.runs[:2] == small.runs
    assert grown.combinations == [{"ranks": 1}, {"ranks": 2}, {"ranks": 4}]
    assert [(run.number, run.combination, run.block) for run in grown.runs[2:]] == [
        (3, 2, 2),
        (4, 2, 2),
    ]
    again = with_test(grown, {"ranks": 1}, purpose, 1)
    assert again.combinations == grown.combinations
    assert again.purpose_of(again.runs[-1]) == purpose


class Explorer(Cli):
    """Runs ``weir explore`` in a folder of its own, with the doubles in place."""

    WORDS = ("explore", "madbench", "--factor", "transfer=1m:8m:*2", "-n", "4", "--first", "2")

    def __init__(self, folder: Path, answers: Path) -> None:
        super().__init__(folder, answers)
        (folder / "locks").mkdir()
        self.environment |= {
            "WEIR_LOCK_DIRECTORY": str(folder / "locks"),
            "DOUBLE_CALLS": str(folder / "calls.txt"),
        }


@pytest.fixture
def explorer(tmp_path: Path, double_answers: Path) -> Explorer:
    return Explorer(tmp_path, double_answers)


def test_an_exploration_goes_on_after_an_interruption(explorer: Explorer) -> None:
    words = (*explorer.WORDS, "--budget", "10min", "--most", "6", "--output", "out")
    output = explorer.folder / "out"
    with explorer.start(*words, ending="5:hangs") as child:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not list(output.glob("runs/0005/hanging")):
            assert time.monotonic() < deadline, "the first step never came"
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=DEADLINE_SECONDS)
        assert child.wait(0) == 130
    assert "interrupted, 4 of 5 runs are done" in err
    assert "--most=6 --budget=10min --output=out --resume" in err
    assert "Step 1: transfer=" in out
    assert "  motivation: " in out
    assert "  expected: " in out
    assert [step.step for step in load_steps(output)] == [0]
    edited = next((output / "runs" / "0002").glob("*/run.json"))
    edited.write_text(edited.read_text().replace('"complete"', '"complete" '))
    status, out, err = explorer.run(*words, "--resume")
    assert status == 0, err
    named = edited.parent.relative_to(explorer.folder)
    assert f"{named}: run.json was changed after the run was finalized" in err
    assert "  got: " in out
    assert "Ended: 6 runs were to be made at most" in out
    steps = load_steps(output)
    assert [step.step for step in steps] == list(range(len(steps)))
    assert len(steps) == 3, "the first design and two steps"
    assert {one.rate for one in steps[-1].known} == {one.rate for one in steps[-1].outcomes}
    campaign = load_campaign(output)
    assert [run.number for run in campaign.runs] == list(range(1, len(campaign.runs) + 1))
    goals = {run.purpose.motivation for run in campaign.runs if run.purpose}
    assert steps[1].motivation in goals
    record = json.loads(next((output / "runs" / "0005").glob("*/run.json")).read_text())
    assert record["purpose"]["motivation"] == steps[1].motivation
    assert (output / "report.html").is_file()


def test_an_exploration_ends_with_its_budget(explorer: Explorer) -> None:
    status, out, err = explorer.run(*explorer.WORDS, "--budget", "50ms", "--output", "out")
    assert status == 0, err
    assert "Ended: the budget ends: the next run is expected to take" in out
    assert "0 runs at 0 of 4 combinations" in out


def test_mistakes_are_one_line(explorer: Explorer) -> None:
    for words, told in (
        (("explore", "madbench"), "give at least one --factor"),
        (("explore", "--factor", "ranks=1,2"), "give a workload"),
        (("explore", "madbench", "--factor", "ranks"), "--factor 'ranks': write NAME=LEVELS"),
        (("explore", "madbench", "--factor", "block=1m", "-n", "4"), "nothing to explore"),
        ((*explorer.WORDS, "--until", "soon"), "--until soon: give a share above 0"),
    ):
        status, _, err = explorer.run(*words)
        assert (status, err.count("\n")) == (2, 1), err
        assert told in err
