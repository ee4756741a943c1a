"""``weir stage``: starts, shows and stops a stager on this node."""

from __future__ import annotations

import json
import os
import subprocess
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from weir.bench.program import STAGER, find_program
from weir.commands.terminal import output_console, warn
from weir.results.quantities import seconds_text, size_text

stage_app = typer.Typer(rich_markup_mode=None)

Socket = Annotated[
    str | None,
    typer.Option(
        "--socket",
        envvar="WEIR_STAGER_SOCKET",
        help="Socket at which programs find the stager, in a folder that only you may enter "
        "[stager in $XDG_RUNTIME_DIR/weir or /tmp/weir-UID]",
        show_default=False,
    ),
]


class StagerEngine(StrEnum):
    """How a stager writes files."""

    AUTOMATIC = "automatic"
    DIRECT_IO = "direct-io"


class Carrier(StrEnum):
    """What brings the bytes of programs on other nodes."""

    TCP = "tcp"
    UCX = "ucx"


class Authentication(StrEnum):
    """How programs on other nodes and the stager show each other who they are."""

    COOKIE = "cookie"
    MUNGE = "munge"


def _stager(
    words: list[str], socket: str | None, *, in_place: bool = False
) -> subprocess.CompletedProcess[str]:
    """Runs the program; with `in_place`, this process becomes that program."""
    command = [str(find_program(os.environ, STAGER)), *words]
    if socket:
        command += ["--stager-socket", socket]
    if in_place:
        os.execvp(command[0], command)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for line in done.stderr.splitlines():
        # Its options have other names here: --memory is --stager-memory there.
        warn(line.removeprefix(f"{STAGER}: ").replace("--stager-", "--"))
    if done.returncode != 0:
        raise typer.Exit(done.returncode)
    return done


@stage_app.callback()
def stage() -> None:
    """Start, show or stop a stager on this node.

    A stager takes the steps of programs that run with WEIR_STAGING=node, and stores them while the
    programs go on. A program starts one where none runs; it ends a minute after its last work. One
    that is started with --listen and --rendezvous FILE takes those of programs on any nodes that
    run with WEIR_STAGING=service:FILE.
    """


@stage_app.command("start")
def start(
    socket: Socket = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Memory for data that are not stored yet, such as 8g [a quarter of what is "
            "available]",
            show_default=False,
        ),
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Store nothing outside this folder, neither by `..` nor by symbolic links; what "
            "lies elsewhere is refused by name [none: programs name any path]",
            show_default=False,
        ),
    ] = None,
    spill: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder on a disk of this node, that only you may enter, for data that the memory "
            "cannot hold [none: a full memory is written to the files at once]",
            show_default=False,
        ),
    ] = None,
    spill_quota: Annotated[
        str | None,
        typer.Option(
            help="Most that these data take of the disk, such as 64g [half of what is free there]",
            show_default=False,
        ),
    ] = None,
    journal: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder on a disk of this node, that only you may enter, for a journal: accepted "
            "steps that a killed stager leaves there are stored by the next one [none]",
            show_default=False,
        ),
    ] = None,
    journal_quota: Annotated[
        str | None,
        typer.Option(
            help="Most that the journal takes of the disk, such as 64g; steps beyond it are not in "
            "it [half of what is free there]",
            show_default=False,
        ),
    ] = None,
    client_memory: Annotated[
        str | None,
        typer.Option(
            help="Most of the memory that one program has, such as 2g; it then waits until a part "
            "is stored [all]",
            show_default=False,
        ),
    ] = None,
    client_files: Annotated[
        int | None,
        typer.Option(
            min=1, help="Most files that one program has open [any number]", show_default=False
        ),
    ] = None,
    client_connections: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most ranks of one program that are connected [any number]",
            show_default=False,
        ),
    ] = None,
    connections: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most ranks of all programs that are connected [any number]",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[
        int, typer.Option(min=1, max=64, help="Threads that write, each for another program")
    ] = 4,
    receivers: Annotated[
        int,
        typer.Option(
            min=1, max=64, help="Threads that receive the bytes of programs on other nodes over TCP"
        ),
    ] = 4,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS[:PORT]",
            help="Address of this node at which stagers of other nodes connect, and programs with "
            "--rendezvous [all of them, and a port that is free]",
            show_default=False,
        ),
    ] = None,
    rendezvous: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Serve programs on other nodes, too, which find the stager by this file (or by "
            "one that it makes in this folder): it has the address and a cookie, only you may "
            "read it, and it is removed when the stager ends. Needs --listen [none]",
            show_default=False,
        ),
    ] = None,
    auth: Annotated[
        Authentication,
        typer.Option(
            help="How these programs and the stager show each other who they are: by the cookie in "
            "the rendezvous file, or by MUNGE, whose daemon munged runs on both nodes; then no "
            "file has a secret, and only programs of your user are served. Needs --rendezvous"
        ),
    ] = Authentication.COOKIE,
    carrier: Annotated[
        Carrier,
        typer.Option(
            help="What brings the bytes of programs on other nodes: tcp, or ucx (over InfiniBand "
            "and its kind, or shared memory; experimental) where both sides have it. UCX does not "
            "check who sends, so the network has to be trusted. Needs --rendezvous"
        ),
    ] = Carrier.TCP,
    engine: Annotated[
        StagerEngine,
        typer.Option(
            help="How files are written: through the page cache (automatic), or with direct-io 1 "
            "MiB and more of a file past it, which takes less of the processors, and less time on "
            "slow storage"
        ),
    ] = StagerEngine.AUTOMATIC,
    foreground: Annotated[
        bool,
        typer.Option(
            "--foreground",
            help="Do not go into the background: for `srun` and for supervisors, whose signal "
            "lets it store everything and end",
        ),
    ] = False,
) -> None:
    """Start a stager that stays until `weir stage stop`."""
    words = ["--stager-threads", str(threads), "--stager-receivers", str(receivers)]
    if not foreground:
        words.insert(0, "--detach")
    given = {
        "memory": memory,
        # The stager does not run in the folder of this command.
        "root": str(Path(root).absolute()) if root else None,
        "spill": spill,
        "spill-quota": spill_quota,
        "journal": journal,
        "journal-quota": journal_quota,
        "client-memory": client_memory,
        "client-files": client_files,
        "client-connections": client_connections,
        "connections": connections,
        "listen": listen,
        "rendezvous": rendezvous,
    }
    for name, value in given.items():
        if value:
            words += [f"--stager-{name}", str(value)]
    if auth is not Authentication.COOKIE:
        words += ["--stager-auth", auth.value]
    if carrier is not Carrier.TCP:
        words += ["--stager-carrier", carrier.value]
    if engine is not StagerEngine.AUTOMATIC:
        words += ["--stager-engine", engine.value]
    _stager(words, socket, in_place=foreground)


