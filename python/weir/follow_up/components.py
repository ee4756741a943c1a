"""Component campaigns of a machine, one for each sentence of Uselton's section 3.9.4.

"The task of benchmarking the components individually is the same as the task of benchmarking the
whole" (section 1.1). The machine's edges and the stages that they name say how many targets,
servers and controllers there are and what each should do; that is the expected result of each test.
A campaign whose part the description does not have is left out, with the reason.

Files are put on chosen targets by pools. The places of targets follow two assumptions, which every
file states: target k is on server k mod S (section 3.3.3), and server s is behind controller s mod
C. Both can be checked beforehand with ``lfs osts``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from weir.follow_up.proposal import Proposal
from weir.model.flow import Flow
from weir.model.interval import FLOOR
from weir.model.path_time import path_time, stages_of
from weir.results.campaign import Value
from weir.results.platform import Edge, Platform, PlatformStage, StageKind
from weir.results.purpose import ExpectedResult, Goal
from weir.results.quantities import range_text, rate_text

BLOCK = 2 * 2**30
TRANSFER = 4 * 2**20
SETUP_SECONDS = 10.0
FIXED: Mapping[str, Value] = {
    "api": "POSIX",
    "file-per-rank": True,
    "write": True,
    "block": "2g",
    "transfer": "4m",
    "sync": "fsync",
    "stripe-count": 1,
    "warmups": 0,
    "repetitions": 1,
    "max-repetitions": 1,
}
AT_SCALE = (8192, 16384)
ASSUMED = (
    "It is assumed that target k is on server k mod S, and server s behind controller s mod C:",
    "compare with lfs osts, and change the lists where the machine is wired otherwise.",
)


@dataclass(frozen=True)
class Pool:
    """Named targets on which all files of a test lie."""

    name: str
    targets: tuple[int, ...]


@dataclass(frozen=True)
class Component:
    """One campaign: the sentence that it answers, its tests, and the pools that they need."""

    name: str
    sentence: str
    edge: str
    """The edges that it is about, with what they should do."""
    tests: tuple[Proposal, ...]
    pools: tuple[Pool, ...]

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.tests)


@dataclass(frozen=True)
class Machine:
    """What the campaigns need of a description."""

    platform: Platform
    targets: int
    servers: int
    controllers: int

    def of_server(self, server: int) -> tuple[int, ...]:
        return tuple(range(server, self.targets, self.servers))

    def of_servers(self, servers: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(target for one in servers for target in self.of_server(one)))

    def behind(self, controller: int) -> list[int]:
        """Returns the servers behind a controller."""
        return list(range(controller, self.servers, self.controllers))


Tests = Iterator[tuple[dict[str, Value], Pool | None]]
"""The settings of a test, and the pool of its files (None: all targets)."""


@dataclass(frozen=True)
class _Asked:
    """A sentence of the section and the campaign that answers it."""

    name: str
    sentence: str
    goal: Goal
    kinds: tuple[StageKind, ...]
    """Kinds of the stages that it is about; a description without one of them has no such test."""
    decides: str
    tests: Callable[[Machine], Tests]


def machine_of(platform: Platform) -> Machine:
    """Returns a description's parts. Raises ``ValueError`` without edges or without targets."""
    if not platform.edges:
        raise ValueError(f"{platform.name} has no edges: add [[edges]] that say how it is wired")
    units = {kind: _units(platform, kind) for kind in ("target", "server", "device link")}
    if not units["target"]:
        raise ValueError(f"{platform.name} has no stage of kind target: add the storage targets")
    return Machine(platform, units["target"], units["server"], units["device link"])


