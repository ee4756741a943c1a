"""Results of each action of the workload metadata: rates, latencies, and the slowest rank."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from weir.analysis.lookup_verdict import judge_look_ups_of
from weir.report.chart import table
from weir.report.latency import percentiles
from weir.report.markup import Child, Markup, element, join
from weir.report.quantities import count, interval, nanoseconds, percent_text, shown
from weir.report.sources import Source, measured
from weir.results.action_records import ActionResult
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


RATES = ["Action", "operations", "per second", "interval", "with barrier", "answered by"]
LATENCIES = ["Action", "p50", "p99", "p99.9", "longest", "slowest rank"]


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


def render(source: Source) -> Markup | None:
    """Returns one row per action, of its rates and of its latencies; None for other workloads."""
    run = source.run
    if not run.metadata:
        return None
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
    return join(
        element("p", said, class_="note"),
        table(
            RATES,
            [_rates(run, result) for result in run.metadata],
            caption="Rates of each action",
        ),
        table(
            LATENCIES,
            [_latencies(run, result) for result in run.metadata],
            caption="Latency of one operation",
            titled=True,
        ),
    )


def _rates(run: Run, result: ActionResult) -> list[Child]:
    own = next((rate for rate in result.rates if rate.headline), None)
    barrier = next((rate for rate in result.rates if rate.metric == "barrier"), None)
    # A mix may end before its plan does: the operations of the last measured repetition.
    phases = [one for repetition in measured(run) for one in repetition.metadata]
    done = [one.operations for one in phases if one.action == result.action]
    answer = judge_look_ups_of(run, result)
    return [
        result.action,
        count(done[-1] if done else 0),
        None if own is None else shown(own.median, own.unit),
        None if own is None else interval(own),
        None if barrier is None else shown(barrier.median, barrier.unit),
        None if answer is None else element("span", answer.answer, title=answer.text),
    ]


def _latencies(run: Run, result: ActionResult) -> list[Child]:
    told = percentiles(result.latencies)
    slow = straggler_of(run, result.action)
    slowest: Child = "even"
    if slow is not None:
        more = f"{percent_text(slow.over_mean - 1)} over the mean, rank {slow.rank} on "
        slowest = join(more, element("bdi", slow.host))
    return [
        result.action,
        *(nanoseconds(value) for name, value in told if name in LATENCIES),
        nanoseconds(result.latencies.max_ns),
        slowest,
    ]
