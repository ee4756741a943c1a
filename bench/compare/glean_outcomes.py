"""What simulations reach of what is asked, kept in a file between runs if there is one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

from weir.results.folder import write_atomically
from weir.results.platform import Platform
from weir.results.record import NonNegative, Record
from weir.sim.job import Asked
from weir.sim.program import Limit, simulate


class Reached(Record):
    """What judgements and pictures need of the outcome of a simulation."""

    seconds: NonNegative
    bytes_per_second: NonNegative
    limit: Limit


Simulate = Callable[[Asked], Reached]


def words_of(asked: Asked) -> str:
    """Returns what is asked as words of ``weir sim``, without what it takes by itself."""
    usual = {field.name: field.default for field in fields(Asked)}
    given = [
        f"--{field.name} {getattr(asked, field.name)}"
        for field in fields(Asked)
        if field.name != "workload" and getattr(asked, field.name) != usual[field.name]
    ]
    return " ".join([asked.workload, *given])


class Outcomes:
    """Simulates once for each question, and not for those whose answer is in the file."""

    def __init__(self, file: Path | None, platform: Platform | None) -> None:
        """Without a ``platform``, every answer has to be in the file."""
        self._file = file
        self._platform = platform
        self._known: dict[str, Reached] = {}
        if file is not None and file.exists():
            told = json.loads(file.read_text(encoding="utf-8"))
            self._known = {words: Reached.model_validate(one) for words, one in told.items()}

    def __call__(self, asked: Asked) -> Reached:
        words = words_of(asked)
        if words not in self._known:
            if self._platform is None:
                raise KeyError(words)
            outcome = simulate(self._platform, asked)
            self._known[words] = Reached(
                seconds=outcome.seconds,
                bytes_per_second=outcome.bytes_per_second,
                limit=outcome.limit,
            )
            self._keep()
        return self._known[words]

    def _keep(self) -> None:
        if self._file is None:
            return
        lines = [
            f"{json.dumps(words)}: {one.model_dump_json()}"
            for words, one in sorted(self._known.items())
        ]
        write_atomically(self._file, "{\n" + ",\n".join(lines) + "\n}\n")
