"""Runs weir-sim, and reads its outcome."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from weir.bench.errors import FAILED, USAGE, BenchError
from weir.bench.program import LIBRARY_SIMULATOR, PROGRAM, SIMULATOR, find_program
from weir.results.folder import describe_validation
from weir.results.platform import Platform
from weir.results.record import NonNegative, Record
from weir.sim.description import describe
from weir.sim.job import Asked

DEFAULT_TIMEOUT = 3600.0


class UnitLoad(Record):
    """What one unit of a part did."""

    name: str
    """Its number, or the name of a link."""
    bytes: NonNegative
    busy_seconds: NonNegative
    speed: NonNegative
    """Share of the usual speed."""


class PartLoad(Record):
    """What one part of the way did."""

    name: str
    units_used: int
    bytes: NonNegative
    most_bytes_of_a_unit: NonNegative
    busy_share: NonNegative
    """Share of the time for which the busiest unit is busy."""
    busiest: str
    """That unit's name."""
    units: list[UnitLoad]
    """By their numbers. Of a part with more than 1024, those that are busy for longest, and slow
    ones."""


class Limit(Record):
    """The part that is busy for longest."""

    name: str
    busy_share: NonNegative
    busiest: str


class ClientSeconds(Record):
    """Mean times of a client, which is an aggregator, or a rank that moves its own bytes."""

    messages: NonNegative
    turn: NonNegative
    operations: NonNegative


class Cost(Record):
    """What the simulation itself took."""

    peak_memory_bytes: NonNegative
    processor_seconds: NonNegative


class Outcome(Record):
    """What weir-sim prints."""

    seconds: NonNegative
    bytes: NonNegative
    bytes_moved: NonNegative
    """Of operations: with the holes between rows that reads move along."""
    bytes_per_second: NonNegative
    strategy: str
    why: str
    aggregators_of_a_group: int
    buffer_bytes: int
    clients: int
    operations: NonNegative
    calls: NonNegative
    messages: NonNegative
    message_bytes: NonNegative
    links_of_senders: bool
    """Whether messages passed the links of both nodes, and not only that of the client."""
    client_seconds: ClientSeconds
    parts: list[PartLoad]
    limit: Limit
    accounted: bool | None = None
    """Of a workload of weir-bench: whether the route counts the bytes that it took, and they are
    those that were sent."""
    bytes_compared: NonNegative | None = None
    """Of a workload of weir-bench: how many bytes it compared with those that it wrote."""
    cost: Cost


def simulate(
    platform: Platform,
    asked: Asked,
    environment: Mapping[str, str] = os.environ,
    timeout: float = DEFAULT_TIMEOUT,
) -> Outcome:
    """Returns the outcome of one simulation; raises ``BenchError``."""
    name = LIBRARY_SIMULATOR if asked.level == "library" else SIMULATOR
    program = find_program(environment, name)
    document = json.dumps(describe(platform, asked))
    try:
        answer = subprocess.run(
            [str(program)],
            input=document,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
            env=_of_job(environment),
        )
    except subprocess.TimeoutExpired:
        raise BenchError(
            f"{name} was ended after {timeout:g} s (--timeout) while it simulated {asked.ranks} "
            "ranks: give more seconds, fewer ranks or steps, or a larger buffer"
        ) from None
    except OSError as error:
        raise BenchError(f"{program} cannot be started: {error.strerror}") from None
    if answer.returncode != 0:
        lines = [line for line in answer.stderr.splitlines() if line.strip()]
        # What weir-bench says as a simulated job is the reason for what the simulator says.
        own = [line for line in lines if line.startswith(f"{PROGRAM}: ")]
        told = (own or lines or ["it printed nothing"])[-1].removeprefix(f"{name}: ")
        if answer.returncode == USAGE:
            raise BenchError(told, USAGE)
        raise BenchError(f"{name} ended with status {answer.returncode}: {told}", FAILED)
    return _read(answer.stdout)


def _of_job(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment without settings of sessions, which simulated ranks would take."""
    return {name: value for name, value in environment.items() if not name.startswith("WEIR_")}


def _read(text: str) -> Outcome:
    try:
        given: Any = json.loads(text)
        return Outcome.model_validate(given)
    except json.JSONDecodeError as error:
        raise BenchError(f"weir-sim printed no JSON: {error}") from None
    except ValidationError as error:
        raise BenchError(
            f"weir-sim printed no outcome that this weir understands, "
            f"{describe_validation(error)}: check that both have the same version"
        ) from None
