"""Why a run was made, in words that the terminal and a report show alike."""

from __future__ import annotations

from collections.abc import Iterator

from weir.results.quantities import range_text, rate_text
from weir.results.schema import Run


def purpose_texts(run: Run) -> Iterator[str]:
    """Yields why the run was made, and each rate beside what was expected when it was proposed."""
    purpose = run.purpose
    if purpose is None:
        return
    if purpose.goal:
        yield f"goal: {purpose.goal}"
    for name in ("motivation", "expects", "decides", "note"):
        if text := getattr(purpose, name):
            yield f"{name}: {text}"
    headline = {rate.direction: rate for rate in run.rates if rate.headline}
    for one in purpose.expected:
        rate = headline.get(one.direction)
        low, high = one.low_bytes_per_second, one.high_bytes_per_second
        if rate is not None:
            word = "inside" if low <= rate.median <= high else "outside"
            yield (
                f"the {one.direction} rate, {rate_text(rate.median)}, is {word} the interval that "
                f"was proposed, {range_text(low, high)}"
            )
    if purpose.follows:
        yield f"follows: {', '.join(purpose.follows)}"
