"""A test program of the VOL connector, run under `weir run --hdf5` or by itself."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from mpi_launcher import BUILD, configured, environment, launcher
from weir_process import WeirProcess

from weir.mpiio.records import Sums, sum_up

PROGRAMS = BUILD / "tests" / "hdf5"
# OMPIO's collective writes put bytes of its buffers where nobody has written (docs/mpi-io.md), so
# that files could not be compared.
INDEPENDENT = {"OMPI_MCA_fcoll": "individual", "HDF5_USE_FILE_LOCKING": "FALSE"}
CONNECTOR = BUILD / "src" / "adapters" / "hdf5" / "hdf5-plugin" / "libweir_hdf5_vol.so.0"

needs_connector = pytest.mark.skipif(
    not ((PROGRAMS / "hdf5_datasets").exists() and CONNECTOR.exists()),
    reason="Weir was built without parallel HDF5 1.14: tools/newer_hdf5 makes one",
)


class Run:
    """The program, in a folder of its own: by itself, or under `weir run` with `options`."""

    def __init__(
        self,
        folder: Path,
        ranks: int,
        *options: str,
        program: str = "hdf5_datasets",
        words: tuple[str, ...] = (),
        **variables: str,
    ) -> None:
        folder.mkdir()
        self.file = folder / "weir-file.h5"
        command = [*launcher(), "-n", str(ranks), str(PROGRAMS / program), str(self.file), *words]
        given = environment(INDEPENDENT | variables)
        if not options:
            done = subprocess.run(
                command, capture_output=True, cwd=folder, env=given, text=True, timeout=240,
                check=False,
            )  # fmt: skip
            self.out, self.err, self.status = done.stdout, done.stderr, done.returncode
            return
        given["WEIR_HDF5_VOL_LIBRARY"] = str(CONNECTOR)
        run = ["run", *options, "--records", "records", "--", *command]
        with WeirProcess(run, cwd=folder, env=given) as process:
            self.out, self.err = process.communicate(timeout=240)
            self.status = process.wait(0)
        self.sums: Sums = sum_up(sorted((folder / "records").glob("*.hdf5")))

    def expected(self) -> list[int]:
        """Writes taken over and passed on, and reads, of each rank."""
        found = re.findall(r"\d+", self.out)
        return [int(number) for number in found]

    def counted(self) -> list[int]:
        calls = self.sums.files[str(self.file)]
        numbers = []
        for kind in ("write", "read"):
            both = [calls[name] for name in (kind, f"{kind}_multi") if name in calls]
            taken = sum(one.taken for one in both)
            numbers += [taken, sum(one.calls for one in both) - taken]
        return numbers


def differences(one: Path, other: Path) -> str:
    """What h5diff finds; that of Debian reads the files, too."""
    beside = Path(configured("WEIR_HDF5_VOL_WITH")) / "bin" / "h5diff"
    program = str(beside) if beside.is_file() else shutil.which("h5diff")
    if program is None:
        pytest.skip("there is no h5diff")
    done = subprocess.run(
        [program, str(one), str(other)], capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout + done.stderr + ("" if done.returncode in (0, 1) else "h5diff failed")
