#include "plan/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "array/fingerprint.hpp"
#include "common/checked.hpp"

namespace weir::plan {

SharedDistribution::SharedDistribution(array::Distribution distribution)
    : distribution_(std::make_shared<const array::Distribution>(std::move(distribution))) {
  array::Fingerprint fingerprint;
  fingerprint.add(*distribution_);
  fingerprint_ = fingerprint.value();
}

bool operator==(const SharedDistribution& a, const SharedDistribution& b) {
  if (a.distribution_ == b.distribution_) return true;
  return a.fingerprint_ == b.fingerprint_ && *a.distribution_ == *b.distribution_;
}

Status Request::check() const {
  if (arrays.empty()) return invalid_argument("a request has no array: give at least one");
  std::int64_t sum = 0;
  for (std::size_t number = 0; number < arrays.size(); ++number) {
    const ArrayRequest& one = arrays[number];
    const auto refused = [&](const std::string& why) {
      return invalid_argument(fmt::format("array {} of the request: {}", number, why));
    };
    if (one.memory->shape() != one.shape()) {
      return refused(
          fmt::format("the distribution has the shape {}, but the array in the file has {}",
                      one.memory->shape().text(), one.shape().text()));
    }
    const auto section =
        array::Section::create(one.shape(), {one.section.start.begin(), one.section.start.end()},
                               {one.section.count.begin(), one.section.count.end()},
                               {one.section.stride.begin(), one.section.stride.end()});
    if (!section) return refused(section.error().message);
    if (one.first_file < 0) {
      return refused(
          fmt::format("the number of its first file is {}: give 0 or more", one.first_file));
    }
    const auto added = checked_add(sum, one.section.elements() * one.image.element_bytes());
    if (!added) return refused("the request's bytes do not fit into 63 bits: split it");
    sum = *added;
  }
  return {};
}

std::int64_t Request::ranks() const {
  std::int64_t most = 0;
  for (const ArrayRequest& one : arrays) most = std::max(most, one.memory->ranks());
  return most;
}

std::int64_t Request::bytes() const {
  std::int64_t sum = 0;
  for (const ArrayRequest& one : arrays) {
    sum += one.section.elements() * one.image.element_bytes();
  }
  return sum;
}

}  // namespace weir::plan
