"""Draws the spectrum that a run computed, beside the true one if its map was simulated."""

from __future__ import annotations

import math
from dataclasses import dataclass

from weir.report.chart import (
    HALF_WIDTH,
    LinearScale,
    LogScale,
    bottom_axis,
    drawing,
    figure,
    line,
    table,
    text,
)
from weir.report.markup import Markup, element, join
from weir.report.quantities import significant
from weir.report.sources import Source
from weir.results.spectrum_records import Spectrum, SpectrumBin

LEFT, RIGHT, TOP, PLOT = 46.0, 16.0, 12.0, 190.0
BAR_END = 4.0
LEAST_CORRECTION = 1e-16
"""Least size of a drawn correction, below a step's rounding: zero has no place on the axis."""


@dataclass(frozen=True)
class Power:
    """One bin with its estimate, as power per logarithm of l: l(l+1)C/2π at the bin's middle."""

    first: int
    last: int
    truth: float
    estimate: float
    error: float

    @property
    def middle(self) -> float:
        return (self.first + self.last) / 2


def power_of(entry: SpectrumBin) -> Power | None:
    """Returns the bin in the units of the figure; None without an estimate."""
    if entry.estimate is None or entry.error is None or entry.truth is None:
        return None
    middle = (entry.first_multipole + entry.last_multipole) / 2
    scale = middle * (middle + 1) / (2 * math.pi)
    return Power(
        entry.first_multipole,
        entry.last_multipole,
        entry.truth * scale,
        entry.estimate * scale,
        entry.error * scale,
    )


def render(source: Source) -> Markup | None:
    """Returns the spectrum with its convergence, or only the corrections without iterations."""
    spectrum = source.run.spectrum
    if spectrum is None or not spectrum.bins:
        return None
    powers = [power for entry in spectrum.bins if (power := power_of(entry)) is not None]
    if not powers:
        return _corrections(spectrum)
    panels = [_spectrum_panel(spectrum, powers)]
    if spectrum.iterations:
        panels.append(_convergence_panel(spectrum))
    return element("div", *panels, class_="pair")


def _corrections(spectrum: Spectrum) -> Markup:
    """Draws each bin's dC, for MADbench2 in full, whose data are ones and no map."""
    rows = [[_multipoles(entry), f"{entry.correction:.5e}"] for entry in spectrum.bins]
    caption = "Correction of the spectrum by one step, the result of the calculation"
    return table(["Multipoles", "dC"], rows, caption=caption, titled=True)


def _multipoles(entry: SpectrumBin) -> str:
    return f"{entry.first_multipole} to {entry.last_multipole}"


def _spectrum_panel(spectrum: Spectrum, powers: list[Power]) -> Markup:
    high = max(max(p.estimate + p.error, p.truth) for p in powers) * 1.08
    low = min(0.0, *(min(p.estimate - p.error, p.truth) for p in powers)) * 1.08
    across = LinearScale(0, powers[-1].last + 1, LEFT, HALF_WIDTH - RIGHT)
    up = LinearScale(low, high, TOP + PLOT, TOP)
    labels = [(tick, f"{tick:g}") for tick in across.ticks(6)]
    bottom = TOP + PLOT
    image = drawing(
        HALF_WIDTH,
        bottom + 38,
        "Estimated power by multipole: "
        + "; ".join(
            f"{p.first} to {p.last}: {significant(p.estimate)} ± {significant(p.error)}, "
            f"simulated with {significant(p.truth)}"
            for p in powers
        ),
        [_height(up, tick, f"{tick:g}") for tick in up.ticks(5)],
        bottom_axis(across, bottom, labels, "multipole l"),
        [
            line(across(p.first - 0.5), up(p.truth), across(p.last + 0.5), up(p.truth), "target")
            for p in powers
        ],
        [_estimate(p, across, up) for p in powers],
    )
    chi_square = ""
    if spectrum.chi_square is not None:
        chi_square = f" \u03c7\u00b2 {significant(spectrum.chi_square)} for {len(powers)} bins."
    caption = join(
        element("strong", "Spectrum"),
        " \u2013 l(l+1)C/2\u03c0 by bin of multipoles: what was found, with its standard error, "
        f"and the line that the map was simulated with.{chi_square}",
    )
    return figure("spectrum", caption, image, table=_table(spectrum), width=HALF_WIDTH)


