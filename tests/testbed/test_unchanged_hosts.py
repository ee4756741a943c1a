"""Unchanged programs over hosts that share no memory, whose calls are taken over if it is asked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mpi_launcher import BUILD, environment
from vol_program import CONNECTOR, INDEPENDENT, PROGRAMS, Run, differences, needs_connector
from weir_process import WeirProcess

from testbed_calls import MakeHosts, launcher
from weir.mpiio.records import Sums, sum_up

RANKS = 4
CALLS = BUILD / "tests" / "mpiio" / "mpiio_failing_calls"
SEVERAL_NODES = "the launcher does not tell that all ranks run on one node"


def watched(
    folder: Path, option: str, passed: list[str], *program: str, with_it: int = RANKS,
    **variables: str,
) -> tuple[str, str, Sums]:  # fmt: skip
    """Output and records of a program on the hosts; the launcher has to pass variables on."""
    command = [*launcher(RANKS), *(word for name in passed for word in ("-x", name)), *program]
    given = environment(INDEPENDENT | {"WEIR_HDF5_VOL_LIBRARY": str(CONNECTOR)} | variables)
    run = ["run", option, "--records", "records", "--", *command]
    with WeirProcess(run, cwd=folder, env=given) as process:
        out, err = process.communicate(timeout=120)
        assert process.wait(0) == 0, err
    records = sorted((folder / "records").iterdir())
    assert len(records) == with_it
    return out, err, sum_up(records)


@pytest.mark.skipif(not CALLS.exists(), reason=f"{CALLS} is not built")
def test_calls_of_mpi_io_are_passed_on(hosts: MakeHosts, tmp_path: Path) -> None:
    hosts(2)
    variables = ["LD_PRELOAD", "WEIR_MPIIO_FOLDER", "WEIR_MPIIO_TAKE_OVER", *INDEPENDENT]
    words = (str(CALLS), "write", "collective", str(tmp_path / "file"))
    out, err, sums = watched(tmp_path, "--take-over", variables, *words)
    assert out.count(": 0 are wrong") == 2 * RANKS
    assert {reason for by_reason in sums.passed.values() for reason in by_reason} == {SEVERAL_NODES}
    assert f"passed on, {RANKS} times: {SEVERAL_NODES}" in err


TOLD = ("WEIR_MPIIO_FOLDER", "WEIR_MPIIO_TAKE_OVER", "WEIR_MPIIO_NODES", *INDEPENDENT)


@pytest.mark.skipif(not CALLS.exists(), reason=f"{CALLS} is not built")
@pytest.mark.parametrize("program", ["calls", "views"])
def test_calls_on_all_nodes_are_taken_over(program: str, hosts: MakeHosts, tmp_path: Path) -> None:
    hosts(2)
    words = {
        "calls": (str(CALLS), "write", "collective", str(tmp_path / "file")),
        "views": (str(CALLS.parent / "mpiio_modelled_calls"), "29", "60"),
    }[program]
    out, err, sums = watched(tmp_path, "--all-nodes", ["LD_PRELOAD", *TOLD], *words)
    if program == "calls":
        assert out.count(": 0 are wrong") == 2 * RANKS, out
    else:
        assert re.fullmatch(r"\d+ calls, 0 differences\n", out), (out, err)
    taken = sum(one.taken for file in sums.files.values() for one in file.values())
    assert taken >= 2 * RANKS, err
    assert SEVERAL_NODES not in err


@pytest.mark.skipif(not CALLS.exists(), reason=f"{CALLS} is not built")
def test_a_node_without_the_libraries_is_noticed(hosts: MakeHosts, tmp_path: Path) -> None:
    hosts(2)
    alone = 'test "$OMPI_COMM_WORLD_RANK" -lt 2 || unset LD_PRELOAD; exec "$0" "$@"'
    words = ("sh", "-c", alone, str(CALLS), "write", "collective", str(tmp_path / "file"))
    given = ["LD_PRELOAD", *TOLD, "WEIR_DEADLINE"]
    out, err, sums = watched(
        tmp_path, "--all-nodes", given, *words, with_it=RANKS // 2, WEIR_DEADLINE="3"
    )
    assert out.count(": 0 are wrong") == 2 * RANKS
    assert {reason for by_reason in sums.passed.values() for reason in by_reason} == {SEVERAL_NODES}
    assert (
        err.count("weir: some ranks were started without Weir's libraries, so that no calls") == 1
    )


@needs_connector
def test_datasets_of_hdf5_are_passed_on(hosts: MakeHosts, tmp_path: Path) -> None:
    without = Run(tmp_path / "without", RANKS)
    hosts(2)
    file = tmp_path / "weir-file.h5"
    variables = ["HDF5_PLUGIN_PATH", "HDF5_VOL_CONNECTOR", "WEIR_HDF5_FOLDER", *INDEPENDENT]
    words = (str(PROGRAMS / "hdf5_datasets"), str(file))
    _, _, sums = watched(tmp_path, "--hdf5", variables, *words)
    assert differences(without.file, file) == ""
    assert not any(one.taken for one in sums.files[str(file)].values())
    assert SEVERAL_NODES in sums.passed[str(file)]
