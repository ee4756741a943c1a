"""`weir results findings`: which findings of MADbench2's study results show, and which not."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from synthetic import make_events, make_run, write_run_folder
from weir.analysis.findings import FOUND, NOT_FOUND, UNDECIDED, Judgement, ratio_of
from weir.analysis.madbench_findings import judge
from weir.analysis.madbench_runs import Observed, observed
from weir.cli import application
from weir.results.folder import load_run, write_run
from weir.results.message_records import Messages
from weir.results.schema import EffectiveRate, Parameter, Rate, Run
from weir.results.statistics import median_interval

TEMPLATE = make_run()
MIB = float(2**20)
GIVEN: dict[str, Any] = {
    "pixels": 25000,
    "iomethod": "POSIX",
    "filetype": "UNIQUE",
    "iomode": "SYNC",
    "read-modulus": 1,
    "write-modulus": 1,
    "busy-work-exponent": 0.01,
    "drop-cache": True,
}
SPREAD = 0.03


class Laboratory:
    """Makes runs of known rates, with noise from a seed."""

    def __init__(self, seed: int = 1, spread: float = SPREAD) -> None:
        self.random = random.Random(seed)
        self.spread = spread
        self.made: list[tuple[str, Run]] = []

    def run(
        self,
        job: str,
        rates: dict[str, float],
        *,
        repetitions: int = 3,
        ranks: int = 16,
        memory: str = "storage",
        filled: float = 0.36,
        layout: Any = "unknown",
        effective: Sequence[EffectiveRate] = (),
        **settings: Any,
    ) -> None:
        """Adds a run; ``rates`` are the true ones by direction."""
        given = GIVEN | {name.replace("_", "-"): value for name, value in settings.items()}
        metric = "foreground" if given["iomode"] == "ASYNC" else "span"
        found = [
            Rate.of(
                [rate * self.random.lognormvariate(0, self.spread) for _ in range(repetitions)],
                direction=direction,
                metric=metric,
                headline=True,
            )
            for direction, rate in rates.items()
        ]
        memory_bytes = 64 * 2**30
        hardware = {"memory": {"bytes": memory_bytes}}
        assert TEMPLATE.environment is not None
        changes = {
            "parameters": {
                name: Parameter(value=value, origin="command line") for name, value in given.items()
            },
            "plan": TEMPLATE.plan.model_copy(
                update={
                    "ranks": ranks,
                    "memory_bytes_total": round(filled * memory_bytes * len(TEMPLATE.nodes)),
                }
            ),
            "rates": found,
            "effective": list(effective),
            "started_utc": f"2026-11-26T00:{len(self.made) // 60:02d}:{len(self.made) % 60:02d}Z",
            "environment": TEMPLATE.environment.model_copy(
                update={
                    "hardware": hardware,
                    "file_system": {**TEMPLATE.environment.file_system, "layout": layout},
                }
            ),
            "repetitions": [
                one.model_copy(
                    update={
                        "phases": [
                            phase.model_copy(
                                update={"cache": phase.cache.model_copy(update={"verdict": memory})}
                            )
                            for phase in one.phases
                        ]
                    }
                )
                for one in TEMPLATE.repetitions[:2]
            ],
        }
        self.made.append((job, TEMPLATE.model_copy(update=changes)))

    def runs(self) -> list[Observed]:
        return observed(self.made)


def both(rate: float) -> dict[str, float]:
    return {"write": rate, "read": rate}


def words(runs: Sequence[Observed], part: str) -> set[str]:
    found = {one.word for one in judge(runs) if part in one.finding}
    assert found, f"nothing is judged of {part!r}"
    return found


def in_one_job(name: str, values: tuple[str, str], ratio: float, **more: Any) -> list[Observed]:
    """Three jobs of two configurations; the second one reaches ``ratio`` of the first."""
    made = Laboratory(**{key: more.pop(key) for key in ("seed", "spread") if key in more})
    for job in range(3):
        for value, rate in zip(values, (100 * MIB, ratio * 100 * MIB), strict=True):
            made.run(f"job {job}", both(rate), **{name: value}, **more)
    return made.runs()


@pytest.mark.parametrize(
    ("ratio", "interfaces", "files"),
    [
        (1.0, FOUND, FOUND),
        (0.5, NOT_FOUND, NOT_FOUND),
        (0.9, UNDECIDED, FOUND),
        (0.8, NOT_FOUND, UNDECIDED),
        (1.6, NOT_FOUND, FOUND),
    ],
)
def test_configurations_of_one_job(ratio: float, interfaces: str, files: str) -> None:
    """What is as near to the bound as the noise is not decided; a faster shared file is found."""
    alike = in_one_job("iomethod", ("POSIX", "MPI"), ratio)
    assert words(alike, "POSIX and MPI-IO are alike: 16 ranks, UNIQUE, write") == {interfaces}
    shared = in_one_job("filetype", ("UNIQUE", "SHARED"), ratio)
    assert words(shared, "as fast as unique files: 16 ranks, POSIX, write") == {files}


def test_too_few_pairs_and_bytes_of_memory_decide_nothing() -> None:
    few = in_one_job("iomethod", ("POSIX", "MPI"), 1.0, repetitions=1)
    assert words(few, "POSIX and MPI-IO are alike") == {UNDECIDED}
    cached = in_one_job("iomethod", ("POSIX", "MPI"), 1.0, memory="memory")
    assert words(cached, "are alike: 16 ranks, UNIQUE, read") == {UNDECIDED}
    assert words(cached, "are alike: 16 ranks, UNIQUE, write") == {FOUND}
    apart = in_one_job("iomethod", ("POSIX", "MPI"), 1.0)
    elsewhere = [Observed(one.settings.interface, one.settings, one.run) for one in apart]
    assert words(elsewhere, "are alike: 16 ranks") == {UNDECIDED}, "these were no neighbours"


def test_runs_that_keep_the_cache_are_judged_by_themselves() -> None:
    """Otherwise one campaign that memory served would leave the others undecided."""
    dropped = in_one_job("iomethod", ("POSIX", "MPI"), 1.0)
    kept = in_one_job("iomethod", ("POSIX", "MPI"), 0.4, drop_cache=False, memory="memory")
    runs = [*dropped, *(Observed(f"other {o.job}", o.settings, o.run) for o in kept)]
    assert words(runs, "are alike: 16 ranks, UNIQUE, read") == {FOUND}
    assert words(runs, "are alike: 16 ranks, UNIQUE, cache not dropped, read") == {UNDECIDED}


@pytest.mark.parametrize(("ratio", "word"), [(1.2, FOUND), (0.8, NOT_FOUND), (0.95, UNDECIDED)])
def test_writes_beside_reads(ratio: float, word: str) -> None:
    made = Laboratory()
    for job in range(3):
        made.run(str(job), {"write": ratio * MIB, "read": MIB})
    assert words(made.runs(), "writes are not slower") == {word}


def over_ranks(rates: dict[int, float], **more: Any) -> list[Observed]:
    made = Laboratory(**more)
    for _ in range(6):
        for ranks, rate in rates.items():
            made.run("", both(rate), ranks=ranks, pixels=round(6250 * ranks**0.5), repetitions=1)
    return made.runs()


@pytest.mark.parametrize(
    ("rates", "saturates", "lost"),
    [
        ({16: 100, 64: 400, 256: 420, 1024: 400}, FOUND, FOUND),
        ({16: 100, 64: 400, 256: 420, 1024: 200}, FOUND, NOT_FOUND),
        ({16: 100, 64: 400, 256: 1600, 1024: 6000}, NOT_FOUND, None),
        ({16: 100, 64: 390, 256: 390, 1024: 682}, UNDECIDED, None),
        ({16: 400, 64: 380, 256: 390, 1024: 385}, FOUND, FOUND),
    ],
)
def test_rates_over_ranks(rates: dict[int, float], saturates: str, lost: str | None) -> None:
    runs = over_ranks({ranks: rate * MIB for ranks, rate in rates.items()})
    assert words(runs, "saturates within") == {saturates}
    found = {one.word for one in judge(runs) if "little is lost" in one.finding}
    assert found == ({lost} if lost else set())


def test_runs_of_another_size_per_rank_are_left_out_of_a_curve() -> None:
    runs = over_ranks({16: 100 * MIB, 64: 400 * MIB, 256: 420 * MIB})
    odd = Laboratory()
    for _ in range(6):
        odd.run("", both(9000 * MIB), ranks=1024, pixels=700, repetitions=1)
    curve = [one for one in judge([*runs, *odd.runs()]) if "saturates within" in one.finding]
    assert {one.word for one in curve} == {FOUND}
    assert all("1024" not in one.figures for one in curve)


@pytest.mark.parametrize(
    ("ratio", "filled", "word"),
    [
        (0.95, (0.36, 0.71), FOUND),
        (0.6, (0.36, 0.71), NOT_FOUND),
        (0.95, (0.02, 0.04), UNDECIDED),
    ],
)
def test_sparse_beside_dense(ratio: float, filled: tuple[float, float], word: str) -> None:
    made = Laboratory()
    for _ in range(6):
        for pixels, rate, share in ((25000, 1.0, filled[0]), (35000, ratio, filled[1])):
            made.run("", both(rate * MIB), pixels=pixels, filled=share, repetitions=1)
    assert words(made.runs(), "sparse and dense") == {word}


@pytest.mark.parametrize(("ratio", "word"), [(0.7, FOUND), (1.0, FOUND), (1.5, NOT_FOUND)])
def test_moduli(ratio: float, word: str) -> None:
    made = Laboratory(spread=0.01)
    for _ in range(6):
        for modulus, rate in ((1, 1.0), (4, ratio)):
            given = {"read_modulus": modulus, "write_modulus": modulus}
            made.run("", both(rate * MIB), repetitions=1, **given)
    assert words(made.runs(), "move data at the same time") == {word}


def test_runs_are_paired_with_their_neighbours_in_time() -> None:
    """Six earlier runs of a slower day, with the usual modulus, are compared with nothing."""
    made = Laboratory(spread=0.01)
    for _ in range(6):
        made.run("", both(MIB / 3), repetitions=1)
    for _ in range(6):
        for modulus in (1, 4):
            given = {"read_modulus": modulus, "write_modulus": modulus}
            made.run("", both(MIB), repetitions=1, **given)
    assert words(made.runs(), "move data at the same time") == {FOUND}


@pytest.mark.parametrize(("ratio", "word"), [(8.0, FOUND), (1.0, NOT_FOUND)])
def test_stripes(ratio: float, word: str) -> None:
    made = Laboratory()
    for _ in range(6):
        for count, rate in (("8", 1.0), ("all", ratio)):
            given = {"stripe_count": count, "filetype": "SHARED"}
            made.run("", both(rate * MIB), repetitions=1, **given)
    assert words(made.runs(), "striping over more targets makes") == {word}


def striped(counts: dict[str, tuple[float, float]], **more: Any) -> list[Observed]:
    """Runs by stripes, with the rates of unique files and of a shared one."""
    made = Laboratory(spread=0.01)
    for _ in range(6):
        for count, rates in counts.items():
            for files, rate in zip(("UNIQUE", "SHARED"), rates, strict=True):
                given = {"stripe_count": count, "filetype": files, **more}
                made.run("", both(rate * MIB), repetitions=1, **given)
    return made.runs()


@pytest.mark.parametrize(
    ("unique", "shared", "loses", "tuned"),
    [
        (0.7, 1.0, FOUND, FOUND),
        (1.0, 0.5, NOT_FOUND, NOT_FOUND),
        (0.95, 0.8, UNDECIDED, UNDECIDED),
    ],
)
def test_stripes_of_unique_files(unique: float, shared: float, loses: str, tuned: str) -> None:
    """The rates over all targets are in shares of unique files on 8 targets."""
    runs = striped({"8": (1.0, 0.2), "12": (9.0, 9.0), "all": (unique, shared)})
    assert words(runs, "unique files are slower") == {loses}
    assert words(runs, "a shared file with the most stripes") == {tuned}
    one_count = striped({"8": (1.0, 0.2)})
    assert words(one_count, "stripes") == {UNDECIDED}


@pytest.mark.parametrize(
    ("few", "many"),
    [
        ({"stripe_count": 8}, {"stripe_count": -1}),
        ("stripe_unit=1 stripe_count=1 pool=a", "stripe_unit=1 stripe_count=4 pool=a"),
    ],
)
def test_folders_that_were_striped_beforehand(few: Any, many: Any) -> None:
    made = Laboratory(spread=0.01)
    for _ in range(6):
        for layout, folder, rate in ((few, "/few", 1.0), (many, "/many", 8.0)):
            given = {"filetype": "SHARED", "directory": folder}
            made.run("", both(rate * MIB), repetitions=1, layout=layout, **given)
    assert words(made.runs(), "striping over more targets makes") == {FOUND}
    made = Laboratory()
    made.run("", both(MIB), layout={"components": []}, filetype="SHARED")
    assert [one.settings.stripes for one in made.runs()] == [""]


def with_messages(kept: dict[str, float], *, ranks: int = 16, spread: float = 0.01) -> Run:
    """An ASYNC run beside messages that kept these shares of the rates alone."""
    made = Laboratory(spread=spread)
    made.run("", both(MIB), iomode="ASYNC", messages=2**20, ranks=ranks)
    kinds = []
    for moved, share in kept.items():
        values = [share * made.random.lognormvariate(0, spread) for _ in range(6)]
        median, low, high, confidence = median_interval(values)
        record = {"values": values, "median": median, "low": low, "high": high}
        kinds.append(
            {
                "moved": moved,
                "alone": None,
                "together": None,
                "together_share": 0.9,
                "kept": {**record, "confidence": confidence},
            }
        )
    messages = Messages.model_validate({"alone_run_id": "sync", "kinds": kinds})
    return made.made[0][1].model_copy(update={"messages": messages})


def test_messages_beside_transfers() -> None:
    runs = observed([("job", with_messages({"messages": 0.5, "write": 1.0, "read": 0.95}))])
    assert words(runs, "slow each other: 16 ranks, POSIX, UNIQUE, messages") == {FOUND}
    assert words(runs, "slow each other: 16 ranks, POSIX, UNIQUE, writes") == {NOT_FOUND}
    assert words(runs, "slow each other: 16 ranks, POSIX, UNIQUE, reads") == {UNDECIDED}
    told = [one.figures for one in judge(runs) if "slow each other" in one.finding]
    assert all("of 6 pairs (97 %) kept; 90 % of the bytes travelled so" in one for one in told)


def test_runs_with_messages_are_none_of_the_other_experiments() -> None:
    made = Laboratory()
    for job in range(3):
        for value, rate in (("POSIX", MIB), ("MPI", MIB / 2)):
            made.run(str(job), both(rate), iomethod=value, messages=2**20)
    assert words(made.runs(), "POSIX and MPI-IO are alike") == {UNDECIDED}


def over_exponents(share: Callable[[float], float], *, repetitions: int = 6) -> list[Observed]:
    """``share``: of what can be hidden, at an exponent."""
    made = Laboratory(spread=0.005)
    bins = 8
    for step in range(11):
        exponent = 1 + step / 20
        rate = MIB / (1 - share(exponent) * (1 - 1 / bins))
        effective = [
            EffectiveRate(
                direction=direction,
                eaar_bytes_per_second=rate,
                synchronous_bytes_per_second=MIB,
                synchronous_run_id=None,
                bins=bins,
                nbin_multiple_bytes_per_second=bins * MIB,
            )
            for direction in ("write", "read")
        ]
        given = {"busy_work_exponent": exponent, "iomode": "ASYNC", "repetitions": repetitions}
        made.run(str(step), both(rate), effective=effective, **given)
    return made.runs()


@pytest.mark.parametrize(
    ("begins", "near", "between", "hides"),
    [
        (1.34, FOUND, FOUND, FOUND),
        (1.1, NOT_FOUND, NOT_FOUND, FOUND),
        (1.46, FOUND, NOT_FOUND, FOUND),
        (9.0, FOUND, NOT_FOUND, NOT_FOUND),
    ],
)
def test_exponents(begins: float, near: str, between: str, hides: str) -> None:
    runs = over_exponents(lambda exponent: 0.97 if exponent >= begins else 0.05)
    assert words(runs, "only near BLAS 3") == {near}
    assert words(runs, "from an exponent of 1.3 to 1.4 on") == {between}
    assert words(runs, "all but one of NBIN transfers") == {hides}
    assert words(runs, "with BLAS 2 the effective rate") == {FOUND}
    early = over_exponents(lambda _: 0.9)
    assert words(early, "with BLAS 2 the effective rate") == {NOT_FOUND}
    few = over_exponents(lambda exponent: 0.97 if exponent >= begins else 0.05, repetitions=3)
    assert words(few, "BLAS") == {UNDECIDED}


def test_without_results_every_finding_stands_undecided() -> None:
    judgements = judge([])
    assert len(judgements) == 11
    assert {one.word for one in judgements} == {UNDECIDED}
    assert all("there are no results of" in one.figures for one in judgements)


def test_wrong_verdicts_are_rare() -> None:
    """At a finding's own bound, where it is hardest, each wrong word comes in at most 5 %."""
    source = random.Random(7)
    trials = 3000
    for pairs in (6, 9):
        said = [
            ratio_of([(0.9 * source.lognormvariate(0, 0.3), 1.0) for _ in range(pairs)])
            for _ in range(trials)
        ]
        verdicts = [one.is_at_least(0.9) for one in said if one is not None]
        assert len(verdicts) == trials
        assert 0.005 < verdicts.count(True) / trials < 0.05
        assert 0.005 < verdicts.count(False) / trials < 0.05


