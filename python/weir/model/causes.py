"""Finds the likely cause when a rate misses its expectation, by the evidence in the run itself.

Each function returns one clause for the verdict, or None without evidence. They are called in the
order in which their causes would mislead: first doubts about the measurement, then a single slow
rank, then doubts about the calibration, then the layer in which this run differs from a faster
sibling, then the path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from weir.analysis.stragglers import STRAGGLER_FACTOR, far_above_the_others
from weir.model.staged_expectation import CALLS_ON_FILES, CALLS_ON_MESSAGES, TO_STAGERS
from weir.results.expectations import Direction, ExpectedRate
from weir.results.quantities import percent_text, rate_text, seconds_text, size_text
from weir.results.schema import NodePhase, Phase, Rate, Run
from weir.results.series import Expected, Series
from weir.results.served_by import served_by

CACHES = ("page cache read", "page cache write")
STORAGE_READ = "storage read"
LINKS = ("node link", TO_STAGERS)

LAYERS = {
    "mpi": "the MPI-IO layer",
    "mpiio": "the MPI-IO layer",
    "hdf5": "the HDF5 layer",
    "pnetcdf": "the PnetCDF layer",
    "weir": "the layer of Weir's library",
}
"""Names of interfaces above system calls, by the part of the interface's name before a hyphen."""


OVERLAP_FACTOR = 1.5
"""Transfers count as hidden up to this many times the share that cannot be hidden."""


def limiting_stage_name(expected: ExpectedRate) -> str:
    """Returns the limiting stage, also if the expectation names a unit of it or its fixed cost."""
    marked = (stage.name for stage in expected.stages if stage.limiting)
    return next(marked, expected.limiting_stage)


def was_busy(run: Run) -> bool:
    """Returns whether other programs used the machine, as far as the run knows."""
    return run.environment is not None and not run.environment.quiet.quiet


def why_below(run: Run, expected: Expected, measured: Series, siblings: Sequence[Run]) -> str:
    """Returns what to examine when a figure is below its interval."""
    limit = expected.limiting_stage
    limit += ", or at the machine, which was not quiet" if was_busy(run) else ""
    if not isinstance(expected, ExpectedRate):
        return limit
    told = [
        _doubtful_clocks(run, expected, measured),
        _slow_target(run, expected),
        _slow_rank(run, expected, measured),
        _slow_host(run, expected),
        _calibrated_from_memory(run, expected),
        _opening_files(run, expected),
        _slower_layer(run, expected, measured, siblings),
        _cold_pages(run, expected),
        _not_hidden(run, expected),
    ]
    return next((clause for clause in told if clause), limit)


def why_above(run: Run, expected: Expected, measured: Series) -> str | None:
    """Returns the likely cause of a rate above its interval, or None if the run has no evidence."""
    if not isinstance(expected, ExpectedRate):
        return None
    told = [
        _doubtful_clocks(run, expected, measured),
        _served_from_memory(run, expected),
        _compressed(run),
    ]
    return next((clause for clause in told if clause), None)


def _measured(run: Run, direction: Direction) -> list[Phase]:
    return [
        phase
        for repetition in run.repetitions
        if not repetition.warmup
        for phase in repetition.phases
        if phase.direction == direction
    ]


def _doubtful_clocks(run: Run, expected: ExpectedRate, measured: Series) -> str | None:
    """Blames the clocks only if their error is large enough to explain the whole difference."""
    if run.clocks is None or not run.clocks.flagged or expected.metric != "span":
        return None
    fraction = run.clocks.error_fraction_of_span
    median = measured.median
    highest = median / (1 - fraction) if fraction < 1 else float("inf")
    if highest < expected.low or median / (1 + fraction) > expected.high:
        return None
    return f"the clocks, which are uncertain by {percent_text(fraction, 1)} of the measured span"


def _calibrated_from_memory(run: Run, expected: ExpectedRate) -> str | None:
    """Doubts the calibration if a memory that it could not drop may have held all that it read.

    A program can drop pages of its node, but neither what servers hold in their memory, nor what
    clients of some file systems hold in theirs: ceph-fuse, for example, keeps 200 MiB.
    """
    if run.expectation is None or run.environment is None:
        return None
    calibration = run.expectation.calibration
    per_rank, ranks = (calibration.get(name) for name in ("storage_read_bytes_per_rank", "ranks"))
    system = run.environment.file_system
    if (
        limiting_stage_name(expected) != STORAGE_READ
        or not (per_rank and ranks)
        or system.get("reach") in ("memory", "local")
        or served_by(run, "read") != "storage"
        or per_rank * ranks >= run.plan.disk_bytes_total
    ):
        return None
    return (
        f"the calibration: it read {size_text(per_rank * ranks)}, which {system.get('type')} or "
        f"its servers may have held in memory; the run's files have "
        f"{size_text(run.plan.disk_bytes_total)}"
    )


