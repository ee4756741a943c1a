"""Prints what the shipped platforms predict for three papers, beside what the papers have.

usage: paper_predictions.py

1. MADbench2 (Borrill et al.): the rates of figures 5 and 6, for the configurations of table 1 on
   the machines of table 2; the rates that the paper prints in words; its findings, each `found` or
   `not found` in the predictions.
2. Uselton's equation 4 for Franklin: the platform's rate over the number of tasks, beside the
   equation with the constants from before the test and with those adjusted to it.
3. GLEAN's figure 3 (Vishwanath et al.): the share of the peak by POSIX messages on Intrepid.

Nothing runs, and nothing is adjusted to the papers' results: descriptions have what the papers say
of the machines. A finding that is not found is something that the description or the path model
lacks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from printed_numbers import rows_of

from weir.analysis.findings import Judgement, table
from weir.model import uselton
from weir.model.expectation import expect
from weir.model.flow import Flow
from weir.model.flow_of_plan import ranks_by_host
from weir.model.path_time import path_time, stages_of
from weir.platform.files import find_description
from weir.results.platform import Platform
from weir.results.platform_file import load_platform
from weir.results.schema import Parameter, Plan, PlannedPhase

GIGA = 1e9
MEGA = 1e6
MIB = 2**20
FILE_BLOCK = MIB
ALIKE = 1.1
"""Two rates are alike if neither is more than this many times the other."""
MUCH = 2.0
"""One rate is far above another if it is at least this many times the other."""
TASKS = (1, 2, 16, 20, 21, 32, 40, 64, 80, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
MACHINES = (
    "jaguar",
    "franklin",
    "thunder",
    "bassi",
    "jacquard",
    "columbia",
    "intrepid-2008",
    "surveyor",
)
RETUNED = ("jaguar", "franklin")
"""Machines whose files the paper also striped over all targets."""


def shipped_platform(name: str) -> Platform:
    return load_platform(find_description(name))


@dataclass(frozen=True)
class Point:
    """One bar of figure 5: a machine, its CPUs, UNIQUE or SHARED files, and striping over all."""

    machine: str
    cpus: int
    file_type: str
    all_targets: bool = False


@dataclass(frozen=True)
class Predicted:
    """Rates in bytes per second, and the stages that limit them."""

    read: float
    write: float
    read_limit: str
    write_limit: str


def plan_of(cpus: int, file_type: str) -> Plan:
    """Returns MADbench2's plan for a row of table 1, with whole file blocks to a rank."""
    row = next(row for row in rows_of("madbench2_configurations") if int(row["cpus"]) == cpus)
    share = 8 * int(row["npix"]) ** 2 / cpus
    transfer = -(-int(share) // FILE_BLOCK) * FILE_BLOCK
    bins = int(row["nbin"])

    def phase(function: str, direction: str) -> PlannedPhase:
        return PlannedPhase.model_validate(
            {
                "function": function,
                "direction": direction,
                "operations_per_rank": bins,
                "bytes_per_operation": transfer,
                "bytes_total": cpus * bins * transfer,
                "computations_per_operation": 0,
                "exposed_operations_per_rank": 1,
            }
        )

    return Plan.model_validate(
        {
            "ranks": cpus,
            "files": cpus if file_type == "UNIQUE" else 1,
            "memory_bytes_per_rank": 5 * transfer,
            "memory_bytes_total": 5 * transfer * cpus,
            "disk_bytes_total": cpus * bins * transfer,
            "phases": [
                phase("S", "write"),
                phase("W", "read"),
                phase("W", "write"),
                phase("C", "read"),
            ],
        }
    )


def predict(point: Point) -> Predicted:
    """Returns the expectation of the shipped platform for one bar of figure 5."""
    parameters: dict[str, Parameter] = {}
    if point.all_targets:
        parameters["stripe-count"] = Parameter(value="all", origin="command line")
    made = expect(
        plan_of(point.cpus, point.file_type),
        False,
        parameters,
        shipped_platform(point.machine),
        "2008-11-01T00:00:00Z",
    )
    by = {rate.direction: rate for rate in made.rates}
    return Predicted(
        by["read"].value,
        by["write"].value,
        by["read"].limiting_stage,
        by["write"].limiting_stage,
    )


def concurrencies(machine: str) -> list[int]:
    """Returns the CPUs of figure 5: to 1024 on Franklin and the Blue Gene/P, else to 256."""
    cpus = [int(row["cpus"]) for row in rows_of("madbench2_configurations")]
    large = machine in ("franklin", "intrepid-2008", "surveyor")
    return [count for count in cpus if count <= (1024 if large else 256)]


def points() -> Iterator[Point]:
    for machine in MACHINES:
        for all_targets in (False, True) if machine in RETUNED else (False,):
            for cpus in concurrencies(machine):
                for file_type in ("UNIQUE", "SHARED"):
                    yield Point(machine, cpus, file_type, all_targets)


def findings(rates: Mapping[Point, Predicted]) -> list[Judgement]:
    """Holds the predictions against what sections 4 and 6 say of figures 5 and 6."""

    def of(machine: str, cpus: int, kind: str = "UNIQUE", every: bool = False) -> Predicted:
        return rates[Point(machine, cpus, kind, every)]

    def gb(*values: float) -> str:
        return ", ".join(f"{value / GIGA:.2f}" for value in values)

    def order(kind: str) -> list[str]:
        return sorted(MACHINES, key=lambda one: -of(one, 256, kind).write)

    unique, shared = order("UNIQUE"), order("SHARED")
    jaguar = {cpus: of("jaguar", cpus).write for cpus in (16, 64, 256)}
    franklin = {cpus: of("franklin", cpus).write for cpus in (16, 64, 256, 1024)}
    flat = {one: [of(one, cpus, "SHARED").write for cpus in (16, 64, 256)] for one in RETUNED}
    columbia = [of("columbia", cpus).write for cpus in (16, 64, 256)]
    intrepid = {cpus: of("intrepid-2008", cpus).write for cpus in (64, 256, 1024)}
    surveyor = {cpus: of("surveyor", cpus) for cpus in (16, 64, 256)}
    jacquard = [of("jacquard", cpus).write for cpus in (64, 256)]
    bassi = [of("bassi", cpus).write for cpus in (64, 256)]
    thunder = [of("thunder", 256, kind).write for kind in ("UNIQUE", "SHARED")]
    tuned = {one: (of(one, 256, "SHARED", True).write, of(one, 256).write) for one in RETUNED}
    at_256 = [of(one, 256, kind).write for one in MACHINES for kind in ("UNIQUE", "SHARED")]
    spread = max(at_256) / min(at_256)
    three = ["bassi", "jacquard", "intrepid-2008"]
    return [
        Judgement(
            "4.1",
            "Jaguar at 16 CPUs is limited by what its nodes send",
            of("jaguar", 16).write_limit == "node to torus",
            f"{of('jaguar', 16).write_limit}, {gb(jaguar[16])}",
        ),
        Judgement(
            "4.2",
            "Jaguar gains from 64 to 256",
            jaguar[256] > ALIKE * jaguar[64],
            gb(*jaguar.values()),
        ),
        Judgement(
            "4.2",
            "Franklin reaches its peak at 64 CPUs, with little loss to 1024",
            franklin[64] == max(franklin.values()) and franklin[1024] * ALIKE > franklin[64],
            gb(*franklin.values()),
        ),
        Judgement(
            "4.1, 4.2",
            "shared files on Jaguar and Franklin are far below unique ones",
            all(MUCH * max(rate) <= of(one, 256).write for one, rate in flat.items()),
            "; ".join(gb(*rate) for rate in flat.values()),
        ),
        *(
            Judgement(
                "4.1, 4.2",
                f"rates of shared files on {one} are flat",
                max(rate) <= ALIKE * min(rate),
                gb(*rate),
            )
            for one, rate in flat.items()
        ),
        Judgement(
            "4.1, 4.2",
            "shared files over all targets reach unique ones",
            all(one * ALIKE >= other for one, other in tuned.values()),
            "; ".join(gb(*pair) for pair in tuned.values()),
        ),
        Judgement(
            "4.2, 4.3",
            "fastest with unique files at 256: Jaguar, Franklin, Thunder",
            unique[:3] == ["jaguar", "franklin", "thunder"],
            ", ".join(unique),
        ),
        Judgement(
            "4.6, 4.8",
            "slowest with unique files at 256: Columbia, then Surveyor",
            unique[-2:] == ["surveyor", "columbia"],
            ", ".join(unique[-2:]),
        ),
        Judgement(
            "4.3",
            "shared files on Thunder are far below unique ones",
            thunder[0] >= MUCH * thunder[1],
            gb(*thunder),
        ),
        Judgement(
            "4.4", "Bassi is saturated above 48 CPUs", bassi[1] < ALIKE * bassi[0], gb(*bassi)
        ),
        Judgement(
            "4.4, 4.5",
            "shared files on Bassi and Jacquard match unique ones",
            all(
                of(one, 256).write < ALIKE * of(one, 256, "SHARED").write
                for one in ("bassi", "jacquard")
            ),
            gb(*(of(one, 256, "SHARED").write for one in ("bassi", "jacquard"))),
        ),
        Judgement(
            "4.4", "Bassi is fastest with shared files", shared[0] == "bassi", ", ".join(shared)
        ),
        Judgement(
            "4.2",
            "Franklin with shared files is below Bassi, Jacquard and Intrepid",
            all(shared.index(one) < shared.index("franklin") for one in three),
            ", ".join(shared),
        ),
        Judgement(
            "4.7",
            "Intrepid with shared files is third, after Bassi and Jacquard",
            sorted(shared[:3]) == sorted(three),
            ", ".join(shared),
        ),
        Judgement(
            "4.5",
            "Jacquard still gains from 64 to 256",
            jacquard[1] > ALIKE * jacquard[0],
            gb(*jacquard),
        ),
        Judgement(
            "4.6",
            "Columbia has its peak at 16 CPUs",
            columbia[0] >= max(columbia) / ALIKE,
            gb(*columbia),
        ),
        Judgement(
            "4.7",
            "Intrepid scales from 64 to 1024",
            intrepid[256] > MUCH * intrepid[64] and intrepid[1024] > MUCH * intrepid[256],
            gb(*intrepid.values()),
        ),
        Judgement(
            "4.7",
            "Intrepid nears 8 GB/s at 1024",
            intrepid[1024] * ALIKE >= 8 * GIGA,
            gb(intrepid[1024]),
        ),
        Judgement(
            "4.8",
            "Surveyor is as fast at 16 as at 64, and four times as fast at 256",
            all(
                abs(at[64] - at[16]) < 0.1 * at[16] and at[256] * ALIKE >= 4 * at[64]
                for at in (
                    {cpus: one.read for cpus, one in surveyor.items()},
                    {cpus: one.write for cpus, one in surveyor.items()},
                )
            ),
            "; ".join(gb(one.read, one.write) for one in surveyor.values()),
        ),
        Judgement(
            "4.1, 4.3",
            "reading is slower than writing on Jaguar and Thunder",
            all(of(one, 256).read * ALIKE < of(one, 256).write for one in ("jaguar", "thunder")),
            "; ".join(gb(of(one, 256).read, of(one, 256).write) for one in ("jaguar", "thunder")),
        ),
        Judgement(
            "abstract", "rates at 256 differ by up to 75 times", spread > 75 / MUCH, f"{spread:.0f}"
        ),
    ]


def franklin_rate(tasks: int, *, evenly: bool) -> float:
    """Returns MB/s of Franklin's platform in the test of section 3.5: a file to a task, stripe 1.

    Files are whole on their targets, so one target may have a file more than others; with
    ``evenly`` each has the same number of bytes, as equation 4 supposes.
    """
    platform = shipped_platform("franklin")
    flow = Flow(
        "write",
        "durable",
        512,
        4 * MEGA,
        ranks_by_host(platform, tasks),
        whole_files=not evenly,
        files=tasks,
        units_per_file=1,
    )
    return path_time(stages_of(platform, flow), flow).rate / MEGA


def equation_4(note: str, tasks: int) -> float:
    """Returns MB/s by equation 4 with the constants from before or after the test."""
    named = {
        row["symbol"]: float(row["value"])
        for row in rows_of("uselton_models")
        if row["equation"] == "4" and row["note"].startswith(note)
    }
    return uselton.equation_4(
        tasks, int(named["O"]), named["r_S"], named["r_R"], named["T"], named["tau"]
    )


def posix_share(message_kib: int, cores: int) -> float:
    """Returns the predicted percentage of the collective network's peak on Intrepid."""
    platform = shipped_platform("intrepid")
    (network,) = (stage for stage in platform.stages if stage.name == "collective network")
    flow = Flow("write", "direct", 100, message_kib * 1024, ranks_by_host(platform, cores))
    groups = -(-len(flow.ranks_by_host) // 64)
    return 100 * path_time([network], flow).rate / (groups * network.rate_bytes_per_second.value)


def print_rates(rates: Mapping[Point, Predicted]) -> None:
    said = {
        (row["machine"], int(row["cpus"]), row["file_type"], row["direction"]): row
        for row in rows_of("madbench2_statements")
    }
    print("MADbench2, figures 5 and 6 as predicted (GB/s), and what the paper prints of them:\n")
    print("| machine | CPUs | files | read | write | limited by | paper |")
    print("|---|--:|---|--:|--:|---|---|")
    for point, rate in rates.items():
        told = []
        for direction in ("read", "write"):
            row = said.get((point.machine, point.cpus, point.file_type, direction))
            if row is not None and not point.all_targets:
                paper = float(row["GBps"])
                off = 100 * (getattr(rate, direction) / GIGA / paper - 1)
                where = f"{row['words']}, {row['section']}"
                told.append(f"{direction} {paper:g} ({off:+.0f} %): {where}")
        files = point.file_type + (" over all targets" if point.all_targets else "")
        print(
            f"| {point.machine} | {point.cpus} | {files} | {rate.read / GIGA:.2f} "
            f"| {rate.write / GIGA:.2f} | {rate.write_limit} | {'; '.join(told)} |"
        )


def main() -> int:
    rates = {point: predict(point) for point in points()}
    print_rates(rates)
    judged = findings(rates)
    print("\n" + table(judged, "section", "figures (GB/s)"))
    print(f"\n{sum(bool(one.holds) for one in judged)} of {len(judged)} findings are found.")
    print("\nUselton, equation 4 (MB/s): Franklin's platform, and the equation\n")
    print("| tasks | platform, whole files | platform, evenly | before | adjusted to the test |")
    print("|--:|--:|--:|--:|--:|")
    for tasks in TASKS:
        whole, evenly = (franklin_rate(tasks, evenly=one) for one in (False, True))
        before, after = equation_4("before", tasks), equation_4("after", tasks)
        print(f"| {tasks} | {whole:.0f} | {evenly:.0f} | {before:.0f} | {after:.0f} |")
    print("\nGLEAN, figure 3: POSIX messages on Intrepid, percent of the peak\n")
    print("| cores | KiB | predicted | paper |\n|--:|--:|--:|--:|")
    for row in rows_of("glean_io_mechanisms"):
        if row["interface"] == "posix":
            kib, cores = int(row["message_KiB_per_process"]), int(row["cores"])
            paper = row["percent_of_peak"]
            print(f"| {cores} | {kib} | {posix_share(kib, cores):.1f} | {paper} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
