"""Options of ``weir bench`` that say why a run is made: they become ``purpose`` of its result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, get_args

import typer

from weir.bench.errors import USAGE, BenchError
from weir.results.purpose import Goal, Purpose

GoalText = Annotated[str, typer.Option("--goal")]
MotivationText = Annotated[str, typer.Option("--motivation")]
ExpectsText = Annotated[str, typer.Option("--expects")]
NoteText = Annotated[str, typer.Option("--note")]
Follows = Annotated[list[str] | None, typer.Option("--follows")]


def given_purpose(
    goal: str, motivation: str, expects: str, note: str, follows: Sequence[str]
) -> Purpose | None:
    """Returns what was said of why the run is made; None if nothing was.

    ``follows`` names runs as everywhere: by folder, by id, or as the last. Their ids are kept.
    """
    goals: dict[str, Goal] = {name: name for name in get_args(Goal)}
    if goal and goal not in goals:
        raise BenchError(f"--goal {goal}: give one of {', '.join(goals)}", USAGE)
    purpose = Purpose(
        goal=goals.get(goal),
        motivation=motivation,
        expects=expects,
        note=note,
        follows=_ids_of(follows),
    )
    return None if purpose == Purpose() else purpose


def _ids_of(runs: Sequence[str]) -> list[str]:
    # Imported here because most runs follow none that is named.
    from weir.commands.find_runs import find_runs  # noqa: PLC0415

    return [*dict.fromkeys(run.id for text in runs for _, run in find_runs(text, None))]


def purpose_table(purpose: Purpose) -> str:
    """Returns the table ``[[purpose]]`` of a campaign whose runs all have this purpose."""
    given = purpose.model_dump(exclude_defaults=True)
    lines = (f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in given.items())
    return "\n".join(["", "[[purpose]]", *lines]) + "\n"


def purpose_words(purpose: Purpose) -> list[str]:
    """Returns the options that say so again."""
    given = purpose.model_dump(exclude_defaults=True, exclude={"follows"})
    words = [f"--{name}={value}" for name, value in given.items()]
    return words + [f"--follows={run}" for run in purpose.follows]
