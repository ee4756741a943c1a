"""Foreground time of transfers that run behind computation, one buffer ahead.

Given enough computation, all transfers except the first read and the last write of a loop can be
hidden (Borrill et al., section 5). The effective aggregate asynchronous rate, EAAR, is the bytes
moved over the foreground I/O time. If all but one of NBIN transfers are hidden, it is NBIN times
the synchronous rate.

Function W reads one matrix and writes another behind the same computation. If the same component
limits both, they need the sum of their times, and the hidden time is divided between them in
proportion to those times. If one moves through memory and the other waits for storage, each can
hide behind the whole computation.

Transfers take different times. A rank waits for a slow transfer that outlasts the computation, and
a fast one does not compensate for it, so the mean blocked time exceeds the blocked time of a mean
transfer. The expectation is the mean over transfers at the slow end, in the middle and at the fast
end, weighted as in a three-point estimate (1, 4, 1). It is scaled to the expected time, so that
without computation an asynchronous run is expected to be as fast as a synchronous one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from weir.model.stage import Case

WEIGHTS: Mapping[Case, float] = {"slow": 1 / 6, "expected": 4 / 6, "fast": 1 / 6}

Component = Literal["memory", "storage"]


@dataclass(frozen=True)
class PhaseTime:
    """One function in one direction on one rank; times are of one operation, in seconds.

    ``component`` limits the transfer. ``posting_seconds`` is the least cost of starting a hidden
    transfer and finding it complete.
    """

    function: str
    operations: int
    exposed: int
    component: Component
    transfer_seconds: float
    compute_seconds: float
    posting_seconds: float


def exposed_seconds(phase: PhaseTime) -> float:
    """Returns the seconds for which exposed transfers block one rank: their whole time."""
    return min(phase.exposed, phase.operations) * phase.transfer_seconds


def hidden_seconds(phase: PhaseTime, others: Sequence[PhaseTime]) -> float:
    """Returns the seconds for which transfers that run behind computation block one rank.

    Each blocks for max(0, transfer - computation), and at least for the posting. ``others`` are the
    other phases of the same function.
    """
    together = phase.transfer_seconds + sum(
        other.transfer_seconds
        for other in others
        if other.component == phase.component and other.operations > other.exposed
    )
    share = phase.transfer_seconds / together if together > 0 else 1.0
    blocked = max(phase.posting_seconds, phase.transfer_seconds - share * phase.compute_seconds)
    return _hidden(phase) * blocked


def spread(cases: Mapping[Case, PhaseTime]) -> dict[Case, PhaseTime]:
    """Returns the cases' transfers, scaled so that their weighted mean is the expected time."""
    mean = sum(WEIGHTS[case] * time.transfer_seconds for case, time in cases.items())
    expected = cases["expected"].transfer_seconds
    scale = expected / mean if mean > 0 else 1.0
    return {
        case: replace(time, transfer_seconds=time.transfer_seconds * scale)
        for case, time in cases.items()
    }


def mean_hidden_seconds(
    phase: Mapping[Case, PhaseTime], others: Sequence[Mapping[Case, PhaseTime]]
) -> float:
    """Returns the mean of ``hidden_seconds`` over transfers spread between slow and fast."""
    around = [spread(other) for other in others]
    return sum(
        WEIGHTS[case] * hidden_seconds(time, [other[case] for other in around])
        for case, time in spread(phase).items()
    )


def all_hidden_seconds(phase: PhaseTime) -> float:
    """Returns the least time for which one rank is blocked: exposed operations, and posting others.

    It bounds what an asynchronous run can reach. Computation is not all that hides transfers: they
    also progress while ranks wait for each other, and a computation that has to share its processor
    with their copies lasts longer and hides more.
    """
    return exposed_seconds(phase) + _hidden(phase) * phase.posting_seconds


def _hidden(phase: PhaseTime) -> int:
    return phase.operations - min(phase.exposed, phase.operations)
