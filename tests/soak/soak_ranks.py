"""Cases of the soak on the ranks of a launcher: soak_ranks.py FIRST_PHASE FOLDER SEED...

Each case lies in FOLDER/SEED. Every rank draws the same cases; a phase of fewer ranks leaves the
others waiting. The first thing that is not as it should be ends the job; its line is in
FOLDER/SEED/wrong. Phases from FIRST_PHASE on are made: the first one of a program that was killed
was made before.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from own_stager import choose_stager, given_processes, given_stagers
from soak_case import (
    BROKEN,
    OPENING_THE_FILE,
    OPENING_THE_SESSION,
    Addition,
    ArrayDrawn,
    Case,
    Model,
    Phase,
    drawn_case,
    wrong_attributes,
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
from weir._core.failures import checked
from weir._core.library import library

WORLD = MPI.COMM_WORLD


class WrongError(Exception):
    """What the library gave is not what it promises."""


class FailedError(Exception):
    """A collective call failed on all ranks alike, as it may where a fault was injected."""


class FailedAdditionError(FailedError):
    """Whether the file has what was added, who opens it again is told."""


@dataclass
class Write:
    """What is written of one array: by a distribution, or a region of each rank's own."""

    one: ArrayDrawn
    whole: np.ndarray[Any, Any]
    held: Held | None = None
    section: Any = None
    region: tuple[slice, ...] | None = None
    """This rank's, where `held` is None; None: it takes no part."""


