"""``weir sim flash`` and ``s3d``: files that stagers take over."""

from __future__ import annotations

from typing import Any

import pytest

from test_sim import needs_simulator, outcome
from weir.bench.errors import BenchError
from weir.bench.platforms import find_platform
from weir.model.flow_of_plan import Planned, Surroundings, planned_flow
from weir.results.platform import Platform, PlatformStage
from weir.results.record import Quantity
from weir.results.schema import Plan, PlannedPhase
from weir.sim.description import describe
from weir.sim.job import Asked
from weir.sim.output_job import OutputAsked, outputs
from weir.sim.output_table import worth_text
from weir.sim.program import Outcome, simulate
from weir.sim.staged import Kernel, StagedOutput, Staging, kernel_of, simulate_output
from weir.sim.stager_platform import platform_of_stagers, with_way_to_stagers

RANKS = 256
FILE_BYTES = RANKS << 20


def quantity(value: float) -> Quantity:
    return Quantity(value=value, low=value, high=value)


def kernel(computing: float = 2.0, files: int = 3) -> Kernel:
    """Returns one kind of files, of 1 MiB of a rank each."""
    phase = PlannedPhase(
        function="checkpoint",
        direction="write",
        operations_per_rank=files,
        bytes_per_operation=1 << 20,
        bytes_total=files * FILE_BYTES,
        computations_per_operation=0,
        exposed_operations_per_rank=0,
    )
    plan = Plan(
        ranks=RANKS,
        files=files,
        memory_bytes_per_rank=0,
        memory_bytes_total=0,
        disk_bytes_total=0,
        phases=[phase],
    )
    flow: Planned = planned_flow(phase, plan, {}, Surroundings(find_platform("made-up"), {}))
    return Kernel("flash", (flow,), computing)


class Fake:
    """Stands for weir-sim: a file takes so long to stagers, from these, and from the ranks."""

    def __init__(self, sent: float, stored: float, by_ranks: float) -> None:
        self.seconds = {"sent": sent, "stored": stored, "by ranks": by_ranks}
        self.asked: list[tuple[Platform, Asked]] = []

    def __call__(self, platform: Platform, asked: Asked) -> Outcome:
        self.asked.append((platform, asked))
        what = "by ranks" if platform.ranks_per_host > 1 else "stored"
        what = "sent" if asked.to == "stagers" else what
        found = outcome(1e9, limit=f"part of {what}", busy=0.9)
        return found.model_copy(update={"seconds": self.seconds[what]})


def output(
    run: Fake, *, staging: Staging = "service", memory: float | None = None, **more: Any
) -> StagedOutput:
    asked = Asked("messages", RANKS, stagers=4 if staging == "service" else 0)
    return simulate_output(find_platform("made-up"), kernel(**more), asked, staging, memory, run)


# ---- Ways ---------------------------------------------------------------------------------------


def test_stagers_without_a_route_have_links_like_the_nodes_of_the_ranks() -> None:
    machine = with_way_to_stagers(find_platform("made-up"), 4)
    made = describe(machine, Asked("messages", RANKS, "direct", "stagers", stagers=4))
    assert [(part["name"], part["users"], part["units"]) for part in made["parts"]] == [
        ("node link", "node", 128),
        ("stager", "client", 4),
    ]
    assert made["parts"][1]["bytes_per_second"] == 25e9
    # Calls on files are no calls on the way to a stager.
    assert "operation_seconds" not in made["parts"][0]


def test_a_route_to_stagers_stays_as_it_is_described() -> None:
    assert with_way_to_stagers(find_platform("intrepid"), 4) == find_platform("intrepid")


def test_stagers_write_behind_their_own_links() -> None:
    stored = platform_of_stagers(find_platform("intrepid"), 12)
    made = describe(stored, Asked("messages", 12, "direct", "storage"))
    assert made["nodes"] == 12
    assert made["ranks_per_node"] == 1
    assert [(part["name"], part["users"], part["units"]) for part in made["parts"]] == [
        ("stager to storage", "node", 12),
        ("Myricom switch complex", "group", 12),
        ("file server", "stripe", 128),
        ("DDN 9900", "stripe", 16),
    ]
    assert made["parts"][0]["bytes_per_second"] == 702.5e6


def test_stagers_of_the_nodes_have_the_ways_of_the_nodes() -> None:
    made = describe(
        platform_of_stagers(find_platform("made-up"), None),
        Asked("messages", 16, "direct", "storage"),
    )
    assert (made["nodes"], made["ranks_per_node"]) == (16, 1)
    assert [part["name"] for part in made["parts"]] == ["node link", "OSS", "OST"]


def test_a_machine_without_links_of_nodes_has_no_service() -> None:
    machine = find_platform("made-up")
    assert machine.simulation is not None
    unknown = machine.simulation.model_copy(update={"messages": None})
    with pytest.raises(BenchError, match="made-up has neither a route to stagers nor"):
        with_way_to_stagers(machine.model_copy(update={"simulation": unknown}), 4)


# ---- Times --------------------------------------------------------------------------------------


