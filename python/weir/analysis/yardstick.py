"""Says which measurement a run's expectation is based on, and what the components allow."""

from __future__ import annotations

from weir.results.expectations import APriori, Expectation, ExpectedRate
from weir.results.quantities import range_text, rate_text
from weir.results.series import Expected, Series

CALIBRATED = "as calibrated just before"
WIDEST = 4.0
"""An interval whose upper end is more than this many times its lower end decides nothing."""
ALONE = 2.0
"""A single repetition is judged as if others could differ from it by this factor, either way.

The factor is an assumption. On a busy machine, single runs of 20 ms on /dev/shm reached from 0.49
to 2.23 of what was expected, while nothing was wrong.
"""
NOT_KNOWN = "what the components allow is not known"
TOO_WIDE = f"too wide to judge by: its ends are more than a factor of {WIDEST:g} apart"


def too_wide(bound: APriori) -> bool:
    """Returns whether a bound says too little; a ceiling, which has no lower end, is judged by."""
    return bool(bound.low and bound.high) and (bound.high or 0) > WIDEST * (bound.low or 0)


def likely_range(measured: Series) -> tuple[float, float]:
    """Returns the interval of the median as verdicts take it: one repetition alone has none.

    A single run of milliseconds beside the expectation proves nothing. Ten times too slow still
    does.
    """
    if len(measured.values) == 1:
        return measured.median / ALONE, measured.median * ALONE
    return measured.low, measured.high


def yardstick_text(expectation: Expectation) -> str:
    """Returns ``as calibrated just before``, or ``as platform vm was measured on 2026-11-22``."""
    if expectation.calibration:
        return CALIBRATED
    platform = expectation.platform
    name, measured = platform.get("name", "unknown"), platform.get("measured_utc")
    when = f" was measured on {measured[:10]}" if measured else " says"
    late = ", computed after the run" if expectation.after_run else ""
    return f"as platform {name}{when}{late}"


def extrapolation_text(expected: Expected) -> str:
    """Returns a clause if the run has more ranks than its platform describes, or nothing."""
    ranks = expected.extrapolated_from_ranks if isinstance(expected, ExpectedRate) else None
    return "" if ranks is None else f", extrapolated from {ranks} ranks"


def a_priori_text(bound: APriori) -> str:
    """Returns the rate that the components allow, its interval, what limits it, and the source."""
    if bound.value is None or bound.low is None or bound.high is None:
        return f"not known; {bound.source}"
    interval = (
        f"at most {rate_text(bound.high)}"
        if bound.low == 0
        else (range_text(bound.low, bound.high))
    )
    return (
        f"{rate_text(bound.value)} ({interval}), limited by {bound.limiting_stage}, "
        f"by {bound.source}{f'; {TOO_WIDE}' if too_wide(bound) else ''}"
    )


def share_text(measured: float, bound: APriori | None) -> str:
    """Returns such as ``at 0.31 of what the components allow (57.2 MiB/s by ...)``."""
    if bound is None or not bound.value:
        return NOT_KNOWN
    if too_wide(bound) and bound.low and bound.high:
        return (
            f"the components allow {range_text(bound.low, bound.high)} by {bound.source}, "
            f"{TOO_WIDE}"
        )
    return (
        f"at {measured / bound.value:.2f} of what the components allow "
        f"({rate_text(bound.value)} by {bound.source}; the limit is {bound.limiting_stage})"
    )
