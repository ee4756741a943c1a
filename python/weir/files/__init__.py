"""Reads files of arrays without MPI; this is what `weir.open` returns.

`stored_file` has the file and its groups, `stored_array` the lazy arrays, `selection` NumPy's basic
indexing, `gathered_selection` its advanced indexing, and `xarray_backend` the engine for xarray.
"""

from weir.files.stored_array import StoredArray
from weir.files.stored_file import StoredFile, StoredGroup, open  # noqa: A004

__all__ = ["StoredArray", "StoredFile", "StoredGroup", "open"]
