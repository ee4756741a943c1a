"""Under which conditions runs were made, and in which of them two sets of runs differ.

Conditions are what ``environment`` of ``run.json`` says of hardware, system, file system, Weir's
build and other load, the binaries, the hints of MPI-IO in effect, the variables that are kept of
how the job was started, and what other nodes have that differs from that of rank 0. A word differs
if the two sets have hardly a value in common. A measured quantity, such as the load, differs if the
medians are apart by more than it varies anyway, and nearly all runs of one set are above those of
the other. With one run on each side this is a plain comparison.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from weir.analysis.description import told_of, told_of_kind
from weir.results.node_records import DescribedNodes
from weir.results.quantities import percent_text
from weir.results.schema import Environment, Run
from weir.results.secrets import may_be_secret, without_secrets

MOST_IN_COMMON = 0.25
"""A word differs if the shares of its values in the two sets overlap by at most this much."""
LEAST_ABOVE = 0.8
"""A quantity differs if it is larger in at least this share of all pairs of a run of each set."""
LEAST_LOAD = 1.0
LEAST_BUSY = 0.05
LEAST_FILL = 0.1
NOT_SET = "not set"
ALIKE = "alike"


class Quantity(NamedTuple):
    """A condition that varies from run to run; ``least`` is the smallest difference to name."""

    value: float
    least: float
    is_share: bool

    def text_of(self, value: float) -> str:
        return percent_text(value) if self.is_share else f"{value:.1f}"


Condition = str | Quantity


@dataclass(frozen=True)
class Difference:
    """A setting or a condition that differs."""

    name: str
    first: str
    second: str

    @property
    def text(self) -> str:
        return f"{self.name} {self.first} -> {self.second}"


def differences_between(before: Sequence[Run], after: Sequence[Run]) -> list[Difference]:
    """Returns the conditions in which two sets of runs differ, of those that both sets say."""
    runs = (*before, *after)
    variables = sorted({name for run in runs if run.start for name in run.start.environment})
    described = [run.environment.nodes for run in runs if run.environment is not None]
    of_nodes = dict.fromkeys(name for nodes in described if nodes for name in _differing(nodes))
    sides = [[conditions_of(run, variables, of_nodes) for run in side] for side in (before, after)]
    names = dict.fromkeys(name for side in sides for one in side for name in one)
    found = []
    for name in names:
        first, second = ([one[name] for one in side if name in one] for side in sides)
        if first and second and (difference := _difference(name, first, second)):
            found.append(difference)
    return found


def conditions_of(
    run: Run, variables: Iterable[str] = (), of_nodes: Iterable[str] = ()
) -> dict[str, Condition]:
    """Returns the conditions by name.

    ``variables`` are said to be not set where the job had none, and nodes to be alike in what
    ``of_nodes`` names where none differs in it. Nothing that may be a secret is among them.
    """
    found: dict[str, Condition] = {}
    if run.environment is not None:
        found |= _described(run.environment) | _measured(run.environment)
        if run.environment.nodes is not None:
            differing = _differing(run.environment.nodes)
            found |= {f"{name} of other nodes": differing.get(name, ALIKE) for name in of_nodes}
    found |= {
        f"hint {name} for {opened.opened_for}": value
        for opened in run.opened_hints
        for name, value in opened.effective.items()
        if not may_be_secret(name)
    }
    found |= {f"SHA-256 of {one.name}": one.short_hash for one in run.binaries}
    if run.start is not None:
        known = run.start.environment
        found |= {
            f"variable {name}": without_secrets(known.get(name, NOT_SET))
            for name in variables
            if not may_be_secret(name)
        }
    return found


def _described(environment: Environment) -> dict[str, Condition]:
    quiet = "quiet" if environment.quiet.quiet else "not quiet"
    return {**told_of(environment), "system": quiet}


def _differing(nodes: DescribedNodes) -> dict[str, str]:
    """Returns what nodes have that differ from that of rank 0, by name, each value once."""
    found: dict[str, set[str]] = {}
    for kind in nodes.kinds:
        for name, text in told_of_kind(kind).items():
            found.setdefault(name, set()).add(text)
    return {name: ", ".join(sorted(texts)) for name, texts in found.items()}


def _measured(environment: Environment) -> dict[str, Condition]:
    quiet, system = environment.quiet, environment.file_system
    found: dict[str, Condition] = {"load before": Quantity(quiet.load_before, LEAST_LOAD, False)}
    if quiet.other_processes_busy_fraction is not None:
        busy = Quantity(quiet.other_processes_busy_fraction, LEAST_BUSY, True)
        found["processor time of other processes"] = busy
    total, available = system.get("total_bytes"), system.get("available_bytes")
    if isinstance(total, int) and isinstance(available, int) and 0 <= available <= total != 0:
        found["file system fill"] = Quantity(1 - available / total, LEAST_FILL, True)
    return found


def _difference(
    name: str, first: Sequence[Condition], second: Sequence[Condition]
) -> Difference | None:
    words = [[one for one in side if isinstance(one, str)] for side in (first, second)]
    if all(words):
        return _of_words(name, *(Counter(side) for side in words))
    measured = [[one for one in side if isinstance(one, Quantity)] for side in (first, second)]
    return _of_quantities(name, *measured) if all(measured) else None


def _of_words(name: str, first: Counter[str], second: Counter[str]) -> Difference | None:
    common = sum(min(first[word] / first.total(), second[word] / second.total()) for word in first)
    if common > MOST_IN_COMMON or first.keys() == second.keys():
        return None
    return Difference(name, _usual(first), _usual(second))


def _usual(words: Counter[str]) -> str:
    (word, number), *_ = words.most_common(1)
    return word if number == words.total() else f"{word} in {number} of {words.total()}"


def _of_quantities(
    name: str, first: Sequence[Quantity], second: Sequence[Quantity]
) -> Difference | None:
    left, right = ([one.value for one in side] for side in (first, second))
    above = sum((a < b) + (a == b) / 2 for a in left for b in right) / (len(left) * len(right))
    low, high = (statistics.median(side) for side in (left, right))
    if abs(high - low) < first[0].least or max(above, 1 - above) < LEAST_ABOVE:
        return None
    return Difference(name, first[0].text_of(low), first[0].text_of(high))
