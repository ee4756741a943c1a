"""Reads the texts that the parsers understand: from files, sockets and programs.

Files that are read at every sample stay open, and only lines that have changed are parsed: of most
samples these are few. Programs take longer than a sample may, so that a thread
of their own waits for them; a sample has what they said last.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from weir.monitor import beegfs, ceph, diskstats, gluster, gpfs, lustre, network, nfs, processors
from weir.monitor.counters import Driver, Key, Values
from weir.monitor.sampler import SECOND

LONGEST_TEXT = 4 << 20
FIRST_LINE_BYTES = 512
ANSWER_SECONDS = 5.0
LEAST_PROGRAM_SECONDS = 1.0
LUSTRE_ROOTS = ("/proc/fs/lustre", "/sys/kernel/debug/lustre", "/sys/fs/lustre")
LUSTRE_FILES: dict[str, tuple[str, ...]] = {
    "llite": ("llite/*/stats",),
    "osc": ("osc/*/stats",),
    "rpc_stats": ("osc/*/rpc_stats",),
    "obdfilter": ("obdfilter/*/stats",),
    "brw_stats": ("obdfilter/*/brw_stats", "osd-*/*/brw_stats"),
    "job_stats": ("obdfilter/*/job_stats",),
    "mdt": ("mdt/*/md_stats",),
    "mdt_job_stats": ("mdt/*/job_stats",),
}
"""Where the counters of each source are, below one of the roots; the folder has its name."""
SELDOM = ("brw_stats", "rpc_stats")
"""These texts are long: they are read once a second at most."""
CEPH_SOCKETS = ("/var/run/ceph/*.asok", "/var/run/ceph/*/*.asok")
MOUNTSTATS = "/proc/self/mountstats"
MMPMON = "/usr/lpp/mmfs/bin/mmpmon"
INFINIBAND_PORTS = "/sys/class/infiniband/*/ports/*/counters"
PORT_FILES = ("port_rcv_data", "port_xmit_data", "port_rcv_packets", "port_xmit_packets")

Counted = tuple[Key, Values]
ParseLine = Callable[[bytes], Counted | None]


class TextFile:
    """A file of the kernel that stays open and is read from its start each time."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._room = 1 << 14

    def text(self) -> bytes:
        """Returns the whole text; raises OSError if the file can no longer be read."""
        while True:
            text = os.pread(self._descriptor, self._room, 0)
            if len(text) < self._room or self._room >= LONGEST_TEXT:
                break
            self._room *= 2
        # A long text may come in several parts.
        while len(text) < LONGEST_TEXT and (more := os.pread(self._descriptor, 65536, len(text))):
            text += more
        return text

    def close(self) -> None:
        os.close(self._descriptor)


class LinesDriver:
    """Counters of which each has a line, such as in /proc/diskstats."""

    def __init__(self, source: str, path: str, parse: ParseLine) -> None:
        self.source = source
        self._file = TextFile(path)
        self._parse = parse
        self._lines: list[bytes] = []

    def now(self) -> Mapping[Key, Values]:
        lines, before = self._file.text().split(b"\n"), self._lines
        self._lines = lines
        if len(lines) == len(before):
            lines = [line for line, old in zip(lines, before, strict=True) if line != old]
        return dict(found for line in lines if (found := self._parse(line)))

    def close(self) -> None:
        self._file.close()


class TextDriver:
    """Counters of a whole text; it is parsed again if it has changed."""

    def __init__(
        self, source: str, path: str, parse: Callable[[bytes], Mapping[Key, Values]]
    ) -> None:
        self.source = source
        self._file = TextFile(path)
        self._parse = parse
        self._text = b""

    def now(self) -> Mapping[Key, Values]:
        text = self._file.text()
        if text == self._text:
            return {}
        self._text = text
        return self._parse(text)

    def close(self) -> None:
        self._file.close()


class FirstLineDriver:
    """A counter that the first line of a long text has, such as /proc/stat; no more is read."""

    def __init__(self, source: str, path: str, parse: ParseLine) -> None:
        self.source = source
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._parse = parse

    def now(self) -> Mapping[Key, Values]:
        line, _, _ = os.pread(self._descriptor, FIRST_LINE_BYTES, 0).partition(b"\n")
        found = self._parse(line)
        return dict([found]) if found else {}

    def close(self) -> None:
        os.close(self._descriptor)


