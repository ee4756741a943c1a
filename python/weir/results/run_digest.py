"""Writes a run together with hashes of what it has, so that a later change is found.

``digest`` in ``run.json`` has a hash of each field and of each Parquet file. ``SHA256SUMS`` beside
it has a hash of each file. ``weir.results.changes`` compares both with the folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weir.results.checksums import HASHED_DATA, SUMS_FILE, sum_of, sum_of_ends, write_sums
from weir.results.digest_records import Digest, FileDigest
from weir.results.folder import text_of, write_run
from weir.results.schema import Run

DIGEST_FIELD = "digest"
BEFORE_DIGEST = f'\n "{DIGEST_FIELD}": '
"""Separates the last field in the text of ``run.json``; no value contains a line break."""


def write_with_digest(folder: Path, run: Run) -> Run:
    """Writes ``run.json`` with its digest, and ``SHA256SUMS``; returns the run with the digest."""
    files = {
        name: FileDigest(sha256=sum_of(folder / name), ends_sha256=sum_of_ends(folder / name))
        for name in HASHED_DATA
        if (folder / name).is_file()
    }
    text, _, _ = text_of(run).rpartition(BEFORE_DIGEST)
    digest = Digest(
        text_sha256=hashlib.sha256(text.encode()).hexdigest(),
        parts=hashes_of_parts(json.loads(run.model_dump_json())),
        files=files,
    )
    digested = run.model_copy(update={DIGEST_FIELD: digest})
    # After an interruption here no hash contradicts the new file.
    (folder / SUMS_FILE).unlink(missing_ok=True)
    write_run(folder, digested)
    write_sums(folder, {name: one.sha256 for name, one in files.items()})
    return digested


def is_as_written(text: str, digest: Digest) -> bool:
    """Returns whether the text of a ``run.json`` is the one that was written with this digest."""
    before, _, after = text.rpartition(BEFORE_DIGEST)
    if hashlib.sha256(before.encode()).hexdigest() != digest.text_sha256:
        return False
    return after == digest.model_dump_json(indent=1).replace("\n", "\n ") + "\n}\n"


def hashes_of_parts(record: Mapping[str, Any]) -> dict[str, str]:
    """Returns the hash of each field of a ``run.json``, whatever its layout as text is."""
    return {
        name: hashlib.sha256(
            json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        ).hexdigest()
        for name, value in record.items()
        if name != DIGEST_FIELD
    }
