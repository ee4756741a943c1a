"""``weir-bench stream``: what it prints for IOR's users, and what its results hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bench_runs import Done

Bench = Callable[..., Done]
SMALL = ("-t", "64k", "-b", "256k", "-s", "2", "-i", "2")
RANKS, OPERATIONS, BYTES = 4, 4 * 8, 4 * 512 * 1024


@pytest.fixture
def stream(bench: Bench) -> Bench:
    def run(*arguments: str) -> Done:
        return bench(*arguments, workload="stream")

    return run


def test_the_table_has_iors_columns_and_a_line_per_phase(stream: Bench) -> None:
    done = stream(*SMALL, "-e")
    head = next(line for line in done.stdout.splitlines() if line.startswith("access "))
    assert head == (
        "access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   "
        "close(s)   total(s)   iter"
    )
    rows = [
        line.split()
        for line in done.stdout.splitlines()
        if re.match(r"(write|read) +[0-9.]+ ", line)
    ]
    phases = [row for row in rows if len(row) == 11]
    assert [(row[0], row[-1]) for row in phases] == [
        ("write", "0"),
        ("read", "0"),
        ("write", "1"),
        ("read", "1"),
    ]
    for row in phases:
        rate, total = float(row[1]), float(row[9])
        assert rate == pytest.approx(BYTES / 2**20 / total, rel=0.02)
        # Each is from the first rank's begin to the last rank's end, so that they can overlap.
        assert all(float(part) <= total for part in row[6:9])
    assert "Max Write:" in done.stdout
    assert "Max Read:" in done.stdout
    told = [line for line in done.stdout.splitlines() if line.startswith("# ")]
    assert [line.split()[1] for line in told] == ["write:", "read:"]
    assert "served the bytes" in told[0]


def test_json_has_iors_keys_and_the_results_figures(stream: Bench) -> None:
    done = stream(*SMALL, "-O", "summaryFormat=JSON")
    read = json.loads(done.stdout)
    (test,) = read["tests"]
    assert [entry["access"] for entry in test["Results"]] == ["write", "read"] * 2
    assert test["Parameters"]["transferSize"] == 65536
    assert test["Options"]["access"] == "single-shared-file"
    assert {entry["operation"] for entry in read["summary"]} == {"write", "read"}
    for entry in read["summary"]:
        assert entry["bwMinMIB"] <= entry["bwMeanMIB"] <= entry["bwMaxMIB"]
        assert entry["numTasks"] == RANKS
        assert entry["xsizeMiB"] == 2.0
    run = done.run("posix-shared-segmented-64k")
    for entry, phase in zip(
        test["Results"],
        [phase for repetition in run.repetitions for phase in repetition.phases],
        strict=True,
    ):
        assert phase.rate_span_bytes_per_second is not None
        assert entry["wrRdTime"] == pytest.approx(phase.bytes / phase.rate_span_bytes_per_second)
        assert entry["servedBy"] == phase.cache.verdict
    assert {entry["servedBy"] for entry in test["Results"]} != {"unknown"}


def test_the_summary_goes_to_a_file(stream: Bench, tmp_path: Path) -> None:
    done = stream(*SMALL, "-O", f"summaryFile={tmp_path}/out.csv,summaryFormat=CSV")
    assert done.stdout == ""
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("test,label,access,bw(MiB/s)")


def test_a_result_counts_every_operation_and_byte(stream: Bench) -> None:
    done = stream(*SMALL, "-a", "POSIX,IO_URING,MPIIO", "-F", "-e")
    for slug in ("posix", "io-uring", "mpiio"):
        run = done.run(f"{slug}-per-rank-segmented-64k")
        assert run.status == "complete"
        assert run.verification.performed
        assert run.verification.bytes_verified >= 2 * BYTES
        assert run.verification.errors == []
        for repetition in run.repetitions:
            for phase in repetition.phases:
                assert (phase.operations, phase.bytes) == (OPERATIONS, BYTES)
                assert phase.open_seconds is not None
                assert phase.close_seconds is not None
                assert phase.stonewall is None
        assert {histogram.count for histogram in run.histograms} == {2 * OPERATIONS}
        assert run.parameters["file_per_rank"].value is True
        assert run.parameters["transfer_bytes"].value == 65536
        assert run.parameters["sync"].value == "fsync"
        assert run.plan.files == RANKS


def test_the_trace_is_bounded_and_says_so(stream: Bench) -> None:
    done = stream("-t", "4k", "-b", "1m", "-i", "1", "--trace-events", "10", "-e")
    folder = done.results / "posix-shared-segmented-4k"
    run = done.run(folder.name)
    assert any("every 26th operation" in warning for warning in run.warnings)
    assert {histogram.count for histogram in run.histograms} == {4 * 256}
    operations = np.load(folder / "events" / "operation.npy")
    # Each of four ranks has ten reads, ten writes and the sync.
    assert [int((operations == code).sum()) for code in (0, 1, 2)] == [40, 40, 4]
    assert set(np.load(folder / "events" / "function.npy").tolist()) == {4, 5}


def test_several_targets_take_their_ranks_in_turn(stream: Bench, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    done = stream(*SMALL, "-F", "-o", "a@b@c")
    run = done.run("posix-per-rank-segmented-64k")
    assert [target.ranks for target in run.plan.targets] == [[0, 3], [1], [2]]
    assert [target.ranks for target in run.targets] == [[0, 3], [1], [2]]
    share = BYTES // RANKS
    for target, ranks in zip(run.targets, (2, 1, 1), strict=True):
        assert [phase.bytes for phase in target.phases] == [ranks * share] * 2
    assert not any(path for name in "abc" for path in (tmp_path / name).iterdir())


def test_a_stonewall_with_wear_out_brings_all_ranks_to_one_count(stream: Bench) -> None:
    done = stream("-t", "4k", "-b", "256m", "-F", "-D", "0.2", "-O", "stoneWallingWearOut=1", "-i1")
    run = done.run("posix-per-rank-segmented-4k")
    write, read = run.repetitions[0].phases
    assert write.stonewall is not None
    assert read.stonewall is not None
    assert write.stonewall.reached
    assert write.operations == RANKS * write.stonewall.operations_most
    assert write.stonewall.bytes <= write.bytes
    assert read.bytes <= write.bytes


def test_kept_files_are_read_and_checked_by_a_later_run(stream: Bench, tmp_path: Path) -> None:
    first = stream(*SMALL, "-wk", "-o", "kept", "-G", "7")
    assert (tmp_path / "kept").stat().st_size == BYTES
    assert first.run("posix-shared-segmented-64k").verification.bytes_verified == 2 * BYTES
    first.results.rename(tmp_path / "first")
    second = stream(*SMALL, "-r", "-C", "-o", "kept", "-G", "7")
    run = second.run("posix-shared-segmented-64k")
    assert [phase.direction for phase in run.plan.phases] == ["read"]
    assert run.verification.bytes_verified == 2 * BYTES
    assert (tmp_path / "kept").exists()


def test_a_later_run_reads_what_was_written_before_the_stonewall(
    stream: Bench, tmp_path: Path
) -> None:
    """As scripts of IO500 do it: a block that no disk has room for, and a file with the count."""
    line = ["-t", "1m", "-b", "9920000m", "-F", "-C", "-Q", "1", "-g", "-G", "27", "-k", "-e"]
    line += ["-o", "kept", "-O", f"stoneWallingStatusFile={tmp_path / 'count'}", "-i1"]
    first = stream(*line, "-w", "-D", "0.05", "-O", "stoneWallingWearOut=1")
    written = first.run("posix-per-rank-segmented-1m").repetitions[0].phases[0]
    assert written.operations == RANKS * int((tmp_path / "count").read_text())
    first.results.rename(tmp_path / "first")
    second = stream(*line, "-r", "-R").run("posix-per-rank-segmented-1m").repetitions[0].phases[0]
    assert (second.operations, second.bytes) == (written.operations, written.bytes)


def test_unverified_data_are_said_to_be(stream: Bench) -> None:
    run = stream(*SMALL, "--no-verify").run("posix-shared-segmented-64k")
    assert not run.verification.performed
    assert run.verification.bytes_verified == 0
