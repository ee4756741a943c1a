"""Cases of the soak on the ranks of a launcher: soak_ranks.py FIRST_PHASE FOLDER SEED...

Each case lies in FOLDER/SEED. Every rank draws the same cases; a phase of fewer ranks leaves the
others waiting. The first thing that is not as it should be ends the job; its line is in
FOLDER/SEED/wrong. Phases from FIRST_PHASE on are made: the first one of a program that was killed
was made before.
"""

from __future__ import annotations

import os
import random
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from soak_case import (
    OPENING_THE_FILE,
    OPENING_THE_SESSION,
    ArrayDrawn,
    Case,
    Model,
    Phase,
    drawn_case,
    wrong_elements,
)

import weir
from array_properties import (
    Held,
    drawn_distribution,
    drawn_memory,
    drawn_section,
    holders,
    parts,
)

WORLD = MPI.COMM_WORLD


class WrongError(Exception):
    """What the library gave is not what it promises."""


class FailedError(Exception):
    """A collective call failed on all ranks alike, as it may where a fault was injected."""


class PhaseOnRanks:
    """One phase on the ranks that take part in it."""

    def __init__(self, case: Case, phase: Phase, folder: Path, ranks: MPI.Comm) -> None:
        self.case, self.phase, self.ranks = case, phase, ranks
        self.path = folder / case.file_name
        self.model = Model(case, folder / "model")
        self.draw = random.Random(f"{case.seed} {phase.number}")
        self.own = random.Random(f"{case.seed} {phase.number} {WORLD.rank}")
        self.turn = 0
        self.is_opened = False
        """Not made in this phase."""
        told = self.model.acknowledged() if ranks.rank == 0 else None
        self.generation, self.steps = ranks.bcast(told)

    # -- calls ----------------------------------------------------------------------------------

    def together(self, what: str, call: Callable[[], Any], *, may_fail: bool = False) -> Any:
        """A collective call, whose outcome must be the same on all ranks."""
        line, given = "", None
        try:
            given = call()
        except weir.Error as error:
            line = f"{type(error).__name__}: {error}"
        lines = self.ranks.allgather(line)
        # A rank whose messages fail says why; those that it told may say who told them.
        alike = {bool(one) for one in lines} if os.environ.get("WEIR_MPI_FAULT") else set(lines)
        if len(alike) != 1:
            raise WrongError(f"{what}: ranks got different outcomes: {lines}")
        if line:
            if not (may_fail or self.faulty):
                raise WrongError(f"{what} failed: {line}")
            raise FailedError(f"{what}: {line}")
        return given

    @property
    def faulty(self) -> bool:
        return bool(os.environ.get("WEIR_FAULT") or os.environ.get("WEIR_MPI_FAULT"))

    @property
    def has_fault(self) -> bool:
        return bool(self.phase.fault or self.phase.mpi_fault)

    def begin_fault(self) -> None:
        os.environ["WEIR_FAULT"] = self.phase.fault.format(tree=self.case.file_name)
        if os.environ.get("SOAK_MPI_FAULTS"):
            os.environ["WEIR_MPI_FAULT"] = self.phase.mpi_fault

    def end_fault(self) -> None:
        os.environ["WEIR_FAULT"] = os.environ["WEIR_MPI_FAULT"] = ""

    # -- the phase ------------------------------------------------------------------------------

    def run(self) -> None:
        if self.ranks.rank == 0:
            self.model.folder.mkdir(exist_ok=True)
        self.ranks.barrier()
        self.model.tell(f"process {WORLD.rank} {os.getpid()}")
        session = self.opened_session()
        try:
            self.in_session(session)
        except FailedError as failed:
            if self.ranks.rank == 0:
                self.model.tell(f"failed {failed}")
        finally:
            self.end_fault()
            session.abandon()

    def opened_session(self) -> weir.Session:
        def opened() -> Any:
            return self.together(
                "opening a session", lambda: weir.Session(self.ranks, **self.phase.settings)
            )

        if self.phase.fault_step == OPENING_THE_SESSION:
            self.begin_fault()
        try:
            return opened()
        except FailedError:
            self.end_fault()
            return opened()
        finally:
            self.end_fault()

    def in_session(self, session: weir.Session) -> None:
        if self.has_fault and self.phase.fault_step == OPENING_THE_FILE:
            self.begin_fault()
        try:
            file, arrays = self.opened_file(session)
        except FailedError:
            if not self.faulty or self.phase.mpi_fault:
                raise
            self.end_fault()
            file, arrays = self.opened_file(session)
        self.end_fault()
        self.add_steps(session, file, arrays)
        if self.phase.ending == "unfinished":
            self.leave_unfinished(session, file, arrays)
        elif self.phase.ending == "close":
            self.together("closing the file", file.close)
        if self.phase.ending != "abandon":
            self.together("closing the session", session.close)

    def opened_file(self, session: weir.Session) -> tuple[Any, dict[str, Any]]:
        path, case = str(self.path), self.case
        makes = self.phase.makes or self.generation < 0
        if makes:
            before = self.generation, self.steps
            self.generation, self.steps = self.generation + 1, 0
            try:
                file = self.together(
                    "creating the file",
                    lambda: session.create_file(path, format=case.file_format, **case.options),
                )
                return file, {array.name: self.defined(file, array) for array in case.arrays}
            except FailedError:
                self.generation, self.steps = before  # there is no such file
                raise
        self.is_opened = True
        only_read = not case.growing
        file = self.together(
            "opening the file", lambda: session.open_file(path, read_only=only_read)
        )
        arrays = {array.name: file[array.name] for array in case.arrays}
        begun = self.ranks.bcast(self.model.begun() if self.ranks.rank == 0 else None)
        found = file.steps
        was_killed = self.phase.number > 0 and self.case.phases[self.phase.number - 1].killed
        if was_killed and begun == (self.generation, self.steps + 1) == (self.generation, found):
            self.steps = found
            self.acknowledge()
        if found != self.steps and case.growing:
            raise WrongError(f"the file has {found} steps, {self.steps} had ended")
        self.read(session, file, arrays)
        return file, arrays

    def defined(self, file: Any, array: ArrayDrawn) -> Any:
        return self.together(
            f"refused: defining {array}",
            lambda: file.define(
                array.name, array.shape, array.kind, steps=array.grows, **array.options
            ),
            may_fail=True,
        )

    def acknowledge(self) -> None:
        self.model.tell(f"ended {self.generation} {self.steps}")

    # -- writing --------------------------------------------------------------------------------

    def add_steps(self, session: weir.Session, file: Any, arrays: dict[str, Any]) -> None:
        for number in range(self.phase.steps):
            if self.faulty_step(number):
                self.begin_fault()
            try:
                self.one_step(session, file, arrays)
            except FailedError as failed:
                if not self.faulty_step(number) or self.phase.after_fault == "reopen":
                    raise
                if self.ranks.rank == 0:
                    self.model.tell(f"again after {failed}")
                self.end_fault()
                self.one_step(session, file, arrays)
            if not self.phase.killed:
                self.end_fault()

    def faulty_step(self, number: int) -> bool:
        return self.has_fault and number == self.phase.fault_step

    def one_step(self, session: weir.Session, file: Any, arrays: dict[str, Any]) -> None:
        is_first = self.steps == 0
        writing = [one for one in self.case.arrays if one.grows or is_first]
        if self.ranks.rank == 0:
            self.model.tell(f"begun {self.generation} {self.steps + 1}")
        # What a format cannot hold is refused here at the latest.
        what = "refused: beginning the first step" if is_first else "beginning a step"
        self.together(what, file.begin_step, may_fail=is_first)
        try:
            self.write_step(session, arrays, writing, keep=True)
        except FailedError:
            self.together("ending a step that failed", file.end_step, may_fail=True)
            raise WrongError("a step ended although a write of it had failed") from None
        self.together("ending a step", file.end_step)
        self.steps += 1
        self.acknowledge()
        if self.draw.random() < 0.1 and not self.phase.killed:
            self.read(session, file, arrays)

    def write_step(
        self,
        session: weir.Session,
        arrays: dict[str, Any],
        writing: list[ArrayDrawn],
        *,
        keep: bool,
    ) -> None:
        """Some requests; what they write is kept before the first of them begins."""
        requests: list[list[tuple[ArrayDrawn, Held, Any, np.ndarray[Any, Any]]]] = []
        values = {one.name: np.zeros(one.memory_shape, one.kind) for one in writing}
        known = {one.name: np.zeros(one.memory_shape, bool) for one in writing}
        for again in range(self.draw.choice([1, 1, 1, 2, 3])):
            chosen = [one for one in writing if again == 0 or self.draw.random() < 0.5]
            request = [self.drawn_write(session, one, values, known, again) for one in chosen]
            requests += [request] if self.draw.random() < 0.5 else [[one] for one in request]
        if keep and self.ranks.rank == 0:
            growing = [one.name for one in writing if one.grows]
            fixed = [one.name for one in writing if not one.grows]
            if fixed:
                self.keep("fixed", fixed, values, known)
            self.keep(self.steps + 1, growing, values, known)
        for request in requests:
            transfers = []
            for one, held, section, whole in request:
                memory = drawn_memory(self.own, parts(whole, held))
                transfers.append(
                    (arrays[one.name], held.distribution, memory[0] if len(memory) == 1 else memory,
                     section)
                )  # fmt: skip
            self.together("writing", lambda transfers=transfers: self.write(session, transfers))

    def write(self, session: weir.Session, transfers: list[Any]) -> None:
        if not transfers:
            return
        if self.turn % 3:
            session.write_many(transfers)
        else:
            session.write_begin(transfers).wait()

    def keep(self, step: int | str, names: list[str], values: Any, known: Any) -> None:
        self.model.keep(
            self.generation, step, {n: values[n] for n in names}, {n: known[n] for n in names}
        )

    def drawn_write(
        self, session: weir.Session, one: ArrayDrawn, values: Any, known: Any, again: int
    ) -> tuple[ArrayDrawn, Held, Any, np.ndarray[Any, Any]]:
        shape = one.memory_shape
        held = drawn_distribution(self.draw, session, shape, self.ranks)
        self.turn += 1
        whole = one.values(self.case.seed, self.generation, self.steps, self.turn)
        sparse = np.prod(shape) > 1000 and one.options.get("chunks") == (1, 1)
        if sparse:
            place = tuple(self.draw.randrange(extent) for extent in shape)
            section: Any = tuple(slice(at, at + 4) for at in place)
        elif again or self.draw.random() < 0.3:
            section = drawn_section(self.draw, shape)
        else:
            section = None
        asked = np.zeros(shape, bool)
        asked[section if section is not None else ...] = True
        changed = asked & holders(held, shape, self.ranks)
        values[one.name][changed] = whole[changed]
        known[one.name] |= changed
        return one, held, section, whole

    def leave_unfinished(self, session: weir.Session, file: Any, arrays: dict[str, Any]) -> None:
        """A step that is begun and written and does not end is not in the file."""
        self.together("beginning a step", file.begin_step)
        self.write_step(session, arrays, self.case.growing, keep=False)
        try:
            self.together("closing an unfinished step", file.close, may_fail=True)
        except FailedError:
            return
        raise WrongError("a file whose step had not ended was closed without an error")

    # -- reading --------------------------------------------------------------------------------

    def read(self, session: weir.Session, file: Any, arrays: dict[str, Any]) -> None:
        steps = list(range(self.steps)) if self.case.growing else [0]
        if len(steps) > 6:
            steps = sorted(self.draw.sample(steps, 6))
        for step in steps:
            if self.case.growing:
                file.select_step(step)
            for one in self.case.arrays:
                if one.grows or step == steps[0]:
                    self.read_array(session, arrays[one.name], one, step)

    def read_array(self, session: weir.Session, array: Any, one: ArrayDrawn, step: int) -> None:
        kept = self.model.step(self.generation, step + 1 if one.grows else "fixed", one.name)
        values, known = kept
        if self.is_opened:
            values, known = self.case.stored(one, values), self.case.stored(one, known)
        shape = values.shape
        held = drawn_distribution(self.draw, session, shape, self.ranks)
        section = drawn_section(self.draw, shape) if self.draw.random() < 0.4 else None
        before = np.full(shape, 101).astype(one.kind)
        memory = drawn_memory(self.own, parts(before, held))
        self.together(
            f"reading step {step} of {one.name}",
            lambda: array.read(
                held.distribution, memory[0] if len(memory) == 1 else memory, section
            ),
        )
        expected, asked = before, np.zeros(shape, bool)
        asked[section if section is not None else ...] = True
        expected = np.where(asked, values, before)
        right = known | ~asked
        for got, wanted, sure in zip(
            memory, parts(expected, held), parts(right, held), strict=True
        ):
            line = wrong_elements(got, wanted, sure)
            if line:
                raise WrongError(
                    f"step {step} of {one.name}, read by {self.phase.settings}, "
                    f"section {section}: this rank's part {line}"
                )


