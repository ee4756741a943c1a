"""Makes expectations of a campaign's runs, from a platform description or from calibrations.

A calibration is valid for a directory, a number of ranks and their placement, a transfer size, a
size of files, and one block: machines drift, and blocks follow the drift. A resumed campaign
calibrates anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from weir.bench.job import (
    Calibrated,
    CalibratedFor,
    Job,
    calibrate,
    calibrated_for,
    expectations,
)
from weir.bench.platforms import places_of
from weir.bench.program import PlannedJob
from weir.bench.second_opinion import with_a_priori
from weir.results.expectations import Expectation
from weir.results.platform import Platform

Key = tuple[int, tuple[str, ...], CalibratedFor]


@dataclass
class Expecting:
    """Makes expectations, and calibrates first if there is no calibration for them yet."""

    tell: Callable[[str], None]
    platform: Platform | None = None
    results: Path | None = None
    """The folder in which campaigns and other results lie side by side."""
    calibrated: dict[Key, Calibrated] = field(default_factory=dict)

    def expect(
        self, job: Job, planned: PlannedJob, block: int, folder: Path
    ) -> dict[str, Expectation]:
        """Returns expectations by slug; leaves a calibration that it uses in ``folder``."""
        if self.platform is not None:
            places = places_of(self.platform, planned)
            made = expectations(planned, self.platform, places, job.environment())
            return with_a_priori(planned, self.platform, made)
        key = (block, job.launcher.command, calibrated_for(planned))
        if key not in self.calibrated:
            self.calibrated[key] = calibrate(job, planned, folder, self.tell)
        calibrated = self.calibrated[key]
        calibrated.write(folder)
        made = expectations(planned, calibrated, environment=job.environment())
        return with_a_priori(planned, calibrated, made, self.results)

    def work_per_second(self) -> float | None:
        """Returns a rank's busy-work operations per second, by the platform or last calibration."""
        if self.platform is not None:
            known = self.platform.busy_work_operations_per_second
            return known.value if known is not None else None
        for calibrated in reversed(self.calibrated.values()):
            return calibrated.each[-1].busy_work_operations_per_second.median
        return None
