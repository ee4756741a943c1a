"""``weir platform discover``: says which nodes share a switch or a way to the storage."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from weir.bench.errors import USAGE, BenchError
from weir.bench.launcher import Launcher, found_launcher, given_launcher
from weir.bench.platforms import find_platform
from weir.commands.terminal import output_console, warn
from weir.platform.files import (
    check_output,
    default_path,
    find_description,
    keep_older,
    probe_path,
)
from weir.results.platform import Platform
from weir.results.platform_file import write_platform

MOST_DESCRIBED = 512
"""Nodes whose hardware is read; more are taken to be like these."""


def discover_command(
    ranks: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--ranks",
            min=1,
            envvar="WEIR_RANKS",
            help="Look at the nodes of so many ranks.  [default: at this node alone]",
        ),
    ] = None,
    launcher: Annotated[
        str | None,
        typer.Option(
            "--launcher",
            envvar="WEIR_LAUNCHER",
            help="Command that starts the ranks: 'srun -n 256'.",
        ),
    ] = None,
    recorded: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FOLDER", help="Read texts that were recorded, and look at no node."
        ),
    ] = None,
    record_in: Annotated[
        Path | None,
        typer.Option(
            "--record", metavar="FOLDER", help="Keep the texts, for --from on another machine."
        ),
    ] = None,
    platform: Annotated[
        str | None,
        typer.Option(
            "--platform",
            metavar="FILE|NAME",
            help="Description that overrides what is discovered.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Write the description to FILE.toml."),
    ] = None,
    io_groups: Annotated[
        bool,
        typer.Option(
            "--io-groups", help="Print only the value of WEIR_IO_GROUPS, for job scripts."
        ),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the platform.  [default: of FILE or of the host]"),
    ] = None,
) -> None:
    """Find out which nodes share a switch or a way to the storage, and the hardware of a node.

    Each source is named with its certainty: Lustre's routers, InfiniBand, Slurm, Cray's names, and
    times between nodes that the probe measured. Where I/O groups follow, their WEIR_IO_GROUPS is
    printed.
    """
    if recorded is not None:
        _refuse_beside_from({"-n": ranks, "--launcher": launcher, "--record": record_in})
    if output is not None:
        check_output(output)
    given = find_platform(platform) if platform is not None else None
    started = None if recorded is not None else _launcher(ranks, launcher)
    with _recording_folder(recorded, record_in) as folder:
        if recorded is None:
            _record(folder, started, _probe(platform))
        strict = recorded is not None  # a new form of one text must not hide all others here
        _describe(
            folder, given, platform or "", output, name, started, alone=io_groups, strict=strict
        )
    if recorded is None and started is None:
        warn("only this node was looked at: give -n RANKS or --launcher for the nodes of a job")


def _refuse_beside_from(options: dict[str, object]) -> None:
    for option, value in options.items():
        if value is not None:
            raise BenchError(f"--from reads recorded texts: leave {option} out, or --from", USAGE)


def _launcher(ranks: int | None, launcher: str | None) -> Launcher | None:
    if launcher is not None:
        return given_launcher(launcher, ranks)
    return None if ranks is None else found_launcher(ranks, os.environ)


def _probe(platform: str | None) -> Path | None:
    """Returns the samples beside the given description, or beside the one of this host."""
    described = (
        find_description(platform) if platform is not None else default_path(socket.gethostname())
    )
    samples = probe_path(described)
    return samples if samples.is_file() else None


@contextlib.contextmanager
def _recording_folder(recorded: Path | None, record_in: Path | None) -> Iterator[Path]:
    """Gives the folder of the texts; one of our own is removed at the end.

    That one is in the current directory, because the nodes of a job must see it.
    """
    if recorded is not None or record_in is not None:
        yield recorded or record_in or Path()
        return
    try:
        made = Path(tempfile.mkdtemp(prefix=".weir-discover-", dir="."))
    except OSError as error:
        raise BenchError(
            f"the current directory cannot be written ({error.strerror}): go to one that all nodes "
            "see, or give --record FOLDER",
            USAGE,
        ) from None
    try:
        yield made
    finally:
        shutil.rmtree(made)


def _record(folder: Path, launcher: Launcher | None, probe: Path | None) -> None:
    # Imported here like everything that only this command needs.
    from weir.platform.discovery.commands import record  # noqa: PLC0415

    record(folder, launcher, probe, warn)


def _describe(
    folder: Path,
    given: Platform | None,
    given_name: str,
    output: Path | None,
    name: str | None,
    launcher: Launcher | None,
    *,
    alone: bool,
    strict: bool,
) -> None:
    from weir.platform.discovery.choice import look  # noqa: PLC0415
    from weir.platform.discovery.description import describe, override  # noqa: PLC0415
    from weir.platform.discovery.hardware import hardware_of  # noqa: PLC0415
    from weir.platform.discovery.recording import read_recording  # noqa: PLC0415
    from weir.platform.discovery.shown import io_groups_of, show, why_no_groups  # noqa: PLC0415

    recording = read_recording(folder)
    choice = look(recording, strict=strict)
    hardware = [
        (node.name, found)
        for node in recording.nodes[:MOST_DESCRIBED]
        if (found := hardware_of(node, strict=strict)) is not None
    ]
    made = describe(
        recording,
        choice,
        hardware[0][1] if hardware else None,
        name or (output.stem if output is not None else default_path(recording.names[0]).stem),
        launcher.ranks if launcher is not None else None,
    )
    overridden = override(made, given, given_name) if given is not None else None
    console = output_console()
    if alone:
        value = io_groups_of(recording, choice, overridden)
        typer.echo(value)
        if not value:
            warn(f"I/O groups: {why_no_groups(recording, choice)}")
    else:
        show(console, recording, choice, hardware, overridden)
    if output is None:
        return
    older = keep_older(output)
    write_platform(output, overridden.platform if overridden is not None else made)
    if older is not None and not alone:
        console.print(f"Older description: {older}", highlight=False, markup=False, soft_wrap=True)
    if not alone:
        console.print(f"Platform: {output}", highlight=False, markup=False, soft_wrap=True)
