// The memory of a rank's calls, with the payload of what they move: words of 8 bytes, of which a
// call may cover those at its ends only partly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/status.hpp"
#include "measurement/payload.hpp"
#include "measurement/ring.hpp"
#include "workloads/replay/record.hpp"

namespace weir::bench::replay {

class CallMemory {
 public:
  CallMemory() = default;  // has no memory
  // `largest`: bytes of the largest call; `packs`: calls have several blocks, which follow each
  // other in a second buffer. Fails with ErrorCode::insufficient if there is not enough memory.
  static Result<CallMemory> create(std::int64_t largest, bool packs);
  // Returns the memory that create() takes.
  [[nodiscard]] static std::int64_t memory_bytes(std::int64_t largest, bool packs);

  // Returns the most bytes of one block, which is at least a megabyte.
  [[nodiscard]] std::int64_t most_bytes() const;

  // These three do so for one block of a file. They return where it begins in memory, and the first
  // mismatch, if there is one; `file_end` bounds the places from which wrong words may come.
  std::byte* fill(const PayloadStream& stream, std::int64_t offset, std::int64_t bytes);
  std::byte* hide(const PayloadStream& stream, std::int64_t offset, std::int64_t bytes);
  [[nodiscard]] std::vector<PayloadMismatch> check(const PayloadStream& stream, std::int64_t offset,
                                                   std::int64_t bytes, std::int64_t file_end) const;

  // Returns where the bytes of a call are.
  [[nodiscard]] std::byte* of(const ReplayedCall& call) const;
  // Puts the payload there, or what does not pass for it; compares what is there.
  void fill(const PayloadStream& stream, const ReplayedCall& call);
  void hide(const PayloadStream& stream, const ReplayedCall& call);
  [[nodiscard]] std::vector<PayloadMismatch> check(const PayloadStream& stream,
                                                   const ReplayedCall& call, std::int64_t file_end);

 private:
  Ring buffers_;
};

}  // namespace weir::bench::replay
