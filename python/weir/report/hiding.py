"""Draws EAAR over the busy-work exponent, with synchronous bounds (Borrill et al., figure 7)."""

from __future__ import annotations

from collections.abc import Sequence

from weir.analysis.campaign_summary import Effective
from weir.analysis.hiding import (
    BLAS2,
    BLAS3,
    ENOUGH,
    AtExponent,
    Hides,
    hidden_share,
    where_it_hides,
)
from weir.report.chart import FULL_WIDTH, figure, table
from weir.report.factor_charts import TOO_UNLIKE
from weir.report.line_chart import Mark, Point, Rule, Series, legend, line_chart
from weir.report.markup import Markup, element, join
from weir.report.quantities import NO_VALUE, percent_text, rate, rate_range_text
from weir.results.campaign import Campaign, CampaignFactor
from weir.results.expectations import Direction

EXPONENT = "busy-work-exponent"
Found = dict[Direction, tuple[Hides, list[Effective]]]
"""For one configuration, by direction: the exponent from which its I/O hides, and its rates."""


def exponent_factor(campaign: Campaign) -> CampaignFactor | None:
    """Returns the factor that varies the busy work and has more than one level, or None."""
    return next(
        (f for f in campaign.factors if EXPONENT in f.names and len(f.levels) > 1),
        None,
    )


def hiding_of(
    campaign: Campaign, effective: Sequence[Effective]
) -> dict[tuple[str, Direction], tuple[Hides, list[Effective]]]:
    """Returns, by configuration and direction, where I/O hides, and the rates that show it."""
    groups: dict[tuple[str, Direction], list[Effective]] = {}
    for entry in effective:
        combination = campaign.combinations[entry.combination]
        known = entry.synchronous is not None and entry.ceiling is not None
        if entry.direction is None or not known or EXPONENT not in combination:
            continue
        others = [f"{n} {v}" for n, v in combination.items() if n != EXPONENT]
        groups.setdefault((", ".join([entry.label, *others]), entry.direction), []).append(entry)
    found = {}
    for key, entries in groups.items():
        points = [_at(campaign, entry) for entry in entries]
        found[key] = (where_it_hides(points), entries)
    return found


def _at(campaign: Campaign, entry: Effective) -> AtExponent:
    assert entry.synchronous is not None
    assert entry.ceiling is not None
    exponent = float(campaign.combinations[entry.combination][EXPONENT])
    return AtExponent(
        exponent, entry.median, entry.low, entry.high, entry.synchronous, entry.ceiling
    )


def render(campaign: Campaign, effective: Sequence[Effective]) -> Markup | None:
    """Returns one figure per configuration with reads and writes; None without such a factor."""
    if exponent_factor(campaign) is None:
        return None
    found = hiding_of(campaign, effective)
    if not found:
        return None
    configurations = list(dict.fromkeys(name for name, _ in found))
    return join(
        element(
            "p",
            f"I/O is said to hide where at least {percent_text(ENOUGH)} of what can be hidden is: "
            "all of a function\u2019s transfers but one of NBIN, as the first read and the last "
            "write have no computation beside them. ",
            _sentences(found),
        ),
        *(
            _figure(campaign, name, panel)
            for name in configurations
            for panel in _panels({d: v for (n, d), v in found.items() if n == name})
        ),
    )


def _panels(found: Found) -> list[Found]:
    """Splits directions into two drawings if rates of memory would dwarf those of the other."""
    tops = {
        direction: max(e.ceiling or e.median for e in entries)
        for direction, (_, entries) in found.items()
    }
    if len(tops) == 2 and max(tops.values()) > TOO_UNLIKE * min(tops.values()):
        return [{direction: found[direction]} for direction in found]
    return [found]


def _sentences(
    found: dict[tuple[str, Direction], tuple[Hides, list[Effective]]],
) -> list[Markup]:
    return [
        join(element("strong", f"{name}, {direction}: {hides.text()}"), ". ")
        for (name, direction), (hides, _) in found.items()
    ]


def _figure(campaign: Campaign, name: str, found: Found) -> Markup:
    series, rules = [], []
    marks = _of_kernels([e for _, entries in found.values() for e in entries], campaign)
    for direction, (hides, entries) in found.items():
        at = {e.combination: float(campaign.combinations[e.combination][EXPONENT]) for e in entries}
        points = [Point(at[e.combination], e.median, e.low, e.high) for e in entries]
        expected = [
            Point(at[e.combination], e.expected.value, e.expected.low, e.expected.high)
            for e in entries
            if e.expected is not None
        ]
        series.append(Series(f"EAAR, {direction}", direction, 0, points, expected))
        ceilings = [(at[e.combination], e.ceiling) for e in entries if e.ceiling is not None]
        plain = [(at[e.combination], e.synchronous) for e in entries if e.synchronous is not None]
        rules.append(Rule(f"sync {direction} \u00d7 NBIN", direction, ceilings, "dash-dotted"))
        rules.append(Rule(f"sync {direction}", direction, plain))
        if hides.exponent is not None:
            marks.append(
                Mark(
                    hides.exponent,
                    hides.low,
                    hides.high,
                    direction,
                    f"{direction} hides at {hides.exponent:.3g}",
                )
            )
    image = line_chart(
        EXPONENT,
        "busy-work exponent \u03b1 (NPIX^2\u03b1 operations per transfer)",
        series,
        rules=rules,
        marks=marks,
        description="EAAR over the busy-work exponent. "
        + "; ".join(f"{d}: {hides.text()}" for d, (hides, _) in found.items()),
    )
    caption = join(
        element("strong", "Effective rate (EAAR) over the busy-work exponent"),
        " \u2013 ",
        element("bdi", name),
        ". Beside it the synchronous rate of the same job and its NBIN multiple, the most that "
        "hiding can give; dashed, what was expected beforehand. An exponent of 1 is the work of "
        "BLAS 2 for a matrix, 1.5 that of BLAS 3.",
    )
    return figure(
        f"hiding-{'-'.join(found)}",
        caption,
        image,
        legend=legend(series, rules),
        table=_table(campaign, found),
        width=FULL_WIDTH,
    )


def _of_kernels(entries: Sequence[Effective], campaign: Campaign) -> list[Mark]:
    """Returns the marks of the work of BLAS 2 and BLAS 3 that are among the exponents."""
    exponents = [float(campaign.combinations[e.combination][EXPONENT]) for e in entries]
    kernels = [(BLAS2, "BLAS 2"), (BLAS3, "BLAS 3")]
    return [
        Mark(at, None, None, "note", name)
        for at, name in kernels
        if min(exponents) <= at <= max(exponents)
    ]


def _table(campaign: Campaign, found: Found) -> Markup:
    rows = []
    for direction, (_, entries) in found.items():
        for e in entries:
            share = (
                percent_text(hidden_share(e.median, e.synchronous, e.ceiling))
                if e.synchronous is not None and e.ceiling is not None
                else NO_VALUE
            )
            rows.append(
                [
                    f"{campaign.combinations[e.combination][EXPONENT]}",
                    direction,
                    rate(e.median),
                    rate_range_text(e.low, e.high),
                    rate(e.expected.value) if e.expected else NO_VALUE,
                    rate(e.synchronous),
                    rate(e.ceiling),
                    share,
                ]
            )
    head = ["\u03b1", "", "EAAR", "interval", "expected", "synchronous", "\u00d7 NBIN", "hidden"]
    return table(head, rows, caption="EAAR over the busy-work exponent", numeric_from=2)
