"""Tables for SQL of what is known about the path of a byte, beside runs.

``weir platform`` leaves probes, descriptions of platforms, and ledgers of how their constants were
revised; ``weir explore`` leaves a ledger in the folder of its campaign. The columns ``probe``,
``platform`` and ``campaign`` are paths, relative to the given root if they are below it, as
``runs.folder`` is. A probe, the description that was fitted to it, and the ledger of that have the
same ``platform``. Where the units of a stage differ, ``platform_stages`` also has a row for each.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from weir.results.columns import Columns, Row
from weir.results.errors import ResultError
from weir.results.exploration import LEDGER_FILE, ExplorationStep, load_steps
from weir.results.folder import RUN_FILE, load_record, read_text
from weir.results.ledger import read_ledger
from weir.results.node_differences import difference_rows, nodes_of_probe
from weir.results.platform import Platform
from weir.results.platform_file import load_platform
from weir.results.probe import Probe, Sample
from weir.results.revisions import Revision
from weir.results.store import is_store, place_at

DESCRIPTION = ".toml"
MARK = "weir-platform"
PROBE_FILE = "probe.json"
PROBE = f".{PROBE_FILE}"
REVISIONS = ".revisions.jsonl"

_TABLES = {
    "probes": Columns("""
        probe VARCHAR place, platform VARCHAR platform, measured_utc VARCHAR probe.measured_utc,
        seconds DOUBLE probe.seconds, ranks INTEGER probe.ranks, hosts INTEGER hosts,
        memory_available_bytes BIGINT probe.memory_available_bytes,
        quiet BOOLEAN probe.quiet.quiet, load_before DOUBLE probe.quiet.load_before,
        warnings VARCHAR warnings, targets JSON targets, hardware JSON hardware,
        system_software JSON system_software
    """),
    "probe_differences": Columns("""
        probe VARCHAR place, kind INTEGER difference.kind, nodes BIGINT difference.nodes,
        hosts VARCHAR difference.hosts, name VARCHAR name, value VARCHAR value,
        first_value VARCHAR first_value
    """),
    "probe_samples": Columns("""
        probe VARCHAR place, operation VARCHAR sample.operation, ranks INTEGER sample.ranks,
        operation_bytes BIGINT sample.operation_bytes, operations BIGINT sample.operations,
        directory VARCHAR sample.directory, hosts VARCHAR hosts,
        shared_directory BOOLEAN sample.shared_directory, trials INTEGER trials,
        seconds_median DOUBLE median, seconds_min DOUBLE least, seconds_max DOUBLE most,
        bytes_per_second DOUBLE rate
    """),
    "platforms": Columns("""
        platform VARCHAR place, name VARCHAR platform.name,
        measured_utc VARCHAR platform.measured_utc, hosts INTEGER platform.hosts,
        ranks_per_host INTEGER platform.ranks_per_host,
        memory_available_bytes BIGINT platform.memory_available_bytes, stages INTEGER stages,
        conditions JSON conditions, topology JSON topology, targets JSON targets
    """),
    "platform_stages": Columns("""
        platform VARCHAR place, stage VARCHAR stage.name, unit VARCHAR unit,
        kind VARCHAR stage.kind, direction VARCHAR stage.direction, routes VARCHAR routes,
        units INTEGER units, bytes_per_second DOUBLE part.rate_bytes_per_second.value,
        bytes_per_second_low DOUBLE part.rate_bytes_per_second.low,
        bytes_per_second_high DOUBLE part.rate_bytes_per_second.high,
        one_user_bytes_per_second DOUBLE part.one_user_bytes_per_second.value,
        fixed_seconds DOUBLE part.fixed_seconds.value,
        turn_seconds DOUBLE part.turn_seconds.value, sharing VARCHAR stage.sharing,
        cache_bytes BIGINT stage.cache.bytes,
        cache_bytes_per_second DOUBLE stage.cache.rate_bytes_per_second.value,
        how VARCHAR stage.how, interval_how VARCHAR stage.interval_how
    """),
    "revisions": Columns("""
        platform VARCHAR place, revision INTEGER revision.revision,
        made_utc VARCHAR revision.made_utc, how VARCHAR revision.how,
        constant VARCHAR change.constant, unit VARCHAR change.unit,
        before DOUBLE change.before.value, before_low DOUBLE change.before.low,
        before_high DOUBLE change.before.high, after DOUBLE change.after.value,
        after_low DOUBLE change.after.low, after_high DOUBLE change.after.high, runs JSON runs
    """),
    "explorations": Columns("""
        campaign VARCHAR place, step INTEGER step.step, made_utc VARCHAR step.made_utc,
        goal VARCHAR step.goal, motivation VARCHAR step.motivation, settings JSON settings,
        runs JSON runs, rate VARCHAR rate, expected DOUBLE outcome.expected.value,
        expected_low DOUBLE outcome.expected.low, expected_high DOUBLE outcome.expected.high,
        measured DOUBLE outcome.bytes_per_second, inside BOOLEAN outcome.inside,
        held_out_error DOUBLE known.held_out_error, widest DOUBLE known.widest,
        widest_at JSON widest_at
    """),
}
TABLES = {table: columns.types for table, columns in _TABLES.items()}
LONG_COLUMNS = frozenset({"targets", "hardware", "system_software", "conditions", "topology"})
"""Columns whose cells contain pages of text."""

Found = dict[str, list[Row]]


def path_files(root: Path, beside: Sequence[Path]) -> list[Path]:
    """Returns the files of these tables below ``root``, and in the folders ``beside``, each once.

    Those in run folders and below folders whose names begin with a dot are left out.
    """
    found: dict[Path, Path] = {}
    for folder in [*([] if is_store(root) else _folders_below(root)), *beside]:
        for file in sorted(folder.iterdir()) if folder.is_dir() else []:
            if _has_tables(file):
                found.setdefault(file.resolve(), file)
    return list(found.values())


def rows_of_file(root: Path, file: Path) -> Found:
    """Returns the rows of one file, by table. Raises ``ResultError`` if it is damaged."""
    if file.name == LEDGER_FILE:
        return _of_exploration(place_at(root, file.parent), load_steps(file.parent))
    if file.name.endswith(REVISIONS):
        place = place_at(root, _description_of(file, REVISIONS))
        return _of_revisions(place, read_ledger(file, Revision))
    if file.name.endswith(DESCRIPTION):
        return _of_platform(place_at(root, file), load_platform(file))
    description = _description_of(file, PROBE) if file.name.endswith(PROBE) else None
    platform = place_at(root, description) if description and description.is_file() else None
    return _of_probe(place_at(root, file), platform, load_record(file, Probe))


def _folders_below(root: Path) -> Iterator[Path]:
    for folder, subfolders, files in os.walk(root):
        if RUN_FILE in files:
            subfolders.clear()
            continue
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        yield Path(folder)


def _has_tables(file: Path) -> bool:
    if file.name in (PROBE_FILE, LEDGER_FILE):
        return True
    if file.name.endswith((PROBE, REVISIONS)):
        return not file.name.startswith(".")
    if not file.name.endswith(DESCRIPTION):
        return False
    try:
        return MARK in read_text(file)
    except ResultError:
        return False


def _description_of(file: Path, ending: str) -> Path:
    return file.with_name(file.name.removesuffix(ending) + DESCRIPTION)


def _rows(table: str, found: Iterable[dict[str, Any]]) -> list[Row]:
    return [_TABLES[table].row_of(one) for one in found]


def _of_probe(place: str, platform: str | None, probe: Probe) -> Found:
    about = {
        "place": place,
        "platform": platform,
        "probe": probe,
        "hosts": len(probe.ranks_by_host),
        "warnings": "; ".join(probe.warnings) or None,
        "targets": json.dumps([one.model_dump() for one in probe.targets]),
        "hardware": json.dumps(probe.hardware),
        "system_software": json.dumps(probe.system_software),
    }
    differences = difference_rows(nodes_of_probe(probe))
    return {
        "probes": _rows("probes", [about]),
        "probe_differences": _rows(
            "probe_differences", ({"place": place} | d for d in differences)
        ),
        "probe_samples": _rows("probe_samples", (_of_sample(place, one) for one in probe.samples)),
    }


def _of_sample(place: str, sample: Sample) -> dict[str, Any]:
    median = statistics.median(sample.seconds) if sample.seconds else None
    moved = sample.ranks * sample.operations * sample.operation_bytes
    return {
        "place": place,
        "sample": sample,
        "hosts": ", ".join(sample.hosts) or None,
        "trials": len(sample.seconds),
        "median": median,
        "least": min(sample.seconds, default=None),
        "most": max(sample.seconds, default=None),
        "rate": moved / median if moved and median else None,
    }


def _of_platform(place: str, platform: Platform) -> Found:
    about = {
        "place": place,
        "platform": platform,
        "stages": len(platform.stages),
        "conditions": json.dumps(platform.conditions),
        "topology": json.dumps(platform.topology),
        "targets": json.dumps([one.model_dump() for one in platform.targets]),
    }
    stages: list[dict[str, Any]] = []
    for stage in platform.stages:
        of_stage = {"place": place, "stage": stage, "routes": ", ".join(stage.routes)}
        stages.append({**of_stage, "part": stage, "units": stage.units})
        stages += [
            {**of_stage, "part": unit, "units": 1, "unit": unit.name}
            for unit in stage.different_units
        ]
    return {
        "platforms": _rows("platforms", [about]),
        "platform_stages": _rows("platform_stages", stages),
    }


def _of_revisions(place: str, revisions: Sequence[Revision]) -> Found:
    changes = [
        {"place": place, "revision": one, "change": change, "runs": json.dumps(change.runs)}
        for one in revisions
        for change in one.changes
    ]
    return {"revisions": _rows("revisions", changes)}


def _of_exploration(place: str, steps: Sequence[ExplorationStep]) -> Found:
    """Makes a row for each step and rate that the step measured, or that is known after it."""
    found = []
    for step in steps:
        outcomes = {one.rate: one for one in step.outcomes}
        known = {one.rate: one for one in step.known}
        for rate in dict.fromkeys([*outcomes, *known]) or [None]:
            at = known.get(rate) if rate else None
            found.append(
                {
                    "place": place,
                    "step": step,
                    "settings": json.dumps(step.settings),
                    "runs": json.dumps(step.runs),
                    "rate": rate,
                    "outcome": outcomes.get(rate) if rate else None,
                    "known": at,
                    "widest_at": json.dumps(at.widest_at) if at else None,
                }
            )
    return {"explorations": _rows("explorations", found)}
