// What is in the files: the arrays that FLASH's checkpoints and plot files have, by FLASH's names
// in HDF5 and in NetCDF, and the elements that describe the tree. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "interfaces/interface.hpp"
#include "workloads/flash/parameters.hpp"
#include "workloads/flash/tree.hpp"

namespace weir::bench::flash {

enum class Stream : std::int8_t { checkpoint, plot };
inline constexpr Stream all_streams[] = {Stream::checkpoint, Stream::plot};
[[nodiscard]] const char* name_of(Stream stream);
// Returns the number of the stream's files as a function in events (python/weir/results/events.py).
[[nodiscard]] std::int8_t function_of(Stream stream);
[[nodiscard]] std::int64_t files_of(Stream stream, const Options& options);
// Returns the name of a file, as FLASH would name it: "sedov_hdf5_chk_0003".
[[nodiscard]] std::string file_name(Stream stream, std::int64_t number, bool netcdf);

// Returns the name of a variable, from number 1 on. The first ten are those of the Sedov problem.
[[nodiscard]] std::string variable_name(std::int64_t number);

enum class Values {
  of_variable,
  names,
  level,
  node_type,
  relatives,
  centre,
  size,
  bounds,
  processor,
  which_child
};

struct FileArray {
  Rows rows;
  Values values = Values::of_variable;
  std::int64_t variable = 0;  // its number, from 1 on
};

// The rank whose part of the files is described, and the format of the files.
struct Owner {
  std::int64_t rank = 0;
  BlockShare share = {};
  std::int64_t blocks = 0;  // of all ranks
  bool netcdf = false;
};

// Returns the arrays of a file, with the rows of one rank.
[[nodiscard]] std::vector<FileArray> arrays_of(Stream stream, const Options& options,
                                               const Owner& owner);
// Returns the bytes of the elements of a whole file.
[[nodiscard]] std::int64_t bytes_of_file(Stream stream, const Options& options, std::int64_t blocks,
                                         bool netcdf);
// Returns the elements of the rank's rows of an array that is no variable. `records` are those of
// the rank's blocks.
[[nodiscard]] std::vector<std::byte> tree_elements(const FileArray& array, const Options& options,
                                                   Stream stream, const Owner& owner,
                                                   const std::vector<BlockRecord>& records);

}  // namespace weir::bench::flash