def _height(up: LinearScale | LogScale, value: float, label: str) -> Markup:
    y = up(value)
    return join(
        line(LEFT, y, HALF_WIDTH - RIGHT, y, "grid"),
        text(LEFT - 6, y + 4, label, class_="tick", anchor="end"),
    )


def _estimate(power: Power, across: LinearScale, up: LinearScale) -> Markup:
    x = across(power.middle)
    high, low = up(power.estimate + power.error), up(power.estimate - power.error)
    deviation = (power.estimate - power.truth) / power.error
    tip = (
        f"l {power.first} to {power.last}: {significant(power.estimate)} ± "
        f"{significant(power.error)}, simulated with {significant(power.truth)}; "
        f"off by {deviation:+.2f} standard errors"
    )
    return join(
        line(x, high, x, low, "whisker"),
        line(x - BAR_END, high, x + BAR_END, high, "whisker"),
        line(x - BAR_END, low, x + BAR_END, low, "whisker"),
        element(
            "circle",
            cx=x,
            cy=up(power.estimate),
            r=4.0,
            class_="point write",
            data_value=repr(power.estimate),
            data_tip=tip,
        ),
    )


def _table(spectrum: Spectrum) -> Markup:
    rows = [
        [
            _multipoles(entry),
            f"{entry.truth:.4e}",
            f"{entry.estimate:.4e}",
            f"{entry.error:.4e}",
            f"{(entry.estimate - entry.truth) / entry.error:+.2f}",
        ]
        for entry in spectrum.bins
        if entry.truth is not None and entry.estimate is not None and entry.error is not None
    ]
    head = ["Multipoles", "simulated C", "found C", "standard error", "deviation / error"]
    return table(head, rows, caption="Spectrum by bin of multipoles")


def _convergence_panel(spectrum: Spectrum) -> Markup:
    steps = spectrum.iterations
    sizes = [max(step.largest_correction, LEAST_CORRECTION) for step in steps]
    # The limits are whole powers of ten, so that the ends of the axis have labels.
    low = 10.0 ** math.floor(math.log10(min(sizes)))
    high = 10.0 ** math.ceil(math.log10(max(*sizes, low * 10)))
    across = LinearScale(0.5, len(steps) + 0.5, LEFT, HALF_WIDTH - RIGHT)
    up = LogScale(low, high, TOP + PLOT, TOP)
    bottom = TOP + PLOT
    image = drawing(
        HALF_WIDTH,
        bottom + 38,
        "Largest correction by step, in standard errors: "
        + "; ".join(f"{number}: {size:.2g}" for number, size in enumerate(sizes, 1)),
        [_height(up, tick, _power_text(tick)) for tick in up.ticks()],
        bottom_axis(
            across,
            bottom,
            [(number, str(number)) for number in range(1, len(steps) + 1)],
            "iteration",
        ),
        [
            line(across(number), up(size), across(number + 1), up(sizes[number]), "median")
            for number, size in enumerate(sizes[:-1], 1)
        ],
        [
            element(
                "circle",
                cx=across(number),
                cy=up(size),
                r=4.0,
                class_="point read" if step.by_curvature else "point outlier",
                data_value=repr(step.largest_correction),
                data_tip=f"iteration {number}: largest correction {size:.3g} standard errors, "
                f"ln likelihood {step.log_likelihood:.6f}",
            )
            for number, (size, step) in enumerate(zip(sizes, steps, strict=True), 1)
        ],
    )
    ended = "It converged." if spectrum.converged else "It did not converge."
    caption = join(
        element("strong", "Convergence"),
        " \u2013 largest correction of a bin, in its standard errors. Open: steps by the expected "
        f"curvature; filled: by the likelihood's own (Newton\u2013Raphson). {ended}",
    )
    rows = [
        [
            str(number),
            f"{step.largest_correction:.3e}",
            f"{step.log_likelihood:.6f}",
            "own" if step.by_curvature else "expected",
        ]
        for number, step in enumerate(steps, 1)
    ]
    head = ["Iteration", "largest correction / error", "ln likelihood before", "curvature"]
    data = table(head, rows, caption="Steps of the iteration")
    return figure("convergence", caption, image, table=data, width=HALF_WIDTH)


def _power_text(value: float) -> str:
    return f"{value:g}" if 1e-3 <= value <= 1e3 else f"{value:.0e}"
