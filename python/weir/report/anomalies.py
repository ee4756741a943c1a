"""Examines the events of a run for what is unusual."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weir.analysis.anomalies import find_anomalies
from weir.analysis.stragglers import Level, Transfers
from weir.results.events import OPERATION_NAMES
from weir.results.quantities import phase_name
from weir.results.schema import Anomaly, Phase, Run

MOST_TRANSFERS = 200_000
"""Of more transfers of a function, syncs included, every second, third, ... bin is examined."""
LEAST_TRANSFERS = 30
WAITING_SHARE = 0.5
"""Ranks wait for each other if they do so after at least this share of their transfers."""


def examine(folder: Path, run: Run) -> list[Anomaly] | None:
    """Returns what is unusual about the measured repetitions; None if no events were stored."""
    from weir.report.event_store import EventStore  # noqa: PLC0415 (DuckDB takes long to import)

    store = EventStore.open(folder)
    if store is None:
        return None
    stored = store.repetitions()
    repetitions = [one for one in run.repetitions if not one.warmup and one.index in stored]
    phases = {(phase.function, phase.direction): phase for r in repetitions for phase in r.phases}
    indices = [one.index for one in repetitions]
    found: list[Anomaly] = []
    for phase in phases.values():
        columns = store.transfers(phase.function, phase.direction, indices, MOST_TRANSFERS)
        if len(columns["rank"]) >= LEAST_TRANSFERS:
            found += _examine_phase(run, phase, columns, len(phases))
    return found


def _examine_phase(
    run: Run, phase: Phase, columns: dict[str, NDArray[np.int64]], phases: int
) -> list[Anomaly]:
    transfers, offsets = _with_syncs(columns)
    levels = _levels(run, transfers)
    found = find_anomalies(transfers, levels, offsets, tests=phases)
    return [
        Anomaly(
            function=phase.function,
            direction=phase.direction,
            kind=one.kind,
            text=one.text,
            reasons=list(one.reasons),
        )
        for one in found
    ]


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


def _levels(run: Run, transfers: Transfers) -> list[Level]:
    """Returns targets, hosts and ranks, so far as there are several."""
    levels = []
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
    return levels


def sentences(run: Run) -> list[str]:
    """Returns a line for each anomaly, with what was weighed."""
    return [
        f"{phase_name(one.function, one.direction)}: {'; '.join([one.text, *one.reasons])}"
        for one in run.anomalies or []
    ]
