"""What is known of every rate over all combinations of the levels, and the next step from there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from weir.analysis.campaign_summary import level_text
from weir.follow_up.line import Line, Place, lines_of
from weir.follow_up.points import Measured
from weir.follow_up.proposal import Proposal
from weir.follow_up.propose import MOST_COMBINATIONS, Refuses, propose
from weir.results.campaign import CampaignFactor, Value
from weir.results.record import Quantity

TESTS_PER_FACTOR = 2
"""Tests of the first design, besides one, for each factor with numbers as levels."""
LEAST_FIRST = 4
AGAIN = 2
"""Further runs of one test of the first design, from which the scatter of a run is known."""


@dataclass(frozen=True)
class Known:
    """How well a rate is known over the combinations of the levels."""

    line: str
    held_out: float | None
    """Median relative error of points that were left out; None if there are too few."""
    widest: float
    """Largest share by which a rate may exceed its prediction, at 95 %."""
    at: Place
    """The combination where it is so."""
    fastest: tuple[Place, Quantity]
    slowest: tuple[Place, Quantity]

    def within(self, share: float) -> bool:
        """Returns whether held-out points and all intervals are as close as a share."""
        return self.widest <= share and self.held_out is not None and self.held_out <= share


def all_places(factors: Sequence[CampaignFactor]) -> list[dict[str, Value]]:
    """Returns all combinations of the levels; raises ``ValueError`` if they are too many."""
    count = math.prod(len(one.levels) for one in factors)
    if count > MOST_COMBINATIONS:
        raise ValueError(
            f"the factors have {count} combinations, and at most {MOST_COMBINATIONS} are "
            "explored: give fewer levels"
        )
    return [
        {
            name: value
            for factor, row in zip(factors, rows, strict=True)
            for name, value in zip(factor.names, row, strict=True)
        }
        for rows in itertools.product(*(one.levels for one in factors))
    ]


def first_tests(numbers: int, words: int, combinations: int) -> int:
    """Returns the size of the first design, of factors of numbers and combinations of words.

    Each combination of words has models of its own. At most half of all combinations are taken.
    """
    each = max(LEAST_FIRST, 1 + TESTS_PER_FACTOR * numbers)
    return max(1, min(each * words, combinations // 2))


def middle_of(factors: Sequence[CampaignFactor], places: Sequence[Place]) -> int:
    """Returns which of some combinations is closest to the middle of all levels."""

    def away(place: Place) -> float:
        total = 0.0
        for factor in factors:
            last = len(factor.levels) - 1
            row = [place[name] for name in factor.names]
            total += (factor.levels.index(row) / last - 0.5) ** 2 if last else 0.0
        return total

    return min(range(len(places)), key=lambda one: away(places[one]))


def known_of(measured: Measured, places: Sequence[Place]) -> list[Known]:
    """Returns what is known of each rate over the given combinations."""
    found = []
    for (name, words), line in lines_of(measured, 1).items():
        own = [place for place in places if all(place[key] == value for key, value in words)]
        if not own:
            continue
        rates = [(place, line.known(place)) for place in own]
        at, widest = max(rates, key=lambda one: one[1].high / one[1].value)
        found.append(
            Known(
                line=" ".join([name, *(f"{key}={value}" for key, value in words)]),
                held_out=line.surface.held_out_median,
                widest=widest.high / widest.value - 1,
                at=at,
                fastest=max(rates, key=lambda one: one[1].value),
                slowest=min(rates, key=lambda one: one[1].value),
            )
        )
    return found


def predictions(measured: Measured, place: Place) -> dict[str, Quantity]:
    """Returns each rate at a place as it is predicted, by the name of the rate."""
    return {name: line.known(place) for name, line in _lines_at(measured, place)}


def expected_at(measured: Measured, place: Place, runs: int) -> dict[str, Quantity]:
    """Returns what a test should measure, with the scatter of its runs, by the name of the rate."""
    return {name: line.expected(place) for name, line in _lines_at(measured, place, runs)}


def _lines_at(measured: Measured, place: Place, runs: int = 1) -> Iterator[tuple[str, Line]]:
    for (name, words), line in lines_of(measured, runs).items():
        if all(place[key] == value for key, value in words):
            yield name, line


def next_step(
    measured: Measured, seconds: float, *, runs: int, refuses: Refuses
) -> Proposal | None:
    """Returns the test at the factors' own levels that teaches most for each second.

    It is the choice of ``propose``, without a first test for each goal. A rate with too few points
    to hold one out gets another point before a repetition, if there is one left.
    """
    levels = [(one.names, {tuple(row) for row in one.levels}) for one in measured.factors]

    def outside(place: Mapping[str, Value]) -> str | None:
        if all(tuple(place[name] for name in names) in rows for names, rows in levels):
            return refuses(place)
        return "it is not one of the levels"

    few = [
        words
        for (_, words), line in lines_of(measured, runs).items()
        if line.surface.held_out_median is None
    ]
    tested = [dict(one.settings) for one in measured.points]

    def again(place: Mapping[str, Value]) -> str | None:
        if dict(place) in tested and any(set(words) <= set(place.items()) for words in few):
            return "other points come first"
        return outside(place)

    for refuse in (again, outside) if few else (outside,):
        found = propose(measured, seconds, runs=runs, refuses=refuse, most=1, each_goal=False)
        if found:
            return found[0]
    return None


def place_text(place: Place) -> str:
    """Returns a combination in words: ``ranks=4, transfer=64.0 KiB``."""
    return ", ".join(f"{name}={level_text(name, value)}" for name, value in place.items())
