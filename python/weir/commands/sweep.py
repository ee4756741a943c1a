"""``weir bench ... --sweep``: runs a sweep as the campaign for which it stands."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from weir.bench.errors import USAGE, BenchError
from weir.bench.job import default_output, utc_now
from weir.bench.program import find_program, plan_job
from weir.bench.words import without_settings
from weir.campaign.design import RANKS, TASKS
from weir.campaign.file import parse_campaign_file
from weir.campaign.levels import read_levels
from weir.campaign.sweep import read_sweep, sweep_file
from weir.commands.campaign import Asked, run_campaign
from weir.commands.job_options import words_of
from weir.commands.purpose_options import purpose_table, purpose_words
from weir.results.purpose import Purpose


def run_sweep(
    arguments: Sequence[str],
    sweeps: Sequence[str],
    ranks: int | None,
    launcher: str | None,
    platform: str | None,
    output: Path | None,
    timeout: float | None,
    *,
    resume: bool,
    tasks_per_node: int | None = None,
    monitor_seconds: float | None = None,
    purpose: Purpose | None = None,
) -> None:
    """Starts or resumes a sweep; its folder is a campaign's."""
    if resume and output is None:
        raise BenchError("--resume needs the sweep's folder: --output FOLDER", USAGE)
    workload = arguments[0]
    swept = dict(read_sweep(workload, text) for text in sweeps)
    if len(swept) < len(sweeps):
        raise BenchError("--sweep is given twice for one setting", USAGE)
    if ranks is not None and RANKS in swept:
        raise BenchError("--ranks is given and also in --sweep: leave one of them out", USAGE)
    if tasks_per_node is not None and TASKS in swept:
        raise BenchError("--tasks-per-node is also in --sweep: leave one of them out", USAGE)
    words = words_without_swept(arguments, swept, ranks)
    text = sweep_file(words, sweeps, ranks, tasks_per_node=tasks_per_node)
    text += purpose_table(purpose) if purpose is not None else ""
    name = f"{workload}-sweep-{'-'.join(swept)}"
    target = output or default_output(name, utc_now())
    file = parse_campaign_file(text, "--sweep", name)
    if timeout is not None:
        file = file.model_copy(update={"run_timeout": timeout})
    command = ["weir", "bench", *arguments, *(f"--sweep={one}" for one in sweeps)]
    command += ["--output", str(target)]
    command += words_of(
        ranks=ranks, tasks_per_node=tasks_per_node, launcher=launcher, platform=platform
    )
    command += [f"--monitor={monitor_seconds}s"] if monitor_seconds is not None else []
    command += purpose_words(purpose) if purpose is not None else []
    asked = Asked(
        output=target,
        command=command,
        launcher=launcher,
        platform=platform,
        resume=resume,
        monitor_seconds=monitor_seconds,
    )
    run_campaign(file, text, asked)


def words_without_swept(
    arguments: Sequence[str], swept: Mapping[str, str], ranks: int | None
) -> list[str]:
    """Returns the words without swept settings; unchanged if they cannot be planned yet."""
    first = read_levels(swept[RANKS])[0] if RANKS in swept else ranks
    if not isinstance(first, int) or set(swept) == {RANKS}:
        return list(arguments)
    try:
        planned = plan_job(find_program(os.environ), arguments, first)
    except BenchError:
        return list(arguments)
    return without_settings(arguments, planned, list(swept))
