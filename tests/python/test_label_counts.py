"""bench/compare/anomalies.py: when a label counts as right, and how sure a share is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from weir.results.schema import Anomaly

COMPARE = Path(__file__).parents[2] / "bench" / "compare"
sys.path.insert(0, str(COMPARE))
import anomalies  # noqa: E402

sys.path.remove(str(COMPARE))


@pytest.mark.parametrize(
    ("number", "of", "low", "high"),
    [
        (0, 30, 0.0, 1 - 0.025 ** (1 / 30)),
        (20, 20, 0.025 ** (1 / 20), 1.0),
        (19, 20, 0.7513, 0.9987),
        (1, 60, 0.0004, 0.0894),
    ],
)
def test_intervals_are_those_of_tables(number: int, of: int, low: float, high: float) -> None:
    assert anomalies.interval(number, of) == pytest.approx((low, high), abs=1e-4)


def said(kind: str, text: str) -> Anomaly:
    return Anomaly(function="write", direction="write", kind=kind, text=text, reasons=[])


def test_a_label_is_right_if_it_names_the_slowed_part_and_no_other() -> None:
    case = next(one for one in anomalies.on_hosts() if one.name == "slowed rank")
    assert case.add(3, [said("slow rank", "1.5 times faster without rank 3, which takes 1.6")])
    assert not case.add(3, [said("slow rank", "1.5 times faster without ranks 3, 4, which take")])
    assert not case.add(3, [said("slow host", "1.5 times faster without host weir-host2, which")])
    assert not case.add(3, [])
    assert (case.right, case.runs) == (1, 4)


def test_any_label_of_a_homogeneous_run_is_wrong() -> None:
    case = anomalies.on_targets()[0]
    assert case.add(0, [])
    assert not case.add(1, [said("tail", "in the last 20 %")])
    assert (case.right, case.runs, case.said) == (1, 2, {"nothing": 1, "tail": 1})
