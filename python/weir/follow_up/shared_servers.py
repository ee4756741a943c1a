"""The model of a file system whose servers share their targets: what its constants are.

A test puts ``files`` whole files on each of ``targets`` targets of each of ``servers`` servers,
which are behind ``controllers`` controllers, one task to a file. Uselton's equation 4, the servers'
sharing (section 3.9.2) and the controllers give its rate, as the least of

    targets in use · r(n)                each target alone
    O · r(n)                             the limit of the whole, in targets' worth (equation 4)
    servers · S(targets) · r(n) / r_S    what a server delivers with 1, 2, ... busy targets
    controllers in use · D               the controllers behind the servers

where n are the tasks, and r(n) falls from r_S to r_R around T tasks (equation 2's logistic mean of
times). Before any test, a description's figures are believed: S(k) is k times the rate of a target,
at most the rate of a server, and O is the number of targets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weir.follow_up.belief import Belief, interval_of, log_rates
from weir.follow_up.proposal import information_bits
from weir.model.laws import Values, blended_seconds, share_before
from weir.model.least_squares import Columns, Form, Free, Parameters
from weir.results.platform import Platform, PlatformStage, StageKind
from weir.results.purpose import Goal
from weir.results.quantities import percent_text, range_text, rate_text, significant
from weir.results.record import Quantity

MOST_FILES = 64
STEPS_OF_SERVERS = (1, 2, 5, 10)
DISAGREES = 0.1
"""Share of the members from which on an explanation counts."""
RATE = ("bytes per second", 1e3, 1e15)


@dataclass(frozen=True)
class Layout:
    """The parts of a machine, from its description."""

    servers: int
    targets_per_server: int
    controllers: int

    @property
    def targets(self) -> int:
        return self.servers * self.targets_per_server


@dataclass(frozen=True)
class Placed:
    """A test: files on so many targets of so many servers."""

    servers: int
    targets: int
    files: int
    controllers: int
    """Controllers behind which these servers are."""

    @property
    def tasks(self) -> int:
        return self.servers * self.targets * self.files

    @property
    def columns(self) -> Mapping[str, float]:
        return {
            "servers": self.servers,
            "targets": self.targets,
            "files": self.files,
            "controllers": self.controllers,
        }

    @property
    def text(self) -> str:
        return (
            f"{_counted(self.files, 'file')} on each of {_counted(self.targets, 'target')} of "
            f"{_counted(self.servers, 'server')} behind {_counted(self.controllers, 'controller')}"
        )


@dataclass(frozen=True)
class NextTest:
    """The test that teaches most for each second, in figures and in words."""

    placed: Placed
    expected: Quantity
    seconds: float
    bits: float
    motivation: str
    decides: str
    goal: Goal


def layout_of(platform: Platform) -> Layout:
    """Returns the parts of a description. Raises ``ValueError`` if servers do not share targets."""
    targets, servers = _stage(platform, "target"), _stage(platform, "server")
    links = [one for one in platform.stages if one.kind == "device link"]
    if targets.units % servers.units:
        raise ValueError(
            f"{platform.name}: {targets.units} targets are not shared evenly by "
            f"{servers.units} servers"
        )
    controllers = links[0].units if links else 1
    return Layout(servers.units, targets.units // servers.units, controllers)


def belief_of(platform: Platform, noise: float, seed: int = 1) -> Belief:
    """Returns what a description says before any test; figures without an interval are wide."""
    layout = layout_of(platform)
    target, server = _stage(platform, "target"), _stage(platform, "server")
    links = [one for one in platform.stages if one.kind == "device link"]
    alone = target.rate_bytes_per_second
    sharing = [
        _times(alone, count, server.rate_bytes_per_second.value)
        for count in range(1, layout.targets_per_server + 1)
    ]
    crowd = target.crowding
    slow = crowd.rate_bytes_per_second if crowd else alone
    at = crowd.users * target.units if crowd else 1e6
    width = crowd.width_users * target.units if crowd and crowd.width_users else at / 4
    behind = links[0].rate_bytes_per_second if links else _times(alone, 10**6, 1e15)
    believed = (
        _number(layout.targets),
        *sharing,
        slow,
        _number(at),
        _number(width),
        behind,
    )

    def explain(members: Values, tests: Columns) -> NDArray[np.intp]:
        return limiting_parts(layout, members, tests)[0]

    return Belief(form_of(layout), believed, seed, noise, explain=explain)


def form_of(layout: Layout) -> Form:
    """Returns the model as seconds for a byte of a test, by the constants."""
    sharing = [Free(f"S{count}", *RATE) for count in range(1, layout.targets_per_server + 1)]
    parameters = (
        Free("O", "targets", 0.5, 1e6),
        *sharing,
        Free("r_R", *RATE),
        Free("T", "tasks", 1.0, 1e9),
        Free("tau", "tasks", 1.0, 1e9),
        Free("D", *RATE),
    )

    def seconds(values: Parameters, columns: Columns) -> Values:
        return np.asarray(1 / np.min(limits(layout, values, columns), axis=0))

    return Form("servers share targets", parameters, seconds, lambda _c, _o: [])


def limits(layout: Layout, values: Parameters, columns: Columns) -> Values:
    """Returns the rates of each test that the parts allow: targets, whole, servers, controllers."""
    whole, *sharing = values[: 1 + layout.targets_per_server]
    slow, at, width, behind = values[1 + layout.targets_per_server :]
    alone = np.asarray(sharing[0])
    busy, used = columns["targets"], columns["servers"]
    tasks = used * busy * columns["files"]
    crowded = np.minimum(np.asarray(slow), alone)
    streams = np.where(
        tasks <= np.asarray(whole),
        alone,
        1 / blended_seconds(1 / alone, 1 / crowded, share_before(tasks, at, width)),
    )
    served = sum(
        np.where(busy == count, np.asarray(rate), 0.0) for count, rate in enumerate(sharing, 1)
    )
    return np.stack(
        np.broadcast_arrays(
            used * busy * streams,
            np.asarray(whole) * streams,
            used * served * streams / alone,
            columns["controllers"] * np.asarray(behind),
        )
    )


LIMITED_BY = ("a target", "the limit of the whole", "the sharing in a server", "a controller")


def candidates(layout: Layout) -> Iterator[Placed]:
    """Yields tests of one part, of several and of all, with one file to a target and with more.

    Servers are spread over the controllers, or are as few controllers' as possible.
    """
    behind_one = max(1, layout.servers // layout.controllers)
    counts = {
        *(one for one in STEPS_OF_SERVERS if one < layout.servers),
        behind_one,
        layout.servers,
    }
    for servers in sorted(counts):
        spread = min(layout.controllers, servers)
        for controllers in dict.fromkeys((spread, -(-servers // behind_one))):
            for targets in range(1, layout.targets_per_server + 1):
                files = 1
                while files <= MOST_FILES:
                    yield Placed(servers, targets, files, controllers)
                    files *= 4


def next_test(
    belief: Belief,
    layout: Layout,
    *,
    bytes_per_task: float,
    setup_seconds: float,
    runs: int = 1,
    most_seconds: float = math.inf,
    tested: Sequence[Placed] = (),
    asked: Values | None = None,
) -> NextTest | None:
    """Returns the test with most bits per second, of those that take at most so long.

    ``asked`` has what is to be found for each member (members, quantities): of a test's result only
    that part counts which these explain. Ties go to the smaller test. ``tested`` have results.
    """
    members = belief.members
    tests = list(candidates(layout))
    rates = log_rates(belief.form, members, [one.columns for one in tests])
    deviations = np.std(rates, axis=0)
    about = deviations if asked is None else deviations * _explained(rates, asked)
    best: tuple[float, int, float] | None = None
    for place, test in enumerate(tests):
        seconds = _cost(
            test, float(np.median(rates[:, place])), bytes_per_task, setup_seconds, runs
        )
        rest = math.sqrt(max(0.0, float(deviations[place] ** 2 - about[place] ** 2)))
        noise = math.hypot(belief.noise, rest)
        worth = information_bits(float(about[place]), noise) / seconds
        if seconds <= most_seconds and (best is None or worth > best[0] * (1 + 1e-9)):
            best = (worth, place, seconds)
    if best is None:
        return None
    worth, place, seconds = best
    test = tests[place]
    expected = interval_of(np.exp(rates[:, place]))
    limiting = _limiting(test, layout, members)
    return NextTest(
        test,
        expected,
        seconds,
        worth * seconds,
        _motivation(test, expected, limiting),
        _decides(test, limiting),
        _goal(test, limiting, tested),
    )


def _explained(rates: Values, asked: Values) -> Values:
    """Returns how far each test's rates follow from the quantities: multiple correlations."""
    centred = asked - asked.mean(axis=0)
    basis, sizes, _ = np.linalg.svd(centred / np.maximum(centred.std(axis=0), 1e-300), False)
    basis = basis[:, sizes > 1e-9 * sizes[0]]
    away = rates - rates.mean(axis=0)
    total = np.maximum(np.sum(away**2, axis=0), 1e-300)
    return np.asarray(np.sqrt(np.minimum(1.0, np.sum((basis.T @ away) ** 2, axis=0) / total)))


