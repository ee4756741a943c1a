"""Random requests of the library on several ranks, each element compared with NumPy's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from test_arrays import pytestmark as needs_library
from test_arrays import run_on_ranks

PROGRAMS = Path(__file__).parent

pytestmark = needs_library


@pytest.mark.parametrize(
    ("program", "ranks", "seed", "cases"),
    [
        ("array_properties.py", 3, 1, 15),
        ("array_properties.py", 4, 2, 15),
        ("many_arrays.py", 3, 3, 6),
    ],
)
def test_random_requests_give_what_numpy_gives(
    program: str, ranks: int, seed: int, cases: int, tmp_path: Path
) -> None:
    command = [sys.executable, str(PROGRAMS / program), str(tmp_path), str(seed), str(cases)]
    assert f"{cases} cases of seed {seed} passed" in run_on_ranks(ranks, command, tmp_path)
