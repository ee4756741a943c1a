"""Steps of a soak's file that ranks read together or alone, compared with what was written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from soak_calls import CallsOfPhase, WrongError
from soak_case import ArrayDrawn, wrong_elements

import weir
from array_properties import drawn_memory, drawn_section, parts


class ReadsOfPhase(CallsOfPhase):
    """Reads every array that is present in some of the steps that have ended."""

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
            self.let_stagers_store(array)
            self.each_alone(f"reading a region of step {step} of {one.name}", read)
        else:
            self.together(f"reading regions of step {step} of {one.name}", read)
        line = "" if region is None else wrong_elements(got, wanted, known[region], unwritten)
        if line:
            way = "alone" if alone else "together"
            raise WrongError(f"step {step} of {one.name}, region {region} read {way}: it {line}")
