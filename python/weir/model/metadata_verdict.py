"""Compares rates of metadata operations with their expectation, and finds the software's share.

A solid-state disk does far more operations per second than a file system makes use of. If the
device's own rate is known, the time of one device operation is subtracted from the time of one
operation of the file system: the rest is the software's share. This assumes one device operation
per file system operation. In fact a journal combines many into one, and a cache of names needs
none. The device's rate is that for as many concurrent clients as the run has: a device that serves
eight clients at once does not take an eighth of one client's time.
"""

from __future__ import annotations

from weir.analysis.lookup_verdict import judge_look_ups_of
from weir.results.action_expectations import ActionVerdict, ExpectedAction
from weir.results.action_records import ActionResult, OperationRate
from weir.results.quantities import MIX_PART, significant
from weir.results.record import VerdictWord
from weir.results.schema import Run


def judge_actions(run: Run) -> list[ActionVerdict]:
    """Returns one verdict for each action, if an expectation was made before the run."""
    if run.expectation is None or not run.expectation.metadata:
        return []
    expected = {one.action: one for one in run.expectation.metadata}
    return [
        _judge(run, result, expected[result.action])
        for result in run.metadata
        if result.action in expected
    ]


def _judge(run: Run, result: ActionResult, expected: ExpectedAction) -> ActionVerdict:
    measured = next(rate for rate in result.rates if rate.headline)
    word, text = _compared(run, measured, expected)
    fraction, software = _software(run, result, measured, expected)
    value = expected.expected_per_second
    return ActionVerdict(
        action=result.action,
        measured_per_second=measured.median_per_second,
        expected_per_second=value,
        ratio=measured.median_per_second / value if value else None,
        verdict=word,
        text=text,
        software_fraction=fraction,
        software=software,
    )


def _compared(
    run: Run, measured: OperationRate, expected: ExpectedAction
) -> tuple[VerdictWord, str]:
    low, high = expected.low_per_second, expected.high_per_second
    if not expected.expected_per_second or low is None or high is None:
        return "no expectation", f"no expectation: {expected.how}"
    limit = expected.limiting_stage
    if measured.high_per_second < low:
        busy = run.environment is not None and not run.environment.quiet.quiet
        also = ", or at the machine, which was not quiet" if busy else ""
        return "below", f"below: look at {limit}{also}"
    if measured.low_per_second > high:
        text = f"above: the model or the measurement is wrong; {limit} is faster than probed"
        return "above", text
    interval = f"{significant(low)}/s to {significant(high)}/s"
    if not low <= measured.median_per_second <= high:
        side = "below" if measured.median_per_second < low else "above"
        return "not decided", not_decided(side, interval)
    return "as expected", f"as expected: within {interval}, limited by {limit}"


def not_decided(side: str, interval: str) -> str:
    """Returns the verdict if the median lies outside and only its interval reaches in."""
    return (
        f"not decided: the median is {side} {interval}, and its interval reaches into it; repeat "
        "more often (--repetitions) or on a quieter machine"
    )


def _software(
    run: Run, result: ActionResult, measured: OperationRate, expected: ExpectedAction
) -> tuple[float | None, str]:
    answered = judge_look_ups_of(run, result)
    if answered is not None and answered.answer == "memory":
        return 1.0, f"memory answered, and no device: {answered.text}"
    where = run.environment.file_system if run.environment is not None else {}
    if where.get("reach") == "memory":
        return 1.0, f"{where.get('type')} has no device"
    if (result.action + "/").startswith(MIX_PART):
        return None, "not worked out for mixes"
    device = expected.device_per_second
    rate = measured.median_per_second
    if not device:
        return None, "what the device does by itself for as many clients is not known"
    own = f"the device itself does {significant(device)} per second for as many clients"
    if rate >= device:
        return None, f"{own}, fewer than these: many share one of its operations, or wait for none"
    return 1 - rate / device, f"{own}, if each takes one of its operations"
