// Where a stream's transfers lie in its files, and in which order a rank does them. Pure.
//
// Segmented (IOR's shared file), three ranks, two segments, blocks of two transfers:
//
//   | block of rank 0 | block of rank 1 | block of rank 2 | block of rank 0 | …
//   |<------------------ segment 0 ----------------------->|<-- segment 1 …
//
// Interleaved: inside a segment the ranks' transfers take turns: 0 1 2 0 1 2. Strided and random
// have the places of segmented, in another order. In a file per rank there is one rank per segment.
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
  std::int64_t stride = 16;  // strided: transfers from one to the next

  // Fails where a rule is broken or the files exceed 63 bits.
  [[nodiscard]] Status check() const;

  [[nodiscard]] std::int64_t transfers_per_block() const { return block_bytes / transfer_bytes; }
  [[nodiscard]] std::int64_t operations_per_rank() const {
    return segments * transfers_per_block();
  }
  [[nodiscard]] std::int64_t bytes_per_rank() const { return segments * block_bytes; }
  [[nodiscard]] std::int64_t file_bytes() const {
    return file_per_rank ? bytes_per_rank() : bytes_per_rank() * ranks;
  }
  [[nodiscard]] std::int64_t total_bytes() const { return bytes_per_rank() * ranks; }

  // The place in its file of transfer `index` (0 ≤ index < operations_per_rank, in the order of the
  // file) among the data of rank `owner`.
  [[nodiscard]] std::int64_t offset(std::int64_t owner, std::int64_t index) const;
};

// The order in which the data of one rank are visited: position → index of the transfer.
class VisitOrder {
 public:
  // `seed` and `owner` settle the random order: whoever handles the owner's data visits them alike.
  VisitOrder(const Layout& layout, std::uint64_t seed, std::int64_t owner);
  [[nodiscard]] std::int64_t index(std::int64_t position) const;
  // Memory that the order takes, bytes.
  [[nodiscard]] static std::int64_t memory_bytes(const Layout& layout);

 private:
  Pattern pattern_;
  std::int64_t operations_;
  std::int64_t stride_;
  std::vector<std::uint32_t> shuffled_;  // random only
};

// How ranks choose whose data they read back (IOR's -C and -Z).
enum class Reorder { none, constant, random };

// owner_of[rank] for every rank. Constant: `offset` further, around. Random: a random cycle through
// all ranks, so that with more than one rank nobody reads its own data.
[[nodiscard]] std::vector<std::int32_t> owners_to_read(Reorder reorder, std::int64_t ranks,
                                                       std::int64_t offset, std::uint64_t seed);

}  // namespace weir::bench::stream
