"""The types of ``run.json``.

``weir-bench`` writes ``run.json``; ``weir`` checks it against these types whenever it reads or
finalizes one, and ``docs/schema/run.schema.json`` is generated from them (``./dev docs``). Every
quantity carries its unit in its name. Rates are bytes per second; times are seconds unless the
name ends in ``_ns``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from weir.results.action_records import ActionPhase, ActionResult, PlannedAction
from weir.results.digest_records import Digest
from weir.results.expectations import Direction, Expectation, Metric, Verdict
from weir.results.imported_records import Imported
from weir.results.message_records import Messages
from weir.results.monitor_records import Monitor
from weir.results.node_records import DescribedNodes
from weir.results.opening_records import Flag, OpeningPhase, OpeningStep
from weir.results.output_records import Outputs
from weir.results.purpose import Purpose
from weir.results.record import Count, Latencies, NonNegative, Record, Spread
from weir.results.series import Series, Unit, stored_in
from weir.results.sink_records import Sink
from weir.results.spectrum_records import Spectrum

CacheVerdict = Literal["storage", "memory", "mixed", "unknown"]


class Parameter(Record):
    """One setting of the run and where its value came from."""

    value: str | int | float | bool = Field(
        description="value in bytes or seconds if `weir-bench WORKLOAD --help` shows such a unit"
    )
    origin: Literal["command line", "environment", "file", "default"]


class Failure(Record):
    """Why a run ended early. ``rank`` is the first rank that saw the failure."""

    message: str
    cause: str
    operation: str
    rank: int | None = None
    host: str | None = None
    file: str | None = None
    offset_bytes: int | None = None


class PlannedPhase(Record):
    """What one function will move in one direction, known before the run."""

    function: str
    direction: Direction
    operations_per_rank: Count
    bytes_per_operation: Count = Field(
        description="useful bytes that one rank moves in one operation"
    )
    bytes_total: Count = Field(description="over all ranks, one repetition")
    computations_per_operation: NonNegative | None = Field(
        description=(
            "busy-work operations of one rank that one transfer can run behind; null if it runs "
            "behind messages, whose time is unknown"
        )
    )
    exposed_operations_per_rank: Count = Field(
        description="operations that nothing can hide in ASYNC mode: first read, last write"
    )


class PlannedTarget(Record):
    """The share of one directory, where the files lie in several."""

    directory: str
    ranks: list[int]
    files: Count
    bytes_total: Count = Field(description="over all phases, one repetition")


class Plan(Record):
    """What one repetition moves and needs, known before the run."""

    ranks: int
    files: Count
    ranks_per_file: Count | None = Field(
        default=None,
        description=(
            "ranks that move parts of one file, if files are moved one after the other; null: all "
            "files are moved at the same time"
        ),
    )
    memory_bytes_per_rank: Count
    memory_bytes_total: Count
    disk_bytes_total: Count
    phases: list[PlannedPhase]
    targets: list[PlannedTarget] = Field(
        default_factory=list, description="empty if all files are in one directory"
    )
    metadata: list[PlannedAction] = Field(
        default_factory=list, description="only for the workload metadata; empty otherwise"
    )

    @property
    def files_at_once(self) -> int:
        """The files that the ranks move at the same time."""
        if not self.files or not self.ranks_per_file:
            return self.files
        return min(self.files, -(-self.ranks // self.ranks_per_file))

    @property
    def shares_files(self) -> bool:
        """Whether ranks move parts of common files."""
        if self.ranks_per_file is None:
            return 0 < self.files < self.ranks
        return self.files > 0 and self.ranks_per_file > 1


class Evidence(Record):
    """One fact about whether storage or memory served the bytes."""

    kind: Literal["device_counters", "page_residency", "direct_io", "memory_rate", "durable_sync"]
    storage_fraction: float | None = Field(
        default=None,
        description="share of the bytes that reached storage according to this evidence",
    )
    text: str


class Stonewall(Record):
    """What all ranks had moved when the time of ``--stonewall`` was over."""

    reached: bool = Field(description="false if every rank had already finished")
    seconds: NonNegative = Field(description="longest time of a rank until the stonewall")
    bytes: Count
    rate_bytes_per_second: float | None
    operations_least: Count = Field(description="operations of the rank with the fewest")
    operations_most: Count


class CacheState(Record):
    """Did storage serve the bytes, or memory? With what says so, strongest first."""

    verdict: CacheVerdict
    evidence: list[Evidence]


class ArrayCosts(Record):
    """What a phase of the workload array cost besides its rate; null where it is not known.

    Bytes are of all ranks, from opening to closing, as the kernel counts read and write calls:
    whichever library makes them. What goes through sockets counts too.
    """

    bytes_written: Count | None
    bytes_read: Count | None
    moved_per_byte: NonNegative | None = Field(
        description="bytes written and read together, divided by the requested bytes"
    )
    movers: Count | None = Field(
        description=(
            "number of ranks that moved data: at least a hundredth of the bytes of the busiest rank"
        )
    )
    aggregators: Count | None = Field(
        default=None,
        description="number of ranks that should move data, if the interface reports it",
    )
    balance: NonNegative | None = Field(
        description=(
            "bytes of the busiest rank divided by the mean of all movers, or of all "
            "aggregators if these are more; 1 is an even load"
        )
    )
    planning_seconds: Spread | None = Field(description="present if the interface reports it")
    gathering_seconds: Spread | None = Field(description="present if the interface reports it")
    storage_seconds: Spread | None = Field(
        description="time in calls that read and write files, if the interface reports it"
    )
    waiting_seconds: Spread | None = Field(
        description="wait for other ranks, if the interface reports it"
    )


class Phase(Record):
    """One function in one direction in one repetition."""

    function: str
    direction: Direction
    operations: Count
    bytes: Count
    rate_span_bytes_per_second: float | None
    rate_slowest_rank_bytes_per_second: float | None
    rate_sum_of_ranks_bytes_per_second: float | None
    rate_foreground_bytes_per_second: float | None = Field(
        description="EAAR: bytes over the slowest rank's foreground I/O time"
    )
    io_seconds: Spread = Field(description="from the start of each operation to its completion")
    foreground_seconds: Spread = Field(description="time blocked in I/O calls and waits for them")
    barrier_wait_seconds: Spread = Field(description="waiting for other ranks after operations")
    token_wait_seconds: Spread = Field(description="waiting for the RMOD/WMOD token")
    cache: CacheState
    open_seconds: Spread | None = Field(
        default=None, description="time to open the file, if it is timed; no rate includes it"
    )
    close_seconds: Spread | None = Field(
        default=None, description="time to close the file, if it is timed; no rate includes it"
    )
    total_seconds: NonNegative | None = Field(
        default=None,
        description=(
            "time from the first rank's opening to the last rank's closing, if opening and "
            "closing are timed"
        ),
    )
    stonewall: Stonewall | None = Field(
        default=None,
        description=(
            "state at the stonewall (--stonewall); all other figures describe the whole phase"
        ),
    )
    array: ArrayCosts | None = Field(default=None, description="only for the workload array")

    def rate(self, metric: str) -> float | None:
        """Returns bytes per second by a metric."""
        if metric == "total":
            return self.bytes / self.total_seconds if self.total_seconds else None
        value: float | None = getattr(self, f"rate_{metric}_bytes_per_second")
        return value


class FunctionTimes(Record):
    """One function's table as MADbench prints it: mean [min:max] over ranks, seconds."""

    function: str
    communication_seconds: Spread = Field(description="cc: calculation/communication, with waits")
    busy_work_seconds: Spread = Field(description="bw")
    read_seconds: Spread = Field(description="r: foreground read time")
    write_seconds: Spread = Field(description="w: foreground write time, durable sync included")
    total_seconds: Spread
    payload_seconds: Spread = Field(
        description="generating and checking the payload; outside every figure above"
    )


