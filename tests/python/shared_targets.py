"""Test data, not measurements: files that are written to targets of servers at the same time.

All files begin together. The files of a target share its rate evenly. A server has a rate for each
number of its targets that are busy, and all targets together have at most the rate of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from weir.analysis.stragglers import Level, Transfers

FILE = 1024.0
"""Size of a file, MB."""


PARTS = 4
"""Transfers of a file, one after the other."""


def progress(
    files: Sequence[int], rates: Callable[[NDArray[np.bool_]], NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns times and what each target has moved by then, MB; between them rates are constant.

    ``rates`` gives those of busy targets, MB/s.
    """
    size = np.asarray(files, dtype=float) * FILE
    times, moved = [0.0], [np.zeros(len(size))]
    while (left := size - moved[-1]).any():
        busy = left > 0
        rate = np.where(busy, rates(busy), 0.0)
        step = float(np.min(left[busy] / rate[busy]))
        after = np.where(busy, moved[-1] + rate * step, size)
        times.append(times[-1] + step)
        moved.append(np.where(size - after <= 1e-6 * FILE, size, after))
    return np.array(times), np.array(moved)


def transfers_of(
    files: Sequence[int],
    rates: Callable[[NDArray[np.bool_]], NDArray[np.float64]],
    servers: int,
    noise: float = 0.02,
) -> tuple[Transfers, list[Level]]:
    """Returns the transfers of files, each of a rank of its own; all files of a target go on."""
    times, moved = progress(files, rates)
    shares = np.arange(1, PARTS + 1) / PARTS
    ends = np.zeros((len(files), PARTS))
    for one, number in enumerate(files):
        until = int(np.argmax(moved[:, one] >= moved[-1, one])) + 1
        if number:
            own = moved[:until, one]
            ends[one] = np.interp(shares * own[-1], own, times[:until])
    target = np.repeat(np.arange(len(files)), files)
    random = np.random.default_rng(1)
    end = np.sort(ends[target] * (1 - noise * random.random((len(target), PARTS))), axis=1)
    start = np.concatenate([np.zeros((len(target), 1)), end[:, :-1]], axis=1)
    rank = np.repeat(np.arange(len(target)), PARTS)
    of_target = target[rank]
    nothing = np.zeros(len(rank), dtype=np.int64)
    transfers = Transfers(
        start.reshape(-1),
        end.reshape(-1),
        np.full(len(rank), FILE / PARTS * 1e6),
        rank,
        nothing,
        nothing,
    )
    levels = [
        Level("server", of_target % servers, [str(one) for one in range(servers)]),
        Level("target", of_target, [str(one) for one in range(len(files))]),
        Level("rank", rank, [str(one) for one in range(len(target))], of_ranks=True),
    ]
    return transfers, levels
