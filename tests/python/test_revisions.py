"""The ledger of a model's constants: what changed, and by which runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from platforms import make_platform, make_stage
from weir.cli import application
from weir.model.uselton import franklin
from weir.results.errors import ResultError
from weir.results.platform_file import write_platform
from weir.results.revisions import (
    append_revision,
    changes_of,
    ledger_path,
    read_revisions,
)

BEFORE = make_platform([franklin(80, 192e6, 128e6, 4096, 1024)])
AFTER = make_platform([franklin(32, 128e6, 100e6, 6144, 512)])


def test_the_five_constants_of_equation_4_change() -> None:
    changes = changes_of(BEFORE, AFTER, {"LUN": ["phase-1", "phase-3"]})
    found = {
        one.constant: (one.before.value, one.after.value)
        for one in changes
        if one.before is not None and one.after is not None
    }
    assert found == {
        "LUN, rate": (192e6, 128e6),
        "LUN, units": (80, 32),
        "LUN, crowded rate": (128e6, 100e6),
        "LUN, crowded at": (4096 / 80, 6144 / 32),
        "LUN, width of crowding": (1024 / 80, 512 / 32),
    }
    assert all(one.runs == ["phase-1", "phase-3"] for one in changes)


def test_what_is_new_has_no_before_and_what_is_gone_no_after() -> None:
    other = make_platform([make_stage("another", 1e9)])
    changes = changes_of(BEFORE, other, {})
    assert {one.constant for one in changes if one.before is None} == {
        "another, rate",
        "another, units",
    }
    assert all(one.constant.startswith("LUN") for one in changes if one.after is None)
    assert changes_of(BEFORE, BEFORE, {}) == []


def test_revisions_are_numbered_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    description = write_platform(tmp_path / "franklin.toml", AFTER)
    first = changes_of(None, BEFORE, {})
    second = changes_of(BEFORE, AFTER, {"LUN": ["phase-1", "phase-2", "phase-3"]})
    assert append_revision(description, [], "nothing", "2007-12-19T00:00:00Z") is None
    assert not ledger_path(description).exists()
    append_revision(description, first, "believed", "2007-12-18T00:00:00Z")
    append_revision(description, second, "weir platform fit", "2007-12-19T00:00:00Z")
    assert [(one.revision, one.how) for one in read_revisions(description)] == [
        (1, "believed"),
        (2, "weir platform fit"),
    ]
    words = ["platform", "history", str(description)]
    application(words)(words, standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    (units,) = [line for line in lines if line.startswith("2") and "LUN, units" in line]
    assert units.split()[5:10] == ["80.0", "units", "32.0", "units", "0.40"]
    assert units.rstrip().endswith("phase-1, phase-2 and 1 more")


def test_a_damaged_or_missing_ledger_is_one_line(tmp_path: Path) -> None:
    description = write_platform(tmp_path / "franklin.toml", AFTER)
    words = ["platform", "history", str(description)]
    with pytest.raises(ResultError, match="has no ledger"):
        application(words)(words, standalone_mode=False)
    append_revision(description, changes_of(None, AFTER, {}), "first", "2007-12-19T00:00:00Z")
    ledger = ledger_path(description)
    ledger.write_text(ledger.read_text() + "{}\n")
    with pytest.raises(ResultError, match="jsonl line 2: revision: Field required"):
        application(words)(words, standalone_mode=False)
