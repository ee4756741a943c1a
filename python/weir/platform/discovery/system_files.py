"""Values of files of /sys and /proc as ``grep -H .`` prints them: ``PATH:LINE``."""

from __future__ import annotations

from weir.platform.discovery.texts import Text, excerpt


def read_values(text: Text) -> dict[str, tuple[int, str]]:
    """Returns each file's first line, with its number in the text."""
    values: dict[str, tuple[int, str]] = {}
    for number, line in text.lines():
        if not line or line.startswith("#"):
            continue
        path, separator, value = line.partition(":")
        # Names of devices such as 0000:00:02.0 are not recorded, so the first colon ends the path.
        if not separator or not path.startswith("/"):
            raise text.fault(
                number, f"is not PATH:VALUE: '{excerpt(line)}'", "record it again with grep -H ."
            )
        values.setdefault(path, (number, value.strip()))
    return values
