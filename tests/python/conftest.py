"""The test data modules beside this file are importable; outside settings are kept out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def double_answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what doubles/weir_bench_double.py answers."""
    # Found only now that this file has named its folder.
    from double_answers import write_answers  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("double-answers")
    write_answers(folder)
    return folder


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The person's own WEIR_ variables must not decide a test."""
    for name in [name for name in os.environ if name.startswith("WEIR_")]:
        monkeypatch.delenv(name)
