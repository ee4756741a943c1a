"""Draws rates as a heat map: a row for each unit or each few of them, and a column for each time.

The size is bounded: of many units a row is the slowest of several, and adjacent cells of one colour
are one mark. Colours are steps of equal ratio, so that half the rate is the same difference
everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weir.report.chart import FULL_WIDTH, LinearScale, drawing, plot, text, time_axis
from weir.report.markup import Markup, coordinate, element, join
from weir.report.quantities import rate_text, rate_unit

MOST_ROWS = 48
CLASSES = 9
"""An odd number, so that a rate that varies little around the median has one colour."""
LEAST_RATIO = 4.0
"""The scale covers at least this ratio, so that noise looks like noise."""
OUTER = 0.02
"""Share of the cells at either end that the scale leaves out."""
LEFT, RIGHT, TOP = 118.0, 14.0, 26.0
HEIGHT, ROW_LEAST, ROW_MOST = 300.0, 6.0, 18.0
SWATCH, SWATCH_HEIGHT = 22.0, 9.0
LABEL_HEIGHT = 12.0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class HeatMap:
    """Rates in bytes per second by row and column; NaN where nothing moved."""

    names: Sequence[str]
    edges: Floats
    """Seconds, one more than columns."""
    rates: Floats


def first_of_rows(units: int) -> list[int]:
    """Returns the first unit of each row; with more units than rows some are put together."""
    rows = min(units, MOST_ROWS)
    return [row * units // rows for row in range(rows)]


def classes_of(rates: Floats) -> tuple[NDArray[np.int64], float, float]:
    """Returns each cell's step of the scale, -1 where nothing moved, and the ends of the scale."""
    known = rates[np.isfinite(rates)]
    low, middle, high = (float(one) for one in np.quantile(known, [OUTER, 0.5, 1 - OUTER]))
    if high < LEAST_RATIO * low:
        half = max(LEAST_RATIO**0.5, high / middle, middle / low)
        low, high = middle / half, middle * half
    with np.errstate(invalid="ignore", divide="ignore"):
        places = np.log(rates / low) / np.log(high / low) * CLASSES
    found = np.clip(np.nan_to_num(places, nan=-1.0), 0, CLASSES - 1).astype(np.int64)
    return np.where(np.isfinite(rates), found, -1), low, high


def draw(heat: HeatMap, title: str, axis: str, clock: str, description: str) -> Markup:
    """Returns the drawing of a map in which something moved; ``axis`` names the times."""
    classes, low, high = classes_of(heat.rates)
    rows = len(heat.names)
    height = float(min(max(HEIGHT / rows, ROW_LEAST), ROW_MOST))
    bottom = TOP + rows * height
    scale = LinearScale(float(heat.edges[0]), float(heat.edges[-1]), LEFT, FULL_WIDTH - RIGHT)
    columns = heat.rates.shape[1]
    cells = element(
        "g",
        [
            element("path", d=path, class_=f"heat heat-{step}")
            for step, path in enumerate(_paths(classes))
            if path
        ],
        transform=f"translate({coordinate(LEFT)} {coordinate(TOP)}) "
        f"scale({(scale.end - scale.start) / columns:.5f} {height:.5f})",
    )
    return drawing(
        FULL_WIDTH,
        bottom + 40,
        description,
        text(LEFT, 12, title, class_="label strong"),
        _scale(low, high),
        element(
            "rect", x=LEFT, y=TOP, width=scale.end - scale.start, height=bottom - TOP,
            class_="heat-ground",
        ),
        plot(scale, TOP, bottom, cells, heat_rows=rows),
        _names(heat.names, height),
        time_axis(scale, bottom, axis, clock),
    )  # fmt: skip


def _paths(classes: NDArray[np.int64]) -> list[str]:
    """Returns a path for each step, in units of cells: a line for adjacent cells of one row."""
    rows, columns = classes.shape
    flat = classes.ravel()
    begins = np.flatnonzero(np.diff(flat, prepend=-2) != 0)
    begins = np.union1d(begins, np.arange(rows) * columns)
    lengths = np.diff(np.append(begins, len(flat)))
    parts: list[list[str]] = [[] for _ in range(CLASSES)]
    for begin, length, step in zip(
        begins.tolist(), lengths.tolist(), flat[begins].tolist(), strict=True
    ):
        if step >= 0:
            row, column = divmod(begin, columns)
            parts[step].append(f"M{column} {row}.5h{length}")
    return ["".join(one) for one in parts]


def _scale(low: float, high: float) -> Markup:
    start = FULL_WIDTH - RIGHT - CLASSES * SWATCH - 74
    swatches = [
        element(
            "rect", x=start + step * SWATCH, y=4.0, width=SWATCH, height=SWATCH_HEIGHT,
            class_=f"heat-fill-{step}",
        )
        for step in range(CLASSES)
    ]  # fmt: skip
    return join(
        text(start - 6, 12, rate_text(low), class_="tick", anchor="end"),
        swatches,
        text(start + CLASSES * SWATCH + 6, 12, rate_text(high), class_="tick"),
    )


def _names(names: Sequence[str], height: float) -> Markup:
    step = max(1, int(np.ceil(LABEL_HEIGHT / height)))
    return join(
        text(LEFT - 8, TOP + (row + 0.5) * height + 4, name, class_="tick", anchor="end")
        for row, name in enumerate(names)
        if row % step == 0
    )


def csv_of(heat: HeatMap, of: str) -> str:
    """Returns a line for each row, with a rate for each column; empty where nothing moved.

    The first line has the unit and the starts of the columns.
    """
    unit = rate_unit(float(np.nanmax(heat.rates)))
    head = [f"{of} from second", unit.name, *(f"{edge:.6g}" for edge in heat.edges[:-1])]
    lines = [",".join(head)]
    for name, rates in zip(heat.names, (heat.rates / unit.size).tolist(), strict=True):
        cells = ("" if math.isnan(rate) else f"{rate:.3g}" for rate in rates)
        lines.append(f"{name.replace(',', ';')},,{','.join(cells)}")
    return "\n".join(lines) + "\n"
