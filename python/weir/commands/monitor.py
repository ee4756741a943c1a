"""``weir monitor``: watches this host's targets, servers, links and clients by themselves."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from weir.bench.errors import FAILED, USAGE, BenchError
from weir.bench.tables import plain_table
from weir.campaign.file import read_duration
from weir.commands.job_options import INTERVAL, read_interval
from weir.commands.terminal import message_console, output_console, warn
from weir.monitor.counters import KINDS, Key
from weir.monitor.live import LiveLine
from weir.monitor.sampler import Sample
from weir.monitor.samples import Summary, write_samples
from weir.monitor.serving import serve
from weir.monitor.watching import watch
from weir.results.quantities import percent_text, rate_text, seconds_text, size_text
from weir.results.request_sizes import KIND, sizes_of

GRACE_SECONDS = 20.0
RECORDING = ".recording"
"""Added to the name of the file while the monitor runs; a killed monitor leaves it."""


def monitor_command(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND", help="Watch until this command has ended."),
    ] = None,
    interval: Annotated[
        str, typer.Option("--interval", help="Time between samples, 50ms to 60s.")
    ] = INTERVAL,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="New Parquet file. [weir-monitor-<UTC stamp>.parquet]"),
    ] = None,
    duration: Annotated[
        str | None, typer.Option("--for", help="End after this time, such as 30s.")
    ] = None,
    finish: Annotated[
        Path | None,
        typer.Option("--finish", help="Make the Parquet file of a recording left by a kill."),
    ] = None,
    serves: Annotated[
        bool, typer.Option("--serve", hidden=True, help="Record for weir on another host.")
    ] = False,
) -> int:
    """Watch what targets, servers, links and clients move, and record it.

    On a terminal a line shows every second what moves. At the end, by Ctrl-C, --for, or with the
    command, a table sums it up. docs/monitor.md has the sources and the columns of the file.
    """
    seconds = read_interval(interval)
    if serves:
        serve(seconds)
        return 0
    if finish is not None:
        return _finish(finish, output, command or [])
    longest = _longest(duration)
    target = output or Path(f"weir-monitor-{_stamp()}.parquet")
    recording = target.with_name(target.name + RECORDING)
    for file in (target, recording):
        if file.exists():
            raise BenchError(f"{file} exists: give a new --output", USAGE)
    status = _watch(recording, seconds, longest, command or [])
    summary = write_samples(recording, target)
    recording.unlink()
    _show(output_console(), summary, target)
    return status


def _stamp() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")


def _longest(text: str | None) -> float | None:
    try:
        seconds = None if text is None else read_duration(text)
    except ValueError as error:
        raise BenchError(f"--for: {error}", USAGE) from None
    return float(str(seconds)) if seconds is not None else None


def _finish(recording: Path, output: Path | None, command: list[str]) -> int:
    if command:
        raise BenchError("--finish watches nothing: leave the command out", USAGE)
    if not recording.is_file():
        raise BenchError(
            f"--finish {recording}: there is no such file: a killed monitor leaves its --output "
            f"with {RECORDING} behind the name",
            USAGE,
        )
    target = output or recording.with_name(recording.name.removesuffix(RECORDING))
    if target.exists():
        raise BenchError(f"{target} exists: give a new --output", USAGE)
    summary = write_samples(recording, target)
    _show(output_console(), summary, target)
    return 0


def _watch(recording: Path, seconds: float, longest: float | None, command: list[str]) -> int:
    """Records, with the command or until a signal; returns the command's exit status."""
    ended = threading.Event()
    child: list[subprocess.Popen[bytes]] = []
    began = False

    def keeps_on(wait_seconds: float) -> bool:
        nonlocal began
        if command and not began:
            began = True
            child.append(_start(command))
        return not ended.wait(wait_seconds)

    console = message_console()
    live = LiveLine(sys.stderr, console.width) if console.is_terminal and not command else None
    on_sample: Callable[[Sample], None] = live.add if live else lambda _: None
    with _signals(ended, child):
        try:
            watch(
                recording,
                seconds,
                keeps_on=keeps_on,
                longest_seconds=longest,
                on_sample=on_sample,
                counts_children=not command,
            )
        finally:
            if live:
                live.clear()
            _end(child)
    return _status(child)


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, start_new_session=True)
    except OSError as error:
        raise BenchError(f"{command[0]} cannot be run: {error.strerror}") from None


@contextmanager
def _signals(ended: threading.Event, child: list[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Ends the monitor at a signal; with a command, the signal goes to it, and its end counts."""

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if child and child[0].poll() is None:
            child[0].send_signal(number)
        else:
            ended.set()

    def on_child(_number: int, _frame: FrameType | None) -> None:
        if child and child[0].poll() is not None:
            ended.set()

    handlers: dict[int, Callable[[int, FrameType | None], None]] = {signal.SIGCHLD: on_child}
    handlers |= dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), on_signal)
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(child: list[subprocess.Popen[bytes]]) -> None:
    """Ends a command that is still running after --for or an error."""
    for one in child:
        if one.poll() is None:
            warn("the monitor ends before the command, which gets SIGTERM")
            one.terminate()
        try:
            one.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(one.pid, signal.SIGKILL)
            one.wait(GRACE_SECONDS)


def _status(child: list[subprocess.Popen[bytes]]) -> int:
    if not child:
        return 0
    status = child[0].returncode
    return status if status is not None and status >= 0 else 128 - (status or -FAILED)


def _show(console: Console, summary: Summary, target: Path) -> None:
    """Prints a row for each counter that has moved, then how the monitor did."""
    table = plain_table(
        "kind", "name", "source", ">read", ">written", ">mean", ">most", ">operations", ">busy"
    )
    moved = sorted(summary.totals, key=lambda key: (KINDS.index(key.kind), key.source, key.name))
    for key in moved:
        if key.kind != KIND:
            table.add_row(*_cells(summary, key))
    if table.row_count:
        console.print(table, highlight=False)
    else:
        console.print("Nothing has moved.")
    for one in sizes_of((key.source, key.name, summary.totals[key].operations) for key in moved):
        of = f"{one.total:,} {one.what} ({one.source}, {len(one.targets)} targets)"
        console.print(f"{of}: {one.text}", highlight=False, markup=False)
    sources = ", ".join(summary.header["sources"])
    interval = summary.header["interval_ns"] * 1e-9
    lost = "" if summary.is_whole else "; the monitor was killed, up to a second is lost"
    console.print(
        f"\n{summary.samples} samples in {seconds_text(summary.seconds)}, {summary.missed} missed"
        f"{lost}; {summary.header['resolution']}\n"
        f'Sources: {sources}. "most" is the mean of the busiest interval of '
        f"{seconds_text(interval)}. The monitor took {seconds_text(summary.cost_ns * 1e-9)} of "
        f"processor time, {percent_text(summary.cost_fraction, 2)} of a core.",
        highlight=False,
        markup=False,
    )
    console.print(f"File: {target}", soft_wrap=True, highlight=False, markup=False)


def _cells(summary: Summary, key: Key) -> list[str]:
    total = summary.totals[key]
    mean = (total.bytes_read + total.bytes_written) / max(summary.seconds, 1e-9)
    busy = total.busy_ns * 1e-9 / max(summary.seconds, 1e-9)
    return [
        key.kind,
        escape(key.name),
        key.source,
        size_text(total.bytes_read),
        size_text(total.bytes_written),
        rate_text(mean),
        rate_text(total.largest_rate),
        f"{total.operations:,}",
        percent_text(busy) if total.busy_ns else "",
    ]


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("monitor")(monitor_command)
