"""Random requests of the library on several ranks, each element compared with NumPy's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from test_arrays import pytestmark as needs_library
from test_arrays import run_on_ranks

PROGRAM = Path(__file__).parent / "array_properties.py"

pytestmark = needs_library


@pytest.mark.parametrize(("ranks", "seed"), [(3, 1), (4, 2)])
def test_random_requests_give_what_numpy_gives(ranks: int, seed: int, tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM), str(tmp_path), str(seed), "30"]
    assert f"30 cases of seed {seed} passed" in run_on_ranks(ranks, command, tmp_path)
