"""``--constants`` of ``weir next`` and ``weir explore``: the loop over a machine's constants."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from franklin_in_truth import ADDED, AFTER, MB, true_rate
from platforms import make_platform, make_stage
from synthetic import make_run
from weir.bench.errors import BenchError
from weir.cli import application
from weir.commands.constants import LEAST_REPEATED
from weir.errors import Error
from weir.follow_up.belief import LEAST_ODDS, Belief
from weir.follow_up.components import machine_of
from weir.follow_up.constants_search import ConstantsSearch, knows, simulated_rate
from weir.follow_up.placed_runs import known_pools, placed_of, pool_of
from weir.follow_up.shared_servers import Placed, candidates, layout_of
from weir.model.laws import Values
from weir.model.least_squares import Columns, Form, Free, Parameters
from weir.platform.files import SHIPPED, find_constants
from weir.results.constants import Constants, load_constants
from weir.results.folder import load_run, write_run
from weir.results.platform_file import load_platform, write_platform
from weir.results.record import Quantity
from weir.results.schema import Parameter, Rate, Run

Said = Callable[..., str]
FRANKLIN = load_platform(SHIPPED / "franklin.toml")
LAYOUT = layout_of(FRANKLIN)
TRUTH = ("--constants", "franklin", "--simulated", "franklin-after")


@pytest.fixture
def said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Said:
    """Calls weir in a folder of its own, and returns all that it prints."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> str:
        application()(list(words), standalone_mode=False)
        return "".join(capsys.readouterr())

    return call


def test_the_shipped_constants_are_those_of_the_paper() -> None:
    """The model at these constants has the rates of the paper's own equations."""
    truth = load_constants(find_constants("franklin-after"))
    for placed in candidates(LAYOUT):
        assert simulated_rate(truth, LAYOUT, placed) == pytest.approx(true_rate(placed)), placed


def test_explore_finds_the_limit_and_the_sharing_in_at_most_twelve_tests(said: Said) -> None:
    out = said("explore", *TRUTH)
    steps = re.findall(r"^Step (\d+): .*\((?:new region|confirm|refined method), about ", out, re.M)
    assert 1 < len(steps) <= 12
    for word in ("motivation", "expected", "decides", "got"):
        assert len(re.findall(f"^  {word}: ", out, re.M)) == len(steps)
    assert "Ended: the limit and what each target adds are known to 10 %" in out
    found = load_constants(Path("franklin-constants.toml"))
    assert found.limit_targets.value == pytest.approx(AFTER["o"], rel=0.1)
    assert found.limit_targets.low <= AFTER["o"] <= found.limit_targets.high
    rates = [0.0, *(one.value for one in found.server_bytes_per_second)]
    assert np.diff(rates) == pytest.approx(ADDED, abs=0.1 * ADDED[0])
    with pytest.raises(BenchError, match=r"franklin-constants\.toml exists: give another file"):
        said("explore", *TRUTH)


def test_explore_ends_with_its_budget_and_with_its_runs(said: Said) -> None:
    out = said("explore", *TRUTH, "--budget", "50s", "--runs", "1", "--output", "a.toml")
    assert "Ended: the budget ends: no test fits into the " in out
    (tests,) = re.findall(r"^(\d+) tests? of 1 run each", out, re.M)
    assert int(tests) == out.count("Step ")
    out = said("explore", *TRUTH, "--most", "5", "--output", "b.toml")
    assert "Ended: 5 runs were to be made at most" in out
    assert "\n1 test of 3 runs each" in out


