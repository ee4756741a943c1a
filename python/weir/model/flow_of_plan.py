"""Makes flows from a plan and its parameters; only this module uses the names of parameters.

    write   durable     a durable sync is inside the timing (sync: fsync, fdatasync)
    write   cached      sync is none: storage comes later
    write   durable     the platform has no page cache
    read    dropped     pages were dropped, or the files do not fit the memory, or the platform has
                        no page cache
    read    cached      pages are still resident
    both    direct      O_DIRECT

MPI-IO and shared files have the same flow as POSIX with a file per rank. For large contiguous
transfers Borrill et al. found "trivial differentiation" between the interfaces (section 4) and say
that a shared file can, and should, be expected to match separate files (section 6). A shortfall is
therefore a finding. Collective calls over several hosts differ in one respect: with H hosts the
share (H - 1)/H of the bytes changes hosts on its way to the ranks that write. What ranks hand over
to stagers of their own node changes no host; with stagers on other nodes all bytes do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weir.model.flow import Flow
from weir.results.expectations import Direction
from weir.results.platform import Platform, Route
from weir.results.quantities import size_text
from weir.results.schema import Parameter, Plan, PlannedPhase

DURABLE_SYNCS = ("fsync", "fdatasync")
ALL_TARGETS = 2**31
NO_STAGERS = "none"
SERVICE = "service"
ON_ITS_NODE = ("node", "ranks")
"""Where stagers run that take over from ranks of their own node."""
COLLECTIVE_APIS = ("mpiio", "mpi", "hdf5", "pnetcdf")


@dataclass(frozen=True)
class Planned:
    """A phase's flow, and the reason for its route.

    If only one rank in ``turns`` moves data at a time, the flow is that of one turn.
    """

    phase: PlannedPhase
    flow: Flow
    turns: int
    reason: str


@dataclass(frozen=True)
class Output:
    """How a program writes that computes for ``computing_seconds`` after each output step.

    With ``staged``, stagers take its files over and store them meanwhile; ``sent`` says that they
    get the bytes over the network.
    """

    staged: bool
    computing_seconds: float
    sent: bool = False


@dataclass(frozen=True)
class Messages:
    """How messages go to where they are dropped, or overwrite a file.

    ``copied`` says whether their bytes are copied on the way; ``maybe`` that this is not known;
    ``sent`` that they go to stagers over the network.
    """

    dropped: bool
    copied: bool
    maybe: bool
    sent: bool = False


@dataclass(frozen=True)
class Surroundings:
    """What a plan does not contain: its platform, and the places of its directories there.

    ``places`` gives the platform's name of the target behind a planned directory; ``directory`` is
    the job's own.
    """

    platform: Platform
    places: Mapping[str, str]
    directory: str | None = None


def planned_flow(
    phase: PlannedPhase, plan: Plan, parameters: Mapping[str, Parameter], where: Surroundings
) -> Planned:
    """Returns one phase of a plan as a flow.

    An absent parameter has the value that costs most: a sync after every operation, and for reads
    dropped pages. Raises ``ValueError`` for a switch that is neither on nor off.
    """
    hosts = ranks_by_host(where.platform, plan.ranks, beyond=True)
    route, reason = _route(phase.direction, plan, parameters, where.platform, len(hosts))
    modulus = _modulus(phase.direction, parameters)
    turns = min(modulus, plan.ranks)
    flow = Flow(
        direction=phase.direction,
        route=route,
        operations=phase.operations_per_rank,
        operation_bytes=_bytes_per_operation(phase, plan),
        ranks_by_host=_one_turn(hosts, turns),
        ranks_by_target=_one_turn(_ranks_by_target(plan, where), turns),
        durable_operations=_durable_operations(phase, parameters),
        footprint_bytes=max(plan.disk_bytes_total, phase.bytes_total),
        whole_files=not plan.shares_files,
        files=plan.files_at_once,
        units_per_file=_stripe_count(parameters, plan),
        targets=_chosen_targets(parameters),
        in_flight=_in_flight(parameters),
        network_fraction=_share_that_changes_hosts(parameters, len(hosts)),
    )
    return Planned(phase, flow, turns, reason)


def output_of(parameters: Mapping[str, Parameter]) -> Output | None:
    """Returns how a program writes in turn with computing; None for all other workloads.

    Raises ``ValueError`` if the time of computing is not a number of seconds.
    """
    if not (_given(parameters, "staging") and _given(parameters, "work")):
        return None
    text = setting(parameters, "work", "0")
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"parameter work is {text!r}, expected seconds")
    return Output(is_staged(parameters), seconds, _is_sent(parameters))


def is_staged(parameters: Mapping[str, Parameter]) -> bool:
    """Returns whether ranks hand their bytes over to stagers."""
    return _staging(parameters) != NO_STAGERS


def _is_sent(parameters: Mapping[str, Parameter]) -> bool:
    """Returns whether ranks send their bytes to stagers over the network."""
    return _staging(parameters) not in (NO_STAGERS, *ON_ITS_NODE)


def is_dropped(parameters: Mapping[str, Parameter]) -> bool:
    """Returns whether the bytes come to no file: no rate of storage applies to them."""
    return any(setting(parameters, name, "") == "null" for name in ("engine", "into"))


def way_of(parameters: Mapping[str, Parameter]) -> tuple[str, str, int]:
    """Returns what decides how long a file or a message takes beside its bytes.

    These are the interface, who stores the bytes (with the stagers of a service and the threads of
    each that receive), and the aggregators that were asked for.
    """
    aggregators = setting(parameters, "aggregators", "0")
    number = int(aggregators) if aggregators.isdigit() else 0
    staging = setting(parameters, "staging", NO_STAGERS)
    if _is_sent(parameters) and _given(parameters, "receivers"):
        own = [setting(parameters, name, "") for name in ("stagers", "receivers")]
        staging = ":".join([staging, *own])
    return _api(parameters), staging, number


def service_of(parameters: Mapping[str, Parameter]) -> tuple[int, int] | str | None:
    """Returns how ranks reach stagers over the network; None if they do not.

    A job that starts the stagers says how many there are, and how many threads of each receive;
    another one has the file that names them.
    """
    if not _is_sent(parameters):
        return None
    if _given(parameters, "receivers"):
        return int(setting(parameters, "stagers", "1")), int(setting(parameters, "receivers", "4"))
    for key in ("service", "staging"):
        if key in parameters:
            text = str(parameters[key].value)
            if key == "service" or ":" in text:
                return text.removeprefix(f"{SERVICE}:")
    return None


def messages_of(parameters: Mapping[str, Parameter]) -> Messages | None:
    """Returns how a program's messages go (workload sink); None for all other workloads.

    What is written to ``/dev/null`` is not touched. A stager gets a copy. The library may drop a
    rank's bytes where they are, or gather them first.
    """
    if not (_given(parameters, "into") and _given(parameters, "message_bytes")):
        return None
    dropped = is_dropped(parameters)
    by_library = _api(parameters) == "weir"
    return Messages(
        dropped=dropped,
        copied=by_library or not dropped,
        maybe=by_library and dropped and not is_staged(parameters),
        sent=_is_sent(parameters),
    )


def described_ranks(platform: Platform) -> int:
    """Returns the largest number of ranks that a platform describes."""
    return platform.ranks_per_host * platform.hosts


def ranks_by_host(platform: Platform, ranks: int, *, beyond: bool = False) -> dict[str, int]:
    """Fills hosts one after the other, as launchers do, with the names in the platform.

    More ranks than the platform describes raise ``ValueError``, or with ``beyond`` are distributed
    over its hosts.
    """
    known = platform.topology.get("ranks_by_host")
    names = list(known) if isinstance(known, Mapping) else []
    most = platform.ranks_per_host
    if beyond:
        most = max(most, -(-ranks // platform.hosts))
    needed = min(platform.hosts, -(-ranks // most))
    names += [f"host{place}" for place in range(len(names), needed)]
    if ranks > most * platform.hosts:
        raise ValueError(
            f"platform {platform.name} describes {platform.hosts} "
            f"host{'s' if platform.hosts > 1 else ''} of up to {most} ranks, the run has {ranks}: "
            f"weir platform probe -n {ranks} measures them"
        )
    filled: dict[str, int] = {}
    left = ranks
    for name in names:
        if left > 0:
            filled[name] = min(most, left)
            left -= filled[name]
    return filled


def _share_that_changes_hosts(parameters: Mapping[str, Parameter], hosts: int) -> float:
    staging = _staging(parameters)
    if staging not in (NO_STAGERS, *ON_ITS_NODE):
        return 1.0
    collective = flag(parameters, "collective", default=False)
    if staging == NO_STAGERS and collective and _api(parameters) in COLLECTIVE_APIS:
        return 1 - 1 / hosts
    return 0.0


def _staging(parameters: Mapping[str, Parameter]) -> str:
    """Returns where stagers run, without their number or their rendezvous."""
    return setting(parameters, "staging", NO_STAGERS).partition(":")[0]


def _bytes_per_operation(phase: PlannedPhase, plan: Plan) -> float:
    """Returns a rank's bytes per operation such that all operations add up to the phase's bytes."""
    operations = phase.operations_per_rank * plan.ranks
    return phase.bytes_total / operations if operations else float(phase.bytes_per_operation)


def _one_turn(users: Mapping[str, int], turns: int) -> dict[str, int]:
    """Returns the ranks that move data concurrently if one in ``turns`` consecutive ranks does."""
    if turns == 1:
        return dict(users)
    left = max(1, sum(users.values()) // turns)
    chosen: dict[str, int] = {}
    for name, ranks in users.items():
        if left > 0:
            chosen[name] = min(max(1, ranks // turns), left)
            left -= chosen[name]
    return chosen


def _ranks_by_target(plan: Plan, where: Surroundings) -> dict[str, int]:
    found: dict[str, int] = {}
    for target in plan.targets:
        name = where.places.get(target.directory, target.directory)
        found[name] = found.get(name, 0) + len(target.ranks)
    if not found and where.directory is not None:
        found[where.places.get(where.directory, where.directory)] = plan.ranks
    return found


def _route(
    direction: Direction,
    plan: Plan,
    parameters: Mapping[str, Parameter],
    platform: Platform,
    hosts: int,
) -> tuple[Route, str]:
    if flag(parameters, "direct", default=False):
        return "direct", "O_DIRECT: no page cache"
    if direction == "write":
        sync = setting(parameters, "sync", "fsync")
        if sync not in DURABLE_SYNCS and not _has_cache(platform, direction):
            return "durable", "the platform has no page cache"
        if sync not in DURABLE_SYNCS:
            return "cached", f"sync is {sync}: nothing waits for storage"
        once = _durable_operations(plan.phases[0], parameters) is not None
        return "durable", f"{sync} in the timed part" + (", once at the end" if once else "")
    return _read_route(plan, parameters, platform, hosts)


def _read_route(
    plan: Plan, parameters: Mapping[str, Parameter], platform: Platform, hosts: int
) -> tuple[Route, str]:
    if flag(parameters, "drop_cache", default=True):
        return "dropped", "pages are dropped before reading"
    if not _has_cache(platform, "read"):
        return "dropped", "the platform has no page cache"
    available = platform.memory_available_bytes
    size = size_text(plan.disk_bytes_total)
    if available is not None and plan.disk_bytes_total > available:
        return (
            "dropped",
            f"the files ({size}) do not fit the free memory ({size_text(available)})",
        )
    shift = setting(parameters, "rank_shift", "0")
    if shift == "0" and setting(parameters, "reorder", "none") != "none":
        shift = setting(parameters, "reorder", "none")
    if shift != "0" and hosts > 1:
        return (
            "dropped",
            f"rank shift {shift} over {hosts} hosts: the pages may be resident on another host",
        )
    fits = "fit the free memory" if available is not None else "are assumed to fit the memory"
    return "cached", f"pages are not dropped and the files ({size}) {fits}"


def _has_cache(platform: Platform, direction: Direction) -> bool:
    """Returns whether there is a page cache; where only storage is described there is none."""
    routes = {
        route
        for stage in platform.stages
        if stage.direction in (None, direction)
        for route in stage.routes
    }
    through_storage = "durable" if direction == "write" else "dropped"
    return "cached" in routes or through_storage not in routes


def _chosen_targets(parameters: Mapping[str, Parameter]) -> int | None:
    """Returns how many targets the run names, such as 5 for ``0,4-7``; None if it names none."""
    text = setting(parameters, "targets", "")
    if not text:
        return None
    ends = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return sum(1 + last - first for first, last in ((one[0], one[-1]) for one in ends))


def _stripe_count(parameters: Mapping[str, Parameter], plan: Plan) -> int | None:
    """Returns the targets over which the run stripes a file; None if the file system decides."""
    chosen = _chosen_targets(parameters)
    if chosen is not None:
        return chosen if plan.shares_files else 1
    text = setting(parameters, "stripe_count", "")
    if text == "all":
        return ALL_TARGETS
    return int(text) if text.isdigit() and int(text) > 0 else None


def _durable_operations(phase: PlannedPhase, parameters: Mapping[str, Parameter]) -> float | None:
    """Returns 1 if a workload syncs at a phase's end, and None if after every operation.

    A workload that can do either says which by ``sync_each``.
    """
    if phase.direction == "read" or not _given(parameters, "sync_each"):
        return None
    return None if flag(parameters, "sync_each", default=True) else 1.0


def _modulus(direction: Direction, parameters: Mapping[str, Parameter]) -> int:
    name = "rmod" if direction == "read" else "wmod"
    long_name = "read_modulus" if direction == "read" else "write_modulus"
    text = setting(parameters, name, setting(parameters, long_name, "1"))
    return max(1, int(text)) if text.isdigit() else 1


def _api(parameters: Mapping[str, Parameter]) -> str:
    return setting(parameters, "api", setting(parameters, "iomethod", "posix"))


def _in_flight(parameters: Mapping[str, Parameter]) -> int:
    depth = setting(parameters, "queue_depth", "1")
    return max(1, int(depth)) if _api(parameters) == "io_uring" and depth.isdigit() else 1


def _given(parameters: Mapping[str, Parameter], name: str) -> bool:
    return name in parameters or name.replace("_", "-") in parameters


def setting(parameters: Mapping[str, Parameter], name: str, default: str) -> str:
    """Returns a parameter as lower-case text; dashes and underscores in its name are equivalent."""
    for key in (name, name.replace("_", "-")):
        if key in parameters:
            return str(parameters[key].value).lower()
    return default


def flag(parameters: Mapping[str, Parameter], name: str, *, default: bool) -> bool:
    """Returns a parameter that is on or off; raises ``ValueError`` for anything else."""
    text = setting(parameters, name, str(default).lower())
    if text in ("true", "on", "yes", "1"):
        return True
    if text in ("false", "off", "no", "0"):
        return False
    raise ValueError(f"parameter {name} is {text!r}, expected true or false")
