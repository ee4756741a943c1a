"""Draws figures 3 and 6 to 13 of the GLEAN study: simulated curves, and what the paper prints.

Curves are drawn as a report draws what is expected, and the paper's numbers as it draws what was
measured. Where the paper has a curve without numbers, there is only the simulated one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from glean_judgements import (
    CASES,
    FIGURE_7_SIZES,
    GIB,
    KIB,
    NUMBERS_OF_AGGREGATORS,
    NUMBERS_OF_STAGERS,
    OUTPUTS,
    OUTPUTS_OF,
    PRINTED_SHARES,
    REPEATED,
    SIZES,
    TABLE_1,
    cores_of_figure_7,
    of_aggregators,
    share,
    strong_scaling,
    to_io_nodes,
)
from glean_outcomes import Simulate
from printed_numbers import rows_of

from weir.analysis.campaign_summary import level_text
from weir.report.chart import figure, table
from weir.report.line_chart import WHOLE, Frame, Point, Rule, Series, colours, legend, line_chart
from weir.report.markup import Markup, element, join
from weir.report.page import document
from weir.report.quantities import RATE_UNITS, TIME_UNITS, Unit, fitting_unit
from weir.results.campaign import Value
from weir.results.folder import write_atomically

SHARE_UNITS = (Unit("%", 0.01),)
BYTES, CORES, STAGERS, OUTPUT = "bytes", "cores", "stager nodes", "output"
NOTHING_PRINTED = "The paper prints no numbers of this figure."


Curve = tuple[str, list[Point], list[Point]]
"""The name of a curve, its simulated points, and the paper's."""


@dataclass(frozen=True)
class Figure:
    """What is drawn of one figure of the paper."""

    number: str
    title: str
    said: str
    factor: str
    series: list[Series]
    rules: Sequence[Rule] = ()
    units: Sequence[Unit] = RATE_UNITS
    frame: Frame = WHOLE


def points(values: Iterable[tuple[Value, float]]) -> list[Point]:
    return [Point(level, value, value, value) for level, value in values]


def coloured(curves: Sequence[Curve]) -> list[Series]:
    return [
        Series(name, "write", place, paper, simulated, own_colour=colour)
        for place, ((name, simulated, paper), colour) in enumerate(
            zip(curves, colours(len(curves)), strict=True)
        )
    ]


def mechanisms(run: Simulate, most_cores: int) -> Figure:
    del most_cores
    curves: list[Curve] = []
    for (strategy, cores), printed in PRINTED_SHARES.items():
        simulated = [(kib * KIB, share(run, cores, kib, strategy)) for kib in SIZES]
        paper = [(kib * KIB, told) for kib, told in printed.items()]
        curves.append((f"{strategy}, {cores} cores", points(simulated), points(paper)))
    return Figure(
        "3",
        "I/O mechanisms, data to the I/O nodes",
        "Share of the peak out of the compute nodes over the bytes of a process. posix has the "
        "same for both numbers of cores.",
        BYTES,
        coloured(curves),
        units=SHARE_UNITS,
    )


def aggregators(run: Simulate, most_cores: int) -> Figure:
    del most_cores
    curves: list[Curve] = [
        (
            f"{number} aggregators",
            points((kib * KIB, run(of_aggregators(number, kib)).bytes_per_second) for kib in SIZES),
            [],
        )
        for number in NUMBERS_OF_AGGREGATORS
    ]
    return Figure(
        "6",
        "Numbers of aggregators in an I/O group, 1024 cores",
        f"Rate to the I/O nodes over the bytes of a process. {NOTHING_PRINTED}",
        BYTES,
        coloured(curves),
    )


def strategies(run: Simulate, most_cores: int) -> Figure:
    cores = cores_of_figure_7(most_cores)[-1]
    curves: list[Curve] = [
        (
            strategy,
            points(
                (kib * KIB, run(to_io_nodes(cores, kib, strategy)).bytes_per_second)
                for kib in FIGURE_7_SIZES
            ),
            [],
        )
        for strategy in ("glean", "posix", "mpi-io")
    ]
    return Figure(
        "7",
        f"I/O mechanisms to the I/O nodes, {cores} cores",
        f"Rate over the bytes of a process. {NOTHING_PRINTED} Of 65,536 cores it says that glean "
        "is up to 30 times as fast as POSIX and up to 400 times as fast as collective I/O.",
        BYTES,
        coloured(curves),
        frame=Frame(is_logarithmic=True),
    )


def strong(run: Simulate, most_cores: int) -> Figure:
    times = strong_scaling(run, most_cores)
    first, begun = next(iter(times.items()))
    perfect = Rule("perfect scaling", "write", [(n, begun * first / n) for n in times])
    return Figure(
        "8",
        f"1 GiB to the I/O nodes from {first} to {max(times)} cores",
        f"Time of a step of glean, mean of {REPEATED}. {NOTHING_PRINTED}",
        CORES,
        coloured([("glean", points(times.items()), [])]),
        [perfect],
        units=TIME_UNITS,
        frame=Frame(is_logarithmic=True),
    )


