"""The record in ``run.json`` of what a run had when it was finalized."""

from __future__ import annotations

from pydantic import Field

from weir.results.record import Record


class FileDigest(Record):
    """Hashes of a Parquet file of the run."""

    sha256: str = Field(description="of the whole file")
    ends_sha256: str = Field(
        description="of the size in decimal digits, the first 256 KiB and the last 256 KiB"
    )


class Digest(Record):
    """Hashes of what was measured, made when the run was finalized."""

    text_sha256: str = Field(
        description=(
            "of the text of run.json before this field, so that an unchanged file is recognized at "
            "once"
        )
    )
    parts: dict[str, str] = Field(
        description=(
            "SHA-256 of each field of run.json, except this one: of its JSON with sorted names "
            "and without spaces"
        )
    )
    files: dict[str, FileDigest] = Field(description="Parquet files beside run.json, by name")
