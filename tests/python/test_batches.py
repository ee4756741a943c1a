"""Transfers that the kernel serves together are compared together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weir.analysis.anomalies import busy_ranks
from weir.analysis.batches import WINDOWS, first_of_batches, joined, served_together
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


def test_a_batch_ends_with_its_repetition_and_rank_and_none_is_much_shorter() -> None:
    """5 windows are one batch, 9 are two of about as many transfers."""
    for windows, sizes in ((5, [40.0]), (9, [36.0, 36.0])):
        transfers = read_ahead(2, windows * 8, 1.0)
        batches = joined(transfers, first_of_batches(transfers, WINDOW))
        assert list(batches.bytes) == sizes * 4
        assert batches.bytes.sum() == transfers.bytes.sum()


@pytest.mark.parametrize(("size", "expected"), [(WINDOW, 12), (WINDOW / 2, 2)])
def test_a_transfer_of_a_whole_window_is_by_itself(size: float, expected: int) -> None:
    transfers = read_ahead(1, 6, size)
    firsts = first_of_batches(transfers, WINDOW)
    assert len(firsts) == expected
    assert (joined(transfers, firsts) is transfers) == (size == WINDOW)
    assert len(first_of_batches(transfers, 0.0)) == 12, "nothing is read ahead"


def limited(random: np.random.Generator, number: int, burst: int, *, steady: bool) -> Transfers:
    """Of 4 ranks, one transfer in ``burst`` waits for 0.1 s: in turn, or at random."""
    is_long = random.random((8, number)) < 1 / burst
    if steady:
        is_long = (np.arange(number) + random.integers(burst, size=(8, 1))) % burst == 0
    seconds = np.where(is_long, 0.1, 0.001) * random.uniform(0.9, 1.1, (8, number))
    end = np.cumsum(seconds, axis=1)
    return Transfers(
        (end - seconds).reshape(-1),
        end.reshape(-1),
        np.ones(8 * number),
        np.repeat(np.arange(4), 2 * number),
        np.zeros(8 * number, dtype=np.int64),
        np.tile([0, 1], 4).repeat(number),
    )


def test_transfers_of_a_limited_rate_are_joined_and_those_that_wait_at_random_are_not() -> None:
    for seed in range(30):
        random = np.random.default_rng(seed)
        together = served_together(limited(random, 80, 6, steady=True))
        assert WINDOWS * 3 <= together <= WINDOWS * 8
        assert served_together(limited(random, 80, 6, steady=False)) == 1


def test_long_bursts_of_many_transfers_are_found_quickly() -> None:
    """100,000 transfers, one in 60 waits: lengths are tried by factors, not one by one."""
    transfers = limited(np.random.default_rng(1), 12_500, 60, steady=True)
    assert WINDOWS * 30 <= served_together(transfers) <= WINDOWS * 120


def test_what_is_not_ten_times_as_long_is_no_burst() -> None:
    """Every sixth transfer waits; where the others take a ninth of that, it is a mode."""
    for usual, is_joined in ((0.1 / 9.0, False), (0.1 / 11.0, True)):
        transfers = limited(np.random.default_rng(1), 80, 6, steady=True)
        seconds = np.where(transfers.seconds > 0.05, 0.1, usual)
        same = replace(transfers, end=transfers.start + seconds)
        assert (served_together(same) > 1) == is_joined


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
