// The tables that FLASH's HDF5 files have beside the arrays: the program that wrote the file, and
// the scalars and runtime parameters that programs such as yt ask for. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/flash/parameters.hpp"

namespace weir::bench::flash {

struct Table {
  std::string name;
  std::string members;  // of a row (array/record_members.hpp)
  std::int64_t row_bytes = 0;
  std::int64_t rows = 0;
  std::vector<std::byte> bytes = {};  // of all rows
};

// Returns the tables, which are the same in all files of a job with so many blocks. Names and texts
// are filled up with blanks, as FLASH does.
[[nodiscard]] std::vector<Table> tables_of(const Options& options, std::int64_t blocks);

}  // namespace weir::bench::flash
