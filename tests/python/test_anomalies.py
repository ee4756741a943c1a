"""How often runs are called unusual that are not, and how often what is unusual is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from report_reader import read_report
from simulated_transfers import (
    NOISES,
    PER_RANK,
    SHAPE,
    TARGETS,
    Grid,
    Simulated,
    host_of,
    place,
    server_of,
    simulate,
    target_of,
)
from synthetic import make_events, make_run, write_run_folder
from weir.analysis.anomalies import (
    LEAST_SECONDS,
    Finding,
    find_anomalies,
    moved_in_the_last,
    seconds_of_a_rank,
    tail_text,
)
from weir.analysis.modes import dip, dip_significance, find_modes
from weir.analysis.spread import compare_spreads
from weir.analysis.stragglers import Level, Transfers, without_stalls
from weir.analysis.student import MANY, quantile_above
from weir.analysis.trends import find_change, find_period
from weir.cli import application
from weir.model.verdict import verdict
from weir.report import anomalies, write_report
from weir.report.anomalies import examine
from weir.results.finalize import finalize
from weir.results.folder import load_run

HOMOGENEOUS = 200
TRIES = 20
LEAST_FOUND = 19
REPETITION, RANK, NUMBER = place(0), place(1), place(2)
MOMENT = (NUMBER + 0.5) / PER_RANK
COMMON_NOISE = "autocorrelated by rank"


def found_in(simulated: Simulated) -> list[Finding]:
    return find_anomalies(simulated.transfers, simulated.levels, simulated.offsets)


def where(condition: np.ndarray, factor: float) -> Grid:
    return np.where(condition, factor, 1.0)


def test_homogeneous_runs_are_not_called_unusual() -> None:
    """Six shapes of noise, with and without waiting: at most 1 of 50 runs gets any label."""
    wrong: Counter[str] = Counter()
    labelled = 0
    for number in range(HOMOGENEOUS):
        noise = NOISES[number % len(NOISES)]
        found = found_in(simulate(noise, 1000 + number, waits=number % 4 >= 2))
        labelled += bool(found)
        wrong.update(f"{one.kind} in {noise}" for one in found)
    assert labelled <= HOMOGENEOUS // 50, wrong


def random_modes(seed: int) -> Grid:
    return where(np.random.default_rng(seed).random(SHAPE) < 0.3, 2.5)


UNUSUAL: dict[str, tuple[str, str, Callable[[int], Grid]]] = {
    "30 % of the transfers take 2.5 times as long": ("modes", "near", random_modes),
    "one of two repetitions is 2 times slower": (
        "modes",
        "that of repetition 1",
        lambda _: where(REPETITION == 1, 2.0),
    ),
    "every fourth transfer of a rank takes 3 times as long": (
        "modes",
        "order",
        lambda _: where(NUMBER % 4 == 3, 3.0),
    ),
    "times grow by 60 % from beginning to end": (
        "decreasing",
        "decreases steadily",
        lambda _: 1 + 0.6 * MOMENT,
    ),
    "the first 12 % take 1.7 times as long": (
        "warm-up",
        "is a warm-up",
        lambda _: where(MOMENT < 0.12, 1.7),
    ),
    "the last 40 % take 1.35 times as long": (
        "drop",
        "drops by",
        lambda _: where(MOMENT > 0.6, 1.35),
    ),
    "one rank of 16 takes 1.6 times as long": (
        "slow rank",
        "without rank 5",
        lambda _: where(RANK == 5, 1.6),
    ),
    "one host of 4 takes 1.6 times as long": (
        "slow host",
        "without host node2",
        lambda _: where(host_of(RANK) == 2, 1.6),
    ),
    "one target of 8 takes 1.6 times as long": (
        "slow target",
        "without target 7",
        lambda _: where(target_of(RANK) == 7, 1.6),
    ),
    "one server of 4 takes 1.6 times as long": (
        "slow server",
        "without server 1",
        lambda _: where(server_of(RANK) == 1, 1.6),
    ),
    "one target is 2.2 times slower for a part of the time": (
        "slow target",
        "other load is likelier",
        lambda _: where((target_of(RANK) == 3) & (MOMENT > 0.2) & (MOMENT < 0.6), 2.2),
    ),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_unusual_is_found_19_times_of_20(name: str) -> None:
    kind, words, factors = UNUSUAL[name]
    hits = 0
    for seed in range(TRIES):
        simulated = simulate(COMMON_NOISE, seed, factors(seed), waits=seed % 2 == 1)
        hits += any(
            one.kind == kind and words in "; ".join([one.text, *one.reasons])
            for one in found_in(simulated)
        )
    assert hits >= LEAST_FOUND


def test_a_rank_that_is_slow_in_one_repetition_only_is_not_named() -> None:
    """Another one is slow in the other repetition: each had a busy processor, as it happens."""
    slow = ((RANK == 5) & (REPETITION == 0)) | ((RANK == 9) & (REPETITION == 1))
    for seed in range(4):
        found = found_in(simulate(COMMON_NOISE, seed, where(slow, 1.8), waits=True))
        assert not [one for one in found if one.kind == "slow rank"]


def test_of_four_units_of_which_one_is_fast_none_is_slow() -> None:
    """Of 4 ranks one reads twice as fast as the others, which differ a little by chance."""
    for seed in range(4):
        simulated = simulate("normal", seed, where(RANK % 4 == 0, 0.5))
        four = Level("rank", simulated.transfers.rank % 4, list("0123"), of_ranks=True)
        assert not [
            one for one in find_anomalies(simulated.transfers, [four]) if "slow" in one.kind
        ]


@pytest.mark.parametrize(("scale", "named"), [(1.0, True), (0.99, False)])
def test_a_run_is_examined_from_the_time_on_in_which_a_busy_processor_counts_little(
    scale: float, named: bool
) -> None:
    transfers = simulate("normal", 1, where(RANK == 5, 1.6)).transfers
    scale *= LEAST_SECONDS * (1 + 1e-9) / seconds_of_a_rank(transfers)
    shorter = replace(transfers, start=transfers.start * scale, end=transfers.end * scale)
    level = Level("rank", shorter.rank, [str(one) for one in range(16)], of_ranks=True)
    assert bool(find_anomalies(shorter, [level])) == named


def stepped(first: float, number: int = 64, share: float = 0.125) -> np.ndarray:
    """Rates of which the first ones differ, with 1 % of noise."""
    rates = np.where(np.arange(number) < share * number, first, 1.0)
    return rates * np.exp(0.01 * np.random.default_rng(1).standard_normal(number))


@pytest.mark.parametrize(("first", "named"), [(0.55, True), (0.65, False)])
def test_a_warm_up_is_named_if_it_costs_5_percent(first: float, named: bool) -> None:
    """An eighth of the time at 0.55 of the rate costs 5.6 %, at 0.65 it costs 4.4 %."""
    change = find_change(stepped(first))
    assert (change is not None) == named
    assert change is None or change.kind == "warm-up"


@pytest.mark.parametrize(("dip", "named"), [(0.6, True), (0.75, False)])
def test_dips_are_named_if_they_cost_5_percent(dip: float, named: bool) -> None:
    """A sixth of each period at 0.6 of the rate costs 6.7 %, at 0.75 it costs 4.2 %."""
    rates = np.where(np.arange(60) % 6 == 5, dip, 1.0)
    rates = rates * np.exp(0.01 * np.random.default_rng(1).standard_normal((2, 60)))
    assert (find_period(rates) is not None) == named


@pytest.mark.parametrize(("slow", "named"), [(0.6, True), (0.7, False)])
def test_modes_are_named_if_they_cost_5_percent(slow: float, named: bool) -> None:
    """A tenth of the transfers at 0.6 of the rate take 6.7 % more, at 0.7 they take 4.3 % more."""
    random = np.random.default_rng(1)
    rates = np.where(np.arange(1000) % 10 == 0, slow, 1.0)
    rates = random.permutation(rates) * np.exp(0.02 * random.standard_normal(1000))
    assert (find_modes(rates) is not None) == named


def test_what_comes_in_every_repetition_of_all_ranks_is_not_cut_off_as_a_stall() -> None:
    """Each 20th transfer takes 30 times as long; where only one rank has this, it has stalls."""
    usual = simulate("normal", 1, where(NUMBER % 20 == 19, 30.0)).transfers
    assert without_stalls(usual) is usual
    rare = simulate("normal", 1, where((NUMBER % 20 == 19) & (RANK == 3), 30.0)).transfers
    assert without_stalls(rare).seconds.max() < 0.1 * rare.seconds.max()


@pytest.mark.parametrize(
    ("probability", "freedom", "expected"),
    [(0.025, 1, 12.706), (0.005, 10, 3.169), (0.0005, 4, 8.610), (0.025, 3, 3.182)],
)
def test_quantiles_of_student_are_those_of_tables(
    probability: float, freedom: int, expected: float
) -> None:
    assert quantile_above(probability, freedom) == pytest.approx(expected, abs=5e-4)
    assert quantile_above(probability, MANY + 1) == pytest.approx(
        quantile_above(probability, MANY), rel=0.03
    )


def test_periodic_dips_are_found_19_times_of_20() -> None:
    """Every 0.12 s, all transfers that begin within 0.03 s take three times as long."""

    def slowed(now: Grid) -> Grid:
        return where(now % 0.12 > 0.09, 3.0)

    hits = 0
    for seed in range(TRIES):
        found = found_in(simulate(COMMON_NOISE, seed, waits=seed % 2 == 1, slowed=slowed))
        hits += "periodic dips" in [one.kind for one in found]
    assert hits >= LEAST_FOUND


def test_stalls_are_found_19_times_of_20_and_no_rank_is_blamed() -> None:
    """1 of 100 transfers takes 100 times as long as the others."""
    hits = 0
    for seed in range(TRIES):
        stalls = where(np.random.default_rng(seed).random(SHAPE) < 0.01, 100.0)
        found = found_in(simulate(COMMON_NOISE, seed, stalls, waits=seed % 2 == 1))
        hits += [one.kind for one in found] == ["stalls"]
    assert hits >= LEAST_FOUND


def test_an_uneven_allocation_and_its_tail_are_found_19_times_of_20() -> None:
    """Targets with 4, 1 and 2 ranks: the ranks of the target with 4 are no stragglers."""
    targets = np.arange(16) % TARGETS
    targets[[1, 2]] = 0
    hits = 0
    for seed in range(TRIES):
        kinds = [one.kind for one in found_in(simulate(COMMON_NOISE, seed, targets=targets))]
        hits += kinds == ["uneven allocation", "tail"]
    assert hits >= LEAST_FOUND


def test_a_tail_says_what_it_moves_and_the_rate_before_it() -> None:
    """Ten ranks that move a byte a second: six until 6 s, four until 10 s, in two repetitions."""
    ends = np.array([6.0] * 6 + [10.0] * 4)
    rank = np.concatenate([np.full(int(end), one) for one, end in enumerate(ends)])
    start = np.concatenate([np.arange(end) for end in ends])
    start = np.concatenate([start, 100 + 2 * start])
    seconds = np.concatenate([np.ones(len(rank)), np.full(len(rank), 2.0)])
    transfers = Transfers(
        start=start,
        end=start + seconds,
        bytes=np.ones(len(start)),
        rank=np.concatenate([rank, rank]),
        step=np.zeros(len(start), dtype=np.int64),
        repetition=np.repeat([0, 1], len(rank)),
    )
    assert moved_in_the_last(transfers, 0.4) == pytest.approx(16 / 76)
    # The window begins in the middle of the transfers from 8 s to 9 s.
    assert moved_in_the_last(transfers, 0.15) == pytest.approx(6 / 76)
    assert moved_in_the_last(transfers, 1.0) == pytest.approx(1.0)
    told = "it moves 21 % of the bytes, and before it the rate is 1.32 times that of the whole"
    assert tail_text(transfers, 0.4) == told


def test_a_host_with_one_slow_rank_is_not_blamed_and_one_without_ranks_to_compare_is() -> None:
    one_each = simulate("normal", 1, where(RANK == 5, 1.6))
    ranks = one_each.transfers.rank
    alone = Level("host", ranks, [f"node{one}" for one in range(16)], of_ranks=True)
    kinds = [
        [one.kind for one in find_anomalies(one_each.transfers, levels)]
        for levels in (one_each.levels, [alone, one_each.levels[-1]])
    ]
    assert kinds == [["slow rank", "tail"], ["slow host", "tail"]]


@pytest.mark.parametrize("number", [30, 200])
def test_the_stored_quantiles_of_the_dip_are_those_of_uniform_samples(number: int) -> None:
    random = np.random.default_rng(42)
    dips = [dip(random.random(number)) for _ in range(400)]
    below_5_percent = np.mean([dip_significance(one, number) <= 0.05 for one in dips])
    assert 0.02 <= below_5_percent <= 0.08


def test_the_dip_of_known_samples() -> None:
    """Evenly spaced values have the least dip, two distant groups the largest, 1/4."""
    assert dip(np.arange(20.0)) == pytest.approx(1 / 40)
    two = np.concatenate([np.linspace(0, 1e-6, 500), np.linspace(1, 1 + 1e-6, 500)])
    assert dip(two) == pytest.approx(0.25, abs=0.005)


def test_modes_are_told_with_shares_and_centres() -> None:
    """Uselton, figure 5: rates near 43 and near 21 MB/s."""
    random = np.random.default_rng(5)
    fast = random.random(400) < 0.31
    rates = np.where(fast, 43, 21) * 2.0**20 * np.exp(0.08 * random.standard_normal(400))
    modes = find_modes(rates)
    assert modes is not None
    assert [one.share for one in modes.modes] == pytest.approx([0.69, 0.31], abs=0.04)
    assert modes.text.startswith("rates are bimodal: ")
    assert "% near 43." in modes.text or "% near 42." in modes.text
    assert find_modes(rates[fast]) is None


def test_three_modes_are_three() -> None:
    random = np.random.default_rng(5)
    rates = random.choice([20.0, 45.0, 100.0], 600) * np.exp(0.08 * random.standard_normal(600))
    modes = find_modes(rates)
    assert modes is not None
    assert [one.centre for one in modes.modes] == pytest.approx([20, 45, 100], rel=0.05)


@pytest.fixture
def with_a_slow_rank(tmp_path: Path) -> Path:
    """A finalized run of 8 ranks on 2 hosts of which rank 2 takes twice as long."""
    fields = {"ranks": 8, "ranks_per_host": 4, "bins": 12, "straggler_factor": 2.0}
    folder = write_run_folder(tmp_path / "run", make_run(**fields), make_events(**fields))
    finalize(folder, verdict, examine)
    return folder


def test_a_finalized_run_says_what_is_unusual(
    with_a_slow_rank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    anomalies = load_run(with_a_slow_rank).anomalies
    assert anomalies is not None
    assert {(one.function, one.kind) for one in anomalies if one.kind != "modes"} == {
        (function, "slow rank") for function in "SWC"
    }
    assert all("times faster without rank 2" in one.text for one in anomalies if "slow" in one.kind)
    application()(["results", "show", str(with_a_slow_rank)], standalone_mode=False)
    out = " ".join(capsys.readouterr().out.split())
    assert "unusual: S write: " in out
    assert "times faster without rank 2" in out
    assert "write: mean " in out
    assert "standard deviation" in out
    write_report(with_a_slow_rank)
    page = read_report(with_a_slow_rank / "report.html")
    assert "slow rank" in [one.attributes.get("data-anomaly") for one in page.walk()]


def test_a_usual_run_says_that_nothing_is_unusual(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_run_folder(tmp_path / "run", make_run(), make_events())
    finalize(folder, verdict, examine)
    assert load_run(folder).anomalies == []
    application()(["results", "show", str(folder)], standalone_mode=False)
    assert "unusual: nothing was found in the events" in capsys.readouterr().out


def test_a_run_with_more_transfers_than_are_examined_is_thinned_by_bins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {"ranks": 8, "ranks_per_host": 4, "bins": 24, "straggler_factor": 2.0}
    folder = write_run_folder(tmp_path / "run", make_run(**fields), make_events(**fields))
    monkeypatch.setattr(anomalies, "MOST_TRANSFERS", 8 * 24)
    found = examine(folder, load_run(folder))
    assert found is not None
    assert any("without rank 2" in one.text for one in found)


def test_spreads_differ_only_if_permutations_say_so() -> None:
    steady, wild = [100.0, 101, 99, 100, 102, 98], [100.0, 130, 75, 118, 84, 60]
    compared = compare_spreads(steady, wild)
    assert compared is not None
    assert compared.differs
    assert compared.text == "1.0 % and 23.4 %, differ"
    again = compare_spreads(wild, [one * 3 for one in wild])
    assert again is not None
    assert not again.differs
    assert compare_spreads(steady[:3], wild) is None


@pytest.mark.parametrize("name", ["rank_shift", "rank-shift"])
def test_shifted_ranks_use_files_of_their_own_in_s_only(name: str) -> None:
    """madbench and stream record the setting under different names."""
    run = make_run()
    phases = run.repetitions[0].phases
    assert {(one.function, one.direction) for one in phases} == {
        *(("S", "write"), ("W", "read"), ("W", "write"), ("C", "read"))
    }
    assert all(anomalies._is_own_data(run, one) for one in phases)
    shift = run.parameters["rank_shift"].model_copy(update={"value": 1})
    shifted = run.model_copy(update={"parameters": {**run.parameters, name: shift}})
    own = [one.function for one in phases if anomalies._is_own_data(shifted, one)]
    assert own == ["S"]
