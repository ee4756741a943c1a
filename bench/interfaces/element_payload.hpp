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
#include "interfaces/array_part.hpp"
#include "measurement/payload.hpp"
#include "measurement/payload_words.hpp"

namespace weir::bench {

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

}  // namespace weir::bench
