"""The time of one transfer by all ranks, at a size other than the calibrated one."""

from __future__ import annotations


def transfer_seconds(
    rate_bytes_per_second: float,
    calibrated_bytes: float,
    transfer_bytes: float,
    fixed_seconds: float,
) -> float:
    """Seconds for ``transfer_bytes``, from a rate measured with ``calibrated_bytes`` (all ranks).

    Uselton's equation 3, R = r / (1 + r f / s), says that a transfer of s bytes takes s / r + f: f
    is the fixed cost of a call and r the rate of long transfers. From the calibrated time
    t0 = s0 / R0 = s0 / r + f follows t = (t0 - f) s / s0 + f. At the calibrated size this is t0
    whatever f is. The fixed cost is taken to be at most nine tenths of t0.
    """
    calibrated_seconds = calibrated_bytes / rate_bytes_per_second
    fixed = min(fixed_seconds, 0.9 * calibrated_seconds)
    return (calibrated_seconds - fixed) * (transfer_bytes / calibrated_bytes) + fixed
