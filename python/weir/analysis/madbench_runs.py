"""Finished runs of the workload madbench: their settings, and which of them can be compared."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, TypeVar, get_args

from weir.analysis.findings import Ratio, ratio_of
from weir.analysis.hiding import BLAS2
from weir.results.expectations import Direction
from weir.results.schema import Run
from weir.results.series import Series
from weir.results.served_by import served_by

ALIKE_SETTINGS = (
    *("bins", "gangs", "file-block", "directory", "direct", "sync", "rank-shift", "memory-hog"),
    *("compressible", "full", "stripe-size", "first-target", "pool"),
)
NEEDED = {"pixels", "iomethod", "filetype", "iomode", "read-modulus", "write-modulus"}
ALL_TARGETS = "all"


@dataclass(frozen=True)
class Settings:
    """What distinguishes runs of the workload; one setting is varied by each finding."""

    ranks: int
    pixels: int
    interface: str
    files: str
    mode: str
    read_modulus: int
    write_modulus: int
    exponent: float | None
    stripes: str
    """Stripes of each file as requested, else as the folder's layout has them; empty: unknown."""
    keeps_cache: bool
    messages: int
    """Bytes of messages in the place of busy work, which belong to an experiment of their own."""
    others: tuple[tuple[str, str], ...]
    """Settings that no finding is about, and which must be alike in what is compared."""

    @property
    def computes(self) -> bool:
        """Whether the run belongs to a sweep over exponents, beside asynchronous ones."""
        return self.exponent is not None and self.exponent >= BLAS2

    def modulus(self, direction: Direction) -> int:
        return self.read_modulus if direction == "read" else self.write_modulus


@dataclass(frozen=True)
class Observed:
    """One complete run, and the job in which it was measured."""

    job: str
    settings: Settings
    run: Run

    def values(self, direction: Direction) -> list[float]:
        """Returns the rate of each counted repetition, by the headline's metric."""
        series = self.series(direction)
        return list(series.values) if series is not None else []

    def series(self, direction: Direction) -> Series | None:
        return next((r for r in self.run.rates if r.direction == direction and r.headline), None)


Runs = Sequence[Observed]
Level = TypeVar("Level")


def observed(found: Iterable[tuple[str, Run]]) -> list[Observed]:
    """Returns the runs of the workload madbench that are complete; ``found``: (job, run)."""
    return [
        Observed(job, settings, run)
        for job, run in found
        if run.workload == "madbench" and run.status == "complete" and run.imported is None
        if (settings := _settings_of(run)) is not None
    ]


def _settings_of(run: Run) -> Settings | None:
    """Returns the settings, or None for results of a version that named them otherwise."""
    given = {name: one.value for name, one in run.parameters.items()}
    if NEEDED - given.keys():
        return None
    exponent = given.get("busy-work-exponent")
    return Settings(
        ranks=run.plan.ranks,
        pixels=int(given["pixels"]),
        interface=str(given["iomethod"]),
        files=str(given["filetype"]),
        mode=str(given["iomode"]),
        read_modulus=int(given["read-modulus"]),
        write_modulus=int(given["write-modulus"]),
        exponent=None if exponent is None else float(exponent),
        stripes=str(given.get("stripe-count") or _stripes_of_folder(run)),
        keeps_cache=not (given.get("drop-cache") or given.get("direct")),
        messages=int(given.get("messages") or 0),
        others=tuple((name, str(given[name])) for name in ALIKE_SETTINGS if name in given),
    )


def _stripes_of_folder(run: Run) -> str:
    """Returns the stripe count of a folder that was striped beforehand; empty if it is unknown."""
    layout = run.environment.file_system.get("layout") if run.environment is not None else None
    if isinstance(layout, dict):  # Lustre's; one with components has a count for each.
        count = layout.get("stripe_count", "")
        return ALL_TARGETS if count == -1 else str(count)
    found = re.search(r"\bstripe_count=(\d+)", layout) if isinstance(layout, str) else None
    return found.group(1) if found else ""


