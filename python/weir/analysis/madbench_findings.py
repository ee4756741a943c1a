"""Judges the findings of MADbench2's study by the results of any runs of the workload madbench.

J. Borrill, L. Oliker, J. Shalf, H. Shan, A. Uselton, "HPC Global File System Performance Analysis
Using A Scientific-Application Derived Benchmark". ``cases/madbench-*.toml`` make results for all
findings. Every finding is judged for each number of ranks, kind of file and direction that has
results. Findings about the file system are not decided by bytes that came from memory.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from weir.analysis.findings import Judgement, Ratio, ratio_of
from weir.analysis.hiding import (
    BLAS2,
    BLAS3,
    ENOUGH,
    AtExponent,
    Hides,
    hidden_share,
    where_it_hides,
)
from weir.analysis.madbench_runs import (
    ALL_TARGETS,
    Observed,
    Runs,
    Settings,
    by_level,
    from_memory,
    groups_of,
    memory_share,
    pairs_of_runs,
    place_of,
    taking_turns,
    usual,
)
from weir.analysis.saturation import BEYOND, LEAST_LEVELS, saturated_from
from weir.results.expectations import Direction
from weir.results.quantities import percent_text, rate_text
from weir.results.schema import EffectiveRate
from weir.results.statistics import median_interval

INTERFACES_ALIKE = 0.10
"""Relative difference up to which interfaces show "virtually no difference" (section 6)."""
ALIKE = 0.20
"""The difference that the paper still takes for none (section 3)."""
NOT_LESS = 0.95
"""From this ratio on one is not slower than the other; nearer to 1 no machine repeats itself."""
STILL_GROWS = 0.25
"""Further ranks that add less than this share of their proportion leave the rate saturated."""
LITTLE_LOST = 0.80
"""Share of the rate at saturation that counts as little degradation beyond it."""
SPARSE_BELOW, DENSE_FROM = 0.5, 0.5
"""Shares of memory: the paper's are 0.36 and 0.71."""
CRITICAL = (1.3, 1.4)
"""Exponents between which I/O begins to hide (section 5)."""


def judge(runs: Runs) -> list[Judgement]:
    """Returns a judgement of every finding; those without results cannot be decided."""
    foreground = usual(runs)
    return [
        *_interfaces(foreground),
        *_files(foreground),
        *_directions(foreground),
        *_saturation(foreground),
        *_memory(foreground),
        *_moduli(foreground),
        *_stripes(foreground),
        *_exponents([one for one in runs if one.settings.mode == "ASYNC"]),
        *_messages([one for one in runs if one.settings.messages]),
    ]


def _judged(
    where: str, finding: str, rule: str, ratio: Ratio | None, holds: bool | None, remark: str = ""
) -> Judgement:
    said = ratio.text() if ratio is not None else "there are no pairs to compare"
    return Judgement(where, finding, None if remark else holds, f"{said}{remark}", rule)


def _or_without(
    judgements: Iterable[Judgement], where: str, finding: str, needs: str
) -> list[Judgement]:
    """Returns the judgements, or one that says what results are missing."""
    return list(judgements) or [Judgement(where, finding, None, f"there are no results of {needs}")]


# ---- The findings ------------------------------------------------------------------------------


def _interfaces(runs: Runs) -> list[Judgement]:
    finding = "POSIX and MPI-IO are alike"
    rule = f"MPI-IO's rate over POSIX's is within {percent_text(INTERFACES_ALIKE)} of 1"

    def judgements() -> Iterator[Judgement]:
        turns = taking_turns(runs, "interface", "MPI", "POSIX")
        for settings, direction, ratio, remark in turns:
            holds = _alike(ratio, INTERFACES_ALIKE)
            place = f"{finding}: {place_of(settings, direction)}"
            yield _judged("sections 4 and 6", place, rule, ratio, holds, remark)

    return _or_without(judgements(), "sections 4 and 6", finding, "both interfaces in one job")


