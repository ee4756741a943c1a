// This file takes the place of src/aggregation/payload_copy.cpp: payload that nobody reads is not
// copied.
#include "aggregation/payload_copy.hpp"

#include "array/byte_swap.hpp"
#include "library/simulated_rank.hpp"

namespace weir::aggregation {

void copy_payload(const array::StridedCopy& copy, const std::byte* from, std::byte* to,
                  array::StridedCopy::Target target, std::int64_t swapped) {
  if (!sim::this_rank().system->payload_is_unread) copy.run(from, to, target, swapped);
}

void copy_payload(const std::byte* from, std::byte* to, std::int64_t bytes, std::int64_t swapped) {
  if (!sim::this_rank().system->payload_is_unread) array::copy_swapped(from, to, bytes, swapped);
}

}  // namespace weir::aggregation
