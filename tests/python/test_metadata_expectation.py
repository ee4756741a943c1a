"""Metadata rates that a platform promises, and how a run is judged by them."""

from __future__ import annotations

from typing import Any

import pytest

from platforms import make_platform
from probes import make_probe, samples_of
from test_report_metadata import metadata_run
from weir.model.expectation import expect
from weir.model.platform_fit import fit_platform
from weir.model.verdict import verdict
from weir.results.expectations import ActionVerdict, ExpectedAction
from weir.results.metadata_rates import MetadataRates
from weir.results.schema import Parameter, Plan, Run

ONE, ALL, TOGETHER, CLIENTS = 1000.0, 4000.0, 2000.0, 8
RATES = {
    "one_client": ONE,
    "all_clients": {"value": ALL, "low": 3800.0, "high": 4200.0},
    "one_directory": TOGETHER,
}
DEVICE = 8000.0
CREATE = {"action": "create", "expected_per_second": 3500.0, "how": "test data"}


def metadata_rates(**changes: Any) -> MetadataRates:
    record: dict[str, Any] = {
        "clients": CLIENTS,
        "operations": {"create": RATES, "remove": RATES, "stat": RATES, "readdir": RATES},
        "device_writes_per_second": {str(CLIENTS): DEVICE},
    }
    return MetadataRates.model_validate({**record, **changes})


def expected(
    ranks: int = CLIENTS,
    action: str = "create",
    *,
    rates: list[MetadataRates] | None = None,
    operations: int = 10_000,
    mix: dict[str, int] | None = None,
    directory: str | None = None,
    hosts: int = 1,
    ranks_per_host: int = 8,
    shift: int | None = None,
    **parameters: str | int | bool,
) -> list[ExpectedAction]:
    planned: list[dict[str, Any]] = [{"action": action, "operations": operations}]
    planned += [{"action": f"mix/{name}", "operations": n} for name, n in (mix or {}).items()]
    plan = Plan(
        ranks=ranks,
        files=1,
        memory_bytes_per_rank=1,
        memory_bytes_total=1,
        disk_bytes_total=0,
        phases=[],
        metadata=planned,
    )
    platform = make_platform(
        [],
        metadata=[metadata_rates()] if rates is None else rates,
        hosts=hosts,
        ranks_per_host=ranks_per_host,
    )
    given = {name: Parameter(value=v, origin="default") for name, v in parameters.items()}
    given["rank_shift"] = Parameter(
        value=shift or 0, origin="default" if shift is None else "command line"
    )
    made = expect(plan, False, given, platform, "2026-11-22T00:00:00Z", directory=directory)
    return made.metadata


def test_a_probe_gives_rates_of_one_of_all_and_of_one_directory() -> None:
    samples = samples_of("create", lambda n, _: n / ALL, ranks=(4,), sizes=(0x1000,), noise=0)
    samples += samples_of("create", lambda n, _: n / ONE, ranks=(1,), sizes=(0x1000,), noise=0)
    more = samples_of("create", lambda n, _: n / TOGETHER, ranks=(4,), sizes=(0x1000,), noise=0)
    samples += [{**sample, "shared_directory": True} for sample in more]
    samples += samples_of("direct_write", lambda _, s: 1 / DEVICE * s / 4096, noise=0)
    samples = [{**sample, "directory": "/scratch"} for sample in samples]
    (found,) = fit_platform(make_probe(samples), "test data").metadata
    assert (found.directory, found.clients) == ("/scratch", 4)
    shown = {name: rate["value"] for name, rate in found.operations["create"].model_dump().items()}
    assert shown == pytest.approx(
        {"one_client": ONE, "all_clients": ALL, "one_directory": TOGETHER}, rel=1e-6
    )
    device = {clients: rate.value for clients, rate in found.device_writes_per_second.items()}
    assert device == pytest.approx({1: DEVICE, 2: 2 * DEVICE, 4: 4 * DEVICE})
    assert found.device_reads_per_second == {}
    memory = {
        "directory": "/scratch",
        "file_system": "tmpfs",
        "mount": "/scratch",
        "device": "tmpfs",
    }
    (without,) = fit_platform(make_probe(samples, targets=[memory]), "test data").metadata
    assert without.device_writes_per_second == {}


def test_rates_of_a_few_operations_are_left_out_and_said() -> None:
    few = samples_of("create", lambda n, _: n / ALL, ranks=(4,), sizes=(0x1000,), noise=0)
    few = [{**few[0], "directory": "/scratch", "operations": 15}]
    many = [{**few[0], "operation": "stat", "operations": 16}]
    sizes = samples_of("direct_write", lambda n, s: n / DEVICE * s / 4096, noise=0)
    platform = fit_platform(make_probe([*sizes, *few, *many]), "test data")
    (found,) = platform.metadata
    assert list(found.operations) == ["stat"]
    left_out, of_ext4 = platform.conditions["warnings"]
    assert left_out.startswith("/scratch: create: trials of fewer than 16 operations")
    assert of_ext4.startswith("/scratch: ext4 creates files slowly after files were removed")


