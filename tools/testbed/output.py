"""Prints output of commands for programs."""

from __future__ import annotations

import json
from typing import Any


def print_json(value: dict[str, Any]) -> None:
    """Prints one JSON object on standard output."""
    print(json.dumps(value, indent=1))
