"""Compares datasets with their values: python read_by_h5py.py FILE VALUES.npz.

A program of its own, as hdf5plugin's filters do not work where netCDF4 has set HDF5_PLUGIN_PATH.
"""

import sys

import h5py
import hdf5plugin  # registers its filters
import numpy as np

assert hdf5plugin.FILTERS
expected = np.load(sys.argv[2])
with h5py.File(sys.argv[1]) as file:
    for key in expected.files:
        np.testing.assert_array_equal(file[key.replace("|", "/")][...], expected[key], key)
sys.stdout.write(f"{len(expected.files)} datasets are right\n")
