"""Equations 1 to 4 of A. Uselton, "Parallel File System Benchmarking Made Easy" (draft, 2008).

Each equation is implemented twice: as the paper prints it, and as an instance of the path model
(``weir.model.stage``, ``weir.model.path_time``), which Weir uses. Tests compare the two. Any unit
of bytes may be used as long as it is the same everywhere; the paper uses the MB.

A check of the equations' limits gave these results (docs/path-model.md has the arithmetic):

1. The text gives N as the rate "in the limit of large B". Equation 1 adds the times of two stages,
   so its limit is M N / (M + N), for the laptop 44.4 MB/s and not 50.
2. Equation 2 has the limit N. It is the mean of the times 1/M and 1/N, weighted by the logistic
   function, so at B = b its value is the harmonic mean of M and N (88.9 MB/s). M is not its value
   at B = 0 but its limit as exp(-b/tau) goes to 0: for the laptop R(0) = 399.9 MB/s. The printed
   ``exp^(...)`` is a slip of notation for the exponential function of that exponent.
3. In equation 3 half of the rate is lost at s = f r_B, with the paper's figures 43 bytes. The
   paper says 16 bytes; there 73 % is lost. 16 bytes would go with f = 0.37 us.
4. Both branches of equation 4 include n = O. There they differ by 1.0 % (15,360 and 15,212 MB/s)
   before the adjustment, because the logistic function has already begun to fall.
"""

from __future__ import annotations

import math

from weir.model.flow import Flow, flow_on_one_host
from weir.model.path_time import path_time
from weir.model.stage import stage_time
from weir.results.platform import Cache, Crowding, PlatformStage, StageKind
from weir.results.record import Quantity


def equation_1(size: float, m: float, n: float, b: float) -> float:
    """R = [1/M + u(B - b)/N]^-1, with u(0) = 0."""
    step = 1.0 if size > b else 0.0
    return 1 / (1 / m + step / n)


def equation_2(size: float, m: float, n: float, b: float, tau: float) -> float:
    """R = N (1 + e) / (1 + (N/M) e), e = exp((b - B)/tau)."""
    e = math.exp((b - size) / tau)
    return n * (1 + e) / (1 + (n / m) * e)


def equation_3(transfer: float, r_b: float, f: float) -> float:
    """R_B = r_B (1 + r_B f/s)^-1."""
    return r_b / (1 + r_b * f / transfer)


def equation_4(n: float, o: int, r_s: float, r_r: float, t: float, tau: float) -> float:
    """R(n) = n r_S up to n = O; then O r_R (1 + e) / (1 + (r_R/r_S) e), e = exp((T - n)/tau)."""
    if n <= o:
        return n * r_s
    return o * equation_2(n, r_s, r_r, t, tau)


def exactly(value: float) -> Quantity:
    """Returns a quantity that is known without an interval."""
    return Quantity(value=value, low=value, high=value)


def stage(
    name: str,
    rate: float,
    *,
    fixed_seconds: float = 0.0,
    kind: StageKind = "target",
    units: int = 1,
) -> PlatformStage:
    """Returns a stage with a rate and a fixed cost, for a flow that writes to storage directly."""
    return PlatformStage(
        name=name,
        kind=kind,
        routes=["direct"],
        units=units,
        rate_bytes_per_second=exactly(rate),
        fixed_seconds=exactly(fixed_seconds),
    )


def laptop_step(m: float, n: float, b: float) -> list[PlatformStage]:
    """Equation 1: memory, then a disk behind a cache that absorbs up to ``b`` bytes in no time.

    The stages are passed in turn (``path_time(..., in_turn=True)``).
    """
    cache = Cache(bytes=int(b), rate_bytes_per_second=exactly(math.inf))
    return [stage("memory", m, kind="node"), stage("disk", n).model_copy(update={"cache": cache})]


def laptop_sigmoid(m: float, n: float, b: float, tau: float) -> PlatformStage:
    """Equation 2: one stage of rate ``n`` with a cache of rate ``m`` and a smooth transition."""
    cache = Cache(bytes=int(b), rate_bytes_per_second=exactly(m), width_bytes=tau)
    return stage("disk", n).model_copy(update={"cache": cache})


def laptop_transfers(r_b: float, f: float) -> PlatformStage:
    """Equation 3: one stage with a fixed cost per operation."""
    return stage("disk", r_b, fixed_seconds=f)


def franklin(o: int, r_s: float, r_r: float, t: float, tau: float) -> PlatformStage:
    """Equation 4: ``o`` targets that become slower when many tasks share each of them.

    The paper counts tasks; the stage counts users of one unit: T/O and tau/O. The requests of a
    task that has a target to itself stream, so at n = O the stage takes the first branch, n r_S.
    """
    crowding = Crowding(users=t / o, width_users=tau / o, rate_bytes_per_second=exactly(r_r))
    return stage("LUN", r_s, units=o).model_copy(update={"crowding": crowding})


def buffer_of(size: float) -> Flow:
    """One write of the whole buffer by one task (section 2.6)."""
    return flow_on_one_host("write", "direct", 1, 1, size)


def transfers_of(total: float, transfer: float) -> Flow:
    """``total`` bytes in calls of ``transfer`` bytes each (section 2.10)."""
    return flow_on_one_host("write", "direct", 1, total / transfer, transfer)


def tasks_of(count: int, bytes_of_each: float, transfer: float) -> Flow:
    """A file per task, distributed evenly to the targets (section 3.5)."""
    return flow_on_one_host("write", "direct", count, bytes_of_each / transfer, transfer)


def rate_by_equation_1(size: float, m: float, n: float, b: float) -> float:
    return path_time(laptop_step(m, n, b), buffer_of(size), in_turn=True).rate


def rate_by_equation_2(size: float, m: float, n: float, b: float, tau: float) -> float:
    return stage_time(laptop_sigmoid(m, n, b, tau), buffer_of(size)).rate


def rate_by_equation_3(transfer: float, r_b: float, f: float, total: float) -> float:
    return stage_time(laptop_transfers(r_b, f), transfers_of(total, transfer)).rate


def rate_by_equation_4(
    n: int, o: int, r_s: float, r_r: float, t: float, tau: float, file_bytes: float = 2048.0
) -> float:
    return stage_time(franklin(o, r_s, r_r, t, tau), tasks_of(n, file_bytes, 4.0)).rate
