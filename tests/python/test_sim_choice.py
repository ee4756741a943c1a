"""``weir sim --strategy automatic``: the choice by the prices of the simulated machine."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from weir.bench.errors import BenchError
from weir.bench.platforms import find_platform
from weir.bench.program import SIMULATOR, find_program
from weir.sim.job import STRATEGIES, Asked
from weir.sim.program import simulate


def missing() -> str:
    try:
        find_program(os.environ, SIMULATOR)
    except BenchError as error:
        return str(error)
    return ""


needs_simulator = pytest.mark.skipif(bool(missing()), reason=f"nothing is simulated: {missing()}")

OWN = [name for name, way in STRATEGIES.items() if name != "automatic" and not way.about]


def messages(ranks: int, size: int, **more: Any) -> Asked:
    return Asked("messages", ranks, bytes=size, **more)


@needs_simulator
@pytest.mark.parametrize(
    ("platform", "asked", "chosen"),
    [
        # An operation costs an I/O node more than 4 or 64 KiB.
        ("intrepid", messages(1024, 4 << 10), {"two-phase", "server-directed"}),
        ("intrepid", messages(1024, 64 << 10), {"node", "two-phase", "server-directed"}),
        ("intrepid", messages(256, 1 << 20, to="storage"), {"direct", "node"}),
        # Parts of nodes begin at one of two targets, and aggregators of the job at all.
        ("made-up", messages(2048, 1 << 20), {"two-phase", "server-directed"}),
        ("franklin", messages(128, 1 << 20), {"direct", "node"}),
        (
            "intrepid",
            Asked("array", 256, shape="64x64x64", distribution="*,BLOCK,*"),
            {"two-phase", "server-directed"},
        ),
        # The file lies on 32 of 80 targets, and each rank's rows on four of them.
        ("franklin", Asked("array", 512, shape="256x256x256"), {"direct"}),
    ],
    ids=["small", "middle", "storage", "targets", "no cost of an operation", "rows", "short"],
)
def test_what_prices_choose_is_the_fastest_or_nearly(
    platform: str, asked: Asked, chosen: set[str]
) -> None:
    described = find_platform(platform)
    found = simulate(described, replace(asked, strategy="automatic"))
    times = {one: simulate(described, replace(asked, strategy=one)).seconds for one in OWN}
    assert found.strategy in chosen
    assert found.seconds == times[found.strategy]
    assert found.seconds <= 1.1 * min(times.values())
    assert "rates: those of the simulated machine" in found.why
