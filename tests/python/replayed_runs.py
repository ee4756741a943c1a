"""Replays of records by ``weir bench replay``, and what they moved."""

from __future__ import annotations

from pathlib import Path

from test_cli_real import weir
from weir.results.folder import find_run_folders, load_run
from weir.results.schema import Run

ONCE = ("--warmups", "0", "--repetitions", "1", "--max-repetitions", "1", "--go-on", "0")


def replayed(folder: Path, *words: str) -> list[Run]:
    status, out, err = weir(folder, "bench", "replay", *words, *ONCE, "--output", "results")
    assert status == 0, out + err
    assert not [one for one in folder.iterdir() if one.name.startswith("weir-test")]
    return [load_run(one) for one in find_run_folders(folder / "results")]


def moved_by(run: Run) -> dict[str, tuple[int, int]]:
    """Operations and bytes of the last repetition, by direction."""
    return {
        phase.direction: (phase.operations, phase.bytes) for phase in run.repetitions[-1].phases
    }
