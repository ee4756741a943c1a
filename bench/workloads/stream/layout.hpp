// The places of a stream's transfers in its files, and the order in which a rank does them. Pure.
//
// Segmented (IOR's shared file), three ranks, two segments, blocks of two transfers:
//
//   | block of rank 0 | block of rank 1 | block of rank 2 | block of rank 0 | …
//   |<------------------ segment 0 ----------------------->|<-- segment 1 …
//
// Interleaved: inside a segment the ranks' transfers alternate: 0 1 2 0 1 2. Strided and random
// have the places of segmented in another order. With a file per rank, a segment has one rank.
//
// Every byte of a file belongs to exactly one transfer of one rank.
#pragma once

#include <cstdint>
#include <vector>

#include "common/status.hpp"

namespace weir::bench::stream {

enum class Pattern { segmented, interleaved, strided, random };

struct Layout {
  std::int64_t ranks = 1;
  std::int64_t block_bytes = 0;     // a multiple of transfer_bytes
  std::int64_t transfer_bytes = 0;  // a multiple of 8
  std::int64_t segments = 1;
  Pattern pattern = Pattern::segmented;
  bool file_per_rank = false;
  std::int64_t stride = 16;  // strided: distance in transfers from one to the next

  // Fails if a rule is broken or the files exceed 63 bits.
  [[nodiscard]] Status check() const;

  [[nodiscard]] std::int64_t transfers_per_block() const { return block_bytes / transfer_bytes; }
  [[nodiscard]] std::int64_t operations_per_rank() const {
    return segments * transfers_per_block();
  }
  // Returns the size of the pieces of a rank that lie between those of others, at equal distances
  // in the patterns segmented and interleaved.
  [[nodiscard]] std::int64_t piece_bytes() const {
    return pattern == Pattern::interleaved ? transfer_bytes : block_bytes;
  }
  [[nodiscard]] std::int64_t bytes_per_rank() const { return segments * block_bytes; }
  [[nodiscard]] std::int64_t file_bytes() const {
    return file_per_rank ? bytes_per_rank() : bytes_per_rank() * ranks;
  }
  [[nodiscard]] std::int64_t total_bytes() const { return bytes_per_rank() * ranks; }

  // Returns the offset in its file of transfer `index` of the data of rank `owner`. Indices have
  // the order of the file; 0 ≤ index < operations_per_rank.
  [[nodiscard]] std::int64_t offset(std::int64_t owner, std::int64_t index) const;
};

// The order in which the data of one rank is visited: it maps a position to the index of a
// transfer.
class VisitOrder {
 public:
  // `seed` and `owner` determine the random order, so every rank visits the owner's data in the
  // same order.
  VisitOrder(const Layout& layout, std::uint64_t seed, std::int64_t owner);
  [[nodiscard]] std::int64_t index(std::int64_t position) const;
  // Returns the bytes of memory that the order takes.
  [[nodiscard]] static std::int64_t memory_bytes(const Layout& layout);

 private:
  Pattern pattern_;
  std::int64_t operations_;
  std::int64_t stride_;
  std::vector<std::uint32_t> shuffled_;  // random only
};

// Says how ranks choose the rank whose data they read back (IOR's -C and -Z).
enum class Reorder { none, constant, random };

// Returns owner_of[rank] for every rank. Constant: the rank `offset` further, cyclically. Random: a
// random cycle through all ranks, so that with more than one rank no rank reads its own data.
[[nodiscard]] std::vector<std::int32_t> owners_to_read(Reorder reorder, std::int64_t ranks,
                                                       std::int64_t offset, std::uint64_t seed);

}  // namespace weir::bench::stream
