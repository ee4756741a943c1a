"""What a test bed could leave behind on a machine."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path


def machine_state() -> dict[str, object]:
    """All that a test bed could leave behind.

    What is mounted below the folders of other processes of pytest, and loop devices of their files,
    are left out: tests that run beside those of the test bed mount file systems, too.
    """

    def lines(*command: str) -> list[str]:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
        return sorted(done.stdout.splitlines())

    mountinfo = Path("/proc/self/mountinfo").read_text().splitlines()
    of_others = re.compile(rf"/popen-(?!{os.environ.get('PYTEST_XDIST_WORKER', '')}/)")
    mounts = sorted(line.split(" ", 4)[4] for line in mountinfo)
    loops = lines("losetup", "--noheadings", "--raw", "--output", "NAME,BACK-FILE")
    groups = Path("/sys/fs/cgroup")
    limits = {path.name: path.read_text() for path in groups.glob("blkio/blkio.throttle.*_device")}
    return {
        "mounts": [mount for mount in mounts if not of_others.search(mount)],
        "loops": [loop for loop in loops if not of_others.search(loop)],
        "limits": limits,
        "groups": sorted(str(path) for path in groups.glob("*/*weir*")),
        "namespaces": lines("ip", "netns", "list"),
        "links": [re.sub(r"^\d+: ", "", line) for line in lines("ip", "-o", "-br", "link")],
        "files": sorted(str(path) for path in Path("/run").glob("weir*")),
        "hosts": sorted(str(path) for path in Path("/etc").glob("netns/*")),
    }


def files_below(folders: list[str]) -> set[str]:
    """Every file and folder below these folders."""
    return {str(path) for folder in folders for path in Path(folder).rglob("*")}
