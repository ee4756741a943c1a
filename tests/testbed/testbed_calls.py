"""Calls the test bed as a person does; the types of its fixtures."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.errors import TestbedError
from testbed.hosts import Host
from testbed.targets import Target

PROGRAM = Path(__file__).parents[2] / "tools/testbed/testbed"
SECONDS = 170.0

MakeHosts = Callable[..., list[Host]]
"""The fixture `hosts` of conftest.py."""
MakeTargets = Callable[..., list[Target]]
"""The fixture `targets` of conftest.py."""


def call(*words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs the test bed and checks its exit status."""
    done = subprocess.run(
        [str(PROGRAM), "--wait", "60", *words],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == status, f"testbed {' '.join(words)}: {done.stderr}{done.stdout}"
    return done


def call_json(*words: str) -> dict[str, Any]:
    """What a command prints with ``--json``."""
    value: dict[str, Any] = json.loads(call(*words).stdout)
    return value


def skip_without(require: Callable[[], object]) -> None:
    """Skips with the reason that `require` raises."""
    try:
        require()
    except TestbedError as error:
        pytest.skip(str(error))
