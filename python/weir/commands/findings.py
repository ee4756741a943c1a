"""``weir results findings``: what runs say about the findings of MADbench2's study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from weir.analysis.findings import FOUND, NOT_FOUND, WORDS, Judgement
from weir.analysis.madbench_findings import judge
from weir.analysis.madbench_runs import observed
from weir.bench.tables import plain_table
from weir.commands.find_runs import Root, find_runs, tell_changes
from weir.commands.terminal import output_console
from weir.results.errors import ResultError
from weir.results.schema import Run

COLOURS = {FOUND: "green", NOT_FOUND: "yellow"}


def findings_command(
    results: Annotated[
        list[str], typer.Argument(help="Run folders, campaigns, or folders that have them.")
    ],
    root: Root = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a table in Markdown, without the rules.")
    ] = False,
) -> None:
    """Judge the findings of MADbench2's paper by runs of madbench: found, or not.

    Each finding is judged for each number of ranks, kind of file and direction that has results, by
    a 95 % interval; without results, or with too few, it cannot be decided. cases/madbench-*.toml
    make the results for all findings; docs/madbench.md has the rules.
    """
    found = _once([one for text in results for one in find_runs(text, root)])
    tell_changes(found)
    runs = observed((f"{folder.parent} {run.started_utc}", run) for folder, run in found)
    if not runs:
        raise ResultError(
            f"{', '.join(results)}: no complete run of the workload madbench is there; "
            "weir campaign cases/madbench-table1.toml makes some"
        )
    judgements = judge(runs)
    if markdown:
        for line in ("| where | finding | here | figures |", "|---|---|---|---|"):
            typer.echo(line)
        for one in judgements:
            typer.echo(one.row())
        return
    _show(output_console(), judgements, len(runs))


def _once(found: Sequence[tuple[Path, Run]]) -> list[tuple[Path, Run]]:
    """Returns each run once, although its folder was given twice."""
    return list({folder.resolve(): (folder, run) for folder, run in found}.values())


def _show(console: Console, judgements: Sequence[Judgement], runs: int) -> None:
    table = plain_table("=where", "=finding", "here", "=figures")
    for one in judgements:
        colour = COLOURS.get(one.word)
        word = f"[{colour}]{one.word}[/]" if colour else one.word
        table.add_row(escape(one.where), escape(one.finding), word, escape(one.figures))
    console.print(table)
    rules = dict.fromkeys((one.finding.partition(":")[0], one.rule) for one in judgements)
    for finding, rule in rules:
        if rule:
            console.print(f"{finding}: found if {rule}", highlight=False, markup=False)
    words = Counter(one.word for one in judgements)
    counted = ", ".join(f"{words[word]} {word}" for word in WORDS.values())
    console.print(f"{runs} runs: {counted}", highlight=False, markup=False)
