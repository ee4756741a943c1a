"""Recorded texts, which may be cut, damaged or hostile: sizes are checked before contents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from weir.errors import Error

MOST_LINE_CHARACTERS = 1 << 20
EXCERPT_CHARACTERS = 40
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Characters that no recorded text has, and that would control the terminal."""


class DiscoveryError(Error):
    """Says what is wrong in which line of which file, and what to do."""


@dataclass(frozen=True)
class Text:
    """The contents of a file, with the name that errors give it."""

    name: str
    content: str

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yields each line with its number, which begins at 1."""
        for number, line in enumerate(self.content.split("\n"), 1):
            if len(line) > MOST_LINE_CHARACTERS:
                raise self.fault(
                    number, f"has more than {MOST_LINE_CHARACTERS} characters", "record it again"
                )
            yield number, line.removesuffix("\r")

    def fault(self, line: int, what: str, remedy: str) -> DiscoveryError:
        """Returns the error that a line of this text is; ``what`` continues "line N"."""
        return DiscoveryError(f"{self.name}, line {line} {what}: {remedy}")


def read_text(path: Path, most_bytes: int) -> Text | None:
    """Returns a file's text, or None if there is no file; raises DiscoveryError if it is unfit."""
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DiscoveryError(
            f"{path} cannot be read ({error.strerror}): make it a readable file"
        ) from None
    if len(content) > most_bytes:
        raise DiscoveryError(
            f"{path} has more than {most_bytes} bytes: leave it out, or record it again"
        )
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DiscoveryError(f"{path}, line {line} is not UTF-8: record it again") from None
    control = _CONTROL.search(text)
    if control is not None:
        line = text.count("\n", 0, control.start()) + 1
        raise DiscoveryError(f"{path}, line {line} has control characters: record it again")
    return Text(str(path), text)


def excerpt(text: str) -> str:
    """Returns the beginning of a text for an error."""
    shown = text[:EXCERPT_CHARACTERS].expandtabs(1)
    return shown + ("…" if len(text) > EXCERPT_CHARACTERS else "")
