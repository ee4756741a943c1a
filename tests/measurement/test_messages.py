"""Messages and I/O, alone and at the same time: madbench --messages."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import pytest
from bench_runs import SMALL, Done

from weir.analysis.messages import messages_listing

Bench = Callable[..., Done]
BOTH = ("--iomethod", "IO_URING", "--iomode", "SYNC,ASYNC", "--messages")
TWICE = ("--repetitions", "2", "--max-repetitions", "2", "--warmups", "0")


@pytest.mark.parametrize(("gangs", "ranks", "messages"), [("1", 4, "5m"), ("4", 16, "40k")])
def test_messages_and_io_are_alone_in_sync_and_compared_in_async(
    bench: Bench, gangs: str, ranks: int, messages: str
) -> None:
    done = bench(*SMALL[:2], gangs, "8", *SMALL[4:], *BOTH, messages, *TWICE, ranks=ranks)
    sync, beside = done.run("io_uring-unique-sync"), done.run("io_uring-unique-async")
    assert sync.messages is not None
    assert beside.messages is not None
    assert sync.messages.alone_run_id is None
    alone = {one.moved: one for one in sync.messages.kinds}
    assert set(alone) == {"messages", "write", "read"}
    for one in alone.values():
        # In SYNC all ranks meet between a transfer and the messages.
        assert one.alone is not None
        assert len(one.alone.values) == 2
        assert (one.together, one.together_share, one.kept) == (None, 0, None)
    assert beside.messages.alone_run_id == sync.id
    for one in beside.messages.kinds:
        if one.together is None or one.kept is None:
            continue
        of_sync = alone[one.moved].alone
        assert of_sync is not None
        ratios = [a / b for a, b in zip(one.together.values, of_sync.values, strict=True)]
        assert one.kept.values == pytest.approx(ratios)
        assert one.kept.median == pytest.approx(median(ratios))
    listing = messages_listing([beside, sync])
    assert listing is not None
    assert [row[1] for row in listing.rows] == ["messages", "write", "read"]
    assert messages_listing([sync]) is None
    assert "of all ranks" in done.stdout


def test_messages_alone_move_no_file(bench: Bench) -> None:
    done = bench(*SMALL, "--iomode", "NONE", "--messages", "1m", *TWICE)
    run = done.run("posix-unique-none")
    assert run.messages is not None
    by_kind = {one.moved: one for one in run.messages.kinds}
    assert by_kind["messages"].alone is not None
    assert by_kind["write"].alone is None
    assert by_kind["read"].alone is None
