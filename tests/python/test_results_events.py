"""Events from NumPy columns to Parquet."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from synthetic import make_events
from weir.results import events as events_module
from weir.results.errors import ResultError
from weir.results.events import (
    COLUMN_TYPES,
    FUNCTION_NAMES,
    OPERATION_NAMES,
    finalize_events,
    write_event_columns,
)


def rows(parquet: Path) -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        selected = ", ".join(COLUMN_TYPES)
        sql = f"SELECT {selected} FROM read_parquet(?)"
        return connection.execute(sql, [str(parquet)]).fetchall()


@pytest.mark.parametrize("rows_at_a_time", [7, 500_000])
def test_every_value_arrives_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_at_a_time: int
) -> None:
    monkeypatch.setattr(events_module, "ROWS_AT_A_TIME", rows_at_a_time)
    events = make_events(repetitions=1, bins=2)
    write_event_columns(tmp_path, events)
    expected = [
        tuple(
            FUNCTION_NAMES[value]
            if name == "function"
            else OPERATION_NAMES[value]
            if name == "operation"
            else value
            for name, value in zip(COLUMN_TYPES, row, strict=True)
        )
        for row in zip(*(events[name].tolist() for name in COLUMN_TYPES), strict=True)
    ]
    assert rows(finalize_events(tmp_path)) == expected
    assert [entry.name for entry in tmp_path.iterdir()] == ["events.parquet"]


def test_finalizing_again_changes_nothing(tmp_path: Path) -> None:
    write_event_columns(tmp_path, make_events(repetitions=1))
    first = finalize_events(tmp_path).read_bytes()
    assert finalize_events(tmp_path).read_bytes() == first


def test_columns_left_beside_an_older_parquet_file_replace_it(tmp_path: Path) -> None:
    """As after an interruption between the two last steps, or a second run into the folder."""
    write_event_columns(tmp_path, make_events(repetitions=1))
    (tmp_path / "events.parquet").write_bytes(b"old")
    assert len(rows(finalize_events(tmp_path))) == len(make_events(repetitions=1)["rank"])


def test_no_events_at_all_are_valid(tmp_path: Path) -> None:
    write_event_columns(tmp_path, {name: np.array([]) for name in COLUMN_TYPES})
    assert rows(finalize_events(tmp_path)) == []


def damage_missing(folder: Path) -> None:
    (folder / "bytes.npy").unlink()


def damage_cut(folder: Path) -> None:
    file = folder / "bytes.npy"
    file.write_bytes(file.read_bytes()[:-8])


def damage_type(folder: Path) -> None:
    np.save(folder / "bytes.npy", np.load(folder / "bytes.npy").astype("float64"))


def damage_length(folder: Path) -> None:
    np.save(folder / "bytes.npy", np.load(folder / "bytes.npy")[:-1])


def damage_code(folder: Path) -> None:
    codes = np.load(folder / "operation.npy")
    codes[3] = len(OPERATION_NAMES)
    np.save(folder / "operation.npy", codes)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (damage_missing, "bytes.npy is missing"),
        (damage_cut, "bytes.npy is no readable NumPy column"),
        (damage_type, "holds float64 of 1 dimensions, expected 1-D int64"),
        (damage_length, "differ in length"),
        (damage_code, "operation.npy holds codes outside 0 to 4"),
    ],
)
def test_damaged_columns_are_refused_and_kept(tmp_path: Path, damage: object, told: str) -> None:
    write_event_columns(tmp_path, make_events(repetitions=1))
    assert callable(damage)
    damage(tmp_path / "events")
    with pytest.raises(ResultError, match=told):
        finalize_events(tmp_path)
    assert (tmp_path / "events").is_dir()
    assert not (tmp_path / "events.parquet").exists()