class PhaseOnRanks:
    """One phase on the ranks that take part in it."""

    def __init__(self, case: Case, phase: Phase, folder: Path, ranks: MPI.Comm) -> None:
        self.case, self.phase, self.ranks = case, phase, ranks
        self.path = folder / case.file_name
        self.model = Model(case, folder / "model")
        self.draw = random.Random(f"{case.seed} {phase.number}")
        self.own = random.Random(f"{case.seed} {phase.number} {WORLD.rank}")
        self.turn = 0
        self.defined_here: set[str] = set()
        """Arrays that this session defined."""
        self.fresh: list[ArrayDrawn] = []
        """Arrays without steps that were added, and are written in the next step."""
        self.adding: tuple[Addition, list[str]] | None = None
        """What the step that begins next adds, and its arrays that could be defined."""
        self.is_again = False
        """The step was begun before, and did not end well."""
        self.is_leaving = False
        """A request of the step that is being written is not waited for."""
        self.number = 0
        """Of the step of this phase that is being written."""
        self.has_lost = False
        """Stagers were killed or broken."""
        self.may_fail = False
        """They were, and no call has failed since then."""
        self.is_a_step_lost = False
        """A step that they had accepted is lost; no other one may be."""
        told = self.model.acknowledged() if ranks.rank == 0 else None
        self.generation, self.steps = ranks.bcast(told)
        self.present: list[ArrayDrawn] = case.arrays
        self.looks_at_fills = not ranks.bcast(self.model.is_disturbed())

    # -- calls ----------------------------------------------------------------------------------

    def together(self, what: str, call: Callable[[], Any], *, may_fail: bool = False) -> Any:
        """A collective call, whose outcome must be the same on all ranks."""
        line, given = "", None
        try:
            given = call()
        except weir.Error as error:
            line = f"{type(error).__name__}: {error}"
        lines = self.ranks.allgather(line)
        if len(set(lines)) != 1 and not self.may_differ(lines):
            raise WrongError(f"{what}: ranks got different outcomes: {lines}")
        if any(lines):
            first = next(filter(None, lines))
            self.looks_at_fills = False
            if not (may_fail or self.faulty or self.may_fail):
                raise WrongError(f"{what} failed: {first}")
            raise FailedError(f"{what}: {first}")
        return given

    def may_differ(self, lines: Sequence[str]) -> bool:
        """Whether ranks may be told different things: their messages failed.

        Those that learn of it from others may say who told them, and ranks that saw a call end well
        before its last message failed learn of it in their next call.
        """
        are_broken = all(one.startswith(BROKEN) for one in filter(None, lines))
        return are_broken and bool(os.environ.get("WEIR_MPI_FAULT"))

    def each_alone(self, what: str, call: Callable[[], Any]) -> None:
        """What each rank does by itself, and may fail in by itself."""
        line = ""
        try:
            call()
        except weir.Error as error:
            line = f"{type(error).__name__}: {error}"
        lines = self.ranks.allgather(line)
        if any(lines):
            self.looks_at_fills = False
            if not (self.faulty or self.may_fail):
                raise WrongError(f"{what} failed: {lines}")
            raise FailedError(f"{what}: {lines}")

    @property
    def growing(self) -> list[ArrayDrawn]:
        return [one for one in self.present if one.grows]

    @property
    def faulty(self) -> bool:
        return bool(os.environ.get("WEIR_FAULT") or os.environ.get("WEIR_MPI_FAULT"))

    @property
    def has_fault(self) -> bool:
        return bool(self.phase.fault or self.phase.mpi_fault)

    def begin_fault(self, attempt: int = 0) -> None:
        fault = self.phase.fault.format(tree=self.case.file_name)
        os.environ["WEIR_FAULT"] = f"{fault},try={attempt}" if fault else ""
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
            own: list[weir.Session] = []
            try:
                self.together(
                    "opening a session",
                    lambda: own.append(weir.Session(self.ranks, **self.phase.settings)),
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
        """Of an addition that was killed or failed the file has all arrays, or none."""
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

    # -- adding arrays and attributes -----------------------------------------------------------

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

    # -- writing --------------------------------------------------------------------------------

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

    def write_step(
        self,
        session: weir.Session,
        arrays: dict[str, Any],
        writing: list[ArrayDrawn],
        *,
        keep: bool,
    ) -> None:
        """Some requests; what they write is kept before the first of them begins."""
        requests: list[list[Write]] = []
        values = {one.name: np.zeros(one.memory_shape, one.kind) for one in writing}
        known = {one.name: np.zeros(one.memory_shape, bool) for one in writing}
        self.is_leaving = False
        for again in range(self.draw.choice([1, 1, 1, 2, 3])):
            chosen = [one for one in writing if again == 0 or self.draw.random() < 0.5]
            drawn = [self.drawn_write(session, one, values, known, again) for one in chosen]
            together = [write for write in drawn if write.held is not None]
            if self.draw.random() < 0.5:
                requests.append(together)
            else:
                requests += [[write] for write in together]
            requests += [[write] for write in drawn if write.held is None]
        if keep and self.ranks.rank == 0:
            growing = [one.name for one in writing if one.grows]
            fixed = {self.model.fixed(one) for one in writing if not one.grows}
            for place in sorted(fixed):
                names = [one.name for one in writing if self.is_kept_as(one, place)]
                self.keep(place, names, values, known)
            self.keep(self.steps + 1, growing, values, known)
        for request in filter(None, requests):
            if request[0].held is None:
                self.write_region(arrays[request[0].one.name], request[0])
                continue
            transfers = []
            for write in request:
                assert write.held is not None
                memory = drawn_memory(self.own, parts(write.whole, write.held))
                transfers.append(
                    (arrays[write.one.name], write.held.distribution,
                     memory[0] if len(memory) == 1 else memory, write.section)
                )  # fmt: skip
            way = self.drawn_way()
            if way in {"dropped", "left"}:
                # Who waits for it needs the others in calls of Weir: nothing is compared here.
                self.write(session, transfers, way)
            else:
                self.together("writing", lambda: self.write(session, transfers, way))  # noqa: B023

    def drawn_way(self) -> str:
        """How a request is waited for: where a call may fail, at once, as failures are compared."""
        may_leave = not self.has_fault and not self.phase.killed and not self.phase.loss
        way = self.draw.choice(["blocking", "blocking", "begun", "begun", "dropped", "left"])
        if way in {"dropped", "left"} and not may_leave:
            return "begun"
        self.is_leaving = self.is_leaving or way in {"dropped", "left"}
        return way

    def write(self, session: weir.Session, transfers: list[Any], way: str) -> None:
        if way == "blocking":
            session.write_many(transfers)
            return
        request = session.write_begin(transfers)
        if way == "begun":
            request.wait()
        elif way == "left":
            self.leave(session, request, [one for transfer in transfers for one in transfer[2:3]])

    def leave(self, session: weir.Session, request: weir.Request, memory: list[Any]) -> None:
        """Some ranks wait for it, and others take their memory back at once and use it."""
        if self.own.random() < 0.4:
            request.wait()
            return
        under_way = request._under_way  # Python's programs have no call for this
        checked(library().weir_request_detach(ctypes.byref(under_way.handle)))
        session.requests.remove(under_way)
        for one in memory:
            for part in one if isinstance(one, list) else [one]:
                part[...] = 77

    def write_region(self, array: Any, write: Write) -> None:
        """By a request of all ranks, or by each rank for itself."""
        lower = extent = stride = data = None
        if write.region is not None:
            lower = [along.start for along in write.region]
            stride = [along.step for along in write.region]
            piece = write.whole[write.region]
            extent, (data,) = piece.shape, drawn_memory(self.own, [piece])
        if extent is None or max(stride) == 1:
            stride = None
        if self.draw_alone(write.one):
            self.let_stagers_store(array, write.one)
            self.each_alone(
                "writing a region",
                lambda: lower is None or array.write_region(lower, data, stride, independent=True),
            )
        elif self.draw.random() < 0.5:
            self.together("writing regions", lambda: array.write_region(lower, data, stride))
        else:
            self.together(
                "beginning to write regions",
                lambda: array.write_region_begin(lower, data, stride).wait(),
            )

    def let_stagers_store(self, array: Any, one: ArrayDrawn) -> None:
        """Stagers of several nodes may hold a part of a region that a rank is to move alone."""
        if self.phase.staged and "codec" not in one.options:
            self.together("reading nothing", lambda: array.read_region(None))

    def draw_alone(self, one: ArrayDrawn) -> bool:
        """Whether each rank writes its region without the others.

        Not when it has left requests, as what it writes alone would come before these. Nor when the
        step is written again: each rank that wrote before has to take part.
        """
        drawn = self.draw.random() < 0.4
        return drawn and self.may_be_alone(one) and not (self.is_leaving or self.is_again)

    def may_be_alone(self, one: ArrayDrawn) -> bool:
        return not one.is_shared_by_ranks and not self.case.options["checksum"]

    def drawn_regions(self, one: ArrayDrawn) -> list[tuple[slice, ...] | None]:
        """One for each rank, without elements in common; None: it takes no part."""
        cuts = [
            sorted({0, extent, *self.draw.sample(range(extent), min(2, extent))})
            for extent in one.memory_shape
        ]
        steps = [1, 1, 2, 3] if self.may_be_alone(one) and self.draw.random() < 0.5 else [1]
        boxes: list[tuple[slice, ...] | None] = [
            tuple(slice(begin, end, self.draw.choice(steps)) for begin, end in box)
            for box in itertools.product(*(itertools.pairwise(ends) for ends in cuts))
        ]
        boxes += [None] * self.ranks.size
        return self.draw.sample(boxes, self.ranks.size)

    def is_kept_as(self, one: ArrayDrawn, place: str) -> bool:
        return not one.grows and self.model.fixed(one) == place

    def keep(self, step: int | str, names: list[str], values: Any, known: Any) -> None:
        self.model.keep(
            self.generation, step, {n: values[n] for n in names}, {n: known[n] for n in names}
        )

    def drawn_write(
        self, session: weir.Session, one: ArrayDrawn, values: Any, known: Any, again: int
    ) -> Write:
        shape = one.memory_shape
        self.turn += 1
        whole = one.values(self.case.seed, self.generation, self.steps, self.turn)
        changed = np.zeros(shape, bool)
        sparse = one.has_many_chunks
        if not sparse and self.draw.random() < 0.2:
            regions = self.drawn_regions(one)
            for region in regions:
                if region is not None:
                    changed[region] = True
            write = Write(one, whole, region=regions[self.ranks.rank])
        else:
            held = self.distribution(session, shape)
            if sparse and (self.phase.settings["buffer_bytes"] > 0 or self.draw.random() < 0.9):
                place = tuple(self.draw.randrange(extent) for extent in shape)
                section: Any = tuple(slice(at, at + 4) for at in place)
            elif again or self.draw.random() < 0.3:
                section = drawn_section(self.draw, shape)
            else:
                section = None
            changed[section if section is not None else ...] = True
            changed &= holders(held, shape, self.ranks)
            write = Write(one, whole, held, section)
        values[one.name][changed] = whole[changed]
        known[one.name] |= changed
        return write

    def distribution(self, session: weir.Session, shape: tuple[int, ...]) -> Held:
        """Which needs memory that a node's ranks share, and without it fails on all alike."""

        def drawn() -> Held:
            return drawn_distribution(self.draw, session, shape, self.ranks)

        try:
            given: Held = self.together("distributing", drawn)
        except FailedError:
            if self.phase.mpi_fault:
                raise  # the session is broken
            self.end_fault()
            given = self.together("distributing again", drawn)
        return given

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

    # -- reading --------------------------------------------------------------------------------

    def read(self, session: weir.Session, file: Any, arrays: dict[str, Any]) -> None:
        steps = list(range(self.steps)) if self.case.growing else [0]
        if len(steps) > 6:
            steps = sorted(self.draw.sample(steps, 6))
        for step in steps:
            if self.case.growing:
                file.select_step(step)
            for one in self.present:
                settled = self.ranks.bcast(self.model.is_settled(self.generation, one))
                if settled and (one.grows or step == steps[0]):
                    self.read_array(session, arrays[one.name], one, step)

    def read_array(self, session: weir.Session, array: Any, one: ArrayDrawn, step: int) -> None:
        values, known = self.model.step(self.generation, step, one)
        if one.name not in self.defined_here:
            values, known = self.case.stored(one, values), self.case.stored(one, known)
        shape = values.shape
        before = np.full(shape, 101).astype(one.kind)
        unwritten = one.unwritten if self.looks_at_fills else ()
        if self.draw.random() < 0.2:
            self.read_region(array, one, step, values, known, unwritten)
            return
        held = self.distribution(session, shape)
        section = drawn_section(self.draw, shape) if self.draw.random() < 0.4 else None
        if one.has_many_chunks:
            places = [self.draw.randrange(extent) for extent in shape]
            section = tuple(slice(at, at + 20) for at in places)
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
            line = wrong_elements(got, wanted, sure, unwritten)
            if line:
                raise WrongError(
                    f"step {step} of {one.name}, read by {self.phase.settings}, "
                    f"section {section}: this rank's part {line}"
                )

    def read_region(
        self,
        array: Any,
        one: ArrayDrawn,
        step: int,
        values: np.ndarray[Any, Any],
        known: np.ndarray[Any, Any],
        unwritten: Sequence[Any],
    ) -> None:
        """Regions of ranks that may have elements in common."""
        region: Any = drawn_section(self.own, values.shape)
        if self.own.random() < 0.2:
            region = None
        wanted = values[region] if region is not None else np.zeros(0)
        if wanted.size == 0:
            region = None
        got = np.full(wanted.shape, 101).astype(one.kind)
        alone = self.draw.random() < 0.4

        def read() -> None:
            if region is None and alone:
                return
            lower = None if region is None else [along.start for along in region]
            stride = None if region is None else [along.step for along in region]
            into = None if region is None else got
            array.read_region(lower, None, stride, out=into, independent=alone)

        if alone:
            self.let_stagers_store(array, one)
            self.each_alone(f"reading a region of step {step} of {one.name}", read)
        else:
            self.together(f"reading regions of step {step} of {one.name}", read)
        line = "" if region is None else wrong_elements(got, wanted, known[region], unwritten)
        if line:
            way = "alone" if alone else "together"
            raise WrongError(f"step {step} of {one.name}, region {region} read {way}: it {line}")


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
