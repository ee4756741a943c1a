"""Case files of what is simulated: ``cases/glean-figure*.toml`` and their mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from weir.bench.errors import BenchError
from weir.sim.case import load_case
from weir.sim.job import Asked

CASES = Path(__file__).parents[2] / "cases"
FILE = """
workload = "messages"
[platform]
file = "intrepid"
[fixed]
strategy = "glean"
[[factor]]
names = ["ranks", "bytes"]
levels = [[256, "4m"], [1024, "1m"]]
[[factor]]
name = "steps"
levels = [1, 4]
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "case.toml"
    file.write_text(text)
    return file


def test_every_combination_is_a_job(tmp_path: Path) -> None:
    case = load_case(written(tmp_path, FILE))
    assert case.platform == "intrepid"
    assert case.jobs == tuple(
        Asked("messages", ranks, "glean", bytes=size, steps=steps)
        for ranks, size in ((256, 4 << 20), (1024, 1 << 20))
        for steps in (1, 4)
    )
    assert case.numbers("ranks") == (256, 1024)
    assert case.job(ranks=1024, steps=4) is case.jobs[3]
    with pytest.raises(LookupError, match="2 jobs have"):
        case.job(ranks=1024)
    with pytest.raises(LookupError, match="0 jobs have"):
        case.job(ranks=1024, steps=5)


@pytest.mark.parametrize(
    ("given", "instead", "said"),
    [
        ('"steps"', '"warmups"', "warmups: weir sim has no such setting"),
        ('"glean"', '"romio"', "--strategy romio: give one of"),
        ('"messages"', '"stream"', "weir sim stream: give messages, array or sink"),
        ("[1, 4]", "[0, 4]", "--steps 0: give at least 1"),
        ("[1, 4]", '["one"]', "steps is 'one': give a whole number"),
        ('[platform]\nfile = "intrepid"', "", "missing: name the machine to simulate"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, given: str, instead: str, said: str) -> None:
    with pytest.raises(BenchError, match=said) as refused:
        load_case(written(tmp_path, FILE.replace(given, instead)))
    assert "\n" not in str(refused.value)


def test_ranks_are_part_of_every_case(tmp_path: Path) -> None:
    text = FILE.replace('names = ["ranks", "bytes"]', 'names = ["stagers", "bytes"]')
    with pytest.raises(BenchError, match=r"ranks is neither in \[fixed\] nor a factor"):
        load_case(written(tmp_path, text))


@pytest.mark.parametrize(
    ("name", "jobs"),
    [("figure3", 48), ("figure6", 48), ("figure7", 45), ("figure8", 5), ("figure9", 8),
     ("figure10", 12), ("figure11", 3), ("figure12", 2), ("figure13", 4), ("ways-out", 3)],
)  # fmt: skip
def test_figures_have_as_many_jobs(name: str, jobs: int) -> None:
    case = load_case(CASES / f"glean-{name}.toml")
    assert case.platform == "intrepid"
    assert len(case.jobs) == len(set(case.jobs)) == jobs
