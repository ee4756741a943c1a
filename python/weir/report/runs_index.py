"""The index of runs of several jobs: a row for each campaign and configuration, which unfolds.

A configuration whose runs are all of one campaign, or of one job, is a row within that campaign's
row if the campaign has others; a configuration that was run again later has a row of its own. The
rows are ``details`` elements, which unfold without a script; ``runs_index.js`` filters and sorts
them by the keys that the cells have.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from weir.analysis.configurations import Configuration, configurations_of
from weir.analysis.history import History, examined_text, histories_in, is_examined
from weir.analysis.purpose import purpose_texts
from weir.analysis.spread import distances
from weir.report import history_chart
from weir.report.chart import table
from weir.report.comparison import ORDER
from weir.report.markup import Child, Markup, element, join
from weir.report.quantities import (
    NO_VALUE,
    count,
    figure_range_text,
    figure_text,
    percent_text,
    plural,
    shown,
)
from weir.report.sources import Source
from weir.report.wording import badge, memory_remark, overall_word, sentence_case
from weir.results.expectations import Direction
from weir.results.figures import Figure, headlines_of
from weir.results.machine import machine_of
from weir.results.quantities import percent_text as share_text
from weir.results.schema import Run
from weir.results.served_by import served_by

DIRECTIONS: tuple[Direction, ...] = ("write", "read")
COLUMNS = {
    "name": "Configuration",
    "runs": "Runs",
    "write": "Write",
    "write-spread": "Spread",
    "read": "Read",
    "read-spread": "Spread",
    "over-time": "Over time",
    "verdicts": "Verdicts",
    "latest": "Latest",
}
BAD = frozenset({"below", "failed", "interrupted"})
DASH, SPACE = "\u2011", "\u00a0"
"""Characters at which a line is not broken."""
MOST_CHANGES = 3
"""Of more lasting changes the newest stand above the list, and all in their rows."""
MOST_FIGURES = 4
"""A run's row has so many figures; the others are on its own page."""
OWN_PAGE = (
    "The time of a run leads to its own page, with traces and latencies; weir report FOLDER writes "
    "the page of one that has none. Spread is the mean distance from the median, in shares of it."
)


@dataclass(frozen=True)
class Row:
    """A configuration, its runs with the newest first, and its figures by time."""

    anchor: str
    configuration: Configuration
    sources: tuple[Source, ...]
    histories: tuple[History, ...]

    @property
    def latest(self) -> str:
        return self.sources[0].run.started_utc

    def history(self, direction: Direction) -> History | None:
        return next((one for one in self.histories if one.place.direction == direction), None)


@dataclass(frozen=True)
class Collection:
    """The configurations that only one campaign has, or only one job."""

    place: str
    kind: str
    rows: tuple[Row, ...]

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        return tuple(source for row in self.rows for source in row.sources)

    @property
    def latest(self) -> str:
        return max(row.latest for row in self.rows)

    @property
    def page(self) -> str | None:
        return self.sources[0].campaign_page


def is_of_several_jobs(sources: Sequence[Source]) -> bool:
    return len({source.run.started_utc for source in sources}) > 1


def rows_of(sources: Sequence[Source]) -> list[Row]:
    """Returns a row for each configuration, the one with the newest run first."""
    by_run = {id(source.run): source for source in sources}
    found = []
    for place, configuration in enumerate(configurations_of([one.run for one in sources]), 1):
        newest = reversed(configuration.runs)
        members = sorted(
            (by_run[id(run)] for run in newest),
            key=lambda one: (one.run.started_utc, one.place),
            reverse=True,
        )
        histories = tuple(histories_in(configuration))
        found.append(Row(f"configuration-{place}", configuration, tuple(members), histories))
    return sorted(found, key=lambda one: one.latest, reverse=True)


