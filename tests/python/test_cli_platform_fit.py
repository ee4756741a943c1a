"""``weir platform fit`` from the outside, on run folders of test data."""

from __future__ import annotations

from pathlib import Path

import pytest

from synthetic import make_run
from weir.bench.errors import BenchError
from weir.cli import application
from weir.results.folder import write_run
from weir.results.platform_file import load_platform
from weir.results.revisions import read_revisions


def write_runs(root: Path) -> None:
    for number, size in enumerate((2**16, 2**18, 2**20, 2**22, 2**24)):
        run = make_run(
            bytes_per_operation=size,
            bins=2,
            repetitions=2,
            noise=0.01,
            straggler_factor=1.0,
            seed=number,
        )
        folder = root / f"job{number}" / "posix-unique-sync"
        folder.mkdir(parents=True)
        write_run(folder, run)


def test_runs_become_a_description_with_its_held_out_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_runs(tmp_path / "results")
    output = tmp_path / "platforms/here.toml"
    application()(
        ["platform", "fit", str(tmp_path / "results"), "--output", str(output), "--name", "here"],
        standalone_mode=False,
    )
    told = capsys.readouterr().out
    assert "Held-out error over all 20 phases: median " in told
    assert "The machine's own repeatability, each of " in told
    assert "job3" in told
    assert "storage write, median ratio of " in told
    platform = load_platform(output)
    assert platform.name == "here"
    assert {stage.name for stage in platform.stages} == {"storage write", "storage read"}
    assert platform.ranks_per_host == 4
    (revision,) = read_revisions(output)
    assert all(change.before is None for change in revision.changes)
    rate = next(one for one in revision.changes if one.constant == "storage write, rate")
    assert len(rate.runs) == 5
    application()(["platform", "history", str(output)], standalone_mode=False)
    assert f"{rate.runs[0]}, {rate.runs[1]} and 3 more" in capsys.readouterr().out


def test_a_folder_without_runs_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="there are no runs below"):
        application()(["platform", "fit", str(tmp_path)], standalone_mode=False)
    with pytest.raises(BenchError, match="is not a folder"):
        application()(["platform", "fit", str(tmp_path / "nowhere")], standalone_mode=False)
