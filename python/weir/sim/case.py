"""Case files whose runs are simulated: campaigns of ``weir sim``, one job of each combination."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from weir.bench.errors import USAGE, BenchError
from weir.campaign.design import combinations_of, factors_of
from weir.campaign.file import load_campaign_file, read_number
from weir.results.campaign import Value
from weir.sim.job import NUMBERS, Asked, check


@dataclass(frozen=True)
class Case:
    """What a case file asks for."""

    platform: str
    jobs: tuple[Asked, ...]

    def numbers(self, field: str) -> tuple[int, ...]:
        """Returns the levels of a number, each once, in their order."""
        return tuple(dict.fromkeys(getattr(job, field) for job in self.jobs))

    def job(self, **chosen: Value) -> Asked:
        """Returns the only job with these levels; raises ``LookupError``."""
        found = [
            job
            for job in self.jobs
            if all(getattr(job, name) == value for name, value in chosen.items())
        ]
        if len(found) != 1:
            raise LookupError(f"{len(found)} jobs have {chosen}")
        return found[0]


def load_case(path: Path) -> Case:
    """Reads a case file; raises ``BenchError`` for what ``weir sim`` does not simulate."""
    file = load_campaign_file(path)
    if file.platform is None:
        raise BenchError(f"{path}: [platform] is missing: name the machine to simulate", USAGE)
    known = {field.name for field in fields(Asked)}
    fixed = {name: read_number(value) for name, value in file.fixed.items()}
    jobs = []
    for combination in combinations_of(file, factors_of(file, 1.0))[0]:
        settings = {name.replace("-", "_"): value for name, value in (fixed | combination).items()}
        unknown = sorted(set(settings) - known)
        if unknown:
            raise BenchError(f"{path}: {unknown[0]}: weir sim has no such setting", USAGE)
        for name, value in settings.items():
            if name in NUMBERS and type(value) is not int:
                raise BenchError(f"{path}: {name} is {value!r}: give a whole number", USAGE)
        if "ranks" not in settings:
            raise BenchError(f"{path}: ranks is neither in [fixed] nor a factor", USAGE)
        job = Asked(file.workload, **settings)  # type: ignore[arg-type]
        check(job)
        jobs.append(job)
    return Case(file.platform.file, tuple(jobs))
