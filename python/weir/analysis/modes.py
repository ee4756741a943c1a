"""Tells whether rates have more than one mode, and what separates the modes.

The test is the dip test (J. A. Hartigan and P. M. Hartigan, "The dip test of unimodality", Annals
of Statistics 13, 1985; algorithm AS 217 of P. M. Hartigan, Applied Statistics 34, 1985): the dip is
the largest difference between the sample's distribution and the closest one with a single mode. It
assumes no shape of the modes, so skewed and heavy-tailed rates with one mode are not split, as a
mixture of two normal distributions would split them. It is applied to logarithms of rates, and its
significance is that of a uniform distribution, the hardest case, from samples that were drawn
beforehand (``_QUANTILES``).

Neighbouring rates that are alike say less than independent ones. The dip is therefore compared with
that of the number of independent rates, by the autocorrelation that remains within the modes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weir.analysis.series_noise import independent_count
from weir.results.quantities import percent_text, rate_text

Floats = NDArray[np.float64]
Codes = NDArray[Any]

LEAST_RATES = 30
"""With fewer rates no modes are sought."""
MOST_RATES = 2000
"""If there are more rates, this many of them are drawn at random, with a fixed seed."""
SIGNIFICANT = 0.001
LEAST_SHARE = 0.08
"""A mode has at least this share of the rates."""
LEAST_RATIO = 1.25
"""Neighbouring modes differ by at least this factor."""
MOST_MODES = 4
LEAST_EFFECT = 0.05
"""Modes are named if all transfers together would take this share more or less in the largest."""
SEPARATES = 0.35
"""Least share of the information about the mode that an attribute has if it separates them."""
ABOUT_AS_GOOD = 0.9
"""An attribute is preferred to a finer one if it has this share of the finer one's information."""
ORDER = "order"
"""Name of the attribute that is the number of a transfer among those of its rank, from 0."""
BUSY = "ranks at the same time"
"""Name of the attribute that is how many ranks have a transfer under way, during each."""
MOST_PLACES = 5
"""So many of these numbers are named."""
MOST_NUMBERS = 64
"""Up to so many of these numbers are told apart."""
VAGUE = "they differ by"
PERMUTATIONS = 999
MOST_PERMUTED = 1000
"""What separates modes is sought among so many rates."""
PARTS = 8
"""An ordered attribute, such as time, is cut into so many parts with equal numbers of rates."""

_PROBABILITIES = (0.5, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999)
_QUANTILES: dict[int, tuple[float, ...]] = {
    30: (0.3373, 0.4465, 0.4838, 0.5581, 0.5853, 0.6385, 0.7282),
    50: (0.3451, 0.4574, 0.4954, 0.5735, 0.603, 0.6523, 0.7203),
    100: (0.3546, 0.4714, 0.5095, 0.5862, 0.6216, 0.6778, 0.7547),
    200: (0.3621, 0.4811, 0.5217, 0.604, 0.6378, 0.7044, 0.7833),
    500: (0.3682, 0.4891, 0.5318, 0.6132, 0.6437, 0.7037, 0.7646),
    1000: (0.3717, 0.4933, 0.5339, 0.6152, 0.6441, 0.7153, 0.7748),
}
"""Quantiles of the dip times the root of the number, by the number, of 20,000 to 40,000 samples."""


@dataclass(frozen=True)
class Mode:
    """A mode: its share of the rates, and the median of its rates."""

    share: float
    centre: float


@dataclass(frozen=True)
class Attribute:
    """What may separate modes: a code for each rate. ``names`` has words for the codes.

    Codes of an ordered attribute, such as time, are positions; it has no names.
    """

    name: str
    values: Codes
    names: Sequence[str] = ()

    @property
    def is_ordered(self) -> bool:
        return not self.names


@dataclass(frozen=True)
class Separation:
    """The attribute that separates the modes best.

    ``explained`` is the share of the information about the mode that it has, less what chance
    gives; ``accuracy`` the balanced accuracy of the mode that is most frequent in each part.
    """

    attribute: str
    explained: float
    accuracy: float
    significance: float
    text: str


