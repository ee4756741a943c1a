"""In which order and beside which tests run; the width of text; what no test may load."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest
from mpi_launcher import is_open_mpi, preload, variables
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

TESTS = Path(__file__).parent
LONG = (
    "failure/test_staging.py",
    "failure/test_journal.py",
    "failure/test_lost_stagers.py",
    "failure/test_lost_writes.py",
    "failure/test_changes.py",
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
    "mpiio/test_take_over.py",
    "python/test_cli_real.py",
    "failure/test_probe.py",
    "failure/test_refused_input.py",
    "failure/test_array_library.py",
)
"""Those that take longest. With files side by side, the last should be short ones."""

TESTBED = TESTS / "testbed"

WITH_TESTS_ALONE = ("testbed", "measurement")
"""The folders of tests that need the machine to themselves; those of ./dev test alone."""

# Commands that write into a pipe wrap their text at this width, so that no line looked for is cut.
os.environ["COLUMNS"] = "160"
# OpenBLAS would start a thread for each core in every rank that loads NumPy, and none needs them.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

os.environ.update(variables() | os.environ)
if _preload := preload():
    os.environ["LD_PRELOAD"] = _preload


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("sampling")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        if item.get_closest_marker("alone") and folder not in WITH_TESTS_ALONE:
            raise pytest.UsageError(
                f"{item.nodeid} is marked alone, and ./dev test alone looks for such tests in "
                f"{' and '.join(WITH_TESTS_ALONE)} only"
            )
    places = {TESTS / name: place for place, name in enumerate(LONG)}

    def place_of(item: pytest.Item) -> int:
        if item.path.is_relative_to(TESTBED):
            return -1  # they take longest, because they are run one after the other
        return places.get(item.path, len(places))

    items.sort(key=place_of)


class OneTestbed(LoadFileScheduling):
    """Gives a worker one file after the other, and one worker all files that use the test bed.

    The test bed is one for the machine: workers would only wait for each other.
    """

    def _split_scope(self, nodeid: str) -> str:
        return (
            "tests/testbed" if nodeid.startswith("tests/testbed/") else super()._split_scope(nodeid)
        )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneTestbed:
    return OneTestbed(config, log)


def pytest_collection_finish(session: pytest.Session) -> None:
    # What tests alone measure is measured with ranks that wait as those of users do. Ranks of MPICH
    # have to sleep in any case: they would wait for each other for too long.
    alone = any(item.get_closest_marker("alone") for item in session.items)
    if alone and is_open_mpi():
        os.environ.pop("LD_PRELOAD", None)
    # MPI leaves its variables in the environment of this process, which mpirun would then take for
    # its own and end without a word.
    if "mpi4py.MPI" in sys.modules:
        raise pytest.UsageError(
            "a test's module imports mpi4py.MPI; let only the programs import it that tests start"
        )
    # Thousands of tests and their modules stay to the end: collections need not look through them.
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # DuckDB would list what is left at the end as leaks
