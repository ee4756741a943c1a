"""What ``weir-bench flash`` and ``weir-bench s3d`` refuse, and how they combine, without a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mpi_marks import needs_pnetcdf

from test_striping import bench

REFUSED = {
    "flash": [
        (("--api=posix",), "posix"),
        (("--api=hdf5", "--staging=node"), "hdf5 cannot be staged"),
        (("--api=hdf5,hdf5",), "'hdf5' is given twice"),
        (("--blocks=0.5",), "--blocks must be between 1 and 1048576; given: 0.5"),
        (("--blocks=300000",), "at most 1048576 are allowed"),
        (("--variables=6",), "--plot-variables: 7 is beyond the 6 variables"),
        (("--plot-variables=1,x",), "is not a list of numbers of variables"),
        (("--plot-variables=2,2",), "has 2 twice"),
        (("--checkpoints=0", "--plots=0"), "there is nothing to write"),
        (("--hints=file",), "--hints applies only to hdf5, pnetcdf and mpiio; given: weir-hdf5"),
        (("--direct",), "--direct"),
        (("--drop-cache",), "--drop-cache"),
        (("--rank-shift=1",), "--rank-shift"),
        (
            ("--api=hdf5", "--blocks=2", "--nxb=1024", "--nyb=1024", "--nzb=1024"),
            "hdf5 allows at most 2147483647",
        ),
    ],
    "s3d": [
        (("--grid=2x2x2",), "--grid 2 x 2 x 2: these are 8 processes, but the job has 4 ranks"),
        (("--grid=2x2",), "is not three numbers of processes"),
        (("--grid=2x0x2",), "is not three numbers of processes"),
        (("--restart-ranks=5",), "--restart-ranks 5: the job has 4 ranks"),
        (("--restart-ranks=0",), "--restart-ranks must be"),
        (("--nx=0",), "--nx must be between 1 and 1048576; given: 0"),
        (("--api=mpiio", "--nx=100000", "--ny=1000"), "mpiio allows at most 2147483647"),
        (("--nx=1048576", "--ny=1048576", "--nz=1048576"), "has more than"),
        (("--api=mpiio", "--staging=node"), "mpiio cannot be staged"),
        (("--drop-cache",), "--drop-cache"),
    ],
}


@pytest.mark.parametrize(
    ("workload", "words", "said"),
    [(workload, *one) for workload, refused in REFUSED.items() for one in refused],
)
def test_what_cannot_be_is_one_line(
    workload: str, words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    refused = bench(tmp_path, workload, *words, "--plan", "--ranks", "4")
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert said in line


@needs_pnetcdf
@pytest.mark.parametrize("workload", REFUSED)
def test_an_interface_without_staging_takes_part_without(workload: str, tmp_path: Path) -> None:
    words = ("--api", "weir-hdf5,pnetcdf", "--staging", "none,node")
    answer = bench(tmp_path, workload, *words, "--plan", "--ranks", "4")
    assert answer.returncode == 0, answer.stderr
    labels = [one["label"] for one in json.loads(answer.stdout)["configurations"]]
    assert labels == ["weir-hdf5", "weir-hdf5 staged", "pnetcdf"]
