"""Turns factors into runs: levels, scaling, exclusions, blocks, and a seeded random order.

1. Every factor's levels are expanded and scaled.
2. The combinations are the Cartesian product of all levels, in the order of the file, without those
   that an ``[[exclude]]`` describes.
3. A block contains every combination once, in its own order; there are as many blocks as
   replications. Slow drifts of a machine thus affect all combinations equally.
"""

from __future__ import annotations

import itertools
import math
import operator
import random
import re
from collections.abc import Callable, Mapping, Sequence

from weir.bench.errors import USAGE, BenchError
from weir.campaign.file import CampaignFile, read_number
from weir.campaign.levels import LevelError
from weir.results.campaign import CampaignFactor, CampaignRun, Value
from weir.results.purpose import Purpose

RANKS = "ranks"
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
    file: CampaignFile, factors: Sequence[CampaignFactor]
) -> tuple[list[Combination], int]:
    """Returns the combinations to run, and the number of excluded ones."""
    exclusions = []
    for table in file.exclude:
        if not table:
            raise BenchError("[[exclude]] has no condition: add one", USAGE)
        exclusions.append(_condition("[[exclude]]", file.workload, table, factors))
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
        raise BenchError(f"[[exclude]]: {wanted!r} compares values that are not numbers", USAGE)
    return _OPERATORS[sign](level, other)


def runs_of(count: int, replication: int, blocks: str, seed: int) -> list[CampaignRun]:
    """Returns the runs of ``count`` combinations in order; the same seed gives the same order."""
    generator = random.Random(seed)
    order: list[tuple[int, int]] = []
    for block in range(1, replication + 1):
        part = [(block, combination) for combination in range(count)]
        order += _shuffled(part, generator) if blocks == "replicate" else part
    if blocks == "none":
        order = [(1, combination) for _, combination in _shuffled(order, generator)]
    return [
        CampaignRun(number=number, block=block, combination=combination)
        for number, (block, combination) in enumerate(order, start=1)
    ]


def _shuffled(items: list[tuple[int, int]], generator: random.Random) -> list[tuple[int, int]]:
    # Fisher-Yates shuffle with random(), whose sequence for a seed Python guarantees; the result of
    # shuffle() may change between versions.
    items = list(items)
    for last in range(len(items) - 1, 0, -1):
        chosen = int(generator.random() * (last + 1))
        items[last], items[chosen] = items[chosen], items[last]
    return items
