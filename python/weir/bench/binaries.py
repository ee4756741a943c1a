"""Records which build of weir-bench made a run: hashes of the program and of Weir's libraries.

The revision in ``run.json`` does not tell two builds of a changed clone apart, nor two compilers.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from weir.results.checksums import sum_of
from weir.results.errors import ResultError
from weir.results.folder import find_run_folders, load_run, write_run
from weir.results.schema import Binary

LISTING_SECONDS = 30.0
LOADED = re.compile(r"^\s*(libweir\w*\.so[.\d]*) => (/.*) \(0x[0-9a-f]+\)$", re.MULTILINE)
"""A library of Weir in the output of ldd."""


def binaries_of(program: Path, environment: Mapping[str, str]) -> list[Binary]:
    """Returns the hashes of a program and of the libraries of Weir that it would load.

    The program comes first. Returns nothing if one of them cannot be read.
    """
    files = [(program.name, program), *_libraries_of(program, environment)]
    try:
        return [
            Binary(name=name, file=str(file.resolve()), sha256=sum_of(file)) for name, file in files
        ]
    except ResultError:
        return []


def record_binaries(output: Path, binaries: Sequence[Binary]) -> None:
    """Records in every run below ``output`` with which binaries its job was run."""
    for folder in find_run_folders(output):
        write_run(folder, load_run(folder).model_copy(update={"binaries": list(binaries)}))


def other_binaries(before: Sequence[Binary], now: Sequence[Binary]) -> str | None:
    """Returns a line that names each binary which is another one now than it was before.

    None if there is none, or if it was not recorded which ones they were.
    """
    if not before:
        return None
    then, here = ({one.name: one.short_hash for one in binaries} for binaries in (before, now))
    other = [
        f"{name} (SHA-256 {then.get(name, 'none')} then, {here.get(name, 'none')} now)"
        for name in dict.fromkeys((*then, *here))
        if then.get(name) != here.get(name)
    ]
    return f"another build than that of the run: {', '.join(other)}" if other else None


def _libraries_of(program: Path, environment: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Returns the name and the file of each of them; none if ldd is missing or finds none."""
    try:
        listed = subprocess.run(
            ["ldd", str(program)],
            env=dict(environment),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LISTING_SECONDS,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [(name, Path(file)) for name, file in LOADED.findall(listed)]
