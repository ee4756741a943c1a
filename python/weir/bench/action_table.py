"""Prints the table of ``weir bench metadata``: each action's expected rate and the rate reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from weir.results.action_expectations import ActionVerdict, ExpectedAction
from weir.results.quantities import percent_text, significant
from weir.results.record import VerdictWord
from weir.results.schema import Run


def show_expected_actions(
    console: Console, expected: Sequence[ExpectedAction], labels: Sequence[str]
) -> None:
    """Prints a line per action; for an action without an expectation it says why."""
    console.print(
        f"\n[bold]Expected operations per second[/bold] for {escape(', '.join(labels))}",
        highlight=False,
    )
    table = _table("action", "expected", "interval", "limited by")
    reasons: dict[str, list[str]] = {}
    for one in expected:
        value, low, high = one.expected_per_second, one.low_per_second, one.high_per_second
        if value is None or low is None or high is None:
            table.add_row(one.action, "none", "", "")
        else:
            interval = f"{significant(low)} to {significant(high)}"
            table.add_row(one.action, significant(value), interval, escape(one.limiting_stage))
        reasons.setdefault(one.how, []).append(one.action)
    console.print(table)
    for how, actions in reasons.items():
        console.print(f"  {', '.join(actions)}: {escape(how)}", style="dim", highlight=False)


def add_verdict_rows(
    table: Table, run: Run, colours: Mapping[VerdictWord, str], between: Sequence[str]
) -> list[tuple[str, str]]:
    """Adds the rows of a run's actions; returns the texts about their software's share.

    ``between`` are the cells before the verdict, in columns that do not apply to actions.
    """
    judged = {one.action: one for one in run.verdict.metadata} if run.verdict else {}
    said = []
    for result in run.metadata:
        headline = next(one for one in result.rates if one.headline)
        per_second = f"{significant(headline.median_per_second)}/s"
        verdict = judged.get(result.action)
        row = ["", "", ""] if verdict is None else _judged(verdict, colours)
        table.add_row(escape(run.label), result.action, per_second, *row[:-1], *between, row[-1])
        if verdict is not None and verdict.expected_per_second is not None:
            said.append((result.action, software_text(verdict)))
    return said


def _judged(verdict: ActionVerdict, colours: Mapping[VerdictWord, str]) -> list[str]:
    text = f"[{colours[verdict.verdict]}]{escape(verdict.text)}[/]"
    if verdict.expected_per_second is None or verdict.ratio is None:
        return ["none", "", text]
    return [f"{significant(verdict.expected_per_second)}/s", f"{verdict.ratio:.2f}", text]


def software_text(verdict: ActionVerdict) -> str:
    """Returns ``74 % software: …``, or why the share is unknown."""
    if verdict.software_fraction is None:
        return f"software's share not known: {verdict.software}"
    return f"{percent_text(verdict.software_fraction)} software: {verdict.software}"


def show_software(console: Console, said: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Prints, for each run, the share of each action's time that is software."""
    for label, actions in said.items():
        if not actions:
            continue
        console.print(f"\nOf the time of one operation, {escape(label)}:", highlight=False)
        grouped: dict[str, list[str]] = {}
        for action, text in actions:
            grouped.setdefault(text, []).append(action)
        for text, names in grouped.items():
            console.print(f"  {', '.join(names)}: {escape(text)}", highlight=False)


def _table(*names: str) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2), pad_edge=True)
    for name in names:
        table.add_column(name, justify="right" if name == "expected" else "left")
    return table