def collected(rows: Sequence[Row]) -> list[Row | Collection]:
    """Returns the rows with those that only one campaign or job has put together."""
    members: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        origins = {_origin(source) for source in row.sources}
        if len(origins) == 1:
            members[origins.pop()].append(row)
    found: list[Row | Collection] = []
    gathered: set[str] = set()
    for (kind, place), several in members.items():
        if len(several) > 1:
            ordered = sorted(several, key=lambda row: row.configuration.order)
            found.append(Collection(place.partition(" ")[2], kind, tuple(ordered)))
            gathered |= {row.anchor for row in several}
    found += [row for row in rows if row.anchor not in gathered]
    return sorted(found, key=lambda one: one.latest, reverse=True)


def _origin(source: Source) -> tuple[str, str]:
    """Returns the campaign of a run, else its job: a folder, and when its runs were started."""
    if source.campaign:
        return "campaign", f"- {source.campaign}"
    return "job", f"{source.run.started_utc} {source.place.rpartition('/')[0] or '.'}"


def render(sources: Sequence[Source], rows: Sequence[Row]) -> Markup:
    """Returns the count of verdicts, the lasting changes, and the list."""
    listed = collected(rows)
    cells = (element("span", text, data_column=name) for name, text in COLUMNS.items())
    head = element("div", *cells, class_="index-row index-head", aria_hidden="true")
    return join(
        _lead(sources, listed),
        _changes(rows),
        _filter(len(sources)),
        element(
            "div",
            head,
            *(_collection(one) if isinstance(one, Collection) else _row(one) for one in listed),
            class_="index",
            id="runs",
        ),
        element("p", OWN_PAGE, class_="note"),
    )


def _lead(sources: Sequence[Source], listed: Sequence[Row | Collection]) -> Markup:
    words = Counter(overall_word(source.run) for source in sources)
    counted = [
        element("a", badge(word, number=words[word]), href="#runs", data_filter=word)
        for word in ORDER
        if words[word]
    ]
    remarks = [memory_remark([one.run for one in sources], direction) for direction in DIRECTIONS]
    campaigns = sum(isinstance(one, Collection) for one in listed)
    rows = sum(len(one.rows) if isinstance(one, Collection) else 1 for one in listed)
    what = f"{plural(len(sources), 'run')} of {plural(rows, 'configuration')}"
    what += f", {plural(campaigns, 'campaign')} with several of them" if campaigns else ""
    return element(
        "div",
        element("p", f"{what}: ", *([one, " "] for one in counted), class_="verdicts"),
        *(element("p", one, class_="remark") for one in remarks if one),
        class_="lead",
    )


def _changes(rows: Sequence[Row]) -> Markup | None:
    """Returns the newest lasting changes in words, with links to their rows."""
    histories = [(row, one) for row in rows for one in row.histories]
    examined = sum(is_examined(one) for _, one in histories)
    if not examined:
        return None
    found = sorted(
        ((change, row, one) for row, one in histories for change in one.changes),
        key=lambda told: told[0].since_utc,
        reverse=True,
    )
    items = [
        element(
            "li",
            element("a", element("bdi", one.name), href=f"#{row.anchor}"),
            f": {change.text}.",
        )
        for change, row, one in found[:MOST_CHANGES]
    ]
    said = f"{sentence_case(examined_text(examined))}."
    more = len(found) - MOST_CHANGES
    if more > 0:
        told = f"{plural(more, 'earlier change')} {'is' if more == 1 else 'are'} told in the rows"
        said = f"{told}. {said}"
    title = "Lasting changes" if found else "No lasting change was found"
    return element(
        "section",
        element("p", title, class_="strong"),
        element("ul", *items, class_="findings") if items else None,
        element("p", said, class_="note"),
        id="changes",
        aria_label="Lasting changes",
    )


def _filter(runs: int) -> Markup:
    """Returns what only a script can do, which therefore shows it."""
    return element(
        "div",
        element(
            "input",
            type="search",
            aria_label="Show the runs that have these words",
            placeholder="workload, label, file system, verdict, date, host, folder, purpose …",
        ),
        element("output", plural(runs, "run"), aria_live="polite"),
        element("button", "Unfold all", type="button", data_fold="open"),
        element("button", "Fold all", type="button", data_fold="closed"),
        class_="filter",
        hidden=True,
    )


