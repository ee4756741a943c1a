"""MADCAP finds the spectrum again that its map was simulated with."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
from bench_runs import Done
from test_full_mode import has_scalapack

from weir.results.schema import Run
from weir.results.spectrum_records import Spectrum

Bench = Callable[..., Done]
BINS = 4
SIZE = ("300", str(BINS), "1", "16", "4096", "1", "1", "--sync", "none")
SEEDS = range(1, 4)
MOST_SIGMA = 4
"""One of 12 values beyond four standard errors: less than one in a thousand."""

pytestmark = pytest.mark.skipif(not has_scalapack(), reason="weir-bench has no ScaLAPACK")


def analysed(bench: Bench, *options: str, ranks: int = 4) -> tuple[Run, Spectrum, Done]:
    done = bench(*SIZE, *options, ranks=ranks, workload="madcap")
    (slug,) = (path.name for path in done.results.iterdir() if path.is_dir())
    run = done.run(slug)
    assert run.spectrum is not None
    return run, run.spectrum, done


def deviations(spectrum: Spectrum) -> list[float]:
    """Returns how far each bin's estimate is from the truth, in standard errors."""
    values = []
    for entry in spectrum.bins:
        assert entry.estimate is not None
        assert entry.truth is not None
        assert entry.error
        values.append((entry.estimate - entry.truth) / entry.error)
    return values


def test_the_spectrum_is_found_within_its_errors_for_several_maps(bench: Bench) -> None:
    chi_squares = []
    for seed in SEEDS:
        _, spectrum, done = analysed(bench, "--map-seed", str(seed))
        assert spectrum.converged
        assert len(spectrum.bins) == BINS
        assert max(abs(value) for value in deviations(spectrum)) < MOST_SIGMA
        assert spectrum.chi_square is not None
        chi_squares.append(spectrum.chi_square)
        done.results.rename(done.folder / f"seed-{seed}")
    assert len(set(chi_squares)) == len(chi_squares)
    # Chi-square of as many degrees of freedom as there are values, within four of its deviations.
    freedom = len(chi_squares) * BINS
    assert abs(sum(chi_squares) - freedom) < MOST_SIGMA * math.sqrt(2 * freedom)


def test_the_likelihood_rises_and_the_end_is_quadratic(bench: Bench) -> None:
    _, spectrum, done = analysed(bench, "--tolerance", "1e-9")
    likelihoods = [step.log_likelihood for step in spectrum.iterations]
    # The last iterations change it by less than the rounding of its sum.
    rounding = 1e-12 * abs(likelihoods[-1])
    assert all(later > before - rounding for before, later in pairwise(likelihoods))
    sizes = [step.largest_correction for step in spectrum.iterations if step.by_curvature]
    # Each step squares the one before: the logarithm of their ratio doubles. What is nearer to the
    # rounding of a step than 1e-10 is left out.
    before, last_but_one, last = [size for size in sizes if size > 1e-10][-3:]
    assert math.log(last / last_but_one) < 1.5 * math.log(last_but_one / before)
    assert f"converged after {len(spectrum.iterations)} iterations" in done.stdout


def test_every_iteration_moves_and_verifies_all_matrices(bench: Bench) -> None:
    run, spectrum, _ = analysed(bench, "--iomode", "ASYNC", "--filetype", "SHARED", ranks=9)
    assert run.workload == "madcap"
    assert len(run.repetitions) == len(spectrum.iterations)
    read = sum(phase.bytes_total for phase in run.plan.phases if phase.direction == "read")
    assert run.verification.bytes_verified == read * len(run.repetitions)
    assert run.verification.errors == []


def test_ranks_gangs_and_remapping_do_not_change_what_is_found(bench: Bench) -> None:
    found = []
    for place, (ranks, gangs, remap) in enumerate(
        [(1, "1", "CUSTOM"), (4, "4", "SCALAPACK"), (16, "4", "CUSTOM")]
    ):
        size = (*SIZE[:2], gangs, *SIZE[3:], "--remap", remap)
        done = bench(*size, ranks=ranks, workload="madcap")
        spectrum = done.run("posix-unique-sync").spectrum
        assert spectrum is not None
        found.append([entry.estimate for entry in spectrum.bins])
        done.results.rename(done.folder / f"place-{place}")
    for estimates in found[1:]:
        assert estimates == pytest.approx(found[0], rel=1e-7)


def test_a_run_that_did_not_converge_says_so(bench: Bench) -> None:
    run, spectrum, done = analysed(bench, "--iterations", "2")
    assert spectrum.converged is False
    assert len(spectrum.iterations) == 2
    assert "NOT converged after 2 iterations" in done.stdout
    assert any("did not converge" in warning for warning in run.warnings)
