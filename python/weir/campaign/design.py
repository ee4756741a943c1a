"""Turns factors into runs: levels, scaling, exclusions, blocks, and a seeded random order.

1. Every factor's levels are expanded and scaled.
2. The combinations are the Cartesian product of all levels, in the order of the file, without those
   that an ``[[exclude]]`` describes; or some of them, as a Latin hypercube.
3. A block contains every combination once, in its own order; there are as many blocks as
   replications. Slow drifts of a machine thus affect all combinations equally. A combination that
   is run less often than others is in the first blocks only. Phases come one after the other.
"""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence

from weir.bench.errors import USAGE, BenchError
from weir.campaign.file import CampaignFile, read_number
from weir.campaign.latin_hypercube import latin_hypercube
from weir.campaign.levels import LevelError
from weir.campaign.shuffle import Shuffle
from weir.results.campaign import CampaignFactor, CampaignRun, Value
from weir.results.purpose import Purpose

RANKS = "ranks"
TASKS = "tasks-per-node"
OF_THE_LAUNCHER = (RANKS, TASKS)
"""Settings that a campaign has like those of weir-bench, and that are of the launcher."""
Combination = dict[str, Value]
Condition = Value | list[Value]
ALIASES: dict[str, dict[str, str]] = {
    "madbench": {
        "alpha": "busy-work-exponent",
        "bwexp": "busy-work-exponent",
        "no_pix": "pixels",
        "no_bin": "bins",
        "no_gang": "gangs",
        "sblocksize": "scalapack-block",
        "fblocksize": "file-block",
        "rmod": "read-modulus",
        "wmod": "write-modulus",
    },
}
"""Aliases of settings, as papers call them, by workload."""

EDGES = {"pixels"}
"""Edges of square matrices: scaled are the bytes, which are as the square of the edge."""

_COMPARED = re.compile(r"\s*(<=|>=|!=|<|>|=)\s*(.+)")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def setting_name(workload: str, name: str) -> str:
    """Returns a setting's name as weir-bench spells it: ``file_per_rank`` is ``file-per-rank``."""
    known = ALIASES.get(workload, {}).get(name.lower())
    return known or name.replace("_", "-")


def factors_of(file: CampaignFile, scale: float) -> list[CampaignFactor]:
    """Returns the factors with their scaled levels; raises ``BenchError`` for impossible ones."""
    grains = {setting_name(file.workload, name): grain for name, grain in file.scaled.items()}
    fixed = {setting_name(file.workload, name) for name in file.fixed}
    factors: list[CampaignFactor] = []
    taken: set[str] = set()
    for table in file.factor:
        names = [setting_name(file.workload, name) for name in table.all_names()]
        shown = ", ".join(table.all_names())
        for name in names:
            if name in taken:
                raise BenchError(f"factor {shown}: {name} is in two factors", USAGE)
            if name in fixed:
                raise BenchError(f"factor {shown}: {name} is also in [fixed]", USAGE)
            taken.add(name)
        try:
            rows = table.rows()
        except LevelError as error:
            raise BenchError(f"factor {shown}: {error}", USAGE) from None
        factors.append(CampaignFactor(names=names, levels=_scaled_rows(names, rows, grains, scale)))
    unused = set(grains) - taken - fixed
    if unused:
        raise BenchError(
            f"[scaled] names {min(unused)}, which is neither in [fixed] nor a factor", USAGE
        )
    return factors


def scaled(name: str, value: Value, grain: int, scale: float) -> Value:
    """Returns a size times ``scale``, in whole multiples of ``grain`` and at least one of them.

    The edge of a square matrix is scaled so that the matrix becomes ``scale`` times as large.
    """
    number = read_number(value)
    if scale == 1:
        return number
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise BenchError(f"[scaled] names {name}, whose value {value!r} is not a number", USAGE)
    factor = math.sqrt(scale) if name in EDGES else scale
    return max(1, round(number * factor / grain)) * grain


def _scaled_rows(
    names: Sequence[str], rows: list[list[Value]], grains: Mapping[str, int], scale: float
) -> list[list[Value]]:
    if scale == 1:
        return rows
    if RANKS in names and RANKS in grains:
        rows = _fewer_ranks(rows, names.index(RANKS), grains[RANKS], scale)
    found: list[list[Value]] = []
    for row in rows:
        level = [
            scaled(name, value, grains[name], scale) if name in grains and name != RANKS else value
            for name, value in zip(names, row, strict=True)
        ]
        if level not in found:
            found.append(level)
    return found


def _fewer_ranks(
    rows: list[list[Value]], place: int, least: int, scale: float
) -> list[list[Value]]:
    """Returns levels up to ``scale`` times the largest: a smaller machine omits large levels."""
    counts = [value for row in rows if isinstance(value := row[place], int)]
    if len(counts) != len(rows):
        raise BenchError("factor ranks: its levels must be whole numbers", USAGE)
    most = max(least, round(max(counts) * scale))
    kept = [row for row, count in zip(rows, counts, strict=True) if count <= most]
    if not kept:
        raise BenchError(
            f"factor ranks: scale leaves no level, because all are above {most}", USAGE
        )
    return kept


