"""Shows how far a job is: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Step = TypeVar("Step")


class State(NamedTuple):
    """What is shown of a step."""

    place: Hashable
    """Without a terminal, one line is printed for each place."""
    line: str
    done: int
    planned: int
    at: str
    """What stands beside the bar."""


@contextmanager
def progress_display(
    console: Console, state_of: Callable[[Step], State], *, counted: bool = True
) -> Iterator[Callable[[Step], None]]:
    """Yields the function that shows a step; ``counted`` steps have their number beside the bar."""
    if not console.is_terminal:
        told: set[Hashable] = set()

        def print_line(step: Step) -> None:
            state = state_of(step)
            if state.place not in told:
                told.add(state.place)
                console.print(f"  {state.line}", highlight=False, markup=False)

        yield print_line
        return
    number = [MofNCompleteColumn()] if counted else []
    columns = (
        BarColumn(),
        *number,
        TimeElapsedColumn(),
        TextColumn("{task.fields[at]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("steps", total=None, at="")

        def move_bar(step: Step) -> None:
            state = state_of(step)
            total = max(state.planned, state.done)
            bar.update(task, completed=state.done, total=total, at=state.at)

        yield move_bar
