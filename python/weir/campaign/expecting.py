"""Makes expectations of a campaign's runs, from a platform description or from calibrations.

A calibration is valid for a directory, a number of ranks, a transfer size, and one block: machines
drift, and blocks follow the drift. A resumed campaign calibrates anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from weir.bench.job import Job, calibrate, expectations
from weir.bench.platforms import places_of
from weir.bench.program import PlannedJob
from weir.bench.second_opinion import with_a_priori
from weir.results.calibration import Calibration
from weir.results.expectations import Expectation
from weir.results.folder import CALIBRATION_FILE, write_atomically
from weir.results.platform import Platform

Key = tuple[int, str, tuple[str, ...], int, int]


@dataclass
class Expecting:
    """Makes expectations, and calibrates first if there is no calibration for them yet."""

    tell: Callable[[str], None]
    platform: Platform | None = None
    calibrated: dict[Key, Calibration] = field(default_factory=dict)

    def expect(
        self, job: Job, planned: PlannedJob, block: int, folder: Path
    ) -> dict[str, Expectation]:
        """Returns expectations by slug; leaves a calibration that it uses in ``folder``."""
        if self.platform is not None:
            made = expectations(planned, self.platform, places_of(self.platform, planned))
            return with_a_priori(planned, self.platform, made)
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
        return with_a_priori(planned, calibration, expectations(planned, calibration))

    def work_per_second(self) -> float | None:
        """Returns a rank's busy-work operations per second, by the platform or last calibration."""
        if self.platform is not None:
            known = self.platform.busy_work_operations_per_second
            return known.value if known is not None else None
        for calibration in reversed(self.calibrated.values()):
            return calibration.busy_work_operations_per_second.median
        return None
