"""CephFS on one machine: a monitor, a manager, OSDs, a metadata server, mounted by ceph-fuse.

These are the steps. The monitor's database is made from a map with one monitor. Monitor and manager
start. Each OSD gets a number and a store, and starts. Two pools become a file system, which the
metadata server takes over, and the client mounts it. There is one copy of each object and no
authentication, because the servers can be reached only from their own network namespace.

An OSD keeps its objects in memory (``memstore``), in a file in memory (``bluestore``), or in a file
on a target of set speed.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from testbed import servers, targets
from testbed.errors import USAGE, TestbedError
from testbed.journal import Journal
from testbed.programs import run, wait_for
from testbed.servers import ADDRESS, START_SECONDS, Servers

PART = "ceph"
STORES = ("memstore", "bluestore")
MOST_OSDS = 16
STATE_BYTES = 1 << 30
"""Room for the monitor's database and logs beside the objects; allocated only as it fills."""
SMALLEST_OSD = {"memstore": 64 << 20, "bluestore": 512 << 20}
TARGET_SHARE = 0.8
"""The fraction of a target that an OSD's file takes."""
SYSTEM_FOLDERS = {"/var/lib/ceph": "lib", "/var/log/ceph": "log", "/run/ceph": "run"}
COMMAND_SECONDS = 60.0

CONFIGURATION = """[global]
fsid = {fsid}
mon host = [v2:{address}:3300,v1:{address}:6789]
public addr = {address}
auth cluster required = none
auth service required = none
auth client required = none
run dir = {data}/run
admin socket = {data}/run/$name.$pid.asok
pid file =
log file = {data}/log/$name.log
crash dir = {data}/log
keyring = /dev/null
mon data = {data}/mon
mon data avail crit = 1
mon allow pool size one = true
mgr data = {data}/mgr
mgr initial modules =
mds data = {data}/mds
osd journal =
osd objectstore = {store}
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg autoscale mode = off
osd op num shards = 2
osd op num threads per shard = 1
osd memory target = 939524096
memstore device bytes = {osd_bytes}
bluestore block size = {osd_bytes}
bluestore block create = true
bluestore fsck on mount = false
mds beacon grace = 60
[osd]
admin socket = {data}/run/$cluster-$name.asok
[mds]
admin socket = {data}/run/$cluster-$name.asok
{osd_sections}"""


@dataclass(frozen=True)
class Ceph:
    """A file system that is up."""

    directory: str
    store: str
    osds: list[str]
    osd_bytes: int
    configuration: str


def require() -> None:
    """Raises an error that names the programs missing on this machine."""
    programs = ["ceph", "ceph-mon", "ceph-mgr", "ceph-osd", "ceph-mds", "ceph-fuse", "monmaptool"]
    servers.require(programs)


def up(journal: Journal, osds: int, store: str, size_bytes: int, on_targets: bool) -> Ceph:
    """Starts the servers and mounts the file system; OSDs in memory share `size_bytes`."""
    require()
    made = targets.listed(journal)
    if on_targets:
        if not made:
            raise TestbedError("--on-targets: no targets are up; make some: targets up", USAGE)
        store = "bluestore"
        osds = len(made)
        osd_bytes = int(TARGET_SHARE * min(target.size_bytes for target in made))
    else:
        osd_bytes = size_bytes // max(osds, 1)
    if not 1 <= osds <= MOST_OSDS:
        raise TestbedError(f"{osds} OSDs asked for; 1 to {MOST_OSDS} can be", USAGE)
    if osd_bytes < SMALLEST_OSD[store]:
        least = SMALLEST_OSD[store] >> 20
        raise TestbedError(f"an OSD of {store} needs {least} MiB; it would have "
                           f"{osd_bytes >> 20} MiB: choose a larger --size", USAGE)  # fmt: skip
    in_memory = 0 if on_targets else size_bytes
    targets.require_memory(in_memory + STATE_BYTES)
    journal.begin(PART)
    surroundings = Servers(journal, PART)
    surroundings.make(STATE_BYTES + in_memory)
    data = surroundings.data
    if on_targets:
        folders = [Path(target.directory) / "ceph-osd" for target in made]
    else:
        folders = [data / f"osd{number}" for number in range(osds)]
    cluster = _Cluster(surroundings, folders, store, osd_bytes)
    cluster.start()
    surroundings.mount(
        "ceph-fuse", "-f", "-c", cluster.configuration, "--client-mountpoint=/",
        surroundings.mount_point,
    )  # fmt: skip
    file_system = Ceph(
        str(surroundings.mount_point), store, [str(folder) for folder in folders], osd_bytes,
        str(cluster.configuration),
    )  # fmt: skip
    journal.set_facts(PART, asdict(file_system))
    return file_system


