"""Test data, not measurements: what weir_bench_double.py answers, made once for many starts.

Making them takes most of a second of NumPy and Pydantic, and a campaign starts the double a dozen
times. In the folder of ``DOUBLE_ANSWERS``:

    plan-RANKS.json    answer to --plan
    calibration.json   what calibrate writes
    runs/SLUG/         a complete run of each configuration, in which the expectation is left out
"""

from __future__ import annotations

import json
from pathlib import Path

from calibrations import calibration, trials
from synthetic import make_events, make_run, write_run_folder

LABELS = ("POSIX UNIQUE SYNC", "MPI SHARED SYNC")
RANKS = (4, 9)


def slug_of(label: str) -> str:
    return label.lower().replace(" ", "-")


def plan(ranks: int) -> str:
    runs = [make_run(label=label, ranks=ranks) for label in LABELS]
    configurations = [
        {
            "label": run.label,
            "slug": slug_of(run.label),
            "asynchronous": False,
            "parameters": {n: p.model_dump() for n, p in run.parameters.items()},
            "plan": run.plan.model_dump(),
        }
        for run in runs
    ]
    planned = {
        "configurations": configurations,
        "directory": ".",
        "striping": [],
        "transfer_bytes": 8 * 2**20,
    }
    return json.dumps(planned)


def write_answers(folder: Path) -> None:
    for ranks in RANKS:
        (folder / f"plan-{ranks}.json").write_text(plan(ranks), encoding="utf-8")
    storage = {
        "write_storage_bytes_per_second": trials(1.43e9),
        "read_storage_bytes_per_second": trials(1.70e9),
    }
    (folder / "calibration.json").write_text(calibration(**storage).model_dump_json())
    for number, label in enumerate(LABELS):
        run = make_run(label=label, seed=number)
        write_run_folder(folder / "runs" / slug_of(label), run, make_events(label=label))
