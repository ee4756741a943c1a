"""The part of ``run.json`` about a spectrum, of MADbench2 in full or of MADCAP."""

from __future__ import annotations

from pydantic import Field

from weir.results.record import NonNegative, Record


class SpectrumBin(Record):
    """The power of one bin of multipoles; ``estimate`` and what follows it are of madcap."""

    first_multipole: int
    last_multipole: int
    correction: float = Field(description="dC_b of the last Newton-Raphson step")
    estimate: float | None = Field(default=None, description="C_b after the last step")
    error: float | None = Field(
        default=None,
        description="standard error, from the diagonal of the inverse Fisher matrix",
    )
    truth: float | None = Field(default=None, description="C_b with which the map was simulated")


class SpectrumStep(Record):
    """One Newton-Raphson step; its repetition has the same place in ``repetitions``."""

    log_likelihood: float = Field(
        description="logarithm of the likelihood at the estimate that the step starts from"
    )
    largest_correction: NonNegative = Field(description="largest correction, in standard errors")
    by_curvature: bool = Field(
        description=(
            "true: from the second derivative of the likelihood; false: from its expectation"
        )
    )


class Spectrum(Record):
    """What MADbench2 in full, or MADCAP, computed."""

    bins: list[SpectrumBin]
    iterations: list[SpectrumStep] = Field(default_factory=list, description="steps of madcap")
    converged: bool | None = Field(
        default=None, description="true if the iteration of madcap converged"
    )
    chi_square: NonNegative | None = Field(
        default=None,
        description=(
            "chi-square of the deviation of the estimate from the true values, with the Fisher "
            "matrix"
        ),
    )
