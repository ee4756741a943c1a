"""Foreground time of transfers that run behind computation, one buffer ahead.

Given enough computation, all transfers except the first read and the last write of a loop can be
hidden (Borrill et al., section 5). The effective aggregate asynchronous rate, EAAR, is the bytes
moved over the foreground I/O time. If all but one of NBIN transfers are hidden, it is NBIN times
the synchronous rate.

A hidden transfer blocks its rank for the time by which it outlasts what runs meanwhile:

    the computation    and the wait for the slowest rank's, after which all ranks meet
    in function W      one write and one read are in flight, and the write is awaited first. So the
                       time for which the write blocks, and the meeting after it, hide the read.

Whether a read and a write through the same component slow each other down is unknown: a disk has
one head, a link has two directions. At the slow end they do, so that the shorter takes twice its
time and the longer the sum; at the fast end they do not; expected is the mean of both.

Where a host has more ranks than processors, the copies that processors make for a transfer take
turns, and the time of all ranks together is that of several turns. A hidden transfer blocks its
rank by the rank's own copies, and by all that the storage does, which serves all ranks at once. But
the rank needs a processor on which others compute, so it waits for at least ``LEAST_WAIT`` of the
time of all.

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
from weir.results.expectations import Direction

WEIGHTS: Mapping[Case, float] = {"slow": 1 / 6, "expected": 4 / 6, "fast": 1 / 6}
SHARED: Mapping[Case, float] = {"slow": 1.0, "expected": 0.5, "fast": 0.0}
"""The share of the time of a transfer beside another one that is added to that other one."""

LEAST_WAIT = 0.08
"""What a rank waits for a hidden transfer, as a share of the time that it takes with all ranks,
where these share processors. Fitted on two processors to one half of 28 runs, and tested on the
other: docs/measurements/path-model.md, section Transfers behind computing."""

Component = Literal["memory", "storage"]


@dataclass(frozen=True)
class PhaseTime:
    """One function in one direction on one rank; times are of one operation, in seconds.

    ``component`` limits the transfer. A hidden transfer runs behind ``compute_seconds`` and the
    meeting of all ranks after it. ``posting_seconds`` is the least cost of starting a hidden
    transfer and finding it complete. ``first_seconds`` is what an exposed transfer takes beyond the
    others of its size: the system reads ahead of the first read of a file, which waits for it.
    ``own_share`` is the share of the transfer that passes for one rank, without the turns of the
    others. ``shares_processors`` says that a host has more ranks than processors.
    """

    function: str
    direction: Direction
    operations: int
    exposed: int
    component: Component
    transfer_seconds: float
    compute_seconds: float
    meeting_seconds: float
    posting_seconds: float
    first_seconds: float = 0.0
    own_share: float = 1.0
    shares_processors: bool = False

    @property
    def own_seconds(self) -> float:
        return self.transfer_seconds * self.own_share

    @property
    def least_seconds(self) -> float:
        """For which a hidden transfer blocks its rank, however long there is computing."""
        waits = LEAST_WAIT * self.transfer_seconds if self.shares_processors else 0.0
        return max(self.posting_seconds, waits)


def exposed_seconds(phase: PhaseTime) -> float:
    """Returns the seconds for which exposed transfers block one rank: their whole time."""
    exposed = min(phase.exposed, phase.operations)
    return exposed * (phase.transfer_seconds + phase.first_seconds)


def hidden_seconds(phase: PhaseTime, others: Sequence[PhaseTime], shared: float) -> float:
    """Returns the seconds for which transfers that run behind computation block one rank.

    ``others`` are the other phases of the same function. ``shared`` is the share of their time that
    is added to transfers beside them.
    """
    beside = [other for other in others if _hidden(other) > 0]
    covered = phase.compute_seconds + phase.meeting_seconds
    for other in beside:
        if (other.direction, phase.direction) == ("write", "read"):
            end = _end_seconds(other, [phase], shared)
            covered = max(covered, end) + phase.meeting_seconds
    blocked = max(phase.least_seconds, _end_seconds(phase, beside, shared) - covered)
    return _hidden(phase) * blocked


def _end_seconds(phase: PhaseTime, beside: Sequence[PhaseTime], shared: float) -> float:
    """Returns when a transfer ends that begins together with others.

    Those through the same component take turns in small parts, so that each other one has had as
    much of it by then as this one, if it needs so much.
    """
    return phase.own_seconds + shared * sum(
        min(phase.own_seconds, other.own_seconds)
        for other in beside
        if other.component == phase.component
    )


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
    phase: Mapping[Case, PhaseTime], others: Sequence[Mapping[Case, PhaseTime]], shared: float
) -> float:
    """Returns the mean of ``hidden_seconds`` over transfers spread between slow and fast."""
    around = [spread(other) for other in others]
    return sum(
        WEIGHTS[case] * hidden_seconds(time, [other[case] for other in around], shared)
        for case, time in spread(phase).items()
    )


def _hidden(phase: PhaseTime) -> int:
    return phase.operations - min(phase.exposed, phase.operations)
