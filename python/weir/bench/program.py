"""Finds weir-bench and queries it without an MPI job: its help, and its plan."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field, ValidationError

import weir
from weir.bench.errors import FAILED, USAGE, BenchError
from weir.results.folder import describe_validation
from weir.results.record import Record
from weir.results.schema import Parameter, Plan

PROGRAM = "weir-bench"
STAGER = "weir-stager"
SIMULATOR = "weir-sim"
LIBRARY_SIMULATOR = "weir-sim-library"
BUILT = {
    PROGRAM: Path("build/release/bench") / PROGRAM,
    STAGER: Path("build/release/src/stager") / STAGER,
    SIMULATOR: Path("build/release/sim") / SIMULATOR,
    LIBRARY_SIMULATOR: Path("build/release/sim") / LIBRARY_SIMULATOR,
}
NEEDS = dict.fromkeys(
    (SIMULATOR, LIBRARY_SIMULATOR), "install SimGrid (Debian: libsimgrid-dev), then "
)
"""What has to be done first for programs that are not built everywhere."""
ANSWER_SECONDS = 30.0


class PlannedConfiguration(Record):
    """One configuration of the job as ``weir-bench WORKLOAD ... --plan`` prints it."""

    label: str
    slug: str
    asynchronous: bool
    parameters: dict[str, Parameter]
    plan: Plan


class PlannedJob(Record):
    """All configurations of the job, and the parameters of its calibration."""

    configurations: list[PlannedConfiguration]
    directory: str
    striping: list[str]
    """Options for the striping of the test files; empty: as the directory has it."""
    transfer_bytes: int
    notes: list[str] = Field(default_factory=list)
    """How weir-bench interpreted the command line, if its user may expect otherwise."""
    decided: dict[str, int] = Field(default_factory=dict)
    """Values of settings that weir-bench chose by what it found on the nodes."""
    few_bytes: list[str] = Field(default_factory=list)
    """Arguments that make files or messages few, and as small as they can be; none: a run with them
    would say nothing of the workload."""
    arguments: list[str] = Field(default_factory=list)
    """The planned arguments, from the workload on; weir-bench does not print them."""


def find_program(environment: Mapping[str, str], name: str = PROGRAM) -> Path:
    """Finds weir-bench, weir-stager, weir-sim or weir-sim-library.

    Looks at the variable of that name, such as WEIR_BENCH or WEIR_SIM_LIBRARY, beside the command
    weir, in a clone's release build, and in PATH.
    """
    variable = name.upper().replace("-", "_")
    named = environment.get(variable)
    if named:
        if os.access(named, os.X_OK) and Path(named).is_file():
            return Path(named).resolve()
        raise BenchError(f"{variable}={named} is not a program: give the path of {name}", USAGE)
    package = Path(weir.__file__).resolve().parent
    candidates = [Path(sysconfig.get_path("scripts")) / name]
    clone = next((above for above in package.parents if (above / "pyproject.toml").exists()), None)
    if clone:
        candidates.append(clone / BUILT[name])
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    on_path = shutil.which(name, path=environment.get("PATH"))
    if on_path:
        return Path(on_path).resolve()
    raise BenchError(
        f"{name} was not found: {NEEDS.get(name, '')}build it with ./dev build, or give its path "
        f"in {variable}",
        USAGE,
    )


def plan_job(
    program: Path, arguments: Sequence[str], ranks: int, *, elsewhere: bool = False
) -> PlannedJob:
    """Returns what ``weir-bench ARGUMENTS`` would run on that many ranks.

    With ``elsewhere`` it would run on another machine, and need no room here. Raises ``BenchError``
    with weir-bench's own line for a user's error.
    """
    words = ["--plan", "--ranks", str(ranks), *(["--elsewhere"] if elsewhere else [])]
    # An option without its value, at the end, would otherwise take --plan for it.
    answer = _ask(program, [*arguments[:1], *words, *arguments[1:]])
    if answer.returncode != 0:
        raise BenchError(_last_line(answer), USAGE if answer.returncode == USAGE else FAILED)
    try:
        planned = PlannedJob.model_validate_json(answer.stdout)
        return planned.model_copy(update={"arguments": list(arguments)})
    except ValidationError as error:
        raise BenchError(
            f"{program} --plan printed no plan that this weir understands, "
            f"{describe_validation(error)}: check that both have the same version"
        ) from None


def help_text(program: Path, arguments: Sequence[str]) -> str:
    """Returns the text of ``weir-bench ARGUMENTS --help``."""
    answer = _ask(program, [*arguments, "--help"])
    if answer.returncode != 0:
        raise BenchError(_last_line(answer), USAGE)
    return answer.stdout


def mpi_of(program: Path) -> str:
    """Returns weir-bench's description of the MPI library that it is linked with, or ""."""
    answer = _ask(program, ["--version"])
    told = (line.partition("MPI: ") for line in answer.stdout.splitlines())
    return next((text for before, found, text in told if found and not before), "")


def _ask(program: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [str(program), *arguments]
    try:
        return subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=ANSWER_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise BenchError(
            f"{' '.join(command)} did not answer within {ANSWER_SECONDS:.0f} s"
        ) from None
    except OSError as error:
        raise BenchError(f"{program} cannot be started: {error.strerror}") from None


def _last_line(answer: subprocess.CompletedProcess[str]) -> str:
    """Returns the line that weir-bench printed for its failure, without its name in front."""
    lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    named = [line for line in lines if line.startswith(f"{PROGRAM}: ")]
    if named:
        return named[0].removeprefix(f"{PROGRAM}: ")
    told = lines[-1] if lines else "it printed nothing"
    return f"{PROGRAM} ended with status {answer.returncode}: {told}"