def test_equal_interfaces_are_never_called_unlike_often() -> None:
    """Whole judgements over 150 noisy experiments in which nothing differs."""
    wrong = sum(
        one.holds is False
        for seed in range(150)
        for one in judge(in_one_job("iomethod", ("POSIX", "MPI"), 1.0, seed=seed, spread=0.15))
        if "are alike: 16" in one.finding
    )
    assert wrong <= 0.05 * 2 * 150


def test_a_fitted_finding_says_so() -> None:
    assert Judgement("a", "b", True, "c", fitted=True).word == "found, fitted"


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    made = Laboratory()
    for job in range(6):
        for name in ("POSIX", "MPI"):
            made.run(f"{job:04d}", both(MIB), repetitions=1, iomethod=name)
    events = make_events()
    for job, run in made.made:
        folder = tmp_path / job / run.parameters["iomethod"].value  # type: ignore[operator]
        write_run_folder(folder, TEMPLATE, events)
        write_run(folder, run.model_copy(update={"started_utc": f"2026-11-26T{job[2:]}:00:00Z"}))
    return tmp_path


def test_the_command(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_run(campaign / "0000" / "MPI").plan.ranks == 16
    words = ["results", "findings", str(campaign), str(campaign / "0001"), "--markdown"]
    application()(words, standalone_mode=False)
    rows = capsys.readouterr().out.splitlines()
    alike = [row for row in rows if "are alike: 16 ranks, UNIQUE" in row]
    assert len(alike) == 2
    assert all("| found |" in row and "of 6 pairs" in row for row in alike), alike
    application()(words[:-1], standalone_mode=False)
    said = capsys.readouterr().out
    assert "12 runs: " in said
    assert "found if MPI-IO's rate over POSIX's is within 10 % of 1" in " ".join(said.split())
