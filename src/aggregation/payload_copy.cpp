#include "aggregation/payload_copy.hpp"

#include "array/byte_swap.hpp"

namespace weir::aggregation {

void copy_payload(const array::StridedCopy& copy, const std::byte* from, std::byte* to,
                  array::StridedCopy::Target target, std::int64_t swapped) {
  copy.run(from, to, target, swapped);
}

void copy_payload(const std::byte* from, std::byte* to, std::int64_t bytes, std::int64_t swapped) {
  array::copy_swapped(from, to, bytes, swapped);
}

}  // namespace weir::aggregation