@pytest.mark.parametrize(
    ("ranks", "sharing", "rate", "limit"),
    [
        (1, "per-rank", ONE, "each rank's own calls"),
        (CLIENTS, "per-rank", ALL, "file system"),
        (CLIENTS, "shared", TOGETHER, "shared directory"),
    ],
)
def test_what_was_probed_is_expected(ranks: int, sharing: str, rate: float, limit: str) -> None:
    (one,) = expected(ranks, sharing=sharing)
    assert one.value == pytest.approx(rate)
    assert one.limiting_stage == limit
    assert one.low is not None
    assert one.high is not None
    assert one.low <= 0.85 * rate < 1.15 * rate <= one.high
    assert one.device_per_second == (DEVICE if ranks == CLIENTS else None)


def test_between_one_and_all_both_forms_lie_in_the_interval() -> None:
    (one,) = expected(4, sharing="per-rank")
    contended = 4 * ONE / (1 + 3 / 7)  # eight times one rank's rate is twice that of eight
    power = ONE * 4 ** (2 / 3)  # four times as much with eight
    assert one.value == pytest.approx(contended)
    assert one.low is not None
    assert one.high is not None
    assert one.low < power < contended < one.high
    until_the_most = min(4 * ONE, ALL)
    assert one.high >= until_the_most
    assert "interpolated between 1 and 8 clients" in one.how


def test_in_several_shared_directories_either_may_hold() -> None:
    (one,) = expected(branching=2, depth=1)
    assert one.value == pytest.approx(2 / (1 / ALL + 1 / TOGETHER))
    assert one.low == pytest.approx(TOGETHER)
    assert one.high == pytest.approx(4200)


def test_where_more_clients_do_less_a_few_may_do_most() -> None:
    falling = {"create": {"one_client": ALL, "all_clients": ONE}}
    (one,) = expected(2, rates=[metadata_rates(operations=falling)], sharing="per-rank")
    assert one.value is not None
    assert one.high is not None
    assert one.value < ALL <= one.high


def test_a_rate_that_may_be_nothing_keeps_that_as_its_low_end() -> None:
    unsure = {"create": {"one_client": {"value": ONE, "low": 0, "high": ONE}, "all_clients": ALL}}
    (one,) = expected(4, rates=[metadata_rates(operations=unsure)], sharing="per-rank")
    assert one.low == 0


@pytest.mark.parametrize("known", ["all_clients", "one_directory"])
def test_where_all_clients_are_one_theirs_is_the_rate_of_one(known: str) -> None:
    alone = metadata_rates(clients=1, operations={"create": {known: ALL}})
    (one,) = expected(1, rates=[alone])
    assert one.value == pytest.approx(ALL)
    assert one.limiting_stage == "each rank's own calls"


def test_the_directory_itself_comes_before_any() -> None:
    slow = {"create": {"one_client": 1.0}}
    rates = [metadata_rates(operations=slow), metadata_rates(directory="/scratch")]
    (one,) = expected(1, rates=rates, directory="/scratch")
    assert one.value == pytest.approx(ONE)
    (other,) = expected(1, rates=rates, directory="/other")
    assert other.value == pytest.approx(1.0)


@pytest.mark.parametrize("low", [{"low": 6.0}, {"high": 4.0}, {"low": 0.0, "high": 0.0}])
def test_an_interval_holds_its_value(low: dict[str, float]) -> None:
    rate = {"value": 5.0, "low": 4.0, "high": 6.0, **low}
    with pytest.raises(ValueError, match="low <= value <= high is false"):
        metadata_rates(operations={"create": {"one_client": rate}})


def test_the_busiest_rank_may_list_alone_at_the_end() -> None:
    """Seven directories and four ranks: one lists two of them, as long as eight would take."""
    (even,) = expected(7, "readdir", depth=2, branching=2)
    (uneven,) = expected(4, "readdir", depth=2, branching=2)
    assert "directories" not in even.how
    assert "one rank lists 2 of 7 directories" in uneven.how
    (each,) = expected(4, "readdir", sharing="per-rank")
    assert each.low is not None
    assert uneven.low == pytest.approx(7 / 8 * each.low)
    (leaves,) = expected(4, "readdir", depth=1, branching=2, **{"leaf-only": True})
    (two,) = expected(2, "readdir", sharing="per-rank")
    assert leaves.value == pytest.approx(two.value)


def test_on_several_hosts_only_what_is_made_is_expected() -> None:
    operations = dict.fromkeys(("create", "remove", "utime", "rename"), RATES)
    rates = [metadata_rates(operations=operations)]
    found = {
        action: expected(CLIENTS, action, rates=rates, hosts=2, ranks_per_host=4)[0]
        for action in ("create", "unlink", "utime", "chmod", "rename")
    }
    assert [action for action, one in found.items() if one.value] == ["create"]
    assert "another host created" in found["unlink"].how
    (own,) = expected(action="unlink", rates=rates, hosts=2, ranks_per_host=4, shift=0)
    assert own.value == pytest.approx(TOGETHER)


