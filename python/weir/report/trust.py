"""Whether the figures are reliable: payload, storage or memory, clocks, spread, quiet."""

from __future__ import annotations

from collections import Counter
from statistics import median

from weir.report.chart import table
from weir.report.markup import Child, Markup, element, join
from weir.report.quantities import (
    grouped,
    nanoseconds_text,
    percent_text,
    plural,
    size,
    size_text,
)
from weir.report.sources import Source, measured
from weir.report.wording import CACHE_TEXT, DIRECTION_NOUN, measured_directions, sentence_case
from weir.results.figures import headlines_of
from weir.results.monitor_records import Others
from weir.results.quantities import phase_name
from weir.results.schema import CacheState, Clocks, PayloadError, Quiet, Run
from weir.results.served_by import served_by

GOOD, DOUBT, BAD = "good", "doubt", "bad"
SIGN = {GOOD: "\u2713", DOUBT: "!", BAD: "\u2715"}
WORD = {GOOD: "yes", DOUBT: "not sure", BAD: "no"}
ERROR_ROWS = 32


def render(source: Source) -> Markup:
    run = source.run
    lines = []
    if run.imported is not None:
        lines.append(_line(DOUBT, "Not measured by Weir.", run.imported.note))
    lines += [_payload(run), *_storage(run), _clock(run.clocks), *_settled(run)]
    if run.environment is not None:
        lines.append(_quiet(run.environment.quiet))
    if run.monitor is not None:
        lines.append(_others(run.monitor.others))
    return join(
        element("ul", *lines, class_="checks"),
        _payload_errors(run.verification.errors),
        _evidence(run),
    )


def _line(state: str, name: str, *said: Child) -> Markup:
    sign = element("span", SIGN[state], class_="sign", aria_label=WORD[state], role="img")
    return element(
        "li", sign, " ", element("strong", name), " ", *said, class_=state, data_check=state
    )


def _payload(run: Run) -> Markup:
    verification = run.verification
    if run.imported is not None:
        return _line(DOUBT, "Payload: not known.", f"{sentence_case(verification.how)}.")
    if not verification.performed:
        return _line(DOUBT, "Payload not verified.", "What was read back was not checked.")
    if verification.items_verified and not verification.errors:
        looked = plural(verification.items_verified, "item")
        return _line(GOOD, "Items right.", f"{looked} looked at: {verification.how}.")
    if verification.bytes_verified == 0 and not verification.errors:
        return _line(DOUBT, "Payload not verified.", "Nothing had been read back.")
    kind = f"seed {verification.seed}, {verification.compressible_percent} % compressible"
    if verification.errors:
        number = plural(len(verification.errors), "error")
        return _line(BAD, f"Payload wrong: {number}.", f"{verification.how} ({kind}).")
    read = join(size(verification.bytes_verified), " compared")
    return _line(GOOD, "Payload right.", read, f", no error: {verification.how} ({kind}).")


def _storage(run: Run) -> list[Markup]:
    lines = []
    for direction in measured_directions(run):
        verdict = served_by(run, direction)
        if verdict is not None:
            state = GOOD if verdict == "storage" else DOUBT
            noun = DIRECTION_NOUN[direction]
            said = "Evidence below." if run.imported is None else "The output does not state it."
            lines.append(_line(state, f"{noun}: {CACHE_TEXT[verdict]}.", said))
    return lines


def _clock(clocks: Clocks | None) -> Markup:
    if clocks is None:
        return _line(DOUBT, "Clocks not compared.", "No offsets between hosts were recorded.")
    bound = nanoseconds_text(clocks.error_bound_ns)
    share = percent_text(clocks.error_fraction_of_span)
    said = (
        f"{clocks.source}: known to within \u00b1 {bound}, {share} of the shortest measured span, "
        f"{nanoseconds_text(clocks.measured_span_ns)}; largest offset from rank 0: "
        f"{nanoseconds_text(abs(clocks.max_offset_ns))}."
    )
    if clocks.flagged:
        return _line(BAD, "Clocks too uncertain: over 1 % of the measured time.", said)
    return _line(GOOD, "Clocks agree.", said)


