"""Fixtures that make hardware of known behaviour for one test, and take it away again.

    def test_something(targets: MakeTargets) -> None:
        slow, fast = targets("50,200MB/s", size="256MiB")
        ... slow.directory ...

The test bed exists once on a machine: the fixture `testbed` waits for other tests that use it, on
any clone, and ends the run where it does not become free.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from testbed.hosts import Host
from testbed.hosts import require as require_for_hosts
from testbed.targets import Limits, Target
from testbed.targets import require as require_for_targets
from testbed_calls import MakeHosts, MakeTargets, call, call_json, skip_without

FREE_SECONDS = 150.0
"""How long other tests may keep the test bed."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.testbed)
            item.add_marker(pytest.mark.timeout(300))


def give_up(reason: str) -> NoReturn:
    """Ends the run: each of the other tests would wait as long, and in vain."""
    pytest.exit(reason, returncode=1)


@pytest.fixture
def testbed() -> Iterator[None]:
    """The machine's test bed, free and for this test alone; nothing of it is left afterwards."""
    if os.geteuid() != 0:
        pytest.skip("the test bed needs root")
    end = time.monotonic() + FREE_SECONDS
    with socket.socket(socket.AF_UNIX) as lock:
        while True:
            try:
                lock.bind("\0weir-testbed-tests")
                break
            except OSError:
                if time.monotonic() > end:
                    give_up(f"other tests have used the test bed for {FREE_SECONDS:g} s")
                time.sleep(0.2)
        while up := call_json("status", "--json"):
            if time.monotonic() > end:
                give_up(f"a test bed is up ({', '.join(up)}); take it away: testbed down")
            time.sleep(0.5)
        try:
            yield
        finally:
            call("down", "--kill")


@pytest.fixture
def targets(testbed: None) -> MakeTargets:  # noqa: ARG001
    """A function that makes targets of these rates (``"50,100MB/s"``) and returns them."""

    def make(
        rates: str = "none", *, size: str = "256MiB", file_system: str = "ext4", options: str = ""
    ) -> list[Target]:
        skip_without(lambda: require_for_targets(file_system))
        words = ["--rates", rates, "--size", size, "--file-system", file_system, *options.split()]
        made = call_json("targets", "up", *words, "--json")["targets"]
        return [Target(**{**entry, "limits": Limits(**entry["limits"])}) for entry in made]

    return make


@pytest.fixture
def hosts(testbed: None) -> MakeHosts:  # noqa: ARG001
    """A function that makes hosts with these links (``"1gbit,100mbit"``) and returns them."""

    def make(count: int, link: str = "1gbit", *, options: str = "") -> list[Host]:
        skip_without(require_for_hosts)
        words = ["--count", str(count), "--link", link, *options.split()]
        made = call_json("hosts", "up", *words, "--json")
        return [Host(**entry) for entry in made["hosts"]]

    return make
