"""Finds and loads libweir.so and declares its functions."""

from __future__ import annotations

import ctypes
from ctypes import CDLL, POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_uint64, c_void_p
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from weir._core.shared_library import load

if TYPE_CHECKING:
    from weir._core.shared_library import Declarations

LIBRARY = "libweir.so.0"
PATH_VARIABLE = "WEIR_LIBRARY"


class SessionOptions(ctypes.Structure):
    """``weir_session_options``."""

    _fields_: ClassVar = [
        ("deadline_seconds", c_double),
        ("strategy", c_char_p),
        ("aggregators", c_int64),
        ("buffer_bytes", c_int64),
        ("buffers", c_int64),
        ("ranks_per_node", c_int64),
        ("platform", c_char_p),
        ("alignment_bytes", c_int64),
        ("stripe_bytes", c_int64),
        ("lock_bytes", c_int64),
        ("targets", c_int64),
        ("engine", c_char_p),
        ("reserved", c_uint64 * 4),
    ]


class Figures(ctypes.Structure):
    """``weir_figures``."""

    _fields_: ClassVar = [
        ("strategy", c_int32),
        ("plan_reused", c_int32),
        ("aggregators", c_int64),
        ("plan_ns", c_int64),
        ("gather_ns", c_int64),
        ("storage_ns", c_int64),
        ("wait_ns", c_int64),
        ("bytes_asked", c_int64),
        ("bytes_stored", c_int64),
        ("bytes_fetched", c_int64),
        ("bytes_sent", c_int64),
        ("storage_calls", c_int64),
        ("engine", c_int32),
        ("reserved_flags", c_int32),
        ("reserved", c_uint64 * 3),
    ]


class DistributionOptions(ctypes.Structure):
    """``weir_distribution_options``."""

    _fields_: ClassVar = [
        ("grid", POINTER(c_int64)),
        ("grid_order", c_int32),
        ("reserved_flags", c_int32),
        ("reserved", c_uint64 * 6),
    ]


STRIPING: list[tuple[str, type]] = [
    ("stripe_count", c_int64),
    ("stripe_bytes", c_int64),
    ("first_target", c_int64),
    ("pool", c_char_p),
]


class ArrayOptions(ctypes.Structure):
    """``weir_array_options``."""

    _fields_: ClassVar = [
        ("order", c_int32),
        ("files", c_int32),
        ("chunks", POINTER(c_int64)),
        ("natural_chunks", c_void_p),
        ("typical_request", POINTER(c_int64)),
        ("chunk_buffer_bytes", c_int64),
        ("chunk_block_bytes", c_int64),
        ("directories", POINTER(c_char_p)),
        ("directory_count", c_int64),
        *STRIPING,
        ("reserved", c_uint64 * 3),
    ]


class OpenOptions(ctypes.Structure):
    """``weir_open_options``."""

    _fields_: ClassVar = [
        ("read_only", c_int32),
        ("reserved_flags", c_int32),
        ("reserved", c_uint64 * 7),
    ]


class FileOptions(ctypes.Structure):
    """``weir_file_options``."""

    _fields_: ClassVar = [
        ("format", c_char_p),
        ("durability", c_char_p),
        ("step_dimension", c_char_p),
        ("alignment_bytes", c_int64),
        ("checksum", c_char_p),
        *STRIPING,
        ("unwritten", c_char_p),
        ("reserved", c_uint64 * 1),
    ]


class DefineOptions(ctypes.Structure):
    """``weir_define_options``."""

    _fields_: ClassVar = [
        ("order", c_int32),
        ("steps", c_int32),
        ("chunks", POINTER(c_int64)),
        ("natural_chunks", c_void_p),
        ("typical_request", POINTER(c_int64)),
        ("chunk_buffer_bytes", c_int64),
        ("chunk_block_bytes", c_int64),
        ("shards", POINTER(c_int64)),
        ("dimension_names", POINTER(c_char_p)),
        ("fill", c_void_p),
        ("codec", c_char_p),
        ("reserved", c_uint64 * 7),
    ]


