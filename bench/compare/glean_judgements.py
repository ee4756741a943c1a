"""Judgements of GLEAN's findings from simulated outcomes.

Each is `found`, `not found` or `cannot be decided`; the last applies where the paper has no number
or the simulation leaves out what the finding is about. `fitted` marks findings to which a constant
of the platform was fitted: they show that the simulation does what it was told, and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from glean_outcomes import Simulate
from printed_numbers import rows_of
from programs import CLONE

from weir.analysis.findings import Judgement
from weir.sim.case import load_case
from weir.sim.job import Asked

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
WITHIN = 0.10
"""Relative difference up to which a figure of the paper is found."""
PEAK_OF_A_GROUP = 731 * MIB
"""Section 2.3: what the network of an I/O group can carry."""
CORES_OF_A_GROUP = 256
ALIKE = 0.10
"""Rates that differ by less are not very different, as section 5.1.1 has it."""
CASES = {
    name: load_case(CLONE / "cases" / f"glean-{name}.toml")
    for name in (*(f"figure{number}" for number in (3, 6, 7, 8, 9, 10, 11, 12, 13)), "ways-out")
}
"""What is simulated for each figure."""
SIZES = tuple(size // KIB for size in CASES["figure3"].numbers("bytes"))
"""KiB of a process in figures 3 and 6."""
(REPEATED,) = CASES["figure8"].numbers("steps")
"""Steps of a benchmark that repeats without a meeting."""

TABLE_1 = {
    int(row["intrepid_cores"]): (int(row["eureka_nodes"]), float(row["measured_GiBps"]))
    for row in rows_of("glean_end_to_end")
}
"""Stager nodes and measured GiB/s by cores."""
PRINTED_SHARES: dict[tuple[str, int], dict[int, float]] = {
    (strategy, cores): {
        int(row["message_KiB_per_process"]): float(row["percent_of_peak"]) / 100
        for row in rows_of("glean_io_mechanisms")
        if int(row["cores"]) == cores and row["interface"] == interface
    }
    # Section 3 has one more number, of POSIX at 1 MiB.
    | ({1024: 0.93} if strategy == "posix" else {})
    for strategy, interface in (("posix", "posix"), ("mpi-io", "mpi_collective"))
    for cores in (4096, 32_768)
}
"""Shares of the peak by KiB of a process, for strategies and cores: figure 3."""
NUMBERS_OF_AGGREGATORS = CASES["figure6"].numbers("aggregators")
FIGURE_7_SIZES = tuple(size // KIB for size in CASES["figure7"].numbers("bytes"))
NUMBERS_OF_STAGERS = CASES["figure9"].numbers("stagers")
WHOLE = 131_072
"""Cores of the largest run in table 1."""
RACK = 4096


@dataclass(frozen=True)
class Output:
    """What an application writes at once, as section 6 has it."""

    where: str
    name: str
    job: Asked
    paper: float | None  # GiB/s to the stager nodes; none: not in print

    @property
    def cores(self) -> int:
        return self.job.ranks


OUTPUTS_OF = {"figure 11": "FLASH", "figure 12": "FLASH", "figure 13": "S3D"}
"""Applications by the figures of their outputs."""
NAMES: dict[str, tuple[tuple[str, float | None], ...]] = {
    "figure 11": (
        ("FLASH checkpoint of 12 GiB", None),
        ("FLASH checkpoint of 96 GiB", 31.3),
        ("FLASH plot file of 16 GiB", 27.2),
    ),
    "figure 12": (
        ("FLASH plot file of 3.4 GiB", 26.0),
        ("FLASH checkpoint of 24 GiB", 31.0),
    ),
    "figure 13": (
        ("S3D, a block of 22 x 36 x 22", 5.1),
        ("S3D, a block of 22 x 36 x 22", 26.2),
        ("S3D, a domain of 512^3", 4.8),
        ("S3D, a domain of 512^3", 25.7),
    ),
}
"""Outputs in the order of the case file, with the paper's GiB/s."""
OUTPUTS = tuple(
    Output(where, name, job, paper)
    for where, names in NAMES.items()
    for (name, paper), job in zip(names, CASES[where.replace(" ", "")].jobs, strict=True)
)


def is_near(value: float, paper: float) -> bool:
    return abs(value / paper - 1) <= WITHIN


def share(run: Simulate, cores: int, kib: int, strategy: str) -> float:
    """Returns the share of the peak out of the compute nodes."""
    job = CASES["figure3"].job(ranks=cores, bytes=kib * KIB, strategy=strategy)
    rate = run(job).bytes_per_second
    return rate / (PEAK_OF_A_GROUP * cores / CORES_OF_A_GROUP)


