"""``weir results``: finds runs by SQL, shows one, compares two."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from weir.analysis.compare import compare, pair_by_label
from weir.bench.errors import USAGE, BenchError
from weir.commands.find_runs import (
    DEFAULT_ROOT,
    LAST,
    Root,
    find_runs,
    root_of,
    runs_below,
    tell_changes,
)
from weir.commands.findings import findings_command
from weir.commands.history import history_command
from weir.commands.machines import machines_command
from weir.commands.show import show_comparison, show_list, show_run
from weir.commands.terminal import natural_width, output_console, warn
from weir.platform.files import FOLDER as PLATFORMS
from weir.results import store as stores
from weir.results.changes import changes_of
from weir.results.errors import ResultError
from weir.results.folder import load_run
from weir.results.index import ALL_FIGURES, LONG_COLUMNS, Answer, export, query
from weir.results.store import place_at, run_folders_at

DEFAULT_STORE = DEFAULT_ROOT / ".store"
MOST_LISTED = 20


class ResultsGroup(TyperGroup):
    """Also accepts arguments without a command: shows a run, or executes an SQL statement."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if word not in self.commands:
            if re.match(r"(?i)(select|with|describe|from)\s", word):
                args = ["query", *args]
            elif word == LAST or Path(word).exists():
                args = ["show", *args]
        return super().resolve_command(ctx, args)


results_app = typer.Typer(cls=ResultsGroup, invoke_without_command=True, rich_markup_mode=None)


Store = Annotated[
    Path,
    typer.Option("--store", envvar="WEIR_STORE", help="Folder of the store."),
]


