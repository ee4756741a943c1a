"""Expectations of a campaign's runs: from a platform description, or from calibrations.

A calibration holds for a directory, a number of ranks and a transfer size, and for one block: a
machine drifts, and blocks are there to follow it. A campaign that goes on calibrates anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from weir.bench.job import Job, calibrate, expectations
from weir.bench.platforms import places_of
from weir.bench.program import PlannedJob
from weir.results.calibration import Calibration
from weir.results.folder import CALIBRATION_FILE, write_atomically
from weir.results.platform import Platform
from weir.results.schema import Expectation

Key = tuple[int, str, tuple[str, ...], int, int]


@dataclass
class Expecting:
    """Makes expectations, and calibrates where there is none for them yet."""

    tell: Callable[[str], None]
    platform: Platform | None = None
    calibrated: dict[Key, Calibration] = field(default_factory=dict)

    def expect(
        self, job: Job, planned: PlannedJob, block: int, folder: Path
    ) -> dict[str, Expectation]:
        """By slug; a calibration used is left in ``folder``, as ``weir bench`` leaves it."""
        if self.platform is not None:
            return expectations(planned, self.platform, places_of(self.platform, planned))
        key = (
            block,
            planned.directory,
            tuple(planned.striping),
            job.launcher.ranks,
            planned.transfer_bytes,
        )
        if key not in self.calibrated:
            self.calibrated[key] = calibrate(job, planned, folder, self.tell)
        calibration = self.calibrated[key]
        write_atomically(folder / CALIBRATION_FILE, calibration.model_dump_json(indent=1) + "\n")
        return expectations(planned, calibration)

    def work_per_second(self) -> float | None:
        """Busy work of a rank, from the platform or the last calibration."""
        if self.platform is not None:
            known = self.platform.busy_work_operations_per_second
            return known.value if known is not None else None
        for calibration in reversed(self.calibrated.values()):
            return calibration.busy_work_operations_per_second.median
        return None
