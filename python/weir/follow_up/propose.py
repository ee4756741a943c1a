"""Proposes tests from points: where an interpolation, an extrapolation or a doubt teaches most.

Every rate of the same configuration and direction is a line, modelled by a surface over its factors
(``surface``). Where a line has a law as well (``weir.model.curves``: the paper's forms over tasks,
transfer or buffer) and both predict held-out points, they are two models. Candidates are

    between two measured levels       goal: confirm an interpolation; or, where both models fit and
                                      disagree by more than a test's noise: refined method
    a combination left out            goal: confirm an interpolation
    beyond the outermost level        goal: new region
    a measured point                  goal: confirm, by repetition

The next test is the one with most bits per second, summed over the lines that it measures; then the
models are as sure as its result would make them, and the next but one is chosen. Each goal that has
a candidate gets one test first, if the time allows. Nothing is drawn at random.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from weir.analysis.campaign_summary import level_text
from weir.follow_up.levels import Row, between, beyond, is_numeric, ordered
from weir.follow_up.line import Line, Place, lines_of, word_names
from weir.follow_up.points import Measured
from weir.follow_up.proposal import Proposal, information_bits, undecided_bits
from weir.follow_up.surface import Predicted, Surface
from weir.model.curves import Curve
from weir.results.campaign import CampaignFactor, Value
from weir.results.purpose import ExpectedResult, Goal
from weir.results.quantities import percent_text, range_text, rate_text, significant
from weir.results.record import Quantity

MOST_POINTS = 600
MOST_PROPOSALS = 40
MOST_COMBINATIONS = 2000
"""Combinations of levels among which those that were left out are looked for."""
FITS = 0.20
"""Held-out median error up to which a model counts as fitting (``weir.model.choice``)."""
WORTH_DECIDING = 0.15
"""Bits below which two models agree."""
COST_NOISE = 0.2

Refuses = Callable[[Place], str | None]
"""Says why a test cannot be run, or None."""


@dataclass(frozen=True)
class Candidate:
    """A test that could be run, and where it lies."""

    place: Place
    kind: str
    """``between``, ``left out``, ``beyond`` or ``repeat``."""
    words: str
    """Where it lies in words, such as ``between ranks = 4 and 8``."""


def propose(
    measured: Measured,
    budget: float,
    *,
    runs: int = 3,
    refuses: Refuses = lambda _: None,
    most: int = MOST_PROPOSALS,
    each_goal: bool = True,
) -> list[Proposal]:
    """Returns the tests for ``budget`` seconds; ``runs`` runs of each test.

    With ``each_goal`` each goal gets one test first, else what a test teaches decides alone.
    Raises ``ValueError`` if there is nothing to propose from.
    """
    if not measured.points:
        raise ValueError("no complete run has a rate")
    if len(measured.points) > MOST_POINTS:
        raise ValueError(
            f"{len(measured.points)} points are more than {MOST_POINTS}: give fewer runs"
        )
    return _Search(measured, runs).choose(budget, refuses, most, each_goal=each_goal)


@dataclass(frozen=True)
class _Valued:
    """A candidate with what its result would teach about one line, and in which way."""

    line: Line
    place: Place
    predicted: Predicted
    bits: float
    deciding: float
    law: tuple[float, Curve] | None
    doubt: float

    @property
    def total(self) -> float:
        return self.bits + self.deciding + self.doubt


class _Search:
    """The choice of several tests, one after the other."""

    def __init__(self, measured: Measured, runs: int) -> None:
        self.measured = measured
        self.runs = runs
        self.words = word_names(measured)
        self.lines = lines_of(measured, runs)
        self.costs = self._cost_model()

    def choose(
        self, budget: float, refuses: Refuses, most: int, *, each_goal: bool
    ) -> list[Proposal]:
        candidates = list(self._candidates())
        chosen: list[Proposal] = []
        left = budget
        wanted: list[Goal | None] = [*get_args(Goal)] if each_goal else []
        while len(chosen) < most:
            goal = wanted.pop(0) if wanted else None
            ranked = sorted(
                (self._proposal(one) for one in candidates),
                key=lambda one: (-one.bits_per_second, one.seconds, str(one.settings)),
            )
            taken = self._first(ranked, goal, left, refuses)
            if taken is None:
                if goal is None:
                    break
                continue
            chosen.append(taken)
            left -= taken.seconds
            candidates = [one for one in candidates if one.place != taken.settings]
            for line in self._lines_at(taken.settings):
                line.learn(taken.settings)
        return chosen

    @staticmethod
    def _first(
        ranked: Sequence[Proposal], goal: Goal | None, left: float, refuses: Refuses
    ) -> Proposal | None:
        for one in ranked:
            suits = one.seconds <= left and one.bits > 0 and goal in (None, one.goal)
            if suits and refuses(one.settings) is None:
                return one
        return None

    def _words(self, place: Place) -> tuple[tuple[str, Value], ...]:
        return tuple((name, place[name]) for name in self.words)

    def _lines_at(self, place: Place) -> list[Line]:
        words = self._words(place)
        return [line for (_, of), line in self.lines.items() if of == words]

    def _cost_model(self) -> Surface:
        some = next(iter(self.lines.values()))
        points = np.array([some.coordinates(one.settings) for one in self.measured.points])
        logs = np.array([math.log(one.seconds) for one in self.measured.points])
        return Surface(points.reshape(len(logs), -1), logs, np.full(len(logs), COST_NOISE**2))

    def _seconds(self, place: Place) -> float:
        """Returns the time of all runs of a test: of the same runs before, else of their trend."""
        same = [one.seconds for one in self.measured.points if one.settings == place]
        some = next(iter(self.lines.values()))
        if same:
            return self.runs * statistics.median(same)
        return self.runs * max(1.0, math.exp(self.costs.at(some.coordinates(place)).mean))

    # ---- candidates ----

    def _candidates(self) -> Iterator[Candidate]:
        places = list(dict.fromkeys(tuple(one.settings.items()) for one in self.measured.points))
        known = {tuple(sorted(place, key=lambda pair: pair[0])) for place in places}
        for place in places:
            yield Candidate(dict(place), "repeat", _place_text(dict(place)))
        made: dict[tuple[tuple[str, Value], ...], Candidate] = {}
        for candidate in itertools.chain(self._left_out(), self._new(places)):
            key = tuple(sorted(candidate.place.items(), key=lambda pair: pair[0]))
            if key not in known:
                made.setdefault(key, candidate)
        yield from made.values()

    def _left_out(self) -> Iterator[Candidate]:
        """Yields combinations of measured levels; of words only those that were measured."""
        factors = self.measured.factors
        if len(factors) < 2 or math.prod(len(one.levels) for one in factors) > MOST_COMBINATIONS:
            return
        words = {self._words(one.settings) for one in self.measured.points}
        for rows in itertools.product(*(one.levels for one in factors)):
            place: dict[str, Value] = {}
            for factor, row in zip(factors, rows, strict=True):
                place.update(zip(factor.names, row, strict=True))
            if self._words(place) not in words:
                continue
            if all(line.spans(place) for line in self._lines_at(place)):
                yield Candidate(place, "left out", f"at {_place_text(place)}, which was left out")
            else:
                yield Candidate(place, "beyond", f"at {_place_text(place)}, outside of all tests,")

    def _new(self, places: Sequence[tuple[tuple[str, Value], ...]]) -> Iterator[Candidate]:
        for factor in self.measured.factors:
            if not is_numeric(factor):
                continue
            levels = ordered(factor)
            for pairs in places:
                place = dict(pairs)
                yield from self._around(factor, levels, place)

    def _around(
        self, factor: CampaignFactor, levels: list[Row], place: dict[str, Value]
    ) -> Iterator[Candidate]:
        own = tuple(place[name] for name in factor.names)
        at = levels.index(own)
        name = factor.names[0]

        def moved(row: Row, kind: str, words: str) -> Candidate:
            return Candidate({**place, **dict(zip(factor.names, row, strict=True))}, kind, words)

        if at + 1 < len(levels):
            middle = between(own, levels[at + 1])
            if middle is not None:
                low, high = (level_text(name, row[0]) for row in (own, levels[at + 1]))
                text = f"between {name} = {low} and {high}"
                yield moved(middle, "between", text)
        ends = dict.fromkeys(level_text(name, row[0]) for row in (levels[0], levels[-1]))
        span = " to ".join(ends)
        text = f"outside of {name} = {span}"
        if at == len(levels) - 1:
            inner = levels[at - 1] if at else tuple(_half(value) for value in own)
            further = beyond(inner, own)
            if further is not None:
                yield moved(further, "beyond", text)
        if at == 0 and len(levels) > 1:
            further = beyond(levels[1], own)
            if further is not None:
                yield moved(further, "beyond", text)

    # ---- worth ----

    def _proposal(self, candidate: Candidate) -> Proposal:
        valued = [self._valued(line, candidate) for line in self._lines_at(candidate.place)]
        most = max(valued, key=lambda one: one.total)
        goal = _goal(candidate, most)
        follows = dict.fromkeys(run for one in most.line.points for run in one.runs)
        return Proposal(
            settings=dict(candidate.place),
            goal=goal,
            motivation=_motivation(candidate, most, goal),
            expects="; ".join(_expects(one) for one in valued),
            expected=tuple(_as_result(one) for one in _one_by_direction(valued)),
            decides=_decides(candidate, most, goal),
            seconds=self._seconds(candidate.place),
            bits=sum(one.total for one in valued),
            follows=tuple(follows),
        )

    def _valued(self, line: Line, candidate: Candidate) -> _Valued:
        predicted = line.predicted(candidate.place)
        bits = information_bits(predicted.deviation, line.noise)
        doubt = deciding = 0.0
        law = None
        point = line.at(candidate.place)
        if point is not None:
            expected = point.expected
            if point.undecided and expected is not None and expected.low > 0:
                doubt = undecided_bits(
                    math.log(point.median),
                    predicted.deviation,
                    line.noise,
                    math.log(expected.low),
                    math.log(expected.high),
                )
        else:
            law = line.law_at(candidate.place)
            fits = line.surface.held_out_median
            if law is not None and fits is not None and fits <= FITS:
                half = abs(law[0] - predicted.mean) / 2
                deciding = information_bits(half, math.hypot(line.noise, predicted.deviation))
            else:
                law = None
        return _Valued(line, candidate.place, predicted, bits, deciding, law, doubt)


def _half(value: Value) -> Value:
    assert isinstance(value, int | float)
    return value / 2 if isinstance(value, float) else max(1, value // 2)


def _goal(candidate: Candidate, most: _Valued) -> Goal:
    if candidate.kind == "repeat":
        return "confirm"
    if most.deciding >= WORTH_DECIDING:
        return "refined method"
    return "new region" if candidate.kind == "beyond" else "confirm"


def _one_by_direction(valued: Sequence[_Valued]) -> list[_Valued]:
    """Returns the lines whose direction no other line of the test has.

    Several configurations of one job have several rates; the words of ``expects`` name each.
    """
    directions = [one.line.direction for one in valued]
    return [one for one in valued if directions.count(one.line.direction) == 1]


def _interval(one: _Valued) -> Quantity:
    """Returns the expected rate, with an interval that includes what a second model says."""
    made = one.line.expected(one.place)
    if one.law is None:
        return made
    rate = math.exp(one.law[0])
    return Quantity(value=made.value, low=min(made.low, rate), high=max(made.high, rate))


def _as_result(one: _Valued) -> ExpectedResult:
    made = _interval(one)
    return ExpectedResult(
        direction=one.line.direction,
        bytes_per_second=made.value,
        low_bytes_per_second=made.low,
        high_bytes_per_second=made.high,
    )


def _expects(one: _Valued) -> str:
    made = _interval(one)
    return f"{one.line.name} {rate_text(made.value)} ({range_text(made.low, made.high)})"


def _motivation(candidate: Candidate, most: _Valued, goal: Goal) -> str:
    line, made = most.line, _interval(most)
    wide = significant(made.high / made.low, 2)
    if candidate.kind == "repeat":
        return _doubt_text(line, candidate, most)
    error = line.surface.held_out_median
    off = f"; points that it had not seen were off by {percent_text(error)}" if error else ""
    if goal == "refined method" and most.law is not None:
        law_log, law = most.law
        return (
            f"{candidate.words}, two models of {line.name} that both fit disagree: interpolation "
            f"says {rate_text(made.value)} (held-out error {percent_text(error or 0)}), the law "
            f"'{law.form}' {rate_text(math.exp(law_log))} "
            f"(held-out error {percent_text(law.fit.held_out_median_error)})"
        )
    if candidate.kind == "beyond":
        return (
            f"{candidate.words} nothing was measured: {line.name} is extrapolated with a factor of "
            f"{wide} between the ends of its interval{off}"
        )
    return (
        f"{candidate.words}, {line.name} is only interpolated, with a factor of {wide} between "
        f"the ends of its interval{off}"
    )


def _doubt_text(line: Line, candidate: Candidate, most: _Valued) -> str:
    point = line.at(candidate.place)
    if point is None:
        return f"{candidate.words}: {line.name} was not measured there"
    scatter = max(point.values) / min(point.values) - 1 if min(point.values) > 0 else 0.0
    many = len(point.values)
    said = (
        f"at {candidate.words}, {line.name} was measured once"
        if many == 1
        else f"at {candidate.words}, {many} values of {line.name} differ by {percent_text(scatter)}"
        f" ({range_text(min(point.values), max(point.values))})"
    )
    if most.doubt > 0 and point.expected is not None:
        all_of_them = len(point.verdicts)
        which = (
            "its verdict is"
            if all_of_them == 1
            else f"{point.undecided} of {all_of_them} verdicts are"
        )
        expected = range_text(point.expected.low, point.expected.high)
        said += f"; {which} not decided against the expected {expected}"
    return said


def _decides(candidate: Candidate, most: _Valued, goal: Goal) -> str:
    made, name = _interval(most), most.line.name
    limits = range_text(made.low, made.high)
    if candidate.kind == "repeat":
        if most.doubt > 0 and (point := most.line.at(candidate.place)) and point.expected:
            return f"whether {name} is below, in or above what was expected of it there"
        return f"whether the scatter of {name} is chance, or a second mode: a rate outside {limits}"
    if goal == "refined method" and most.law is not None:
        law_log, law = most.law
        cut = math.exp((law_log + most.predicted.mean) / 2)
        side = "above" if law_log > most.predicted.mean else "below"
        return f"{name} {side} {rate_text(cut)} speaks for the law '{law.form}', else against it"
    if candidate.kind == "beyond":
        return f"inside {limits} the trend of {name} goes on; outside, something else limits there"
    return (
        f"inside {limits} interpolation of {name} holds there; outside, there is a step or a peak "
        "between the levels"
    )


def _place_text(place: Place) -> str:
    return ", ".join(f"{name} = {level_text(name, value)}" for name, value in place.items())
