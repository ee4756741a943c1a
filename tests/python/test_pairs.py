"""Which cases of a test with several parameters are run."""

from __future__ import annotations

from itertools import product

import pytest
from pairs import covering, pairs_of


@pytest.mark.parametrize("sizes", [(2, 2), (3, 4, 2), (2, 2, 2), (2, 4, 2), (4, 3, 2, 5)])
def test_every_pair_of_values_occurs(sizes: tuple[int, ...]) -> None:
    cases = [
        {f"parameter {axis}": value for axis, value in enumerate(values)}
        for values in product(*map(range, sizes))
    ]
    chosen = covering(cases)
    assert set().union(*(pairs_of(cases[place]) for place in chosen)) == set().union(
        *map(pairs_of, cases)
    )
    if len(sizes) > 2:
        assert len(chosen) < len(cases)
        longest, second, *_ = sorted(sizes, reverse=True)
        assert len(chosen) <= longest * second + 2


def test_a_pair_that_only_one_case_has_is_kept() -> None:
    cases = [{"a": 0, "b": 0, "c": 0}, {"a": 0, "b": 0, "c": 1}, {"a": 1, "b": 0, "c": 0}]
    assert covering(cases) == [0, 1, 2]


def test_of_one_parameter_no_case_is_chosen_so_the_marker_is_refused() -> None:
    assert covering([{"a": 0}, {"a": 1}]) == []