def _goal(test: Placed, limiting: Sequence[_Limiting], tested: Sequence[Placed]) -> Goal:
    """Returns why it is made: two explanations disagree, a further region, or one known already."""
    if sum(share >= DISAGREES for share, _, _ in limiting) > 1:
        return "refined method"
    most = max((one.tasks for one in tested), default=0)
    return "confirm" if test in tested or test.tasks < most else "new region"


def _cost(test: Placed, log_rate: float, each: float, setup: float, runs: int) -> float:
    return runs * (setup + test.tasks * each / float(np.exp(log_rate)))


def shares_of(members: Values, layout: Layout) -> list[Quantity]:
    """Returns what each further target of a server adds to its rate (section 3.9.2)."""
    return [interval_of(one) for one in shares_by_member(members, layout).T]


def shares_by_member(members: Values, layout: Layout) -> Values:
    """Returns for each member what each further target adds, at least 0 (members, targets)."""
    totals = members[:, 1 : 1 + layout.targets_per_server]
    return np.maximum(np.diff(totals, axis=1, prepend=0.0), 0.0)


def limiting_parts(
    layout: Layout, members: Values, columns: Columns
) -> tuple[NDArray[np.intp], Values]:
    """Returns which of ``LIMITED_BY`` limits each test, and its rate (members, tests).

    Of equal parts the first one counts.
    """
    values: list[float | Values] = [constant[:, None] for constant in members.T]
    parts = limits(layout, values, columns)
    order = np.array([1.0, 1 + 1e-9, 1 + 2e-9, 1 + 3e-9])[:, None, None]
    return np.argmin(parts * order, axis=0), np.min(parts, axis=0)


