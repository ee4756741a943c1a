"""The MPI-IO tests of MPICH and of ROMIO, with their calls taken over by Weir and without.

usage: foreign_suites.py FOLDER [--io COMPONENTS] [--only NAMES] [--seconds N]

FOLDER holds the sources of MPICH (github.com/pmodels/mpich): src/mpi/romio/test and test/mpi are
compiled, and nothing of them is part of Weir. Each program runs on the number of ranks, and with
the arguments, that its suite gives it. The table says of each program whether it ended with the
same exit status, printed the same lines and left the same files with and without Weir. The exit
status is 1 if a program did not.

Open MPI runs them, which has two libraries for MPI-IO. Each fails some of the programs by itself:
`failed both` are those that fail with Weir and without, `mended` those that fail only without.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from array_jobs import IMPLEMENTATIONS
from programs import AS_ROOT, LAUNCHER, options

from weir._core.shared_library import find
from weir.advise.observe import MPI_IO_CALLS, take_over_variables
from weir.mpiio.records import sum_up

ROMIO = Path("src/mpi/romio/test")
MPICH = Path("test/mpi")
NOT_IN_ITS_SCRIPT = {"big_extents": "FILE", "coll_perf": "-fname FILE", "creat_excl": "-fname FILE",
                     "external32": "", "perf": "-fname FILE"}  # fmt: skip
"""ROMIO's programs that its script does not start, and their arguments."""
LEFT_OUT = {
    "large_array": "writes 4 GiB",
    "large_file": "writes 4 GiB",
    "bigtype": "takes 6.5 GiB of memory",
    "i_bigtype": "takes 6.5 GiB of memory",
    "large_dtype": "takes 4 GiB of memory",
}
CONFIGURED = (
    *("HAVE_STDIO_H", "HAVE_STDLIB_H", "HAVE_STRING_H", "HAVE_UNISTD_H", "HAVE_STDARG_H"),
    *("THREAD_PACKAGE_NONE", "THREAD_PACKAGE_NAME", "ROMIO_UFS"),
)
"""Names that the suites' own configure scripts would define."""


@dataclass(frozen=True)
class Program:
    """One program of a suite, as the suite starts it."""

    suite: str
    name: str
    ranks: int
    arguments: tuple[str, ...]

    def label(self) -> str:
        words = [word for word in self.arguments if word not in ("-fname", "-f", "FILE")]
        return " ".join([f"{self.suite}/{self.name}", *words])


@dataclass(frozen=True)
class Outcome:
    """What a run did, as far as it does not depend on the time."""

    status: int
    lines: tuple[str, ...]
    files: tuple[tuple[str, str], ...]
    """Name and hash of each file that the program left."""

    def passed(self) -> bool:
        said = "\n".join(self.lines).lower()
        return self.status == 0 and ("error" not in said or "no errors" in said)

    def unlike(self, other: Outcome) -> str:
        """Return what differs; empty if nothing does."""
        parts = ("status", "lines", "files")
        return ", ".join(one for one in parts if getattr(self, one) != getattr(other, one))


def romio_programs(sources: Path) -> list[Program]:
    script = (sources / ROMIO / "runtests.in").read_text()
    starts = re.findall(r"^\s*\$mpirun -np (\d+) \S+ \./(\S+)(.*)$", script, re.MULTILINE)
    found = [
        Program("romio", name, int(ranks), words(line))
        for ranks, name, line in starts
        if not re.search(r" -[ubl] ", line)  # file systems that are not there
    ]
    found = [one for one in found if source_of(sources, one.name) is not None]
    return found + [
        Program("romio", name, 4, tuple(line.split())) for name, line in NOT_IN_ITS_SCRIPT.items()
    ]


def source_of(sources: Path, name: str) -> Path | None:
    """Return the path of a program of ROMIO in C, or of the template that it is made from."""
    one = sources / ROMIO / f"{name}.c"
    both = (one, one.with_suffix(".c.in"))
    return next((path for path in both if path.is_file()), None)


def words(line: str) -> tuple[str, ...]:
    return tuple("FILE" if "FILENAME" in word or "$" in word else word for word in line.split())


def mpich_programs(sources: Path) -> list[Program]:
    found = []
    for line in (sources / MPICH / "io" / "testlist.in").read_text().splitlines():
        split = line.split()
        if len(split) < 2 or not split[1].isdigit():
            continue
        arguments = [one.removeprefix("arg=") for one in split[2:] if not one.startswith("mem=")]
        found.append(Program("mpich", split[0], int(split[1]), tuple(arguments)))
    return found


