"""Says what of a run was changed after it was finalized.

Every command that shows figures of a run asks here, so all of them find the same. Three things are
compared: the fields of ``run.json`` and the Parquet files with ``digest`` in ``run.json``, the text
of ``run.json`` with ``SHA256SUMS``, and the rates with the run's own repetitions. Results of an
earlier Weir have no digest; their Parquet files are compared with ``SHA256SUMS``.

Whoever changes a run can make new hashes. A store elsewhere, or a signature of ``SHA256SUMS``,
shows that too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from weir.results.checksums import (
    HASHED_DATA,
    HASHED_END,
    SUMS_FILE,
    known_sums,
    sum_of,
    sum_of_ends,
)
from weir.results.digest_records import Digest
from weir.results.errors import ResultError
from weir.results.folder import RUN_FILE, read_text
from weir.results.recomputed import contradictions
from weir.results.run_digest import hashes_of_parts, is_as_written
from weir.results.schema import Run

AFTER = "after the run was finalized"


def changes_of(folder: Path, run: Run, *, whole: bool = False) -> list[str]:
    """Returns a line for each figure or file of a run folder that was changed.

    ``run`` is what its ``run.json`` has. Without ``whole``, only the ends of large Parquet files
    are read, which finds one that was exchanged, cut or made again: for commands that show nothing
    of these files.
    """
    known = known_sums(folder)
    return [*_of_record(folder, run, known), *_of_files(folder, run.digest, known, whole=whole)]


def was_finalized(folder: Path, run: Run) -> bool:
    """Returns whether the run has hashes, with which it can be compared."""
    return run.digest is not None or (folder / SUMS_FILE).is_file()


def _of_record(folder: Path, run: Run, known: Mapping[str, str]) -> Iterator[str]:
    figures = [*contradictions(run)]
    yield from figures
    fields = _changed_fields(folder, run.digest) if run.digest is not None else []
    if figures and "rates" in fields:
        fields.remove("rates")  # The lines above say which.
    if fields:
        yield f"{RUN_FILE} was changed {AFTER}: {', '.join(fields)}"
    elif not figures and known and known.get(RUN_FILE) != sum_of(folder / RUN_FILE):
        yield f"{RUN_FILE} was changed {AFTER}: its SHA-256 is not the one in {SUMS_FILE}"


def _changed_fields(folder: Path, digest: Digest) -> list[str]:
    file = folder / RUN_FILE
    text = read_text(file)
    if is_as_written(text, digest):
        return []
    try:
        now = hashes_of_parts(json.loads(text))
    except ValueError as error:
        raise ResultError(f"{file} cannot be read: {error}") from None
    names = dict.fromkeys([*now, *digest.parts])
    return [name for name in names if now.get(name) != digest.parts.get(name)]


def _of_files(
    folder: Path, digest: Digest | None, known: Mapping[str, str], *, whole: bool
) -> Iterator[str]:
    if digest is None and not known:
        return
    named = known if digest is None else digest.files
    for name in HASHED_DATA:
        file = folder / name
        if not file.is_file():
            if name in named:
                yield f"{name} is missing, and was there when the run was finalized"
        elif name not in named:
            yield f"{name} was not there when the run was finalized"
        elif _is_another(file, digest, known, whole=whole):
            yield f"{name} was changed {AFTER}"


def _is_another(
    file: Path, digest: Digest | None, known: Mapping[str, str], *, whole: bool
) -> bool:
    if digest is None:
        small = file.stat().st_size <= 2 * HASHED_END
        return (whole or small) and sum_of(file) != known[file.name]
    if whole:
        return sum_of(file) != digest.files[file.name].sha256
    return sum_of_ends(file) != digest.files[file.name].ends_sha256