def stager_nodes(run: Simulate, most_cores: int) -> Figure:
    del most_cores
    simulated = [
        (number, run(CASES["figure9"].job(stagers=number)).bytes_per_second)
        for number in NUMBERS_OF_STAGERS
    ]
    ends = (36, NUMBERS_OF_STAGERS[-1])
    return Figure(
        "9",
        "16,384 cores to stager nodes",
        "Rate over the number of stager nodes. The paper prints the plateau and the ideal.",
        STAGERS,
        coloured([("glean", points(simulated), [])]),
        [
            Rule("the paper's plateau, 22.1 GiB/s", "read", [(n, 22.1 * GIB) for n in ends]),
            Rule(
                "the paper's ideal, 26.8 GiB/s",
                "read",
                [(n, 26.8 * GIB) for n in ends],
                "dash-dotted",
            ),
        ],
    )


def end_to_end(run: Simulate, most_cores: int) -> Figure:
    rows = {cores: row for cores, row in TABLE_1.items() if cores <= most_cores}
    capacity = {
        int(row["intrepid_cores"]): min(
            float(row["intrepid_capacity_GiBps"]), float(row["eureka_capacity_GiBps"])
        )
        for row in rows_of("glean_end_to_end")
    }
    simulated = [
        (cores, run(CASES["figure10"].job(ranks=cores, steps=1)).bytes_per_second) for cores in rows
    ]
    paper = [(cores, rate * GIB) for cores, (_, rate) in rows.items()]
    return Figure(
        "10",
        "Cores to stager nodes, with table 1",
        "Rate over the cores, each with the stager nodes of table 1.",
        CORES,
        coloured([("glean", points(simulated), points(paper))]),
        [
            Rule(
                "the paper's capacity of the slower side",
                "read",
                [(cores, capacity[cores] * GIB) for cores in rows],
            )
        ],
    )


def application(where: str) -> Callable[[Simulate, int], Figure]:
    """Returns what draws one of the figures of applications."""

    def drawn(run: Simulate, most_cores: int) -> Figure:
        outputs = [one for one in OUTPUTS if one.where == where and one.cores <= most_cores]
        # Labels have room for no more than what the output is and its cores.
        program = OUTPUTS_OF[where]
        known = (program, ",", " ", "a block of ")
        names = []
        for one in outputs:
            name = one.name
            for words in known:
                name = name.removeprefix(words)
            names.append(f"{name}, {one.cores}")
        simulated = [run(one.job).bytes_per_second for one in outputs]
        paper = [
            (name, one.paper * GIB)
            for name, one in zip(names, outputs, strict=True)
            if one.paper is not None
        ]
        return Figure(
            where.removeprefix("figure "),
            f"Outputs of {program} to stager nodes",
            "Rates of an output from a common start, by output and cores; the paper's baselines "
            "into GPFS are not simulated.",
            OUTPUT,
            coloured([("glean", points(zip(names, simulated, strict=True)), points(paper))]),
        )

    return drawn


FIGURES: tuple[Callable[[Simulate, int], Figure], ...] = (
    mechanisms,
    aggregators,
    strategies,
    strong,
    stager_nodes,
    end_to_end,
    *(application(where) for where in OUTPUTS_OF),
)


def figures(run: Simulate, most_cores: int) -> list[Figure]:
    """Returns all figures, without what larger machines reach."""
    return [drawn(run, most_cores) for drawn in FIGURES]


def _text(units: Sequence[Unit], value: float | None) -> str:
    return "" if value is None else fitting_unit(units, value).text(value)


def _table(one: Figure) -> Markup:
    rows = []
    for series in one.series:
        paper = {point.level: point.value for point in series.points}
        simulated = {point.level: point.value for point in series.expected}
        for level in dict.fromkeys([*simulated, *paper]):
            found, told = simulated.get(level), paper.get(level)
            off = f"{100 * (found / told - 1):+.0f} %" if found and told else ""
            texts = [_text(one.units, found), _text(one.units, told), off]
            rows.append([series.name, level_text(one.factor, level), *texts])
    head = ["", one.factor, "simulated", "the paper", "difference"]
    return table(head, rows, caption=f"Figures of figure {one.number}", numeric_from=2)


def write_page(folder: Path, one: Figure) -> Path:
    """Writes a figure as a page of HTML into the folder, and returns its path."""
    title = f"GLEAN, figure {one.number}, on intrepid: {one.title}"
    has_paper = any(series.points for series in one.series)
    how = " Marks are the paper's numbers, where it prints any." if has_paper else ""
    image = line_chart(
        one.factor,
        one.factor,
        one.series,
        rules=one.rules,
        description=f"{title}. {one.said}",
        units=one.units,
        frame=one.frame,
    )
    caption = f"{one.said} What is called expected, dashed or a bar, is simulated.{how}"
    drawn = figure(
        f"glean-figure-{one.number}",
        caption,
        image,
        legend=legend(one.series, one.rules),
        table=_table(one),
    )
    main = element("main", element("h1", title, id="result"), drawn)
    path = folder / f"figure-{one.number}.html"
    return write_atomically(path, document(title, join(), main))
