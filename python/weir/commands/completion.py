"""Shell completion for ``weir bench`` and ``weir predict``: workloads, then their options.

Weir's own options come from Typer's declarations. Those of weir-bench come from its ``--help``,
which is made from the declarations of its settings. ``weir --install-completion`` installs
completion.
"""

from __future__ import annotations

import os
import re
from typing import Any

from weir.bench.errors import BenchError
from weir.bench.program import find_program, help_text
from weir.commands.job_options import MonitoringCommand

WORKLOAD = re.compile(r"^  (\w+)  +(\S.*)$", re.MULTILINE)
OPTION = re.compile(r"^  (?:-\w,)?--(\[no-\])?([\w-]+)(?:,--([\w-]+))?(?: \S+)?(?:  +(\S.*))?$")
DESCRIPTION = " " * 30


def workloads(text: str) -> dict[str, str]:
    """Returns the name and description of each workload in the help of weir-bench."""
    return dict(WORKLOAD.findall(text))


def options(text: str) -> dict[str, str]:
    """Returns each long option in a workload's help with its description."""
    found: dict[str, str] = {}
    name = None
    for line in text.splitlines():
        if line.startswith(DESCRIPTION) and name is not None:
            found[name] = f"{found[name]} {line.strip()}".lstrip()
        elif match := OPTION.match(line):
            has_negation, word, negation, said = match.groups()
            name = f"--{word}"
            found[name] = said or ""
            if has_negation or negation:
                found[f"--{negation or f'no-{word}'}"] = f"not {name}"
        else:
            name = None
    return found


class PassingCommand(MonitoringCommand):
    """A command that passes unknown words to weir-bench, and also completes weir-bench's words."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        own = super().shell_complete(ctx, incomplete)
        kinds = {type(item) for item in super().shell_complete(ctx, "--")}
        named = [word for word in ctx.args if not word.startswith("-")]
        try:
            program = find_program(os.environ)
            if not named:
                more = workloads(help_text(program, []))
            elif incomplete.startswith("-"):
                more = options(help_text(program, named[:1]))
            else:
                more = {}
        except BenchError:
            more = {}
        given = {item.value for item in own}
        return own + [
            kind(name, help=said)
            for kind in kinds
            for name, said in more.items()
            if name.startswith(incomplete) and name not in given
        ]
