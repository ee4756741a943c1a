"""What tools/platforms refuses before it makes a system: one line, nothing made."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools/platforms"


def platforms(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TOOL, *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "WEIR_PLATFORMS": str(folder / "made")},
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "say on which platform, debian-12 or debian-13"),
        (["debian-99", "true"], "there is no platform 'debian-99', but debian-12 and debian-13"),
        (["--fresh", "debian-12"], "there is no option --fresh"),
    ],
)
def test_wrong_words_are_told_in_one_line(tmp_path: Path, words: list[str], told: str) -> None:
    answer = platforms(tmp_path, *words)
    assert answer.returncode == 1
    assert answer.stderr.startswith(f"tools/platforms: {told}")
    assert answer.stderr.count("\n") == 1
    assert not (tmp_path / "made").exists()


def test_help_says_how_it_is_used(tmp_path: Path) -> None:
    answer = platforms(tmp_path, "--help")
    assert answer.returncode == 0
    assert answer.stdout.startswith("usage: tools/platforms [--new] [--keep] PLATFORM [COMMAND...]")
