"""Free-form records: every leaf is shown, with the unit its key names."""

from __future__ import annotations

from typing import Any

import pytest

from report_reader import parse
from weir.report.keyed import key_value_table, unit_of


def shown(record: dict[str, Any]) -> dict[str, str]:
    rows = parse(key_value_table(record, "Record")).one("tbody").find("tr")
    return {row.one("th").text: row.one("td").text for row in rows}


def test_units_move_from_the_key_to_the_value() -> None:
    assert shown(
        {
            "memory": {"bytes": 64 * 2**30, "page_bytes": 4096},
            "mtu_bytes": 1400,
            "call_seconds": {"median": 2.5e-7, "values": [2.0e-7, 3.0e-7]},
            "write_storage_bytes_per_second": {"median": 1.5 * 2**30},
            "busy_work_operations_per_second": {"median": 2.5e9},
            "dirty_ratio_percent": 20,
        }
    ) == {
        "memory": "64.0 GiB",
        "memory \u203a page": "4.00 KiB",
        "mtu": "1400 bytes",
        "call \u203a median": "250 ns",
        "call \u203a values": "200 ns, 300 ns",
        "write storage \u203a median": "1.50 GiB/s",
        "busy work \u203a median": "2\u202f500\u202f000\u202f000 per second",
        "dirty ratio": "20 %",
    }


def test_what_is_no_number_keeps_its_key() -> None:
    assert shown({"total_bytes": "unknown", "seconds": True}) == {
        "total bytes": "unknown",
        "seconds": "yes",
    }


def test_nothing_is_left_out() -> None:
    record = {"a": None, "b": [], "c": {}, "d": {"e": [{"f": 1}, {"f": 2}]}, "g": ["x", "y"]}
    assert shown(record) == {
        "a": "\u2013",
        "b": "\u2013",
        "c": "\u2013",
        "d \u203a e \u203a 0 \u203a f": "1",
        "d \u203a e \u203a 1 \u203a f": "2",
        "g": "x, y",
    }


def test_commands_can_be_pasted_into_a_shell() -> None:
    assert shown({"command": ["weir-bench", "--directory", "a b"]}) == {
        "command": "weir-bench --directory 'a b'"
    }


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        (("memory_bytes_per_host",), "bytes"),
        (("rate_bytes_per_second", "low"), "bytes_per_second"),
        (("kilobytes",), None),
        (("seconds",), "seconds"),
    ],
)
def test_the_innermost_key_names_the_unit(path: tuple[str, ...], unit: str | None) -> None:
    assert unit_of(path) == unit
