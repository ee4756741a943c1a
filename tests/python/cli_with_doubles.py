"""weir started in a folder of its own, with doubles for weir-bench and the launcher.

The doubles handle processes and files and measure nothing; see doubles/.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from weir_process import WeirProcess

DOUBLES = Path(__file__).parent / "doubles"
DEADLINE_SECONDS = 120

WORDS = ("madbench", "2000", "8", "1", "32", "4096", "1", "1")
"""A benchmark of two configurations, for which the double has answers."""


class Cli:
    """Runs weir's commands with the doubles in place."""

    def __init__(self, folder: Path, answers: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if "WEIR" not in name},
            "WEIR_BENCH": str(DOUBLES / "weir_bench_double.py"),
            "WEIR_LAUNCHER": f"{DOUBLES}/launcher_double.sh -n 4",
            "DOUBLE_FILES": str(folder),
            "DOUBLE_ANSWERS": str(answers),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }

    def start(self, *words: str, ending: str = "complete") -> WeirProcess:
        return WeirProcess(
            words, cwd=self.folder, env={**self.environment, "DOUBLE_ENDING": ending}
        )

    def run(self, *words: str, ending: str = "complete") -> tuple[int, str, str]:
        with self.start(*words, ending=ending) as child:
            out, err = child.communicate(timeout=DEADLINE_SECONDS)
            return child.wait(0), out, err
