"""Which runs are runs of one configuration on one machine.

They have the same workload, label, ranks, machine and mount point, and the same settings where
these matter (``weir.analysis.settings``). A setting that some of the runs do not have, because
their version of Weir had none, tells runs apart only where it was given.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from weir.analysis.settings import settings_that_matter
from weir.results.machine import machine_of
from weir.results.schema import Run


@dataclass(frozen=True)
class Configuration:
    """What runs have in common, and the runs by the time of their start."""

    workload: str
    label: str
    machine: str
    distinction: tuple[str, ...]
    """The settings, and the mount point, that tell it from others with the same label."""
    runs: tuple[Run, ...]

    @property
    def ranks(self) -> int:
        return self.runs[0].plan.ranks

    @property
    def ranks_text(self) -> str:
        return f"{self.ranks} rank{'' if self.ranks == 1 else 's'}"

    @property
    def machine_text(self) -> str:
        return self.machine or "an unknown machine"

    @property
    def name(self) -> str:
        name = f"{self.workload} {self.label} with {self.ranks_text} on {self.machine_text}"
        return ", ".join([name, *self.distinction])

    @property
    def order(self) -> tuple[object, ...]:
        """By what configurations are sorted that a person compares."""
        return self.workload, self.label, self.distinction, self.ranks, self.machine


@dataclass(frozen=True)
class _Family:
    """What runs have in common before their settings are compared."""

    workload: str
    label: str
    ranks: int
    machine: str
    mount: str


def configurations_of(runs: Iterable[Run]) -> list[Configuration]:
    """Returns the configurations of the runs, in the order of their first runs."""
    families: dict[_Family, list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda one: one.started_utc):
        families[_family(run)].append(run)
    mounts: dict[_Family, set[str]] = defaultdict(set)
    for family in families:
        mounts[_without_mount(family)].add(family.mount)
    found = []
    for family, members in families.items():
        groups = _by_settings(members)
        shown = _differing([dict(settings) for settings in groups])
        is_mounted_elsewhere = len(mounts[_without_mount(family)]) > 1
        for settings, group in groups.items():
            more = [f"{name}={value}" for name, value in settings if name in shown]
            more += [f"at {family.mount or 'an unknown place'}"] if is_mounted_elsewhere else []
            known = (family.workload, family.label, family.machine, tuple(more))
            found.append(Configuration(*known, tuple(group)))
    return found


def _family(run: Run) -> _Family:
    system: Mapping[str, object] = run.environment.file_system if run.environment else {}
    machine = machine_of(run)
    if system.get("reach") == "network":
        # A job on shared storage gets other nodes each time.
        machine = re.sub(r"\d+", "#", machine)
    mount = str(system.get("mount_point", ""))
    return _Family(run.workload, run.label, run.plan.ranks, machine, mount)


def _without_mount(family: _Family) -> _Family:
    return _Family(family.workload, family.label, family.ranks, family.machine, "")


_Settings = tuple[tuple[str, str], ...]


def _by_settings(runs: Sequence[Run]) -> dict[_Settings, list[Run]]:
    settings = [settings_that_matter(run) for run in runs]
    everywhere = set.intersection(*(set(one) for one in settings))
    given = {
        name.replace("_", "-")
        for run in runs
        for name, parameter in run.parameters.items()
        if parameter.origin != "default"
    }
    groups: dict[_Settings, list[Run]] = defaultdict(list)
    for run, one in zip(runs, settings, strict=True):
        told = tuple((name, text) for name, text in one.items() if name in everywhere | given)
        groups[told].append(run)
    return dict(groups)


def _differing(settings: Sequence[Mapping[str, str]]) -> set[str]:
    names = {name for one in settings for name in one}
    return {name for name in names if len({one.get(name) for one in settings}) > 1}
