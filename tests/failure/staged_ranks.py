"""Ranks whose files a stager writes, for the tests of staging.

usage: staged_ranks.py WHAT FOLDER FORMAT [ARGUMENT...]

Each rank holds a block of a 3-D array and a part of a list; both have other values in each step.
WHAT is a function here, or one of staged_codecs.py, staged_extremes.py or staged_losses.py.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import staged_codecs
import staged_extremes
import staged_losses
from mpi4py import MPI
from own_stager import Stager, choose_stager, given_stagers, given_staging, stagers_of_ranks
from raising import raises
from staged_values import COUNTS, LARGE_SHAPE, SHAPE, counts, density, large_value
from staged_writer import Writer, part_of, path_of, put_density

import weir


def equal(comm, folder: Path, file_format: str, checksum: str) -> None:
    """Writes the same steps without and with a stager, and reads them back through the session."""
    for name, staging in (("none", "none"), ("node", given_staging())):
        with weir.Session(comm, staging=staging) as session:
            path = path_of(folder, file_format, name)
            writer = Writer(session, path, file_format, checksum=checksum)
            for step in range(3):
                writer.step(step)
            # What was handed over is there to be read, through this handle and a new one.
            got = np.zeros(writer.turns.shape, "int32")
            writer.counts.read(writer.turns, got)
            writer.file.close()
            with session.open_file(str(path)) as file:
                assert file.steps == 3, file.steps
                again = np.zeros(writer.turns.shape, "int32")
                file["counts"].read(writer.turns, again)
                assert (got == again).all()
                file.select_step(1)
                file["counts"].read(writer.turns, again)
                assert (again == got + 1000).all()


def slow(comm, folder: Path, file_format: str, deadline: str) -> None:
    """Prints for how long three steps took until they were stored, and rank 0 was blocked."""
    own = float(deadline)
    with weir.Session(comm, staging=given_staging(), deadline_seconds=own) as session:
        writer = Writer(session, path_of(folder, file_format), file_format)
        began = time.monotonic()
        for step in range(3):
            writer.step(step)
        writer.file.wait_for_step(60)
        stored = time.monotonic() - began
        if comm.rank == 0:
            sys.stdout.write(f"{stored} {session.figures()['blocked_so_far_ns'] / 1e9}\n")
        writer.file.close()


def alone(comm, folder: Path, file_format: str) -> None:
    """Writes an array by itself, again with other parts, and again after it was opened."""
    for name, staging in (("none", "none"), ("node", given_staging())):
        with weir.Session(comm, staging=staging) as session:
            path = path_of(folder, file_format, name)
            blocks = session.distribution(SHAPE, "BLOCK,BLOCK,BLOCK")
            rows = session.distribution(SHAPE, "CYCLIC(5),*,*")
            array = session.create(str(path), SHAPE, "float64", chunks=(7, 16, 5))
            put_density(array, blocks, 0)
            put_density(array, rows, 1)
            got = np.zeros(blocks.shape)
            array.read(blocks, got)
            assert got.flat[0] == density(1)[blocks.global_index((0, 0, 0))]
            array.sync()
            if comm.rank == 0:
                with weir.open(path) as file:
                    assert (file[next(iter(file.keys()))][...] == density(1)).all()
            comm.Barrier()
            array.close()
            array = session.open(str(path))
            put_density(array, blocks, 2)
            array.close()
            array = session.open(str(path), read_only=True)
            array.read(blocks, got)
            assert got.flat[0] == density(2)[blocks.global_index((0, 0, 0))]
            array.close()
            if name == "node" and comm.rank == 0:
                handed = given_stagers()[0].report()["sessions"][0]["written_bytes"]
                sys.stdout.write(f"{handed}\n")


def alone_dies(comm, folder: Path, file_format: str) -> None:
    """Ends without a farewell after a write of an array by itself."""
    session = weir.Session(comm, staging=given_staging())
    blocks = session.distribution(SHAPE, "BLOCK,BLOCK,BLOCK")
    array = session.create(str(path_of(folder, file_format)), SHAPE, "float64")
    put_density(array, blocks, 4)
    comm.Barrier()
    os.kill(os.getpid(), signal.SIGKILL)


def wait(comm, folder: Path, file_format: str, *codec: str) -> None:
    with weir.Session(comm, staging=given_staging()) as session:
        writer = Writer(session, path_of(folder, file_format), file_format, *codec)
        writer.file.wait_for_step(0)  # before the first step there is nothing to wait for
        assert writer.file.is_step_stored()
        writer.step(0)
        writer.file.wait_for_step(60)
        assert writer.file.is_step_stored()
        if comm.rank == 0:
            with weir.open(path_of(folder, file_format)) as file:
                assert (file["density"][0] == density(0)).all()
        comm.Barrier()
        writer.file.begin_step()
        with raises(ValueError, match="end it first"):
            writer.file.wait_for_step(1)
        # A step that is given up is not in the file, and the next one takes its place.
        writer.write(7)
        writer.file.abort_step()
        writer.step(1)
        writer.file.wait_for_step(60)
        if comm.rank == 0:
            with weir.open(path_of(folder, file_format)) as file:
                assert (file["density"][1] == density(1)).all()
        comm.Barrier()
        writer.file.close()
        # A program may write the same path again before the stager has stored its last step. In
        # place of a folder, which is never replaced, another name is used.
        name = "other" if file_format == "zarr" else "out"
        writer = Writer(session, path_of(folder, file_format, name), file_format, *codec)
        writer.step(5)
        writer.file.close()
        # The session knows the file by each of its names.
        with session.open_file(os.path.relpath(path_of(folder, file_format, name))) as file:
            assert file.steps == 1


def extend(comm, folder: Path, file_format: str, *codec: str) -> None:
    """Adds arrays while the stager may still store the step before."""
    with weir.Session(comm, staging=given_staging()) as session:
        writer = Writer(session, path_of(folder, file_format), file_format, *codec)
        layout = {"codec": codec[0]} if codec else {}
        for step in range(4):
            writer.step(step)
            writer.more = writer.file.define(
                f"more{step}", (COUNTS,), "int32", steps=True, **layout
            )
            writer.file.extend()
        writer.step(4)
        got = writer.more.read(writer.turns)
        assert (got == part_of(counts(4), writer.turns)).all()
        writer.file.close()


def die(comm, folder: Path, file_format: str, when: str, *codec: str) -> None:
    """Ends without a farewell after step 2: at once, or in the middle of the next one."""
    session = weir.Session(comm, staging=given_staging())
    writer = Writer(session, path_of(folder, file_format), file_format, *codec)
    for step in range(3):
        writer.step(step)
    if when == "in_a_step":
        writer.file.begin_step()
        writer.write(3)
    comm.Barrier()
    os.kill(os.getpid(), signal.SIGKILL)


def fill(folder: Path) -> None:
    """Takes all space of a file system."""
    descriptor = os.open(folder / "hog", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for size in (1 << 16, 1 << 12, 1):
        try:
            while os.write(descriptor, bytes(size)) == size:
                pass
        except OSError:
            continue
    os.close(descriptor)


def end_step_without_space(comm, writer: Writer, folder: Path) -> None:
    """Ends a step that is accepted, and of which storage has no space for a byte."""
    comm.Barrier()
    if comm.rank == 0:
        fill(folder)
    comm.Barrier()
    writer.file.end_step()
    deadline = time.monotonic() + 30
    while comm.rank == 0 and not given_stagers()[0].report()["sessions"][0]["waits_for_space"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def finds_room(comm, folder: Path, file_format: str, step: str, *codec: str) -> None:
    """A step is accepted for which storage has no space, and is stored when there is some."""
    with weir.Session(comm, staging=given_staging()) as session:
        writer = Writer(session, path_of(folder, file_format), file_format, *codec)
        last = int(step)
        for number in range(last):
            writer.step(number)
        writer.file.begin_step()
        writer.write(last)
        end_step_without_space(comm, writer, folder)
        if comm.rank == 0:
            (folder / "hog").unlink()
        comm.Barrier()
        got = writer.density.read(writer.blocks)
        assert (got == part_of(density(last), writer.blocks)).all()
        writer.file.close()


def journaled(
    comm, folder: Path, file_format: str, step: str, ending: str, process: str, *second: str
) -> None:
    """The stager is killed after it has accepted a step, for which storage has no space.

    The program is killed, too ("killed"), or goes on without the stager ("goes_on"): it gives the
    step other values, and ends one more. `second` starts another stager meanwhile.
    """
    goes_on = ending == "goes_on"
    lost = "direct" if goes_on else "fail"
    last = int(step)
    session = weir.Session(comm, staging=given_staging(), staging_lost=lost)
    writer = Writer(session, path_of(folder, file_format), file_format)
    for number in range(last):
        writer.step(number)
        writer.file.wait_for_step(60)
    writer.file.begin_step()
    writer.write(last + 7 if goes_on else last)
    end_step_without_space(comm, writer, folder)
    if comm.rank == 0:
        os.kill(int(process), signal.SIGKILL)
        if second:
            wait_until_closed(Path(second[-1]))
        (folder / "hog").unlink()
    comm.Barrier()
    if not goes_on:
        os.kill(os.getpid(), signal.SIGKILL)
    while writer.file.steps < last + 2:
        if comm.rank == 0 and second:
            subprocess.run([*second, "--detach"], check=True, timeout=60)
            # The stager answers when it has looked at the journal; the file is still open then.
            Stager(Path(second[2])).report()
        second = ()
        comm.Barrier()
        try:
            if not writer.file.in_step:
                writer.file.begin_step()
            writer.write(writer.file.steps)
            writer.file.end_step()
        except weir.Error as error:
            if "stager" not in str(error):
                raise
            if writer.file.in_step:
                writer.file.abort_step()
    writer.file.close()
    session.close()


def wait_until_closed(journal: Path) -> None:
    """Waits until no stager has a journal of this folder.

    One that was killed has them for a while, and the next one looks at those again seconds later.
    """
    deadline = time.monotonic() + 30
    for path in journal.iterdir():
        with path.open() as file:
            while True:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                assert time.monotonic() < deadline, f"{path} is in use"
                time.sleep(0.005)


def large(comm, folder: Path, file_format: str, ending: str) -> None:
    """Two steps that are larger than the stager's memory; "refused": it is killed in the second.

    Prints the stager's report from before the end of a step.
    """
    stager = given_stagers()[0]
    with weir.Session(comm, staging=given_staging()) as session:
        blocks = session.distribution(LARGE_SHAPE, "BLOCK,*,*")
        file = session.create_file(str(path_of(folder, file_format)), format=file_format)
        array = file.define("a", LARGE_SHAPE, "float64", steps=True)
        report = {}
        for step in range(2):
            file.begin_step()
            array.write(blocks, np.full(blocks.shape, large_value(step, comm.rank)))
            comm.Barrier()
            if comm.rank == 0 and step == 1:
                report = stager.report()
                sys.stdout.write(json.dumps(report) + "\n")
                if ending == "refused":
                    os.kill(int(report["stager"].split()[1]), signal.SIGKILL)
            comm.Barrier()
            if ending == "refused" and step == 1:
                break
            file.end_step()
        if ending == "refused":
            with raises(weir.Error, match="stager"):
                file.end_step()
            session.abandon()
        else:
            file.wait_for_step(60)
            file.close()
        if comm.rank == 0:
            sys.stdout.write(ending + "\n")


def set_apart(comm, folder: Path, file_format: str, staging: str, ending: str) -> None:
    """Stagers run in the place of some ranks. Ends as it should, by a signal, or without a stager.

    "forgets" goes on to MPI_Finalize without finalize_staging().
    """
    try:
        program = weir.init_staging(comm, staging=staging)
    except weir.Error as error:
        sys.stdout.write(f"stager's rank: {error}\n")
        return
    if not program:
        return
    session = weir.Session(program, staging=staging)
    writer = Writer(session, path_of(folder, file_format), file_format)
    for step in range(3):
        writer.step(step)
    program.Barrier()
    if ending == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if ending == "without_stager":
        writer.file.wait_for_step(60)
        if program.rank == 0:
            for one in stagers_of_ranks():
                os.kill(int(one.report()["stager"].split()[1]), signal.SIGKILL)
        program.Barrier()
        with raises(weir.Error, match="stager"):
            writer.step(3)
        session.abandon()
    else:
        writer.file.close()
        session.close()
    if ending != "forgets":
        weir.finalize_staging(program)


def plain(comm, folder: Path, file_format: str, steps: str) -> None:
    """Writes steps without a stager."""
    with weir.Session(comm, staging="none") as session:
        writer = Writer(session, path_of(folder, file_format), file_format)
        for step in range(int(steps)):
            writer.step(step)
        writer.file.close()


def held(comm, folder: Path, file_format: str) -> None:
    """Keeps its file open after a step until `go` is there."""
    with weir.Session(comm, staging=given_staging()) as session:
        writer = Writer(session, path_of(folder, file_format), file_format)
        writer.step(0)
        end = time.monotonic() + 60
        while not (folder / "go").exists() and time.monotonic() < end:
            time.sleep(0.02)
        writer.file.close()


def two_files(comm, folder: Path, file_format: str) -> None:
    """Waits for a step of a file behind which all ranks have written another file."""
    with weir.Session(comm, staging=given_staging(), deadline_seconds=20) as session:
        writers = [Writer(session, path_of(folder, file_format, name), file_format)
                   for name in ("a", "b")]  # fmt: skip
        for step in range(2):
            for writer in writers:
                writer.step(step)
            for writer in writers:
                writer.file.wait_for_step(20)
                assert writer.file.is_step_stored()
        for writer in writers:
            writer.file.close()


def many(comm, folder: Path, file_format: str, steps: str, name: str = "out") -> None:
    with weir.Session(comm, staging=given_staging()) as session:
        writer = Writer(session, path_of(folder, file_format, name), file_format, durability="none")
        for step in range(int(steps)):
            writer.step(step)
        if comm.rank == 0:
            sys.stdout.write("accepted\n")
            sys.stdout.flush()
        writer.file.close()


def awaits_journal(comm, folder: Path, file_format: str, steps: str, *codec: str) -> None:
    """Prints of each step whether it is stored, or waits for its stager, when it has ended."""
    with weir.Session(comm, staging=given_staging()) as session:
        writer = Writer(session, path_of(folder, file_format), file_format, *codec)
        for step in range(int(steps)):
            writer.step(step)
            stored = writer.file.is_step_stored()
            if comm.rank == 0:
                sys.stdout.write(f"{step} {'stored' if stored else 'in the journal'}\n")
                sys.stdout.flush()
            writer.file.wait_for_step(60)
        writer.file.close()


def refuses_journal(comm, folder: Path, file_format: str) -> None:
    """Neither a session nor a file gets the durability "journal" from a stager without one."""
    with raises(weir.ArgumentError) as of_session:
        weir.Session(comm, staging=given_staging(), durability="journal")
    with weir.Session(comm, staging=given_staging()) as session:
        with raises(weir.ArgumentError) as of_file:
            session.create_file(str(path_of(folder, file_format)), durability="journal")
        many = Writer(session, path_of(folder, file_format), file_format)
        many.step(0)
        many.file.close()
    if comm.rank == 0:
        sys.stdout.write(f"{of_session.value}\n{of_file.value}\n")


def of_another_user(comm, folder: Path, file_format: str, user: str) -> None:
    """Becomes that user, whose interpreter and libraries need not be readable, and goes on."""
    with weir.Session(comm, staging="none"):
        os.seteuid(int(user))
    many(comm, folder, file_format, "1")


def acknowledged(comm, folder: Path, file_format: str, steps: str, *codec: str) -> None:
    """Prints a line when a step has ended."""
    session = weir.Session(comm, staging=given_staging())
    writer = Writer(session, path_of(folder, file_format), file_format, *codec, checksum="crc32c")
    for step in range(int(steps)):
        writer.step(step)
        if comm.rank == 0:
            sys.stdout.write(f"{step}\n")
            sys.stdout.flush()
    writer.file.close()


def open_together(comm, folder: Path, file_format: str, count: str) -> None:
    """Has a step of several files under way at a time."""
    with weir.Session(comm, staging=given_staging()) as session:
        writers = [
            Writer(session, path_of(folder, file_format, f"out{number}"), file_format)
            for number in range(int(count))
        ]
        for writer in writers:
            writer.file.begin_step()
            writer.write(0)
        for writer in writers:
            writer.file.end_step()
            writer.file.close()


def main() -> None:
    what, folder, file_format, *more = sys.argv[1:]
    choose_stager(MPI.COMM_WORLD.rank)
    places = (vars(staged_codecs), vars(staged_extremes), vars(staged_losses), globals())
    part = next(place[what] for place in places if what in place)
    part(MPI.COMM_WORLD, Path(folder), file_format, *more)


if __name__ == "__main__":
    main()
