"""A job whose engine drops the bytes has no expectation, and says why."""

from __future__ import annotations

from pathlib import Path

from weir.bench.job import can_be_expected, why_nothing
from weir.bench.program import find_program, plan_job


def test_a_job_that_stores_nothing_has_no_expectation(tmp_path: Path) -> None:
    arguments = ["array", "--api", "weir", "--shape", "64x64", "--directory", str(tmp_path)]
    program = find_program({})
    assert can_be_expected(plan_job(program, arguments, 2), None)
    dropped = plan_job(program, [*arguments, "--engine", "null", "--no-verify"], 2)
    assert not can_be_expected(dropped, None)
    why = "the bytes are dropped, and expectations are of storage"
    assert why_nothing(dropped) == why
