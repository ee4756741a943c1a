"""Stagers of a test's own, apart from the one of the user."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpi_launcher import BUILD

STAGER = BUILD / "src" / "stager" / "weir-stager"
STORED_SECONDS = 60


@dataclass
class Stager:
    """A stager with a socket and memory of its own."""

    socket: Path
    process: subprocess.Popen[bytes] | None = None
    """None: somebody else started it."""
    others: list[Stager] = field(default_factory=list)
    """Stagers of other nodes: node n has number n modulo their number, this one being 0."""
    rendezvous: Path | None = None
    """The file or folder by which ranks of other nodes find it, and the others."""
    more: dict[str, str] = field(default_factory=dict)
    """Further variables of its programs."""

    def variables(self) -> dict[str, str]:
        """What a program needs; with others, it calls choose_stager() on each rank."""
        chosen = {"WEIR_STAGER_SOCKET": str(self.socket), "WEIR_STAGER": str(STAGER)}
        if self.others:
            all_of_them = (self, *self.others)
            sockets = [str(one.socket) for one in all_of_them]
            chosen["WEIR_TEST_SOCKETS"] = os.pathsep.join(sockets)
            chosen["WEIR_TEST_STAGERS"] = " ".join(str(one.pid) for one in all_of_them)
        if self.rendezvous:
            chosen["WEIR_TEST_STAGING"] = f"service:{self.rendezvous}"
        return chosen | self.more

    def report(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.ask("--report").stdout)
        return told

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        asked = subprocess.run([STAGER, "--stager-socket", self.socket, *words],
                               capture_output=True, text=True, timeout=STORED_SECONDS,
                               check=False)  # fmt: skip
        assert asked.returncode == 0, asked.stderr
        return asked

    def wait_until_idle(self) -> None:
        """Waits until no program is connected and everything is stored."""
        for one in self.others:
            one.wait_until_idle()
        deadline = time.monotonic() + STORED_SECONDS
        while sessions := self.report()["sessions"]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the stager is not idle after {STORED_SECONDS} s: {sessions}")
            time.sleep(0.02)

    def wait_until_stored(self) -> None:
        """Tells it to stop, which it does when everything is stored."""
        for one in (self, *self.others):
            one.ask("--stop")
            one.wait_for_its_end()

    def wait_for_its_end(self) -> None:
        assert self.process is not None
        assert self.process.wait(STORED_SECONDS) == 0

    def kill(self) -> None:
        for one in self.others:
            one.kill()
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def log(self) -> str:
        """What it has said so far."""
        return self.socket.with_name("log").read_text()

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid


def given_stagers() -> list[Stager]:
    """Called in a program that got variables()."""
    sockets = os.environ.get("WEIR_TEST_SOCKETS") or os.environ["WEIR_STAGER_SOCKET"]
    return [Stager(Path(socket)) for socket in sockets.split(os.pathsep)]


def given_processes() -> list[int]:
    """Called in a program that got variables() of several stagers: their processes."""
    return [int(process) for process in os.environ["WEIR_TEST_STAGERS"].split()]


def given_staging() -> str:
    """Called in a program that got variables(): the way to the stager that the test chose."""
    return os.environ.get("WEIR_TEST_STAGING", "node")


def stagers_of_ranks() -> list[Stager]:
    """Called in a program that got variables(): the stagers in the place of its ranks."""
    path = Path(os.environ["WEIR_STAGER_SOCKET"])
    found = path.parent.glob(f"{path.name}-*")
    return [Stager(one) for one in found if one.suffix not in {".lock", ".log"}]


def choose_stager(node: int) -> None:
    """Called by a rank of a node before it opens a session."""
    stagers = given_stagers()
    os.environ["WEIR_STAGER_SOCKET"] = str(stagers[node % len(stagers)].socket)


def journal_of(journals: Path | None, number: int) -> list[str]:
    if journals is None:
        return []
    journals.mkdir(exist_ok=True)
    return ["--stager-journal", str(journals / str(number))]


def start_for_nodes(nodes: int, *words: str, journals: Path | None = None) -> Stager:
    """Starts a stager for each of these nodes, which are one in truth.

    `journals`: the folder in which each of them has a folder for its journal.
    """
    first, *others = (start(*words, *journal_of(journals, number)) for number in range(nodes))
    first.others = others
    return first


def start_service(stagers: int, *words: str, journals: Path | None = None) -> Stager:
    """Starts stagers for ranks of other nodes, all of which are one node in truth.

    `journals`: as for start_for_nodes().
    """
    folder = Path(tempfile.mkdtemp(prefix="weir-test-"))
    first, *others = (
        start("--stager-listen", "127.0.0.1", "--stager-rendezvous", str(folder / str(number)),
              *words, *journal_of(journals, number))
        for number in range(stagers)
    )  # fmt: skip
    first.others = others
    first.rendezvous = folder
    for one in (first, *others):
        one.report()  # its file is there before it answers
    return first


def reason_without_ucx() -> str:
    """Why stagers cannot be reached over UCX; "": they can."""
    with tempfile.TemporaryDirectory(prefix="weir-test-") as folder:
        refused = subprocess.run(
            [STAGER, "--stager-socket", f"{folder}/stager", "--stager-carrier", "ucx",
             "--stager-listen", "127.0.0.1", "--stager-rendezvous", "/no/folder"],
            capture_output=True, text=True, timeout=STORED_SECONDS, check=False,
        )  # fmt: skip
    return refused.stderr if "cannot come over UCX" in refused.stderr else ""


def start(*words: str, variables: Mapping[str, str] | None = None) -> Stager:
    """Starts a stager, and returns when programs can connect to it.

    `variables`: of its environment, beside those of the test.
    """
    # The path of a socket is short, and pytest's folders are not.
    socket = Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager"
    with socket.with_name("log").open("w") as log:
        process = subprocess.Popen([STAGER, "--stager-socket", socket, *words], stderr=log,
                                   env=os.environ | dict(variables or {}))  # fmt: skip
    one = Stager(socket, process)
    deadline = time.monotonic() + 30
    # The socket has its name a moment before programs can connect to it.
    while "listens at" not in one.log():
        assert time.monotonic() < deadline, "the stager does not start"
        assert process.poll() is None, "the stager ended at once"
        time.sleep(0.02)
    return one
