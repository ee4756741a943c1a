"""Rates over clients: the fit finds the law that made them, and says where the rate falls."""

from __future__ import annotations

import math

import pytest

from weir.analysis.campaign_summary import Cell, growth_texts
from weir.analysis.saturation import Saturation, fit_saturation, saturated_from
from weir.results.campaign import Campaign, CampaignFactor

CLIENTS = (1, 2, 4, 8, 16, 32, 64)


def made(one: float, contention: float, exchange: float) -> list[float]:
    law = Saturation(one, contention, exchange, 0.0, 64)
    return [law.rate(n) for n in CLIENTS]


@pytest.mark.parametrize(
    ("contention", "exchange"), [(0.0, 0.0), (0.05, 0.0), (0.03, 0.0009), (0.0, 0.002)]
)
def test_the_law_that_made_the_rates_is_found(contention: float, exchange: float) -> None:
    found = fit_saturation(CLIENTS, made(5000, contention, exchange))
    assert found is not None
    assert found.one_client == pytest.approx(5000, rel=1e-6)
    assert found.contention == pytest.approx(contention, abs=1e-7)
    assert found.exchange == pytest.approx(exchange, abs=1e-8)
    assert found.largest_error < 1e-6


def test_a_wall_is_where_the_rate_falls() -> None:
    rates = made(5000, 0.03, 0.0009)
    found = fit_saturation(CLIENTS, rates)
    assert found is not None
    assert found.has_wall
    assert found.peak_clients == pytest.approx(math.sqrt(0.97 / 0.0009))
    assert found.rate(found.peak_clients) == pytest.approx(found.plateau)
    assert found.plateau >= max(rates)


def test_a_plateau_is_no_wall() -> None:
    found = fit_saturation(CLIENTS, made(5000, 0.05, 0.0))
    assert found is not None
    assert not found.has_wall
    assert found.peak_clients == math.inf
    assert found.plateau == pytest.approx(100_000, rel=1e-6)


def test_clients_that_cost_more_than_they_bring_are_a_wall() -> None:
    clients = (1, 2, 4, 8)
    for exchange in (0.0, 0.05):
        law = Saturation(1000, 2.35, exchange, 0.0, 8)
        found = fit_saturation(clients, [law.rate(n) for n in clients])
        assert found is not None
        assert found.has_wall
        assert found.peak_clients == 1
        assert found.plateau == pytest.approx(1000)


def test_a_peak_beyond_what_was_measured_is_no_wall() -> None:
    levels = (1, 2, 4)
    found = fit_saturation(levels, [Saturation(10, 0, 0.001, 0, 4).rate(n) for n in levels])
    assert found is not None
    assert not found.has_wall


def test_more_than_each_clients_own_rate_is_taken_for_none_lost() -> None:
    """No coefficient becomes negative, however the rates scatter."""
    found = fit_saturation((1, 2, 4, 8), (100, 230, 440, 900))
    assert found is not None
    assert (found.contention, found.exchange) == (0, 0)
    assert found.plateau == math.inf
    assert 0.05 < found.largest_error < 0.2


def test_rates_that_scatter_have_no_curve() -> None:
    """Too high and too low count alike: the curve stays among the points."""
    found = fit_saturation((1, 2, 3), (1000, 20000, 900))
    assert found is not None
    assert not found.holds
    assert 900 < found.rate(2) < 20000


def test_two_levels_say_nothing() -> None:
    assert fit_saturation((1, 2, 2), (100, 150, 160)) is None
    assert fit_saturation((1, 2, 4), (100, 0, 0)) is None


@pytest.mark.parametrize(
    ("clients", "rates", "at"),
    [
        ((16, 64, 256, 1024), (2.0, 9.5, 10.0, 9.1), 64),
        ((16, 64, 256, 1024), (1.6, 1.55, 1.5, 1.2), 16),
        ((64, 256, 1024), (0.35, 1.4, 5.6), None),
        ((1, 4, 9, 16), (1.0, 4.0, 8.9, 9.0), 9),
        ((1, 4, 9, 12), (1.0, 4.0, 8.9, 9.0), None),
    ],
)
def test_where_transfers_saturate(
    clients: tuple[int, ...], rates: tuple[float, ...], at: int | None
) -> None:
    """A sharp bend counts, whether a smooth curve fits or not; the last levels decide nothing."""
    assert saturated_from(clients, rates) == at
    found = fit_saturation(clients, [rate * 1e9 for rate in rates])
    assert found is not None
    said = found.text("bytes/s")
    assert said.startswith(
        f"does not saturate up to {max(clients)} ranks; fitted: "
        if at is None
        else f"saturates at {at} ranks, the first to reach 90 % of the largest rate; fitted: "
    )
    assert "GiB/s" in said or "each rank" in said or "no curve fits" in said
    assert "saturate" not in found.text("1/s")


def test_a_sweep_over_ranks_says_where_each_direction_saturates() -> None:
    """Ranks and pixels change together, as in weak scaling; the levels come in any order."""
    levels = [[64, 50000], [16, 25000], [256, 100000]]
    campaign = Campaign(
        format="weir-campaign",
        format_version=1,
        name="x",
        workload="madbench",
        created_utc="2026-11-26T00:00:00Z",
        seed=1,
        scale=1,
        replication=1,
        given={},
        factors=[CampaignFactor(names=["ranks", "pixels"], levels=levels)],
        combinations=[{"ranks": ranks, "pixels": pixels} for ranks, pixels in levels],
        runs=[],
    )
    rates = {"write": (4.0, 1.0, 4.1), "read": (4.0, 1.0, 16.0)}
    cells = [
        Cell(place, "POSIX", direction, "span", rate * 2**30, 0, 0, 0.95, 6, None, "none")
        for direction, of_levels in rates.items()
        for place, rate in enumerate(of_levels)
    ]
    said = sorted(growth_texts(campaign, cells))
    assert len(said) == 2
    points = "1.00 GiB/s with 16, 4.00 GiB/s with 64, 16.0 GiB/s with 256"
    assert said[0].startswith(f"read over ranks: {points}; does not saturate up to 256 ranks; ")
    assert "; saturates at 64 ranks, the first to reach 90 % of the largest rate; " in said[1]
