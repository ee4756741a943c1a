"""Records the texts of the nodes of a job, or of this node alone, and those of the machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from weir.bench.errors import FAILED, INTERRUPTED, USAGE, BenchError
from weir.bench.launcher import Launcher
from weir.bench.process import run_child
from weir.platform.discovery import collect
from weir.platform.discovery.recording import (
    MOST_MACHINE_BYTES,
    NODES_FOLDER,
    PROBE,
    SCONTROL,
    TOPOLOGY_CONF,
)

LAUNCH_SECONDS = 300.0
SLURM_FOLDER = "/etc/slurm"


def record(
    folder: Path, launcher: Launcher | None, probe: Path | None, tell: Callable[[str], None]
) -> None:
    """Writes the texts into ``folder``. Texts of the machine that are already there stay."""
    if (folder / NODES_FOLDER).exists():
        raise BenchError(f"{folder} has nodes of an earlier recording: give a new folder", USAGE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f"{folder} cannot be created: {error.strerror}", USAGE) from None
    _record_machine(folder, probe)
    if launcher is None:
        collect.collect_node(folder, os.environ, ranked=False)
    else:
        _launch(folder, launcher, tell)


def _record_machine(folder: Path, probe: Path | None) -> None:
    answer = collect.output_of("scontrol", "show", "topology")
    if answer and not (folder / SCONTROL).exists():
        (folder / SCONTROL).write_text("\n".join(answer) + "\n", encoding="utf-8")
    configured = Path(os.environ.get("SLURM_CONF", f"{SLURM_FOLDER}/slurm.conf"))
    _copy(configured.with_name(TOPOLOGY_CONF), folder / TOPOLOGY_CONF)
    if probe is not None:
        _copy(probe, folder / PROBE)


def _copy(source: Path, target: Path) -> None:
    try:
        if source.stat().st_size <= MOST_MACHINE_BYTES and not target.exists():
            shutil.copyfile(source, target)
    except OSError:
        return  # It is not there, or not for us; the source then says that it is missing.


def _launch(folder: Path, launcher: Launcher, tell: Callable[[str], None]) -> None:
    """Starts a process per rank, each of which runs the module ``collect``."""
    command = [*launcher.command, sys.executable, "-m", collect.__name__, str(folder.resolve())]
    ending = run_child(
        command,
        {**os.environ, **launcher.environment},
        LAUNCH_SECONDS,
        on_stdout=lambda _: None,
        on_stderr=tell,
    )
    if ending.asked_by is not None:
        raise BenchError(f"recording the nodes was interrupted: {ending.describe()}", INTERRUPTED)
    if ending.timed_out:
        raise BenchError(f"recording the nodes took more than {LAUNCH_SECONDS:.0f} s", FAILED)
    if not ending.succeeded:
        raise BenchError(
            f"recording the nodes failed, {ending.describe()}: every node must see {folder} and "
            f"{sys.executable}",
            FAILED,
        )
