"""What commands print for machines."""

from __future__ import annotations

import json
from typing import Any


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    print(json.dumps(value, indent=1))
