"""The environment of a distributed file system's servers: their own network and folders.

A part called NAME has

- the network namespace ``weir-NAME`` with the address 198.19.0.1 on its loopback. All servers and
  the client run in it, so they are invisible on the machine's network, no port can conflict, and
  ending all processes in the namespace ends each of them, however it was started;
- a tmpfs on ``/run/weir-testbed/NAME-data`` for data, state, sockets and logs;
- for each server a mount namespace, in which folders of that tmpfs cover the system's own, so that
  programs with fixed paths leave nothing in ``/var``;
- the mount point ``/run/weir-testbed/NAME``. The client joins only the network namespace, so all
  processes see its mount.
"""

from __future__ import annotations

from pathlib import Path

from testbed.errors import TestbedError
from testbed.journal import FOLDER, Journal, Resource
from testbed.mounts import is_mounted
from testbed.programs import require_programs, run, start, wait_for
from testbed.removal import NAMESPACES

ADDRESS = "198.19.0.1"
START_SECONDS = 60.0
MOUNT_SECONDS = 30.0


class Servers:
    """The environment of the servers of one distributed file system, while it is made."""

    def __init__(self, journal: Journal, part: str) -> None:
        self._journal = journal
        self._part = part
        self.namespace = f"weir-{part}"
        self.data = data_folder(part)
        self.mount_point = mount_point(part)

    def make(self, size_bytes: int) -> None:
        """Makes the network and the folders, with room for `size_bytes` bytes."""
        folder_of_namespaces = Resource("namespace folder", str(NAMESPACES))
        self._journal.enter(self._part, folder_of_namespaces)
        if (NAMESPACES / self.namespace).exists():
            raise TestbedError(f"the network namespace {self.namespace} exists already; try: down")
        FOLDER.mkdir(exist_ok=True)
        self._journal.enter(self._part, Resource("directory", str(self.data)))
        self.data.mkdir(mode=0o755)
        self._journal.enter(self._part, Resource("mount", str(self.data)))
        options = f"size={size_bytes},mode=755"
        run(["mount", "-t", "tmpfs", "-o", options, tmpfs_source(self._part), self.data])
        self._journal.enter(self._part, Resource("namespace", self.namespace))
        run(["ip", "netns", "add", self.namespace])
        run(["ip", "-n", self.namespace, "link", "set", "lo", "up"])
        run(["ip", "-n", self.namespace, "address", "add", f"{ADDRESS}/32", "dev", "lo"])

    def on_network(self, *command: str | Path) -> list[str]:
        """Returns the words that run a command on the servers' network."""
        network = f"--net={NAMESPACES / self.namespace}"
        return ["nsenter", network, *(str(word) for word in command)]

    def start(self, name: str, *command: str | Path, over: dict[str, str]) -> None:
        """Starts a server that stays in the foreground.

        `over` maps folders of the system to the folders of ``data`` that cover them.
        """
        script = ["set -e", "mount --make-rprivate /"]
        for system, own in over.items():
            (self.data / own).mkdir(parents=True, exist_ok=True)
            # Folders that the package creates at its first start may be missing.
            script.append(f"if [ -d {system} ]; then mount --bind {self.data / own} {system}; fi")
        script.append('exec "$@"')
        words = ["unshare", "--mount", "sh", "-c", "\n".join(script), name, *command]
        with (self.data / f"{name}.output").open("wb") as output:
            start(self.on_network(*words), output.fileno())

    def mount(self, *command: str | Path) -> None:
        """Mounts the file system with a client that goes into the background."""
        self._journal.enter(self._part, Resource("directory", str(self.mount_point)))
        self.mount_point.mkdir()
        self._journal.enter(self._part, Resource("mount", str(self.mount_point)))
        with (self.data / "client.output").open("wb") as output:
            start(self.on_network(*command), output.fileno())
        wait_for(
            f"{command[0]} to mount {self.mount_point}; {self.last_words('client')}",
            MOUNT_SECONDS, lambda: is_mounted(self.mount_point),
        )  # fmt: skip
        self.mount_point.chmod(0o1777)

    def last_words(self, name: str) -> str:
        """Returns the last line that a server printed."""
        lines = (self.data / f"{name}.output").read_text(errors="replace").strip().splitlines()
        return f"{name} said: {lines[-1] if lines else 'nothing'}"


def require(programs: list[str]) -> None:
    """Raises an error that names what is missing for servers with these programs."""
    require_programs([*programs, "ip", "nsenter", "unshare", "mount", "umount"])
    if not Path("/dev/fuse").exists():
        raise TestbedError("this kernel has no FUSE: /dev/fuse does not exist")


def data_folder(part: str) -> Path:
    """Returns the folder with all data of a part's servers."""
    return FOLDER / f"{part}-data"


def mount_point(part: str) -> Path:
    """Returns the folder on which a part's file system is mounted."""
    return FOLDER / part


def tmpfs_source(part: str) -> str:
    """Returns the source name of a part's tmpfs in the list of mounts."""
    return f"weir-testbed-{part}"