def test_the_seed_decides_what_is_simulated(said: Said) -> None:
    words = ("explore", *TRUTH, "--most", "3", "--output")
    first, again, other = (
        said(*words, f"{name}.toml", "--seed", seed).replace(f"{name}.toml", "")
        for name, seed in (("a", "3"), ("b", "3"), ("c", "4"))
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("explore", *TRUTH[:2]), "give --constants NAME and --simulated NAME together"),
        (("explore", *TRUTH[2:]), "give --constants NAME and --simulated NAME together"),
        (("explore", "stream", *TRUTH), "without a workload"),
        (("explore", *TRUTH, "--output", "a.json"), "a.json does not end in .toml"),
        (("explore", *TRUTH, "--scatter", "much"), "--scatter much: give a share above 0"),
        (("explore", *TRUTH[:3], "nowhere"), "nowhere is neither a file nor shipped constants"),
        (("explore", *TRUTH[:3], "bad.toml"), "bad.toml is not TOML"),
        (("explore", *TRUTH[:3], "zero.toml"), "every constant must be above 0"),
        (("explore", *TRUTH[:3], "two.toml"), "up to 2 targets, and a server of franklin has 4"),
        (("explore", "--constants", "disk.toml", *TRUTH[2:]), "no stage of kind server"),
        (("next", "--constants", "disk.toml"), "disk has no edges"),
        (("next", "--constants", "franklin", "--time", "1s"), "no test of 3 runs fits into 1 s"),
        (("next", "--constants", "franklin", "--components", "franklin"), "give one of them"),
    ],
)
def test_mistakes_are_one_line(said: Said, words: tuple[str, ...], told: str) -> None:
    truth = find_constants("franklin-after").read_text()
    Path("bad.toml").write_text("limit_targets =")
    Path("zero.toml").write_text(truth.replace("limit_targets = 32", "limit_targets = 0"))
    Path("two.toml").write_text(truth.replace(", 213e6, 225e6]", "]"))
    disk = make_stage("disk", 1e8, kind="target", units=4, routes=["durable"])
    write_platform(Path("disk.toml"), make_platform([disk]).model_copy(update={"name": "disk"}))
    with pytest.raises(Error) as error:
        said(*words)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_every_test_has_a_pool_from_which_it_is_known_again() -> None:
    machine = machine_of(FRANKLIN)
    every = list(candidates(LAYOUT))
    pools = known_pools(machine, every)
    for placed in every:
        pool = pool_of(machine, placed)
        assert len(pool.targets) == len(set(pool.targets)) == placed.servers * placed.targets
        assert len(pool.name) <= 15, "Lustre allows no longer names"
        assert placed_of(placed_run(placed, 1e9), machine, pools) == placed
    whole = with_settings(placed_run(Placed(1, 4, 2, 1), 1e9), pool="weir-server-0")
    assert placed_of(whole, machine, pools) == Placed(1, 4, 2, 1), "of a component campaign"


@pytest.mark.parametrize(
    ("settings", "ranks"),
    [({"stripe-count": 4}, 4), ({"pool": "theirs"}, 4), ({}, 5)],
    ids=["striped", "another pool", "files on some targets only"],
)
def test_runs_that_are_no_such_test_are_left_out(
    settings: dict[str, int | str], ranks: int
) -> None:
    pools = known_pools(machine_of(FRANKLIN), candidates(LAYOUT))
    run = with_settings(placed_run(Placed(1, 4, 1, 1), 1e9, ranks=ranks), **settings)
    assert placed_of(run, machine_of(FRANKLIN), pools) is None


def with_settings(run: Run, **settings: int | str) -> Run:
    added = {
        name.replace("_", "-"): Parameter(value=value, origin="command line")
        for name, value in settings.items()
    }
    return run.model_copy(update={"parameters": run.parameters | added})


@functools.cache
def some_run() -> Run:
    return make_run()


def placed_run(placed: Placed, rate: float, *, ranks: int | None = None, number: int = 0) -> Run:
    """A run of one file of each rank on the targets of a test."""
    run = some_run()
    ranks = ranks or placed.tasks
    plan = run.plan.model_copy(update={"ranks": ranks, "files": ranks})
    rates = [Rate.of([rate], direction="write", metric="span", headline=True)]
    update = {"plan": plan, "rates": rates, "id": f"{placed}-{number}"}
    pool = pool_of(machine_of(FRANKLIN), placed).name
    return with_settings(run.model_copy(update=update), pool=pool, stripe_count=1)


def write_results(root: Path, repetitions: int, *tests: Placed) -> None:
    for place, placed in enumerate(tests):
        for number in range(repetitions):
            folder = root / f"{place}-{number}"
            folder.mkdir(parents=True)
            rate = true_rate(placed) * (1 + 0.01 * number)
            write_run(folder, placed_run(placed, rate, number=number))


