"""Judges the findings of the Panda and DRA study by the results of three campaigns.

Each finding is `found`, `not found`, or `cannot be decided`. The last applies if the machine lacks
the subject of the finding, such as separate storage for each I/O node, or if the values to be
compared overlap.
"""

from __future__ import annotations

from panda_results import Figure, Results, balance, gathering, rate, share_of_peak
from values import Values

from weir.analysis.findings import Judgement

BUFFER = 512 << 10
MEGABYTE = 1e-6

SCALES = 0.8
"""A share of what as many I/O nodes should reach together, from which on the rate follows them."""
SLOWER = 0.95
"""Below this ratio one is slower than the other; what is nearer to 1 is the machine's noise."""
UNEVEN, EVEN = 1.2, 1.1
"""The busiest aggregator's bytes over the mean."""
PAPER_WHOLE, PAPER_SECTION = 0.90, 0.80
"""Shares of the peak on the paper's local disks."""


def ratio(one: Values, other: Values) -> float:
    if other.median == 0:  # ranks that write by themselves gather nothing
        return 1.0 if one.median == 0 else float("inf")
    return one.median / other.median


def is_slower(one: Values, other: Values) -> bool | None:
    """Return whether ``one`` is slower; None if its median is lower but the values overlap."""
    if ratio(one, other) >= SLOWER:
        return False
    return True if one.median < min(other.values) and max(one.values) < other.median else None


def io_nodes(results: Results, apart: bool) -> list[Judgement]:
    """Judge section 3.3.1. `apart` means that every I/O node has its own storage."""
    judgements = []
    for direction in ("write", "read"):
        found = over_nodes(results, rate, direction)
        if len(found) < 2 or 1 not in found:
            continue
        most = max(found)
        each = ", ".join(f"{n}: {v.text('.1f', MEGABYTE)} MB/s" for n, v in found.items())
        efficiency = ratio(found[most], found[1]) / most
        judgements.append(
            Judgement(
                "3.3.1",
                f"the rate of all I/O nodes follows their number, {direction}",
                efficiency >= SCALES if apart else None,
                f"{each}; {efficiency:.2f} of {most} times one",
            )
        )
        judgements.append(
            Judgement(
                "3.3.1",
                f"each reaches a little less as there are more (up to a fifth), {direction}",
                1 - SLOWER < 1 - efficiency <= 1 - SCALES if apart else None,
                f"{(1 - efficiency) * 100:.0f} % less with {most}",
            )
        )
        shares = over_nodes(results, share_of_peak, direction)
        if 1 in shares and most in shares:
            told = ", ".join(f"{n}: {v.text('.2f')}" for n, v in shares.items())
            judgements.append(
                Judgement(
                    "3.3.1",
                    f"few I/O nodes cannot keep the storage busy, {direction}",
                    is_slower(shares[1], shares[most]),
                    f"of the peak {told}",
                )
            )
    return judgements


def over_nodes(results: Results, figure: Figure, direction: str) -> dict[int, Values]:
    return {
        n: values
        for n in sorted(results.levels("aggregators"))
        if (values := results.values(figure, direction, aggregators=n, buffer=BUFFER))
    }


