"""Converts files of arrays between formats, layouts and chunk shapes.

`target` describes the new file, `tiles` cuts arrays into parts that fit into memory, `copying`
moves them with several threads (`file_threads`), and `saving` writes arrays from memory.
"""

from weir.convert.copying import Progress, convert
from weir.convert.target import ConversionError, Layout

__all__ = ["ConversionError", "Layout", "Progress", "convert"]
