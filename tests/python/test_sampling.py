"""Which cases of a test a run takes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from sampling import choose

TESTS = Path(__file__).parents[1]
CASES = [
    {"file_format": file_format, "action": action, "call": call}
    for file_format, action, call in product(("hdf5", "cdf", "zarr"), range(5), range(7))
]


def test_a_seed_gives_the_same_cases_and_another_one_others() -> None:
    of_seeds = [choose(CASES, 10, ["file_format"], str(seed)) for seed in (1, 1, 2, 3)]
    assert of_seeds[0] == of_seeds[1]
    assert len({tuple(chosen) for chosen in of_seeds}) == 3


def test_seeds_come_to_all_cases() -> None:
    assert {place for seed in range(200) for place in choose(CASES, 8, [], str(seed))} == set(
        range(len(CASES))
    )


@pytest.mark.parametrize("count", [1, 3, 4, 60])
@pytest.mark.parametrize("by", [["file_format"], ["call"], ["action", "file_format"]])
def test_each_value_asked_for_is_in_a_case(count: int, by: list[str]) -> None:
    for seed in range(20):
        chosen = choose(CASES, count, by, str(seed))
        assert chosen == sorted(set(chosen))
        assert len(chosen) == max(count, *(len({case[name] for case in CASES}) for name in by))
        for name in by:
            assert {CASES[place][name] for place in chosen} == {case[name] for case in CASES}


def test_values_of_all_parameters_are_spread() -> None:
    for seed in range(20):
        chosen = choose(CASES, 7, [], str(seed))
        for name in ("file_format", "action", "call"):
            assert {CASES[place][name] for place in chosen} == {case[name] for case in CASES}


@pytest.mark.parametrize("count", [1, 105, 106, 1000])
def test_no_more_than_all_are_chosen(count: int) -> None:
    assert len(choose(CASES, count, [], "0")) == min(count, len(CASES))


PROGRAM = """
import pytest


@pytest.mark.sampled(3, by="letter")
@pytest.mark.parametrize("letter", ["a", "b", "c", "d"])
@pytest.mark.parametrize("number", range(5))
def test_of_twenty(letter, number):
    pass


@pytest.mark.sampled(2)
class TestsOfAClass:
    @pytest.mark.parametrize("number", range(6))
    def test_of_six(self, number):
        pass

    @pytest.mark.parametrize("number", range(1))
    def test_of_one(self, number):
        pass

    def test_without_parameters(self):
        pass


@pytest.mark.sampled
@pytest.mark.parametrize("a", [0, 1])
@pytest.mark.parametrize("b", [0, 1])
@pytest.mark.parametrize("c", [0, 1])
def test_of_each_value(a, b, c):
    pass


@pytest.mark.parametrize("number", range(3))
def test_not_marked(number):
    pass
"""
ALL = 20 + 6 + 1 + 1 + 8 + 3
WRONG_WORDS = "sampled takes nothing, or a number of cases, at least 1, and by="
SOME = 4 + 2 + 1 + 1 + 2 + 3


def run(folder: Path, seed: str | None, *options: str, program: str = PROGRAM) -> str:
    """What pytest prints, which names each test that ran."""
    (folder / "test_program.py").write_text(program)
    (folder / "conftest.py").write_text(
        "def pytest_configure(config):\n    config.pluginmanager.import_plugin('sampling')\n"
    )
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  sampled\n")
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    environment.pop("WEIR_TEST_SEED", None)
    if seed is not None:
        environment["WEIR_TEST_SEED"] = seed
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:zarr", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [*command, "--strict-markers", *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return ended.stdout + ended.stderr


def passed(printed: str) -> set[str]:
    """The names of cases; with several processes they stand behind the word."""
    of_one = re.findall(r"test_program\.py::(\S+) PASSED", printed)
    return {*of_one, *re.findall(r"PASSED test_program\.py::(\S+)", printed)}


def test_a_run_takes_the_cases_of_its_seed(tmp_path: Path) -> None:
    first = run(tmp_path, "1a2b3c")
    assert "WEIR_TEST_SEED: 1a2b3c; without it all cases run" in first
    assert f"{SOME} of {ALL} cases (seed 1a2b3c); ./dev test all runs all" in first
    assert f"{SOME} passed, {ALL - SOME} deselected" in first
    assert passed(run(tmp_path, "1a2b3c")) == passed(first)
    assert passed(run(tmp_path, "other")) != passed(first)
    assert "test_without_parameters" in first


def test_processes_that_share_the_tests_take_the_same(tmp_path: Path) -> None:
    side_by_side = run(tmp_path, "1a2b3c", "-n2")
    assert f"{SOME} of {ALL} cases (seed 1a2b3c); ./dev test all runs all" in side_by_side
    assert passed(side_by_side) == passed(run(tmp_path, "1a2b3c"))
    assert len(passed(side_by_side)) == SOME


@pytest.mark.parametrize(("folder", "ran"), [("failure", 2), ("python", 4)])
def test_tests_that_start_ranks_are_sampled_without_a_mark(
    folder: str, ran: int, tmp_path: Path
) -> None:
    """Two parameters of two values each."""
    place = tmp_path / folder
    place.mkdir()
    program = (
        "import pytest\n\n\n@pytest.mark.parametrize('a', [0, 1])\n"
        "@pytest.mark.parametrize('b', [0, 1])\ndef test_it(a, b):\n    pass\n"
    )
    assert f"{ran} passed" in run(place, "1", program=program)


def test_without_a_seed_all_run(tmp_path: Path) -> None:
    printed = run(tmp_path, None)
    assert f"{ALL} passed" in printed
    assert "./dev test all" not in printed


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("sampled(0)", WRONG_WORDS),
        ("sampled(1, of='letter')", WRONG_WORDS),
        ("sampled(1, by='word')", "test_it is marked sampled by word, which it lacks"),
    ],
)
def test_a_wrong_mark_is_one_line(tmp_path: Path, mark: str, said: str) -> None:
    program = (
        f"import pytest\n\n\n@pytest.mark.{mark}\n@pytest.mark.parametrize('letter', ['a', 'b'])\n"
        "def test_it(letter):\n    pass\n"
    )
    assert f"test_program.py::{said}".replace("::sampled", "::test_it: sampled") in run(
        tmp_path, "1", program=program
    )
