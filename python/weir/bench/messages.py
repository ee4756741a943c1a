"""What weir-bench and its launcher say on standard error while they run.

weir-bench writes progress as one JSON object per line and everything for people as plain lines
that begin with its name. Launchers add notices of their own, framed by lines of dashes. Those are
kept, and shown only when the job failed and weir-bench itself gave no reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import ValidationError

from weir.bench.program import PROGRAM
from weir.results.record import Record

LINES_KEPT = 2000


class Progress(Record):
    """One step of the job's repetitions."""

    label: str
    repetition: int
    warmup: bool
    repetitions_done: int
    repetitions_planned: int
    """At least so many; more where the median is not known then."""
    repetitions_most: int = 0
    """At most so many; 0 where that is not told."""
    ended: bool = False
    """After the last repetition."""
    text: str


class ProgressLine(Record):
    """A line of progress as weir-bench writes it."""

    progress: Progress


@dataclass
class StandardError:
    """Sorts the lines of one job's standard error."""

    on_progress: Callable[[Progress], None]
    on_line: Callable[[str], None]
    told: list[str] = field(default_factory=list)
    """What weir-bench said for people, without its name in front."""
    notices: list[str] = field(default_factory=list)
    """What the launcher said, or a program that it started, outside weir-bench's own lines."""
    framed: list[str] = field(default_factory=list)
    """Of the notices those between lines of dashes."""
    in_frame: bool = False

    def line(self, text: str) -> None:
        """Take one line."""
        if text.startswith('{"progress"'):
            try:
                self.on_progress(ProgressLine.model_validate_json(text).progress)
            except ValidationError:
                self._tell(text)
        elif text.startswith(f"{PROGRAM}: results in "):
            return  # weir says so itself, when it has finalized them
        elif text.startswith(f"{PROGRAM}: "):
            self._tell(text.removeprefix(f"{PROGRAM}: "))
        elif text.startswith("-----"):
            self.in_frame = not self.in_frame
        elif text.strip() and len(self.notices) < LINES_KEPT:
            self.notices.append(text)
            if self.in_frame:
                self.framed.append(text.strip())

    def _tell(self, text: str) -> None:
        self.told.append(text)
        self.on_line(text)

    def reason(self) -> str | None:
        """Why the job failed: weir-bench's last line, else the launcher's notice of a signal."""
        if self.told:
            return self.told[-1]
        of_signals = [line for line in self.framed if "signal" in line]
        return next(iter([*of_signals, *self.framed, *self.notices]), None)

    def text(self) -> str:
        """Everything but progress, for a file."""
        return "".join(f"{line}\n" for line in [*self.told, *self.notices])
