"""Asks the counters of a monitor whether a slow host's link is the cause."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weir.analysis.slow_links import LinkUse, judge, text_of, use_of
from weir.analysis.stragglers import Straggler, Transfers
from weir.report.sample_store import SampleStore
from weir.results.schema import Run

LEAST_OWN_WORK = 0.01
"""Seconds; with less than this of work without I/O, nothing is said about the node."""
TELL = "its link or the node itself: the monitors of these hosts (WEIR_MONITOR_ON) would tell which"


def weigh(
    straggler: Straggler, run: Run, transfers: Transfers, direction: str, folder: Path
) -> tuple[bool, str, tuple[str, ...]]:
    """Returns whether the links of slow hosts are the cause, the sentence, and what was weighed."""
    samples = SampleStore.open(folder)
    links = {} if samples is None else _uses(samples, run, transfers, direction)
    judged = judge(straggler.units, links, own_work_of(run, straggler.units))
    if judged is None:
        network = run.environment is not None and (
            run.environment.file_system.get("reach") == "network"
        )
        return False, straggler.text, (TELL,) if network else ()
    text = text_of(straggler) if judged.is_link else straggler.text
    return judged.is_link, text, judged.reasons


def _uses(
    samples: SampleStore, run: Run, transfers: Transfers, direction: str
) -> Mapping[str, LinkUse]:
    spans = _spans(transfers)
    grown = samples.grown_links("bytes_written" if direction == "write" else "bytes_read")
    uses = {}
    for node in run.nodes:
        own = [one for one in grown if one.host == node.host]
        inside = [_inside(one.since, one.time, spans) for one in own]
        sums = [float(one.bytes[yes].sum()) for one, yes in zip(own, inside, strict=True)]
        if not sums:
            continue
        # The card that moved most; a host may have others for other purposes.
        place = int(np.argmax(sums))
        card, yes = own[place], inside[place]
        moved = float(transfers.bytes[np.isin(transfers.rank, node.ranks)].sum())
        use = use_of(card.bytes[yes], (card.time - card.since)[yes], moved)
        if use is not None:
            uses[node.host] = use
    return uses


def _spans(transfers: Transfers) -> NDArray[np.float64]:
    """Returns the first start and the last end of each repetition, a row each."""
    rows = []
    for one in np.unique(transfers.repetition):
        own = transfers.repetition == one
        rows.append((float(transfers.start[own].min()), float(transfers.end[own].max())))
    return np.array(rows)


def _inside(
    since: NDArray[np.float64], time: NDArray[np.float64], spans: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Returns which samples overlap a repetition."""
    inside = np.zeros(len(since), dtype=bool)
    for begin, end in spans:
        inside |= (time > begin) & (since < end)
    return inside


def own_work_of(run: Run, hosts: tuple[str, ...]) -> float | None:
    """Returns how many times as long the slowest of these hosts takes for work without I/O.

    It is 1 if another host is the slowest; None if too little such work was measured.
    """
    longest = mean = 0.0
    for repetition in run.repetitions:
        for function in () if repetition.warmup else repetition.functions:
            for spread in (function.busy_work_seconds, function.payload_seconds):
                mean += spread.mean
                longest += spread.max if spread.max_host in hosts else spread.mean
    return longest / mean if mean >= LEAST_OWN_WORK else None
