"""A simulated Franklin that behaves as Uselton's test found it, and the loop that asks it.

The truth is equation 4 with the constants after the test, and the rates of the first to fourth
target of a server of section 3.9.2. Of these figures the loop sees only rates of tests, with noise.

Run as a program: ``python franklin_in_truth.py [SEEDS]`` prints what the loop needs.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from weir.follow_up.constants_search import ConstantsSearch, knows
from weir.follow_up.shared_servers import NextTest, Placed, candidates
from weir.model.uselton import equation_2
from weir.platform.files import SHIPPED
from weir.results.platform_file import load_platform
from weir.results.record import Quantity

MB = 1e6
AFTER = {"o": 32, "r_s": 128 * MB, "r_r": 100 * MB, "t": 6144, "tau": 512}
ADDED = (128 * MB, 73 * MB, 12 * MB, 12 * MB)
CONTROLLER = 3072 * MB
"""By its data sheet; the tests of the paper do not contradict it."""
RUN_SCATTER = 0.02
RUNS = 3
EACH = 2e9
SETUP = 4.0
"""Seconds of quiet between two tests (section 3.7)."""
WITHIN = 0.10
MOST_TESTS = 12


def true_rate(test: Placed) -> float:
    """Returns the rate of the machine as it is."""
    n = test.tasks
    one = AFTER["r_s"]
    if n > AFTER["o"]:
        one = equation_2(n, AFTER["r_s"], AFTER["r_r"], AFTER["t"], AFTER["tau"])
    of_servers = test.servers * sum(ADDED[: test.targets]) * one / AFTER["r_s"]
    of_controllers = test.controllers * CONTROLLER
    return min(test.servers * test.targets * one, AFTER["o"] * one, of_servers, of_controllers)


@dataclass
class Loop:
    """The loop of one seed: belief, test, result, refit, until it knows what it wanted."""

    seed: int
    at_random: bool = False
    scatter: float = RUN_SCATTER

    def __post_init__(self) -> None:
        platform = load_platform(SHIPPED / "franklin.toml")
        self.search = ConstantsSearch.of(
            platform,
            scatter=self.scatter,
            runs=RUNS,
            bytes_per_task=EACH,
            setup_seconds=SETUP,
            seed=self.seed,
        )
        self.weather = np.random.default_rng(1000 + self.seed)
        self.tests: list[NextTest] = []
        self.states: list[tuple[Quantity, list[Quantity]]] = []

    def step(self) -> None:
        proposed = self.search.propose(within=WITHIN)
        assert proposed is not None
        if self.at_random:
            some = list(candidates(self.search.layout))
            placed = some[self.weather.integers(len(some))]
            proposed = replace(proposed, placed=placed)
        rates = true_rate(proposed.placed) * np.exp(
            self.scatter * self.weather.standard_normal(RUNS)
        )
        self.search = self.search.after(proposed.placed, float(np.median(rates)))
        self.tests.append(proposed)
        self.states.append((self.search.limit, self.search.shares))

    def knows(self) -> bool:
        """Returns whether the loop's own intervals are narrow enough; the truth is not asked."""
        return knows(*self.states[-1], WITHIN)

    def is_right(self) -> bool:
        """Returns whether limit and sharing are those of the machine, within a tenth."""
        limit, shares = self.states[-1]
        return abs(limit.value - AFTER["o"]) <= WITHIN * AFTER["o"] and all(
            abs(one.value - true) <= WITHIN * ADDED[0]
            for one, true in zip(shares, ADDED, strict=True)
        )

    def run(self, most: int = MOST_TESTS) -> tuple[int | None, int | None]:
        """Returns after how many tests it was right and stayed so, and after how many it knew."""
        right: int | None = None
        knew: int | None = None
        for number in range(1, most + 1):
            self.step()
            right = (right or number) if self.is_right() else None
            if knew is None and self.knows():
                knew = number
        return right, knew


def describe(seeds: int) -> Iterator[str]:
    """Yields what the loop needed for each seed, then for all."""
    for at_random in (False, True):
        found = []
        for seed in range(seeds):
            loop = Loop(seed, at_random)
            right, knew = loop.run()
            limit, shares = loop.states[-1]
            found.append((right, knew))
            added = ", ".join(f"{one.value / MB:.0f}" for one in shares)
            yield (
                f"seed {seed}: right after {right}, knew after {knew}; O {limit.value:.1f} "
                f"({limit.low:.1f} to {limit.high:.1f}), targets add {added}"
            )
            for one in loop.tests if seed == 0 and not at_random else []:
                yield f"   {one.placed.text}: {one.seconds:.0f} s, {one.bits:.2f} bits"
                yield f"      {one.motivation}\n      {one.decides}"
        rights = [right for right, _ in found if right]
        yield (
            f"{'random' if at_random else 'proposed'}: right within {MOST_TESTS} tests for "
            f"{len(rights)} of {seeds} seeds, after {statistics.median(rights or [0])} in the "
            f"median and {max(rights or [0])} at most; knew it for "
            f"{sum(knew is not None for _, knew in found)}"
        )


if __name__ == "__main__":
    for line in describe(int(sys.argv[1]) if len(sys.argv) > 1 else 20):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
