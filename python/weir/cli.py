"""The command ``weir``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from weir import __version__
from weir.bench.errors import FAILED, INTERRUPTED, BenchError
from weir.commands.terminal import warn
from weir.errors import Error

# Some versions of Typer contain their own Click and others import the installed one. Its classes
# are therefore reached through names that Typer exports in every version.
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]

_MODULES = {
    "bench": "bench",
    "predict": "bench",
    "sim": "sim",
    "campaign": "campaign",
    "next": "next_test",
    "explore": "explore",
    "report": "report",
    "check": "check",
    "ls": "list_arrays",
    "convert": "convert",
    "truncate": "truncate",
    "monitor": "monitor",
    "run": "run",
    "record": "record",
    "stage": "stage",
    "manual": "manual",
    "results": "results",
    "platform": "platform",
}
"""Module below ``weir.commands`` that declares each command. Importing all takes a second."""
_LISTS_COMMANDS = {"manual"}


def application(words: Sequence[str] = ()) -> typer.Typer:
    """Returns the command line with the command that the first word names, or with all.

    With nothing but --version it has none: the version is told at once.
    """
    app = typer.Typer(
        invoke_without_command=True,
        add_completion=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(weir)
    first = words[0] if words else ""
    alone = first in _MODULES and first not in _LISTS_COMMANDS
    every = () if list(words) == ["--version"] else dict.fromkeys(_MODULES.values())
    for module in [_MODULES[first]] if alone else every:
        import_module(f"weir.commands.{module}").add_to(app)
    return app


def weir(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True)
    ] = False,
) -> None:
    """Measure the I/O of parallel programs and say which part of the path limits it."""
    if version:
        typer.echo(f"weir {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Runs the command line; every error that a user can cause ends as one line."""
    sys.exit(_run())


def _run() -> int:
    try:
        status = application(sys.argv[1:])(standalone_mode=False)
    except BenchError as error:
        if str(error):
            warn(str(error))
        return error.exit_status
    except Error as error:
        warn(str(error))
        return FAILED
    except (KeyboardInterrupt, typer.Abort):
        warn("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone; what is still buffered cannot be written either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except _USAGE_ERROR as error:
        return _usage_error(error)
    return status if isinstance(status, int) else 0


def _usage_error(error: Exception) -> int:
    message = getattr(error, "format_message", lambda: str(error))().rstrip(".")
    context = getattr(error, "ctx", None)
    if message:
        help_at = "weir" if context is None else context.command_path
        warn(f"{message}: {help_at} --help says what can be given")
    return int(getattr(error, "exit_code", FAILED))


if __name__ == "__main__":
    main()
