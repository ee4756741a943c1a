// What of an array is in no file: chunks that nobody wrote, and what damage took.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "storage/formats/format.hpp"

namespace weir::storage {

struct MissingParts {
  std::int64_t parts = 0;      // chunks; of an array without chunks the indices of dimension 0
  std::int64_t unwritten = 0;  // chunks that are in no file, and have the fill value
  // Reading them fails: chunks by a damaged index, or the last indices of an array in a file that
  // was cut off.
  std::int64_t lost = 0;
  std::string damage;  // what took these, a line; empty where none are lost
};

enum class Unwritten : std::uint8_t { counted, not_counted };  // counting lists folders of chunks

// Of an array as it was opened; looks at the lengths and names of its files and at indices of
// shards.
[[nodiscard]] Result<MissingParts> find_missing_parts(const StoredArray& array,
                                                      Unwritten unwritten);

}  // namespace weir::storage
