// The contents of one collective call, as a value that is equal on all ranks. The layout of a
// rank's part in memory (strides, ghost cells) is not included, since only that rank needs it.
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

// A distribution that many requests refer to without copying it, since it may have a hundred
// thousand explicit boxes. Equal distributions compare equal whether shared or not.
class SharedDistribution {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a distribution, kept once
  SharedDistribution(array::Distribution distribution);

  const array::Distribution& operator*() const { return *distribution_; }
  const array::Distribution* operator->() const { return distribution_.get(); }
  // Returns a hash, computed once. It differs between unequal distributions, except by chance.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }

  friend bool operator==(const SharedDistribution& a, const SharedDistribution& b);

 private:
  std::shared_ptr<const array::Distribution> distribution_;
  std::uint64_t fingerprint_ = 0;
};

struct ArrayRequest {
  Image image;  // the array in its files
  // The distribution says which ranks hold which elements. Some elements may be held by no rank, or
  // on a read by several.
  SharedDistribution memory;
  array::Section section;  // the requested elements
  // Number of the image's file 0 in the caller's list of files.
  std::int64_t first_file = 0;
  // True if the array may go through buffers together with other arrays (bundles.hpp).
  bool in_bundles = true;

  [[nodiscard]] const array::Shape& shape() const { return image.shape(); }

  friend bool operator==(const ArrayRequest&, const ArrayRequest&) = default;
};

struct Request {
  Direction direction = Direction::write;
  std::vector<ArrayRequest> arrays;

  // Fails if there is no array, a distribution has another shape than the image, a section is not
  // inside its array, or a file number is negative. The error names the array by its position in
  // the list.
  [[nodiscard]] Status check() const;
  // Returns the largest number of ranks over which an array is distributed; further ranks hold
  // nothing.
  [[nodiscard]] std::int64_t ranks() const;
  // Returns the bytes of the requested elements of all arrays. (At most 2^63 - 1: check() ensures
  // this.)
  [[nodiscard]] std::int64_t bytes() const;

  friend bool operator==(const Request&, const Request&) = default;
};

}  // namespace weir::plan
