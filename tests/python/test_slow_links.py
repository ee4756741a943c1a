"""A slow link is told from a slow host, and from slow ends, or it is said that nothing tells."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from simulated_transfers import RANKS, SERVERS, Grid, Simulated, host_of, place, simulate
from synthetic import make_events, make_run, write_run_folder
from weir.analysis.anomalies import find_anomalies
from weir.analysis.slow_links import CARRIED, LEAST_SAMPLES, Judged, LinkUse, judge, use_of
from weir.analysis.stragglers import LINK, STRAGGLER_FACTOR, Level
from weir.model.verdict import verdict
from weir.report.anomalies import _links, examine
from weir.results.events import SAMPLES_FILE
from weir.results.finalize import finalize
from weir.results.monitor_records import SAMPLE_COLUMNS
from weir.results.schema import Anomaly

MIB = 2.0**20
USUAL = 11.5 * MIB


def judged(
    largest: float = USUAL / 2, share: float = 1.0, own_work: float | None = 1.0
) -> Judged | None:
    others = {f"node{one}": LinkUse(USUAL, 1.0) for one in (1, 2, 3)}
    return judge(("node0",), {"node0": LinkUse(largest, share), **others}, own_work)


def test_a_link_is_blamed_if_it_never_is_as_fast_as_others_and_the_node_works_as_fast() -> None:
    found = judged()
    assert found is not None
    assert found.is_link
    told = "; ".join(found.reasons)
    assert "the link moves at most 5.75 MiB/s, those of other hosts 11.5 MiB/s" in told
    assert "the node is not slow itself" in told


@pytest.mark.parametrize(
    ("largest", "share", "own_work", "is_link", "words"),
    [
        (USUAL / STRAGGLER_FACTOR * 0.999, 1.0, 1.0, True, "the link moves"),
        (USUAL / STRAGGLER_FACTOR * 1.001, 1.0, 1.0, False, "it is as fast as others"),
        (USUAL / 2, CARRIED, 1.0, True, "the link moves"),
        (USUAL / 2, CARRIED * 0.99, 1.0, False, "the network carried 50 % of it"),
        (USUAL / 2, 1.0, STRAGGLER_FACTOR * 0.99, True, "the node is not slow itself"),
        (USUAL / 2, 1.0, STRAGGLER_FACTOR, False, "the node itself is slow"),
        (USUAL / 2, 1.0, None, True, "a node that can send no faster would look alike"),
    ],
)
def test_each_limit_and_one_past_it(
    largest: float, share: float, own_work: float | None, is_link: bool, words: str
) -> None:
    found = judged(largest, share, own_work)
    assert found is not None
    assert found.is_link == is_link
    assert words in "; ".join(found.reasons)


def test_without_counters_of_the_host_or_of_others_nothing_is_said() -> None:
    use = LinkUse(USUAL, 1.0)
    assert judge(("node0",), {}, 1.0) is None
    assert judge(("node0",), {"node1": use}, 1.0) is None
    assert judge(("node0",), {"node0": use}, 1.0) is None
    assert judge(("node0", "node1"), {"node0": use, "node2": use}, 1.0) is None


@pytest.mark.parametrize("number", [LEAST_SAMPLES - 1, LEAST_SAMPLES])
def test_a_link_needs_some_samples(number: int) -> None:
    use = use_of(np.full(number, 2.0), np.full(number, 0.5), 4.0 * number)
    assert use == (None if number < LEAST_SAMPLES else LinkUse(4.0, 0.5))


# ---- a finalized run with samples ----------------------------------------------------------------

FIELDS = {"ranks": 8, "ranks_per_host": 1, "bins": 12, "straggler_factor": 2.0}
SLOW = "node0002"


def write_samples(folder: Path, slow_by: float, share: float) -> None:
    """Each host's card moves even bytes in samples of 10 ms; that of the slow one is slower."""
    run = make_run(**FIELDS)
    moved = sum(one.bytes for node in run.nodes[:1] for one in node.phases if one.direction)
    columns = ", ".join(f"{name} {kind}" for name, kind in SAMPLE_COLUMNS.items())
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE samples ({columns})")
        for node in run.nodes:
            rate = 1 / slow_by if node.host == run.nodes[2].host else 1.0
            grown = int(share * moved * rate)
            connection.execute(
                "INSERT INTO samples SELECT i * 10000000, (i + 1) * 10000000, ?, 'link', "
                "'network', 'eth0', ?, ?, 1, 0 FROM range(3000) AS numbers(i)",
                [node.host, grown, grown],
            )
        connection.execute(f"COPY samples TO '{folder / SAMPLES_FILE}' (FORMAT parquet)")


