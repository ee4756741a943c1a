"""Reads the output of fio, versions 3.x, with ``--output-format=json`` or ``json+``.

Jobs that ran at the same time are one recording. fio's rate is bytes over the longest time of any
process (``slowest_rank``); that of several jobs that fio reports separately is the sum of theirs
(``sum_of_ranks``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from weir.importing.recording import Node, Operations, Rate, Recording, differs, setting, utc
from weir.results.expectations import Direction
from weir.results.record import Latencies

PERCENTILES = {
    "p50_ns": "50.000000",
    "p90_ns": "90.000000",
    "p99_ns": "99.000000",
    "p999_ns": "99.900000",
    "p9999_ns": "99.990000",
}
DIRECTIONS: tuple[Direction, ...] = ("write", "read")


def parse(node: Node) -> list[Recording]:
    """Returns a recording for each group of jobs that ran at the same time."""
    groups: dict[float, list[Node]] = {}
    for job in node["jobs"].items():
        groups.setdefault(job["groupid"].number(), []).append(job)
    if not groups:
        node.refuse("has no job; give the whole output of a run that has ended")
    return [_recording(node, jobs) for jobs in groups.values()]


def _recording(node: Node, jobs: Sequence[Node]) -> Recording:
    common = node.find("global options")
    settings = common.settings() if common else {}
    ranks = 0
    for job in jobs:
        own = job.find("job options")
        options = settings | (own.settings() if own else {})
        count = setting(str(options.get("numjobs", "1")))
        ranks += count if isinstance(count, int) else 1
        settings = options if len(jobs) == 1 else settings
    metric: Literal["slowest_rank", "sum_of_ranks"] = (
        "slowest_rank" if len(jobs) == 1 else "sum_of_ranks"
    )
    rates, operations = [], []
    for direction in DIRECTIONS:
        parts = [part for job in jobs if (part := job.find(direction)) and _moved(part)]
        if parts:
            rate = sum(part["bw_bytes"].number() for part in parts)
            rates.append(Rate(direction, metric, [rate]))
            latencies = _latencies(parts[0]) if len(parts) == 1 else None
            count_per_second = sum(part["iops"].number() for part in parts)
            operations.append(
                Operations("operations", metric, [count_per_second], direction, latencies)
            )
    names = list(dict.fromkeys(job["jobname"].text() for job in jobs))
    if not rates:
        jobs[0].refuse("has neither read nor written anything")
    errors = [job for job in jobs if (error := job.find("error")) and error.number()]
    started = node.find("timestamp_ms")
    stamp = node.find("timestamp")
    seconds = started.number() / 1000 if started else stamp.number() if stamp else None
    return Recording(
        program="fio",
        version=node["fio version"].text().removeprefix("fio-"),
        label=" ".join(names[:8]),
        started=utc(seconds) if seconds is not None else None,
        ranks=ranks,
        parameters={name: setting(str(value)) for name, value in settings.items()},
        rates=rates,
        operations=operations,
        doubts=[doubt for job in jobs for doubt in _doubts(job)],
        remarks=["The start is the moment at which fio wrote its output."] if seconds else [],
        failure=(
            f"fio reports error {errors[0]['error'].number():.0f} of job "
            f"{errors[0]['jobname'].text()}"
            if errors
            else None
        ),
    )


def _moved(part: Node) -> bool:
    return part["io_bytes"].number() > 0


def _latencies(part: Node) -> Latencies | None:
    """Returns the completion latencies; None where fio was told to leave out percentiles."""
    found = part.find("clat_ns")
    shares = found.find("percentile") if found else None
    if found is None or shares is None or not found["N"].number():
        return None
    if any(shares.find(name) is None for name in PERCENTILES.values()):
        return None
    return Latencies(
        count=int(found["N"].number()),
        min_ns=int(found["min"].number()),
        max_ns=int(found["max"].number()),
        buckets=[],
        **{field: int(shares[name].number()) for field, name in PERCENTILES.items()},
    )


def _doubts(job: Node) -> Iterator[str]:
    """Yields where a rate is not the bytes, or the operations, over the time in milliseconds."""
    for direction in DIRECTIONS:
        part = job.find(direction)
        if part is None or not _moved(part):
            continue
        seconds = part["runtime"].number() / 1000
        if seconds == 0:
            yield f"{part.place}: bytes were moved in a time of 0 ms"
            continue
        tolerance = 0.001 + 0.001 / seconds
        for rate, count, unit in (
            ("bw_bytes", "io_bytes", "bytes/s"),
            ("iops", "total_ios", "operations/s"),
        ):
            stated, computed = part[rate].number(), part[count].number() / seconds
            if differs(stated, computed, tolerance):
                yield (
                    f"{part.place}: {rate} is {stated:.6g} {unit}, but {count} over the runtime "
                    f"is {computed:.6g}"
                )
