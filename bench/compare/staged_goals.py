"""Judges what stagers reach with the kernels, by the goals that they have on slow storage.

Every figure is a list with a value for each round, which compares what took turns in that round.
Pure.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from values import Values, ratios, reached

STAGED = "weir-hdf5 staged"
BY_RANKS = "weir-hdf5"
KERNEL_GOALS = {
    ("flash", "checkpoint"): {"hdf5": 10.0, "pnetcdf": 7.0},
    ("flash", "plot"): {"hdf5": 100.0, "pnetcdf": 12.0},
    ("s3d", "checkpoint"): {"mpiio": 4.5, "pnetcdf": 5.8},
}
"""How many times as fast as another interface the program observes its output."""
LEAST_OF_PEAK = 0.95
LEAST_OF_RANKS = 1.0
MOST_OF_COMPUTING = 1.10
LEAST_OF_COPYING = 0.7


@dataclass(frozen=True)
class Judged:
    """One figure, and whether its median reaches the goal."""

    ranks: int
    what: str
    goal: float
    values: Values
    at_most: bool = False

    @property
    def is_reached(self) -> bool:
        if self.at_most:
            return self.values.median <= self.goal
        return self.values.median >= self.goal

    @property
    def line(self) -> str:
        sign = "<=" if self.at_most else ">="
        return (
            f"| {self.ranks} | {self.what} | {sign} {self.goal:g} | {self.values.text()} | "
            f"{reached(self.is_reached)} |"
        )


HEADING = "| ranks | what | goal | median [least, most] | |\n|---|---|---|---|---|"


def rates_of(records: Sequence[Mapping[str, Any]], rate: str) -> dict[tuple[str, str], list[float]]:
    """Return a rate (observed, storage) in bytes/s by configuration and kind of files."""
    return {
        (record["label"], stream["stream"]): stream[rate]["values_bytes_per_second"]
        for record in records
        for stream in record["outputs"]["streams"]
    }


def judge_kernel(workload: str, ranks: int, records: Sequence[Mapping[str, Any]]) -> list[Judged]:
    """Judge the rates that a kernel observes beside those by other interfaces."""
    observed = rates_of(records, "observed")
    return [
        Judged(
            ranks,
            f"{workload} {stream}, observed: staged / {other}",
            goal,
            ratios(observed[STAGED, stream], observed[other, stream]),
        )
        for (kernel, stream), goals in KERNEL_GOALS.items()
        for other, goal in goals.items()
        if kernel == workload
    ]


@dataclass(frozen=True)
class Round:
    """Rates to durable storage of one round, in bytes/s."""

    peak: float
    """Of one process that writes a file past the page cache."""
    staged: float
    by_ranks: float


def round_of(peak: float, records: Sequence[Mapping[str, Any]]) -> Round:
    """Return the rates of a round whose job has one counted repetition."""
    storage = rates_of(records, "storage")
    (staged,), (by_ranks,) = storage[STAGED, "checkpoint"], storage[BY_RANKS, "checkpoint"]
    return Round(peak, staged, by_ranks)


def judge_durable(ranks: int, rounds: Sequence[Round]) -> list[Judged]:
    staged = [one.staged for one in rounds]
    return [
        Judged(
            ranks,
            "checkpoints until durable: staged / peak",
            LEAST_OF_PEAK,
            ratios(staged, [one.peak for one in rounds]),
        ),
        Judged(
            ranks,
            "checkpoints until durable: staged / by ranks",
            LEAST_OF_RANKS,
            ratios(staged, [one.by_ranks for one in rounds]),
        ),
    ]


def judge_computing(ranks: int, found: Mapping[str, Any]) -> Judged:
    """Judge runs whose computing after each step takes as long as storing it.

    Each pair has a run with a stager and one without, and computing alone before each of them.
    """
    seconds = found["seconds"]
    hand_over = statistics.median(seconds["node hand-over"])
    alone = seconds["computing"]
    allowed = [
        statistics.mean(alone[2 * pair : 2 * pair + 2]) + hand_over
        for pair in range(len(seconds["node run"]))
    ]
    return Judged(
        ranks,
        "run of steps with computing / (computing alone + one hand-over)",
        MOST_OF_COMPUTING,
        ratios(seconds["node run"], allowed),
        at_most=True,
    )


def copy_rate(probed: Mapping[str, Any], ranks: int) -> float:
    """Return the rate in bytes/s at which so many ranks copy memory, of the largest copies."""
    copies = [
        sample
        for sample in probed["samples"]
        if sample["operation"] == "memory_copy" and sample["ranks"] == ranks
    ]
    if not copies:
        raise ValueError(f"the probe has no copies by {ranks} ranks")
    largest = max(copies, key=lambda sample: sample["operation_bytes"])
    moved = ranks * largest["operations"] * largest["operation_bytes"]
    return float(moved / statistics.median(largest["seconds"]))


def judge_hand_over(ranks: int, found: Mapping[str, Any], copied: float) -> Judged:
    rates = [found["bytes"] / seconds for seconds in found["seconds"]["node hand-over"]]
    return Judged(
        ranks,
        "hand-over to a stager of the node / copying in memory",
        LEAST_OF_COPYING,
        Values([rate / copied for rate in rates]),
    )
