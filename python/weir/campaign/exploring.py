"""The design of ``weir explore``: a Latin hypercube, which further tests follow one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weir.bench.errors import USAGE, BenchError
from weir.bench.program import plan_job
from weir.campaign.arguments import arguments_of, name_of, ranks_of, settings_of, tasks_of
from weir.campaign.design import factors_of
from weir.campaign.file import CampaignFile
from weir.campaign.setup import JobOf, Setup, prepare_campaign
from weir.campaign.shuffle import Shuffle
from weir.follow_up.exploration import AGAIN, all_places, first_tests, middle_of
from weir.follow_up.levels import is_numeric
from weir.results.campaign import Campaign, CampaignFactor, CampaignRun, Value
from weir.results.purpose import Purpose

FIRST = Purpose(
    goal="new region",
    motivation="the first design: tests that lie evenly among all combinations of the levels",
)
REPEATED = Purpose(
    goal="confirm",
    motivation="how far the same run scatters is not known before one was repeated",
)
RUNS_PER_BLOCK = 10
"""Runs after the first design that share their calibrations."""


def size_of_first(file: CampaignFile, first: int | None) -> int:
    """Returns the number of tests of the first design, if it is not given."""
    factors = factors_of(file, file.scale)
    try:
        count = len(all_places(factors))
    except ValueError as error:
        raise BenchError(f"--factor: {error}", USAGE) from None
    if count < 2:
        raise BenchError("--factor: one combination leaves nothing to explore", USAGE)
    if first is not None and first > count:
        raise BenchError(f"--first {first}: there are only {count} combinations", USAGE)
    numbers = sum(is_numeric(one) for one in factors)
    return first or first_tests(numbers, len(_words(factors, all_places(factors))), count)


def first_design(campaign: Campaign, file: CampaignFile, job_of: JobOf, runs: int) -> Campaign:
    """Returns the campaign with its first runs, in random order.

    Combinations that weir-bench refuses are left out. Combinations of words that the design left
    out are added, at the middle levels. One test is repeated.
    """
    every = all_places(campaign.factors)
    accepted = [place for place in campaign.combinations if refusal(file, place, job_of) is None]
    chosen = list(accepted)
    seen = set(_words(campaign.factors, chosen))
    for words in _words(campaign.factors, every):
        if words in seen:
            continue
        others = [
            place
            for place in every
            if dict(words).items() <= place.items() and refusal(file, place, job_of) is None
        ]
        if others:
            chosen.append(others[middle_of(campaign.factors, others)])
    if len(chosen) < 2:
        first = campaign.combinations[0]
        raise BenchError(
            f"weir-bench refuses almost all combinations; {name_of(first)}: "
            f"{refusal(file, first, job_of)}",
            USAGE,
        )
    order = [(place, FIRST) for place in range(len(chosen)) for _ in range(runs)]
    if runs == 1:
        order += [(middle_of(campaign.factors, chosen), REPEATED)] * AGAIN
    shuffled = Shuffle(campaign.seed).shuffled(order)
    return campaign.model_copy(
        update={
            "combinations": chosen,
            "replication": runs,
            "runs": [
                CampaignRun(number=number, block=1, combination=place, purpose=purpose)
                for number, (place, purpose) in enumerate(shuffled, 1)
            ],
        }
    )


def with_test(
    campaign: Campaign, place: Mapping[str, Value], purpose: Purpose, runs: int
) -> Campaign:
    """Returns the campaign with the runs of one more test at its end."""
    combinations = list(campaign.combinations)
    if place not in combinations:
        combinations.append({name: place[name] for name in combinations[0]})
    first = sum(run.block == 1 for run in campaign.runs)
    made = list(campaign.runs)
    for _ in range(runs):
        made.append(
            CampaignRun(
                number=len(made) + 1,
                block=2 + (len(made) - first) // RUNS_PER_BLOCK,
                combination=combinations.index(dict(place)),
                purpose=purpose,
            )
        )
    return campaign.model_copy(update={"combinations": combinations, "runs": made})


def grown_setup(
    setup: Setup, campaign: Campaign, file: CampaignFile, job_of: JobOf, ranks: int | None
) -> Setup:
    """Returns the set-up of a campaign that has further combinations than before; plans these."""
    known = len(setup.combinations)
    new = campaign.model_copy(update={"combinations": campaign.combinations[known:]})
    prepared = prepare_campaign(file, new, 0, job_of, ranks)
    return Setup(campaign, [*setup.combinations, *prepared.combinations], 0)


def refusal(file: CampaignFile, place: Mapping[str, Value], job_of: JobOf) -> str | None:
    """Returns why weir-bench refuses to run a combination; None if it does not."""
    settings = settings_of(file, dict(place), file.scale)
    ranks = ranks_of(settings, None)
    if ranks is None:
        raise BenchError("the number of ranks is missing: give -n or --factor ranks=", USAGE)
    try:
        plan_job(job_of(ranks, tasks_of(settings)).program, arguments_of(file, settings), ranks)
    except BenchError as error:
        return str(error)
    return None


def _words(
    factors: Sequence[CampaignFactor], places: Sequence[Mapping[str, Value]]
) -> list[tuple[tuple[str, Value], ...]]:
    """Returns the different combinations of the factors that are not numbers."""
    names = [name for one in factors if not is_numeric(one) for name in one.names]
    return list(dict.fromkeys(tuple((name, place[name]) for name in names) for place in places))
