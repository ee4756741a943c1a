"""What is simulated: the user's words, checked, and the strategies by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Literal

from weir.bench.errors import USAGE, BenchError
from weir.campaign.levels import LevelError, number_in, read_levels
from weir.results.campaign import Value
from weir.results.quantities import percent_text, size_text

Destination = Literal["io-nodes", "stagers", "storage"]
Level = Literal["plan", "library"]
LEVELS: tuple[Level, ...] = ("plan", "library")
"""What is simulated: the flows of the library's plan, or the library itself on simulated ranks."""
DESTINATIONS: tuple[Destination, ...] = ("io-nodes", "stagers", "storage")


@dataclass(frozen=True)
class Way:
    """How a strategy carries out a request: in terms of the library's own strategies."""

    planned_as: str
    ahead: bool = True
    everywhere: bool = False  # gathers over all I/O groups, as the machine's MPI-IO does
    aggregators: int = 0
    whole_share: bool = False  # one piece for a client's whole share
    about: str = ""


STRATEGIES: dict[str, Way] = {
    "automatic": Way("automatic"),
    "direct": Way("direct"),
    "node": Way("node"),
    "two-phase": Way("two-phase"),
    "server-directed": Way("server-directed"),
    "posix": Way("direct", about="every rank by itself"),
    "mpi-io": Way(
        "two-phase", ahead=False, everywhere=True, whole_share=True,
        about="aggregators on the first nodes of each I/O group gather from all of them",
    ),
    "glean": Way(
        "two-phase", ahead=False, aggregators=4, whole_share=True,
        about="4 aggregators in each I/O group gather everything before they send",
    ),
}  # fmt: skip
"""The library's strategies first, then those of the papers."""

WORKLOADS = ("messages", "array", "sink")
BENCH_WORKLOADS = ("array", "sink")
"""Those of weir-bench, whose own code runs on simulated ranks."""
SINK_MESSAGES = "2k:4m:*2"
"""Sizes of messages of ``weir bench sink``."""
DEFAULT_BUFFER = 2 << 20
DEFAULT_STRIPE = 4 << 20
SIZES = ("bytes", "buffer", "stripe")
NUMBERS = ("ranks", "stagers", "aggregators", "io_groups", "steps", *SIZES)
SWEPT = (*NUMBERS, "strategy", "placement", "network")
"""Fields that --sweep can vary."""
PLACEMENTS = ("spread", "nearest", "first", "priced")
MOST_POINTS = 1000


@dataclass(frozen=True)
class Slow:
    """A unit that is slower than the others of its part."""

    part: str  # target, server, stager, node, link, or the name of a part
    unit: str  # its number; of a link, its name
    share: float  # of the usual speed

    @property
    def text(self) -> str:
        return f"{self.part} {self.unit} at {percent_text(self.share)}"


def slow_in(text: str) -> Slow:
    """Returns what ``--slow PART=UNIT:SHARE`` says."""
    part, _, rest = text.partition("=")
    unit, _, share = rest.rpartition(":")
    number = number_in(share)
    if not part.strip() or not unit.strip() or number is None or not 0 < number <= 1:
        raise BenchError(
            f"--slow {text!r}: write PART=UNIT:SHARE with a share of the speed above 0 and at most "
            "1, such as target=7:0.25, stager=3:0.5 or 'link=switch 3 up 2:0.1'",
            USAGE,
        )
    return Slow(part.strip(), unit.strip(), float(number))


@dataclass(frozen=True)
class Asked:
    """One simulation."""

    workload: str  # one of WORKLOADS
    ranks: int
    strategy: str = "automatic"
    to: Destination | None = None
    bytes: int = 1 << 20
    shape: str = ""
    type: str = "float64"
    distribution: str = "BLOCK"
    grid: str = ""
    read: bool = False
    aggregators: int = 0
    buffer: int = 0
    stripe: int = DEFAULT_STRIPE
    stagers: int = 0
    steps: int = 1
    meeting: bool = False
    io_groups: int | None = None  # nodes of each; 0: one group; none: as the platform has them
    network: str = ""  # instead of the platform's network_shape
    placement: str = "spread"
    slow: tuple[Slow, ...] = ()
    level: Level = "plan"

    @property
    def way(self) -> Way:
        return STRATEGIES[self.strategy]

    @property
    def runs_bench(self) -> bool:
        """Returns whether what is simulated is the workload of weir-bench itself."""
        return self.level == "library" and self.workload in BENCH_WORKLOADS

    @property
    def destination(self) -> Destination | None:
        """Returns where the bytes go; none: to the first one that the platform describes."""
        return self.to or ("stagers" if self.stagers else None)