def to_io_nodes(cores: int, kib: int, strategy: str) -> Asked:
    """Returns what figure 7 measures: data that I/O nodes throw away."""
    return CASES["figure7"].job(ranks=cores, bytes=kib * KIB, strategy=strategy)


def of_aggregators(number: int, kib: int) -> Asked:
    """Returns what figure 6 measures."""
    return CASES["figure6"].job(aggregators=number, bytes=kib * KIB)


def percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def gib(rate: float) -> str:
    return f"{rate / GIB:.1f}"


def mechanisms(run: Simulate) -> list[Judgement]:
    """Judges figure 3 and section 3."""
    fitted = {("posix", 4096), ("mpi-io", 4096), ("mpi-io", 32_768)}
    judgements = []
    for (strategy, cores), figures in PRINTED_SHARES.items():
        for kib, told in figures.items():
            found = share(run, cores, kib, strategy)
            judgements.append(
                Judgement(
                    "figure 3",
                    f"{strategy}, {cores} cores, {kib} KiB: {percent(told)} of the peak",
                    is_near(found, told),
                    f"{percent(found)} ({percent(told)})",
                    fitted=(strategy, cores) in fitted and (strategy == "posix" or kib == 4),
                )
            )
    behind = [
        kib
        for kib in SIZES
        if share(run, 32_768, kib, "posix") <= share(run, 32_768, kib, "mpi-io")
    ]
    judgements.append(
        Judgement(
            "section 3",
            "with 32,768 processes POSIX is faster than collective I/O for all sizes",
            not behind,
            f"not at {behind} KiB" if behind else f"at all of {SIZES[0]} to {SIZES[-1]} KiB",
        )
    )
    largest = SIZES[-1]
    half = share(run, 32_768, largest, "mpi-io") / share(run, 32_768, largest, "posix")
    judgements.append(
        Judgement(
            "section 3",
            f"collective I/O has half of POSIX's rate at {largest} KiB on 32,768 cores",
            is_near(half, 0.5),
            f"{half:.2f} (0.5); there the machine's collective calls leave the gathering out after "
            "they have agreed on offsets, and the simulated ones gather",
        )
    )
    return judgements


def aggregators(run: Simulate) -> list[Judgement]:
    """Judges figure 6 and section 5.1.1: 1024 cores."""
    numbers = NUMBERS_OF_AGGREGATORS
    rates = {
        kib: {n: run(of_aggregators(n, kib)).bytes_per_second for n in numbers} for kib in SIZES
    }
    beaten = [kib for kib in SIZES if rates[kib][4] < (1 - ALIKE) * max(rates[kib].values())]
    most = max(max(row.values()) / row[4] for row in rates.values())
    small = rates[2]
    spread = max(
        max(row[n] for n in (4, 8, 16)) / min(row[n] for n in (4, 8, 16))
        for kib, row in rates.items()
        if kib > 64
    )
    two = {kib: row[2] / row[4] for kib, row in rates.items()}
    return [
        Judgement(
            "figure 6",
            "four aggregators are best, or nearly, for all sizes",
            not beaten,
            f"beaten by up to {percent(most - 1)}; at 2 KiB "
            + ", ".join(f"{n}: {gib(small[n])}" for n in numbers)
            + " GiB/s",
        ),
        Judgement(
            "figure 6",
            "two fall short at small sizes",
            two[2] < 1 - ALIKE,
            f"{two[2]:.2f} of the rate of four at 2 KiB",
        ),
        Judgement(
            "figure 6",
            "two fall short again at large sizes",
            two[4096] < 1 - ALIKE,
            f"{two[4096]:.2f} of the rate of four at 4096 KiB",
        ),
        Judgement(
            "figure 6",
            "beyond 64 KiB the difference between four and sixteen is not very significant",
            spread - 1 <= ALIKE,
            f"up to {percent(spread - 1)}",
        ),
    ]


def cores_of_figure_7(most_cores: int) -> list[int]:
    return [n for n in CASES["figure7"].numbers("ranks") if n <= most_cores]


def strong_scaling(run: Simulate, most_cores: int) -> dict[int, float]:
    """Returns seconds of a step of 1 GiB by cores: figure 8."""
    return {
        job.ranks: run(job).seconds / job.steps
        for job in CASES["figure8"].jobs
        if job.ranks <= most_cores
    }


