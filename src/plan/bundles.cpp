#include "plan/bundles.hpp"

#include <algorithm>
#include <tuple>

#include "array/number_theory.hpp"

namespace weir::plan {
namespace {

// An array that takes more than this fraction of a buffer gains little from a bundle.
constexpr std::int64_t small_parts = 4;
// Fewer bytes are not divided among aggregators, since each piece costs its contributors a wait.
constexpr std::int64_t least_bytes = 64 << 10;

struct Small {
  std::int64_t file = 0;
  std::int64_t offset = 0;
  int array = 0;
  std::int64_t bytes = 0;
};

std::vector<Small> small_arrays(const Request& request, const std::vector<array::Section>& asked,
                                std::int64_t buffer_bytes) {
  std::vector<Small> found;
  for (std::size_t i = 0; i < request.arrays.size(); ++i) {
    const ArrayRequest& one = request.arrays[i];
    if (!is_small(one, asked[i], buffer_bytes)) continue;
    const std::int64_t bytes = asked[i].elements() * one.image.element_bytes();
    found.push_back({one.first_file, one.image.dense()->offset(), static_cast<int>(i), bytes});
  }
  std::sort(found.begin(), found.end(), [](const Small& a, const Small& b) {
    return std::tie(a.file, a.offset, a.array) < std::tie(b.file, b.offset, b.array);
  });
  return found;
}

}  // namespace

bool is_small(const ArrayRequest& request, const array::Section& asked, std::int64_t buffer_bytes) {
  return request.in_bundles && request.image.dense() != nullptr && !asked.empty() &&
         asked.elements() <= buffer_bytes / small_parts / request.image.element_bytes();
}

std::vector<Bundle> bundles_of(const Request& request, const std::vector<array::Section>& asked,
                               std::int64_t aggregators, const Parameters& parameters) {
  std::vector<Bundle> bundles;
  if (request.arrays.size() < 2 || parameters.strategy == Strategy::direct) return bundles;
  const std::int64_t buffer = parameters.buffer_bytes;
  const std::vector<Small> small = small_arrays(request, asked, buffer);
  std::int64_t all = 0;
  for (const Small& one : small) all += one.bytes;  // no overflow: Request::check() ensures this
  const std::int64_t share = array::divide_up(all, aggregators);
  const std::int64_t turns = std::max<std::int64_t>(1, array::divide_up(share, buffer));
  const std::int64_t enough =
      std::min(buffer, std::max(least_bytes, array::divide_up(share, turns)));
  std::int64_t bytes = enough;
  for (const Small& one : small) {
    if (bytes >= enough || bytes + one.bytes > buffer) {
      bundles.emplace_back();
      bytes = 0;
    }
    bundles.back().push_back(one.array);
    bytes += one.bytes;
  }
  std::erase_if(bundles, [](const Bundle& bundle) { return bundle.size() < 2; });
  return bundles;
}

}  // namespace weir::plan
