"""How far expectations were off, beside how far repetitions are apart, by arithmetic."""

from __future__ import annotations

import pytest

from synthetic import make_run
from weir.analysis.expectation_errors import Errors, expectation_errors
from weir.results.figures import Figure, figures_of
from weir.results.schema import Run
from weir.results.statistics import predicted_by_the_others


def replicas(*runs: Run) -> list[list[tuple[Run, Figure]]]:
    """All figures of runs that were made in the same way."""
    return [
        list(zip(runs, figures, strict=True))
        for figures in zip(*(figures_of(run) for run in runs), strict=True)
    ]


def test_a_value_is_predicted_by_the_median_of_the_others() -> None:
    assert predicted_by_the_others([1.0, 2.0, 4.0]) == pytest.approx([2.0, 0.25, 0.625])
    assert predicted_by_the_others([0.0, 2.0]) == pytest.approx([1.0])
    assert predicted_by_the_others([3.0]) == []


def test_errors_of_runs_are_those_of_their_judged_figures() -> None:
    run = make_run(finalized=True)
    assert run.expectation is not None
    assert run.verdict is not None
    found = expectation_errors(replicas(run, run))
    of_one = [abs(1 / one.ratio - 1) for one in run.verdict.rates if one.ratio]
    assert sorted(found.expected) == pytest.approx(sorted(of_one * 2))
    assert len(found.repeated) == 2 * sum(len(rate.values) for rate in run.rates if rate.headline)
    assert found.replicated == [0.0] * len(found.expected)


def test_expectations_made_after_the_run_and_unjudged_runs_do_not_count() -> None:
    run = make_run(finalized=True)
    assert run.expectation is not None
    after = run.expectation.model_copy(update={"after_run": True})
    later = run.model_copy(update={"expectation": after})
    assert expectation_errors(replicas(later, make_run())) == Errors([], [], [])


def test_the_sentence_has_both_errors_side_by_side() -> None:
    assert Errors([], [], []).text() == ""
    assert Errors([0.1, 0.2, 0.3], [0.05, 0.05], [0.4]).text() == (
        "Expectations of 3 figures, made before their runs, were off by 20.0 % in the median and "
        "28.0 % at the 90th percentile; each of 2 repetitions differed from the median of the "
        "others of its run by 5.0 % in the median and 5.0 % at the 90th percentile."
    )
    assert Errors([0.5], [], []).text().endswith("is not known: nothing was repeated.")


def test_runs_of_one_repetition_are_compared_with_their_replicas() -> None:
    text = Errors([0.5], [], [0.1, 0.1]).text()
    assert text.partition("; ")[2] == (
        "each of 2 figures differed from the median of its replicas by 10.0 % in the median and "
        "10.0 % at the 90th percentile."
    )
