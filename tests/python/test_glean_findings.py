"""bench/compare/glean_findings.py: what it calls found, and what not, and what it draws."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPARE = ROOT / "bench" / "compare"
sys.path.insert(0, str(COMPARE))

import glean_findings  # noqa: E402
import glean_judgements  # noqa: E402
from glean_figures import figures, write_page  # noqa: E402
from glean_outcomes import Outcomes, Reached, Simulate, words_of  # noqa: E402

from weir.analysis.findings import Judgement  # noqa: E402
from weir.sim.job import Asked  # noqa: E402
from weir.sim.program import Limit  # noqa: E402

RECORDED = ROOT / "tests" / "reference" / "glean_outcomes.json"
"""Without the file, `glean_findings.py --pictures FOLDER --outcomes FILE` makes it again, and also
with --quick."""
QUICK, WHOLE = glean_findings.QUICK_CORES, glean_judgements.WHOLE


def reached(rate: float) -> Reached:
    limit = Limit(name="stagers", busy_share=0.9, busiest="0")
    return Reached(seconds=1, bytes_per_second=rate, limit=limit)


def judged(most_cores: int) -> dict[str, Judgement]:
    made = glean_findings.judge(Outcomes(RECORDED, None), most_cores)
    assert len({one.finding for one in made}) == len(made)
    return {one.finding: one for one in made}


# ---- Of recorded outcomes -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cores", "finding", "word", "figures"),
    [
        (QUICK, "posix, 4096 cores, 64 KiB: 50 % of the peak", "found, fitted", "(50 %)"),
        (
            QUICK,
            "collective I/O has half of POSIX's rate at 4096 KiB on 32,768",
            "not found",
            "0.30 (0.5)",
        ),
        (QUICK, "a rack of 4096 cores sends at most 6.7 GiB/s", "found", "6.56 (6.7"),
        (
            WHOLE,
            "84 GiB/s to 128 file servers and 100 stager nodes together",
            "cannot be decided",
            "at most 68.6 together (84)",
        ),
        (QUICK, "collective I/O fails to scale from 4096 to 16384", "not found", "of linear"),
        (QUICK, "POSIX approaches glean at large sizes", "found", "4096 KiB: "),
        (QUICK, "16384 cores, 36 stager nodes: 21.6 GiB/s", "not found", "17.5 (21.6), -19 %"),
        (WHOLE, "collective I/O fails to scale from 4096 to 65536", "found", "0.016, 0.064, 0.779"),
        (WHOLE, "131072 cores, 96 stager nodes: 52.4 GiB/s", "found", "56.9 (52.4), +9 %"),
        (WHOLE, "glean is up to 400 times as fast as mpi-io", "not found", "1495 times (400)"),
    ],
)
def test_recorded_outcomes_are_judged(cores: int, finding: str, word: str, figures: str) -> None:
    (one,) = [made for told, made in judged(cores).items() if told.startswith(finding)]
    assert one.word == word
    assert figures in one.figures


def test_every_figure_is_drawn_with_the_numbers_of_the_paper(tmp_path: Path) -> None:
    pages = [write_page(tmp_path, one) for one in figures(Outcomes(RECORDED, None), QUICK)]
    assert [page.stem for page in pages] == [
        f"figure-{number}" for number in (3, 6, 7, 8, 9, 10, 11, 12, 13)
    ]
    texts = {page.stem: page.read_text() for page in pages}
    assert all("<svg" in text and "simulated" in text for text in texts.values())
    for number, printed in (("3", "93.0 %"), ("10", "21.6 GiB/s"), ("13", "26.2 GiB/s")):
        assert printed in texts[f"figure-{number}"]
    assert "prints no numbers" in texts["figure-6"]


def test_outcomes_in_the_file_are_not_simulated_again(tmp_path: Path) -> None:
    asked = glean_judgements.CASES["figure10"].job(ranks=4096, steps=1)
    assert words_of(asked) == "messages --ranks 4096 --strategy glean --to stagers --stagers 12"
    file = tmp_path / "outcomes.json"
    file.write_text(f'{{"{words_of(asked)}": {reached(5e9).model_dump_json()}}}')
    run = Outcomes(file, None)
    assert run(asked).bytes_per_second == 5e9
    with pytest.raises(KeyError, match="--stagers 13"):
        run(replace(asked, stagers=13))


# ---- At the limits of what is found -------------------------------------------------------------


def rates(by_strategy: dict[str, float]) -> Simulate:
    """Outcomes that depend on the strategy and nothing else."""
    return lambda asked: reached(by_strategy[asked.strategy])


@pytest.mark.parametrize(("share", "word"), [(0.54, "found"), (0.56, "not found")])
def test_half_of_posix_is_half_within_a_tenth(share: float, word: str) -> None:
    made = glean_judgements.mechanisms(rates({"posix": 1e9, "mpi-io": share * 1e9}))
    assert [one.word for one in made if "half of POSIX" in one.finding] == [word]


def test_what_grows_with_the_cores_does_not_fail_to_scale() -> None:
    def growing(asked: Asked) -> Reached:
        return reached(1e5 * asked.ranks)

    for run, word in ((growing, "not found"), (lambda _: reached(1e9), "found")):
        made = glean_judgements.scaling(run, 16_384)
        (one,) = [made for made in made if "fails to scale" in made.finding]
        assert one.word == word


@pytest.mark.parametrize(("share", "word"), [(0.91, "found"), (0.89, "not found")])
def test_posix_has_to_come_near_glean(share: float, word: str) -> None:
    def run(asked: Asked) -> Reached:
        posix = share * asked.bytes / (4 << 20)
        return reached(1e9 * (posix if asked.strategy == "posix" else 1))

    made = glean_judgements.scaling(run, 16_384)
    assert [one.word for one in made if "POSIX approaches" in one.finding] == [word]


def test_both_ways_out_have_the_sum_as_a_bound() -> None:
    made = glean_judgements.end_to_end(lambda _: reached(50 * 2**30), 131_072)
    (one,) = [made for made in made if made.where == "section 5.2.2"]
    assert one.word == "cannot be decided"
    assert "at most 100.0 together (84)" in one.figures


def test_a_finding_is_found_within_a_tenth() -> None:
    def run(rate: float) -> list[str]:
        made = glean_judgements.end_to_end(lambda _: reached(rate * 2**30), 4096)
        return [one.word for one in made if one.finding.startswith("4096 cores, ")]

    assert run(5.4 * 1.09) == ["found"]
    assert run(5.4 * 1.11) == ["not found"]
    assert run(5.4 * 0.89) == ["not found"]


def test_rates_that_do_not_scale_are_not_found() -> None:
    made = glean_judgements.scaling(lambda _: reached(1e9), 65_536)
    words = {one.finding: one.word for one in made}
    assert words["glean scales perfectly from 4096 to 65536 cores"] == "not found"
    assert made[-1].word == "not found"


def test_a_flat_curve_of_stager_nodes_has_its_plateau_too_early() -> None:
    made = glean_judgements.stager_nodes(lambda _: reached(22.1 * 2**30))
    assert [one.word for one in made] == ["not found", "found"]


def test_applications_are_judged_by_their_figures() -> None:
    def words(rate: float) -> dict[str, str]:
        made = glean_judgements.applications(lambda _: reached(rate * 2**30), 32_768)
        return {one.finding: one.word for one in made}

    flash = "FLASH checkpoint of 96 GiB, 32768 cores, 72 stager nodes: 31.3 GiB/s"
    assert words(31.3 * 1.09)[flash] == "found"
    assert words(31.3 * 1.11)[flash] == "not found"
    grows = "the throughput of checkpoints grows with the cores, as more I/O nodes take part"
    assert words(31.3)[grows] == "not found"
    assert words(31.3)["factors over parallel netCDF and HDF5"] == "cannot be decided"
