"""``campaign.json``: what a campaign consists of, written once when it begins.

A campaign's folder holds ``campaign.toml`` (as it was given), ``campaign.json``, one or more
``journal*.jsonl`` that say what is done, ``runs/NNNN/`` as ``weir bench`` leaves them, and
``report.html``. Everything that a report needs is in ``campaign.json`` and the run folders.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from weir.results.errors import ResultError
from weir.results.folder import RUN_FILE, find_run_folders, load_record, load_run
from weir.results.record import Quantity, Record
from weir.results.schema import Direction, Run

CAMPAIGN_FILE = "campaign.json"
CURVES_FILE = "curves.json"
CurveKind = Literal["buffer", "transfer", "tasks"]
"""What a curve is over: Uselton's equations 1 and 2, 3, and 4."""
RUNS_FOLDER = "runs"

Value = StrictBool | StrictInt | StrictFloat | StrictStr
"""The level of a factor or the value of a setting; sizes are integers, in bytes."""


class CampaignFactor(Record):
    """What is varied. Several names change together: each level has a value for every name."""

    names: list[str]
    levels: list[list[Value]] = Field(description="per level, a value for each name, after scaling")


class CampaignRun(Record):
    """One run of the design; runs stand in the order in which they are made."""

    number: int = Field(ge=1, description="its place in the order; its folder is runs/NUMBER")
    block: int = Field(ge=1)
    combination: int = Field(ge=0, description="index into the combinations")


class Campaign(Record):
    """The whole design, complete and in order."""

    format: Literal["weir-campaign"]
    format_version: Literal[1]
    name: str
    description: str = ""
    workload: str
    created_utc: str
    seed: int = Field(description="of the order of the runs")
    scale: float
    replication: int
    given: dict[str, Value] = Field(description="what the command line added to the file")
    platform: str | None = Field(default=None, description="the platform description used")
    curve: CurveKind | None = Field(
        default=None, description="the model's, fitted to the rates over the first factor"
    )
    factors: list[CampaignFactor]
    combinations: list[dict[str, Value]] = Field(description="value of every factor's every name")
    runs: list[CampaignRun]


class Curve(Record):
    """A curve fitted to what a campaign measured over a factor."""

    name: str
    factor: str
    direction: Direction
    parameters: dict[str, Quantity]
    units: dict[str, str]
    points: list[tuple[float, float]] = Field(description="(level, bytes per second)")
    fits: bool
    text: str = Field(description="the form, and how well it predicts levels held out")


class Curves(Record):
    """``curves.json``, beside ``campaign.json``; written anew with every report."""

    format: Literal["weir-curves"]
    format_version: Literal[1]
    curves: list[Curve]


def load_curves(path: Path) -> list[Curve]:
    """The fitted curves of the campaign in ``path``; none where there is no such file."""
    file = path / CURVES_FILE
    return load_record(file, Curves).curves if file.is_file() else []


def is_campaign(path: Path) -> bool:
    """Whether a folder is a campaign's."""
    return (path / CAMPAIGN_FILE).is_file()


def load_campaign(path: Path) -> Campaign:
    """The ``campaign.json`` of a campaign's folder, checked; raises ``ResultError``."""
    return load_record(path / CAMPAIGN_FILE, Campaign)


def run_output(path: Path, number: int) -> Path:
    """The folder of a run of the campaign in ``path``: ``runs/0001``."""
    return path / RUNS_FOLDER / f"{number:04d}"


def finished_runs(path: Path, campaign: Campaign) -> dict[int, list[tuple[Path, Run]]]:
    """By run number, the run folders there are and what they say; half-done runs are left out.

    A run holds one folder per configuration of its job. Raises ``ResultError`` for one that cannot
    be read, such as one that a newer Weir wrote.
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
    """The campaign in ``path``, or nothing when the folder is none."""
    if not path.is_dir():
        raise ResultError(f"{path} is no folder: give one that holds {CAMPAIGN_FILE} or {RUN_FILE}")
    return load_campaign(path) if is_campaign(path) else None
