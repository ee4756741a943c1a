"""`weir results import`: outputs of other benchmarks become runs, or are refused in one line.

`tests/imports/README.md` says which of the outputs were recorded and which were composed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from synthetic_import import imported
from weir.analysis.compare import compare
from weir.cli import application
from weir.importing.recognition import read
from weir.importing.recording import MIB, Recording, Summary
from weir.model.verdict import verdict
from weir.report import write_report
from weir.results.changes import changes_of
from weir.results.errors import ResultError
from weir.results.figures import figures_of
from weir.results.finalize import finalize
from weir.results.folder import find_run_folders, load_run

SAMPLES = Path(__file__).resolve().parents[1] / "imports"
Said = Callable[..., tuple[str, str]]


def recordings(name: str) -> list[Recording]:
    return list(read(SAMPLES / name).recordings)


def rates(one: Recording) -> dict[tuple[str, str], list[float]]:
    return {(rate.direction, rate.metric): list(rate.values) for rate in one.rates}


def test_ior_has_its_own_rate_and_that_of_the_transfers_alone() -> None:
    (one,) = recordings("ior-4.1.txt")
    found = rates(one)
    assert (one.program, one.version, one.label) == ("ior", "4.1.0+dev", "POSIX single-shared-file")
    assert found["write", "total"] == [value * MIB for value in (516.86, 335.18, 220.13)]
    assert found["write", "span"] == pytest.approx(
        [4 * MIB / seconds for seconds in (0.007495, 0.011724, 0.017981)], rel=2e-3
    )
    assert (one.ranks, one.parameters["segments"], one.doubts) == (2, 2, [])
    assert one.command[1:3] == ["-a", "POSIX"]


def test_ior_of_all_versions_and_forms_is_read() -> None:
    (old,) = recordings("ior-3.0.txt")
    assert (old.version, old.ranks, old.doubts) == ("3.0.1", 16, [])
    assert rates(old)["read", "total"] == [2048 * MIB, 2560 * MIB]
    (made,) = recordings("ior-4.1.json")
    # JSON has times of four decimals, too few for a rate without opening and closing.
    assert rates(made) == {
        ("write", "total"): [2049.0005 * MIB, 2993.7930 * MIB],
        ("read", "total"): [17549.3891 * MIB, 18157.1602 * MIB],
    }
    (verbose,) = recordings("ior-4.1-verbose.txt")
    assert [rate.direction for rate in verbose.rates] == ["write", "write"]


@pytest.mark.parametrize(
    ("name", "label", "write"),
    [
        ("weir-bench.txt", "POSIX shared segmented 64k", [12.22, 13.86]),
        ("weir-bench.json", "POSIX file-per-process", [8.97830837106228, 5.436402361142622]),
    ],
)
def test_tables_of_weir_bench_itself_are_read(name: str, label: str, write: list[float]) -> None:
    first, *further = recordings(name)
    assert (first.program, first.version, first.label) == ("weir-bench", "0.1.0", label)
    assert first.started is not None
    assert first.started.replace(second=0) == datetime(2026, 11, 26, 17, 40, tzinfo=UTC)
    assert (first.ranks, first.doubts) == (2, [])
    assert sorted(rates(first)["write", "total"]) == pytest.approx(
        sorted(value * MIB for value in write)
    )
    assert ("read", "span") in rates(first)
    assert first.command[:2] == ["weir-bench", "stream"]
    texts = [one.label for one in further]
    assert texts == (["MPIIO shared segmented 64k"] if name.endswith("txt") else [])


def test_mdtest_has_the_values_that_follow_from_range_and_mean() -> None:
    (one,) = recordings("mdtest-4.1.txt")
    by_action = {figure.action: figure.values for figure in one.operations}
    assert list(by_action)[:4] == ["mkdir", "directory-stat", "directory-rename", "rmdir"]
    values = by_action["create"]
    assert not isinstance(values, Summary)
    assert values == pytest.approx([2286.795, 2439.476, 2617.099])
    (five,) = recordings("mdtest-3.3.txt")
    known = {figure.action: figure.values for figure in five.operations}
    assert known["create"] == Summary(5, 19000, 13000, 22000)
    assert "read" not in known  # A rate of 0: the phase was not asked for.
    assert (five.ranks, five.parameters["nodes"]) == (64, 8)
    (single,) = recordings("mdtest-4.1-times.txt")
    assert [list(one.values) for one in single.operations if one.action == "create"] == [[6903.21]]


def test_fio_has_a_run_for_each_group_of_jobs() -> None:
    write, both = recordings("fio-3.33.json")
    assert (write.label, write.ranks, both.label) == ("write", 2, "read")
    assert rates(write) == {("write", "slowest_rank"): [155344592]}
    (operations,) = write.operations
    assert operations.values == [592.592593]
    assert operations.latencies is not None
    assert (operations.latencies.p50_ns, operations.latencies.count) == (1155072, 64)
    assert write.doubts == []


def test_elbencho_has_the_column_of_the_last_thread() -> None:
    (one,) = recordings("elbencho.txt")
    assert rates(one) == {("write", "total"): [2941 * MIB], ("read", "total"): [9048 * MIB]}
    by_action = {figure.action: list(figure.values) for figure in one.operations}  # type: ignore[arg-type]
    assert by_action["mkdir"] == [1466]
    assert by_action["unlink"] == [1]
    assert (one.ranks, one.doubts) == (8, [])
    (old,) = recordings("elbencho-1.txt")
    assert rates(old) == {("write", "total"): [51 * MIB]}
    (table,) = recordings("elbencho.csv")
    assert rates(table)["write", "total"] == [2942 * MIB, 2000 * MIB]
    assert (table.label, table.ranks, table.version) == ("night", 16, "3.0-3")


def test_io500_has_a_run_for_each_of_its_benchmarks() -> None:
    summary, result = recordings("io500-summary.txt"), recordings("io500-result.txt")
    names = ["ior-easy", "mdtest-easy", "ior-hard", "mdtest-hard", "find", "ior-rnd4K-easy"]
    assert [one.label for one in summary] == [one.label for one in result] == names
    assert [rates(one) for one in summary] == [rates(one) for one in result]
    assert summary[0].stated["score"] == 2.696238
    assert summary[0].doubts == ["io500 calls ior-easy-write invalid"] == result[0].doubts
    assert (summary[0].ranks, result[0].ranks) == (0, 2)
    assert [one.action for one in summary[1].operations] == ["create", "stat", "unlink"]
    easy = recordings("io500-2019.txt")[0]
    assert rates(easy)["write", "total"] == [8.5e9]


def test_a_log_may_have_several_outputs_and_other_lines(tmp_path: Path) -> None:
    parts = [
        (SAMPLES / name).read_text() for name in ("ior-4.1.txt", "mdtest-4.1.txt", "elbencho.txt")
    ]
    log = tmp_path / "slurm-1.out"
    log.write_text("module load ior\nread the manual: yes\n" + "srun: done\n".join(parts) * 2)
    programs = [one.program for one in read(log).recordings]
    assert programs == ["ior", "mdtest", "elbencho"] * 2
    assert read(log).recordings[1].started is not None


@pytest.mark.parametrize(
    "name", sorted(one.name for one in SAMPLES.iterdir() if one.suffix != ".md")
)
def test_every_sample_becomes_run_folders_that_all_commands_take(name: str, tmp_path: Path) -> None:
    folder = imported(SAMPLES / name, tmp_path)
    runs = [load_run(one) for one in find_run_folders(folder)]
    assert runs
    own = name.startswith("weir-bench")
    whence = "without its run folder" if own else "not measured by Weir"
    for run in runs:
        assert run.imported is not None
        assert whence in run.imported.note
        assert (run.expectation, run.verification.performed) == (None, False)
        assert compare(run, run).figures
        assert len({one.place for one in figures_of(run)}) == len(figures_of(run))
    again = {one.folder: one.run for one in finalize(folder, verdict)}
    assert [one.warnings for one in again.values()] == [run.warnings for run in runs]
    assert not any(changes_of(one, load_run(one)) for one in again)
    page = write_report(folder).read_text()
    assert whence in page


def cut_short(text: str) -> str:
    return text[: len(text) * 2 // 3]


@pytest.mark.parametrize(
    "name", sorted(one.name for one in SAMPLES.iterdir() if one.suffix != ".md")
)
def test_an_output_that_was_cut_is_refused(name: str, tmp_path: Path) -> None:
    part = tmp_path / name
    part.write_text(cut_short((SAMPLES / name).read_text()))
    with pytest.raises(ResultError) as told:
        read(part)
    text = str(told.value)
    assert text.startswith(f"{part}:")
    assert text[len(f"{part}:")].isdigit()
    assert "\n" not in text


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("ior-4.1.txt", "516.86     2134.71", "nan        2134.71", ":34: bw(MiB/s) is 'nan'"),
        ("ior-4.1.txt", "516.86     2134.71", "-1         2134.71", ":34: bw(MiB/s) is '-1'"),
        ("ior-4.1.txt", "516.86     2134.71", "1e999      2134.71", ":34: bw(MiB/s) is '1e999'"),
        ("ior-4.1.txt", "516.86     2134.71", "516.86", ":34: the row has 10 columns"),
        ("mdtest-4.1.txt", "2617.099", "many", ":18: Max is 'many'"),
        ("fio-3.33.json", '"bw_bytes" : 155344592', '"bw_bytes" : NaN', "NaN is not a number"),
        ("fio-3.33.json", '"bw_bytes" : 155344592', '"bw_bytes" : -3', "write.bw_bytes is -3"),
        ("fio-3.33.json", '"bw_bytes" : 155344592', '"bw_bytes" : ' + "9" * 400, "is too large"),
        ("fio-3.33.json", '"bw_bytes" : 155344592', '"bw_bytes" : "x"', "bw_bytes is not a number"),
        ("fio-3.33.json", '"groupid" : 0', '"group" : 0', "jobs[0] has no groupid"),
        ("elbencho.txt", "2.134s      2.784s", "2.134s      2.7x4s", "which is not a time"),
        ("elbencho.csv", "WRITE,2134,2784", "WRITE,2134", ":2: the row has"),
        ("io500-summary.txt", "1.443199 kIOPS", "1.443199 pears", ":3: the result is not complete"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused_with_its_place(
    name: str, old: str, new: str, told: str, tmp_path: Path
) -> None:
    text = (SAMPLES / name).read_text()
    assert old in text
    changed = tmp_path / name
    changed.write_text(text.replace(old, new, 1))
    with pytest.raises(ResultError) as error:
        read(changed)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("ior-4.1.txt", "516.86     2134.71", "916.86     2134.71", "come to 516.8"),
        ("ior-4.1.txt", "0   \nread      18197", "0   \nwrite     516.86     2134.71    0.000558   "
         "1024.00    256.00     0.000235   0.007495   0.003042   0.007739   0   \nread      18197",
         "3 repetitions were asked for, and write has 4"),
        ("mdtest-4.1.txt", "2447.790", "9447.790", "line 18: the mean of create"),
        ("fio-3.33.json", '"bw_bytes" : 155344592', '"bw_bytes" : 255344592', "bw_bytes is 2.55"),
        ("fio-3.33.json", '"iops" : 592.592593', '"iops" : 1592.592593', "iops is 1592.59"),
        ("elbencho.txt", "2941\n            Total", "9941\n            Total",
         "but 8192 MiB in 2.784 s are 2942.53 MiB/s"),
        ("io500-summary.txt", "TOTAL 2.696238", "TOTAL 26.96238", "its two parts come to 2.696"),
        ("io500-summary.txt", "0.365561 GiB/s", "9.365561 GiB/s", "and its phases come to"),
    ],
)  # fmt: skip
def test_figures_that_contradict_each_other_are_named(
    name: str, old: str, new: str, told: str, tmp_path: Path
) -> None:
    text = (SAMPLES / name).read_text()
    assert old in text
    changed = tmp_path / name
    changed.write_text(text.replace(old, new, 1))
    doubts = [doubt for one in read(changed).recordings for doubt in one.doubts]
    assert any(told in doubt for doubt in doubts), doubts
    unchanged = [doubt for one in recordings(name) for doubt in one.doubts]
    assert not any(told in doubt for doubt in unchanged)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is not recognized"),
        (b"\0\xff\xfe" * 1000, "is not recognized"),
        (b"{" * 200_000, "the JSON"),
        (b'{"jobs": ' + b"[" * 200_000, "nested too deeply"),
        (b'{"a": 1}', "is JSON neither of fio nor of IOR"),
        (b"{\n" * 300_000, "the JSON"),
        (b"\n" * 600_000, "more than 500000 lines"),
        (b"a " * 2**23 + b"b", "more than 16 MiB"),
        (b"IOR-9: MPI Coordinated Test of Parallel I/O\n" + b" : = " * 100_000, "ends before"),
        (b"mdtest-1 was launched with 1 total task(s) on 1 node\n" * 1000, ":1: the output ends"),
    ],
    ids=range(10),
)
@pytest.mark.timeout(20)
def test_hostile_files_are_refused_in_one_line(content: bytes, told: str, tmp_path: Path) -> None:
    file = tmp_path / "hostile"
    file.write_bytes(content)
    with pytest.raises(ResultError) as error:
        read(file)
    assert told in str(error.value)
    assert len(str(error.value)) < 500 + len(str(file))


def test_texts_cannot_steer_a_terminal(tmp_path: Path) -> None:
    text = (SAMPLES / "ior-4.1.txt").read_text().replace("POSIX", "\x1b[2JPO\u202eSIX")
    file = tmp_path / "ior.txt"
    file.write_text(text)
    stored = (imported(file, tmp_path / "out") / "run.json").read_text()
    assert "?[2JPO?SIX" in json.loads(stored)["label"]
    assert "\\u001b" not in stored


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def call(*words: str) -> tuple[str, str]:
        application()(list(words), standalone_mode=False)
        return capsys.readouterr()

    return call


def test_the_same_content_is_imported_once(tmp_path: Path, said: Said) -> None:
    words = ("results", "import", str(SAMPLES / "ior-4.1.txt"), "--output", str(tmp_path))
    first, _ = said(*words)
    second, _ = said(*words)
    assert "imported before" not in first
    assert second == first.replace("\n", ", imported before\n")
    assert len(find_run_folders(tmp_path)) == 1


def test_what_an_output_does_not_state_is_not_made_up(tmp_path: Path, said: Said) -> None:
    imported(SAMPLES / "io500-2019.txt", tmp_path)
    listed, _ = said("results", "list", "--root", str(tmp_path))
    assert all(" ? " in line for line in listed.splitlines()[1:])
    shown, _ = said("results", "show", str(find_run_folders(tmp_path)[0]))
    assert "given: the output states no settings" in shown
    assert "command:" not in shown
    assert "does not state the number of processes.\n" in shown


def test_imported_runs_stand_beside_others(tmp_path: Path, said: Said) -> None:
    for name in ("ior-4.1.txt", "fio-3.33.json"):
        imported(SAMPLES / name, tmp_path)
    out, _ = said("results", "list", "--root", str(tmp_path))
    assert out.count("imported") == 3
    folders = find_run_folders(tmp_path)
    out, _ = said("results", "show", str(folders[-1]))
    assert "not measured by Weir" in " ".join(out.split())
    out, _ = said("results", "compare", str(folders[0]), str(folders[-1]))
    assert "slowest rank against total" in out  # By unit, because none is formed alike.
    sql = "SELECT DISTINCT imported_from FROM runs ORDER BY 1"
    out, _ = said("results", "query", sql, "--csv", "--root", str(tmp_path))
    assert [Path(line).name for line in out.splitlines()[1:]] == ["fio-3.33.json", "ior-4.1.txt"]
