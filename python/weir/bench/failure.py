"""What weir says of a job that failed."""

from __future__ import annotations

from weir.bench.errors import FAILED, INTERRUPTED, USAGE, BenchError
from weir.bench.messages import StandardError
from weir.bench.process import Ending


def failure_of(what: str, ending: Ending, said: StandardError) -> BenchError:
    """Returns the error that ends weir; its line repeats nothing that weir-bench has printed.

    Its text is empty if ``said`` has passed on the reason.
    """
    if ending.asked_by is not None:
        return BenchError(f"{what} was interrupted: {ending.describe()}", INTERRUPTED)
    status = USAGE if ending.status == USAGE else FAILED
    if said.told and not ending.timed_out:
        return BenchError("", status)
    reason = said.reason()
    because = f"; {reason}" if reason else ""
    return BenchError(f"{what} failed: {ending.describe()}{because}", status)
