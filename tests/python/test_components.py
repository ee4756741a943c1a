"""Campaigns of a machine's components: one for each sentence of Uselton's section 3.9.4."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from platforms import make_platform, make_stage
from weir.bench.errors import BenchError
from weir.campaign.file import load_campaign_file
from weir.campaign.setup import design_campaign
from weir.cli import application
from weir.follow_up.components import Component, components_of, machine_of, pool_commands
from weir.platform.files import SHIPPED
from weir.results.platform import Edge
from weir.results.platform_file import load_platform, write_platform

MB = 1e6


@pytest.fixture(scope="module")
def made() -> dict[str, Component]:
    """The campaigns of Franklin, by name."""
    made, left_out = components_of(load_platform(SHIPPED / "franklin.toml"))
    assert left_out == {}
    return {one.name: one for one in made}


def test_every_sentence_that_asks_for_runs_has_a_campaign(made: dict[str, Component]) -> None:
    assert len(made) == 14
    assert len({one.sentence for one in made.values()}) == 14
    assert {name: len(one.tests) for name, one in made.items()} == {
        "even-at-scale": 1,
        "even-at-twice-the-scale": 1,
        "even-shorter": 6,
        "one-node": 16,
        "scaling": 80,
        "one-target": 7,
        "one-server": 8,
        "each-server": 20,
        "one-controller": 16,
        "one-controller-more-files": 5,
        "pairs-of-servers": 190,
        "more-servers": 20,
        "targets-of-a-controller": 5,
        "servers-of-a-controller": 4,
    }


def test_the_expected_results_are_those_of_the_description(made: dict[str, Component]) -> None:

    def expected(name: str, place: int) -> float:
        return made[name].tests[place].expected[0].bytes_per_second

    assert expected("one-target", 0) == pytest.approx(192 * MB)
    assert expected("one-server", 3) == pytest.approx(768 * MB)
    assert expected("one-controller", 15) == pytest.approx(3072 * MB)
    assert expected("scaling", 79) == pytest.approx(15360 * MB)
    assert expected("servers-of-a-controller", 0) == pytest.approx(768 * MB, rel=0.02)
    assert "limited by node to torus" in made["one-node"].tests[7].expects


def test_files_lie_where_the_question_wants_them(made: dict[str, Component]) -> None:
    machine = machine_of(load_platform(SHIPPED / "franklin.toml"))
    assert made["one-server"].pools[0].targets == (0, 20, 40, 60), "section 3.3.3"
    assert made["one-target"].pools[0].targets == (0,)
    (controller,) = made["one-controller"].pools
    assert len(controller.targets) == 16
    assert {target % 20 for target in controller.targets} == {0, 5, 10, 15}
    pairs = {one.targets for one in made["pairs-of-servers"].pools}
    assert len(pairs) == 190
    assert all(len(one) == 8 for one in pairs)
    assert machine.of_servers([19]) == (19, 39, 59, 79)
    assert pool_commands(made["one-server"].pools)[1] == (
        "lfs pool_add FS.weir-server-0 FS-OST[0,14,28,3c]"
    )


def test_a_part_that_the_description_lacks_leaves_its_campaigns_out() -> None:
    target = make_stage("disk", 1e9, kind="target", units=4, routes=["durable"])
    edge = Edge.model_validate(
        {"from": "node", "to": "disk", "stages": ["disk"], "origin": "paper"}
    )
    made, left_out = components_of(make_platform([target], edges=[edge]))
    assert {one.name for one in made} == {"one-target"}
    assert left_out["one-server"] == "the description has no stage of kind server"
    with pytest.raises(ValueError, match="has no edges"):
        components_of(make_platform([target]))


def test_the_command_writes_files_that_weir_campaign_accepts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large = load_platform(SHIPPED / "franklin.toml")
    units = {"target": 8, "server": 4, "device link": 2}
    stages = [
        one.model_copy(update={"units": units.get(one.kind, one.units)}) for one in large.stages
    ]
    small = large.model_copy(update={"name": "small", "hosts": 16, "stages": stages})
    description = write_platform(tmp_path / "small.toml", small)
    folder = tmp_path / "parts"
    words = ["next", "--components", str(description), "--output", str(folder)]
    application(words)(words, standalone_mode=False)
    told = capsys.readouterr().out
    assert "Will it for all 20 OSSs?" in told
    assert "left out: even-at-scale, because the machine has only 32 ranks" in told
    files = sorted(folder.iterdir())
    assert len(files) == 11
    for file in files:
        read = load_campaign_file(file)
        campaign, _ = design_campaign(read, scale=None, platform=None, given={}, seed=1)
        assert all(one is not None and one.expected for one in campaign.purposes)
        pools = {str(one["pool"]) for one in campaign.combinations if "pool" in one}
        made = set(re.findall(r"lfs pool_new FS\.(\S+)", file.read_text()))
        assert made == pools
    for wrong, said in (
        (words, "exists: give another folder"),
        (["next", str(tmp_path), "--components", "franklin"], "give one of them"),
        (["next", "--components", "thunder"], "has no stage of kind target"),
    ):
        with pytest.raises(BenchError, match=said):
            application(wrong)(wrong, standalone_mode=False)
