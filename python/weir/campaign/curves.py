"""Fits a curve of the model to a campaign's measurements over its first factor.

The model chooses the form by held-out samples (``weir.model.curves``). The curve is fitted after
the runs: it describes them and is not an expectation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from weir.analysis.campaign_summary import Cell
from weir.model.curves import Curve as FittedCurve
from weir.model.curves import rate_over_buffer, rate_over_tasks, rate_over_transfer
from weir.results.campaign import CURVES_FILE, Campaign, Curve, CurveKind, Curves
from weir.results.expectations import Direction
from weir.results.folder import write_atomically

FITS: Mapping[CurveKind, Callable[[Sequence[float], Sequence[float]], FittedCurve]] = {
    "buffer": rate_over_buffer,
    "transfer": rate_over_transfer,
    "tasks": rate_over_tasks,
}
LEAST_LEVELS = 4
POINTS_PER_CURVE = 120


def write_curves(path: Path, campaign: Campaign, cells: Sequence[Cell]) -> Path | None:
    """Fits the campaign's curve and writes ``curves.json``; returns None if it requests none."""
    if campaign.curve is None or not campaign.factors:
        return None
    name = campaign.factors[0].names[0]
    curves = []
    directions: list[Direction] = ["write", "read"]
    for direction in directions:
        measured = [
            (float(campaign.combinations[cell.combination][name]), cell.median)
            for cell in cells
            if cell.direction == direction and cell.metric != "foreground"
        ]
        curve = fit_curve(campaign.curve, name, direction, measured)
        if curve is not None:
            curves.append(curve)
    record = Curves(format="weir-curves", format_version=1, curves=curves)
    return write_atomically(path / CURVES_FILE, record.model_dump_json(indent=1) + "\n")


def fit_curve(
    kind: CurveKind, factor: str, direction: Direction, measured: Sequence[tuple[float, float]]
) -> Curve | None:
    """Returns the curve and how well it fits; None for fewer than four levels."""
    points = sorted(measured)
    levels = [level for level, _ in points]
    if len(set(levels)) < LEAST_LEVELS:
        return None
    fitted = FITS[kind](levels, [rate for _, rate in points])
    drawn = sorted({*levels, *np.geomspace(levels[0], levels[-1], POINTS_PER_CURVE).tolist()})
    return Curve(
        name=f"{fitted.form}, fitted",
        factor=factor,
        direction=direction,
        parameters=fitted.parameters,
        units=fitted.units,
        points=list(zip(drawn, fitted.rate(drawn).tolist(), strict=True)),
        fits=fitted.fit.fits,
        text=fitted.fit.text,
    )
