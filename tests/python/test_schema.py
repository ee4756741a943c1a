"""The published schemas: they are what the types say, and hold what runs hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from calibrations import calibration
from synthetic import make_run

CLONE = Path(__file__).parents[2]
RUNS: list[dict[str, Any]] = [
    {"label": "POSIX UNIQUE SYNC"},
    {"label": "POSIX UNIQUE ASYNC", "ranks": 64, "has_sibling": True},
    {"label": "MPI SHARED SYNC", "finalized": True},
    {"label": "MPI SHARED ASYNC", "finalized": True, "ranks": 64},
    {"label": "POSIX SHARED SYNC", "failed": True},
]


def validator(name: str) -> Draft202012Validator:
    schema = json.loads((CLONE / f"docs/schema/{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_published_schemas_are_what_the_types_say() -> None:
    tool = [sys.executable, str(CLONE / "tools/generate_schema.py"), "--check"]
    answer = subprocess.run(tool, capture_output=True, text=True, timeout=120, check=False)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


@pytest.mark.parametrize("fields", RUNS, ids=lambda f: "-".join(str(v) for v in f.values()))
def test_runs_hold_to_the_published_schema(fields: dict[str, Any]) -> None:
    validator("run").validate(make_run(**fields).model_dump(mode="json"))


def test_calibrations_hold_to_the_published_schema() -> None:
    validator("calibration").validate(calibration().model_dump(mode="json"))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("status",), "done"),
        (("surprise",), 1),
        (("plan", "ranks"), "four"),
        (("plan", "disk_bytes_total"), -1),
        (("repetitions", 0, "phases", 0, "direction"), "sideways"),
        (("repetitions", 0, "phases", 0, "io_seconds", "max"), -0.1),
        (("repetitions", 0, "phases", 0, "cache", "verdict"), "disk"),
        (("verification", "errors"), None),
    ],
)
def test_the_published_schema_refuses_what_the_types_refuse(
    place: tuple[str | int, ...], value: object
) -> None:
    record = make_run().model_dump(mode="json")
    inner: Any = record
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    assert not validator("run").is_valid(record)


def test_every_field_without_a_unit_in_its_name_is_a_count_or_described() -> None:
    """Numbers that are no counts carry their unit in the name, or a description that tells it."""
    units = ("seconds", "_ns", "bytes", "per_second", "fraction", "percent")
    told = []
    for name, record in json.loads((CLONE / "docs/schema/run.schema.json").read_text())[
        "$defs"
    ].items():
        for field, schema in record.get("properties", {}).items():
            kinds = {
                schema.get("type"),
                *(any_of.get("type") for any_of in schema.get("anyOf", [])),
            }
            if "number" not in kinds or "description" in schema:
                continue
            if not any(unit in field for unit in units):
                told.append(f"{name}.{field}")
    assert told == []
