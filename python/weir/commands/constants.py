"""``--constants`` of ``weir next`` and ``weir explore``: tests of what a machine's parts do.

Both use one loop (``weir.follow_up.constants_search``). ``weir next`` takes results of tests that
were run and writes the next ones as a campaign; ``weir explore`` goes on by itself on a simulated
machine.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from weir.bench.errors import USAGE, BenchError
from weir.bench.tables import plain_table
from weir.campaign.display import duration_text
from weir.commands.find_runs import tell_changes
from weir.commands.terminal import output_console, warn
from weir.follow_up.components import BLOCK, SETUP_SECONDS, Pool, machine_of
from weir.follow_up.constants_search import ConstantsSearch, simulated_rate
from weir.follow_up.placed_runs import known_pools, placed_of, pool_of
from weir.follow_up.proposal import Proposal
from weir.follow_up.shared_servers import NextTest, Placed, candidates
from weir.platform.files import find_constants, find_description
from weir.report.quantities import plural
from weir.results.campaign import Value
from weir.results.constants import Constants, load_constants, write_constants
from weir.results.errors import ResultError
from weir.results.figures import headlines_of
from weir.results.folder import find_run_folders, load_run
from weir.results.platform import Platform
from weir.results.platform_file import load_platform
from weir.results.purpose import ExpectedResult
from weir.results.quantities import percent_text, range_text, rate_text, significant
from weir.results.record import Quantity
from weir.results.schema import Run

RUNS = 3
SCATTER = 0.02
"""By how much a run scatters if results do not say it (Uselton, section 3.7)."""
LEAST_REPEATED = 4
"""With fewer repetitions beyond the first of each test, results do not say it."""
UNTIL = 0.10


@dataclass(frozen=True)
class Asked:
    """What the options of an exploration of constants say."""

    constants: str
    simulated: str
    budget: float
    until: float
    most: int | None
    runs: int
    scatter: float
    seed: int
    output: Path | None


@dataclass(frozen=True)
class Results:
    """Tests of parts that were run: the rate of each, its runs, and how far one run scatters."""

    rates: dict[Placed, float]
    runs: tuple[Run, ...]
    scatter: float | None


def explore_constants(asked: Asked) -> None:
    """Runs the loop on a simulated machine until it knows, or the budget or the runs end."""
    platform = load_platform(find_description(asked.constants))
    truth = load_constants(find_constants(asked.simulated))
    output = asked.output or Path(f"{platform.name}-constants.toml")
    if output.suffix != ".toml" or output.exists():
        reason = "exists" if output.exists() else "does not end in .toml"
        raise BenchError(f"{output} {reason}: give another file by --output", USAGE)
    search = search_of(platform, asked.scatter, asked.runs, asked.seed)
    sharing = search.layout.targets_per_server
    if len(truth.server_bytes_per_second) != sharing:
        raise BenchError(
            f"{asked.simulated} has rates of servers with up to "
            f"{len(truth.server_bytes_per_second)} targets, and a server of {platform.name} has "
            f"{sharing}: give constants of that machine",
            USAGE,
        )
    console = output_console()
    before = search.believed(platform.name)
    _say(console, f"{platform.name}: {_parts_text(search)}")
    _say(console, f"Simulated in its place: {truth.source or truth.platform}; all times are its")
    weather = np.random.default_rng([asked.seed, 1])
    left, ended = asked.budget, ""
    while not ended:
        number = len(search.tested) + 1
        proposed = search.propose(left, asked.until)
        if asked.most is not None and number * asked.runs > asked.most:
            ended = f"{plural(asked.most, 'run')} were to be made at most"
        elif proposed is None:
            ended = f"the budget ends: no test fits into the {duration_text(max(left, 0))} left"
        else:
            rate = simulated_rate(truth, search.layout, proposed.placed)
            rates = rate * np.exp(asked.scatter * weather.standard_normal(asked.runs))
            measured = float(np.median(rates))
            _tell(console, number, proposed)
            search = search.after(proposed.placed, measured)
            left -= _seconds(search, proposed.placed, rates.tolist())
            _tell_result(console, proposed, measured, search)
            if search.knows(asked.until):
                share = percent_text(asked.until)
                ended = f"the limit and what each target adds are known to {share}"
    console.print()
    _say(console, f"Ended: {ended}")
    tests = len(search.tested)
    used = duration_text(asked.budget - left)
    _say(console, f"{plural(tests, 'test')} of {plural(asked.runs, 'run')} each, in {used}\n")
    found = search.found(platform.name)
    console.print(_table(before, found, truth))
    _say(console, f"\nConstants: {write_constants(output, found)}")


def propose_constants(
    paths: Sequence[Path], given: str, seconds: float, runs: int, most: int
) -> tuple[Platform, list[Proposal], list[Pool]]:
    """Returns the tests that teach most after the results, and the pools that they need.

    Prints how well the constants are known. Each test is chosen as if the ones before it had
    measured what is expected of them.
    """
    platform = load_platform(find_description(given))
    results = _results(paths, platform)
    scatter = results.scatter or SCATTER
    search = search_of(platform, scatter, runs, 1)
    machine = machine_of(platform)
    for placed, rate in results.rates.items():
        search = search.after(placed, rate)
    console = output_console()
    _say(console, f"{platform.name}: {_parts_text(search)}")
    if results.rates:
        how = "taken to be" if results.scatter is None else "found to be"
        _say(
            console,
            f"{plural(len(results.rates), 'test')} of {plural(len(results.runs), 'run')}; the "
            f"scatter of a run is {how} {percent_text(scatter, 1)}",
        )
        for text in _known_texts(search):
            _say(console, f"  now: {text}")
        if search.knows(UNTIL):
            _say(console, f"  limit and sharing are known to {percent_text(UNTIL)}")
    follows = tuple(run.id for run in results.runs)
    proposals: list[Proposal] = []
    pools: dict[str, Pool] = {}
    left = seconds
    while len(proposals) < most and (one := search.propose(left, UNTIL)) is not None:
        pool = pool_of(machine, one.placed)
        settings: dict[str, Value] = {"ranks": one.placed.tasks, "pool": pool.name}
        if any(settings == made.settings for made in proposals):
            break  # Again the same: its runs must be looked at first.
        pools[pool.name] = pool
        proposals.append(_proposal(one, settings, follows))
        left -= one.seconds
        search = search.after(one.placed, one.expected.value)
    return platform, proposals, list(pools.values())


def search_of(platform: Platform, scatter: float, runs: int, seed: int) -> ConstantsSearch:
    try:
        return ConstantsSearch.of(
            platform,
            scatter=scatter,
            runs=runs,
            bytes_per_task=BLOCK,
            setup_seconds=SETUP_SECONDS,
            seed=seed,
        )
    except ValueError as error:
        raise BenchError(f"--constants: {error}", USAGE) from None


def _results(paths: Sequence[Path], platform: Platform) -> Results:
    try:
        machine = machine_of(platform)
        layout = search_of(platform, SCATTER, RUNS, 1).layout
        pools = known_pools(machine, candidates(layout))
    except ValueError as error:
        raise BenchError(f"--constants: {error}", USAGE) from None
    found: dict[Placed, list[tuple[Run, float]]] = {}
    left_out = 0
    for folder in (one for path in paths for one in find_run_folders(path)):
        try:
            run = load_run(folder)
        except ResultError as error:
            warn(f"left out: {error}")
            continue
        tell_changes([(folder, run)])
        placed = placed_of(run, machine, pools)
        rates = [one for one in headlines_of(run) if one.direction == "write"]
        if placed is None or run.status != "complete" or not rates:
            left_out += 1
        else:
            found.setdefault(placed, []).append((run, rates[0].series.median))
    if left_out:
        warn(f"{plural(left_out, 'run')} left out: not complete, or not in a pool of such a test")
    values = {placed: [rate for _, rate in runs] for placed, runs in found.items()}
    return Results(
        {placed: statistics.median(rates) for placed, rates in values.items()},
        tuple(run for runs in found.values() for run, _ in runs),
        _scatter_of(list(values.values())),
    )


def _scatter_of(values: Sequence[Sequence[float]]) -> float | None:
    """Returns the standard deviation of one run, in shares; None with too few repetitions."""
    repeated = [np.log(one) for one in values if len(one) > 1]
    beyond = sum(len(one) - 1 for one in repeated)
    if beyond < LEAST_REPEATED:
        return None
    squares = sum(float(np.sum((one - one.mean()) ** 2)) for one in repeated)
    return max(math.sqrt(squares / beyond), 1e-3)


def _proposal(one: NextTest, settings: Mapping[str, Value], follows: tuple[str, ...]) -> Proposal:
    low, high = one.expected.low, one.expected.high
    return Proposal(
        settings=settings,
        goal=one.goal,
        motivation=one.motivation,
        expects=f"write {rate_text(one.expected.value)} ({range_text(low, high)})",
        expected=(
            ExpectedResult(
                direction="write",
                bytes_per_second=one.expected.value,
                low_bytes_per_second=low,
                high_bytes_per_second=high,
            ),
        ),
        decides=one.decides,
        seconds=one.seconds,
        bits=one.bits,
        follows=follows,
    )


def _seconds(search: ConstantsSearch, placed: Placed, rates: Sequence[float]) -> float:
    moved = placed.tasks * search.bytes_per_task
    return sum(search.setup_seconds + moved / float(rate) for rate in rates)


def _parts_text(search: ConstantsSearch) -> str:
    layout = search.layout
    return (
        f"{plural(layout.servers, 'server')} with {plural(layout.targets_per_server, 'target')} "
        f"each, behind {plural(layout.controllers, 'controller')}"
    )


def _tell(console: Console, number: int, one: NextTest) -> None:
    about = duration_text(one.seconds)
    _say(
        console,
        f"Step {number}: {one.placed.text} ({one.goal}, about {about}, {one.bits:.2f} bits)",
    )
    _say(console, f"  motivation: {one.motivation}")
    _say(console, f"  expected: {rate_text(one.expected.value)} ({_interval(one.expected)})")
    _say(console, f"  decides: {one.decides}")


def _tell_result(console: Console, one: NextTest, measured: float, search: ConstantsSearch) -> None:
    where = "inside" if one.expected.low <= measured <= one.expected.high else "outside"
    _say(console, f"  got: {rate_text(measured)}, {where} what was expected")
    for text in _known_texts(search):
        _say(console, f"  now: {text}")


def _interval(one: Quantity) -> str:
    return range_text(one.low, one.high)


def _known_texts(search: ConstantsSearch) -> Iterator[str]:
    limit = search.limit
    yield (
        f"the whole delivers at most {significant(limit.value)} targets' rate "
        f"({significant(limit.low)} to {significant(limit.high)})"
    )
    added = ", ".join(f"{rate_text(one.value)} ({_interval(one)})" for one in search.shares)
    yield f"the targets of a server add {added}"


def _table(before: Constants, found: Constants, truth: Constants) -> Table:
    """Returns each constant as it was believed, as it was found, and as it was simulated."""
    table = plain_table("=constant", ">believed", ">found", "=95 %", ">simulated")
    servers = range(1, len(found.server_bytes_per_second) + 1)
    names: dict[str, Callable[[float], str]] = {
        "limit of the whole, targets": significant,
        **{f"server with {plural(count, 'busy target')}": rate_text for count in servers},
        "target with very many tasks": rate_text,
        "tasks at half of that fall": significant,
        "width of that fall, tasks": significant,
        "controller": rate_text,
    }
    figures = zip(before.in_order, found.in_order, truth.in_order, strict=True)
    for (name, text), (old, new, true) in zip(names.items(), figures, strict=True):
        interval = f"{text(new.low)} to {text(new.high)}"
        table.add_row(name, text(old.value), text(new.value), interval, text(true.value))
    return table


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
