"""The loop that finds a machine's constants: belief, the test that teaches most, result, belief.

A search is a value: each result gives a new one. ``weir next`` adds what runs measured and asks for
further tests; ``weir explore`` goes on by itself on a simulated machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from weir.follow_up.belief import Belief, interval_of
from weir.follow_up.shared_servers import (
    Layout,
    NextTest,
    Placed,
    belief_of,
    layout_of,
    limits,
    next_test,
    shares_by_member,
    shares_of,
)
from weir.model.laws import Values
from weir.results.constants import Constants
from weir.results.platform import Platform
from weir.results.record import Quantity

OF_A_MEDIAN = 1.25
"""The standard error of a median of several values, over that of their mean."""


@dataclass(frozen=True)
class ConstantsSearch:
    """What is believed of a machine's constants after some results, and what a test costs."""

    layout: Layout
    belief: Belief
    runs: int
    """Runs of each test, of which the median counts."""
    bytes_per_task: float
    setup_seconds: float
    tested: tuple[Placed, ...] = ()

    @classmethod
    def of(
        cls,
        platform: Platform,
        *,
        scatter: float,
        runs: int,
        bytes_per_task: float,
        setup_seconds: float,
        seed: int = 1,
    ) -> ConstantsSearch:
        """Returns the search before any test. ``scatter`` is that of one run, in shares.

        Raises ``ValueError`` if the description has no servers that share targets.
        """
        noise = scatter if runs == 1 else OF_A_MEDIAN * scatter / math.sqrt(runs)
        belief = belief_of(platform, noise, seed)
        return cls(layout_of(platform), belief, runs, bytes_per_task, setup_seconds)

    def propose(
        self, most_seconds: float = math.inf, within: float | None = None
    ) -> NextTest | None:
        """Returns the test that teaches most for each second, of those that fit into a time.

        With ``within``, only what is not known yet to that share is asked for.
        """
        return next_test(
            self.belief,
            self.layout,
            bytes_per_task=self.bytes_per_task,
            setup_seconds=self.setup_seconds,
            runs=self.runs,
            most_seconds=most_seconds,
            tested=self.tested,
            asked=None if within is None else self._unknown(within),
        )

    def _unknown(self, within: float) -> Values | None:
        """Returns the limit and the shares that are not known, for each member; None: all are."""
        members = self.belief.members
        limits, shares = members[:, 0], shares_by_member(members, self.layout)
        first = interval_of(shares[:, 0]).value
        unknown = [] if _is_narrow(limits, within * float(np.median(limits))) else [np.log(limits)]
        unknown += [one for one in shares.T if not _is_narrow(one, within * first)]
        return np.transpose(unknown) if unknown else None

    def after(self, placed: Placed, bytes_per_second: float) -> ConstantsSearch:
        """Returns the search with the result of one more test."""
        belief = self.belief.after(placed.columns, 1 / bytes_per_second)
        return replace(self, belief=belief, tested=(*self.tested, placed))

    @property
    def limit(self) -> Quantity:
        """The limit of the whole, in targets."""
        return self.belief.quantities()["O"]

    @property
    def shares(self) -> list[Quantity]:
        """What the first, second, ... busy target of a server adds to its rate."""
        return shares_of(self.belief.probable, self.layout)

    def knows(self, within: float) -> bool:
        """Returns whether the limit and each target's share are known, shares to the first's."""
        return knows(self.limit, self.shares, within)

    def found(self, platform: str) -> Constants:
        """Returns the constants with their intervals, as far as they are known."""
        source = f"weir explore --constants, after {len(self.tested)} tests"
        return self._named(platform, source, list(self.belief.quantities().values()))

    def believed(self, platform: str) -> Constants:
        """Returns the constants as the description has them."""
        return self._named(platform, "the description", list(self.belief.believed))

    def _named(self, platform: str, source: str, values: list[Quantity]) -> Constants:
        sharing = self.layout.targets_per_server
        return Constants(
            platform=platform,
            source=source,
            limit_targets=values[0],
            server_bytes_per_second=values[1 : 1 + sharing],
            crowded_bytes_per_second=values[-4],
            crowded_tasks=values[-3],
            crowded_width_tasks=values[-2],
            controller_bytes_per_second=values[-1],
        )


def knows(limit: Quantity, shares: Sequence[Quantity], within: float) -> bool:
    """Returns whether no interval is wider than twice a share: of the limit, of the first target.

    The shares of targets are compared with that of the first one, since those of others may be 0.
    """
    wide = 2 * within * shares[0].value
    return limit.high - limit.low <= 2 * within * limit.value and all(
        one.high - one.low <= wide for one in shares
    )


def _is_narrow(values: Values, half: float) -> bool:
    one = interval_of(values)
    return one.high - one.low <= 2 * half


def simulated_rate(constants: Constants, layout: Layout, placed: Placed) -> float:
    """Returns the rate of a test on a machine that has these constants."""
    values = [one.value for one in constants.in_order]
    columns = {name: np.array([float(value)]) for name, value in placed.columns.items()}
    return float(np.min(limits(layout, values, columns)))