def check(asked: Asked) -> None:
    """Raises ``BenchError`` for words that do not fit together."""
    if asked.workload not in WORKLOADS:
        raise BenchError(
            f"weir sim {asked.workload}: give messages, array or sink; other workloads are not "
            "simulated",
            USAGE,
        )
    if asked.workload == "sink" and asked.level != "library":
        raise BenchError(
            "weir sim sink runs weir-bench's own code on simulated ranks: add --level library; "
            "weir sim messages simulates its plan",
            USAGE,
        )
    if asked.workload == "sink" and asked.read:
        raise BenchError("--read: weir-bench sink only writes; leave it out", USAGE)
    if asked.strategy not in STRATEGIES:
        raise BenchError(f"--strategy {asked.strategy}: give one of {', '.join(STRATEGIES)}", USAGE)
    if asked.level == "library" and asked.strategy == "mpi-io":
        raise BenchError(
            "--level library --strategy mpi-io: files of SimGrid's MPI keep no bytes and take the "
            "wrong time; give --level plan, which has its exchange over all ranks, or a strategy "
            "of the library, such as two-phase",
            USAGE,
        )
    if asked.level == "library" and asked.way.about and asked.strategy != "posix":
        own = ", ".join(name for name, way in STRATEGIES.items() if not way.about)
        raise BenchError(
            f"--level library --strategy {asked.strategy}: the library has no such strategy; give "
            f"one of {own}",
            USAGE,
        )
    if asked.placement not in PLACEMENTS:
        raise BenchError(
            f"--placement {asked.placement}: give one of {', '.join(PLACEMENTS)}", USAGE
        )
    if asked.workload == "array" and not asked.shape:
        raise BenchError("weir sim array needs --array-shape, such as 4kx4kx4k", USAGE)
    if asked.workload != "array" and asked.shape:
        raise BenchError(
            f"--array-shape is for weir sim array: leave it out of {asked.workload}", USAGE
        )
    for name in NUMBERS:
        least = 1 if name in ("ranks", "bytes", "steps") else 0
        number = getattr(asked, name)
        if number is not None and number < least:
            option = name.replace("_", "-")
            raise BenchError(f"--{option} {number}: give at least {least}", USAGE)


def plan_beside(asked: Asked) -> Asked:
    """Returns the simulation of the plan of what a workload of weir-bench moves.

    Repetitions of ``array`` and collective calls of the library hold the ranks together; POSIX
    calls of ``sink`` do not.
    """
    if asked.workload == "array":
        return replace(asked, level="plan", meeting=True)
    return replace(asked, workload="messages", level="plan", meeting=asked.strategy != "posix")


def size_in(option: str, text: str) -> int:
    """Returns a number of bytes such as ``64k``."""
    number = number_in(text)
    if number is None or number < 0 or number != number.to_integral_value():
        raise BenchError(f"--{option} {text}: give a number of bytes, such as 64k", USAGE)
    return int(number)


def sweep_levels(texts: Sequence[str]) -> dict[str, list[Value]]:
    """Returns the swept fields with their levels, as ``--sweep NAME=LEVELS`` give them."""
    known = {one.name for one in fields(Asked)}
    swept: dict[str, list[Value]] = {}
    for text in texts:
        name, _, levels = text.partition("=")
        name = name.strip().replace("-", "_")
        if name not in SWEPT or name not in known:
            raise BenchError(
                f"--sweep {text!r}: write NAME=LEVELS with one of "
                f"{', '.join(SWEPT)}, such as stagers=4:96:*2",
                USAGE,
            )
        if name in swept:
            raise BenchError(f"--sweep is given twice for {name}", USAGE)
        try:
            swept[name] = read_levels(levels)
        except LevelError as error:
            raise BenchError(f"--sweep {text}: {error}", USAGE) from None
        if name in NUMBERS and not all(type(level) is int for level in swept[name]):
            raise BenchError(f"--sweep {text}: levels of {name} are whole numbers", USAGE)
    return swept


def points(base: Asked, swept: dict[str, list[Value]]) -> Iterator[Asked]:
    """Yields one simulation for each combination of levels, the last name fastest."""
    count = 1
    for levels in swept.values():
        count *= len(levels)
    if count > MOST_POINTS:
        raise BenchError(f"--sweep has {count} combinations: give at most {MOST_POINTS}", USAGE)
    for combination in product(*swept.values()):
        one = replace(base, **dict(zip(swept, combination, strict=True)))  # type: ignore[arg-type]
        check(one)
        yield one


def level_text(name: str, value: Value) -> str:
    """Returns a level as tables show it."""
    return size_text(float(value)) if name in SIZES else str(value)
