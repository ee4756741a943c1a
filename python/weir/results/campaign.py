"""``campaign.json``: the runs of a campaign, written once when it begins.

A campaign's folder contains ``campaign.toml`` (as it was given), ``campaign.json``, one or more
``journal*.jsonl`` that record what is done, ``runs/NNNN/`` as ``weir bench`` leaves them, and
``report.html``. A report needs only ``campaign.json`` and the run folders.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from weir.results.errors import ResultError
from weir.results.expectations import Direction
from weir.results.folder import RUN_FILE, find_run_folders, load_record, load_run
from weir.results.purpose import Purpose
from weir.results.record import Quantity, Record
from weir.results.schema import Run

CAMPAIGN_FILE = "campaign.json"
CURVES_FILE = "curves.json"
CurveKind = Literal["buffer", "transfer", "tasks"]
"""What a curve is a function of; the fits are Uselton's equations 1 and 2 (buffer), 3 (transfer)
and 4 (tasks)."""
RUNS_FOLDER = "runs"
CampaignDesign = Literal["full", "latin-hypercube"]
"""All combinations of the levels, or some that lie evenly among them."""

Value = StrictBool | StrictInt | StrictFloat | StrictStr
"""The level of a factor or the value of a setting; sizes are integers in bytes."""


class CampaignFactor(Record):
    """A factor that is varied. Its names change together: each level has a value for every name."""

    names: list[str]
    levels: list[list[Value]] = Field(description="per level, a value for each name, after scaling")


class CampaignRun(Record):
    """One run of the design; runs stand in the order in which they are made."""

    number: int = Field(
        ge=1, description="place of the run in the order; its folder is runs/NUMBER"
    )
    block: int = Field(ge=1)
    combination: int = Field(ge=0, description="index into the combinations of levels")
    phase: int = Field(default=0, ge=0, description="index into the phases, if there are any")
    purpose: Purpose | None = Field(
        default=None, description="why this run is made, if not for its combination's purpose"
    )


class CampaignPhase(Record):
    """A part of a campaign whose runs are made together, after a time of quiet."""

    name: str
    pause_seconds: float = Field(ge=0, description="between the end of the phase before and this")


class Campaign(Record):
    """The whole design, complete and in order."""

    format: Literal["weir-campaign"]
    format_version: Literal[1]
    name: str
    description: str = ""
    workload: str
    created_utc: str
    seed: int = Field(description="seed of the order of the runs")
    scale: float
    replication: int
    design: CampaignDesign = Field(
        default="full", description="which combinations of the levels are run"
    )
    pause_seconds: float = Field(default=0.0, ge=0, description="quiet before every run")
    phases: list[CampaignPhase] = Field(default_factory=list)
    given: dict[str, Value] = Field(description="arguments that the command line added to the file")
    platform: str | None = Field(
        default=None, description="the platform description that the campaign uses"
    )
    curve: CurveKind | None = Field(
        default=None,
        description="name of the model that is fitted to the rates over the first factor",
    )
    factors: list[CampaignFactor]
    combinations: list[dict[str, Value]] = Field(description="value of every name of every factor")
    purposes: list[Purpose | None] = Field(
        default_factory=list,
        description="why each combination is run; empty if the file has no [[purpose]]",
    )
    runs: list[CampaignRun]

    def purpose_of(self, run: CampaignRun) -> Purpose | None:
        """Returns why a run is made: its own purpose, or that of its combination."""
        if run.purpose is not None or not self.purposes:
            return run.purpose
        return self.purposes[run.combination]

    def pause_before(self, run: CampaignRun, last: CampaignRun | None) -> float:
        """Returns the seconds of quiet between the end of one run and the next; 0 for the first."""
        if last is None:
            return 0.0
        if last.phase != run.phase:
            return max(self.pause_seconds, self.phases[run.phase].pause_seconds)
        return self.pause_seconds


class Curve(Record):
    """A curve fitted to a campaign's measurements over a factor."""

    name: str
    factor: str
    direction: Direction
    parameters: dict[str, Quantity]
    units: dict[str, str]
    points: list[tuple[float, float]] = Field(description="(level, bytes per second)")
    fits: bool
    text: str = Field(description="the form, and its error in predicting levels that were held out")


class Curves(Record):
    """``curves.json``, beside ``campaign.json``; every report rewrites it."""

    format: Literal["weir-curves"]
    format_version: Literal[1]
    curves: list[Curve]


def load_curves(path: Path) -> list[Curve]:
    """Returns the fitted curves of the campaign in ``path``; none without the file."""
    file = path / CURVES_FILE
    return load_record(file, Curves).curves if file.is_file() else []


def is_campaign(path: Path) -> bool:
    """Returns whether a folder is that of a campaign."""
    return (path / CAMPAIGN_FILE).is_file()


def load_campaign(path: Path) -> Campaign:
    """Reads and validates a campaign's ``campaign.json``; raises ``ResultError``."""
    return load_record(path / CAMPAIGN_FILE, Campaign)


class MadeFor(NamedTuple):
    """For which run of which campaign a run folder was made."""

    folder: Path
    campaign: Campaign
    run: CampaignRun


def made_for(folder: Path, known: dict[Path, Campaign]) -> MadeFor | None:
    """Returns what a run folder was made for, or None if it is not in a campaign's folder.

    Campaigns that were read are added to ``known``. Raises ``ResultError`` if one is invalid.
    """
    for output in (folder, *folder.parents):
        path = output.parent.parent
        if output.parent.name != RUNS_FOLDER or not output.name.isdigit() or not is_campaign(path):
            continue
        if path not in known:
            known[path] = load_campaign(path)
        number = int(output.name)
        planned = next((run for run in known[path].runs if run.number == number), None)
        return None if planned is None else MadeFor(path, known[path], planned)
    return None


def run_output(path: Path, number: int) -> Path:
    """Returns the folder of a run of the campaign in ``path``, such as ``runs/0001``."""
    return path / RUNS_FOLDER / f"{number:04d}"


def finished_runs(path: Path, campaign: Campaign) -> dict[int, list[tuple[Path, Run]]]:
    """Returns the complete run folders and their records, by run number.

    A run has one folder per configuration of its job. Raises ``ResultError`` for a folder that
    cannot be read, such as one written by a newer Weir.
    """
    found: dict[int, list[tuple[Path, Run]]] = {}
    for planned in campaign.runs:
        output = run_output(path, planned.number)
        if not output.is_dir():
            continue
        runs = [(folder, load_run(folder)) for folder in find_run_folders(output)]
        if runs and all(run.status != "running" for _, run in runs):
            found[planned.number] = runs
    return found


def campaign_of(path: Path) -> Campaign | None:
    """Returns the campaign in ``path``, or None if the folder is not a campaign's."""
    if not path.is_dir():
        raise ResultError(
            f"{path} is not a folder: give one that holds {CAMPAIGN_FILE} or {RUN_FILE}"
        )
    return load_campaign(path) if is_campaign(path) else None
