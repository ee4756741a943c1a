"""The paper's equations and arithmetic, as printed and as instances of the path model."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from weir.model import uselton
from weir.model.flow import Flow
from weir.model.stage import stage_time

REFERENCE = Path(__file__).parent.parent / "reference"
TERA = 1e12


def constants(equation: str, note: str = "") -> dict[str, float]:
    """Constants of one equation in MB/s, MB, tasks and seconds."""
    with (REFERENCE / "uselton_models.csv").open() as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    scale = {"us": 1e-6}
    return {
        row["symbol"]: float(row["value"]) * scale.get(row["unit"], 1.0)
        for row in rows
        if row["equation"] == equation and row["note"].startswith(note)
    }


def laptop() -> dict[str, float]:
    values = constants("2")
    return {"m": values["M"], "n": values["N"], "b": values["b"], "tau": values["tau"]}


def franklin(note: str) -> dict[str, float]:
    values = constants("4", note)
    names = {"o": "O", "r_s": "r_S", "r_r": "r_R", "t": "T", "tau": "tau"}
    return {ours: values[theirs] for ours, theirs in names.items()}


def test_the_reference_holds_the_constants_of_all_curves() -> None:
    assert laptop() == {"m": 400, "n": 50, "b": 512, "tau": 50}
    assert constants("3") == {"f": 1e-6, "r_B": 43}
    assert franklin("before") == {"o": 80, "r_s": 192, "r_r": 128, "t": 4096, "tau": 1024}
    assert franklin("after") == {"o": 32, "r_s": 128, "r_r": 100, "t": 6144, "tau": 512}


@pytest.mark.parametrize("size", [1, 100, 511, 512, 513, 1024, 2048])
def test_equation_1_is_two_stages_in_turn(size: int) -> None:
    m, n, b = (laptop()[name] for name in ("m", "n", "b"))
    printed = uselton.equation_1(size, m, n, b)
    assert uselton.rate_by_equation_1(size, m, n, b) == pytest.approx(printed, rel=1e-12)


def test_equation_1_ends_at_both_times_added_and_not_at_n() -> None:
    m, n, b = (laptop()[name] for name in ("m", "n", "b"))
    assert uselton.rate_by_equation_1(1, m, n, b) == pytest.approx(400)
    assert uselton.rate_by_equation_1(TERA, m, n, b) == pytest.approx(m * n / (m + n))
    assert m * n / (m + n) == pytest.approx(44.4, abs=0.05)


@pytest.mark.parametrize("size", [1, 256, 400, 500, 512, 550, 700, 1024, 2048])
def test_equation_2_is_a_stage_with_a_cache(size: int) -> None:
    printed = uselton.equation_2(size, **laptop())
    assert uselton.rate_by_equation_2(size, **laptop()) == pytest.approx(printed, rel=1e-12)


def test_equation_2_has_the_limits_m_and_n_and_their_harmonic_mean_between() -> None:
    at = {size: uselton.rate_by_equation_2(size, **laptop()) for size in (1, 512, int(TERA))}
    assert at[1] == pytest.approx(399.9, abs=0.05)
    assert at[512] == pytest.approx(2 / (1 / 400 + 1 / 50))
    assert at[512] == pytest.approx(88.9, abs=0.05)
    assert at[int(TERA)] == pytest.approx(50)
    sharper = {**laptop(), "tau": 5.0}
    assert uselton.rate_by_equation_2(1, **sharper) == pytest.approx(400, rel=1e-12)


@pytest.mark.parametrize("transfer", [1, 16, 43, 64, 512, 4096, 2**20])
def test_equation_3_is_a_stage_with_a_fixed_cost(transfer: int) -> None:
    values = constants("3")
    r_b = values["r_B"] * 1e6
    printed = uselton.equation_3(transfer, r_b, values["f"])
    made = uselton.rate_by_equation_3(transfer, r_b, values["f"], total=2e9)
    assert made == pytest.approx(printed, rel=1e-12)


def test_equation_3_halves_the_rate_at_43_bytes_and_not_at_16() -> None:
    values = constants("3")
    r_b = values["r_B"] * 1e6

    def kept(transfer: float, f: float) -> float:
        return uselton.rate_by_equation_3(transfer, r_b, f, total=2e9) / r_b

    assert kept(r_b * values["f"], values["f"]) == pytest.approx(0.5)
    assert r_b * values["f"] == pytest.approx(43)
    assert 1 - kept(16, values["f"]) == pytest.approx(0.73, abs=0.005)
    assert kept(16, 0.372e-6) == pytest.approx(0.5, abs=0.001)
    assert kept(2e9, values["f"]) == pytest.approx(1, abs=1e-7)


@pytest.mark.parametrize("note", ["before", "after"])
@pytest.mark.parametrize("tasks", [1, 2, 20, 32, 33, 64, 80, 81, 128, 1024, 4096, 8192, 16384])
def test_equation_4_is_targets_that_crowds_slow_down(note: str, tasks: int) -> None:
    values = franklin(note)
    printed = uselton.equation_4(tasks, **values)  # type: ignore[arg-type]
    made = uselton.rate_by_equation_4(tasks, **{**values, "o": int(values["o"])})  # type: ignore[arg-type]
    assert made == pytest.approx(printed, rel=1e-12)


def curve(note: str, tasks: int) -> float:
    values = franklin(note)
    return uselton.rate_by_equation_4(tasks, **{**values, "o": int(values["o"])})  # type: ignore[arg-type]


def test_franklin_before_the_test_is_expected_at_15360_then_10240() -> None:
    assert curve("before", 80) == pytest.approx(15360)
    assert curve("before", 16384) == pytest.approx(10240, rel=1e-4)
    # At T the times are halfway, not the rates: the harmonic mean of 192 and 128 is 153.6.
    assert curve("before", 4096) == pytest.approx(80 * 153.6)


def test_franklin_after_the_adjustment_saturates_at_4_gb_per_second() -> None:
    assert curve("after", 32) == curve("after", 20) * 32 / 20 == pytest.approx(4096)
    assert curve("after", 64) == pytest.approx(4096, rel=1e-4)
    assert curve("after", 8192) == pytest.approx(3212.6, abs=0.1)


def test_equation_4_jumps_at_its_corner_by_one_percent_before_and_not_after() -> None:
    for note, jump in (("before", 0.0097), ("after", 0.0)):
        values = franklin(note)
        o = int(values["o"])
        second = o * uselton.equation_2(o, values["r_s"], values["r_r"], values["t"], values["tau"])
        assert 1 - second / (o * values["r_s"]) == pytest.approx(jump, abs=1e-4)


def on_servers(tasks: int, rate_of_server: float) -> float:
    """Files of 1024 MB distributed round-robin to 20 servers; one task alone draws 128 MB/s."""
    stage = uselton.stage("OSS", rate_of_server, kind="server", units=20).model_copy(
        update={"one_user_bytes_per_second": uselton.exactly(128)}
    )
    flow = Flow("write", "direct", 256, 4.0, {"all": tasks}, whole_files=True)
    return stage_time(stage, flow).rate


def test_the_slowest_task_makes_2100_of_2688_with_21_tasks() -> None:
    assert on_servers(20, 200) == pytest.approx(20 * 128)
    assert 21 * 128 == 2688
    assert on_servers(21, 200) == pytest.approx(2100)
    stage = uselton.stage("OSS", 200, kind="server", units=20)
    flow = Flow("write", "direct", 256, 4.0, {"all": 21}, whole_files=True)
    assert stage_time(stage, flow).seconds == pytest.approx(10.24)


def test_a_third_target_on_one_server_costs_28_percent_with_41_tasks() -> None:
    """Section 3.9.2: a second target adds 73 MB/s to a server's 128, a third 12."""
    two, three = 128 + 73, 128 + 73 + 12
    before, after = on_servers(40, two), on_servers(41, three)
    assert (before, after) == (pytest.approx(4020), pytest.approx(2911))
    assert 1 - after / before == pytest.approx(0.276, abs=0.001)


def test_files_per_target_add_up_to_6_8_percent_under_8192() -> None:
    with (REFERENCE / "uselton_file_allocation.csv").open() as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    files = sum(int(row["files_per_ost"]) * int(row["osts"]) for row in rows)
    assert sum(int(row["osts"]) for row in rows) == 80
    assert files == 7633
    assert 1 - files / 8192 == pytest.approx(0.068, abs=0.0005)
    assert 16 * 204 + 64 * 205 == 16384