def _collection(one: Collection) -> Markup:
    runs = [source.run for source in one.sources]
    workloads = ", ".join(sorted({run.workload for run in runs}))
    hosts = ", ".join(dict.fromkeys(machine_of(run) for run in runs))
    name = join(
        element("strong", element("bdi", one.place.rpartition("/")[2] or one.place)),
        element(
            "span",
            f"{one.kind} of {workloads}: {plural(len(one.rows), 'configuration')} on {hosts}, ",
            element("bdi", one.place),
            class_="note",
        ),
    )
    cells: list[Markup] = []
    for direction in DIRECTIONS:
        found = [h for row in one.rows if (h := row.history(direction)) is not None]
        values = [value for history in found for value in history.values]
        said = figure_range_text(min(values), max(values), "bytes/s") if values else NO_VALUE
        content = join(said, " ", _served(runs, direction))
        cells.append(_cell(direction, content, max(values, default=-1.0), class_="wide"))
    return element(
        "details",
        _summary(name, one.place.lower(), one.sources, cells, None),
        element(
            "div",
            element("p", element("a", "The campaign's own page", href=one.page), class_="note")
            if one.page is not None
            else None,
            *(_row(row) for row in one.rows),
            class_="within",
        ),
        class_="fold collection",
    )


def _row(row: Row) -> Markup:
    drawn = next((h for d in DIRECTIONS if (h := row.history(d)) is not None), None)
    drawn = drawn or next(iter(row.histories), None)
    charts = [history_chart.render(one) for one in row.histories[:MOST_FIGURES]]
    shown_charts = [one for one in charts if one is not None]
    return element(
        "details",
        _summary(
            _name(row),
            f"{row.configuration.label} {row.configuration.ranks:9}".lower(),
            row.sources,
            _figures(row),
            history_chart.sparkline(drawn) if drawn is not None else None,
        ),
        element(
            "div",
            element("div", *shown_charts, class_="pair") if shown_charts else None,
            _runs(row),
            class_="within",
        ),
        class_="fold configuration",
        id=row.anchor,
    )


def _name(row: Row) -> Markup:
    run, known = row.sources[0].run, row.configuration
    system = run.environment.file_system if run.environment else {}
    told = [*known.distinction, known.ranks_text, f"{known.workload} on {known.machine_text}"]
    if run.imported is not None:
        told.append("imported")
    if system.get("type"):
        told.append(f"{system['type']} at {system.get('mount_point', 'an unknown place')}")
    changed = [
        element("span", f"{one.figure} {change.lasting.ratio:.2f} since {change.since_utc[:10]}")
        for one in row.histories
        for change in one.changes
    ]
    return join(
        element("strong", element("bdi", known.label)),
        element("span", element("bdi", ", ".join(told)), class_="note"),
        *(element("span", one, class_="tag") for one in changed),
    )


def _figures(row: Row) -> list[Markup]:
    """Returns median and spread of writing and reading, or of the first other figure."""
    both = [row.history(direction) for direction in DIRECTIONS]
    if not any(both):
        both = [next(iter(row.histories), None), None]
    cells = []
    for name, one in zip(DIRECTIONS, both, strict=True):
        values = [] if one is None else one.values
        median = statistics.median(values) if values else -1.0
        cells.append(_cell(name, _median(one), median))
        spread = float(distances(values).mean()) if len(values) > 1 and median > 0 else None
        said = NO_VALUE if spread is None else share_text(spread, 1)
        cells.append(_cell(f"{name}-spread", said, -1.0 if spread is None else spread))
    return cells


def _median(one: History | None) -> Markup | str:
    if one is None:
        return NO_VALUE
    figure = shown(statistics.median(one.values), one.unit)
    if one.place.direction is None:
        return join(element("span", f"{one.figure} ", class_="note"), figure)
    return join(figure, " ", _served(one.runs, one.place.direction))


