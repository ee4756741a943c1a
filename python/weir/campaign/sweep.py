"""``weir bench ... --sweep NAME=LEVELS``: a small campaign from a command line.

MADbench2's paper has figures for two sweeps. These get the settings of the figure unless the
command line has others: over the busy-work exponent, synchronous and asynchronous runs in one job
(Borrill et al., figure 7); over the ranks, unique and shared files (figure 5).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from weir.bench.errors import USAGE, BenchError
from weir.campaign.design import RANKS, TASKS, setting_name
from weir.campaign.levels import LevelError, read_levels
from weir.results.campaign import Value

SHOWN_WITH = {
    ("madbench", "busy-work-exponent"): ("iomode", "SYNC,ASYNC"),
    ("madbench", RANKS): ("filetype", "UNIQUE,SHARED"),
}
"""Setting and value that are added to a sweep, by workload and swept setting."""


def read_sweep(workload: str, text: str, option: str = "--sweep") -> tuple[str, str]:
    """Returns an option's setting, by weir-bench's name, and its levels as given."""
    name, separator, levels = text.partition("=")
    if not separator or not name.strip() or not levels.strip():
        raise BenchError(
            f"{option} {text!r}: write NAME=LEVELS, such as alpha=1.0:1.5:0.05 or ranks=1,4,9",
            USAGE,
        )
    try:
        read_levels(levels)
    except LevelError as error:
        raise BenchError(f"{option} {text}: {error}", USAGE) from None
    return setting_name(workload, name.strip()), levels.strip()


def sweep_file(
    arguments: Sequence[str],
    sweeps: Sequence[str],
    ranks: int | None,
    *,
    tasks_per_node: int | None = None,
    kind: str = "sweep",
    more: Mapping[str, Value] | None = None,
) -> str:
    """Returns the TOML text of the campaign that a sweep stands for.

    ``arguments`` are the workload and its words, without a value for the swept settings; ``more``
    are further keys of the file. ``kind`` begins the campaign's name.
    """
    workload = arguments[0]
    swept = [read_sweep(workload, text) for text in sweeps]
    given = {word.partition("=")[0] for word in arguments}
    lines = [
        f"workload = {json.dumps(workload)}",
        f"name = {json.dumps(kind + '-' + '-'.join(name for name, _ in swept))}",
        f"arguments = {json.dumps(list(arguments[1:]))}",
        *(f"{name} = {json.dumps(value)}" for name, value in (more or {}).items()),
    ]
    fixed: dict[str, str] = {}
    for name, _ in swept:
        other, value = SHOWN_WITH.get((workload, name), ("", ""))
        if (
            kind == "sweep"
            and other
            and f"--{other}" not in given
            and other not in {n for n, _ in swept}
        ):
            fixed[other] = json.dumps(value)
    if ranks is not None and RANKS not in {name for name, _ in swept}:
        fixed[RANKS] = str(ranks)
    if tasks_per_node is not None:
        fixed[TASKS] = str(tasks_per_node)
    if fixed:
        lines += ["", "[fixed]", *(f"{name} = {value}" for name, value in fixed.items())]
    for name, levels in swept:
        lines += ["", "[[factor]]", f"name = {json.dumps(name)}", f"levels = {json.dumps(levels)}"]
    return "\n".join(lines) + "\n"
