"""What a case of the soak does, drawn from its seed alone; arrays in files, no MPI.

A case is one file and a few phases. Each phase is a session of its own on its own number of ranks:
it reads every step that was acknowledged before, then adds steps. What an element should be is kept
beside the file before it is written (`Model`), so that a program that was killed leaves behind what
the file should hold.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SUFFIXES = {"hdf5": "h5", "cdf5": "nc", "zarr": "zarr", "raw": "raw"}
TYPES = {
    "hdf5": "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64",
    "cdf5": "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64",
    "zarr": "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64 complex128 bool",
}
TYPES["raw"] = TYPES["zarr"]
CODECS = {
    "hdf5": ["zstd:1", "deflate:1", "shuffle,zstd:1", "shuffle,deflate:1,fletcher32"],
    "zarr": ["zstd:1", "gzip:1", "gzip:1,crc32c", "zstd:3,crc32c"],
}
STRATEGIES = ["automatic", "direct", "node", "two-phase", "server-directed"]
ENGINES = ["automatic", "posix", "io_uring", "direct-io", "mpi-io"]
MPI_CALLS_OF_SESSIONS = ["MPI_Comm_idup", "MPI_Comm_split", "MPI_Comm_split_type"]
MPI_CALLS = [
    "MPI_Isend", "MPI_Issend", "MPI_Irecv", "completion", "MPI_Test", "MPI_Iallreduce",
    "MPI_Ibcast", "MPI_Iallgather", "MPI_Iallgatherv", "MPI_Igather", "MPI_Igatherv",
    "MPI_Ibarrier", *MPI_CALLS_OF_SESSIONS,
]  # fmt: skip
"""Those that faulty_mpi.so makes fail."""
SHORT_OF_MEMORY = "call=fallocate,nth={nth},error=ENOSPC,tree=/memfd:"
OPENING_THE_FILE, OPENING_THE_SESSION = -1, -2
BROKEN = ("BrokenError", "DeadlineError")
"""What the calls of a session raise whose messages failed."""
HALF_WAY = (
    "its first commit failed after a part of it",
    "readers may see the change",
    *(f"ending a step: {name}" for name in BROKEN),
)
"""In the error of a first step whose file got its name before something else failed, of a step
whose changes could not be taken back, or of one whose last messages failed."""
MOST_RANKS = 6
SESSION_DEADLINE_SECONDS = 30


@dataclass
class ArrayDrawn:
    """An array of the file; the shape is that of one step where it grows."""

    name: str
    shape: tuple[int, ...]
    kind: str
    grows: bool
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def memory_shape(self) -> tuple[int, ...]:
        """An array of one number per step is one element in memory."""
        return self.shape or (1,)

    @property
    def has_many_chunks(self) -> bool:
        return math.prod(self.shape) > 1000 and self.options.get("chunks") == (1, 1)

    @property
    def is_shared_by_ranks(self) -> bool:
        """Whether no rank may write a region by itself: its chunks are compressed."""
        return "codec" in self.options

    @property
    def unwritten(self) -> list[Any]:
        """What an element may be that nobody wrote; [] where that is not looked at."""
        if self.kind == "bool":
            return []
        fill = np.array(self.options.get("fill", 0)).astype(self.kind)
        # A chunk without codecs that was written in part has zeros in its rest.
        return [fill] if "codec" in self.options else [fill, np.zeros((), self.kind)]

    def values(self, seed: int, generation: int, step: int, turn: int) -> np.ndarray[Any, Any]:
        rng = np.random.default_rng([seed, generation, step, turn, len(self.name)])
        return rng.integers(1, 100, self.memory_shape).astype(self.kind)


@dataclass
class Addition:
    """Arrays and attributes that the file gets after its first step."""

    phase: int
    before_step: int
    """Number of the step in the phase; as many as it adds: behind its last step."""
    arrays: list[ArrayDrawn]
    attributes: list[tuple[str, str, str | int | float]]
    """Owner, name and value of each."""
    with_the_step: bool
    """Added by beginning the step, in place of a call of its own."""


@dataclass
class Loss:
    """A phase loses stagers, and its ranks write the steps that follow."""

    step: int
    """Number of the step in the phase; as many as it adds: behind its last step."""
    moment: str
    """beginning | writing | ending: before this call of the step."""
    stagers: list[int]
    """Numbers of the stagers."""
    kills: bool
    """The stagers are killed; otherwise the storage refuses to take what they write."""


@dataclass
class Phase:
    """One session: its ranks and settings, the steps it adds, what goes wrong, how it ends."""

    number: int
    ranks: int
    settings: dict[str, Any]
    steps: int
    makes: bool
    """The file is made anew; otherwise it is opened."""
    ending: str
    """close | abandon | unfinished: a step is begun, written, and not ended."""
    fault: str = ""
    """For faulty_io.so, armed when step `fault_step` of this phase begins, OPENING_THE_FILE or
    OPENING_THE_SESSION; {tree} is the file's name."""
    fault_step: int = 0
    staged: bool = False
    """Stagers store its steps."""
    loss: Loss | None = None
    """What happens to its stagers; None: they have no fault."""
    mpi_fault: str = ""
    """For faulty_mpi.so, armed as `fault` is."""
    after_fault: str = "retry"
    attempts: int = 1
    """So many attempts of the step meet the fault; the one after them meets none."""
    killed: bool = False


