"""Runs the system's programs with deadlines; names the package of a missing program."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from testbed.errors import TestbedError

SECONDS = 60.0
"""Default deadline in seconds, for commands that should take moments."""

PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "losetup": "util-linux",
    "mount": "util-linux",
    "umount": "util-linux",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mkfs.ext4": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "cc": "build-essential",
    "glusterd": "glusterfs-server",
    "gluster": "glusterfs-cli",
    "glusterfs": "glusterfs-client",
    "ceph": "ceph-common",
    "ceph-mon": "ceph-mon",
    "ceph-mgr": "ceph-mgr",
    "ceph-osd": "ceph-osd",
    "ceph-mds": "ceph-mds",
    "ceph-fuse": "ceph-fuse",
    "monmaptool": "ceph-base",
}
"""The Debian package of each program that the test bed starts."""

HELD: list[int] = []
"""Files that commands inherit: the lock. A command that outlives a killed testbed keeps the lock,
so that ``down`` cannot begin while something may still be made."""

SYSTEM_FOLDERS = "/usr/local/sbin:/usr/sbin:/sbin"
"""Folders of administrators' programs, which a user's PATH may lack."""


def search_path() -> str:
    """Returns PATH with the folders of administrators' programs."""
    return f"{os.environ.get('PATH', '/usr/bin:/bin')}:{SYSTEM_FOLDERS}"


def missing_programs(names: Sequence[str]) -> list[str]:
    """Returns the programs that are not installed."""
    return [name for name in names if shutil.which(name, path=search_path()) is None]


def require_programs(names: Sequence[str]) -> None:
    """Raises an error that names the packages of missing programs."""
    missing = missing_programs(names)
    if missing:
        packages = sorted({PACKAGES.get(name, name) for name in missing})
        raise TestbedError(
            f"not installed: {', '.join(missing)}; on Debian: apt-get install {' '.join(packages)}"
        )


def run(
    command: Sequence[str | Path],
    *,
    seconds: float = SECONDS,
    text: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Returns the standard output of a command, which must succeed within `seconds`."""
    words = [str(word) for word in command]
    given = dict(os.environ if environment is None else environment)
    given["PATH"] = search_path()
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=seconds, check=False,
            input=text, env=given, start_new_session=True, pass_fds=HELD,
        )  # fmt: skip
    except FileNotFoundError:
        require_programs([words[0]])
        raise TestbedError(f"{words[0]}: not found") from None
    except subprocess.TimeoutExpired:
        raise TestbedError(f"{' '.join(words)}: not done after {seconds:g} s") from None
    if done.returncode != 0:
        said = done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}"
        raise TestbedError(f"{' '.join(words)}: {said}")
    return done.stdout


def start(command: Sequence[str | Path], output: int) -> None:
    """Starts a process that outlives this command; its output goes to the open file `output`.

    It does not hold the lock of the test bed's commands.
    """
    process = subprocess.Popen(
        [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        env={**os.environ, "PATH": search_path()}, cwd="/", start_new_session=True,
    )  # fmt: skip
    process.returncode = 0  # Nothing waits for it; this avoids a warning at deletion.


def wait_for(what: str, seconds: float, is_so: Callable[[], bool], every: float = 0.1) -> None:
    """Returns when `is_so` returns true; raises an error if that takes more than `seconds`."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise TestbedError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(every)
