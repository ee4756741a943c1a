"""Test data, not measurements: stages and platforms with rates that tests choose."""

from __future__ import annotations

from typing import Any

from weir.model.uselton import exactly
from weir.results.platform import Platform, PlatformStage


def make_stage(name: str = "storage", rate: float = 1e9, **changes: Any) -> PlatformStage:
    """A target of that rate without fixed cost, passed by O_DIRECT in both directions."""
    record: dict[str, Any] = {
        "name": name,
        "kind": "target",
        "routes": ["direct"],
        "units": 1,
        "rate_bytes_per_second": exactly(rate),
        "fixed_seconds": exactly(0.0),
    }
    return PlatformStage.model_validate({**record, **changes})


def make_platform(stages: list[PlatformStage], **changes: Any) -> Platform:
    record: dict[str, Any] = {
        "format": "weir-platform",
        "format_version": 1,
        "name": "test data",
        "hosts": 1,
        "ranks_per_host": 8,
        "stages": stages,
    }
    return Platform.model_validate({**record, **changes})
