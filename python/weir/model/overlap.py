"""Foreground time of transfers that run behind computation, one buffer ahead.

Given enough work, all but the first read and the last write of a loop can be hidden (Borrill et
al., section 5). The effective aggregate asynchronous rate, EAAR, is the bytes moved over the
foreground I/O time; with everything hidden but one transfer of NBIN it is NBIN times the
synchronous rate.

Function W reads one matrix and writes another behind the same computation. Where both are limited
by the same component they need the sum of their times, and what computation hides is divided among
them in proportion to those times. Where one moves through memory and the other waits for storage,
each has the whole computation to hide behind.

Transfers do not all take the same time. Where a slow one sticks out of the computation its rank
waits, and fast ones give nothing back, so what is blocked on average is more than what an average
transfer would block. The expectation is the mean over transfers at the slow end, in the middle and
at the fast end, weighed as in a three-point estimate (1, 4, 1) and scaled to the expected time, so
that without computation an asynchronous run is expected to be as fast as a synchronous one.
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
    """One function in one direction, per rank: times are of one operation, in seconds.

    ``component`` limits the transfer. ``posting_seconds`` is what starting and finding a hidden
    transfer complete costs at least.
    """

    function: str
    operations: int
    exposed: int
    component: Component
    transfer_seconds: float
    compute_seconds: float
    posting_seconds: float


def exposed_seconds(phase: PhaseTime) -> float:
    """Seconds that one rank is blocked by the transfers that nothing hides: their whole time."""
    return min(phase.exposed, phase.operations) * phase.transfer_seconds


def hidden_seconds(phase: PhaseTime, others: Sequence[PhaseTime]) -> float:
    """Seconds that one rank is blocked by the transfers that run behind computation.

    Each pays max(0, transfer - computation), and at least the posting. ``others`` are the other
    phases of the same function.
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
    """The cases' transfers, scaled so that their weighed mean is the expected time."""
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
    """The mean of ``hidden_seconds`` over transfers that are spread between slow and fast."""
    around = [spread(other) for other in others]
    return sum(
        WEIGHTS[case] * hidden_seconds(time, [other[case] for other in around])
        for case, time in spread(phase).items()
    )


def all_hidden_seconds(phase: PhaseTime) -> float:
    """The least that one rank is blocked: by the exposed operations, and by posting the others.

    It is the bound of what an asynchronous run can reach. Computation is not all that hides
    transfers: they also go on while ranks wait for each other, and a computation that has to share
    its processor with their copies lasts longer and hides more.
    """
    return exposed_seconds(phase) + _hidden(phase) * phase.posting_seconds


def _hidden(phase: PhaseTime) -> int:
    return phase.operations - min(phase.exposed, phase.operations)
