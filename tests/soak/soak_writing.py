"""Requests that write a step of a soak's file, drawn at random; their contents are kept first."""

from __future__ import annotations

import ctypes
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from soak_case import ArrayDrawn
from soak_reading import ReadsOfPhase

import weir
from array_properties import Held, drawn_memory, drawn_section, holders, parts
from weir._core.failures import checked
from weir._core.library import library


@dataclass
class Write:
    """What is written of one array: by a distribution, or a region of each rank's own."""

    one: ArrayDrawn
    whole: np.ndarray[Any, Any]
    held: Held | None = None
    section: Any = None
    region: tuple[slice, ...] | None = None
    """The part of this rank, where `held` is None; None: the rank takes no part."""


class WritesOfPhase(ReadsOfPhase):
    """Draws the requests of a step, and makes them."""

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
                # A rank that waits for the step needs the others in calls of Weir, so that
                # nothing is compared here.
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
            self.let_stagers_store(array)
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
