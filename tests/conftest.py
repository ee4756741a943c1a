"""In which order files of tests are begun, the width of text, and what no test may load."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from mpi_launcher import preload

TESTS = Path(__file__).parent
LONG = (
    "failure/test_changes.py",
    "failure/test_lost_writes.py",
    "failure/test_journal.py",
    "failure/test_lost_stagers.py",
    "python/test_cli_bench.py",
    "python/test_campaign_cli.py",
    "measurement/test_madcap.py",
    "python/test_packaging.py",
    "measurement/test_full_mode.py",
    "python/test_report_page.py",
    "measurement/test_configurations.py",
    "failure/test_lost_ranks.py",
    "failure/test_stream.py",
    "browser/test_report_in_browser.py",
    "failure/test_storage_errors.py",
    "python/test_campaign_real.py",
    "python/test_cli_real.py",
    "failure/test_probe.py",
    "failure/test_refused_input.py",
    "failure/test_array_library.py",
)
"""Those that take longest. With files side by side, the last should be short ones."""

WITH_TESTS_ALONE = ("testbed", "measurement")
"""The folders of tests that need the machine to themselves; those of ./dev test alone."""

# Commands that write into a pipe wrap their text at this width, so that no line looked for is cut.
os.environ["COLUMNS"] = "160"

if _preload := preload():
    os.environ["LD_PRELOAD"] = _preload


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        if item.get_closest_marker("alone") and folder not in WITH_TESTS_ALONE:
            raise pytest.UsageError(
                f"{item.nodeid} is marked alone, and ./dev test alone looks for such tests in "
                f"{' and '.join(WITH_TESTS_ALONE)} only"
            )
    places = {TESTS / name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


def pytest_collection_finish() -> None:
    # MPI leaves its variables in the environment of this process, which mpirun would then take for
    # its own and end without a word.
    if "mpi4py.MPI" in sys.modules:
        raise pytest.UsageError(
            "a test's module imports mpi4py.MPI; let only the programs import it that tests start"
        )
