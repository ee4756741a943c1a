"""How often labels of anomalies are wrong on quiet runs, and found on runs slowed on purpose.

usage: anomalies.py count FOLDER...
       anomalies.py measure [--bed targets hosts] [--runs N] [--homogeneous N] [--keep FOLDER]

``count`` examines all finished runs below the folders again and prints how many have a label, by
kind. Nothing is written.

``measure`` makes runs of two to four seconds on the test bed (as root; see docs/testbed.md), in
turn: on four targets of one rate, and on four hosts whose bytes go to a fifth one over links of one
rate, nothing slowed, or one part slowed, the next one in each round:

    targets   4 ranks: homogeneous; a slowed target. 8 ranks: 4, 2, 1 and 1 files
    hosts     8 ranks: homogeneous; a slowed link; a host, or a rank, whose calls are slowed

Files on hosts are in memory; carried_calls.c sends what their calls move to the fifth host. The
monitors of the hosts count what links carry. A slowed part is found if the label names it, and a
homogeneous run is wrong if it has any label. The intervals are those of Clopper and Pearson, 95 %.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import comb
from pathlib import Path

import duckdb
from programs import CLONE, LAUNCHER, ended, options, run

from weir.monitor.samples import Part, write_together
from weir.report.anomalies import examine
from weir.results.events import SAMPLES_FILE
from weir.results.finalize import finalize
from weir.results.folder import find_run_folders, load_run
from weir.results.schema import Anomaly, Run

TESTBED = str(CLONE / "tools/testbed/testbed")
CARRIED_CALLS = CLONE / "build/release/bench/libcarried_calls.so"
ENTER = "/run/weir-testbed/enter"
MPIRUN = "/run/weir-testbed/mpirun"
RANKS = 8
UNITS = 4
"""Targets, or hosts with ranks. The test bed limits targets in steps of 100 ms, which two ranks of
one target would share at random: but for uneven files, each rank has its own."""
TARGET_RATE, SLOWED_TARGET = 60, 36
"""MB/s."""
LINK_RATE, SLOWED_LINK = 100, 60
"""Mbit/s."""
TARGET_MEBIBYTES = 192
SLOWED_MILLISECONDS = 80
"""Added to each call of a host or rank, which takes half as long without. What one rank of a link
does not use, the other one has."""
UNEVEN = (0, 0, 0, 1, 2, 3, 1, 0)
"""The target of each rank's file: 4, 2, 1 and 1 files."""
SERVER, PORT = "weir-host0", 7461
INTERVAL_SECONDS = 0.05
RUN_SECONDS = 120.0
FREE_SECONDS = 900.0
"""How long others may keep the test bed."""
HOLD_SECONDS = 90.0
"""After this time the test bed is given to others that wait for it."""
MOST_LOST = 5
"""So many runs may fail and are repeated."""
ENDED = "anomalies.py was ended by a signal"
CONFIDENCE = 0.95
GOAL_WRONG = 1 / 50
GOAL_FOUND = 19 / 20


def at_most(number: int, of: int, probability: float) -> float:
    """Return the probability of at most so many of these events."""
    return sum(
        comb(of, k) * probability**k * (1 - probability) ** (of - k) for k in range(number + 1)
    )


def interval(number: int, of: int) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson for a share."""
    tail = (1 - CONFIDENCE) / 2
    low = 0.0 if number == 0 else _where(lambda p: 1 - at_most(number - 1, of, p) >= tail)
    high = 1.0 if number == of else _where(lambda p: at_most(number, of, p) <= tail)
    return low, high


def shares_text(low: float, high: float) -> str:
    return f"{100 * low:5.1f} % to {100 * high:5.1f} %"


def _where(holds: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


# ---- count ---------------------------------------------------------------------------------------


def count(folders: Sequence[Path]) -> None:
    counted: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for top in folders:
        for folder in find_run_folders(top):
            labelled = load_run(folder)
            found = examine(folder, labelled)
            if found is None:
                counted["without events"] += 1
                continue
            counted["runs"] += 1
            counted["labelled"] += bool(found)
            for one in found:
                kinds[one.kind][f"{one.function} {one.direction}"] += 1
                print(f"{folder}: {one.function} {one.direction}: {one.kind}: {one.text}")
            counted.update({one.kind for one in found})
    number = counted["runs"]
    low, high = interval(counted["labelled"], max(1, number))
    print(
        f"\n{counted['labelled']} of {number} runs have a label ({shares_text(low, high)}); "
        f"{counted['without events']} have no events"
    )
    for kind, phases in sorted(kinds.items()):
        print(f"  {kind}: {counted[kind]} runs; {dict(phases)}")


# ---- measure -------------------------------------------------------------------------------------


@dataclass
class Case:
    """A kind of run, with what it has to be called and what was found."""

    name: str
    expected: Callable[[int], tuple[str, str]] | None
    """The label, and words of its sentence, in this round; None if no label is right."""
    right: int = 0
    runs: int = 0
    said: Counter[str] = field(default_factory=Counter)

    def add(self, number: int, found: Sequence[Anomaly]) -> bool:
        """Count a run; return whether it is as it should be."""
        self.runs += 1
        self.said.update({one.kind for one in found} or {"nothing"})
        if self.expected is None:
            good = not found
        else:
            kind, words = self.expected(number)
            good = any(one.kind == kind and words in one.text for one in found)
        self.right += good
        return good


def on_targets() -> list[Case]:
    return [
        Case("homogeneous, targets", None),
        Case("slowed target", lambda n: ("slow target", f"target{n % UNITS}, which")),
        Case("uneven files", lambda _: ("uneven allocation", "")),
    ]


def on_hosts() -> list[Case]:
    return [
        Case("homogeneous, hosts", None),
        Case("slowed link", lambda n: ("slow link", f"host {host_of(n)}, whose")),
        Case("slowed rank", lambda n: ("slow rank", f"rank {n % RANKS}, which")),
        Case("slowed node", lambda n: ("slow host", f"host {host_of(n)}, which")),
    ]


def host_of(number: int) -> str:
    """Return the host that is slowed in a round; the first one is the server."""
    return f"weir-host{1 + number % UNITS}"


@dataclass(frozen=True)
class Job:
    """One run: its case, the round, where its results are."""

    case: Case
    number: int
    folder: Path


class Turns:
    """Runs to come, in rounds; those that fail come again at the end."""

    def __init__(self, cases: Sequence[Case], given: argparse.Namespace, folder: Path) -> None:
        self.left = deque(
            (case, number)
            for number in range(max(given.runs, given.homogeneous))
            for case in cases
            if number < (given.homogeneous if case.expected is None else given.runs)
        )
        self.done: list[Job] = []
        self._folder = folder
        self._lost = 0
        self._until = 0.0

    def begin(self) -> None:
        """Begin to hold the test bed."""
        self._until = time.monotonic() + HOLD_SECONDS

    def jobs(self) -> Iterator[Job]:
        """Yield one run after the other until others may want the test bed."""
        while self.left and time.monotonic() < self._until:
            case, number = self.left.popleft()
            print(f"\r{len(self.left)} runs left   ", end="", file=sys.stderr, flush=True)
            yield Job(case, number, self._folder / f"{len(self.done) + self._lost}")

    def ran(self, job: Job, launcher: Sequence[str], *words: str) -> None:
        """Run weir-bench; ``launcher`` ends with words before the program, on each rank."""
        program = str(CLONE / "build/release/bench/weir-bench")
        command = [
            *(*launcher, program, "stream", "--write", "--file-per-rank", "--no-verify"),
            *("--warmups", "0", "--repetitions", "3", "--max-repetitions", "3"),
            *(*words, "--output", str(job.folder)),
        ]
        try:
            done = ended(command, {}, RUN_SECONDS)
            complaint = "" if done.returncode == 0 else (done.stderr or done.stdout).strip()[-500:]
        except subprocess.TimeoutExpired:
            complaint = f"not done within {RUN_SECONDS:g} s"
        if not complaint:
            self.done.append(job)
            return
        print(f"\n{shlex.join(command)}: {complaint}", file=sys.stderr)
        self._lost += 1
        if self._lost > MOST_LOST:
            sys.exit("too many runs have failed")
        self.left.append((job.case, job.number))


def use_targets(turns: Turns) -> None:
    words = ["--rates", f"{TARGET_RATE}MB/s", "--count", str(UNITS)]
    made = run([TESTBED, "targets", "up", *words, "--size", f"{TARGET_MEBIBYTES}MiB", "--json"])
    directories = [one["directory"] for one in json.loads(made)["targets"]]
    even = ["--block", "40m", "-o", "@".join(directories)]
    uneven = ["--block", "16m", "-o", "@".join(directories[one] for one in UNEVEN)]
    try:
        for job in turns.jobs():
            is_uneven, is_slowed = (
                job.case.name == name for name in ("uneven files", "slowed target")
            )
            if is_slowed:
                set_target(job.number % UNITS, SLOWED_TARGET)
            launcher = [*LAUNCHER, "-n", str(RANKS if is_uneven else UNITS)]
            words = ["--direct", "--transfer", "1m", *(uneven if is_uneven else even)]
            turns.ran(job, launcher, *words)
            if is_slowed:
                set_target(job.number % UNITS, TARGET_RATE)
    finally:
        run([TESTBED, "targets", "down", "--kill"])


def set_target(number: int, rate: int) -> None:
    run([TESTBED, "targets", "set", f"target{number}", "--rate", f"{rate}MB/s"])


def use_hosts(turns: Turns) -> None:
    links = ",".join(["1gbit", *[f"{LINK_RATE}mbit"] * UNITS])
    made = run([TESTBED, "hosts", "up", "--count", str(UNITS + 1), "--link", links, "--json"])
    server, *others = json.loads(made)["hosts"]
    hosts = [one["name"] for one in others]
    already = len(turns.done)
    per_host = RANKS // UNITS
    launcher = [MPIRUN, "--host", ",".join(f"{host}:{per_host}" for host in hosts)]
    launcher += ["-n", str(RANKS), "env", f"LD_PRELOAD={CARRIED_CALLS}"]
    launcher += [f"WEIR_CARRIED_TO={server['address']}:{PORT}"]
    with tempfile.TemporaryDirectory(prefix="weir-anomalies-", dir="/dev/shm") as files:
        words = ["--transfer", "256k", "--block", "4m", "--directory", files]
        try:
            with (
                serving(server["name"], server["address"]),
                monitored(hosts, Path(files)) as recordings,
            ):
                for job in turns.jobs():
                    host = host_of(job.number)
                    if job.case.name == "slowed link":
                        set_link(host, SLOWED_LINK)
                    turns.ran(job, [*launcher, *delaying(job)], *words)
                    if job.case.name == "slowed link":
                        set_link(host, LINK_RATE)
            share_samples(recordings, [job.folder for job in turns.done[already:]])
        finally:
            run([TESTBED, "hosts", "down", "--kill"])


def delaying(job: Job) -> list[str]:
    """Return the words that delay the calls of the host or the rank that is slowed, if one is."""
    its = {
        "slowed node": f'"$(hostname)" = {host_of(job.number)}',
        "slowed rank": f'"$OMPI_COMM_WORLD_RANK" = {job.number % RANKS}',
    }.get(job.case.name)
    if its is None:
        return []
    script = f'[ {its} ] && export WEIR_CARRIED_DELAY={SLOWED_MILLISECONDS}; exec "$@"'
    return ["sh", "-c", script, "sh"]


def set_link(host: str, rate: int) -> None:
    run([TESTBED, "hosts", "set", host, "--link", f"{rate}mbit"])


@contextmanager
def serving(host: str, address: str) -> Iterator[None]:
    """Run the server of carried calls on a host."""
    command = [ENTER, host, sys.executable, str(Path(__file__).resolve()), "serve", address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        if not server.stdout.readline():
            sys.exit(f"{shlex.join(command)} did not start")
        try:
            yield
        finally:
            server.communicate(timeout=RUN_SECONDS)


def serve(address: str) -> None:
    """Take what carried calls send, and send what they read, until standard input ends."""
    with socket.create_server((address, PORT)) as listening:
        print("listening", flush=True)
        threading.Thread(target=_accept, args=(listening,), daemon=True).start()
        sys.stdin.read()
        os._exit(0)


def _accept(listening: socket.socket) -> None:
    while True:
        connection, _ = listening.accept()
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    room = memoryview(bytearray(1 << 20))
    with connection:
        while header := connection.recv(8, socket.MSG_WAITALL):
            size = int.from_bytes(header, "little", signed=True)
            if size < 0:
                connection.sendall(bytes(-size))
                continue
            while size:
                size -= connection.recv_into(room[: min(size, len(room))])
            connection.sendall(b"k")


@contextmanager
def monitored(hosts: Sequence[str], folder: Path) -> Iterator[list[Part]]:
    """Run a monitor on each host; its parts are complete afterwards."""
    recordings = [folder / f"{host}.recording" for host in hosts]
    running = [
        subprocess.Popen(
            [ENTER, host, sys.executable, "-m", "weir.monitor", f"{INTERVAL_SECONDS}", str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for host, file in zip(hosts, recordings, strict=True)
    ]
    for one in running:
        assert one.stdout is not None
        one.stdout.readline()
    try:
        yield [Part(file, 0, host) for host, file in zip(hosts, recordings, strict=True)]
    finally:
        for one in running:
            one.communicate(timeout=RUN_SECONDS)


def share_samples(parts: Sequence[Part], folders: Sequence[Path]) -> None:
    """Put the samples of each run's time into its folder; all hosts have one clock."""
    together = parts[0].recording.with_name("all.parquet")
    write_together(parts, together)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE samples AS FROM read_parquet(?)", [str(together)])
        for top in folders:
            (folder,) = find_run_folders(top)
            clocks = load_run(folder).clocks
            assert clocks is not None
            began = clocks.started_ns
            connection.execute(
                f"COPY (SELECT * REPLACE (since_ns - {began} AS since_ns, "
                f"time_ns - {began} AS time_ns) FROM samples WHERE time_ns >= {began} AND "
                f"since_ns <= {began} + {int(RUN_SECONDS * 1e9)} AND kind = 'link') "
                f"TO '{folder / SAMPLES_FILE}' (FORMAT parquet)"
            )


def no_verdict(_run: Run, _siblings: Sequence[Run]) -> None:
    return None


def judge(jobs: Sequence[Job]) -> None:
    """Finalize all runs, and count what was found."""
    for job in jobs:
        (finalized,) = finalize(job.folder, no_verdict, examine)
        found = finalized.run.anomalies or []
        good = job.case.add(job.number, found)
        if not good:
            said = "; ".join(f"{one.kind}: {one.text}" for one in found) or "nothing"
            print(f"{job.case.name} {job.number + 1} ({job.folder.name}): {said}")


@contextmanager
def testbed_alone() -> Iterator[None]:
    """Wait until nothing is up; the tests of the test bed wait for the same lock."""
    end = time.monotonic() + FREE_SECONDS
    with socket.socket(socket.AF_UNIX) as lock:
        is_locked = False
        while not is_locked or json.loads(run([TESTBED, "--wait", "60", "status", "--json"])):
            if time.monotonic() > end:
                sys.exit(f"others have used the test bed for {FREE_SECONDS:g} s")
            if not is_locked:
                with suppress(OSError):
                    lock.bind("\0weir-testbed-tests")
                    is_locked = True
            time.sleep(0.5 if is_locked else 0.1)
        try:
            yield
        except SystemExit as ended_by:
            # A signal may have come while the test bed was made.
            if ended_by.code == ENDED:
                run([TESTBED, "--wait", "60", "down", "--kill"])
            raise