def test_next_proposes_after_the_results_and_names_them(said: Said) -> None:
    tests = (Placed(1, 1, 1, 1), Placed(1, 2, 1, 1))
    write_results(Path("results"), 1, *tests)
    (Path("results") / "in no pool").mkdir()
    write_run(Path("results") / "in no pool", make_run())
    out = said("next", "results", "--constants", "franklin", "--most", "2", "--time", "1h")
    assert "2 tests of 2 runs; the scatter of a run is taken to be 2.0 %" in out
    assert "the targets of a server add 12" in out
    assert "1 run left out: not complete, or not in a pool of such a test" in out
    assert "of the possible constants the limit is" in out
    text = Path("franklin-constants-next.toml").read_text()
    assert text.count("[[purpose]]") == 2
    assert "lfs pool_add FS.weir-s" in text
    assert load_run(Path("results") / "1-0").id in text
    assert 'pool = "weir-s1t1c1"' not in text, "what is known is not asked first"


def test_the_scatter_is_that_of_repeated_tests(said: Said) -> None:
    """The last that is too few, and the first that is enough."""
    for number, word in ((LEAST_REPEATED, "taken"), (LEAST_REPEATED + 1, "found")):
        write_results(Path(f"of {number}"), number, Placed(1, 1, 1, 1))
        words = ("--constants", "franklin", "--most", "1", "--output", f"{number}.toml")
        out = said("next", f"of {number}", *words)
        assert f"the scatter of a run is {word} to be" in out


def test_an_explanation_that_is_improbable_is_not_known_but_still_tested() -> None:
    """Two parts may limit a rate; by the odds of 1 to 40, and a little more and less."""

    def seconds(values: Parameters, columns: Columns) -> Values:
        return np.asarray(1 / np.minimum(values[0] * columns["n"], values[1] + 0 * columns["n"]))

    form = Form(
        "two parts",
        (Free("each", "", 1, 1e6), Free("all", "", 1, 1e6)),
        seconds,
        lambda _columns, _observed: [],
    )
    believed = tuple(Quantity(value=value, low=value / 3, high=value * 3) for value in (10, 10))
    noise = 0.1
    wrong = noise * float(np.sqrt(-2 * np.log(LEAST_ODDS)))
    for factor, count in ((0.9, 2), (1.1, 1)):
        members = np.array([[10.0, 1e4], [1e4, 10.0 * np.exp(factor * wrong)]])
        belief = Belief(
            form, believed, 1, noise, {"n": np.array([1.0])}, (0.1,), members, explain=which
        )
        belief.__dict__["members"] = members
        belief.__dict__["_centre_and_deviations"] = (np.zeros(2), np.full(2, 1e6))
        assert len(belief.probable) == count
        assert len(belief.members) == 2


def which(members: Values, tests: Columns) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    first = members[:, :1] * np.asarray(tests["n"])
    return np.asarray(first > members[:, 1:], dtype=np.intp)


def test_known_means_narrow_intervals_of_all_that_is_asked() -> None:
    def around(value: float, width: float) -> Quantity:
        return Quantity(value=value, low=value - width, high=value + width)

    assert knows(around(32, 3.1), [around(128, 12), around(20, 12)], 0.1)
    assert not knows(around(32, 3.3), [around(128, 12), around(20, 12)], 0.1)
    assert not knows(around(32, 3.1), [around(128, 12), around(20, 13)], 0.1)


def test_a_search_says_what_it_found_as_constants() -> None:
    search = ConstantsSearch.of(
        FRANKLIN, scatter=0.02, runs=3, bytes_per_task=2e9, setup_seconds=4.0
    )
    believed = search.believed("franklin")
    assert [one.value for one in believed.server_bytes_per_second] == pytest.approx(
        [count * 192 * MB for count in (1, 2, 3, 4)]
    )
    assert Constants.model_validate(believed.model_dump()) == believed
    after = search.after(Placed(1, 1, 1, 1), 128 * MB)
    assert after.found("franklin").server_bytes_per_second[0].value == pytest.approx(
        128 * MB, rel=0.03
    )
    assert after.tested == (Placed(1, 1, 1, 1),)
    assert search.tested == ()
