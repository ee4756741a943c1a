"""Records the texts of this node; a launcher starts one per rank, and one rank of a node writes.

    python -m weir.platform.discovery.collect FOLDER

It needs no MPI: the ranks of a node agree by creating the node's folder, which only one can. It
reads files of /sys and /proc and a few variables, never the whole environment.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from weir.platform.discovery.recording import (
    BOOT_FILE,
    CRAY_NAME,
    ENVIRONMENT,
    LNET_ROUTES,
    LOCAL_SIZE_VARIABLES,
    LSTOPO,
    MOST_NODE_BYTES,
    NODES_FOLDER,
    RANK_VARIABLES,
    SYSTEM,
)

COMMAND_SECONDS = 20.0
PIECE_BYTES = 1 << 16
"""The kernel refuses reads of some MiB of files below /proc/sys."""
VARIABLES = (
    *("SLURM_TOPOLOGY_ADDR", "SLURM_TOPOLOGY_ADDR_PATTERN", "SLURM_JOB_NODELIST"),
    *("SLURMD_NODENAME", "PMIX_VERSION", "PMIX_NAMESPACE", "PMIX_HOSTNAME"),
)
RANKED = (*RANK_VARIABLES, *LOCAL_SIZE_VARIABLES)
FIRST_OF_NODE = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID",
                 "SLURM_LOCALID")  # fmt: skip
SYSTEM_FILES = (
    "/sys/devices/system/cpu/cpu[0-9]*/topology/core_id",
    "/sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id",
    "/sys/devices/system/cpu/cpu0/cache/index[0-9]*/level",
    "/sys/devices/system/cpu/cpu0/cache/index[0-9]*/type",
    "/sys/devices/system/cpu/cpu0/cache/index[0-9]*/size",
    "/sys/devices/system/cpu/cpu0/cache/index[0-9]*/shared_cpu_list",
    "/sys/devices/system/node/node[0-9]*/cpulist",
    "/sys/class/net/*/operstate",
    "/sys/class/net/*/speed",
    "/sys/class/block/*/size",
    "/sys/class/infiniband/*/ports/*/rate",
    "/sys/class/infiniband/*/ports/*/state",
    "/sys/class/infiniband/*/ports/*/lid",
    BOOT_FILE,
)
LINES_OF_FILES = (("/proc/cpuinfo", "model name"), ("/proc/meminfo", "MemTotal"))
CRAY_FILES = ("/proc/cray_xt/cname", "/etc/cray/xname")
LNET_FILES = ("/proc/sys/lnet/routes", "/sys/kernel/debug/lnet/routes")
LNET_COMMANDS = (("lnetctl", "route", "show", "-v"), ("lctl", "route_list"))


def collect_node(folder: Path, environment: Mapping[str, str], *, ranked: bool) -> None:
    """Writes ``folder/nodes/HOST``, unless another rank of this host does.

    Without ``ranked`` this process is no rank of a job, although it may have inherited a number.
    """
    if ranked and any(environment.get(name, "0") != "0" for name in FIRST_OF_NODE):
        return
    host = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname()) or "node"
    own = folder / NODES_FOLDER / host
    try:
        own.mkdir(parents=True)
    except FileExistsError:
        return
    names = (*VARIABLES, *(RANKED if ranked else ()))
    _write(own / ENVIRONMENT, [f"{name}={environment[name]}" for name in names
                               if "\n" not in environment.get(name, "\n")])  # fmt: skip
    _write(own / SYSTEM, list(_system_lines()))
    _write(own / LSTOPO, output_of("lstopo-no-graphics", "--of", "xml") or [])
    _write(own / CRAY_NAME, _first_file(CRAY_FILES))
    routes = _first_file(LNET_FILES)
    for command in LNET_COMMANDS:
        routes = routes or output_of(*command) or []
    _write(own / LNET_ROUTES, routes)


def output_of(*command: str) -> list[str] | None:
    """Returns the lines that a command prints; None if it is not there, fails or takes long."""
    try:
        answer = subprocess.run(
            command,
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=COMMAND_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.decode(errors="replace").splitlines()


def _write(path: Path, lines: list[str]) -> None:
    if lines:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _read(path: Path) -> list[str]:
    content = bytearray()
    try:
        with path.open("rb", buffering=0) as file:
            while len(content) < MOST_NODE_BYTES and (piece := file.read(PIECE_BYTES)):
                content += piece
    except OSError:  # A device without a speed, for example, answers with an error.
        return []
    return content.decode(errors="replace").splitlines()


def _first_file(paths: tuple[str, ...]) -> list[str]:
    return next(filter(None, (_read(Path(path)) for path in paths)), [])


def _system_lines() -> Iterator[str]:
    root = Path("/")
    for pattern in SYSTEM_FILES:
        for path in sorted(root.glob(pattern.lstrip("/"))):
            lines = _read(path)
            if lines:
                yield f"{path}:{lines[0]}"
    for name, wanted in LINES_OF_FILES:
        for line in _read(Path(name)):
            key, separator, value = line.partition(":")
            if separator and key.strip() == wanted:
                yield f"{name}#{wanted}:{value.strip()}"
                break


if __name__ == "__main__":
    collect_node(Path(sys.argv[1]), os.environ, ranked=True)
