"""The commands ``slow processors`` and ``slow calls``."""

from __future__ import annotations

import argparse

from testbed.errors import USAGE, TestbedError
from testbed.slow import slow_calls, slow_processors


def add(parsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declares the commands."""
    text = "run a command with less of the processors: copies in memory and calls get slower"
    processors = parsers.add_parser("processors", help=text, description=text)
    processors.add_argument(
        "--percent", type=float, required=True, help="of the time of all processors together"
    )
    processors.set_defaults(act=_slow_processors)

    text = (
        "run a command with a fixed time added to each read, write, pread, pwrite and their "
        "vector forms on files; io_uring, mapped memory and static programs are not slowed"
    )
    calls = parsers.add_parser(
        "calls", help="run a command with slower I/O calls", description=text
    )
    calls.add_argument("--microseconds", type=float, required=True, help="added to each call")
    calls.set_defaults(act=_slow_calls)

    for parser in (processors, calls):
        parser.add_argument("command", nargs=argparse.REMAINDER, help="-- COMMAND [WORD...]")
        parser.set_defaults(is_exclusive=False)


def _slow_processors(arguments: argparse.Namespace) -> int:
    return slow_processors(arguments.percent, command_of(arguments))


def _slow_calls(arguments: argparse.Namespace) -> int:
    return slow_calls(arguments.microseconds, command_of(arguments))


def command_of(arguments: argparse.Namespace) -> list[str]:
    """Returns the command after ``--``; raises an error if there is none."""
    command = [word for number, word in enumerate(arguments.command) if number or word != "--"]
    if not command:
        raise TestbedError("no command given; write it after --", USAGE)
    return command
