"""Transcripts of ``weir sim``: commands and what they print, in ``transcripts.txt``.

usage: transcripts.py   rewrites the file with what the commands print now

A change of prediction shows as a change of that file. Simulated times are exact, so texts are
compared exactly.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from weir_process import WeirProcess

FILE = Path(__file__).parent / "transcripts.txt"
PROMPT = "$ "
OF_THE_LIBRARY = "--level library"
"""Commands with these words run weir-sim-library beside weir-sim."""
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


def recorded(*, of_the_library: bool) -> dict[str, str]:
    """Returns the transcripts of one of the simulators."""
    known = read_transcripts(FILE.read_text())
    return {one: text for one, text in known.items() if (OF_THE_LIBRARY in one) == of_the_library}


def weir(*words: str) -> tuple[int, str, str]:
    """Returns the exit status of ``weir WORDS``, and what it printed on both outputs."""
    environment = {**os.environ, "COLUMNS": "100"}
    with WeirProcess(words, cwd=Path.cwd(), env=environment) as process:
        printed, complaint = process.communicate(SECONDS)
        return process.wait(SECONDS), printed, complaint


def run(command: str) -> str:
    """Returns what a command prints now, without spaces at the ends of lines."""
    words = shlex.split(command)
    assert words[0] == "weir", command
    status, printed, complaint = weir(*words[1:])
    assert status == 0, f"{command}: {complaint}"
    return "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n") + "\n"


def main() -> None:
    commands = list(read_transcripts(FILE.read_text()))
    FILE.write_text("\n".join(f"{PROMPT}{one}\n{run(one)}" for one in commands))


if __name__ == "__main__":
    main()
