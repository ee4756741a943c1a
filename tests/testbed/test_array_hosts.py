"""Arrays over hosts that share no memory, through the library's C++ interface."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from mpi_launcher import BUILD

from testbed_calls import MakeHosts, launcher

ARRAYS_TEST = BUILD / "tests/arrays/arrays_test"


@pytest.mark.skipif(not ARRAYS_TEST.exists(), reason=f"{ARRAYS_TEST} is not built")
def test_what_some_hosts_wrote_others_read(hosts: MakeHosts, tmp_path: Path) -> None:
    """By every strategy, eight ranks to three on other hosts and back; see hosts_test.cpp."""
    hosts(4)
    done = subprocess.run(
        [*launcher(8), str(ARRAYS_TEST), str(tmp_path), "--gtest_filter=Hosts.*"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout
