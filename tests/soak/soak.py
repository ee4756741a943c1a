"""Random programs on ranks, killed and disturbed, until the time is over: soak.py SECONDS.

Each case writes and reads one file in a few sessions, as soak_case.py draws them; every step that
was acknowledged is then compared with NumPy by the format's own library and by weir.open. A case is
known by its seed: `--seed SEED --cases 1` makes it again. Whatever is found stays in build/soak.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "failure"), str(TESTS / "python")]

from failing_runs import FAULTY_IO  # noqa: E402
from mpi_launcher import BUILD, CLONE, environment, launcher, preload  # noqa: E402
from own_stager import Stager, start_service  # noqa: E402
from soak_case import MOST_RANKS, SESSION_DEADLINE_SECONDS, Case, Model, drawn_case  # noqa: E402

PROGRAMS = Path(__file__).parent
PYTHON_PATH = os.pathsep.join([str(PROGRAMS), str(TESTS), str(TESTS / "python")])
FAULTY_MPI = FAULTY_IO.with_name("faulty_mpi.so")
LIBRARY = BUILD / "src" / "capi" / "libweir.so.0"
CASES_OF_A_RUN = 12
JOURNAL_SECONDS = 60
CASE_SECONDS = 3 * SESSION_DEADLINE_SECONDS
READER_SECONDS = 300
"""For which a reader may use the processor, and for which it may use none; how long it waits for a
processor that others use is not counted. A Zarr folder may have half a million chunks, each a file.
"""
SMALL_SHM = [
    "unshare", "--mount", "sh", "-c",
    'mount -t tmpfs -o size=256k none /dev/shm && exec "$@"', "sh",
]  # fmt: skip
MOST_FINDINGS = 20


@dataclass
class Ended:
    """What became of the cases of a run."""

    done: list[int] = field(default_factory=list)
    broken: tuple[int, str, str] | None = None
    """A case, "wrong", "hung" or "crashed", and a line."""


class Run:
    """A job of the launcher that makes some cases from a phase on."""

    def __init__(
        self, folder: Path, stager: Stager, first_phase: int, seeds: Sequence[int], ranks: int, *,
        small_shm: bool = False,
    ) -> None:  # fmt: skip
        self.folder, self.seeds = folder, seeds
        for stale in ("under-way", "log"):
            (folder / stale).unlink(missing_ok=True)
        for seed in seeds:
            for name in ("done", "wrong"):
                (folder / str(seed) / name).unlink(missing_ok=True)
        spoiled = ["env", f"LD_PRELOAD={preload(FAULTY_IO, FAULTY_MPI)}"]
        program = [sys.executable, str(PROGRAMS / "soak_ranks.py"), str(first_phase)]
        command = [
            *launcher(), "-n", str(ranks), *spoiled, *program,
            str(folder), *map(str, seeds),
        ]  # fmt: skip
        own = {"PYTHONPATH": PYTHON_PATH, "WEIR_LIBRARY": str(LIBRARY), **stager.variables()}
        if small_shm and may_make_shm_small():
            command = [*SMALL_SHM, *command]
            own["OMPI_MCA_btl_vader_backing_directory"] = str(folder)  # MPI's own memory
        with (folder / "log").open("w") as log:
            self.job = subprocess.Popen(
                command, env=environment(own), stdout=log, stderr=log, start_new_session=True,
                cwd=folder,
            )  # fmt: skip

    def under_way(self) -> int | None:
        place = self.folder / "under-way"
        text = place.read_text() if place.exists() else ""
        return int(text) if text else None

    def is_done(self, seed: int) -> bool:
        return (self.folder / str(seed) / "done").exists()

    def processes(self, seed: int) -> dict[int, int]:
        """The process of each rank, of the phase that it began last."""
        model = Model(drawn_case(seed), self.folder / str(seed) / "model")
        return {int(line[1]): int(line[2]) for line in model.told() if line[0] == "process"}

    def has_acknowledged(self, seed: int) -> bool:
        """Whether a step of the case has ended."""
        told = Model(drawn_case(seed), self.folder / str(seed) / "model").told()
        return any(line[0] == "ended" for line in told)

    def ended(self) -> Ended:
        """Waits for its end; a case that makes no progress is ended, and has hung."""
        last, since, hung = None, time.monotonic(), False
        while self.job.poll() is None:
            time.sleep(0.02)
            now = self.under_way()
            if now != last:
                last, since = now, time.monotonic()
            if time.monotonic() - since > CASE_SECONDS:
                hung = True
                self.kill()
        found = Ended([seed for seed in self.seeds if self.is_done(seed)])
        if self.job.returncode == 0 and len(found.done) == len(self.seeds):
            return found
        last = self.under_way()
        # When all are done, it is ending the job that failed; the last one stands for it.
        broken = next((seed for seed in self.seeds if seed not in found.done), self.seeds[-1])
        found.done = [seed for seed in found.done if seed != broken]
        wrong = self.folder / str(broken) / "wrong"
        line = wrong.read_text().splitlines()[0] if wrong.exists() else ""
        late = hung or "DeadlineError" in line or "BrokenError" in line
        kind = "hung" if late else "wrong" if line else "crashed"
        log = (self.folder / "log").read_text()
        if not line and not hung:
            line = f"exit status {self.job.returncode}: " + " ".join(log[-300:].split())
        (self.folder / str(broken)).mkdir(exist_ok=True)
        (self.folder / str(broken) / "log").write_text(log)
        found.broken = (broken, kind, line or f"no progress for {CASE_SECONDS} s")
        return found

    def kill(self) -> None:
        for seed in self.seeds:
            for process in self.processes(seed).values():
                kill_rank(process)
        if self.job.poll() is None:
            os.killpg(self.job.pid, signal.SIGKILL)
        self.job.wait()


@functools.cache
def may_make_shm_small() -> bool:
    tried = subprocess.run([*SMALL_SHM, "true"], capture_output=True, timeout=60, check=False)
    return tried.returncode == 0


def kill_rank(process: int) -> None:
    """Kills a process if it still is a rank of the soak."""
    try:
        if b"soak_ranks.py" in Path(f"/proc/{process}/cmdline").read_bytes():
            os.kill(process, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        pass


def processor_seconds(process: int) -> float:
    """What a process and its threads have used until now; 0 where there is none any more."""
    try:
        after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


class Patience:
    """With a process that may get little of the processor, but not wait or compute for ever."""

    def __init__(self, seconds: float, used: float, now: float) -> None:
        self.seconds, self._first, self._last, self._since = seconds, used, used, now

    def finding(self, used: float, now: float) -> str:
        """What the process did for too long when it has `used` so many seconds; "" if nothing."""
        if used > self._last:
            self._last, self._since = used, now
        if used - self._first > self.seconds:
            return f"used the processor for {self.seconds} s"
        if now - self._since > self.seconds:
            return f"did nothing for {self.seconds} s"
        return ""


class Watch:
    """Kills a process with which `Patience` ends, until the watch is left."""

    def __init__(self, process: subprocess.Popen[str], seconds: float) -> None:
        self.process, self.seconds = process, seconds
        self.finding = ""
        self._is_left = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_left.set()
        self._thread.join()

    def _watch(self) -> None:
        process = self.process.pid
        patience = Patience(self.seconds, processor_seconds(process), time.monotonic())
        while not self._is_left.wait(1):
            self.finding = patience.finding(processor_seconds(process), time.monotonic())
            if self.finding:
                self.process.kill()
                return


class Reader:
    """The process that reads files by other libraries; another one when it died or hung."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "readers.log"
        self.process: subprocess.Popen[str] | None = None

    def look(self, folder: Path, *, killed: bool) -> str:
        if self.process is None or self.process.poll() is not None:
            with self.log.open("a") as log:
                self.process = subprocess.Popen(
                    [sys.executable, str(PROGRAMS / "soak_readers.py")],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                    env=environment({"PYTHONPATH": PYTHON_PATH}),
                )  # fmt: skip
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        with Watch(process, READER_SECONDS) as watch:
            try:
                process.stdin.write(f"{folder} {'killed' if killed else 'ended'}\n")
                process.stdin.flush()
                answer = process.stdout.readline().strip()
            except BrokenPipeError:
                answer = ""
        if not answer and watch.finding:
            return f"hung the reader {watch.finding}: {self.log}"
        return answer or f"crashed the reader ended: {self.log}"

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class Soak:
    """Cases by their seeds, what they came to, and the line about all of them."""

    def __init__(self, folder: Path, kept: Path, *, loud: bool) -> None:
        self.folder, self.kept, self.loud = folder, kept, loud
        self.counts: Counter[str] = Counter()
        self.reader = Reader(folder)
        self.looking = ThreadPoolExecutor(1)
        self.stager = started_stagers()
        self.looks: list[tuple[int, Future[str]]] = []
        self.begun: list[int] = []
        """Killed cases, whose later phases are to come."""

    def run(self, seeds: Sequence[int]) -> None:
        cases = [drawn_case(seed) for seed in seeds]
        self.counts["cases"] += len(cases)
        self.counts["killed"] += sum(case.launch == "killed" for case in cases)
        self.counts["staged"] += sum(any(p.staged for p in case.phases) for case in cases)
        self.counts["journaled"] += sum(case.journaled for case in cases)
        self.counts["losing"] += sum(case.loses_stagers for case in cases)
        self.counts["faulty"] += sum(
            any(p.fault or p.mpi_fault for p in case.phases) for case in cases
        )
        for case in cases:
            if case.journaled:
                self.kill_with_stager(case)
            elif case.launch == "killed":
                self.kill(case)
            if case.loses_stagers:
                self.lose_stagers(case)
        plain = [case for case in cases if case.launch == "plain" and not case.loses_stagers]
        self.make([case.seed for case in plain if not case.small_shm])
        self.make([case.seed for case in plain if case.small_shm], small_shm=True)
        self.collect()

    def go_on(self) -> None:
        """The later phases of cases that were killed."""
        begun, self.begun = self.begun, []
        self.make(begun, first_phase=1)
        self.collect()

    def lose_stagers(self, case: Case) -> None:
        """The case has stagers of its own, and kills or breaks them."""
        stager = started_stagers()
        try:
            self.make([case.seed], stager=stager)
        finally:
            stager.kill()

    def make(
        self, seeds: list[int], first_phase: int = 0, *, small_shm: bool = False,
        stager: Stager | None = None,
    ) -> None:  # fmt: skip
        given = stager or self.stager
        while seeds and not self.is_over():
            run = Run(self.folder, given, first_phase, seeds, MOST_RANKS, small_shm=small_shm)
            try:
                ended = run.ended()
            finally:
                run.kill()
            for seed in ended.done:
                self.look(seed, killed=False)
            broken = []
            if ended.broken is not None:
                seed, kind, line = ended.broken
                self.find(seed, kind, line)
                broken = [seed]
            seeds = [seed for seed in seeds if seed not in [*ended.done, *broken]]

    def kill(self, case: Case) -> None:
        if not self.kill_first_phase(case, self.stager):
            return
        self.stager.wait_until_idle()
        if len(case.phases) > 1:
            self.begun.append(case.seed)
        else:
            self.look(case.seed, killed=True)

    def kill_with_stager(self, case: Case) -> None:
        """The case has stagers of its own; others store what these had accepted."""
        journals = self.folder / f"journals-{case.seed}"
        stager = started_stagers(case.stagers, journals)
        try:
            is_killed = self.kill_first_phase(case, stager)
        finally:
            stager.kill()
        if not is_killed:
            return
        stager = started_stagers(case.stagers, journals)
        try:
            if left := journals_left(stager, journals):
                logs = " ".join(one.log() for one in (stager, *stager.others))
                line = f"the journals {left} are left: {' '.join(logs.split())}"
                self.find(case.seed, "lost", line)
            elif len(case.phases) > 1:
                self.make([case.seed], first_phase=1, stager=stager)
            else:
                self.look(case.seed, killed=True)
        finally:
            stager.kill()

    def kill_first_phase(self, case: Case, stager: Stager) -> bool:
        """Whether it was killed and nothing is wrong so far."""
        first = case.phases[0]
        run = Run(self.folder, stager, 0, [case.seed], first.ranks)
        end = time.monotonic() + CASE_SECONDS
        try:
            while run.job.poll() is None and len(run.processes(case.seed)) < first.ranks:
                time.sleep(0.005)
                if time.monotonic() > end:
                    self.find(case.seed, "hung", "it did not start")
                    return False
            while case.journaled and not run.has_acknowledged(case.seed):
                time.sleep(0.005)
                if run.job.poll() is not None or time.monotonic() > end:
                    break
            if case.journaled:  # soon, while its stager has not stored the step
                time.sleep(case.kill_after / 30)
                stager.kill()
            elif not first.fault:
                time.sleep(case.kill_after)
            if not first.fault:
                for rank, process in run.processes(case.seed).items():
                    if case.kill_rank in (None, rank):
                        kill_rank(process)
            try:
                run.job.wait(CASE_SECONDS)
            except subprocess.TimeoutExpired:
                self.find(case.seed, "hung", "the job goes on after a rank was killed")
                return False
            wrong = self.folder / str(case.seed) / "wrong"
            line = wrong.read_text() if wrong.exists() else ""
            # A rank that outlives another rank, or its stager, may be told that it is lost.
            may_say = ("lost", "stager") if case.journaled else ("lost",)
            if "WrongError" in line and not any(word in line for word in may_say):
                self.find(case.seed, "wrong", line.splitlines()[0])
                return False
        finally:
            run.kill()
        return True

    def look(self, seed: int, *, killed: bool) -> None:
        folder = self.folder / str(seed)
        look = self.looking.submit(self.reader.look, folder, killed=killed)
        self.looks.append((seed, look))

    def collect(self) -> None:
        for seed, look in self.looks:
            kind, _, rest = look.result().partition(" ")
            if kind == "right":
                model = Model(drawn_case(seed), self.folder / str(seed) / "model")
                told = model.told()
                self.counts["refused"] += any(line[:2] == ["failed", "refused:"] for line in told)
                self.counts["added"] += len({line[2] for line in told if line[0] == "added"})
                self.counts["steps"] += len({tuple(line) for line in told if line[0] == "ended"})
                if self.loud:
                    for line in told:
                        if line[0] in {"failed", "again"}:
                            say(f"seed {seed}: {' '.join(line)}")
                shutil.rmtree(self.folder / str(seed))
            else:
                self.find(seed, kind, rest)
        self.looks.clear()

    def find(self, seed: int, kind: str, line: str) -> None:
        self.counts["findings"] += 1
        self.counts[kind] += 1
        place = self.kept / str(seed)
        shutil.rmtree(place, ignore_errors=True)
        self.kept.mkdir(parents=True, exist_ok=True)
        if (self.folder / str(seed)).exists():
            shutil.move(self.folder / str(seed), place)
        say(f"{kind}: seed {seed}: {line}\n  again: ./dev soak --seed {seed} --cases 1; in {place}")

    def is_over(self) -> bool:
        return self.counts["findings"] >= MOST_FINDINGS

    def end(self) -> None:
        self.looking.shutdown()
        self.reader.end()
        self.stager.kill()


