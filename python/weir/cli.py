"""The command ``weir``."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from weir import __version__
from weir._core.shared_library import LibraryError
from weir.bench.errors import FAILED, INTERRUPTED, BenchError
from weir.commands.bench import PASSING, bench_command, predict_command
from weir.commands.campaign import campaign_command
from weir.commands.check import check_command
from weir.commands.completion import PassingCommand
from weir.commands.convert import convert_command
from weir.commands.list_arrays import list_command
from weir.commands.manual import manual_command
from weir.commands.platform import platform_app
from weir.commands.platform_fit import fit_command
from weir.commands.report import report_command
from weir.commands.results import results_app
from weir.commands.run import THRESHOLDS_TEXT, run_command
from weir.commands.terminal import warn
from weir.commands.truncate import truncate_command
from weir.results.errors import ResultError

# Typer carries a Click of its own or imports the installed one, by version: its classes are
# reached through what Typer exports in every version.
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    invoke_without_command=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("bench", cls=PassingCommand, context_settings=PASSING)(bench_command)
app.command("predict", cls=PassingCommand, context_settings=PASSING)(predict_command)
app.command("campaign")(campaign_command)
app.command("report")(report_command)
app.command("check")(check_command)
app.command("ls")(list_command)
app.command("convert")(convert_command)
app.command("truncate")(truncate_command)
app.command("run", epilog=THRESHOLDS_TEXT)(run_command)
app.command("manual")(manual_command)
app.add_typer(results_app, name="results")
platform_app.command("fit")(fit_command)
app.add_typer(platform_app, name="platform")


@app.callback()
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
    """Run the command line; every error a person can cause ends as one line."""
    sys.exit(_run())


def _run() -> int:
    try:
        status = app(standalone_mode=False)
    except BenchError as error:
        if str(error):
            warn(str(error))
        return error.exit_status
    except (ResultError, LibraryError) as error:
        warn(str(error))
        return FAILED
    except (KeyboardInterrupt, typer.Abort):
        warn("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; what is still buffered has nowhere to go either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except _USAGE_ERROR as error:
        return _usage_error(error)
    return status if isinstance(status, int) else 0


def _usage_error(error: Exception) -> int:
    message = getattr(error, "format_message", lambda: str(error))()
    if message:
        warn(message)
    return int(getattr(error, "exit_code", FAILED))


if __name__ == "__main__":
    main()
