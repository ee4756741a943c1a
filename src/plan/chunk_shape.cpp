#include "plan/chunk_shape.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "array/number_theory.hpp"

namespace weir::plan {
namespace {

// The cost of a typical request with chunks of given extents, averaged over all positions of the
// request: along a dimension it intersects (request - 1) / chunk + 1 chunks.
struct Cost {
  double chunks = 0;
  double bytes = 0;
  double seconds = 0;
};

class Chunking {
 public:
  Chunking(const array::Shape& shape, std::int64_t element_bytes, const ChunkHints& hints,
           const FileRates& rates)
      : element_bytes_(element_bytes), hints_(hints), rates_(rates) {
    for (int d = 0; d < shape.dimensions(); ++d) {
      largest_.push_back(std::max<std::int64_t>(1, shape.extent(d)));
      request_.push_back(std::min(hints.typical_request[d], largest_[d]));
    }
  }

  [[nodiscard]] const array::Indices& request() const { return request_; }
  [[nodiscard]] const array::Indices& largest() const { return largest_; }
  [[nodiscard]] double bytes(const array::Indices& chunk) const {
    auto product = static_cast<double>(element_bytes_);
    for (const std::int64_t extent : chunk) product *= static_cast<double>(extent);
    return product;
  }
  [[nodiscard]] bool too_large(const array::Indices& chunk) const {
    return bytes(chunk) > static_cast<double>(hints_.buffer_bytes);
  }
  [[nodiscard]] bool too_small(const array::Indices& chunk) const {
    return bytes(chunk) < static_cast<double>(hints_.file_system_block_bytes) && chunk != largest_;
  }
  [[nodiscard]] Cost cost(const array::Indices& chunk) const {
    Cost cost{1, 0, 0};
    for (int d = 0; d < chunk.size(); ++d) {
      const double met = static_cast<double>(request_[d] - 1) / static_cast<double>(chunk[d]) + 1;
      const double all = static_cast<double>(array::divide_up(largest_[d], chunk[d]));
      cost.chunks *= std::min(met, all);
    }
    const auto block = static_cast<double>(hints_.file_system_block_bytes);
    // File systems move whole blocks.
    const double blocks = std::max(1.0, (bytes(chunk) + block - 1) / block);
    cost.bytes = cost.chunks * blocks * block;
    cost.seconds =
        cost.chunks * rates_.call_seconds + cost.bytes / (rates_.storage_bytes_per_second > 0
                                                              ? rates_.storage_bytes_per_second
                                                              : rates_.core_bytes_per_second);
    return cost;
  }

  // Returns the shape of the request, with its longest extents halved or its shortest extents
  // doubled until the limits hold.
  [[nodiscard]] array::Indices first() const {
    array::Indices chunk = request_;
    while (too_large(chunk)) {
      auto* const longest = std::max_element(chunk.begin(), chunk.end());
      *longest = array::divide_up(*longest, 2);
    }
    while (too_small(chunk)) {
      int shortest = -1;
      for (int d = 0; d < chunk.size(); ++d) {
        if (chunk[d] < largest_[d] && (shortest < 0 || chunk[d] < chunk[shortest])) shortest = d;
      }
      array::Indices longer = chunk;
      longer[shortest] = std::min(2 * chunk[shortest], largest_[shortest]);
      if (too_large(longer)) break;
      chunk = longer;
    }
    return chunk;
  }

  // Returns the cheapest of a chunk's neighbours (one dimension halved or doubled, or one doubled
  // and another halved), or the chunk itself.
  [[nodiscard]] array::Indices better(const array::Indices& chunk) const {
    array::Indices best = chunk;
    double least = cost(chunk).seconds * (1 - 1e-6);
    const auto consider = [&](const array::Indices& other) {
      if (too_large(other) || (too_small(other) && !too_small(chunk))) return;
      const double seconds = cost(other).seconds;
      if (seconds < least) {
        least = seconds;
        best = other;
      }
    };
    for (int d = 0; d < chunk.size(); ++d) {
      array::Indices shorter = chunk;
      shorter[d] = array::divide_up(chunk[d], 2);
      consider(shorter);
      array::Indices longer = chunk;
      longer[d] = std::min(2 * chunk[d], largest_[d]);
      consider(longer);
      for (int other = 0; other < chunk.size(); ++other) {
        if (other == d) continue;
        array::Indices both = longer;
        both[other] = array::divide_up(chunk[other], 2);
        consider(both);
      }
    }
    return best;
  }

  // Returns chunks of equal length, with as many along each dimension as before, to avoid a sliver
  // at the end.
  [[nodiscard]] array::Indices even(const array::Indices& chunk) const {
    array::Indices equal;
    for (int d = 0; d < chunk.size(); ++d) {
      equal.push_back(array::divide_up(largest_[d], array::divide_up(largest_[d], chunk[d])));
    }
    return too_small(equal) ? chunk : equal;
  }

 private:
  std::int64_t element_bytes_;
  const ChunkHints& hints_;
  const FileRates& rates_;
  array::Indices largest_;
  array::Indices request_;
};

}  // namespace

Result<ChunkShape> chunk_shape_for(const array::Shape& shape, const array::ElementType& type,
                                   const ChunkHints& hints, const PlatformRates& rates) {
  if (hints.typical_request.size() != shape.dimensions()) {
    return invalid_argument(fmt::format("typical_request has {} dimensions, but the array has {}",
                                        hints.typical_request.size(), shape.dimensions()));
  }
  for (int d = 0; d < shape.dimensions(); ++d) {
    if (hints.typical_request[d] < 1) {
      return invalid_argument(
          fmt::format("typical_request has extent {} along dimension {}: give at least 1",
                      hints.typical_request[d], d));
    }
  }
  if (hints.buffer_bytes < type.bytes() || hints.file_system_block_bytes < 1) {
    return invalid_argument(
        fmt::format("chunk buffers of {} bytes and blocks of {} are given: give buffers of at "
                    "least an element of {}, and blocks of at least 1",
                    hints.buffer_bytes, hints.file_system_block_bytes, type.bytes()));
  }
  const Chunking chunking(shape, type.bytes(), hints, rates.write);
  array::Indices chunk = chunking.first();
  // The loop ends, since each step is cheaper and there are few halvings and doublings.
  for (array::Indices next = chunking.better(chunk); next != chunk; next = chunking.better(chunk)) {
    chunk = next;
  }
  chunk = chunking.even(chunk);
  const Cost cost = chunking.cost(chunk);
  const double asked = chunking.bytes(chunking.request());
  return ChunkShape{
      chunk, fmt::format(
                 "a request of {} meets {:.3g} chunks of {} ({:.4g} KiB) on average and moves "
                 "{:.3g} bytes per byte asked for, in {:.3g} ms; buffers of {} bytes, blocks of {}",
                 array::extents_text(chunking.request()), cost.chunks, array::extents_text(chunk),
                 chunking.bytes(chunk) / 1024, cost.bytes / asked, 1e3 * cost.seconds,
                 hints.buffer_bytes, hints.file_system_block_bytes)};
}

}  // namespace weir::plan
