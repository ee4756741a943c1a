"""Draws the units whose tail a run's anomalies name: when each was done, and how many still moved.

The events of the ranks tell this of hosts and ranks, and of targets and servers if it is known
where files lie or in which directory (``weir.report.anomalies``).
"""

from __future__ import annotations

from weir.analysis.anomalies import TAIL, completions_of, longest_tail
from weir.analysis.trends import SIGNIFICANT
from weir.report import completion
from weir.report.anomalies import measured_phases, transfers_of_phase
from weir.report.completion import Completion
from weir.report.markup import Markup, element, join
from weir.report.sources import Source
from weir.results.quantities import phase_name

MEANING = "time until the {unit} was done with a repetition, a mean"


def render(source: Source) -> Markup | None:
    """Returns the drawings of each phase with a tail; None without such a phase."""
    if source.events is None:
        return None
    named = {
        (one.function, one.direction) for one in source.run.anomalies or [] if one.kind == TAIL
    }
    if not named:
        return None
    phases, indices = measured_phases(source.run, source.events)
    drawn = []
    for place, phase in phases.items():
        if place not in named:
            continue
        seen = transfers_of_phase(source.run, phase, source.events, indices)
        found = seen and longest_tail(seen.transfers, seen.levels, SIGNIFICANT / len(phases))
        if not seen or not found:
            continue
        level = found[0]
        done = [Completion(*one) for one in completions_of(seen.transfers, level)]
        title = phase_name(phase.function, phase.direction)
        name = f"tail-{phase.function}-{phase.direction}"
        drawn.append(
            join(
                element("h3", title),
                completion.render(done, level.name, MEANING.format(unit=level.name), name),
            )
        )
    return join(*drawn) if drawn else None
