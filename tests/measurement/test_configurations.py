"""Several configurations in one job: each has its own settings, all are interleaved."""

from __future__ import annotations

from collections.abc import Callable

from bench_runs import SMALL, Done

Bench = Callable[..., Done]
BOTH = ("--iomethod", "POSIX,MPI", "--iomode", "SYNC,ASYNC", "--filetype", "SHARED")


def test_every_run_has_its_own_settings_and_place(bench: Bench) -> None:
    done = bench(*SMALL, *BOTH, "--repetitions", "3", "--max-repetitions", "3")
    runs = {path.name: done.run(path.name) for path in done.results.iterdir() if path.is_dir()}
    assert set(runs) == {f"{m}-shared-{o}" for m in ("posix", "mpi") for o in ("sync", "async")}
    for slug, run in runs.items():
        method, file_type, mode = slug.upper().split("-")
        assert run.parameters["iomethod"].value == method
        assert run.parameters["filetype"].value == file_type
        assert run.parameters["iomode"].value == mode
        assert [repetition.warmup for repetition in run.repetitions] == [True, False, False, False]
    orders = sorted(r.order for run in runs.values() for r in run.repetitions)
    assert orders == list(range(16))
    # Interleaved: each round of four has one repetition of each configuration.
    for run in runs.values():
        assert [repetition.order // 4 for repetition in run.repetitions] == [0, 1, 2, 3]


def test_asynchronous_runs_stand_beside_their_synchronous_siblings(bench: Bench) -> None:
    done = bench(*SMALL, *BOTH, "--repetitions", "1", "--max-repetitions", "1")
    sync = done.run("posix-shared-sync")
    effective = {entry.direction: entry for entry in done.run("posix-shared-async").effective}
    assert sync.effective == []
    assert set(effective) == {"read", "write"}
    for direction, entry in effective.items():
        assert entry.synchronous_run_id == sync.id
        (rate,) = (
            rate
            for rate in sync.rates
            if rate.direction == direction and rate.metric == "foreground"
        )
        assert entry.synchronous_bytes_per_second == rate.median
        assert entry.nbin_multiple_bytes_per_second == entry.bins * rate.median


TWICE = ("--repetitions", "2", "--max-repetitions", "2", "--warmups", "0")


def test_the_same_seed_gives_the_same_order(bench: Bench) -> None:
    first = bench(*SMALL, *BOTH, *TWICE, "--seed", "5")
    orders = {
        path.name: [repetition.order for repetition in first.run(path.name).repetitions]
        for path in first.results.iterdir()
        if path.is_dir()
    }
    first.results.rename(first.folder / "first")
    second = bench(*SMALL, *BOTH, *TWICE, "--seed", "5")
    for slug, order in orders.items():
        assert [repetition.order for repetition in second.run(slug).repetitions] == order
