"""Ranks whose stagers encode chunks: parts of staged_ranks.py."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from own_stager import given_stagers, given_staging
from raising import raises
from staged_values import SHAPE, counts, density
from staged_writer import Writer, part_of, path_of, put_density

import weir


def encoded(comm, folder: Path, file_format: str, codec: str) -> None:
    """Writes the same encoded steps without and with stagers, also parts of chunks.

    Prints how many bytes each stager was handed.
    """
    columns = [SHAPE[1] * rank // comm.size for rank in (comm.rank, comm.rank + 1)]
    for name, staging in (("none", "none"), ("node", given_staging())):
        with weir.Session(comm, staging=staging) as session:
            path = path_of(folder, file_format, name)
            writer = Writer(session, path, file_format, codec)
            for step in range(3):
                writer.file.begin_step()
                # Written twice: where chunks are written in part, they are decoded and changed.
                writer.put(writer.density, writer.blocks, density(step + 5))
                for row in range(0, SHAPE[0], 5):
                    own = density(step)[row : row + 5, slice(*columns)]
                    writer.density.write_region((row, columns[0], 0), own.copy())
                writer.put(writer.counts, writer.turns, counts(step))
                got = np.zeros(writer.turns.shape, "int32")
                writer.counts.read(writer.turns, got)
                writer.file.end_step()
            writer.file.wait_for_step(60)
            if name == "node" and comm.rank == 0:
                reports = [one.report() for one in given_stagers()]
                sys.stdout.writelines(f"{one['sessions'][0]['written_bytes']}\n" for one in reports)
            comm.Barrier()
            writer.file.close()


def read_encoded(comm, folder: Path, file_format: str, codec: str) -> None:
    """Reads arrays with a codec as soon as their step has ended; one of them has no steps.

    No other call learns before where the stager has put the chunks.
    """
    for name, staging in (("none", "none"), ("node", given_staging())):
        with weir.Session(comm, staging=staging) as session:
            writer = Writer(session, path_of(folder, file_format, name), file_format, codec)
            fixed = writer.file.define("fixed", SHAPE, "float64", chunks=(7, 16, 5), codec=codec)
            for step in range(4):
                writer.file.begin_step()
                if step == 0:
                    writer.put(fixed, writer.blocks, density(9))
                writer.write(step)
                with raises(ValueError, match="before the step has ended"):
                    writer.density.read(writer.blocks)
                writer.file.end_step()
                if step == 1:  # the next step begins with chunks that nobody has asked for
                    continue
                if staging != "none":
                    with raises(ValueError, match=r"call wait_for_step\(\)"):
                        writer.density.read_region((0, 0, 0), (1, 1, 1), independent=True)
                if step == 2:
                    writer.file.wait_for_step(60)
                for array, values in ((writer.density, density(step)), (fixed, density(9))):
                    got = array.read(writer.blocks)
                    assert (got == part_of(values, writer.blocks)).all(), step
                    got = array.read_region((3, 2, 1), (9, 8, 7), independent=True)
                    assert (got == values[3:12, 2:10, 1:8]).all(), step
            writer.file.select_step(1)
            got = writer.density.read(writer.blocks)
            assert (got == part_of(density(1), writer.blocks)).all()
            writer.file.drop_steps(2)
            got = writer.density.read(writer.blocks)
            assert (got == part_of(density(1), writer.blocks)).all()
            writer.step(2)
            writer.file.drop_steps(3)  # nothing is dropped
            got = writer.density.read(writer.blocks)
            assert (got == part_of(density(2), writer.blocks)).all()
            writer.file.close()


def steps_of_two_files(comm, folder: Path, file_format: str, codec: str) -> None:
    """A step of one file ends while that of another one is under way, and is given up once.

    The chunks of the second file are written in part before, and in part after that.
    """
    with weir.Session(comm, staging=given_staging()) as session:
        one, other = (
            Writer(session, path_of(folder, file_format, name), file_format, codec)
            for name in ("a", "b")
        )
        rows = session.distribution(SHAPE, "CYCLIC(5),*,*")
        first, last = ((0, 0, 0), (11, *SHAPE[1:])), ((11, 0, 0), (SHAPE[0] - 11, *SHAPE[1:]))
        one.step(0)
        other.step(0)
        for step in (7, 1):
            other.file.begin_step()
            if step == 1:
                values = density(1)
                for lower, count in (first, last):
                    part = values[lower[0] : lower[0] + count[0]] if comm.rank == 0 else None
                    other.density.write_region(lower if comm.rank == 0 else None, part)
                    if lower == first[0]:
                        one.file.begin_step()
                        one.write(1)
                        one.file.end_step()
                        one.file.wait_for_step(60)
                other.put(other.counts, other.turns, counts(1))
                other.file.end_step()
            else:
                put_density(other.density, rows, 7)
                other.file.abort_step()
        one.file.close()
        other.file.close()


def other_stagers(comm, folder: Path, file_format: str, codec: str) -> None:
    """Writes an array together with one in shards of long rows, in a step of its own and not.

    All these shards are written by one aggregator, and so are the chunks in the same call.
    """
    shape = (1, 9 << 20)
    with weir.Session(comm, staging=given_staging()) as session:
        writer = Writer(session, path_of(folder, file_format), file_format, codec)
        other = session.create_file(str(path_of(folder, "zarr", "other")), format="zarr")
        long = other.define("long", shape, "float64", chunks=(1, 1 << 20), shards=shape,
                            codec="crc32c", steps=True)  # fmt: skip
        parts = session.distribution(shape, "*,BLOCK")
        other.begin_step()
        both = [(writer.density, writer.blocks, part_of(density(0), writer.blocks)),
                (long, parts, np.zeros(parts.shape))]  # fmt: skip
        writer.file.begin_step()
        writer.put(writer.density, writer.blocks, density(1))
        with raises(weir.Error, match="write it in a call of its own"):
            session.write_many(both)
        writer.file.abort_step()
        writer = Writer(session, path_of(folder, file_format), file_format, codec)
        writer.file.begin_step()
        both[0] = (writer.density, *both[0][1:])
        session.write_many(both)
        writer.put(writer.counts, writer.turns, counts(0))
        writer.file.end_step()
        writer.file.close()
        other.abort_step()


def told_of_long_rows(comm, folder: Path, file_format: str, codec: str) -> None:
    """Writes an array in shards whose rows have more than 64 MiB; prints what users are told."""
    shape = (1, 9 << 20)
    with weir.Session(comm, staging=given_staging()) as session:
        file = session.create_file(str(path_of(folder, file_format)), format=file_format)
        long = file.define("long", shape, "float64", chunks=(1, 1 << 20), shards=shape, codec=codec,
                           steps=True)  # fmt: skip
        parts = session.distribution(shape, "*,BLOCK")
        values = np.full(parts.shape, comm.rank + 1.0)
        file.begin_step()
        explained = session.explain("write", [(long, parts, values)])
        long.write(parts, values)
        line = next(one for one in explained.splitlines() if one.startswith("staging: "))
        if comm.rank == 0:
            sys.stdout.write(f"{session.figures()['handed_over']} {line}\n")
        file.end_step()
        file.close()


def told(comm, folder: Path, file_format: str, codec: str) -> None:
    """Writes an array with a codec and one without; prints what users are told of both."""
    with weir.Session(comm, staging=given_staging()) as session:
        # Users are told once of an HDF5 file that is made twice.
        for name in ("out", *(["out"] if file_format == "hdf5" else []), "other"):
            path = path_of(folder, file_format, name)
            writer = Writer(session, path, file_format, codec)
            writer.file.begin_step()
            for array, by, values in ((writer.density, writer.blocks, density(0)),
                                      (writer.counts, writer.turns, counts(0))):  # fmt: skip
                explained = session.explain("write", [(array, by, part_of(values, by))])
                writer.put(array, by, values)
                line = next(one for one in explained.splitlines() if one.startswith("staging: "))
                if comm.rank == 0 and name == "other":
                    sys.stdout.write(f"{session.figures()['handed_over']} {line}\n")
            writer.file.end_step()
            writer.file.close()
