"""yt opens the files of ``weir-bench flash``, and finds each variable in all blocks.

yt is no dependency of Weir's: the test takes the one beside it, or that of the interpreter which
WEIR_TEST_YT names, and is skipped without (CONTRIBUTING.md, Testing).
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from output_runs import kept
from test_flash import BLOCKS, PLOTTED, VARIABLES, expected, flash

NAMED = os.environ.get("WEIR_TEST_YT")
YT_SECONDS = 240

pytestmark = pytest.mark.skipif(
    NAMED is None and find_spec("yt") is None,
    reason="yt is not installed; WEIR_TEST_YT may name a Python that has it",
)


def read_by_yt(path: Path, variable: str, folder: Path) -> dict[str, Any]:
    output = folder / "read.npz"
    done = subprocess.run(
        [NAMED or sys.executable, str(Path(__file__).parent / "read_by_yt.py"), path, variable,
         output],
        capture_output=True, text=True, timeout=YT_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    with np.load(output) as found:
        return dict(found)


@pytest.mark.parametrize("slug", ["hdf5", "weir-hdf5", "weir-hdf5-staged"])
def test_yt_finds_a_variable_of_all_blocks(
    slug: str, tmp_path: Path, stager: dict[str, str]
) -> None:
    staged = slug.endswith("staged")
    words = ("--api", slug.removesuffix("-staged"), "--staging", "node" if staged else "none")
    (run,) = flash(tmp_path, *words, "--keep", variables=stager).values()
    files = kept(tmp_path, slug)
    for number, name, dtype, variables in (
        (1, "sedov_hdf5_chk_0001", "float64", VARIABLES),
        (4, "sedov_hdf5_plt_cnt_0002", "float32", PLOTTED),
    ):
        found = read_by_yt(files / name, "temp", tmp_path)
        wanted = expected(run, number, VARIABLES.index("temp"), dtype)
        with np.errstate(invalid="ignore"):  # signalling NaNs become quiet ones
            doubles = wanted.astype("float64")
        assert np.array_equal(found["blocks"], doubles, equal_nan=True), name
        assert sorted(found["fields"]) == sorted(variables)
        # Two roots in a row, of which one is refined.
        assert sorted(found["levels"]) == [0, 0] + [1] * (BLOCKS - 2)
        assert list(found["left"]) == [0, 0, 0]
        assert list(found["right"]) == [2, 1, 1]
