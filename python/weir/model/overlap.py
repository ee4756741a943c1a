"""Foreground time of transfers that run behind computation, one buffer ahead.

Given enough work, all but the first read and the last write of a loop can be hidden (Borrill et
al., section 5). The effective aggregate asynchronous rate, EAAR, is the bytes moved over the
foreground I/O time; with everything hidden but one transfer of NBIN it is NBIN times the
synchronous rate.

Function W reads one matrix and writes another behind the same computation. The two share the path,
so together they need the sum of their times, and what computation hides is divided among them in
proportion to those times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PhaseTime:
    """One function in one direction, per rank: times are of one operation, in seconds.

    ``posting_seconds`` is what starting and finding a hidden transfer complete costs at least.
    """

    function: str
    operations: int
    exposed: int
    transfer_seconds: float
    compute_seconds: float
    posting_seconds: float


def foreground_seconds(phase: PhaseTime, others: Sequence[PhaseTime]) -> float:
    """Seconds that one rank is blocked by all operations of ``phase``.

    Exposed operations pay their whole transfer. A hidden one pays max(0, transfer - computation),
    and at least the posting. ``others`` are the other phases of the same function; the computation
    is shared with them in proportion to the transfer times.
    """
    exposed = min(phase.exposed, phase.operations)
    hidden = phase.operations - exposed
    together = phase.transfer_seconds + sum(
        other.transfer_seconds for other in others if other.operations > other.exposed
    )
    share = phase.transfer_seconds / together if together > 0 else 1.0
    blocked = max(phase.posting_seconds, phase.transfer_seconds - share * phase.compute_seconds)
    return exposed * phase.transfer_seconds + hidden * blocked