def chunks(results: Results) -> list[Judgement]:
    """Judge section 3.3.2: write rates and loads of the nonaligned sections."""
    judgements = []
    for section in results.levels("section"):
        name = "middle columns" if is_columns(section) else "the middle"
        rates = of_levels(results, rate, section)
        loads = of_levels(results, balance, section)
        copies = of_levels(results, gathering, section)
        if "4x4" not in rates or len(rates) < 2:
            continue
        natural = rates["4x4"]
        slowest_other = min((v for k, v in rates.items() if k != "4x4"), key=lambda v: v.median)
        judgements.append(
            Judgement(
                "3.3.2",
                f"natural chunks (4x4) are the slowest; section: {name}",
                is_slower(natural, slowest_other),
                ", ".join(f"{k}: {v.text('.1f', MEGABYTE)} MB/s" for k, v in rates.items()),
            )
        )
        told = ", ".join(f"{k}: {v.text('.2f')}" for k, v in loads.items())
        judgements.append(
            Judgement(
                "3.3.2",
                f"natural chunks load the I/O nodes unevenly; section: {name}",
                loads["4x4"].median >= UNEVEN if "4x4" in loads else None,
                f"busiest over mean {told}",
            )
        )
        judgements.append(
            Judgement(
                "3.3.2",
                f"fine chunks (50x50) load them evenly; section: {name}",
                loads["50x50"].median <= EVEN if "50x50" in loads else None,
                f"busiest over mean {told}",
            )
        )
        if "50x50" in copies and "4x4" in copies:
            times = ratio(copies["50x50"], copies["4x4"])
            judgements.append(
                Judgement(
                    "3.3.2",
                    f"fine chunks cost more rearranging than natural ones; section: {name}",
                    is_slower(copies["4x4"], copies["50x50"]),
                    f"{times:.2f} times the gathering: "
                    + ", ".join(f"{k}: {v.text('.1f', 1e3)} ms" for k, v in copies.items()),
                )
            )
    return judgements


def of_levels(results: Results, figure: Figure, section: str) -> dict[str, Values]:
    """Return the values for writing, by the number of chunks."""
    return {
        counts: values
        for counts in results.levels("chunk-counts")
        if (values := results.values(figure, "write", section=section, chunk_counts=counts))
    }


def buffers(results: Results, apart: bool) -> list[Judgement]:
    """Judge section 3.3.3: write rates over the size of the buffers."""
    found = {
        size: values
        for size in sorted(results.levels("buffer"))
        if (values := results.values(rate, "write", buffer=size))
    }
    if BUFFER not in found or len(found) < 2:
        return []
    small = found[BUFFER]
    large = max((v for k, v in found.items() if k > BUFFER), key=lambda v: v.median)
    told = ", ".join(f"{k >> 10} KiB: {v.text('.1f', MEGABYTE)} MB/s" for k, v in found.items())
    fastest = max(values.median for values in found.values())
    return [
        Judgement(
            "3.3.3",
            "buffers of 512 KB are enough where each I/O node has its own storage",
            small.median >= SLOWER * fastest if apart else None,
            told,
        ),
        Judgement(
            "3.3.3",
            "buffers of 2 MB and more are faster than 512 KB on shared storage",
            is_slower(small, large) if not apart else None,
            told,
        ),
    ]


def sections(whole: Results, half: Results) -> list[Judgement]:
    """Judge section 3.2: shares of the peak, and the section's share over the whole array's."""
    judgements = []
    for direction in ("write", "read"):
        entire = whole.values(share_of_peak, direction, aggregators=4, buffer=BUFFER)
        if entire is None:
            continue
        judgements.append(
            Judgement(
                "3.2",
                f"the whole array reaches {PAPER_WHOLE:.2f} of the peak, {direction}",
                entire.median >= PAPER_WHOLE,
                entire.text(".2f"),
            )
        )
        for section in half.levels("section"):
            part = half.values(share_of_peak, direction, section=section, chunk_counts="50x50")
            if part is None:
                continue
            name = "middle columns" if is_columns(section) else "the middle"
            told = f"{part.text('.2f')}, {ratio(part, entire):.2f} of the whole array's"
            judgements.append(
                Judgement(
                    "3.2",
                    f"a nonaligned half reaches {PAPER_SECTION:.2f} of the peak, {direction}; "
                    f"section: {name}",
                    part.median >= PAPER_SECTION,
                    told,
                )
            )
            judgements.append(
                Judgement(
                    "3.2",
                    f"a nonaligned half reaches less than the whole, {direction}; section: {name}",
                    is_slower(part, entire),
                    told,
                )
            )
    return judgements


def is_columns(section: str) -> bool:
    """Return whether a section has all rows except the outermost."""
    return section.startswith("1:")
