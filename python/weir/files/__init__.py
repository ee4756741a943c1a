"""Files of arrays as Python sees them without MPI: what `weir.open` gives.

`stored_file` has the file and its groups, `stored_array` the lazy arrays, `selection` NumPy's basic
indexing, `xarray_backend` the engine of xarray.
"""

from weir.files.stored_array import StoredArray
from weir.files.stored_file import StoredFile, StoredGroup, open  # noqa: A004

__all__ = ["StoredArray", "StoredFile", "StoredGroup", "open"]
