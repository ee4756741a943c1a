"""The settings of a run as text, and those that make two runs runs of one configuration."""

from __future__ import annotations

from weir.results.schema import Run

OF_NO_CONSEQUENCE = (
    "deadline",
    "directory",
    "max-repetitions",
    "precision",
    "reference-number",
    "reorder-seed",
    "repetitions",
    "seed",
    "time-limit",
    "trace-events",
    "verbose",
    "warmups",
)
"""Parameters in which two runs of one configuration may differ."""


def settings_of(run: Run) -> dict[str, str]:
    """Returns every parameter by its name in ``run.json``."""
    return {name: str(parameter.value) for name, parameter in run.parameters.items()}


def settings_that_matter(run: Run) -> dict[str, str]:
    """Returns the parameters in which runs of one configuration are alike, by name with dashes."""
    named = {name.replace("_", "-"): value for name, value in sorted(settings_of(run).items())}
    return {name: value for name, value in named.items() if name not in OF_NO_CONSEQUENCE}
