"""Finds the platform description for judging a run, and checks that it is about that run's path.

A description that was measured elsewhere is refused, because its expectations would be about
another path.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from weir.bench.errors import USAGE, BenchError
from weir.bench.job import acts_on_names
from weir.bench.program import PlannedJob
from weir.platform.files import find_description, known_here
from weir.results.errors import ResultError
from weir.results.metadata_rates import rates_in
from weir.results.platform import Platform
from weir.results.platform_file import load_platform
from weir.results.probe import Target

OPERATIONS_RATE = "--operations-per-second"
"""The option of the workload open for the rate at which the file system serves operations."""


def find_platform(named: str) -> Platform:
    """Returns the description of that file or name; a mistake is a usage error of one line."""
    try:
        return load_platform(find_description(named))
    except ResultError as error:
        raise BenchError(f"--platform {named}: {error}", USAGE) from None


def places_of(platform: Platform, planned: PlannedJob) -> dict[str, str]:
    """Returns the platform's target behind every directory of the job.

    Empty for a description that names no directories. Raises ``BenchError`` for a directory that
    was not probed.
    """
    if not platform.targets:
        return {}
    directories = [
        target.directory for one in planned.configurations for target in one.plan.targets
    ]
    if any(not one.plan.targets for one in planned.configurations):
        directories.append(planned.directory)
    return {
        directory: target_of(platform.targets, directory, platform.name)
        for directory in dict.fromkeys(directories)
    }


def described_here(planned: PlannedJob) -> list[tuple[str, Platform, dict[str, str]]]:
    """Returns the descriptions below ``platforms/`` of the job's directories, the latest first.

    Each comes with its name and its places. Damaged ones, and ones of other storage, are left out.
    """
    found = []
    for name in known_here():
        try:
            platform = find_platform(name)
            found.append((name, platform, places_of(platform, planned)))
        except BenchError:
            continue
    return sorted(found, key=lambda one: one[1].measured_utc or "", reverse=True)


def probe_of_names(planned: PlannedJob) -> str | None:
    """Returns the name of the latest description that has the operations of a job of names.

    Rates of operations on names are not calibrated, so that a probe is their only source. None if
    the job has no such operations, or none was probed on its file systems.
    """
    return _latest_with_names(planned) if acts_on_names(planned) else None


def with_operations_rate(
    arguments: Sequence[str], platform: str | None, planned: PlannedJob
) -> list[str]:
    """Adds the highest probed rate of creating files in its directory to the workload open.

    Without a platform the latest description below ``platforms/`` that has it is taken. The
    arguments are unchanged for other workloads, if the rate was given, and if none was probed.
    """
    given = any(word.partition("=")[0] == OPERATIONS_RATE for word in arguments)
    if arguments[0] != "open" or given:
        return list(arguments)
    named = platform or _latest_with_names(planned)
    if named is None:
        return list(arguments)
    described = find_platform(named)
    target = places_of(described, planned).get(planned.directory, planned.directory)
    rates = rates_in(described.metadata, target)
    creating = rates.operations.get("create") if rates is not None else None
    known = creating.known() if creating is not None else []
    most = max((rate.value for rate in known), default=0.0)
    return [*arguments, f"{OPERATIONS_RATE}={most:.6g}"] if most > 0 else list(arguments)


def _latest_with_names(planned: PlannedJob) -> str | None:
    """Returns the name of the latest description of operations on the job's file systems."""
    return next(
        (name for name, one, _ in described_here(planned) if one.targets and one.metadata), None
    )


def target_of(targets: Sequence[Target], directory: str, platform: str) -> str:
    """Returns the probed directory on the same mounted file system, the nearest one above."""
    path = Path(directory).resolve()
    mount = mount_of(path)
    alike = [
        target
        for target in targets
        if Path(target.mount) == mount or path.is_relative_to(target.directory)
    ]
    if not alike:
        probed = ", ".join(f"{target.directory} (on {target.mount})" for target in targets)
        raise BenchError(
            f"platform {platform} describes {probed}, and {path} lies on {mount}; "
            f"run weir platform probe --directory {directory}",
            USAGE,
        )
    above = [target for target in alike if path.is_relative_to(target.directory)]
    return max(above or alike[:1], key=lambda target: len(target.directory)).directory


def mount_of(path: Path) -> Path:
    """Returns the mount point above a path, some of whose folders may not exist yet."""
    return next(
        (above for above in (path, *path.parents) if os.path.ismount(above)), Path(path.anchor)
    )
