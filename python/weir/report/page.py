"""The page: one self-contained HTML file with style and script, no network, and no random ids.

Drawings are SVG made here rather than plots of a JavaScript library. Plotly's script alone takes
4.8 MB per file, a hundred times the data of a run. Its charts appear late, print in their present
screen size, and keep their colours when the page becomes dark. SVG needs no script, prints as
vectors, takes its colours from the style sheet, and each mark has its exact value.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from weir.analysis.flagfile import polled_listing
from weir.analysis.imported import imported_listing
from weir.analysis.messages import messages_listing
from weir.analysis.outputs import outputs_listing
from weir.analysis.sink import sink_listing
from weir.report import (
    arrays,
    comparison,
    environment,
    expectation,
    findings,
    headline,
    latency,
    listing,
    metadata,
    nodes,
    opening,
    overlap,
    rank_map,
    ranks,
    rates,
    runs_index,
    sink,
    spectrum,
    tails,
    targets,
    trace,
    trust,
)
from weir.report.markup import Markup, element, join
from weir.report.quantities import plural
from weir.report.sources import Source
from weir.report.wording import badge, overall_word
from weir.results.schema import Run

Section = tuple[str, str, Markup]
"""Anchor, title and content."""
MOST_COMPARED = 100
"""Of more configurations, a page over many runs compares those that were run last."""

HATCH = Markup(
    '<svg class="definitions" width="0" height="0" aria-hidden="true"><defs>'
    '<pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="4" height="4" class="hatch-ground"/>'
    '<rect width="1.4" height="4" class="hatch-line"/></pattern></defs></svg>'
)


def render_page(sources: list[Source]) -> str:
    """Returns the whole file; sources are one run, or several runs to be compared."""
    title = _title(sources)
    machine = environment.shared_machine(sources) if len(sources) > 1 else None
    shown = [source for source in sources if source.is_within]
    sections = {source.anchor: _sections(source, machine is None) for source in shown}
    is_index = runs_index.is_of_several_jobs(sources)
    return document(
        title,
        _navigation(sources, sections, machine is not None),
        _main(sources, sections, title, machine),
        is_index=is_index,
    )


def document(title: str, navigation: Markup, main: Markup, *, is_index: bool = False) -> str:
    """Returns a whole file with its navigation and its main part.

    An index of runs is as wide as the page, under its navigation.
    """
    style = _resource("style.css")
    scripts = ["page.js", "zoom.js"] + (["runs_index.js"] if is_index else [])
    script = "".join(_resource(name) for name in scripts)
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title} \u2013 Weir report"),
        element("style", Markup(style)),
    )
    body = element(
        "body",
        element("a", "Skip to the result", href="#result", class_="skip"),
        HATCH,
        _masthead(),
        element("div", navigation, main, class_="layout index-page" if is_index else "layout"),
        element("script", Markup(script)),
    )
    return "<!DOCTYPE html>\n" + element("html", head, body, lang="en") + "\n"


def _resource(name: str) -> str:
    return files("weir.report").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _title(sources: list[Source]) -> str:
    if len(sources) == 1:
        return sources[0].run.label
    workloads = sorted({source.run.workload for source in sources})
    return f"{plural(len(sources), 'run')} of {', '.join(workloads)}"


def _masthead() -> Markup:
    mark = Markup(
        '<svg width="26" height="18" viewBox="0 0 26 18" aria-hidden="true">'
        '<path class="mark-line" d="M1 5h9v8h6v-8h9"/>'
        '<path class="mark-water" d="M1 16q3-3 6 0t6 0t6 0t6 0"/></svg>'
    )
    return element("header", mark, element("span", "Weir", class_="wordmark"), class_="masthead")


def _has_transfers(source: Source) -> bool:
    """Returns whether the run moves bytes; otherwise it has no events and no times by rank."""
    return source.events is not None or bool(source.run.plan.phases)


def _over_time(source: Source) -> Markup:
    store = source.events
    return join(trace.render_traces(source), rank_map.render(store) if store else None)


def _sections(source: Source, with_machine: bool) -> list[Section]:
    """Returns anchor, title and content of each part of a run, without parts that have no data."""
    run = source.run
    own = run.imported is None
    parts: list[tuple[str, str, Markup | None]] = [
        ("spectrum", "What was computed", spectrum.render(source)),
        ("findings", "Found, ruled out, and the next test", findings.render(source)),
        (
            "trace",
            "Trace by rank and time",
            _over_time(source) if _has_transfers(source) else None,
        ),
        ("rates", "Rates and their spread", rates.render(source)),
        (
            "imported",
            "What the other program states",
            listing.render(imported_listing([run]), skipped=1),
        ),
        ("metadata", "Metadata operations", metadata.render(source)),
        ("opening", "Creating and opening", opening.render(source)),
        ("array", "What the array cost", arrays.render(source)),
        (
            "outputs",
            "What the program observes of its output",
            listing.render(outputs_listing([run]), skipped=1),
        ),
        ("sink", "What the route took", listing.render(sink_listing([run]), skipped=1)),
        (
            "messages",
            "Messages and I/O at the same time",
            listing.render(messages_listing(_with_sibling(source)), skipped=1),
        ),
        ("hidden", "What was hidden", overlap.render(source)),
        ("tail", "Who was done when", tails.render(source)),
        ("latency", "Latency", latency.render(source)),
        ("ranks", "Ranks", ranks.render(source) if _has_transfers(source) else None),
        ("nodes", "Nodes", nodes.render(run)),
        ("targets", "Targets, servers and links", targets.render(source)),
        ("expectation", "Expectation", expectation.render(source) if own else None),
        ("trust", "Can this be relied on?", trust.render(source)),
        ("environment", "Environment", environment.render(source, machine=with_machine)),
    ]
    return [
        (f"{source.anchor}-{name}", title, content)
        for name, title, content in parts
        if content is not None
    ]


def _with_sibling(source: Source) -> list[Run]:
    return [run for run in (source.run, source.synchronous_sibling) if run is not None]


def _run_content(source: Source, sections: list[Section], heading: str) -> Markup:
    """Returns the failure first, then the headline, then sections with headings of that level."""
    blocks = [
        element(
            "section",
            element(heading, title, id=f"{anchor}-title"),
            content,
            id=anchor,
            aria_labelledby=f"{anchor}-title",
            class_="part",
        )
        for anchor, title, content in sections
    ]
    return join(
        headline.failure_banner(source),
        headline.render(source),
        headline.warnings(source),
        blocks,
    )


def _main(
    sources: list[Source],
    sections: dict[str, list[Section]],
    title: str,
    machine: Markup | None,
) -> Markup:
    if len(sources) == 1:
        source = sources[0]
        content = join(
            element("h1", element("bdi", title), " ", badge(overall_word(source.run))),
            headline.facts(source),
            _run_content(source, sections[source.anchor], "h2"),
        )
        return element("main", content, id="result", tabindex="-1", data_run=source.anchor)
    ordered = _ordered_within(sources)
    runs = [_folded_run(source, sections[source.anchor]) for source in ordered]
    of_several_jobs = runs_index.is_of_several_jobs(sources)
    return element(
        "main",
        element("h1", title),
        headline.shared_facts(sources),
        _index(sources) if of_several_jobs else _comparison(sources, comparison.render(sources)),
        element("h2", "The runs, one by one", class_="screen-only") if runs else None,
        runs,
        _machine_section(machine) if machine is not None else None,
        id="result",
        tabindex="-1",
    )


def _index(sources: list[Source]) -> Markup:
    """Returns the list of runs of several jobs, with what compares them below it.

    If the page does not contain the runs, the newest one of each configuration is compared.
    """
    rows = runs_index.rows_of(sources)
    listed = runs_index.render(sources, rows)
    if all(source.is_within for source in sources):
        return join(listed, _comparison(sources, comparison.tables(sources)))
    newest = [row.sources[0] for row in rows]
    compared = newest[:MOST_COMPARED]
    which = "the newest run of each configuration"
    if len(newest) > len(compared):
        which += f", of the {len(compared)} configurations that were run last"
    summary = element(
        "summary",
        element("h2", "Measured beside expected"),
        element("p", which, class_="note"),
    )
    shown = _comparison(compared, comparison.tables(compared))
    return join(listed, element("details", summary, shown, class_="more", id="compared"))


def _comparison(sources: list[Source], rates_and_verdicts: Markup | None) -> Markup:
    runs = [source.run for source in sources]
    return element(
        "section",
        rates_and_verdicts,
        opening.compare(sources),
        listing.render(polled_listing(runs), titled=True),
        listing.render(outputs_listing(runs), titled=True),
        sink.compare(runs),
        listing.render(messages_listing(runs), titled=True),
        listing.render(
            imported_listing([one.run for one in sources if one.is_within]), titled=True
        ),
        _next(sources),
        aria_label="Comparison",
        id="comparison",
    )


def _next(sources: list[Source]) -> Markup | None:
    tests = findings.next_tests([source.run for source in sources])
    return join(element("h2", "The next test"), tests) if tests is not None else None


def _ordered_within(sources: list[Source]) -> list[Source]:
    """Returns the runs within the page, in the order of the tables that compare them."""
    groups = comparison.grouped_by_metric(sources)
    return [source for _, group in groups for source in group if source.is_within]


def _machine_section(machine: Markup) -> Markup:
    heading = element("h2", "The machine of all runs", id="machine-title")
    return element(
        "section", heading, machine, id="machine", class_="part", aria_labelledby="machine-title"
    )


def _folded_run(source: Source, sections: list[Section]) -> Markup:
    """Returns a run that can be opened; printing and links to its parts open it."""
    summary = element(
        "summary",
        element("h3", element("bdi", source.run.label)),
        " ",
        badge(overall_word(source.run)),
    )
    return element(
        "details",
        summary,
        headline.facts(source),
        _run_content(source, sections, "h4"),
        id=source.anchor,
        class_="run",
        data_run=source.anchor,
    )


def _navigation(
    sources: list[Source], sections: dict[str, list[Section]], has_machine: bool
) -> Markup:
    if len(sources) == 1:
        links: list[tuple[str, str, str | None]] = [("result", "Result", None)]
        links += [(anchor, title, None) for anchor, title, _ in sections[sources[0].anchor]]
        label = "Parts of this report"
    else:
        label = "Runs in this report"
        if runs_index.is_of_several_jobs(sources):
            links = [("runs", "Runs", None), ("comparison", "Comparison", None)]
        else:
            links = [("comparison", "Comparison", None)]
            links += [
                (s.anchor, s.run.label, overall_word(s.run)) for s in _ordered_within(sources)
            ]
        links += [("machine", "Machine", None)] if has_machine else []
    items = [
        element(
            "li",
            element(
                "a",
                badge(word, sign_only=True) if word else None,
                element("bdi", title),
                href=f"#{anchor}",
            ),
        )
        for anchor, title, word in links
    ]
    return element("nav", element("ol", *items), aria_label=label)
