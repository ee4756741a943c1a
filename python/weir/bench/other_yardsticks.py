"""Finds descriptions of the machine that contradict a calibration.

A calibration is made on the run's own storage seconds before the run. If the whole storage has
become slow, both are slow, and the run is as expected; only an earlier measurement can show the
change. If ``platforms/`` has a description of the run's directories, its expectation is therefore
compared with the calibration's, and a difference is reported before the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weir.bench.errors import BenchError
from weir.bench.job import expectations
from weir.bench.platforms import find_platform, places_of
from weir.bench.program import PlannedJob
from weir.platform.files import known_here
from weir.results.expectations import Expectation, ExpectedRate
from weir.results.quantities import range_text, rate_text
from weir.results.record import Quantity


def contradictions(planned: PlannedJob, calibrated: Mapping[str, Expectation]) -> Iterator[str]:
    """Yields a line for each description and direction with a different expected interval."""
    for name in known_here():
        try:
            described = find_platform(name)
            made = expectations(planned, described, places_of(described, planned))
        except BenchError:
            continue  # The description is damaged, or is about other storage or fewer ranks.
        told = set()
        for slug, expectation in made.items():
            now = {one.key: one.quantity for one in calibrated[slug].rates}
            for rate in expectation.rates:
                word = _differs(now.get(rate.key), rate)
                if word is None or rate.direction in told:
                    continue
                told.add(rate.direction)
                when = f" of {described.measured_utc[:10]}" if described.measured_utc else ""
                interval = range_text(rate.low, rate.high)
                yield (
                    f"by platform {name}{when}, {rate_text(rate.value)} "
                    f"({interval}) would be expected to {rate.direction}: the calibration is "
                    f"{word}, and --platform {name} judges by the description"
                )


def _differs(calibrated: Quantity | None, described: ExpectedRate) -> str | None:
    if calibrated is not None and calibrated.high < described.low:
        return "slower"
    return "faster" if calibrated is not None and calibrated.low > described.high else None