def _served(runs: Sequence[Run], direction: Direction) -> Markup | None:
    """Returns that memory served bytes of some runs; None if it served none."""
    served = Counter(served_by(run, direction) for run in runs)
    memory = served["memory"] + served["mixed"]
    if not memory:
        return None
    said = "memory" if memory == len(runs) else f"memory in {memory}"
    return element("span", said, class_="tag", title="what served these bytes")


def _summary(
    name: Markup,
    key: str,
    sources: Sequence[Source],
    figures: Sequence[Markup],
    drawn: Markup | None,
) -> Markup:
    words = Counter(overall_word(source.run) for source in sources)
    counted = [badge(w, number=words[w], sign_only=True) for w in ORDER if words[w]]
    bad = sum(words[word] for word in BAD) / len(sources)
    latest = max(source.run.started_utc for source in sources)
    row = element(
        "span",
        _cell("name", name, key),
        _cell("runs", count(len(sources)), float(len(sources))),
        *figures,
        element("span", drawn, data_column="over-time"),
        _cell("verdicts", join(*([one, " "] for one in counted)), bad),
        _cell("latest", _day(latest), latest),
        class_="index-row",
    )
    return element("summary", row)


def _cell(column: str, content: Child, key: str | float, class_: str | None = None) -> Markup:
    """Returns a cell with the key by which it is sorted."""
    told = key if isinstance(key, str) else f"{key:.6g}"
    return element("span", content, class_=class_, data_column=column, data_key=told)


def _runs(row: Row) -> Markup:
    figures = list(dict.fromkeys((one.place, one.figure) for one in row.histories))[:MOST_FIGURES]
    head = ["Started", "Verdict", *(sentence_case(name) for _, name in figures), "Remarks"]
    rows = []
    for source in row.sources:
        measured = {one.place: one for one in headlines_of(source.run)}
        rows.append(
            [
                _link(source),
                badge(overall_word(source.run)),
                *(_measured(measured.get(place)) for place, _ in figures),
                join(*([one, Markup("<br>")] for one in _remarks(source, row.configuration))),
            ]
        )
    return table(head, rows, caption=f"Runs of {row.configuration.label}", numeric_from=99)


def _measured(figure: Figure | None) -> Child:
    if figure is None:
        return NO_VALUE
    median, expected = figure.series.median, figure.expected and figure.expected.value
    if not expected:
        return shown(median, figure.unit)
    told = f" {percent_text(median / expected)} of {figure_text(expected, figure.unit)}"
    return join(shown(median, figure.unit), element("span", told, class_="note"))


def _remarks(source: Source, configuration: Configuration) -> Iterator[Child]:
    """Yields where a run lies, on which machine if that varies, and what is to be known of it."""
    run = source.run
    where = machine_of(run)
    yield element("span", element("bdi", source.place), class_="note")
    if where != configuration.machine:
        yield f"on {where}"
    for direction in DIRECTIONS:
        if served_by(run, direction) in ("memory", "mixed"):
            yield f"{direction}: {served_by(run, direction)}"
    if run.failure is not None:
        yield run.failure.message
    if run.environment is not None and not run.environment.quiet.quiet:
        yield run.environment.quiet.text
    yield from run.warnings
    yield from purpose_texts(run)


def _link(source: Source) -> Markup:
    moment = short_moment(source.run.started_utc)
    target = f"#{source.anchor}" if source.is_within else source.page
    return moment if target is None else element("a", moment, href=target)


def short_moment(utc: str) -> Markup:
    """Returns the date and the minute, which a narrow column does not break."""
    _, _, time = utc[:16].partition("T")
    said = f"{_unbroken(utc[:10])}{SPACE}{time}"
    return element("time", said, datetime=utc, title=utc)


def _day(utc: str) -> Markup:
    return element("time", _unbroken(utc[:10]), datetime=utc, title=utc)


def _unbroken(day: str) -> str:
    return day.replace("-", DASH)
