"""Expectation of metadata operations before a run: (plan, parameters, platform) -> rates.

A platform has each operation's rate with one client and with all of them, both in directories of
their own and in one; ``weir.model.clients`` interpolates in between. There is no expectation for
more clients than were probed, or for operations that were not probed.

The time of a mix is the sum of its operations' times, each at its own rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weir.analysis.lookup_verdict import LOOK_UPS
from weir.model.clients import rate_of_clients
from weir.model.flow_of_plan import flag, ranks_by_host
from weir.model.interval import FLOOR
from weir.model.metadata_job import LISTINGS, ON_TREES, MetadataJob
from weir.results.action_records import PlannedAction
from weir.results.expectations import ActionLimit, ExpectedAction
from weir.results.metadata_rates import (
    NAMES_ONLY,
    ItemOperation,
    MetadataRates,
    OperationRates,
    rates_in,
)
from weir.results.platform import Platform
from weir.results.quantities import MIX_PART, percent_text, significant
from weir.results.record import Quantity
from weir.results.schema import Parameter, Plan

PROBED_AS: dict[str, ItemOperation] = {
    "tree-create": "mkdir",
    "mkdir": "mkdir",
    "directory-stat": "stat",
    "rmdir": "rmdir",
    "create": "create",
    "stat": "stat",
    "lstat": "stat",
    "utime": "utime",
    "chmod": "utime",
    "write": "open_close",
    "read": "open_close",
    "rename": "rename",
    "readdir": "readdir",
    "readdir-attributes": "readdir_attributes",
    "unlink": "remove",
    "tree-remove": "rmdir",
}
"""The probed operation that makes the calls of an action, on files without content."""

WITH_CONTENT = ("create", "write", "read", "unlink")
MAKING = ("tree-create", "mkdir", "create")
PLAIN_CALLS = ("posix", "at")
LEAST_OPERATIONS = 100
"""Least number of operations per client; fewer would only show the rate of the first ones."""
NOTABLE = 0.9
"""A further limit counts only if its rate is below this share of the limit before it."""


def expect_actions(
    plan: Plan,
    parameters: Mapping[str, Parameter],
    platform: Platform,
    target: str | None,
) -> list[ExpectedAction]:
    """Returns one expectation per planned action.

    ``target`` is the platform's name of the run's directory.
    """
    rates = rates_in(platform.metadata, target)
    if rates is None:
        why = "the platform has no rates of operations on names: weir platform probe measures them"
        return [_nothing(planned.action, why) for planned in plan.metadata]
    try:
        hosts = len(ranks_by_host(platform, plan.ranks))
    except ValueError as more_ranks:
        return [_nothing(planned.action, str(more_ranks)) for planned in plan.metadata]
    job = MetadataJob(plan, parameters, hosts, rates)
    if any(planned.action.startswith(MIX_PART) for planned in plan.metadata):
        return _of_mix(job)
    return [_of_action(job, planned) for planned in plan.metadata]


def _nothing(action: str, why: str) -> ExpectedAction:
    return ExpectedAction(action=action, value=None, how=why)


def _why_nothing(job: MetadataJob, planned: PlannedAction, clients: int) -> str | None:
    """Returns the first respect in which an action differs from what was probed, or None."""
    action = planned.action.removeprefix(MIX_PART)
    interface = job.text("api", "posix")
    probed = PROBED_AS.get(action)
    # These are the names that result_parameters() of weir-bench gives to --bytes and --read-bytes.
    reads_nothing = action == "read" and job.text("read_bytes_bytes", "") == "0"
    has_content = job.number("bytes_bytes", 0) > 0 and not reads_nothing
    # The operations of a mix act on items that the rank itself has made; those of rank 0 alone
    # also.
    of_others = job.hands_on and action == planned.action and clients > 1
    reasons = {
        f"the probe measures plain calls, but this run uses {interface}": (
            interface not in PLAIN_CALLS
        ),
        "the probe does not measure all ranks on one file": job.sharing == "one-file",
        f"{action} is not probed": probed not in job.rates.operations,
        "the probe measures files without content": action in WITH_CONTENT and has_content,
        "the tree is from an earlier run (--existing), but the probe's files are new": (
            flag(job.parameters, "existing", default=False)
        ),
        "the phase ends with syncfs, which the probe does not measure": flag(
            job.parameters, "sync_phases", default=False
        ),
        "on several hosts a rank looks up names that another host created, which the probe "
        "does not measure": (
            (job.hosts > 1 and (action in LOOK_UPS or probed in NAMES_ONLY))
            or (of_others and action not in (*MAKING, "tree-remove"))
        ),
        f"fewer than {LEAST_OPERATIONS} operations of a rank are too few for a rate": (
            planned.operations < LEAST_OPERATIONS * clients
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _of_action(job: MetadataJob, planned: PlannedAction) -> ExpectedAction:
    clients = job.clients(planned.action)
    why = _why_nothing(job, planned, clients)
    if why is not None:
        return _nothing(planned.action, why)
    probed = PROBED_AS[planned.action.removeprefix(MIX_PART)]
    operation = job.operation(probed)
    apart = rate_of_clients(clients, operation.one_client, operation.all_clients, job.rates.clients)
    together = rate_of_clients(
        clients, operation.one_client, operation.one_directory, job.rates.clients
    )
    alone = clients == 1 or job.sharing == "per-rank" or planned.action in (*ON_TREES, *LISTINGS)
    if apart is None or (not alone and together is None):
        return _nothing(planned.action, _not_so_many(operation, clients, job.rates.clients))
    busiest = job.directories_of_busiest(planned.action)
    # In the worst case the busiest rank is not faster after the others have ended.
    evenness = 1.0 if busiest is None else job.holders / (busiest * clients)
    limits = _limits(job, clients, operation, apart, None if alone else together)
    expected = _widened(_between(job, apart, None if alone else together))
    at = next((limit for limit in limits if limit.limiting), limits[-1])
    device = _device(job.rates, probed).get(clients)
    return ExpectedAction(
        action=planned.action,
        value=expected.value,
        low=expected.low * evenness,
        high=expected.high,
        limiting_stage=at.name,
        limits=limits,
        device_per_second=None if device is None else device.value,
        how="; ".join(
            [
                *_how(job, planned.action, probed, clients, device),
                *([f"one rank lists {busiest} of {job.holders} directories"] if busiest else []),
            ]
        ),
    )


def _not_so_many(operation: OperationRates, clients: int, most: int) -> str:
    if clients > most:
        return f"probed with up to {most} clients, and here are {clients}"
    known = {
        "one client": operation.one_client,
        f"all {most}, each in a separate directory": operation.all_clients,
        f"all {most} in one directory": operation.one_directory,
    }
    told = " and of ".join(name for name, rate in known.items() if rate is not None)
    here = f"here {'is' if clients == 1 else 'are'} {clients}"
    return f"the platform has the rate of {told or 'none'}; {here}"


def _between(job: MetadataJob, apart: Quantity, together: Quantity | None) -> Quantity:
    """Returns the rate; for several directories shared by all ranks it lies between the two."""
    if together is None:
        return apart
    if job.holders == 1:
        return together
    return Quantity(
        value=2 / (1 / apart.value + 1 / together.value)
        if min(apart.value, together.value) > 0
        else 0.0,
        low=min(apart.low, together.low),
        high=max(apart.high, together.high),
    )


def _widened(rate: Quantity) -> Quantity:
    """Widens the interval, because the platform knows no drift between probe and run."""
    return Quantity(
        value=rate.value,
        low=min(rate.low, rate.value * (1 - FLOOR)),
        high=max(rate.high, rate.value * (1 + FLOOR)),
    )


def _limits(
    job: MetadataJob,
    clients: int,
    operation: OperationRates,
    apart: Quantity,
    together: Quantity | None,
) -> list[ActionLimit]:
    """Returns limits from the ranks to what they share, the last notable one marked as limiting."""
    limits = []
    one = operation.one_client
    freely = None
    if one is not None:
        freely = Quantity(value=clients * one.value, low=clients * one.low, high=clients * one.high)
        of = f"{clients} times the rate of one" if clients > 1 else "the rate of one"
        limits.append(_limit("each rank's own calls", freely, of))
    at = f"with {clients} of {job.rates.clients} clients, each in a separate directory"
    if clients > 1:
        limits.append(_limit("file system", apart, at))
    if together is not None:
        where = "all in one directory"
        limits.append(_limit("shared directory", together, f"with {clients} clients, {where}"))
    limiting = limits[0]
    for limit in limits[1:]:
        if limit.rate < NOTABLE * limiting.rate:
            limiting = limit
    return [
        limit.model_copy(update={"limiting": True}) if limit is limiting else limit
        for limit in limits
    ]


def _limit(name: str, rate: Quantity, how: str) -> ActionLimit:
    return ActionLimit(name=name, rate=rate.value, low=rate.low, high=rate.high, how=how)


def _device(rates: MetadataRates, probed: ItemOperation) -> Mapping[int, Quantity]:
    if probed in NAMES_ONLY:
        return rates.device_reads_per_second
    return rates.device_writes_per_second


def _how(
    job: MetadataJob, action: str, probed: ItemOperation, clients: int, device: Quantity | None
) -> list[str]:
    said = [f"probed as {probed}" if probed != action else "probed"]
    if clients == 1 and job.plan.ranks > 1:
        said.append("only one rank works")
    if 1 < clients < job.rates.clients:
        said.append(f"interpolated between 1 and {job.rates.clients} clients")
    if device is not None:
        kind = "reads" if probed in NAMES_ONLY else "writes"
        said.append(f"the device itself does {significant(device.value)} {kind} per second")
    return said


def _of_mix(job: MetadataJob) -> list[ExpectedAction]:
    """Returns the mix, and its operations over the whole mix's time, as they are measured."""
    whole = next(one for one in job.plan.metadata if not one.action.startswith(MIX_PART))
    parts = [one for one in job.plan.metadata if one.action.startswith(MIX_PART)]
    counts = [part.operations for part in parts]
    each = [_of_action(job, part) for part in parts]
    rates = []
    for one in each:
        if one.quantity is None or one.quantity.low <= 0:
            why = f"{one.action}: {one.how if one.value is None else 'its rate may be 0'}"
            return [_nothing(planned.action, why) for planned in job.plan.metadata]
        rates.append(one.quantity)
    seconds = [count / rate.value for count, rate in zip(counts, rates, strict=True)]
    slowest = each[seconds.index(max(seconds))]
    name = slowest.action.removeprefix(MIX_PART)
    how = "its operations follow one another, each at its rate"

    def share(action: str, count: int) -> ExpectedAction:
        part = count / sum(counts)
        return ExpectedAction(
            action=action,
            value=_mixed(counts, [rate.value for rate in rates]) * part,
            low=_mixed(counts, [rate.low for rate in rates]) * part,
            high=_mixed(counts, [rate.high for rate in rates]) * part,
            limiting_stage=f"{name}: {slowest.limiting_stage}",
            how=how if part == 1 else f"{percent_text(part)} of the mix; {how}",
        )

    return [
        share(whole.action, sum(counts)),
        *(share(part.action, part.operations) for part in parts),
    ]


def _mixed(counts: Sequence[int], rates: Sequence[float]) -> float:
    return sum(counts) / sum(count / rate for count, rate in zip(counts, rates, strict=True))
