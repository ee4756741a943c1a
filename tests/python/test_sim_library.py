"""``weir sim --level library``: the library on simulated ranks, beside the flows of its plan."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from weir.bench.errors import BenchError
from weir.bench.platforms import find_platform
from weir.bench.program import LIBRARY_SIMULATOR, find_program
from weir.cli import application
from weir.sim.job import Asked, check, plan_beside, slow_in
from weir.sim.program import Outcome, simulate

sys.path.insert(0, str(Path(__file__).parents[1] / "sim"))

import transcripts

TRANSCRIPTS = transcripts.recorded(of_the_library=True)


def missing() -> str:
    try:
        find_program(os.environ, LIBRARY_SIMULATOR)
    except BenchError as error:
        return str(error)
    return ""


needs_simulator = pytest.mark.skipif(bool(missing()), reason=f"nothing is simulated: {missing()}")


COUNTS = ("bytes", "bytes_moved", "clients", "operations", "calls", "messages", "message_bytes")


def messages(ranks: int, **more: Any) -> Asked:
    return Asked("messages", ranks, **{"bytes": 65536, "buffer": 65536, **more})


def columns(ranks: int, **more: Any) -> Asked:
    """Every node has a part of every row, so that most bytes pass between nodes."""
    words = {"shape": "64x64x32", "distribution": "*,BLOCK,*", "buffer": 65536, **more}
    return Asked("array", ranks, **words)


def both(platform: str, asked: Asked) -> tuple[Outcome, Outcome]:
    described = find_platform(platform)
    at_library = replace(asked, level="library")
    plan = plan_beside(at_library) if at_library.runs_bench else asked
    return simulate(described, plan), simulate(described, at_library)


@needs_simulator
@pytest.mark.parametrize(
    ("platform", "asked"),
    [
        ("intrepid", messages(16, strategy="posix")),
        ("intrepid", messages(16, strategy="node", aggregators=1)),
        ("intrepid", columns(16, strategy="two-phase", aggregators=4)),
        ("intrepid", columns(16, strategy="server-directed", aggregators=8)),
        (
            "intrepid",
            columns(16, strategy="two-phase", aggregators=4, to="storage", shape="64x64x64"),
        ),
        ("intrepid", columns(16, strategy="two-phase", aggregators=4, read=True)),
        ("made-up", messages(256, strategy="two-phase", aggregators=2, stripe=65536)),
        # Ranks are told of messages so often that they would pause for long if looks were counted.
        ("made-up", messages(256, strategy="two-phase", aggregators=4, stripe=196608)),
    ],
    ids=["posix", "node", "two-phase", "server-directed", "stripes", "read", "network", "told"],
)
def test_the_library_does_what_its_plan_says_in_the_same_time(platform: str, asked: Asked) -> None:
    plan, library = both(platform, asked)
    for name in ("strategy", *COUNTS):
        assert getattr(library, name) == getattr(plan, name), name
    assert library.seconds == pytest.approx(plan.seconds, rel=0.1)


@needs_simulator
@pytest.mark.parametrize("command", TRANSCRIPTS)
def test_the_library_does_what_the_transcript_says(command: str) -> None:
    """A change is a mistake, or belongs into the file: tests/sim/transcripts.py writes it."""
    assert transcripts.run(command) == TRANSCRIPTS[command]


@needs_simulator
@pytest.mark.parametrize(
    ("platform", "asked"),
    [
        ("intrepid", messages(64, bytes=4096)),
        ("intrepid", columns(64, strategy="two-phase")),
        ("made-up", messages(256, strategy="server-directed", stripe=65536)),
    ],
    ids=["automatic", "aggregators", "network"],
)
def test_both_levels_choose_alike(platform: str, asked: Asked) -> None:
    """Prices of the described machine decide what is not prescribed, at both levels."""
    plan, library = both(platform, asked)
    for name in ("strategy", "aggregators_of_a_group", *COUNTS):
        assert getattr(library, name) == getattr(plan, name), name
    assert library.seconds == pytest.approx(plan.seconds, rel=0.1)


@needs_simulator
@pytest.mark.parametrize(
    "asked",
    [
        messages(256, strategy="two-phase", aggregators=6, bytes=1 << 20, buffer=1 << 20),
        messages(256, strategy="server-directed", aggregators=10, bytes=1 << 20, buffer=1 << 20),
        messages(1024, strategy="two-phase", aggregators=24, bytes=1 << 20, buffer=1 << 20),
        messages(4096, strategy="node", aggregators=2, bytes=160 << 10, buffer=2 << 20),
    ],
    ids=["6", "10", "24", "node"],
)
def test_both_levels_have_the_domains_of_the_given_aggregators(asked: Asked) -> None:
    """Domains are cut where the number does not suit the 64 targets, and else dealt in turn."""
    plan, library = both("made-up", asked)
    for name in ("aggregators_of_a_group", *COUNTS):
        assert getattr(library, name) == getattr(plan, name), name
    assert library.seconds == pytest.approx(plan.seconds, rel=0.1)


@needs_simulator
@pytest.mark.parametrize("read", [False, True], ids=["write", "read"])
def test_a_node_that_has_all_data_sends_them_by_its_own_link(read: bool) -> None:
    """Four ranks of one node have 64 MiB, and 15 of 16 aggregators are on other nodes."""
    words = {"shape": "4x16m", "type": "uint8", "distribution": "BLOCK,*", "buffer": 131072}
    asked = Asked("array", 64, strategy="two-phase", aggregators=16, read=read, **words)
    link = 425e6
    for found in both("intrepid", asked):
        assert found.links_of_senders
        assert found.limit.name == ("messages received" if read else "messages sent")
        assert found.limit.busiest == "0"
        assert found.message_bytes == 60 << 20
        assert found.seconds == pytest.approx(found.message_bytes / link, rel=0.1)
        assert found.seconds > found.message_bytes / link
    slow = replace(asked, slow=(slow_in("node=0:0.25"),))
    for found in both("intrepid", slow):
        assert found.seconds == pytest.approx(4 * (60 << 20) / link, rel=0.1)


@needs_simulator
def test_a_slow_unit_is_waited_for() -> None:
    slow = messages(
        16, strategy="posix", level="library", slow=(slow_in("collective network=0:0.5"),)
    )
    described = find_platform("intrepid")
    usual = simulate(described, replace(slow, slow=()))
    assert simulate(described, slow).seconds == pytest.approx(2 * usual.seconds, rel=0.02)


@needs_simulator
def test_each_step_takes_its_time() -> None:
    one, four = (
        simulate(
            find_platform("intrepid"), messages(16, strategy="posix", steps=n, level="library")
        )
        for n in (1, 4)
    )
    assert four.operations == 4 * one.operations
    assert four.seconds == pytest.approx(4 * one.seconds, rel=0.05)


@needs_simulator
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (messages(64, strategy="two-phase", aggregators=3), "a multiple of"),
        (messages(16388, strategy="posix"), "at most 16384"),
    ],
)
def test_what_the_library_cannot_do_is_refused(asked: Asked, said: str) -> None:
    with pytest.raises(BenchError, match=said):
        simulate(find_platform("intrepid"), replace(asked, level="library"))


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        ("glean", "no such strategy"),
        ("mpi-io", "keep no bytes and take the wrong time; give --lev"),
    ],
)
def test_strategies_of_others_are_not_the_librarys(strategy: str, said: str) -> None:
    for workload in (messages, array, sink):
        with pytest.raises(BenchError, match=said):
            check(workload(16, strategy=strategy, level="library"))


# ---- weir-bench array ---------------------------------------------------------------------------


def array(ranks: int, **more: Any) -> Asked:
    return columns(ranks, **{"level": "library", **more})


@needs_simulator
@pytest.mark.parametrize(
    ("platform", "asked", "seconds"),
    [
        ("intrepid", array(16, strategy="direct"), 0.134809785),
        ("intrepid", array(16, strategy="node", aggregators=1, steps=2), 0.068403570),
        ("intrepid", array(16, strategy="two-phase", aggregators=4), 0.003070565),
        ("intrepid", array(16, strategy="server-directed", aggregators=8, read=True), 0.002864345),
        # A node reads its rows of 64 bytes together with those of the other nodes between them.
        (
            "intrepid",
            array(16, strategy="node", aggregators=1, distribution="*,*,BLOCK", read=True),
            0.005890433,
        ),
        (
            "made-up",
            array(
                256, strategy="two-phase", aggregators=2, stripe=65536, shape="256x256",
                distribution="BLOCK", type="int32", buffer=0,
            ),
            0.000060470,
        ),
    ],
    ids=["direct", "node", "two-phase", "read", "holes", "network"],
)  # fmt: skip
def test_array_takes_the_time_of_its_plan_and_all_of_it_is_compared(
    platform: str, asked: Asked, seconds: float
) -> None:
    plan, ran = both(platform, asked)
    assert ran.seconds == pytest.approx(seconds, abs=2e-9)
    assert ran.seconds == pytest.approx(plan.seconds, rel=0.1)
    assert ran.bytes_compared == ran.bytes == plan.bytes
    for name in ("strategy", *COUNTS):
        assert getattr(ran, name) == getattr(plan, name), name


@needs_simulator
@pytest.mark.parametrize("read", [False, True], ids=["write", "read"])
def test_posix_calls_of_array_move_one_row_each(read: bool) -> None:
    """A rank has 4 rows in each of 64 planes. They follow each other in the file."""
    plan, ran = both("intrepid", array(16, strategy="posix", read=read))
    assert ran.operations == plan.operations == ran.calls == plan.calls == 16 * 64
    assert ran.messages == 0
    assert ran.bytes_compared == ran.bytes
    assert ran.seconds == pytest.approx(plan.seconds, rel=0.01)


@needs_simulator
def test_array_stands_beside_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    words = "sim array --level library --platform intrepid -n 16 --array-shape 64x64x32"
    asked = [*words.split(), "--distribution", "*,BLOCK,*", "--sweep", "strategy=posix,node"]
    ran = CliRunner().invoke(application(), asked)
    assert ran.exit_code == 0, ran.output
    lines = ran.stdout.splitlines()
    assert lines[0] == (
        "weir-bench array simulated on intrepid: 16 ranks, write of 64x64x32 float64, "
        "repetitions: 1"
    )
    rows = [line.split() for line in lines[2:4]]
    assert [row[0] for row in rows] == ["posix", "node"]
    assert [row[-2:] for row in rows] == [["all", "compared"]] * 2
    assert "not simulated: copies in memory" in ran.stdout


@needs_simulator
def test_an_array_must_fit_where_the_simulated_storage_keeps_it() -> None:
    asked = array(16, strategy="node", shape="64kx64kx64k", buffer=1 << 32)
    with pytest.raises(BenchError, match=r"2251799813685248 bytes, .* give a smaller array, or"):
        simulate(find_platform("intrepid"), asked)


@needs_simulator
def test_storage_that_fails_ends_array_with_its_reason(tmp_path: Path) -> None:
    """No file may be as large as half of the array."""
    limited = tmp_path / "simulator"
    program = find_program(os.environ, LIBRARY_SIMULATOR)
    limited.write_text(f"#!/bin/bash\nulimit -f 512\nexec {program}\n")
    limited.chmod(0o755)
    asked = array(16, strategy="posix")
    with pytest.raises(BenchError, match=r"write failed.*File too large") as told:
        simulate(find_platform("intrepid"), asked, {**os.environ, "WEIR_SIM_LIBRARY": str(limited)})
    assert "\n" not in str(told.value)


# ---- weir-bench sink ----------------------------------------------------------------------------


def sink(ranks: int, **more: Any) -> Asked:
    words = {"bytes": 65536, "buffer": 65536, "steps": 2, "level": "library", **more}
    return Asked("sink", ranks, **words)


@needs_simulator
@pytest.mark.parametrize(
    ("platform", "asked", "seconds"),
    [
        ("intrepid", sink(16, strategy="posix"), 0.005470751),
        ("intrepid", sink(16, strategy="node", aggregators=1), 0.005496558),
        ("intrepid", sink(16, strategy="two-phase", aggregators=4, bytes=4096), 0.001153729),
        (
            "made-up",
            sink(256, strategy="two-phase", aggregators=2, stripe=65536, steps=1),
            0.003369962,
        ),
    ],
    ids=["posix", "node", "small", "network"],
)
def test_sink_takes_the_time_of_its_plan(platform: str, asked: Asked, seconds: float) -> None:
    described = find_platform(platform)
    plan, ran = simulate(described, plan_beside(asked)), simulate(described, asked)
    assert ran.seconds == pytest.approx(seconds, abs=2e-9)
    assert ran.seconds == pytest.approx(plan.seconds, rel=0.05)
    for name in ("strategy", *COUNTS):
        assert getattr(ran, name) == getattr(plan, name), name


@needs_simulator
@pytest.mark.parametrize(("strategy", "counts"), [("posix", False), ("two-phase", True)])
def test_all_bytes_of_sink_are_accounted_for(strategy: str, counts: bool) -> None:
    ran = simulate(find_platform("intrepid"), sink(16, strategy=strategy, steps=3))
    assert ran.bytes == 16 * 65536 * 3
    assert ran.accounted is counts  # by the workload itself, where the route counts


@needs_simulator
@pytest.mark.parametrize(
    ("platform", "asked"),
    [
        ("intrepid", sink(64, strategy="two-phase", aggregators=16, bytes=8 << 20, buffer=1 << 20)),
        ("intrepid", sink(64, strategy="posix", bytes=8 << 20, buffer=1 << 20)),
        # Every node but one sends its data to aggregators on others.
        ("made-up", messages(384, strategy="two-phase", bytes=1 << 20, buffer=1 << 20)),
    ],
    ids=["sink", "posix", "messages"],
)
def test_much_payload_takes_no_memory(platform: str, asked: Asked) -> None:
    described = find_platform(platform)
    at_library = replace(asked, level="library", steps=1)
    plan = simulate(described, plan_beside(at_library) if at_library.runs_bench else asked)
    ran = simulate(described, at_library)
    assert ran.bytes > 300 << 20
    assert ran.cost.peak_memory_bytes < ran.bytes / 2
    assert ran.seconds == pytest.approx(plan.seconds, rel=0.05)
    for name in COUNTS:
        assert getattr(ran, name) == getattr(plan, name), name


@needs_simulator
def test_a_slow_unit_costs_sink_its_time() -> None:
    described = find_platform("intrepid")
    usual = sink(16, strategy="posix", bytes=1 << 20, buffer=1 << 20)
    slow = replace(usual, slow=(slow_in("collective network=0:0.5"),))
    times = [simulate(described, one).seconds for one in (usual, slow)]
    assert times[1] == pytest.approx(2 * times[0], rel=0.02)


@needs_simulator
@pytest.mark.parametrize("workload", ["array", "sink"])
def test_a_workload_has_at_most_so_many_ranks(workload: str) -> None:
    asked = sink(4100, strategy="posix") if workload == "sink" else array(4100, strategy="posix")
    with pytest.raises(BenchError, match=f"weir-bench {workload} is simulated on at most 4096"):
        simulate(find_platform("intrepid"), asked)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (sink(16, level="plan"), "add --level library"),
        (sink(16, read=True), "only writes"),
        (sink(16, shape="4x4"), "leave it out of sink"),
    ],
)
def test_what_sink_does_not_do_is_refused(asked: Asked, said: str) -> None:
    with pytest.raises(BenchError, match=said):
        check(asked)


@needs_simulator
def test_sizes_of_messages_stand_beside_their_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    words = "sim sink --level library --platform intrepid -n 16 --message-bytes 2k:64k:*32"
    asked = [*words.split(), "--sweep", "strategy=posix,two-phase"]
    ran = CliRunner().invoke(application(), asked)
    assert ran.exit_code == 0, ran.output
    rows = [line.split() for line in ran.stdout.splitlines() if "KiB" in line]
    assert [(row[0], row[1]) for row in rows] == [
        ("posix", "2.00"), ("posix", "64.0"), ("two-phase", "2.00"), ("two-phase", "64.0"),
    ]  # fmt: skip
    assert "not simulated: copies in memory" in ran.stdout
