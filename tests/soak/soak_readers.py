"""Reading what a case left by the formats' own libraries and by `weir.open`: one process, no MPI.

soak_readers.py reads lines FOLDER "killed" or "ended", by what became of the last phase, from its
input and answers each by a line: "right STEPS", or "lost" or "wrong" with what is.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401 (registers the filters that h5py then finds)
import netCDF4
import numpy as np
import zarr
from soak_case import Case, Model, drawn_case, wrong_attributes, wrong_elements

import weir
from weir.check import check

Arrays = dict[str, np.ndarray[Any, Any]]


def raw_fill(written: Any, dtype: np.dtype[Any]) -> Any:
    """What a document has as the fill value of an array of numbers."""
    if isinstance(written, list):
        return complex(*written)
    if isinstance(written, str) and written.startswith("0x"):
        bits = int(written, 16)
        return np.frombuffer(bits.to_bytes(dtype.itemsize, "little"), dtype)[0]
    return written


def raw_array(path: Path, name: str) -> np.ndarray[Any, Any]:
    """By the document alone, as docs/raw-format.md has it."""
    document = json.loads(Path(f"{path}.json").read_text())
    data = path if path.exists() else Path(f"{path}.incomplete")
    one = next(array for array in document["arrays"] if array["name"] == name)
    dtype, shape = np.dtype(one["type"]), tuple(one["shape"])
    order = "F" if one["order"] == "column-major" else "C"
    found = np.full(shape, raw_fill(one.get("fill_value", 0), dtype), dtype)
    stored = np.memmap(data, np.uint8, "r") if data.stat().st_size else np.zeros(0, np.uint8)
    chunks = tuple(one.get("chunk_shape", shape))
    grows = bool(one.get("grows"))
    if grows and "chunk_shape" not in one:
        chunks = (1, *shape[1:])
    slot = math.prod(chunks) * dtype.itemsize
    grid = [range(-(-extent // chunk)) for extent, chunk in zip(shape, chunks, strict=True)]
    in_record = math.prod(len(along) for along in grid[1:])
    for number, index in enumerate(itertools.product(*grid)):
        low = [i * chunk for i, chunk in zip(index, chunks, strict=True)]
        inside = tuple(
            slice(at, min(at + chunk, extent))
            for at, chunk, extent in zip(low, chunks, shape, strict=True)
        )
        extents = found[inside].shape
        begin = one["offset"] + number * slot
        if grows and low[0] < one.get("from_step", 0):
            continue
        if grows:
            records = {"first_step": 0, **document["records"]}
            rows = records["steps"] // chunks[0]  # of chunks, in a record
            # Where there are later ones, each record has one step.
            for later in document.get("later_records", []):
                records = later if later["first_step"] <= low[0] else records
            record = (low[0] - records["first_step"]) // (rows * chunks[0])
            begin = records["offset"] + record * records["bytes"] + one["offset"]
            begin += ((index[0] % rows) * in_record + number % in_record) * slot
            extents = chunks
        end = begin + math.prod(extents) * dtype.itemsize
        chunk = stored[begin:end].view(dtype).reshape(extents, order=order)
        found[inside] = chunk[tuple(slice(0, cut.stop - cut.start) for cut in inside)]
    return found


@dataclass
class Found:
    """What a reader sees: arrays by their names, and the attributes of an owner."""

    arrays: Arrays
    attributes: Callable[[str], Mapping[str, Any]]


@contextmanager
def by_its_library(case: Case, path: Path) -> Iterator[Found]:
    names = [*(one.name for one in case.arrays), *case.later]
    if case.file_format == "hdf5":
        with h5py.File(path, "r") as file:
            arrays = {name: file[name][...] for name in names if name in file}
            yield Found(arrays, lambda owner: file[owner or "/"].attrs)
    elif case.file_format == "cdf5":
        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            arrays = {name: file[name][...] for name in names if name in file.variables}
            yield Found(arrays, lambda owner: (file[owner] if owner else file).__dict__)
    elif case.file_format == "zarr":
        group = zarr.open_group(path, mode="r")
        arrays = {name: group[name][...] for name in names if name in group}
        yield Found(arrays, lambda owner: (group[owner] if owner else group).attrs)
    else:
        document = json.loads(Path(f"{path}.json").read_text())
        there = {one["name"]: one for one in document["arrays"]}
        there |= {one["name"]: one for one in document.get("groups", [])}
        yield Found(
            {name: raw_array(path, name) for name in names if name in there},
            lambda owner: there[owner].get("attributes", {}),
        )


@contextmanager
def by_weir(path: Path) -> Iterator[Found]:
    with weir.open(path) as file:
        if file.refused:
            raise ValueError("; ".join(f"{name}: {why}" for name, why in file.refused.items()))
        yield Found(
            {name: array[...] for name, array in file.arrays.items()},
            lambda owner: (file[owner] if owner else file).attributes,
        )


@dataclass
class Expected:
    """What may be in a file that was published.

    After a kill, and where the library said that readers may see it, perhaps the step that was
    begun: no later phase may have opened the file.
    """

    generation: int
    steps: int
    begun: tuple[int, int] | None


def expected(model: Model, *, killed: bool) -> Expected:
    generation, steps = model.acknowledged()
    begun = model.begun()
    is_open = killed or model.failed_half_way() or model.was_killed_after_beginning()
    may_be_there = is_open and begun > (generation, steps)
    return Expected(generation, steps, begun if may_be_there else None)


def looked_at(folder: Path, *, killed: bool) -> str:
    case = drawn_case(int(folder.name))
    model = Model(case, folder / "model")
    path = folder / case.file_name
    wanted = expected(model, killed=killed)
    if not path.exists():
        gone = f"lost the file is gone, {wanted.steps} steps had ended"
        return gone if wanted.steps else "right 0"
    if wanted.steps == 0 and wanted.begun is None:
        return "wrong a file without a step was published"
    looks_at_fills = not (killed or model.is_disturbed())
    with by_its_library(case, path) as found:
        line = compared(case, model, found, wanted, looks_at_fills=looks_at_fills)
    if not line:
        with by_weir(path) as found:
            line = compared(case, model, found, wanted, looks_at_fills=looks_at_fills)
        line = line and f"{line} (by weir.open)"
    if not line:
        line = checked(path, model, killed=killed)
    return line or f"right {wanted.steps}"


def checked(path: Path, model: Model, *, killed: bool) -> str:
    report = check(path, workers=1)
    if report.not_checked or (report.findings and not (killed or model.is_disturbed())):
        return f"wrong weir check: {report.findings or report.not_checked}"
    return ""


def compared(
    case: Case, model: Model, found: Found, wanted: Expected, *, looks_at_fills: bool
) -> str:
    """Whether steps are lost or numbers wrong: a line about it, or ""."""
    generation, steps, arrays = wanted.generation, wanted.steps, found.arrays
    there = min((len(arrays[one.name]) for one in case.growing), default=steps or 1)
    if wanted.begun is not None and there == wanted.begun[1]:
        generation, steps = wanted.begun
    if there != steps:
        kind = "lost" if there < steps else "wrong"
        return f"{kind} there are {there} steps, {steps} had ended"
    for one in model.arrays(generation):
        if one.name not in arrays:
            return f"lost the array {one.name} that had been added"
        if not model.is_settled(generation, one):
            continue
        if one.grows and len(arrays[one.name]) < steps:
            return f"lost {one.name} has {len(arrays[one.name])} steps of {steps}"
        for step in range(steps) if one.grows else [0]:
            values, known = model.step(generation, step, one)
            line = wrong_elements(
                np.asarray(arrays[one.name][step] if one.grows else arrays[one.name]),
                case.stored(one, values), case.stored(one, known),
                one.unwritten if looks_at_fills else (),
            )  # fmt: skip
            if line:
                return f"wrong step {step} of {one.name} {line}"
    line = wrong_attributes(model.attributes(generation), found.attributes)
    return line and f"wrong {line}"


def main() -> None:
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        folder, killed = line.split()
        try:
            answer = looked_at(Path(folder), killed=killed == "killed")
        except Exception as error:  # whatever a reader says is the finding
            answer = f"wrong {type(error).__name__}: {error}"
        sys.stdout.write(" ".join(answer.split()) + "\n")
        sys.stdout.flush()


main()
