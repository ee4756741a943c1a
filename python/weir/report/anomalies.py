"""Examines the events of a run for what is unusual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from weir.analysis.anomalies import LEAST_SECONDS, Finding, find_anomalies
from weir.analysis.batches import first_of_batches, joined
from weir.analysis.slow_links import KIND
from weir.analysis.stragglers import LINK, Level, Transfers
from weir.results.events import OPERATION_NAMES
from weir.results.monitor_records import named
from weir.results.placements import Placement, Used, read_placements, used_by
from weir.results.quantities import phase_name, seconds_text
from weir.results.schema import Anomaly, Phase, Run

if TYPE_CHECKING:
    from weir.report.event_store import EventStore

MOST_TRANSFERS = 200_000
"""If a function has more transfers, syncs included, only every second, third, ... is examined."""
LEAST_TRANSFERS = 30
OTHERS_DATA = ("rank_shift", "rank-shift", "reorder")
"""Parameters by which ranks read the data of others."""
WAITING_SHARE = 0.5
"""Ranks wait for each other if they do so after at least this share of their transfers."""


def examine(folder: Path, run: Run) -> list[Anomaly] | None:
    """Returns what is unusual about the measured repetitions; None if no events were stored."""
    from weir.report.event_store import EventStore  # noqa: PLC0415 (DuckDB takes long to import)

    store = EventStore.open(folder)
    if store is None:
        return None
    phases, indices = measured_phases(run, store)
    found: list[Anomaly] = []
    for phase in phases.values():
        seen = transfers_of_phase(run, phase, store, indices)
        if seen is not None:
            found += _examine_phase(run, phase, seen, len(phases), folder)
    return found


@dataclass(frozen=True)
class Seen:
    """The transfers of a phase, with what they used."""

    transfers: Transfers
    offsets: NDArray[np.int64]
    used: Used | None
    levels: list[Level]


def measured_phases(run: Run, store: EventStore) -> tuple[dict[tuple[str, str], Phase], list[int]]:
    """Returns the phases of the measured repetitions with events, and these repetitions."""
    stored = store.repetitions()
    repetitions = [one for one in run.repetitions if not one.warmup and one.index in stored]
    phases = {(phase.function, phase.direction): phase for r in repetitions for phase in r.phases}
    return {(str(f), str(d)): phase for (f, d), phase in phases.items()}, [
        one.index for one in repetitions
    ]


def transfers_of_phase(
    run: Run, phase: Phase, store: EventStore, repetitions: list[int]
) -> Seen | None:
    """Returns the transfers of a phase in these repetitions; None if they are too few."""
    columns = store.transfers(phase.function, phase.direction, repetitions, MOST_TRANSFERS)
    if len(columns["rank"]) < LEAST_TRANSFERS:
        return None
    transfers, offsets = _with_syncs(columns)
    own = _is_own_data(run, phase)
    used = _used(read_placements(store.folder) if own else [], columns, transfers)
    seen = Seen(transfers, offsets, used, _levels(run, transfers, used, own_files=own))
    return _in_batches(seen, _read_ahead(run, phase))


def _read_ahead(run: Run, phase: Phase) -> int:
    """Returns how many bytes the kernel reads ahead at a time; 0 where it does not, or unknown."""
    if phase.direction != "read" or run.environment is None:
        return 0
    direct = run.parameters.get("direct")
    if direct is not None and direct.value:
        return 0
    if run.environment.file_system.get("reach") != "local":
        return 0
    device = run.environment.hardware.get("block_device")
    found = device.get("read_ahead_bytes") if isinstance(device, dict) else None
    return found if isinstance(found, int) else 0


def _in_batches(seen: Seen, window: int) -> Seen:
    firsts = first_of_batches(seen.transfers, window)
    if len(firsts) == len(seen.transfers):
        return seen
    used = seen.used
    if used is not None:
        used = used._replace(file_of=used.file_of[firsts], target_of=used.target_of[firsts])
    levels = [replace(level, of=level.of[firsts]) for level in seen.levels]
    return Seen(joined(seen.transfers, firsts), seen.offsets[firsts], used, levels)


def _is_own_data(run: Run, phase: Phase) -> bool:
    """Returns whether each rank uses its own file: events do not say which file was used."""
    shifted = any(
        name in run.parameters and run.parameters[name].value not in (0, "none", False)
        for name in OTHERS_DATA
    )
    # W of madbench writes over what it has read, which is then the data of another rank.
    own_writes = phase.direction == "write" and phase.function != "W"
    return own_writes or not shifted


def _examine_phase(run: Run, phase: Phase, seen: Seen, phases: int, folder: Path) -> list[Anomaly]:
    from weir.report.slow_links import weigh  # noqa: PLC0415 (DuckDB takes long to import)

    found = []
    for one in find_anomalies(seen.transfers, seen.levels, seen.offsets, tests=phases):
        kind, text, reasons = one.kind, one.text, [*one.reasons]
        if one.straggler is not None and one.straggler.level == "host":
            is_link, text, weighed = weigh(
                one.straggler, run, seen.transfers, phase.direction, folder
            )
            kind = KIND if is_link else kind
            reasons = [*weighed, *reasons]
        reasons += _way(one, run, seen.transfers, seen.used, seen.levels)
        found.append(
            Anomaly(
                function=phase.function,
                direction=phase.direction,
                kind=kind,
                text=text,
                reasons=reasons,
            )
        )
    return found


def _with_syncs(columns: dict[str, NDArray[np.int64]]) -> tuple[Transfers, NDArray[np.int64]]:
    """Returns the transfers; a sync that follows each write belongs to it.

    Other syncs, such as one at the end, are left out: their bytes are not known.
    """
    is_sync = columns["operation"] == OPERATION_NAMES.index("sync")
    start, end, wait = (columns[name] for name in ("start_ns", "end_ns", "barrier_wait_ns"))
    moves = np.flatnonzero(~is_sync)
    following = np.minimum(moves + 1, len(is_sync) - 1)
    its_own = is_sync[following] & (columns["rank"][following] == columns["rank"][moves])
    if its_own.all():
        end = end.copy()
        end[moves] = np.maximum(end[moves], end[following])
        wait = np.maximum(wait, np.where(np.roll(is_sync, -1), np.roll(wait, -1), 0))
    waits = float(np.mean(wait[moves] > 0)) >= WAITING_SHARE
    bins = columns["bin"][moves]
    repetition = np.unique(columns["repetition"][moves], return_inverse=True)[1].reshape(-1)
    transfers = Transfers(
        start=start[moves].astype(np.float64) * 1e-9,
        end=end[moves].astype(np.float64) * 1e-9,
        bytes=columns["bytes"][moves].astype(np.float64),
        rank=columns["rank"][moves],
        step=bins if waits else np.zeros_like(bins),
        repetition=repetition.astype(np.int64),
    )
    return transfers, columns["offset_bytes"][moves]


def _used(
    placed: Sequence[Placement], columns: dict[str, NDArray[np.int64]], transfers: Transfers
) -> Used | None:
    """Returns which file and target each transfer used; None if that is not known of all."""
    if not placed:
        return None
    moves = columns["operation"] != OPERATION_NAMES.index("sync")
    repetition, offsets = columns["repetition"][moves], columns["offset_bytes"][moves]
    sizes = transfers.bytes.astype(np.int64)
    used = used_by(placed, repetition, transfers.rank, offsets, sizes)
    return used if bool((used.file_of >= 0).all()) else None


def _levels_of_placements(used: Used | None) -> list[Level]:
    """Returns servers and targets, so far as there are several and each transfer uses one."""
    if used is None or bool((used.target_of < 0).any()):
        return []
    levels = []
    servers = [used.servers[name] for name in used.targets]
    known = sorted({name for name in servers if name is not None})
    if None not in servers and 1 < len(known) < len(used.targets):
        of_target = np.array([known.index(str(name)) for name in servers])
        levels.append(Level("server", of_target[used.target_of], known))
    if len(np.unique(used.target_of)) > 1:
        levels.append(Level("target", used.target_of, used.targets))
    return levels


def _way(
    finding: Finding,
    run: Run,
    transfers: Transfers,
    used: Used | None,
    levels: Sequence[Level],
) -> list[str]:
    """Returns which ranks, hosts, files, targets and servers the slow transfers used."""
    straggler = finding.straggler
    if used is None or straggler is None:
        return []
    level = next(one for one in levels if one.name == straggler.level)
    slow = np.isin(level.of, [list(level.names).index(name) for name in straggler.units])
    ranks = [int(rank) for rank in np.unique(transfers.rank[slow])]
    hosts = sorted({node.host for node in run.nodes if set(node.ranks) & set(ranks)})
    files = [Path(used.files[place]).name for place in np.unique(used.file_of[slow])]
    places = np.unique(used.target_of[slow])
    targets = [used.targets[place] for place in places if place >= 0]
    servers = sorted({name for one in targets if (name := used.servers[one]) is not None})
    steps = [
        f"{what} {named(names)}"
        for what, names in (
            ("rank", [str(rank) for rank in ranks]),
            ("node", hosts),
            ("file", files),
            ("target", targets),
            ("server", servers),
        )
        if names
    ]
    return ["its transfers go from " + " to ".join(steps)]


def _levels(
    run: Run, transfers: Transfers, used: Used | None = None, *, own_files: bool = True
) -> list[Level]:
    """Returns servers, targets, hosts and ranks, so far as there are several.

    Targets are those on which files lie; where they are not known, the directories, unless ranks
    use the files of others.
    """
    levels = _levels_of_placements(used)
    if not own_files or any(level.name == "target" for level in levels):
        directories = {}
    else:
        directories = {rank: one.directory for one in run.targets for rank in one.ranks}
    for name, names, of_ranks in (
        ("target", directories, False),
        ("host", {rank: node.host for node in run.nodes for rank in node.ranks}, True),
        ("rank", {int(rank): str(rank) for rank in np.unique(transfers.rank)}, True),
    ):
        ranks = np.unique(transfers.rank)
        if any(int(rank) not in names for rank in ranks):
            continue
        known = sorted({names[int(rank)] for rank in ranks})
        if len(known) < 2:
            continue
        code = {one: place for place, one in enumerate(known)}
        of = np.array([code[names[int(rank)]] for rank in ranks])
        levels.append(Level(name, of[np.searchsorted(ranks, transfers.rank)], known, of_ranks))
    links = _links(levels)
    return levels if links is None else [*levels[:-1], links, *levels[-1:]]


def _links(levels: Sequence[Level]) -> Level | None:
    """Returns the pairs of hosts and servers, or targets; None if these cannot be told from others.

    Each host has to use several servers and each server has to serve several hosts, and a pair has
    to be more than one rank.
    """
    named_levels = {level.name: level for level in levels}
    hosts, ranks = named_levels.get("host"), named_levels.get("rank")
    ends = named_levels.get("server", named_levels.get("target"))
    if hosts is None or ends is None or ranks is None:
        return None
    pairs, of = np.unique(hosts.of * len(ends.names) + ends.of, return_inverse=True)
    of = of.reshape(-1)
    host_of, end_of = np.divmod(pairs, len(ends.names))
    if min(np.bincount(host_of).min(), np.bincount(end_of).min()) < 2:
        return None
    if len(np.unique(of * len(ranks.names) + ranks.of)) <= len(pairs):
        return None
    names = [
        f"{hosts.names[host]} to {ends.names[end]}"
        for host, end in zip(host_of, end_of, strict=True)
    ]
    return Level(LINK, of, names, of_ranks=True)


def sentences(run: Run) -> list[str]:
    """Returns a line for each anomaly, with what was weighed, and one for what was not examined."""
    if run.anomalies is None:
        return []
    said = [
        f"{phase_name(one.function, one.direction)}: {'; '.join([one.text, *one.reasons])}"
        for one in run.anomalies
    ]
    seconds = seconds_of_phases(run)
    short = [key for key, one in seconds.items() if is_short(one)]
    if not said and len(short) < len(seconds):
        said.append("nothing was found in the events")
    if short:
        listed = ", ".join(f"{phase_name(*key)} {seconds_text(seconds[key])}" for key in short)
        said.append(
            f"not asked where a rank moves bytes for less than {seconds_text(LEAST_SECONDS)} in "
            f"all, since a busy processor alone could cost 5 % of that ({listed})"
        )
    return said


def seconds_of_phases(run: Run) -> dict[tuple[str, str], float]:
    """Returns how long a rank moved bytes in each phase, in the measured repetitions together."""
    seconds: dict[tuple[str, str], float] = {}
    for repetition in run.repetitions:
        for phase in () if repetition.warmup else repetition.phases:
            key = (str(phase.function), str(phase.direction))
            seconds[key] = seconds.get(key, 0.0) + phase.io_seconds.mean
    return seconds


def is_short(seconds: float) -> bool:
    return seconds < LEAST_SECONDS