class _Cluster:
    """The servers of one file system."""

    def __init__(
        self, surroundings: Servers, osd_folders: list[Path], store: str, osd_bytes: int
    ) -> None:
        self._surroundings = surroundings
        self._osd_folders = osd_folders
        self.configuration = surroundings.data / "ceph.conf"
        self._fsid = str(uuid.uuid4())
        sections = [f"[osd.{n}]\nosd data = {folder}\n" for n, folder in enumerate(osd_folders)]
        self.configuration.write_text(
            CONFIGURATION.format(
                fsid=self._fsid,
                address=ADDRESS,
                data=surroundings.data,
                store=store,
                osd_bytes=osd_bytes,
                osd_sections="".join(sections),
            )
        )
        for name in ("run", "log", "lib", "mon", "mgr", "mds"):
            (surroundings.data / name).mkdir()

    def start(self) -> None:
        """Starts every server, in the order of their dependencies."""
        self._start_monitor()
        self._start("mgr", "x")
        for number, folder in enumerate(self._osd_folders):
            self._make_osd(number, folder)
        for number in range(len(self._osd_folders)):
            self._start("osd", str(number))
        self._wait_for_osds()
        self._ceph("osd", "pool", "create", "metadata", "8", "8")
        self._ceph("osd", "pool", "create", "data", "32", "32")
        self._ceph("fs", "new", "weir", "metadata", "data")
        self._start("mds", "a")
        self._wait_until("the metadata server to be active", ["fs", "dump"], _has_active_mds)

    def _start_monitor(self) -> None:
        map_file = self._surroundings.data / "monmap"
        addresses = f"[v2:{ADDRESS}:3300,v1:{ADDRESS}:6789]"
        run(["monmaptool", "--create", "--fsid", self._fsid, "--addv", "a", addresses, map_file])
        make: list[str | Path] = [
            "ceph-mon",
            "--mkfs",
            "-i",
            "a",
            "-c",
            self.configuration,
            "--monmap",
            map_file,
        ]
        run(self._surroundings.on_network(*make, "--monmap", map_file))
        self._start("mon", "a")
        self._wait_until("the monitor to answer", ["mon", "stat"], lambda _: True)

    def _make_osd(self, number: int, folder: Path) -> None:
        folder.mkdir()
        identity = str(uuid.uuid4())
        given = self._ceph("osd", "new", identity)["osdid"]
        if given != number:
            raise TestbedError(f"the monitor numbered an OSD {given}, not {number}")
        make: list[str | Path] = ["ceph-osd", "--mkfs", "-i", str(number), "-c", self.configuration,
                "--osd-uuid", identity]  # fmt: skip
        run(self._surroundings.on_network(*make))

    def _start(self, kind: str, name: str) -> None:
        words: list[str | Path] = [f"ceph-{kind}", "-f", "-i", name, "-c", self.configuration]
        self._surroundings.start(f"{kind}.{name}", *words, over=SYSTEM_FOLDERS)

    def _wait_for_osds(self) -> None:
        count = len(self._osd_folders)
        is_up = lambda stat: stat["num_up_osds"] == count  # noqa: E731
        self._wait_until(f"{count} OSDs to be up", ["osd", "stat"], is_up)

    def _ceph(self, *words: str) -> Any:
        command = ["ceph", "-c", str(self.configuration), "--connect-timeout", "10", *words]
        said = run(
            self._surroundings.on_network(*command, "--format", "json"), seconds=COMMAND_SECONDS
        )
        return json.loads(said) if said.strip().startswith(("{", "[")) else {}

    def _wait_until(self, what: str, question: list[str], is_so: Any) -> None:
        def holds() -> bool:
            try:
                return bool(is_so(self._ceph(*question)))
            except TestbedError:
                return False

        wait_for(what, START_SECONDS, holds)


def _has_active_mds(dump: Any) -> bool:
    infos = dump["filesystems"][0]["mdsmap"]["info"].values()
    return any(info["state"] == "up:active" for info in infos)


def from_facts(facts: dict[str, Any]) -> Ceph:
    """Returns the file system that the journal describes."""
    return Ceph(**facts)
