"""Transcripts of ``weir sim``: commands and what they print, in ``transcripts.txt``.

usage: transcripts.py   rewrites the file with what the commands print now

A change of prediction shows as a change of that file. Simulated times are exact, so texts are
compared exactly.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).parent / "transcripts.txt"
PROMPT = "$ "
SECONDS = 120


def read_transcripts(text: str) -> dict[str, str]:
    """Returns what each command printed."""
    found: dict[str, str] = {}
    command = ""
    for line in text.splitlines():
        if line.startswith(PROMPT):
            command = line.removeprefix(PROMPT)
            found[command] = ""
        elif command:
            found[command] += line + "\n"
    return {one: printed.strip("\n") + "\n" for one, printed in found.items()}


def run(command: str) -> str:
    """Returns what a command prints now, without spaces at the ends of lines."""
    words = shlex.split(command)
    assert words[0] == "weir", command
    done = subprocess.run(
        [sys.executable, "-m", "weir.cli", *words[1:]],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n") + "\n"


def main() -> None:
    commands = list(read_transcripts(FILE.read_text()))
    FILE.write_text("\n".join(f"{PROMPT}{one}\n{run(one)}" for one in commands))


if __name__ == "__main__":
    main()
