// Gives elements in memory a value that is in no file, such as the fill value of an array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "array/copy.hpp"

namespace weir::array {

// Sets `bytes` bytes to copies of an element, or to zeros if the element has no bytes. The number
// of bytes is a multiple of the element's; fewer bytes than one element become zeros.
void fill_elements(std::byte* data, std::int64_t bytes, std::span<const std::byte> element);

// Does so with every run of a copy's target.
void fill_target(const StridedCopy& copy, std::byte* to, std::span<const std::byte> element);

}  // namespace weir::array
