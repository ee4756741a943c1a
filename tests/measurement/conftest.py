"""The module beside this file is importable, and runs weir-bench in the test's own folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import bench_runs


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., bench_runs.Done]:
    return partial(bench_runs.run_bench, tmp_path)
