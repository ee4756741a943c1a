"""What the soak takes for a reader that hangs, by a clock of the test's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from soak import Patience, processor_seconds


def test_a_reader_that_gets_little_of_the_processor_is_waited_for() -> None:
    patience = Patience(300, used=7, now=0)
    findings = {patience.finding(7 + now / 50, now) for now in range(0, 14_000, 100)}
    assert findings == {""}


def test_a_reader_that_uses_no_processor_hangs() -> None:
    patience = Patience(300, used=7, now=1000)
    assert patience.finding(8, 1290) == ""
    assert patience.finding(8, 1590) == ""
    assert patience.finding(8, 1591) == "did nothing for 300 s"


def test_a_reader_that_computes_for_ever_hangs() -> None:
    patience = Patience(300, used=7, now=0)
    assert patience.finding(307, 310) == ""
    assert patience.finding(307.5, 311) == "used the processor for 300 s"


def test_the_time_of_a_process_is_that_of_all_its_threads() -> None:
    before = processor_seconds(os.getpid())
    while sum(os.times()[:2]) < before + 0.1:
        pass
    assert processor_seconds(os.getpid()) >= before + 0.05
    assert processor_seconds(1 << 22) == 0
