"""A run's own settings. A job with several configurations may state a list for each of its runs."""

from __future__ import annotations

from weir.results.schema import Run

Value = str | int | float | bool


def own_settings(run: Run) -> dict[str, Value]:
    """The settings by name; of a list such as ``POSIX,MPI`` the value that the label names."""
    words = set(run.label.split())
    settings: dict[str, Value] = {}
    for name, parameter in run.parameters.items():
        value = parameter.value
        if isinstance(value, str) and "," in value:
            own = [part for part in value.split(",") if part in words]
            value = own[0] if len(own) == 1 else value
        settings[name] = value
    return settings