class Suites:
    """Compiles the programs in a folder of its own."""

    def __init__(self, sources: Path, folder: Path) -> None:
        self._sources = sources
        self._folder = folder
        values = {"THREAD_PACKAGE_NAME": "THREAD_PACKAGE_NONE", "THREAD_PACKAGE_NONE": "0"}
        text = "".join(f"#define {name} {values.get(name, '1')}\n" for name in CONFIGURED)
        for name in ("mpitestconf.h", "romioconf.h"):
            (folder / name).write_text(text)
        (folder / "mtest_mpix.h").write_text("")
        util = sources / MPICH / "util"
        includes = [f"-I{one}" for one in (folder, sources / MPICH / "include", util)]
        self._common = ["mpicc", "-w", *includes]
        self._objects = []
        for one in ("mtest", "mtest_common", "mtest_single"):
            to = folder / f"{one}.o"
            self._compile("-c", str(util / f"{one}.c"), "-o", str(to))
            self._objects.append(str(to))

    def _compile(self, *arguments: str) -> None:
        command = [*self._common, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            raise OSError(next((x for x in done.stderr.splitlines() if "error" in x), done.stderr))

    def build(self, program: Program) -> Path:
        """Return the path of the executable. Raises OSError with the compiler's first error."""
        to = self._folder / f"{program.suite}-{program.name}"
        if to.exists():
            return to
        if program.suite == "mpich":
            source = self._sources / MPICH / "io" / f"{program.name}.c"
            self._compile(str(source), *self._objects, "-o", str(to), "-lm")
            return to
        source = to.with_suffix(".c")
        found = source_of(self._sources, program.name)
        source.write_text(found.read_text().replace("@LL@", "lld") if found else "")
        self._compile(str(source), "-o", str(to), "-lm")
        return to


def without_times(line: str, folder: Path) -> str:
    return re.sub(r"\d+\.\d+", "#", line.replace(str(folder), "")).strip()


def start(
    program: Program, executable: Path, io: str, seconds: int, variables: dict[str, str],
    hints: Path,
) -> Outcome:  # fmt: skip
    """Run the program in an empty folder, which is removed."""
    with tempfile.TemporaryDirectory(dir=executable.parent) as name:
        folder = Path(name)
        path = hints if program.name == "syshints" else folder / "data"
        given = [str(path) if one == "FILE" else one for one in program.arguments]
        done = subprocess.run(
            [*LAUNCHER, "--timeout", str(seconds), "--mca", "io", io,
             "-n", str(program.ranks), str(executable), *given],
            cwd=folder, env=os.environ | AS_ROOT | variables, capture_output=True, text=True,
            timeout=seconds + 60, check=False, errors="replace",
        )  # fmt: skip
        lines = sorted(without_times(one, folder) for one in done.stdout.splitlines())
        files = sorted(
            (str(one.relative_to(folder)), hashlib.sha256(one.read_bytes()).hexdigest())
            for one in folder.rglob("*")
            if one.is_file()
        )
        return Outcome(done.returncode, tuple(lines), tuple(files))


def taken_calls(records: Path) -> tuple[int, int]:
    """Return the calls that Weir carried out, and those that it passed on with a reason."""
    sums = sum_up(sorted(records.iterdir()))
    taken = sum(one.taken for by_name in sums.files.values() for one in by_name.values())
    passed = sum(times for reasons in sums.passed.values() for times in reasons.values())
    return taken, passed


def compare(
    program: Program, executable: Path, io: str, seconds: int, hints: Path
) -> tuple[str, str]:
    """Return the verdict and what is to be said besides."""
    with tempfile.TemporaryDirectory(dir=executable.parent) as records:
        taking = {
            "LD_PRELOAD": find(MPI_IO_CALLS.library, MPI_IO_CALLS.path_variable),
            MPI_IO_CALLS.folder_variable: records,
            **take_over_variables(),
        }
        without = start(program, executable, io, seconds, {}, hints)
        with_it = start(program, executable, io, seconds, taking, hints)
        taken, passed = taken_calls(Path(records))
    said = f"{taken:>6} {passed:>7}"
    unlike = with_it.unlike(without)
    if unlike:
        again = start(program, executable, io, seconds, {}, hints)
        if not with_it.unlike(again) or again.unlike(without) == unlike:
            return "varies" if without.passed() else "failed both", f"{said}  {unlike}"
    if not without.passed() and not with_it.passed():
        return "failed both", f"{said}  {'differently: ' + unlike if unlike else ''}"
    if not unlike:
        return "same", said
    if not without.passed():
        return "mended", f"{said}  {unlike}: fails without Weir alone"
    words = {*with_it.lines, *with_it.files} ^ {*without.lines, *without.files}
    told = ", ".join(str(one) for one in [*words][:4])
    return "different", f"{said}  {unlike}: {with_it.status} and {without.status}: {told}"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("sources", type=Path, help="the folder of MPICH's sources")
    parser.add_argument("--io", default=",".join(IMPLEMENTATIONS.values()))
    parser.add_argument("--only", help="names of programs, with commas between them")
    parser.add_argument("--seconds", type=int, default=60, help="the longest time of a run")
    given = parser.parse_args()
    sources = given.sources.resolve()
    if not (sources / ROMIO / "runtests.in").is_file():
        sys.exit(f"foreign_suites.py: {sources} has no {ROMIO}: give a folder of MPICH's sources")
    only = given.only.split(",") if given.only else None
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="foreign-") as folder:
        suites = Suites(sources, Path(folder))
        for io in given.io.split(","):
            print(f"{io:<52} verdict      taken  passed")
            for program in [*romio_programs(sources), *mpich_programs(sources)]:
                if only and program.name not in only:
                    continue
                if program.name in LEFT_OUT:
                    verdict, said = "left out", LEFT_OUT[program.name]
                else:
                    try:
                        executable = suites.build(program)
                    except OSError as error:
                        verdict, said = "not built", str(error).removeprefix(str(sources))
                    else:
                        hints = sources / ROMIO / "test_hintfile"
                        verdict, said = compare(program, executable, io, given.seconds, hints)
                counts[verdict] = counts.get(verdict, 0) + 1
                print(f"{program.label():<48} {program.ranks:>3} {verdict:<11} {said}", flush=True)
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items())))
    sys.exit(1 if counts.get("different") else 0)


if __name__ == "__main__":
    main()
