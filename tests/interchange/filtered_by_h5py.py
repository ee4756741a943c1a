"""Writes filtered datasets: python filtered_by_h5py.py FILE.

A program of its own, as hdf5plugin's filters do not work where netCDF4 has set HDF5_PLUGIN_PATH.
"""

import sys

import h5py
import hdf5plugin
from stored_cases import numbers

VALUES = numbers((7, 10), "float64", 1)
LONG = numbers((1000, 61), "int32", 3) % 1000
STEPS = numbers((3, 7, 10), "int16", 2)

EXACT = {
    "gzip": {"compression": "gzip", "compression_opts": 4},
    "shuffled": {"compression": "gzip", "shuffle": True},
    "summed": {"fletcher32": True},
    "zstd": dict(hdf5plugin.Zstd(clevel=3)),
    "blosc": dict(hdf5plugin.Blosc(cname="lz4", clevel=5, shuffle=hdf5plugin.Blosc.SHUFFLE)),
    "blosc2": dict(hdf5plugin.Blosc2(cname="zstd", clevel=5, filters=hdf5plugin.Blosc2.SHUFFLE)),
    "lzf": {"compression": "lzf"},
    "lz4": dict(hdf5plugin.LZ4()),
    "lz4_blocks": dict(hdf5plugin.LZ4(nbytes=32)),
    "bitshuffle": dict(hdf5plugin.Bitshuffle(cname="lz4")),
    "bitshuffle_zstd": dict(hdf5plugin.Bitshuffle(cname="zstd", clevel=3)),
    "bitshuffle_alone": dict(hdf5plugin.Bitshuffle(nelems=8, cname="none")),
    "szip": {"compression": "szip", "compression_opts": ("nn", 8)},
    "szip_ec": {"compression": "szip", "compression_opts": ("ec", 4), "shuffle": True},
}

with h5py.File(sys.argv[1], "w") as file:
    for name, options in EXACT.items():
        file.create_dataset(name, data=VALUES, chunks=(3, 4), **options)
    # Chunks of which LZF stores some as they are.
    file.create_dataset("lzf_long", data=VALUES, chunks=(7, 10), compression="lzf", shuffle=True)
    for name in ("lz4", "bitshuffle", "bitshuffle_zstd", "szip"):
        file.create_dataset(f"{name}_long", data=LONG, chunks=(500, 61), **EXACT[name])
    file.create_dataset("zfp", data=VALUES, chunks=(7, 10), **hdf5plugin.Zfp(accuracy=0.25))
    file.create_dataset(
        "grows", data=STEPS, chunks=(1, 7, 10), maxshape=(None, 7, 10), compression="gzip"
    )
    sparse = file.create_dataset(
        "sparse", (20, 20), "int32", chunks=(4, 5), fillvalue=-7, compression="gzip"
    )
    sparse[4:8, 5:10] = 1
