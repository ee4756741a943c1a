"""Where `weir run --hdf5` finds the VOL connector, and what it says where there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mpi_launcher import BUILD, environment, launcher
from weir_process import WeirProcess

from weir.mpiio.records import sum_up

PROGRAM = BUILD / "tests" / "hdf5" / "hdf5_datasets"
# As in an environment whose wheel has no connector: the build's is not found.
ASK = """
import sys
sys.prefix = "/nowhere"
from pathlib import Path
from weir.advise.observe import hdf5_variables
print(hdf5_variables(Path("records"))["HDF5_PLUGIN_PATH"])
"""


@pytest.mark.skipif(
    not PROGRAM.exists(), reason="Weir was built without parallel HDF5 1.14: tools/newer_hdf5"
)
def test_an_installed_connector_is_found_beside_the_library_that_takes_over(
    tmp_path: Path,
) -> None:
    prefix = tmp_path / "prefix"
    for part in ("takeover", "hdf5"):
        install = ["cmake", "--install", str(BUILD / "src" / "adapters" / part), "--prefix"]
        subprocess.run([*install, str(prefix)], check=True, timeout=60, stdout=subprocess.DEVNULL)
    (library,) = prefix.rglob("libweir_take_over.so.0")
    asked = subprocess.run(
        [sys.executable, "-c", ASK], capture_output=True, text=True, timeout=60, check=True,
        cwd=tmp_path, env=environment({"LD_LIBRARY_PATH": str(library.parent)}),
    )  # fmt: skip
    found = asked.stdout.strip()
    assert found == str(library.parent / "hdf5-plugin")

    # By hand, as docs/hdf5.md says.
    records = tmp_path / "records"
    records.mkdir()
    by_hand = {
        "HDF5_PLUGIN_PATH": found, "HDF5_VOL_CONNECTOR": "weir", "WEIR_HDF5_FOLDER": str(records),
        "OMPI_MCA_fcoll": "individual", "HDF5_USE_FILE_LOCKING": "FALSE",
    }  # fmt: skip
    file = tmp_path / "file.h5"
    run = subprocess.run(
        [*launcher(), "-n", "1", str(PROGRAM), str(file)], capture_output=True, text=True,
        timeout=60, check=False, cwd=tmp_path, env=environment(by_hand),
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert sum_up(list(records.iterdir())).files[str(file)]["write"].taken > 0


@pytest.mark.parametrize("told", [None, "/nowhere/libweir_hdf5_vol.so.0"])
def test_where_there_is_no_connector_one_line_says_so(told: str | None, tmp_path: Path) -> None:
    if told is None:
        asked = subprocess.run(
            [sys.executable, "-c", ASK], capture_output=True, text=True, timeout=60, check=False,
            cwd=tmp_path, env=environment({}),
        )  # fmt: skip
        line = asked.stderr.splitlines()[-1].partition("LibraryError: ")[2]
    else:
        given = environment({"WEIR_HDF5_VOL_LIBRARY": told})
        with WeirProcess(["run", "--hdf5", "--", "true"], cwd=tmp_path, env=given) as process:
            out, err = process.communicate(timeout=60)
            assert process.wait(0) != 0
        assert out == ""
        (line,) = err.splitlines()
        line = line.removeprefix("weir: ")
    assert line == (
        "libweir_hdf5_vol.so.0 does not exist: build Weir with the program's HDF5 1.14, as "
        "docs/hdf5.md says, or set WEIR_HDF5_VOL_LIBRARY to the library's path"
    )
