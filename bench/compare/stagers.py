"""Stagers of a comparison's own: of this node, or one for other nodes and what it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import CLONE, run

STAGER = CLONE / "build/release/src/stager/weir-stager"
START_SECONDS = 30
GIB = 1 << 30


@dataclass(frozen=True)
class Stager:
    """A running stager."""

    program: Path
    socket: Path
    place: Path
    """Its rendezvous file."""
    process: int

    def sessions(self) -> list[dict[str, Any]]:
        told = run([str(self.program), "--stager-socket", str(self.socket), "--report"])
        sessions: list[dict[str, Any]] = json.loads(told)["sessions"]
        return sessions

    def processor_seconds(self) -> float:
        """Return the processor time of the stager so far."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def largest_memory(self) -> int:
        """Return the most bytes that the stager has had in memory apart from shared ones."""
        lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) << 10


@contextmanager
def running(
    program: Path,
    folder: Path,
    name: str,
    words: Sequence[str],
    *,
    address: str = "127.0.0.1",
    before: Sequence[str] = (),
) -> Iterator[Stager]:
    """Start a stager in a folder, which ends with the block; `before` are words of a launcher."""
    socket, place = folder / name, folder / f"{name}.rendezvous"
    command = [
        *(*before, str(program), "--stager-socket", str(socket), "--stager-listen", address),
        *("--stager-rendezvous", str(place), *words),
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + START_SECONDS
            while not place.exists() or not place.stat().st_size:
                if process.poll() is not None or time.monotonic() > end:
                    sys.exit(f"{' '.join(command)}: the stager does not start")
                time.sleep(0.01)
            yield Stager(program, socket, place, process.pid)
        finally:
            process.terminate()


@contextmanager
def on_this_node(folder: Path, program: Path = STAGER) -> Iterator[dict[str, str]]:
    """Start a stager for ranks of this node, which find it by the variables that this yields.

    The block ends when everything that was handed over is stored.
    """
    socket = folder / "s" / "stager"
    stager = [str(program), "--stager-socket", str(socket)]
    run([*stager, "--detach"])
    try:
        yield {"WEIR_STAGER_SOCKET": str(socket), "WEIR_STAGER": str(program)}
    finally:
        run([*stager, "--stop"])
