"""``weir bench s3d``, and the Fortran program that writes and reads back the same arrays."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from mpi_launcher import BUILD, environment, launcher
from numpy.typing import NDArray

from output_runs import elements, kept, run_workload, same_bits
from report_reader import read_report
from test_cli_real import weir
from test_striping import bench
from weir.results.folder import find_run_folders, load_run
from weir.results.schema import Run

PROGRAM = BUILD / "examples" / "example_12_restart"
needs_fortran = pytest.mark.skipif(
    not PROGRAM.exists(), reason="the module weir is not built: it needs a Fortran compiler"
)
PROGRAM_SECONDS = 60
# No extent can be divided by two or three. Extents in files are reversed.
CELLS = (7, 11, 3)
NAMES = ("yspecies", "temp", "pressure", "u")
SHAPES = {"yspecies": (11, 3, 11, 7), "temp": (3, 11, 7), "pressure": (3, 11, 7),
          "u": (3, 3, 11, 7)}  # fmt: skip
DIMENSIONS = {"x", "y", "z", "species", "component"}
DOUBLES = 16
STRONG = ("--nx", "7", "--ny", "11", "--nz", "3", "--strong", "--steps", "2")


def arrays_of(run: Run, configuration: int, number: int) -> dict[str, NDArray[Any]]:
    """What a file of a configuration has, in the order of the arrays."""
    return {
        name: elements(run, number * len(NAMES) + place, SHAPES[name], "float64",
                       configuration=configuration)
        for place, name in enumerate(NAMES)
    }  # fmt: skip


def test_files_have_the_arrays_of_a_fortran_program_also_when_staged(
    tmp_path: Path, stager: dict[str, str]
) -> None:
    words = ("--api", "hdf5,mpiio,weir-hdf5", "--staging", "none,node", "--work", "0.02", "--keep")
    runs = run_workload(tmp_path, "s3d", *STRONG, *words, variables=stager)
    labels = ["hdf5", "mpiio", "weir-hdf5", "weir-hdf5 staged"]
    assert set(runs) == set(labels)
    for configuration, label in enumerate(labels):
        run = runs[label]
        assert run.outputs is not None
        assert run.outputs.cells == list(CELLS)
        assert run.outputs.processes == [2, 2, 1]
        assert run.outputs.restart_processes == [2, 1, 1]
        assert run.verification.bytes_verified == 2 * run.plan.disk_bytes_total
        (stream,) = run.outputs.streams
        assert (stream.stream, stream.files) == ("checkpoint", 2)
        assert stream.bytes_per_file == DOUBLES * 8 * np.prod(CELLS)
        assert (stream.hidden_fraction is None) != label.endswith("staged")
        assert stream.observed.median > 0
        assert stream.storage.median > 0
        for number in range(2):
            wanted = arrays_of(run, configuration, number)
            path = kept(tmp_path, label.replace(" ", "-")) / f"field_{number:04}"
            if label == "mpiio":
                found = path.with_suffix(".bare").read_bytes()
                assert found == b"".join(array.tobytes() for array in wanted.values())
                continue
            with h5py.File(path.with_suffix(".h5")) as file:
                assert set(file) - DIMENSIONS == set(NAMES)
                assert all(same_bits(file[name][...], wanted[name]) for name in NAMES)


def test_weir_bench_shows_both_throughputs_and_leaves_no_files(tmp_path: Path) -> None:
    words = ("-n", "3", "--api", "weir-cdf5,mpiio", *STRONG, "--restart-ranks", "2")
    brief = ("--warmups", "0", "--repetitions", "2", "--max-repetitions", "2")
    status, out, err = weir(tmp_path, "bench", "s3d", *words, *brief, "--output", "results")
    assert status == 0, out + err
    assert [entry.name for entry in tmp_path.iterdir()] == ["results"]
    runs = [load_run(folder) for folder in find_run_folders(tmp_path / "results")]
    assert len(runs) == 2
    for run in runs:
        assert run.expectation is not None
        assert [one.metric for one in run.expectation.rates] == ["span", "foreground"]
    assert "2 checkpoint" in out
    page = read_report(tmp_path / "results" / "report.html")
    assert len(page.find("div", aria_label="What the program observes of its output")) == 3


def plan(folder: Path, ranks: int, *words: str) -> dict[str, int]:
    answer = bench(folder, "s3d", *words, "--plan", "--ranks", str(ranks))
    assert answer.returncode == 0, answer.stderr
    (one,) = json.loads(answer.stdout)["configurations"]
    found: dict[str, int] = one["plan"]
    return found


def test_the_plan_has_the_sizes_of_the_paper(tmp_path: Path) -> None:
    """Vishwanath et al. (SC 2011), section 6.2: 68 GiB and 16 GiB a step on 32,768 cores."""
    weak = plan(tmp_path, 64)
    assert weak["files"] == 20
    assert weak["disk_bytes_total"] / 20 / 64 * 32768 / 2**30 == pytest.approx(68, rel=0.01)
    strong = plan(tmp_path, 64, "--nx=512", "--ny=512", "--nz=512", "--strong", "--steps=1")
    assert strong["disk_bytes_total"] == 16 * 2**30
    # Half of the ranks read the step back.
    assert strong["memory_bytes_per_rank"] == 16 * 2**30 // 32


def program(
    ranks: int, phase: str, folder: Path, *seconds: str, variables: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Runs the Fortran program for two steps."""
    words = [phase, *(str(along) for along in CELLS), str(folder), "2", *seconds]
    return subprocess.run(
        [*launcher(deadline_seconds=PROGRAM_SECONDS), "-n", str(ranks), str(PROGRAM), *words],
        cwd=folder, env=environment(variables), capture_output=True, text=True,
        timeout=PROGRAM_SECONDS + 15, check=False,
    )  # fmt: skip


