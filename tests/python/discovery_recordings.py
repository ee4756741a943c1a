"""Recordings for tests of ``weir platform discover``, and the two kinds of answers of its sources.

Recordings are those of tests/reference, and new ones.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from weir.platform.discovery.findings import Finding, Missing
from weir.platform.discovery.recording import Recording, read_recording
from weir.platform.discovery.texts import Text

RECORDINGS = Path(__file__).parents[1] / "reference" / "discovery"


def recorded(name: str) -> Recording:
    return read_recording(RECORDINGS / name)


def copied(name: str, folder: Path) -> Path:
    """Copies a recording, whose texts a test then changes."""
    return Path(shutil.copytree(RECORDINGS / name, folder / name))


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def made(folder: Path, texts: Mapping[str, str]) -> Recording:
    """Makes a recording of texts by their paths below ``folder``."""
    for path, content in texts.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return read_recording(folder)


def text(content: str) -> Text:
    return Text("recorded.txt", content)


def found(answer: Finding | Missing) -> Finding:
    """Returns the finding that a source must have."""
    assert isinstance(answer, Finding), answer.why
    return answer


def why(answer: Finding | Missing) -> str:
    """Returns why a source found nothing, as it must."""
    assert isinstance(answer, Missing)
    return answer.why
