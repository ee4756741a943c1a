"""Adds a step to each file whose path it reads from its input: test_lost_writes.py starts it.

For each line, a path and the arrays that get numbers in the step, it writes one: the steps that the
file has then, or "error" and the reason.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import weir

SHAPES = {"density": (24, 30), "count": (7, 5)}
ANSWER_SECONDS = 60


def append(session: weir.Session, path: str, names: list[str]) -> int:
    with session.open_file(path) as file:
        step = file.steps
        with file.step():
            for name in names:
                shape = SHAPES[name]
                distributed = session.distribution(shape, "BLOCK, *")
                numbers = np.arange(np.prod(shape)).reshape(shape) + 1 + 1000 * step
                file[name].write(distributed, numbers.astype(file[name].dtype))
        return file.steps


class Appender:
    """The program, as another one uses it: it is asked for one file after the other."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._program = subprocess.Popen(
            [sys.executable, __file__], env=environment, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip

    def append(self, path: Path, names: Iterable[str] = SHAPES) -> int:
        """The steps that the file then has."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        late = threading.Timer(ANSWER_SECONDS, self._program.kill)
        late.start()
        try:
            self._program.stdin.write("\t".join([str(path), *names]) + "\n")
            self._program.stdin.flush()
            answer = self._program.stdout.readline().strip()
        finally:
            late.cancel()
        assert answer.isdigit(), answer or "it ended, or did not answer in time"
        return int(answer)

    def close(self) -> None:
        self._program.communicate(timeout=ANSWER_SECONDS)
        assert self._program.returncode == 0


def main() -> None:
    from mpi4py import MPI  # noqa: PLC0415 not in the test that starts this program

    with weir.Session(MPI.COMM_SELF) as session:
        for line in sys.stdin:
            try:
                path, *names = line.strip().split("\t")
                answer = str(append(session, path, names))
            except weir.Error as error:
                answer = f"error {error}"
            sys.stdout.write(answer.replace("\n", " ") + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
