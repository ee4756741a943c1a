"""weir.analysis.lasting_change: how often it is wrong, and what it finds. All is seeded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from weir.analysis.lasting_change import LEAST_RUNS, LastingChange, find_lasting_changes

Floats = NDArray[np.float64]
DEVIATION = 0.05
SERIES = 200


def found_in(log_rates: Floats) -> list[LastingChange]:
    return find_lasting_changes([*(1e9 * np.exp(DEVIATION * log_rates))])


def found_of(number: int, make: Callable[[np.random.Generator], Floats]) -> int:
    random = np.random.default_rng(18)
    return sum(bool(found_in(make(random))) for _ in range(number))


@pytest.mark.parametrize("runs", [LEAST_RUNS, 12, 20, 40])
def test_a_series_without_a_change_is_said_to_have_one_at_most_once_in_50(runs: int) -> None:
    assert found_of(SERIES, lambda random: random.standard_normal(runs)) <= SERIES / 50


def test_extreme_runs_are_no_lasting_change() -> None:
    """Student's t of two degrees of freedom has runs that are ten deviations away."""
    assert found_of(SERIES, lambda random: random.standard_t(2, 20)) <= SERIES / 50


@pytest.mark.parametrize("at", [7, 10, 12])
def test_a_step_of_three_deviations_in_20_runs_is_found_19_times_of_20(at: int) -> None:
    def stepped(random: np.random.Generator) -> Floats:
        return random.standard_normal(20) - 3.0 * (np.arange(20) >= at)

    assert found_of(SERIES, stepped) >= SERIES * 19 / 20


def test_a_step_is_where_it_was_made() -> None:
    noise = np.random.default_rng(1).standard_normal(21)
    (change,) = found_in(noise + 7.0 * (np.arange(21) >= 12))
    assert (change.kind, change.first, change.at, change.end) == ("step", 0, 12, 21)
    assert (change.runs_before, change.runs_after, change.is_firm) == (12, 9, True)
    assert change.ratio == pytest.approx(np.exp(7 * DEVIATION), rel=0.05)


@pytest.mark.parametrize(("after", "firm"), [(3, False), (4, False), (5, True)])
def test_few_runs_after_a_step_are_not_firm(after: int, firm: bool) -> None:
    noise = np.random.default_rng(2).standard_normal(20 + after)
    (change,) = found_in(noise - 20.0 * (np.arange(20 + after) >= 20))
    assert (change.runs_after, change.is_firm) == (after, firm)


def test_two_runs_after_a_step_are_too_few() -> None:
    assert (
        found_in(np.random.default_rng(2).standard_normal(22) - 9.0 * (np.arange(22) >= 20)) == []
    )


def test_a_rate_that_falls_and_recovers_has_two_steps() -> None:
    noise = np.random.default_rng(3).standard_normal(30)
    fall, rise = found_in(noise - 6.0 * ((np.arange(30) >= 10) & (np.arange(30) < 20)))
    assert (fall.first, fall.at, fall.end) == (0, 10, 20)
    assert (rise.first, rise.at, rise.end) == (10, 20, 30)
    assert fall.ratio < 0.8
    assert rise.ratio > 1.25


def test_a_steady_decrease_is_a_drift() -> None:
    noise = np.random.default_rng(4).standard_normal(24)
    (change,) = found_in(noise - np.linspace(0.0, 8.0, 24))
    assert change.kind == "drift"
    assert change.ratio == pytest.approx(np.exp(-8 * DEVIATION), rel=0.1)


def test_nothing_is_sought_in_short_series_equal_values_and_zeros() -> None:
    stepped = [1.0, 1.01, 1.02, 1.0, 1.01, 2.0, 2.01, 2.02, 2.0, 2.01]
    assert len(stepped) == LEAST_RUNS
    assert len(find_lasting_changes(stepped)) == 1
    assert find_lasting_changes(stepped[1:]) == []
    assert find_lasting_changes([]) == []
    assert find_lasting_changes([1.0] * 20) == []
    assert find_lasting_changes([0.0, *range(1, 20)]) == []


def test_a_change_of_less_than_two_percent_is_not_named() -> None:
    exact = np.random.default_rng(5).standard_normal(20) * 1e-4
    steps = np.arange(20) >= 10
    assert find_lasting_changes([*np.exp(exact + np.log(1.019) * steps)]) == []
    assert len(find_lasting_changes([*np.exp(exact + np.log(1.021) * steps)])) == 1