def combinations_of(
    file: CampaignFile, factors: Sequence[CampaignFactor], seed: int = 0
) -> tuple[list[Combination], int]:
    """Returns the combinations to run, and the number of excluded ones.

    ``seed`` is that of a Latin hypercube.
    """
    exclusions = []
    for table in file.exclude:
        if not table:
            raise BenchError("[[exclude]] has no condition: add one", USAGE)
        exclusions.append(_condition("[[exclude]]", file.workload, table, factors))
    if file.tests is not None:

        def leaves_out(combination: Combination) -> bool:
            return any(_matches(combination, condition) for condition in exclusions)

        return latin_hypercube(factors, file.tests, seed, leaves_out), 0
    kept, excluded = [], 0
    for chosen in itertools.product(*(factor.levels for factor in factors)):
        combination: Combination = {}
        for factor, level in zip(factors, chosen, strict=True):
            combination.update(zip(factor.names, level, strict=True))
        if any(_matches(combination, condition) for condition in exclusions):
            excluded += 1
        else:
            kept.append(combination)
    if not kept:
        raise BenchError(f"all {excluded} combinations are excluded, so no run is left", USAGE)
    return kept, excluded


def purposes_of(
    file: CampaignFile, factors: Sequence[CampaignFactor], combinations: Sequence[Combination]
) -> list[Purpose | None]:
    """Returns the first ``[[purpose]]`` that each combination satisfies; nothing without any."""
    if not file.purpose:
        return []
    given = [
        (_condition("[[purpose]] when", file.workload, table.when, factors), table)
        for table in file.purpose
    ]
    fields = set(Purpose.model_fields)
    return [
        next(
            (
                Purpose.model_validate(table.model_dump(include=fields))
                for condition, table in given
                if _matches(combination, condition)
            ),
            None,
        )
        for combination in combinations
    ]


def _condition(
    where: str, workload: str, table: Mapping[str, Condition], factors: Sequence[CampaignFactor]
) -> dict[str, Condition]:
    """Returns the conditions by the names of settings; refuses names that are not factors."""
    names = {name for factor in factors for name in factor.names}
    condition = {setting_name(workload, name): value for name, value in table.items()}
    unknown = sorted(set(condition) - names)
    if unknown:
        raise BenchError(f"{where} names {unknown[0]}, which is not a factor", USAGE)
    return condition


def _matches(combination: Combination, condition: Mapping[str, Condition]) -> bool:
    return all(_holds(combination[name], wanted) for name, wanted in condition.items())


def _holds(level: Value, wanted: Condition) -> bool:
    if isinstance(wanted, list):
        return any(_holds(level, one) for one in wanted)
    compared = _COMPARED.fullmatch(wanted) if isinstance(wanted, str) else None
    if compared is None:
        return level == read_number(wanted)
    sign, other = compared.group(1), read_number(compared.group(2).strip())
    if sign in ("=", "!="):
        return (level == other) == (sign == "=")
    if isinstance(level, str) or isinstance(other, str):
        raise BenchError(f"the condition {wanted!r} compares values that are not numbers", USAGE)
    return _OPERATORS[sign](level, other)


def repetitions_of(
    file: CampaignFile, factors: Sequence[CampaignFactor], combinations: Sequence[Combination]
) -> list[int]:
    """Returns how often each combination is run: by the first ``[[repeat]]`` that it satisfies."""
    given = [
        (_condition("[[repeat]] when", file.workload, table.when, factors), table.times)
        for table in file.repeat
    ]
    return [
        next((times for when, times in given if _matches(one, when)), file.replication)
        for one in combinations
    ]


def phases_of(
    file: CampaignFile, factors: Sequence[CampaignFactor], combinations: Sequence[Combination]
) -> list[int]:
    """Returns the phase of each combination, which is the first that it satisfies."""
    if not file.phase:
        return [0] * len(combinations)
    names = [table.name for table in file.phase]
    if len(set(names)) < len(names):
        raise BenchError("[[phase]]: two phases have the same name", USAGE)
    given = [
        _condition(f"[[phase]] {table.name}: when", file.workload, table.when, factors)
        for table in file.phase
    ]
    found = []
    for one in combinations:
        place = next((at for at, when in enumerate(given) if _matches(one, when)), None)
        if place is None:
            said = ", ".join(f"{name}={value}" for name, value in one.items())
            raise BenchError(
                f"[[phase]]: {said} belongs to no phase: add one without when for the others",
                USAGE,
            )
        found.append(place)
    return found


def runs_of(
    repetitions: Sequence[int], blocks: str, seed: int, phases: Sequence[int] | None = None
) -> list[CampaignRun]:
    """Returns the runs in order; the same seed gives the same order.

    ``repetitions`` and ``phases`` have the number of runs and the phase of each combination. One
    phase comes after the other, and blocks are within phases.
    """
    shuffle = Shuffle(seed)
    of = phases or [0] * len(repetitions)
    order: list[tuple[int, int]] = []
    for phase in sorted(set(of)):
        inside = [one for one, its in enumerate(of) if its == phase]
        first = order[-1][0] if order else 0
        found: list[tuple[int, int]] = []
        for block in range(1, max(repetitions[one] for one in inside) + 1):
            part = [(first + block, one) for one in inside if repetitions[one] >= block]
            found += shuffle.shuffled(part) if blocks == "replicate" else part
        if blocks == "none":
            found = [(first + 1, one) for _, one in shuffle.shuffled(found)]
        order += found
    return [
        CampaignRun(number=number, block=block, combination=combination, phase=of[combination])
        for number, (block, combination) in enumerate(order, start=1)
    ]
