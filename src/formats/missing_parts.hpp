// The parts of an array that are in no file: chunks that were never written, and parts that were
// lost by damage.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "formats/format.hpp"

namespace weir::storage {

struct MissingParts {
  std::int64_t parts = 0;      // chunks, or indices of dimension 0 of an array without chunks
  std::int64_t unwritten = 0;  // chunks that are in no file and have the fill value
  // Number of parts that cannot be read: chunks because of a damaged index, or the last indices of
  // an array in a truncated file.
  std::int64_t lost = 0;
  std::string damage;  // a line that describes the damage; empty if no part is lost
};

enum class Unwritten : std::uint8_t { counted, not_counted };  // counting lists folders of chunks

// Finds the missing parts of an array that was opened, from the lengths and names of its files and
// from the indices of shards.
[[nodiscard]] Result<MissingParts> find_missing_parts(const StoredArray& array,
                                                      Unwritten unwritten);

}  // namespace weir::storage
