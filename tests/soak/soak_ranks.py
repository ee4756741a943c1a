"""Cases of the soak on the ranks of a launcher: soak_ranks.py FIRST_PHASE FOLDER SEED...

Each case lies in FOLDER/SEED. Every rank draws the same cases; a phase of fewer ranks leaves the
others waiting. The first thing that is not as it should be ends the job; its line is in
FOLDER/SEED/wrong. Phases from FIRST_PHASE on are made: the first one of a program that was killed
was made before.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mpi4py import MPI
from own_stager import choose_stager, given_processes, given_stagers, given_staging
from soak_calls import WORLD, FailedAdditionError, FailedError, WrongError
from soak_case import (
    OPENING_THE_FILE,
    OPENING_THE_SESSION,
    Addition,
    ArrayDrawn,
    Case,
    drawn_case,
    wrong_attributes,
)
from soak_writing import WritesOfPhase

import weir


class PhaseOnRanks(WritesOfPhase):
    """One phase on the ranks that take part in it: its session, its file and its steps."""

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
            own: list[weir.Session] = []
            settings = dict(self.phase.settings)
            if settings.get("staging") == "service":
                settings["staging"] = given_staging()
            try:
                self.together(
                    "opening a session", lambda: own.append(weir.Session(self.ranks, **settings))
                )
            except FailedError:
                for session in own:  # other ranks have none
                    session.abandon()
                raise
            return own[0]

        choose_stager(self.ranks.rank // (self.phase.settings["ranks_per_node"] or self.ranks.size))
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
        if self.phase.loss:
            self.learn_of_lost_step(session, file, arrays)
        self.add(file, arrays, self.phase.steps)
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
                self.present = case.arrays
                return file, {array.name: self.defined(file, array) for array in case.arrays}
            except FailedError:
                self.generation, self.steps = before  # there is no such file
                raise
        only_read = not case.growing
        file = self.together(
            "opening the file", lambda: session.open_file(path, read_only=only_read)
        )
        if self.ranks.rank == 0:
            self.take_additions(file)
        self.present = self.ranks.bcast(
            self.model.arrays(self.generation) if self.ranks.rank == 0 else None
        )
        arrays = self.opened_arrays(file)
        begun = self.ranks.bcast(self.model.begun() if self.ranks.rank == 0 else None)
        found = file.steps
        may_show = self.ranks.bcast(self.model.failed_half_way() if self.ranks.rank == 0 else None)
        may_show |= self.phase.number > 0 and self.case.phases[self.phase.number - 1].killed
        if may_show and begun == (self.generation, self.steps + 1) == (self.generation, found):
            self.steps = found
            self.acknowledge()
        if found != self.steps and case.growing:
            raise WrongError(f"the file has {found} steps, {self.steps} had ended")
        self.read(session, file, arrays)
        wanted = self.ranks.bcast(self.model.attributes(self.generation))
        if line := wrong_attributes(wanted, file.attributes):
            raise WrongError(line)
        return file, arrays

    def opened_arrays(self, file: Any) -> dict[str, Any]:
        """Where a call failed on opening the file, one of its arrays may not be readable."""
        try:
            return {
                name: self.together("opening an array", lambda: file[name])  # noqa: B023
                for name in (one.name for one in self.present)
            }
        except FailedError:
            self.together("closing the file", file.close)
            raise

    def take_additions(self, file: Any) -> None:
        """The file has all arrays of an addition that was killed or failed, or none of them."""
        generation = self.generation
        for number, names in self.model.perhaps_added(generation):
            there = [name for name in names if name in file]
            if there not in ([], names):
                raise WrongError(f"of the arrays {names} that were added the file has {there}")
            attributes = self.case.additions[number].attributes
            attributes = [one for one in attributes if not one[0] or one[0] in file]
            has_all = not wrong_attributes(attributes, file.attributes)
            is_there = bool(there) or (not names and has_all)
            word = "added" if is_there else "declined"
            self.model.tell(f"{word} {generation} {number} {' '.join(there)}")
            if is_there and has_all:
                self.model.tell(f"attributed {generation} {number} {number}")

    def defined(self, file: Any, array: ArrayDrawn) -> Any:
        made = self.together(
            f"refused: defining {array}",
            lambda: file.define(
                array.name, array.shape, array.kind, steps=array.grows, **array.options
            ),
            may_fail=True,
        )
        self.defined_here.add(array.name)
        return made

    def acknowledge(self) -> None:
        self.model.tell(f"ended {self.generation} {self.steps}")

    def add(self, file: Any, arrays: dict[str, Any], before_step: int) -> None:
        """Defines what the case adds before a step of this phase, where the file has steps."""
        for number, addition in enumerate(self.case.additions):
            due = (addition.phase, addition.before_step) == (self.phase.number, before_step)
            if not due or self.steps == 0 or self.is_told_of(number):
                continue
            sure = self.looks_at_fills
            names = []
            for one in addition.arrays:
                try:
                    arrays[one.name] = self.defined(file, one)
                    names.append(one.name)
                except FailedError:
                    self.looks_at_fills = sure  # a format has not every array that is drawn
            owners = ["", *(one.name for one in self.present), *names]
            for owner, name, value in addition.attributes:
                if owner in owners:
                    file.set_attribute(name, value, owner=owner)
            if self.ranks.rank == 0:
                self.model.tell(f"adding {self.generation} {number} {' '.join(names)}")
            self.ranks.barrier()
            if addition.with_the_step:
                self.adding = addition, names
                continue
            if self.extend(file, number):
                self.added(addition, names)
            else:
                for name in names:
                    del arrays[name]

    def is_told_of(self, number: int) -> bool:
        """Whether an addition was begun before: a step that failed is begun again without."""
        words = {"adding", "added", "declined"}
        start = [str(self.generation), str(number)]
        told = any(one[0] in words and one[1:3] == start for one in self.model.told())
        return bool(self.ranks.bcast(told))

    def extend(self, file: Any, number: int) -> bool:
        """Whether the file has a place for what was defined."""
        sure = self.looks_at_fills
        try:
            self.together("refused: adding to the file", file.extend, may_fail=True)
        except FailedError as failed:
            if self.faulty:
                raise FailedAdditionError(str(failed)) from None
            if "UnsupportedError" not in str(failed):
                raise WrongError(str(failed)) from None
            self.looks_at_fills = sure
            if self.ranks.rank == 0:
                self.model.tell(f"declined {self.generation} {number} {failed}")
            return False
        return True

    def begin_step(self, file: Any, what: str, *, may_fail: bool = False) -> None:
        self.together(what, file.begin_step, may_fail=may_fail)
        if self.adding is not None:
            self.added(*self.adding)
            self.adding = None

    def added(self, addition: Addition, names: Sequence[str]) -> None:
        number = self.case.additions.index(addition)
        self.model.tell(f"added {self.generation} {number} {' '.join(names)}")
        self.model.tell(f"attributed {self.generation} {number} {number}")
        new = [one for one in addition.arrays if one.name in names]
        self.present = [*self.present, *new]
        self.fresh += [one for one in new if not one.grows]

    def add_steps(self, session: weir.Session, file: Any, arrays: dict[str, Any]) -> None:
        for number in range(self.phase.steps):
            self.number = number
            attempts = self.phase.attempts if self.faulty_step(number) else 0
            for attempt in range(1 if self.phase.loss else attempts):
                self.begin_fault(attempt)
                try:
                    self.add(file, arrays, number)
                    self.one_step(session, file, arrays)
                    break
                except FailedError as failed:
                    not_again = isinstance(failed, FailedAdditionError)
                    if self.phase.after_fault == "reopen" or not_again:
                        raise
                    self.is_again = True
                    self.may_fail = False
                    if self.ranks.rank == 0:
                        self.model.tell(f"again after {failed}")
            else:
                self.end_fault()
                self.add(file, arrays, number)
                self.one_step(session, file, arrays)
            if not self.phase.killed:
                self.end_fault()

    def lose_stagers(self, moment: str) -> None:
        loss = self.phase.loss
        if not loss or self.has_lost or (loss.step, loss.moment) != (self.number, moment):
            return
        self.ranks.barrier()
        if self.ranks.rank == 0:
            for stager in loss.stagers:
                process = given_processes()[stager]
                if loss.kills:
                    os.kill(process, signal.SIGKILL)
                else:
                    resource.prlimit(process, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            self.model.tell("again without stagers")
        self.ranks.barrier()
        self.has_lost = self.may_fail = True
        self.looks_at_fills = False

    def learn_of_lost_step(self, session: weir.Session, file: Any, arrays: dict[str, Any]) -> None:
        """Behind the last step, which is written once more if it was lost."""
        self.number = self.phase.steps
        self.lose_stagers("beginning")
        try:
            self.together("waiting for the last step", lambda: file.wait_for_step(60))
        except FailedError:
            self.may_fail = False
        if self.take_lost_step_back(file):
            self.one_step(session, file, arrays)
            self.together("waiting again", lambda: file.wait_for_step(60))

    def take_lost_step_back(self, file: Any) -> bool:
        """Whether the stagers had accepted one step more than the file has."""
        if file.steps == self.steps:
            return False
        if not self.has_lost or self.is_a_step_lost or file.steps != self.steps - 1:
            raise WrongError(f"the file has {file.steps} steps, {self.steps} had ended")
        self.steps -= 1
        self.is_again = self.is_a_step_lost = True
        if self.ranks.rank == 0:
            self.model.tell(f"dropped {self.generation} {self.steps}")
        return True

    def faulty_step(self, number: int) -> bool:
        return self.has_fault and number == self.phase.fault_step

    def one_step(self, session: weir.Session, file: Any, arrays: dict[str, Any]) -> None:
        is_first = self.steps == 0
        if not is_first and not self.faulty and not self.phase.loss and self.draw.random() < 0.1:
            self.give_step_up(session, file, arrays)
        calm = not self.faulty and not self.phase.killed and not self.phase.loss
        if calm and self.steps > 1 and self.case.growing and self.draw.random() < 0.1:
            self.drop_steps(file)
        if self.ranks.rank == 0:
            self.model.tell(f"begun {self.generation} {self.steps + 1} {self.phase.number}")
        # What a format cannot hold is refused here at the latest.
        what = "refused: beginning the first step" if is_first else "beginning a step"
        self.lose_stagers("beginning")
        self.begin_step(file, what, may_fail=is_first)
        if self.take_lost_step_back(file):
            is_first = self.steps == 0
            if self.ranks.rank == 0:
                self.model.tell(f"begun {self.generation} {self.steps + 1} {self.phase.number}")
        self.lose_stagers("writing")
        writing = [one for one in self.present if one.grows or is_first or one in self.fresh]
        try:
            self.write_step(session, arrays, writing, keep=True)
        except FailedError as failed:
            self.together("ending a step that failed", file.end_step, may_fail=True)
            raise WrongError(f"a step ended although a write of it had failed: {failed}") from None
        self.lose_stagers("ending")
        self.together("ending a step", file.end_step)
        self.steps += 1
        self.is_again = False
        self.acknowledge()
        for one in self.fresh:
            self.model.tell(f"wrote {self.generation} {one.name}")
        self.fresh = []
        if self.draw.random() < 0.1 and not self.phase.killed:
            self.read(session, file, arrays)

    def give_step_up(self, session: weir.Session, file: Any, arrays: dict[str, Any]) -> None:
        """Nothing of such a step is in the file, and the next one begins in its place."""
        self.begin_step(file, "beginning a step")
        self.write_step(session, arrays, self.growing, keep=False)
        self.together("giving a step up", file.abort_step)

    def drop_steps(self, file: Any) -> None:
        """The next step takes the place of the first one that is dropped."""
        kept = self.draw.randrange(1, self.steps)
        self.together("dropping steps", lambda: file.drop_steps(kept))
        self.steps = kept
        if self.ranks.rank == 0:
            self.model.tell(f"dropped {self.generation} {self.steps}")

    def leave_unfinished(self, session: weir.Session, file: Any, arrays: dict[str, Any]) -> None:
        """A step that is begun and written and does not end is not in the file."""
        self.begin_step(file, "beginning a step")
        self.write_step(session, arrays, self.growing, keep=False)
        try:
            self.together("closing an unfinished step", file.close, may_fail=True)
        except FailedError:
            return
        raise WrongError("a file whose step had not ended was closed without an error")


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
        if (
            phase.staged and not phase.loss and WORLD.rank == 0
        ):  # it holds the file's lock until all is stored
            for stager in given_stagers():
                stager.wait_until_idle()
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
