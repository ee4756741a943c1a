"""The calls of one phase of a soak on its ranks, with what may fail in them and what is known."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mpi4py import MPI
from soak_case import BROKEN, Addition, ArrayDrawn, Case, Model, Phase

import weir
from array_properties import Held, drawn_distribution

WORLD = MPI.COMM_WORLD


class WrongError(Exception):
    """What the library gave is not what it promises."""


class FailedError(Exception):
    """A collective call failed on all ranks alike, as it may where a fault was injected."""


class FailedAdditionError(FailedError):
    """Whether the file has what was added, who opens it again is told."""


class CallsOfPhase:
    """Calls on the ranks that take part in a phase, and the state of the phase."""

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
        """Number of the step of this phase that is being written."""
        self.has_lost = False
        """Stagers were killed or broken."""
        self.may_fail = False
        """Stagers were killed or broken, and no call has failed since then."""
        self.is_a_step_lost = False
        """A step that they had accepted is lost; no other one may be."""
        told = self.model.acknowledged() if ranks.rank == 0 else None
        self.generation, self.steps = ranks.bcast(told)
        self.present: list[ArrayDrawn] = case.arrays
        self.looks_at_fills = not ranks.bcast(self.model.is_disturbed())

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

    def let_stagers_store(self, array: Any) -> None:
        """Stagers of several nodes may hold a part of a region that a rank is to move alone.

        Where a stager has put encoded chunks in a file, a collective read learns.
        """
        if self.phase.staged:
            self.together("reading nothing", lambda: array.read_region(None))

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