def _files(runs: Runs) -> list[Judgement]:
    finding = "a shared file is as fast as unique files"
    rule = f"the shared file's rate over that of unique files is at least {1 - ALIKE:.2f}"

    def judgements() -> Iterator[Judgement]:
        turns = taking_turns(runs, "files", "SHARED", "UNIQUE")
        for settings, direction, ratio, remark in turns:
            holds = None if ratio is None else ratio.is_at_least(1 - ALIKE)
            place = f"{finding}: {place_of(settings, direction)}{_varied(settings)}"
            yield _judged("section 6", place, rule, ratio, holds, remark)

    return _or_without(judgements(), "section 6", finding, "both kinds of files in one job")


def _directions(runs: Runs) -> list[Judgement]:
    finding = "writes are not slower than reads, unless the file system reads ahead"
    rule = f"the write rate over the read rate is at least {NOT_LESS:.2f}"

    def judgements() -> Iterator[Judgement]:
        groups = by_level(runs, lambda s: s).items()
        for settings, group in sorted(groups, key=lambda one: (one[0].ranks, str(one[0]))):
            pairs = [
                pair
                for run in group
                for pair in zip(run.values("write"), run.values("read"), strict=False)
            ]
            ratio = ratio_of(pairs)
            holds = None if ratio is None else ratio.is_at_least(NOT_LESS)
            place = f"{finding}: {place_of(settings, None)}{_varied(settings)}"
            yield _judged(
                "sections 4.1 and 4.4", place, rule, ratio, holds, from_memory(group, "read")
            )

    return _or_without(judgements(), "sections 4.1 and 4.4", finding, "synchronous runs")


def _varied(settings: Settings) -> str:
    """Returns the settings that most cases leave alone, where they differ from the usual."""
    moduli = (settings.read_modulus, settings.write_modulus)
    return f", RMOD and WMOD {moduli[0]} and {moduli[1]}" if moduli != (1, 1) else ""


def _saturation(runs: Runs) -> list[Judgement]:
    finding = "the rate saturates within the measured ranks"
    rule = (
        f"from at most 1/{BEYOND:g} of the ranks to all, the rate grows by less than "
        f"{percent_text(STILL_GROWS)} of what ranks in proportion would add"
    )
    lost = "beyond saturation little is lost"
    lost_rule = (
        f"the rate with the most ranks over that at saturation is at least {LITTLE_LOST:.2f}"
    )

    def judgements() -> Iterator[Judgement]:
        usual = [one for one in runs if not _varied(one.settings)]
        for settings, group in groups_of(usual, lambda s: replace(s, ranks=0, pixels=0)).items():
            of = _weak_scaling(group)
            for direction in get_args(Direction) if len(of) >= LEAST_LEVELS else ():
                place = f"{settings.files}, {settings.interface}, {direction}"
                medians = _medians(of, direction)
                most = max(of)
                before = max((n for n in of if n <= most / BEYOND), default=None)
                if before is None:
                    continue
                ratio = ratio_of(pairs_of_runs(of[most], of[before], direction))
                limit = 1 + STILL_GROWS * (most / before - 1)
                grows = None if ratio is None else ratio.is_at_least(limit)
                holds = None if grows is None else not grows
                remark = from_memory(group, direction)
                at = saturated_from([*medians], [*medians.values()])
                where = "" if at is None else f"; 90 % of the most from {at:g} ranks on"
                told = ", ".join(f"{n}: {rate_text(rate)}" for n, rate in medians.items())
                one = _judged("section 6", f"{finding}: {place}", rule, ratio, holds, remark)
                said = f"{most} over {before} ranks {one.figures}{where}; {told}"
                yield replace(one, figures=said)
                if at is not None and holds and int(at) != most:
                    kept = ratio_of(pairs_of_runs(of[most], of[int(at)], direction))
                    stays = None if kept is None else kept.is_at_least(LITTLE_LOST)
                    yield _judged("section 6", f"{lost}: {place}", lost_rule, kept, stays, remark)

    return _or_without(judgements(), "section 6", finding, "three numbers of ranks or more")


