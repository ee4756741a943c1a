"""Random requests for many small arrays of a file with steps: many_arrays.py FOLDER SEED CASES.

Each case draws a file's arrays of several types, most of them small and some with steps, and writes
and reads some of them in each request, under a distribution and with a section for each; often the
same request again, as programs do from step to step. Otherwise as array_properties.py.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import weir
from array_properties import (
    COMM,
    TYPES,
    Held,
    drawn_distribution,
    drawn_memory,
    drawn_section,
    drawn_session,
    drawn_values,
    holders,
    indices_of,
    main,
    parts,
)

CDF_TYPES = ["int8", "int16", "int32", "float64", "float32"]
ZARR_TYPES = ["int8", "uint16", "float32", "int64"]
TYPES_OF = {"hdf5": TYPES, "cdf5": CDF_TYPES, "zarr": ZARR_TYPES}


@dataclass
class Variable:
    """One of a file's arrays, and what it should hold by now, of each step."""

    name: str
    shape: tuple[int, ...]
    kind: str
    has_steps: bool
    expected: list[np.ndarray] = field(default_factory=list)


@dataclass
class Asked:
    """What a request moves of one array."""

    variable: Variable
    held: Held
    section: tuple[slice, ...]


@dataclass
class Case:
    """What is drawn alike on all ranks, by this rank alone, and the values."""

    draw: random.Random
    own: random.Random
    values: np.random.Generator
    variables: list[Variable]
    latest: list[Asked] = field(default_factory=list)  # of this session


def drawn_variables(draw: random.Random, types: list[str]) -> list[Variable]:
    found = []
    for number in range(draw.randint(2, 14)):
        shape = tuple(draw.randint(1, 6) for _ in range(draw.choice([1, 1, 2, 3])))
        if draw.random() < 0.15:
            shape = (draw.randint(50, 200), *shape[1:])
        has_steps = number == 0 or draw.random() < 0.7
        found.append(Variable(f"v{number}", shape, draw.choice(types), has_steps))
    return found


def drawn_section_or_all(draw: random.Random, shape: tuple[int, ...]) -> tuple[slice, ...]:
    return drawn_section(draw, shape) if draw.random() < 0.4 else (slice(None),) * len(shape)


def write_whole(case: Case, session: weir.Session, file: weir.File, one: Variable) -> None:
    distributed = session.distribution(one.shape, ", ".join(["BLOCK"] * len(one.shape)))
    one.expected.append(drawn_values(case.values, one.shape, one.kind))
    mine = parts(one.expected[-1], Held(distributed, [indices_of(distributed, 0)]))
    file[one.name].write(distributed, np.ascontiguousarray(mine[0]))


def drawn_request(case: Case, session: weir.Session, some: list[Variable]) -> list[Asked]:
    if not case.latest or case.draw.random() < 0.4:
        case.latest = [
            Asked(
                one,
                drawn_distribution(case.draw, session, one.shape),
                drawn_section_or_all(case.draw, one.shape),
            )
            for one in some
        ]
    return case.latest


def write_some(case: Case, session: weir.Session, file: weir.File, some: list[Variable]) -> None:
    transfers: list[Any] = []
    for asked in drawn_request(case, session, some):
        one, held, section = asked.variable, asked.held, asked.section
        fresh = drawn_values(case.values, one.shape, one.kind)
        memory = drawn_memory(case.own, parts(fresh, held))
        data = memory[0] if len(memory) == 1 else memory
        transfers.append((file[one.name], held.distribution, data, section))
        changed = np.zeros(one.shape, dtype=bool)
        changed[section] = True
        changed &= holders(held, one.shape)
        one.expected[-1][changed] = fresh[changed]
    session.write_many(transfers)


def read_some(case: Case, session: weir.Session, file: weir.File, step: int) -> None:
    transfers: list[Any] = []
    checks = []
    some = [one for one in case.variables if case.draw.random() < 0.8]
    some += case.draw.choices(case.variables, k=2)  # perhaps some twice
    for asked in drawn_request(case, session, some):
        one, held, section = asked.variable, asked.held, asked.section
        before = drawn_values(case.values, one.shape, one.kind)
        memory = drawn_memory(case.own, parts(before, held))
        data = memory[0] if len(memory) == 1 else memory
        transfers.append((file[one.name], held.distribution, data, section))
        found = before.copy()
        found[section] = one.expected[step if one.has_steps else 0][section]
        checks.append((one.name, memory, parts(found, held)))
    session.read_many(transfers)
    for name, memory, wanted in checks:
        for got, right in zip(memory, wanted, strict=True):
            np.testing.assert_array_equal(got, right, err_msg=f"{file} {name} {step}")


def one_case(folder: Path, seed: int, number: int) -> None:
    draw = random.Random(f"{seed} many {number}")
    form = draw.choice(list(TYPES_OF))
    case = Case(
        draw,
        random.Random(f"{seed} many {number} {COMM.rank}"),
        np.random.default_rng([seed, number, 1]),
        drawn_variables(draw, TYPES_OF[form]),
    )
    path = str(folder / f"{seed}-{number}.{form}")
    steps = draw.randint(1, 4)
    settings = drawn_session(draw)
    with weir.Session(COMM, **settings) as session, session.create_file(path, format=form) as file:
        for one in case.variables:
            file.define(one.name, one.shape, one.kind, steps=one.has_steps)
        for step in range(steps):
            file.begin_step()
            chosen = [one for one in case.variables if step == 0 or one.has_steps]
            for one in chosen:
                write_whole(case, session, file, one)
            if step == 1:
                case.latest = []  # arrays without steps are written in the first one alone
            for _ in range(draw.randint(1, 3)):
                some = [one for one in chosen if draw.random() < 0.7]
                write_some(case, session, file, some or chosen)
            file.end_step()
    settings = drawn_session(draw)
    case.latest = []
    with weir.Session(COMM, **settings) as session, session.open_file(path) as file:
        for step in draw.sample(range(steps), steps):
            file.select_step(step)
            read_some(case, session, file, step)


if __name__ == "__main__":
    main(one_case)
