"""Reads and writes run folders.

A run folder contains ``run.json``, the run's events (``events/`` as left by ``weir-bench``,
``events.parquet`` once finalized) and ``report.html``. A job with several configurations leaves one
folder with a run folder for each.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TypeVar, get_args

from pydantic import BaseModel, ValidationError

from weir.results.calibration import Calibration
from weir.results.errors import ResultError
from weir.results.schema import Run

RUN_FILE = "run.json"
CALIBRATION_FILE = "calibration.json"
SHARED_CALIBRATION_FILE = "calibration-shared.json"
"""The calibration in which the ranks shared a file."""
FILES_LIST = "files.json"
"""Where a job lists its test files, before it makes them, so that they can be removed."""
REPORT_FILE = "report.html"

Model = TypeVar("Model", bound=BaseModel)


def load_run(path: Path) -> Run:
    """Reads the run of a run folder (or of its ``run.json``) and checks it against the schema."""
    return load_record(path / RUN_FILE if path.is_dir() else path, Run)


def load_calibration(file: Path) -> Calibration:
    """Reads a ``calibration.json`` and checks its types."""
    return load_record(file, Calibration)


def load_record(file: Path, model: type[Model]) -> Model:
    """Reads a JSON file as a checked record; raises ``ResultError`` with the place of a fault."""
    return read_record(file, read_text(file), model)


def read_text(file: Path) -> str:
    """Returns the text of a file; raises ``ResultError`` if there is none."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ResultError(f"{file} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(f"{file} cannot be read: {error}") from None


def read_record(file: Path, text: str, model: type[Model], place: str = "") -> Model:
    """Returns the record in the text that is at a place in a file."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        refuse_newer(file, text, _known_version(model))
        raise ResultError(f"{file}{place}: {describe_validation(error)}") from None


def refuse_newer(file: Path, text: str | bytes, known: int | None) -> None:
    """Raises ``ResultError`` if the format version of a record is newer than the known one.

    Called when a record could not be read, so that a folder from a newer Weir is not reported as
    damaged.
    """
    try:
        record = json.loads(text)
    except ValueError:
        return
    version = record.get("format_version") if isinstance(record, dict) else None
    if known is not None and isinstance(version, int) and version > known:
        raise ResultError(
            f"{file} was written by a newer Weir (format version {version}, this one knows "
            f"{known}); read it with that one, nothing was changed here"
        )


def _known_version(model: type[BaseModel]) -> int | None:
    """Returns the format version that a record's type names, or None."""
    field = model.model_fields.get("format_version")
    versions = get_args(field.annotation) if field is not None else ()
    return max((one for one in versions if isinstance(one, int)), default=None)


def describe_validation(error: ValidationError) -> str:
    """Describes the first fault of a record in one line, with its place and the number of more."""
    faults = error.errors(include_url=False)
    first = faults[0]
    place = ""
    for step in first["loc"]:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else step
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    said = first["msg"].removeprefix("Value error, ")
    return f"{place + ': ' if place else ''}{said}{more}"


def write_run(folder: Path, run: Run) -> Path:
    """Replace ``folder/run.json`` atomically; the run is checked against the schema first."""
    Run.model_validate(run.model_dump())
    return write_atomically(folder / RUN_FILE, text_of(run))


def text_of(run: Run) -> str:
    """Returns the text of a ``run.json``."""
    return run.model_dump_json(indent=1) + "\n"


def write_json(file: Path, value: object) -> Path:
    """Write a JSON file atomically."""
    return write_atomically(file, json.dumps(value, indent=1, allow_nan=False) + "\n")


def write_atomically(file: Path, text: str) -> Path:
    """Write ``file`` so that a reader or a crash sees the old text or the new, never a part."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with unfinished.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(file)
    except OSError as error:
        raise ResultError(f"{file} cannot be written: {error.strerror or error}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return file


def find_run_folders(root: Path) -> list[Path]:
    """Returns every folder at or below ``root`` that contains a ``run.json``, in order of path."""
    if not root.is_dir():
        raise ResultError(f"{root} is not a folder: give one that holds run folders")
    found = []
    for folder, subfolders, files in os.walk(root):
        if RUN_FILE in files:
            found.append(Path(folder))
            subfolders.clear()
        else:
            subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
    return sorted(found)