def test_of_one_directory_one_rank_lists_all() -> None:
    (one,) = expected(action="readdir")
    assert one.value == pytest.approx(ONE)
    assert "only one rank works" in one.how


@pytest.mark.parametrize(
    ("why", "changes"),
    [
        ("uses io_uring", {"api": "io_uring"}),
        ("without content", {"bytes_bytes": 4096}),
        ("without content", {"bytes_bytes": 4096, "action": "unlink"}),
        ("from an earlier run", {"existing": True}),
        ("up to 8 ranks, the run has 9", {"ranks": 9}),
        (
            "the rate of one client and of all 8, each in a separate directory; here are 8",
            {"rates": [metadata_rates(operations={"create": {**RATES, "one_directory": None}})]},
        ),
        ("syncfs", {"sync-phases": True}),
        ("one file", {"sharing": "one-file"}),
        ("setxattr is not probed", {"action": "setxattr"}),
        ("utime is not probed", {"action": "utime"}),
        ("are too few", {"operations": 10}),
        ("the platform has no rates", {"rates": []}),
        ("no rates", {"rates": [metadata_rates(directory="/other")], "directory": "/scratch"}),
        ("up to 4 clients, and here are 8", {"rates": [metadata_rates(clients=4)]}),
    ],
)
def test_nothing_is_expected_of_what_was_not_probed(why: str, changes: dict[str, Any]) -> None:
    (one,) = expected(**changes)
    assert one.value is None
    assert why in one.how


def test_a_mix_takes_the_time_of_its_operations() -> None:
    slow = {"create": {"one_client": 500.0}, "stat": {"one_client": 2000.0}}
    whole, create, stat = expected(
        1, "mix", mix={"create": 1000, "stat": 1000}, rates=[metadata_rates(operations=slow)]
    )
    assert whole.value == pytest.approx(2000 / (1000 / 500 + 1000 / 2000))
    assert create.value == stat.value
    assert create.value == pytest.approx(400)
    assert whole.limiting_stage.startswith("create: ")
    unsure = {**slow, "stat": {"one_client": {"value": 5.0, "low": 0.0, "high": 9.0}}}
    whole, *_ = expected(
        1, "mix", mix={"create": 1000, "stat": 1000}, rates=[metadata_rates(operations=unsure)]
    )
    assert (whole.value, whole.how) == (None, "mix/stat: its rate may be 0")


def judged(
    expected_per_second: float | None, device: float | None, *, action: str = "create"
) -> ActionVerdict:
    """Returns the verdict on a run that did 3457 creates per second."""
    one = ExpectedAction(
        action=action,
        value=expected_per_second,
        low=expected_per_second and 0.85 * expected_per_second,
        high=expected_per_second and 1.15 * expected_per_second,
        limiting_stage="file system",
        device_per_second=device,
        how="test data",
    )
    run = metadata_run(1.0)
    result = run.metadata[0].model_copy(update={"action": action})
    found = verdict(with_expectation(run.model_copy(update={"metadata": [result]}), one))
    (judgement,) = found.metadata
    assert found.overall == judgement.verdict
    return judgement


def with_expectation(run: Run, action: ExpectedAction) -> Run:
    made = expect(run.plan, False, {}, make_platform([]), "2026-11-22T00:00:00Z")
    return run.model_copy(
        update={"expectation": made.model_copy(update={"metadata": [action], "rates": []})}
    )


@pytest.mark.parametrize(
    ("value", "word"),
    [(3500.0, "as expected"), (9000.0, "below"), (1000.0, "above"), (None, "no expectation")],
)
def test_the_verdict_compares_intervals(value: float | None, word: str) -> None:
    one = judged(value, None)
    assert one.verdict == word
    assert one.ratio == (None if value is None else pytest.approx(3456.7 / value))


def test_the_device_leaves_the_software_its_share() -> None:
    one = judged(3500.0, 34567.0)
    assert one.software_fraction == pytest.approx(0.9)
    faster = judged(3500.0, 1000.0)
    assert faster.software_fraction is None
    assert "many share one of its operations" in faster.software
    assert "unknown" in judged(3500.0, None).software
    assert judged(3500.0, 34567.0, action="mix/create").software == "not determined for mixes"
    run = with_expectation(metadata_run(1.0), ExpectedAction.model_validate(CREATE))
    assert run.environment is not None
    where = {**run.environment.file_system, "reach": "memory", "type": "tmpfs"}
    environment = run.environment.model_copy(update={"file_system": where})
    (one,) = verdict(run.model_copy(update={"environment": environment})).metadata
    assert (one.software_fraction, one.software) == (1.0, "tmpfs has no device")
