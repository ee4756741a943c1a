"""A campaign's folder, new or resumed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from weir.bench.cleanup import finish_broken_job
from weir.bench.errors import USAGE, BenchError
from weir.bench.job import PREPARING
from weir.campaign.file import first_difference
from weir.results.campaign import CAMPAIGN_FILE, RUNS_FOLDER, Campaign, Value, load_campaign
from weir.results.errors import ResultError
from weir.results.folder import find_run_folders, load_run, write_atomically

COPY = "campaign.toml"


def existing_campaign(output: Path, *, resume: bool) -> Campaign | None:
    """Returns the campaign in ``output`` to resume, or None if a new one begins."""
    if not output.exists():
        return None
    begun = (output / CAMPAIGN_FILE).is_file()
    if not begun and (not output.is_dir() or any(output.iterdir())):
        raise BenchError(
            f"--output {output} exists and is not a campaign: give a new folder", USAGE
        )
    if begun and not resume:
        raise BenchError(f"{output} already has a campaign: continue it with --resume", USAGE)
    return load_campaign(output) if begun else None


def check_unchanged(
    output: Path, begun: Campaign, text: str, given: Mapping[str, Value], platform: str | None
) -> None:
    """Refuses to resume a campaign with a different file or command line."""
    copy = output / COPY
    try:
        before = copy.read_text(encoding="utf-8")
    except OSError as error:
        raise BenchError(f"{copy} cannot be read: {error.strerror}") from None
    difference = first_difference(before, text)
    if difference is None and platform is not None and platform != begun.platform:
        difference = f"--platform was {begun.platform} and is {platform}"
    for name in sorted({*given, *begun.given}):
        was, now = begun.given.get(name), given.get(name)
        if difference is None and was != now:
            difference = f"--{name} was {was} and is {now}"
    if difference is not None:
        raise BenchError(
            f"{output} began with other settings: {difference}; begin a new campaign with "
            "another --output, or undo the change",
            USAGE,
        )


def begin_folder(output: Path, campaign: Campaign, text: str) -> None:
    """Makes the folder with a copy of the file, and the design; writes ``campaign.json`` last."""
    try:
        (output / RUNS_FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f"--output {output} cannot be made: {error.strerror}", USAGE) from None
    write_atomically(output / COPY, text)
    write_atomically(output / CAMPAIGN_FILE, campaign.model_dump_json(indent=1) + "\n")


def clear_unfinished(output: Path) -> Path | None:
    """Clears the folder of a run to be repeated; returns where a kept run was moved, or None.

    A half-done run is removed, with the test files that it left. A run that is complete, or that
    failed with a reason, is worth examining and is set aside.
    """
    if not output.exists():
        return None
    finish_broken_job(output, "the campaign was ended during this run")
    try:
        statuses = [load_run(folder).status for folder in find_run_folders(output)]
    except ResultError:
        statuses = []
    reasons = [folder for folder in find_run_folders(output) if _tells(folder)]
    if "complete" not in statuses and not reasons:
        shutil.rmtree(output)
        return None
    number = 1
    while (aside := output.with_name(f"{output.name}.set-aside-{number}")).exists():
        number += 1
    output.rename(aside)
    return aside


def _tells(folder: Path) -> bool:
    """Returns whether a run has a reason of its own for its failure.

    The end of its job or of the campaign is not such a reason.
    """
    try:
        run = load_run(folder)
    except ResultError:
        return True  # A folder that cannot be read is kept.
    if run.status != "failed" or run.failure is None:
        return False
    return run.failure.operation != "job"


def clear_preparations(output: Path) -> None:
    """Removes the working folders that a killed weir left beside the runs."""
    for folder in (output / RUNS_FOLDER).glob(f"{PREPARING}*"):
        shutil.rmtree(folder)


def flush_tree(output: Path) -> None:
    """Waits until every file and folder of a run is on disk."""
    for folder, _, files in os.walk(output):
        for name in [*files, "."]:
            descriptor = os.open(Path(folder) / name, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
    descriptor = os.open(output.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
