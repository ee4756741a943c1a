"""A stage slowed on purpose is named as the limit: by the expectation where the description knows
it, by the verdict where the description is older."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Mapping
from pathlib import Path

import mpi_launcher
import pytest

from testbed_calls import PROGRAM, MakeHosts, MakeTargets, call, launcher
from weir.model.calibration_platform import platform_of_calibration
from weir.results.folder import load_calibration
from weir.results.platform import PlatformStage
from weir.results.platform_file import write_platform
from weir_bench_calls import Bench, bench, described, units, write_description

pytestmark = pytest.mark.alone

MB = 1e6
GB = 1e9
MPIRUN = shlex.join([*mpi_launcher.launcher(), "-n"])
IN_MEMORY = ("page cache write", "page cache read", "memory copy")
NOT_OFF = ("as expected", "not decided")
"""What a right expectation may lead to on a machine that others use, too."""


def memory_stage() -> PlatformStage:
    return PlatformStage(
        name="memory copy",
        kind="node",
        routes=["memory"],
        units=1,
        rate_bytes_per_second=described(2 * GB),
        how="described by hand",
    )


def target_stage(rates: Mapping[str, float]) -> PlatformStage:
    return PlatformStage(
        name="targets",
        kind="target",
        routes=["durable", "dropped"],
        units=len(rates),
        rate_bytes_per_second=described(max(rates.values())),
        different_units=units(rates),
        how="described by hand",
    )


def link_stage(rates: Mapping[str, float]) -> PlatformStage:
    return PlatformStage(
        name="node link",
        kind="node link",
        routes=["network"],
        units=len(rates),
        rate_bytes_per_second=described(max(rates.values())),
        different_units=units(rates),
        how="described by hand",
    )


def test_one_target_of_four(targets: MakeTargets, tmp_path: Path) -> None:
    made = targets("200,200,25,200MB/s", size="128MiB")
    directories = [target.directory for target in made]
    here = {socket.gethostname(): 4}
    known = dict(zip(directories, [200 * MB, 200 * MB, 25 * MB, 200 * MB], strict=True))
    older = dict.fromkeys(directories, 200 * MB)
    run = ["-F", "-e", "-t", "1m", "-b", "16m", "-i", "2", "--drop-cache", "-n", "4"]

    def measure(name: str, rates: Mapping[str, float]) -> Bench:
        stages = [memory_stage(), target_stage(rates)]
        file = write_description(tmp_path / f"{name}.toml", stages, here)
        return bench(tmp_path / name, "--platform", str(file), "-o", "@".join(directories), *run)

    with_it, without_it = measure("known", known), measure("older", older)
    with_it.check_printed()
    for direction in ("write", "read"):
        assert with_it.expected(direction).limiting_stage == f"target {directories[2]}"
        assert with_it.judged(direction).verdict in NOT_OFF
        assert without_it.expected(direction).limiting_stage == "targets"
        assert without_it.judged(direction).verdict == "below"
        assert f"look at target {directories[2]}" in without_it.judged(direction).text


def test_a_target_that_is_slow_as_a_whole_is_only_as_calibrated(
    targets: MakeTargets, tmp_path: Path
) -> None:
    """The calibration is as slow as the run; that of the run before tells what the target gave."""
    (made,) = targets("60MB/s", size="256MiB")
    call("targets", "set", made.name, "--rate", "60MB/s")
    run = ["-F", "-e", "-t", "1m", "-b", "24m", "-i", "2", "--drop-cache", "-n", "2"]
    run += ["--directory", str(made.directory), "--go-on", "0"]
    before = bench(tmp_path / "before", *run)
    call("targets", "set", made.name, "--rate", "20MB/s")
    after = bench(tmp_path / "after", *run)
    narrow = 0
    for direction in ("write", "read"):
        assert before.judged(direction).verdict in NOT_OFF
        judged, bound = after.judged(direction), after.expected(direction).a_priori
        assert bound is not None
        assert bound.basis == "earlier calibration"
        # A target that has been idle gives its first few megabytes at once, so that the trials of
        # one direction may differ a lot: too wide a bound.
        assert bound.low is not None
        assert bound.value is not None
        if bound.low > bound.value / 2:
            narrow += 1
            assert judged.verdict == "as calibrated"
            assert judged.a_priori_ratio is not None
            assert 0.25 < judged.a_priori_ratio < 0.42
        else:
            assert judged.verdict in NOT_OFF
    assert narrow > 0


def test_one_link_of_four(hosts: MakeHosts, tmp_path: Path) -> None:
    made = hosts(4, "1gbit,1gbit,1gbit,100mbit")
    names = [host.name for host in made]
    over_links = shlex.join(launcher(4))
    payload = 1448 / 1514
    fast, slow = payload * 1e9 / 8, payload * 1e8 / 8
    known = dict(zip(names, [fast, fast, fast, slow], strict=True))
    older = dict.fromkeys(names, fast)
    run = f"-a MPIIO -c -w -t 1m -b 8m -i 2 --sync none --directory {tmp_path}".split()

    def measure(name: str, rates: Mapping[str, float]) -> Bench:
        stages = [memory_stage(), cached_stage(), link_stage(rates)]
        file = write_description(tmp_path / f"{name}.toml", stages, dict.fromkeys(names, 1))
        return bench(tmp_path / name, "--platform", str(file), "--launcher", over_links, *run)

    with_it, without_it = measure("known", known), measure("older", older)
    with_it.check_printed()
    assert with_it.expected("write").limiting_stage == f"node link of {names[3]}"
    assert with_it.judged("write").verdict in NOT_OFF
    assert without_it.expected("write").limiting_stage == "node link"
    assert without_it.judged("write").verdict == "below"
    assert "node link" in without_it.judged("write").text


def cached_stage() -> PlatformStage:
    return PlatformStage(
        name="page cache",
        kind="node",
        routes=["cached"],
        units=1,
        rate_bytes_per_second=described(1 * GB),
        how="described by hand",
    )


def test_the_memory(testbed: None, tmp_path: Path) -> None:  # noqa: ARG001
    # Transfers that need more than one period of the slowing, which lets short ones pass at once.
    run = f"-t 32m -b 64m -F --sync none -i 3 --directory {tmp_path}".split()
    slowed = f"{PROGRAM} slow processors --percent 10 -- {MPIRUN} 2"

    quick = bench(tmp_path / "quick", *run, "--launcher", f"{MPIRUN} 2")
    file = tmp_path / "older.toml"
    write_platform(
        file, platform_of_calibration(load_calibration(quick.output / "calibration.json"))
    )
    known = ("--platform", str(file), *run, "--launcher", slowed)
    for number in range(3):  # a wide interval, as beside other work, says to repeat the run
        without_it = bench(tmp_path / f"older-{number}", *known)
        words = {without_it.judged(direction).verdict for direction in ("write", "read")}
        if "not decided" not in words:
            break
    with_it = bench(tmp_path / "known", *run, "--launcher", slowed)

    with_it.check_printed()
    for direction in ("write", "read"):
        assert with_it.expected(direction).limiting_stage in IN_MEMORY
        assert without_it.judged(direction).verdict == "below"
        assert any(name in without_it.judged(direction).text for name in IN_MEMORY)
        before = quick.expected(direction).value
        assert with_it.expected(direction).value < before


def test_the_fixed_cost_of_a_call(testbed: None, tmp_path: Path) -> None:  # noqa: ARG001
    launcher = f"{PROGRAM} slow calls --microseconds 2000 -- {MPIRUN} 2"
    run = f"-t 4k -b 512k -e --drop-cache -i 2 --directory {tmp_path}".split()
    with_it = bench(tmp_path / "known", *run, "--launcher", launcher)
    with_it.check_printed()
    for direction in ("write", "read"):
        assert with_it.expected(direction).limiting_stage.startswith("fixed cost of ")
        assert with_it.judged(direction).verdict in NOT_OFF
