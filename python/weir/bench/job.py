"""The five steps of ``weir bench``: each is a function, and its result is the next one's input.

1. ``plan_decided`` (deciding.py)
                                what would run; reports a user's mistakes before any MPI start,
                                unless the nodes decide a part of it
2. ``calibrate``                rates of this file system and machine, once for all configurations;
                                omitted with a platform description (``platforms.py``)
3. ``expectations``             the path model's rates, before the run
4. ``run_job``                  the MPI job, which leaves a run folder per configuration
5. ``finalize`` (weir.results)  events to Parquet, verdicts; then the report

Steps 2 and 3 write files to a folder beside the output folder, because compute nodes must see them
and weir-bench creates the output folder itself. They are moved into it after step 4.
"""

from __future__ import annotations

import datetime
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from weir.bench.binaries import binaries_of, record_binaries
from weir.bench.cleanup import finish_broken_job, remove_unfinished
from weir.bench.errors import USAGE, BenchError
from weir.bench.failure import failure_of
from weir.bench.launcher import Launcher
from weir.bench.messages import Progress, StandardError
from weir.bench.process import run_child
from weir.bench.program import PlannedConfiguration, PlannedJob
from weir.bench.without_content import has_run_without_content, run_without_content, ways_of
from weir.campaign.levels import number_in
from weir.model.calibration_platform import platform_of_calibration
from weir.model.expectation import expect
from weir.model.flow_of_plan import flag, is_dropped, messages_of, service_of
from weir.monitor.beside import Beside, deliver
from weir.placement.following import Expected, Following
from weir.platform.files import FOLDER, known_here
from weir.results.calibration import Calibration
from weir.results.errors import ResultError
from weir.results.expectations import Expectation
from weir.results.folder import (
    CALIBRATION_FILE,
    SHARED_CALIBRATION_FILE,
    load_calibration,
    write_atomically,
    write_json,
)
from weir.results.platform import Platform

EXPECTATION_FILE = "expectation.json"
STANDARD_OUTPUT_FILE = "standard-output.txt"
STANDARD_ERROR_FILE = "standard-error.txt"
OWN_OPTIONS = ("--plan", "--no-plan", "--elsewhere", "--expectation", "--progress")
PREPARING = ".preparing-"
"""Begins the name of the folder of files that are made before the output folder."""
CALIBRATION_SECONDS = 300.0
CALIBRATION_FILES = {False: CALIBRATION_FILE, True: SHARED_CALIBRATION_FILE}
"""The file of a calibration, by whether the ranks shared a file."""
LEAST_BYTES_PER_RANK = 8
MOST_BYTES_PER_RANK = 2**30
"""The calibration has no time for more; runs with larger files share it in a campaign."""
DIRECT_BYTES = 4096
"""O_DIRECT is calibrated in multiples of these bytes, which is the largest sector of devices."""
DEFAULT_TIMEOUT_SECONDS = 3600.0
STAGER_MEMORY = "WEIR_STAGER_MEMORY"


@dataclass(frozen=True)
class Job:
    """How weir-bench is started here."""

    program: Path
    launcher: Launcher
    inherited: tuple[int, ...] = ()
    """Open files that the launcher inherits, such as a lock that must outlive weir with it."""

    def command(self, arguments: Sequence[str]) -> list[str]:
        return [*self.launcher.command, str(self.program), *arguments]

    def environment(self) -> Mapping[str, str]:
        return {**os.environ, **self.launcher.environment}


def utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def utc_text(moment: datetime.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def default_output(workload: str, moment: datetime.datetime) -> Path:
    """Returns ``weir-results/<UTC stamp>-<workload>`` below the current directory."""
    return Path("weir-results") / f"{moment.strftime('%Y%m%dT%H%M%SZ')}-{workload}"


def check_arguments(arguments: Sequence[str]) -> None:
    """Refuses options of weir-bench that weir sets itself."""
    for word in arguments:
        name = word.partition("=")[0]
        if name in OWN_OPTIONS:
            raise BenchError(f"{name} is set by weir itself: leave it out", USAGE)


def check_output(output: Path) -> None:
    """Refuses an existing output folder, so that results are never mixed."""
    if output.exists():
        raise BenchError(f"--output {output} exists: give a new folder", USAGE)


@contextmanager
def preparation_folder(output: Path) -> Iterator[Path]:
    """Makes a folder beside ``output``, on the same file system, and removes it at the end."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{PREPARING}{output.name}-", dir=output.parent))
    except OSError as error:
        raise BenchError(
            f"--output {output}: {output.parent} cannot be written: {error.strerror}", USAGE
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def moves_bytes(planned: PlannedJob) -> bool:
    """Returns whether any configuration transfers bytes; without bytes there are no rates."""
    return any(phase.bytes_total for one in planned.configurations for phase in one.plan.phases)


def can_be_expected(planned: PlannedJob, platform: Platform | None) -> bool:
    """Returns whether the job can have an expectation, and there is a basis for it."""
    if drops_bytes(planned):
        known = platform is None or bool(platform.operations)
        return known and all(messages_of(one.parameters) for one in planned.configurations)
    return moves_bytes(planned) or (platform is not None and acts_on_names(planned))


def drops_bytes(planned: PlannedJob) -> bool:
    """Returns whether the bytes are dropped: no rate of storage applies to them."""
    return any(is_dropped(one.parameters) for one in planned.configurations)


def acts_on_names(planned: PlannedJob) -> bool:
    """Returns whether any configuration has actions on names (workload metadata)."""
    return any(one.plan.metadata for one in planned.configurations)


def why_nothing(planned: PlannedJob) -> str:
    """Returns why a job has no expectation, if ``can_be_expected`` says so."""
    if drops_bytes(planned) and any(messages_of(one.parameters) for one in planned.configurations):
        return "the bytes are dropped, and the description has no times of messages"
    if drops_bytes(planned):
        return "the bytes are dropped, and expectations are of storage"
    if acts_on_names(planned):
        known = known_here()
        here = f"; {FOLDER}/ has {', '.join(known)}, of other storage" if known else ""
        return (
            "operations on names are not calibrated, and no probe knows them in these directories: "
            f"weir platform probe measures them{here}"
        )
    return "no transfers are planned"


@dataclass(frozen=True)
class Calibrated:
    """The calibrations of a job: one for configurations whose ranks share files, one for others."""

    by_sharing: Mapping[bool, Calibration]

    def of(self, one: PlannedConfiguration) -> Calibration:
        """Returns the calibration that was made as this configuration moves its bytes."""
        return self.by_sharing[one.plan.shares_files]

    @property
    def each(self) -> list[Calibration]:
        return list(self.by_sharing.values())

    def write(self, folder: Path) -> None:
        """Leaves the calibrations in the folder of a run that uses them without making them."""
        for sharing, one in self.by_sharing.items():
            write_atomically(
                folder / CALIBRATION_FILES[sharing], one.model_dump_json(indent=1) + "\n"
            )


class CalibratedFor(NamedTuple):
    """What a calibration depends on, beside the ranks."""

    directory: str
    striping: tuple[str, ...]
    transfer_bytes: int
    bytes_per_rank: tuple[tuple[bool, int], ...]
    """One entry for the configurations that share files, and one for those that do not."""
    ways: tuple[tuple[str, ...], ...]
    """The ways of writing files or messages whose time beside their bytes is measured."""
    direct: bool = False


def calibrated_for(planned: PlannedJob) -> CalibratedFor:
    """Returns for what a job is calibrated: of its bytes for the largest phase of a rank."""
    most: dict[bool, int] = {}
    for one in planned.configurations:
        moved = [phase.bytes_total // max(1, one.plan.ranks) for phase in one.plan.phases]
        shared = one.plan.shares_files
        most[shared] = max([most.get(shared, LEAST_BYTES_PER_RANK), *moved])
    limited = {shared: min(moved, MOST_BYTES_PER_RANK) for shared, moved in most.items()}
    return CalibratedFor(
        planned.directory,
        tuple(planned.striping),
        planned.transfer_bytes,
        tuple(sorted(limited.items())),
        ways_of(planned),
        _is_direct(planned),
    )


def calibrate(
    job: Job, planned: PlannedJob, folder: Path, tell: Callable[[str], None]
) -> Calibrated:
    """Measures the rates for expectations; the results stay in ``folder``.

    Files are as large as those of the job, and shared by all ranks if those are. What a file or a
    message takes beside its bytes is measured by a run of the job without content.
    """
    made: dict[bool, Calibration] = {}
    for shared, moved in calibrated_for(planned).bytes_per_rank:
        file = folder / CALIBRATION_FILES[shared]
        made[shared] = _calibrate(job, planned, file, tell, moved)
    if not has_run_without_content(planned):
        return Calibrated(made)
    started = time.monotonic()
    operations = run_without_content(job, planned, folder, tell)
    seconds = time.monotonic() - started
    calibrated = Calibrated(
        {
            shared: one.model_copy(
                update={"operations": operations, "seconds": one.seconds + seconds}
            )
            for shared, one in made.items()
        }
    )
    calibrated.write(folder)
    return calibrated


def _calibrate(
    job: Job, planned: PlannedJob, file: Path, tell: Callable[[str], None], moved: int
) -> Calibration:
    shared = file.name == SHARED_CALIBRATION_FILE
    arguments = ["calibrate", "--directory", planned.directory]
    arguments += ["--transfer-bytes", str(planned.transfer_bytes), "--output", str(file)]
    arguments += ["--bytes-per-rank", str(moved), *(["--shared-file"] if shared else [])]
    arguments += [*(["--direct"] if _is_direct(planned) else []), *planned.striping]
    arguments += links_of(planned)
    said = StandardError(on_progress=lambda _: None, on_line=tell)
    ending = run_child(
        job.command(arguments),
        job.environment(),
        CALIBRATION_SECONDS,
        on_stdout=lambda _: None,
        on_stderr=said.line,
        inherited=job.inherited,
    )
    if not ending.succeeded:
        remove_unfinished(file)
        raise failure_of("the calibration", ending, said)
    try:
        return load_calibration(file)
    except ResultError as error:
        raise BenchError(f"the calibration wrote no usable result: {error}") from None


def links_of(planned: PlannedJob) -> list[str]:
    """Returns the arguments for the ways to stagers that configurations reach over TCP."""
    ends = dict.fromkeys(service_of(one.parameters) for one in planned.configurations)
    own = [f"{end[0]}x{end[1]}" for end in ends if isinstance(end, tuple)]
    named = [end for end in ends if isinstance(end, str)]
    return [
        *(["--links", ",".join(own)] if own else []),
        *(["--service", named[0]] if named else []),
    ]


def _is_direct(planned: PlannedJob) -> bool:
    """Returns whether all configurations use O_DIRECT, in pieces that every device takes."""
    return planned.transfer_bytes % DIRECT_BYTES == 0 and all(
        flag(one.parameters, "direct", default=False) for one in planned.configurations
    )


def expectations(
    planned: PlannedJob,
    source: Calibrated | Platform,
    places: Mapping[str, str] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> dict[str, Expectation]:
    """Returns the expectation of every configuration, by its slug.

    ``source`` has calibrations on the job's ranks or is a platform description; ``places`` gives
    the platform's target of each planned directory (``weir.bench.platforms``). ``environment`` is
    that of the job, in which a user may say how much memory stagers have.
    """
    made = utc_text(utc_now())

    def expected_of(one: PlannedConfiguration) -> Expectation:
        record: dict[str, Any] = {}
        if isinstance(source, Calibrated):
            calibration = source.of(one)
            platform = platform_of_calibration(calibration)
            record = calibration.model_dump(mode="json")
        else:
            platform = source
        expected = expect(
            one.plan,
            one.asynchronous,
            one.parameters,
            platform,
            made,
            directory=planned.directory,
            places=places,
            stager_memory_bytes=stager_memory(environment),
        )
        return expected.model_copy(update={"calibration": record})

    try:
        return {one.slug: expected_of(one) for one in planned.configurations}
    except ValueError as error:
        raise BenchError(f"no expectation can be made: {error}", USAGE) from None


def stager_memory(environment: Mapping[str, str]) -> float | None:
    """Returns the memory of a stager that a job starts; None where it is the default.

    A text that is no size is the stager's to refuse.
    """
    given = number_in(environment.get(STAGER_MEMORY, "0"))
    return float(given) if given is not None and given > 0 else None


def timeout_of(planned: PlannedJob, asked: float | None) -> float:
    """Returns the job's deadline: the given one, else an hour or four ``--time-limit``, if more.

    After its time limit weir-bench begins no repetition but finishes those that have begun.
    """
    if asked is not None:
        return asked
    limits = [
        float(parameter.value)
        for one in planned.configurations
        for name, parameter in one.parameters.items()
        if name.replace("_", "-") == "time-limit"
    ]
    return max([DEFAULT_TIMEOUT_SECONDS, *(4 * limit for limit in limits)])


def monitor_of(
    planned: PlannedJob, interval_seconds: float, output: Path, tell: Callable[[str], None]
) -> Beside:
    """Returns a monitor for a planned job, which watches where its files will lie."""
    several = [target.directory for one in planned.configurations for target in one.plan.targets]
    folders = list(dict.fromkeys(several))
    expected = {
        one.label: Expected(one.plan.files, one.plan.disk_bytes_total // max(1, one.plan.files))
        for one in planned.configurations
    }
    following = Following(output, folders, expected)
    return Beside(interval_seconds, folders or [planned.directory], tell, following=following)


def run_job(
    job: Job,
    arguments: Sequence[str],
    output: Path,
    preparation: Path,
    made: Mapping[str, Expectation],
    timeout_seconds: float,
    *,
    on_progress: Callable[[Progress], None],
    tell: Callable[[str], None],
    monitor: Beside | None = None,
) -> None:
    """Runs the workload; afterwards ``output`` contains a run folder per configuration.

    Raises ``BenchError`` if the job failed or was interrupted. The folder then says so too, and no
    test files are left.
    """
    expectation = preparation / EXPECTATION_FILE
    write_json(expectation, {slug: one.model_dump(mode="json") for slug, one in made.items()})
    printed: list[str] = []

    def on_step(step: Progress) -> None:
        if monitor is not None:
            monitor.seen(step)
        on_progress(step)

    said = StandardError(on_progress=on_step, on_line=tell)
    binaries = binaries_of(job.program, job.environment())
    own = ["--output", str(output), "--expectation", str(expectation), "--progress", "json"]
    command = job.command([*arguments, *own])
    with monitor.running(preparation) if monitor is not None else nullcontext():
        ending = run_child(
            command,
            job.environment(),
            timeout_seconds,
            on_stdout=printed.append,
            on_stderr=said.line,
            inherited=job.inherited,
        )
    if output.is_dir():
        for file in sorted(preparation.iterdir()):
            shutil.move(file, output / file.name)
        if printed:
            write_atomically(output / STANDARD_OUTPUT_FILE, "\n".join(printed) + "\n")
        if said.text():
            write_atomically(output / STANDARD_ERROR_FILE, said.text())
        try:
            record_binaries(output, binaries)
        except ResultError as error:
            tell(f"the results do not record which {job.program.name} ran: {error}")
    if ending.succeeded:
        if monitor is not None:
            deliver(monitor, output)
        return
    interrupted = ending.asked_by is not None
    marked, removed = finish_broken_job(output, ending.describe(), interrupted=interrupted)
    if monitor is not None:
        deliver(monitor, output)
    if marked and said.told == []:
        how = "interrupted" if interrupted else "failed"
        tell(f"marked {len(marked)} unfinished runs as {how}")
    if removed:
        tell(f"removed {len(removed)} test files that the job left behind")
    raise failure_of("the run", ending, said)
