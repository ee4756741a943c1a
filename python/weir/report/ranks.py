"""I/O time of every rank beside its waits, with the slowest rank named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weir.report import rank_drawing
from weir.report.chart import FULL_WIDTH, Legend, figure, table
from weir.report.event_store import EventStore, RankTimes
from weir.report.markup import Markup, element, join
from weir.report.quantities import seconds, seconds_text
from weir.report.rank_drawing import Panel, Series
from weir.report.sources import Source, hosts_by_rank, is_asynchronous, measured
from weir.results.quantities import phase_name
from weir.results.schema import Phase, Run

TABLE_ROWS = 64


@dataclass(frozen=True)
class Slowest:
    """The rank with the most I/O time, and the median rank for comparison."""

    rank: int
    host: str
    io_seconds: float
    median_seconds: float


def times_of(run: Run, store: EventStore) -> tuple[RankTimes, str]:
    """Returns times by rank, and what they are formed over."""
    available = store.repetitions()
    complete = [r.index for r in measured(run) if r.index in available]
    if complete:
        number = len(complete)
        over = f"median of {number} repetitions" if number > 1 else "one repetition"
        return store.rank_times(complete), over
    last = max(available)
    return store.rank_times([last]), f"repetition {last}, which is not complete or a warm-up"


def slowest_of(run: Run, times: RankTimes) -> Slowest:
    place = int(times.io.argmax())
    rank = int(times.rank[place])
    host = hosts_by_rank(run).get(rank, "unknown host")
    return Slowest(rank, host, float(times.io[place]), float(np.median(times.io)))


def panels_of(times: RankTimes, asynchronous: bool) -> list[Panel]:
    """Returns I/O first, then (asynchronous) the part that blocked the rank, then the waits."""
    moving = [
        Series("write", "write", times.write),
        Series("sync", "durable sync", times.sync),
        Series("read", "read", times.read),
    ]
    waits = [Series("wait", "wait for other ranks", times.barrier_wait + times.token_wait)]
    title = "transfers, hidden or not" if asynchronous else "I/O time"
    panels = [Panel(title, [series for series in moving if float(series.seconds.max()) > 0])]
    if asynchronous:
        panels.append(
            Panel("blocked in I/O", [Series("blocked", "blocked in I/O", times.foreground)])
        )
    panels.append(Panel("wait for other ranks", waits))
    return [panel for panel in panels if panel.series]


def render(source: Source) -> Markup:
    if source.events is None:
        return _from_spread(source.run)
    times, over = times_of(source.run, source.events)
    slowest = slowest_of(source.run, times)
    panels = panels_of(times, is_asynchronous(source.run))
    hosts = hosts_by_rank(source.run)
    excess = ""
    if slowest.median_seconds > 0:
        more = (slowest.io_seconds / slowest.median_seconds - 1) * 100
        excess = f", {more:.0f} % more than the rank in the middle"
    description = (
        f"Slowest: rank {slowest.rank} on {slowest.host}, {seconds_text(slowest.io_seconds)} in "
        f"I/O{excess}"
    )
    image, said = rank_drawing.render(times.rank, panels, slowest.rank, hosts, description)
    caption = join(
        element("strong", "Time of each rank"),
        f" \u2013 {over}. Slowest: ",
        element("strong", f"rank {slowest.rank} on ", element("bdi", slowest.host)),
        f", {seconds_text(slowest.io_seconds)} in I/O{excess}. {said}",
    )
    entries = {s.css: s.name for panel in panels for s in panel.series}
    return figure(
        "ranks",
        caption,
        image,
        legend=Legend(list(entries.items())),
        width=FULL_WIDTH,
        table=_table(times, slowest.rank, hosts),
    )


def _table(times: RankTimes, slowest: int, hosts: dict[int, str]) -> Markup:
    order = np.argsort(-times.io, kind="stable")[:TABLE_ROWS]
    body = []
    for i in order:
        rank = int(times.rank[i])
        body.append(
            [
                f"rank {rank}" + (" (slowest)" if rank == slowest else ""),
                element("bdi", hosts.get(rank, "")),
                *(
                    seconds(float(column[i]))
                    for column in (
                        times.io,
                        times.read,
                        times.write,
                        times.sync,
                        times.foreground,
                        times.barrier_wait,
                        times.token_wait,
                    )
                ),
            ]
        )
    head = [
        "Rank",
        "Host",
        "I/O",
        "read",
        "write",
        "sync",
        "blocked in I/O",
        "wait at barriers",
        "wait for turn",
    ]
    caption = "Time of each rank, slowest first"
    if len(times.rank) > TABLE_ROWS:
        caption += f"; the {TABLE_ROWS} slowest of {len(times.rank)}"
    return join(
        element("p", f"{caption}.", class_="note"),
        table(head, body, caption=caption, numeric_from=2),
    )


def _from_spread(run: Run) -> Markup:
    """Returns the spread in ``run.json``, which names the slowest rank also without events."""
    repetitions = measured(run)
    if not repetitions:
        return element("p", "No times by rank were recorded.", class_="none")
    last = repetitions[-1]

    def row(phase: Phase) -> list[Markup | str]:
        spread = phase.io_seconds
        return [
            phase_name(phase.function, phase.direction),
            seconds(spread.min),
            seconds(spread.mean),
            seconds(spread.max),
            join(f"rank {spread.max_rank} on ", element("bdi", spread.max_host)),
            seconds(phase.barrier_wait_seconds.max),
        ]

    caption = f"I/O time over ranks in repetition {last.index}; no events were recorded"
    head = ["Function", "fastest", "mean", "slowest", "slowest rank", "longest wait at barriers"]
    return join(
        element("p", f"{caption}.", class_="note"),
        table(head, [row(phase) for phase in last.phases], caption=caption),
    )