@dataclass(frozen=True)
class Modes:
    """More than one mode, slowest first. ``labels`` has the mode of each rate."""

    modes: tuple[Mode, ...]
    significance: float
    labels: NDArray[np.int64]

    @property
    def text(self) -> str:
        word = "bimodal" if len(self.modes) == 2 else f"of {len(self.modes)} modes"
        ordered = sorted(self.modes, key=lambda mode: -mode.centre)
        parts = (f"{percent_text(mode.share)} near {rate_text(mode.centre)}" for mode in ordered)
        return f"rates are {word}: {', '.join(parts)}"


def dip(values: Floats) -> float:
    """Returns the dip of a sample, between 1 / (2 n) and 1/4."""
    x = np.sort(np.asarray(values, dtype=float))
    n = len(x)
    if n < 4 or x[0] == x[-1]:
        return 0.5 / max(1, n)
    below, above = _convex_below(x), _concave_above(x)
    low, high, largest = 0, n - 1, 1.0
    while True:
        minorant = _chain(below, high, low)
        majorant = _chain(above, low, high)
        distance, left, right = _widest(x, minorant, majorant)
        if distance < largest:
            break
        largest = max(
            largest,
            *(_above_chord(x, b, e) for e, b in pairwise(minorant[left:])),
            *(_below_chord(x, b, e) for b, e in pairwise(majorant[right:])),
            1.0,
        )
        if (low, high) == (minorant[left], majorant[right]):
            break
        low, high = minorant[left], majorant[right]
    return largest / (2 * n)


def _convex_below(x: Floats) -> list[int]:
    """Returns for each point the previous one on the greatest convex minorant up to it."""
    points = x.tolist()
    before = [0] * len(points)
    for j in range(1, len(points)):
        at = j - 1
        while at > 0:
            further = before[at]
            if (points[j] - points[at]) * (at - further) < (points[at] - points[further]) * (
                j - at
            ):
                break
            at = further
        before[j] = at
    return before


def _concave_above(x: Floats) -> list[int]:
    """Returns for each point the next one on the least concave majorant from it."""
    points = x.tolist()
    last = len(points) - 1
    after = [last] * len(points)
    for k in range(last - 1, -1, -1):
        at = k + 1
        while at < last:
            further = after[at]
            if (points[k] - points[at]) * (at - further) < (points[at] - points[further]) * (
                k - at
            ):
                break
            at = further
        after[k] = at
    return after


def _chain(following: list[int], first: int, last: int) -> list[int]:
    chain = [first]
    while chain[-1] != last:
        chain.append(following[chain[-1]])
    return chain


def _widest(x: Floats, minorant: list[int], majorant: list[int]) -> tuple[float, int, int]:
    """Returns the largest distance between both chains, and the places in them where it is."""
    i, j = len(minorant) - 2, 1
    widest, left, right = 0.0, len(minorant) - 1, len(majorant) - 1
    if len(minorant) == 2 and len(majorant) == 2:
        return 0.0, left, right
    while True:
        low, high = minorant[i], majorant[j]
        if low > high:
            start = minorant[i + 1]
            slope = (low - start) / (x[low] - x[start]) if x[low] > x[start] else 0.0
            distance = (high - start + 1) - (x[high] - x[start]) * slope
            j += 1
            if distance >= widest:
                widest, left, right = float(distance), i + 1, j - 1
        else:
            start = majorant[j - 1]
            slope = (high - start) / (x[high] - x[start]) if x[high] > x[start] else 0.0
            distance = (x[low] - x[start]) * slope - (low - start - 1)
            i -= 1
            if distance >= widest:
                widest, left, right = float(distance), i + 1, j
        i, j = max(i, 0), min(j, len(majorant) - 1)
        if minorant[i] == majorant[j]:
            return widest, left, right