class Repetition(Record):
    """One execution of the configuration. Warm-ups are kept, and left out of every rate."""

    index: int
    warmup: bool
    outlier: bool = Field(
        description="true beyond 1.5 interquartile ranges; the repetition is kept and shown"
    )
    started_seconds: NonNegative = Field(description="since the start of the run")
    seconds: NonNegative
    order: int = Field(description="place in the randomised order of the whole job, from 0")
    phases: list[Phase]
    functions: list[FunctionTimes]
    metadata: list[ActionPhase] = Field(
        default_factory=list, description="only for the workload metadata; empty otherwise"
    )
    opening: list[OpeningPhase] = Field(
        default_factory=list, description="only for the workload open; empty otherwise"
    )


class Rate(Series):
    """One rate over the measured repetitions (warm-ups left out)."""

    unit: ClassVar[Unit] = "bytes/s"
    model_config = stored_in("bytes/s")
    direction: Direction
    metric: Metric
    headline: bool = Field(description="true for the metric that is compared with the expectation")


class PeakShare(Record):
    """A rate held against that of contiguous pieces, measured in turn with it."""

    direction: Direction
    peak_bytes_per_second: NonNegative = Field(description="median over measured repetitions")
    fraction: NonNegative = Field(
        description="median over the rounds of the span rate over the peak of the same round"
    )


