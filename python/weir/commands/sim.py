"""``weir sim``: the library's plans, simulated on machines that nobody has at hand."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from weir.bench.errors import USAGE, BenchError
from weir.bench.platforms import find_platform
from weir.commands.terminal import message_console, output_console
from weir.report.picture_file import SUFFIXES
from weir.results.campaign import Value
from weir.results.platform import Platform
from weir.sim.job import (
    DESTINATIONS,
    LEVELS,
    SINK_MESSAGES,
    STRATEGIES,
    Asked,
    Destination,
    check,
    plan_beside,
    points,
    size_in,
    slow_in,
    sweep_levels,
)
from weir.sim.output_job import OutputAsked, outputs, record_of
from weir.sim.output_table import show_output, show_outputs
from weir.sim.picture import write_picture
from weir.sim.program import DEFAULT_TIMEOUT, simulate
from weir.sim.staged import KERNELS, StagedOutput
from weir.sim.table import Simulated, show_bench, show_one, show_several

STRATEGY_HELP = "How the bytes are moved: " + ", ".join(
    f"{name} ({way.about})" if way.about else name for name, way in STRATEGIES.items()
)


def sim_command(
    context: typer.Context,
    workload: Annotated[
        str,
        typer.Argument(
            metavar="WORKLOAD",
            help="messages (every rank moves so many bytes), array (--array-shape), or sink; with "
            "--level library, array and sink are the workloads of weir bench themselves; flash and "
            "s3d write their files by stagers (--staging), with settings of weir-bench after --",
        ),
    ],
    platform: Annotated[
        str,
        typer.Option(
            "--platform",
            envvar="WEIR_PLATFORM",
            help="Description of the machine: file or name, such as intrepid.",
        ),
    ],
    ranks: Annotated[int, typer.Option("-n", "--ranks", min=1, help="Ranks of the job.")],
    strategy: Annotated[str, typer.Option("--strategy", help=STRATEGY_HELP)] = "automatic",
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="Where the bytes go: io-nodes (which throw them away), stagers or storage.  "
            "[default: stagers with --stagers, else the platform's first]",
        ),
    ] = None,
    size: Annotated[
        str | None, typer.Option("--bytes", help="messages: bytes of a rank.  [default: 1m]")
    ] = None,
    message_bytes: Annotated[
        str | None,
        typer.Option(
            "--message-bytes", help=f"sink: sizes of a rank's message.  [default: {SINK_MESSAGES}]"
        ),
    ] = None,
    shape: Annotated[str, typer.Option("--array-shape", help="array: extents.")] = "",
    element: Annotated[str, typer.Option("--type", help="array: element type.")] = "float64",
    distribution: Annotated[
        str, typer.Option("--distribution", help="array: BLOCK, CYCLIC, * per dimension.")
    ] = "BLOCK",
    grid: Annotated[str, typer.Option("--grid", help="array: processes per dimension.")] = "",
    read: Annotated[bool, typer.Option("--read", help="Read instead of write.")] = False,
    aggregators: Annotated[
        int, typer.Option("--aggregators", min=0, help="Of each I/O group; 0: as prices decide.")
    ] = 0,
    buffer: Annotated[
        str, typer.Option("--buffer", help="Bytes of a piece; 0: as the strategy has it.")
    ] = "0",
    stripe: Annotated[str, typer.Option("--stripe", help="Stripe of a file in storage.")] = "4m",
    stagers: Annotated[
        int, typer.Option("--stagers", min=0, help="Stager nodes; 0: all of the machine.")
    ] = 0,
    staging: Annotated[
        str,
        typer.Option(
            "--staging",
            help="flash, s3d: who stores the files: none (the ranks), node (a stager of each node) "
            "or service (--stagers on nodes of their own).",
        ),
    ] = "none",
    stager_memory: Annotated[
        str | None,
        typer.Option(
            "--stager-memory",
            help="flash, s3d: what a stager may hold.  [default: a quarter of the free memory that "
            "the description has, or everything]",
        ),
    ] = None,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Repetitions.")] = 1,
    meeting: Annotated[
        bool, typer.Option("--meeting", help="All clients begin every step together.")
    ] = False,
    io_groups: Annotated[
        int | None,
        typer.Option(
            "--io-groups",
            min=0,
            help="Nodes of each I/O group; 0: one group.  [default: as the platform has them]",
        ),
    ] = None,
    network: Annotated[
        str,
        typer.Option(
            "--network",
            help="Network between the nodes instead of the platform's: fat-tree:16x8, "
            "dragonfly:4x8x2x9, 8x8x16, ...",
        ),
    ] = "",
    placement: Annotated[
        str, typer.Option("--placement", help="Aggregators: spread, nearest, first or priced.")
    ] = "spread",
    slow: Annotated[
        list[str] | None,
        typer.Option(
            "--slow",
            help="A unit slower than the others, and what it costs: target=7:0.25, stager=3:0.5, "
            "node=5:0.1, 'link=switch 3 up 2:0.1', ...",
        ),
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            "--sweep", help="A simulation per level: stagers=4:96:*2, bytes=2k:4m:*2, ..."
        ),
    ] = None,
    level: Annotated[
        str,
        typer.Option(
            "--level",
            help="What is simulated: plan (its flows) or library (libweir itself, or a workload of "
            "weir-bench, on simulated ranks: up to 4096 or so).",
        ),
    ] = "plan",
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, help="End a simulation after so many seconds.")
    ] = DEFAULT_TIMEOUT,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Also draw it: FILE.svg or FILE.html.")
    ] = None,
) -> None:
    """Simulate what a machine of any size would reach with the library's plans.

    The plans are those of the library; SimGrid shares the machine's links among them. Nothing of
    the job runs.
    """
    if to is not None and to not in DESTINATIONS:
        raise BenchError(f"--to {to}: give one of {', '.join(DESTINATIONS)}", USAGE)
    destination: Destination | None = next((one for one in DESTINATIONS if one == to), None)
    simulated_level = next((one for one in LEVELS if one == level), None)
    if simulated_level is None:
        raise BenchError(f"--level {level}: give {' or '.join(LEVELS)}", USAGE)
    of_kernel = workload in KERNELS
    asked = Asked(
        workload="messages" if of_kernel else workload,
        ranks=ranks,
        strategy=strategy,
        to=destination,
        bytes=size_in("bytes", size or "1m"),
        shape=shape,
        type=element,
        distribution=distribution,
        grid=grid,
        read=read,
        aggregators=aggregators,
        buffer=size_in("buffer", buffer),
        stripe=size_in("stripe", stripe),
        stagers=stagers,
        steps=steps,
        meeting=meeting,
        io_groups=io_groups,
        network=network,
        placement=placement,
        slow=tuple(slow_in(text) for text in slow or []),
        level=simulated_level,
    )
    check(asked)
    output = OutputAsked(workload, tuple(context.args), staging, stager_memory)
    output.refuse_others(
        {
            "--bytes": size,
            "--message-bytes": message_bytes,
            "--to": to,
            "--read": read,
            "--slow": slow,
            "--picture": picture,
            "--level library": level == "library",
        }
    )
    if picture is not None and picture.suffix not in SUFFIXES:
        raise BenchError(f"--picture {picture}: give a file that ends in .svg or .html", USAGE)
    described = find_platform(platform)
    swept = sweep_levels(sweep or [])
    if workload == "sink" and "bytes" not in swept:
        swept |= sweep_levels([f"bytes={message_bytes or SINK_MESSAGES}"])
    elif message_bytes is not None:
        raise BenchError(
            f"--message-bytes {message_bytes}: this is for weir sim sink without --sweep bytes; "
            "give --bytes, or leave it out",
            USAGE,
        )
    if of_kernel:
        several = outputs(described, asked, swept, output, partial(simulate, timeout=timeout))
        _show_outputs(described, several, as_json=as_json)
        return
    run = partial(simulate, described, timeout=timeout)
    simulated = []
    for one in list(points(asked, swept)):
        levels = {name: getattr(one, name) for name in swept}
        without = run(replace(one, slow=())) if one.slow else None
        plan = run(plan_beside(one)) if one.runs_bench else None
        simulated.append(Simulated(levels, one, run(one), without, plan))
    _show(described, simulated, as_json=as_json)
    if picture is not None:
        written = write_picture(picture, described.name, simulated)
        message_console().print(f"{written}", markup=False, highlight=False)


def _show(platform: Platform, simulated: list[Simulated], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([_record(one) for one in simulated], indent=2))
    elif simulated[0].asked.runs_bench:
        show_bench(output_console(), platform, simulated)
    elif simulated[0].levels:
        show_several(output_console(), simulated)
    else:
        show_one(output_console(), platform, simulated[0])


def _show_outputs(
    platform: Platform, several: list[tuple[dict[str, Value], StagedOutput]], *, as_json: bool
) -> None:
    levels, first = several[0]
    if as_json:
        typer.echo(json.dumps([record_of(*one) for one in several], indent=2))
    elif levels:
        show_outputs(output_console(), several)
    else:
        show_output(output_console(), platform, first)


def _record(one: Simulated) -> dict[str, Any]:
    return {
        "workload": one.asked.workload,
        "ranks": one.asked.ranks,
        "asked_strategy": one.asked.strategy,
        "level": one.asked.level,
        "levels": one.levels,
        **({"slow": _slow_record(one)} if one.without_slow is not None else {}),
        **({"plan": one.plan.model_dump(mode="json")} if one.plan is not None else {}),
        **one.outcome.model_dump(mode="json"),
    }


def _slow_record(one: Simulated) -> dict[str, Any]:
    return {
        "units": [asdict(slow) for slow in one.asked.slow],
        "cost_seconds": one.cost_seconds,
        "without": one.without_slow.model_dump(mode="json") if one.without_slow else None,
    }


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("sim", context_settings={"allow_extra_args": True})(sim_command)