def _above_chord(x: Floats, begin: int, end: int) -> float:
    if end - begin <= 1 or x[end] == x[begin]:
        return 1.0
    slope = (end - begin) / (x[end] - x[begin])
    places = np.arange(begin, end + 1)
    return float(np.max(places - begin + 1 - (x[begin : end + 1] - x[begin]) * slope))


def _below_chord(x: Floats, begin: int, end: int) -> float:
    if end - begin <= 1 or x[end] == x[begin]:
        return 1.0
    slope = (end - begin) / (x[end] - x[begin])
    places = np.arange(begin, end + 1)
    return float(np.max((x[begin : end + 1] - x[begin]) * slope - (places - begin - 1)))


def dip_significance(found: float, number: float) -> float:
    """Returns the probability that so many rates of one mode have at least this dip.

    Quantiles of the dip times the root of the number change slowly with the number, so they are
    interpolated; beyond the last quantile the result is that quantile's probability.
    """
    numbers = list(_QUANTILES)
    scaled = found * math.sqrt(number)
    at = np.log(np.clip(number, numbers[0], numbers[-1]))
    logs = np.log(numbers)
    quantiles = [
        float(np.interp(at, logs, [_QUANTILES[n][place] for n in numbers]))
        for place in range(len(_PROBABILITIES))
    ]
    if scaled <= quantiles[0]:
        return 1 - _PROBABILITIES[0]
    tails = np.log([1 - probability for probability in _PROBABILITIES])
    return float(np.exp(np.interp(scaled, quantiles, tails)))


def find_modes(
    rates: Floats,
    series: Codes | None = None,
    when: Floats | None = None,
    significant: float = SIGNIFICANT,
) -> Modes | None:
    """Returns the modes of rates, or None if they have one mode.

    ``series`` and ``when`` tell which rates are neighbours: those of one series one after the other
    in the arrays, and those of about the same time.
    """
    if len(rates) < LEAST_RATES or float(np.min(rates)) <= 0:
        return None
    logs = np.log(np.asarray(rates, dtype=float))
    when = np.arange(len(logs), dtype=float) if when is None else when
    cuts, significance = _cuts(logs, series, when, significant)
    if not cuts:
        return None
    labels = np.searchsorted(np.sort(cuts), logs, side="right")
    modes = tuple(
        Mode(float(np.mean(labels == place)), float(np.exp(np.median(logs[labels == place]))))
        for place in range(len(cuts) + 1)
    )
    if _effect(modes) < LEAST_EFFECT:
        return None
    return Modes(modes, significance, labels.astype(np.int64))


def _effect(modes: Sequence[Mode]) -> float:
    largest = max(modes, key=lambda mode: mode.share)
    return abs(sum(mode.share * largest.centre / mode.centre for mode in modes) - 1)


def _cuts(
    logs: Floats, series: Codes | None, when: Floats, significant: float
) -> tuple[list[float], float]:
    """Returns where to cut the rates into modes: the largest part that has two is cut first."""
    cuts: list[float] = []
    parts = [np.ones(len(logs), dtype=bool)]
    worst = 0.0
    while parts and len(cuts) + 1 < MOST_MODES:
        part = parts.pop(0)
        own = logs[part]
        neighbours = None if series is None else series[part]
        found = _cut(own, neighbours, when[part], len(logs))
        if found is None or found[1] > significant:
            continue
        cut, significance = found
        cuts.append(cut)
        worst = max(worst, significance)
        parts += [part & (logs < cut), part & (logs >= cut)]
        parts.sort(key=lambda one: -int(one.sum()))
    return cuts, worst


