"""A run in which one rank's clock is seconds off must give the same figures as any other.

The field's standard tool reports 41 MiB/s for a run of 1067 MiB/s when one node's clock is 3 s off.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from bench_runs import WEIR_BENCH
from mpi_launcher import environment, launcher

from weir.results.schema import Run

SHIFT_SECONDS = 60  # longer than a repetition takes on the busiest machine
SHIFTED_RANK = 3


def shifted(command: list[str]) -> list[str]:
    return ["unshare", "--time", "--fork", "--monotonic", str(SHIFT_SECONDS), *command]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on 4 ranks, of which the last lives a minute in the future."""
    probe = subprocess.run(shifted(["true"]), capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"no time namespaces here: {probe.stderr.strip()}")
    folder = tmp_path_factory.mktemp("clocks")
    bench = [str(WEIR_BENCH), "madbench", "256", "4", "1", "32", "4096", "1", "1"]
    bench += ["--directory", str(folder), "--output", str(folder / "results")]
    bench += ["--repetitions", "3", "--max-repetitions", "3"]
    # One program for all ranks: Open MPI 5.0.7's launcher crashes if it gets two.
    own = shifted([])
    choose = '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 3 ] || shift "$0"; exec "$@"'
    command = [*launcher(), "-n", "4", "sh", "-c", choose, str(len(own)), *own, *bench]
    done = subprocess.run(
        command,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "results" / "posix-unique-sync"


def test_the_shift_is_found_within_its_bound(results: Path) -> None:
    run = Run.model_validate(json.loads((results / "run.json").read_text()))
    assert run.clocks is not None
    wrong_ns = abs(run.clocks.max_offset_ns - SHIFT_SECONDS * 10**9)
    assert wrong_ns <= run.clocks.error_bound_ns
    fraction = run.clocks.error_bound_ns / run.clocks.measured_span_ns
    assert run.clocks.flagged == (fraction > 0.01)
    assert run.clocks.flagged == any("clocks" in warning for warning in run.warnings)


def test_no_rate_is_wrong_by_the_shift(results: Path) -> None:
    run = Run.model_validate(json.loads((results / "run.json").read_text()))
    for repetition in run.repetitions:
        for phase in repetition.phases:
            assert phase.rate_span_bytes_per_second is not None
            # With the shift left in, one operation's span alone would be that long.
            span_seconds = phase.bytes / phase.rate_span_bytes_per_second
            assert span_seconds <= repetition.seconds
            assert repetition.seconds < SHIFT_SECONDS


def test_all_ranks_share_one_time_line_in_the_trace(results: Path) -> None:
    columns = {
        name: np.load(results / "events" / f"{name}.npy")
        for name in ("rank", "repetition", "start_ns", "end_ns")
    }
    for repetition in np.unique(columns["repetition"]):
        there = columns["repetition"] == repetition
        starts = [columns["start_ns"][there & (columns["rank"] == rank)].min() for rank in range(4)]
        assert max(starts) - min(starts) < 10**9
    run = Run.model_validate(json.loads((results / "run.json").read_text()))
    assert run.clocks is not None
    # Times of the shifted rank are known to the bound, so they may lie before the run by as much.
    assert columns["start_ns"].min() >= -run.clocks.error_bound_ns
