"""``weir manual``: makes man pages from the text of ``--help``, which comes from declarations."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from weir import __version__
from weir.bench.errors import FAILED, BenchError
from weir.bench.program import find_program, help_text
from weir.commands.bench import help_of
from weir.commands.completion import workloads
from weir.commands.terminal import output_console

DEFAULT_FOLDER = Path.home() / ".local" / "share" / "man" / "man1"
PASSING = ("bench", "predict")
"""Commands that print their own help text."""


def manual_command(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(help="Folder for the pages; man searches the default.")
    ] = DEFAULT_FOLDER,
) -> None:
    """Write man pages: weir, each of its commands, and each workload of weir-bench."""
    pages = manual_pages(context.find_root().command)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (folder / f"{name}.1").write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"{folder}: the pages cannot be written: {error.strerror}"
        raise BenchError(message, FAILED) from None
    output_console().print(
        f"{len(pages)} pages are in {folder}; begin with: man weir", highlight=False
    )


def manual_pages(root: Any) -> dict[str, str]:
    """Returns every page by its name, without ``.1``."""
    pages: dict[str, str] = {}
    _add_command(pages, root, ["weir"], None)
    try:
        program = find_program(os.environ)
    except BenchError:
        return pages
    names = workloads(help_text(program, []))
    for workload, said in names.items():
        name = f"weir-bench-{workload}"
        pages[name] = page(name, said, help_text(program, [workload]), ["weir-bench", "weir"])
    beside = ["weir", *(f"weir-bench-{workload}" for workload in names)]
    # The pages of `weir bench` and of the program weir-bench have the same name, so one has both.
    of_program = page("weir-bench", "", help_text(program, []), beside)
    pages["weir-bench"] += ".SH THE PROGRAM WEIR-BENCH" + of_program.partition(".SH DESCRIPTION")[2]
    return pages


def _add_command(pages: dict[str, str], command: Any, words: list[str], parent: Any) -> None:
    name = "-".join(words)
    context = command.make_context(
        words[-1], [], parent=parent, resilient_parsing=True, terminal_width=76
    )
    below = getattr(command, "commands", {})
    said = (command.help or "").strip().splitlines()
    text = help_of(words[-1]) if words[-1] in PASSING else command.get_help(context)
    beside = [f"{name}-{one}" for one in below] or ["weir"]
    pages[name] = page(name, said[0].rstrip(".") if said else name, text, beside)
    for one, inner in below.items():
        _add_command(pages, inner, [*words, one], context)


def page(name: str, said: str, text: str, beside: list[str]) -> str:
    """Returns one page in the macros of man(7), with the help as it is printed."""
    return "\n".join(
        [
            f'.TH "{name.upper()}" 1 "" "Weir {__version__}" "Weir"',
            ".SH NAME",
            escaped(f"{name} - {said}"),
            ".SH DESCRIPTION",
            ".nf",
            escaped(text.rstrip()),
            ".fi",
            ".SH SEE ALSO",
            escaped(", ".join(f"{other}(1)" for other in beside)),
            "",
        ]
    )


def escaped(text: str) -> str:
    """Returns the text with all roff requests and escapes quoted."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("manual")(manual_command)
