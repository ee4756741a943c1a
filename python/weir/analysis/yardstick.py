"""Says which measurement a run's expectation is based on, as one clause for its verdict."""

from __future__ import annotations

from weir.results.expectations import Expectation

CALIBRATED = "as calibrated just before"


def yardstick_text(expectation: Expectation) -> str:
    """Returns ``as calibrated just before``, or ``as platform vm was measured on 2026-11-22``."""
    if expectation.calibration:
        return CALIBRATED
    platform = expectation.platform
    name, measured = platform.get("name", "unknown"), platform.get("measured_utc")
    when = f" was measured on {measured[:10]}" if measured else " says"
    return f"as platform {name}{when}"
