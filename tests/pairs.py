"""Fewer cases of a test with several parameters: every two values of different ones meet.

Most failures that depend on parameters depend on one or two of them, so cases in which all pairs
of values occur find nearly what all combinations find (pairwise testing; D. R. Kuhn et al.,
"Software fault interactions", IEEE TSE 30 (6), 2004). `@pytest.mark.pairwise` asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations


def pairs_of(case: Mapping[str, object]) -> set[tuple[tuple[str, str], ...]]:
    """Every two values of a case, as text, with the names of their parameters."""
    return set(combinations(sorted((name, repr(value)) for name, value in case.items()), 2))


def covering(cases: Sequence[Mapping[str, object]]) -> list[int]:
    """The places of cases in which each pair of values occurs that occurs in any of the cases.

    The next case is the one with most pairs that are in none before; the first one of several.
    """
    of_each = [pairs_of(case) for case in cases]
    missing = set().union(*of_each)
    chosen = []
    while missing:
        best = max(range(len(cases)), key=lambda place: (len(of_each[place] & missing), -place))
        chosen.append(best)
        missing -= of_each[best]
    return sorted(chosen)
