"""Results of each action of the workload metadata: rates, latencies, and the slowest rank."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from weir.analysis.lookup_verdict import judge_look_ups_of
from weir.report.chart import table
from weir.report.markup import Child, Markup, element, join
from weir.report.quantities import count, nanoseconds, percent_text, significant
from weir.report.sources import Source, measured
from weir.results.action_records import ActionResult, OperationMetric, OperationRate
from weir.results.record import Spread
from weir.results.schema import Run

UNEVEN = 1.25
"""The slowest rank is named if its time is at least this many times the mean of all ranks."""

EXPLANATION = (
    "Operations per second: from the first rank's start to the last one's end, with the 95 % "
    "interval of the median; and with the closing barrier, as mdtest has it. In short phases that "
    "barrier takes longer than the operations. What answered a look-up is judged by its latencies "
    "and the file system: memory is this node's own, server or storage what lies behind it."
)


@dataclass(frozen=True)
class Straggler:
    """The rank whose time in a phase is furthest above the mean, in all measured repetitions."""

    rank: int
    host: str
    over_mean: float


def straggler_of(run: Run, action: str) -> Straggler | None:
    """Returns None if the ranks' times are even, or if there is only one rank."""
    spreads = [
        phase.elapsed_seconds
        for repetition in measured(run)
        for phase in repetition.metadata
        if phase.action == action and phase.elapsed_seconds.mean > 0
    ]
    if not spreads or run.plan.ranks == 1:
        return None
    over = median(_excess(spread) for spread in spreads)
    if over < UNEVEN:
        return None
    worst = max(spreads, key=_excess)
    return Straggler(worst.max_rank, worst.max_host, over)


def _excess(spread: Spread) -> float:
    return spread.max / spread.mean


def rate_of(result: ActionResult, metric: OperationMetric) -> OperationRate | None:
    return next((rate for rate in result.rates if rate.metric == metric), None)


def headline_of(result: ActionResult) -> OperationRate | None:
    """Returns the rate that is compared with the expectation."""
    return next((rate for rate in result.rates if rate.headline), None)


def render(source: Source) -> Markup | None:
    """Returns one row per action; None for other workloads."""
    run = source.run
    if not run.metadata:
        return None
    head = [
        "Action",
        "operations",
        "per second",
        "interval",
        "answered by",
        "with barrier",
        "p50",
        "p99",
        "p99.9",
        "longest",
        "slowest rank",
    ]
    rows = [_row(run, result) for result in run.metadata]
    said = EXPLANATION
    if any(result.item == "entry" for result in run.metadata):
        said += (
            " An operation of readdir is an entry that was found, its latency that of a directory."
        )
    if any(result.action == "mix" for result in run.metadata):
        said += (
            " Below a mix, each of its operations: per second of the whole mix's time, with its "
            "own latencies."
        )
    caption = "Rates and latencies of each action"
    return join(element("p", said, class_="note"), table(head, rows, caption=caption))


def _row(run: Run, result: ActionResult) -> list[Child]:
    own = headline_of(result)
    barrier = rate_of(result, "barrier")
    latencies = result.latencies
    straggler = straggler_of(run, result.action)
    return [
        result.action,
        count(_operations(run, result.action)),
        _per_second(own),
        _interval(own),
        _answer(run, result),
        _per_second(barrier),
        nanoseconds(latencies.p50_ns),
        nanoseconds(latencies.p99_ns),
        nanoseconds(latencies.p999_ns),
        nanoseconds(latencies.max_ns),
        _straggler(straggler),
    ]


def _operations(run: Run, action: str) -> int:
    """Returns the last measured repetition's operations: a mix may end before its plan does."""
    return next(
        (
            phase.operations
            for repetition in reversed(measured(run))
            for phase in repetition.metadata
            if phase.action == action
        ),
        0,
    )


def _per_second(rate: OperationRate | None) -> Child:
    if rate is None:
        return None
    exact = f"{rate.median!r} per second"
    text = significant(rate.median)
    return element("data", text, value=repr(rate.median), title=exact)


def _interval(rate: OperationRate | None) -> Child:
    if rate is None:
        return None
    return f"{significant(rate.low)} to {significant(rate.high)}"


def _answer(run: Run, result: ActionResult) -> Child:
    """Returns what answered look-ups; the tooltip has the evidence."""
    judged = judge_look_ups_of(run, result)
    return None if judged is None else element("span", judged.answer, title=judged.text)


def _straggler(straggler: Straggler | None) -> Child:
    if straggler is None:
        return "even"
    more = percent_text(straggler.over_mean - 1)
    return join(f"{more} over the mean, rank {straggler.rank} on ", element("bdi", straggler.host))
