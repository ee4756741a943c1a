"""The model's curves, fitted to what a campaign measured over a factor."""

from __future__ import annotations

import pytest

from weir.campaign.curves import fit_curve
from weir.model.uselton import equation_3


def test_the_fixed_cost_of_a_call_is_found_again_and_drawn_through_the_points() -> None:
    sizes = [16.0 * 4**power for power in range(10)]
    points = [(s, equation_3(s, 43e6, 1e-6)) for s in sizes]
    curve = fit_curve("transfer", "transfer", "write", points)
    assert curve is not None
    assert curve.fits
    assert curve.name == "fixed cost, fitted"
    assert curve.parameters["rate"].value == pytest.approx(43e6, rel=0.02)
    assert curve.parameters["fixed"].value == pytest.approx(1e-6, rel=0.02)
    drawn = dict(curve.points)
    assert [drawn[s] for s in sizes] == pytest.approx([rate for _, rate in points], rel=0.02)


def test_too_few_levels_give_no_curve() -> None:
    assert fit_curve("tasks", "ranks", "write", [(1.0, 5.0), (2.0, 4.0), (3.0, 3.0)]) is None
