// Bundles: small arrays of a request that go through buffers together. Otherwise a thousand
// variables of a few kilobytes each would each need a buffer and a call of their own.
//
// A bundle consists of arrays that are adjacent in their files. It holds as many arrays as give all
// aggregators about the same amount of data, and no more than fit into a buffer. Each such array is
// in one bundle as a whole. In a plan, a bundle is one unit of one part, which is named after its
// first array.
#pragma once

#include <cstdint>
#include <vector>

#include "array/section.hpp"
#include "plan/parameters.hpp"
#include "plan/request.hpp"

namespace weir::plan {

// At least two arrays of a request, ordered by file and offset.
using Bundle = std::vector<int>;

// Returns whether an array with the requested elements `asked` is small enough for a bundle with
// others.
[[nodiscard]] bool is_small(const ArrayRequest& request, const array::Section& asked,
                            std::int64_t buffer_bytes);

// Returns the bundles of a request. `asked` are the requested elements of each array; arrays that
// are not small are left out.
[[nodiscard]] std::vector<Bundle> bundles_of(const Request& request,
                                             const std::vector<array::Section>& asked,
                                             std::int64_t aggregators,
                                             const Parameters& parameters);

}  // namespace weir::plan
