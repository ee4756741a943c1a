"""Tests of a machine's parts as runs: the pool that puts files on targets, and the way back.

``weir next --constants`` names a pool after the parts that it uses; runs in such a pool, and in
those of the component campaigns, are results of the model of ``shared_servers``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from weir.follow_up.components import Machine, Pool, pools_of
from weir.follow_up.shared_servers import Placed
from weir.results.schema import Run


def pool_of(machine: Machine, placed: Placed) -> Pool:
    """Returns the targets of a test, with the servers behind as many controllers as it says."""
    behind = [machine.behind(one) for one in range(max(1, machine.controllers))]
    if placed.controllers == min(len(behind), placed.servers):
        servers = list(range(placed.servers))
    else:
        servers = [one for each in behind[: placed.controllers] for one in each][: placed.servers]
    targets = [one for server in servers for one in machine.of_server(server)[: placed.targets]]
    # Lustre allows 15 characters.
    name = f"weir-s{placed.servers}t{placed.targets}c{placed.controllers}"
    return Pool(name, tuple(sorted(targets)))


def known_pools(machine: Machine, candidates: Iterable[Placed]) -> Mapping[str, Pool]:
    """Returns the pools of all tests, and those of the component campaigns, by name."""
    pools = [pool_of(machine, one) for one in candidates]
    return {pool.name: pool for pool in (*pools_of(machine), *pools)}


def placed_of(run: Run, machine: Machine, pools: Mapping[str, Pool]) -> Placed | None:
    """Returns where a run's files lay, or None if they were not even on whole targets."""
    named = run.parameters.get("pool")
    pool = pools.get(str(named.value)) if named is not None else None
    stripes = run.parameters.get("stripe-count") or run.parameters.get("stripe_count")
    if pool is None or stripes is None or stripes.value != 1:
        return None
    each = Counter(target % machine.servers for target in pool.targets)
    files, left = divmod(run.plan.ranks, len(pool.targets))
    if left or not files or len(set(each.values())) != 1 or run.plan.files != run.plan.ranks:
        return None
    controllers = {server % max(1, machine.controllers) for server in each}
    return Placed(len(each), next(iter(each.values())), files, len(controllers))