@stage_app.command("status")
def status(
    socket: Socket = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what the stager holds, and for whom."""
    report = _stager(["--report"], socket).stdout
    if as_json:
        typer.echo(report, nl=False)
        return
    _show(json.loads(report))


def _show(report: dict[str, Any]) -> None:
    console = output_console()
    used = report["memory_bytes"] - report["free_bytes"]
    used -= report["memory_bytes"] - report["ready_bytes"]
    process = report["stager"].rpartition(" ")[0]
    console.print(
        f"stager, {process}: {size_text(used)} of {size_text(report['memory_bytes'])} "
        f"in use{_spilled(report)}{_journaled(report)}{_over_ucx(report)}"
        f"{', stopping' if report['stopping'] else ''}",
        markup=False,
        highlight=False,
    )
    for line in report["waiting_shares"]:
        console.print(line, markup=False, highlight=False)
    if not report["sessions"]:
        console.print("no program")
        return
    table = Table(box=None, pad_edge=False)
    for name in (
        "program", "ranks", "held", "written", "blocked", "over", "steps to store", "state",
    ):  # fmt: skip
        is_text = name in ("program", "over", "state")
        table.add_column(name, justify="left" if is_text else "right")
    for one in report["sessions"]:
        with_others = f"ok, with {one['joined_stagers']} others" if one["joined_stagers"] else "ok"
        state = one["failure"] or one["waits_for"] or with_others
        if one["not_in_journal"]:
            state += f"; not in the journal: {one['not_in_journal']}"
        table.add_row(
            one["program"],
            str(one["ranks"]),
            size_text(one["held_bytes"]),
            size_text(one["written_bytes"]),
            seconds_text(one["blocked_seconds"]),
            ", ".join(one["carriers"]),
            str(one["steps_to_store"]),
            state,
        )
    console.print(table, markup=False, highlight=False)


def _spilled(report: dict[str, Any]) -> str:
    if not report["spill_bytes"]:
        return ""
    spilled = f"{size_text(report['spilled_bytes'])} of {size_text(report['spill_bytes'])} spilled"
    failure = report["spill_failure"]
    return f", {spilled}" + (f" (takes no more: {failure})" if failure else "")


def _journaled(report: dict[str, Any]) -> str:
    if not report["has_journal"]:
        return ""
    failure = report["journal_failure"]
    return ", with a journal" + (f" (without the last step: {failure})" if failure else "")


def _over_ucx(report: dict[str, Any]) -> str:
    return f", offers UCX {report['ucx']}" if report["ucx"] else ""


@stage_app.command("stop")
def stop(socket: Socket = None) -> None:
    """Let the stager end, when everything is stored.

    It takes no new programs from now on. The command returns when the stager has ended.
    """
    _stager(["--stop"], socket)


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.add_typer(stage_app, name="stage")