def started_stagers(stagers: int = 2, journals: Path | None = None) -> Stager:
    """One for each node of a session, which serve ranks of other nodes, too."""
    return start_service(stagers, "--stager-memory", "16m", journals=journals)


def journals_left(stager: Stager, journals: Path) -> list[str]:
    """Waits until the stagers have stored each step that had ended; returns what they have not.

    A step has ended when the stager of rank 0 has it in its journal. The others may have shares of
    one that had not, and wait for that journal.
    """
    end = time.monotonic() + JOURNAL_SECONDS
    while True:
        waiting = [line for one in (stager, *stager.others) for line in
                   one.report()["waiting_shares"]]  # fmt: skip
        left = [str(one.relative_to(journals)) for one in journals.glob("*/*")]
        has_ended = any(one.startswith("0/") or one.endswith(".aside") for one in left)
        if not left or (len(waiting) == len(left) and not has_ended):
            return []
        if time.monotonic() > end:
            return left
        time.sleep(0.1)


def say(line: str) -> None:
    sys.stdout.write(f"soak: {line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("seconds", type=float, nargs="?", default=60)
    parser.add_argument("--seed", type=int, help="of the first case; the next has the next number")
    parser.add_argument("--cases", type=int, help="so many cases in place of a time")
    parser.add_argument("--verbose", action="store_true", help="what injected faults came to")
    asked = parser.parse_args()
    for needed in (LIBRARY, FAULTY_IO, FAULTY_MPI):
        if not needed.exists():
            parser.error(f"{needed} is missing: ./dev build makes it")
    seed = random.SystemRandom().randrange(1 << 40) if asked.seed is None else asked.seed
    kept = CLONE / "build" / "soak"
    kept.mkdir(parents=True, exist_ok=True)
    started, first = time.monotonic(), seed
    with tempfile.TemporaryDirectory(prefix="run-", dir=kept, ignore_cleanup_errors=True) as folder:
        soak = Soak(Path(folder), kept, loud=asked.verbose)
        try:
            while not soak.is_over():
                left = None if asked.cases is None else asked.cases - soak.counts["cases"]
                if left == 0 or (left is None and time.monotonic() - started > asked.seconds):
                    break
                count = min(CASES_OF_A_RUN, left or CASES_OF_A_RUN)
                soak.run(range(seed, seed + count))
                seed += count
                if len(soak.begun) >= CASES_OF_A_RUN // 3:
                    soak.go_on()
            soak.go_on()
        finally:
            soak.end()
        counts = soak.counts
    say(
        f"{counts['cases']} cases ({counts['killed']} killed, {counts['journaled']} of them with "
        f"their stager, {counts['faulty']} with faults, "
        f"{counts['staged']} staged, {counts['losing']} without their stagers in the end, "
        f"{counts['refused']} refused), {counts['steps']} steps acknowledged, "
        f"{counts['added']} additions, "
        f"{counts['lost']} lost, {counts['wrong']} wrong, {counts['hung']} hung, "
        f"{counts['crashed']} crashed; from seed {first} on, {time.monotonic() - started:.0f} s"
    )
    return 1 if counts["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
