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
HASHED_DATA = (PARQUET_FILE, SAMPLES_FILE, PLACEMENTS_FILE)
MEASURED = (RUN_FILE, *HASHED_DATA)
"""The files with what was measured. Reports are made of them, and may be made again."""
HASHED_END = 256 * 1024
"""Bytes at each end of a file that are read where reading the whole file would take too long."""


def write_sums(folder: Path, known: Mapping[str, str]) -> None:
    """Write ``SHA256SUMS``; raises ``ResultError`` if a file cannot be read.

    ``known`` has hashes of files that were just made, which are not made again.
    """
    lines = [
        f"{known.get(name) or sum_of(folder / name)}  {name}\n"
        for name in MEASURED
        if (folder / name).is_file()
    ]
    write_atomically(folder / SUMS_FILE, "".join(lines))


def known_sums(folder: Path) -> dict[str, str]:
    """Returns the hashes in ``SHA256SUMS`` by file name; none if the folder has no such file."""
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


def sum_of_ends(file: Path) -> str:
    """Returns the SHA-256 of a file's size and of its first and last ``HASHED_END`` bytes."""
    try:
        with file.open("rb") as stream:
            size = file.stat().st_size
            digest = hashlib.sha256(str(size).encode())
            digest.update(stream.read(HASHED_END))
            stream.seek(max(HASHED_END, size - HASHED_END))
            digest.update(stream.read(HASHED_END))
            return digest.hexdigest()
    except OSError as error:
        raise ResultError(f"{file} cannot be read: {error}") from None
