"""weir.analysis.conditions: in which conditions runs differ, and what is no difference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from probes import make_probe
from synthetic import make_run
from weir.analysis.compare import compare
from weir.analysis.conditions import conditions_of, differences_between
from weir.analysis.description import node_texts
from weir.results.node_differences import nodes_of_probe, nodes_of_run
from weir.results.node_records import DescribedNodes
from weir.results.schema import Binary, OpenedHints, Run, Start

GIB = 2**30


def run_with(
    *, fill: float = 0.4, load: float = 0.1, variables: dict[str, str] | None = None, **given: Any
) -> Run:
    """A run on a file system of 100 GiB; ``given`` are kernel, options, busy and sha256."""
    run = make_run()
    assert run.environment is not None
    system = run.environment.file_system | {
        "total_bytes": 100 * GIB,
        "available_bytes": round(100 * GIB * (1 - fill)),
        "options": given.get("options", "rw,relatime"),
    }
    quiet = run.environment.quiet.model_copy(
        update={"load_before": load, "other_processes_busy_fraction": given.get("busy", 0.02)}
    )
    environment = run.environment.model_copy(
        update={
            "system_software": {"kernel": given.get("kernel", "6.1.1")},
            "file_system": system,
            "quiet": quiet,
        }
    )
    start = None
    if variables is not None:
        start = Start(
            command_by_user=[],
            arguments=[],
            launcher=[],
            ranks=4,
            directory="/",
            platform=None,
            environment=variables,
        )
    binaries = [Binary(name="weir-bench", file="/bench", sha256=given.get("sha256", "a" * 64))]
    return run.model_copy(update={"environment": environment, "start": start, "binaries": binaries})


def texts(before: list[Run], after: list[Run]) -> list[str]:
    return [one.text for one in differences_between(before, after)]


def test_comparison_names_the_conditions_that_differ() -> None:
    """Two jobs once had ratios down to 0.22, and nothing was said to differ."""
    second = run_with(
        kernel="6.1.4", options="rw,sync", load=3.1, busy=0.4, fill=0.92, sha256="b" * 64
    )
    assert [one.text for one in compare(run_with(), second).differences] == [
        "kernel 6.1.1 -> 6.1.4",
        "mount options rw,relatime -> rw,sync",
        "load before 0.1 -> 3.1",
        "processor time of other processes 2 % -> 40 %",
        "file system fill 40 % -> 92 %",
        "SHA-256 of weir-bench aaaaaaaaaaaa -> bbbbbbbbbbbb",
    ]
    assert compare(run_with(), run_with()).differences == []


@pytest.mark.parametrize(
    ("first", "second", "number"),
    [
        ({"fill": 0.4}, {"fill": 0.49}, 0),
        ({"fill": 0.4}, {"fill": 0.51}, 1),
        ({"load": 0.5}, {"load": 1.4}, 0),
        ({"load": 0.5}, {"load": 1.6}, 1),
        ({"busy": 0.02}, {"busy": 0.06}, 0),
        ({"busy": 0.02}, {"busy": 0.08}, 1),
    ],
)
def test_what_varies_anyway_differs_from_a_least_difference_on(
    first: dict[str, Any], second: dict[str, Any], number: int
) -> None:
    assert len(differences_between([run_with(**first)], [run_with(**second)])) == number


def test_of_sets_of_runs_what_they_hardly_have_in_common_differs() -> None:
    old, new = run_with(kernel="6.1.1"), run_with(kernel="6.1.4")
    assert texts([old] * 4, [new] * 4) == ["kernel 6.1.1 -> 6.1.4"]
    assert texts([old] * 4, [old, new, new, new]) == ["kernel 6.1.1 -> 6.1.4 in 3 of 4"]
    assert texts([old] * 4, [old, old, new, new]) == []
    loads = [run_with(load=load) for load in (0.0, 2.0, 4.0, 6.0)]
    assert texts(loads, loads[1:]) == []


def test_what_one_side_does_not_say_is_no_difference() -> None:
    silent = run_with().model_copy(update={"environment": None, "binaries": []})
    assert differences_between([run_with()], [silent]) == []
    assert conditions_of(silent) == {}


def test_variables_of_the_job_differ_and_secrets_are_not_shown() -> None:
    first = run_with(variables={"UCX_TLS": "tcp", "OMPI_MCA_token": "s3cret"})
    second = run_with(
        variables={"OMPI_MCA_token": "0ther", "WEIR_X": "a=1,password=s3cret"},
        options="rw,credentials=s3cret,secret=s3cret",
    )
    said = texts([first], [second])
    assert said == [
        "mount options rw,relatime -> rw,credentials=(not shown),secret=(not shown)",
        "variable UCX_TLS tcp -> not set",
        "variable WEIR_X not set -> a=1,password=(not shown)",
    ]


def test_comparison_names_the_hints_in_effect() -> None:
    def opened(**effective: str) -> Run:
        hints = OpenedHints(opened_for="writing", given={"cb_nodes": "9"}, effective=effective)
        return run_with().model_copy(update={"opened_hints": [hints]})

    first, second = opened(cb_nodes="1", secret="a"), opened(cb_nodes="4", secret="b")
    assert texts([first], [second]) == ["hint cb_nodes for writing 1 -> 4"]
    assert texts([first], [run_with()]) == []


def run_on(nodes: int, kinds: list[dict[str, Any]], *, unlisted: int = 0) -> Run:
    """A run on so many nodes, of which some differ from that of rank 0."""
    run = run_with()
    unlike = sum(kind["nodes"] for kind in kinds) + unlisted
    described = {"described": nodes, "alike": nodes - unlike, "kinds": kinds, "unlisted": unlisted}
    record = run.model_dump(mode="json")
    record["environment"]["nodes"] = described
    record["nodes"] = [
        {"host": f"n{place:03d}", "ranks": [place], "phases": []} for place in range(nodes)
    ]
    return Run.model_validate(record)


def told_of_nodes(run: Run) -> Iterator[str]:
    return node_texts(nodes_of_run(run))


def kind_of(differences: dict[str, Any], *places: tuple[int, int], **known: Any) -> dict[str, Any]:
    nodes = sum(last - first + 1 for first, last in places)
    kind = {"nodes": nodes, "places": places, "differences": differences, "left_out": []}
    return {**kind, **known}


NEWER = {"system_software": {"kernel": "6.1.4"}}
SMALLER = {
    "hardware": {"memory": {"bytes": 32 * GIB}, "network": {"eth1": None}},
    "file_system": {"options": "rw,secret=s3cret"},
}


def test_nodes_that_differ_are_told_by_kind() -> None:
    kinds = [kind_of(NEWER, (1, 3), (7, 7)), kind_of(SMALLER, (9, 9), left_out=["hardware.cards"])]
    mixed = run_on(12, kinds, unlisted=2)
    assert mixed.environment is not None
    mixed.environment.hardware["network"] = {"eth1": {"mtu_bytes": 9000}}
    mixed.environment.hardware["cards"] = {"one": 1}
    mixed.environment.hardware["memory"] = {"bytes": 64 * GIB}
    assert list(told_of_nodes(mixed)) == [
        "7 of 12 nodes differ from that of rank 0",
        "n[001-003,007]: kernel 6.1.4 (rank 0: 6.1.1)",
        "n009: memory 32.0 GiB (rank 0: 64.0 GiB), network eth1 none, "
        "mount options rw,secret=(not shown) (rank 0: rw,relatime), "
        "cards differs, too long to be recorded",
        "2 nodes of further kinds",
    ]
    assert list(told_of_nodes(run_on(12, []))) == ["all 12 nodes are described alike"]
    assert list(told_of_nodes(run_on(1, []))) == []
    assert list(told_of_nodes(run_with())) == []


def test_hosts_of_a_probe_that_differ_are_told_like_nodes_of_a_run() -> None:
    kinds = [kind_of({**NEWER, "file_system": {"options": "ro"}}, (1, 1))]
    compared = DescribedNodes.model_validate(
        {"described": 3, "alike": 2, "kinds": kinds, "unlisted": 0}
    )
    probe = make_probe(
        [],
        ranks_by_host={"b": 2, "a": 2, "c": 2},
        system_software={"kernel": "6.1.1"},
        nodes=compared.model_dump(),
    )
    probe.targets[0].layout["options"] = "rw"
    assert list(node_texts(nodes_of_probe(probe))) == [
        "1 of 3 nodes differ from that of rank 0",
        "a: kernel 6.1.4 (rank 0: 6.1.1), mount options ro (rank 0: rw)",
    ]
    assert list(node_texts(nodes_of_probe(make_probe([])))) == []


def test_nodes_whose_places_are_not_kept_are_counted() -> None:
    many = kind_of(NEWER, (1, 2), nodes=5)
    assert "n[001-002] and 3 more: kernel 6.1.4" in list(told_of_nodes(run_on(12, [many])))[1]
    elsewhere = kind_of(NEWER, (40, 41))
    assert "2 nodes: kernel 6.1.4" in list(told_of_nodes(run_on(12, [elsewhere])))[1]


def test_comparison_names_what_other_nodes_have() -> None:
    alike, mixed = run_on(4, []), run_on(4, [kind_of(NEWER, (1, 1))])
    assert texts([alike], [mixed]) == ["kernel of other nodes alike -> 6.1.4"]
    fewer = run_on(9, [kind_of(NEWER, (1, 4))])
    assert texts([mixed], [fewer]) == []
    assert texts([run_with()], [mixed]) == []
    third = {"system_software": {"kernel": "6.1.9"}}
    both = run_on(4, [kind_of(NEWER, (1, 1)), kind_of(third, (2, 2))])
    assert texts([mixed], [both]) == ["kernel of other nodes 6.1.4 -> 6.1.4, 6.1.9"]
