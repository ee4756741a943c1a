// The functions of MPI-IO whose calls are counted: all of MPI-3.1 that concern a file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// The part of the names behind MPI_File_.
// clang-format off
#define WEIR_MPIIO_FUNCTIONS(f) \
  f(open) f(close) f(delete) f(set_size) f(preallocate) f(get_size) f(get_group) f(get_amode) \
  f(set_info) f(get_info) f(set_view) f(get_view) f(read_at) f(read_at_all) f(write_at) \
  f(write_at_all) f(iread_at) f(iwrite_at) f(iread_at_all) f(iwrite_at_all) f(read) f(read_all) \
  f(write) f(write_all) f(iread) f(iwrite) f(iread_all) f(iwrite_all) f(seek) f(get_position) \
  f(get_byte_offset) f(read_shared) f(write_shared) f(iread_shared) f(iwrite_shared) \
  f(read_ordered) f(write_ordered) f(seek_shared) f(get_position_shared) f(read_at_all_begin) \
  f(read_at_all_end) f(write_at_all_begin) f(write_at_all_end) f(read_all_begin) f(read_all_end) \
  f(write_all_begin) f(write_all_end) f(read_ordered_begin) f(read_ordered_end) \
  f(write_ordered_begin) f(write_ordered_end) f(get_type_extent) f(set_atomicity) \
  f(get_atomicity) f(sync) f(set_errhandler) f(get_errhandler) f(call_errhandler)
// clang-format on

namespace weir::mpiio {

#define WEIR_ENUMERATOR(name) file_##name,
enum class Function : std::uint8_t { WEIR_MPIIO_FUNCTIONS(WEIR_ENUMERATOR) };
#undef WEIR_ENUMERATOR

#define WEIR_NAME(name) std::string_view(#name),
inline constexpr std::array function_names{WEIR_MPIIO_FUNCTIONS(WEIR_NAME)};
#undef WEIR_NAME

inline constexpr std::size_t functions = function_names.size();

}  // namespace weir::mpiio
