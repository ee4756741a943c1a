"""Compares measured rates with the expectation that was made before the run.

The measured median and its interval are compared with the interval of the expectation. *as
expected*: the median lies in it. *not decided: repeat ...*: only the measured interval reaches into
it, so that a wide scatter never leads to a good verdict; or the median lies in an interval so wide
that no measurement could have missed it (``WIDEST``). *below: look at ...*: the whole measured
interval lies below the expected one, and the clause names the limiting stage or what the run's own
evidence suggests. *above: the model or the measurement is wrong*: the measured interval lies above;
no component can be faster than itself, so such a rate is not good news until it is explained
(Uselton, section 1). A good verdict names what it is based on, because a calibration is made on the
run's own storage.
"""

from __future__ import annotations

from collections.abc import Sequence

from weir.analysis.yardstick import yardstick_text
from weir.model.causes import why_above, why_below
from weir.model.metadata_verdict import judge_actions, not_decided
from weir.results.quantities import range_text
from weir.results.record import WORST_FIRST, VerdictWord
from weir.results.schema import ExpectedRate, Rate, RateVerdict, Run, Verdict
from weir.results.served_by import served_by

WIDEST = 4.0
"""An expected interval whose upper end is more than this many times its lower end is useless."""


def verdict(run: Run, siblings: Sequence[Run] = ()) -> Verdict:
    """Judges every headline rate of a run; ``siblings`` are the runs of the same job.

    Siblings only refine the clause after *below*: their rates show which layer is slow.
    """
    expected = {
        (rate.direction, rate.metric): rate
        for rate in (run.expectation.rates if run.expectation else [])
    }
    judged = []
    for rate in run.rates:
        before = expected.get((rate.direction, rate.metric))
        if before is not None:
            judged.append(_judge(run, before, rate, siblings))
        elif rate.headline:
            judged.append(_without_expectation(rate))
    actions = judge_actions(run)
    words = {rate.verdict for rate in judged}
    # An action without an expectation does not affect the overall verdict.
    words |= {one.verdict for one in actions if one.expected_per_second is not None}
    overall = next((word for word in WORST_FIRST if word in words), "no expectation")
    return Verdict(overall=overall, rates=judged, metadata=actions)


def _judge(
    run: Run, expected: ExpectedRate, measured: Rate, siblings: Sequence[Run]
) -> RateVerdict:
    median = measured.median_bytes_per_second
    word: VerdictWord
    if measured.high_bytes_per_second < expected.low_bytes_per_second:
        word = "below"
        text = f"below: look at {why_below(run, expected, measured, siblings)}"
    elif measured.low_bytes_per_second > expected.high_bytes_per_second:
        word = "above"
        cause = why_above(run, expected, measured)
        text = "above: the model or the measurement is wrong"
        text += f": {cause}" if cause else f"; {expected.limiting_stage} is faster than calibrated"
    elif not expected.low_bytes_per_second <= median <= expected.high_bytes_per_second:
        word = "not decided"
        text = not_decided(
            "below" if median < expected.low_bytes_per_second else "above",
            range_text(expected.low_bytes_per_second, expected.high_bytes_per_second),
        )
    elif expected.high_bytes_per_second > WIDEST * expected.low_bytes_per_second:
        word = "not decided"
        low, high = expected.low_bytes_per_second, expected.high_bytes_per_second
        text = (
            f"not decided: {range_text(low, high)} was expected, too wide to tell, as the figures "
            "it is made from varied; repeat on a quieter machine"
        )
    else:
        word = "as expected"
        assert run.expectation is not None
        by = yardstick_text(run.expectation)
        low, high = expected.low_bytes_per_second, expected.high_bytes_per_second
        text = f"as expected: within {range_text(low, high)}, {by}"
        text += f", limited by {expected.limiting_stage}"
        if served_by(run, expected.direction) in ("unknown", None):
            text += "; whether storage was reached is unknown"
    return RateVerdict(
        direction=expected.direction,
        metric=expected.metric,
        measured_bytes_per_second=median,
        expected_bytes_per_second=expected.expected_bytes_per_second,
        ratio=median / expected.expected_bytes_per_second,
        verdict=word,
        text=text,
    )


def _without_expectation(measured: Rate) -> RateVerdict:
    return RateVerdict(
        direction=measured.direction,
        metric=measured.metric,
        measured_bytes_per_second=measured.median_bytes_per_second,
        expected_bytes_per_second=None,
        ratio=None,
        verdict="no expectation",
        text="no expectation was made before the run: weir bench makes one",
    )
