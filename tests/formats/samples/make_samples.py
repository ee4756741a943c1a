"""Makes the samples in this folder, by hand, with h5py, hdf5plugin and zarr-python.

Every array is float64 of 11 x 9, element i being i: unit tests of src/sections read them.
"""

from pathlib import Path

import h5py
import hdf5plugin
import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec

HERE = Path(__file__).parent
VALUES = np.arange(99, dtype="f8").reshape(11, 9)


def make_hdf5(path: Path) -> None:
    """One dataset per filter, of the registered numbers."""
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        for name, filters in {
            "deflate": {"compression": "gzip", "shuffle": True, "fletcher32": True},
            "zstd": hdf5plugin.Zstd(clevel=3),
            "blosc_lz4": hdf5plugin.Blosc(cname="lz4", shuffle=hdf5plugin.Blosc.BITSHUFFLE),
            "blosc_zstd": hdf5plugin.Blosc(cname="zstd"),
            "blosc2": hdf5plugin.Blosc2(cname="zstd"),
            "zfp": hdf5plugin.Zfp(accuracy=0.01),
            "lz4": hdf5plugin.LZ4(),
        }.items():
            file.create_dataset(name, data=VALUES, chunks=(6, 9), **filters)


def make_zarr(path: Path) -> None:
    """Chunks in files of their own and in shards."""
    group = zarr.open_group(path, mode="w", zarr_format=3)
    whole = {"shape": (11, 9), "dtype": "f8", "chunks": (6, 9)}
    big = group.create_array(
        "blosc",
        **whole,
        filters=[TransposeCodec(order=(1, 0))],
        serializer=BytesCodec(endian="big"),
        compressors=[BloscCodec(cname="lz4", shuffle="bitshuffle")],
    )
    big[:] = VALUES
    zipped = group.create_array("gzip", **whole, compressors=[GzipCodec(level=5), Crc32cCodec()])
    zipped[:] = VALUES
    whole["chunks"] = (3, 5)
    shards = group.create_array("shards", **whole, shards=(6, 10), compressors=[ZstdCodec()])
    shards[:] = VALUES


if __name__ == "__main__":
    make_hdf5(HERE / "filters.h5")
    make_zarr(HERE / "codecs.zarr")
