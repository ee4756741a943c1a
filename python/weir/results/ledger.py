"""A ledger: a file with one record per line, the oldest first, which only grows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from weir.results.errors import ResultError
from weir.results.folder import read_record, read_text

Model = TypeVar("Model", bound=BaseModel)


def append_to_ledger(file: Path, record: BaseModel) -> None:
    """Adds a line, and waits until it is on disk."""
    try:
        with file.open("a", encoding="utf-8") as stream:
            stream.write(record.model_dump_json() + "\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise ResultError(f"{file} cannot be written: {error.strerror}") from None


def read_ledger(file: Path, model: type[Model]) -> list[Model]:
    """Returns the records; none if there is no such file."""
    if not file.exists():
        return []
    lines = enumerate(read_text(file).splitlines(), 1)
    return [read_record(file, line, model, f" line {number}") for number, line in lines]