def _slow_rank(run: Run, expected: ExpectedRate, measured: Series) -> str | None:
    """Returns the rank that was slowest in most phases, if its time is far from the ranks' mean.

    In synchronous runs it does so only if that explains the whole shortfall.
    """
    phases = _measured(run, expected.direction)
    if run.plan.ranks == 1 or not phases:
        return None
    blocked = expected.metric == "foreground"
    spreads = [phase.foreground_seconds if blocked else phase.io_seconds for phase in phases]
    slowest = Counter((spread.max_rank, spread.max_host) for spread in spreads)
    (rank, host), times = slowest.most_common(1)[0]
    of_that_rank = [s for s in spreads if (s.max_rank, s.max_host) == (rank, host)]
    total = sum(spread.max for spread in of_that_rank)
    mean = sum(spread.mean for spread in of_that_rank)
    if 2 * times <= len(phases) or mean <= 0 or total / mean < STRAGGLER_FACTOR:
        return None
    reachable = measured.high * total / mean
    if not blocked and reachable < expected.low:
        return None  # All ranks are slow, and this one is only a little slower.
    took = "which was blocked for" if blocked else "whose I/O took"
    if len(run.nodes) > 1 and any(node.host == host and len(node.ranks) == 1 for node in run.nodes):
        return _slow_host(run, expected)
    return f"rank {rank} on {host}, {took} {total / mean:.1f} times the mean of all ranks"


def _slow_target(run: Run, expected: ExpectedRate) -> str | None:
    """Returns the target whose bytes took far longer than those of the others."""
    shares = {target.directory: target.phases for target in run.targets}
    found = _slowest_per_byte(shares, expected.direction)
    return (
        f"target {found[0]}, which took {found[1]:.1f} times the mean of the others"
        if found
        else None
    )


def _slow_host(run: Run, expected: ExpectedRate) -> str | None:
    """Returns the host whose ranks took far longer than those of others, by its slowest ranks."""
    found = _slowest_per_byte({node.host: node.phases for node in run.nodes}, expected.direction)
    if not found:
        return None
    host, factor = found
    linked = any(stage.name in LINKS for stage in expected.stages)
    what = f"the node link of {host}" if linked else f"host {host}"
    return f"{what}, whose ranks took {factor:.1f} times the mean of the others"


def _slowest_per_byte(
    shares: Mapping[str, Sequence[NodePhase]], direction: Direction
) -> tuple[str, float] | None:
    """Returns the slowest per byte, if it takes ``STRAGGLER_FACTOR`` times the others' mean.

    The time per byte is that of the slowest rank over the bytes of all ranks: when files are
    distributed unevenly, a larger number of bytes does not indicate a slow unit.
    """
    per_byte: dict[str, float] = {}
    for name, phases in shares.items():
        of_direction = [phase for phase in phases if phase.direction == direction]
        moved = sum(phase.bytes for phase in of_direction)
        if moved > 0:
            per_byte[name] = sum(phase.io_seconds_max for phase in of_direction) / moved
    return far_above_the_others(per_byte)


def _slower_layer(
    run: Run, expected: ExpectedRate, measured: Series, siblings: Sequence[Run]
) -> str | None:
    """Names the interface or the shared file if a sibling without it was faster or was not run.

    Expectations are for plain system calls, and those from a platform description for a file of
    each rank. Without a sibling no layer is suspected if the expected limit is a link: the link is
    then a likelier cause than the overhead of a layer.
    """
    if any(stage.name == CALLS_ON_MESSAGES for stage in expected.stages):
        return None  # Each route takes its messages elsewhere, and its own calls were calibrated.
    layer, shared = _layer(run), _shares_a_file(run)
    reasons: tuple[tuple[str | None, Callable[[Run], bool]], ...] = (
        (layer, lambda other: _layer(other) is None and _shares_a_file(other) == shared),
        (
            "the shared file (locking or layout)" if shared else None,
            lambda other: not _shares_a_file(other) and _layer(other) == layer,
        ),
    )
    calibrated = run.expectation.calibration if run.expectation is not None else {}
    left_out = [layer] if calibrated.get("shared_file") else [layer, reasons[1][0]]
    if any(stage.name == CALLS_ON_FILES for stage in expected.stages):
        left_out.remove(layer)
    for name, is_without in reasons:
        if name is None:
            continue
        for sibling in siblings:
            rate = _same_rate(sibling, expected)
            if rate and is_without(sibling) and _work(sibling) == _work(run):
                if rate.low > measured.high:
                    reached = rate_text(rate.median)
                    return f"{name}: {sibling.label} reached {reached}"
                break
        else:
            if name in left_out and limiting_stage_name(expected) not in LINKS:
                return f"{name}, which the expectation leaves out"
    return None


