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
        description="standard error: by the diagonal of the inverse Fisher matrix",
    )
    truth: float | None = Field(default=None, description="C_b that the map was simulated with")


class SpectrumStep(Record):
    """One Newton-Raphson step; its repetition has the same place in ``repetitions``."""

    log_likelihood: float = Field(description="at the estimate that the step starts from")
    largest_correction: NonNegative = Field(description="in standard errors")
    by_curvature: bool = Field(
        description="by the likelihood's second derivative; otherwise by its expectation"
    )


class Spectrum(Record):
    """What MADbench2 in full, or MADCAP, computed."""

    bins: list[SpectrumBin]
    iterations: list[SpectrumStep] = Field(default_factory=list, description="of madcap")
    converged: bool | None = Field(default=None, description="of madcap")
    chi_square: NonNegative | None = Field(
        default=None,
        description="of the estimate's deviation from the truth, with the Fisher matrix",
    )
