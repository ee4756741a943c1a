"""Shows what is in a file, by one process: python 05_read_without_mpi.py FILE."""

import sys

import weir

with weir.open(sys.argv[1]) as file:
    for name, array in file.arrays.items():
        units = array.attributes.get("units", "1")
        last = array[-1]  # reads this much and no more
        print(f"{name}: {array.shape} {array.dtype}, largest at the end {last.max()} {units}")
