"""The programs of docs/staging-tutorial.md write the same checkpoints by HDF5 and by Weir."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
from mpi_launcher import BUILD, CLONE, environment, launcher

EXAMPLES = CLONE / "examples" / "amr"
PROGRAMS = BUILD / "examples"
VARIABLES = ("dens", "pres", "velx", "vely", "velz")
CELLS = 16
CHECKPOINTS = 2
SECONDS = 60
needs_hdf5 = pytest.mark.skipif(
    not (PROGRAMS / "amr_hdf5").exists(), reason="amr_hdf5 is not built: it needs parallel HDF5"
)


def run(program: str, folder: Path, ranks: int, variables: dict[str, str]) -> str:
    folder.mkdir()
    ended = subprocess.run(
        [*launcher(deadline_seconds=SECONDS), "-n", str(ranks), str(PROGRAMS / program),
         str(folder), str(CHECKPOINTS), "0.01"],
        env=environment(variables), capture_output=True, text=True, timeout=SECONDS + 30,
        check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def blocks_of(folder: Path, number: int) -> dict[str, np.ndarray]:
    with h5py.File(folder / f"checkpoint_{number:04}.h5") as file:
        return {name: file[name][...] for name in ("level", "place", *VARIABLES)}


@needs_hdf5
@pytest.mark.parametrize(
    ("staging", "ranks"), [("none", 3), ("node", 3), ("ranks", 3)], ids=["none", "node", "ranks"]
)
def test_all_settings_write_what_hdf5_writes(
    staging: str, ranks: int, tmp_path: Path, stager: dict[str, str]
) -> None:
    blocking = run("amr_hdf5", tmp_path / "hdf5", 2, {})
    told = run("amr_weir", tmp_path / "weir", ranks, {**stager, "WEIR_STAGING": staging})
    of_bytes = re.compile(r"2 checkpoints of (\d+) MB together: blocked for [\d.]+ s of [\d.]+ s\n")
    assert of_bytes.fullmatch(told)
    assert of_bytes.fullmatch(told)[1] == of_bytes.fullmatch(blocking)[1]
    for number in range(CHECKPOINTS):
        wanted = blocks_of(tmp_path / "hdf5", number)
        found = blocks_of(tmp_path / "weir", number)
        assert wanted["dens"].shape[1:] == (CELLS, CELLS, CELLS)
        assert len(np.unique(wanted["level"])) > 1
        assert 1 <= wanted["dens"].min() < wanted["dens"].max() <= 4
        for name, array in wanted.items():
            np.testing.assert_array_equal(found[name], array, err_msg=name)
            assert found[name].dtype == array.dtype


def test_blocks_cover_the_cube_once(tmp_path: Path) -> None:
    run("amr_weir", tmp_path / "weir", 2, {"WEIR_STAGING": "none"})
    shares = []
    for number in range(CHECKPOINTS):
        blocks = blocks_of(tmp_path / "weir", number)
        assert len(
            {(int(a), *map(int, b)) for a, b in zip(blocks["level"], blocks["place"], strict=True)}
        ) == len(blocks["level"])
        shares.append((8.0 ** -blocks["level"]).sum() / 2**3)
    assert shares == [1.0] * CHECKPOINTS


def test_the_tutorial_shows_lines_of_the_programs() -> None:
    """Every line of C in the tutorial is a line of one of the programs."""
    lines = {
        line.strip() for source in EXAMPLES.glob("*.c") for line in source.read_text().splitlines()
    }
    shown = re.findall(
        r"^```c\n(.*?)^```$", (CLONE / "docs" / "staging-tutorial.md").read_text(), re.M | re.S
    )
    assert shown
    for line in "".join(shown).splitlines():
        assert not line.strip() or line.strip() in lines, line