def _weak_scaling(group: Runs) -> dict[int, list[Observed]]:
    """Returns the runs by ranks, of each number only those with the most usual bytes per rank."""
    shares = statistics.multimode(_share_of_rank(one) for one in group)
    kept = [one for one in group if abs(_share_of_rank(one) / shares[0] - 1) <= ALIKE]
    return dict(sorted(by_level(kept, lambda s: s.ranks).items()))


def _share_of_rank(one: Observed) -> float:
    return one.settings.pixels**2 / one.settings.ranks


def _medians(of: dict[int, list[Observed]], direction: Direction) -> dict[int, float]:
    return {
        ranks: statistics.median(value for run in group for value in run.values(direction))
        for ranks, group in of.items()
    }


def _memory(runs: Runs) -> list[Judgement]:
    finding = "sparse and dense data are alike"
    rule = (
        f"dense data's rate over sparse data's is within {percent_text(ALIKE)} of 1; dense data "
        f"fill {percent_text(DENSE_FROM)} of the memory or more, sparse data less"
    )

    def judgements() -> Iterator[Judgement]:
        for settings, group in groups_of(runs, lambda s: replace(s, pixels=0)).items():
            of = by_level(group, lambda s: s.pixels)
            for direction in get_args(Direction) if len(of) > 1 else ():
                sparse, dense = of[min(of)], of[max(of)]
                shares = [memory_share(one[0].run) for one in (sparse, dense)]
                ratio = ratio_of(pairs_of_runs(dense, sparse, direction))
                told, remark = "memory unknown", "; how much memory the hosts have is not recorded"
                if shares[0] is not None and shares[1] is not None:
                    told = (
                        f"{percent_text(shares[0], 1)} and {percent_text(shares[1], 1)} of memory"
                    )
                    apart = shares[0] < SPARSE_BELOW and shares[1] >= DENSE_FROM
                    remark = "" if apart else "; these are not the shares of sparse and dense data"
                place = f"{finding}: {place_of(settings, direction)}, {told}"
                yield _judged("section 3", place, rule, ratio, _alike(ratio, ALIKE), remark)

    return _or_without(judgements(), "section 3", finding, "two sizes of matrices on as many ranks")


def _moduli(runs: Runs) -> list[Judgement]:
    finding = "it is best that all ranks move data at the same time"
    rule = f"the rate with a modulus of 1 over that with another is at least {NOT_LESS:.2f}"

    def judgements() -> Iterator[Judgement]:
        groups = groups_of(runs, lambda s: replace(s, read_modulus=0, write_modulus=0))
        for settings, group in groups.items():
            for direction in get_args(Direction):
                of = by_level(group, lambda s, d=direction: s.modulus(d))  # type: ignore[misc]
                for modulus in sorted(of.keys() - {1}) if 1 in of else ():
                    ratio = ratio_of(pairs_of_runs(of[1], of[modulus], direction))
                    holds = None if ratio is None else ratio.is_at_least(NOT_LESS)
                    name = "RMOD" if direction == "read" else "WMOD"
                    place = (
                        f"{finding}: {place_of(settings, direction)}, {name} 1 against {modulus}"
                    )
                    remark = from_memory(group, direction)
                    yield _judged("footnote 1", place, rule, ratio, holds, remark)

    return _or_without(judgements(), "footnote 1", finding, "several values of RMOD and WMOD")


GAINS = "striping over more targets makes a shared file faster"
LOSES = "unique files are slower with more stripes"
TUNED = "a shared file with the most stripes is as fast as unique files with the fewest"


