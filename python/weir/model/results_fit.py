"""Refines a platform with finished runs: the loop from measurements to the model and back.

For every kind of flow (direction and route) the runs' phases are samples of one stage: the stage
that limits such a flow on a single path. Its law is chosen and fitted as in a probe
(``stage_forms``). Whole configurations are held out, so the error is that on configurations that
the fit has not used. Interface and file type are not factors of the model (``flow_of_plan``
explains why); if they matter, the errors by configuration show it.

The machine's drift is not modelled. A level for each day or job would have to be measured before it
could be used in an expectation, so it would improve the error without improving the next
prediction. Campaigns run their configurations in random order instead, so that drift becomes part
of the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weir.model.measured_flows import Measured
from weir.model.stage_forms import FittedStage, fit_stage
from weir.model.units import Load, loads_of
from weir.results.expectations import Direction
from weir.results.platform import Fit, Platform, PlatformStage, Route, StageKind
from weir.results.record import Quantity

STAGES: dict[tuple[Direction, Route], tuple[str, StageKind]] = {
    ("write", "durable"): ("storage write", "target"),
    ("write", "cached"): ("page cache write", "node"),
    ("write", "direct"): ("direct write", "target"),
    ("read", "dropped"): ("storage read", "target"),
    ("read", "cached"): ("page cache read", "node"),
    ("read", "direct"): ("direct read", "target"),
}
ALSO: dict[str, list[Route]] = {"page cache write": ["durable"]}
"""Further routes that pass the stage, besides the one whose times it was fitted to."""


@dataclass(frozen=True)
class Prediction:
    """One sample, and the prediction for it by a fit that did not use its configuration."""

    measured: Measured
    stage: str
    predicted_seconds: float

    @property
    def relative_error(self) -> float:
        return abs(self.predicted_seconds / self.measured.seconds - 1)


@dataclass(frozen=True)
class ResultsFit:
    """The fitted stages, the held-out predictions, and the kinds of flow with too few samples."""

    stages: list[PlatformStage]
    fits: list[Fit]
    predictions: list[Prediction]
    too_few: dict[str, str]

    @property
    def median_error(self) -> float:
        return float(np.median([one.relative_error for one in self.predictions]))

    @property
    def p90_error(self) -> float:
        return float(np.percentile([one.relative_error for one in self.predictions], 90))


def fit_results(samples: Sequence[Measured]) -> ResultsFit:
    """Fits a stage to each kind of flow. Raises ``ValueError`` when none has enough samples."""
    stages, fits, predictions = [], [], []
    too_few: dict[str, str] = {}
    for (direction, route), (name, kind) in STAGES.items():
        alike = [
            sample
            for sample in samples
            if (sample.flow.direction, sample.flow.route) == (direction, route)
        ]
        if not alike:
            continue
        empty = _empty_stage(name, kind, direction, [route, *ALSO.get(name, [])])
        try:
            fitted = _fit(empty, alike)
        except ValueError as error:
            too_few[name] = str(error)
            continue
        stages.append(
            fitted.stage(
                name,
                kind,
                empty.routes,
                direction,
                how=f"{len(alike)} phases of {len({one.configuration for one in alike})} "
                "configurations",
            )
        )
        fits.append(fitted.fitted.as_fit(name))
        predictions += [
            Prediction(sample, name, sample.seconds * float(np.exp(error)))
            for sample, error in zip(alike, fitted.fitted.held_out_logs, strict=True)
        ]
    if not stages:
        told = "; ".join(f"{name}: {reason}" for name, reason in too_few.items())
        raise ValueError(told or "the runs have no phase to which a stage can be fitted")
    return ResultsFit(stages, fits, predictions, too_few)


def refined(platform: Platform, fit: ResultsFit) -> Platform:
    """Returns the platform with the stages of the same names replaced and the others kept."""
    new = {stage.name: stage for stage in fit.stages}
    kept = [new.pop(stage.name, stage) for stage in platform.stages]
    named = {stage.name for stage in fit.stages}
    routes = {(stage.direction, route) for stage in fit.stages for route in stage.routes[:1]}
    stages = [
        stage
        if stage.name in named
        else stage.model_copy(
            update={
                "routes": [
                    route
                    for route in stage.routes
                    if stage.kind != "target" or (stage.direction, route) not in routes
                ]
            }
        )
        for stage in [*kept, *new.values()]
    ]
    order = list(dict.fromkeys(name for name, _ in STAGES.values()))
    kinds = {"node": 0, "node link": 1}
    stages.sort(
        key=lambda stage: (
            kinds.get(stage.kind, 2),
            order.index(stage.name) if stage.name in order else -1,
        )
    )
    return platform.model_copy(
        update={
            "ranks": None,
            "stages": [stage for stage in stages if stage.routes],
            "fits": [one for one in platform.fits if one.stage not in named] + fit.fits,
        }
    )


def _fit(stage: PlatformStage, samples: Sequence[Measured]) -> FittedStage:
    loads = [_fullest(stage, sample) for sample in samples]
    return fit_stage(
        np.array([load.users for load in loads], dtype=float),
        np.array([load.operation_bytes for load in loads], dtype=float),
        np.array(
            [
                sample.seconds / (load.operations * sample.turns)
                for sample, load in zip(samples, loads, strict=True)
            ],
            dtype=float,
        ),
        [sample.configuration for sample in samples],
        in_flight=np.array([load.in_flight for load in loads], dtype=float),
    )


def _fullest(stage: PlatformStage, sample: Measured) -> Load:
    return max(loads_of(stage, sample.flow), key=lambda load: load.bytes)


def _empty_stage(
    name: str, kind: StageKind, direction: Direction, routes: list[Route]
) -> PlatformStage:
    return PlatformStage(
        name=name,
        kind=kind,
        direction=direction,
        routes=routes,
        units=1,
        rate_bytes_per_second=Quantity(value=0, low=0, high=0),
    )