@needs_fortran
@pytest.mark.parametrize("staging", ["none", "node"])
def test_the_fortran_program_restarts_on_other_numbers_of_ranks(
    staging: str, tmp_path: Path, stager: dict[str, str]
) -> None:
    """The environment alone decides about staging."""
    variables = {**stager, "WEIR_STAGING": staging}
    written = program(4, "write", tmp_path, "0.05", variables=variables)
    assert written.returncode == 0, written.stderr
    assert "2 steps: blocked for" in written.stdout
    for ranks in (1, 3, 6):
        ended = program(ranks, "restart", tmp_path, variables=variables)
        assert ended.returncode == 0, ended.stderr
        assert f"2 steps read on {ranks} ranks; wrong elements: 0" in ended.stdout
    with h5py.File(tmp_path / "field_0001.h5") as file:
        assert set(file) == set(NAMES) | DIMENSIONS
        assert {name: file[name].shape for name in NAMES} == SHAPES
        # As the program counts: cells along x first, and components 0 to 10 are the species.
        cells = np.arange(np.prod(CELLS), dtype=np.float64).reshape(CELLS[::-1])
        for component, (name, place) in enumerate(
            [*(("yspecies", i) for i in range(11)), ("temp", ...), ("pressure", ...),
             *(("u", i) for i in range(3))]
        ):  # fmt: skip
            assert np.array_equal(file[name][place], cells * 16 + component + 2 * 2**40)


@needs_fortran
def test_the_fortran_program_finds_a_damaged_element(tmp_path: Path) -> None:
    assert program(2, "write", tmp_path, "0", variables={}).returncode == 0
    with h5py.File(tmp_path / "field_0001.h5", "r+") as file:
        file["u"][2, 1, 5, 3] = 7
    ended = program(3, "restart", tmp_path, variables={})
    assert ended.returncode != 0
    assert "field_0001.h5: u(4, 6, 2, 3) is  7.0" in ended.stderr
    assert "wrong elements: 1" in ended.stdout
