#include "workloads/stream/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "common/checked.hpp"

namespace weir::bench::stream {
namespace {

constexpr std::int64_t most_random = std::numeric_limits<std::uint32_t>::max();

// Shuffles in the same way on every machine: std::shuffle's draws differ between standard
// libraries.
template <typename T>
void shuffle(std::vector<T>& values, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t left = values.size(); left > 1; --left) {
    std::swap(values[left - 1], values[random() % left]);
  }
}

}  // namespace

Status Layout::check() const {
  const auto refuse = [](const std::string& rule) { return invalid_argument("stream: " + rule); };
  if (transfer_bytes < 8 || transfer_bytes % 8 != 0) {
    return refuse(fmt::format("the transfer size (-t) must be a multiple of 8 bytes; given: {}",
                              transfer_bytes));
  }
  constexpr std::int64_t most_transfer = std::int64_t{1} << 30;
  if (transfer_bytes > most_transfer) {
    return refuse(
        fmt::format("the transfer size (-t) must be at most 1 GiB; given: {}", transfer_bytes));
  }
  if (block_bytes < transfer_bytes || block_bytes % transfer_bytes != 0) {
    return refuse(
        fmt::format("the block size (-b) must be a multiple of the transfer size (-t); given: "
                    "block {}, transfer {}",
                    block_bytes, transfer_bytes));
  }
  if (segments < 1) {
    return refuse(
        fmt::format("the number of segments (-s) must be at least 1; given: {}", segments));
  }
  if (stride < 1) return refuse(fmt::format("--stride must be at least 1; given: {}", stride));
  const auto per_rank = checked_multiply(segments, block_bytes);
  if (!per_rank || !checked_multiply(*per_rank, ranks)) {
    return refuse(fmt::format("{} ranks with {} segments of {} bytes exceed 2^63 bytes", ranks,
                              segments, block_bytes));
  }
  if (pattern == Pattern::random && operations_per_rank() > most_random) {
    return refuse(fmt::format("random order allows at most {} transfers per rank; given: {}",
                              most_random, operations_per_rank()));
  }
  return {};
}

std::int64_t Layout::offset(std::int64_t owner, std::int64_t index) const {
  const std::int64_t sharers = file_per_rank ? 1 : ranks;
  const std::int64_t place = file_per_rank ? 0 : owner;
  const std::int64_t segment = index / transfers_per_block();
  const std::int64_t within = index % transfers_per_block();
  const std::int64_t segment_start = segment * sharers * block_bytes;
  if (pattern == Pattern::interleaved) {
    return segment_start + (within * sharers + place) * transfer_bytes;
  }
  return segment_start + place * block_bytes + within * transfer_bytes;
}

VisitOrder::VisitOrder(const Layout& layout, std::uint64_t seed, std::int64_t owner)
    : pattern_(layout.pattern),
      operations_(layout.operations_per_rank()),
      stride_(std::min(layout.stride, layout.operations_per_rank())) {
  if (pattern_ != Pattern::random) return;
  shuffled_.resize(static_cast<std::size_t>(operations_));
  std::iota(shuffled_.begin(), shuffled_.end(), 0U);
  shuffle(shuffled_, seed ^ (static_cast<std::uint64_t>(owner) * 0x9e3779b97f4a7c15U));
}

std::int64_t VisitOrder::index(std::int64_t position) const {
  if (pattern_ == Pattern::random) return shuffled_[static_cast<std::size_t>(position)];
  if (pattern_ != Pattern::strided) return position;
  // The chains are 0, S, 2S, …, then 1, 1 + S, …; the first `longer` chains have one more transfer.
  const std::int64_t shorter_length = operations_ / stride_;
  const std::int64_t longer = operations_ % stride_;
  const std::int64_t in_longer = longer * (shorter_length + 1);
  if (position < in_longer) {
    return position / (shorter_length + 1) + position % (shorter_length + 1) * stride_;
  }
  const std::int64_t rest = position - in_longer;
  return longer + rest / shorter_length + rest % shorter_length * stride_;
}

std::int64_t VisitOrder::memory_bytes(const Layout& layout) {
  constexpr std::int64_t index_bytes = sizeof(std::uint32_t);
  return layout.pattern == Pattern::random ? layout.operations_per_rank() * index_bytes : 0;
}

std::vector<std::int32_t> owners_to_read(Reorder reorder, std::int64_t ranks, std::int64_t offset,
                                         std::uint64_t seed) {
  std::vector<std::int32_t> owners(static_cast<std::size_t>(ranks));
  std::iota(owners.begin(), owners.end(), 0);
  if (reorder == Reorder::constant) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      owners[static_cast<std::size_t>(rank)] = static_cast<std::int32_t>((rank + offset) % ranks);
    }
  }
  if (reorder == Reorder::random) {
    std::vector<std::int32_t> cycle = owners;
    shuffle(cycle, seed);
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      owners[static_cast<std::size_t>(cycle[i])] = cycle[(i + 1) % cycle.size()];
    }
  }
  return owners;
}

}  // namespace weir::bench::stream