def _settled(run: Run) -> list[Markup]:
    lines = []
    for figure in sorted(headlines_of(run), key=lambda one: one.direction == "read"):
        series = figure.series
        if not series.values or not series.median:
            continue
        width = percent_text((series.high - series.low) / 2 / series.median)
        said = (
            f"{plural(len(series.values), 'repetition')}; interval of the median \u00b1 {width} at "
            f"{series.confidence * 100:.0f} % confidence."
        )
        noun = DIRECTION_NOUN[figure.direction] if figure.direction else figure.name
        state, word = (GOOD, "settled") if series.converged else (DOUBT, "did not settle")
        lines.append(_line(state, f"{noun}: the median {word}.", said))
    return lines


def _quiet(quiet: Quiet) -> Markup:
    load = f"Load {quiet.load_before:.2f} before, {quiet.load_after:.2f} after"
    text = f"{load}; {quiet.text}."
    if quiet.quiet:
        return _line(GOOD, "The system was quiet.", text)
    return _line(DOUBT, "The system was not quiet.", text)


def _others(others: Others) -> Markup:
    name = {
        "quiet": "The file system was quiet.",
        "not quiet": "The file system was not quiet.",
        "not known": "It is not known whether the file system was quiet.",
    }[others.verdict]
    text = others.text[0].upper() + others.text[1:]
    return _line(GOOD if others.verdict == "quiet" else DOUBT, name, f"{text}.")


def _payload_errors(errors: list[PayloadError]) -> Markup | None:
    if not errors:
        return None
    rows = [
        [
            error.kind.replace("_", " "),
            element("bdi", error.file),
            element("data", grouped(error.offset_bytes), value=str(error.offset_bytes)),
            str(error.rank),
            f"{error.repetition} {error.function}",
            size_text(error.bytes_wrong),
            element("span", error.text, class_="prose"),
        ]
        for error in errors[:ERROR_ROWS]
    ]
    head = ["Kind", "File", "Offset, bytes", "Rank", "Repetition", "Wrong", "What"]
    said = "Errors of the payload"
    if len(errors) > ERROR_ROWS:
        said += f", the first {ERROR_ROWS} of {len(errors)}"
    return table(head, rows, caption=said)


def _evidence(run: Run) -> Markup | None:
    """Returns, per phase, the verdicts of all repetitions and the evidence of the typical one."""
    repetitions = measured(run)
    if not repetitions:
        return None
    middle = median([repetition.seconds for repetition in repetitions])
    typical = min(repetitions, key=lambda r: (abs(r.seconds - middle), r.index))
    rows = []
    for phase in typical.phases:
        name = (phase.function, phase.direction)
        verdicts = Counter(
            other.cache.verdict
            for repetition in repetitions
            for other in repetition.phases
            if (other.function, other.direction) == name
        )
        said = ", ".join(
            word if len(verdicts) == 1 else f"{word} in {number}"
            for word, number in verdicts.most_common()
        )
        rows.append([phase_name(phase.function, phase.direction), said, _facts(phase.cache)])
    if not rows:
        return None
    head = ["Phase", "Served by", f"Evidence, repetition {typical.index}"]
    caption = "Storage or memory: the evidence"
    return table(head, rows, caption=caption, numeric_from=3, titled=True)


def _facts(cache: CacheState) -> Markup:
    if not cache.evidence:
        return element("span", "none", class_="none")
    items = []
    for evidence in cache.evidence:
        share = None
        if evidence.storage_fraction is not None:
            share = f"; by this {percent_text(evidence.storage_fraction)} from storage"
        kind = element("span", evidence.kind.replace("_", " "), class_="kind")
        items.append(element("li", kind, ": ", evidence.text, share))
    return element("ul", *items, class_="prose")
