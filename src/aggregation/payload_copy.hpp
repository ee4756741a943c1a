// The copies of payload that this rank makes: between its memory, the buffers of the node, and
// messages. A simulation of the library has copies of its own in place of these.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/copy.hpp"

namespace weir::aggregation {

// Executes a copy; the arguments are those of StridedCopy::run().
void copy_payload(const array::StridedCopy& copy, const std::byte* from, std::byte* to,
                  array::StridedCopy::Target target = array::StridedCopy::Target::cached,
                  std::int64_t swapped = 1);
// Copies contiguous bytes; the arguments are those of array::copy_swapped().
void copy_payload(const std::byte* from, std::byte* to, std::int64_t bytes, std::int64_t swapped);

}  // namespace weir::aggregation
