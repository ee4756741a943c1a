"""Finds what the components allow, beside what was calibrated on the run's own storage.

A calibration is made seconds before the run. If the whole storage has become slow, both are slow,
and the run is as calibrated; only what was known before can show it. The first of these that says
something about a rate is its a-priori bound:

    1. rates of data sheets in a description of the run's directories below ``platforms/``
    2. that description itself: a probe of another time, or written by hand
    3. calibrations of the same ranks and directory beside the run's results, and in campaigns there
    4. what the kernel tells of the device, and the rate of memory where memory serves

With ``--platform`` the description is what the run is judged by, so only its data sheets are left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from weir.bench.job import CALIBRATION_FILES, Calibrated
from weir.bench.platforms import described_here, places_of
from weir.bench.program import PlannedConfiguration, PlannedJob
from weir.model.a_priori import bound, bounds, of_device, stated_by_makers
from weir.model.calibration_platform import platform_of_calibration
from weir.platform.device import way_to
from weir.results.calibration import Calibration
from weir.results.campaign import RUNS_FOLDER
from weir.results.errors import ResultError
from weir.results.expectations import APriori, Basis, Expectation
from weir.results.folder import load_calibration
from weir.results.platform import Platform
from weir.results.series import Key

MOST_EARLIER = 20
"""Number of earlier calibrations, the latest, of which the median is taken."""
MOST_READ = 200
"""Number of calibrations, those that were written last, that are read."""
STATE_A_PEAK = "give the rate of a data sheet as peak_bytes_per_second of an edge in {}"
PROBE = "measure the path for later runs with weir platform probe, or "


@dataclass(frozen=True)
class _Source:
    """One source: platforms that say what its components allow, of which medians are taken."""

    basis: Basis
    text: str
    platforms: list[Platform]
    places: Mapping[str, str]


def with_a_priori(
    planned: PlannedJob,
    source: Calibrated | Platform,
    made: Mapping[str, Expectation],
    results: Path | None = None,
) -> dict[str, Expectation]:
    """Returns the expectations with the a-priori bound of each rate.

    ``results`` is the folder in which earlier results lie side by side.
    """
    where = STATE_A_PEAK.format(
        f"platform {source.name}" if isinstance(source, Platform) else "platforms/NAME.toml"
    )
    nothing = APriori(
        value=None,
        basis="none known",
        source=where if isinstance(source, Platform) else PROBE + where,
    )
    if isinstance(source, Calibrated):
        known_by_sharing = {
            sharing: list(_sources(planned, one, results))
            for sharing, one in source.by_sharing.items()
        }
    else:
        known_by_sharing = {key: list(_stated(planned, source)) for key in (False, True)}
    added = {}
    for one in planned.configurations:
        sources = known_by_sharing[one.plan.shares_files]
        known = _known(one, planned.directory, sources, made[one.slug])
        rates = [
            rate.model_copy(update={"a_priori": known.get(rate.key, nothing)})
            for rate in made[one.slug].rates
        ]
        added[one.slug] = made[one.slug].model_copy(update={"rates": rates})
    return added


def _known(
    one: PlannedConfiguration, directory: str, sources: list[_Source], made: Expectation
) -> dict[Key, APriori]:
    """Returns the bound of each rate by the first source that has one."""
    known: dict[Key, APriori] = {}
    for source in sources:
        missing = [rate.key for rate in made.rates if rate.key not in known]
        if not missing:
            break
        allowed = [
            bounds(one.plan, one.asynchronous, one.parameters, platform, directory, source.places)
            for platform in source.platforms
        ]
        for key in missing:
            of_key = [rates[key] for rates in allowed if key in rates]
            if of_key:
                known[key] = bound(of_key, source.basis, source.text)
    return known


def _stated(planned: PlannedJob, platform: Platform) -> Iterator[_Source]:
    """Yields what the makers state of the platform by which a run is judged."""
    stated = stated_by_makers(platform)
    if stated is not None:
        text = f"data sheets in platform {platform.name}"
        yield _Source("data sheet", text, [stated], places_of(platform, planned))


def _sources(planned: PlannedJob, source: Calibration, results: Path | None) -> Iterator[_Source]:
    """Yields what is known beside a calibration, the most independent first."""
    described = list(described_here(planned))
    for name, platform, places in described:
        stated = stated_by_makers(platform)
        if stated is not None:
            yield _Source("data sheet", f"data sheets in platform {name}", [stated], places)
    for name, platform, places in described:
        when = platform.measured_utc
        text = f"the probe {name} of {_moment(when)}" if when else f"the description {name}"
        yield _Source("probe" if when else "description", text, [platform], places)
    earlier = _earlier(source, results)
    if earlier:
        first, last = _moment(earlier[0].measured_utc), _moment(earlier[-1].measured_utc)
        text = f"the calibration of {first}"
        if len(earlier) > 1:
            text = f"the median of {len(earlier)} calibrations from {first} to {last}"
        made = [platform_of_calibration(one) for one in earlier]
        yield _Source("earlier calibration", text, made, {})
    way = way_to(Path(planned.directory), source.file_system)
    # Devices of this host are not those of others; each host has a network card.
    ceilings = [one for one in way.ceilings if source.hosts == 1 or one.kind == "node link"]
    told = of_device(source, ceilings, way.in_memory)
    yield _Source("device", "what the kernel and a copy in memory tell", [told], {})


def _earlier(now: Calibration, results: Path | None) -> list[Calibration]:
    """Returns the latest calibrations that are about the same path, in the order of time.

    Results are jobs, and campaigns with a folder of jobs, many of which share a calibration.
    """
    if results is None:
        return []
    name = CALIBRATION_FILES[now.shared_file]
    jobs = results.glob(f"[!.]*/{name}")
    of_campaigns = results.glob(f"[!.]*/{RUNS_FOLDER}/[!.]*/{name}")
    files = sorted([*jobs, *of_campaigns], key=_written)[-MOST_READ:]
    found: dict[str, Calibration] = {}
    for file in files:
        try:
            one = load_calibration(file)
        except ResultError:
            continue  # It is damaged, or was written by another version.
        if _path_of(one) == _path_of(now) and one.measured_utc < now.measured_utc:
            found[one.measured_utc] = one
    return [found[when] for when in sorted(found)][-MOST_EARLIER:]


def _written(file: Path) -> float:
    """Returns when a file was written last; 0 if it went in between."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _path_of(one: Calibration) -> tuple[object, ...]:
    directory = Path(one.directory)
    moved = (one.transfer_bytes, one.shared_file, one.direct, one.bytes_per_rank)
    return (directory, one.file_system, one.ranks, one.hosts, *moved)


def _moment(utc: str | None) -> str:
    """Returns such as ``2026-11-26 03:48 UTC``."""
    return f"{(utc or '')[:16].replace('T', ' ')} UTC"
