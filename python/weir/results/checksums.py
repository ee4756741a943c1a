"""Hashes of a run's files, which show whether they were changed after the run was finalized.

``SHA256SUMS`` of a run folder has the form of ``sha256sum``, so ``sha256sum -c SHA256SUMS`` checks
it too. Whoever changes a file can make new hashes; a signature of ``SHA256SUMS``, by ``gpg`` or
``ssh-keygen -Y sign``, shows that nobody did.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from weir.results.errors import ResultError
from weir.results.events import PARQUET_FILE, PLACEMENTS_FILE, SAMPLES_FILE
from weir.results.folder import RUN_FILE, write_atomically

SUMS_FILE = "SHA256SUMS"
MEASURED = (RUN_FILE, PARQUET_FILE, SAMPLES_FILE, PLACEMENTS_FILE)
"""The files with what was measured. Reports are made of them, and may be made again."""


def write_sums(folder: Path, changed: Mapping[str, str]) -> None:
    """Write ``SHA256SUMS``; raises ``ResultError`` if a file cannot be read.

    Files in ``changed``, which ``changed_files`` returned, keep the hashes that they had.
    """
    known = _known_sums(folder)
    sums = {
        name: known.get(name) if name in changed else sum_of(folder / name)
        for name in MEASURED
        if name in changed or (folder / name).is_file()
    }
    lines = [f"{digest}  {name}\n" for name, digest in sums.items() if digest is not None]
    write_atomically(folder / SUMS_FILE, "".join(lines))


def changed_files(folder: Path) -> dict[str, str]:
    """Returns a line for each file that is missing or is not the one that was finalized.

    Returns nothing for a folder without ``SHA256SUMS``, such as one of an earlier Weir.
    """
    known = _known_sums(folder)
    changed = {}
    for name in MEASURED if known else ():
        if not (folder / name).is_file():
            if name in known:
                changed[name] = f"{name} is missing, and {SUMS_FILE} has it"
        elif known.get(name) != sum_of(folder / name):
            changed[name] = f"{name} was changed: its SHA-256 is not the one in {SUMS_FILE}"
    return changed


def _known_sums(folder: Path) -> dict[str, str]:
    try:
        text = (folder / SUMS_FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(f"{folder / SUMS_FILE} cannot be read: {error}") from None
    return {name: digest for digest, _, name in (line.partition("  ") for line in text.split("\n"))}


def sum_of(file: Path) -> str:
    """Returns the SHA-256 of a file; raises ``ResultError`` if it cannot be read."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ResultError(f"{file} cannot be read: {error}") from None
