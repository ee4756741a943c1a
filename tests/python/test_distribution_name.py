"""What texts tell people to install is this project, under the name that its distribution has."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

CLONE = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((CLONE / "pyproject.toml").read_text())["project"]
INSTALL = re.compile(r"\b(?:pipx?3?|uv tool|uv) (?:install|wheel|add|download)\b([^`\n|)]*)")
TEXTS = {"", ".c", ".cff", ".cpp", ".f90", ".h", ".hpp", ".md", ".py", ".sh", ".toml", ".txt"}
WORD = re.compile(r"""^['"]?(?P<name>[A-Za-z][A-Za-z0-9._-]*|\.)(?:\[(?P<extras>[a-z,]*)\])?""")


def wrong_installs(text: str) -> list[str]:
    """Commands in a text that would install another project, or an extra that is not there."""
    wrong = []
    for command in INSTALL.finditer(text):
        for word in command.group(1).split():
            found = WORD.match(word)
            if not found:
                continue
            name = re.sub(r"[-_.]+", "-", found["name"]).lower() if found["name"] != "." else "."
            extras = set((found["extras"] or "").split(",")) - {""}
            other = name.startswith("weir") and name != PROJECT["name"]
            ours = name in {".", PROJECT["name"]}
            if other or (ours and not extras <= set(PROJECT["optional-dependencies"])):
                wrong.append(command.group(0).strip())
    return wrong


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("`pip install 'weir[arrays]'` adds mpi4py", True),
        ("pip install weir", True),
        ("python -m pip install -U weir==0.1.0", True),
        ("pip install '.[array]'", True),
        ("pip install '.[arrays]'", False),
        ("pip install weir-io", False),
        ("pip install --target DIR blosc2", False),
    ],
)
def test_another_project_is_recognised(text: str, *, is_wrong: bool) -> None:
    assert bool(wrong_installs(text)) == is_wrong


def test_no_text_tells_people_to_install_another_project() -> None:
    # A lock holds packages by their hashes; this file holds wrong lines on purpose.
    folders = (
        "bench",
        "docs",
        "examples",
        "include",
        "packages",
        "python",
        "src",
        "tests",
        "tools",
    )
    files = [one for one in CLONE.iterdir() if one.is_file() and one.suffix != ".lock"]
    files += [one for folder in folders for one in (CLONE / folder).rglob("*")]
    files = [one for one in files if one.suffix in TEXTS and one != Path(__file__).resolve()]
    found = {}
    told = 0
    for file in files:
        if not file.is_file():
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        told += len(INSTALL.findall(text))
        if wrong := wrong_installs(text):
            found[str(file.relative_to(CLONE))] = wrong
    assert not found
    assert told > 3, "the pattern no longer finds what the documents say"


def test_the_distribution_is_not_called_as_another_project_is() -> None:
    assert PROJECT["name"] == "weir-io"
    shown = subprocess.run(
        [sys.executable, "-m", "weir.cli", "--version"],
        check=True, capture_output=True, text=True, timeout=60,
    ).stdout  # fmt: skip
    assert shown == f"weir {PROJECT['version']}\n"
