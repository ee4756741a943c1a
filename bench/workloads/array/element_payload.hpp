// Data of an array that identify the element for which they were made. The elements in row-major
// order are the bytes of a payload stream (measurement/payload.hpp). Each element is thus a
// function of its global index, of the seed and of the generation, whatever rank holds it and
// however it is stored.
//
// A boolean is the lowest bit of its byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "array/copy.hpp"
#include "array/element_type.hpp"
#include "measurement/payload.hpp"
#include "measurement/payload_words.hpp"

namespace weir::bench::array_io {

class ElementPayload {
 public:
  // `stream_bytes` is the size of the whole array.
  ElementPayload(const PayloadStream& stream, const array::ElementType& type,
                 std::int64_t stream_bytes);

  // Fills `memory` with the content of the runs that `copies` describe from memory to the whole
  // array.
  void fill(const std::vector<array::StridedCopy>& copies, std::byte* memory) const;
  // Compares every byte. Returns nothing if all are right, otherwise the explanation of the first
  // wrong run, with its offset in the whole array. `earlier` are streams that may have been there
  // before.
  [[nodiscard]] std::optional<PayloadMismatch> check(
      const std::vector<array::StridedCopy>& copies, const std::byte* memory,
      const std::vector<PayloadStream>& earlier) const;

 private:
  void make(std::int64_t first_byte, std::byte* bytes, std::int64_t count) const;
  [[nodiscard]] PayloadMismatch explain(std::int64_t first_byte, const std::byte* found,
                                        std::int64_t count, std::int64_t wrong,
                                        const std::vector<PayloadStream>& earlier) const;

  PayloadStream stream_;
  PayloadPattern pattern_;
  bool is_boolean_;
  std::int64_t stream_bytes_;
};

// Calls `visit(memory_offset, file_offset, bytes)` for every run, in ascending order of file offset
// within each copy, until a call returns false. Returns whether all were visited.
template <typename Visit>
bool for_each_run(const std::vector<array::StridedCopy>& copies, Visit visit) {
  for (const array::StridedCopy& copy : copies) {
    if (copy.bytes == 0) continue;
    array::PerDimension<std::int64_t, array::max_levels> counts;
    for (const array::CopyLevel& level : copy.levels) counts.push_back(level.count);
    for (array::Odometer<array::max_levels> place(counts); place.valid(); place.advance()) {
      std::int64_t from = copy.from_offset;
      std::int64_t to = copy.to_offset;
      for (int i = 0; i < copy.levels.size(); ++i) {
        from += place.digits()[i] * copy.levels[i].from_stride;
        to += place.digits()[i] * copy.levels[i].to_stride;
      }
      if (!visit(from, to, copy.bytes)) return false;
    }
  }
  return true;
}

}  // namespace weir::bench::array_io
