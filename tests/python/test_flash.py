"""``weir bench flash`` end to end: FLASH's files as h5py finds them, and two throughputs."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from mpi_marks import needs_pnetcdf
from numpy.typing import NDArray
from own_stager import start_service

from output_runs import TWICE, elements, kept, run_workload, same_bits
from report_reader import read_report
from test_cli_real import weir
from test_striping import bench
from weir.results.figures import figures_of
from weir.results.folder import find_run_folders, load_run
from weir.results.schema import Run

CELLS = ("--nxb", "4", "--nyb", "3", "--nzb", "2")
SMALL = ("--blocks", "2.5", *CELLS, "--checkpoints", "2", "--plots", "3")
BLOCKS = 10
BOTH_RATES = [("write", "span"), ("write", "foreground")]
TREE = {
    "refine level": ((BLOCKS,), "int32"),
    "node type": ((BLOCKS,), "int32"),
    "gid": ((BLOCKS, 15), "int32"),
    "which child": ((BLOCKS,), "int32"),
    "processor number": ((BLOCKS,), "int32"),
}
TABLES = {
    "integer scalars": (6, "<i4"),
    "real scalars": (2, "<f8"),
    "logical scalars": (1, "<i4"),
    "string scalars": (1, "S80"),
    "integer runtime parameters": (4, "<i4"),
    "real runtime parameters": (7, "<f8"),
    "logical runtime parameters": (1, "<i4"),
    "string runtime parameters": (7, "S80"),
}
"""Rows, and the type of their values."""
PLACES = {"coordinates": (BLOCKS, 3), "block size": (BLOCKS, 3), "bounding box": (BLOCKS, 3, 2)}
VARIABLES = ("dens", "eint", "ener", "gamc", "game", "pres", "temp", "velx", "vely", "velz")
PLOTTED = ("dens", "pres", "temp")
NETCDF_NAMES = {"lrefine", "nodetype", "gid", "coordinates", "blocksize", "bndbox"}


def flash(folder: Path, *words: str, variables: dict[str, str]) -> dict[str, Run]:
    return run_workload(folder, "flash", *SMALL, *words, variables=variables)


def expected(run: Run, file: int, variable: int, dtype: str) -> NDArray[Any]:
    """A variable of a file of the last repetition, of which there are two."""
    return elements(run, file * len(VARIABLES) + variable, (BLOCKS, 2, 3, 4), dtype)


@pytest.mark.parametrize("api", ["hdf5", "weir-hdf5"])
def test_h5py_finds_the_arrays_of_flash(api: str, tmp_path: Path) -> None:
    (run,) = flash(tmp_path, "--api", api, "--keep", variables={}).values()
    files = kept(tmp_path, api)
    names = [f"sedov_hdf5_chk_{i:04}" for i in range(2)]
    names += [f"sedov_hdf5_plt_cnt_{i:04}" for i in range(3)]
    assert sorted(one.name for one in files.iterdir()) == names
    for number, name in enumerate(names):
        plot = "plt" in name
        variables = PLOTTED if plot else VARIABLES
        reals = "float32" if plot else "float64"
        arrays = {**TREE, **{one: (shape, reals) for one, shape in PLACES.items()}}
        arrays["unknown names"] = ((len(variables), 1), "|S4")
        for table, (rows, kind) in TABLES.items():
            arrays[table] = ((rows,), f"[('name', 'S80'), ('value', '{kind}')]")
        arrays |= dict.fromkeys(variables, ((BLOCKS, 2, 3, 4), reals))
        with h5py.File(files / name) as file:
            found = {one: (file[one].shape, str(file[one].dtype)) for one in file}
            # Dimensions with names are datasets too.
            (about,) = file["sim info"][...]
            assert about["file format version"] == 9
            del found["sim info"]
            assert {one: found[one] for one in found if not one.startswith("dim_")} == arrays
            assert_tables_are_right(file)
            assert [one.decode() for one in file["unknown names"][:, 0]] == list(variables)
            assert_tree_is_right(file)
            for one in variables:
                wanted = expected(run, number, VARIABLES.index(one), reals)
                assert same_bits(file[one][...], wanted), (name, one)


def assert_tables_are_right(file: h5py.File) -> None:
    """The domain is a row of two cubes."""
    integers, reals, texts = (
        {row["name"].decode(): row["value"] for kind in ("scalars", "runtime parameters")
         for row in file[f"{values} {kind}"][...]}
        for values in ("integer", "real", "string")
    )  # fmt: skip
    wanted = {"nxb": 4, "nyb": 3, "nzb": 2, "globalnumblocks": BLOCKS, "nblockx": 2, "nblocky": 1}
    assert {name: integers[name.ljust(80)] for name in wanted} == wanted
    assert [reals[f"{axis}max".ljust(80)] for axis in "xyz"] == [2, 1, 1]
    assert texts["geometry".ljust(80)] == b"cartesian".ljust(80)


def assert_tree_is_right(file: h5py.File) -> None:
    """Ten blocks are two roots, of which one has eight children."""
    level, kind, gid = (file[name][...] for name in ("refine level", "node type", "gid"))
    (parent,) = np.flatnonzero(kind != 1)
    assert sorted(level) == [1, 1] + [2] * 8
    assert kind[parent] == 2
    children = gid[parent, 7:] - 1
    assert list(level[children]) == [2] * 8
    assert list(gid[children, 6]) == [parent + 1] * 8
    bounds, size, middle = (file[n][...] for n in ("bounding box", "block size", "coordinates"))
    assert np.array_equal(bounds[..., 1] - bounds[..., 0], size)
    assert np.array_equal(bounds.mean(axis=2), middle)
    assert size[kind == 1].prod(axis=1).sum() == 2.0
    counts = np.bincount(file["processor number"][...])
    assert sorted(counts) == [2, 2, 3, 3]


@pytest.mark.parametrize("api", [pytest.param("pnetcdf", marks=needs_pnetcdf), "weir-cdf5"])
def test_netcdf_has_the_arrays_of_flash(api: str, tmp_path: Path) -> None:
    import weir as weir_library  # noqa: PLC0415

    (run,) = flash(tmp_path, "--api", api, "--keep", variables={}).values()
    files = kept(tmp_path, api)
    assert len(list(files.iterdir())) == 5
    with weir_library.open(files / "sedov_ncmpi_plt_cnt_0002.nc") as file:
        assert set(file) == NETCDF_NAMES | set(PLOTTED)
        found = np.asarray(file["temp"][...])
        assert same_bits(found.astype("float32"), expected(run, 4, 6, "float32"))


def test_stagers_of_a_service_store_the_same_files(tmp_path: Path) -> None:
    stagers = start_service(2)
    try:
        words = ("--staging", "none,service", "--service", str(stagers.rendezvous), "--keep")
        runs = flash(tmp_path, "--api", "weir-hdf5", *words, variables={})
        stagers.wait_until_stored()
    finally:
        stagers.kill()
    assert set(runs) == {"weir-hdf5", "weir-hdf5 staged by a service"}
    for run in runs.values():
        assert run.verification.bytes_verified == 2 * run.plan.disk_bytes_total
    plain, staged = (kept(tmp_path, f"weir-hdf5{how}") for how in ("", "-staged-service"))
    names = sorted(one.name for one in plain.iterdir())
    assert names == sorted(one.name for one in staged.iterdir())
    assert len(names) == 5


def test_stagers_in_the_place_of_ranks_store_the_same_files(tmp_path: Path) -> None:
    """All configurations run on the other ranks."""
    words = ("--api", "hdf5,weir-hdf5", "--staging", "none,ranks", "--keep")
    folder = tempfile.mkdtemp(prefix="weir-test-")  # the path of a socket is short
    runs = flash(tmp_path, *words, variables={"WEIR_STAGER_SOCKET": f"{folder}/stager"})
    assert set(runs) == {"hdf5", "weir-hdf5", "weir-hdf5 staged by ranks"}
    for run in runs.values():
        assert run.plan.ranks == len(run.nodes[0].ranks) == 3
        assert run.verification.bytes_verified == 2 * run.plan.disk_bytes_total
    plain, staged = (kept(tmp_path, f"weir-hdf5{how}") for how in ("", "-staged-ranks"))
    for one in plain.iterdir():
        with h5py.File(one) as mine, h5py.File(staged / one.name) as other:
            assert set(mine) == set(other)
            assert np.array_equal(mine["gid"][...], other["gid"][...])
    assert not list(Path(folder).iterdir()), "the stager has ended, and nothing of it is left"


@pytest.mark.parametrize("ranks", ["plan", "run"])
def test_a_node_of_one_rank_has_no_place_for_a_stager(ranks: str, tmp_path: Path) -> None:
    words = ("--plan", "--ranks", "1") if ranks == "plan" else ()
    started = 0 if ranks == "plan" else 1
    refused = bench(tmp_path, "flash", "--staging", "ranks", *words, ranks=started)
    assert refused.returncode == 2
    (line,) = [one for one in refused.stderr.splitlines() if one.startswith("weir-bench: ")]
    assert "1 rank of each node" in line


@pytest.mark.parametrize("words", [("--staging", "service"), ("--service", "here")])
def test_a_service_needs_its_place(words: tuple[str, ...], tmp_path: Path) -> None:
    refused = bench(tmp_path, "flash", *words)
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert "--staging" in line
    assert "--service" in line


def test_a_journal_is_for_staged_files(tmp_path: Path) -> None:
    refused = bench(tmp_path, "flash", "--durability", "journal")
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert "--durability journal is for staged files: add node or service to --staging" in line


def test_staging_hides_storing_and_the_files_are_the_same(
    tmp_path: Path, stager: dict[str, str]
) -> None:
    words = ("--api", "hdf5,weir-hdf5,weir-cdf5", "--staging", "none,node", "--work", "0.05")
    runs = flash(tmp_path, *words, "--keep", variables=stager)
    assert set(runs) == {"hdf5", *(f"{one}{how}" for one in ("weir-hdf5", "weir-cdf5")
                                   for how in ("", " staged"))}  # fmt: skip
    for label, run in runs.items():
        assert run.outputs is not None
        assert run.outputs.blocks == BLOCKS
        assert run.outputs.staged == label.endswith("staged")
        # Five files of each of two repetitions were read back.
        assert run.verification.bytes_verified == 2 * run.plan.disk_bytes_total
        assert [one.files for one in run.outputs.streams] == [2, 3]
        for stream, phase in zip(run.outputs.streams, run.plan.phases, strict=True):
            assert stream.files * stream.bytes_per_file == phase.bytes_total
            assert stream.observed.median > 0
            assert stream.storage.median > 0
            # A file that was handed over is closed after it is stored.
            assert run.outputs.staged or stream.observed.median >= stream.storage.median
            assert (stream.hidden_fraction is None) != run.outputs.staged
            assert (stream.stager_wait is None) != run.outputs.staged
        waits = [one for one in figures_of(run) if one.metric == "stager_wait"]
        assert [one.function for one in waits] == ["checkpoint", "plot"] * run.outputs.staged
        # What a rank waits is a part of what it is blocked.
        for wait in waits:
            blocked = [phase.foreground_seconds.max for one in run.repetitions if not one.warmup
                       for phase in one.phases if phase.function == wait.function]  # fmt: skip
            assert 0 < max(wait.series.values) <= max(blocked)
        assert run.outputs.work.median > 0
    plain, staged = (kept(tmp_path, f"weir-hdf5{how}") for how in ("", "-staged"))
    for one in plain.iterdir():
        with h5py.File(one) as mine, h5py.File(staged / one.name) as other:
            assert set(mine) == set(other)
            assert np.array_equal(mine["gid"][...], other["gid"][...])


def test_weir_bench_shows_both_throughputs_and_leaves_no_files(tmp_path: Path) -> None:
    words = ("-n", "2", "--api", "weir-hdf5,weir-cdf5", "--work", "0.01", *SMALL, *TWICE)
    status, out, err = weir(tmp_path, "bench", "flash", *words, "--output", "results")
    assert status == 0, out + err
    assert [entry.name for entry in tmp_path.iterdir()] == ["results"]
    runs = [load_run(folder) for folder in find_run_folders(tmp_path / "results")]
    assert len(runs) == 2
    for run in runs:
        assert run.expectation is not None
        assert [one.key for one in run.expectation.rates] == BOTH_RATES
        assert run.verdict is not None
        assert [one.key for one in run.verdict.rates] == BOTH_RATES
    assert "2 checkpoint" in out
    said = " ".join(out.split())
    # Each rate has its own calls on files, which block the ranks for less time than storing takes.
    assert said.count("Expected write") == 4
    assert said.count("observed, over the time blocked), limited by") == 2
    for run in runs:
        assert run.expectation is not None
        for rate in run.expectation.rates:
            assert "calls on files" in [stage.name for stage in rate.stages]
    assert said.index("observed, over the time") < said.index("write observed")
    page = read_report(tmp_path / "results" / "report.html")
    # One table for the job, and one for each run.
    parts = page.find("div", aria_label="What the program observes of its output")
    assert len(parts) == 3
    assert all("3 plot" in part.text for part in parts)
    assert "The path of a write, as the program observes it" in page.text


def planned(folder: Path, *words: str, ranks: int) -> list[dict[str, Any]]:
    answer = bench(folder, "flash", *words, "--plan", "--ranks", str(ranks))
    assert answer.returncode == 0, answer.stderr
    configurations: list[dict[str, Any]] = json.loads(answer.stdout)["configurations"]
    return configurations


def test_the_plan_has_the_sizes_of_the_paper(tmp_path: Path) -> None:
    """Vishwanath et al. (SC 2011), section 6.1: 12 GiB and 1.8 GiB on 4096 cores, in 11 files."""
    ranks = 64
    (one,) = planned(tmp_path, ranks=ranks)
    assert one["plan"]["files"] == 11
    assert one["plan"]["ranks_per_file"] == ranks
    checkpoint, plot = (phase["bytes_total"] / ranks * 4096 for phase in one["plan"]["phases"])
    assert checkpoint / 5 / 2**30 == pytest.approx(12, rel=0.02)
    assert plot / 6 / 2**30 == pytest.approx(1.8, rel=0.02)