def components_of(platform: Platform) -> tuple[list[Component], dict[str, str]]:
    """Returns the campaigns, and the reason for each that the description does not allow."""
    machine = machine_of(platform)
    made, left_out = [], {}
    for asked in ASKED:
        missing = [kind for kind in asked.kinds if not _units(platform, kind)]
        if missing:
            left_out[asked.name] = f"the description has no stage of kind {missing[0]}"
            continue
        edges = [one for kind in asked.kinds for one in _edges_of(platform, kind)]
        if not edges:
            left_out[asked.name] = f"no edge names a stage of kind {asked.kinds[0]}"
            continue
        about = "; ".join(_edge_text(platform, one) for one in edges)
        tests, pools = [], {}
        most = platform.hosts * platform.ranks_per_host
        for settings, pool in asked.tests(machine):
            if int(settings["ranks"]) > most:
                continue
            tests.append(_proposal(machine, asked, about, settings, pool))
            if pool is not None:
                pools[pool.name] = pool
        if not tests:
            left_out[asked.name] = f"the machine has only {most} ranks"
            continue
        made.append(
            Component(asked.name, asked.sentence, about, tuple(tests), tuple(pools.values()))
        )
    return made, left_out


def pools_of(machine: Machine) -> list[Pool]:
    """Returns the pools of all campaigns that the description allows."""
    return [
        pool
        for asked in ASKED
        if all(_units(machine.platform, kind) for kind in asked.kinds)
        for _, pool in asked.tests(machine)
        if pool is not None
    ]


def pool_commands(pools: Iterable[Pool], file_system: str = "FS") -> list[str]:
    """Returns the commands that make pools on Lustre."""
    lines = []
    for pool in pools:
        lines.append(f"lfs pool_new {file_system}.{pool.name}")
        listed = ",".join(f"{target:x}" for target in pool.targets)
        lines.append(f"lfs pool_add {file_system}.{pool.name} {file_system}-OST[{listed}]")
    return lines


