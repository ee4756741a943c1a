"""How tests start ranks: by the launcher that build/release was configured with.

The ctests use the same one. The launcher of another MPI would start each rank as a job of its own.
Ranks use this module, too, and do not load pytest, which would take longer than all else they load.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

CLONE = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("BUILD_FOLDER", CLONE / "build" / "release"))
_OVERSUBSCRIBED = ("--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1")
"""What Open MPI needs for more ranks than cores; other launchers start them as they are."""

SMALL_BUFFERS = {"WEIR_BUFFER_BYTES": "64k"}
"""For programs that open many sessions and write small arrays.

A session reserves its aggregators' buffers when it is opened. With the usual size of 2 MiB up to
two fifths of such a program's processor time are what the kernel spends on these pages.
"""


def configured(name: str) -> str:
    """A variable of CMake's cache in build/release; "" where it is not set, or nothing is built."""
    cache = BUILD / "CMakeCache.txt"
    text = cache.read_text() if cache.exists() else ""
    found = re.search(rf"^{name}:\w+=(.*)$", text, re.MULTILINE)
    return found[1] if found else ""


@functools.cache
def is_open_mpi() -> bool:
    """Whether the ranks are Open MPI's; other MPIs are taken for relatives of MPICH."""
    return configured("WEIR_MPI_IS_OPEN_MPI") == "TRUE"


@functools.cache
def there_is_one() -> bool:
    return Path(configured("MPIEXEC_EXECUTABLE")).is_file()


def launcher(deadline_seconds: int | None = None) -> list[str]:
    """The beginning of a command for any number of ranks; ``-n RANKS`` follows.

    With Open MPI, the launcher itself ends the job after the deadline.
    """
    if not there_is_one():
        raise RuntimeError(f"no MPI launcher was found when {BUILD} was configured")
    command = [configured("MPIEXEC_EXECUTABLE")]
    if is_open_mpi():
        command += _OVERSUBSCRIBED
        if deadline_seconds is not None:
            command += ["--timeout", str(deadline_seconds)]
    return command


def preload(*libraries: Path) -> str:
    """LD_PRELOAD of ranks: the libraries, and the one that every rank of a test has, if any.

    tests/conftest.py puts the latter into the environment of all that tests start.
    """
    of_every_rank = configured("WEIR_RANKS_PRELOAD")
    return ":".join([*map(str, libraries), *([of_every_rank] if of_every_rank else [])])


def variables() -> dict[str, str]:
    """What every launcher and rank of a test has in its environment (cmake/WeirTests.cmake).

    tests/conftest.py puts it into the environment of all that tests start.
    """
    given = configured("WEIR_RANKS_ENVIRONMENT")
    return dict(variable.split("=", 1) for variable in given.split(";") if variable)


@functools.cache
def prints_after_a_signal() -> bool:
    """Whether a launcher that gets a signal still prints what its ranks write before they end.

    That of Open MPI 5 does not.
    """
    if not is_open_mpi():
        return True
    command = [configured("MPIEXEC_EXECUTABLE"), "--version"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    found = re.search(r"\(Open MPI\) (\d+)", said)  # Open MPI 4 calls it OpenRTE
    return found is None or int(found[1]) < 5


def library_path() -> str:
    """LD_LIBRARY_PATH with which mpi4py's wheels find the MPI of build/release.

    They look for MPICH as libmpi.so.12, the name that its relatives have agreed on. Debian's has
    the name libmpich.so.12 alone, and gets the other one by a link.
    """
    given = os.environ.get("LD_LIBRARY_PATH", "")
    library = Path(configured("MPI_mpich_LIBRARY"))
    if is_open_mpi() or not library.is_file() or (library.parent / "libmpi.so.12").exists():
        return given
    folder = BUILD / "mpi4py"
    folder.mkdir(exist_ok=True)
    link = folder / "libmpi.so.12"
    with contextlib.suppress(FileExistsError):
        link.symlink_to(library.resolve())
    return f"{folder}:{given}" if given else str(folder)


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The person's own settings of Weir kept out, and what ranks of tests have besides.

    When it gets a signal, Open MPI 5's launcher kills its ranks after a second if it is not told to
    wait for longer: on a busy machine they need more to write their record.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    of_tests = variables()
    of_tests["PRTE_MCA_odls_base_sigkill_timeout"] = "15"
    of_tests["WEIR_GO_ON"] = "0"  # whether a small job is undecided depends on the machine's load
    # Where several MPIs are installed, mpi4py takes the first that it finds.
    same_mpi = {"MPI4PY_MPIABI": "openmpi" if is_open_mpi() else "mpich"}
    if path := library_path():
        same_mpi["LD_LIBRARY_PATH"] = path
    return {**of_tests, **inherited, **same_mpi, **extra}
