"""``weir results history``: which runs are one series, and what is said of a change."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synthetic import make_run
from test_conditions import run_with
from weir.analysis.history import History, drawn, histories_of
from weir.cli import application
from weir.results.errors import ResultError
from weir.results.folder import write_run
from weir.results.schema import Parameter, Rate, Run
from weir.results.store import add

Said = Callable[..., tuple[str, str]]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def call(*words: str) -> tuple[str, str]:
        application()(list(words), standalone_mode=False)
        return capsys.readouterr()

    return call


def dated(run: Run, day: int, write: float, **more: Any) -> Run:
    """The run, on a day from 2026-10-01 on, with this rate of writing and one of reading of 1."""
    rates = [
        Rate.of([value] * 3, direction=direction, metric="span", headline=True)
        for direction, value in (("write", write), ("read", 1e9))
    ]
    started = str(np.datetime64("2026-10-01") + day) + "T06:00:00Z"
    identity = {"id": f"run-{'-'.join(run.label.split())}-{day}", "started_utc": started}
    return run.model_copy(update={**identity, "rates": rates, **more})


def months(before: Run, after: Run, at: int = 12, number: int = 21) -> list[Run]:
    """Runs every third day, of which those from ``at`` on write 0.71 of the rate before."""
    noise = np.exp(0.02 * np.random.default_rng(1).standard_normal(number))
    return [
        dated(before, 3 * place, 1e9 * noise[place])
        if place < at
        else dated(after, 3 * place, 0.71e9 * noise[place])
        for place in range(number)
    ]


def of_figure(histories: list[History], figure: str) -> list[History]:
    return [one for one in histories if one.figure == figure]


def test_a_step_is_told_with_what_changed_with_it() -> None:
    runs = months(
        run_with(kernel="6.1.1", fill=0.4), run_with(kernel="6.1.4", fill=0.92, sha256="b" * 64)
    )
    histories = histories_of(reversed(runs))
    (write,) = of_figure(histories, "write")
    (text,) = write.texts
    assert text.startswith("write madbench POSIX UNIQUE SYNC with 4 ranks on ")
    assert ": 0.7" in text
    assert "of before since 2026-11-06 (12 runs before, 9 after; by chance in " in text
    assert text.endswith(
        "what changed with it: kernel 6.1.1 -> 6.1.4, file system fill 40 % -> 92 %, "
        "SHA-256 of weir-bench aaaaaaaaaaaa -> bbbbbbbbbbbb"
    )
    (read,) = of_figure(histories, "read")
    assert read.changes == []


def test_it_is_said_that_nothing_changed_with_a_step() -> None:
    (write,) = of_figure(histories_of(months(run_with(), run_with())), "write")
    (text,) = write.texts
    assert text.endswith("; nothing that the runs record changed with it")


def test_few_runs_after_a_step_ask_for_more() -> None:
    (write,) = of_figure(histories_of(months(run_with(), run_with(), at=17)), "write")
    assert "(17 runs before, 4 after; few on one side: run more to confirm it; " in write.texts[0]


def test_a_drift_is_told_from_its_beginning_to_its_end() -> None:
    noise = np.exp(0.01 * np.random.default_rng(2).standard_normal(20))
    runs = [dated(run_with(), day, 1e9 * noise[day] * 0.98**day) for day in range(20)]
    (write,) = of_figure(histories_of(runs), "write")
    assert "of the beginning after a drift from 2026-10-01 to 2026-10-20 (20 runs" in write.texts[0]


def with_parameters(run: Run, origin: str, **values: str | int) -> Run:
    added = {
        name: Parameter.model_validate({"value": value, "origin": origin})
        for name, value in values.items()
    }
    return run.model_copy(update={"parameters": run.parameters | added})


def test_settings_that_matter_tell_series_apart() -> None:
    plain = run_with()
    ways = {
        "seed": [with_parameters(plain, "command line", seed=value) for value in (1, 2)],
        "block": [with_parameters(plain, "command line", block=value) for value in (1, 2)],
        # A later version of Weir has a setting that the one before did not have.
        "new": [plain, with_parameters(plain, "default", new=1)],
        "given": [plain, with_parameters(plain, "command line", given=1)],
    }
    numbers = {}
    for name, (first, second) in ways.items():
        found = histories_of([dated(first, 1, 1e9), dated(second, 2, 1e9)])
        numbers[name] = len(of_figure(found, "write"))
    assert numbers == {"seed": 1, "block": 2, "new": 1, "given": 2}


def in_place(host: str, **file_system: str) -> Run:
    run = run_with()
    assert run.environment is not None
    hardware = run.environment.hardware | {"described_host": host}
    system = run.environment.file_system | file_system
    environment = run.environment.model_copy(update={"hardware": hardware, "file_system": system})
    return run.model_copy(update={"environment": environment})


def test_hosts_of_one_shared_file_system_are_one_machine() -> None:
    shared = [in_place(host, reach="network") for host in ("n017", "n203")]
    own = [in_place(host, reach="local") for host in ("n017", "n203")]
    elsewhere = [in_place("n1", mount_point=place) for place in ("/fast", "/slow")]
    numbers = [
        len(of_figure(histories_of([dated(a, 1, 1e9), dated(b, 2, 1e9)]), "write"))
        for a, b in (shared, own, elsewhere)
    ]
    assert numbers == [1, 2, 2]


def test_runs_that_failed_and_copies_do_not_count() -> None:
    run = dated(run_with(), 1, 1e9)
    failed = dated(run_with(), 2, 1e9, status="failed")
    (write,) = of_figure(histories_of([run, run, failed]), "write")
    assert len(write.runs) == 1


def test_medians_are_drawn_from_zero() -> None:
    assert drawn([1.0, 0.5, 0.0]) == "█▅▁"
    assert drawn([0.0, 0.0]) == "▁▁"
    assert len(drawn([1.0] * 41)) == 40


@pytest.fixture
def root(tmp_path: Path) -> Path:
    runs = months(run_with(kernel="6.1.1"), run_with(kernel="6.1.4"))
    other = make_run(label="MPI UNIQUE SYNC")
    for run in [*runs, dated(other, 1, 1e9)]:
        (tmp_path / run.id).mkdir()
        write_run(tmp_path / run.id, run)
    return tmp_path


def test_the_command_prints_the_series_and_the_sentence(
    root: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "10000")
    out, err = said("results", "history", "--root", str(root))
    assert "kernel 6.1.1 -> 6.1.4" in out
    assert "none found" in out
    assert "MPI UNIQUE" not in out
    assert "2 series of at least 10 runs were examined; " in err
    assert err.endswith("; 2 with fewer runs left out\n")
    out, err = said("results", "history", "--root", str(root), "--all", "--rate", "read")
    assert "MPI UNIQUE" in out
    assert "no lasting change was found" in out
    assert "kernel" not in out


def test_json_has_every_median_and_change(root: Path, said: Said) -> None:
    out, _ = said("results", "history", "--root", str(root), "--rate", "write", "--json")
    (one,) = json.load(io.StringIO(out))
    assert len(one["runs"]) == 21
    (change,) = one["changes"]
    assert (change["kind"], change["runs_before"], change["runs_after"]) == ("step", 12, 9)
    assert change["since_utc"] == one["runs"][12]["started_utc"]
    assert change["differences"] == [{"name": "kernel", "before": "6.1.1", "after": "6.1.4"}]


def test_a_store_is_a_root(root: Path, tmp_path: Path, said: Said) -> None:
    store = tmp_path / "store"
    for folder in sorted(root.glob("run-*")):
        (folder / "SHA256SUMS").touch()
        add(store, folder)
    out, _ = said("results", "history", "--root", str(store), "--json", "--rate", "write")
    assert len(json.loads(out)[0]["changes"]) == 1


def test_what_is_not_there_is_said_in_one_line(root: Path, tmp_path: Path, said: Said) -> None:
    with pytest.raises(ResultError, match="has the figure create: give --rate one of"):
        said("results", "history", "--root", str(root), "--rate", "create")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ResultError, match="no complete run with a figure is below"):
        said("results", "history", "--root", str(empty))
