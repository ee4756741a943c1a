"""The report of a campaign: charts over its factors, every combination, every run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from weir.analysis.campaign_summary import (
    Cell,
    cells_of,
    combinations_listing,
    constants_text,
    effective_of,
    level_text,
    replicas_of,
)
from weir.analysis.expectation_errors import expectation_errors
from weir.report import factor_charts, findings, hiding, listing, targets
from weir.report.chart import table
from weir.report.comparison import ORDER
from weir.report.markup import Markup, element, join
from weir.report.page import document
from weir.report.quantities import NO_VALUE, plural
from weir.report.wording import (
    badge,
    memory_remark,
    metric_name,
    metric_text,
    moment,
    overall_word,
    sentence_case,
)
from weir.results.campaign import Campaign, finished_runs, load_curves, run_output
from weir.results.expectations import Direction
from weir.results.schema import Run

Runs = Mapping[int, Sequence[tuple[Path, Run]]]
Section = tuple[str, str, Markup]


def render_campaign(path: Path, campaign: Campaign) -> str:
    """Renders the file for the campaign in ``path``; runs that are not done are left out."""
    finished = finished_runs(path, campaign)
    cells = cells_of(campaign, finished)
    sections = _sections(path, campaign, finished, cells)
    links = [("result", "Result")] + [(anchor, title) for anchor, title, _ in sections]
    navigation = element(
        "nav",
        element("ol", *(element("li", element("a", t, href=f"#{a}")) for a, t in links)),
        aria_label="Parts of this report",
    )
    blocks = [
        element(
            "section",
            element("h2", title, id=f"{anchor}-title"),
            content,
            id=anchor,
            aria_labelledby=f"{anchor}-title",
            class_="part",
        )
        for anchor, title, content in sections
    ]
    main = element(
        "main",
        element("h1", element("bdi", campaign.name)),
        _facts(campaign),
        element("p", campaign.description, class_="lead") if campaign.description else None,
        _lead(campaign, finished),
        blocks,
        id="result",
        tabindex="-1",
    )
    return document(campaign.name, navigation, main)


def _facts(campaign: Campaign) -> Markup:
    parts = [
        element("span", campaign.workload),
        element("span", plural(len(campaign.combinations), "combination")),
        element("span", plural(len(campaign.runs), "run")),
        element("span", f"order by seed {campaign.seed}"),
        element("span", f"scaled by {campaign.scale:g}") if campaign.scale != 1 else None,
        element("span", "begun ", moment(campaign.created_utc)),
    ]
    return element("p", *parts, class_="facts")


def _lead(campaign: Campaign, finished: Runs) -> Markup:
    words = Counter(overall_word(run) for runs in finished.values() for _, run in runs)
    counted = ", ".join(f"{words[word]} {word}" for word in ORDER if words[word])
    total = sum(words.values())
    what = "configuration" if total != len(finished) else "run"
    verdicts = join(": ", element("strong", counted or "none"))
    without = not any(run.rates for runs in finished.values() for _, run in runs)
    if without and set(words) == {"no expectation"}:
        verdicts = Markup()
    sentences = [element("p", plural(total, what), verdicts, ".")]
    missing = len(campaign.runs) - len(finished)
    if missing:
        said = f"{missing} of {plural(len(campaign.runs), 'run')} are not done yet."
        sentences.append(element("p", said, class_="remark"))
    listed: list[Direction] = ["write", "read"]
    every = [run for runs in finished.values() for _, run in runs]
    remarks = [memory_remark(every, direction) for direction in listed]
    errors = expectation_errors(found for _, found in replicas_of(campaign, finished)).text()
    if errors:
        sentences.append(element("p", errors, class_="remark"))
    sentences += [element("p", remark, class_="remark") for remark in remarks if remark]
    return element("div", *sentences, class_="lead")


def _sections(
    path: Path, campaign: Campaign, finished: Runs, cells: Sequence[Cell]
) -> list[Section]:
    sections: list[Section] = []
    hides = hiding.render(campaign, effective_of(campaign, finished))
    if hides is not None:
        sections.append(("hiding", "From which exponent on I/O hides", hides))
    if cells:
        for factor in campaign.factors:
            drawn = cells
            if hides is not None and hiding.EXPONENT in factor.names:
                # The sweep's effective rates are drawn above, with their bounds.
                drawn = [cell for cell in cells if cell.metric != "foreground"]
            if len(factor.levels) > 1 and drawn:
                what = "Times" if all(cell.unit == "s" for cell in drawn) else "Rates"
                title = f"{what} over {factor_charts.factor_title(factor)}"
                content = factor_charts.render_factor(campaign, factor, drawn, load_curves(path))
                sections.append((f"over-{'-'.join(factor.names)}", title, content))
        sections.append(("combinations", "Every combination", render_combinations(campaign, cells)))
    watched = targets.render_jobs([runs for _, runs in sorted(finished.items()) if runs])
    if watched is not None:
        sections.append(("targets", "Targets over all runs", watched))
    tests = findings.next_tests([run for runs in finished.values() for _, run in runs])
    if tests is not None:
        sections.append(("next", "The next test", tests))
    sections.append(("runs", "Every run, in its order", _runs(path, campaign, finished)))
    return sections


def render_combinations(campaign: Campaign, cells: Sequence[Cell]) -> Markup:
    """A row for each combination, direction and metric."""
    notes = [
        element("p", f"{sentence_case(metric_name(*kind))}: {metric_text(*kind)}.", class_="note")
        for kind in dict.fromkeys((cell.metric, cell.unit) for cell in cells)
    ]
    constants = constants_text(campaign)
    if constants:
        notes.append(element("p", f"In all runs: {constants}.", class_="note"))
    return join(notes, listing.render(combinations_listing(campaign, cells)))


def _runs(path: Path, campaign: Campaign, finished: Runs) -> Markup:
    names = [name for factor in campaign.factors for name in factor.names]
    rows = []
    for planned in campaign.runs:
        combination = campaign.combinations[planned.combination]
        found = finished.get(planned.number, [])
        output = run_output(path, planned.number)
        number: Markup | str = str(planned.number)
        if (output / "report.html").is_file():
            target = (output / "report.html").relative_to(path)
            number = element("a", f"{planned.number}", href=str(target))
        words = dict.fromkeys(overall_word(run) for _, run in found)
        started = min((run.started_utc for _, run in found), default=None)
        rows.append(
            [
                number,
                str(planned.block),
                *(level_text(name, combination[name]) for name in names),
                moment(started) if started else NO_VALUE,
                join(*(badge(word) for word in words)) if words else "not done",
            ]
        )
    head = ["run", "block", *names, "started", "verdict"]
    note = element(
        "p",
        "The number of a run leads to its own report, with traces and latencies.",
        class_="note",
    )
    return join(note, table(head, rows, caption="Every run", numeric_from=99))
