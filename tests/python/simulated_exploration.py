"""A machine whose rates are known, and what a grid and an exploration predict of it.

Run as a program: ``python simulated_exploration.py [SEEDS]`` prints the errors.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weir.campaign.exploring import AGAIN
from weir.campaign.latin_hypercube import latin_hypercube
from weir.follow_up.exploration import (
    all_places,
    first_tests,
    middle_of,
    next_step,
    predictions,
)
from weir.follow_up.line import Place
from weir.follow_up.points import Measured, Point
from weir.results.campaign import CampaignFactor, Value

SCATTER = 0.05
"""Standard deviation of a run's logarithmic rate."""
RANKS = (1, 2, 4, 8, 16, 32, 64, 128)
TRANSFERS = tuple(4096 * 4**power for power in range(8))
FACTORS = (
    CampaignFactor(names=["ranks"], levels=[[one] for one in RANKS]),
    CampaignFactor(names=["transfer"], levels=[[one] for one in TRANSFERS]),
)
HELD_OUT: tuple[dict[str, Value], ...] = tuple(
    {"ranks": ranks, "transfer": transfer}
    for ranks in (3, 6, 11, 23, 45, 90)
    for transfer in (8192, 32768, 131072, 524288, 2097152, 33554432)
)
"""Combinations between the levels, which neither the grid nor the exploration measures."""


def true_rate(place: Place) -> float:
    """Ranks share a limit, a transfer has a fixed cost, and many ranks crowd a little."""
    ranks, size = float(place["ranks"]), float(place["transfer"])
    each = 150e6 * size / (size + 150e6 * 400e-6)
    return min(ranks * each, 2.4e9) / (1 + ranks / 400)


@dataclass
class Machine:
    """The machine with the scatter of one seed; counts its runs."""

    seed: int

    def __post_init__(self) -> None:
        self.weather = np.random.default_rng(self.seed)
        self.values: dict[tuple[tuple[str, Value], ...], list[float]] = {}
        self.runs = 0

    def run(self, place: Place) -> None:
        rate = true_rate(place) * math.exp(SCATTER * self.weather.standard_normal())
        self.values.setdefault(tuple(place.items()), []).append(rate)
        self.runs += 1

    def measured(self) -> Measured:
        points = [
            Point(
                settings=dict(key),
                line="write",
                direction="write",
                values=tuple(values),
                median=statistics.median(values),
                low=min(values),
                high=max(values),
                verdicts=(),
                expected=None,
                seconds=10.0,
                runs=tuple(str(number) for number in range(len(values))),
            )
            for key, values in self.values.items()
        ]
        return Measured("stream", FACTORS, {}, tuple(points), 0)


def errors(measured: Measured, places: Sequence[Place] = HELD_OUT) -> list[float]:
    """Returns the relative errors of what is predicted at places that were not measured."""
    return [
        abs(predictions(measured, place)["write"].value / true_rate(place) - 1) for place in places
    ]


def full_grid(seed: int) -> Machine:
    machine = Machine(seed)
    for place in all_places(FACTORS):
        machine.run(place)
    return machine


def explored(seed: int, runs: int) -> Machine:
    """Makes a first design and then one test after the other, as ``weir explore`` does."""
    machine = begun(seed)
    while machine.runs < runs:
        step = next_step(machine.measured(), math.inf, runs=1, refuses=lambda _: None)
        assert step is not None
        machine.run({name: step.settings[name] for name in ("ranks", "transfer")})
    return machine


def begun(seed: int) -> Machine:
    """Makes the first design."""
    machine = Machine(1000 + seed)
    places = all_places(FACTORS)
    first = latin_hypercube(
        FACTORS, first_tests(len(FACTORS), 1, len(places)), seed, lambda _: False
    )
    middle = first[middle_of(FACTORS, first)]
    for place in [*first, *[middle] * AGAIN]:
        machine.run(place)
    return machine


def scattered(seed: int, runs: int) -> Machine:
    """Makes the same number of runs, all as one Latin hypercube."""
    machine = Machine(2000 + seed)
    for place in latin_hypercube(FACTORS, runs, seed, lambda _: False):
        machine.run(place)
    return machine


def describe(seeds: int) -> Iterator[str]:
    """Yields the errors at held-out combinations for each seed, then over all."""
    grid_runs = len(all_places(FACTORS))
    found: list[list[list[float]]] = [[], [], []]
    for seed in range(seeds):
        machines = (
            full_grid(seed),
            explored(seed, grid_runs // 4),
            scattered(seed, grid_runs // 4),
        )
        made = [errors(one.measured()) for one in machines]
        for one, all_of in zip(made, found, strict=True):
            all_of.append(one)
        said = ", ".join(
            f"{name} {100 * statistics.median(one):.1f} % (largest {100 * max(one):.0f} %)"
            for name, one in zip(("grid", "explored", "hypercube"), made, strict=True)
        )
        yield f"seed {seed}: {said}"
    for name, runs, all_of in zip(
        ("grid", "explored", "hypercube"),
        (grid_runs, grid_runs // 4, grid_runs // 4),
        found,
        strict=True,
    ):
        medians = [statistics.median(one) for one in all_of]
        ninth = [float(np.quantile(one, 0.9)) for one in all_of]
        yield (
            f"{name}, {runs} runs: over {seeds} seeds the median error is "
            f"{100 * statistics.median(medians):.1f} % ({100 * min(medians):.1f} to "
            f"{100 * max(medians):.1f}), its 90th percentile "
            f"{100 * statistics.median(ninth):.1f} %"
        )


if __name__ == "__main__":
    for line in describe(int(sys.argv[1]) if len(sys.argv) > 1 else 5):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
