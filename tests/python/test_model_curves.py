"""Curves of one factor: the paper's own, with noise, are found again; noise alone is not."""

from __future__ import annotations

import numpy as np
import pytest

from weir.model import uselton
from weir.model.curves import rate_over_buffer, rate_over_tasks, rate_over_transfer
from weir.results.record import Quantity

MB = 1e6


def scattered(rates: list[float], noise: float = 0.02, seed: int = 3) -> list[float]:
    factors = np.exp(np.random.default_rng(seed).normal(0, noise, len(rates)))
    return [float(rate * factor) for rate, factor in zip(rates, factors, strict=True)]


def covers(quantity: Quantity, value: float) -> bool:
    """In the interval, give or take a quarter of it: it is one of 95 %."""
    slack = (quantity.high - quantity.low) / 4
    return bool(quantity.low - slack <= value <= quantity.high + slack)


def test_the_laptops_sigmoid_is_chosen_before_a_step_and_its_constants_are_found() -> None:
    true = {"m": 400 * MB, "n": 50 * MB, "b": 512 * MB, "tau": 50 * MB}
    sizes = [size * MB for size in range(50, 1000, 38)]
    curve = rate_over_buffer(sizes, scattered([uselton.equation_2(s, **true) for s in sizes]))
    assert curve.form == "one cache by a sigmoid"
    assert curve.fit.fits
    found = curve.parameters
    assert covers(found["rate"], true["n"])
    assert covers(found["cache_rate"], true["m"])
    assert covers(found["cache_bytes"], true["b"])
    assert covers(found["width_bytes"], true["tau"])
    assert curve.units["width_bytes"] == "bytes"
    assert curve.rate([512 * MB])[0] == pytest.approx(88.9 * MB, rel=0.1)


def test_a_step_is_chosen_where_the_rate_changes_at_once() -> None:
    sizes = [2.0**power for power in range(12, 30)]
    rates = scattered([4e9 if size <= 2**20 else 1e9 for size in sizes])
    curve = rate_over_buffer(sizes, rates)
    assert curve.form == "one cache by a step"
    assert curve.parameters["cache_bytes"].low <= 2**20 <= curve.parameters["cache_bytes"].high


def test_two_caches_are_told_from_one() -> None:
    sizes = [2.0**power for power in np.arange(12, 30, 0.5)]
    rates = scattered([16e9 if s <= 2**17 else 4e9 if s <= 2**24 else 1e9 for s in sizes])
    curve = rate_over_buffer(sizes, rates)
    assert curve.form == "two caches by a step"
    assert curve.parameters["cache1_rate"].value == pytest.approx(16e9, rel=0.05)
    assert curve.parameters["rate"].value == pytest.approx(1e9, rel=0.05)


def test_a_constant_rate_needs_no_cache() -> None:
    sizes = [2.0**power for power in range(12, 30)]
    assert rate_over_buffer(sizes, scattered([1e9] * len(sizes))).form == "one rate"


def test_equation_3_gives_its_fixed_cost() -> None:
    sizes = [2.0**power for power in range(20)]
    rates = scattered([uselton.equation_3(size, 43 * MB, 1e-6) for size in sizes])
    curve = rate_over_transfer(sizes, rates)
    assert curve.form == "fixed cost"
    assert covers(curve.parameters["fixed"], 1e-6)
    assert covers(curve.parameters["rate"], 43 * MB)


TASKS = [*range(1, 81, 3), 128, 256, 512, 1024, 2048, 3072, 4096, 5120, 6144, 8192, 12288, 16384]


@pytest.mark.parametrize(
    "true",
    [
        {"o": 80, "r_s": 192 * MB, "r_r": 128 * MB, "t": 4096, "tau": 1024},
        {"o": 32, "r_s": 128 * MB, "r_r": 100 * MB, "t": 6144, "tau": 512},
    ],
)
def test_franklins_curves_are_found_again(true: dict[str, float]) -> None:
    rates = scattered([uselton.equation_4(n, **true) for n in TASKS], noise=0.01)  # type: ignore[arg-type]
    curve = rate_over_tasks(TASKS, rates)
    assert curve.form == "saturating, then falling"
    assert curve.parameters["one_task"].value == pytest.approx(true["r_s"], rel=0.03)
    assert curve.parameters["units"].value == pytest.approx(true["o"], rel=0.05)
    assert curve.parameters["crowded"].value == pytest.approx(true["r_r"], rel=0.05)
    assert curve.fit.held_out_median_error < 0.03


def test_a_flat_end_is_saturating_and_no_end_is_linear() -> None:
    tasks = list(range(1, 65, 3))
    assert rate_over_tasks(tasks, scattered([n * 1e8 for n in tasks])).form == "linear"
    flat = rate_over_tasks(tasks, scattered([min(n, 20) * 1e8 for n in tasks]))
    assert flat.form == "saturating"
    assert covers(flat.parameters["units"], 20)


def test_noise_alone_is_declared_not_to_fit() -> None:
    sizes = [2.0**power for power in range(12, 30)]
    curve = rate_over_buffer(sizes, scattered([1e9] * len(sizes), noise=2.0))
    assert not curve.fit.fits
    assert curve.fit.text.startswith("does not fit, so it is unreliable")


def test_rates_that_are_no_rates_are_refused() -> None:
    with pytest.raises(ValueError, match="all above 0"):
        rate_over_transfer([1.0, 2.0], [1.0, 0.0])
