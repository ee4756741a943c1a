"""Fits to synthetic probes: the law that made the samples has to be found again."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from probes import SIZES, make_probe, samples_of
from weir.model.flow import flow_on_one_host
from weir.model.platform_fit import fit_platform
from weir.model.stage import stage_time
from weir.model.stage_forms import StageForm, fit_stage
from weir.results.errors import ResultError
from weir.results.platform import Fit, Platform, PlatformStage
from weir.results.platform_file import load_platform, write_platform
from weir.results.record import Quantity

MIB = 2**20


def grid(users: tuple[int, ...] = (1, 2, 4)) -> dict[str, np.ndarray]:
    pairs = [(n, size) for n in users for size in SIZES]
    return {
        "users": np.array([n for n, _ in pairs], dtype=float),
        "bytes": np.array([size for _, size in pairs], dtype=float),
    }


LAWS = {
    "one rate": (StageForm("one draws all", "no fixed cost", "one rate"), {"rate": 1e9}),
    "equation 3": (
        StageForm("one draws all", "fixed cost", "one rate"),
        {"rate": 1e9, "fixed": 2e-4},
    ),
    "operations per second": (
        StageForm("one draws all", "cost in turn", "one rate"),
        {"rate": 1e9, "turn": 5e-4},
    ),
    "saturating": (
        StageForm("saturating", "no fixed cost", "one rate"),
        {"rate": 3e9, "one_user": 1e9},
    ),
    "linear": (StageForm("linear", "fixed cost", "one rate"), {"rate": 1e9, "fixed": 1e-5}),
    "small in a cache": (
        StageForm("one draws all", "fixed cost", "small operations by a step"),
        {"rate": 1e9, "fixed": 1e-6, "small_rate": 8e9, "small_bytes": 500e3},
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_the_form_that_made_the_samples_is_chosen_and_its_parameters_are_found(name: str) -> None:
    form, true = LAWS[name]
    columns = grid()
    dice = np.random.default_rng(7)
    seconds = form.seconds(list(true.values()), columns)
    seconds = seconds * np.exp(dice.normal(0, 0.03, len(seconds)))
    fitted = fit_stage(columns["users"], columns["bytes"], seconds, range(len(seconds)))
    assert fitted.form == form
    assert fitted.fitted.fits
    assert fitted.fitted.median_error < 0.06
    for parameter, value in true.items():
        found = fitted.fitted.parameters[parameter]
        assert found.low <= found.value <= found.high
        # The interval covers the truth, give or take a quarter of itself: it is one of 95 %.
        slack = (found.high - found.low) / 4
        assert found.low - slack <= value <= found.high + slack, (parameter, found)


def test_outliers_move_the_fit_little() -> None:
    form, true = LAWS["equation 3"]
    columns = grid()
    seconds = form.seconds(list(true.values()), columns)
    seconds[[3, 11]] *= 8
    fitted = fit_stage(columns["users"], columns["bytes"], seconds, range(len(seconds)))
    assert fitted.form == form
    for parameter, value in true.items():
        assert fitted.fitted.parameters[parameter].value == pytest.approx(value, rel=0.05)


def test_junk_is_declared_not_to_fit() -> None:
    columns = grid()
    dice = np.random.default_rng(11)
    seconds = np.exp(dice.normal(-7, 2, len(columns["users"])))
    fitted = fit_stage(columns["users"], columns["bytes"], seconds, range(len(seconds)))
    fit = fitted.fitted.as_fit("storage write")
    assert not fit.fits
    assert fit.text.startswith("does not fit, so it is unreliable: ")
    assert fit.held_out_median_error > 0.2


def test_too_few_samples_are_refused() -> None:
    one = np.array([1.0])
    with pytest.raises(ValueError, match="at least two groups"):
        fit_stage(one, one, one, [0])


@pytest.mark.parametrize("name", LAWS)
def test_the_stage_computes_what_the_form_does(name: str) -> None:
    form, true = LAWS[name]
    columns = grid()
    seconds = form.seconds(list(true.values()), columns)
    fitted = fit_stage(columns["users"], columns["bytes"], seconds, range(len(seconds)))
    stage = fitted.stage("storage", "node", ["direct"], None)
    for users, size, expected in zip(
        columns["users"], columns["bytes"], fitted.fitted.seconds(columns), strict=True
    ):
        flow = flow_on_one_host("write", "direct", int(users), 3, float(size))
        assert stage_time(stage, flow).seconds == pytest.approx(3 * expected, rel=1e-5)


@lru_cache
def machine() -> Platform:
    """Memory of 8 GB/s shared by ranks of 3 GB/s, storage of 1 GB/s with 1 ms per durable write."""
    samples = samples_of("memory_copy", lambda n, s: n * s / min(n * 3e9, 8e9), sizes=SIZES[4:])
    samples += samples_of("cache_write", lambda n, s: 2e-6 + n * s / 2.5e9, seed=2)
    samples += samples_of("cache_read", lambda n, s: 1e-6 + n * s / 4e9, seed=3)
    samples += samples_of("storage_write", lambda n, s: 1e-3 + n * s / 1e9, seed=4)
    samples += samples_of("storage_read", lambda n, s: 1e-4 + n * s / 1.5e9, seed=5)
    for operation, seconds in (("call", 4e-7), ("fsync", 9e-4), ("busy_work", 1e-9)):
        samples += samples_of(operation, lambda _n, _s, t=seconds: t, sizes=(1,), ranks=(1, 4))  # type: ignore[misc]
    return fit_platform(make_probe(samples), "test data")


def stage_named(platform: Platform, name: str) -> PlatformStage:
    return next(stage for stage in platform.stages if stage.name == name)


def inside(quantity: Quantity | None, value: float) -> bool:
    assert quantity is not None
    return bool(quantity.low * 0.97 <= value <= quantity.high * 1.03)


def test_a_probe_becomes_stages_in_the_order_of_the_path() -> None:
    platform = machine()
    assert [stage.name for stage in platform.stages] == [
        "memory copy",
        "page cache write",
        "page cache read",
        "storage write",
        "storage read",
    ]
    memory = stage_named(platform, "memory copy")
    assert inside(memory.rate_bytes_per_second, 8e9)
    assert inside(memory.one_user_bytes_per_second, 3e9)
    write = stage_named(platform, "storage write")
    assert inside(write.rate_bytes_per_second, 1e9)
    assert inside(write.fixed_seconds, 1e-3)
    assert write.routes == ["durable", "direct"]
    assert all(fit.fits and fit.held_out_median_error < 0.1 for fit in platform.fits)
    assert platform.busy_work_operations_per_second is not None
    assert inside(platform.busy_work_operations_per_second, 1e9)
    assert platform.latencies_seconds["fsync"].value == pytest.approx(9e-4, rel=0.1)
    assert platform.ranks_per_host == 4


def test_what_the_library_prices_by_is_found() -> None:
    samples = samples_of("memory_copy", lambda _, s: s / 4e9, noise=0)
    samples += samples_of("run_copy", lambda _, s: 7e-9 + s / 4e9, ranks=(1,), sizes=(64,))
    # On each host three ranks of the six, who wait for each other.
    samples += samples_of("shared_write", lambda n, _: 5e-6 * n / 2, ranks=(6,), sizes=(512,))
    samples += samples_of("shared_write", lambda _n, _s: 4e-6, ranks=(1,), sizes=(512,))
    hosts = {"node00": 3, "node01": 3}
    found = fit_platform(make_probe(samples, ranks=6, ranks_by_host=hosts), "test data")
    latencies = found.latencies_seconds
    assert latencies["run_copy"].value == pytest.approx(7e-9, rel=0.2)
    assert latencies["shared_write"].value == pytest.approx(5e-6, rel=0.1)
    assert latencies["shared_write_alone"].value == pytest.approx(4e-6, rel=0.1)


def test_direct_samples_make_stages_of_their_own() -> None:
    samples = samples_of("storage_write", lambda n, s: 1e-3 + n * s / 1e9)
    samples += samples_of("direct_write", lambda n, s: 1e-4 + n * s / 2e9, seed=2)
    platform = fit_platform(make_probe(samples), "test data")
    assert stage_named(platform, "storage write").routes == ["durable"]
    direct = stage_named(platform, "direct write")
    assert direct.routes == ["direct"]
    assert inside(direct.rate_bytes_per_second, 2e9)


def test_every_directory_is_a_target_with_its_own_rate() -> None:
    rates = {"/mnt/t0": 200e6, "/mnt/t1": 150e6, "/mnt/t2": 50e6, "/mnt/t3": 100e6}
    samples = []
    for place, (directory, rate) in enumerate(rates.items()):
        samples += samples_of(
            "storage_write",
            lambda n, s, r=rate: 1e-4 + n * s / r,  # type: ignore[misc]
            seed=place,
            directory=directory,
        )
    stage = stage_named(fit_platform(make_probe(samples), "test data"), "storage write")
    assert stage.units == 4
    for unit in stage.different_units:
        assert unit.rate_bytes_per_second.value == pytest.approx(rates[unit.name], rel=0.05)


def test_small_requests_that_have_not_met_the_limit_do_not_raise_a_targets_rate() -> None:
    rates = {"/mnt/t0": 50e6, "/mnt/t1": 100e6, "/mnt/t2": 200e6}
    small, large = 4096, 256 * 1024
    samples = []
    for place, (directory, rate) in enumerate(rates.items()):
        more = {"seed": place, "directory": directory}
        samples += samples_of(
            "direct_read", lambda _n, s: s / 1e9, ranks=(1,), sizes=(small,), **more
        )
        samples += samples_of(
            "direct_read",
            lambda n, s, r=rate: n * s / r,  # type: ignore[misc]
            ranks=(1, 2),
            sizes=(large,),
            **more,
        )
    stage = stage_named(fit_platform(make_probe(samples), "test data"), "direct read")
    found = {unit.name: unit.rate_bytes_per_second.value for unit in stage.different_units}
    assert found == pytest.approx(rates, rel=0.05)


def test_a_slow_link_is_that_of_the_host_that_all_its_pairs_share() -> None:
    hosts = [f"host{place}" for place in range(4)]
    samples = []
    for place, sender in enumerate(hosts):
        receiver = hosts[(place + 1) % 4]
        rate = 10e6 if "host3" in (sender, receiver) else 100e6
        samples += samples_of(
            "bandwidth",
            lambda n, s, r=rate: 5e-5 + n * s / r,  # type: ignore[misc]
            ranks=(1,),
            seed=place,
            hosts=[sender, receiver],
        )
    probe = make_probe(samples, ranks_by_host=dict.fromkeys(hosts, 1))
    link = stage_named(fit_platform(probe, "test data"), "node link")
    found = {unit.name: unit.rate_bytes_per_second.value for unit in link.different_units}
    assert found == pytest.approx({h: 10e6 if h == "host3" else 100e6 for h in hosts}, rel=0.05)


def test_a_stage_of_junk_says_so_and_the_others_stay() -> None:
    dice = np.random.default_rng(5)
    samples = samples_of("cache_write", lambda n, s: 2e-6 + n * s / 2.5e9)
    samples += samples_of("storage_write", lambda _n, _s: float(np.exp(dice.normal(-7, 2))))
    fits = {fit.stage: fit for fit in fit_platform(make_probe(samples), "test data").fits}
    assert fits["page cache write"].fits
    assert not fits["storage write"].fits


def test_a_single_sample_is_kept_and_called_not_fitted() -> None:
    samples = samples_of("storage_write", lambda n, s: n * s / 1e9, ranks=(1,), sizes=(MIB,))
    samples[0]["seconds"] = samples[0]["seconds"][:1]
    platform = fit_platform(make_probe(samples), "test data")
    (fit,) = platform.fits
    assert isinstance(fit, Fit)
    assert not fit.fits
    assert "not fitted, so it is unreliable" in fit.text


def test_a_probe_without_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="no sample to which a stage can be fitted"):
        fit_platform(make_probe([]), "test data")


def test_a_platform_is_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    platform = machine()
    file = write_platform(tmp_path / "platforms" / "node00.toml", platform)
    again = load_platform(file)
    assert [stage.name for stage in again.stages] == [stage.name for stage in platform.stages]
    assert again.topology["hardware"] == {"cores": 4}
    for before, after in zip(platform.stages, again.stages, strict=True):
        flow = flow_on_one_host("write", "direct", 4, 10, 1e6)
        assert stage_time(after, flow).seconds == pytest.approx(
            stage_time(before, flow).seconds, rel=1e-4
        )


BY_HAND = """
format = "weir-platform"
format_version = 1
name = "by hand"
hosts = 1
ranks_per_host = 4
[[stages]]
name = "storage write"
kind = "target"
routes = ["durable"]
units = 4
rate_bytes_per_second = 1e9
"""


def test_by_hand_a_number_is_a_figure(tmp_path: Path) -> None:
    file = tmp_path / "by-hand.toml"
    file.write_text(BY_HAND)
    (stage,) = load_platform(file).stages
    assert stage.rate_bytes_per_second == Quantity(value=1e9, low=1e9, high=1e9)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rate = ", "is not TOML"),
        (BY_HAND.replace("1e9", "inf"), "holds inf or nan"),
        (BY_HAND.replace("units = 4", "units = 0"), "stages\\[0\\].units"),
        (BY_HAND.replace("format_version = 1", "format_version = 2"), "use a newer weir"),
        (BY_HAND.replace("routes", "ways"), "stages\\[0\\].routes: Field required"),
    ],
)
def test_a_fault_in_a_description_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "broken.toml"
    file.write_text(text)
    with pytest.raises(ResultError, match=told) as error:
        load_platform(file)
    assert "\n" not in str(error.value)
    with pytest.raises(ResultError, match="does not exist"):
        load_platform(tmp_path / "missing.toml")
