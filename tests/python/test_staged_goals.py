"""bench/compare/staged_goals.py: what it reads of results, and when a goal is reached."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

COMPARE = Path(__file__).parents[2] / "bench" / "compare"
sys.path.insert(0, str(COMPARE))

from staged_goals import (  # noqa: E402
    Judged,
    Round,
    copy_rate,
    judge_computing,
    judge_durable,
    judge_hand_over,
    judge_kernel,
    round_of,
)
from values import Values  # noqa: E402


def record(label: str, *streams: tuple[str, list[float], list[float]]) -> dict[str, Any]:
    """A run: for each kind of files what was observed, and what reached storage."""
    told = [
        {
            "stream": name,
            "observed": {"values_bytes_per_second": observed},
            "storage": {"values_bytes_per_second": storage},
        }
        for name, observed, storage in streams
    ]
    return {"label": label, "outputs": {"streams": told}}


@pytest.mark.parametrize(
    ("median", "at_most", "is_reached"),
    [(0.7, False, True), (0.69, False, False), (0.7, True, True), (0.71, True, False)],
)
def test_the_median_decides(median: float, at_most: bool, is_reached: bool) -> None:
    one = Judged(8, "what", 0.7, Values([0.1, median, 9.0]), at_most)
    assert one.is_reached is is_reached
    assert one.line.endswith("| reached |" if is_reached else "| not reached |")
    assert "[0.1, 9]" in one.line


def test_kernels_are_compared_round_by_round() -> None:
    records = [
        record("weir-hdf5 staged", ("checkpoint", [20, 60], [1, 1]), ("plot", [100, 150], [1, 1])),
        record("weir-hdf5", ("checkpoint", [5, 5], [1, 1]), ("plot", [5, 5], [1, 1])),
        record("hdf5", ("checkpoint", [2, 4], [1, 1]), ("plot", [1, 1], [1, 1])),
        record("pnetcdf", ("checkpoint", [4, 6], [1, 1]), ("plot", [10, 10], [1, 1])),
    ]
    found = {one.what: one for one in judge_kernel("flash", 8, records)}
    assert len(found) == 4
    ratios = {what: list(one.values.values) for what, one in found.items()}
    assert ratios["flash checkpoint, observed: staged / hdf5"] == [10, 15]
    assert ratios["flash plot, observed: staged / pnetcdf"] == [10, 15]
    # 10 and 7 times are the goals of a checkpoint, 100 and 12 times those of a plot file.
    assert [one.is_reached for one in found.values()] == [True, True, True, True]
    pnetcdf = record("pnetcdf", ("checkpoint", [4, 9], [1, 1]), ("plot", [10, 13], [1, 1]))
    slower = judge_kernel("flash", 8, [records[0], records[2], pnetcdf])
    assert [one.is_reached for one in slower] == [True, False, True, False]


def test_s3d_has_goals_of_its_own() -> None:
    records = [
        record("weir-hdf5 staged", ("checkpoint", [45.0], [1.0])),
        record("mpiio", ("checkpoint", [10.0], [1.0])),
        record("pnetcdf", ("checkpoint", [9.0], [1.0])),
    ]
    mpiio, pnetcdf = judge_kernel("s3d", 16, records)
    assert (mpiio.values.median, mpiio.is_reached) == (4.5, True)
    assert (pnetcdf.values.median, pnetcdf.is_reached) == (5.0, False)


def test_rates_to_storage_are_compared_with_the_peak_and_the_ranks() -> None:
    records = [
        record("weir-hdf5", ("checkpoint", [1.0], [190.0])),
        record("weir-hdf5 staged", ("checkpoint", [900.0], [192.0])),
    ]
    one = round_of(200.0, records)
    assert one == Round(peak=200.0, staged=192.0, by_ranks=190.0)
    peak, ranks = judge_durable(8, [one, one, Round(200.0, 150.0, 160.0)])
    assert (peak.values.median, peak.is_reached) == (0.96, True)
    assert ranks.is_reached
    assert min(ranks.values.values) == 150 / 160
    peak, ranks = judge_durable(8, [Round(200.0, 189.0, 190.0)])
    assert not peak.is_reached
    assert not ranks.is_reached


def test_a_run_may_take_a_tenth_more_than_computing_and_one_hand_over() -> None:
    seconds = {
        "computing": [1.8, 2.0, 2.0, 2.2],
        "node hand-over": [0.1, 0.1, 0.3],
        "node run": [2.2, 2.2],
    }
    found = judge_computing(8, {"seconds": seconds})
    assert list(found.values.values) == pytest.approx([2.2 / 2.0, 2.2 / 2.2])
    assert found.is_reached
    seconds["node run"] = [2.4, 2.5]
    assert not judge_computing(8, {"seconds": seconds}).is_reached


def test_a_hand_over_is_compared_with_the_largest_copies_of_as_many_ranks() -> None:
    def sample(operation: str, ranks: int, size: int, seconds: list[float]) -> dict[str, Any]:
        return {
            "operation": operation,
            "ranks": ranks,
            "operation_bytes": size,
            "operations": 2,
            "seconds": seconds,
        }

    probed = {
        "samples": [
            sample("memory_copy", 1, 100, [0.1]),
            sample("memory_copy", 8, 10, [0.1]),
            sample("memory_copy", 8, 100, [0.5, 1.0, 8.0]),
            sample("run_copy", 8, 1000, [0.1]),
        ]
    }
    assert copy_rate(probed, 8) == 1600
    with pytest.raises(ValueError, match="no copies by 16 ranks"):
        copy_rate(probed, 16)
    found = judge_hand_over(8, {"bytes": 1120, "seconds": {"node hand-over": [1.0, 2.0]}}, 1600)
    assert list(found.values.values) == [0.7, 0.35]
    assert not found.is_reached
