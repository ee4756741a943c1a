"""Says in one word whether storage or memory served the bytes of one direction."""

from __future__ import annotations

from weir.results.expectations import Direction
from weir.results.schema import CacheVerdict, Run


def served_by(run: Run, direction: Direction) -> CacheVerdict | None:
    """Returns the verdict on which all measured phases agree.

    It is "mixed" if they differ, "unknown" if one of several is unknown or another program measured
    the run, and None if no phase of this direction was measured.
    """
    found = {
        phase.cache.verdict
        for repetition in run.repetitions
        if not repetition.warmup
        for phase in repetition.phases
        if phase.direction == direction
    }
    if not found:
        imported = run.imported is not None
        return "unknown" if imported and any(r.direction == direction for r in run.rates) else None
    if len(found) == 1:
        return found.pop()
    return "unknown" if "unknown" in found else "mixed"