def _cut(
    logs: Floats, series: Codes | None, when: Floats, of_all: int
) -> tuple[float, float] | None:
    if len(logs) < LEAST_RATES:
        return None
    cut = _valley(logs)
    slow = logs < cut
    share = min(int(slow.sum()), len(logs) - int(slow.sum())) / of_all
    if share < LEAST_SHARE:
        return None
    if np.median(logs[~slow]) - np.median(logs[slow]) < math.log(LEAST_RATIO):
        return None
    within = logs - np.where(slow, np.mean(logs[slow]), np.mean(logs[~slow]))
    number = independent_count(within, series, when)
    drawn = logs
    if len(logs) > MOST_RATES:
        drawn = np.random.default_rng(1).choice(logs, MOST_RATES, replace=False)
    significance = dip_significance(dip(drawn), min(number, len(drawn)))
    return cut, significance


def _valley(logs: Floats) -> float:
    """Returns the least dense place between the two groups with the least spread within."""
    ordered = np.sort(logs)
    number = len(ordered)
    counts = np.arange(1, number)
    sums = np.cumsum(ordered)[:-1]
    total = float(ordered.sum())
    between = sums**2 / counts + (total - sums) ** 2 / (number - counts)
    place = int(np.argmax(between)) + 1
    low, high = float(np.median(ordered[:place])), float(np.median(ordered[place:]))
    spread = np.concatenate([ordered[:place] - low, ordered[place:] - high]).std()
    width = max(0.5 * float(spread) * number**-0.2 * 1.06, (high - low) / 100, 1e-9)
    grid = np.linspace(low, high, 65)
    places = np.searchsorted(ordered, [grid - 2 * width, grid + 2 * width])
    density = (places[1] - places[0]).astype(float)
    emptiest = np.flatnonzero(density == density.min())
    return float(grid[int(emptiest[len(emptiest) // 2])])


def what_separates(labels: Codes, attributes: Sequence[Attribute]) -> Separation | None:
    """Returns the attribute that tells most about the mode, or None if none does.

    ``attributes`` are in the order in which they are preferred, the coarsest first: a rank always
    tells as much as its host. The measure is the mutual information over the entropy of the modes,
    less its mean under permutations, which also give the significance; it is multiplied by the
    number of attributes (Bonferroni).
    """
    candidates = [(one, _parts(one)) for one in attributes]
    candidates = [(one, parts) for one, parts in candidates if parts.max(initial=0) > 0]
    found: list[tuple[Attribute, Codes, float, float]] = []
    for attribute, parts in candidates:
        explained, significance = _explained(labels, parts)
        significance = min(1.0, significance * len(candidates))
        if explained >= SEPARATES and significance <= 0.01:
            found.append((attribute, parts, explained, significance))
    if not found:
        return None
    most = max(explained for _, _, explained, _ in found)
    good = [one for one in found if one[2] >= ABOUT_AS_GOOD * most]
    attribute, parts, explained, significance = next(
        (one for one in good if VAGUE not in _separated_by(one[0], labels, one[1])), good[0]
    )
    return Separation(
        attribute.name,
        explained,
        _accuracy(labels, parts),
        significance,
        _separated_by(attribute, labels, parts),
    )


def _parts(attribute: Attribute) -> NDArray[np.int64]:
    values = np.asarray(attribute.values)
    most = MOST_NUMBERS if attribute.name == ORDER else PARTS
    if attribute.is_ordered and len(np.unique(values)) > most:
        edges = np.quantile(values, np.linspace(0, 1, PARTS + 1)[1:-1])
        values = np.searchsorted(np.unique(edges), values, side="right")
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _information(labels: Codes, parts: Codes) -> Floats:
    """Returns, for each row of labels, the mutual information over the entropy of the labels.

    All rows have the same numbers of each label.
    """
    rows, number = labels.shape
    modes, columns = int(labels.max()) + 1, int(parts.max()) + 1
    cells = labels * columns + parts + (np.arange(rows) * modes * columns)[:, None]
    joint = np.bincount(cells.reshape(-1), minlength=rows * modes * columns) / number
    joint = joint.reshape(rows, modes, columns)
    by_mode, by_part = joint[0].sum(axis=1), joint[0].sum(axis=0)
    expected = np.maximum(by_mode[:, None] * by_part[None, :], 1e-30)
    terms = joint * np.log(np.where(joint > 0, joint / expected, 1.0))
    entropy = -float(np.sum(by_mode[by_mode > 0] * np.log(by_mode[by_mode > 0])))
    return np.asarray(terms.sum(axis=(1, 2)) / max(entropy, 1e-30))


def _explained(labels: Codes, parts: Codes) -> tuple[float, float]:
    """Returns the information beyond chance, as a share of the largest, and its significance."""
    observed = float(_information(labels[None, :], parts)[0])
    if observed < SEPARATES:
        return 0.0, 1.0
    shuffled = np.tile(labels, (PERMUTATIONS, 1))
    np.random.default_rng(1).permuted(shuffled, axis=1, out=shuffled)
    by_chance = _information(shuffled, parts)
    mean = float(by_chance.mean())
    significance = (1 + int(np.sum(by_chance >= observed))) / (PERMUTATIONS + 1)
    return (observed - mean) / max(1 - mean, 1e-9), significance


def _accuracy(labels: Codes, parts: Codes) -> float:
    """Returns the mean, over the modes, of the share that the most frequent mode of a part hits."""
    modes, columns = int(labels.max()) + 1, int(parts.max()) + 1
    table = np.bincount(labels * columns + parts, minlength=modes * columns)
    table = table.reshape(modes, columns)
    sizes = table.sum(axis=1, keepdims=True)
    chosen = np.argmax(table / np.maximum(sizes, 1), axis=0)
    hits = [table[mode, chosen == mode].sum() / max(1, sizes[mode, 0]) for mode in range(modes)]
    return float(np.mean(hits))


def _separated_by(attribute: Attribute, labels: Codes, parts: Codes) -> str:
    """Says where the slowest mode is."""
    slow = labels == 0
    share = float(slow.mean())
    columns = int(parts.max()) + 1
    within = np.bincount(parts, weights=slow, minlength=columns) / np.bincount(
        parts, minlength=columns
    )
    where = np.flatnonzero(within > max(0.5, share))
    codes = np.unique(attribute.values)
    if attribute.is_ordered:
        if attribute.name == ORDER and len(codes) == columns and 0 < len(where) <= MOST_PLACES:
            places = ", ".join(str(int(codes[one]) + 1) for one in where)
            return f"the slower mode is in the transfers number {places} of each rank"
        if attribute.name == BUSY and len(codes) == columns and len(where):
            return _busy_text([int(codes[one]) for one in where], [int(one) for one in codes])
        return _place_text(attribute, where, columns)
    names = [attribute.names[int(codes[place])] for place in where]
    if not names or len(names) > columns // 2 + 1:
        return f"{VAGUE} {attribute.name}"
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"the slower mode is that of {', '.join(names[:3])}{more}"


def _busy_text(slow: Sequence[int], all_of_them: Sequence[int]) -> str:
    """Says how many ranks move bytes in the slowest mode."""
    first, last = slow[0], slow[-1]
    if last == all_of_them[-1]:
        return f"the slower mode is while {first} or more ranks move bytes at the same time"
    if first == all_of_them[0]:
        return f"the slower mode is while {last} or fewer ranks move bytes at the same time"
    return f"{VAGUE} {BUSY}"


def _place_text(attribute: Attribute, where: NDArray[np.int64], columns: int) -> str:
    name = attribute.name
    if len(where) and len(where) == int(where[-1]) - int(where[0]) + 1 < columns:
        first, last = int(where[0]) / columns, (int(where[-1]) + 1) / columns
        if first == 0:
            return (
                f"the slower mode is in the first {percent_text(last)} of the transfers by {name}"
            )
        if last == 1:
            first_text = percent_text(1 - first)
            return f"the slower mode is in the last {first_text} of the transfers by {name}"
        between = f"between {percent_text(first)} and {percent_text(last)}"
        return f"the slower mode is {between} of the transfers by {name}"
    return f"{VAGUE} {name}"
