"""The search itself, apart from the forms that the path model gives it."""

import numpy as np
import pytest

from weir.model.least_squares import Form, Free, solve


def test_two_parameters_that_do_the_same_are_searched_for_together() -> None:
    sizes = np.geomspace(4096, 2**24, 12)
    both = (Free("fast", "bytes/s", 1, 1e12), Free("share", "", 1e-3, 1e3))
    form = Form(
        "a rate times a share",
        both,
        lambda parameters, columns: columns["bytes"] / (parameters[0] * parameters[1]),
        lambda *_: [[10.0, 1.0], [1e11, 500.0]],
    )
    fast, share = solve(form, {"bytes": sizes}, sizes / 2e9)
    assert fast * share == pytest.approx(2e9, rel=1e-3)
