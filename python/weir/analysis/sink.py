"""What routes that drop their bytes take of messages, beside what they could: the workload sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weir.analysis.campaign_summary import level_text
from weir.analysis.listing import Cell, Listing, Range, Value
from weir.results.schema import Rate, Run
from weir.results.sink_records import Sink

NOTE = (
    "Source: the rate at which all ranks together copy such messages in their own memory. "
    "Receiving: the same with as many ranks as receive from others. Efficiency: measured over the "
    "smaller of both, each in the same repetition (Vishwanath et al., table 1). It is above 100 % "
    "where a route does not touch the bytes, as a write to /dev/null. The values are medians."
)
SIZE = "message-bytes"


@dataclass(frozen=True)
class Axis:
    """A number of something on the way of messages, over which rates are drawn."""

    parameter: str
    one: str
    """What one of them is called in the name of a route."""
    title: str


STAGERS = Axis("stagers", "stager", "number of stagers")
RECEIVERS = Axis("receivers", "receiver", "number of receiving threads of a stager")
AGGREGATORS = Axis("aggregators", "aggregator", "number of aggregators")
AXES = (STAGERS, RECEIVERS, AGGREGATORS)


def level_on(axis: Axis, run: Run) -> int | None:
    """Returns how many a run asked for; None if it has none, or left their number open (0)."""
    given = run.parameters.get(axis.parameter)
    number = int(given.value) if given is not None else 0
    return number if number > 0 else None


def route_beside(axis: Axis, run: Run) -> str:
    """Returns what runs have in common that differ in this number, and in the size, alone."""
    staging = str(run.parameters["staging"].value) if "staging" in run.parameters else "none"
    words = [str(run.parameters["api"].value), *([] if staging == "none" else [staging])]
    for other in AXES:
        number = level_on(other, run)
        if other is not axis and number is not None:
            words.append(f"{number} {other.one}{'' if number == 1 else 's'}")
    return " ".join(words)


def sinks_of(runs: Sequence[Run]) -> list[tuple[Run, Sink]]:
    """Returns the complete runs of the workload, by route and size."""
    found = [(run, run.sink) for run in runs if run.sink and run.status == "complete"]
    routes = list(dict.fromkeys(sink.route for _, sink in found))
    return sorted(found, key=lambda one: (routes.index(one[1].route), one[1].message_bytes))


def sink_listing(runs: Sequence[Run]) -> Listing | None:
    """Returns a row for each complete run; None for other workloads."""
    found = sinks_of(runs)
    if not found:
        return None
    head = [
        "route",
        "message",
        "time",
        "source",
        "receiving",
        "measured",
        "least to most",
        "efficiency",
    ]
    rows: list[Sequence[Cell]] = []
    for run, sink in found:
        receiving = sink.receiving_capacity
        measured = measured_of(run)
        row: list[Cell] = [
            sink.route,
            level_text(SIZE, sink.message_bytes),
            Value(sink.message.median, "s"),
            Value(sink.source_capacity.median, "bytes/s"),
            None if receiving is None else Value(receiving.median, "bytes/s"),
            Value(measured.median, "bytes/s"),
            Range(min(measured.values), max(measured.values), "bytes/s"),
            Value(sink.efficiency, "share"),
        ]
        rows.append(row)
    return Listing("Messages to where they are dropped", head, rows, 2, "", NOTE)


def measured_of(run: Run) -> Rate:
    """Returns the rate that was measured of the messages."""
    return next(rate for rate in run.rates if rate.headline)