def usual(runs: Runs) -> list[Observed]:
    """Returns the synchronous runs with little busy work and without messages."""
    return [
        one
        for one in runs
        if one.settings.mode == "SYNC" and not one.settings.computes and not one.settings.messages
    ]


def memory_share(run: Run) -> float | None:
    """Returns which share of its hosts' memory the matrices fill, if the run says it."""
    if run.environment is None or not run.nodes:
        return None
    memory = run.environment.hardware.get("memory")
    each = memory.get("bytes") if isinstance(memory, dict) else None
    return run.plan.memory_bytes_total / (each * len(run.nodes)) if each else None


# ---- Pairs of settings -------------------------------------------------------------------------


def pairs_of_rounds(one: Runs, other: Runs, direction: Direction) -> list[tuple[float, float]]:
    """Returns pairs of the same repetition of the same job, whose configurations take turns."""
    jobs = {run.job: run.values(direction) for run in other}
    return [
        pair
        for run in one
        for pair in zip(run.values(direction), jobs.get(run.job, []), strict=False)
    ]


def taking_turns(
    runs: Runs, setting: Literal["interface", "files"], first: str, second: str
) -> Iterator[tuple[Settings, Direction, Ratio | None, str]]:
    """Yields the ratio of two levels of a setting that take turns in jobs, with a remark."""
    varied: dict[str, Any] = {setting: ""}
    for settings, group in groups_of(runs, lambda s: replace(s, **varied)).items():
        of = by_level(group, lambda s: str(getattr(s, setting)))
        for direction in get_args(Direction) if {first, second} <= of.keys() else ():
            ratio = ratio_of(pairs_of_rounds(of[first], of[second], direction))
            yield settings, direction, ratio, from_memory(group, direction)


def pairs_of_runs(one: Runs, other: Runs, direction: Direction) -> list[tuple[float, float]]:
    """Returns pairs of runs, those closest in time first, so that drifts affect both alike.

    A run counts once, by its median: its repetitions share a moment.
    """
    medians = [
        [
            (datetime.fromisoformat(run.run.started_utc), statistics.median(values))
            for run in runs
            if (values := run.values(direction))
        ]
        for runs in (one, other)
    ]
    apart = sorted(
        (abs(first[0] - second[0]), place, match)
        for place, first in enumerate(medians[0])
        for match, second in enumerate(medians[1])
    )
    used: tuple[set[int], set[int]] = (set(), set())
    pairs = []
    for _, place, match in apart:
        if place not in used[0] and match not in used[1]:
            used[0].add(place)
            used[1].add(match)
            pairs.append((medians[0][place][1], medians[1][match][1]))
    return pairs


def groups_of(runs: Runs, key: Callable[[Settings], Settings]) -> dict[Settings, list[Observed]]:
    """Returns the runs whose settings are alike but for those that ``key`` makes equal."""
    groups: dict[Settings, list[Observed]] = {}
    for run in runs:
        groups.setdefault(key(run.settings), []).append(run)
    ordered = sorted(groups.items(), key=lambda one: (one[0].ranks, str(one[0])))
    return {settings: of_one for settings, of_one in ordered if len(of_one) > 1}


def by_level(runs: Runs, level: Callable[[Settings], Level]) -> dict[Level, list[Observed]]:
    found: dict[Level, list[Observed]] = {}
    for run in runs:
        found.setdefault(level(run.settings), []).append(run)
    return found


def place_of(settings: Settings, direction: Direction | None) -> str:
    """Returns which results a judgement is about: ``16 ranks, UNIQUE, write``."""
    known = [settings.interface, settings.files]
    if settings.stripes:
        known.append(f"stripe count {settings.stripes}")
    if settings.keeps_cache:
        known.append("cache not dropped")
    ranks = f"{settings.ranks} rank{'' if settings.ranks == 1 else 's'}"
    return ", ".join([ranks, *filter(None, [*known, direction])])


def from_memory(runs: Runs, direction: Direction) -> str:
    """Returns a remark if memory served bytes of any of the runs."""
    if direction == "write":
        return ""
    words = {served_by(one.run, direction) for one in runs}
    return "; memory served reads" if words & {"memory", "mixed"} else ""
