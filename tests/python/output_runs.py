"""Runs of the workloads that write files in turn with computing, and what is in their files."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from mpi_launcher import BUILD, environment, launcher
from numpy.typing import NDArray

from weir.results.folder import find_run_folders, load_run
from weir.results.schema import Run

RUN_SECONDS = 240
TWICE = ("--warmups", "0", "--repetitions", "2", "--max-repetitions", "2")


def run_workload(
    folder: Path, workload: str, *words: str, variables: dict[str, str], ranks: int = 4
) -> dict[str, Run]:
    """Runs weir-bench; returns the runs by their labels."""
    ended = subprocess.run(
        [*launcher(deadline_seconds=RUN_SECONDS), "-n", str(ranks),
         str(BUILD / "bench" / "weir-bench"), workload, *TWICE, "--output", "results", *words],
        cwd=folder, env=environment(variables), capture_output=True, text=True,
        timeout=RUN_SECONDS + 15, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    runs = [load_run(one) for one in find_run_folders(folder / "results")]
    return {run.label: run for run in runs}


def kept(folder: Path, slug: str) -> Path:
    (files,) = folder.glob(f"weir-*/{slug}")
    return files


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def payload(seed: int, file: int, generation: int, words: int) -> NDArray[np.uint64]:
    """The words of a stream, as bench/measurement/payload.hpp defines them."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    place = np.array([(file << 32) | generation], dtype=np.uint64)
    key = mixed(mixed(np.array([seed], dtype=np.uint64) + golden) ^ mixed(place + golden))
    return mixed(key + np.arange(words, dtype=np.uint64) * golden)


def elements(
    run: Run, file: int, shape: tuple[int, ...], dtype: str, *, configuration: int = 0
) -> NDArray[Any]:
    """An array of the last repetition of two; ``file`` is its number among those of all files."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    seed = int(run.verification.seed, 16) + configuration
    words = payload(seed, file, 2, (size + 7) // 8)
    return np.frombuffer(words.tobytes()[:size], dtype=dtype).reshape(shape)


def same_bits(found: NDArray[Any], wanted: NDArray[Any]) -> bool:
    """Compares also what is not a number."""
    return found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()
