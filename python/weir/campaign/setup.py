"""Plans and checks a whole campaign before its first run, so that mistakes show first.

Each combination is planned by ``weir-bench ... --plan``. Unknown settings, levels that the workload
refuses, and disks that are too small are reported here, with the combination.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from weir.bench.errors import USAGE, BenchError
from weir.bench.job import Job, check_arguments, utc_now, utc_text
from weir.bench.program import PlannedJob, plan_job
from weir.campaign.arguments import arguments_of, name_of, ranks_of, settings_of, tasks_of
from weir.campaign.design import (
    combinations_of,
    factors_of,
    phases_of,
    purposes_of,
    repetitions_of,
    runs_of,
)
from weir.campaign.file import CampaignFile
from weir.results.campaign import Campaign, CampaignPhase, Value

JobOf = Callable[[int, int | None], Job]
"""Function that returns weir-bench under its launcher, for a number of ranks, and of ranks on each
node; None: as the launcher places them."""


@dataclass(frozen=True)
class Prepared:
    """One combination: weir-bench's arguments, how its ranks start, and the resulting plan."""

    arguments: list[str]
    ranks: int
    planned: PlannedJob
    tasks_per_node: int | None = None
    """None: as the launcher places them."""


@dataclass(frozen=True)
class Setup:
    """A whole campaign that is ready to begin."""

    campaign: Campaign
    combinations: list[Prepared]
    excluded: int


def design_campaign(
    file: CampaignFile,
    *,
    scale: float | None,
    platform: str | None,
    given: Mapping[str, Value],
    seed: int | None = None,
) -> tuple[Campaign, int]:
    """Returns the design of a file, and the number of excluded combinations.

    ``given`` are the settings on the command line. ``seed`` is that of a resumed campaign; without
    it the file's seed is used, or else a new one.
    """
    chosen = scale if scale is not None else file.scale
    factors = factors_of(file, chosen)
    drawn = next(s for s in (seed, file.seed, secrets.randbits(32)) if s is not None)
    combinations, excluded = combinations_of(file, factors, drawn)
    phases = phases_of(file, factors, combinations)
    used = platform or (file.platform.file if file.platform else None)
    campaign = Campaign(
        format="weir-campaign",
        format_version=1,
        name=file.name,
        description=file.description,
        workload=file.workload,
        created_utc=utc_text(utc_now()),
        seed=drawn,
        scale=chosen,
        replication=file.replication,
        design=file.design,
        pause_seconds=file.pause,
        phases=[CampaignPhase(name=one.name, pause_seconds=one.pause) for one in file.phase],
        given=dict(given),
        platform=used,
        curve=file.curve,
        factors=factors,
        combinations=combinations,
        purposes=purposes_of(file, factors, combinations),
        runs=runs_of(repetitions_of(file, factors, combinations), file.blocks, drawn, phases),
    )
    return campaign, excluded


def prepare_campaign(
    file: CampaignFile, campaign: Campaign, excluded: int, job_of: JobOf, ranks: int | None
) -> Setup:
    """Plans every combination; raises ``BenchError`` for the first that cannot be run."""
    prepared = []
    for combination in campaign.combinations:
        settings = settings_of(file, combination, campaign.scale)
        count = ranks_of(settings, ranks)
        if count is None:
            raise BenchError(
                "the number of ranks is missing: give ranks in [fixed], a factor ranks, or -n",
                USAGE,
            )
        arguments = arguments_of(file, settings)
        _check_own(arguments)
        try:
            tasks = tasks_of(settings)
            planned = plan_job(job_of(count, tasks).program, arguments, count)
        except BenchError as error:
            raise BenchError(f"{name_of(combination)}: {error}", error.exit_status) from None
        prepared.append(Prepared(arguments, count, planned, tasks))
    return Setup(campaign, prepared, excluded)


def _check_own(arguments: list[str]) -> None:
    """Refuses options of weir-bench that a campaign sets itself."""
    check_arguments(arguments)
    if any(word.partition("=")[0] == "--output" for word in arguments):
        raise BenchError(
            "--output is set by weir itself: give the --output of the campaign instead", USAGE
        )
