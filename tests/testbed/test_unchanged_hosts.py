"""Unchanged programs over hosts that share no memory: their calls are passed on, with a reason."""

from __future__ import annotations

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


def watched(folder: Path, option: str, passed: list[str], *program: str) -> tuple[str, str, Sums]:
    """Output and records of a program on the hosts; the launcher has to pass variables on."""
    command = [*launcher(RANKS), *(word for name in passed for word in ("-x", name)), *program]
    options = ["--mpi-io", "--take-over"] if option == "--mpi-io" else [option]
    given = environment(INDEPENDENT | {"WEIR_HDF5_VOL_LIBRARY": str(CONNECTOR)})
    run = ["run", *options, "--records", "records", "--", *command]
    with WeirProcess(run, cwd=folder, env=given) as process:
        out, err = process.communicate(timeout=120)
        assert process.wait(0) == 0, err
    records = sorted((folder / "records").iterdir())
    assert len(records) == RANKS
    return out, err, sum_up(records)


@pytest.mark.skipif(not CALLS.exists(), reason=f"{CALLS} is not built")
def test_calls_of_mpi_io_are_passed_on(hosts: MakeHosts, tmp_path: Path) -> None:
    hosts(2)
    variables = ["LD_PRELOAD", "WEIR_MPIIO_FOLDER", "WEIR_MPIIO_TAKE_OVER", *INDEPENDENT]
    words = (str(CALLS), "write", "collective", str(tmp_path / "file"))
    out, err, sums = watched(tmp_path, "--mpi-io", variables, *words)
    assert out.count(": 0 are wrong") == 2 * RANKS
    assert {reason for by_reason in sums.passed.values() for reason in by_reason} == {SEVERAL_NODES}
    assert f"passed on, {RANKS} times: {SEVERAL_NODES}" in err


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
