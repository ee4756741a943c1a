"""The section of a report that shows what was computed."""

from __future__ import annotations

import re
from typing import Any

from synthetic import make_run
from weir.report import spectrum
from weir.report.sources import Source
from weir.results.schema import Run


def source_with(record: dict[str, Any] | None) -> Source:
    run = Run.model_validate({**make_run().model_dump(mode="json"), "spectrum": record})
    return Source(run=run, events=None, anchor="run")


def binned(place: int, **more: float) -> dict[str, Any]:
    first = 10 * place + 1
    return {"first_multipole": first, "last_multipole": first + 9, "correction": 1e-9, **more}


FOUND = [
    binned(0, estimate=0.2, error=0.05, truth=0.25),
    binned(1, estimate=-0.001, error=0.01, truth=0.05),
]
STEPS = [
    {"log_likelihood": -50.0, "largest_correction": 3.0, "by_curvature": False},
    {"log_likelihood": -40.0, "largest_correction": 0.1, "by_curvature": True},
    {"log_likelihood": -39.5, "largest_correction": 0.0, "by_curvature": True},
]


def test_a_run_without_a_spectrum_has_no_section() -> None:
    assert spectrum.render(source_with(None)) is None


def test_corrections_alone_are_a_table() -> None:
    page = spectrum.render(source_with({"bins": [binned(0), binned(1)]}))
    assert page is not None
    assert "11 to 20" in page
    assert "1.00000e-09" in page
    assert "<svg" not in page


def test_every_bin_and_every_step_is_a_mark_with_its_value() -> None:
    record = {"bins": FOUND, "iterations": STEPS, "converged": True, "chi_square": 2.5}
    page = spectrum.render(source_with(record))
    assert page is not None
    assert page.count("<figure") == 2
    values = [float(value) for value in re.findall(r'data-value="([^"]*)"', page)]
    # l(l+1)/2 pi at 5.5 and at 15.5.
    scale = [5.5 * 6.5 / 6.283185307179586, 15.5 * 16.5 / 6.283185307179586]
    for got, wanted in zip(values, [0.2 * scale[0], -0.001 * scale[1], 3.0, 0.1, 0.0], strict=True):
        assert abs(got - wanted) < 1e-9
    assert "It converged." in page
    assert "2.50 for 2 bins" in page
    assert "-1.00" in page  # 0.2 is one error below 0.25
    assert 'class="point outlier"' in page  # the step by the expected curvature
    # No mark lies outside its drawing.
    for height, circles in re.findall(r'<svg viewBox="0 0 [\d.]+ ([\d.]+)"(.*?)</svg>', page):
        assert all(0 <= float(y) <= float(height) for y in re.findall(r'cy="([^"]*)"', circles))


def test_what_did_not_converge_is_said() -> None:
    record = {"bins": FOUND, "iterations": STEPS[:1], "converged": False, "chi_square": 2.5}
    page = spectrum.render(source_with(record))
    assert page is not None
    assert "It did not converge." in page
