"""Tells a slow link of a host from a slow host, by the counters of the hosts' network cards.

A host whose ranks are slow may be slow itself, or its link may be. Its link is blamed if the
network carried the bytes of its ranks, if the link never moved them as fast as the links of other
hosts did theirs, and if what its ranks do by themselves is not slower, too. A link that waits for a
slow node is idle between two transfers and as fast as others within one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weir.analysis.stragglers import STRAGGLER_FACTOR, Straggler
from weir.results.quantities import percent_text, rate_text

Floats = NDArray[np.float64]

KIND = "slow link"
CARRIED = 0.5
"""The network carried the bytes of a host if its link moved at least this share of them."""
LEAST_SAMPLES = 5
"""A link with fewer samples has no largest rate."""
LARGEST = 0.9
"""The largest rate of a link is that which this share of its samples does not exceed."""


@dataclass(frozen=True)
class LinkUse:
    """What a host's link moved while its ranks did, in their direction.

    ``largest`` is its largest rate in a sample, ``share`` its bytes over those of the ranks.
    """

    largest: float
    share: float


@dataclass(frozen=True)
class Judged:
    """Whether the link is the cause, and what speaks for it and against it."""

    is_link: bool
    reasons: tuple[str, ...]


def use_of(grown: Floats, seconds: Floats, moved_by_ranks: float) -> LinkUse | None:
    """Returns the use of a link by its samples: what it moved in each, and how long each was."""
    if len(grown) < LEAST_SAMPLES or moved_by_ranks <= 0:
        return None
    rates = grown / np.maximum(seconds, 1e-9)
    return LinkUse(float(np.quantile(rates, LARGEST)), float(grown.sum()) / moved_by_ranks)


def judge(
    slow: Collection[str], links: Mapping[str, LinkUse], own_work: float | None
) -> Judged | None:
    """Returns whether the links of the slow hosts are the cause; None if counters do not tell.

    ``own_work`` is how many times as long the slow hosts' ranks take for what they do without I/O;
    None if that is not known.
    """
    its = [links[host] for host in slow if host in links]
    others = [use.largest for host, use in links.items() if host not in slow]
    if not its or len(its) < len(slow) or not others:
        return None
    one = "its link" if len(its) == 1 else "their links"
    share = min(use.share for use in its)
    if share < CARRIED:
        carried = percent_text(share)
        return Judged(False, (f"{one} cannot be the cause: the network carried {carried} of it",))
    largest, usual = max(use.largest for use in its), float(np.median(others))
    compared = f"at most {rate_text(largest)}, those of other hosts {rate_text(usual)}"
    if usual < STRAGGLER_FACTOR * largest:
        return Judged(False, (f"the link is not the cause, it is as fast as others: {compared}",))
    if own_work is not None and own_work >= STRAGGLER_FACTOR:
        return Judged(
            False,
            (
                f"the node itself is slow: its ranks also take {own_work:.1f} times as long for "
                "what they do without I/O",
                f"so it says little about its link that it moves {compared}",
            ),
        )
    reasons = [f"the link moves {compared}"]
    if own_work is None:
        reasons.append(
            "what its ranks do without I/O was not measured: a node that can send no faster "
            "would look alike"
        )
    else:
        reasons.append("the node is not slow itself: without I/O its ranks are as fast as others")
    return Judged(True, tuple(reasons))


def text_of(straggler: Straggler) -> str:
    """Returns the sentence about a straggling host whose link is the cause."""
    plural = "s" if len(straggler.units) > 1 else ""
    return (
        f"{straggler.faster:.2f} times faster without the slow link{plural} of host{plural} "
        f"{straggler.shown}, whose ranks take {straggler.factor:.1f} times as long as the others"
    )