class EffectiveRate(Record):
    """EAAR of an ASYNC run beside the rate of its SYNC sibling (Borrill et al., section 5).

    The sibling is the run of the same job with the same interface and file type; without one the
    synchronous fields are null. NBIN times the synchronous rate is what hiding all but one transfer
    would give.
    """

    direction: Direction
    eaar_bytes_per_second: NonNegative
    synchronous_bytes_per_second: float | None
    synchronous_run_id: str | None
    bins: int
    nbin_multiple_bytes_per_second: float | None


class Histogram(Latencies):
    """Latencies of one phase."""

    function: str
    direction: Direction


class NodePhase(Record):
    """One function in one direction on one node; times are of its slowest rank."""

    function: str
    direction: Direction
    bytes: Count
    io_seconds_max: NonNegative
    rate_bytes_per_second: float | None = Field(description="median over measured repetitions")


class Node(Record):
    """The ranks of one host."""

    host: str
    ranks: list[int]
    phases: list[NodePhase]


class TargetShare(Record):
    """The files of one directory, where the files lie in several; times of its slowest rank."""

    directory: str
    ranks: list[int]
    phases: list[NodePhase]


class PayloadError(Record):
    """A place where what was read is not what was written."""

    kind: Literal["flipped_bit", "short_read", "swapped_block", "stale_data", "zeros", "foreign"]
    file: str
    offset_bytes: int
    rank: int
    repetition: int
    function: str
    bytes_wrong: int
    text: str


class Verification(Record):
    """Whether what was read back was compared with what was written, and how."""

    performed: bool
    how: str
    seed: str = Field(description="64-bit seed of the payload in hexadecimal")
    compressible_percent: int
    bytes_verified: Count
    items_verified: Count | None = Field(
        default=None,
        description="number of files and directories that the workloads metadata and open checked",
    )
    errors: list[PayloadError]


class Anomaly(Record):
    """What is unusual about the transfers of one function in one direction."""

    function: str
    direction: Direction
    kind: str = Field(
        description=(
            "such as `modes`, `slow target`, `uneven allocation`, `decreasing`, `warm-up`, `tail`"
        )
    )
    text: str
    reasons: list[str] = Field(description="what separates, causes, and alternatives weighed")


class Clocks(Record):
    """How far the clocks of the ranks agree. Times are on rank 0's clock."""

    source: str
    max_offset_ns: int = Field(description="largest estimated offset of any rank from rank 0")
    error_bound_ns: Count
    measured_span_ns: Count
    error_fraction_of_span: NonNegative
    flagged: bool = Field(description="true when the error bound exceeds 1 % of the span")
    started_ns: int | None = Field(
        default=None,
        description=(
            "the start of the run, from which its times count, on rank 0's clock; null in results "
            "of earlier versions"
        ),
    )


class Quiet(Record):
    """Was the system otherwise quiet? Load averages are of rank 0's node."""

    load_before: float = Field(description="number of runnable processes, mean of one minute")
    load_after: float = Field(description="number of runnable processes, mean of one minute")
    other_processes_busy_fraction: float | None
    quiet: bool
    text: str


class Environment(Record):
    """Provenance, Uselton section 4. What differs between nodes is that of rank 0's."""

    hardware: dict[str, Any]
    system_software: dict[str, Any]
    file_system: dict[str, Any]
    nodes: DescribedNodes | None = Field(
        default=None, description="null in results of earlier versions"
    )
    test_application: dict[str, Any]
    quiet: Quiet


