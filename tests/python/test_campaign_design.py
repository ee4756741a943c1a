"""Campaign files: levels, scaling, exclusions, blocks, and the order that a seed gives."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from weir.bench.errors import BenchError
from weir.campaign.arguments import arguments_of, settings_of
from weir.campaign.design import combinations_of, factors_of, runs_of
from weir.campaign.file import (
    CampaignFile,
    first_difference,
    load_campaign_file,
    parse_campaign_file,
    read_duration,
)
from weir.campaign.levels import LevelError, read_levels
from weir.campaign.setup import design_campaign

CASES = Path(__file__).parents[2] / "cases"
TWO_FACTORS = """
workload = "madbench"
[[factor]]
name = "ranks"
levels = "1,4,9"
[[factor]]
name = "filetype"
levels = ["UNIQUE", "SHARED"]
"""


def parsed(text: str) -> CampaignFile:
    return parse_campaign_file(text, "test.toml", "test")


@pytest.mark.parametrize(
    ("given", "levels"),
    [
        ("1,4,9,16", [1, 4, 9, 16]),
        ("1:5", [1, 2, 3, 4, 5]),
        ("1:10:4", [1, 5, 9]),
        ("10:1:-4", [10, 6, 2]),
        ("1:16384:*2", [2**power for power in range(15)]),
        ("1.0:1.5:0.25", [1.0, 1.25, 1.5]),
        ("16k:64k:*2", [2**14, 2**15, 2**16]),
        ("0.5m", [2**19]),
        (["1:3", "8:32:*2"], [1, 2, 3, 8, 16, 32]),
        (["POSIX", "MPI"], ["POSIX", "MPI"]),
        (["UNIQUE,SHARED", "4m"], ["UNIQUE,SHARED", 4 * 2**20]),
        ([True, False], [True, False]),
    ],
)
def test_levels_are_read_as_people_write_them(given: Any, levels: list[Any]) -> None:
    assert read_levels(given) == levels


def test_decimal_ranges_end_where_they_say_and_do_not_drift() -> None:
    levels = read_levels("1.0:1.5:0.05")
    wanted = ["1.0", "1.05", "1.1", "1.15", "1.2", "1.25", "1.3", "1.35", "1.4", "1.45", "1.5"]
    assert [repr(level) for level in levels] == wanted
    assert len(read_levels("0:1:0.001")) == 1001


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "it has no levels"),
        ([], "it has no levels"),
        ("5:1", "never reaches its end"),
        ("1:5:0", "never reaches its end"),
        ("0:8:*2", "a start above 0"),
        ("1:8:*1", "a factor above 1"),
        ("1:10000000", "more than 100000 levels"),
        ("4,1,4", "the level 4 is given twice"),
    ],
)
def test_impossible_levels_are_refused(given: Any, told: str) -> None:
    with pytest.raises(LevelError, match=told.replace("*", r"\*")):
        read_levels(given)


def test_factors_are_crossed_and_linked_ones_change_together() -> None:
    file = parsed(
        TWO_FACTORS.replace(
            'name = "ranks"\nlevels = "1,4,9"',
            'names = ["ranks", "pixels"]\nlevels = [[1, 1000], [4, 2000]]',
        )
    )
    combinations, excluded = combinations_of(file, factors_of(file, 1.0))
    assert excluded == 0
    assert [tuple(one.values()) for one in combinations] == [
        (1, 1000, "UNIQUE"),
        (1, 1000, "SHARED"),
        (4, 2000, "UNIQUE"),
        (4, 2000, "SHARED"),
    ]
    both = parsed('workload="w"\n[[factor]]\nnames=["block","transfer"]\nlevels="1m:4m:*2"')
    assert factors_of(both, 1.0)[0].levels == [[m * 2**20] * 2 for m in (1, 2, 4)]


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ('ranks = 4\nfiletype = "SHARED"', 5),
        ('ranks = ">= 4"\nfiletype = "SHARED"', 4),
        ('ranks = "!= 1"', 2),
        ("ranks = [1, 9]", 2),
        ('ranks = ["< 4", 9]', 2),
        ('filetype = "SHARED"', 3),
    ],
)
def test_exclusions(condition: str, left: int) -> None:
    file = parsed(f"{TWO_FACTORS}[[exclude]]\n{condition}\n")
    combinations, excluded = combinations_of(file, factors_of(file, 1.0))
    assert (len(combinations), excluded) == (left, 6 - left)


@pytest.mark.parametrize(
    ("added", "told"),
    [
        ("[[exclude]]\nranks = '>= 1'\n", "all 6 combinations are excluded"),
        ("[[exclude]]\npixels = 4\n", "names pixels, which is not a factor"),
        ("[[exclude]]\nfiletype = '> 4'\n", "compares values that are not numbers"),
        ("[[factor]]\nname = 'ranks'\nlevels = '1'\n", "ranks is in two factors"),
        ("[[factor]]\nname = 'iomode'\nlevels = []\n", "factor iomode: it has no levels"),
        ("[fixed]\nranks = 4\n", "ranks is also in \\[fixed\\]"),
        ("[scaled]\npixels = 1\n", "names pixels, which is neither in \\[fixed\\] nor a factor"),
    ],
)
def test_impossible_designs_are_one_clear_line(added: str, told: str) -> None:
    file = parsed(TWO_FACTORS + added)
    with pytest.raises(BenchError, match=told) as raised:
        combinations_of(file, factors_of(file, 0.5))
    assert raised.value.exit_status == 2
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("workload = 4", "test.toml: workload: Input should be a valid string"),
        ("workload = 'w'\nreplicaton = 3", "test.toml: replicaton: Extra inputs"),
        ("workload = 'w'\ntime_limit = 'soon'", "'soon' is not a time"),
        ("workload = ", "test.toml is not TOML"),
        ("workload = 'w'\n[[factor]]\nlevels = '1'", "factor 1 needs name or names"),
        ("workload = 'w'\nname = 'a/b'", "name may contain only letters"),
        ("workload = 'w'\nreplication = 0", "replication: Input should be greater"),
    ],
)
def test_mistakes_in_the_file_are_one_clear_line(text: str, told: str) -> None:
    with pytest.raises(BenchError) as raised:
        parsed(text)
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("10m", 600), ("1h 30m", 5400), ("02:30:00", 9000), (7.5, 7.5)],
)
def test_times(text: object, seconds: float) -> None:
    assert read_duration(text) == seconds


def test_each_block_holds_every_combination_once_in_an_order_of_its_own() -> None:
    runs = runs_of([3] * 8, "replicate", seed=42)
    assert [run.number for run in runs] == list(range(1, 25))
    orders = [[run.combination for run in runs if run.block == block] for block in (1, 2, 3)]
    assert all(sorted(order) == list(range(8)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3
    together = runs_of([3] * 8, "none", seed=42)
    assert {run.block for run in together} == {1}
    assert set(Counter(run.combination for run in together).values()) == {3}


def test_a_seed_gives_the_same_order_in_every_version() -> None:
    runs = runs_of([2] * 6, "replicate", seed=7)
    assert [run.combination for run in runs] == GOLDEN
    assert runs_of([2] * 6, "replicate", seed=8) != runs


GOLDEN = [3, 5, 4, 2, 0, 1, 1, 3, 4, 5, 0, 2]


def test_scale_multiplies_sizes_in_whole_grains_and_leaves_out_large_rank_counts() -> None:
    file = parsed(
        """
        workload = "stream"
        [fixed]
        block = "2g"
        transfer = "4m"
        [scaled]
        block = "4m"
        ranks = 1
        [[factor]]
        name = "ranks"
        levels = ["1:80", "128:16384:*2"]
        """
    )
    whole = factors_of(file, 1.0)[0]
    assert len(whole.levels) == 80 + 8
    small = factors_of(file, 1 / 1024)[0]
    assert small.levels == [[rank] for rank in range(1, 17)]
    settings = settings_of(file, {"ranks": 4}, 1 / 1024)
    assert settings == {"block": 4 * 2**20, "transfer": "4m", "ranks": 4}
    assert settings_of(file, {"ranks": 4}, 0.01)["block"] == 5 * 4 * 2**20


def test_settings_become_options_of_weir_bench() -> None:
    file = parsed(
        "workload = 'madbench'\narguments = '2000 8'\n[fixed]\nalpha = 1.1\nverify = false"
    )
    words = arguments_of(file, settings_of(file, {"ranks": 4, "drop_cache": True}, 1.0))
    assert words[:3] == ["madbench", "2000", "8"]
    assert words[3:] == ["--busy-work-exponent=1.1", "--no-verify", "--drop_cache"]


def test_a_campaign_that_goes_on_keeps_its_seed() -> None:
    file = parsed(TWO_FACTORS)
    first, _ = design_campaign(file, scale=None, platform=None, given={})
    again, _ = design_campaign(file, scale=None, platform=None, given={}, seed=first.seed)
    assert again.runs == first.runs


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (TWO_FACTORS, None),
        (TWO_FACTORS + "# a remark\n", None),
        (TWO_FACTORS.replace("1,4,9", "1,4"), "factor[0].levels was '1,4,9' and is '1,4'"),
        ("replication = 2\n" + TWO_FACTORS, "replication is new"),
        (TWO_FACTORS.replace('levels = ["UNIQUE", "SHARED"]', ""), "factor[1].levels is missing"),
    ],
)
def test_what_differs_between_two_files_is_named(changed: str, told: str | None) -> None:
    assert first_difference(TWO_FACTORS, changed) == told


@pytest.mark.parametrize(
    ("name", "whole", "scale", "small", "fixed"),
    [
        ("uselton-franklin", 88, 0.001, 16, {"block": 4 * 2**20, "transfer": "4m"}),
        ("uselton-laptop-size", 12, 0.0625, 12, {"sync": "none", "ranks": 1}),
        ("uselton-laptop-transfer", 10, 0.004, 10, {"block": 8 * 2**20}),
        ("madbench-table1", 4, 0.004, 1, {"ranks": 16, "pixels": 1568}),
        ("madbench-figure3", 1, 0.004, 1, {"ranks": 16, "pixels": 1568}),
        ("madbench-figure5", 10, 0.004, 4, {"ranks": 16, "pixels": 1568}),
        ("madbench-figure7", 22, 0.001, 11, {"busy-work-exponent": 1.5, "pixels": 800}),
        ("madbench-memory", 6, 0.004, 2, {"ranks": 16, "pixels": 2208}),
        ("madbench-moduli", 12, 0.004, 4, {"read-modulus": 16, "write-modulus": 16}),
    ],
)
def test_case_files_are_scaled_by_one_number(
    name: str, whole: int, scale: float, small: int, fixed: dict[str, Any]
) -> None:
    file = load_campaign_file(CASES / f"{name}.toml")
    assert file.name == name
    assert len(combinations_of(file, factors_of(file, 1.0))[0]) == whole
    combinations, _ = combinations_of(file, factors_of(file, scale))
    assert len(combinations) == small
    settings = settings_of(file, combinations[-1], scale)
    assert fixed.items() <= settings.items()


def test_table_1_of_madbench2_is_the_papers() -> None:
    """Ranks, pixels, and the memory and the disk that the file states for each row."""
    text = (CASES / "madbench-table1.toml").read_text(encoding="utf-8")
    stated = [
        tuple(int(number) for number in row)
        for row in re.findall(
            r"\[(\d+), (\d+)\], +# needs +(\d+) GB of memory, +(\d+) GB on disk", text
        )
    ]
    reference = CASES.parent / "tests" / "reference" / "madbench2_configurations.csv"
    lines = reference.read_text(encoding="utf-8").splitlines()[2:]
    paper = [[int(value) for value in line.split(",")] for line in lines]
    assert stated == [(cpus, pixels, memory, disk) for cpus, pixels, _, memory, disk in paper]
    rows = factors_of(load_campaign_file(CASES / "madbench-table1.toml"), 1.0)[0].levels
    assert rows == [[cpus, pixels] for cpus, pixels, *_ in paper]
    assert {(pixels**2 // cpus) for cpus, pixels in rows} == {25000**2 // 16}
    for _, pixels, bins, memory, disk in paper:
        assert round(5 * 8 * pixels**2 / 2**30) == pytest.approx(memory, abs=1)
        assert round(bins * 8 * pixels**2 / 2**30) == pytest.approx(disk, abs=4)
