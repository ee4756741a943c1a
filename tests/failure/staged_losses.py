"""Ranks whose stager is killed, stopped or cut off while they write: parts of staged_ranks.py."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from pathlib import Path

import numpy as np
from own_stager import given_stagers, given_staging
from raising import raises
from staged_values import COUNTS, SHAPE
from staged_writer import Writer, path_of, put_density

import weir


def alone_is_lost(comm, folder: Path, file_format: str, process: str) -> None:
    """The stager of an array by itself is killed: the array fails, and further ones are written."""
    with weir.Session(comm, staging=given_staging(), staging_lost="direct") as session:
        blocks = session.distribution(SHAPE, "BLOCK,BLOCK,BLOCK")
        array = session.create(str(path_of(folder, file_format)), SHAPE, "float64")
        put_density(array, blocks, 3)
        comm.Barrier()
        if comm.rank == 0:
            os.kill(int(process), signal.SIGKILL)
        comm.Barrier()
        with raises(weir.Error, match="stager"):
            put_density(array, blocks, 4)
        other = session.create(str(path_of(folder, file_format, "other")), SHAPE, "float64")
        put_density(other, blocks, 4)
        with raises(weir.Error, match="stager was lost"):
            array.sync()
        with raises(weir.Error, match="stager"):
            array.close()
        other.sync()
        other.close()


def stager_dies(comm, folder: Path, file_format: str, process: str) -> None:
    """The stager is killed between two steps: the next one fails on every rank, by name."""
    session = weir.Session(comm, staging=given_staging())
    writer = Writer(session, path_of(folder, file_format), file_format)
    writer.step(0)
    writer.file.wait_for_step(60)
    comm.Barrier()
    if comm.rank == 0:
        os.kill(int(process), signal.SIGKILL)
    comm.Barrier()
    began = time.monotonic()
    with raises(weir.Error, match="stager"):
        writer.step(1)
    assert time.monotonic() - began < 30
    comm.Barrier()
    if comm.rank == 0:
        sys.stdout.write("refused\n")
    session.abandon()


def is_damaged(comm, folder: Path, file_format: str) -> None:
    """Two steps are accepted, and the network damages a message of the third, which fails."""
    session = weir.Session(comm, staging=given_staging())
    writer = Writer(session, path_of(folder, file_format), file_format)
    writer.step(0)
    writer.file.wait_for_step(60)
    writer.step(1)
    comm.Barrier()
    if comm.rank == 0:
        (folder / "damage").touch()
    comm.Barrier()
    with raises(weir.Error, match="stager") as failed:
        writer.step(2)
    sys.stdout.write(f"{failed.value}\n")
    session.abandon()


def share_is_lost(comm, folder: Path, file_format: str, process: str) -> None:
    """A step ends while the stager of another node does nothing, which then is killed."""
    session = weir.Session(comm, staging=given_staging())
    writer = Writer(session, path_of(folder, file_format), file_format)
    writer.step(0)
    writer.file.wait_for_step(60)
    writer.file.begin_step()
    writer.write(1)
    writer.file.end_step()
    if comm.rank == 0:
        os.kill(int(process), signal.SIGSTOP)
    comm.Barrier()
    late = ""
    try:
        writer.file.wait_for_step(3)  # the reason comes with a sign of life, each second
    except weir.DeadlineError as error:
        late = str(error)
    assert not late or "has not stored its share" in late, late
    if comm.rank == 0:
        os.kill(int(process), signal.SIGKILL)
    comm.Barrier()
    if late:
        with raises(weir.Error, match="stager"):
            writer.file.wait_for_step(30)
    comm.Barrier()
    if comm.rank == 0:
        sys.stdout.write("lost\n" if late else "stored\n")
    session.abandon()


def goes_on(comm, folder: Path, file_format: str, steps: str, how: str, *processes: str) -> None:
    """Something happens to stagers, and the ranks write what follows. Prints each step's number.

    A step has the values of its number in the file, so that a lost one is written again.
    A codec may follow `how`, as in "is_lost,zstd:3". There is then one more array with the codec.
    A step that is written again has this array first instead of last, so that its encoded chunks
    come in another order.
    """
    how, _, codec = how.partition(",")

    def make() -> Writer:
        path = path_of(folder, file_format)
        one = Writer(session, path, file_format, codec or None, checksum="crc32c")
        if codec:
            own = codec.partition("/")[0]  # it is in no shards
            one.more = one.file.define("more", (COUNTS,), "int32", steps=True, codec=own)
        return one

    def happen_to_stagers() -> None:
        comm.Barrier()
        for process in map(int, processes if comm.rank == 0 else ()):
            if how in ("first_is_lost", "is_lost"):
                resource.prlimit(process, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            elif how != "any_time":
                os.kill(process, signal.SIGKILL)
        comm.Barrier()

    when = {"between_steps": 2, "in_a_step": 2, "is_lost": 2}.get(how, 0)
    with weir.Session(comm, staging=given_staging(), staging_lost="direct") as session:
        writer = make()
        happened = False
        written: set[int] = set()
        while writer.file.steps < int(steps):
            is_due = not happened and writer.file.steps == when
            if is_due and how != "in_a_step":
                if how == "is_lost":
                    writer.file.wait_for_step(60)  # the step before is not lost
                happen_to_stagers()
                happened = True
            try:
                if not writer.file.in_step:
                    writer.file.begin_step()
                if is_due and not happened:
                    happen_to_stagers()
                    happened = True
                step = writer.file.steps
                writer.write(step, more_first=step in written)
                written.add(step)
                writer.file.end_step()
            except weir.Error as error:
                # The step in which a stager is lost is given up, and begun again.
                if "stager" not in str(error):
                    raise
                if writer.file.in_step:
                    writer.file.abort_step()
                if writer.file.steps == 0 and not path_of(folder, file_format).exists():
                    writer = make()
        if comm.rank == 0:
            sys.stdout.write(f"{writer.file.steps} steps\n")
        writer.file.close()


def files_go_on(comm, folder: Path, file_format: str, process: str) -> None:
    """Each step has a file of its own. The second one is closed, and lost afterwards."""
    with weir.Session(comm, staging=given_staging(), staging_lost="direct") as session:
        for number in range(4):
            writer = Writer(session, path_of(folder, file_format, f"out{number}"), file_format)
            if number == 1 and comm.rank == 0:
                resource.prlimit(int(process), resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            comm.Barrier()
            writer.step(0)
            if number == 0:
                writer.file.wait_for_step(60)
            writer.file.close()
            if number == 1 and comm.rank == 0:
                deadline = time.monotonic() + 30
                while not given_stagers()[0].report()["sessions"][0]["failure"]:
                    assert time.monotonic() < deadline
                    time.sleep(0.02)
            comm.Barrier()


def told_of_lost_step(comm, folder: Path, file_format: str, process: str) -> None:
    """Waiting for a step that is lost says so once, and the next step takes its place."""
    with weir.Session(comm, staging=given_staging(), staging_lost="direct") as session:
        writer = Writer(session, path_of(folder, file_format), file_format)
        writer.step(0)
        writer.file.wait_for_step(60)
        if comm.rank == 0:
            resource.prlimit(int(process), resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        comm.Barrier()
        writer.step(1)
        with raises(weir.Error, match="step 1 was handed to a stager that was lost"):
            writer.file.wait_for_step(60)
        assert writer.file.steps == 1
        assert writer.file.is_step_stored()
        writer.step(1)
        writer.file.wait_for_step(60)
        got = np.zeros(writer.turns.shape, "int32")
        writer.counts.read(writer.turns, got)
        writer.file.close()


def stopped(comm, folder: Path, file_format: str, process: str) -> None:
    """A stager that was stopped may still write: the ranks do not write beside it."""
    session = weir.Session(comm, staging=given_staging(), staging_lost="direct", deadline_seconds=2)
    writer = Writer(session, path_of(folder, file_format), file_format)
    writer.step(0)
    writer.file.wait_for_step(60)
    comm.Barrier()
    if comm.rank == 0:
        os.kill(int(process), signal.SIGSTOP)
    comm.Barrier()
    with raises(weir.Error, match=r"sign of life|deadline"):
        writer.file.begin_step()
    session.abandon()