class OpenedHints(Record):
    """The hints of MPI-IO with which rank 0 opened its first file for writing, or for reading."""

    opened_for: Literal["writing", "reading"]
    given: dict[str, str] = Field(description="hints of --hints and of settings such as striping")
    effective: dict[str, str] = Field(
        description=(
            "hints in effect, as MPI_File_get_info tells, or ncmpi_inq_file_info with PnetCDF's own"
        )
    )


class Start(Record):
    """How a person started the job; `weir bench --again` starts it so again."""

    command_by_user: list[str] = Field(description="command line, as the shell split it into words")
    arguments: list[str] = Field(description="the words of the command that weir-bench receives")
    launcher: list[str] = Field(description="the launcher with its mapping of ranks")
    ranks: int
    directory: str = Field(description="the working directory, absolute")
    platform: str | None = Field(description="--platform, where one was given")
    environment: dict[str, str] = Field(
        description="variables of MPI, of I/O libraries and of Weir, by an allow-list"
    )


class Binary(Record):
    """A program or a library of Weir with which the run was made."""

    name: str = Field(description="as it was looked up, such as `weir-bench` or `libweir.so.0`")
    file: str = Field(description="its absolute path")
    sha256: str = Field(description="of the whole file, before the run")

    @property
    def short_hash(self) -> str:
        """Enough digits to tell two builds apart."""
        return self.sha256[:12]


class Run(Record):
    """``run.json``."""

    format: Literal["weir-run"]
    format_version: Literal[1]
    id: str
    workload: str
    label: str = Field(
        description="distinguishes the run from others of the same job, such as POSIX UNIQUE SYNC"
    )
    status: Literal["running", "complete", "failed", "interrupted"]
    failure: Failure | None
    started_utc: str
    finished_utc: str | None
    command: list[str]
    start: Start | None = Field(
        default=None, description="null if weir bench did not start the job"
    )
    binaries: list[Binary] = Field(
        default_factory=list,
        description=(
            "weir-bench, and the libraries of Weir that it is linked with dynamically; empty if "
            "weir did not start the job, and in results of earlier versions"
        ),
    )
    purpose: Purpose | None = Field(
        default=None, description="null if nobody said why the run was made"
    )
    parameters: dict[str, Parameter]
    plan: Plan
    expectation: Expectation | None
    verdict: Verdict | None
    repetitions: list[Repetition]
    rates: list[Rate]
    effective: list[EffectiveRate] = Field(
        default_factory=list, description="only for an ASYNC run; empty otherwise"
    )
    peaks: list[PeakShare] = Field(
        default_factory=list, description="only for the workload array with --peak; empty otherwise"
    )
    metadata: list[ActionResult] = Field(
        default_factory=list, description="only for the workload metadata; empty otherwise"
    )
    opening: list[OpeningStep] = Field(
        default_factory=list, description="only for the workload open; empty otherwise"
    )
    flag: Flag | None = Field(default=None, description="only for the workload flagfile")
    outputs: Outputs | None = Field(default=None, description="only for flash and s3d")
    sink: Sink | None = Field(default=None, description="only for the workload sink")
    messages: Messages | None = Field(
        default=None, description="only for madbench --messages; null otherwise"
    )
    histograms: list[Histogram]
    nodes: list[Node]
    targets: list[TargetShare] = Field(
        default_factory=list, description="empty if all files are in one directory"
    )
    verification: Verification
    spectrum: Spectrum | None = Field(
        default=None, description="only for madbench --full and madcap; null otherwise"
    )
    anomalies: list[Anomaly] | None = Field(
        default=None, description="found when the run is finalized; null if no events were examined"
    )
    clocks: Clocks | None
    environment: Environment | None
    opened_hints: list[OpenedHints] = Field(
        default_factory=list,
        description=(
            "empty if no file was opened by MPI-IO, with staging or an engine of Weir's library, "
            "and in results of earlier versions"
        ),
    )
    monitor: Monitor | None = Field(
        default=None, description="null if no monitor ran beside the job"
    )
    warnings: list[str]
    imported: Imported | None = Field(
        default=None, description="only for a run that another program measured; null otherwise"
    )
    digest: Digest | None = Field(
        default=None,
        description="null before the run is finalized, and in results of earlier versions",
    )

    def with_warnings(self, texts: Sequence[str]) -> Run:
        """Returns the run with further warnings, each of them once."""
        added = [text for text in texts if text not in self.warnings]
        return self.model_copy(update={"warnings": [*self.warnings, *added]}) if added else self
