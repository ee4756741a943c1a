"""GlusterFS on one machine: bricks, one management server, one mounted volume.

A volume of kind ``distribute`` stores each whole file on one brick, which the hash of its name
selects. A volume of kind ``shard`` divides files into pieces and distributes these. Bricks are
folders in memory, or on targets of set speed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from testbed import servers, targets
from testbed.errors import USAGE, TestbedError
from testbed.journal import Journal
from testbed.programs import run, wait_for
from testbed.servers import ADDRESS, START_SECONDS, Servers

PART = "gluster"
VOLUME = "weir-testbed"
KINDS = ("distribute", "shard")
MOST_BRICKS = 64
STATE_BYTES = 64 << 20
"""Room for logs and state beside the bricks."""
SYSTEM_FOLDERS = {"/var/lib/glusterd": "lib", "/var/log/glusterfs": "log", "/run/gluster": "run"}

MANAGEMENT = """volume management
  type mgmt/glusterd
  option working-directory /var/lib/glusterd
  option run-directory /run/gluster
  option glusterd-sockfile {socket}
  option transport-type socket
  option transport.socket.listen-port 24007
  option ping-timeout 0
  option event-threads 1
end-volume
"""


@dataclass(frozen=True)
class Gluster:
    """A volume that is up."""

    directory: str
    kind: str
    shard_bytes: int | None
    bricks: list[str]


def require() -> None:
    """Raises an error that names the programs missing on this machine."""
    servers.require(["glusterd", "gluster", "glusterfs"])


def up(
    journal: Journal, bricks: int, kind: str, shard_bytes: int, size_bytes: int, on_targets: bool
) -> Gluster:
    """Starts the servers and mounts the volume; bricks in memory share `size_bytes`."""
    require()
    made = targets.listed(journal)
    if on_targets and not made:
        raise TestbedError("--on-targets: no targets are up; make some first: targets up", USAGE)
    if not 1 <= bricks <= MOST_BRICKS:
        raise TestbedError(f"{bricks} bricks asked for; 1 to {MOST_BRICKS} can be", USAGE)
    targets.require_memory(0 if on_targets else size_bytes)
    journal.begin(PART)
    surroundings = Servers(journal, PART)
    surroundings.make(STATE_BYTES + (0 if on_targets else size_bytes))
    data = surroundings.data
    socket = data / "glusterd.socket"
    configuration = data / "glusterd.vol"
    configuration.write_text(MANAGEMENT.format(socket=socket))
    surroundings.start(
        "glusterd", "glusterd", "--no-daemon", f"--volfile={configuration}",
        f"--log-file={data}/glusterd.log", f"--pid-file={data}/glusterd.pid", over=SYSTEM_FOLDERS,
    )  # fmt: skip

    def gluster(*words: str) -> str:
        options = ["--mode=script", f"--glusterd-sock={socket}", f"--log-file={data}/cli.log"]
        return run(surroundings.on_network("gluster", *options, *words), seconds=START_SECONDS)

    def answers() -> bool:
        try:
            gluster("volume", "list")
        except TestbedError:
            return False
        return True

    wait_for("glusterd to answer", START_SECONDS, answers)
    if on_targets:
        folders = [Path(target.directory) / "gluster-brick" for target in made]
    else:
        folders = [data / f"brick{number}" for number in range(bricks)]
    for folder in folders:
        folder.mkdir()
    names = [f"{ADDRESS}:{folder}" for folder in folders]
    gluster("volume", "create", VOLUME, *names, "force")
    if kind == "shard":
        gluster("volume", "set", VOLUME, "features.shard", "on")
        gluster("volume", "set", VOLUME, "features.shard-block-size", str(shard_bytes))
    gluster("volume", "start", VOLUME)
    surroundings.mount(
        "glusterfs", f"--volfile-server={ADDRESS}", f"--volfile-id={VOLUME}",
        f"--log-file={data}/client.log", surroundings.mount_point,
    )  # fmt: skip
    volume = Gluster(
        str(surroundings.mount_point), kind, shard_bytes if kind == "shard" else None,
        [str(folder) for folder in folders],
    )  # fmt: skip
    journal.set_facts(PART, asdict(volume))
    return volume


def from_facts(facts: dict[str, Any]) -> Gluster:
    """Returns the volume that the journal describes."""
    return Gluster(**facts)