def _layer(run: Run) -> str | None:
    """Returns what is between the program and the system calls; None for plain calls."""
    interface = _parameter(run, "iomethod") or _parameter(run, "api")
    return LAYERS.get(interface.partition("-")[0])


def _shares_a_file(run: Run) -> bool:
    """Returns whether all ranks share a file although each could have its own."""
    return _parameter(run, "filetype") == "shared" or _parameter(run, "file_per_rank") == "false"


def _work(run: Run) -> tuple[object, ...]:
    """Returns what a repetition moves, and whether behind computation; equal in comparable runs."""
    moved = [
        (phase.function, phase.direction, phase.bytes_per_operation, phase.bytes_total)
        for phase in run.plan.phases
    ]
    return _parameter(run, "iomode"), moved


def _same_rate(run: Run, like: ExpectedRate) -> Rate | None:
    return next(
        (r for r in run.rates if (r.direction, r.metric) == (like.direction, like.metric)), None
    )


def _parameter(run: Run, name: str) -> str:
    parameter = run.parameters.get(name)
    return str(parameter.value).lower() if parameter is not None else ""


def _cold_pages(run: Run, expected: ExpectedRate) -> str | None:
    from_cache = any(stage.name in CACHES for stage in expected.stages)
    if (
        expected.direction == "read"
        and from_cache
        and served_by(run, expected.direction) == "storage"
    ):
        return "the page cache, which did not hold the pages that were expected there"
    return None


def _not_hidden(run: Run, expected: ExpectedRate) -> str | None:
    """Says whether an asynchronous run was held up by waiting or by slower transfers."""
    if expected.metric != "foreground" or run.outputs is not None:
        return None
    phases = _measured(run, expected.direction)
    planned = [phase for phase in run.plan.phases if phase.direction == expected.direction]
    operations = sum(phase.operations_per_rank for phase in planned)
    in_transfer = sum(phase.io_seconds.mean for phase in phases)
    if in_transfer <= 0 or operations == 0:
        return None
    blocked = sum(phase.foreground_seconds.mean for phase in phases) / in_transfer
    exposed = sum(phase.exposed_operations_per_rank for phase in planned) / operations
    if blocked > OVERLAP_FACTOR * exposed:
        return (
            f"the overlap: ranks were blocked for {percent_text(blocked)} of the transfers' time, "
            f"of which {percent_text(exposed)} cannot be hidden"
        )
    hidden = f"all but {percent_text(blocked)} was hidden"
    return f"{expected.limiting_stage}: {hidden}, but transfers took longer"


def _opening_files(run: Run, expected: ExpectedRate) -> str | None:
    """Says how long a file that stagers took over blocked its ranks beyond the hand-over."""
    if expected.metric != "foreground" or run.outputs is None or not run.outputs.staged:
        return None
    planned = [phase for phase in run.plan.phases if phase.direction == expected.direction]
    files = sum(phase.operations_per_rank for phase in planned)
    repetitions = sum(not one.warmup for one in run.repetitions)
    if not files or not repetitions or expected.value <= 0:
        return None
    blocked = sum(one.foreground_seconds.max for one in _measured(run, expected.direction))
    handed_over = sum(phase.bytes_total for phase in planned) / expected.value
    beyond = (blocked / repetitions - handed_over) / files
    if beyond <= 0:
        return None
    if any(stage.name == CALLS_ON_FILES for stage in expected.stages):
        return (
            f"the {CALLS_ON_FILES}: each file blocked its ranks for {seconds_text(beyond)} more "
            "than one without content and its hand-over did"
        )
    return (
        "opening each file and agreeing on its plan, which the expectation leaves out: a file "
        f"blocked its ranks for {seconds_text(beyond)} beyond the hand-over"
    )


def _served_from_memory(run: Run, expected: ExpectedRate) -> str | None:
    handed_over = run.outputs is not None and expected.metric == "foreground"
    if handed_over or limiting_stage_name(expected) in CACHES:
        return None
    verdict = served_by(run, expected.direction)
    if verdict not in ("memory", "mixed"):
        return None
    evidence = next(
        (
            fact.text
            for phase in _measured(run, expected.direction)
            if phase.cache.verdict in ("memory", "mixed")
            for fact in phase.cache.evidence[:1]
        ),
        "no evidence was recorded",
    )
    served = "bytes came from memory" if verdict == "memory" else "some bytes came from memory"
    return f"{served}, {expected.limiting_stage} was expected ({evidence})"


def _compressed(run: Run) -> str | None:
    percent = run.verification.compressible_percent
    return f"{percent} % of the payload can be compressed away" if percent else None
