"""Reads a variable of all blocks of one of FLASH's files by yt, into a file of NumPy.

usage: read_by_yt.py FILE VARIABLE OUTPUT
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import yt


def main() -> None:
    source, variable, output = sys.argv[1:]
    yt.set_log_level("error")
    file = yt.load(source)
    blocks = [np.asarray(grid["flash", variable]) for grid in file.index.grids]
    np.savez(
        Path(output),
        blocks=np.stack(blocks).transpose(0, 3, 2, 1),  # yt has x first, FLASH z
        levels=np.array([grid.Level for grid in file.index.grids]),
        left=np.asarray(file.domain_left_edge),
        right=np.asarray(file.domain_right_edge),
        fields=np.array([name for _, name in file.field_list]),
    )


if __name__ == "__main__":
    main()
