"""The loop of belief, test and refit on a machine that is not what it was believed to be."""

from __future__ import annotations

import numpy as np
import pytest

from franklin_in_truth import ADDED, AFTER, MB, MOST_TESTS, Loop, true_rate
from platforms import make_platform, make_stage
from weir.follow_up.belief import MEMBERS, Belief, interval_of
from weir.follow_up.shared_servers import (
    Placed,
    belief_of,
    candidates,
    layout_of,
    shares_of,
)
from weir.model.laws import Values
from weir.model.least_squares import Columns, Form, Free, Parameters, best_of_rows, moved_singly
from weir.model.uselton import equation_4
from weir.platform.files import SHIPPED
from weir.results.platform_file import load_platform
from weir.results.record import Quantity


def test_the_simulated_machine_is_the_one_of_the_paper() -> None:
    def rate(servers: int, targets: int, files: int, controllers: int = 5) -> float:
        return true_rate(Placed(servers, targets, files, min(controllers, servers))) / MB

    assert rate(1, 1, 1) == pytest.approx(128)
    assert [rate(1, count, 1) for count in (1, 2, 3, 4)] == pytest.approx([128, 201, 213, 225])
    assert rate(20, 4, 1) == pytest.approx(equation_4(80, 32, 128, 100, 6144, 512))
    assert rate(20, 4, 102) == pytest.approx(equation_4(8160, 32, 128, 100, 6144, 512), rel=1e-6)


def test_the_belief_before_any_test_is_the_description() -> None:
    belief = belief_of(load_platform(SHIPPED / "franklin.toml"), 0.02)
    known = belief.quantities()
    assert known["O"].low < 80 < known["O"].high
    assert known["O"].high / known["O"].low > 4, "nothing was measured"
    believed = {
        free.name: one.value
        for free, one in zip(belief.form.parameters, belief.believed, strict=True)
    }
    assert believed == pytest.approx(
        {
            "O": 80,
            **{f"S{count}": count * 192 * MB for count in (1, 2, 3, 4)},
            "r_R": 128 * MB,
            "T": 4096,
            "tau": 1024,
            "D": 3072 * MB,
        }
    )


def test_a_result_moves_what_it_is_about_and_nothing_else() -> None:
    belief = belief_of(load_platform(SHIPPED / "franklin.toml"), 0.02)
    one = Placed(1, 1, 1, 1)
    after = belief.after(one.columns, 1 / true_rate(one)).quantities()
    assert after["S1"].value == pytest.approx(128 * MB, rel=0.03)
    assert after["S1"].high / after["S1"].low < 1.15
    before = belief.quantities()["O"]
    assert after["O"].high / after["O"].low > 0.8 * before.high / before.low


def test_a_contradicted_part_lets_another_be_the_limit() -> None:
    """The slowest part alone has a slope; the search must still find that another may limit."""

    def seconds(values: Parameters, columns: Columns) -> Values:
        return np.asarray(1 / np.minimum(values[0] * columns["n"], values[1]))

    form = Form("two parts", (Free("each", "", 1, 1e6), Free("all", "", 1, 1e6)), seconds, list)
    tests = {"n": np.array([1.0, 100.0])}
    observed = np.array([[1 / 10.0, 1 / 200.0], [1 / 10.0, 1 / 200.0]])
    stuck = np.array([[2.0, 1e4], [10.0, 200.0]])
    best = best_of_rows(form, tests, observed, stuck)
    assert best.tolist() == pytest.approx(np.array([[10.0, 200.0]] * 2))
    moved = moved_singly(form, tests, observed[:1], np.array([[10.0, 1e4]]), (0.02, 3.0))
    assert moved[0].tolist() == pytest.approx([10.0, 200.0])


def test_an_explanation_that_no_member_has_comes_back() -> None:
    """Either part may be the slow one, and no step of a single constant leads to the other."""

    def seconds(values: Parameters, columns: Columns) -> Values:
        return np.asarray(columns["n"] / np.minimum(values[0], values[1]))

    form = Form("two parts", (Free("one", "", 1, 1e6), Free("other", "", 1, 1e6)), seconds, list)
    wide = Quantity(value=30, low=10, high=90)
    all_alike = np.tile([10.0, 30.0], (MEMBERS, 1))
    tests = {"n": np.array([1.0])}
    belief = Belief(form, (wide, wide), 1, 0.02, tests, (0.1,), start=all_alike)
    other = np.mean(belief.members[:, 1] < belief.members[:, 0])
    assert 0.25 < other < 0.75
    assert np.min(belief.members, axis=1) == pytest.approx(np.full(MEMBERS, 10.0), rel=0.1)


def test_the_loop_finds_the_limit_and_the_sharing_in_at_most_twelve_tests() -> None:
    loop = Loop(0)
    right, _ = loop.run()
    assert right is not None
    assert right <= MOST_TESTS
    limit, shares = loop.states[-1]
    assert limit.value == pytest.approx(AFTER["o"], rel=0.10)
    for one, true in zip(shares, ADDED, strict=True):
        assert one.value == pytest.approx(true, abs=0.10 * ADDED[0])
    first = loop.tests[0]
    assert "differ by a factor of" in first.motivation
    assert first.decides


def test_servers_that_do_not_share_targets_evenly_are_refused() -> None:
    target, server = (
        make_stage(name, 1e8, kind=kind, units=units, routes=["durable"])
        for name, kind, units in (("disk", "target", 7), ("server", "server", 2))
    )
    with pytest.raises(ValueError, match="7 targets are not shared evenly by 2 servers"):
        layout_of(make_platform([target, server]))
    with pytest.raises(ValueError, match="no stage of kind server"):
        layout_of(make_platform([target]))


def test_candidates_put_servers_behind_few_controllers_and_behind_many() -> None:
    layout = layout_of(load_platform(SHIPPED / "franklin.toml"))
    found = list(candidates(layout))
    assert {one.controllers for one in found if one.servers == 4} == {1, 4}
    assert {one.controllers for one in found if one.servers == 20} == {5}
    assert len(set(found)) == len(found)


def test_what_a_target_adds_is_never_negative() -> None:
    layout = layout_of(load_platform(SHIPPED / "franklin.toml"))
    members = np.tile([80.0, 100.0, 90.0, 120.0, 120.0, 1.0, 1.0, 1.0, 1.0], (5, 1))
    assert [one.value for one in shares_of(members, layout)] == [100.0, 0.0, 30.0, 0.0]
    assert interval_of(np.array([1.0, 2.0, 3.0])) == Quantity(value=2.0, low=1.05, high=2.95)
