"""``weir platform``: measures this machine's path, discovers its topology, draws descriptions."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from weir.analysis.description import node_texts
from weir.bench.errors import FAILED, USAGE, BenchError
from weir.bench.job import Job, utc_now, utc_text
from weir.bench.messages import Progress
from weir.bench.progress import State, progress_display
from weir.commands.job_options import find_job
from weir.commands.platform_discover import discover_command
from weir.commands.platform_fit import fit_command
from weir.commands.platform_history import history_command
from weir.commands.terminal import message_console, output_console, warn
from weir.platform.files import (
    check_output,
    default_path,
    find_description,
    keep_older,
    probe_path,
    shipped,
)
from weir.report.picture_file import SUFFIXES
from weir.results.node_differences import nodes_of_probe
from weir.results.platform_file import load_platform, write_platform
from weir.results.probe import Probe
from weir.results.revisions import append_revision, changes_of

platform_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

DEFAULT_SECONDS = 50.0


@platform_app.callback()
def platform_group(context: typer.Context) -> None:
    """Measure this machine's path, discover its topology, and draw descriptions of paths."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@platform_app.command("probe")
def probe_command(
    directory: Annotated[
        list[str] | None,
        typer.Option(
            "--directory",
            metavar="DIR[,DIR...]",
            help=(
                "Directory on a target to measure; may be repeated for several targets.  "
                "[default: .]"
            ),
        ),
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option("-n", "--ranks", min=1, envvar="WEIR_RANKS", help="[default: the cores]"),
    ] = None,
    launcher: Annotated[
        str | None,
        typer.Option(
            "--launcher",
            envvar="WEIR_LAUNCHER",
            help="Command that starts the ranks: 'srun -n 4096'.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="[default: platforms/HOST.toml]"),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=1, max=3600, help="Time for the measurements.")
    ] = DEFAULT_SECONDS,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the platform.  [default: name of the host]"),
    ] = None,
) -> None:
    """Measure memory, page cache, storage and messages, and write a platform description.

    Takes less than a minute. The samples stay beside the description (HOST.probe.json); an older
    description of the same name stays as HOST.1.toml.
    """
    host = socket.gethostname()
    target = output or default_path(name or host)
    directories = [one for given in directory or ["."] for one in given.split(",")]
    for one in directories:
        if not Path(one).is_dir():
            raise BenchError(f"--directory {one!r} is not a directory: create it first", USAGE)
    job = find_job(ranks, launcher, default_ranks=len(os.sched_getaffinity(0)))
    check_output(target)
    fresh = target.with_name(f".{target.stem}.probe.json")
    with progress_display(message_console(), _state_of, counted=False) as on_progress:
        from_ = [str(Path(one).resolve()) for one in directories]
        probe = _run(job, from_, seconds, fresh, on_progress)
    _finish(output_console(), probe, fresh, target, name or target.stem)


def _run(
    job: Job,
    directories: list[str],
    seconds: float,
    fresh: Path,
    on_progress: Callable[[Progress], None],
) -> Probe:
    # Imported here like everything that only this command needs.
    from weir.platform.probing import run_probe  # noqa: PLC0415

    return run_probe(job, directories, seconds, fresh, on_progress=on_progress, tell=warn)


def _finish(console: Console, probe: Probe, fresh: Path, target: Path, name: str) -> None:
    """Fits the probe, keeps an older description, writes and shows the new one."""
    from weir.model.platform_fit import fit_platform  # noqa: PLC0415
    from weir.platform.drawing import draw_platform  # noqa: PLC0415

    message_console().print("  fitting the path's stages", highlight=False)
    try:
        platform = fit_platform(probe, name)
    except ValueError as error:
        kept = probe_path(target)
        fresh.replace(kept)
        raise BenchError(f"no platform can be fitted to {kept}: {error}", FAILED) from None
    before = load_platform(target) if target.is_file() else None
    older = keep_older(target)
    fresh.replace(probe_path(target))
    write_platform(target, platform)
    made_utc = platform.measured_utc or utc_text(utc_now())
    append_revision(target, changes_of(before, platform, {}), "weir platform probe", made_utc)
    draw_platform(console, platform)
    console.print()
    for text in node_texts(nodes_of_probe(probe)):
        console.print(text, highlight=False, markup=False)
    if not probe.quiet.quiet:
        warn(f"{probe.quiet.text}: probe again when the machine is quiet")
    if older is not None:
        console.print(f"Older description: {older}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"Platform: {target}", highlight=False, markup=False, soft_wrap=True)


@platform_app.command("show")
def show_command(
    platforms: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE|NAME",
            help="Description file, its name in platforms/, or a shipped machine.",
            show_default=False,
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Also draw it into FILE.svg or FILE.html."),
    ] = None,
    known: Annotated[
        bool, typer.Option("--shipped", help="Show all machines that are described with weir.")
    ] = False,
) -> None:
    """Draw a platform: stages in a byte's order, limits, costs, wiring, topology, errors of fits.

    Several platforms are compared in a table.
    """
    from weir.platform.drawing import draw_machines, draw_platform  # noqa: PLC0415

    named: list[str | None] = [*(platforms or []), *(shipped() if known else [])]
    if picture is not None and picture.suffix not in SUFFIXES:
        raise BenchError(f"--picture {picture}: give a file that ends in .svg or .html", USAGE)
    if picture is not None and len(named) > 1:
        raise BenchError("--picture draws one platform: give a single FILE or NAME with it", USAGE)
    described = [load_platform(find_description(name)) for name in named or [None]]
    console = output_console()
    if len(described) > 1:
        draw_machines(console, described)
        return
    draw_platform(console, described[0])
    if picture is not None:
        from weir.platform.picture import write_picture  # noqa: PLC0415

        write_picture(picture, described[0])
        console.print(f"Picture: {picture}", highlight=False, markup=False, soft_wrap=True)


def _state_of(step: Progress) -> State:
    """Returns what is shown of a probe; a phase's rounds follow its name."""
    done, phase = step.repetitions_done, step.text.partition(":")[0]
    return State(phase, f"{done} s: {phase}", done, step.repetitions_planned, step.text)


platform_app.command("fit")(fit_command)
platform_app.command("discover")(discover_command)
platform_app.command("history")(history_command)


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.add_typer(platform_app, name="platform")