def _stripes(runs: Runs) -> list[Judgement]:
    most_rule = "with the most stripes over that with the fewest"
    rules = {
        GAINS: f"the rate {most_rule} is at least {1 + ALIKE:.2f}",
        LOSES: f"the rate {most_rule} is below {NOT_LESS:.2f}",
        TUNED: f"the shared file's rate over that of unique files is at least {1 - ALIKE:.2f}",
    }

    def judgements(finding: str) -> Iterator[Judgement]:
        few_of = "SHARED" if finding == GAINS else "UNIQUE"
        many_of = "UNIQUE" if finding == LOSES else "SHARED"
        known = [one for one in runs if one.settings.stripes]
        for settings, group in groups_of(known, _but_for_stripes).items():
            counts = sorted({one.settings.stripes for one in group}, key=_targets)
            few, many = (
                [o for o in group if (o.settings.stripes, o.settings.files) == (count, files)]
                for count, files in ((counts[0], few_of), (counts[-1], many_of))
            )
            for direction in get_args(Direction) if few and many and len(counts) > 1 else ():
                ratio = ratio_of(pairs_of_runs(many, few, direction))
                holds = None if ratio is None else _holds(finding, ratio)
                place = (
                    f"{finding}: {place_of(settings, direction)}, {counts[-1]} against {counts[0]}"
                )
                remark = from_memory([*few, *many], direction)
                yield _judged("sections 4.1 and 4.2", place, rules[finding], ratio, holds, remark)

    return [
        judgement
        for finding in rules
        for judgement in _or_without(
            judgements(finding), "sections 4.1 and 4.2", finding, "several stripe counts"
        )
    ]


def _but_for_stripes(settings: Settings) -> Settings:
    """Returns the settings without stripes and without the folder, which may be striped itself."""
    others = tuple(one for one in settings.others if one[0] != "directory")
    return replace(settings, stripes="", files="", others=others)


def _targets(stripes: str) -> float:
    return float("inf") if stripes == ALL_TARGETS else float(stripes)


def _holds(finding: str, ratio: Ratio) -> bool | None:
    if finding == LOSES:
        return ratio.is_within(0, NOT_LESS)
    return ratio.is_at_least(1 + ALIKE if finding == GAINS else 1 - ALIKE)


def _alike(ratio: Ratio | None, difference: float) -> bool | None:
    return None if ratio is None else ratio.is_within(1 - difference, 1 / (1 - difference))


# ---- Messages beside transfers -----------------------------------------------------------------

CONTENTION = "messages and I/O slow each other"
MOST_KEPT = 0.95
"""From this share of the rate alone on nothing is slowed; nearer to 1 no machine repeats itself."""


def _messages(runs: Runs) -> list[Judgement]:
    """Judges what the paper expects of future work, where both use the same network."""
    rule = f"at the same time less than {MOST_KEPT:.2f} of the rate alone is kept"

    def judgements() -> Iterator[Judgement]:
        groups = by_level(
            [one for one in runs if one.run.messages is not None], lambda s: s
        ).items()
        for settings, group in sorted(groups, key=lambda one: (one[0].ranks, str(one[0]))):
            kinds = [kind for one in group if one.run.messages for kind in one.run.messages.kinds]
            for moved in ("messages", "write", "read"):
                found = [kind for kind in kinds if kind.moved == moved and kind.kept is not None]
                shares = [value for kind in found if kind.kept for value in kind.kept.values]
                ratio = ratio_of([(share, 1.0) for share in shares])
                if ratio is None:
                    continue
                together = statistics.median(kind.together_share for kind in found)
                remark = from_memory(group, "read") if moved == "read" else ""
                what = moved if moved == "messages" else f"{moved}s"
                place = f"{CONTENTION}: {place_of(settings, None)}, {what}"
                holds = ratio.is_within(0, MOST_KEPT)
                judged = _judged("section 6", place, rule, ratio, holds, remark)
                told = f"{judged.figures} kept; {percent_text(together)} of the bytes travelled so"
                yield replace(judged, figures=told)

    needs = "--messages with SYNC and ASYNC in one job"
    return _or_without(judgements(), "section 6", CONTENTION, needs)


# ---- Transfers behind computation --------------------------------------------------------------

NEAR_BLAS3 = "I/O hides only near BLAS 3"
HIDES = "with BLAS 3 all but one of NBIN transfers are hidden"
LIKE_SYNC = "with BLAS 2 the effective rate is that of synchronous runs"


def _exponents(runs: Runs) -> list[Judgement]:
    def judgements() -> Iterator[Judgement]:
        usual = [one for one in runs if one.settings.exponent is not None]
        for settings, group in groups_of(usual, lambda s: replace(s, exponent=None)).items():
            for direction in get_args(Direction):
                points = _points(group, direction)
                if len(points) > 1:
                    yield from _of_points(place_of(settings, direction), points)

    needs = "asynchronous runs over the busy-work exponent, beside synchronous ones"
    return _or_without(judgements(), "section 5, figure 7", NEAR_BLAS3, needs)


