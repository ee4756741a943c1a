"""Ways of messages that are dropped, and rows of simulated beside measured rates of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from programs import MEBIBYTE
from values import Values

from weir.results.quantities import size_text

GOAL = 0.15
"""Largest difference between what is simulated and what is measured, over the latter."""
ROWS = 64
"""Rows of the array, each with elements of all ranks."""
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Route:
    """A way of messages: how weir-bench is asked for it, and how `weir sim` names it."""

    name: str
    api: str
    strategy: str
    copies: bool = False
    """Whether bytes are copied, so that large messages take long."""


WEIR_ROUTES = (
    Route("direct", "weir", "direct"),
    Route("two-phase", "weir", "two-phase", copies=True),
    Route("server-directed", "weir", "server-directed", copies=True),
)
ROUTES = (Route("POSIX", "posix", "posix"), Route("MPI-IO", "mpiio", "mpi-io"), *WEIR_ROUTES)


@dataclass(frozen=True)
class Place:
    """Where a job runs."""

    name: str
    ranks: int
    hosts: int
    launcher: Sequence[str]
    aggregators: int
    """Of a host."""
    directory: Path
    cores: int
    """Of the machine, which hosts of the test bed share."""


@dataclass(frozen=True)
class Way:
    """Messages of a workload by a route."""

    workload: str
    route: Route

    def least(self, place: Place) -> int:
        """Returns the bytes of a rank's message by which the time of calls is known.

        With aggregators it is a page for each of them: of fewer bytes, fewer of them have a part.
        """
        each_row = 1 if self.workload == "sink" else ROWS
        pages = place.aggregators * place.hosts * PAGE_BYTES // place.ranks
        return max(each_row, pages // each_row * each_row) if self.route.copies else each_row


WAYS = (
    *(Way("sink", route) for route in ROUTES),
    *(Way("array", route) for route in WEIR_ROUTES),
)


@dataclass
class Measured:
    """What the jobs of one place have found."""

    seconds: dict[tuple[Way, int], list[float]] = field(default_factory=dict)
    """Times of a message of all ranks in each repetition, by the bytes of a rank."""
    copies: dict[int, list[float]] = field(default_factory=dict)
    """Rates of all ranks that copy a message in their own memory, by the bytes of a rank."""

    def add_sink(self, records: Sequence[Mapping[str, Any]], routes: Sequence[Route]) -> None:
        """Adds the results of a job whose routes differ in their interface."""
        of_api = {route.api: route for route in routes}
        for record in records:
            sink = record["sink"]
            way = Way("sink", of_api[record["parameters"]["api"]["value"]])
            size = int(sink["message_bytes"])
            self.add(way, size, sink["message"]["values_seconds"])
            rates = sink["source_capacity"]["values_bytes_per_second"]
            self.copies.setdefault(size, []).extend(map(float, rates))

    def add(self, way: Way, size: int, seconds: Sequence[float]) -> None:
        self.seconds.setdefault((way, size), []).extend(map(float, seconds))

    def rates(self, way: Way, size: int, ranks: int) -> Values:
        """Returns the bytes per second of all ranks in each repetition."""
        return Values([ranks * size / one for one in self.seconds[way, size]])


@dataclass(frozen=True)
class Row:
    """A line of the table; rates in bytes per second."""

    place: str
    ranks: int
    way: Way
    size: int
    measured: Values
    simulated: float
    gives_calls: bool = False
    """Whether the time of calls is from this line, which therefore agrees."""

    @property
    def ratio(self) -> float:
        return self.simulated / self.measured.median

    @property
    def agrees(self) -> bool:
        median = self.measured.median
        return abs(self.simulated - median) <= GOAL * median

    @property
    def line(self) -> str:
        mark = " (calls)" if self.gives_calls else "" if self.agrees else " *"
        return (
            f"| {self.place} | {self.ranks} | {self.way.workload} | {self.way.route.name} "
            f"| {size_text(self.size)} | {self.measured.text('.4g', 1 / MEBIBYTE)} "
            f"| {self.simulated / MEBIBYTE:.4g} | {self.ratio:.2f}{mark} |"
        )


HEADING = (
    "| place | ranks | workload | route | a rank | measured, MiB/s | simulated | ratio |\n"
    "|---|--:|---|---|--:|--:|--:|--:|"
)


def summary(rows: Sequence[Row]) -> list[str]:
    """Returns how many rows of each way are within the goal, and of all, but those of calls."""
    told = []
    rows = [row for row in rows if not row.gives_calls]
    for way in dict.fromkeys(row.way for row in rows):
        of_way = [row for row in rows if row.way == way]
        good = sum(row.agrees for row in of_way)
        far = [f"{row.ranks} ranks {size_text(row.size)}" for row in of_way if not row.agrees]
        told.append(
            f"{way.workload} {way.route.name}: {good} of {len(of_way)}"
            + (f"; not {', '.join(far)}" if far else "")
        )
    all_good = sum(row.agrees for row in rows)
    return [f"within {100 * GOAL:.0f} %: {all_good} of {len(rows)} rows", *told]


def array_shape(place: Place, size: int) -> str:
    return f"{ROWS}x{place.ranks * size // ROWS}"
