#include "sections/file_space_allocator.hpp"

#include <fmt/format.h>

#include "common/checked.hpp"

namespace weir::storage {

Result<std::int64_t> FileSpaceAllocator::take(std::int64_t bytes) {
  if (own_ < 0 || bytes > region_bytes_) {
    return invalid_argument(
        fmt::format("no space in the file for an encoded chunk of {} bytes: {}", bytes,
                    own_ < 0 ? "this process writes none" : "it is longer than expected"));
  }
  if (end_ - at_ < bytes) {
    const auto before = checked_multiply(next_region_, region_bytes_);
    const auto begin = before ? checked_add(*before, free_from_) : before;
    const auto end = begin ? checked_add(*begin, region_bytes_) : begin;
    if (!end) return invalid_argument("encoded chunks do not fit into a file of 2^63 bytes");
    at_ = *begin;
    end_ = *end;
    next_region_ += writers_;
  }
  const std::int64_t place = at_;
  at_ += bytes;
  return place;
}

}  // namespace weir::storage
