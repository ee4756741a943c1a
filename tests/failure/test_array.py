"""``weir-bench array`` when storage fails or lies, and command lines that it refuses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from failing_runs import BRIEF, WEIR_BENCH, Ended, assert_ended_cleanly, run
from mpi_launcher import environment, launcher

from weir.results.folder import load_run
from weir.results.schema import PayloadError

# 2 x 2 blocks of 64 x 64: rows of 512 bytes.
ARRAY = ("array", "--api", "posix", "--shape", "128x128", *BRIEF)


def array(tmp_path: Path, *arguments: str, fault: str) -> Ended:
    return run(tmp_path, *arguments, workload=ARRAY, fault=fault)


@pytest.mark.parametrize(
    ("call", "error", "operation"),
    [("pwrite", "ENOSPC", "write"), ("pread", "EIO", "read"), ("fsync", "EIO", "fsync")],
)
def test_an_error_of_a_call_is_named_with_rank_and_file(
    tmp_path: Path, call: str, error: str, operation: str
) -> None:
    ended = array(tmp_path, fault=f"rank=2,call={call},nth=1,error={error}")
    failure = assert_ended_cleanly(ended).failure
    assert failure is not None
    assert (failure.rank, failure.cause, failure.operation) == (2, error, operation)
    assert failure.file is not None
    assert Path(failure.file).is_relative_to(ended.directory)


def only_error(ended: Ended) -> PayloadError:
    record = assert_ended_cleanly(ended)
    assert record.failure is not None
    assert record.failure.cause == "corrupt_data"
    return record.verification.errors[0]


def test_a_row_that_was_not_written_is_found_and_named(tmp_path: Path) -> None:
    """Rank 1 holds columns 64 to 127 of rows 0 to 63; its third row is lost."""
    error = only_error(array(tmp_path, fault="rank=1,call=pwrite,nth=3,effect=drop"))
    assert (error.kind, error.rank, error.function) == ("zeros", 1, "read")
    assert error.offset_bytes == (2 * 128 + 64) * 8


def test_a_bit_that_flips_on_the_way_back_is_found(tmp_path: Path) -> None:
    error = only_error(array(tmp_path, fault="rank=3,call=pread,nth=5,effect=flip"))
    assert (error.kind, error.rank) == ("flipped_bit", 3)


def test_what_lies_outside_of_a_section_is_checked_too(tmp_path: Path) -> None:
    """Rank 0 writes 64 rows beforehand; the section leaves the first of them alone."""
    fault = "rank=0,call=pwrite,nth=1,effect=flip"
    error = only_error(array(tmp_path, "--section", "64:128,64:128", "-w", fault=fault))
    assert (error.kind, error.function) == ("flipped_bit", "write")
    assert error.offset_bytes < 512


def test_collective_interfaces_find_wrong_data(tmp_path: Path) -> None:
    workload = ("array", "--api", "mpiio", "--shape", "128x128", *BRIEF)
    ended = run(tmp_path, workload=workload, fault="rank=0,call=pwrite,nth=1,effect=flip")
    assert only_error(ended).kind in {"flipped_bit", "foreign"}


def in_two_directories(tmp_path: Path, fault: str) -> tuple[Ended, list[Path]]:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    several = ("--api", "weir", "--layout", "per-rank", "--chunk", "64x64", "--peak")
    ended = run(
        tmp_path,
        *("--shape", "128x128", *BRIEF),
        workload=("array", *several),
        fault=fault,
        directory=Path(",".join(str(folder) for folder in folders)),
    )
    return ended, folders


def test_contiguous_pieces_are_counted_by_their_directories(tmp_path: Path) -> None:
    ended, folders = in_two_directories(tmp_path, fault="")
    assert ended.status == 0, ended.stderr
    pieces = load_run(ended.results / "contiguous")
    assert [Path(one.directory).parent for one in pieces.targets] == folders
    assert [one.ranks for one in pieces.targets] == [[0, 2], [1, 3]]
    half = 128 * 128 * 8 // 2
    for target in pieces.targets:
        assert [(one.function, one.bytes) for one in target.phases] == [
            ("write", half),
            ("read", half),
        ]
        assert all(one.io_seconds_max > 0 for one in target.phases)
    assert load_run(ended.results / "weir").targets == [], "a rank's chunks may be in either"


def test_nothing_is_left_in_any_of_several_directories(tmp_path: Path) -> None:
    ended, folders = in_two_directories(tmp_path, fault="rank=1,call=fdatasync,nth=2,error=EIO")
    assert ended.status != 0
    assert any("rank 1" in line and "second" in line for line in ended.messages), ended.messages
    for folder in folders:
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--shape", "10xx"), "--shape: '10xx' is not a list of extents"),
        (("--api", "adios"), "'adios' is not a list of weir"),
        (("--distribution", "BLOK"), "--distribution BLOK"),
        (("--grid", "3x1"), "--grid 3 x 1: more processes than the 2 ranks"),
        (("--section", "0:10"), "--section 0:10: give FIRST:END"),
        (("--chunk", "8x8"), "mpiio cannot store chunks: use weir, weir-hdf5, weir-zarr or hdf5"),
        (("--shape", "1tx1t"), "give at most 2^62"),
        (("--shape", "1gx1k", "--api", "posix"), "another --directory"),
        (("--direct",), "--direct"),
        (("--ranks-per-node", "2"), "--ranks-per-node applies only to weir; given: mpiio"),
        (("--ranks-per-node", "0", "--api", "weir"), "--ranks-per-node"),
        (("--io-groups", "2"), "--io-groups applies only to weir; given: mpiio"),
        (("--placement", "first"), "--placement applies only to weir; given: mpiio"),
        (("--placement", "last", "--api", "weir"), "--placement"),
        (("--io-groups", "0,,1", "--api", "weir"), "'0,,1' names no I/O groups: part 2 is empty"),
        (("--io-groups", "0", "--api", "weir"), "is not a number of nodes from 1 to 2147483647"),
        (("--io-groups", "0,2", "--api", "weir"), "there is a group 2 but no group 1"),
    ],
)
def test_refused_in_one_line(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    """As a plan without MPI: the same function refuses it under MPI."""
    command = [str(WEIR_BENCH), "array", "--plan", "--ranks", "2", *arguments]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    (line,) = done.stderr.splitlines()
    assert line.startswith("weir-bench: ")
    assert says in line
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_request_is_refused_once_by_all_ranks(tmp_path: Path) -> None:
    done = subprocess.run(
        [*launcher(), "-n", "2", str(WEIR_BENCH), "array", "--grid", "3x1"],
        cwd=tmp_path,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("weir-bench: ")]
    assert len(lines) == 1, done.stderr
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == []


def in_two_groups(folder: Path, ranks_per_node: int) -> subprocess.CompletedProcess[str]:
    """An array of two ranks, whose I/O groups are those of two nodes."""
    groups = ("--api", "weir", "--shape", "128x128", "--io-groups", "0,1")
    nodes = ("--ranks-per-node", str(ranks_per_node))
    return subprocess.run(
        [*launcher(), "-n", "2", str(WEIR_BENCH), "array", *groups, *nodes, *BRIEF],
        cwd=folder,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_io_groups_of_more_nodes_than_there_are_are_refused_by_all_ranks(tmp_path: Path) -> None:
    done = in_two_groups(tmp_path, ranks_per_node=2)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("weir-bench: ")]
    assert "io_groups lists the groups of 2 nodes, but the ranks are on 1" in line
    assert done.returncode != 0


def test_ranks_of_one_machine_count_as_several_nodes(tmp_path: Path) -> None:
    done = in_two_groups(tmp_path, ranks_per_node=1)
    assert done.returncode == 0, done.stderr


def plan_of(*arguments: str) -> subprocess.CompletedProcess[str]:
    machine = ("--nodes", "4", "--ranks-per-node", "2", "--targets", "2", "--stripe", "512")
    return subprocess.run(
        [str(WEIR_BENCH), "plan", *machine, "--array-shape", "64x64", *arguments],
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_plan_counts_the_bytes_that_io_groups_keep_from_crossing() -> None:
    """Each row is in columns of all nodes: half of what an aggregator has is of another group."""
    planned = json.loads(plan_of("--io-groups", "2", "--json").stdout)
    across = planned["bytes_across_groups"]
    for strategy in ("two-phase", "server-directed"):
        assert across[strategy] == {"planned": 0, "with_one_group": 64 * 64 * 8 / 2}
    for strategy in ("direct", "node"):
        assert across[strategy] == {"planned": 0, "with_one_group": 0}
    assert "I/O groups: 2 (of 2 nodes each)" in plan_of("--io-groups", "0,1,1,0").stdout
    assert "I/O groups" not in plan_of("--io-groups", "4").stdout
    refused = plan_of("--io-groups", "0,1,1")
    assert refused.returncode == 2
    assert "lists the groups of 3 nodes, but the ranks are on 4" in refused.stderr


def test_a_plan_compares_placements_on_a_ring() -> None:
    """Two aggregators gather from their own group, or MPI-IO's way from all nodes of the ring."""
    ring = ("--network", "4", "--io-groups", "2", "--group-aggregators", "1")
    arguments = (*ring, "--strategy", "two-phase", "--placement", "first")
    planned = json.loads(plan_of(*arguments, "--json").stdout)
    assert planned["placement"] == "first"
    assert planned["mean_hops"] == 0.5
    written = 64 * 64 * 8
    placements = planned["placements"]
    for name in ("spread", "nearest", "first", "priced"):
        placement = placements[name]
        assert placement["aggregators"] == 2
        assert placement["bytes_across_groups"] == 0
        assert placement["hop_bytes"] == written / 2
        assert placement["bytes_per_link"]["most"] == written / 4
    global_first = placements["first, for all groups"]
    assert global_first["aggregators"] == 2
    assert global_first["bytes_across_groups"] == written / 2
    assert global_first["mean_hops"] == 1
    assert global_first["bytes_per_link"]["most"] == written / 4
    text = plan_of(*arguments).stdout
    assert "aggregators are placed: first\nnetwork: 4" in text
    assert "first, for all groups" in text
    assert "placement, with" not in plan_of("--placement", "first").stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--network", "8x"), "'8x' names no network: extent 2 is not a whole number"),
        (("--network", "3"), "--network: network 3 has 3 places, but the ranks are on 4 nodes"),
        (("--placement", "last"), "--placement"),
        (("--group-aggregators", "0"), "--group-aggregators"),
    ],
)
def test_a_plan_refuses_what_is_no_network(arguments: tuple[str, ...], says: str) -> None:
    refused = plan_of(*arguments)
    assert refused.returncode == 2
    assert says in refused.stderr


def test_help_is_as_it_was() -> None:
    """The options of a released program are what its users' scripts rest on."""
    command = [str(WEIR_BENCH), "array", "--help"]
    done = subprocess.run(
        command, env=environment({}), capture_output=True, text=True, timeout=60, check=True
    )
    # How many lines end it depends on the version of CLI11.
    expected = (Path(__file__).parent / "array_help.txt").read_text()
    assert done.stdout.rstrip("\n") == expected.rstrip("\n")
