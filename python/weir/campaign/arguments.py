"""Converts a combination to the words of a weir-bench command line."""

from __future__ import annotations

from collections.abc import Mapping

from weir.bench.errors import USAGE, BenchError
from weir.campaign.design import (
    OF_THE_LAUNCHER,
    RANKS,
    TASKS,
    Combination,
    scaled,
    setting_name,
)
from weir.campaign.file import CampaignFile, read_number
from weir.results.campaign import Value


def settings_of(file: CampaignFile, combination: Combination, scale: float) -> dict[str, Value]:
    """Returns the fixed settings, scaled, and those of the combination, by weir-bench's names."""
    grains = {setting_name(file.workload, name): grain for name, grain in file.scaled.items()}
    settings: dict[str, Value] = {}
    for given, value in file.fixed.items():
        name = setting_name(file.workload, given)
        if name in grains:
            settings[name] = scaled(name, value, grains[name], scale)
        else:
            settings[name] = value
    return {**settings, **combination}


def arguments_of(file: CampaignFile, settings: Mapping[str, Value]) -> list[str]:
    """Returns the workload, the file's words, and ``--name=value`` for each of its settings."""
    words = [file.workload, *file.arguments]
    for name, value in settings.items():
        if name in OF_THE_LAUNCHER:
            continue
        if isinstance(value, bool):
            words.append(f"--{name}" if value else f"--no-{name}")
        else:
            words.append(f"--{name}={value}")
    return words


def ranks_of(settings: Mapping[str, Value], otherwise: int | None) -> int | None:
    """Returns the number of ranks: of the combination or [fixed], else ``-n``; or None."""
    return _count_of(settings, RANKS, otherwise)


def tasks_of(settings: Mapping[str, Value]) -> int | None:
    """Returns the number of ranks on each node, or None: the launcher decides."""
    return _count_of(settings, TASKS, None)


def _count_of(settings: Mapping[str, Value], name: str, otherwise: int | None) -> int | None:
    given = settings.get(name)
    if given is None:
        return otherwise
    number = read_number(given)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise BenchError(f"{name} must be whole numbers from 1; given: {given!r}", USAGE)
    return number


def name_of(combination: Combination) -> str:
    """Formats a combination: ``ranks=4, filetype=UNIQUE``."""
    return ", ".join(f"{name}={value}" for name, value in combination.items()) or "the one run"
