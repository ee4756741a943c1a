"""``weir sim``: descriptions for weir-sim, refusals, tables, pictures, and golden transcripts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from weir.bench.errors import BenchError
from weir.bench.platforms import find_platform
from weir.bench.program import SIMULATOR, find_program
from weir.results.platform import Platform
from weir.sim.description import describe
from weir.sim.job import Asked, Slow, check, points, size_in, slow_in, sweep_levels
from weir.sim.picture import write_picture
from weir.sim.program import Outcome, UnitLoad, simulate
from weir.sim.table import Simulated, enough_text, limit_text, slow_text, slow_units

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "sim"))

import transcripts  # noqa: E402

TRANSCRIPTS = transcripts.recorded(of_the_library=False)


def missing() -> str:
    try:
        find_program(os.environ, SIMULATOR)
    except BenchError as error:
        return str(error)
    return ""


needs_simulator = pytest.mark.skipif(bool(missing()), reason=f"nothing is simulated: {missing()}")


def intrepid() -> Platform:
    return find_platform("intrepid")


def glean(cores: int = 4096, **more: Any) -> Asked:
    return Asked("messages", cores, **{"strategy": "glean", "stagers": 12, **more})


def outcome(rate: float, limit: str = "stagers", busy: float = 0.9) -> Outcome:
    return Outcome.model_validate(
        {
            "seconds": 1,
            "bytes": rate,
            "bytes_moved": rate,
            "bytes_per_second": rate,
            "strategy": "two-phase",
            "why": "",
            "aggregators_of_a_group": 4,
            "buffer_bytes": 1,
            "clients": 1,
            "operations": 1,
            "calls": 1,
            "messages": 1,
            "message_bytes": 1,
            "links_of_senders": True,
            "client_seconds": {"messages": 0, "turn": 0, "operations": 1},
            "parts": [
                {
                    "name": limit,
                    "units_used": 2,
                    "bytes": rate,
                    "most_bytes_of_a_unit": rate,
                    "busy_share": busy,
                    "busiest": "0",
                    "units": [
                        {"name": "0", "bytes": rate / 2, "busy_seconds": busy, "speed": 0.5},
                        {"name": "1", "bytes": rate / 2, "busy_seconds": busy / 2, "speed": 1},
                    ],
                }
            ],
            "limit": {"name": limit, "busy_share": busy, "busiest": "0"},
            "cost": {"peak_memory_bytes": 1, "processor_seconds": 1},
        }
    )


# ---- Descriptions -------------------------------------------------------------------------------


def test_the_way_to_stagers_has_the_parts_of_its_edges() -> None:
    made = describe(intrepid(), glean())
    assert made["nodes"] == 1024
    assert made["nodes_per_group"] == 64
    names = [(part["name"], part["users"], part["units"]) for part in made["parts"]]
    assert names == [
        ("collective network", "group", 640),
        ("sockets of an I/O node", "group", 640),
        ("analysis node", "client", 12),
    ]
    tree = made["parts"][0]
    stage = next(one for one in intrepid().stages if one.name == "collective network")
    assert tree["bytes_per_second"] == stage.rate_bytes_per_second.value
    assert tree["operation_seconds"] == pytest.approx(131e-6)
    assert made["aggregators"] == 4
    assert made["ahead"] is False
    assert made["buffer_bytes"] == 0
    assert made["array"]["shape"] == str(4096 << 20)


def test_servers_and_targets_hold_stripes_and_a_fabric_limits_each() -> None:
    made = describe(intrepid(), glean(strategy="two-phase", stagers=0, to="storage"))
    users = {part["name"]: part["users"] for part in made["parts"]}
    assert users["file server"] == users["DDN 9900"] == "stripe"
    assert users["Myricom switch complex"] == "group"
    assert made["stripe_bytes"] == 4 << 20
    narrow = intrepid().model_dump(mode="json")
    fabric = next(one for one in narrow["stages"] if one["kind"] == "fabric")
    fabric["rate_bytes_per_second"] = 128e6
    limited = describe(
        Platform.model_validate(narrow),
        glean(strategy="two-phase", stagers=0, to="storage"),
    )
    server = next(part for part in limited["parts"] if part["name"] == "file server")
    assert server["bytes_per_second"] == pytest.approx(1e6)


def test_the_exchange_of_mpi_io_grows_with_the_ranks() -> None:
    small, large = (
        describe(intrepid(), Asked("messages", cores, "mpi-io"))["exchange"]["seconds"]
        for cores in (4096, 8192)
    )
    power = intrepid().simulation.global_exchange.power  # type: ignore[union-attr]
    assert large / small == pytest.approx(2**power)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (glean(4098), "give a multiple of 4"),
        (glean(4 * 50_000), "40960 nodes of 4 ranks"),
        (glean(stagers=101), "there are 100"),
    ],
)
def test_jobs_that_the_machine_has_no_room_for_are_refused(asked: Asked, said: str) -> None:
    with pytest.raises(BenchError, match=said):
        describe(intrepid(), asked)


def test_a_platform_without_simulation_is_refused_by_name() -> None:
    with pytest.raises(BenchError, match="columbia has neither a table"):
        describe(find_platform("columbia"), glean())


def made_up(cores: int = 256, **more: Any) -> Asked:
    return Asked("messages", cores, **{"strategy": "direct", **more})


def test_a_network_lies_between_the_nodes_and_the_servers_behind_them() -> None:
    machine = find_platform("made-up")
    made = describe(machine, made_up())
    assert made["network"] == {"shape": "fat-tree:16x8", "bytes_per_second": 25e9, "first_end": 128}
    assert describe(machine, made_up(network="8x8x3"))["network"]["shape"] == "8x8x3"
    assert "network" not in describe(intrepid(), glean())
    with pytest.raises(BenchError, match="franklin has no rate for links between switches"):
        describe(find_platform("franklin"), made_up(20, network="8x8x16"))


def test_a_job_has_a_torus_of_its_own_beside_the_way_to_the_storage() -> None:
    made = describe(intrepid(), glean(network="8x8x16"))
    assert made["network"] == {"shape": "8x8x16", "bytes_per_second": 425e6}
    assert "network" not in describe(intrepid(), glean())
    with pytest.raises(BenchError, match="franklin has no network between nodes"):
        describe(find_platform("franklin"), made_up(20, slow=(slow_in("link=place 0:0.5"),)))


def test_io_groups_are_asked_for_where_the_way_has_none() -> None:
    machine = find_platform("made-up")
    assert describe(machine, made_up())["nodes_per_group"] == 0
    assert describe(machine, made_up(io_groups=2))["nodes_per_group"] == 2
    grouped = machine.model_copy(update={"nodes_per_io_group": 4})
    assert describe(grouped, made_up())["nodes_per_group"] == 4
    assert describe(grouped, made_up(io_groups=0))["nodes_per_group"] == 0
    with pytest.raises(BenchError, match="--io-groups 2: on intrepid parts of the way to stagers"):
        describe(intrepid(), glean(io_groups=2))


def test_storage_beside_the_network_is_none_of_its_nodes() -> None:
    machine = find_platform("made-up")
    assert machine.simulation is not None
    (route,) = machine.simulation.routes
    beside = route.model_copy(update={"beside_network": True})
    simulation = machine.simulation.model_copy(update={"routes": [beside]})
    made = describe(machine.model_copy(update={"simulation": simulation}), made_up())
    assert made["network"] == {"shape": "fat-tree:16x8", "bytes_per_second": 25e9}


def test_slow_units_are_those_of_their_parts() -> None:
    slow = ["target=7:0.25", "server=1:0.5", "node=1:0.1", "link=switch 0 up 1:0.2"]
    made = describe(find_platform("made-up"), made_up(slow=tuple(slow_in(one) for one in slow)))
    parts = {part["name"]: part.get("slow") for part in made["parts"]}
    assert parts == {
        "node link": [{"unit": 1, "share": 0.1}],
        "OSS": [{"unit": 1, "share": 0.5}],
        "OST": [{"unit": 7, "share": 0.25}],
    }
    assert made["messages"]["slow"] == [{"unit": 1, "share": 0.1}]
    assert made["network"]["slow"] == [{"link": "switch 0 up 1", "share": 0.2}]
    stagers = describe(intrepid(), glean(slow=(slow_in("stager=3:0.5"),)))["parts"][-1]
    assert stagers["slow"] == [{"unit": 3, "share": 0.5}]
    named = describe(intrepid(), glean(slow=(slow_in("collective network=0:0.5"),)))["parts"][0]
    assert named["slow"] == [{"unit": 0, "share": 0.5}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("target=7:0.5", "there is no target on the way; give node, target"),
        ("link=switch 0 up 1:0.5", "intrepid has no network of one shape: give that of the job"),
        ("stager=last:0.5", "give the number of a unit"),
    ],
)
def test_slow_units_that_are_not_on_the_way_are_refused(text: str, said: str) -> None:
    with pytest.raises(BenchError, match=said):
        describe(intrepid(), glean(slow=(slow_in(text),)))


@pytest.mark.parametrize("text", ["target", "target=7", "target=7:0", "target=7:1.5", "=7:0.5"])
def test_slow_units_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(BenchError, match="write PART=UNIT:SHARE"):
        slow_in(text)


def test_names_of_slow_links_may_have_any_words() -> None:
    assert slow_in("link=group 0 to 1 link 2:0.1") == Slow("link", "group 0 to 1 link 2", 0.1)


def test_a_route_over_an_unknown_edge_is_no_platform() -> None:
    given = intrepid().model_dump(mode="json")
    given["simulation"]["routes"][0]["edges"] = ["here -> there"]
    with pytest.raises(ValidationError, match="simulation names the edge here -> there"):
        Platform.model_validate(given)


# ---- Words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Asked("madbench", 4), "give messages, array or sink"),
        (Asked("array", 4), "needs --array-shape"),
        (Asked("messages", 4, shape="4"), "--array-shape is for weir sim array"),
        (Asked("messages", 4, "romio"), "--strategy romio: give one of automatic"),
        (Asked("messages", 4, bytes=0), "--bytes 0: give at least 1"),
    ],
)
def test_words_that_do_not_fit_are_refused(asked: Asked, said: str) -> None:
    with pytest.raises(BenchError, match=said):
        check(asked)


def test_a_sweep_makes_a_simulation_of_each_combination() -> None:
    swept = sweep_levels(["stagers=4:16:*2", "bytes=64k,1m"])
    made = [(one.stagers, one.bytes) for one in points(glean(), swept)]
    assert made == [(s, b) for s in (4, 8, 16) for b in (64 << 10, 1 << 20)]


@pytest.mark.parametrize("text", ["stagers", "colour=1,2", "stagers=x", "stagers=1.5"])
def test_a_sweep_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(BenchError, match=text.split("=", maxsplit=1)[0]):
        sweep_levels([text])


def test_a_sweep_of_too_many_is_refused() -> None:
    with pytest.raises(BenchError, match="give at most 1000"):
        list(points(glean(), sweep_levels(["stagers=1:100", "ranks=4:400:4"])))


def test_sizes_have_suffixes() -> None:
    assert size_in("bytes", "64k") == 64 << 10
    with pytest.raises(BenchError, match="--bytes many"):
        size_in("bytes", "many")


# ---- What is shown ------------------------------------------------------------------------------


def swept(rates: dict[int, float]) -> list[Simulated]:
    return [Simulated({"stagers": n}, glean(stagers=n), outcome(r)) for n, r in rates.items()]


def test_the_level_from_which_more_brings_little_is_named() -> None:
    told = enough_text(swept({4: 10e9, 8: 20e9, 16: 20.4e9, 32: 20.5e9}))
    assert told.startswith("stagers 8 is the first level with 98 % of the best rate")
    rising = enough_text(swept({4: 10e9, 8: 15e9, 16: 18e9}))
    assert rising.startswith(
        "stagers 16, the last level, brings 20 % more than 8: try more; limit: "
    )
    assert enough_text([Simulated({}, glean(), outcome(1e9))]) == ""


def test_the_cost_of_slow_units_is_told() -> None:
    slow = (slow_in("stager=3:0.5"),)
    without = outcome(1e9).model_copy(update={"seconds": 0.25})
    told = slow_text(Simulated({}, glean(slow=slow), outcome(1e9), without))
    assert told.startswith("stager 3 at 50 % costs 750 ms: 4.00 times as long as without (")
    assert told.endswith("in 250 ms)")


def test_a_part_that_is_mostly_idle_is_no_limit() -> None:
    assert limit_text(outcome(1e9, busy=0.9)) == "stagers"
    assert limit_text(outcome(1e9, busy=0.4)).startswith("none")


@pytest.mark.parametrize("suffix", [".svg", ".html"])
@pytest.mark.parametrize("levels", [1, 3])
def test_a_picture_names_rates_and_limits(tmp_path: Path, suffix: str, levels: int) -> None:
    several = swept({4 * n: 1e9 * n for n in range(1, levels + 1)})
    path = write_picture(tmp_path / f"sim{suffix}", "intrepid", several)
    text = path.read_text()
    assert "limit: stagers" in text
    if suffix == ".svg":
        bars = ET.fromstring(text).findall(".//{http://www.w3.org/2000/svg}rect")
        # The paper, a track and a bar for each, and the two units of a part.
        assert len(bars) == 1 + 2 * levels + (2 if levels == 1 else 0)
    if levels == 1:
        assert "busiest: 0" in text
        assert "slow: 0 at 50 %" in text


def test_a_picture_of_many_units_has_bars_of_several(tmp_path: Path) -> None:
    one = outcome(1e9)
    units = [UnitLoad(name=str(i), bytes=1, busy_seconds=0.5, speed=1) for i in range(1024)]
    units[700] = units[700].model_copy(update={"busy_seconds": 0.9})
    part = one.parts[0].model_copy(update={"units": units, "units_used": 1500, "busiest": "700"})
    several = [Simulated({}, glean(), one.model_copy(update={"parts": [part]}))]
    text = write_picture(tmp_path / "sim.svg", "intrepid", several).read_text()
    assert "busiest: 700; 476 no busier ones left out" in text
    assert text.count("<title>") == 171  # of 6 units each
    assert "stagers 696 to 701: 1 bytes, busy for 900 ms" in text


def test_slow_units_are_told_with_their_loads() -> None:
    assert slow_units(outcome(2 << 20)) == [
        "stagers, unit 0 at 50 % of its speed: 1.00 MiB, busy 90 % of the time"
    ]


# ---- Through weir-sim ---------------------------------------------------------------------------


def weir_sim(description: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [find_program(os.environ, SIMULATOR)],
        input=json.dumps(description),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@needs_simulator
@pytest.mark.parametrize("command", TRANSCRIPTS)
def test_predictions_are_those_of_the_transcript(command: str) -> None:
    """A change is a mistake, or belongs into the file: tests/sim/transcripts.py writes it."""
    assert transcripts.run(command) == TRANSCRIPTS[command]


@pytest.mark.parametrize("command", TRANSCRIPTS)
def test_no_part_of_a_transcript_is_busy_for_more_than_the_time(command: str) -> None:
    shares = [int(text) for text in re.findall(r"(\d+) %", TRANSCRIPTS[command])]
    assert shares
    assert max(shares) <= 100


@needs_simulator
@pytest.mark.parametrize(
    "asked",
    [
        # The exchange passes the same units as the operations, at the same time.
        Asked("messages", 1024, "mpi-io", "io-nodes", 4 << 20),
        Asked("messages", 1024, "mpi-io", "io-nodes", 4 << 10, steps=3),
        Asked("messages", 1024, "mpi-io", "storage", 1 << 20, read=True),
        Asked("messages", 1024, "glean", "stagers", 1 << 20, stagers=3),
    ],
)
def test_no_unit_is_busy_for_more_than_the_time(asked: Asked) -> None:
    found = simulate(intrepid(), asked)
    for part in found.parts:
        assert part.busy_share <= 1 + 1e-9, part.name
        assert all(one.busy_seconds <= found.seconds * (1 + 1e-9) for one in part.units), part.name
    assert found.limit.busy_share > 0.5


@needs_simulator
def test_units_add_up_to_their_part() -> None:
    asked = made_up(128 * 16, bytes=4 << 20, slow=(slow_in("target=7:0.1"),))
    found = simulate(find_platform("made-up"), asked)
    targets = next(part for part in found.parts if part.name == "OST")
    assert [one.name for one in targets.units] == [str(number) for number in range(64)]
    assert sum(one.bytes for one in targets.units) == targets.bytes
    assert {one.name: one.speed for one in targets.units if one.speed != 1} == {"7": 0.1}
    slow, usual = targets.units[7], targets.units[8]
    assert slow.busy_seconds == pytest.approx(10 * usual.busy_seconds)
    links = next(part for part in found.parts if part.name == "links between switches")
    assert links.busiest in {one.name for one in links.units}


@needs_simulator
@pytest.mark.parametrize(
    ("nodes", "slow", "told", "last"),
    [(1024, [], 1024, 1023), (1025, [], 1024, 1023), (1026, [1025], 1025, 1025)],
)
def test_of_many_units_the_busiest_and_the_slow_ones_are_told(
    nodes: int, slow: list[int], told: int, last: int
) -> None:
    """The last node has next to no bytes."""
    links = {
        "name": "link",
        "users": "node",
        "units": nodes,
        "bytes_per_second": 1e9,
        "slow": [{"unit": unit, "share": 0.5} for unit in slow],
    }
    description = {
        "nodes": nodes,
        "ranks_per_node": 1,
        "parts": [links],
        "messages": {"bytes_per_second": 0, "seconds_each": 0},
        "array": {"shape": str((nodes << 10) - 1000), "type": "uint8", "distribution": "BLOCK"},
        "strategy": "direct",
    }
    done = weir_sim(description)
    assert done.returncode == 0, done.stderr
    part = json.loads(done.stdout)["parts"][0]
    assert part["units_used"] == nodes
    assert len(part["units"]) == told
    assert part["units"][-1]["name"] == str(last)


@needs_simulator
def test_one_cost_of_an_operation_and_one_rate_give_the_time() -> None:
    """4096 operations over 16 I/O nodes, one after the other: 256 times what one of them costs."""
    found = simulate(intrepid(), Asked("messages", 4096, "posix", bytes=4096))
    assert found.seconds == pytest.approx(256 * (131e-6 + 4096 / 1.64e9), rel=1e-6)
    large = simulate(intrepid(), Asked("messages", 4096, "posix", bytes=1 << 20))
    assert large.seconds == pytest.approx(256 * (1 << 20) / 713e6, rel=1e-3)


@needs_simulator
def test_shared_stagers_are_shared_fairly() -> None:
    """One stager that all share takes the bytes of all at its own rate."""
    found = simulate(intrepid(), glean(1024, stagers=1, strategy="posix", bytes=1 << 20))
    assert found.limit.name == "analysis node"
    assert found.bytes_per_second == pytest.approx(702.5e6, rel=0.02)


@needs_simulator
@pytest.mark.parametrize("tasks", [20, 80, 128, 1024])
def test_a_file_for_each_task_is_as_fast_as_the_targets_with_most_files(tasks: int) -> None:
    """Equation 4 without crowding, and with whole files: franklin's 80 targets of 192 MB/s."""
    each = 32 << 20
    asked = Asked("messages", tasks, "posix", bytes=each, stripe=each)
    found = simulate(find_platform("franklin"), asked)
    most = -(-tasks // 80)
    assert found.bytes_per_second == pytest.approx(tasks / most * 192e6, rel=1e-3)
    assert found.limit.name in ("LUN", "DDN 9500 couplet")


@needs_simulator
def test_the_links_above_a_switch_limit_its_nodes() -> None:
    """32 nodes on two switches write to 16 servers on another one: 25 GB/s a link upwards."""
    machine = find_platform("made-up")
    # Each node has an aggregator and five stripes, so that no two begin at the same target.
    asked = made_up(32 * 128, strategy="node", bytes=160 << 10, aggregators=32)
    narrow, wide = (
        simulate(machine, replace(asked, network=f"fat-tree:16x{links}")) for links in (1, 8)
    )
    assert narrow.limit.name == "links between switches"
    assert narrow.limit.busiest == "switch 8 down 0"
    assert narrow.bytes_per_second == pytest.approx(25e9, rel=0.05)
    assert wide.bytes_per_second > 2.5 * narrow.bytes_per_second


@needs_simulator
def test_a_slow_target_is_waited_for() -> None:
    """Each target takes as many bytes, so that one at a tenth of its speed takes ten times."""
    asked = made_up(128 * 16, bytes=4 << 20)
    machine = find_platform("made-up")
    usual = simulate(machine, asked)
    slow = simulate(machine, replace(asked, slow=(slow_in("target=7:0.1"),)))
    bytes_of_a_target = 128 * 16 * (4 << 20) / 64
    assert slow.seconds == pytest.approx(10 * bytes_of_a_target / 2.5e9, rel=0.05)
    assert slow.limit.name == "OST"
    assert slow.limit.busiest == "7"
    assert usual.seconds < 0.3 * slow.seconds


@needs_simulator
def test_a_slow_unit_that_no_bytes_pass_is_refused() -> None:
    with pytest.raises(BenchError, match="link switch 5 up 0 is to be slow, but no bytes"):
        simulate(find_platform("made-up"), made_up(slow=(slow_in("link=switch 5 up 0:0.5"),)))


@needs_simulator
def test_a_mistake_of_the_array_is_one_line_and_a_usage_error() -> None:
    words = ["sim", "array", "--platform", "intrepid", "-n", "64", "--array-shape=4xx4"]
    status, _, complaint = transcripts.weir(*words)
    assert status == 2
    assert complaint.count("\n") == 1
    assert "'4xx4' is not a list of extents" in complaint


@needs_simulator
def test_weir_sim_refuses_what_is_no_description() -> None:
    done = weir_sim({"nodes": 1})
    assert done.returncode == 2
    assert done.stderr.startswith("weir-sim: the description: ")
    assert done.stderr.count("\n") == 1


def test_without_weir_sim_the_error_says_what_to_install() -> None:
    with pytest.raises(BenchError, match="WEIR_SIM=/nowhere is not a program"):
        simulate(intrepid(), glean(), {"WEIR_SIM": "/nowhere"})


def test_a_simulation_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    slow = tmp_path / "simulator"
    slow.write_text("#!/bin/bash\nexec sleep 60\n")
    slow.chmod(0o755)
    with pytest.raises(
        BenchError, match=r"ended after 0\.1 s \(--timeout\) .* 4096 ranks: give more"
    ):
        simulate(intrepid(), glean(), {**os.environ, "WEIR_SIM": str(slow)}, timeout=0.1)


def test_simulated_ranks_get_no_settings_of_the_users_sessions(tmp_path: Path) -> None:
    tells = tmp_path / "simulator"
    tells.write_text("#!/bin/bash\nenv | grep ^WEIR_ >&2 || echo none >&2\nexit 1\n")
    tells.chmod(0o755)
    environment = {**os.environ, "WEIR_SIM": str(tells), "WEIR_PLATFORM": "intrepid"}
    with pytest.raises(BenchError, match="status 1: none"):
        simulate(intrepid(), glean(), environment)
