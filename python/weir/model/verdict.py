"""Compares what was measured with the expectation that was made before the run.

The measured median and its interval are compared with the interval of the expectation. *as
expected*: the median lies in it. *not decided: repeat ...*: only the measured interval reaches into
it, so that a wide scatter never leads to a good verdict, where one repetition counts as if its
scatter were a factor of two (``weir.analysis.yardstick.likely_range``); or the median lies in an
interval so wide that no measurement could have missed it (``WIDEST``); or it lies below what was
calibrated and not below what the components allow, so that one of the two is wrong. *below: look at
...*: the whole measured interval lies below the expected one, and the clause names the limiting
stage or what the run's own evidence suggests. *above: the model or the measurement is wrong*: the
measured interval lies above; no component can be faster than itself, so such a rate is not good
news until it is explained (Uselton, section 1).

A good verdict names what it is based on, because a calibration is made on the run's own storage.
The second opinion is what the components allow (``weir.bench.second_opinion``): *as calibrated* is
a median within the expectation whose whole measured interval lies below what they sustain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weir.analysis.yardstick import (
    ALONE,
    WIDEST,
    extrapolation_text,
    likely_range,
    share_text,
    too_wide,
    yardstick_text,
)
from weir.model.causes import was_busy, why_above, why_below
from weir.model.software_share import software_share
from weir.results.expectations import (
    ActionVerdict,
    Expectation,
    ExpectedAction,
    ExpectedRate,
    RateVerdict,
    Verdict,
)
from weir.results.figures import Figure, figures_of
from weir.results.quantities import range_text
from weir.results.record import WORST_FIRST, Quantity, VerdictWord
from weir.results.schema import Rate, Run
from weir.results.series import Expected, Judged, Series, Unit
from weir.results.served_by import served_by

MEASURED_BY: dict[Unit, str] = {"bytes/s": "calibrated", "1/s": "probed"}


def verdict(run: Run, siblings: Sequence[Run] = ()) -> Verdict:
    """Judges every figure with an expectation, and says where a headline rate has none.

    Siblings, the runs of the same job, only refine the clause after *below*: their rates show which
    layer is slow.
    """
    rates: list[RateVerdict] = []
    actions: list[ActionVerdict] = []
    for figure in figures_of(run):
        expected, measured = figure.expected, figure.series
        if isinstance(expected, ExpectedRate):
            judged = _judged(run, figure, siblings)
            allowed = expected.a_priori.value if expected.a_priori is not None else None
            judged["a_priori_ratio"] = measured.median / allowed if allowed else None
            rates.append(
                RateVerdict(direction=expected.direction, metric=expected.metric, **judged)
            )
        elif isinstance(expected, ExpectedAction):
            fraction, software = software_share(run, measured.median, expected)
            judged = _judged(run, figure, siblings)
            judged |= {"software_fraction": fraction, "software": software}
            actions.append(ActionVerdict(action=expected.action, **judged))
        elif isinstance(measured, Rate) and measured.headline:
            judged = _judged(run, figure, siblings)
            rates.append(
                RateVerdict(direction=measured.direction, metric=measured.metric, **judged)
            )
    # An action without an expectation does not affect the overall verdict.
    every: list[Judged] = [*rates, *(one for one in actions if one.expected is not None)]
    words = {one.verdict for one in every}
    overall = next((word for word in WORST_FIRST if word in words), "no expectation")
    return Verdict(overall=overall, rates=rates, metadata=actions)


def _judged(run: Run, figure: Figure, siblings: Sequence[Run]) -> dict[str, Any]:
    """Returns the fields that all verdicts have."""
    word, text = _with_second_opinion(figure, *_compared(run, figure, siblings))
    value = figure.expected.value if figure.expected else None
    return {
        "measured": figure.series.median,
        "expected": value,
        "ratio": figure.series.median / value if value else None,
        "verdict": word,
        "text": text,
    }


def _with_second_opinion(figure: Figure, word: VerdictWord, text: str) -> tuple[VerdictWord, str]:
    """Adds what the components allow, and takes back a good verdict far below that."""
    expected, measured = figure.expected, figure.series
    bound = expected.a_priori if isinstance(expected, ExpectedRate) else None
    if bound is None or bound.value is None:
        return word, text
    low, high = likely_range(measured)
    share = share_text(measured.median, bound)
    if too_wide(bound):
        return word, f"{text}; {share}"
    if word == "below" and measured.median >= bound.value:
        return "not decided", (
            "not decided: below what was calibrated just before, but "
            f"{share}: one of the two is wrong, and --platform judges by a probe alone"
        )
    if word == "as expected" and bound.low is not None and high < bound.low:
        found = text.removeprefix("as expected: ")
        return "as calibrated", f"as calibrated, but {share}: {found}"
    if bound.high is not None and low > bound.high:
        share += ", which is more than they can: memory served it, or that source is wrong"
    return word, f"{text}; {share}"


def _compared(run: Run, figure: Figure, siblings: Sequence[Run]) -> tuple[VerdictWord, str]:
    expected, measured = figure.expected, figure.series
    made = expected.quantity if expected is not None else None
    if expected is None or run.expectation is None or made is None:
        if run.expectation is None:
            why = " was made before the run; weir bench makes one"
        else:
            why = f": {expected.how if expected else 'nothing measured beforehand describes it'}"
        return "no expectation", f"no expectation{why}"
    interval = range_text(made.low, made.high, figure.unit)
    low, high = likely_range(measured)
    if high < made.low:
        return "below", f"below: look at {why_below(run, expected, measured, siblings)}"
    if low > made.high:
        return _above(run, run.expectation, expected, measured, interval)
    if not made.low <= measured.median <= made.high:
        return "not decided", f"not decided: {_why_undecided(measured, made, interval)}"
    if made.high > WIDEST * made.low:
        return "not decided", (
            f"not decided: {interval} was expected, which is too wide for a verdict, because "
            "its samples varied: repeat on a quieter machine"
        )
    return "as expected", _as_expected(run, run.expectation, figure, interval)


def _above(
    run: Run, expectation: Expectation, expected: Expected, measured: Series, interval: str
) -> tuple[VerdictWord, str]:
    cause = why_above(run, expected, measured)
    if not cause and expectation.calibration and was_busy(run):
        return "not decided", (
            f"not decided: above {interval}, and the machine was not quiet: other programs may "
            "have slowed the calibration: repeat on a quieter machine"
        )
    how = MEASURED_BY[measured.unit]
    cause = f": {cause}" if cause else f"; {expected.limiting_stage} is faster than {how}"
    return "above", f"above: the model or the measurement is wrong{cause}"


def _why_undecided(measured: Series, made: Quantity, interval: str) -> str:
    side = "below" if measured.median < made.low else "above"
    if len(measured.values) == 1:
        return (
            f"the only repetition is {side} {interval} by less than a factor of {ALONE:g}, and one "
            "alone does not show how much they differ: repeat (--repetitions)"
        )
    return (
        f"the median is {side} {interval}, but its interval reaches into it: "
        "repeat more often (--repetitions) or on a quieter machine"
    )


def _as_expected(run: Run, expectation: Expectation, figure: Figure, interval: str) -> str:
    text = f"as expected: within {interval}, {yardstick_text(expectation)}"
    if figure.expected is not None:
        text += f", limited by {figure.expected.limiting_stage}"
        text += extrapolation_text(figure.expected)
    handed_over = run.outputs is not None and figure.metric == "foreground"
    if figure.direction is None or handed_over:
        return text
    if served_by(run, figure.direction) in ("unknown", None):
        text += "; whether storage was reached is unknown"
    return text