class FileOpenOptions(ctypes.Structure):
    """``weir_file_open_options``."""

    _fields_: ClassVar = [
        ("read_only", c_int32),
        ("rewrite", c_int32),
        ("durability", c_char_p),
        ("checksum", c_char_p),
        ("unwritten", c_char_p),
        ("reserved", c_uint64 * 4),
    ]


class Memory(ctypes.Structure):
    """``weir_memory``."""

    _fields_: ClassVar = [
        ("order", c_int32),
        ("reserved_flags", c_int32),
        ("ghost_lower", POINTER(c_int64)),
        ("ghost_upper", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("reserved", c_uint64 * 4),
    ]


class Section(ctypes.Structure):
    """``weir_section``."""

    _fields_: ClassVar = [
        ("start", POINTER(c_int64)),
        ("count", POINTER(c_int64)),
        ("stride", POINTER(c_int64)),
    ]


class Transfer(ctypes.Structure):
    """``weir_transfer``."""

    _fields_: ClassVar = [
        ("array", c_void_p),
        ("distribution", c_void_p),
        ("section", POINTER(Section)),
        ("data", c_void_p),
        ("piece_data", POINTER(c_void_p)),
        ("memory", POINTER(Memory)),
        ("data_bytes", c_int64),
        ("data_shape", POINTER(c_int64)),
        ("data_type", c_char_p),
        ("dimensions", c_int32),
        ("reserved_flags", c_int32),
        ("reserved", c_uint64 * 4),
    ]


class Region(ctypes.Structure):
    """``weir_region``."""

    _fields_: ClassVar = [
        ("lower", POINTER(c_int64)),
        ("extent", POINTER(c_int64)),
        ("stride", POINTER(c_int64)),
        ("data", c_void_p),
        ("memory", POINTER(Memory)),
        ("data_bytes", c_int64),
        ("data_shape", POINTER(c_int64)),
        ("data_type", c_char_p),
        ("dimensions", c_int32),
        ("reserved_flags", c_int32),
        ("reserved", c_uint64 * 4),
    ]


NUMBERS = POINTER(c_int64)
PLACE = POINTER(c_void_p)  # The address at which a call stores a handle.
REQUEST = [c_void_p, c_int32, POINTER(Transfer)]
REGION = [c_void_p, POINTER(Region)]
OWNED = [c_void_p, c_char_p, c_char_p]  # File, owner and name of an attribute.

# Result type and argument types of each function. Those of weir_session_open depend on the MPI
# library, so `Session` declares them.
FUNCTIONS: Declarations = {
    "weir_version": (c_char_p, []),
    "weir_last_error": (c_char_p, []),
    "weir_session_close": (c_int, [PLACE]),
    "weir_session_abandon_because": (None, [PLACE, c_char_p]),
    "weir_session_explain": (
        c_int,
        [c_void_p, c_int32, c_int32, POINTER(Transfer), POINTER(c_char_p)],
    ),
    "weir_session_figures": (c_int, [c_void_p, POINTER(Figures)]),
    "weir_distribution_create": (
        c_int,
        [c_void_p, c_int32, NUMBERS, c_char_p, POINTER(DistributionOptions), PLACE],
    ),
    "weir_distribution_from_boxes": (
        c_int,
        [c_void_p, c_int32, NUMBERS, c_int64, NUMBERS, NUMBERS, PLACE],
    ),
    "weir_distribution_free": (None, [PLACE]),
    "weir_distribution_elements": (c_int64, [c_void_p]),
    "weir_distribution_pieces": (c_int64, [c_void_p]),
    "weir_distribution_piece_shape": (c_int, [c_void_p, c_int64, NUMBERS]),
    "weir_distribution_global_index": (c_int, [c_void_p, c_int64, NUMBERS, NUMBERS]),
    "weir_array_create": (
        c_int,
        [c_void_p, c_char_p, c_int32, NUMBERS, c_char_p, POINTER(ArrayOptions), PLACE],
    ),
    "weir_array_open": (c_int, [c_void_p, c_char_p, POINTER(OpenOptions), PLACE]),
    "weir_array_dimensions": (c_int32, [c_void_p]),
    "weir_array_shape": (c_int, [c_void_p, NUMBERS]),
    "weir_array_element_type": (c_char_p, [c_void_p]),
    "weir_array_element_bytes": (c_int64, [c_void_p]),
    "weir_array_sync": (c_int, [c_void_p]),
    "weir_array_close": (c_int, [PLACE]),
    "weir_file_create": (c_int, [c_void_p, c_char_p, POINTER(FileOptions), PLACE]),
    "weir_file_define": (
        c_int,
        [c_void_p, c_char_p, c_int32, NUMBERS, c_char_p, POINTER(DefineOptions), PLACE],
    ),
    "weir_file_attribute_text": (c_int, [*OWNED, c_char_p]),
    "weir_file_attribute_integers": (c_int, [*OWNED, c_int64, NUMBERS]),
    "weir_file_attribute_reals": (c_int, [*OWNED, c_int64, POINTER(c_double)]),
    "weir_file_open": (c_int, [c_void_p, c_char_p, POINTER(FileOpenOptions), PLACE]),
    "weir_file_step_begin": (c_int, [c_void_p]),
    "weir_file_step_end": (c_int, [c_void_p]),
    "weir_file_step_abort": (c_int, [c_void_p, c_char_p]),
    "weir_file_in_step": (c_int32, [c_void_p]),
    "weir_file_drop_steps": (c_int, [c_void_p, c_int64]),
    "weir_file_extend": (c_int, [c_void_p]),
    "weir_file_steps": (c_int64, [c_void_p]),
    "weir_file_unwritten": (c_int64, [c_void_p]),
    "weir_file_unwritten_name": (c_char_p, [c_void_p, c_int64]),
    "weir_file_select_step": (c_int, [c_void_p, c_int64]),
    "weir_file_arrays": (c_int64, [c_void_p]),
    "weir_file_array_name": (c_char_p, [c_void_p, c_int64]),
    "weir_file_array": (c_int, [c_void_p, c_char_p, PLACE]),
    "weir_array_has_steps": (c_int32, [c_void_p]),
    "weir_array_dimension_name": (c_char_p, [c_void_p, c_int32]),
    "weir_file_attribute_numbers": (c_int, [*OWNED, c_char_p, c_int64, c_void_p]),
    "weir_file_attribute_texts": (c_int, [*OWNED, c_int64, POINTER(c_char_p)]),
    "weir_file_attribute_type": (c_char_p, OWNED),
    "weir_file_attributes": (c_int64, [c_void_p, c_char_p]),
    "weir_file_attribute": (
        c_int,
        [c_void_p, c_char_p, c_int64, POINTER(c_char_p), POINTER(c_int32), POINTER(c_int64)],
    ),
    "weir_file_get_text": (c_int, [*OWNED, POINTER(c_char_p)]),
    "weir_file_get_numbers": (c_int, [*OWNED, c_int64, c_void_p]),
    "weir_file_get_texts": (c_int, [*OWNED, c_int64, POINTER(c_char_p)]),
    "weir_file_get_integers": (c_int, [*OWNED, c_int64, NUMBERS]),
    "weir_file_get_reals": (c_int, [*OWNED, c_int64, POINTER(c_double)]),
    "weir_file_close": (c_int, [PLACE]),
    "weir_write_many": (c_int, REQUEST),
    "weir_read_many": (c_int, REQUEST),
    "weir_write_begin": (c_int, [*REQUEST, PLACE]),
    "weir_read_begin": (c_int, [*REQUEST, PLACE]),
    "weir_write_region": (c_int, REGION),
    "weir_read_region": (c_int, REGION),
    "weir_write_region_begin": (c_int, [*REGION, PLACE]),
    "weir_read_region_begin": (c_int, [*REGION, PLACE]),
    "weir_write_region_independent": (c_int, REGION),
    "weir_read_region_independent": (c_int, REGION),
    "weir_wait": (c_int, [PLACE]),
    "weir_request_detach": (c_int, [PLACE]),
    "weir_test": (c_int, [PLACE, POINTER(c_int32)]),
}


@cache
def library() -> CDLL:
    """Loads libweir.so and declares its functions. Raises LibraryError with the remedy."""
    return load(LIBRARY, PATH_VARIABLE, FUNCTIONS)
