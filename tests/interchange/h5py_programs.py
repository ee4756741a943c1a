"""Running a program beside this file that uses hdf5plugin.

By itself, and without HDF5_PLUGIN_PATH: netCDF4 sets it, to filters that h5py's HDF5 then takes for
hdf5plugin's.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_h5py(program: str, *words: Path) -> str:
    """What it prints."""
    own = {name: value for name, value in os.environ.items() if name != "HDF5_PLUGIN_PATH"}
    command = [sys.executable, Path(__file__).parent / program, *words]
    done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
