"""Test data, not measurements: transfers of runs that are homogeneous, or unusual in one way.

16 ranks on 4 hosts write to 8 targets on 4 servers; 48 transfers of each rank, in 2 repetitions.
Times come from an assumed rate, a factor for each transfer and seeded noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weir.analysis.stragglers import Level, Transfers

RANKS, HOSTS, TARGETS, SERVERS = 16, 4, 8, 4
PER_RANK, REPETITIONS = 48, 2
BYTES = 2.0**20
SECONDS = 0.01
Grid = NDArray[np.float64]
"""A value for each repetition, rank and transfer."""
SHAPE = (REPETITIONS, RANKS, PER_RANK)

NOISES = (
    "normal",
    "log-normal",
    "heavy tail",
    "autocorrelated by rank",
    "autocorrelated by time",
    "rare stalls",
)


@dataclass(frozen=True)
class Simulated:
    transfers: Transfers
    levels: list[Level]
    offsets: NDArray[np.int64]


def place(axis: int) -> NDArray[np.int64]:
    """Returns the repetition (0), rank (1) or number (2) of each transfer."""
    return np.broadcast_to(
        np.arange(SHAPE[axis]).reshape([-1 if a == axis else 1 for a in range(3)]), SHAPE
    )


def host_of(rank: NDArray[np.int64]) -> NDArray[np.int64]:
    return rank // (RANKS // HOSTS)


def target_of(rank: NDArray[np.int64]) -> NDArray[np.int64]:
    return rank % TARGETS


def server_of(rank: NDArray[np.int64]) -> NDArray[np.int64]:
    return target_of(rank) % SERVERS


def noise(kind: str, random: np.random.Generator) -> Grid:
    """Returns factors of times about 1."""
    if kind == "normal":
        return np.clip(1 + 0.15 * random.standard_normal(SHAPE), 0.2, None)
    if kind == "log-normal":
        return np.exp(0.3 * random.standard_normal(SHAPE))
    if kind == "heavy tail":
        return 1 + 0.2 * random.pareto(2.5, SHAPE)
    if kind == "rare stalls":
        stalls = np.where(random.random(SHAPE) < 0.002, 50.0, 1.0)
        return stalls * np.exp(0.1 * random.standard_normal(SHAPE))
    one_for_all = kind == "autocorrelated by time"
    ranks = 1 if one_for_all else RANKS
    fresh = random.standard_normal((REPETITIONS, ranks, PER_RANK))
    for one in range(1, PER_RANK):
        fresh[..., one] = 0.7 * fresh[..., one - 1] + np.sqrt(1 - 0.7**2) * fresh[..., one]
    own = 0.1 * random.standard_normal(SHAPE)
    return np.exp((0.1 if one_for_all else 0.15) * np.broadcast_to(fresh, SHAPE) + own)


def simulate(
    kind: str,
    seed: int,
    factors: Grid | float = 1.0,
    *,
    waits: bool = False,
    targets: NDArray[np.int64] | None = None,
    slowed: Callable[[Grid], Grid] | None = None,
) -> Simulated:
    """Returns the transfers. ``waits``: all ranks wait for each other after each transfer.

    ``targets`` has the target of each rank; transfers to a target share its rate. ``slowed`` gives
    the factor of the times of transfers that begin at these seconds.
    """
    random = np.random.default_rng(seed)
    rank = place(1)
    seconds = SECONDS * noise(kind, random) * factors
    of_target = target_of(rank)
    if targets is not None:
        of_target = targets[rank]
        seconds = seconds * (np.bincount(targets, minlength=TARGETS)[of_target] * TARGETS / RANKS)
    start, end = np.empty(SHAPE), np.empty(SHAPE)
    now = np.zeros(SHAPE[:2])
    for one in range(PER_RANK):
        start[..., one] = now
        now = now + seconds[..., one] * (slowed(now) if slowed else 1.0)
        end[..., one] = now
        if waits:
            now = np.broadcast_to(now.max(axis=1, keepdims=True), now.shape)
    longest = end.max() * 1.1
    start, end = start + place(0) * longest, end + place(0) * longest
    # Sorted by rank and start, as events are.
    flat = [
        np.ascontiguousarray(np.swapaxes(one, 0, 1)).reshape(-1)
        for one in (start, end, rank, place(0), place(2), of_target)
    ]
    ranks, of = flat[2], flat[5]
    transfers = Transfers(
        flat[0],
        flat[1],
        np.full(len(ranks), BYTES),
        ranks,
        flat[4] if waits else np.zeros(len(ranks), dtype=np.int64),
        flat[3],
    )
    levels = [
        Level("server", of % SERVERS, [str(one) for one in range(SERVERS)]),
        Level("target", of, [str(one) for one in range(TARGETS)]),
        Level("host", host_of(ranks), [f"node{one}" for one in range(HOSTS)], of_ranks=True),
        Level("rank", ranks, [str(one) for one in range(RANKS)], of_ranks=True),
    ]
    offsets = np.swapaxes(random.permuted(place(2), axis=2), 0, 1).reshape(-1) * int(BYTES)
    return Simulated(transfers, levels, offsets)
