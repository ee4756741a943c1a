"""Which cases of tests with parameters a run takes: `./dev test` some, `./dev test all` every one.

The environment's WEIR_TEST_SEED asks for some; ./dev makes it of the sources, so that equal sources
have equal cases on every machine and in every process, and a change looks at others. Without it all
cases run, so one that is named on pytest's command line always does.

`@pytest.mark.sampled(COUNT, by="NAME")` gives COUNT of the cases of each function it is for, chosen
by the seed; of the parameter NAME, or of several, each value is in one of them. `sampled` alone
gives as few cases as have each value of each parameter. It holds for all tests of FOLDERS without a
mark of their own.
"""

from __future__ import annotations

import os
import random
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import pytest


class Node(Protocol):
    """A worker of pytest-xdist that has ended."""

    workeroutput: dict[str, tuple[int, int]]


FOLDERS = frozenset({"failure", "hdf5", "interchange", "mpiio", "testbed"})
"""Folders of tests/ whose tests start ranks and stagers, or mount file systems."""

COUNTS = pytest.StashKey[tuple[int, int]]()
"""The number of cases that run, and that of all."""


def choose(
    cases: Sequence[Mapping[str, object]], count: int, by: Collection[str], seed: str
) -> list[int]:
    """The places of `count` cases, or of as many more as all values of the parameters `by` need.

    The next one is that with most values of `by` that none before has, then that with most values
    of any parameter; the seed puts equal ones in order.
    """
    values = [{(name, repr(value)) for name, value in case.items()} for case in cases]
    missing = {value for case in values for value in case if value[0] in by}
    waiting = list(range(len(cases)))
    random.Random(seed).shuffle(waiting)
    seen: set[tuple[str, str]] = set()
    chosen: list[int] = []
    while waiting and (len(chosen) < count or missing):
        best = max(
            waiting,
            key=lambda place: (len(values[place] & missing), len(values[place] - seen)),
        )
        waiting.remove(best)
        chosen.append(best)
        missing -= values[best]
        seen |= values[best]
    return sorted(chosen)


def pytest_report_header() -> str | None:
    seed = os.environ.get("WEIR_TEST_SEED")
    return f"WEIR_TEST_SEED: {seed}; without it all cases run" if seed else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves cases out after pytest has left out what -k and -m exclude."""
    seed = os.environ.get("WEIR_TEST_SEED")
    if not seed:
        return
    functions: dict[str, list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out = set()
    for name, cases in functions.items():
        left_out |= set(cases) - set(taken(name, cases, seed))
    config.stash[COUNTS] = (len(items) - len(left_out), len(items))
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def taken(name: str, cases: list[pytest.Function], seed: str) -> list[pytest.Function]:
    """Those cases of a function that run; each function has an order of its own."""
    mark = cases[0].get_closest_marker("sampled")
    if mark is None and cases[0].path.parent.name not in FOLDERS:
        return cases
    count, by = asked(name, cases[0], mark)
    chosen = choose([case.callspec.params for case in cases], count, by, f"{seed} {name}")
    return [cases[place] for place in chosen]


def asked(name: str, case: pytest.Function, mark: pytest.Mark | None) -> tuple[int, list[str]]:
    if mark is None or (mark.args, mark.kwargs) == ((), {}):
        return 1, list(case.callspec.params)
    by = mark.kwargs.get("by", ())
    by = [by] if isinstance(by, str) else list(by)
    if len(mark.args) != 1 or mark.args[0] < 1 or set(mark.kwargs) - {"by"}:
        raise pytest.UsageError(
            f"{name}: sampled takes nothing, or a number of cases, at least 1, and by="
        )
    if unknown := set(by) - set(case.callspec.params):
        raise pytest.UsageError(f"{name} is marked sampled by {sorted(unknown)[0]}, which it lacks")
    return mark.args[0], by


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput") and COUNTS in session.config.stash:
        session.config.workeroutput["cases"] = session.config.stash[COUNTS]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Node) -> None:
    """Takes the counts of a worker: all collected the same, and the process that prints nothing."""
    if counts := getattr(node, "workeroutput", {}).get("cases"):
        node.config.stash[COUNTS] = counts


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if COUNTS not in config.stash:
        return
    ran, of_all = config.stash[COUNTS]
    terminalreporter.write_line(
        f"{ran:,} of {of_all:,} cases (seed {os.environ['WEIR_TEST_SEED']}); "
        "./dev test all runs all"
    )
