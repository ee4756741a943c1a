"""Converting files of arrays between formats, layouts and chunk shapes.

`target` says what the new file is to hold, `tiles` cuts arrays into parts that fit into memory,
`copying` moves them by several threads.
"""

from weir.convert.copying import Progress, convert
from weir.convert.target import ConversionError, Layout

__all__ = ["ConversionError", "Layout", "Progress", "convert"]