def scaling(run: Simulate, most_cores: int) -> list[Judgement]:
    """Judges figures 7 and 8."""
    cores = cores_of_figure_7(most_cores)
    if len(cores) < 2:
        return []
    judgements = []
    for strategy in ("glean", "posix"):
        off = []
        for kib in (2, 64, 4096):
            rates = [run(to_io_nodes(n, kib, strategy)).bytes_per_second for n in cores]
            off.append(rates[-1] / rates[0] / (cores[-1] / cores[0]))
        judgements.append(
            Judgement(
                "figure 7",
                f"{strategy} scales perfectly from {cores[0]} to {cores[-1]} cores",
                all(is_near(one, 1) for one in off),
                ", ".join(f"{one:.3f}" for one in off) + " of linear at 2, 64, 4096 KiB",
            )
        )
    rate_of = {
        (strategy, kib): run(to_io_nodes(cores[-1], kib, strategy)).bytes_per_second
        for strategy in ("glean", "posix", "mpi-io")
        for kib in FIGURE_7_SIZES
    }
    grown = [
        rate_of["mpi-io", kib]
        / run(to_io_nodes(cores[0], kib, "mpi-io")).bytes_per_second
        / (cores[-1] / cores[0])
        for kib in (2, 64, SIZES[-1])
    ]
    judgements.append(
        Judgement(
            "figure 7",
            f"collective I/O fails to scale from {cores[0]} to {cores[-1]} cores",
            all(one < 1 - WITHIN for one in grown),
            ", ".join(f"{one:.3f}" for one in grown)
            + f" of linear at 2, 64, {SIZES[-1]} KiB; contention of the exchange's messages in the "
            "network is not simulated",
        )
    )
    closeness = {kib: rate_of["posix", kib] / rate_of["glean", kib] for kib in (2, 64, SIZES[-1])}
    judgements.append(
        Judgement(
            "figure 7",
            "POSIX approaches glean at large sizes",
            closeness[2] < closeness[64] < closeness[SIZES[-1]]
            and closeness[SIZES[-1]] >= 1 - ALIKE,
            ", ".join(f"{kib} KiB: {one:.2f}" for kib, one in closeness.items())
            + f" of its rate at {cores[-1]} cores",
        )
    )
    for other, paper in (("posix", 30), ("mpi-io", 400)):
        best = max(rate_of["glean", kib] / rate_of[other, kib] for kib in (2, 4, 16, 64))
        judgements.append(
            Judgement(
                "figure 7",
                f"glean is up to {paper} times as fast as {other} at {cores[-1]} cores",
                is_near(best, paper) if cores[-1] == 65_536 else None,
                f"{best:.0f} times ({paper})",
            )
        )
    judgements.append(_strong(run, most_cores))
    return judgements


def _strong(run: Simulate, most_cores: int) -> Judgement:
    timed = strong_scaling(run, most_cores)
    cores, times = list(timed), list(timed.values())
    efficiency = times[0] / times[-1] / (cores[-1] / cores[0])
    return Judgement(
        "figure 8",
        f"1 GiB from 256 to {cores[-1]} cores: nearly perfect strong scaling",
        efficiency >= 1 - WITHIN,
        f"{percent(efficiency)} of {cores[-1] // cores[0]} times; "
        + ", ".join(f"{n}: {1e3 * t:.3g} ms" for n, t in zip(cores, times, strict=True)),
    )


def stager_nodes(run: Simulate) -> list[Judgement]:
    """Judges figure 9: 16,384 cores over numbers of stager nodes."""
    numbers = NUMBERS_OF_STAGERS
    outcomes = {n: run(CASES["figure9"].job(stagers=n)) for n in numbers}
    rates = {n: one.bytes_per_second for n, one in outcomes.items()}
    told = ", ".join(f"{n}: {gib(rate)}" for n, rate in rates.items())
    best = max(rates.values())
    flat = next(n for n in numbers if rates[n] >= (1 - WITHIN) * best)
    return [
        Judgement(
            "figure 9",
            "the rate grows with the stager nodes, and is flat from 36 to 48 nodes on",
            36 <= flat <= 48,
            f"flat from {flat}; {told} GiB/s",
        ),
        Judgement(
            "figure 9",
            "the plateau is at 22.1 GiB/s",
            is_near(best / GIB, 22.1),
            f"{gib(best)} (22.1), limit: {outcomes[numbers[-1]].limit.name}",
        ),
    ]


def end_to_end(run: Simulate, most_cores: int) -> list[Judgement]:
    """Judges figure 10 and table 1, one line for each row of the table."""
    out = run(out_of_rack()).bytes_per_second / GIB
    judgements = [
        Judgement(
            "section 5.2.1",
            f"a rack of {RACK} cores sends at most 6.7 GiB/s out over the external network",
            is_near(out, 6.7),
            f"{out:.2f} (6.7; 16 I/O nodes of 420 MiB/s are 6.56)",
        ),
        _both_ways(run, most_cores),
    ]
    repeated: list[str] = []
    for cores, (stagers, paper) in TABLE_1.items():
        if cores > most_cores:
            continue
        outcome = run(CASES["figure10"].job(ranks=cores, stagers=stagers, steps=1))
        rate = outcome.bytes_per_second / GIB
        more = CASES["figure10"].job(ranks=cores, stagers=stagers, steps=4)
        again = run(more).bytes_per_second / GIB
        repeated.append(f"{again:.1f}")
        judgements.append(
            Judgement(
                "table 1",
                f"{cores} cores, {stagers} stager nodes: {paper} GiB/s",
                is_near(rate, paper),
                f"{rate:.1f} ({paper}), {100 * (rate / paper - 1):+.0f} %; limit: "
                f"{outcome.limit.name}, busy {percent(outcome.limit.busy_share)}",
            )
        )
    judgements.append(
        Judgement(
            "table 1",
            "how many steps there were, and whether they met, is not in the paper",
            None,
            "four steps without a meeting: " + ", ".join(repeated) + " GiB/s",
        )
    )
    return judgements