def found_in_run(tmp_path: Path, slow_by: float | None, share: float = 1.0) -> list[Anomaly]:
    folder = write_run_folder(tmp_path / "run", make_run(**FIELDS), make_events(**FIELDS))
    if slow_by is not None:
        write_samples(folder, slow_by, share)
    (finalized,) = finalize(folder, verdict, examine)
    return [one for one in finalized.run.anomalies or [] if one.kind.startswith("slow")]


def test_a_run_whose_link_is_slow_says_so(tmp_path: Path) -> None:
    found = found_in_run(tmp_path, 2.0)
    assert {one.kind for one in found} == {"slow link"}
    assert all("times faster without the slow link of host" in one.text for one in found)


def test_a_run_whose_link_is_as_fast_as_others_or_carries_nothing_has_a_slow_host(
    tmp_path: Path,
) -> None:
    as_fast = found_in_run(tmp_path / "fast", 1.0)
    assert {one.kind for one in as_fast} == {"slow host"}
    assert "it is as fast as others" in as_fast[0].reasons[0]
    idle = found_in_run(tmp_path / "idle", 2.0, 1e-6)
    assert {one.kind for one in idle} == {"slow host"}
    assert "the network carried" in idle[0].reasons[0]


def test_without_a_monitor_a_slow_host_stays_one(tmp_path: Path) -> None:
    assert {one.kind for one in found_in_run(tmp_path, None)} == {"slow host"}


# ---- pairs of hosts and servers ------------------------------------------------------------------


def with_paths(slow: Grid | float) -> tuple[Simulated, list[Level]]:
    """Each rank's transfers go to all servers in turn."""
    simulated = simulate("normal", 3, slow)
    server = np.swapaxes(place(2) % SERVERS, 0, 1).reshape(-1)
    levels = [
        Level("server", server, [f"oss{one}" for one in range(SERVERS)]),
        *(level for level in simulated.levels if level.of_ranks),
    ]
    links = _links(levels)
    assert links is not None
    return simulated, [*levels[:-1], links, levels[-1]]


def test_a_pair_of_a_host_and_a_server_is_named_if_both_are_fast_with_others() -> None:
    pair = (host_of(place(1)) == 2) & (place(2) % SERVERS == 1)
    simulated, levels = with_paths(np.where(pair, 3.0, 1.0))
    found = find_anomalies(simulated.transfers, levels)
    (link,) = [one for one in found if one.kind == "slow link"]
    assert "without link node2 to oss1, which takes 3.1 times as long" in link.text
    assert any("neither end is the cause" in one for one in link.reasons)


@pytest.mark.parametrize(
    ("slow", "kind"),
    [
        (host_of(place(1)) == 2, "slow host"),
        (place(2) % SERVERS == 1, "slow server"),
        (place(1) == 5, "slow rank"),
    ],
)
def test_an_end_that_is_slow_with_all_is_named_and_no_link(slow: Grid, kind: str) -> None:
    simulated, levels = with_paths(np.where(slow, 2.0, 1.0))
    kinds = [one.kind for one in find_anomalies(simulated.transfers, levels)]
    assert [one for one in kinds if "slow" in one] == [kind]


def test_pairs_that_are_ranks_or_have_one_end_are_no_links() -> None:
    simulated = simulate("normal", 1)
    assert _links(simulated.levels) is None, "each rank has its own target"
    assert LINK not in [level.name for level in simulated.levels]
    one_end = [Level("server", simulated.levels[2].of, ["a", "b", "c", "d"]), *simulated.levels[2:]]
    assert _links(one_end) is None, "each host has its own server"
    assert _links(simulated.levels[:2]) is None
    assert len(simulated.levels[-1].names) == RANKS
