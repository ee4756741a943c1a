#!/usr/bin/env python3
"""Test double for process handling: speaks weir-bench's protocol and moves no bytes.

``DOUBLE_ENDING`` chooses how the workload ends: complete, usage, fails, hangs, ignores-signals,
killed; ``N:ENDING`` ends the Nth work that way and the others well. With ``DOUBLE_CALLS`` it adds
the words of each work to that file. It knows every setting but ``--unknown``. Its figures are test
data from the folder ``DOUBLE_ANSWERS`` (double_answers.py) and nothing measures anything here.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import TextIO

CONFIGURATIONS = {"posix-unique-sync": "POSIX UNIQUE SYNC", "mpi-shared-sync": "MPI SHARED SYNC"}
ANSWERS = Path(os.environ["DOUBLE_ANSWERS"])


def option(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def say(text: str, stream: TextIO = sys.stdout) -> None:
    stream.write(text + "\n")
    stream.flush()


def ending_of_this_work() -> str:
    if "DOUBLE_CALLS" not in os.environ:
        return os.environ.get("DOUBLE_ENDING", "complete")
    calls = Path(os.environ["DOUBLE_CALLS"])
    with calls.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(sys.argv[1:]) + "\n")
    number, separator, ending = os.environ.get("DOUBLE_ENDING", "complete").rpartition(":")
    count = len(calls.read_text(encoding="utf-8").splitlines())
    return ending if not separator or count == int(number) else "complete"


def work() -> None:
    ending = ending_of_this_work()
    output = Path(option("--output"))
    expected = json.loads(Path(option("--expectation")).read_text())
    for number, (slug, label) in enumerate(CONFIGURATIONS.items()):
        folder = output / slug
        shutil.copytree(ANSWERS / "runs" / slug, folder)
        record = json.loads((folder / "run.json").read_text()) | {"expectation": expected[slug]}
        record |= {"command": ["weir-bench", *sys.argv[1:]]}
        if ending != "complete":
            record |= {"status": "running", "finished_utc": None}
        (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n")
        step = {"label": label, "repetition": 1, "warmup": False, "text": f"{label}: repetition 1"}
        step |= {"repetitions_done": number + 1, "repetitions_planned": 2}
        say(json.dumps({"progress": step}), sys.stderr)
        say(f"{label}: text for standard output")
    if ending == "complete":
        return
    left = Path(os.environ["DOUBLE_FILES"]) / "weir-double-0"
    left.write_bytes(b"test file")
    (output / "files.json").write_text(json.dumps([str(left)]))
    if ending == "fails":
        say("weir-bench: failed: rank 1: write: No space left on device", sys.stderr)
        sys.exit(1)
    if ending == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if ending == "ignores-signals":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    (output / "hanging").touch()
    time.sleep(600)


def main() -> None:
    if "--help" in sys.argv:
        say("usage: the double's own help")
    elif "--version" in sys.argv:
        say("weir-bench 0.1.0")
    elif "--plan" in sys.argv:
        if os.environ.get("DOUBLE_ENDING") == "usage":
            say("weir-bench: madbench: RANKS is no square; given: 5", sys.stderr)
            sys.exit(2)
        if any(word.startswith("--unknown") for word in sys.argv):
            say("weir-bench: madbench: there is no option --unknown", sys.stderr)
            sys.exit(2)
        say((ANSWERS / f"plan-{option('--ranks')}.json").read_text())
    elif sys.argv[1] == "calibrate":
        record = json.loads((ANSWERS / "calibration.json").read_text())
        record |= {
            "shared_file": "--shared-file" in sys.argv,
            "bytes_per_rank": int(option("--bytes-per-rank")),
        }
        Path(option("--output")).write_text(json.dumps(record))
    else:
        work()


main()