def measure(given: argparse.Namespace) -> None:
    if not CARRIED_CALLS.exists():
        sys.exit(f"{CARRIED_CALLS} is missing: run ./dev build")
    # A script that is ended takes the test bed away, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(ENDED))
    began = time.monotonic()
    cases: list[Case] = []
    with tempfile.TemporaryDirectory(prefix="anomalies-") as name:
        top = given.keep or Path(name)
        for bed in given.bed:
            its_cases, use = BEDS[bed]
            folder = top / f"on_{bed}"
            folder.mkdir(parents=True)
            its = its_cases()
            turns = Turns(its, given, folder)
            while turns.left:
                with testbed_alone():
                    turns.begin()
                    use(turns)
            print(file=sys.stderr)
            judge(turns.done)
            cases += its
    print()
    wrong = [case for case in cases if case.expected is None]
    for case in cases:
        word, number = (
            ("labelled", case.runs - case.right) if case in wrong else ("found", case.right)
        )
        low, high = interval(number, case.runs)
        said = ", ".join(f"{kind} {times}" for kind, times in case.said.most_common())
        print(
            f"{case.name:<22} {word:<8} {number:>3} of {case.runs:<3} "
            f"({shares_text(low, high)})   said: {said}"
        )
    runs = sum(case.runs for case in wrong)
    labelled = runs - sum(case.right for case in wrong)
    low, high = interval(labelled, runs)
    good = labelled <= GOAL_WRONG * runs and all(
        case.right >= GOAL_FOUND * case.runs for case in cases if case not in wrong
    )
    print(
        f"all homogeneous        labelled {labelled:>3} of {runs:<3} ({shares_text(low, high)}); "
        f"{time.monotonic() - began:.0f} s; the goal is {'' if good else 'not '}reached"
    )


BEDS = {"targets": (on_targets, use_targets), "hosts": (on_hosts, use_hosts)}


def main() -> None:
    parser = options(__doc__)
    parts = parser.add_subparsers(required=True, dest="what")
    counting = parts.add_parser("count", help="examine runs again and count their labels")
    counting.add_argument("folders", type=Path, nargs="+")
    measuring = parts.add_parser("measure", help="make runs on the test bed, as root")
    measuring.add_argument("--bed", choices=BEDS, nargs="+", default=list(BEDS))
    measuring.add_argument("--runs", type=int, default=20, help="of each slowed part")
    measuring.add_argument("--homogeneous", type=int, default=25, help="on targets and on hosts")
    measuring.add_argument("--keep", type=Path, metavar="FOLDER", help="where the runs stay")
    serving_ = parts.add_parser("serve", help="the server of carried calls; used by measure")
    serving_.add_argument("address")
    given = parser.parse_args()
    if given.what == "count":
        count(given.folders)
    elif given.what == "measure":
        measure(given)
    else:
        serve(given.address)


if __name__ == "__main__":
    main()
