"""Draws a figure of one configuration over the months, with its lasting changes."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import UTC, datetime

from weir.analysis.history import Change, History
from weir.report.chart import HALF_WIDTH, LinearScale, bottom_axis, drawing, figure, line, text
from weir.report.markup import Markup, element, join
from weir.report.quantities import PER_SECOND, RATE_UNITS, TIME_UNITS, fitting_unit
from weir.report.wording import sentence_case

WIDTH, HEIGHT = HALF_WIDTH, 190.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 12.0, 26.0, 40.0
LEAST_DRAWN = 3
"""Fewer runs are not drawn."""
FEW, LARGE, SMALL = 40, 4.0, 2.4
"""Up to so many runs have points of the first radius, more the second."""
ROOM = 1.1
"""The vertical axis ends so far above the largest value."""
UNITS = {"bytes/s": RATE_UNITS, "1/s": PER_SECOND, "s": TIME_UNITS}
SPARK_WIDTH, SPARK_HEIGHT = 104.0, 22.0
MINUTE, HOUR, DAY = 60, 3600, 86400
STEPS = (
    *(count * MINUTE for count in (1, 2, 5, 10, 15, 30)),
    *(count * HOUR for count in (1, 2, 3, 6, 12)),
    *(count * DAY for count in (1, 2, 4, 7, 14)),
)
MONTHS = (1, 2, 3, 6, 12, 24, 60, 120)
LABELS = 6
DAYS_WITH_CLOCK, DAYS_WITH_DAY = 2, 120
"""Over so many days the axis names hours and days, over so many days, else months."""


def render(history: History) -> Markup | None:
    """Returns the chart with its changes in words; None if there are too few runs."""
    if len(history.runs) < LEAST_DRAWN:
        return None
    sentences = [
        element("span", f" {sentence_case(one.text)}.", data_change=one.lasting.kind)
        for one in history.changes
    ]
    caption = join(
        element("strong", f"{sentence_case(history.figure)} over time"),
        ": the median of each run.",
        *sentences,
    )
    return figure(f"history-{history.figure}", caption, _drawn(history), width=WIDTH)


def _drawn(history: History) -> Markup:
    moments = [_seconds_of(run.started_utc) for run in history.runs]
    across = LinearScale(min(moments), max(moments), LEFT + 8, WIDTH - RIGHT - 8)
    unit = fitting_unit(UNITS[history.unit], max(history.values))
    up = LinearScale(0, max(history.values) * ROOM, HEIGHT - BOTTOM, TOP)
    parts: list[Markup] = [text(LEFT - 8, 12, unit.name, class_="tick", anchor="end")]
    for value, label in up.ticks_in(unit, 4):
        parts.append(line(LEFT, up(value), WIDTH - RIGHT, up(value), "grid"))
        parts.append(text(LEFT - 8, up(value) + 4, label, class_="tick", anchor="end"))
    title, labels = date_ticks(min(moments), max(moments))
    parts.append(bottom_axis(across, HEIGHT - BOTTOM, labels, title))
    colour = _colour(history)
    radius = LARGE if len(moments) <= FEW else SMALL
    for moment, value, run in zip(moments, history.values, history.runs, strict=True):
        tip = f"{run.started_utc[:16].replace('T', ' ')}: {unit.text(value)}"
        parts.append(
            element(
                "circle",
                cx=across(moment),
                cy=up(value),
                r=radius,
                class_=f"point {colour}",
                data_tip=tip,
                data_value=repr(value),
            )
        )
    for place, change in enumerate(history.changes):
        parts += _change(change, moments, across, up, place)
    words = "; ".join(one.text for one in history.changes) or "no lasting change was found"
    said = f"{history.name}: medians of {len(history.runs)} runs by time; {words}"
    return drawing(WIDTH, HEIGHT, said, parts)


def _change(
    change: Change, moments: list[float], across: LinearScale, up: LinearScale, place: int
) -> Iterator[Markup]:
    """Draws the levels before and after a step with its date, or the line of a drift."""
    one = change.lasting
    first, last = across(moments[one.first]), across(moments[one.end - 1])
    if one.kind == "drift":
        at = (first + last) / 2
        yield line(first, up(one.before), last, up(one.after), "level")
    else:
        # The change lies between two runs, of which the second is the first after it.
        at = (across(moments[one.at - 1]) + across(moments[one.at])) / 2
        yield line(at, TOP - 6, at, up.start, "changed")
        yield line(first, up(one.before), at, up(one.before), "level")
        yield line(at, up(one.after), last, up(one.after), "level")
    anchor = "end" if at > WIDTH / 2 else "start"
    beside = at - 5 if anchor == "end" else at + 5
    said = f"{one.ratio:.2f} since {change.since_utc[:10]}"
    yield text(beside, TOP - 4 + 13 * place, said, class_="tick halo", anchor=anchor)


def sparkline(history: History) -> Markup | None:
    """Returns the medians by time as one small line, with a mark at each step; None if few."""
    if len(history.runs) < LEAST_DRAWN:
        return None
    moments = [_seconds_of(run.started_utc) for run in history.runs]
    across = LinearScale(min(moments), max(moments), 3, SPARK_WIDTH - 3)
    up = LinearScale(0, max(history.values) * ROOM, SPARK_HEIGHT - 1, 1)
    places = [
        f"{across(moment):.1f} {up(value):.1f}"
        for moment, value in zip(moments, history.values, strict=True)
    ]
    steps = [
        line(across(moments[at]), 0, across(moments[at]), SPARK_HEIGHT, "changed")
        for at in (one.lasting.at for one in history.changes if one.lasting.kind == "step")
    ]
    path = element("path", d="M" + "L".join(places), class_=f"monitored {_colour(history)}-line")
    said = (
        f"{history.figure}: {', '.join(one.text for one in history.changes) or 'no change found'}"
    )
    return drawing(SPARK_WIDTH, SPARK_HEIGHT, said, steps, path)


def _colour(history: History) -> str:
    return history.figure if history.figure in ("read", "write") else "remap"


def _seconds_of(utc: str) -> float:
    try:
        return datetime.fromisoformat(utc).astimezone(UTC).timestamp()
    except ValueError:  # An imported run has the time that another program printed.
        return 0.0


def date_ticks(low: float, high: float) -> tuple[str, list[tuple[float, str]]]:
    """Returns the title of an axis of times in seconds since 1970, and its places with labels."""
    span = high - low
    first, last = (datetime.fromtimestamp(one, UTC) for one in (low, high))
    if span < MINUTE:
        return "UTC", [(low, f"{first:%Y-%m-%d %H:%M:%S}")]
    step = next((one for one in STEPS if span / one <= LABELS), None)
    if step is not None:
        places = [-(-low // step) * step]
        while places[-1] + step <= high:
            places.append(places[-1] + step)
    else:
        places = list(_months(first, last))
    if span < DAYS_WITH_CLOCK * DAY:
        title, form = f"{first.day} {first:%B %Y}, UTC", "%H:%M"
    elif span < DAYS_WITH_DAY * DAY:
        title, form = "UTC" if first.year < last.year else f"{last:%Y}, UTC", "%-d %b"
    else:
        title, form = "UTC", "%b %Y"
    return title, [(one, datetime.fromtimestamp(one, UTC).strftime(form)) for one in places]


def _months(first: datetime, last: datetime) -> Iterator[float]:
    """Yields the first days of every so many months between two times."""
    months = (last.year - first.year) * 12 + last.month - first.month
    step = next((one for one in MONTHS if months / one <= LABELS), MONTHS[-1])
    year, month = first.year, 1
    while (year, month) <= (last.year, last.month):
        place = datetime(year, month, 1, tzinfo=UTC)
        if place >= first:
            yield float(calendar.timegm(place.timetuple()))
        month += step
        year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