def _proposal(
    machine: Machine, asked: _Asked, about: str, settings: dict[str, Value], pool: Pool | None
) -> Proposal:
    part = _part_of(machine, pool)
    ranks = int(settings["ranks"])
    stripes = int(settings.get("stripe-count", 1))
    per_host = min(2, machine.platform.ranks_per_host)
    hosts = {f"host{number}": per_host for number in range(ranks // per_host)}
    if ranks % per_host:
        hosts["last host"] = ranks % per_host
    flow = Flow(
        *("write", "durable", BLOCK / TRANSFER, TRANSFER, hosts),
        durable_operations=1,
        whole_files=stripes == 1,
        files=ranks,
        units_per_file=stripes,
    )
    stages = stages_of(part, flow)
    expected = path_time(stages, flow)
    low = min(path_time(stages, flow, "slow").rate, expected.rate * (1 - FLOOR))
    high = max(path_time(stages, flow, "fast").rate, expected.rate * (1 + FLOOR))
    return Proposal(
        settings=settings,
        goal=asked.goal,
        motivation=f'"{asked.sentence}" ({about})',
        expects=(
            f"write {rate_text(expected.rate)} ({range_text(low, high)}), limited by "
            f"{expected.limit.limit_name}"
        ),
        expected=(
            ExpectedResult(
                direction="write",
                bytes_per_second=expected.rate,
                low_bytes_per_second=low,
                high_bytes_per_second=high,
            ),
        ),
        decides=asked.decides,
        seconds=SETUP_SECONDS + expected.seconds,
        bits=0.0,
    )


def _part_of(machine: Machine, pool: Pool | None) -> Platform:
    """Returns the description of the parts that a pool's targets use."""
    if pool is None:
        return machine.platform
    servers = {target % machine.servers for target in pool.targets} if machine.servers else set()
    used: dict[StageKind, int] = {"target": len(pool.targets), "server": len(servers)}
    if machine.controllers:
        used["device link"] = len({one % machine.controllers for one in servers})
    stages = [
        stage.model_copy(update={"units": used[stage.kind]})
        if used.get(stage.kind, 0) > 0
        else stage
        for stage in machine.platform.stages
    ]
    return machine.platform.model_copy(update={"stages": stages})


def _even(machine: Machine, counts: Sequence[int]) -> Tests:
    """Yields tests with a file of each task, all targets in turn from the first one."""
    everything = Pool("weir-all", tuple(range(machine.targets)))
    for count in counts:
        yield {"ranks": count, "pool": everything.name}, everything


def _powers(first: int, last: int) -> list[int]:
    """Returns ``first`` and its doubles up to ``last``, which is always one of them."""
    found = list(itertools.takewhile(lambda one: one < last, (first << n for n in range(40))))
    return [*found, last]


def _one_node(machine: Machine) -> Tests:
    for ranks in (1, 2):
        for stripes in _powers(1, machine.targets):
            yield {"ranks": ranks, "stripe-count": stripes}, None


def _one_target(_machine: Machine) -> Tests:
    pool = Pool("weir-target-0", (0,))
    for ranks in _powers(1, 64):
        yield {"ranks": ranks, "pool": pool.name}, pool


def _one_server(machine: Machine) -> Tests:
    pool = Pool("weir-server-0", machine.of_server(0))
    count = len(pool.targets)
    for ranks in dict.fromkeys([*range(1, count + 1), *_powers(count, 16 * count)]):
        yield {"ranks": ranks, "pool": pool.name}, pool


def _each_server(machine: Machine) -> Tests:
    for server in range(machine.servers):
        pool = Pool(f"weir-server-{server}", machine.of_server(server))
        yield {"ranks": 4 * len(pool.targets), "pool": pool.name}, pool


def _one_controller(machine: Machine) -> Tests:
    pool = Pool("weir-controller-0", machine.of_servers(machine.behind(0)))
    for ranks in range(1, len(pool.targets) + 1):
        yield {"ranks": ranks, "pool": pool.name}, pool


def _more_on_a_controller(machine: Machine) -> Tests:
    pool = Pool("weir-controller-0", machine.of_servers(machine.behind(0)))
    for each in (2, 3, 4, 8, 16):
        yield {"ranks": each * len(pool.targets), "pool": pool.name}, pool


def _pairs(machine: Machine) -> Tests:
    for first, second in itertools.combinations(range(machine.servers), 2):
        pool = Pool(f"weir-servers-{first}-{second}", machine.of_servers([first, second]))
        yield {"ranks": 4 * len(pool.targets), "pool": pool.name}, pool


def _more_servers(machine: Machine) -> Tests:
    for count in range(1, machine.servers + 1):
        pool = Pool(f"weir-first-{count}", machine.of_servers(range(count)))
        yield {"ranks": 4 * len(pool.targets), "pool": pool.name}, pool


def _targets_of_a_controller(machine: Machine) -> Tests:
    behind = machine.of_servers(machine.behind(0))
    for count in _powers(1, len(behind)):
        pool = Pool(f"weir-controller-0-targets-{count}", behind[:count])
        yield {"ranks": 4 * count, "pool": pool.name}, pool


def _servers_of_a_controller(machine: Machine) -> Tests:
    behind = machine.behind(0)
    for count in range(1, len(behind) + 1):
        pool = Pool(f"weir-controller-0-servers-{count}", machine.of_servers(behind[:count]))
        yield {"ranks": 4 * len(pool.targets), "pool": pool.name}, pool


ASKED: tuple[_Asked, ...] = (
    _Asked(
        "even-at-scale",
        "To do that, run one test at scale with uniformly distributed files.",
        "confirm",
        ("target",),
        "at the expected rate the uneven files explain the drop at 8192 tasks; below it, they do "
        "not",
        lambda machine: _even(machine, AT_SCALE[:1]),
    ),
    _Asked(
        "even-at-twice-the-scale",
        "A similarly constructed test at 16384 tasks might be revealing.",
        "new region",
        ("target",),
        "whether the rate goes on falling with the tasks where files are even",
        lambda machine: _even(machine, AT_SCALE[1:]),
    ),
    _Asked(
        "even-shorter",
        "If we can sample more frequently the shorter tests would be useful to verify that the "
        "effect is only noticeable at scale.",
        "confirm",
        ("target",),
        "from how many tasks on uneven files matter, against the same tests with the file system's "
        "own choice of targets",
        lambda machine: _even(machine, _powers(128, AT_SCALE[0] // 2)),
    ),
    _Asked(
        "one-node",
        "What is the limit that one task (one node) can produce. For one and two tasks, run a "
        "sequence of tests at increasing stripe count.",
        "new region",
        ("node link", "target"),
        "the stripe count from which a node limits, and the rate of a node",
        _one_node,
    ),
    _Asked(
        "scaling",
        "We want to understand what the limiting factor is in scaling up to 80 OSTs.",
        "confirm",
        ("target", "server"),
        "the number of targets at which the rate leaves the line of targets times the rate of one",
        lambda machine: _even(machine, range(1, machine.targets + 1)),
    ),
    _Asked(
        "one-target",
        "Run a series of tests from increasing numbers of nodes, but all writing to files mapped "
        "to a single LUN.",
        "new region",
        ("target",),
        "the rate of a target alone, and whether some load exceeds the one seen before",
        _one_target,
    ),
    _Asked(
        "one-server",
        "Similarly, run the four OSTs of a single OSS with increasing loads to see if it will "
        "deliver full bandwidth to all four.",
        "new region",
        ("server", "target"),
        "what each further target of a server adds",
        _one_server,
    ),
    _Asked(
        "each-server",
        "Will it for all 20 OSSs?",
        "confirm",
        ("server",),
        "which server is slower than the others",
        _each_server,
    ),
    _Asked(
        "one-controller",
        "Using from 1 to 16 files distributed over the LUNs of a single DDN examine the "
        "performance curve.",
        "new region",
        ("device link", "server"),
        "the rate at which a controller saturates",
        _one_controller,
    ),
    _Asked(
        "one-controller-more-files",
        "What about 2 files per LUN, and so forth?",
        "new region",
        ("device link", "server"),
        "whether a controller is slower with several files on a target",
        _more_on_a_controller,
    ),
    _Asked(
        "pairs-of-servers",
        "Can we find pairs of OSSs that, when fully loaded, appear to interfere with each other?",
        "new region",
        ("server",),
        "pairs below twice the rate of one server share a part; those behind one controller, "
        "blade or switch should be the same ones",
        _pairs,
    ),
    _Asked(
        "more-servers",
        "Exactly what combinations of fully loaded OSSs are able to saturate the available "
        "resources?",
        "new region",
        ("server",),
        "the number of servers from which the whole limits, and at which rate",
        _more_servers,
    ),
    _Asked(
        "targets-of-a-controller",
        "Do the LUNs of a DDN compete for back-end disk bandwidth?",
        "new region",
        ("device link", "server", "target"),
        "targets compete if the rate grows less than their number",
        _targets_of_a_controller,
    ),
    _Asked(
        "servers-of-a-controller",
        "How loaded does a DDN have to be before the limiting factor is on the OSS side rather "
        "than the DDN side?",
        "refined method",
        ("device link", "server"),
        "a rate in proportion to the servers is limited by them, a constant one by the controller",
        _servers_of_a_controller,
    ),
)
"""The section's sentences that ask for runs, in its order; its list of observations is not here."""


def _units(platform: Platform, kind: StageKind) -> int:
    return max((stage.units for stage in platform.stages if stage.kind == kind), default=0)


def _edges_of(platform: Platform, kind: StageKind) -> list[Edge]:
    named = {stage.name for stage in platform.stages if stage.kind == kind}
    return [edge for edge in platform.edges if named & set(edge.stages)]


def _edge_text(platform: Platform, edge: Edge) -> str:
    stages: list[PlatformStage] = [one for one in platform.stages if one.name in edge.stages]
    each = ", ".join(
        f"{one.units} x {rate_text(one.rate_bytes_per_second.value)}" for one in stages
    )
    return f"{edge.name}: {each}, by {edge.origin}"
