"""Foreground time of transfers that run behind computation, one buffer ahead.

Given enough work, all but the first read and the last write of a loop can be hidden (Borrill et
al., section 5). The effective aggregate asynchronous rate, EAAR, is the bytes moved over the
foreground I/O time; with everything hidden but one transfer of NBIN it is NBIN times the
synchronous rate.

Function W reads one matrix and writes another behind the same computation. Where both are limited
by the same component they need the sum of their times, and what computation hides is divided among
them in proportion to those times. Where one moves through memory and the other waits for storage,
each has the whole computation to hide behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

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


def foreground_seconds(phase: PhaseTime, others: Sequence[PhaseTime]) -> float:
    """Seconds that one rank is blocked by all operations of ``phase``.

    Exposed operations pay their whole transfer. A hidden one pays max(0, transfer - computation),
    and at least the posting. ``others`` are the other phases of the same function.
    """
    exposed = min(phase.exposed, phase.operations)
    hidden = phase.operations - exposed
    together = phase.transfer_seconds + sum(
        other.transfer_seconds
        for other in others
        if other.component == phase.component and other.operations > other.exposed
    )
    share = phase.transfer_seconds / together if together > 0 else 1.0
    blocked = max(phase.posting_seconds, phase.transfer_seconds - share * phase.compute_seconds)
    return exposed * phase.transfer_seconds + hidden * blocked


def all_hidden_seconds(phase: PhaseTime) -> float:
    """The least that one rank is blocked: by the exposed operations, and by posting the others.

    It is the bound of what an asynchronous run can reach. Computation is not all that hides
    transfers: they also go on while ranks wait for each other, and a computation that has to share
    its processor with their copies lasts longer and hides more.
    """
    exposed = min(phase.exposed, phase.operations)
    hidden = phase.operations - exposed
    return exposed * phase.transfer_seconds + hidden * phase.posting_seconds
