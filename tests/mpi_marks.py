"""What a test needs of the MPI that build/release was configured with."""

from __future__ import annotations

import pytest
from mpi_launcher import configured, is_open_mpi

needs_survivors = pytest.mark.skipif(
    not is_open_mpi(),
    reason="when a rank is killed, this launcher kills the others at once: none of them can tell",
)


needs_pnetcdf = pytest.mark.skipif(
    not configured("WEIR_LINKS_PnetCDF"),
    reason="weir-bench was built without PnetCDF; Debian's is of Open MPI",
)
