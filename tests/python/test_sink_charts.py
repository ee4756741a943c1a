"""Charts of messages over what carries them: stagers, their receiving threads, aggregators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from synthetic import make_run
from weir.analysis.sink import AGGREGATORS, RECEIVERS, STAGERS, level_on, route_beside
from weir.report.sink import compare
from weir.results.opening_records import StepTimes
from weir.results.output_records import Throughput
from weir.results.schema import Parameter, Run
from weir.results.sink_records import Sink

SAME: dict[str, Any] = {
    "values": [1e9], "median": 1e9, "low": 1e9, "high": 1e9, "confidence": 0.0, "converged": False
}  # fmt: skip


def sent(size: int, **way: str | int) -> Run:
    """A run of messages of one size by one way."""
    chosen = {"api": "weir", "staging": "none", "stagers": 0, "receivers": 0, "aggregators": 0}
    settings = {**chosen, **way}
    route = " ".join(f"{name} {value}" for name, value in settings.items())
    sink = Sink(
        route=route,
        into="null",
        message_bytes=size,
        messages=9,
        accounted=False,
        receivers=None,
        message=StepTimes.model_validate(SAME),
        source_capacity=Throughput.model_validate(SAME),
        receiving_capacity=None,
        efficiency=0.5,
    )
    parameters = {name: Parameter(value=one, origin="default") for name, one in settings.items()}
    return make_run().model_copy(update={"parameters": parameters, "sink": sink})


def service(stagers: int, receivers: int, size: int = 65536) -> Run:
    return sent(size, staging="service", stagers=stagers, receivers=receivers)


def titles_of(runs: Sequence[Run]) -> list[str]:
    """What stands after ``Rate of all ranks over the`` in each figure, in their order."""
    drawn = str(compare(runs) or "")
    return [part.split("<")[0] for part in drawn.split("Rate of all ranks over the ")[1:]]


def test_rates_are_drawn_over_each_number_that_several_runs_differ_in() -> None:
    runs = [service(stagers, threads) for stagers in (1, 2, 4) for threads in (1, 4)]
    over_stagers = "number of stagers: weir service"
    over_threads = "number of receiving threads of a stager: weir service"
    assert titles_of(runs) == [
        f"{over_stagers} 1 receiver",
        f"{over_stagers} 4 receivers",
        f"{over_threads} 1 stager",
        f"{over_threads} 2 stagers",
        f"{over_threads} 4 stagers",
    ]
    (drawn,) = titles_of([service(1, 4), service(2, 4), sent(65536, staging="node")])
    assert drawn == f"{over_stagers} 4 receivers"


def test_each_route_that_is_otherwise_the_same_has_a_figure() -> None:
    apis = ("weir", "mpiio")
    runs = [sent(2048, api=api, aggregators=count) for api in apis for count in (0, 1, 2)]
    # 0 leaves the number open, so it is not among the levels.
    over = "number of aggregators: "
    assert titles_of(runs) == [f"{over}weir", f"{over}mpiio"]
    assert level_on(AGGREGATORS, runs[0]) is None
    assert level_on(AGGREGATORS, runs[2]) == 2
    assert titles_of([sent(2048, aggregators=2), sent(2048, aggregators=0)]) == []


def test_one_number_of_each_draws_nothing_over_it() -> None:
    assert titles_of([service(2, 4)]) == []
    assert titles_of([service(2, 4), service(2, 4, size=2048)]) == ["size of a rank&#x27;s message"]


def test_of_many_sizes_four_are_drawn_and_all_are_in_the_table() -> None:
    sizes = [2**power for power in range(11, 23)]
    drawn = str(compare([service(stagers, 4, size) for stagers in (1, 2) for size in sizes]))
    (figure,) = [one for one in drawn.split("<figure") if "number of stagers" in one]
    assert "The table below has all sizes." in figure
    image, _, data = figure.partition("</svg>")
    for size in ("2.00 KiB", "16.0 KiB", "256 KiB", "4.00 MiB"):
        assert image.count(f'data-tip="{size}, ') == 2
    assert image.count("data-tip=") == 4 * 2
    for size in ("2.00 KiB", "4.00 KiB", "512 KiB", "4.00 MiB"):
        assert size in data


def test_a_route_is_named_by_what_the_runs_do_not_differ_in() -> None:
    run = sent(2048, staging="service", stagers=1, receivers=4, aggregators=2)
    assert route_beside(STAGERS, run) == "weir service 4 receivers 2 aggregators"
    assert route_beside(RECEIVERS, run) == "weir service 1 stager 2 aggregators"
    assert route_beside(AGGREGATORS, run) == "weir service 1 stager 4 receivers"
    assert route_beside(AGGREGATORS, sent(2048, api="mpiio")) == "mpiio"
