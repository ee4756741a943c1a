"""The stages that a byte passes, and the rate of each by the calibration.

    write   memory copy -> page cache write -> storage write    (durable sync inside the timing)
    write   memory copy -> page cache write                     (sync none: storage comes later)
    write   storage write                                       (O_DIRECT)
    read    storage read -> memory copy                         (pages dropped, or they do not fit)
    read    page cache read -> memory copy                      (pages still resident)
    read    storage read                                        (O_DIRECT)

The I/O path traverses all components in turn, so the slowest is the limit (Uselton, section 3.3).
Each rate was measured end to end from the application's buffer, so rates are compared and not added
up as in Uselton's equation 1: the storage stage holds the page cache's share already, and the page
cache's stage that of the memory copy.

MPI-IO and shared files have the same expectation as POSIX with a file per rank. For large
contiguous transfers Borrill et al. found "trivial differentiation" between the interfaces (section
4) and say that one can, and should, expect a shared file to match separate files (section 6). A
shortfall is therefore a finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weir.results.calibration import Calibration, Trials
from weir.results.quantities import rate_text, size_text
from weir.results.schema import Direction, Parameter, Plan

MEMORY_COPY = "memory copy"
CACHE_WRITE = "page cache write"
CACHE_READ = "page cache read"
STORAGE_WRITE = "storage write"
STORAGE_READ = "storage read"

DURABLE_SYNCS = ("fsync", "fdatasync")


@dataclass(frozen=True)
class PathStage:
    """A stage with the calibration's trials, all ranks together.

    ``fixed_seconds`` is the part of one transfer's time that does not grow with its size.
    """

    name: str
    trials: Trials
    fixed_seconds: float
    how: str


@dataclass(frozen=True)
class Path:
    """The stages of one direction and the reason for this choice of stages."""

    stages: tuple[PathStage, ...]
    reason: str


def path_of(
    direction: Direction,
    plan: Plan,
    parameters: Mapping[str, Parameter],
    calibration: Calibration,
) -> Path:
    """The stages of one direction, decided by ``sync``, ``direct``, ``drop_cache``, ``rank_shift``.

    A parameter that is absent has the value that costs most: sync, and for reads dropped pages.
    """
    if direction == "write":
        return _write_path(parameters, calibration)
    return _read_path(plan, parameters, calibration)


def _write_path(parameters: Mapping[str, Parameter], calibration: Calibration) -> Path:
    memory = _memory_copy(calibration, calibration.write_cache_bytes_per_second)
    cache = PathStage(
        CACHE_WRITE,
        calibration.write_cache_bytes_per_second,
        calibration.call_seconds.median,
        "write without a durable sync",
    )
    sync = setting(parameters, "sync", "fsync")
    storage = PathStage(
        STORAGE_WRITE,
        calibration.write_storage_bytes_per_second,
        calibration.fsync_seconds.median,
        "write and fsync of a new file",
    )
    if flag(parameters, "direct", default=False):
        return Path(
            (storage,), "O_DIRECT: no page cache; its rate is taken from buffered write and fsync"
        )
    if sync not in DURABLE_SYNCS:
        return Path((memory, cache), f"sync is {sync}: nothing waits for storage")
    return Path((memory, cache, storage), f"{sync} in the timed part")


def _read_path(plan: Plan, parameters: Mapping[str, Parameter], calibration: Calibration) -> Path:
    memory = _memory_copy(calibration, calibration.read_cache_bytes_per_second)
    call = calibration.call_seconds.median
    storage = PathStage(
        STORAGE_READ,
        calibration.read_storage_bytes_per_second,
        call,
        "read after dropping the pages",
    )
    cache = PathStage(
        CACHE_READ, calibration.read_cache_bytes_per_second, call, "read of resident pages"
    )
    if flag(parameters, "direct", default=False):
        return Path((storage,), "O_DIRECT: no page cache; its rate is taken from buffered reads")
    if flag(parameters, "drop_cache", default=True):
        return Path((storage, memory), "pages are dropped before reading")
    available = calibration.memory_available_bytes
    if available is not None and plan.disk_bytes_total > available:
        return Path(
            (storage, memory),
            f"the files ({size_text(plan.disk_bytes_total)}) do not fit the free memory "
            f"({size_text(available)})",
        )
    shift = setting(parameters, "rank_shift", "0")
    if shift != "0" and calibration.hosts > 1:
        return Path(
            (storage, memory),
            f"rank shift {shift} over {calibration.hosts} hosts: "
            "the pages may be resident on another host",
        )
    fits = "fit the free memory" if available is not None else "are taken to fit the memory"
    return Path(
        (cache, memory),
        f"pages are not dropped and the files ({size_text(plan.disk_bytes_total)}) {fits}",
    )


def _memory_copy(calibration: Calibration, through_cache: Trials) -> PathStage:
    """The copy between application and page cache; ``through_cache`` was measured with it inside.

    Copies are calibrated between buffers beyond the processor's caches. Small transfers stay in
    those caches; then the page cache's rate is the better bound for the copy that it contains.
    """
    copied = calibration.memory_copy_bytes_per_second
    if through_cache.median <= copied.median:
        return PathStage(MEMORY_COPY, copied, 0.0, "copy between large buffers by all ranks")
    fixed = calibration.call_seconds.median
    return PathStage(
        MEMORY_COPY,
        through_cache,
        fixed,
        f"at least the page cache's rate, which contains it; {rate_text(copied.median)} between "
        "large buffers",
    )


def setting(parameters: Mapping[str, Parameter], name: str, default: str) -> str:
    """A parameter as lower-case text; dashes and underscores in its name are the same."""
    for key in (name, name.replace("_", "-")):
        if key in parameters:
            return str(parameters[key].value).lower()
    return default


def flag(parameters: Mapping[str, Parameter], name: str, *, default: bool) -> bool:
    """A parameter that is on or off; raises ``ValueError`` for anything else."""
    text = setting(parameters, name, str(default).lower())
    if text in ("true", "on", "yes", "1"):
        return True
    if text in ("false", "off", "no", "0"):
        return False
    raise ValueError(f"parameter {name} is {text!r}, expected true or false")
