"""Transfers that the kernel serves together are compared together."""

from __future__ import annotations

import numpy as np
import pytest

from weir.analysis.anomalies import busy_ranks
from weir.analysis.batches import WINDOWS, first_of_batches, joined
from weir.analysis.stragglers import Transfers

WINDOW = 8.0


def read_ahead(ranks: int, number: int, size: float, *, waits: bool = False) -> Transfers:
    """Transfers of two repetitions, of which each window's first one waits for all others."""
    per_window = int(WINDOW / size)
    seconds = np.where(np.arange(number) % per_window == 0, 0.1, 0.001)
    end = np.tile(np.cumsum(seconds), 2 * ranks) + np.tile([0.0, 100.0], ranks).repeat(number)
    return Transfers(
        end - np.tile(seconds, 2 * ranks),
        end,
        np.full(len(end), size),
        np.repeat(np.arange(ranks), 2 * number),
        np.tile(np.arange(number), 2 * ranks) if waits else np.zeros(len(end), dtype=np.int64),
        np.tile([0, 1], ranks).repeat(number),
    )


@pytest.mark.parametrize("waits", [False, True])
def test_a_batch_has_the_bytes_and_the_time_of_its_windows(waits: bool) -> None:
    transfers = read_ahead(3, 2 * WINDOWS * 8, 1.0, waits=waits)
    firsts = first_of_batches(transfers, WINDOW)
    batches = joined(transfers, firsts)
    assert len(batches) == 3 * 2 * 2
    assert set(batches.bytes) == {WINDOWS * WINDOW}
    assert batches.seconds == pytest.approx(np.full(12, WINDOWS * (0.1 + 7 * 0.001)))
    assert list(batches.rank) == [rank for rank in range(3) for _ in range(4)]
    assert list(batches.repetition) == [0, 0, 1, 1] * 3
    assert list(batches.step) == ([0, 1] * 6 if waits else [0] * 12)


def test_a_batch_ends_with_its_repetition_and_rank() -> None:
    """5 windows: a batch of 4 and one of the rest, in each repetition of each rank."""
    transfers = read_ahead(2, 5 * 8, 1.0)
    batches = joined(transfers, first_of_batches(transfers, WINDOW))
    assert list(batches.bytes) == [4 * WINDOW, WINDOW] * 4
    assert batches.bytes.sum() == transfers.bytes.sum()


@pytest.mark.parametrize(("size", "expected"), [(WINDOW, 12), (WINDOW / 2, 2)])
def test_a_transfer_of_a_whole_window_is_by_itself(size: float, expected: int) -> None:
    transfers = read_ahead(1, 6, size)
    firsts = first_of_batches(transfers, WINDOW)
    assert len(firsts) == expected
    assert (joined(transfers, firsts) is transfers) == (size == WINDOW)
    assert len(first_of_batches(transfers, 0.0)) == 12, "nothing is read ahead"


def test_busy_ranks_are_counted_during_each_transfer() -> None:
    """Rank 1 moves bytes in the first half of the time only."""
    transfers = Transfers(
        np.array([0.0, 1.0, 2.0, 3.0, 0.0, 1.0]),
        np.array([1.0, 2.0, 3.0, 4.0, 1.0, 2.0]),
        np.ones(6),
        np.array([0, 0, 0, 0, 1, 1]),
        np.zeros(6, dtype=np.int64),
        np.zeros(6, dtype=np.int64),
    )
    assert list(busy_ranks(transfers)) == [2, 2, 1, 1, 2, 2]
