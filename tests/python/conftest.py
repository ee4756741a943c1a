"""The test data modules beside this file are importable; outside settings are kept out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mpi_launcher import BUILD

if TYPE_CHECKING:
    from cli_with_doubles import Cli

STAGER = BUILD / "src" / "stager" / "weir-stager"
STORED_SECONDS = 60

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def double_answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what doubles/weir_bench_double.py answers."""
    # Found only now that this file has named its folder.
    from double_answers import write_answers  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("double-answers")
    write_answers(folder)
    return folder


@pytest.fixture
def cli(tmp_path: Path, double_answers: Path) -> Cli:
    """weir in a folder of the test, with doubles for weir-bench and the launcher."""
    from cli_with_doubles import Cli  # noqa: PLC0415

    return Cli(tmp_path, double_answers)


@pytest.fixture
def stager() -> Iterator[dict[str, str]]:
    """The variables with which ranks start a stager of this test."""
    # The path of a socket is short, and pytest's folders are not.
    folder = Path(tempfile.mkdtemp(prefix="weir-test-"))
    socket = folder / "stager"
    yield {"WEIR_STAGER_SOCKET": str(socket), "WEIR_STAGER": str(STAGER)}
    if socket.exists():
        stop = [STAGER, "--stager-socket", socket, "--stop"]
        subprocess.run(stop, timeout=STORED_SECONDS, check=True)
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The person's own WEIR_ variables must not decide a test."""
    for name in [name for name in os.environ if name.startswith("WEIR_")]:
        monkeypatch.delenv(name)
