"""How often runs are called unusual that are not, and how often what is unusual is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from simulated_transfers import (
    NOISES,
    PER_RANK,
    SHAPE,
    TARGETS,
    Grid,
    Simulated,
    host_of,
    place,
    server_of,
    simulate,
    target_of,
)
from weir.analysis.anomalies import Finding, find_anomalies
from weir.analysis.modes import dip, dip_significance, find_modes
from weir.analysis.stragglers import Level

HOMOGENEOUS = 200
TRIES = 20
LEAST_FOUND = 19
REPETITION, RANK, NUMBER = place(0), place(1), place(2)
MOMENT = (NUMBER + 0.5) / PER_RANK
COMMON_NOISE = "autocorrelated by rank"


def found_in(simulated: Simulated) -> list[Finding]:
    return find_anomalies(simulated.transfers, simulated.levels, simulated.offsets)


def where(condition: np.ndarray, factor: float) -> Grid:
    return np.where(condition, factor, 1.0)


def test_homogeneous_runs_are_not_called_unusual() -> None:
    """Five shapes of noise, with and without waiting: at most 1 of 50 runs gets any label."""
    wrong: Counter[str] = Counter()
    labelled = 0
    for number in range(HOMOGENEOUS):
        noise = NOISES[number % len(NOISES)]
        found = found_in(simulate(noise, 1000 + number, waits=number % 2 == 1))
        labelled += bool(found)
        wrong.update(f"{one.kind} in {noise}" for one in found)
    assert labelled <= HOMOGENEOUS // 50, wrong


def random_modes(seed: int) -> Grid:
    return where(np.random.default_rng(seed).random(SHAPE) < 0.3, 2.5)


UNUSUAL: dict[str, tuple[str, str, Callable[[int], Grid]]] = {
    "30 % of the transfers take 2.5 times as long": ("modes", "near", random_modes),
    "one of two repetitions is 2 times slower": (
        "modes",
        "that of repetition 1",
        lambda _: where(REPETITION == 1, 2.0),
    ),
    "every fourth transfer of a rank takes 3 times as long": (
        "modes",
        "order",
        lambda _: where(NUMBER % 4 == 3, 3.0),
    ),
    "times grow by 60 % from beginning to end": (
        "decreasing",
        "decreases steadily",
        lambda _: 1 + 0.6 * MOMENT,
    ),
    "the first 12 % take 1.7 times as long": (
        "warm-up",
        "is a warm-up",
        lambda _: where(MOMENT < 0.12, 1.7),
    ),
    "the last 40 % take 1.35 times as long": (
        "drop",
        "drops by",
        lambda _: where(MOMENT > 0.6, 1.35),
    ),
    "one rank of 16 takes 1.6 times as long": (
        "slow rank",
        "without rank 5",
        lambda _: where(RANK == 5, 1.6),
    ),
    "one host of 4 takes 1.6 times as long": (
        "slow host",
        "without host node2",
        lambda _: where(host_of(RANK) == 2, 1.6),
    ),
    "one target of 8 takes 1.6 times as long": (
        "slow target",
        "without target 7",
        lambda _: where(target_of(RANK) == 7, 1.6),
    ),
    "one server of 4 takes 1.6 times as long": (
        "slow server",
        "without server 1",
        lambda _: where(server_of(RANK) == 1, 1.6),
    ),
    "one target is 2.2 times slower for a part of the time": (
        "slow target",
        "other load is likelier",
        lambda _: where((target_of(RANK) == 3) & (MOMENT > 0.2) & (MOMENT < 0.6), 2.2),
    ),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_unusual_is_found_19_times_of_20(name: str) -> None:
    kind, words, factors = UNUSUAL[name]
    hits = 0
    for seed in range(TRIES):
        simulated = simulate(COMMON_NOISE, seed, factors(seed), waits=seed % 2 == 1)
        hits += any(
            one.kind == kind and words in "; ".join([one.text, *one.reasons])
            for one in found_in(simulated)
        )
    assert hits >= LEAST_FOUND


def test_periodic_dips_are_found_19_times_of_20() -> None:
    """Every 0.12 s, all transfers that begin within 0.03 s take three times as long."""

    def slowed(now: Grid) -> Grid:
        return where(now % 0.12 > 0.09, 3.0)

    hits = 0
    for seed in range(TRIES):
        found = found_in(simulate(COMMON_NOISE, seed, waits=seed % 2 == 1, slowed=slowed))
        hits += "periodic dips" in [one.kind for one in found]
    assert hits >= LEAST_FOUND


def test_an_uneven_allocation_and_its_tail_are_found_19_times_of_20() -> None:
    """Targets with 4, 1 and 2 ranks: the ranks of the target with 4 are no stragglers."""
    targets = np.arange(16) % TARGETS
    targets[[1, 2]] = 0
    hits = 0
    for seed in range(TRIES):
        kinds = [one.kind for one in found_in(simulate(COMMON_NOISE, seed, targets=targets))]
        hits += kinds == ["uneven allocation", "tail"]
    assert hits >= LEAST_FOUND


def test_a_host_with_one_slow_rank_is_not_blamed_and_one_without_ranks_to_compare_is() -> None:
    one_each = simulate("normal", 1, where(RANK == 5, 1.6))
    ranks = one_each.transfers.rank
    alone = Level("host", ranks, [f"node{one}" for one in range(16)], of_ranks=True)
    kinds = [
        [one.kind for one in find_anomalies(one_each.transfers, levels)]
        for levels in (one_each.levels, [alone, one_each.levels[-1]])
    ]
    assert kinds == [["slow rank", "tail"], ["slow host", "tail"]]


@pytest.mark.parametrize("number", [30, 200])
def test_the_stored_quantiles_of_the_dip_are_those_of_uniform_samples(number: int) -> None:
    random = np.random.default_rng(42)
    dips = [dip(random.random(number)) for _ in range(400)]
    below_5_percent = np.mean([dip_significance(one, number) <= 0.05 for one in dips])
    assert 0.02 <= below_5_percent <= 0.08


def test_the_dip_of_known_samples() -> None:
    """Evenly spaced values have the least dip, two distant groups the largest, 1/4."""
    assert dip(np.arange(20.0)) == pytest.approx(1 / 40)
    two = np.concatenate([np.linspace(0, 1e-6, 500), np.linspace(1, 1 + 1e-6, 500)])
    assert dip(two) == pytest.approx(0.25, abs=0.005)


def test_modes_are_told_with_shares_and_centres() -> None:
    """Uselton, figure 5: rates near 43 and near 21 MB/s."""
    random = np.random.default_rng(5)
    fast = random.random(400) < 0.31
    rates = np.where(fast, 43, 21) * 2.0**20 * np.exp(0.08 * random.standard_normal(400))
    modes = find_modes(rates)
    assert modes is not None
    assert [one.share for one in modes.modes] == pytest.approx([0.69, 0.31], abs=0.04)
    assert modes.text.startswith("rates are bimodal: ")
    assert "% near 43." in modes.text or "% near 42." in modes.text
    assert find_modes(rates[fast]) is None


def test_three_modes_are_three() -> None:
    random = np.random.default_rng(5)
    rates = random.choice([20.0, 45.0, 100.0], 600) * np.exp(0.08 * random.standard_normal(600))
    modes = find_modes(rates)
    assert modes is not None
    assert [one.centre for one in modes.modes] == pytest.approx([20, 45, 100], rel=0.05)
