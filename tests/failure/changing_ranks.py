"""Ranks that end, give up and drop steps and add arrays while something fails: test_changes.py.

python changing_ranks.py FOLDER FORMAT WHAT [CALL NTH]
    under faulty_io.so, in a folder whose name begins with "weir-". Makes the change once for each
    call of the file system that it makes, which fails on rank 0, and looks at the file each time.
    Prints how many calls failed. With CALL and NTH this one kills rank 0.
python changing_ranks.py FOLDER FORMAT WHAT messages
    under faulty_mpi.so. Makes the change once for each of many calls of MPI, which fails on a rank.
python changing_ranks.py FOLDER FORMAT WHAT look
    looks at what killed runs left in the folders of FOLDER, and adds a step to each
"""

from __future__ import annotations

import ctypes
import faulthandler
import itertools
import os
import shutil
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import weir

CALLS = ("open", "close", "pwrite", "fsync", "fdatasync", "ftruncate")
MESSAGE_CALLS = (
    "MPI_Isend", "MPI_Issend", "MPI_Irecv", "MPI_Iallreduce", "MPI_Ibcast", "MPI_Iallgather",
    "MPI_Iallgatherv", "MPI_Ibarrier", "MPI_Test", "completion", "completion,effect=short",
)  # fmt: skip
DEADLINE_SECONDS = 20
RUN_SECONDS = 240
"""After it each rank says where it is and ends. The launcher waits for longer."""
MOST_OF_EACH = 60
"""More calls of one kind than any of these changes makes."""
EVERY_SECOND = 0
"""As the number of a call: the first, the third and so on, also those that restore what was."""
MAY_BE_SEEN = "readers may see the change"
WORLD = MPI.COMM_WORLD
SHAPE = (12, 10)
SUFFIXES = {"hdf5": "h5", "zarr": "zarr", "raw": "raw", "cdf5": "nc"}


def values_of(step: int) -> np.ndarray:
    return np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE) + 1 + 1000 * step