def test_files_are_stored_while_the_program_computes() -> None:
    run = Fake(sent=0.1, stored=1.0, by_ranks=0.8)
    found = output(run)
    assert found.blocked_seconds == pytest.approx(3 * 0.1)
    assert found.until_stored_seconds == pytest.approx(3 * 1.1)
    assert found.hidden == pytest.approx(1 - 0.1 / 1.1)
    assert found.rates["foreground"].limiting_stage == "hand-over by part of sent"
    assert found.rates["span"].limiting_stage == "part of stored"
    assert found.unstaged_seconds == pytest.approx(3 * 0.8)
    assert worth_text(found).startswith("staging is worth it if they compute for 600 ms")
    sent = next(one for _, one in run.asked if one.to == "stagers")
    assert (sent.strategy, sent.bytes, sent.stagers) == ("direct", 1 << 20, 4)
    stored = next(one for machine, one in run.asked if machine.ranks_per_host == 1)
    assert (stored.ranks, stored.bytes) == (4, FILE_BYTES // 4)


def test_a_full_memory_of_the_stagers_blocks_the_program() -> None:
    run = Fake(sent=0.1, stored=1.0, by_ranks=0.8)
    full = output(run, memory=FILE_BYTES / 4, computing=0.0)
    assert full.blocked_seconds > 2 * output(run, computing=0.0).blocked_seconds
    assert full.rates["foreground"].limiting_stage.endswith("behind the full memory of the stagers")


def test_without_stagers_the_ranks_write() -> None:
    found = output(Fake(0.1, 1.0, 0.8), staging="none")
    assert found.rates == {}
    assert found.unstaged_seconds == pytest.approx(3 * 0.8)


def test_stagers_of_nodes_take_copies_and_write_by_the_ways_of_the_nodes() -> None:
    machine = find_platform("made-up")
    assert machine.simulation is not None
    copies = PlatformStage(
        name="memory copy",
        kind="node",
        routes=["memory"],
        units=machine.hosts,
        rate_bytes_per_second=quantity(8e9),
        one_user_bytes_per_second=quantity(4e9),
        how="made up",
    )
    simulation = machine.simulation.model_copy(update={"copies": copies.name})
    machine = machine.model_copy(
        update={"stages": [*machine.stages, copies], "simulation": simulation}
    )
    run = Fake(sent=0.1, stored=1.0, by_ranks=0.8)
    asked = Asked("messages", RANKS, stagers=0)
    found = simulate_output(machine, kernel(), asked, "node", None, run)
    a_file = machine.ranks_per_host * (1 << 20) / 8e9
    assert found.blocked_seconds == pytest.approx(3 * a_file)
    assert found.until_stored_seconds == pytest.approx(3 * (a_file + 1.0))
    assert found.rates["foreground"].limiting_stage == "hand-over by memory copy"
    assert all(one.to == "storage" for _, one in run.asked)
    stored = next(one for platform, one in run.asked if platform.ranks_per_host == 1)
    nodes = RANKS // machine.ranks_per_host
    assert (stored.ranks, stored.bytes) == (nodes, FILE_BYTES // nodes)


def test_stagers_of_nodes_need_the_rate_of_copies() -> None:
    with pytest.raises(BenchError, match="made-up has no rate of copies in memory"):
        output(Fake(0.1, 1.0, 0.8), staging="node")


# ---- Words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (OutputAsked("array", (), "service", None), "--staging is for weir sim flash and s3d"),
        (OutputAsked("sink", (), "none", "1g"), "--stager-memory is for weir sim flash and s3d"),
        (OutputAsked("messages", ("--work",), "none", None), "--work is one word too many"),
        (OutputAsked("flash", ("--work",), "node", "1g"), "--read is not for weir sim flash"),
    ],
)
def test_words_of_other_workloads_are_refused(asked: OutputAsked, said: str) -> None:
    with pytest.raises(BenchError, match=said):
        asked.refuse_others({"--bytes": None, "--read": True})


@pytest.mark.parametrize(
    ("staging", "stagers", "said"),
    [
        ("service", 0, "a service has at least one"),
        ("node", 4, "--staging node with 4 --stagers"),
        ("ranks", 0, "--staging ranks: give one of none, node, service"),
    ],
)
def test_stagers_that_do_not_fit_are_refused(staging: str, stagers: int, said: str) -> None:
    with pytest.raises(BenchError, match=said):
        outputs(
            find_platform("made-up"),
            Asked("messages", RANKS, stagers=stagers),
            {},
            OutputAsked("flash", (), staging, None),
            Fake(0.1, 1.0, 0.8),
        )


@needs_simulator
def test_files_are_those_of_the_kernel() -> None:
    machine = find_platform("made-up")
    made = kernel_of(["flash", "--checkpoints", "2", "--plots", "3", "--work", "1"], RANKS, machine)
    assert [(one.phase.function, one.phase.operations_per_rank) for one in made.phases] == [
        ("checkpoint", 2),
        ("plot", 3),
    ]
    assert made.computing_seconds == 1
    few, many = (
        simulate_output(
            machine, made, Asked("messages", RANKS, stagers=stagers), "service", None, simulate
        )
        for stagers in (1, 2)
    )
    assert few.blocked_seconds > 1.9 * many.blocked_seconds
    assert few.unstaged_seconds == many.unstaged_seconds
