#!/usr/bin/env -S python3 -S
"""Test double for process handling: speaks weir-bench's protocol and moves no bytes.

``DOUBLE_ENDING`` chooses how the workload ends: complete, usage, fails, hangs, ignores-signals,
killed; ``N:ENDING`` ends the Nth work that way and the others well. With ``DOUBLE_CALLS`` it adds
the words of each work to that file. It knows every setting but ``--unknown``. Its figures are test
data from the folder ``DOUBLE_ANSWERS`` (double_answers.py) and nothing measures anything here.

A test starts it dozens of times, and loading modules takes most of each start: without site, and
with the modules that each answer needs, a start takes a third of the processor time.
"""

from __future__ import annotations

import os
import sys
import time

CONFIGURATIONS = {"posix-unique-sync": "POSIX UNIQUE SYNC", "mpi-shared-sync": "MPI SHARED SYNC"}
ANSWERS = os.environ["DOUBLE_ANSWERS"]


def option(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def say(text: str) -> None:
    print(text, flush=True)


def complain(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def text_of(file: str) -> str:
    with open(file, encoding="utf-8") as stream:
        return stream.read()


def write(file: str, text: str) -> None:
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(text)


def ending_of_this_work() -> str:
    if "DOUBLE_CALLS" not in os.environ:
        return os.environ.get("DOUBLE_ENDING", "complete")
    import json

    calls = os.environ["DOUBLE_CALLS"]
    with open(calls, "a", encoding="utf-8") as stream:
        stream.write(json.dumps(sys.argv[1:]) + "\n")
    number, separator, ending = os.environ.get("DOUBLE_ENDING", "complete").rpartition(":")
    count = len(text_of(calls).splitlines())
    return ending if not separator or count == int(number) else "complete"


def work() -> None:
    import json
    import shutil
    import signal

    ending = ending_of_this_work()
    output = option("--output")
    expected = json.loads(text_of(option("--expectation")))
    for number, (slug, label) in enumerate(CONFIGURATIONS.items()):
        folder = f"{output}/{slug}"
        shutil.copytree(f"{ANSWERS}/runs/{slug}", folder)
        record = json.loads(text_of(f"{folder}/run.json")) | {"expectation": expected[slug]}
        record |= {"command": ["weir-bench", *sys.argv[1:]]}
        if ending != "complete":
            record |= {"status": "running", "finished_utc": None}
        write(f"{folder}/run.json", json.dumps(record, indent=2) + "\n")
        step = {"label": label, "repetition": 1, "warmup": False, "text": f"{label}: repetition 1"}
        step |= {"repetitions_done": number + 1, "repetitions_planned": 2}
        complain(json.dumps({"progress": step}))
        say(f"{label}: text for standard output")
    if ending == "complete":
        return
    left = f"{os.environ['DOUBLE_FILES']}/weir-double-0"
    write(left, "test file")
    write(f"{output}/files.json", json.dumps([left]))
    if ending == "fails":
        complain("weir-bench: failed: rank 1: write: No space left on device")
        sys.exit(1)
    if ending == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if ending == "ignores-signals":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    write(f"{output}/hanging", "")
    time.sleep(600)


def main() -> None:
    if "--help" in sys.argv:
        say("usage: the double's own help")
    elif "--version" in sys.argv:
        say("weir-bench 0.1.0")
    elif "--plan" in sys.argv:
        if os.environ.get("DOUBLE_ENDING") == "usage":
            complain("weir-bench: madbench: RANKS is no square; given: 5")
            sys.exit(2)
        if any(word.startswith("--unknown") for word in sys.argv):
            complain("weir-bench: madbench: there is no option --unknown")
            sys.exit(2)
        say(text_of(f"{ANSWERS}/plan-{option('--ranks')}.json"))
    elif sys.argv[1] == "calibrate":
        import json

        record = json.loads(text_of(f"{ANSWERS}/calibration.json"))
        record |= {
            "shared_file": "--shared-file" in sys.argv,
            "bytes_per_rank": int(option("--bytes-per-rank")),
        }
        write(option("--output"), json.dumps(record))
    else:
        work()


main()