_Limiting = tuple[float, str, float]
"""A share of the members, the part that limits a test for these, and their median rate."""


def _limiting(test: Placed, layout: Layout, members: Values) -> list[_Limiting]:
    """Returns the share of the members for which each part limits a test, with their rate."""
    columns = {name: np.array([float(value)]) for name, value in test.columns.items()}
    first, least = (one[:, 0] for one in limiting_parts(layout, members, columns))
    found = [
        (float(np.mean(first == place)), name, float(np.median(least[first == place])))
        for place, name in enumerate(LIMITED_BY)
        if np.any(first == place)
    ]
    return sorted(found, reverse=True)


def _motivation(test: Placed, expected: Quantity, parts: Sequence[_Limiting]) -> str:
    said = ", ".join(f"{name} in {percent_text(share)}" for share, name, _ in parts)
    return (
        f"for {test.text} the rates that the constants allow differ by a factor of "
        f"{significant(expected.high / expected.low, 2)} "
        f"({range_text(expected.low, expected.high)}); of the possible constants the limit is "
        f"{said}"
    )


def _decides(test: Placed, parts: Sequence[_Limiting]) -> str:
    if len(parts) == 1:
        return f"the rate of {parts[0][1]}"
    said = ", or ".join(f"about {rate_text(rate)} if {name} limits" for _, name, rate in parts)
    return f"which part limits {test.text}: {said}"


def _stage(platform: Platform, kind: StageKind) -> PlatformStage:
    found = [one for one in platform.stages if one.kind == kind]
    if not found:
        raise ValueError(f"{platform.name} has no stage of kind {kind}")
    return found[0]


def _times(one: Quantity, count: int, most: float) -> Quantity:
    return Quantity(
        value=min(one.value * count, most),
        low=min(one.low * count, most),
        high=min(one.high * count, most),
    )


def _number(value: float) -> Quantity:
    return Quantity(value=value, low=value, high=value)


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"
