"""The results of campaigns over the workload array, in the form that panda_judgements.py needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from values import Values, ratios

Record = Mapping[str, Any]
Figure = Callable[[Record, str], list[float]]
"""A function of a run's record and a direction: one number per counted repetition."""


@dataclass(frozen=True)
class Results:
    """The runs of a campaign, by the levels of its factors."""

    name: str
    runs: list[tuple[Record, Record]]
    """Levels, and run.json of Weir's own interface with that of the peak as its "contiguous"."""

    def values(self, figure: Figure, direction: str, **levels: Any) -> Values | None:
        """Return the figure for these levels of the factors, or None if there is no such run."""
        found = [
            value
            for at, run in self.runs
            if all(at.get(name.replace("_", "-")) == level for name, level in levels.items())
            for value in figure(run, direction)
        ]
        return Values(found) if found else None

    def levels(self, name: str) -> list[Any]:
        return list(dict.fromkeys(at[name] for at, _ in self.runs if name in at))


def load_results(folder: Path) -> Results:
    """Read a campaign's folder as `weir campaign` leaves it, without unfinished runs."""
    if not (folder / "campaign.json").is_file():
        return Results(folder.name, [])
    campaign = json.loads((folder / "campaign.json").read_text())
    runs = []
    for planned in campaign["runs"]:
        at = folder / "runs" / f"{planned['number']:04d}"
        files = [at / name / "run.json" for name in ("weir", "contiguous")]
        if all(file.is_file() for file in files):
            run, peak = (json.loads(file.read_text()) for file in files)
            if run["status"] == peak["status"] == "complete":
                levels = campaign["combinations"][planned["combination"]]
                runs.append((levels, run | {"contiguous": peak}))
    order = {json.dumps(one): place for place, one in enumerate(campaign["combinations"])}
    runs.sort(key=lambda pair: order[json.dumps(pair[0])])
    return Results(campaign["name"], runs)


def rate(run: Record, direction: str) -> list[float]:
    """Return bytes per second, including the durable sync."""
    return [
        value
        for one in run["rates"]
        if (one["direction"], one["metric"]) == (direction, "span")
        for value in one["values_bytes_per_second"]
    ]


def share_of_peak(run: Record, direction: str) -> list[float]:
    """Return the share of the rate of contiguous pieces by the same ranks, round by round."""
    return [*ratios(rate(run, direction), rate(run["contiguous"], direction)).values]


def balance(run: Record, direction: str) -> list[float]:
    """Return the busiest aggregator's bytes over the mean of all aggregators."""
    return [
        phase["array"]["balance"]
        for phase in _phases(run, direction)
        if phase["array"]["balance"] is not None
    ]


def gathering(run: Record, direction: str) -> list[float]:
    """Return the seconds of moves between memory and buffers, as the mean over ranks."""
    return [
        phase["array"]["gathering_seconds"]["mean"]
        for phase in _phases(run, direction)
        if phase["array"]["gathering_seconds"] is not None
    ]


def _phases(run: Record, direction: str) -> Iterator[Record]:
    for repetition in run["repetitions"]:
        if not repetition["warmup"]:
            for phase in repetition["phases"]:
                if phase["direction"] == direction:
                    yield phase