@dataclass
class Case:
    """One file from beginning to end."""

    seed: int
    launch: str
    """What becomes of its first phase: plain, or killed."""
    file_format: str
    options: dict[str, Any]
    arrays: list[ArrayDrawn]
    phases: list[Phase]
    kill_after: float
    """Seconds after the first phase began; when it has an effect `kill` the fault comes first."""
    kill_rank: int | None
    additions: list[Addition] = field(default_factory=list)
    journaled: bool = False
    """Its stagers keep journals and are killed with the first phase; others store its steps."""
    stagers: int = 2
    small_shm: bool = False
    """The case runs where /dev/shm has room for 256 KiB, as in a container."""

    @property
    def file_name(self) -> str:
        return f"weir-{self.seed}.{SUFFIXES[self.file_format]}"

    @property
    def growing(self) -> list[ArrayDrawn]:
        return [array for array in self.arrays if array.grows]

    @property
    def loses_stagers(self) -> bool:
        return any(phase.loss for phase in self.phases)

    @property
    def later(self) -> dict[str, ArrayDrawn]:
        """The arrays of all additions."""
        return {one.name: one for addition in self.additions for one in addition.arrays}

    def stored(self, array: ArrayDrawn, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The values as whoever opens the file finds them: HDF5 and NetCDF hold rows alone."""
        column_major = array.options.get("order") == "F"
        return values.T if column_major and self.file_format in {"hdf5", "cdf5"} else values

    def __str__(self) -> str:
        shm = ", small /dev/shm" if self.small_shm else ""
        journal = f", with its stagers ({self.stagers})" if self.journaled else ""
        lines = [f"{self.file_format}, {self.launch}{journal}{shm}, file {self.options}"]
        lines += [f"  {array}" for array in self.arrays]
        lines += [f"  {phase}" for phase in self.phases]
        lines += [f"  {addition}" for addition in self.additions]
        return "\n".join(lines)


def drawn_array(draw: random.Random, file_format: str, number: int) -> ArrayDrawn:
    grows = draw.random() < 0.8
    if grows and draw.random() < 0.05:
        shape: tuple[int, ...] = ()
    elif draw.random() < 0.2:  # rows of some length
        shape = draw.choice([(draw.randint(1, 2000),), (draw.randint(1, 40), draw.randint(1, 60))])
    else:
        shape = tuple(draw.randint(1, 9) for _ in range(draw.choice([1, 2, 2, 3, 3, 4, 5])))
    array = ArrayDrawn(
        f"array{number}" if draw.random() < 0.7 or file_format == "cdf5" else f"group/a{number}",
        shape,
        draw.choice(TYPES[file_format].split()),
        grows,
    )
    options = array.options
    if draw.random() < 0.3:
        options["fill"] = draw.choice([0, 1, 7])
    if shape and not grows and draw.random() < 0.2:
        options["order"] = "F"
    if shape and file_format != "cdf5" and draw.random() < 0.7:
        extents = tuple(draw.randint(max(1, extent // 12), extent) for extent in shape)
        if file_format in CODECS and draw.random() < 0.6:
            options |= {"chunks": extents, "codec": draw.choice(CODECS[file_format])}
        elif draw.random() < 0.2:
            options["typical_request"] = extents
        else:
            options["chunks"] = extents
        if file_format == "zarr" and "chunks" in options and draw.random() < 0.3:
            options["shards"] = tuple(extent * draw.randint(1, 4) for extent in extents)
    return array


def array_of_many_chunks(draw: random.Random, file_format: str) -> ArrayDrawn:
    """Over 8192 chunks in one step or in all of them together, most of them never written."""
    side = draw.choice([40, 60, 92, 110])
    options: dict[str, Any] = {"chunks": (1, 1), "fill": draw.choice([0, 7])}
    if file_format in CODECS and draw.random() < 0.8:
        options["codec"] = draw.choice(CODECS[file_format])
    return ArrayDrawn("array0", (side, side), "int16", True, options)


def drawn_settings(draw: random.Random) -> dict[str, Any]:
    return {
        "strategy": draw.choice(STRATEGIES),
        "aggregators": draw.choice([0, 0, 1, 2, 3]),
        "buffer_bytes": draw.choice([0, 16, 40, 100, 1000]),
        "buffers": draw.choice([0, 0, 2, 3]),
        "ranks_per_node": draw.choice([0, 0, 1, 2, 3]),
        "engine": draw.choice(ENGINES),
        "deadline_seconds": SESSION_DEADLINE_SECONDS,
    }


def drawn_fault(draw: random.Random, ranks: int) -> str:
    call = draw.choice(["pwrite", "pwrite", "pread", "open", "fsync", "fdatasync"])
    effect = "error=" + draw.choice(["EIO", "EIO", "ENOSPC", "EINTR"])
    if call == "pwrite" and draw.random() < 0.2:
        effect = "effect=short"
    rank = draw.choice([f"rank={draw.randrange(ranks)},", ""])
    return f"{rank}call={call},nth={draw.randint(1, 5)},{effect},tree={{tree}}/"


def drawn_mpi_fault(draw: random.Random, ranks: int) -> str:
    call = draw.choice(MPI_CALLS)
    effect = ",effect=short" if call == "completion" and draw.random() < 0.5 else ""
    return f"rank={draw.randrange(ranks)},call={call},nth={draw.randint(1, 6)}{effect}"


def drawn_kill(draw: random.Random, ranks: int) -> str:
    """A rank ends in one of its own calls of the system; "" where it is killed from outside."""
    if draw.random() < 0.4:
        return ""
    call = draw.choice(["pwrite", "pwrite", "open", "fsync", "fdatasync"])
    rank = draw.randrange(ranks)
    return f"rank={rank},call={call},nth={draw.randint(1, 8)},effect=kill,tree={{tree}}/"


def drawn_additions(case: Case) -> list[Addition]:
    """Drawn apart from the rest of the case, so that it is the same with and without them."""
    draw = random.Random(f"{case.seed} additions")
    additions: list[Addition] = []
    for phase in case.phases if case.growing else []:
        if draw.random() > 0.35:
            continue
        # A CDF file that has steps has no place for arrays.
        may_have_arrays = case.file_format != "cdf5" or draw.random() < 0.1
        first = 100 + 10 * phase.number
        arrays = [
            drawn_array(draw, case.file_format, first + number)
            for number in range(draw.choice([0, 1, 1, 2, 3]) if may_have_arrays else 0)
        ]
        owners = ["", *(one.name for one in [*case.arrays, *arrays])]
        attributes = [
            (draw.choice(owners), f"note{first + number}", drawn_value(draw))
            for number in range(draw.choice([0, 1, 2]) if arrays else draw.choice([1, 2]))
        ]
        # A file gets something added from its first step on.
        before = draw.randint(min(1, phase.steps) if phase.makes else 0, min(5, phase.steps))
        at_once = case.file_format == "cdf5" or bool(phase.fault or phase.mpi_fault)
        with_the_step = not at_once and before < phase.steps and draw.random() < 0.4
        additions.append(Addition(phase.number, before, arrays, attributes, with_the_step))
    return additions


def draw_stagers(case: Case) -> None:
    """Drawn apart from the rest of the case, as additions are."""
    draw = random.Random(f"{case.seed} stagers")
    if draw.random() > 0.35:
        return
    for phase in case.phases:
        phase.staged = draw.random() < 0.8
        phase.settings |= {"staging": draw_placement(case, phase)} if phase.staged else {}


def draw_placement(case: Case, phase: Phase) -> str:
    """Drawn apart from the rest of the case, too."""
    return random.Random(f"{case.seed} {phase.number} placement").choice(["node", "service"])


def draw_journal(case: Case) -> None:
    """Drawn apart from the rest of the case, too."""
    if case.launch != "killed" or random.Random(f"{case.seed} journal").random() < 0.5:
        return
    case.journaled = True
    case.stagers = random.Random(f"{case.seed} stagers").choice([1, 2, 2])
    case.options["durability"] = "journal"
    for phase in case.phases:
        phase.staged = True
        phase.settings["staging"] = draw_placement(case, phase)


def draw_loss(case: Case) -> None:
    """Drawn apart from the rest of the case, too. A session that comes later has no stagers."""
    draw = random.Random(f"{case.seed} lost stagers")
    adding = {one.phase for one in case.additions}
    losing = [
        phase
        for phase in case.phases
        if phase.staged and phase.steps > 0 and phase.ending == "close"
        and not (phase.fault or phase.mpi_fault or phase.number in adding)
    ]  # fmt: skip
    if case.launch != "plain" or case.small_shm or not losing or draw.random() < 0.5:
        return
    phase = draw.choice(losing)
    step = draw.randint(0, phase.steps)
    moment = draw.choice(["beginning", "writing", "ending"]) if step < phase.steps else "beginning"
    phase.loss = Loss(step, moment, draw.choice([[0], [1], [0, 1]]), draw.random() < 0.5)
    phase.settings["staging_lost"] = "direct"
    for later in case.phases[phase.number + 1 :]:
        later.staged = False
        later.settings.pop("staging", None)


def drawn_value(draw: random.Random) -> str | int | float:
    return draw.choice(["x", "of a text", draw.randint(-5, 1 << 40), draw.random()])


def drawn_case(seed: int) -> Case:
    draw = random.Random(seed)
    share = draw.random()
    launch = "killed" if share < 0.12 else "plain"
    file_format = draw.choice(["hdf5", "hdf5", "hdf5", "cdf5", "cdf5", "zarr", "zarr", "raw"])
    options: dict[str, Any] = {
        "durability": draw.choice(["none", "none", "step", "operation"]),
        "checksum": draw.choice([None, None, "crc32c"]),
        "alignment_bytes": draw.choice([0, 0, 1, 512]),
    }
    many_chunks = file_format != "cdf5" and draw.random() < 0.06
    if many_chunks:
        arrays = [array_of_many_chunks(draw, file_format)]
    else:
        count = draw.choice([1, 1, 1, 2, 3, 5])
        arrays = [drawn_array(draw, file_format, number) for number in range(count)]
    grows = any(array.grows for array in arrays)
    phases = []
    for number in range(draw.choice([1, 2, 2, 3]) if grows else draw.choice([1, 1, 2])):
        ranks = draw.choice([1, 2, 2, 3, 4, 5, MOST_RANKS])
        again = draw.random() < (0.1 if grows else 0.5)
        makes = number == 0 or (again and file_format != "zarr")  # which replaces no folder
        phase = Phase(
            number,
            ranks,
            drawn_settings(draw),
            (draw.randint(2, 5) if many_chunks else draw.randint(0 if number else 1, 4))
            if grows
            else int(makes),
            makes,
            draw.choice(["close"] * 5 + ["abandon"] + ["unfinished"] * grows),
        )
        if draw.random() < 0.2:
            phase.fault = drawn_fault(draw, ranks)
            phase.fault_step = draw.randint(OPENING_THE_FILE, max(0, phase.steps - 1))
            if draw.random() < 0.2:
                # The first rank of a node that reserves memory to share is told that there is none:
                # once, or each time until it asks again.
                phase.fault = SHORT_OF_MEMORY.format(nth=draw.choice([0, 1]))
                phase.fault_step = draw.choice([OPENING_THE_SESSION, phase.fault_step])
            phase.after_fault = draw.choice(["retry", "reopen"])
            phase.attempts = draw.choice([1, 1, 2, 3])
        elif ranks > 1 and draw.random() < 0.1:
            phase.mpi_fault = drawn_mpi_fault(draw, ranks)
            phase.fault_step = draw.randint(OPENING_THE_FILE, max(0, phase.steps - 1))
            if any(f"call={call}," in phase.mpi_fault for call in MPI_CALLS_OF_SESSIONS):
                phase.fault_step = OPENING_THE_SESSION
            phase.after_fault = "reopen"  # a session whose messages failed is broken
        phases.append(phase)
    case = Case(seed, launch, file_format, options, arrays, phases, 0, None)
    case.small_shm = launch == "plain" and draw.random() < 0.03
    if launch == "killed":
        first = phases[0]
        first.killed, first.steps, first.ending = True, 60 if grows else 1, "close"
        first.mpi_fault = ""
        first.fault, first.fault_step = drawn_kill(draw, first.ranks), draw.randrange(4)
        case.kill_after = draw.uniform(0, 0.3)
        case.kill_rank = draw.choice([None, *range(first.ranks)])
    case.additions = drawn_additions(case)
    draw_stagers(case)
    draw_loss(case)
    draw_journal(case)
    return case


@dataclass
class Model:
    """What the file should hold, kept in files of a folder beside it."""

    case: Case
    folder: Path

    def _values_file(self, generation: int, step: int | str) -> Path:
        return self.folder / f"{generation}-{step}.npz"

    def keep(
        self,
        generation: int,
        step: int | str,
        values: dict[str, np.ndarray[Any, Any]],
        known: dict[str, np.ndarray[Any, Any]],
    ) -> None:
        """Before a step is written; again where it is begun again.

        `step` is "fixed" for arrays without steps, "fixed-NAME" for one that was added.
        """
        named = {f"{name}|values": array for name, array in values.items()}
        named |= {f"{name}|known": array for name, array in known.items()}
        beside = self.folder / "new.npz"
        np.savez(beside, **named)  # type: ignore[arg-type]
        beside.replace(self._values_file(generation, step))

    def step(
        self, generation: int, step: int, one: ArrayDrawn
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The values of an array in a step, and which of its elements were written."""
        file = self._values_file(generation, step + 1 if one.grows else self.fixed(one))
        name = one.name
        if name in self.case.later and not file.exists():
            return nothing_of(one)
        with np.load(file) as kept:
            if f"{name}|values" not in kept and name in self.case.later:
                return nothing_of(one)  # it was added behind this step
            return kept[f"{name}|values"], kept[f"{name}|known"]

    def fixed(self, one: ArrayDrawn) -> str:
        """The `step` to keep an array without steps under."""
        if one.name in self.case.later:
            return f"fixed-{one.name.replace('/', '-')}"
        return "fixed"

    def is_settled(self, generation: int, one: ArrayDrawn) -> bool:
        """Whether it is known what an array holds.

        One without steps that was added is not where the step that it was written in did not end.
        """
        if one.grows or one.name not in self.case.later:
            return True
        is_written = ["wrote", str(generation), one.name] in self.told()
        return is_written or not self._values_file(generation, self.fixed(one)).exists()

    def tell(self, line: str) -> None:
        """Any rank may, at any time; whole lines."""
        place = os.open(self.folder / "told", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(place, f"{line}\n".encode())
        os.close(place)

    def told(self) -> list[list[str]]:
        told = self.folder / "told"
        return [line.split() for line in told.read_text().splitlines()] if told.exists() else []

    def acknowledged(self) -> tuple[int, int]:
        """The generation of the file and its steps, as ranks were told; -1, 0: no file yet."""
        generation, steps = -1, 0
        for line in self.told():
            if line[0] == "ended":
                told = (int(line[1]), int(line[2]))
                generation, steps = max((generation, steps), told)
            elif line[0] == "dropped":
                steps = int(line[2])
        return generation, steps

    def is_disturbed(self) -> bool:
        """Whether something unfinished may lie there: a step that was begun and did not end."""
        unfinished = any(one.killed or one.ending == "unfinished" for one in self.case.phases)
        return unfinished or any(line[0] in {"failed", "again"} for line in self.told())

    def arrays(self, generation: int) -> list[ArrayDrawn]:
        """The arrays of a file, as ranks were told: those it was made with, and added ones."""
        added = self._told_of("added", generation)
        return [*self.case.arrays, *(self.case.later[name] for name in added)]

    def attributes(self, generation: int) -> list[tuple[str, str, str | int | float]]:
        """Those that were added, as ranks were told."""
        names = {one.name for one in self.arrays(generation)}
        numbers = map(int, self._told_of("attributed", generation))
        return [
            one
            for number in numbers
            for one in self.case.additions[number].attributes
            if not one[0] or one[0] in names
        ]

    def _told_of(self, word: str, generation: int) -> list[str]:
        """What lines of this kind tell of a file; each thing once, in order."""
        lines = (line for line in self.told() if line[:2] == [word, str(generation)])
        return list(dict.fromkeys(one for line in lines for one in line[3:]))

    def perhaps_added(self, generation: int) -> list[tuple[int, list[str]]]:
        """Additions that were begun and neither ended nor were declined: numbers and arrays."""
        begun: dict[int, list[str]] = {}
        for line in self.told():
            if line[0] in {"adding", "added", "declined"} and line[1] == str(generation):
                if line[0] == "adding":
                    begun[int(line[2])] = line[3:]
                else:
                    begun.pop(int(line[2]), None)
        return list(begun.items())

    def begun(self) -> tuple[int, int]:
        """The last step that was begun, as `acknowledged` would have it."""
        steps = [(int(line[1]), int(line[2])) for line in self.told() if line[0] == "begun"]
        return steps[-1] if steps else (-1, 0)

    def was_killed_after_beginning(self) -> bool:
        """Whether the last step that was begun was begun in a phase that was killed."""
        phases = [int(line[3]) for line in self.told() if line[0] == "begun"]
        return bool(phases) and self.case.phases[phases[-1]].killed

    def failed_half_way(self) -> bool:
        """Whether the library said of a failed step that readers may see it."""
        lines = [" ".join(line) for line in self.told()]
        return any(text in line for text in HALF_WAY for line in lines)


def nothing_of(one: ArrayDrawn) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The values and known elements of an array of which nothing was written."""
    return np.zeros(one.memory_shape, one.kind), np.zeros(one.memory_shape, bool)


def wrong_attributes(
    wanted: Sequence[tuple[str, str, str | int | float]], found: Callable[[str], Mapping[str, Any]]
) -> str:
    """A line about an attribute that is not what it should be; `found`: those of an owner."""
    for owner, name, value in wanted:
        there = found(owner).get(name)
        if isinstance(there, bytes):
            there = there.decode()
        if there is None or np.ndim(there) > 1 or not np.all(np.asarray(there) == value):
            return f"attribute {name} of {owner!r} is {there!r} where {value!r} was added"
    return ""


def wrong_elements(
    found: np.ndarray[Any, Any],
    values: np.ndarray[Any, Any],
    known: np.ndarray[Any, Any],
    unwritten: Sequence[Any] = (),
) -> str:
    """A line about the elements that are not what they should be; "": none.

    `known`: those that were written, `unwritten`: what each other one may be; nothing: anything.
    """
    if found.size != values.size or (values.ndim == found.ndim and found.shape != values.shape):
        return f"has shape {found.shape}, not {values.shape}"
    found = found.reshape(values.shape)
    differ = (found != values) & known
    if not differ.any() and len(unwritten) > 0:
        differ = ~known & np.all([found != fill for fill in unwritten], axis=0)
    if not differ.any():
        return ""
    first = tuple(int(i) for i in np.argwhere(differ)[0])
    wanted = f"{values[first]}" if known[first] else "nothing"
    return (
        f"has {int(differ.sum())} wrong elements of {math.prod(values.shape)}, the first at "
        f"{first}: {found[first]} where {wanted} was written"
    )
