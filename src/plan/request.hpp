// What one collective call asks for, as a value that all ranks have alike. Where a rank keeps its
// part in memory (strides, ghost cells) is not part of it: only that rank needs it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "array/distribution.hpp"
#include "array/section.hpp"
#include "common/direction.hpp"
#include "common/status.hpp"
#include "plan/image.hpp"

namespace weir::plan {

// A distribution that many requests refer to without copying it: explicit boxes may be a hundred
// thousand. Equal ones are equal whether shared or not.
class SharedDistribution {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a distribution, kept once
  SharedDistribution(array::Distribution distribution);

  const array::Distribution& operator*() const { return *distribution_; }
  const array::Distribution* operator->() const { return distribution_.get(); }
  // Differs, but for chance, between distributions that are not equal. Worked out once.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }

  friend bool operator==(const SharedDistribution& a, const SharedDistribution& b);

 private:
  std::shared_ptr<const array::Distribution> distribution_;
  std::uint64_t fingerprint_ = 0;
};

struct ArrayRequest {
  Image image;                // the array in its files
  SharedDistribution memory;  // who holds which elements; perhaps not all, or on a read, some twice
  array::Section section;     // the elements asked for
  // The number of the image's file 0 in the caller's list of files.
  std::int64_t first_file = 0;
  // Whether it may go through buffers together with other arrays (bundles.hpp).
  bool in_bundles = true;

  [[nodiscard]] const array::Shape& shape() const { return image.shape(); }

  friend bool operator==(const ArrayRequest&, const ArrayRequest&) = default;
};

struct Request {
  Direction direction = Direction::write;
  std::vector<ArrayRequest> arrays;

  // Fails on no array, a distribution of another shape than the image, a section that is not inside
  // its array, and a negative file number. The error names the array by its place in the list.
  [[nodiscard]] Status check() const;
  // The most that an array is distributed over; further ranks hold nothing.
  [[nodiscard]] std::int64_t ranks() const;
  // Bytes of the elements asked for, of all arrays. (Not more than 2^63 - 1: check() looks.)
  [[nodiscard]] std::int64_t bytes() const;

  friend bool operator==(const Request&, const Request&) = default;
};

}  // namespace weir::plan