class SeldomDriver:
    """Reads a driver once a second at most; ``now`` has nothing between two readings."""

    def __init__(self, slow: Driver, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self.source = slow.source
        self.span_ns = (0, 0)
        self._slow = slow
        self._now_ns = now_ns

    def now(self) -> Mapping[Key, Values]:
        since, at = self.span_ns[1], self._now_ns()
        if at - since < LEAST_PROGRAM_SECONDS * SECOND:
            return {}
        self.span_ns = (since, at)
        return self._slow.now()

    def close(self) -> None:
        self._slow.close()


class ManyDriver:
    """Counters that several drivers have; one that fails, such as of a lost mount, is left out."""

    def __init__(self, source: str, parts: list[Driver]) -> None:
        self.source = source
        self._parts = parts

    def now(self) -> Mapping[Key, Values]:
        found: dict[Key, Values] = {}
        for part in self._parts:
            with contextlib.suppress(OSError, ValueError):
                found.update(part.now())
        return found

    def close(self) -> None:
        for part in self._parts:
            part.close()


class PortDriver:
    """The counters of one port of an InfiniBand card."""

    source = network.INFINIBAND

    def __init__(self, folder: str) -> None:
        words = folder.split("/")
        self._name = f"{words[-4]}/{words[-2]}"
        self._files = {name: TextFile(f"{folder}/{name}") for name in PORT_FILES}

    def now(self) -> Mapping[Key, Values]:
        texts = {name: file.text() for name, file in self._files.items()}
        found = network.parse_port(self._name, texts)
        return dict([found]) if found else {}

    def close(self) -> None:
        for file in self._files.values():
            file.close()


class DaemonDriver:
    """Asks a Ceph daemon for ``perf dump`` over its admin socket."""

    source = ceph.SOURCE

    def __init__(self, path: str) -> None:
        self._path = path
        self._name = Path(path).stem.partition("-")[2]

    def now(self) -> Mapping[Key, Values]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(self._path)
            connection.sendall(b'{"prefix": "perf dump"}\0')
            length = int.from_bytes(_received(connection, 4), "big")
            if length > LONGEST_TEXT:
                raise ValueError(f"{self._path}: an answer of {length} bytes is too long")
            return ceph.parse_perf_dump(self._name, _received(connection, length))

    def close(self) -> None:
        """Nothing stays open."""


def _received(connection: socket.socket, length: int) -> bytes:
    text = bytearray()
    while len(text) < length:
        part = connection.recv(length - len(text))
        if not part:
            raise ConnectionError("the daemon closed its socket")
        text += part
    return bytes(text)


class Answer(NamedTuple):
    """Counters, and the moment for which they hold."""

    at_ns: int
    counters: Mapping[Key, Values]


class AnswersOfThread:
    """What a thread finds out at times of its own; ``now`` has its last answer, once."""

    def __init__(self) -> None:
        self.span_ns = (0, 0)
        self._last = Answer(0, {})

    def now(self) -> Mapping[Key, Values]:
        last = self._last
        if last.at_ns == self.span_ns[1]:
            return {}
        self.span_ns = (self.span_ns[1], last.at_ns)
        return last.counters


class SlowDriver(AnswersOfThread):
    """Asks a driver that takes long, in a thread of its own; ``now`` has its last answer."""

    def __init__(self, slow: Driver, seconds: float) -> None:
        super().__init__()
        self.source = slow.source
        self._slow = slow
        self._seconds = max(seconds, LEAST_PROGRAM_SECONDS)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
                began_ns = time.monotonic_ns()
                found = self._slow.now()
                self._last = Answer((began_ns + time.monotonic_ns()) // 2, found)
            self._ended.wait(self._seconds)

    def close(self) -> None:
        self._ended.set()
        self._thread.join(2 * ANSWER_SECONDS)
        self._slow.close()


class ProgramDriver:
    """Runs a program at each call, and parses what it prints."""

    def __init__(
        self,
        source: str,
        command: list[str],
        parse: Callable[[str], Mapping[Key, Values]],
        said: str | None = None,
    ) -> None:
        self.source = source
        self._command = command
        self._parse = parse
        self._said = said

    def now(self) -> Mapping[Key, Values]:
        done = subprocess.run(
            self._command,
            input=self._said or "",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_SECONDS,
            check=True,
        )
        return self._parse(done.stdout)

    def close(self) -> None:
        """Nothing stays open."""


class StreamDriver(AnswersOfThread):
    """Runs a program that prints what was moved in each second, until it is ended.

    ``add`` processes a line and returns whether it begins a new second. The second before is
    complete then, so that the last one is lost.
    """

    def __init__(
        self,
        source: str,
        command: Iterable[str],
        add: Callable[[str], bool],
        totals: Mapping[Key, Values],
    ) -> None:
        super().__init__()
        self.source = source
        self._add = add
        self._totals = totals
        self._began_ns = 0
        self._child = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
        )
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as lines:
            for line in lines:
                with contextlib.suppress(ValueError):
                    if self._add(line):
                        # What has been added was printed when the last second began.
                        self._last = Answer(self._began_ns, dict(self._totals))
                        self._began_ns = time.monotonic_ns()

    def close(self) -> None:
        self._child.terminate()
        try:
            self._child.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait(ANSWER_SECONDS)
        self._thread.join(ANSWER_SECONDS)


def whole_devices(parse: ParseLine, class_folder: str = "/sys/class/block") -> ParseLine:
    """Leaves out partitions, whose bytes the whole device has too, and disks in memory."""
    verdicts: dict[str, bool] = {}

    def parse_whole(line: bytes) -> Counted | None:
        found = parse(line)
        if found is None:
            return None
        name = found[0].name
        if name not in verdicts:
            is_part = Path(class_folder, name, "partition").exists()
            verdicts[name] = not is_part and not name.startswith(("ram", "zram"))
        return found if verdicts[name] else None

    return parse_whole


def matching(pattern: str) -> Iterator[str]:
    """Yields the paths that match an absolute pattern; folders that may not be read have none."""
    with contextlib.suppress(OSError):
        yield from map(str, Path("/").glob(pattern.removeprefix("/")))


def drivers_here(seconds: float) -> list[Driver]:
    """Returns a driver for each source that this host has; ``seconds`` is the sampling interval."""
    return list(_found(seconds))


def _found(seconds: float) -> Iterator[Driver]:
    with contextlib.suppress(OSError):
        parse = whole_devices(diskstats.parse_line)
        yield LinesDriver(diskstats.SOURCE, "/proc/diskstats", parse)
    with contextlib.suppress(OSError):
        yield LinesDriver(network.SOURCE, "/proc/net/dev", network.parse_line)
    with contextlib.suppress(OSError):
        yield FirstLineDriver(processors.SOURCE, "/proc/stat", processors.parse_line)
    with contextlib.suppress(OSError):
        if ports := sorted(matching(INFINIBAND_PORTS)):
            yield ManyDriver(network.INFINIBAND, [PortDriver(port) for port in ports])
    with contextlib.suppress(OSError):
        if nfs.parse_mountstats(Path(MOUNTSTATS).read_bytes()):
            yield TextDriver(nfs.SOURCE, MOUNTSTATS, nfs.parse_mountstats)
    yield from lustre_drivers()
    if sockets := sorted(path for one in CEPH_SOCKETS for path in matching(one)):
        daemons: list[Driver] = [DaemonDriver(path) for path in sockets]
        yield SlowDriver(ManyDriver(ceph.SOURCE, daemons), seconds)
    yield from _programs(seconds)


def lustre_drivers(roots: Iterable[str] = LUSTRE_ROOTS) -> Iterator[Driver]:
    """Yields a driver for each source of Lustre below the roots."""
    for source, patterns in LUSTRE_FILES.items():
        paths = {
            Path(path).parent.name: path
            for root in roots
            for pattern in patterns
            for path in matching(f"{root}/{pattern}")
        }
        parts: list[Driver] = []
        for name, path in sorted(paths.items()):
            with contextlib.suppress(OSError):
                parts.append(TextDriver(source, path, _lustre_parser(source, name)))
        if parts:
            all_of_them = ManyDriver(source, parts)
            yield SeldomDriver(all_of_them) if source in SELDOM else all_of_them


def _lustre_parser(source: str, folder: str) -> Callable[[bytes], Mapping[Key, Values]]:
    name = lustre.name_of(folder)
    parsers = {
        "job_stats": lustre.parse_job_stats,
        "mdt_job_stats": lustre.parse_job_stats,
        "brw_stats": lustre.parse_sizes,
        "rpc_stats": lustre.parse_sizes,
    }
    parser = parsers.get(source, lustre.parse_stats)
    return lambda text: parser(source, name, text.decode(errors="replace"))


def _programs(seconds: float) -> Iterator[Driver]:
    """Yields drivers whose counters only programs print; most of these only work as root."""
    if (tool := shutil.which("gluster")) and os.geteuid() == 0:
        command = [tool, "--mode=script", "volume", "profile"]
        volumes = [path.name for path in Path("/var/lib/glusterd/vols").glob("*")]
        parts: list[Driver] = [
            ProgramDriver(
                gluster.SOURCE, [*command, name, "info", "cumulative"], gluster.parse_profile
            )
            for name in sorted(volumes)
        ]
        if parts:
            yield SlowDriver(ManyDriver(gluster.SOURCE, parts), seconds)
    if Path(MMPMON).exists() and os.geteuid() == 0:
        asking = ProgramDriver(gpfs.SOURCE, [MMPMON, "-p"], _gpfs_lines, gpfs.REQUEST)
        yield SlowDriver(asking, seconds)
    if shutil.which(beegfs.COMMAND[0]):
        summed = beegfs.ServerTotals()
        with contextlib.suppress(OSError):
            yield StreamDriver(beegfs.SOURCE, beegfs.COMMAND, summed.add, summed.totals)


def _gpfs_lines(text: str) -> Mapping[Key, Values]:
    return dict(found for line in text.splitlines() if (found := gpfs.parse_line(line)))