def write(session: weir.Session, array: weir.FileArray, values: np.ndarray) -> None:
    distributed = session.distribution(SHAPE, "BLOCK, *")
    each = -(-SHAPE[0] // WORLD.size)
    array.write(distributed, values[WORLD.rank * each : (WORLD.rank + 1) * each].copy())


def make(path: Path, file_format: str, steps: int) -> None:
    with weir.Session(WORLD) as session, session.create_file(str(path), format=file_format) as file:
        a = file.define("a", SHAPE, float, steps=True)
        file.define("left", SHAPE, float, steps=True)
        for step in range(steps):
            with file.step():
                write(session, a, values_of(step))


def copy_of(source: Path, target: Path) -> None:
    """By rank 0, while the others wait: file or folder, with what lies beside it."""
    if WORLD.rank == 0:
        shutil.rmtree(target.parent, ignore_errors=True)
        shutil.copytree(source.parent, target.parent)
    WORLD.Barrier()


class Fault:
    """What a preloaded library makes fail, from `arm` until `disarm`."""

    def __init__(self, text: str, library: str = "io") -> None:
        self.text, self.library = text, library
        self.variable = {"io": "WEIR_FAULT", "mpi": "WEIR_MPI_FAULT"}[library]

    def arm(self) -> None:
        """Once every rank is back from the call before, which the fault may otherwise break."""
        WORLD.Barrier()
        os.environ[self.variable] = self.text

    def disarm(self) -> int:
        """How many calls it made fail, on all ranks."""
        hits = WORLD.allreduce(getattr(ctypes.CDLL(None), f"faulty_{self.library}_hits")())
        os.environ[self.variable] = ""
        return int(hits)


def change(file: weir.StepFile, session: weir.Session, what: str, fault: Fault) -> tuple[str, int]:
    """Makes the change, while there is a fault: what it raised, how many calls failed."""
    said = ""
    try:
        if what == "abort":
            file.begin_step()
            write(session, file["a"], values_of(77))
            write(session, file["left"], values_of(78))
            fault.arm()
            file.abort_step("by the test")
        elif what == "end":
            file.begin_step()
            write(session, file["a"], values_of(file.steps))
            fault.arm()
            file.end_step()
        elif what == "drop":
            fault.arm()
            file.drop_steps(1)
        else:
            file.define("new", SHAPE, float, steps=True, fill=-1.0)
            file.set_attribute("note", "it is new")
            fault.arm()
            file.extend()
    except weir.Error as error:
        said = str(error)
    failed = fault.disarm()
    assert not file.in_step or fault.library == "mpi"  # nothing is known of a broken session
    return said, failed


def steps_after(what: str, said: str | None) -> set[int]:
    """How many steps the file may have after a change of three; `said`: None where it was killed.

    A step whose end failed is not there, unless the error says that it may be.
    """
    if what == "drop":
        return {1, 3}
    if what != "end" or (said and MAY_BE_SEEN not in said):
        return {3}
    return {4} if said == "" else {3, 4}


def look(reader: weir.Session, path: Path, what: str, said: str | None) -> None:
    """Everything of before or everything of after is there, and a step more goes well."""
    with reader.open_file(str(path)) as file:
        before = file.steps
        assert before in steps_after(what, said), f"{before} steps"
        is_added = "new" in list(file)
        assert file.attributes().get("note", "") == ("it is new" if is_added else "")
        with file.step():
            write(reader, file["a"], values_of(before))
    if WORLD.rank == 0:
        with weir.open(path) as stored:
            assert stored.steps == before + 1
            for step in range(before + 1):
                np.testing.assert_array_equal(stored["a"][step], values_of(step))
            # What nobody wrote in the steps that are there, whatever was dropped or given up.
            assert not stored["left"][...].any()
            if is_added:
                np.testing.assert_array_equal(stored["new"][...], -1.0)
    WORLD.Barrier()


def fail_each_call(reader: weir.Session, good: Path, tried: Path, what: str) -> int:
    """Lets each call of the file system fail on rank 0. Returns how many did.

    One session makes all changes, since it goes on after such a failure.
    """
    failed = 0
    with weir.Session(WORLD) as session:

        def fails(call: str, nth: int) -> bool:
            """Whether the change made the call, which failed with the same error on all ranks."""
            copy_of(good, tried)
            fault = Fault(f"rank=0,call={call},nth={nth},error=EIO,tree=weir-")
            file = session.open_file(str(tried))
            said, hits = change(file, session, what, fault)
            file.close()
            assert len(set(WORLD.allgather(said))) == 1
            look_after(reader, tried, what, said, f"{fault.text}: {said!r}")
            return hits > 0

        for call in CALLS:
            nth = 1
            while fails(call, nth):
                nth += 1
                assert nth <= MOST_OF_EACH, call
            failed += nth - 1 + fails(call, EVERY_SECOND)
    return failed


def fail_messages(reader: weir.Session, good: Path, tried: Path, what: str) -> int:
    """Every rank gets an error that says what failed, from the change or from the next call.

    Where the fault is in the vote about the end, some ranks may have seen the change end well.
    """
    failed = 0
    for call, rank in itertools.product(MESSAGE_CALLS, (0, WORLD.size - 1)):
        for nth in (1, 2, 3, 4, 6, 9, 13):
            copy_of(good, tried)
            tries = f"{failed}-{nth}"
            fault = Fault(f"rank={rank},call={call},nth={nth},try={tries}", "mpi")
            # Each rank is a node of its own, so that all goes by messages.
            session = weir.Session(WORLD, ranks_per_node=1, deadline_seconds=DEADLINE_SECONDS)
            file = session.open_file(str(tried))
            said, hits = change(file, session, what, fault)
            try:
                file.close()
                session.close()
            except weir.Error as error:
                said += f" closing: {error}"
            session.abandon()
            lines = WORLD.allgather(said)
            about = f"{fault.text}: {lines}"
            if hits:
                assert all(lines), about
                assert any("MPI" in line for line in lines), about
                assert not any("deadline" in line for line in lines), about
            else:
                assert not any(lines), about
            look_after(reader, tried, what, "" if not hits else None, about)
            if not hits:
                break
            failed += 1
    return failed


def look_after(reader: weir.Session, path: Path, what: str, said: str | None, about: str) -> None:
    try:
        look(reader, path, what, said)
    except Exception as error:
        raise AssertionError(f"{about}: {error!r}") from error


def main() -> None:
    faulthandler.dump_traceback_later(RUN_SECONDS, exit=True)
    folder, file_format, what = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    name = f"weir-file.{SUFFIXES[file_format]}"
    os.environ["WEIR_FAULT"] = os.environ["WEIR_MPI_FAULT"] = ""
    if sys.argv[4:] == ["look"]:
        with weir.Session(WORLD) as reader:
            for one in sorted(folder.iterdir()):
                about = f"rank 0 was killed: {one.name}"
                look_after(reader, one / "tried" / name, what, None, about)
        return
    good, tried = folder / "good" / name, folder / "tried" / name
    good.parent.mkdir(exist_ok=True)
    WORLD.Barrier()
    make(good, file_format, 3)
    if len(sys.argv) > 5:
        copy_of(good, tried)
        fault = Fault(f"rank=0,call={sys.argv[4]},nth={sys.argv[5]},effect=kill,tree=weir-")
        with weir.Session(WORLD) as session:
            change(session.open_file(str(tried)), session, what, fault)
        return
    by_messages = sys.argv[4:] == ["messages"]
    with weir.Session(WORLD) as reader:
        fail = fail_messages if by_messages else fail_each_call
        failed = fail(reader, good, tried, what)
    if WORLD.rank == 0:
        sys.stdout.write(f"{failed} calls failed\n")


if __name__ == "__main__":
    main()