@dataclass(frozen=True)
class Point:
    """One exponent, and how far its interval can be relied on."""

    at: AtExponent
    confidence: float


def _points(group: Runs, direction: Direction) -> list[Point]:
    points = []
    for exponent, found in sorted(by_level(group, lambda s: s.exponent or 0.0).items()):
        values = [value for one in found for value in one.values(direction)]
        bounds = [e for one in found for e in one.run.effective if _is_bounded(e, direction)]
        if values and bounds:
            median, low, high, confidence = median_interval(values)
            plain, ceiling = (
                statistics.median(getattr(e, name) for e in bounds)
                for name in ("synchronous_bytes_per_second", "nbin_multiple_bytes_per_second")
            )
            points.append(
                Point(AtExponent(exponent, median, low, high, plain, ceiling), confidence)
            )
    return points


def _is_bounded(entry: EffectiveRate, direction: Direction) -> bool:
    return entry.direction == direction and entry.synchronous_bytes_per_second is not None


def _of_points(place: str, points: Sequence[Point]) -> Iterator[Judgement]:
    where = "section 5, figure 7"
    few = min(one.confidence for one in points) < 0.95
    remark = "; too few repetitions for intervals of 95 %" if few else ""
    hides = where_it_hides([one.at for one in points])
    low, high = CRITICAL
    told = f"{hides.text()}{remark}"
    holds = None if few else _begins_from(hides, low)
    enough = f"{percent_text(ENOUGH)} of what can be hidden is hidden"
    rule = f"{enough} from an exponent of {low:g} or more"
    yield Judgement(where, f"{NEAR_BLAS3}: {place}", holds, told, rule)
    holds = None if few else _begins_between(hides, low, high)
    rule = f"the interval of that exponent is within {low:g} to {high:g}"
    finding = f"I/O hides from an exponent of {low:g} to {high:g} on"
    yield Judgement(where, f"{finding}: {place}", holds, told, rule)
    first, last = points[0].at, points[-1].at
    shares = [hidden_share(rate, last.synchronous, last.ceiling) for rate in (last.low, last.high)]
    hidden = True if shares[0] >= ENOUGH else False if shares[1] < ENOUGH else None
    told = f"{percent_text(shares[0])} to {percent_text(shares[1])} at {last.exponent:g}{remark}"
    decides = not few and (hidden or last.exponent >= BLAS3)
    rule = f"{enough} at {BLAS3:g}"
    yield Judgement(where, f"{HIDES}: {place}", hidden if decides else None, told, rule)
    if first.exponent <= BLAS2:
        ratios = [rate / first.synchronous for rate in (first.low, first.high)]
        alike = _interval_within(ratios[0], ratios[1])
        told = f"{ratios[0]:.2f} to {ratios[1]:.2f} times at {first.exponent:g}{remark}"
        rule = f"the effective rate over the synchronous one is within {percent_text(ALIKE)} of 1"
        yield Judgement(where, f"{LIKE_SYNC}: {place}", None if few else alike, told, rule)


def _interval_within(low: float, high: float) -> bool | None:
    least, most = 1 - ALIKE, 1 / (1 - ALIKE)
    if least <= low and high <= most:
        return True
    return False if high < least or low > most else None


def _begins_from(hides: Hides, least: float) -> bool | None:
    """Returns whether I/O begins to hide at ``least`` or later, or at no exponent that was run."""
    if hides.last < least:
        return False if hides.high is not None else None
    early = hides.low
    if early is None or early >= least:
        return True
    return False if hides.high is not None and hides.high < least else None


def _begins_between(hides: Hides, least: float, most: float) -> bool | None:
    low, high = hides.low, hides.high
    if low is None:  # Even the upper ends of the intervals do not reach the share.
        return False if hides.last >= most else None
    if low > most:
        return False
    if high is None:
        return None
    if low >= least and high <= most:
        return True
    return False if high < least else None
