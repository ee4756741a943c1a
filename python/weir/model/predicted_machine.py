"""Predicts what a described machine would reach in the runs of another one, for a comparison."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from weir.analysis.machines import Bar, compared_runs
from weir.analysis.madbench_runs import Observed, Runs
from weir.model.expectation import expect
from weir.results.expectations import Direction
from weir.results.platform import Platform

PLACES = ("directory", "targets", "pool", "first-target")
"""Parameters that name parts of the machine that was measured; the described one has others."""


def predicted_bars(platform: Platform, runs: Runs) -> list[Bar]:
    """Returns the described machine's bars for the runs that count in ``runs``.

    The plan is that of the measured run: as many ranks, files and bytes. Raises ``ValueError`` if
    the description lacks what the runs need.
    """
    return [bar for group in compared_runs(runs) for bar in _bars(platform, group[0])]


def _bars(platform: Platform, one: Observed) -> Iterator[Bar]:
    run, settings = one.run, one.settings
    parameters = {name: given for name, given in run.parameters.items() if name not in PLACES}
    plan = run.plan.model_copy(update={"targets": []})
    made = expect(plan, False, parameters, platform, run.started_utc)
    directions: tuple[Direction, ...] = get_args(Direction)
    by_direction = {rate.direction: rate for rate in made.rates}
    for direction in directions:
        rate = by_direction.get(direction)
        if rate is not None:
            place = (platform.name, settings.ranks, settings.files, direction)
            yield Bar(*place, rate.value, rate.low, rate.high, predicted=True)
