"""Runs a command so that its processes record what they request of file systems and of MPI-IO."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weir._core.shared_library import LibraryError, find


@dataclass(frozen=True)
class Observer:
    """A library that is loaded into programs, and leaves a record of each process in a folder."""

    library: str
    path_variable: str
    folder_variable: str


LIBC_CALLS = Observer("libweir_calls.so.0", "WEIR_CALLS_LIBRARY", "WEIR_CALLS_FOLDER")
LIBC_ORDER = Observer("libweir_calls.so.0", "WEIR_CALLS_LIBRARY", "WEIR_CALLS_ORDER_FOLDER")
MPI_IO_ORDER = Observer("libweir_mpiio.so.0", "WEIR_MPIIO_LIBRARY", "WEIR_MPIIO_ORDER_FOLDER")
MPI_IO_CALLS = Observer("libweir_mpiio.so.0", "WEIR_MPIIO_LIBRARY", "WEIR_MPIIO_FOLDER")


TAKE_OVER = "WEIR_TAKE_OVER_LIBRARY"
"""Paths of libraries that take calls over, each for one MPI, with colons between them."""


ALL_NODES = {"WEIR_MPIIO_NODES": "all"}
"""The environment that says that the ranks of all nodes have the libraries."""


def take_over_variables() -> dict[str, str]:
    """The environment in which libweir_mpiio.so takes calls over, or finds the bytes of calls.

    It has a library for each MPI for which Weir was built. Raises LibraryError.
    """
    if told := os.environ.get(TAKE_OVER):
        libraries = told.split(":")
        for path in libraries:
            if not Path(path).is_file():
                message = (
                    f"{path} in {TAKE_OVER} does not exist: give paths of libweir_take_over.so.0"
                )
                raise LibraryError(message)
    else:
        libraries = [find("libweir_take_over.so.0", TAKE_OVER)]
        for mpi in ("openmpi", "mpich"):
            with contextlib.suppress(LibraryError):
                libraries.append(find(f"libweir_take_over_{mpi}.so.0", ""))
    absolute = [str(Path(path).resolve()) for path in libraries]
    return {"WEIR_MPIIO_TAKE_OVER": ":".join(absolute)}


HDF5_VOL = "WEIR_HDF5_VOL_LIBRARY"
"""Path of the VOL connector for HDF5."""


def hdf5_variables(folder: Path) -> dict[str, str]:
    """The environment in which HDF5 loads Weir's VOL connector, with its records in `folder`.

    HDF5 loads plugins from folders: that of the connector has nothing else. Raises LibraryError.
    """
    connector = find(
        "hdf5-plugin/libweir_hdf5_vol.so.0",
        HDF5_VOL,
        beside="libweir_take_over.so.0",
        remedy="build Weir with the program's HDF5 1.14, as docs/hdf5.md says",
    )
    plugins = [str(Path(connector).parent)]
    if already := os.environ.get("HDF5_PLUGIN_PATH"):
        plugins.append(already)
    return {
        "HDF5_PLUGIN_PATH": ":".join(plugins),
        "HDF5_VOL_CONNECTOR": "weir",
        "WEIR_HDF5_FOLDER": str(folder.resolve()),
    }


def observe(
    command: Sequence[str],
    observers: Sequence[Observer],
    folder: Path,
    variables: Mapping[str, str],
) -> int:
    """Runs the command with records written to `folder`; returns its exit status as a shell does.

    `variables` are added to its environment.

    Raises LibraryError, and OSError when the command cannot be started.
    """
    preloaded = [find(one.library, one.path_variable) for one in observers]
    if already := os.environ.get("LD_PRELOAD"):
        preloaded.append(already)
    environment = os.environ | {
        **({"LD_PRELOAD": ":".join(preloaded)} if preloaded else {}),
        **{one.folder_variable: str(folder.resolve()) for one in observers},
        **variables,
    }
    # In a batch script this is the number of the node's first task; srun sets it for each task
    # anew.
    environment.pop("SLURM_PROCID", None)
    # Ctrl-C ends the command, and Weir still reports what it did until then. A handler is set
    # because the command would inherit an ignored signal.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        status = subprocess.run(command, env=environment, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)
    return status if status >= 0 else 128 - status
