"""Write the JSON Schemas of Weir's result files from the Python types that define them.

usage: generate_schema.py [--check]

``docs/schema/NAME.schema.json`` says what a file must contain to be read: every field with its
type, its unit (in the name or the description) and whether it is optional. With ``--check`` nothing
is written, and the exit status is 1 if a file differs from what would be written.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pydantic import BaseModel

from weir.results.calibration import Calibration
from weir.results.platform import Platform
from weir.results.probe import Probe
from weir.results.schema import Run

CLONE = Path(__file__).resolve().parent.parent
FOLDER = CLONE / "docs" / "schema"
RECORDS: dict[str, type[BaseModel]] = {
    "run": Run,
    "calibration": Calibration,
    "probe": Probe,
    "platform": Platform,
}


def schema_text(record: type[BaseModel]) -> str:
    """Returns the JSON Schema (draft 2020-12) of one file, as the committed text."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema |= record.model_json_schema(mode="validation")
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Write docs/schema/ from the Python types.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; name the files that are not current"
    )
    check = parser.parse_args().check
    stale = 0
    for name, record in RECORDS.items():
        path = FOLDER / f"{name}.schema.json"
        text = schema_text(record)
        if path.is_file() and path.read_text() == text:
            continue
        stale += 1
        if check:
            print(f"{path.relative_to(CLONE)}: not what the types say; run ./dev docs")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote {path.relative_to(CLONE)}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