@results_app.callback()
def results_group(context: typer.Context) -> None:
    """Find runs again, show one, compare two.

    weir results last, or the folder of a run, is shown as by show; a statement of SQL is run as by
    query.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@results_app.command("query")
def query_command(
    sql: Annotated[str, typer.Argument(help="One SQL statement (DuckDB).")],
    root: Root = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON array of objects.")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")] = False,
) -> None:
    """Run SQL over all runs: tables runs, repetitions, phases, series, points, nodes, events.

    parameters has each setting with its origin, campaigns and factors what campaigns varied,
    verdicts each judged figure with what was measured and expected, and node_differences what
    nodes have that differs from rank 0's. probes, probe_samples, platforms, platform_stages and
    revisions have what is below the same folder and in platforms/, explorations the steps of
    weir explore.

    series has every figure of every workload, by its unit (bytes/s, 1/s, s); rates has those in
    bytes/s, effective the EAAR, anomalies what is unusual about a run, and monitor the samples of
    bench --monitor.

    At the terminal, * leaves out the columns of runs that hold pages of text. They are read from
    the run folders at each call. DESCRIBE runs lists a table's columns; run_id
    joins them; a parameter is parameters->>'no_pix'. For example:

    weir results query "SELECT label, direction, median_bytes_per_second, verdict FROM rates JOIN
    runs USING (run_id) WHERE headline"
    """
    if as_json and as_csv:
        raise BenchError("--json and --csv are both given: give one of them", USAGE)
    answer = query(root_of(root), sql, warn, beside=[PLATFORMS])
    if as_json:
        _print_json(answer)
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(answer.rows)
    else:
        _print_table(_without_long_columns(answer, sql))


@results_app.command("export")
def export_command(
    file: Annotated[Path, typer.Argument(help="File ending in .csv, .json or .parquet.")],
    sql: Annotated[
        str, typer.Argument(help="One SELECT (DuckDB) [every figure of every run, with the run].")
    ] = "",
    root: Root = None,
) -> None:
    """Write figures of all runs, or the answer of a SELECT, as CSV, JSON or Parquet."""
    rows = export(root_of(root), sql or ALL_FIGURES, file, warn, beside=[PLATFORMS])
    warn(f"{file}: {rows} row{'' if rows == 1 else 's'}")


@results_app.command("list")
def list_command(
    root: Root = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all runs, not only the newest 20.")
    ] = False,
) -> None:
    """List runs, the newest last: when, what, verdict, rates, the folder to show."""
    below = root_of(root)
    runs = list(runs_below(below))
    shown = runs if everything else runs[-MOST_LISTED:]
    show_list(output_console(), [(place_at(below, folder), run) for folder, run in shown])
    tell_changes(shown)
    more = f", the newest {len(shown)} shown (--all)" if len(shown) < len(runs) else ""
    warn(f"{len(runs)} run{'' if len(runs) == 1 else 's'} below {below}{more}")


@results_app.command("show")
def show_command(
    run: Annotated[str, typer.Argument(help="Run folder, id of a run or its beginning, or: last.")],
    root: Root = None,
) -> None:
    """Show one run: verdict, rates by function, slowest ranks, checks, environment."""
    for folder, one in find_runs(run, root):
        show_run(output_console(), one, changes_of(folder, one, whole=True))


@results_app.command("import")
def import_command(
    files: Annotated[
        list[Path], typer.Argument(help="Outputs of IOR, mdtest, fio, elbencho or io500.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the run folders [imported in weir-results]", show_default=False
        ),
    ] = None,
    label: Annotated[str, typer.Option(help="Label of the runs instead of their own.")] = "",
) -> None:
    """Make run folders of the outputs of other benchmarks, to compare with Weir's own runs.

    The program is recognized by the content: IOR (text, or summaryFormat=JSON), mdtest, fio
    (--output-format=json), elbencho (its table, or --csvfile), io500 (result_summary.txt,
    result.txt). A file may be the log of a job with several outputs. The same content is imported
    once.
    """
    from weir.importing.recognition import read  # noqa: PLC0415 (other commands need none of it)
    from weir.importing.run_folders import write  # noqa: PLC0415

    below = output if output is not None else DEFAULT_ROOT / "imported"
    recordings = [read(file) for file in files]
    for one in recordings:
        written = write(one, below, label)
        for folder in written.folders:
            run = load_run(folder)
            state = "" if written.is_new else ", imported before"
            typer.echo(f"{folder}: {run.workload}, {run.label}{state}")
            for text in run.warnings if written.is_new else []:
                warn(f"{folder}: {text}")


@results_app.command("add")
def add_command(
    folders: Annotated[
        list[Path], typer.Argument(help="Run folders, or folders with run folders at any depth.")
    ],
    store: Store = DEFAULT_STORE,
    copy: Annotated[
        bool, typer.Option("--copy", help="Also copy the run folders into the store.")
    ] = False,
) -> None:
    """Record runs in a store, with the SHA-256 of their files; the folders stay as they are.

    list, query, show and compare take the store as --root, and weir report makes a page over all
    of its runs. weir results check says what was changed since. Several processes may add runs at
    the same time.
    """
    for given in folders:
        found = run_folders_at(given)
        if not found:
            raise ResultError(f"{given} has no run.json: give a run folder, or one above it")
        for folder in found:
            added = stores.add(store, folder, copy=copy)
            state = "added" if added.is_new else "added before, unchanged"
            typer.echo(f"{folder}: {added.entry.run_id}, {state}")
            for text in added.changes:
                warn(f"{folder}: {text}")


@results_app.command("check")
def check_command(store: Store = DEFAULT_STORE) -> None:
    """Name each file of the store's runs that was changed since it was added.

    The exit status is 1 if there is one. The last line is one hash of all runs in the store: keep
    it elsewhere, and it shows whether the store itself was changed.
    """
    if not stores.is_store(store):
        raise ResultError(f"{store} is not a store: weir results add makes one")
    runs = changed = 0
    for entry in stores.entries_of(store):
        lines = [*stores.changes_since(store, entry)]
        runs, changed = runs + 1, changed + bool(lines)
        for line in lines:
            typer.echo(line)
    typer.echo(f"{runs} runs, {changed} changed; all hashes: {stores.digest_of(store)}")
    if changed:
        raise typer.Exit(1)


@results_app.command("compare")
def compare_command(
    first: Annotated[
        str, typer.Argument(help="Run folder, folder with run folders, or id of a run.")
    ],
    second: Annotated[
        str, typer.Argument(help="Run folder, folder or id to compare with the first.")
    ],
    root: Root = None,
) -> None:
    """Compare two runs, or two folders run by run: medians, ratio, intervals, what differed."""
    left, right = (find_runs(one, root) for one in (first, second))
    tell_changes(dict([*left, *right]).items())
    pairs, alone = pair_by_label([run for _, run in left], [run for _, run in right])
    if not pairs:
        raise ResultError(f"{first} and {second} have no run with the same label")
    for before, after in pairs:
        show_comparison(output_console(), compare(before, after))
    if alone:
        warn(f"not compared, because only one side has them: {', '.join(alone)}")


def _without_long_columns(answer: Answer, sql: str) -> Answer:
    """Removes from the result of ``*`` the columns with pages of text; named columns remain."""
    if not re.search(r"(?i)(select|,|\.)\s*\*", sql):
        return answer
    left_out = {name for name in answer.columns if name in LONG_COLUMNS and name not in sql}
    if not left_out:
        return answer
    names = ", ".join(name for name in answer.columns if name in left_out)
    warn(f"columns left out of *: {names}; select them by name, or use --json or --csv")
    kept = [place for place, name in enumerate(answer.columns) if name not in left_out]
    return Answer(
        [answer.columns[place] for place in kept],
        [tuple(row[place] for place in kept) for row in answer.rows],
    )


def _print_json(answer: Answer) -> None:
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    typer.echo(json.dumps(rows, indent=1, default=str))


def _print_table(answer: Answer) -> None:
    table = Table(box=None, header_style="bold", padding=(0, 1), pad_edge=False)
    for place, name in enumerate(answer.columns):
        numeric = all(isinstance(row[place], int | float) for row in answer.rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in answer.rows:
        table.add_row(*(_cell(value) for value in row))
    console = output_console()
    if console.is_terminal and natural_width(console, table) > console.width:
        _print_upright(answer, console)
    else:
        console.print(table, markup=False, highlight=False)
    count = len(answer.rows)
    typer.echo(f"{count} row{'' if count == 1 else 's'}", err=True)


def _print_upright(answer: Answer, console: Console) -> None:
    """Prints one line for each cell, if the terminal is narrower than the table."""
    longest = max(len(name) for name in answer.columns)
    for number, row in enumerate(answer.rows, 1):
        console.print(f"-- row {number}", style="bold", markup=False, highlight=False)
        for name, value in zip(answer.columns, row, strict=True):
            line = f"{name:<{longest}}  {_cell(value)}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"
    return str(value)


results_app.command("findings")(findings_command)
results_app.command("history")(history_command)
results_app.command("machines")(machines_command)


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.add_typer(results_app, name="results")