def wait_for_all(communicator: MPI.Comm) -> None:
    """A barrier in which ranks that have nothing to do leave the processor to others."""
    arrived = communicator.Ibarrier()
    nap = 0.0002
    while not arrived.Test():
        time.sleep(nap)
        nap = min(0.02, nap * 1.5)


def one_case(case: Case, folder: Path, first_phase: int) -> None:
    for phase in case.phases[first_phase:]:
        taking_part = phase.ranks > WORLD.rank
        ranks = WORLD.Split(0 if taking_part else 1, WORLD.rank)
        if taking_part:
            PhaseOnRanks(case, phase, folder, ranks).run()
        wait_for_all(WORLD)
        ranks.Free()
        if phase.killed:
            return  # it ended before it was killed


def main() -> None:
    first_phase, folder = int(sys.argv[1]), Path(sys.argv[2])
    for seed in map(int, sys.argv[3:]):
        case = drawn_case(seed)
        own = folder / str(seed)
        if WORLD.rank == 0:
            own.mkdir(exist_ok=True)
            (own / "case").write_text(f"{case}\n")
            (folder / "under-way").write_text(str(seed))
        try:
            wait_for_all(WORLD)
            one_case(case, own, first_phase)
        except BaseException as error:
            text = f"rank {WORLD.rank}: {type(error).__name__}: {error}"
            with (own / "wrong").open("a") as wrong:
                wrong.write(" ".join(text.split()) + "\n")
                if not isinstance(error, WrongError):
                    wrong.write(traceback.format_exc())
            WORLD.Abort(1)
        if WORLD.rank == 0:
            (own / "done").touch()


main()
