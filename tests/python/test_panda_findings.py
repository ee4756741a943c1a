"""bench/compare/panda_findings.py: what it calls found, and what not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

COMPARE = Path(__file__).parents[2] / "bench" / "compare"
sys.path.insert(0, str(COMPARE))

import panda_findings  # noqa: E402
import panda_judgements  # noqa: E402
from panda_results import Results, balance, load_results, rate  # noqa: E402

from weir.analysis.findings import Judgement  # noqa: E402

MIDDLE, COLUMNS = panda_findings.sections_of(panda_findings.FULL_EXTENT)


def run_of(rates: list[float], *, share: float = 0.9, load: float = 1.0) -> dict[str, Any]:
    """A run whose directions are alike, beside a peak that it reaches `share` of."""
    directions = ("write", "read")
    peaks = [
        {"direction": d, "metric": "span", "values_bytes_per_second": [r / share for r in rates]}
        for d in directions
    ]
    return {
        "contiguous": {"status": "complete", "rates": peaks},
        "status": "complete",
        "label": "weir",
        "rates": [
            {"direction": d, "metric": "span", "values_bytes_per_second": rates} for d in directions
        ],
        "repetitions": [
            {
                "warmup": number == 0,
                "phases": [
                    {
                        "direction": d,
                        "array": {"balance": load, "gathering_seconds": {"mean": 0.01}},
                    }
                    for d in directions
                ],
            }
            for number in range(len(rates) + 1)
        ],
    }


def words(judgements: list[Judgement], part: str) -> set[str]:
    found = {one.word for one in judgements if part in one.finding}
    assert found, f"nothing is judged of {part!r}"
    return found


def over_nodes(rates: dict[int, float]) -> Results:
    buffer = panda_judgements.BUFFER
    return Results(
        "io-nodes",
        [
            ({"aggregators": n, "buffer": buffer}, run_of([r * 0.99, r, r * 1.01], share=r / 100))
            for n, r in rates.items()
        ],
    )


@pytest.mark.parametrize(
    ("rates", "apart", "follows", "less"),
    [
        ({1: 25, 2: 48, 4: 90}, True, "found", "found"),
        ({1: 25, 2: 50, 4: 100}, True, "found", "not found"),
        ({1: 25, 2: 30, 4: 40}, True, "not found", "not found"),
        ({1: 25, 2: 48, 4: 90}, False, "cannot be decided", "cannot be decided"),
    ],
)
def test_rates_over_io_nodes(rates: dict[int, float], apart: bool, follows: str, less: str) -> None:
    judgements = panda_judgements.io_nodes(over_nodes(rates), apart)
    assert words(judgements, "follows their number") == {follows}
    assert words(judgements, "a little less") == {less}
    assert words(judgements, "few I/O nodes") == {"found"}


def over_chunks(natural: dict[str, Any], others: dict[str, Any]) -> Results:
    return Results(
        "chunks",
        [
            (
                {"section": section, "chunk-counts": counts},
                run_of(**(natural if counts == "4x4" else others)),
            )
            for section in (MIDDLE, COLUMNS)
            for counts in ("4x4", "4x8", "50x50")
        ],
    )


def test_natural_chunks_that_are_uneven_and_slow_are_found() -> None:
    fast = {"rates": [99.0, 100.0, 101.0], "load": 1.02}
    judgements = panda_judgements.chunks(over_chunks({"rates": [50.0, 52.0], "load": 1.9}, fast))
    assert words(judgements, "slowest") == {"found"}
    assert words(judgements, "unevenly") == {"found"}
    assert words(judgements, "evenly; section") == {"found"}
    assert words(judgements, "rearranging") == {"not found"}
    judgements = panda_judgements.chunks(over_chunks(fast, fast))
    assert words(judgements, "slowest") == {"not found"}
    assert words(judgements, "unevenly") == {"not found"}


def test_what_overlaps_is_not_decided() -> None:
    """A median 10 % lower, among values that reach beyond the other's median."""
    wide = {"rates": [50.0, 90.0, 130.0]}
    narrow = {"rates": [60.0, 100.0, 101.0]}
    judgements = panda_judgements.chunks(over_chunks(wide, narrow))
    assert words(judgements, "slowest") == {"cannot be decided"}


def test_buffers_and_sections() -> None:
    sizes = Results(
        "buffers", [({"buffer": b}, run_of([r])) for b, r in ((1 << 19, 98.0), (1 << 21, 100.0))]
    )
    assert [one.word for one in panda_judgements.buffers(sizes, True)] == [
        "found",
        "cannot be decided",
    ]
    assert [one.word for one in panda_judgements.buffers(sizes, False)] == [
        "cannot be decided",
        "not found",
    ]
    whole = over_nodes({4: 95})
    half = over_chunks({"rates": [1.0]}, {"rates": [1.0], "share": 0.82})
    judgements = panda_judgements.sections(whole, half)
    assert words(judgements, "whole array reaches 0.90") == {"found"}
    assert words(judgements, "half reaches 0.80") == {"found"}
    assert words(judgements, "less than the whole") == {"found"}


def test_results_are_those_of_complete_runs(tmp_path: Path) -> None:
    design = {
        "name": "x",
        "combinations": [{"aggregators": 1}, {"aggregators": 2}],
        "runs": [{"number": n, "combination": c} for n, c in ((1, 1), (2, 0), (3, 1), (4, 0))],
    }
    (tmp_path / "campaign.json").write_text(json.dumps(design))
    for number, status in ((1, "complete"), (2, "complete"), (3, "failed")):
        folder = tmp_path / "runs" / f"{number:04d}" / "weir"
        folder.mkdir(parents=True)
        record = run_of([float(number)], load=1.5) | {"status": status}
        (folder / "run.json").write_text(json.dumps(record))
        (folder.parent / "contiguous").mkdir()
        (folder.parent / "contiguous" / "run.json").write_text(json.dumps(record["contiguous"]))
    results = load_results(tmp_path)
    assert results.levels("aggregators") == [1, 2]
    found = results.values(rate, "write", aggregators=2)
    assert found is not None
    assert found.values == [1.0]
    loads = results.values(balance, "read", aggregators=1)
    assert loads is not None
    assert loads.values == [1.5]
    assert results.values(rate, "write", aggregators=8) is None


@pytest.mark.parametrize("name", panda_findings.CAMPAIGNS)
def test_case_files_are_scaled_as_a_whole(name: str) -> None:
    case = (COMPARE.parents[1] / "cases" / f"{name}.toml").read_text()
    scaled = panda_findings.scaled(case, 640, 1, 2)
    assert "5120" not in scaled.split("workload =")[1]
    assert 'shape = "640x640"' in scaled
    assert "replication = 1\n" in scaled
    assert "max-repetitions = 2\n" in scaled
    if name == "collective-chunks":
        for section in panda_findings.sections_of(640):
            assert f'"{section}"' in scaled
