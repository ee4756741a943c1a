"""Parses what weir-bench and its launcher print on standard error while they run.

weir-bench writes progress as one JSON object per line, and messages for people as plain lines that
begin with its name. Launchers add notices of their own, framed by lines of dashes. These are kept,
and shown only if the job failed and weir-bench itself gave no reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import ValidationError

from weir.bench.program import PROGRAM
from weir.results.record import Record

LINES_KEPT = 2000


class Progress(Record):
    """Progress through the job's repetitions."""

    label: str
    repetition: int
    warmup: bool
    repetitions_done: int
    repetitions_planned: int
    """Least number of repetitions; more are made if the median is not precise enough then."""
    repetitions_most: int = 0
    """Greatest number of repetitions; 0 if unknown."""
    ended: bool = False
    """Whether the last repetition has ended."""
    text: str


class ProgressLine(Record):
    """A line of progress in weir-bench's format."""

    progress: Progress


@dataclass
class StandardError:
    """Sorts the lines of one job's standard error by origin."""

    on_progress: Callable[[Progress], None]
    on_line: Callable[[str], None]
    told: list[str] = field(default_factory=list)
    """Messages of weir-bench for people, without its name in front."""
    notices: list[str] = field(default_factory=list)
    """Messages of the launcher, or of programs that it started, other than weir-bench's."""
    framed: list[str] = field(default_factory=list)
    """The subset of the notices that was between lines of dashes."""
    in_frame: bool = False

    def line(self, text: str) -> None:
        """Processes one line."""
        if text.startswith('{"progress"'):
            try:
                self.on_progress(ProgressLine.model_validate_json(text).progress)
            except ValidationError:
                self._tell(text)
        elif text.startswith(f"{PROGRAM}: results in "):
            return  # weir prints this itself after finalizing the runs.
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
        """Returns everything but progress, for a file."""
        return "".join(f"{line}\n" for line in [*self.told, *self.notices])
