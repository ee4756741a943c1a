"""Provenance (Uselton, section 4): the run's machine, its parameters, and how quiet it was."""

from __future__ import annotations

import shlex
from typing import Any

from weir.analysis.description import node_texts
from weir.report.chart import table
from weir.report.keyed import key_value_table
from weir.report.markup import Markup, element, join
from weir.report.quantities import size
from weir.report.sources import Source
from weir.results.node_differences import nodes_of_run
from weir.results.quantities import phase_name
from weir.results.schema import Environment, Run


def render(source: Source, *, machine: bool = True) -> Markup:
    """Renders one run; without the machine if the page shows it once for all runs."""
    run = source.run
    return join(
        element(
            "div",
            _parameters(run),
            _machine(run) if machine else None,
            _planned(run) if run.imported is None else None,
            class_="columns",
        ),
        typed(run),
        element("p", "Run ", element("code", run.id), class_="note command"),
    )


def typed(run: Run) -> Markup:
    """Returns what a person typed; if that is unknown, the command of weir-bench."""
    words = run.command if run.start is None else run.start.command_by_user
    name = "Command " if run.start is None else "Typed "
    return element("p", name, element("code", shlex.join(words)), class_="note command")


def shared_machine(sources: list[Source]) -> Markup | None:
    """Returns the machine, if all runs were made on the same one with the same software."""
    first = sources[0].run
    if first.environment is None:
        return None

    def described(run: Run) -> tuple[object, ...]:
        machine = run.environment and run.environment.model_dump(exclude={"quiet"})
        return machine, run.binaries

    if any(described(source.run) != described(first) for source in sources):
        return None
    commands = list(dict.fromkeys(typed(source.run) for source in sources))
    return join(element("div", _machine(first), class_="columns"), *commands)


def _parameters(run: Run) -> Markup:
    def shown(value: str | float | bool) -> str:
        return ("yes" if value else "no") if isinstance(value, bool) else str(value)

    rows = [
        [name, element("bdi", shown(setting.value)), setting.origin]
        for name, setting in run.parameters.items()
    ]
    return element(
        "div",
        table(
            ["Parameter", "Value", "From"],
            rows,
            caption="Parameters",
            numeric_from=3,
            class_="keyed",
            titled=True,
        ),
    )


def _planned(run: Run) -> Markup:
    plan = run.plan
    rows: list[list[Markup | str]] = [
        ["Memory per rank", size(plan.memory_bytes_per_rank)],
        ["Memory in all", size(plan.memory_bytes_total)],
        ["Disk", size(plan.disk_bytes_total)],
    ]
    rows += [
        [
            phase_name(phase.function, phase.direction),
            join(
                f"{phase.operations_per_rank} per rank, ",
                size(phase.bytes_per_operation),
                " each, ",
                size(phase.bytes_total),
                " in all",
            ),
        ]
        for phase in plan.phases
    ]
    return element(
        "div",
        table(["", ""], rows, caption="Plan", numeric_from=2, class_="keyed", titled=True),
    )


def _machine(run: Run) -> list[Markup]:
    environment = run.environment
    if environment is None:
        return [element("p", "The environment was not recorded.", class_="none")]
    groups = [
        ("Hardware", environment.hardware),
        ("System software", environment.system_software),
        ("File system", environment.file_system),
        ("Test application", _application(run, environment)),
    ]
    tables = [
        element("div", key_value_table(record, title, titled=True))
        for title, record in groups
        if record
    ]
    nodes = [element("p", f"Nodes: {text}.") for text in node_texts(nodes_of_run(run))]
    return [*tables, *([element("div", *nodes)] if nodes else [])]


def _application(run: Run, environment: Environment) -> dict[str, Any]:
    told = {key: value for key, value in environment.test_application.items() if key != "command"}
    return told | {f"SHA-256 of {one.name}": one.sha256 for one in run.binaries}
