"""Sizes, rates and counts as people write them; programs that are missing, fail or hang."""

from __future__ import annotations

import pytest

from testbed.errors import USAGE, TestbedError
from testbed.programs import require_programs, run
from testbed.quantities import (
    parse_bit_rate,
    parse_bytes,
    parse_count,
    parse_list,
    parse_rate,
)


def test_units() -> None:
    assert parse_bytes("512MiB") == 512 << 20
    assert parse_bytes("1GB") == 10**9
    assert parse_bytes("4096") == 4096
    assert parse_rate("1.5MB/s") == 1_500_000
    assert parse_rate("none") is None
    assert parse_count("2k") == 2000
    assert parse_bit_rate("2.5Gbit") == 2_500_000_000


def test_a_list_takes_the_unit_of_its_last_value() -> None:
    assert parse_list("50,100, 150,200MB/s", parse_rate) == [n * 10**6 for n in (50, 100, 150, 200)]
    assert parse_list("1gbit,100mbit", parse_bit_rate) == [10**9, 10**8]
    assert parse_list("none,10MB/s", parse_rate) == [None, 10**7]


@pytest.mark.parametrize(
    "text", ["", "MB/s", "-1MB/s", "0MB/s", "1MB", "1e9MB/s", "9999999999GB/s"]
)
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(TestbedError, match="rate") as raised:
        parse_rate(text)
    assert raised.value.status == USAGE


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.programs.SYSTEM_FOLDERS", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(TestbedError, match=r"^not installed: mkfs\.xfs; .* install xfsprogs$"):
        require_programs(["mkfs.xfs"])


def test_a_command_that_fails_or_hangs_is_named() -> None:
    with pytest.raises(TestbedError, match=r"^sh -c echo why >&2; false: why$"):
        run(["sh", "-c", "echo why >&2; false"])
    with pytest.raises(TestbedError, match=r"^sleep 20: not done after 0\.2 s$"):
        run(["sleep", "20"], seconds=0.2)
