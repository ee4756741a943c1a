"""The words of a weir-bench command line, changed by what its plan says they mean."""

from __future__ import annotations

from collections.abc import Sequence

from weir.bench.program import PlannedJob
from weir.results.campaign import Value

OF_THE_JOB = ("output", "expectation", "progress", "plan", "settings", "ranks")


def without_settings(
    arguments: Sequence[str], planned: PlannedJob, names: Sequence[str]
) -> list[str]:
    """Removes settings from the arguments, also if they were given by position.

    The plan contains the settings of the command line and their values; the result passes all of
    them by name. If none of ``names`` was given, the words are unchanged.
    """
    values: dict[str, list[Value]] = {}
    for one in planned.configurations:
        for name, parameter in one.parameters.items():
            known = values.setdefault(name.replace("_", "-"), [])
            if parameter.origin == "command line" and parameter.value not in known:
                known.append(parameter.value)
    on_line = {name: known for name, known in values.items() if known}
    if not set(on_line) & set(names):
        return list(arguments)
    words = [arguments[0], *_settings_file(arguments)]
    for name, known in on_line.items():
        if name in names or name in OF_THE_JOB:
            continue
        if isinstance(known[0], bool):
            words.append(f"--{name}" if known[0] else f"--no-{name}")
        else:
            words.append(f"--{name}={','.join(str(value) for value in known)}")
    return words


def _settings_file(arguments: Sequence[str]) -> list[str]:
    """Returns ``--settings FILE`` as given: the file's settings are not the command line's."""
    for place, word in enumerate(arguments):
        if word == "--settings":
            return list(arguments[place : place + 2])
        if word.startswith("--settings="):
            return [word]
    return []
