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
from weir.results.schema import Record

NOTICE_LINES_KEPT = 400


class Progress(Record):
    """One step of the job's repetitions."""

    label: str
    repetition: int
    warmup: bool
    repetitions_done: int
    repetitions_planned: int
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
    """What the launcher said."""
    in_notice: bool = False

    def line(self, text: str) -> None:
        """Take one line."""
        if text.startswith('{"progress"'):
            try:
                self.on_progress(ProgressLine.model_validate_json(text).progress)
            except ValidationError:
                self._tell(text)
            return
        if text.startswith("-----"):
            self.in_notice = not self.in_notice
        elif text.startswith(f"{PROGRAM}: "):
            self._tell(text.removeprefix(f"{PROGRAM}: "))
        elif text.strip() and (self.in_notice or len(self.notices) < NOTICE_LINES_KEPT):
            self.notices = [*self.notices[-NOTICE_LINES_KEPT:], text]

    def _tell(self, text: str) -> None:
        self.told.append(text)
        self.on_line(text)

    def reason(self) -> str | None:
        """The line that says why the job failed: weir-bench's last, else the launcher's first."""
        if self.told:
            return self.told[-1]
        return self.notices[0].strip() if self.notices else None
