"""What is asked about a kernel's output: the user's words, checked, and each level of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from weir.bench.errors import USAGE, BenchError
from weir.results.campaign import Value
from weir.results.platform import Platform
from weir.sim.job import Asked, points, size_in
from weir.sim.staged import (
    HAND_OVER,
    KERNELS,
    STAGINGS,
    Kernel,
    Run,
    StagedOutput,
    Staging,
    kernel_of,
    simulate_output,
)


@dataclass(frozen=True)
class OutputAsked:
    """The words about a kernel's output: those after ``--``, and who stores its files."""

    kernel: str  # or another workload, which has no such words
    words: tuple[str, ...]
    staging: str
    stager_memory: str | None

    @property
    def checked_staging(self) -> Staging:
        found = next((one for one in STAGINGS if one == self.staging), None)
        if found is None:
            raise BenchError(f"--staging {self.staging}: give one of {', '.join(STAGINGS)}", USAGE)
        return found

    def refuse_others(self, given: Mapping[str, Any]) -> None:
        """Raises ``BenchError`` for words that the workload does not take.

        ``given`` has the options of other workloads than kernels, by their names.
        """
        kernels = " and ".join(KERNELS)
        if self.kernel in KERNELS:
            named = next((name for name, value in given.items() if value), None)
            if named is not None:
                raise BenchError(f"{named} is not for weir sim {self.kernel}: leave it out", USAGE)
            return
        own = {"--staging": self.staging != "none", "--stager-memory": self.stager_memory}
        named = next((name for name, value in own.items() if value), None)
        if named is not None:
            raise BenchError(
                f"{named} is for weir sim {kernels}: leave it out of {self.kernel}", USAGE
            )
        if self.words:
            raise BenchError(
                f"weir sim {self.kernel}: {self.words[0]} is one word too many: only {kernels} "
                "pass words on to weir-bench",
                USAGE,
            )


def outputs(
    platform: Platform,
    base: Asked,
    swept: dict[str, list[Value]],
    output: OutputAsked,
    run: Run,
) -> list[tuple[dict[str, Value], StagedOutput]]:
    """Returns the outcome of each combination of levels; raises ``BenchError``."""
    staging = output.checked_staging
    memory = output.stager_memory
    memory_bytes = None if memory is None else size_in("stager-memory", memory)
    for name in ("bytes", "steps"):
        if name in swept:
            raise BenchError(
                f"--sweep {name}: the files of {output.kernel} say it; give settings of weir-bench "
                "after --",
                USAGE,
            )

    @lru_cache
    def kernel(ranks: int) -> Kernel:
        return kernel_of([output.kernel, *output.words], ranks, platform)

    found = []
    for one in points(base, swept):
        if (staging == "service") != (one.stagers > 0):
            raise BenchError(
                f"--staging {staging} with {one.stagers} --stagers: a service has at least one, "
                "and otherwise there is none, or one of each node",
                USAGE,
            )
        levels = {name: getattr(one, name) for name in swept}
        found.append(
            (levels, simulate_output(platform, kernel(one.ranks), one, staging, memory_bytes, run))
        )
    return found


def record_of(levels: dict[str, Value], one: StagedOutput) -> dict[str, Any]:
    """Returns what ``--json`` prints of one outcome."""
    record: dict[str, Any] = {
        "workload": one.kernel.name,
        "ranks": one.asked.ranks,
        "levels": levels,
        "staging": one.staging,
        "stagers": one.asked.stagers,
        "bytes": one.kernel.bytes,
        "computing_seconds": one.kernel.computing_seconds,
        "unstaged_seconds": one.unstaged_seconds,
        "unstaged_limit": one.unstaged_limit,
    }
    if not one.rates:
        return record
    return {
        **record,
        "blocked_seconds": one.blocked_seconds,
        "until_stored_seconds": one.until_stored_seconds,
        "hidden": one.hidden,
        "least_computing_seconds": one.least_computing_seconds,
        "observed_limit": one.rates["foreground"].limiting_stage,
        "storage_limit": one.rates["span"].limiting_stage,
        "parts": [
            {"name": time.stage.name, "hand_over": what == HAND_OVER, "seconds": time.seconds}
            for what, time in one.parts
        ],
    }
