"""Raw files that earlier Weirs wrote are read, and arrays among them written, as those of today.

``tests/formats/samples/raw`` has files with documents of the versions 1 to 4, which Weir wrote when
each was the newest. Element i of every array of 7 x 10 is i, and 100 more in each later step.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from mpi_launcher import environment

import weir
from weir._core.library import PATH_VARIABLE

SAMPLES = Path(__file__).parents[1] / "formats" / "samples" / "raw"
VALUES = np.arange(70).reshape(7, 10)
ALONE = {"contiguous": 1, "chunks": 1, "several": 2}


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLES, tmp_path / "raw"))


def version_of(path: Path) -> int:
    return int(json.loads(Path(f"{path}.json").read_text())["version"])


@pytest.mark.parametrize("name", ALONE)
def test_an_array_alone_is_a_file_of_one_array(samples: Path, name: str) -> None:
    assert version_of(samples / name) == ALONE[name]
    with weir.open(samples / name) as file:
        assert (file.format, list(file.arrays)) == ("raw", [name])
        np.testing.assert_array_equal(file.arrays[name][...], VALUES)


@pytest.mark.parametrize(("name", "version", "steps"), [("steps", 3, 2), ("added", 4, 3)])
def test_steps_are_there(samples: Path, name: str, version: int, steps: int) -> None:
    path = samples / f"{name}.raw"
    assert version_of(path) == version
    with weir.open(path) as file:
        assert file.attributes["title"] == "recorded"
        np.testing.assert_array_equal(file.arrays["mesh"][...], VALUES)
        for step in range(steps):
            np.testing.assert_array_equal(file.arrays["u"][step], VALUES + 100 * step)
        if "later" in file.arrays:
            np.testing.assert_array_equal(file.arrays["later"][steps - 1], VALUES)


WRITER = """
import sys
import numpy as np
from mpi4py import MPI
import weir
values = np.arange(70).reshape(7, 10)
with weir.Session(MPI.COMM_WORLD) as session:
    whole = session.distribution((7, 10), "*, *")
    for path in sys.argv[1:]:
        array = session.open(path)
        assert np.array_equal(array.read(whole), values)
        array.write(whole, (values + 7).astype(array.dtype))
        array.sync()
        array.close()
"""


def test_an_array_alone_is_written_in_place(samples: Path) -> None:
    library = {name: os.environ[name] for name in [PATH_VARIABLE] if name in os.environ}
    before = {name: Path(f"{samples / name}.json").read_bytes() for name in ALONE}
    done = subprocess.run(
        [sys.executable, "-c", WRITER, *(str(samples / name) for name in ALONE)],
        env=environment(library), capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name, document in before.items():
        assert Path(f"{samples / name}.json").read_bytes() == document
        with weir.open(samples / name) as file:
            np.testing.assert_array_equal(file.arrays[name][...], VALUES + 7)
