"""`weir results machines`: which bars machines have, and their ratio to the best."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from report_reader import parse
from test_madbench_findings import MIB, Laboratory, both
from weir.analysis.machines import (
    GB,
    PANELS,
    Bar,
    bars_of,
    in_panel,
    machines_listing,
    read_bars,
    usual_ranks,
)
from weir.cli import application
from weir.model.predicted_machine import predicted_bars
from weir.platform.files import SHIPPED
from weir.report.machines import draw_machines
from weir.results.errors import ResultError
from weir.results.platform_file import load_platform

STATEMENTS = Path(__file__).parents[1] / "reference" / "madbench2_statements.csv"


def of_machine(name: str, speed: float) -> list[Bar]:
    made = Laboratory(spread=0.01)
    for job in range(3):
        for files, share in (("UNIQUE", 1.0), ("SHARED", 0.5)):
            for interface, better in (("POSIX", 1.0), ("MPI", 0.8)):
                rates = {"write": speed * share * better * MIB, "read": 2 * speed * share * MIB}
                made.run(str(job), rates, filetype=files, iomethod=interface)
    # None of these is what machines are compared by.
    made.run("small", both(9000 * MIB), pixels=100)
    made.run("moduli", both(9000 * MIB), read_modulus=4, write_modulus=4)
    made.run("computes", both(9000 * MIB), busy_work_exponent=1.2)
    made.run("behind", both(9000 * MIB), iomode="ASYNC")
    made.run("cached", both(9000 * MIB), drop_cache=False)
    made.run("messages", both(9000 * MIB), messages=2**20)
    made.run("others", both(7 * MIB), ranks=4)
    return bars_of(name, made.runs())


def test_a_panel_has_the_better_interface_of_the_usual_runs() -> None:
    bars = [bar for bar in of_machine("a", 100) if bar.ranks == 16]
    assert {(bar.files, bar.direction) for bar in bars} == set(PANELS)
    rates = {(bar.files, bar.direction): bar for bar in bars}
    for panel, rate in (
        (("UNIQUE", "write"), 100),
        (("SHARED", "write"), 50),
        (("UNIQUE", "read"), 200),
        (("SHARED", "read"), 100),
    ):
        assert rates[panel].rate == pytest.approx(rate * MIB, rel=0.03)
        assert rates[panel].low <= rates[panel].rate <= rates[panel].high
    assert rates["UNIQUE", "write"].interface == "POSIX"


def test_machines_stand_by_rate_with_their_ratio_to_the_best() -> None:
    bars = [*of_machine("slow", 4), *of_machine("fast", 300)]
    assert usual_ranks(bars) == 16
    shown = [bar for bar in bars if bar.ranks == 16]
    assert [bar.machine for bar in in_panel(shown, ("UNIQUE", "read"))] == ["fast", "slow"]
    listing = machines_listing(shown, 16)
    assert "(0.013" in str(listing.rows[0][1])
    assert "(1.00 of the best, " in str(listing.rows[1][1])
    assert re.search(r"unique files, write: fast is 7\d\.\d times as fast as slow", listing.lead)
    assert machines_listing(in_panel(shown, ("UNIQUE", "read"))[:1], 16).lead == ""


def test_bars_are_as_long_as_their_rates() -> None:
    shown = [bar for bar in [*of_machine("b", 75), *of_machine("a", 150)] if bar.ranks == 16]
    svg = parse(draw_machines(shown, 16)).one("svg")
    found = [rect for rect in svg.find("rect") if "data-value" in rect.attributes]
    assert len(found) == len(shown) == 8
    scales = {
        round(float(rect.attributes["width"]) / float(rect.attributes["data-value"]) * MIB, 3)
        for rect in found
    }
    assert len(scales) == 1, "one scale for all panels"
    assert "Rates of machines at 16 ranks. unique files, read: a " in svg.attributes["aria-label"]


def test_the_papers_statements_are_an_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bars = read_bars(STATEMENTS)
    with STATEMENTS.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert [bar.rate for bar in bars] == [float(row["GBps"]) * GB for row in rows]
    picture = tmp_path / "figure6.svg"
    words = ["results", "machines", str(STATEMENTS), "--ranks", "256", "--picture", str(picture)]
    application()(words, standalone_mode=False)
    said, told = capsys.readouterr()
    assert "jaguar is 5.49 times as fast as bassi" in " ".join(said.split())
    assert "left out, because they have no runs on 256 ranks: franklin, intrepid-2008" in told
    assert picture.read_text(encoding="utf-8").count("not measured") >= 2
    with pytest.raises(ResultError, match="no machine has runs on 5 ranks: give --ranks one of"):
        application()([*words[:3], "--ranks", "5"], standalone_mode=False)


def test_a_described_machine_is_predicted_for_the_runs_of_another() -> None:
    """Bassi's description has what PIORAW measured of it: 4.4 and 4.1 GB/s."""
    made = Laboratory(spread=0.01)
    for job in range(3):
        for files in ("UNIQUE", "SHARED"):
            for ranks in (16, 256):
                made.run(str(job), both(MIB), filetype=files, ranks=ranks)
    bassi = load_platform(SHIPPED / "bassi.toml")
    bars = predicted_bars(bassi, made.runs())
    assert {(bar.ranks, bar.files, bar.direction) for bar in bars} == {
        (ranks, *panel) for ranks in (16, 256) for panel in PANELS
    }
    rates = {(bar.ranks, bar.files, bar.direction): bar for bar in bars}
    assert rates[256, "UNIQUE", "read"].rate == pytest.approx(4.4 * GB, rel=0.02)
    assert rates[256, "UNIQUE", "write"].rate == pytest.approx(4.1 * GB, rel=0.02)
    assert all(bar.low < bar.rate < bar.high and bar.predicted for bar in bars)
    shown = [bar for bar in [*bars_of("here", made.runs()), *bars] if bar.ranks == 256]
    listing = machines_listing(shown, 256)
    assert "of the best, predicted)" in str(listing.rows[1][1])
    assert "unique files, write: bassi (predicted) is " in listing.lead
    svg = parse(draw_machines(shown, 256)).one("svg")
    pale = [rect for rect in svg.find("rect") if "fill-opacity" in rect.attributes]
    assert len(pale) == len(PANELS)


def test_a_prediction_needs_runs() -> None:
    with pytest.raises(ResultError, match="--predict needs runs to predict"):
        application()(
            ["results", "machines", str(STATEMENTS), "--predict", "bassi"], standalone_mode=False
        )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("machine,cpus,file_type,direction\n", "has no column GBps"),
        ("machine,cpus,file_type,direction,GBps\na,16,UNIQUE,read,0\n", "row 1 is wrong"),
        ("machine,cpus,file_type,direction,GBps\na,16,UNIQUE,read,nan\n", "row 1 is wrong"),
        ("machine,cpus,file_type,direction,GBps\na,16,UNIQUE\n", "row 1 is wrong"),
        ("machine,cpus,file_type,direction,GBps\na,16,ALL,read,1\n", "UNIQUE or SHARED"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "rates.csv"
    file.write_text(text)
    with pytest.raises(ResultError, match=told):
        read_bars(file)


def test_an_empty_file_has_no_machines(tmp_path: Path) -> None:
    file = tmp_path / "rates.csv"
    file.write_text("machine,cpus,file_type,direction,GBps\n")
    with pytest.raises(ResultError, match="has no rates"):
        read_bars(file)
