"""Runs a command that is slowed intentionally: with less processor time, or slower I/O calls.

Both slow one command and the processes that it starts, such as an MPI job, and leave the machine
unchanged. Resources that they make have this process's number in their names and are removed when
the command ends; ``down`` finds them if this process is killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from testbed.errors import USAGE, TestbedError
from testbed.journal import FOLDER
from testbed.mounts import mounted
from testbed.programs import require_programs, run, search_path

GROUP_PREFIX = "weir-testbed-slow-"
LIBRARY_PATTERN = "slow-calls-*.so"
SOURCE = Path(__file__).parent / "slow_calls.c"

PERIOD_MICROSECONDS = 10_000
"""A group that has used its share waits for the next period; a short one slows it evenly."""
SMALLEST_QUOTA = 1000
MOST_MICROSECONDS = 10_000_000


def processor_groups() -> Path:
    """Returns the root of the cpu controller; raises an error if the kernel cannot limit time."""
    for mount in mounted():
        if mount.kind == "cgroup" and "cpu" in mount.options:
            if (mount.point / "cpu.cfs_quota_us").exists():
                return mount.point
            break
    raise TestbedError(
        "this kernel offers no limit on processor time: the cpu controller of cgroup version 1 is "
        "not mounted or lacks quotas (CONFIG_CFS_BANDWIDTH)"
    )


def slow_processors(percent: float, command: list[str]) -> int:
    """Runs the command with that percentage of all processors' time; returns its exit status."""
    processors = len(os.sched_getaffinity(0))
    quota = round(percent / 100 * processors * PERIOD_MICROSECONDS)
    if not 0 < percent <= 100 or quota < SMALLEST_QUOTA:
        least = 100 * SMALLEST_QUOTA / processors / PERIOD_MICROSECONDS
        raise TestbedError(f"--percent {percent:g} must be from {least:g} to 100 here", USAGE)
    with _group(quota) as group:
        joining = f'echo $$ > {group}/cgroup.procs && exec "$@"'
        return _run(["sh", "-c", joining, "sh", *command], {})


@contextmanager
def _group(quota: int) -> Iterator[Path]:
    group = processor_groups() / f"{GROUP_PREFIX}{os.getpid()}"
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_MICROSECONDS))
        (group / "cpu.cfs_quota_us").write_text(str(quota))
        yield group
    finally:
        remove_group(group)


def remove_group(group: Path) -> None:
    """Removes a group; processes in it continue at full speed in the group above."""
    for _ in range(100):
        try:
            for pid in (group / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    (group.parent / "cgroup.procs").write_text(pid)
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            continue  # A process was started meanwhile.
        return
    raise TestbedError(f"{group} cannot be removed: processes in it keep starting others")


def slow_calls(microseconds: float, command: list[str]) -> int:
    """Runs the command with this time added to each call on a file; returns its exit status."""
    if not 0 < microseconds <= MOST_MICROSECONDS:
        most = f"{MOST_MICROSECONDS:,}"
        raise TestbedError(f"--microseconds {microseconds:g} must be from 0 to {most}", USAGE)
    require_programs(["cc"])
    library = FOLDER / LIBRARY_PATTERN.replace("*", str(os.getpid()))
    FOLDER.mkdir(exist_ok=True)
    try:
        run(["cc", "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"])
        preload = " ".join(filter(None, [str(library), os.environ.get("LD_PRELOAD")]))
        nanoseconds = str(round(1000 * microseconds))
        return _run(command, {"LD_PRELOAD": preload, "WEIR_TESTBED_CALL_NANOSECONDS": nanoseconds})
    finally:
        library.unlink(missing_ok=True)
        with suppress(OSError):
            FOLDER.rmdir()  # Fails, and is ignored, if other parts of the test bed are up.


def _run(command: list[str], variables: dict[str, str]) -> int:
    """Returns the command's exit status, or 128 plus its signal; passes SIGTERM and SIGHUP on."""
    environment = {**os.environ, "PATH": search_path(), **variables}
    started: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        for child in started:
            child.send_signal(number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # A terminal sends it to the command as well.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    try:
        child = subprocess.Popen(["env", "--default-signal=INT", *command], env=environment)
    except OSError as error:
        raise TestbedError(f"{command[0]}: {error.strerror}") from None
    started.append(child)
    status = child.wait()
    return 128 - status if status < 0 else status
