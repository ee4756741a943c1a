"""Finds the share of an operation's time that is software.

A solid-state disk does far more operations per second than a file system makes use of. If the
device's own rate is known, the time of one device operation is subtracted from the time of one
operation of the file system: the rest is the software's share. This assumes one device operation
per file system operation. In fact a journal combines many into one, and a cache of names needs
none. The device's rate is that for as many concurrent clients as the run has: a device that serves
eight clients at once does not take an eighth of one client's time.
"""

from __future__ import annotations

from weir.analysis.lookup_verdict import judge_look_ups_of
from weir.results.expectations import ExpectedAction
from weir.results.quantities import MIX_PART, significant
from weir.results.schema import Run


def software_share(run: Run, rate: float, expected: ExpectedAction) -> tuple[float | None, str]:
    """Returns the share of an action with this rate, if it is known, and how, or why it is not."""
    result = next(one for one in run.metadata if one.action == expected.action)
    answered = judge_look_ups_of(run, result)
    if answered is not None and answered.answer == "memory":
        return 1.0, f"memory served the operation, not a device: {answered.text}"
    where = run.environment.file_system if run.environment is not None else {}
    if where.get("reach") == "memory":
        return 1.0, f"{where.get('type')} has no device"
    if (expected.action + "/").startswith(MIX_PART):
        return None, "not determined for mixes"
    device = expected.device_per_second
    if not device:
        return None, "the rate of the device alone for this number of clients is unknown"
    own = f"the device itself does {significant(device)} per second for as many clients"
    if rate >= device:
        return None, f"{own}, fewer than these: many share one of its operations, or wait for none"
    return 1 - rate / device, f"{own}, if each takes one of its operations"