def out_of_rack() -> Asked:
    """Returns a rack that sends by itself to more stager nodes than it can fill."""
    return CASES["ways-out"].job(ranks=RACK)


def ways_out() -> tuple[Asked, Asked]:
    """Returns what sends all to stager nodes, and what sends all to file servers."""
    to_stagers, to_servers = (
        CASES["ways-out"].job(ranks=WHOLE, to=to) for to in ("stagers", "storage")
    )
    return to_stagers, to_servers


def _both_ways(run: Simulate, most_cores: int) -> Judgement:
    """Returns that it cannot be decided: a job has one destination, and the paper no size of it."""
    why = "two ways out in one job are not simulated, and the paper does not say how many cores"
    if most_cores >= WHOLE:
        each = [run(asked).bytes_per_second / GIB for asked in ways_out()]
        why += (
            f"; {WHOLE} cores reach {each[0]:.1f} to 100 stager nodes and {each[1]:.1f} to the "
            f"file system, each alone, and so at most {sum(each):.1f} together (84); file servers "
            "that only receive, as the paper's seem to, are no way out of the described machine"
        )
    return Judgement(
        "section 5.2.2",
        "84 GiB/s to 128 file servers and 100 stager nodes together",
        None,
        why,
    )


def applications(run: Simulate, most_cores: int) -> list[Judgement]:
    """Judges figures 11 to 13: FLASH and S3D through stager nodes, from a common start."""
    rates = {
        output: run(output.job).bytes_per_second / GIB
        for output in OUTPUTS
        if output.cores <= most_cores
    }
    judgements = [
        Judgement(
            output.where,
            f"{output.name}, {output.cores} cores, {output.job.stagers} stager "
            f"nodes: {output.paper} GiB/s",
            is_near(rate, output.paper),
            f"{rate:.1f} ({output.paper}), {100 * (rate / output.paper - 1):+.0f} %; limit: "
            f"{run(output.job).limit.name}",
        )
        for output, rate in rates.items()
        if output.paper is not None
    ]
    checkpoints = [rates[one] for one in OUTPUTS[:2] if one in rates]
    if len(checkpoints) == 2:
        judgements.append(
            Judgement(
                "figure 11",
                "the throughput of checkpoints grows with the cores, as more I/O nodes take part",
                checkpoints[1] > (1 + WITHIN) * checkpoints[0],
                " and ".join(f"{one:.1f}" for one in checkpoints) + " GiB/s",
            )
        )
    judgements += _baselines(run, most_cores)
    judgements.append(
        Judgement(
            "section 6.1",
            "16.3 GiB/s from 32,768 cores through 72 stager nodes to the file system",
            None,
            "what is behind stagers is not simulated",
        )
    )
    return judgements


def _baselines(run: Simulate, most_cores: int) -> list[Judgement]:
    """Returns what cannot be decided: the simulation has no cost of GPFS's locks and metadata."""
    judgements = []
    for output, factor in ((OUTPUTS[5], 2.5), (OUTPUTS[6], 4.5)):
        if output.cores > most_cores:
            continue
        stored = run(replace(output.job, strategy="mpi-io", to="storage", stagers=0))
        staged = run(output.job)
        found = staged.bytes_per_second / stored.bytes_per_second
        judgements.append(
            Judgement(
                output.where,
                f"{output.name}, {output.cores} cores: {factor} times MPI's collective I/O",
                None,
                f"{found:.1f} times ({factor}) without locks and metadata of GPFS, which are not "
                "simulated",
            )
        )
    judgements.append(
        Judgement(
            "figures 11 to 13",
            "factors over parallel netCDF and HDF5",
            None,
            "their own calls and metadata are not simulated",
        )
    )
    return judgements


def counts(judgements: Sequence[Judgement]) -> dict[str, int]:
    """Returns how many findings have each word, fitted ones apart."""
    found: dict[str, int] = {}
    for one in judgements:
        word = f"{one.word}, fitted" if one.fitted else one.word
        found[word] = found.get(word, 0) + 1
    return found
