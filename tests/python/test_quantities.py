"""Numbers are written one way in all that is printed."""

from __future__ import annotations

import re
from pathlib import Path

from weir.results.quantities import percent_text

CLONE = Path(__file__).parents[2]
PRINTING = [CLONE / "python" / "weir", CLONE / "bench" / "compare", CLONE / "tools"]


def test_a_share_has_a_space_before_its_sign() -> None:
    assert percent_text(0.34) == "34 %"
    assert percent_text(0.4749, 1) == "47.5 %"
    assert percent_text(-0.5) == "-50 %"


def test_no_text_has_a_share_without_that_space() -> None:
    """Python's own format of shares, ``{share:.0%}``, and numbers in texts."""
    without = re.compile(r":[-+.0-9]*%\}|\d%[ ,.;:)\"]")
    found = [
        f"{file.relative_to(CLONE)}:{number}: {line.strip()}"
        for folder in PRINTING
        for file in sorted(folder.rglob("*.py"))
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if without.search(line)
    ]
    assert found == []
