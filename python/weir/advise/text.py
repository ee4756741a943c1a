"""Formats what `weir run --advise` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weir.advise.rules import Advice
from weir.advise.use import MOVING, Use


def advice_text(use: Use, advice: Sequence[Advice]) -> Iterator[str]:
    """Yields lines: what was counted, what the records lack, what is wrong and what to do."""
    yield _summary(use)
    yield from _missing(use)
    rows = [
        (name, sum(by_rank.values()), *max((count, -rank) for rank, count in by_rank.items()))
        for name, by_rank in use.counts.items()
        if name not in MOVING
    ]
    who = "rank" if use.has_ranks else "process"
    for name, count, most, rank in sorted(rows, key=lambda row: -row[1]):
        on = f", most on {who} {-rank}: {most}" if use.ranks > 1 else ""
        yield f"  {name:9} {count:10}{on}"
    if not advice:
        yield "There is no advice: no threshold was reached (weir run --help)."
    kind = ""
    for one in advice:
        if one.kind != kind:
            yield f"{one.kind[0].upper()}{one.kind[1:]}. To do: {one.to_do}."
            kind = one.kind
        yield f"  {one.what}"


def _summary(use: Use) -> str:
    kind = "rank" if use.has_ranks else "process"
    many = {"rank": "ranks", "process": "processes"}[kind]
    seconds = max(use.seconds.values(), default=0.0)
    return (
        f"{use.ranks} {kind if use.ranks == 1 else many}, {use.duration:.1f} s: "
        f"{use.metadata_operations} metadata operations on {len(use.files)} files and folders, "
        f"{seconds:.2f} s of the {kind} with most"
    )


def _missing(use: Use) -> Iterator[str]:
    if use.killed:
        yield f"{use.killed} processes were killed: these figures do not include their calls"
    if use.ranks_told and use.ranks + use.killed < use.ranks_told:
        left = use.ranks + use.killed
        yield (
            f"of {use.ranks_told} ranks only {left} left a record: give --records a folder that "
            "all nodes can access, and let the launcher pass on two variables (mpirun -x "
            "LD_PRELOAD -x WEIR_CALLS_FOLDER)"
        )
    if use.left_out:
        yield (
            f"{use.left_out} operations are on files beyond the 4096 busiest files of each "
            "process: only the sums include them"
        )
