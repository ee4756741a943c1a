"""What results say about the findings of a study: found, not found, or cannot be decided.

A finding about a ratio is judged by an interval for the median of ratios of pairs: of rates that
were measured close to each other. If the ratio does not have what the finding says, an interval
that covers 95 % calls it found, and the other way round, in no more than one of twenty judgements.
Where fewer pairs give less coverage nothing is decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from weir.results.quantities import percent_text
from weir.results.statistics import MedianInterval, median_interval

FOUND, NOT_FOUND, UNDECIDED = "found", "not found", "cannot be decided"
WORDS = {True: FOUND, False: NOT_FOUND, None: UNDECIDED}
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Judgement:
    """One finding of a study and its judgement."""

    where: str
    """The section, figure or table of the study."""
    finding: str
    holds: bool | None
    figures: str
    """The figures on which the judgement is based, or why there is none."""
    rule: str = ""
    fitted: bool = False
    """A constant was fitted to the finding, which therefore is no evidence."""

    @property
    def word(self) -> str:
        return f"{WORDS[self.holds]}, fitted" if self.fitted else WORDS[self.holds]

    def row(self) -> str:
        """Returns a row of a table in Markdown."""
        return f"| {self.where} | {self.finding} | {self.word} | {self.figures} |"


def table(judgements: Iterable[Judgement], where: str, figures: str) -> str:
    """Returns a table in Markdown; ``where`` and ``figures`` head the first and last column."""
    head = f"| {where} | finding | here | {figures} |\n|---|---|---|---|"
    return "\n".join([head, *(one.row() for one in judgements)])


@dataclass(frozen=True)
class Ratio:
    """The median of the ratios of pairs, with its interval."""

    interval: MedianInterval
    pairs: int

    @property
    def decides(self) -> bool:
        return self.interval.confidence >= CONFIDENCE

    def text(self) -> str:
        median, low, high, confidence = self.interval
        number = f"{self.pairs} pair{'' if self.pairs == 1 else 's'}"
        return f"{median:.2f} [{low:.2f}, {high:.2f}] of {number} ({percent_text(confidence)})"

    def is_within(self, low: float, high: float) -> bool | None:
        """Returns whether the ratio is from ``low`` to ``high``; None if it cannot be decided."""
        if not self.decides:
            return None
        if low <= self.interval.low and self.interval.high <= high:
            return True
        return False if self.interval.high < low or self.interval.low > high else None

    def is_at_least(self, least: float) -> bool | None:
        """Returns whether the ratio is at least that; None if it cannot be decided."""
        return self.is_within(least, float("inf"))


def ratio_of(pairs: Sequence[tuple[float, float]]) -> Ratio | None:
    """Returns the ratio of the first values of pairs to the second ones; None without a pair."""
    ratios = [one / other for one, other in pairs if other > 0]
    return Ratio(median_interval(ratios), len(ratios)) if ratios else None
